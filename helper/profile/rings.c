// SPDX-License-Identifier: GPL-2.0-only
/*
 * The recorder's rings, read as its owner may: the recorder passes their memory, open for reading.
 */
#include "config.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "message.h"
#include "paths.h"
#include "profile.h"
#include "text.h"
#include "wayland_ring.h"
#include "xring_reader.h"

/* A recorder that hangs is left, and joined again later. */
#define PATIENCE_MS 2000
#define AGENTS 16
#define LIST UINT32_MAX

struct ring {
	struct tipme_ring_facts facts;
	struct tipme_x_ring map;
	uint64_t memory, next;
	uint32_t pid; /* of the X server; 0: of many compositors */
	bool asleep; /* the last record says that the server went to sleep */
};

/* Who is to get the records of one ring. */
struct following {
	struct ring *ring;
	bool quiet;
	void (*fn)(void *arg, const struct tipme_head *rec);
	void *arg;
};

struct tipme_rings {
	int fd;
	bool quiet, asked_for_one;
	unsigned int agents;
	uint32_t agent[AGENTS];
	struct ring ring[TIPME_RINGS];
	void (*saved)(void *arg, const char *folder);
	void *arg;
	char buf[TIPME_MESSAGE_MAX + 1];
};

struct tipme_rings *tipme_rings_new(void)
{
	struct tipme_rings *r = calloc(1, sizeof(*r));

	if (r)
		r->fd = -1;
	return r;
}

static void ring_drop(struct ring *ring)
{
	if (ring->facts.used)
		tipme_x_ring_close(&ring->map);
	*ring = (struct ring){ 0 };
}

void tipme_rings_free(struct tipme_rings *r)
{
	for (unsigned int i = 0; r && i < TIPME_RINGS; i++)
		ring_drop(&r->ring[i]);
	if (r && r->fd >= 0)
		close(r->fd);
	free(r);
}

int tipme_rings_fd(const struct tipme_rings *r)
{
	return r->fd;
}

bool tipme_rings_is_agent(const struct tipme_rings *r, uint32_t pid)
{
	for (unsigned int i = 0; i < r->agents; i++)
		if (r->agent[i] == pid)
			return true;
	return false;
}

bool tipme_rings_is_server(const struct tipme_rings *r, uint32_t pid)
{
	for (unsigned int i = 0; pid && i < TIPME_RINGS; i++)
		if (r->ring[i].facts.used && r->ring[i].pid == pid)
			return true;
	return false;
}

bool tipme_rings_rests(const struct tipme_rings *r, unsigned int i)
{
	return !r->ring[i].pid || tipme_process_rests(r->ring[i].pid);
}

const struct tipme_ring_facts *tipme_rings_facts(const struct tipme_rings *r, unsigned int i)
{
	return &r->ring[i].facts;
}

/* --- messages --- */

static void leave(struct tipme_rings *r)
{
	close(r->fd);
	r->fd = -1;
	r->asked_for_one = false;
}

static void on_saved(struct tipme_rings *r, const struct tipme_incoming *in)
{
	char folder[1024];

	if (!r->asked_for_one)
		return;
	r->asked_for_one = false;
	tipme_text_clean(folder, sizeof(folder), in->text, in->text_len);
	if (r->saved)
		r->saved(r->arg, in->arg ? NULL : folder);
}

/*
 * One message. Returns its verb; 0: none is there yet; or -errno. A reply's text is in r->buf,
 * behind the head.
 */
static int take(struct tipme_rings *r, struct tipme_incoming *in, int *passed)
{
	ssize_t n = tipme_message_receive(r->fd, r->buf, TIPME_MESSAGE_MAX, passed, MSG_DONTWAIT);

	if (n == -EAGAIN)
		return 0;
	if (n <= 0 || tipme_message_parse(r->buf, (size_t)n, in)) {
		leave(r);
		return n ? -EBADMSG : -ECONNRESET;
	}
	r->buf[n] = '\0';
	if (in->verb == TIPME_VERB_SAVED)
		on_saved(r, in);
	if (in->verb == TIPME_VERB_TRIGGERED && in->arg)
		r->asked_for_one = false;
	return in->verb;
}

/* Asks, and waits for the reply. Returns 0 or -errno. */
static int ask(struct tipme_rings *r, uint16_t verb, uint32_t arg, const char *text,
	       struct tipme_incoming *in, int *passed)
{
	uint64_t until = tipme_clock_ns() + PATIENCE_MS * TIPME_MS_NS;
	int err = tipme_message_send(r->fd, verb, arg, text, strlen(text), MSG_DONTWAIT);

	*passed = -1;
	while (!err && tipme_clock_ns() < until) {
		int got = take(r, in, passed);

		if (got < 0)
			return got;
		if (got == TIPME_VERB_REPLY)
			return in->arg ? -(int)in->arg : 0;
		if (*passed >= 0)
			close(*passed);
		if (!got)
			usleep(1000);
	}
	if (r->fd >= 0)
		leave(r);
	return err ? err : -ETIMEDOUT;
}

/* --- rings --- */

static uint64_t number_of(struct json_object *o, const char *name)
{
	struct json_object *v;

	return json_object_object_get_ex(o, name, &v) ? (uint64_t)json_object_get_int64(v) : 0;
}

static void ring_open(struct tipme_rings *r, unsigned int place, const struct ring *as)
{
	struct tipme_incoming in;
	struct ring *ring = &r->ring[place];
	const char *why;
	int fd, err;

	ring_drop(ring);
	if (ask(r, TIPME_VERB_RINGS, place, "", &in, &fd) || fd < 0)
		return;
	err = as->facts.wayland
		      ? tipme_x_ring_open_table(fd, TIPME_WAYLAND_RING_LOG2, &ring->map, &why)
		      : tipme_x_ring_open(fd, &ring->map, &why);
	if (!err) {
		ring->facts = as->facts;
		ring->memory = as->memory;
		ring->next = UINT64_MAX;
	}
	close(fd);
}

static const char *source_of(struct json_object *o)
{
	struct json_object *v;

	return json_object_object_get_ex(o, "source", &v) &&
			       json_object_is_type(v, json_type_string)
		       ? json_object_get_string(v)
		       : "";
}

static unsigned int rings_take(struct tipme_rings *r, struct json_object *list)
{
	bool listed[TIPME_RINGS] = { false };
	unsigned int open = 0;

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		uint64_t place = number_of(o, "place");
		struct ring as = { .facts.used = true, .memory = number_of(o, "memory") };

		as.facts.exact = strcmp(source_of(o), "x_client") != 0;
		as.facts.wayland = !strcmp(source_of(o), "wayland");
		if (place >= TIPME_RINGS)
			continue;
		listed[place] = true;
		if (!r->ring[place].facts.used || r->ring[place].memory != as.memory)
			ring_open(r, (unsigned int)place, &as);
		r->ring[place].pid = (uint32_t)number_of(o, "pid");
	}
	for (unsigned int i = 0; i < TIPME_RINGS; i++) {
		if (!listed[i])
			ring_drop(&r->ring[i]);
		open += r->ring[i].facts.used;
	}
	return open;
}

static void agents_take(struct tipme_rings *r, struct json_object *o)
{
	struct json_object *list;

	r->agents = 0;
	if (!json_object_object_get_ex(o, "agents", &list) ||
	    !json_object_is_type(list, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(list) && r->agents < AGENTS; i++)
		r->agent[r->agents++] =
			(uint32_t)json_object_get_int64(json_object_array_get_idx(list, i));
}

static int list_take(struct tipme_rings *r, const char *text)
{
	struct json_object *o = json_tokener_parse(text), *v;
	int n = 0;

	if (!json_object_is_type(o, json_type_object)) {
		json_object_put(o);
		return -EBADMSG;
	}
	r->quiet = json_object_object_get_ex(o, "quiet", &v) && json_object_get_boolean(v);
	agents_take(r, o);
	if (json_object_object_get_ex(o, "rings", &v) && json_object_is_type(v, json_type_array))
		n = (int)rings_take(r, v);
	json_object_put(o);
	return n;
}

int tipme_rings_update(struct tipme_rings *r, char *why, size_t why_len)
{
	struct tipme_incoming in;
	int passed, err = 0;

	if (r->fd < 0) {
		r->fd = tipme_message_connect(tipme_rundir());
		if (r->fd < 0) {
			err = r->fd;
			r->fd = -1;
			snprintf(why, why_len,
				 "no recorder runs here, or it serves somebody else (%s): "
				 "run `tipme start`",
				 strerror(-err));
			return err;
		}
	}
	if (!err)
		err = ask(r, TIPME_VERB_RINGS, LIST, "", &in, &passed);
	if (!err)
		err = list_take(r, in.text);
	if (err == -ENOSYS)
		snprintf(why, why_len,
			 "the recorder that runs is an older version: start it again");
	else if (err < 0)
		snprintf(why, why_len, "the recorder does not answer (%s): see `tipme status`",
			 strerror(-err));
	return err;
}

static void on_record(void *arg, const struct tipme_head *rec)
{
	struct following *f = arg;

	f->ring->asleep = rec->type == TIPME_X_SLEEP;
	if (!f->quiet)
		f->fn(f->arg, rec);
}

void tipme_rings_follow(struct tipme_rings *r, unsigned int i, uint64_t now_ns,
			void (*fn)(void *arg, const struct tipme_head *rec), void *arg)
{
	struct ring *ring = &r->ring[i];

	if (!ring->facts.used)
		return;
	uint64_t head = __atomic_load_n(&ring->map.head->head, __ATOMIC_RELAXED);

	/* The writer was faster than we. */
	if (ring->next != UINT64_MAX && head > ring->next + ring->map.slot_count)
		ring->facts.lost += head - ring->next - ring->map.slot_count;
	/* When a server wakes up, it puts that into the record of its sleep: it is read again. */
	if (ring->asleep && head > ring->next)
		ring->next--;
	tipme_x_ring_follow(&ring->map, &ring->next, ring->map.slot_count, now_ns, on_record,
			    &(struct following){ ring, r->quiet, fn, arg });
}

int tipme_rings_trigger(struct tipme_rings *r, const char *words)
{
	struct tipme_incoming in;
	int passed,
		err = r->fd < 0 ? -ENOTCONN : ask(r, TIPME_VERB_TRIGGER, 0, words, &in, &passed);

	if (!err)
		r->asked_for_one = true;
	return err;
}

void tipme_rings_on_saved(struct tipme_rings *r, void (*saved)(void *arg, const char *folder),
			  void *arg)
{
	r->saved = saved;
	r->arg = arg;
}
