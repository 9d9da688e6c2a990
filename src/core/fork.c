/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fork.h"

#include "base/limits.h"

void th_fork_init(struct th_fork *f)
{
	*f = (struct th_fork){ 0 };
	th_session_init(&f->session);
	th_buf_init(&f->conversation, TH_EVENT_DATA_MAX);
}

void th_fork_deinit(struct th_fork *f)
{
	th_session_deinit(&f->session);
	th_buf_deinit(&f->conversation);
}

/* What the agent that begins was given to continue. */
static void find_conversation(struct th_fork *f, struct th_str data)
{
	struct th_str settings = th_json_raw_get(th_json_raw_get(data, "agent"), "settings");
	struct th_str raw = th_json_raw_get(settings, "conversation");

	th_buf_clear(&f->conversation);
	if (th_str_starts(raw, TH_STR("\"")) && !th_json_unescape(raw, &f->conversation))
		th_buf_add(&f->conversation, raw); /* as it stands: it is one */
}

enum th_code th_fork_take(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			  struct th_err *err)
{
	struct th_fork *f = ctx;
	struct th_effects effects TH_UNSET;

	if (ev->kind == TH_EV_SESSION_CREATED)
		find_conversation(f, ev->data);
	f->head = *digest;
	return th_session_step(&f->session, ev, &effects, err);
}

enum th_code th_fork_begin(struct th_fork *f, struct th_session_row *row, struct th_str session_id,
			   struct th_event *ev, struct th_buf *data, struct th_err *err)
{
	const struct th_ev_session_forked forked = { .parent = row->session_id,
						     .seq = (int64_t)f->session.seq };
	struct th_effects effects TH_UNSET;
	struct th_jw w = th_jw(data);
	enum th_code code;

	if (f->conversation.len)
		return th_fail(err, TH_EUSAGE,
			       "session %.*s is in the provider's conversation %.*s, which cannot "
			       "be forked with it",
			       TH_FMT(row->session_id), TH_FMT(th_buf_str(&f->conversation)));
	th_table_print(&th_ev_session_forked_table, &forked, &w);
	code = th_buf_check(data, "the event", err);
	if (code)
		return code;
	ev->seq = f->session.seq + 1;
	ev->source = TH_SOURCE_OPERATOR;
	ev->kind = TH_EV_SESSION_FORKED;
	ev->data = th_buf_str(data);
	row->parent = row->session_id;
	row->parent_seq = f->session.seq;
	code = th_session_step(&f->session, ev, &effects, err);
	if (code)
		return code;
	f->head = th_event_digest(&f->head, session_id, ev);
	row->session_id = session_id;
	row->epoch = 1;
	row->owner = TH_STR("");
	row->head = f->head;
	row->created_ms = ev->ts_ms;
	if (th_delegated_by(row->metadata).len) /* the other does: it works for nobody */
		row->metadata = TH_STR("");
	th_session_row_of(&f->session, row);
	return TH_OK;
}
