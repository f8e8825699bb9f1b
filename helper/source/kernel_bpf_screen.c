// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is asked of graphics devices, and when they show it: programs at the module drm, which may
 * be loaded after the recorder has started. All on the thread that keeps house.
 */
#include "config.h"

#include <unistd.h>

#include <bpf/libbpf.h>

#include "kernel_bpf.h"

#define DRM "/sys/module/drm"

void tipme_bpf_screen_detach(struct bpf_source *src)
{
	for (int i = 0; i < TIPME_SCREEN_PROGRAMS; i++) {
		bpf_link__destroy(src->screen[i]);
		src->screen[i] = NULL;
	}
}

/*
 * One that the kernel refuses is tried again at the next look: a module that is just being loaded
 * has no functions yet.
 */
static void attach(struct bpf_link **link, struct bpf_program *prog)
{
	if (!*link && bpf_program__fd(prog) >= 0)
		*link = bpf_program__attach(prog);
}

bool tipme_bpf_screen_look(struct bpf_source *src)
{
	bool any = false;
	struct bpf_program *prog[TIPME_SCREEN_PROGRAMS] = {
		src->skel->progs.tipme_wayland_screen_atomic,
		src->skel->progs.tipme_wayland_screen_flip,
		src->skel->progs.tipme_wayland_screen_shown,
	};

	if (access(DRM, F_OK))
		return false;
	for (int i = 0; i < TIPME_SCREEN_PROGRAMS; i++) {
		attach(&src->screen[i], prog[i]);
		any |= src->screen[i] != NULL;
	}
	return any;
}
