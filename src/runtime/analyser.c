/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/analyser.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "driver/driver.h"
#include "io/variable.h"

#define TH_FIELDS_question(F)                                       \
	F(question, str, url, "url", TH_REQ | TH_NONEMPTY, "where") \
	F(question, str, token_env, "token_env", 0, "its token")    \
	F(question, raw, input, "input", TH_REQ, "what is posted")  \
	F(question, int, timeout_s, "timeout_s", TH_POSITIVE, "wait")
TH_STRUCT(question)
static const struct th_field question_fields[] = { TH_FIELDS_question(TH_FIELD_ROW) };
static const struct th_table question_table = {
	"question",
	"A question to an analyser that is a server.",
	question_fields,
	TH_COUNT(question_fields),
	sizeof(struct th_question),
	false,
};

struct th_runtime_question {
	struct th_runtime_question *next;
	struct th_runtime_session *session;
	struct th_ticket ticket;
	struct th_fetch_id id;
	struct th_buf body, answer;
	struct th_str piece; /* what the fetcher sends */
};

static void question_drop(struct th_runtime_question *q)
{
	struct th_runtime_question **at = &q->session->rt->questions;

	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	th_buf_deinit(&q->body);
	th_buf_deinit(&q->answer);
	free(q);
}

static void give_up(struct th_runtime_question *q)
{
	th_fetch_cancel(q->session->rt->fetcher, q->id);
	question_drop(q);
}

bool th_runtime_analyser_cancel(struct th_runtime *rt, struct th_ticket t)
{
	for (struct th_runtime_question *q = rt->questions; q; q = q->next)
		if (th_ticket_eq(q->ticket, t)) {
			give_up(q);
			return true;
		}
	return false;
}

void th_runtime_analyser_free(struct th_runtime_session *s)
{
	for (struct th_runtime_question *q = s->rt->questions, *next; q; q = next) {
		next = q->next;
		if (q->session == s)
			give_up(q);
	}
}

static bool on_data(void *ctx, struct th_str bytes)
{
	struct th_runtime_question *q = ctx;

	th_buf_add(&q->answer, bytes);
	return !q->answer.failed;
}

/* The answer as the output of a program would be: {out: …}. */
static void tell(struct th_runtime *rt, struct th_ticket t, struct th_str answer, const char *why)
{
	struct th_buf report TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_ANALYSER_ANSWER_MAX);
	struct th_buf output TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_ANALYSER_ANSWER_MAX);
	struct th_effect_result r = { .status = why ? TH_OUTCOME_FAILED : TH_OUTCOME_DONE,
				      .why = why ? th_str_of(why) : TH_STR("") };
	struct th_jw w = th_jw(&report);

	th_jw_object(&w);
	th_jw_kstr(&w, "out", answer);
	th_jw_object_end(&w);
	w = th_jw(&output);
	th_jw_str(&w, th_buf_str(&report));
	r.output = th_buf_str(&output);
	th_driver_tool_done(rt->driver, t, &r);
}

static void on_done(void *ctx, const struct th_fetch_result *r)
{
	struct th_runtime_question *q = ctx;
	struct th_runtime *rt = q->session->rt;
	struct th_ticket t = q->ticket;
	struct th_buf answer TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_ANALYSER_ANSWER_MAX);
	char why[TH_ERR_MSG_MAX] = "";

	if (r->end == TH_FETCH_STATUS)
		snprintf(why, sizeof(why), "its server answered HTTP %d", r->head.status);
	else if (r->end != TH_FETCH_OK)
		snprintf(why, sizeof(why), "%s", r->err.msg);
	th_utf8_clean(&answer, th_buf_str(&q->answer));
	question_drop(q);
	tell(rt, t, th_buf_str(&answer), why[0] ? why : NULL);
}

static enum th_code start(struct th_runtime_question *q, const struct th_question *p,
			  struct th_err *err)
{
	const struct th_fetch_header headers[] = {
		{ "Content-Type", TH_STR("application/json") },
		{ "User-Agent", TH_STR("thole/" TH_VERSION) },
	};
	struct th_fetch_request r = {
		.method = "POST",
		.url = p->url,
		.headers = headers,
		.header_count = TH_COUNT(headers),
		.body = &q->piece,
		.body_count = 1,
		.connect_ms = (uint64_t)p->timeout_s * 1000,
		.total_ms = (uint64_t)p->timeout_s * 1000,
		.body_max = TH_ANALYSER_ANSWER_MAX,
		.on_data = on_data,
		.on_done = on_done,
		.ctx = q,
	};
	struct th_secret *token;
	enum th_code code = th_variable_token(p->token_env, &token, err);

	if (code)
		return code;
	r.secret = token;
	code = th_fetch_start(q->session->rt->fetcher, &r, &q->id, err);
	th_secret_free(token);
	return code;
}

bool th_runtime_analyser_run(struct th_runtime_session *s, struct th_ticket t,
			     const struct th_effect_call *call)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_runtime_question *q;
	struct th_question p;
	struct th_err err = { 0 };
	enum th_code code;

	if (!th_str_is(call->tool, TH_ANALYSER_TOOL))
		return false;
	th_arena_init(&a, 4 * TH_EVENT_DATA_MAX);
	code = th_json_parse(call->arguments, &doc, &err)
		   ?: th_table_parse(&question_table, th_json_root(doc), &a, &p, &err);
	if (code) {
		th_driver_tool_not_started(s->rt->driver, t, err.msg);
		return true;
	}
	q = th_alloc(sizeof(*q));
	q->session = s;
	q->ticket = t;
	q->next = s->rt->questions;
	s->rt->questions = q;
	th_buf_init(&q->body, 4 * TH_EVENT_DATA_MAX);
	th_buf_init(&q->answer, TH_ANALYSER_ANSWER_MAX);
	th_buf_add(&q->body, p.input);
	q->piece = th_buf_str(&q->body);
	if (start(q, &p, &err)) {
		question_drop(q);
		th_driver_tool_not_started(s->rt->driver, t, err.msg);
	}
	return true;
}
