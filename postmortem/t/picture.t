#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The picture: ticks, one span for each pixel column, and an SVG that is well-formed whatever names
# processes give themselves.
use strict;
use warnings;
use utf8;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Printable qw(printable one_line shorten xml_text);
use Tipme::Test::Xml qw(xml_problem);
use Tipme::Timeline::Picture;
use Tipme::Timeline::Reduce qw(reduce_spans reduce_marks);
use Tipme::Timeline::Scale;

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output);
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

# --- text from strangers ---
is(
	printable("a\e[31mb\e]0;title\ac\e(Bd"), 'abc(Bd' =~ s/\(B/?(B/r,
	'escape sequences are taken out, what is left of one is made harmless'
);
unlike(
	printable(join '', map {chr} 0 .. 0x9f), qr/[\x00-\x08\x0b-\x1f\x7f-\x9f]/,
	'no control character is left'
);
is(printable("caf\xc3\xa9"), "caf\x{e9}", 'UTF-8 is read');
unlike(printable("a\xffb\xc3"), qr/[\xff\xc3]/, 'what is not UTF-8 is replaced');
is(printable("a\x{202e}b\x{2028}c"), 'a?b?c', 'nothing turns the direction of a line');
is(one_line("a\n\tb"),               'a b',   'one line');
is(shorten('abcdef', 4),             'abc…',  'shortened');
is(
	xml_text(q{<a b="c" d='&#0;'>}), '&lt;a b=&quot;c&quot; d=&#39;&amp;#0;&#39;&gt;',
	'XML has no hole'
);

# --- scale ---
is(Tipme::Timeline::Scale::step(@{ $_->[0] }), $_->[1], "step for $_->[0][0] ns in $_->[0][1]")
	for [ [ 10, 10 ], 1 ], [ [ 11, 10 ], 2 ], [ [ 21, 10 ], 5 ], [ [ 51, 10 ], 10 ], map {
	my $p = 10**$_;
	([ [ 12 * $p, 10 ], 2 * $p ], [ [ 45 * $p, 10 ], 5 * $p ], [ [ 99 * $p, 10 ], 10 * $p ])
	} 1 .. 11;
{
	my $zero =
		9_000_000_000_000_000_000;   # 285 years: beyond what floating point holds to the nanosecond
	my $s =
		Tipme::Timeline::Scale->new($zero - 50_000_000, $zero + 1_050_000_000, 100, 1000, $zero);
	is_deeply(
		[ map { $_->[1] } $s->ticks(12) ],
		[ map {"${_} ms"} 0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000 ],
		'ticks stand on round numbers from the key press'
	);
	is($s->column($zero - 50_000_000),    0,   'first column');
	is($s->column($zero + 1_050_000_000), 999, 'last column');
	is($s->column($zero + 500_000_000),   500, 'the middle');
	is($s->x($zero - 99_000_000),         100, 'what is before stands at the edge');
	my $fine = Tipme::Timeline::Scale->new($zero, $zero + 3_000, 0, 100, $zero);
	is_deeply(
		[ map { $_->[1] } $fine->ticks(4) ],
		[ '0.000 ms', '0.001 ms', '0.002 ms', '0.003 ms' ], 'fine ticks have their digits'
	);
	my $long = Tipme::Timeline::Scale->new($zero, $zero + 40_000_000_000, 0, 100, $zero);
	is(($long->ticks(12))[1][1], '5 s', 'long ones are in seconds');
}

# --- one span for each column, the worst wins ---
{
	my $s    = Tipme::Timeline::Scale->new(0, 1000, 0, 10, 0);
	my %bad  = (good => 1, bad => 2);
	my $rank = sub { return $bad{ $_[0] } };
	is_deeply(
		reduce_spans($s, [ [ 0, 1000, 'good' ] ], $rank), [ [ 0, 10, 'good' ] ],
		'one long span'
	);
	is_deeply(
		reduce_spans($s, [ [ 0, 1000, 'good' ], [ 350, 351, 'bad' ] ], $rank),
		[ [ 0, 3, 'good' ], [ 3, 4, 'bad' ], [ 4, 10, 'good' ] ],
		'a nanosecond of something bad is seen'
	);
	is_deeply(
		reduce_spans($s, [ [ 0, 300, 'good' ], [ 300, 400, 'good' ] ], $rank),
		[ [ 0, 4, 'good' ] ], 'neighbours are one'
	);
	is_deeply(
		reduce_spans(
			$s, [ [ -500, 100, 'good' ], [ 900, 5000, 'good' ], [ 2000, 3000, 'bad' ] ], $rank
		),
		[ [ 0, 1, 'good' ], [ 9, 10, 'good' ] ],
		'cut at the edges'
	);
	my @many = map { [ $_, $_ + 1, $_ % 2 ? 'good' : 'bad' ] } 0 .. 999;
	cmp_ok(scalar @{ reduce_spans($s, \@many, $rank) }, '<=', 10, 'a thousand spans: ten columns');
	is_deeply(
		reduce_spans($s, [ [ 10, 20, 'good' ], [ 20, 90, 'also' ] ], sub {1}),
		[ [ 0, 1, 'also' ] ], 'of equals, who fills most of the column'
	);
	is(
		scalar @{
			reduce_marks(
				Tipme::Timeline::Scale->new(0, 1000, 0, 100, 0),
				[ map { [ $_, 'wake' ] } 0 .. 999 ], 10
			)
		},
		10,
		'marks keep their distance'
	);
}

# --- a picture of a story ---
my $evil = "e<v>&#0;\"i'l\e[2J\x07\x{202e}]]>";

sub data {
	my ($comm) = @_;
	my ($z, $ms) = (1_000_000_000_000, 1_000_000);
	my %procs = (
		x => { label => 'Xorg (700)',  name => 'Xorg', role => 'server' },
		c => { label => "$comm (812)", name => $comm,  role => 'client' },
		map { ("s$_" => { label => "spin (90$_)", name => 'spin', role => 'blamed' }) } 1 .. 3
	);
	return {
		title     => "$comm (pid 812) waited for a CPU", subtitle => "sub $comm",
		footer    => "foot $comm", more => "more $comm", zero_ns => $z, from_ns => $z - 50 * $ms,
		to_ns     => $z + 1050 * $ms,
		start_ns  => $z,              end_ns     => $z + 934 * $ms,  start_label => 'key press',
		end_label => 'on the screen', trigger_ns => $z + 1000 * $ms, procs       => \%procs,
		stages    => [
			map {
				{
					name      => $_->[0], label => "$_->[0] $comm", ts => $z + $_->[1] * $ms,
					certainty => $_->[0] eq 'input' ? 'inferred' : 'exact'
				}
			} [ input => 0 ],
			[ server   => 1 ],
			[ deliver  => 2 ],
			[ client   => 871 ],
			[ request  => 930 ],
			[ feedback => 934 ]
		],
		path => [
			{
				from  => $z, to => $z + 2 * $ms, tid => 700, state => 'running', key => 'x',
				label => 'Xorg runs'
			},
			{
				from => $z + 2 * $ms, to    => $z + 934 * $ms, tid => 812, state => 'runnable',
				key  => 'c',          label => "$comm waits for a CPU"
			}
		],
		stretches => [ { from => $z, to => $z + 934 * $ms, label => "$comm: all of it" } ],
		arrows    => [ [ $z + 2 * $ms, 700, 812 ] ],
		cpus      => [
			map {
				my $cpu = $_;
				{
					cpu   => $cpu,
					spans => [
						map { [ $z + $_ * 10 * $ms, $z + ($_ + 1) * 10 * $ms, 's' . (1 + $_ % 3) ] }
							0 .. 80
					]
				}
			} 0,
			1
		],
		threads => [
			{
				tid    => 700,
				key    => 'x',
				label  => 'Xorg (700)',
				detail => 'prio 120',
				states => [
					[ $z, $z + 2 * $ms, 'running' ], [ $z + 2 * $ms, $z + 1050 * $ms, 'blocked' ]
				],
				prio  => [ [ $z, 120 ] ],
				marks => [ [ $z, 'wake', "by $comm" ], [ $z + 2 * $ms, 'sleep', '' ] ]
			},
			{
				tid    => 812,
				key    => 'c',
				label  => $comm,
				detail => $comm,
				states => [
					[ $z, $z + 934 * $ms, 'runnable' ], [ $z + 934 * $ms, $z + 950 * $ms, 'disk' ],
					[ $z + 950 * $ms, $z + 999 * $ms, 'stopped' ]
				],
				prio  => [ [ $z, 120 ], [ $z + 400 * $ms, 110 ] ],
				marks => [ [ $z + 5 * $ms, 'fork', '' ], [ $z + 900 * $ms, 'exit', '' ] ]
			}
		]
	};
}

for my $comm ('xterm', $evil, "日本語\x{1f600}", '') {
	my $svg  = Tipme::Timeline::Picture->svg(data($comm));
	my $name = one_line($comm);
	is(xml_problem($svg), undef, "well-formed with a process named \"$name\"");
	utf8::decode($svg);
	is(() = $svg =~ /class="cpu"/g,    2, '... two CPUs');
	is(() = $svg =~ /class="thread"/g, 2, '... two threads');
	is(() = $svg =~ /class="stage /g,  6, '... six stages');
	is(
		() = $svg =~ /class="mark $_->[0]"/g, $_->[1] + 1,
		"... marks: $_->[0]; one of them in the legend"
	) for [ wake => 1 ], [ sleep => 1 ], [ fork => 1 ], [ exit => 1 ];
	is(() = $svg =~ /class="wakeup"/g,   2, '... who woke whom; one in the legend');
	is(() = $svg =~ /class="priority"/g, 1, '... the priority that changes');
	like($svg, qr/class="state $_"/, "... state $_") for qw(running runnable blocked disk stopped);
	my $title = xml_text(shorten($name, 20));
	like($svg, qr/class="title"[^>]*>\Q$title\E/, '... its title') if length $name;
	unlike($svg, qr/[\x00-\x08\x0b-\x1f\x7f-\x9f\x{202e}]/, '... nothing that a terminal obeys');
}
{
	my $d = data('xterm');
	@$d{qw(stages path stretches arrows cpus threads)} = ([], [], [], [], [], []);
	delete $d->{trigger_ns};
	is(xml_problem(Tipme::Timeline::Picture->svg($d)), undef, 'an empty picture is one, too');
	my $big = data('xterm');
	$big->{cpus} = [
		map {
			{
				cpu   => $_,
				spans => [
					map {
						[
							$big->{start_ns} + 10_000 * $_, $big->{start_ns} + 10_000 * $_ + 5_000,
							's' . (1 + $_ % 3)
						]
					} 0 .. 20_000
				]
			}
		} 0 .. 3
	];
	my $svg = Tipme::Timeline::Picture->svg($big);
	cmp_ok(
		scalar(() = $svg =~ /class="on-cpu/g), '<=', 4 * 1200,
		'80,000 spans are drawn as at most one for each pixel'
	);
}
like(xml_problem($_), qr/./, "the checker sees: $_")
	for '<a><b></a></b>', '<a b=c/>', '<a>&x;</a>', '<a', '<a b="1" b="2"/>', "<a>\x01</a>", '<a>';

is_deeply(\@warnings, [], 'no warnings');
done_testing();
