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
 * Copies at most `room` bytes of what lies in the process from `from` to `to`; what cannot be read
 * is no text.
 */
static __always_inline __u32 tipme_life_text(void *buf, __u32 room, __u64 from, __u64 to)
{
	__u64 len = to > from ? to - from : 0;

	if (len > room)
		len = room;
	if (!len || bpf_probe_read_user(buf, len, (void *)from))
		return 0;
	return len;
}

static __always_inline void tipme_life_fill(struct tipme_life_exec *l, struct task_struct *p,
					    struct linux_binprm *bprm, __u32 env_room)
{
	struct mm_struct *mm = p->mm;
	__u64 from = mm->arg_start, to = mm->arg_end;
	long n;

	tipme_life_head(&l->head, p, TIPME_LIFE_EXEC);
	l->head.args_total = to - from;
	l->head.args_len = tipme_life_text(l->args, sizeof(l->args), from, to);
	from = mm->env_start;
	to = mm->env_end;
	l->head.env_total = to - from;
	l->head.env_len = tipme_life_text(l->env, env_room, from, to);
	n = bpf_probe_read_kernel_str(l->exe, sizeof(l->exe), bprm->filename);
	l->head.exe_len = n > 0 ? n - 1 : 0;
	bpf_ringbuf_submit(l, tipme_life_wake());
}

#define TIPME_LIFE_SMALL (__builtin_offsetof(struct tipme_life_exec, env) + TIPME_LIFE_ENV_SMALL)

/*
 * Its memory was just set up by the kernel, so what is read here is there. The verifier wants to
 * know sizes beforehand: there are two.
 */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(tipme_life_exec, struct task_struct *p, int old_tid, struct linux_binprm *bprm)
{
	struct mm_struct *mm = p->mm;
	struct tipme_life_exec *l;

	if (mm->env_end - mm->env_start <= TIPME_LIFE_ENV_SMALL) {
		l = bpf_ringbuf_reserve(&tipme_lives, TIPME_LIFE_SMALL, 0);
		if (l) {
			tipme_life_fill(l, p, bprm, TIPME_LIFE_ENV_SMALL);
			return 0;
		}
	} else {
		l = bpf_ringbuf_reserve(&tipme_lives, sizeof(*l), 0);
		if (l) {
			tipme_life_fill(l, p, bprm, sizeof(l->env));
			return 0;
		}
	}
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
