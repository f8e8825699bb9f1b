// SPDX-License-Identifier: GPL-2.0-only
/* What of the machine decides how late it is. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "latency.h"
#include "small_file.h"

#define LINE 4096

/* Files of one line; what is not there is left out. */
static const struct {
	const char *name, *path;
} files[] = {
	{ "governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor" },
	{ "frequency_driver", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver" },
	{ "idle_driver", "/sys/devices/system/cpu/cpuidle/current_driver" },
	{ "idle_governor", "/sys/devices/system/cpu/cpuidle/current_governor" },
	{ "smt", "/sys/devices/system/cpu/smt/control" },
	{ "isolated_cpus", "/sys/devices/system/cpu/isolated" },
	{ "nohz_full", "/sys/devices/system/cpu/nohz_full" },
	{ "interrupt_affinity", "/proc/irq/default_smp_affinity" },
	{ "clock_source", "/sys/devices/system/clocksource/clocksource0/current_clocksource" },
	{ "realtime_runtime_us", "/proc/sys/kernel/sched_rt_runtime_us" },
	{ "preemption", "/sys/kernel/debug/sched/preempt" },
};

/* Returns whether there was a line that says anything. */
static int line_of(const char *path, char *line, size_t len)
{
	return tipme_file_line(path, line, len) && line[0] != '\0' && strcmp(line, "(null)") != 0;
}

/* The options of the kernel, without what names disks, hosts or addresses. */
static void add_options(struct json_object *o, char *line)
{
	struct json_object *list = json_object_new_array();
	char *rest = NULL;

	/* What follows two dashes is for init. */
	for (char *word = strtok_r(line, " ", &rest); word && strcmp(word, "--");
	     word = strtok_r(NULL, " ", &rest)) {
		size_t name = strcspn(word, "=");

		if (word[name] && strpbrk(word + name, "/:@"))
			word[name] = '\0';
		json_object_array_add(list, json_object_new_string(word));
	}
	json_object_object_add(o, "kernel_options", list);
}

/* The deepest state that CPU 0 may idle in. */
static void add_idle(struct json_object *o)
{
	char path[120], line[LINE], name[LINE] = "";

	for (int i = 0; i < 16; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cpuidle/state%d/disable",
			 i);
		if (!line_of(path, line, sizeof(line)))
			break;
		if (strcmp(line, "0"))
			continue;
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cpuidle/state%d/name",
			 i);
		line_of(path, name, sizeof(name));
	}
	if (name[0])
		json_object_object_add(o, "deepest_idle_state", json_object_new_string(name));
}

struct json_object *tipme_latency_facts(void)
{
	struct json_object *o = json_object_new_object();
	struct utsname uts;
	char line[LINE];

	if (!uname(&uts)) {
		json_object_object_add(o, "kernel_build", json_object_new_string(uts.version));
		json_object_object_add(o, "architecture", json_object_new_string(uts.machine));
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (line_of(files[i].path, line, sizeof(line)))
			json_object_object_add(o, files[i].name, json_object_new_string(line));
	add_idle(o);
	if (line_of("/proc/cmdline", line, sizeof(line)))
		add_options(o, line);
	return o;
}
