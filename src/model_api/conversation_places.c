/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conversation_places.c - what the items of a conversation are called, and which were taken out.
 *
 * Every item that a session ever had has a number there that no other one gets.  A conversation
 * begins in one session, and an item is called by its number; another session that it goes on in
 * has in its metadata what its first items are called, as ranges, and from where on it counts.  An
 * item that is taken out is named in a note of the session that the conversation began as: it is
 * listed no more, and the next response goes on without it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/conversation.h"

/* ---- names ---- */

/* The next of "0-4,6,9-20"; false: there is none. */
static bool next_range(struct th_str *rest, int64_t *from, int64_t *count)
{
	struct th_str last = th_str_split(rest, ','), first;
	int64_t to;

	if (!last.len)
		return false;
	first = th_str_split(&last, '-');
	if (!th_str_i64(first, from) || !th_str_i64(last.len ? last : first, &to) || *from < 0 ||
	    to < *from || to - *from >= TH_SESSION_ITEMS_MAX)
		return false;
	*count = to - *from + 1;
	return true;
}

static struct th_str ranges(const struct th_conversation_items *p)
{
	return th_json_get_str(p->names, "names");
}

/* What an item of its newest session is called, by its number there. */
static int64_t name_of(const struct th_conversation_items *p, int64_t number)
{
	struct th_str rest = ranges(p);
	int64_t from, count, before = 0, next;

	while (next_range(&rest, &from, &count)) {
		if (number < before + count)
			return from + (number - before);
		before += count;
	}
	next = th_json_get_int(p->names, "next", before);
	return (next < before || next > INT64_MAX / 2 ? before : next) + (number - before);
}

static bool is_removed(const struct th_conversation_items *p, int64_t name)
{
	for (size_t i = 0; i < p->removed_count; i++)
		if (p->removed[i] == name)
			return true;
	return false;
}

/* ---- reading ---- */

enum th_take th_conversation_takes_notes(struct th_str line)
{
	return th_str_is(th_json_raw_get(line, "kind"), "\"items_added\"") &&
		       th_str_find(line, TH_STR("\"conversation\"")) >= 0
		   ? TH_TAKE_YES
		   : TH_TAKE_NO;
}

static void take_removed(struct th_conversation_items *p, struct th_str line)
{
	struct th_json_raw_iter it =
	    th_json_raw_iter(th_json_raw_get(th_json_raw_get(line, "data"), "items"));

	while (th_json_raw_next(&it)) {
		struct th_json_raw_iter numbers =
		    th_json_raw_iter(th_json_raw_get(it.val, "removed"));

		if (!th_str_is(th_json_raw_get(it.val, "type"), "\"conversation\""))
			continue;
		while (th_json_raw_next(&numbers) && p->removed_count < TH_SERVE_REMOVED_ITEMS_MAX)
			if (th_str_i64(numbers.val, &p->removed[p->removed_count]))
				p->removed_count++;
	}
}

static enum th_stored_result failed(const struct th_found *f, struct thole_error *err)
{
	if (!f)
		return TH_STORED_PENDING;
	*err = *f->err;
	return TH_STORED_FAILED;
}

enum th_stored_result th_conversation_removed(struct th_needs *n, const char *user,
					      const struct th_conversation *of,
					      struct th_conversation_items *ret,
					      struct thole_error *err)
{
	const struct th_found *row = th_need_session(n, of->head, user);
	const struct th_found *notes =
	    th_need_log(n, of->first, user, 1, th_conversation_takes_notes);
	struct th_str rest;

	*ret = (struct th_conversation_items){ 0 };
	if (!row || row->err)
		return failed(row, err);
	if (!notes || notes->err)
		return failed(notes, err);
	if (th_json_parse(row->text, &ret->row, NULL) == TH_OK)
		ret->names = th_json_get(th_json_get(th_json_root(ret->row), "metadata"),
					 TH_CONVERSATION_ITEMS_MEMBER);
	for (rest = notes->text; rest.len;)
		take_removed(ret, th_str_split(&rest, '\n'));
	ret->is_due = (int64_t)ret->removed_count > th_json_get_int(ret->names, "removed", 0);
	return TH_STORED_FOUND;
}

enum th_stored_result th_conversation_items_read(struct th_needs *n, const char *session,
						 uint64_t to, struct th_conversation_items *p,
						 struct thole_error *err)
{
	const struct th_found *items = th_need_numbered_items(n, session, to);

	if (!items || items->err)
		return failed(items, err);
	p->doc = th_json_free(p->doc);
	if (th_json_parse(items->text, &p->doc, NULL) == TH_OK)
		return TH_STORED_FOUND;
	*err = (struct thole_error){ .code = THOLE_ECORRUPT };
	snprintf(err->text, sizeof(err->text), "the items are no JSON");
	return TH_STORED_FAILED;
}

void th_conversation_items_deinit(struct th_conversation_items *p)
{
	p->row = th_json_free(p->row);
	p->doc = th_json_free(p->doc);
}

bool th_conversation_next(const struct th_conversation_items *p, struct th_json_iter *it,
			  const struct th_json **ret_item, int64_t *ret_name)
{
	while (th_json_next(it)) {
		*ret_item = th_json_get(it->val, "item");
		*ret_name = name_of(p, th_json_get_int(it->val, "number", 0));
		if (!th_conversation_note(*ret_item) && !is_removed(p, *ret_name))
			return true;
	}
	return false;
}

struct th_json_iter th_conversation_iter(const struct th_conversation_items *p)
{
	return th_json_iter(th_json_get(th_json_root(p->doc), "items"));
}

/* ---- what goes with one ---- */

static bool is_of_answer(const struct th_json *item)
{
	struct th_str type = th_json_get_str(item, "type");

	return th_str_ends(type, TH_STR("_call")) || th_str_is(type, "reasoning") ||
	       th_str_is(th_json_get_str(item, "role"), "assistant");
}

/* Reasoning stands in a history before what followed it, and not alone. */
size_t th_conversation_take_out(const struct th_conversation_items *p, int64_t name,
				struct th_jw *w)
{
	struct th_json_iter it = th_conversation_iter(p);
	int64_t each, thought = -1; /* of reasoning that nothing stands behind yet */
	struct th_str call = { NULL, 0 };
	const struct th_json *item;
	size_t count = 0;
	bool alone = false;  /* what stood behind that goes; */
	bool parted = false; /* with a result: what stands there now is of another answer */

	while (th_conversation_next(p, &it, &item, &each))
		if (each == name)
			call = th_json_get_str(item, "call_id");
	it = th_conversation_iter(p);
	th_jw_array(w);
	while (th_conversation_next(p, &it, &item, &each)) {
		bool goes =
		    each == name || (call.len && th_str_eq(th_json_get_str(item, "call_id"), call));

		if (goes) {
			th_jw_int(w, each);
			alone |= thought >= 0;
			parted |= th_str_ends(th_json_get_str(item, "type"), TH_STR("_output"));
			count++;
			continue;
		}
		if (alone && (parted || !is_of_answer(item))) {
			th_jw_int(w, thought);
			count++;
		}
		alone = parted = false;
		thought = th_str_is(th_json_get_str(item, "type"), "reasoning") ? each : -1;
	}
	if (alone) {
		th_jw_int(w, thought);
		count++;
	}
	th_jw_array_end(w);
	return count;
}

/* ---- a session of its own with what is left ---- */

/* Reasoning that was taken out: what its answer has behind it is sent without its id. */
static void put_bare(const struct th_json *item, struct th_jw *w)
{
	struct th_json_iter it = th_json_iter(item);

	th_jw_object(w);
	while (th_json_next(&it)) {
		if (th_str_is(it.key, "id"))
			continue;
		th_jw_key(w, it.key);
		th_jw_json(w, it.val);
	}
	th_jw_object_end(w);
}

struct range {
	int64_t from, to;
	bool open;
};

static void put_range(struct range *r, struct th_buf *out)
{
	if (!r->open)
		return;
	th_buf_printf(out, "%s%lld", out->len ? "," : "", (long long)r->from);
	if (r->to > r->from)
		th_buf_printf(out, "-%lld", (long long)r->to);
	r->open = false;
}

void th_conversation_put_rest(const struct th_conversation_items *p, struct th_jw *w,
			      struct th_buf *names)
{
	struct th_buf list TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_METADATA_MAX);
	struct th_json_iter it = th_conversation_iter(p);
	struct th_jw out = th_jw(names);
	struct range r = { 0 };
	bool bare = false;

	while (th_json_next(&it)) {
		const struct th_json *item = th_json_get(it.val, "item");
		int64_t name = name_of(p, th_json_get_int(it.val, "number", 0));

		if (th_conversation_note(item))
			continue;
		bare &= is_of_answer(item);
		if (is_removed(p, name)) {
			bare |= th_str_is(th_json_get_str(item, "type"), "reasoning");
			continue;
		}
		if (bare)
			put_bare(item, w);
		else
			th_jw_json(w, item);
		if (!r.open || name != r.to + 1)
			put_range(&r, &list);
		if (!r.open)
			r.from = name;
		r.open = true;
		r.to = name;
	}
	put_range(&r, &list);
	th_jw_object(&out);
	th_jw_kstr(&out, "names", th_buf_str(&list));
	th_jw_kint(&out, "next", name_of(p, th_json_get_int(th_json_root(p->doc), "next", 0)));
	th_jw_kint(&out, "removed", (int64_t)p->removed_count);
	th_jw_object_end(&out);
	names->failed |= list.failed;
}
