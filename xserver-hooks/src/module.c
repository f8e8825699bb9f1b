// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two ways in: Xorg loads the object as a module; Xvfb and Xephyr, which load none, take it by
 * preload.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "hooks.h"

#define EXPORT __attribute__((visibility("default")))

static const struct {
	const char *xorg, *env;
} chord_options[TIPME_HOTKEY_ACTIONS] = {
	[TIPME_CHORD_ACTION_SNAPSHOT] = { "Chord", "TIPME_X_CHORD" },
	[TIPME_CHORD_ACTION_START] = { "ChordStart", "TIPME_X_CHORD_START" },
	[TIPME_CHORD_ACTION_NO_INPUT] = { "ChordNoInput", "TIPME_X_CHORD_NO_INPUT" },
	[TIPME_CHORD_ACTION_DEFAULT_INPUT] = { "ChordDefaultInput", "TIPME_X_CHORD_DEFAULT_INPUT" },
};

static unsigned long number(const char *text)
{
	return text ? strtoul(text, NULL, 10) : 0;
}

static void *setup(void *module, void *opts, int *err_major, int *err_minor)
{
	static bool done;
	struct tipme_hooks_options opt;

	if (done) {
		if (err_major)
			*err_major = LDR_ONCEONLY;
		return NULL;
	}
	done = true;
	memset(&opt, 0, sizeof(opt));
	opt.run_dir = xf86FindOptionValue(opts, "RunDir");
	for (int i = 0; i < TIPME_HOTKEY_ACTIONS; i++)
		if (chord_options[i].xorg)
			opt.chord[i] = xf86FindOptionValue(opts, chord_options[i].xorg);
	opt.swallow = xf86FindOptionValue(opts, "Swallow");
	opt.dump_dir = xf86FindOptionValue(opts, "DumpDir");
	opt.ring_kib = number(xf86FindOptionValue(opts, "RingKB"));
	tipme_hooks_register(&opt);
	return module;
}

static XF86ModuleVersionInfo version = {
	.modname = "tipme",
	.vendor = "tipme",
	._modinfo1_ = MODINFOSTRING1,
	._modinfo2_ = MODINFOSTRING2,
	.xf86version = XORG_VERSION_CURRENT,
	.minorversion = 1,
	.abiclass = ABI_CLASS_EXTENSION,
	.abiversion = ABI_EXTENSION_VERSION,
	.moduleclass = MOD_CLASS_NONE,
};

/* The loader looks for the name of the module followed by ModuleData. */
extern XF86ModuleData tipmeModuleData;
EXPORT XF86ModuleData tipmeModuleData = { &version, setup, NULL };

/*
 * Programs that the server starts, xkbcomp for one, inherit its environment: there nothing must
 * happen.
 */
__attribute__((constructor)) static void preload(void)
{
	struct tipme_hooks_options opt;

	if (!getenv("TIPME_X_PRELOAD") || !LoadExtensionList)
		return;
	memset(&opt, 0, sizeof(opt));
	opt.run_dir = getenv("TIPME_RUNDIR");
	for (int i = 0; i < TIPME_HOTKEY_ACTIONS; i++)
		if (chord_options[i].env)
			opt.chord[i] = getenv(chord_options[i].env);
	opt.swallow = getenv("TIPME_X_SWALLOW");
	opt.dump_dir = getenv("TIPME_X_DUMP_DIR");
	opt.ring_kib = number(getenv("TIPME_X_RING_KB"));
	tipme_hooks_register(&opt);
	unsetenv("TIPME_X_PRELOAD");
	unsetenv("LD_PRELOAD");
}
