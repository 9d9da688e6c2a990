/* SPDX-License-Identifier: Apache-2.0 */
/* conversation_items.c - /v1/conversations/{id}/items: what was said, and what is put there. */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/conversation.h"

/* False: it was answered. */
static bool list_items(struct th_access *a, const struct th_conversation *p, struct th_hub *h,
		       struct th_listing *list)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct thole_error err;
	struct th_json_iter it;
	char prefix[TH_LISTING_ID_MAX], *items = NULL;

	if (thole_session_items(h->session, 0, 0, &items, &err) != 0) {
		th_access_error(a, &err);
		return false;
	}
	snprintf(prefix, sizeof(prefix), "item_%s", p->name + strlen(TH_CONVERSATION_PREFIX));
	if (th_json_parse(th_str_of(items), &doc, NULL) == TH_OK) {
		it = th_json_iter(th_json_root(doc));
		while (th_json_next(&it))
			if (!th_conversation_note(it.val))
				th_listing_add(list, it.val, prefix, true);
	}
	thole_free(items);
	return true;
}

void th_v1_conversation_items(struct th_access *a)
{
	struct th_listing list TH_CLEANUP(th_listing_deinit) = TH_LISTING_INIT;
	struct th_conversation p;
	struct th_hub *h;

	if (!th_conversation_mine(a, &p))
		return;
	h = th_conversation_open(a, &p, false);
	if (h && list_items(a, &p, h, &list))
		th_listing_answer(&list, a);
}

void th_v1_conversation_item(struct th_access *a)
{
	struct th_listing list TH_CLEANUP(th_listing_deinit) = TH_LISTING_INIT;
	struct th_conversation p;
	struct th_hub *h;
	size_t at;

	if (!th_conversation_mine(a, &p))
		return;
	h = th_conversation_open(a, &p, false);
	if (!h || !list_items(a, &p, h, &list))
		return;
	at = th_listing_find(&list, th_str_of(a->args[1]));
	if (at < list.count)
		th_access_text(a, 200, "application/json", th_listing_get(&list, at));
	else
		th_access_fail(a, 404, "item_not_found", "the conversation has no such item");
}

static void answer_added(struct th_access *a, const struct th_conversation_wait *w)
{
	struct th_listing list TH_CLEANUP(th_listing_deinit) = TH_LISTING_INIT;
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw out = th_jw(&json);
	struct th_conversation p;
	struct th_hub *h;

	if (!th_conversation_mine(a, &p))
		return;
	h = th_conversation_open(a, &p, false);
	if (!h || !list_items(a, &p, h, &list))
		return;
	th_listing_print(&list, list.count - TH_MIN(w->count, list.count), list.count, &out);
	th_access_json(a, 200, &json);
}

void th_v1_conversation_items_add(struct th_access *a)
{
	struct th_buf items TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_conversation_wait how = { .answer = answer_added, .kind = "items_added" };
	struct thole_error err;
	struct th_conversation p;
	struct th_hub *h;

	if (!th_conversation_mine(a, &p))
		return;
	doc = th_access_body(a);
	if (!doc)
		return;
	how.count = th_json_count(th_json_get(th_json_root(doc), "items"));
	if (!th_conversation_given(a, th_json_root(doc), &items))
		return;
	if (!how.count) {
		th_access_fault(a, 400, "missing_required_parameter", "items", "items is missing");
		return;
	}
	h = th_conversation_open(a, &p, true);
	if (!h)
		return;
	if (thole_session_items_add(h->session, items.ptr, false, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	h->rested_ms = th_loop_now_ms(a->server->loop) ?: 1;
	th_conversation_answer_after(a, h, &how);
}

/* The history of its newest session without one item; the log keeps it. */
void th_v1_conversation_item_delete(struct th_access *a)
{
	struct th_buf rest TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_listing list TH_CLEANUP(th_listing_deinit) = TH_LISTING_INIT;
	struct th_conversation_wait how = { .answer = th_conversation_answer_waited,
					    .kind = "items_removed" };
	struct th_jw w = th_jw(&rest);
	struct thole_error err;
	struct th_json_iter it;
	struct th_conversation p;
	struct th_hub *h;
	char *items = NULL;
	size_t at, i = 0;
	int code;

	if (!th_conversation_mine(a, &p))
		return;
	h = th_conversation_open(a, &p, true);
	if (!h || !list_items(a, &p, h, &list))
		return;
	at = th_listing_find(&list, th_str_of(a->args[1]));
	if (at == list.count) {
		th_access_fail(a, 404, "item_not_found", "the conversation has no such item");
		return;
	}
	code = thole_session_items(h->session, 0, 0, &items, &err);
	if (!code && th_json_parse(th_str_of(items), &doc, NULL) == TH_OK) {
		it = th_json_iter(th_json_root(doc));
		th_jw_array(&w);
		while (th_json_next(&it))
			if (th_conversation_note(it.val) || i++ != at)
				th_jw_json(&w, it.val);
		th_jw_array_end(&w);
	}
	thole_free(items);
	if (!code && rest.len > TH_MESSAGE_MAX) {
		th_access_fail(a, 413, "limit", "what would be left is too long to be put again");
		return;
	}
	if (!code)
		code = thole_session_items_clear(h->session, &err);
	if (!code && rest.len > 2)
		code = thole_session_items_add(h->session, rest.ptr, false, &err);
	if (code) {
		th_access_error(a, &err);
		return;
	}
	h->rested_ms = th_loop_now_ms(a->server->loop) ?: 1;
	how.kind = rest.len > 2 ? "items_added" : "items_removed";
	snprintf(how.name, sizeof(how.name), "%s", p.name);
	th_conversation_answer_after(a, h, &how);
}
