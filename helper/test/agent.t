# SPDX-License-Identifier: GPL-2.0-only
# From the hot-key to the user's words, on a server without hooks: heard, saved, said, asked, and
# the focus is where it was.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../demo";
use Test::More;
use Time::HiRes qw(sleep);
use Tipme::Display;
use Tipme::TestAgent  qw(command press public start_agent);
use Tipme::TestDaemon qw(manifest slurp tipmed wait_until);

plan skip_all => 'not root: recording the whole machine needs it' if $>;
plan skip_all => 'the agent is not built here'
	if !-x "$ENV{TIPME_BUILDDIR}/helper/agent/tipme-agent" || !-x tipmed();
for my $program (qw(Xvfb xterm xdotool openbox xprop xwd)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
my $dialog = -x "$ENV{TIPME_BUILDDIR}/helper/agent/tipme-dialog";
my ($CTRL, $ALT, $MINUS) = (37, 64, 20);

my $nobody   = (getpwnam 'nobody')[2] // 65534;
my $d        = Tipme::TestDaemon->new(args => [ '--owner', $nobody, '--post', 1 ]);
my $x        = Tipme::Display->new(kind => 'Xvfb', rundir => $d->rundir);
my $public   = public($d->dir);
my $pictures = $ENV{TIPME_TEST_PICTURES};

sub picture {
	my ($name) = @_;
	command($x, 'sh', '-c', "xwd -root -silent >'$pictures/$name.xwd'") if $pictures;
	return;
}

sub windows {
	my ($name) = @_;
	return split /\n/,
		command($x, 'sh', '-c', "xdotool search --onlyvisible --name '$name' 2>/dev/null");
}
sub focus { return command($x, 'xdotool', 'getwindowfocus') =~ s/\n//r }

$x->spawn('openbox');
# A window that comes while it starts, it shows with the next event, whenever that is.
ok wait_until(sub { command($x, qw(xprop -root _NET_SUPPORTING_WM_CHECK)) =~ /window id/ }),
	'a window manager is there'
	or BAIL_OUT(slurp($x->dir . '/clients.log'));
my $typed = $x->dir . '/typed';
my $xterm = $x->spawn('xterm', '-T', 'writing', '-e', 'sh', '-c', "cat >'$typed'");
ok wait_until(sub { windows('writing') }), '... and a terminal';
sleep 0.3;
command($x, 'xdotool', 'search', '--name', 'writing', 'windowfocus');
# As somebody starts it from the build tree by hand: nothing but its own place says where the
# question is.
$x->{without_variable} = 1;
my ($agent, $log) = start_agent($x, $public, '--dialog-timeout', 0);

# No recorder: said so.
ok wait_until(sub { press($x, $CTRL, $ALT, $MINUS); windows('^tipme$') }),
	'without a recorder a press gets an answer on the screen';
picture('no-recorder');

is + ($d->start)[0], 0, 'start' or BAIL_OUT('no recorder');
my $watch = $d->connection;
send $watch, Tipme::TestDaemon::message(5, 0, ''), 0;
Tipme::TestDaemon::answer($watch);
ok wait_until(
	sub {
		grep { $_ == $agent } @{ $d->status->{agents} };
	}
	),
	'the agent finds the recorder';
my $focus = focus();
press($x, $CTRL, $ALT, $MINUS);
my @told = Tipme::TestDaemon::answer($watch);
is_deeply [ @told[ 0, 1 ] ], [ 18, 0 ], 'a press becomes a trigger';
like $told[2], qr/^(\d{8}-\d{6}-[0-9a-f]{4})\nhotkey\n\d+\.\d$/, '... by hot-key';
my $id = (split /\n/, $told[2])[0];
ok wait_until(sub { windows('^tipme$') }), 'that it was heard is shown';
picture('heard');
is focus(), $focus, '... without taking the focus';
my @saved = Tipme::TestDaemon::answer($watch);
is_deeply \@saved, [ 17, 0, $d->library . "/$id" ], 'it is saved, and one press was one trigger';
unlike slurp($log), qr/^(?!tipme: observing)./m, 'the agent has nothing to complain of';

SKIP: {
	skip 'the dialog is not built here', 9 if !$dialog;
	ok wait_until(sub { windows('what happened') }), 'the user is asked what happened'
		or diag(slurp($log));
	sleep 0.5;
	is focus(), $focus, '... and the focus stays';
	command($x, 'xdotool', 'type', '--delay', '30', "on and on\n");
	ok wait_until(sub { -e $typed && slurp($typed) eq "on and on\n" }),
		'what is typed goes on where it went';
	my ($w) = windows('what happened');
	picture('asked');
	my ($left, $top) =
		command($x, 'xdotool', 'getwindowgeometry', '--shell', $w) =~ /X=(-?\d+)\nY=(-?\d+)/;
	command($x, 'xdotool', 'mousemove', $left + 100, $top + 55, 'click', 1);
	ok wait_until(sub { focus() ne $focus }), 'a click on it gives it the focus';
	# The verdict is looked up meanwhile.
	sleep 3;
	picture('verdict');
	command($x, 'xdotool', 'type', '--delay', '30', 'it hung while I typed');
	picture('answered');
	command($x, 'xdotool', 'key', 'Return');
	ok wait_until(sub { !windows('what happened') }), 'Return saves, and it is gone';
	ok -e "$saved[2]/note.txt",                       'the words are in the episode';
	is -e "$saved[2]/note.txt" ? slurp("$saved[2]/note.txt") : '', 'it hung while I typed',
		'... as they were typed';
	is slurp($typed), "on and on\n", '... and nowhere else';

	# Closed unanswered: no words. And the next episode knows the dialog as ours.
	sleep 5;
	press($x, $CTRL, $ALT, $MINUS);
	my @next = map { [ Tipme::TestDaemon::answer($watch) ] } 1 .. 2;
	ok wait_until(sub { windows('what happened') }), 'asked again';
	my @agents = @{ manifest($next[1][2])->{recorder}{agents} };
	is scalar(grep { $_ == $agent } @agents), 1, 'the agent is in the manifest';
	is scalar(@agents), 3, '... and so are the dialog of before, and this test';
	($w) = windows('what happened');
	command($x, 'xdotool', 'windowclose', $w);
	ok wait_until(sub { !windows('what happened') }), 'it can be closed';
	ok !-e "$next[1][2]/note.txt",                    '... and then there are no words';
}
kill 'TERM', $agent;
{
	# Elsewhere, without its question: said. It ends at once, since no display answers.
	mkdir my $alone = $x->dir . '/alone';
	system('cp', "$public/helper/agent/tipme-agent", $alone) == 0 or die;
	delete local @ENV{qw(TIPME_BUILDDIR DISPLAY)};
	local $ENV{DISPLAY} = ':987';
	my $said =
		qx{"$alone/tipme-agent" --no-observer 2>&1 & pid=\$!; sleep 1; kill \$pid 2>/dev/null; wait};
	$said =~ s/^(?!.*dialog).*\n//mg;
	if (-x '/usr/libexec/tipme/tipme-dialog') {
		is $said, '', 'an agent that is installed has its question';
	} else {
		like $said,
			qr{^tipme: agent: dialog: /\S+/tipme-dialog: is not there: nobody is asked what happened: install},
			'an agent without its question says so';
	}
}
$d->stop;
$x->stop;
done_testing;
