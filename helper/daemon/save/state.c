// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state of the machine when an episode is written: drivers, settings, what is mounted, what
 * runs.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <json-c/json.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "desktop.h"
#include "small_file.h"
#include "state.h"
#include "steal.h"

#define WORD 128

static void add(struct json_object *to, const char *key, struct json_object *value)
{
	json_object_object_add(to, key, value);
}

/* What makers wrote may hold anything: printable ASCII is kept. */
static void add_text(struct json_object *to, const char *key, char *text)
{
	for (char *p = text; *p; p++)
		if (!isprint((unsigned char)*p))
			*p = '?';
	if (*text)
		add(to, key, json_object_new_string(text));
}

static void add_file(struct json_object *to, const char *key, const char *path)
{
	char line[WORD];

	if (tipme_file_line(path, line, sizeof(line)))
		add_text(to, key, line);
}

/* "always [madvise] never" */
static void add_chosen(struct json_object *to, const char *key, const char *path)
{
	char line[WORD], *from;

	if (!tipme_file_line(path, line, sizeof(line)) || !(from = strchr(line, '[')))
		return;
	from[strcspn(from, "]")] = '\0';
	add_text(to, key, from + 1);
}

static void add_number_of(struct json_object *to, const char *key, const char *path)
{
	char line[WORD];

	if (tipme_file_line(path, line, sizeof(line)) && isdigit((unsigned char)line[0]))
		add(to, key, json_object_new_int64(strtoll(line, NULL, 10)));
}

/* The last part of where a link leads to. */
static int link_name(const char *path, char *name, size_t size)
{
	char target[512];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n <= 0)
		return 0;
	target[n] = '\0';
	const char *slash = strrchr(target, '/');

	snprintf(name, size, "%.*s", (int)size - 1, slash ? slash + 1 : target);
	return 1;
}

/* Calls for each entry of a folder whose name begins so. */
static void each_of(const char *folder, const char *begins, struct json_object *list,
		    void (*entry)(struct json_object *list, const char *folder, const char *name))
{
	struct dirent **names;
	int n = scandir(folder, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.' &&
		    !strncmp(names[i]->d_name, begins, strlen(begins)))
			entry(list, folder, names[i]->d_name);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

static void gpu_entry(struct json_object *list, const char *folder, const char *name)
{
	char path[512], driver[WORD];

	/* card0, not card0-HDMI-A-1 */
	if (strchr(name, '-'))
		return;
	snprintf(path, sizeof(path), "%s/%.64s/device/driver", folder, name);
	if (!link_name(path, driver, sizeof(driver)))
		return;
	struct json_object *gpu = json_object_new_object();

	add_text(gpu, "driver", driver);
	snprintf(path, sizeof(path), "/sys/module/%.64s/version", driver);
	add_file(gpu, "version", path);
	snprintf(path, sizeof(path), "%s/%.64s/device/vendor", folder, name);
	add_file(gpu, "vendor", path);
	snprintf(path, sizeof(path), "%s/%.64s/device/device", folder, name);
	add_file(gpu, "device", path);
	snprintf(path, sizeof(path), "%s/%.64s/device/power/runtime_status", folder, name);
	add_file(gpu, "power", path);
	json_object_array_add(list, gpu);
}

static void screen_entry(struct json_object *list, const char *folder, const char *name)
{
	char path[512], word[WORD];
	const char *kind = strchr(name, '-');

	snprintf(path, sizeof(path), "%s/%.64s/status", folder, name);
	if (kind && tipme_file_line(path, word, sizeof(word)) && !strcmp(word, "connected"))
		json_object_array_add(list, json_object_new_string(kind + 1));
}

/* The whole disk on which a mapped one lies; of several, the last. */
static void over_entry(struct json_object *disk, const char *folder, const char *name)
{
	char path[PATH_MAX], real[PATH_MAX], *slash;

	snprintf(path, sizeof(path), "%s/%.64s", folder, name);
	if (!realpath(path, real))
		return;
	snprintf(path, sizeof(path), "/sys/class/block/%.64s/partition", name);
	if (!access(path, F_OK) && (slash = strrchr(real, '/')))
		*slash = '\0';
	slash = strrchr(real, '/');
	if (slash)
		add_text(disk, "over", slash + 1);
}

static void disk_entry(struct json_object *list, const char *folder, const char *name)
{
	char path[512];

	if (!strncmp(name, "loop", 4) || !strncmp(name, "ram", 3))
		return;
	struct json_object *disk = json_object_new_object();

	add(disk, "name", json_object_new_string(name));
	snprintf(path, sizeof(path), "%s/%.64s/queue/scheduler", folder, name);
	add_chosen(disk, "scheduler", path);
	snprintf(path, sizeof(path), "%s/%.64s/queue/rotational", folder, name);
	add_number_of(disk, "rotational", path);
	snprintf(path, sizeof(path), "%s/%.64s/removable", folder, name);
	add_number_of(disk, "removable", path);
	snprintf(path, sizeof(path), "%s/%.64s/slaves", folder, name);
	each_of(path, "", disk, over_entry);
	json_object_array_add(list, disk);
}

static void crypt_entry(struct json_object *list, const char *folder, const char *name)
{
	char path[512], word[WORD];

	snprintf(path, sizeof(path), "%s/%.64s/dm/uuid", folder, name);
	if (tipme_file_line(path, word, sizeof(word)) && !strncmp(word, "CRYPT-", 6))
		json_object_array_add(list, json_object_new_string(name));
}

/* Numbers of the kernel's API (BUS_USB ...): those that may be late by themselves. */
static const char *bus_name(unsigned int bus)
{
	switch (bus) {
	case 0x03: return "usb";
	case 0x05: return "bluetooth";
	case 0x06: return "virtual";
	case 0x11: return "ps2";
	case 0x18: return "i2c";
	}
	return "other";
}

/*
 * The device of the bus that an input device is a part of: the nearest above that says how it saves
 * power.
 */
static void add_power(struct json_object *input, char *path)
{
	char file[PATH_MAX + 64], word[WORD], *slash;

	while ((slash = strrchr(path, '/')) && strncmp(path, "/sys/devices/", 13) == 0) {
		snprintf(file, sizeof(file), "%s/power/autosuspend_delay_ms", path);
		if (tipme_file_line(file, word, sizeof(word))) {
			add_number_of(input, "sleeps_after_ms", file);
			snprintf(file, sizeof(file), "%s/power/control", path);
			add_file(input, "power", file);
			return;
		}
		*slash = '\0';
	}
}

static void input_entry(struct json_object *list, const char *folder, const char *name)
{
	char path[512], word[WORD], real[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%.64s/device/id/bustype", folder, name);
	if (!tipme_file_line(path, word, sizeof(word)))
		return;
	struct json_object *input = json_object_new_object();

	add(input, "device", json_object_new_string(name));
	add(input, "bus", json_object_new_string(bus_name((unsigned int)strtoul(word, NULL, 16))));
	snprintf(path, sizeof(path), "%s/%.64s/device", folder, name);
	if (realpath(path, real))
		add_power(input, real);
	json_object_array_add(list, input);
}

static void quota_entry(struct json_object *list, const char *folder, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%.64s/qgroups", folder, name);
	if (!access(path, F_OK))
		json_object_array_add(list, json_object_new_int(1));
}

static struct json_object *list_of(const char *folder, const char *begins,
				   void (*entry)(struct json_object *, const char *, const char *))
{
	struct json_object *list = json_object_new_array();

	each_of(folder, begins, list, entry);
	return list;
}

/* How many there are of each kind that has a server, a process or a disk behind it. */
static struct json_object *mounts(void)
{
	static const char *const none[] = {
		"bpf",	    "cgroup",	"cgroup2", "configfs",	  "debugfs",	"devpts",
		"devtmpfs", "efivarfs", "fusectl", "hugetlbfs",	  "mqueue",	"nsfs",
		"proc",	    "pstore",	"ramfs",   "rpc_pipefs",  "securityfs", "selinuxfs",
		"sysfs",    "tmpfs",	"tracefs", "binfmt_misc",
	};
	struct json_object *kinds = json_object_new_object(), *was;
	char text[4096];
	struct mntent mount;
	FILE *f = setmntent("/proc/self/mounts", "re");

	while (f && getmntent_r(f, &mount, text, sizeof(text))) {
		int skip = 0, n = 0;

		for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
			skip |= !strcmp(mount.mnt_type, none[i]);
		if (skip || strlen(mount.mnt_type) > 40)
			continue;
		if (json_object_object_get_ex(kinds, mount.mnt_type, &was))
			n = json_object_get_int(was);
		add(kinds, mount.mnt_type, json_object_new_int(n + 1));
	}
	if (f)
		endmntent(f);
	return kinds;
}

/* /proc/swaps: "Filename Type Size Used Priority": of the first column only whether it is zram. */
static struct json_object *swaps(void)
{
	struct json_object *list = json_object_new_array();
	char line[512], name[256], type[64];
	unsigned long long kib;
	FILE *f = fopen("/proc/swaps", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%255s %63s %llu", name, type, &kib) != 3)
			continue;
		struct json_object *swap = json_object_new_object();
		const char *kind = strstr(name, "/zram")   ? "zram"
				   : !strcmp(type, "file") ? "file"
							   : "disk";

		add(swap, "kind", json_object_new_string(kind));
		add(swap, "kib", json_object_new_int64((int64_t)kib));
		json_object_array_add(list, swap);
	}
	if (f)
		fclose(f);
	return list;
}

/* Options that change how fast things go; others may tell of disks and people. */
static int option_known(const char *word)
{
	static const char *const known[] = {
		"amd_pstate",	 "amdgpu.",
		"clocksource=",	 "cpufreq.",
		"i915.",	 "idle=",
		"intel_idle.",	 "intel_iommu=",
		"intel_pstate=", "iommu=",
		"irqaffinity=",	 "isolcpus=",
		"mem=",		 "mitigations=",
		"nohz",		 "nosmt",
		"nouveau.",	 "nvidia",
		"nvme_core.",	 "nvme.",
		"pcie_",	 "preempt=",
		"processor.",	 "psi=",
		"psmouse.",	 "radeon.",
		"rcu",		 "split_lock_detect=",
		"threadirqs",	 "transparent_hugepage=",
		"tsc=",		 "usbcore.",
		"usbhid.",	 "video=",
		"xe.",		 "zswap.",
		"acpi_osi=",	 "acpi=",
		"drm.",		 "snd_hda_intel.",
		"iwlwifi.",	 "libata.",
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(word, known[i], strlen(known[i])))
			return 1;
	return 0;
}

static struct json_object *kernel_options(void)
{
	struct json_object *list = json_object_new_array();
	char line[4096], *at = line, *word;

	if (!tipme_file_line("/proc/cmdline", line, sizeof(line)))
		return list;
	while ((word = strsep(&at, " ")))
		if (option_known(word) && strlen(word) < WORD)
			json_object_array_add(list, json_object_new_string(word));
	return list;
}

/* Programs whose presence explains something: what paints, who is asked for files, who types. */
static int program_known(const char *comm)
{
	static const char *const known[] = {
		"Hyprland",
		"Xorg",
		"Xwayland",
		"cinnamon",
		"compton",
		"cosmic-comp",
		"enlightenment",
		"fcitx",
		"fcitx5",
		"gnome-shell",
		"i3",
		"ibus-daemon",
		"kwin_wayland",
		"kwin_x11",
		"labwc",
		"marco",
		"metacity",
		"mutter",
		"muffin",
		"niri",
		"openbox",
		"picom",
		"sway",
		"wayfire",
		"weston",
		"xfwm4",
		"evilwm",
		"xdg-desktop-por",
		"xdg-document-po",
		"baloo_file",
		"tracker-miner-f",
		"localsearch-3",
		"packagekitd",
		"snapd",
		"thermald",
		"tlp",
		"power-profiles-",
		"tuned",
		"auditd",
		"clamd",
		"clamonacc",
		"earlyoom",
		"systemd-oomd",
		"powerdevil",
		"ananicy-cpp",
		"gamemoded",
		"pipewire",
		"pulseaudio",
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(comm, known[i]))
			return 1;
	return 0;
}

static void program_entry(struct json_object *set, const char *folder, const char *name)
{
	char path[512], comm[32];

	if (!isdigit((unsigned char)name[0]))
		return;
	snprintf(path, sizeof(path), "%s/%.32s/comm", folder, name);
	if (tipme_file_line(path, comm, sizeof(comm)) && program_known(comm))
		add(set, comm, json_object_new_int(1));
}

static struct json_object *programs(void)
{
	struct json_object *set = json_object_new_object(), *list = json_object_new_array();

	each_of("/proc", "", set, program_entry);
	json_object_object_foreach(set, comm, value)
	{
		(void)value;
		json_object_array_add(list, json_object_new_string(comm));
	}
	json_object_put(set);
	return list;
}

#define VM "/proc/sys/vm/"
#define FREQ "/sys/devices/system/cpu/cpu0/cpufreq/"

static void add_memory(struct json_object *state)
{
	add(state, "swap", swaps());
	add_file(state, "zswap", "/sys/module/zswap/parameters/enabled");
	add_number_of(state, "swappiness", VM "swappiness");
	add_chosen(state, "huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled");
	add_chosen(state, "huge_pages_defrag", "/sys/kernel/mm/transparent_hugepage/defrag");
	add_number_of(state, "dirty_bytes", VM "dirty_bytes");
	add_number_of(state, "dirty_ratio", VM "dirty_ratio");
	add_number_of(state, "dirty_background_bytes", VM "dirty_background_bytes");
	add_number_of(state, "dirty_background_ratio", VM "dirty_background_ratio");
}

static void add_cpus(struct json_object *state)
{
	add_file(state, "clock_source",
		 "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	add_file(state, "governor", FREQ "scaling_governor");
	add_file(state, "frequency_driver", FREQ "scaling_driver");
	add_file(state, "energy_preference", FREQ "energy_performance_preference");
	add_file(state, "platform_profile", "/sys/firmware/acpi/platform_profile");
	add_number_of(state, "no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo");
	add_number_of(state, "split_lock_mitigate", "/proc/sys/kernel/split_lock_mitigate");
}

static void add_machine(struct json_object *state)
{
	add(state, "virtual", json_object_new_int(tipmed_steal_any()));
	add_file(state, "maker", "/sys/class/dmi/id/sys_vendor");
	add_file(state, "model", "/sys/class/dmi/id/product_name");
	add_file(state, "firmware", "/sys/class/dmi/id/bios_version");
	add_file(state, "firmware_date", "/sys/class/dmi/id/bios_date");
	add_file(state, "kernel_build", "/proc/sys/kernel/version");
	add(state, "kernel_options", kernel_options());
}

struct json_object *tipmed_state(const char *session)
{
	struct json_object *state = json_object_new_object();

	add_machine(state);
	add_cpus(state);
	add_memory(state);
	add(state, "gpus", list_of("/sys/class/drm", "card", gpu_entry));
	add(state, "screens", list_of("/sys/class/drm", "card", screen_entry));
	add(state, "disks", list_of("/sys/block", "", disk_entry));
	add(state, "encrypted", list_of("/sys/block", "dm-", crypt_entry));
	add(state, "inputs", list_of("/sys/class/input", "event", input_entry));
	add(state, "btrfs_quotas", list_of("/sys/fs/btrfs", "", quota_entry));
	add(state, "mounts", mounts());
	add(state, "programs", programs());
	if (*session)
		add(state, "session", tipmed_session_json(session));
	return state;
}
