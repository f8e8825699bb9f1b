// SPDX-License-Identifier: GPL-2.0-only
/* What changed on the screen, and whose request did it. */
#include "config.h"

#include <stdlib.h>

#include "hooks.h"

/*
 * A damage object on the root sees all windows that draw into the screen's own pixmap. A window that a compositor has
 * redirected draws elsewhere, so it gets one of its own, for as long as it has its own pixmap.
 */
struct watch {
	DamagePtr damage;
	WindowPtr window;
	struct watch *next;		/* list of those with damage */
	bool listed;
};

struct wrapped_screen {
	SetWindowPixmapProcPtr set_window_pixmap;
};

/* What a run of requests changed in one window. */
static struct {
	struct tipme_x_damage rec;
	BoxRec box;
} merged;

static DevPrivateKeyRec watch_key;
static struct wrapped_screen wrapped[MAXSCREENS];
static struct watch *damaged_list;
/* The client of the last PresentPixmap whose picture was not seen yet. */
static struct tipme_x_request presented;
static uint8_t present_major;

static void on_damage(DamagePtr damage, RegionPtr region, void *closure)
{
	struct watch *watch = closure;

	if (watch->listed)
		return;
	watch->listed = true;
	watch->next = damaged_list;
	damaged_list = watch;
	tipme_hooks.damaged = true;
}

/* The window goes, or its damage object: the server calls this for both. */
static void on_damage_destroyed(DamagePtr damage, void *closure)
{
	struct watch *watch = closure, **at;

	for (at = &damaged_list; *at; at = &(*at)->next)
		if (*at == watch) {
			*at = watch->next;
			break;
		}
	tipme_hooks.damaged = damaged_list != NULL;
	dixSetPrivate(&watch->window->devPrivates, &watch_key, NULL);
	free(watch);
}

static void watch_start(WindowPtr window)
{
	ScreenPtr screen = window->drawable.pScreen;
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return;
	watch->window = window;
	watch->damage = DamageCreate(on_damage, on_damage_destroyed, DamageReportNonEmpty, TRUE, screen, watch);
	if (!watch->damage) {
		free(watch);
		return;
	}
	DamageRegister(&window->drawable, watch->damage);
	dixSetPrivate(&window->devPrivates, &watch_key, watch);
}

/* Whether a window draws into a pixmap that neither its parent nor the screen has. */
static bool is_redirected(WindowPtr window, PixmapPtr pixmap)
{
	ScreenPtr screen = window->drawable.pScreen;

	return window->parent && pixmap != screen->GetScreenPixmap(screen) && pixmap != screen->GetWindowPixmap(window->parent);
}

static void on_set_window_pixmap(WindowPtr window, PixmapPtr pixmap)
{
	ScreenPtr screen = window->drawable.pScreen;
	struct wrapped_screen *was = &wrapped[screen->myNum];
	struct watch *watch;
	bool want;

	screen->SetWindowPixmap = was->set_window_pixmap;
	screen->SetWindowPixmap(window, pixmap);
	was->set_window_pixmap = screen->SetWindowPixmap;
	screen->SetWindowPixmap = on_set_window_pixmap;
	if (!window->parent)
		return;
	watch = dixLookupPrivate(&window->devPrivates, &watch_key);
	want = is_redirected(window, pixmap);
	if (want && !watch)
		watch_start(window);
	else if (!want && watch)
		DamageDestroy(watch->damage);
}

/* Must be called before there are windows. */
void tipme_damage_register(void)
{
	damaged_list = NULL;
	tipme_hooks.damaged = tipme_hooks.damage_merged = false;
	presented = (struct tipme_x_request){ 0 };
	if (!dixRegisterPrivateKey(&watch_key, PRIVATE_WINDOW, 0))
		tipme_hooks_disable("no memory for a window's private data");
}

void tipme_damage_init(ScreenPtr screen)
{
	ExtensionEntry *present = CheckExtension("Present");

	present_major = present ? (uint8_t)present->base : 0;
	if (!DamageSetup(screen))
		return;
	watch_start(screen->root);
	wrapped[screen->myNum].set_window_pixmap = screen->SetWindowPixmap;
	screen->SetWindowPixmap = on_set_window_pixmap;
}

void tipme_damage_close(ScreenPtr screen)
{
	struct wrapped_screen *was = &wrapped[screen->myNum];

	if (!was->set_window_pixmap)
		return;
	screen->SetWindowPixmap = was->set_window_pixmap;
	was->set_window_pixmap = NULL;
}

void tipme_damage_note_present(const struct tipme_x_request *req)
{
	const uint8_t present_pixmap = 1;

	if (present_major && req->major == present_major && req->minor == present_pixmap)
		presented = *req;
}

static struct tipme_x_damage damage_of(struct watch *watch, uint64_t now_ns, const struct tipme_x_request *req)
{
	struct tipme_x_damage rec = {
		.ts_ns = now_ns, .type = TIPME_X_DAMAGE, .window = (uint32_t)watch->window->drawable.id,
	};

	if (req) {
		rec.pid = req->pid;
		rec.client = req->client;
		rec.major = req->major;
		rec.minor = req->minor;
	}
	return rec;
}

static void record_box(struct tipme_x_damage *rec, const BoxRec *box)
{
	rec->width = (uint16_t)(box->x2 - box->x1);
	rec->height = (uint16_t)(box->y2 - box->y1);
	tipme_hooks_record(rec);
}

/* Takes the next window off the list, and its extents; from now on the server reports its damage again. */
static struct watch *damaged_next(BoxRec *box)
{
	struct watch *watch = damaged_list;

	if (!watch)
		return NULL;
	damaged_list = watch->next;
	tipme_hooks.damaged = damaged_list != NULL;
	watch->listed = false;
	*box = *RegionExtents(DamageRegion(watch->damage));
	DamageEmpty(watch->damage);
	return watch;
}

void tipme_damage_record(uint64_t now_ns, const struct tipme_x_request *req)
{
	const struct tipme_x_request *whose = !req && presented.count ? &presented : req;
	struct watch *watch;
	BoxRec box;

	while ((watch = damaged_next(&box))) {
		struct tipme_x_damage rec = damage_of(watch, now_ns, whose);

		record_box(&rec, &box);
	}
	if (!req)
		presented.count = 0;
}

void tipme_damage_flush_merged(void)
{
	struct tipme_x_damage rec = merged.rec;

	/* First, as recording looks at it. */
	tipme_hooks.damage_merged = false;
	record_box(&rec, &merged.box);
}

static void box_join(BoxRec *into, const BoxRec *box)
{
	into->x1 = into->x1 < box->x1 ? into->x1 : box->x1;
	into->y1 = into->y1 < box->y1 ? into->y1 : box->y1;
	into->x2 = into->x2 > box->x2 ? into->x2 : box->x2;
	into->y2 = into->y2 > box->y2 ? into->y2 : box->y2;
}

void tipme_damage_merge(uint64_t now_ns, const struct tipme_x_request *req)
{
	struct watch *watch;
	BoxRec box;

	while ((watch = damaged_next(&box))) {
		if (tipme_hooks.damage_merged && merged.rec.window != (uint32_t)watch->window->drawable.id)
			tipme_hooks_flush_run();
		if (tipme_hooks.damage_merged)
			box_join(&merged.box, &box);
		else
			merged.box = box;
		merged.rec = damage_of(watch, now_ns, req);
		tipme_hooks.damage_merged = true;
	}
}
