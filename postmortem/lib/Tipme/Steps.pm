# SPDX-License-Identifier: GPL-2.0-only
# After a verdict: commands that this very system has, each marked as a look, a try or a cure, and
# with how to undo it.
package Tipme::Steps;

use strict;
use warnings;
use Exporter qw(import);
use Tipme::Living;
use Tipme::Machine;
use Tipme::Printable qw(one_line);
use Tipme::Reason    qw(args_of code_of tags_of);
use Tipme::Words     qw(N__ fill);

our @EXPORT_OK = qw(steps);

my $MOST = 3;    # commands that a person is told to try
# Where commands are that an ordinary user may not have in his path.
my @MORE_PATHS = qw(/usr/local/sbin /usr/sbin /sbin /usr/local/bin /usr/bin /bin);

# A table: [ KIND, condition (a reason's code, a sub of verdict, values and code, or undef),
# command, mark, undo ]. Words in braces are filled in; a line of which one is not known is left
# out, as of a process that is not there any more. What changes a setting says with what it is
# undone: with what the machine or the process had. {as} is sudo where the process is another
# user's.
my $SEE   = 'ps -o pid,stat,wchan:24,etime,args -p {pid}';
my $NAME  = '"$(cat /sys/block/{encrypted}/dm/name)"';
my $TOP   = '"$(findmnt -nfo TARGET -t btrfs)"';
my $PERF  = 'sudo perf record -g -p {pid} -- sleep 10';
my @STEPS = (
	[ 'writeback', undef, 'grep -E "^(Dirty|Writeback):" /proc/meminfo', 'look' ],
	[
		'writeback',
		sub {
			!grep { $_ // 1 } @{ $_[1] }{qw(dirty_bytes dirty_background_bytes)};
		},
		'sudo sysctl vm.dirty_bytes=268435456 vm.dirty_background_bytes=67108864',
		'try',
		'sudo sysctl vm.dirty_ratio={dirty_ratio} '
			. 'vm.dirty_background_ratio={dirty_background_ratio}'
	],
	[
		'cpu-penalty',                              sub { ($_[1]{split_lock_mitigate} // 1) == 1 },
		'sudo sysctl kernel.split_lock_mitigate=0', 'try',
		'sudo sysctl kernel.split_lock_mitigate=1'
	],
	[ 'network-wait', 'wait-nfs', 'findmnt -t nfs,nfs4', 'look' ],
	[ 'network-wait', 'wait-smb', 'findmnt -t cifs',     'look' ],
	[
		'cpu-slow', undef, 'powerprofilesctl set performance', 'try',
		'powerprofilesctl set {power_profile}'
	],
	[ 'cpu-slow', undef, 'sensors', 'look' ],
	[
		'cpu-slow', sub { defined $_[1]{governor} },
		'grep . /sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq', 'look'
	],
	[ 'stopped',        \&_is_still, '{as}kill -CONT {pid}', 'cure', '{as}kill -STOP {pid}' ],
	[ 'cpu-contention', 'had-cpu-firmware', 'grep . /sys/firmware/acpi/interrupts/gpe*', 'look' ],
	[ 'cpu-contention', 'had-cpu-work',     'cat /proc/interrupts',                      'look' ],
	[
		'cpu-contention',
		sub { $_[2] !~ /^had-cpu-(?:firmware|work)\z/ && _is_less($_[1]{nice}, 19) },
		'{as}renice -n 19 -p $(ls /proc/{pid}/task)',
		'try', 'sudo renice -n {nice} -p $(ls /proc/{pid}/task)'
	],
	[
		'cpu-weight', sub { $_[2] eq 'wait-cpu' && _is_less(0, $_[1]{nice}) },
		'sudo renice -n 0 -p $(ls /proc/{pid}/task)', 'try',
		'{as}renice -n {nice} -p $(ls /proc/{pid}/task)'
	],
	[ 'cpu-weight',    undef, 'systemd-cgtop --iterations=2', 'look' ],
	[ 'cpu-throttled', undef, 'systemd-cgtop --iterations=2', 'look' ],
	[
		'rt-starvation', sub { $_[1]{rt} }, '{as}chrt -o -a -p 0 {pid}', 'try',
		'sudo chrt {policy} -a -p {rt} {pid}'
	],
	[ 'rt-starvation',      undef, 'ps -eLo rtprio,cls,pid,comm --sort=-rtprio', 'look' ],
	[ 'priority-inversion', undef, 'ps -eLo rtprio,cls,pid,comm --sort=-rtprio', 'look' ],
	[
		'disk-io', 'disk-ahead', '{as}ionice -c 3 -p {pid}', 'try',
		'{as}ionice -c {io_class}{io_level_of} -p {pid}'
	],
	[
		'disk-io', sub { defined $_[1]{encrypted} },
		"sudo cryptsetup refresh --perf-no_read_workqueue --perf-no_write_workqueue $NAME",
		'try', "sudo cryptsetup refresh $NAME"
	],
	[ 'disk-io', sub { $_[2] eq 'wait-btrfs' }, 'findmnt -t btrfs', 'look' ],
	[
		'disk-io', sub { $_[2] eq 'wait-btrfs' && @{ $_[1]{btrfs_quotas} // [] } == 1 },
		"sudo btrfs quota disable $TOP", 'try', "sudo btrfs quota enable $TOP"
	],
	[
		'disk-io', sub { $_[0]{disk_pause_ns} && _is_nvme($_[0]) },
		'cat /sys/module/nvme_core/parameters/default_ps_max_latency_us', 'look'
	],
	[
		'disk-io',                       sub { $_[0]{disk_pause_ns} && !_is_nvme($_[0]) },
		'sudo hdparm -C -B /dev/{disk}', 'look'
	],
	[ 'disk-io', sub { $_[0]{reported} }, 'sudo smartctl -a /dev/{disk}', 'look' ],
	[ 'disk-io', undef,                   'iostat -x 1 5',                'look' ],
	[
		'memory-reclaim',
		sub { $_[2] eq 'memory-compaction' && ($_[1]{huge_pages_defrag} // '') eq 'always' },
		'echo madvise | {sudo}tee /sys/kernel/mm/transparent_hugepage/defrag',
		'try',
		'echo {huge_pages_defrag} | {sudo}tee /sys/kernel/mm/transparent_hugepage/defrag'
	],
	[ 'memory-reclaim', undef,              'ps aux --sort=-rss',                          'look' ],
	[ 'page-fault-io',  undef,              'ps aux --sort=-rss',                          'look' ],
	[ 'page-fault-io',  undef,              'vmstat 1 5',                                  'look' ],
	[ 'client-queue',   'requests-waiting', 'xrandr --current',                            'look' ],
	[ 'gpu-wait',       'wait-monitor',     'xrandr --current',                            'look' ],
	[ 'gpu-wait',       undef, 'sudo journalctl -k -b -g "drm|amdgpu|i915|nouveau|NVRM"',  'look' ],
	[ 'device-wait',   'wait-power', 'grep . /sys/bus/usb/devices/*/power/runtime_status', 'look' ],
	[ 'device-wait',   undef,        'sudo journalctl -k -b -n 50',                        'look' ],
	[ 'machine-stall', undef,        'fwupdmgr get-updates',                               'look' ],
	[ 'machine-stall', undef,        'sudo journalctl -k -b -n 50',                        'look' ],
	[ 'host-steal',    undef,        'vmstat 1 5',                                         'look' ],
	[ 'time-out',      undef,        'systemctl --user --failed',                          'look' ],
	[ 'time-out',      undef,        'systemctl --user status "xdg-desktop-portal*"',      'look' ],
	[ 'network-wait',  'wait-service-dns',       'resolvectl status',                      'look' ],
	[ 'network-wait',  'wait-service-files',     'findmnt -t nfs,nfs4,cifs,fuse.sshfs',    'look' ],
	[ 'network-wait',  'wait-service-directory', 'id',                                     'look' ],
	[ 'network-wait',  'wait-service-print',     'lpstat -v',                              'look' ],
	[ 'network-wait',  'wait-service-ssh',       'iw dev',                                 'look' ],
	[ 'network-wait',  undef,                    'ss -tni',                                'look' ],
	[ 'irq-time',      undef,                    'cat /proc/interrupts',                   'look' ],
	[ 'irqs-off',      undef,                    'sudo journalctl -k -b -n 50',            'look' ],
	[ 'lock-wait',     'wait-file-lock',         'lslocks',                                'look' ],
	[ 'ipc-wait',      'wait-fuse',              'grep fuse /proc/mounts',                 'look' ],
	[ 'ipc-wait',      'wait-automount',         'systemctl list-units --type=automount',  'look' ],
	[ 'ipc-wait',      'wait-audit',             'sudo auditctl -s',                       'look' ],
	[ 'none',          sub { _tells($_[0], 'input-slept') }, 'cat {input_power}',          'look' ],
	[
		'none', sub { _tells($_[0], 'input-slept') }, 'echo on | {sudo}tee {input_power}',
		'try',  'echo auto | {sudo}tee {input_power}'
	],
	(map { [ $_, undef, $PERF, 'look' ] } qw(app-compute server-compute compositor-compute)),
	(
		map { [ $_, undef, $SEE, 'look' ] }
			qw(stopped ipc-wait futex-wait lock-wait timer-sleep server-grab input-late frame-wait
			client-queue time-out)
	),
);
my %MARK = (look => N__('look'), try => N__('try'), cure => N__('cure'));
# What a profile of the machine is called by powerprofilesctl, from what the firmware or the CPUs
# were told.
my %PROFILE = (
	'low-power' => 'power-saver', quiet    => 'power-saver', cool => 'power-saver',
	power       => 'power-saver', balanced => 'balanced',
	map { $_ => 'balanced' } qw(balanced-performance balance_power balance_performance default)
);

# Who runs again needs no cure.
sub _is_still {
	return !grep { $_ eq 'until' } tags_of(($_[0]{blamed} // {})->{detail} // '');
}

sub _is_less { my ($a, $b) = @_; return defined $a && defined $b && $a < $b ? 1 : 0 }
sub _is_nvme { my ($v) = @_; return (($v->{blamed} // {})->{disk} // '') =~ /^nvme/ ? 1 : 0 }

# Is this told beside the verdict?
sub _tells {
	my ($v, $code) = @_;
	return scalar grep { code_of($_) eq $code } @{ $v->{circumstances} // [] };
}

# steps(VERDICT, STATE of the machine, living => what the blamed process is now, as Tipme::Living
# has it; here: 1 if this is the machine, still running as it was; find => sub of a command's name,
# root => 1 (both for tests)): the first three of the table that fit and whose command is there:
# { command, mark, undo }
sub steps {
	my ($v, $state, %o) = @_;
	my $find  = $o{find}     // \&_found;
	my $b     = $v->{blamed} // {};
	my $code  = defined $b->{detail}                      ? code_of($b->{detail}) : '';
	my $sudo  = ($o{root} // $> == 0) || !$find->('sudo') ? ''                    : 'sudo ';
	my %value = (%$state, _values($v, $state, %o), sudo => $sudo);
	$value{as} = ($o{living} // {})->{own} ? '' : $sudo;
	my @out;

	for my $row (grep { $_->[0] eq $v->{kind} } @STEPS) {
		my (undef, $when, $command, $mark, $undo) = @$row;
		next if defined $when && !(ref $when ? $when->($v, \%value, $code) : $when eq $code);
		my @told = map { defined ? _filled(s/\Asudo /$sudo/r, \%value) : undef } $command, $undo;
		next if !defined $told[0] || defined $undo && !defined $told[1];
		next if !$find->($command =~ /\A(?:sudo |\{as\})?(\S+)/);
		push @out, { command => $told[0], mark => $mark, undo => $told[1] };
		last if @out == $MOST;
	}
	return \@out;
}

# What the texts may name, of this verdict.
sub _values {
	my ($v, $state, %o) = @_;
	my ($b, $living) = ($v->{blamed} // {}, $o{living});
	my %of;
	if ($living) {
		%of = (%$living, pid => $b->{pid});
		# The idle class and none have no level.
		$of{io_level_of} = ($of{io_class} // 0) =~ /\A[12]\z/ ? " -n $of{io_level}" : '';
	}
	$of{disk} = $b->{disk} if defined $b->{disk} && $b->{disk} =~ /\A[a-z0-9-]+\z/;
	my ($profile) =
		grep { defined && !ref } map { $state->{$_} } qw(platform_profile energy_preference);
	$of{power_profile} = $PROFILE{ $profile // '' };
	$of{encrypted}     = Tipme::Machine::encrypted_on($state, $b->{disk});
	$of{input_power}   = _input_power($v) if $o{here};
	return %of;
}

# The file by which the device that may have slept is kept awake.
sub _input_power {
	my ($v)    = @_;
	my ($fact) = grep { code_of($_) eq 'input-slept' } @{ $v->{circumstances} // [] };
	return $fact ? Tipme::Living::power_file(args_of($fact)->{device} // '') : undef;
}

# mark_words(MARK): in the user's language
sub mark_words { return fill($MARK{ $_[0] } // $_[0]) }

sub _filled {
	my ($text, $value) = @_;
	my $known = 1;
	$text =~
		s/\{(\w+)\}/my $v = $value->{$1}; $known &&= defined $v && !ref $v; $known ? one_line("$v") : ''/ge;
	return $known ? $text : undef;
}

sub _found {
	my ($name) = @_;
	for my $dir (split(/:/, $ENV{PATH} // ''), @MORE_PATHS) { return 1 if -x "$dir/$name" }
	return 0;
}

1;
