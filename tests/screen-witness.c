// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into Xvfb beside our hooks: when which pixels of the screen changed, by looking at
 * them. It knows nothing of damage, of compositors or of tipme. Each line: nanoseconds
 * (CLOCK_MONOTONIC), then the box of the points that changed: x1 y1 x2 y2.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "hooks.h"

#define STEP 16 /* pixels between the points that are looked at */
#define MOST 65536

static FILE *out;
static int (*served[256])(ClientPtr);
static unsigned int seen[MOST];
static bool ready;

static void look(void)
{
	ScreenPtr screen = screenInfo.screens[0];
	PixmapPtr pixmap = screen->GetScreenPixmap(screen);
	const char *bits = pixmap->devPrivate.ptr;
	int x1 = 1 << 16, y1 = 1 << 16, x2 = -1, y2 = -1, n = 0;
	struct timespec t;

	if (!bits)
		return;
	for (int y = STEP / 2; y < screen->height; y += STEP)
		for (int x = STEP / 2; x < screen->width && n < MOST; x += STEP, n++) {
			unsigned int now =
				*(const unsigned int *)(bits + (long)y * pixmap->devKind + 4L * x);

			if (now == seen[n])
				continue;
			seen[n] = now;
			x1 = min(x1, x), y1 = min(y1, y), x2 = max(x2, x), y2 = max(y2, y);
		}
	if (x2 < 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &t);
	fprintf(out, "%lld %d %d %d %d\n", t.tv_sec * 1000000000LL + t.tv_nsec, x1, y1, x2, y2);
}

static int on_request(ClientPtr client)
{
	int ret = served[client->majorOp](client);

	look();
	return ret;
}

static void on_block(void *data, void *timeout)
{
	if (!ready) {
		ready = true;
		for (int i = 1; i < 256; i++) {
			served[i] = ProcVector[i];
			ProcVector[i] = on_request;
		}
	}
	look();
	fflush(out);
}

static void on_wakeup(void *data, int result)
{
}

static void init(void)
{
	RegisterBlockAndWakeupHandlers(on_block, on_wakeup, NULL);
}

__attribute__((constructor)) static void begin(void)
{
	static const ExtensionModule extension = { init, "TIPME-WITNESS", NULL };
	const char *path = getenv("TIPME_SCREEN_WITNESS");

	if (!path || !LoadExtensionList)
		return;
	out = fopen(path, "w");
	unsetenv("TIPME_SCREEN_WITNESS");
	if (out)
		LoadExtensionList(&extension, 1, FALSE);
}
