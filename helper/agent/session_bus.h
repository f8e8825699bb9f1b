/* SPDX-License-Identifier: GPL-2.0-only */
/* The bus of the user's session. */
#ifndef TIPME_AGENT_SESSION_BUS_H
#define TIPME_AGENT_SESSION_BUS_H

#include <gio/gio.h>

/*
 * Only where there is one already: none is to be started for us; else NULL. To be given back by
 * g_object_unref().
 */
GDBusConnection *agent_session_bus(void);

#endif
