// SPDX-License-Identifier: GPL-2.0-only
/* Who processes are, also those that ended. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "identity.h"
#include "shared_text.h"
#include "text.h"

#define BUCKETS 16384U
/* A script that calls program after program in one process is no reason to keep all of them. */
#define PROGRAMS_MAX 8
#define STACK_BYTES (256 << 10)
/* Room for a line that tells how much was looked at. */
#define CUT_BYTES 96
/*
 * No environment or command line is larger than the kernel's limit of both, which follows the
 * stack's: nobody reads on for ever.
 */
#define PROC_TEXT_MAX (64U << 20)

/* What was called: shared by the process and by children that called nothing themselves. */
struct program {
	unsigned int users;
	uint64_t ts_ns; /* 0: before we came */
	uint32_t uid, args_total, args_count;
	size_t bytes; /* of memory, all together */
	struct program *before; /* the same process called this one earlier */
	char *args, *exe; /* behind the structure; never NULL */
	/* the programs of a session have the same one, as a rule: kept once; never NULL */
	const char *env;
};

struct process {
	uint32_t pid, ppid, uid, exit_code;
	uint64_t start_ns, exit_ns; /* exit_ns 0: goes on */
	struct program *program; /* the last one; NULL: not known */
	struct process *next; /* in the bucket */
	struct process *later; /* of those that ended, the one that ended after this one */
};

struct tipmed_identity {
	pthread_mutex_t lock;
	struct process *bucket[BUCKETS];
	struct process *first_ended, *last_ended;
	size_t limit;
	bool all_environment;
	struct tipmed_identity_facts facts;
	struct tipmed_texts environments;
	struct tipme_kernel_source *source;
	/* the source's ring has one reader at a time; taken before `lock` */
	pthread_mutex_t taking;
	pthread_t thread;
	int quit[2]; /* a pipe: closed at the writing end, it tells the thread to end */
	/* used under the lock */
	char clean[sizeof(((struct tipme_life_exec *)0)->env) + CUT_BYTES];
};

/* --- texts --- */

/* Only what says how a program shows and behaves; no paths of the user, no tokens. */
static const char *const allowed[] = {
	"DISPLAY",
	"WAYLAND_DISPLAY",
	"XDG_SESSION_TYPE",
	"XDG_CURRENT_DESKTOP",
	"XDG_SESSION_DESKTOP",
	"DESKTOP_SESSION",
	"LANG",
	"LANGUAGE",
	"LC_*",
	"TERM",
	"SHELL",
	"GDK_*",
	"GTK_IM_MODULE",
	"GTK_THEME",
	"GTK_MODULES",
	"GSK_*",
	"QT_*",
	"SDL_*",
	"CLUTTER_*",
	"LIBGL_*",
	"MESA_*",
	"vblank_mode",
	"__GL_*",
	"__GLX_*",
	"DRI_PRIME",
	"VK_*",
	"LD_PRELOAD",
	"LD_BIND_NOW",
	"MALLOC_*",
	"G_SLICE",
	"MOZ_ENABLE_WAYLAND",
	"MOZ_X11_EGL",
	"OMP_NUM_THREADS",
	"PULSE_LATENCY_MSEC",
	"XMODIFIERS",
};

static bool name_allowed(const char *var, size_t var_len)
{
	const char *end = memchr(var, '=', var_len);
	size_t len = end ? (size_t)(end - var) : var_len;

	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++) {
		size_t n = strlen(allowed[i]);

		if (allowed[i][n - 1] == '*' ? len >= n - 1 && !strncmp(var, allowed[i], n - 1)
					     : len == n && !strncmp(var, allowed[i], n))
			return true;
	}
	return false;
}

/*
 * Pieces that end in NUL, joined by line ends; a line end inside a piece is no line end. Returns
 * how many pieces.
 */
static unsigned int pieces_join(char *to, size_t cap, const char *from, size_t len,
				bool (*wanted)(const char *piece, size_t len))
{
	unsigned int count = 0;
	size_t out = 0;

	for (size_t i = 0, n; i < len; i += n + 1) {
		n = strnlen(from + i, len - i);
		if (wanted && !wanted(from + i, n))
			continue;
		if (out + 2 >= cap)
			break;
		if (count++)
			to[out++] = '\n';
		size_t end = out + tipme_text_clean(to + out, cap - out, from + i, n);

		for (; out < end; out++)
			if (to[out] == '\n')
				to[out] = '?';
	}
	to[out] = '\0';
	return count;
}

/* Whoever reads it shall not take the beginning for the whole. */
static void environment_join(struct tipmed_identity *id, const struct tipme_life_exec *l)
{
	unsigned int count = pieces_join(id->clean, sizeof(l->env) + 1, l->env, l->head.env_len,
					 id->all_environment ? NULL : name_allowed);
	size_t len = strlen(id->clean);

	if (l->head.env_total > l->head.env_len)
		snprintf(id->clean + len, sizeof(id->clean) - len,
			 "%s(cut: %u of %u bytes were looked at)", count ? "\n" : "",
			 l->head.env_len, l->head.env_total);
}

/* --- programs --- */

/* Returns NULL where there is no memory. */
static const char *environment_hold(struct tipmed_identity *id, const char *env)
{
	size_t before = id->environments.bytes;
	const char *held = tipmed_text_hold(&id->environments, env);

	id->facts.bytes += id->environments.bytes - before;
	return held;
}

static void environment_leave(struct tipmed_identity *id, const char *held)
{
	size_t before = id->environments.bytes;

	tipmed_text_leave(&id->environments, held);
	id->facts.bytes -= before - id->environments.bytes;
}

static void program_drop(struct tipmed_identity *id, struct program *p)
{
	while (p && !--p->users) {
		struct program *before = p->before;

		environment_leave(id, p->env);
		id->facts.bytes -= p->bytes;
		free(p);
		p = before;
	}
}

static struct program *program_new(struct tipmed_identity *id, uint64_t ts_ns, uint32_t uid,
				   const char *args, const char *env, const char *exe)
{
	size_t a = strlen(args) + 1, x = strlen(exe) + 1;
	struct program *p = calloc(1, sizeof(*p) + a + x);
	const char *held = p ? environment_hold(id, env) : NULL;

	if (!held) {
		free(p);
		return NULL;
	}
	*p = (struct program){ .users = 1,
			       .ts_ns = ts_ns,
			       .uid = uid,
			       .bytes = sizeof(*p) + a + x,
			       .args = (char *)(p + 1),
			       .env = held };
	p->exe = p->args + a;
	memcpy(p->args, args, a);
	memcpy(p->exe, exe, x);
	id->facts.bytes += p->bytes;
	return p;
}

/* --- processes --- */

static struct process **place_of(struct tipmed_identity *id, uint32_t pid, uint64_t start_ns)
{
	struct process **at = &id->bucket[(pid * 2654435761U >> 8) % BUCKETS];

	while (*at && ((*at)->pid != pid || (*at)->start_ns != start_ns))
		at = &(*at)->next;
	return at;
}

/* The one that has this number now, or had it last. */
static struct process *process_of_pid(struct tipmed_identity *id, uint32_t pid)
{
	struct process *found = NULL;

	for (struct process *p = id->bucket[(pid * 2654435761U >> 8) % BUCKETS]; p; p = p->next)
		if (p->pid == pid && (!found || p->start_ns > found->start_ns))
			found = p;
	return found;
}

static void process_forget(struct tipmed_identity *id, struct process *p)
{
	struct process **at = place_of(id, p->pid, p->start_ns);

	*at = p->next;
	program_drop(id, p->program);
	id->facts.processes--;
	id->facts.bytes -= sizeof(*p);
	free(p);
}

/* Who ended first goes first. Returns whether there was one. */
static bool ended_forget(struct tipmed_identity *id)
{
	struct process *p = id->first_ended;

	if (!p)
		return false;
	id->first_ended = p->later;
	if (!p->later)
		id->last_ended = NULL;
	id->facts.complete_since_ns = p->exit_ns;
	process_forget(id, p);
	return true;
}

static bool room_make(struct tipmed_identity *id, size_t bytes)
{
	while (id->facts.bytes + bytes > id->limit)
		if (!ended_forget(id))
			return false;
	return true;
}

static struct process *process_get(struct tipmed_identity *id, const struct tipme_life *l)
{
	struct process **at = place_of(id, l->pid, l->start_ns);

	if (*at)
		return *at;
	if (!room_make(id, sizeof(struct process) + sizeof(struct tipme_life_exec)))
		return NULL;
	at = place_of(id, l->pid, l->start_ns); /* who made room may have stood before us */
	*at = calloc(1, sizeof(**at));
	if (!*at)
		return NULL;
	**at = (struct process){
		.pid = l->pid, .ppid = l->ppid, .uid = l->uid, .start_ns = l->start_ns
	};
	id->facts.processes++;
	id->facts.bytes += sizeof(**at);
	return *at;
}

static void process_end(struct tipmed_identity *id, struct process *p, const struct tipme_life *l)
{
	if (p->exit_ns)
		return;
	p->exit_ns = l->ts_ns;
	p->exit_code = l->exit_code;
	p->ppid = l->ppid;
	if (id->last_ended)
		id->last_ended->later = p;
	else
		id->first_ended = p;
	id->last_ended = p;
}

static void programs_cut(struct tipmed_identity *id, struct program *p)
{
	unsigned int n = 1;

	for (; p->before && n < PROGRAMS_MAX; n++)
		p = p->before;
	program_drop(id, p->before);
	p->before = NULL;
}

static void program_set(struct tipmed_identity *id, struct process *p,
			const struct tipme_life_exec *l)
{
	char args[sizeof(l->args) + 1], exe[sizeof(l->exe) + 1];
	unsigned int count = pieces_join(args, sizeof(args), l->args, l->head.args_len, NULL);

	environment_join(id, l);
	tipme_text_clean(exe, sizeof(exe), l->exe, l->head.exe_len);
	if (!room_make(id, sizeof(struct program) + strlen(args) + strlen(id->clean) + strlen(exe) +
				   3)) {
		id->facts.lost++;
		return;
	}
	struct program *new = program_new(id, l->head.ts_ns, l->head.uid, args, id->clean, exe);

	if (!new)
		return;
	new->args_total = l->head.args_total;
	new->args_count = count;
	new->before = p->program;
	p->program = new;
	p->uid = l->head.uid;
	programs_cut(id, new);
}

/* What it runs until it calls something itself, is what its parent runs. */
static void program_inherit(struct tipmed_identity *id, struct process *child)
{
	const struct process *parent = process_of_pid(id, child->ppid);

	if (child->program || !parent || !parent->program)
		return;
	child->program = parent->program;
	child->program->users++;
}

static bool lengths_possible(const struct tipme_life *l)
{
	const struct tipme_life_exec *e = (const void *)l;

	return l->args_len <= sizeof(e->args) && l->env_len <= sizeof(e->env) &&
	       l->exe_len <= sizeof(e->exe);
}

void tipmed_identity_add(struct tipmed_identity *id, const struct tipme_life *l)
{
	pthread_mutex_lock(&id->lock);
	struct process *p = process_get(id, l);

	if (!p)
		id->facts.lost++;
	else if (l->kind == TIPME_LIFE_EXIT)
		process_end(id, p, l);
	else if (l->kind == TIPME_LIFE_FORK)
		program_inherit(id, p);
	else if (l->kind == TIPME_LIFE_EXEC && lengths_possible(l))
		program_set(id, p, (const struct tipme_life_exec *)l);
	pthread_mutex_unlock(&id->lock);
}

void tipmed_identity_age(struct tipmed_identity *id, uint64_t now_ns)
{
	pthread_mutex_lock(&id->lock);
	while (id->first_ended &&
	       id->first_ended->exit_ns + TIPMED_IDENTITY_KEEP_S * TIPME_NS_PER_S < now_ns)
		ended_forget(id);
	pthread_mutex_unlock(&id->lock);
}

/* --- those who were there before us --- */

/*
 * The beginning of a text of the kernel about a process, and how long it is in all. Returns how
 * much of it there is in buf.
 */
static uint32_t proc_read(uint32_t pid, const char *name, char *buf, size_t cap, uint32_t *total)
{
	char path[64], more[4096];
	ssize_t n;

	*total = 0;
	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	n = read(fd, buf, cap);
	uint32_t len = n > 0 ? (uint32_t)n : 0;

	for (*total = len;
	     n > 0 && *total >= cap && *total<PROC_TEXT_MAX; *total += n> 0 ? (uint32_t)n : 0)
		n = read(fd, more, sizeof(more));
	close(fd);
	return len;
}

static void seed_one(struct tipmed_identity *id, const struct tipme_thread *t)
{
	static struct tipme_life_exec l; /* only one thread runs yet */
	char path[64];

	l.head = (struct tipme_life){ .start_ns = t->start_ns,
				      .kind = TIPME_LIFE_EXEC,
				      .pid = t->pid,
				      .ppid = t->ppid,
				      .uid = t->uid };
	l.head.args_len = proc_read(t->pid, "cmdline", l.args, sizeof(l.args), &l.head.args_total);
	l.head.env_len = proc_read(t->pid, "environ", l.env, sizeof(l.env), &l.head.env_total);
	snprintf(path, sizeof(path), "/proc/%u/exe", t->pid);
	ssize_t n = readlink(path, l.exe, sizeof(l.exe));

	l.head.exe_len = n > 0 ? (uint32_t)n : 0;
	tipmed_identity_add(id, &l.head);
}

void tipmed_identity_seed(struct tipmed_identity *id, const struct tipme_kernel_thread *threads,
			  unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (threads[i].rec.tid == threads[i].rec.pid)
			seed_one(id, &threads[i].rec);
}

/* --- the thread --- */

static int take_one(void *arg, const struct tipme_life *life)
{
	tipmed_identity_add(arg, life);
	return 0;
}

static void take(struct tipmed_identity *id)
{
	if (!id->source)
		return;
	pthread_mutex_lock(&id->taking);
	tipme_kernel_source_lives_take(id->source, take_one, id);
	pthread_mutex_unlock(&id->taking);
}

static void *identity_run(void *arg)
{
	struct tipmed_identity *id = arg;
	struct pollfd fds[2] = { { .fd = id->quit[0], .events = POLLIN },
				 { .fd = tipme_kernel_source_lives_fd(id->source),
				   .events = POLLIN } };

	while (!fds[0].revents) {
		poll(fds, 2, 1000);
		take(id);
		tipmed_identity_age(id, tipme_clock_ns());
	}
	return NULL;
}

int tipmed_identity_start(struct tipmed_identity *id, struct tipme_kernel_source *source)
{
	pthread_attr_t attr;

	id->source = source;
	if (pipe2(id->quit, O_CLOEXEC))
		return -errno;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	int err = -pthread_create(&id->thread, &attr, identity_run, id);

	pthread_attr_destroy(&attr);
	return err;
}

void tipmed_identity_stop(struct tipmed_identity *id)
{
	if (!id || !id->source)
		return;
	close(id->quit[1]);
	pthread_join(id->thread, NULL);
	close(id->quit[0]);
	id->source = NULL;
}

int tipmed_identity_new(struct tipmed_identity **identity, size_t limit, bool all_environment)
{
	struct tipmed_identity *id = calloc(1, sizeof(*id));

	if (!id)
		return -ENOMEM;
	pthread_mutex_init(&id->lock, NULL);
	pthread_mutex_init(&id->taking, NULL);
	id->limit = limit ? limit : TIPMED_IDENTITY_BYTES;
	id->all_environment = all_environment;
	id->facts.bytes = sizeof(*id);
	id->facts.bytes_max = id->limit;
	id->facts.complete_since_ns = tipme_clock_ns();
	*identity = id;
	return 0;
}

void tipmed_identity_free(struct tipmed_identity *id)
{
	if (!id)
		return;
	for (unsigned int i = 0; i < BUCKETS; i++)
		while (id->bucket[i])
			process_forget(id, id->bucket[i]);
	free(id);
}

void tipmed_identity_facts(struct tipmed_identity *id, struct tipmed_identity_facts *facts)
{
	pthread_mutex_lock(&id->lock);
	*facts = id->facts;
	pthread_mutex_unlock(&id->lock);
}

/* --- records --- */

struct emitter {
	int (*emit)(void *arg, const void *rec, size_t len);
	void *arg;
};

/* The longest that a record can be. */
#define RECORD_BYTES 2040

static int emit_part(const struct emitter *e, void *rec, size_t fixed, const char *text, size_t n)
{
	size_t len = (fixed + n + 1 + 7) / 8 * 8;
	char *at = rec;

	memcpy(at + fixed, text, n);
	memset(at + fixed + n, 0, len - fixed - n);
	((struct tipme_head *)rec)->len8 = (uint8_t)(len / 8);
	return e->emit(e->arg, rec, len);
}

/* Text that is too long is cut. */
static int emit_text(const struct emitter *e, void *rec, size_t fixed, const char *text)
{
	size_t room = RECORD_BYTES - fixed - 1, n = strlen(text);

	return emit_part(e, rec, fixed, text, n < room ? n : room);
}

/*
 * Text that is too long stands in several records, one after the other; it is not cut inside a
 * character.
 */
static int emit_parts(const struct emitter *e, void *rec, size_t fixed, const char *text)
{
	size_t room = RECORD_BYTES - fixed - 1, n;
	int ret = 0;

	for (; *text && !ret; text += n) {
		n = strlen(text);
		if (n > room)
			for (n = room; n > room - 4 && ((unsigned char)text[n] & 0xc0) == 0x80;)
				n--;
		ret = emit_part(e, rec, fixed, text, n);
	}
	return ret;
}

static int emit_program(const struct emitter *e, const struct process *p, const struct program *g)
{
	union {
		struct tipme_exec_args rec;
		char bytes[2048];
	} args = { .rec = { .ts_ns = g->ts_ns,
			    .type = TIPME_EXEC_ARGS,
			    .tid = p->pid,
			    .pid = p->pid,
			    .start_ns = p->start_ns,
			    .uid = g->uid,
			    .total_len = g->args_total,
			    .count = g->args_count } };
	union {
		struct tipme_exec_environment rec;
		char bytes[2048];
	} env = { .rec = { .ts_ns = g->ts_ns,
			   .type = TIPME_EXEC_ENVIRONMENT,
			   .tid = p->pid,
			   .pid = p->pid,
			   .start_ns = p->start_ns,
			   .uid = g->uid } };
	int ret = emit_text(e, &args, offsetof(struct tipme_exec_args, text), g->args);

	return ret ? ret
		   : emit_parts(e, &env, offsetof(struct tipme_exec_environment, text), g->env);
}

static int emit_process(const struct emitter *e, const struct process *p, uid_t owner)
{
	union {
		struct tipme_process rec;
		char bytes[2048];
	} u = { .rec = { .ts_ns = p->exit_ns,
			 .type = TIPME_PROCESS,
			 .tid = p->pid,
			 .pid = p->pid,
			 .ppid = p->ppid,
			 .start_ns = p->start_ns,
			 .exit_ns = p->exit_ns,
			 .uid = p->uid,
			 .exit_code = p->exit_code } };
	int ret = emit_text(e, &u, offsetof(struct tipme_process, exe),
			    p->program ? p->program->exe : "");

	for (const struct program *g = p->program; g && !ret; g = g->before)
		if (!owner || g->uid == owner)
			ret = emit_program(e, p, g);
	return ret;
}

/*
 * A process that ended before is wanted if one that is wanted names it as its parent. The list of
 * numbers grows by its parents' parents.
 */
static bool wanted(const struct process *p, uint64_t from_ns, const uint8_t *parents)
{
	return !p->exit_ns || p->exit_ns >= from_ns ||
	       parents[p->pid / 8 % (1 << 19)] & 1 << p->pid % 8;
}

static void parents_mark(struct tipmed_identity *id, uint64_t from_ns, uint8_t *parents)
{
	for (int round = 0; round < 8; round++)
		for (unsigned int i = 0; i < BUCKETS; i++)
			for (const struct process *p = id->bucket[i]; p; p = p->next)
				if (wanted(p, from_ns, parents))
					parents[p->ppid / 8 % (1 << 19)] |=
						(uint8_t)(1 << p->ppid % 8);
}

int tipmed_identity_emit(struct tipmed_identity *id, uint64_t from_ns, uid_t owner,
			 int (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	struct emitter e = { emit, arg };
	uint8_t *parents = calloc(1, 1 << 19); /* a bit for each of 4 million numbers */
	int ret = parents ? 0 : -ENOMEM;

	take(id); /* those of the last second are the ones that are asked for */
	pthread_mutex_lock(&id->lock);
	if (parents)
		parents_mark(id, from_ns, parents);
	for (unsigned int i = 0; i < BUCKETS && !ret; i++)
		for (const struct process *p = id->bucket[i]; p && !ret; p = p->next)
			if (wanted(p, from_ns, parents))
				ret = emit_process(&e, p, owner);
	pthread_mutex_unlock(&id->lock);
	free(parents);
	return ret;
}
