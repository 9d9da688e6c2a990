/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trajectory_atif.c - the Agent Trajectory Interchange Format, version 1.8.
 *
 * Observations stand in the step whose calls they answer; pictures are data URLs.
 */
#include "base/limits.h"
#include "forms/trajectory.h"

struct writer {
	const struct th_trajectory_out *out;
	struct th_buf text;
	struct th_jw w;
};

static enum th_code put_part(void *ctx, const struct th_step_part *part, struct th_err *err)
{
	struct writer *x = ctx;

	th_jw_object(&x->w);
	if (part->text.len) {
		th_jw_kstr(&x->w, "type", TH_STR("text"));
		th_jw_kstr(&x->w, "text", part->text);
		th_jw_object_end(&x->w);
		return TH_OK;
	}
	th_jw_kstr(&x->w, "type", TH_STR("image"));
	th_jw_name(&x->w, TH_STR("source"));
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "media_type",
		   part->media_type.len ? part->media_type : TH_STR("image/png"));
	if (part->url.len) {
		th_jw_kstr(&x->w, "path", part->url);
	} else {
		th_jw_name(&x->w, TH_STR("path"));
		th_buf_printf(&x->text, "\"data:%.*s;base64,", TH_FMT(part->media_type));
		th_json_escape(&x->text, part->base64);
		th_buf_add_char(&x->text, '"');
		x->w.comma = true;
	}
	th_jw_object_end(&x->w);
	th_jw_object_end(&x->w);
	return th_buf_check(&x->text, "a step", err);
}

/* A text as such; what has parts as parts. */
static enum th_code put_content(struct writer *x, struct th_str content, struct th_err *err)
{
	enum th_code code;

	if (!content.len)
		th_jw_str(&x->w, TH_STR(""));
	if (!content.len || content.ptr[0] == '"') {
		if (content.len)
			th_jw_raw(&x->w, content);
		return TH_OK;
	}
	th_jw_array(&x->w);
	code = th_step_parts(content, x->out, put_part, x, err);
	th_jw_array_end(&x->w);
	return code;
}

static enum th_code put_calls(struct writer *x, const struct th_trajectory_step *s,
			      struct th_err *err)
{
	enum th_code code = TH_OK;

	th_jw_name(&x->w, TH_STR("tool_calls"));
	th_jw_array(&x->w);
	for (size_t i = 0; i < s->call_count; i++) {
		th_jw_object(&x->w);
		th_jw_kstr(&x->w, "tool_call_id", s->calls[i].id);
		th_jw_kstr(&x->w, "function_name", s->calls[i].tool);
		th_jw_kraw(&x->w, "arguments", s->calls[i].arguments);
		th_jw_object_end(&x->w);
	}
	th_jw_array_end(&x->w);
	th_jw_name(&x->w, TH_STR("observation"));
	th_jw_object(&x->w);
	th_jw_name(&x->w, TH_STR("results"));
	th_jw_array(&x->w);
	for (size_t i = 0; !code && i < s->call_count; i++) {
		if (!s->calls[i].output.len)
			continue;
		th_jw_object(&x->w);
		th_jw_kstr(&x->w, "source_call_id", s->calls[i].id);
		th_jw_name(&x->w, TH_STR("content"));
		code = put_content(x, s->calls[i].output, err);
		th_jw_name(&x->w, TH_STR("extra"));
		th_jw_object(&x->w);
		th_jw_kstr(&x->w, "status", s->calls[i].status);
		th_jw_object_end(&x->w);
		th_jw_object_end(&x->w);
	}
	th_jw_array_end(&x->w);
	th_jw_object_end(&x->w);
	return code;
}

/* Tokens of a usage, by our names and theirs. */
static const char *const counts[][3] = {
	{ "input", "prompt_tokens", "total_prompt_tokens" },
	{ "output", "completion_tokens", "total_completion_tokens" },
	{ "cached", "cached_tokens", "total_cached_tokens" },
};

static void put_metrics(struct writer *x, const struct th_trajectory_step *s, int64_t totals[],
			int64_t *cost_nano)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *usage = NULL;

	if (s->usage.len && !th_json_parse(s->usage, &doc, NULL))
		usage = th_json_root(doc);
	if (!usage && s->cost_nano < 0)
		return;
	th_jw_name(&x->w, TH_STR("metrics"));
	th_jw_object(&x->w);
	for (size_t i = 0; i < TH_COUNT(counts); i++) {
		int64_t n = th_json_get_int(usage, counts[i][0], -1);

		if (n >= 0)
			th_jw_kint(&x->w, counts[i][1], n);
		totals[i] += TH_MAX(n, (int64_t)0);
	}
	if (s->cost_nano >= 0)
		th_jw_kreal(&x->w, "cost_usd", (double)s->cost_nano / 1e9);
	*cost_nano += TH_MAX(s->cost_nano, (int64_t)0);
	th_jw_object_end(&x->w);
}

static enum th_code put_step(struct writer *x, const struct th_trajectory_step *s, size_t id,
			     int64_t totals[], int64_t *cost_nano, struct th_err *err)
{
	static const char *const sources[] = { "system", "user", "agent" };
	struct th_buf time TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64);
	bool agent = s->source == TH_STEP_AGENT;
	enum th_code code;

	th_jw_object(&x->w);
	th_jw_kint(&x->w, "step_id", (int64_t)id);
	if (s->ts_ms) {
		th_step_time(s->ts_ms, &time);
		th_jw_kstr(&x->w, "timestamp", th_buf_str(&time));
	}
	th_jw_kstr(&x->w, "source", th_str_of(sources[s->source]));
	if (agent && s->model.len)
		th_jw_kstr(&x->w, "model_name", s->model);
	th_jw_name(&x->w, TH_STR("message"));
	code = put_content(x, s->content, err);
	if (agent && s->reasoning.len)
		th_jw_kstr(&x->w, "reasoning_content", s->reasoning);
	if (agent && s->call_count && !code)
		code = put_calls(x, s, err);
	if (agent)
		put_metrics(x, s, totals, cost_nano);
	if (agent)
		th_jw_kint(&x->w, "llm_call_count", s->asked);
	th_jw_object_end(&x->w);
	return code ?: th_step_flush(x->out, &x->text, err);
}

static void put_head(struct writer *x, const struct th_trajectory *t)
{
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "schema_version", TH_STR("ATIF-v1.8"));
	th_jw_kstr(&x->w, "session_id", t->session);
	th_jw_name(&x->w, TH_STR("agent"));
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "name", t->agent.len ? t->agent : TH_STR("thole"));
	th_jw_kstr(&x->w, "version", TH_STR(TH_VERSION));
	if (t->model.len)
		th_jw_kstr(&x->w, "model_name", t->model);
	th_jw_object_end(&x->w);
	th_jw_name(&x->w, TH_STR("steps"));
	th_jw_array(&x->w);
}

static void put_totals(struct writer *x, const int64_t totals[], int64_t cost_nano, size_t steps)
{
	th_jw_name(&x->w, TH_STR("final_metrics"));
	th_jw_object(&x->w);
	for (size_t i = 0; i < TH_COUNT(counts); i++)
		th_jw_kint(&x->w, counts[i][2], totals[i]);
	th_jw_kreal(&x->w, "total_cost_usd", (double)cost_nano / 1e9);
	th_jw_kint(&x->w, "total_steps", (int64_t)steps);
	th_jw_object_end(&x->w);
}

static enum th_code write_atif(const struct th_trajectory *t, const struct th_trajectory_out *out,
			       struct th_err *err)
{
	struct th_buf said TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw instructions = th_jw(&said);
	struct writer x = { .out = out };
	struct th_trajectory_step system = { .source = TH_STEP_SYSTEM, .cost_nano = -1 };
	int64_t totals[TH_COUNT(counts)] = { 0 }, cost_nano = 0;
	size_t id = 0;
	enum th_code code = TH_OK;

	th_buf_init(&x.text, 2 * TH_BLOB_MAX);
	x.w = th_jw(&x.text);
	put_head(&x, t);
	if (t->instructions.len || !t->count) {
		th_jw_str(&instructions, t->instructions);
		system.content = th_buf_str(&said);
		code = put_step(&x, &system, ++id, totals, &cost_nano, err);
	}
	for (size_t i = 0; !code && i < t->count; i++)
		code = put_step(&x, &t->list[i], ++id, totals, &cost_nano, err);
	th_jw_array_end(&x.w);
	put_totals(&x, totals, cost_nano, id);
	th_jw_object_end(&x.w);
	th_buf_add_char(&x.text, '\n');
	code = code ?: th_step_flush(out, &x.text, err);
	th_buf_deinit(&x.text);
	return code;
}

const struct th_trajectory_form th_trajectory_atif = {
	.name = "atif",
	.write = write_atif,
};
