// SPDX-License-Identifier: GPL-2.0-only
/* The thread that saves episodes, as the owner of the library. */
#include "config.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "devices.h"
#include "episode.h"
#include "kallsyms.h"
#include "kernel_numbers.h"
#include "library.h"
#include "manifest.h"
#include "privileges.h"
#include "reserve.h"
#include "retention.h"
#include "tipme_schema_text.h"
#include "told.h"
#include "unseen.h"
#include "writer.h"

/*
 * Locked memory is populated memory: no 8 MB of stack for a thread that needs a few pages. The
 * record file's buffer is on it.
 */
#define STACK_BYTES (512 << 10)

/* More threads than one process has as a rule. */
#define UNSEEN_MAX 512

static struct tipme_file_header file_header(const struct tipmed_snapshot *snap, uint32_t source)
{
	struct tipme_file_header head = {
		.byte_order = TIPME_BYTE_ORDER,
		.major = TIPME_FORMAT_MAJOR,
		.minor = TIPME_FORMAT_MINOR,
		.header_len = sizeof(head),
		.source = source,
		.created_ns = snap->copied_ns,
		.trigger_ns = snap->trigger.ns,
		.episode_id = snap->trigger.episode_id,
	};

	memcpy(head.magic, TIPME_FILE_MAGIC, sizeof(head.magic));
	return head;
}

/* When the oldest record was made that any CPU still has; 0: none has any. */
static uint64_t window_begin(const struct tipmed_snapshot *snap)
{
	const struct tipme_kernel_copy *copy = &snap->kernel;
	uint64_t first_ns = UINT64_MAX;

	for (unsigned int cpu = 0; cpu < copy->cpus; cpu++)
		if (copy->coverage[cpu].records && copy->coverage[cpu].first_ns < first_ns)
			first_ns = copy->coverage[cpu].first_ns;
	return first_ns == UINT64_MAX ? 0 : first_ns;
}

static int save_buffer(struct tipmed_episode *episode, struct tipmed_record_file *file,
		       const char *name, const struct tipmed_snapshot *snap, uint32_t source,
		       const void *buf, size_t len)
{
	struct tipme_file_header head = file_header(snap, source);

	if (!tipmed_record_file_begin(episode, file, name, &head))
		tipmed_record_file_add(file, buf, len);
	return tipmed_record_file_end(file);
}

static int save_x(struct tipmed_episode *episode, struct tipmed_record_file *file,
		  const struct tipmed_snapshot *snap)
{
	int err = 0;

	for (int i = 0; !err && i < snap->x.parts; i++) {
		const struct tipmed_x_part *part = &snap->x.part[i];

		err = save_buffer(episode, file, part->file, snap, part->source, part->copy->buf,
				  part->copy->len);
	}
	return err;
}

static struct tipme_section section_of(uint64_t first_ns, uint64_t last_ns, uint64_t count,
				       uint64_t body_len)
{
	return (struct tipme_section){
		.ts_ns = first_ns,
		.type = TIPME_SECTION,
		.len8 = sizeof(struct tipme_section) / 8,
		.source = TIPME_SOURCE_TIPMED,
		.first_ns = first_ns,
		.last_ns = last_ns,
		.count = count,
		.body_len = body_len,
	};
}

/*
 * Who ran and was in no picture; `len` bytes of those are in the writer's buffer. Returns how many,
 * in *found, which is the caller's to free.
 */
static uint32_t look_unseen(const struct tipmed_writer *w, size_t len, struct tipme_thread **found)
{
	const struct tipmed_snapshot *snap = w->snap;
	struct tipmed_unseen *unseen = tipmed_unseen_new();
	uint32_t n = 0;

	*found = calloc(UNSEEN_MAX, sizeof(**found));
	if (unseen && *found) {
		tipmed_unseen_known(unseen, w->pictures_buf, len);
		for (uint32_t i = 0; i < snap->picture.changed; i++)
			tipmed_unseen_known(unseen, &snap->threads[i].rec,
					    sizeof(snap->threads[i].rec));
		tipmed_unseen_known(unseen, snap->kernel.buf, snap->kernel.len);
		n = tipmed_unseen_look(unseen, snap->kernel.buf, snap->kernel.len,
				       window_begin(snap), *found, UNSEEN_MAX);
	}
	tipmed_unseen_free(unseen);
	return n;
}

/*
 * The ring of changes up to now, then the full look at the trigger, then those whom both have
 * missed.
 */
static void add_pictures(struct tipmed_record_file *file, struct tipmed_writer *w,
			 struct tipmed_manifest *m, struct tipme_numbers *numbers)
{
	const struct tipmed_snapshot *snap = w->snap;
	uint64_t count;
	size_t len =
		tipmed_pictures_copy(w->pictures, w->pictures_buf, &count, &m->pictures_first_ns);
	uint32_t full = snap->picture.changed;
	struct tipme_thread *found;
	uint32_t missed = look_unseen(w, len, &found);
	int err = tipme_numbers_apply(numbers, w->pictures_buf, len);

	for (uint32_t i = 0; i < full && !err; i++)
		err = tipme_numbers_apply(numbers, &snap->threads[i].rec,
					  sizeof(snap->threads[i].rec));
	if (err && !file->error)
		file->error = err;
	m->pictures_count = count + 1 + full + missed;
	m->pictures_last_ns = snap->end_ns;
	if (!m->pictures_first_ns)
		m->pictures_first_ns = snap->picture.ts_ns;
	struct tipme_section section = section_of(
		m->pictures_first_ns, m->pictures_last_ns, m->pictures_count,
		len + sizeof(snap->picture) + (full + missed) * sizeof(struct tipme_thread));

	tipmed_record_file_add(file, &section, sizeof(section));
	tipmed_record_file_add(file, w->pictures_buf, len);
	tipmed_record_file_add(file, &snap->picture, sizeof(snap->picture));
	for (uint32_t i = 0; i < full; i++)
		tipmed_record_file_add(file, &snap->threads[i].rec, sizeof(snap->threads[i].rec));
	tipmed_record_file_add(file, found, missed * sizeof(*found));
	free(found);
}

struct names {
	struct tipmed_record_file *file;
	uint64_t count;
};

static int name_add(void *arg, const void *rec, size_t len)
{
	struct names *names = arg;

	tipmed_record_file_add(names->file, rec, len);
	names->count++;
	return names->file->error;
}

/* The table of symbols is read for each episode: it is large, and modules come and go. */
static void add_names(struct tipmed_record_file *file, struct tipmed_writer *w,
		      const struct tipme_numbers *numbers)
{
	const struct tipmed_snapshot *snap = w->snap;
	struct tipme_section section = section_of(0, 0, 0, 0);
	struct tipme_kallsyms *symbols = NULL;
	struct names names = { .file = file };
	uint64_t at = file->body_len;

	/* Where threads are looked at in /proc, the kernel names what they sleep in by itself. */
	if (tipme_kernel_source_kind(snap->source) != TIPME_SOURCE_PROC_SAMPLED)
		tipme_kallsyms_load(&symbols, NULL, NULL);
	tipmed_record_file_add(file, &section, sizeof(section));
	int err = tipme_kernel_source_names(snap->source, symbols, numbers, name_add, &names);

	tipmed_code_look(w->code, tipme_clock_ns());
	if (!err)
		err = tipmed_code_emit(w->code, window_begin(snap), numbers, name_add, &names);
	if (err && !file->error)
		file->error = err;
	section.count = names.count;
	section.body_len = file->body_len - at - sizeof(section);
	tipmed_record_file_patch(file, at, &section, sizeof(section));
	tipme_kallsyms_free(symbols);
}

/* What came with the trigger, as far as it is valid. */
static void add_told(struct tipmed_record_file *file, const struct tipmed_snapshot *snap,
		     struct tipmed_manifest *m)
{
	uint64_t count;
	size_t len;
	void *records = snap->trigger.told_fd
				? tipmed_told_read(snap->trigger.told_fd, &len, &count)
				: NULL;

	if (!records)
		return;
	struct tipme_section section = section_of(m->pictures_first_ns, snap->end_ns, count, len);

	tipmed_record_file_add(file, &section, sizeof(section));
	tipmed_record_file_add(file, records, len);
	free(records);
}

static int save_threads(struct tipmed_episode *episode, struct tipmed_record_file *file,
			struct tipmed_writer *w, struct tipmed_manifest *m,
			struct tipme_numbers *numbers)
{
	struct tipme_file_header head = file_header(w->snap, TIPME_SOURCE_TIPMED);

	if (!tipmed_record_file_begin(episode, file, "threads.rec", &head)) {
		add_pictures(file, w, m, numbers);
		add_names(file, w, numbers);
		add_told(file, w->snap, m);
	}
	return tipmed_record_file_end(file);
}

/* Records gathered in memory: who gives them holds a lock, and must not wait for a disk. */
struct gathered {
	char *buf;
	size_t len, cap;
	uint64_t count;
};

static int gather(void *arg, const void *rec, size_t len)
{
	struct gathered *g = arg;

	if (g->len + len > g->cap) {
		size_t cap = g->cap ? g->cap * 2 : 1 << 20;
		char *buf = realloc(g->buf, cap);

		if (!buf)
			return -ENOMEM;
		g->buf = buf;
		g->cap = cap;
	}
	memcpy(g->buf + g->len, rec, len);
	g->len += len;
	g->count++;
	return 0;
}

/* Without memory for all of it, what was gathered until then is saved. */
static int save_identity(struct tipmed_episode *episode, struct tipmed_record_file *file,
			 struct tipmed_writer *w, struct tipmed_manifest *m)
{
	struct tipme_file_header head = file_header(w->snap, TIPME_SOURCE_TIPMED);
	struct gathered g = { 0 };

	if (tipmed_identity_emit(w->identity, window_begin(w->snap), w->owner, gather, &g) ||
	    tipmed_cgroups_names(w->cgroups, gather, &g) || tipmed_devices_names(gather, &g))
		m->identity_cut = true;
	tipmed_identity_facts(w->identity, &m->identity);
	m->identity_count = g.count;
	struct tipme_section section = section_of(0, 0, g.count, g.len);

	if (!tipmed_record_file_begin(episode, file, "identity.rec", &head)) {
		tipmed_record_file_add(file, &section, sizeof(section));
		tipmed_record_file_add(file, g.buf, g.len);
	}
	free(g.buf);
	return tipmed_record_file_end(file);
}

/* What was lost since the oldest record that any CPU still has. */
static void lost_in_window(const struct tipmed_writer *w, struct tipmed_manifest *m)
{
	uint64_t first_ns = window_begin(w->snap);
	struct tipme_kernel_stats stats;
	struct tipme_kernel_lost before;

	tipmed_watch_lost_before(w->watch, first_ns ? first_ns : UINT64_MAX, &before);
	if (tipme_kernel_source_stats(w->snap->source, &stats))
		return;
	memcpy(m->cost, stats.cost, sizeof(m->cost));
	m->lost = (struct tipme_kernel_lost){
		.pool = stats.lost.pool - before.pool,
		.nested = stats.lost.nested - before.nested,
		/* A call that was left out may turn out later to have been worth no record. */
		.missed = stats.lost.missed > before.missed ? stats.lost.missed - before.missed : 0,
		.stack_table = stats.lost.stack_table - before.stack_table,
		.sleep_table = stats.lost.sleep_table - before.sleep_table,
		.lives = stats.lost.lives - before.lives,
	};
}

static int save_manifest(struct tipmed_episode *episode, struct tipmed_manifest *m)
{
	char *text = tipmed_manifest_text(m);
	int err =
		text ? tipmed_episode_text(episode, "manifest.json", text, strlen(text)) : -ENOMEM;

	free(text);
	return err;
}

/*
 * The copy is the recorder's memory as it was: the addresses in it go before anything is written.
 */
static int save_kernel(struct tipmed_episode *episode, struct tipmed_record_file *file,
		       const struct tipmed_snapshot *snap, struct tipme_numbers *numbers)
{
	int err = tipme_numbers_apply(numbers, snap->kernel.buf, snap->kernel.len);

	return err ? err
		   : save_buffer(episode, file, "kernel.rec", snap,
				 tipme_kernel_source_kind(snap->source), snap->kernel.buf,
				 snap->kernel.len);
}

static int save_files(struct tipmed_writer *w, struct tipmed_episode *episode,
		      struct tipmed_record_file *file, struct tipme_numbers *numbers)
{
	const struct tipmed_snapshot *snap = w->snap;
	struct tipmed_manifest m = { .opt = w->opt,
				     .limits = w->limits,
				     .snap = snap,
				     .recorder_start_ns = w->start_ns,
				     .suspends = w->suspends };
	int err = save_kernel(episode, file, snap, numbers);

	if (!err)
		err = save_threads(episode, file, w, &m, numbers);
	if (!err)
		err = save_identity(episode, file, w, &m);
	if (!err)
		err = save_x(episode, file, snap);
	if (!err)
		err = tipmed_episode_text(episode, "schema", tipme_schema_text,
					  sizeof(tipme_schema_text) - 1);
	if (!err && snap->trigger.words[0])
		err = tipmed_episode_text(episode, "note.txt", snap->trigger.words,
					  strlen(snap->trigger.words));
	lost_in_window(w, &m);
	m.classes = tipmed_classes_get(w->classes, &m.classes_able);
	return err ? err : save_manifest(episode, &m);
}

static int save_episode(struct tipmed_writer *w)
{
	struct tipmed_snapshot *snap = w->snap;
	struct tipmed_record_file file;
	struct tipmed_episode episode;
	struct tipme_numbers *numbers = NULL;
	int err = tipmed_episode_begin(&episode, w->library_fd, snap->trigger.id);

	if (!err)
		err = tipme_numbers_new(&numbers);
	if (!err)
		err = save_files(w, &episode, &file, numbers);
	tipme_numbers_free(numbers);
	if (!err)
		err = tipmed_episode_commit(&episode);
	tipmed_episode_abandon(&episode);
	if (err)
		snprintf(snap->saved_text, sizeof(snap->saved_text),
			 "%s: %s: recording goes on; make room or mend it, then ask again",
			 w->opt->library, strerror(-err));
	else
		snprintf(snap->saved_text, sizeof(snap->saved_text), "%s/%s", w->opt->library,
			 snap->trigger.id);
	return err;
}

static void save(struct tipmed_writer *w)
{
	struct tipmed_snapshot *snap = w->snap;
	int err = tipmed_library_follow(w->opt->library, w->owner, &w->library_fd, snap->saved_text,
					sizeof(snap->saved_text));

	if (!err)
		err = save_episode(w);
	if (snap->trigger.told_fd)
		close(snap->trigger.told_fd);
	snap->trigger.told_fd = 0;
	snap->saved_error = err;
}

/* Acquire: pairs with the store in tipmed_writer_save(), after which the snapshot is ours. */
static bool save_if_asked(struct tipmed_writer *w)
{
	if (atomic_load_explicit(&w->save_state, memory_order_acquire) != TIPMED_SAVE_ASKED)
		return false;
	save(w);
	malloc_trim(0); /* kernel symbols and names took some, which would stay locked */
	tipmed_reserve_give_back(w->pictures_buf, tipmed_pictures_bytes());
	if (!w->snap->saved_error)
		w->gone += tipmed_retention_keep(&w->shelf, w->library_fd, &w->opt->keep,
						 w->snap->trigger.id);
	atomic_store_explicit(&w->save_state, TIPMED_SAVE_DONE, memory_order_release);
	return true;
}

static void *writer_run(void *arg)
{
	struct tipmed_writer *w = arg;

	w->start_error =
		tipmed_privileges_drop(w->user, &(struct tipmed_file_owner){ w->owner, w->group });
	if (!w->start_error)
		tipmed_episodes_sweep(w->library_fd);
	sem_post(&w->ready);
	/*
	 * Ten thousand episodes take seconds the first time, for which nobody shall have to wait.
	 */
	if (!w->start_error && tipmed_retention_limits(&w->opt->keep))
		tipmed_shelf_read(&w->shelf, w->library_fd);
	while (!w->start_error) {
		while (sem_wait(&w->work) && errno == EINTR)
			;
		bool quit = w->quit;
		bool saved = save_if_asked(w);

		if (tipmed_notes_save(&w->notes, w->library_fd) || saved)
			eventfd_write(w->done_fd, 1);
		if (quit)
			break;
	}
	tipmed_shelf_free(&w->shelf);
	return NULL;
}

int tipmed_writer_start(struct tipmed_writer *w)
{
	pthread_attr_t attr;

	w->pictures_buf = tipmed_reserve_new(tipmed_pictures_bytes());
	tipmed_reserve_give_back(w->pictures_buf, tipmed_pictures_bytes());
	w->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!w->pictures_buf || w->done_fd < 0)
		return w->pictures_buf ? -errno : -ENOMEM;
	sem_init(&w->work, 0, 0);
	sem_init(&w->ready, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	int err = -pthread_create(&w->thread, &attr, writer_run, w);

	pthread_attr_destroy(&attr);
	while (!err && sem_wait(&w->ready) && errno == EINTR)
		;
	return err ? err : w->start_error;
}

void tipmed_writer_save(struct tipmed_writer *w, struct tipmed_snapshot *snap)
{
	w->snap = snap;
	atomic_store_explicit(&w->save_state, TIPMED_SAVE_ASKED, memory_order_release);
	sem_post(&w->work);
}

bool tipmed_writer_saved(struct tipmed_writer *w)
{
	int done = TIPMED_SAVE_DONE;

	return atomic_compare_exchange_strong_explicit(&w->save_state, &done, TIPMED_SAVE_IDLE,
						       memory_order_acq_rel, memory_order_relaxed);
}

void tipmed_writer_notes(struct tipmed_writer *w)
{
	sem_post(&w->work);
}

void tipmed_writer_stop(struct tipmed_writer *w)
{
	w->quit = true;
	sem_post(&w->work);
	pthread_join(w->thread, NULL);
	close(w->done_fd);
	tipmed_reserve_free(w->pictures_buf, tipmed_pictures_bytes());
}
