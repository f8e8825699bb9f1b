#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Real compositors on headless servers: keys end when the screen has changed, which a witness of its
# pixels confirms; a compositor that stands still is named, and one that does not is not. One of two
# compositors by default and three of four scenes, drawn by the commit's hash; all of them, and more
# scenes, with TIPME_TEST_ALL=1 and in tests/screen-table.
#   tests/composited.t [NAME ...]   only these; TIPME_COMPOSITED_N: presses of each sort;
#   TIPME_TEST_PARTS='quiet|stopped': these scenes alone
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use Time::HiRes qw(sleep time);
use lib map {"$ENV{TIPME_SRCDIR}/$_"} qw(helper/demo tests/lib tests/causes/lib);
use Tipme::Diagnosis;
use Tipme::Drawn qw(commit half in_turn seed_of);
use Tipme::Episode;
use Tipme::Hog qw(allowed_cpus can_compute compute hog keep_to prefer starved_by);
use Tipme::RowSaid;
use Tipme::Rows qw(counted keep row sentences sorted_out wanted);
use Tipme::Stage;
use Tipme::Typist::Session;
use Tipme::Waited;

$SIG{$_} = sub { exit 1 }
	for qw(INT TERM HUP);    # so that all that was started is ended
plan skip_all => 'not root: recording the whole machine needs it' if $>;
plan skip_all => 'the X server hooks or the test client were not built'
	if !-x "$ENV{TIPME_BUILDDIR}/tests/client";
my $witness = "$ENV{TIPME_BUILDDIR}/tests/.libs/screen-witness.so";
plan skip_all => "$witness was not built" if !-r $witness;

my $computing = "$ENV{TIPME_BUILDDIR}/tests/.libs/computing.so";
my @SCENES    = wanted(4, qw(quiet stopped client film starved computes));
@SCENES = in_turn(3, 'scenes', @SCENES) if !counted() && !@ARGV && @SCENES == 4;

my $STOP_S  = 0.54;          # so long something stands still
my $AT_ONCE = 5;             # presses of a scene that are judged together
my $WITHIN  = 100_000;       # ns between the witness and the end, where that is said to be exact
my $FRAME   = 60_000_000;
# manages: is a window manager, too; presents: hands whole pictures to the server, which shows
# them a little later; whole: paints all of the screen
my %COMPOSITOR = (
	xcompmgr    => { command => [qw(xcompmgr)] },
	picom       => { command => [qw(picom --config /dev/null --backend xrender)] },
	'picom-glx' => { command => [qw(picom --config /dev/null --backend glx)], whole => 1 },
	xfwm4       =>
		{ command => [qw(dbus-run-session -- xfwm4 --compositor=on --vblank=off)], manages => 1 },
	'xfwm4-xpresent' => {
		command => [qw(dbus-run-session -- xfwm4 --compositor=on --vblank=xpresent)], presents => 1,
		manages => 1
	},
	mutter   => { command => [qw(dbus-run-session -- mutter --x11)], whole => 1, manages => 1 },
	kwin_x11 => { command => [qw(dbus-run-session -- kwin_x11)],     whole => 1, manages => 1 },
);
my $last_scene;    # the folder of its episode
my @names =
	  @ARGV                ? @ARGV
	: $ENV{TIPME_TEST_ALL} ? sort keys %COMPOSITOR
	:                        half(seed_of(commit($ENV{TIPME_SRCDIR})), qw(picom xcompmgr));
my $N = $ENV{TIPME_COMPOSITED_N} // ($ENV{TIPME_TEST_ALL} ? 20 : 3);

for my $name (@names) {
	my ($program) = grep { !/^(?:dbus-run-session|--)$/ } @{ $COMPOSITOR{$name}{command} };
	if (!grep { -x "$_/$program" } split /:/, $ENV{PATH}) {
		fail("$name: not installed: apt-get install it, it is in .ci/packages");
		next;
	}
	subtest $name => sub { compositor($name, $program) };
}
done_testing;

sub compositor {
	my ($name, $program) = @_;
	my $dir = tempdir('tipme-witness-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	chmod 0777, $dir;
	my $stage = Tipme::Stage->new(
		library       => tempdir(CLEANUP => 1),
		recorder_args => [ map { ('--user', $_) } grep { getpwnam $_ } 'daemon' ],
		display       => {
			kind => 'Xvfb', preload => [ copied($witness, $dir) ],
			env  => { TIPME_SCREEN_WITNESS => "$dir/pixels" }
		}
	);
	my $d = $stage->{display};
	my @with =
		  (grep { $_ eq 'computes' } @SCENES)
		? ('env', 'LD_PRELOAD=' . copied($computing, $dir), 'TIPME_COMPUTE_MS=' . 1000 * $STOP_S)
		: ();
	$d->spawn(
		@with, qw(sh -c), 'HOME=$0 XDG_RUNTIME_DIR=$0 exec "$@"', $d->dir,
		@{ $COMPOSITOR{$name}{command} }
	);
	my $client = copied("$ENV{TIPME_BUILDDIR}/tests/client", $stage->{work});
	my $editor = $stage->start_client('tipme-stage', $client, '-m', 600, '-n', 'editor');
	my $pid    = await(sub { process_of($program, $d) }) or return fail("$name runs");
	my %env    = $d->env;
	local @ENV{ keys %env } = values %env;
	# It must have taken the windows over, and the pointer lie on the client's.
	my $keys;
	my $drawn = await(
		sub {
			$keys = eval { Tipme::Typist::Session->new(seed => 3) } or return;
			my $n = changes("$dir/pixels");
			$keys->key('d');
			sleep 0.4;
			return changes("$dir/pixels") > $n;
		}
	);
	ok($drawn, "$name ($pid) runs, and keys reach the client") or return;
	# Where it manages windows, too, the window has the focus when it was clicked on, and the
	# program has come so far: until then no window has it.
	my $focused = await(
		sub {
			system qw(xdotool click 1);
			sleep 2;
			$keys = Tipme::Typist::Session->new(seed => 3);
			return !$COMPOSITOR{$name}{manages} || $keys->window =~ /^\d+\z/;
		}
	);
	$focused or return fail("$name gives the window the focus");
	my %world =
		(name => $name, stage => $stage, pixels => "$dir/pixels", pid => $pid, editor => $editor);
	# Each press gives the time at which it began.
	my $key = sub { my $t = Tipme::Typist::now_ns(); $keys->key('d'); sleep 0.35; return $t };
	$world{key} = $key;
	my $stopping = sub {
		my ($whom) = @_;
		return sub {
			my $t = Tipme::Typist::now_ns();
			kill 'STOP', $whom;
			sleep 0.02;
			$keys->key('d');
			sleep $STOP_S;
			kill 'CONT', $whom;
			sleep 0.5;
			return $t;
		}
	};
	my $film = sub {
		my $pid = $d->spawn(copied("$ENV{TIPME_BUILDDIR}/tests/film", $stage->{work}));
		sleep 1;
		return sub { kill 'TERM', $pid; waitpid $pid, 0; return }
	};
	my %part = (
		quiet => sub {
			agrees('quiet', \%world, quiet(\%world, 'quiet', $key));
		},
		stopped => sub {
			my @of = late(
				\%world,           'stopped',
				$stopping->($pid), sub { named($_[0], $pid, 0.95) },
				'the compositor is stopped: it is named with 95 % of it'
			);
			agrees('compositor stopped', \%world, @of);
			Tipme::RowSaid::tried(1, 'native', $of[0]{verdict}, named($of[0], $pid, 0.95)) if @of;
		},
		client => sub {
			late(
				\%world, 'client',
				$stopping->($editor),
				sub { named($_[0], $editor, 0.9) && part($_[0], $pid) < 0.05 },
				'the client is stopped: it is named, the compositor has less than 5 %'
			);
		},
		# Beside a window that draws 60 times a second.
		film => sub {
			my $end = $film->();
			late(
				{ %world, pixels => undef },
				'film',
				$stopping->($pid), sub { named($_[0], $pid, 0.9) },
				'beside a film: a stopped compositor is named'
			);
			quiet({ %world, pixels => undef }, 'film-quiet', $key);
			$end->();
		},
		starved  => sub { starved(\%world, $key) },
		computes => sub {
			ok(can_compute($pid), 'the compositor can be made to compute')
				or return;
			late(
				\%world,
				'computes',
				sub {
					my $t = Tipme::Typist::now_ns();
					my $n = changes("$dir/pixels");
					compute($pid);
					sleep 0.02;
					$keys->key('d');
					# Where others have the CPU it computes longer, and paints only then.
					await(sub { changes("$dir/pixels") > $n });
					sleep 0.5;
					return $t;
				},
				sub { named($_[0], $pid, 0.95) },
				'the compositor computes: it is named with 95 % of it'
			);
		},
	);
	$part{$_}->() for @SCENES;
	$stage->close;
	return;
}

# A real-time process has the compositor's CPU; server, client and we have the other.
sub starved {
	my ($w, $key) = @_;
	my @may = allowed_cpus();
SKIP: {
		skip 'starved: this takes two CPUs', 1 if @may < 2;
		my @others = ($w->{stage}{display}->pid, $w->{editor}, $$);
		keep_to($may[-1], $w->{pid});
		keep_to($may[0],  @others);
		late(
			{ %$w, staged => $w->{pid} },
			'starved',
			sub {
				my $hog = hog($may[-1], $STOP_S) // die "no hog: $!\n";
				my $t   = $key->();
				waitpid $hog, 0;
				sleep 0.5;
				return $t;
			},
			sub { starved_by($_[0], $w->{pid}, 'mixer', 0.9) },
			'the compositor is kept from its CPU: who has that is named'
		);
		keep_to(join(',', @may), $w->{pid}, @others);
	}
	return;
}

# N presses that DO gives, each of which is late: as many as it takes are GOOD. Their diagnoses. The
# ring of the recorder holds some of them, fewer where the machine does much.
sub late {
	my ($w, $scene, $do, $good, $says) = @_;
	my (%all, @of) = (right => 0, void => 0, missed => [], why => {});
	for (my $left = $N; $left > 0; $left -= $AT_ONCE) {
		my ($n, @these) = some_late($w, $do, $good, $left < $AT_ONCE ? $left : $AT_ONCE);
		push @of, @these;
		$all{$_} += $n->{$_} for qw(right void);
		$all{why}{$_} += $n->{why}{$_} for keys %{ $n->{why} };
		push @{ $all{missed} }, @{ $n->{missed} };
		keep($last_scene, "$w->{name}-$scene") if @{ $n->{missed} };
	}
	my $counted = $N - $all{void};
	is($all{right}, $counted, "$says, $all{right} of $counted times") or told(@{ $all{missed} });
	row(
		$w->{name}, $scene, $N, %all{qw(right void why)},
		said => [ sentences(@{ $all{missed} }) ]
	);
	return @of;
}

# So many of them, which are judged together: ({ right, void, missed, why }, their diagnoses)
sub some_late {
	my ($w, $do, $good, $n) = @_;
	# What is usual is told by others.
	if (counted()) { $w->{key}->() for 1 .. 2 * $n }
	my @who = grep { $_ != ($w->{staged} // 0) } $w->{stage}{display}->pid, @$w{qw(pid editor)};
	my $ordinary = counted() && !$w->{staged} ? prefer(@who) : sub { };
	my @t        = map { watched($do, @who) } 1 .. $n;
	$ordinary->();
	my @of = scene($w->{stage}, $t[0]{at});
	return (
		sorted_out(
			\@t, \@of, $good,
			sub {
				my ($p, $to) = @_;
				return '' if !counted() || !$w->{pixels};
				my $s = delay($w, $p->{at}, $to);
				return
					  !defined $s      ? 'nothing changed on the screen before the next press'
					: $s < $STOP_S / 3 ? 'the cause had no effect'
					:                    '';
			}
		),
		@of
	);
}

# A press, and whether something else than its cause kept it waiting: a table counts only others.
sub watched {
	my ($do, @who) = @_;
	my $waited = Tipme::Waited->begin(@who);
	my $t      = $do->();
	my $why    = $waited->end(1000 * $STOP_S);
	return { at => $t, void => counted() ? $why : '' };
}

# Presses that nothing disturbs: nobody is accused. Their diagnoses.
sub quiet {
	my ($w, $scene, $do) = @_;
	my @t    = map { $do->() } 1 .. $N + 2;
	my @of   = scene($w->{stage}, $t[0]);
	my @miss = grep { $_->{verdict}{kind} ne 'none' } @of;
	# Where the screen changed late, somebody is to be accused.
	my @sure =
		counted() && $w->{pixels}
		? grep { (delay($w, $_->{interval}{start_ns}, 9e18) // 0) < 0.1 } @miss
		: @miss;
	is(scalar @sure, 0, "$scene: quiet typing accuses nobody") or told(@sure);
	cmp_ok(scalar @of, '>=', $N, '... of ' . @of . ' presses');
	keep($last_scene, "$w->{name}-$scene") if @sure;
	my $void = @miss - @sure;
	row(
		$w->{name}, $scene, scalar @of, right => @of - @miss, void => $void,
		said => [ sentences(@sure) ]
	);
	return @of;
}

# How many seconds after a time, and before another, the pixels first changed; undef: they did not.
sub delay {
	my ($w, $from, $to) = @_;
	my ($first) = grep { $_ > $from && $_ < $to } map { $_->[0] } pixels($w->{pixels});
	return defined $first ? ($first - $from) / 1e9 : undef;
}

sub pixels {
	my ($file) = @_;
	open my $in, '<', $file or return;
	return map { [split] } <$in>;
}

# A copy that the server's user can read.
sub copied {
	my ($file, $dir) = @_;
	my ($name) = $file =~ m{([^/]+)\z};
	system('cp', $file, "$dir/$name") == 0 or die "$file: cp to $dir failed\n";
	chmod 0755, "$dir/$name";
	return "$dir/$name";
}

sub await {
	my ($code) = @_;
	my $end = time + 60;
	while (time < $end) { my $v = $code->(); return $v if $v; sleep 0.1 }
	return;
}

# The process of that name that has this display.
sub process_of {
	my ($program, $d) = @_;
	for my $pid (map {m{/proc/(\d+)}} glob '/proc/[0-9]*') {
		open my $in, '<', "/proc/$pid/comm" or next;
		chomp(my $comm = <$in> // '');
		next if $comm ne substr $program, 0, 15;
		open my $e, '<', "/proc/$pid/environ" or next;
		local $/;
		return $pid if grep { $_ eq 'DISPLAY=' . $d->display } split /\0/, <$e> // '';
	}
	return;
}

sub changes { my ($file) = @_; open my $in, '<', $file or return 0; my $n = () = <$in>; return $n }

# Saves what was typed since a time, and judges each press: the diagnoses
sub scene {
	my ($stage, $from) = @_;
	my @old = $stage->episodes;
	$stage->command('snap', '-m', 'scene');
	my $episode = $stage->new_episode(@old);
	$last_scene = $episode;
	my $d = Tipme::Diagnosis->new(Tipme::Episode->open($episode));
	# Others may type elsewhere on this machine.
	my @press = grep {
			   $_->{kind} eq 'key_press'
			&& $_->{device_ns} >= $from
			&& $_->{server}{pid} == $stage->{display}->pid
	} $d->events;
	return map {
		{ %{ $d->run(event => $_->{n}) }, device_ns => $_->{device_ns} }
	} @press;
}

sub named {
	my ($d, $pid, $share) = @_;
	my $v = $d->{verdict};
	return ($v->{blamed} // {})->{pid} && $v->{blamed}{pid} == $pid && part($d, $pid) >= $share;
}

# What part of its interval is charged to a process.
sub part {
	my ($d, $pid) = @_;
	my $ns = 0;
	$ns += $_->{ns} for grep { ($_->{pid} // 0) == $pid } @{ $d->{totals}{blamed} };
	return $d->{interval}{duration_ns} ? $ns / $d->{interval}{duration_ns} : 0;
}

sub told { diag $_ for sentences(@_); return }

# Where the end is said to be exact, the pixels say the same; elsewhere it is within a frame.
sub agrees {
	my ($what, $w, @of) = @_;
	my $name = $w->{name};
	my @seen = pixels($w->{pixels}) or return fail("$w->{pixels}: $!");
	my ($exact, $near, $n, @off) = (0, 0, 0);
	for my $d (grep { $_->{interval} && $_->{interval}{certainty} ne 'open' } @of) {
		my ($from, $end) = @{ $d->{interval} }{qw(start_ns end_ns)};
		my ($next) = sort { $a <=> $b } grep { $_ > $from } map { $_->{interval}{start_ns} } @of;
		# The last change that the answer brought: the client draws in one piece.
		my ($change) = grep { $_->[0] > $from && (!defined $next || $_->[0] < $next) } @seen;
		next if !$change;
		$n++;
		my $off = $end - $change->[0];
		my $is =
			($d->{interval}{certainty} eq 'exact' || $d->{event}{stages}[-1]{certainty} eq 'exact');
		push @off, sprintf '%.3f%s', $off / 1e6, $is ? '' : '?';
		$exact++ if abs $off <= $WITHIN;
		$near++  if abs $off <= $FRAME;
	}
	note "$name, $what: ms after the pixels (?: inferred): @off";
	my @sure = sort { $a <=> $b } grep { !/\?/ } @off;
	row(
		$name, "ends, $what", $n, right => $near, exact => $exact, sure => scalar @sure,
		ms => @sure ? [ @sure[ 0, $#sure / 2, -1 ] ] : []
	);
	is($near,  $n, "$what: each end is within a frame of the pixels") or diag "@off";
	is($exact, $n, "$what: ... within 0.1 ms of them")
		or diag "@off"
		if !$COMPOSITOR{$name}{whole} && !$COMPOSITOR{$name}{presents};
	return;
}
