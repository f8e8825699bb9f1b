// SPDX-License-Identifier: GPL-2.0-only
/* What changed on the screen, and whose request did it. */
#include "config.h"

#include <stdlib.h>

#include "hooks.h"

/*
 * A damage object on the root sees all windows that draw into the screen's own pixmap. A window
 * that a compositor has redirected draws elsewhere, so it gets one of its own, for as long as it
 * has its own pixmap.
 */
struct watch {
	DamagePtr damage;
	WindowPtr window;
	ScreenPtr screen;
	RegionPtr kept; /* what the server has added up: see on_damage() */
	struct watch *next; /* list of those with damage */
	BoxRec box; /* its extents */
	unsigned pieces;
	bool listed;
	bool redirected;
};

struct wrapped_screen {
	SetWindowPixmapProcPtr set_window_pixmap;
	PaintWindowProcPtr paint_window;
	CopyWindowProcPtr copy_window;
};

/*
 * To tell of damage costs the server more than the damage does: regions made, cut and thrown away
 * with each request. So it is not asked about requests that name the window they draw on
 * (target.c): the root's damage object rests from the first of them until something comes whose
 * damage only the server knows. What a window's coming, going and moving changes is not such: the
 * server paints backgrounds and borders and copies what is there through two procedures of the
 * screen's, which are ours to wrap. In a flood of one client's not even the window is looked at:
 * for the time of one record each request of this client is taken to draw. Roots only: they live as
 * long as the screens.
 */
static struct {
	struct watch *watch;
	ScreenPtr screen; /* its */
	uint64_t since_ns;
	/*
	 * What was drawn on last, a window that can be seen, until windows change: then it may be
	 * one no longer. 0: not known. Whether the box below is what can be seen of it
	 * tipme_hooks.box_known says.
	 */
	XID known;
	uint16_t client; /* whose flood it is; 0: nobody's */
} rest TIPME_HOT_DATA;

/* The window that the request just executed has drawn on, and what can be seen of it. */
static struct {
	XID window; /* 0: none */
	BoxRec box;
} drawn TIPME_HOT_DATA;

/* The same of what is known. */
static struct {
	XID window;
	BoxRec box;
} known TIPME_HOT_DATA;

/*
 * What is joined of one client's: all plain windows, or one redirected window; no window has this
 * number.
 */
#define PLAIN_WINDOWS 1

static DevPrivateKeyRec watch_key TIPME_HOT_DATA;
static struct wrapped_screen wrapped[MAXSCREENS];
static struct watch *damaged_list TIPME_HOT_DATA;

static TIPME_HOT_REQUEST void box_join(BoxRec *into, const BoxRec *box)
{
	into->x1 = into->x1 < box->x1 ? into->x1 : box->x1;
	into->y1 = into->y1 < box->y1 ? into->y1 : box->y1;
	into->x2 = into->x2 > box->x2 ? into->x2 : box->x2;
	into->y2 = into->y2 > box->y2 ? into->y2 : box->y2;
}

static TIPME_HOT_REQUEST void forget(void)
{
	rest.known = 0;
	tipme_hooks.box_known = false;
}

static TIPME_HOT __attribute__((noinline)) void rest_begin(struct watch *watch)
{
	rest.watch = watch;
	rest.screen = watch->screen;
	forget();
	rest.client = 0;
	DamageUnregister(watch->damage);
}

/*
 * A flood goes on; one without its own root at rest is of redirected windows, or of another screen.
 */
static TIPME_HOT __attribute__((noinline)) void flood_begin(uint16_t client, uint64_t since_ns)
{
	/* Its requests are not looked at: they may change windows. */
	forget();
	rest.since_ns = since_ns;
	rest.client = client;
	tipme_hooks.resting = true;
}

TIPME_HOT void tipme_damage_flood_end(void)
{
	rest.client = 0;
	tipme_hooks.resting = false;
}

static void watch_changed(struct watch *watch, const BoxRec *box)
{
	if (watch->listed) {
		box_join(&watch->box, box);
		watch->pieces++;
		return;
	}
	watch->pieces = 0;
	watch->box = *box;
	watch->listed = true;
	watch->next = damaged_list;
	damaged_list = watch;
	tipme_hooks.damaged = true;
}

/*
 * After so many pieces of one request the server is not asked for a while; they may have cost more
 * than the request.
 */
#define PIECES_MAX 256

/*
 * The server tells each piece as it comes. It also adds them up, which costs nothing as long as the
 * sum is one box that holds the next piece; else the sum is thrown away, or it would become as
 * intricate as all that was ever drawn.
 *
 * No damage object may be taken from the server here, not even our own. Telling the cursor of a
 * change takes the cursor off the screen. That is a change, too, and we are told of it while the
 * server is about to tell us of the first.
 */
static void on_damage(DamagePtr damage, RegionPtr region, void *closure)
{
	struct watch *watch = closure;

	if (watch->kept->data)
		DamageEmpty(damage);
	watch_changed(watch, RegionExtents(region));
}

static void unlist(const struct watch *watch)
{
	struct watch **at;

	for (at = &damaged_list; *at; at = &(*at)->next)
		if (*at == watch) {
			*at = watch->next;
			break;
		}
	tipme_hooks.damaged = damaged_list != NULL || drawn.window;
}

/* The window goes, or its damage object: the server calls this for both. */
static void on_damage_destroyed(DamagePtr damage, void *closure)
{
	struct watch *watch = closure;

	unlist(watch);
	if (watch->redirected)
		tipme_hooks.redirected--;
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
	watch->damage = DamageCreate(on_damage, on_damage_destroyed, DamageReportRawRegion, TRUE,
				     screen, watch);
	if (!watch->damage) {
		free(watch);
		return;
	}
	watch->redirected = window->parent != NULL;
	watch->kept = DamageRegion(watch->damage);
	DamageRegister(&window->drawable, watch->damage);
	dixSetPrivate(&window->devPrivates, &watch_key, watch);
}

/* Whether a window draws into a pixmap that neither its parent nor the screen has. */
static bool is_redirected(WindowPtr window, PixmapPtr pixmap)
{
	ScreenPtr screen = window->drawable.pScreen;

	return window->parent && pixmap != screen->GetScreenPixmap(screen) &&
	       pixmap != screen->GetWindowPixmap(window->parent);
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
	if (want && !watch) {
		/*
		 * Also where there is no memory for its damage object: then it is not told of, but
		 * is not taken for a plain one either.
		 */
		tipme_hooks.redirected++;
		/* From now on the root's damage object tells where the screen changes. */
		tipme_damage_wake();
		watch_start(window);
		tipme_frames_redirect(window, true);
	} else if (!want && watch) {
		DamageDestroy(watch->damage);
		tipme_frames_redirect(window, false);
	}
}

/* ---- windows that come, go and move while the root's object rests ---- */

/* A box of the screen where this window lies. */
static void window_changed(const WindowRec *window, const BoxRec *box)
{
	ScreenPtr screen = window->drawable.pScreen;

	forget();
	if (!rest.watch || rest.screen != screen || box->x1 >= box->x2 || box->y1 >= box->y2)
		return;
	/* What is redirected has a damage object of its own. */
	if (screen->GetWindowPixmap((WindowPtr)window) == screen->GetScreenPixmap(screen))
		watch_changed(rest.watch, box);
}

static bool has_background(const WindowRec *window)
{
	while (window->backgroundState == ParentRelative && window->parent)
		window = window->parent;
	return window->backgroundState != None;
}

static void on_paint_window(WindowPtr window, RegionPtr region, int what)
{
	ScreenPtr screen = window->drawable.pScreen;
	struct wrapped_screen *was = &wrapped[screen->myNum];
	BoxRec box = *RegionExtents(region);

	screen->PaintWindow = was->paint_window;
	screen->PaintWindow(window, region, what);
	was->paint_window = screen->PaintWindow;
	screen->PaintWindow = on_paint_window;
	if (what == PW_BORDER || has_background(window))
		window_changed(window, &box);
}

/* The region is where it was; what can be seen of it where it is now has changed. */
static BoxRec copied_to(const WindowRec *window, DDXPointRec from, RegionPtr region)
{
	const BoxRec *seen = RegionExtents((RegionPtr)&window->borderClip),
		     *was = RegionExtents(region);
	int dx = window->drawable.x - from.x, dy = window->drawable.y - from.y;

	return (BoxRec){
		.x1 = (short)max(was->x1 + dx, seen->x1),
		.y1 = (short)max(was->y1 + dy, seen->y1),
		.x2 = (short)min(was->x2 + dx, seen->x2),
		.y2 = (short)min(was->y2 + dy, seen->y2),
	};
}

static void on_copy_window(WindowPtr window, DDXPointRec from, RegionPtr region)
{
	ScreenPtr screen = window->drawable.pScreen;
	struct wrapped_screen *was = &wrapped[screen->myNum];
	BoxRec box = copied_to(window, from, region);

	screen->CopyWindow = was->copy_window;
	screen->CopyWindow(window, from, region);
	was->copy_window = screen->CopyWindow;
	screen->CopyWindow = on_copy_window;
	window_changed(window, &box);
}

/* Must be called before there are windows. */
void tipme_damage_register(void)
{
	damaged_list = NULL;
	tipme_hooks.damaged = false;
	rest.watch = NULL;
	tipme_hooks.redirected = 0;
	forget();
	drawn.window = 0;
	tipme_damage_flood_end();
	if (!dixRegisterPrivateKey(&watch_key, PRIVATE_WINDOW, 0))
		tipme_hooks_disable("no memory for a window's private data");
}

void tipme_damage_init(ScreenPtr screen)
{
	if (!DamageSetup(screen))
		return;
	watch_start(screen->root);
	wrapped[screen->myNum] = (struct wrapped_screen){ screen->SetWindowPixmap,
							  screen->PaintWindow, screen->CopyWindow };
	screen->SetWindowPixmap = on_set_window_pixmap;
	screen->PaintWindow = on_paint_window;
	screen->CopyWindow = on_copy_window;
}

/* The root has gone, and while we rested its damage did not go with it. */
static void rest_drop(ScreenPtr screen)
{
	struct watch *watch = rest.watch;

	if (!watch || watch->screen != screen)
		return;
	rest.watch = NULL;
	forget();
	tipme_damage_flood_end();
	watch->window = NULL;
	DamageDestroy(watch->damage);
}

void tipme_damage_close(ScreenPtr screen)
{
	struct wrapped_screen *was = &wrapped[screen->myNum];

	if (!was->set_window_pixmap)
		return;
	screen->SetWindowPixmap = was->set_window_pixmap;
	screen->PaintWindow = was->paint_window;
	screen->CopyWindow = was->copy_window;
	was->set_window_pixmap = NULL;
	rest_drop(screen);
}

TIPME_HOT void tipme_damage_wake(void)
{
	if (!rest.watch)
		return;
	DamageRegister(&rest.watch->window->drawable, rest.watch->damage);
	rest.watch = NULL;
	forget();
	tipme_damage_flood_end();
}

TIPME_HOT_REQUEST bool tipme_damage_told(uint16_t client)
{
	return !rest.watch || rest.client == client;
}

/*
 * Whether what is drawn on this plain window is for us to see. A picture that was asked for may
 * come at any time, and only the server tells.
 */
static TIPME_HOT_REQUEST bool is_ours(WindowPtr window)
{
	ScreenPtr screen = window->drawable.pScreen;
	struct watch *watch;

	/*
	 * Where a compositor paints, its window's visible part is all of the screen: where in it,
	 * only the server tells.
	 */
	if (tipme_present_asked() || tipme_hooks.redirected)
		return false;
	if (rest.watch)
		return rest.screen == screen;
	watch = dixLookupPrivate(&screen->root->devPrivates, &watch_key);
	if (watch)
		rest_begin(watch);
	return watch;
}

/*
 * A flood that draws elsewhere goes untimed only if the server tells of what it draws on windows.
 */
static TIPME_HOT_REQUEST bool is_flood(const struct tipme_x_request *req)
{
	return tipme_join_flood(&tipme_group_of(req->client)->request, req->ts_ns);
}

static TIPME_HOT_REQUEST void remember(const WindowRec *window, uint8_t major)
{
	known.window = window->drawable.id;
	known.box = *RegionExtents((RegionPtr)&window->clipList);
	/* Some windows are not cleared, which is for each such request to be seen. */
	tipme_hooks.box_known = major != X_ClearArea;
}

TIPME_HOT_REQUEST XID tipme_damage_before(const ClientRec *client,
					  const struct tipme_x_request *req)
{
	enum tipme_target target;
	WindowPtr window = NULL;
	XID id = 0;

	if (rest.client) {
		if (req->client == rest.client && req->ts_ns - rest.since_ns <= TIPME_JOIN_NS)
			return 0;
		tipme_damage_flood_end();
	}
	target = tipme_target_of(client, req, &id);
	/* Windows change, or numbers of pictures. */
	if (target != TIPME_TARGET_WINDOW)
		forget();
	if (target == TIPME_TARGET_WINDOW) {
		if (id == rest.known && !tipme_present_asked())
			return id;
		target = tipme_target_look(req, id, &window);
	}
	switch (target) {
	case TIPME_TARGET_WINDOW:
		if (!is_ours(window))
			return 0;
		rest.known = id;
		remember(window, req->major);
		return id;
	case TIPME_TARGET_NONE:
	case TIPME_TARGET_WINDOWS:
		if (!rest.watch || !is_flood(req))
			return 0;
		break;
	case TIPME_TARGET_UNKNOWN: break;
	}
	tipme_damage_wake();
	return 0;
}

/*
 * The server has just looked it up itself, so this is quick; before, it would have been our time
 * that it takes to find it in memory.
 */
static TIPME_HOT_REQUEST bool look_at_drawn(const struct tipme_x_request *req, XID id)
{
	WindowPtr window;

	if (tipme_target_look(req, id, &window) != TIPME_TARGET_WINDOW)
		return false;
	remember(window, req->major);
	tipme_hooks.box_known &= id == rest.known;
	return true;
}

TIPME_HOT_REQUEST void tipme_damage_drawn(const struct tipme_x_request *req, XID id)
{
	if (!(tipme_hooks.box_known && id == rest.known && req->major != X_ClearArea) &&
	    !look_at_drawn(req, id))
		return;
	/* A background that was painted for it is the same change. */
	if (damaged_list && rest.watch && rest.watch->listed) {
		rest.watch->listed = false;
		unlist(rest.watch);
	}
	drawn.window = known.window;
	drawn.box = known.box;
	tipme_hooks.damaged = true;
}

void tipme_damage_rested(uint64_t now_ns)
{
	if (now_ns - rest.since_ns > TIPME_JOIN_NS)
		tipme_damage_flood_end();
}

TIPME_HOT __attribute__((noinline)) void
tipme_damage_assume(struct tipme_x_group *group, const struct tipme_x_request *req, uint64_t end_ns)
{
	struct tipme_x_damage *rec = &group->last_damage;

	if (req->client != rest.client)
		return;
	rec->ts_ns = end_ns;
	rec->major = req->major;
	rec->minor = req->minor;
	tipme_xring_amend(&tipme_hooks.ring, group->damage.index, rec);
}

static TIPME_HOT_REQUEST struct tipme_x_damage damage_of(XID window, uint64_t now_ns,
							 const struct tipme_x_request *req)
{
	struct tipme_x_damage rec = { .ts_ns = now_ns,
				      .type = TIPME_X_DAMAGE,
				      .window = (uint32_t)window };

	if (req) {
		rec.pid = req->pid;
		rec.client = req->client;
		rec.major = req->major;
		rec.minor = req->minor;
	}
	return rec;
}

/* True: it is one of a flood. */
static TIPME_HOT_REQUEST bool change_record(XID window, const BoxRec *box, uint64_t key,
					    uint64_t now_ns, const struct tipme_x_request *whose)
{
	struct tipme_x_group *group = tipme_group_of(whose ? whose->client : 0);
	struct tipme_x_damage rec = damage_of(window, now_ns, whose);
	bool flood = tipme_join_flood(&group->damage, now_ns);

	/* Joined damage has the extents of all of it. */
	if (flood && tipme_join_fits(&group->damage, key, now_ns))
		box_join(&group->box, box);
	else
		group->box = *box;
	rec.width = (uint16_t)(group->box.x2 - group->box.x1);
	rec.height = (uint16_t)(group->box.y2 - group->box.y1);
	tipme_hooks_join(&group->damage, key, &rec);
	group->last_damage = rec;
	return flood;
}

/* A redirected window's: what a compositor has to bring to the screen. */
static void watch_drawn(struct watch *watch, uint64_t now_ns, const struct tipme_x_request *whose)
{
	struct tipme_x_group *group = tipme_group_of(whose ? whose->client : 0);
	uint64_t key = watch->window->drawable.id;
	struct tipme_x_drawn rec;

	if (tipme_join_flood(&group->damage, now_ns) &&
	    tipme_join_fits(&group->damage, key, now_ns))
		box_join(&group->box, &watch->box);
	else
		group->box = watch->box;
	rec = tipme_frames_drawn(watch->window, &group->box);
	rec.ts_ns = now_ns;
	if (whose) {
		rec.client = whose->client;
		rec.major = whose->major;
		rec.minor = whose->minor;
	}
	tipme_hooks_join(&group->damage, key, &rec);
}

static __attribute__((noinline)) void watch_record(struct watch *watch, uint64_t now_ns,
						   const struct tipme_x_request *whose)
{
	WindowPtr window = watch->window;
	bool many = watch->pieces >= PIECES_MAX;
	bool flood;

	if (window->parent) {
		watch_drawn(watch, now_ns, whose);
		return;
	}
	if (tipme_hooks.redirected) {
		tipme_frames_painted(watch->screen, &watch->box, now_ns, whose);
		return;
	}
	flood = change_record(window->drawable.id, &watch->box, PLAIN_WINDOWS, now_ns, whose);

	if (!(flood || many) || !whose || rest.watch)
		return;
	rest_begin(watch);
	flood_begin(whose->client, flood ? tipme_group_of(whose->client)->damage.since_ns : now_ns);
}

static TIPME_HOT_REQUEST void drawn_record(uint64_t now_ns, const struct tipme_x_request *whose)
{
	XID window = drawn.window;

	drawn.window = 0;
	if (change_record(window, &drawn.box, PLAIN_WINDOWS, now_ns, whose))
		flood_begin(whose->client, tipme_group_of(whose->client)->damage.since_ns);
}

TIPME_HOT_REQUEST void tipme_damage_record(uint64_t now_ns, const struct tipme_x_request *req)
{
	const struct tipme_x_request *whose = req ? req : tipme_present_asked();
	struct watch *watch;

	if (drawn.window)
		drawn_record(now_ns, req);
	while ((watch = damaged_list)) {
		damaged_list = watch->next;
		watch->listed = false;
		watch_record(watch, now_ns, whose);
	}
	tipme_hooks.damaged = false;
	if (!req || (tipme_present_asked() && tipme_present_asked()->ts_ns == req->ts_ns))
		tipme_present_shown();
}
