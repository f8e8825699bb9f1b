/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a port stands for, as far as that is the same everywhere: ports that users choose are
 * "other".
 */
#ifndef TIPME_KERNEL_SERVICES_H
#define TIPME_KERNEL_SERVICES_H

#include "tipme_records.h"

#define TIPME_PORT_OWN_CHOICE 32768 /* Linux gives those from here on to who asks for none */

/* enum tipme_net_service of the port that a service listens at */
static inline __attribute__((always_inline)) __u8 tipme_service_of_port(__u16 port)
{
	switch (port) {
	case 53:
	case 853: /* over TLS */ return TIPME_NET_SERVICE_DNS;
	case 5353:
	case 5355: return TIPME_NET_SERVICE_LOCAL_NAMES;
	case 80:
	case 443:
	case 3128: /* proxy */
	case 8080:
	case 8443: return TIPME_NET_SERVICE_WEB;
	case 25:
	case 110:
	case 143:
	case 465:
	case 587:
	case 993:
	case 995:
	case 4190: return TIPME_NET_SERVICE_MAIL;
	case 111: /* where NFS listens is asked here */
	case 139:
	case 445:
	case 548:
	case 873:
	case 2049:
	case 3260:
	case 20048: return TIPME_NET_SERVICE_FILES;
	case 88:
	case 389:
	case 464:
	case 636:
	case 749:
	case 3268:
	case 3269: return TIPME_NET_SERVICE_DIRECTORY;
	case 515:
	case 631:
	case 9100: return TIPME_NET_SERVICE_PRINT;
	case 22: return TIPME_NET_SERVICE_SSH;
	case 3389: return TIPME_NET_SERVICE_DESKTOP;
	case 1433:
	case 1521:
	case 3306:
	case 5432:
	case 6379:
	case 27017: return TIPME_NET_SERVICE_DATABASE;
	}
	if (port >= 5900 && port < 5964)
		return TIPME_NET_SERVICE_DESKTOP;
	return port >= 6000 && port < 6064 ? TIPME_NET_SERVICE_X11 : TIPME_NET_SERVICE_OTHER;
}

/*
 * Whether who has the port `own` rather serves than asks: its own end is the one that is known, or
 * that was not given to it; 0: it has none yet.
 */
static inline __attribute__((always_inline)) int tipme_service_is_own(__u16 own, __u16 other)
{
	if (tipme_service_of_port(other) != TIPME_NET_SERVICE_OTHER)
		return 0;
	return tipme_service_of_port(own) != TIPME_NET_SERVICE_OTHER ||
	       (own && own < TIPME_PORT_OWN_CHOICE && other >= TIPME_PORT_OWN_CHOICE);
}

#endif
