/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unknown.c - an action that may have happened or not: what is seen of it, who is asked, and
 * what the model is told in the end.
 */
#include "driver/unknown.h"

#include <stdlib.h>

#include "driver/observation.h"
#include "guards/quarantine.h"
#include "live/log.h"
#include "session_tools/mcp.h"
#include "session_tools/origin.h"

static void unknown_free(struct th_unknown *u)
{
	th_arena_deinit(&u->memory);
	free(u);
}

void th_live_unknowns_free(struct th_live *l)
{
	while (l->unknowns) {
		struct th_unknown *next = l->unknowns->next;

		unknown_free(l->unknowns);
		l->unknowns = next;
	}
}

/* A person's word is waited for only where somebody will come back to the session. */
static bool parks(const struct th_live *l)
{
	enum th_state s = l->fold.state;

	return l->session_config->agent->unknown == TH_UNKNOWN_PARK &&
	       (s == TH_STATE_RUNNING || s == TH_STATE_WAITING || th_state_holds(s));
}

static void write_parked(struct th_live *l, const struct th_call *c, const struct th_ev_outcome *o)
{
	struct th_ev_parked d = {
		.call_id = c->call_id,
		.effect_id = c->effect_id,
		.output = o->output,
		.evidence = o->evidence,
		.observation = o->observation,
		.elapsed_ms = o->elapsed_ms,
	};

	th_live_write_event(l, TH_EV_PARKED, TH_SOURCE_ENVIRONMENT, c->intent_seq, c->call_id, &d);
}

static void print_observation(const struct th_observation *look,
			      const struct th_observation_result *seen, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "tool", look->tool);
	th_jw_kraw(&w, "arguments", look->arguments);
	th_jw_kstr(&w, "status", th_str_of(th_outcome_name(seen->status)));
	th_jw_object_end(&w);
}

static void print_hidden(struct th_str output, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kraw(&w, "output", output);
	th_jw_kstr(&w, "failed", TH_STR("nobody knows whether it happened"));
	th_jw_object_end(&w);
}

/* The look is over, or there was none: the outcome, or the question to a person. */
static void tell_unknown(struct th_live *l, const struct th_call *c, const struct th_unknown *u,
			 const struct th_observation_result *seen)
{
	struct th_ev_outcome d = {
		.call_id = c->call_id,
		.effect_id = c->effect_id,
		.status = TH_STR("unknown"),
		.evidence = u->evidence,
		.acknowledged = c->safety_checks,
		.elapsed_ms = u->elapsed_ms,
	};
	struct th_buf output, observation, quarantine;
	struct th_origin_list origins;

	th_buf_init(&output, TH_EVENT_DATA_MAX);
	th_buf_init(&observation, TH_EVENT_DATA_MAX);
	th_buf_init(&quarantine, 2 * TH_EVENT_DATA_MAX);
	if (u->hidden.len)
		print_hidden(u->hidden, &quarantine);
	th_unknown_print(u->said, &u->look, seen, &output);
	if (seen)
		print_observation(&u->look, seen, &observation);
	d.output = th_buf_str(&output);
	d.observation = th_buf_str(&observation);
	d.quarantine = th_buf_str(&quarantine);
	d.origins = th_live_origins(l, c, u->evidence, 0, &origins);
	if (parks(l))
		write_parked(l, c, &d);
	else
		th_live_write_event(l, TH_EV_OUTCOME, TH_SOURCE_ENVIRONMENT, c->intent_seq,
				    c->call_id, &d);
	th_buf_deinit(&output);
	th_buf_deinit(&observation);
	th_buf_deinit(&quarantine);
}

void th_live_on_unknown(struct th_live *l, const struct th_call *c,
			const struct th_effect_result *r)
{
	struct th_unknown *u;

	for (u = l->unknowns; u; u = u->next)
		if (u->call_seq == c->call_seq)
			return; /* said before; its look is under way */
	u = th_alloc(sizeof(*u));
	th_arena_init(&u->memory, TH_TURN_MEMORY_MAX);
	u->call_seq = c->call_seq;
	/* Nobody reads it, in quarantine either: it may be the words of a stranger alone. */
	if (th_live_quarantine_has(l, c))
		u->hidden = th_arena_str(&u->memory, r->output);
	else
		u->said = th_arena_str(&u->memory, r->output);
	u->evidence = th_arena_str(&u->memory, r->evidence);
	u->elapsed_ms = r->elapsed_ms;
	u->look = th_unknown_observation(c->scope, c->arguments, l->session_config->has_computer,
					 &u->memory);
	if (!u->look.tool.len) {
		tell_unknown(l, c, u, NULL);
		unknown_free(u);
		return;
	}
	u->next = l->unknowns;
	l->unknowns = u;
	th_live_observe(l, &u->look, th_live_ticket(l, c->call_seq));
}

void th_live_on_observed(struct th_live *l, const struct th_call *c,
			 const struct th_effect_result *r)
{
	struct th_observation_result seen = { r->status, r->output };
	struct th_unknown **at = &l->unknowns, *u;

	while (*at && (*at)->call_seq != c->call_seq)
		at = &(*at)->next;
	u = *at;
	if (!u)
		return;
	*at = u->next;
	tell_unknown(l, c, u, &seen);
	unknown_free(u);
}

void th_live_conclude(struct th_live *l, struct th_call *c)
{
	struct th_ev_outcome d = {
		.call_id = c->call_id,
		.effect_id = c->effect_id,
		.status = th_str_of(th_outcome_name(c->status)),
		.evidence = c->evidence,
		.observation = c->observation,
		.acknowledged = c->safety_checks,
		.elapsed_ms = c->elapsed_ms,
	};
	struct th_origin_list origins;
	struct th_buf output;

	if (c->native == TH_NATIVE_MCP) {
		th_live_mcp_admit(l, c);
		return;
	}
	th_buf_init(&output, TH_EVENT_DATA_MAX);
	if (c->word_by_person)
		th_unknown_settled(c->status, c->by, c->reason, c->told, &output);
	else
		th_buf_add(&output, c->told);
	d.output = th_buf_str(&output);
	d.origins = th_live_origins(l, c, c->evidence, 0, &origins);
	th_live_write_event(l, TH_EV_OUTCOME, TH_SOURCE_ENVIRONMENT, c->intent_seq, c->call_id, &d);
	th_buf_deinit(&output);
}
