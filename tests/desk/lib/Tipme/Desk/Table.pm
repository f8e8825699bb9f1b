# SPDX-License-Identifier: GPL-2.0-only
# Results of the desk as lines, and as a table by world and cause.
package Tipme::Desk::Table;
use strict;
use warnings;

sub line {
	my ($r)  = @_;
	my $what = sprintf '%-18s %-15s %-6s %5d ms', $r->{program}, $r->{cause}, $r->{action},
		$r->{ms};
	$what .= " beside $r->{load}"            if $r->{load} ne 'nothing';
	return "$what: skipped: $r->{skipped}\n" if $r->{skipped};
	return "$what: void: $r->{void}\n"       if $r->{void};
	return sprintf "%s: %s: %s%s\n", $what, $r->{right} ? 'right' : 'MISS', $r->{named},
		$r->{why} ? ": $r->{why}" : '';
}

# counts(RESULTS): { drawn, skipped, void, judged, right }
sub counts {
	my (@r) = @_;
	my %c = (
		drawn => scalar @r,                      skipped => scalar(grep { $_->{skipped} } @r),
		void  => scalar(grep { $_->{void} } @r), right   => scalar(grep { $_->{right} } @r)
	);
	$c{judged} = $c{drawn} - $c{skipped} - $c{void};
	return \%c;
}

sub _group {
	my ($key, @r) = @_;
	my %by;
	push @{ $by{ $_->{$key} } }, $_ for @r;
	return join '', map {
		my $c = counts(@{ $by{$_} });
		sprintf "%-20s %3d of %3d%s%s\n", $_, $c->{right}, $c->{judged},
			$c->{void} ? ", $c->{void} void" : '',
			$c->{skipped}
			? ", $c->{skipped} skipped"
			: ''
	} sort keys %by;
}

# misses(RESULTS): each with what was said; then the voids by their reason
sub misses {
	my (@r) = @_;
	my $text = join '',
		map { line($_) . (defined $_->{verdict}{sentence} ? "    $_->{verdict}{sentence}\n" : '') }
		grep { !$_->{right} && !$_->{void} && !$_->{skipped} } @r;
	my %why;
	$why{ $_->{void} =~ s/\d+/N/gr }++ for grep { $_->{void} } @r;
	return ($text && "misses\n$text") . (
		%why
		? "voids\n" . join '',
		map      { sprintf "%3d  %s\n", $why{$_}, $_ }
			sort { $why{$b} <=> $why{$a} || $a cmp $b } keys %why
		: ''
	);
}

# Are they of several desktops?
sub _desktops {
	my %of = map { ($_->{desktop} //= 'bare') => 1 } @_;
	return keys %of > 1;
}

# table(RESULTS): by world and by cause, and the sums
sub table {
	my (@r)    = @_;
	my @caused = grep { $_->{cause} ne 'quiet' } @r;
	my @quiet  = grep { $_->{cause} eq 'quiet' } @r;
	my $text   = '';
	if (@caused) {
		my $c     = counts(@caused);
		my $parts = join ', ', map {
			my $k = $_;
			"$k " . grep { $_->{"${k}_right"} } @caused
		} qw(who kind interval);
		$text .=
			  (_desktops(@caused) ? "right by desktop\n" . _group(desktop => @caused) : '')
			. "right by world\n"
			. _group(world => @caused)
			. "right by cause\n"
			. _group(cause => @caused);
		$text .=
			  "$c->{drawn} scenes: $c->{right} of $c->{judged} right ($parts), $c->{void} void, "
			. "$c->{skipped} skipped\n";
	}
	if (@quiet) {
		my $c = counts(@quiet);
		$text .= "quiet by desktop\n" . _group(desktop => @quiet) if _desktops(@quiet);
		$text .= sprintf "%d quiet scenes: %d of %d accused, %d void, %d skipped\n", $c->{drawn},
			$c->{judged} - $c->{right}, $c->{judged}, $c->{void}, $c->{skipped};
	}
	return $text;
}

1;
