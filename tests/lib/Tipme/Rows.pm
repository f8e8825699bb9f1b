# SPDX-License-Identifier: GPL-2.0-only
# Scenes of a world that are played several times: which of them, how often, and a row of each for
# tests/screen-table.
package Tipme::Rows;
use strict;
use warnings;
use Cpanel::JSON::XS ();
use Exporter         qw(import);

our @EXPORT_OK = qw(counted keep row sentences sorted_out wanted);

# counted(): is a table made? Then presses are void that their cause did not reach.
sub counted { return defined $ENV{TIPME_SCREEN_ROWS} }

# wanted(DEFAULT, SCENES): those that TIPME_TEST_PARTS names, a pattern; without it all in a table
# and with TIPME_TEST_ALL=1, else the first DEFAULT
sub wanted {
	my ($default, @scenes) = @_;
	my $pattern = $ENV{TIPME_TEST_PARTS};
	return grep {/^(?:$pattern)$/} @scenes if defined $pattern;
	return counted() || $ENV{TIPME_TEST_ALL} ? @scenes : @scenes[ 0 .. $default - 1 ];
}

# sorted_out(PRESSES, DIAGNOSES, GOOD, VOID): of each press, { at => ns, void => why by what its
# witness saw, or '' }, whether it is void, else GOOD->(diagnosis), or missed: { right, void, missed
# => [ diagnoses ], why => { reason => times } }. VOID->(press, time of the next one) tells what
# could be seen only later. What is void is decided before any verdict is looked at.
sub sorted_out {
	my ($presses, $of, $good, $void) = @_;
	my %n = (right => 0, void => 0, missed => [], why => {});
	for my $k (0 .. $#$presses) {
		my $p  = $presses->[$k];
		my $to = $k < $#$presses ? $presses->[ $k + 1 ]{at} : 9e18;
		if (my $why = $p->{void} || $void->($p, $to)) {
			$n{void}++;
			$n{why}{ $why =~ s/\d+/N/gr }++;
			next;
		}
		my ($d) = grep { $_->{device_ns} >= $p->{at} && $_->{device_ns} < $to } @$of;
		if   ($d && $good->($d)) { $n{right}++ }
		else                     { push @{ $n{missed} }, $d }
	}
	return \%n;
}

# sentences(DIAGNOSES): what each says
sub sentences {
	return map {
		$_
			? "$_->{verdict}{kind} $_->{interval}{certainty} $_->{verdict}{sentence}"
			: 'the press is not there'
	} @_;
}

# keep(EPISODE, NAME): where misses are kept, a copy of its folder
sub keep {
	my ($episode, $name) = @_;
	my $dir = $ENV{TIPME_SCREEN_KEEP} // return;
	$name =~ s{/}{-}g;
	my $n = 1;
	$n++ while -e "$dir/$name-$n";
	system('cp', '-r', $episode, "$dir/$name-$n") == 0 or warn "$dir/$name-$n: not kept\n";
	return;
}

# row(WORLD, SCENE, N tried, right =>, void =>, said => [ what the misses say ])
sub row {
	my ($world, $scene, $n, %o) = @_;
	return if !counted();
	open my $h, '>>', $ENV{TIPME_SCREEN_ROWS} or die "$ENV{TIPME_SCREEN_ROWS}: $!\n";
	print {$h}
		Cpanel::JSON::XS->new->canonical->encode(
		{ world => $world, scene => $scene, tried => $n, void => 0, said => [], %o }), "\n";
	close $h or die "$ENV{TIPME_SCREEN_ROWS}: $!\n";
	return;
}

1;
