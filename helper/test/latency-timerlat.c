// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines of the kernel's timerlat tracer, as its documentation and kernels of 5.14 to 6.18 have
 * them.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "daemon-tap.h"
#include "latency.h"
#include "latency_timerlat.h"

volatile sig_atomic_t tipme_latency_ended, tipme_latency_interrupted;

static void line(const char *text, int stage, unsigned int cpu, uint64_t number, uint64_t seen_ns,
		 uint64_t ns)
{
	struct tipme_timerlat_line l = { 0 };
	int told = tipme_timerlat_line(text, &l);

	ok(stage < 0 ? !told
		     : told && l.stage == stage && l.cpu == cpu && l.number == number &&
			       l.seen_ns == seen_ns && l.ns == ns,
	   "%s", text);
}

int main(void)
{
	line("          <idle>-0       [000] d.h1    54.029328: #1     context    irq timer_latency       932 ns",
	     TIPME_STAGE_IRQ, 0, 1, 54029328000, 932);
	line("           <...>-867     [001] .....    54.029339: #1     context thread timer_latency     11700 ns",
	     TIPME_STAGE_TOTAL_HIGH, 1, 1, 54029339000, 11700);
	line("     timerlat/1-868     [012] ..... 123456.000003: #77    context thread timer_latency         9 ns",
	     TIPME_STAGE_TOTAL_HIGH, 12, 77, 123456000003000, 9);
	line("  timerlatu/0-1       [000] .....   142.411115: #1 context user-ret timer_latency 34000 ns",
	     -1, 0, 0, 0, 0);
	line("CPU:1 [LOST 33 EVENTS]", -1, 0, 0, 0, 0);
	line("#                              ||| /     _-=> migrate-disable", -1, 0, 0, 0, 0);
	line("", -1, 0, 0, 0, 0);
	line("] : # context", -1, 0, 0, 0, 0);
	return tap_end();
}
