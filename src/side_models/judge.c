/* SPDX-License-Identifier: Apache-2.0 */
#include "side_models/judge.h"

#include <stdlib.h>

#include "base/text.h"
#include "context/condenser.h"
#include "guards/analyse.h"
#include "live/log.h"
#include "live/queue.h"
#include "live/side_request.h"
#include "side_models/critic.h"
#include "side_models/shorten.h"
#include "turns/history_make.h"
#include "turns/log_ahead.h"
#include "turns/team.h"

TH_TABLE(judge_answer, "What the model says when it judges.", false)

struct th_judging {
	struct th_side_request *request;
	struct th_side_usage usage;
	uint64_t answer_seq; /* of the answer that is judged */
	uint64_t asked;      /* of a critic's ticket, while it is asked; 0: none is */
	char effect_id[33];
	struct th_buf missing, labels;
	double score;
	bool complete;
};

static const char question[] =
    "Judge now whether the task is done; do not go on with it and call no tool. Go through each "
    "requirement, and count as met only what the results above show, not what was merely said. "
    "Answer with one JSON object and nothing else:\n";

/* NULL: a model judges, as it does a goal that the session was given. */
static const struct th_agent_critic *critic_of(const struct th_live *l)
{
	const struct th_agent_judge *judge = l->team_config.agent->judge;

	return judge && !l->fold.judge->goal.on ? judge->critic : NULL;
}

/* As the table has it. */
static void put_question(const struct th_live *l, struct th_buf *out)
{
	const struct th_agent_judge *judge = l->team_config.agent->judge;
	const struct th_table *t = &th_judge_answer_table;
	struct th_str goal = TH_STR("");

	th_buf_add_cstr(out, question);
	for (size_t i = 0; i < t->count; i++)
		th_buf_printf(out, "%s\"%s\": %s", i ? ", " : "{", t->fields[i].name,
			      t->fields[i].kind == TH_FIELD_num    ? "NUMBER"
			      : t->fields[i].kind == TH_FIELD_bool ? "true or false"
								   : "[SENTENCE, …]");
	th_buf_add_cstr(out, "}\n");
	for (size_t i = 0; i < t->count; i++)
		th_buf_printf(out, "%s: %s.\n", t->fields[i].name, t->fields[i].doc);
	if (l->fold.judge->goal.on)
		goal = th_buf_str(&l->fold.judge->goal.text);
	else if (judge)
		goal = judge->goal;
	if (goal.len)
		th_buf_printf(out, "The task is done when this is reached: %.*s", TH_FMT(goal));
	else
		th_buf_add_cstr(out, "The task is what the user asked for.");
}

void th_live_judge_free(struct th_live *l)
{
	struct th_judging *j = l->judging;

	if (!j)
		return;
	l->judging = NULL;
	th_side_cancel(l, j->request);
	if (j->asked)
		l->driver->world.ops->tool_cancel(l->driver->world.ctx,
						  th_live_ticket_of(l, TH_TICKET_CRITIC, j->asked));
	th_buf_deinit(&j->missing);
	th_buf_deinit(&j->labels);
	free(j);
}

static enum th_code take(struct th_judging *j, struct th_str text, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct th_jw w = th_jw(&j->missing);
	struct th_judge_answer a;
	enum th_code code = th_json_parse(th_str_trim(text), &doc, err);

	th_arena_init(&memory, TH_TURN_MEMORY_MAX);
	if (!code)
		code = th_table_parse(&th_judge_answer_table, th_json_root(doc), &memory, &a, err);
	if (!code && a.score > 1)
		code = th_fail(err, TH_EPROTO, "score must be at most 1");
	if (code)
		return code;
	j->score = a.score;
	j->complete = a.complete;
	th_jw_array(&w);
	for (size_t i = 0; i < a.missing.count && i < TH_JUDGE_MISSING_MAX; i++)
		th_jw_str(&w, th_utf8_cut(a.missing.list[i], TH_JUDGE_TEXT_MAX));
	th_jw_array_end(&w);
	return th_buf_check(&j->missing, "what is missing", err);
}

static bool read_verdict(struct th_live *l, void *ctx, struct th_str items, struct th_err *err)
{
	struct th_judging *j = ctx;
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);

	(void)l;
	if (!th_side_text(items, "judge", &text, err))
		return false;
	if (take(j, th_buf_str(&text), err))
		return th_prefix(err, err->code, "the model's verdict") == TH_OK;
	return true;
}

static void write_verdict(struct th_live *l, struct th_judging *j, const struct th_err *failed)
{
	struct th_buf usage TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_ev_verdict d = {
		.round = th_judge_given(&l->fold) + 1,
		.complete = !failed && j->complete,
		.score = failed ? 0 : j->score,
		.failed = failed ? th_str_of(failed->msg) : TH_STR(""),
		.model = l->team_config.judge ? l->team_config.judge->model : TH_STR(""),
	};
	const struct th_agent_critic *critic = critic_of(l);
	struct th_jw w = th_jw(&usage);

	if (critic)
		d.model = critic->model.len ? critic->model : TH_STR(TH_CRITIC_MODEL_DEFAULT);
	if (j->usage.requests) {
		th_jw_object(&w);
		th_side_print(&j->usage, &w);
		th_jw_object_end(&w);
		d.usage = th_buf_str(&usage);
	}
	if (!failed) {
		d.missing = th_buf_str(&j->missing);
		d.labels = th_buf_str(&j->labels);
	}
	th_live_write_event(l, TH_EV_VERDICT, TH_SOURCE_ENVIRONMENT, j->answer_seq, TH_STR(""), &d);
}

static void judged(struct th_live *l, void *ctx, const struct th_err *err)
{
	struct th_judging *j = ctx;

	j->request = NULL;
	write_verdict(l, j, err);
	th_live_judge_free(l);
}

/* No verdict can be asked for: within the limits, or at all. */
static void not_asked(struct th_live *l, const struct th_err *err)
{
	struct th_err why;

	if (err->code != TH_ELIMIT)
		write_verdict(l, l->judging, err);
	else if (th_live_state(l, TH_STATE_LIMIT, th_str_of(err->msg), &why))
		th_live_lose(l, &why);
	th_live_judge_free(l);
}

/* About so many bytes may be told to another model: half of what it takes, of which a token has
 * some. */
static size_t room_of(const struct th_profile *p)
{
	int64_t bytes = p->context_tokens / 2 * TH_SIDE_TOKEN_BYTES;

	return bytes > 0 ? (size_t)TH_MIN(bytes, (int64_t)TH_COMPACT_LISTED_MAX) : TH_SHORTEN_ROOM;
}

/* The last picture among parts; what is before stays where there is none. */
static void take_picture(struct th_str parts, struct th_buf *picture)
{
	struct th_json_raw_iter it = th_json_raw_iter(parts);

	while (parts.len && parts.ptr[0] == '[' && th_json_raw_next(&it))
		if (th_str_is(th_json_raw_get(it.val, "type"), "\"image\"")) {
			th_buf_clear(picture);
			th_buf_add(picture, it.val);
		}
}

/* What was said and done as the agent sees it, for a model that cannot be sent its history: each
 * item as long as there is room for all.  Where there is none, the task and the newest.  `picture`:
 * the newest one, a part of a message; empty: there is none. */
static enum th_code put_history(struct th_live *l, struct th_buf *out, struct th_buf *picture,
				struct th_err *err)
{
	size_t room = room_of(l->team_config.judge->profile), before;
	struct th_shorten s = TH_SHORTEN_BEGIN;
	struct th_transcript t;
	enum th_code code = th_live_transcript(l, l->fold.seq, NULL, &t, err);

	if (code)
		return code;
	th_buf_add_cstr(out, "An agent has worked on a task. This is what was said and done, each "
			     "item cut to its first bytes:\n");
	before = out->len;
	do {
		th_buf_truncate(out, before);
		th_condenser_list(&t, 0, TH_MIN(t.count, (size_t)1), s.each, out);
		if (s.from > 1)
			th_buf_printf(out, "[%zu items are left out here]\n", s.from - 1);
		th_condenser_list(&t, s.from, t.count, s.each, out);
		/* As long as a list can be is one that was cut at its end, where the newest are. */
	} while (out->len >= room && th_shorten(&s, t.count));
	for (size_t i = 0; i < t.count && l->team_config.judge->profile->vision; i++)
		take_picture(t.list[i].kind == TH_TRANSCRIPT_RESULT ? t.list[i].output
								    : t.list[i].content,
			     picture);
	th_transcript_deinit(&t);
	th_buf_add_cstr(out, picture->len ? "\nThe newest picture is the one here.\n" : "\n");
	if (picture->failed)
		return th_buf_check(picture, "the newest picture", err);
	return th_buf_check(out, "what the judge is told", err);
}

/* The text, and the picture if there is one. */
static void put_content(struct th_str text, struct th_str picture, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	if (!picture.len) {
		th_jw_str(&w, text);
		return;
	}
	th_jw_array(&w);
	th_jw_raw(&w, picture);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("text"));
	th_jw_kstr(&w, "text", text);
	th_jw_object_end(&w);
	th_jw_array_end(&w);
}

/* ---- a critic ---- */

static void ask_critic(struct th_live *l, struct th_judging *j,
		       const struct th_agent_critic *critic)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX);
	struct th_buf arguments TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	int64_t timeout_s = critic->timeout_s ?: TH_CRITIC_SECONDS_DEFAULT;
	struct th_effect_call effect = { .class = TH_CLASS_R,
					 .tool = TH_STR(TH_ANALYSER_TOOL),
					 .timeout_ms = timeout_s * 1000,
					 .epoch = l->epoch };
	struct th_transcript t;
	struct th_err err = { 0 };
	enum th_code code = th_live_transcript(l, l->fold.seq, NULL, &t, &err);

	if (!code) {
		th_critic_print_input(&t, l->speaking->instructions, TH_SHORTEN_ROOM, &text);
		th_transcript_deinit(&t);
		code = th_buf_check(&text, "what the critic is told", &err);
	}
	th_live_items_used(l);
	if (!code) {
		th_critic_print_question(critic, th_buf_str(&text), &arguments);
		code = th_buf_check(&arguments, "what the critic is told", &err);
	}
	if (code) {
		write_verdict(l, j, &err);
		th_live_judge_free(l);
		return;
	}
	th_driver_random_id(l->driver, j->effect_id);
	effect.effect_id = th_str_of(j->effect_id);
	effect.arguments = th_buf_str(&arguments);
	j->asked = ++l->asked;
	/* It may be over when this returns. */
	l->driver->world.ops->tool_run(
	    l->driver->world.ctx, th_live_ticket_of(l, TH_TICKET_CRITIC, j->asked), &effect, false);
}

static enum th_code take_critic(struct th_live *l, struct th_judging *j,
				const struct th_effect_result *r, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	enum th_code code = th_analyser_said(r, &text, err);

	if (code)
		return th_prefix(err, code, "the critic");
	code = th_critic_read(th_buf_str(&text), l->fold.judge->threshold, &j->score, &j->labels,
			      &j->missing, err);
	j->complete = !code && j->score >= l->fold.judge->threshold;
	return code;
}

void th_live_judge_said(struct th_live *l, struct th_ticket t, const struct th_effect_result *r)
{
	struct th_judging *j = l->judging;
	struct th_err err = { 0 };

	if (!j || !j->asked || j->asked != t.seq)
		return;
	j->asked = 0;
	write_verdict(l, j, take_critic(l, j, r, &err) ? &err : NULL);
	th_live_judge_free(l);
	if (!l->lost)
		th_live_pump(l);
}

void th_live_judge(struct th_live *l)
{
	const struct th_agent_critic *critic = critic_of(l);
	const struct th_resolved_model *other = l->team_config.judge;
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_buf content TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX);
	struct th_buf picture TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_side_ask a = { .kind = TH_SIDE_JUDGE,
				 .options = l->options,
				 .base_url = l->resolved->base_url,
				 .history = true,
				 .output_max = l->fold.output_max,
				 .read = read_verdict,
				 .done = judged };
	struct th_judging *j;
	struct th_err err = { 0 };
	enum th_code code = TH_OK;

	if (l->judging && l->judging->answer_seq == l->fold.answer_seq)
		return; /* a session that was paused waits for it still */
	if (other || critic ? !th_live_items_here(l, l->fold.seq, TH_DO_JUDGE, 0)
			    : !th_live_history_here(l, TH_DO_JUDGE, 0))
		return;
	th_live_judge_free(l);
	j = l->judging = th_alloc(sizeof(*j));
	*j = (struct th_judging){ .answer_seq = l->fold.answer_seq };
	th_buf_init(&j->missing, 8 * TH_JUDGE_MISSING_MAX * TH_JUDGE_TEXT_MAX);
	th_buf_init(&j->labels, 16 * TH_KIB);
	if (critic) {
		ask_critic(l, j, critic);
		return;
	}
	a.usage = &j->usage;
	a.ctx = j;
	a.options.previous = TH_STR("");
	a.options.conversation = false;
	a.options.choice = (struct th_tool_choice){ 0 };
	a.options.format = (struct th_output_format){ 0 };
	if (other) {
		a.options =
		    (struct th_request_options){ .profile = other->profile, .model = other->model };
		a.base_url = other->base_url;
		a.history = false;
		a.judge = true;
		code = put_history(l, &text, &picture, &err);
		th_live_items_used(l);
	}
	put_question(l, &text);
	put_content(th_buf_str(&text), th_buf_str(&picture), &content);
	a.content = th_buf_str(&content);
	if (!code)
		code = th_buf_check(&content, "what the model is asked", &err);
	if (!code && !other && !l->history)
		code = th_live_history_make(l, &err);
	if (!code)
		code = th_side_request(l, &a, &j->request, &err);
	if (code)
		not_asked(l, &err);
}

void th_live_judge_correct(struct th_live *l)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JUDGE_TEXT_MAX + TH_KIB);
	struct th_str missing = th_buf_str(&l->fold.judge->missing);
	struct th_err err;

	th_buf_add_cstr(&text, "The task is not done yet.");
	if (missing.len)
		th_buf_printf(&text, " This is missing, or was not checked:%.*s", TH_FMT(missing));
	th_buf_add_cstr(&text, "\nGo on, check what you have done, and then answer again.");
	if (th_live_append_message(l, TH_SOURCE_ENVIRONMENT, l->fold.answer_seq, th_buf_str(&text),
				   &err))
		th_live_lose(l, &err);
}
