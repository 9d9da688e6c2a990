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
 * cannot be read counts as nothing: the store that fails ends the server anyway. */
static int64_t running_elsewhere(struct th_server *s, const char *user)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const char *options[] = { "user", user, "state", "running", "limit", LIST_MAX_TEXT, NULL };
	struct th_str names[LIST_MAX];
	struct thole_error err;
	char *text = NULL;
	size_t count = 0, ours = 0;

	if (thole_runtime_page(s->rt, options, &text, &err) != 0)
		return 0;
	if (th_json_parse(th_str_of(text), &doc, NULL) == TH_OK)
		count = names_of(th_json_root(doc), names);
	for (const struct th_hub *h = s->hubs.first; h; h = h->next)
		if (h->session && strcmp(h->user, user) == 0)
			ours += has_name(names, count, th_str_of(h->id));
	thole_free(text);
	return (int64_t)(count - TH_MIN(ours, count));
}

/* In the whole fleet; `limit`: nobody asks how many more there are.  0: all. */
static int64_t running(struct th_server *s, const char *user, int64_t limit)
{
	int64_t count = 0;

	for (const struct th_hub *h = s->hubs.first; h; h = h->next)
		count += strcmp(h->user, user) == 0 && th_hub_runs(h);
	if (!s->fleet || (limit && count >= limit))
		return count;
	return count + running_elsewhere(s, user);
}

/* ---- of a day ---- */

#define DAY_MS UINT64_C(86400000)

struct used {
	int64_t turns;
	double cost_usd;
};

/* What the user's sessions used since midnight (UTC).  What cannot be read counts as nothing: the
 * store that fails ends the server anyway. */
static struct used used_today(struct th_server *s, const char *user)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct used all = { 0 };
	char day[40] = "";
	const char *options[] = { "user", user, "from", day, "to", day, NULL };
	time_t now = (time_t)(th_clock_wall_ms() / 1000);
	const struct th_json *list, *row;
	struct thole_error err;
	struct tm tm;
	char *text = NULL;

	if (!gmtime_r(&now, &tm) || !strftime(day, sizeof(day), "%Y-%m-%d", &tm) ||
	    thole_runtime_usage(s->rt, options, &text, &err) != 0)
		return all;
	if (th_json_parse(th_str_of(text), &doc, NULL) == TH_OK) {
		list = th_json_get(th_json_root(doc), "usage");
		for (size_t i = 0; (row = th_json_at(list, i)); i++) {
			all.turns += th_json_get_int(row, "turns", 0);
			all.cost_usd += th_json_num(th_json_get(row, "cost_usd"), 0);
		}
	}
	thole_free(text);
	return all;
}

static bool has_day(struct th_server *s, const char *user, const struct th_quota *q,
		    struct th_refusal *ret)
{
	struct used u;

	if (!q->turns_per_day && q->cost_usd_per_day <= 0)
		return true;
	u = used_today(s, user);
	*ret =
	    (struct th_refusal){ .wait_ms = DAY_MS - th_clock_wall_ms() % DAY_MS, .status = 429 };
	if (q->turns_per_day && u.turns >= q->turns_per_day) {
		ret->code = "turns";
		(void)th_fail(&ret->why, TH_ELIMIT,
			      "your %lld turns of today are used up; the next day begins at "
			      "midnight, UTC",
			      (long long)q->turns_per_day);
		return false;
	}
	if (q->cost_usd_per_day > 0 && u.cost_usd >= q->cost_usd_per_day) {
		ret->code = "cost";
		(void)th_fail(&ret->why, TH_ELIMIT,
			      "your $%.2f of today are used up; the next day begins at midnight, "
			      "UTC",
			      q->cost_usd_per_day);
		return false;
	}
	return true;
}

/* Somebody waits for its answer now, who cannot be told to come again tomorrow. */
static bool is_awaited(struct th_hub *h)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *response;
	struct thole_error err;
	char *row = NULL;
	bool is;

	if (thole_runtime_session(h->server->rt, h->id, NULL, &row, &err) != 0)
		return false;
	is = th_json_parse(th_str_of(row), &doc, NULL) == TH_OK;
	response =
	    is ? th_json_get(th_json_get(th_json_root(doc), "metadata"), TH_RESPONSE_MEMBER) : NULL;
	is = response && !th_json_bool(th_json_get(response, "background"), false);
	thole_free(row);
	return is;
}

void th_quota_look(struct th_hub *h)
{
	struct th_quota q = th_settings_quota(&h->server->settings, h->user);
	struct thole_error err;
	struct th_refusal r;

	if (!th_hub_runs(h) || has_day(h->server, h->user, &q, &r))
		return;
	h->server->metrics.refused_quota++;
	/* One that is over meanwhile takes neither, and needs none. */
	if (is_awaited(h))
		(void)thole_session_cancel(h->session, THOLE_AFTER_TURN, &err);
	else
		(void)thole_session_pause(h->session, r.why.msg, &err);
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
	struct used u = used_today(a->server, a->user);
	uint64_t now = th_clock_wall_ms();

	th_jw_object(&w);
	put_used(&w, "sessions", (double)running(a->server, a->user, 0), (double)q.sessions);
	put_used(&w, "turns_today", (double)u.turns, (double)q.turns_per_day);
	put_used(&w, "cost_usd_today", u.cost_usd, q.cost_usd_per_day);
	th_jw_kuint(&w, "day_ends_ms", now - now % DAY_MS + DAY_MS);
	th_jw_object_end(&w);
	th_access_json(a, 200, &json);
}

/* ---- to begin ---- */

bool th_quota_node_has_room(const struct th_server *s)
{
	const struct th_serve_fleet *set = s->settings.s.fleet;
	size_t busy = s->hubs.open - s->hubs.spare_count + s->claims;

	if (!s->fleet || !set)
		return true;
	return !s->fleet->draining && (!set->capacity || busy < (uint64_t)set->capacity);
}

/* What has begun is finished first: who is refused at once can ask another server. */
static bool is_overloaded(const struct th_server *s)
{
	return th_loop_long_passes(s->loop) + th_loop_pass_is_long(s->loop) >=
		   TH_SERVE_LONG_PASSES ||
	       !th_quota_node_has_room(s) ||
	       s->hubs.open - s->hubs.spare_count >= TH_SERVE_OPEN_MAX;
}

bool th_quota_has_room(struct th_server *s, const char *user, struct th_refusal *ret)
{
	struct th_quota q = th_settings_quota(&s->settings, user);

	if (is_overloaded(s)) {
		*ret = (struct th_refusal){ .wait_ms = 1000, .code = "overloaded", .status = 503 };
		(void)th_fail(&ret->why, TH_ELIMIT,
			      "the server has more to do than it can; try again in a second");
		s->metrics.refused_load++;
		return false;
	}
	if (q.sessions && running(s, user, q.sessions) >= q.sessions) {
		*ret = (struct th_refusal){ .wait_ms = 1000, .code = "sessions", .status = 429 };
		(void)th_fail(&ret->why, TH_ELIMIT, "%lld of your sessions run, and no more may",
			      (long long)q.sessions);
		s->metrics.refused_quota++;
		return false;
	}
	if (has_day(s, user, &q, ret))
		return true;
	s->metrics.refused_quota++;
	return false;
}

bool th_quota_begin(struct th_access *a)
{
	struct th_refusal r;

	if (th_quota_has_room(a->server, a->user, &r))
		return true;
	th_access_wait(a, r.status, r.wait_ms, r.code, "%s", r.why.msg);
	return false;
}
