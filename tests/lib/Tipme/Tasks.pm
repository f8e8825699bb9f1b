# SPDX-License-Identifier: GPL-2.0-only
# Task benchmarks after Endo et al., OSDI 1996, section 5: somebody edits a text, or writes in an
# office program, by a script with names for what he does; `tipme profile` records it.
package Tipme::Tasks;
use strict;
use warnings;
use Carp             qw(croak);
use Cpanel::JSON::XS ();
use List::Util       qw(max);
use POSIX            ();
use Time::HiRes      qw(sleep time);
use Tipme::Stage;
use Tipme::Workload;
use Tipme::Workload::Programs;

# A text as large as that of the paper, and as many characters typed.
use constant { TEXT_BYTES => 56 * 1024, TYPED => 1300, LINE => 65 };
use constant PATIENCE_S => 120;
# As many as `tipme type` makes of one.
use constant TRIALS => 35;
my @WORDS =
	qw(the slow brown system waits for its disk and we wait for the system every morning while
	windows open one after another and a clock shows how long each answer took on this machine);

# What stands for a spell check after each character, in programs that can be told so.
my %SLOW = (
	gvim => sub {
		my ($s) = @_;
		return (
				  '-c', "function Busy()\nlet t = reltime()\n"
				. "while reltimefloat(reltime(t)) < $s\nendwhile\nendfunction",
			'-c', 'autocmd TextChangedI * call Busy()'
		);
	},
	emacs => sub {
		my ($s) = @_;
		return (  '--eval', "(add-hook 'post-self-insert-hook (lambda () (let ((e (+ (float-time) "
				. "$s))) (while (< (float-time) e)))))");
	},
);

# What of Debian has each toolkit, and what stands in for an office.
sub editors  { return qw(mousepad featherpad gnome-text-editor xedit emacs gvim) }
sub offices  { return qw(abiword) }
sub can_slow { my ($name) = @_; return exists $SLOW{$name} }

# Tipme::Tasks->new(library => FOLDER, seed => N, wpm => N, folder => of what is kept)
sub new {
	my ($class, %o) = @_;
	return bless { seed => 1, wpm => 100, %o }, $class;
}

# Recorder, X server, session, and somebody who types; they begin when they are needed first.
sub stage {
	my ($self) = @_;
	return $self->{stage} if $self->{stage};
	my $stage = $self->{stage} = Tipme::Stage->new(
		(map { $_ => $self->{$_} } qw(library seed wpm)),
		recorder_args => [ '--post', 0, '--window', 10 ]
	);
	$stage->start_typist;
	$self->{workload} = Tipme::Workload->new(
		display => $stage->{display}, work => $stage->{work},
		ids     => $stage->{ids}
	);
	$stage->at_end(sub { $self->{workload}->close });
	return $stage;
}

sub close { my ($self) = @_; $self->{stage}->close if $self->{stage}; return }

# editing(CHARACTERS), office(), trials(): lines of `tipme type`
sub editing {
	my ($characters) = @_;
	my @lines =
		(keys_of('page down', 'page_down', 10, 0.3), keys_of('cursor down', 'down', 20, 0.1));
	for my $n (1 .. ($characters // TYPED) / LINE) {
		push @lines, 'operation character', 'type ' . text_line($n), 'operation new line',
			'key Return';
		push @lines, keys_of('page up', 'page_up', 2, 0.3),
			keys_of('page down', 'page_down', 2, 0.3),
			keys_of('cursor up', 'up', 5, 0.1), keys_of('cursor down', 'down', 5, 0.1), 'key end'
			if $n % 5 == 0;
	}
	return (@lines, keys_of('page up', 'page_up', 10, 0.3), 'operation');
}

sub office {
	my @lines = (keys_of('page down', 'page_down', 10, 0.4));
	for my $n (1 .. 4) {
		push @lines, 'operation character', 'type ' . text_line($n), 'operation new line',
			'key Return';
		push @lines, 'operation bold', 'chord Ctrl+b', 'sleep 0.3';
	}
	for my $step (
		[ 'select all',        'chord Ctrl+a' ], [ 'larger letters',      'chord Ctrl+shift+.' ],
		[ 'undo',              'chord Ctrl+z' ], [ 'end of the document', 'chord Ctrl+end' ],
		[ 'dialog to find',    'chord Ctrl+f' ], [ 'close the dialog',    'key escape' ],
		[ 'dialog to replace', 'chord Ctrl+h' ], [ 'close the dialog',    'key escape' ],
		[ 'beginning of the document', 'chord Ctrl+home' ], [ 'save',     'chord Ctrl+s' ],
		)
	{
		push @lines, "operation $step->[0]", $step->[1], 'sleep 2';
	}
	return (@lines, keys_of('page down', 'page_down', 10, 0.4), 'operation');
}

# The simplest events: a key that means nothing to the program, and a click beside its window.
sub trials { return ('trial key', 'move 560 0', 'trial click') }

sub keys_of {
	my ($operation, $key, $count, $pause_s) = @_;
	return ("operation $operation", ("key $key", "sleep $pause_s") x $count);
}

# One line of words, the same for the same number.
sub text_line {
	my ($n) = @_;
	my $text = '';
	for (my $i = $n * 7; length $text < LINE - 1; $i++) { $text .= $WORDS[ $i % @WORDS ] . ' ' }
	return substr($text, 0, LINE - 2) . '.';
}

sub _document {
	my ($rich) = @_;
	my ($text, $n) = ('', 0);
	while (length $text < TEXT_BYTES) {
		$text .= text_line($n) . ($rich && ++$n % 8 ? ' ' : "\n");
		$n++ if !$rich;
	}
	return $text if !$rich;
	my @paragraphs = split /\n/, $text;
	return "{\\rtf1\\ansi{\\fonttbl{\\f0 DejaVu Sans;}}\\f0\\fs24\n" . join(
		'',
		map { ($_ % 5 ? '' : "{\\b\\fs32 Chapter $_}\\par\n") . "$paragraphs[$_]\\par\n" }
			0 .. $#paragraphs
	) . '}';
}

# open_program(PROGRAM, TASK, slow_ms => N): with the text of the task, as Tipme::Workload has it
sub open_program {
	my ($self, $name, $task, %o) = @_;
	$self->stage;
	my $w       = $self->{workload};
	my $office  = $task eq 'office';
	my $file    = $w->file("$w->{home}/text." . ($office ? 'rtf' : 'txt'), _document($office));
	my $p       = Tipme::Workload::Programs::get($name);
	my @command = @{ ref $p->{command} eq 'CODE' ? $p->{command}->($w->home) : $p->{command} };
	push @command, 'FILE' if !grep { $_ eq 'FILE' } @command;

	if ($o{slow_ms}) {
		my $slow = $SLOW{$name} // croak "$name: nothing is known that makes it slow";
		splice @command, 1, 0, $slow->($o{slow_ms} / 1000);
	}
	return $w->start($name, file => $file, command => \@command);
}

# run(PROGRAM, task => editing, office or trials, run => N, slow_ms => N, characters => N): {
# profile, times, operations } (files), typed => presses. A session that was kept is not played
# again.
sub run {
	my ($self, $name, %o) = @_;
	my $at = "$self->{folder}/$name-$o{task}-" . ($o{slow_ms} ? "slow$o{slow_ms}-" : '') . $o{run};
	my $played = _slurp("$at.typed");
	$played = $self->_play($name, $at, %o) if !length $played;
	return {
		program    => $name,            profile => "$at.json", times => "$at.json.times",
		operations => "$at.operations", typed   => $played + 0
	};
}

sub _play {
	my ($self, $name, $at, %o) = @_;
	my $program   = $self->open_program($name, $o{task}, slow_ms => $o{slow_ms});
	my $collector = $self->_collect("$at.json");
	my $typed     = eval {
		$self->_type(
			"$at.operations",
			$o{task} eq 'office'   ? office()
			: $o{task} eq 'trials' ? trials()
			:                        editing($o{characters})
		);
	};
	my $why = $@;
	sleep 1;
	kill 'INT', $collector->{pid};
	waitpid $collector->{script}, 0;
	$self->{workload}->stop($program);
	die $why if !defined $typed;
	# Last: who finds this file finds the others whole.
	open my $h, '>', "$at.typed" or croak "$at.typed: $!";
	print {$h} "$typed\n";
	CORE::close $h or croak "$at.typed: $!";
	return $typed;
}

# What `tipme profile report --json` says of a session.
sub report {
	my ($r) = @_;
	my $tipme = defined $ENV{TIPME_BUILDDIR} ? "$ENV{TIPME_BUILDDIR}/tipme" : 'tipme';
	open my $h, '-|', $tipme, qw(profile report), $r->{profile}, '--times', $r->{times},
		'--operations', $r->{operations}, '--json'
		or croak "$tipme: $!";
	local $/;
	return Cpanel::JSON::XS->new->decode(<$h>);
}

# Times of keys are for a terminal alone: script(1) is one.
sub _collect {
	my ($self, $file) = @_;
	my $pids = "$file.pid";
	my $said = "$file.said";
	# What an earlier session left would be taken for ours.
	unlink $pids, $said;
	my $pid = fork // croak "fork: $!";
	if (!$pid) {
		open STDIN,  '<', '/dev/null';
		open STDOUT, '>', $said;
		exec 'script', '-qefc',
			"echo \$\$ > '$pids'; exec '$self->{stage}{tipme}' profile record "
			. "--record-key-times -o '$file'", '/dev/null'
			or POSIX::_exit(127);
	}
	my $last = time + PATIENCE_S;
	while (_slurp($said) !~ /recording to/) {
		time < $last && waitpid($pid, POSIX::WNOHANG()) == 0
			or croak 'the collector does not begin: ', _slurp($said);
		sleep 0.05;
	}
	return { script => $pid, pid => _slurp($pids) + 0 };
}

# Has the typist do all lines; writes what he tells of operations. Returns the number of presses.
sub _type {
	my ($self, $file, @lines) = @_;
	my $stage = $self->{stage};
	my ($presses, $names) = (0, 0);
	for (@lines) {
		$presses +=
			  /^type (.*)/s                           ? length $1
			: /^(?:key|chord|click|wheel|drag|move) / ? 1
			: /^trial /                               ? TRIALS
			:                                           0;
		$names += /^trial / ? 2 : /^operation/ ? 1 : 0;
	}
	open my $h, '>', $file or croak "$file: $!";
	$stage->type_lines(@lines);
	my ($seen, $named) = (0, 0);
	while ($seen < $presses || $named < $names) {
		defined(my $l = readline $stage->{typist_out}) or croak 'the typist ended';
		print {$h} $l;
		if   ($l =~ /^=/) { $named++ }
		else              { $seen++ }
	}
	CORE::close $h or croak "$file: $!";
	return $presses;
}

sub _slurp {
	my ($path) = @_;
	open my $h, '<', $path or return '';
	local $/;
	return scalar <$h> // '';
}

1;
