#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A Wayland compositor with a screen of its own, on Debian's kernels: Weston on the emulated VGA,
# which shows a picture at once, asked in both ways that drm has. What it asks of the screen, and
# when that shows it, is recorded as the kernel's own tracer has it, and a response ends there. It
# begins when the input core has the key. Without the library's probes both are enough to name who
# was slow.
use strict;
use warnings;
use File::Copy qw(copy);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use Time::HiRes qw(sleep);
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib",
	map {"$FindBin::Bin/../../$_"} qw(postmortem/lib abi/generated abi/lib);
use Tipme::Desktop qw(payload pid_of ok_run show_console no_complaint to_its_end);
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::KernelEvents;
use Tipme::Rows qw(keep);
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out                 if $left_out;
plan skip_all => 'weston is not installed' if system 'command -v weston >/dev/null';

my $N            = 20;
my $INTERRUPT_NS = 50_000_000;         # a press lies so long after its interrupt, emulated, at most
my $RUNTIME      = '/run/user/1000';
my $TRACING      = '/sys/kernel/tracing';
my $kept         = "$ENV{TIPME_BUILDDIR}/tests/vm";
# What runs in the terminal: it echoes.
my $ECHO = <<'END';
#!/usr/bin/perl
$| = 1; $0 = 'editor'; system 'stty raw -echo';
while (sysread STDIN, my $c, 1) { print $c }
END
make_path($kept);
for my $kernel (split ' ', $ENV{TIPME_TEST_KERNELS} // '6.1 6.12') {
	to_its_end("Debian's kernel $kernel", sub { on_kernel($kernel) });
}
done_testing;

sub on_kernel {
	my ($kernel) = @_;
	my $payload  = payload();
	my $top      = $ENV{TIPME_SRCDIR};
	my $said     = qx{"$top/tests/vm/mkcompositor" "$payload" 2>&1};
	$? == 0 or die $said;
	make_path("$payload/opt");
	open my $h, '>', "$payload/opt/editor" or die "editor: $!\n";
	print {$h} $ECHO;
	close $h or die "editor: $!\n";
	chmod 0755, "$payload/opt/editor";
	my $vm = Tipme::VM->new(kernel => $kernel, payload => $payload);
	like(scalar $vm->run('uname -r'), qr/^\Q$kernel\E\./, 'it runs');
	ok_run($vm, 'tipme start --owner 1000', 'the recorder starts');
	attached($vm);
	my %w = (vm => $vm, kernel => $kernel);
	compositor(\%w, 'atomic', '');
	quiet(\%w);
	stopped(\%w, $_) for qw(weston client);
	screenshot(\%w);
	# The older way to ask a screen, which Xorg goes, too.
	$vm->run('systemctl stop weston');
	$vm->wait_for('it has ended', '! pgrep -x weston && ! pgrep -x editor');
	compositor(\%w, 'page_flip', '-E WESTON_DISABLE_ATOMIC=1');
	quiet(\%w);
	unprobed(\%w);
	ok_run($vm, 'tipme stop', 'the recorder ends in order');
	no_complaint($vm);
	$vm->close;
	return;
}

# Both probes stand, as the kernel lists them. They come when drm is found, which may take a moment.
sub attached {
	my ($vm) = @_;
	for my $way (qw(atomic page_flip)) {
		my $probe = "grep 'drm_mode_${way}_ioctl.*\\bdrm\\b' /sys/kernel/debug/kprobes/list";
		ok($vm->wait_for("a probe stands at drm's $way", $probe), "a probe stands at drm's $way");
	}
	return;
}

# The compositor that asks its screen in one WAY, and its client
sub compositor {
	my ($w, $way, $option) = @_;
	$w->{way}    = $way;
	$w->{weston} = weston($w->{vm}, $option);
	$w->{client} = pid_of($w->{vm}, 'weston-terminal');
	like(
		scalar $w->{vm}->run('cat /tmp/weston.log'),
		$way eq 'atomic' ? qr/supports atomic/ : qr/does not support atomic/,
		"its way is $way"
	);
	return;
}

# The compositor on a console of its own, as a session of the user; its pid. Who is not shown may
# read no keyboard, and Weston ends without one: so the console comes first.
sub weston {
	my ($vm, $option) = @_;
	$vm->run('rm -f /tmp/weston.log');
	show_console($vm, 7);
	my $card = '$(ls /sys/class/drm | grep -x "card[0-9]" | head -n 1)';
	ok_run(
		$vm,
		'systemd-run --quiet --unit=weston -p User=user -p PAMName=login -p TTYPath=/dev/tty7 '
			. '-p StandardInput=tty-fail -p UtmpIdentifier=tty7 -E XDG_SESSION_TYPE=wayland '
			. "-p TTYReset=yes -p TTYVHangup=yes -p WorkingDirectory=/tmp $option "
			. "weston --backend=drm-backend.so --drm-device=$card --use-pixman "
			. '--shell=kiosk-shell.so --idle-time=0 --socket=wayland-1 --log=/tmp/weston.log',
		'the compositor is started'
	);
	# One that has ended says why, and listens no more.
	my $gone = '! systemctl is-active -q weston';
	$vm->wait_for('the compositor listens', "test -S $RUNTIME/wayland-1 || $gone");
	$vm->wait_for('it has a screen',        "grep -q 'Output .* enabled' /tmp/weston.log || $gone");
	my $ok = ($vm->run('systemctl is-active -q weston'))[1] == 0;
	diag scalar $vm->run('cat /tmp/weston.log; journalctl -u weston --no-pager | tail -20') if !$ok;
	$ok or die "no compositor\n";
	$vm->run( "runuser -u user -- env XDG_RUNTIME_DIR=$RUNTIME WAYLAND_DISPLAY=wayland-1 setsid "
			. 'weston-terminal --shell=/opt/editor > /tmp/terminal.log 2>&1 &');
	$vm->wait_for('the terminal asks', 'pgrep -u user -x editor');
	return pid_of($vm, 'weston');
}

# Keys that nothing disturbs; a tracer beside it is the witness.
sub quiet {
	my ($w) = @_;
	my $vm = $w->{vm};
	# Where the flags stand in what is asked.
	my $at = $w->{way} eq 'atomic' ? 0 : 8;
	ok_run($vm, <<"END", 'the kernel traces the same');
cd $TRACING && echo mono > trace_clock && echo > trace &&
echo 'p:tipme_asks drm_mode_$w->{way}_ioctl flags=+$at(%si):x32' > kprobe_events &&
echo 1 > events/kprobes/tipme_asks/enable && echo 1 > events/drm/drm_vblank_event_delivered/enable
END
	my $from = now_ns($vm);
	for (1 .. $N) { $vm->press('a'); sleep 0.5 }
	my $episode = episode($w, "quiet, $w->{way}");
	my $trace   = $vm->run(
		"cd $TRACING; echo 0 > events/enable; cat trace; echo > kprobe_events; echo > trace");
	like_the_tracer($w, $episode, $from, $trace);
	my $dg    = Tipme::Diagnosis->new(Tipme::Episode->open($episode));
	my @press = presses($dg, $from);
	cmp_ok(scalar @press, '>=', $N, "$N presses are there");
	my $screen = screen($episode);
	my %shown  = map  { $_->{ts_ns} => 1 } @{ $screen->{shown} };
	my @judged = map  { $dg->run(event => $_->{n}) } @press;
	my @known  = grep { $_->{interval} } @judged;
	my @at     = grep { $shown{ $_->{interval}{end_ns} } } @known;
	# What is not as it should be can be looked at then.
	keep($episode, "screen-$w->{kernel}-$w->{way}") if @known < $N;
	# Where the host stands still for seconds, the next key may come before one answer.
	cmp_ok(scalar @known, '>=', $N - 1,     'the answers are known: ' . @known);
	cmp_ok(scalar @at,    '>=', @known - 1, 'the responses end when the screen shows it: ' . @at)
		or diag map { ($_->{verdict}{sentence}, "\n") } @judged;
	# The input core's own time, or that of the interrupt that brought it.
	my @core = @{ core($episode) };
	my @from = grep {
		my ($i, $first) = ($_->{interval}, $_->{event}{stages}[0]);
		$first->{certainty} eq 'exact'
			&& grep { $_ >= $i->{start_ns} && $_ < $i->{start_ns} + $INTERRUPT_NS }
			@core
	} @known;
	cmp_ok(
		scalar @from, '>=', @known - 1,
		'... and begin when the input core had the key: ' . @from
	) or diag explain [ map { $_->{interval} } @known ], \@core;
	my @ms = sort { $a <=> $b } map { $_->{interval}{duration_ns} / 1e6 } @at;
	note sprintf '%d presses: %.1f to %.1f ms, median %.1f', scalar @ms, @ms[ 0, -1, @ms / 2 ]
		if @ms;
	my @accused = grep { $_->{verdict}{kind} ne 'none' } @judged;
	note scalar(@accused), ' accused: ', map { ($_->{verdict}{sentence}, "\n") } @accused;
	return;
}

# Each event of the tracer's has its record, and the other way round; also what was asked.
sub like_the_tracer {
	my ($w, $episode, $from, $trace) = @_;
	my $screen = screen($episode);
	my @seq    = map { /drm_vblank_event_delivered: .*seq=(\d+)/ ? $1 : () } split /\n/, $trace;
	cmp_ok(scalar @seq, '>=', $N, 'the screen has shown pictures: ' . @seq . ' by the tracer');
	is(
		join(' ', map { $_->{sequence} } grep { $_->{ts_ns} >= $from } @{ $screen->{shown} }),
		join(' ', @seq), 'shown: each of them is recorded'
	);
	my $asked = () = $trace =~ /tipme_asks: .*flags=0x[0-9a-f]*[13579bdf]\b/g;
	my %by    = map  { $_->{number} => $_ } @{ $screen->{asked} };
	my @since = grep { $_->{ts_ns} >= $from } @{ $screen->{asked} };
	is(scalar @since,                               $asked, "asked: $asked by the tracer");
	is((grep { $_->{pid} != $w->{weston} } @since), 0,      '... by the compositor');
	is(
		scalar(
			grep { !$by{ $_->{number} } || $by{ $_->{number} }{ts_ns} > $_->{ts_ns} }
			grep { $_->{ts_ns} >= $from } @{ $screen->{shown} }
		),
		0,
		'what is shown was asked for before'
	);
	return;
}

# The same compositor, once more recorded, but its library is one that others can change: so it is
# not probed.
sub unprobed {
	my ($w) = @_;
	my $vm = $w->{vm};
	ok_run($vm, 'tipme stop',                                  'the recorder ends');
	ok_run($vm, 'chmod o+w /usr/lib/*/libwayland-server.so.0', 'others can change the library');
	my ($said, $rc) = $vm->run('tipme start --owner 1000');
	is($rc, 0, 'it is refused') or diag $said;
	like($said, qr/Wayland compositors/, '... aloud');
	attached($vm);
	stopped($w, $_, 'without probes, ') for qw(client weston);
	my $ev = Tipme::KernelEvents->load_only(
		Tipme::Episode->open($w->{copy}),
		$Tipme::Record::Columns::NUMBER{wl_deliver}
	);
	is($ev->count, 0, 'no record of the library is there');
	return;
}

# When the input core had presses of keys, ns
sub core {
	my ($episode) = @_;
	my $ev = Tipme::KernelEvents->load_only(
		Tipme::Episode->open($episode),
		$Tipme::Record::Columns::NUMBER{input}
	);
	return [
		map  { $ev->ts($_) }
		grep { ($ev->input_kind($_) // '') eq 'key_press' } 0 .. $ev->count - 1
	];
}

# The compositor, or its client, is stopped.
sub stopped {
	my ($w, $whom, $how) = @_;
	my $vm = $w->{vm};
	$how //= '';
	# What is usual is told by others.
	for (1 .. 3) { $vm->press('a'); sleep 0.5 }
	my $from = now_ns($vm);
	$vm->run("kill -STOP $w->{$whom}");
	$vm->press('b');
	sleep 3;
	$vm->run("kill -CONT $w->{$whom}");
	sleep 2;
	my $episode = episode($w, "stopped-$whom");
	my $dg      = Tipme::Diagnosis->new(Tipme::Episode->open($episode));
	my @j       = map { $dg->run(event => $_->{n}) } presses($dg, $from);
	my ($j)     = sort { $b->{interval}{duration_ns} <=> $a->{interval}{duration_ns} } @j;
	$j or return fail("$whom is stopped: there is a press");
	is($j->{verdict}{kind},        'stopped', "$how$whom is stopped: $j->{verdict}{sentence}");
	is($j->{interval}{certainty},  $how ? 'inferred' : 'exact', '... and how sure that is');
	is($j->{verdict}{blamed}{pid}, $w->{$whom},                 '... and named');
	my %shown = map { $_->{ts_ns} => 1 } @{ screen($episode)->{shown} };
	ok($shown{ $j->{interval}{end_ns} }, '... up to when the screen shows it');
	return if $how;
	ok_run(
		$vm, "tipme timeline $w->{episode} --event $j->{event}{n} -o /tmp/t.png",
		'there is a timeline of it'
	);
	kept($w, '/tmp/t.png', "screen-$w->{kernel}-$whom-timeline.png");
	return;
}

# What the screen would show, by the compositor's own key for that.
sub screenshot {
	my ($w) = @_;
	my $vm = $w->{vm};
	$vm->press('meta_l-s');
	my $took = eval {
		$vm->wait_for(
			'the picture of the screen',
			'sleep 1; test -s "$(ls /tmp/wayland-screenshot*.png | head -n 1)"'
		);
		1;
	};
	ok($took, 'the compositor has a picture of its screen')
		or diag scalar $vm->run('tail -n 5 /tmp/weston.log; ls -la /tmp');
	$vm->run('mv /tmp/wayland-screenshot*.png /tmp/screen.png');
	kept($w, '/tmp/screen.png', "screen-$w->{kernel}.png") if $took;
	return;
}

sub kept {
	my ($w, $file, $name) = @_;
	$w->{vm}->run("rm -rf /tmp/kept; mkdir /tmp/kept; cp $file /tmp/kept/");
	my $dir = $w->{vm}->fetch('/tmp/kept', tempdir(CLEANUP => 1));
	ok(copy((glob "$dir/*.png")[0] // '', "$kept/$name"), "kept: $kept/$name");
	return;
}

# Saves what was recorded; a copy of it here.
sub episode {
	my ($w,    $name) = @_;
	my ($said, $rc)   = $w->{vm}->run_piped('tipme snap');
	is($rc, 0, "$name: saved")       or diag $said;
	my ($id) = $said =~ m{^(/\S+)$}m or die "no episode: $said\n";
	$w->{vm}->wait_for('it is written', "test -e $id/manifest.json");
	$w->{episode} = $id;
	return $w->{copy} = $w->{vm}->fetch($id, tempdir(CLEANUP => 1));
}

sub presses {
	my ($dg, $from) = @_;
	return grep {
			   $_->{kind} eq 'key_press'
			&& $_->{device_ns} >= $from
			&& ($_->{server}{source} // '') eq 'wayland'
	} $dg->events;
}

# Records of the screen, in order of time
sub screen {
	my ($episode) = @_;
	my %number    = map { $_ => $Tipme::Record::Columns::NUMBER{$_} } qw(screen_asked screen_shown);
	my $ev        = Tipme::KernelEvents->load_only(Tipme::Episode->open($episode), values %number);
	my %of        = (asked => [], shown => []);
	for my $i (0 .. $ev->count - 1) {
		my $shown = $ev->kind($i) == $number{screen_shown};
		push @{ $of{ $shown ? 'shown' : 'asked' } },
			{
			ts_ns  => $ev->ts($i),
			pid    => $shown ? $ev->screen_shown_pid($i)    : $ev->screen_asked_pid($i),
			number => $shown ? $ev->screen_shown_number($i) : $ev->screen_asked_number($i),
			$shown ? (sequence => $ev->screen_shown_sequence($i)) : ()
			};
	}
	return \%of;
}

sub now_ns {
	my ($vm) = @_;
	return $vm->run('perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e '
			. q{'printf "%d\n", 1e9 * clock_gettime(CLOCK_MONOTONIC)'}) =~ /(\d+)/ ? $1 : 0;
}
