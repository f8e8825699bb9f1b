// SPDX-License-Identifier: GPL-2.0-only
/* Two ways in: Xorg loads the object as a module; Xvfb and Xephyr, which load none, take it by preload. */
#include "config.h"

#include <stdlib.h>

#include "hooks.h"

#define EXPORT __attribute__((visibility("default")))

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
	opt.run_dir = xf86FindOptionValue(opts, "RunDir");
	opt.chord = xf86FindOptionValue(opts, "Chord");
	opt.ring_kib = number(xf86FindOptionValue(opts, "RingKB"));
	tipme_hooks_register(&opt);
	return module;
}

static XF86ModuleVersionInfo version = {
	.modname = "tipme", .vendor = "tipme", ._modinfo1_ = MODINFOSTRING1, ._modinfo2_ = MODINFOSTRING2,
	.xf86version = XORG_VERSION_CURRENT, .minorversion = 1, .abiclass = ABI_CLASS_EXTENSION,
	.abiversion = ABI_EXTENSION_VERSION, .moduleclass = MOD_CLASS_NONE,
};

/* The loader looks for the name of the module followed by ModuleData. */
extern XF86ModuleData tipmeModuleData;
EXPORT XF86ModuleData tipmeModuleData = { &version, setup, NULL };

/* Programs that the server starts, xkbcomp for one, inherit its environment: there nothing must happen. */
__attribute__((constructor)) static void preload(void)
{
	struct tipme_hooks_options opt;

	if (!getenv("TIPME_X_PRELOAD") || !LoadExtensionList)
		return;
	opt.run_dir = getenv("TIPME_RUNDIR");
	opt.chord = getenv("TIPME_X_CHORD");
	opt.ring_kib = number(getenv("TIPME_X_RING_KB"));
	tipme_hooks_register(&opt);
	unsetenv("TIPME_X_PRELOAD");
	unsetenv("LD_PRELOAD");
}
