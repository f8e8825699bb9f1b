// SPDX-License-Identifier: GPL-2.0-only
/* From the path of a libwayland-server to events of the kernel at its functions. */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrate.h"
#include "filter.h"
#include "privileges.h"
#include "small_file.h"
#include "wayland_library.h"

#define UPROBE_TYPE "/sys/bus/event_source/devices/uprobe/type"

struct found {
	int32_t err;
	struct tipmed_wayland_place place;
	char why[160];
};

static int refused(struct tipme_wayland_library *lib, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refused(struct tipme_wayland_library *lib, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(lib->why, sizeof(lib->why), format, args);
	va_end(args);
	return err;
}

/*
 * Calibrating runs what is in the file, and its probes may be hit by any process. Where a mount
 * says nosuid, somebody else than the administrator may have made it, and says himself whom its
 * files belong to.
 */
static int trust_look(int fd, struct tipme_wayland_library *lib)
{
	struct statvfs fs;
	struct stat st;

	if (fstat(fd, &st) || fstatvfs(fd, &fs))
		return refused(lib, -errno, "%s", strerror(errno));
	lib->dev = st.st_dev;
	lib->ino = st.st_ino;
	if (!S_ISREG(st.st_mode))
		return refused(lib, -EPERM, "it is no plain file");
	if (st.st_uid || st.st_mode & S_IWOTH || (st.st_mode & S_IWGRP && st.st_gid))
		return refused(lib, -EPERM, "others than root can change it");
	if (fs.f_flag & ST_NOSUID)
		return refused(lib, -EPERM, "it lies on a file system that is mounted nosuid");
	return 0;
}

/* --- the process that calibrates --- */

static void limit(int what, rlim_t most)
{
	setrlimit(what, &(struct rlimit){ most, most });
}

/* Descriptors from `from` on: these, in this order, and no others. */
static void only_keep(const int *fd, int count, int from)
{
	int own[3];

	/* First away from where they are to be. */
	for (int i = 0; i < count; i++)
		own[i] = fcntl(fd[i], F_DUPFD, from + count);
	for (int i = 0; i < count; i++)
		dup2(own[i], from + i);
	close_range((unsigned int)(from + count), ~0U, 0);
}

/*
 * The same bytes in a file of our own: in the library itself another recorder may have set probes,
 * which every process that maps it meets before its own breakpoints. -1: there is no such file
 * here.
 */
static int copy_of(int fd)
{
	int copy = memfd_create("libwayland-server", MFD_CLOEXEC);
	struct stat st;
	off_t at = 0;

	if (copy < 0 || fstat(fd, &st))
		return -1;
	while (at < st.st_size && sendfile(copy, fd, &at, (size_t)(st.st_size - at)) > 0)
		;
	return at == st.st_size ? copy : -1;
}

/*
 * What it prints is for nobody. In descriptor 3 the library, in 4 whom it tells, in 5 its own
 * memory.
 */
static void calibrator_run(int fd, int tell, pid_t parent)
{
	struct found found = { 0 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), copy = copy_of(fd), memory;

	/*
	 * Who has become another user may not open his own memory, as one who was not meant to be
	 * looked at.
	 */
	prctl(PR_SET_DUMPABLE, 1);
	memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	prctl(PR_SET_DUMPABLE, 0);
	for (int i = 0; i <= 2; i++)
		dup2(null, i);
	only_keep((const int[]){ copy < 0 ? fd : copy, tell, memory }, 3, 3);
	prctl(PR_SET_NAME, "tipmed-wayland");
	limit(RLIMIT_CPU, TIPMED_WAYLAND_PATIENCE_S / 2);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_NPROC, 0);
	if (memory < 0 || tipmed_privileges_none(&(struct tipmed_user){ 0 }) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent ||
	    tipmed_filter_calibrator() == -EPERM)
		_exit(1);
	found.err = tipmed_calibrate(3, 5, &found.place, found.why, sizeof(found.why));
	_exit(write(4, &found, sizeof(found)) != sizeof(found));
}

/*
 * It ran what is in the library: nothing that it says is believed but numbers within their bounds.
 */
static int found_check(const struct found *f, ssize_t bytes, struct tipme_wayland_library *lib)
{
	const struct tipmed_wayland_place *p = &f->place;

	if (bytes != sizeof(*f) || f->err > 0 || f->err < -4095 ||
	    !memchr(f->why, 0, sizeof(f->why)))
		return refused(
			lib, -EBADMSG,
			"it cannot be calibrated: the process that tried has ended without a word");
	if (f->err)
		return refused(lib, f->err, "it cannot be calibrated: %s", f->why);
	if (!p->event.offset || !p->request[0].offset || p->client_at > 4095 || p->pid_at > 4095)
		return refused(lib, -EBADMSG, "it cannot be calibrated: places that cannot be");
	return 0;
}

static int calibrate(int fd, struct tipmed_wayland_place *place, struct tipme_wayland_library *lib)
{
	pid_t parent = getpid(), pid;
	struct found found;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return refused(lib, -errno, "%s", strerror(errno));
	pid = fork();
	if (!pid)
		calibrator_run(fd, ends[1], parent);
	close(ends[1]);
	struct pollfd p = { .fd = ends[0], .events = POLLIN };
	int ready = pid > 0 ? poll(&p, 1, TIPMED_WAYLAND_PATIENCE_S * 1000) : -1;
	ssize_t bytes = ready > 0 ? read(ends[0], &found, sizeof(found)) : -1;

	close(ends[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	if (!ready)
		return refused(lib, -ETIMEDOUT,
			       "it cannot be calibrated: the process that tried took too long");
	int err = found_check(&found, bytes, lib);

	if (!err)
		*place = found.place;
	return err;
}

/* --- probes --- */

static int uprobe_type(void)
{
	int64_t type;

	return tipme_file_number(UPROBE_TYPE, &type) ? (int)type : -ENOENT;
}

/* Of any process; the CPU is only where the event has its home. */
static int probe_open(int type, int fd, uint64_t offset)
{
	char path[32];
	struct perf_event_attr attr = { .type = (uint32_t)type,
					.size = sizeof(attr),
					.config2 = offset,
					.sample_period = 1,
					.wakeup_events = 1 };

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	attr.config1 = (uint64_t)(uintptr_t)path;
	int event = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	return event < 0 ? -errno : event;
}

static uint64_t cookie_of(const struct tipmed_wayland_place *place,
			  const struct tipmed_wayland_probe *p)
{
	return TIPME_WAYLAND_COOKIE(place->client_at, place->pid_at, p->args_at, p->object,
				    p->opcode, p->args);
}

static int probes_open(int fd, const struct tipmed_wayland_place *place,
		       struct tipme_wayland_library *lib)
{
	const struct tipmed_wayland_probe *const p[TIPME_WAYLAND_PROBES] = { &place->event,
									     &place->request[0],
									     &place->request[1] };
	int type = uprobe_type();

	if (type < 0)
		return refused(lib, type,
			       "this kernel has no probes in programs (CONFIG_UPROBE_EVENTS)");
	for (int i = 0; i < TIPME_WAYLAND_PROBES; i++) {
		if (!p[i]->offset)
			continue;
		int event = probe_open(type, fd, p[i]->offset);

		if (event < 0) {
			tipme_wayland_library_close(lib);
			return refused(lib, event == -EPERM ? -EACCES : event,
				       "the kernel sets no probe in it (%s)", strerror(-event));
		}
		lib->probe[lib->count++] =
			(struct tipme_wayland_probe){ event, !i, cookie_of(place, p[i]) };
		lib->emulated += p[i]->emulated;
	}
	return 0;
}

int tipmed_wayland_library_open(const char *path, struct tipme_wayland_library *lib)
{
	struct tipmed_wayland_place place = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	*lib = (struct tipme_wayland_library){ 0 };
	if (fd < 0)
		return refused(lib, -errno, "%s", strerror(errno));
	int err = trust_look(fd, lib);

	if (!err)
		err = calibrate(fd, &place, lib);
	if (!err)
		err = probes_open(fd, &place, lib);
	close(fd);
	return err;
}
