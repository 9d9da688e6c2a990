/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending_callback.c - questions to the agent's code that are under way.  Who asks one says
 * which function takes its answer.
 */
#include "live/pending_callback.h"

#include <stdlib.h>

#include "base/text.h"
#include "live/queue.h"

#define INPUT_ROOM 512 /* what most questions are not longer than */

#define X(id, name, doc) name,
static const char *const ask_names[] = { TH_ASKS(X) };
#undef X

const char *th_ask_name(enum th_ask_kind k)
{
	assert(k < TH_ASK_COUNT);
	return ask_names[k];
}

static const struct th_callbacks *callbacks_of(const struct th_live *l, size_t member)
{
	return th_config_member(&l->team_config, member)->callbacks;
}

/* ---- asking ------------------------------------------------------------------------------ */

struct th_pending_callback *th_callback_new(struct th_live *l, enum th_ask_kind kind,
					    th_callback_answered_fn *answered)
{
	struct th_pending_callback *a = th_alloc(sizeof(*a));

	a->id = ++l->asked;
	a->kind = kind;
	a->answered = answered;
	a->next = l->pending_callbacks;
	l->pending_callbacks = a;
	return a;
}

struct th_pending_callback *th_callback_take(struct th_live *l, uint64_t id)
{
	for (struct th_pending_callback **at = &l->pending_callbacks; *at; at = &(*at)->next)
		if ((*at)->id == id) {
			struct th_pending_callback *a = *at;

			*at = a->next;
			return a;
		}
	return NULL;
}

static void callbacks_end(struct th_live *l, bool hooks_too)
{
	struct th_pending_callback **at = &l->pending_callbacks;

	while (*at) {
		struct th_pending_callback *a = *at;
		const struct th_callbacks *callbacks = callbacks_of(l, a->member);

		if (a->kind == TH_ASK_HOOK && !hooks_too) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		if (callbacks && callbacks->ops->cancel)
			callbacks->ops->cancel(callbacks->ctx,
					       th_live_ticket_of(l, TH_TICKET_CALLBACK, a->id));
		free(a);
	}
}

void th_live_callbacks_free(struct th_live *l)
{
	callbacks_end(l, true);
}

void th_live_callbacks_cancel(struct th_live *l)
{
	callbacks_end(l, false);
}

bool th_live_asks(const struct th_live *l, enum th_ask_kind kind)
{
	for (const struct th_pending_callback *a = l->pending_callbacks; a; a = a->next)
		if (a->kind == kind)
			return true;
	return false;
}

static void answer_with(struct th_live *l, const struct th_pending_callback *a, bool failed,
			struct th_str answer)
{
	if (!l->lost)
		a->answered(l, a, failed, answer);
}

/* Puts agent and session in front of what the caller wrote into the object. */
void th_callback_input(const struct th_live *l, size_t member, struct th_buf *input,
		       struct th_jw *w)
{
	th_buf_reserve(input, INPUT_ROOM);
	*w = th_jw(input);
	th_jw_object(w);
	th_jw_kstr(w, "agent",
		   l->fold.team->count > 1 ? l->fold.team->members[member].name
					   : l->fold.agent_name);
	th_jw_kstr(w, "session", th_str_of(l->id));
}

void th_callback_ask_hook(struct th_live *l, struct th_pending_callback *a, struct th_str function,
			  struct th_str input, const struct th_hook_info *told)
{
	const struct th_callbacks *callbacks = callbacks_of(l, a->member);
	struct th_code_ask q = {
		.ticket = th_live_ticket_of(l, TH_TICKET_CALLBACK, a->id),
		.kind = a->kind,
		.session_id = th_str_of(l->id),
		.agent = l->fold.team->members[a->member].name,
		.function = function,
		.input = input,
	};
	struct th_buf answer = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_err err = { 0 };
	enum th_asked asked = TH_ASKED_NOTHING;
	uint64_t id = a->id;

	if (told)
		q.told = *told;
	if (callbacks)
		asked = callbacks->ops->ask(callbacks->ctx, &q, &answer, &err);
	if (asked == TH_ASKED_NOTHING && a->kind == TH_ASK_HOOK)
		asked = TH_ASKED_ANSWERED; /* nobody watches here */
	else if (asked == TH_ASKED_NOTHING)
		(void)th_fail(&err, TH_ENOENT, "the agent's code has no function \"%.*s\"",
			      TH_FMT(th_utf8_cut(function, 80)));
	if (asked != TH_ASKED_LATER) {
		a = th_callback_take(l, id);
		assert(a); /* who was asked may not call back, so nobody took it */
		answer_with(l, a, asked != TH_ASKED_ANSWERED,
			    asked == TH_ASKED_ANSWERED ? th_buf_str(&answer) : th_str_of(err.msg));
		free(a);
	}
	th_buf_deinit(&answer);
}

void th_callback_ask(struct th_live *l, struct th_pending_callback *a, struct th_str function,
		     struct th_str input)
{
	th_callback_ask_hook(l, a, function, input, NULL);
}

bool th_live_ask_now(struct th_live *l, enum th_ask_kind kind, struct th_str function,
		     struct th_str input, struct th_buf *answer)
{
	const struct th_callbacks *callbacks = callbacks_of(l, l->fold.agent);
	const struct th_code_ask q = {
		.kind = kind,
		.session_id = th_str_of(l->id),
		.agent = th_session_member(&l->fold)->name,
		.function = function,
		.input = input,
	};
	struct th_err err = { 0 };

	return callbacks &&
	       callbacks->ops->ask(callbacks->ctx, &q, answer, &err) == TH_ASKED_ANSWERED;
}

void th_live_reword(struct th_live *l, struct th_str input, struct th_buf *text,
		    const char *otherwise)
{
	struct th_buf answer = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	if (th_live_ask_now(l, TH_ASK_TEXT, TH_STR(""), input, &answer) && answer.len > 0 &&
	    answer.ptr[0] == '"') {
		th_buf_clear(text);
		if (!th_json_unescape(th_buf_str(&answer), text))
			th_buf_add_cstr(text, otherwise);
	}
	th_buf_deinit(&answer);
}

void th_driver_code_done(struct th_driver *d, struct th_ticket t, bool failed, struct th_str answer)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);
	struct th_pending_callback *a =
	    l && t.kind == TH_TICKET_CALLBACK ? th_callback_take(l, t.seq) : NULL;

	if (!a)
		return;
	answer_with(l, a, failed, answer);
	free(a);
	th_live_pump(l);
}
