/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest.c - a checker that finds nothing proves nothing.  One good run, then
 * its facts are doctored in every way that the checker is there for.
 */
#include <stdio.h>
#include <stdlib.h>

#include "torture.h"

#define SHELL_CALL 0 /* of script "short": shell, write_file, shell, read_file */
#define FILE_CALL 1
#define READ_CALL 3

struct doctored {
	const char *name;
	void (*doctor)(struct facts *f);
	size_t counter; /* offset in struct verdict of what must not be 0 */
};

static struct th_event *find(struct facts *f, enum th_event_kind kind, size_t call)
{
	char id[16];

	script_call_id(call, id);
	for (size_t i = 0; i < f->event_count; i++)
		if (f->events[i].kind == kind &&
		    (kind == TH_EV_MODEL_ANSWERED || kind == TH_EV_FINAL ||
		     th_str_is(f->events[i].call, id)))
			return &f->events[i];
	die("selftest: the run has no such event");
}

static void set_status(struct facts *f, size_t call, const char *data)
{
	find(f, TH_EV_OUTCOME, call)->data = th_str_of(data);
}

static void append(struct facts *f, struct th_event ev)
{
	ev.seq = f->event_count + 1;
	f->events[f->event_count++] = ev;
}

static void drop(struct facts *f, const struct th_event *ev)
{
	size_t at = (size_t)(ev - f->events);

	for (; at + 1 < f->event_count; at++) {
		f->events[at] = f->events[at + 1];
		f->events[at].seq = at + 1;
	}
	f->event_count--;
}

/* ---- what must be caught ---- */

static void twice(struct facts *f)
{
	f->happened[SHELL_CALL] = 2;
}

static void two_outcomes(struct facts *f)
{
	append(f, *find(f, TH_EV_OUTCOME, SHELL_CALL));
}

static void two_intents(struct facts *f)
{
	append(f, *find(f, TH_EV_INTENT, SHELL_CALL));
}

static void no_outcome(struct facts *f)
{
	drop(f, find(f, TH_EV_OUTCOME, SHELL_CALL));
	f->ack_count = 0;
}

static void no_event(struct facts *f)
{
	f->event_count--;
}

static void other_event(struct facts *f)
{
	f->events[3].id.bytes[15] ^= 1;
}

static void not_whole(struct facts *f)
{
	snprintf(f->broken, sizeof(f->broken), "session x event 3: digest");
}

static void broken_chain(struct facts *f)
{
	f->happened[SHELL_CALL] = -1;
}

static void read_not_done(struct facts *f)
{
	set_status(f, READ_CALL, "{\"call_id\":\"call_03\",\"status\":\"not_started\"}");
}

static void other_final(struct facts *f)
{
	find(f, TH_EV_FINAL, 0)->data = TH_STR("{\"output\":\"something else\"}");
}

static void not_finished(struct facts *f)
{
	f->finished = false;
}

static void asked_again(struct facts *f)
{
	f->seen.requests[0]++;
}

static void answered_twice(struct facts *f)
{
	append(f, *find(f, TH_EV_MODEL_ANSWERED, 0));
}

static void unknown_call(struct facts *f)
{
	find(f, TH_EV_CALL, SHELL_CALL)->call = TH_STR("call_77");
}

static void torn_file(struct facts *f)
{
	f->happened[FILE_CALL] = 2;
}

static void done_and_not(struct facts *f)
{
	f->happened[SHELL_CALL] = 0;
}

static void file_done_and_not(struct facts *f)
{
	f->happened[FILE_CALL] = 0;
}

static void not_started_and_done(struct facts *f)
{
	set_status(f, SHELL_CALL, "{\"call_id\":\"call_00\",\"status\":\"not_started\"}");
}

static void without_intent(struct facts *f)
{
	drop(f, find(f, TH_EV_INTENT, SHELL_CALL));
	f->ack_count = 0;
}

static void needless_unknown(struct facts *f)
{
	set_status(f, SHELL_CALL,
		   "{\"status\":\"unknown\",\"output\":\"it may or may not have happened\"}");
}

static void unknown_said_wrongly(struct facts *f)
{
	f->executor_died = true;
	set_status(f, SHELL_CALL, "{\"status\":\"unknown\",\"output\":\"it did not complete\"}");
}

static void left_behind(struct facts *f)
{
	f->left = 1;
}

static void hung(struct facts *f)
{
	snprintf(f->hung, sizeof(f->hung), "thole run did not end");
}

#define MUST(name, doctor, counter)                             \
	{                                                       \
		name, doctor, offsetof(struct verdict, counter) \
	}

static const struct doctored list[] = {
	MUST("a command that ran twice", twice, duplicated),
	MUST("a call with two outcomes", two_outcomes, duplicated),
	MUST("a call with two intents", two_intents, duplicated),
	MUST("a call without an outcome", no_outcome, lost),
	MUST("an acknowledged event that is gone", no_event, lost),
	MUST("an acknowledged event that is another", other_event, lost),
	MUST("a log that does not verify", not_whole, lost),
	MUST("a ledger whose chain is broken", broken_chain, lost),
	MUST("a read that was not done", read_not_done, lost),
	MUST("another final text", other_final, diverged),
	MUST("a session that is not finished", not_finished, diverged),
	MUST("a request that is not in the log", asked_again, diverged),
	MUST("a turn with two answers", answered_twice, diverged),
	MUST("a call that nobody asked for", unknown_call, diverged),
	MUST("a file that is neither old nor new", torn_file, diverged),
	MUST("done, and it was not", done_and_not, false_claims),
	MUST("a file is done, and it was not", file_done_and_not, false_claims),
	MUST("not started, and it was", not_started_and_done, false_claims),
	MUST("an effect without an intent", without_intent, false_claims),
	MUST("unknown without need", needless_unknown, false_claims),
	MUST("unknown, told as if it had failed", unknown_said_wrongly, false_claims),
	MUST("a process left behind", left_behind, left),
	MUST("a process that does not end", hung, hung),
};

/* ---- the histories that the model is sent ---- */

#define CALL                                                                                    \
	"{\"type\":\"function_call\",\"call_id\":\"call_00\",\"name\":\"shell\",\"arguments\":" \
	"\"{\\\"command\\\":\\\"echo before-w00; echo w00 >ledger; echo after-w00\\\"}\"}"
#define OUTPUT "{\"type\":\"function_call_output\",\"call_id\":\"call_00\",\"output\":\"x\"}"
#define OTHER "{\"type\":\"function_call_output\",\"call_id\":\"call_00\",\"output\":\"y\"}"

static bool judged(const char *name, const char *input, const char *again, size_t counter)
{
	struct script_seen seen = { .what = "" };
	const char *bodies[] = { input, again };

	for (size_t i = 0; i < 2 && bodies[i]; i++) {
		TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;

		if (th_json_parse(th_str_of(bodies[i]), &doc, NULL) != TH_OK)
			die("selftest: %s is no JSON", name);
		script_judge(script_find("ask"), th_json_root(doc), &seen);
	}
	bool caught = *(const unsigned *)((const char *)&seen + counter) > 0;
	printf("%-6s  %s\n", caught ? "caught" : "MISSED", name);
	return caught;
}

static bool histories(void)
{
#define SEEN(counter) offsetof(struct script_seen, counter)
	bool good =
	    judged("a history that lacks an outcome", "{\"input\":[" CALL "]}", NULL, SEEN(lost));
	good &= judged("a history with an outcome twice",
		       "{\"input\":[" CALL "," OUTPUT "," OUTPUT "]}", NULL, SEEN(duplicated));
	good &= judged("a history with a call twice", "{\"input\":[" CALL "," OUTPUT "," CALL "]}",
		       NULL, SEEN(duplicated));
	good &= judged("a history that changes", "{\"input\":[" CALL "," OUTPUT "]}",
		       "{\"input\":[" CALL "," OTHER "]}", SEEN(diverged));
	good &= judged("a history that ends inside an answer", "{\"input\":[" CALL "," OUTPUT "]}",
		       NULL, SEEN(diverged));
	return good;
}

static bool ledger(void)
{
	struct effects e;

	effects_open(&e, NULL);
	effects_add(&e, TH_STR("a"));
	effects_add(&e, TH_STR("b"));
	effects_add(&e, TH_STR("a"));
	bool counts = effects_count(&e, "a") == 2 && effects_count(&e, "c") == 0;
	char *at = strstr(e.text.ptr, " b\n");
	at[1] = 'c';
	bool caught = effects_count(&e, "a") == -1;
	at[1] = 'b';
	th_buf_truncate(&e.text, e.text.len - 2 - TH_SHA256_HEX_SIZE - 1);
	caught &= effects_count(&e, "a") == -1;
	effects_close(&e);
	printf("%-6s  %s\n", counts && caught ? "caught" : "MISSED",
	       "a ledger with a line changed, or cut");
	return counts && caught;
}

int selftest(struct worker *w)
{
	const struct point p = { .script = script_find("short"), .victim = VICTIM_RUNTIME };
	struct facts *copy = th_alloc(sizeof(*copy));
	struct result r;
	struct verdict v;
	bool good = true;

	trial(w, &p, &r);
	if (verdict_bad(&r.verdict))
		die("the run without a kill is not good: %s", r.verdict.what);
	if (r.stops < 100)
		die("only %ld stops were counted", r.stops);
	for (size_t i = 0; i < TH_COUNT(list); i++) {
		memcpy(copy, &w->facts, sizeof(*copy));
		list[i].doctor(copy);
		check(copy, &v);
		bool caught = *(const unsigned *)((const char *)&v + list[i].counter) > 0;
		printf("%-6s  %s\n", caught ? "caught" : "MISSED", list[i].name);
		good &= caught && verdict_bad(&v);
	}
	good &= histories();
	good &= ledger();
	free(copy);
	return !good;
}
