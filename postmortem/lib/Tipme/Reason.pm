# SPDX-License-Identifier: GPL-2.0-only
# Reasons as codes: what a thread did or waited for, and what is known beside that. Modules compare
# codes; the words of a code are made where a report is written, by words().
package Tipme::Reason;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use Exporter         qw(import);
use Tipme::Called    qw(called);
use Tipme::Printable qw(characters);
use Tipme::Told      qw(told);
use Tipme::Words     qw(N__ fill);

our @EXPORT_OK = qw(reason with_more code_of args_of values_of tags_of words);

# What a thread did, or slept for. Words in braces are arguments.
my %DOING = (
	'running'          => N__('running'),
	'computing'        => N__('computing'),
	'running-work'     => N__('running {function}'),
	'work'             => N__('its work in kernel thread {comm}'),
	'work-function'    => N__('its work {function} in kernel thread {comm}'),
	'sleep-chosen'     => N__('sleeping for a time that it chose (nanosleep)'),
	'sleep-kernel'     => N__('sleeping for a time that the kernel chose'),
	'sleep-while'      => N__('sleeping for a while'),
	'wait-signal'      => N__('waiting for a signal'),
	'wait-fault'       => N__('waiting for a page fault that reads from a disk'),
	'wait-memory'      => N__('waiting for memory to be freed'),
	'wait-disk'        => N__('waiting for the disk'),
	'wait-btrfs'       => N__('waiting until btrfs has written what was changed (a commit)'),
	'wait-still'       => N__('waiting where nothing may disturb it, and no record tells for what'),
	'wait-file-lock'   => N__('waiting for a file lock'),
	'wait-semaphore'   => N__('waiting for a semaphore'),
	'wait-futex'       => N__('waiting for another thread (futex)'),
	'wait-kernel-lock' => N__('waiting for a lock of the kernel'),
	'wait-child'       => N__('waiting for a child process to end'),
	'wait-pipe'        => N__('waiting at a pipe'),
	'wait-terminal'    => N__('waiting at a terminal'),
	'wait-socket'      => N__('waiting for another process at a local socket'),
	'wait-network'     => N__('waiting for the network'),
	'wait-service-other' =>
		N__('waiting for an answer of something at the other end of a connection'),
	'wait-service-dns'         => N__('waiting for an answer of the name service (DNS)'),
	'wait-service-local-names' =>
		N__('waiting for an answer of the names of the local network (mDNS)'),
	'wait-service-web'       => N__('waiting for an answer of a web server'),
	'wait-service-mail'      => N__('waiting for an answer of a mail server'),
	'wait-service-files'     => N__('waiting for an answer of a file server'),
	'wait-service-directory' =>
		N__('waiting for an answer of the directory of users (LDAP, Kerberos)'),
	'wait-service-print'   => N__('waiting for an answer of a printer, or its server'),
	'wait-service-ssh'     => N__('waiting for an answer of a machine behind SSH'),
	'wait-service-x11'     => N__('waiting for an answer of an X server behind the network'),
	'wait-service-desktop' =>
		N__('waiting for an answer of the screen of another machine (RDP, VNC)'),
	'wait-service-database' => N__('waiting for an answer of a database'),
	'wait-gpu'              => N__('waiting for the graphics processor'),
	'wait-device'           => N__('waiting for a device'),
	'wait-monitor'          => N__('waiting for a monitor to answer (EDID, DDC)'),
	'wait-fuse'             => N__('waiting for a file system that a process serves (FUSE)'),
	'wait-nfs'              => N__('waiting for a file server (NFS)'),
	'wait-smb'              => N__('waiting for a file server (SMB)'),
	'wait-permission'       =>
		N__('waiting for the permission of another process (a virus scanner, a sandbox)'),
	'wait-automount' => N__('waiting for a folder to be mounted (autofs)'),
	'wait-audit'     => N__('waiting for the audit daemon to read what it is told'),
	'own-wait'       => N__('waiting for {words}'),
	'wait-kernel'    => N__('waiting until each CPU has passed through the kernel (RCU)'),
	'wait-writeback' => N__('held back, because too much written data is not on the disk yet'),
	'split-lock'     => N__('held back by the kernel for a split lock'),
	'wait-power'     => N__('waiting for a device that slept to wake (power saving)'),
	'wait-firmware'  => N__('waiting for the firmware of the machine (ACPI)'),
	'wait-tpm'       => N__('waiting for the security chip (TPM)'),
	'wait-sound'     => N__('waiting for the sound card'),
	'loop'           => N__('waiting in its event loop'),
	'loop-timer'     => N__('waiting in its event loop until a time that it chose'),
	'futex-timer'   => N__('waiting for another of its threads until a time that it chose (futex)'),
	'frame-wait'    => N__('waiting for its next frame'),
	'no-answer'     => N__('not answering up to a time-out'),
	'loop-network'  => N__('waiting in its event loop, woken by the network or a timer'),
	'stopped'       => N__('stopped by a signal'),
	'traced'        => N__('stopped by a tracer'),
	'tracing'       => N__('tracing it, and kept it stopped'),
	'frozen'        => N__('frozen by its control group'),
	'wait-cpu'      => N__('waiting for a CPU'),
	'light-group'   => N__('waiting for a CPU, in a control group of low weight'),
	'cpu-idle'      => N__('it could run, but its CPU stayed idle'),
	'cpu-idle-deep' => N__(
			  'it could run, but its CPU stayed idle, in state {state}, which takes '
			. '{us} us to leave'
	),
	'softirq-to-come' => N__('the softirq that wakes it was still to come'),
);
# What is not known.
my %UNKNOWN = (
	'own-cpu-unknown' => N__('nobody knows who had its CPU'),
	'cpu-unknown'     => N__('nobody knows who had the CPU'),
	'too-many-links'  => N__('the chain has too many links'),
	'before-records'  => N__('before the records begin'),
	'no-thread'       => N__('no thread is known to have caused this'),
	'no-record'       => N__('no record of this thread'),
	'thread-ended'    => N__('this thread had ended'),
	'no-kernel'       => N__('the kernel was not recorded'),
	'damaged'         => N__('this episode is damaged ({what})'),
	'no-interrupt'    => N__('the interrupt that brought it is not among these records'),
	'slept'           => N__('it slept, and no record tells for what'),
	'slept-interrupt' => N__('it slept until an interrupt woke it, and no record tells for what'),
	'waking-lost'     => N__('its waking was not recorded'),
	'not-woken'       => N__('nobody has woken it yet'),
	'timer-late'      => N__(
			  'its timer came late to an idle CPU (a deep sleep of the CPU, its '
			. 'firmware, or its host)'
	),
);
# What somebody or something did that the thread had to wait for.
my %DID = (
	'had-cpu'          => N__('had the CPU'),
	'had-cpu-work'     => N__('had the CPU for {function}, which interrupts had asked for'),
	'had-cpu-firmware' => N__('had the CPU for events of the firmware ({function})'),
	'had-cpu-worker'   => N__('had the CPU through a kernel worker'),
	'had-cpu-in-turn'  => N__('had the CPU in turn with others'),
	'had-cpu-tree'     => N__('had the CPU, it and what it started'),
	'in-turn'          => N__('in turn with others'),
	'inverted'         => N__(
			  'had the CPU, so that {comm} (pid {pid}), of low priority, could not run '
			. 'and kept its lock'
	),
	'grabbed'          => N__('had grabbed the X server'),
	'requests'         => N__('the X server executed its requests'),
	'requests-waiting' => N__('the X server executed its request, {doing}'),
	'wrote-most'       => N__('had written most of what was not on the disk yet'),
	'held-back'        => N__('held the event back, {doing}'),
	'holding'          => N__('holding it while {doing}'),
	'through'          => N__('{doing}, through {comm}'),
	'disk-ahead'       => N__('{op} on disk {disk}, ahead of it'),
	'disk-busy'        => N__('waiting for disk {disk}, which worked on its request ({op})'),
	'disk-limit'       => N__('held back before disk {disk} by a limit of its control group'),
	'disk-own'         => N__('waiting for disk {disk} behind its own requests'),
	'disk-held'        =>
		N__('held back before disk {disk}, with no request ahead of its own in the ' . 'device'),
	'op-read'       => N__('reading'),
	'op-write'      => N__('writing'),
	'op-flush'      => N__('flushing'),
	'op-discard'    => N__('discarding'),
	'op-other'      => N__('working'),
	'quota'         => N__('kept from running: its CPU quota was used up'),
	'quota-used'    => N__('the cgroup {cgroup} had used up its CPU quota'),
	'quota-used-of' =>
		N__('the cgroup {cgroup} had used up its CPU quota of {quota} ms in each ' . '{period} ms'),
	'memory'                => N__('waiting for memory'),
	'memory-direct_reclaim' => N__('looking for pages to free, because the machine had none left'),
	'memory-memcg_reclaim'  =>
		N__('looking for pages to free, because its memory cgroup had none left'),
	'memory-compaction' => N__('moving pages to get a larger piece of memory'),
	'memory-fault_file' => N__('waiting for a page fault that read a mapped file'),
	'memory-fault_swap' => N__('waiting for a page fault that read what had been swapped out'),
	'memory-unpacked'  => N__('reading back what had been swapped out, with the CPU (zram, zswap)'),
	'memory-throttled' => N__('held back until memory had been freed'),
	'interrupted'      => N__('interrupted by {what}'),
	'interrupted-often' => N__('interrupted many times'),
	'brought-by'        => N__('brought by {what}'),
	'brought'           => N__('{what} brought the event'),
	'irq-device'        => N__('{what} had the CPU'),
	'irq-softirq'       => N__('{what} had the CPU'),
	'irq-timer'         => N__('{what} had the CPU'),
	'irq-other'         => N__('{what} had the CPU'),
	'steal'             => N__('the host had taken the CPU away'),
	'stolen'            => N__('the host of this virtual machine had taken it away'),
	'stood-still'       => N__(
			  'no CPU did anything that could be recorded (firmware, the host, or a driver that '
			. 'kept interrupts off)'
	),
	'timer-expired' => N__('its timer had expired'),
	'irqs-off'      => N__('kept the timer\'s interrupt, or what it defers, waiting'),
	'irqs-off-in'   => N__('kept the timer\'s interrupt, or what it defers, waiting, in {where}'),
);
# What is known beside a verdict: whole sentences.
my %FACT = (
	'in-function'           => N__('{n} of {of} samples lie in {function} ({module}).'),
	'in-function-of-kernel' => N__('{n} of {of} samples lie in {function} (in the kernel).'),
	'in-function-or-below'  =>
		N__('{n} of {of} samples lie in {function} or what it called ({module}).'),
	'in-function-or-below-of-kernel' =>
		N__('{n} of {of} samples lie in {function} or what it called (in the kernel).'),
	'slow-cpu' => N__(
			  'CPU {cpu} ran at {khz} GHz meanwhile, of at most {max_khz} (its governor, '
			. 'heat, or too little power).'
	),
	'pinned' => N__(
			  '{comm} (tid {tid}) may run only on CPU {allowed}, while CPU {idle_cpu} '
			. 'idled for {idle} of these {of} ms: that is this machine\'s configuration.'
	),
	'pinned-since' => N__(
			  '{comm} (tid {tid}) may run only on CPU {allowed} ({doing}), while CPU '
			. '{idle_cpu} idled for {idle} of these {of} ms: that is this machine\'s configuration.'
	),
	'changed'                => N__('changed {to_s} s before'),
	'changed-itself'         => N__('set by itself {to_s} s before'),
	'changed-by'             => N__('set by {comm} (tid {tid}) {to_s} s before'),
	'changed-between'        => N__('changed {to_s} to {last_s} s before'),
	'changed-itself-between' => N__('set by itself {to_s} to {last_s} s before'),
	'changed-by-between'     => N__('set by {comm} (tid {tid}) {to_s} to {last_s} s before'),
	'idle-cpu-allowed'       => N__(
			  'CPU {idle_cpu} idled for {idle} of these {of} ms, and {comm} (tid {tid}) '
			. 'may run there: the scheduler left it on CPU {cpu}.'
	),
	'idle-cpu' => N__(
			  'CPU {idle_cpu} idled for {idle} of these {of} ms, while {comm} (tid '
			. '{tid}) waited on CPU {cpu}.'
	),
	'had-it-run'          => N__('{comm} (pid {pid}) had it run; it was started as: {args}'),
	'had-it-run-untold'   => N__('{comm} (pid {pid}) had it run.'),
	'memory-used'         => N__('Memory was full to {used} % (of {total}); there is no swap.'),
	'memory-used-swap'    => N__('Memory was full to {used} % (of {total}), swap to {swap} %.'),
	'memory-pressed-full' => N__(
			  'All threads at once waited for memory for {ms} of these {of} ms, as the '
			. 'kernel counts it.'
	),
	'memory-pressed-some' => N__(
		'Some thread waited for memory for {ms} of these {of} ms, as the kernel ' . 'counts it.'
	),
	'memory-of' => N__('Most memory had: {list}.'),
	'swap-zram' => N__(
			  'What is swapped out lies compressed in memory (zram): reading it back takes '
			. 'CPU time, no disk.'
	),
	'swap-zswap'  => N__('What is swapped out is compressed in memory first (zswap).'),
	'oom-kills'   => N__('The kernel ended {n} processes for want of memory.'),
	'reported'    => N__('The kernel reported at {at} s: {doing}.'),
	'cpu-limited' => N__('It may run at {khz} GHz at most: a limit is set from outside.'),
	'cpu-too-hot' => N__('Heat or power slowed it down {n} times meanwhile.'),
	'on-battery'  => N__('The machine ran on its battery.'),
	'governor'    => N__('Its governor is {name}.'),
	'clock-slow'  => N__(
			  'The clock source of this machine is {name}: each look at the clock is slow, and all '
			. 'CPUs wait for each other in it.'
	),
	'disk-encrypted' =>
		N__('Disk {disk} is encrypted (dm-crypt): its requests pass through work queues.'),
	'disk-slept' => N__(
		'Disk {disk} had had nothing to do for {pause} s, and took {took} s for the first request: '
			. 'it had to wake from saving power (to spin up, if it rotates).'
	),
	'btrfs-quotas' => N__(
		'This machine has a file system btrfs with quotas: when a snapshot is deleted, all who '
			. 'write wait for the sums.'
	),
	'disk-rotates'    => N__('Disk {disk} rotates: it may have had to spin up.'),
	'disk-removable'  => N__('Disk {disk} can be removed (a stick or card).'),
	'input-often'     => N__('Input device {device} sent {n} reports a second.'),
	'input-silent-on' => N__(
		'Input device {device} ({bus}) was silent for {ms} ms from {at} s on, in the midst of a '
			. 'movement, then sent {n} reports within {burst_ms} ms: the device, '
			. 'its radio or its power saving was late.'
	),
	'input-slept' => N__(
			  'Input device {device} ({bus}) may sleep after {after} s to save power, and had sent '
			. 'nothing for {silent} s: what it took to wake, and what it lost, nobody records.'
	),
	'bus-usb'       => N__('USB'),
	'bus-bluetooth' => N__('Bluetooth'),
	'bus-virtual'   => N__('made by a program'),
	'bus-ps2'       => N__('PS/2'),
	'bus-i2c'       => N__('I2C'),
	'bus-other'     => N__('another bus'),
	'input-silent'  => N__(
		'Input device {device} was silent for {ms} ms from {at} s on, in the midst of a movement, '
			. 'then sent {n} reports within {burst_ms} ms: the device, '
			. 'its radio or its power saving was late.'
	),
	'in-thread'    => N__('Most of that was its thread "{thread}" ({tid}).'),
	'called-as'    => N__('{comm} (pid {pid}) was called as: {args}.'),
	'asked-before' => N__(
			  'It was there when the episode before this one was asked for, {time} '
			. 'earlier; nothing unusual came since.'
	),
	'machine-slept-at' => N__(
			  'The machine slept for {slept} at {first} s, in the midst of it: that is '
			. 'not counted; what it took to go to sleep and to wake is.'
	),
	'machine-slept' => N__(
			  'The machine slept for {slept} at some time between {first} and {last} s, '
			. 'in the midst of it: that is not counted; what it took to go to sleep and to wake is.'
	),
	'machine-slept-at-perhaps' => N__(
			  'The machine slept for {slept} at {first} s, perhaps in the midst '
			. 'of it: that is not counted; what it took to go to sleep and to wake is.'
	),
	'machine-slept-perhaps' => N__(
			  'The machine slept for {slept} at some time between {first} and '
			. '{last} s, perhaps in the midst of it: that is not counted; what it took to go to '
			. 'sleep and to wake is.'
	),
);
# What the kernel reported, by the kinds of abi/records.def.
my %MESSAGE = (
	'message-gpu_reset'      => N__('the graphics processor hung, or was reset{of}'),
	'message-gpu_fault'      => N__('an error of the graphics processor{of}'),
	'message-flip_late'      => N__('a screen did not show a picture in time{of}'),
	'message-disk_timeout'   => N__('a disk did not answer in time{of}'),
	'message-disk_error'     => N__('a disk could not read or write, or was reset{of}'),
	'message-split_lock'     => N__('a process locked memory across two cache lines'),
	'message-clock_unstable' => N__('the clock of the CPUs was given up for a slower one'),
	'message-thermal'        => N__('a CPU was too hot and was slowed down'),
	'message-usb_reset'      => N__('a USB device was reset{of}'),
	'message-usb_gone'       => N__('a USB device went{of}'),
	'message-bus_timeout'    => N__('a device at an I2C bus did not answer{of}'),
	'message-hung_task'      => N__('a process could not be disturbed for minutes'),
	'message-oom_kill'       => N__('a process was ended for want of memory'),
	'message-fs_error'       => N__('a file system has an error{of}'),
	'message-server_gone'    => N__('a file server does not answer{of}'),
	'message-server_back'    => N__('a file server answers again{of}'),
	'message-cpu_stuck'      => N__('a CPU did not come out of the kernel for seconds'),
	'message-firmware_error' => N__('the firmware of the machine failed or timed out{of}'),
	'message-network_reset'  => N__('a network card did not send what it was given'),
	'message-alloc_failed'   => N__('the kernel had no memory for a request of its own'),
);
# What a reason may have beside its code: an argument of that name; in this order.
my @MORE = (
	[ in => N__('{reason} (in {in})') ],
	[
		sampled => {
			disk       => N__('{reason}, and samples of /proc do not tell who else used it'),
			'for-whom' => N__('{reason}, and samples of /proc do not tell for whom'),
			holder     => N__('{reason}, and samples of /proc do not tell who had it')
		}
	],
	[
		untold => {
			'for-whom' => N__('{reason}, and no record tells for whom'),
			holder     => N__('{reason}, and no record tells who had it')
		}
	],
	[
		place => {
			machine => N__('{reason} on this machine'),
			local   => N__('{reason} in the local network'),
			beyond  => N__('{reason} beyond the local network')
		}
	],
	[ mute   => N__('{reason}, which did not come: it gave up') ],
	[ behind => N__('{reason}, nor did one behind it') ],
	[ again  => N__('{reason}; it had to be asked again, {again} times') ],
	[ from   => N__('{reason} from {from}') ],
	[ until  => N__('{reason}, until {until} let it go on') ],
	[ still  => N__('{reason}, and still is') ],
	[ for_it => N__('{reason}, for it') ],
	[ lock   => N__('{reason} (the lock is {lock})') ],
);
# Arguments that are reasons themselves.
my %NESTED = map { $_ => 1 } qw(doing op bus);
my %WORDS  = (%DOING, %UNKNOWN, %DID, %FACT, %MESSAGE);
my $json   = Cpanel::JSON::XS->new->canonical;

# reason(CODE, NAME => VALUE ...): one text that stands for both, equal where both are equal
sub reason {
	my ($code, %args) = @_;
	delete @args{ grep { !defined $args{$_} } keys %args };
	return %args ? $code . $json->encode(\%args) : $code;
}

# with_more(REASON, NAME => VALUE ...): the same with more arguments, without those that are undef
sub with_more {
	my ($reason, %more) = @_;
	return reason(code_of($reason), %{ args_of($reason) }, %more);
}

sub code_of { return $_[0] =~ /\A([^{]*)/ ? $1                : '' }
sub args_of { return $_[0] =~ /(\{.*)\z/s ? $json->decode($1) : {} }

# tags_of(REASON): what tables may look it up by, the most telling first: names of what it has
# beside its code, then the code
sub tags_of {
	my ($reason) = @_;
	my $args = args_of($reason);
	return ((grep { exists $args->{$_} } map { $_->[0] } @MORE), code_of($reason));
}

# is_known(REASON): has it words?
sub is_known { return exists $WORDS{ code_of($_[0]) } ? 1 : 0 }

# codes(): all of them, sorted
sub codes { return sort keys %WORDS }

# values_of(REASON): its arguments as words: { name => text }
sub values_of {
	my ($reason) = @_;
	my $args = args_of($reason);
	return {
		map {
				  $_ => $NESTED{$_} ? words($args->{$_})
				: $_ eq 'what' ? called(characters($args->{$_}))
				: characters($args->{$_})
		} keys %$args
	};
}

# spell(\@HASHES, FIELD): in place: FIELD in words, FIELD_code its code, once
sub spell {
	my ($list, $field) = @_;
	my %words;
	for my $h (grep { defined $_->{$field} && !exists $_->{"${field}_code"} } @$list) {
		my $reason = $h->{$field};
		@$h{ $field, "${field}_code" } =
			@{ $words{$reason} //= [ words($reason), code_of($reason) ] };
	}
	return;
}

# words(REASON): in the user's language; a code without words is given back as it is
sub words {
	my ($reason) = @_;
	my $value = values_of($reason);
	$value->{of} //= defined $value->{device} ? " ($value->{device})" : '';
	$value->{what} = told($value->{what}) if code_of($reason) eq 'damaged';
	my $text = fill($WORDS{ code_of($reason) } // code_of($reason), %$value);
	for (grep { defined $value->{ $_->[0] } } @MORE) {
		my ($name, $more) = @$_;
		$more = $more->{ $value->{$name} }            if ref $more;
		$text = fill($more, %$value, reason => $text) if defined $more;
	}
	return $text;
}

1;
