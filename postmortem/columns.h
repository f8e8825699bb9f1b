/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of tipme-columns share. */
#ifndef TIPME_COLUMNS_H
#define TIPME_COLUMNS_H

#include "episode/private.h"

#endif
