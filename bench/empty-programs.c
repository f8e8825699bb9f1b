// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attaches the empty programs, or with "clock" those that read the clock, with "stack" those that
 * unwind sleepers, or with "wayland LIBRARY" an empty one where the recorder probes that
 * libwayland-server, until standard input closes.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "empty.skel.h"
#include "wayland_library.h"

/* Those whose names begin so. */
static int load(struct empty_bpf *skel, const char *begin)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, skel->obj) bpf_program__set_autoload(
		prog, strncmp(bpf_program__name(prog), begin, strlen(begin)) == 0);
	return empty_bpf__load(skel);
}

static int probe(struct empty_bpf *skel, const char *path)
{
	struct tipme_wayland_library lib;
	int err = tipmed_wayland_library_open(path, &lib);

	if (err) {
		fprintf(stderr, "empty-programs: %s: %s\n", path, lib.why);
		return err;
	}
	for (unsigned int i = 0; i < lib.count; i++)
		if (!bpf_program__attach_perf_event(skel->progs.probe_call, lib.probe[i].fd))
			return -1;
	return 0;
}

static int attach(struct empty_bpf *skel, int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "wayland"))
		return load(skel, "probe_") || probe(skel, argv[2]);
	return load(skel, argc > 1 ? argv[1] : "empty") || empty_bpf__attach(skel);
}

int main(int argc, char **argv)
{
	struct empty_bpf *skel = empty_bpf__open();
	char c;

	if (!skel || attach(skel, argc, argv)) {
		fprintf(stderr, "empty-programs: the kernel refuses them: run as root\n");
		return 1;
	}
	fprintf(stderr, "ready\n");
	while (read(0, &c, 1) > 0)
		continue;
	empty_bpf__destroy(skel);
	return 0;
}
