// SPDX-License-Identifier: GPL-2.0-only
/* tipmed: keeps the last seconds of what the machine did, and saves them when asked. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroups.h"
#include "classes.h"
#include "clock.h"
#include "code.h"
#include "cpu_speed.h"
#include "elf_reader.h"
#include "filter.h"
#include "identity.h"
#include "evdev_hotkey.h"
#include "library.h"
#include "memory_state.h"
#include "messages.h"
#include "opener.h"
#include "paths.h"
#include "options.h"
#include "pictures.h"
#include "privileges.h"
#include "seat.h"
#include "server.h"
#include "steal.h"

/* The trigger thread's part is large, and must be there before it is locked. */
static struct tipmed_server server;
static struct tipmed_writer writer;
static struct tipmed_options opt;
static struct tipmed_limits limits;
static struct tipmed_user user;
static struct tipmed_suspends suspends;
static struct tipme_kernel_source *kernel;
static struct tipmed_pictures *pictures;
static struct tipmed_watch *watch;
static struct tipmed_evdev *evdev;
static struct tipmed_classes classes;
static struct tipmed_cgroups *cgroups;
static struct tipmed_steal steal;
static struct tipmed_memory memory;
static struct tipmed_speed speed;
static struct tipmed_messages messages = { .fd = -1 };
static struct tipmed_identity *identity;
static struct tipmed_code *code;
static struct pictured {
	unsigned int threads;
	uint64_t took_ns; /* of CPU time */
} pictured; /* the last picture */
static int rundir_fd = -1;

static int fail(const char *why, int err)
{
	fprintf(stderr, "tipme: start: %s\n", why);
	return err;
}

static int fail_errno(const char *what, int err)
{
	fprintf(stderr, "tipme: start: %s: %s%s\n", what, strerror(-err), err == -EMFILE ? ": raise the limit (ulimit -n)" : "");
	return err;
}

static gid_t group_of(uid_t uid)
{
	const struct passwd *entry = uid == geteuid() ? NULL : getpwuid(uid);

	return entry ? entry->pw_gid : uid == geteuid() ? getegid() : (gid_t)uid;
}

/* The order of the messages that users see: who runs already, what may not be loaded, where nothing can be saved. */
static int folders_open(void)
{
	char why[4096 + 256];

	int err = tipmed_user_find(&user, opt.user, &limits, why, sizeof(why));

	if (err)
		return fail(why, err);
	rundir_fd = tipmed_rundir_open(opt.rundir, user.set ? user.gid : (gid_t)-1, why, sizeof(why));
	if (rundir_fd < 0)
		return fail(why, rundir_fd);
	writer.owner = opt.owner;
	writer.group = group_of(opt.owner);
	writer.library_fd = tipmed_library_open(opt.library, writer.owner, writer.group, why, sizeof(why));
	return writer.library_fd < 0 ? fail(why, writer.library_fd) : 0;
}

static bool in_pid_namespace(void)
{
	struct stat st;

	/* The number of the first namespace is fixed (include/linux/proc_ns.h). */
	return !stat("/proc/self/ns/pid", &st) && st.st_ino != 0xEFFFFFFCU;
}

/* The kernel's records name processes as the machine does, /proc and sockets as the namespace that we are in. Samples of /proc know only what it shows. */
static void namespace_look(void)
{
	bool sampled = tipme_kernel_source_kind(kernel) == TIPME_SOURCE_PROC_SAMPLED, inside = in_pid_namespace();

	if (inside && !sampled)
		tipmed_limit_add(&limits, "in a PID namespace: process ids in the kernel's records are those of the machine, so X servers and names cannot be "
					  "matched: run it on the machine itself, or with --source proc_sampled");
	else if (inside)
		tipmed_limit_add(&limits, "in a PID namespace: only the processes in it are seen: who else had a CPU is not known");
	else if (sampled && access("/proc/1/stat", R_OK))
		tipmed_limit_add(&limits, "the processes of others are hidden (/proc is mounted with hidepid): who else had a CPU is not known");
}

/* A file that is refused is named as long as we run. */
static void wayland_say(const char *path, int err, const char *why)
{
	if (err)
		tipmed_limit_add(&limits, "Wayland compositors that use %s are not recorded: %s: which of their keys was slow is not known", path, why);
}

static int source_open(void)
{
	struct tipme_kernel_options kopt = { .window_s = opt.window_s + opt.post_s, .rate = opt.rate, .source = opt.source, .classes = opt.classes, .classes_given = 1,
					     .event_open = tipmed_opener_open, .wayland_open = tipmed_opener_wayland, .wayland_say = wayland_say,
					     .wayland_library = opt.wayland_library[0] ? opt.wayland_library : NULL, .wayland_uids = { opt.owner }, .wayland_users = 1 + opt.allow_count };
	char why[512] = "the kernel source cannot be opened";
	for (unsigned int i = 0; i < opt.allow_count; i++)
		kopt.wayland_uids[1 + i] = opt.allow[i];
	int err = tipme_kernel_source_open(&kernel, &kopt, why, sizeof(why));

	if (err)
		return fail(why, err);
	if (why[0])
		tipmed_limit_add(&limits, "%s%s", tipme_kernel_source_kind(kernel) == TIPME_SOURCE_KERNEL_MODULE ? "" : "a better source was refused: ", why);
	if (tipme_kernel_source_kind(kernel) == TIPME_SOURCE_PROC_SAMPLED)
		tipmed_limit_add(&limits, "sampled: threads are looked at each 20 ms; how long they ran and waited for a CPU is exact, when is known "
					  "to 20 ms, and who woke them is not known");
	namespace_look();
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

/* The hot-key on the keyboards is one way of several: where it cannot be had, that is said and all else goes on. */
static void hotkey_prepare(void)
{
	char why[160];
	unsigned refused = 0;
	int err = strcmp(opt.hotkey, "none") ? tipmed_evdev_new(&evdev, opt.hotkey, why, sizeof(why)) : 0;

	if (err)
		tipmed_limit_add(&limits, "no hot-key on the keyboards themselves: %s", why);
	if (!evdev)
		return;
	server.evdev = evdev;
	server.keyboards_refused = tipmed_evdev_open(evdev, "/dev/input", &refused) < 0 ? 0 : refused;
	if (refused)
		tipmed_limit_add(&limits, "%u input devices may not be read: no hot-key on them but by the X server or the agent (group input may)", refused);
	if (!tipmed_evdev_keys(evdev))
		tipmed_limit_add(&limits, "no key of the layout in /etc/default/keyboard bears the symbol of %s: choose another with --hotkey", opt.hotkey);
	tipmed_server_origin_add(&server, &(struct tipmed_origin){ tipmed_evdev_fd(evdev), hotkey_take, evdev });
}

/* What we record, or leave out, by ourselves, whatever the kernel source is able to. */
static uint32_t classes_own(void)
{
	return (tipmed_cgroups_any(cgroups) ? 1U << TIPME_CLASS_THROTTLE : 0) | (tipmed_steal_any() ? 1U << TIPME_CLASS_STEAL : 0) |
	       (tipmed_speed_any() ? 1U << TIPME_CLASS_SPEED : 0) | (messages.fd >= 0 ? 1U << TIPME_CLASS_MESSAGE : 0) |
	       1U << TIPME_CLASS_MEMORY_STATE | 1U << TIPME_CLASS_INPUT; /* input: of X servers: left out of what is saved */
}

/* Their arguments are read from /proc while we still may read it. */
static void identity_seed(void)
{
	struct tipme_kernel_thread *threads = calloc(TIPMED_THREADS_MAX, sizeof(*threads));
	struct tipme_picture picture;
	int n = threads ? tipme_kernel_source_picture(kernel, &picture, threads, TIPMED_THREADS_MAX) : 0;

	if (n > 0)
		tipmed_identity_seed(identity, threads, (unsigned int)n);
	free(threads);
}

static int identity_prepare(void)
{
	int err = tipmed_identity_new(&identity, opt.identity_bytes, opt.record_environment);

	if (err)
		return err;
	identity_seed();
	return 0;
}

static int memory_prepare(void)
{
	int err = tipmed_cgroups_new(&cgroups);

	tipmed_messages_open(&messages); /* refused: the class is not able, and status shows it */
	if (!err)
		err = tipmed_classes_init(&classes, kernel, opt.classes, classes_own());
	if (!err)
		err = identity_prepare();
	if (!err)
		err = tipmed_code_new(&code, kernel);
	if (!err)
		err = tipmed_pictures_new(&pictures);
	if (!err)
		err = tipmed_watch_new(&watch, kernel);
	if (!err)
		err = tipmed_snapshot_init(&server.snap, kernel);
	return err ? fail_errno(err == -ENOMEM ? "no memory for the copies" : "what recording needs cannot be had", err) : 0;
}

static void privileges_prepare(void)
{
	tipmed_privileges_tell(&limits);
	tipmed_oom_spare(&limits);
	tipmed_priority_raise(&limits);
	tipmed_realtime_allow(&limits);
	tipmed_memory_lock(&limits);
	tipmed_snapshot_give_back(&server.snap);
	tipmed_pictures_give_back(pictures);
	hotkey_prepare();
}

static int writer_prepare(void)
{
	writer.opt = &opt;
	writer.limits = &limits;
	writer.user = &user;
	writer.pictures = pictures;
	writer.watch = watch;
	writer.identity = identity;
	writer.code = code;
	writer.classes = &classes;
	writer.cgroups = cgroups;
	writer.suspends = &suspends;
	writer.start_ns = server.start_ns;
	int err = tipmed_writer_start(&writer);

	return err ? fail_errno("the thread that saves cannot take the owner's id", err) : 0;
}

/* Any thread: see classes.h. */
static void auto_set(void *arg, unsigned int threshold_ms)
{
	tipmed_auto_set(arg, threshold_ms);
}

static int server_prepare(void)
{
	char why[512];

	server.opt = &opt;
	server.limits = &limits;
	server.watch = watch;
	server.identity = identity;
	server.writer = &writer;
	server.classes = &classes;
	server.snap.x.keep_ns = (opt.window_s > 64 ? opt.window_s : 64) * TIPME_NS_PER_S;
	tipmed_server_origin_add(&server, &(struct tipmed_origin){ tipme_kernel_source_trigger_fd(kernel), kernel_take, kernel });
	int err = tipmed_auto_init(&server.automatic, &server.snap.x, &server.agents, opt.auto_ms);

	if (err)
		return fail_errno("no timer for the thresholds", err);
	classes.auto_set = auto_set;
	classes.auto_arg = &server.automatic;
	tipme_x_quiet_set(&server.snap.x.quiet, !tipmed_classes_has(&classes, TIPME_CLASS_INPUT), 0);
	tipmed_server_origin_add(&server, &(struct tipmed_origin){ server.automatic.timer_fd, tipmed_auto_take, &server.automatic });
	err = tipmed_doors_open(&server.doors, &opt, why, sizeof(why));

	if (err)
		return fail(why, err);
	err = tipmed_privileges_drop(&user, NULL);
	if (err)
		return fail_errno("privileges cannot be dropped", err);
	err = tipmed_filter_recorder();
	if (err)
		tipmed_limit_add(&limits, "no filter of system calls (%s): it may ask the kernel for more than it needs",
				 err == -ENOSYS	    ? "built without libseccomp" :
				 err == -EOPNOTSUPP ? "seccomp(2) is refused, by the kernel or by who started it" :
						      strerror(-err));
	err = tipmed_identity_start(identity, kernel);
	if (err)
		return fail_errno("the thread that learns of processes cannot be started", err);
	err = tipmed_server_start(&server);
	return err ? fail_errno("the trigger thread cannot be started", err) : 0;
}

/* Classes that began without their counters: said as long as it is so. They may begin again with them. */
static void counters_tell(void)
{
	static int said_sample, said_memory, number = -1;
	int sample = tipme_kernel_source_no_events(kernel, TIPME_CLASS_SAMPLE), memory = tipme_kernel_source_no_events(kernel, TIPME_CLASS_MEMORY);
	int err = sample ? sample : memory;

	if (sample == said_sample && memory == said_memory)
		return;
	said_sample = sample;
	said_memory = memory;
	tipmed_limit_end(&limits, number);
	number = !err ? -1 : tipmed_limit_add(&limits, "no counters (%s): %s%s%s%s", strerror(-err), sample ? "no samples" : "", sample && memory ? ", and " : "",
			 memory ? "class memory_wait without page faults that read" : "",
			 err == -EACCES || err == -EPERM ? ": start it as root, or with sysctl kernel.perf_event_paranoid=2 where nothing else forbids them" : "");
}

static void keep(void *arg, const void *rec, size_t len)
{
	(void)arg;
	tipmed_pictures_keep(pictures, rec, len);
}

/* The module counts page faults by itself. Where perf_event_paranoid was raised since the start there is nobody who may open a counter, until it is lowered. */
static void cpus_look(void)
{
	static int number = -1;
	int err = tipme_kernel_source_cpus_look(kernel);

	if (!err) {
		tipmed_limit_end(&limits, number);
		number = -1;
	} else if (number < 0) {
		number = tipmed_limit_add(&limits, "no samples%s any more of a CPU that was switched off, as they are when the machine sleeps (%s): start the recorder again; "
				 "with sysctl kernel.perf_event_paranoid=2 it may go on",
				 tipme_kernel_source_kind(kernel) == TIPME_SOURCE_KERNEL_MODULE ? "" : " and page faults", strerror(-err));
	}
}

/* The clocks first: what sleeps after that is for the next time. Returns whether the machine slept. */
static bool clocks_look(void)
{
	const struct tipmed_clocks now = tipmed_clocks_read();
	uint64_t from_ns = 0, to_ns = 0;

	tipme_kernel_source_suspended(kernel, suspends.looked_ns, &from_ns, &to_ns);
	return tipmed_suspends_look(&suspends, &now, from_ns, to_ns);
}

/* What was copied is given names when it is saved. */
static void stacks_age(int seen, uint64_t now_ns)
{
	uint64_t keep_ns = opt.window_s * TIPME_NS_PER_S;

	if (seen > 0 && server.snap.phase == TIPMED_IDLE)
		tipme_kernel_source_stacks_age(kernel, now_ns > keep_ns ? now_ns - keep_ns : 0);
}

/* More files with code are in use than there are numbers for. */
static void code_tell(void)
{
	static bool said;

	if (said || !tipmed_code_refused(code))
		return;
	tipmed_limit_add(&limits, "more than 4096 files with code are in use at one time: functions of the others show as ?");
	said = true;
}

#define PICTURE_SHARE 400 /* pictures take at most one part in so many of a CPU */

/* Of thousands of threads one takes milliseconds: then it is not taken each second. Returns how many threads it has, 0 if none was taken. */
static int picture_look(void)
{
	static uint64_t due_ns;
	uint64_t now_ns = tipme_clock_ns(), begin_ns = tipme_clock_of_ns(CLOCK_THREAD_CPUTIME_ID);

	if (now_ns < due_ns)
		return 0;
	int n = tipmed_pictures_take(pictures, kernel);
	uint64_t took_ns = tipme_clock_of_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;

	/* A look that comes a little early is as good. */
	due_ns = now_ns + took_ns * PICTURE_SHARE - TIPME_NS_PER_S / 4;
	if (n > 0)
		pictured = (struct pictured){ (unsigned int)n, took_ns };
	return n;
}

static void machine_look(uint64_t now_ns)
{
	struct tipme_memory_state rec;

	if (tipmed_classes_has(&classes, TIPME_CLASS_MEMORY_STATE) && !tipmed_memory_look(&memory, now_ns, &rec))
		keep(NULL, &rec, sizeof(rec));
	if (tipmed_classes_has(&classes, TIPME_CLASS_SPEED))
		tipmed_speed_look(&speed, now_ns, keep, NULL);
	tipmed_messages_look(&messages, now_ns, tipmed_classes_has(&classes, TIPME_CLASS_MESSAGE) ? keep : NULL, NULL);
}

#define WAYLAND_LOOKS 5 /* a new library is not in use in the second in which it is installed */

static void wayland_look(void)
{
	static unsigned int n;

	if (!(++n % WAYLAND_LOOKS))
		tipme_kernel_source_wayland_look(kernel);
}

static void look(void)
{
	uint64_t begin_ns = tipme_clock_ns();
	int n = picture_look();

	cpus_look();
	wayland_look();
	counters_tell();
	tipmed_snapshot_expect(&server.snap, pictured.threads);
	tipmed_code_look(code, begin_ns);
	code_tell();
	tipmed_cgroups_look(cgroups, begin_ns, tipmed_classes_has(&classes, TIPME_CLASS_THROTTLE) ? keep : NULL, NULL);
	tipmed_steal_look(&steal, begin_ns, tipmed_classes_has(&classes, TIPME_CLASS_STEAL) ? keep : NULL, NULL);
	machine_look(begin_ns);
	clocks_look();
	tipmed_watch_look(watch, pictured.threads, pictured.took_ns);
	stacks_age(n, begin_ns);
}

static int start(void)
{
	const struct tipmed_clocks now = tipmed_clocks_read();
	int err;

	server.start_ns = tipme_clock_ns();
	tipmed_suspends_init(&suspends, &now);
	err = folders_open();
	if (err)
		return err;
	err = tipmed_elf_reader_start(&(struct tipmed_file_owner){ writer.owner, writer.group });
	if (err)
		tipmed_limit_add(&limits, "no process that reads programs (%s): functions of programs have no names", strerror(-err));
	err = tipmed_opener_start(&user);
	if (err)
		tipmed_limit_add(&limits, "no process that opens events later (%s): classes sample and memory_wait cannot be switched on again", strerror(-err));
	err = source_open();
	if (!err)
		err = memory_prepare();
	if (err)
		return err;
	privileges_prepare();
	err = writer_prepare();
	if (err)
		return err;
	look();
	return server_prepare();
}

static void tell(void)
{
	struct tipmed_watched now;
	struct tipme_kernel_coverage none;

	tipmed_watch_get(watch, &now, &none, 0);
	if (tipme_kernel_source_kind(kernel) == TIPME_SOURCE_PROC_SAMPLED)
		printf("recording the last %u seconds: what each thread does, looked at each 20 ms (sampled), %u threads\n", opt.window_s, now.threads);
	else
		printf("recording the last %u seconds: scheduling, wake-ups, kernel stacks of sleeps (%u tracing programs), %u threads\n", opt.window_s,
		       now.stats.programs, now.threads);
	printf("memory: %.1f MB ring, %.1f MB for copies (%.1f while one is saved); episodes of user %u go to %s\n", (double)now.stats.pool_bytes / 1e6,
	       (double)server.snap.kernel.kept / 1e6, (double)now.stats.pool_bytes / 1e6, (unsigned int)opt.owner, opt.library);
	printf("X servers with hooks join by themselves; save what just happened with: tipme snap\n");
	for (unsigned int i = 0; i < limits.count; i++)
		if (tipmed_limit_text(&limits, i))
			printf("limited: %s\n", tipmed_limit_text(&limits, i));
	fflush(stdout);
}

static bool seat_changed(void)
{
	return opt.owner_auto && tipmed_seat_left(opt.owner);
}

/* A recorder that nobody can see, ask or end is not to go on in secret, beside the one that is started next. */
static bool socket_lost(void)
{
	if (!tipmed_doors_gone(&server.doors, &opt))
		return false;
	fprintf(stderr, "tipme: tipmed: %s/" TIPME_SOCKET_NAME ": was taken away, and nobody can ask for anything any more: start the recorder again\n", opt.rundir);
	return true;
}

/* What has come for us: a signal's number, or 0. */
static int signal_taken(int signal_fd)
{
	struct signalfd_siginfo info;

	return read(signal_fd, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;
}

/* Returns the signal that came before `due_ns`, or 0: then it is time to look, as it is when the machine has slept: CPUs have lost their events by that. */
static int wait_until(int signal_fd, int clock_fd, uint64_t due_ns)
{
	struct pollfd fds[] = { { .fd = signal_fd, .events = POLLIN }, { .fd = clock_fd, .events = POLLIN } };
	uint64_t now_ns;

	while ((now_ns = tipme_clock_ns()) < due_ns) {
		if (poll(fds, 2, (int)((due_ns - now_ns) / 1000000) + 1) <= 0)
			continue;
		if (fds[0].revents)
			return signal_taken(signal_fd);
		tipmed_suspends_watch_again(clock_fd);
		if (clocks_look())
			return 0;
	}
	return 0;
}

/* A picture each second, and what the trigger thread leaves to us, until somebody ends us. Returns how we end. */
static int keep_house(int signal_fd)
{
	/* Without it, looks find the same, a second late. */
	int clock_fd = tipmed_suspends_watch();
	uint64_t due_ns = tipme_clock_ns() + TIPME_NS_PER_S;

	for (;;) {
		int sig = wait_until(signal_fd, clock_fd, due_ns);

		if (sig && sig != SIGUSR1)
			return 0;
		if (sig) {
			tipmed_classes_do(&classes);
			continue;
		}
		look();
		due_ns = tipme_clock_ns() + TIPME_NS_PER_S;
		/* What was recorded of one user is not for the next. */
		if (seat_changed())
			return TIPMED_EXIT_SEAT;
		if (socket_lost())
			return 1;
	}
}

static void stop(void)
{
	/* The same order as the data flows: who asks, who saves, who records. */
	tipmed_server_stop(&server);
	tipmed_auto_free(&server.automatic);
	tipmed_writer_stop(&writer);
	tipmed_snapshot_free(&server.snap);
	tipmed_identity_stop(identity);
	tipmed_identity_free(identity);
	tipmed_code_free(code);
	tipmed_watch_free(watch);
	tipmed_pictures_free(pictures);
	tipmed_cgroups_free(cgroups);
	tipmed_messages_close(&messages);
	tipme_kernel_source_close(kernel);
	close(writer.library_fd);
	close(rundir_fd);
}

/* Before any thread is there. The parent stays until the child says how it went, and ends with that. */
static int go_background(void)
{
	int ready[2];
	char result = 1;

	if (pipe2(ready, O_CLOEXEC))
		return -errno;
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (!child) {
		close(ready[0]);
		setsid();
		return ready[1];
	}
	close(ready[1]);
	/* The end without a word is a failure that was told already, or a crash. */
	if (read(ready[0], &result, 1) != 1)
		result = 1;
	_exit(result);
}

static void background_ready(int ready_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char result = 0;

	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	if (chdir("/"))
		fprintf(stderr, "tipme: start: /: cannot go there\n");
	if (write(ready_fd, &result, 1) == 1)
		close(ready_fd);
}

/* Signals are waited for, not caught; before any thread is made, so that all inherit it. */
static void signals_block(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGHUP);
	sigaddset(signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, signals, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/*
 * Until somebody sits at the screen. Returns 0, or -EINTR when we are to end, -ENOENT in the background, where nobody waits, or -ENAMETOOLONG: what
 * failed is said.
 */
static int seat_wait(const sigset_t *signals)
{
	const struct timespec second = { .tv_sec = 1 };
	uid_t owner;

	while (!tipmed_seat_user(&owner)) {
		if (!opt.foreground)
			return fail("nobody sits at the screen, as far as logind knows: name the owner with --owner", -ENOENT);
		tipmed_service_tell("READY=1\nSTATUS=waiting for somebody at the screen");
		int sig = sigtimedwait(signals, NULL, &second);

		if (sig > 0 && sig != SIGUSR1)
			return -EINTR;
	}
	return tipmed_owner_set(&opt, owner);
}

/* Locked memory that is free inside of the heap stays ours: large pieces, which loading and naming need, are mapped each for itself. */
static void memory_frugal(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_ARENA_MAX, 1);
}

/* Counters of each CPU, the tracing programs and connections: on a large machine more than shells and services are given unasked. */
static void descriptors_allow(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
	sigset_t signals;
	int ready_fd = -1;

	if (tipmed_options_parse(argc, argv, &opt))
		return 64;
	if (opt.help || opt.version) {
		fputs(opt.help ? tipmed_usage : "tipmed " PACKAGE_VERSION "\n", stdout);
		return 0;
	}
	umask(022);
	memory_frugal();
	descriptors_allow();
	if (!opt.foreground && (ready_fd = go_background()) < 0)
		return fail_errno("no process for the background", ready_fd) ? 1 : 0;
	signals_block(&signals);
	int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);

	if (signal_fd < 0)
		return fail_errno("no descriptor for signals", -errno) ? 1 : 0;
	int err = opt.owner_auto ? seat_wait(&signals) : 0;

	if (err)
		return err == -EINTR ? 0 : 1;
	if (start())
		return 1;
	tell();
	tipmed_service_tell("READY=1\nSTATUS=recording");
	if (ready_fd >= 0)
		background_ready(ready_fd);
	int end = keep_house(signal_fd);

	tipmed_service_tell("STOPPING=1");
	stop();
	return end;
}
