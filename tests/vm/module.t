#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The kernel module on Debian's own kernels, in an emulated machine: loaded and unloaded, failing at
# each step of its beginning, beside the tracing programs on the same activity, triggered by sysctl
# and by a key on the console, and under the recorder with a verdict. In CI it is loaded on one
# kernel, and runs beside the programs or under the recorder: the commit's hash draws which.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Path       qw(make_path);
use FindBin;
use Test::More;
use Time::HiRes qw(sleep);
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop  qw(build_module ok_run show_console parts to_its_end);
use Tipme::Drawn    qw(commit seed_of some);
use Tipme::Hardship qw(each_part_fails);
use Tipme::VM;

my $left_out = Tipme::VM::left_out('in part');
plan skip_all => $left_out if $left_out;

my ($top, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
my $json    = Cpanel::JSON::XS->new;
my @kernels = split ' ', $ENV{TIPME_TEST_KERNELS} // (Tipme::VM::thin() ? '6.12' : '6.1 6.12');
# The parts that are not asked for say so.
$ENV{TIPME_TEST_PARTS} //= join '|', 'loading',
	some(seed_of(commit($top)), 1, 'both at once', 'the recorder$')
	if Tipme::VM::thin();
my $rounds = Tipme::VM::thin() ? 1 : 5;
for my $kernel (@kernels) {
	to_its_end("Debian's kernel $kernel", sub { on_kernel($kernel) });
}
done_testing;

# What goes into the machine: tipme, installed, and in /opt the module and the tools of this test.
sub payload {
	my ($kernel) = @_;
	my $dir = Tipme::Desktop::payload();
	my ($module, $why) = build_module($kernel);
	return (undef, $why) if !$module;
	make_path("$dir/opt");
	system('cp', $module, "$dir/opt/tipme.ko") == 0
		&& system(
		'cp', "$build/helper/test/ksrc-dump", "$top/helper/test/compare-sources",
		(grep {-e} '/usr/bin/evtest'), "$dir/opt"
		) == 0
		or BAIL_OUT('payload');
	return $dir;
}

sub on_kernel {
	my ($kernel) = @_;
	my ($payload, $why) = payload($kernel);
	plan skip_all => $why if !$payload;
	my $vm = Tipme::VM->new(kernel => $kernel, payload => $payload);
	# After the first, the second may be left out; those of the recorder go together.
	parts(
		$vm, [ 'loading', \&loading ], [ 'both at once', \&alike ],
		[ 'input beside evtest', \&input ], [ 'the recorder', \&recorder ], [ 'sysctl', \&sysctl ],
		[ 'key on the console',  \&console_key ], [ 'the recorder is gone', \&without_recorder ],
		[ 'unloading',           \&unloading ]
	);
	$vm->close;
}

sub loading {
	my ($vm) = @_;
	ok_run($vm, 'insmod /opt/tipme.ko', 'it loads');
	like(scalar $vm->run('ls -l /dev/tipme'), qr/^crw-------/, 'its device is root\'s alone');
	like(
		scalar $vm->run('ls -l /proc/sys/kernel/tipme/trigger'), qr/^--w--w--w-/,
		'nobody may read the trigger; who may trigger, trigger_group says'
	);
	ok_run($vm, 'rmmod tipme', 'it unloads');
	each_part_fails($vm);
	# The programs beside it are verified each time, which takes an emulated machine on a busy host
	# a minute: one answer a round.
	ok_run(
		$vm,
		'insmod /opt/tipme.ko && timeout 500 /opt/ksrc-dump -q -s 1 -S module >/dev/null 2>&1 && '
			. 'rmmod tipme',
		"loaded, recording, unloaded (round $_)"
	) for 1 .. $rounds;
	ok_run($vm, 'insmod /opt/tipme.ko', 'and loaded again');
	return;
}

# The same activity, recorded by both at once.
sub alike {
	my ($vm) = @_;
	my $out = ok_run($vm, <<'END', 'both record');
cd /tmp
rm -f hold; mkfifo hold
/opt/ksrc-dump -p -n -S module < hold > module.txt 2> module.err & m=$!
/opt/ksrc-dump -p -n -S bpf < hold > bpf.txt 2> bpf.err & b=$!
exec 3> hold
until grep -q ready module.err && grep -q ready bpf.err; do kill -0 $m && kill -0 $b || break; sleep 0.1; done
for i in 1 2 3 4 5 6 7 8 9 10; do sh -c 'sleep 0.02; ls / >/dev/null'; done; dd if=/dev/vdb of=/dev/null bs=64k count=100 iflag=direct 2>/dev/null; sh -c 'kill -TERM $$'
echo 3 > /proc/sys/vm/drop_caches; perl -MPOSIX -e 1
sleep 1; exec 3>&-
wait $m; wait $b; cat module.err bpf.err; grep -q ^coverage module.txt && grep -q ^coverage bpf.txt
END
	unlike($out, qr/cannot record/, 'neither was refused');
	my ($text, $rc) = $vm->run('perl /opt/compare-sources /tmp/module.txt /tmp/bpf.txt');
	is($rc, 0, 'module and tracing programs tell the same') or diag $text;
	note $text;
	my ($switches) = $text =~ /^sched_switch +(\d+) alike/m;
	cmp_ok($switches // 0, '>', 200, 'of many switches');
	cmp_ok(
		($text =~ /^memory_wait +(\d+) alike/m)[0] // 0, '>', 5,
		'and of page faults that had to read'
	);
	like(
		scalar $vm->run('grep ^stats /tmp/module.txt'), qr/ pool=0 nested=0 missed=0 /,
		'the module lost nothing'
	);
	like(scalar $vm->run('grep "^copy" /tmp/module.txt'), qr/ torn=0 cut=0 /, 'its copy is whole');
	my ($stacks) = $vm->run("perl -ne '/ sched_waking .* stack_id=([1-9]\\d*)/ and \$n{\$1}++; END "
			. "{ print scalar(keys %n), \"\\n\" }' /tmp/module.txt") =~ /(\d+)/;
	cmp_ok($stacks, '>', 3, "sleepers have stacks ($stacks distinct)");
	pictures($vm);
	return;
}

# A thread that sleeps in both pictures sleeps in the same function, and is described alike.
sub pictures {
	my ($vm) = @_;
	my $text = $vm->run(<<'END');
cat > /tmp/pictures.pl <<'PERL'
my (@of, @stack);
for my $i (0, 1) {
	open my $h, '<', $ARGV[$i] or die;
	while (<$h>) {
		$stack[$i]{$1} = $2 if /^name stack .*?stack_id=(\d+) .*?text=(\S+)/;
		next if !/^switches=(\d+) thread /;
		my %f = (switches => $1, /(\w+)=(\S+)/g);
		$of[$i]{$f{tid}} = \%f;
	}
}
my ($same, %bad) = 0;
for my $tid (sort { $a <=> $b } keys %{ $of[0] }) {
	my ($x, $y) = ($of[0]{$tid}, $of[1]{$tid});
	next if !$y || $x->{switches} != $y->{switches} || $x->{state} ne $y->{state} || $x->{state} !~ /sleep|idle/;
	$same++;
	for my $field (qw(pid ppid start_ns uid prio comm flags cgroup cpus_allowed ns_tid)) {
		push @{ $bad{$field} }, "$tid: $x->{$field} not $y->{$field}" if $x->{$field} ne $y->{$field};
	}
	my ($s, $t) = map { $stack[$_]{ $of[$_]{$tid}{stack_id} } // '' } 0, 1;
	push @{ $bad{stack} }, "$tid: $s not $t" if $s ne $t;
}
print "$same sleepers\n";
print "$_: @{ $bad{$_} }[0]\n" for sort keys %bad;
PERL
perl /tmp/pictures.pl /tmp/module.txt /tmp/bpf.txt
END
	my ($n) = $text =~ /^(\d+) sleepers/;
	cmp_ok($n // 0, '>', 20, 'both pictures have the sleepers') or diag $text;
	is($text =~ s/^\d+ sleepers\n//r, '', 'and describe them alike, stacks included');
	return;
}

# evtest prints the time that the kernel's input core has put on each event, by the clock of the
# day: the same presses, in the same order, at the same time.
sub input {
	my ($vm) = @_;
	plan skip_all => 'evtest is not installed' if !-e '/usr/bin/evtest';
	my $presses = 20;
	ok_run($vm, <<'END', 'both listen');
cd /tmp
cat > clocks.pl <<'PERL'
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC CLOCK_REALTIME);
# The pair whose halves are nearest to each other.
my ($best, $offset) = 1;
for (1 .. 200) {
	my ($a, $r, $b) = (clock_gettime(CLOCK_MONOTONIC), clock_gettime(CLOCK_REALTIME), clock_gettime(CLOCK_MONOTONIC));
	($best, $offset) = ($b - $a, $r - ($a + $b) / 2) if $b - $a < $best;
}
printf "%.6f\n", $offset;
PERL
kbd=$(readlink -f /dev/input/by-path/*i8042*-event-kbd)
basename $kbd > keyboard
perl clocks.pl > offset
rm -f keys; mkfifo keys
setsid sleep 600 > keys & echo $! > holder
setsid /opt/ksrc-dump -S module -c input < keys > input.txt 2> input.err &
setsid stdbuf -oL /opt/evtest $kbd > evtest.txt 2>&1 & echo $! > evtest.pid
for i in $(seq 100); do grep -q ready input.err && grep -q 'interrupt to exit' evtest.txt && break; sleep 0.2; done
grep -q ready input.err && grep -q 'interrupt to exit' evtest.txt
END
	$vm->press(('k') x $presses);
	$vm->wait_for(
		'the last key is up',
		"test \$(grep -c 'EV_KEY.*value 0' /tmp/evtest.txt) -ge $presses"
	);
	$vm->run(
		'cd /tmp; kill $(cat evtest.pid) $(cat holder); for i in $(seq 100); do grep -q ^coverage '
			. 'input.txt && break; sleep 0.2; done; perl clocks.pl >> offset');
	my ($device, @offset) = map {/(\S+)/g} scalar $vm->run('cat /tmp/keyboard'),
		scalar $vm->run('cat /tmp/offset');
	cmp_ok(abs($offset[0] - $offset[1]), '<', 0.001, 'nobody has set the clock') or diag "@offset";
	my %kind   = (0 => 'key_release', 1 => 'key_press', 2 => 'key_repeat');
	my @theirs = map {
		/^Event: time (\d+\.\d+), type 1 \(EV_KEY\), code \d+ \(KEY_K\), value (\d)/
			? [ $1 - $offset[0], $kind{$2} ]
			: ()
	} split /\n/, $vm->run('cat /tmp/evtest.txt');
	my @ours = map {
		/ input ts_ns=(\d+) .*code=(\d+) device=(\d+) kind=(key_\w+)/ && "event$3" eq $device
			? [ $1 / 1e9, $4, $2 ]
			: ()
	} split /\n/, $vm->run('cat /tmp/input.txt');
	cmp_ok(
		scalar(grep { $_->[1] eq 'key_press' } @theirs), '==', $presses,
		"evtest saw $presses presses"
	);
	is_deeply(
		[ map { $_->[1] } @ours ], [ map { $_->[1] } @theirs ],
		'the module recorded them all, and nothing else of this keyboard, in their order'
	);
	is_deeply([ grep { $_->[2] } @ours ], [], '... without saying which key');
	my @apart = sort { abs $a <=> abs $b }
		map { 1e6 * ($ours[$_][0] - $theirs[$_][0]) } 0 .. (@ours < @theirs ? $#ours : $#theirs);
	diag sprintf
		'%d key events: ours are %.0f us from those of the input core (median), at most %.0f',
		scalar @apart, $apart[ @apart / 2 ], $apart[-1];
	# One may be interrupted between the two; most are not.
	cmp_ok(abs $apart[ @apart / 2 ], '<', 5000, '... at its own times');
	return;
}

# The members of one group may pull the trigger, and it is limited.
sub sysctl {
	my ($vm) = @_;
	my $had = episodes($vm);
	my $refused =
		$vm->run('runuser -u user -- bash -c "echo 1 > /proc/sys/kernel/tipme/trigger" 2>&1');
	like($refused, qr/not permitted/, 'nobody but root triggers, as long as no group may');
	ok_run(
		$vm,
		'sysctl -q -w kernel.tipme.trigger_group=$(id -g user) || echo $(id -g user) > '
			. '/proc/sys/kernel/tipme/trigger_group',
		'a group is named'
	);
	like(
		scalar $vm->run(
			'runuser -u nobody -- bash -c "echo 1 > /proc/sys/kernel/tipme/trigger" 2>&1'),
		qr/not permitted/, '... others are refused as before'
	);
	ok_run(
		$vm, 'runuser -u user -- sh -c "echo 1 > /proc/sys/kernel/tipme/trigger"',
		'a member without privileges triggers'
	);
	my $dir = new_episode($vm, $had);
	like(
		scalar $vm->run("cat $dir/manifest.json"), qr/"kind" *: *"kernel".*by user 1000/s,
		'the episode says who'
	);
	my $out = $vm->run('runuser -u user -- bash -c "for i in 1 2 3 4 5 6 7 8; do echo 1 > '
			. '/proc/sys/kernel/tipme/trigger; done" 2>&1 | grep -c "temporarily unavailable"');
	cmp_ok($out + 0, '>=', 3, 'a storm of triggers is refused');
	settle($vm);
	return;
}

sub status {
	my ($vm) = @_;
	my $text = $vm->run('tipme status --json');
	return eval { $json->decode($text) } // (diag($text), {});
}

sub episodes {
	my ($vm) = @_;
	return 0 + $vm->run('ls -d /var/lib/tipme/1000/2* 2>/dev/null | wc -l');
}

sub new_episode {
	my ($vm, $had) = @_;
	$vm->wait_for(
		'the episode is saved',
		"sleep 1; test \$(ls -d /var/lib/tipme/1000/2* | wc -l) -gt $had"
	);
	chomp(my $dir = $vm->run('ls -dt /var/lib/tipme/1000/2* | head -1'));
	return $dir;
}

# Nothing is being saved any more, and the recorder's own limit has room again.
sub settle {
	my ($vm) = @_;
	my $last = -1;
	while ((my $now = episodes($vm)) != $last) { $last = $now; sleep 12 }
	return;
}

# VT_ACTIVATE
# On a text console the kernel takes the chord, and nobody else sees the key.
sub console_key {
	my ($vm) = @_;
	my $had = episodes($vm);
	show_console($vm, 2);
	$vm->wait_for('a text console is shown', 'grep -qx tty2 /sys/class/tty/tty0/active');
	$vm->press('ctrl-alt-minus');
	my $dir = new_episode($vm, $had);
	like(
		scalar $vm->run("cat $dir/manifest.json"), qr/"kind" *: *"kernel".*hot-key/s,
		'the key on the console saves an episode'
	);
	show_console($vm, 1);
	settle($vm);
	return;
}

# The story of the chain, with the module as source, and the key taken by the kernel though an X
# server with hooks runs.
sub recorder {
	my ($vm) = @_;
	my ($out, $rc) = $vm->run('echo 1 > /proc/sys/kernel/tipme/trigger');
	like($out, qr/No such device/, 'no trigger while nothing records');
	ok_run($vm, 'systemd-sysusers', 'the user tipmed is made');
	Tipme::Desktop::start_recorder($vm);
	is(status($vm)->{source}, 'kernel_module', 'with the module');
	is(
		status($vm)->{user}, 0 + $vm->run('id -u tipmed'),
		'... as the system user, no longer as root'
	);
	ok_run($vm, "tipme classes $_", "... who may still switch classes ($_)")
		for '-irq -identity', '+irq +identity';
	my $classes = status($vm)->{classes};
	ok($classes->{$_}, "class $_ is recorded, too, by tracing programs beside it")
		for qw(sample identity cpu_throttle);
	$vm->press(qw(h i ret));
	$vm->wait_for('the line is typed', 'grep -qx hi /home/user/typed');
	subtest 'priorities that others set'    => sub { Tipme::Desktop::priorities($vm) };
	subtest 'where others let a thread run' => sub { Tipme::Desktop::affinities($vm) };
	my $xterm = Tipme::Desktop::pid_of($vm, 'xterm');
	$vm->run("kill -STOP $xterm");
	$vm->press('x');
	sleep 2;
	my $at = Tipme::Desktop::now($vm);
	sleep 1;
	$vm->run("kill -CONT $xterm");
	sleep 1;
	$vm->run('echo 2 > /proc/sys/kernel/tipme/hotkeys');
	my $dir = Tipme::Desktop::hot_key($vm);
	$vm->run('echo 1 > /proc/sys/kernel/tipme/hotkeys');
	like(
		scalar $vm->run("cat $dir/manifest.json"), qr/"kind" *: *"kernel".*hot-key/s,
		'the kernel took the key'
	);
	my $d = Tipme::Desktop::diagnose($vm, $dir, $at) or return;
	is($d->{verdict}{kind},        'stopped', "verdict: $d->{verdict}{sentence}");
	is($d->{verdict}{blamed}{pid}, $xterm,    'the terminal is named')
		or diag scalar $vm->run("tipme diagnose $dir --at $at");
	beside($vm, $dir);
	is(
		$vm->run("od -An -tu4 -j20 -N4 $dir/kernel.rec") + 0, 2,
		'the records say that the module made them'
	);
	settle($vm) if !Tipme::VM::thin();
	return;
}

# What only the tracing programs can record is in the episode, and with names.
sub beside {
	my ($vm, $dir) = @_;
	my $m       = $json->decode(scalar $vm->run("cat $dir/manifest.json"));
	my %source  = map { +"$_->{source} $_->{file}" => $_ } @{ $m->{sources} };
	my $samples = 0;
	$samples += $_->{records} for @{ ($source{'kernel_bpf kernel.rec'} // {})->{coverage} };
	cmp_ok($samples, '>', 20, 'the tracing programs beside the module took samples');
	is_deeply(
		[
			grep    { !$_ }
				map { scalar @{ ($source{$_} // {})->{coverage} // [] } }
				'kernel_module kernel.rec', 'tipmed identity.rec'
		],
		[],
		'the module and the lives of processes have coverage'
	);
	# A sample names its stack, and the stack has a name.
	my ($text, $rc) = $vm->run(
		"tipme export $dir --format text -o /tmp/text 2>&1; grep ' sample ' /tmp/text | grep -m 3 "
			. "-E 'kernel_stack_id=[1-9]'; grep -c ' stack ' /tmp/text");
	like($text, qr/kernel_stack_id=[1-9]/, 'samples have stacks') or diag $text;
	return;
}

# An X server's hooks that reach no recorder tell the module of the hot-key, and so whoever records
# with it.
sub without_recorder {
	my ($vm) = @_;
	my ($out, $rc) = $vm->run('rmmod tipme');
	isnt($rc, 0, 'the module stays while the recorder has it open');
	ok_run($vm, 'tipme stop', 'the recorder ends in order');
	$vm->run(<<'END');
cat > /tmp/reader.pl <<'PERL'
sysopen my $h, '/dev/tipme', 2 or die "$!\n";
open my $r, '>', '/tmp/reader.ready'; close $r;
vec(my $for = '', fileno $h, 1) = 1;
if (!select $for, undef, undef, 60) { print "none\n"; exit }
sysread($h, my $event, 24) == 24 or die "$!\n";
my (undef, $reason, $value) = unpack 'Q L L', $event;
print "reason $reason value $value\n";
PERL
rm -f /tmp/hold /tmp/reader.ready; mkfifo /tmp/hold
/opt/ksrc-dump -q -S module < /tmp/hold > /dev/null 2> /tmp/dump.err & dump=$!
exec 3> /tmp/hold
until grep -q ready /tmp/dump.err; do kill -0 $dump || break; sleep 0.1; done
perl /tmp/reader.pl > /tmp/reader.txt 2>&1 & reader=$!
until test -e /tmp/reader.ready; do kill -0 $reader || break; sleep 0.1; done
END
	$vm->press('ctrl-alt-minus');
	is(
		scalar $vm->run('wait $reader; cat /tmp/reader.txt; exec 3>&-; wait $dump'),
		"reason 2 value 1000\n", 'by sysctl, as the user that the X server runs as'
	);
	return;
}

sub unloading {
	my ($vm) = @_;
	ok_run($vm, '! pgrep -x tipmed >/dev/null || tipme stop', 'no recorder has it open');
	ok_run($vm, 'rmmod tipme',                                'then it goes');
	ok_run(
		$vm, 'insmod /opt/tipme.ko && tipme start --owner 1000 && kill -KILL $(pgrep -x tipmed)',
		'a recorder is killed'
	);
	$vm->wait_for('it has gone', '! pgrep -x "tipmed|tipmed-events"');
	ok_run($vm, 'rmmod tipme', '... and leaves nothing behind');
	return;
}
