# SPDX-License-Identifier: GPL-2.0-only
# Results of the desk as lines, and as a table by world and cause.
package Tipme::Desk::Table;
use strict;
use warnings;

sub line {
	my ($r) = @_;
	my $what = sprintf '%-18s %-15s %-6s %5d ms', $r->{program}, $r->{cause}, $r->{action}, $r->{ms};
	$what .= " beside $r->{load}" if $r->{load} ne 'nothing';
	return "$what: skipped: $r->{skipped}\n" if $r->{skipped};
	return "$what: void: $r->{void}\n" if $r->{void};
	return sprintf "%s: %s: %s%s\n", $what, $r->{right} ? 'right' : 'MISS', $r->{named}, $r->{why} ? ": $r->{why}" : '';
}

# counts(RESULTS): { drawn, skipped, void, judged, right }
sub counts {
	my (@r) = @_;
	my %c = (drawn => scalar @r, skipped => scalar(grep { $_->{skipped} } @r), void => scalar(grep { $_->{void} } @r), right => scalar(grep { $_->{right} } @r));
	$c{judged} = $c{drawn} - $c{skipped} - $c{void};
	return \%c;
}

sub _group {
	my ($key, @r) = @_;
	my %by;
	push @{ $by{ $_->{$key} } }, $_ for @r;
	return join '', map { my $c = counts(@{ $by{$_} }); sprintf "%-20s %3d of %3d%s%s\n", $_, $c->{right}, $c->{judged}, $c->{void} ? ", $c->{void} void" : '', $c->{skipped} ? ", $c->{skipped} skipped" : '' } sort keys %by;
}

# least_right(COUNT, RATE): the floor: who is right at this rate reaches it 999 times in 1,000 (binomial distribution)
sub least_right {
	my ($n, $rate) = @_;
	my ($sum, $p) = (0, (1 - $rate)**$n);
	for my $k (0 .. $n) {
		$sum += $p;
		return $k if $sum > 0.001;
		$p *= ($n - $k) / ($k + 1) * $rate / (1 - $rate);
	}
	return $n;
}

# table(RESULTS): by world and by cause, and the sums
sub table {
	my (@r) = @_;
	my @caused = grep { $_->{cause} ne 'quiet' } @r;
	my @quiet = grep { $_->{cause} eq 'quiet' } @r;
	my $text = '';
	if (@caused) {
		my $c = counts(@caused);
		my $parts = join ', ', map { my $k = $_; "$k " . grep { $_->{"${k}_right"} } @caused } qw(who kind interval);
		$text .= "right by world\n" . _group(world => @caused) . "right by cause\n" . _group(cause => @caused);
		$text .= "$c->{drawn} scenes: $c->{right} of $c->{judged} right ($parts), $c->{void} void, $c->{skipped} skipped\n";
	}
	if (@quiet) {
		my $c = counts(@quiet);
		$text .= sprintf "%d quiet scenes: %d of %d accused, %d void, %d skipped\n", $c->{drawn}, $c->{judged} - $c->{right}, $c->{judged}, $c->{void}, $c->{skipped};
	}
	return $text;
}

1;
