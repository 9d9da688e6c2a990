/* SPDX-License-Identifier: Apache-2.0 */
/* takeover.c - sessions that were running when this server, or another node, ended. */
#include <stdio.h>
#include <stdlib.h>

#include "server/service.h"

/* What its row said of it. */
struct th_claim {
	struct th_claim *next;
	bool caller_gone, doomed;
	struct thole_agent *agent; /* with the functions of its client; NULL: it has none */
	char user[TH_USER_MAX + 1], id[TH_SESSION_ID_MAX + 1];
};

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

static struct th_claim *claim_add(struct th_server *s, const struct th_json *row)
{
	struct th_claim *c = th_alloc(sizeof(*c));

	*c = (struct th_claim){ .next = s->claim };
	c->caller_gone = caller_is_gone(row);
	c->doomed = is_not_kept(row); /* whoever asked for it is gone */
	snprintf(c->user, sizeof(c->user), "%.*s", TH_FMT(th_json_get_str(row, "user")));
	snprintf(c->id, sizeof(c->id), "%.*s", TH_FMT(th_json_get_str(row, "session_id")));
	s->claim = c;
	s->claims++;
	return c;
}

static void claim_free(struct th_claim *c) /* takes NULL */
{
	if (c)
		thole_agent_free(c->agent);
	free(c);
}

/* NULL: it was not wanted. */
static struct th_claim *claim_take(struct th_server *s, const char *id)
{
	struct th_claim **at = &s->claim, *c;

	while (*at && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	c = *at;
	if (!c)
		return NULL;
	*at = c->next;
	s->claims--;
	return c;
}

static bool was_running(void *ctx, const char *session, struct thole_agent **ret_agent)
{
	struct th_server *s = ctx;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *metadata;
	struct thole_error e;
	struct th_claim *c;
	struct th_str state;
	bool wanted;

	*ret_agent = NULL;
	if (!th_quota_node_has_room(s, NULL))
		return false;
	if (th_json_parse(th_str_of(session), &doc, NULL) != TH_OK)
		return false;
	metadata = th_json_get(th_json_root(doc), "metadata");
	state = th_json_get_str(th_json_root(doc), "state");
	/* A server always says whose a session is; `thole run` never does. */
	wanted = th_json_get_str(th_json_root(doc), "user").len > 0 &&
		 (th_str_is(state, "running") || th_str_is(state, "loading") ||
		  th_str_is(state, "scheduled"));
	if (!wanted)
		return false;
	c = claim_add(s, th_json_root(doc));
	/* Functions that a client answers are given with its next request, which opens it. */
	if (!th_json_get(metadata, TH_RESPONSE_MEMBER) &&
	    th_functions_agent(s, metadata, &c->agent, &e) != 0)
		th_journal_say(s, "sessions", "the tools of a client, in %s: %s", c->id, e.text);
	*ret_agent = c->agent;
	return true;
}

/* Responses that were not to be kept, whose server ended before they were deleted. */
static void doom_left(void *ctx)
{
	static const char *const options[] = {
		"metadata", TH_KEEP_MEMBER "=false", "order", "created", "limit", "1000", NULL
	};
	struct th_server *s = ctx;
	const struct th_found *page = th_need_page(&s->left, options);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;

	if (!page)
		return;
	/* More than that many wait for the next start. */
	if (!page->err && th_json_parse(page->text, &doc, NULL) == TH_OK) {
		it = th_json_iter(th_json_get(th_json_root(doc), "sessions"));
		while (th_json_next(&it)) {
			char id[TH_SESSION_ID_MAX + 1], user[TH_USER_MAX + 1];

			if (th_json_get_int(it.val, "created_ms", 0) >= s->began_ms)
				continue; /* somebody waits for it */
			snprintf(id, sizeof(id), "%.*s",
				 TH_FMT(th_json_get_str(it.val, "session_id")));
			snprintf(user, sizeof(user), "%.*s",
				 TH_FMT(th_json_get_str(it.val, "user")));
			th_hub_get(s, id, user)->doomed = true;
		}
	}
	th_needs_forget(&s->left);
}

static void recovered(void *ctx, const char *id, struct thole_session *session,
		      const struct thole_error *why)
{
	struct th_server *s = ctx;
	struct th_claim *c = claim_take(s, id);
	struct thole_error e;
	struct th_hub *h;

	(void)why; /* it stays in the store, and whoever asks for it is told */
	if (c && session) {
		h = th_hub_get(s, id, c->user);
		th_hub_adopt(h, session);
		h->doomed = c->doomed;
		if (!c->caller_gone || thole_session_cancel(session, THOLE_NOW, &e) != 0)
			s->metrics.sessions_recovered++;
	} else if (session) {
		thole_session_free(session);
	}
	claim_free(c);
}

enum th_code th_server_recover(struct th_server *s, struct th_err *err)
{
	struct thole_error e;

	if (thole_runtime_recover(s->rt, was_running, recovered, s, true, &e) != 0)
		return th_fail(err, (enum th_code)e.code, "%s", e.text);
	s->left = (struct th_needs){ .server = s, .again = doom_left, .ctx = s };
	doom_left(s);
	return TH_OK;
}

void th_server_recover_end(struct th_server *s)
{
	th_needs_forget(&s->left);
	while (s->claim)
		claim_free(claim_take(s, s->claim->id));
}

void th_server_look(struct th_server *s)
{
	struct thole_error e;

	if (th_quota_node_has_room(s, NULL) &&
	    thole_runtime_take_over(s->rt, was_running, recovered, s, &e) != 0)
		th_journal_say(s, "store", "take over: %s", e.text);
}
