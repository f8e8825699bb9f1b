// SPDX-License-Identifier: GPL-2.0-only
/* Light or dark, as the desktop tells it by org.freedesktop.appearance of its portal. */
#include "config.h"

#include <gtk/gtk.h>

#include "session_bus.h"
#include "scheme.h"

#define PORTAL "org.freedesktop.portal.Desktop"
#define PORTAL_PATH "/org/freedesktop/portal/desktop"
#define SETTINGS "org.freedesktop.portal.Settings"
#define APPEARANCE "org.freedesktop.appearance"
#define SCHEME "color-scheme"

#define PREFER_DARK 1 /* 0: no wish, 2: light; then themes alone decide */
#define READ_MS 300 /* a desktop that takes longer has the usual window */

/* What it gives is wrapped: once when it has changed, twice when it was asked for. */
static void scheme_set(GVariant *value)
{
	GVariant *inner = g_variant_ref(value);

	while (g_variant_is_of_type(inner, G_VARIANT_TYPE_VARIANT)) {
		GVariant *next = g_variant_get_variant(inner);

		g_variant_unref(inner);
		inner = next;
	}
	GtkSettings *settings = gtk_settings_get_default();

	if (g_variant_is_of_type(inner, G_VARIANT_TYPE_UINT32)) {
		if (g_variant_get_uint32(inner) == PREFER_DARK)
			g_object_set(settings, "gtk-application-prefer-dark-theme", TRUE, NULL);
		else
			gtk_settings_reset_property(settings, "gtk-application-prefer-dark-theme");
	}
	g_variant_unref(inner);
}

static void on_changed(GDBusConnection *bus, const char *sender, const char *path,
		       const char *interface, const char *signal, GVariant *parameters, void *arg)
{
	const char *space, *key;
	GVariant *value;

	if (!g_variant_is_of_type(parameters, G_VARIANT_TYPE("(ssv)")))
		return;
	g_variant_get(parameters, "(&s&s@v)", &space, &key, &value);
	if (!g_strcmp0(key, SCHEME))
		scheme_set(value);
	g_variant_unref(value);
}

void agent_scheme_follow(void)
{
	GDBusConnection *bus = agent_session_bus(); /* until the program ends */

	if (!bus)
		return;
	g_dbus_connection_signal_subscribe(bus, PORTAL, SETTINGS, "SettingChanged", PORTAL_PATH,
					   APPEARANCE, G_DBUS_SIGNAL_FLAGS_NONE, on_changed, NULL,
					   NULL);
	GVariant *answer =
		g_dbus_connection_call_sync(bus, PORTAL, PORTAL_PATH, SETTINGS, "Read",
					    g_variant_new("(ss)", APPEARANCE, SCHEME),
					    G_VARIANT_TYPE("(v)"), G_DBUS_CALL_FLAGS_NO_AUTO_START,
					    READ_MS, NULL, NULL);

	if (!answer)
		return;
	GVariant *value = g_variant_get_child_value(answer, 0);

	scheme_set(value);
	g_variant_unref(value);
	g_variant_unref(answer);
}
