/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of the backend of tracing programs share: its state, and what they offer each
 * other.
 */
#ifndef TIPME_KERNEL_BPF_H
#define TIPME_KERNEL_BPF_H

#include <stdarg.h>

#include <bpf/libbpf.h>

#include "kernel_backend.h"
#include "kernel_growth.h"
#include "kernel_tables.h"
#include "kernel_source.skel.h"

/* Programs of classes, of which two for each CPU. */
#define TIPME_LINKS_MAX (64 + 2 * 1024)

struct map_memory {
	void *base;
	size_t bytes;
};

struct class_link {
	struct bpf_link *link;
	unsigned int which; /* class */
	int cpu; /* whose events the program takes; -1: it is attached to no events */
	int event_fd; /* the link's */
	uint64_t enabled_ns; /* for how long the events were on at the last look */
};

#define TIPME_COST_ROUNDS 17

/* What the kernel measured of one class, round by round. */
struct tipme_bpf_rounds {
	uint64_t ns, runs; /* in all, up to the newest round */
	uint32_t mean_ns[TIPME_COST_ROUNDS]; /* of each round; the oldest is replaced */
	unsigned int count; /* rounds so far */
};

/* A file whose functions are probed, or that was refused. */
#define TIPME_WAYLAND_FILES 16

struct wayland_file {
	uint64_t dev, ino; /* ino 0: no entry */
	uint64_t seen; /* the look that found it last */
	struct bpf_link *link[TIPME_WAYLAND_PROBES];
};

/* Those of screen.bpf.h */
#define TIPME_SCREEN_PROGRAMS 3

/* The queue of births and ends of processes. */
struct bpf_lives {
	struct map_memory taken, filled;
	int epoll_fd; /* -1: there is no queue */
};

struct bpf_source {
	struct tipme_kernel_source base; /* first: it is what others hold */
	struct kernel_source_bpf *skel;
	struct map_memory pool, cells, spare_cells, cpus, stacks, user_stacks;
	struct tipme_growth growth;
	int segment_fd; /* only while it is loaded: what segments are like */
	struct tipme_kernel_options opt; /* complete */
	unsigned int user_entries;
	/* classes that it records beside another source; 0: it stands alone, and records all */
	uint32_t beside;
	unsigned int programs;
	uint64_t refused; /* parts, by the numbers of kernel_bpf_parts.c */
	/* of classes; those of the rest are the skeleton's */
	struct class_link links[TIPME_LINKS_MAX];
	unsigned int link_count;
	int measure_fd; /* -1: we do not have the kernel measure (any more) */
	int measure_busy;
	uint64_t measure_due_ns, measured_ns; /* next look; when costs were found last */
	struct tipme_bpf_rounds rounds[TIPME_CLASSES + 1];
	struct tipme_record_cost cost[TIPME_CLASSES + 1];
	struct wayland_file wayland[TIPME_WAYLAND_FILES];
	uint64_t wayland_looks;
	unsigned int wayland_late; /* how often nobody has looked into a library in time */
	/* what class wayland tells of the owner's compositors; -1: it cannot be passed on */
	int wayland_ring;
	/* what class wayland has attached to the graphics devices */
	struct bpf_link *screen[TIPME_SCREEN_PROGRAMS];
	struct bpf_lives lives;
	struct tipme_life_exec exec; /* the one that is taken */
};

static inline struct bpf_source *bpf_of(struct tipme_kernel_source *base)
{
	return (struct bpf_source *)base;
}

/* --- loading: kernel_bpf_load.c --- */

/*
 * Opens and loads what this kernel can run; nothing is attached. Returns 0, or -errno and a
 * sentence.
 */
int tipme_bpf_load(struct bpf_source *src, char *why, size_t why_len);
const void *tipme_bpf_image(unsigned int i, size_t *bytes);

/* Says in words why the kernel refused a step; returns err. */
int tipme_bpf_refused(int err, const char *step, char *why, size_t why_len);

/* How many stacks of user space there is room for, if that is not given. */
unsigned int tipme_bpf_user_entries(const struct tipme_kernel_options *opt);

/*
 * Memory shared with the programs. Returns 0 or -errno; tipme_bpf_unmap_all() takes what was mapped
 * so far.
 */
int tipme_bpf_map_all(struct bpf_source *src);
void tipme_bpf_unmap_all(struct bpf_source *src);

/* The first content of the pool; from then on we only read. */
void tipme_bpf_pool_init(struct bpf_source *src);

/* --- what programs are parts of: kernel_bpf_parts.c --- */

/* The class that a program belongs to, by its name; -1: it always runs. */
int tipme_bpf_class_of(const struct bpf_program *prog);

/* Does not load what belongs to programs that were refused before. */
void tipme_bpf_leave_out(const struct bpf_source *src);

/* Each warning of libbpf goes here. */
void tipme_bpf_refusal_note(const char *format, va_list args);
/*
 * After loading has failed: 1 where that was a program that can be left out; then it is, from now
 * on, and what belongs to it, and a sentence says so.
 */
int tipme_bpf_refusal_take(struct bpf_source *src, int err);

/* --- the pool grows: kernel_bpf_growth.c --- */

/* An array as each segment is; a descriptor, or -errno. */
int tipme_bpf_segment_template(const struct tipme_pool_view *v);
void tipme_bpf_growth_init(struct bpf_source *src);
int tipme_bpf_adapt(struct tipme_kernel_source *base, int *refused);
void tipme_bpf_hold(struct tipme_kernel_source *base, int on);

/* --- record classes: kernel_bpf_classes.c --- */

/* Which there are programs for here. */
void tipme_bpf_classes_look(struct bpf_source *src);

/* All of a class, or only what is attached to events. */
void tipme_bpf_class_detach(struct bpf_source *src, unsigned int which, bool only_events);
int tipme_bpf_class_set(struct tipme_kernel_source *base, unsigned int which, int on);
int tipme_bpf_cpus_look(struct tipme_kernel_source *base);

/* --- probes in Wayland compositors: kernel_bpf_wayland.c --- */

/* Looks for libraries; -errno where the kernel lets us probe none. */
int tipme_bpf_wayland_attach(struct bpf_source *src);
void tipme_bpf_wayland_detach(struct bpf_source *src);
void tipme_bpf_wayland_look(struct tipme_kernel_source *base);
/*
 * What is asked of graphics devices and shown: attached as soon as their module is loaded. Whether
 * any is.
 */
bool tipme_bpf_screen_look(struct bpf_source *src);
void tipme_bpf_screen_detach(struct bpf_source *src);
void tipme_bpf_wayland_freeze(struct bpf_source *src);
int tipme_bpf_wayland_fd(struct tipme_kernel_source *base);

/* --- what a record costs: kernel_bpf_cost.c --- */

void tipme_bpf_measure_begin(struct bpf_source *src);
void tipme_bpf_measure_look(struct bpf_source *src);
void tipme_bpf_measure_end(struct bpf_source *src);

/* --- births and ends of processes: kernel_bpf_lives.c --- */

void tipme_bpf_lives_open(struct bpf_source *src);
void tipme_bpf_lives_close(struct bpf_source *src);
int tipme_bpf_lives_fd(struct tipme_kernel_source *base);
int tipme_bpf_lives_take(struct tipme_kernel_source *base,
			 int (*fn)(void *arg, const struct tipme_life *life), void *arg);

/* --- what was found: kernel_bpf_read.c --- */

int tipme_bpf_suspended(struct tipme_kernel_source *base, uint64_t since_ns, uint64_t *from_ns,
			uint64_t *to_ns);
int tipme_bpf_picture(struct tipme_kernel_source *base, struct tipme_picture *picture,
		      struct tipme_kernel_thread *threads, unsigned int max);
struct tipme_kernel_tables tipme_bpf_tables_of(const struct bpf_source *src);
int tipme_bpf_stacks(struct tipme_kernel_source *base,
		     int (*fn)(void *arg, uint32_t stack_id, const uint64_t *frames,
			       unsigned int count),
		     void *arg);
int tipme_bpf_user_stacks(struct tipme_kernel_source *base,
			  int (*fn)(void *arg, const struct tipme_user_frames *f), void *arg);
void tipme_bpf_stacks_old(struct tipme_kernel_source *base, uint64_t before_ns);
int tipme_bpf_mappings(struct tipme_kernel_source *base, uint32_t pid, struct tipme_mapping *m,
		       unsigned int max);

#endif
