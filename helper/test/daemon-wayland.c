// SPDX-License-Identifier: GPL-2.0-only
/*
 * Libraries of Wayland compositors: which are trusted, which are understood, and what a refusal
 * says.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon-tap.h"
#include "opener.h"
#include "wayland_library.h"

static char folder[] = "/var/tmp/tipme-wayland-XXXXXX";

/* The end of a path there, or what it is a copy of. */
static const char *copy_of(const char *path, const char *name, mode_t mode, uid_t uid)
{
	static char to[256];
	struct stat st;
	int in = open(path, O_RDONLY | O_CLOEXEC);

	snprintf(to, sizeof(to), "%s/%s", folder, name);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (in < 0 || out < 0 || fstat(in, &st) ||
	    sendfile(out, in, NULL, (size_t)st.st_size) != st.st_size || fchmod(out, mode) ||
	    fchown(out, uid, uid ? uid : 0))
		abort();
	close(in);
	close(out);
	return to;
}

static void refuses(const char *path, int err, const char *why, const char *what)
{
	struct tipme_wayland_library lib;
	int got = tipmed_wayland_library_open(path, &lib);

	ok(got == err && strstr(lib.why, why), "%s: %s (%d)", what, lib.why, got);
	ok(!lib.count, "... and it is not probed");
	tipme_wayland_library_close(&lib);
}

static void takes(const char *path, int (*open_it)(const char *, struct tipme_wayland_library *),
		  const char *what)
{
	struct tipme_wayland_library lib;
	int err = open_it(path, &lib);
	unsigned int events = 0;
	struct stat st;

	for (unsigned int i = 0; i < lib.count; i++)
		events += lib.probe[i].fd >= 0 && lib.probe[i].is_event;
	ok(!err && !stat(path, &st) && lib.ino == st.st_ino && lib.dev == st.st_dev, "%s (%s)",
	   what, lib.why);
	ok(events == 1 && lib.count > events,
	   "... with a probe at events, and one or more at requests: %u", lib.count);
	ok(lib.emulated == lib.count, "... where the kernel needs no second trap");
	tipme_wayland_library_close(&lib);
}

/* Another recorder's probes are in every process that maps the file. */
static void test_probed(const char *path)
{
	struct tipme_wayland_library first;
	int err = tipmed_wayland_library_open(path, &first);

	takes(path, tipmed_wayland_library_open,
	      "while another recorder probes it, it is understood as before");
	ok(!err, "... and the other one goes on");
	tipme_wayland_library_close(&first);
}

/* On a machine that does much, the answer may come late. */
static void test_late(const char *path, pid_t opener)
{
	kill(opener, SIGSTOP);
	pid_t waker = fork();

	if (!waker) {
		sleep(3);
		_exit(kill(opener, SIGCONT));
	}
	takes(path, tipmed_opener_wayland, "... also while it stands still for seconds");
	waitpid(waker, NULL, 0);
}

static void test_opener(const char *path)
{
	const struct passwd *nobody = getpwnam("nobody");
	struct tipmed_user user = { .set = nobody != NULL,
				    .uid = nobody ? nobody->pw_uid : 0,
				    .gid = nobody ? nobody->pw_gid : 0 };
	pid_t pid = tipmed_opener_fork(&user);
	struct tipme_wayland_library lib;

	takes(path, tipmed_opener_wayland,
	      "by a process that only has CAP_SYS_ADMIN: it is taken, too");
	ok(tipmed_opener_wayland("/nowhere", &lib) == -ENOENT && lib.why[0], "... and refused: %s",
	   lib.why);
	ok(tipmed_opener_open(TIPME_CLASS_IO, 0) == -EINVAL,
	   "... who still answers other questions");
	test_late(path, pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const uid_t other = 65534;
	glob_t found;

	if (geteuid()) {
		printf("1..0 # SKIP probes in programs need root (run it with sudo)\n");
		return 0;
	}
	if (glob("/usr/lib/*/libwayland-server.so.0", 0, NULL, &found) || !mkdtemp(folder)) {
		printf("1..0 # SKIP libwayland-server0 is not installed\n");
		return 0;
	}
	const char *library = found.gl_pathv[0];

	takes(library, tipmed_wayland_library_open, "the library of this system is understood");
	refuses("/nowhere", -ENOENT, "", "no file");
	refuses("/usr", -EPERM, "no plain file", "a folder");
	refuses(copy_of(library, "owned", 0644, other), -EPERM, "others than root",
		"a copy that somebody else owns");
	refuses(copy_of(library, "world", 0646, 0), -EPERM, "others than root",
		"one that all can write");
	refuses(copy_of("/bin/true", "true", 0755, 0), -ENOEXEC, "calibrated", "a program");
	refuses(copy_of("/etc/passwd", "text", 0644, 0), -ENOEXEC, "calibrated", "a text");
	takes(copy_of(library, "root", 0644, 0), tipmed_wayland_library_open,
	      "a copy that root owns is as good");
	test_probed(library);
	test_opener(library);
	for (const char *const *name =
		     (const char *const[]){ "owned", "world", "true", "text", "root", NULL };
	     *name; name++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/%s", folder, *name);
		unlink(path);
	}
	rmdir(folder);
	globfree(&found);
	return tap_end();
}
