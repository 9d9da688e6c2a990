/* SPDX-License-Identifier: Apache-2.0 */
/* kind.h - all that others see of this store: postgres://..., a database that many machines use. */
#ifndef TH_POSTGRES_KIND_H
#define TH_POSTGRES_KIND_H

#include "store/store.h"

extern const struct th_store_kind th_store_postgres;

#endif
