# SPDX-License-Identifier: GPL-2.0-only
# The question's answers: each is saved at once and can be taken back; why, a report, another
# moment, and a recorder to be started.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../demo";
use lib map {"$FindBin::Bin/../../$_"} qw(postmortem/lib postmortem/t/lib abi/lib abi/generated);
use Cpanel::JSON::XS ();
use Test::More;
use Time::HiRes qw(sleep);
use Tipme::Display;
use Tipme::Test::Story;
use Tipme::TestAgent  qw(command public);
use Tipme::TestDaemon qw(slurp tipme tipmed wait_until);

plan skip_all => 'not root: recording the whole machine needs it' if $>;
plan skip_all => 'the dialog is not built here'
	if !-x "$ENV{TIPME_BUILDDIR}/helper/agent/tipme-dialog" || !-x tipmed();
for my $program (qw(Xvfb xdotool openbox xprop xwd)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}

my ($nobody, $group) = (getpwnam 'nobody')[ 2, 3 ];
my $d        = Tipme::TestDaemon->new(args => [ '--owner', $nobody, '--post', 0 ]);
my $x        = Tipme::Display->new(kind => 'Xvfb', rundir => $d->rundir);
my $public   = public($d->dir);
my $pictures = $ENV{TIPME_TEST_PICTURES};
# Programs of the session, as far as they are needed: no pkexec among them.
mkdir "$public/bin";
for my $program (qw(perl sh)) {
	my ($path) = grep {-x} map {"$_/$program"} split /:/, $ENV{PATH};
	symlink $path, "$public/bin/$program" or die "$program: $!";
}
mkdir "$public/helper/daemon";
system('cp', tipmed(), "$public/helper/daemon/tipmed") == 0 or die "tipmed: no copy\n";
is + ($d->start)[0], 0, 'start' or BAIL_OUT('no recorder');

# Two slow keys: the second is the worst.
my $id   = '20261120-150301-3f2a';
my $path = $d->library . "/$id";
my $b =
	Tipme::Test::Story->new(trigger => 4000)->key(1500, 250)->key(2500, 600)->hotkey(3900)->builder;
$b->{id} = $id;
$b->write($path);
system('chown', '-R', "$nobody:$group", $d->library) == 0 or die "chown\n";
my @sentence = map {
	Cpanel::JSON::XS->new->decode(($d->run(tipme(), 'diagnose', $path, '--json', @$_))[1])
		->{verdict}{sentence}
} [], [ '--event', 4 ];
like $sentence[0], qr/after 600 ms/, 'the worst is explained';
like $sentence[1], qr/after 250 ms/, '... or another';

sub words { return -e "$path/note.txt" ? slurp("$path/note.txt") : '' }

sub window {
	return (
		split /\n/,
		command($x, 'sh', '-c', q{xdotool search --onlyvisible --name 'what happened' 2>/dev/null})
	)[0];
}

sub height {
	return (command($x, 'xdotool', 'getwindowgeometry', '--shell', window()) =~ /HEIGHT=(\d+)/)[0];
}

sub picture {
	my ($name) = @_;
	command($x, 'sh', '-c', "xwd -root -silent >'$pictures/$name.xwd'") if $pictures;
	return;
}
# Until it has an effect: what is looked up comes later.
sub key_until {
	my ($key, $done) = @_;
	return wait_until(sub { command($x, 'xdotool', 'key', $key); return wait_until($done, 1) });
}

sub noted {
	my ($key, $words, $what) = @_;
	ok key_until($key, sub { words() eq $words }), $what
		or diag(words(), "\n", slurp($x->dir . '/clients.log'));
	return;
}

# The question about the episode; its window.
sub ask {
	{
		local @ENV{qw(TIPME_BUILDDIR HOME PATH TZ)} = ($public, $x->dir, "$public/bin", 'UTC');
		delete local @ENV{qw(DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR)};
		$x->spawn("$public/helper/agent/tipme-dialog", '--timeout', 0, $path);
	}
	return wait_until(\&window) || BAIL_OUT('no question: ' . slurp($x->dir . '/clients.log'));
}

$x->spawn('openbox');
wait_until(sub { command($x, qw(xprop -root _NET_SUPPORTING_WM_CHECK)) =~ /window id/ });
my $w = ask();
picture('question-first');

# Its first line: a click there chooses nothing. Where it is has to be asked for each time: what is
# shown in it makes it larger, and smaller again.
sub click_first_line {
	my ($left, $top) =
		command($x, 'xdotool', 'getwindowgeometry', '--shell', window()) =~ /X=(-?\d+)\nY=(-?\d+)/;
	command($x, 'xdotool', 'mousemove', $left + 200, $top + 20, 'click', 1);
	return;
}
click_first_line();
wait_until(sub { command($x, 'xdotool', 'getwindowfocus') == $w });
noted('alt+t', 'Typing was slow', 'a choice is saved at once');
ok window(), '... and the question stays';
picture('question-saved');
noted('alt+u', '',           '... and can be taken back');
noted('alt+y', $sentence[0], 'the cause is taken over by a click');
picture('question-yes');
my $plain = height();
# Twice, as the impatient do: one list comes, which goes for good when one of it is chosen.
command($x, 'xdotool', 'key', 'alt+n', 'key', 'alt+n');
ok key_until('alt+n', sub { height() > $plain }), 'another moment: a list';
picture('question-moments');
like words(), qr/after 600 ms/, '... changes nothing yet';
my ($moment) = map { $_->{words} } grep { $_->{n} == 4 } @{ Cpanel::JSON::XS->new->decode(
		($d->run('env', 'TZ=UTC', tipme(), 'events', $path, '--slowest', '--json'))[1]
	)->{slowest}
};
like $moment, qr/\d\d:\d\d:\d\d: a key press in xterm, 250 ms$/, '... by the clock';

sub meant {
	my ($rc, $out) = $d->run(tipme(), 'diagnose', $path, '--json');
	return Cpanel::JSON::XS->new->decode($out)->{verdict}{sentence};
}
noted('alt+2', "It was $moment", 'one of them is chosen: the note says which');
ok wait_until(sub { meant() eq $sentence[1] }), '... and all verbs go by it from now on';
sleep 1;
is height(), $plain, '... and the list does not come again';
noted('alt+u', $sentence[0], '... until that is taken back');
ok wait_until(sub { meant() eq $sentence[0] }),   '... by all verbs, too';
ok key_until('alt+n', sub { height() > $plain }), '... and asked for again';
noted('alt+2', "It was $moment", '... chosen again');
noted('alt+y', $sentence[1],     '... and it is that one that is explained now');

ok key_until('alt+w', sub { height() > $plain }), 'why: in place';
picture('question-why');
my $text = height();
ok key_until('alt+n', sub { height() > $plain && height() < $text }),
	'another moment instead of it: one at a time';
ok key_until('alt+w', sub { height() == $text }),  'why once more';
ok key_until('alt+w', sub { height() == $plain }), '... and away again';
my $home = $x->dir;
ok key_until('alt+r', sub { height() > $plain }), 'a report: what goes into it';
ok !(glob "$home/*.tipme"),                       '... and nothing is written yet';
sleep 2;
picture('question-report');
ok key_until('alt+v', sub { glob "$home/tipme-xterm-*.tipme" }), '... until that is wished for';
my ($report) = glob "$home/tipme-xterm-*.tipme";
like + ($d->run(tipme(), 'open', $report, '-o', $d->dir . '/opened'))[1], qr/after\s+250 ms/,
	'... about the moment that was meant';
command($x, 'xdotool', 'key', 'alt+r');
wait_until(sub { height() == $plain });

# No recorder: said, one is started at a click, and the words follow by themselves.
$d->stop;
system('chown', '-R', "$nobody:$group", $d->rundir) == 0 or die "chown\n";
command($x, 'xdotool', 'key', 'alt+k');
sleep 1;
picture('question-alone');
is words(), $sentence[1], 'without a recorder nothing is saved';
ok key_until('alt+s', sub { words() eq "Nothing happened when I clicked; $sentence[1]" }),
	'a recorder is started: saved'
	or diag(words());
picture('question-started');
is + ($d->run(tipme(), 'stop'))[0], 0, '... which runs';
system('chown', '-R', '0', $d->rundir) == 0 or die "chown\n";
is + ($d->start)[0], 0, 'another one takes its place' or BAIL_OUT('no recorder');
click_first_line();
ok wait_until(
	sub {
		command($x, 'xdotool', 'key', 'Escape');
		wait_until(sub { !window() }, 2);
	}
	),
	'Escape closes it';
like words(), qr/^Nothing happened when I clicked; /, '... and what was said stays';

# The short questions: who says that everything stood still is asked more, and tipme heeds it.
sub felt { return -e "$path/felt.txt" ? slurp("$path/felt.txt") : '' }
is + ($d->run(tipme(), 'diagnose', $path, '--forget'))[0], 0, 'the moment is forgotten';
$w = ask();
click_first_line();
wait_until(sub { command($x, 'xdotool', 'getwindowfocus') == $w });
noted('alt+e', 'Everything stood still', 'everything stood still');
ok wait_until(sub { felt() eq "all\n" }), '... the episode has that in a word';
my $asked = wait_until(sub { height() > $plain && height() }) // 0;
ok $asked, '... and more is asked';
noted('alt+m', 'Everything stood still; The pointer still moved', 'the pointer moved');
noted(
	'alt+a', 'Everything stood still; The pointer still moved; It comes again and again',
	'it comes again and again'
);
ok wait_until(sub { felt() eq "all,pointer-moved,again\n" }), '... all in words of ours';
picture('question-felt');
noted('alt+u', 'Everything stood still; The pointer still moved', '... which can be taken back');
ok wait_until(sub { felt() eq "all,pointer-moved\n" }), '... there, too';
noted('alt+t', 'Typing was slow', 'not everything, but typing: nothing is left of the pointer');
ok wait_until(sub { height() < $asked }),    '... nor asked for it';
ok wait_until(sub { felt() eq "typing\n" }), '... and the episode knows';
is meant(), $sentence[0], '... and the verdict is about a key';
$d->stop;
$x->stop;
done_testing;
