// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attaches the empty programs, or with "clock" those that read the clock, until standard input
 * closes.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "empty.skel.h"

static int attach(struct empty_bpf *skel, int clock)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, skel->obj) bpf_program__set_autoload(
		prog, (strncmp(bpf_program__name(prog), "clock_", 6) == 0) == clock);
	return empty_bpf__load(skel) || empty_bpf__attach(skel);
}

int main(int argc, char **argv)
{
	struct empty_bpf *skel = empty_bpf__open();
	char c;

	if (!skel || attach(skel, argc > 1 && !strcmp(argv[1], "clock"))) {
		fprintf(stderr, "empty-programs: the kernel refuses them: run as root\n");
		return 1;
	}
	fprintf(stderr, "ready\n");
	while (read(0, &c, 1) > 0)
		continue;
	empty_bpf__destroy(skel);
	return 0;
}
