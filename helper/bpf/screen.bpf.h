/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What compositors and X servers ask of the graphics device, and when the screen shows it. All of
 * that is the module drm's, which may be loaded later, and whose types the kernel's own table does
 * not have. So these are programs that take plain numbers: probes at two of its functions, in the
 * thread that asks, and a raw tracepoint, in interrupts with the device's event lock held.
 */

/* The heads of two structures that the kernel promises to user space (drm_mode.h). */
struct tipme_screen_flip {
	__u32 crtc, picture, flags;
};

struct tipme_screen_atomic {
	__u32 flags;
};

#define TIPME_SCREEN_EVENT 0x1 /* DRM_MODE_PAGE_FLIP_EVENT: the program wants to be told */
#define TIPME_SCREEN_TEST 0x100 /* DRM_MODE_ATOMIC_TEST_ONLY: nothing is shown */

struct tipme_screen_asker {
	__u32 pid, number;
};

/* Who asked through which opened device. Those that are asked no more make room. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(key_size, sizeof(__u64));
	__uint(value_size, sizeof(struct tipme_screen_asker));
	__uint(max_entries, 64);
} tipme_screen_askers SEC(".maps");

static __always_inline __u32 tipme_screen_count(__u64 file, __u32 pid)
{
	struct tipme_screen_asker first = { pid, 1 },
				  *known = bpf_map_lookup_elem(&tipme_screen_askers, &file);

	if (!known || known->pid != pid) {
		bpf_map_update_elem(&tipme_screen_askers, &file, &first, 0);
		return 1;
	}
	return __sync_fetch_and_add(&known->number, 1) + 1;
}

static __always_inline int tipme_screen_ask(__u64 file, __u32 flags, __u32 crtc)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32, number;

	if (!(flags & TIPME_SCREEN_EVENT) || flags & TIPME_SCREEN_TEST)
		return 0;
	number = tipme_screen_count(file, pid);
	TIPME_RECORD(tipme_screen_asked, TIPME_SCREEN_ASKED, tipme_current_tid());
	if (r) {
		r->pid = pid;
		r->number = number;
		r->crtc = crtc;
		r->pad0 = 0;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

/* Both: device, request (copied from the program already), opened device. */
SEC("kprobe/drm_mode_atomic_ioctl")
int tipme_wayland_screen_atomic(struct pt_regs *ctx)
{
	__u64 data = TIPME_WAYLAND_READ(ctx->si), file = TIPME_WAYLAND_READ(ctx->dx);
	struct tipme_screen_atomic a;

	if (bpf_probe_read_kernel(&a, sizeof(a), (void *)data))
		return 0;
	return tipme_screen_ask(file, a.flags, 0);
}

SEC("kprobe/drm_mode_page_flip_ioctl")
int tipme_wayland_screen_flip(struct pt_regs *ctx)
{
	__u64 data = TIPME_WAYLAND_READ(ctx->si), file = TIPME_WAYLAND_READ(ctx->dx);
	struct tipme_screen_flip f;

	if (bpf_probe_read_kernel(&f, sizeof(f), (void *)data))
		return 0;
	return tipme_screen_ask(file, f.flags, f.crtc);
}

/* Opened device, which screen, its count of refreshes. */
SEC("raw_tp/drm_vblank_event_delivered")
int tipme_wayland_screen_shown(__u64 *ctx)
{
	__u64 file = ctx[0];
	__u32 pipe = ctx[1], sequence = ctx[2];
	struct tipme_screen_asker *asker = bpf_map_lookup_elem(&tipme_screen_askers, &file);

	TIPME_RECORD(tipme_screen_shown, TIPME_SCREEN_SHOWN, tipme_current_tid());
	if (r) {
		r->pid = asker ? asker->pid : 0;
		r->number = asker ? asker->number : 0;
		r->pipe = pipe;
		r->sequence = sequence;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}
