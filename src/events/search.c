/* SPDX-License-Identifier: Apache-2.0 */
#include "events/search.h"

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool has_text(struct th_str text, struct th_str query)
{
	for (size_t i = 0; i + query.len <= text.len; i++) {
		size_t n = 0;

		while (n < query.len && lower(text.ptr[i + n]) == lower(query.ptr[n]))
			n++;
		if (n == query.len)
			return true;
	}
	return query.len == 0;
}

static bool lists(struct th_str list, struct th_str name)
{
	while (list.len)
		if (th_str_eq(th_str_trim(th_str_split(&list, ',')), name))
			return true;
	return false;
}

bool th_search_matches(const struct th_search *s, const struct th_searched *ev)
{
	return ev->seq >= s->from && (!s->to || ev->seq <= s->to) &&
	       (!s->source.len || th_str_eq(s->source, ev->source)) &&
	       (!s->kinds.len || lists(s->kinds, ev->kind)) && !lists(s->without, ev->kind) &&
	       has_text(ev->text, s->query);
}

static size_t limit_of(const struct th_search *s)
{
	return s->limit ? TH_MIN(s->limit, (size_t)TH_SEARCH_MAX) : TH_SEARCH_MAX;
}

bool th_search_add(const struct th_search *s, const struct th_searched *ev, struct th_found *found)
{
	if (th_search_matches(s, ev)) {
		found->seqs[found->count % limit_of(s)] = ev->seq;
		found->count++;
	}
	return (!s->to || ev->seq < s->to) && (s->newest || found->count < limit_of(s));
}

size_t th_search_count(const struct th_search *s, const struct th_found *found)
{
	return TH_MIN(found->count, limit_of(s));
}

uint64_t th_search_nth(const struct th_search *s, const struct th_found *found, size_t n)
{
	return found->seqs[s->newest ? (found->count - 1 - n) % limit_of(s) : n];
}
