#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A browser under the hooks for some time (TIPME_TEST_SECONDS, default 120): it scrolls, draws,
# makes and removes elements, and is typed into; the picture at the end is the same as without
# hooks, the server's memory grows no more, and the ring says that nothing was lost.
use strict;
use warnings;
use Digest::MD5 qw(md5_hex);
use FindBin     qw($Bin);
use lib "$Bin/lib";
use Test::More;
use Time::HiRes qw(sleep time);
use Live;
use XClient;

plan skip_all => 'takes minutes: set TIPME_TEST_ALL=1' if !$ENV{TIPME_TEST_ALL};
need(qw(Xorg firefox-esr));
my $SECONDS = $ENV{TIPME_TEST_SECONDS} // 120;
my $RING_KB = 6 * 1024;
my $peer    = peer_start(rundir());
my %side    = map { $_ => browse($_) } qw(off on);
# Both at once, so that whatever else this machine does is the same for both.
my $half = time + $SECONDS / 2;
drive() while time < $half;
$_->{half_kb} = rss_kb($_->{x}->pid) for values %side;
my $end = time + $SECONDS / 2;
drive() while time < $end;
$_->{end_kb} = rss_kb($_->{x}->pid) for values %side;
# Return asks the page to come to its end.
for my $s (values %side) { $s->{keys}->key('Return'); $s->{keys}->sync }
sleep 5;
my %picture = map { $_ => picture($side{$_}{x}) } qw(off on);
unlike($picture{on}, qr/^empty/, 'the page has been drawn');
is($picture{on}, $picture{off}, 'and ends with the same picture');
for my $which (qw(off on)) {
	my $s = $side{$which};
	ok(
		$s->{x}->alive && waitpid($s->{pid}, POSIX::WNOHANG()) == 0,
		"$which: the server and the browser live"
	);
	$s->{grown_kb} = $s->{end_kb} - $s->{half_kb};
	note "$which: server $s->{half_kb} KB at half time, $s->{end_kb} KB at the end";
}
cmp_ok(
	$side{on}{grown_kb}, '<', $side{off}{grown_kb} + 1024,
	'the server with hooks grows no more in the second half than the other'
);
cmp_ok(
	$side{on}{end_kb}, '<', $side{off}{end_kb} + $RING_KB + 4096,
	'and is larger by its rings only'
);
my @r      = records($peer, 0);
my $header = pop @r;
is($header->{lost}, 0, "nothing was lost of $header->{head} records");
cmp_ok($header->{head}, '>', 1000, 'and there was much to record');
my $errors = () =
	slurp($side{on}{x}->dir . '/clients.log') =~ /X Error|BadWindow|BadDrawable|BadMatch|BadValue/g;
is(
	$errors,
	() =
		slurp($side{off}{x}->dir . '/clients.log') =~
		/X Error|BadWindow|BadDrawable|BadMatch|BadValue/g, "as many X errors: $errors"
);

for my $s (values %side) {
	kill 'TERM', -$s->{pid}, $s->{pid};
	waitpid $s->{pid}, 0;
	delete $s->{keys};
	$s->{x}->stop;
}
done_testing();

sub slurp {
	my ($path) = @_;
	open my $in, '<', $path or return '';
	local $/;
	return scalar <$in> // '';
}

sub rss_kb {
	my ($pid) = @_;
	return slurp("/proc/$pid/status") =~ /^VmRSS:\s*(\d+)/m ? $1 : die "no memory of $pid";
}

sub browse {
	my ($which) = @_;
	my $x = Tipme::Display->new(
		kind => 'Xorg',
		$which eq 'on' ? (hooks => hooks(), rundir => $peer->{dir}) : ()
	);
	my $dir = rundir();
	mkdir "$dir/profile";
	page("$dir/page.html");
	prefs("$dir/profile/user.js");
	chown((getpwnam 'nobody')[ 2, 3 ], $dir, "$dir/profile") if $> == 0;
	my $pid = $x->spawn(
		'env',                     "HOME=$dir", "XDG_RUNTIME_DIR=$dir", 'MOZ_ENABLE_WAYLAND=0',
		'LIBGL_ALWAYS_SOFTWARE=1', 'nice', '-n', 10, 'firefox-esr', '--profile', "$dir/profile",
		'--kiosk',                 "file://$dir/page.html"
	);
	sleep 12;
	return { x => $x, pid => $pid, keys => Tipme::Typist->new(socket => $x->keyboard) };
}

sub drive {
	for my $s (values %side) { $s->{keys}->key($_) for qw(a b); $s->{keys}->sync }
	sleep 0.5;
	return;
}

sub picture {
	my ($x) = @_;
	my $c = XClient->new($x);
	$c->request(XClient::GET_IMAGE, 2, $c->root, \$c->pack('ssSSL', 0, 0, 1280, 800, 0xffffffff));
	my $image = substr $c->reply, 32;
	# The page has forty colours.
	my %color = map { $_ => 1 } unpack '(a4)*', $image;
	return (keys %color < 40 ? 'empty ' : '') . md5_hex($image);
}

# Nothing is asked of the network, nothing pops up.
sub prefs {
	my ($path) = @_;
	my %pref = (
		'browser.shell.checkDefaultBrowser'          => 'false',
		'datareporting.policy.dataSubmissionEnabled' => 'false', 'app.update.enabled' => 'false',
		'browser.aboutwelcome.enabled'               => 'false',
		'network.captive-portal-service.enabled'     => 'false', 'ui.caretBlinkTime' => 0,
		'network.dns.disabled'                       => 'true',
		'browser.tabs.firefox-view' => 'false', 'toolkit.cosmeticAnimations.enabled' => 'false',
		'full-screen-api.warning.timeout' => 0
	);
	open my $out, '>', $path or die "$path: $!";
	print {$out} map {"user_pref(\"$_\", $pref{$_});\n"} sort keys %pref;
	close $out;
	return;
}

# What it shows in the end depends on nothing that went before but that it was asked to end.
sub page {
	my ($path) = @_;
	open my $out, '>', $path or die "$path: $!";
	print {$out} <<'HTML';
<!doctype html><meta charset="utf-8"><title>tipme</title>
<style>body { font: 14px sans-serif; margin: 8px; background: #fff } li { color: #246 } canvas { border: 1px solid }</style>
<canvas id="c" width="600" height="300"></canvas><ul id="l"></ul>
<script>
let n = 0, ended = false;
const c = document.getElementById("c").getContext("2d"), l = document.getElementById("l");
function draw(k) {
	c.fillStyle = "#fff"; c.fillRect(0, 0, 600, 300);
	for (let i = 0; i < 40; i++) { c.fillStyle = `hsl(${(9 * i + k) % 360} 80% 50%)`; c.fillRect((15 * i + k) % 600, (7 * i + 2 * k) % 300, 30, 20); }
}
function rows(k, count) { l.textContent = ""; for (let i = 0; i < count; i++) { const li = document.createElement("li"); li.textContent = `row ${i + k}: some words`; l.append(li); } }
function step() {
	if (ended) return;
	n++; draw(n); if (n % 20 == 0) rows(n, 80); window.scrollTo(0, 5 * n % 600);
	requestAnimationFrame(step);
}
addEventListener("keydown", e => { if (e.key == "Enter") { ended = true; draw(0); rows(0, 20); window.scrollTo(0, 0); } });
rows(0, 80); requestAnimationFrame(step);
</script>
HTML
	close $out;
	chmod 0644, $path;
	return;
}
