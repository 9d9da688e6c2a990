/* SPDX-License-Identifier: Apache-2.0 */
/*
 * goal.c - /goal: a conversation is given a goal, by which its final outputs are judged until it is
 * reached (thole_session_goal).  It is told among the events, which are made of the log.
 */
#include "base/text.h"
#include "openhands_api/internal.h"

static void succeed(struct th_access *a, const char *session, int status)
{
	(void)session;
	(void)status;
	th_access_text(a, 200, "application/json", TH_STR("{\"success\":true}"));
}

/* `code`: of what was asked of the session. */
static void answer(struct th_access *a, struct th_hub *h, int code, const struct thole_error *err)
{
	th_server_kick(a->server);
	if (code == THOLE_EPROTO || code == THOLE_EBUSY)
		th_access_fail(a, 409, NULL, "Conversation run or goal loop already running.");
	else if (code == THOLE_ENOENT)
		th_access_fail(a, 400, NULL, "no_resumable_goal");
	else if (code)
		th_access_error(a, err);
	else
		th_access_durable(a, h, 200, succeed);
}

/* One that was held until somebody runs it runs now. */
static int run(struct th_access *a, struct th_hub *h, struct thole_error *err)
{
	int code = 0;

	if (thole_session_state(h->session) != THOLE_RUNNING)
		code = th_oh_run(h, a->scopes & TH_SCOPE_APPROVE, a->user, err);
	h->rested_ms = 0;
	return code;
}

static bool is_busy(const struct th_hub *h)
{
	int state = thole_session_state(h->session);

	return state == THOLE_RUNNING || state == THOLE_WAITING || state == THOLE_LOADING;
}

static void begin(struct th_access *a, const char *session, int status)
{
	struct th_hub *h = th_hub_find(a->server, session);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = th_access_body(a);
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	const struct th_json *v = doc ? th_json_root(doc) : NULL;
	struct th_str objective = th_json_get_str(v, "objective");
	const struct th_json *most = th_json_get(v, "max_iterations");
	int64_t rounds = th_json_is_null(most) ? TH_GOAL_ROUNDS_DEFAULT : th_json_int(most, 0);
	struct thole_error err = { 0 };
	int code;

	(void)status;
	if (!doc)
		return;
	th_arena_init(&memory, 2 * TH_GOAL_MAX);
	if (!th_str_trim(objective).len || objective.len > TH_GOAL_MAX ||
	    memchr(objective.ptr, 0, objective.len) || rounds < 1 || rounds > TH_GOAL_ROUNDS_MAX) {
		th_access_fail(a, 422, NULL,
			       "objective is a text of at most %zu bytes, and max_iterations 1 to "
			       "%d",
			       (size_t)TH_GOAL_MAX, TH_GOAL_ROUNDS_MAX);
		return;
	}
	if (is_busy(h)) {
		answer(a, h, THOLE_EBUSY, &err);
		return;
	}
	if (!th_quota_begin(a))
		return;
	code = thole_session_goal(h->session, th_arena_cstr(&memory, objective), rounds, a->user,
				  &err);
	code = code ?: run(a, h, &err);
	if (!code)
		th_quota_begins(&a->needs, h);
	answer(a, h, code, &err);
}

void th_oh_goal(struct th_access *a)
{
	th_oh_with_open(a, begin);
}

int th_oh_goal_end(struct th_hub *h, const char *by, struct thole_error *err)
{
	return thole_session_goal_state(h->session) == THOLE_GOAL_ON
		   ? thole_session_goal_end(h->session, by, err)
		   : 0;
}

static void stop(struct th_access *a, const char *session, int status)
{
	struct th_hub *h = th_hub_find(a->server, session);
	struct thole_error err = { 0 };

	(void)status;
	answer(a, h, th_oh_goal_end(h, a->user, &err), &err);
}

void th_oh_goal_stop(struct th_access *a)
{
	th_oh_with_open(a, stop);
}

/* On, and its run was interrupted; in a fork its message may not be said yet. */
static bool only_runs(const struct th_hub *h)
{
	int state = thole_session_state(h->session);

	return thole_session_goal_state(h->session) == THOLE_GOAL_ON && state != THOLE_IDLE &&
	       state != THOLE_FINISHED;
}

/* One that a pause or a failure has interrupted was not ended: its run goes on. */
static void resume(struct th_access *a, const char *session, int status)
{
	struct th_hub *h = th_hub_find(a->server, session);
	struct thole_error err = { 0 };
	int code = 0;

	(void)status;
	if (is_busy(h)) {
		answer(a, h, THOLE_EBUSY, &err);
		return;
	}
	if (!th_quota_begin(a))
		return;
	if (!only_runs(h))
		code = thole_session_goal(h->session, NULL, 0, a->user, &err);
	code = code ?: run(a, h, &err);
	if (!code)
		th_quota_begins(&a->needs, h);
	answer(a, h, code, &err);
}

void th_oh_goal_resume(struct th_access *a)
{
	th_oh_with_open(a, resume);
}
