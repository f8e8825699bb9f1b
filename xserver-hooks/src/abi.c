// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether this server is laid out as the headers say that these hooks were built with. Xorg's
 * loader compares numbers; a preloaded server has none to compare, so what must hold of any server
 * is looked at, before anything is changed.
 */
#include "config.h"

#include <stdint.h>

#include "hooks.h"

static bool is_pointer(const void *p)
{
	return (uintptr_t)p > 4096 && !((uintptr_t)p & 7);
}

static const char *clients_misfit(void)
{
	if (!is_pointer(serverClient) || clients[0] != serverClient || serverClient->index != 0 ||
	    serverClient->clientState > ClientStateGone || currentMaxClients < 1 ||
	    currentMaxClients > MAXCLIENTS)
		return "this server's clients are laid out in another way";
	return NULL;
}

static const char *screens_misfit(void)
{
	if (screenInfo.numScreens < 1 || screenInfo.numScreens > MAXSCREENS)
		return "this server's screens are laid out in another way";
	for (int i = 0; i < screenInfo.numScreens; i++) {
		ScreenPtr screen = screenInfo.screens[i];

		if (!is_pointer(screen) || screen->myNum != i || !screen->CloseScreen ||
		    !screen->SetWindowPixmap || !screen->PaintWindow || !screen->CopyWindow)
			return "this server's screens are laid out in another way";
		if (!is_pointer(screen->root) || screen->root->drawable.pScreen != screen ||
		    screen->root->parent || screen->root->drawable.type != DRAWABLE_WINDOW ||
		    screen->root->drawable.width != screen->width)
			return "this server's windows are laid out in another way";
	}
	return NULL;
}

static const char *devices_misfit(void)
{
	const DeviceIntRec *keyboard = inputInfo.keyboard;

	if (!is_pointer(keyboard) || keyboard->id < 0 || keyboard->id > 255 ||
	    keyboard->type != MASTER_KEYBOARD || !keyboard->deviceGrab.ActivateGrab ||
	    !keyboard->deviceGrab.DeactivateGrab || !keyboard->public.processInputProc)
		return "this server's input devices are laid out in another way";
	if (keyboard->key &&
	    (!is_pointer(keyboard->key->xkbInfo) || !is_pointer(keyboard->key->xkbInfo->desc) ||
	     keyboard->key->xkbInfo->desc->min_key_code < 8 ||
	     keyboard->key->xkbInfo->desc->max_key_code <
		     keyboard->key->xkbInfo->desc->min_key_code))
		return "this server's keyboard maps are laid out in another way";
	return NULL;
}

/* Xorg only; the number that it gives its modules. */
static const char *number_misfit(void)
{
	int abi;

	if (!LoaderGetABIVersion)
		return NULL;
	abi = LoaderGetABIVersion(ABI_CLASS_EXTENSION);
	return GET_ABI_MAJOR(abi) == GET_ABI_MAJOR(ABI_EXTENSION_VERSION)
		       ? NULL
		       : "this server has another module interface";
}

const char *tipme_abi_misfit(void)
{
	const char *misfit = number_misfit();

	if (!misfit)
		misfit = clients_misfit();
	if (!misfit)
		misfit = screens_misfit();
	return misfit ? misfit : devices_misfit();
}
