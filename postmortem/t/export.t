#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# export in each format, read back by what reads such files; pin and rm.
use strict;
use warnings;
use Test::More;
use Cpanel::JSON::XS qw(decode_json);
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Story;

my $lib = tempdir(CLEANUP => 1) . '/library';
mkdir $lib, 0700 or die "$!\n";
local $ENV{TIPME_LIBRARY} = $lib;
my $id    = '20261120-150301-3f2a';
my $story = Tipme::Test::Story->new->key(1000, 800)->hotkey(3000);
$story->builder->thread(777, "e\e[2Jvil name=x", ts_ns => 5_000_000);
$story->run(1, 2000, 2001, 777, 'sleeping');
my $episode = $story->builder->write("$lib/$id");
my $tmp     = tempdir(CLEANUP => 1);

# verb(ARGS): (exit status, what it prints, what it complains of)
sub verb {
	my @args   = @_;
	my $out    = qx{"$^X" "$Bin/../bin/tipme-postmortem" @args 2>"$tmp/err"};
	my $status = $? >> 8;
	open my $h, '<', "$tmp/err" or die "$!\n";
	return (
		$status, $out,
		do { local $/; <$h> }
			// ''
	);
}

sub exported {
	my ($format, @more) = @_;
	my ($status, $out, $err) =
		verb('export', $id, '--format', $format, '-o', "$tmp/$format", @more);
	is($status, 0, "$format: exported") or diag $err;
	like($out, qr/: [\d,]+ records$/, "$format: says how many");
	open my $h, '<:raw', "$tmp/$format" or die "$!\n";
	local $/;
	return scalar <$h>;
}

my $text     = exported('text');
my $switches = () = $text =~ / sched_switch /g;
my $wakings  = () = $text =~ / sched_waking /g;
cmp_ok($switches, '>', 20, "text: $switches switches, $wakings wake-ups");
unlike($text, qr/[\x00-\x09\x0b-\x1f\x7f]/, 'text: nothing that a terminal obeys');
my ($last, $back) = (0, 0);
for ($text =~ /^(\d+\.\d+) /mg) { $back++ if $_ < $last; $last = $_ }
is($back, 0, 'text: in order of time');

my $ftrace = exported('ftrace');
my @lines  = grep { !/^#/ } split /\n/, $ftrace;
is(scalar @lines, $switches + $wakings, 'ftrace: as many lines');
my $line =
	qr/^\s*\S+-\d+ +\[\d{3}\] \S{5} \d+\.\d{6}: (?:sched_switch: prev_comm=\S+ prev_pid=\d+ prev_prio=\d+ prev_state=[A-Zt]\+? ==> next_comm=\S+ next_pid=\d+ next_prio=\d+|sched_waking: comm=\S+ pid=\d+ prio=\d+ target_cpu=\d{3})$/;
is_deeply([ grep { !/$line/ } @lines ], [], 'ftrace: each as the kernel prints it');

my $chrome = decode_json(exported('chrome'));
my @runs   = grep { $_->{ph} eq 'X' && $_->{name} eq 'running' } @{ $chrome->{traceEvents} };
cmp_ok(scalar @runs, '>', 10, 'chrome: JSON with runs');
my ($long) = grep { $_->{pid} == 200 && abs($_->{dur} - 799_750) < 1 } @runs;
ok($long, 'chrome: the long run is there, to the microsecond');
ok(
	(
		grep { $_->{ph} eq 'M' && $_->{tid} == 200 && $_->{args}{name} eq 'xterm' }
			@{ $chrome->{traceEvents} }
	),
	'chrome: threads have names'
);

SKIP: {
	require Tipme::Columns;
	skip 'tipme-columns was not built', 8 if !defined Tipme::Columns::program();
	skip 'protoc is not installed', 8 if !grep { -x "$_/protoc" } split /:/, $ENV{PATH};
	my %packets;
	for my $by ('C', 'Perl') {
		local $ENV{TIPME_BUILDDIR} = $by eq 'C' ? $ENV{TIPME_BUILDDIR} // '' : "$tmp/none";
		exported('perfetto');
		my $raw = qx{protoc --decode_raw <"$tmp/perfetto" 2>&1};
		is($?, 0, "perfetto, by $by: protoc reads all of it");
		my $count = () = $raw =~ /^    2 \{$/mg;
		is($count, $switches + $wakings, "perfetto, by $by: as many events");
		like($raw, qr/5: "xterm"\n\s+6: 200\n/, "perfetto, by $by: with their names");
		# Packets of two CPUs and of the X server may come in any order, and are cut anywhere.
		$packets{$by} = join '', sort map { /^  1 \{/m ? events_of($_) : $_ } split /^(?=1 \{)/m,
			$raw;
	}
	is($packets{C}, $packets{Perl}, 'perfetto: the program in C and Perl write the same events');
}

# The ftrace events of a packet, each with its CPU.
sub events_of {
	my ($packet) = @_;
	my ($cpu)    = $packet =~ /^    1: (\d+)$/m;
	return map {"cpu $cpu $_"} split /^(?=    2 \{)/m,
		$packet =~ s/\A.*?(?=^    2 \{)//msr =~ s/^  \}\n  10: 1\n\}\n\z//mr;
}

my $part = exported('text', '--from', -2500, '--to', -2000);
cmp_ok(length $part, '<', length($text) / 2, 'a part is less');
my ($status, $out, $err) = verb('export', $id, '--format', 'nonsense', '-o', "$tmp/x");
is($status, 64, 'a format that is none: the command line was not understood');
like($err, qr/^tipme: export: no format nonsense: say /, '... is told');
ok(!-e "$tmp/x", '... and nothing is written');
($status, $out, $err) = verb('export', $id, '--format', 'text');
is($status, 64, 'no file: nor this');
like($err, qr/^tipme: export: no file named: say -o FILE$/, '... is told');
is(
	(verb('export', $id, '--format', 'text', '-o', '/nowhere/x'))[0], 1,
	'nor where nothing can be written'
);

# A device, a pipe or a link is not replaced by a file: root may have said /dev/null.
require POSIX;
POSIX::mkfifo("$tmp/pipe", 0600) or die;
symlink "$tmp/chrome", "$tmp/link" or die;
for my $place ("$tmp/pipe", "$tmp/link") {
	my $was = join ' ', (lstat $place)[ 1, 2 ];
	($status, $out, $err) = verb('export', $id, '--format', 'text', '-o', $place);
	is($status, 1, "$place is no place for an export");
	is(
		$err,
		"tipme: export: $place: a link, or no ordinary file, which would be replaced: name a file\n",
		'... is told'
	);
	is(join(' ', (lstat $place)[ 1, 2 ]), $was, '... and it stays what it was');
}
SKIP: {
	my $small = "$tmp/small";
	mkdir $small;
	skip 'a tmpfs may not be mounted here', 2
		if $> || system 'mount', '-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', $small;
	($status, $out, $err) = verb('export', $id, '--format', 'text', '-o', "$small/x");
	like(
		"$status $err",
		qr{^1 tipme: export: \S+/x: No space left on device: make room there, or choose another place with -o\n\z},
		'a full disk: one sentence'
	);
	is(join(' ', glob "$small/*"), '', '... and nothing is left there');
	system 'umount', $small;
}

# --- pin, rm ---
($status, $out) = verb('pin', $id);
is("$status $out", "0 $id stays\n", 'pin');
ok(-e "$episode/pinned", 'is the file that tipmed looks for');
($status, $out, $err) = verb('rm', $id);
is($status, 1, 'what is pinned is not removed by mistake');
like($err, qr/^tipme: rm: $id: is pinned: say --pinned/, '... and why');
($status, $out) = verb('pin', $id, '--undo');
ok(!-e "$episode/pinned", 'let go again');
is((verb('rm', '/etc'))[0],          1,  'rm removes nothing that is no episode of the library');
is((verb('rm'))[0],                  64, 'nor something unnamed');
is((verb('rm', $id, 'nonsense'))[0], 1,  'nor one of two when the other is not there');
ok(-d $episode, '... it is there');
($status, $out) = verb('rm', $id);
is("$status $out", "0 $id removed\n", 'rm');
ok(!-e $episode && !-e "$lib/.$id.tmp", 'it is gone');
is((verb('list', '--json'))[1] =~ /\Q$id\E/ ? 1 : 0, 0, '... from the list as well');
done_testing;
