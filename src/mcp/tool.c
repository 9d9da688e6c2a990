/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tool.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "core/unknown.h"
#include "io/clock.h"
#include "io/loop.h"
#include "mcp/internal.h"
#include "mcp/question.h"
#include "mcp/result.h"
#include "wire/mcp_offer.h"
#include "wire/mcp_read.h"

#define TH_FIELDS_mcp(F)                                                                     \
	F(mcp, str, server, "server", TH_REQ | TH_NONEMPTY, "Name of the server.")           \
	F(mcp, strs, argv, "argv", 0, "Its program and arguments; or")                       \
	F(mcp, str, url, "url", 0, "its address.")                                           \
	F(mcp, strs, headers, "headers", 0, "Name: value, of each request there.")           \
	F(mcp, str, token_env, "token_env", 0, "Variable of the runtime with its token.")    \
	F(mcp, strs, environment, "environment", 0, "NAME=value, beside those of commands.") \
	F(mcp, str, era, "era", 0, "modern or legacy; empty: it is found out.")              \
	F(mcp, int, start_s, "start_s", TH_NONEG, "0: the default.")                         \
	F(mcp, int, timeout_s, "timeout_s", TH_NONEG, "0: the longest there is.")            \
	F(mcp, str, tool, "tool", 0, "Its name at the server; empty: list them.")            \
	F(mcp, raw, arguments, "arguments", 0, "Of the call, an object.")                    \
	F(mcp, strs, params, "params", 0, "Name: value, for the head of the call.")          \
	F(mcp, bool, reads, "reads", 0, "It only looks.")                                    \
	F(mcp, raw, form, "form", 0, "Its server has asked: what goes on with the answer.")  \
	F(mcp, str, answer, "answer", 0, "The person's answer.")                             \
	F(mcp, bool, declined, "declined", 0, "The person gives none.")

#define HOLD_SIZE 16

TH_STRUCT(mcp)
extern const struct th_table th_mcp_table;
TH_TABLE(mcp, "arguments of mcp", false)

struct call {
	struct th_mcp_work work; /* the first member: a work is cast to its call */
	struct th_tool_job *job;
	struct th_mcp_process *process;
	struct th_mcp_pages pages;
	struct th_timer timer;
	int64_t timeout_ms;
	size_t progress; /* bytes of it that were shown */
	bool sent;
	struct th_mcp_form
	    form;             /* of the question that the answer is for; raw, in the job's arena */
	struct th_buf result; /* that the server gets for it */
	struct th_buf asks;   /* the evidence of a question */
	/* While a person is asked by an older server there is no job, and the server goes on. */
	struct th_str hold; /* a name; "" when nobody is asked */
	char hold_text[2 * HOLD_SIZE + 3];
	struct th_buf late; /* what it has answered meanwhile; without a word from us it may */
};

static const struct th_mcp *args_of(const struct call *c)
{
	return (const struct th_mcp *)c->job->args;
}

static bool is_list(const struct call *c)
{
	return !args_of(c)->tool.len;
}

static const struct th_mcp_offer *offer_of(const struct call *c)
{
	return th_mcp_offer_find(args_of(c)->tool);
}

/* ---- its end -------------------------------------------------------------------------------- */

static void put_evidence(const struct call *c, bool timed_out, struct th_buf *out)
{
	const struct th_mcp_client *client = th_mcp_process_client(c->process);
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "server", th_mcp_process_name(c->process));
	if (client->revision[0])
		th_jw_kstr(&w, "revision", th_str_of(client->revision));
	if (timed_out)
		th_jw_kbool(&w, "timed_out", true);
	if (th_mcp_process_changed(c->process, false))
		th_jw_kbool(&w, "tools_changed", true);
	if (c->asks.len)
		th_jw_kraw(&w, "asks", th_buf_str(&c->asks));
	th_jw_object_end(&w);
}

static void call_free(struct call *c)
{
	th_timer_stop(&c->timer);
	th_mcp_pages_deinit(&c->pages);
	th_buf_deinit(&c->result);
	th_buf_deinit(&c->asks);
	th_buf_deinit(&c->late);
	free(c);
}

/* `reason`: what the server is told, should it still work on it. */
static void finish(struct call *c, enum th_outcome_status status, struct th_str output,
		   const char *reason, bool timed_out)
{
	struct th_tool_job *job = c->job;
	struct th_buf evidence = TH_BUF_INIT(3 * TH_MCP_FORM_MAX);

	put_evidence(c, timed_out, &evidence);
	th_mcp_process_remove(c->process, &c->work, reason);
	call_free(c);
	job->done(job, status, output, th_buf_str(&evidence));
	th_buf_deinit(&evidence);
}

/* Without an answer.  What was sent may have happened. */
static void give_up(struct call *c, const char *why, const char *reason, bool timed_out)
{
	struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX), output = TH_BUF_INIT(16 * TH_KIB);
	enum th_outcome_status status = !c->sent || c->work.unsent ? TH_OUTCOME_NOT_STARTED
					: args_of(c)->reads        ? TH_OUTCOME_FAILED
								   : TH_OUTCOME_UNKNOWN;
	struct th_jw w = th_jw(&output);

	if (status == TH_OUTCOME_UNKNOWN)
		th_buf_printf(&text, TH_UNKNOWN_SENTENCE " The reason: %s.", why);
	else
		th_buf_printf(&text, TH_ERROR_MARK "%s", why);
	th_jw_str(&w, th_buf_str(&text));
	finish(c, status, th_buf_str(&output), reason, timed_out);
	th_buf_deinit(&text);
	th_buf_deinit(&output);
}

/* Nobody has answered in a day, or the process has ended. */
static void held_end(struct call *c, const char *reason)
{
	th_mcp_process_remove(c->process, &c->work, reason);
	call_free(c);
}

static void on_timeout(void *ctx)
{
	struct call *c = (struct call *)ctx;
	struct th_buf why = TH_BUF_INIT(TH_KIB);

	if (c->work.held) {
		held_end(c, "the person gave no answer");
		return;
	}
	if (c->sent)
		th_buf_printf(&why,
			      "the server %.*s gave no answer within %lld s and was told to "
			      "stop",
			      TH_FMT(args_of(c)->server), (long long)(c->timeout_ms / 1000));
	else
		th_buf_printf(&why, "the server %.*s was not there within %lld s",
			      TH_FMT(args_of(c)->server), (long long)(c->timeout_ms / 1000));
	give_up(c, why.ptr, "it took too long", true);
	th_buf_deinit(&why);
}

/* ---- what the server says ------------------------------------------------------------------- */

static void fail(struct call *c, const struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX), output = TH_BUF_INIT(16 * TH_KIB);
	struct th_jw w = th_jw(&output);

	th_buf_printf(&text, TH_ERROR_MARK "%s", err->msg);
	th_jw_str(&w, th_buf_str(&text));
	finish(c, TH_OUTCOME_FAILED, th_buf_str(&output), NULL, false);
	th_buf_deinit(&text);
	th_buf_deinit(&output);
}

static void ask_list(struct call *c)
{
	struct th_buf params = TH_BUF_INIT(8 * TH_KIB);
	struct th_err err = {};

	th_mcp_pages_params(&c->pages, &params);
	if (th_mcp_process_ask(c->process, &c->work, "tools/list", th_buf_str(&params), &err))
		fail(c, &err);
	th_buf_deinit(&params);
}

static void ask_tool(struct call *c)
{
	const struct th_mcp *a = args_of(c);
	struct th_buf params = TH_BUF_INIT(2 * (TH_COMMAND_INPUT_MAX + TH_MCP_ANSWER_MAX));
	struct th_jw w = th_jw(&params);
	struct th_err err = {};

	th_jw_object(&w);
	th_jw_kstr(&w, "name", a->tool);
	th_jw_kraw(&w, "arguments", a->arguments.len ? a->arguments : TH_STR("{}"));
	if (c->form.key.len)
		th_mcp_form_inputs(&c->form, th_buf_str(&c->result), &w);
	th_jw_object_end(&w);
	if (th_mcp_process_ask(c->process, &c->work, "tools/call", th_buf_str(&params), &err))
		give_up(c, err.msg, NULL, false);
	else
		c->sent = true;
	th_buf_deinit(&params);
}

/* Something that is no tool of the server's: the arguments are the request's own. */
static void ask_offer(struct call *c, const struct th_mcp_offer *o)
{
	const struct th_mcp *a = args_of(c);
	struct th_err err = {};

	if (th_mcp_process_ask(c->process, &c->work, o->method,
			       a->arguments.len ? a->arguments : TH_STR("{}"), &err))
		give_up(c, err.msg, NULL, false);
	else
		c->sent = true;
}

static void on_begin(struct th_mcp_work *w)
{
	struct call *c = (struct call *)w;

	if (is_list(c)) {
		(void)th_mcp_process_changed(c->process, true);
		ask_list(c);
	} else if (offer_of(c)) {
		ask_offer(c, offer_of(c));
	} else {
		ask_tool(c);
	}
}

static void on_progress(struct th_mcp_work *w, struct th_str text)
{
	struct call *c = (struct call *)w;

	if (c->work.held || c->progress + text.len >= TH_MCP_PROGRESS_MAX)
		return;
	c->progress += text.len + 1;
	c->job->output(c->job, text);
	c->job->output(c->job, TH_STR("\n"));
}

static void finish_list(struct call *c)
{
	const struct th_mcp_client *client = th_mcp_process_client(c->process);
	struct th_buf output = TH_BUF_INIT(2 * TH_MCP_LIST_SIZE_MAX);
	struct th_jw w = th_jw(&output);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR("tools"));
	th_jw_array(&w);
	if (c->pages.count)
		th_jw_raw(&w, th_buf_str(&c->pages.tools));
	th_jw_array_end(&w);
	th_jw_name(&w, TH_STR("offered"));
	th_jw_array(&w);
	th_mcp_offers_put(client->abilities, &w);
	th_jw_array_end(&w);
	th_jw_kuint(&w, "left_out", c->pages.left_out);
	th_jw_kstr(&w, "revision", th_str_of(client->revision));
	th_jw_kstr(&w, "software", th_str_of(client->software));
	th_jw_object_end(&w);
	finish(c, TH_OUTCOME_DONE, th_buf_str(&output), NULL, false);
	th_buf_deinit(&output);
}

static void on_answered(struct th_mcp_work *w, struct th_str result)
{
	struct call *c = (struct call *)w;
	struct th_buf output = TH_BUF_INIT(TH_EXEC_OUTPUT_MAX), text;
	struct th_err err = {};
	bool error = false;

	if (c->work.held) {
		th_buf_add(&c->late, result);
		return;
	}
	if (is_list(c)) {
		if (th_mcp_pages_add(&c->pages, result, &err))
			fail(c, &err);
		else if (c->pages.cursor.len)
			ask_list(c);
		else
			finish_list(c);
		return;
	}
	th_buf_init(&text, 2 * TH_MCP_LINE_MAX);
	if (offer_of(c)) {
		(void)!th_mcp_offer_result(offer_of(c), result, &text, &err);
		result = th_buf_str(&text);
	}
	if (err.code || th_mcp_result_put(c->job, result, &output, &error, &err))
		fail(c, &err);
	else
		finish(c, error ? TH_OUTCOME_FAILED : TH_OUTCOME_DONE, th_buf_str(&output), NULL,
		       false);
	th_buf_deinit(&output);
	th_buf_deinit(&text);
}

static void on_failed(struct th_mcp_work *w, const struct th_err *err)
{
	struct call *c = (struct call *)w;

	if (c->work.held)
		held_end(c, NULL); /* whoever comes with the answer finds nobody */
	else
		fail(c, err);
}

static void on_lost(struct th_mcp_work *w, const struct th_err *err)
{
	struct call *c = (struct call *)w;

	if (c->work.held)
		held_end(c, NULL);
	else
		give_up(c, err->msg, NULL, false);
}

/* ---- questions to the person ---------------------------------------------------------------- */

static size_t held_count(const struct th_mcp_process *p)
{
	size_t count = 0;

	for (const struct th_mcp_work *w = p->works; w; w = w->next)
		count += w->held;
	return count;
}

/* The call waits in this process for its answer, and the effect ends. */
static void hold(struct call *c)
{
	struct th_tool_job *job = c->job;
	struct th_buf evidence = TH_BUF_INIT(3 * TH_MCP_FORM_MAX);

	put_evidence(c, false, &evidence);
	c->job = NULL;
	c->work.held = true;
	c->work.header_count = 0;
	th_buf_deinit(&c->asks);
	th_timer_stop(&c->timer); /* it may stand still for another question */
	th_timer_start(&c->timer, TH_MCP_HELD_MS, 0);
	job->state = NULL;
	job->done(job, TH_OUTCOME_DONE, TH_STR("\"\""), th_buf_str(&evidence));
	th_buf_deinit(&evidence);
}

static void name_hold(struct call *c)
{
	unsigned char bytes[HOLD_SIZE];

	th_random(bytes, sizeof(bytes));
	c->hold_text[0] = '"';
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(c->hold_text + 1 + 2 * i, 4, "%02x\"", bytes[i]);
	c->hold = th_str_of(c->hold_text);
}

static void on_asked(struct th_mcp_work *w, const struct th_mcp_question *q)
{
	struct call *c = (struct call *)w;
	struct th_mcp_form form = { .params = q->params,
				    .id = q->id,
				    .key = q->key,
				    .state = q->state,
				    .inputs = q->inputs };
	struct th_err err = {};

	if (q->id.len && !c->work.held) {
		name_hold(c);
		form.hold = c->hold;
	}
	th_buf_init(&c->asks, 2 * TH_MCP_FORM_MAX + TH_KIB);
	if (c->work.held || is_list(c) || held_count(c->process) >= TH_MCP_HELD_MAX ||
	    th_mcp_form_put(&form, TH_STR(""), &c->asks, &err)) {
		th_buf_deinit(&c->asks);
		if (q->id.len) /* it goes on without an answer */
			th_mcp_process_reply(c->process, q->id, TH_STR("{\"action\":\"cancel\"}"));
		else if (err.code)
			fail(c, &err);
		else
			give_up(c, "the server asks a person where nobody can be asked", NULL,
				false);
		return;
	}
	if (q->id.len)
		hold(c);
	else
		finish(c, TH_OUTCOME_DONE, TH_STR("\"\""), NULL, false);
}

static const struct th_mcp_work_ops work_ops = { .begin = on_begin,
						 .progress = on_progress,
						 .answered = on_answered,
						 .failed = on_failed,
						 .asked = on_asked,
						 .lost = on_lost };

static struct call *held_find(struct th_mcp_process *p, struct th_str hold)
{
	for (struct th_mcp_work *w = p->works; w; w = w->next) {
		struct call *c = (struct call *)w;

		if (w->held && w->ops == &work_ops && th_str_eq(c->hold, hold))
			return c;
	}
	return NULL;
}

/* The call that has waited has a job again. */
static void take_up(struct call *c, struct th_tool_job *job, const struct th_mcp_form *form,
		    struct th_str result)
{
	struct th_buf late = c->late;

	c->late = (struct th_buf){};
	th_buf_init(&c->late, TH_EXEC_OUTPUT_MAX);
	c->job = job;
	c->work.held = false;
	c->hold = TH_STR("");
	job->state = c;
	job->clocks[0] = &c->timer;
	th_timer_start(&c->timer, (uint64_t)c->timeout_ms, 0);
	if (late.failed)
		give_up(c, "the server's answer was too large", NULL, false);
	else if (late.len)
		on_answered(&c->work, th_buf_str(&late));
	else
		th_mcp_process_reply(c->process, form->id, result);
	th_buf_deinit(&late);
}

/* The person's answer does not fit: the same question, with the reason. */
static void ask_once_more(struct th_tool_job *job, const struct th_mcp_form *form,
			  const struct th_err *why)
{
	struct th_buf asks = TH_BUF_INIT(2 * TH_MCP_FORM_MAX + TH_KIB);
	struct th_buf evidence = TH_BUF_INIT(3 * TH_MCP_FORM_MAX);
	struct th_jw w = th_jw(&evidence);
	struct th_err err = {};

	if (th_mcp_form_put(form, th_str_of(why->msg), &asks, &err)) {
		th_tool_fail(job, TH_OUTCOME_FAILED, &err);
	} else {
		th_jw_object(&w);
		th_jw_kraw(&w, "asks", th_buf_str(&asks));
		th_jw_object_end(&w);
		job->done(job, TH_OUTCOME_DONE, TH_STR("\"\""), th_buf_str(&evidence));
	}
	th_buf_deinit(&asks);
	th_buf_deinit(&evidence);
}

static void held_lost(struct th_tool_job *job)
{
	const struct th_mcp *a = (const struct th_mcp *)job->args;
	struct th_buf text = TH_BUF_INIT(TH_KIB);

	th_buf_printf(&text,
		      "%sThe reason: the server %.*s asked a question, and the process that it "
		      "waited in has ended.",
		      a->reads ? TH_ERROR_MARK : TH_UNKNOWN_SENTENCE " ",
		      TH_FMT(th_utf8_cut(a->server, 80)));
	th_tool_text(job, a->reads ? TH_OUTCOME_FAILED : TH_OUTCOME_UNKNOWN, th_buf_str(&text),
		     TH_STR(""));
	th_buf_deinit(&text);
}

/* With a person's answer.  True: the job has ended, or goes on with a call that has waited. */
static bool resumes(struct th_tool_job *job, struct th_mcp_process *p, struct th_mcp_form *form,
		    struct th_buf *result)
{
	const struct th_mcp *a = (const struct th_mcp *)job->args;
	struct th_err err = {};
	struct call *c;

	th_mcp_form_read(a->form, form);
	if (th_mcp_form_answer(form, a->answer, a->declined, result, &err)) {
		ask_once_more(job, form, &err);
		return true;
	}
	if (form->key.len)
		return false;
	c = held_find(p, form->hold);
	if (c)
		take_up(c, job, form, th_buf_str(result));
	else
		held_lost(job);
	return true;
}

/* ---- its start ------------------------------------------------------------------------------ */

static enum th_mcp_era era_of(struct th_str word)
{
	return th_str_is(word, "modern")   ? TH_MCP_ERA_MODERN
	       : th_str_is(word, "legacy") ? TH_MCP_ERA_LEGACY
					   : TH_MCP_ERA_UNKNOWN;
}

static enum th_code find_process(struct th_tool_job *job, struct th_mcp_process **ret,
				 int64_t *ret_start_ms, struct th_err *err)
{
	const struct th_mcp *a = (const struct th_mcp *)job->args;
	struct th_mcp_process_spec spec = {
		.transport = a->url.len ? &th_mcp_http : &th_mcp_stdio,
		.name = a->server,
		.argv = a->argv,
		.environment = a->environment,
		.url = a->url,
		.headers = a->headers,
		.token_env = a->token_env,
		.era = era_of(a->era),
		.start_ms = 1000 * (a->start_s ?: TH_MCP_START_S),
	};

	*ret_start_ms = spec.start_ms;
	if (!a->url.len && !a->argv.count)
		return th_fail(err, TH_EUSAGE, "the server has no command and no address");
	if (!a->url.len && job->env->workspace_fd < 0)
		return th_fail(err, TH_EUNSUPPORTED,
			       "this session has no workspace, so there are no servers");
	if (a->arguments.len > TH_COMMAND_INPUT_MAX)
		return th_fail(err, TH_ELIMIT, "the arguments of a tool have at most %zu bytes",
			       TH_COMMAND_INPUT_MAX);
	return th_mcp_process_get(job->env, &spec, ret, err);
}

static bool take_params(struct call *c)
{
	const struct th_strs *params = &args_of(c)->params;
	struct th_mcp_work *w = &c->work;
	size_t count = TH_MIN(params->count, (size_t)TH_MCP_HEADERS_MAX);

	w->header_names =
	    (const char **)th_arena_array(c->job->arena, count + 1, sizeof(*w->header_names));
	w->header_values =
	    (struct th_str *)th_arena_array(c->job->arena, count + 1, sizeof(*w->header_values));
	for (size_t i = 0; w->header_names && w->header_values && i < count; i++) {
		struct th_str line = params->list[i];

		w->header_names[i] = th_arena_cstr(c->job->arena, th_str_split(&line, ':'));
		w->header_values[i] = th_str_trim(line);
		if (!w->header_names[i])
			return false;
		w->header_count++;
	}
	return w->header_count == count;
}

static void start(struct th_tool_job *job)
{
	const struct th_mcp *a = (const struct th_mcp *)job->args;
	struct th_buf result = TH_BUF_INIT(2 * TH_MCP_ANSWER_MAX);
	struct th_mcp_process *p = NULL;
	struct th_mcp_form form = {};
	struct th_err err = {};
	struct call *c;
	int64_t start_ms;

	if (find_process(job, &p, &start_ms, &err)) {
		th_tool_fail(job, TH_OUTCOME_REFUSED, &err);
		return;
	}
	if (a->form.len && resumes(job, p, &form, &result)) {
		th_buf_deinit(&result);
		return;
	}
	c = (struct call *)th_alloc(sizeof(*c));
	c->form = form;
	c->result = result;
	th_buf_init(&c->late, TH_EXEC_OUTPUT_MAX);
	c->work.ops = &work_ops;
	c->work.reads = a->reads;
	c->job = job;
	c->process = p;
	/* A list may have to wait for a delay, and is of many pages. */
	c->timeout_ms = a->tool.len ? th_tool_timeout_ms(job, a->timeout_s)
				    : 2 * start_ms + TH_MCP_BACKOFF_MS_MAX;
	th_mcp_pages_init(&c->pages);
	th_timer_init(&c->timer, job->env->loop, on_timeout, c);
	if (!take_params(c)) {
		th_fail(&err, TH_ELIMIT, "the arguments are too large for the head of a request");
		give_up(c, err.msg, NULL, false);
		return;
	}
	job->clocks[0] = &c->timer;
	th_timer_start(&c->timer, (uint64_t)c->timeout_ms, 0);
	job->state = c;
	th_mcp_process_add(p, &c->work); /* which may end it */
}

static void cancel(struct th_tool_job *job)
{
	struct call *c = (struct call *)job->state;

	give_up(c, "the call was cancelled", "the run was stopped", false);
}

const struct th_tool th_tool_mcp = {
	.name = "mcp",
	.description = "A tool of a server that the agent file names.",
	.class = TH_CLASS_R, /* as the driver says; the executor takes the stricter of both */
	.arguments = &th_mcp_table,
	.start = start,
	.cancel = cancel,
};
