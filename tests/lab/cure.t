#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Two problems staged with a real client and a real X server, and `tipme check` behind each: without
# the remedy it says the same as before, with it "better", for sure. The ring is as it is for a
# person: what was pressed before the remedy is still in it when the next episode is saved.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin;
use IPC::Open3 qw(open3);
use Test::More;
use Time::HiRes qw(sleep);
use lib map {"$ENV{TIPME_SRCDIR}/$_"} qw(helper/demo tests/lab/lib);
use Tipme::Stage;

plan skip_all => 'not root: recording the whole machine needs it' if $>;
plan skip_all => 'two minutes: TIPME_TEST_ALL=1 runs it'          if !$ENV{TIPME_TEST_ALL};

use constant { SLOW => 8, AGAIN => 4, CURED => 25 };
my $stage = Tipme::Stage->new(
	library       => tempdir(CLEANUP => 1),
	recorder_args => [ '--post', 0, '--window', 60 ]
);
$stage->start_typist;
my $bin = $stage->{work};
system('cp',    "$ENV{TIPME_BUILDDIR}/tests/lab/lab-client", $bin) == 0 or BAIL_OUT('no client');
system('chmod', '0755',                                      "$bin/lab-client");
open my $lock, '>', "$bin/lock" or BAIL_OUT("$bin/lock: $!");
chmod 0666, "$bin/lock";
my $cpu = (Tipme::Stage::cpu_numbers())[0];

problem(
	what   => 'a lock of a file, which another program has for 0.4 s each time',
	deeds  => "flock $bin/lock",
	helper => helper('keeper', <<'END'),
use Fcntl ':flock';
open my $f, '>', shift or die;
while (<STDIN>) { flock $f, LOCK_EX; print "has\n"; select undef, undef, undef, 0.4; flock $f, LOCK_UN }
END
	args   => ["$bin/lock"],
	kind   => 'lock-wait',
	remedy => sub { my ($h) = @_; end($h) },
);
problem(
	what   => 'a real-time program that computes for 0.4 s each time on the CPU of the client',
	deeds  => 'compute 5',
	pin    => 1,
	helper => helper('synth', <<'END'),
use Time::HiRes 'time';
while (<STDIN>) { print "has\n"; my $end = time + 0.4; 1 while time < $end }
END
	args   => [],
	rt     => 1,
	kind   => 'rt-starvation',
	remedy => sub { my ($h) = @_; system('chrt', '-o', '-p', 0, $h->{pid}) },
);
$stage->close;
done_testing;

# A program of that name, which does something once for each line it is given, and says when.
sub helper {
	my ($name, $code) = @_;
	my $file = "$stage->{dir}/$name";
	open my $out, '>', $file or die "$file: $!\n";
	print {$out} "\$0 = '$name'; \$| = 1;\n$code";
	close $out or die "$file: $!\n";
	return $file;
}

sub start {
	my (%p) = @_;
	my @on = $p{pin} ? ('taskset', '-c', $cpu) : ();
	push @on, 'chrt', '-f', 20 if $p{rt};
	my $pid = open3(my $in, my $out, undef, @on, $^X, $p{helper}, @{ $p{args} });
	$in->autoflush(1);
	return { pid => $pid, in => $in, out => $out };
}

sub end {
	my ($h) = @_;
	return if $h->{ended}++;
	close $h->{in};
	waitpid $h->{pid}, 0;
	return;
}

# type(HELPER, TIMES): a press each time, while the helper, if it runs, is in the way
sub type {
	my ($h, $times) = @_;
	for (1 .. $times) {
		if (!$h->{ended}) { print { $h->{in} } "go\n"; readline $h->{out} }
		$stage->type_lines('key x');
		$stage->pressed(1);
		sleep 0.7;
	}
	return;
}

sub snap {
	my @old = $stage->episodes;
	$stage->type_lines('chord Ctrl+Alt+minus');
	$stage->pressed(1);
	return $stage->new_episode(@old) =~ s{.*/}{}r;
}

# check(ID, AFTER): (what it says as data, its exit status); the words go to the log
sub check {
	my (@args) = @_;
	my ($text, $exit) = $stage->command('check', @args);
	diag($text);
	return (Cpanel::JSON::XS->new->decode(scalar $stage->command('check', @args, '--json')), $exit);
}

sub problem {
	my (%p) = @_;
	$stage->restart_recorder;
	my $client = $stage->start_client(
		'tipme-stage', "$bin/lab-client", '-n', 'editor', '-d',
		$p{deeds}
	);
	system("taskset -a -p -c $cpu $client >/dev/null") if $p{pin};
	my $h = start(%p);
	type({ ended => 1 }, 2 * SLOW);
	type($h,             SLOW);
	my $id = snap();
	my $v  = $stage->diagnose($id)->{verdict};
	is($v->{kind}, $p{kind}, "$p{what}: the problem") or diag($v->{sentence});
	diag("$v->{sentence}\n", map {"  $_->{mark}: $_->{command}\n"} @{ $v->{steps} });

	my ($r, $exit) = check($id);
	is("$r->{after}{presses} $exit", '0 2', '... nothing was pressed since');
	type({ ended => 1 }, 2 * AGAIN);    # as often quick as before
	type($h,             AGAIN);
	my $again = snap();
	($r, $exit) = check($id);
	is("$r->{result} $exit", 'same 2', '... without the remedy: the same as before');
	is(
		$r->{after}{presses}, 3 * AGAIN,
		'... by the presses since, though the older ones are there'
	);
	$p{remedy}->($h);
	type($h, CURED);
	my $cured = snap();
	($r, $exit) = check($id, $cured);
	is("$r->{result} $r->{sure} $exit", 'better 1 0', '... with it: better, for sure');
	is($r->{before}{slow},              SLOW, '... of so many that were slow') or diag(explain $r);
	end($h);
	$stage->end_client($client);
	return;
}
