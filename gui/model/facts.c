// SPDX-License-Identifier: GPL-2.0-only
/* Tables of words, from what verbs print. Sums and sentences are theirs. */
#include "config.h"

#include <stdarg.h>
#include <string.h>

#include "facts.h"
#include "json.h"
#include "numbers.h"

static void
facts_free (gpointer data)
{
  TipmeFacts *facts = data;

  g_free (facts->heading);
  g_ptr_array_unref (facts->rows);
  g_free (facts);
}

static GPtrArray *
tables_new (void)
{
  return g_ptr_array_new_with_free_func (facts_free);
}

static TipmeFacts *
table (GPtrArray *tables, const char *heading, gboolean has_titles)
{
  TipmeFacts *facts = g_new0 (TipmeFacts, 1);

  facts->heading = g_strdup (heading);
  facts->has_titles = has_titles;
  facts->rows = g_ptr_array_new_with_free_func ((GDestroyNotify) g_strfreev);
  g_ptr_array_add (tables, facts);
  return facts;
}

static void G_GNUC_NULL_TERMINATED
row (TipmeFacts *facts, const char *cell, ...)
{
  g_autoptr (GStrvBuilder) cells = g_strv_builder_new ();
  va_list more;

  va_start (more, cell);
  for (; cell; cell = va_arg (more, const char *))
    g_strv_builder_add (cells, cell);
  va_end (more);
  g_ptr_array_add (facts->rows, g_strv_builder_end (cells));
}

/* --- a comparison --- */

static void
add_times (TipmeFacts *facts, gint64 a, gint64 b, gint64 difference, const char *name)
{
  g_autofree char *left = g_strdup_printf ("%.3f", (double) a / 1e6);
  g_autofree char *right = g_strdup_printf ("%.3f", (double) b / 1e6);
  g_autofree char *by = g_strdup_printf ("%+.3f", (double) difference / 1e6);

  row (facts, left, right, by, name, NULL);
}

static void
add_differences (GPtrArray *tables, struct json_object *comparison, const char *field,
                 const char *title)
{
  struct json_object *list = tipme_json_get (comparison, field);
  TipmeFacts *facts = table (tables, "", TRUE);

  row (facts, "A, ms", "B, ms", "B - A", title, NULL);
  for (guint i = 0; i < tipme_json_length (list); i++)
    {
      struct json_object *one = json_object_array_get_idx (list, i);
      const char *comm = tipme_json_text (one, "comm");
      g_autofree char *name =
          g_strjoin (*comm ? "  " : "", tipme_json_text (one, "name"),
                     tipme_json_text (one, "kind"), comm, NULL);

      add_times (facts, tipme_json_number (one, "a_ns", 0), tipme_json_number (one, "b_ns", 0),
                 tipme_json_number (one, "difference_ns", 0), g_strstrip (name));
    }
  add_times (facts, tipme_json_number (tipme_json_get (comparison, "a"), "duration_ns", 0),
             tipme_json_number (tipme_json_get (comparison, "b"), "duration_ns", 0),
             tipme_json_number (comparison, "difference_ns", 0), "all");
}

static void
add_machine (GPtrArray *tables, struct json_object *comparison)
{
  struct json_object *list = tipme_json_get (comparison, "machine");

  if (!tipme_json_length (list))
    return;
  TipmeFacts *facts = table (tables, "What is another with the machine", FALSE);

  for (guint i = 0; i < tipme_json_length (list); i++)
    {
      struct json_object *one = json_object_array_get_idx (list, i);

      row (facts, tipme_json_text (one, "what"), tipme_json_text (one, "a"),
           tipme_json_text (one, "b"), NULL);
    }
}

GPtrArray *
tipme_facts_of_comparison (struct json_object *comparison)
{
  GPtrArray *tables = tables_new ();
  TipmeFacts *sides = table (tables, tipme_json_text (comparison, "sentence"), FALSE);

  for (const char *const *side = (const char *const[]){ "a", "b", NULL }; *side; side++)
    {
      struct json_object *of = tipme_json_get (comparison, *side);
      g_autofree char *name = g_ascii_strup (*side, -1);
      g_autofree char *time = tipme_text_local_time (tipme_json_text (of, "time"));

      row (sides, name, tipme_json_text (of, "id"), time,
           tipme_json_text (tipme_json_get (of, "client"), "comm"), NULL);
    }
  add_differences (tables, comparison, "stages", "stage");
  add_differences (tables, comparison, "causes", "cause");
  add_machine (tables, comparison);
  return tables;
}

/* --- the recorder --- */

/* A number with so many digits behind the point, and its unit. */
static void
add_number (TipmeFacts *facts, const char *name, int digits, double number, const char *unit)
{
  g_autofree char *text = g_strdup_printf ("%.*f%s", digits, number, unit);

  row (facts, name, text, NULL);
}

static double
number_of (struct json_object *object, const char *name)
{
  return json_object_get_double (tipme_json_get (object, name));
}

static void
add_kept (GPtrArray *tables, struct json_object *status)
{
  struct json_object *list = tipme_json_get (status, "coverage");
  TipmeFacts *facts = table (tables, "Seconds kept", FALSE);

  for (guint i = 0; i < tipme_json_length (list); i++)
    {
      struct json_object *one = json_object_array_get_idx (list, i);
      g_autofree char *name = g_strdup_printf ("CPU %" G_GINT64_FORMAT,
                                               tipme_json_number (one, "cpu", i));

      add_number (facts, tipme_json_length (list) > 1 ? name : "all CPUs", 1,
                  number_of (one, "seconds"), " s");
    }
  add_number (facts, "asked for", 0, number_of (status, "window_s"), " s");
}

static void
add_each (GPtrArray *tables, const char *heading, struct json_object *object)
{
  if (!json_object_is_type (object, json_type_object) || !json_object_object_length (object))
    return;
  TipmeFacts *facts = table (tables, heading, FALSE);

  json_object_object_foreach (object, name, value)
    {
      if (json_object_is_type (value, json_type_boolean))
        row (facts, name, json_object_get_boolean (value) ? "on" : "off", NULL);
      else
        row (facts, name, value ? json_object_get_string (value) : "cannot be recorded here", NULL);
    }
}

static void
add_state (GPtrArray *tables, struct json_object *status)
{
  TipmeFacts *facts = table (tables, "tipme records", FALSE);
  struct json_object *cpu = tipme_json_get (status, "cpu");
  double up_s = number_of (status, "uptime_s");
  double cpu_ms = number_of (cpu, "user_ms") + number_of (cpu, "system_ms");
  struct json_object *memory = tipme_json_get (status, "memory");

  row (facts, "source", tipme_json_text (status, "source"), NULL);
  add_number (facts, "for", 0, up_s, " s");
  add_number (facts, "records a second", 0, number_of (status, "rate"), "");
  add_number (facts, "memory", 1, number_of (memory, "resident_bytes") / 1e6, " MB");
  if (up_s > 0)
    add_number (facts, "CPU time of its own", 2, cpu_ms / up_s / 10, " % of one CPU");
  add_number (facts, "episodes saved", 0, number_of (status, "episodes"), "");
  add_number (facts, "that failed", 0, number_of (status, "failures"), "");
  row (facts, "library", tipme_json_text (status, "library"), NULL);
}

static void
add_limits (GPtrArray *tables, struct json_object *limits)
{
  if (!tipme_json_length (limits))
    return;
  TipmeFacts *facts = table (tables, "What is limited here", FALSE);

  for (guint i = 0; i < tipme_json_length (limits); i++)
    row (facts, json_object_get_string (json_object_array_get_idx (limits, i)), NULL);
}

GPtrArray *
tipme_facts_of_status (struct json_object *status)
{
  GPtrArray *tables = tables_new ();

  if (!*tipme_json_text (status, "source"))
    {
      table (tables, "tipme is not recording", FALSE);
      return tables;
    }
  add_state (tables, status);
  add_kept (tables, status);
  add_each (tables, "Records lost, by cause", tipme_json_get (status, "lost"));
  add_each (tables, "Cost of a record, in ns", tipme_json_get (status, "record_cost_ns"));
  add_each (tables, "Classes", tipme_json_get (status, "classes"));
  add_limits (tables, tipme_json_get (status, "limits"));
  return tables;
}

char *
tipme_facts_dump (GPtrArray *tables)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < tables->len; i++)
    {
      const TipmeFacts *facts = g_ptr_array_index (tables, i);

      g_string_append_printf (text, "%s\n", facts->heading);
      for (guint j = 0; j < facts->rows->len; j++)
        {
          g_autofree char *line = g_strjoinv ("\t", g_ptr_array_index (facts->rows, j));

          g_string_append_printf (text, "%s\n", line);
        }
    }
  return g_string_free (text, FALSE);
}
