/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who a process is: what it was called with when it began its program, who made it, and when it
 * ended. Too large and too seldom for the pool: a ring of its own that tipmed empties. And, when
 * asked, which files a process has mapped as code.
 */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, TIPME_LIVES_BYTES);
} tipme_lives SEC(".maps");

static __always_inline void tipme_life_lost(void)
{
	struct tipme_kernel_cpu *c = tipme_this_cpu();

	if (c)
		__sync_fetch_and_add(&c->lost_life, 1);
}

static __always_inline void tipme_life_head(struct tipme_life *l, struct task_struct *p, __u32 kind)
{
	l->ts_ns = bpf_ktime_get_ns();
	l->start_ns = p->group_leader->start_time;
	l->kind = kind;
	l->pid = p->tgid;
	l->ppid = p->real_parent->tgid;
	l->uid = p->real_cred->uid.val;
	l->exit_code = 0;
	l->args_len = 0;
	l->args_total = 0;
	l->env_len = 0;
	l->exe_len = 0;
	l->env_total = 0;
}

/*
 * Its reader looks each second, or when a quarter is full: waking it for each process would cost
 * more than the record.
 */
static __always_inline __u64 tipme_life_wake(void)
{
	return bpf_ringbuf_query(&tipme_lives, BPF_RB_AVAIL_DATA) > TIPME_LIVES_BYTES / 4
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

#define TIPME_SIGNAL_GROUP_EXIT 4 /* in the flags: one code for all threads */

/*
 * What its parent is told: the code of whoever ended all threads, or else of the first thread,
 * which may have gone long before the others.
 */
static __always_inline __u32 tipme_life_code(struct task_struct *p)
{
	struct signal_struct *signal = p->signal;

	return signal->flags & TIPME_SIGNAL_GROUP_EXIT ? signal->group_exit_code
						       : p->group_leader->exit_code;
}

static __always_inline int tipme_life_short(struct task_struct *p, __u32 kind)
{
	struct tipme_life *l = bpf_ringbuf_reserve(&tipme_lives, sizeof(*l), 0);

	if (!l) {
		tipme_life_lost();
		return 0;
	}
	tipme_life_head(l, p, kind);
	if (kind == TIPME_LIFE_EXIT)
		l->exit_code = tipme_life_code(p);
	bpf_ringbuf_submit(l, tipme_life_wake());
	return 0;
}

/*
 * What is passed on of a program that begins: the head, and texts one after the other. Made here,
 * and copied with as many bytes as it has: what is reserved must have a size that is known before.
 * No program interrupts itself, so one for each CPU will do.
 */
struct tipme_life_packed {
	struct tipme_life head;
	char text[TIPME_LIFE_TEXT_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tipme_life_packed);
} tipme_life_works SEC(".maps");

/*
 * Copies at most `room` bytes of what lies in the process from `from` to `to` to the text at `at`;
 * what cannot be read is no text.
 */
static __always_inline __u64 tipme_life_text(struct tipme_life_packed *l, __u64 at, __u64 room,
					     __u64 from, __u64 to)
{
	__u64 len = to > from ? to - from : 0;

	/* what is compared and masked is what is used: verifiers do not follow a copy of it */
	__asm__ volatile("" : "+r"(len), "+r"(at));
	if (len > room)
		len = room;
	at &= TIPME_LIFE_ENV_AT - 1;
	if (!len || bpf_probe_read_user(l->text + at, len, (void *)from))
		return 0;
	return len;
}

/*
 * How much of an environment is taken: where the reader does not come, births, arguments and ends
 * have the second half of the room for themselves. They are a tenth of it, or less.
 */
static __always_inline __u64 tipme_life_env_room(void)
{
	return bpf_ringbuf_query(&tipme_lives, BPF_RB_AVAIL_DATA) > TIPME_LIVES_BYTES / 2
		       ? 0
		       : TIPME_LIFE_ENV_BYTES;
}

/* Its memory was just set up by the kernel, so what is read here is there. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(tipme_life_exec, struct task_struct *p, int old_tid, struct linux_binprm *bprm)
{
	__u32 zero = 0;
	struct tipme_life_packed *l = bpf_map_lookup_elem(&tipme_life_works, &zero);
	struct mm_struct *mm = p->mm;
	__u64 exe, args, env;
	long n;

	if (!l)
		return 0;
	tipme_life_head(&l->head, p, TIPME_LIFE_EXEC);
	n = bpf_probe_read_kernel_str(l->text, TIPME_LIFE_EXE_BYTES, bprm->filename);
	exe = n > 1 ? n - 1 : 0;
	__asm__ volatile("" : "+r"(exe));
	exe &= TIPME_LIFE_EXE_BYTES - 1;
	args = tipme_life_text(l, exe, TIPME_LIFE_ARGS_BYTES, mm->arg_start, mm->arg_end);
	env = tipme_life_text(l, exe + args, tipme_life_env_room(), mm->env_start, mm->env_end);
	l->head.exe_len = exe;
	l->head.args_len = args;
	l->head.args_total = mm->arg_end - mm->arg_start;
	l->head.env_len = env;
	l->head.env_total = mm->env_end - mm->env_start;
	if (bpf_ringbuf_output(&tipme_lives, l, sizeof(l->head) + exe + args + env,
			       tipme_life_wake()))
		tipme_life_lost();
	return 0;
}

/* Threads are in the pool's fork records. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(tipme_life_fork, struct task_struct *parent, struct task_struct *child)
{
	return child->pid == child->tgid ? tipme_life_short(child, TIPME_LIFE_FORK) : 0;
}

/*
 * A process ends with its last thread, which need not be its first: that may end alone, and does
 * when another thread calls a program (and leaves it its number). The kernel has counted the one
 * that ends already. Two that end at once may both be the last here; the reader takes one.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(tipme_life_exit, struct task_struct *p)
{
	return p->signal->live.counter ? 0 : tipme_life_short(p, TIPME_LIFE_EXIT);
}

#define TIPME_VM_EXEC 4

/* The code that a process has mapped; the reader names the process. */
SEC("iter/task_vma")
int tipme_mappings(struct bpf_iter__task_vma *ctx)
{
	struct vm_area_struct *vma = ctx->vma;
	struct task_struct *p = ctx->task;
	struct tipme_mapping m = {};
	struct file *file;

	if (!p || !vma || !(vma->vm_flags & TIPME_VM_EXEC))
		return 0;
	file = vma->vm_file;
	if (!file)
		return 0;
	m.start = vma->vm_start;
	m.end = vma->vm_end;
	m.offset = vma->vm_pgoff << 12;
	m.bytes = file->f_inode->i_size;
	m.space = tipme_space_of(p);
	if (bpf_d_path(&file->f_path, m.path, sizeof(m.path)) < 0)
		m.path[0] = 0;
	bpf_seq_write(ctx->meta->seq, &m, sizeof(m));
	return 0;
}
