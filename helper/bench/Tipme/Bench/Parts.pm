# SPDX-License-Identifier: GPL-2.0-only
# Where the time of a repeat went, by the recorder: an episode that holds it is saved, and what its
# thread did in exactly that interval is read from there.
package Tipme::Bench::Parts;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Cpanel::JSON::XS ();
use List::Util       qw(max min sum0);
use Tipme::Bench::Task;
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Kernel;
use Tipme::Reason;
use Tipme::Reasons;
use Tipme::Record::Layout;

my %CONTEXT = %{ $Tipme::Record::Layout::ENUM{context} };

# new(tipme => PATH, keep => 1): keep: the episodes stay in the library
sub new { my ($class, %o) = @_; return bless { %o, reasons => Tipme::Reasons->new }, $class }

# source(): what records here, or undef
sub source {
	my ($self) = @_;
	open my $in, '-|', 'sh', '-c', 'exec "$0" status --json 2>/dev/null', $self->{tipme} or return;
	my $text = do { local $/; readline $in };
	close $in;
	my $status = eval { Cpanel::JSON::XS::decode_json($text // '') } // {};
	return $status->{recording} ? $status->{source} // 'unknown' : undef;
}

# tell(TASK NAME => [ REPEAT ... ] ...): saves what was just recorded, and gives those repeats that
# are in it parts of the recorder. Returns (how many it could, what hindered or undef).
sub tell {
	my ($self, %of) = @_;
	my $folder = $self->_snap // return (0, 'the recorder saved nothing');
	my ($told, $why) = (0);
	if (!eval { $told = $self->_tell($folder, %of); 1 }) {
		$why = $@ =~ s/\s+\z//r;
	}
	system 'sh', '-c', 'exec "$0" rm "$1" >/dev/null', $self->{tipme}, $folder =~ s{.*/}{}r
		if !$self->{keep};
	return ($told, $why);
}

sub _snap {
	my ($self) = @_;
	my @lines;
	for my $try (1 .. 3) {
		open my $in, '-|', 'sh', '-c', 'exec "$0" snap -m "tipme bench run" 2>/dev/null',
			$self->{tipme}
			or return;
		@lines = map {s/\s+\z//r} readline $in;
		close $in;
		last if grep {m{^/}} @lines;
		sleep 3;    # one episode in five seconds
	}
	return (grep {m{^/}} @lines)[0];
}

sub _tell {
	my ($self, $folder, %of) = @_;
	my $ep     = Tipme::Episode->open($folder);
	my $kernel = Tipme::Kernel->new($ep);
	die "it takes samples only\n" if $kernel->sampled;
	my $first = $kernel->covered_from;
	my $told  = 0;
	my @all   = grep { $_->[1]{from_ns} >= $first && $_->[1]{to_ns} <= $ep->trigger_ns }
		map {
		my $name = $_;
		map { [ $name, $_ ] } @{ $of{$name} }
		} sort keys %of;
	return 0 if !@all;
	my $states =
		$kernel->states(min(map { $_->[1]{from_ns} } @all), max(map { $_->[1]{to_ns} } @all));
	for my $r (map { $_->[1] } @all) {
		next
			if !@{ $states->events->of_tid($r->{tid}) }
			&& !$kernel->threads->at($r->{tid}, $r->{to_ns})->{known};
		$r->{parts}      = $self->_parts($states, $kernel->threads, $r);
		$r->{parts_from} = 'recorder';
		$told++;
	}
	$self->_judge($ep, $_->[1]) for $self->_worst(@all);
	return $told;
}

# The worst repeat of each task, if it is far from usual: a whole verdict is worth its time there.
sub _worst {
	my ($self, @all) = @_;
	my %of;
	push @{ $of{ $_->[0] } }, $_ for grep { $_->[1]{parts_from} eq 'recorder' } @all;
	my @worst;
	for my $name (sort keys %of) {
		my @by    = sort { _length($a->[1]) <=> _length($b->[1]) } @{ $of{$name} };
		my $worst = $by[-1];
		next if _length($worst->[1]) < 1.5 * _length($by[ $#by / 2 ][1]);
		next if _length($worst->[1]) <= ($self->{longest}{$name} // 0);
		$self->{longest}{$name} = _length($worst->[1]);
		push @worst, $worst;
	}
	return @worst;
}

sub _length { my ($r) = @_; return $r->{to_ns} - $r->{from_ns} }

sub _judge {
	my ($self, $ep, $r) = @_;
	$self->{diagnosis}{ $ep->id } //= Tipme::Diagnosis->new($ep);
	my $d = eval { $self->{diagnosis}{ $ep->id }->run_thread($r->{tid}, @$r{qw(from_ns to_ns)}) }
		or return;
	$r->{verdict} = $d->{verdict}{sentence};
	my @blamed = @{ $d->{totals}{blamed} // [] };
	splice @blamed, 5 if @blamed > 5;
	$r->{path} = [ map { { kind => $_->{kind}, comm => $_->{comm}, ns => $_->{ns} } } @blamed ];
	return;
}

# --- what a thread did from one moment to another ---

# Adds up exactly: each interval of the thread, cut to the repeat, goes to one part or is split.
sub _parts {
	my ($self, $states, $threads, $r) = @_;
	my (%ns, $ran);
	for my $i (@{ $states->intervals($r->{tid}) }) {
		my ($from, $to) = (max($i->{from}, $r->{from_ns}), min($i->{to}, $r->{to_ns}));
		next if $to <= $from;
		if ($i->{kind} eq 'running') {
			my $irq = min(
				$to - $from,
				_share(sum0(@$i{qw(irq_ns softirq_ns)}), $to - $from, $i->{to} - $i->{from})
			);
			$ns{interrupt} += $irq;
			$ran += $to - $from - $irq;
		} elsif ($i->{kind} eq 'runnable') {
			$self->_others(\%ns, $states, $threads, $i, $from, $to);
		} elsif ($i->{kind} eq 'blocked') {
			$self->_slept(\%ns, $states, $threads, $i, $from, $to);
		} else {
			$ns{ $i->{kind} } += $to - $from;
		}
	}
	@ns{qw(user kernel)} = Tipme::Bench::Task::user_and_kernel($r, $ran // 0);
	my @parts = map {
		my ($kind, $what) = split /: /, $_, 2;
		{ kind => $kind, defined $what ? (what => $what) : (), ns => $ns{$_} }
		}
		sort { $ns{$b} <=> $ns{$a} || $a cmp $b } grep { $ns{$_} } keys %ns;
	my $sum = sum0(map { $_->{ns} } @parts);
	die "bug: parts of $sum ns in an interval of " . ($r->{to_ns} - $r->{from_ns}) . " ns\n"
		if $sum != $r->{to_ns} - $r->{from_ns};
	return \@parts;
}

sub _share { my ($sum, $part, $whole) = @_; return $whole > 0 ? int($sum * $part / $whole) : 0 }

# Who had the CPU that the thread waited for.
sub _others {
	my ($self, $ns, $states, $threads, $i, $from, $to) = @_;
	my $left = $to - $from;
	for my $o (defined $i->{cpu} ? $states->occupants($i->{cpu}, $from, $to) : ()) {
		my ($a, $b, $tid) = @$o;
		my $who =
			  !defined $tid ? 'nobody knows who'
			: !$tid         ? 'the CPU was idle'
			:                 $threads->at($tid, $a)->{comm} . ' had the CPU';
		$ns->{"runnable: $who"} += $b - $a;
		$left -= $b - $a;
	}
	$ns->{'runnable: nobody knows who'} += $left if $left;
	return;
}

# Whoever waits for a child process to end waits for what that one does meanwhile.
sub _slept {
	my ($self, $ns, $states, $threads, $i, $from, $to) = @_;
	my ($reason, $tid)   = $self->_reason($states, $threads, $i);
	my ($left,   $begin) = ($to - $from, 'blocked: waiting for a child process to end: ');
	my $child;
	$child = $threads->at($tid, $to) if $tid && $reason && $reason->{code} eq 'wait-child';
	# Whoever ended it may have been another of its threads.
	my $name = $child ? $threads->at($child->{pid}, $to)->{comm} : undef;
	for my $c ($child ? @{ $states->intervals($child->{pid}) } : ()) {
		my $did  = $self->_child_did($states, $threads, $c) // next;
		my $took = min($c->{to}, $to) - max($c->{from}, $from);
		next if $took <= 0;
		$ns->{"$begin$name $did"} += $took;
		$left -= $took;
	}
	$ns->{ 'blocked: ' . _on($threads, $i, $reason, $tid) } += $left if $left;
	return;
}

sub _child_did {
	my ($self, $states, $threads, $c) = @_;
	return 'was running'      if $c->{kind} eq 'running';
	return 'waited for a CPU' if $c->{kind} eq 'runnable';
	return                    if $c->{kind} ne 'blocked';
	my ($reason) = $self->_reason($states, $threads, $c);
	return $reason ? 'was ' . Tipme::Reason::words($reason->{code}) : 'slept';
}

# What a sleep was for, by its stack, and which thread ended it: (reason or undef, tid or undef)
sub _reason {
	my ($self, $states, $threads, $i) = @_;
	my $ev = $states->events;
	my ($context, $tid);
	if (defined $i->{wake}) {
		$context = $CONTEXT{ vec($ev->{d}, $i->{wake}, 32) >> 16 & 255 } // 'unknown';
		$tid     = vec $ev->{a}, $i->{wake}, 32 if $context eq 'task';
	}
	my $reason = $self->{reasons}->of(scalar $threads->stack($i->{stack_id}), $context);
	return ($reason, $tid);
}

sub _on {
	my ($threads, $i, $reason, $tid) = @_;
	my $what =
		  $reason                     ? Tipme::Reason::words($reason->{code})
		: $i->{state} eq 'disk_sleep' ? 'a sleep that no signal ends'
		:                               'a sleep';
	return $tid ? "$what, until " . $threads->at($tid, $i->{to})->{comm} . ' woke it' : $what;
}

1;
