// SPDX-License-Identifier: GPL-2.0-only
/*
 * The worst answers with their causes: an episode is asked for, judged by `tipme diagnose`, and the
 * mildest is removed when there are more than wanted. One at a time, in a child process at nice 19.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "collect.h"
#include "text.h"

/* A machine in trouble is not to be kept busy with saving. */
#define PAUSE_NS (30 * TIPME_NS_PER_S)
#define ANSWER_MAX (1 << 20)

struct tipme_judge {
	struct tipme_profile *p;
	struct tipme_rings *rings;
	uint64_t over_ns, next_ns;
	unsigned int keep;
	bool asked; /* an episode is being saved */
	struct tipme_worst about;
	pid_t child; /* the diagnosis that is under way; 0: none */
	int out;
	char *text;
	size_t len;
};

/* The command that started us, or the one of the same installation. */
static void exec_tipme(const char *verb, const char *arg, const char *more)
{
	const char *tree = getenv("TIPME_SRCDIR");
	char program[4096];

	if (tree && *tree) {
		snprintf(program, sizeof(program), "%s/postmortem/bin/tipme-postmortem", tree);
		execlp("perl", "perl", program, verb, arg, more, (char *)NULL);
	} else {
		execl(TIPME_LIBEXECDIR "/tipme-postmortem", "tipme-postmortem", verb, arg, more,
		      (char *)NULL);
	}
	_exit(127);
}

static pid_t spawn(const char *verb, const char *arg, const char *more, int out)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	setpriority(PRIO_PROCESS, 0, 19);
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(out >= 0 ? out : null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	exec_tipme(verb, arg, more);
	return -1;
}

static void on_saved(void *arg, const char *folder)
{
	struct tipme_judge *j = arg;
	int ends[2];

	j->asked = false;
	if (!folder || j->child || pipe2(ends, O_CLOEXEC))
		return;
	snprintf(j->about.episode, sizeof(j->about.episode), "%s",
		 strrchr(folder, '/') ? strrchr(folder, '/') + 1 : folder);
	j->len = 0;
	j->out = ends[0];
	j->child = spawn("diagnose", folder, "--json", ends[1]);
	close(ends[1]);
	if (j->child < 0) {
		close(j->out);
		j->child = 0;
	}
}

struct tipme_judge *tipme_judge_new(struct tipme_profile *p, struct tipme_rings *rings,
				    unsigned int over_ms, unsigned int keep)
{
	struct tipme_judge *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	*j = (struct tipme_judge){ .p = p,
				   .rings = rings,
				   .over_ns = over_ms * TIPME_MS_NS,
				   .keep = keep,
				   .out = -1,
				   .text = malloc(ANSWER_MAX + 1) };
	tipme_rings_on_saved(rings, on_saved, j);
	return j;
}

void tipme_judge_free(struct tipme_judge *j)
{
	if (j)
		free(j->text);
	free(j);
}

void tipme_judge_answer(struct tipme_judge *j, unsigned int app, const struct tipme_answer *a,
			uint32_t minute, uint64_t now_ns)
{
	uint64_t ns = a->end_ns - a->entered_ns;
	char words[160];

	if (a->pointer || a->outcome == TIPME_WITHOUT_EFFECT || ns < j->over_ns || j->asked ||
	    j->child || now_ns < j->next_ns)
		return;
	/* No better than the mildest that is kept: not worth an episode. */
	if (j->p->worsts == j->keep && ns <= j->p->worst[j->keep - 1].response_ns)
		return;
	snprintf(words, sizeof(words), "tipme profile: %s answered a %s after %llu ms",
		 j->p->table.app[app].name, tipme_profile_kinds[a->kind],
		 (unsigned long long)(ns / TIPME_MS_NS));
	j->next_ns = now_ns + PAUSE_NS;
	j->about = (struct tipme_worst){
		.response_ns = ns, .row = minute, .app = app, .kind = a->kind
	};
	j->asked = !tipme_rings_trigger(j->rings, words);
}

/* --- verdicts --- */

static const char *text_of(struct json_object *o, const char *name)
{
	struct json_object *v;

	return json_object_object_get_ex(o, name, &v) && json_object_is_type(v, json_type_string)
		       ? json_object_get_string(v)
		       : "";
}

static void take_verdict(struct tipme_judge *j)
{
	struct json_object *o = json_tokener_parse(j->text), *v = NULL, *blamed = NULL;
	struct tipme_worst *w = &j->about;

	if (json_object_object_get_ex(o, "verdict", &v)) {
		const char *says = text_of(v, "sentence"),
			   *by = json_object_object_get_ex(v, "blamed", &blamed)
					 ? text_of(blamed, "comm")
					 : "";

		tipme_text_clean(w->verdict, sizeof(w->verdict), says, strlen(says));
		tipme_text_clean(w->by, sizeof(w->by), by, strlen(by));
	}
	json_object_put(o);
}

static void insert(struct tipme_judge *j)
{
	struct tipme_worst *w = j->p->worst;
	unsigned int n = j->p->worsts;

	if (n == j->keep) {
		pid_t child = spawn("rm", w[n - 1].episode, NULL, -1);

		if (child > 0)
			waitpid(child, NULL, 0);
		n--;
	}
	for (; n > 0 && w[n - 1].response_ns < j->about.response_ns; n--)
		w[n] = w[n - 1];
	w[n] = j->about;
	if (j->p->worsts < j->keep)
		j->p->worsts++;
}

static void read_more(struct tipme_judge *j, bool wait)
{
	ssize_t n = 1;

	fcntl(j->out, F_SETFL, wait ? 0 : O_NONBLOCK);
	while (j->len < ANSWER_MAX &&
	       ((n = read(j->out, j->text + j->len, ANSWER_MAX - j->len)) > 0 ||
		(n < 0 && errno == EINTR)))
		j->len += n > 0 ? (size_t)n : 0;
	if (n < 0 && errno == EAGAIN)
		return;
	j->text[j->len] = '\0';
	close(j->out);
	waitpid(j->child, NULL, 0);
	j->child = 0;
	take_verdict(j);
	insert(j);
}

void tipme_judge_step(struct tipme_judge *j, bool finish)
{
	char why[256];

	/* Saving takes some seconds: the recorder goes on for two after the trigger. */
	for (int i = 0; finish && j->asked && i < 100; i++) {
		tipme_rings_update(j->rings, why, sizeof(why));
		usleep(100000);
	}
	if (j->child)
		read_more(j, finish);
}
