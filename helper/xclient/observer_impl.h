/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the observer share. */
#ifndef TIPME_OBSERVER_IMPL_H
#define TIPME_OBSERVER_IMPL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <xcb/damage.h>
#include <xcb/record.h>
#include <xcb/xcb.h>

#include "observer.h"
#include "x_record.h"
#include "x_time.h"
#include "xring.h"

#define OBSERVER_CLIENTS 2048 /* more than a server serves (MaxClients) */
#define OBSERVER_WINDOWS 512

/* A window whose changes are reported, and for whom. */
struct observed_window {
	xcb_window_t window; /* 0: free */
	xcb_window_t top; /* child of the root that it is in or is */
	xcb_damage_damage_t damage;
	uint16_t made; /* number of the request that made it */
	unsigned notices; /* in this tick */
	/* the server holds a region of what changed, which must be emptied now and then */
	bool dirty;
	bool coarse; /* floods us: only the first change of each tick is told */
	unsigned calm_ticks;
};

struct tipme_observer {
	xcb_connection_t *x; /* asks, and gets events */
	xcb_connection_t *data; /* does nothing but receive what RECORD tells */
	const xcb_setup_t *setup;
	xcb_window_t root;
	uint8_t damage_event, xinput_major;
	xcb_record_context_t context;
	unsigned context_sequence;
	uint32_t client_mask; /* of a resource's name: whose it is */
	unsigned client_shift;
	uint32_t own_base[2];
	pid_t server_pid;
	unsigned display;
	char server_name[16];
	struct tipme_x_time time;
	struct tipme_x_recent recent;
	struct tipme_xring ring;
	uint32_t pid_of[OBSERVER_CLIENTS]; /* by the server's number of the client */
	struct observed_window window[OBSERVER_WINDOWS];
	uint64_t tick_ns; /* when to tidy up next; 0: nothing to tidy */
	/* tipmed */
	const char *rundir;
	int sock; /* -1: not connected */
	uint64_t retry_ns;
};

/* Makes ticks come until there is nothing to do any more. */
void observer_arm_tick(struct tipme_observer *o);

/* clients.c */
unsigned observer_client_of(const struct tipme_observer *o, uint32_t resource);
uint32_t observer_pid_of(const struct tipme_observer *o, uint32_t resource);
bool observer_is_own(const struct tipme_observer *o, uint32_t resource);
int observer_clients_open(struct tipme_observer *o);
void observer_client_started(struct tipme_observer *o, uint32_t base, uint64_t ts_ns);
void observer_client_died(struct tipme_observer *o, uint32_t base, uint64_t ts_ns);

/* windows.c */
void observer_windows_open(struct tipme_observer *o);
void observer_window_appeared(struct tipme_observer *o, xcb_window_t window);
void observer_window_gone(struct tipme_observer *o, xcb_window_t window);
void observer_damaged(struct tipme_observer *o, const xcb_damage_notify_event_t *e, uint64_t ts_ns);
/* Returns true if another tick is wanted. */
bool observer_windows_tick(struct tipme_observer *o);
void observer_put_damage(struct tipme_observer *o, xcb_window_t window, uint64_t ts_ns,
			 uint16_t width, uint16_t height);

/* offer.c */
void observer_offer_open(struct tipme_observer *o, const char *rundir);
int observer_offer_step(struct tipme_observer *o, uint64_t now_ns, char *why, size_t why_len);
int observer_offer_timeout_ms(const struct tipme_observer *o, uint64_t now_ns);
void observer_offer_close(struct tipme_observer *o);

#endif
