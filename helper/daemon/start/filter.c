// SPDX-License-Identifier: GPL-2.0-only
/* Filters of system calls. */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "filter.h"

#ifdef HAVE_SECCOMP
#include <seccomp.h>

/* What each program of a C library does, and files that are open. */
static const char *const common[] = {
	"brk",
	"clock_gettime",
	"clock_nanosleep",
	"close",
	"close_range",
	"dup",
	"exit",
	"exit_group",
	"fcntl",
	"fstat",
	"fstatfs",
	"futex",
	"getpid",
	"getrandom",
	"gettid",
	"lseek",
	"madvise",
	"mremap",
	"munmap",
	"nanosleep",
	"newfstatat",
	"poll",
	"ppoll",
	"pread64",
	"read",
	"readv",
	"recvfrom",
	"recvmsg",
	"restart_syscall",
	"rseq",
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"sched_yield",
	"sendmsg",
	"sendto",
	"set_robust_list",
	"sigaltstack",
	"sysinfo",
	"write",
	"writev",
};

/*
 * Files of the library, /proc, /sys; the socket; threads; tracing programs, counters; what the
 * writer needs to save for somebody.
 */
static const char *const recorder[] = {
	"accept4",
	"access",
	"bind",
	"bpf",
	"capget",
	"capset",
	"chdir",
	"chmod",
	"dup2",
	"dup3",
	"epoll_create1",
	"epoll_ctl",
	"epoll_wait",
	"epoll_pwait",
	"eventfd2",
	"faccessat",
	"faccessat2",
	"fallocate",
	"fchmod",
	"fchmodat",
	"fdatasync",
	"flock",
	"fsync",
	"ftruncate",
	"getcwd",
	"getdents64",
	"getegid",
	"geteuid",
	"getgid",
	"getgroups",
	"getpriority",
	"getrlimit",
	"getrusage",
	"getsockname",
	"getsockopt",
	"gettimeofday",
	"getuid",
	"inotify_add_watch",
	"inotify_init1",
	"inotify_rm_watch",
	"ioctl",
	"kill",
	"linkat",
	"listen",
	"lstat",
	"membarrier",
	"memfd_create",
	"mkdir",
	"mkdirat",
	"mlock",
	"mlock2",
	"mlockall",
	"munlock",
	"open",
	"openat",
	"openat2",
	"perf_event_open",
	"pipe2",
	"prctl",
	"prlimit64",
	"pwrite64",
	"readlink",
	"readlinkat",
	"rename",
	"renameat",
	"renameat2",
	"rmdir",
	"rt_sigtimedwait",
	"sched_get_priority_max",
	"sched_get_priority_min",
	"sched_getaffinity",
	"sched_getparam",
	"sched_getscheduler",
	"sched_setscheduler",
	"set_tid_address",
	"setsid",
	"setfsgid",
	"setfsuid",
	"setgroups",
	"setpriority",
	"setresgid",
	"setresuid",
	"setsockopt",
	"shutdown",
	"signalfd4",
	"socketpair",
	"stat",
	"statfs",
	"statx",
	"symlinkat",
	"tgkill",
	"time",
	"timerfd_create",
	"timerfd_gettime",
	"timerfd_settime",
	"umask",
	"uname",
	"unlink",
	"unlinkat",
	"utimensat",
	"wait4",
};

static int allow(scmp_filter_ctx ctx, const char *const *names, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		int number = seccomp_syscall_resolve_name(names[i]);

		/*
		 * else this version of the library does not know it, and the C library will not
		 * either
		 */
		if (number >= 0)
			err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, number, 0);
	}
	return err;
}

/* Memory that is not executed: all code is there by now. */
static int allow_data(scmp_filter_ctx ctx)
{
	int err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				   SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));

	return err ? err
		   : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
}

#define NAMESPACES                                                                     \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

/*
 * Threads; clone3, whose flags a filter cannot see, is not there, and the C library does without.
 */
static int allow_threads(scmp_filter_ctx ctx)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				SCMP_A0(SCMP_CMP_MASKED_EQ, NAMESPACES, 0));
}

/*
 * Of sockets those of this machine: the kernel's log of the service manager, and who asks whether a
 * recorder runs.
 */
static int allow_local(scmp_filter_ctx ctx)
{
	int err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
				   SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0));

	return err ? err : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(connect), 0);
}

static int allow_reading(scmp_filter_ctx ctx)
{
	int err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				   SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC,
					   O_RDONLY));

	return err ? err : allow_data(ctx);
}

/*
 * A library is loaded and used: its code, and what a compositor with one client asks of the kernel.
 * No socket but a pair of its own.
 */
static int allow_calibrating(scmp_filter_ctx ctx)
{
	static const char *const calls[] = {
		"epoll_create1", "epoll_ctl",	   "epoll_wait",      "epoll_pwait",
		"eventfd2",	 "getegid",	   "geteuid",	      "getgid",
		"getsockopt",	 "getuid",	   "mprotect",	      "pipe2",
		"pwrite64",	 "timerfd_create", "timerfd_settime", "signalfd4",
	};
	int err = allow(ctx, calls, sizeof(calls) / sizeof(calls[0]));

	err = err ? err
		  : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC,
					     O_RDONLY));
	err = err ? err
		  : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_WRITE | PROT_EXEC,
					     PROT_EXEC));
	err = err ? err
		  : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return err ? err
		   : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
				      SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0));
}

static int allow_recording(scmp_filter_ctx ctx)
{
	int err = allow(ctx, recorder, sizeof(recorder) / sizeof(recorder[0]));

	err = err ? err : allow_data(ctx);
	err = err ? err : allow_threads(ctx);
	return err ? err : allow_local(ctx);
}

static int load(int (*more)(scmp_filter_ctx ctx))
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int err = ctx ? allow(ctx, common, sizeof(common) / sizeof(common[0])) : -ENOMEM;

	if (!err)
		err = more(ctx);
	if (!err)
		err = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!err)
		err = seccomp_load(ctx);
	seccomp_release(ctx);
	return err;
}

int tipmed_filter_recorder(void)
{
	return load(allow_recording);
}

int tipmed_filter_reader(void)
{
	return load(allow_reading);
}

int tipmed_filter_calibrator(void)
{
	return load(allow_calibrating);
}

#else

int tipmed_filter_calibrator(void)
{
	return -ENOTSUP;
}

int tipmed_filter_recorder(void)
{
	return -ENOSYS;
}

int tipmed_filter_reader(void)
{
	return -ENOSYS;
}

#endif
