/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Preloaded into an Xlib client: before it destroys a window that can be seen, writes a hash of
 * what the window shows. The few types are those of Xlib's public interface, so that its headers
 * are not needed to build.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct _XDisplay Display;
typedef unsigned long XID;

struct image {
	int width, height, xoffset, format;
	char *data;
	int byte_order, bitmap_unit, bitmap_bit_order, bitmap_pad, depth, bytes_per_line;
};

struct attributes {
	int x, y, width, height, border_width, depth;
	void *visual;
	XID root;
	int class, bit_gravity, win_gravity, backing_store;
	unsigned long backing_planes, backing_pixel;
	int save_under;
	XID colormap;
	int map_installed, map_state;
	char rest[256];
};

enum { IS_VIEWABLE = 2, Z_PIXMAP = 2 };

static void *xlib(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static void hash_window(Display *display, XID window)
{
	int (*get_attributes)(Display *, XID, void *) =
		(int (*)(Display *, XID, void *))xlib("XGetWindowAttributes");
	struct image *(*get_image)(Display *, XID, int, int, unsigned, unsigned, unsigned long,
				   int) =
		(struct image * (*)(Display *, XID, int, int, unsigned, unsigned, unsigned long,
				    int)) xlib("XGetImage");
	const char *path = getenv("TIPME_TEST_HASHES");
	struct attributes a;
	struct image *image;
	uint64_t hash = 0xcbf29ce484222325ULL;
	FILE *f;

	if (!path || !get_attributes(display, window, &a) || a.map_state != IS_VIEWABLE)
		return;
	image = get_image(display, window, 0, 0, (unsigned)a.width, (unsigned)a.height, ~0UL,
			  Z_PIXMAP);
	if (!image)
		return;
	for (long i = 0; i < (long)image->bytes_per_line * image->height; i++)
		hash = (hash ^ (unsigned char)image->data[i]) * 0x100000001b3ULL;
	f = fopen(path, "a");
	if (!f)
		return;
	fprintf(f, "%dx%d %016llx\n", a.width, a.height, (unsigned long long)hash);
	fclose(f);
}

int XDestroyWindow(Display *display, XID window);
int XDestroyWindow(Display *display, XID window)
{
	int (*real)(Display *, XID) = (int (*)(Display *, XID))xlib("XDestroyWindow");

	hash_window(display, window);
	return real(display, window);
}
