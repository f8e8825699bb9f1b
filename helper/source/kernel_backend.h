/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What stands behind a kernel source: one table for each way of recording. All of them write into a
 * pool of the same form.
 */
#ifndef TIPME_KERNEL_BACKEND_H
#define TIPME_KERNEL_BACKEND_H

#include "kernel_copy.h"
#include "kernel_source.h"
#include "pool.h"

/* Sentences about programs that were left out, of at most 200 bytes each. */
#define TIPME_LEFT_OUT_MAX 4

/* The first member of each backend's own structure. */
struct tipme_kernel_source {
	const struct tipme_kernel_backend *backend; /* set by tipme_kernel_source_open() */
	/* set by the backend's open: the copier reads it */
	struct tipme_pool_view view;
	/* set by who made it: whose pool is copied, by view and scratch: itself, or one of a pair
	 */
	struct tipme_kernel_source *pool;
	struct tipme_kernel_seen *scratch; /* set by tipme_kernel_source_open() */
	/* set by the backend's open: what it can record here */
	uint32_t classes_able;
	/* what it records; changed by tipme_kernel_source_class_set() */
	uint32_t classes;
	/* set by class_set(): see tipme_kernel_source_no_events() */
	int no_events[TIPME_CLASSES];
	/* set by the backend's open: see tipme_kernel_source_left_out() */
	char left_out[TIPME_LEFT_OUT_MAX][200];
	unsigned int left_out_count;
	/* set by the backend's open: class priority has a record of each change */
	int tells_affinity;
	int adapted; /* of tipme_kernel_source_adapt(): it was called before */
};

/*
 * Ids of kernel stacks of a source that stands beside another have this bit, those of the other
 * never (its table has at most 32768).
 */
#define TIPME_STACKS_BESIDE 0x8000
#define TIPME_STACKS_BESIDE_MAX 16384

struct tipme_kernel_backend {
	enum tipme_source source;
	const char *name; /* as the schema names the source */
	const char *second; /* of a pair: the second one's name */
	/*
	 * Begins to record. `opt` has been checked. Returns 0, or -errno and a sentence in `why`;
	 * -ENOENT: it is not there, which is no news.
	 */
	int (*open)(struct tipme_kernel_source **src, const struct tipme_kernel_options *opt,
		    char *why, size_t why_len);
	/*
	 * May be NULL. The same for a source beside another, with a small pool: it records none but
	 * `classes`, and takes no pictures.
	 */
	int (*open_beside)(struct tipme_kernel_source **src, const struct tipme_kernel_options *opt,
			   uint32_t classes, char *why, size_t why_len);
	int wants_beside; /* there are classes that it cannot record, and others can */
	/* of those that it can: a source beside it records what these leave out */
	uint32_t classes_partly;
	void (*close)(struct tipme_kernel_source *src);
	int (*stats)(struct tipme_kernel_source *src, struct tipme_kernel_stats *stats);
	/*
	 * May be NULL: its pool has the size it began with. Otherwise see
	 * tipme_kernel_source_adapt(); the pool's view has subs_most.
	 */
	int (*adapt)(struct tipme_kernel_source *src, int *refused);
	/* May be NULL: see tipme_kernel_source_image(). */
	const void *(*image)(unsigned int i, size_t *bytes);
	/* May be NULL: around all that a copy reads of the pool, on the thread that copies. */
	void (*hold)(struct tipme_kernel_source *src, int on);
	int (*picture)(struct tipme_kernel_source *src, struct tipme_picture *picture,
		       struct tipme_kernel_thread *threads, unsigned int max);
	int (*stacks)(struct tipme_kernel_source *src,
		      int (*fn)(void *arg, uint32_t stack_id, const uint64_t *frames,
				unsigned int count),
		      void *arg);
	/* All may be NULL: see tipme_kernel_source_user_stacks() and those that follow it. */
	int (*user_stacks)(struct tipme_kernel_source *src,
			   int (*fn)(void *arg, const struct tipme_user_frames *f), void *arg);
	int (*mappings)(struct tipme_kernel_source *src, uint32_t pid, struct tipme_mapping *m,
			unsigned int max);
	int (*lives_fd)(struct tipme_kernel_source *src);
	int (*lives_take)(struct tipme_kernel_source *src,
			  int (*fn)(void *arg, const struct tipme_life *life), void *arg);
	/*
	 * May be NULL: it has no table, or one with room for all. Stacks that nothing has named
	 * since then may make room for others.
	 */
	void (*stacks_old)(struct tipme_kernel_source *src, uint64_t before_ns);
	/* May be NULL, unless it has several pools: see tipme_kernel_source_stacks_age(). */
	uint64_t (*stacks_age)(struct tipme_kernel_source *src, uint64_t keep_ns);
	/* May be NULL. For stacks of one frame whose name is known, but not its address. */
	int (*named_stacks)(struct tipme_kernel_source *src,
			    int (*fn)(void *arg, uint32_t stack_id, const char *name), void *arg);
	/*
	 * May be NULL: it has no classes. Begins or ends to record one that is able and is not so
	 * already. Returns 0 or -errno.
	 */
	int (*class_set)(struct tipme_kernel_source *src, unsigned int which, int on);
	/* May be NULL: see tipme_kernel_source_cpus_look(). */
	int (*cpus_look)(struct tipme_kernel_source *src);
	/* May be NULL: see tipme_kernel_source_wayland_look(). */
	void (*wayland_look)(struct tipme_kernel_source *src);
	/* May be NULL: see tipme_kernel_source_wayland_fd(). */
	int (*wayland_fd)(struct tipme_kernel_source *src);
	/* May be NULL: see tipme_kernel_source_suspended(). */
	int (*suspended)(struct tipme_kernel_source *src, uint64_t since_ns, uint64_t *from_ns,
			 uint64_t *to_ns);
	/* May be NULL: the source triggers nothing by itself. */
	int (*trigger_fd)(struct tipme_kernel_source *src);
	int (*trigger_taken)(struct tipme_kernel_source *src, uint32_t *by, char *text, size_t len);
	/*
	 * May be NULL: it is one source, with one pool. Who of several records a class, and so has
	 * the tables that its records name; memory of a copy, and the copy itself
	 * (tipme_kernel_source_copy_part(); `more`: it goes on).
	 */
	struct tipme_kernel_source *(*of_class)(struct tipme_kernel_source *src,
						unsigned int which);
	size_t (*copy_bytes)(const struct tipme_kernel_source *src);
	int (*copy_alloc)(const struct tipme_kernel_source *src, struct tipme_kernel_copy *c);
	int (*copy_part)(struct tipme_kernel_source *src, struct tipme_kernel_copy *c, int more,
			 size_t bytes);
};

/*
 * Makes one source of two, which have been opened: the second records the classes that it is able
 * to, the first all others. Who closes it closes both. NULL: there is no memory; both stay.
 */
struct tipme_kernel_source *tipme_kernel_pair(struct tipme_kernel_source *first,
					      struct tipme_kernel_source *second);
/* Who of a source that may be a pair records a class. */
struct tipme_kernel_source *tipme_kernel_source_of_class(struct tipme_kernel_source *src,
							 unsigned int which);

/*
 * By default a pool that does not grow takes at most one part in so many of the machine's memory;
 * 27 MB on any machine. One that does begins with half of that.
 */
#define TIPME_POOL_RAM_PART 50
/* And what it grows to while it records, at most. */
#define TIPME_POOL_GROWN_RAM_PART 25

struct tipme_kernel_machine {
	unsigned int possible, online; /* CPUs */
	uint64_t ram_bytes;
	int grows; /* the pool may become larger while it is written */
};

/*
 * Completes `opt` with the defaults, and chooses the pool's form. Where nobody has said a rate, it
 * is reckoned with 10,000 records a second of each CPU; with half of that, where the pool grows.
 */
void tipme_kernel_sizes_for(struct tipme_pool_view *view, struct tipme_kernel_options *opt,
			    const struct tipme_kernel_machine *m);
/* The same for this machine, of so many possible CPUs; `grows`: the backend can have it grow. */
void tipme_kernel_sizes(struct tipme_pool_view *view, struct tipme_kernel_options *opt,
			unsigned int cpus, int grows);

extern const struct tipme_kernel_backend tipme_kernel_bpf, tipme_kernel_module;
extern const struct tipme_kernel_backend tipme_kernel_proc;

#endif
