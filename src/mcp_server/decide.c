/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.c - calls that wait for a person, put to the user of an MCP client.
 *
 * The client shows its user a form; what comes back without the user's own word
 * (he closed it, or did not choose) decides nothing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "mcp_server/kit.h"

#define KEY "approval:"
#define SCHEMA                                                                              \
	"{\"type\":\"object\",\"properties\":{\"decision\":{\"type\":\"string\",\"title\":" \
	"\"Decision\",\"enum\":[\"approve\",\"reject\"]},\"reason\":{\"type\":\"string\","  \
	"\"title\":\"Why, for the agent\"}},\"required\":[\"decision\"]}"

/* A question of the agent: its answer, or no. */
static void put_question(const struct th_json *arguments, struct th_jw *w)
{
	struct th_json_iter it = th_json_iter(th_json_get(arguments, "options"));
	bool any = false;

	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("object"));
	th_jw_key(w, TH_STR("properties"));
	th_jw_object(w);
	th_jw_key(w, TH_STR("answer"));
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("string"));
	th_jw_kstr(w, "title", TH_STR("Your answer"));
	while (th_json_next(&it)) {
		if (!any) {
			th_jw_key(w, TH_STR("enum"));
			th_jw_array(w);
		}
		any = true;
		th_jw_str(w, th_json_str(it.val));
	}
	if (any)
		th_jw_array_end(w);
	th_jw_object_end(w);
	th_jw_object_end(w);
	th_jw_kraw(w, "required", TH_STR("[\"answer\"]"));
	th_jw_object_end(w);
}

bool th_mcp_can_decide(const struct th_mcp *m)
{
	return (m->access->scopes & TH_SCOPE_APPROVE) && th_mcp_can(m, "elicitation");
}

static void put_form(struct th_mcp *m, const struct th_json *v, struct th_jw *w)
{
	struct th_buf key TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_buf params TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_jw p = th_jw(&params);

	th_buf_printf(&key, KEY "%.*s", TH_FMT(th_json_get_str(v, "call_id")));
	bool question = th_json_bool(th_json_get(v, "question"), false);

	if (question) {
		th_buf_printf(&text, "The agent asks: %.*s",
			      TH_FMT(th_json_get_str(th_json_get(v, "arguments"), "question")));
	} else {
		th_buf_printf(&text, "The agent wants to run %.*s. ",
			      TH_FMT(th_json_get_str(v, "tool")));
		th_buf_printf(&text, "%.*s. Arguments: ", TH_FMT(th_json_get_str(v, "reason")));
		th_json_print(th_json_get(v, "arguments"), &text);
	}
	th_jw_object(&p);
	th_jw_kstr(&p, "mode", TH_STR("form"));
	th_jw_kstr(&p, "message", th_buf_str(&text));
	if (question) {
		th_jw_key(&p, TH_STR("requestedSchema"));
		put_question(th_json_get(v, "arguments"), &p);
	} else {
		th_jw_kraw(&p, "requestedSchema", TH_STR(SCHEMA));
	}
	th_jw_object_end(&p);
	th_mcp_question(m, w, key.ptr, "elicitation/create", th_buf_str(&params));
}

bool th_mcp_put_decisions(struct th_mcp *m, const char *id, struct th_jw *w)
{
	const struct th_found *list = th_need_waiting(&m->needs, m->access->user, NULL, 1000);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;
	size_t count = 0;

	if (!list || list->err || th_json_parse(list->text, &doc, NULL) != TH_OK)
		return false;
	it = th_json_iter(th_json_get(th_json_root(doc), "waiting"));
	while (th_json_next(&it) && count < TH_MCP_ASKS_MAX)
		if (th_str_is(th_json_get_str(it.val, "session_id"), id) &&
		    th_str_is(th_json_get_str(it.val, "word"), "approve")) {
			put_form(m, it.val, w);
			count++;
		}
	return count > 0;
}

static int decide_one(struct th_mcp *m, struct th_hub *h, const char *call_id,
		      const struct th_json *answer, struct thole_error *err)
{
	const struct th_json *content = th_json_get(answer, "content");
	struct th_str decision = th_json_get_str(content, "decision");
	struct th_str reason = th_json_get_str(content, "reason");
	struct th_str said = th_json_get_str(content, "answer");
	const char *by = m->access->user;
	int code;

	if (!th_str_is(th_json_get_str(answer, "action"), "accept"))
		return 0;
	if (said.len)
		code = thole_session_answer(h->session, call_id, by,
					    th_arena_cstr(&m->memory, said), err);
	else if (th_str_is(decision, "approve"))
		code = thole_session_approve(h->session, call_id, by, err);
	else if (th_str_is(decision, "reject"))
		code = thole_session_reject(h->session, call_id, by,
					    reason.len ? th_arena_cstr(&m->memory, reason) : NULL,
					    err);
	else
		return 0;
	if (code == THOLE_ENOENT)
		return 0; /* it was decided elsewhere meanwhile */
	if (!code)
		m->access->server->metrics.decisions++;
	return code;
}

bool th_mcp_decide(struct th_mcp *m, struct th_hub *h, struct thole_error *err)
{
	int code = 0;

	for (size_t i = 0; i < m->input_count && !code; i++) {
		const struct th_mcp_input *in = &m->inputs[i];

		if (in->doc && strncmp(in->key, KEY, strlen(KEY)) == 0 && th_mcp_can_decide(m))
			code = decide_one(m, h, in->key + strlen(KEY), th_json_root(in->doc), err);
	}
	th_mcp_forget_inputs(m);
	return !code;
}
