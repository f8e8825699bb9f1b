// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plays a compositor that sends each kind of input, and each time something beside it that is none:
 * one process with both ends of a connection, and interfaces that are known by their names alone.
 * Prints a line for each event that is input: its kind, and what it is sent to. Then a client gives
 * it pictures; a line for each: commit, and the callback that it asked for with it.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* As wayland-util.h has them. */
struct interface;
struct message {
	const char *name, *signature;
	const struct interface **types;
};
struct interface {
	const char *name;
	int version, requests;
	const struct message *request;
	int events;
	const struct message *event;
};

#define EVENTS 18 /* of the largest */

static const struct interface *no_types[8];
#define SIGNED(at, text) [at] = { "event", text, no_types }
#define INTERFACE(id, text, ...)                                           \
	static const struct message id##_events[EVENTS] = { __VA_ARGS__ }; \
	static const struct interface id = { text, 2, 0, NULL, EVENTS, id##_events }

INTERFACE(keyboard, "wl_keyboard", SIGNED(3, "uuuu"), SIGNED(4, "uuuuu"));
INTERFACE(pointer, "wl_pointer", SIGNED(2, "uff"), SIGNED(3, "uuuu"), SIGNED(4, "uuf"),
	  SIGNED(5, ""));
INTERFACE(touch, "wl_touch", SIGNED(0, "uu?oiff"), SIGNED(1, "uui"), SIGNED(2, "uiff"),
	  SIGNED(3, ""));
INTERFACE(drag, "wl_data_device", SIGNED(2, ""), SIGNED(3, "uff"), SIGNED(4, ""));
INTERFACE(text_input, "zwp_text_input_v3", SIGNED(3, "?s"), SIGNED(5, "u"));
INTERFACE(grab, "zwp_input_method_keyboard_grab_v2", SIGNED(1, "uuuu"), SIGNED(2, "uuuuu"));
INTERFACE(tablet, "zwp_tablet_tool_v2", SIGNED(8, "u"), SIGNED(9, ""), SIGNED(10, "ff"),
	  SIGNED(11, "u"), SIGNED(17, "uuu"));
/* Names that begin as others do. */
INTERFACE(longer, "wl_keyboarder", SIGNED(3, "uuuu"));
INTERFACE(shorter, "wl_key", SIGNED(3, "uuuu"));

static void *library;
static void *(*resource_create)(void *client, const void *interface, int version, uint32_t id);
static void (*post_event)(void *resource, uint32_t opcode, ...);

static void *symbol(const char *name)
{
	void *s = dlsym(library, name);

	if (!s) {
		fprintf(stderr, "wayland-kinds: %s: %s\n", name, dlerror());
		exit(1);
	}
	return s;
}

/* Every argument is an integer or a null pointer. */
#define SEND(resource, opcode, says, ...)                                \
	do {                                                             \
		post_event(resource, opcode __VA_OPT__(, ) __VA_ARGS__); \
		if (*says)                                               \
			printf("%s\n", says);                            \
	} while (0)

static void send_all(void *client)
{
	void *k = resource_create(client, &keyboard, 1, 0);
	void *p = resource_create(client, &pointer, 1, 0);
	void *t = resource_create(client, &touch, 1, 0);
	void *d = resource_create(client, &drag, 1, 0);
	void *i = resource_create(client, &text_input, 1, 0);
	void *g = resource_create(client, &grab, 1, 0);
	void *s = resource_create(client, &tablet, 1, 0);
	void *l = resource_create(client, &longer, 1, 0);
	void *n = resource_create(client, &shorter, 1, 0);

	SEND(k, 3, "key_press keyboard", 1U, 2U, 30U, 1U);
	SEND(k, 4, "", 1U, 0U, 0U, 0U, 0U);
	SEND(k, 3, "key_release keyboard", 1U, 2U, 30U, 0U);
	SEND(l, 3, "", 1U, 2U, 30U, 1U);
	SEND(n, 3, "", 1U, 2U, 30U, 1U);
	SEND(p, 2, "motion pointer", 2U, 0U, 0U);
	SEND(p, 3, "button_press pointer", 1U, 2U, 272U, 1U);
	SEND(p, 3, "button_release pointer", 1U, 2U, 272U, 0U);
	SEND(p, 4, "wheel pointer", 2U, 0U, 0U);
	SEND(p, 5, "");
	SEND(t, 0, "touch touch", 1U, 2U, (void *)0, 0U, 0U, 0U);
	SEND(t, 2, "touch touch", 2U, 0U, 0U, 0U);
	SEND(t, 1, "touch touch", 1U, 2U, 0U);
	SEND(t, 3, "");
	SEND(d, 3, "motion drag", 2U, 0U, 0U);
	SEND(d, 2, "");
	SEND(d, 4, "button_release drag");
	SEND(i, 3, "key_press text", (void *)0);
	SEND(i, 5, "", 1U);
	SEND(g, 1, "key_press input_method", 1U, 2U, 30U, 1U);
	SEND(g, 2, "", 1U, 0U, 0U, 0U, 0U);
	SEND(g, 1, "key_release input_method", 1U, 2U, 30U, 0U);
	SEND(s, 8, "button_press tablet", 1U);
	SEND(s, 10, "motion tablet", 0U, 0U);
	SEND(s, 11, "", 0U);
	SEND(s, 17, "button_press tablet", 1U, 331U, 1U);
	SEND(s, 17, "button_release tablet", 1U, 331U, 0U);
	SEND(s, 9, "button_release tablet");
}

static void served(void)
{
}

/* One request of a surface, with arguments that are 0; of a callback its number. */
static void asks(int end, uint32_t surface, uint32_t opcode, uint32_t arguments, uint32_t first)
{
	uint32_t m[5] = { surface, (8U + 4U * arguments) << 16 | opcode, first };
	size_t bytes = 8U + 4U * arguments;

	if (write(end, m, bytes) != (ssize_t)bytes)
		exit(1);
}

#define ATTACH(end, surface) asks(end, surface, 1, 3, 0)
#define FRAME(end, surface, callback) asks(end, surface, 3, 1, callback)
#define COMMIT(end, surface) asks(end, surface, 6, 0, 0)

/* Pictures with a callback, without one, and after a commit that has a callback alone. */
static void give_pictures(void *client, void *display, int end)
{
	static void *implementation[16];
	void *(*event_loop)(void *);
	int (*loop_dispatch)(void *, int);
	uint32_t (*get_id)(void *);
	void (*implement)(void *, const void *, void *, void *);

	*(void **)&event_loop = symbol("wl_display_get_event_loop");
	*(void **)&loop_dispatch = symbol("wl_event_loop_dispatch");
	*(void **)&get_id = symbol("wl_resource_get_id");
	*(void **)&implement = symbol("wl_resource_set_implementation");
	for (size_t i = 0; i < sizeof(implementation) / sizeof(implementation[0]); i++)
		*(void (**)(void)) & implementation[i] = served;
	void *surface = resource_create(client, symbol("wl_surface_interface"), 1, 0);
	uint32_t id = get_id(surface);

	implement(surface, implementation, NULL, NULL);
	ATTACH(end, id);
	FRAME(end, id, 2);
	COMMIT(end, id);
	printf("commit 2\n");
	ATTACH(end, id);
	COMMIT(end, id);
	printf("commit 0\n");
	FRAME(end, id, 3);
	COMMIT(end, id);
	ATTACH(end, id);
	COMMIT(end, id);
	printf("commit 0\n");
	loop_dispatch(event_loop(display), 0);
}

int main(void)
{
	int ends[2];

	library = dlopen("libwayland-server.so.0", RTLD_NOW);
	if (!library || socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) {
		fprintf(stderr, "wayland-kinds: %s\n", library ? "no sockets" : dlerror());
		return 1;
	}
	void *(*display_create)(void), *(*client_create)(void *, int);
	*(void **)&display_create = symbol("wl_display_create");
	*(void **)&client_create = symbol("wl_client_create");
	*(void **)&resource_create = symbol("wl_resource_create");
	*(void **)&post_event = symbol("wl_resource_post_event");
	void *display = display_create(), *client = client_create(display, ends[0]);

	/* What an interface is may be remembered: so once more, by other objects. */
	send_all(client);
	send_all(client);
	give_pictures(client, display, ends[1]);
	return 0;
}
