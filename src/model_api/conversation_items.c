/* SPDX-License-Identifier: Apache-2.0 */
/* conversation_items.c - /v1/conversations/{id}/items: what was said, and what is put there. */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/conversation.h"

/* What its items are, and are called.  False: it was answered, or the handler is called again. */
static bool read_items(struct th_access *a, const struct th_conversation *p,
		       struct th_conversation_items *ret)
{
	struct thole_error err;
	enum th_stored_result look = th_conversation_removed(&a->needs, a->user, p, ret, &err);

	if (look == TH_STORED_FOUND)
		look = th_conversation_items_read(&a->needs, p->head, 0, ret, &err);
	if (look == TH_STORED_FAILED)
		th_access_error(a, &err);
	return look == TH_STORED_FOUND;
}

static void name_item(const struct th_conversation *p, int64_t name, char ret[TH_LISTING_ID_MAX])
{
	snprintf(ret, TH_LISTING_ID_MAX, "item_%s_%lld", p->name + strlen(TH_CONVERSATION_PREFIX),
		 (long long)name);
}

static void list_items(const struct th_conversation *p, const struct th_conversation_items *items,
		       struct th_listing *list)
{
	struct th_json_iter it = th_conversation_iter(items);
	char id[TH_LISTING_ID_MAX];
	const struct th_json *item;
	int64_t name;

	while (th_conversation_next(items, &it, &item, &name)) {
		name_item(p, name, id);
		th_listing_add_as(list, item, id);
	}
}

/* Of the conversation of the first argument.  False: as above. */
static bool list_all(struct th_access *a, struct th_listing *list)
{
	struct th_conversation_items items = { 0 };
	struct th_conversation p;
	bool good = th_conversation_mine(a, &p) && read_items(a, &p, &items);

	if (good)
		list_items(&p, &items, list);
	th_conversation_items_deinit(&items);
	return good;
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
		th_conversation_refuse(a, &err);
		return;
	}
	h->rested_ms = th_loop_now_ms(a->server->loop) ?: 1;
	th_conversation_answer_after(a, h, &how);
}

/* The name of an item of the conversation by its id; -1: there is none. */
static int64_t find_item(const struct th_conversation *p, const struct th_conversation_items *items,
			 const char *wanted)
{
	struct th_json_iter it = th_conversation_iter(items);
	char id[TH_LISTING_ID_MAX];
	const struct th_json *item;
	int64_t name;

	while (th_conversation_next(items, &it, &item, &name)) {
		name_item(p, name, id);
		if (strcmp(id, wanted) == 0)
			return name;
	}
	return -1;
}

/* A note in the session that the conversation began as, of what goes with the item.  NULL: it was
 * answered. */
static bool put_note(struct th_access *a, const struct th_conversation *p,
		     const struct th_conversation_items *items, struct th_buf *out)
{
	int64_t name = find_item(p, items, a->args[1]);
	struct th_jw w = th_jw(out);
	size_t count;

	if (name < 0) {
		th_access_fail(a, 404, "item_not_found", "the conversation has no such item");
		return false;
	}
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("conversation"));
	th_jw_name(&w, TH_STR("removed"));
	count = th_conversation_take_out(items, name, &w);
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	if (items->removed_count + count <= TH_SERVE_REMOVED_ITEMS_MAX)
		return true;
	th_access_fail(a, 413, "limit", "at most %d items are taken out of one conversation",
		       TH_SERVE_REMOVED_ITEMS_MAX);
	return false;
}

/* It is listed no more, and the next response goes on without it; the log keeps it. */
void th_v1_conversation_item_delete(struct th_access *a)
{
	struct th_buf note TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_METADATA_MAX);
	struct th_conversation_wait how = { .answer = th_conversation_answer_waited,
					    .kind = "items_added" };
	struct th_conversation_items items = { 0 };
	struct th_conversation p, first;
	struct thole_error err;
	struct th_hub *h = NULL;
	bool good;

	if (!th_conversation_mine(a, &p))
		return;
	first = p;
	snprintf(first.head, sizeof(first.head), "%s", p.first);
	good = read_items(a, &p, &items) && (h = th_conversation_open(a, &first)) &&
	       put_note(a, &p, &items, &note);
	th_conversation_items_deinit(&items);
	if (!good)
		return;
	if (thole_session_items_add(h->session, note.ptr, false, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	h->rested_ms = th_loop_now_ms(a->server->loop) ?: 1;
	snprintf(how.name, sizeof(how.name), "%s", p.name);
	th_conversation_answer_after(a, h, &how);
}
