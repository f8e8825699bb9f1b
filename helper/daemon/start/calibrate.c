// SPDX-License-Identifier: GPL-2.0-only
/* Asks a build of libwayland-server about itself, by using it. */
#define _GNU_SOURCE
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "calibrate.h"

#ifdef __x86_64__

#define CALLERS_MAX 8
#define STRUCT_MAX 0x200
#define ARGUMENTS 6 /* in registers */

/* Numbers of the core protocol. */
#define KEYBOARD_KEY 3
#define KEYBOARD_MODIFIERS 4
#define SURFACE_ATTACH 1
#define SURFACE_FRAME 3
#define SURFACE_COMMIT 6

/* What a caller of the library needs; all are exported by every version. */
static struct {
	void *(*wl_display_create)(void);
	void *(*wl_display_get_event_loop)(void *display);
	int (*wl_event_loop_dispatch)(void *loop, int timeout);
	void *(*wl_client_create)(void *display, int fd);
	void (*wl_client_get_credentials)(void *client, pid_t *pid, uid_t *uid, gid_t *gid);
	void *(*wl_resource_create)(void *client, const void *interface, int version, uint32_t id);
	uint32_t (*wl_resource_get_id)(void *resource);
	void (*wl_resource_set_implementation)(void *resource, const void *implementation,
					       void *data, void *destroy);
	void (*wl_resource_set_dispatcher)(void *resource, void *dispatcher,
					   const void *implementation, void *data, void *destroy);
	void *(*wl_display_add_protocol_logger)(void *display, void *function, void *data);
	void (*wl_resource_post_event)(void *resource, uint32_t opcode, ...);
	void (*wl_resource_post_event_array)(void *resource, uint32_t opcode, void *args);
	void (*wl_resource_queue_event)(void *resource, uint32_t opcode, ...);
	void (*wl_resource_queue_event_array)(void *resource, uint32_t opcode, void *args);
	const void *wl_surface_interface, *wl_keyboard_interface;
} lib;

#define NAMED(name)                       \
	{                                 \
#name, (void **)&lib.name \
	}
static const struct {
	const char *name;
	void **place;
} wanted[] = {
	NAMED(wl_display_create),	   NAMED(wl_display_get_event_loop),
	NAMED(wl_event_loop_dispatch),	   NAMED(wl_client_create),
	NAMED(wl_client_get_credentials),  NAMED(wl_resource_create),
	NAMED(wl_resource_get_id),	   NAMED(wl_resource_set_implementation),
	NAMED(wl_resource_set_dispatcher), NAMED(wl_display_add_protocol_logger),
	NAMED(wl_resource_post_event),	   NAMED(wl_resource_post_event_array),
	NAMED(wl_resource_queue_event),	   NAMED(wl_resource_queue_event_array),
	NAMED(wl_surface_interface),	   NAMED(wl_keyboard_interface),
};
#define WANTED (sizeof(wanted) / sizeof(wanted[0]))

struct callers {
	unsigned int count;
	unsigned char *function[CALLERS_MAX]; /* of the library, innermost first */
};

/*
 * A message that a place has to show: its object, its opcode, and one of its arguments, so many
 * bytes behind the first.
 */
struct expected {
	void *object;
	uint32_t opcode, arg;
	uint16_t arg_at; /* NO_ARG: it has none */
};

#define NO_ARG 0xffff

/* One compositor with one client, in this process. */
static struct {
	unsigned char *base;
	void *display, *client, *keyboard, *surface, *dispatched;
	int socket; /* the client's end */
	struct callers callers;
	unsigned int served;
} world;

static struct {
	int memory; /* our own, to be written whatever it is mapped for */
	unsigned char *at;
	unsigned char was;
	const struct tipmed_wayland_probe *probe; /* how it is read */
	const struct expected *expected;
	bool hit, shown;
} trap = { .memory = -1 };

union argument {
	uint32_t u;
	void *o;
	uint64_t all;
};

/* --- who calls --- */

static _Unwind_Reason_Code frame_note(struct _Unwind_Context *context, void *arg)
{
	struct callers *c = arg;
	int before = 0;
	unsigned char *ip = (void *)_Unwind_GetIPInfo(context, &before);
	Dl_info info;

	if (c->count < CALLERS_MAX && dladdr(ip, &info) && info.dli_fbase == world.base) {
		unsigned char *function = _Unwind_FindEnclosingFunction(before ? ip : ip - 1);

		if (function)
			c->function[c->count++] = function;
	}
	return _URC_NO_REASON;
}

static void callers_look(void)
{
	world.callers.count = 0;
	_Unwind_Backtrace(frame_note, &world.callers);
}

static void on_request(void *client, void *resource)
{
	(void)client;
	(void)resource;
	world.served++;
	callers_look();
}

static int on_dispatched(const void *implementation, void *target, uint32_t opcode,
			 const void *message, void *args)
{
	(void)implementation;
	(void)target;
	(void)opcode;
	(void)message;
	(void)args;
	world.served++;
	callers_look();
	return 0;
}

static void on_log(void *data, int direction, const void *message)
{
	(void)data;
	(void)message;
	if (direction) /* an event */
		callers_look();
}

/* --- messages --- */

enum way { POST, POST_ARRAY, QUEUE, QUEUE_ARRAY, WAYS };

/* Both have numbers alone: the fourth is the state of the key, or of the locks. */
static void event_send(enum way way, uint32_t opcode, uint32_t state)
{
	union argument args[5] = { { .u = 1 }, { .u = 2 }, { .u = 0 }, { .u = state }, { .u = 0 } };

	if (way == POST)
		lib.wl_resource_post_event(world.keyboard, opcode, 1U, 2U, 0U, state, 0U);
	else if (way == POST_ARRAY)
		lib.wl_resource_post_event_array(world.keyboard, opcode, args);
	else if (way == QUEUE)
		lib.wl_resource_queue_event(world.keyboard, opcode, 1U, 2U, 0U, state, 0U);
	else
		lib.wl_resource_queue_event_array(world.keyboard, opcode, args);
}

/* As a client would: object, size and opcode, arguments. Returns whether it was served. */
static bool request_send(void *resource, uint32_t opcode, const uint32_t *args, uint32_t count)
{
	uint32_t message[5] = { lib.wl_resource_get_id(resource), (8 + 4 * count) << 16 | opcode };
	ssize_t bytes = 8 + 4 * count;
	unsigned int before = world.served;

	if (count)
		memcpy(message + 2, args, count * sizeof(*args));
	if (write(world.socket, message, (size_t)bytes) != bytes)
		return false;
	lib.wl_event_loop_dispatch(lib.wl_display_get_event_loop(world.display), 0);
	return world.served == before + 1;
}

/* --- breakpoints in our own copy --- */

static bool byte_put(unsigned char *at, unsigned char byte)
{
	return pwrite(trap.memory, &byte, 1, (off_t)(uintptr_t)at) == 1;
}

/* What a probe would read. The argument is read by a call that fails where a pointer would kill. */
static bool is_shown(const greg_t *r)
{
	static const int order[ARGUMENTS] = { REG_RDI, REG_RSI, REG_RDX, REG_RCX, REG_R8, REG_R9 };
	const struct tipmed_wayland_probe *p = trap.probe;
	const struct expected *e = trap.expected;
	uint32_t arg = 0;

	if ((void *)r[order[p->object]] != e->object || (uint32_t)r[order[p->opcode]] != e->opcode)
		return false;
	if (e->arg_at == NO_ARG)
		return true;
	return pread(trap.memory, &arg, sizeof(arg), r[order[p->args]] + p->args_at + e->arg_at) ==
		       sizeof(arg) &&
	       arg == e->arg;
}

static void on_trap(int number, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)number;
	(void)info;
	if ((unsigned char *)r[REG_RIP] != trap.at + 1 || !byte_put(trap.at, trap.was))
		_exit(1);
	r[REG_RIP]--;
	trap.hit = true;
	trap.shown = is_shown(r);
}

/* It stands for one hit. */
static bool trap_set(unsigned char *at, const struct tipmed_wayland_probe *probe,
		     const struct expected *expected)
{
	trap.at = at;
	trap.was = *at;
	trap.probe = probe;
	trap.expected = expected;
	trap.hit = trap.shown = false;
	return byte_put(at, 0xcc);
}

static bool trap_end(void)
{
	return (trap.hit || byte_put(trap.at, trap.was)) && trap.shown;
}

/*
 * Behind what marks a place that may be jumped to. *emulated: the instruction there is one that the
 * kernel emulates at a probe; any other it has to single-step, which is a second trap.
 */
static unsigned char *probe_at(unsigned char *function, uint8_t *emulated)
{
	static const unsigned char endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	unsigned char *p =
		memcmp(function, endbr64, sizeof(endbr64)) ? function : function + sizeof(endbr64);

	*emulated = (*p >= 0x50 && *p <= 0x57) || (*p == 0x41 && p[1] >= 0x50 && p[1] <= 0x57) ||
		    *p == 0x90 || *p == 0xe9 || *p == 0xeb;
	return p;
}

/* Whichever way the event is sent. */
static bool shows_events(unsigned char *at, const struct tipmed_wayland_probe *probe, void *arg)
{
	(void)arg;
	for (enum way way = POST; way < WAYS; way++)
		for (uint32_t i = 0; i < 4; i++) {
			const struct expected e = { world.keyboard,
						    i & 1 ? KEYBOARD_KEY : KEYBOARD_MODIFIERS,
						    i >> 1, 3 * sizeof(union argument) };

			if (!trap_set(at, probe, &e))
				return false;
			event_send(way, e.opcode, e.arg);
			if (!trap_end())
				return false;
		}
	return true;
}

/* Three requests of a surface. */
static bool shows_requests(unsigned char *at, const struct tipmed_wayland_probe *probe,
			   void *surface)
{
	const uint32_t new_id = 2, attach[3] = { 0, 5, 7 }; /* a buffer, x, y */
	const struct expected e[] = { { surface, SURFACE_COMMIT, 0, NO_ARG },
				      { surface, SURFACE_FRAME, new_id, 0 },
				      { surface, SURFACE_ATTACH, attach[2],
					2 * sizeof(union argument) } };
	const uint32_t *const args[] = { NULL, &new_id, attach }, count[] = { 0, 1, 3 };

	for (size_t i = 0; i < sizeof(e) / sizeof(e[0]); i++) {
		bool served = trap_set(at, probe, &e[i]) &&
			      request_send(surface, e[i].opcode, args[i], count[i]);

		if (!trap_end() || !served)
			return false;
	}
	return true;
}

typedef bool shows_fn(unsigned char *at, const struct tipmed_wayland_probe *probe, void *arg);

/* --- what is looked for --- */

static uint64_t file_offset;

/* Files are probed by offset, which need not be the address. */
static int segment_look(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint64_t address = (uint64_t)(uintptr_t)arg - info->dlpi_addr;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) ||
		    address - p->p_vaddr >= p->p_filesz)
			continue;
		file_offset = address - p->p_vaddr + p->p_offset;
		return 1;
	}
	return 0;
}

static uint64_t offset_of(unsigned char *at)
{
	file_offset = 0;
	dl_iterate_phdr(segment_look, at);
	return file_offset;
}

/* By which arguments a place shows what is wanted; as the source has them, or in another order. */
static bool arguments_find(unsigned char *at, struct tipmed_wayland_probe *p, shows_fn *shows,
			   void *arg)
{
	const struct tipmed_wayland_probe first = *p;

	for (unsigned int n = 0; n < ARGUMENTS * ARGUMENTS * ARGUMENTS; n++) {
		p->object = (uint8_t)((first.object + n) % ARGUMENTS);
		p->opcode = (uint8_t)((first.opcode + n / ARGUMENTS) % ARGUMENTS);
		p->args = (uint8_t)((first.args + n / ARGUMENTS / ARGUMENTS) % ARGUMENTS);
		if (p->object != p->opcode && p->object != p->args && p->opcode != p->args &&
		    shows(at, p, arg))
			return true;
	}
	*p = first;
	return false;
}

/* Of the callers that show what is wanted, the first that needs no second trap; else the first. */
static bool choose(const struct callers *c, struct tipmed_wayland_probe *probe, shows_fn *shows,
		   void *arg)
{
	const struct tipmed_wayland_probe wanted_so = *probe;

	for (unsigned int i = 0; i < c->count && !probe->emulated; i++) {
		struct tipmed_wayland_probe p = wanted_so;
		unsigned char *at = probe_at(c->function[i], &p.emulated);

		if ((probe->offset && !p.emulated) || !arguments_find(at, &p, shows, arg))
			continue;
		p.offset = offset_of(at);
		*probe = p;
	}
	return probe->offset != 0;
}

static int world_make(void)
{
	static void *implementation[64];
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	for (size_t i = 0; i < sizeof(implementation) / sizeof(implementation[0]); i++)
		implementation[i] = (void *)on_request;
	world.socket = ends[1];
	world.display = lib.wl_display_create();
	world.client = world.display ? lib.wl_client_create(world.display, ends[0]) : NULL;
	if (!world.client)
		return -EBADMSG;
	world.keyboard = lib.wl_resource_create(world.client, lib.wl_keyboard_interface, 1, 0);
	world.surface = lib.wl_resource_create(world.client, lib.wl_surface_interface, 1, 0);
	world.dispatched = lib.wl_resource_create(world.client, lib.wl_surface_interface, 1, 0);
	if (!world.keyboard || !world.surface || !world.dispatched)
		return -EBADMSG;
	lib.wl_resource_set_implementation(world.surface, implementation, NULL, NULL);
	lib.wl_resource_set_dispatcher(world.dispatched, (void *)on_dispatched, implementation,
				       NULL, NULL);
	return 0;
}

static bool fields_find(struct tipmed_wayland_place *place)
{
	uint32_t who[3] = { 0 };

	lib.wl_client_get_credentials(world.client, (pid_t *)&who[0], (uid_t *)&who[1],
				      (gid_t *)&who[2]);
	for (uint16_t i = 0; i < 128 && !place->client_at; i += 8)
		if (!memcmp((char *)world.surface + i, &world.client, 8) &&
		    !memcmp((char *)world.keyboard + i, &world.client, 8))
			place->client_at = i;
	for (uint16_t i = 0; i < STRUCT_MAX && !place->pid_at; i += 4)
		if (!memcmp((char *)world.client + i, who, sizeof(who)))
			place->pid_at = i;
	return place->client_at && place->pid_at && who[0] == (uint32_t)getpid();
}

/*
 * wl_closure_invoke(closure, flags, target, opcode, data), wl_closure_dispatch(closure, dispatcher,
 * target, opcode)
 */
static bool requests_find(struct tipmed_wayland_place *place)
{
	struct tipmed_wayland_probe *first = &place->request[0], *second = &place->request[1];
	struct callers of;

	if (!request_send(world.surface, SURFACE_COMMIT, NULL, 0))
		return false;
	of = world.callers;
	for (uint16_t at = 8; at < 64 && !first->offset; at += 8) {
		*first = (struct tipmed_wayland_probe){
			.object = 2, .opcode = 3, .args = 0, .args_at = at
		};
		choose(&of, first, shows_requests, world.surface);
	}
	if (!first->offset || !request_send(world.dispatched, SURFACE_COMMIT, NULL, 0))
		return false;
	of = world.callers;
	*second = (struct tipmed_wayland_probe){
		.object = 2, .opcode = 3, .args = 0, .args_at = first->args_at
	};
	/* One function may serve both. */
	if (choose(&of, second, shows_requests, world.dispatched) &&
	    second->offset == first->offset)
		second->offset = 0;
	return true;
}

/* handle_array(resource, opcode, args, send) */
static bool events_find(struct tipmed_wayland_place *place)
{
	struct callers of;

	world.callers.count = 0;
	lib.wl_display_add_protocol_logger(world.display, (void *)on_log, NULL);
	event_send(POST_ARRAY, KEYBOARD_KEY, 1);
	of = world.callers;
	place->event = (struct tipmed_wayland_probe){ .object = 0, .opcode = 1, .args = 2 };
	return choose(&of, &place->event, shows_events, NULL);
}

static int refused(int err, char *why, size_t why_len, const char *what)
{
	snprintf(why, why_len, "%s", what);
	return err;
}

static int library_load(int fd, char *why, size_t why_len)
{
	char path[32];
	Dl_info info;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return refused(-ENOEXEC, why, why_len, dlerror());
	for (size_t i = 0; i < WANTED; i++) {
		*wanted[i].place = dlsym(handle, wanted[i].name);
		if (!*wanted[i].place)
			return refused(-ENOEXEC, why, why_len, wanted[i].name);
	}
	if (!dladdr((void *)lib.wl_resource_post_event, &info))
		return refused(-EBADMSG, why, why_len, "its functions lie in no file");
	world.base = info.dli_fbase;
	return 0;
}

int tipmed_calibrate(int fd, int memory, struct tipmed_wayland_place *place, char *why,
		     size_t why_len)
{
	struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	int err = library_load(fd, why, why_len);

	*place = (struct tipmed_wayland_place){ 0 };
	if (err)
		return err;
	trap.memory = memory;
	if (sigaction(SIGTRAP, &act, NULL) || world_make())
		return refused(-EBADMSG, why, why_len, "a client cannot be made");
	if (!fields_find(place))
		return refused(-EBADMSG, why, why_len, "its structures are not as we know them");
	if (!requests_find(place))
		return refused(-EBADMSG, why, why_len, "no function shows all requests");
	if (!events_find(place))
		return refused(-EBADMSG, why, why_len, "no function shows all events");
	return 0;
}

#else

int tipmed_calibrate(int fd, int memory, struct tipmed_wayland_place *place, char *why,
		     size_t why_len)
{
	(void)fd;
	(void)memory;
	*place = (struct tipmed_wayland_place){ 0 };
	snprintf(why, why_len, "how this processor calls functions is not known");
	return -ENOTSUP;
}

#endif
