#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Other compositors than that of tests/wayland.t, each in the window of a headless X server: keys
# and pictures are recorded as their own logs have them,
# and whoever stands still is named. With TIPME_TEST_ALL=1, or by tests/screen-table, alone.
#   tests/wayland-compositors.t [NAME ...]   only these; sway/CLIENT: with that client;
#   TIPME_COMPOSITED_N: presses of each sort; TIPME_TEST_PARTS='quiet|stopped': these scenes alone
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep);
use lib "$ENV{TIPME_SRCDIR}/helper/demo", "$ENV{TIPME_SRCDIR}/helper/test/lib",
	"$ENV{TIPME_SRCDIR}/tests/lib",
	map {"$ENV{TIPME_SRCDIR}/$_"} qw(postmortem/lib abi/generated abi/lib);
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Hog qw(allowed_cpus can_compute compute computed favour hog keep_to prefer starved_by);
use Tipme::KernelEvents;
use Tipme::Record::Layout;
use Tipme::Rows qw(counted keep row sentences sorted_out wanted);
use Tipme::TestDaemon;
use Tipme::Waited;
use Tipme::WaylandStage;

$SIG{$_} = sub { exit 1 }
	for qw(INT TERM HUP);    # so that all that was started is ended
plan skip_all => 'not root: recording the whole machine needs it' if $>;
plan skip_all => 'minutes on other compositors: with TIPME_TEST_ALL=1 alone'
	if !$ENV{TIPME_TEST_ALL} && !@ARGV;
my $N         = $ENV{TIPME_COMPOSITED_N} // ($ENV{TIPME_TEST_ALL} ? 20 : 3);
my @SCENES    = wanted(6, qw(quiet stopped client computes helper starved film));
my $STOP_S    = 0.54;
my $COMPUTE_S = 1.3;
my $NAMED     = 0.95;                                                               # of that time
my $AT_ONCE   = 5;    # presses of a scene that are judged together
my $computing = "$ENV{TIPME_BUILDDIR}/tests/.libs/computing.so";
my %NUMBER =
	map { $Tipme::Record::Layout::RECORD{$_}{name} => $_ } keys %Tipme::Record::Layout::RECORD;
# What runs in a terminal, and so is its helper: it echoes.
my $ECHO = q{#!/usr/bin/perl
$| = 1; $0 = 'editor'; system 'stty raw -echo';
while (sysread STDIN, my $c, 1) { print $c }
};
# foot 1.13 ends at once where a compositor names no refresh rate. @HELPER: the file with that.
my %CLIENT = (
	foot                => { command => [qw(foot --config=/dev/null @HELPER)], helper => 1 },
	'weston-terminal'   => { command => [qw(weston-terminal --shell=@HELPER)], helper => 1 },
	mousepad            => { command => [qw(mousepad --disable-server)] },
	'gnome-text-editor' => { command => [qw(gnome-text-editor --standalone --new-window)] },
	featherpad          => { command => [qw(featherpad --standalone)] },
	'firefox-esr'       =>
		{ command => [qw(firefox-esr --no-remote --profile @HOME/profile @HOME/page.html)] },
);
my $PAGE = '<body onload="t.focus()"><textarea id="t" rows="20" cols="60"></textarea>';
my $d    = Tipme::TestDaemon->new(args => [ '--owner', Tipme::WaylandStage::NOBODY, '--post', 0 ]);

my @CLIENTS = map {"sway/$_"} qw(mousepad gnome-text-editor featherpad firefox-esr);
for my $name (@ARGV ? @ARGV : ('sway', Tipme::WaylandStage->nested, 'xwayland', @CLIENTS)) {
	my ($compositor, $client) = split m{/}, $name;
	my $lacks = Tipme::WaylandStage->lacks($compositor);
	($lacks) = grep { !installed($_) } qw(Xwayland xterm) if !$lacks && $name eq 'xwayland';
	($lacks) = grep { !installed($_) } $client            if !$lacks && $client;
	subtest $name => sub {
		plan skip_all => "$lacks is not installed" if defined $lacks;
		eval { $name eq 'xwayland' ? x_clients() : compositor($name, $compositor, $client); 1 }
			or do {
			fail('it goes to its end');
			diag $@;
			};
		$d->stop;
	};
}
done_testing;

sub compositor {
	my ($name, $compositor, $client_name) = @_;
	is(($d->start)[0], 0, 'the recorder starts');
	my $stage = Tipme::WaylandStage->new(compositor => $compositor);
	$client_name //= $compositor eq 'kwin_wayland' ? 'weston-terminal' : 'foot';
	my $c       = $CLIENT{$client_name} // die "$client_name: no such client\n";
	my %file    = (HELPER => $stage->file('editor', $ECHO, 0755), HOME => $stage->home);
	my @command = map {s/\@(HELPER|HOME)/$file{$1}/r} @{ $c->{command} };
	$stage->file($_->[0], $_->[1]) for [ 'page.html', $PAGE ], [ 'profile/user.js', '' ];
	my %env = (MOZ_ENABLE_WAYLAND => 1, QT_QPA_PLATFORM => 'wayland');

	if (-r $computing && grep { $_ eq 'computes' } @SCENES) {
		%env = (
			%env,
			LD_PRELOAD       => $stage->copied($computing),
			TIPME_COMPUTE_MS => 1000 * $COMPUTE_S
		);
	}
	my $client = $stage->client_with(\%env, @command);
	my $editor = $c->{helper} ? helper_of($stage, $client) : undef;
	$stage->at_rest;
	my ($pid) = $stage->compositor;
	my %w     = (name => $name, stage => $stage, pid => $pid, client => $client, editor => $editor);
	my %part  = (
		quiet   => sub { quiet(\%w) },
		stopped => sub {
			late(
				\%w, 'stopped', stopping($pid, $stage), 'the compositor is stopped: it is named',
				sub { named($_[0], $pid, $NAMED) }
			);
		},
		client => sub {
			late(
				\%w, 'client', stopping($client, $stage), 'the client is stopped: it is named',
				sub { named($_[0], $client, $NAMED) }
			);
		},
		computes => sub {
			ok(can_compute($client), 'the client can be made to compute')
				or return;
			late(
				# What it waited for a CPU meanwhile it did not compute.
				{ %w, computes => $client, may_wait => [ 1000 * $COMPUTE_S, 1 - $NAMED ] },
				'computes', computing($client, $stage),
				'the client computes: it is named',
				sub { $_[0]{verdict}{kind} eq 'app-compute' && of_it($_[0], $client, $NAMED) }
			);
		},
		helper => sub {
			return if !$editor;
			late(
				\%w, 'helper', stopping($editor, $stage),
				'whom the client asks is stopped: it is named',
				sub { named($_[0], $editor, $NAMED) }
			);
		},
		starved => sub { starved(\%w, $editor // ()) },
		film    => sub {
			return note('no film: it shows one window at a time')
				if $compositor =~ /^(?:cage|weston)$/;
			my $end = film(\%w, sub { $stage->client_with(\%env, @command) });
			late(
				\%w, 'film', stopping($pid, $stage), 'beside a film: a stopped compositor is named',
				sub { named($_[0], $pid, $NAMED) }
			);
			my $quiet = scene(sub { $stage->type('a' x ($N + 2), apart => 0.35) });
			accuses_nobody(\%w, 'film-quiet', $quiet);
			$end->();
		},
	);
	$part{$_}->()
		for grep { !$client_name || /^(?:quiet|client|computes)$/ || $name !~ m{/} } @SCENES;
	$stage->close;
	return;
}

# Presses that nothing disturbs.
sub quiet {
	my ($w) = @_;
	my ($stage, $pid) = @$w{qw(stage pid)};
	my $quiet = scene(sub { $stage->type('a' x ($N + 2), apart => 0.35) });
	like_the_log($stage, $quiet->{episode});
	accuses_nobody($w, 'quiet', $quiet);
	in_time($stage, $quiet->{episode});
	return;
}

sub accuses_nobody {
	my ($w, $scene, $played) = @_;
	my @of   = @{ $played->{of} };
	my @miss = grep { $_->{verdict}{kind} ne 'none' } @of;
	is(scalar @miss, 0, "$scene: quiet typing accuses nobody") or told(@miss);
	keep($played->{episode}, "$w->{name}-$scene") if @miss;
	cmp_ok(scalar @of, '>=', $N, '... of ' . @of . ' presses');
	row($w->{name}, $scene, scalar @of, right => @of - @miss, said => [ sentences(@miss) ]);
	return;
}

# A window that draws at each refresh, and a new client beside it, which has the keyboard; what ends
# them
sub film {
	my ($w, $client) = @_;
	my $stage = $w->{stage};
	my $enter = qr/-> wl_keyboard\@\d+\.enter/;
	my $n     = $stage->said(qr/wl_surface\@\d+\.commit/);
	# That has two buffers; sway keeps both.
	my $film = $stage->spawn({}, $stage->{x} ? 'weston-simple-shm' : 'weston-simple-egl');
	$stage->wait_for(sub { $stage->said(qr/wl_surface\@\d+\.commit/) > $n + 30 }, 'the film');
	$n = $stage->said($enter);
	my $second = $client->();
	$stage->wait_for(sub { $stage->said($enter) > $n }, 'the focus of a second client');
	sleep 1;
	@$w{qw(client film)} = ($second, $film);
	return sub { kill 'TERM', $second, $film; delete $w->{film} };
}

# N presses, each late: as many as were sent are GOOD. The ring of the recorder holds some of them.
# Void is one that waited for something else, as the kernel's counts and the compositor's own log
# say it.
sub late {
	my ($w, $scene, $during, $says, $good) = @_;
	my %all = (right => 0, void => 0, missed => [], why => {});
	my @who =
		grep { $_ != ($w->{staged} // 0) } @$w{qw(pid client)}, $w->{editor} // (),
		$w->{stage}{x} ? $w->{stage}{x}->pid : ();
	my $computes = $w->{computes} // 0;
	my @ordinary =
		!counted() || $w->{staged}
		? ()
		: (
		prefer(grep { $_ != $computes } @who),
		$computes ? favour($computes) : ()
		);
	for (my $left = $N; $left > 0; $left -= $AT_ONCE) {
		my @t;
		my $now = $left < $AT_ONCE ? $left : $AT_ONCE;
		# What is usual is told by others; in sway three go before each.
		$w->{stage}->type('aaa', apart => 0.3) if $w->{stage}{x};
		my $played = scene(
			sub {
				push @t, one_late($w->{stage}, @$during, \@who, @{ $w->{may_wait} // [] })
					for 1 .. $now;
			}
		);
		my $drawn = $w->{film} ? undef : drawn($w->{stage});
		my $n = sorted_out(\@t, $played->{of}, $good, sub { $drawn ? too_early($drawn, @_) : '' });
		$all{$_} += $n->{$_} for qw(right void);
		$all{why}{$_} += $n->{why}{$_} for keys %{ $n->{why} };
		push @{ $all{missed} }, @{ $n->{missed} };
		keep($played->{episode}, "$w->{name}-$scene") if @{ $n->{missed} };
	}
	$_->() for @ordinary;
	my $counted = $N - $all{void};
	note "void: $all{why}{$_} times: $_" for sort keys %{ $all{why} };
	is($all{right}, $counted, "$says, with 95 % of that time, $all{right} of $counted times")
		or told(@{ $all{missed} });
	cmp_ok($counted, '>', 0, '... and was there');
	row(
		$w->{name}, $scene, $N, %all{qw(right void why)},
		said => [ sentences(@{ $all{missed} }) ]
	);
	return;
}

# When clients gave the compositor pictures, as it says itself: ns
sub drawn { my ($stage) = @_; return [ $stage->when(qr/wl_surface\@\d+\.commit\(/) ] }

# Why a press had another answer than a late one; '' if none
sub too_early {
	my ($drawn, $press, $to) = @_;
	my ($first) = grep { $_ > $press->{at} && $_ < $to } @$drawn;
	return
		  !defined $first                           ? 'no picture came before the next press'
		: $first - $press->{at} < $STOP_S * 1e9 / 3 ? 'the cause had no effect'
		:                                             '';
}

# What makes a press late, for one_late().
sub stopping {
	my ($whom, $stage) = @_;
	return [
		sub { kill 'STOP',                $whom },
		sub { sleep $STOP_S; kill 'CONT', $whom },
		$whom == $stage->compositor ? 1 : 0
	];
}

# So long that the key comes before its end.
sub computing {
	my ($whom, $stage) = @_;
	my $until;
	return [
		sub { $until = computed($whom) + $COMPUTE_S; compute($whom) },
		sub {
			$stage->wait_for(sub { computed($whom) >= $until }, 'the end of computing');
		},
		0
	];
}

# A real-time process has the compositor's CPU; all others of the session have the rest.
sub starved {
	my ($w,     @helpers) = @_;
	my ($first, @may)     = allowed_cpus();
SKIP: {
		skip 'starved: this takes two CPUs', 1 if !@may;
		my $x      = $w->{stage}{x};
		my @others = ($w->{client}, @helpers, $$, $x ? $x->pid : ());
		keep_to($may[-1], $w->{pid});
		keep_to($first,   @others);
		my $hog;
		my $begin = sub { $hog = hog($may[-1], 0.9) // die "no hog: $!\n" };
		late(
			{ %$w, staged => $w->{pid} }, 'starved',
			[ $begin, sub { waitpid $hog, 0 }, 1 ],
			'the compositor is kept from its CPU: who has that is named',
			sub { starved_by($_[0], $w->{pid}, 'mixer', 0.9) }
		);
		keep_to(join(',', $first, @may), $w->{pid}, @others);
	}
	return;
}

# The program in a terminal
sub helper_of {
	my ($stage, $terminal) = @_;
	return $stage->wait_for(
		sub {
			open my $h, '<', "/proc/$terminal/task/$terminal/children" or return;
			return (split ' ', <$h> // '')[0];
		},
		'the program in the terminal'
	);
}

# Programs of X in a Wayland session: the compositor knows Xwayland alone, and the wake-ups lead on
# to them.
sub x_clients {
	is(($d->start)[0], 0, 'the recorder starts');
	my $stage   = Tipme::WaylandStage->new;
	my $display = $stage->x_display;
	my $before  = $stage->said(qr/wl_surface\@\d+\.commit/);
	my $client  = $stage->spawn({ DISPLAY => $display }, qw(xterm -e /bin/sh));
	$stage->wait_for(sub { $stage->said(qr/wl_surface\@\d+\.commit/) > $before + 1 }, 'xterm');
	sleep 1;
	my $quiet = scene(sub { $stage->type('a' x ($N + 2), apart => 0.3) });
	is(
		join(' ', map { $_->{verdict}{kind} } @{ $quiet->{of} }),
		join(' ', ('none') x @{ $quiet->{of} }), 'quiet typing: nobody is accused'
	) or told(@{ $quiet->{of} });
	my ($server) = map { $_->{event}{server}{pid} } @{ $quiet->{of} };
	is(
		(grep { $_->{event}{client}{comm} ne 'xterm' } @{ $quiet->{of} }),
		0, 'the client is the X program, not the server between'
	);
	for my $whom ([ 'the X client' => $client ], [ 'Xwayland' => $server ]) {
		my $scene = scene(sub { one_of_four($stage, $whom->[1]) for 1 .. $N });
		my @late  = grep { $_->{interval}{duration_ns} > 0.4e9 } @{ $scene->{of} };
		my @named = grep { named($_, $whom->[1], $NAMED) } @late;
		is(
			scalar @named, $N,
			"$whom->[0] is stopped: it is named, with 95 % of that time, $N times"
		) or told(@{ $scene->{of} });
		keep($scene->{episode}, "xwayland-$whom->[0]" =~ s/ /-/gr) if @named != $N;
	}
	$stage->close;
	return;
}

# Three keys, and a fourth while a process is stopped, by one keyboard
sub one_of_four {
	my ($stage, $whom) = @_;
	one_late($stage, @{ stopping($whom, $stage) }, [$whom]);
	return;
}

# A press that comes between what BEGINs and what ENDs its lateness; silent: the compositor cannot
# send it meanwhile. When that began, and why it is void: WHO waited for others meanwhile (as long
# as MAY_WAIT, for Waited's end(), says), or the key was given when the cause was nearly over.
sub one_late {
	my ($stage, $begin, $end, $silent, $who, @may_wait) = @_;
	if (!$stage->{x}) {
		$stage->begin_typing((map { [ a => 200 ] } 1 .. 3), [ a => 900 ]);
		$stage->pressed(3);
		sleep 0.3;
	}
	my $waited = Tipme::Waited->begin(@$who);
	my $t      = now_ns();
	$begin->();
	my $given = $t;
	if    ($stage->{x}) { sleep 0.02; $stage->press; $given = now_ns() }
	elsif ($silent)     { sleep 0.65 }
	else                { $stage->pressed(4) }
	$end->();
	my $late = now_ns() - $given < $STOP_S * 1e9 / 3;
	sleep 0.1;
	my $void = $waited->end(@may_wait ? @may_wait : 1000 * $STOP_S)
		|| ($late ? 'the key was given too late' : '');
	$stage->typed if !$stage->{x};
	sleep 0.4;
	return { at => $t, void => $void };
}

sub now_ns {
	return int 1e9 * Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC());
}

sub installed {
	my ($p) = @_;
	return grep { -x "$_/$p" } split /:/, $ENV{PATH};
}

# What was typed since: the diagnosis of each press
sub scene {
	my ($act) = @_;
	my $from = now_ns();
	$act->();
	sleep 0.3;
	my $folder = episode();
	my $dg     = Tipme::Diagnosis->new(Tipme::Episode->open($folder));
	my @press  = grep {
			   $_->{kind} eq 'key_press'
			&& $_->{device_ns} >= $from
			&& ($_->{server}{source} // '') eq 'wayland'
	} $dg->events;
	return {
		episode => $folder,
		of      => [
			map {
				{ %{ $dg->run(event => $_->{n}) }, device_ns => $_->{device_ns} }
			} @press
		]
	};
}

sub episode {
	my ($status, $id, $why) = $d->snap;
	is($status, 0, 'saved') or die $why;
	my ($folder) = $id =~ m{^(/.*)$}m;
	Tipme::TestDaemon::wait_until(sub { -e "$folder/manifest.json" });
	return $folder;
}

# Presses, releases and pictures of a client, as many as the compositor says itself.
sub like_the_log {
	my ($stage, $folder, $client) = @_;
	my $ev = Tipme::KernelEvents->load_only(
		Tipme::Episode->open($folder),
		@NUMBER{qw(wl_deliver wl_commit)}
	);
	my %n = (press => 0, release => 0, commit => 0);
	for my $i (0 .. $ev->count - 1) {
		my (undef, $tid, undef, undef, undef, $more) = $ev->columns($i);
		next if $tid != $stage->compositor;
		if    (vec($ev->{type}, $i, 8) == $NUMBER{wl_commit}) { $n{commit}++ }
		elsif (($more >> 8 & 255) == 1) {
			$n{ { 1 => 'press', 2 => 'release' }->{ $more & 255 } // 'other' }++;
		}
	}
	my %said =
		map { $_->[0] => $stage->said($_->[1]) }
		[ press   => qr/-> wl_keyboard\@\d+\.key\(.*, 1\)$/ ],
		[ release => qr/-> wl_keyboard\@\d+\.key\(.*, 0\)$/ ];
	is($n{$_}, $said{$_}, "$_: $said{$_} by its own log") for sort keys %said;
	note "pictures: $n{commit}; attached: " . $stage->said(qr/wl_surface\@\d+\.attach\(wl_buffer/);
	return;
}

# A process is named, and charged with that part of the time that it stood still after the key.
# When the compositor says that it sent keys and callbacks, beside the records of that, one by one.
# Its clock is the real time, in microseconds of 32 bits.
sub in_time {
	my ($stage, $folder) = @_;
	my $ev = Tipme::KernelEvents->load_only(
		Tipme::Episode->open($folder),
		@NUMBER{qw(wl_deliver wl_done)}
	);
	my %ours = (key => [], done => []);
	for my $i (0 .. $ev->count - 1) {
		my ($ts, $tid, undef, undef, undef, $more) = $ev->columns($i);
		next if $tid != $stage->compositor;
		my $key = vec($ev->{type}, $i, 8) == $NUMBER{wl_deliver};
		push @{ $ours{ $key ? 'key' : 'done' } }, $ts if !$key || ($more >> 8 & 255) == 1;
	}
	my %pattern = (key => qr/-> wl_keyboard\@\d+\.key\(/, done => qr/-> wl_callback\@\d+\.done\(/);
	for my $what (sort keys %ours) {
		my @said = map { $_ / 1e3 } $stage->when($pattern{$what});
		my $n    = @{ $ours{$what} };
		my @off  = sort { $a <=> $b } map { $ours{$what}[$_] / 1e3 - $said[$_] } 0 .. $n - 1;
		cmp_ok(scalar @said, '>=', $n, "$what: its log has each of $n");
		note sprintf '%s: us before (-) or after its log: %.0f to %.0f, median %.0f, of %d', $what,
			@off[ 0, -1, @off / 2 ], $n
			if @off;
	}
	return;
}

sub named {
	my ($j, $pid, $share) = @_;
	my $v = $j->{verdict};
	return
		   ($v->{blamed} // {})->{pid}
		&& $v->{blamed}{pid} == $pid
		&& charged($j, $pid) >= $share * ($STOP_S - 0.02) * 1e9;
}

# The same, with that part of the interval
sub of_it {
	my ($j, $pid, $share) = @_;
	my $v = $j->{verdict};
	return
		   ($v->{blamed} // {})->{pid}
		&& $v->{blamed}{pid} == $pid
		&& charged($j, $pid) >= $share * $j->{interval}{duration_ns};
}

sub charged {
	my ($j, $pid) = @_;
	my $ns = 0;
	$ns += $_->{ns} for grep { ($_->{pid} // 0) == $pid } @{ $j->{totals}{blamed} };
	return $ns;
}

sub told { diag $_ for sentences(@_); return }
