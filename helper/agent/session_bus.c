// SPDX-License-Identifier: GPL-2.0-only
/* The bus of the user's session, where there is one. */
#include "config.h"

#include <stdbool.h>

#include "session_bus.h"

GDBusConnection *agent_session_bus(void)
{
	const char *address = g_getenv("DBUS_SESSION_BUS_ADDRESS"),
		   *runtime = g_getenv("XDG_RUNTIME_DIR");
	char *path = runtime ? g_build_filename(runtime, "bus", NULL) : NULL;
	bool there = (address && *address) || (path && g_file_test(path, G_FILE_TEST_EXISTS));

	g_free(path);
	if (!there)
		return NULL;
	GDBusConnection *bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, NULL);

	if (bus)
		g_dbus_connection_set_exit_on_close(bus, FALSE);
	return bus;
}
