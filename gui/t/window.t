#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The window as an ordinary user has it, on episodes made from a story: what it would show equals what
# the command line prints; under Xvfb each page comes up without a warning, and shows those numbers.
use strict;
use warnings;
use Cpanel::JSON::XS qw(decode_json);
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use Test::More;
use lib "$Bin/../../postmortem/t/lib", "$Bin/../../postmortem/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::CommandLine qw(ms);
use Tipme::Test::Episode;

my $BUILD   = $ENV{TIPME_BUILDDIR} // die "TIPME_BUILDDIR is not set: run it by make check\n";
my $SRC     = $ENV{TIPME_SRCDIR}   // "$Bin/../..";
my $tmp     = tempdir('tipme-gui-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $library = "$tmp/library";
my $MS      = 1_000_000;
my ($XORG, $XTERM, $SPIN) = (100, 812, 901);
local $ENV{TIPME_LIBRARY} = $library;
local $ENV{XDG_RUNTIME_DIR} = "$tmp/run";
local $ENV{HOME} = "$tmp/home";
mkdir $_, 0700 or die "$_: $!\n" for $library, "$tmp/run", "$tmp/home", "$tmp/out";

# answered(EPISODE, N, AT, DONE): a press at AT ms, of which the screen shows something at DONE ms;
# until 2 ms before that another process has the only CPU.
sub answered {
	my ($e, $n, $t, $done) = @_;
	$e->x(int(($t + 0.05) * $MS), 'x_device', input_seq => $n, kind => 'key_press', device => 3);
	$e->x(int(($t + 0.10) * $MS), 'x_deliver', input_seq => $n, kind => 'key_press', pid => $XTERM, client => 4);
	$e->wake(0, int(($t + 0.15) * $MS), $XTERM, $XORG);
	$e->x(int(($done - 0.3) * $MS), 'x_request', pid => $XTERM, client => 4, duration_ns => 200_000, count => 1, major => 76);
	$e->x(int($done * $MS), 'x_damage', pid => $XTERM, client => 4, width => 8, height => 16, major => 76);
	$e->switch(0, int($t * $MS), $SPIN, $XORG, 'runnable', prev_preempted => 1, prev_prio => 120, next_prio => 120);
	$e->switch(0, int(($t + 0.2) * $MS), $XORG, $SPIN, 'sleeping', prev_prio => 120, next_prio => 120);
	$e->switch(0, int(($done - 2) * $MS), $SPIN, $XTERM, 'runnable', prev_preempted => 1, prev_prio => 120, next_prio => 120);
	$e->wake(0, int(($done - 0.5) * $MS), $XORG, $XTERM);
	$e->switch(0, int(($done - 0.4) * $MS), $XTERM, $XORG, 'sleeping', prev_prio => 120, next_prio => 120);
	$e->switch(0, int(($done + 0.1) * $MS), $XORG, $SPIN, 'sleeping', prev_prio => 120, next_prio => 120);
	return;
}

sub story {
	my ($id) = @_;
	my $e = Tipme::Test::Episode->new(trigger_ns => 9500 * $MS, end_ns => 10_000 * $MS, first_ns => 1, cpus => 1, server_pid => $XORG, id => $id);
	$e->thread(@$_) for [ $XORG, 'Xorg' ], [ $XTERM, 'xterm' ], [ $SPIN, 'spin', state => 'running' ];
	answered($e, $_, 4000 + 500 * $_, 4003 + 500 * $_) for 1 .. 4;
	answered($e, 5, 8000, 8600);
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
if (!$> && !system "setpriv --reuid 65534 --regid 65534 --clear-groups test -x '$BUILD/gui/tipme-gui' 2>/dev/null") {
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
sub slurp { my ($file) = @_; open my $h, '<', $file or die "$file: $!\n"; local $/; return scalar(<$h>) // '' }

sub rows { my ($name, $text) = @_; return map { [ split /\t/ ] } map { /^\Q$name\E\t(.*)/ ? $1 : () } split /\n/, $text }

my %told;
for my $id (qw(20261120-150301-aaaa 20261120-150302-bbbb 20261120-150303-cccc)) {
	my (undef, $json) = run('diagnose', '--json', $id);
	my ($status, $dump, $errors) = run('gui', '--dump', $id);
	is $status, 0, "$id: it opens" or diag $errors;
	my $d = $told{$id} = $json ? decode_json($json) : {};
	my $i = $d->{interval} // next;
	is_deeply [ rows('sentence', $dump) ], [ [ $d->{verdict}{sentence} ] ], '... with the sentence of diagnose';
	is_deeply [ rows('interval', $dump) ], [ [ @$i{qw(start_ns end_ns)} ] ], '... its interval';
	is_deeply [ map { $_->[2] } rows('part', $dump) ], [ map { $_->{ns} } @{ $d->{totals}{blamed} } ], '... its sum, part by part';
	is_deeply [ rows('stage', $dump) ], [ map { [ $_->{name}, $_->{ts_ns} - $i->{start_ns} ] } @{ $d->{event}{stages} } ], '... its stages';
	my %thread = map { $_->[1] => [ @$_[ 2 .. 4 ] ] } grep { $_->[0] eq 'thread' } rows('sum', $dump);
	is_deeply $thread{ $_->{tid} }, [ @$_{qw(running_ns runnable_ns blocked_ns)} ], "... lane of $_->{comm}: running, runnable and blocked"
		for grep { $thread{ $_->{tid} } } @{ $d->{totals}{threads} };
}
my $first = $told{'20261120-150301-aaaa'};
is $first->{verdict}{kind}, 'cpu-contention', 'the story has a culprit' or diag explain $first->{verdict};
my (undef, $damaged) = run('gui', '--dump', '20261120-150302-bbbb');
like $damaged, qr/^(?:known|said|problem)\t.*kernel\.rec/m, 'a cut episode says what it lacks';
my ($none, undef, $why) = run('gui', '--dump', 'nothing');
is $none, 1, 'no such episode: it fails';
like $why, qr/^tipme: gui: nothing: there is no such episode: /, '... and says so';
my ($usage) = run('gui', '--page', 'nowhere');
is $usage, 64, 'no such page: usage';

SKIP: {
	skip 'no Xvfb here: install the packages of class test in .ci/packages', 1 if system 'command -v Xvfb >/dev/null 2>&1';
	pages();
}
for my $tool ([ 'desktop-file-validate', 'desktop' ], [ 'appstreamcli validate --no-net', 'metainfo.xml' ]) {
	SKIP: {
		my ($command, $end) = @$tool;
		skip "no $command here: install the packages of class test in .ci/packages", 1 if system "command -v @{[ $command =~ /^(\S+)/ ]} >/dev/null 2>&1";
		my $said = qx{$command "$SRC/gui/data/io.github.tipme.Tipme.$end" 2>&1};
		is $?, 0, "$end is valid" or diag $said;
	}
}
done_testing;

# Each page under an X server of its own.
sub pages {
	pipe my $read, my $write or die "$!\n";
	my $server = fork // die "fork: $!\n";
	if (!$server) {
		open STDERR, '>', '/dev/null';
		open STDOUT, '>&', $write or die "$!\n";
		exec 'Xvfb', '-displayfd', 1, '-screen', 0, '1400x900x24', '-nolisten', 'tcp';
	}
	close $write or die "$!\n";
	chomp(my $number = <$read> // '');
	local @ENV{qw(DISPLAY GSK_RENDERER GTK_A11Y GSETTINGS_BACKEND GDK_BACKEND)} = (":$number", qw(cairo none memory x11));
	my %words;
	for my $page (qw(episodes answer timeline)) {
		my ($status, $text, $errors) = run('gui', '--page', $page, '--picture', "$tmp/out/$page.png", '20261120-150301-aaaa');
		is $status, 0, "$page: comes up" or diag $errors;
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
	like $words{episodes}, qr/^xterm$/m, '... and the application';
	like $words{timeline}, qr/ms running/, 'the timeline has the sums of a lane';
	my ($status, $text, $errors) = run('gui', '--page', 'answer', '--picture', "$tmp/out/cut.png", '20261120-150302-bbbb');
	is "$status$errors", '0', 'a damaged episode comes up without a warning';
	like $text, qr/kernel\.rec/, '... and the page says what is damaged';
	kill 'TERM', $server;
	waitpid $server, 0;
	return;
}
