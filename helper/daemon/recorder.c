// SPDX-License-Identifier: GPL-2.0-only
/* The order in which the recorder starts and ends. */
#include "config.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "elf_reader.h"
#include "filter.h"
#include "library.h"
#include "opener.h"
#include "paths.h"
#include "privileges.h"
#include "recorder.h"
#include "rounds.h"
#include "seldom.h"

int tipmed_start_refused(const char *why, int err)
{
	fprintf(stderr, "tipme: start: %s\n", why);
	return err;
}

int tipmed_start_fails(const char *what, int err)
{
	fprintf(stderr, "tipme: start: %s: %s%s\n", what, strerror(-err),
		err == -EMFILE ? ": raise the limit (ulimit -n)" : "");
	return err;
}

static gid_t group_of(uid_t uid)
{
	const struct passwd *entry = uid == geteuid() ? NULL : getpwuid(uid);

	return entry ? entry->pw_gid : uid == geteuid() ? getegid() : (gid_t)uid;
}

/* The order of the messages that users see: who runs already, what may not be loaded, where nothing
 * can be saved. */
static int folders_open(struct tipmed_recorder *r)
{
	char why[4096 + 256];

	int err = tipmed_user_find(&r->user, r->opt.user, &r->limits, why, sizeof(why));

	if (err)
		return tipmed_start_refused(why, err);
	r->rundir_fd = tipmed_rundir_open(r->opt.rundir, r->user.set ? r->user.gid : (gid_t)-1, why,
					  sizeof(why));
	if (r->rundir_fd < 0)
		return tipmed_start_refused(why, r->rundir_fd);
	r->writer.owner = r->opt.owner;
	r->writer.group = group_of(r->opt.owner);
	r->writer.library_fd = tipmed_library_open(r->opt.library, r->writer.owner, r->writer.group,
						   why, sizeof(why));
	return r->writer.library_fd < 0 ? tipmed_start_refused(why, r->writer.library_fd) : 0;
}

static bool in_pid_namespace(void)
{
	struct stat st;

	/* The number of the first namespace is fixed (include/linux/proc_ns.h). */
	return !stat("/proc/self/ns/pid", &st) && st.st_ino != 0xEFFFFFFCU;
}

/* The kernel's records name processes as the machine does, /proc and sockets as the namespace that
 * we are in. Samples of /proc know only what it shows. */
static void namespace_look(struct tipmed_recorder *r)
{
	bool sampled = tipme_kernel_source_kind(r->kernel) == TIPME_SOURCE_PROC_SAMPLED,
	     inside = in_pid_namespace();

	if (inside && !sampled)
		tipmed_limit_add(
			&r->limits,
			"in a PID namespace: process ids in the kernel's records are those of the machine, so X servers and names cannot be "
			"matched: run it on the machine itself, or with --source proc_sampled");
	else if (inside)
		tipmed_limit_add(
			&r->limits,
			"in a PID namespace: only the processes in it are seen: who else had a CPU is not known");
	else if (sampled && access("/proc/1/stat", R_OK))
		tipmed_limit_add(
			&r->limits,
			"the processes of others are hidden (/proc is mounted with hidepid): who else had a CPU is not known");
}

/* A file that is refused is named as long as we run. */
static void wayland_say(void *arg, const char *path, int err, const char *why)
{
	struct tipmed_recorder *r = arg;

	if (err)
		tipmed_limit_add(
			&r->limits,
			"Wayland compositors that use %s are not recorded: %s: which of their keys was slow is not known",
			path, why);
}

static int source_open(struct tipmed_recorder *r)
{
	struct tipme_kernel_options kopt = { .window_s = r->opt.window_s + r->opt.post_s,
					     .rate = r->opt.rate,
					     .source = r->opt.source,
					     .classes = r->opt.classes,
					     .classes_given = 1,
					     .event_open = tipmed_opener_open,
					     .wayland_open = tipmed_opener_wayland,
					     .wayland_say = wayland_say,
					     .wayland_say_arg = r,
					     .wayland_library = r->opt.wayland_library[0]
									? r->opt.wayland_library
									: NULL,
					     .wayland_uids = { r->opt.owner },
					     .wayland_users = 1 + r->opt.allow_count };
	char why[512] = "the kernel source cannot be opened";
	for (unsigned int i = 0; i < r->opt.allow_count; i++)
		kopt.wayland_uids[1 + i] = r->opt.allow[i];
	int err = tipme_kernel_source_open(&r->kernel, &kopt, why, sizeof(why));

	if (err)
		return tipmed_start_refused(why, err);
	if (why[0])
		tipmed_limit_add(&r->limits, "%s%s",
				 tipme_kernel_source_kind(r->kernel) == TIPME_SOURCE_KERNEL_MODULE
					 ? ""
					 : "a better source was refused: ",
				 why);
	const char *left_out;

	for (unsigned int i = 0; (left_out = tipme_kernel_source_left_out(r->kernel, i)); i++)
		tipmed_limit_add(&r->limits, "%s", left_out);
	if (tipme_kernel_source_kind(r->kernel) == TIPME_SOURCE_PROC_SAMPLED)
		tipmed_limit_add(
			&r->limits,
			"sampled: threads are looked at each 20 ms; how long they ran and waited for a CPU is exact, when is known "
			"to 20 ms, and who woke them is not known");
	namespace_look(r);
	return 0;
}

static int kernel_take(void *arg, enum tipmed_trigger_kind *kind, uid_t *by, char *text, size_t len)
{
	*kind = TIPMED_TRIGGER_KERNEL;
	return tipme_kernel_source_trigger_taken(arg, by, text, len);
}

static int hotkey_take(void *arg, enum tipmed_trigger_kind *kind, uid_t *by, char *text, size_t len)
{
	(void)by;
	*kind = TIPMED_TRIGGER_HOTKEY;
	return tipmed_evdev_take(arg) ? 0 : -EAGAIN;
}

/* The hot-key on the keyboards is one way of several: where it cannot be had, that is said and all
 * else goes on. */
static void hotkey_prepare(struct tipmed_recorder *r)
{
	char why[160];
	unsigned refused = 0;
	int err = strcmp(r->opt.hotkey, "none")
			  ? tipmed_evdev_new(&r->evdev, r->opt.hotkey, why, sizeof(why))
			  : 0;

	if (err)
		tipmed_limit_add(&r->limits, "no hot-key on the keyboards themselves: %s", why);
	if (!r->evdev)
		return;
	r->server.evdev = r->evdev;
	r->server.keyboards_refused =
		tipmed_evdev_open(r->evdev, "/dev/input", &refused) < 0 ? 0 : refused;
	if (refused)
		tipmed_limit_add(
			&r->limits,
			"%u input devices may not be read: no hot-key on them but by the X server or the agent (group input may)",
			refused);
	if (!tipmed_evdev_keys(r->evdev))
		tipmed_limit_add(
			&r->limits,
			"no key of the layout in /etc/default/keyboard bears the symbol of %s: choose another with --hotkey",
			r->opt.hotkey);
	tipmed_server_origin_add(&r->server, &(struct tipmed_origin){ tipmed_evdev_fd(r->evdev),
								      hotkey_take, r->evdev });
}

/* What we record, or leave out, by ourselves, whatever the kernel source is able to. */
static uint32_t classes_own(struct tipmed_recorder *r)
{
	return (tipmed_cgroups_any(r->cgroups) ? 1U << TIPME_CLASS_THROTTLE : 0) |
	       (tipmed_steal_any() ? 1U << TIPME_CLASS_STEAL : 0) |
	       (tipmed_speed_any() ? 1U << TIPME_CLASS_SPEED : 0) |
	       (r->messages.fd >= 0 ? 1U << TIPME_CLASS_MESSAGE : 0) |
	       1U << TIPME_CLASS_MEMORY_STATE |
	       1U << TIPME_CLASS_INPUT; /* input: of X servers: left out of what is saved */
}

/* Their arguments are read from /proc while we still may read it. */
static void identity_seed(struct tipmed_recorder *r)
{
	struct tipme_kernel_thread *threads = calloc(TIPMED_THREADS_MAX, sizeof(*threads));
	struct tipme_picture picture;
	int n = threads ? tipme_kernel_source_picture(r->kernel, &picture, threads,
						      TIPMED_THREADS_MAX)
			: 0;

	if (n > 0)
		tipmed_identity_seed(r->identity, threads, (unsigned int)n);
	free(threads);
}

static int identity_prepare(struct tipmed_recorder *r)
{
	int err =
		tipmed_identity_new(&r->identity, r->opt.identity_bytes, r->opt.record_environment);

	if (err)
		return err;
	identity_seed(r);
	return 0;
}

static int memory_prepare(struct tipmed_recorder *r)
{
	int err = tipmed_cgroups_new(&r->cgroups);

	tipmed_messages_open(
		&r->messages); /* refused: the class is not able, and status shows it */
	if (!err)
		err = tipmed_classes_init(&r->classes, r->kernel, r->opt.classes, classes_own(r));
	if (!err)
		err = identity_prepare(r);
	if (!err)
		err = tipmed_code_new(&r->code, r->kernel);
	if (!err)
		err = tipmed_pictures_new(&r->pictures);
	if (!err)
		err = tipmed_watch_new(&r->watch, r->kernel);
	if (!err)
		err = tipmed_snapshot_init(&r->server.snap, r->kernel);
	return err ? tipmed_start_fails(err == -ENOMEM ? "no memory for the copies"
						       : "what recording needs cannot be had",
					err)
		   : 0;
}

static void privileges_prepare(struct tipmed_recorder *r)
{
	tipmed_privileges_tell(&r->limits);
	tipmed_oom_spare(&r->limits);
	tipmed_priority_raise(&r->limits);
	tipmed_realtime_allow(&r->limits);
	tipmed_programs_settle(tipmed_memory_lock(&r->limits));
	tipmed_snapshot_give_back(&r->server.snap);
	tipmed_pictures_give_back(r->pictures);
	hotkey_prepare(r);
}

static int writer_prepare(struct tipmed_recorder *r)
{
	r->writer.opt = &r->opt;
	r->writer.limits = &r->limits;
	r->writer.user = &r->user;
	r->writer.pictures = r->pictures;
	r->writer.watch = r->watch;
	r->writer.identity = r->identity;
	r->writer.code = r->code;
	r->writer.classes = &r->classes;
	r->writer.cgroups = r->cgroups;
	r->writer.suspends = &r->suspends;
	r->writer.start_ns = r->server.start_ns;
	int err = tipmed_writer_start(&r->writer);

	return err ? tipmed_start_fails("the thread that saves cannot take the owner's id", err)
		   : 0;
}

/* Any thread: see classes.h. */
static void auto_set(void *arg, unsigned int threshold_ms)
{
	tipmed_auto_set(arg, threshold_ms);
}

static int server_prepare(struct tipmed_recorder *r)
{
	char why[512];

	r->server.opt = &r->opt;
	r->server.limits = &r->limits;
	r->server.watch = r->watch;
	r->server.identity = r->identity;
	r->server.writer = &r->writer;
	r->server.classes = &r->classes;
	r->server.snap.x.keep_ns = (r->opt.window_s > 64 ? r->opt.window_s : 64) * TIPME_NS_PER_S;
	tipmed_server_origin_add(&r->server,
				 &(struct tipmed_origin){ tipme_kernel_source_trigger_fd(r->kernel),
							  kernel_take, r->kernel });
	int err = tipmed_auto_init(&r->server.automatic, &r->server.snap.x, &r->server.agents,
				   r->opt.auto_ms);

	if (err)
		return tipmed_start_fails("no timer for the thresholds", err);
	r->classes.auto_set = auto_set;
	r->classes.auto_arg = &r->server.automatic;
	tipme_x_quiet_set(&r->server.snap.x.quiet,
			  !tipmed_classes_has(&r->classes, TIPME_CLASS_INPUT), 0);
	tipmed_server_origin_add(&r->server,
				 &(struct tipmed_origin){ r->server.automatic.timer_fd,
							  tipmed_auto_take, &r->server.automatic });
	err = tipmed_doors_open(&r->server.doors, &r->opt, why, sizeof(why));

	if (err)
		return tipmed_start_refused(why, err);
	err = tipmed_privileges_drop(&r->user, NULL);
	if (err)
		return tipmed_start_fails("privileges cannot be dropped", err);
	err = tipmed_filter_recorder();
	if (err)
		tipmed_limit_add(
			&r->limits,
			"no filter of system calls (%s): it may ask the kernel for more than it needs",
			err == -ENOSYS ? "built without libseccomp"
			: err == -EOPNOTSUPP
				? "seccomp(2) is refused, by the kernel or by who started it"
				: strerror(-err));
	err = tipmed_identity_start(r->identity, r->kernel);
	if (err)
		return tipmed_start_fails("the thread that learns of processes cannot be started",
					  err);
	err = tipmed_server_start(&r->server);
	return err ? tipmed_start_fails("the trigger thread cannot be started", err) : 0;
}

int tipmed_recorder_start(struct tipmed_recorder *r)
{
	const struct tipmed_clocks now = tipmed_clocks_read();
	int err;

	r->server.start_ns = tipme_clock_ns();
	tipmed_suspends_init(&r->suspends, &now);
	err = folders_open(r);
	if (err)
		return err;
	err = tipmed_elf_reader_start(
		&(struct tipmed_file_owner){ r->writer.owner, r->writer.group });
	if (err)
		tipmed_limit_add(
			&r->limits,
			"no process that reads programs (%s): functions of programs have no names",
			strerror(-err));
	err = tipmed_opener_start(&r->user);
	if (err)
		tipmed_limit_add(
			&r->limits,
			"no process that opens events later (%s): classes sample and memory_wait cannot be switched on again",
			strerror(-err));
	err = source_open(r);
	if (!err)
		err = memory_prepare(r);
	if (err)
		return err;
	privileges_prepare(r);
	err = writer_prepare(r);
	if (err)
		return err;
	tipmed_rounds_look(r);
	return server_prepare(r);
}

void tipmed_recorder_tell(const struct tipmed_recorder *r)
{
	struct tipmed_watched now;
	struct tipme_kernel_coverage none;

	tipmed_watch_get(r->watch, &now, &none, 0);
	if (tipme_kernel_source_kind(r->kernel) == TIPME_SOURCE_PROC_SAMPLED)
		printf("recording the last %u seconds: what each thread does, looked at each 20 ms (sampled), %u threads\n",
		       r->opt.window_s, now.threads);
	else
		printf("recording the last %u seconds: scheduling, wake-ups, kernel stacks of sleeps (%u tracing programs), %u threads\n",
		       r->opt.window_s, now.stats.programs, now.threads);
	printf("memory: %.1f MB ring, %.1f MB for copies (%.1f while one is saved); episodes of user %u go to %s\n",
	       (double)now.stats.pool_bytes / 1e6, (double)r->server.snap.kernel.kept / 1e6,
	       (double)now.stats.pool_bytes / 1e6, (unsigned int)r->opt.owner, r->opt.library);
	printf("X servers with hooks join by themselves; save what just happened with: tipme snap\n");
	for (unsigned int i = 0; i < r->limits.count; i++)
		if (tipmed_limit_text(&r->limits, i))
			printf("limited: %s\n", tipmed_limit_text(&r->limits, i));
	fflush(stdout);
}

void tipmed_recorder_stop(struct tipmed_recorder *r)
{
	/* The same order as the data flows: who asks, who saves, who records. */
	tipmed_server_stop(&r->server);
	tipmed_auto_free(&r->server.automatic);
	tipmed_writer_stop(&r->writer);
	tipmed_snapshot_free(&r->server.snap);
	tipmed_identity_stop(r->identity);
	tipmed_identity_free(r->identity);
	tipmed_code_free(r->code);
	tipmed_watch_free(r->watch);
	tipmed_pictures_free(r->pictures);
	tipmed_cgroups_free(r->cgroups);
	tipmed_messages_close(&r->messages);
	tipme_kernel_source_close(r->kernel);
	close(r->writer.library_fd);
	close(r->rundir_fd);
}
