// SPDX-License-Identifier: GPL-2.0-only
/* Where bundles are unpacked. */
#include "config.h"

#include "unpack.h"

#include <errno.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "language.h"

char *tipme_unpack_folder(const char *file, char **why)
{
	GStatBuf facts;

	*why = NULL;
	if (!g_file_test(file, G_FILE_TEST_IS_REGULAR) || g_stat(file, &facts))
		return NULL;
	g_autofree char *path = g_canonicalize_filename(file, NULL);
	g_autofree char *key = g_strdup_printf("%s\n%" G_GINT64_FORMAT "\n%" G_GINT64_FORMAT, path,
					       (gint64)facts.st_size, (gint64)facts.st_mtime);
	g_autofree char *name = g_compute_checksum_for_string(G_CHECKSUM_SHA256, key, -1);
	g_autofree char *parent = g_build_filename(g_get_user_cache_dir(), "tipme", "opened", NULL);

	if (g_mkdir_with_parents(parent, 0700) || g_access(parent, W_OK | X_OK)) {
		*why = g_strdup_printf(
			_("cannot write %s: %s: make it yours, or name another folder in XDG_CACHE_HOME"),
			parent, g_strerror(errno));
		return NULL;
	}
	return g_build_filename(parent, name, NULL);
}
