/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_request.c - whether a request says what the log says, no more and no less.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "sim/check_internal.h"

struct telling {
	struct th_history *history; /* or, where handoffs and guardrails have changed it, */
	struct th_transcript *transcript;
	uint64_t task_seq;
	struct th_buf previous; /* what the last request continues from, by its event */
};

static enum th_code history_event(void *ctx, const struct th_event *ev,
				  const struct th_digest *digest, struct th_err *err)
{
	struct telling *t = ctx;

	(void)digest;
	if (ev->kind == TH_EV_MODEL_REQUESTED) {
		th_buf_clear(&t->previous);
		if (!th_json_unescape(th_json_raw_get(ev->data, "previous"), &t->previous))
			th_buf_clear(&t->previous);
	}
	if (t->transcript && ev->seq == t->task_seq)
		t->transcript->task_at = t->transcript->count;
	return t->transcript ? th_transcript_add(t->transcript, ev, err)
			     : th_history_add(t->history, ev, err);
}

/* Of a history that is not simply the log from its beginning. */
static enum th_code history_rewritten(struct th_sim_check *c, size_t number, uint64_t seq,
				      struct telling *t, struct th_err *err)
{
	struct th_transcript transcript;
	enum th_code code;

	th_transcript_init(&transcript, true);
	t->transcript = &transcript;
	t->task_seq = c->sessions[number].fold.task_seq;
	code = th_sim_store_read(c->disk, th_str_of(c->sessions[number].id), 1, seq, history_event,
				 t, err);
	th_transcript_prune(&transcript);
	if (!code)
		code = th_history_begin(t->history, &transcript, seq, true, err);
	th_transcript_deinit(&transcript);
	return code;
}

/* What the session's tools are, and whom its agent may hand over to. */
static void add_handoffs(const struct th_member *m, struct th_request_options *own,
			 struct th_tool_spec specs[static TOOLS_MAX])
{
	assert(own->tool_count + m->handoff_count <= TOOLS_MAX);
	memcpy(specs, own->tools, own->tool_count * sizeof(*specs));
	for (size_t i = 0; i < m->handoff_count; i++)
		specs[own->tool_count++] = (struct th_tool_spec){
			.name = m->handoffs[i].tool,
			.description = m->handoffs[i].description,
			.schema = m->handoffs[i].schema,
			.strict = m->handoffs[i].strict,
		};
	own->tools = specs;
}

/* Compares with what the log alone makes of it.  False: it is a part of the history only. */
static bool check_history(struct th_sim_check *c, size_t number, uint64_t seq, size_t agent,
			  const struct th_request_options *given, struct th_str body)
{
	const struct th_session *fold = &c->sessions[number].fold;
	struct th_tool_spec specs[TOOLS_MAX];
	struct th_request_options own = *given, *options = &own;
	struct th_history *h = th_history_new(options);
	struct telling t = { .history = h, .previous = TH_BUF_INIT(TH_RESPONSE_ID_MAX) };
	bool whole;
	struct th_buf want = TH_BUF_INIT(TH_REQUEST_MAX), blob = TH_BUF_INIT(TH_MIB);
	struct th_slice *slices;
	struct th_err err = { 0 };
	size_t count;

	assert(h); /* in the simulator memory does not run out */
	add_handoffs(&fold->team->members[agent], &own, specs);
	if (fold->rewritten_seq ? history_rewritten(c, number, seq, &t, &err)
				: th_sim_store_read(c->disk, th_str_of(c->sessions[number].id), 1,
						    seq, history_event, &t, &err))
		th_sim_check_blame(c, "the log of session %zu makes no history: %s", number,
				   err.msg);
	own.previous = th_buf_str(&t.previous);
	options->profile->wire->head(options, &want);
	count = own.previous.len ? th_history_tail_slices(h, th_images_keep(options), &slices)
				 : th_history_slices(h, th_images_keep(options), &slices);
	for (size_t i = 0; i < count; i++) {
		if (slices[i].bytes.ptr) {
			th_buf_add(&want, slices[i].bytes);
			continue;
		}
		th_buf_clear(&blob);
		if (th_sim_store_blob(c->disk, &slices[i].blob, &blob, &err))
			th_sim_check_blame(c, "a picture of session %zu is not in the store",
					   number);
		th_base64_encode(&want, blob.ptr, blob.len);
	}
	free(slices);
	options->profile->wire->tail(options, &want);
	if (!th_str_eq(th_buf_str(&want), body)) {
		c->counts->diverged++;
		th_sim_check_blame(c, "session %zu: the request is not what the log makes of it",
				   number);
	}
	whole = !own.previous.len;
	th_history_free(h);
	th_buf_deinit(&want);
	th_buf_deinit(&blob);
	th_buf_deinit(&t.previous);
	return whole;
}

/* Every call of the history has one result, and every result its call. */
static void check_answers(struct th_sim_check *c, size_t number, struct th_str body)
{
	struct th_json_doc *doc = NULL;
	struct th_str open[BODY_CALLS_MAX];
	size_t count = 0;
	struct th_json_iter it;

	if (th_json_parse(body, &doc, NULL)) {
		th_sim_check_blame(c, "session %zu: the request is not JSON", number);
		return;
	}
	for (it = th_json_iter(th_json_get(th_json_root(doc), "input")); th_json_next(&it);) {
		struct th_str type = th_json_get_str(it.val, "type");
		struct th_str id = th_json_get_str(it.val, "call_id");
		size_t i = 0;

		if ((th_str_is(type, "function_call") || th_str_is(type, "computer_call")) &&
		    count < BODY_CALLS_MAX)
			open[count++] = id;
		if (!th_str_ends(type, TH_STR("_call_output")))
			continue;
		while (i < count && !th_str_eq(open[i], id))
			i++;
		if (i == count)
			th_sim_check_blame(c,
					   "session %zu: a result of %.*s that nobody asked for "
					   "or that was given before",
					   number, TH_FMT(id));
		else
			open[i] = open[--count];
	}
	if (count > 0) {
		c->counts->lost++;
		th_sim_check_blame(c, "session %zu: call %.*s has no result in the request", number,
				   TH_FMT(open[0]));
	}
	th_json_free(doc);
}

void th_sim_check_guard(struct th_sim_check *c, size_t number, struct th_str stage,
			struct th_str name, struct th_str call_id)
{
	const struct shadow *s = &c->sessions[number];
	const struct th_session *f = &s->fold;
	bool there = !th_str_starts(stage, TH_STR("tool_"));

	for (size_t i = 0; i < f->call_count; i++)
		there |= th_str_eq(f->calls[i].call_id, call_id);
	if (!s->there || !there)
		th_sim_check_blame(c, "session %zu: %.*s is asked about what is not durable",
				   number, TH_FMT(name));
	else if (th_sim_barrier_said(&s->barrier, stage, name, call_id, f->guard_to))
		th_sim_check_blame(c, "session %zu: %.*s is asked again about %.*s %.*s", number,
				   TH_FMT(name), TH_FMT(stage), TH_FMT(call_id));
}

void th_sim_check_request(struct th_sim_check *c, size_t number, uint64_t seq, size_t agent,
			  const struct th_request_options *options, const struct th_str *body,
			  size_t body_count)
{
	const struct shadow *s = &c->sessions[number];
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);

	c->counts->requests++;
	if (!s->there || s->fold.seq < seq) {
		th_sim_check_blame(c,
				   "session %zu: the model is asked before event %llu is durable",
				   number, (unsigned long long)seq);
		return;
	}
	if (s->fold.seq == seq && s->fold.phase != TH_TURN_REQUESTED)
		th_sim_check_blame(c, "session %zu: the model is asked for an answered turn",
				   number);
	if (s->fold.seq == seq && s->fold.agent != agent)
		th_sim_check_blame(c, "session %zu: agent %zu asks while agent %zu speaks", number,
				   agent, s->fold.agent);
	if (s->fold.answer_seq > seq)
		th_sim_check_blame(c,
				   "session %zu: the model is asked again for turn of event %llu",
				   number, (unsigned long long)seq);
	for (size_t i = 0; i < body_count; i++)
		th_buf_add(&text, body[i]);
	/* What changed the history later would change it here. */
	if (s->fold.rewritten_seq > seq)
		return th_buf_deinit(&text);
	if (check_history(c, number, seq, agent, options, th_buf_str(&text)))
		check_answers(c, number, th_buf_str(&text));
	th_buf_deinit(&text);
}
