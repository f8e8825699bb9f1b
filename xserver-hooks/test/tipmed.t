#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# With the real recorder: the hot-key pressed as a key saves an episode that holds the server's
# records; so does a server that hangs.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib", "$Bin/../../helper/test/lib";
use JSON::PP;
use Test::More;
use Time::HiRes qw(sleep);
use Live;
use XClient;

plan skip_all => 'only root can record: run it as root' if $> != 0;
need(qw(Xorg Xvfb xterm));
$ENV{TIPME_SRCDIR}   //= "$Bin/../..";
$ENV{TIPME_BUILDDIR} //= "$Bin/../..";
require Tipme::TestDaemon;
plan skip_all => 'the recorder is not built' if !-x Tipme::TestDaemon::tipmed();
my $nobody = (getpwnam 'nobody')[2] // 65534;
my $daemon = Tipme::TestDaemon->new(args => [ '--allow-uid', $nobody, '--post', 1 ]);
my ($status, $out, $err) = $daemon->start('--window', 10, '--rate', 20000);
plan skip_all => "this kernel cannot be recorded here: $err" if $status;

my $x     = Tipme::Display->new(kind => 'Xorg', hooks => hooks(), rundir => $daemon->rundir);
my $keys  = Tipme::Typist->new(socket => $x->keyboard);
my $xterm = xterm($x, 'cat');
ok(wait_servers(1), 'tipmed has the server\'s ring');
my $onlooker = XClient->new($x);
my $blank    = picture($onlooker);
my ($stroke) = $keys->type('k');
ok(await(sub { picture($onlooker) ne $blank }), 'a key shows on the screen');
my $chord   = $keys->chord('Ctrl+Alt+minus');
my $episode = Tipme::TestDaemon::wait_until(
	sub {
		(grep { -e "$_/manifest.json" } glob $daemon->library . '/*')[0];
	}
);
ok($episode, 'the hot-key saves an episode') or BAIL_OUT('no episode');
my $manifest = decode_json(Tipme::TestDaemon::slurp("$episode/manifest.json"));
is($manifest->{trigger}{kind}, 'hotkey', 'which says so');
cmp_ok($manifest->{trigger}{ns}, '>', $chord->{press_ns}, 'after the key went down');
my ($source) = grep { $_->{source} eq 'x_hooks' } @{ $manifest->{sources} };
is_deeply(
	[ @$source{qw(file server_pid server_name)} ],
	[ 'x-' . $x->pid . '.rec', $x->pid, 'Xorg' ], 'it has the server\'s records'
);
is_deeply([ grep { $source->{lost}{$_} } keys %{ $source->{lost} } ], [], 'all of them');
my @r = of("$episode/$source->{file}");
my ($press) = grep { $_->{ts_ns} >= $stroke->{press_ns} }
	only(\@r, 'x_device', kind => 'key_press', is_master => 0);
ok($press, 'the key that was typed');
ok(
	scalar only(
		\@r, 'x_deliver', kind => 'key_press', input_seq => $press->{input_seq}, pid => $xterm
	),
	'its delivery to xterm'
);
ok(
	(grep { $_->{ts_ns} > $press->{ts_ns} } only(\@r, 'x_damage', pid => $xterm)),
	'and what xterm made of it'
);
is(scalar only(\@r, 'x_chord'), 1, 'and the hot-key');
my $server_ran = () =
	grep { $_->{type} eq 'sched_switch' && $_->{next_tid} == $x->pid } of("$episode/kernel.rec");
cmp_ok($server_ran, '>', 0, 'the kernel\'s records know the same server');

# A server that does not answer: it is stopped in the middle of a request.
my $v = Tipme::Display->new(kind => 'Xvfb', hooks => hooks(), rundir => $daemon->rundir);
ok(wait_servers(2), 'a second server is there');
my $c = XClient->new($v);
my ($w) = $c->window(width => 1000, height => 700);
my ($LINE_WIDTH, $LINE_STYLE, $DASHES, $ON_OFF_DASH) = (1 << 4, 1 << 5, 1 << 21, 1);
my $gc = $c->id;
$c->request(
	XClient::CREATE_GC, 0, $gc, $w, $LINE_WIDTH | $LINE_STYLE | $DASHES, 200, $ON_OFF_DASH,
	1
);
$c->sync;
my $idle = ticks($v->pid);
$c->request(
	XClient::POLY_ARC, 0, $w, $gc,
	map { \$c->pack('ssSSss', $_, $_, 600, 500, 0, 360 * 64) } 1 .. 40
);
# It has been busy for a tenth of a second: with what else?
ok(await(sub { ticks($v->pid) >= $idle + 10 }), 'the server is at work');
kill 'STOP', $v->pid;
($status, $out, $err) = $daemon->snap('-m', 'the server hangs');
is($status, 0, 'an episode is saved while the server is stopped') or diag $err;
my ($hung) = $out =~ m{(/\S+)\s*\z};
@r = of("$hung/x-" . $v->pid . '.rec');
my ($open) = only(\@r, 'x_request', count => 0);
is_deeply(
	$open && [ @$open{qw(pid major)} ], [ $$, XClient::POLY_ARC ],
	'it shows the request that the server hangs in, and whose it is'
);
kill 'CONT', $v->pid;
# The request ends some time: on a machine that has other work, after more seconds than a server has
# to end in.
$c->request(XClient::GET_INPUT_FOCUS, 0);
eval { $c->reply(300); 1 } or diag "the request does not end: $@";
undef $keys;
$_->stop for $x, $v;
is(($daemon->stop)[0], 0, 'the recorder ends');
done_testing();

sub wait_servers {
	my ($count) = @_;
	return Tipme::TestDaemon::wait_until(sub { @{ $daemon->status->{x_servers} // [] } >= $count });
}

# What is seen where xterm has its first line.
sub picture {
	my ($client) = @_;
	$client->request(
		XClient::GET_IMAGE, 2, $client->root,
		\$client->pack('ssSSL', 0, 0, 400, 40, 0xffffff)
	);
	return substr $client->reply, 32;
}

sub ticks {
	my ($pid) = @_;
	my @f = split ' ', (Tipme::TestDaemon::slurp("/proc/$pid/stat") =~ /\) (.*)/)[0];
	return $f[11] + $f[12];
}

# Records of a file of the episode, as hashes.
sub of {
	my ($file) = @_;
	my (undef, @lines) = Tipme::TestDaemon::records_of($file);
	return map {
		my ($type, @f) = split ' ';
		+{ type => $type, map { split /=/, $_, 2 } grep {/=/} @f }
		}
		map { ref $_ ? () : split /\n/, $_ } @lines;
}
