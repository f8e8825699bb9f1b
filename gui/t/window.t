#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The window as an ordinary user has it, on episodes made from a story: what it would show equals
# what the command line prints; under Xvfb each page comes up without a warning, and shows those
# numbers.
use strict;
use warnings;
use Cpanel::JSON::XS qw(decode_json encode_json);
use File::Copy       qw(copy);
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use Test::More;
use lib "$Bin/../../postmortem/t/lib", "$Bin/../../postmortem/lib", "$Bin/../../abi/lib",
	"$Bin/../../abi/generated";
use Tipme::CommandLine qw(ms);
use Tipme::Test::Episode;

my $BUILD   = $ENV{TIPME_BUILDDIR} // die "TIPME_BUILDDIR is not set: run it by make check\n";
my $SRC     = $ENV{TIPME_SRCDIR}   // "$Bin/../..";
my $tmp     = tempdir('tipme-gui-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $library = "$tmp/library";
my $MS      = 1_000_000;
my ($XORG, $XTERM, $SPIN) = (100, 812, 901);
local $ENV{TIPME_LIBRARY}   = $library;
local $ENV{XDG_RUNTIME_DIR} = "$tmp/run";
local $ENV{HOME}            = "$tmp/home";
local $ENV{XDG_CONFIG_HOME} = "$tmp/home/.config";
delete $ENV{XDG_CACHE_HOME};    # root's
local $ENV{DBUS_SESSION_BUS_ADDRESS} = 'disabled:';
mkdir $_, 0700 or die "$_: $!\n" for $library, "$tmp/run", "$tmp/home", "$tmp/out";

# answered(EPISODE, N, AT, DONE): a press at AT ms, of which the screen shows something at DONE ms;
# until 2 ms before that another process has the only CPU.
sub answered {
	my ($e, $n, $t, $done) = @_;
	$e->x(int(($t + 0.05) * $MS), 'x_device', input_seq => $n, kind => 'key_press', device => 3);
	$e->x(
		int(($t + 0.10) * $MS), 'x_deliver', input_seq => $n, kind => 'key_press', pid => $XTERM,
		client => 4
	);
	$e->wake(0, int(($t + 0.15) * $MS), $XTERM, $XORG);
	$e->x(
		int(($done - 0.3) * $MS), 'x_request', pid => $XTERM, client => 4,
		duration_ns => 200_000, count => 1, major => 76
	);
	$e->x(
		int($done * $MS), 'x_damage', pid => $XTERM, client => 4, width => 8, height => 16,
		major => 76
	);
	$e->switch(
		0, int($t * $MS), $SPIN, $XORG, 'runnable', prev_preempted => 1, prev_prio => 120,
		next_prio => 120
	);
	$e->switch(
		0, int(($t + 0.2) * $MS), $XORG, $SPIN, 'sleeping', prev_prio => 120,
		next_prio => 120
	);
	$e->switch(
		0, int(($done - 2) * $MS), $SPIN, $XTERM, 'runnable', prev_preempted => 1,
		prev_prio => 120, next_prio => 120
	);
	$e->wake(0, int(($done - 0.5) * $MS), $XORG, $XTERM);
	$e->switch(
		0, int(($done - 0.4) * $MS), $XTERM, $XORG, 'sleeping', prev_prio => 120,
		next_prio => 120
	);
	$e->switch(
		0, int(($done + 0.1) * $MS), $XORG, $SPIN, 'sleeping', prev_prio => 120,
		next_prio => 120
	);
	return;
}

sub story {
	my ($id) = @_;
	my $e = Tipme::Test::Episode->new(
		trigger_ns => 9500 * $MS, end_ns     => 10_000 * $MS, first_ns => 1,
		cpus       => 1,          server_pid => $XORG,        id       => $id
	);
	$e->thread(@$_)
		for [ $XORG, 'Xorg' ], [ $XTERM, 'xterm' ], [ $SPIN, 'spin', state => 'running' ];
	answered($e, $_, 4000 + 500 * $_, 4003 + 500 * $_) for 1 .. 4;
	answered($e, 5,  8000,            8600);
	return $e->write("$library/$id");
}

story('20261120-150301-aaaa');
story('20261120-150302-bbbb');
open my $cut, '+<', "$library/20261120-150302-bbbb/kernel.rec" or die "$!\n";
truncate $cut, int(0.6 * -s $cut) or die "$!\n";
close $cut or die "$!\n";
story('20261120-150303-cccc');
unlink glob "$library/20261120-150303-cccc/x-*.rec";

# An ordinary user, where the tests run as root; he needs to read what was built.
my @AS = ();
if (   !$>
	&& !system
	"setpriv --reuid 65534 --regid 65534 --clear-groups test -x '$BUILD/gui/tipme-gui' 2>/dev/null")
{
	@AS = qw(setpriv --reuid 65534 --regid 65534 --clear-groups);
	system 'chown', '-R', '65534:65534', $tmp;
	chmod 0755, $tmp;
}
note @AS ? 'as user 65534' : 'as user ' . $>;

# run(WORDS): exit status, standard output, standard error
sub run {
	my (@command) = @_;
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		open STDOUT, '>', "$tmp/stdout" or die "$!\n";
		open STDERR, '>', "$tmp/stderr" or die "$!\n";
		exec @AS, 'env', "HOME=$tmp/home", "$BUILD/tipme", @command or die "$!\n";
	}
	waitpid $pid, 0;
	return ($? >> 8, map { slurp("$tmp/$_") } qw(stdout stderr));
}

sub slurp {
	my ($file) = @_;
	open my $h, '<', $file or die "$file: $!\n";
	local $/;
	return scalar(<$h>) // '';
}

sub rows {
	my ($name, $text) = @_;
	return map { [ split /\t/ ] } map { /^\Q$name\E\t(.*)/ ? $1 : () } split /\n/, $text;
}

my %told;
for my $id (qw(20261120-150301-aaaa 20261120-150302-bbbb 20261120-150303-cccc)) {
	my (undef, $json) = run('diagnose', '--json', $id);
	my ($status, $dump, $errors) = run('gui', '--dump', $id);
	is $status, 0, "$id: it opens" or diag $errors;
	my $d = $told{$id} = $json ? decode_json($json) : {};
	my $i = $d->{interval} // next;
	is_deeply [ rows('sentence', $dump) ], [ [ $d->{verdict}{sentence} ] ],
		'... with the sentence of diagnose';
	is_deeply [ rows('interval', $dump) ], [ [ @$i{qw(start_ns end_ns)} ] ], '... its interval';
	is_deeply [ map { $_->[2] } rows('part', $dump) ],
		[ map { $_->{ns} } @{ $d->{totals}{blamed} } ], '... its sum, part by part';
	is_deeply [ rows('stage', $dump) ],
		[ map { [ $_->{name}, $_->{ts_ns} - $i->{start_ns} ] } @{ $d->{event}{stages} } ],
		'... its stages';
	my %thread =
		map { $_->[1] => [ @$_[ 2 .. 4 ] ] } grep { $_->[0] eq 'thread' } rows('sum', $dump);
	is_deeply $thread{ $_->{tid} }, [ @$_{qw(running_ns runnable_ns blocked_ns)} ],
		"... lane of $_->{comm}: running, runnable and blocked"
		for grep { $thread{ $_->{tid} } } @{ $d->{totals}{threads} };
}
my $first = $told{'20261120-150301-aaaa'};
is $first->{verdict}{kind}, 'cpu-contention', 'the story has a culprit'
	or diag explain $first->{verdict};
my (undef, $damaged) = run('gui', '--dump', '20261120-150302-bbbb');
ranges();
like $damaged, qr/^(?:known|said|problem)\t.*kernel\.rec/m, 'a cut episode says what it lacks';
my ($none, undef, $why) = run('gui', '--dump', 'nothing');
is $none, 1, 'no such episode: it fails';
like $why, qr/^tipme: gui: nothing: there is no such episode: /, '... and says so';
my ($several, undef, $which) = run('gui', '--dump', '20261120-15030');
is $several, 1, 'a beginning of several ids: it fails';
like $which, qr/^tipme: gui: 20261120-15030: stands for 3 episodes: /, '... and says so';
my (undef, $short) = run('gui', '--dump', '20261120-150301');
is_deeply [ rows('sentence', $short) ], [ [ $first->{verdict}{sentence} ] ],
	'the beginning of one id opens it';
verbs();
run('bundle', '20261120-150301', '--yes', '-o', "$tmp/sent.tipme");

for my $time (qw(once again)) {
	my ($status, $sent, $errors) = run('gui', '--dump', "$tmp/sent.tipme");
	is "$status$errors", '0', "a bundle opens, $time";
	is_deeply [ rows('sentence', $sent) ], [ [ $first->{verdict}{sentence} ] ],
		'... and says the same';
}
for my $lacks ('made', 'written') {
SKIP: {
		skip 'root may write anywhere', 2 if $lacks eq 'written' && !$> && !@AS;
		my $cache = $lacks eq 'made' ? "$SRC/README.md/cache" : "$tmp/cache";
		mkdir "$tmp/cache/tipme", 0755 if $lacks eq 'written' && mkdir "$tmp/cache", 0755;
		mkdir "$tmp/cache/tipme/opened", 0555 if $lacks eq 'written';
		local $ENV{XDG_CACHE_HOME} = $cache;
		my ($status, undef, $errors) = run('gui', '--dump', "$tmp/sent.tipme");
		is $status, 1, "a bundle where the cache cannot be $lacks: it fails";
		like $errors,
			qr{^tipme: gui: cannot write \Q$cache\E/tipme/opened: [^:]+: make it yours, or },
			'... with the folder, why and what to do';
	}
}
my ($broken, undef, $said) = run('gui', '--dump', "$SRC/README.md");
is $broken, 1, 'a file that is no bundle: it fails';
like $said, qr/^tipme: open: /, '... in the words of tipme open';
my ($usage) = run('gui', '--page', 'nowhere');
is $usage, 64, 'no such page: usage';

SKIP: {
	skip 'no Xvfb here: install the packages of class test in .ci/packages', 1
		if system 'command -v Xvfb >/dev/null 2>&1';
	pages();
}
for my $tool (
	[ 'desktop-file-validate',          'desktop' ],
	[ 'appstreamcli validate --no-net', 'metainfo.xml' ]
	)
{
SKIP: {
		my ($command, $end) = @$tool;
		skip "no $command here: install the packages of class test in .ci/packages", 1
			if system "command -v @{[ $command =~ /^(\S+)/ ]} >/dev/null 2>&1";
		my $said = qx{$command "$SRC/gui/data/io.github.tipme.Tipme.$end" 2>&1};
		is $?, 0, "$end is valid" or diag $said;
	}
}
done_testing;

# Each page under an X server of its own, which does not begin anew when a client has gone: who
# connects just then would be thrown out.
sub pages {
	pipe my $read, my $write or die "$!\n";
	my $server = fork // die "fork: $!\n";
	if (!$server) {
		open STDERR, '>',  '/dev/null';
		open STDOUT, '>&', $write or die "$!\n";
		exec 'Xvfb', '-displayfd', 1, '-screen', 0, '1400x900x24', '-noreset', '-nolisten', 'tcp';
	}
	close $write or die "$!\n";
	chomp(my $number = <$read> // '');
	local @ENV{qw(DISPLAY GSK_RENDERER GTK_A11Y GSETTINGS_BACKEND GDK_BACKEND)} =
		(":$number", qw(cairo none memory x11));
	my %words;
	for my $page (qw(episodes answer timeline)) {
		my ($status, $text, $errors) =
			run('gui', '--page', $page, '--picture', "$tmp/out/$page.png", '20261120-150301-aaaa');
		is $status, 0,  "$page: comes up" or diag $errors;
		is $errors, '', '... without a warning';
		like slurp("$tmp/out/$page.png"), qr/\A\x89PNG/, '... and has a picture';
		$words{$page} = $text;
	}
	my $d = $first;
	like $words{answer}, qr/^\Q$d->{verdict}{sentence}\E$/m, 'the answer page has the sentence';
	for my $part (@{ $d->{totals}{blamed} }) {
		my $time = ms($part->{ns});
		like $words{answer}, qr/^\Q$time\E$/m, "... and $time of $part->{comm}";
	}
	my $response = ms($d->{interval}{duration_ns});
	like $words{episodes}, qr/^\Q$response\E$/m, "the list has the response, $response";
	like $words{episodes}, qr/^xterm$/m,         '... and the application';
	like $words{timeline}, qr/ms running/,       'the timeline has the sums of a lane';
	facts();
	my ($status, $text, $errors) =
		run('gui', '--page', 'answer', '--picture', "$tmp/out/cut.png", '20261120-150302-bbbb');
	is "$status$errors", '0', 'a damaged episode comes up without a warning';
	like $text, qr/kernel\.rec/, '... and the page says what is damaged';
SKIP: {
		skip 'no xdotool here: install the packages of class test in .ci/packages', 1
			if system 'command -v xdotool >/dev/null 2>&1';
		by_keyboard();
		without_episodes();
	}
	kill 'TERM', $server;
	waitpid $server, 0;
	return;
}

# Pages that show what a verb says: its words, its sums.
sub facts {
	my ($one,  $two)  = qw(20261120-150301-aaaa 20261120-150302-bbbb);
	my (undef, $json) = run('compare', $one, $one, '--json');
	my $c = decode_json($json);
	my ($status, $text, $errors) =
		run('gui', '--page', 'compare', '--picture', "$tmp/out/compare.png", $one, $one);
	is "$status$errors", '0', 'compare: comes up without a warning';
	like $text, qr/^\Q$c->{sentence}\E$/m, '... with the sentence of compare';
	for my $cause (@{ $c->{causes} }) {
		my $ms = sprintf '%.3f', $cause->{a_ns} / 1e6;
		like $text, qr/^\Q$ms\E$/m, "... and $ms ms of $cause->{kind}";
	}
	($status, $text, $errors) =
		run('gui', '--page', 'report', '--picture', "$tmp/out/report.png", $one);
	is "$status$errors", '0', 'report: comes up without a warning';
	my (undef, $report) = run('report', $one);
	ok index($text, $report =~ s/\s+\z//r) >= 0, '... with the words of report' or diag $text;
	like $text, qr/^What goes into the file:$/m, '... with what would leave';
	outcomes($one);
	local $ENV{TIPME_RUNDIR} = "$tmp/run";
	($status, $text, $errors) = run('gui', '--page', 'live', '--picture', "$tmp/out/live.png");
	is "$status$errors", '0', 'live: comes up without a warning';
	like $text, qr/^tipme is not recording$/m, '... and says that nothing is recorded';
	return;
}

# shown(PAGE, WORDS): what the page shows, without a warning
sub shown {
	my ($page, @words) = @_;
	my ($status, $text, $errors) =
		run('gui', '--page', $page, '--picture', "$tmp/out/$page.png", @words);
	is "$status$errors", '0', "$page: comes up without a warning";
	return $text;
}

# A cure, a week, a measurement: the figures of their verbs.
sub outcomes {
	my ($one) = @_;
	my $check = decode_json((run('check', $one, $one, '--json'))[1]);
	like shown('check', $one), qr/^\Q$check->{said}[1]\E$/m, '... with the words of check';
	my $week = decode_json((run('list', '--week', '--json'))[1]);
	like shown('week'), qr/^\Q$week->{sentence}\E$/m, '... with the sentence of list --week';
	spew(
		"$tmp/night.json",
		{
			format     => 'tipme latency', version => 1, kernel => 'k', source => 'user',
			duration_s => 60, period_us => 1000,
			stages     => [
				{
					stage   => 'total_user', count => 60_000, sum_ns => 600_012_000,
					max_ns  => 1_490_000,
					buckets => [ [ 10, 59_990 ], [ 1490, 10 ] ]
				}
			]
		}
	);
	my $measured = shown('measured', "$tmp/night.json");
	like $measured, qr/^1\.5 ms$/m,                          '... with the longest latency';
	like $measured, qr/^How many latencies were how long$/m, '... and its distribution';
	like shown('measured', "$SRC/README.md"), qr/^tipme: profile: /m, '... or why there is none';
	return;
}

sub spew {
	my ($file, $data) = @_;
	open my $h, '>', $file or die "$file: $!\n";
	print {$h} encode_json($data);
	close $h or die "$file: $!\n";
	return;
}

# What the timeline's keys lead to, as text: spans of a lane, sums of a range.
sub ranges {
	my $id = '20261120-150301-aaaa';
	my (undef, $text) = run(qw(gui --dump --from 10 --to 110 --lane xterm --threads spin), $id);
	my %sum = map { ("$_->[0] $_->[1]" => $_->[2] + $_->[3] + $_->[4]) } rows('sum', $text);
	is $sum{"thread $XTERM"}, 100 * $MS, 'sums of a range are as long as the range';
	ok exists $sum{"thread $SPIN"}, '... another thread has a lane';
	my @spans = rows('span', $text);
	like $spans[0][0], qr/^xterm /, '... a lane says what it did';
	cmp_ok $spans[0][2] - $spans[0][1], '>', 0, '... each for a time';
	my ($first) = rows('sum', (run('gui', '--dump', '--pin', 'CPU 0', $id))[1]);
	is "@$first[0, 1]", 'cpu 0', 'a pinned lane is the first';
	return;
}

# Each action has a verb of the command line, with options that it knows, and stands in the manual.
sub verbs {
	my (undef, $help)    = run('--help');
	my (undef, $actions) = run('gui', '--actions');
	my $manual = slurp("$SRC/helper/man/tipme-gui.1") =~ s/\\-/-/gr;
	my @lines  = map { [ split /\t/ ] } split /\n/, $actions;
	cmp_ok scalar @lines, '>', 9, 'the window says what it can do';
	cmp_ok scalar(grep { $_->[0] =~ /^timeline-/ } @lines), '>', 9, '... and its timeline';
	my (%seen, %usage);
	for (@lines) {
		my ($name, $words, $keys) = @$_;
		my ($verb, @options) = split / /, $words;
		like $help, qr/^  \Q$verb\E /m, "$name: tipme $verb is a verb";
		$usage{$verb} //= (run($verb, '--help'))[1];
		like $usage{$verb}, qr/\Q$_\E\b/,                    "... that has $_" for @options;
		like $manual, qr/^\Q$keys\E\|.*\btipme \Q$words\E/m, '... and the manual has its keys';
		ok !$seen{$keys}++, '... which are of nothing else' if $keys ne '-';
	}
	return;
}

# until_true(CODE): whether the condition came, within a minute
sub until_true {
	my ($code) = @_;
	for (1 .. 600) {
		return 1 if $code->();
		select undef, undef, undef, 0.1;
	}
	return 0;
}

# focus(TITLE): the X window of that title has the keyboard
sub focus {
	my ($title) = @_;
	my $id;
	ok until_true(
		sub { ($id) = qx{xdotool search --onlyvisible --name '$title' 2>/dev/null} =~ /^(\d+)/m }),
		"the window shows: $title"
		or return;
	system 'xdotool', 'windowfocus', '--sync', $id;
	return $id;
}

sub seen {
	my ($title) = @_;
	return qx{xdotool search --onlyvisible --name '$title' 2>/dev/null} =~ /^(\d+)/m ? $1 : 0;
}

# gone(TITLE): there is no such window any more
sub gone {
	my ($title) = @_;
	return until_true(sub { !seen($title) });
}

sub press { system 'xdotool', 'key', '--clearmodifiers', @_; return }

sub opened {
	my (@words) = @_;
	my $pid = fork // die "fork: $!\n";
	return $pid if $pid;
	open STDERR, '>', "$tmp/keys-stderr" or die "$!\n";
	exec @AS, 'env', "HOME=$tmp/home", "$BUILD/tipme", 'gui', @words or die "$!\n";
}

sub ended {
	my ($pid) = @_;
	kill 'TERM', $pid;
	waitpid $pid, 0;
	is slurp("$tmp/keys-stderr"), '', 'no warning';
	return;
}

# The program by keyboard: what it did is seen in the library, the page in the window's title.
sub by_keyboard {
	my $pid = opened();
	my $id  = '20261120-150303-cccc';
	focus('^Episodes - tipme');
	ok until_true(sub { press('ctrl+p'); -e "$library/$id/pinned" }), 'Ctrl+P pins the newest';
	ok until_true(sub { press('ctrl+shift+p'); !-e "$library/$id/pinned" }), '... and lets it go';
	my $new = '20261120-150304-dddd';
	story($new);
	system 'chown', '-R', '65534:65534', "$library/$new" if @AS;
	ok until_true(sub { press('Home', 'ctrl+p'); -e "$library/$new/pinned" }),
		'a new episode appears by itself';
	press('Delete');
	focus('^Delete the episode');
	press('alt+k');
	gone('^Delete the episode');
	ok -d "$library/$new", 'Keep keeps it';
	focus('^Episodes - tipme');
	press('Delete');
	focus('^Delete the episode');
	press('alt+d');
	gone('^Delete the episode');
	ok until_true(sub { !-e "$library/$new" }), 'Delete removes it, pinned as it is';
	my @pages =
		qw(Compare 4 Report 5 Live 6 Check 7 Week 8 Measured 9 Timeline 3 Answer 2 Episodes 1);

	for my $page (map { [ "alt+$pages[2 * $_ + 1]", $pages[ 2 * $_ ] ] } 0 .. 8) {
		focus(' - tipme');
		press($page->[0]);
		focus("^$page->[1] - tipme");
	}
	press('ctrl+d');
	focus('^Answer - tipme');
	my $kept = "$tmp/home/.config/tipme/gui.ini";
	ok until_true(sub { -e $kept && slurp($kept) =~ /^page=answer\nnewest=\Q$id\E\n/m }),
		'page and newest episode are remembered';
	ended($pid);
	$pid = opened();
	focus('^Answer - tipme');
	press('alt+1');
	focus('^Episodes - tipme');
	judged_elsewhere('20261120-150305-eeee');
	ended($pid);
	return;
}

# What another program finds out stands in the open list: found first by its id, then by its kind
# of cause, which it has when it has been judged.
sub judged_elsewhere {
	my ($id) = @_;
	press('ctrl+f');
	system 'xdotool', 'type', '--clearmodifiers', $id;
	story($id);
	system 'chown', '-R', '65534:65534', "$library/$id" if @AS;
	ok until_true(sub { press('ctrl+p'); -e "$library/$id/pinned" }), 'a new episode is found';
	ok until_true(sub { press('ctrl+shift+p'); !-e "$library/$id/pinned" }), '... and let go';
	system 'xdotool', 'type', '--clearmodifiers', ' kind:cpu-contention';
	my ($status) = run('diagnose', $id);
	is $status, 0, 'somebody asks for its verdict elsewhere';
	ok until_true(sub { press('ctrl+p'); -e "$library/$id/pinned" }),
		'... and the open list has its kind of cause';
	return;
}

# Without a recorder and an episode: what it records, and what the button runs.
sub without_episodes {
	local $ENV{TIPME_LIBRARY} = "$tmp/none";
	local $ENV{TIPME_RUNDIR}  = "$tmp/run";
	my ($status, $text, $errors) =
		run('gui', '--page', 'episodes', '--picture', "$tmp/out/first.png");
	is "$status$errors", '0', 'without episodes: no warning';
	like $text, qr/^tipme is not recording$/m,   '... it says that nothing is recorded';
	like $text, qr/^This runs: .*tipme start$/m, '... what would start it';
	like $text, qr/never which key/,             '... and what is recorded';
	return;
}
