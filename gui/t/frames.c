// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the window's timeline costs on an episode of so many intervals, which is made first: time
 * until it is open, memory, CPU time of each frame of the real page at 1920 x 1080.
 * Use: GSK_RENDERER=cairo frames [INTERVALS]
 */
#include "config.h"

#include <adwaita.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "pages.h"
#include "tipme_records.h"

#define CPUS 8U
#define THREADS 16U /* two take turns on each CPU: each switch makes three intervals */
#define SPAN_NS G_GINT64_CONSTANT(40000000000)
#define SECTION 8192U /* records */
#define FRAMES 300

typedef struct {
	GtkWidget *window;
	TipmeSession *session;
	GMainLoop *loop;
	double opened_ms, before;
	GArray *pan, *zoom; /* double: ms of CPU time */
	guint frame;
	gint64 asked;
} Bench;

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Switches of one CPU between two threads, from a to b and back, in unequal steps. */
static void write_section(FILE *out, guint cpu, guint64 first, guint64 count, guint64 step)
{
	struct tipme_section head = { .type = TIPME_SECTION,
				      .len8 = sizeof(head) / 8,
				      .source = TIPME_SOURCE_KERNEL_BPF,
				      .cpu = cpu,
				      .first_ns = 1 + first * step,
				      .last_ns = 1 + (first + count - 1) * step + step / 2,
				      .count = count,
				      .body_len = count * 32 };

	fwrite(&head, sizeof(head), 1, out);
	for (guint64 i = first; i < first + count; i++) {
		guint32 a = 1000 + 2 * cpu, b = a + 1;
		struct tipme_sched_switch r = { .ts_ns = 1 + i * step +
							 (i * 2654435761U >> 7) % (step / 2),
						.type = TIPME_SCHED_SWITCH,
						.len8 = sizeof(r) / 8,
						.tid = i & 1 ? b : a,
						.next_tid = i & 1 ? a : b,
						.prev_state = TIPME_TASK_STATE_RUNNABLE,
						.prev_prio = 120,
						.next_prio = 120,
						.prev_preempted = 1 };

		fwrite(&r, sizeof(r), 1, out);
	}
}

static void write_records(const char *file, guint64 switches)
{
	FILE *out = fopen(file, "w");
	guint64 each = switches / CPUS, step = SPAN_NS / each;
	struct tipme_file_header head = {
		.magic = TIPME_FILE_MAGIC,
		.byte_order = TIPME_BYTE_ORDER,
		.major = TIPME_FORMAT_MAJOR,
		.header_len = sizeof(head),
		.source = TIPME_SOURCE_KERNEL_BPF,
		.body_len = each * CPUS * 32 +
			    CPUS * ((each + SECTION - 1) / SECTION) * sizeof(struct tipme_section),
	};

	fwrite(&head, sizeof(head), 1, out);
	for (guint64 first = 0; first < each; first += SECTION)
		for (guint cpu = 0; cpu < CPUS; cpu++)
			write_section(out, cpu, first, MIN(SECTION, each - first), step);
	fclose(out);
}

static void put(const char *folder, const char *name, const char *text)
{
	g_autofree char *file = g_build_filename(folder, name, NULL);

	if (!g_file_set_contents(file, text, -1, NULL))
		exit(1);
	g_chmod(file, 0700);
}

/* The episode, and a verb that says of it which threads its path has. */
static void make_episode(const char *folder, guint64 intervals)
{
	g_autofree char *file = g_build_filename(folder, "kernel.rec", NULL);
	g_autofree char *cli = g_build_filename(folder, "helper", "cli", NULL);
	g_autoptr(GString) manifest = g_string_new(
		"{\"format\":{\"major\":1,\"minor\":1},\"id\":\"bench\",\"trigger\":{\"ns\":39000000000},"
		"\"end_ns\":40000000000,\"sources\":[{\"source\":\"kernel_bpf\",\"file\":\"kernel.rec\",\"coverage\":[");
	g_autoptr(GString) verb = g_string_new(
		"#!/bin/sh\necho '{\"id\":\"bench\",\"interval\":{\"start_ns\":20000000000,\"end_ns\":20400000000},\"path\":[");

	for (guint i = 0; i < CPUS; i++)
		g_string_append_printf(
			manifest,
			"%s{\"cpu\":%u,\"first_ns\":1,\"last_ns\":40000000000,\"records\":%" G_GUINT64_FORMAT
			"}",
			i ? "," : "", i, intervals / 3 / CPUS);
	for (guint i = 0; i < THREADS; i++)
		g_string_append_printf(verb, "%s{\"tid\":%u,\"comm\":\"t\"}", i ? "," : "",
				       1000 + i);
	g_string_append(manifest, "]}]}");
	g_string_append(verb, "]}'\n");
	put(folder, "manifest.json", manifest->str);
	g_mkdir_with_parents(cli, 0700);
	put(cli, "tipme", verb->str);
	write_records(file, intervals / 3);
}

static int by_size(gconstpointer a, gconstpointer b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static void tell(const char *what, GArray *costs)
{
	g_array_sort(costs, by_size);
	g_print("%s: %u frames, CPU time median %.1f ms, 95th percentile %.1f ms, most %.1f ms\n",
		what, costs->len, g_array_index(costs, double, costs->len / 2),
		g_array_index(costs, double, costs->len * 95 / 100),
		g_array_index(costs, double, costs->len - 1));
}

static void finish(Bench *b)
{
	const TipmeLanes *lanes = tipme_session_lanes(b->session);
	struct rusage usage;
	guint64 count = 0;

	getrusage(RUSAGE_SELF, &usage);
	for (guint i = 0; i < lanes->lanes->len; i++)
		count += ((TipmeLane *)g_ptr_array_index(lanes->lanes, i))->count;
	g_print("%" G_GUINT64_FORMAT " intervals in %u lanes, window of %d x %d\n", count,
		lanes->lanes->len, gtk_widget_get_width(b->window),
		gtk_widget_get_height(b->window));
	g_print("open: %.2f s; memory at most %.0f MB\n", b->opened_ms / 1e3,
		(double)usage.ru_maxrss / 1e3);
	tell("pan", b->pan);
	tell("zoom", b->zoom);
	g_main_loop_quit(b->loop);
}

/* Pan in three widths of view, then zoom from all to the least and back. */
static gboolean step(gpointer data)
{
	Bench *b = data;
	TipmeView *view = tipme_session_view(b->session);
	guint n = b->frame % FRAMES;

	if (b->frame == 2 * FRAMES) {
		finish(b);
		return G_SOURCE_REMOVE;
	}
	if (b->frame < FRAMES) {
		if (n % 100 == 0)
			tipme_view_set(view, SPAN_NS / 8,
				       SPAN_NS / 8 + SPAN_NS / (n == 0	   ? 2
								: n == 100 ? 100
									   : 10000));
		tipme_view_pan(view, 20, 1280);
	} else {
		if (n == 0)
			tipme_view_set(view, 0, SPAN_NS);
		tipme_view_zoom(view, n < FRAMES / 2 ? 1 / 1.1 : 1.1, 700, 1280);
	}
	tipme_session_view_changed(b->session);
	return G_SOURCE_REMOVE;
}

static void before_paint(GdkFrameClock *clock, Bench *b)
{
	b->before = cpu_ms();
}

static void after_paint(GdkFrameClock *clock, Bench *b)
{
	double cost = cpu_ms() - b->before;

	if (b->frame < 2 * FRAMES)
		g_array_append_val(b->frame < FRAMES ? b->pan : b->zoom, cost);
	b->frame++;
	g_idle_add(step, b);
}

static gboolean begin(gpointer data)
{
	Bench *b = data;
	GdkFrameClock *clock = gtk_widget_get_frame_clock(b->window);

	g_signal_connect(clock, "before-paint", G_CALLBACK(before_paint), b);
	g_signal_connect(clock, "after-paint", G_CALLBACK(after_paint), b);
	step(b);
	return G_SOURCE_REMOVE;
}

static void on_loaded(TipmeSession *session, Bench *b)
{
	b->opened_ms = (double)(g_get_monotonic_time() - b->asked) / 1e3;
	g_timeout_add(1500, begin, b);
}

int main(int argc, char **argv)
{
	guint64 intervals = argc > 1 ? g_ascii_strtoull(argv[1], NULL, 10) : 5000000;
	g_autofree char *folder = g_dir_make_tmp("tipme-frames-XXXXXX", NULL);
	g_autofree char *remove = g_strdup_printf("rm -rf '%s'", folder);
	Bench b = { .pan = g_array_new(FALSE, FALSE, sizeof(double)),
		    .zoom = g_array_new(FALSE, FALSE, sizeof(double)),
		    .loop = g_main_loop_new(NULL, FALSE) };

	if (!folder || intervals < 3 * CPUS * 100)
		return 64;
	make_episode(folder, intervals);
	g_setenv("TIPME_BUILDDIR", folder, TRUE);
	adw_init();
	b.session = tipme_session_new();
	b.window = gtk_window_new();
	gtk_window_set_default_size(GTK_WINDOW(b.window), 1920, 1080);
	gtk_window_set_decorated(GTK_WINDOW(b.window), FALSE);
	gtk_window_set_child(GTK_WINDOW(b.window), tipme_timeline_page_new(b.session));
	g_signal_connect(b.session, "loaded", G_CALLBACK(on_loaded), &b);
	gtk_window_present(GTK_WINDOW(b.window));
	b.asked = g_get_monotonic_time();
	tipme_session_open(b.session, folder, folder);
	g_main_loop_run(b.loop);
	return system(remove) ? 1 : 0;
}
