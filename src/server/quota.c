/* SPDX-License-Identifier: Apache-2.0 */
/* quota.c - whether something more may begin now: the server is not overloaded, and the user's
 * quota has room. */
#include <stdio.h>
#include <time.h>

#include "io/clock.h"
#include "server/fleet.h"
#include "server/service.h"

#define LIST_MAX 1000 /* of a page of the store */
#define LIST_MAX_TEXT "1000"

/* The names in a page of sessions.  Helpers of a session are none of their own; forks are. */
static size_t names_of(const struct th_json *page, struct th_str names[static LIST_MAX])
{
	struct th_json_iter it = th_json_iter(th_json_get(page, "sessions"));
	size_t count = 0;

	while (count < LIST_MAX && th_json_next(&it))
		if (!th_json_get_str(it.val, "parent").len ||
		    th_json_get_int(it.val, "parent_seq", 0) > 0)
			names[count++] = th_json_get_str(it.val, "session_id");
	return count;
}

static bool has_name(const struct th_str *names, size_t count, struct th_str name)
{
	for (size_t i = 0; i < count; i++)
		if (th_str_eq(names[i], name))
			return true;
	return false;
}

/* The user's sessions that run at other nodes, as the store has them, helpers among them.  What
 * cannot be read counts as nothing: the store that fails ends the server anyway.  False: it is
 * being read. */
static bool running_elsewhere(struct th_needs *needs, const char *user, int64_t *ret)
{
	const struct th_server *s = needs->server;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const char *options[] = { "user", user, "state", "running", "limit", LIST_MAX_TEXT, NULL };
	struct th_str names[LIST_MAX];
	const struct th_found *page = th_need_page(needs, options);
	size_t count = 0, ours = 0;

	if (!page)
		return false;
	if (!page->err && th_json_parse(page->text, &doc, NULL) == TH_OK)
		count = names_of(th_json_root(doc), names);
	for (const struct th_hub *h = s->hubs.first; h; h = h->next)
		if (h->session && strcmp(h->user, user) == 0)
			ours += has_name(names, count, th_str_of(h->id));
	*ret = (int64_t)(count - TH_MIN(ours, count));
	return true;
}

/* In the whole fleet.  False: it is being read. */
static bool running(struct th_needs *needs, const char *user, int64_t *ret)
{
	const struct th_server *s = needs->server;
	int64_t count = 0, elsewhere = 0;

	for (const struct th_hub *h = s->hubs.first; h; h = h->next)
		count += strcmp(h->user, user) == 0 && th_hub_runs(h);
	if (s->fleet && !running_elsewhere(needs, user, &elsewhere))
		return false;
	*ret = count + elsewhere;
	return true;
}

/* ---- of a day ---- */

#define DAY_MS UINT64_C(86400000)

struct used {
	int64_t turns;
	double cost_usd;
};

/* What the user's sessions used since midnight (UTC).  What cannot be read counts as nothing: the
 * store that fails ends the server anyway.  False: it is being read. */
static bool used_today(struct th_needs *needs, const char *user, struct used *ret)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	char day[40] = "";
	const char *options[] = { "user", user, "from", day, "to", day, NULL };
	time_t now = (time_t)(th_clock_wall_ms() / 1000);
	const struct th_json *list, *row;
	const struct th_found *usage;
	struct tm tm;

	*ret = (struct used){ 0 };
	if (!gmtime_r(&now, &tm) || !strftime(day, sizeof(day), "%Y-%m-%d", &tm))
		return true;
	usage = th_need_usage(needs, options);
	if (!usage)
		return false;
	if (!usage->err && th_json_parse(usage->text, &doc, NULL) == TH_OK) {
		list = th_json_get(th_json_root(doc), "usage");
		for (size_t i = 0; (row = th_json_at(list, i)); i++) {
			ret->turns += th_json_get_int(row, "turns", 0);
			ret->cost_usd += th_json_num(th_json_get(row, "cost_usd"), 0);
		}
	}
	return true;
}

static enum th_room room_today(struct th_needs *needs, const char *user, const struct th_quota *q,
			       struct th_refusal *ret)
{
	struct used u;

	if (!q->turns_per_day && q->cost_usd_per_day <= 0)
		return TH_ROOM_YES;
	if (!used_today(needs, user, &u))
		return TH_ROOM_PENDING;
	*ret =
	    (struct th_refusal){ .wait_ms = DAY_MS - th_clock_wall_ms() % DAY_MS, .status = 429 };
	if (q->turns_per_day && u.turns >= q->turns_per_day) {
		ret->code = "turns";
		(void)th_fail(&ret->why, TH_ELIMIT,
			      "your %lld turns of today are used up; the next day begins at "
			      "midnight, UTC",
			      (long long)q->turns_per_day);
		return TH_ROOM_NO;
	}
	if (q->cost_usd_per_day > 0 && u.cost_usd >= q->cost_usd_per_day) {
		ret->code = "cost";
		(void)th_fail(&ret->why, TH_ELIMIT,
			      "your $%.2f of today are used up; the next day begins at midnight, "
			      "UTC",
			      q->cost_usd_per_day);
		return TH_ROOM_NO;
	}
	return TH_ROOM_YES;
}

/* Somebody waits for its answer now, who cannot be told to come again tomorrow. */
static bool is_awaited(struct th_str row)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *response;

	if (th_json_parse(row, &doc, NULL) != TH_OK)
		return false;
	response = th_json_get(th_json_get(th_json_root(doc), "metadata"), TH_RESPONSE_MEMBER);
	return response && !th_json_bool(th_json_get(response, "background"), false);
}

static void look(void *ctx)
{
	struct th_hub *h = ctx;
	struct th_quota q = th_settings_quota(&h->server->settings, h->user);
	enum th_room room = TH_ROOM_YES;
	const struct th_found *row;
	struct thole_error err;
	struct th_refusal r;

	if (th_hub_runs(h))
		room = room_today(&h->needs, h->user, &q, &r);
	row = room == TH_ROOM_NO ? th_need_session(&h->needs, h->id, NULL) : NULL;
	if (room == TH_ROOM_PENDING || (room == TH_ROOM_NO && !row))
		return;
	if (room == TH_ROOM_NO) {
		h->server->metrics.refused_quota++;
		/* One that is over meanwhile takes neither, and needs none. */
		if (!row->err && is_awaited(row->text))
			(void)thole_session_cancel(h->session, THOLE_AFTER_TURN, &err);
		else
			(void)thole_session_pause(h->session, r.why.msg, &err);
		th_server_kick(h->server);
	}
	th_needs_forget(&h->needs);
	if (h->turned)
		th_quota_look(h);
}

void th_quota_look(struct th_hub *h)
{
	/* Of the turn before: the store is slow, and may have been read before this one. */
	h->turned = th_needs_wait(&h->needs);
	if (h->turned)
		return;
	th_needs_forget(&h->needs);
	h->needs = (struct th_needs){ .server = h->server, .again = look, .ctx = h };
	look(h);
}

/* ---- how much of it is used ---- */

static void put_used(struct th_jw *w, const char *name, double used, double limit)
{
	th_jw_key(w, th_str_of(name));
	th_jw_object(w);
	th_jw_kreal(w, "used", used);
	th_jw_key(w, TH_STR("limit"));
	if (limit > 0)
		th_jw_real(w, limit);
	else
		th_jw_null(w);
	th_jw_object_end(w);
}

void th_api_quota(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&json);
	struct th_quota q = th_settings_quota(&a->server->settings, a->user);
	uint64_t now = th_clock_wall_ms();
	int64_t sessions;
	struct used u;

	if (!used_today(&a->needs, a->user, &u) || !running(&a->needs, a->user, &sessions))
		return; /* it is called again */
	th_jw_object(&w);
	put_used(&w, "sessions", (double)sessions, (double)q.sessions);
	put_used(&w, "turns_today", (double)u.turns, (double)q.turns_per_day);
	put_used(&w, "cost_usd_today", u.cost_usd, q.cost_usd_per_day);
	th_jw_kuint(&w, "day_ends_ms", now - now % DAY_MS + DAY_MS);
	th_jw_object_end(&w);
	th_access_json(a, 200, &json);
}

/* ---- to begin ---- */

#define TOO_MUCH "the server has more to do than it can"

static size_t busy(const struct th_server *s)
{
	return s->hubs.open - s->hubs.spare_count + s->claims;
}

bool th_quota_node_has_room(struct th_server *s, struct th_err *why)
{
	const struct th_serve_fleet *set = s->settings.s.fleet;

	if (s->fleet && set &&
	    (s->fleet->draining || (set->capacity && busy(s) >= (uint64_t)set->capacity))) {
		(void)th_fail(why, TH_ELIMIT, TOO_MUCH);
		return false;
	}
	return th_admission(&s->admission, &s->settings.s, th_loop_now_ms(s->loop), why);
}

static size_t running_here(void *ctx, const char *user)
{
	const struct th_server *s = ctx;
	size_t count = 0;

	for (const struct th_hub *h = s->hubs.first; h; h = h->next)
		count += strcmp(h->user, user) == 0 && th_hub_runs(h);
	return count;
}

/* Users who were refused, and who come before this one, take all that is free. */
static bool is_taken(struct th_server *s, const char *user, enum th_priority p)
{
	const struct th_serve_settings *set = &s->settings.s;
	size_t before =
	    th_shares_before(&s->shares, user, p, th_loop_now_ms(s->loop), running_here, s);
	uint64_t capacity = set->fleet ? (uint64_t)set->fleet->capacity : 0;

	if (!before)
		return false;
	/* How many more the machine can take, nobody knows: one at a time. */
	if (!capacity || set->free_memory_mib || set->load_per_processor > 0)
		return true;
	return before + busy(s) >= capacity;
}

/* What has begun is finished first: who is refused at once can ask another server.  `late`: there
 * is too much to do before it. */
static bool is_overloaded(struct th_server *s, const char *user, enum th_priority p, bool late,
			  struct th_err *why)
{
	bool draining = s->fleet && s->fleet->draining;

	if (late || s->hubs.open - s->hubs.spare_count >= TH_SERVE_OPEN_MAX) {
		(void)th_fail(why, TH_ELIMIT, TOO_MUCH);
		return true;
	}
	if (th_quota_node_has_room(s, why)) {
		if (!is_taken(s, user, p)) {
			th_shares_forget(&s->shares, user);
			return false;
		}
		(void)th_fail(why, TH_ELIMIT,
			      "the server has room for few more, and users who have fewer "
			      "sessions, or a higher priority, wait for it");
	}
	if (!draining)
		th_shares_refuse(&s->shares, user, p, th_loop_now_ms(s->loop));
	return true;
}

static void refuse_place(struct th_server *s, const struct th_quota *q,
			 const struct thole_error *err, struct th_refusal *ret)
{
	bool full = err->code == THOLE_ELIMIT;

	*ret = (struct th_refusal){ .wait_ms = 1000,
				    .code = full ? "sessions" : thole_code_name(err->code),
				    .status = full ? 429 : 503 };
	if (full)
		(void)th_fail(&ret->why, TH_ELIMIT, "%lld of your sessions run, and no more may",
			      (long long)q->sessions);
	else
		(void)th_fail(&ret->why, TH_ECONN, "%s; try again in a second", err->text);
	s->metrics.refused_quota += full;
}

static enum th_room room(struct th_needs *needs, const char *user, enum th_priority p, bool late,
			 struct th_refusal *ret)
{
	struct th_server *s = needs->server;
	struct th_quota q = th_settings_quota(&s->settings, user);
	const struct th_found *place = NULL;
	enum th_room today;
	struct th_err why = { 0 };

	if (is_overloaded(s, user, p, late, &why)) {
		*ret = (struct th_refusal){ .wait_ms = 1000, .code = "overloaded", .status = 503 };
		(void)th_fail(&ret->why, TH_ELIMIT, "%s; try again in a second", why.msg);
		s->metrics.refused_load++;
		return TH_ROOM_NO;
	}
	if (q.sessions)
		place = th_need_reservation(needs, user, q.sessions);
	today = room_today(needs, user, &q, ret);
	if ((q.sessions && !place) || today == TH_ROOM_PENDING)
		return TH_ROOM_PENDING;
	if (place && place->err) {
		refuse_place(s, &q, place->err, ret);
		return TH_ROOM_NO;
	}
	s->metrics.refused_quota += today == TH_ROOM_NO;
	return today;
}

/* It does not wait for its turn: many long passes say that there is too much to do. */
enum th_room th_quota_room(struct th_needs *needs, const char *user, enum th_priority p,
			   struct th_refusal *ret)
{
	const struct th_loop *l = needs->server->loop;
	unsigned passes = th_loop_long_passes(l) + th_loop_pass_took(l, TH_LOOP_LONG_MS);

	return room(needs, user, p, passes >= TH_SERVE_LONG_PASSES, ret);
}

enum th_priority th_quota_highest(const struct th_access *a)
{
	return a->scopes & TH_SCOPE_ADMIN
		   ? TH_PRIORITY_HIGH
		   : th_settings_quota(&a->server->settings, a->user).priority;
}

bool th_quota_priority(struct th_access *a, struct th_str name)
{
	enum th_priority highest = th_quota_highest(a), wanted;

	if (!name.len)
		return true;
	if (!th_priority_parse(name, &wanted)) {
		th_access_fault(a, 400, "invalid_value", "priority",
				"priority is " TH_PRIORITY_NAMES);
		return false;
	}
	a->priority = wanted;
	if (wanted <= highest)
		return true;
	th_access_fail(a, 403, "priority", "your sessions have the priority %s at most",
		       th_priority_name(highest));
	return false;
}

void th_quota_turn(struct th_begin_entry *e)
{
	struct th_access *a = TH_CONTAINER_OF(e, struct th_access, begin);

	a->needs.again(a->needs.ctx);
}

bool th_quota_begin(struct th_access *a)
{
	enum th_begin_turn turn = th_begin_queue_ask(&a->server->begins, &a->begin);
	struct th_refusal r;
	enum th_room found;

	if (turn == TH_BEGIN_WAITS)
		return false;
	found = room(&a->needs, a->user, a->priority, turn == TH_BEGIN_LATE, &r);
	if (found == TH_ROOM_NO)
		th_access_wait(a, r.status, r.wait_ms, r.code, "%s", r.why.msg);
	return found == TH_ROOM_YES;
}
