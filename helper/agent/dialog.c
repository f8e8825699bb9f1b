// SPDX-License-Identifier: GPL-2.0-only
/*
 * tipme-dialog: asks the user what happened, and puts the answer into the episode; or shows a
 * notice with a button. It never takes the focus from what is being typed: it is mapped without
 * it, and gets it only by a click.
 */
#include "config.h"

#include <gtk/gtk.h>
#include <stdio.h>

#include "notice.h"
#include "question.h"
#include "scheme.h"
#include "words.h"

int main(int argc, char **argv)
{
	static int timeout_s = 60;
	static char *notice, *button;
	const GOptionEntry entries[] = {
		{ "timeout", 0, 0, G_OPTION_ARG_INT, &timeout_s,
		  "goes away by itself after so many seconds (60)", "S" },
		{ "notice", 0, 0, G_OPTION_ARG_STRING, &notice,
		  "shows this text, and a button; ends with 0 if that is chosen", "TEXT" },
		{ "button", 0, 0, G_OPTION_ARG_STRING, &button, "what stands on it", "TEXT" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	GError *error = NULL;

	tipme_language_begin();
	gdk_set_allowed_backends("x11,wayland");
	if (!gtk_init_with_args(&argc, &argv, "EPISODE - asks what happened", entries, NULL,
				&error)) {
		/* An open display has its own complaint; without one GTK's is half a sentence. */
		fprintf(stderr, "tipme: dialog: %s: run it inside the session\n",
			gdk_display_get_default() && error ? error->message : "no display");
		return 1;
	}
	agent_scheme_follow();
	if (notice && argc == 1)
		return notice_ask(notice, button ? button : _(TIPME_WORDS_DETAILS), timeout_s) ? 0
											       : 1;
	if (argc != 2 || argv[1][0] != '/') {
		fprintf(stderr,
			"tipme: dialog: one folder of an episode is needed, as a full path: tipme-agent does that\n");
		return 64;
	}
	question_ask(argv[1], timeout_s);
	return 0;
}
