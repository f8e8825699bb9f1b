#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Rows of docs/causes.md that need a machine of their own, each tried once in one boot of Debian's
# kernel and judged here, with its verdict and sentence as printed. TIPME_CAUSES=43,44: these rows,
# in this order; TIPME_CAUSES_KEEP=FOLDER: keeps the episodes there; TIPME_CAUSES_SAID=FILE: what is
# said goes there (tests/causes/page).
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Copy       qw(copy);
use File::Path       qw(make_path);
use File::Temp       qw(tempdir);
use FindBin;
use Test::More;
use Time::HiRes qw(sleep time);
use lib "$FindBin::Bin/lib", map {"$FindBin::Bin/../$_"} qw(lib causes/lib lab/lib ../helper/demo);
use Tipme::Desktop    qw(build_drivers start_recorder hot_key no_complaint);
use Tipme::LabMachine qw($AS_USER);
use Tipme::RowSaid;
use Tipme::Suffered;
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

my $ME         = 'notesd';
my $EPISODES   = '/var/lib/tipme/1000';
my $DISK_BYTES = 2 << 30;               # what the machine hands out, on a disk that is mostly holes
my $TAKEN      = 0.25;                  # of the time: the machine's threads waited for a CPU
my @rows       = $ENV{TIPME_CAUSES} ? split /,/, $ENV{TIPME_CAUSES} : Tipme::Suffered::rows();
for my $kernel (split ' ', $ENV{TIPME_TEST_KERNELS} // '6.1') {
	subtest "Debian's kernel $kernel" => sub { on_kernel($kernel) };
}
done_testing;

sub on_kernel {
	my ($kernel) = @_;
	my ($vm, $why) = machine($kernel);
	plan skip_all => $why if !$vm;
	my $out = tempdir(CLEANUP => 1) . '/out';
	hand_out($vm, $out);
	my $said = Tipme::Suffered::prepare_first($vm);
	start_recorder($vm);
	$said .= Tipme::Suffered::prepare($vm);
	diag $said if $said =~ /\S/;
	my @staged;

	for my $row (@rows) {
		my ($from, $without) = (time, without_cpu($vm));
		my $is = eval { staged($vm, $row) } // { failed => $@ };
		$is->{without_cpu} = (without_cpu($vm) - $without) / (time - $from);
		note sprintf '%s: %.0f s %s', $row, time - $from, $is->{failed} // $is->{left_out} // '';
		my $r = { row => $row, %$is };
		push @staged, $r;
		my $dir = $vm->alive ? eval { received($vm, $out, $r->{episode}) } : undef;
		judge($dir, $r);
		diag(table_line($r));
		last if !$vm->alive;
		eval { end_all($vm); 1 } or diag $@;
	}
	no_complaint($vm) if $vm->alive;
	$vm->close;
	diag($_) for map { table_line($_) } @staged;
	return;
}

# The machine, or (undef, why not).
sub machine {
	my ($kernel) = @_;
	my ($payload, $why) = Tipme::LabMachine::payload($kernel, 'bpf');
	return (undef, $why) if !$payload;
	my ($driver) = grep {/tipme_test_devices/} my @drivers = build_drivers($kernel);
	return (undef, 'the drivers that pretend could not be built') if !$driver;
	copy($_, "$payload/opt/lab/") or BAIL_OUT("$_: $!") for grep { !/idle/ } @drivers;
	my $said = qx{"$FindBin::Bin/mkmodules" $kernel "$payload" @Tipme::Suffered::MODULES 2>&1};
	$? == 0 or BAIL_OUT($said);
	btrfs_programs("$payload/opt/lab");
	return Tipme::VM->new(kernel => $kernel, payload => $payload);
}

# The programs of btrfs, where a mirror of Debian is in reach.
sub btrfs_programs {
	my ($to) = @_;
	my $cache = ($ENV{XDG_CACHE_HOME} // "$ENV{HOME}/.cache") . '/tipme/btrfs';
	if (!-e "$cache/mkfs.btrfs") {
		my $dir = tempdir(CLEANUP => 1);
		system("cd '$dir' && apt-get -qq -o APT::Sandbox::User=root download btrfs-progs liblzo2-2 "
				. '>/dev/null 2>&1 && for f in *.deb; do dpkg-deb -x $f .; done') == 0
			or return;
		make_path($cache);
		copy($_, $cache)
			for glob
			"$dir/bin/mkfs.btrfs $dir/bin/btrfs $dir/sbin/mkfs.btrfs $dir/lib/*/liblzo2.so.2 "
			. "$dir/usr/lib/*/liblzo2.so.2";
	}
	for (glob "$cache/*") {
		copy($_, $to);
		chmod 0755, map {"$to/$_"} m{([^/]+)\z};
	}
	return;
}

# One more disk, by which the machine hands out what it has recorded.
sub hand_out {
	my ($vm, $file) = @_;
	open my $h, '>', $file or BAIL_OUT("$file: $!");
	truncate $h, $DISK_BYTES or BAIL_OUT("$file: $!");
	close $h;
	$vm->monitor("drive_add 0 if=none,id=out,format=raw,file=$file");
	$vm->monitor('device_add virtio-blk-pci,drive=out,id=outdisk');
	$vm->wait_for('the disk is there', 'test -b /dev/vdc');
	return;
}

# The folder that has this episode, which the machine adds to those that it has handed out.
my ($kept, $how);

sub received {
	my ($vm, $file, $episode) = @_;
	return if !defined $episode;
	$kept //= $ENV{TIPME_CAUSES_KEEP} // tempdir(CLEANUP => 1);
	make_path($kept);
	my $write = $how ? '-rf' : '-cf';
	$how = 1;
	my ($said, $rc) = $vm->run(
		"tar -C $EPISODES $write /dev/vdc $episode && sync && blockdev " . '--flushbufs /dev/vdc');
	$rc == 0                                                or diag $said;
	system('tar', '-C', $kept, '-xf', $file, $episode) == 0 or diag "$episode: not handed out";
	return $kept;
}

# One row: { episode, at, span } or { left_out => why }.
sub staged {
	my ($vm, $row) = @_;
	my $s = Tipme::Suffered::scene($row)
		// die "no row $row: one of @{[Tipme::Suffered::rows()]}\n";
	my $why = $s->{needs} ? $s->{needs}->($vm) : '';
	return { left_out => $why } if $why;
	$vm->run('rm -f /dev/shm/truth; install -m 666 /dev/null /dev/shm/truth');
	$s->{before}->($vm) if $s->{before};
	my ($at, $took, $failed);
	client($vm, $s, ref $s->{deeds} ? $s->{deeds}->($vm) : $s->{deeds});
	$vm->press(qw(d d d));
	my ($before, $there) = map { $s->{$_} ? $s->{$_}->($vm) : undef } qw(beside there);
	$s->{begin}->($vm) if $s->{begin};
	# The monitor alone: what is done behind the press is not to come later than it must.
	$vm->monitor('sendkey x');
	$s->{pressed}->($vm) if $s->{pressed};
	($at, $took) = answered($vm, $s) or $failed = 'no answer';
	my $beside = $s->{beside} ? $s->{beside}->($vm) - $before : undef;
	my $grown  = $s->{there}  ? $s->{there}->($vm) - $there   : undef;
	sleep 0.7;
	my ($episode) = hot_key($vm) =~ m{([^/]+)\z};
	$s->{after}->($vm) if $s->{after};
	return {
		episode   => $episode, at    => $at, took_ms => $took, failed => $failed,
		beside_ms => $beside,  there => $grown
	};
}

sub client {
	my ($vm, $s, $deeds) = @_;
	$vm->run("setsid $AS_USER /opt/lab/lab-client -n $ME -d '$deeds' > /dev/shm/client 2>&1 &");
	my ($pid) = $vm->wait_for('the client runs', "pgrep -n -x -r D,R,S $ME") =~ /(\d+)/;
	$vm->wait_for(
		'it has a window',
		$vm->as_user('xwininfo -root -tree | grep tipme-stage | grep -v XTerm')
	);
	$vm->run("taskset -a -p -c 0 $pid") if $s->{cpu0};
	return;
}

# When the client began what it does for the key, and for how many ms it did.
sub answered {
	my ($vm) = @_;
	my $told = 'grep ^span /dev/shm/truth | tail -n 1';
	Tipme::Suffered::within($vm, "$told | grep -q .") or return;
	my ($from, $to) = $vm->run($told) =~ /^span \S+ \d+ \d+ (\d+) (\d+)/m;
	return $from ? ($from, ($to - $from) / 1e6) : ();
}

# For how many seconds the emulator's threads have waited for a CPU of this host.
sub without_cpu {
	my ($vm) = @_;
	my $ns = 0;
	for my $file ($vm->{pid} ? glob "/proc/$vm->{pid}/task/*/schedstat" : ()) {
		open my $h, '<', $file or next;
		$ns += (split ' ', <$h> // '')[1] // 0;
	}
	return $ns / 1e9;
}

sub end_all {
	my ($vm) = @_;
	$vm->wait_for(
		'all have ended',
		"pkill -KILL -x '$ME|pointer'; sleep 0.3; ! ps -C $ME -o state= | grep -q '[^Z ]'"
	);
	return;
}

sub judge {
	my ($dir, $r) = @_;
	my $s = Tipme::Suffered::scene($r->{row});
SKIP: {
		skip "$r->{row}: $r->{left_out}", 1 if defined $r->{left_out};
		if (!defined $r->{episode} || !$dir) {
			$r->{says} = 'not staged: ' . ($r->{failed} // 'no episode') =~ s/\s+/ /gr;
			return fail("$r->{row}: $r->{says}");
		}
		my @at   = defined $r->{at} && !$s->{whole} ? ('--at', int $r->{at} + 1_000_000) : ();
		my $home = tempdir(CLEANUP => 1);
		my $text =
			qx{HOME=$home XDG_DATA_HOME=$home "$ENV{TIPME_BUILDDIR}/tipme" diagnose "$dir/$r->{episode}" --json @at 2>&1};
		my $d = eval { Cpanel::JSON::XS->new->decode($text) };
		if (!$d) { $r->{says} = substr $text, 0, 200; return fail("$r->{row}: diagnose") }
		$r->{verdict} = $d->{verdict};
		$r->{says}    = join ' ',  $d->{verdict}{sentence}, @{ $d->{verdict}{circumstances} // [] };
		$r->{wrong}   = join '; ', not_right($s, $d->{verdict}, $r->{says});
		# Who is kept from the CPUs by this host is not judged by what the machine saw.
		# Neither that nor whether the cause was there is a matter of the verdict.
		$r->{void} =
			  defined $r->{there} && !$r->{there} ? 'the cause was not there'
			: $r->{without_cpu} > $TAKEN          ? "this host's CPUs were taken"
			:                                       '';
		Tipme::RowSaid::tried($r->{row}, 'machine', $r->{verdict}, $r->{wrong} ? 0 : 1)
			if !$r->{void};
		skip "$r->{row}: $r->{void}, $r->{says}", 1 if $r->{void};
		is($r->{wrong}, '', "$r->{row}: $s->{says}") or diag "$r->{row}: $r->{says}";
		beside($r) if defined $r->{beside_ms};
	}
	return;
}

# What another has counted of the same wait.
sub beside {
	my ($r)   = @_;
	my $ms    = $r->{verdict}{share_ns} / 1e6;
	my $apart = abs $ms - $r->{beside_ms};
	cmp_ok(
		$apart, '<', 0.2 * $r->{beside_ms},
		sprintf '%s: %.0f ms by us, %d by the counter of another', $r->{row}, $ms, $r->{beside_ms}
	);
	return;
}

sub not_right {
	my ($s, $v, $says) = @_;
	my $who = ($v->{blamed} // {})->{comm} // 'nobody';
	return (
		(grep { $_ eq $v->{kind} } @{ $s->{kinds} }) ? () : "kind $v->{kind}, not $s->{kinds}[0]",
		!$s->{who} || $who eq $s->{who}              ? () : "blames $who, not $s->{who}",
		!$s->{words} || $says =~ $s->{words}         ? () : "does not say $s->{words}",
	);
}

sub table_line {
	my ($r) = @_;
	return sprintf '%3s %-8s %6s ms (%.0f %% without a CPU%s) %s', $r->{row},
		defined $r->{left_out}         ? 'left out'
		: !$r->{verdict} || $r->{void} ? 'void'
		: $r->{wrong}                  ? 'not'
		: 'right',
		defined $r->{took_ms} ? int $r->{took_ms} : '', 100 * $r->{without_cpu},
		defined $r->{there} ? ", counter +$r->{there}" : '',
		$r->{left_out} // $r->{says} // '';
}
