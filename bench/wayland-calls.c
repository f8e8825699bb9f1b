// SPDX-License-Identifier: GPL-2.0-only
/*
 * ns of an event sent and a request served by libwayland-server, over a socket pair in one process:
 * of kinds that class wayland records (a key, a picture) and that it only looks at (modifiers,
 * damage). wayland-calls [ROUNDS [LIBRARY]]; medians of rounds of 100.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CALLS 100
#define ROUNDS_MAX 4000

static void *(*display_create)(void), *(*client_create)(void *, int), *(*event_loop)(void *),
	*(*resource_create)(void *, const void *, int, uint32_t);
static int (*loop_dispatch)(void *, int);
static void (*set_implementation)(void *, const void *, void *, void *),
	(*post_event)(void *, uint32_t, ...), (*client_flush)(void *);
static uint32_t (*get_id)(void *);
static int ends[2];

static void served(void)
{
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

static void *symbol(void *library, const char *name)
{
	void *s = dlsym(library, name);

	if (!s) {
		fprintf(stderr, "wayland-calls: %s: %s\n", name, dlerror());
		exit(1);
	}
	return s;
}

static double events(void *client, void *keyboard, uint32_t opcode)
{
	static char drain[1 << 16];
	double begin = now_ns();

	for (int i = 0; i < CALLS; i++)
		post_event(keyboard, opcode, 1U, 2U, 0U, i & 1U, 0U);
	double took = now_ns() - begin;

	client_flush(client);
	while (recv(ends[1], drain, sizeof(drain), MSG_DONTWAIT) > 0)
		;
	return took / CALLS;
}

/* attach and commit, or damage and commit: so many requests are served at one go. */
static double requests(void *display, uint32_t surface, int picture)
{
	uint32_t message[CALLS / 2 * 9], *p = message;

	for (int i = 0; i < CALLS / 2; i++) {
		*p++ = surface;
		*p++ = (picture ? 20U : 24U) << 16 | (picture ? 1U : 2U);
		for (int n = 0; n < (picture ? 3 : 4); n++)
			*p++ = 0;
		*p++ = surface;
		*p++ = 8U << 16 | 6U;
	}
	ssize_t bytes = (char *)p - (char *)message;
	double took = 0;

	/* A connection holds 4096 bytes at once. */
	for (ssize_t at = 0; at < bytes;) {
		ssize_t part = bytes - at > 1400 ? 1400 : bytes - at;

		if (write(ends[1], (char *)message + at, (size_t)part) != part)
			exit(1);
		double begin = now_ns();

		loop_dispatch(event_loop(display), 0);
		took += now_ns() - begin;
		at += part;
	}
	return took / CALLS;
}

int main(int argc, char **argv)
{
	static double ns[4][ROUNDS_MAX];
	static void *implementation[64];
	int rounds = argc > 1 ? atoi(argv[1]) : 300;
	void *lib = dlopen(argc > 2 ? argv[2] : "libwayland-server.so.0", RTLD_NOW);

	if (!lib || rounds < 1 || rounds > ROUNDS_MAX ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) {
		fprintf(stderr, "wayland-calls: %s\n",
			lib ? "no such number of rounds" : dlerror());
		return 1;
	}
	*(void **)&display_create = symbol(lib, "wl_display_create");
	*(void **)&client_create = symbol(lib, "wl_client_create");
	*(void **)&event_loop = symbol(lib, "wl_display_get_event_loop");
	*(void **)&resource_create = symbol(lib, "wl_resource_create");
	*(void **)&loop_dispatch = symbol(lib, "wl_event_loop_dispatch");
	*(void **)&set_implementation = symbol(lib, "wl_resource_set_implementation");
	*(void **)&post_event = symbol(lib, "wl_resource_post_event");
	*(void **)&client_flush = symbol(lib, "wl_client_flush");
	*(void **)&get_id = symbol(lib, "wl_resource_get_id");
	for (size_t i = 0; i < sizeof(implementation) / sizeof(implementation[0]); i++)
		*(void (**)(void)) & implementation[i] = served;
	void *display = display_create(), *client = client_create(display, ends[0]);
	void *keyboard = resource_create(client, symbol(lib, "wl_keyboard_interface"), 1, 0),
	     *surface = resource_create(client, symbol(lib, "wl_surface_interface"), 1, 0);

	set_implementation(surface, implementation, NULL, NULL);
	for (int r = 0; r < rounds; r++) {
		ns[0][r] = events(client, keyboard, 4);
		ns[1][r] = events(client, keyboard, 3);
		ns[2][r] = requests(display, get_id(surface), 0);
		ns[3][r] = requests(display, get_id(surface), 1);
	}
	for (int k = 0; k < 4; k++)
		qsort(ns[k], (size_t)rounds, sizeof(double), by_size);
	printf("modifiers %.0f key %.0f damage+commit %.0f attach+commit %.0f\n", ns[0][rounds / 2],
	       ns[1][rounds / 2], ns[2][rounds / 2], ns[3][rounds / 2]);
	return 0;
}
