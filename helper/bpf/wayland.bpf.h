/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What Wayland compositors send their clients and execute for them: probes at two functions of
 * libwayland-server, in whatever process has mapped that file. Of a key only is read whether it
 * went down.
 *
 * Programs of such probes may be preempted. So they write as any nested writer does (see pool.h),
 * never with interrupts off.
 */

/* --- events --- */

/* wl_keyboard.key: serial, time, key, state. Of it the state alone is read, here and below. */
static __always_inline __u8 tipme_wayland_key(const struct tipme_wayland_call *w)
{
	return tipme_wayland_arg(w, 3) == 1 ? TIPME_INPUT_KIND_KEY_PRESS
					    : TIPME_INPUT_KIND_KEY_RELEASE;
}

static __always_inline __u8 tipme_wayland_pointer(const struct tipme_wayland_call *w)
{
	switch (w->opcode) {
	case 2: return TIPME_INPUT_KIND_MOTION;
	case 3: /* button: serial, time, button, state */
		return tipme_wayland_arg(w, 3) == 1 ? TIPME_INPUT_KIND_BUTTON_PRESS
						    : TIPME_INPUT_KIND_BUTTON_RELEASE;
	case 4: /* axis */ return TIPME_INPUT_KIND_WHEEL;
	}
	return 0;
}

static __always_inline __u8 tipme_wayland_tablet(const struct tipme_wayland_call *w)
{
	switch (w->opcode) {
	case 8: return TIPME_INPUT_KIND_BUTTON_PRESS;
	case 9: return TIPME_INPUT_KIND_BUTTON_RELEASE;
	case 10: return TIPME_INPUT_KIND_MOTION;
	case 17: /* button: serial, button, state */
		return tipme_wayland_arg(w, 2) == 1 ? TIPME_INPUT_KIND_BUTTON_PRESS
						    : TIPME_INPUT_KIND_BUTTON_RELEASE;
	}
	return 0;
}

/* Kind of input (0: none), and what it was sent to. */
static __always_inline __u8 tipme_wayland_input(const struct tipme_wayland_call *w, __u8 *what)
{
	switch (w->class) {
	case TIPME_WAYLAND_KEYBOARD:
		*what = TIPME_WL_INPUT_KEYBOARD;
		return w->opcode == 3 ? tipme_wayland_key(w) : 0;
	case TIPME_WAYLAND_POINTER: *what = TIPME_WL_INPUT_POINTER; return tipme_wayland_pointer(w);
	case TIPME_WAYLAND_TOUCH:
		*what = TIPME_WL_INPUT_TOUCH;
		return w->opcode <= 2 ? TIPME_INPUT_KIND_TOUCH : 0;
	case TIPME_WAYLAND_DRAG:
		*what = TIPME_WL_INPUT_DRAG;
		return w->opcode == 3	? TIPME_INPUT_KIND_MOTION
		       : w->opcode == 4 ? TIPME_INPUT_KIND_BUTTON_RELEASE
					: 0;
	case TIPME_WAYLAND_TEXT:
		*what = TIPME_WL_INPUT_TEXT;
		return w->opcode == 3 ? TIPME_INPUT_KIND_KEY_PRESS : 0;
	case TIPME_WAYLAND_INPUT_METHOD:
		*what = TIPME_WL_INPUT_INPUT_METHOD;
		return w->opcode == 1 ? tipme_wayland_key(w) : 0;
	case TIPME_WAYLAND_TABLET: *what = TIPME_WL_INPUT_TABLET; return tipme_wayland_tablet(w);
	default: return 0;
	}
}

static __always_inline __u8 tipme_wayland_told(const struct tipme_wayland_call *w)
{
	if (w->class == TIPME_WAYLAND_CALLBACK)
		return TIPME_WL_TOLD_DONE;
	if (w->class == TIPME_WAYLAND_FEEDBACK)
		return w->opcode == 1	? TIPME_WL_TOLD_PRESENTED
		       : w->opcode == 2 ? TIPME_WL_TOLD_DISCARDED
					: 0;
	return 0;
}

/* Unit: ms. Clocks of compositors are coarse; and some devices that programs made have other ones.
 */
#define TIPME_WAYLAND_AGE_MIN 5
#define TIPME_WAYLAND_AGE_MAX 60000

/* Which argument is the time of the device; -1: none is. */
static __always_inline int tipme_wayland_time_at(const struct tipme_wayland_call *w, __u8 kind,
						 __u8 what)
{
	bool is_motion = kind == TIPME_INPUT_KIND_MOTION || kind == TIPME_INPUT_KIND_WHEEL;

	switch (what) {
	case TIPME_WL_INPUT_KEYBOARD:
	case TIPME_WL_INPUT_INPUT_METHOD: return 1;
	case TIPME_WL_INPUT_POINTER: return is_motion ? 0 : 1;
	case TIPME_WL_INPUT_TOUCH: return w->opcode == 2 ? 0 : 1;
	case TIPME_WL_INPUT_DRAG: return is_motion ? 0 : -1;
	}
	return -1;
}

/*
 * How long ago that was: what a compositor that stood still let the event wait. Unit: ms. 0: not
 * worth telling, or no time of this clock.
 */
static __always_inline __u32 tipme_wayland_age(const struct tipme_wayland_call *w, __u8 kind,
					       __u8 what, __u64 now)
{
	int at = tipme_wayland_time_at(w, kind, what);
	__u32 time = at < 0 ? 0 : tipme_wayland_arg(w, at), age = (__u32)(now / 1000000) - time;

	return time && age >= TIPME_WAYLAND_AGE_MIN && age < TIPME_WAYLAND_AGE_MAX ? age : 0;
}

static __always_inline int tipme_wayland_deliver(const struct tipme_wayland_call *w, __u8 kind,
						 __u8 what)
{
	__u64 client = tipme_wayland_client(w), age;
	__u32 pid = tipme_wayland_pid(w, client), hash = tipme_wayland_hash(client);

	TIPME_RECORD(tipme_wl_deliver, TIPME_WL_DELIVER, tipme_current_tid());
	age = tipme_wayland_age(w, kind, what, now);
	if (r) {
		r->pid = pid;
		r->client = hash;
		r->object = w->id;
		r->kind = kind;
		r->what = what;
		r->age_ms = age;
	}
	tipme_record_end(c, (void *)r, false, gen);
	tipme_wayland_tell(now, TIPME_WL_DELIVER, pid | (__u64)hash << 32,
			   w->id | (__u64)kind << 32 | (__u64)what << 40 | age << 48);
	return 0;
}

static __always_inline int tipme_wayland_done(const struct tipme_wayland_call *w, __u8 what)
{
	__u64 client = tipme_wayland_client(w);
	__u32 pid = tipme_wayland_pid(w, client), hash = tipme_wayland_hash(client);

	TIPME_RECORD(tipme_wl_done, TIPME_WL_DONE, tipme_current_tid());
	if (r) {
		r->pid = pid;
		r->client = hash;
		r->callback = w->id;
		r->what = what;
		r->pad0 = 0;
		r->pad1 = 0;
	}
	tipme_record_end(c, (void *)r, false, gen);
	tipme_wayland_tell(now, TIPME_WL_DONE, pid | (__u64)hash << 32, w->id | (__u64)what << 32);
	return 0;
}

/* Numbers of the events above: done, down, up, motion, key, button, axis, text and so on. */
#define TIPME_WAYLAND_EVENTS \
	(1U << 0 | 1U << 1 | 1U << 2 | 1U << 3 | 1U << 4 | 1U << 8 | 1U << 9 | 1U << 10 | 1U << 17)

/* A function through which all events go. */
SEC("uprobe")
int tipme_wayland_event(struct pt_regs *ctx)
{
	struct tipme_wayland_call w = {};
	__u8 kind, told, what = 0;

	if (!tipme_wayland_begin(&w, ctx, TIPME_WAYLAND_EVENTS))
		return 0;
	told = tipme_wayland_told(&w);
	if (told)
		return tipme_wayland_done(&w, told);
	kind = tipme_wayland_input(&w, &what);
	return kind ? tipme_wayland_deliver(&w, kind, what) : 0;
}

/* --- requests --- */

static __always_inline int tipme_wayland_commit(const struct tipme_wayland_call *w, __u64 client,
						__u32 callback)
{
	__u32 pid = tipme_wayland_pid(w, client), hash = tipme_wayland_hash(client);

	TIPME_RECORD(tipme_wl_commit, TIPME_WL_COMMIT, tipme_current_tid());
	if (r) {
		r->pid = pid;
		r->client = hash;
		r->surface = w->id;
		r->callback = callback;
	}
	tipme_record_end(c, (void *)r, false, gen);
	tipme_wayland_tell(now, TIPME_WL_COMMIT, pid | (__u64)hash << 32,
			   w->id | (__u64)callback << 32);
	return 0;
}

/*
 * wl_surface: attach 1, frame 3, commit 6. A commit without a new buffer shows nothing new, and the
 * callback that was asked for with it is none of the next picture's.
 */
static __always_inline int tipme_wayland_surface(const struct tipme_wayland_call *w)
{
	__u64 client = tipme_wayland_client(w),
	      key = (__u64)tipme_wayland_hash(client) << 32 | w->id;
	__u32 place = (w->id + (key >> 32)) & (TIPME_WAYLAND_SURFACES - 1), callback;
	struct tipme_wayland_surface *s = bpf_map_lookup_elem(&tipme_wayland_surfaces, &place);

	if (!s)
		return 0;
	if (s->key != key) {
		s->key = key;
		s->callback = 0;
		s->attached = 0;
	}
	if (w->opcode == 1)
		s->attached = 1;
	if (w->opcode == 3)
		s->callback = tipme_wayland_arg(w, 0);
	if (w->opcode != 6)
		return 0;
	callback = s->callback;
	s->callback = 0;
	if (!s->attached)
		return 0;
	s->attached = 0;
	return tipme_wayland_commit(w, client, callback);
}

/* A function through which requests go. */
SEC("uprobe")
int tipme_wayland_invoke(struct pt_regs *ctx)
{
	struct tipme_wayland_call w = {};

	if (!tipme_wayland_begin(&w, ctx, 1U << 1 | 1U << 3 | 1U << 6) ||
	    w.class != TIPME_WAYLAND_SURFACE)
		return 0;
	return tipme_wayland_surface(&w);
}
