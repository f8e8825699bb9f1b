// SPDX-License-Identifier: GPL-2.0-only
/* The answer first: the sentence, whom to ask, the sum as one bar, the stages. */
#include "config.h"

#include "pages.h"
#include "paint.h"
#include "numbers.h"
#include "ribbon.h"
#include "language.h"

#include <adwaita.h>
#include <string.h>

#define NO_SWATCH G_MAXUINT
#define MOST_PARTS TIPME_PAINT_PARTS /* named in the legend; the others are one */

GtkWidget *tipme_label_new(const char *text, const char *css)
{
	GtkWidget *label = gtk_label_new(text);

	gtk_label_set_wrap(GTK_LABEL(label), TRUE);
	gtk_label_set_wrap_mode(GTK_LABEL(label), PANGO_WRAP_WORD_CHAR);
	gtk_label_set_xalign(GTK_LABEL(label), 0);
	gtk_label_set_selectable(GTK_LABEL(label), TRUE);
	if (css)
		gtk_widget_add_css_class(label, css);
	return label;
}

static void add(GtkWidget *box, const char *text, const char *css)
{
	if (text && *text)
		gtk_box_append(GTK_BOX(box), tipme_label_new(text, css));
}

/* Commands stand between backticks, as in a terminal; here they have a font of their own. */
static void add_next(GtkWidget *box, const char *text)
{
	g_auto(GStrv) pieces = g_strsplit(text ? text : "", "`", -1);
	g_autoptr(GString) markup = g_string_new(NULL);
	guint count = g_strv_length(pieces);

	if (!text || !*text)
		return;
	for (guint i = 0; i < count; i++) {
		g_autofree char *piece = g_markup_escape_text(pieces[i], -1);
		gboolean command = i % 2 && i + 1 < count;

		g_string_append(markup, command ? "<tt>" : i % 2 ? "`" : "");
		g_string_append(markup, piece);
		g_string_append(markup, command ? "</tt>" : "");
	}
	GtkWidget *label = tipme_label_new("", NULL);

	gtk_label_set_markup(GTK_LABEL(label), markup->str);
	add(box, _("What to do"), "heading");
	gtk_box_append(GTK_BOX(box), label);
}

static void add_headed(GtkWidget *box, const char *heading, const char *text)
{
	if (!text || !*text)
		return;
	add(box, heading, "heading");
	add(box, text, NULL);
}

/* One bar, drawn from the answer that its page holds. */
static void draw_bar(GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
	const TipmeAnswer *answer = tipme_session_answer(data);
	double x = 0;

	if (!answer || !answer->has_interval)
		return;
	for (guint i = 0; i < answer->parts->len; i++) {
		const TipmePart *part = g_ptr_array_index(answer->parts, i);
		double length =
			width * (double)part->ns / (double)(answer->to_ns - answer->from_ns);
		GdkRGBA colour = tipme_paint_part(MIN(i, MOST_PARTS));

		gdk_cairo_set_source_rgba(cr, &colour);
		cairo_rectangle(cr, x, 0, length, height);
		cairo_fill(cr);
		x += length;
	}
}

static void draw_swatch(GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
	GdkRGBA colour = tipme_paint_part(GPOINTER_TO_UINT(data));

	gdk_cairo_set_source_rgba(cr, &colour);
	cairo_paint(cr);
}

static void add_legend_row(GtkGrid *grid, int row, guint place, gint64 ns, gint64 all,
			   const char *words)
{
	GtkWidget *swatch = gtk_drawing_area_new();
	g_autofree char *time = tipme_text_ms(ns);
	g_autofree char *share = g_strdup_printf("%.1f %%", 100.0 * (double)ns / (double)all);
	GtkWidget *time_label = gtk_label_new(time), *share_label = gtk_label_new(share);

	gtk_drawing_area_set_content_width(GTK_DRAWING_AREA(swatch), 14);
	gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(swatch), 14);
	gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(swatch), draw_swatch,
				       GUINT_TO_POINTER(place), NULL);
	gtk_widget_set_valign(swatch, GTK_ALIGN_CENTER);
	gtk_label_set_xalign(GTK_LABEL(time_label), 1);
	gtk_label_set_xalign(GTK_LABEL(share_label), 1);
	gtk_widget_add_css_class(time_label, "numeric");
	gtk_widget_add_css_class(share_label, "numeric");
	gtk_widget_set_opacity(swatch, place == NO_SWATCH ? 0 : 1);
	gtk_grid_attach(grid, swatch, 0, row, 1, 1);
	gtk_grid_attach(grid, time_label, 1, row, 1, 1);
	gtk_grid_attach(grid, share_label, 2, row, 1, 1);
	gtk_grid_attach(grid, tipme_label_new(words, NULL), 3, row, 1, 1);
}

static GtkWidget *legend_new(const TipmeAnswer *answer)
{
	GtkWidget *grid = gtk_grid_new();
	gint64 all = answer->to_ns - answer->from_ns, rest = 0;
	guint i;

	gtk_grid_set_column_spacing(GTK_GRID(grid), 12);
	gtk_grid_set_row_spacing(GTK_GRID(grid), 4);
	for (i = 0; i < answer->parts->len; i++) {
		const TipmePart *part = g_ptr_array_index(answer->parts, i);
		g_autofree char *words = tipme_part_words(part);

		if (i >= MOST_PARTS)
			rest += part->ns;
		else
			add_legend_row(GTK_GRID(grid), (int)i, i, part->ns, all, words);
	}
	if (i > MOST_PARTS)
		add_legend_row(GTK_GRID(grid), MOST_PARTS, MOST_PARTS, rest, all, _("all else"));
	add_legend_row(GTK_GRID(grid), MOST_PARTS + 1, NO_SWATCH, all, all, _("in all"));
	return grid;
}

static void add_sum(GtkWidget *box, TipmeSession *session, const TipmeAnswer *answer)
{
	if (!answer->has_interval || !answer->parts->len)
		return;
	GtkWidget *bar = gtk_drawing_area_new();

	gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(bar), 28);
	gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(bar), draw_bar, session, NULL);
	gtk_accessible_update_property(GTK_ACCESSIBLE(bar), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Where the time went; the list below has the numbers"),
				       -1);
	add(box, _("Where the time went"), "heading");
	gtk_box_append(GTK_BOX(box), bar);
	gtk_box_append(GTK_BOX(box), legend_new(answer));
}

static void add_stages(GtkWidget *box, const TipmeAnswer *answer)
{
	GtkWidget *ribbon = tipme_ribbon_new(answer);

	if (!ribbon)
		return;
	add(box, _("From the finger to the screen"), "heading");
	gtk_box_append(GTK_BOX(box), ribbon);
}

static const char *mark_words(const char *mark)
{
	return !strcmp(mark, "look")  ? _("Look closer:")
	       : !strcmp(mark, "try") ? _("Try it:")
				      : _("A cure:");
}

static void on_copy(GtkButton *button, const char *command)
{
	gdk_clipboard_set_text(gtk_widget_get_clipboard(GTK_WIDGET(button)), command);
	gtk_button_set_label(button, _("Copied"));
}

/* A command changes the system, so the user runs it where he sees what it says. */
static GtkWidget *command_new(const char *words, const char *command)
{
	GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
	GtkWidget *button = gtk_button_new_with_label(_("Copy"));
	GtkWidget *text = tipme_label_new(command, "monospace");
	g_autofree char *says = g_strdup_printf(_("Copy: %s"), command);
	char *own = g_strdup(command);

	gtk_widget_set_tooltip_text(button, _("Copy the command, to be run in a terminal"));
	gtk_widget_set_valign(button, GTK_ALIGN_CENTER);
	gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL, says,
				       -1);
	g_object_set_data_full(G_OBJECT(button), "command", own, g_free);
	g_signal_connect(button, "clicked", G_CALLBACK(on_copy), own);
	gtk_widget_set_hexpand(text, TRUE);
	gtk_box_append(GTK_BOX(row), gtk_label_new(words));
	gtk_box_append(GTK_BOX(row), text);
	gtk_box_append(GTK_BOX(row), button);
	return row;
}

static void add_steps(GtkWidget *box, const TipmeAnswer *answer)
{
	for (guint i = 0; i < answer->steps->len; i++) {
		const TipmeStep *step = g_ptr_array_index(answer->steps, i);

		gtk_box_append(GTK_BOX(box), command_new(mark_words(step->mark), step->command));
		if (*step->undo)
			gtk_box_append(GTK_BOX(box), command_new(_("Takes it back:"), step->undo));
	}
}

static void add_list(GtkWidget *box, const char *heading, GPtrArray *texts)
{
	if (texts->len)
		add(box, heading, "heading");
	for (guint i = 0; i < texts->len; i++)
		add(box, g_ptr_array_index(texts, i), NULL);
}

static void on_stretch(GtkButton *button, TipmeSession *session)
{
	const TipmeAnswer *answer = tipme_session_answer(session);
	guint nr = GPOINTER_TO_UINT(g_object_get_data(G_OBJECT(button), "stretch"));

	if (!answer || nr >= answer->path->len)
		return;
	const TipmeStretch *stretch = g_ptr_array_index(answer->path, nr);

	tipme_session_show(session, stretch->tid, stretch->from_ns, stretch->to_ns);
	gtk_widget_activate_action(GTK_WIDGET(button), "win.page-timeline", NULL);
}

static GtkWidget *stretch_new(TipmeSession *session, const TipmeAnswer *answer, guint nr)
{
	const TipmeStretch *stretch = g_ptr_array_index(answer->path, nr);
	g_autofree char *at = tipme_text_ms(stretch->from_ns - answer->from_ns);
	g_autofree char *time = tipme_text_ms(stretch->to_ns - stretch->from_ns);
	g_autofree char *text =
		g_strdup_printf(_("After %s, for %s, %s was %s. Charged to %s."), at, time,
				stretch->thread, stretch->state, stretch->charged);
	GtkWidget *button = gtk_button_new(), *label = gtk_label_new(text);

	gtk_label_set_wrap(GTK_LABEL(label), TRUE);
	gtk_label_set_xalign(GTK_LABEL(label), 0);
	gtk_button_set_child(GTK_BUTTON(button), label);
	gtk_widget_add_css_class(button, "flat");
	gtk_widget_set_tooltip_text(button, _("Show it on the timeline"));
	gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL, text,
				       -1);
	g_object_set_data(G_OBJECT(button), "stretch", GUINT_TO_POINTER(nr));
	g_signal_connect(button, "clicked", G_CALLBACK(on_stretch), session);
	return button;
}

/* The evidence, in the order in which it happened; each part leads to its place. */
static void add_walk(GtkWidget *box, TipmeSession *session, const TipmeAnswer *answer)
{
	gint64 least = (answer->to_ns - answer->from_ns) / 200;
	guint left_out = 0;

	if (!answer->has_interval || !answer->path->len)
		return;
	GtkWidget *expander = gtk_expander_new(_("Why do you say so?"));
	GtkWidget *rows = gtk_box_new(GTK_ORIENTATION_VERTICAL, 2);

	for (guint i = 0; i < answer->path->len; i++) {
		const TipmeStretch *stretch = g_ptr_array_index(answer->path, i);

		if (stretch->to_ns - stretch->from_ns >= least)
			gtk_box_append(GTK_BOX(rows), stretch_new(session, answer, i));
		else
			left_out++;
	}
	g_autofree char *rest =
		g_strdup_printf(_("%u shorter parts are on the timeline only."), left_out);

	if (left_out)
		add(rows, rest, "dim-label");
	gtk_expander_set_child(GTK_EXPANDER(expander), rows);
	gtk_box_append(GTK_BOX(box), expander);
}

static void add_certainty(GtkWidget *box, const TipmeAnswer *answer)
{
	g_autofree char *text =
		g_strdup_printf(_("%.0f %% of the delay measured exactly"), 100 * answer->exact);

	if (answer->has_interval)
		add(box, text, "dim-label");
}

/* Where to go from here; the pages are about the open episode then. */
static void add_onward(GtkWidget *box, const TipmeAnswer *answer)
{
	static const char *const pages[] = { "page-timeline", "page-report", "page-check" };
	GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);

	for (guint i = 0; !answer->problem && i < G_N_ELEMENTS(pages); i++)
		gtk_box_append(GTK_BOX(row), tipme_action_button(pages[i]));
	gtk_box_append(GTK_BOX(box), row);
}

static void fill_page(GtkWidget *box, TipmeSession *session)
{
	const TipmeAnswer *answer = tipme_session_answer(session);
	const TipmeLanes *lanes = tipme_session_lanes(session);

	if (answer->problem) {
		add(box, _("There is no verdict on this episode"), "title-2");
		add(box, answer->problem, NULL);
	} else {
		add(box, answer->sentence, "title-2");
		add(box, answer->when, "dim-label");
	}
	add_stages(box, answer);
	add_sum(box, session, answer);
	add_list(box, _("What it may have been"), answer->candidates);
	add_headed(box, _("Whom to ask"), answer->ask);
	add_next(box, answer->next);
	add_steps(box, answer);
	add_onward(box, answer);
	add_walk(box, session, answer);
	add_list(box, _("What else is known"), answer->known);
	if (lanes)
		add_list(box, _("About the records"), lanes->said);
	add_headed(box, _("The records cannot be read"), tipme_session_problem(session));
	add_certainty(box, answer);
}

static void on_loaded(TipmeSession *session, GtkWidget *scrolled)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 10), *clamp = adw_clamp_new();

	g_object_set(box, "margin-top", 16, "margin-bottom", 16, "margin-start", 24, "margin-end",
		     24, NULL);
	fill_page(box, session);
	adw_clamp_set_maximum_size(ADW_CLAMP(clamp), 900);
	adw_clamp_set_child(ADW_CLAMP(clamp), box);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), clamp);
}

GtkWidget *tipme_answer_page_new(TipmeSession *session)
{
	GtkWidget *scrolled = gtk_scrolled_window_new();

	gtk_widget_set_focusable(scrolled, TRUE);
	gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_NEVER,
				       GTK_POLICY_AUTOMATIC);
	g_signal_connect_object(session, "loaded", G_CALLBACK(on_loaded), scrolled, 0);
	return scrolled;
}
