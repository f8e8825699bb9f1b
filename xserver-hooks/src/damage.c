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
	ScreenPtr screen;
	RegionPtr kept;			/* what the server has added up: see on_damage() */
	struct watch *next;		/* list of those with damage */
	BoxRec box;			/* its extents */
	unsigned pieces;
	bool listed;
};

struct wrapped_screen {
	SetWindowPixmapProcPtr set_window_pixmap;
};

/*
 * To tell of damage costs the server more than the damage does: regions made, cut and thrown away with each request. In a
 * flood of one client's all that would go into one record, so for the rest of that record's time the server is not
 * asked, and each request of this client is taken to draw. Roots only: they live as long as the screens.
 */
static struct {
	struct watch *watch;
	uint64_t since_ns;
	uint16_t client;
} rest;

static DevPrivateKeyRec watch_key;
static struct wrapped_screen wrapped[MAXSCREENS];
static struct watch *damaged_list;

static void box_join(BoxRec *into, const BoxRec *box)
{
	into->x1 = into->x1 < box->x1 ? into->x1 : box->x1;
	into->y1 = into->y1 < box->y1 ? into->y1 : box->y1;
	into->x2 = into->x2 > box->x2 ? into->x2 : box->x2;
	into->y2 = into->y2 > box->y2 ? into->y2 : box->y2;
}

static void rest_begin(struct watch *watch, uint16_t client, uint64_t since_ns)
{
	if (rest.watch || watch->window->parent)
		return;
	rest.watch = watch;
	rest.since_ns = since_ns;
	rest.client = client;
	DamageUnregister(watch->damage);
	tipme_hooks.resting = true;
}

/* After so many pieces of one request the server is not asked for a while; they may have cost more than the request. */
#define PIECES_MAX 256

/*
 * The server tells each piece as it comes. It also adds them up, which costs nothing as long as the sum is one box that holds the
 * next piece; else the sum is thrown away, or it would become as intricate as all that was ever drawn.
 *
 * No damage object may be taken from the server here, not even our own: telling the cursor of a change takes the cursor off
 * the screen, which is a change, of which we are told while the server is about to tell us of the first.
 */
static void on_damage(DamagePtr damage, RegionPtr region, void *closure)
{
	struct watch *watch = closure;

	if (watch->kept->data)
		DamageEmpty(damage);
	if (watch->listed) {
		box_join(&watch->box, RegionExtents(region));
		watch->pieces++;
		return;
	}
	watch->pieces = 0;
	watch->box = *RegionExtents(region);
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
	if (watch->window)
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
	watch->screen = screen;
	watch->damage = DamageCreate(on_damage, on_damage_destroyed, DamageReportRawRegion, TRUE, screen, watch);
	if (!watch->damage) {
		free(watch);
		return;
	}
	watch->kept = DamageRegion(watch->damage);
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
	tipme_hooks.damaged = tipme_hooks.resting = false;
	rest.watch = NULL;
	if (!dixRegisterPrivateKey(&watch_key, PRIVATE_WINDOW, 0))
		tipme_hooks_disable("no memory for a window's private data");
}

void tipme_damage_init(ScreenPtr screen)
{
	if (!DamageSetup(screen))
		return;
	watch_start(screen->root);
	wrapped[screen->myNum].set_window_pixmap = screen->SetWindowPixmap;
	screen->SetWindowPixmap = on_set_window_pixmap;
}

/* The root has gone, and while we rested its damage did not go with it. */
static void rest_drop(ScreenPtr screen)
{
	struct watch *watch = rest.watch;

	if (!watch || watch->screen != screen)
		return;
	rest.watch = NULL;
	tipme_hooks.resting = false;
	watch->window = NULL;
	DamageDestroy(watch->damage);
}

void tipme_damage_close(ScreenPtr screen)
{
	struct wrapped_screen *was = &wrapped[screen->myNum];

	if (!was->set_window_pixmap)
		return;
	screen->SetWindowPixmap = was->set_window_pixmap;
	was->set_window_pixmap = NULL;
	rest_drop(screen);
}

void tipme_damage_wake(void)
{
	if (!rest.watch)
		return;
	DamageRegister(&rest.watch->window->drawable, rest.watch->damage);
	rest.watch = NULL;
	tipme_hooks.resting = false;
}

void tipme_damage_look(const struct tipme_x_request *req)
{
	if (req->client != rest.client || req->ts_ns - rest.since_ns > TIPME_JOIN_NS)
		tipme_damage_wake();
}

void tipme_damage_rested(uint64_t now_ns)
{
	if (now_ns - rest.since_ns > TIPME_JOIN_NS)
		tipme_damage_wake();
}

void tipme_damage_assume(struct tipme_x_group *group, const struct tipme_x_request *req, uint64_t end_ns)
{
	struct tipme_x_damage *rec = &group->last_damage;

	if (req->client != rest.client)
		return;
	rec->ts_ns = end_ns;
	rec->major = req->major;
	rec->minor = req->minor;
	tipme_xring_amend(&tipme_hooks.ring, group->damage.index, rec);
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

static void watch_record(struct watch *watch, uint64_t now_ns, const struct tipme_x_request *whose)
{
	struct tipme_x_group *group = tipme_group_of(whose ? whose->client : 0);
	struct tipme_x_damage rec = damage_of(watch, now_ns, whose);

	bool flood = tipme_join_flood(&group->damage, now_ns);
	bool many = watch->pieces >= PIECES_MAX;

	/* Joined damage has the extents of all of it. */
	if (flood && tipme_join_fits(&group->damage, rec.window, now_ns))
		box_join(&group->box, &watch->box);
	else
		group->box = watch->box;
	rec.width = (uint16_t)(group->box.x2 - group->box.x1);
	rec.height = (uint16_t)(group->box.y2 - group->box.y1);
	tipme_join_put(&group->damage, &tipme_hooks.ring, rec.window, &rec);
	group->last_damage = rec;
	if ((flood || many) && whose)
		rest_begin(watch, whose->client, flood ? group->damage.since_ns : now_ns);
}

void tipme_damage_record(uint64_t now_ns, const struct tipme_x_request *req)
{
	const struct tipme_x_request *whose = req ? req : tipme_present_asked();
	struct watch *watch;

	while ((watch = damaged_list)) {
		damaged_list = watch->next;
		watch->listed = false;
		watch_record(watch, now_ns, whose);
	}
	tipme_hooks.damaged = false;
	if (!req || (tipme_present_asked() && tipme_present_asked()->ts_ns == req->ts_ns))
		tipme_present_shown();
}
