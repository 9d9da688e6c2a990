/* SPDX-License-Identifier: Apache-2.0 */
/* takeover.c - sessions that were running when this server, or another node, ended. */
#include <stdio.h>

#include "server/service.h"

static bool was_running(void *ctx, const char *session, struct thole_agent **ret_agent)
{
	struct th_server *s = ctx;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str state;
	bool wanted;

	*ret_agent = NULL;
	if (!th_quota_node_has_room(s))
		return false;
	if (th_json_parse(th_str_of(session), &doc, NULL) != TH_OK)
		return false;
	state = th_json_get_str(th_json_root(doc), "state");
	/* A server always says whose a session is; `thole run` never does. */
	wanted = th_json_get_str(th_json_root(doc), "user").len > 0 &&
		 (th_str_is(state, "running") || th_str_is(state, "loading"));
	s->claims += wanted;
	return wanted;
}

/* A request that waited for its answer when the server died: nobody waits any more. */
static bool caller_is_gone(const struct th_json *row)
{
	const struct th_json *response =
	    th_json_get(th_json_get(row, "metadata"), TH_RESPONSE_MEMBER);

	return response && !th_json_bool(th_json_get(response, "background"), false);
}

static bool is_not_kept(const struct th_json *row)
{
	return !th_json_bool(th_json_get(th_json_get(row, "metadata"), TH_KEEP_MEMBER), true);
}

/* Responses that were not to be kept, whose server ended before they were deleted. */
static void doom_left(struct th_server *s)
{
	const char *options[] = {
		"metadata", TH_KEEP_MEMBER "=false", "order", "created", "limit", "1000", NULL
	};
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;
	struct thole_error e;
	char *page = NULL;

	/* More than that many wait for the next start. */
	if (thole_runtime_page(s->rt, options, &page, &e) != 0)
		return;
	if (th_json_parse(th_str_of(page), &doc, NULL) == TH_OK) {
		it = th_json_iter(th_json_get(th_json_root(doc), "sessions"));
		while (th_json_next(&it)) {
			char id[TH_SESSION_ID_MAX + 1], user[TH_USER_MAX + 1];

			snprintf(id, sizeof(id), "%.*s",
				 TH_FMT(th_json_get_str(it.val, "session_id")));
			snprintf(user, sizeof(user), "%.*s",
				 TH_FMT(th_json_get_str(it.val, "user")));
			th_hub_get(s, id, user)->doomed = true;
		}
	}
	thole_free(page);
}

static void recovered(void *ctx, const char *id, struct thole_session *session,
		      const struct thole_error *why)
{
	struct th_server *s = ctx;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct thole_error e;
	struct th_hub *h;
	char user[TH_USER_MAX + 1], *row = NULL;

	(void)why; /* it stays in the store, and whoever asks for it is told */
	s->claims--;
	if (!session)
		return;
	if (thole_runtime_session(s->rt, id, NULL, &row, &e) != 0 ||
	    th_json_parse(th_str_of(row), &doc, NULL) != TH_OK) {
		thole_session_free(session);
		thole_free(row);
		return;
	}
	snprintf(user, sizeof(user), "%.*s", TH_FMT(th_json_get_str(th_json_root(doc), "user")));
	thole_free(row);
	h = th_hub_get(s, id, user);
	th_hub_adopt(h, session);
	h->doomed = is_not_kept(th_json_root(doc)); /* whoever asked for it is gone */
	if (caller_is_gone(th_json_root(doc)) && thole_session_cancel(session, THOLE_NOW, &e) == 0)
		return;
	s->metrics.sessions_recovered++;
}

enum th_code th_server_recover(struct th_server *s, struct th_err *err)
{
	struct thole_error e;

	if (thole_runtime_recover(s->rt, was_running, recovered, s, true, &e) != 0)
		return th_fail(err, (enum th_code)e.code, "%s", e.text);
	doom_left(s);
	return TH_OK;
}

void th_server_look(struct th_server *s)
{
	struct thole_error e;

	if (th_quota_node_has_room(s) &&
	    thole_runtime_take_over(s->rt, was_running, recovered, s, &e) != 0)
		th_journal_say(s, "store", "take over: %s", e.text);
}
