// SPDX-License-Identifier: GPL-2.0-only
/* A tree from stacks, outermost function first. */
#include "config.h"

#include "flame.h"

#include <string.h>

#include "language.h"

#define DEEPEST 200U /* frames; a record of a stack holds fewer */

static TipmeFlame *flame_new(const char *function, const char *module)
{
	TipmeFlame *flame = g_new0(TipmeFlame, 1);

	flame->function = tipme_lanes_safe(function);
	flame->module = tipme_lanes_safe(module);
	flame->calls = g_ptr_array_new_with_free_func((GDestroyNotify)tipme_flame_free);
	return flame;
}

void tipme_flame_free(TipmeFlame *flame)
{
	if (!flame)
		return;
	g_free(flame->function);
	g_free(flame->module);
	g_ptr_array_unref(flame->calls);
	g_free(flame);
}

static TipmeFlame *call_of(TipmeFlame *flame, const char *function, const char *module)
{
	for (guint i = 0; i < flame->calls->len; i++) {
		TipmeFlame *call = g_ptr_array_index(flame->calls, i);

		if (!strcmp(call->function, function) && !strcmp(call->module, module))
			return call;
	}
	TipmeFlame *call = flame_new(function, module);

	g_ptr_array_add(flame->calls, call);
	return call;
}

static void add_stack(TipmeFlame *flame, const char *frames, gint64 ns)
{
	g_auto(GStrv) lines = g_strsplit(frames, "\n", (int)DEEPEST);
	guint count = g_strv_length(lines);

	flame->ns += ns;
	flame->samples++;
	for (guint i = count; i-- > 0;) {
		char *tab = strchr(lines[i], '\t');

		if (!tab)
			continue;
		*tab = '\0';
		g_autofree char *function = tipme_lanes_safe(lines[i]);
		g_autofree char *module = tipme_lanes_safe(tab + 1);

		flame = call_of(flame, function, module);
		flame->ns += ns;
		flame->samples++;
	}
}

static int by_ns(gconstpointer one, gconstpointer other)
{
	const TipmeFlame *a = *(TipmeFlame *const *)one, *b = *(TipmeFlame *const *)other;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return strcmp(a->function, b->function);
}

static void sort(TipmeFlame *flame)
{
	g_ptr_array_sort(flame->calls, by_ns);
	for (guint i = 0; i < flame->calls->len; i++)
		sort(g_ptr_array_index(flame->calls, i));
}

static const TipmeLane *sample_lane(const TipmeLanes *lanes)
{
	for (guint i = 0; i < lanes->lanes->len; i++) {
		const TipmeLane *lane = g_ptr_array_index(lanes->lanes, i);

		if (lane->samples)
			return lane;
	}
	return NULL;
}

static gboolean is_of(const TipmeFact *fact, const TipmeLane *lane)
{
	if (!lane || lane->is_events)
		return TRUE;
	return lane->is_cpu ? fact->cpu == lane->number : fact->tid == lane->number;
}

TipmeFlame *tipme_flame_new(const TipmeLanes *lanes, const TipmeLane *lane, gint64 from_ns,
			    gint64 to_ns)
{
	TipmeFlame *flame = flame_new("", "");
	const TipmeLane *all = lanes ? sample_lane(lanes) : NULL;

	for (guint i = all ? tipme_lane_at(all, from_ns) : 0;
	     all && i < all->count && all->spans[i].from_ns < to_ns; i++) {
		const TipmeFact *fact = &g_array_index(lanes->facts, TipmeFact, all->spans[i].who);

		if (all->spans[i].from_ns >= from_ns && is_of(fact, lane))
			add_stack(flame, g_ptr_array_index(lanes->frames, fact->number),
				  fact->queued_ns);
	}
	sort(flame);
	return flame;
}

guint tipme_flame_depth(const TipmeFlame *flame)
{
	guint most = 0;

	for (guint i = 0; i < flame->calls->len; i++)
		most = MAX(most, 1 + tipme_flame_depth(g_ptr_array_index(flame->calls, i)));
	return most;
}

typedef struct {
	const char *function, *module;
	guint samples;
} Innermost;

static void collect(const TipmeFlame *flame, GArray *all)
{
	guint own = flame->samples;

	for (guint i = 0; i < flame->calls->len; i++) {
		const TipmeFlame *call = g_ptr_array_index(flame->calls, i);

		own -= call->samples;
		collect(call, all);
	}
	if (!own || !*flame->function)
		return;
	for (guint i = 0; i < all->len; i++) {
		Innermost *one = &g_array_index(all, Innermost, i);

		if (!strcmp(one->function, flame->function) &&
		    !strcmp(one->module, flame->module)) {
			one->samples += own;
			return;
		}
	}
	Innermost one = { flame->function, flame->module, own };

	g_array_append_val(all, one);
}

static int by_samples(gconstpointer one, gconstpointer other)
{
	const Innermost *a = one, *b = other;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return strcmp(a->function, b->function);
}

char *tipme_flame_words(const TipmeFlame *flame, guint most)
{
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Innermost));
	GString *text = g_string_new(NULL);

	collect(flame, all);
	g_array_sort(all, by_samples);
	for (guint i = 0; i < all->len && i < most; i++) {
		const Innermost *one = &g_array_index(all, Innermost, i);

		g_string_append_printf(text, _("%s (%s): %u of %u samples\n"), one->function,
				       one->module, one->samples, flame->samples);
	}
	return g_string_free(text, FALSE);
}
