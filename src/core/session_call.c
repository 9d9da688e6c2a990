/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_call.c - the fold of calls: recorded, decided about, intended,
 * settled.
 */
#include "core/session.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/text.h"

#include "core/policy.h"
#include "core/session_internal.h"
#include "core/unknown.h"

#define X(id, name) name,
static const char *const call_phase_names[] = { TH_CALL_PHASES(X) };
#undef X
static const char *const policy_names[] = { "run", "ask", "refuse", NULL };

const char *th_policy_name(enum th_policy p)
{
	assert(p < TH_POLICY_COUNT);
	return policy_names[p];
}

const char *th_call_phase_name(enum th_call_phase phase)
{
	assert(phase < TH_CALL_PHASE_COUNT);
	return call_phase_names[phase];
}

struct th_call *th_step_call(struct th_step *st, unsigned phases)
{
	struct th_session *s = st->s;

	for (size_t i = 0; i < s->call_count; i++) {
		struct th_call *c = &s->calls[i];
		bool this = c->phase == TH_CALL_SEEN || c->call_seq == st->ev->cause ||
			    c->intent_seq == st->ev->cause;

		if ((phases & (1u << c->phase)) && this && th_str_eq(c->call_id, st->ev->call))
			return c;
	}
	return NULL;
}

enum th_code th_step_no_call(struct th_step *st)
{
	return th_fail(st->err, TH_EPROTO, "no open call fits this %s of \"%.*s\"",
		       th_event_name(st->ev->kind), TH_FMT(th_utf8_cut(st->ev->call, 80)));
}

/* A step that the loop itself takes: the log has one, this code would take another. */
static enum th_code other_step(struct th_step *st)
{
	const struct th_session *s = st->s;
	const char *phase = "no such call";

	for (size_t i = 0; i < s->call_count; i++)
		if (th_str_eq(s->calls[i].call_id, st->ev->call))
			phase = call_phase_names[s->calls[i].phase];
	return th_fail(
	    st->err, TH_EDIVERGED,
	    "diverged: the log has an event \"%s\" for the call \"%.*s\", which for this "
	    "build is \"%s\"",
	    th_event_name(st->ev->kind), TH_FMT(th_utf8_cut(st->ev->call, 80)), phase);
}

static enum th_code other_action(struct th_step *st, const struct th_call *c, const char *ours,
				 const char *does, struct th_str tool, struct th_str digest)
{
	return th_fail(st->err, TH_EDIVERGED,
		       "diverged: the log %s %.*s %.*s, the answer asks for %.*s %.12s", does,
		       TH_FMT(th_utf8_cut(tool, 60)), TH_FMT(th_str_sub(digest, 0, 12)),
		       TH_FMT(th_utf8_cut(c->tool, 60)), ours);
}

/* A call as the log has it against the one that stands in the answer.  What a computer is to do is
 * the models' to read (driver/calls.c). */
static enum th_code check_call(struct th_step *st, const struct th_call *c,
			       const struct th_ev_call *d)
{
	struct th_buf arguments = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	char logged[TH_SHA256_HEX_SIZE + 1], ours[TH_SHA256_HEX_SIZE + 1];
	enum th_code code = TH_OK;

	th_call_digest(d->tool, d->arguments, logged);
	if (c->computer)
		th_buf_add(&arguments, d->arguments);
	else
		(void)th_call_arguments(c->arguments, &arguments, NULL);
	if (th_str_eq(c->tool, d->tool) && th_str_eq(th_buf_str(&arguments), d->arguments))
		memcpy(ours, logged, sizeof(ours));
	else
		th_call_digest(c->tool, th_buf_str(&arguments), ours);
	if (!th_str_is(d->digest, logged))
		code = th_fail(
		    st->err, TH_EDIVERGED,
		    "diverged: the log calls %.*s with the digest %.12s, its arguments have "
		    "%.12s",
		    TH_FMT(th_utf8_cut(d->tool, 60)), d->digest.ptr, logged);
	else if (strcmp(logged, ours) != 0)
		code = other_action(st, c, ours, "calls", d->tool, d->digest);
	th_buf_deinit(&arguments);
	return code;
}

void th_call_phase_set(struct th_call *c, enum th_call_phase phase)
{
	c->phase = phase;
	c->emitted = phase == TH_CALL_SETTLED;
}

/* What finding the call's elements cost is the turn's. */
static enum th_code take_grounding(struct th_step *st, struct th_call *c, struct th_str grounding)
{
	struct th_json_doc *doc;
	enum th_code code = th_json_parse(grounding, &doc, st->err);

	if (code)
		return th_prefix(st->err, code, "grounding");
	c->grounded = true;
	th_step_side(st->s, TH_SIDE_GROUNDER, th_json_root(doc));
	th_json_free(doc);
	return TH_OK;
}

enum th_code th_on_call(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_call d;
	struct th_call *c = th_step_call(st, 1u << TH_CALL_SEEN);
	enum th_code code = th_step_parse(st, &d);
	int class, policy;

	if (code)
		return code;
	if (!c)
		return other_step(st);
	class = th_class_find(d.class);
	policy = th_names_find(policy_names, d.policy);
	if (class < 0 || policy < 0 || d.digest.len != TH_SHA256_HEX_SIZE)
		return th_fail(st->err, TH_EPROTO, "class, policy or digest of the call are wrong");
	code = check_call(st, c, &d);
	if (code)
		return code;
	c->unknown_tool = d.unknown;
	c->scope = th_effect_scope_of(d.target, d.shows, d.tool);
	c->each = d.each;
	c->question = d.question;
	c->class = (enum th_class) class;
	c->policy = (enum th_policy)policy;
	c->arguments = th_arena_str(&s->turn, d.arguments);
	c->reason = th_arena_str(&s->turn, d.reason);
	memcpy(c->digest, d.digest.ptr, TH_SHA256_HEX_SIZE);
	c->digest[TH_SHA256_HEX_SIZE] = '\0';
	c->call_seq = st->ev->seq;
	if (d.grounding.len)
		code = take_grounding(st, c, d.grounding);
	if (code)
		return code;
	switch (c->policy) {
	case TH_POLICY_RUN:
		/* Safety checks of the provider and class X always need a person. */
		if (th_policy_needs_person(c->class, c->safety_checks))
			th_call_phase_set(c, TH_CALL_RECORDED);
		else
			th_call_phase_set(c, TH_CALL_CLEARED);
		break;
	case TH_POLICY_ASK:
		th_call_phase_set(c, TH_CALL_RECORDED);
		break;
	case TH_POLICY_REFUSE:
	case TH_POLICY_COUNT:
		th_call_phase_set(c, TH_CALL_DENIED);
		break;
	}
	if (c->unknown_tool && th_session_member(s)->unknown_tool_fails)
		th_next_step_trip(s, st->out, "model", c->reason);
	if (s->tripped && c->phase != TH_CALL_DENIED) {
		c->reason = TH_STR("the run was stopped before this call began");
		th_call_phase_set(c, TH_CALL_DENIED);
	}
	return TH_OK;
}

/* ---- names ------------------------------------------------------------------------------- */

/* A host that is asked for is another question than the one before it. */
static uint64_t exact_seq(const struct th_call *c)
{
	return c->host.phase == TH_HOST_ASKED ? c->host.seq : c->call_seq;
}

static struct th_str exact_suffix(const struct th_call *c, char out[static 24])
{
	int len = snprintf(out, 24, "#%llu", (unsigned long long)exact_seq(c));

	return th_str_n(out, (size_t)len);
}

static bool is_exact(const struct th_call *c, struct th_str name)
{
	char text[24];
	struct th_str suffix = exact_suffix(c, text);

	return name.len == c->call_id.len + suffix.len && th_str_starts(name, c->call_id) &&
	       th_str_ends(name, suffix);
}

bool th_call_is_named(const struct th_call *c, struct th_str name)
{
	return !name.len || th_str_eq(name, c->call_id) || is_exact(c, name);
}

void th_call_name(const struct th_call *c, struct th_buf *out)
{
	char text[24];

	th_buf_add(out, c->call_id);
	if (c->again)
		th_buf_add(out, exact_suffix(c, text));
}

enum th_code th_call_word(const struct th_call *c, struct th_str name, struct th_err *err)
{
	if (!name.len || !c->again || is_exact(c, name))
		return TH_OK;
	return th_fail(err, TH_EUSAGE,
		       "a person was asked about another call %.*s before; the one that waits is "
		       "%.*s#%llu: %.*s %.*s",
		       TH_FMT(th_utf8_cut(c->call_id, 80)), TH_FMT(th_utf8_cut(c->call_id, 80)),
		       (unsigned long long)exact_seq(c), TH_FMT(th_utf8_cut(c->tool, 60)),
		       TH_FMT(th_utf8_cut(c->arguments, 200)));
}

/* c1#41 would be the name of another. */
static bool looks_exact(struct th_str id)
{
	size_t digits = 0;

	while (digits < id.len && id.ptr[id.len - 1 - digits] >= '0' &&
	       id.ptr[id.len - 1 - digits] <= '9')
		digits++;
	return digits > 0 && digits < id.len && id.ptr[id.len - 1 - digits] == '#';
}

/* Is its id, among those that a person was asked about in this way, only its own?  Two ids with one
 * hash, or more than there is room for, are taken for one that came again. */
static void note_asked(struct th_session *s, struct th_call *c)
{
	uint64_t hash = th_hash64(c->call_id.ptr, c->call_id.len);

	hash = c->phase == TH_CALL_PARKED ? ~hash : hash;
	c->again = looks_exact(c->call_id);
	for (size_t at = 0; at < s->asked_ids.len; at += sizeof(hash))
		if (memcmp(s->asked_ids.ptr + at, &hash, sizeof(hash)) == 0) {
			c->again = true;
			return;
		}
	if (s->asked_ids.len == TH_ASKED_IDS_MAX * sizeof(hash))
		c->again = true;
	else
		th_buf_add(&s->asked_ids, th_str_n((const char *)&hash, sizeof(hash)));
}

enum th_code th_on_approval_requested(struct th_step *st)
{
	struct th_ev_approval_requested d;
	enum th_code code = th_step_parse(st, &d);
	struct th_call *c;

	if (code)
		return code;
	c = th_step_call(st, 1u << (d.host.len ? TH_CALL_INTENDED : TH_CALL_RECORDED));
	if (d.host.len)
		code = th_host_asked(st, c, &d);
	else if (!c)
		code = other_step(st);
	else if (!th_str_is(d.digest, c->digest))
		code = other_action(st, c, c->digest, "asks about", c->tool, d.digest);
	if (code || !c)
		return code;
	if (!d.host.len) {
		c->reason = th_arena_str(&st->s->turn, d.reason);
		c->was_asked = true;
		c->expires_ms = d.expires_ms;
		th_call_phase_set(c, TH_CALL_ASKED);
	}
	note_asked(st->s, c);
	th_step_reason(st->s, d.reason);
	return th_step_state(st, TH_STATE_WAITING);
}

const struct th_call *th_session_waits(const struct th_session *s, enum th_call_phase phase,
				       struct th_str name)
{
	for (size_t i = 0; i < s->call_count; i++)
		if (th_call_waits(&s->calls[i], phase) && th_call_is_named(&s->calls[i], name))
			return &s->calls[i];
	return NULL;
}

/* Does a call wait for a person, or the session that works on one? */
bool th_session_waits_any(const struct th_session *s)
{
	for (size_t i = 0; i < s->call_count; i++)
		if (s->calls[i].phase == TH_CALL_INTENDED &&
		    s->calls[i].child == TH_CALL_CHILD_WAITS)
			return true;
	return th_background_waits(s) || th_session_waits(s, TH_CALL_ASKED, TH_STR("")) ||
	       th_session_waits(s, TH_CALL_PARKED, TH_STR(""));
}

/* Nobody is waited for any more? */
static enum th_code go_on(struct th_step *st)
{
	struct th_session *s = st->s;

	if (!th_session_waits_any(s) && s->state == TH_STATE_WAITING)
		return th_step_state(st, TH_STATE_RUNNING);
	return TH_OK;
}

enum th_code th_on_approval_decided(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_approval_decided d;
	struct th_call *c = th_step_call(st, 1u << TH_CALL_ASKED | 1u << TH_CALL_INTENDED);
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (!c || !th_call_asks(c))
		return th_step_no_call(st);
	if (c->phase == TH_CALL_ASKED && !th_str_is(d.digest, c->digest))
		return th_fail(st->err, TH_EPROTO,
			       "the decision is about another action than the one that waits");
	if (d.withdrawn && (c->phase != TH_CALL_INTENDED || !d.expired))
		return th_fail(st->err, TH_EPROTO, "only a host that is asked for is withdrawn");
	if (d.expired &&
	    (d.approve || (!d.withdrawn && (!c->expires_ms || st->ev->ts_ms < c->expires_ms))))
		return th_fail(st->err, TH_EPROTO, "the approval has not expired");
	if (c->phase == TH_CALL_INTENDED) {
		code = th_host_decided(st, c, &d);
		return code ? code : go_on(st);
	}
	c->approved = d.approve;
	c->expires_ms = 0;
	if (d.approve || c->form.len)
		c->approval_seq = st->ev->seq;
	if (c->form.len) { /* a refusal goes to the server, too, which waits for a word */
		c->reason = th_arena_str(&s->turn, d.message);
		c->arguments = c->own_arguments;
		c->question = false;
	} else if (d.approve && c->question)
		c->reason = th_arena_str(&s->turn, d.message);
	else if (!d.approve)
		c->reason = th_arena_str(&s->turn, d.message.len ? d.message : TH_STR(TH_REJECTED));
	if (d.always && !c->form.len)
		th_sticky_set(st, c, d.approve, d.message);
	th_call_phase_set(c, d.approve || c->form.len ? TH_CALL_CLEARED : TH_CALL_DENIED);
	return go_on(st);
}

enum th_code th_on_intent(struct th_step *st)
{
	struct th_ev_intent d;
	struct th_call *c = th_step_call(st, 1u << TH_CALL_CLEARED);
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (!c)
		return other_step(st);
	if (!th_str_is(d.digest, c->digest) || !th_str_eq(d.tool, c->tool))
		return other_action(st, c, c->digest, "intends", d.tool, d.digest);
	if (!th_str_is(d.class, th_class_name(c->class)))
		return th_fail(
		    st->err, TH_EDIVERGED,
		    "diverged: the log intends %.*s as class %.*s, its call was class %s",
		    TH_FMT(th_utf8_cut(d.tool, 60)), TH_FMT(th_utf8_cut(d.class, 8)),
		    th_class_name(c->class));
	/* The intent uses the approval up: it names it, and no other intent can. */
	if ((uint64_t)d.approval != c->approval_seq)
		return th_fail(
		    st->err, TH_EDIVERGED,
		    "diverged: the intent uses the approval of event %lld, the call has that "
		    "of event %llu",
		    (long long)d.approval, (unsigned long long)c->approval_seq);
	c->effect_id = th_arena_str(&st->s->turn, d.effect_id);
	c->journal = th_arena_str(&st->s->turn, d.journal);
	c->epoch = d.epoch;
	c->intent_seq = st->ev->seq;
	th_call_phase_set(c, TH_CALL_INTENDED);
	return TH_OK;
}

static void note_unresolved(struct th_session *s, const struct th_call *c)
{
	if (!c->effect_id.len)
		return;
	if (c->status == TH_OUTCOME_UNKNOWN && c->class != TH_CLASS_L && c->class != TH_CLASS_R)
		th_unresolved_add(&s->unresolved, c->outcome_seq, c->scope, c->arguments,
				  c->digest);
	else
		th_unresolved_ended(&s->unresolved, c->call_seq, c->scope, c->arguments, c->digest,
				    c->class, c->status);
}

enum th_code th_on_parked(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_parked d;
	struct th_call *c = th_step_call(st, 1u << TH_CALL_INTENDED);
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (!c || !th_str_eq(d.effect_id, c->effect_id))
		return th_step_no_call(st);
	c->told = th_arena_str(&s->turn, d.output);
	c->evidence = th_arena_str(&s->turn, d.evidence);
	c->observation = th_arena_str(&s->turn, d.observation);
	c->elapsed_ms = d.elapsed_ms;
	th_call_phase_set(c, TH_CALL_PARKED);
	note_asked(s, c);
	th_step_reason(s, TH_STR("nobody knows whether an action happened; a person must say"));
	return s->state == TH_STATE_RUNNING ? th_step_state(st, TH_STATE_WAITING) : TH_OK;
}

enum th_code th_on_settled(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_settled d;
	struct th_call *c = th_step_call(st, 1u << TH_CALL_PARKED);
	enum th_code code = th_step_parse(st, &d);
	int status;

	if (code)
		return code;
	if (!c)
		return th_step_no_call(st);
	if (!th_str_eq(d.effect_id, c->effect_id))
		return th_fail(st->err, TH_EPROTO, "the word is about another effect");
	status = th_outcome_find(d.status);
	if (status != TH_OUTCOME_DONE && status != TH_OUTCOME_NOT_STARTED &&
	    status != TH_OUTCOME_UNKNOWN)
		return th_fail(st->err, TH_EPROTO, "a person says done, not_started or unknown");
	c->status = (enum th_outcome_status)status;
	c->reason = th_arena_str(&s->turn, d.message);
	c->by = th_arena_str(&s->turn, d.by);
	c->word_by_person = true;
	th_call_phase_set(c, TH_CALL_JUDGED);
	return go_on(st);
}

enum th_code th_on_outcome(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_outcome d;
	/* Without an effect_id nothing was started: any open call may end so (refused, cancelled).
	 */
	struct th_call *c =
	    th_step_call(st, ~(1u << TH_CALL_SETTLED | 1u << TH_CALL_SEEN | 1u << TH_CALL_PARKED));
	enum th_code code = th_step_parse_plain(st, &d);
	int status;

	if (code)
		return code;
	if (!c)
		return th_step_no_call(st);
	if (d.effect_id.len && !th_str_eq(d.effect_id, c->effect_id))
		return th_fail(st->err, TH_EPROTO, "the outcome is of another effect");
	status = th_outcome_find(d.status);
	if (status < 0)
		return th_fail(st->err, TH_EPROTO, "unknown outcome status \"%.*s\"",
			       TH_FMT(th_utf8_cut(d.status, 40)));
	if (c->phase >= TH_CALL_INTENDED && !d.effect_id.len)
		return th_fail(st->err, TH_EPROTO, "an intended call's outcome names its effect");
	if (c->phase == TH_CALL_JUDGED && (enum th_outcome_status)status != c->status)
		return th_fail(st->err, TH_EDIVERGED,
			       "diverged: the log says %.*s, the person said %s", TH_FMT(d.status),
			       th_outcome_name(c->status));
	c->status = (enum th_outcome_status)status;
	c->outcome_seq = st->ev->seq;
	note_unresolved(s, c);
	if (th_json_is_object(th_json_get(st->data, "quarantine")))
		th_step_side(s, TH_SIDE_READER,
			     th_json_get(th_json_get(st->data, "quarantine"), "usage"));
	th_origins_take(st, &d.origins);
	th_call_phase_set(c, TH_CALL_SETTLED);
	th_stuck_outcome(st, c);
	th_next_step_outcome(st, c, th_json_get(st->data, "output"));
	s->items++;
	th_used_add(&s->used.tools_ms, d.elapsed_ms);
	s->totals.calls_unknown += c->status == TH_OUTCOME_UNKNOWN;
	if (c->status == TH_OUTCOME_DONE)
		th_restated_take(&s->restated, c->tool, c->arguments);
	s->condense_asked |= c->status == TH_OUTCOME_DONE && th_str_is(c->tool, TH_CONDENSE_TOOL);
	th_step_turn_over(s);
	return go_on(st);
}

/* Cancels what runs.  After a stop for good, calls that have not begun are refused. */
bool th_call_arguments(struct th_str text, struct th_buf *out, struct th_err *err)
{
	struct th_json_room room TH_UNSET;
	struct th_json_doc *doc = NULL;
	bool good = !th_json_parse_in(&room, false, text.len ? text : TH_STR("{}"), &doc, err);
	struct th_jw w = th_jw(out);

	if (good && !th_json_is_object(th_json_root(doc)))
		good = th_fail(err, TH_EPROTO, "it must be a JSON object") == TH_OK;
	if (good)
		th_jw_json(&w, th_json_root(doc));
	else
		th_jw_str(&w, text);
	th_json_free(doc);
	return good;
}

void th_call_digest(struct th_str tool, struct th_str arguments,
		    char out[static TH_SHA256_HEX_SIZE + 1])
{
	struct th_sha256 h;
	struct th_digest d;

	th_sha256_init(&h);
	th_sha256_add(&h, tool.ptr, tool.len);
	th_sha256_add(&h, "\n", 1);
	th_sha256_add(&h, arguments.ptr, arguments.len);
	d = th_sha256_end(&h);
	th_digest_hex(&d, out);
}
