// SPDX-License-Identifier: GPL-2.0-only
/* What /proc/asound says of a stream that ran dry, as kernels 6.1 to 6.12 write it. */
#include "config.h"

#include "daemon-tap.h"
#include "latency.h"
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
	return tap_end();
}
