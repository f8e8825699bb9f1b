// SPDX-License-Identifier: GPL-2.0-only
/* What the machine and our rights permit. */
#include "config.h"

#include <cap-ng.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pwd.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor.h"
#include "paths.h"
#include "retold.h"
#include "small_file.h"
#include "translate.h"

static void look_recorder(struct doctor_session *session, struct doctor_finding *f)
{
	if (session->status)
		doctor_say(f, DOCTOR_OK, "", N_("a recorder runs and answers"));
	else
		doctor_say(
			f, DOCTOR_LIMITED, N_("sudo tipme start"),
			N_("no recorder runs here, or it does not serve you: nothing is recorded for you now"));
}

static bool have(unsigned int capability)
{
	return capng_have_capability(CAPNG_EFFECTIVE, capability) == 1;
}

static void look_capability(const struct doctor_session *session, struct doctor_finding *f,
			    unsigned int capability, enum doctor_state without, const char *cost)
{
	if (have(capability))
		doctor_say(f, DOCTOR_OK, "", N_("held"));
	else if (session->exact_recorder)
		doctor_say(
			f, DOCTOR_OK, "",
			N_("not held by you; the recorder that runs was started with what it needs"));
	else
		doctor_say(f, without, N_("run it with sudo"), N_("not held: %s"), _(cost));
}

static void look_bpf_capability(struct doctor_session *session, struct doctor_finding *f)
{
	look_capability(session, f, CAP_BPF, DOCTOR_MISSING,
			N_("the tracing programs cannot be loaded"));
}

static void look_perfmon(struct doctor_session *session, struct doctor_finding *f)
{
	look_capability(session, f, CAP_PERFMON, DOCTOR_MISSING,
			N_("the tracing programs cannot be attached"));
}

static void look_syslog(struct doctor_session *session, struct doctor_finding *f)
{
	look_capability(session, f, CAP_SYSLOG, DOCTOR_LIMITED,
			N_("kernel functions in stacks may have no names"));
}

static void look_ipc_lock(struct doctor_session *session, struct doctor_finding *f)
{
	look_capability(session, f, CAP_IPC_LOCK, DOCTOR_LIMITED,
			N_("the recorder may be swapped out under the load that it records"));
}

static void look_nice(struct doctor_session *session, struct doctor_finding *f)
{
	look_capability(session, f, CAP_SYS_NICE, DOCTOR_LIMITED,
			N_("under load the copy may come late"));
}

static void look_kernel(struct doctor_session *session, struct doctor_finding *f)
{
	struct utsname name;
	unsigned int major = 0, minor = 0;

	uname(&name);
	sscanf(name.release, "%u.%u", &major, &minor);
	if (strcmp(name.machine, "x86_64"))
		doctor_say(f, DOCTOR_MISSING, N_("use an x86-64 machine"),
			   N_("%s: tipme records on x86-64 only, for now"), name.machine);
	else if (major < 6 || (major == 6 && !minor))
		doctor_say(f, DOCTOR_LIMITED, N_("a kernel from 6.1 on"),
			   N_("Linux %s: older than what is tested (6.1)"), name.release);
	else
		doctor_say(f, DOCTOR_OK, "", N_("Linux %s"), name.release);
}

static void look_btf(struct doctor_session *session, struct doctor_finding *f)
{
	if (!access("/sys/kernel/btf/vmlinux", R_OK))
		doctor_say(f, DOCTOR_OK, "", N_("the kernel describes its own types"));
	else
		doctor_say(
			f, DOCTOR_MISSING,
			N_("a distribution's kernel has it; a kernel of your own needs CONFIG_DEBUG_INFO_BTF=y"),
			N_("no /sys/kernel/btf/vmlinux: the tracing programs cannot find their way in this kernel"));
}

static void look_lockdown(struct doctor_session *session, struct doctor_finding *f)
{
	char line[128];

	tipme_file_line("/sys/kernel/security/lockdown", line, sizeof(line));
	if (strstr(line, "[confidentiality]"))
		doctor_say(f, DOCTOR_MISSING, N_("boot with lockdown=integrity"),
			   N_("confidentiality: no program may read kernel memory, ours included"));
	else if (strstr(line, "[integrity]"))
		doctor_say(
			f, DOCTOR_OK, "",
			N_("integrity: tracing programs may run (kernel modules must be signed)"));
	else
		doctor_say(f, DOCTOR_OK, "", N_("none"));
}

/* Not needed, so it is no limit where it is not there. */
static void look_module(struct doctor_session *session, struct doctor_finding *f)
{
	if (!access("/dev/tipme", F_OK))
		doctor_say(
			f, DOCTOR_OK, "",
			N_("tipme.ko is loaded: it records, and takes hot-keys on text consoles"));
	else
		doctor_say(
			f, DOCTOR_OK, "",
			N_("tipme.ko is not loaded: tracing programs record instead (no input devices, no hot-keys on text consoles)"));
}

/* The same: all is recorded in either case. */
static void look_user(struct doctor_session *session, struct doctor_finding *f)
{
	if (getpwnam(TIPME_SYSTEM_USER))
		doctor_say(f, DOCTOR_OK, "",
			   N_("a recorder that root starts becomes the system user %s"),
			   TIPME_SYSTEM_USER);
	else
		doctor_say(
			f, DOCTOR_OK, "",
			N_("no system user %s (systemd-sysusers makes it): a recorder that root starts stays user 0, without root's capabilities"),
			TIPME_SYSTEM_USER);
}

static void look_bpf(struct doctor_session *session, struct doctor_finding *f)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1
	};
	int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	int err = errno;

	if (fd >= 0)
		close(fd);
	if (fd >= 0)
		doctor_say(f, DOCTOR_OK, "", N_("a map could be made"));
	else if (err == EPERM && session->exact_recorder)
		doctor_say(f, DOCTOR_OK, "",
			   N_("not permitted to you; the recorder that runs may"));
	else if (err == EPERM && !have(CAP_BPF))
		doctor_say(f, DOCTOR_MISSING, N_("run it with sudo"),
			   N_("not permitted without CAP_BPF"));
	else
		doctor_say(f, DOCTOR_MISSING,
			   err == EPERM ? N_("run it outside of the container")
					: N_("a kernel with CONFIG_BPF_SYSCALL=y"),
			   N_("bpf(2) is refused: %s"), strerror(err));
}

/* What the recorder that runs has said, in a sentence that begins so; NULL: nothing. */
static const char *told(const struct doctor_session *session, const char *begin)
{
	struct json_object *limits;

	if (!json_object_object_get_ex(session->status, "limits", &limits) ||
	    !json_object_is_type(limits, json_type_array))
		return NULL;
	for (size_t i = 0; i < json_object_array_length(limits); i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(limits, i));

		if (text && !strncmp(text, begin, strlen(begin)))
			return text;
	}
	return NULL;
}

static void look_programs(struct doctor_session *session, struct doctor_finding *f)
{
	const char *refused = told(session, "the kernel refuses the tracing program ");
	char *words = refused ? tipme_retold(refused) : NULL;

	if (refused)
		doctor_say(f, DOCTOR_LIMITED, "", N_("the recorder that runs says: %s"),
			   words ? words : refused);
	else
		doctor_say(f, DOCTOR_OK, "",
			   session->exact_recorder ? N_("the kernel refuses none of them")
						   : N_("known when a recorder runs"));
	free(words);
}

/* The same that the recorder opens on each CPU. */
static void look_counters(struct doctor_session *session, struct doctor_finding *f)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
					.disabled = 1 };
	const char *none = session->exact_recorder ? told(session, "no counters ") : NULL;
	int fd = none || session->exact_recorder ? -1
						 : (int)syscall(SYS_perf_event_open, &attr, -1, 0,
								-1, PERF_FLAG_FD_CLOEXEC);
	int err = errno;

	if (fd >= 0)
		close(fd);
	if (none)
		doctor_say(f, DOCTOR_LIMITED, "", N_("the recorder that runs has %s"), none);
	else if (session->exact_recorder)
		doctor_say(f, DOCTOR_OK, "", N_("the recorder that runs has them"));
	else if (fd >= 0)
		doctor_say(f, DOCTOR_OK, "", N_("samples and page faults can be counted"));
	else
		doctor_say(
			f, DOCTOR_LIMITED,
			geteuid()
				? N_("run it with sudo, or sysctl kernel.perf_event_paranoid=2 beside CAP_PERFMON")
				: N_("run it where no filter forbids perf_event_open (containers do)"),
			N_("no samples, no page faults that read: counting is refused (%s)"),
			strerror(err));
}

static void look_symbols(struct doctor_session *session, struct doctor_finding *f)
{
	char line[16];

	tipme_file_line("/proc/sys/kernel/kptr_restrict", line, sizeof(line));
	if (line[0] == '2')
		doctor_say(f, DOCTOR_LIMITED, N_("sysctl kernel.kptr_restrict=1"),
			   N_("kptr_restrict is 2: kernel functions have no names, even for root"));
	else if (line[0] == '1' && !have(CAP_SYSLOG))
		doctor_say(f, DOCTOR_LIMITED, N_("run it with sudo"),
			   N_("kptr_restrict is 1: kernel functions have names for root only"));
	else
		doctor_say(f, DOCTOR_OK, "", N_("kernel functions have names"));
}

/* In a child, so that nothing of it stays. */
static int realtime_try(void)
{
	struct sched_param param = { .sched_priority = 1 };
	int status;
	pid_t child = fork();

	if (!child)
		_exit(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &param) ? errno : 0);
	if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
		return EAGAIN;
	return WEXITSTATUS(status);
}

static void look_realtime(struct doctor_session *session, struct doctor_finding *f)
{
	int err = realtime_try();

	if (!err)
		doctor_say(f, DOCTOR_OK, "", N_("threads may be real-time"));
	else if (have(CAP_SYS_NICE))
		doctor_say(
			f, DOCTOR_LIMITED, "",
			N_("refused here (%s), usually for want of real-time run time in our cgroup: tipme start makes one that has it, if it may"),
			strerror(err));
	else
		doctor_say(f, DOCTOR_LIMITED, N_("run it with sudo"),
			   N_("refused (%s): under load the copy may come late"), strerror(err));
}

const struct doctor_check doctor_machine_checks[] = {
	{ "recorder", false, look_recorder },
	{ "kernel", true, look_kernel },
	{ "btf", true, look_btf },
	{ "lockdown", true, look_lockdown },
	{ "module", false, look_module },
	{ "bpf", true, look_bpf },
	{ "CAP_BPF", true, look_bpf_capability },
	{ "CAP_PERFMON", true, look_perfmon },
	{ "CAP_SYSLOG", false, look_syslog },
	{ "CAP_IPC_LOCK", false, look_ipc_lock },
	{ "CAP_SYS_NICE", false, look_nice },
	{ "programs", false, look_programs },
	{ "counters", false, look_counters },
	{ "symbols", false, look_symbols },
	{ "real-time", false, look_realtime },
	{ "user", false, look_user },
	{ 0 },
};
