// SPDX-License-Identifier: GPL-2.0-only
/* What tipmed may do: as much as recording needs, and no more from then on. */
#include "config.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <malloc.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "paths.h"
#include "privileges.h"
#include "small_file.h"

/* Above the threads that hog CPUs, below the kernel's own watchdogs and migration threads. */
#define RT_PRIORITY 90

#define NICE (-15)

#define OOM_SCORE_ADJ "/proc/self/oom_score_adj"

#define CPU_CONTROLLER "/sys/fs/cgroup/cpu"
#define RT_CGROUP CPU_CONTROLLER "/tipme"

/* Long enough for one copy of a large pool, in the usual period of a second. */
#define RT_RUNTIME_US "100000"

static const struct {
	unsigned int capability;
	const char *name, *cost;
} kept[] = {
	{ CAP_BPF, "CAP_BPF", "the kernel source cannot be loaded" },
	{ CAP_PERFMON, "CAP_PERFMON", "the kernel source cannot be attached" },
	{ CAP_SYSLOG, "CAP_SYSLOG", "kernel functions may have no names" },
	{ CAP_IPC_LOCK, "CAP_IPC_LOCK",
	  "the recorder may be swapped out under the load that it records" },
	{ CAP_SYS_NICE, "CAP_SYS_NICE",
	  "the trigger thread is not real-time: under load the copy may come late" },
};
#define KEPT (sizeof(kept) / sizeof(kept[0]))

/* To become somebody else; given up with all others when that is done. */
static const unsigned int becoming[] = { CAP_SETUID, CAP_SETGID };
#define BECOMING (sizeof(becoming) / sizeof(becoming[0]))

static bool may_become(void)
{
	for (size_t i = 0; i < BECOMING; i++)
		if (capng_have_capability(CAPNG_EFFECTIVE, becoming[i]) != 1)
			return false;
	return true;
}

/*
 * Who is root in a user namespace alone has these capabilities, too, but only ids that are mapped
 * there; and groups may be closed to him.
 */
static bool is_there(const struct tipmed_user *user)
{
	gid_t groups[NGROUPS_MAX];
	int n = getgroups(NGROUPS_MAX, groups);
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (n < 0 || syscall(SYS_setgroups, (size_t)n, groups))
		return false;
	syscall(SYS_setfsgid, user->gid);
	syscall(SYS_setfsuid, user->uid);
	bool both = (gid_t)syscall(SYS_setfsgid, -1) == user->gid &&
		    (uid_t)syscall(SYS_setfsuid, -1) == user->uid;

	syscall(SYS_setfsuid, uid);
	syscall(SYS_setfsgid, gid);
	return both;
}

int tipmed_user_find(struct tipmed_user *user, const char *name, struct tipmed_limits *limits,
		     char *why, size_t why_len)
{
	const struct passwd *entry = getpwnam(*name ? name : TIPME_SYSTEM_USER);

	*user = (struct tipmed_user){ .group_count = TIPMED_GROUPS_MAX };
	if (!entry || geteuid() || !entry->pw_uid) {
		snprintf(why, why_len, "--user %s: %s", name,
			 entry ? "only root can become another user: leave it out"
			       : "no such user: make it, or leave it out");
		return !*name || (entry && entry->pw_uid == geteuid()) ? 0
		       : entry					       ? -EPERM
								       : -ENOENT;
	}
	user->uid = entry->pw_uid;
	user->gid = entry->pw_gid;
	if (!may_become() || !is_there(user)) {
		tipmed_limit_add(
			limits,
			"stays user 0 (%s): it may still do with root's files what root may",
			may_become() ? "the user is not in this user namespace"
				     : "no CAP_SETUID and CAP_SETGID");
		return 0;
	}
	/* Of more groups than that, the first. */
	if (getgrouplist(entry->pw_name, entry->pw_gid, user->groups, &user->group_count) < 0)
		user->group_count = TIPMED_GROUPS_MAX;
	user->set = true;
	return 0;
}

/*
 * glibc's set*id would change all threads; these system calls change the calling one, which is what
 * is wanted. The kernel takes what is effective from who is no longer root, and with
 * PR_SET_KEEPCAPS leaves what is permitted.
 */
static int user_become(const struct tipmed_user *user)
{
	if (!user->set)
		return 0;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) ||
	    syscall(SYS_setgroups, (size_t)user->group_count, user->groups) ||
	    syscall(SYS_setresgid, user->gid, user->gid, user->gid) ||
	    syscall(SYS_setresuid, user->uid, user->uid, user->uid))
		return -errno;
	prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	return capng_apply(CAPNG_SELECT_CAPS) ? -EPERM : 0;
}

static int files_become(const struct tipmed_file_owner *files)
{
	if (!files || files->uid == geteuid())
		return 0;
	if (syscall(SYS_setgroups, 0, NULL))
		return -errno;
	syscall(SYS_setfsgid, files->gid);
	syscall(SYS_setfsuid, files->uid);
	/*
	 * They do not fail, they only do nothing: ask for an impossible id to learn the present
	 * one.
	 */
	return (gid_t)syscall(SYS_setfsgid, -1) == files->gid &&
			       (uid_t)syscall(SYS_setfsuid, -1) == files->uid
		       ? 0
		       : -EPERM;
}

/* Keeps of these capabilities those that we have, and those for becoming somebody, while we do. */
static int give_up(const struct tipmed_user *user, const struct tipmed_file_owner *files,
		   const unsigned int *keep, size_t count)
{
	bool had[KEPT], had_becoming = may_become();
	bool may_bound = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) == 1;

	for (size_t i = 0; i < count; i++)
		had[i] = capng_have_capability(CAPNG_PERMITTED, keep[i]) == 1;
	capng_clear(CAPNG_SELECT_ALL);
	for (size_t i = 0; i < count; i++)
		if (had[i])
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, keep[i]);
	for (size_t i = 0; i < BECOMING && had_becoming; i++)
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, becoming[i]);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	/*
	 * Without CAP_SETPCAP the bounding set stays; with no new privileges nothing can be got
	 * from it.
	 */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (capng_apply(may_bound ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS))
		return -EPERM;
	int err = user_become(user);

	if (!err)
		err = files_become(files);
	for (size_t i = 0; i < BECOMING; i++)
		capng_update(CAPNG_DROP, CAPNG_EFFECTIVE | CAPNG_PERMITTED, becoming[i]);
	return capng_apply(CAPNG_SELECT_CAPS) ? -EPERM : err;
}

int tipmed_privileges_drop(const struct tipmed_user *user, const struct tipmed_file_owner *files)
{
	unsigned int keep[KEPT];

	for (size_t i = 0; i < KEPT; i++)
		keep[i] = kept[i].capability;
	return give_up(user, files, keep, KEPT);
}

int tipmed_privileges_only(const struct tipmed_user *user, unsigned int capability)
{
	return give_up(user, NULL, &capability, 1);
}

int tipmed_privileges_none(const struct tipmed_user *user)
{
	return give_up(user, NULL, NULL, 0);
}

void tipmed_privileges_tell(struct tipmed_limits *limits)
{
	for (size_t i = 0; i < KEPT; i++)
		if (capng_have_capability(CAPNG_EFFECTIVE, kept[i].capability) != 1)
			tipmed_limit_add(limits, "no %s: %s", kept[i].name, kept[i].cost);
}

/*
 * Without the capability a lock of future memory makes allocations fail at the limit: rather be
 * swapped out than fall. Tables and stacks are made for the most that there may be: of them only
 * what is used is taken.
 */
bool tipmed_memory_lock(struct tipmed_limits *limits)
{
	/* What loading took (the types of a whole kernel) is not needed any more. */
	malloc_trim(0);
	if (capng_have_capability(CAPNG_EFFECTIVE, CAP_IPC_LOCK) != 1)
		return false;
	if (!mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		return true;
	tipmed_limit_add(
		limits,
		"not locked in memory (%s): the recorder may be swapped out under the load that it records",
		strerror(errno));
	return false;
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err = fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

static int oom_score_adj(void)
{
	int64_t adj;

	tipme_file_number(OOM_SCORE_ADJ, &adj);
	return (int)adj;
}

/*
 * Lower than it ever was needs CAP_SYS_RESOURCE; then take the lowest that is permitted, which may
 * be what whoever started us had set.
 */
void tipmed_oom_spare(struct tipmed_limits *limits)
{
	int before = oom_score_adj(), refusal = 0;
	char text[16];

	for (int adj = -1000; adj < before; adj += 100) {
		snprintf(text, sizeof(text), "%d", adj);
		int err = write_text(OOM_SCORE_ADJ, text);

		if (!err)
			break;
		refusal = err;
	}
	if (oom_score_adj() > -1000)
		tipmed_limit_add(
			limits,
			"oom_score_adj stays at %d (%s): when memory runs out, the OOM killer may end the recorder",
			oom_score_adj(), strerror(-refusal));
}

/*
 * The threads that write and keep house are not real-time, but a storm of busy threads must not
 * make them late by minutes: saving needs a few tenths of a second of CPU time, a picture less than
 * a thousandth of one. Where sessions are scheduled as groups, the nice value counts only inside a
 * session: then the session must be ahead, but not if it is that of a terminal.
 */
void tipmed_priority_raise(struct tipmed_limits *limits)
{
	char text[8];

	if (capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_NICE) != 1)
		return;
	if (setpriority(PRIO_PROCESS, 0, NICE))
		tipmed_limit_add(limits, "no better priority (%s): under load, saving takes long",
				 strerror(errno));
	snprintf(text, sizeof(text), "%d", NICE);
	int err = getsid(0) == getpid() ? write_text("/proc/self/autogroup", text) : 0;

	if (err && err != -ENOENT)
		tipmed_limit_add(
			limits,
			"no better priority for our session (%s): under load, saving takes long",
			strerror(-err));
}

int tipmed_realtime_enter(void)
{
	struct sched_param param = { .sched_priority = RT_PRIORITY };

	return syscall(SYS_sched_setscheduler, 0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) ? -errno
											    : 0;
}

static bool realtime_works(void)
{
	struct sched_param param = { 0 };
	bool works = !tipmed_realtime_enter();

	syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &param);
	return works;
}

/* Whether the CPU controller is in the version 1 hierarchy, and counts real-time. */
static bool has_cpu_cgroups(void)
{
	return !access(CPU_CONTROLLER "/cpu.rt_runtime_us", F_OK);
}

/*
 * Kernels with RT_GROUP_SCHED give real-time only to cgroups that have some run time of their own.
 * Session cgroups have none, and what is below them can have none either: take one below the root.
 * It stays, empty, when we end: only root with all its capabilities may remove it, and we have
 * dropped those.
 */
static int cgroup_enter(void)
{
	char pid[16];

	if (!has_cpu_cgroups())
		return -ENOENT;
	if (mkdir(RT_CGROUP, 0755) && errno != EEXIST)
		return -errno;
	snprintf(pid, sizeof(pid), "%d", getpid());
	int err = write_text(RT_CGROUP "/cpu.rt_runtime_us", RT_RUNTIME_US);

	return err ? err : write_text(RT_CGROUP "/cgroup.procs", pid);
}

void tipmed_realtime_allow(struct tipmed_limits *limits)
{
	if (realtime_works() || capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_NICE) != 1)
		return;
	int err = cgroup_enter();

	if (!err && realtime_works())
		return;
	tipmed_limit_add(
		limits,
		"the trigger thread cannot be real-time (its cgroup has no real-time run time%s%s): under load the copy may come late",
		err ? "; " : "", err ? strerror(-err) : "");
}
