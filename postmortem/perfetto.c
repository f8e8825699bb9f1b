// SPDX-License-Identifier: GPL-2.0-only
/*
 * An episode as a Perfetto trace: scheduling as its ftrace events, the X server's doings as a track
 * of its own. The few messages that are needed are put together by hand; field numbers are those of
 * Perfetto's published .proto files (trace_packet, ftrace_event_bundle, sched, track_event).
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "columns.h"
#include "record_names.h"

enum {
	TRACE_PACKET = 1,
	PACKET_FTRACE = 1,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_DESCRIPTOR = 60,
	BUNDLE_CPU = 1,
	BUNDLE_EVENT = 2,
	EVENT_TIMESTAMP = 1,
	EVENT_PID = 2,
	EVENT_SWITCH = 4,
	EVENT_WAKING = 20,
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_EVENT_TYPE = 9,
	TRACK_EVENT_UUID = 11,
	TRACK_EVENT_CATEGORIES = 22,
	TRACK_EVENT_NAME = 23,
	SLICE_BEGIN = 1,
	SLICE_END = 2,
	SLICE_INSTANT = 3,
	SEQUENCE = 1,
	X_TRACK = 7469,
};
#define BUNDLE_EVENTS 500U
#define CPUS 65536U
#define MESSAGE_MOST 640U /* bytes of one message of ours: two names of 190 bytes, and numbers */
#define OUT_BYTES (1U << 20)

/* A task's state as the kernel's sched_switch has it. */
static const uint8_t STATE[] = {
	[TIPME_TASK_STATE_SLEEPING] = 1,  [TIPME_TASK_STATE_DISK_SLEEP] = 2,
	[TIPME_TASK_STATE_STOPPED] = 4,	  [TIPME_TASK_STATE_TRACED] = 8,
	[TIPME_TASK_STATE_DEAD] = 16,	  [TIPME_TASK_STATE_PARKED] = 64,
	[TIPME_TASK_STATE_IDLE] = 2,	  [TIPME_TASK_STATE_FROZEN] = 2,
	[TIPME_TASK_STATE_LOCK_WAIT] = 2, [TIPME_TASK_STATE_UNKNOWN] = 0,
};

struct message {
	uint8_t at[MESSAGE_MOST];
	size_t len;
};

struct bundle {
	uint8_t *at;
	size_t len, room;
	uint32_t events;
};

/*
 * The last name of a thread, and until when it is the same; so that a name is looked for once for
 * many records.
 */
struct name {
	uint32_t tid;
	uint64_t from, to;
	uint8_t len;
	char text[200]; /* a name of 63 bytes, of each of which three may come */
};

#define NAMES 4096U /* a power of two */

struct export
{
	const struct tipme_threads *th;
	struct bundle *bundles; /* of each CPU */
	struct name *names;
	uint8_t *out;
	size_t out_len;
	int fd, err;
	uint64_t from, to, written, seen;
};

/* ---- bytes ---- */

static void flush(struct export *x)
{
	for (size_t done = 0; !x->err && done < x->out_len;) {
		ssize_t n = write(x->fd, x->out + done, x->out_len - done);

		if (n < 0 && errno != EINTR)
			x->err = -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	x->out_len = 0;
}

static void put(struct export *x, const void *bytes, size_t len)
{
	if (x->out_len + len > OUT_BYTES)
		flush(x);
	if (len > OUT_BYTES) {
		for (size_t at = 0; at < len; at += OUT_BYTES)
			put(x, (const uint8_t *)bytes + at,
			    len - at < OUT_BYTES ? len - at : OUT_BYTES);
		return;
	}
	memcpy(x->out + x->out_len, bytes, len);
	x->out_len += len;
}

static size_t varint(uint8_t *to, uint64_t n)
{
	size_t len = 0;

	for (; n > 127; n >>= 7)
		to[len++] = (uint8_t)(n & 127) | 128;
	to[len++] = (uint8_t)n;
	return len;
}

static void number(struct message *m, uint32_t field, uint64_t n)
{
	m->len += varint(m->at + m->len, field << 3);
	m->len += varint(m->at + m->len, n);
}

static void bytes(struct message *m, uint32_t field, const void *b, size_t len)
{
	m->len += varint(m->at + m->len, field << 3 | 2);
	m->len += varint(m->at + m->len, len);
	memcpy(m->at + m->len, b, len);
	m->len += len;
}

/* A packet: its content, and that it is of our sequence. */
static void packet(struct export *x, const void *head, size_t head_len, const void *body,
		   size_t body_len)
{
	struct message sequence = { .len = 0 }, start = { .len = 0 };

	number(&sequence, PACKET_SEQUENCE, SEQUENCE);
	start.len = varint(start.at, TRACE_PACKET << 3 | 2);
	start.len += varint(start.at + start.len, head_len + body_len + sequence.len);
	put(x, start.at, start.len);
	put(x, head, head_len);
	put(x, body, body_len);
	put(x, sequence.at, sequence.len);
}

/* ---- names ---- */

/* Length of an escape sequence of terminals, as Tipme::Printable takes them out whole; 0: none. */
static size_t escape(const unsigned char *c)
{
	size_t n = 2;

	if (c[0] != 27 || !c[1])
		return 0;
	if (c[1] == '[') {
		n += strspn((const char *)c + n, "0123456789:;<=>?");
		n += strspn((const char *)c + n, " !\"#$%&'()*+,-./");
		return c[n] >= '@' && c[n] <= '~' ? n + 1 : 0;
	}
	if (strchr("]PX^_", c[1])) {
		n += strcspn((const char *)c + n, "\a\033");
		return c[n] == 7 ? n + 1 : c[n] == 27 && c[n + 1] == '\\' ? n + 2 : n;
	}
	return c[1] >= '@' && c[1] <= 'Z' ? 2 : c[1] == '\\' ? 2 : 0;
}

/* Length of a character as UTF-8 has it, and its number; 0: it is none. */
static size_t character(const unsigned char *c, uint32_t *n)
{
	size_t len = *c < 0x80		   ? 1
		     : (*c & 0xe0) == 0xc0 ? 2
		     : (*c & 0xf0) == 0xe0 ? 3
		     : (*c & 0xf8) == 0xf0 ? 4
					   : 0;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

	*n = len == 1 ? *c : len ? *c & (0x7fU >> len) : 0;
	for (size_t i = 1; i < len; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		*n = *n << 6 | (c[i] & 63);
	}
	return len && *n >= least[len] && *n <= 0x10ffff && (*n < 0xd800 || *n > 0xdfff) ? len : 0;
}

/* Control characters and what could turn a line around. */
static bool unfit(uint32_t n)
{
	return n < 9 || (n > 10 && n < 32) || (n >= 0x7f && n < 0xa0) ||
	       (n >= 0x200b && n <= 0x200f) || (n >= 0x2028 && n <= 0x202e) ||
	       (n >= 0x2060 && n <= 0x206f) || n == 0xfeff || (n >= 0xfdd0 && n <= 0xfdef) ||
	       (n >= 0xfff0 && n <= 0xfffc) || n == 0xfffe || n == 0xffff || n > 0x1fffd;
}

/*
 * As Tipme::Printable::one_line() does: UTF-8 without escape sequences and line ends; what cannot
 * be shown stands as ?.
 */
static uint8_t clean(const char *comm, char *to)
{
	size_t n = 0, len;
	uint32_t number;

	for (const unsigned char *c = (const unsigned char *)comm; *c; c += len) {
		len = escape(c);
		if (len)
			continue;
		len = character(c, &number);
		if (!len) {
			memcpy(to + n, "\357\277\275", 3);
			n += 3;
			len = 1;
		} else if (number == ' ' || number == 9 || number == 10) {
			if (!n || to[n - 1] != ' ')
				to[n++] = ' ';
		} else if (unfit(number)) {
			to[n++] = '?';
		} else {
			memcpy(to + n, c, len);
			n += len;
		}
	}
	return (uint8_t)n;
}

static const struct name *name_of(struct export *x, uint32_t tid, uint64_t ts)
{
	struct name *n = &x->names[tid & (NAMES - 1)];
	struct tipme_who who;

	if (n->tid == tid && n->len && ts >= n->from && ts < n->to)
		return n;
	tipme_threads_at(x->th, tid, ts, &who);
	n->tid = tid;
	tipme_threads_same(x->th, tid, ts, &n->from, &n->to);
	n->len = tid ? clean(who.comm, n->text) : (uint8_t)strlen(strcpy(n->text, "swapper"));
	return n;
}

static void add_name(struct export *x, struct message *m, uint32_t field, uint32_t tid, uint64_t ts)
{
	const struct name *n = name_of(x, tid, ts);

	bytes(m, field, n->text, n->len);
}

/* ---- scheduling ---- */

static void flush_bundle(struct export *x, uint32_t cpu)
{
	struct bundle *b = &x->bundles[cpu];
	struct message head = { .len = 0 }, inner = { .len = 0 };

	if (!b->events)
		return;
	number(&inner, BUNDLE_CPU, cpu);
	head.len = varint(head.at, PACKET_FTRACE << 3 | 2);
	head.len += varint(head.at + head.len, inner.len + b->len);
	memcpy(head.at + head.len, inner.at, inner.len);
	packet(x, head.at, head.len + inner.len, b->at, b->len);
	b->len = b->events = 0;
}

static void add_event(struct export *x, uint32_t cpu, const struct message *m)
{
	struct bundle *b = &x->bundles[cpu];
	int err = tipme_grow(&b->at, &b->room, b->len + m->len + 16, 1);

	if (err) {
		x->err = err;
		return;
	}
	b->len += varint(b->at + b->len, BUNDLE_EVENT << 3 | 2);
	b->len += varint(b->at + b->len, m->len);
	memcpy(b->at + b->len, m->at, m->len);
	b->len += m->len;
	if (++b->events >= BUNDLE_EVENTS)
		flush_bundle(x, cpu);
}

static void export_event(struct export *x, const struct tipme_events *ev, uint32_t i)
{
	uint64_t ts = ev->ts_ns[i];
	uint32_t tid = ev->tid[i], d = ev->d[i], state = d & 255;
	bool is_switch = ev->type[i] == TIPME_SCHED_SWITCH;
	struct message inner, m;

	inner.len = m.len = 0;
	add_name(x, &inner, 1, tid, ts);
	number(&inner, 2, tid);
	if (is_switch) {
		number(&inner, 3, d >> 8 & 255);
		number(&inner, 4, d >> 24 || state >= sizeof(STATE) ? 0 : STATE[state]);
		add_name(x, &inner, 5, ev->a[i], ts);
		number(&inner, 6, ev->a[i]);
		number(&inner, 7, d >> 16 & 255);
	} else {
		number(&inner, 3, d >> 24);
		number(&inner, 4, 1);
		number(&inner, 5, d & 0xffff);
	}
	number(&m, EVENT_TIMESTAMP, ts);
	number(&m, EVENT_PID, is_switch ? tid : ev->a[i]);
	bytes(&m, is_switch ? EVENT_SWITCH : EVENT_WAKING, inner.at, inner.len);
	add_event(x, ev->cpu[i], &m);
	x->written++;
}

static int export_events(struct export *x, const struct tipme_events *ev)
{
	for (uint32_t i = tipme_events_at(ev, x->from);
	     !x->err && i < ev->count && ev->ts_ns[i] < x->to; i++) {
		if (ev->type[i] == TIPME_SCHED_SWITCH || ev->type[i] == TIPME_SCHED_WAKING)
			export_event(x, ev, i);
	}
	for (uint32_t cpu = 0; !x->err && cpu < CPUS; cpu++)
		flush_bundle(x, cpu);
	return x->err;
}

/* ---- the X server's track ---- */

static void slice(struct export *x, uint64_t ts, uint32_t type, const char *name, size_t len)
{
	struct message event = { .len = 0 }, m = { .len = 0 };

	number(&event, TRACK_EVENT_TYPE, type);
	number(&event, TRACK_EVENT_UUID, X_TRACK);
	bytes(&event, TRACK_EVENT_CATEGORIES, "x", 1);
	if (name)
		bytes(&event, TRACK_EVENT_NAME, name, len);
	number(&m, PACKET_TIMESTAMP, ts);
	bytes(&m, PACKET_TRACK_EVENT, event.at, event.len);
	packet(x, m.at, m.len, "", 0);
}

static void begin(struct export *x, uint64_t trigger_ns)
{
	struct message track = { .len = 0 }, m = { .len = 0 };

	number(&track, TRACK_UUID, X_TRACK);
	bytes(&track, TRACK_NAME, "X server", 8);
	bytes(&m, PACKET_DESCRIPTOR, track.at, track.len);
	packet(x, m.at, m.len, "", 0);
	slice(x, trigger_ns, SLICE_INSTANT, "trigger", 7);
}

static void export_request(struct export *x, const struct tipme_stages *st, uint32_t i)
{
	const struct name *who = name_of(x, st->pid[i], st->ts_ns[i]);
	char text[256];
	int len = snprintf(text, sizeof(text), "request %u.%u of ", st->request[i] >> 8,
			   st->request[i] & 255);

	memcpy(text + len, who->text, who->len);
	slice(x, st->ts_ns[i], SLICE_BEGIN, text, (size_t)len + who->len);
	slice(x, st->ts_ns[i] + st->duration_ns[i], SLICE_END, NULL, 0);
}

static int export_stages(struct export *x, const struct tipme_stages *st)
{
	for (uint32_t i = 0; !x->err && i < st->count; i++) {
		const char *name = tipme_record_names[st->type[i]].name;

		switch (st->type[i]) {
		case TIPME_X_REQUEST: export_request(x, st, i); break;
		case TIPME_X_DEVICE:
		case TIPME_X_DELIVER:
		case TIPME_X_DAMAGE:
		case TIPME_X_CHORD:
		case TIPME_X_INPUT:
		case TIPME_X_PRESENT:
		case TIPME_X_DRAWN:
		case TIPME_X_TOLD:
		case TIPME_X_TAKEN:
		case TIPME_X_PAINTED:
			slice(x, st->ts_ns[i], SLICE_INSTANT, name, strlen(name));
			break;
		default: continue;
		}
		x->written++;
	}
	return x->err;
}

/* ---- all of it ---- */

static int count_record(void *arg, const struct tipme_rec *r)
{
	struct export *x = arg;

	x->seen += r->ts_ns >= x->from && r->ts_ns < x->to;
	return 0;
}

static int count_records(struct export *x, struct tipme_episode *ep)
{
	int err = 0;

	for (size_t i = 0; !err && i < ep->section_count; i++)
		err = tipme_section_each(ep, &ep->sections[i], count_record, x);
	return err;
}

static int export_all(struct export *x, struct tipme_episode *ep, bool x_only)
{
	struct tipme_events ev = { 0 };
	struct tipme_stages st = { 0 };
	struct tipme_threads *th = NULL;
	int err = tipme_events_load(&ev, ep, x->from, x->to);

	err = err ? err : tipme_threads_load(&th, ep, &ev);
	err = err ? err : tipme_stages_load(&st, ep, x->from, x->to);
	x->th = th;
	if (!err) {
		begin(x, ep->facts.trigger_ns);
		err = x_only ? 0 : export_events(x, &ev);
	}
	err = err ? err : export_stages(x, &st);
	err = err ? err : count_records(x, ep);
	tipme_stages_free(&st);
	tipme_threads_free(th);
	tipme_events_free(&ev);
	return err;
}

int tipme_perfetto(const char *dir, int fd, uint64_t from, uint64_t to, bool x_only,
		   uint64_t *written, uint64_t *left)
{
	struct export x = { .fd = fd,
			    .from = from,
			    .to = to,
			    .bundles = calloc(CPUS, sizeof(struct bundle)),
			    .names = calloc(NAMES, sizeof(struct name)),
			    .out = malloc(OUT_BYTES) };
	struct tipme_episode *ep = NULL;
	char why[512];
	int err = x.bundles && x.names && x.out ? tipme_episode_open(&ep, dir, why, sizeof(why))
						: -ENOMEM;

	if (!err)
		err = export_all(&x, ep, x_only);
	if (!err) {
		flush(&x);
		err = x.err;
	}
	*written = x.written;
	*left = x.seen - x.written;
	for (uint32_t cpu = 0; x.bundles && cpu < CPUS; cpu++)
		free(x.bundles[cpu].at);
	free(x.bundles);
	free(x.names);
	free(x.out);
	tipme_episode_close(ep);
	return err;
}
