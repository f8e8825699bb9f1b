// SPDX-License-Identifier: GPL-2.0-only
/* The list of verbs, and the verb that somebody meant. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "translate.h"
#include "words.h"

static const char *const groups[TIPME_GROUPS] = {
	[TIPME_EVERYDAY] = N_("Everyday"),
	[TIPME_INVESTIGATE] = N_("Investigate"),
	[TIPME_SHARE] = N_("Share"),
	[TIPME_MEASURE] = N_("Measure"),
};

void cli_help(FILE *to, const struct tipme_verb_entry *verbs)
{
	fputs(_("usage: tipme VERB [options]\n"
		"A flight recorder for the desktop: who made that key press slow?\n"),
	      to);
	for (unsigned int group = 0; group < TIPME_GROUPS; group++) {
		fprintf(to, "\n%s\n", _(groups[group]));
		for (const struct tipme_verb_entry *v = verbs; v->name; v++)
			if (v->group == group)
				fprintf(to, "  %-9s %s\n", v->name, _(v->summary));
	}
	fprintf(to, "\n%s\n%s\n", _(TIPME_WORDS_USUALLY), _(TIPME_WORDS_UNUSUAL));
	fputs(_("\nOne verb: tipme help VERB. Examples:\n"
		"  sudo tipme start\n  tipme snap -m 'it hung'\n  tipme diagnose last\n"),
	      to);
}

#define WORD_MAX 15 /* no verb is longer */
#define CLOSE 2 /* so many slips of the finger are forgiven */

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/*
 * How many letters were left out, put in, mistaken, or swapped with their neighbour: the distance
 * of Damerau (Communications of the ACM 7(3), 1964), restricted to swaps of letters that stay
 * beside each other. Words longer than WORD_MAX are never close.
 */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int d[WORD_MAX + 1][WORD_MAX + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n > WORD_MAX || m > WORD_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= m; j++) {
			if (!i || !j) {
				d[i][j] = (unsigned int)(i + j);
				continue;
			}
			d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1,
					d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[n][m];
}

static bool begins(const char *typed, const char *verb)
{
	size_t len = strlen(typed);

	return len >= 3 && !strncmp(typed, verb, len);
}

/* Of a short word most letters must be right. */
static bool is_close(const char *meant, const char *verb)
{
	size_t len = strlen(meant);
	unsigned int slips = distance(meant, verb);

	return slips <= CLOSE && slips * 2 <= len;
}

int cli_no_verb(const struct tipme_verb_entry *verbs, const char *name)
{
	char meant[128] = "";
	size_t used = 0;
	bool (*fits)(const char *typed, const char *verb) = is_close;

	/* Where it is the beginning of verbs, no slip was made: only these are offered. */
	for (const struct tipme_verb_entry *v = verbs; v->name; v++)
		if (begins(name, v->name))
			fits = begins;
	for (const struct tipme_verb_entry *v = verbs; v->name && used < sizeof(meant); v++)
		if (fits(name, v->name))
			used += (size_t)snprintf(meant + used, sizeof(meant) - used, "%s'%s'",
						 used ? _(" or ") : "", v->name);
	if (used)
		cli_fail(_("no verb '%s': did you mean %s? See tipme help"), name, meant);
	else
		cli_fail(_("no verb '%s': see tipme help"), name);
	return TIPME_EXIT_USAGE;
}
