/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needs_reserve.c - the need of room for one session more of a user's that runs.
 *
 * Here a user's sessions that run are known, and what is reserved stands in a list of the server
 * until its session runs.  In a fleet the store counts them all (thole_runtime_reserve_start).
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "io/clock.h"
#include "server/needs_internal.h"

struct th_reserve_need {
	struct th_need need;
	struct th_reserve_need *prev, *next; /* of the server's, while `counted` */
	bool counted;
	bool asked; /* the store has it, or is asked for it */
	char user[TH_USER_MAX + 1];
	char name[TH_UUID_TEXT_SIZE + 1];
};

/* ---- here ---- */

static void count_in(struct th_server *s, struct th_reserve_need *r)
{
	r->counted = true;
	r->next = s->reserving;
	if (r->next)
		r->next->prev = r;
	s->reserving = r;
}

static void count_out(struct th_server *s, struct th_reserve_need *r)
{
	if (!r->counted)
		return;
	r->counted = false;
	*(r->prev ? &r->prev->next : &s->reserving) = r->next;
	if (r->next)
		r->next->prev = r->prev;
	r->prev = r->next = NULL;
}

static void unreserve(struct th_server *s, const char *name)
{
	struct thole_error ignored; /* the runtime has failed, and what it had reserved is over */

	(void)thole_runtime_unreserve(s->rt, name, &ignored);
	th_server_kick(s);
}

static int64_t count_here(const struct th_server *s, const char *user)
{
	int64_t count = 0;

	for (const struct th_hub *h = s->hubs.first; h; h = h->next)
		count += strcmp(h->user, user) == 0 && th_hub_runs(h);
	for (const struct th_reserve_need *r = s->reserving; r; r = r->next)
		count += strcmp(r->user, user) == 0;
	return count;
}

/* ---- the need ---- */

static void reserve_end(struct th_need *n)
{
	struct th_reserve_need *r = TH_CONTAINER_OF(n, struct th_reserve_need, need);

	count_out(n->needs->server, r);
	if (r->asked)
		unreserve(n->needs->server, r->name);
}

static struct th_reserve_need *find(const struct th_needs *needs)
{
	struct th_need *n = needs->first;

	while (n && n->end != reserve_end)
		n = n->next;
	return n ? TH_CONTAINER_OF(n, struct th_reserve_need, need) : NULL;
}

static void on_reserved(void *ctx, int code, const struct thole_error *err)
{
	struct th_reserve_need *r = ctx;
	struct th_needs *needs = r->need.needs;

	if (code) {
		r->asked = false;
		count_out(needs->server, r);
	}
	th_need_over(&r->need, code, err);
	needs->again(needs->ctx);
}

/* Of his sessions that are open here, those that do not run and whose rows may say that they do:
 * they wait for a client's results, or nothing was written since they were opened. */
static const char **resting_of(const struct th_server *s, const char *user)
{
	const char **list = th_alloc((s->hubs.count + 1) * sizeof(*list));
	size_t count = 0;

	for (const struct th_hub *h = s->hubs.first; h; h = h->next)
		if (h->session && strcmp(h->user, user) == 0 && !th_hub_runs(h) &&
		    (h->parked_ms || !h->written))
			list[count++] = h->id;
	return list;
}

static int ask(struct th_server *s, struct th_reserve_need *r, int64_t most)
{
	const char **resting = resting_of(s, r->user);
	struct th_uuid made = th_uuid_now();
	int code;

	th_uuid_text(&made, r->name);
	code = thole_runtime_reserve_start(s->rt, r->name, r->user, most, resting, on_reserved, r,
					   &r->need.err);
	r->asked = !code;
	free(resting);
	return code;
}

const struct th_found *th_need_reservation(struct th_needs *needs, const char *user, int64_t most)
{
	static const struct thole_error full = { THOLE_ELIMIT, "no more of your sessions may run" };
	struct th_reserve_need *r = find(needs);
	struct th_server *s = needs->server;
	int code = 0;

	if (r)
		return th_need_answer(&r->need);
	code = count_here(s, user) >= most;
	r = TH_CONTAINER_OF(th_need_new(needs, &(struct th_buf){ 0 }, sizeof(*r)),
			    struct th_reserve_need, need);
	r->need.end = reserve_end;
	snprintf(r->user, sizeof(r->user), "%s", user);
	if (code) {
		th_need_over(&r->need, THOLE_ELIMIT, &full);
		return &r->need.answer;
	}
	count_in(s, r);
	if (s->fleet)
		code = ask(s, r, most);
	if (code)
		count_out(s, r);
	if (s->fleet)
		return th_need_begun(&r->need, code);
	th_need_over(&r->need, 0, NULL);
	return &r->need.answer;
}

/* ---- its session ---- */

void th_quota_begins(struct th_needs *needs, struct th_hub *h)
{
	struct th_reserve_need *r = find(needs);
	struct thole_error err;

	if (!r)
		return;
	if (h->reservation) { /* the one before is its place, or its row says that it runs */
		th_quota_leave(needs);
		return;
	}
	count_out(needs->server, r);
	if (!r->asked)
		return;
	r->asked = false;
	h->reservation = th_alloc(sizeof(r->name));
	memcpy(h->reservation, r->name, sizeof(r->name));
	if (thole_runtime_reservation_use(needs->server->rt, r->name, h->id, &err) != 0)
		th_journal_say(needs->server, "store", "a reservation: %s", err.text);
}

void th_quota_leave(struct th_needs *needs)
{
	struct th_reserve_need *r = find(needs);

	if (!r)
		return;
	count_out(needs->server, r);
	if (r->asked)
		unreserve(needs->server, r->name);
	r->asked = false;
}

void th_hub_unreserve(struct th_hub *h)
{
	if (!h->reservation)
		return;
	unreserve(h->server, h->reservation);
	free(h->reservation);
	h->reservation = NULL;
}
