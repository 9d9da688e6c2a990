/* SPDX-License-Identifier: Apache-2.0 */
/* kind.h - all that others see of this store: sqlite:PATH, a file of this machine. */
#ifndef TH_SQLITE_KIND_H
#define TH_SQLITE_KIND_H

#include "store/store.h"

extern const struct th_store_kind th_store_sqlite;

#endif
