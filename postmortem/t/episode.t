#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Reading an episode: merged by time, bounded, and every kind of foreign or damaged folder refused
# by its own sentence.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Episode;
use Tipme::Test::Episode;

my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my $tmp = tempdir(CLEANUP => 1);
my $n   = 0;

sub story {
	my $b = Tipme::Test::Episode->new(
		trigger_ns      => 10_000_000, end_ns => 12_000_000,
		section_records => 7,          @_
	);
	for my $i (0 .. 49) {
		$b->switch($i % 2, 1_000_000 + 100_000 * $i, 10 + $i, 20 + $i, 'sleeping');
	}
	$b->kernel(1, 1_250_000, 'sched_waking', tid => 4)
		->kernel(1, 1_249_000, 'sched_waking', tid => 5);
	$b->x(1_300_500, 'x_device', input_seq => 1, kind => 'key_press');
	$b->thread(10, 'xterm');
	return $b;
}

sub dir { return "$tmp/e" . ++$n }

sub edit {
	my ($dir, $file, $code) = @_;
	local $_ = do { open my $h, '<:raw', "$dir/$file" or die "$!\n"; local $/; <$h> };
	$code->();
	open my $h, '>:raw', "$dir/$file" or die "$!\n";
	print {$h} $_;
	close $h or die "$!\n";
}

sub refused {
	my ($dir, $why, $what) = @_;
	my $ok = eval { Tipme::Episode->open($dir); 1 };
	ok(!$ok, "refused: $what");
	like($@   // '', $why, 'with its own sentence');
	unlike($@ // '', qr/ at \S+ line/, 'and no line of our program');
}

my $dir = story()->write(dir());
my $e   = Tipme::Episode->open($dir);
is($e->id, '20261120-150301-3f2a', 'the manifest is read');
is_deeply(
	[ map { $_->{name} } $e->files ], [qw(kernel.rec threads.rec x-100.rec)],
	'all files are found'
);
my (@ts, @names, %where);
$e->each(sub { push @ts, $_[1]{ts_ns}; push @names, $_[0]; $where{ $_[2]{source} }++ });
is(scalar @ts, 54, 'each record comes once');
is_deeply(\@ts,    [ sort { $a <=> $b } @ts ], 'in order of time, over all files and CPUs');
is_deeply(\%where, { kernel_bpf => 52, x_hooks => 1, tipmed => 1 }, 'with its source');
my @part;
$e->each(
	sub { push @part, $_[1]{ts_ns} }, from_ns => 1_200_000, to_ns => 1_300_500,
	sources => ['kernel_bpf']
);
is_deeply(\@part, [ 1_200_000, 1_249_000, 1_250_000, 1_300_000 ], 'a part of the time, half-open');
is($e->unknown_count, 0, 'nothing unknown');
is_deeply(
	[ map {"$_->{source} $_->{cpu} $_->{records}"} $e->coverage ],
	[ 'kernel_bpf 0 25', 'kernel_bpf 1 27', 'tipmed 0 1', 'x_hooks 0 1' ], 'coverage is told'
);

# A record that nobody knows yet, and fields that a later minor appended.
(my $later = Tipme::Test::Episode::schema_text()) =~
	s/^(\tu8 prev_preempted [^\n]*\n)/$1\tu64 llc_misses : "later"\n/m;
$later =~ s/^format 1\.\d+/format 1.7/m;
$later .= "\nrecord new_thing 200 since 1.7 : \"later\"\n\tu64 a : \"a\"\n";
my $b = story(schema => $later);
$b->kernel(0, 1_500_001, 'new_thing', a => 5);
$b->add_raw('kernel.rec', 'kernel_bpf', 0, 1_500_002, pack 'Q<CCvVQ<', 1_500_002, 201, 3, 0, 1, 9);
$e = Tipme::Episode->open($b->write(dir()));
my ($count, %kind) = (0);
$e->each(
	sub { $count++; $kind{ $_[0] }++; $where{llc} = $_[1]{llc_misses} if $_[0] eq 'sched_switch' });
is($count,            55, 'a later minor is read');
is($kind{new_thing},  1,  'its own schema names its new record');
is($where{llc},       0,  'and its new field');
is($e->unknown_count, 1,  'a record that even its schema does not know is skipped and counted');
$e->each(sub { });
is($e->unknown_count, 1, 'once, however often it is met');

# Strangers.
refused("$tmp/none", qr{/none: no such folder}, 'nothing there');
mkdir my $empty = dir();
refused($empty, qr{not an episode \(no manifest\.json\)},          'a folder without a manifest');
refused("$dir/manifest.json", qr{not an episode \(not a folder\)}, 'a file');
$dir = story()->write(dir());
edit($dir, 'manifest.json', sub { $_ = 'GIF89a' });
refused($dir, qr{manifest\.json: not JSON: }, 'a manifest that is none');
$dir = story()->write(dir());
edit($dir, 'manifest.json', sub {s/"major" : 1/"major" : 9/});
refused(
	$dir, qr{format 9\.0: this program reads format 1},
	'another major version in the manifest'
);
$dir = story()->write(dir());
edit($dir, 'manifest.json', sub {s{x-100\.rec}{../../etc/passwd}});
refused($dir, qr{a file name that no recorder writes}, 'a file outside');
$dir = story()->write(dir());
edit($dir, 'manifest.json', sub { $_ = '[' x 5000 });
refused($dir, qr{not JSON}, 'a manifest nested without end');
$dir = story()->write(dir());
edit($dir, 'manifest.json', sub { $_ .= ' ' x (5 << 20) });
refused($dir, qr{bytes, more than}, 'a huge manifest');
$dir = story()->write(dir());
unlink "$dir/x-100.rec";
symlink '/etc/passwd', "$dir/x-100.rec";
refused($dir, qr{x-100\.rec: is a link}, 'a link');
$dir = story()->write(dir());
unlink "$dir/x-100.rec";
system 'mkfifo', "$dir/x-100.rec";
refused($dir, qr{x-100\.rec: is no plain file}, 'a pipe, on which one would wait for ever');
$dir = story()->write(dir());
edit($dir, 'kernel.rec', sub { substr $_, 0, 8, "\x7fELF1234" });
refused($dir, qr{kernel\.rec: not a record file of tipme}, 'a foreign file');
$dir = story()->write(dir());
edit($dir, 'kernel.rec', sub { substr $_, 8, 4, "\1\2\3\4" });
refused(
	$dir, qr{kernel\.rec: byte order 0x04030201: written on a machine of another byte order},
	'another byte order'
);
$dir = story()->write(dir());
edit($dir, 'kernel.rec', sub { substr $_, 12, 2, "\2\0" });
refused(
	$dir, qr{kernel\.rec: format 2\.0: this program reads format 1},
	'another major version in a file'
);
$dir = story()->write(dir());
unlink "$dir/schema";
refused($dir, qr{schema: is missing}, 'no schema');
$dir = story()->write(dir());
edit($dir, 'schema', sub {s/^format 1/format 3/m});
refused(
	$dir, qr{schema: format 3\.\d+: this program reads format 1},
	'another major version in the schema'
);

# Cut and damaged files are read as far as they go, and say so.
$dir = story()->write(dir());
edit($dir, 'kernel.rec', sub { substr $_, 1000, length, '' });
$e     = Tipme::Episode->open($dir);
$count = 0;
$e->each(sub { $count++ }, sources => ['kernel_bpf']);
cmp_ok($count, '>', 20, 'a cut file is read as far as it goes');
cmp_ok($count, '<', 52, 'and not further');
like(
	join("\n", $e->damage), qr/kernel\.rec: was cut: 936 of \d+ bytes are there/,
	'and says where'
);
$dir = story()->write(dir());
unlink "$dir/kernel.rec";
like(
	join("\n", Tipme::Episode->open($dir)->damage), qr/kernel\.rec: is missing/,
	'a missing file is told'
);
$dir = story()->write(dir());
edit($dir, 'kernel.rec', sub { substr $_, 64 + 56 + 9, 1, "\1" });
$e = Tipme::Episode->open($dir);
$e->each(sub { });
like(
	join("\n", $e->damage),
	qr/kernel\.rec: record 1 of the section at byte 120, at byte 120: impossible: length 8/,
	'an impossible length names file, record and byte'
);

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
