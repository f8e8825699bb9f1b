// SPDX-License-Identifier: GPL-2.0-only
/* The hooks in the X server: which there are, when they are put in and taken out. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks.h"

#include "link.h"

struct tipme_hooks tipme_hooks;

static struct {
	char *run_dir;
	char *chord;
	unsigned long ring_kib;
} options;

static CloseScreenProcPtr close_screen[MAXSCREENS];
static unsigned long ready_generation;
/* A look without waiting is no sleep. */
static bool asleep;
/* Clients that were told of: one that never got in does not leave either. */
static bool admitted[MAXCLIENTS];

void tipme_hooks_disable(const char *why)
{
	static bool said;

	tipme_hooks.active = false;
	if (!said)
		LogMessage(X_ERROR, "tipme: recording stopped: %s: the session goes on without it\n", why);
	said = true;
}

/* ---- clients ---- */

static void client_record(const ClientRec *client, enum tipme_x_client_state state)
{
	struct tipme_x_client rec = {
		.ts_ns = tipme_hooks_now_ns(), .type = TIPME_X_CLIENT, .pid = tipme_client_pid(client),
		.client = (uint16_t)client->index, .state = (uint8_t)state,
	};

	admitted[client->index] = state != TIPME_X_CLIENT_STATE_GONE;
	tipme_hooks_record(&rec);
}

/* Arguments: a client whose state has changed. When it has gone, its connection is closed already. */
static void on_client_state(CallbackListPtr *list, void *data, void *call)
{
	const ClientRec *client = ((NewClientInfoRec *)call)->client;

	if (!tipme_hooks.active || client->index <= 0 || client->index >= MAXCLIENTS)
		return;
	if (client->clientState == ClientStateRunning)
		client_record(client, TIPME_X_CLIENT_STATE_CONNECTED);
	else if ((client->clientState == ClientStateGone || client->clientState == ClientStateRetained) && admitted[client->index])
		client_record(client, TIPME_X_CLIENT_STATE_GONE);
}

static void clients_present(void)
{
	memset(admitted, 0, sizeof(admitted));
	for (int i = 1; i < currentMaxClients; i++)
		if (clients[i])
			client_record(clients[i], TIPME_X_CLIENT_STATE_PRESENT);
}

/* ---- server ---- */

/* Arguments: the client whose output is about to be written. */
static void on_flush(CallbackListPtr *list, void *data, void *call)
{
	const ClientRec *client = call;
	struct tipme_x_flush rec = { .type = TIPME_X_FLUSH };

	if (!tipme_hooks.active || !client)
		return;
	rec.ts_ns = tipme_hooks_now_ns();
	rec.pid = tipme_client_pid(client);
	rec.client = (uint16_t)client->index;
	tipme_hooks_record(&rec);
}

static void on_server_grab(CallbackListPtr *list, void *data, void *call)
{
	const ServerGrabInfoRec *info = call;
	struct tipme_x_ring_header *h = tipme_hooks.ring.header;
	bool begin = info->grabstate == SERVER_GRABBED;
	struct tipme_x_grab rec = { .type = TIPME_X_GRAB, .what = TIPME_X_GRAB_WHAT_SERVER, .begin = begin };

	if (!tipme_hooks.active || (!begin && info->grabstate != SERVER_UNGRABBED))
		return;
	rec.ts_ns = tipme_hooks_now_ns();
	rec.pid = tipme_client_pid(info->client);
	rec.client = (uint16_t)(info->client ? info->client->index : 0);
	h->grab_start_ns = begin ? rec.ts_ns : 0;
	h->grab_pid = begin ? rec.pid : 0;
	tipme_hooks_record(&rec);
}

static void screen_init(ScreenPtr screen);

/* First time in a generation: all extensions and screens are there, and no client has been served yet. */
static void generation_init(void)
{
	for (int i = 0; i < screenInfo.numScreens; i++)
		screen_init(screenInfo.screens[i]);
	tipme_requests_wrap();
	tipme_input_init();
	clients_present();
	LogMessage(X_INFO, "tipme: recording input, requests and damage into %u KiB%s\n",
		   (unsigned)(sizeof(struct tipme_xslot) << tipme_hooks.ring.log2 >> 10),
		   tipme_hooks.ring.locked ? ", which could not be locked in memory" : "");
}

static void on_block(void *data, void *timeout)
{
	struct tipme_x_sleep rec = { .type = TIPME_X_SLEEP };

	if (!tipme_hooks.active)
		return;
	if (ready_generation != serverGeneration) {
		ready_generation = serverGeneration;
		generation_init();
	}
	rec.ts_ns = tipme_hooks_now_ns();
	if (tipme_hooks.damaged)
		tipme_damage_record(rec.ts_ns, NULL);
	tipme_hooks.cur_input_seq = 0;
	tipme_hooks.no_pause = false;
	asleep = *(const int *)timeout != 0;
	if (asleep)
		tipme_hooks_record(&rec);
}

static void on_wakeup(void *data, int result)
{
	struct tipme_x_wakeup rec = { .type = TIPME_X_WAKEUP };

	if (!tipme_hooks.active || !asleep)
		return;
	asleep = false;
	rec.ts_ns = tipme_hooks_now_ns();
	tipme_hooks_record(&rec);
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
	{ &FlushCallback, on_flush },
	{ &ServerGrabCallback, on_server_grab },
};

static Bool on_close_screen(ScreenPtr screen)
{
	tipme_damage_close(screen);
	/* Others put back what they had found here before us, so ours must be gone when the next generation begins. */
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

static void chord_init(void)
{
	char why[160];
	const char *text = options.chord ? options.chord : TIPME_HOTKEY_DEFAULT;

	if (!tipme_hotkey_parse(&tipme_hooks.hotkey, text, why, sizeof(why)))
		return;
	LogMessage(X_WARNING, "tipme: hot-key: %s; using " TIPME_HOTKEY_DEFAULT "\n", why);
	tipme_hotkey_parse(&tipme_hooks.hotkey, TIPME_HOTKEY_DEFAULT, why, sizeof(why));
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
	chord_init();
	err = tipme_link_start(options.run_dir, name, display_number(), hooks->ring.fd);
	if (err)
		LogMessage(X_WARNING, "tipme: RunDir: %s: the hot-key cannot be passed on\n", strerror(-err));
	return 0;
}

/* The server calls this in each generation, before screens and windows exist. */
static void hooks_init(void)
{
	static bool tried;

	if (!tried) {
		int err = process_init();

		tried = true;
		if (err)
			return tipme_hooks_disable(strerror(-err));
		tipme_hooks.active = true;
	}
	if (!tipme_hooks.active)
		return;
	tipme_damage_register();
	for (size_t i = 0; i < sizeof(callbacks) / sizeof(*callbacks); i++)
		AddCallback(callbacks[i].list, callbacks[i].call, NULL);
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
	options.chord = copy_or_null(opt->chord);
	options.ring_kib = opt->ring_kib;
	LoadExtensionList(&extension, 1, FALSE);
}
