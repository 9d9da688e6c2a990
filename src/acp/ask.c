/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.c - calls that wait for a person, asked about in the editor; and the agent's questions.
 *
 * A question is a form where the editor shows forms.  Where it does not, its options are choices,
 * as those of a call that needs approval are.
 */
#include <stdio.h>
#include <stdlib.h>

#include "acp/acp.h"
#include "console/console.h"
#include "tools/tool.h"

/* What may be said of a call, and as which kind of word the editor shows it. */
static const struct choice {
	const char *id, *name, *kind;
	bool settle;
} choices[] = {
	{ "once", "Run it", "allow_once", false },
	{ "always", "Run it, and every later call of this tool", "allow_always", false },
	{ "no", "Do not run it", "reject_once", false },
	{ "never", "Run no call of this tool", "reject_always", false },
	{ "done", "It was done", "allow_once", true },
	{ "not_started", "It was not done", "reject_once", true },
	{ "unknown", "Nobody can tell", "reject_once", true },
};

static void put_choice(struct th_jw *w, struct th_str id, struct th_str name, const char *kind)
{
	th_jw_object(w);
	th_jw_kstr(w, "optionId", id);
	th_jw_kstr(w, "name", name);
	th_jw_kstr(w, "kind", th_str_of(kind));
	th_jw_object_end(w);
}

/* The answers that the question offers, by their places. */
static void put_answers(struct th_jw *w, const struct th_json *question)
{
	struct th_json_iter it = th_json_iter(th_json_get(question, "options"));
	bool any = th_json_count(th_json_get(question, "options")) > 0;
	char id[24];

	while (th_json_next(&it)) {
		snprintf(id, sizeof(id), "%zu", it.index);
		put_choice(w, th_str_of(id), th_json_str(it.val), "allow_once");
	}
	if (!any)
		put_choice(w, TH_STR("once"), TH_STR("Go on without an answer"), "allow_once");
	put_choice(w, TH_STR("no"), TH_STR("Give no answer"), "reject_once");
}

static void put_choices(struct th_jw *w, const struct acp_ask *ask)
{
	th_jw_name(w, TH_STR("options"));
	th_jw_array(w);
	if (ask->kind == ACP_ASK_CHOICE)
		put_answers(w, th_json_root(ask->question));
	for (size_t i = 0; ask->kind != ACP_ASK_CHOICE && i < TH_COUNT(choices); i++)
		if (choices[i].settle == (ask->kind == ACP_ASK_SETTLE))
			put_choice(w, th_str_of(choices[i].id), th_str_of(choices[i].name),
				   choices[i].kind);
	th_jw_array_end(w);
}

/* A text; where the question offers answers, one of these or another. */
static void put_form(struct th_jw *w, const struct th_json *question)
{
	struct th_json_iter it = th_json_iter(th_json_get(question, "options"));
	bool any = th_json_count(th_json_get(question, "options")) > 0;

	th_jw_kstr(w, "mode", TH_STR("form"));
	th_jw_kstr(w, "message", th_json_get_str(question, "question"));
	th_jw_name(w, TH_STR("requestedSchema"));
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("object"));
	th_jw_name(w, TH_STR("properties"));
	th_jw_object(w);
	th_jw_name(w, TH_STR("answer"));
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("string"));
	th_jw_kstr(w, "title", TH_STR("Your answer"));
	if (any) {
		th_jw_name(w, TH_STR("enum"));
		th_jw_array(w);
		while (th_json_next(&it))
			th_jw_str(w, th_json_str(it.val));
		th_jw_array_end(w);
	}
	th_jw_object_end(w);
	if (any)
		th_jw_kraw(w, "other",
			   TH_STR("{\"type\":\"string\",\"title\":\"Or another answer\"}"));
	th_jw_object_end(w);
	th_jw_kraw(w, "required", any ? TH_STR("[]") : TH_STR("[\"answer\"]"));
	th_jw_object_end(w);
}

/* The call's id in updates: without its session, and without the event that tells it from others.
 */
static struct th_str shown_id(const char *call_id)
{
	struct th_str id = th_str_of(call_id);
	const char *slash = memrchr(id.ptr, '/', id.len);

	return slash ? th_str_sub(id, (size_t)(slash - id.ptr) + 1, id.len) : id;
}

static bool is_asked(const struct acp_session *s, const char *call_id)
{
	for (const struct acp_ask *k = s->acp->asks; k; k = k->next)
		if (k->session == s && strcmp(k->call_id, call_id) == 0)
			return true;
	return false;
}

static struct acp_ask *new_ask(struct acp_session *s, const char *call_id, const char *tool,
			       const char *arguments, bool settle)
{
	const struct th_tool *row = th_tool_find(th_str_of(tool));
	struct acp *a = s->acp;
	struct acp_ask *ask = th_alloc(sizeof(*ask));
	size_t len = strlen(call_id);

	*ask = (struct acp_ask){ .next = a->asks, .session = s, .id = ++a->last_id };
	ask->call_id = th_alloc(len + 1);
	memcpy(ask->call_id, call_id, len + 1);
	ask->kind = settle ? ACP_ASK_SETTLE : ACP_ASK_APPROVAL;
	if (!settle && row && row->question &&
	    th_json_parse(th_str_of(arguments), &ask->question, NULL) == TH_OK)
		ask->kind = a->forms ? ACP_ASK_FORM : ACP_ASK_CHOICE;
	a->asks = ask;
	return ask;
}

void th_acp_ask(struct acp_session *s, const char *call_id, const char *tool, const char *why,
		const char *arguments, bool settle)
{
	struct acp *a = s->acp;
	struct th_buf params TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ACP_MESSAGE_MAX);
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ACP_MESSAGE_MAX);
	struct th_buf id TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&params);
	struct acp_ask *ask;
	bool form;

	if (is_asked(s, call_id))
		return;
	ask = new_ask(s, call_id, tool, arguments, settle);
	form = ask->kind == ACP_ASK_FORM;
	th_jw_object(&w);
	th_jw_kstr(&w, "sessionId", th_str_of(s->id));
	if (form) {
		th_jw_kstr(&w, "toolCallId", shown_id(ask->call_id));
		put_form(&w, th_json_root(ask->question));
	} else {
		th_jw_name(&w, TH_STR("toolCall"));
		th_jw_object(&w);
		th_jw_kstr(&w, "toolCallId", shown_id(ask->call_id));
		th_acp_put_call(s, th_str_of(tool), th_str_of(arguments), why, &w);
		th_jw_object_end(&w);
		put_choices(&w, ask);
	}
	th_jw_object_end(&w);
	th_buf_add_i64(&id, ask->id);
	th_rpc_print_call(th_buf_str(&id),
			  form ? "elicitation/create" : "session/request_permission",
			  th_buf_str(&params), &line);
	th_acp_send(a, &line);
}

/* ---- the answer ---- */

static void ask_free(struct acp *a, struct acp_ask *ask)
{
	struct acp_ask **at = &a->asks;

	while (*at != ask)
		at = &(*at)->next;
	*at = ask->next;
	th_json_free(ask->question);
	free(ask->call_id);
	free(ask);
}

void th_acp_forget(struct acp_session *s)
{
	for (struct acp_ask *k = s->acp->asks, *next; k; k = next) {
		next = k->next;
		if (k->session == s)
			ask_free(s->acp, k);
	}
}

static int answer(const struct acp_ask *ask, struct th_str text, struct thole_error *err)
{
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ACP_MESSAGE_MAX);

	th_buf_add(&bytes, text);
	return thole_session_answer(ask->session->session, ask->call_id, th_cli_user().ptr,
				    bytes.ptr, err);
}

static int decide(const struct acp_ask *ask, struct th_str choice, struct thole_error *err)
{
	struct thole_session *s = ask->session->session;
	const char *by = th_cli_user().ptr;
	int64_t place;

	if (ask->kind == ACP_ASK_SETTLE)
		return thole_session_settle(s, ask->call_id,
					    th_str_is(choice, "done")          ? THOLE_DONE
					    : th_str_is(choice, "not_started") ? THOLE_NOT_STARTED
									       : THOLE_UNKNOWN,
					    by, NULL, err);
	if (ask->kind == ACP_ASK_CHOICE && th_str_i64(choice, &place))
		return answer(
		    ask,
		    th_json_str(th_json_at(th_json_get(th_json_root(ask->question), "options"),
					   (size_t)place)),
		    err);
	if (th_str_is(choice, "once"))
		return thole_session_approve(s, ask->call_id, by, err);
	if (th_str_is(choice, "always"))
		return thole_session_approve_always(s, ask->call_id, by, err);
	if (th_str_is(choice, "never"))
		return thole_session_reject_always(s, ask->call_id, by, NULL, err);
	return thole_session_reject(s, ask->call_id, by, NULL, err);
}

static bool is_choice(const struct acp_ask *ask, struct th_str id)
{
	const struct th_json *options = th_json_get(th_json_root(ask->question), "options");
	int64_t place;

	if (ask->kind == ACP_ASK_CHOICE && th_str_i64(id, &place))
		return place >= 0 && th_json_str(th_json_at(options, (size_t)place)).len;
	for (size_t i = 0; i < TH_COUNT(choices); i++)
		if (choices[i].settle == (ask->kind == ACP_ASK_SETTLE) &&
		    th_str_is(id, choices[i].id))
			return ask->kind != ACP_ASK_CHOICE || th_str_is(id, "no") ||
			       (th_str_is(id, "once") && th_json_count(options) == 0);
	return false;
}

/* What was chosen of what was offered, or said.  False: no word. */
static bool take(const struct acp_ask *ask, const struct th_json *value, int *ret,
		 struct thole_error *err)
{
	const struct th_json *outcome = th_json_get(value, "outcome");
	const struct th_json *content = th_json_get(value, "content");
	struct th_str action = th_json_get_str(value, "action");
	struct th_str id = th_json_get_str(outcome, "optionId");
	struct th_str said = th_json_get_str(content, "other");

	if (ask->kind == ACP_ASK_FORM) {
		if (!said.len)
			said = th_json_get_str(content, "answer");
		if (th_str_is(action, "decline"))
			*ret = decide(ask, TH_STR("no"), err);
		else if (th_str_is(action, "accept") && said.len && !memchr(said.ptr, 0, said.len))
			*ret = answer(ask, said, err);
		else
			return false;
		return true;
	}
	if (!th_str_is(th_json_get_str(outcome, "outcome"), "selected") || !is_choice(ask, id))
		return false;
	*ret = decide(ask, id, err);
	return true;
}

void th_acp_answer(struct acp *a, const struct th_rpc *m)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct acp_ask *ask = a->asks;
	struct thole_error err = { 0 };
	int64_t id;
	int code = 0;

	if (!th_str_i64(m->id, &id))
		return;
	while (ask && ask->id != id)
		ask = ask->next;
	if (!ask)
		return; /* it was cancelled meanwhile */
	/* No word is none: the task is stopped, and what waited does not run. */
	if (m->kind != TH_RPC_RESULT || th_json_parse(m->value, &doc, NULL) != TH_OK ||
	    !take(ask, th_json_root(doc), &code, &err))
		(void)thole_session_cancel(ask->session->session, THOLE_NOW, &err);
	else if (code && err.code != THOLE_ENOENT)
		(void)th_cli_die(0, "%s", err.text);
	ask_free(a, ask);
}
