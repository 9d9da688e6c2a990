/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - what the log claims against what is known from outside.  Pure. */
#include <stdio.h>

#include "torture.h"

struct checking {
	const struct facts *f;
	struct verdict *v;
	struct {
		unsigned calls, intents, outcomes;
		int status; /* of the outcome */
		struct th_str output;
	} calls[CALLS_MAX];
};

__attribute__((format(printf, 3, 4))) static void blame(struct checking *c, unsigned *count,
							const char *fmt, ...)
{
	va_list ap;

	(*count)++;
	if (c->v->what[0])
		return;
	va_start(ap, fmt);
	vsnprintf(c->v->what, sizeof(c->v->what), fmt, ap);
	va_end(ap);
}

/* ---- the log by itself ---- */

static void check_call(struct checking *c, const struct th_event *ev, const struct th_json *data)
{
	int index = script_call_index(c->f->script, ev->call);

	if (index < 0) {
		blame(c, &c->v->diverged, "event %llu is about %.*s, which nobody asked for",
		      (unsigned long long)ev->seq, TH_FMT(ev->call));
		return;
	}
	const struct script_call *s = script_call(c->f->script, (size_t)index);
	if (ev->kind == TH_EV_CALL) {
		c->calls[index].calls++;
		if (!th_str_is(th_json_get_str(data, "tool"), s->tool))
			blame(c, &c->v->diverged, "call %d is of another tool", index);
	} else if (ev->kind == TH_EV_INTENT) {
		c->calls[index].intents++;
		if (c->calls[index].outcomes)
			blame(c, &c->v->duplicated, "call %d is intended after its outcome", index);
	} else if (ev->kind == TH_EV_OUTCOME) {
		c->calls[index].outcomes++;
		c->calls[index].status = th_outcome_find(th_json_get_str(data, "status"));
		c->calls[index].output = ev->data;
	}
}

/* An answered turn is not asked for again, and what was asked for is in the log. */
static void check_turn(struct checking *c, const struct th_event *ev, const struct th_json *data,
		       unsigned *requested, unsigned *answered)
{
	if (ev->kind == TH_EV_MODEL_ANSWERED) {
		++*answered;
		return;
	}
	int64_t turn = th_json_get_int(data, "turn", 0);
	if (turn != *answered + 1)
		blame(c, &c->v->diverged, "event %llu asks for turn %lld after %u answers",
		      (unsigned long long)ev->seq, (long long)turn, *answered);
	if (turn >= 1 && turn <= TURNS_MAX)
		requested[turn - 1]++;
}

static void check_events(struct checking *c)
{
	unsigned requested[TURNS_MAX] = { 0 }, answered = 0, finals = 0;
	const struct script *s = c->f->script;

	for (size_t i = 0; i < c->f->event_count; i++) {
		const struct th_event *ev = &c->f->events[i];
		TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;

		if (ev->seq != i + 1 || th_json_parse(ev->data, &doc, NULL) != TH_OK) {
			blame(c, &c->v->lost, "event %zu of the log is not there", i + 1);
			return;
		}
		const struct th_json *data = th_json_root(doc);
		if (ev->kind == TH_EV_CALL || ev->kind == TH_EV_INTENT || ev->kind == TH_EV_OUTCOME)
			check_call(c, ev, data);
		if (ev->kind == TH_EV_MODEL_REQUESTED || ev->kind == TH_EV_MODEL_ANSWERED)
			check_turn(c, ev, data, requested, &answered);
		if (ev->kind == TH_EV_ERROR)
			blame(c, &c->v->diverged, "the run failed: %.*s",
			      TH_FMT(th_json_get_str(data, "message")));
		if (ev->kind != TH_EV_FINAL)
			continue;
		finals++;
		if (!th_str_is(th_json_get_str(data, "output"), s->final))
			blame(c, &c->v->diverged, "the final text is another");
	}
	if (finals != 1 || !c->f->finished || answered != s->count)
		blame(c, &c->v->diverged, "not as without a kill: %u answers, %u final texts, %s",
		      answered, finals, c->f->finished ? "finished" : "not finished");
	for (size_t i = 0; i < TURNS_MAX; i++)
		if (c->f->seen.requests[i] > requested[i])
			blame(c, &c->v->diverged,
			      "turn %zu was asked for %u times, and the log knows of %u", i + 1,
			      c->f->seen.requests[i], requested[i]);
}

/* What a runtime has shown as written is in the log, and the same. */
static void check_acks(struct checking *c)
{
	char id[40];

	for (size_t i = 0; i < c->f->ack_count; i++) {
		const struct ack *a = &c->f->acks[i];
		const struct th_event *ev =
		    a->seq >= 1 && a->seq <= c->f->event_count ? &c->f->events[a->seq - 1] : NULL;

		if (ev)
			th_uuid_text(&ev->id, id);
		if (!ev || strcmp(id, a->id) != 0)
			blame(c, &c->v->lost, "event %llu was shown as written and is not there",
			      (unsigned long long)a->seq);
	}
}

/* ---- claims ---- */

/* Commands: the ledger knows. */
static void check_unverifiable(struct checking *c, size_t index)
{
	const struct script_call *s = script_call(c->f->script, index);
	/* That a program takes what was typed is not promised, nor that a gesture is whole. */
	bool gesture = strcmp(s->tool, "computer") == 0;
	int happened = c->f->happened[index];

	if (happened < 0)
		blame(c, &c->v->lost, "the chain of the ledger is broken");
	if (happened > 1 || c->calls[index].intents > 1)
		blame(c, &c->v->duplicated, "call %zu happened %d times, by %u intents", index,
		      happened, c->calls[index].intents);
	if (happened > 0 && !c->calls[index].intents)
		blame(c, &c->v->false_claims, "call %zu happened without an intent", index);
	switch (c->calls[index].status) {
	case TH_OUTCOME_DONE:
		if (happened < 1 && s->mark && !gesture)
			blame(c, &c->v->false_claims, "call %zu is said to be done, and was not",
			      index);
		break;
	case TH_OUTCOME_NOT_STARTED:
	case TH_OUTCOME_REFUSED:
		if (happened > 0)
			blame(c, &c->v->false_claims,
			      "call %zu is said not to have started, and happened", index);
		break;
	case TH_OUTCOME_UNKNOWN:
		c->v->unknown++;
		c->v->unknown_happened += happened > 0;
		if (!c->f->executor_died)
			blame(c, &c->v->false_claims,
			      "call %zu is said to be unknown, and its executor never died", index);
		break;
	default: /* begun, and cut off with the desktop */
		if (!c->f->script->agent || !c->f->executor_died)
			blame(c, &c->v->false_claims, "call %zu is said to have failed", index);
	}
}

/* Files: a probe decides, unless the journal that says what was there before is gone too. */
static void check_verifiable(struct checking *c, size_t index)
{
	int happened = c->f->happened[index];

	if (happened > 1)
		blame(c, &c->v->diverged, "the file of call %zu is neither old nor new", index);
	else
		check_unverifiable(c, index);
}

/* A read is simply done again; it fails where the file was never written.  Only an executor that
 * dies while it starts may leave it not started. */
static void check_read(struct checking *c, size_t index)
{
	int status = c->calls[index].status;

	if (status != TH_OUTCOME_DONE && status != TH_OUTCOME_FAILED &&
	    (status != TH_OUTCOME_NOT_STARTED || !c->f->executor_died))
		blame(c, &c->v->lost, "call %zu only reads, and is said to be %s", index,
		      th_outcome_name((enum th_outcome_status)status));
}

static void check_told(struct checking *c, size_t index, const struct script_call *s)
{
	int status = c->calls[index].status;
	struct th_str wanted = th_str_of(s->class == TH_CLASS_V ? NULL : s->wanted);

	/* A screen that is gone gives no picture. */
	bool blind = strcmp(s->tool, "computer") == 0 && c->f->executor_died;

	if (status == TH_OUTCOME_DONE && !blind && th_str_find(c->calls[index].output, wanted) < 0)
		blame(c, &c->v->lost, "the output of call %zu lacks %.*s", index, TH_FMT(wanted));
	if (status == TH_OUTCOME_UNKNOWN &&
	    th_str_find(c->calls[index].output, TH_STR("may or may not have happened")) < 0 &&
	    th_str_find(c->calls[index].output, TH_STR("may have been")) < 0)
		blame(c, &c->v->false_claims, "call %zu: the model is not told that it is unknown",
		      index);
}

static void check_calls(struct checking *c)
{
	for (size_t i = 0; i < script_calls(c->f->script); i++) {
		const struct script_call *s = script_call(c->f->script, i);

		if (c->calls[i].calls != 1)
			blame(c, c->calls[i].calls ? &c->v->duplicated : &c->v->lost,
			      "call %zu stands %u times in the log", i, c->calls[i].calls);
		if (c->calls[i].outcomes != 1) {
			blame(c, c->calls[i].outcomes ? &c->v->duplicated : &c->v->lost,
			      "call %zu has %u outcomes", i, c->calls[i].outcomes);
			continue;
		}
		if (s->class == TH_CLASS_W || s->class == TH_CLASS_X)
			check_unverifiable(c, i);
		else if (s->class == TH_CLASS_V)
			check_verifiable(c, i);
		else
			check_read(c, i);
		check_told(c, i, s);
	}
}

void check(const struct facts *f, struct verdict *v)
{
	struct checking c = { .f = f, .v = v };

	memset(v, 0, sizeof(*v));
	if (f->hung[0]) {
		blame(&c, &v->hung, "%s", f->hung);
		return;
	}
	if (f->broken[0])
		blame(&c, &v->lost, "the log is not whole: %s", f->broken);
	check_events(&c);
	check_acks(&c);
	check_calls(&c);
	if (f->seen.what[0]) {
		v->lost += f->seen.lost;
		v->duplicated += f->seen.duplicated;
		v->diverged += f->seen.diverged;
		if (!v->what[0])
			snprintf(v->what, sizeof(v->what), "%s", f->seen.what);
	}
	if (f->left)
		blame(&c, &v->left, "%u processes were left behind", f->left);
}

bool verdict_bad(const struct verdict *v)
{
	return v->duplicated || v->lost || v->diverged || v->false_claims || v->left || v->hung;
}
