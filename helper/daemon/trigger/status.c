// SPDX-License-Identifier: GPL-2.0-only
/*
 * The answer to `status`: JSON, built without allocation, since it is asked for when things go
 * wrong.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "server.h"
#include "small_file.h"
#include "text.h"

/* More would not fit one message; the totals stand for all. */
#define CPUS_SHOWN 256

static const char *phase_name(enum tipmed_phase phase)
{
	static const char *const names[] = { "idle", "recording after the trigger", "saving" };

	return names[phase];
}

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * TIPME_NS_PER_S + (uint64_t)t.tv_usec * 1000;
}

static uint64_t resident_bytes(void)
{
	unsigned long pages;
	char text[128];

	if (tipme_file_read("/proc/self/statm", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%*u %lu", &pages) != 1)
		return 0;
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void add_coverage(struct tipme_text *text, const struct tipme_kernel_coverage *cov,
			 unsigned int n, uint64_t now_ns)
{
	tipme_text_add(text, ", \"coverage\": [");
	for (unsigned int cpu = 0, shown = 0; cpu < n; cpu++)
		if (cov[cpu].first_ns && cov[cpu].first_ns < now_ns)
			tipme_text_add(text, "%s{\"cpu\": %u, \"seconds\": %.3f}",
				       shown++ ? ", " : "", cpu,
				       (double)(now_ns - cov[cpu].first_ns) / 1e9);
	tipme_text_add(text, "]");
}

static void add_missed(struct tipme_text *text, const struct tipme_kernel_stats *stats)
{
	tipme_text_add(text, ", \"missed_by\": {");
	for (unsigned int i = 0; i < stats->missed_count; i++)
		tipme_text_add(text, "%s\"%s\": %llu", i ? ", " : "", stats->missed[i].program,
			       (unsigned long long)stats->missed[i].calls);
	tipme_text_add(text, "}");
}

static void add_kernel(struct tipme_text *text, struct tipmed_server *server)
{
	static struct tipme_kernel_coverage cov[CPUS_SHOWN];
	struct tipmed_watched now;
	unsigned int n = tipmed_watch_get(server->watch, &now, cov, CPUS_SHOWN);
	const struct tipme_kernel_lost *lost = &now.stats.lost;

	tipme_text_add(
		text,
		"\"source\": \"%s\", \"records\": %llu, \"rate\": %llu, \"programs\": %u, \"threads\": %u, \"picture_ms\": %.3f",
		tipme_kernel_source_name(server->snap.source),
		(unsigned long long)now.stats.records, (unsigned long long)now.rate,
		now.stats.programs, now.threads, (double)now.picture_ns / 1e6);
	tipme_text_add(text, ", \"kept_s\": %.3f",
		       tipmed_watch_kept_s(server->watch, tipme_clock_ns()));
	add_coverage(text, cov, n, tipme_clock_ns());
	tipme_text_add(
		text,
		", \"lost\": {\"pool\": %llu, \"nested\": %llu, \"missed\": %llu, \"stack_table\": %llu, \"sleep_table\": %llu, \"lives\": %llu}",
		(unsigned long long)lost->pool, (unsigned long long)lost->nested,
		(unsigned long long)lost->missed, (unsigned long long)lost->stack_table,
		(unsigned long long)lost->sleep_table, (unsigned long long)lost->lives);
	add_missed(text, &now.stats);
	tipme_text_add(
		text,
		", \"memory\": {\"pool_bytes\": %llu, \"kernel_bytes\": %llu, \"copy_bytes\": %zu, \"resident_bytes\": %llu}",
		(unsigned long long)now.stats.pool_bytes, (unsigned long long)now.stats.map_bytes,
		server->snap.kernel.kept, (unsigned long long)resident_bytes());
}

static void add_classes(struct tipme_text *text, struct tipmed_server *server)
{
	uint32_t able, on = tipmed_classes_get(server->classes, &able);

	tipme_text_add(text, "\"classes\": {");
	for (unsigned int i = 0; i < TIPME_CLASSES; i++)
		tipme_text_add(text, "%s\"%s\": %s", i ? ", " : "", tipme_classes[i].name,
			       !(able & 1U << i) ? "null"
			       : on & 1U << i	 ? "true"
						 : "false");
	tipme_text_add(text, "}");
}

size_t tipmed_status_classes(struct tipmed_server *server)
{
	struct tipme_text text;

	tipme_text_init(&text, server->out, sizeof(server->out));
	tipme_text_add(&text, "{");
	add_classes(&text, server);
	tipme_text_add(&text, "}");
	return text.len;
}

static void add_identity(struct tipme_text *text, struct tipmed_server *server)
{
	struct tipmed_identity_facts f;

	tipmed_identity_facts(server->identity, &f);
	tipme_text_add(
		text,
		", \"identity\": {\"processes\": %llu, \"bytes\": %llu, \"bytes_max\": %llu, \"lost\": %llu, \"ended_kept_s\": %.3f}",
		(unsigned long long)f.processes, (unsigned long long)f.bytes,
		(unsigned long long)f.bytes_max, (unsigned long long)f.lost,
		(double)(tipme_clock_ns() - f.complete_since_ns) / 1e9);
}

static const char *cost_name(unsigned int which)
{
	return which < TIPME_CLASSES ? tipme_classes[which].name : "sched";
}

static void add_costs(struct tipme_text *text, struct tipmed_server *server)
{
	struct tipmed_watched now;
	struct tipme_kernel_coverage none;
	const char *between = "";

	tipmed_watch_get(server->watch, &now, &none, 0);
	tipme_text_add(text, ", \"record_cost_ns\": {");
	for (unsigned int i = 0; i <= TIPME_CLASSES; i++) {
		if (!now.stats.cost[i].ns)
			continue;
		tipme_text_add(text, "%s\"%s\": %u", between, cost_name(i), now.stats.cost[i].ns);
		between = ", ";
	}
	between = "";
	tipme_text_add(text, "}, \"record_cost_spread_ns\": {");
	for (unsigned int i = 0; i <= TIPME_CLASSES; i++) {
		if (!now.stats.cost[i].ns)
			continue;
		tipme_text_add(text, "%s\"%s\": [%u, %u]", between, cost_name(i),
			       now.stats.cost[i].low_ns, now.stats.cost[i].high_ns);
		between = ", ";
	}
	tipme_text_add(text, "}, \"record_cost_measuring\": %s, \"record_cost_age_s\": ",
		       now.stats.measuring ? "true" : "false");
	if (now.stats.measured_ns)
		tipme_text_add(text, "%.3f",
			       (double)(tipme_clock_ns() - now.stats.measured_ns) / 1e9);
	else
		tipme_text_add(text, "null");
}

static void add_x_servers(struct tipme_text *text, const struct tipmed_x_servers *x)
{
	unsigned int shown = 0;

	tipme_text_add(text, ", \"x_servers\": [");
	for (int i = 0; i < TIPMED_X_SERVERS_MAX; i++) {
		const struct tipmed_x_server *s = &x->server[i];

		if (!s->used || tipmed_x_servers_is_further(x, i))
			continue;
		tipme_text_add(text,
			       "%s{\"pid\": %d, \"source\": \"%s\", \"display\": %u, \"name\": ",
			       shown++ ? ", " : "", (int)tipmed_x_server_pid(s),
			       s->ring.source == TIPME_SOURCE_X_CLIENT ? "x_client" : "x_hooks",
			       s->display);
		tipme_text_add_json(text, s->name);
		tipme_text_add(text,
			       ", \"connected\": %s, \"ring_bytes\": %zu, \"copy_bytes\": %zu}",
			       s->connected ? "true" : "false", s->ring.bytes, s->copy.cap);
	}
	tipme_text_add(text, "]");
}

/* Those that are there now, not those that were. */
static void add_agents(struct tipme_text *text, const struct tipmed_agents *agents)
{
	unsigned int shown = 0;

	tipme_text_add(text, ", \"agents\": [");
	for (int i = 0; i < TIPMED_AGENTS_MAX; i++)
		if (agents->agent[i].pid && agents->agent[i].connections)
			tipme_text_add(text, "%s%d", shown++ ? ", " : "",
				       (int)agents->agent[i].pid);
	tipme_text_add(text, "]");
}

static void add_self(struct tipme_text *text, const struct tipmed_server *server)
{
	struct rusage used = { 0 };

	getrusage(RUSAGE_SELF, &used);
	tipme_text_add(text, ", \"cpu\": {\"user_ms\": %.3f, \"system_ms\": %.3f}",
		       (double)timeval_ns(used.ru_utime) / 1e6,
		       (double)timeval_ns(used.ru_stime) / 1e6);
	tipme_text_add(text, ", \"user\": %u, \"trigger_thread\": {\"realtime\": %s, \"why\": ",
		       (unsigned int)geteuid(), server->realtime_error ? "false" : "true");
	tipme_text_add_json(text,
			    server->realtime_error ? strerror(-server->realtime_error) : NULL);
	tipme_text_add(text, "}, \"hotkey\": {\"chord\": ");
	tipme_text_add_json(text, server->opt->hotkey);
	tipme_text_add(text, ", \"keyboards\": %u, \"refused\": %u",
		       server->evdev ? tipmed_evdev_count(server->evdev) : 0,
		       server->keyboards_refused);
	tipme_text_add(text, "}, \"limits\": [");
	const char *between = "";

	for (unsigned int i = 0; i < server->limits->count; i++) {
		const char *limit = tipmed_limit_text(server->limits, i);

		if (!limit)
			continue;
		tipme_text_add(text, "%s", between);
		tipme_text_add_json(text, limit);
		between = ", ";
	}
	tipme_text_add(text, "]");
}

static int waiting(const struct tipmed_server *server)
{
	int n = 0;

	for (int i = 0; i < TIPMED_PENDING; i++)
		n += server->pending[i].is;
	return n;
}

static void add_episodes(struct tipme_text *text, const struct tipmed_server *server)
{
	bool any = server->episodes + server->failures;

	tipme_text_add(text, ", \"saving\": ");
	tipme_text_add_json(text, phase_name(server->snap.phase));
	tipme_text_add(text, ", \"auto_ms\": %u, \"gone\": %u",
		       atomic_load(&server->automatic.threshold_ms),
		       atomic_load(&server->writer->gone));
	tipme_text_add(
		text,
		", \"waiting\": %d, \"episodes\": %llu, \"failures\": %llu, \"refused_triggers\": %llu, \"refused_peers\": %llu",
		waiting(server), (unsigned long long)server->episodes,
		(unsigned long long)server->failures, (unsigned long long)server->refused_triggers,
		(unsigned long long)server->refused_peers);
	tipme_text_add(text, ", \"last_episode\": ");
	tipme_text_add_json(text, any ? server->last_id : NULL);
	/* While the writer saves, the text is its own. */
	tipme_text_add(text, ", \"last_result\": ");
	tipme_text_add_json(
		text, any && server->snap.phase != TIPMED_SAVING ? server->snap.saved_text : NULL);
}

/*
 * What who reads rings himself has to know: which there are, whose keys are ours, whether the user
 * wants no input recorded.
 */
size_t tipmed_status_rings(struct tipmed_server *server)
{
	struct tipme_text text;
	const char *between = "";
	uint64_t memory;

	tipme_text_init(&text, server->out, sizeof(server->out));
	tipme_text_add(&text, "{\"quiet\": %s",
		       tipme_x_quiet_now(&server->snap.x.quiet) ? "true" : "false");
	add_agents(&text, &server->agents);
	tipme_text_add(&text, ", \"rings\": [");
	for (int i = 0; i < TIPMED_X_SERVERS_MAX; i++) {
		const struct tipmed_x_server *s = &server->snap.x.server[i];

		if (!s->used || !s->connected || s->reader_fd < 0)
			continue;
		tipme_text_add(
			&text,
			"%s{\"place\": %d, \"memory\": %llu, \"pid\": %d, \"source\": \"%s\"}",
			between, i, (unsigned long long)s->ino, (int)tipmed_x_server_pid(s),
			s->ring.source == TIPME_SOURCE_X_CLIENT ? "x_client" : "x_hooks");
		between = ", ";
	}
	if (tipme_kernel_source_wayland_fd(server->snap.source, &memory) >= 0)
		tipme_text_add(
			&text,
			"%s{\"place\": %d, \"memory\": %llu, \"pid\": 0, \"source\": \"wayland\"}",
			between, TIPMED_WAYLAND_PLACE, (unsigned long long)memory);
	tipme_text_add(&text, "]}");
	return text.len;
}

size_t tipmed_status_write(struct tipmed_server *server)
{
	struct tipme_text text;

	tipme_text_init(&text, server->out, sizeof(server->out));
	tipme_text_add(&text,
		       "{\"recording\": true, \"version\": \"" PACKAGE_VERSION
		       "\", \"pid\": %d, \"owner\": %u, \"library\": ",
		       (int)getpid(), (unsigned int)server->opt->owner);
	tipme_text_add_json(&text, server->opt->library);
	tipme_text_add(&text, ", \"uptime_s\": %.3f, \"window_s\": %u, \"post_s\": %u, ",
		       (double)(tipme_clock_ns() - server->start_ns) / 1e9, server->opt->window_s,
		       server->opt->post_s);
	add_kernel(&text, server);
	tipme_text_add(&text, ", ");
	add_classes(&text, server);
	add_identity(&text, server);
	add_costs(&text, server);
	add_x_servers(&text, &server->snap.x);
	add_agents(&text, &server->agents);
	add_self(&text, server);
	add_episodes(&text, server);
	tipme_text_add(&text, "}");
	return text.len;
}
