// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "ribbon.h"

#include "language.h"
#include "numbers.h"

/* An arrow to the next stage, in the direction of writing. */
static const char *onwards(void)
{
	return gtk_widget_get_default_direction() == GTK_TEXT_DIR_RTL ? "\342\206\220"
								      : "\342\206\222";
}

/* "+144 ms": since the stage before. Free it. */
static char *time_text(const TipmeAnswer *answer, guint nr)
{
	const TipmeStage *stage = g_ptr_array_index(answer->stages, nr);
	const TipmeStage *before = nr ? g_ptr_array_index(answer->stages, nr - 1) : NULL;
	g_autofree char *time = tipme_text_ms(stage->at_ns - (before ? before->at_ns : 0));

	return g_strdup_printf("%s%s%s", nr ? "+" : "", time,
			       g_strcmp0(stage->certainty, "exact") ? _(" (inferred)") : "");
}

static GtkWidget *words_new(const char *text, const char *css)
{
	GtkWidget *label = gtk_label_new(text);

	gtk_label_set_wrap(GTK_LABEL(label), TRUE);
	gtk_label_set_wrap_mode(GTK_LABEL(label), PANGO_WRAP_WORD_CHAR);
	gtk_label_set_xalign(GTK_LABEL(label), 0);
	if (css)
		gtk_widget_add_css_class(label, css);
	return label;
}

static GtkWidget *stage_new(const TipmeAnswer *answer, guint nr, gboolean slow)
{
	const TipmeStage *stage = g_ptr_array_index(answer->stages, nr);
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	g_autofree char *time = time_text(answer, nr);
	g_autofree char *at = tipme_text_ms(stage->at_ns);
	g_autofree char *tip = g_strdup_printf(_("%s after the beginning"), at);

	gtk_box_append(GTK_BOX(box), words_new(tipme_stage_words(stage->name), NULL));
	gtk_box_append(GTK_BOX(box), words_new(time, slow ? "heading" : "dim-label"));
	gtk_widget_set_tooltip_text(box, tip);
	gtk_widget_add_css_class(box, "stage");
	if (slow)
		gtk_widget_add_css_class(box, "slow");
	gtk_widget_set_hexpand(box, TRUE);
	return box;
}

GtkWidget *tipme_ribbon_new(const TipmeAnswer *answer)
{
	if (!answer->stages->len)
		return NULL;
	GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 4);
	guint slow = tipme_answer_slow_stage(answer);

	for (guint i = 0; i < answer->stages->len; i++) {
		if (i)
			gtk_box_append(GTK_BOX(row), words_new(onwards(), "dim-label"));
		gtk_box_append(GTK_BOX(row), stage_new(answer, i, i == slow));
	}
	return row;
}
