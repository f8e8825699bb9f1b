#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The answer need not come in the window that had the event: a second window that opens, one that is
# there and changes, a menu. The truth is what a second X client sees change anywhere on the screen.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC sleep);
use lib "$FindBin::Bin/lib", map {"$ENV{TIPME_SRCDIR}/$_"} qw(helper/demo tests/lib);
use IO::Select;
use Tipme::ExactPath qw(exact_path);
use Tipme::Lab;

plan skip_all => 'not root: recording the whole machine needs it' if $>;
my $NEAR_NS  = 25_000_000;    # the client waits far longer, so a wrong answer is far off
my $lab      = Tipme::Lab->new(library => tempdir(CLEANUP => 1), seed => 1);
my $stage    = $lab->stage;
my $bin      = "$stage->{work}/bin";
my $client   = $stage->start_client('tipme-stage', "$bin/client-tk", 'painter', 'sleep 400');
my ($screen) = in_display(sub { qx{xwininfo -root} =~ /Window id: (0x[0-9a-f]+)/ });
my $observer = in_display(
	sub {
		open my $h, '-|', 'chrt', '-f', '58', "$bin/observer", $screen or die "observer: $!\n";
		$h;
	}
);
is(readline $observer, "ready\n", 'somebody else watches the whole screen');

for (1 .. 3) { $stage->type_lines('key d'); $stage->pressed(1); sleep 0.2 }
answered('a second window opens',     'key w');
answered('the second window changes', 'key v');
answered('a menu',                    'click 3');
$stage->close;
done_testing;

sub in_display {
	my ($do) = @_;
	my %env = $stage->{display}->env;
	local @ENV{ keys %env } = values %env;
	return $do->();
}

# When the screen had changed last before it rested.
sub changed {
	my ($after) = @_;
	my ($select, $buffer, $last) = (IO::Select->new($observer), '', undef);
	my $give_up = clock_gettime(CLOCK_MONOTONIC) + 120;
	while (clock_gettime(CLOCK_MONOTONIC) < $give_up) {
		if ($select->can_read(0.5)) {
			sysread($observer, $buffer, 65536, length $buffer) or die "the observer ended\n";
			while ($buffer =~ s/^(\d+)[^\n]*\n//) { $last = $1 if $1 > $after }
		} elsif (defined $last) {
			return $last;
		}
	}
	return $last;
}

sub answered {
	my ($what, $action) = @_;
	subtest $what => sub {
		my @old = $stage->episodes;
		$stage->type_lines($action);
		my ($pressed) = $stage->pressed(1);
		my $end = changed($pressed) // return fail('nothing has changed on the screen');
		$stage->command('snap');
		my $d = $stage->diagnose(
			$stage->new_episode(@old), '--at', sprintf '%.9f',
			$pressed / 1e9 + 0.001
		);
		is($d->{verdict}{kind},         'timer-sleep', "named: $d->{verdict}{sentence}");
		is($d->{verdict}{blamed}{comm}, 'painter',     'and who');
		cmp_ok($end - $pressed, '>', 400_000_000, 'it took longer than the client slept');
		my $i = $d->{interval};
		cmp_ok(abs($i->{start_ns} - $pressed), '<', $NEAR_NS, 'the interval begins with the press');
		cmp_ok(
			abs($i->{end_ns} - $end), '<', $NEAR_NS,
			'and ends with the last change of the screen'
		) or diag(sprintf '%.1f ms off', ($i->{end_ns} - $end) / 1e6);
		exact_path($d);
		sleep 1;
	};
	return;
}
