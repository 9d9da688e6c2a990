/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named.c - the sessions of a runtime by their names: a server begins and looks up thousands.
 */
#include <stdlib.h>

#include "api/api.h"
#include "base/hash.h"

#define SIZE_FIRST 64

static struct thole_session **slot(const struct thole_runtime *rt, const char *id)
{
	return &rt->named[th_hash64(id, strlen(id)) & (rt->named_size - 1)];
}

static void grow(struct thole_runtime *rt)
{
	struct thole_session **old = rt->named;
	size_t old_size = rt->named_size;

	rt->named_size = old_size ? 2 * old_size : SIZE_FIRST;
	rt->named = th_alloc(rt->named_size * sizeof(*rt->named));
	memset(rt->named, 0, rt->named_size * sizeof(*rt->named));
	for (size_t i = 0; i < old_size; i++)
		for (struct thole_session *s = old[i], *next; s; s = next) {
			struct thole_session **at = slot(rt, s->id);

			next = s->chain;
			s->chain = *at;
			*at = s;
		}
	free(old);
}

void th_api_named_add(struct thole_session *s)
{
	struct thole_session **at;

	if (s->rt->named_count >= s->rt->named_size)
		grow(s->rt);
	at = slot(s->rt, s->id);
	s->chain = *at;
	*at = s;
	s->rt->named_count++;
}

void th_api_named_remove(struct thole_session *s)
{
	struct thole_session **at = s->id && s->rt->named_size ? slot(s->rt, s->id) : NULL;

	while (at && *at && *at != s)
		at = &(*at)->chain;
	if (!at || !*at)
		return;
	*at = s->chain;
	s->rt->named_count--;
}

static struct thole_session *same(struct thole_session *s, const char *id)
{
	while (s && strcmp(s->id, id) != 0)
		s = s->chain;
	return s;
}

struct thole_session *th_api_named_first(const struct thole_runtime *rt, const char *id)
{
	return rt->named_size ? same(*slot(rt, id), id) : NULL;
}

struct thole_session *th_api_named_next(const struct thole_session *s)
{
	return same(s->chain, s->id);
}

enum th_code th_api_named_removed(const struct thole_runtime *rt, const char *id,
				  struct th_err *err)
{
	for (const struct th_api_removed *r = rt->removed; r; r = r->next)
		if (strcmp(r->id, id) == 0)
			return th_fail(err, TH_EBUSY, "session %s is being %s", id, r->what);
	return TH_OK;
}

int th_api_check_removed(const struct thole_runtime *rt, const char *id, struct thole_error *err)
{
	struct th_err e = { 0 };

	return th_api_out(th_api_named_removed(rt, id, &e), &e, err);
}

void th_api_named_take(struct thole_runtime *rt, struct th_api_removed *name, const char *id,
		       const char *what)
{
	*name = (struct th_api_removed){ .next = rt->removed, .id = id, .what = what };
	if (name->next)
		name->next->prev = name;
	rt->removed = name;
}

void th_api_named_give(struct thole_runtime *rt, struct th_api_removed *name)
{
	if (name->prev)
		name->prev->next = name->next;
	else
		rt->removed = name->next;
	if (name->next)
		name->next->prev = name->prev;
}

struct thole_session *th_api_open_find(struct thole_runtime *rt, const char *id)
{
	struct thole_session *s = th_api_named_first(rt, id);

	while (s && (s->freed || s->lost))
		s = th_api_named_next(s);
	return s;
}
