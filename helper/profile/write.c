// SPDX-License-Identifier: GPL-2.0-only
/*
 * A profile as a file: docs/formats.md has the form. Written beside and renamed, and its owner's
 * alone.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "profile.h"

static void number(struct json_object *o, const char *name, uint64_t n)
{
	json_object_object_add(o, name, json_object_new_int64((int64_t)n));
}

static void text(struct json_object *o, const char *name, const char *s)
{
	json_object_object_add(o, name, json_object_new_string(s));
}

static struct json_object *buckets_json(const struct tipme_counts *c)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < TIPME_LATENCY_BUCKETS; i++) {
		if (!c->bucket[i])
			continue;
		struct json_object *pair = json_object_new_array_ext(3);

		json_object_array_add(pair,
				      json_object_new_int64((int64_t)tipme_latency_bucket_us(i)));
		json_object_array_add(pair, json_object_new_int64(c->bucket[i]));
		json_object_array_add(pair, json_object_new_int64((int64_t)c->sum[i]));
		json_object_array_add(list, pair);
	}
	return list;
}

static struct json_object *stages_json(const struct tipme_pair *p)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < TIPME_PROFILE_STAGES; i++) {
		struct json_object *o = json_object_new_object();

		text(o, "stage", tipme_profile_stages[i]);
		number(o, "count", p->stage[i].count);
		number(o, "sum_ns", p->stage[i].sum_ns);
		number(o, "max_ns", p->stage[i].max_ns);
		json_object_object_add(o, "buckets", buckets_json(&p->stage[i]));
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *pairs_json(const struct tipme_table *t)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < t->pairs; i++) {
		const struct tipme_pair *p = &t->pair[i];
		struct json_object *o = json_object_new_object();

		text(o, "app", t->app[p->app].name);
		text(o, "kind", tipme_profile_kinds[p->kind]);
		number(o, "events", p->events);
		number(o, "answered", p->answered);
		number(o, "ahead", p->ahead);
		number(o, "without_effect", p->without_effect);
		number(o, "gone", p->gone);
		number(o, "unanswered", p->unanswered);
		json_object_object_add(o, "stages", stages_json(p));
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *row_json(const struct tipme_table *t, const struct tipme_row *r)
{
	struct json_object *o = json_object_new_object(), *over = json_object_new_array();

	number(o, "minute", (uint64_t)r->row * t->minutes);
	text(o, "app", t->app[t->pair[r->pair].app].name);
	text(o, "kind", tipme_profile_kinds[t->pair[r->pair].kind]);
	number(o, "events", r->events);
	number(o, "answered", r->answered);
	number(o, "sum_ns", r->sum_ns);
	number(o, "max_ns", r->max_ns);
	for (unsigned int n = 0; n < TIPME_THRESHOLDS; n++)
		json_object_array_add(over, json_object_new_int64(r->over[n]));
	json_object_object_add(o, "over", over);
	return o;
}

static int in_order(const void *a, const void *b)
{
	const struct tipme_row *x = a, *y = b;

	return x->row != y->row ? (x->row > y->row) - (x->row < y->row)
				: (int)x->pair - (int)y->pair;
}

/* In order of minute and pair: within a minute nothing tells what came first. */
static struct json_object *rows_json(const struct tipme_table *t)
{
	struct json_object *list = json_object_new_array();
	struct tipme_row *row = malloc(sizeof(*row) * (t->rows + 1));

	if (!row)
		return list;
	memcpy(row, t->row, sizeof(*row) * t->rows);
	qsort(row, t->rows, sizeof(*row), in_order);
	for (unsigned int i = 0; i < t->rows; i++)
		json_object_array_add(list, row_json(t, &row[i]));
	free(row);
	return list;
}

static struct json_object *apps_json(const struct tipme_table *t)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < t->apps; i++) {
		struct json_object *o = json_object_new_object();

		text(o, "app", t->app[i].name);
		number(o, "waiting_ns", t->app[i].waiting_ns);
		number(o, "thinking_ns", t->app[i].thinking_ns);
		number(o, "background_ns", t->app[i].background_ns);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *numbers_json(const uint64_t *v, unsigned int n, const char *const *names)
{
	struct json_object *o = json_object_new_object();

	for (unsigned int i = 0; i < n; i++)
		number(o, names ? names[i] : tipme_softirq_name(i), v[i]);
	return o;
}

static struct json_object *machine_json(const struct tipme_machine_rows *rows)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < rows->rows; i++) {
		struct json_object *o = json_object_new_object();

		number(o, "minute", (uint64_t)i * rows->minutes);
		number(o, "events", rows->events[i]);
		json_object_object_add(o, "cpu_ms",
				       numbers_json(rows->row[i].cpu_ms, TIPME_CPU_USES,
						    tipme_cpu_uses));
		json_object_object_add(o, "interrupts",
				       numbers_json(rows->row[i].irqs, TIPME_IRQ_CLASSES,
						    tipme_irq_classes));
		json_object_object_add(o, "softirqs",
				       numbers_json(rows->row[i].softirqs, TIPME_SOFTIRQS, NULL));
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *worst_json(const struct tipme_profile *p)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < p->worsts; i++) {
		const struct tipme_worst *w = &p->worst[i];
		struct json_object *o = json_object_new_object();

		text(o, "app", p->table.app[w->app].name);
		text(o, "kind", tipme_profile_kinds[w->kind]);
		number(o, "response_ns", w->response_ns);
		number(o, "minute", (uint64_t)w->row);
		text(o, "episode", w->episode);
		text(o, "verdict", w->verdict);
		text(o, "by", w->by);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *thresholds_json(void)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int n = 0; n < TIPME_THRESHOLDS; n++)
		json_object_array_add(list, json_object_new_int64(tipme_profile_thresholds_ms[n]));
	return list;
}

static struct json_object *profile_json(const struct tipme_profile *p, uint64_t now_ns)
{
	struct json_object *o = json_object_new_object();
	struct utsname u;

	uname(&u);
	text(o, "format", "tipme profile");
	number(o, "version", 1);
	text(o, "recorder", PACKAGE_VERSION);
	text(o, "began", p->began);
	text(o, "kernel", u.release);
	text(o, "machine", u.machine);
	number(o, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	text(o, "source", p->source);
	json_object_object_add(o, "exact", json_object_new_boolean(p->exact));
	json_object_object_add(o, "key_times", json_object_new_boolean(p->key_times));
	number(o, "duration_ns", now_ns - p->table.begin_ns);
	number(o, "minutes_of_row", p->table.minutes);
	number(o, "lost_records", p->lost_records);
	number(o, "lost_answers", p->table.lost);
	number(o, "own_cpu_ns", p->own_cpu_ns);
	json_object_object_add(o, "thresholds_ms", thresholds_json());
	json_object_object_add(o, "apps", apps_json(&p->table));
	json_object_object_add(o, "pairs", pairs_json(&p->table));
	json_object_object_add(o, "rows", rows_json(&p->table));
	number(o, "minutes_of_machine_row", p->machine.minutes);
	json_object_object_add(o, "machine_rows", machine_json(&p->machine));
	json_object_object_add(o, "worst", worst_json(p));
	return o;
}

static int write_all(int fd, const char *at, size_t len)
{
	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return fsync(fd) ? -errno : 0;
}

/*
 * What lies under the other name is ours from a crash, or a trap: it goes, and no link is
 * followed.
 */
static int write_beside(const char *beside, const char *json)
{
	unlink(beside);
	int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err = fd < 0 ? -errno : write_all(fd, json, strlen(json));

	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	return err;
}

int tipme_profile_write(const struct tipme_profile *p, const char *file, uint64_t now_ns, char *why,
			size_t why_len)
{
	struct json_object *o = profile_json(p, now_ns);
	char beside[4096 + 8];
	int err = -ENAMETOOLONG;

	if ((size_t)snprintf(beside, sizeof(beside), "%s.tmp", file) < sizeof(beside))
		err = write_beside(beside,
				   json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
	if (!err && rename(beside, file))
		err = -errno;
	if (err) {
		snprintf(why, why_len, "%s: %s: is the disk full? choose another place with -o",
			 file, strerror(-err));
		unlink(beside);
	}
	return err;
}
