# SPDX-License-Identifier: GPL-2.0-only
# Layout of the records; made by abi/gen-records from abi/records.def: change those, not this.
package Tipme::Record::Layout;

use strict;
use warnings;

our $MAJOR = 1;
our $MINOR = 4;

our %ENUM = (
	source => { 1 => 'kernel_bpf', 2 => 'kernel_module', 3 => 'proc_sampled', 4 => 'x_hooks', 5 => 'x_client', 6 => 'tipmed' },
	task_state => { 0 => 'runnable', 1 => 'sleeping', 2 => 'disk_sleep', 3 => 'stopped', 4 => 'traced', 5 => 'dead', 6 => 'parked', 7 => 'idle', 8 => 'frozen', 9 => 'lock_wait', 10 => 'running', 11 => 'unknown' },
	context => { 0 => 'task', 1 => 'softirq_task', 2 => 'softirq_irq', 3 => 'softirq_mixed', 4 => 'hardirq', 5 => 'nmi' },
	input_kind => { 1 => 'key_press', 2 => 'key_release', 3 => 'button_press', 4 => 'button_release', 5 => 'motion', 6 => 'touch', 7 => 'key_repeat', 8 => 'other', 9 => 'wheel' },
	chord_action => { 1 => 'start', 2 => 'snapshot', 3 => 'no_input', 4 => 'default_input' },
	x_client_state => { 1 => 'connected', 2 => 'gone', 3 => 'present' },
	x_grab_what => { 1 => 'server', 2 => 'pointer', 3 => 'keyboard' },
	wl_input => { 1 => 'keyboard', 2 => 'pointer', 3 => 'touch', 4 => 'tablet', 5 => 'text', 6 => 'input_method', 7 => 'drag' },
	wl_told => { 1 => 'done', 2 => 'presented', 3 => 'discarded' },
	phase => { 1 => 'begin', 2 => 'end', 3 => 'sample' },
	io_phase => { 1 => 'queued', 2 => 'merged', 3 => 'inserted', 4 => 'issued', 5 => 'completed', 6 => 'failed', 7 => 'requeued' },
	io_op => { 0 => 'read', 1 => 'write', 2 => 'flush', 3 => 'discard', 4 => 'other' },
	lock_kind => { 0 => 'unknown', 1 => 'spin', 2 => 'mutex', 3 => 'rwsem_read', 4 => 'rwsem_write', 5 => 'rt_mutex', 6 => 'file' },
	memory_wait_kind => { 1 => 'direct_reclaim', 2 => 'memcg_reclaim', 3 => 'compaction', 4 => 'fault_file', 5 => 'fault_swap', 6 => 'throttled' },
	irq_kind => { 1 => 'hardirq', 2 => 'softirq', 3 => 'timer', 4 => 'nmi', 5 => 'ipi' },
	sample_kind => { 1 => 'clock', 2 => 'cycles', 3 => 'nmi_ipi', 4 => 'timer_irq' },
	kernel_message_kind => { 1 => 'gpu_reset', 2 => 'gpu_fault', 3 => 'flip_late', 4 => 'disk_timeout', 5 => 'disk_error', 6 => 'split_lock', 7 => 'clock_unstable', 8 => 'thermal', 9 => 'usb_reset', 10 => 'usb_gone', 11 => 'bus_timeout', 12 => 'hung_task', 13 => 'oom_kill', 14 => 'fs_error', 15 => 'server_gone', 16 => 'server_back', 17 => 'cpu_stuck', 18 => 'firmware_error', 19 => 'network_reset', 20 => 'alloc_failed' },
	power_source => { 1 => 'mains', 2 => 'battery' },
	net_service => { 0 => 'other', 1 => 'dns', 2 => 'local_names', 3 => 'web', 4 => 'mail', 5 => 'files', 6 => 'directory', 7 => 'print', 8 => 'ssh', 9 => 'x11', 10 => 'desktop', 11 => 'database' },
	net_protocol => { 1 => 'tcp', 2 => 'udp' },
	net_act => { 1 => 'asked', 2 => 'again' },
	net_place => { 0 => 'unknown', 1 => 'machine', 2 => 'local', 3 => 'beyond' },
	device_class => { 0 => 'other', 1 => 'keyboard', 2 => 'pointer', 3 => 'touch' },
	verb => { 1 => 'x_hello', 2 => 'trigger', 3 => 'status', 4 => 'stop', 5 => 'watch', 6 => 'note', 7 => 'set', 8 => 'rings', 16 => 'reply', 17 => 'saved', 18 => 'triggered' },
);

# name, size of the fixed part, template, names of the fields, enum of a field, fields that are always 0
our %STRUCT = (
	message => {
		name => 'message', size => 16, template => 'VvvVV',
		names => [qw(magic version verb arg text_len)],
		enum => { verb => 'verb' }, zero => {  },
	},
	head => {
		name => 'head', size => 16, template => 'Q<CCvV',
		names => [qw(ts_ns type len8 gen tid)],
		enum => {  }, zero => {  },
	},
	file_header => {
		name => 'file_header', size => 64, template => 'Z8VvvVVQ<Q<Q<Q<Q<',
		names => [qw(magic byte_order major minor header_len source created_ns trigger_ns episode_id body_len reserved0)],
		enum => { source => 'source' }, zero => { reserved0 => 1 },
	},
	pool_header => {
		name => 'pool_header', size => 64, template => 'Q<VVQ<Q<Q<Q<Q<Q<',
		names => [qw(gen owner cpu first_ns retired_ns seq next slot_gen reserved0)],
		enum => {  }, zero => { reserved0 => 1 },
	},
	x_ring_header => {
		name => 'x_ring_header', size => 256, template => 'Z8VvvVVQ<VVQ<VvCCQ<Q<VVQ<Z16VZ148',
		names => [qw(magic byte_order major minor header_len slot_count head server_pid server_tid cur_start_ns cur_pid cur_client cur_major cur_minor lost chords display grab_pid grab_start_ns server_name source reserved0)],
		enum => { source => 'source' }, zero => { reserved0 => 1 },
	},
);

our %RECORD = (
	1 => {
		name => 'section', size => 56, template => 'Q<CCvVVVQ<Q<Q<Q<',
		names => [qw(ts_ns type len8 gen tid source cpu first_ns last_ns count body_len)],
		enum => { source => 'source' }, zero => {  },
	},
	3 => {
		name => 'sched_switch', size => 32, template => 'Q<CCvVVVVCCCC',
		names => [qw(ts_ns type len8 gen tid next_tid irq_ns softirq_ns prev_state prev_prio next_prio prev_preempted)],
		enum => { prev_state => 'task_state' }, zero => {  },
	},
	4 => {
		name => 'sched_waking', size => 32, template => 'Q<CCvVVVVvCC',
		names => [qw(ts_ns type len8 gen tid waker_tid stack_id raiser_tid wakee_cpu context prio)],
		enum => { context => 'context' }, zero => {  },
	},
	5 => {
		name => 'fork', size => 32, template => 'Q<CCvVVVQ<',
		names => [qw(ts_ns type len8 gen tid child_tid child_pid child_start_ns)],
		enum => {  }, zero => {  },
	},
	6 => {
		name => 'exit', size => 32, template => 'Q<CCvVVVQ<',
		names => [qw(ts_ns type len8 gen tid pid exit_code start_ns)],
		enum => {  }, zero => {  },
	},
	7 => {
		name => 'exec', size => 32, template => 'Q<CCvVVVQ<',
		names => [qw(ts_ns type len8 gen tid pid old_tid start_ns)],
		enum => {  }, zero => {  },
	},
	8 => {
		name => 'rename', size => 32, template => 'Q<CCvVZ16',
		names => [qw(ts_ns type len8 gen tid comm)],
		enum => {  }, zero => {  },
	},
	9 => {
		name => 'work_queued', size => 32, template => 'Q<CCvVQ<VvCC',
		names => [qw(ts_ns type len8 gen tid work function cpu context pad0)],
		enum => { context => 'context' }, zero => { pad0 => 1 },
	},
	10 => {
		name => 'work_start', size => 32, template => 'Q<CCvVQ<VV',
		names => [qw(ts_ns type len8 gen tid work function pad0)],
		enum => {  }, zero => { pad0 => 1 },
	},
	11 => {
		name => 'work_end', size => 32, template => 'Q<CCvVQ<VV',
		names => [qw(ts_ns type len8 gen tid work function pad0)],
		enum => {  }, zero => { pad0 => 1 },
	},
	12 => {
		name => 'io', size => 32, template => 'Q<CCvVQ<VvCC',
		names => [qw(ts_ns type len8 gen tid sector dev sectors op phase)],
		enum => { op => 'io_op', phase => 'io_phase' }, zero => {  },
	},
	13 => {
		name => 'lock_contention', size => 32, template => 'Q<CCvVQ<VvCC',
		names => [qw(ts_ns type len8 gen tid lock owner_tid error kind phase)],
		enum => { kind => 'lock_kind', phase => 'phase' }, zero => {  },
	},
	14 => {
		name => 'memory_wait', size => 32, template => 'Q<CCvVQ<VvCC',
		names => [qw(ts_ns type len8 gen tid amount duration_ns pad0 kind phase)],
		enum => { kind => 'memory_wait_kind', phase => 'phase' }, zero => { pad0 => 1 },
	},
	15 => {
		name => 'irq', size => 32, template => 'Q<CCvVVVVvCC',
		names => [qw(ts_ns type len8 gen tid duration_ns number raiser_tid pad0 kind context)],
		enum => { kind => 'irq_kind', context => 'context' }, zero => { pad0 => 1 },
	},
	16 => {
		name => 'signal', size => 32, template => 'Q<CCvVVVvCCV',
		names => [qw(ts_ns type len8 gen tid sender_tid pid signal context result pad0)],
		enum => { context => 'context' }, zero => { pad0 => 1 },
	},
	17 => {
		name => 'cpu_throttle', size => 32, template => 'Q<CCvVQ<VvCC',
		names => [qw(ts_ns type len8 gen tid cgroup throttled_us cpu phase pad0)],
		enum => { phase => 'phase' }, zero => { pad0 => 1 },
	},
	18 => {
		name => 'priority', size => 32, template => 'Q<CCvVVCCCCQ<',
		names => [qw(ts_ns type len8 gen tid changer_tid old_prio new_prio inherited policy pad0)],
		enum => {  }, zero => { pad0 => 1 },
	},
	19 => {
		name => 'migrate', size => 32, template => 'Q<CCvVvvVQ<',
		names => [qw(ts_ns type len8 gen tid from_cpu to_cpu mover_tid pad0)],
		enum => {  }, zero => { pad0 => 1 },
	},
	20 => {
		name => 'cpu_frequency', size => 32, template => 'Q<CCvVVvvQ<',
		names => [qw(ts_ns type len8 gen tid khz cpu pad0 pad1)],
		enum => {  }, zero => { pad0 => 1, pad1 => 1 },
	},
	21 => {
		name => 'cpu_idle', size => 32, template => 'Q<CCvVVVvvV',
		names => [qw(ts_ns type len8 gen tid idle_ns exit_latency_ns state cpu pad0)],
		enum => {  }, zero => { pad0 => 1 },
	},
	22 => {
		name => 'steal', size => 32, template => 'Q<CCvVVvvQ<',
		names => [qw(ts_ns type len8 gen tid steal_ns cpu pad0 since_ns)],
		enum => {  }, zero => { pad0 => 1 },
	},
	23 => {
		name => 'sample', size => 32, template => 'Q<CCvVVVVvCC',
		names => [qw(ts_ns type len8 gen tid kernel_stack_id user_stack_id period_us cpu kind context)],
		enum => { kind => 'sample_kind', context => 'context' }, zero => {  },
	},
	24 => {
		name => 'input', size => 32, template => 'Q<CCvVVvCCQ<',
		names => [qw(ts_ns type len8 gen tid code device kind class pad0)],
		enum => { kind => 'input_kind', class => 'device_class' }, zero => { pad0 => 1 },
	},
	25 => {
		name => 'latency', size => 32, template => 'Q<CCvVVVVvCC',
		names => [qw(ts_ns type len8 gen tid irq_ns deferred_ns thread_ns cpu rt_priority over)],
		enum => {  }, zero => {  },
	},
	26 => {
		name => 'latency_user', size => 32, template => 'Q<CCvVVvCCQ<',
		names => [qw(ts_ns type len8 gen tid user_ns cpu rt_priority over expiry_ns)],
		enum => {  }, zero => {  },
	},
	27 => {
		name => 'proc_state', size => 32, template => 'Q<CCvVVVVvCC',
		names => [qw(ts_ns type len8 gen tid run_ns wait_ns stack_id cpu state prio)],
		enum => { state => 'task_state' }, zero => {  },
	},
	28 => {
		name => 'affinity', size => 32, template => 'Q<CCvVQ<VV',
		names => [qw(ts_ns type len8 gen tid cpus_allowed changer_tid within_ns)],
		enum => {  }, zero => {  },
	},
	29 => {
		name => 'network', size => 32, template => 'Q<CCvVQ<VCCCC',
		names => [qw(ts_ns type len8 gen tid socket bytes service protocol act place)],
		enum => { service => 'net_service', protocol => 'net_protocol', act => 'net_act', place => 'net_place' }, zero => {  },
	},
	32 => {
		name => 'picture', size => 32, template => 'Q<CCvVVVQ<',
		names => [qw(ts_ns type len8 gen tid threads changed end_ns)],
		enum => {  }, zero => {  },
	},
	33 => {
		name => 'thread', size => 104, template => 'Q<CCvVVVQ<Q<VVCCvVZ16Q<Q<VVQ<',
		names => [qw(ts_ns type len8 gen tid pid ppid start_ns since_ns stack_id uid state prio cpu flags comm cgroup cpus_allowed ns_tid rss_kib run_ns)],
		enum => { state => 'task_state' }, zero => {  },
	},
	34 => {
		name => 'stack', size => 24, template => 'Q<CCvVVVZ*',
		names => [qw(ts_ns type len8 gen tid stack_id frames text)],
		enum => {  }, zero => {  },
	},
	35 => {
		name => 'function', size => 24, template => 'Q<CCvVVVZ*',
		names => [qw(ts_ns type len8 gen tid function pad0 name)],
		enum => {  }, zero => { pad0 => 1 },
	},
	36 => {
		name => 'user_stack', size => 24, template => 'Q<CCvVVVZ*',
		names => [qw(ts_ns type len8 gen tid stack_id frames text)],
		enum => {  }, zero => {  },
	},
	37 => {
		name => 'module', size => 64, template => 'Q<CCvVVVZ40Z*',
		names => [qw(ts_ns type len8 gen tid module_id pid build_id path)],
		enum => {  }, zero => {  },
	},
	38 => {
		name => 'exec_args', size => 40, template => 'Q<CCvVVVQ<VVZ*',
		names => [qw(ts_ns type len8 gen tid pid total_len start_ns uid count text)],
		enum => {  }, zero => {  },
	},
	39 => {
		name => 'exec_environment', size => 32, template => 'Q<CCvVVVQ<Z*',
		names => [qw(ts_ns type len8 gen tid pid uid start_ns text)],
		enum => {  }, zero => {  },
	},
	40 => {
		name => 'irq_name', size => 24, template => 'Q<CCvVVVZ*',
		names => [qw(ts_ns type len8 gen tid number pad0 name)],
		enum => {  }, zero => { pad0 => 1 },
	},
	41 => {
		name => 'cgroup_name', size => 32, template => 'Q<CCvVQ<VVZ*',
		names => [qw(ts_ns type len8 gen tid cgroup quota_us period_us path)],
		enum => {  }, zero => {  },
	},
	42 => {
		name => 'disk_name', size => 24, template => 'Q<CCvVVVZ*',
		names => [qw(ts_ns type len8 gen tid dev rotational name)],
		enum => {  }, zero => {  },
	},
	43 => {
		name => 'process', size => 48, template => 'Q<CCvVVVQ<Q<VVZ*',
		names => [qw(ts_ns type len8 gen tid pid ppid start_ns exit_ns uid exit_code exe)],
		enum => {  }, zero => {  },
	},
	44 => {
		name => 'input_device', size => 24, template => 'Q<CCvVvCCVZ*',
		names => [qw(ts_ns type len8 gen tid device class pad0 pad1 name)],
		enum => { class => 'device_class' }, zero => { pad0 => 1, pad1 => 1 },
	},
	45 => {
		name => 'memory_state', size => 80, template => 'Q<CCvVQ<VVVVVVVVVVVVVV',
		names => [qw(ts_ns type len8 gen tid since_ns total_kib available_kib swap_total_kib swap_free_kib dirty_kib writeback_kib some_us full_us io_full_us swapped_in swapped_out major_faults compactions oom_kills)],
		enum => {  }, zero => {  },
	},
	46 => {
		name => 'cpu_speed', size => 40, template => 'Q<CCvVVVVvvCCvV',
		names => [qw(ts_ns type len8 gen tid khz limit_khz max_khz throttled cpu power pad0 pad1 pad2)],
		enum => { power => 'power_source' }, zero => { pad0 => 1, pad1 => 1, pad2 => 1 },
	},
	47 => {
		name => 'kernel_message', size => 48, template => 'Q<CCvVVvvZ24',
		names => [qw(ts_ns type len8 gen tid number kind severity device)],
		enum => { kind => 'kernel_message_kind' }, zero => {  },
	},
	48 => {
		name => 'cgroup_weight', size => 32, template => 'Q<CCvVQ<VV',
		names => [qw(ts_ns type len8 gen tid cgroup weight pad0)],
		enum => {  }, zero => { pad0 => 1 },
	},
	64 => {
		name => 'x_device', size => 32, template => 'Q<CCvVVVVvCC',
		names => [qw(ts_ns type len8 gen tid input_seq server_ms code device kind is_master)],
		enum => { kind => 'input_kind' }, zero => {  },
	},
	65 => {
		name => 'x_deliver', size => 32, template => 'Q<CCvVVVVvCC',
		names => [qw(ts_ns type len8 gen tid pid window input_seq client kind x_type)],
		enum => { kind => 'input_kind' }, zero => {  },
	},
	66 => {
		name => 'x_request', size => 32, template => 'Q<CCvVVVvCCvv',
		names => [qw(ts_ns type len8 gen tid pid duration_ns client major minor sequence count)],
		enum => {  }, zero => {  },
	},
	67 => {
		name => 'x_damage', size => 32, template => 'Q<CCvVVVvCCvv',
		names => [qw(ts_ns type len8 gen tid pid window client major minor width height)],
		enum => {  }, zero => {  },
	},
	68 => {
		name => 'x_flush', size => 32, template => 'Q<CCvVVvvQ<',
		names => [qw(ts_ns type len8 gen tid pid client pad0 duration_ns)],
		enum => {  }, zero => { pad0 => 1 },
	},
	69 => {
		name => 'x_sleep', size => 32, template => 'Q<CCvVQ<Q<',
		names => [qw(ts_ns type len8 gen tid pad0 pad1)],
		enum => {  }, zero => { pad0 => 1, pad1 => 1 },
	},
	70 => {
		name => 'x_wakeup', size => 32, template => 'Q<CCvVQ<Q<',
		names => [qw(ts_ns type len8 gen tid pad0 pad1)],
		enum => {  }, zero => { pad0 => 1, pad1 => 1 },
	},
	71 => {
		name => 'x_chord', size => 32, template => 'Q<CCvVVVQ<',
		names => [qw(ts_ns type len8 gen tid action input_seq pad0)],
		enum => { action => 'chord_action' }, zero => { pad0 => 1 },
	},
	72 => {
		name => 'x_client', size => 32, template => 'Q<CCvVVvCCQ<',
		names => [qw(ts_ns type len8 gen tid pid client state pad0 pad1)],
		enum => { state => 'x_client_state' }, zero => { pad0 => 1, pad1 => 1 },
	},
	73 => {
		name => 'x_grab', size => 32, template => 'Q<CCvVVvCCQ<',
		names => [qw(ts_ns type len8 gen tid pid client what begin pad0)],
		enum => { what => 'x_grab_what' }, zero => { pad0 => 1 },
	},
	74 => {
		name => 'x_input', size => 32, template => 'Q<CCvVQ<VvCC',
		names => [qw(ts_ns type len8 gen tid kernel_ns code device kind pad0)],
		enum => { kind => 'input_kind' }, zero => { pad0 => 1 },
	},
	75 => {
		name => 'x_reply', size => 32, template => 'Q<CCvVVVvvCCCC',
		names => [qw(ts_ns type len8 gen tid pid bytes client sequence major minor error pad0)],
		enum => {  }, zero => { pad0 => 1 },
	},
	76 => {
		name => 'x_output_full', size => 32, template => 'Q<CCvVVvCCQ<',
		names => [qw(ts_ns type len8 gen tid pid client phase pad0 pad1)],
		enum => { phase => 'phase' }, zero => { pad0 => 1, pad1 => 1 },
	},
	77 => {
		name => 'x_present', size => 32, template => 'Q<CCvVVVvCCV',
		names => [qw(ts_ns type len8 gen tid pid window client phase mode serial)],
		enum => { phase => 'phase' }, zero => {  },
	},
	78 => {
		name => 'x_idle', size => 32, template => 'Q<CCvVQ<VV',
		names => [qw(ts_ns type len8 gen tid duration_ns flushed pad0)],
		enum => {  }, zero => { pad0 => 1 },
	},
	79 => {
		name => 'x_arrival', size => 32, template => 'Q<CCvVVVvvV',
		names => [qw(ts_ns type len8 gen tid pid bytes client pad0 pad1)],
		enum => {  }, zero => { pad0 => 1, pad1 => 1 },
	},
	80 => {
		name => 'x_drawn', size => 32, template => 'Q<CCvVVvCCvvvv',
		names => [qw(ts_ns type len8 gen tid window client major minor x y width height)],
		enum => {  }, zero => {  },
	},
	81 => {
		name => 'x_told', size => 32, template => 'Q<CCvVVVVvv',
		names => [qw(ts_ns type len8 gen tid pid drawable damage client by_client)],
		enum => {  }, zero => {  },
	},
	82 => {
		name => 'x_taken', size => 32, template => 'Q<CCvVVVvvV',
		names => [qw(ts_ns type len8 gen tid pid damage client pad0 pad1)],
		enum => {  }, zero => { pad0 => 1, pad1 => 1 },
	},
	83 => {
		name => 'x_redirect', size => 32, template => 'Q<CCvVVvvvvCCv',
		names => [qw(ts_ns type len8 gen tid window x y width height begin pad0 pad1)],
		enum => {  }, zero => { pad0 => 1, pad1 => 1 },
	},
	84 => {
		name => 'x_painted', size => 32, template => 'Q<CCvVVvCCvvvv',
		names => [qw(ts_ns type len8 gen tid pid client major minor x y width height)],
		enum => {  }, zero => {  },
	},
	96 => {
		name => 'wl_deliver', size => 32, template => 'Q<CCvVVVVCCv',
		names => [qw(ts_ns type len8 gen tid pid client object kind what age_ms)],
		enum => { kind => 'input_kind', what => 'wl_input' }, zero => {  },
	},
	97 => {
		name => 'wl_commit', size => 32, template => 'Q<CCvVVVVV',
		names => [qw(ts_ns type len8 gen tid pid client surface callback)],
		enum => {  }, zero => {  },
	},
	98 => {
		name => 'wl_done', size => 32, template => 'Q<CCvVVVVCCv',
		names => [qw(ts_ns type len8 gen tid pid client callback what pad0 pad1)],
		enum => { what => 'wl_told' }, zero => { pad0 => 1, pad1 => 1 },
	},
	99 => {
		name => 'screen_asked', size => 32, template => 'Q<CCvVVVVV',
		names => [qw(ts_ns type len8 gen tid pid number crtc pad0)],
		enum => {  }, zero => { pad0 => 1 },
	},
	100 => {
		name => 'screen_shown', size => 32, template => 'Q<CCvVVVVV',
		names => [qw(ts_ns type len8 gen tid pid number pipe sequence)],
		enum => {  }, zero => {  },
	},
);

1;
