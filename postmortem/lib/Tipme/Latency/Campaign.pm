# SPDX-License-Identifier: GPL-2.0-only
# A campaign: latencies of the machine at rest and under loads, one recording each, and a page.
#
# Everything lies in one folder: campaign.json says which loads there are, when each began, and what
# was marked; NAME.json is the recording under that load. Begun again it goes on with what is not
# complete.
package Tipme::Latency::Campaign;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use Exporter         qw(import);
use Fcntl            qw(LOCK_EX LOCK_NB);
use List::Util       qw(first);
use File::Path       qw(remove_tree);
use POSIX            ();
use Time::HiRes      qw(sleep);
use Tipme::Latency::Leftover;
use Tipme::Latency::Result;

our @EXPORT_OK = qw(loads run mark);

# Unit: us. The longest threshold that a recording takes.
my $MOST_US = 4_000_000;
# Unit: characters. More is no mark, but a report.
my $MARK_CHARS = 200;

# Loads that need nothing but a shell and what %NEEDS names; each is repeated until its time is
# over, in a folder of its own that is removed. `office` types letters and saves them, on a display
# of its own, eight times as fast as the fastest typist (OSDI 1999, 3.1.1: 120 words a minute).
my %NEEDS = (compile => ['cc'], office => [ 'Xvfb', 'xterm' ]);
my @LOADS = (
	[ 'idle',   undef ],
	[ 'office', <<'END' ],
Xvfb -displayfd 3 -screen 0 1024x768x16 -nolisten tcp 3> display &
while [ ! -s display ]; do sleep 0.1; done
DISPLAY=:$(cat display); export DISPLAY
xterm -geometry 160x60+0+0 -e sh &
while :; do
	echo 'enter cat >> letter'
	for i in 1 2 3 4 5 6 7 8; do
		echo 'enter Dear reader, this is a line of a letter that nobody will ever send.'
	done
	echo 'chord Ctrl+d'
	echo 'enter sort letter > sorted; gzip -kf letter; cp letter.gz "saved as"; tail -n 9 letter'
done | "$TIPME_COMMAND" type --wpm 1000
END
	[ 'compile', <<'END' ],
i=0
while [ $i -lt 1500 ]; do
	echo "int f$i(int x) { int s = x; for (int i = 0; i < x; i++) s = s * 31 + i % (x + $i); return s; }"
	i=$((i + 1))
done > many.c
while :; do cc -O2 -c many.c -o many.o; cp many.o copy.o; done
END
	[ 'files', <<'END' ],
while :; do
	mkdir -p tree
	for i in 1 2 3 4 5 6 7 8; do head -c 8388608 /dev/zero > "tree/$i"; done
	cp -r tree copy
	sync -f . 2>/dev/null || sync
	rm -rf tree copy
done
END
);

# loads(): names of those that need no command
sub loads {
	return map { $_->[0] } @LOADS;
}

# run(FOLDER, seconds => S, load => { NAME => COMMAND }, threshold_us => US or undef, say => SUB):
# the results in order, idle first. Dies by a sentence; what is complete stays.
sub run {
	my ($folder, %o) = @_;
	my $over = $o{threshold_us} // $MOST_US;
	die "--threshold $over: 1 to $MOST_US us are meant\n" if $over < 1 || $over > $MOST_US;
	mkdir $folder or $!{EEXIST} && -d $folder or die "$folder: $!\n";
	my $lock     = _lock($folder);
	my @steps    = _steps($folder, %o);
	my $leftover = Tipme::Latency::Leftover->new;
	_change(
		$folder,
		sub {
			my ($c) = @_;
			$c->{seconds} = $o{seconds};
			$c->{loads} //= [ map { { name => $_->[0], command => $_->[1] } } @steps ];
		}
	);
	my (@files, $ended);
	# For all of it: a signal between two recordings would be lost, or leave a load behind.
	local @SIG{qw(INT TERM)} = (sub { $ended = 1 }) x 2;
	for my $step (@steps) {
		my ($name, $command) = @$step;
		my $file = "$folder/$name.json";
		push @files, $file;
		if (_is_complete($file, $o{seconds})) { $o{say}->("$name: is there already"); next }
		$o{say}->("$name: $o{seconds} s");
		_change(
			$folder,
			sub {
				(first { $_->{name} eq $name } @{ $_[0]{loads} })->{begun_s} = time;
			}
		);
		_record($folder, $name, $command, $file, \$ended, $leftover, %o);
	}
	my $marks = _marks(_read($folder));
	return map {
		my ($name) = m{([^/]*)\.json\z};
		my $r = Tipme::Latency::Result->read($_);
		$r->{marks} = $marks->{$name};
		$r
	} @files;
}

# mark(FOLDER, TEXT): what was marked, in words. Dies by a sentence.
sub mark {
	my ($folder, $text) = @_;
	die "$folder: no such folder: name that of a campaign\n" if !-d $folder;
	my $c = _read($folder) or die "$folder: no campaign was begun there\n";
	die "$folder: a mark has 1 to $MARK_CHARS characters\n"
		if !length $text || length $text > $MARK_CHARS;
	my $now = time;
	utf8::decode($text);
	_change($folder, sub { push @{ $_[0]{marks} }, { s => $now, text => $text } });
	my $load = _load_at($c, $now)
		// return 'marked; but nothing is being recorded: the page will not show it';
	return sprintf 'marked %d s after the begin of %s', $now - $load->{begun_s}, $load->{name};
}

# The load that was being recorded at that time.
sub _load_at {
	my ($c, $s) = @_;
	return first {
		my $begun = $_->{begun_s};
		defined $begun && $s >= $begun && $s <= $begun + $c->{seconds}
	} @{ $c->{loads} };
}

# NAME => [ { after_s, text } ... ], in order
sub _marks {
	my ($c) = @_;
	my %of;
	for my $m (
		sort { $a->{s} <=> $b->{s} }
		grep { ref eq 'HASH' && ($_->{s} // '') =~ /\A\d+\z/ } @{ $c->{marks} // [] }
		)
	{
		my $load = _load_at($c, $m->{s}) // next;
		push @{ $of{ $load->{name} } },
			{ after_s => $m->{s} - $load->{begun_s}, text => $m->{text} // '' };
	}
	return \%of;
}

# Two in one folder would write the same files, and one's load would be the other's idle. The lock
# ends with the process, however that ends.
sub _lock {
	my ($folder) = @_;
	open my $lock, '>>', "$folder/campaign.lock" or die "$folder/campaign.lock: $!\n";
	flock $lock, LOCK_EX | LOCK_NB
		or die "$folder: a campaign runs there: wait for it, or name another folder\n";
	return $lock;
}

# A campaign that was begun keeps its loads; another set is another campaign.
sub _steps {
	my ($folder, %o) = @_;
	my @steps = (@LOADS, map { [ $_, $o{load}{$_} ] } sort keys %{ $o{load} });
	@steps = grep {
		my $step = $_;
		!grep { !_has($_) } @{ $NEEDS{ $step->[0] } // [] }
	} @steps;
	my $was  = _read($folder) or return @steps;
	my $same = sub {
		return join "\n", map { $_->[0] . '=' . ($_->[1] // '') } @_;
	};
	my @had = map { [ @$_{qw(name command)} ] } @{ $was->{loads} };
	die "$folder: holds a campaign of other loads or another time: name another folder\n"
		if $was->{seconds} != $o{seconds} || $same->(@had) ne $same->(@steps);
	return @steps;
}

sub _has {
	my ($name) = @_;
	return grep { -x "$_/$name" } split /:/, $ENV{PATH} // '';
}

# campaign.json; undef: there is none.
sub _read {
	my ($folder) = @_;
	open my $in, '<:raw', "$folder/campaign.json" or return;
	my $was = eval {
		Cpanel::JSON::XS->new->utf8->decode(do { local $/ = undef; <$in> });
	};
	die "$folder/campaign.json: is none of tipme: name another folder\n"
		if ref $was ne 'HASH'
		|| ($was->{format}  // '') ne 'tipme campaign'
		|| ($was->{seconds} // '') !~ /\A[0-9]{1,9}\z/
		|| ref $was->{loads} ne 'ARRAY'
		|| grep { ref ne 'HASH' || !defined $_->{name} } @{ $was->{loads} };
	return $was;
}

# Lets SUB change campaign.json. A campaign and a mark may want to at once: the folder is locked.
sub _change {
	my ($folder, $sub) = @_;
	open my $lock, '<', $folder or die "$folder: $!\n";
	flock $lock, LOCK_EX or die "$folder: $!\n";
	my $c = _read($folder) // { format => 'tipme campaign', version => 1 };
	$sub->($c);
	return _save($folder, $c);
}

sub _save {
	my ($folder, $data) = @_;
	my $new = "$folder/campaign.json.$$";
	open my $out, '>:raw', $new or die "$new: $!\n";
	print {$out} Cpanel::JSON::XS->new->canonical->pretty->ascii->encode($data)
		and close $out
		and rename $new, "$folder/campaign.json"
		or die "$folder/campaign.json: $!: is the disk full?\n";
	return;
}

sub _is_complete {
	my ($file, $seconds) = @_;
	return 0 if !-e $file;
	my $r = eval { Tipme::Latency::Result->read($file) };
	return $r && $r->{complete} && $r->{duration_s} >= $seconds - 1 ? 1 : 0;
}

# Sixty blocks or more: what is rarer than they tell can be fitted.
sub _block_s {
	my ($seconds) = @_;
	my $s = int($seconds / 60);
	return $s < 1 ? 1 : $s > 60 ? 60 : $s;
}

# The load runs in a process group of its own, so that all of it ends with us.
sub _record {
	my ($folder, $name, $command, $file, $ended, $leftover, %o) = @_;
	my $work = "$folder/work-$name";
	my $load = defined $command ? _start($work, $command, $leftover) : undef;
	my $rc   = _wait(
		$o{program},
		[
			'record', '--duration', $o{seconds}, '--every', _block_s($o{seconds}), '--output',
			$file,
			defined $o{threshold_us} ? ('--threshold', $o{threshold_us}) : ()
		],
		$load,
		$ended,
		$leftover
	);
	_end($load)                                                        if $load;
	$leftover->ended($load)                                            if $load;
	_remove($work)                                                     if defined $command;
	die "$name: ended before its time; run the same again to go on\n"  if $$ended;
	die "$name: the load has ended by itself: is its command right?\n" if $rc == -1;
	# 2: something was over the threshold, which is what is asked.
	die "$name: it could not be recorded\n" if $rc != 0 && $rc != 2;
	return;
}

sub _start {
	my ($work, $command, $leftover) = @_;
	_remove($work);
	mkdir $work or die "$work: $!\n";
	my $pid = fork // die "no process for the load: $!\n";
	return $pid if $pid;
	$leftover->leads('TERM');
	@SIG{qw(INT TERM)} = ('DEFAULT') x 2;
	open STDOUT, '>', '/dev/null';
	open STDERR, '>', '/dev/null';
	open STDIN,  '<', '/dev/null';
	chdir $work or POSIX::_exit(1);
	$ENV{TIPME_COMMAND} =
		length($ENV{TIPME_BUILDDIR} // '') ? "$ENV{TIPME_BUILDDIR}/tipme" : 'tipme';
	{ no warnings 'exec'; exec '/bin/sh', '-c', $command }
	POSIX::_exit(127);
}

sub _end {
	my ($pid) = @_;
	kill 'TERM', -$pid, $pid;
	for (1 .. 50) { last if waitpid($pid, POSIX::WNOHANG()) != 0; sleep 0.05 }
	# Those that it has started have something to put away, too.
	for (1 .. 40) { last if !kill 0, -$pid; sleep 0.05 }
	# All of its group: what is killed may still be writing for a moment.
	for (1 .. 200) { last if !kill 'KILL', -$pid; waitpid $pid, POSIX::WNOHANG(); sleep 0.05 }
	waitpid $pid, 0;
	return;
}

# The folder of a load, in which a process that ends may still have written.
sub _remove {
	my ($work) = @_;
	for (1 .. 40) {
		remove_tree($work, { error => \my $errors });
		return if !-e $work;
		sleep 0.25;
	}
	die "$work: cannot be removed: a process of an earlier load may still write there: end it\n";
}

# Exit status of the recording; -1 where the load ended before it.
sub _wait {
	my ($program, $args, $load, $ended, $leftover) = @_;
	my $pid = fork // die "no process for the recording: $!\n";
	if (!$pid) {
		$leftover->leads('INT');
		open STDOUT, '>', '/dev/null';
		{ no warnings 'exec'; exec $program, @$args }
		POSIX::_exit(127);
	}
	while (waitpid($pid, POSIX::WNOHANG()) == 0) {
		my $gone = defined $load && !kill 0, $load;
		$gone ||= defined $load && waitpid($load, POSIX::WNOHANG()) != 0;
		if ($$ended || $gone) {
			kill 'INT', $pid;
			waitpid $pid, 0;
			$leftover->ended($pid);
			return $gone ? -1 : 1;
		}
		sleep 0.1;
	}
	my $rc = $? >> 8;
	$leftover->ended($pid);
	return $rc;
}

1;
