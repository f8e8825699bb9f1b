// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loop: follows the rings, looks at who has not answered, writes the file each minute. One
 * thread.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "collect.h"
#include "text.h"

#define MINUTE_NS (60 * TIPME_NS_PER_S)
/* How often rings are read; while somebody has not answered, he is looked at more often. */
#define STEP_MS 100
#define LOOK_MS 25
/* Rings are asked for, and CPU times compared, so often. */
#define SECOND_NS TIPME_NS_PER_S
/*
 * A client that stays busy for so long without changing the screen: the user has given up, and so
 * do we.
 */
#define PATIENCE_NS (600 * TIPME_NS_PER_S)
/* In records nobody looks at clients: what has not answered by then has no effect. */
#define REPLAY_PATIENCE_NS (10 * TIPME_NS_PER_S)
/* Processes whose names and CPU times are known. */
#define PROCESSES 256

struct process {
	uint32_t pid;
	unsigned int app;
	uint64_t ran_ns, window_ran_ns; /* at the last look; at the beginning of the window */
	uint64_t used_ns;
	int8_t wanted; /* -1: not looked at yet */
};

struct collect {
	struct tipme_profile p;
	struct tipme_answers source[TIPME_RINGS];
	struct tipme_rings *rings;
	struct tipme_judge *judge;
	struct process process[PROCESSES];
	const struct tipme_collect_options *o;
	pid_t child;
	FILE *times;
	uint64_t now_ns, next_second_ns, next_minute_ns, minute_events, end_ns, lost_before;
	uint64_t first_ns; /* replay: of all records */
	bool replaying;
};

static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
	(void)sig;
	ended = 1;
}

/* --- whose answer it is --- */

/* Of records nobody knows who that was: the number is all there is, unless somebody tells. */
static void replayed_name(const struct tipme_collect_options *o, uint32_t pid, char *name,
			  size_t cap)
{
	snprintf(name, cap, "pid %u", pid);
	for (unsigned int i = 0; i < o->names; i++)
		if (strtoul(o->name[i], NULL, 10) == pid)
			tipme_text_clean(name, cap, strchr(o->name[i], '=') + 1,
					 strlen(strchr(o->name[i], '=') + 1));
}

static struct process *process_of(struct collect *c, uint32_t pid)
{
	struct process *old = &c->process[0];

	for (unsigned int i = 0; i < PROCESSES; i++) {
		struct process *p = &c->process[i];

		if (p->pid == pid && p->used_ns) {
			p->used_ns = c->now_ns;
			return p;
		}
		if (p->used_ns < old->used_ns)
			old = p;
	}
	char name[TIPME_NAME];

	tipme_process_name(pid, name, sizeof(name));
	if (c->replaying && pid)
		replayed_name(c->o, pid, name, sizeof(name));
	*old = (struct process){
		.pid = pid,
		.app = tipme_table_app(&c->p.table, name),
		.used_ns = c->now_ns,
		.wanted = -1,
	};
	old->ran_ns = old->window_ran_ns = c->replaying ? 0 : tipme_process_ran_ns(pid);
	return old;
}

static bool on_wanted(void *arg, uint32_t pid)
{
	struct collect *c = arg;

	if (!c->child)
		return true;
	struct process *p = process_of(c, pid);

	if (p->wanted < 0)
		p->wanted = tipme_process_is_below(pid, (uint32_t)c->child);
	return p->wanted;
}

/* Of what an X server is sent as a Wayland client, its own ring tells. */
static bool on_wanted_by_wayland(void *arg, uint32_t pid)
{
	struct collect *c = arg;

	return !(c->rings && tipme_rings_is_server(c->rings, pid)) && on_wanted(arg, pid);
}

static void on_done(void *arg, const struct tipme_answer *a)
{
	struct collect *c = arg;

	if (a->pid && c->rings && tipme_rings_is_agent(c->rings, a->pid))
		return;
	unsigned int app =
		a->pointer ? tipme_table_app(&c->p.table, "(pointer)") : process_of(c, a->pid)->app;

	tipme_table_add(&c->p.table, app, a);
	c->minute_events++;
	/* The pointer moves by itself; nobody uses it as a program. */
	if (!a->pointer)
		tipme_moments_wait(&c->p.moments, app, a->entered_ns, a->end_ns);
	if (c->times)
		tipme_times_put(c->times, c->p.table.app[app].name, a);
	if (c->judge)
		tipme_judge_answer(c->judge, app, a,
				   (uint32_t)((a->end_ns - c->p.table.begin_ns) / MINUTE_NS),
				   c->now_ns);
}

static void on_record(void *arg, const struct tipme_head *rec)
{
	tipme_answers_record(arg, rec);
}

/* --- looking at processes --- */

/* Whom one look takes in; of more that wait at once, the others come when these have answered. */
#define LOOKED 64

struct look {
	struct collect *c;
	unsigned int count;
	struct tipme_seen seen[LOOKED];
};

static void look_at(void *arg, uint32_t pid)
{
	struct look *l = arg;

	if (l->count < LOOKED)
		l->seen[l->count++] =
			tipme_process_see(pid, &process_of(l->c, pid)->ran_ns, l->c->now_ns);
}

/*
 * The order matters: a client that rests has sent what it draws; a server that rests after that has
 * come to it; and what is read then has it.
 */
static void look_at_waiting(struct collect *c, unsigned int i)
{
	struct look l = { .c = c };

	if (!tipme_answers_waiting(&c->source[i], look_at, &l))
		return;
	bool served = tipme_rings_rests(c->rings, i);

	tipme_rings_follow(c->rings, i, tipme_clock_ns(), on_record, &c->source[i]);
	for (unsigned int n = 0; n < l.count; n++) {
		l.seen[n].served = served;
		tipme_answers_seen(&c->source[i], &l.seen[n]);
	}
}

static bool is_anything_open(const struct collect *c)
{
	for (unsigned int i = 0; i < TIPME_RINGS; i++)
		if (tipme_answers_oldest_ns(&c->source[i]) != UINT64_MAX)
			return true;
	return false;
}

/* What applications have computed since they were last compared: that in use, or all others. */
static uint64_t compare_times(struct collect *c, bool in_use)
{
	uint64_t ran = 0;

	for (unsigned int i = 0; i < PROCESSES && !c->replaying; i++) {
		struct process *p = &c->process[i];

		if (!p->used_ns || !p->pid || (p->app == c->p.moments.in_use) != in_use)
			continue;
		uint64_t now = tipme_process_ran_ns(p->pid);

		ran += now > p->window_ran_ns ? now - p->window_ran_ns : 0;
		/* What it computes before its next event is not for that one. */
		p->window_ran_ns = p->ran_ns = now;
	}
	return ran;
}

/* While somebody waits, it is not known yet what the moments since then are. */
static void look_at_moments(struct collect *c, bool last)
{
	/* By whole seconds, whenever keys come. */
	uint64_t ns = last ? c->now_ns : c->now_ns - (c->now_ns - c->p.table.begin_ns) % SECOND_NS;

	if (!last && (is_anything_open(c) || ns < c->p.moments.until_ns))
		return;
	compare_times(c, false);
	tipme_moments_look(&c->p.moments, &c->p.table, ns, last);
}

/* --- the loop --- */

/* Up to when all moments are in the table: the last whole minute's end, or all. */
static uint64_t told_until(const struct collect *c)
{
	return c->p.moments.window_ns - c->p.moments.thinking_ns - c->p.moments.background_ns;
}

static int save(struct collect *c)
{
	struct rusage used;
	char why[512];

	getrusage(RUSAGE_SELF, &used);
	c->p.own_cpu_ns = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * TIPME_NS_PER_S +
			  (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
	if (c->times)
		fflush(c->times);
	/* What is not attributed yet is not in the file yet: so its sums are exact. */
	int err = tipme_profile_write(&c->p, c->o->file, told_until(c), why, sizeof(why));

	if (err)
		fprintf(stderr, "tipme: profile: %s\n", why);
	return err;
}

static void count_lost(struct collect *c)
{
	uint64_t lost = 0;

	for (unsigned int i = 0; i < TIPME_RINGS; i++)
		lost += tipme_rings_facts(c->rings, i)->lost + c->source[i].lost;
	if (lost > c->lost_before)
		c->p.lost_records += lost - c->lost_before;
	c->lost_before = lost;
}

static void note_source(struct collect *c, const char *name)
{
	bool exact = strcmp(name, "x_client") != 0;

	c->p.exact = exact && (c->p.exact || !*c->p.source);
	snprintf(c->p.source, sizeof(c->p.source), "%s", name);
}

static void note_sources(struct collect *c)
{
	for (unsigned int i = 0; i < TIPME_RINGS; i++) {
		const struct tipme_ring_facts *f = tipme_rings_facts(c->rings, i);

		/* The ring of Wayland records is there in every session. */
		if (f->used && (!f->wayland || c->source[i].wayland.seq))
			note_source(c, f->wayland ? "wayland" : f->exact ? "x_hooks" : "x_client");
	}
}

static void each_second(struct collect *c)
{
	char why[256];

	tipme_rings_update(c->rings, why, sizeof(why));
	note_sources(c);
	count_lost(c);
	if (c->judge)
		tipme_judge_step(c->judge, false);
	look_at_moments(c, false);
	c->next_second_ns = c->now_ns + SECOND_NS;
}

static int each_minute(struct collect *c)
{
	tipme_machine_minute(&c->p.machine, (uint32_t)c->minute_events);
	c->minute_events = 0;
	c->next_minute_ns += MINUTE_NS;
	return save(c);
}

static void follow(struct collect *c)
{
	for (unsigned int i = 0; i < TIPME_RINGS; i++) {
		tipme_rings_follow(c->rings, i, c->now_ns, on_record, &c->source[i]);
		tipme_answers_until(&c->source[i], c->now_ns);
	}
}

static bool is_over(struct collect *c)
{
	int status;

	if (ended || (c->end_ns && c->now_ns >= c->end_ns))
		return true;
	return c->child && waitpid(c->child, &status, WNOHANG) == c->child;
}

static int run(struct collect *c)
{
	int err = 0;

	while (!err && !is_over(c)) {
		struct pollfd p = { .fd = tipme_rings_fd(c->rings), .events = 0 };
		bool open = is_anything_open(c);

		poll(&p, 0, open ? LOOK_MS : STEP_MS);
		c->now_ns = tipme_clock_ns();
		follow(c);
		for (unsigned int i = 0; i < TIPME_RINGS; i++)
			look_at_waiting(c, i);
		if (!is_anything_open(c))
			tipme_moments_ran(&c->p.moments, compare_times(c, true), c->now_ns);
		if (c->now_ns >= c->next_second_ns)
			each_second(c);
		if (c->now_ns >= c->next_minute_ns)
			err = each_minute(c);
	}
	c->now_ns = tipme_clock_ns();
	follow(c);
	return err;
}

static int finish(struct collect *c)
{
	for (unsigned int i = 0; i < TIPME_RINGS; i++)
		tipme_answers_end(&c->source[i], c->now_ns);
	look_at_moments(c, true);
	if (c->rings) {
		note_sources(c);
		count_lost(c);
	}
	if (c->judge)
		tipme_judge_step(c->judge, true);
	if (!c->replaying)
		tipme_machine_minute(&c->p.machine, (uint32_t)c->minute_events);
	return save(c) ? 1 : 0;
}

static void begin(struct collect *c, uint64_t now_ns, uint64_t patience_ns)
{
	time_t now = time(NULL);
	struct tm tm;

	strftime(c->p.began, sizeof(c->p.began), "%Y-%m-%dT%H:%MZ", gmtime_r(&now, &tm));
	c->now_ns = now_ns;
	tipme_table_init(&c->p.table, now_ns);
	tipme_moments_init(&c->p.moments, now_ns, tipme_table_app(&c->p.table, "(nothing yet)"));
	for (unsigned int i = 0; i < TIPME_RINGS; i++) {
		tipme_answers_init(&c->source[i], patience_ns);
		c->source[i].done = on_done;
		c->source[i].wanted = i == TIPME_RINGS - 1 ? on_wanted_by_wayland
				      : c->child	   ? on_wanted
							   : NULL;
		c->source[i].arg = c;
	}
	c->next_second_ns = now_ns;
	c->next_minute_ns = now_ns + MINUTE_NS;
	c->end_ns = c->o->duration_ns ? now_ns + c->o->duration_ns : 0;
}

static int start_program(struct collect *c)
{
	if (!*c->o->program)
		return 0;
	c->child = fork();
	if (c->child < 0)
		return -errno;
	if (!c->child) {
		execvp(c->o->program[0], c->o->program);
		fprintf(stderr, "tipme: profile: %s: %s\n", c->o->program[0], strerror(errno));
		_exit(127);
	}
	return 0;
}

static const char nobody_tells[] = "no X server and no compositor is seen yet: see `tipme doctor`";

static int record(struct collect *c)
{
	char why[256] = "no memory";

	c->rings = tipme_rings_new();
	int rings = c->rings ? tipme_rings_update(c->rings, why, sizeof(why)) : -1;

	if (rings <= 0)
		fprintf(stderr, "tipme: profile: %s\n", rings ? why : nobody_tells);
	if (rings < 0)
		return 1;
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	signal(SIGPIPE, SIG_IGN);
	if (start_program(c))
		return 1;
	begin(c, tipme_clock_ns(), PATIENCE_NS);
	tipme_machine_begin(&c->p.machine);
	if (c->o->episodes_over_ms)
		c->judge = tipme_judge_new(&c->p, c->rings, c->o->episodes_over_ms, c->o->keep);
	/* What comes from now on counts. */
	follow(c);
	if (!c->o->quiet)
		fprintf(stderr, "tipme: profile: recording to %s%s\n", c->o->file,
			*c->o->program || c->o->duration_ns ? "" : ", until ^C");
	return run(c) ? 1 : finish(c);
}

/* --- records instead of rings --- */

static void on_replayed(void *arg, const struct tipme_head *rec)
{
	struct collect *c = arg;

	if (!c->first_ns) {
		c->first_ns = rec->ts_ns;
		begin(c, rec->ts_ns, REPLAY_PATIENCE_NS);
	}
	c->now_ns = rec->ts_ns;
	tipme_answers_until(&c->source[0], rec->ts_ns);
	tipme_answers_record(&c->source[0], rec);
	if (c->now_ns >= c->next_second_ns) {
		look_at_moments(c, false);
		c->next_second_ns = c->now_ns + SECOND_NS;
	}
}

static int replay(struct collect *c)
{
	uint32_t source = 0;

	c->replaying = true;
	int err = tipme_profile_replay(c->o->replay, on_replayed, c, &source);

	if (err || !c->first_ns) {
		fprintf(stderr, "tipme: profile: %s: %s: name x-PID.rec of an episode\n",
			c->o->replay,
			!err		  ? "no records of a display source in it"
			: err == -EBADMSG ? "not a file of records"
					  : strerror(-err));
		return 1;
	}
	note_source(c, c->source[0].wayland.is		 ? "wayland"
		       : source == TIPME_SOURCE_X_CLIENT ? "x_client"
							 : "x_hooks");
	return finish(c);
}

int tipme_collect(const struct tipme_collect_options *o)
{
	struct collect *c = calloc(1, sizeof(*c));
	int status = 1, err;

	if (!c)
		return 1;
	c->o = o;
	err = o->key_times ? tipme_times_open(o->file, &c->times) : 0;
	c->p.key_times = c->times;
	if (err)
		fprintf(stderr, "tipme: profile: %s.times: %s: choose another place with -o\n",
			o->file, strerror(-err));
	else
		status = o->replay ? replay(c) : record(c);
	if (c->times)
		fclose(c->times);
	tipme_judge_free(c->judge);
	tipme_rings_free(c->rings);
	tipme_table_free(&c->p.table);
	free(c);
	return status;
}
