// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hooks, taken out of the running server and put in again as a bench asks for: so they are
 * measured against the same process, whose memory lies where it lies. TIPME_BENCH_TOGGLE names a
 * file: a byte of what is wanted (1: in, 2: in, and the time measured that passes inside of them),
 * and one of what is; one of what valgrind's callgrind is to do, which is 0 when it has done so: z
 * to begin to count, c to forget what is in the caches that it simulates, d to write down what it
 * has counted; from byte 8 on the nanoseconds inside of the hooks since they were put in, by where:
 * see enum inside_part; then how many stretches of time these were, and the last of the stretches
 * themselves: see struct stretch.
 *
 * Taken out, nothing of the server's calls them, and nothing is asked of it on their behalf:
 * tables, callbacks, handlers and grabs are the server's own again, its damage code has no object
 * of theirs. This needs to reach into them, hence the includes.
 */
#include "config.h"

#include "hooks.h"

enum inside_part {
	PART_WAKEUP,
	PART_KEY,
	PART_DEVICE,
	PART_DELIVER,
	PART_REQUEST,
	PART_REPLY,
	PART_FLUSH,
	PART_BLOCK,
	PART_OTHER,
	/*
	 * What these have the server's damage code do, and what they have the caches fetch: counted
	 * apart.
	 */
	PART_LISTEN,
	PART_FETCH,
	PARTS,
};
/*
 * On CLOCK_MONOTONIC where it began and ended; and how much of it counts, which is less by what
 * measuring it took.
 */
struct stretch {
	uint64_t begin_ns, end_ns;
	int64_t inside_ns; /* of a very short one this may be less than nothing */
	uint16_t part;
	uint8_t major; /* of the last request */
	uint8_t pad[5];
};
#define STRETCHES 4096
struct told {
	uint64_t toggle; /* its bytes */
	uint64_t inside_ns[PARTS];
	uint64_t stretches; /* so far */
	uint64_t pad[3];
	struct stretch stretch[STRETCHES];
};

/*
 * The time inside: what calls the hooks is called by these, and so is what the hooks call of the
 * server's own. They never stand within each other, since the server's procedures are called from
 * here, too, with the time not running.
 */
static struct {
	uint64_t since;
	uint64_t empty; /* what a stretch of nothing takes */
	uint64_t ticks[PARTS];
	uint64_t apart; /* what of it counts elsewhere */
	struct told *told;
	uint64_t stretches;
	uint8_t major;
} inside __attribute__((aligned(64)));

/*
 * What measures lies together, on pages of its own, and is read before the time runs: else its own
 * lines and pages, which a server that has slept finds in no cache either, would be counted as the
 * hooks'.
 */
#define TIMED __attribute__((section("bench_timed"), noinline, no_reorder, aligned(64)))
extern const char bench_timed_begin[] __asm__("__start_bench_timed")
	__attribute__((visibility("hidden")));
static void timed_end(void);

static inline uint64_t tsc_ns(uint64_t tsc)
{
	const struct tipme_xclock *clock = &tipme_hooks.clock;
	uint64_t ticks = tsc > clock->base_tsc ? tsc - clock->base_tsc : clock->base_tsc - tsc,
		 ns = (uint64_t)((unsigned __int128)ticks * clock->mult >> 32);

	return tsc > clock->base_tsc ? clock->base_ns + ns : clock->base_ns - ns;
}

/* The time does not run. */
static inline void stretch_tell(enum inside_part part, uint64_t begin, uint64_t end, int64_t ticks)
{
	if (!inside.told)
		return;
	inside.told->stretch[inside.stretches++ % STRETCHES] = (struct stretch){
		.begin_ns = tsc_ns(begin),
		.end_ns = tsc_ns(end),
		.inside_ns = (int64_t)((__int128)ticks * (int64_t)tipme_hooks.clock.mult >> 32),
		.part = part,
		.major = inside.major,
	};
}

static inline void leave(enum inside_part part)
{
	uint64_t now = __rdtsc(), ticks = now - inside.since - inside.empty - inside.apart;

	inside.ticks[part] += ticks;
	stretch_tell(part, inside.since, now, (int64_t)ticks);
}

/*
 * What is: 0 out, 1 in, 2 in and the time measured. With the hooks' own, so that to look costs
 * those that are not measured nothing.
 */
static uint8_t in TIPME_HOT_DATA = 1;

/* A stretch within another's. */
#define APART(part, call)                                                        \
	do {                                                                     \
		uint64_t apart_since = __rdtsc(), apart_end;                     \
		call;                                                            \
		apart_end = __rdtsc();                                           \
		inside.ticks[part] += apart_end - apart_since - inside.empty;    \
		stretch_tell(part, apart_since, apart_end,                       \
			     (int64_t)(apart_end - apart_since - inside.empty)); \
		inside.apart += __rdtsc() - apart_since;                         \
	} while (0)

/* The first of them. */
static TIMED __attribute__((aligned(4096))) void enter(void)
{
	for (const char *at = bench_timed_begin; at < (const char *)timed_end;
	     at += TIPME_CACHE_LINE)
		(void)*(const volatile char *)at;
	for (int i = 0; i < PARTS; i += 4)
		(void)*(volatile uint64_t *)&inside.ticks[i];
	if (inside.told)
		(void)*(volatile uint64_t *)&inside.told->stretch[inside.stretches % STRETCHES]
			.end_ns;
	inside.apart = 0;
	/* All of it is there before the time runs. */
	_mm_lfence();
	inside.since = __rdtsc();
}

static TIMED void timed_listen(DrawablePtr drawable, DamagePtr damage)
{
	APART(PART_LISTEN, DamageRegister(drawable, damage));
}

static TIMED void timed_unlisten(DamagePtr damage)
{
	APART(PART_LISTEN, DamageUnregister(damage));
}

static TIMED void timed_fetch(const char *from, const char *to)
{
	APART(PART_FETCH, tipme_hot_fetch(from, to));
}

#define DamageRegister(drawable, damage) \
	(in == 2 ? timed_listen(drawable, damage) : (DamageRegister)(drawable, damage))
#define DamageUnregister(damage) (in == 2 ? timed_unlisten(damage) : (DamageUnregister)(damage))
#define tipme_hot_fetch(from, to) (in == 2 ? timed_fetch(from, to) : (tipme_hot_fetch)(from, to))

/* What is measured stays where it lies in the hooks. */
#define APART_FROM_US static __attribute__((noinline))
APART_FROM_US void on_block(void *data, void *timeout);
APART_FROM_US void on_wakeup(void *data, int result);
APART_FROM_US int on_request(ClientPtr client);
APART_FROM_US int on_swapped_request(ClientPtr client);
APART_FROM_US void on_key(int screen, InternalEvent *event, DeviceIntPtr dev);
APART_FROM_US void on_raw_key(int screen, InternalEvent *event, DeviceIntPtr dev);

#include "hooks.c"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS \
	do {                 \
	} while (0)
#define CALLGRIND_DUMP_STATS \
	do {                 \
	} while (0)
#define CALLGRIND_STOP_INSTRUMENTATION \
	do {                           \
	} while (0)
#define CALLGRIND_START_INSTRUMENTATION \
	do {                            \
	} while (0)
#define RUNNING_ON_VALGRIND 0
#endif

#include "damage.c"
#define hooks grab_hooks
#include "grabs.c"
#undef hooks
#include "input.c"
#include "requests.c"

#pragma weak DeleteCallback
#pragma weak RemoveBlockAndWakeupHandlers

static volatile uint8_t *toggle;
static struct told *told;

static request_proc timed_real[2][256];

static void inside_calibrate(void)
{
	uint64_t least = UINT64_MAX;

	inside.empty = 0;
	inside.told = NULL;
	for (int i = 0; i < 1000; i++) {
		inside.ticks[0] = 0;
		enter();
		leave(0);
		least = inside.ticks[0] < least ? inside.ticks[0] : least;
	}
	inside.empty = least;
	memset(inside.ticks, 0, sizeof(inside.ticks));
	inside.told = told;
}

static enum inside_part part_of(CallbackProcPtr callback)
{
	return callback == tipme_input_on_device    ? PART_DEVICE
	       : callback == tipme_input_on_deliver ? PART_DELIVER
	       : callback == tipme_output_on_reply  ? PART_REPLY
	       : callback == tipme_output_on_flush  ? PART_FLUSH
						    : PART_OTHER;
}

static TIMED void timed_callback(CallbackListPtr *list, void *data, void *call)
{
	enum inside_part part = part_of((CallbackProcPtr)data);

	enter();
	((CallbackProcPtr)data)(list, NULL, call);
	leave(part);
}

static TIMED void timed_block(void *data, void *timeout)
{
	enter();
	on_block(data, timeout);
	leave(PART_BLOCK);
	for (int i = 0; i < PARTS; i++)
		told->inside_ns[i] =
			(uint64_t)((unsigned __int128)inside.ticks[i] * tipme_hooks.clock.mult >>
				   32);
	told->stretches = inside.stretches;
}

static TIMED void timed_wakeup(void *data, int result)
{
	enter();
	on_wakeup(data, result);
	leave(PART_WAKEUP);
}

static TIMED int timed_request(ClientPtr client)
{
	int ret;

	(void)*(request_proc volatile *)&timed_real[client->swapped][client->majorOp];
	inside.major = client->majorOp;
	enter();
	ret = on_request(client);
	leave(PART_REQUEST);
	return ret;
}

static TIMED int timed_swapped_request(ClientPtr client)
{
	int ret;

	(void)*(request_proc volatile *)&timed_real[client->swapped][client->majorOp];
	inside.major = client->majorOp;
	enter();
	ret = on_swapped_request(client);
	leave(PART_REQUEST);
	return ret;
}

static TIMED int timed_proc(ClientPtr client)
{
	request_proc real = timed_real[client->swapped][client->majorOp];
	int ret;

	leave(PART_REQUEST);
	ret = real(client);
	enter();
	return ret;
}

static ProcessInputProc timed_real_input;

static TIMED void timed_input(InternalEvent *event, DeviceIntPtr dev)
{
	/* The keyboard extension takes itself out of this place while it calls the next. */
	dev->public.processInputProc = timed_real_input;
	leave(PART_KEY);
	timed_real_input(event, dev);
	enter();
}

static TIMED void timed_key_by(mieqHandler handler, int screen, InternalEvent *event,
			       DeviceIntPtr dev)
{
	timed_real_input = dev->public.processInputProc;
	dev->public.processInputProc = timed_input;
	enter();
	handler(screen, event, dev);
	leave(PART_KEY);
	if (dev->public.processInputProc == timed_input)
		dev->public.processInputProc = timed_real_input;
}

/* The last: nothing else is on their pages. */
static TIMED __attribute__((used)) void timed_end(void)
{
	__asm__(".balign 4096");
}

static void timed_key(int screen, InternalEvent *event, DeviceIntPtr dev)
{
	timed_key_by(on_key, screen, event, dev);
}

static void timed_raw_key(int screen, InternalEvent *event, DeviceIntPtr dev)
{
	timed_key_by(on_raw_key, screen, event, dev);
}

static void timed_table_in(request_proc *table, request_proc *real)
{
	for (int major = 1; major < 256; major++) {
		real[major] = table[major];
		table[major] = timed_proc;
	}
}

static void timed_table_over(request_proc *table, request_proc ours, request_proc timed)
{
	for (int major = 1; major < 256; major++)
		if (table[major] == ours)
			table[major] = timed;
}

static void timed_table_out(request_proc *table, const request_proc *real)
{
	for (int major = 1; major < 256; major++)
		table[major] = real[major];
}

static void requests_put_in(void)
{
	if (in == 2) {
		timed_table_in(ProcVector, timed_real[0]);
		timed_table_in(SwappedProcVector, timed_real[1]);
	}
	tipme_requests_wrap();
	if (in == 2) {
		timed_table_over(ProcVector, on_request, timed_request);
		timed_table_over(SwappedProcVector, on_swapped_request, timed_swapped_request);
	}
}

static void requests_take_out(void)
{
	if (in == 2) {
		timed_table_out(ProcVector, timed_real[0]);
		timed_table_out(SwappedProcVector, timed_real[1]);
	} else {
		tipme_requests_unwrap();
	}
}

static void grabs_take_out(void)
{
	for (DeviceIntPtr dev = inputInfo.devices; dev; dev = dev->next) {
		if (dev->deviceGrab.ActivateGrab != on_grab)
			continue;
		dev->deviceGrab.ActivateGrab = grab_hooks[dev->id & 255].activate;
		dev->deviceGrab.DeactivateGrab = grab_hooks[dev->id & 255].deactivate;
	}
}

static void keys_take_out(void)
{
	static const int types[] = { TIPME_ET_KEY_PRESS, TIPME_ET_KEY_RELEASE,
				     TIPME_ET_RAW_KEY_PRESS, TIPME_ET_RAW_KEY_RELEASE };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		mieqSetHandler(types[i], NULL);
}

static void keys_time(void)
{
	inside_calibrate();
	mieqSetHandler(TIPME_ET_KEY_PRESS, timed_key);
	mieqSetHandler(TIPME_ET_KEY_RELEASE, timed_key);
	mieqSetHandler(TIPME_ET_RAW_KEY_PRESS, timed_raw_key);
	mieqSetHandler(TIPME_ET_RAW_KEY_RELEASE, timed_raw_key);
}

static void take_out(void)
{
	ScreenPtr screen = screenInfo.screens[0];

	tipme_requests_settle(tipme_hooks_now_ns());
	requests_take_out();
	for (size_t i = 0; i < sizeof(callbacks) / sizeof(*callbacks); i++) {
		if (!callbacks[i].list)
			continue;
		if (in == 2)
			DeleteCallback(callbacks[i].list, timed_callback,
				       (void *)callbacks[i].call);
		else
			DeleteCallback(callbacks[i].list, callbacks[i].call, NULL);
	}
	RemoveBlockAndWakeupHandlers(in == 2 ? timed_block : on_block,
				     in == 2 ? timed_wakeup : on_wakeup, NULL);
	keys_take_out();
	grabs_take_out();
	if (!rest.watch)
		rest_begin(dixLookupPrivate(&screen->root->devPrivates, &watch_key));
	screen->SetWindowPixmap = wrapped[0].set_window_pixmap;
	screen->PaintWindow = wrapped[0].paint_window;
	screen->CopyWindow = wrapped[0].copy_window;
	tipme_hooks.asleep_ns = 0;
}

static void put_in(void)
{
	ScreenPtr screen = screenInfo.screens[0];

	screen->SetWindowPixmap = on_set_window_pixmap;
	screen->PaintWindow = on_paint_window;
	screen->CopyWindow = on_copy_window;
	tipme_damage_wake();
	tipme_grabs_init();
	tipme_input_init();
	requests_put_in();
	for (size_t i = 0; i < sizeof(callbacks) / sizeof(*callbacks); i++) {
		if (!callbacks[i].list)
			continue;
		if (in == 2)
			AddCallback(callbacks[i].list, timed_callback, (void *)callbacks[i].call);
		else
			AddCallback(callbacks[i].list, callbacks[i].call, NULL);
	}
	RegisterBlockAndWakeupHandlers(in == 2 ? timed_block : on_block,
				       in == 2 ? timed_wakeup : on_wakeup, NULL);
	if (in == 2)
		keys_time();
}

/* Looks, with the hooks in as with them out. */
static void on_toggle(void *data, void *timeout)
{
	uint8_t want = toggle[0];

	if (want == in || !tipme_hooks.ready)
		return;
	/* From in to in with the time measured: out first. */
	if (in)
		take_out();
	in = want;
	if (in)
		put_in();
	toggle[1] = in;
}

/* The server sleeps meanwhile, and nothing of what it does is counted with what wakes it. */
static void *count(void *nothing)
{
	for (;; usleep(5000)) {
		switch (toggle[2]) {
		case 'z': CALLGRIND_ZERO_STATS; break;
		case 'c':
			CALLGRIND_STOP_INSTRUMENTATION;
			CALLGRIND_START_INSTRUMENTATION;
			break;
		case 'd': CALLGRIND_DUMP_STATS; break;
		}
		toggle[2] = 0;
	}
	return nothing;
}

static void on_toggle_wakeup(void *data, int result)
{
}

static void toggle_init(void)
{
	const char *path = getenv("TIPME_BENCH_TOGGLE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *mem = fd < 0 || ftruncate(fd, sizeof(struct told))
			    ? MAP_FAILED
			    : mmap(NULL, sizeof(struct told), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_POPULATE, fd, 0);
	pthread_t counter;

	if (fd >= 0)
		close(fd);
	if (mem == MAP_FAILED)
		return tipme_hooks_disable("TIPME_BENCH_TOGGLE names no file");
	toggle = mem;
	told = mem;
	RegisterBlockAndWakeupHandlers(on_toggle, on_toggle_wakeup, NULL);
	if (RUNNING_ON_VALGRIND && pthread_create(&counter, NULL, count, NULL))
		tipme_hooks_disable("no thread for counting");
}

/* Xorg begins such an extension after those of the modules that it loaded before. */
__attribute__((constructor)) static void toggle_register(void)
{
	static const ExtensionModule extension = { toggle_init, "TIPME-BENCH-TOGGLE", NULL };

	LoadExtensionList(&extension, 1, FALSE);
}
