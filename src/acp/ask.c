/* SPDX-License-Identifier: Apache-2.0 */
/* ask.c - calls that wait for a person, asked about in the editor. */
#include <stdlib.h>

#include "acp/acp.h"
#include "console/console.h"

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

static void put_choices(struct th_jw *w, bool settle)
{
	th_jw_name(w, TH_STR("options"));
	th_jw_array(w);
	for (size_t i = 0; i < TH_COUNT(choices); i++) {
		if (choices[i].settle != settle)
			continue;
		th_jw_object(w);
		th_jw_kstr(w, "optionId", th_str_of(choices[i].id));
		th_jw_kstr(w, "name", th_str_of(choices[i].name));
		th_jw_kstr(w, "kind", th_str_of(choices[i].kind));
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
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

void th_acp_ask(struct acp_session *s, const char *call_id, const char *tool, const char *why,
		const char *arguments, bool settle)
{
	struct acp *a = s->acp;
	struct th_buf params TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ACP_MESSAGE_MAX);
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ACP_MESSAGE_MAX);
	struct th_buf id TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&params);
	struct acp_ask *ask;
	size_t len = strlen(call_id);

	if (is_asked(s, call_id))
		return;
	ask = th_alloc(sizeof(*ask));
	*ask =
	    (struct acp_ask){ .next = a->asks, .session = s, .id = ++a->last_id, .settle = settle };
	ask->call_id = th_alloc(len + 1);
	memcpy(ask->call_id, call_id, len + 1);
	a->asks = ask;
	th_jw_object(&w);
	th_jw_kstr(&w, "sessionId", th_str_of(s->id));
	th_jw_name(&w, TH_STR("toolCall"));
	th_jw_object(&w);
	th_jw_kstr(&w, "toolCallId", shown_id(ask->call_id));
	th_acp_put_call(s, th_str_of(tool), th_str_of(arguments), why, &w);
	th_jw_object_end(&w);
	put_choices(&w, settle);
	th_jw_object_end(&w);
	th_buf_add_i64(&id, ask->id);
	th_rpc_print_call(th_buf_str(&id), "session/request_permission", th_buf_str(&params),
			  &line);
	th_acp_send(a, &line);
}

/* ---- the answer ---- */

static void ask_free(struct acp *a, struct acp_ask *ask)
{
	struct acp_ask **at = &a->asks;

	while (*at != ask)
		at = &(*at)->next;
	*at = ask->next;
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

static int decide(const struct acp_ask *ask, struct th_str choice, struct thole_error *err)
{
	struct thole_session *s = ask->session->session;
	const char *by = th_cli_user().ptr;

	if (ask->settle)
		return thole_session_settle(s, ask->call_id,
					    th_str_is(choice, "done")          ? THOLE_DONE
					    : th_str_is(choice, "not_started") ? THOLE_NOT_STARTED
									       : THOLE_UNKNOWN,
					    by, NULL, err);
	if (th_str_is(choice, "once"))
		return thole_session_approve(s, ask->call_id, by, err);
	if (th_str_is(choice, "always"))
		return thole_session_approve_always(s, ask->call_id, by, err);
	if (th_str_is(choice, "never"))
		return thole_session_reject_always(s, ask->call_id, by, NULL, err);
	return thole_session_reject(s, ask->call_id, by, NULL, err);
}

static bool is_choice(struct th_str id, bool settle)
{
	for (size_t i = 0; i < TH_COUNT(choices); i++)
		if (choices[i].settle == settle && th_str_is(id, choices[i].id))
			return true;
	return false;
}

/* The id of what was selected; empty: nothing was, or nothing that was offered. */
static struct th_str selected(const struct th_json *value, bool settle)
{
	const struct th_json *outcome = th_json_get(value, "outcome");
	struct th_str id = th_json_get_str(outcome, "optionId");

	if (!th_str_is(th_json_get_str(outcome, "outcome"), "selected") || !is_choice(id, settle))
		return TH_STR("");
	return id;
}

void th_acp_answer(struct acp *a, const struct th_rpc *m)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct acp_ask *ask = a->asks;
	struct thole_error err = { 0 };
	struct th_str choice = TH_STR("");
	int64_t id;

	if (!th_str_i64(m->id, &id))
		return;
	while (ask && ask->id != id)
		ask = ask->next;
	if (!ask)
		return; /* it was cancelled meanwhile */
	if (m->kind == TH_RPC_RESULT && th_json_parse(m->value, &doc, NULL) == TH_OK)
		choice = selected(th_json_root(doc), ask->settle);
	/* No word is none: the task is stopped, and what waited does not run. */
	if (!choice.len)
		(void)thole_session_cancel(ask->session->session, THOLE_NOW, &err);
	else if (decide(ask, choice, &err) != 0 && err.code != THOLE_ENOENT)
		(void)th_cli_die(0, "%s", err.text);
	ask_free(a, ask);
}
