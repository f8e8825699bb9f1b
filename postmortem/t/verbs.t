#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# list, show, events: what they print, their JSON, their exit status, and that no name of a stranger
# reaches the terminal raw.
use strict;
use warnings;
use Test::More;
use Cpanel::JSON::XS qw(decode_json);
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Command::Compare;
use Tipme::Command::Events;
use Tipme::Command::List;
use Tipme::Command::Show;
use Tipme::CommandLine qw(ms with_commas bytes_text local_time table);
use Tipme::Library;
use Tipme::Responses qw(percentile);
use Tipme::Test::Episode;
use Tipme::Test::Story;

my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
local $ENV{TZ}       = 'UTC';
my $lib = tempdir(CLEANUP => 1) . '/library';
mkdir $lib, 0700 or die "$!\n";
local $ENV{TIPME_LIBRARY} = $lib;
my $evil = "e\e]0;x\a<&\xc2\x9b2J";

# verb(NAME, ARGS): { out, err, exit }, run in this process
sub verb {
	my ($name, @args) = @_;
	my ($out,  $err)  = ('', '');
	open my $old_out, '>&', \*STDOUT or die "$!\n";
	open my $old_err, '>&', \*STDERR or die "$!\n";
	my ($exit, $died);
	{
		close STDOUT;
		close STDERR;
		open STDOUT, '>', \$out or die "$!\n";
		open STDERR, '>', \$err or die "$!\n";
		$exit = eval { "Tipme::Command::$name"->run(@args) };
		$died = $@;
		close STDOUT;
		close STDERR;
	}
	open STDOUT, '>&', $old_out or die "$!\n";
	open STDERR, '>&', $old_err or die "$!\n";
	return { out => $out, err => $err . ($died // ''), exit => $exit // 1 };
}

sub clean {
	my ($r, $what) = @_;
	unlike(
		$r->{out} . $r->{err}, qr/[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]/,
		"$what: nothing that a terminal obeys"
	);
}

# --- units ---
is(ms($_->[0]), $_->[1], "ms: $_->[1]")
	for [ 0, '0.00 ms' ], [ 40_000, '0.04 ms' ], [ 3_240_000, '3.2 ms' ],
	[ 934_400_000, '934 ms' ], [ 12_400_000_000, '12.4 s' ], [ -5_000_000, '-5.0 ms' ],
	[ undef, '-' ];
is(with_commas($_->[0]), $_->[1], "commas: $_->[1]")
	for [ 1, '1' ], [ 1234, '1,234' ], [ 1234567, '1,234,567' ], [ 100, '100' ];
is(bytes_text($_->[0]), $_->[1], $_->[1])
	for [ 17, '17 bytes' ], [ 2048, '2.0 KB' ], [ 26_000_000, '25 MB' ];
is(local_time('2026-11-20T15:03:01Z'),             '2026-11-20 15:03:01',  'a time');
is(local_time('2026-99-20T15:03:01Z'),             '2026-99-20T15:03:01Z', 'no time');
is(table([ [ 'a', 'bb' ], [ 'ccc', 'd' ] ], 'rl'), "  a  bb\nccc  d\n",    'columns');
is(percentile([ 1 .. 100 ], $_->[0]),              $_->[1],                "percentile $_->[0]")
	for [ 50, 50 ], [ 95, 95 ], [ 100, 100 ];
is(percentile([7], 95), 7,     'of one');
is(percentile([],  50), undef, 'of none');

# --- an empty library ---
is(verb('List')->{exit}, 0, 'list of an empty library');
like(
	verb('List')->{out}, qr/^No episodes in \Q$lib\E yet: press the hot-key/,
	'... says so, and what to do'
);
is_deeply(
	decode_json(verb('List', '--json')->{out}), { episodes => [], folder => $lib },
	'... in JSON'
);
like(
	verb('Show')->{err}, qr/no episode there: make one with the hot-key/,
	'show has nothing to show'
);

# --- two episodes; in the second, five presses in an xterm and a hot-key ---
sub story {
	my ($id, %o) = @_;
	my $e = Tipme::Test::Episode->new(
		trigger_ns => 10_000_000_000, end_ns => 12_000_000_000,
		id => $id, lost => { kernel_bpf => { pool => 1234, stack_table => 51 } }, %o
	);
	my $seq = 0;
	my $ms  = 1_000_000;
	$e->thread(812, $evil, ts_ns => 1_000_000_000);
	for my $took (3, 4, 2, 900, 5) {
		my $t = 2_000_000_000 + 1_500_000_000 * $seq++;
		$e->x($t, 'x_wakeup');
		$e->x($t + 10_000, 'x_device', input_seq => $seq, kind => 'key_press', device => 3);
		$e->x(
			$t + 30_000, 'x_deliver', input_seq => $seq, kind => 'key_press', pid => 812,
			client => 4
		);
		$e->x($t + 40_000,                'x_sleep');
		$e->x($t + $took * $ms - 100_000, 'x_wakeup');
		$e->x($t + $took * $ms, 'x_damage', pid => 812, client => 4, width => 8, height => 16);
		$e->x($t + $took * $ms + 10_000, 'x_sleep');
	}
	$e->x(9_999_000_000,  'x_wakeup');
	$e->x(9_999_900_000,  'x_device', input_seq => 6, kind   => 'key_press', device => 3);
	$e->x(10_000_000_000, 'x_chord',  input_seq => 6, action => 'snapshot');
	$e->kernel(1, 3_000_000_000, 'rename', tid => 812, comm => substr $evil, 0, 16);
	$e->write("$lib/$id");
	open my $h, '>:raw', "$lib/$id/note.txt" or die "$!\n";
	print {$h} "it hung $evil";
	close $h or die "$!\n";
}
my ($older, $newer) = ('20261119-080000-0a0b', '20261120-150301-3f2a');
story($older, manifest => { time => '2026-11-19T08:00:00Z' });
story($newer);
Tipme::Library->open->set_verdict(
	$newer,
	{
		kind => 'cpu-contention', sentence => "xterm waited $evil", blamed_comm => "spin$evil",
		blamed_pid => 901, share => 0.93, confidence => 1, interval_ns => 934_000_000
	}
);

my $r = verb('List');
clean($r, 'list');
my @lines = split /\n/, $r->{out};
like($lines[0], qr/^EPISODE +WHEN +DELAY +CAUSE$/,                  'list: heading');
like($lines[3], qr/^$older +11-19 08:00:00 +- +not diagnosed yet$/, 'list: oldest last');
like($lines[1], qr/^$newer +11-20 15:03:01 +934 ms +spine/, 'list: newest first, with its verdict');
cmp_ok((sort { $b <=> $a } map {length} @lines)[0], '<=', 80, 'list fits 80 columns');
my $json = decode_json(verb('List', '--json')->{out});
is_deeply(
	[ map { $_->{id} } @{ $json->{episodes} } ], [ $older, $newer ],
	'list --json: newest last'
);
is($json->{episodes}[0]{verdict}, undef, '... no verdict where there is none');
is_deeply(
	$json->{episodes}[1]{verdict}{blamed}, { comm => 'spine<&2J' =~ s/2J/?2J/r, pid => 901 },
	'... whom it blames'
);
is($json->{episodes}[1]{lost}, 1234,          '... what was lost');
is($json->{episodes}[1]{path}, "$lib/$newer", '... where it lies');

$r = verb('Show');
clean($r, 'show');
is($r->{exit}, 0, 'show of the newest');
like($r->{out}, qr/^Episode $newer$/m,                               '... its id');
like($r->{out}, qr/^xterm waited e/m,                                '... its verdict');
like($r->{out}, qr/^1,234 records lost \(kernel_bpf pool 1,234\)$/m, '... what was lost, by cause');
like(
	$r->{out}, qr/^51 records are there without their stack \(kernel_bpf stack_table 51\)$/m,
	'... and that those without a stack are there'
);
like($r->{out}, qr/^x_hooks +x-100\.rec +0 /m, '... what covers what');
like(
	verb('Show', $older)->{out}, qr/^Not diagnosed yet: tipme diagnose $older$/m,
	'show says what to do for a verdict'
);
# Of a library whose table is not ours to read, what was found before is not known: that is said.
SKIP: {
	my $owner = $> ? undef : (stat "$lib/$newer")[4] + 12_345;
	skip 'no other user can be made the owner without root', 9 if !defined $owner;
	chown $owner, -1, $lib;
	my $list = verb('List');
	clean($list, 'list of theirs');
	like($list->{out}, qr/^$newer +11-20 15:03:01 +- +not known here$/m, 'list of theirs: a cause');
	like(
		$list->{out}, qr/^\Q$lib\E belongs to uid $owner: what uid $owner has found out before/m,
		'... and why it is not known'
	);
	unlike($list->{out} . verb('List', '--week')->{out}, qr/not diagnosed/, '... for once only');
	like(decode_json(verb('List', '--json')->{out})->{unread}, qr/ belongs to /, '... in JSON');
	like(
		verb('Show', $newer)->{out}, qr/ is not read here\..*\n  tipme diagnose $newer$/m,
		'show of theirs'
	);
	chown $>, -1, $lib;
	unlike(verb('List')->{out}, qr/not known here|belongs to/, 'ours again');
	is(decode_json(verb('List', '--json')->{out})->{unread}, undef, '... in JSON');
	my $stick = tempdir(CLEANUP => 1);
	mkdir "$stick/library", 0555 or die "$!\n";
	chmod 0755, $stick;
	chown $owner, -1, "$stick/library";
	local $> = $owner;
	skip 'this tree cannot be read by others', 1 if !-r "$Bin/../schema";
	like(
		Tipme::Library->open(folder => "$stick/library")->unread, qr/library cannot be written: /,
		'of one that cannot be written neither'
	);
}
$json = decode_json(verb('Show', $newer, '--json')->{out});
is($json->{verdict}{kind},       'cpu-contention', 'show --json: verdict');
is($json->{trigger}{ns},         10_000_000_000,   '... trigger');
is(scalar @{ $json->{sources} }, 3,                '... sources');

# --- records ---
$r = verb('Show', $newer, '--records', '-8000..-7999');
clean($r, 'records');
like(
	$r->{out}, qr/\A  -8000\.000000 ms  cpu 0   x_wakeup ts_ns=2000000000 /,
	'records from the time on'
);
like(
	$r->{out}, qr/x_device .* kind=key_press .*\[x-100\.rec\@\d+\]$/m,
	'... with what they say and where they stand'
);
is(() = $r->{out} =~ /\n/g, 4, '... up to the other time');
is(
	verb('Show', $newer, '--records', '2000000000ns..2001000000ns')->{out}, $r->{out},
	'the same in nanoseconds'
);
$r = verb('Show', $newer, '--records', '..', '--limit', 3);
is(() = $r->{out} =~ /\n/g, 3, '--limit');
like(
	$r->{err}, qr/more than 3 records there: .* --limit 0 for all/,
	'... says that there are more'
);
my $all = verb('Show', $newer, '--records', '..', '--limit', 0, '--json');
$json = decode_json($all->{out});
is(scalar @{ $json->{records} }, 1 + 1 + 5 * 7 + 3, '--limit 0 --json: all of them');
is_deeply(
	decode_json(verb('Show', $newer, '--records', '1ns..2ns', '--json')->{out}),
	{ records => [] }, 'none'
);
my ($rename) = grep { $_->{record} eq 'rename' } @{ $json->{records} };
is($rename->{source}, 'kernel_bpf', '... all sources');
clean(verb('Show', $newer, '--records', '-7000..-6999'), 'a record with an evil name');
like(verb('Show', $newer, '--records', 'x..y')->{err}, qr/not a range: say/, 'no range');

# --- events ---
{
	my $far = Tipme::Test::Story->new;
	$far->builder->x(1000.06 * 1_000_000, 'x_wakeup')
		->x(1000.1 * 1_000_000, 'x_device', input_seq => 50, kind => 'key_press', device => 6)->x(
		1000.2 * 1_000_000, 'x_deliver', input_seq => 50, kind => 'key_press', pid => 0,
		client => 5, x_type => 2
	)->x(1000.28 * 1_000_000, 'x_sleep')
		->x(1100.1 * 1_000_000, 'x_device', input_seq => 51, kind => 'key_press', device => 6);
	my $folder = $far->hotkey(3000)->builder->write("$lib/../far");
	my $r      = verb('Events', $folder);
	clean($r, 'events: a client without a process');
	like(
		$r->{out}, qr/^4  -3\.000  key press  client 5 \(not local\) /m,
		'events: a client from the network is shown, by its number'
	);
	like($r->{out}, qr/^5  -2\.900  key press  -  /m, '... and none for a key that nobody got');
	$r = verb('Events', $folder, '--json');
	is_deeply(
		[
			map { $_->{client} }
				@{ Cpanel::JSON::XS->new->utf8->decode($r->{out})->{events} }[ 3, 4 ]
		],
		[ { pid => undef, comm => 'client 5 (from the network or a container)' }, undef ],
		'... --json: without a process'
	);
	unlike(
		verb('Compare', $folder, $folder)->{out}, qr/the pointer/,
		'compare: nor is it the pointer'
	);
}
$r = verb('Events', $newer);
clean($r, 'events');
like(
	$r->{out}, qr/^4  -3\.500  key press  e.*\(812\) +0\.01 ms +0\.02 ms +900 ms +900 ms$/m,
	'events: the slow one, with its stages'
);
like($r->{out}, qr/^6 .* hot-key$/m, '... the hot-key is marked');
like(
	$r->{out},
	qr/^5 input events, 5 answered: median 4\.0 ms, 95th percentile 900 ms, longest 900 ms \(event 4\)$/m,
	'... and they are summed up'
);
like($r->{out}, qr/^waiting for answers 914 ms of 6005 ms /m, '... think and wait');
$json = decode_json(verb('Events', $newer, '--json')->{out});
is($json->{events}[3]{response_ns}, 900_000_000, 'events --json: response');
is($json->{events}[3]{kind},        'key_press', '... kind');
is(
	$json->{summary}{think_ns} + $json->{summary}{wait_ns}, 6_005_000_000,
	'... think and wait reach from the first event to the last answer'
);
{
	my $id = '20261121-000000-0000';
	my $e  = Tipme::Test::Episode->new(trigger_ns => 5_000_000_000, id => $id);
	$e->switch(0, 4_000_000_000, 1, 2, 'sleeping');
	$e->write("$lib/$id");
	like(
		verb('Events', $id)->{out}, qr/^No input events in this episode/,
		'an episode without input events'
	);
}

# --- wrong use ---
for my $v (qw(List Show Events)) {
	is(verb($v, '--nonsense')->{exit}, 64, lc($v) . ' --nonsense: 64');
	like(
		verb($v, '--nonsense')->{err}, qr/: --nonsense: no such option: /,
		'... as it was written'
	);
	like(verb($v, '-x')->{err}, qr/: -x: no such option: /, '... a letter, too');
	like(
		verb($v, "--\e[2J")->{err}, qr/^tipme: \l$v: \S*: no such option: usage: tipme \l$v\b/,
		'... said'
	);
	clean(verb($v, "--\e[2J"), '... said');
	is(verb($v, 'a', 'b')->{exit}, 64, 'too many arguments: 64');
	my $help = verb($v, '--help');
	is($help->{exit}, 0, '--help');
	like(
		$help->{out}, qr/\Ausage: tipme \l$v.*(?:^  (?:\S+=\S+ )?tipme .*){3}/ms,
		'... with three examples'
	);
}

is_deeply(\@warnings, [], 'no warnings');
# --- the bar of what takes long: only after its time, gone before anything else ---
{
	require Tipme::Progress;
	my $drawn = '';
	open my $h, '>', \$drawn or die "$!\n";
	Tipme::Progress::show_on($h, 1000);
	Tipme::Progress::show('reading', 1, 2);
	is($drawn, '', 'no bar for what is quick');
	Tipme::Progress::show_on($h, 0);
	Tipme::Progress::show('reading', 1, 2);
	like($drawn, qr/^\rreading +\[#{15} {15}\]  50 %$/, 'a bar');
	Tipme::Progress::clear();
	like($drawn, qr/\r\e\[K$/, 'and it is taken away');
}

done_testing();
