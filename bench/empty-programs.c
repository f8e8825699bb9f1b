// SPDX-License-Identifier: GPL-2.0-only
/* Attaches the empty programs until standard input closes. */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include "empty.skel.h"

int main(void)
{
	struct empty_bpf *skel = empty_bpf__open_and_load();
	char c;

	if (!skel || empty_bpf__attach(skel)) {
		fprintf(stderr, "empty-programs: the kernel refuses them: run as root\n");
		return 1;
	}
	fprintf(stderr, "ready\n");
	while (read(0, &c, 1) > 0)
		continue;
	empty_bpf__destroy(skel);
	return 0;
}
