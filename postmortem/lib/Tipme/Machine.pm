# SPDX-License-Identifier: GPL-2.0-only
# The machine as a whole, beside the threads of a path: its memory each second, who has it, what the
# kernel reported, how fast its CPUs might run, and its state when the episode was written.
package Tipme::Machine;

use strict;
use warnings;
use Tipme::Kinds;
use Tipme::Printable qw(one_line);
use Tipme::Reason    qw(reason);
use Tipme::Record::Layout;

my $SECOND_NS     = 1_000_000_000;    # ns; the state of the machine is looked at so often
my $NOT_KNOWN     = 4_294_967_295;    # in a record: the kernel did not say (abi/records.def)
my $FULL          = 0.1;              # less of all memory is left
my $PRESSED       = 0.2;              # of the time some thread waited for memory
my $MOST_NAMES    = 3;                # of those who have the memory
my $MOST_MESSAGES = 3;                # reports of the kernel that are told beside one verdict
my $AROUND_NS     = 2 * $SECOND_NS;   # a report of the kernel comes before, or up to so long behind
my %MESSAGE       = %{ $Tipme::Record::Layout::ENUM{kernel_message_kind} };
my %POWER         = %{ $Tipme::Record::Layout::ENUM{power_source} };
my ($DEAD)        = grep { $Tipme::Record::Layout::ENUM{task_state}{$_} eq 'dead' }
	keys %{ $Tipme::Record::Layout::ENUM{task_state} };
# Which reports explain which kinds of verdicts; all others stand beside.
my %EXPLAINS = (
	gpu_reset      => [qw(gpu-wait frame-wait)],
	gpu_fault      => [qw(gpu-wait frame-wait)],
	flip_late      => [qw(gpu-wait frame-wait)],
	disk_timeout   => [qw(disk-io page-fault-io writeback)],
	disk_error     => [qw(disk-io page-fault-io writeback)],
	fs_error       => [qw(disk-io page-fault-io writeback)],
	split_lock     => [qw(cpu-penalty)],
	clock_unstable => [qw(app-compute server-compute)],
	thermal        => [qw(app-compute server-compute cpu-contention cpu-slow)],
	usb_reset      => [qw(device-wait input-device disk-io)],
	usb_gone       => [qw(device-wait input-device disk-io)],
	bus_timeout    => [qw(device-wait gpu-wait input-device)],
	server_gone    => [qw(network-wait ipc-wait)],
	server_back    => [qw(network-wait ipc-wait)],
	cpu_stuck      => [qw(machine-stall cpu-contention irqs-off)],
	firmware_error => [qw(device-wait machine-stall)],
	network_reset  => [qw(network-wait)],
	oom_kill       => [qw(memory-reclaim page-fault-io)],
	alloc_failed   => [qw(memory-reclaim page-fault-io)],
);

# new(threads => Threads, episode => Episode)
sub new { my ($class, %o) = @_; return bless {%o}, $class }

# --- memory ---

# memory(FROM, TO): of the seconds that lie in a stretch, or the one before its end: {
# available_kib, total_kib, swap_total_kib, swap_free_kib, some_us, full_us, of_ns, oom_kills,
# swapped_in, ... };
# undef where nobody looked. Pressures are sums of the seconds; undef where the kernel tells none.
sub memory {
	my ($self, $from, $to) = @_;
	my @all = $self->{threads}->looked('memory_state');
	my @of  = grep { $_->{ts_ns} > $from && ($_->{since_ns} || $_->{ts_ns}) < $to } @all;
	@of = grep { $_->{ts_ns} <= $to + $SECOND_NS } @of;
	@of = (grep { $_->{ts_ns} <= $to } @all)[-1] if !@of;
	@of = grep {defined} @of;
	return if !@of;
	my ($worst) = sort { $a->{available_kib} <=> $b->{available_kib} } @of;
	my %sum = (%$worst, of_ns => 0);

	for my $field (qw(oom_kills swapped_in swapped_out major_faults compactions)) {
		$sum{$field} = _sum(map { $_->{$field} } @of);
	}
	for my $field (qw(some_us full_us io_full_us)) {
		my @known = grep { $_->{$field} != $NOT_KNOWN } @of;
		$sum{$field} = @known ? _sum(map { $_->{$field} } @known) : undef;
	}
	$sum{of_ns} = _sum(map { $_->{since_ns} ? $_->{ts_ns} - $_->{since_ns} : 0 } @of);
	return \%sum;
}

sub _sum { my $sum = 0; $sum += $_ // 0 for @_; return $sum }

sub _is_short {
	my ($m) = @_;
	return 1 if $m->{available_kib} < $FULL * $m->{total_kib};
	return $m->{of_ns} && 1000 * ($m->{some_us} // 0) > $PRESSED * $m->{of_ns} ? 1 : 0;
}

# holders(TIME, FIELD): who has the memory at a time, the largest first: { name, kib, processes }.
# FIELD is comm (a program) or cgroup. What processes share is counted for each of them.
sub holders {
	my ($self, $t, $field) = @_;
	my %of;
	for my $tid ($self->{threads}->tids) {
		my $p = $self->{threads}->picture_at($tid, $t) or next;
		next if $p->{pid} != $tid || !$p->{rss_kib} || ($p->{state} // -1) == $DEAD;
		my $name = $field eq 'comm' ? $p->{comm} : $self->_group_name($p->{cgroup}) // next;
		my $h    = $of{$name} //= { name => $name, kib => 0, processes => 0, pid => $p->{pid} };
		$h->{kib} += $p->{rss_kib};
		$h->{processes}++;
	}
	return sort { $b->{kib} <=> $a->{kib} || $a->{name} cmp $b->{name} } values %of;
}

sub _group_name {
	my ($self, $id) = @_;
	my $group = $self->{threads}->cgroup($id) or return;
	my ($name) = $group->{path} =~ m{([^/]+)\z};
	return $name;
}

# size(KIB): in words
sub size {
	my ($kib) = @_;
	return "$kib KiB" if $kib < 1024;
	return sprintf '%.0f MiB', $kib / 1024 if $kib < 1024 * 1024;
	return sprintf '%.1f GiB', $kib / 1024 / 1024;
}

# memory_facts(VERDICT, FROM, TO): reasons; all that is known where the want of memory has a part in
# the verdict, else only that memory was short
sub memory_facts {
	my ($self, $v, $from, $to) = @_;
	my $asked = Tipme::Kinds::has($v->{kind}, 'memory');
	my $m     = $self->memory($from, $to);
	my $short = $m && _is_short($m);
	return if !$asked && !$short;
	my @say = $m ? _memory_words($m) : ();
	my @top = $self->holders($to, 'comm');
	splice @top, $MOST_NAMES if @top > $MOST_NAMES;
	push @say, reason('memory-of', list => join ', ', map { holder_words($_) } @top) if @top;
	push @say, reason('swap-' . $_) for $m && $m->{swap_total_kib} ? $self->_swap_kind : ();
	push @say, reason('oom-kills', n => $m->{oom_kills}) if $m && $m->{oom_kills};
	$v->{memory} = {
		(
			map      { $_ => $m->{$_} }
				grep { $m && defined $m->{$_} }
				qw(total_kib available_kib swap_total_kib swap_free_kib some_us full_us oom_kills)
		),
		programs => [ map { +{ comm => $_->{name}, %$_{qw(processes kib)} } } @top ],
		groups   =>
			[ map { +{ %$_{qw(name processes kib)} } } ($self->holders($to, 'cgroup'))[ 0 .. 0 ] ],
	};
	$v->{memory}{groups} = [ grep { defined $_->{name} } @{ $v->{memory}{groups} } ];
	return @say;
}

sub _memory_words {
	my ($m) = @_;
	my %of = (
		used  => sprintf('%.0f', 100 * (1 - $m->{available_kib} / ($m->{total_kib} || 1))),
		total => size($m->{total_kib}),
		swap  => $m->{swap_total_kib}
		? sprintf('%.0f', 100 * (1 - $m->{swap_free_kib} / $m->{swap_total_kib}))
		: undef,
	);
	my @say = reason($m->{swap_total_kib} ? 'memory-used-swap' : 'memory-used', %of);
	for my $who (qw(full some)) {
		my $us = $m->{"${who}_us"};
		next if !$us || !$m->{of_ns} || 1000 * $us < $PRESSED * $m->{of_ns};
		push @say, reason(
			"memory-pressed-$who", ms => sprintf('%.0f', $us / 1e3),
			of => sprintf '%.0f', $m->{of_ns} / 1e6
		);
		last;
	}
	return @say;
}

# holder_words({ name, kib, processes }): as it is told
sub holder_words {
	my ($h) = @_;
	my $name = one_line($h->{name});
	return "$name " . size($h->{kib}) if $h->{processes} == 1;
	return "$name ($h->{processes} processes) " . size($h->{kib});
}

# Where what is swapped out goes: zram, disk, mixed; nothing where the episode does not say.
sub _swap_kind {
	my ($self) = @_;
	my $list = $self->state->{swap};
	my %kind =
		map { ($_->{kind} // '') => 1 } ref $list eq 'ARRAY' ? grep { ref eq 'HASH' } @$list : ();
	return 'zram'  if $kind{zram} && keys %kind == 1;
	return 'zswap' if ($self->state->{zswap} // '') eq 'Y';
	return;
}

# --- what the kernel reported ---

# messages(FROM, TO): { ts_ns, what, device, number, severity }, in order of time
sub messages {
	my ($self, $from, $to) = @_;
	return map { +{ %$_, what => $MESSAGE{ $_->{kind} } // 'other' } }
		grep   { $_->{ts_ns} >= $from && $_->{ts_ns} <= $to }
		$self->{threads}->looked('kernel_message');
}

# message_facts(VERDICT, FROM, TO): reasons, each sort once. What explains the verdict goes into its
# sentence, and into $v->{reported}.
sub message_facts {
	my ($self, $v, $from, $to) = @_;
	my (@say, %seen);
	for my $m ($self->messages($from - $AROUND_NS, $to + $AROUND_NS)) {
		next
			if $m->{what} eq 'other'
			|| $seen{"$m->{what} $m->{device}"}++
			|| @say >= $MOST_MESSAGES;
		my $told =
			reason("message-$m->{what}", device => length $m->{device} ? $m->{device} : undef);
		push @say, reason('reported', doing => $told, at => sprintf('%.3f', $m->{ts_ns} / 1e9));
		next if $v->{reported} || !grep { $_ eq $v->{kind} } @{ $EXPLAINS{ $m->{what} } // [] };
		$v->{reported} =
			{ what => $m->{what}, device => $m->{device}, ts_ns => $m->{ts_ns}, told => $told };
	}
	return @say;
}

# --- how fast CPUs might run ---

# speed(CPU, TIME): the last look at a CPU at or before a time: { khz, limit_khz, max_khz,
# throttled, power: mains, battery or '' }; or undef
sub speed {
	my ($self, $cpu, $t) = @_;
	my ($s) = grep { $_->{cpu} == $cpu && $_->{ts_ns} <= $t }
		reverse $self->{threads}->looked('cpu_speed');
	return $s ? { %$s, power => $POWER{ $s->{power} } // '' } : undef;
}

# throttled(CPU, FROM, TO): how often heat or power slowed the CPU in that time
sub throttled {
	my ($self, $cpu, $from, $to) = @_;
	return _sum(
		map      { $_->{throttled} }
			grep { $_->{cpu} == $cpu && $_->{ts_ns} > $from && $_->{ts_ns} <= $to + $SECOND_NS }
			$self->{threads}->looked('cpu_speed')
	);
}

# speed_facts(SLOW CPU of a verdict, FROM, TO): why it was slow, as reasons
sub speed_facts {
	my ($self, $slow, $from, $to) = @_;
	my $s        = $self->speed($slow->{cpu}, $to) or return;
	my $n        = $self->throttled($slow->{cpu}, $from, $to);
	my $governor = $self->state->{governor};
	return (
		$s->{limit_khz} && $s->{max_khz} && $s->{limit_khz} < 0.9 * $s->{max_khz}
		? reason('cpu-limited', khz => sprintf '%.2f', $s->{limit_khz} / 1e6)
		: (),
		$n                                  ? reason('cpu-too-hot', n => $n)                  : (),
		$s->{power} eq 'battery'            ? reason('on-battery')                            : (),
		defined $governor && !ref $governor ? reason('governor', name => one_line($governor)) : (),
	);
}

# --- what the machine is, where that explains a verdict ---

my %SLOW_CLOCK = map { $_ => 1 } qw(hpet acpi_pm);

# setting_facts(VERDICT): reasons
sub setting_facts {
	my ($self,  $v)   = @_;
	my ($state, @say) = ($self->state);
	my $clock = $state->{clock_source} // '';
	push @say, reason('clock-slow', name => one_line($clock))
		if $SLOW_CLOCK{$clock} && Tipme::Kinds::has($v->{kind}, 'compute');
	push @say, reason('btrfs-quotas')
		if @{ $state->{btrfs_quotas} // [] } && ($v->{blamed}{detail} // '') =~ /\bwait-btrfs\b/;
	my $disk = ($v->{blamed} // {})->{disk};
	if (defined $disk && $v->{kind} =~ /^(?:disk-io|page-fault-io|writeback)$/) {
		my $encrypted = encrypted_on($state, $disk);
		push @say, reason('disk-encrypted', disk => one_line($encrypted)) if defined $encrypted;
		my ($is) = grep { ref eq 'HASH' && ($_->{name} // '') eq $disk } @{ $state->{disks} // [] };
		push @say, reason('disk-rotates',   disk => one_line($disk)) if $is && $is->{rotational};
		push @say, reason('disk-removable', disk => one_line($disk)) if $is && $is->{removable};
	}
	return @say;
}

# encrypted_on(STATE of the machine, name of a disk): the encrypted disk that this is, or the only
# one that lies on it; undef: none
sub encrypted_on {
	my ($state, $disk) = @_;
	my @encrypted = grep { defined && !ref && /\A[a-z0-9:-]+\z/ } _list($state->{encrypted});
	return if !defined $disk;
	return $disk if grep { $_ eq $disk } @encrypted;
	my %is = map  { $_ => 1 } @encrypted;
	my @on = grep { $is{ $_->{name} // '' } && ($_->{over} // '') eq $disk }
		grep { ref eq 'HASH' } _list($state->{disks});
	return @on == 1 ? $on[0]{name} : undef;
}

sub _list { my ($list) = @_; return ref $list eq 'ARRAY' ? @$list : () }

# --- the state of the machine ---

# state(): as the manifest has it, or {}
sub state {
	my ($self) = @_;
	my $state  = $self->{episode} ? $self->{episode}->manifest->{state} : undef;
	return ref $state eq 'HASH' ? $state : {};
}

# differences(STATE A, STATE B): what is another in B: { what, a, b }, as texts, in order of names
sub differences {
	my ($a, $b) = map { _flat($_, '') } @_;
	my %all = (%$a, %$b);
	return map { +{ what => $_, a => $a->{$_}, b => $b->{$_} } }
		grep { ($a->{$_} // '') ne ($b->{$_} // '') } sort keys %all;
}

# A list of words is one text; what has names becomes lines of their own.
sub _flat {
	my ($v, $name) = @_;
	return { map { %{ _flat($v->{$_}, length $name ? "$name.$_" : $_) } } keys %$v }
		if ref $v eq 'HASH';
	return { $name => join ', ', sort map { _entry($_) } @$v } if ref $v eq 'ARRAY';
	return { $name => defined $v ? one_line("$v") : '' };
}

sub _entry {
	my ($v) = @_;
	return one_line($v // '') if !ref $v;
	return join ' ', map { one_line("$v->{$_}") } grep { !ref $v->{$_} } sort keys %$v;
}

1;
