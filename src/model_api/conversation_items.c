/* SPDX-License-Identifier: Apache-2.0 */
/* conversation_items.c - /v1/conversations/{id}/items: what was said, and what is put there. */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/conversation.h"

/* Its items, as a list; NULL: it was answered, or the handler is called again. */
static struct th_json_doc *read_items(struct th_access *a, const struct th_conversation *p)
{
	const struct th_found *items = th_need_items(&a->needs, p->head, 0, 0, 0);
	struct th_json_doc *doc = NULL;

	if (items && items->err)
		th_access_error(a, items->err);
	else if (items && th_json_parse(items->text, &doc, NULL) != TH_OK)
		th_access_fail(a, 500, NULL, "the items are no JSON");
	return doc;
}

static void list_items(const struct th_conversation *p, const struct th_json *items,
		       struct th_listing *list)
{
	struct th_json_iter it = th_json_iter(items);
	char prefix[TH_LISTING_ID_MAX];

	snprintf(prefix, sizeof(prefix), "item_%s", p->name + strlen(TH_CONVERSATION_PREFIX));
	while (th_json_next(&it))
		if (!th_conversation_note(it.val))
			th_listing_add(list, it.val, prefix, true);
}

/* Of the conversation of the first argument.  False: as NULL. */
static bool list_all(struct th_access *a, struct th_listing *list)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_conversation p;

	if (!th_conversation_mine(a, &p))
		return false;
	doc = read_items(a, &p);
	if (doc)
		list_items(&p, th_json_root(doc), list);
	return doc != NULL;
}

void th_v1_conversation_items(struct th_access *a)
{
	struct th_listing list TH_CLEANUP(th_listing_deinit) = TH_LISTING_INIT;

	if (list_all(a, &list))
		th_listing_answer(&list, a);
}

void th_v1_conversation_item(struct th_access *a)
{
	struct th_listing list TH_CLEANUP(th_listing_deinit) = TH_LISTING_INIT;
	size_t at;

	if (!list_all(a, &list))
		return;
	at = th_listing_find(&list, th_str_of(a->args[1]));
	if (at < list.count)
		th_access_text(a, 200, "application/json", th_listing_get(&list, at));
	else
		th_access_fail(a, 404, "item_not_found", "the conversation has no such item");
}

static void answer_newest(struct th_access *a)
{
	struct th_listing list TH_CLEANUP(th_listing_deinit) = TH_LISTING_INIT;
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw out = th_jw(&json);

	if (!list_all(a, &list))
		return;
	th_listing_print(&list, list.count - TH_MIN((size_t)a->status, list.count), list.count,
			 &out);
	th_access_json(a, 200, &json);
}

static void answer_added(struct th_access *a, const struct th_conversation_wait *w)
{
	a->status = (int)w->count;
	th_needs_forget(&a->needs);
	a->again = answer_newest;
	answer_newest(a);
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
	h = th_conversation_open(a, &p);
	if (!h)
		return;
	if (thole_session_items_add(h->session, items.ptr, false, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	h->rested_ms = th_loop_now_ms(a->server->loop) ?: 1;
	th_conversation_answer_after(a, h, &how);
}

/* All items but one, those that only say something of the conversation among them. */
static void put_rest(const struct th_json *items, size_t without, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(items);
	struct th_jw w = th_jw(out);
	size_t i = 0;

	th_jw_array(&w);
	while (th_json_next(&it))
		if (th_conversation_note(it.val) || i++ != without)
			th_jw_json(&w, it.val);
	th_jw_array_end(&w);
}

/* The history of its newest session without one item; the log keeps it. */
void th_v1_conversation_item_delete(struct th_access *a)
{
	struct th_buf rest TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_listing list TH_CLEANUP(th_listing_deinit) = TH_LISTING_INIT;
	struct th_conversation_wait how = { .answer = th_conversation_answer_waited };
	struct thole_error err;
	struct th_conversation p;
	struct th_hub *h;
	size_t at;
	int code;

	if (!th_conversation_mine(a, &p))
		return;
	h = th_conversation_open(a, &p);
	doc = h ? read_items(a, &p) : NULL;
	if (!doc)
		return;
	list_items(&p, th_json_root(doc), &list);
	at = th_listing_find(&list, th_str_of(a->args[1]));
	if (at == list.count) {
		th_access_fail(a, 404, "item_not_found", "the conversation has no such item");
		return;
	}
	put_rest(th_json_root(doc), at, &rest);
	if (rest.len > TH_MESSAGE_MAX) {
		th_access_fail(a, 413, "limit", "what would be left is too long to be put again");
		return;
	}
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
