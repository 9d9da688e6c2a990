/* SPDX-License-Identifier: Apache-2.0 */
/* response_asked.c - the items that a response was asked with. */
#include <stdio.h>

#include "model_api/response_internal.h"

static enum th_take takes_input(struct th_str line)
{
	struct th_str kind = th_json_raw_inside(th_json_raw_get(line, "kind"));

	if (th_str_is(kind, "model_requested"))
		return TH_TAKE_NO_MORE;
	return th_str_is(kind, "items_added") || th_str_is(kind, "message") ? TH_TAKE_YES
									    : TH_TAKE_NO;
}

static void list_input(struct th_str line, const char *prefix, struct th_listing *list)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *v, *data;
	struct th_json_iter it;

	if (th_json_parse(line, &doc, NULL) != TH_OK)
		return;
	v = th_json_root(doc);
	data = th_json_get(v, "data");
	if (th_str_is(th_json_get_str(v, "kind"), "message")) {
		th_listing_add(list, data, prefix, false);
		return;
	}
	it = th_json_iter(th_json_get(data, "items"));
	while (th_json_next(&it))
		th_listing_add(list, it.val, prefix, false);
}

/* They stand before the first request to the model, so what is read here is short. */
enum th_stored_result th_asked_list(struct th_needs *needs, const char *user,
				    const struct th_stored *d, struct th_listing *list,
				    struct thole_error *err)
{
	const struct th_found *log =
	    th_need_log(needs, d->session, user, d->after + 1, takes_input);
	char prefix[TH_LISTING_ID_MAX];
	struct th_str rest;

	if (!log)
		return TH_STORED_PENDING;
	if (log->err) {
		*err = *log->err;
		return TH_STORED_FAILED;
	}
	snprintf(prefix, sizeof(prefix), TH_ASKED_PREFIX "%s", d->reply.name);
	for (rest = log->text; rest.len;)
		list_input(th_str_split(&rest, '\n'), prefix, list);
	return TH_STORED_FOUND;
}

enum th_stored_result th_asked_item(struct th_needs *needs, const char *user,
				    const struct th_stored *d, size_t index, struct th_buf *out,
				    struct thole_error *err)
{
	struct th_listing list TH_CLEANUP(th_listing_deinit) = TH_LISTING_INIT;
	enum th_stored_result result = th_asked_list(needs, user, d, &list, err);

	if (result != TH_STORED_FOUND)
		return result;
	if (index >= list.count)
		return TH_STORED_FAILED;
	th_buf_add(out, th_listing_get(&list, index));
	return TH_STORED_FOUND;
}
