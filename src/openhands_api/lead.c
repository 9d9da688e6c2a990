/* SPDX-License-Identifier: Apache-2.0 */
/* lead.c - what a client asks of one conversation, says to it, and decides in it. */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "io/clock.h"
#include "openhands_api/internal.h"

static void succeed(struct th_access *a)
{
	th_access_text(a, 200, "application/json", TH_STR("{\"success\":true}"));
}

static void succeed_after(struct th_access *a, const char *session, int status)
{
	(void)session;
	(void)status;
	succeed(a);
}

void th_oh_get(struct th_access *a)
{
	if (!th_oh_mine(a, NULL))
		return;
	/* Who polls waits for the end of a run; the word of it may have come before he listened. */
	th_oh_sockets_poll(a->server->openhands, a->args[0]);
	th_oh_answer_info(a, a->args[0], 200);
}

/* ---- messages and runs ---- */

static void say(struct th_access *a, const char *session, int status)
{
	struct th_hub *h = th_hub_find(a->server, session);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = th_access_body(a);
	struct th_oh_said said = { 0 };
	struct thole_error e;
	struct th_err err = {};

	(void)status;
	if (!doc)
		return;
	if (th_oh_said_read(th_json_root(doc), &said, &err))
		th_access_fail(a, 422, NULL, "%s", err.msg);
	else if (said.run && !th_hub_runs(h) && !th_quota_begin(a))
		;
	else if (th_oh_goal_end(h, a->user, &e) != 0 || th_oh_say(h, &said, &e) != 0)
		th_access_error(a, &e);
	else {
		th_quota_begins(&a->needs, h);
		th_access_after(a, h, 200, "message items_added", succeed_after);
	}
	th_oh_said_deinit(&said);
}

void th_oh_message(struct th_access *a)
{
	th_oh_with_open(a, say);
}

static void run(struct th_access *a, const char *session, int status)
{
	struct th_hub *h = th_hub_find(a->server, session);
	struct thole_error err;

	(void)status;
	if (!th_hub_runs(h) && !th_quota_begin(a))
		return;
	if (th_oh_run(h, a->scopes & TH_SCOPE_APPROVE, a->user, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	th_quota_begins(&a->needs, h);
	th_server_kick(a->server);
	th_oh_sockets_poll(a->server->openhands, session);
	succeed(a);
}

void th_oh_post_run(struct th_access *a)
{
	th_oh_with_open(a, run);
}

static void pause_it(struct th_access *a, const char *session, int status)
{
	struct th_hub *h = th_hub_find(a->server, session);
	struct thole_error err;
	int code = 0;

	(void)status;
	if (th_hub_runs(h))
		code = thole_session_pause(h->session, "paused by the user", &err);
	th_server_kick(a->server);
	if (code)
		th_access_error(a, &err);
	else
		succeed(a);
}

void th_oh_pause(struct th_access *a)
{
	th_oh_with_open(a, pause_it);
}

static void interrupt(struct th_access *a, const char *session, int status)
{
	struct th_hub *h = th_hub_find(a->server, session);
	struct thole_error err;
	int code = 0;

	(void)status;
	if (th_hub_runs(h))
		code = thole_session_cancel(h->session, THOLE_NOW, &err);
	th_server_kick(a->server);
	if (code)
		th_access_error(a, &err);
	else
		succeed(a);
}

void th_oh_interrupt(struct th_access *a)
{
	th_oh_with_open(a, interrupt);
}

/* ---- decisions ---- */

/* Everything that waits; then it is held, as it is there, until somebody runs it. */
static int reject_all(struct th_hub *h, const char *by, const char *reason, struct thole_error *err)
{
	int code = thole_session_reject(h->session, NULL, by, reason, err);

	for (size_t i = 1; !code && i < TH_CALLS_MAX && thole_session_waits_for(h->session); i++)
		code = thole_session_reject(h->session, NULL, by, reason, err);
	if (!code && thole_session_state(h->session) == THOLE_RUNNING)
		code = thole_session_pause(h->session, TH_HELD_REASON, err);
	return code;
}

static void respond(struct th_access *a, const char *session, int status)
{
	struct th_hub *h = th_hub_find(a->server, session);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = th_access_body(a);
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	const struct th_json *v = doc ? th_json_root(doc) : NULL;
	struct th_str reason = th_json_get_str(v, "reason");
	struct thole_error err;
	bool accepts;
	int code;

	(void)status;
	if (!doc)
		return;
	th_arena_init(&memory, TH_SERVE_SMALL_MAX);
	if (th_json_type(th_json_get(v, "accept")) != TH_JSON_BOOL ||
	    (reason.len && memchr(reason.ptr, 0, reason.len))) {
		th_access_fail(a, 422, NULL,
			       "accept is true or false, and reason a text without a zero in it");
		return;
	}
	accepts = th_json_bool(th_json_get(v, "accept"), false);
	if (thole_session_state(h->session) != THOLE_WAITING) {
		/* A client knows late that what he rejects again was rejected. */
		if (accepts)
			th_access_fail(a, 409, NULL, "nothing waits for a word");
		else
			succeed(a);
		return;
	}
	if (accepts)
		code = th_oh_run(h, true, a->user, &err);
	else
		code = reject_all(h, a->user, reason.len ? th_arena_cstr(&memory, reason) : NULL,
				  &err);
	if (code) {
		th_access_error(a, &err);
		return;
	}
	a->server->metrics.decisions++;
	h->rested_ms = 0;
	th_access_after(a, h, 200, "approval_decided", succeed_after);
}

void th_oh_respond(struct th_access *a)
{
	th_oh_with_open(a, respond);
}

/* Another title (NULL: the same), and a member of ours in the session's metadata (`name` NULL:
 * none).  What it says now is the session's own word, so two that come at once lose nothing. */
static int describe(struct th_hub *h, const char *by, const char *title, const char *name,
		    const struct th_json *value, struct thole_error *err)
{
	struct th_buf metadata TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_METADATA_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const char *old = thole_session_metadata(h->session);

	if (name && old && old[0] && th_json_parse(th_str_of(old), &doc, NULL) != TH_OK) {
		err->code = THOLE_ECORRUPT;
		snprintf(err->text, sizeof(err->text), "the session's metadata is no JSON");
		return err->code;
	}
	if (name)
		th_oh_print_own(doc ? th_json_root(doc) : NULL, name, value, &metadata);
	return thole_session_describe(h->session, title, name ? metadata.ptr ?: "" : NULL, by, err);
}

static void set_policy(struct th_access *a, const char *session, int status)
{
	struct th_hub *h = th_hub_find(a->server, session);
	struct th_buf confirm TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = th_access_body(a);
	const struct th_json *policy = doc ? th_json_get(th_json_root(doc), "policy") : NULL;
	struct thole_error err;

	(void)status;
	if (!doc)
		return;
	if (!th_oh_confirm_of(policy, &confirm))
		th_access_fail(a, 422, NULL,
			       "policy is NeverConfirm, AlwaysConfirm or ConfirmRisky");
	/* The words of it are an event of the same kind; both become durable at once. */
	else if (describe(h, a->user, NULL, "policy", policy, &err) != 0 ||
		 thole_session_confirm(h->session, confirm.ptr, a->user, &err) != 0)
		th_access_error(a, &err);
	else
		th_access_durable(a, h, 200, succeed_after);
}

void th_oh_policy(struct th_access *a)
{
	th_oh_with_open(a, set_policy);
}

void th_oh_analyzer(struct th_access *a)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = th_access_body(a);

	if (!doc || !th_oh_mine(a, NULL))
		return;
	if (th_json_is_null(th_json_get(th_json_root(doc), "security_analyzer")))
		succeed(a);
	else
		th_access_fail(a, 501, NULL,
			       "analysers stand in the agent file: confirm.analysers "
			       "(docs/AGENT-FILES.md)");
}

/* ---- the rest of its life ---- */

static void condense(struct th_access *a, const char *session, int status)
{
	struct th_hub *h = th_hub_find(a->server, session);
	struct thole_error err;

	(void)status;
	if (thole_session_condense(h->session, a->user, &err) != 0)
		th_access_error(a, &err);
	else
		th_access_after(a, h, 200, "condensation_requested", succeed_after);
}

void th_oh_condense(struct th_access *a)
{
	th_oh_with_open(a, condense);
}

static void change(struct th_access *a, const char *session, int status)
{
	struct th_hub *h = th_hub_find(a->server, session);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = th_access_body(a);
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	const struct th_json *v = doc ? th_json_root(doc) : NULL, *tags = th_json_get(v, "tags");
	struct th_str title = th_json_get_str(v, "title");
	bool tagged = !th_json_is_null(tags), titled = !th_json_is_null(th_json_get(v, "title"));
	struct thole_error err;
	const char *text;

	(void)status;
	if (!doc)
		return;
	th_arena_init(&memory, TH_SERVE_SMALL_MAX);
	text = title.len ? th_arena_cstr(&memory, th_str_trim(title)) : NULL;
	if ((titled && (!text || !text[0])) || th_oh_tags_fault(tags))
		th_access_fail(a, 422, NULL, "%s",
			       th_oh_tags_fault(tags) ?: "title is a text that says something");
	else if (!text && !tagged)
		succeed(a);
	else if (describe(h, a->user, text, tagged ? "tags" : NULL, tags, &err) != 0)
		th_access_error(a, &err);
	else
		th_access_durable(a, h, 200, succeed_after);
}

void th_oh_change(struct th_access *a)
{
	th_oh_with_open(a, change);
}

static void answer_discarded(struct th_access *a, const char *session,
			     const struct thole_error *err)
{
	if (err) {
		th_access_error(a, err);
		return;
	}
	th_oh_forget(a->server->openhands, session);
	succeed(a);
}

static void delete_written(struct th_access *a, const char *session, int status)
{
	(void)status;
	th_access_discard(a, session, answer_discarded);
}

/* Its newest events, such as of a command of the client, are on their way: it is at work so long.
 */
static void delete_ready(struct th_access *a, const char *session, int status)
{
	struct th_hub *h = th_hub_find(a->server, session);

	if (h && h->session)
		th_access_durable(a, h, status, delete_written);
	else
		delete_written(a, session, status);
}

/* One that runs is stopped first, and deleted when it rests, also if its client has left. */
struct ending {
	struct th_listener listener;
	struct th_access *access;
};

static void ending_free(struct ending *e)
{
	th_hub_unlisten(&e->listener);
	free(e);
}

static void on_ending_gone(struct th_access *a)
{
	struct ending *e = a->ctx;

	e->listener.hub->doomed = true;
	ending_free(e);
}

/* It is not this server's any more: it was deleted by somebody else, or went to another one. */
static void answer_ended(struct th_access *a)
{
	const struct th_found *row = th_need_session(&a->needs, a->args[0], a->user);

	if (row && row->err)
		answer_discarded(a, a->args[0], NULL);
	else if (row)
		th_access_fail(a, 503, NULL, "the conversation is stopped, and not deleted yet");
}

static void on_ending_note(struct th_listener *l, const struct thole_note *note)
{
	struct ending *e = TH_CONTAINER_OF(l, struct ending, listener);
	struct th_access *a = e->access;
	struct th_hub *h = l->hub;

	if (note && th_hub_runs(h))
		return;
	a->gone = NULL;
	a->ctx = NULL;
	ending_free(e);
	if (note) {
		th_access_ready(a, h, delete_ready);
		return;
	}
	th_needs_forget(&a->needs);
	a->again = answer_ended;
	answer_ended(a);
}

static void delete_running(struct th_access *a, struct th_hub *h)
{
	struct thole_error err;
	int code = thole_session_cancel(h->session, THOLE_NOW, &err);
	struct ending *e;

	if (!th_hub_runs(h)) {
		th_access_ready(a, h, delete_ready);
		return;
	}
	if (code) {
		th_access_error(a, &err);
		return;
	}
	e = th_alloc(sizeof(*e));
	*e = (struct ending){ .access = a };
	e->listener.fn = on_ending_note;
	a->ctx = e;
	a->gone = on_ending_gone;
	th_hub_listen(h, &e->listener);
	th_server_kick(a->server);
}

void th_oh_delete(struct th_access *a)
{
	struct th_hub *h;

	if (!th_oh_mine(a, NULL))
		return;
	h = th_hub_find(a->server, a->args[0]);
	if (h && h->session && th_hub_runs(h))
		delete_running(a, h);
	else if (h && h->session)
		th_access_ready(a, h, delete_ready);
	else
		delete_written(a, a->args[0], 0);
}
