/* SPDX-License-Identifier: Apache-2.0 */
#include "server/listing.h"

#include <stdio.h>
#include <stdlib.h>

#define LIMIT_DEFAULT 20
#define LIMIT_MAX 100

void th_listing_deinit(struct th_listing *l)
{
	th_buf_deinit(&l->text);
	free(l->at);
}

/* A text where the API has a list of parts. */
static void put_text(struct th_jw *w, bool theirs, struct th_str text)
{
	th_jw_array(w);
	th_jw_object(w);
	th_jw_kstr(w, "type", theirs ? TH_STR("output_text") : TH_STR("input_text"));
	th_jw_kstr(w, "text", text);
	if (theirs)
		th_jw_kraw(w, "annotations", TH_STR("[]"));
	th_jw_object_end(w);
	th_jw_array_end(w);
}

static void add(struct th_listing *l, const struct th_json *item, struct th_str id)
{
	struct th_jw w = th_jw(&l->text);
	struct th_json_iter it = th_json_iter(item);
	bool theirs = th_str_is(th_json_get_str(item, "role"), "assistant");

	l->at = th_realloc(l->at, (l->count + 1) * sizeof(*l->at));
	l->at[l->count++] = l->text.len;
	th_jw_object(&w);
	th_jw_kstr(&w, "id", id);
	if (!th_json_get_str(item, "type").len)
		th_jw_kstr(&w, "type", TH_STR("message"));
	if (!th_json_get_str(item, "status").len)
		th_jw_kstr(&w, "status", TH_STR("completed"));
	while (th_json_next(&it)) {
		if (th_str_is(it.key, "id"))
			continue;
		th_jw_key(&w, it.key);
		if (th_str_is(it.key, "content") && th_json_type(it.val) == TH_JSON_STR)
			put_text(&w, theirs, th_json_str(it.val));
		else
			th_jw_json(&w, it.val);
	}
	th_jw_object_end(&w);
	th_buf_add_char(&l->text, '\0');
}

void th_listing_add(struct th_listing *l, const struct th_json *item, const char *prefix,
		    bool renamed)
{
	struct th_str id = th_json_get_str(item, "id");
	char made[TH_LISTING_ID_MAX + 24];

	snprintf(made, sizeof(made), "%s_%zu", prefix, l->count);
	add(l, item, renamed || !id.len ? th_str_of(made) : id);
}

void th_listing_add_as(struct th_listing *l, const struct th_json *item, const char *id)
{
	add(l, item, th_str_of(id));
}

struct th_str th_listing_get(const struct th_listing *l, size_t i)
{
	return th_str_of(l->text.ptr + l->at[i]);
}

static struct th_str id_of(const struct th_listing *l, size_t i)
{
	return th_json_raw_get(th_listing_get(l, i), "id");
}

size_t th_listing_find(const struct th_listing *l, struct th_str id)
{
	size_t i = 0;

	while (i < l->count && !th_str_eq(th_json_raw_inside(id_of(l, i)), id))
		i++;
	return i;
}

/* ---- pages ---- */

static void print(const struct th_listing *l, size_t from, size_t count, bool ascending, bool more,
		  struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "object", TH_STR("list"));
	th_jw_name(w, TH_STR("data"));
	th_jw_array(w);
	for (size_t i = 0; i < count; i++)
		th_jw_raw(w, th_listing_get(l, ascending ? from + i : from - i));
	th_jw_array_end(w);
	th_jw_kraw(w, "first_id", count ? id_of(l, from) : TH_STR("null"));
	th_jw_kraw(w, "last_id",
		   count ? id_of(l, ascending ? from + count - 1 : from - (count - 1))
			 : TH_STR("null"));
	th_jw_kbool(w, "has_more", more);
	th_jw_object_end(w);
}

void th_listing_print(const struct th_listing *l, size_t from, size_t to, struct th_jw *w)
{
	print(l, from, to - from, true, false, w);
}

void th_listing_answer(const struct th_listing *l, struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_buf order TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf after TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&json);
	int64_t limit = LIMIT_DEFAULT;
	bool ascending, ordered;
	size_t from, left;

	if (!th_access_query_int(a, "limit", &limit))
		return;
	if (limit < 1 || limit > LIMIT_MAX) {
		th_access_fault(a, 400, "invalid_value", "limit", "limit is 1 to 100");
		return;
	}
	ordered = th_access_query(a, "order", &order);
	ascending = ordered && th_str_is(th_buf_str(&order), "asc");
	if (ordered && !ascending && !th_str_is(th_buf_str(&order), "desc")) {
		th_access_fault(a, 400, "invalid_value", "order", "order is asc or desc");
		return;
	}
	from = ascending || !l->count ? 0 : l->count - 1;
	left = l->count;
	if (th_access_query(a, "after", &after) && after.len) {
		size_t at = th_listing_find(l, th_buf_str(&after));

		if (at == l->count) {
			th_access_fault(a, 400, "invalid_value", "after",
					"there is no item of that id in the list");
			return;
		}
		left = ascending ? l->count - at - 1 : at;
		from = ascending ? at + 1 : at - (at > 0);
	}
	print(l, from, TH_MIN(left, (size_t)limit), ascending, left > (size_t)limit, &w);
	th_access_json(a, 200, &json);
}
