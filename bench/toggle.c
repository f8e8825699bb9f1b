// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hooks, taken out of the running server and put in again as a bench asks for: so they are measured against the same process, whose memory lies where it lies.
 * TIPME_BENCH_TOGGLE names a file of three bytes: what is wanted (1: in), and what is; and what valgrind's callgrind is to do: z to
 * begin to count, d to write down what it has counted.
 *
 * Taken out, nothing of the server's calls them, and nothing is asked of it on their behalf: tables, callbacks, handlers and
 * grabs are the server's own again, its damage code has no object of theirs. This needs to reach into them, hence the includes.
 */
#include "hooks.c"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS do { } while (0)
#define CALLGRIND_DUMP_STATS do { } while (0)
#endif

#include "damage.c"
#define hooks grab_hooks
#include "grabs.c"
#undef hooks
#include "events.h"

#pragma weak DeleteCallback
#pragma weak RemoveBlockAndWakeupHandlers

static volatile uint8_t *toggle;
static bool in = true;

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
	static const int types[] = { TIPME_ET_KEY_PRESS, TIPME_ET_KEY_RELEASE, TIPME_ET_RAW_KEY_PRESS, TIPME_ET_RAW_KEY_RELEASE };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		mieqSetHandler(types[i], NULL);
}

static void take_out(void)
{
	ScreenPtr screen = screenInfo.screens[0];

	tipme_requests_settle(tipme_hooks_now_ns());
	tipme_requests_unwrap();
	for (size_t i = 0; i < sizeof(callbacks) / sizeof(*callbacks); i++)
		if (callbacks[i].list)
			DeleteCallback(callbacks[i].list, callbacks[i].call, NULL);
	RemoveBlockAndWakeupHandlers(on_block, on_wakeup, NULL);
	keys_take_out();
	grabs_take_out();
	if (!rest.watch)
		rest_begin(dixLookupPrivate(&screen->root->devPrivates, &watch_key));
	screen->SetWindowPixmap = wrapped[0].set_window_pixmap;
	asleep_ns = 0;
}

static void put_in(void)
{
	ScreenPtr screen = screenInfo.screens[0];

	screen->SetWindowPixmap = on_set_window_pixmap;
	tipme_damage_wake();
	tipme_grabs_init();
	tipme_input_init();
	tipme_requests_wrap();
	for (size_t i = 0; i < sizeof(callbacks) / sizeof(*callbacks); i++)
		if (callbacks[i].list)
			AddCallback(callbacks[i].list, callbacks[i].call, NULL);
	RegisterBlockAndWakeupHandlers(on_block, on_wakeup, NULL);
}

/* Looks, with the hooks in as with them out. */
static void on_toggle(void *data, void *timeout)
{
	bool want = toggle[0];

	/* What woke the server is not counted. */
	if (toggle[2] == 'z') {
		toggle[2] = 0;
		CALLGRIND_ZERO_STATS;
	}
	if (want == in || ready_generation != serverGeneration)
		return;
	in = want;
	if (in)
		put_in();
	else
		take_out();
	toggle[1] = in;
}

static void on_toggle_wakeup(void *data, int result)
{
	if (toggle[2] == 'd') {
		toggle[2] = 0;
		CALLGRIND_DUMP_STATS;
	}
}

static void toggle_init(void)
{
	const char *path = getenv("TIPME_BENCH_TOGGLE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *mem = fd < 0 ? MAP_FAILED : mmap(NULL, 3, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (mem == MAP_FAILED)
		return tipme_hooks_disable("TIPME_BENCH_TOGGLE names no file");
	toggle = mem;
	RegisterBlockAndWakeupHandlers(on_toggle, on_toggle_wakeup, NULL);
}

/* Xorg begins such an extension after those of the modules that it loaded before. */
__attribute__((constructor)) static void toggle_register(void)
{
	static const ExtensionModule extension = { toggle_init, "TIPME-BENCH-TOGGLE", NULL };

	LoadExtensionList(&extension, 1, FALSE);
}
