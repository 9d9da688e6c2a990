/* SPDX-License-Identifier: Apache-2.0 */
#include "server/shares.h"

#include <stdio.h>
#include <string.h>

static struct th_share *find(struct th_shares *s, const char *user)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->list[i].user, user) == 0)
			return &s->list[i];
	return NULL;
}

static void drop_late(struct th_shares *s, uint64_t now_ms)
{
	for (size_t i = s->count; i-- > 0;)
		if (now_ms >= s->list[i].until_ms)
			s->list[i] = s->list[--s->count];
}

static struct th_share *place_of(struct th_shares *s)
{
	struct th_share *first = &s->list[0];

	if (s->count < TH_ADMISSION_USERS_MAX)
		return &s->list[s->count++];
	for (size_t i = 1; i < s->count; i++)
		if (s->list[i].until_ms < first->until_ms)
			first = &s->list[i];
	return first;
}

void th_shares_refuse(struct th_shares *s, const char *user, enum th_priority p, uint64_t now_ms)
{
	struct th_share *w;

	drop_late(s, now_ms);
	w = find(s, user);
	if (!w) {
		w = place_of(s);
		*w = (struct th_share){ .priority = p, .since_ms = now_ms };
		snprintf(w->user, sizeof(w->user), "%s", user);
	}
	w->priority = TH_MAX(w->priority, p);
	w->until_ms = now_ms + TH_ADMISSION_WAIT_MS;
}

void th_shares_forget(struct th_shares *s, const char *user)
{
	struct th_share *w = find(s, user);

	if (w)
		*w = s->list[--s->count];
}

static enum th_priority raised(const struct th_share *w, enum th_priority p, uint64_t now_ms)
{
	return th_priority_after(p, (int64_t)(now_ms - w->since_ms));
}

size_t th_shares_before(struct th_shares *s, const char *user, enum th_priority p, uint64_t now_ms,
			th_shares_fn *running, void *ctx)
{
	const struct th_share *own;
	size_t count = 0, mine;

	drop_late(s, now_ms);
	if (!s->count)
		return 0;
	own = find(s, user);
	if (own)
		p = raised(own, p, now_ms);
	mine = running(ctx, user);
	for (size_t i = 0; i < s->count; i++) {
		const struct th_share *w = &s->list[i];
		enum th_priority theirs = raised(w, w->priority, now_ms);

		if (w == own || theirs < p)
			continue;
		count += theirs > p || (mine > 0 && running(ctx, w->user) < mine);
	}
	return count;
}
