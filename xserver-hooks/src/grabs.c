// SPDX-License-Identifier: GPL-2.0-only
/* Who grabs a pointer, a keyboard or the whole server, and for how long. */
#include "config.h"

#include <string.h>

#include "hooks.h"

struct grab_hook {
	void (*activate)(DeviceIntPtr, GrabPtr, TimeStamp, Bool);
	void (*deactivate)(DeviceIntPtr);
	DeviceIntPtr dev;
	uint8_t what;
	XID resource; /* of the grab that is recorded as begun; 0: none */
};

/* By the number of the device. */
static struct grab_hook hooks[256];

static void grab_record(const struct grab_hook *hook, bool begin)
{
	int index = CLIENT_ID(hook->resource);
	ClientPtr client = index < currentMaxClients ? clients[index] : NULL;
	struct tipme_x_grab rec = {
		.ts_ns = tipme_hooks_now_ns(),
		.type = TIPME_X_GRAB,
		.pid = tipme_client_pid(client),
		.client = (uint16_t)index,
		.what = hook->what,
		.begin = begin,
	};

	tipme_hooks_record(&rec);
}

/* A button that is held makes an implicit grab; nobody asked for that one. */
static void grab_begun(struct grab_hook *hook)
{
	GrabPtr grab = hook->dev->deviceGrab.grab;

	if (!tipme_hooks.active || !grab || hook->dev->deviceGrab.implicitGrab ||
	    hook->resource == grab->resource)
		return;
	hook->resource = grab->resource;
	grab_record(hook, true);
}

static void on_grab(DeviceIntPtr dev, GrabPtr grab, TimeStamp time, Bool passive)
{
	struct grab_hook *hook = &hooks[dev->id & 255];

	hook->activate(dev, grab, time, passive);
	grab_begun(hook);
}

static void on_ungrab(DeviceIntPtr dev)
{
	struct grab_hook *hook = &hooks[dev->id & 255];

	hook->deactivate(dev);
	if (tipme_hooks.active && hook->resource)
		grab_record(hook, false);
	hook->resource = 0;
}

TIPME_HOT_INPUT void tipme_grabs_hook(DeviceIntPtr dev)
{
	struct grab_hook *hook;

	if (dev->id < 0 || dev->id > 255 || !dev->deviceGrab.ActivateGrab ||
	    dev->deviceGrab.ActivateGrab == on_grab)
		return;
	hook = &hooks[dev->id];
	*hook = (struct grab_hook){
		.activate = dev->deviceGrab.ActivateGrab,
		.deactivate = dev->deviceGrab.DeactivateGrab,
		.dev = dev,
		.what = dev->key && !dev->valuator ? TIPME_X_GRAB_WHAT_KEYBOARD
						   : TIPME_X_GRAB_WHAT_POINTER,
	};
	dev->deviceGrab.ActivateGrab = on_grab;
	dev->deviceGrab.DeactivateGrab = on_ungrab;
}

void tipme_grabs_init(void)
{
	memset(hooks, 0, sizeof(hooks));
	for (DeviceIntPtr dev = inputInfo.devices; dev; dev = dev->next)
		tipme_grabs_hook(dev);
	for (DeviceIntPtr dev = inputInfo.off_devices; dev; dev = dev->next)
		tipme_grabs_hook(dev);
}

void tipme_grabs_on_server(CallbackListPtr *list, void *data, void *call)
{
	const ServerGrabInfoRec *info = call;
	struct tipme_x_ring_header *h = tipme_hooks.ring.header;
	bool begin = info->grabstate == SERVER_GRABBED;
	struct tipme_x_grab rec = { .type = TIPME_X_GRAB,
				    .what = TIPME_X_GRAB_WHAT_SERVER,
				    .begin = begin };

	if (!tipme_hooks.active || (!begin && info->grabstate != SERVER_UNGRABBED))
		return;
	rec.ts_ns = tipme_hooks_now_ns();
	rec.pid = tipme_client_pid(info->client);
	rec.client = (uint16_t)(info->client ? info->client->index : 0);
	h->grab_start_ns = begin ? rec.ts_ns : 0;
	h->grab_pid = begin ? rec.pid : 0;
	tipme_hooks_record(&rec);
}
