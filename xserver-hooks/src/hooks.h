/* SPDX-License-Identifier: GPL-2.0-only */
/* State of the hooks in one server; all of it belongs to the server's main thread. */
#ifndef TIPME_HOOKS_H
#define TIPME_HOOKS_H

#include "server.h"

#include "hotkey.h"
#include "request_run.h"
#include "xclock.h"
#include "xring.h"

/* Options of the module's section in xorg.conf, or of the environment in a server without one. NULL, 0: default. */
struct tipme_hooks_options {
	const char *run_dir;
	const char *chord;
	unsigned long ring_kib;
};

struct tipme_hooks {
	bool active;
	struct tipme_xclock clock;
	struct tipme_xring ring;
	struct tipme_request_run run;
	struct tipme_hotkey hotkey;
	uint32_t input_seq;		/* device events so far */
	uint32_t cur_input_seq;		/* the one being processed; 0: none */
	bool no_pause;			/* the server has not looked for other work since the last request */
	bool damaged;			/* some window waits in the list of damage.c */
	bool damage_merged;		/* so does a merged record */
};

extern struct tipme_hooks tipme_hooks;

/* Copies the options and has the server call us in each of its generations. Call once. */
void tipme_hooks_register(const struct tipme_hooks_options *opt);

/* Something is not as we know it: record nothing more, say so once, leave the session alone. */
void tipme_hooks_disable(const char *why);

/* requests.c: the tables of request procedures */
void tipme_requests_wrap(void);
void tipme_requests_unwrap(void);

/* input.c: key handlers and grabs; callbacks for device events and delivery */
void tipme_input_init(void);
void tipme_input_on_device(CallbackListPtr *list, void *data, void *call);
void tipme_input_on_deliver(CallbackListPtr *list, void *data, void *call);

/* damage.c */
void tipme_damage_register(void);
void tipme_damage_init(ScreenPtr screen);
void tipme_damage_close(ScreenPtr screen);
/* Records what changed since the last call, after the request that did it; req NULL: the server by itself. */
void tipme_damage_record(uint64_t now_ns, const struct tipme_x_request *req);
/* The same for one of many quick requests: goes into the merged record, which follows the run that they are joined to. */
void tipme_damage_merge(uint64_t now_ns, const struct tipme_x_request *req);
void tipme_damage_flush_merged(void);
/* PresentPixmap shows its picture later, outside of any request: who asked for it. */
void tipme_damage_note_present(const struct tipme_x_request *req);

static inline uint64_t tipme_hooks_now_ns(void)
{
	return tipme_xclock_ns(&tipme_hooks.clock);
}

static inline uint32_t tipme_client_pid(const ClientRec *client)
{
	return client && client->clientIds && client->clientIds->pid > 0 ? (uint32_t)client->clientIds->pid : 0;
}

/* The run of requests that waits, and then what it did to the screen, come before whatever is recorded now. */
static inline void tipme_hooks_flush_run(void)
{
	struct tipme_x_request rec;

	if (tipme_request_run_take(&tipme_hooks.run, &rec))
		tipme_xring_put(&tipme_hooks.ring, &rec);
	if (tipme_hooks.damage_merged)
		tipme_damage_flush_merged();
}

static inline void tipme_hooks_record(const void *record)
{
	tipme_hooks_flush_run();
	tipme_xring_put(&tipme_hooks.ring, record);
}

#endif
