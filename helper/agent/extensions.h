/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the person's session is: its desktop, and the extensions of the compositor that are switched
 * on. Nobody but he may read these settings, so his agent tells them to his recorder.
 */
#ifndef TIPME_AGENT_EXTENSIONS_H
#define TIPME_AGENT_EXTENSIONS_H

/*
 * Lines "KEY NAME", as helper/daemon/snapshot/desktop.h takes them; the caller frees them. An
 * extension has its name here where a package or a public site has brought it; those of a person's
 * own are counted.
 */
char *agent_session_text(void);

#endif
