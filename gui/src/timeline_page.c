// SPDX-License-Identifier: GPL-2.0-only
/* The timeline: overview, lanes, and beside them the same as a table. */
#include "config.h"

#include <adwaita.h>
#include <string.h>

#include "columns.h"
#include "flame_graph.h"
#include "pages.h"
#include "paint.h"
#include "picture.h"
#include "ribbon.h"
#include "span_list.h"
#include "numbers.h"
#include "state.h"
#include "timeline.h"
#include "language.h"

typedef struct {
	TipmeSession *session;
	TipmeSpanList *spans;
	GtkSingleSelection *chosen;
	GtkWidget *view, *title, *sums, *problem, *stack, *canvas;
	GtkWidget *sentence, *stages;
	GtkWidget *charged; /* in the legend: who is charged with most */
	GtkWidget *inferred; /* there: what the stripes are */
	guint lane; /* that the table shows */
	gboolean taking; /* the session's selection is on its way into the table */
} Page;

static char *from_text(gpointer item, gpointer data)
{
	Page *page = data;
	const TipmeAnswer *answer = tipme_session_answer(page->session);
	gint64 zero = answer && answer->has_interval ? answer->from_ns
						     : tipme_session_view(page->session)->first_ns;

	return g_strdup_printf("%.3f ms",
			       (double)(TIPME_SPAN_ITEM(item)->span.from_ns - zero) / 1e6);
}

static char *length_text(gpointer item, gpointer data)
{
	const TipmeSpan *span = &TIPME_SPAN_ITEM(item)->span;

	return g_strdup_printf("%.3f ms", (double)(span->to_ns - span->from_ns) / 1e6);
}

static char *words_text(gpointer item, gpointer data)
{
	return g_strdup(TIPME_SPAN_ITEM(item)->words);
}

static const TipmeLane *lane_of(Page *page)
{
	const TipmeLanes *lanes = tipme_session_lanes(page->session);
	guint nr = tipme_session_selected_lane(page->session);

	return lanes && nr < lanes->lanes->len ? g_ptr_array_index(lanes->lanes, nr) : NULL;
}

/* "4.9 ms running · 9.2 ms waits for a CPU": they add up to the stretch. Free it. */
static char *sums_text(const TipmeLane *lane, gint64 from_ns, gint64 to_ns)
{
	gint64 sums[TIPME_LANE_STATES];
	g_autoptr(GString) text = g_string_new(NULL);

	tipme_lane_sums(lane, from_ns, to_ns, sums);
	for (int state = TIPME_LANE_EVENT; state-- > 0;) {
		g_autofree char *time = tipme_text_ms(sums[state]);

		if (!sums[state])
			continue;
		g_string_append_printf(text, "%s%s %s", text->len ? " · " : "", time,
				       tipme_paint_name((guint8)state));
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static char *events_text(const TipmeLane *lane, gint64 from_ns, gint64 to_ns)
{
	return g_strdup_printf(_("%u events"),
			       tipme_lane_at(lane, to_ns) - tipme_lane_at(lane, from_ns));
}

/* Sums of the selected lane: of the range that is measured, else of what is visible. */
static void show_sums(Page *page)
{
	const TipmeLane *lane = lane_of(page);
	gint64 from, to;

	if (!lane)
		return;
	gboolean range = tipme_session_range(page->session, &from, &to);
	g_autofree char *sums = (lane->is_events ? events_text : sums_text)(lane, from, to);
	g_autofree char *text =
		range ? g_strdup_printf(_("Range of %.3f ms: %s"), (double)(to - from) / 1e6, sums)
		      : g_strdup(sums);

	gtk_label_set_text(GTK_LABEL(page->title), lane->name);
	gtk_label_set_text(GTK_LABEL(page->sums), text);
}

/* The stack of the sleep that is selected. */
static void show_stack(Page *page)
{
	const TipmeSpan *span = tipme_session_span(page->session);
	g_autofree char *stack =
		span && lane_of(page) && !lane_of(page)->is_cpu
			? tipme_lanes_stack(tipme_session_lanes(page->session), span)
			: NULL;
	g_autofree char *text = stack ? g_strdup_printf(_("It slept in:\n%s"), stack) : NULL;

	gtk_label_set_text(GTK_LABEL(page->stack), text ? text : "");
	gtk_widget_set_visible(page->stack, text != NULL);
}

/* The sums of each lane, as text that can be pasted: of the range, else of what is visible. */
static char *copy_text(Page *page)
{
	const TipmeLanes *lanes = tipme_session_lanes(page->session);
	const TipmeAnswer *answer = tipme_session_answer(page->session);
	gint64 from, to;
	g_autoptr(GString) text = g_string_new(NULL);

	tipme_session_range(page->session, &from, &to);
	if (answer && answer->sentence)
		g_string_append_printf(text, "%s\n", answer->sentence);
	g_string_append_printf(text, "%.3f ms\n", (double)(to - from) / 1e6);
	for (guint i = 0; lanes && i < lanes->lanes->len; i++) {
		const TipmeLane *lane = g_ptr_array_index(lanes->lanes, i);
		g_autofree char *sums = (lane->is_events ? events_text : sums_text)(lane, from, to);

		g_string_append_printf(text, "%s: %s\n", lane->name, sums);
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

/* Control+C copies text, with Shift a picture. */
static gboolean on_key(GtkEventControllerKey *controller, guint key, guint code,
		       GdkModifierType held, Page *page)
{
	GdkClipboard *to = gtk_widget_get_clipboard(page->canvas);
	const char *deed = tipme_timeline_deed(key, held);

	if (!deed || !g_str_has_prefix(deed, "copy-"))
		return GDK_EVENT_PROPAGATE;
	if (!strcmp(deed, "copy-picture")) {
		g_autoptr(GdkTexture) picture = tipme_picture_of(page->canvas);

		if (picture)
			gdk_clipboard_set_texture(to, picture);
	} else {
		g_autofree char *text = copy_text(page);

		gdk_clipboard_set_text(to, text);
	}
	return GDK_EVENT_STOP;
}

static void on_more(GtkEntry *entry, Page *page)
{
	tipme_session_more(page->session, gtk_editable_get_text(GTK_EDITABLE(entry)));
}

/* The rows are a list inside the table, which alone knows how to scroll. */
static void scroll_to(Page *page, guint span)
{
	for (GtkWidget *child = gtk_widget_get_first_child(page->view); child;
	     child = gtk_widget_get_next_sibling(child))
		if (GTK_IS_LIST_VIEW(child))
			gtk_widget_activate_action(child, "list.scroll-to-item", "u", span);
}

static void on_selection(TipmeSession *session, Page *page)
{
	guint span = tipme_session_selected_span(session),
	      nr = tipme_session_selected_lane(session);

	page->taking = TRUE;
	if (page->lane != nr)
		tipme_span_list_set(page->spans, tipme_session_lanes(session), lane_of(page));
	page->lane = nr;
	gtk_single_selection_set_selected(page->chosen,
					  span == G_MAXUINT ? GTK_INVALID_LIST_POSITION : span);
	if (span != G_MAXUINT && gtk_widget_get_mapped(page->view))
		scroll_to(page, span);
	page->taking = FALSE;
	show_sums(page);
	show_stack(page);
}

static void on_row(GtkSingleSelection *chosen, GParamSpec *spec, Page *page)
{
	guint span = gtk_single_selection_get_selected(chosen);

	if (!page->taking)
		tipme_session_select(page->session, page->lane,
				     span == GTK_INVALID_LIST_POSITION ? G_MAXUINT : span);
}

/* The verdict above its evidence. */
static void show_verdict(Page *page)
{
	const TipmeAnswer *answer = tipme_session_answer(page->session);
	const TipmeLanes *lanes = tipme_session_lanes(page->session);
	gboolean told = answer && answer->sentence && *answer->sentence;
	const TipmePart *most =
		answer && answer->parts->len ? g_ptr_array_index(answer->parts, 0) : NULL;
	GtkWidget *old = gtk_widget_get_first_child(page->stages);
	GtkWidget *ribbon = answer ? tipme_ribbon_new(answer) : NULL;

	gtk_label_set_text(GTK_LABEL(page->sentence), told ? answer->sentence : "");
	gtk_widget_set_visible(page->sentence, told);
	if (old)
		gtk_box_remove(GTK_BOX(page->stages), old);
	if (ribbon)
		gtk_box_append(GTK_BOX(page->stages), ribbon);
	gtk_label_set_text(GTK_LABEL(page->charged), most && most->pid ? most->who : "");
	gtk_widget_set_visible(gtk_widget_get_parent(page->charged), most && most->pid);
	gtk_widget_set_visible(gtk_widget_get_parent(page->inferred),
			       lanes && lanes->records_ns > lanes->first_ns);
}

static void on_loaded(TipmeSession *session, Page *page)
{
	const char *problem = tipme_session_problem(session);

	show_verdict(page);
	page->taking = TRUE;
	page->lane = tipme_session_selected_lane(session);
	tipme_span_list_set(page->spans, tipme_session_lanes(session), lane_of(page));
	page->taking = FALSE;
	gtk_label_set_text(GTK_LABEL(page->problem), problem ? problem : "");
	gtk_widget_set_visible(page->problem, problem != NULL);
	show_sums(page);
}

/* The lanes that the table's model looks at have gone. */
static void on_lanes(TipmeSession *session, Page *page)
{
	page->taking = TRUE;
	page->lane = tipme_session_selected_lane(session);
	tipme_span_list_set(page->spans, tipme_session_lanes(session), lane_of(page));
	page->taking = FALSE;
}

static void on_view(TipmeSession *session, Page *page)
{
	show_sums(page);
}

static GtkWidget *table_new(Page *page)
{
	GtkWidget *view = gtk_column_view_new(NULL);
	GtkColumnView *columns = GTK_COLUMN_VIEW(view);

	page->spans = tipme_span_list_new();
	page->chosen = gtk_single_selection_new(G_LIST_MODEL(g_object_ref(page->spans)));
	gtk_single_selection_set_autoselect(page->chosen, FALSE);
	gtk_single_selection_set_can_unselect(page->chosen, TRUE);
	gtk_column_view_set_model(columns, GTK_SELECTION_MODEL(page->chosen));
	tipme_columns_add(columns, _("From"), FALSE, TRUE, from_text, page);
	tipme_columns_add(columns, _("For"), FALSE, TRUE, length_text, page);
	tipme_columns_add(columns, _("What"), TRUE, FALSE, words_text, page);
	gtk_widget_add_css_class(view, "data-table");
	gtk_accessible_update_property(GTK_ACCESSIBLE(view), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("What the selected lane did"), -1);
	g_signal_connect(page->chosen, "notify::selected", G_CALLBACK(on_row), page);
	return view;
}

static void page_free(gpointer data)
{
	Page *page = data;

	g_signal_handlers_disconnect_by_data(page->session, page);
	g_signal_handlers_disconnect_by_data(page->chosen, page);
	g_object_unref(page->chosen);
	g_object_unref(page->spans);
	g_object_unref(page->session);
	g_free(page);
}

static gboolean is_dark(void)
{
	return adw_style_manager_get_dark(adw_style_manager_get_default());
}

/* Keys of the legend: states, and these. */
#define WAIT_KEY TIPME_LANE_NOTHING
#define CHARGED_KEY TIPME_LANE_STATES
#define INFERRED_KEY (TIPME_LANE_STATES + 1)

/* As the lanes have them. */
static void draw_stripes(cairo_t *cr, int width, int height)
{
	GdkRGBA colour = tipme_paint_state(TIPME_LANE_BLOCKED, is_dark());

	gdk_cairo_set_source_rgba(cr, &colour);
	for (int x = 0; x < width; x += 6)
		cairo_rectangle(cr, x, height / 2.0, 2, height / 2.0);
	cairo_fill(cr);
}

static void draw_key(GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
	guint8 key = (guint8)GPOINTER_TO_UINT(data);

	if (key == INFERRED_KEY) {
		draw_stripes(cr, width, height);
		return;
	}
	GdkRGBA colour = key == WAIT_KEY      ? tipme_paint_wait(is_dark())
			 : key == CHARGED_KEY ? tipme_paint_part(0)
					      : tipme_paint_state(key, is_dark());
	double high = key == WAIT_KEY	   ? 4
		      : key == CHARGED_KEY ? height
					   : height * tipme_paint_height(key);

	gdk_cairo_set_source_rgba(cr, &colour);
	cairo_rectangle(cr, 0, key == WAIT_KEY ? 0 : height - high, width, high);
	cairo_fill(cr);
}

/* A colour and its words: answers with the label. */
static GtkWidget *key_new(GtkWidget *legend, guint key, const char *text)
{
	GtkWidget *pair = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
	GtkWidget *swatch = gtk_drawing_area_new(), *words = gtk_label_new(text);

	gtk_drawing_area_set_content_width(GTK_DRAWING_AREA(swatch), 18);
	gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(swatch), 16);
	gtk_widget_set_valign(swatch, GTK_ALIGN_CENTER);
	gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(swatch), draw_key, GUINT_TO_POINTER(key),
				       NULL);
	gtk_label_set_ellipsize(GTK_LABEL(words), PANGO_ELLIPSIZE_END);
	gtk_box_append(GTK_BOX(pair), swatch);
	gtk_box_append(GTK_BOX(pair), words);
	gtk_box_append(GTK_BOX(legend), pair);
	return words;
}

static GtkWidget *legend_new(Page *page)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 16);

	g_object_set(box, "margin-start", 8, "margin-top", 6, "margin-bottom", 6, NULL);
	page->charged = key_new(box, CHARGED_KEY, "");
	for (guint state = TIPME_LANE_EVENT; state-- > TIPME_LANE_BLOCKED;)
		key_new(box, state, tipme_paint_name((guint8)state));
	key_new(box, WAIT_KEY, _("a wait of 0.1 ms or more"));
	page->inferred = key_new(box, INFERRED_KEY, _("not recorded: inferred"));
	return box;
}

/* As many lines as it takes: what is cut off is of no use. */
static GtkWidget *keys_new(void)
{
	GtkWidget *keys = tipme_label_new(
		_("W S zoom   A D move   F fit   , . step   N wake-up   [ ] range   P pin   G group   Home all"),
		"dim-label");

	g_object_set(keys, "margin-start", 8, "margin-end", 8, "margin-bottom", 6, "selectable",
		     FALSE, NULL);
	return keys;
}

/* The sentence in two lines at most, and the stages. */
static GtkWidget *verdict_new(Page *page)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);

	page->sentence = tipme_label_new("", "heading");
	gtk_label_set_selectable(GTK_LABEL(page->sentence), FALSE);
	gtk_label_set_lines(GTK_LABEL(page->sentence), 2);
	gtk_label_set_ellipsize(GTK_LABEL(page->sentence), PANGO_ELLIPSIZE_END);
	page->stages = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	g_object_set(box, "margin-start", 8, "margin-end", 8, "margin-top", 6, "margin-bottom", 6,
		     NULL);
	gtk_box_append(GTK_BOX(box), page->sentence);
	gtk_box_append(GTK_BOX(box), page->stages);
	return box;
}

static GtkWidget *canvas_new(Page *page)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0),
		  *scrolled = gtk_scrolled_window_new();

	page->problem = tipme_label_new("", "error");
	gtk_widget_hide(page->problem);
	gtk_box_append(GTK_BOX(box), page->problem);
	gtk_box_append(GTK_BOX(box), verdict_new(page));
	gtk_box_append(GTK_BOX(box), tipme_timeline_new(page->session, TRUE));
	gtk_box_append(GTK_BOX(box), legend_new(page));
	gtk_box_append(GTK_BOX(box), keys_new());
	page->canvas = tipme_timeline_new(page->session, FALSE);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), page->canvas);
	GtkEventController *key = gtk_event_controller_key_new();

	g_signal_connect(key, "key-pressed", G_CALLBACK(on_key), page);
	gtk_widget_add_controller(page->canvas, key);
	gtk_widget_set_vexpand(scrolled, TRUE);
	gtk_box_append(GTK_BOX(box), scrolled);
	gtk_box_append(GTK_BOX(box), tipme_flame_graph_new(page->session));
	return box;
}

static GtkWidget *more_new(Page *page)
{
	GtkWidget *entry = gtk_entry_new();

	gtk_entry_set_placeholder_text(GTK_ENTRY(entry), _("More threads: names or numbers"));
	gtk_accessible_update_property(GTK_ACCESSIBLE(entry), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("More threads: names or numbers"), -1);
	g_signal_connect(entry, "activate", G_CALLBACK(on_more), page);
	return entry;
}

static GtkWidget *beside_new(Page *page)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 4),
		  *scrolled = gtk_scrolled_window_new();

	page->view = table_new(page);
	page->title = tipme_label_new("", "heading");
	page->sums = tipme_label_new("", NULL);
	g_object_set(box, "margin-start", 8, "margin-top", 8, NULL);
	gtk_box_append(GTK_BOX(box), more_new(page));
	gtk_box_append(GTK_BOX(box), page->title);
	gtk_box_append(GTK_BOX(box), page->sums);
	page->stack = tipme_label_new("", "monospace");
	gtk_widget_hide(page->stack);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), page->view);
	gtk_widget_set_vexpand(scrolled, TRUE);
	gtk_box_append(GTK_BOX(box), scrolled);
	gtk_box_append(GTK_BOX(box), page->stack);
	return box;
}

GtkWidget *tipme_timeline_page_new(TipmeSession *session)
{
	Page *page = g_new0(Page, 1);
	GtkWidget *paned = gtk_paned_new(GTK_ORIENTATION_HORIZONTAL);

	page->session = g_object_ref(session);
	gtk_paned_set_start_child(GTK_PANED(paned), canvas_new(page));
	gtk_paned_set_end_child(GTK_PANED(paned), beside_new(page));
	gtk_paned_set_resize_end_child(GTK_PANED(paned), FALSE);
	gtk_paned_set_shrink_end_child(GTK_PANED(paned), FALSE);
	gtk_paned_set_wide_handle(GTK_PANED(paned), TRUE);
	tipme_timeline_page_set_table(paned, TIPME_STATE_TABLE);
	g_signal_connect(session, "loaded", G_CALLBACK(on_loaded), page);
	g_signal_connect(session, "lanes-changed", G_CALLBACK(on_lanes), page);
	g_signal_connect(session, "selection-changed", G_CALLBACK(on_selection), page);
	g_signal_connect(session, "view-changed", G_CALLBACK(on_view), page);
	g_object_set_data_full(G_OBJECT(paned), "page", page, page_free);
	return paned;
}

int tipme_timeline_page_table(GtkWidget *page, int otherwise)
{
	int width = gtk_widget_get_width(page);

	return width > 0 ? width - gtk_paned_get_position(GTK_PANED(page)) : otherwise;
}

/* The first time that the page has a size. */
static void on_sized(GtkPaned *paned, GParamSpec *property, gpointer table)
{
	int width = gtk_widget_get_width(GTK_WIDGET(paned));

	if (width <= 0)
		return;
	g_signal_handlers_disconnect_by_func(paned, on_sized, table);
	gtk_paned_set_position(paned, MAX(width / 3, width - GPOINTER_TO_INT(table)));
}

void tipme_timeline_page_set_table(GtkWidget *page, int width)
{
	g_signal_handlers_disconnect_matched(page, G_SIGNAL_MATCH_FUNC, 0, 0, NULL, on_sized, NULL);
	g_signal_connect(page, "notify::max-position", G_CALLBACK(on_sized),
			 GINT_TO_POINTER(width));
}
