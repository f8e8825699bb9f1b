// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel reports (/dev/kmsg), as far as a table of ours knows it. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "messages.h"
#include "tipme_records.h"

#define KIND(k) TIPME_KERNEL_MESSAGE_KIND_##k
#define LINE_MAX_BYTES 8192 /* the kernel's own limit for one message */
#define AT_ONCE 1000 /* messages of one look: a kernel that says more is not to keep us */
#define GROUPS 4

/*
 * The first that fits counts. Group 3, else group 1, is the device; group 2 is the number if it has
 * one. A device is what the kernel calls it: never a path, an address or a name that somebody
 * chose.
 */
static const struct {
	unsigned int kind;
	const char *pattern;
} known[] = {
	{ KIND(GPU_RESET), "^(amdgpu|radeon) .*GPU reset" },
	{ KIND(GPU_RESET), "^\\[drm:(amdgpu)_job_timedout.*ring [a-z0-9_.]+ timeout" },
	{ KIND(GPU_RESET), "^(i915|xe) .*(GPU HANG|Resetting )" },
	{ KIND(GPU_RESET), "^(nouveau|v3d|panfrost|lima) .*(reset|timeout|killed)" },
	{ KIND(FLIP_LATE), "\\[((CRTC|PLANE|CONNECTOR):[0-9]+)[^]]*\\] .*timed out" },
	{ KIND(GPU_FAULT), "^(NVRM): Xid \\([^)]*\\): ([0-9]+)" },
	{ KIND(GPU_FAULT), "^(amdgpu|i915|xe|nouveau|radeon) .*(ERROR|fault)" },
	{ KIND(DISK_TIMEOUT), "^nvme (nvme[0-9]+): I/O .*timeout" },
	{ KIND(DISK_TIMEOUT), "^nvme (nvme[0-9]+): .*(reset|controller is down)" },
	{ KIND(DISK_ERROR),
	  "^(ata[0-9]+)[.0-9]*: (exception|hard resetting|soft resetting|failed)" },
	{ KIND(DISK_ERROR), "(I|medium|hardware)(/O)? error, dev ([a-z0-9-]+)" },
	{ KIND(SPLIT_LOCK), "^x86/split lock detection: #()[A-Z]+: .*/([0-9]+) took a" },
	{ KIND(CLOCK_UNSTABLE), "Marking clocksource '(tsc)[a-z-]*' as unstable" },
	{ KIND(CLOCK_UNSTABLE), "^(tsc): Marking TSC unstable" },
	{ KIND(THERMAL), "()CPU([0-9]+): .*temperature.* above threshold" },
	{ KIND(USB_RESET), "^usb ([0-9.-]+): reset .* USB device number ([0-9]+)" },
	{ KIND(USB_RESET), "^xhci_hcd ([0-9a-f:.]+): .*(not responding|HC died)" },
	{ KIND(USB_GONE), "^usb ([0-9.-]+): USB disconnect, device number ([0-9]+)" },
	{ KIND(BUS_TIMEOUT), "^(i2c_[a-z]+|i801_smbus|i2c) .*(timed out|timeout)" },
	{ KIND(HUNG_TASK), "^INFO: ()task .*:([0-9]+) blocked for more than" },
	{ KIND(OOM_KILL), "^(Memory cgroup o|O)ut of memory: Killed process ([0-9]+)" },
	{ KIND(FS_ERROR), "^EXT4-fs error \\(device ([a-z0-9-]+)\\)" },
	{ KIND(FS_ERROR), "^EXT4-fs \\(([a-z0-9-]+)\\): Remounting filesystem read-only" },
	{ KIND(FS_ERROR), "^BTRFS:? error \\(device ([a-z0-9-]+)" },
	{ KIND(FS_ERROR), "^XFS \\(([a-z0-9-]+)\\): .*([Cc]orruption|Shutting down|error)" },
	{ KIND(SERVER_GONE), "^(nfs): server .* not responding" },
	{ KIND(SERVER_GONE), "^(CIFS)[ :].*(has not responded|stuck for)" },
	{ KIND(SERVER_BACK), "^(nfs): server .* OK$" },
	{ KIND(CPU_STUCK), "^watchdog: BUG: ()soft lockup - CPU#([0-9]+)" },
	{ KIND(CPU_STUCK), "^rcu: INFO: rcu_[a-z]+ (self-)?detected stall" },
	{ KIND(FIRMWARE_ERROR), "^(ACPI)( BIOS)? Error" },
	{ KIND(NETWORK_RESET), "^NETDEV WATCHDOG: .*transmit queue ()([0-9]+)" },
	{ KIND(ALLOC_FAILED), "^[^:]{1,16}: ()page allocation failure: order:([0-9]+)" },
};
#define KNOWN (sizeof(known) / sizeof(*known))

/* Compiled while there are messages to look at; nothing where it is compiled already. */
int tipmed_messages_table(struct tipmed_messages *m)
{
	regex_t *table = m->table ? NULL : calloc(KNOWN, sizeof(*table));

	if (!table)
		return m->table ? 0 : -ENOMEM;
	for (unsigned int i = 0; i < KNOWN; i++) {
		if (!regcomp(&table[i], known[i].pattern, REG_EXTENDED))
			continue;
		while (i--)
			regfree(&table[i]);
		free(table);
		return -EINVAL;
	}
	m->table = table;
	return 0;
}

int tipmed_messages_open(struct tipmed_messages *m)
{
	m->fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int err = m->fd < 0 ? -errno : 0;

	if (!err && lseek(m->fd, 0, SEEK_END) < 0)
		err = -errno;
	if (err)
		tipmed_messages_close(m);
	return err;
}

static void table_free(struct tipmed_messages *m)
{
	regex_t *table = m->table;

	for (unsigned int i = 0; table && i < KNOWN; i++)
		regfree(&table[i]);
	free(table);
	m->table = NULL;
}

void tipmed_messages_close(struct tipmed_messages *m)
{
	table_free(m);
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

/* "6,339,5140900,-;text": facility and severity in one number, the kernel's facility is 0. */
static const char *text_of(const char *line, unsigned int *severity, unsigned long long *us)
{
	unsigned int priority;
	const char *text = strchr(line, ';');

	if (!text || sscanf(line, "%u,%*u,%llu", &priority, us) != 2 || priority >> 3)
		return NULL;
	*severity = priority & 7;
	return text + 1;
}

static void device_copy(char *to, size_t size, const char *text, const regmatch_t *at)
{
	size_t n = 0;

	for (regoff_t i = at->rm_so; i >= 0 && i < at->rm_eo && n < size - 1; i++)
		if (isalnum((unsigned char)text[i]) || strchr(".:-_", text[i]))
			to[n++] = text[i];
	to[n] = '\0';
}

/* The log's clock may be seconds off after a long time: what is new came since the last look. */
static uint64_t between(uint64_t ns, uint64_t from_ns, uint64_t to_ns)
{
	return ns < from_ns ? from_ns : ns > to_ns ? to_ns : ns;
}

int tipmed_message_known(const struct tipmed_messages *m, const char *line,
			 struct tipme_kernel_message *rec)
{
	unsigned int severity;
	unsigned long long us;
	char first[LINE_MAX_BYTES];
	regmatch_t at[GROUPS];
	const char *text = text_of(line, &severity, &us);
	const regex_t *table = m->table;

	if (!text || !table)
		return 0;
	/*
	 * Behind the first line stand a continuation and what the device is: not part of the text.
	 */
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(text, "\n"), text);
	for (unsigned int i = 0; i < KNOWN; i++) {
		if (regexec(&table[i], first, GROUPS, at, 0))
			continue;
		*rec = (struct tipme_kernel_message){
			.ts_ns = us * 1000,
			.type = TIPME_KERNEL_MESSAGE,
			.len8 = sizeof(*rec) / 8,
			.kind = (uint16_t)known[i].kind,
			.severity = (uint16_t)severity,
		};
		if (known[i].kind != KIND(OOM_KILL))
			device_copy(rec->device, sizeof(rec->device), first,
				    &at[at[3].rm_so < 0 ? 1 : 3]);
		if (at[2].rm_so >= 0 && isdigit((unsigned char)first[at[2].rm_so]))
			rec->number = (uint32_t)strtoul(first + at[2].rm_so, NULL, 10);
		return 1;
	}
	return 0;
}

void tipmed_messages_look(struct tipmed_messages *m, uint64_t now_ns,
			  void (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	static char line[LINE_MAX_BYTES + 1]; /* one thread keeps house */
	struct tipme_kernel_message rec;
	unsigned int severity;
	unsigned long long us;

	for (int i = 0; m->fd >= 0 && i < AT_ONCE; i++) {
		ssize_t n = read(m->fd, line, sizeof(line) - 1);

		if (n < 0 && errno == EPIPE)
			continue; /* the kernel has dropped what we had not read yet */
		if (n <= 0)
			break;
		line[n] = '\0';
		if (!emit || !text_of(line, &severity, &us) || tipmed_messages_table(m) ||
		    !tipmed_message_known(m, line, &rec))
			continue;
		rec.ts_ns = between(rec.ts_ns, m->looked_ns, now_ns);
		emit(arg, &rec, sizeof(rec));
	}
	/* Half a megabyte, which is wanted in few seconds of a day. */
	table_free(m);
	m->looked_ns = now_ns;
	memset(line, 0, sizeof(line));
}
