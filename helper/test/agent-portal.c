// SPDX-License-Identifier: GPL-2.0-only
/*
 * A desktop's portal, as far as tests need it: tells whether programs are to be dark (1) or not
 * (0), by the argument; the other one at SIGUSR1.
 */
#include "config.h"

#include <gio/gio.h>
#include <glib-unix.h>
#include <stdlib.h>

#define PATH "/org/freedesktop/portal/desktop"
#define INTERFACE "org.freedesktop.portal.Settings"
#define APPEARANCE "org.freedesktop.appearance"
#define SCHEME "color-scheme"

static const char xml[] =
	"<node><interface name='" INTERFACE "'>"
	"<method name='Read'><arg type='s' direction='in'/><arg type='s' direction='in'/>"
	"<arg type='v' direction='out'/></method>"
	"<signal name='SettingChanged'><arg type='s'/><arg type='s'/><arg type='v'/></signal>"
	"</interface></node>";

static guint32 scheme;

static void on_call(GDBusConnection *bus, const char *sender, const char *path,
		    const char *interface, const char *method, GVariant *parameters,
		    GDBusMethodInvocation *call, void *arg)
{
	const char *space, *key;

	g_variant_get(parameters, "(&s&s)", &space, &key);
	if (g_strcmp0(space, APPEARANCE) || g_strcmp0(key, SCHEME))
		g_dbus_method_invocation_return_dbus_error(
			call, "org.freedesktop.portal.Error.NotFound", "no such setting");
	else
		g_dbus_method_invocation_return_value(
			call,
			g_variant_new("(v)", g_variant_new_variant(g_variant_new_uint32(scheme))));
}

static gboolean on_other(gpointer bus)
{
	scheme = !scheme;
	g_dbus_connection_emit_signal(
		bus, NULL, PATH, INTERFACE, "SettingChanged",
		g_variant_new("(ssv)", APPEARANCE, SCHEME, g_variant_new_uint32(scheme)), NULL);
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	static const GDBusInterfaceVTable calls = { on_call, NULL, NULL, { NULL } };
	GDBusConnection *bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, NULL);
	GDBusNodeInfo *node = g_dbus_node_info_new_for_xml(xml, NULL);

	scheme = argc > 1 ? (guint32)atoi(argv[1]) : 0;
	if (!bus || !node ||
	    !g_dbus_connection_register_object(bus, PATH, node->interfaces[0], &calls, NULL, NULL,
					       NULL))
		return 1;
	g_unix_signal_add(SIGUSR1, on_other, bus);
	g_bus_own_name_on_connection(bus, "org.freedesktop.portal.Desktop",
				     G_BUS_NAME_OWNER_FLAGS_NONE, NULL, NULL, NULL, NULL);
	g_main_loop_run(g_main_loop_new(NULL, FALSE));
	return 0;
}
