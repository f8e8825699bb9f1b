# SPDX-License-Identifier: GPL-2.0-only
# From the segments of a wake-up chain to the path: each stretch of time with the thread, what it
# did, and who is to be blamed for it.
package Tipme::Blame;

use strict;
use warnings;
use Tipme::Blame::Others;
use Tipme::Blame::Runs;
use Tipme::Blame::Whom;
use Tipme::Interference;
use Tipme::WakeupChain::Queue;

my $MAX_EVIDENCE = 6;    # of one stretch

# new(threads => Threads, events => KernelEvents, resources => Resources, chain => WakeupChain,
# server => DisplaySource, client_pid, client (its number in the server, where no process is known),
# held_input => { pid, from, to }, answered_ns => when the screen had changed, undef: it had not)
sub new {
	my ($class, %o) = @_;
	my $others = Tipme::Blame::Others->new(%o{qw(threads server client_pid client answered_ns)});
	my @of     = (%o{qw(threads resources server held_input)}, others => $others);
	my @whom =
		%o{qw(threads resources chain server client_pid held_input early_signal early_sleeps)};
	return bless {
		%o,
		others       => $others,
		runs         => Tipme::Blame::Runs->new(@of),
		whom         => Tipme::Blame::Whom->new(@whom),
		interference => Tipme::Interference->new(%o{qw(resources threads)})
	}, $class;
}

# path(\SEGMENTS): [ { tid, pid, start_time_ns, comm, from_ns, to_ns, state, reason, exact, cpu,
# evidence, blamed { kind, pid, tid, comm, detail } } ... ]
sub path {
	my ($self, $segments) = @_;
	my $others = $self->{others};
	my @s      = $self->{interference}->apply([ Tipme::Blame::Runs::in_runs($segments) ]);
	@s = map { $others->split_by_requests($_) } map { $others->split_by_grabs($_) } @s;
	my @path;
	for my $s (@s) {
		my $p = $self->_entry($s);
		if (@path && _alike($path[-1], $p)) { _join($path[-1], $p) }
		else                                { push @path, $p }
	}
	$_->{evidence} = [ map { $self->{events}->evidence($_) } _few(@{ $_->{evidence} }) ] for @path;
	return \@path;
}

# shorten(\SEGMENTS): the same time in fewer of them, as Runs has it
sub shorten { my ($self, @of) = @_; return $self->{runs}->shorten(@of) }

# What is told together: the largest stands for the rest.
sub _mixed_entry {
	my ($self, $s) = @_;
	my @m = sort {
			   $b->{ns} <=> $a->{ns}
			|| $a->{segment}{tid} <=> $b->{segment}{tid}
			|| ($a->{segment}{state} cmp $b->{segment}{state})
			|| $b->{segment}{from} <=> $a->{segment}{from}
	} values %{ $s->{among} };
	my @among = map {
		my $m   = $_->{segment};
		my $who = $self->{threads}->named($m->{tid}, $m->{to} - 1);
		+{
			%{ $self->{whom}->blamed($m, $who) }, ns => $_->{ns}, state => $m->{state},
			exact => $m->{exact} ? 1 : 0, waiter => $who->{pid}, of_tid => $m->{tid}
		};
	} @m;
	my $first = $self->_entry(
		$m[0]{segment}->with(from => $s->{from}, to => $s->{to}, evidence => $s->{evidence}));
	return $first if @among == 1;
	return {
		%$first, mixed => 1, among => \@among,
		exact  => (grep { !$_->{exact} } @among) ? 0 : 1,
		blamed => { %{ $first->{blamed} }, detail => 'in-turn' }
	};
}

# The members of a run, the largest first.
sub _among {
	my ($self, $s) = @_;
	my @m;
	for my $a (values %{ $s->{among} }) {
		my $m = Tipme::WakeupChain::Queue::segment_of($a);
		my $b = $self->{whom}->plainly_had($m)
			// $self->{whom}->blamed($m, $self->{threads}->named($m->{tid}, $m->{to} - 1));
		push @m, { %$b, ns => $a->{ns} };
	}
	return [ sort { $b->{ns} <=> $a->{ns} || $a->{tid} <=> $b->{tid} } @m ];
}

sub _entry {
	my ($self, $s) = @_;
	return $self->_mixed_entry($s) if $s->{mixed};
	my $who = $self->{threads}->named($s->{tid}, $s->{to} - 1);
	return {
		tid    => $s->{tid},    pid     => $who->{pid}, start_time_ns => $who->{start_ns},
		comm   => $who->{comm}, from_ns => $s->{from},  to_ns         => $s->{to},
		state  => $s->{state},                                cpu   => $s->{cpu},
		reason => $s->{by} ? $s->{by}{reason} : $s->{reason}, exact => $s->{exact} ? 1 : 0,
		waiter => $s->{held}
		? $self->{threads}->named($s->{held}{tid}, $s->{held}{at} - 1)->{pid}
		: $who->{pid},
		evidence => $s->{evidence},
		$s->{among} && keys %{ $s->{among} } > 1
		? $self->_run_blamed($s)
		: (blamed => $self->{whom}->blamed($s, $who)),
	};
}

sub _run_blamed {
	my ($self, $s) = @_;
	my $among = $self->_among($s);
	my %most  = %{ $among->[0] };
	delete $most{ns};
	return (blamed => { %most, detail => 'had-cpu-in-turn' }, among => $among);
}

sub _alike {
	my ($a, $b) = @_;
	return 0 if $a->{among} || $b->{among};
	for (qw(tid pid start_time_ns comm state reason exact cpu waiter)) {
		return 0 if ($a->{$_} // '') ne ($b->{$_} // '');
	}
	for (qw(kind pid tid detail)) {
		return 0 if ($a->{blamed}{$_} // '') ne ($b->{blamed}{$_} // '');
	}
	return 1;
}

sub _join {
	my ($a, $b) = @_;
	$a->{to_ns} = $b->{to_ns};
	push @{ $a->{evidence} }, @{ $b->{evidence} };
}

sub _few {
	my %seen;
	my @i = sort { $a <=> $b } grep { !$seen{$_}++ } @_;
	return @i if @i <= $MAX_EVIDENCE;
	my $half = $MAX_EVIDENCE / 2;
	return (@i[ 0 .. $half - 1 ], @i[ -$half .. -1 ]);
}

1;
