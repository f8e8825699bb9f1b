# SPDX-License-Identifier: GPL-2.0-only
# A profile of the input events of an episode: some seconds only, but by every display source that
# an episode can have, Wayland compositors among them, and by the rules of the engine.
package Tipme::Profile::Episode;

use strict;
use warnings;
use List::Util qw(max min sum0);

# Unit: ms. Those of `tipme profile record`.
my @THRESHOLDS = (25, 50, 75, 100, 110, 120, 150, 1000);
my @STAGES     = qw(read sent drawn finished response);
my %KIND       = (
	key_press => 'key',    key_repeat     => 'key',    button_press => 'button',
	motion    => 'motion', button_release => 'button', touch        => 'touch',
	wheel     => 'wheel'
);
# Those that are events whether or not they are answered.
my %PRESS = map { $_ => 1 } qw(key_press key_repeat button_press touch wheel);

# profile(EPISODE, SERVERS, EVENTS of Tipme::Responses): what docs/formats.md calls a profile
sub profile {
	my ($episode, $servers, @events) = @_;
	@events = grep { _counts($_) } @events;
	die $episode->id . ": no input events in it: see `tipme show`\n" if !@events;
	my $from = min(map { $_->{entered_ns} } @events);
	my $to   = max($episode->end_ns, map { $_->{feedback_ns} // $_->{entered_ns} } @events);
	return _profile($episode, $servers, $from, $from, $to, @events);
}

# part(EPISODE, SERVERS, [ BEGAN, WAITED UNTIL ], FROM, TO, EVENTS): the same of those events that
# entered in [FROM, TO), as a part of a profile that began at BEGAN. Until then a person waited in
# the part before. There may be no events. It has waited_until, too.
sub part {
	my ($episode, $servers, $before, $from, $to, @events) = @_;
	my ($began, $until) = @$before;
	@events = grep { _counts($_) && $_->{entered_ns} >= $from && $_->{entered_ns} < $to } @events;
	my $p = _profile($episode, $servers, $began, $from, $to, @events);
	($p->{apps}, $p->{waited_until}) = _apps(max($from, $until), $to, @events);
	return $p;
}

sub _profile {
	my ($episode, $servers, $began, $from, $to, @events) = @_;
	my (%pair, %row);
	for my $e (@events) {
		my ($app, $kind) = ($e->{client}{comm}, $KIND{ $e->{kind} });
		my $pair = $pair{"$app\t$kind"} //= {
			app   => $app, kind => $kind, (map { $_ => 0 } _outcomes()), ahead => 0, events => 0,
			stage => { map { $_ => { count => 0, sum_ns => 0, max_ns => 0, at => {} } } @STAGES }
		};
		_add($pair, \%row, $e, $began);
	}
	my @sources = map { $_->{source} // 'x_hooks' } @$servers;
	return {
		format        => 'tipme profile', version => 1, %{ _machine($episode) },
		source        => $sources[0] // '',
		exact         => (grep { !$_->{exact} } @$servers) ? 0 : 1, key_times => 0,
		duration_ns   => $to - $from,          minutes_of_row => 1, minutes_of_machine_row => 1,
		lost_records  => $episode->lost_count, lost_answers   => 0, own_cpu_ns             => 0,
		thresholds_ms => \@THRESHOLDS,         apps           => (_apps($from, $to, @events))[0],
		pairs         => [ map { _pair($pair{$_}) } sort keys %pair ],
		rows          => [ map { $row{$_} } sort keys %row ], machine_rows => [], worst => []
	};
}

# Of an episode only the minute is told, too.
sub _machine {
	my ($episode) = @_;
	my $m         = $episode->manifest;
	my ($minute)  = ($m->{time} // '') =~ /\A(\d{4}-\d\d-\d\dT\d\d:\d\d)/;
	my ($cpus)    = ($m->{cpus} // 0)  =~ /\A(\d{1,5})\z/;
	return {
		began    => defined $minute ? "${minute}Z" : '',
		recorder => ($m->{recorder} // {})->{version} // '',
		kernel   => $m->{kernel} // '', machine => $m->{machine} // '',
		cpus     => ($cpus // 0) + 0
	};
}

sub _outcomes { return qw(answered without_effect gone unanswered) }

sub _counts {
	my ($e) = @_;
	return 0 if $e->{hotkey} || !$KIND{ $e->{kind} } || !$e->{client} || !defined $e->{entered_ns};
	return $PRESS{ $e->{kind} } || defined $e->{response_ns};
}

sub _outcome {
	my ($e) = @_;
	return
		  $e->{gone}                ? 'gone'
		: $e->{open}                ? 'unanswered'
		: defined $e->{response_ns} ? 'answered'
		:                             'without_effect';
}

sub _add {
	my ($pair, $rows, $e, $from) = @_;
	my $outcome = _outcome($e);
	my $end     = $e->{feedback_ns} // $e->{entered_ns};
	my $minute  = 0 + sprintf '%d', ($end - $from) / 60e9;
	my $row     = $rows->{ sprintf '%06d %s %s', $minute, @$pair{qw(app kind)} } //= {
		minute => $minute, app => $pair->{app}, kind => $pair->{kind}, events => 0, answered => 0,
		sum_ns => 0,       max_ns => 0,         over => [ (0) x @THRESHOLDS ]
	};
	$_->{events}++ for $pair, $row;
	$pair->{$outcome}++;
	return if $outcome ne 'answered';
	my @at = ($e->{entered_ns});
	push @at, min($end, max($at[-1], $_ // $at[-1]))
		for @$e{qw(server_ns deliver_ns first_damage_ns)};
	push @at, $end;
	_count($pair->{stage}{ $STAGES[$_] }, $at[ $_ + 1 ] - $at[$_]) for 0 .. 3;
	my $ns = $end - $at[0];
	_count($pair->{stage}{response}, $ns);
	$row->{answered}++;
	$row->{sum_ns} += $ns;
	$row->{max_ns} = max($row->{max_ns}, $ns);
	$row->{over}[$_] += $ns > $THRESHOLDS[$_] * 1e6 ? 1 : 0 for 0 .. $#THRESHOLDS;
	return;
}

sub _count {
	my ($s, $ns) = @_;
	$s->{count}++;
	$s->{sum_ns} += $ns;
	$s->{max_ns} = max($s->{max_ns}, $ns);
	my $bucket = $s->{at}{ _bucket_us(int($ns / 1000)) } //= [ 0, 0 ];
	$bucket->[0]++;
	$bucket->[1] += $ns;
	return;
}

# Buckets as those of Tipme::Profile::Counts.
sub _bucket_us {
	my ($us) = @_;
	return $us if $us < 4096;
	my $width = 1;
	$width *= 2 while $us >= 4096 * $width;
	return $us - $us % ($width * 32);
}

sub _pair {
	my ($p) = @_;
	my $stages = delete $p->{stage};
	return {
		%$p,
		stages => [
			map {
				my $s  = $stages->{$_};
				my $at = delete $s->{at};
				+{
					stage   => $_, %$s,
					buckets => [ map { [ $_ + 0, @{ $at->{$_} } ] } sort { $a <=> $b } keys %$at ]
				}
			} @STAGES
		]
	};
}

# Waiting of each application, two at once being one; all else goes to the one with most events, as
# thinking: what it computed meanwhile is not looked at.
sub _apps {
	my ($from, $to, @events) = @_;
	my (%waiting, %events);
	my $until = $from;
	for my $e (sort { $a->{entered_ns} <=> $b->{entered_ns} } @events) {
		my $app   = $e->{client}{comm};
		my $end   = $e->{feedback_ns} // ($e->{open} && !$e->{gone} ? $to : $e->{entered_ns});
		my $since = max($until, $e->{entered_ns});
		$events{$app}++;
		$waiting{$app} //= 0;
		next if $end <= $since;
		$waiting{$app} += $end - $since;
		$until = $end;
	}
	my ($most)   = sort { $events{$b} <=> $events{$a} || $a cmp $b } keys %events;
	my $thinking = $to - $from - sum0(values %waiting);
	my @apps     = map {
		{
			app => $_, waiting_ns => $waiting{$_}, thinking_ns => $_ eq $most ? $thinking : 0,
			background_ns => 0
		}
	} sort keys %waiting;
	return (\@apps, $until);
}

1;
