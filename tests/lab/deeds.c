// SPDX-License-Identifier: GPL-2.0-only
/* What a client of the laboratory does before it answers. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef HAVE_GIO
#include <gio/gio.h>
#endif

#include "ask.h"
#include "deeds.h"
#include "deeds_kernel.h"
#include "report.h"

#define DEEDS_MOST 8
#define NS_PER_MS 1000000LL

struct deed {
	const struct deed_kind *kind;
	char arg[200];
	/* of milliseconds, bytes; what stands first in arg, where a number does */
	long long number;
	int fd;
	char *memory;
	int64_t from_ns, to_ns, cpu_ns;
	int tid;
};

struct deed_kind {
	const char *name;
	int (*open)(struct deed *d);
	void (*act)(struct deed *d);
};

static struct deed deeds[DEEDS_MOST];
static int deed_count;
static void (*deed_roundtrip)(void *arg);
static void *deed_roundtrip_arg;
void (*deeds_paste)(long long ms);

static int gettid_int(void)
{
	return (int)syscall(SYS_gettid);
}

static void act_compute(struct deed *d)
{
	compute_ns(d->number * NS_PER_MS);
}

static void act_sleep(struct deed *d)
{
	sleep_ns(d->number * NS_PER_MS);
}

/* So many ms of work, whatever takes the CPU away meanwhile: interrupts count as a thread's CPU
 * time, but do none of its work. It looks at the clock all the time, so that it knows itself for
 * how long it did not work; returns that. */
#define GAP_NS 1000
/* where a turn takes so long that nearly each would be a gap: an emulated CPU */
#define GAP_TURNS 12
static int64_t gap_ns = GAP_NS;
static volatile unsigned int spun;

static int64_t spin(long long turns)
{
	int64_t last = now_ns(), gaps = 0;

	while (turns--) {
		for (int i = 0; i < 16; i++)
			spun++;
		int64_t t = now_ns();

		if (t - last > gap_ns)
			gaps += t - last;
		last = t;
	}
	return gaps;
}

static int open_spin(struct deed *d)
{
	int64_t best = INT64_MAX;

	for (int i = 0; i < 20; i++) {
		int64_t from = now_ns();

		spin(50000);
		if (now_ns() - from < best)
			best = now_ns() - from;
	}
	if (best / 50000 * GAP_TURNS > GAP_NS)
		gap_ns = best / 50000 * GAP_TURNS;
	d->number = d->number * NS_PER_MS * 50000 / best;
	return 0;
}

static void act_spin(struct deed *d)
{
	int64_t from = now_ns(), gaps = spin(d->number);

	d->cpu_ns = now_ns() - from - gaps;
}

static void *compute_in_thread(void *arg)
{
	struct deed *d = arg;
	int64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	d->tid = gettid_int();
	act_compute(d);
	d->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	return NULL;
}

static void act_thread(struct deed *d)
{
	pthread_t t;

	if (!pthread_create(&t, NULL, compute_in_thread, d))
		pthread_join(t, NULL);
}

/*
 * A thread that keeps a lock, as one does that saves a document which the main thread wants to
 * change.
 */
static pthread_mutex_t kept = PTHREAD_MUTEX_INITIALIZER;
static sem_t keeps;

static void *compute_with_lock(void *arg)
{
	pthread_mutex_lock(&kept);
	sem_post(&keeps);
	compute_in_thread(arg);
	pthread_mutex_unlock(&kept);
	return NULL;
}

static void act_futex(struct deed *d)
{
	pthread_t t;

	sem_init(&keeps, 0, 0);
	if (pthread_create(&t, NULL, compute_with_lock, d))
		return;
	while (sem_wait(&keeps))
		;
	pthread_mutex_lock(&kept);
	pthread_mutex_unlock(&kept);
	pthread_join(t, NULL);
}

static int open_path(struct deed *d)
{
	const char *path = strrchr(d->arg, ' ');

	d->fd = open(path ? path + 1 : d->arg, O_RDWR | O_CLOEXEC);
	return d->fd < 0 ? -errno : 0;
}

static void act_flock(struct deed *d)
{
	while (flock(d->fd, LOCK_EX) && errno == EINTR)
		;
	flock(d->fd, LOCK_UN);
}

static void act_fcntl(struct deed *d)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	while (fcntl(d->fd, F_SETLKW, &l) && errno == EINTR)
		;
	l.l_type = F_UNLCK;
	fcntl(d->fd, F_SETLK, &l);
}

/* All of the file, from its beginning, as one opens a document. */
static void act_read(struct deed *d)
{
	static char buffer[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(d->fd, buffer, sizeof(buffer), at)) > 0)
		at += n;
}

/* As one opens a document: it is looked for, opened and read only now. */
static void act_open(struct deed *d)
{
	char page[4096];
	int fd = open(d->arg, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, page, sizeof(page)) < 0)
		perror(d->arg);
	if (fd >= 0)
		close(fd);
}

static void act_fsync(struct deed *d)
{
	static char page[4096];

	for (off_t at = 0; at < d->number; at += (off_t)sizeof(page)) {
		memset(page, (int)(now_ns() >> 10), sizeof(page));
		if (pwrite(d->fd, page, sizeof(page), at) < 0)
			perror("pwrite");
	}
	if (fsync(d->fd))
		perror("fsync");
}

static struct deed *reclaimed;

/*
 * The kernel takes the pages away, as it does where memory is short: from the one who has them
 * mapped.
 */
static void on_reclaim(int sig)
{
	int err = errno;

	(void)sig;
	madvise(reclaimed->memory, (size_t)reclaimed->number, MADV_PAGEOUT);
	errno = err;
}

static int open_fault(struct deed *d)
{
	struct sigaction reclaim = { .sa_handler = on_reclaim, .sa_flags = SA_RESTART };
	struct stat s;
	int err = open_path(d);

	if (err || fstat(d->fd, &s))
		return err ? err : -errno;
	d->number = s.st_size;
	d->memory = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_SHARED, d->fd, 0);
	if (d->memory == MAP_FAILED)
		return -errno;
	d->kind->act(d);
	reclaimed = d;
	sigaction(SIGUSR1, &reclaim, NULL);
	return 0;
}

static void act_fault(struct deed *d)
{
	volatile char sum = 0;

	for (long long at = 0; at < d->number; at += 4096)
		sum = (char)(sum + d->memory[at]);
}

static void act_grow(struct deed *d);

/* What that costs where memory is not short. */
static int open_grow(struct deed *d)
{
	int64_t from = now_ns(), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	act_grow(d);
	report_span("free", (int)getpid(), from, now_ns(), clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu);
	return 0;
}

/*
 * As many MiB of memory of its own as the number says; each page is touched, with something that is
 * not the same in all of it: else it is not even compressed.
 */
static void act_grow(struct deed *d)
{
	size_t size = (size_t)d->number << 20;
	char *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		return;
	for (size_t at = 0; at < size; at += 4096)
		m[at] = (char)(at >> 12 | 1);
	munmap(m, size);
}

static int open_ask(struct deed *d)
{
	d->fd = lab_connect(d->arg);
	return d->fd < 0 ? d->fd : 0;
}

static void act_ask(struct deed *d)
{
	if (lab_ask(d->fd))
		fprintf(stderr, "deeds: %s: no answer\n", d->arg);
}

/* A round trip this short met nobody else's request: what the server computed in it was for us. */
#define ALONE_NS 200000

/* One after the other for so many ms. What stands as CPU time is the X server's clock at the
 * beginning, and what these cost it themselves: all that it computes beyond that until the answer
 * is there is for others. What it computed for them meanwhile stands as `others`. */
static void act_roundtrips(struct deed *d)
{
	const char *server = getenv("LAB_SERVER");
	clockid_t clock = CLOCK_MONOTONIC;
	int64_t own = 0, alone = 0, met = 0;

	if (!server || clock_getcpuclockid(atoi(server), &clock))
		return;
	int64_t first = clock_ns(clock), cpu = first, begin = now_ns();

	for (int64_t t = begin, until = t + d->number * NS_PER_MS; t < until && deed_roundtrip;) {
		deed_roundtrip(deed_roundtrip_arg);
		int64_t t2 = now_ns(), cpu2 = clock_ns(clock);

		if (t2 - t < ALONE_NS) {
			own += cpu2 - cpu;
			alone++;
		} else {
			met++;
		}
		t = t2;
		cpu = cpu2;
	}
	d->cpu_ns = first + own + (alone ? met * own / alone : 0);
	report_span("others", atoi(server), begin, now_ns(), cpu - d->cpu_ns);
}

static int open_mute(struct deed *d)
{
	d->fd = lab_mute_open(d->arg);
	return d->fd < 0 ? d->fd : 0;
}

static void act_mute(struct deed *d)
{
	lab_mute(d->fd, d->arg);
}

static void act_write(struct deed *d)
{
	lab_write(d->fd, d->number);
}

static int open_swapped(struct deed *d)
{
	d->memory = lab_swapped_out((size_t)d->number << 20);
	return d->memory ? 0 : -ENOMEM;
}

static void act_swapped(struct deed *d)
{
	lab_touch(d->memory, (size_t)d->number << 20);
}

static void act_huge(struct deed *d)
{
	lab_huge((size_t)d->number << 20);
}

static void act_paste(struct deed *d)
{
	if (deeds_paste)
		deeds_paste(d->number);
}

static void act_fence(struct deed *d)
{
	lab_fence(d->fd);
}

#ifdef HAVE_GIO
static GDBusConnection *bus;

static int open_dbus(struct deed *d)
{
	GError *e = NULL;

	(void)d;
	bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, &e);
	if (bus)
		return 0;
	fprintf(stderr, "deeds: %s\n", e->message);
	return -EIO;
}

static void act_dbus(struct deed *d)
{
	GError *e = NULL;
	GVariant *answer =
		g_dbus_connection_call_sync(bus, d->arg, "/", "org.example.Lab", "Ask", NULL, NULL,
					    G_DBUS_CALL_FLAGS_NONE, -1, NULL, &e);

	if (answer)
		g_variant_unref(answer);
	else
		fprintf(stderr, "deeds: %s\n", e->message);
	g_clear_error(&e);
}
#endif

static const struct deed_kind kinds[] = {
	{ "compute", NULL, act_compute },
	{ "spin", open_spin, act_spin },
	{ "thread", NULL, act_thread },
	{ "futex", NULL, act_futex },
	{ "sleep", NULL, act_sleep },
	{ "flock", open_path, act_flock },
	{ "fcntl", open_path, act_fcntl },
	{ "open", NULL, act_open },
	{ "read", open_path, act_read },
	{ "fsync", open_path, act_fsync },
	{ "fault", open_fault, act_fault },
	{ "grow", open_grow, act_grow },
	{ "ask", open_ask, act_ask },
	{ "roundtrips", NULL, act_roundtrips },
	{ "mute", open_mute, act_mute },
	{ "write", open_path, act_write },
	{ "swapped", open_swapped, act_swapped },
	{ "huge", NULL, act_huge },
	{ "fence", open_path, act_fence },
	{ "paste", NULL, act_paste },
#ifdef HAVE_GIO
	{ "dbus", open_dbus, act_dbus },
#endif
};

static int deed_open(char *text)
{
	struct deed *d = &deeds[deed_count];
	char *arg = strchr(text, ' ');

	if (arg)
		*arg++ = 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, text))
			d->kind = &kinds[i];
	if (!d->kind || deed_count == DEEDS_MOST || (arg && strlen(arg) >= sizeof(d->arg))) {
		fprintf(stderr, "deeds: %s: not a deed, or one too many\n", text);
		return -EINVAL;
	}
	if (arg)
		strcpy(d->arg, arg);
	d->number = atoll(d->arg);
	int err = d->kind->open ? d->kind->open(d) : 0;

	if (err)
		fprintf(stderr, "deeds: %s %s: %s\n", text, d->arg, strerror(-err));
	deed_count++;
	return err;
}

int deeds_open(const char *list)
{
	char text[512], *rest = text, *one;
	int err = 0;

	if (strlen(list) >= sizeof(text))
		return -EINVAL;
	strcpy(text, list);
	while (!err && (one = strsep(&rest, ",")))
		err = deed_open(one);
	return err;
}

void deeds_do(void (*roundtrip)(void *arg), void *arg)
{
	deed_roundtrip = roundtrip;
	deed_roundtrip_arg = arg;
	for (struct deed *d = deeds; d < deeds + deed_count; d++) {
		int64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		d->cpu_ns = 0;
		d->tid = gettid_int();
		d->from_ns = now_ns();
		d->kind->act(d);
		d->to_ns = now_ns();
		if (!d->cpu_ns)
			d->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	}
}

void deeds_tell(void)
{
	for (struct deed *d = deeds; d < deeds + deed_count; d++)
		report_span(d->kind->name, d->tid, d->from_ns, d->to_ns, d->cpu_ns);
}
