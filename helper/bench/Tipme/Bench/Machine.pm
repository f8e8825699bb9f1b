# SPDX-License-Identifier: GPL-2.0-only
# Facts of the machine and of this process that may explain a difference: all as texts, none of the
# user's. A comparison names those in which two runs differ.
package Tipme::Bench::Machine;

use strict;
use warnings;
use POSIX ();

# facts(folder => where files are made, display => what X server there is): { NAME => TEXT }
sub facts {
	my (%o)   = @_;
	my @uname = POSIX::uname();
	my %f     = (
		kernel    => "$uname[0] $uname[2]", 'kernel build' => $uname[3], architecture => $uname[4],
		processor => _match('/proc/cpuinfo', qr/^(?:model name|Model|cpu model)\s*:\s*(.*)/m),
		'CPUs of the machine'  => POSIX::sysconf(84) // '',    # _SC_NPROCESSORS_ONLN
		'CPUs of this process' => _match('/proc/self/status', qr/^Cpus_allowed_list:\s*(.*)/m),
		memory                 => _memory(),
		'virtual machine' => _text('/proc/cpuinfo') =~ /^flags\s*:.*\bhypervisor\b/m ? 'yes' : 'no',
		'frequency governor' => _first('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor'),
		'clock source'       =>
			_first('/sys/devices/system/clocksource/clocksource0/current_clocksource'),
		'huge pages' => _text('/sys/kernel/mm/transparent_hugepage/enabled') =~ /\[(\w+)\]/
		? $1
		: '',
		mitigations       => _mitigations(),
		distribution      => _match('/etc/os-release', qr/^PRETTY_NAME="?(.*?)"?$/m),
		'file system'     => _file_system($o{folder}),
		'seccomp filters' => _seccomp(),
		'CPU quota'       => _quota(),
		niceness          => getpriority(0, 0) . '',
		'X server'        => $o{display} // '',
	);
	return { map { $_ => $f{$_} } grep { defined $f{$_} && length $f{$_} } keys %f };
}

# display_of(TIPME::DISPLAY): vendor and release of its server, or ''
sub display_of {
	my ($display) = @_;
	my %env = $display->env;
	local $ENV{XAUTHORITY} = $env{XAUTHORITY};
	my $x = eval {
		require X11::Auth;
		require X11::Protocol;
		my ($entry) = X11::Auth->new($env{XAUTHORITY})->get_all;
		X11::Protocol->new($env{DISPLAY}, [ @$entry[ 3, 4 ] ]);
	} or return 'unknown';
	return "$x->{vendor} $x->{release_number}";
}

sub _text {
	my ($path) = @_;
	open my $in, '<', $path or return '';
	local $/;
	return readline($in) // '';
}

sub _first { return _text($_[0])                         =~ /\A\s*(\S[^\n]*)/ ? $1 : '' }
sub _match { my ($path, $what) = @_; return _text($path) =~ $what             ? $1 : '' }

sub _memory {
	return _text('/proc/meminfo') =~ /^MemTotal:\s*(\d+) kB/m ? sprintf '%.1f GB', $1 / 2**20 : '';
}

# Without the many words of each: what is mitigated is in the kernel's build, what is not differs.
sub _mitigations {
	my $on = grep { _first($_) =~ /\AMitigation/ } glob '/sys/devices/system/cpu/vulnerabilities/*';
	my $off =
		grep { _first($_) =~ /\AVulnerable/ } glob '/sys/devices/system/cpu/vulnerabilities/*';
	return "$on on, $off off";
}

sub _file_system {
	my ($folder) = @_;
	my ($best, $kind) = ('', '');
	my $real =
		defined $folder
		? readlink("/proc/self/fd/" . _open_fd($folder)) // $folder
		: return '';
	for (split /\n/, _text('/proc/self/mountinfo')) {
		my ($at, $type) = /\A\S+ \S+ \S+ \S+ (\S+) .*? - (\S+)/ or next;
		my $below = $at eq '/' ? '/' : "$at/";
		next if index("$real/", $below) != 0 || length $at < length $best;
		($best, $kind) = ($at, $type);
	}
	return $kind;
}

my $held;
sub _open_fd { my ($folder) = @_; return opendir($held, $folder) ? fileno $held // -1 : -1 }

sub _seccomp {
	my $status = _text('/proc/self/status');
	return $1 if $status =~ /^Seccomp_filters:\s*(\d+)/m;
	return $status =~ /^Seccomp:\s*(\d+)/m && $1 ? 'some' : '0';
}

# The least share of a CPU that a cgroup of ours, or one above it, may have; either version.
sub _quota {
	my $least;
	for (split /\n/, _text('/proc/self/cgroup')) {
		my ($controllers, $path) = /\A\d+:([^:]*):(.*)/ or next;
		next if length $controllers && $controllers !~ /\bcpu\b/;
		my @roots =
			length $controllers ? glob '/sys/fs/cgroup/{cpu,cpu\,cpuacct}' : '/sys/fs/cgroup';
		for (my $at = $path; length $at; $at =~ s{/[^/]*\z}{}) {
			for my $root (@roots) {
				my ($quota, $period) =
					length $controllers
					? (_first("$root$at/cpu.cfs_quota_us"), _first("$root$at/cpu.cfs_period_us"))
					: split ' ', _first("$root$at/cpu.max");
				next                      if ($quota // '') !~ /\A\d+\z/ || !$period;
				$least = $quota / $period if !defined $least || $quota / $period < $least;
			}
		}
	}
	return defined $least ? sprintf '%.2f CPUs', $least : 'none';
}

1;
