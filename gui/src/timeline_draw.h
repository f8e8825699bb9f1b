/* SPDX-License-Identifier: GPL-2.0-only */
/* What the canvas of the timeline is, for those who draw it and those who move it. */
#ifndef TIPME_GUI_TIMELINE_DRAW_H
#define TIPME_GUI_TIMELINE_DRAW_H

#include "timeline.h"

#define NAMES 170 /* pixels for the names of lanes */
#define AXIS 42 /* for times, and names of stages */
#define LANE 26
#define GAP 6
#define THIN 3 /* pixels of a lane in the overview */

struct _TipmeTimeline {
	GtkWidget parent_instance;
	TipmeSession *session;
	gboolean overview;
	GArray *pixels;
	GskRenderNode *whole; /* overview: all but the frame of the view, or NULL */
	double pointer_x, dragged;
	double zoomed; /* by a pinch, so far */
	gboolean measuring; /* the drag chooses a range */
};

/* The widget's snapshot. */
void tipme_timeline_draw(GtkWidget *widget, GtkSnapshot *snapshot);

#endif
