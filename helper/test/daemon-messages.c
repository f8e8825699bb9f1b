// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of the kernel's messages: lines as people have published them, each with where, become
 * a kind, a device and a number; nothing else of them is kept, and other lines are not known.
 */
#include "config.h"

#include <string.h>

#include "daemon-tap.h"
#include "messages.h"
#include "tipme_records.h"

#define KIND(k) TIPME_KERNEL_MESSAGE_KIND_##k

static const struct {
	const char *line;
	unsigned int kind;
	const char *device;
	unsigned int number;
} lines[] = {
	/* github.com/libretro/RetroArch/issues/10939 */
	{ "3,1,1000,-;[drm:drm_atomic_helper_wait_for_flip_done [drm_kms_helper]] *ERROR* "
	  "[CRTC:47:crtc-0] flip_done timed out",
	  KIND(FLIP_LATE), "CRTC:47", 0 },
	/* github.com/NVIDIA/open-gpu-kernel-modules/pull/1031 */
	{ "3,2,2000,-;NVRM: Xid (PCI:0000:2d:00): 109, pid=619, name=(udev-worker), channel 0x00000001",
	  KIND(GPU_FAULT), "NVRM", 109 },
	/* github.com/NelloKudo/osu-winello/issues/222 */
	{ "4,3,3000,-;x86/split lock detection: #AC: osu!.exe/14817 took a split_lock trap at "
	  "address: 0x7aa6806d",
	  KIND(SPLIT_LOCK), "", 14817 },
	/* github.com/Trepan-Debuggers/remake/issues/156 */
	{ "4,3,3000,-;x86/split lock detection: #DB: remake/737636 took a bus_lock trap at address: "
	  "0x5555555645d6",
	  KIND(SPLIT_LOCK), "", 737636 },
	/* github.com/syncloud/platform/issues/80 */
	{ "6,4,4000,-;usb 1-1: reset high-speed USB device number 2 using musb-hdrc",
	  KIND(USB_RESET), "1-1", 2 },
	/* github.com/openzfs/zfs/issues/9130 */
	{ "3,5,5000,-;INFO: task z_wr_iss:572 blocked for more than 120 seconds.", KIND(HUNG_TASK),
	  "", 572 },
	/* github.com/t2linux/T2-Debian-and-Ubuntu-Kernel/issues/53 */
	{ "3,6,6000,-;ACPI Error: AE_TIME, Returned by Handler for [EmbeddedControl] (20230628/evregion-300)",
	  KIND(FIRMWARE_ERROR), "ACPI", 0 },
	/* github.com/raspberrypi/linux/issues/2449 */
	{ "3,7,7000,-;print_req_error: I/O error, dev loop0, sector 231328", KIND(DISK_ERROR),
	  "loop0", 0 },
	{ "3,8,8000,-;CIFS VFS: sends on sock a715d500 stuck for 15 seconds", KIND(SERVER_GONE),
	  "CIFS", 0 },
	{ "3,8,8000,-;CIFS: VFS: \\\\nas.example has not responded in 180 seconds. Reconnecting...",
	  KIND(SERVER_GONE), "CIFS", 0 },
	/* github.com/ROCm/amdgpu/issues/22 */
	{ "3,9,9000,-;[drm:drm_atomic_helper_commit_cleanup_done [drm_kms_helper]] *ERROR* "
	  "[CRTC:34:crtc-0] flip_done timed out",
	  KIND(FLIP_LATE), "CRTC:34", 0 },
	{ "6,10,1,-;amdgpu 0000:03:00.0: amdgpu: SMU is resuming...", 0, "", 0 },
	/* A process's own words, in the log by a facility that is not the kernel's. */
	{ "12,11,1,-;usb 1-1: reset high-speed USB device number 2 using musb-hdrc", 0, "", 0 },
	{ "6,12,1,-;audit: somebody@example has read /home/somebody/letter", 0, "", 0 },
	/* A device's name that is none: what could hide text is left out. */
	{ "4,13,1,-;EXT4-fs error (device sda1): ext4_lookup:1855: inode #2: comm ls: x",
	  KIND(FS_ERROR), "sda1", 0 },
	{ "6,14,1,c;", 0, "", 0 },
	{ "nonsense", 0, "", 0 },
	{ "", 0, "", 0 },
};

int main(void)
{
	struct tipmed_messages m = { .fd = -1 };

	ok(!tipmed_messages_table(&m), "the table is good");
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct tipme_kernel_message rec = { 0 };
		int known = tipmed_message_known(&m, lines[i].line, &rec);

		ok(known == !!lines[i].kind && rec.kind == lines[i].kind &&
			   !strcmp(rec.device, lines[i].device) && rec.number == lines[i].number,
		   "kind %u, \"%s\", %u: %.60s", rec.kind, rec.device, rec.number, lines[i].line);
	}
	struct tipme_kernel_message rec;

	tipmed_message_known(&m, lines[0].line, &rec);
	ok(rec.severity == 3 && rec.ts_ns == 1000000, "its severity and its time");
	tipmed_messages_close(&m);
	return tap_end();
}
