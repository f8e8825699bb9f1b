#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Charts: arithmetic of ticks, places of values read back from the XML, texts that nowhere overlap.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/../lib", "$FindBin::Bin/../../abi/lib", "$FindBin::Bin/lib";
use Tipme::Chart;
use Tipme::Chart::Axis;
use Tipme::Chart::Text qw(text_width fit_text wrap_text);
use Tipme::Page;
use Tipme::Test::Xml      qw(xml_problem);
use Tipme::Timeline::File qw(write_picture);

binmode Test::More->builder->$_, ':encoding(UTF-8)' for qw(output failure_output);

subtest 'ticks' => sub {
	my @cases = (
		[ { from => 0, to => 100 },         5, '0 20 40 60 80 100' ],
		[ { from => 0, to => 1 },           5, '0.0 0.2 0.4 0.6 0.8 1.0' ],
		[ { from => -3, to => 3 },          4, '-2 0 2' ],
		[ { from => 0.0012, to => 0.0019 }, 4, '0.0012 0.0014 0.0016 0.0018' ],
		[ { from => 0, to => 3_000_000 },   3, '0 1,000,000 2,000,000 3,000,000' ],
		[ { scale => 'log',  from => 1,    to => 1000 }, 10, '1 2 5 10 20 50 100 200 500 1,000' ],
		[ { scale => 'log',  from => 0.8,  to => 2000 }, 7,  '1 3 10 30 100 300 1,000' ],
		[ { scale => 'log',  from => 1e-3, to => 1e6 },  5,  '0.01 1 100 10,000 1,000,000' ],
		[ { scale => 'log',  from => 101,  to => 109 },  5,  '102 104 106 108' ],
		[ { scale => 'time', from => 0, to => 14_400 },  5,  '0:00 h|1:00 h|2:00 h|3:00 h|4:00 h' ],
		[ { scale => 'time', from => 0, to => 90 },      6,  '0:00|0:15|0:30|0:45|1:00|1:15|1:30' ],
		[ { scale => 'time', from => 2, to => 2.2 },     4,  '2.00 s|2.05 s|2.10 s|2.15 s|2.20 s' ],
		[ { scale => 'names', names => [ 'a', 'b' ] }, 5, 'a b' ],
	);
	for my $c (@cases) {
		my ($o, $n, $want) = @$c;
		my @t    = Tipme::Chart::Axis->new(%$o)->ticks($n);
		my $name = join ' ', map {"$_ $o->{$_}"} grep { $_ ne 'names' } sort keys %$o;
		is join($want =~ /\|/ ? '|' : ' ', map { $_->[1] } @t), $want, $name;
	}
	my $log = Tipme::Chart::Axis->new(scale => 'log', from => 1, to => 100);
	is $log->at(10),              0.5,   'ten is the middle between 1 and 100';
	is $log->at(0),               undef, '0 has no place there';
	is scalar($log->minor_ticks), 16,    '2 to 9, twice';
	my $r = Tipme::Chart::Axis->new(from => 3, to => 97)->rounded(5);
	is join(' ', $r->from, $r->to), '0 100', 'rounded up to ticks';
	is(Tipme::Chart::Axis->new(from => 7, to => 7)->at(7), 0.5, 'a range of nothing is widened');
	ok !eval { Tipme::Chart::Axis->new(scale => 'log', from => 0, to => 1); 1 },
		'a logarithmic axis from 0 is refused';
};

subtest 'steps and labels of drawn axes' => sub {
	srand 7;
	my ($bad, $worst) = (0, '');
	for (1 .. 2000) {
		my $from   = (rand() - 0.3) * 10**(rand(14) - 7);
		my $axis   = Tipme::Chart::Axis->new(from => $from, to => $from + 10**(rand(14) - 7));
		my $n      = 2 + int rand 10;
		my @t      = $axis->ticks($n);
		my %labels = map { $_->[1] => 1 } @t;
		next if @t <= $n + 1 && @t >= 1 && keys %labels == @t;
		($bad, $worst) = ($bad + 1, join ' ', $axis->from, $axis->to, $n, '->', map { $_->[1] } @t);
	}
	# A range of a millionth around a large number needs more digits than a label has.
	cmp_ok $bad, '<=', 200,
		'nearly all linear axes have distinct labels, and no more than asked for'
		or diag $worst;
};

subtest 'texts fit' => sub {
	is fit_text('abc',        10, 100), 'abc', 'what fits stays';
	is fit_text('abcdefghij', 10, 3),   '',    'no room: nothing';
	my $t = fit_text('abcdefghij', 10, 40);
	like $t, qr/^abc\w*\x{2026}$/, 'what does not ends in an ellipsis';
	cmp_ok text_width($t, 10), '<=', 40, '... and fits';
	is scalar(wrap_text('many words ' x 40, 12, 300, 2)), 2, 'at most two lines';
};

my %base =
	(title => 'A title', x => { label => 'x', unit => 's' }, y => { label => 'y', unit => 'ms' });

subtest 'values are where the axes say' => sub {
	my $svg = Tipme::Chart->svg(
		{
			%base, x => { from => 0, to => 10 }, y => { from => 0, to => 100 },
			series => [ { kind => 'line', points => [ [ 0, 0 ], [ 5, 50 ], [ 10, 100 ] ] } ]
		}
	);
	my ($l, $t, $w, $h) =
		map { ($svg =~ /<clipPath.*?<rect[^>]*\b$_="([\d.]+)"/s)[0] } qw(x y width height);
	my ($d) = $svg =~ /<path(?=[^>]*class="tc-series")[^>]* d="([^"]+)"/;
	is $d, sprintf('M%g %gL%g %gL%g %g', $l, $t + $h, $l + $w / 2, $t + $h / 2, $l + $w, $t),
		'a line from corner to corner';
	$svg = Tipme::Chart->svg(
		{
			%base, x => { from => 0, to => 10 }, y => { scale => 'log', from => 1, to => 100 },
			series => [ { kind => 'bars', points => [ [ 0, 5, 10 ], [ 5, 10, 0 ] ] } ]
		}
	);
	($d) = $svg =~ /<path(?=[^>]*class="tc-series")[^>]* d="([^"]+)"/;
	my @n = $d =~ /([\d.]+)/g;
	is $n[2], $t + $h / 2, 'on a logarithmic axis a bar of 10 is half as high as one of 100';
	is scalar(() = $d =~ /M/g), 1, 'a bar of nothing is not drawn';
	unlike $svg, qr/left out/, '... nor missed';
	$svg = Tipme::Chart->svg(
		{
			%base, y => { scale => 'log' },
			series => [ { points => [ [ 1, 0 ], [ 2, 5 ], [ 3, -1 ] ] } ]
		}
	);
	like $svg, qr/2 values of 0 or less are left out/,
		'values that a logarithmic axis cannot show are counted';
};

subtest 'no number is drawn that is none' => sub {
	for my $v ('nan', 'inf', '-inf', 'x', '1 2', undef, 9**9**9) {
		my $name = $v // 'undef';
		ok !eval {
			Tipme::Chart->svg(
				{ %base, series => [ { kind => 'points', points => [ [ 1, $v ] ] } ] });
			1;
		}, "$name is refused";
		like $@, qr/^chart: .*no finite number$/, '... by a sentence';
	}
	ok eval {
		Tipme::Chart->svg(
			{ %base, series => [ { points => [ [ 1, 1 ], [ 2, undef ], [ 3, 1 ] ] } ] });
		1;
	}, 'but a line may have a gap';
	ok !eval { Tipme::Chart->svg({ %base, series => [ { kind => 'pie', points => [] } ] }); 1 },
		'an unknown kind is refused';
};

subtest 'escaped' => sub {
	my $bad = qq(<script>alert("1")</script> & 'x' \x{1}\x{202e}\e[31m);
	my $svg = Tipme::Chart->svg(
		{
			title  => $bad, subtitle => $bad, note => $bad,
			x      => { label => $bad, scale => 'names', names => [$bad] }, y => { label => $bad },
			series => [ { name => $bad, kind => 'bars', points => [ [ 0, 1 ] ] } ],
			limits => [ { axis => 'y',  at   => 1,      label  => $bad } ],
			ranges => [ { axis => 'y',  from => 0,      to     => 1, label => $bad } ]
		}
	);
	is xml_problem($svg), undef, 'strange text leaves the XML whole';
	unlike $svg, qr/<script|\x{1}|\e/, '... and is no element of it';
	my $page = Tipme::Page::page(
		'Page', [ 'Chart', Tipme::Page::picture($svg) ],
		[ '', Tipme::Page::picture(Tipme::Chart->svg({%base})) ]
	);
	like $page, qr/<div class="scroll"><svg/, 'a page holds it';
	my @ids = $page =~ /clipPath id="(\w+)"/g;
	is scalar(@ids), 2,       'two pictures';
	isnt $ids[0],    $ids[1], '... with names of their own';
};

subtest 'texts never overlap, whatever the chart' => sub {
	srand 24;
	my ($bad, $texts, $why) = (0, 0, '');
	for my $n (1 .. 100) {
		my $chart   = random_chart();
		my $svg     = Tipme::Chart->svg($chart);
		my $problem = xml_problem($svg) // overlaps($svg, \$texts)
			// ($svg =~ /\b(nan|inf)\b/i ? "$1 in it" : undef);
		next if !defined $problem;
		$bad++;
		$why = $problem;
	}
	is $bad, 0, "100 charts with $texts texts" or diag $why;
};

subtest 'large data make no large picture' => sub {
	my @p = map { [ $_ / 10, 5 + ($_ * 7919 % 101) ] } 1 .. 144_000;
	for my $kind (qw(spikes line points)) {
		my $svg = Tipme::Chart->svg({ %base, series => [ { kind => $kind, points => \@p } ] });
		cmp_ok length $svg, '<', 300_000, "$kind: 144,000 points";
		next if $kind eq 'points';
		my ($d) = $svg =~ /<path(?=[^>]*class="tc-series")[^>]* d="([^"]+)"/;
		cmp_ok scalar(() = $d =~ /[MLV]/g), '>', 800, '... and the columns are drawn';
	}
};

SKIP: {
	my $dir = tempdir(CLEANUP => 1);
	my $svg = Tipme::Chart->svg(
		{ %base, series => [ { name => 'a', points => [ [ 1, 1 ], [ 2, 4 ] ] } ] });
	is write_picture("$dir/a.svg", $svg), "$dir/a.svg", 'a file';
	skip 'no rsvg-convert here', 1 if !grep { -x "$_/rsvg-convert" } split /:/, $ENV{PATH};
	write_picture("$dir/a.png", $svg);
	open my $h, '<:raw', "$dir/a.png" or die;
	read $h, my $head, 24;
	is_deeply [ unpack 'x16NN', $head ], [ 1800, 2 * ($svg =~ /height="(\d+)"/)[0] ],
		'the same as PNG, twice as fine';
}
done_testing;

sub random_chart {
	my $words = sub {
		join ' ', map {
			join '', map { ('a' .. 'z', 'A' .. 'Z', 0 .. 9, '.', '%')[ rand 64 ] } 1 .. 1 + rand 12
		} 1 .. 1 + rand $_[0];
	};
	my $log = sub { rand() < 0.5 ? 'log' : rand() < 0.3 ? 'time' : 'linear' };
	my ($sx, $sy) = (10**(rand(12) - 6), 10**(rand(12) - 6));
	my @series = map {
		my $kind = (qw(line step points bars spikes))[ rand 5 ];
		my $x    = 0;
		my @p    = map {
			my $from = $x;
			$x += $sx * rand;
			my $y = $sy * rand() * 10**rand 4;
			$kind eq 'bars' ? [ $from, $x, $y ] : [ $x, $y ]
		} 1 .. 1 + rand 40;
		{ name => $words->(6), kind => $kind, points => \@p }
	} 1 .. 1 + rand 9;
	my %x =
		rand() < 0.2
		? (scale => 'names', names => [ map { $words->(4) } 1 .. 1 + rand 30 ])
		: (scale => $log->());
	@series = (
		{
			name   => 'bars', kind => 'bars',
			points => [ map { [ $_, rand 10 ] } 0 .. $#{ $x{names} } ]
		}
	) if $x{names};
	my $y = $log->();
	return {
		title  => $words->(20), subtitle => $words->(30), note => $words->(30),
		x      => { label => $words->(9),  unit => 's',  %x },
		y      => { label => $words->(30), unit => 'ms', scale => $y eq 'time' ? 'linear' : $y },
		width  => 420 + int rand 700, height => 120 + int rand 400, series => \@series,
		limits => [ map { { axis => 'y', at => $sy * rand, label => $words->(8) } } 1 .. rand 4 ],
		ranges => [
			map { { axis => 'y', from => $sy * 0.2, to => $sy * 0.5, label => $words->(12) } }
				1 .. rand 3
		]
	};
}

# The boxes of all texts, by a width of our own: what two of them share, or what leaves the picture.
sub overlaps {
	my ($svg,   $texts)  = @_;
	my ($width, $height) = $svg =~ /viewBox="0 0 (\d+) (\d+)"/;
	my @boxes;
	while ($svg =~ m{<text([^>]*)>([^<]*)</text>}g) {
		my ($attributes, $text) = ($1, $2);
		my %a = $attributes =~ /([\w-]+)="([^"]*)"/g;
		utf8::decode($text);
		$text =~ s/&(?:amp|lt|gt|quot|#39);/&/g;
		# 0.6 em a character is what DejaVu Sans has on average in English.
		my $w    = 0.6 * $a{'font-size'} * length $text;
		my $left = !$a{'text-anchor'} ? 0 : $a{'text-anchor'} eq 'middle' ? $w / 2 : $w;
		my @box  = (
			$a{x} - $left, $a{y} - 0.75 * $a{'font-size'}, $a{x} - $left + $w,
			$a{y} + 0.2 * $a{'font-size'}
		);
		@box = (
			$a{x} - 0.75 * $a{'font-size'}, $a{y} - $w / 2, $a{x} + 0.2 * $a{'font-size'},
			$a{y} + $w / 2
		) if $a{transform};
		return "'$text' leaves the picture"
			if $box[0] < 0 || $box[1] < 0 || $box[2] > $width || $box[3] > $height;
		for my $b (@boxes) {
			return "'$text' lies on '$b->[4]'"
				if $box[0] < $b->[2] && $b->[0] < $box[2] && $box[1] < $b->[3] && $b->[1] < $box[3];
		}
		push @boxes, [ @box, $text ];
	}
	$$texts += @boxes;
	return;
}
