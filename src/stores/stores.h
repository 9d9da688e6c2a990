/* SPDX-License-Identifier: Apache-2.0 */
/* stores.h - which kinds of stores there are: one kind = one row; a store by its URL. */
#ifndef TH_STORES_STORES_H
#define TH_STORES_STORES_H

#include "store/store.h"

extern const struct th_store_kind *const th_store_kinds[]; /* NULL-terminated */

/* url: "sqlite:PATH", "postgres://…", "memory:".  TH_EUSAGE names the known schemes. */
TH_NODISCARD enum th_code th_store_open(struct th_str url, const struct th_store_options *options,
					struct th_store **ret, struct th_err *err);

/* The URL without what is secret, for messages. */
void th_store_show(struct th_str url, struct th_buf *out);
/* Does it have a password in it? */
bool th_store_has_secret(struct th_str url);

/*
 * What this machine calls the store, appended: the same however the url spells it (another folder,
 * a link), and also before it is there.  One of this process alone has a name that no other process
 * has.  Its sessions' executors are found by it.
 */
TH_NODISCARD enum th_code th_store_scope(struct th_str url, struct th_buf *out, struct th_err *err);

#endif
