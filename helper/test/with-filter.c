// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a program under seccomp filters that allow everything, slowly: `with-filter N PROGRAM ...`.
 * Each looks at an argument, so that the kernel cannot know beforehand what it will answer.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define STEPS 1000

static int add_filter(void)
{
	static struct sock_filter code[STEPS + 2];
	struct sock_fprog program = { .len = STEPS + 2, .filter = code };

	code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       offsetof(struct seccomp_data, args));
	for (int i = 1; i <= STEPS; i++)
		code[i] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, (unsigned)i);
	code[STEPS + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 64;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
		perror("with-filter: no new privileges");
		return 77;
	}
	for (int i = 0; i < atoi(argv[1]); i++)
		if (add_filter()) {
			perror("with-filter: seccomp");
			return 77;
		}
	execvp(argv[2], argv + 2);
	fprintf(stderr, "with-filter: %s: %s\n", argv[2], strerror(errno));
	return 127;
}
