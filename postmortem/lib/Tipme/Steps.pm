# SPDX-License-Identifier: GPL-2.0-only
# After a verdict: commands that this very system has, each marked as a look, a try or a cure, and
# with how to undo it.
package Tipme::Steps;

use strict;
use warnings;
use Exporter         qw(import);
use Tipme::Printable qw(one_line);
use Tipme::Reason    qw(code_of tags_of);
use Tipme::Words     qw(N__ fill);

our @EXPORT_OK = qw(steps);

my $MOST = 3;    # commands that a person is told to try
# Where commands are that an ordinary user may not have in his path.
my @MORE_PATHS = qw(/usr/local/sbin /usr/sbin /sbin /usr/local/bin /usr/bin /bin);

# A table: [ KIND, condition (a reason's code, a sub of verdict and state, or undef), command, mark,
# undo ]. Words in braces are filled in; a line of which one is not known is left out. What changes
# a setting says with what it is undone: what the machine had when the episode was written.
my @STEPS = (
	[ 'writeback', undef, 'grep -E "^(Dirty|Writeback):" /proc/meminfo', 'look' ],
	[
		'writeback', sub { ($_[1]{dirty_bytes} // 0) == 0 },
		'sysctl vm.dirty_bytes=268435456 vm.dirty_background_bytes=67108864', 'try',
		'sysctl vm.dirty_ratio={dirty_ratio} vm.dirty_background_ratio={dirty_background_ratio}'
	],
	[
		'cpu-penalty', undef, 'sysctl kernel.split_lock_mitigate=0', 'try',
		'sysctl kernel.split_lock_mitigate=1'
	],
	[ 'network-wait', 'wait-nfs', 'findmnt -t nfs,nfs4',                       'look' ],
	[ 'network-wait', 'wait-smb', 'findmnt -t cifs',                           'look' ],
	[ 'network-wait', sub { ($_[2] // '') !~ /^wait-(?:nfs|smb)$/ }, 'ss -ti', 'look' ],
	[
		'cpu-slow', undef, 'powerprofilesctl set performance', 'try',
		'powerprofilesctl set balanced'
	],
	[ 'cpu-slow',       undef,              'sensors',          'look' ],
	[ 'stopped',        \&_is_still,        'kill -CONT {pid}', 'cure', 'kill -STOP {pid}' ],
	[ 'cpu-contention', 'had-cpu-firmware', 'grep . /sys/firmware/acpi/interrupts/gpe*', 'look' ],
	[ 'cpu-contention', 'had-cpu-work',     'cat /proc/interrupts',                      'look' ],
	[
		'cpu-contention', sub { $_[2] !~ /^had-cpu-(?:firmware|work)\z/ },
		'renice -n 19 -p {pid}', 'try', 'renice -n 0 -p {pid}'
	],
	[ 'rt-starvation', undef,        'chrt -o -p 0 {pid}',   'try', 'chrt -f -p 1 {pid}' ],
	[ 'disk-io',       'disk-ahead', 'ionice -c 3 -p {pid}', 'try', 'ionice -c 2 -n 4 -p {pid}' ],
	[
		'disk-io', sub { _some($_[1]{encrypted}) },
		'cryptsetup refresh --perf-no_read_workqueue --perf-no_write_workqueue {encrypted}', 'try',
		'cryptsetup refresh {encrypted}'
	],
	[
		'disk-io', sub { _some($_[1]{btrfs_quotas}) },
		'btrfs quota disable /', 'try', 'btrfs quota enable /'
	],
	[
		'disk-io', sub { $_[0]{disk_pause_ns} && ($_[0]{blamed}{disk} // '') =~ /^nvme/ },
		'cat /sys/module/nvme_core/parameters/default_ps_max_latency_us', 'look'
	],
	[ 'disk-io',        sub { $_[0]{disk_pause_ns} }, 'hdparm -C -B /dev/{disk}',          'look' ],
	[ 'disk-io',        sub { $_[0]{reported} },      'smartctl -a /dev/{disk}',           'look' ],
	[ 'disk-io',        undef,                        'iostat -x 1',                       'look' ],
	[ 'memory-reclaim', undef,                        'ps aux --sort=-rss',                'look' ],
	[ 'page-fault-io',  undef,                        'ps aux --sort=-rss',                'look' ],
	[ 'client-queue',   'requests-waiting',           'xrandr --current',                  'look' ],
	[ 'gpu-wait',       'wait-monitor',               'xrandr --current',                  'look' ],
	[ 'gpu-wait',      undef,        'journalctl -k -g "drm|amdgpu|i915|nouveau|NVRM"',    'look' ],
	[ 'device-wait',   'wait-power', 'grep . /sys/bus/usb/devices/*/power/runtime_status', 'look' ],
	[ 'device-wait',   undef,        'journalctl -k -n 50',                                'look' ],
	[ 'machine-stall', undef,        'fwupdmgr get-updates',                               'look' ],
	[ 'time-out',      undef,        'systemctl --user --failed',                          'look' ],
	[ 'network-wait',  'wait-service-dns',       'resolvectl status',                      'look' ],
	[ 'network-wait',  'wait-service-files',     'findmnt -t nfs,nfs4,cifs,fuse.sshfs',    'look' ],
	[ 'network-wait',  'wait-service-directory', 'id',                                     'look' ],
	[ 'network-wait',  'wait-service-print',     'lpstat -v',                              'look' ],
	[ 'network-wait',  'wait-service-ssh',       'iw dev',                                 'look' ],
	[ 'network-wait',  undef,                    'ss -tni',                                'look' ],
	[ 'irq-time',      undef,                    'cat /proc/interrupts',                   'look' ],
	[ 'app-compute',   undef,                    'perf record -g -p {pid} -- sleep 10',    'look' ],
	[ 'lock-wait',     'wait-file-lock',         'lslocks',                                'look' ],
);
my %MARK = (look => N__('look'), try => N__('try'), cure => N__('cure'));

# Who runs again needs no cure.
sub _is_still {
	return !grep { $_ eq 'until' } tags_of(($_[0]{blamed} // {})->{detail} // '');
}

sub _some { return ref $_[0] eq 'ARRAY' && @{ $_[0] } ? 1 : 0 }

# steps(VERDICT, STATE of the machine, find => sub of a command's name (for tests)): the first three
# of the table that fit and whose command is there: { command, mark, undo }
sub steps {
	my ($v, $state, %o) = @_;
	my $find  = $o{find}     // \&_found;
	my $b     = $v->{blamed} // {};
	my $code  = defined $b->{detail} ? code_of($b->{detail}) : '';
	my %value = (
		%$state,
		pid       => $b->{pid},
		disk      => defined $b->{disk} && $b->{disk} =~ /\A[a-z0-9-]+\z/ ? $b->{disk} : undef,
		encrypted => _some($state->{encrypted}) ? $state->{encrypted}[0]               : undef,
	);
	my @out;
	for my $row (grep { $_->[0] eq $v->{kind} } @STEPS) {
		my (undef, $when, $command, $mark, $undo) = @$row;
		next if defined $when && !(ref $when ? $when->($v, $state, $code) : $when eq $code);
		next
			if grep { !defined $_ || $_ =~ /[{}]/ } _filled($command, \%value),
			defined $undo ? _filled($undo, \%value) : ();
		next if !$find->($command =~ /\A(\S+)/);
		push @out, {
			command => _filled($command, \%value), mark => $mark,
			undo    => defined $undo ? _filled($undo, \%value) : undef
		};
		last if @out == $MOST;
	}
	return \@out;
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
