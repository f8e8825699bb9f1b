/* SPDX-License-Identifier: GPL-2.0-only */
/* What the canvas of the timeline is, for those who draw it and those who move it. */
#ifndef TIPME_GUI_TIMELINE_DRAW_H
#define TIPME_GUI_TIMELINE_DRAW_H

#include "timeline.h"

#define THIN 3 /* pixels of a lane in the overview */
#define OCCUPANTS_MOST 400 /* visible ones of a CPU, of more none is named */
#define MESSAGES_MOST 400 /* visible ones, of more no arrows are drawn */

/* Pixels, by the size of the text. */
typedef struct {
	int text; /* a line */
	int names; /* for the names of lanes */
	int head; /* for times, and names of stages */
	int axis; /* all above the lanes: the head, and where the time went */
	int lane, gap;
} TipmeSizes;

struct _TipmeTimeline {
	GtkWidget parent_instance;
	TipmeSession *session;
	gboolean overview;
	TipmeSizes sizes;
	GArray *pixels;
	GskRenderNode *whole; /* overview: all but the frame of the view, or NULL */
	double pointer_x, dragged;
	double zoomed; /* by a pinch, so far */
	gboolean measuring; /* the drag chooses a range */
};

/* Where a lane begins, counted from the top of the canvas. */
static inline int tipme_sizes_lane(const TipmeSizes *sizes, guint nr)
{
	return sizes->axis + (int)nr * (sizes->lane + sizes->gap);
}

/* The widget's snapshot. */
void tipme_timeline_draw(GtkWidget *widget, GtkSnapshot *snapshot);

#endif
