// SPDX-License-Identifier: GPL-2.0-only
/* The manifest of an episode: checked as the Perl reader checks it, and kept as plain facts. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "episode/private.h"

#define DEPTH_MOST 32 /* of nested objects */
#define NUMBER_MOST 999999999999999999LL /* 18 digits, as the Perl reader takes */

static const struct {
	const char *name;
	uint32_t number;
} SOURCES[] = {
	{ "kernel_bpf", TIPME_SOURCE_KERNEL_BPF },
	{ "kernel_module", TIPME_SOURCE_KERNEL_MODULE },
	{ "proc_sampled", TIPME_SOURCE_PROC_SAMPLED },
	{ "x_hooks", TIPME_SOURCE_X_HOOKS },
	{ "x_client", TIPME_SOURCE_X_CLIENT },
	{ "tipmed", TIPME_SOURCE_TIPMED },
};

static uint32_t source_number(const char *name)
{
	for (size_t i = 0; i < sizeof(SOURCES) / sizeof(SOURCES[0]); i++) {
		if (!strcmp(SOURCES[i].name, name))
			return SOURCES[i].number;
	}
	return 0;
}

static int bad(struct tipme_episode *ep, const char *what)
{
	return tipme_refuse(ep, -EPROTO, "%s/manifest.json: %s: not a manifest of tipme", ep->dir,
			    what);
}

static struct json_object *member(struct json_object *o, const char *name, enum json_type type)
{
	struct json_object *m = NULL;

	return o && json_object_is_type(o, json_type_object) &&
			       json_object_object_get_ex(o, name, &m) &&
			       json_object_is_type(m, type)
		       ? m
		       : NULL;
}

static bool has(struct json_object *o, const char *name)
{
	struct json_object *m = NULL;

	return json_object_object_get_ex(o, name, &m) && m;
}

/* A whole number, as a number or in quotes, of at most 18 digits. */
static bool whole(struct json_object *m, uint64_t *n)
{
	if (json_object_is_type(m, json_type_int)) {
		int64_t v = json_object_get_int64(m);

		*n = (uint64_t)v;
		return v >= 0 && v <= NUMBER_MOST;
	}
	if (!json_object_is_type(m, json_type_string))
		return false;
	const char *text = json_object_get_string(m);
	size_t len = (size_t)json_object_get_string_len(m);

	if (!len || len > 18 || strspn(text, "0123456789") != len)
		return false;
	*n = strtoull(text, NULL, 10);
	return true;
}

/* A number that must be there; `else_ok`: one that may be absent or null, and is 0 then. */
static int number(struct tipme_episode *ep, struct json_object *o, const char *name, bool else_ok,
		  uint64_t *n)
{
	struct json_object *m = NULL;
	char what[96];

	*n = 0;
	if (!json_object_object_get_ex(o, name, &m) || !m) {
		if (else_ok)
			return 0;
	} else if (whole(m, n)) {
		return 0;
	}
	snprintf(what, sizeof(what), "%s is no whole number", name);
	return bad(ep, what);
}

static int number32(struct tipme_episode *ep, struct json_object *o, const char *name, uint32_t *n)
{
	uint64_t wide;
	int err = number(ep, o, name, true, &wide);

	*n = wide > UINT32_MAX ? UINT32_MAX : (uint32_t)wide;
	return err;
}

static void text(struct json_object *o, const char *name, char *to, size_t size)
{
	struct json_object *m = member(o, name, json_type_string);

	snprintf(to, size, "%s", m ? json_object_get_string(m) : "");
}

static bool made_of(const char *s, const char *set, size_t most)
{
	size_t n = strlen(s);

	return n && n <= most && strspn(s, set) == n;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

static bool file_name_ok(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && n <= 64 && !strcmp(name + n - 4, ".rec") &&
	       strspn(name, LETTERS DIGITS "-") == n - 4;
}

static int read_coverage(struct tipme_episode *ep, struct json_object *list, uint32_t source,
			 size_t *room)
{
	size_t n = json_object_array_length(list);

	if (n > TIPME_COVERAGE_MOST)
		return bad(ep, "coverage is no list");
	struct tipme_coverage *all = (void *)ep->facts.coverage;
	int err = tipme_grow(&all, room, ep->facts.coverage_count + n, sizeof(*all));

	ep->facts.coverage = all;
	for (size_t i = 0; !err && i < n; i++) {
		struct json_object *c = json_object_array_get_idx(list, i);
		struct tipme_coverage *to = &all[ep->facts.coverage_count];

		if (!json_object_is_type(c, json_type_object))
			return bad(ep, "coverage is no list of objects");
		*to = (struct tipme_coverage){ .source = source };
		err = number32(ep, c, "cpu", &to->cpu);
		err = err ? err : number(ep, c, "first_ns", true, &to->first_ns);
		err = err ? err : number(ep, c, "last_ns", true, &to->last_ns);
		err = err ? err : number(ep, c, "records", true, &to->records);
		ep->facts.coverage_count += !err;
	}
	return err;
}

static int read_losses(struct tipme_episode *ep, struct json_object *lost, uint64_t *sum)
{
	*sum = 0;
	json_object_object_foreach(lost, name, value)
	{
		uint64_t n;

		if (!made_of(name, LETTERS DIGITS "_", 40))
			return bad(ep, "a loss without a name");
		if (!value || !whole(value, &n))
			return bad(ep, "a loss is no whole number");
		*sum += n;
	}
	return 0;
}

static int read_source(struct tipme_episode *ep, struct json_object *o,
		       struct tipme_source_facts *s, size_t *room)
{
	struct json_object *name = member(o, "source", json_type_string),
			   *file = member(o, "file", json_type_string);

	if (!json_object_is_type(o, json_type_object))
		return bad(ep, "a source that is no object");
	if (!name || !made_of(json_object_get_string(name), LETTERS "_", 30))
		return bad(ep, "a source without a name");
	if (!file || !file_name_ok(json_object_get_string(file)))
		return bad(ep, "a file name that no recorder writes");
	text(o, "source", s->name, sizeof(s->name));
	text(o, "file", s->file, sizeof(s->file));
	text(o, "server_name", s->server_name, sizeof(s->server_name));
	s->source = source_number(s->name);
	if (has(o, "coverage") && !member(o, "coverage", json_type_array))
		return bad(ep, "coverage is no list");
	if (has(o, "lost") && !member(o, "lost", json_type_object))
		return bad(ep, "lost is no object");
	int err = has(o, "coverage") ? read_coverage(ep, member(o, "coverage", json_type_array),
						     s->source, room)
				     : 0;

	if (!err && has(o, "lost"))
		err = read_losses(ep, member(o, "lost", json_type_object), &s->lost);
	err = err ? err : number32(ep, o, "server_pid", &s->server_pid);
	err = err ? err : number32(ep, o, "server_tid", &s->server_tid);
	return err ? err : number32(ep, o, "display", &s->display);
}

static int read_sources(struct tipme_episode *ep, struct json_object *m)
{
	struct json_object *list = member(m, "sources", json_type_array);
	size_t n = list ? json_object_array_length(list) : 0, room = 0;
	int err = 0;

	if (!list || n > TIPME_FILES_MOST)
		return bad(ep, "no list of sources");
	struct tipme_source_facts *all = calloc(n + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	ep->facts.sources = all;
	for (size_t i = 0; !err && i < n; i++) {
		err = read_source(ep, json_object_array_get_idx(list, i), &all[i], &room);
		ep->facts.lost += all[i].lost;
		ep->facts.source_count = i + 1;
	}
	return err;
}

static int read_suspends(struct tipme_episode *ep, struct json_object *m)
{
	struct json_object *list = member(m, "suspends", json_type_array);
	size_t n = list ? json_object_array_length(list) : 0;
	int err = 0;

	if ((has(m, "suspends") && !list) || n > TIPME_SUSPENDS_MOST)
		return bad(ep, "suspends is no list");
	struct tipme_suspend *all = calloc(n + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	ep->facts.suspends = all;
	for (size_t i = 0; !err && i < n; i++) {
		struct json_object *s = json_object_array_get_idx(list, i);

		if (!json_object_is_type(s, json_type_object))
			return bad(ep, "a suspend that is no object");
		err = number(ep, s, "from_ns", false, &all[i].from_ns);
		err = err ? err : number(ep, s, "to_ns", false, &all[i].to_ns);
		err = err ? err : number(ep, s, "slept_ns", false, &all[i].slept_ns);
	}
	ep->facts.suspend_count = err ? 0 : n;
	return err;
}

static int read_agents(struct tipme_episode *ep, struct json_object *recorder)
{
	struct json_object *list = member(recorder, "agents", json_type_array);
	size_t n = list ? json_object_array_length(list) : 0;
	uint32_t *all = calloc(n + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	ep->facts.agents = all;
	for (size_t i = 0; i < n && ep->facts.agent_count < TIPME_AGENTS_MOST; i++) {
		uint64_t pid;

		if (whole(json_object_array_get_idx(list, i), &pid) && pid && pid <= UINT32_MAX)
			all[ep->facts.agent_count++] = (uint32_t)pid;
	}
	return 0;
}

static int read_format(struct tipme_episode *ep, struct json_object *m)
{
	struct json_object *f = member(m, "format", json_type_object);
	uint64_t major, minor;

	if (!f)
		return bad(ep, "no format");
	int err = number(ep, f, "major", false, &major);

	err = err ? err : number(ep, f, "minor", false, &minor);
	if (!err && major != TIPME_FORMAT_MAJOR)
		return tipme_refuse(
			ep, -EPROTO,
			"%s/manifest.json: format %llu.%llu: this program reads format %u: use the tipme that wrote it, "
			"or a later one",
			ep->dir, (unsigned long long)major, (unsigned long long)minor,
			TIPME_FORMAT_MAJOR);
	ep->facts.major = TIPME_FORMAT_MAJOR;
	ep->facts.minor = err || minor > UINT32_MAX ? UINT32_MAX : (uint32_t)minor;
	return err;
}

static int read_trigger(struct tipme_episode *ep, struct json_object *m)
{
	struct json_object *t = member(m, "trigger", json_type_object);

	if (!t)
		return bad(ep, "no trigger");
	int err = number(ep, t, "ns", false, &ep->facts.trigger_ns);

	err = err ? err : number(ep, t, "before_ns", true, &ep->facts.before_ns);
	text(t, "kind", ep->facts.trigger_kind, sizeof(ep->facts.trigger_kind));
	text(t, "text", ep->facts.trigger_text, sizeof(ep->facts.trigger_text));
	err = err ? err : number(ep, m, "end_ns", true, &ep->facts.end_ns);
	if (!err && !has(m, "end_ns"))
		ep->facts.end_ns = ep->facts.trigger_ns;
	return err;
}

static int read_rest(struct tipme_episode *ep, struct json_object *m)
{
	struct tipme_episode_facts *f = &ep->facts;
	struct json_object *r = member(m, "recorder", json_type_object),
			   *b = member(m, "bundle", json_type_object);
	struct json_object *n = NULL;
	uint64_t wide;

	text(m, "time", f->time, sizeof(f->time));
	text(m, "kernel", f->kernel, sizeof(f->kernel));
	if (json_object_object_get_ex(m, "cpus", &n) && n && whole(n, &wide) && wide <= UINT16_MAX)
		f->cpus = (uint32_t)wide;
	if (r && json_object_object_get_ex(r, "pid", &n) && n && whole(n, &wide) &&
	    wide <= UINT32_MAX)
		f->recorder_pid = (uint32_t)wide;
	f->has_bundle = b && json_object_object_get_ex(b, "from_ns", &n) && n &&
			whole(n, &f->bundle_from_ns) && json_object_object_get_ex(b, "to_ns", &n) &&
			n && whole(n, &f->bundle_to_ns);
	return read_agents(ep, r);
}

static int read_all(struct tipme_episode *ep, struct json_object *m)
{
	if (!json_object_is_type(m, json_type_object))
		return bad(ep, "no format");
	int err = read_format(ep, m);

	text(m, "id", ep->facts.id, sizeof(ep->facts.id));
	if (!err && !made_of(ep->facts.id, LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS "_-", 80))
		err = bad(ep, "no id");
	err = err ? err : read_trigger(ep, m);
	err = err ? err : read_sources(ep, m);
	err = err ? err : read_suspends(ep, m);
	return err ? err : read_rest(ep, m);
}

int tipme_manifest_read(struct tipme_episode *ep)
{
	char *json;
	size_t len;
	int err = tipme_slurp(ep, "manifest.json", TIPME_MANIFEST_MOST, &json, &len);

	if (err)
		return err;
	struct json_tokener *tok = json_tokener_new_ex(DEPTH_MOST);
	struct json_object *m = tok ? json_tokener_parse_ex(tok, json, (int)len + 1) : NULL;

	if (!tok)
		err = -ENOMEM;
	else if (json_tokener_get_error(tok) != json_tokener_success)
		err = tipme_refuse(ep, -EPROTO, "%s/manifest.json: not JSON: %s", ep->dir,
				   json_tokener_error_desc(json_tokener_get_error(tok)));
	else
		err = read_all(ep, m);
	json_object_put(m);
	json_tokener_free(tok);
	free(json);
	return err;
}
