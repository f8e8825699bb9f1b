/* SPDX-License-Identifier: GPL-2.0-only */
/* One frame of the timeline, for those who draw parts of it. */
#ifndef TIPME_GUI_TIMELINE_FRAME_H
#define TIPME_GUI_TIMELINE_FRAME_H

#include "timeline_draw.h"

/* What one frame needs to know. */
typedef struct {
	GtkSnapshot *to;
	const TipmeLanes *lanes;
	TipmeView view;
	int left, width, height, top, lane, gap;
	gboolean dark, contrast;
	GdkRGBA ink;
} Frame;

void tipme_frame_fill(Frame *f, const GdkRGBA *colour, double x, double y, double width,
		      double height);

/* Cut at `most` pixels, with an ellipsis. */
void tipme_frame_write(TipmeTimeline *self, Frame *f, const char *text, double x, double y,
		       int most);

int tipme_frame_text_width(TipmeTimeline *self, const char *text);

/* A part of the sum by its place, or NULL. */
const TipmePart *tipme_frame_part(const TipmeAnswer *answer, guint nr);

/* Above the lanes: times, where the time went, stages. */
void tipme_frame_head(TipmeTimeline *self, Frame *f);

#endif
