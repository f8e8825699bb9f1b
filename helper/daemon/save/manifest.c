// SPDX-License-Identifier: GPL-2.0-only
/* The facts of an episode, as JSON; docs/formats.md describes them. */
#include "config.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "manifest.h"
#include "small_file.h"
#include "state.h"

static void add(struct json_object *to, const char *key, struct json_object *value)
{
	json_object_object_add(to, key, value);
}

static void add_text(struct json_object *to, const char *key, const char *text)
{
	add(to, key, json_object_new_string(text));
}

static void add_number(struct json_object *to, const char *key, uint64_t value)
{
	add(to, key, json_object_new_uint64(value));
}

static struct json_object *add_object(struct json_object *to, const char *key)
{
	struct json_object *o = json_object_new_object();

	add(to, key, o);
	return o;
}

static void add_format(struct json_object *to)
{
	struct json_object *format = add_object(to, "format");

	add_number(format, "major", TIPME_FORMAT_MAJOR);
	add_number(format, "minor", TIPME_FORMAT_MINOR);
}

static void add_time(struct json_object *to, time_t wall_s)
{
	char text[32];
	struct tm tm;

	gmtime_r(&wall_s, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	add_text(to, "time", text);
}

static void add_boot_id(struct json_object *to)
{
	char text[64];

	tipme_file_line("/proc/sys/kernel/random/boot_id", text, sizeof(text));
	add_text(to, "boot_id", text);
}

/* In kHz; 0: no such CPU, or nothing sets its frequency. */
static unsigned int frequency_of(unsigned int cpu, const char *what)
{
	char path[128];
	int64_t khz;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cpufreq/%s", cpu, what);
	tipme_file_number(path, &khz);
	return (unsigned int)khz;
}

/* What it is now says what it was, for those whose frequency no record of the episode changes. */
static void add_frequencies(struct json_object *to)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int cpu = 0; cpu < (unsigned int)sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		unsigned int now = frequency_of(cpu, "scaling_cur_freq"),
			     most = frequency_of(cpu, "cpuinfo_max_freq");

		if (!now || !most)
			continue;
		struct json_object *one = json_object_new_object();

		json_object_array_add(list, one);
		add_number(one, "cpu", cpu);
		add_number(one, "khz", now);
		add_number(one, "max_khz", most);
	}
	add(to, "frequencies", list);
}

static void add_machine(struct json_object *to, const char *session)
{
	struct utsname name;

	uname(&name);
	add_boot_id(to);
	add_text(to, "kernel", name.release);
	add_text(to, "machine", name.machine);
	add_number(to, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	add_number(to, "page_size", (uint64_t)sysconf(_SC_PAGESIZE));
	add_frequencies(to);
	add(to, "state", tipmed_state(session));
}

const char *const tipmed_trigger_kinds[] = {
	[TIPMED_TRIGGER_COMMAND] = "command",
	[TIPMED_TRIGGER_HOTKEY] = "hotkey",
	[TIPMED_TRIGGER_AUTO] = "auto",
	[TIPMED_TRIGGER_KERNEL] = "kernel",
};

static void add_trigger(struct json_object *to, const struct tipmed_trigger *from,
			uint64_t before_ns)
{
	struct json_object *trigger = add_object(to, "trigger");

	add_text(trigger, "kind", tipmed_trigger_kinds[from->kind]);
	add_number(trigger, "ns", from->ns);
	if (before_ns)
		add_number(trigger, "before_ns", before_ns);
	if (from->of_friend)
		add_number(trigger, "by", from->by);
	if (from->measured_ms)
		add_number(trigger, "measured_ms", from->measured_ms);
	add_text(trigger, "text", from->seen[0] ? from->seen : from->words);
}

/* What was on when the episode was written: the absence of a record means something only then. */
static void add_classes(struct json_object *to, const struct tipmed_manifest *m)
{
	struct json_object *classes = add_object(to, "classes");

	for (unsigned int i = 0; i < TIPME_CLASSES; i++)
		add(classes, tipme_classes[i].name,
		    m->classes_able & 1U << i ? json_object_new_boolean(m->classes >> i & 1)
					      : NULL);
}

/* What a record costs: the median of each class, and its quartiles apart. */
static void add_costs(struct json_object *to, const struct tipmed_manifest *m)
{
	struct json_object *cost = add_object(to, "record_cost_ns");
	struct json_object *spread = add_object(to, "record_cost_spread_ns");

	for (unsigned int i = 0; i <= TIPME_CLASSES; i++) {
		const char *name = i < TIPME_CLASSES ? tipme_classes[i].name : "sched";
		struct json_object *quartiles;

		if (!m->cost[i].ns)
			continue;
		add_number(cost, name, m->cost[i].ns);
		quartiles = json_object_new_array();
		json_object_array_add(quartiles, json_object_new_int64(m->cost[i].low_ns));
		json_object_array_add(quartiles, json_object_new_int64(m->cost[i].high_ns));
		add(spread, name, quartiles);
	}
}

static uint64_t window_begin(const struct tipmed_manifest *m)
{
	uint64_t window_ns = (uint64_t)m->opt->window_s * 1000000000;

	return m->snap->trigger.ns > window_ns ? m->snap->trigger.ns - window_ns : 0;
}

/* Where the machine slept, so that nobody takes the time after it for the time before. */
static void add_suspends(struct json_object *to, const struct tipmed_manifest *m)
{
	struct tipmed_suspend list[TIPMED_SUSPENDS_MAX];
	unsigned int n = tipmed_suspends_since(m->suspends, window_begin(m), list);
	struct json_object *all = json_object_new_array();

	for (unsigned int i = 0; i < n; i++) {
		struct json_object *one = json_object_new_object();

		add_number(one, "from_ns", list[i].from_ns);
		add_number(one, "to_ns", list[i].to_ns);
		add_number(one, "slept_ns", list[i].slept_ns);
		json_object_array_add(all, one);
	}
	add(to, "suspends", all);
}

/* Where the machine's clock was set: times of day before it are not those of `time`. */
static void add_clock_steps(struct json_object *to, const struct tipmed_manifest *m)
{
	struct tipmed_clock_step list[TIPMED_SUSPENDS_MAX];
	unsigned int n = tipmed_clock_steps_since(m->suspends, window_begin(m), list);
	struct json_object *all = json_object_new_array();

	for (unsigned int i = 0; i < n; i++) {
		struct json_object *one = json_object_new_object();

		add_number(one, "from_ns", list[i].from_ns);
		add_number(one, "to_ns", list[i].to_ns);
		add(one, "by_ns", json_object_new_int64(list[i].by_ns));
		json_object_array_add(all, one);
	}
	add(to, "clock_steps", all);
}

/* How long the trigger thread copied, and for how long at most it looked at nothing else. */
static void add_copy(struct json_object *to, const struct tipmed_snapshot *snap)
{
	struct json_object *copy = add_object(to, "copy");

	add_number(copy, "bytes", snap->copied_bytes);
	add_number(copy, "parts", snap->parts);
	add_number(copy, "ns", snap->copied_ns - snap->trigger.ns);
	add_number(copy, "cpu_ns", snap->cpu_ns);
	add_number(copy, "longest_ns", snap->longest_ns);
}

static void add_recorder(struct json_object *to, const struct tipmed_manifest *m)
{
	struct json_object *recorder = add_object(to, "recorder"),
			   *limits = json_object_new_array(), *agents = json_object_new_array();

	add_text(recorder, "version", PACKAGE_VERSION);
	add_number(recorder, "pid", (uint64_t)getpid());
	add_number(recorder, "start_ns", m->recorder_start_ns);
	add_number(recorder, "window_s", m->opt->window_s);
	add_number(recorder, "post_s", m->opt->post_s);
	for (unsigned int i = 0; i < m->limits->count; i++) {
		const char *limit = tipmed_limit_text(m->limits, i);

		if (limit)
			json_object_array_add(limits, json_object_new_string(limit));
	}
	add(recorder, "limits", limits);
	for (unsigned int i = 0; i < m->snap->agent_count; i++)
		json_object_array_add(agents, json_object_new_int(m->snap->agents[i]));
	add(recorder, "agents", agents);
	add_copy(recorder, m->snap);
	add_classes(recorder, m);
	add_costs(recorder, m);
}

static void add_coverage(struct json_object *list, unsigned int cpu, uint64_t first_ns,
			 uint64_t last_ns, uint64_t records)
{
	struct json_object *c = json_object_new_object();

	add_number(c, "cpu", cpu);
	add_number(c, "first_ns", first_ns);
	add_number(c, "last_ns", last_ns);
	add_number(c, "records", records);
	json_object_array_add(list, c);
}

static struct json_object *source_new(const char *kind, const char *file,
				      struct json_object **coverage)
{
	struct json_object *source = json_object_new_object();

	add_text(source, "source", kind);
	add_text(source, "file", file);
	*coverage = json_object_new_array();
	return source;
}

static struct json_object *kernel_source(const struct tipmed_manifest *m)
{
	const struct tipme_kernel_copy *copy = &m->snap->kernel;
	struct json_object *coverage,
		*source = source_new(tipme_kernel_source_name(m->snap->source), "kernel.rec",
				     &coverage);

	for (unsigned int cpu = 0; cpu < copy->cpus; cpu++)
		if (copy->coverage[cpu].records)
			add_coverage(coverage, cpu, copy->coverage[cpu].first_ns,
				     copy->coverage[cpu].last_ns, copy->coverage[cpu].records);
	add(source, "coverage", coverage);
	struct json_object *lost = add_object(source, "lost");

	add_number(lost, "pool", m->lost.pool);
	add_number(lost, "nested", m->lost.nested);
	add_number(lost, "missed", m->lost.missed);
	add_number(lost, "torn", copy->torn);
	add_number(lost, "cut", copy->cut);
	add_number(lost, "stack_table", m->lost.stack_table);
	add_number(lost, "sleep_table", m->lost.sleep_table);
	add_number(lost, "lives", m->lost.lives);
	return source;
}

/* Its other losses are among those of the first. NULL: there is none. */
static struct json_object *kernel_source_beside(const struct tipmed_manifest *m)
{
	const struct tipme_kernel_copy *copy = m->snap->kernel.second;
	const char *name = tipme_kernel_source_beside_name(m->snap->source);

	if (!copy || !name)
		return NULL;
	struct json_object *coverage, *source = source_new(name, "kernel.rec", &coverage);

	for (unsigned int cpu = 0; cpu < copy->cpus; cpu++)
		if (copy->coverage[cpu].records)
			add_coverage(coverage, cpu, copy->coverage[cpu].first_ns,
				     copy->coverage[cpu].last_ns, copy->coverage[cpu].records);
	add(source, "coverage", coverage);
	struct json_object *lost = add_object(source, "lost");

	add_number(lost, "torn", copy->torn);
	add_number(lost, "cut", copy->cut);
	return source;
}

/* The server says which thread it is; what it says is believed if there is such a thread. */
static uint32_t server_tid(const struct tipmed_x_part *s)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%u", (int)s->server_pid, s->copy->server_tid);
	return access(path, F_OK) ? (uint32_t)s->server_pid : s->copy->server_tid;
}

static struct json_object *x_source(const struct tipmed_x_part *s, uint64_t end_ns)
{
	const char *kind = s->source == TIPME_SOURCE_X_CLIENT ? "x_client" : "x_hooks";
	struct json_object *coverage, *source = source_new(kind, s->file, &coverage);

	add_number(source, "server_pid", (uint64_t)s->server_pid);
	if (s->source == TIPME_SOURCE_X_CLIENT)
		add_number(source, "observer_pid", (uint64_t)s->pid);
	add_number(source, "server_tid", server_tid(s));
	add_text(source, "server_name", s->name);
	add_number(source, "display", s->display);
	add_coverage(coverage, 0, s->copy->first_ns, end_ns, s->copy->records);
	add(source, "coverage", coverage);
	struct json_object *lost = add_object(source, "lost");

	add_number(lost, "ring", s->copy->lost_ring);
	add_number(lost, "torn", s->copy->torn);
	add_number(lost, "impossible", s->copy->impossible);
	return source;
}

static struct json_object *pictures_source(const struct tipmed_manifest *m)
{
	struct json_object *coverage, *source = source_new("tipmed", "threads.rec", &coverage);

	add_coverage(coverage, 0, m->pictures_first_ns, m->pictures_last_ns, m->pictures_count);
	add(source, "coverage", coverage);
	add_object(source, "lost");
	return source;
}

/*
 * Its records have no times but those of the processes; what is complete is told by when those
 * ended.
 */
static struct json_object *identity_source(const struct tipmed_manifest *m)
{
	struct json_object *coverage, *source = source_new("tipmed", "identity.rec", &coverage);

	add_coverage(coverage, 0, m->identity.complete_since_ns, m->snap->end_ns,
		     m->identity_count);
	add(source, "coverage", coverage);
	struct json_object *lost = add_object(source, "lost");

	add_number(lost, "no_room", m->identity.lost);
	add_number(lost, "cut", m->identity_cut);
	return source;
}

static void add_sources(struct json_object *to, const struct tipmed_manifest *m)
{
	struct json_object *sources = json_object_new_array();

	struct json_object *beside = kernel_source_beside(m);

	json_object_array_add(sources, kernel_source(m));
	if (beside)
		json_object_array_add(sources, beside);
	for (int i = 0; i < m->snap->x.parts; i++)
		json_object_array_add(sources, x_source(&m->snap->x.part[i], m->snap->end_ns));
	json_object_array_add(sources, pictures_source(m));
	json_object_array_add(sources, identity_source(m));
	add(to, "sources", sources);
}

char *tipmed_manifest_text(const struct tipmed_manifest *m)
{
	struct json_object *top = json_object_new_object();

	add_format(top);
	add_text(top, "id", m->snap->trigger.id);
	add_time(top, m->snap->trigger.wall_s);
	add_machine(top, m->snap->session);
	add_trigger(top, &m->snap->trigger, m->snap->before_ns);
	add_number(top, "end_ns", m->snap->end_ns);
	add_suspends(top, m);
	add_clock_steps(top, m);
	add_recorder(top, m);
	add_sources(top, m);
	const char *text = json_object_to_json_string_ext(
		top, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
	char *copy = text ? strdup(text) : NULL;

	json_object_put(top);
	return copy;
}
