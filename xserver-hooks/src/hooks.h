/* SPDX-License-Identifier: GPL-2.0-only */
/* State of the hooks in one server; all of it belongs to the server's main thread. */
#ifndef TIPME_HOOKS_H
#define TIPME_HOOKS_H

#include "server.h"

#include "hot.h"
#include "hotkey.h"
#include "join.h"
#include "request_run.h"
#include "xclock.h"
#include "xring.h"

/*
 * Options of the module's section in xorg.conf, or of the environment in a server without one.
 * NULL, 0: default.
 */
struct tipme_hooks_options {
	const char *run_dir;
	const char *chord[TIPME_HOTKEY_ACTIONS]; /* by chord_action */
	const char *swallow;
	const char *dump_dir;
	unsigned long ring_kib;
};

/* What is joined of one client: its requests, what they did, what it is sent. */
struct tipme_x_group {
	uint16_t client;
	/* of what is written to it, so much has a record: the flushes that follow are for that */
	uint16_t written;
	unsigned flushes;
	/* its process, which lies where nothing else does that is asked for */
	uint32_t pid;
	uint64_t run_head; /* the ring's head when the run was last written */
	struct tipme_request_run run;
	struct tipme_x_reply last_reply;
	struct tipme_x_damage last_damage;
	BoxRec box; /* of the joined damage, or drawing */
	struct tipme_join request, reply, damage, deliver, motion, flush, arrival;
	uint64_t flush_ns; /* beginning of the last flush */
};

/*
 * Clients share these by the low bits of their numbers; who comes anew begins anew. A power of two.
 */
#define TIPME_GROUPS 32

struct tipme_hooks {
	/* What nearly each hook looks at stands first, in as few lines of the caches as may be. */
	struct tipme_xring ring;
	bool active;
	bool no_input; /* the user wants no input events recorded */
	bool swallow; /* nobody else gets the hot-keys */
	/* the server has not looked for other work since the last request */
	bool no_pause;
	bool in_request; /* it is being executed */
	bool resting; /* a flood is taken to draw: see damage.c */
	bool damaged; /* damage.c has something to record */
	/* what damage.c knows of the window that was drawn on last is still true */
	bool box_known;
	bool chores; /* something is to be done before the server sleeps */
	uint32_t input_seq; /* device events so far */
	uint32_t cur_input_seq; /* the one being processed; 0: none */
	unsigned flushed; /* since the server last woke */
	/* windows that have a pixmap of their own; 0: none, for certain */
	unsigned redirected;
	uint8_t damage_event; /* type of DamageNotify; 0: there is none */
	/*
	 * The server has slept for so long that the caches have forgotten what is for keys, for
	 * requests.
	 */
	bool key_forgotten, request_forgotten;
	/* since when the server sleeps; 0: it does not. A look without waiting is no sleep */
	uint64_t asleep_ns;
	struct tipme_xclock clock;
	uint64_t request_ns; /* beginning of the last request */
	struct tipme_join idle;
	bool ready; /* in this generation of the server's */
	struct tipme_join device[2];
	struct tipme_hotkey hotkey;
};

extern struct tipme_hooks tipme_hooks;
extern struct tipme_x_group tipme_groups[TIPME_GROUPS];

/* Copies the options and has the server call us in each of its generations. Call once. */
void tipme_hooks_register(const struct tipme_hooks_options *opt);

/* Something is not as we know it: record nothing more, say so once, leave the session alone. */
void tipme_hooks_disable(const char *why);

/*
 * requests.c: the tables of request procedures; input.c and present.c know their extensions by then
 */
void tipme_requests_wrap(void);
void tipme_requests_unwrap(void);
/* Whatever is recorded now comes after the requests so far. */
void tipme_requests_settle(uint64_t now_ns);

/* input.c: key handlers; callbacks for device events and delivery */
void tipme_input_init(void);
void tipme_input_request(uint8_t major, uint8_t minor);
/* Whether that has anything to do with requests of this opcode. */
bool tipme_input_concerns(uint8_t major);
/* Before the server sleeps, of chores: what the input thread must know of the layout. */
void tipme_input_idle(void);
void tipme_input_on_device(CallbackListPtr *list, void *data, void *call);
void tipme_input_on_deliver(CallbackListPtr *list, void *data, void *call);

/* damage.c */
void tipme_damage_register(void);
void tipme_damage_init(ScreenPtr screen);
void tipme_damage_close(ScreenPtr screen);
/*
 * Records what changed since the last call, after the request that did it; req NULL: the server by
 * itself.
 */
void tipme_damage_record(uint64_t now_ns, const struct tipme_x_request *req);

/*
 * Before a request: the number of what it will have drawn on if it succeeds, of which the server is
 * not asked; 0: nothing.
 */
XID tipme_damage_before(const ClientRec *client, const struct tipme_x_request *req);
/* It has. */
void tipme_damage_drawn(const struct tipme_x_request *req, XID id);
/*
 * Whether any request of this client's is seen to draw without being looked at: the server tells,
 * or it is taken for granted.
 */
bool tipme_damage_told(uint16_t client);
/* In a flood: after a request, what it may have done. */
void tipme_damage_assume(struct tipme_x_group *group, const struct tipme_x_request *req,
			 uint64_t end_ns);
/* After a sleep of the server's, which others than requests may follow. */
void tipme_damage_rested(uint64_t now_ns);
/* Whatever comes now is of interest. */
void tipme_damage_flood_end(void);
/* What comes now only the server knows. */
void tipme_damage_wake(void);

/* target.c: what a request draws on */
enum tipme_target {
	/* nothing that can be seen, or that the root's damage object would tell of */
	TIPME_TARGET_NONE,
	TIPME_TARGET_WINDOW, /* this window, which can be seen */
	/*
	 * windows come, go or move: what of it is seen is painted or copied by the screen's
	 * procedures
	 */
	TIPME_TARGET_WINDOWS,
	TIPME_TARGET_UNKNOWN,
};
/* All extensions are there. */
void tipme_target_init(void);
/* Before it is executed; WINDOW: what has this number, be it a window or not. */
enum tipme_target tipme_target_of(const ClientRec *client, const struct tipme_x_request *req,
				  XID *id);
/* What that is. */
enum tipme_target tipme_target_look(const struct tipme_x_request *req, XID id, WindowPtr *window);
/* Has the caches fetch what is known of the opcode. */
void tipme_target_fetch(uint8_t major);
/* Whether no request of this opcode changes what is seen. */
bool tipme_target_harmless(uint8_t major);

/* present.c: PresentPixmap shows its picture later, outside of any request */
void tipme_present_init(void);
/* Before a request is executed: what it says of the picture is gone afterwards. */
void tipme_present_begin(const ClientRec *client, const struct tipme_x_request *req);
bool tipme_present_concerns(uint8_t major);
/* An event that is about to be sent: perhaps it tells that a picture was shown. */
void tipme_present_event(const ClientRec *client, const xEvent *event, uint64_t now_ns);
/* Who asked for the picture that was drawn outside of any request; NULL: nobody. */
const struct tipme_x_request *tipme_present_asked(void);
void tipme_present_shown(void);

/* frames.c: what a compositor is told and takes over, and what the screen shows of it */
void tipme_frames_init(void);
void tipme_frames_request(const ClientRec *client, const struct tipme_x_request *req);
bool tipme_frames_concerns(uint8_t major);
void tipme_frames_told(const struct tipme_x_group *group, const xEvent *event);
/* A window has a pixmap of its own from now on, or has none any more. */
void tipme_frames_redirect(WindowPtr window, bool begin);
/* A box of a redirected window was drawn; time and client are not in the record yet. */
struct tipme_x_drawn tipme_frames_drawn(WindowPtr window, const BoxRec *box);
/* A box of the screen's own picture changed. */
void tipme_frames_painted(const ScreenRec *screen, const BoxRec *changed, uint64_t now_ns,
			  const struct tipme_x_request *whose);

/* output.c: replies, errors, writing, connections that take no more */
void tipme_output_init(void);
void tipme_output_on_reply(CallbackListPtr *list, void *data, void *call);
void tipme_output_on_flush(CallbackListPtr *list, void *data, void *call);
/* Only in servers with our patch. */
void tipme_output_on_flush_done(CallbackListPtr *list, void *data, void *call);
void tipme_output_on_arrival(CallbackListPtr *list, void *data, void *call);
void tipme_output_error(const ClientRec *client, const xEvent *event, uint64_t now_ns);
/*
 * Before the server sleeps, of chores: connections that take no more. True: look again next time.
 */
bool tipme_output_check(uint64_t now_ns);
void tipme_output_gone(const ClientRec *client);

/* grabs.c: of all devices */
void tipme_grabs_init(void);
/* One that came later; cheap where it is hooked already. */
void tipme_grabs_hook(DeviceIntPtr dev);
void tipme_grabs_on_server(CallbackListPtr *list, void *data, void *call);

/* abi.c: NULL, or what is not as these hooks were built for */
const char *tipme_abi_misfit(void);

/* Once each in the module, not in each place: who wakes up cold reads them once. */
uint64_t tipme_hooks_now_ns(void);
void tipme_hooks_record(const void *record);
void tipme_hooks_join(struct tipme_join *join, uint64_t key, const void *record);

static TIPME_INLINE uint32_t tipme_client_pid(const ClientRec *client)
{
	return client && client->clientIds && client->clientIds->pid > 0
		       ? (uint32_t)client->clientIds->pid
		       : 0;
}

/* Another client's group becomes this one's. */
void tipme_group_begin(struct tipme_x_group *group, int client);

static TIPME_INLINE struct tipme_x_group *tipme_group_of(int client)
{
	struct tipme_x_group *group = &tipme_groups[client & (TIPME_GROUPS - 1)];

	if (group->client != (uint16_t)client)
		tipme_group_begin(group, client);
	return group;
}

/* Whatever this client does next is of interest. */
static inline void tipme_group_fresh(struct tipme_x_group *group)
{
	tipme_request_run_end(&group->run);
	tipme_join_fresh(&group->request);
	tipme_join_fresh(&group->reply);
	tipme_join_fresh(&group->damage);
	tipme_join_fresh(&group->flush);
	tipme_join_fresh(&group->arrival);
}

#endif
