// SPDX-License-Identifier: GPL-2.0-only
/* Numbers as the command line writes them: Tipme::CommandLine::ms and its neighbours. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "numbers.h"
#include "language.h"

const char *tipme_text_input(const char *kind)
{
	static const char *const words[] = { N_("key"), N_("button"), N_("motion"), N_("wheel"),
					     N_("touch") };

	for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
		if (!strcmp(kind, words[i]))
			return _(words[i]);
	return kind;
}

char *tipme_text_ms(gint64 ns)
{
	if (ns == G_MININT64)
		return g_strdup("-");

	double ms = fabs((double)ns) / 1e6;
	const char *sign = ns < 0 ? "-" : "";

	if (ms < 1)
		return g_strdup_printf("%s%.2f ms", sign, ms);
	if (ms < 10)
		return g_strdup_printf("%s%.1f ms", sign, ms);
	if (ms < 9999.5)
		return g_strdup_printf("%s%.0f ms", sign, ms);
	return g_strdup_printf("%s%.1f s", sign, ms / 1000);
}

char *tipme_text_local_time(const char *utc)
{
	g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(utc, NULL);
	g_autoptr(GDateTime) local = time ? g_date_time_to_local(time) : NULL;

	return local ? g_date_time_format(local, "%Y-%m-%d %H:%M:%S") : g_strdup(utc);
}

char *tipme_text_tick(gint64 ns, gint64 step_ns)
{
	int digits = 0;

	if (step_ns >= 1000000000)
		return g_strdup_printf("%.0f s", (double)ns / 1e9);
	while (digits < 6 && step_ns < 1000000) {
		digits++;
		step_ns *= 10;
	}
	return g_strdup_printf("%.*f ms", digits, (double)ns / 1e6);
}
