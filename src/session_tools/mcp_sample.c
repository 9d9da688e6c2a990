/* SPDX-License-Identifier: Apache-2.0 */
#include "session_tools/mcp_sample.h"

#include <stdlib.h>

#include "live/log.h"
#include "live/side_request.h"
#include "session_tools/mcp_tools.h"
#include "wire/mcp_sample.h"

struct th_sampling {
	struct th_sampling *next;
	uint64_t call_seq;
	struct th_side_request *request;
	struct th_side_usage usage;
	struct th_side_bare model;
	struct th_buf answer; /* what the server gets */
};

static void sampling_free(struct th_live *l, struct th_sampling *s)
{
	struct th_sampling **at = &l->samplings;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	th_side_cancel(l, s->request);
	th_buf_deinit(&s->answer);
	free(s);
}

void th_live_mcp_samples_free(struct th_live *l)
{
	while (l->samplings)
		sampling_free(l, l->samplings);
}

int th_live_mcp_sample_policy(const struct th_live *l, const struct th_call *c,
			      const char **ret_why)
{
	const struct th_tool_row *row = th_live_row(l, c);
	int64_t policy = row && row->mcp ? row->mcp->server->sampling : TH_MCP_SAMPLING_OFF;

	*ret_why = policy == TH_MCP_SAMPLING_OFF ? "the agent file does not allow it"
						 : "it had as many answers as one call may have";
	if (policy == TH_MCP_SAMPLING_OFF || c->samples > TH_MCP_SAMPLES_MAX)
		return 0;
	return policy == TH_MCP_SAMPLING_ALLOW ? 1 : -1;
}

static struct th_call *call_of(struct th_live *l, const struct th_sampling *s)
{
	for (size_t i = 0; i < l->fold.call_count; i++)
		if (l->fold.calls[i].call_seq == s->call_seq)
			return &l->fold.calls[i];
	return NULL;
}

static void write_sampled(struct th_live *l, const struct th_call *c, const struct th_sampling *s,
			  const struct th_err *failed)
{
	struct th_buf usage TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&usage);
	struct th_ev_sampled d = {
		.call_id = c->call_id,
		.answer = failed ? TH_STR("") : th_buf_str(&s->answer),
		.failed = failed ? th_str_of(failed->msg) : TH_STR(""),
	};

	if (s->usage.requests) {
		th_jw_object(&w);
		th_side_print(&s->usage, &w);
		th_jw_object_end(&w);
		d.usage = th_buf_str(&usage);
	}
	th_live_write_event(l, TH_EV_SAMPLED, TH_SOURCE_ENVIRONMENT, c->call_seq, c->call_id, &d);
}

static bool read_answer(struct th_live *l, void *ctx, struct th_str items, struct th_err *err)
{
	struct th_sampling *s = ctx;
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);

	if (!th_side_text(items, "answer", &text, err))
		return false;
	th_mcp_sample_answer(th_buf_str(&text), l->options.model, &s->answer);
	return th_buf_check(&s->answer, "the model's answer", err) == TH_OK;
}

/* With the event its call is given out again; where the run was paused, by a resume. */
static void sampled(struct th_live *l, void *ctx, const struct th_err *err)
{
	struct th_sampling *s = ctx;
	const struct th_call *c = call_of(l, s);

	s->request = NULL;
	if (c && c->phase == TH_CALL_CLEARED)
		write_sampled(l, c, s, err);
	sampling_free(l, s);
}

static enum th_code put_content(const struct th_call *c, struct th_buf *content,
				int64_t *ret_tokens, struct th_err *err)
{
	struct th_json_doc *params TH_CLEANUP(th_json_freep) = NULL;
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MCP_FORM_MAX);
	struct th_jw w = th_jw(content);
	enum th_code code = th_json_parse(th_json_raw_get(c->form, "params"), &params, err);

	if (!code)
		code = th_mcp_sample_prompt(th_json_root(params), &text, ret_tokens, err);
	th_jw_str(&w, th_buf_str(&text));
	return code ? code : th_buf_check(content, "what the server asks the model", err);
}

static void begin(struct th_live *l, struct th_call *c)
{
	struct th_buf content TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_MCP_FORM_MAX);
	struct th_sampling *s = th_alloc(sizeof(*s));
	struct th_side_ask a = { .kind = TH_SIDE_SAMPLER,
				 .base_url = l->resolved->base_url,
				 .usage = &s->usage,
				 .read = read_answer,
				 .done = sampled,
				 .ctx = s };
	struct th_err err = { 0 };
	int64_t tokens = 0;

	s->call_seq = c->call_seq;
	s->next = l->samplings;
	l->samplings = s;
	th_buf_init(&s->answer, TH_MCP_ANSWER_MAX);
	a.options = th_side_bare(l, &s->model);
	if (!put_content(c, &content, &tokens, &err)) {
		int64_t *most = &s->model.settings.max_output_tokens;

		*most = *most > 0 ? TH_MIN(*most, tokens) : tokens;
		a.output_max = tokens;
		a.content = th_buf_str(&content);
		if (!th_side_request(l, &a, &s->request, &err))
			return;
	}
	sampled(l, s, &err);
}

bool th_live_mcp_samples(struct th_live *l, struct th_call *c)
{
	bool yes = !c->reason.len || th_str_ieq(th_str_trim(c->reason), TH_STR(TH_MCP_SAMPLE_YES));

	if (c->phase != TH_CALL_CLEARED || !c->sample || c->sample_over || !c->approved || !yes)
		return false;
	for (const struct th_sampling *s = l->samplings; s; s = s->next)
		if (s->call_seq == c->call_seq)
			return true; /* it was paused, and its answer comes */
	begin(l, c);
	return true;
}
