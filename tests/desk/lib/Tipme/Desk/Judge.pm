# SPDX-License-Identifier: GPL-2.0-only
# A scene is void, or tipme is right about it, or wrong. Whether it is void is decided before the
# verdict is read.
package Tipme::Desk::Judge;
use strict;
use warnings;
use List::Util qw(max min);

use constant NOTICED_NS => 100_000_000;    # what is answered sooner seems to come at once
# The witness, a real-time client of the server, has to wait so long on a machine that is not itself
use constant DISTURBED_NS => 60_000_000;
use constant OTHERS_SHARE => 0.2;    # of the interval: then a wait for a CPU is a cause of its own
use constant ECHO_NS      => 150_000_000; # the programs of our own wait so long after an echo
use constant OTHER_SHARE  => 0.5;         # of the lag that is meant: another press that lags counts
use constant TOLERANCE_NS => 20_000_000;
use constant TOLERANCE_SHARE => 0.05;

# judge(SCENE): the result as data
sub judge {
	my ($s)  = @_;
	my $void = void($s);
	my %r    = (
		%{ $s->{drawn} }, episode => $s->{episode}, void => $void, usual_ns => $s->{usual_ns},
		says     => $s->{how}{says} =~ s/%d/$s->{ms}/r, accepted => $s->{how}{kinds},
		client   => $s->{ui_pid},                       echoes   => $s->{echoes} // 0,
		press_ns => $s->{press_ns}, answer_ns => $s->{answer}, hotkey_ns => $s->{hotkey_ns},
		who      => $s->{how}{who}->($s)
	);
	return \%r if $void;
	my ($d, $status) = diagnose($s);
	@r{qw(verdict interval status)} = ($d->{verdict}, $d->{interval}, $status);
	$r{candidates} = $d->{candidates} if $d->{candidates};
	return { %r, $s->{quiet} ? quiet($d) : compare(\%r, $d) };
}

sub diagnose {
	my ($s) = @_;
	my ($json, $status) = $s->{stage}->command('diagnose', $s->{episode}, '--json');
	my $d = eval { Cpanel::JSON::XS->new->decode($json) }
		// { verdict => { kind => 'failed', sentence => "diagnose failed with $status" } };
	return ($d, $status);
}

# Why nothing can be said about this scene; '' if it counts. From the witness and from those who
# did it, never from our records.
sub void {
	my ($s) = @_;
	return 'the program gave no answer' if !$s->{answer};
	my ($from, $to) = ($s->{press_ns}, $s->{answer}[1]);
	my @other = @{ $s->{presses} // [] };
	# Quiet is a scene only if it was quiet from its first press on.
	$from = min($from, @other) if $s->{quiet};
	my $during = sub {
		max(0, map { $_->{ns} } grep { $_->{t} > $from && $_->{t} - $_->{ns} < $to } @{ $_[0] });
	};
	my $late = $during->($s->{lates});
	return sprintf 'the machine stood still for %.0f ms', $late / 1e6 if $late > DISTURBED_NS;
	my $wait = $during->($s->{waits});
	return sprintf 'the server left the witness waiting for %.0f ms', $wait / 1e6
		if $wait > DISTURBED_NS && !$s->{how}{server} && !$s->{how}{busy};
	return sprintf 'the program waited %.0f ms for a CPU that others had', $s->{others_ns} / 1e6
		if $s->{others_ns} > OTHERS_SHARE * ($to - $from)
		&& !$s->{how}{busy}
		&& !$s->{how}{unsure}
		&& !$s->{quiet};
	return sprintf 'the program needs %.0f ms also without the cause', $s->{usual_ns} / 1e6
		if $s->{usual_ns} > NOTICED_NS && !$s->{quiet};
	my $took    = $s->{answer}[0] - $s->{press_ns};
	my $late_by = max(0, map { _answered_after($s, $_) } @other);
	return sprintf 'another press was answered after %.0f ms', $late_by / 1e6
		if $late_by > ($s->{quiet} ? NOTICED_NS : max(NOTICED_NS, OTHER_SHARE * $took));
	# Who echoes at once, and lets a moment go by before the work, is late by what comes after that.
	my $own = ($s->{action} // '') eq 'echo' ? ECHO_NS : 0;
	# What we end cannot have held it for longer than that: where its own clocks took more of the
	# time, naming those is right, too.
	my $held = ($s->{released_ns} // $s->{until} // 0) - $s->{press_ns} - $own;
	return sprintf 'of %.0f ms the program took %.0f ms by itself', map { $_ / 1e6 } $took,
		$took - $held
		if ($s->{how}{answer} // '') eq 'after' && !$s->{quiet} && 2 * $held < $took;
	return sprintf 'the cause had no effect: answered after %.0f ms', $took / 1e6
		if !$s->{quiet} && $took - $own < 1.5 * NOTICED_NS;
	return sprintf 'not quiet: answered after %.0f ms', $took / 1e6
		if $s->{quiet} && $took > NOTICED_NS;
	return '';
}

# How late the witness saw something change after a press, before the next one; 0: nothing did.
sub _answered_after {
	my ($s, $press) = @_;
	my $next = min($s->{press_ns}, grep { $_ > $press } @{ $s->{presses} });
	my @seen = map  { $_->{t} } grep { !$_->{same} } @{ $s->{damage} };
	my ($t)  = grep { $_ > $press && $_ < $next } @seen;
	return defined $t ? $t - $press : 0;
}

# Nobody may be accused.
sub quiet {
	my ($d)     = @_;
	my $v       = $d->{verdict};
	my $accused = $v->{kind} ne 'none' && $v->{blamed} ? 1 : 0;
	return (
		right => $v->{kind} ne 'failed' && !$accused ? 1 : 0, named => named($v),
		why => $accused ? 'accused: ' . ($v->{sentence} // '') : ''
	);
}

sub named {
	my ($v) = @_;
	my $b = $v->{blamed};
	return $v->{kind}
		. ($b ? ' ' . ($b->{comm} // 'nobody') . (defined $b->{pid} ? " ($b->{pid})" : '') : '');
}

# The truth's own uncertainty: the press may be read a little later, what is drawn in one go takes
# some time; beyond that 20 ms or 5 %.
sub compare {
	my ($r, $d)        = @_;
	my ($v, $i)        = @$d{qw(verdict interval)};
	my ($first, $last) = @{ $r->{answer_ns} };
	my $tolerance = max(TOLERANCE_NS, TOLERANCE_SHARE * ($first - $r->{press_ns}));
	my %o         = (named => named($v), tolerance_ns => $tolerance);
	$o{kind_right} = (grep { $_ eq $v->{kind} } @{ $r->{accepted} }) ? 1 : 0;
	my $blamed = $v->{blamed} // {};
	$o{who_right} =
		(grep { exists $r->{who}{$_} } grep {defined} $blamed->{pid}, @{ $blamed->{pids} // [] })
		? 1
		: 0;
	# An echo may come first: then the interval may begin with the work that follows.
	my $start_slack =
		$r->{action} eq 'echo' ? 170_000_000 : $r->{action} =~ /click|wheel/ ? 100_000_000 : 0;
	if ($i) {
		@o{qw(start_error_ns end_error_ns)} = (
			outside($i->{start_ns}, $r->{press_ns}, $r->{press_ns} + $start_slack),
			outside($i->{end_ns},   $first,         $last)
		);
		$o{interval_right} = max(@o{qw(start_error_ns end_error_ns)}) <= $tolerance ? 1 : 0;
	} else {
		$o{interval_right} = 0;
	}
	$o{right} = $o{kind_right} && $o{who_right} && $o{interval_right} ? 1 : 0;
	$o{why}   = join '; ',
		grep {length} $v->{kind} eq 'none' ? 'not found'
		: $o{kind_right}                   ? ''
		: "kind $v->{kind}, not " . join('|', @{ $r->{accepted} }),
		$o{who_right} || $v->{kind} eq 'none'
		? ''
		: 'not by ' . join(
		', ',
		map {"$r->{who}{$_} ($_)"}
			(sort { $a <=> $b } keys %{ $r->{who} })[ 0 .. min(2, keys(%{ $r->{who} }) - 1) ]
		),
		$o{interval_right} || !$i
		? ''
		: sprintf(
		'interval off by %.0f and %.0f ms', $o{start_error_ns} / 1e6,
		$o{end_error_ns} / 1e6
		);
	return %o;
}

sub outside { my ($x, $from, $to) = @_; return $x < $from ? $from - $x : $x > $to ? $x - $to : 0 }

1;
