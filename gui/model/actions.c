// SPDX-License-Identifier: GPL-2.0-only
/* What the window can do, and the verb that does the same. */
#include "config.h"

#include "actions.h"
#include "language.h"

const TipmeAction tipme_actions[] = {
	{ "refresh", N_("Read again"), "list --json", "F5", FALSE },
	{ "snap", N_("Save what just happened"), "snap", "<Control>n", FALSE },
	{ "diagnose", N_("Open"), "diagnose --json", "<Control>d", FALSE },
	{ "cancel", N_("Cancel"), "diagnose --json", "<Control>period", FALSE },
	{ "pin", N_("Pin"), "pin", "<Control>p", FALSE },
	{ "unpin", N_("Unpin"), "pin --undo", "<Control><Shift>p", FALSE },
	{ "note", N_("Note"), "note", "<Control>e", FALSE },
	{ "tag", N_("Tags"), "tag --add --remove", "<Control>t", FALSE },
	{ "undo", N_("Undo"), "note --undo", "<Control>z", TRUE },
	{ "delete", N_("Delete"), "rm", "Delete", TRUE },
	{ "find", N_("Search"), "list --json", "<Control>f", FALSE },
	{ "page-episodes", N_("Episodes"), "list --json", "<Alt>1", FALSE },
	{ "page-answer", N_("Answer"), "diagnose --json", "<Alt>2", FALSE },
	{ "page-timeline", N_("Timeline"), "timeline", "<Alt>3", FALSE },
	{ "page-compare", N_("Compare"), "compare --json", "<Alt>4", FALSE },
	{ "page-report", N_("Report"), "report", "<Alt>5", FALSE },
	{ "page-live", N_("Live"), "status --json", "<Alt>6", FALSE },
	{ "page-check", N_("Check"), "check --json", "<Alt>7", FALSE },
	{ "page-week", N_("Week"), "list --week --json", "<Alt>8", FALSE },
	{ "page-measured", N_("Measured"), "latency report --json", "<Alt>9", FALSE },
	{ "compare", N_("Compare"), "compare --json", "<Control>k", FALSE },
	{ "report", N_("Report"), "report", "<Control>r", FALSE },
	{ "check", N_("Check the cure"), "check --json", "<Control>h", FALSE },
	{ "measured", N_("Open a measurement"), "profile report --json", "<Control>o", FALSE },
	{ "bundle", N_("Write the file"), "bundle --yes -o", "<Control>b", FALSE },
	{ "start", N_("Start recording"), "start", NULL, FALSE },
	{ "no-input", N_("Record no input"), "classes -input", "<Control>j", FALSE },
	{ "input", N_("Record input again"), "classes +input", "<Control><Shift>j", FALSE },
	{ "test-hotkey", N_("Test a hot-key"), "doctor --test-hotkey", "<Control>y", FALSE },
	{ 0 },
};

const TipmeTimelineDeed tipme_timeline_deeds[] = {
	{ "zoom-in", "timeline --from --to", "w plus" },
	{ "zoom-out", "timeline --from --to", "s minus" },
	{ "left", "timeline --from --to", "a Left" },
	{ "right", "timeline --from --to", "d Right" },
	{ "fit", "timeline", "f 0" },
	{ "whole", "timeline --from --to", "Home" },
	{ "next", "gui --dump --lane", "period" },
	{ "previous", "gui --dump --lane", "comma" },
	{ "next-wake", "gui --dump --lane", "n" },
	{ "last-wake", "gui --dump --lane", "<Shift>n" },
	{ "lane-down", "gui --dump --lane", "Down" },
	{ "lane-up", "gui --dump --lane", "Up" },
	{ "pin", "gui --dump --pin", "p" },
	{ "group", "gui --dump --group", "g" },
	{ "range-begin", "gui --dump --from --to", "bracketleft" },
	{ "range-end", "gui --dump --from --to", "bracketright" },
	{ "no-range", "gui --dump", "Escape" },
	{ "copy-text", "gui --dump --from --to", "<Control>c" },
	{ "copy-picture", "timeline -o", "<Control><Shift>c" },
	{ "more-threads", "gui --dump --threads", NULL },
	{ "functions", "gui --dump --lane --from --to", NULL },
	{ 0 },
};

const TipmeAction *tipme_action_find(const char *name)
{
	for (const TipmeAction *action = tipme_actions; action->name; action++)
		if (g_str_equal(action->name, name))
			return action;
	return NULL;
}

char *tipme_actions_dump(void)
{
	GString *text = g_string_new(NULL);

	for (const TipmeAction *action = tipme_actions; action->name; action++)
		g_string_append_printf(text, "%s\t%s\t%s\n", action->name, action->verb,
				       action->keys ? action->keys : "-");
	for (const TipmeTimelineDeed *deed = tipme_timeline_deeds; deed->name; deed++)
		g_string_append_printf(text, "timeline-%s\t%s\t%s\n", deed->name, deed->verb,
				       deed->keys ? deed->keys : "-");
	return g_string_free(text, FALSE);
}
