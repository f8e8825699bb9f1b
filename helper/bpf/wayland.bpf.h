/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What Wayland compositors send their clients and execute for them: probes at two functions of
 * libwayland-server, in whatever process has mapped that file. Of a key only is read whether it
 * went down.
 *
 * Programs of such probes may be preempted. So they write as any nested writer does (see pool.h),
 * never with interrupts off.
 */

/* Whose compositors are recorded; set before loading, the first one again where there are fewer. */
#define TIPME_WAYLAND_USERS 17
const volatile __u32 tipme_wayland_uids[TIPME_WAYLAND_USERS] = {};

/*
 * Where a build of the library keeps what we read, and in which arguments: TIPME_WAYLAND_COOKIE()
 * has it packed so.
 */
#define TIPME_WAYLAND_CLIENT_AT(cookie) ((cookie)&0xfff)
#define TIPME_WAYLAND_PID_AT(cookie) ((cookie) >> 12 & 0xfff)
#define TIPME_WAYLAND_ARGS_AT(cookie) ((cookie) >> 24 & 0xfff)
#define TIPME_WAYLAND_OBJECT(cookie) ((cookie) >> 36 & 15)
#define TIPME_WAYLAND_OPCODE(cookie) ((cookie) >> 40 & 15)
#define TIPME_WAYLAND_ARGS(cookie) ((cookie) >> 44 & 15)

/*
 * The head of a resource: a wl_object, as wayland-util.h has it for all builds, and behind it, in
 * all builds so far, the client. Read at one go: each read takes about as long as all the rest.
 */
struct tipme_wayland_object {
	__u64 interface, implementation;
	__u32 id, pad;
	__u64 between[5];
	__u64 client;
};

/* What an object is, as far as its calls matter. */
enum tipme_wayland_class {
	TIPME_WAYLAND_OTHER,
	TIPME_WAYLAND_KEYBOARD,
	TIPME_WAYLAND_POINTER,
	TIPME_WAYLAND_TOUCH,
	TIPME_WAYLAND_DRAG,
	TIPME_WAYLAND_TEXT,
	TIPME_WAYLAND_INPUT_METHOD,
	TIPME_WAYLAND_TABLET,
	TIPME_WAYLAND_CALLBACK,
	TIPME_WAYLAND_FEEDBACK,
	TIPME_WAYLAND_SURFACE,
};

/* One call of a probed function. */
struct tipme_wayland_call {
	__u64 object; /* its address: what the library calls a resource */
	__u64 args;
	__u64 cookie;
	__u64 client;
	__u32 opcode;
	__u32 id; /* of the object */
	enum tipme_wayland_class class;
};

#define TIPME_WAYLAND_NAME 24

/*
 * What is known of interfaces, by their address in a process: so their names are read once. One
 * word each, which is read and written whole: the class in its lowest byte, and above it a hash of
 * address and process. An address means something else only when that process has unloaded a
 * library and loaded another one to the same place.
 */
#define TIPME_WAYLAND_INTERFACES 256 /* a power of two */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u64));
	__uint(max_entries, TIPME_WAYLAND_INTERFACES);
} tipme_wayland_interfaces SEC(".maps");

/*
 * What a surface was asked since its last picture. Surfaces that meet in one place lose that: a
 * picture without callback.
 */
struct tipme_wayland_surface {
	__u64 key;
	__u32 callback;
	__u32 attached;
};

#define TIPME_WAYLAND_SURFACES 1024 /* a power of two */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct tipme_wayland_surface));
	__uint(max_entries, TIPME_WAYLAND_SURFACES);
} tipme_wayland_surfaces SEC(".maps");

/*
 * What profiles are made of: the same records of the owner's compositors alone, in the form of an X
 * server's ring (xring.h), but with several writers. The daemon freezes it and passes it on: nobody
 * writes it but these programs.
 */
struct tipme_wayland_ring {
	struct tipme_x_ring_header header; /* of it only the head is used */
	struct {
		__u64 ts_ns, tag, body[2];
	} slot[1 << TIPME_WAYLAND_RING_LOG2];
};

TIPME_MAP(tipme_wayland_ring, sizeof(struct tipme_wayland_ring), 1);

/* One path for the verifier. */
static __always_inline bool tipme_wayland_is(const char *name, const char *wanted, int len)
{
	bool same = true;

	for (int i = 0; i < len; i++)
		same &= name[i] == wanted[i];
	return same;
}

/* With its NUL, or only what a name begins with. */
#define TIPME_WAYLAND_IS(name, wanted) tipme_wayland_is(name, wanted, sizeof(wanted))
#define TIPME_WAYLAND_BEGINS(name, wanted) tipme_wayland_is(name, wanted, sizeof(wanted) - 1)

static __always_inline enum tipme_wayland_class tipme_wayland_named(const char *name)
{
	if (TIPME_WAYLAND_IS(name, "wl_surface"))
		return TIPME_WAYLAND_SURFACE;
	if (TIPME_WAYLAND_IS(name, "wl_callback"))
		return TIPME_WAYLAND_CALLBACK;
	if (TIPME_WAYLAND_IS(name, "wl_keyboard"))
		return TIPME_WAYLAND_KEYBOARD;
	if (TIPME_WAYLAND_IS(name, "wl_pointer"))
		return TIPME_WAYLAND_POINTER;
	if (TIPME_WAYLAND_IS(name, "wl_touch"))
		return TIPME_WAYLAND_TOUCH;
	if (TIPME_WAYLAND_IS(name, "wl_data_device"))
		return TIPME_WAYLAND_DRAG;
	if (TIPME_WAYLAND_BEGINS(name, "wp_presentation_feedbac"))
		return TIPME_WAYLAND_FEEDBACK;
	if (TIPME_WAYLAND_BEGINS(name, "zwp_text_input_v3"))
		return TIPME_WAYLAND_TEXT;
	if (TIPME_WAYLAND_BEGINS(name, "zwp_input_method_keybo"))
		return TIPME_WAYLAND_INPUT_METHOD;
	if (TIPME_WAYLAND_BEGINS(name, "zwp_tablet_tool_v"))
		return TIPME_WAYLAND_TABLET;
	return TIPME_WAYLAND_OTHER;
}

/*
 * A register, read here: the verifier wants each at an offset that it knows, and compilers like to
 * join such reads.
 */
#define TIPME_WAYLAND_READ(value)                \
	({                                       \
		__u64 v_ = (value);              \
		__asm__ volatile("" : "+r"(v_)); \
		v_;                              \
	})

/* An argument of the probed function; six are in registers. */
static __always_inline __u64 tipme_wayland_argument(struct pt_regs *ctx, __u64 n)
{
	__u64 r0 = TIPME_WAYLAND_READ(ctx->di), r1 = TIPME_WAYLAND_READ(ctx->si),
	      r2 = TIPME_WAYLAND_READ(ctx->dx);
	__u64 r3 = TIPME_WAYLAND_READ(ctx->cx), r4 = TIPME_WAYLAND_READ(ctx->r8),
	      r5 = TIPME_WAYLAND_READ(ctx->r9);

	return n == 0 ? r0 : n == 1 ? r1 : n == 2 ? r2 : n == 3 ? r3 : n == 4 ? r4 : r5;
}

static __always_inline bool tipme_wayland_is_owners(void)
{
	__u32 uid = bpf_get_current_uid_gid();
	bool is = false;

	if (tipme_wayland_uids[0] == uid)
		return true;
	for (int i = 1; i < TIPME_WAYLAND_USERS; i++)
		is |= tipme_wayland_uids[i] == uid;
	return is;
}

/* The same address in the same process the same number; no address is to be read from it. */
static __always_inline __u64 tipme_wayland_mix(__u64 address)
{
	__u64 h = (address ^ bpf_get_current_pid_tgid() >> 32) * 0xd6e8feb86659fd93ULL;

	return (h ^ h >> 29) * 0xbf58476d1ce4e5b9ULL;
}

/* What is not mapped now is not remembered. */
static __always_inline enum tipme_wayland_class tipme_wayland_read_class(__u64 interface,
									 __u64 *known, __u64 tag)
{
	char name[TIPME_WAYLAND_NAME] = {};
	enum tipme_wayland_class class;
	__u64 at;

	if (bpf_probe_read_user(&at, sizeof(at), (void *)interface) ||
	    bpf_probe_read_user_str(name, sizeof(name), (void *)at) <= 0)
		return TIPME_WAYLAND_OTHER;
	class = tipme_wayland_named(name);
	tipme_pool_store(known, tag | class);
	return class;
}

static __always_inline enum tipme_wayland_class tipme_wayland_class_of(__u64 interface)
{
	__u64 h = tipme_wayland_mix(interface), tag = h << 8, *known, is;
	__u32 place = h >> 56 & (TIPME_WAYLAND_INTERFACES - 1);

	known = bpf_map_lookup_elem(&tipme_wayland_interfaces, &place);
	if (!known)
		return TIPME_WAYLAND_OTHER;
	is = tipme_pool_load(known);
	if ((is & ~0xffULL) == tag && is)
		return is & 0xff;
	return tipme_wayland_read_class(interface, known, tag);
}

/*
 * Compositors of others are none of the owner's business, and most calls have numbers that matter
 * of no object: OPCODES, a bit each, has those that do. Returns whether the call is to be looked
 * at.
 */
static __always_inline bool tipme_wayland_begin(struct tipme_wayland_call *w, struct pt_regs *ctx,
						__u32 opcodes)
{
	struct tipme_wayland_object o;

	if (!tipme_wayland_is_owners())
		return false;
	w->cookie = bpf_get_attach_cookie(ctx);
	w->opcode = tipme_wayland_argument(ctx, TIPME_WAYLAND_OPCODE(w->cookie));
	if (w->opcode > 31 || !(opcodes >> w->opcode & 1))
		return false;
	w->object = tipme_wayland_argument(ctx, TIPME_WAYLAND_OBJECT(w->cookie));
	w->args = tipme_wayland_argument(ctx, TIPME_WAYLAND_ARGS(w->cookie)) +
		  TIPME_WAYLAND_ARGS_AT(w->cookie);
	if (bpf_probe_read_user(&o, sizeof(o), (void *)w->object))
		return false;
	w->id = o.id;
	w->client = o.client;
	w->class = tipme_wayland_class_of(o.interface);
	return w->class != TIPME_WAYLAND_OTHER;
}

static __always_inline __u32 tipme_wayland_arg(const struct tipme_wayland_call *w, int n)
{
	__u32 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)(w->args + n * 8));
	return value;
}

static __always_inline __u64 tipme_wayland_client(const struct tipme_wayland_call *w)
{
	__u64 client = 0;

	if (TIPME_WAYLAND_CLIENT_AT(w->cookie) ==
	    __builtin_offsetof(struct tipme_wayland_object, client))
		return w->client;
	bpf_probe_read_user(&client, sizeof(client),
			    (void *)(w->object + TIPME_WAYLAND_CLIENT_AT(w->cookie)));
	return client;
}

static __always_inline __u32 tipme_wayland_pid(const struct tipme_wayland_call *w, __u64 client)
{
	__u32 pid = 0;

	bpf_probe_read_user(&pid, sizeof(pid), (void *)(client + TIPME_WAYLAND_PID_AT(w->cookie)));
	return pid;
}

static __always_inline __u32 tipme_wayland_hash(__u64 address)
{
	return tipme_wayland_mix(address) >> 32;
}

/* A reader trusts any slot whose gen is that of its index: so the tag goes first and comes last. */
static __always_inline void tipme_wayland_tell(__u64 now, __u8 type, __u64 body0, __u64 body1)
{
	__u64 index, tid = tipme_current_tid(), gen;
	struct tipme_wayland_ring *ring;
	__u32 zero = 0, place;

	if ((__u32)bpf_get_current_uid_gid() != tipme_wayland_uids[0])
		return;
	ring = bpf_map_lookup_elem(&tipme_wayland_ring, &zero);
	if (!ring)
		return;
	index = __sync_fetch_and_add(&ring->header.head, 1);
	place = index & ((1 << TIPME_WAYLAND_RING_LOG2) - 1);
	gen = 1 + (index >> TIPME_WAYLAND_RING_LOG2) % 65535;
	tipme_pool_store(&ring->slot[place].tag, 0);
	tipme_pool_barrier();
	tipme_pool_store(&ring->slot[place].ts_ns, now);
	tipme_pool_store(&ring->slot[place].body[0], body0);
	tipme_pool_store(&ring->slot[place].body[1], body1);
	tipme_pool_barrier();
	tipme_pool_store(&ring->slot[place].tag, type | 4 << 8 | gen << 16 | tid << 32);
}

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

/* wl_surface: attach 1, frame 3, commit 6. A commit without a new buffer shows nothing new. */
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
	if (w->opcode != 6 || !s->attached)
		return 0;
	callback = s->callback;
	s->callback = 0;
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
