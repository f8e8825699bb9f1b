// SPDX-License-Identifier: GPL-2.0-only
/* What requests draw on, as far as they say it themselves. */
#include "config.h"

#include <string.h>

#include "hooks.h"

#include <X11/extensions/damagewire.h>
#include <X11/extensions/renderproto.h>
#include <X11/extensions/shapeproto.h>
#include <X11/extensions/shmproto.h>

/*
 * Of an opcode: where in the request the number of the drawable or picture stands, in bytes; or one
 * of these.
 */
#define ASK_SERVER 0
#define HARMLESS 1 /* it changes nothing that can be seen */
#define IS_PICTURE 2 /* beside the place */
#define WINDOWS 3 /* windows come, go, move: TIPME_TARGET_WINDOWS */
#define PLACE(entry) ((entry) & ~3U)

struct span {
	uint8_t first, last, entry;
};

/* All others may draw in another way. */
static const struct span core[] = {
	{ X_CreateWindow, X_CreateWindow, HARMLESS },
	{ X_ChangeWindowAttributes, X_ChangeWindowAttributes, WINDOWS },
	{ X_GetWindowAttributes, X_GetWindowAttributes, HARMLESS },
	{ X_DestroyWindow, X_CirculateWindow, WINDOWS },
	{ X_ChangeSaveSet, X_ChangeSaveSet, HARMLESS },
	{ X_GetGeometry, X_FreeGC, HARMLESS },
	{ X_ClearArea, X_ClearArea, 4 },
	{ X_CopyArea, X_CopyPlane, 8 },
	{ X_PolyPoint, X_PutImage, 4 },
	{ X_GetImage, X_GetImage, HARMLESS },
	{ X_PolyText8, X_ImageText16, 4 },
	{ X_CreateColormap, X_GetScreenSaver, HARMLESS },
	{ X_NoOperation, X_NoOperation, HARMLESS },
};

static const struct span render[] = {
	{ X_RenderQueryVersion, X_RenderFreePicture, HARMLESS },
	{ X_RenderComposite, X_RenderComposite, 16 | IS_PICTURE },
	{ X_RenderTrapezoids, X_RenderTriFan, 12 | IS_PICTURE },
	{ X_RenderCreateGlyphSet, X_RenderFreeGlyphs, HARMLESS },
	{ X_RenderCompositeGlyphs8, X_RenderCompositeGlyphs32, 12 | IS_PICTURE },
	{ X_RenderFillRectangles, X_RenderFillRectangles, 8 | IS_PICTURE },
	{ X_RenderCreateCursor, X_RenderCreateAnimCursor, HARMLESS },
	{ X_RenderAddTraps, X_RenderAddTraps, 4 | IS_PICTURE },
	{ X_RenderCreateSolidFill, X_RenderCreateConicalGradient, HARMLESS },
};

static const struct span shm[] = {
	{ X_ShmQueryVersion, X_ShmDetach, HARMLESS },
	{ X_ShmPutImage, X_ShmPutImage, 4 },
	{ X_ShmGetImage, X_ShmCreatePixmap, HARMLESS },
};

static const struct span shape[] = {
	{ X_ShapeQueryVersion, X_ShapeQueryVersion, HARMLESS },
	{ X_ShapeRectangles, X_ShapeOffset, WINDOWS },
	{ X_ShapeQueryExtents, X_ShapeGetRectangles, HARMLESS },
};

#define SPANS(spans) spans, sizeof(spans) / sizeof(*spans)

static const struct span damage[] = {
	{ X_DamageQueryVersion, X_DamageSubtract, HARMLESS },
};

static const struct {
	const char *extension;
	const struct span *spans;
	size_t count;
} by_minor[] = {
	{ "RENDER", SPANS(render) },
	{ "MIT-SHM", SPANS(shm) },
	{ "DAMAGE", SPANS(damage) },
	{ "SHAPE", SPANS(shape) },
};
#define TABLES (sizeof(by_minor) / sizeof(*by_minor))

/* These have nothing to do with the screen. */
static const char *const harmless_extensions[] = {
	"BIG-REQUESTS", "Generic Event Extension", "RECORD",	"SYNC", "X-Resource", "XC-MISC",
	"XFIXES",	"XInputExtension",	   "XKEYBOARD",
};

static uint8_t major_of[TABLES] TIPME_HOT_DATA, entry_of_major[256] TIPME_HOT_TABLE,
	entry_of_minor[TABLES][256];
/*
 * The server does not tell modules the number of this type, but what it is called; 0: it does not
 * know it.
 */
static RESTYPE picture_type TIPME_HOT_DATA;
/* The server's function for it, beside what it is called with. */
static int (*look_up)(void **, XID, RESTYPE, ClientPtr, Mask) TIPME_HOT_DATA;

static void fill(uint8_t *table, const struct span *spans, size_t count)
{
	memset(table, ASK_SERVER, 256);
	for (size_t i = 0; i < count; i++)
		memset(table + spans[i].first, spans[i].entry, spans[i].last - spans[i].first + 1U);
}

static RESTYPE type_called(const char *name)
{
	for (RESTYPE type = 1; LookupResourceName && type <= lastResourceType; type++) {
		const char *found = LookupResourceName(type);

		if (found && !strcmp(found, name))
			return type;
	}
	return 0;
}

static uint8_t major_called(const char *name)
{
	const ExtensionEntry *extension = CheckExtension(name);

	return extension ? (uint8_t)extension->base : 0;
}

void tipme_target_init(void)
{
	fill(entry_of_major, SPANS(core));
	for (size_t i = 0; i < sizeof(harmless_extensions) / sizeof(*harmless_extensions); i++)
		entry_of_major[major_called(harmless_extensions[i])] = HARMLESS;
	for (size_t i = 0; i < TABLES; i++) {
		fill(entry_of_minor[i], by_minor[i].spans, by_minor[i].count);
		major_of[i] = major_called(by_minor[i].extension);
	}
	entry_of_major[0] = ASK_SERVER;
	picture_type = type_called("PICTURE");
	look_up = dixLookupResourceByType;
}

bool tipme_target_harmless(uint8_t major)
{
	return entry_of_major[major] == HARMLESS;
}

TIPME_HOT_REQUEST void tipme_target_fetch(uint8_t major)
{
	(void)*(const volatile uint8_t *)&entry_of_major[major];
}

static TIPME_INLINE uint8_t entry_of(const struct tipme_x_request *req)
{
	if (req->major < 128)
		return entry_of_major[req->major];
	for (size_t i = 0; i < TABLES; i++)
		if (req->major == major_of[i])
			return entry_of_minor[i][req->minor];
	return entry_of_major[req->major];
}

/* Looked up without a client: nobody is asked whether it may, and no error is noted. */
static TIPME_HOT_REQUEST void *resource(XID id, RESTYPE type)
{
	void *found = NULL;

	return look_up(&found, id, type, NULL, DixGetAttrAccess) == Success ? found : NULL;
}

static TIPME_HOT_REQUEST WindowPtr picture_window(XID id)
{
	/* The drawable stands first in a picture; a picture of a colour has none. */
	DrawablePtr *picture = resource(id, picture_type);

	return picture && *picture && (*picture)->type == DRAWABLE_WINDOW ? (WindowPtr)*picture
									  : NULL;
}

static TIPME_HOT_REQUEST enum tipme_target visible(WindowPtr window)
{
	ScreenPtr screen = window->drawable.pScreen;

	/* What is redirected has a damage object of its own. */
	if (!window->viewable ||
	    (tipme_hooks.redirected &&
	     screen->GetWindowPixmap(window) != screen->GetScreenPixmap(screen)))
		return TIPME_TARGET_NONE;
	if (window->clipList.extents.x1 < window->clipList.extents.x2)
		return TIPME_TARGET_WINDOW;
	/* Some draw through windows that lie upon their own. */
	return window->firstChild ? TIPME_TARGET_UNKNOWN : TIPME_TARGET_NONE;
}

TIPME_HOT_REQUEST enum tipme_target tipme_target_of(const ClientRec *client,
						    const struct tipme_x_request *req, XID *id)
{
	uint8_t entry = entry_of(req);
	uint32_t raw;

	if (entry == HARMLESS)
		return TIPME_TARGET_NONE;
	if (entry == WINDOWS)
		return TIPME_TARGET_WINDOWS;
	/* Its length was not checked yet. */
	if (!PLACE(entry) || (entry & IS_PICTURE && !picture_type) ||
	    client->req_len <= PLACE(entry) / 4)
		return TIPME_TARGET_UNKNOWN;
	memcpy(&raw, (const char *)client->requestBuffer + PLACE(entry), sizeof(raw));
	*id = client->swapped ? __builtin_bswap32(raw) : raw;
	return TIPME_TARGET_WINDOW;
}

TIPME_HOT_REQUEST enum tipme_target tipme_target_look(const struct tipme_x_request *req, XID id,
						      WindowPtr *window)
{
	*window = entry_of(req) & IS_PICTURE ? picture_window(id) : resource(id, RT_WINDOW);
	if (!*window || (req->major == X_ClearArea && (*window)->backgroundState == None))
		return TIPME_TARGET_NONE;
	return visible(*window);
}
