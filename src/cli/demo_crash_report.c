/* SPDX-License-Identifier: Apache-2.0 */
/* demo_crash_report.c - the log against the ledger, and what is said of it. */
#include <stdio.h>

#include "admin/verify.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/demo_crash_parts.h"

/* ---- the log against the ledger ---- */

/* The number of an effect, by what its call asks for. */
static bool number_of(struct th_str call_id, size_t *ret)
{
	static const char prefix[] = "call_demo_";
	int64_t n;

	if (!th_str_starts(call_id, th_str_of(prefix)) ||
	    !th_str_i64(th_str_sub(call_id, sizeof(prefix) - 1, call_id.len), &n) || n < 0 ||
	    n >= TH_LEDGER_IDS_MAX)
		return false;
	*ret = (size_t)n;
	return true;
}

static int64_t exit_code_of(struct th_str data)
{
	int64_t code;
	struct th_str raw = th_json_raw_get(th_json_raw_get(data, "evidence"), "exit_code");

	return th_str_i64(raw, &code) ? code : 0;
}

static enum th_code read_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct th_crash_demo *c = ctx;
	struct th_str status;
	size_t n;
	int found;

	(void)digest;
	if ((ev->kind != TH_EV_CALL && ev->kind != TH_EV_OUTCOME) || !number_of(ev->call, &n))
		return TH_OK;
	if (ev->kind == TH_EV_CALL) {
		c->said[n].called = true;
		c->said[n].kind = th_crash_demo_kind(c, n);
		return TH_OK;
	}
	status = th_json_raw_get(ev->data, "status");
	found = th_outcome_find(th_str_sub(status, 1, status.len - 2));
	if (found < 0 || c->said[n].settled)
		return th_fail(err, TH_ECORRUPT, "event %llu is no outcome, or a second one",
			       (unsigned long long)ev->seq);
	c->said[n].settled = true;
	c->said[n].failed = found == TH_OUTCOME_FAILED || exit_code_of(ev->data) > 0;
	c->said[n].status = (enum th_outcome_status)found;
	return TH_OK;
}

static void judge(struct th_crash_demo *c, unsigned n)
{
	const struct th_crash_said *s = &c->said[n];
	unsigned happened = 0;

	for (int kind = 0; kind < TH_LEDGER_KINDS; kind++)
		happened += th_demo_ledger_count(c->ledger, (enum th_ledger_kind)kind, n);
	c->calls += s->called;
	c->happened += happened;
	c->duplicated += happened > 1 ? happened - 1 : 0;
	if (!s->called) {
		c->false_claims += happened; /* nothing was written down before it */
		return;
	}
	if (!s->settled || (s->status == TH_OUTCOME_DONE && !s->failed && happened == 0))
		c->lost++;
	c->failed += s->failed;
	if (s->settled && happened > 0 &&
	    (s->status == TH_OUTCOME_NOT_STARTED || s->status == TH_OUTCOME_REFUSED))
		c->false_claims++;
	if (s->settled && s->status == TH_OUTCOME_UNKNOWN) {
		c->unknown++;
		c->unknown_happened += happened > 0;
	}
}

enum th_code th_crash_demo_compare(struct th_crash_demo *c, struct th_err *err)
{
	struct th_verify_report report = { 0 };
	enum th_code code;

	code = c->store->kind->read(c->store, th_str_of(c->session), 1, 0, read_event, c, err);
	if (code == TH_OK)
		code = th_store_check(c->store, TH_STR(""), &report, err);
	if (code != TH_OK)
		return code;
	if (report.bad)
		(void)snprintf(c->broken, sizeof(c->broken), "the log is not whole: %.100s: %.300s",
			       report.key, report.what);
	for (unsigned n = 0; n < TH_LEDGER_IDS_MAX; n++)
		judge(c, n);
	c->diverged = atomic_load(&c->backwards) + (report.bad ? 1 : 0);
	return TH_OK;
}

/* ---- the report ---- */

bool th_crash_demo_good(const struct th_crash_demo *c)
{
	return c->duplicated + c->lost + c->diverged + c->false_claims == 0;
}

static void print_json(const struct th_crash_demo *c, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kint(&w, "seed", c->o->seed);
	th_jw_kuint(&w, "elapsed_ms", c->elapsed_ms);
	th_jw_kbool(&w, "traced", c->trace);
	th_jw_kbool(&w, "clicks", !c->no_clicks[0]);
	th_jw_kuint(&w, "lives", c->lives);
	th_jw_kuint(&w, "runtime_kills", c->runtime_kills);
	th_jw_kuint(&w, "executor_kills", c->executor_kills);
	th_jw_kuint(&w, "stops", c->stops);
	th_jw_kuint(&w, "calls", c->calls);
	th_jw_kuint(&w, "happened", c->happened);
	th_jw_kuint(&w, "duplicated", c->duplicated);
	th_jw_kuint(&w, "lost", c->lost);
	th_jw_kuint(&w, "diverged", c->diverged);
	th_jw_kuint(&w, "false_claims", c->false_claims);
	th_jw_kuint(&w, "failed", c->failed);
	th_jw_kuint(&w, "unknown", c->unknown);
	th_jw_kuint(&w, "unknown_happened", c->unknown_happened);
	th_jw_object_end(&w);
	th_buf_add_char(out, '\n');
}

static void print_table(const struct th_crash_demo *c, struct th_buf *out)
{
	const struct {
		const char *name;
		unsigned value;
		const char *note;
	} rows[] = {
		{ "kills of the runtime", c->runtime_kills, "" },
		{ "kills of the executor", c->executor_kills, "together with the runtime" },
		{ "effects asked for", c->calls, "commands, files, clicks" },
		{ "effects that happened", c->happened, "as an outside ledger counts them" },
		{ "duplicated", c->duplicated, "happened more than once" },
		{ "lost", c->lost, "said to be done, or left without a result, and not there" },
		{ "diverged", c->diverged, "histories that went back, digests that do not fit" },
		{ "failed", c->failed, "said to have failed" },
		{ "false claims", c->false_claims, "said not to have begun, and there" },
		{ "unknown", c->unknown, "said to be unknown, and not repeated" },
		{ "  of which happened", c->unknown_happened, "" },
	};

	th_buf_add_char(out, '\n');
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		th_buf_printf(out, "%-24s %5u   %s\n", rows[i].name, rows[i].value, rows[i].note);
	if (c->broken[0])
		th_buf_printf(out, "\n%s\n", c->broken);
}

static void print_conclusion(const struct th_crash_demo *c, struct th_buf *out)
{
	th_buf_printf(out, "\nSeed %lld, %llu.%llu s, ", (long long)c->o->seed,
		      (unsigned long long)c->elapsed_ms / 1000,
		      (unsigned long long)c->elapsed_ms / 100 % 10);
	if (c->trace)
		th_buf_printf(out, "killed at system calls (%llu stops were passed).\n",
			      (unsigned long long)c->stops);
	else
		th_buf_printf(out, "killed at random moments%s.\n",
			      c->o->no_trace ? "" : ": tracing is not allowed here");
	if (c->no_clicks[0])
		th_buf_printf(out, "There were no clicks: %s.\n", c->no_clicks);
	if (!th_crash_demo_good(c)) {
		th_buf_printf(
		    out,
		    "\nThis is a bug: one of the numbers that must be 0 is not. The log and "
		    "the files are in %s.\n",
		    c->folder);
		return;
	}
	if (!c->happened) {
		th_buf_add_cstr(out,
				"\nNo effect came about before it was killed again, so this says "
				"nothing. Give it longer:\n--seconds 60.\n");
		return;
	}
	th_buf_add_cstr(
	    out,
	    "\nWhat to conclude: a runtime that is killed loses nothing and repeats nothing, "
	    "because "
	    "its executor outlives\n"
	    "it and knows what was begun. Where the executor died too, nobody can know of an "
	    "effect "
	    "that was under way\n"
	    "whether it happened; thole then says \"unknown\", shows the model what is there now, "
	    "and "
	    "does not do it again.\n"
	    "That is the right word: some of them had happened, some had not. The seed repeats the "
	    "draws, not the machine's\n"
	    "timing. docs/DURABILITY.md says what is promised, and what is not.\n");
}

int th_crash_demo_report(struct th_crash_demo *c)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);

	if (c->o->json) {
		print_json(c, &out);
	} else {
		print_table(c, &out);
		print_conclusion(c, &out);
	}
	return th_cli_print(&out, th_crash_demo_good(c) ? 0 : 1);
}
