/* SPDX-License-Identifier: Apache-2.0 */
#include "store/search.h"

#include <stdlib.h>

#include "events/event_text.h"

/* Bytes above 127 are parts of letters. */
static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
	       (unsigned char)c >= 0x80;
}

bool th_search_word(struct th_str *text, struct th_str *ret)
{
	size_t from = 0, to;

	while (from < text->len && !is_word(text->ptr[from]))
		from++;
	for (to = from; to < text->len && is_word(text->ptr[to]);)
		to++;
	*ret = th_str_sub(*text, from, to - from);
	*text = th_str_sub(*text, to, text->len - to);
	return ret->len > 0;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* A whole word, or -1. */
static ptrdiff_t find_word(struct th_str body, struct th_str word)
{
	for (size_t i = 0; i + word.len <= body.len; i++) {
		size_t n = 0;

		if (i > 0 && is_word(body.ptr[i - 1]))
			continue;
		while (n < word.len && lower(body.ptr[i + n]) == lower(word.ptr[n]))
			n++;
		if (n == word.len && (i + n == body.len || !is_word(body.ptr[i + n])))
			return (ptrdiff_t)i;
	}
	return -1;
}

ptrdiff_t th_search_find(struct th_str body, struct th_str words)
{
	struct th_str word;
	ptrdiff_t first = -1, at;

	while (th_search_word(&words, &word)) {
		at = find_word(body, word);
		if (at >= 0 && (first < 0 || at < first))
			first = at;
	}
	return first;
}

static bool has_all(struct th_str body, struct th_str words)
{
	struct th_str word;

	while (th_search_word(&words, &word))
		if (find_word(body, word) < 0)
			return false;
	return true;
}

/* ---- without an index ---------------------------------------------------------------------- */

/* The newest so far; a ring. */
struct scan {
	const struct th_text_query *query;
	struct th_buf label, text;
	struct hit {
		uint64_t seq;
		struct th_buf label, text;
	} hits[TH_SEARCH_HITS_MAX];
	size_t count;
};

static enum th_code scan_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct scan *s = ctx;
	struct hit *hit;

	(void)digest;
	th_buf_clear(&s->label);
	th_buf_clear(&s->text);
	if (!th_event_text(ev, &s->label, &s->text) ||
	    !has_all(th_buf_str(&s->text), s->query->words))
		return TH_OK;
	hit = &s->hits[s->count++ % s->query->limit];
	hit->seq = ev->seq;
	th_buf_clear(&hit->label);
	th_buf_clear(&hit->text);
	th_buf_add(&hit->label, th_buf_str(&s->label));
	th_buf_add(&hit->text, th_buf_str(&s->text));
	return th_buf_check(&hit->text, "an event's words", err);
}

static enum th_code scan(struct th_store *store, struct th_str session_id,
			 const struct th_text_query *query, th_text_fn *fn, void *ctx,
			 struct th_err *err)
{
	struct scan *s = th_alloc(sizeof(*s));
	uint64_t from = query->event ?: 1, to = query->event;
	enum th_code code;

	s->query = query;
	th_buf_init(&s->label, TH_KIB);
	th_buf_init(&s->text, 2 * TH_EVENT_DATA_MAX);
	for (size_t i = 0; i < TH_SEARCH_HITS_MAX; i++) {
		th_buf_init(&s->hits[i].label, TH_KIB);
		th_buf_init(&s->hits[i].text, 2 * TH_EVENT_DATA_MAX);
	}
	code = store->kind->read(store, session_id, from, to, scan_event, s, err);
	for (size_t n = 0; !code && n < TH_MIN(s->count, query->limit); n++) {
		struct hit *hit = &s->hits[(s->count - 1 - n) % query->limit];

		code = fn(ctx, hit->seq, th_buf_str(&hit->label), th_buf_str(&hit->text), err);
	}
	for (size_t i = 0; i < TH_SEARCH_HITS_MAX; i++) {
		th_buf_deinit(&s->hits[i].label);
		th_buf_deinit(&s->hits[i].text);
	}
	th_buf_deinit(&s->label);
	th_buf_deinit(&s->text);
	free(s);
	return code;
}

/* ---- */

enum th_code th_store_search(struct th_store *s, struct th_str session_id,
			     const struct th_text_query *query, th_text_fn *fn, void *ctx,
			     struct th_err *err)
{
	struct th_text_query q = *query;
	struct th_str rest = q.words, word;
	size_t words = 0;

	while (th_search_word(&rest, &word))
		words++;
	if (!q.event && !words)
		return th_fail(err, TH_EUSAGE, "the query has no word to look for");
	if (words > TH_SEARCH_WORDS_MAX)
		return th_fail(err, TH_EUSAGE, "the query has more than %d words",
			       TH_SEARCH_WORDS_MAX);
	if (q.event)
		q.words = TH_STR("");
	q.limit = q.event ? 1 : TH_MAX(TH_MIN(q.limit, (size_t)TH_SEARCH_HITS_MAX), (size_t)1);
	if (s->kind->search) {
		struct th_err ignored;

		/* The index is only there to be fast: what it cannot do, the log can. */
		if (!s->kind->search(s, session_id, &q, fn, ctx, &ignored))
			return TH_OK;
	}
	return scan(s, session_id, &q, fn, ctx, err);
}
