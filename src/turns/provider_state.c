/* SPDX-License-Identifier: Apache-2.0 */
/*
 * provider_state.c - requests that go on from what the provider has: the answer
 * before, a response that the session was given, or a conversation.
 *
 * A response is named, so asking again for what follows it changes nothing.  A
 * conversation grows by what is asked and answered, once that is answered: a
 * request whose end is not known may be in it, and is not sent again before
 * somebody has said so.  docs/RESPONSES.md, "State at the provider".
 */
#include "turns/provider_state.h"
#include "turns/log_ahead.h"

#include "history/history.h"
#include "live/log.h"
#include "live/queue.h"
#include "turns/team.h"

/* NULL: it keeps nothing.  What begins with another agent of the team is another session. */
static const struct th_agent_model_settings *of_team(const struct th_live *l)
{
	const struct th_team *team = l->fold.team;
	bool first = team->count == 1 || th_str_eq(l->fold.agent_name, team->members[0].name);

	return first ? l->team_config.agent->settings : NULL;
}

static struct th_str conversation_of(const struct th_live *l)
{
	return of_team(l) ? of_team(l)->conversation : TH_STR("");
}

static struct th_str given_response(const struct th_live *l)
{
	return of_team(l) ? of_team(l)->previous_response_id : TH_STR("");
}

static bool chains(const struct th_live *l, const struct th_agent_model_settings *s)
{
	return given_response(l).len || (s && s->history == TH_HISTORY_PREVIOUS);
}

/* The current model gave the answer that the request would continue from: it is the same model of
 * the same server, and the answer was stored there. */
static bool knows_answer(const struct th_live *l)
{
	const struct th_session *s = &l->fold;
	const struct th_session_config *o = th_config_member(&l->team_config, s->chain_agent);
	const struct th_resolved_model *c = s->chain_at ? &o->fallback[s->chain_at - 1] : &o->first;

	return c == l->resolved ||
	       (chains(l, o->agent->settings) && c->profile == l->resolved->profile &&
		th_str_eq(c->model, l->resolved->model) &&
		th_str_eq(c->base_url, l->resolved->base_url));
}

/* What it is sent is not all that was, again with each request. */
static bool is_narrowed(const struct th_live *l)
{
	return l->speaking->history_items || l->speaking->input_filter.len ||
	       l->fold.joined != TH_JOINED_NEVER;
}

/* The provider has what that answer's request sent; what was made of it since, it has not. */
static bool has_chain(const struct th_live *l)
{
	return l->fold.chain.len && !is_narrowed(l) && l->fold.rewritten_seq < l->fold.chain_seq &&
	       chains(l, l->session_config->agent->settings) &&
	       l->resolved->profile->wire->chains && knows_answer(l);
}

bool th_live_provider_ready(struct th_live *l)
{
	struct th_err err = { 0 };

	if (!l->history_due || conversation_of(l).len || !has_chain(l))
		return true;
	if (l->durable_seq < l->fold.seq)
		return !th_live_defer_request(l);
	if (!th_live_history_here(l, TH_DO_REQUEST, 0))
		return false;
	if (l->history || !th_live_history_make(l, &err))
		return true;
	th_live_lose(l, &err);
	return false;
}

void th_live_provider_begin(struct th_live *l)
{
	struct th_request_options *o = &l->options;
	struct th_str conversation = conversation_of(l), given = given_response(l);

	th_buf_clear(&l->previous);
	o->conversation = conversation.len;
	l->tail = false;
	if (conversation.len) {
		l->tail = true;
		th_buf_add(&l->previous, conversation);
	} else if (chains(l, l->session_config->agent->settings) &&
		   l->resolved->profile->wire->chains) {
		l->tail = has_chain(l) && l->history && th_history_tail(l->history) > 0;
		th_buf_add(&l->previous, l->tail ? th_buf_str(&l->fold.chain) : given);
	}
	o->previous = th_buf_str(&l->previous);
}

bool th_live_provider_is_answer(const struct th_live *l)
{
	return l->tail && !l->options.conversation;
}

/* The provider itself said that it gave no answer; not so a gateway before it. */
static bool is_refusal(int http_status)
{
	return http_status >= 400 && http_status != 502 && http_status != 504;
}

bool th_live_provider_unsure(const struct th_live *l, enum th_failure failure, int http_status)
{
	const struct th_flight *f = l->flight;

	if (!conversation_of(l).len || (f && f->over))
		return false;
	if (l->fold.started.len) /* it is fetched by its id, as long as it is there */
		return f && f->fetches && http_status == 404;
	return failure != TH_FAILURE_CONNECT && !is_refusal(http_status);
}

void th_live_provider_say(const struct th_live *l, struct th_str message, struct th_buf *out)
{
	th_buf_printf(out,
		      "%.*s; nobody knows whether the conversation %.*s has what was sent: look "
		      "at it there, then resume the session, and it is sent again",
		      TH_FMT(message), TH_FMT(conversation_of(l)));
}

bool th_live_provider_lost(const struct th_live *l)
{
	return l->fold.phase == TH_TURN_REQUESTED && !l->flight &&
	       th_live_provider_unsure(l, TH_FAILURE_CUT, 0);
}

static enum th_code check_wire(const struct th_live *l, const struct th_session_config *o,
			       struct th_err *err)
{
	const struct th_wire *wire = o->first.profile->wire;
	bool conversation = conversation_of(l).len;

	if (conversation ? wire->conversations : wire->chains)
		return TH_OK;
	return th_fail(err, TH_EUSAGE,
		       "settings.%s is for models of the Responses API%s, which "
		       "%.*s is not",
		       conversation ? "conversation" : "previous_response_id",
		       conversation ? "" : " or the Interactions API", TH_FMT(o->first.model));
}

enum th_code th_live_provider_fit(struct th_live *l, struct th_err *err)
{
	enum th_code code = TH_OK;

	l->options.kept = conversation_of(l).len || given_response(l).len;
	if (!l->options.kept)
		return TH_OK;
	for (size_t i = 0; i <= l->team_config.member_count && !code; i++)
		code = check_wire(l, th_config_member(&l->team_config, i), err);
	return code;
}

enum th_code th_live_provider_only(const struct th_live *l, const char *what, struct th_err *err)
{
	if (!conversation_of(l).len)
		return TH_OK;
	return th_fail(err, TH_EUSAGE, "the session is in the provider's conversation %.*s, %s",
		       TH_FMT(conversation_of(l)), what);
}
