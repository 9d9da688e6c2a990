/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listing.h - items as the lists of the Responses API have them: each with an
 * id, a page at a time.
 */
#ifndef TH_SERVER_LISTING_H
#define TH_SERVER_LISTING_H

#include "server/access.h"

#define TH_LISTING_ID_MAX 80

struct th_listing {
	struct th_buf text; /* items as JSON, a NUL behind each */
	size_t *at;
	size_t count;
};

#define TH_LISTING_INIT                                \
	{                                              \
		.text = TH_BUF_INIT(TH_HTTP_REPLY_MAX) \
	}
void th_listing_deinit(struct th_listing *l);

/* Adds one, with its own id, or PREFIX_<its place> where it has none, or `renamed`. */
void th_listing_add(struct th_listing *l, const struct th_json *item, const char *prefix,
		    bool renamed);
/* With this id. */
void th_listing_add_as(struct th_listing *l, const struct th_json *item, const char *id);
struct th_str th_listing_get(const struct th_listing *l, size_t i);
/* Its place by its id; `count`: there is none. */
size_t th_listing_find(const struct th_listing *l, struct th_str id);

/* Items `from` up to `to` as {"object":"list",…}. */
void th_listing_print(const struct th_listing *l, size_t from, size_t to, struct th_jw *w);
/* The page that the query asks for: limit, order, after. */
void th_listing_answer(const struct th_listing *l, struct th_access *a);

#endif
