// SPDX-License-Identifier: GPL-2.0-only
/*
 * A reader that stands still for seconds, as one does that is stopped or waits for a disk, while
 * processes begin and end: it finds each birth, each program with its arguments, and each end.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon-tap.h"
#include "kernel_source.h"

/* 250 programs a second, as tests and builds begin them, for six seconds. */
#define PROGRAMS 1500
#define ENV_BYTES 3000
/* Of so many the queue is filled behind its end, and one record lies across it. */
#define ROUNDS 3

struct found {
	uint32_t pid[PROGRAMS];
	unsigned int births, programs, arguments, ends;
	unsigned int whole, cut; /* environments */
};

static int is_ours(const struct found *f, uint32_t pid)
{
	for (int i = 0; i < PROGRAMS; i++)
		if (f->pid[i] == pid)
			return 1;
	return 0;
}

static int note(void *arg, const struct tipme_life *l)
{
	const struct tipme_life_exec *e = (const void *)l;
	struct found *f = arg;

	if (!is_ours(f, l->pid))
		return 0;
	f->births += l->kind == TIPME_LIFE_FORK;
	f->ends += l->kind == TIPME_LIFE_EXIT;
	if (l->kind != TIPME_LIFE_EXEC)
		return 0;
	f->programs += l->exe_len == 9 && !memcmp(e->exe, "/bin/true", 9);
	f->arguments += l->args_len == 10 && !memcmp(e->args, "true\0more", 9);
	f->whole += l->env_len == l->env_total && l->env_len == ENV_BYTES &&
		    !memcmp(e->env, "LONG=eee", 8) && !e->env[l->env_len - 1];
	f->cut += !l->env_len && l->env_total == ENV_BYTES;
	return 0;
}

static uint32_t program_run(char *const env[])
{
	char *const args[] = { "true", "more", NULL };
	pid_t pid = fork();

	if (!pid) {
		execve("/bin/true", args, env);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	return (uint32_t)pid;
}

int main(void)
{
	struct tipme_kernel_options opt = { .source = TIPME_SOURCE_KERNEL_BPF,
					    .classes_given = 1,
					    .classes = 1U << TIPME_CLASS_IDENTITY };
	static struct found f;
	static char text[ENV_BYTES];
	char *const env[] = { text, NULL };
	struct tipme_kernel_source *src;
	struct tipme_kernel_stats st;
	char why[256] = "";

	if (geteuid()) {
		printf("1..0 # SKIP recording a kernel takes root\n");
		return 0;
	}
	if (tipme_kernel_source_open(&src, &opt, why, sizeof(why))) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	memset(text, 'e', sizeof(text) - 1);
	memcpy(text, "LONG=", 5);
	tipme_kernel_source_lives_take(src, note, &f);
	for (int round = 0; round < ROUNDS; round++) {
		memset(&f, 0, sizeof(f));
		for (int i = 0; i < PROGRAMS; i++)
			f.pid[i] = program_run(env);
		tipme_kernel_source_lives_take(src, note, &f);
		tipme_kernel_source_stats(src, &st);
		printf("# %u births, %u programs, %u ends; %u environments, %u cut; %" PRIu64
		       " lost\n",
		       f.births, f.programs, f.ends, f.whole, f.cut, st.lost.lives);
		ok(!st.lost.lives, "nothing is lost");
		ok(f.births == PROGRAMS && f.ends == PROGRAMS, "each birth and each end is there");
		ok(f.programs == PROGRAMS && f.arguments == PROGRAMS,
		   "each program with its arguments");
		ok(f.whole && f.whole + f.cut == PROGRAMS,
		   "environments are whole, or said to be cut");
	}
	tipme_kernel_source_close(src);
	return tap_end();
}
