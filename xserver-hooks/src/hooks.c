// SPDX-License-Identifier: GPL-2.0-only
/* The hooks in the X server: which there are, when they are put in and taken out. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hooks.h"

#include "evdev.h"
#include "link.h"

struct tipme_hooks tipme_hooks TIPME_HOT_STATE __attribute__((aligned(64)));
struct tipme_x_group tipme_groups[TIPME_GROUPS] TIPME_HOT_CLIENTS __attribute__((aligned(64)));

static struct tipme_hooks_options options;

static CloseScreenProcPtr close_screen[MAXSCREENS];
/* Clients that were told of: one that never got in does not leave either. */
static bool admitted[MAXCLIENTS];

/* What people must read: servers without a log file say only this on their standard error. */
#define SAID 0

void tipme_hooks_disable(const char *why)
{
	static bool said;

	tipme_hooks.active = false;
	tipme_evdev_disable();
	if (!said)
		LogMessageVerb(X_ERROR, SAID,
			       "tipme: recording stopped: %s: the session goes on without it\n",
			       why);
	said = true;
}

/* ---- what all hooks do ---- */

TIPME_HOT_WAKE __attribute__((noinline)) uint64_t tipme_hooks_now_ns(void)
{
	return tipme_xclock_ns(&tipme_hooks.clock);
}

TIPME_HOT_INPUT __attribute__((noinline)) void tipme_hooks_record(const void *record)
{
	tipme_xring_put(&tipme_hooks.ring, record);
}

TIPME_HOT_INPUT __attribute__((noinline)) void tipme_hooks_join(struct tipme_join *join,
								uint64_t key, const void *record)
{
	tipme_join_put(join, &tipme_hooks.ring, key, record);
}

TIPME_SELDOM void tipme_group_begin(struct tipme_x_group *group, int client)
{
	*group = (struct tipme_x_group){ .client = (uint16_t)client,
					 .pid = client < currentMaxClients
							? tipme_client_pid(clients[client])
							: 0 };
}

/* ---- clients ---- */

static void client_record(const ClientRec *client, enum tipme_x_client_state state)
{
	struct tipme_x_client rec = {
		.ts_ns = tipme_hooks_now_ns(),
		.type = TIPME_X_CLIENT,
		.pid = tipme_client_pid(client),
		.client = (uint16_t)client->index,
		.state = (uint8_t)state,
	};

	admitted[client->index] = state != TIPME_X_CLIENT_STATE_GONE;
	tipme_hooks_record(&rec);
}

static void client_gone(const ClientRec *client)
{
	tipme_output_gone(client);
	client_record(client, TIPME_X_CLIENT_STATE_GONE);
	/* The next one with this number is another. */
	*tipme_group_of(client->index) = (struct tipme_x_group){ .client = 0 };
}

/*
 * Arguments: a client whose state has changed. When it has gone, its connection is closed already.
 */
static void on_client_state(CallbackListPtr *list, void *data, void *call)
{
	const ClientRec *client = ((NewClientInfoRec *)call)->client;

	if (!tipme_hooks.active || client->index <= 0 || client->index >= MAXCLIENTS)
		return;
	/* Its windows go next, outside of any request. */
	if (client->clientState == ClientStateGone)
		tipme_damage_wake();
	if (client->clientState == ClientStateRunning) {
		/* Now it is known whose it is. */
		tipme_group_begin(&tipme_groups[client->index & (TIPME_GROUPS - 1)], client->index);
		client_record(client, TIPME_X_CLIENT_STATE_CONNECTED);
	} else if ((client->clientState == ClientStateGone ||
		    client->clientState == ClientStateRetained) &&
		   admitted[client->index]) {
		client_gone(client);
	}
}

static void clients_present(void)
{
	memset(admitted, 0, sizeof(admitted));
	for (int i = 1; i < currentMaxClients; i++)
		if (clients[i])
			client_record(clients[i], TIPME_X_CLIENT_STATE_PRESENT);
}

/* ---- server ---- */

static void screen_init(ScreenPtr screen);

/*
 * First time in a generation: all extensions and screens are there, and no client has been served
 * yet.
 */
static TIPME_SELDOM void generation_init(void)
{
	const char *misfit = tipme_abi_misfit();

	if (misfit) {
		tipme_hooks_disable(misfit);
		return;
	}
	tipme_present_init();
	tipme_frames_init();
	tipme_output_init();
	for (int i = 0; i < screenInfo.numScreens; i++)
		screen_init(screenInfo.screens[i]);
	tipme_input_init();
	tipme_requests_wrap();
	tipme_grabs_init();
	clients_present();
	LogMessage(X_INFO, "tipme: recording input, requests and damage into %u KiB%s\n",
		   (unsigned)(sizeof(struct tipme_xslot) << tipme_hooks.ring.log2 >> 10),
		   tipme_hooks.ring.locked ? ", which could not be locked in memory" : "");
}

/*
 * The sleep is in the ring at once, so that a server that sleeps for ever is seen to; when it
 * wakes, the record is written over by one that says how long it was.
 */
static TIPME_HOT_INPUT void sleep_begin(uint64_t now_ns)
{
	struct tipme_x_sleep rec = { .ts_ns = now_ns, .type = TIPME_X_SLEEP };

	tipme_hooks.asleep_ns = now_ns;
	tipme_hooks_join(&tipme_hooks.idle, 1, &rec);
}

static TIPME_HOT_WAKE void sleep_end(uint64_t now_ns)
{
	struct tipme_x_idle rec = {
		.ts_ns = tipme_hooks.asleep_ns,
		.type = TIPME_X_IDLE,
		.duration_ns = now_ns - tipme_hooks.asleep_ns,
		.flushed = tipme_hooks.flushed,
	};
	struct tipme_x_wakeup wakeup = { .ts_ns = now_ns, .type = TIPME_X_WAKEUP };

	tipme_hooks.asleep_ns = 0;
	tipme_hooks.flushed = 0;
	if (!tipme_xring_amend(&tipme_hooks.ring, tipme_hooks.idle.index, &rec))
		tipme_hooks_record(&wakeup);
}

/* What the other threads have done meanwhile, said by the one that may write to the log. */
static TIPME_SELDOM void tell_saved(void)
{
	char path[TIPME_LINK_PATH_LEN];

	if (tipme_link_saved(path))
		LogMessageVerb(
			X_INFO, SAID,
			"tipme: hot-key: tipmed does not listen: the X server's own records are in %s (tipme open)\n",
			path);
}

/*
 * An older tie of the clock is renewed before a sleep, so that it is not due when the server wakes.
 */
#define FRESH_NS 40000000

static TIPME_SELDOM void chores(uint64_t now_ns)
{
	tipme_hooks.chores = tipme_output_check(now_ns);
	tipme_input_idle();
}

static TIPME_HOT_INPUT void on_block(void *data, void *timeout)
{
	uint64_t now_ns;

	if (!tipme_hooks.active)
		return;
	if (!tipme_hooks.ready) {
		tipme_hooks.ready = true;
		generation_init();
	}
	if (!tipme_hooks.active)
		return;
	now_ns = tipme_hooks_now_ns();
	tipme_requests_settle(now_ns);
	if (tipme_hooks.damaged)
		tipme_damage_record(now_ns, NULL);
	tipme_hooks.cur_input_seq = 0;
	tipme_hooks.no_pause = false;
	if (*(const int *)timeout == 0)
		return;
	/* Now nobody waits, and the server has just read the clock itself. */
	if (now_ns - tipme_hooks.clock.base_ns > FRESH_NS)
		tipme_xclock_tie(&tipme_hooks.clock);
	if (tipme_hooks.chores)
		chores(now_ns);
	if (tipme_link_saved_is_new)
		tell_saved();
	sleep_begin(tipme_hooks.clock.last_ns);
}

/* After such a sleep the caches have forgotten us, or part of us. */
#define FORGOTTEN_NS 100000

TIPME_HOT_SECTION(tipme_hot);
TIPME_HOT_SECTION(tipme_code_wake);
TIPME_HOT_SECTION(tipme_clients);

/*
 * All at once, before anything waits for a part of it: half of what a waking costs is looking up
 * where pages are, and several can be looked for at a time. What is for clients is only looked for:
 * which of it will be needed is not known.
 */
static TIPME_INLINE void wake_fetch(void)
{
	const struct tipme_hooks *hooks = &tipme_hooks;

	const struct tipme_xslot *slot =
		&hooks->ring.slots[hooks->ring.head & ((1ULL << hooks->ring.log2) - 1)];

	tipme_hot_fetch((const char *)hooks, (const char *)&hooks->device);
	tipme_hot_fetch(tipme_code_wake_begin, tipme_code_wake_end);
	tipme_hot_fetch(tipme_hot_begin, tipme_hot_end);
	tipme_hot_find(tipme_clients_begin, tipme_clients_end);
	__builtin_prefetch(hooks->ring.header, 1, 2);
	for (unsigned i = 0; i < 8; i += 2)
		__builtin_prefetch(slot + i, 1, 2);
}

static TIPME_HOT_WAKE void on_wakeup(void *data, int result)
{
	uint64_t now_ns;

	if (!tipme_hooks.active || !tipme_hooks.asleep_ns)
		return;
	wake_fetch();
	now_ns = tipme_hooks_now_ns();
	/* What the server does by itself may change windows, or take the screen away from them. */
	tipme_hooks.box_known = false;
	if (now_ns - tipme_hooks.asleep_ns > FORGOTTEN_NS)
		tipme_hooks.key_forgotten = tipme_hooks.request_forgotten = true;
	sleep_end(now_ns);
	if (tipme_hooks.resting)
		tipme_damage_rested(tipme_hooks.clock.last_ns);
}

/* ---- set-up and tear-down ---- */

/* The server forgets callbacks at the end of a generation, with the lists themselves. */
static const struct {
	CallbackListPtr *list;
	CallbackProcPtr call;
} callbacks[] = {
	{ &DeviceEventCallback, tipme_input_on_device },
	{ &EventCallback, tipme_input_on_deliver },
	{ &ClientStateCallback, on_client_state },
	{ &FlushCallback, tipme_output_on_flush },
	{ &ReplyCallback, tipme_output_on_reply },
	{ &ServerGrabCallback, tipme_grabs_on_server },
	{ &FlushDoneCallback, tipme_output_on_flush_done },
	{ &RequestArrivalCallback, tipme_output_on_arrival },
};

static Bool on_close_screen(ScreenPtr screen)
{
	tipme_damage_close(screen);
	/*
	 * Others put back what they had found here before us, so ours must be gone when the next
	 * generation begins.
	 */
	tipme_requests_unwrap();
	screen->CloseScreen = close_screen[screen->myNum];
	return screen->CloseScreen(screen);
}

static void screen_init(ScreenPtr screen)
{
	tipme_damage_init(screen);
	close_screen[screen->myNum] = screen->CloseScreen;
	screen->CloseScreen = on_close_screen;
}

static uint32_t display_number(void)
{
	return display ? (uint32_t)strtoul(display, NULL, 10) : 0;
}

static bool is_false(const char *word)
{
	return word && (!strcasecmp(word, "false") || !strcasecmp(word, "no") ||
			!strcasecmp(word, "off") || !strcmp(word, "0"));
}

static void chord_init(enum tipme_chord_action action, const char *standard)
{
	char why[160];
	const char *text = options.chord[action] ? options.chord[action] : standard;

	if (!tipme_hotkey_parse_action(&tipme_hooks.hotkey, action, text, why, sizeof(why)))
		return;
	LogMessageVerb(X_WARNING, SAID, "tipme: hot-key: %s; using %s\n", why, standard);
	tipme_hotkey_parse_action(&tipme_hooks.hotkey, action, standard, why, sizeof(why));
}

static void chords_init(void)
{
	chord_init(TIPME_CHORD_ACTION_SNAPSHOT, TIPME_HOTKEY_DEFAULT);
	chord_init(TIPME_CHORD_ACTION_START, "none");
	chord_init(TIPME_CHORD_ACTION_NO_INPUT, "none");
	chord_init(TIPME_CHORD_ACTION_DEFAULT_INPUT, "none");
	tipme_hooks.swallow = !is_false(options.swallow);
}

#define OWN_FILES 4 /* two rings, the link and its socket */
#define SPARE_FILES 32 /* the server's: fonts, devices, the keyboard's compiler, clients */

/* Where few files may be open, the one that the server cannot open any more would be ours. */
static bool has_files(void)
{
	int fd[OWN_FILES + SPARE_FILES];
	size_t n = 0, wanted = sizeof(fd) / sizeof(*fd);

	while (n < wanted && (fd[n] = eventfd(0, EFD_CLOEXEC)) >= 0)
		n++;
	for (size_t i = 0; i < n; i++)
		close(fd[i]);
	return n == wanted;
}

/* Once in the life of the process. */
static int process_init(void)
{
	struct tipme_hooks *hooks = &tipme_hooks;
	const char *name = program_invocation_short_name;
	int err = tipme_xring_open(&hooks->ring, tipme_xring_log2(options.ring_kib), name);

	if (err)
		return err;
	tipme_xclock_init(&hooks->clock);
	hooks->ring.header->display = display_number();
	chords_init();
	/* Where it has no ring, the input thread records nothing. */
	tipme_evdev_init(&hooks->hotkey, name, display_number());
	err = tipme_link_start(&(struct tipme_link_options){
		.run_dir = options.run_dir,
		.dump_dir = options.dump_dir,
		.server_name = name,
		.display = display_number(),
		.ring_fd = hooks->ring.fd,
	});
	if (err)
		LogMessageVerb(X_WARNING, SAID,
			       "tipme: RunDir: %s: the hot-key cannot be passed on\n",
			       strerror(-err));
	return 0;
}

/* The server calls this in each generation, before screens and windows exist. */
static void hooks_init(void)
{
	static bool tried;

	if (!tried) {
		int err;

		tried = true;
		if (!has_files())
			return tipme_hooks_disable(
				"the server may have too few files open (ulimit -n)");
		err = process_init();
		if (err)
			return tipme_hooks_disable(strerror(-err));
		tipme_hooks.active = true;
	}
	if (!tipme_hooks.active)
		return;
	tipme_hooks.ready = false;
	tipme_damage_register();
	for (size_t i = 0; i < sizeof(callbacks) / sizeof(*callbacks); i++) {
		/*
		 * The last two are in servers with our patch only; elsewhere they have no address.
		 */
		if (callbacks[i].list)
			AddCallback(callbacks[i].list, callbacks[i].call, NULL);
	}
	RegisterBlockAndWakeupHandlers(on_block, on_wakeup, NULL);
}

static char *copy_or_null(const char *text)
{
	return text ? strdup(text) : NULL;
}

void tipme_hooks_register(const struct tipme_hooks_options *opt)
{
	static const ExtensionModule extension = { hooks_init, "TIPME", NULL };

	options.run_dir = copy_or_null(opt->run_dir);
	options.dump_dir = copy_or_null(opt->dump_dir);
	options.swallow = copy_or_null(opt->swallow);
	for (int i = 0; i < TIPME_HOTKEY_ACTIONS; i++)
		options.chord[i] = copy_or_null(opt->chord[i]);
	options.ring_kib = opt->ring_kib;
	LoadExtensionList(&extension, 1, FALSE);
}
