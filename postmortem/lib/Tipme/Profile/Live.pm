# SPDX-License-Identifier: GPL-2.0-only
# A profile of hours by any display source that an episode can have, Wayland compositors among them:
# each half minute an episode is saved, its events are counted, and it is removed again. What it
# keeps is counts, as `tipme profile record` does.
package Tipme::Profile::Live;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use List::Util       qw(max min sum0);
use POSIX            ();
use Time::HiRes      qw(clock_gettime sleep CLOCK_MONOTONIC);
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Profile::Episode;
use Tipme::Responses;

# Unit: s. A recorder keeps some forty; an answer may come so much later than its event.
my ($EACH_S, $SETTLE_S) = (25, 5);
my $JSON   = Cpanel::JSON::XS->new->utf8->canonical;
my @COUNTS = qw(events answered ahead without_effect gone unanswered);

sub _now { return int(1e9 * clock_gettime(CLOCK_MONOTONIC)) }

# new(tipme => PROGRAM, now => NS): begins now
sub new {
	my ($class, %o) = @_;
	my $now = $o{now} // _now();
	return bless { %o, began => $now, from => $now, until => $now, most => {} }, $class;
}

# run(SECONDS, sub { with the profile so far }): until then, or until stop() is called
sub run {
	my ($self, $seconds, $keep) = @_;
	my $end    = $self->{began} + $seconds * 1e9;
	my $status = eval { $JSON->decode(join "\n", $self->_tipme(qw(status --json))) } // {};
	die "no recorder runs here, or it serves somebody else: run `tipme start`\n"
		if !$status->{recording};
	while (!$self->{ended}) {
		my $next = min($end, $self->{from} + $EACH_S * 1e9);
		while (!$self->{stopped} && _now() < $next) { sleep 0.2 }
		$self->{ended} = $self->{stopped} || $next == $end;
		$self->_take;
		$keep->($self->profile);
	}
	return;
}

sub stop { my ($self) = @_; $self->{stopped} = 1; return }

sub _take {
	my ($self) = @_;
	my $folder = $self->_snap // die "the recorder saves nothing: see `tipme status`\n";
	my $part   = $self->_in_child($folder);
	$self->_tipme('rm', $folder =~ s{.*/}{}r);
	$self->add($part);
	return;
}

# What `tipme ARGS` prints. A ^C is for us: what is half done would stay.
sub _tipme {
	my ($self, @args) = @_;
	open my $in, '-|', 'sh', '-c', 'trap "" INT; exec "$@" 2>/dev/null', 'sh', $self->{tipme}, @args
		or die "$self->{tipme}: $!\n";
	my @lines = map {s/\s+\z//r} readline $in;
	close $in;
	return @lines;
}

sub _snap {
	my ($self) = @_;
	for my $try (1 .. 3) {
		my ($folder) = grep {m{\A/}} $self->_tipme('snap', '-m', 'tipme profile');
		return $folder if $folder;
		sleep 3;    # one episode in five seconds
	}
	return;
}

# In a process of its own, whose memory goes with it.
sub _in_child {
	my ($self, $folder) = @_;
	my $pid = open(my $in, '-|') // die "a process: $!: end some programs\n";
	if (!$pid) {
		POSIX::nice(19);
		my $part = eval { $self->_part($folder) };
		print {*STDERR} "tipme: profile: $@" if !$part;
		print $JSON->encode($part // {});
		close STDOUT;
		POSIX::_exit($part ? 0 : 1);
	}
	my $text = do { local $/; readline $in };
	close $in or die "an episode cannot be counted: see `tipme show`\n";
	return $JSON->decode($text);
}

sub _part {
	my ($self, $folder) = @_;
	my $episode   = Tipme::Episode->open($folder);
	my $diagnosis = Tipme::Diagnosis->new($episode);
	my $to        = $episode->trigger_ns - ($self->{ended} ? 0 : $SETTLE_S * 1e9);
	my $part      = Tipme::Profile::Episode::part(
		$episode, [ $diagnosis->servers ],
		[ @$self{qw(began until)} ],
		$self->{from}, max($self->{from}, $to), Tipme::Responses::responses($diagnosis)
	);
	$part->{to} = max($self->{from}, $to);
	return $part;
}

# add(PART): it begins where the last one ended
sub add {
	my ($self, $part) = @_;
	@$self{qw(from until)} = delete @$part{qw(to waited_until)};
	my $whole = $self->{whole} //=
		{ %$part, lost_records => 0, map { $_ => [] } qw(apps pairs rows) };
	$whole->{$_} ||= $part->{$_} for qw(source exact);
	$whole->{lost_records} += $part->{lost_records};
	_add_to($whole->{pairs}, $_, qw(app kind))        for @{ $part->{pairs} };
	_add_to($whole->{rows},  $_, qw(minute app kind)) for @{ $part->{rows} };
	$self->{waiting}{ $_->{app} } += $_->{waiting_ns} for @{ $part->{apps} };
	$self->{most}{ $_->{app} }    += $_->{events}     for @{ $part->{pairs} };
	return;
}

# Adds to the one of a list that is called alike, or puts it there.
sub _add_to {
	my ($list, $one, @by) = @_;
	my ($same) = grep {
		my $x = $_;
		!grep { $x->{$_} ne $one->{$_} } @by
	} @$list;
	if (!$same) { push @$list, $one; return }
	$same->{$_} += $one->{$_} for grep { exists $same->{$_} } @COUNTS, 'sum_ns';
	$same->{max_ns} = max($same->{max_ns}, $one->{max_ns}) if exists $same->{max_ns};
	$same->{over}[$_] += $one->{over}[$_] for 0 .. $#{ $same->{over} // [] };
	for my $n (0 .. $#{ $same->{stages} // [] }) {
		my ($s, $t) = map { $_->{stages}[$n] } $same, $one;
		$s->{$_} += $t->{$_} for qw(count sum_ns);
		$s->{max_ns} = max($s->{max_ns}, $t->{max_ns});
		my %at = map { $_->[0] => $_ } @{ $s->{buckets} };
		for my $b (@{ $t->{buckets} }) {
			if (my $old = $at{ $b->[0] }) { $old->[$_] += $b->[$_] for 1, 2 }
			else                          { push @{ $s->{buckets} }, $b }
		}
		@{ $s->{buckets} } = sort { $a->[0] <=> $b->[0] } @{ $s->{buckets} };
	}
	return;
}

# profile(): what docs/formats.md calls a profile, of all parts so far
sub profile {
	my ($self)   = @_;
	my %waiting  = %{ $self->{waiting} // {} };
	my %n        = %{ $self->{most} };
	my ($most)   = (sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n);
	my $duration = max(@$self{qw(from until)}) - $self->{began};
	$most //= '(others)';
	$waiting{$most} //= 0;
	my $thinking = $duration - sum0(values %waiting);
	return {
		%{ $self->{whole} },
		duration_ns => $duration, own_cpu_ns => int(1e9 * sum0(times)),
		apps        => [
			map {
				{
					app         => $_, waiting_ns => $waiting{$_}, background_ns => 0,
					thinking_ns => $_ eq $most ? $thinking : 0
				}
			} sort keys %waiting
		]
	};
}

1;
