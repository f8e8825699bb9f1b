// SPDX-License-Identifier: GPL-2.0-only
/* What /proc/asound says of a stream that ran dry, as kernels 6.1 to 6.12 write it. */
#include "config.h"

#include "daemon-tap.h"
#include "latency.h"
#include "latency_pipewire.h"
#include "latency_xruns.h"

volatile sig_atomic_t tipme_latency_ended, tipme_latency_interrupted;

#define NOW 4000000000ULL
#define WALL 1700000000000000000ULL

static const char setup[] =
	"access: RW_INTERLEAVED\nformat: S16_LE\nsubformat: STD\nchannels: 2\nrate: 48000 (48000/1)\nperiod_size: 1024\nbuffer_size: 4096\n";

static struct tipme_xrun x;

static bool is_xrun(const char *status, const char *hw_params)
{
	x = (struct tipme_xrun){ 0 };
	return tipme_xrun_read(status, hw_params, NOW, WALL, &x);
}

#define BEFORE "[W][00003.990000] pw.node      | [     impl-node.c:  710 dump_states()] "
#define SLOW "(music-player-1.2-57) client too slow! rate:1024/48000 pos:9216 status:awake"
#define DRY \
	"(alsa_output.pci-0000_00_1f.3.analog-stereo-51) XRun! rate:512/48000 count:3 time:3980000 delay:2000 max:2000"

static struct tipme_pipewire_xrun report;

static bool is_report(const char *line)
{
	report = (struct tipme_pipewire_xrun){ 0 };
	return tipme_pipewire_read(line, NOW, &report);
}

/* Lines of its log as versions 0.3 and 1.4 write them, by itself and by the journal. */
static void pipewire(void)
{
	ok(is_report(BEFORE SLOW) && report.client && report.node == 57, "a client too slow");
	ok(report.at_ns == NOW && report.cycle_ns == 21333333 && !report.writer,
	   "now, since its clock is another one, and its cycle");
	ok(is_report("[    3.991000] host pipewire[1234]: pw.node: " DRY " (0 suppressed)") &&
		   !report.client && report.node == 51 && report.writer == 1234,
	   "a device that ran dry, in the journal");
	ok(report.at_ns == 3980000000ULL && report.cycle_ns == 10666666,
	   "when, by its own time, and its cycle");
	ok(is_report("(x-5) XRun! rate:512/48000 count:3 time:99000000000 delay:1") &&
		   report.at_ns == NOW,
	   "by another clock: now");
	ok(is_report("[W][00099.990000] " SLOW) && report.at_ns == NOW, "not yet: now");
	ok(!is_report("(x-5) client too slow! rate:512/0 pos:1"), "no rate");
	ok(!is_report("(x-5) client too slow! rate:"), "cut short");
	ok(!is_report("(x) XRun! rate:512/48000 count:3"), "no node");
	ok(!is_report("") && !is_report("[") && !is_report("[W][") && !is_report("]: "), "nothing");
}

int main(void)
{
	ok(is_xrun("state: XRUN\nowner_pid   : 4711\ntrigger_time: 3.990000000\ntstamp      : 3.990000000\ndelay       : 0\n",
		   setup),
	   "stopped");
	ok(x.at_ns == 3990000000ULL && x.pid == 4711 && x.buffer_ns == 85333333,
	   "when by the monotonic clock, whose, and its buffer");
	ok(is_xrun("state: XRUN\nowner_pid   : 4711\ntrigger_time: 1699999999.900000000\n",
		   setup) &&
		   x.at_ns == NOW - 100000000,
	   "by the wall clock");
	ok(!is_xrun("state: XRUN\nowner_pid   : 4711\ntrigger_time: 1600000000.900000000\n", setup),
	   "long ago");
	ok(!is_xrun("state: RUNNING\nowner_pid   : 4711\ntrigger_time: 3.990000000\n", setup),
	   "it goes on");
	ok(!is_xrun("closed\n", "closed\n"), "closed");
	ok(!is_xrun("state: XRUN\nowner_pid   : 4711\ntrigger_time: 3.990000000\n", "closed\n"),
	   "closed meanwhile");
	ok(!is_xrun("", "") && !is_xrun("state", setup) && !is_xrun("state: XRUN", setup),
	   "cut short");
	pipewire();
	return tap_end();
}
