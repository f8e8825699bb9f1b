// SPDX-License-Identifier: GPL-2.0-only
/* Pages that show what a verb says: a comparison, a report, a cure, a week, a measurement. */
#include "config.h"

#include "actions.h"
#include "chart.h"
#include "curves.h"
#include "facts.h"
#include "facts_page.h"
#include "json.h"
#include "pages.h"
#include "paint.h"
#include "run.h"
#include "language.h"

#include <adwaita.h>

#define MARGIN 24

/* The box of a page, emptied. What is removed must not have the focus: the page takes it. */
static GtkWidget *cleared(GtkWidget *page)
{
	GtkWidget *box = g_object_get_data(G_OBJECT(page), "box"), *child;
	GtkRoot *root = gtk_widget_get_root(page);
	GtkWidget *focus = root ? gtk_root_get_focus(root) : NULL;

	if (focus && gtk_widget_is_ancestor(focus, box))
		gtk_widget_grab_focus(page);
	while ((child = gtk_widget_get_first_child(box)))
		gtk_box_remove(GTK_BOX(box), child);
	return box;
}

static void add(GtkWidget *box, const char *text, const char *css)
{
	if (*text)
		gtk_box_append(GTK_BOX(box), tipme_label_new(text, css));
}

/* What it is shown by, so that everybody can repeat it. */
static void add_command(GtkWidget *box, const char *verb, GPtrArray *rows)
{
	GString *text = g_string_new("tipme ");

	g_string_append(text, verb);
	for (guint i = 0; rows && i < rows->len; i++)
		g_string_append_printf(text, " %s", ((TipmeRow *)g_ptr_array_index(rows, i))->id);
	add(box, text->str, "dim-label");
	g_string_free(text, TRUE);
}

static GtkWidget *cell_new(const TipmeFacts *facts, char **cells, guint row, guint column)
{
	gboolean title = facts->has_titles && !row;
	GtkWidget *label = tipme_label_new(cells[column], title ? "heading" : NULL);

	if (!facts->has_titles || !cells[column + 1])
		return label;
	gtk_label_set_xalign(GTK_LABEL(label), 1);
	gtk_widget_add_css_class(label, "numeric");
	return label;
}

#define PAIR_WIDTH 240
#define A_COLOUR 5 /* places of tipme_paint_part() that are seen on light and dark */
#define B_COLOUR 0

typedef struct {
	TipmePair pair;
	gint64 most_ns; /* as wide as the area */
} Bars;

static void draw_bar(cairo_t *cr, guint place, double y, double width, double height)
{
	GdkRGBA colour = tipme_paint_part(place);

	gdk_cairo_set_source_rgba(cr, &colour);
	cairo_rectangle(cr, 0, y, width, height);
	cairo_fill(cr);
}

/* A above B; what is there is seen, be it ever so short. */
static void draw_pair(GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
	const Bars *bars = data;
	const gint64 times[2] = { bars->pair.a_ns, bars->pair.b_ns };

	if (gtk_widget_get_direction(GTK_WIDGET(area)) == GTK_TEXT_DIR_RTL) {
		cairo_translate(cr, width, 0);
		cairo_scale(cr, -1, 1);
	}
	for (int i = 0; i < 2 && bars->most_ns > 0; i++) {
		double length = width * (double)times[i] / (double)bars->most_ns;

		if (times[i] > 0)
			draw_bar(cr, i ? B_COLOUR : A_COLOUR, i * height / 2.0, MAX(1, length),
				 height / 2.0 - 1);
	}
}

static GtkWidget *pair_new(const TipmeFacts *facts, guint nr)
{
	const TipmePair *whole = &g_array_index(facts->pairs, TipmePair, facts->pairs->len - 1);
	GtkWidget *area = gtk_drawing_area_new();
	Bars *bars = g_new0(Bars, 1);

	bars->pair = g_array_index(facts->pairs, TipmePair, nr);
	bars->most_ns = MAX(whole->a_ns, whole->b_ns);
	gtk_drawing_area_set_content_width(GTK_DRAWING_AREA(area), PAIR_WIDTH);
	gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(area), 14);
	gtk_widget_set_valign(area, GTK_ALIGN_CENTER);
	gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(area), draw_pair, bars, g_free);
	return area;
}

/* Which bar is whose. */
static GtkWidget *pair_title_new(void)
{
	GtkWidget *label = gtk_label_new(NULL);
	g_autofree char *a = tipme_paint_hex(A_COLOUR), *b = tipme_paint_hex(B_COLOUR);
	g_autofree char *markup = g_strdup_printf(
		"<span foreground=\"%s\">\342\226\240</span> A   <span foreground=\"%s\">\342\226\240</span> B",
		a, b);

	gtk_label_set_markup(GTK_LABEL(label), markup);
	gtk_label_set_xalign(GTK_LABEL(label), 0);
	return label;
}

static GtkWidget *pair_cell(const TipmeFacts *facts, guint row)
{
	return row ? pair_new(facts, row - 1) : pair_title_new();
}

static GtkWidget *grid_new(const TipmeFacts *facts)
{
	GtkWidget *grid = gtk_grid_new();

	gtk_grid_set_column_spacing(GTK_GRID(grid), 24);
	gtk_grid_set_row_spacing(GTK_GRID(grid), 4);
	for (guint i = 0; i < facts->rows->len; i++) {
		char **cells = g_ptr_array_index(facts->rows, i);

		guint last = g_strv_length(cells) - 1;

		for (guint j = 0; cells[j]; j++)
			gtk_grid_attach(GTK_GRID(grid), cell_new(facts, cells, i, j),
					(int)(j + (facts->pairs && j == last)), (int)i, 1, 1);
		if (facts->pairs)
			gtk_grid_attach(GTK_GRID(grid), pair_cell(facts, i), (int)last, (int)i, 1,
					1);
	}
	return grid;
}

static void add_tables(GtkWidget *box, GPtrArray *tables)
{
	for (guint i = 0; i < tables->len; i++) {
		const TipmeFacts *facts = g_ptr_array_index(tables, i);

		add(box, facts->heading, i ? "heading" : "title-2");
		gtk_box_append(GTK_BOX(box), grid_new(facts));
	}
}

GtkWidget *tipme_facts_page_new(void)
{
	GtkWidget *scrolled = gtk_scrolled_window_new(), *clamp = adw_clamp_new();
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 10);

	g_object_set(box, "margin-top", MARGIN, "margin-bottom", MARGIN, "margin-start", MARGIN,
		     "margin-end", MARGIN, NULL);
	adw_clamp_set_maximum_size(ADW_CLAMP(clamp), 900);
	adw_clamp_set_child(ADW_CLAMP(clamp), box);
	gtk_widget_set_focusable(scrolled, TRUE);
	gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_NEVER,
				       GTK_POLICY_AUTOMATIC);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), clamp);
	g_object_set_data(G_OBJECT(scrolled), "box", box);
	return scrolled;
}

void tipme_facts_page_show(GtkWidget *page, const TipmeResult *result,
			   GPtrArray *(*tables_of)(struct json_object *), const char *verb,
			   GPtrArray *rows)
{
	g_autoptr(GError) error = NULL;
	struct json_object *object = tipme_command_parse(result->out, result->said, &error);
	GtkWidget *box = cleared(page);

	if (error) {
		add(box, error->message, "title-2");
	} else {
		g_autoptr(GPtrArray) tables = tables_of(object);

		add_tables(box, tables);
	}
	add_command(box, verb, rows);
	json_object_put(object);
}

gboolean tipme_facts_page_is_busy(GtkWidget *page)
{
	GtkWidget *within = g_object_get_data(G_OBJECT(page), "within");

	return g_object_get_data(G_OBJECT(page), "busy") ||
	       (within && g_object_get_data(G_OBJECT(within), "busy"));
}

void tipme_facts_page_set_busy(GtkWidget *page, gboolean busy)
{
	g_object_set_data(G_OBJECT(page), "busy", GINT_TO_POINTER(busy));
}

static void keep_rows(GtkWidget *page, GPtrArray *rows)
{
	g_object_set_data_full(G_OBJECT(page), "rows", rows ? g_ptr_array_ref(rows) : NULL,
			       (GDestroyNotify)g_ptr_array_unref);
}

/* --- compare --- */

GtkWidget *tipme_compare_page_new(void)
{
	GtkWidget *page = tipme_facts_page_new();

	add(g_object_get_data(G_OBJECT(page), "box"),
	    _("Select two episodes in the list, with Control or Shift, then press Ctrl+K."), NULL);
	return page;
}

static void on_compared(const TipmeResult *result, gpointer page)
{
	tipme_facts_page_set_busy(page, FALSE);
	tipme_facts_page_show(page, result, tipme_facts_of_comparison, "compare",
			      g_object_get_data(G_OBJECT(page), "rows"));
}

void tipme_compare_page_set(GtkWidget *page, GPtrArray *rows)
{
	const char *args[] = { "compare", ((TipmeRow *)g_ptr_array_index(rows, 0))->id,
			       ((TipmeRow *)g_ptr_array_index(rows, 1))->id, "--json", NULL };

	keep_rows(page, rows);
	add(cleared(page), _("Comparing two episodes"), NULL);
	tipme_facts_page_set_busy(page, TRUE);
	tipme_run_verb(page, args, on_compared, page);
}

/* --- a cure --- */

GtkWidget *tipme_check_page_new(void)
{
	GtkWidget *page = tipme_facts_page_new();

	add(g_object_get_data(G_OBJECT(page), "box"),
	    _("Did the cure help? Select the episode with the problem in the list, or open it. "
	      "It is compared with what came after it."),
	    NULL);
	return page;
}

static void on_checked(const TipmeResult *result, gpointer page)
{
	tipme_facts_page_set_busy(page, FALSE);
	tipme_facts_page_show(page, result, tipme_facts_of_check, "check",
			      g_object_get_data(G_OBJECT(page), "rows"));
}

void tipme_check_page_set(GtkWidget *page, GPtrArray *rows)
{
	const char *args[] = { "check", ((TipmeRow *)g_ptr_array_index(rows, 0))->id, "--json",
			       NULL };

	keep_rows(page, rows);
	add(cleared(page), _("Comparing with what came after it"), NULL);
	tipme_facts_page_set_busy(page, TRUE);
	tipme_run_verb(page, args, on_checked, page);
}

/* --- a week --- */

GtkWidget *tipme_week_page_new(void)
{
	return tipme_facts_page_new();
}

static void on_week(const TipmeResult *result, gpointer page)
{
	tipme_facts_page_set_busy(page, FALSE);
	tipme_facts_page_show(page, result, tipme_facts_of_week, "list --week", NULL);
}

void tipme_week_page_read(GtkWidget *page)
{
	static const char *const args[] = { "list", "--week", "--json", NULL };

	tipme_facts_page_set_busy(page, TRUE);
	tipme_run_verb(page, args, on_week, page);
}

/* --- a measurement --- */

GtkWidget *tipme_measured_page_new(void)
{
	GtkWidget *page = tipme_facts_page_new();
	GtkWidget *box = g_object_get_data(G_OBJECT(page), "box");

	add(box, _("Open a file that tipme latency record or tipme profile record wrote."), NULL);
	gtk_box_append(GTK_BOX(box), tipme_action_button("measured"));
	return page;
}

static void add_charts(GtkWidget *box, struct json_object *measurement)
{
	g_autoptr(GPtrArray) charts = tipme_charts_of_measurement(measurement);

	for (guint i = 0; i < charts->len; i++) {
		add(box, ((TipmeChart *)g_ptr_array_index(charts, i))->title, "heading");
		gtk_box_append(GTK_BOX(box), tipme_chart_new(charts, i));
	}
}

static void show_measurement(GtkWidget *page, const TipmeResult *result, const char *verb)
{
	struct json_object *measurement = tipme_command_parse(result->out, result->said, NULL);
	const char *file = g_object_get_data(G_OBJECT(page), "file");
	g_autofree char *command = g_strdup_printf("%s report %s", verb, file);
	GtkWidget *box;

	tipme_facts_page_set_busy(page, FALSE);
	tipme_facts_page_show(page, result, tipme_facts_of_measurement, command, NULL);
	box = g_object_get_data(G_OBJECT(page), "box");
	add_charts(box, measurement);
	gtk_box_append(GTK_BOX(box), tipme_action_button("measured"));
	json_object_put(measurement);
}

static void on_profile(const TipmeResult *result, gpointer page)
{
	show_measurement(page, result, "profile");
}

/*
 * What is no result of the one is taken by the other, or refused in its words. Times of events and
 * names of operations are taken where they lie beside a profile.
 */
static void on_latency(const TipmeResult *result, gpointer page)
{
	const char *file = g_object_get_data(G_OBJECT(page), "file");
	g_autofree char *times = g_strconcat(file, ".times", NULL);
	g_autofree char *operations = g_strconcat(file, ".operations", NULL);
	const char *args[9] = { "profile", "report", file, "--json" };

	if (g_file_test(times, G_FILE_TEST_IS_REGULAR)) {
		args[4] = "--times";
		args[5] = times;
		if (g_file_test(operations, G_FILE_TEST_IS_REGULAR)) {
			args[6] = "--operations";
			args[7] = operations;
		}
	}
	if (result->status)
		tipme_run_verb(page, args, on_profile, page);
	else
		show_measurement(page, result, "latency");
}

void tipme_measured_page_set(GtkWidget *page, const char *file)
{
	const char *args[] = { "latency", "report", file, "--json", NULL };

	g_object_set_data_full(G_OBJECT(page), "file", g_strdup(file), g_free);
	add(cleared(page), _("Reading the measurement"), NULL);
	tipme_facts_page_set_busy(page, TRUE);
	tipme_run_verb(page, args, on_latency, page);
}

/* --- report --- */

GtkWidget *tipme_report_page_new(void)
{
	GtkWidget *page = tipme_facts_page_new();

	add(g_object_get_data(G_OBJECT(page), "box"),
	    _("Select an episode in the list, or open one: this page is about it."), NULL);
	return page;
}

static void add_said(GtkWidget *page, const char *heading, const char *verb,
		     const TipmeResult *result)
{
	GtkWidget *box = g_object_get_data(G_OBJECT(page), "box");

	add(box, heading, "title-2");
	add(box, *result->out ? result->out : result->said, "monospace");
	add_command(box, verb, g_object_get_data(G_OBJECT(page), "rows"));
}

static void on_bundle(const TipmeResult *result, gpointer page)
{
	GtkWidget *waiting = g_object_get_data(G_OBJECT(page), "waiting");

	if (waiting)
		gtk_box_remove(GTK_BOX(g_object_get_data(G_OBJECT(page), "box")), waiting);
	g_object_set_data(G_OBJECT(page), "waiting", NULL);
	tipme_facts_page_set_busy(page, FALSE);
	add_said(page, _("What would leave in a file, and what would not"), "bundle", result);
	gtk_box_append(GTK_BOX(g_object_get_data(G_OBJECT(page), "box")),
		       tipme_action_button("bundle"));
}

static void on_copy(GtkButton *button, const char *text)
{
	gdk_clipboard_set_text(gtk_widget_get_clipboard(GTK_WIDGET(button)), text);
	gtk_button_set_label(button, _("Copied"));
}

/* For the place where its readers take reports; below the heading, since the text is long. */
static void add_copy(GtkWidget *box, const char *text)
{
	GtkWidget *button = gtk_button_new_with_label(_("Copy the text"));
	char *own = g_strdup(text);

	gtk_widget_set_halign(button, GTK_ALIGN_START);
	g_object_set_data_full(G_OBJECT(button), "text", own, g_free);
	g_signal_connect(button, "clicked", G_CALLBACK(on_copy), own);
	gtk_box_insert_child_after(GTK_BOX(box), button, gtk_widget_get_first_child(box));
}

/* Without --yes and a terminal the verb shows what it would write, and writes nothing. */
static void on_report(const TipmeResult *result, gpointer page)
{
	GPtrArray *rows = g_object_get_data(G_OBJECT(page), "rows");
	const char *args[] = { "bundle", ((TipmeRow *)g_ptr_array_index(rows, 0))->id, NULL };

	GtkWidget *box = cleared(page);

	add_said(page, _("Whom to tell, and the text for them"), "report", result);
	if (!result->status && *result->out)
		add_copy(box, result->out);
	GtkWidget *waiting = tipme_label_new(_("Looking what goes into a report..."), "dim-label");

	gtk_box_append(GTK_BOX(box), waiting);
	g_object_set_data(G_OBJECT(page), "waiting", waiting);
	tipme_run_verb(page, args, on_bundle, page);
}

GPtrArray *tipme_report_page_rows(GtkWidget *page)
{
	return g_object_get_data(G_OBJECT(page), "rows");
}

void tipme_report_page_set(GtkWidget *page, GPtrArray *rows)
{
	const char *args[] = { "report", ((TipmeRow *)g_ptr_array_index(rows, 0))->id, NULL };

	keep_rows(page, rows);
	g_object_set_data(G_OBJECT(page), "waiting", NULL);
	add(cleared(page), _("Looking for whom to tell"), NULL);
	tipme_facts_page_set_busy(page, TRUE);
	tipme_run_verb(page, args, on_report, page);
}
