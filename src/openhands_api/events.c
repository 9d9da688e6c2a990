/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - a conversation's events, a page at a time. */
#include <stdio.h>
#include <stdlib.h>

#include "openhands_api/internal.h"

#define PAGE_SIZE_MAX (16 * TH_MIB) /* then the page ends, after one event at least */

struct filter {
	struct th_buf kind, source, body, from, before;
};

enum purpose { A_PAGE, A_COUNT, AN_EVENT, THE_ANSWER };

struct look {
	struct th_access *access;
	struct th_oh_reading *reading;
	enum purpose purpose;
	struct filter filter;
	struct th_buf out; /* events with commas between; the answer's text */
	struct th_buf next;
	size_t count, limit;
};

static void look_free(struct look *l)
{
	th_buf_deinit(&l->filter.kind);
	th_buf_deinit(&l->filter.source);
	th_buf_deinit(&l->filter.body);
	th_buf_deinit(&l->filter.from);
	th_buf_deinit(&l->filter.before);
	th_buf_deinit(&l->out);
	th_buf_deinit(&l->next);
	free(l);
}

static void on_gone(struct th_access *a)
{
	struct look *l = a->ctx;

	th_oh_read_free(l->reading);
	look_free(l);
}

/* ---- which ones ---- */

static struct th_str member(struct th_str event, const char *name)
{
	return th_json_raw_inside(th_json_raw_get(event, name));
}

static void lower(struct th_str text, struct th_buf *out)
{
	th_buf_clear(out);
	th_buf_add(out, text);
	for (size_t i = 0; i < out->len; i++)
		if (out->ptr[i] >= 'A' && out->ptr[i] <= 'Z')
			out->ptr[i] = (char)(out->ptr[i] | 0x20);
}

/* In any text of a message, as it is in the log; `word` is in small letters. */
static bool says(struct th_str event, struct th_str word)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_json_iter it;

	if (th_json_parse(event, &doc, NULL) != TH_OK)
		return false;
	it = th_json_iter(th_json_get(th_json_get(th_json_root(doc), "llm_message"), "content"));
	while (th_json_next(&it)) {
		lower(th_json_get_str(it.val, "text"), &text);
		if (th_str_find(th_buf_str(&text), word) >= 0)
			return true;
	}
	return false;
}

/* A kind is its class's name there, alone or with its module's before it. */
static bool is_kind(struct th_str kind, struct th_str wanted)
{
	return kind.len && th_str_ends(wanted, kind) &&
	       (wanted.len == kind.len || wanted.ptr[wanted.len - kind.len - 1] == '.');
}

/* Times have one form, without a zone, and so they are compared as texts. */
static bool passes(const struct filter *f, struct th_str event)
{
	struct th_str stamp = member(event, "timestamp");

	return (!f->kind.len || is_kind(member(event, "kind"), th_buf_str(&f->kind))) &&
	       (!f->source.len || th_str_eq(member(event, "source"), th_buf_str(&f->source))) &&
	       (!f->from.len || th_str_cmp(stamp, th_buf_str(&f->from)) >= 0) &&
	       (!f->before.len || th_str_cmp(stamp, th_buf_str(&f->before)) < 0) &&
	       (!f->body.len || says(event, th_buf_str(&f->body)));
}

/* ---- as they come ---- */

static int page_event(struct look *l, struct th_str event)
{
	if (!passes(&l->filter, event))
		return 0;
	if (l->purpose == A_COUNT) {
		l->count++;
		return 0;
	}
	if (l->count == l->limit || (l->count && l->out.len + event.len > PAGE_SIZE_MAX)) {
		th_buf_add(&l->next, member(event, "id"));
		return 1;
	}
	if (l->count++)
		th_buf_add_char(&l->out, ',');
	th_buf_add(&l->out, event);
	return 0;
}

/* From the last event backwards: what the agent said, or ended with. */
static int answer_event(struct look *l, struct th_str event)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str kind = member(event, "kind");
	struct th_json_iter it;
	const struct th_json *v;

	if (!th_str_is(member(event, "source"), "agent") ||
	    (!th_str_is(kind, "MessageEvent") && !th_str_is(kind, "ActionEvent")) ||
	    th_json_parse(event, &doc, NULL) != TH_OK)
		return 0;
	v = th_json_root(doc);
	if (th_str_is(kind, "ActionEvent")) {
		if (!th_str_is(th_json_get_str(v, "tool_name"), "finish"))
			return 0;
		th_buf_add(&l->out, th_json_get_str(th_json_get(v, "action"), "message"));
		return 1;
	}
	it = th_json_iter(th_json_get(th_json_get(v, "llm_message"), "content"));
	while (th_json_next(&it))
		th_buf_add(&l->out, th_json_get_str(it.val, "text"));
	return 1;
}

static int on_event(void *ctx, const char *line, size_t len)
{
	struct look *l = ctx;
	struct th_str event = th_str_n(line, len);

	switch (l->purpose) {
	case A_PAGE:
	case A_COUNT:
		return page_event(l, event);
	case AN_EVENT:
		th_buf_add(&l->out, event);
		return 1;
	case THE_ANSWER:
		break;
	}
	return answer_event(l, event);
}

static void put_answer(struct look *l, struct th_buf *json)
{
	struct th_jw w = th_jw(json);

	if (l->purpose == A_COUNT) {
		th_buf_printf(json, "%zu", l->count);
		return;
	}
	if (l->purpose == AN_EVENT) {
		th_buf_add(json, th_buf_str(&l->out));
		return;
	}
	th_jw_object(&w);
	if (l->purpose == THE_ANSWER) {
		th_jw_kstr(&w, "response", th_buf_str(&l->out));
	} else {
		th_jw_name(&w, TH_STR("items"));
		th_buf_add_char(json, '[');
		th_buf_add(json, th_buf_str(&l->out));
		th_buf_add_char(json, ']');
		w.comma = true;
		if (l->next.len)
			th_jw_kstr(&w, "next_page_id", th_buf_str(&l->next));
		else
			th_jw_kraw(&w, "next_page_id", TH_STR("null"));
	}
	th_jw_object_end(&w);
}

static void on_done(void *ctx, int code, const struct thole_error *err)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct look *l = ctx;
	struct th_access *a = l->access;

	a->gone = NULL;
	a->reads = false;
	if (!code && l->purpose == AN_EVENT)
		th_access_fail(a, 404, NULL, "there is no such event");
	else if (code == THOLE_OK || code == 1) {
		put_answer(l, &json);
		th_access_json(a, 200, &json);
	} else if (code == THOLE_ENOENT && l->purpose == A_PAGE)
		th_access_fail(a, 404, NULL, "%s", err->text);
	else
		th_access_error(a, err);
	look_free(l);
}

/* ---- requests ---- */

static struct look *look_new(struct th_access *a, enum purpose purpose)
{
	struct look *l = th_alloc(sizeof(*l));

	*l = (struct look){ .access = a,
			    .purpose = purpose,
			    .limit = TH_SERVE_OPENHANDS_PAGE_MAX,
			    .filter = { TH_BUF_INIT(TH_KIB), TH_BUF_INIT(TH_KIB),
					TH_BUF_INIT(8 * TH_KIB), TH_BUF_INIT(TH_KIB),
					TH_BUF_INIT(TH_KIB) },
			    .out = TH_BUF_INIT(TH_HTTP_REPLY_MAX),
			    .next = TH_BUF_INIT(TH_KIB) };
	return l;
}

/* Takes the look over. */
static void begin(struct look *l, const char *const *options)
{
	struct th_access *a = l->access;
	struct thole_error err;

	a->ctx = l;
	a->gone = on_gone;
	a->reads = true;
	if (th_oh_read(a->server->openhands, a->args[0], options, on_event, on_done, l, &l->reading,
		       &err) == 0)
		return;
	a->gone = NULL;
	a->reads = false;
	look_free(l);
	th_access_error(a, &err);
}

/* "2026-01-31T18:00:00.500Z" loses its Z; another zone would shift it.  And the zeros at its end:
 * ours have three digits and Python's six, and both are compared as texts. */
bool th_oh_query_time(struct th_access *a, const char *name, struct th_buf *out)
{
	struct th_str text;

	if (!th_access_query(a, name, out))
		return true;
	text = th_buf_str(out);
	if (th_str_ends(text, TH_STR("Z")))
		th_buf_truncate(out, text.len - 1);
	else if (th_str_ends(text, TH_STR("+00:00")))
		th_buf_truncate(out, text.len - 6);
	text = th_buf_str(out);
	if (text.len > 20 && text.ptr[19] == '.') {
		while (text.ptr[text.len - 1] == '0')
			text.len--;
		th_buf_truncate(out, text.len - (text.ptr[text.len - 1] == '.'));
		text = th_buf_str(out);
	}
	if (text.len >= 19 && text.ptr[10] == 'T' && th_str_find_char(text, '+') < 0 &&
	    th_str_find_char(th_str_sub(text, 10, text.len), '-') < 0)
		return true;
	th_access_fail(a, 422, NULL, "%s is a time in UTC, such as 2026-01-31T18:00:00Z", name);
	return false;
}

/* False: it was answered. */
static bool read_filter(struct th_access *a, struct filter *f)
{
	(void)th_access_query(a, "kind", &f->kind);
	(void)th_access_query(a, "source", &f->source);
	if (th_access_query(a, "body", &f->body)) {
		struct th_buf word TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);

		lower(th_buf_str(&f->body), &word);
		th_buf_clear(&f->body);
		th_buf_add(&f->body, th_buf_str(&word));
	}
	return th_oh_query_time(a, "timestamp__gte", &f->from) &&
	       th_oh_query_time(a, "timestamp__lt", &f->before);
}

static void look_at(struct th_access *a, enum purpose purpose)
{
	struct th_buf order TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf page TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const char *options[5] = { "order", "asc" };
	int64_t limit = TH_SERVE_OPENHANDS_PAGE_MAX;
	struct look *l;

	if (!th_oh_mine(a, NULL) || !th_access_query_int(a, "limit", &limit))
		return;
	if (limit < 1 || limit > TH_SERVE_OPENHANDS_PAGE_MAX) {
		th_access_fail(a, 422, NULL, "limit is 1 to %d", TH_SERVE_OPENHANDS_PAGE_MAX);
		return;
	}
	if (th_access_query(a, "sort_order", &order) &&
	    th_str_is(th_buf_str(&order), "TIMESTAMP_DESC"))
		options[1] = "desc";
	if (purpose == A_PAGE && th_access_query(a, "page_id", &page) && page.len) {
		options[2] = "event";
		options[3] = page.ptr;
	}
	l = look_new(a, purpose);
	l->limit = (size_t)limit;
	if (read_filter(a, &l->filter))
		begin(l, options);
	else
		look_free(l);
}

void th_oh_events(struct th_access *a)
{
	look_at(a, A_PAGE);
}

void th_oh_events_count(struct th_access *a)
{
	look_at(a, A_COUNT);
}

void th_oh_event(struct th_access *a)
{
	const char *options[] = { "event", a->args[1], NULL };

	if (th_oh_mine(a, NULL))
		begin(look_new(a, AN_EVENT), options);
}

void th_oh_final(struct th_access *a)
{
	static const char *const options[] = { "order", "desc", NULL };

	if (th_oh_mine(a, NULL))
		begin(look_new(a, THE_ANSWER), options);
}
