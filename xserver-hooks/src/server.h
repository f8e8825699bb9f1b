/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The X server's own interface, as far as we use it. All of it is weak: the object is preloaded
 * into programs that are no server.
 */
#ifndef TIPME_SERVER_H
#define TIPME_SERVER_H

/* The server's headers do not compile without warnings, and those are not ours to mend. */
#pragma GCC system_header

#include <xorg-server.h>

#include <X11/X.h>
#include <X11/Xproto.h>
#include <X11/extensions/XI.h>
#include <X11/extensions/XIproto.h>
#include <X11/extensions/XI2proto.h>
#include <X11/extensions/XKB.h>
#include <X11/extensions/XKBproto.h>

#include <misc.h>
#include <os.h>
#include <dix.h>
#include <dixstruct.h>
#include <extension.h>
#include <extnsionst.h>
#include <callback.h>
#include <client.h>
#include <inputstr.h>
#include <scrnintstr.h>
#include <windowstr.h>
#include <pixmapstr.h>
#include <privates.h>
#include <registry.h>
#include <resource.h>
#include <damage.h>
#include <mi.h>
#include <xace.h>
#include <xkbsrv.h>
#include <xf86Module.h>
#include <xf86Opt.h>

extern const char *display;

/* Servers with our patch have these two; xserver-hooks/patches/ says what they mean. */
extern CallbackListPtr RequestArrivalCallback, FlushDoneCallback;

struct tipme_arrival_info {
	ClientPtr client;
	unsigned long bytes;
};

struct tipme_flush_done_info {
	ClientPtr client;
	unsigned long bytes_left;
};

/* Every name of the server that we use; a test looks for one that was forgotten. */
#pragma weak AddCallback
#pragma weak CheckExtension
#pragma weak ClientStateCallback
#pragma weak DamageCreate
#pragma weak DamageDestroy
#pragma weak DamageEmpty
#pragma weak DamageRegion
#pragma weak DamageRegister
#pragma weak DamageSetup
#pragma weak DamageUnregister
#pragma weak DeviceEventCallback
#pragma weak EventCallback
#pragma weak FlushCallback
#pragma weak FlushDoneCallback
#pragma weak LoadExtensionList
#pragma weak LookupResourceName
#pragma weak LoaderGetABIVersion
#pragma weak LogMessage
#pragma weak LogMessageVerb
#pragma weak ProcVector
#pragma weak ReplyCallback
#pragma weak RequestArrivalCallback
#pragma weak ResourceClientBits
#pragma weak RegisterBlockAndWakeupHandlers
#pragma weak ServerGrabCallback
#pragma weak SwappedProcVector
#pragma weak XaceGetConnectionNumber
#pragma weak clients
#pragma weak currentMaxClients
#pragma weak dixRegisterPrivateKey
#pragma weak dixLookupResourceByType
#pragma weak display
#pragma weak inputInfo
#pragma weak lastResourceType
#pragma weak mieqSetHandler
#pragma weak screenInfo
#pragma weak serverClient
#pragma weak xf86FindOptionValue

#endif
