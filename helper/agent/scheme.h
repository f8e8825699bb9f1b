/* SPDX-License-Identifier: GPL-2.0-only */
/* Light or dark, as the desktop is. */
#ifndef TIPME_AGENT_SCHEME_H
#define TIPME_AGENT_SCHEME_H

/*
 * From now on windows are dark where the desktop tells all programs to be dark. Theme, fonts and
 * scale come to the toolkit by themselves; this one comes by the desktop's portal. Before the first
 * window.
 */
void agent_scheme_follow(void);

#endif
