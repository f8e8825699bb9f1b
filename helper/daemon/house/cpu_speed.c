// SPDX-License-Identifier: GPL-2.0-only
/* How fast CPUs may run and do, by /sys: a record where it changed. */
#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu_speed.h"
#include "small_file.h"
#include "tipme_records.h"

#define CPUS "/sys/devices/system/cpu/cpu%u/"
#define AT_ONCE 16
#define CHANGE_PARTS 8 /* an eighth more or less is told; a governor does less all the time */

static uint64_t of_cpu(unsigned int cpu, const char *what)
{
	char path[128];
	int64_t n;

	snprintf(path, sizeof(path), CPUS "%s", cpu, what);
	tipme_file_number(path, &n);
	return (uint64_t)n;
}

int tipmed_speed_any(void)
{
	return !access("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", R_OK) ||
	       !access("/sys/devices/system/cpu/cpu0/thermal_throttle", R_OK);
}

/* A supply of the kind "Mains" that is online; else a battery, where there is one. */
static uint8_t power_look(void)
{
	DIR *d = opendir("/sys/class/power_supply");
	struct dirent *e;
	uint8_t power = 0;

	while (d && (e = readdir(d))) {
		char path[300], type[32];
		int64_t online;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/class/power_supply/%.200s/type", e->d_name);
		tipme_file_line(path, type, sizeof(type));
		snprintf(path, sizeof(path), "/sys/class/power_supply/%.200s/online", e->d_name);
		if (strncmp(type, "Battery", 7) && tipme_file_number(path, &online) && online) {
			power = TIPME_POWER_SOURCE_MAINS;
			break;
		}
		if (!strncmp(type, "Battery", 7))
			power = TIPME_POWER_SOURCE_BATTERY;
	}
	if (d)
		closedir(d);
	return power;
}

static int differs(uint32_t now, uint32_t before)
{
	uint32_t most = now > before ? now : before, least = now > before ? before : now;

	return most - least > most / CHANGE_PARTS;
}

static void cpu_look(struct tipmed_speed_cpu *was, unsigned int cpu, uint8_t power, uint64_t now_ns,
		     void (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	struct tipmed_speed_cpu now = {
		.khz = (uint32_t)of_cpu(cpu, "cpufreq/scaling_cur_freq"),
		.limit_khz = (uint32_t)of_cpu(cpu, "cpufreq/scaling_max_freq"),
		.throttled = of_cpu(cpu, "thermal_throttle/core_throttle_count") +
			     of_cpu(cpu, "thermal_throttle/package_throttle_count"),
		.power = power,
		.known = 1,
	};
	uint64_t more =
		was->known && now.throttled > was->throttled ? now.throttled - was->throttled : 0;

	if (was->known && !more && !differs(now.khz, was->khz) && now.limit_khz == was->limit_khz &&
	    now.power == was->power)
		return;
	*was = now;
	struct tipme_cpu_speed rec = {
		.ts_ns = now_ns,
		.type = TIPME_CPU_SPEED,
		.len8 = sizeof(rec) / 8,
		.khz = now.khz,
		.limit_khz = now.limit_khz,
		.max_khz = (uint32_t)of_cpu(cpu, "cpufreq/cpuinfo_max_freq"),
		.throttled = more < UINT16_MAX ? (uint16_t)more : UINT16_MAX,
		.cpu = (uint16_t)cpu,
		.power = power,
	};

	emit(arg, &rec, sizeof(rec));
}

void tipmed_speed_look(struct tipmed_speed *s, uint64_t now_ns,
		       void (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	unsigned int cpus = (unsigned int)sysconf(_SC_NPROCESSORS_CONF);
	uint8_t power = power_look();

	cpus = cpus < TIPMED_SPEED_CPUS ? cpus : TIPMED_SPEED_CPUS;
	/* A look takes 15 us a CPU: of many, some in turn. */
	for (unsigned int i = 0; i < cpus && i < AT_ONCE; i++, s->next++)
		cpu_look(&s->cpu[s->next % cpus], s->next % cpus, power, now_ns, emit, arg);
}
