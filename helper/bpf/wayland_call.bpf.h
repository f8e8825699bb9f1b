/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One call of a probed function of libwayland-server: whose it is, which object and client it is
 * about, what that object is; and the ring that profiles are made of. wayland.bpf.h has the probes.
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

/* Eight bytes of WANTED from FROM on as one word, without those from LEN on. */
static __always_inline __u64 tipme_wayland_word(const char *wanted, int from, int len)
{
	__u64 word = 0;

	for (int i = from; i < len && i < from + 8; i++)
		word |= (__u64)(__u8)wanted[i] << (i - from) * 8;
	return word;
}

/*
 * Word by word: newer compilers make a branch of each byte that is compared, and the verifier
 * follows them all. The words of WANTED are constants.
 */
static __always_inline bool tipme_wayland_is(const __u64 *name, const char *wanted, int len)
{
	for (int at = 0; at < len; at += 8) {
		__u64 before_len = len - at < 8 ? (1ULL << (len - at) * 8) - 1 : ~0ULL;

		if ((name[at / 8] & before_len) != tipme_wayland_word(wanted, at, len))
			return false;
	}
	return true;
}

/* With its NUL, or only what a name begins with. */
#define TIPME_WAYLAND_IS(name, wanted) tipme_wayland_is(name, wanted, sizeof(wanted))
#define TIPME_WAYLAND_BEGINS(name, wanted) tipme_wayland_is(name, wanted, sizeof(wanted) - 1)

static __always_inline enum tipme_wayland_class tipme_wayland_named(const __u64 *name)
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
	__u64 name[TIPME_WAYLAND_NAME / 8] = {};
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
