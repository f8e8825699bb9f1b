# SPDX-License-Identifier: GPL-2.0-only
# Judges a story, and checks what holds of every diagnosis: the path covers the interval, all sums
# are exact, each reason has words, page and JSON can be made.
package Tipme::Test::Judge;

use strict;
use warnings;
use Exporter   qw(import);
use File::Temp qw(tempdir);
use Test::More;
use Tipme::Bundle;
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Reason;
use Tipme::Report::JSON;
use Tipme::Report::Text;

our @EXPORT_OK = qw(judged ends exact cut_to_the_path like_sentence);

my $NS_PER_MS = 1_000_000;
my $tmp       = tempdir(CLEANUP => 1);
my $n         = 0;

# judged(WHAT, STORY, KIND, COMM, LEAST, MOST share, OPTIONS): the diagnosis
sub judged {
	my ($what, $story, $kind, $comm, $least, $most, %o) = @_;
	my $d = $story->diagnose("$tmp/s" . ++$n, %o);
	my $v = $d->{verdict};
	note($v->{sentence});
	is($v->{kind},         $kind, "$what: verdict $kind")                or diag($v->{sentence});
	is($v->{blamed}{comm}, $comm, "$what: names " . ($comm // 'nobody')) or diag($v->{sentence});
	cmp_ok($v->{share}, '>=', $least, "$what: share $v->{share}")     if defined $least;
	cmp_ok($v->{share}, '<=', $most,  "$what: not more than is true") if defined $most;
	exact($what, $d);
	my @codes = map {
		($_->{reason_code}, map { $_->{detail_code} } $_->{blamed}, @{ $_->{among} // [] })
	} @{ $d->{path} };
	is_deeply(
		[ grep { defined && !Tipme::Reason::is_known($_) } @codes ], [],
		"$what: each reason has words"
	);
	my $page = Tipme::Report::Text::page($d);
	ok(
		!(grep { length > 100 } split /\n/, Tipme::Report::Text::short($d)),
		"$what: nor is the short form"
	);
	ok(!(grep { length > 100 } split /\n/, $page), "$what: the page is not wide");
	bundled($what, "$tmp/s$n") if !%o;
	my $json = Tipme::Report::JSON::data($d);
	ok(!ref $json->{verdict}{sentence}, "$what: there is JSON");
	return $d;
}

# bundled(WHAT, FOLDER): whoever opens a bundle of it comes to the same verdict, path and sums
our %DETAIL;

sub bundled {
	my ($what, $dir) = @_;
	my $ep        = Tipme::Episode->open($dir);
	my $diagnosis = Tipme::Diagnosis->new($ep);
	my $d         = $diagnosis->run;
	my ($bundle, @files) = Tipme::Bundle->made($ep, $diagnosis, $d);
	Tipme::Bundle->write("$dir.tipme", @files);
	Tipme::Bundle->unpack_to("$dir.tipme", "$dir.opened");
	is(
		$bundle->core_of(Tipme::Diagnosis->new(Tipme::Episode->open("$dir.opened"))->run),
		$bundle->core_of($bundle->data), "$what: a bundle gives the same"
	);
	my @sums = map { $bundle->core_of({ %$_, path => [] }) } $d, $bundle->data;
	is($sums[1], $sums[0], "$what: ... verdict and sums are ours") if $bundle->data != $d;
	my ($manifest) = map { $_->[1] } grep { $_->[0] eq 'manifest.json' } @files;
	unlike($manifest, qr/_ns" : -?\d+\./, "$what: all times are whole numbers, for readers in C");
	$DETAIL{ $bundle->told->{detail} }++;
	return;
}

# cut_to_the_path(): none of the bundles so far tells more than the path
sub cut_to_the_path {
	is(join(' ', sort keys %DETAIL), 'path', 'each of these bundles keeps the path alone');
	return;
}

# like_sentence(DIAGNOSIS, PATTERN, WHAT)
sub like_sentence {
	my ($d, $re, $what) = @_;
	return like($d->{verdict}{sentence}, $re, "$what: the sentence");
}

# ends(DIAGNOSIS, MS, WHAT): is the interval that long, but for a millisecond?
sub ends {
	my ($d, $ms, $what) = @_;
	return cmp_ok(abs($d->{interval}{duration_ns} - $ms * $NS_PER_MS), '<', $NS_PER_MS, $what);
}

# exact(WHAT, DIAGNOSIS)
sub exact {
	my ($what, $d) = @_;
	return if !$d->{interval};
	my ($t, $bad) = ($d->{interval}{start_ns}, 0);
	for my $p (@{ $d->{path} }) {
		$bad++ if $p->{from_ns} != $t || $p->{to_ns} <= $p->{from_ns};
		$t = $p->{to_ns};
	}
	ok(!$bad && $t == $d->{interval}{end_ns}, "$what: the path has no gap and no overlap");
	for my $sum (qw(kinds states)) {
		my $ns = 0;
		$ns += $_ for values %{ $d->{totals}{$sum} };
		is($ns, $d->{interval}{duration_ns}, "$what: the $sum add up");
	}
	my $blamed = 0;
	$blamed += $_->{ns} for @{ $d->{totals}{blamed} };
	is($blamed, $d->{interval}{duration_ns}, "$what: those who are blamed add up");
	for my $th (@{ $d->{totals}{threads} }) {
		is(
			$th->{running_ns} + $th->{runnable_ns} + $th->{blocked_ns} + $th->{absent_ns},
			$d->{interval}{duration_ns}, "$what: thread $th->{tid} adds up"
		);
	}
}

1;
