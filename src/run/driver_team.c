/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_team.c - from one agent to the next, and answers that are sent back.
 */
#include "base/text.h"
#include "run/driver_internal.h"

static enum th_code history_fill(void *ctx, const struct th_event *ev,
				 const struct th_digest *digest, struct th_err *err)
{
	(void)digest;
	return th_history_add(ctx, ev, err);
}

enum th_code th_live_history_make(struct th_live *l, struct th_err *err)
{
	struct th_driver *d = l->driver;
	enum th_code code = TH_OK;

	l->history = th_history_new(&l->options);
	if (!l->history)
		return th_fail_memory(err);
	if (l->fold.seq > 0)
		code = d->world.ops->read(d->world.ctx, th_str_of(l->id), 1, l->fold.seq,
					  history_fill, l->history, err);
	if (code)
		l->history = th_history_free(l->history);
	else
		l->history_due = false;
	return code;
}

/* {"assistant": "NAME"}, which models know from other runtimes. */
static void handoff_output(struct th_str to, struct th_buf *out)
{
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&text);

	th_buf_add_cstr(&text, "{\"assistant\": ");
	th_jw_str(&w, to);
	th_buf_add_cstr(&text, "}");
	w = th_jw(out);
	th_jw_str(&w, th_buf_str(&text));
	th_buf_deinit(&text);
}

void th_live_hand_over(struct th_live *l, struct th_call *c)
{
	struct th_session *s = &l->fold;
	const struct th_member *m = th_session_member(s);
	struct th_ev_handoff d = { .from = m->name };
	struct th_ev_outcome outcome = { .status = TH_STR("done") };
	struct th_buf data, output;
	struct th_str call_id;
	struct th_arena memory;
	uint64_t cause;
	struct th_jw w;

	if (s->state != TH_STATE_RUNNING || s->phase != TH_TURN_CALLS || s->tripped ||
	    c->phase != TH_CALL_CLEARED || !c->handoff || s->handed)
		return;
	th_arena_init(&memory, TH_MIB);
	th_buf_init(&data, TH_EVENT_DATA_MAX);
	th_buf_init(&output, TH_EVENT_DATA_MAX);
	d.to = s->team->members[m->handoffs[c->handoff - 1].to].name;
	d.call_id = outcome.call_id = call_id = th_arena_str(&memory, c->call_id);
	cause = c->call_seq;
	w = th_jw(&data);
	th_table_print(&th_ev_handoff_table, &d, &w);
	th_live_write(l, TH_EV_HANDOFF, TH_SOURCE_AGENT, cause, call_id, th_buf_str(&data));
	handoff_output(d.to, &output);
	outcome.output = th_buf_str(&output);
	th_buf_clear(&data);
	w = th_jw(&data);
	th_table_print(&th_ev_outcome_table, &outcome, &w);
	th_live_write(l, TH_EV_OUTCOME, TH_SOURCE_AGENT, cause, call_id, th_buf_str(&data));
	th_buf_deinit(&data);
	th_buf_deinit(&output);
	th_arena_deinit(&memory);
}

/* The answer is sent back, with what is wrong. */
void th_live_correct(struct th_live *l)
{
	struct th_buf text = TH_BUF_INIT(4 * TH_KIB), data = TH_BUF_INIT(8 * TH_KIB);
	struct th_jw w = th_jw(&data);

	th_buf_printf(&text,
		      "Your answer does not fit the schema that was asked for: %.*s. Answer again, "
		      "with nothing but one JSON value that fits it.",
		      TH_FMT(th_utf8_cut(th_buf_str(&l->fold.reason), TH_ERR_MSG_MAX)));
	th_jw_object(&w);
	th_jw_kstr(&w, "role", TH_STR("user"));
	th_jw_kstr(&w, "content", th_buf_str(&text));
	th_jw_object_end(&w);
	th_live_write(l, TH_EV_MESSAGE, TH_SOURCE_ENVIRONMENT, l->fold.answer_seq, TH_STR(""),
		      th_buf_str(&data));
	th_buf_deinit(&text);
	th_buf_deinit(&data);
}
