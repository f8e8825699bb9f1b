#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme timeline on a known story: a key press in an xterm, four processes that spin on two CPUs,
# and the picture that tells it.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Command::Timeline;
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Test::Files qw(slurp);
use Tipme::Test::Episode;
use Tipme::Test::Stacks qw(stack_text);
use Tipme::Test::Xml    qw(xml_problem);
use Tipme::Timeline;

my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my $tmp = tempdir(CLEANUP => 1);
local $ENV{TIPME_LIBRARY} = "$tmp/library";
mkdir $ENV{TIPME_LIBRARY}, 0700 or die "$!\n";
my $MS = 1_000_000;
my ($XORG, $XTERM) = (100, 812);

# Times below are in milliseconds. Each CPU's story is a list of [ time, thread that comes, state of
# the one that leaves, priority of the one that comes, priority with which the other leaves ].
sub play {
	my ($e, $cpu, @turns) = @_;
	my ($on, $was) = (0, 120);
	for (@turns) {
		my ($t, $next, $state, $prio, $left) = @$_;
		$prio //= 120;
		$e->switch(
			$cpu, int($t * $MS), $on, $next, $state,
			prev_preempted => $state eq 'runnable' && $on ? 1 : 0, prev_prio => $left // $was,
			next_prio      => $prio
		);
		($on, $was) = ($next, $prio);
	}
}

sub answer {
	my ($e, $seq, $t, $done) = @_;
	$e->wake(0, int($t * $MS), $XORG, 0, context => 'hardirq');
	$e->x(int(($t + 0.03) * $MS), 'x_wakeup');
	$e->x(int(($t + 0.05) * $MS), 'x_device', input_seq => $seq, kind => 'key_press', device => 3);
	$e->x(
		int(($t + 0.10) * $MS), 'x_deliver', input_seq => $seq, kind => 'key_press',
		pid => $XTERM, client => 4
	);
	$e->wake(0, int(($t + 0.15) * $MS), $XTERM, $XORG);
	$e->x(int(($t + 0.18) * $MS), 'x_sleep');
	$e->wake(1, int(($done - 0.5) * $MS), $XORG, $XTERM);
	$e->x(int(($done - 0.35) * $MS), 'x_wakeup');
	$e->x(
		int(($done - 0.3) * $MS), 'x_request', pid => $XTERM, client => 4,
		duration_ns => 300_000, count => 1, major => 76
	);
	$e->x(
		int($done * $MS), 'x_damage', pid => $XTERM, client => 4, width => 8, height => 16,
		major => 76
	);
	$e->x(int(($done + 0.05) * $MS), 'x_sleep');
}

sub story {
	my (%o) = @_;
	my $e = Tipme::Test::Episode->new(
		trigger_ns => 9500 * $MS, end_ns => 10_000 * $MS, first_ns => 1,
		server_pid => $XORG,      %o
	);
	$e->thread(@$_) for [ $XORG, 'Xorg' ], [ $XTERM, $o{comm} // 'xterm' ],
		map { [ 900 + $_, 'spin', state => 'running', ppid => 890 ] } 1 .. 4;
	$e->thread(890, 'make');
	my (@cpu0, @cpu1);
	for my $n (1 .. 4) {
		my $t = 4000 + 500 * $n;
		answer($e, $n, $t, $t + 3);
		push @cpu0, [ $t + 0.02, $XORG, 'runnable' ], [ $t + 0.2, 0, 'sleeping' ];
		push @cpu1, [ $t + 0.3, $XTERM, 'runnable' ], [ $t + 2.6, $XORG, 'sleeping' ],
			[ $t + 3.06, 0, 'sleeping' ];
	}
	answer($e, 5, 8000, 8874.5);
	push @cpu0, [ 8000.02, $XORG, 'runnable' ], [ 8000.2, 901, 'sleeping' ];
	push @cpu1, [ 7990, 902, 'runnable' ];
	for (my $t = 8005; $t < 8870; $t += 5) {
		push @cpu0, [ $t, $t / 5 % 2 ? 901 : 903, 'runnable' ];
		push @cpu1, [ $t + 1, $t / 5 % 2 ? 902 : 904, 'runnable', $t > 8400 ? 125 : 120 ];
	}
	$cpu1[-173][4] = 95 if $o{chrt};
	push @cpu1, [ 8870, $XTERM, 'runnable' ], [ 8874.1, $XORG, 'sleeping' ],
		[ 8874.6, 902, 'sleeping' ];
	play($e, 0, @cpu0);
	play($e, 1, @cpu1);
	$e->kernel(
		1, 8003 * $MS, 'priority', tid => 902, changer_tid => 902, old_prio => 120,
		new_prio => 95, policy => 1
	) if $o{changed};
	$e->kernel(
		0, 8300 * $MS, 'fork', tid => 901, child_tid => 905, child_pid => 905,
		child_start_ns => 8300 * $MS
	);
	$e->wake(0, 8300 * $MS, 905, 901);
	$e->kernel(0, 8866 * $MS, 'exit', tid => 903, pid => 903, start_ns => 1903);
	$e->x(9499 * $MS, 'x_device', input_seq => 9, kind => 'key_press', device => 3);
	$e->x(9500 * $MS, 'x_chord', input_seq => 9, action => 'snapshot');
	$e->stack(7, stack_text('select'));
	return $e->write("$tmp/" . ($o{dir} // 'storm'));
}

# verb(ARGS): exit status, or the sentence that it died with; what it prints goes nowhere
sub verb {
	my (@args) = @_;
	open my $old, '>&', \*STDOUT    or die "$!\n";
	open STDOUT,  '>',  '/dev/null' or die "$!\n";
	my $exit = eval { Tipme::Command::Timeline->run(@args) };
	my $why  = $@;
	open STDOUT, '>&', $old or die "$!\n";
	return $exit // $why;
}

my $dir       = story();
my $diagnosis = Tipme::Diagnosis->new(Tipme::Episode->open($dir));
my $result    = $diagnosis->run;
my $d         = Tipme::Timeline->collect($diagnosis, $result);

# --- the data ---
is($result->{verdict}{kind}, 'cpu-contention', 'the story is what it is meant to be');
cmp_ok(abs($d->{start_ns} - 8000 * $MS), '<=', 50_000, 'the interval begins at the key press');
is($d->{zero_ns}, $d->{start_ns}, '... where the axis has its zero');
is($d->{end_ns},  8874_500_000,   '... and ends when the screen changed');
ok($d->{from_ns} < $d->{start_ns} && $d->{to_ns} > $d->{end_ns}, 'the picture shows a little more');
is_deeply(
	[ map { $_->{name} } @{ $d->{stages} } ],
	[qw(input server device deliver client request feedback)], 'all stages'
);
is_deeply([ map { $_->{cpu} } @{ $d->{cpus} } ], [ 0, 1 ], 'both CPUs');

for my $cpu (@{ $d->{cpus} }) {
	my $s = $cpu->{spans};
	is(
		scalar(grep { $s->[ $_ - 1 ][1] > $s->[$_][0] } 1 .. $#$s), 0,
		"CPU $cpu->{cpu}: nobody runs beside another"
	);
}
my %role = map { $_->{name} => $_->{role} } values %{ $d->{procs} };
is_deeply(
	\%role,
	{
		Xorg => 'server', xterm => 'client', spin => 'blamed',
		%role{ grep { !/^(?:Xorg|xterm|spin)$/ } keys %role }
	},
	'who is who'
);
my %lane = map { $_->{tid} => $_ } @{ $d->{threads} };
ok($lane{$_}, "thread $_ has a lane") for $XORG, $XTERM, 901, 902;
my ($waits) =
	grep { $_->[2] eq 'runnable' && $_->[1] - $_->[0] > 800 * $MS } @{ $lane{$XTERM}{states} };
ok($waits, 'the xterm waits for a CPU');
my %marks;
$marks{"$_->[0] $_->[1]"}++ for map {
	my $t = $_->{tid};
	map { [ $t, $_->[1] ] } @{ $_->{marks} }
} @{ $d->{threads} };
ok($marks{$_}, "mark: $_")
	for "$XORG wake", "$XORG sleep", "$XTERM wake", "$XTERM sleep", '901 fork', '903 exit';
my ($wake) = grep { $_->[1] eq 'wake' } @{ $lane{$XTERM}{marks} };
is($wake->[2], "woken by Xorg ($XORG)", 'a waking says by whom');
cmp_ok(
	scalar @{ $lane{902}{prio} } + scalar @{ $lane{904} ? $lane{904}{prio} : [] }, '>=', 2,
	'a priority that changes'
);
# A thread that makes itself real-time and keeps its CPU: no switch tells when.
sub priorities_of {
	my ($tid, @more) = @_;
	my $other = Tipme::Diagnosis->new(Tipme::Episode->open(story(@more)));
	my ($of) =
		grep { $_->{tid} == $tid } @{ Tipme::Timeline->collect($other, $other->run)->{threads} };
	return [ map { [ $_->[0] / $MS, $_->[1] ] } @{ $of->{prio} }[ 0 .. 1 ] ];
}
is_deeply(
	priorities_of(902, chrt => 1, dir => 'chrt'), [ [ 7990, 95 ], [ 8011, 120 ] ],
	'a priority that it leaves its CPU with, and did not come with, it has from its coming on'
);
is_deeply(
	priorities_of(902, chrt => 1, dir => 'changed', changed => 1),
	[ [ 7990, 120 ], [ 8003, 95 ] ], '... or from where a record has the change'
);
my $t = $d->{start_ns};
for (@{ $d->{path} }) { $t = $_->{from} == $t ? $_->{to} : undef; last if !defined $t }
is($t, $d->{end_ns}, 'the path covers the interval');
my ($long) = sort { $b->{to} - $b->{from} <=> $a->{to} - $a->{from} } @{ $d->{path} };
like(
	$long->{label}, qr/^xterm waits for a CPU 87\d ms: spin \x{d7} \d/,
	'its longest part says what it is'
);
is(
	scalar(grep { $_->{label} =~ /^xterm waits for a CPU 87\d ms: spin/ } @{ $d->{stretches} }), 1,
	'... and is written on it'
);
is($d->{arrows}[0][1], $XORG,  'the server wakes');
is($d->{arrows}[0][2], $XTERM, '... the xterm');

# --- files ---
is(verb($dir, '-o', "$tmp/a.svg"), 0, 'timeline -o FILE.svg');
my $svg = slurp("$tmp/a.svg");
is(xml_problem($svg), undef, '... is well-formed');
like(
	$svg, qr/class="title"[^>]*>xterm \(pid $XTERM\) answered a key press after 87\d ms/,
	'... has the verdict as its title'
);
is(() = $svg =~ /class="cpu"/g,    2,                         '... CPU lanes');
is(() = $svg =~ /class="thread"/g, scalar @{ $d->{threads} }, '... thread lanes');
like($svg, qr/class="state $_"/,    "... state $_")     for qw(running runnable blocked);
like($svg, qr/class="mark $_"/,     "... mark $_")      for qw(wake sleep fork exit);
like($svg, qr/class="on-cpu $_"/,   "... on a CPU: $_") for qw(server client blamed);
like($svg, qr/class="priority"/,    '... a priority that changes');
like($svg, qr/>800 ms</,            '... a time axis');
like($svg, qr/>spin \xc3\x97 \d: /, '... how many of a name had the CPUs');
unlike($svg, qr/\xef\xbf\xbd/, '... and no character is lost');
is(verb($dir, '-o', "$tmp/b.svg", '--from', '-2', '--to', '5'), 0, '--from, --to');
like(slurp("$tmp/b.svg"), qr/>-2 ms<.*>5 ms</s, '... are what it shows');
is(verb($dir, '-o', "$tmp/c.svg", '--event', 2), 0, '--event');
like(slurp("$tmp/c.svg"), qr/class="title"[^>]*>Nothing unusual: /, '... shows that one');

SKIP: {
	my ($rsvg) = grep {-x} map {"$_/rsvg-convert"} split /:/, $ENV{PATH};
	skip 'no rsvg-convert (Debian: librsvg2-bin): no PNG', 4 if !$rsvg;
	is(verb($dir, '-o', "$tmp/a.png"), 0, 'timeline -o FILE.png');
	my ($magic, undef, undef, $w, $h) = unpack 'a8NNNN', slurp("$tmp/a.png");
	is($magic, "\x89PNG\r\n\x1a\n", '... is a PNG');
	cmp_ok($w, '>=', 1400, '... wide enough to read');
	is_deeply([ glob "$tmp/a.png.*" ], [], '... and nothing is left beside it');
}
{
	local $ENV{PATH} = $tmp;
	like(
		verb($dir, '-o', "$tmp/d.png"),
		qr/^rsvg-convert is not installed: install it .* or name a file that ends in \.svg$/,
		'without rsvg-convert: said'
	);
}
like(verb($dir, '-o', "$tmp/a.gif"), qr/neither \.svg nor \.png/, 'another kind of file: said');
like(
	verb($dir, '-o', "$tmp/none/a.svg"),
	qr/none\/a\.svg: No such file or directory: choose another place/,
	'a folder that is not there: said'
);
like(
	verb($dir, '-o', "$tmp/x.svg", '--from', 50_000), qr/nothing is recorded between these times/,
	'a time that is not there: said'
);
symlink "$tmp/precious", "$tmp/t.svg.tmp" or die "$!\n";
is(verb($dir, '-o', "$tmp/t.svg"), 0, 'a link where the new file is written is replaced');
ok(!-e "$tmp/precious", '... not followed');

# --- names that would break a picture ---
my $evil = 'x<&">' . "\e[2J]]>";
is(
	verb(
		story(dir => 'evil', comm => $evil, manifest => { kernel => $evil }), '-o', "$tmp/evil.svg"
	),
	0,
	'evil names'
);
$svg = slurp("$tmp/evil.svg");
is(xml_problem($svg), undef, '... are escaped');
like($svg, qr/>x&lt;&amp;&quot;&gt;\]\]&gt; \(pid/, '... and shown');

# --- what nobody knows is not drawn as if somebody did ---
{
	my $late =
		Tipme::Diagnosis->new(Tipme::Episode->open(story(dir => 'late', first_ns => 8300 * $MS)));
	my $l = Tipme::Timeline->collect($late, $late->run(event => 5));
	for my $cpu (@{ $l->{cpus} }) {
		is_deeply(
			$cpu->{spans}[0], [ $l->{from_ns}, 8300 * $MS, 'unknown' ],
			"CPU $cpu->{cpu}: unknown before its records begin"
		);
		is(scalar(grep { $_->[2] eq 'unknown' } @{ $cpu->{spans} }), 1, '... and known after that');
	}
	is(
		scalar(
			grep { $_->{states}[0][2] ne 'unknown' || $_->{states}[0][1] != 8300 * $MS }
				@{ $l->{threads} }
		),
		0,
		'the same for threads'
	);
	like($l->{footer}, qr/dots: no records/, '... and said');
	my $gap =
		Tipme::Test::Episode->new(trigger_ns => 9500 * $MS, end_ns => 10_000 * $MS, first_ns => 1);
	$gap->switch(0, 9000 * $MS, 0, 5, 'runnable')->switch(0, 9100 * $MS, 6, 0, 'sleeping')
		->switch(0, 9200 * $MS, 0, 7, 'runnable')->switch(0, 9300 * $MS, 7, 0, 'sleeping');
	my $g = Tipme::Diagnosis->new(Tipme::Episode->open($gap->write("$tmp/gap")));
	my ($cpu) = @{ Tipme::Timeline->collect($g, $g->run)->{cpus} };
	is_deeply(
		[ map { [ $_->[0] / $MS, $_->[1] / $MS, $_->[2] =~ /^(\w+)/ ] } @{ $cpu->{spans} } ],
		[ [ 9000, 9100, 6 ], [ 9200, 9300, 7 ] ],
		'a switch away from somebody else than the one who came: a switch was lost, and who left is taken to have run'
	);
}

# --- nothing to look at ---
my $e = Tipme::Test::Episode->new(trigger_ns => 9500 * $MS, end_ns => 10_000 * $MS, first_ns => 1);
play($e, 0, [ 9000, 5, 'runnable' ], [ 9100, 0, 'sleeping' ]);
is(verb($e->write("$tmp/quiet"), '-o', "$tmp/quiet.svg"), 0,     'an episode without input events');
is(xml_problem(slurp("$tmp/quiet.svg")),                  undef, '... has a picture, too');

# --- damaged episodes: a picture or a sentence, never a hang, never half a file ---
{
	srand 20261120;
	my ($drawn, $said, @odd) = (0, 0);
	my @files = qw(kernel.rec threads.rec x-100.rec manifest.json);
	for my $n (1 .. 60) {
		my $bad = "$tmp/bad$n";
		system('cp', '-r', $dir, $bad) == 0 or die "cp failed\n";
		my $file  = "$bad/$files[ $n % @files ]";
		my $bytes = slurp($file);
		for (1 .. 1 + int rand 4) {
			substr($bytes, int rand length $bytes, 1) ^= chr 1 << int rand 8;
		}
		$bytes = substr $bytes, 0, int rand length $bytes if $n % 5 == 0;
		open my $h, '>:raw', $file or die "$!\n";
		print {$h} $bytes;
		close $h or die "$!\n";
		local $SIG{ALRM} = sub { die "hang\n" };
		alarm 60;
		my $r = do {
			local *STDERR;
			open STDERR, '>', '/dev/null' or die "$!\n";
			verb($bad, '-o', "$bad.svg");
		};
		alarm 0;
		if    ($r eq '0' && !defined xml_problem(slurp("$bad.svg"))) { $drawn++ }
		elsif ($r =~ /^\S.*\n\z/ && $r ne "hang\n" && $r !~ / line \d+|^bug/ && !-e "$bad.svg") {
			$said++;
		} else {
			push @odd, "$n ($file): $r";
		}
	}
	is_deeply(\@odd, [], "60 damaged episodes: $drawn drawn, $said refused by a sentence");
	cmp_ok($drawn, '>', 0, '... some of each'), cmp_ok($said, '>', 0, '... some of each');
}

# A shell that ran for long before the seconds that are drawn, and is another program in them.
{
	require Tipme::Test::Story;
	my $s = Tipme::Test::Story->new(trigger => 2000);
	my $b = $s->builder->thread(950, 'cc1', ts_ns => 1900 * $MS);
	$b->switch(0, 870 * $MS, 0, 950, 'runnable')
		->kernel(0, 960 * $MS, 'rename', tid => 950, comm => 'make')
		->switch(0, 961 * $MS, 950, 0, 'sleeping');
	$s->key(1000, 400);
	$b->wake(0, 1100 * $MS, 950, 0, context => 'hardirq')
		->switch(0, 1100.1 * $MS, 0, 950, 'runnable')
		->kernel(0, 1110 * $MS, 'rename', tid => 950, comm => 'cc1')
		->switch(0, 1150 * $MS, 950, 0, 'sleeping');
	my $diagnosis = Tipme::Diagnosis->new(
		Tipme::Episode->open($s->hotkey(1900)->builder->write("$tmp/renamed")));
	my $c = Tipme::Timeline->collect($diagnosis, $diagnosis->run);
	is(
		join(' ', grep { !defined $c->{procs}{$_}{role} } sort keys %{ $c->{procs} }), '',
		'each process has a role'
	);
	is(
		join(' ', grep {/^950 /} sort keys %{ $c->{procs} }), '950 make',
		'and is one that ran in the time that is drawn'
	);
}

is_deeply(\@warnings, [], 'no warnings');
done_testing();
