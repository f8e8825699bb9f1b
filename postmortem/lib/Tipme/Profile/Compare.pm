# SPDX-License-Identifier: GPL-2.0-only
# Two profiles: which answers take longer in the second, by how much, in which stage, through whom.
#
# The interval of a difference of quantiles is made of the intervals of both, which are those of
# order statistics (Zou and Donner, "Construction of confidence intervals about effect
# measures", Statistics in Medicine 2008). With M differences asked at once each has a
# confidence of 1 - 0.05 / M (Bonferroni), so that all hold at once in 19 of 20 comparisons.
package Tipme::Profile::Compare;

use strict;
use warnings;
use List::Util             qw(max);
use Tipme::CommandLine     qw(ms table);
use Tipme::Printable       qw(one_line shorten xml_text);
use Tipme::Profile::Inputs qw(input_words);
use Tipme::Statistics      qw(difference_interval);
use Tipme::Words           qw(N__ fill);

my @QUANTILES = (0.5, 0.9, 0.99);
my @STAGES    = qw(read sent drawn finished);
my %STAGE     = (
	read     => N__('before the display server worked on it'),
	sent     => N__('in the display server'),
	drawn    => N__('in the program, until the screen began to change'),
	finished => N__('in the program, until the screen had changed')
);

# As columns have them.
my %NAME =
	(read => N__('read'), sent => N__('sent'), drawn => N__('drawn'), finished => N__('finished'));

# What else may be another in B: fields of a profile, and their names.
my %CIRCUMSTANCE = (
	cpus     => N__('CPUs'), kernel => N__('kernel'), machine => N__('machine'),
	recorder => N__('version of tipme'),
	source   => N__('display source')
);

# compare(A, B, kind =>, app =>, over_ms =>): { sentence, slower, faster (0, 1), differences => [ {
# app, kind, quantile, a_ns, b_ns, difference_ns, least_ns, most_ns, slower, faster, stage, by }
# ... ], left_out => [ texts ], circumstances => [ [ name, of A, of B ] of those that differ ] }.
# Slower: the whole interval is above OVER_MS; faster: below
# -OVER_MS.
sub compare {
	my ($a, $b, %o) = @_;
	my (@common, @left_out);
	for my $pair ($a->pairs_of($o{kind}, $o{app})) {
		my ($other) = $b->pairs_of($pair->{kind}, $pair->{app});
		if ($other) { push @common, [ $pair, $other ] }
		else        { push @left_out, _left_out($pair, N__('{app}, {input}: only in A')) }
	}
	for my $pair ($b->pairs_of($o{kind}, $o{app})) {
		push @left_out, _left_out($pair, N__('{app}, {input}: only in B'))
			if !$a->pairs_of($pair->{kind}, $pair->{app});
	}
	my @asked;
	for my $c (@common) {
		my @q = grep { _bounded($_, @$c) } @QUANTILES;
		push @left_out, _left_out($c->[0], N__('{app}, {input}: too few answers')) if !@q;
		push @asked,    map { [ @$c, $_ ] } @q;
	}
	local $Tipme::Statistics::CONFIDENCE = 1 - 0.05 / max(1, scalar @asked);
	my @d = map { _difference($b, $_, $o{over_ms} // 0) } @asked;
	my %c = (
		slower => (grep { $_->{slower} } @d) ? 1 : 0,
		faster => (grep { $_->{faster} } @d) ? 1 : 0, differences => \@d, left_out => \@left_out,
		over_ms       => $o{over_ms} // 0,
		circumstances => [
			map { [ fill($CIRCUMSTANCE{$_}), $a->{$_}, $b->{$_} ] } grep { $a->{$_} ne $b->{$_} }
			sort keys %CIRCUMSTANCE
		]
	);
	$c{sentence} = _sentence(@d);
	return \%c;
}

sub _left_out {
	my ($pair, $why) = @_;
	return fill($why, app => $pair->{app}, input => input_words($pair->{kind}));
}

# With the widest interval that may be asked for, or the number of questions would depend on itself.
sub _bounded {
	my ($q, $a, $b) = @_;
	local $Tipme::Statistics::CONFIDENCE = 1 - 1e-4;
	return !grep { !$_->{stage}{response}->quantile_interval($q) } $a, $b;
}

sub _difference {
	my ($profile, $asked, $over_ms) = @_;
	my ($a,       $b,     $q)       = @$asked;
	my @of =
		map { my $c = $_->{stage}{response}; [ $c->quantile($q), $c->quantile_interval($q) ] } $a,
		$b;
	my ($difference, $least, $most) = difference_interval(@{ $of[0] }, @{ $of[1] });
	my %d = (
		app  => $a->{app}, kind          => $a->{kind},  quantile => $q,     a_ns    => $of[0][0],
		b_ns => $of[1][0], difference_ns => $difference, least_ns => $least, most_ns => $most
	);
	$d{slower}             = $least > $over_ms * 1e6 ? 1 : 0;
	$d{faster}             = $most < -$over_ms * 1e6 ? 1 : 0;
	@d{qw(stage stage_ns)} = _stage($a, $b, $q, $d{slower} ? 1 : -1) if $d{slower} || $d{faster};
	$d{by}                 = _by($profile, \%d)                      if $d{slower};
	return \%d;
}

# The stage whose own quantile has changed most in that direction.
sub _stage {
	my ($one, $other, $q, $sign) = @_;
	my %change =
		map { $_ => $sign * ($other->{stage}{$_}->quantile($q) - $one->{stage}{$_}->quantile($q)) }
		@STAGES;
	my ($most) = sort { $change{$b} <=> $change{$a} } @STAGES;
	return ($most, $sign * $change{$most});
}

# Who was blamed for the worst answers of that kind, most often; undef: none was judged.
sub _by {
	my ($profile, $d) = @_;
	my %n;
	for my $w (@{ $profile->{worst} }) {
		$n{ $w->{by} }++ if length $w->{by} && $w->{app} eq $d->{app} && $w->{kind} eq $d->{kind};
	}
	my ($by) = sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n;
	return $by;
}

sub _sentence {
	my (@d)     = @_;
	my @changed = sort { abs $b->{difference_ns} <=> abs $a->{difference_ns} }
		grep { $_->{slower} || $_->{faster} } @d;
	return fill(
		@d
		? N__('Nothing tells the two apart.')
		: N__(
			'Nothing can be compared: no application and kind of input has enough answers in both.')
	) if !@changed;
	my ($worst) = grep { $_->{slower} } @changed;
	my $d = $worst // $changed[0];
	my ($from, $to) =
		map { ms(abs $_) } $d->{slower} ? @$d{qw(least_ns most_ns)} : @$d{qw(most_ns least_ns)};
	return fill(
		$d->{slower}
		? N__(
			'{app} answers {inputs} {time} later ({part} of them; {from} to {to}), {stage}{through}.'
			)
		: N__(
			'{app} answers {inputs} {time} sooner ({part} of them; {from} to {to}), {stage}{through}.'
		),
		app     => one_line($d->{app}),
		inputs  => _plural($d->{kind}),
		time    => ms(abs $d->{difference_ns}),
		part    => _part($d->{quantile}),
		from    => $from,
		to      => $to,
		stage   => fill($STAGE{ $d->{stage} }),
		through => defined $d->{by}
		? fill(N__(', through {name}'), name => one_line($d->{by}))
		: ''
	);
}

sub _plural {
	my ($kind) = @_;
	my %of = (
		key   => N__('keys'), button => N__('clicks'), motion => N__('motion'),
		wheel => N__('turns of the wheel'), touch => N__('touches')
	);
	return fill($of{$kind});
}

sub _part {
	my ($q) = @_;
	return $q == 0.5 ? fill(N__('the median')) : sprintf '%g %%', 100 * $q;
}

# text(COMPARISON), junit(COMPARISON): for people, and for those who gate on it (UTF-8 bytes).
sub text {
	my ($c) = @_;
	my @rows = map {
		my $d = $_;
		[
			shorten(one_line($d->{app}), 24), input_words($d->{kind}), _part($d->{quantile}),
			(map { ms($_) } @$d{qw(a_ns b_ns difference_ns)}),
			fill(N__('{from} to {to}'), from => ms($d->{least_ns}), to => ms($d->{most_ns})),
			_says($d)
		]
	} @{ $c->{differences} };
	return "$c->{sentence}\n" . (
		@rows
		? "\n" . table(
			[
				[
					(map { fill($_) } N__('application'), N__('input'), N__('of them')),
					'A', 'B', 'B - A', fill(N__('interval')), ''
				],
				@rows
			],
			'lllrrrll'
			)
		: ''
		)
		. join(
		'',
		map { fill(N__('left out: {what}'), what => one_line($_)) . "\n" } @{ $c->{left_out} }
		)
		. join '',
		map {
		sprintf "%s: A %s, B %s\n",
			map { one_line($_) } @$_
		} @{ $c->{circumstances} };
}

sub _says {
	my ($d) = @_;
	return '' if !$d->{slower} && !$d->{faster};
	return
		  fill($d->{slower} ? N__('slower') : N__('faster')) . ': '
		. fill($NAME{ $d->{stage} })
		. (defined $d->{by} ? ', ' . one_line($d->{by}) : '');
}

sub junit {
	my ($c)    = @_;
	my @d      = @{ $c->{differences} };
	my $failed = grep { $_->{slower} } @d;
	my $xml =
		sprintf qq(<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="tipme profile" )
		. qq(tests="%d" failures="%d" skipped="%d">\n),
		scalar(@d) + @{ $c->{left_out} }, $failed, scalar @{ $c->{left_out} };
	for my $d (@d) {
		my $name = xml_text("$d->{app}: $d->{kind}: " . _part($d->{quantile}));
		my $says = xml_text(
			sprintf '%s instead of %s: %s (%s to %s) later', ms($d->{b_ns}),
			ms($d->{a_ns}), map { ms($_) } @$d{qw(difference_ns least_ns most_ns)}
		);
		$xml .= qq(  <testcase classname="tipme.profile" name="$name")
			. (
			$d->{slower}
			? qq(>\n    <failure message="$says">)
				. xml_text(_says($d))
				. "</failure>\n  </testcase>\n"
			: "/>\n"
			);
	}
	$xml .=
		sprintf
		qq(  <testcase classname="tipme.profile" name="%s">\n    <skipped/>\n  </testcase>\n),
		xml_text($_) for @{ $c->{left_out} };
	$xml .= "</testsuite>\n";
	utf8::encode($xml);
	return $xml;
}

1;
