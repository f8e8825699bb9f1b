#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Nothing that a client draws differs under the hooks: the windows of x11perf's tests, and of a
# scripted session of a toolkit, have the same pictures, and the server answers with as many errors,
# with and without them. A sample, or all tests with TIPME_TEST_ALL=1.
use strict;
use warnings;
use Digest::MD5 qw(md5_hex);
use FindBin     qw($Bin);
use lib "$Bin/lib";
use Test::More;
use Live;
use XClient;

need(qw(Xorg x11perf));
my $shim = build('test/.libs/window-hash.so');
plan skip_all => 'the hash of windows was not built' if !-r $shim;
my @sample =
	qw(noop rect10 seg100 circle10 ftext aa10text copywinwin10 copypixwin100 putimage10 scroll100 gc
	popup);
my @tests =
	$ENV{TIPME_TEST_ALL} ? grep { !/^(?:create|ucreate|map|unmap|destroy)$/ } all_tests() : @sample;
note scalar(@tests), ' tests of x11perf';

my %picture_of;
my %server = (
	off => Tipme::Display->new(kind => 'Xorg'),
	on  => Tipme::Display->new(kind => 'Xorg', hooks => hooks(), rundir => '/nonexistent')
);
for my $test (@tests) {
	my %seen = map { $_ => x11perf($server{$_}, $test) } qw(off on);
	$picture_of{$test} = $seen{off};
	my $again = $seen{off} eq $seen{on} ? '' : x11perf($server{off}, $test);
SKIP: {
		skip "$test: not the same twice even without hooks", 1
			if $again ne '' && $again ne $seen{off};
		is($seen{on}, $seen{off}, "$test: the same picture") or next;
		skip "$test: x11perf itself does not run it on this screen", 1
			if $seen{off} =~ /^no window/;
		like(
			$seen{on}, qr/^(?:\d+x\d+ [0-9a-f]{16}\n)+0 errors$/,
			"$test: of windows that were seen, and no error"
		);
	}
}
my %different = map { $_ => 1 } values %picture_of;
# Many draw too little to be told apart after two repetitions.
cmp_ok(scalar keys %different, '>', @tests / 6, 'the pictures of different tests differ');

SKIP: {
	skip 'Tk is not installed', 2 if !grep { -x "$_/wish" } split /:/, $ENV{PATH};
	my %picture = map { $_ => tk_session($server{$_}) } qw(off on);
	is($picture{on}, $picture{off}, 'a session of Tk ends with the same picture of the screen');
	unlike($picture{on}, qr/^empty/, 'which is not empty');
}
undef $_->{typist} for values %server;
$server{$_}->stop  for keys %server;
done_testing();

sub all_tests {
	return map { /^\s+-([a-z0-9]+)\s{2,}/ ? $1 : () } split /\n/,
		((qx(x11perf -help 2>&1) =~ /(-dot\s.*)/s)[0] // '');
}

# What the windows showed when they went, and how many errors there were.
sub x11perf {
	my ($x, $test) = @_;
	my $hashes = $x->dir . '/hashes';
	unlink $hashes;
	local %ENV = (%ENV, $x->env, LD_PRELOAD => $shim, TIPME_TEST_HASHES => $hashes);
	my $out    = qx(x11perf -repeat 1 -reps 2 -subs 25 -$test 2>&1);
	my $errors = () = $out =~ /X Error/g;
	open my $in, '<', $hashes or return "no window\n$errors errors";
	return join('', <$in>) . "$errors errors";
}

# Widgets, keys that are typed into them, a picture that changes; nothing that blinks. It says when
# it can be typed into, and when all that was typed is to be seen.
sub tk_session {
	my ($x) = @_;
	my ($script, $ready, $done) = map { $x->dir . "/$_" } qw(session.tcl ready done);
	open my $out, '>', $script or die "$script: $!";
	print {$out} <<'TCL';
wm geometry . 1200x760+0+0
wm overrideredirect . 1
entry .e -insertofftime 0 -font fixed -textvariable typed
text .t -insertofftime 0 -font fixed -width 60 -height 20
canvas .c -width 400 -height 300 -background white
button .b -text press -command { .t insert end "pressed\n" }
pack .e .t .c .b
for {set i 0} {$i < 60} {incr i} { .c create line [expr 6*$i] 0 [expr 390-5*$i] 290 -fill [lindex {red blue green4} [expr $i%3]] -width [expr 1+$i%4] }
.t insert end [string repeat "some text in many lines\n" 40]
proc say {path} { update; winfo pointerxy .; close [open $path w] }
proc finish {} { for {set i 0} {$i < 30} {incr i} { .t yview scroll 1 units; .c move all 1 1; update }; .b invoke; say [lindex $::argv 1] }
trace add variable typed write { if {$::typed eq "hello world"} { after idle finish } ;# }
bind .e <FocusIn> { bind .e <FocusIn> {}; after idle { say [lindex $argv 0] } }
tkwait visibility .
focus -force .e
TCL
	close $out;
	my $pid = $x->spawn('wish', $script, '--', $ready, $done);
	await(sub { -e $ready });
	$x->{typist} = Tipme::Typist->new(socket => $x->keyboard);
	$x->{typist}->type('hello world');
	$x->{typist}->sync;
	await(sub { -e $done });
	my $c = XClient->new($x);
	my ($Z_PIXMAP, $ALL_PLANES) = (2, 0xffffffff);
	$c->request(
		XClient::GET_IMAGE, $Z_PIXMAP, $c->root,
		\$c->pack('ssSSL', 0, 0, 1200, 760, $ALL_PLANES)
	);
	my $image = substr $c->reply, 32;
	kill 'TERM', $pid;
	waitpid $pid, 0;
	return (!-e $done ? 'empty, for it has not ended ' : $image =~ /\A(.{4})\1*\z/s ? 'empty ' : '')
		. md5_hex($image);
}
