# SPDX-License-Identifier: GPL-2.0-only
# The manifest of a bundle: what of the episode's own may be told, and the conclusions whose records
# stay with the sender.
package Tipme::Bundle::Manifest;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Cpanel::JSON::XS ();
use List::Util       qw(max);
use Tipme::Brought;
use Tipme::Cut;
use Tipme::Felt;
use Tipme::Latency;
use Tipme::RanDry;

my @MANIFEST = qw(format time kernel machine cpus page_size end_ns hz_note frequencies state);
my @RECORDER = qw(version pid agents start_ns window_s post_s record_cost_ns record_cost_spread_ns);
my @SOURCE   = qw(source file coverage lost server_pid server_tid server_name display);

# new(ep => EPISODE, d => DATA of its diagnosis, diagnosis =>, threads => Threads, cut => Cut,
# named => { pid => 1 }, fleet => as Bundle has it)
sub new {
	my ($class, %o) = @_;
	return bless {%o}, $class;
}

# text(): the manifest as JSON
sub text {
	my ($self) = @_;
	my $m = $self->{ep}->manifest;
	my %out =
		map  { $_ => $m->{$_} }
		grep { defined $m->{$_} && (!ref $m->{$_} || /\A(?:format|frequencies|state)\z/) }
		@MANIFEST;
	$out{id} = $m->{id};
	my $t = $m->{trigger};
	$out{trigger} = {
		ns   => $t->{ns} + 0, kind => $t->{kind},
		text => (Tipme::Latency::words($t->{text}) || Tipme::RanDry::words($t->{text}))
	};
	# What was over before the last report is told as that.
	$out{trigger}{before_ns} = $t->{before_ns} + 0 if defined $t->{before_ns};
	my $r = ref $m->{recorder} eq 'HASH' ? $m->{recorder} : {};
	$out{recorder} = { map { $_ => $r->{$_} } grep { defined $r->{$_} } @RECORDER };
	$out{sources}  = [
		map {
			my $s = $_;
			+{ map { $_ => $s->{$_} } grep { defined $s->{$_} } @SOURCE }
		} @{ $m->{sources} }
	];
	# That the machine slept meanwhile is said of the verdict.
	my $i = $self->{d}{interval};
	$out{suspends} = [ $self->{ep}->suspends(@$i{qw(start_ns end_ns)}) ] if $i;
	$out{fleet}    = $self->{fleet}                                      if $self->{fleet};
	my @waits = $self->{diagnosis}{reasons}->own_waits;
	$out{bundle} = {
		version => 2, detail => $self->{cut}->detail, from_ns => $self->{cut}->from,
		to_ns   => $self->{cut}->to < 1 << 62 ? $self->{cut}->to : undef,
		(@waits ? (waits => \@waits) : ()),
		$self->_pinned
	};
	# What was cut away is not covered any more.
	for my $c (map { @{ $_->{coverage} } } grep { $_->{source} ne 'tipmed' } @{ $out{sources} }) {
		$c->{first_ns} = max($c->{first_ns}, $self->{cut}->begins);
	}
	return Cpanel::JSON::XS->new->canonical->pretty->encode(\%out);
}

# The event of the verdict, by its number here, with what was usual here, and what the bundle has as
# sums only.
sub _pinned {
	my ($self) = @_;
	my %named = map { $self->{threads}->at($_, $self->{ep}->trigger_ns)->{comm} => 1 }
		keys %{ $self->{named} };
	my %brought =
		$self->{cut}->detail eq 'whole'
		? ()
		: Tipme::Brought::sent($self->{d}, sub { return $named{ $_[0] } });
	$brought{quiet} = Tipme::Brought::quiet($self->{diagnosis}, $self->{d}{sampled})
		if $self->{cut}->detail eq 'none';
	my @idle = map { $_ ? (idle_cpus => $_) : () } $self->{cut}->idle_cpus;
	my $held =
		$self->{cut}->detail eq 'whole'
		? undef
		: $self->{diagnosis}{kernel}->woken_from_told($self->{named});
	push @idle, held_before => $held if $held;
	my $own = $self->{cut}->own or return (%brought, $self->_meant, @idle);
	my $i   = $self->{d}{interval};
	my ($e) = grep { $_->{n} == $own->{n} } $self->{diagnosis}->events;
	my $r   = $self->{diagnosis}->answer_of($e) // {};
	my @start =
		$e->{start}
		? (
		start => {
			map { $_ => $e->{start}{$_} } qw(pid client parent born_ns from_ns by by_pid by_client)
		}
		)
		: ();
	my $exact = ($self->{diagnosis}->interval_of($e) // {})->{start_exact} ? 1 : 0;

	if ($brought{press}) {
		$r     = Tipme::Cut::unproven_answer($self->{d}, $e);
		$exact = $self->{d}{event}{stages}[0]{certainty} eq 'exact' ? 1 : 0;
	}
	my %answer = (
		end_ns => $i->{end_ns}, (map { ($_ => $r->{$_} ? 1 : 0) } qw(open exact busy gone)),
		map { defined $r->{$_} ? ($_ => $r->{$_}) : () } qw(first_ns tid drawn_ns)
	);
	$answer{damage_ns} = $r->{damage}{ts_ns} if $r->{damage};
	$answer{frame} =
		{ map { defined $r->{frame}{$_} ? ($_ => $r->{frame}{$_}) : () }
			qw(ns exact pid told_ns asked_ns) }
		if $r->{frame};
	@answer{qw(asked_tid asked_ns)} = @{ $r->{asked} } if $r->{asked};
	my @held = ($e->{motion} // '') eq 'drag' ? (dragged => 1) : ();
	my $sent = $e->{deliver_record} // {};
	push @held, sent_to => $sent->{pid},
		came_ns => $sent->{sent_ns} // $e->{device_record}{kernel_ns}
		if $sent->{guessed} || defined $sent->{sent_ns};
	push @held, sent_by => $e->{server}{pid} if defined $sent->{sent_ns};
	# Which server showed what started is known by the others who asked it.
	my ($press) = grep { $e->{start} && $_->{n} == $e->{start}{by} } $self->{diagnosis}->events;
	push @held, shown_by => $e->{server}{pid} if $press && $press->{server} != $e->{server};
	return (
		%brought,
		event => {
			%$own, @start, @held, start_ns => $i->{start_ns}, start_exact => $exact,
			answer => \%answer,
			map { defined $i->{$_} ? ($_ => $i->{$_}) : () } qw(usual_ns usual_count usual_where)
		},
		aside => $self->{cut}->aside,
		idle  => $self->{cut}->idle($self->{diagnosis}{reasons}),
		asked => $self->{cut}->asked,
		@idle,
		map { $_ ? (disk_pause_ns => $_) : () } $self->{d}{verdict}{disk_pause_ns}
	);
}

# Where all events are there: which of them the sender has meant, or has described.
sub _meant {
	my $ns = Tipme::Felt::meant_ns(@{ $_[0] }{qw(diagnosis d)});
	return defined $ns ? (meant_ns => $ns) : ();
}

1;
