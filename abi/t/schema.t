#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The schema reader takes ours, and refuses what a stranger may have put into an episode: by file,
# line and reason.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/../generated", "$Bin/../../postmortem/lib";
use Tipme::Schema qw(parse_schema);
use Tipme::Record;

my $ours = do { open my $h, '<:raw', "$Bin/../records.def" or die "$!\n"; local $/; <$h> };
my $s    = parse_schema($ours, 'records.def');
is("$s->{major}.$s->{minor}", '1.4', 'our schema is read');
my %size = map { $_->{name} => $_->{size} } @{ $s->{records} }, @{ $s->{structs} };
is_deeply(
	[ @size{qw(head file_header section sched_switch thread x_damage)} ],
	[ 16, 64, 56, 32, 104, 32 ], 'sizes are computed'
);

my $head =
	  "format 1.0\nstruct head 16 : \"h\"\n u64 ts_ns : \"t\"\n u8 type : \"t\"\n u8 len8 : \"l\"\n"
	. " u16 gen : \"g\"\n u32 tid : \"t\"\n";
ok(
	parse_schema("${head}record a 9 since 1.0 : \"a\"\n u64 b : \"b\"\n", 's'),
	'a small schema is read'
);

my @hostile = (
	[ 'no format',       "struct a 8 : \"a\"\n u64 b : \"b\"\n", qr/no format line/ ],
	[ 'not the grammar', "${head}system rm\n",                   qr/line 8: not of the grammar/ ],
	[ 'code in a name',  "${head}record a\@{[1]} 9 since 1.0 : \"a\"\n", qr/not of the grammar/ ],
	[ 'number 0',        "${head}record a 0 since 1.0 : \"a\"\n",        qr/number 0 is not/ ],
	[ 'number 256',      "${head}record a 256 since 1.0 : \"a\"\n",      qr/number 256 is not/ ],
	[
		'a number twice', "${head}record a 9 since 1.0 : \"a\"\nrecord b 9 since 1.0 : \"b\"\n",
		qr/number 9 twice/
	],
	[
		'a field twice', "${head}record a 9 since 1.0 : \"a\"\n u64 b : \"b\"\n u64 b : \"b\"\n",
		qr/field b twice/
	],
	[
		'not aligned', "${head}record a 9 since 1.0 : \"a\"\n u8 b : \"b\"\n u64 c : \"c\"\n",
		qr/field c at 17 is not aligned/
	],
	[
		'not a multiple of 8', "${head}record a 9 since 1.0 : \"a\"\n u32 b : \"b\"\n",
		qr/20 bytes are no multiple of 8/
	],
	[
		'longer than possible', "${head}record a 9 since 1.0 : \"a\"\n char[8000] b : \"b\"\n",
		qr/longer than a record can be/
	],
	[
		'field after the text',
		"${head}record a 9 since 1.0 : \"a\"\n char[] b : \"b\"\n u64 c : \"c\"\n",
		qr/a field after char/
	],
	[
		'an enum nobody knows', "${head}record a 9 since 1.0 : \"a\"\n u64 b enum zzz : \"b\"\n",
		qr/enum zzz is not known/
	],
	[
		'a struct that lies', "format 1.0\nstruct a 16 : \"a\"\n u64 b : \"b\"\n",
		qr/a: 8 bytes, not 16/
	],
	[
		'record before head', "format 1.0\nrecord a 9 since 1.0 : \"a\"\n",
		qr/record before struct head/
	],
	[
		'too many fields',
		$head . "record a 9 since 1.0 : \"a\"\n" . join('', map {" u8 f$_ : \"f\"\n"} 0 .. 80),
		qr/more than 64 fields/
	],
	[ 'too long', '#' x 300_000, qr/schema of 300000 bytes/ ],
);
for (@hostile) {
	my ($what, $text, $why) = @$_;
	ok(!eval { parse_schema($text, 'episode/schema'); 1 }, "refused: $what");
	like($@, qr{^episode/schema: .*$why}, 'with the file and the reason');
}

for (
	[
		'another major', sub {s/^format 1\.\d+/format 2.0/m},
		qr/format 2\.0: this program reads format 1/
	],
	[
		'a field that moved',
		sub {s/(u32 )irq_ns( [^\n]*\n\tu32 )softirq_ns/$1softirq_ns$2irq_ns/},
		qr/record sched_switch: field softirq_ns:V stands where irq_ns:V belongs/
	],
	[
		'a number used again', sub {s/^record sched_switch 3 /record my_switch 3 /m},
		qr/record 3 is my_switch, not sched_switch/
	]
	)
{
	my ($what, $edit, $why) = @$_;
	local $_ = $ours;
	$edit->();
	ok(
		!eval { Tipme::Record->from_schema($_, 'episode/schema'); 1 },
		"an episode's schema is refused: $what"
	);
	like($@, $why, 'with the reason');
}
done_testing();
