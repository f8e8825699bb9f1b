// SPDX-License-Identifier: GPL-2.0-only
/* The recorder's input and hot-keys, from what `tipme status --json` prints. */
#include "config.h"

#include "live.h"

#include <string.h>

#include "json.h"
#include "language.h"

TipmeInput tipme_live_input(struct json_object *status)
{
	struct json_object *input = tipme_json_get(tipme_json_get(status, "classes"), "input");

	if (!json_object_is_type(input, json_type_boolean))
		return TIPME_INPUT_UNKNOWN;
	return json_object_get_boolean(input) ? TIPME_INPUT_ON : TIPME_INPUT_OFF;
}

const char *tipme_live_input_words(TipmeInput input)
{
	if (input == TIPME_INPUT_ON)
		return _(
			"When a key was pressed is recorded, and which program got it; never which key.");
	if (input == TIPME_INPUT_OFF)
		return _("No input is recorded: which key press was slow cannot be said.");
	return _("Nothing is recorded of input.");
}

static gboolean is_sampled(struct json_object *status)
{
	return !strcmp(tipme_json_text(status, "source"), "proc_sampled");
}

const char *tipme_live_source_words(struct json_object *status)
{
	const char *source = tipme_json_text(status, "source");

	if (is_sampled(status))
		return _("samples of /proc, 20 ms apart");
	if (!strcmp(source, "kernel_bpf"))
		return _("the kernel itself, by tracing programs");
	return strcmp(source, "kernel_module") ? source : _("the kernel itself, by tipme.ko");
}

const char *tipme_live_recording_words(struct json_object *status)
{
	return is_sampled(status) ? _("tipme is recording by samples; nothing is saved yet")
				  : _("tipme is recording; nothing is saved yet");
}

static gboolean has_hooks(struct json_object *status)
{
	struct json_object *servers = tipme_json_get(status, "x_servers");

	for (guint i = 0; i < tipme_json_length(servers); i++)
		if (!strcmp(tipme_json_text(json_object_array_get_idx(servers, i), "source"),
			    "x_hooks"))
			return TRUE;
	return FALSE;
}

char *tipme_live_hotkey_words(struct json_object *status)
{
	struct json_object *hotkey = tipme_json_get(status, "hotkey");
	guint agents = tipme_json_length(tipme_json_get(status, "agents"));
	gint64 keyboards = tipme_json_number(hotkey, "keyboards", 0);

	if (!*tipme_json_text(status, "source"))
		return g_strdup(_("No recorder runs: who presses the hot-key is told so."));
	if (has_hooks(status))
		return g_strdup(_("The X server itself hears the hot-key."));
	if (agents)
		return g_strdup(_("The agent of the session hears the hot-key."));
	if (keyboards > 0)
		return g_strdup_printf(_("The recorder hears %s at the keyboards themselves."),
				       tipme_json_text(hotkey, "chord"));
	return g_strdup(_("Nobody hears a hot-key: see tipme doctor."));
}
