// SPDX-License-Identifier: GPL-2.0-only
/* What the desktop tells programs of its look by X resources. */
#include "config.h"

#include <stdlib.h>

#include "x_resources.h"

int agent_told_dpi(Display *display)
{
	const char *text = XGetDefault(display, "Xft", "dpi");

	return text ? atoi(text) : 0;
}

bool agent_told_colour(Display *display, const char *name, unsigned long *pixel)
{
	const char *text = XGetDefault(display, "tipme", name);
	XColor shown, exact;

	if (!text || !XAllocNamedColor(display, DefaultColormap(display, DefaultScreen(display)),
				       text, &shown, &exact))
		return false;
	*pixel = shown.pixel;
	return true;
}
