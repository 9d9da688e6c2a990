/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.c - what can be said of a session without changing it.
 */
#include "live/live.h"

#include "providers/human.h"

struct th_live *th_live_find(const struct th_driver *d, uint32_t index, uint32_t generation)
{
	if (index >= d->live_cap || !d->lives[index] || d->lives[index]->generation != generation)
		return NULL;
	return d->lives[index];
}

struct th_live *th_driver_find(const struct th_driver *d, struct th_handle h)
{
	return th_live_find(d, h.index, h.generation);
}

struct th_handle th_live_handle(const struct th_live *l)
{
	return (struct th_handle){ l->index, l->generation };
}

struct th_ticket th_live_ticket(const struct th_live *l, uint64_t seq)
{
	return th_live_ticket_of(l, TH_TICKET_EVENT, seq);
}

struct th_ticket th_live_ticket_of(const struct th_live *l, enum th_ticket_kind kind, uint64_t seq)
{
	return (struct th_ticket){ l->index, l->generation, seq, kind, 0 };
}

size_t th_config_reader_at(const struct th_session_config *o)
{
	assert(o->reader);
	return 1 + o->agent->fallback.count;
}

size_t th_config_judge_at(const struct th_session_config *o)
{
	assert(o->judge);
	return 1 + o->agent->fallback.count + (o->agent->quarantine_model.len != 0);
}

const struct th_session_config *th_config_member(const struct th_session_config *o, size_t agent)
{
	return agent == 0 || agent > o->member_count ? o : &o->members[agent - 1];
}

struct th_call *th_live_call(struct th_live *l, uint64_t call_seq)
{
	for (size_t i = 0; call_seq && i < l->fold.call_count; i++)
		if (l->fold.calls[i].call_seq == call_seq)
			return &l->fold.calls[i];
	return NULL;
}

struct th_call *th_live_intended(struct th_live *l, uint64_t intent_seq)
{
	for (size_t i = 0; i < l->fold.call_count; i++)
		if (l->fold.calls[i].phase == TH_CALL_INTENDED &&
		    l->fold.calls[i].intent_seq == intent_seq)
			return &l->fold.calls[i];
	return NULL;
}

void th_driver_random_id(struct th_driver *d, char out[static 33])
{
	uint8_t bytes[16];

	d->world.ops->random(d->world.ctx, bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		out[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		out[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	out[32] = '\0';
}

int64_t th_live_timeout_ms(const struct th_live *l)
{
	const struct th_agent_limits *limits = l->session_config->agent->limits;

	return 1000 * (limits && limits->command_seconds ? limits->command_seconds
							 : TH_COMMAND_SECONDS_DEFAULT);
}

/* A limit that an answer cannot be counted against would not hold. */
bool th_live_unmetered(const struct th_live *l, const struct th_profile *p,
		       const struct th_usage *u, int64_t cost_nano)
{
	bool said = u->input >= 0 || u->output >= 0;

	if (p->wire == &th_wire_human)
		return false;
	return (l->fold.tokens_max && !said) || (l->fold.cost_nano_max && (!said || cost_nano < 0));
}
