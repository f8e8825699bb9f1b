#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A new user's first day, as docs/first-day.md tells it: on a real Xorg under a window manager, in
# the session of an ordinary user. Started, a terminal that hangs, the hot-key, the question, the
# verdict, the end; with TIPME_TEST_ALL from installed files, and another moment, a report, a
# bundle, too. What is said on the way is what that page shows.
# TIPME_TEST_PICTURES=FOLDER keeps the texts and pictures of the screen (.xwd).
use strict;
use warnings;
use FindBin;
use lib map {"$FindBin::Bin/../$_"}
	qw(helper/test/lib helper/demo postmortem/lib abi/lib abi/generated);
use Cpanel::JSON::XS ();
use Test::More;
use Time::HiRes qw(sleep);
use Tipme::Display;
use Tipme::Phrases    qw(phrases);
use Tipme::TestAgent  qw(command press public);
use Tipme::TestDaemon qw(own_run slurp tipmed wait_until);

my ($BUILD, $SRC, $ALL) = @ENV{qw(TIPME_BUILDDIR TIPME_SRCDIR TIPME_TEST_ALL)};
plan skip_all => 'not root: recording the whole machine needs it' if $>;
plan skip_all => 'the question is not built here'
	if !-x "$BUILD/helper/agent/tipme-dialog" || !-x tipmed();
my $hooks = Tipme::Display::find_hooks() or plan skip_all => 'the hooks are not built here';
plan skip_all => 'no Xorg here' if !Tipme::Display::find_server('Xorg');
for my $program (qw(xterm xdotool openbox xprop xwd xwininfo)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
own_run() or plan skip_all => 'no mount namespaces here';
my ($CTRL, $ALT, $MINUS) = (37, 64, 20);
my ($SHORT_S, $LONG_S) = (0.5, 0.9);

my ($nobody, $group) = (getpwnam 'nobody')[ 2, 3 ];
my $d = Tipme::TestDaemon->new(args => [ '--owner', $nobody ]);
delete @ENV{
	qw(TIPME_RUNDIR XDG_CONFIG_HOME XDG_DATA_HOME DBUS_SESSION_BUS_ADDRESS WAYLAND_DISPLAY DISPLAY)
};
my $x = Tipme::Display->new(kind => 'Xorg', rundir => '/run/tipme', hooks => $hooks);
my ($public, $home) = (public($d->dir), $d->dir . '/home');
mkdir $home, 0700 or die "$home: $!\n";
chown $nobody, $group, $home or die "$home: $!\n";
my $pictures = $ENV{TIPME_TEST_PICTURES};

# The service is the system's: of systemd there is only what asks for it; we start it, as that
# would.
mkdir $_ or die "$_: $!\n" for '/run/systemd', '/run/systemd/system', "$public/bin";
spew("$public/bin/systemctl", "#!/bin/sh\necho \"\$@\" >>'$home/systemctl'\n");
chmod 0755, "$public/bin/systemctl";

my $installed = $ALL && install();
my $program   = $installed ? "$installed/bin/tipme" : "$public/helper/cli/tipme";
my @user      = (
	'setpriv', '--clear-groups', "--reuid=$nobody", "--regid=$group", 'env', '-u', 'PERL5LIB',
	$installed ? (map { ('-u', $_) } qw(TIPME_BUILDDIR TIPME_SRCDIR)) : (),
	"HOME=$home",     "XDG_RUNTIME_DIR=$home", "PATH=$public/bin:$ENV{PATH}", 'TZ=UTC',
	'LC_ALL=C.UTF-8', $installed ? () : ("TIPME_BUILDDIR=$public", "TIPME_SRCDIR=$public")
);
my $page = slurp("$SRC/docs/first-day.md");

sub spew {
	my ($file, $text) = @_;
	open my $h, '>', $file or die "$file: $!\n";
	print {$h} $text;
	close $h or die "$file: $!\n";
	return;
}

# install(): into a layer over the machine's own files, which is gone with our mounts; where, or
# nothing
sub install {
	my ($prefix) = slurp("$BUILD/Makefile") =~ m{^prefix = (/usr(?:/local)?)$}m or return;
	for my $folder ('/usr', '/etc') {
		my $layer = '/run/layer' . $folder =~ tr{/}{-}r;    # which goes with our mounts
		my $mount =
			  "mkdir $layer && mount -t tmpfs tmpfs $layer && mkdir $layer/up $layer/work && "
			. "mount -t overlay -o lowerdir=$folder,upperdir=$layer/up,workdir=$layer/work "
			. "overlay $folder";
		if (system($mount) != 0) { diag("no layer over $folder"); return }
	}
	my $log = $d->dir . '/install.log';
	is system("make -C '$BUILD' install >'$log' 2>&1"), 0, 'installed' or diag(slurp($log));
	return $prefix;
}

sub picture {
	my ($name) = @_;
	command($x, 'sh', '-c', "xwd -root -silent >'$pictures/first-day-$name.xwd'") if $pictures;
	return;
}

# tipme(VERB ...): what it prints for the user, in their session; it has no complaints
sub tipme {
	my (@verb) = @_;
	local %ENV = (%ENV, $x->env);
	my ($rc, $out, $err) = $d->run(@user, $program, @verb);
	is $rc,  0,  "tipme @verb" or diag $out . $err;
	is $err, '', '... has no complaint';
	if ($pictures) {
		open my $h, '>>', "$pictures/first-day.txt" or die "$!\n";
		print {$h} "\$ tipme @verb\n$out\n";
		close $h;
	}
	return $out;
}

# Numbers, folders and names of the page's own day stand for those of this one.
sub shape {
	my ($text) = @_;
	$text        =~ s{/\S+/(?=library|home)}{/}g;
	$text        =~ s{/var/lib/tipme/\d+}{/library}g;
	$text        =~ s/\d+(?:[.,]\d+)*/0/g;
	return $text =~ s/\s+/ /gr;
}

# on_page(TEXT): each line of it is told there
sub on_page {
	my ($text)  = @_;
	my $told    = shape($page);
	my @missing = grep { /\S/ && index($told, shape($_) =~ s/\A | \z//gr) < 0 } split /\n/, $text;
	is "@missing", '', '... and docs/first-day.md tells it' or diag join "\n", @missing;
	return;
}

sub windows {
	my ($name) = @_;
	return split /\n/,
		command($x, 'sh', '-c', "xdotool search --onlyvisible --name '$name' 2>/dev/null");
}
sub question { return (windows('what happened'))[0] }

sub place {
	my ($w) = @_;
	return command($x, qw(xdotool getwindowgeometry --shell), $w) =~
		/X=(-?\d+)\nY=(-?\d+)\nWIDTH=(\d+)\nHEIGHT=(\d+)/;
}
sub height { my $w = question() or return 0; return (place($w))[3] // 0 }
sub width  { my $w = question() or return 0; return (place($w))[2] // 0 }

# Until it has an effect: what is looked up comes later.
sub key_until {
	my ($key, $done) = @_;
	return wait_until(sub { command($x, 'xdotool', 'key', $key); return wait_until($done, 3) });
}

sub into_question {
	my $w = wait_until(\&question) or BAIL_OUT('no question: ' . slurp($x->dir . '/clients.log'));
	my ($left, $top) = place($w);
	command($x, 'xdotool', 'mousemove', $left + 200, $top + 20, 'click', 1);
	wait_until(sub { command($x, qw(xdotool getwindowfocus)) == $w });
	return;
}

# In the order of their presses.
sub episodes {
	my %ns = map { $_ => json("$_/manifest.json")->{trigger}{ns} }
		grep { -e "$_/manifest.json" } glob $d->library . '/[0-9]*';
	return sort { $ns{$a} <=> $ns{$b} } keys %ns;
}
sub json { return Cpanel::JSON::XS->new->decode(slurp($_[0])) }

sub words_of {
	my ($n) = @_;
	my $file = ((episodes())[$n] // '/none') . '/note.txt';
	return -e $file ? slurp($file) : '';
}

# --- the session: a window manager, and a terminal in which somebody writes ---
$x->spawn('openbox');
wait_until(sub { command($x, qw(xprop -root _NET_SUPPORTING_WM_CHECK)) =~ /window id/ })
	or BAIL_OUT('no window manager');
my $typed = $x->dir . '/typed';
my $xterm = $x->spawn(
	'xterm', '-T', 'letter', '-fa', 'Monospace', '-fs', 11, '-geometry', '80x20+60+60',
	'-e',    'sh', '-c',     "cat >'$typed'"
);
wait_until(sub { windows('letter') }) or BAIL_OUT('no terminal');
sub back_to_letter { command($x, 'xdotool', 'mousemove', 300, 200, 'click', 1); return }

sub hang {
	my ($s) = @_;
	kill 'STOP', $xterm;
	command($x, 'xdotool', 'key', 'x');
	sleep $s;
	kill 'CONT', $xterm;
	sleep 0.5;
	return;
}

# --- one command ---
is + ($d->start)[0], 0, 'the service' or BAIL_OUT('no recorder');
on_page(tipme('start', '--always'));
is slurp("$home/systemctl"), "--quiet enable --now tipmed.service\n",
	'the service is asked for, now and at each start of the machine';
ok wait_until(sub { @{ $d->status->{agents} // [] } }), 'the agent has joined the recorder';
back_to_letter();
ok wait_until(
	sub {
		command($x, 'xdotool', 'type', 'Dear Ada,');
		command($x, 'xdotool', 'key',  'Return');
		wait_until(sub { -e $typed && slurp($typed) =~ /Ada/ }, 1);
	}
	),
	'somebody writes a letter';

# --- the terminal hangs; the hot-key ---
hang($LONG_S);
command($x, 'xdotool', 'type', 'it hung');
press($x, $CTRL, $ALT, $MINUS);
ok wait_until(sub { windows('^tipme$') }), 'the press was heard: said at once';
picture('heard');
into_question();
picture('asked');
ok key_until('alt+y', sub { words_of(0) }), 'the question: yes, that was it'
	or diag(tipme('diagnose'));
like words_of(0),
	qr/^xterm \(pid $xterm\) answered a key press after (?:\d+ ms|[\d.]+ s), .*stopped/,
	'... which is the cause';
picture('question');
ok key_until('Escape', sub { !question() }), '... and closed';
my $diagnosed = tipme('diagnose');
like $diagnosed, qr/\Axterm \(pid $xterm\) answered a key press after/,
	'... the verdict in the terminal';
like $diagnosed =~ s/\s+/ /gr, qr/before you pressed the hot-key/, '... and when it was';
like $diagnosed,               qr/^Ask: (?:.*\n)+?Next: /m, '... whom to ask, and what to do';

twice() if $ALL;

# It hangs twice more; it was the shorter time that was meant. Then somebody else is to know.
sub twice {
	back_to_letter();
	hang($SHORT_S);
	hang($LONG_S);
	press($x, $CTRL, $ALT, $MINUS);
	into_question();
	# The cause may take a line or two more than is kept free; a list takes more than that. A text
	# is wider than all else.
	my $first = height();
	my $list  = sub { height() > $first + 90 };
	my $text  = sub { width() > 600 };
	ok key_until('alt+n', $list), 'no, another moment: the slowest';
	picture('moments');
	ok key_until('alt+2', sub { words_of(1) }), '... the second of them';
	like words_of(1), qr/^It was \d\d:\d\d:\d\d: a key press in xterm, \d+ ms$/,
		'... is in the words';
	my $last = (episodes())[1];
	my ($ms) = words_of(1) =~ /(\d+) ms/;
	ok wait_until(
		sub {
			my (undef, $out) = $d->run(@user, $program, 'diagnose', $last, '--json');
			my $j = Cpanel::JSON::XS->new->decode($out);
			$j->{meant} && int($j->{interval}{duration_ns} / 1e6 + 0.5) == $ms;
		}
		),
		'... every verb is about that moment now';
	ok key_until('alt+w', $text), 'why?';
	sleep 2;
	picture('why');
	my ($top) = command($x, qw(xwininfo -id), question()) =~ /Absolute upper-left Y: +(-?\d+)/;
	ok defined $top && $top >= 0 && $top + height() <= 800, '... its buttons are on the screen'
		or diag("$top, and " . height() . ' high');
	ok key_until('alt+w', sub { !$text->() }), '... read';

	ok key_until('alt+r', $text), 'a report: shown first';
	wait_until(
		sub {
			command($x, 'xdotool', 'key', 'alt+v');
			return wait_until(sub { glob "$home/tipme-xterm-*.tipme" }, 1);
		}
	);
	my ($file) = glob "$home/tipme-xterm-*.tipme";
	ok $file, '... saved when that is wished for';
	sleep 1;
	picture('report');
	ok key_until('Escape', sub { !question() }), '... closed';
	my $opened = tipme('open', $file, '-o', "$home/opened");
	like $opened =~ s/\s+/ /gr, qr/after $ms ms/, 'the receiver reads of the same moment';
	my @rows = tipme('list') =~ /^\d{8}-\d{6}-[0-9a-f]{4} .*$/mg;
	is scalar(@rows), 2, 'two episodes in the list';
	like $rows[0], qr/ $ms ms +xterm/, '... the newest first, of the moment that was meant';
	my $bundled = tipme('bundle', '--yes', '-o', "$home/second.tipme");
	like $bundled =~ s/\s+/ /gr, qr/after $ms ms.* written, /, 'a bundle in the terminal';
	return;
}

# --- enough ---
on_page(tipme('stop', '--for-good'));
like slurp("$home/systemctl"), qr/^--quiet disable --now tipmed\.service$/m,
	'the service is ended, for good';
my @entries = glob "$home/.config/autostart/*";
is_deeply [ grep { slurp($_) !~ /^Hidden=true$/m } @entries ], [],
	'... and nothing is started at login';
# What the agent and the question say stands in one table, and on the page.
my %phrase = phrases();
for my $name (
	qw(saving_last saved_at looking probable_cause when yes no which none_of_these doing own_words
	typing clicking scrolling testing saved_words undo undone why report report_save report_saved
	close not_recording start_recording slow_saved details)
	)
{
	my $text  = $phrase{$name};
	my @parts = grep { length > 3 || $_ eq $text } map {s/\A\s+|\s+\z//gr} split /\{\w+\}/, $text;
	ok !(grep { index($page, $_) < 0 } @parts), "docs/first-day.md tells of: $text";
}
$d->stop;
$x->stop;
done_testing;
