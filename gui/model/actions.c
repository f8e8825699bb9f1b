// SPDX-License-Identifier: GPL-2.0-only
/* What the window can do, and the verb that does the same. */
#include "config.h"

#include "actions.h"

const TipmeAction tipme_actions[] = {
  { "refresh", "Read again", "list --json", "F5", FALSE },
  { "snap", "Save what just happened", "snap", "<Control>n", FALSE },
  { "diagnose", "Open", "diagnose --json", "<Control>d", FALSE },
  { "pin", "Pin", "pin", "<Control>p", FALSE },
  { "unpin", "Unpin", "pin --undo", "<Control><Shift>p", FALSE },
  { "delete", "Delete", "rm", "Delete", TRUE },
  { "find", "Search", "list --json", "<Control>f", FALSE },
  { "page-episodes", "Episodes", "list --json", "<Alt>1", FALSE },
  { "page-answer", "Answer", "diagnose --json", "<Alt>2", FALSE },
  { "page-timeline", "Timeline", "timeline", "<Alt>3", FALSE },
  { "page-compare", "Compare", "compare --json", "<Alt>4", FALSE },
  { "page-report", "Report", "report", "<Alt>5", FALSE },
  { "page-live", "Live", "status --json", "<Alt>6", FALSE },
  { "compare", "Compare", "compare --json", "<Control>k", FALSE },
  { "report", "Report", "report", "<Control>r", FALSE },
  { "bundle", "Write the file", "bundle --yes -o", "<Control>b", FALSE },
  { "start", "Start recording", "start", NULL, FALSE },
  { 0 },
};

const TipmeAction *
tipme_action_find (const char *name)
{
  for (const TipmeAction *action = tipme_actions; action->name; action++)
    if (g_str_equal (action->name, name))
      return action;
  return NULL;
}

char *
tipme_actions_dump (void)
{
  GString *text = g_string_new (NULL);

  for (const TipmeAction *action = tipme_actions; action->name; action++)
    g_string_append_printf (text, "%s\t%s\t%s\n", action->name, action->verb,
                            action->keys ? action->keys : "-");
  return g_string_free (text, FALSE);
}
