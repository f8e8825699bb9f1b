#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The hooks neither end nor hold up a session, whatever server, clients and folders are like: a
# server laid out in another way, tables given back, clients killed in the midst of requests, the
# screen saver, few open files, full disks, folders of strangers.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use File::Copy  qw(copy);
use File::Path  qw(remove_tree);
use Time::HiRes qw(sleep);
use Live;
use XClient;

need(qw(Xvfb Xorg));
subtest 'a server that is not as the hooks know it'  => \&misfits;
subtest 'the tables of requests are given back'      => \&tables;
subtest 'clients that end in the midst of a request' => \&half_requests;
subtest 'screen saver and power saving'              => \&screen_saver;
subtest 'a limit on open files'                      => \&few_files;
subtest 'a full disk'                                => \&full_disk;
subtest 'a folder of somebody else'                  => \&foreign_folder;
done_testing();

sub slurp {
	my ($path) = @_;
	open my $in, '<', $path or return '';
	local $/;
	return scalar <$in> // '';
}

# A window of a client shows what is drawn into it; its pixel is read back.
sub drawn {
	my ($c) = @_;
	my ($w, $gc) = $c->window(color => 0x123456);
	$c->rectangle($w, $gc, 0, 0, 50, 50);
	$c->request(XClient::GET_IMAGE, 2, $w, \$c->pack('ssSSL', 10, 10, 1, 1, 0xffffff));
	my $pixel = $c->unpack('x32L', $c->reply) & 0xffffff;
	$c->mark;
	return $pixel;
}

sub serves {
	my ($x, $what) = @_;
	is(eval { drawn(XClient->new($x)) }, 0x123456, $what) or diag $@;
	return;
}

# In another generation of the server. Who comes before it has noticed that the last client went is
# sent away.
sub serves_again {
	my ($x, $what) = @_;
	my $pixel;
	await(
		sub {
			defined($pixel = eval { my $c = XClient->new($x); $c->marked ? undef : drawn($c) });
		}
	);
	is($pixel, 0x123456, $what) or diag $@;
	return;
}

sub misfits {
	my $misfit = build('test/.libs/libtipme-misfit.so');
	plan skip_all => 'the copy of the hooks for another server was not built' if !-r $misfit;
	my %says = (
		number  => 'this server has another module interface',
		devices => 'this server\'s input devices are laid out in another way'
	);
	for my $case ([ 'Xorg', 'number' ], [ 'Xvfb', 'number' ], [ 'Xvfb', 'devices' ]) {
		my ($kind, $what) = @$case;
		my $peer = peer_start(rundir());
		my $x    = Tipme::Display->new(
			kind => $kind, hooks => $misfit, rundir => $peer->{dir},
			env  => { TIPME_TEST_MISFIT => $what },
			args => $kind eq 'Xvfb' ? ['-reset'] : []
		);
		serves($x, "$kind, $what: serves");
		# An Xorg goes on without clients.
		($kind eq 'Xvfb' ? \&serves_again : \&serves)->($x, "$kind, $what: and again") for 1 .. 2;
		wait_for($peer, qr/^hello 0/);
		is((records($peer, 0))[-1]{head}, 0, "$kind, $what: nothing is recorded");
		my $log  = slurp($kind eq 'Xorg' ? $x->dir . '/Xorg.log' : $x->dir . '/stderr.log');
		my @said = $log =~ /tipme: (recording stopped: .*)/g;
		is_deeply(
			\@said, ["recording stopped: $says{$what}: the session goes on without it"],
			"$kind, $what: it is said, once"
		);
		$x->stop;
		finish();
	}
	# The same copy in a server that is as it should be: what was seen above is the misfit, not the
	# copy.
	my $peer = peer_start(rundir());
	my $x    = Tipme::Display->new(kind => 'Xorg', hooks => $misfit, rundir => $peer->{dir});
	wait_for($peer, qr/^hello 0/);
	serves($x, 'without a misfit the same copy serves');
	cmp_ok((records($peer, 0))[-1]{head}, '>', 0, 'and records');
	$x->stop;
	finish();
	return;
}

sub tables {
	my $shim = build('test/.libs/tables.so');
	plan skip_all => 'the look at the tables was not built' if !-r $shim;
	my $dir = rundir();
	chmod 0777, $dir;
	copy($shim, "$dir/tables.so") or die $!;
	my $x = Tipme::Display->new(
		kind    => 'Xvfb', hooks => hooks(), rundir => '/nonexistent', args => ['-reset'],
		preload => ["$dir/tables.so"],
		env     => { TIPME_TEST_TABLES => "$dir/said" }
	);
	serves_again($x, "generation $_") for 1 .. 3;
	my @said   = map  { [ split ' ' ] } split /\n/, slurp("$dir/said");
	my @begins = grep { $_->[0] eq 'begins' } @said;
	my @serves = grep { $_->[0] eq 'serves' } @said;
	cmp_ok(scalar @begins, '>=', 3, 'three generations and more begin');
	is_deeply(
		[ grep { $_->[2] || $_->[3] } @begins ], [],
		'none of them finds the hooks in the tables'
	);
	is_deeply(
		[ grep { $_->[2] != 256 || $_->[3] != 256 } @serves ], [],
		'all of them serve with the hooks in every entry'
	) or diag explain \@serves;
	cmp_ok(scalar @serves, '>=', 3, 'and have served');
	$x->stop;
	return;
}

sub half_requests {
	my $peer = peer_start(rundir());
	my $x    = Tipme::Display->new(
		kind => 'Xvfb', hooks => hooks(), rundir => $peer->{dir},
		args => [qw(-listen tcp)]
	);
	wait_for($peer, qr/^hello 0/);
	my $witness = XClient->new($x);
	my $count   = 0;
	for my $round (1 .. 60) {
		my $c = XClient->new($x, swapped => $round & 1, tcp => $round % 3 == 0);
		my ($w, $gc) = $c->window;
		# It says 101 words and sends some of them; or a whole one and a piece; or it stands in the
		# middle of a reply.
		$c->_write($c->pack('CCSLL', XClient::POLY_FILL_RECTANGLE, 0, 101, $w, $gc)
				. "\0" x (4 * ($round % 40)))
			if $round % 4;
		$c->request(XClient::GET_IMAGE, 2, $c->root, \$c->pack('ssSSL', 0, 0, 1280, 800, 0xffffff))
			if $round % 4 == 0;
		$c->close;
		$count++;
		$witness->sync;
	}
	# Clients that are killed while they draw as fast as they can, and while they hold the server.
	for my $round (1 .. 12) {
		pipe my $read, my $write or die;
		my $pid = fork // die;
		if (!$pid) {
			my $c = XClient->new($x, swapped => $round & 1);
			my ($w, $gc) = $c->window;
			$c->request(XClient::GRAB_SERVER, 0) if $round % 3 == 0;
			$c->sync;
			syswrite $write, '.';
			while (1) { $c->rectangle($w, $gc, $_, $_, 9, 9) for 1 .. 50 }
		}
		close $write;
		sysread $read, my $ready, 1;
		sleep 0.02;
		kill 'KILL', $pid;
		waitpid $pid, 0;
		$witness->sync;
	}
	serves($x, 'the server serves others all the while');
	my @r      = settled($peer, 0);
	my $header = pop @r;
	cmp_ok(
		scalar only(\@r, 'x_client', state => 'gone'), '>=', $count + 12,
		'all are recorded to have gone'
	);
	is($header->{cur_start_ns}, 0, 'none of their requests is still said to be executed');
	is($header->{grab_pid},     0, 'none of them is still said to hold the server');
	is($header->{lost},         0, 'nothing is lost');
	$x->stop;
	finish();
	return;
}

sub screen_saver {
	my $peer = peer_start(rundir());
	my $x    = Tipme::Display->new(kind => 'Xorg', hooks => hooks(), rundir => $peer->{dir});
	wait_for($peer, qr/^hello 0/);
	my $keys = Tipme::Typist->new(socket => $x->keyboard);
	my $c    = XClient->new($x);
	my ($w)  = $c->window(width => 1280, height => 800);
	my ($FORCE_SCREEN_SAVER, $ACTIVATE, $RESET) = (115, 1, 0);
	my $dpms = $c->extension('DPMS');
	my ($DPMS_ENABLE, $DPMS_FORCE) = (4, 6);
	my %sleep = (saver => sub { $c->request($FORCE_SCREEN_SAVER, $ACTIVATE) });

	if ($dpms) {
		$c->request($dpms, $DPMS_ENABLE);
		$sleep{ $_->[0] } = do {
			my $level = $_->[1];
			sub { $c->request($dpms, $DPMS_FORCE, \$c->pack('Sxx', $level)) }
			}
			for [ standby => 1 ], [ off => 3 ];
	}
	for my $how (sort keys %sleep) {
		for (1 .. 2) {
			$sleep{$how}->();
			$c->sync;
			sleep 0.2;
			my ($stroke) = $keys->type('a');
			$keys->sync;
			$c->sync;
			my @r = settled($peer, 0);
			my ($press) = grep { $_->{ts_ns} >= $stroke->{press_ns} }
				only(\@r, 'x_device', kind => 'key_press', is_master => 0);
			ok(
				$press && only(
					\@r, 'x_deliver', kind => 'key_press', input_seq => $press->{input_seq},
					pid => $$
				),
				"$how: the key that ends it is recorded, and delivered"
			);
		}
	}
SKIP: {
		skip 'this screen driver cannot save power: tests/vm/hooks.t has one that can', 1 if !$dpms;
		pass('and power saving was among them');
	}
	$c->request($FORCE_SCREEN_SAVER, $RESET);
	serves($x, 'the server serves');
	is(
		scalar(() = slurp($x->dir . '/Xorg.log') =~ /tipme: recording stopped/g), 0,
		'and the hooks are at work'
	);
	undef $keys;
	$x->stop;
	finish();
	return;
}

# A server that may have so many files open; undef if it does not begin.
sub limited {
	my ($dir, $files, @hooks) = @_;
	open my $out, '>', "$dir/limited" or die $!;
	printf {$out} "#!/bin/sh\nulimit -n %d\nexec %s \"\$@\"\n", $files,
		Tipme::Display::find_server('Xvfb');
	close $out;
	chmod 0755, "$dir/limited";
	my $x = eval {
		Tipme::Display->new(kind => 'Xvfb', program => "$dir/limited", rundir => $dir, @hooks);
	};
	my $why = $@;
	remove_tree($1) if !$x && $why =~ m{see (/\S+/tipme-x-\S+)};
	return wantarray ? ($x, $why) : $x;
}

# Whatever number is enough for the server alone is enough with hooks, also where they have to leave
# it all to the server.
sub few_files {
	my $peer  = peer_start(rundir());
	my $alone = sub {
		my ($files) = @_;
		my $x       = limited($peer->{dir}, $files);
		my $ok      = $x && eval { XClient->new($x) };
		$x->stop if $x;
		return $ok;
	};
	my ($least) = grep { $alone->($_) } 8 .. 64;
	ok($least, 'so few are enough for the server alone') or return;
	for my $more (0 .. 5, 30 .. 38) {
		# Other servers that begin just then take display numbers away, and looking for another
		# takes files, too.
		my ($x, $why);
		for (1 .. 10) {
			($x, $why) = limited($peer->{dir}, $least + $more, hooks => hooks());
			last if $x;
			sleep 0.1;
		}
		# Those that came meanwhile stay: then the server needs more files without hooks, too.
		if (!$x && $least < 64 && !$alone->($least + $more)) { $least++; redo }
		ok($x, "$more more: with hooks it begins") or diag($why), next;
		serves($x, "$more more: serves");
		like(
			slurp($x->dir . '/stderr.log'),
			qr/tipme: recording stopped: the server may have too few files open \(ulimit -n\): the session/,
			"$more more: it is said"
		) if $more < 6;
		$x->stop;
	}
	my $x = limited($peer->{dir}, $least + 60, hooks => hooks());
	ok(wait_for($peer, qr/^hello 0/), 'with enough of them the hooks record');
	$x->stop;
	finish();
	return;
}

# The folder is a file system of a few pages, all of them taken.
sub full_disk {
	plan skip_all => 'only root can mount one' if $> != 0;
	my $dir = rundir();
	plan skip_all => 'mounting is not allowed here'
		if system "mount -t tmpfs -o size=64k,nr_inodes=8,mode=0755 tipme-test $dir 2>/dev/null";
	my $ok = eval {
		chown((getpwnam 'nobody')[ 2, 3 ], $dir);
		open my $fill, '>', "$dir/fill" or die $!;
		1 while syswrite $fill, 'x' x 4096;
		close $fill;
		my $x =
			Tipme::Display->new(kind => 'Xorg', hooks => hooks(), rundir => $dir, dump_dir => $dir);
		my $keys = Tipme::Typist->new(socket => $x->keyboard);
		my $c    = XClient->new($x);
		$c->window(width => 1280, height => 800);
		$keys->chord('Ctrl+Alt+minus');
		$keys->sync;
		$c->sync;
		sleep 0.5;
		serves($x, 'the server serves while its records cannot be saved');
		ok(
			await(
				sub {
					!grep {-e} glob "$dir/tipme-x-*";
				}
			),
			'no piece of a file is left'
		) or diag(glob "$dir/tipme-x-*");
		is(
			scalar(() = slurp($x->dir . '/Xorg.log') =~ /records are in/g), 0,
			'nor is one promised'
		);
		unlink "$dir/fill";
		system "mount -o remount,size=16m $dir";
		# Two such files are at least five seconds apart, from whenever the server came to the
		# first.
		my @saved;
		await(
			sub {
				$keys->chord('Ctrl+Alt+minus');
				$keys->sync;
				for (1 .. 10) { @saved = glob "$dir/tipme-x-*.rec"; last if @saved; sleep 0.1 }
				return scalar @saved;
			}
		);
		is(scalar @saved, 1, 'when there is room again, they are saved');
		undef $keys;
		$x->stop;
		1;
	};
	my $why = $@;
	system "umount $dir";
	ok($ok, 'all of it') or diag $why;
	return;
}

# Anybody may make a folder below /tmp, listen there, and wait for servers that are told to look
# there.
sub foreign_folder {
	plan skip_all => 'only root can be several people' if $> != 0;
	plan skip_all => 'setpriv is not installed' if !grep { -x "$_/setpriv" } split /:/, $ENV{PATH};
	my $stranger = (getpwnam 'daemon')[2] // 1;
	my $open     = rundir();
	chmod 01777, $open;
	my $trap = "$open/tipme";
	mkdir $trap, 0755;
	chown $stranger, $stranger, $trap;
	my $peer = peer_start($trap, as => $stranger);
	my $x    = Tipme::Display->new(kind => 'Xvfb', hooks => hooks(), rundir => $trap);
	is(
		wait_for($peer, qr/^hello/, 2.5), undef,
		'where anybody could have made the folder, a stranger gets nothing'
	);
	serves($x, 'and the server serves');
	$x->stop;
	finish();

	# As a service with a user of its own has it: only root could have made the folder.
	chmod 0755, $open;
	unlink "$trap/tipmed.sock";
	$peer = peer_start($trap, as => $stranger);
	$x    = Tipme::Display->new(kind => 'Xvfb', hooks => hooks(), rundir => $trap);
	ok(wait_for($peer, qr/^hello/), 'where only root could have made it, its owner gets the ring');
	$x->stop;
	finish();

	# A link to a folder of the stranger's own that is as it should be.
	chmod 01777, $open;
	symlink $trap, "$open/link";
	unlink "$trap/tipmed.sock";
	$peer = peer_start($trap, as => $stranger);
	$x    = Tipme::Display->new(kind => 'Xvfb', hooks => hooks(), rundir => "$open/link");
	is(wait_for($peer, qr/^hello/, 2.5), undef, 'a link is no folder');
	$x->stop;
	finish();
	return;
}
