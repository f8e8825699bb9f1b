# SPDX-License-Identifier: GPL-2.0-only
# Distributions of other programs, in and out: the histograms of cyclictest (--histfile, or -h on
# standard output), `rtla timerlat hist` and `rtla osnoise hist`; OpenMetrics, out only.
#
# Their buckets are 1 us wide, or as wide as -b says (rtla). A latency beyond their last bucket has
# no place in a histogram; both count it apart, and say the maximum.
package Tipme::Latency::Foreign;

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw(import_text export_text formats);

# Unit: bytes. A histogram of 1,024 CPUs with a row for each of 10^6 us is no larger.
my $MAX_BYTES = 256 << 20;
# Units that rtla writes (-n: nanoseconds).
my %PER_US = ('microseconds (us)' => 1, 'nanoseconds (ns)' => 1000);
my %EXPORT = (cyclictest => \&_to_cyclictest, rtla => \&_to_rtla, openmetrics => \&_to_openmetrics);

# formats(): names of those that can be written
sub formats { return sort keys %EXPORT }

# import_text(FILE, period_us => N): a result of `tipme latency`, as data, of what another program
# wrote. Which one is seen from its text. The period is that which was given to it (1000).
sub import_text {
	my ($file, %o) = @_;
	open my $in, '<', $file or die "$file: $!: name a histogram of cyclictest or of rtla\n";
	die "$file: no ordinary file\n"               if !-f $in;
	die "$file: larger than a histogram can be\n" if -s _ > $MAX_BYTES;
	my $text = do { local $/ = undef; <$in> };
	my $h =
		   $text =~ /^# (?:RTLA )?(?:timerlat|osnoise)/im
		|| $text =~ /^Index\s/m ? _from_rtla($file, $text)
		: $text  =~ /^# (?:Histogram|Total:)/m
		|| $text =~ /^\d{6}\s+\d{6}/m ? _from_cyclictest($file, $text)
		: die "$file: neither a histogram of cyclictest nor one of rtla\n";
	return _result($h, $o{period_us} // $h->{period_us} // 1000);
}

# Rows "000012 000345 000002": us, then how many on each thread; totals and maxima as comments.
sub _from_cyclictest {
	my ($file, $text) = @_;
	my (@count, $rows);
	for my $line (split /\n/, $text) {
		my ($us, @n) = $line =~ /\A\d+(?:\s+\d+)+\s*\z/ ? split ' ', $line : next;
		$rows //= @n;
		die "$file: a row of $us us with "
			. @n
			. " columns, where others have $rows: the file is cut short\n"
			if @n != $rows;
		for my $i (0 .. $#n) { push @{ $count[$i] }, [ $us + 0, $n[$i] + 0 ] if $n[$i] > 0 }
	}
	die "$file: no row of a histogram\n" if !defined $rows;
	my ($total, $max, $sum, $over) =
		map { my $name = $_; [ $text =~ /^# \Q$name\E:\s+([\d\s]+?)\s*$/m ? split(' ', $1) : () ] }
		'Total', 'Max Latencies', 'Avg Latencies', 'Histogram Overflows';
	@$total == $rows
		or die "$file: its rows are not followed by '# Total:' of each: the file is cut short\n";
	my @stages = map {
		my $i = $_;
		{
			stage => 'total_user', cpu => $i, buckets => $count[$i] // [], max_us => $max->[$i],
			over => $over->[$i] // 0, told => $total->[$i]
		}
	} 0 .. $rows - 1;
	return { file => $file, source => 'cyclictest', stages => \@stages };
}

# A heading "Index IRQ-000 Thr-000 ...", rows of buckets, then over:, count:, min:, avg:, max:.
sub _from_rtla {
	my ($file, $text) = @_;
	my ($heading) = $text =~ /^(Index\s.*)$/m
		or die "$file: no heading 'Index': the file is cut short\n";
	my (undef, @columns) = split ' ', $heading;
	my %stage  = (IRQ => 'irq', Thr => 'high', Usr => 'total_user', CPU => 'total_user');
	my @stages = map {
		/\A(IRQ|Thr|Usr|CPU)-(\d+)\z/
			? { stage => $stage{$1}, cpu => $2 + 0, buckets => [] }
			: die "$file: a column '$_' that is none of rtla\n"
	} @columns;
	# Time from the expiry: rtla's thread column holds the whole way.
	for my $s (@stages) { $s->{stage} = 'total_high' if $s->{stage} eq 'high' }
	my ($unit) = $text =~ /^# Time unit is (.*?)\s*$/m;
	my $per_us = $PER_US{ $unit // 'microseconds (us)' }
		// die "$file: its unit is '$unit': microseconds or nanoseconds are meant\n";
	my (%foot, @row);
	for my $line (split /\n/, $text) {
		my ($name, @n) = split ' ', $line;
		next if !defined $name || @n != @columns;
		if ($name =~ /\A\d+\z/) {
			for my $i (0 .. $#n) {
				$row[$i]{ int $name / $per_us } += $n[$i] if $n[$i] =~ /\A[1-9]\d*\z/;
			}
		} elsif ($name =~ /\A(over|count|max):\z/) {
			$foot{$1} = \@n;
		}
	}
	$foot{count}
		or die
		"$file: its rows are not followed by 'count:': the file is cut short, or was written "
		. "with --no-summary: write it without\n";
	for my $i (0 .. $#stages) {
		my $of = $row[$i] // {};
		$stages[$i]{buckets} = [ map { [ $_ + 0, $of->{$_} ] } sort { $a <=> $b } keys %$of ];
		my $max = ($foot{max} // [])->[$i] // '';
		$foot{max}[$i]      = int $max / $per_us if $max =~ /\A\d+\z/;
		$stages[$i]{over}   = ($foot{over}  // [])->[$i] // 0;
		$stages[$i]{told}   = ($foot{count} // [])->[$i];
		$stages[$i]{max_us} = ($foot{max}   // [])->[$i];
	}
	return { file => $file, source => 'rtla', stages => \@stages };
}

# What was longer than the last bucket stands at the maximum, the only thing that is known of it.
sub _result {
	my ($h,       $period_us) = @_;
	my ($longest, @stages)    = (0);
	for my $s (@{ $h->{stages} }) {
		my @buckets = @{ $s->{buckets} };
		my $n       = 0;
		$n += $_->[1] for @buckets;
		my $max = defined $s->{max_us}
			&& $s->{max_us} =~ /\A\d+\z/ ? $s->{max_us} + 0 : @buckets ? $buckets[-1][0] : 0;
		my $over = $s->{over} =~ /\A\d+\z/ ? $s->{over} + 0 : 0;
		# cyclictest's total leaves out what overflowed; rtla's count has it.
		my $told = defined $s->{told} && $s->{told} =~ /\A\d+\z/ ? $s->{told} : undef;
		die
			"$h->{file}: CPU $s->{cpu}: $told latencies, but $n in its rows: the file is cut short "
			. "or was changed\n"
			if defined $told && $told != $n && $told != $n + $over;
		push @buckets, [ $max > ($buckets[-1][0] // -1) ? $max : $buckets[-1][0] + 1, $over ]
			if $over;
		my ($count, $sum) = (0, 0);
		for (@buckets) { $count += $_->[1]; $sum += $_->[1] * ($_->[0] + 0.5) }
		$longest = $count if $count > $longest;
		push @stages, {
			stage  => $s->{stage}, cpu => $s->{cpu}, count => $count, sum_ns => int($sum * 1000),
			min_ns => ($buckets[0][0] // 0) * 1000,
			max_ns => $max * 1000, max_expiry_ns => 0, over => 0, skipped => 0, buckets => \@buckets
		};
	}
	die "$h->{file}: nothing was measured\n" if !$longest;
	my $duration_s = int($longest * $period_us / 1e6 + 0.5) || 1;
	return {
		format        => 'tipme latency', version => 1, kernel    => '', source => $h->{source},
		ended_s       => 0, duration_s => $duration_s,  period_us => $period_us, threshold_us => 0,
		sample_us     => 0, sampler    => 'none',       high_priority => 0, medium_priority   => 0,
		user_priority => 0, stages     => \@stages
	};
}

# export_text(RESULT as data, FORMAT): text. Only stages that the other program has, too.
sub export_text {
	my ($data, $format) = @_;
	my $to = $EXPORT{$format} // die "$format: no such format: " . join(', ', formats()) . "\n";
	return $to->($data);
}

sub _of {
	my ($data, $stage) = @_;
	return sort { $a->{cpu} <=> $b->{cpu} }
		grep { $_->{stage} eq $stage && $_->{count} } @{ $data->{stages} };
}

# { us => [ count of each ] }: a bucket that is wider than 1 us counts where it begins.
sub _rows {
	my (@of) = @_;
	my %row;
	for my $i (0 .. $#of) { $row{ $_->[0] }[$i] += $_->[1] for @{ $of[$i]{buckets} } }
	return \%row;
}

sub _to_cyclictest {
	my ($data) = @_;
	my @of     = _of($data, 'total_user');
	@of = _of($data, 'total_high') if !@of;
	die "no thread was measured: cyclictest has nothing else\n" if !@of;
	my $row = _rows(@of);
	my $out = "# Histogram\n";
	for my $us (sort { $a <=> $b } keys %$row) {
		$out .=
			join("\t", sprintf('%06d', $us), map { sprintf '%06d', $row->{$us}[$_] // 0 } 0 .. $#of)
			. "\n";
	}
	$out .= '# Total: ' . join(' ', map { sprintf '%09d', $_->{count} } @of) . "\n";
	$out .= '# Min Latencies: ' . join(' ', map { sprintf '%05d', $_->{min_ns} / 1000 } @of) . "\n";
	$out .= '# Avg Latencies: '
		. join(' ', map { sprintf '%05d', $_->{sum_ns} / $_->{count} / 1000 } @of) . "\n";
	$out .= '# Max Latencies: ' . join(' ', map { sprintf '%05d', $_->{max_ns} / 1000 } @of) . "\n";
	return $out . '# Histogram Overflows: ' . join(' ', map {'00000'} @of) . "\n";
}

sub _to_rtla {
	my ($data) = @_;
	my %prefix = (irq => 'IRQ', total_high => 'Thr', total_user => 'Usr');
	my @of     = map { _of($data, $_) } qw(irq total_high total_user);
	@of = sort { $a->{cpu} <=> $b->{cpu} } @of;
	die "neither interrupts nor threads were measured\n" if !@of;
	my $row  = _rows(@of);
	my $line = sub {
		my ($name, @n) = @_;
		return sprintf('%-8s', $name) . join('', map { sprintf '%9s ', $_ } @n) . "\n";
	};
	my $out =
		"# RTLA timerlat histogram\n# Time unit is microseconds (us)\n# Duration: " . sprintf(
		"%3d %02d:%02d:%02d\n", $data->{duration_s} / 86400,
		$data->{duration_s} / 3600 % 24, $data->{duration_s} / 60 % 60, $data->{duration_s} % 60
		);
	$out .= $line->('Index', map { sprintf '%s-%03d', $prefix{ $_->{stage} }, $_->{cpu} } @of);
	for my $us (sort { $a <=> $b } keys %$row) {
		$out .= $line->($us, map { $row->{$us}[$_] // 0 } 0 .. $#of);
	}
	$out .=
		  $line->('over:', map {0} @of)
		. $line->('count:', map { $_->{count} } @of)
		. $line->('min:',   map { int $_->{min_ns} / 1000 } @of);
	return
		  $out
		. $line->('avg:', map { int $_->{sum_ns} / $_->{count} / 1000 } @of)
		. $line->('max:', map { int $_->{max_ns} / 1000 } @of);
}

# One histogram with a label for stage and CPU; bounds by doublings, as a monitor keeps few of them.
sub _to_openmetrics {
	my ($data) = @_;
	my $name = 'tipme_latency_seconds';
	my $out =
		  "# TYPE $name histogram\n# UNIT $name seconds\n"
		. "# HELP $name Time from the expiry of a timer, by stage.\n";
	for my $s (sort { $a->{stage} cmp $b->{stage} || $a->{cpu} <=> $b->{cpu} } @{ $data->{stages} })
	{
		my $label = qq(stage="$s->{stage}",cpu="$s->{cpu}");
		my ($i, $below) = (0, 0);
		for my $us (map { 2**$_ } 0 .. 24) {
			# Buckets that begin below the bound; those of less than 4096 us end there, too.
			while ($i < @{ $s->{buckets} } && $s->{buckets}[$i][0] < $us) {
				$below += $s->{buckets}[ $i++ ][1];
			}
			$out .= sprintf qq(%s_bucket{%s,le="%s"} %d\n), $name, $label, $us / 1e6, $below;
		}
		$out .= sprintf qq(%s_bucket{%s,le="+Inf"} %d\n%s_count{%s} %d\n%s_sum{%s} %.9f\n), $name,
			$label, $s->{count}, $name, $label, $s->{count}, $name, $label, $s->{sum_ns} / 1e9;
	}
	return "$out# EOF\n";
}

1;
