// SPDX-License-Identifier: GPL-2.0-only
/* Triggers without a human. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "auto.h"
#include "clock.h"
#include "small_file.h"

#define LOOK_NS 100000000L
#define MS_NS 1000000ULL
/*
 * Enough for what a server writes in a tenth of a second; a flood is passed over rather than read
 * in the trigger thread.
 */
#define RECORDS_MOST 8192
/* After one, for so long no other: a machine in trouble is not to be kept busy with saving. */
#define QUIET_NS (30 * TIPME_NS_PER_S)

int tipmed_auto_init(struct tipmed_auto *a, struct tipmed_x_servers *x,
		     const struct tipmed_agents *agents, unsigned int threshold_ms)
{
	*a = (struct tipmed_auto){ .x = x, .agents = agents };
	a->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (a->timer_fd < 0)
		return -errno;
	tipmed_auto_set(a, threshold_ms);
	return 0;
}

void tipmed_auto_free(struct tipmed_auto *a)
{
	close(a->timer_fd);
}

/* The timer runs only while there is something to look for. */
void tipmed_auto_set(struct tipmed_auto *a, unsigned int threshold_ms)
{
	struct itimerspec look = { .it_interval.tv_nsec = threshold_ms ? LOOK_NS : 0,
				   .it_value.tv_nsec = threshold_ms ? LOOK_NS : 0 };

	atomic_store(&a->threshold_ms, threshold_ms);
	timerfd_settime(a->timer_fd, 0, &look, NULL);
}

static void worse(struct tipmed_auto *a, uint64_t ns, uint32_t pid, const char *what)
{
	if (ns <= a->worst_ns || ns < atomic_load(&a->threshold_ms) * MS_NS)
		return;
	a->worst_ns = ns;
	a->worst_pid = pid;
	a->worst_what = what;
}

/* --- what X servers tell --- */

static bool is_agent(const struct tipmed_auto *a, uint32_t pid)
{
	for (int i = 0; i < TIPMED_AGENTS_MAX; i++)
		if (a->agents->agent[i].pid == (pid_t)pid)
			return true;
	return false;
}

static struct tipmed_auto_press *press_of(struct tipmed_auto *a, uint32_t pid)
{
	for (int i = 0; i < TIPMED_AUTO_WAITING; i++)
		if (a->press[i].pid == pid)
			return &a->press[i];
	return NULL;
}

static void on_deliver(struct tipmed_auto *a, const struct tipme_x_deliver *r)
{
	if ((r->kind != TIPME_INPUT_KIND_KEY_PRESS && r->kind != TIPME_INPUT_KIND_BUTTON_PRESS) ||
	    !r->pid || is_agent(a, r->pid))
		return;
	struct tipmed_auto_press *p = press_of(a, r->pid);

	a->in_use = r->pid;
	/* An earlier press that is not answered yet is the one that has waited longest. */
	if (!p && (p = press_of(a, 0)))
		*p = (struct tipmed_auto_press){ .pid = r->pid,
						 .client = r->client,
						 .ns = r->ts_ns };
}

static void on_damage(struct tipmed_auto *a, const struct tipme_x_damage *r)
{
	struct tipmed_auto_press *p = r->pid ? press_of(a, r->pid) : NULL;

	if (!p || r->ts_ns < p->ns)
		return;
	/*
	 * Who had nothing to do meanwhile has answered with nothing, and now does something else.
	 */
	if (!p->idle)
		worse(a, r->ts_ns - p->ns, p->pid, "answered a press");
	p->pid = 0;
}

/*
 * Under a compositor the client has answered as soon; what that one makes of it is not followed
 * here.
 */
static void on_drawn(struct tipmed_auto *a, const struct tipme_x_drawn *r)
{
	for (int i = 0; r->client && i < TIPMED_AUTO_WAITING; i++)
		if (a->press[i].pid && a->press[i].client == r->client)
			on_damage(a, &(struct tipme_x_damage){ .ts_ns = r->ts_ns,
							       .pid = a->press[i].pid });
}

static void on_record(void *arg, const struct tipme_head *rec)
{
	if (rec->type == TIPME_X_DELIVER)
		on_deliver(arg, (const void *)rec);
	else if (rec->type == TIPME_X_DAMAGE)
		on_damage(arg, (const void *)rec);
	else if (rec->type == TIPME_X_DRAWN)
		on_drawn(arg, (const void *)rec);
}

static void follow(struct tipmed_auto *a, uint64_t now_ns)
{
	for (int i = 0; i < TIPMED_X_SERVERS_MAX; i++) {
		struct tipmed_x_server *s = &a->x->server[i];

		if (!s->used)
			continue;
		if (a->follow[i].ino != s->ino) {
			a->follow[i].ino = s->ino;
			a->follow[i].next = UINT64_MAX;
		}
		tipme_x_ring_follow(&s->ring, &a->follow[i].next, RECORDS_MOST, now_ns, on_record,
				    a);
	}
}

/* --- what the kernel counts --- */

/* Of the main thread. Returns false if the process is gone. */
static bool counts_read(uint32_t pid, uint64_t *ran_ns, uint64_t *waited_ns)
{
	char path[48], text[96];
	unsigned long long ran, waited;

	snprintf(path, sizeof(path), "/proc/%u/schedstat", pid);
	if (tipme_file_read(path, text, sizeof(text)) <= 0 ||
	    sscanf(text, "%llu %llu", &ran, &waited) != 2)
		return false;
	*ran_ns = ran;
	*waited_ns = waited;
	return true;
}

static char state_read(uint32_t pid)
{
	char path[48], text[512], *end;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	end = tipme_file_read(path, text, sizeof(text)) > 0 ? strrchr(text, ')') : NULL;
	return end && end[1] == ' ' ? end[2] : '?';
}

/*
 * A client that sleeps, and did not run between two looks, has nothing to do, or waits for somebody
 * we cannot see: either is no reason to save.
 */
static void press_look(struct tipmed_auto *a, struct tipmed_auto_press *p, uint64_t now_ns)
{
	uint64_t ran_ns, waited_ns;

	if (!counts_read(p->pid, &ran_ns, &waited_ns)) {
		p->pid = 0;
		return;
	}
	char state = state_read(p->pid);

	p->idle = p->looked && state == 'S' && ran_ns == p->ran_ns;
	p->looked = true;
	p->ran_ns = ran_ns;
	if (p->idle || now_ns - p->ns < atomic_load(&a->threshold_ms) * MS_NS)
		return;
	worse(a, now_ns - p->ns, p->pid,
	      state == 'T' ? "is stopped and has not answered a press"
			   : "has not answered a press");
	p->pid = 0;
}

static struct tipmed_auto_task *task_of(struct tipmed_auto *a, uint32_t pid)
{
	struct tipmed_auto_task *free_one = NULL;

	for (int i = 0; i < TIPMED_AUTO_TASKS; i++) {
		if (a->task[i].pid == pid)
			return &a->task[i];
		if (!a->task[i].pid || (!a->task[i].wanted && !free_one))
			free_one = &a->task[i];
	}
	if (free_one)
		*free_one = (struct tipmed_auto_task){ .pid = pid };
	return free_one;
}

static void task_look(struct tipmed_auto *a, uint32_t pid)
{
	struct tipmed_auto_task *t = pid ? task_of(a, pid) : NULL;
	uint64_t ran_ns, waited_ns;

	if (!t)
		return;
	t->wanted = true;
	if (!counts_read(pid, &ran_ns, &waited_ns)) {
		t->pid = 0;
		return;
	}
	if (t->known) {
		t->waits_ns += waited_ns - t->waited_ns;
		worse(a, t->waits_ns, pid, "waited for a CPU");
	}
	if (ran_ns != t->ran_ns)
		t->waits_ns = 0;
	t->known = true;
	t->ran_ns = ran_ns;
	t->waited_ns = waited_ns;
}

static void tasks_look(struct tipmed_auto *a)
{
	for (int i = 0; i < TIPMED_AUTO_TASKS; i++)
		a->task[i].wanted = false;
	task_look(a, a->in_use);
	for (int i = 0; i < TIPMED_X_SERVERS_MAX; i++)
		if (a->x->server[i].used)
			task_look(a, (uint32_t)tipmed_x_server_pid(&a->x->server[i]));
}

static void tell(struct tipmed_auto *a, char *text, size_t len)
{
	char path[48], comm[32];

	snprintf(path, sizeof(path), "/proc/%u/comm", a->worst_pid);
	if (tipme_file_read(path, comm, sizeof(comm)) <= 0)
		strcpy(comm, "?");
	comm[strcspn(comm, "\n")] = '\0';
	a->measured_ms = (unsigned int)(a->worst_ns / MS_NS);
	snprintf(text, len, "%s (pid %u) %s: %u ms", comm, a->worst_pid, a->worst_what,
		 a->measured_ms);
}

int tipmed_auto_take(void *arg, enum tipmed_trigger_kind *kind, uid_t *by, char *text, size_t len)
{
	struct tipmed_auto *a = arg;
	uint64_t expired, now_ns = tipme_clock_ns();

	(void)by;
	if (read(a->timer_fd, &expired, sizeof(expired)) < 0 || !atomic_load(&a->threshold_ms))
		return -EAGAIN;
	a->worst_ns = 0;
	follow(a, now_ns);
	for (int i = 0; i < TIPMED_AUTO_WAITING; i++)
		if (a->press[i].pid)
			press_look(a, &a->press[i], now_ns);
	tasks_look(a);
	if (!a->worst_ns || now_ns < a->quiet_until_ns)
		return -EAGAIN;
	a->quiet_until_ns = now_ns + QUIET_NS;
	*kind = TIPMED_TRIGGER_AUTO;
	tell(a, text, len);
	return 0;
}
