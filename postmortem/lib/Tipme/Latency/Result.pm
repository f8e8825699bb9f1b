# SPDX-License-Identifier: GPL-2.0-only
# A result of `tipme latency record`, read as a stranger's file: its stages as distributions of all
# CPUs together, and how often a latency was above a level.
package Tipme::Latency::Result;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use List::Util       qw(max min sum0);

# Unit: bytes. A result of 1,024 CPUs with all buckets in use has some 100 MB; what is larger is
# none.
my $MAX_BYTES = 256 << 20;
# Blocks that `tipme latency record` keeps (helper/measure/latency_hours.h), and the rest.
my $MAX_BLOCKS = 4097;
# Fewer blocks do not tell which latencies come together: it would take some with and some without.
my $LEAST_BLOCKS = 8;
# Unit: microseconds; the ranges that `tipme latency record` takes (helper/measure/latency.c).
my ($MIN_PERIOD_US, $MAX_PERIOD_US) = (100, 1_000_000);

# read(FILE): dies by a sentence about what is wrong with it.
sub read {
	my ($class, $file) = @_;
	die "$file: no such file: name a result of `tipme latency record -o FILE`\n"     if !-e $file;
	die "$file: no ordinary file: name a result of `tipme latency record -o FILE`\n" if !-f _;
	die "$file: larger than a result can be\n" if -s _ > $MAX_BYTES;
	open my $h, '<:raw', $file or die "$file: $!\n";
	local $/;
	my $o = eval { Cpanel::JSON::XS->new->utf8->max_depth(16)->decode(scalar <$h>) };
	die "$file: not whole, or no JSON: record again, or take a copy that is whole\n"
		if ref $o ne 'HASH';
	die "$file: not a result of `tipme latency record`\n"
		if ($o->{format} // '') ne 'tipme latency';
	die "$file: version "
		. _shown($o->{version})
		. " of the format: this program reads version 1\n"
		if ($o->{version} // '') ne '1';
	my $self =
		bless { file => $file, kernel => _text($o->{kernel}), source => _text($o->{source}) },
		$class;
	$self->{duration_s} = $self->_number($o, 'duration_s', 1,              366 * 86400);
	$self->{period_us}  = $self->_number($o, 'period_us',  $MIN_PERIOD_US, $MAX_PERIOD_US);
	$self->_take_stages($o->{stages});
	$self->_take_blocks($o->{blocks});
	$self->_take_beside($o);
	return $self;
}

sub _shown { my ($v) = @_; return defined $v && !ref $v ? substr $v, 0, 20  : 'none' }
sub _text  { my ($v) = @_; return defined $v && !ref $v ? substr $v, 0, 200 : '' }

sub _number {
	my ($self, $o, $name, $least, $most) = @_;
	my $n = ref $o eq 'HASH' ? $o->{$name} : undef;
	die "$self->{file}: $name is " . _shown($n) . ", not a whole number from $least to $most\n"
		if !defined $n || ref $n || $n !~ /\A[0-9]{1,19}\z/ || $n < $least || $n > $most;
	return $n + 0;
}

sub _take_stages {
	my ($self, $stages) = @_;
	die "$self->{file}: it has no stages\n" if ref $stages ne 'ARRAY' || !@$stages;
	my (%count, %cpus);
	for my $s (@$stages) {
		my $name = ref $s eq 'HASH' && defined $s->{stage} && !ref $s->{stage} ? $s->{stage} : '';
		die "$self->{file}: a stage without a name\n"  if $name !~ /\A[a-z_]{1,40}\z/;
		die "$self->{file}: stage $name: no buckets\n" if ref $s->{buckets} ne 'ARRAY';
		my ($sum, $last) = (0, -1);
		for my $pair (@{ $s->{buckets} }) {
			die "$self->{file}: stage $name: a bucket that is no pair of numbers\n"
				if ref $pair ne 'ARRAY'
				|| @$pair != 2
				|| grep { !defined || ref || !/\A[0-9]{1,18}\z/ } @$pair;
			die "$self->{file}: stage $name: its buckets are not in order\n" if $pair->[0] <= $last;
			$last = $pair->[0];
			$sum += $pair->[1];
			$count{$name}{ $pair->[0] } += $pair->[1];
		}
		my $told = $self->_number($s, 'count', 0, 1e18);
		die
			"$self->{file}: stage $name: $told latencies, but $sum in its buckets: the file is cut "
			. "short or was changed\n"
			if $told != $sum;
		$self->{max_ns}{$name} =
			max($self->{max_ns}{$name} // 0, $self->_number($s, 'max_ns', 0, 1e18));
		$self->{sum_ns}{$name} += $self->_number($s, 'sum_ns', 0, 9e18);
		$cpus{$name}++;
	}
	for my $name (keys %count) {
		my @from = sort { $a <=> $b } keys %{ $count{$name} };
		$self->{stage}{$name} = {
			from_us => \@from, count => [ map { $count{$name}{$_} } @from ],
			n       => sum0(values %{ $count{$name} })
		};
		$self->{cpus}{$name} = $cpus{$name};
	}
	return;
}

# The longest of each block, since format 1 has them; a result without them is one block.
sub _take_blocks {
	my ($self, $b) = @_;
	return if !defined $b;
	die "$self->{file}: its blocks are none of `tipme latency record`\n"
		if ref $b ne 'HASH' || ref $b->{max_us} ne 'HASH';
	$self->{block_s} = $self->_number($b, 'seconds', 1, 366 * 86400);
	my $last_s = $self->_number($b, 'last_s', 0, 366 * 86400);
	for my $name (keys %{ $b->{max_us} }) {
		my $list = $b->{max_us}{$name};
		die "$self->{file}: blocks of $name: no list of numbers\n"
			if ref $list ne 'ARRAY'
			|| @$list > $MAX_BLOCKS
			|| grep { !defined || ref || !/\A[0-9]{1,12}\z/ } @$list;
		my @full = @$list;
		# A short rest is no block of its own: its longest belongs to the last that is full.
		if ($last_s && @full > 1 && $last_s < $self->{block_s} / 2) {
			my $rest = pop @full;
			$full[-1] = max($full[-1], $rest);
		}
		$self->{blocks}{$name} = \@full;
	}
	return;
}

# Causes, places and facts, for who shows them: of a type that can be shown, or not at all.
sub _take_beside {
	my ($self, $o) = @_;
	$self->{facts} = {
		map {
			$_ => ref $o->{facts}{$_} eq 'ARRAY'
				? join(' ', map { _text($_) } @{ $o->{facts}{$_} })
				: _text($o->{facts}{$_})
			}
			grep {/\A[a-z_]{1,40}\z/} keys %{ ref $o->{facts} eq 'HASH' ? $o->{facts} : {} }
	};
	$self->{complete} = !exists $o->{complete} || $o->{complete} ? 1 : 0;
	$self->{sampler}  = _text($o->{sampler});
	for my $name (qw(threshold_us causes_seen samples_seen samples_user)) {
		my $v = $o->{$name};
		$self->{$name} = defined $v && !ref $v && $v =~ /\A[0-9]{1,18}\z/ ? $v + 0 : 0;
	}
	my $places = ref $o->{places} eq 'HASH' ? $o->{places} : {};
	for my $where (keys %$places) {
		my ($n, $off) = map {
			my $v = ref $places->{$where} eq 'HASH' ? $places->{$where}{$_} : undef;
			defined $v && !ref $v && $v =~ /\A[0-9]{1,18}\z/ ? $v + 0 : 0
		} qw(samples irqs_off);
		push @{ $self->{places} }, { where => _text($where), samples => $n, irqs_off => $off };
	}
	$self->{causes} =
		[ grep { ref eq 'HASH' } @{ ref $o->{causes} eq 'ARRAY' ? $o->{causes} : [] } ];
	return;
}

# places(): [ { where, samples, irqs_off } ], those with most samples first
sub places {
	my ($self) = @_;
	return
		sort { $b->{samples} <=> $a->{samples} || $a->{where} cmp $b->{where} }
		@{ $self->{places} // [] };
}

# stacks(): of each sample of the latencies over the threshold, outermost function first, without
# offsets; what was no code of the kernel is its program.
sub stacks {
	my ($self) = @_;
	my @stacks;
	for my $s (map { @{ ref $_->{samples} eq 'ARRAY' ? $_->{samples} : [] } } @{ $self->{causes} })
	{
		next if ref $s ne 'HASH';
		my @frames = map { _text($_) =~ s{\+0x[0-9a-f]+(?:/0x[0-9a-f]+)?}{}r }
			reverse @{ ref $s->{stack} eq 'ARRAY' ? $s->{stack} : [] };
		push @stacks, [ _text($s->{comm}), @frames ? @frames : 'its own code' ];
	}
	return @stacks;
}

# block_s(): length of a block in seconds; block_maxima(STAGE): the longest of each, in us
sub block_s { my ($self) = @_; return $self->{block_s} // $self->{duration_s} }

sub block_maxima {
	my ($self, $stage) = @_;
	return @{ $self->{blocks}{$stage} // [ $self->max_us($stage) ] };
}

# doublings(STAGE, PARTS): [ [ from us, count ], ... ] of all latencies, by doublings of a
# microsecond, each in PARTS (1) of equal ratio; 0 us is apart. Buckets that lie across a border
# count where they begin.
sub doublings {
	my ($self, $stage, $parts) = @_;
	$parts //= 1;
	my $s = $self->{stage}{$stage} or return;
	my %row;
	for my $i (0 .. $#{ $s->{from_us} }) {
		my $from = $s->{from_us}[$i];
		my $step = $from ? int($parts * log($from + 1e-9 * $from) / log(2) + 1e-9) : undef;
		$row{ $from ? 2**($step / $parts) : 0 } += $s->{count}[$i];
	}
	return map { [ $_, $row{$_} ] } sort { $a <=> $b } keys %row;
}

# stages(): names of those that were measured, in the order of a latency's way
sub stages {
	my ($self) = @_;
	return
		grep { $self->has($_) }
		qw(entry irq deferred irq_deferred waking switch return high medium user
		total_high total_medium total_user);
}

# The stage that is meant where none is named: the whole way to the thread in user space, else what
# there is.
sub default_stage {
	my ($self) = @_;
	for my $name (qw(total_user total_high total_medium irq_deferred deferred irq)) {
		return $name if $self->has($name);
	}
	return (sort keys %{ $self->{stage} })[0] // die "$self->{file}: nothing was measured\n";
}

sub has { my ($self, $stage) = @_; return ($self->{stage}{$stage}{n} // 0) > 0 }

# stage(NAME or undef): its name, if it was measured; dies by a sentence that names those that were.
sub stage {
	my ($self, $name) = @_;
	$name //= $self->default_stage;
	return $name if $self->has($name);
	die "$self->{file}: no stage '$name' in it: it has "
		. join(', ', grep { $self->has($_) } sort keys %{ $self->{stage} }) . "\n";
}

sub count  { my ($self, $stage) = @_; return $self->{stage}{$stage}{n} }
sub max_us { my ($self, $stage) = @_; return $self->{max_ns}{$stage} / 1000 }

sub mean_us {
	my ($self, $stage) = @_;
	return $self->{sum_ns}{$stage} / 1000 / $self->{stage}{$stage}{n};
}
sub period_s { my ($self) = @_; return $self->{period_us} / 1e6 }

# Unit: seconds. One latency was drawn per CPU and period, so this is for how long one CPU was
# watched.
sub watched_s { my ($self, $stage) = @_; return $self->count($stage) * $self->period_s }

# above(STAGE, US): how many latencies were longer than US: (surely, at most). They differ by those
# in the bucket that US lies in, whose place in it is not known.
sub above {
	my ($self, $stage, $us) = @_;
	my $s = $self->{stage}{$stage};
	my ($sure, $possible) = (0, 0);
	for my $i (0 .. $#{ $s->{from_us} }) {
		$sure     += $s->{count}[$i] if $s->{from_us}[$i] >= $us;
		$possible += $s->{count}[$i] if _end($s->{from_us}[$i]) > $us;
	}
	$possible = $sure if $us >= $self->max_us($stage);
	return ($sure, $possible);
}

# Buckets are 1 us wide up to 4096 us, then 64 to each doubling (docs/formats.md).
sub _end {
	my ($from) = @_;
	return $from + 1 if $from < 4096;
	return $from + (1 << (int(log($from + 0.5) / log 2) - 6));
}

# tells_together(): whether there are blocks enough for dispersion(); it takes tells_together_from()
sub tells_together_from { return $LEAST_BLOCKS }

sub tells_together {
	my ($self) = @_;
	return $self->block_maxima($self->default_stage) >= $LEAST_BLOCKS;
}

# dispersion(STAGE, US): by how much the variance of the number of latencies above US is that of
# independent ones: 1 where each comes by itself. Latencies of one stall come together, and stalls
# of one disturbance follow each other over blocks. How many disturbances there were is estimated
# from the runs of blocks whose longest is above US (Smith and Weissman, Journal of the Royal
# Statistical Society B 1994), as often as chance would have separate ones in one run or in one
# block. Their sizes differ, like those of a geometric distribution: its variance is that of the
# mean size G times 2 G - 1. A level that most blocks are above does not tell them apart, so a
# higher one is asked for it; and where few are above, a lower one, too.
sub dispersion {
	my ($self, $stage, $us) = @_;
	my @blocks = $self->block_maxima($stage);
	return 1 if @blocks < $LEAST_BLOCKS;
	my @sorted = sort { $a <=> $b } @blocks;
	my ($half, $quarter) = @sorted[ @sorted / 2, 3 * @sorted / 4 ];
	return max 1, map { 2 * $self->_size($stage, $_, @blocks) - 1 } max($us, $half),
		$quarter > $sorted[0] ? max(min($us, $quarter), $half) : ();
}

# Of how many latencies above US a disturbance is, on average.
sub _size {
	my ($self, $stage, $us, @blocks) = @_;
	my (undef, $n) = $self->above($stage, $us);
	my @above = map { $_ >= $us ? 1 : 0 } @blocks;
	my $p     = sum0(@above) / @blocks;
	return 1            if !$p || !$n;
	return $n / @blocks if $p == 1;
	my $runs = grep { $above[$_] && (!$_ || !$above[ $_ - 1 ]) } 0 .. $#above;
	return $n / ($runs * -log(1 - $p) / ($p * (1 - $p)));
}

# level(STAGE, RATE): the least end of a bucket in us that is exceeded at most RATE times a second
# on one CPU; undef where so little was measured that even the longest tells more.
sub level {
	my ($self, $stage, $rate) = @_;
	my $s       = $self->{stage}{$stage};
	my $allowed = $rate * $self->watched_s($stage);
	return if $allowed < 1;
	my $above = 0;
	for my $i (reverse 0 .. $#{ $s->{from_us} }) {
		return _end($s->{from_us}[$i]) if $above + $s->{count}[$i] > $allowed;
		$above += $s->{count}[$i];
	}
	return 0;
}

# quantile(STAGE, P): the end of the bucket of the P-quantile, in us. rank(STAGE, RANK): of the
# RANK-th shortest.
sub quantile {
	my ($self, $stage, $p) = @_;
	my $n = $self->count($stage);
	my $r = int($p * $n) + 1;
	return $self->rank($stage, $r > $n ? $n : $r);
}

sub rank {
	my ($self, $stage, $rank) = @_;
	my $s    = $self->{stage}{$stage};
	my $seen = 0;
	for my $i (0 .. $#{ $s->{from_us} }) {
		$seen += $s->{count}[$i];
		return _end($s->{from_us}[$i]) if $seen >= $rank;
	}
	return;
}

1;
