#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The hot-key while the machine hardly works: real-time hogs on all CPUs, a disk that many write to,
# no memory, a flood of records. In each case the episode must be whole: no record lost, every CPU
# covered from before the key to the end, and a path that adds up. A flood that fills the copy's
# memory before the last seconds are over may cut these, and must say so: never what led to the key.
# Two of them, drawn by the commit's hash; with TIPME_TEST_ALL=1 all.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Spec       ();
use File::Temp       qw(tempdir);
use List::Util       qw(first);
use POSIX            ();
use Test::More;
use Time::HiRes qw(sleep);
use lib "$ENV{TIPME_SRCDIR}/helper/demo", "$ENV{TIPME_SRCDIR}/helper/test/lib",
	"$ENV{TIPME_SRCDIR}/tests/lib",
	"$ENV{TIPME_BUILDDIR}/abi/generated", "$ENV{TIPME_SRCDIR}/abi/generated";
use Tipme::Drawn     qw(in_turn);
use Tipme::ExactPath qw(exact_path);
use Tipme::LeftOut   qw(calls_left_out wrongly_left_out);
use Tipme::Stage;

plan skip_all => 'not root: recording the whole machine needs it' if $>;

# In a file system that is memory nothing could be given up when memory is short: the kernel would
# end who reads there.
my $disk    = on_disk(File::Spec->tmpdir, '/var/tmp', $ENV{TIPME_BUILDDIR});
my $library = tempdir('tipme-hardship-XXXXXX', DIR => $disk // File::Spec->tmpdir, CLEANUP => 1);
my $stage   = Tipme::Stage->new(
	library       => $library, seed => 11,
	recorder_args => [ map { ('--user', $_) } grep { !$> && getpwnam $_ } 'daemon' ]
);
$stage->start_terminal;
$stage->start_typist;
$stage->type_lines('sleep 0.5', 'type abcd');
$stage->pressed(4);
my $cpus = $stage->cpus;
my ($HOGS, $DISK, $MEMORY, $FLOOD) = (
	'real-time hogs on all CPUs',
	'a disk that four processes write to',
	'memory exhausted, for the recorder, too',
	'a flood of context switches'
);
my %played = map { $_ => 1 } in_turn(2, 'hardships', $HOGS, $DISK, $MEMORY, $FLOOD);

hardship(
	$HOGS, $cpus,
	sub {
		system('chrt', '-f', '-p', '30', $$) == 0 or die "no real-time priority here\n";
		1 while 1;
	}
);
SKIP: {
	skip 'no folder on a disk here', 1 if !defined $disk;
	hardship(
		$DISK, 4,
		sub {
			my ($i) = @_;
			open my $f, '>', "$library/.fill-$i" or die "$library: $!\n";
			unlink "$library/.fill-$i";
			my $block = 'x' x (1 << 20);
			for (;;) { sysseek $f, 0, 0; syswrite $f, $block for 1 .. 64; $f->sync }
		}
	);
}
SKIP: {
	last SKIP if !$played{$MEMORY};
	skip 'no folder on a disk here', 2 if !defined $disk;
	my $group = memory_group(40 << 20);
	skip 'no memory cgroup may be made here', 1 if !$group;
	hardship(
		$MEMORY, 2,
		sub {
			my ($i) = @_;
			put("$group->{dir}/cgroup.procs", $$) or die "no place in the cgroup\n";
			thrash("$library/.map-$i", 64);
		}
	);
	cmp_ok(
		$group->{failures}->(), '>', 100,
		'so often there was no page to be had: ' . $group->{failures}->()
	);
	$group->{leave}->();
}
hardship(
	$FLOOD,
	2 * $cpus,
	sub {
		pipe my $r1, my $w1 or die;
		pipe my $r2, my $w2 or die;
		my $other = fork // die;
		if (!$other) {
			close $w1;
			while (sysread $r1, my $b, 1) { syswrite $w2, 'x' }
			POSIX::_exit(0);
		}
		for (;;) { syswrite $w1, 'x'; sysread $r2, my $b, 1 or last }
	},
	1
);
$stage->close;
done_testing;

# Runs CODE in COUNT processes, presses a key and then the hot-key, and looks at what was saved.
sub hardship {
	my ($what, $count, $code, $may_cut) = @_;
	return if !$played{$what};
	subtest $what => sub {
		my @old  = $stage->episodes;
		my @pids = start($count, $code);
		sleep 0.6;
		# A flood fills the whole ring in about a second: what is to be judged comes late.
		my $before = $may_cut ? 0.2 : 0.7;
		$stage->type_lines('key x', "sleep $before", 'chord Ctrl+Alt+minus', 'sleep 0.3');
		$stage->pressed(2);
		sleep 3;
		my @ended = grep { waitpid($_, POSIX::WNOHANG()) != 0 } @pids;
		is(@ended, 0, 'the load was there all the time');
		kill 'KILL', map { -$_ } @pids;
		waitpid $_, 0 for @pids;
		whole($stage->new_episode(@old), $may_cut);
		sleep 1;
	};
}

# A cgroup of little memory with the recorder in it, so that what it needs from now on has to be
# taken from somebody each time.
sub memory_group {
	my ($bytes) = @_;
	my ($root, $limit) =
		-e '/sys/fs/cgroup/memory/memory.limit_in_bytes'
		? ('/sys/fs/cgroup/memory', 'memory.limit_in_bytes')
		: ('/sys/fs/cgroup', 'memory.max');
	my $dir = "$root/tipme-hardship-$$";
	mkdir $dir or return;
	# Where the controller is not mounted, this is an ordinary folder, in which any file could be
	# made.
	if (!-e "$dir/$limit") { rmdir $dir; return }
	my $pid   = status()->{pid};
	my $leave = sub {
		put("$root/cgroup.procs", $pid);
		for (1 .. 50) { last if rmdir $dir; sleep 0.1 }
	};
	if (!put("$dir/$limit", $bytes) || !put("$dir/cgroup.procs", $pid)) { $leave->(); return }
	$stage->at_end($leave);
	return {
		dir      => $dir,
		leave    => $leave,
		failures => sub {
			my ($n) =
				(slurp("$dir/memory.failcnt") || slurp("$dir/memory.events") =~ s/.*^max //msr) =~
				/(\d+)/;
			$n // 0;
		}
	};
}

sub status { return Cpanel::JSON::XS->new->decode(scalar qx{"$stage->{tipme}" status --json}) }

# The first of these folders that is not in memory.
sub on_disk {
	my (@folders) = @_;
	return first { qx{stat -f -c %T "$_"} !~ /^(?:tmpfs|ramfs)$/ } @folders;
}

sub put {
	my ($path, $text) = @_;
	open my $f, '>', $path or return;
	return print({$f} $text) && close $f;
}

sub slurp { my ($path) = @_; open my $f, '<', $path or return ''; local $/; return <$f> // '' }

# Reads a file again and again that has no room in memory.
sub thrash {
	my ($file, $mb) = @_;
	open my $f, '+>', $file or die "$file: $!\n";
	unlink $file;
	my $block = 'x' x (1 << 20);
	syswrite $f, $block for 1 .. $mb;
	for (;;) { sysseek $f, 0, 0; sysread $f, my $b, 1 << 20 for 1 .. $mb }
}

# Each is a group of its own, so that its children end with it.
sub start {
	my ($count, $code) = @_;
	my @pids;
	for my $i (1 .. $count) {
		my $pid = fork // BAIL_OUT("fork: $!");
		if (!$pid) {
			$SIG{$_} = 'DEFAULT' for qw(INT TERM HUP PIPE);
			POSIX::setsid();
			eval { $code->($i); 1 } or print STDERR "load: $@";
			POSIX::_exit(1);
		}
		push @pids, $pid;
	}
	$stage->at_end(
		sub {
			kill 'KILL', map { -$_ } @pids;
		}
	);
	return @pids;
}

sub whole {
	my ($episode, $may_cut) = @_;
	my $m = do {
		open my $h, '<', "$episode/manifest.json" or return fail("$episode has a manifest: $!");
		local $/;
		Cpanel::JSON::XS->new->decode(<$h>);
	};
	my ($kernel) = grep { $_->{file} eq 'kernel.rec' } @{ $m->{sources} };
	my @records = grep { !/^(?:\w+_table|missed)$/ && !($may_cut && /^cut$/) }
		keys %{ $kernel->{lost} };
	is_deeply(
		{ map { $_ => $kernel->{lost}{$_} } grep { $kernel->{lost}{$_} } @records }, {},
		'no record was lost'
	);
	my $status = status();
	note "missed $kernel->{lost}{missed}; left out since the start: ", calls_left_out($status);
	is_deeply([ wrongly_left_out($status) ], [], 'no call of a program is missing');
	is(
		@{ $kernel->{coverage} }, scalar(() = slurp('/proc/stat') =~ /^cpu\d/mg),
		'every CPU is in it'
	);
	for my $c (@{ $kernel->{coverage} }) {
		# A flood fills the whole ring in about a second.
		my $before = $may_cut ? 0.1 : 1;
		cmp_ok(
			$c->{first_ns}, '<', $m->{trigger}{ns} - $before * 1e9,
			"CPU $c->{cpu} is covered from more than $before s before the key"
		);
		my $until = $kernel->{lost}{cut} ? $m->{trigger}{ns} : $m->{end_ns} - 2e7;
		cmp_ok(
			$c->{last_ns}, '>=', $until,
			$kernel->{lost}{cut} ? '... to the key at least' : '... to the end'
		);
	}
	cmp_ok(
		$m->{end_ns} - $m->{trigger}{ns}, '>=', $m->{recorder}{post_s} * 1e9,
		'with the seconds after the trigger'
	);
	my ($x) = grep { $_->{source} eq 'x_hooks' } @{ $m->{sources} };
	ok($x && !grep({$_} values %{ $x->{lost} }), 'the X server is in it, and lost nothing');
	note(
		sprintf 'copied in %.1f ms; %d records', copied_ms($episode),
		eval { my $n = 0; $n += $_->{records} for @{ $kernel->{coverage} }; $n }
	);
	my $d = $stage->diagnose($episode);
	note("verdict: $d->{verdict}{sentence}");
	if (!ok($d->{interval}, 'the key before the hot-key can be judged')) {return}
	cmp_ok($d->{interval}{start_ns}, '<', $m->{trigger}{ns},        '... from before the hot-key');
	cmp_ok($d->{interval}{end_ns},   '>', $d->{interval}{start_ns}, '... for some time');
	exact_path($d);
}

# From the trigger to the end of the first copy, as the file's head says.
sub copied_ms {
	my ($episode) = @_;
	open my $h, '<:raw', "$episode/kernel.rec" or return 0;
	read $h, my $head, 64;
	my ($created, $trigger) = unpack 'x24 Q< Q<', $head;
	return ($created - $trigger) / 1e6;
}
