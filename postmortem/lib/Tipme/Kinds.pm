# SPDX-License-Identifier: GPL-2.0-only
# The kinds of verdicts, one entry each: all words about a kind, and what other modules need to know
# of it. A new kind is a new entry here, a line in docs/diagnose-json.md, and a story in a test.
package Tipme::Kinds;

use strict;
use warnings;
use Tipme::Called qw(called);
use Tipme::Reason qw(tags_of);
use Tipme::Words  qw(N__ fill);

# Fields of an entry. Words in braces are filled in: {name} the blamed process.
#   list    at most 34 columns, for `tipme list`
#   phrase  what the time went to, nobody named: "where the time went"
#   cause   what a difference between two episodes came through, for `tipme compare`
#   ask     whom to ask. {pid} {pids}: numbers of the blamed processes; {send}: how to send them
#           the episode; {quota} {disk}: the file or command that shows it; {episode}: its id
#   next    what to do next, with commands
#   clause  the second half of the sentence. {time} how long, with its share; {waiter} who waited
#           ("it": the client); {name}, {who} the blamed, {who} with the number of others; {detail}
#           the reason in words, and each argument of it by its own name; {pid} {holder} {rt_name}
#           {part} {part_time}. Without one: "for {time} {waiter} was {detail}".
#           clause_self where the client itself is blamed, clause_other, clause_others (several),
#           clause_processes (several of one name), clause_part (less than all of the kind)
#   absent  the cause in plainer words, where nearly all of a difference is that it is not there
#   by      tag of a reason (Tipme::Reason) => fields that differ with it: clauses, ask, next
#   story   the test beside us that tells a story of it; undef: no cause of this kind is found yet,
#           only an episode of a later version can have it
#   flags   list of:
#     cpu       time in which a thread could run and had no CPU
#     memory    the want of memory has a part: the largest process is told
#     compute   a program's own computing: functions are told, and who wrote them asked
#     holding   what a thread may do while it holds something that others wait for; that is its
#               own fault then
#     itself    stays this kind in whatever thread it is met; other waits of a thread that is
#               neither client nor server become ipc-wait
#     args      the command line of the blamed process helps
#     for-whom  somebody else has to end it, for whom it waits; holder: who has what it waits for
#     client    the blamed one may be a client without a process on this machine
#     victim    the blamed process is the one that suffered
my $SEND_PERF = N__('{send} `perf record -g -p {pid}` while it happens again shows more.');
my $NOTHING   = N__('nothing unusual');
my $WAS       = N__('for {time} {waiter} was {detail}');

# What the reason of the largest part changes: tag of Tipme::Reason => the fields that differ.
my %BY_OTHER = (
	sampled => {
		ask  => N__('whoever {name} waited for, which is not known'),
		next => N__(
				  'Record as root, so that wake-ups are seen, too: `sudo tipme start`; '
				. '`tipme doctor` says what hinders that.'
		),
	},
	untold => {
		ask  => N__('whoever {name} waited for, which is not known'),
		next =>
			N__('See whether records were lost, and what more could be recorded: `tipme doctor`.'),
	},
);
my %BY_HOLDING = (
	holding => {
		clause      => N__('for {time} {waiter} waited for a lock that {name} held while {doing}'),
		clause_self => N__(
				  'for {time} {waiter} waited for a lock that another thread of its own held '
				. 'while {doing}'
		),
	},
);
# Who passes on what others ask, as a bus does, may have had nobody to pass it on to.
my %BY_ANSWER = (
	behind => {
		clause => N__(
				  'for {time} {waiter} waited for an answer of {name}, or of one behind it, and '
				. 'gave up'
		),
		ask => N__('whoever runs {name}, or what it passes on to: no answer came'),
	},
);
my %BY_DISK = (
	sampled => {
		ask  => N__('the disk, or whoever else used it, which is not known'),
		next => N__(
				  'Record as root, so that requests to disks are seen, too: `sudo tipme start`; '
				. '`tipme doctor` says what hinders that.'
		),
	},
	'disk-ahead' => {
		ask          => N__('whoever runs {name}: it had the disk'),
		next         => N__('Make it idle priority (`ionice -c 3 -p {pid}`), or let it run later.'),
		clause_other =>
			N__('for {time} {waiter} waited for the disk{part} because {who} was {detail}'),
		clause_others =>
			N__('for {time} {waiter} waited for the disk{part} because {who} were {detail}'),
	},
	'disk-held' => {
		ask => N__(
				  'whatever lets requests go to this disk: its I/O scheduler, or a limit of the '
				. 'control group of {name}'
		),
		next => N__('See `cat {disk}/queue/scheduler`, and io.max and io.latency of the cgroup.'),
	},
	'disk-limit' => {
		ask  => N__('whoever limits the disk for the control group of {name}'),
		next => N__(
				  'See its limits (`systemctl show UNIT -p IOReadBandwidthMax '
				. '-p IOWriteBandwidthMax`, or io.max of the cgroup).'
		),
	},
	(
		map {
			$_ => {
				ask  => N__('the disk'),
				next => N__('See how long the disk takes for a request: `iostat -x 1`.'),
			}
		} qw(disk-busy disk-own)
	),
);
my %BY_FAULT = (
	(map { $_ => $BY_DISK{$_} } qw(sampled disk-ahead)),
	(
		map {
			$_ => {
				ask => N__(
						  'whoever limits the disk for the control group of {name}, or has filled '
						. 'the memory'
				),
				next => N__(
					'See its limits (`systemctl show UNIT -p IOReadBandwidthMax`, or io.max of the '
						. 'cgroup), and whether memory is short (`vmstat 1`).'
				),
			}
		} qw(disk-held disk-limit)
	),
);
my %BY_SERVER = (
	map {
		$_->[0] => {
			ask  => N__('whoever runs the file server, or mounted it so that programs wait for it'),
			next => $_->[1],
		}
	} [
		'wait-nfs' =>
			N__('See which it is: `findmnt -t nfs,nfs4`; `umount -l` lets go of one that is gone.')
	],
	[
		'wait-smb' =>
			N__('See which it is: `findmnt -t cifs`; `umount -l` lets go of one that is gone.')
	]
);
# What was asked over the network.
my %AT_SERVICE = (
	dns => [
		N__('whoever runs the name service, or set up on this machine which one is asked'),
		N__('See which one is asked, and whether it answers: `resolvectl status`.')
	],
	'local-names' => [
		N__('whoever asks for names of the local network'),
		N__('See whether they are to be asked for at all: `grep hosts /etc/nsswitch.conf`.')
	],
	files => [
		N__('whoever runs the file server, or mounted it so that programs wait for it'),
		N__('See which it is: `findmnt -t nfs,nfs4,cifs,fuse.sshfs`.')
	],
	directory => [
		N__('whoever runs the directory of users, or set up that it is asked'),
		N__('See whether it answers (`id`), and what asks it: `cat /etc/nsswitch.conf`.')
	],
	print => [
		N__('the printer or print server that is gone, and whoever waits for it'),
		N__('See which queues there are, and remove those that are dead: `lpstat -v`.')
	],
	ssh => [
		N__('the network between here and the other machine (also power saving of Wi-Fi)'),
		N__('See how long a packet takes: `ping`; of Wi-Fi: `iw dev DEVICE get power_save`.')
	],
);
my %BY_SERVICE =
	map { ("wait-service-$_" => { ask => $AT_SERVICE{$_}[0], next => $AT_SERVICE{$_}[1] }) }
	keys %AT_SERVICE;
my %BY_DEVICE = (
	'wait-power' => {
		ask  => N__('the driver of the device that slept, and who lets it sleep'),
		next => N__(
				  'See which devices sleep: `grep . /sys/bus/*/devices/*/power/runtime_status`. '
				. '`on` in power/control of a device keeps it awake.'
		),
	},
	'wait-firmware' => {
		ask  => N__('the makers of the machine: its firmware'),
		next => N__('See whether there is newer firmware (`fwupdmgr get-updates`).'),
	},
);
my %BY_GPU = (
	'wait-monitor' => {
		ask  => N__('the monitor, its cable or its dock, and whoever asks it'),
		next => N__('Try another cable or port. In scripts, `xrandr --current` asks no monitor.'),
	},
);
my %IRQ_CLAUSE = (
	clause      => N__('for {time} {waiter} had no CPU: {what} had it'),
	clause_part => N__(
			  'for {time} {waiter} had no CPU: {what} had it for {part_time}, other '
			. 'interrupts for the rest'
	),
);
my %BY_IRQ = (
	for_it       => { clause => N__('for {time} {waiter} had no CPU: {detail}') },
	'irq-device' => {
		%IRQ_CLAUSE,
		ask  => N__('the driver of {name}'),
		next => N__(
				  'See how often it comes (`watch -d cat /proc/interrupts`) and how long it lasts '
				. '(`perf trace -e irq:*`).'
		),
	},
	'irq-softirq' => {
		%IRQ_CLAUSE,
		ask  => N__('whoever makes so much deferred work: {name}'),
		next => N__('See which kind counts up: `watch -d cat /proc/softirqs`.'),
	},
	'irq-timer' => {
		%IRQ_CLAUSE,
		ask => N__(
				  'the kernel, or in a virtual machine its host: a timer interrupt should last '
				. 'microseconds'
		),
		next => N__('See whether another kernel, or a less busy host, does better.'),
	},
	'irq-other' => {%IRQ_CLAUSE},
);
my %KIND = (
	'none' => {
		list  => $NOTHING,     phrase => $NOTHING, cause => $NOTHING, ask => undef, next => undef,
		story => 'verdicts.t', flags  => [],
	},
	'cpu-contention' => {
		list   => N__('{name} had the CPU'),
		phrase => N__('waiting for a CPU that others had'),
		cause  => N__('waiting for a CPU that {name} had'),
		ask    => N__('whoever runs {name}: the load on this machine'),
		next   => N__(
				  'Give it a lower priority (`renice -n 19 -p {pids}`; if it belongs to another '
				. 'session also `echo 19 > /proc/{pid}/autogroup`), or let it run '
				. 'elsewhere or later.'
		),
		clause => N__('for {time} {waiter} waited for a CPU taken by {who}'),
		by     => {
			'had-cpu-work' => {
				clause => N__(
					'for {time} {waiter} waited for a CPU taken by {who}, which did {function}: '
						. 'interrupts had asked for it'
				),
				ask  => N__('the driver of the device that interrupts'),
				next => N__('See which line counts up: `watch -d cat /proc/interrupts`.'),
			},
			'had-cpu-firmware' => {
				clause => N__(
					'for {time} {waiter} waited for a CPU taken by {who}, which handled events of '
						. 'the firmware (ACPI)'
				),
				ask  => N__('the makers of the machine: its firmware reports events without end'),
				next => N__(
					'See which one counts up: `grep . /sys/firmware/acpi/interrupts/gpe*`; `echo '
						. 'mask` into that file silences it.'
				),
			},
		},
		story => 'cpu-takers.t',
		flags => [qw(cpu itself args)],
	},
	'rt-starvation' => {
		list   => N__('{name} kept the CPU (real-time)'),
		phrase => N__('waiting for a CPU that a real-time process had'),
		cause  => N__('waiting for a CPU that {name} kept by its real-time priority'),
		ask    => N__('whoever gave {name} its real-time priority'),
		next   => N__(
				  'Take the real-time priority away (`chrt -o -p 0 {pid}`) and see whether it is '
				. 'needed at all.'
		),
		clause =>
			N__('for {time} {waiter} waited for a CPU that the real-time process {name} kept'),
		clause_processes => N__('for {time} {waiter} waited for a CPU that {rt_name} kept'),
		story            => 'cpu-takers.t',
		flags            => [qw(cpu itself args)],
	},
	'priority-inversion' => {
		list   => N__('a lock; {name} kept its holder off'),
		phrase => N__('waiting for a lock whose holder had no CPU'),
		cause  => N__('a lock whose holder had no CPU while {name} had it'),
		ask    => N__(
				  'whoever chose the priorities: a thread of low priority held what others '
				. 'waited for'
		),
		next => N__(
				  'Give the holder of the lock the priority of those who wait for it, or {name} a '
				. 'lower one.'
		),
		clause => N__(
				  'for {time} {waiter} waited for a lock that {holder}, of low priority, could not '
				. 'give back because {who} had the CPU'
		),
		story => 'locks.t',
		flags => [qw(cpu)],
	},
	'cpu-throttled' => {
		list   => N__('CPU quota of {name} used up'),
		phrase => N__('kept from running: the CPU quota was used up'),
		cause  => N__('the CPU quota of {name}, which was used up'),
		ask    => N__('whoever limits the CPU time of this cgroup'),
		next   => N__('Raise the quota ({quota}).'),
		clause => N__('for {time} {waiter} was kept from running: {detail}'),
		story  => 'interference.t',
		flags  => [qw(victim)],
	},
	'app-compute' => {
		list   => N__('{name} computed'),
		phrase => N__('the application computed'),
		cause  => N__('computing in {name}'),
		ask    => N__('the makers of {name}'),
		next   => $SEND_PERF,
		clause => N__('for {time} it computed'),
		story  => 'verdicts.t',
		flags  => [qw(args holding compute)],
	},
	'cpu-slow' => {
		list   => N__('a slow CPU; {name} computed'),
		phrase => N__('computing on a CPU that was slower than it can be'),
		cause  => N__('the slow CPU on which {name} computed'),
		ask    => N__('power and heat of this machine, and what limits the speed of its CPUs'),
		next   => N__(
			'See what limits them: `grep . /sys/devices/system/cpu/cpufreq/policy0/scaling_*`; '
				. 'the charger, the fans, `powerprofilesctl`.'
		),
		clause => N__('for {time} {waiter} computed, on a CPU that ran at {khz} GHz of {max_khz}'),
		story  => 'machine.t',
		flags  => [qw(compute victim)],
	},
	'cpu-weight' => {
		list   => N__('{name} has a low weight at the CPUs'),
		phrase => N__('getting little of a CPU by its own low weight'),
		cause  => N__('the low weight that {name} has at the CPUs'),
		ask    => N__('whoever gave {name} its nice value: others rightly came first'),
		next   => N__('Give it an ordinary weight (`renice -n 0 -p {pid}`), and see what set it.'),
		clause => N__(
				  'for {time} {waiter} got little of a CPU, since nice {nice} gives it '
				. 'a low weight; {others} had it'
		),
		by => {
			'light-group' => {
				ask  => N__('whoever gave {cgroup} its weight: others rightly came first'),
				next => N__(
						  'Give it an ordinary weight: cpu.weight of that cgroup, or cpu.shares in '
						. 'version 1 (systemd: CPUWeight).'
				),
				clause => N__(
						  'for {time} {waiter} got little of a CPU, since its control group '
						. '{cgroup} has {percent} % of the usual weight; {others} had it'
				),
			},
		},
		story => 'weight.t',
		flags => [qw(victim)],
	},
	'server-compute' => {
		list   => N__('the X server computed'),
		phrase => N__('the X server computed'),
		cause  => N__('computing in the X server'),
		ask    => N__('the makers of the X server, or of its graphics driver'),
		next   => $SEND_PERF,
		clause => N__('for {time} the X server (pid {pid}) computed'),
		story  => 'kinds.t',
		flags  => [qw(holding compute)],
	},
	'compositor-compute' => {
		list   => N__('the compositor computed'),
		phrase => N__('the compositor computed'),
		cause  => N__('computing in the compositor'),
		ask    => N__('the makers of the compositor, or of the graphics driver'),
		next   => $SEND_PERF,
		clause => N__('for {time} the compositor (pid {pid}) computed'),
		story  => 'wayland.t',
		flags  => [qw(holding compute)],
	},
	'server-grab' => {
		list   => N__('{name} had grabbed the X server'),
		phrase => N__('the X server was grabbed'),
		cause  => N__('{name}, which had grabbed the X server'),
		ask    => N__('the makers of {name}'),
		next   => N__('An application must not keep the X server for itself. {send}'),
		clause => N__('for {time} {who} had grabbed the X server, which did nothing for others'),
		story  => 'grabs.t',
		flags  => [qw(client)],
	},
	'client-queue' => {
		list   => N__('the X server worked for {name}'),
		phrase => N__('the X server worked for others'),
		cause  => N__('requests of {name} that the X server worked on'),
		ask    => N__('the makers of {name}'),
		next   => N__('It keeps the X server busy; closing it ends the delay. {send}'),
		clause => N__('for {time} the X server worked on requests of {who}'),
		by     => {
			'requests-waiting' => {
				clause => N__('for {time} the X server was in a request of {who}, {doing}'),
				next   => N__(
					'It asks the X server for what takes long; asking less often helps. {send}'),
			},
		},
		story => 'grabs.t',
		flags => [qw(client)],
	},
	'input-late' => {
		list   => N__('{name} held the input back'),
		phrase => N__('the event was held back'),
		cause  => N__('{name}, which held the event back'),
		ask    => N__('the makers of {name}'),
		next   => N__('It gets keys or clicks first, and passed this one on late. {send}'),
		clause => N__('for {time} {who} {detail}'),
		story  => 'stopped.t',
		flags  => [],
	},
	'ipc-wait' => {
		list   => N__('waited for {name}'),
		phrase => N__('waiting for other processes'),
		cause  => N__('waiting for {name}'),
		ask    => N__('the makers of {name}, which was waited for'),
		next   =>
			N__('See what it did then: `tipme timeline {episode} -o FILE.svg` draws it. {send}'),
		clause      => N__('for {time} it waited for {name}, which was {detail}'),
		clause_self => N__('for {time} {waiter} was {detail}'),
		by          => \%BY_OTHER,
		story       => 'verdicts.t',
		flags       => [qw(holding args for-whom)],
	},
	'timer-sleep' => {
		list   => N__('{name} slept by its own wish'),
		phrase => N__('sleeping by its own wish'),
		cause  => N__('sleeping of {name} by its own wish'),
		ask    => N__('the makers of {name}'),
		next   => N__('It sleeps by its own wish: `strace -f -p {pid}` shows where.'),
		story  => 'verdicts.t',
		flags  => [qw(args holding)],
	},
	'frame-wait' => {
		list   => N__('{name} waited for its next frame'),
		phrase => N__('waiting for the next frame of the screen'),
		cause  => N__('waiting of {name} for its next frame'),
		ask    => N__('the makers of {name}: it decides when the screen is painted'),
		next   => N__(
				  'See how long {name} waits when nothing else is drawn, and with its '
				. 'synchronisation with the screen (vsync) switched off.'
		),
		clause => N__(
			'for {time} {name} had been told of what was drawn, and waited for its next ' . 'frame'
		),
		clause_self => N__('for {time} it waited for its next frame'),
		story       => 'composited.t',
		flags       => [qw(itself)],
	},
	'time-out' => {
		list   => N__('{name} did not answer'),
		phrase => N__('waiting for an answer that did not come, until a time-out'),
		cause  => N__('{name}, which did not answer up to a time-out'),
		ask    => N__('whoever runs {name}: it was asked, and did not answer'),
		next   => N__('See whether it can answer at all: `systemctl --user status {pid}`. {send}'),
		clause => N__('for {time} {waiter} waited for an answer of {name}, and gave up'),
		story  => 'asks.t',
		flags  => [qw(args)],
		by     => \%BY_ANSWER,
	},
	'cpu-penalty' => {
		list   => N__('{name} was held back'),
		phrase => N__('held back by the kernel as a penalty'),
		cause  => N__('{name}, which the kernel held back'),
		ask    => N__('the makers of {name}: it locks memory across two cache lines'),
		next   => N__(
				  'Until that is mended, the penalty can be switched off: `sysctl '
				. 'kernel.split_lock_mitigate=0`.'
		),
		story => 'kinds.t',
		flags => [qw(itself victim)],
	},
	'stopped' => {
		list        => N__('{name} was paused'),
		phrase      => N__('stopped'),
		cause       => N__('{name}, which was stopped'),
		absent      => N__('{name} was not stopped'),
		ask         => N__('whoever stopped {name}'),
		next        => N__('Let it go on: `kill -CONT {pid}`.'),
		clause      => N__('for {time} it waited for {name}, which was {detail}'),
		clause_self => N__('for {time} it was {detail}'),
		by          => {
			from  => { ask  => N__('whoever sent the signal: {from}') },
			until => { next => N__('It is running again. Find out why {stopper} paused it.') },
		},
		story => 'stopped.t',
		flags => [qw(itself victim)],
	},
	'disk-io' => {
		list   => N__('the disk; {name}'),
		phrase => N__('waiting for the disk'),
		cause  => N__('waiting for the disk ({name})'),
		ask    => N__('the disk, or {name}'),
		next   => N__(
			'If another program loads the disk, make it idle priority (`ionice -c 3 -p {pid}`); '
				. 'else the disk is slow: `iostat -x 1` shows its service times.'
		),
		by    => \%BY_DISK,
		story => 'disk-and-memory.t',
		flags => [qw(holding args)],
	},
	'writeback' => {
		list   => N__('{name} had to wait for the disk'),
		phrase => N__('held back until written data is on the disk'),
		cause  => N__('holding {name} back until written data is on the disk'),
		ask    => N__('whoever writes so much, and the slow disk that it goes to'),
		next   => N__(
				  'See how much waits to be written: `grep -E "Dirty|Writeback:" /proc/meminfo`. A '
				. 'lower limit helps: `sysctl vm.dirty_bytes=268435456 '
				. 'vm.dirty_background_bytes=67108864`.'
		),
		by => {
			'wrote-most' => {
				clause => N__(
					'for {time} {waiter} was held back, because too much written data is not on '
						. 'the disk yet: {who} had written most of it'
				),
				clause_self => N__(
					'for {time} {waiter} was held back, because too much that it had written is '
						. 'not on the disk yet'
				),
				ask => N__('whoever runs {name}, and the slow disk that it writes to'),
			},
		},
		story => 'kinds.t',
		flags => [qw(holding)],
	},
	'page-fault-io' => {
		list   => N__('memory read from disk; {name}'),
		phrase => N__('page faults that waited for the disk'),
		cause  => N__('page faults that waited for the disk ({name})'),
		ask    => N__('the lack of memory on this machine, or its disk'),
		next   => N__(
			'See what filled the memory (`ps aux --sort=-rss`), and whether the machine swaps '
				. '(`vmstat 1`).'
		),
		by    => \%BY_FAULT,
		story => 'disk-and-memory.t',
		flags => [qw(holding memory)],
	},
	'memory-reclaim' => {
		list   => N__('memory was short; {name}'),
		phrase => N__('freeing memory'),
		cause  => N__('freeing of memory ({name})'),
		ask    => N__('whoever has filled the memory, or limits that of the cgroup'),
		next   => N__(
			'See what filled it (`ps aux --sort=-rss`), or raise memory.high or memory.max of '
				. 'the cgroup.'
		),
		by => {
			'memory-compaction' => {
				ask  => N__('whoever asks for huge pages, or has left memory in small pieces'),
				next => N__(
					'Let only those have huge pages at once that ask for them: `echo madvise > '
						. '/sys/kernel/mm/transparent_hugepage/defrag`.'
				),
			},
			'memory-unpacked' => {
				next => N__(
					'Close what fills the memory (`ps aux --sort=-rss`), or swap to a disk, too.'),
			},
		},
		story => 'disk-and-memory.t',
		flags => [qw(holding memory)],
	},
	'futex-wait' => {
		list   => N__('a lock of {name}'),
		phrase => N__('waiting for a lock (futex)'),
		cause  => N__('waiting for a lock of {name}'),
		ask    => N__('the makers of {name}'),
		next   => N__('One of its threads kept another waiting. {send}'),
		by     => { %BY_OTHER, %BY_HOLDING },
		story  => 'locks.t',
		flags  => [qw(holding holder)],
	},
	'lock-wait' => {
		list   => N__('a lock of {name}'),
		phrase => N__('waiting for a lock'),
		cause  => N__('waiting for a lock of {name}'),
		ask    => N__('the makers of {name}, which held the lock'),
		next   =>
			N__('See what it did with the lock: `tipme timeline {episode} -o FILE.svg` draws it.'),
		by    => { %BY_OTHER, %BY_HOLDING },
		story => 'locks.t',
		flags => [qw(args holding holder)],
	},
	'network-wait' => {
		list   => N__('{name} waited for the network'),
		phrase => N__('waiting for the network'),
		cause  => N__('waiting for the network ({name})'),
		ask    => N__('the network, or the machine at its other end'),
		next   => N__('Test the connection (`ss -ti`, `ping`).'),
		by     => { %BY_SERVER, %BY_SERVICE },
		story  => 'kinds.t',
		flags  => [qw(holding)],
	},
	'device-wait' => {
		list   => N__('{name} waited for a device'),
		phrase => N__('waiting for a device'),
		cause  => N__('waiting for a device ({name})'),
		ask    => N__('the driver of the device'),
		next   => N__('See what the kernel says of it: `dmesg`.'),
		by     => \%BY_DEVICE,
		story  => 'kinds.t',
		flags  => [qw(holding)],
	},
	'gpu-wait' => {
		list   => N__('{name} waited for the GPU'),
		phrase => N__('waiting for the graphics processor'),
		cause  => N__('waiting for the graphics processor ({name})'),
		ask    => N__('the graphics driver'),
		next   => N__('See what the kernel says of it: `dmesg`.'),
		by     => \%BY_GPU,
		story  => 'kinds.t',
		flags  => [qw(holding)],
	},
	'irq-time' => {
		list   => N__('{name}'),
		phrase => N__('interrupts and softirqs'),
		cause  => N__('{name}, which had the CPU'),
		ask    => N__('the driver of the device that interrupts'),
		next   => N__('See which line counts up: `watch -d cat /proc/interrupts`.'),
		clause => N__('for {time} {waiter} had no CPU: {detail}'),
		by     => \%BY_IRQ,
		story  => 'interference.t',
		flags  => [qw(itself)],
	},
	'irqs-off' => {
		list   => N__('{name} kept interrupts waiting'),
		phrase => N__('interrupts had to wait'),
		cause  => N__('{name}, which kept interrupts waiting'),
		ask    => N__('the makers of that part of the kernel'),
		next   => N__('No code may keep interrupts waiting for so long. {send}'),
		clause => N__('for {time} {who} {detail}'),
		story  => 'late.t',
		flags  => [],
	},
	'host-steal' => {
		list   => N__('the host took the CPU'),
		phrase => N__('the host took the CPU away'),
		cause  => N__('the host, which had taken the CPU away'),
		ask    => N__('whoever runs the host of this virtual machine'),
		next   => N__('This machine had no CPU: nothing inside it can help.'),
		clause => N__('for {time} {waiter} had no CPU: {detail}'),
		story  => 'interference.t',
		flags  => [],
	},
	'machine-stall' => {
		list   => N__('the machine stood still'),
		phrase => N__('the whole machine stood still'),
		cause  => N__('something that stopped the whole machine'),
		ask    => N__('the makers of the machine (its firmware), or whoever runs its host'),
		next   => N__(
			'See whether there is newer firmware (`fwupdmgr get-updates`), and stop programs that '
				. 'poll sensors or the GPU.'
		),
		clause => N__('for {time} {detail}'),
		story  => 'machine.t',
		flags  => [qw(itself)],
	},
	'unknown' => {
		list   => N__('cause not known'),
		phrase => N__('not known'),
		cause  => N__('something that is not known'),
		ask    => undef,
		next   =>
			N__('See whether records were lost, and what more could be recorded: `tipme doctor`.'),
		clause => N__('{time} could not be explained: {detail}'),
		by     => {
			'before-records' => {
				next => N__(
					'Press the hot-key sooner, or keep more seconds: `tipme start --window 120`.')
			},
			'damaged' => {
				clause =>
					N__('this episode is damaged ({what}). The delay is known; its cause is not'),
				next => N__('See what could not be read: `tipme show {episode}`.'),
			},
			'no-kernel' => {
				next =>
					N__('See what this machine can record, and what that needs: `tipme doctor`.')
			},
		},
		story => 'verdicts.t',
		flags => [qw(itself)],
	},
);
# Over a connection only the other end can be asked.
my %REMOTE = (
	ask  => N__('whoever runs {name}'),
	next => N__(
			  'See who is connected over the network: '
			. '`ss -tn state established \'( sport >= :6000 and sport <= :6063 )\'`.'
	),
);

# kinds(): all names, sorted
sub kinds { return sort keys %KIND }

# entry(KIND): the entry, or undef where there is none: its fields are described above
sub entry { return $KIND{ $_[0] } }

# has(KIND, FLAG): 1 or 0
sub has {
	my ($kind, $flag) = @_;
	my $e = $KIND{$kind} or return 0;
	$e->{set} //= { map { $_ => 1 } @{ $e->{flags} } };
	return $e->{set}{$flag} ? 1 : 0;
}

# with(FLAG): names of the kinds that have it
sub with {
	my ($flag) = @_;
	return grep { has($_, $flag) } kinds();
}

# words(KIND, FIELD, NAME => VALUE ...): the text, filled in; for a kind without an entry its name
sub words {
	my ($kind, $field, %value) = @_;
	my $e    = $KIND{$kind} or return $kind;
	my $text = $e->{$field} // return;
	return fill($text, %value);
}

# short(KIND, COMM, PID): the words of a list, with the process: "bash (300) computed"; COMM and PID
# may be undef
sub short {
	my ($kind, $comm, $pid) = @_;
	my $who = called($comm);
	$who = length $who ? $who . (defined $pid ? " ($pid)" : '') : fill(N__('somebody'));
	return words($kind, 'list', name => $who);
}

# text(KIND, FIELD, REASON): ask or next, not filled in; undef where there is none
sub text {
	my ($kind, $field, $reason) = @_;
	my $e      = $KIND{$kind} or return;
	my @by     = map  { ($e->{by} // {})->{$_} // () } defined $reason ? tags_of($reason) : ();
	my ($text) = grep {defined} map { $_->{$field} } @by, $e;
	return $text;
}

# clause(KIND, REASON, SITUATION ...): the text of the clause, not filled in; of the situations
# (self, other, others, processes, part) the first that has one counts
sub clause {
	my ($kind, $reason, @situation) = @_;
	my $e     = $KIND{$kind} // {};
	my @by    = map { ($e->{by} // {})->{$_} // () } tags_of($reason);
	my @field = ((map {"clause_$_"} @situation), 'clause');
	for my $fields (@by, $e) {
		for (@field) { return $fields->{$_} if defined $fields->{$_} }
	}
	return $WAS;
}

# remote(FIELD): ask or next of a client on another machine, not filled in
sub remote { return $REMOTE{ $_[0] } }

1;
