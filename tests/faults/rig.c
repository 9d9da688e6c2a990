/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "admin/verify.h"
#include "driver/driver.h"
#include "executor/ledger.h"
#include "io/clock.h"
#include "io/loop.h"
#include "runtime/runtime.h"
#include "stores/stores.h"

#define TICKETS 8

struct rig {
	struct rig_truth *truth;
	struct th_loop *loop;
	struct th_store *store;
	struct th_ledger *ledger;
	struct th_driver *driver;
	struct th_handle h;
	struct th_deferred flush, later;
	int turns;
	bool asked, timer, over;
	struct th_ticket model, timed;
	struct done {
		struct th_ticket ticket;
		enum th_outcome_status status;
	} done[TICKETS];
	size_t done_count;
	th_commit_fn *commit_done;
	void (*acked)(uint64_t seq);
	void (*acted)(void);
	struct th_err failure;
};

struct rig_truth *rig_truth_new(void)
{
	void *t = mmap(NULL, sizeof(struct rig_truth), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return t == MAP_FAILED ? NULL : t;
}

static void stop(struct rig *r, const struct th_err *err)
{
	if (r->over)
		return;
	r->over = true;
	r->failure = *err;
	th_loop_stop(r->loop);
}

/* ---- the world ---- */

static int64_t now(void *ctx)
{
	(void)ctx;
	return (int64_t)th_clock_wall_ms();
}

static void draw(void *ctx, void *ptr, size_t len)
{
	(void)ctx;
	th_random(ptr, len);
}

static void on_flush(void *ctx)
{
	struct rig *r = ctx;

	if (!r->over)
		th_driver_flush(r->driver);
}

static void flush_soon(void *ctx)
{
	struct rig *r = ctx;

	th_loop_defer(r->loop, &r->flush);
}

static void later(struct rig *r)
{
	th_loop_defer(r->loop, &r->later);
}

static void timer(void *ctx, struct th_ticket t, int64_t delay_ms)
{
	struct rig *r = ctx;

	(void)delay_ms;
	r->timed = t;
	r->timer = true;
	later(r);
}

struct committing {
	struct rig *rig;
	void *ctx;
};

static void note_acked(struct rig *r, const struct th_append *a)
{
	struct rig_truth *t = r->truth;

	for (size_t i = 0; i < a->event_count; i++) {
		t->acked_seq = a->events[i].seq;
		t->acked_head = a->digests[i];
		t->acked_turns += a->events[i].kind == TH_EV_MODEL_ANSWERED;
	}
	if (r->acked)
		r->acked(t->acked_seq);
}

static void on_committed(void *ctx, struct th_batch *batch, enum th_code code,
			 const struct th_err *err)
{
	struct committing *c = ctx;
	struct rig *r = c->rig;
	void *inner = c->ctx;

	for (size_t i = 0; code == TH_OK && i < batch->append_count; i++)
		if (batch->appends[i].result == TH_OK)
			note_acked(r, &batch->appends[i]);
	c->rig = NULL;
	r->commit_done(inner, batch, code, err);
}

static void commit(void *ctx, struct th_batch *batch, th_commit_fn *done, void *done_ctx)
{
	static struct committing list[TICKETS]; /* the rig must not allocate here */
	struct rig *r = ctx;
	size_t i = 0;

	while (list[i].rig)
		i++;
	list[i] = (struct committing){ r, done_ctx };
	r->commit_done = done;
	r->store->kind->commit(r->store, batch, on_committed, &list[i]);
}

static enum th_code get_blob(void *ctx, const struct th_digest *hash, struct th_buf *out,
			     struct th_err *err)
{
	struct rig *r = ctx;

	return r->store->kind->blob(r->store, hash, out, err);
}

static enum th_code read_log(void *ctx, struct th_str id, uint64_t from, uint64_t to,
			     th_event_fn *fn, void *fn_ctx, struct th_err *err)
{
	struct rig *r = ctx;

	return r->store->kind->read(r->store, id, from, to, fn, fn_ctx, err);
}

static enum th_code model_call(void *ctx, struct th_ticket t, const struct th_model_call *call,
			       struct th_err *err)
{
	struct rig *r = ctx;

	(void)call;
	(void)err;
	r->truth->asked_again |=
	    th_driver_session(r->driver, r->h)->totals.turns < r->truth->acked_turns;
	r->model = t;
	r->asked = true;
	later(r);
	return TH_OK;
}

static void model_alive(void *ctx, struct th_ticket t)
{
	(void)ctx;
	(void)t;
}

static void model_cancel(void *ctx, struct th_ticket t)
{
	struct rig *r = ctx;

	(void)t;
	r->asked = false;
}

static void act(struct rig_truth *t, struct th_str id)
{
	size_t i = 0;

	while (i < t->effect_count && !th_str_is(id, t->effects[i].id))
		i++;
	if (i == t->effect_count) {
		memcpy(t->effects[i].id, id.ptr, TH_MIN(id.len, (size_t)32));
		t->effect_count++;
	}
	t->effects[i].acted++;
}

/* Accepted, flushed, done, finished, flushed: what the executor does. */
static enum th_code execute(struct rig *r, const struct th_effect_call *call,
			    enum th_outcome_status *ret, struct th_err *err)
{
	struct th_ledger_entry what = { .state = TH_LEDGER_ACCEPTED,
					.class = call->class,
					.epoch = call->epoch,
					.accepted_ms = now(r) };
	struct th_ledger_entry *e = NULL;
	char tool[] = "shell";
	enum th_code code;

	memcpy(what.id, call->effect_id.ptr, TH_MIN(call->effect_id.len, sizeof(what.id) - 1));
	what.tool = tool;
	*ret = TH_OUTCOME_NOT_STARTED;
	code = th_ledger_accept(r->ledger, &what, &e, err);
	if (code == TH_ELIMIT || code == TH_ENOMEM)
		return TH_OK; /* refused: nothing of it is in the journal */
	if (code == TH_OK)
		code = th_ledger_sync(r->ledger, err);
	if (code != TH_OK)
		return code;
	if (call->class != TH_CLASS_R) /* a look has no intent, and may be repeated */
		act(r->truth, call->effect_id);
	if (r->acted)
		r->acted();
	*ret = TH_OUTCOME_DONE;
	code = th_ledger_finish(r->ledger, e, TH_OUTCOME_DONE, TH_STR("\"did it\""),
				TH_STR("{\"exit\":0}"), 1, err);
	if (code == TH_ELIMIT || code == TH_ENOMEM)
		return TH_OK;
	return code == TH_OK ? th_ledger_sync(r->ledger, err) : code;
}

static enum th_code find_out(struct rig *r, const struct th_effect_call *call,
			     enum th_outcome_status *ret, struct th_err *err)
{
	struct th_ledger_entry *e = th_ledger_find(r->ledger, call->effect_id);
	enum th_code code;

	*ret = TH_OUTCOME_UNKNOWN;
	if (e && e->state == TH_LEDGER_FINISHED)
		*ret = e->status;
	else if (e && e->state == TH_LEDGER_NEVER)
		*ret = TH_OUTCOME_NOT_STARTED;
	/* Only the journal that the intent names can prove anything by its silence. */
	if (e || !th_str_is(call->journal, th_ledger_id(r->ledger)))
		return TH_OK;
	code = th_ledger_never(r->ledger, call->effect_id, err);
	if (code == TH_OK)
		code = th_ledger_sync(r->ledger, err);
	if (code == TH_OK)
		*ret = TH_OUTCOME_NOT_STARTED;
	return code == TH_ELIMIT || code == TH_ENOMEM ? TH_OK : code;
}

static void tool_run(void *ctx, struct th_ticket t, const struct th_effect_call *call, bool settle)
{
	struct rig *r = ctx;
	struct done *d = &r->done[r->done_count];
	struct th_err err = { 0 };
	enum th_code code;

	r->truth->acted_early |= !settle && t.seq > r->truth->acked_seq;
	code = settle || th_ledger_find(r->ledger, call->effect_id)
		   ? find_out(r, call, &d->status, &err)
		   : execute(r, call, &d->status, &err);
	if (code != TH_OK) {
		stop(r, &err); /* the executor is gone, and this process with it */
		return;
	}
	d->ticket = t;
	r->done_count++;
	later(r);
}

static bool tool_ready(void *ctx, struct th_ticket t, struct th_str *ret_journal)
{
	struct rig *r = ctx;

	(void)t;
	*ret_journal = th_str_of(th_ledger_id(r->ledger));
	return true;
}

static void tool_cancel(void *ctx, struct th_ticket t)
{
	(void)ctx;
	(void)t;
}

static void tool_forget(void *ctx, struct th_str id, const struct th_str *ids, size_t count)
{
	struct rig *r = ctx;
	struct th_err err = { 0 };
	enum th_code code = TH_OK;

	(void)id;
	for (size_t i = 0; i < count && (code == TH_OK || code == TH_ELIMIT || code == TH_ENOMEM);
	     i++) {
		struct th_ledger_entry *e = th_ledger_find(r->ledger, ids[i]);

		if (e && e->state != TH_LEDGER_ACCEPTED)
			code = th_ledger_forget(r->ledger, e, &err);
	}
	if (code == TH_OK)
		code = th_ledger_tidy(r->ledger, true, &err);
	if (code != TH_OK && code != TH_ELIMIT && code != TH_ENOMEM)
		stop(r, &err);
}

static void fatal(void *ctx, const struct th_err *err)
{
	stop(ctx, err);
}

static const struct th_world_ops ops = {
	.now_ms = now,
	.random = draw,
	.flush_soon = flush_soon,
	.timer = timer,
	.commit = commit,
	.blob = get_blob,
	.read = read_log,
	.model_call = model_call,
	.model_alive = model_alive,
	.model_cancel = model_cancel,
	.tool_run = tool_run,
	.tool_ready = tool_ready,
	.tool_cancel = tool_cancel,
	.tool_forget = tool_forget,
	.fatal = fatal,
};

/* ---- the model and the tools ---- */

static void answer(struct rig *r)
{
	int64_t turn = th_driver_session(r->driver, r->h)->totals.turns;
	struct th_model_end end = { .ok = true, .http_status = 200, .hints = { -1, -1 } };
	char output[700], body[1000];

	if (turn < r->turns)
		snprintf(output, sizeof(output),
			 "{\"type\":\"function_call\",\"id\":\"fc_a\",\"call_id\":\"a%lld\","
			 "\"name\":\"shell\",\"arguments\":\"{}\",\"status\":\"completed\"},"
			 "{\"type\":\"function_call\",\"id\":\"fc_b\",\"call_id\":\"b%lld\","
			 "\"name\":\"weather\",\"arguments\":\"{}\",\"status\":\"completed\"}",
			 (long long)turn, (long long)turn);
	else
		snprintf(output, sizeof(output),
			 "{\"type\":\"message\",\"id\":\"m\",\"role\":\"assistant\",\"status\":"
			 "\"completed\",\"content\":[{\"type\":\"output_text\",\"text\":\"over\","
			 "\"annotations\":[]}]}");
	snprintf(body, sizeof(body),
		 "{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\"model\":"
		 "\"gpt-5.4\",\"output\":[%s],\"usage\":{\"input_tokens\":10,\"output_tokens\":5,"
		 "\"total_tokens\":15}}",
		 output);
	if (th_driver_model_data(r->driver, r->model, th_str_of(body)))
		th_driver_model_done(r->driver, r->model, &end);
}

static void on_later(void *ctx)
{
	struct rig *r = ctx;

	if (r->timer && !r->over) {
		r->timer = false;
		th_driver_timer(r->driver, r->timed);
	}
	if (r->asked && !r->over) {
		r->asked = false;
		answer(r);
	}
	while (r->done_count > 0 && !r->over) {
		struct done d = r->done[0];
		struct th_blob blob = { .media_type = TH_STR("text/plain"),
					.bytes = TH_STR("a picture of it") };
		struct th_effect_result result = { .status = d.status,
						   .output = TH_STR("\"did it\""),
						   .blobs = &blob,
						   .blob_count = 1 };

		memmove(r->done, r->done + 1, --r->done_count * sizeof(r->done[0]));
		blob.hash = th_sha256_of(blob.bytes.ptr, blob.bytes.len);
		th_driver_tool_done(r->driver, d.ticket, &result);
	}
}

static void weather(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct th_effect_result r = { .status = TH_OUTCOME_DONE, .output = TH_STR("\"sunny\"") };

	(void)ctx;
	th_driver_tool_done(d, call->ticket, &r);
}

static void on_rest(void *ctx, struct th_handle h, const struct th_session *s,
		    const struct th_err *err)
{
	struct rig *r = ctx;
	struct th_err none = { .code = TH_OK };

	(void)h;
	if (err)
		stop(r, err);
	else if ((r->truth->finished = s->state == TH_STATE_FINISHED))
		stop(r, &none);
	else
		stop(r,
		     &(struct th_err){ .code = TH_EPROTO, .msg = "it rests, and is not finished" });
}

/* ---- a life ---- */

static const struct th_agent agent = { .name = TH_STR_INIT("tester"),
				       .instructions = TH_STR_INIT("Be brief.") };
static const struct th_tool_row rows[] = {
	{ .spec = { .name = TH_STR_INIT("shell"),
		    .scope = { TH_TARGET_FILES, TH_SHOWS_ANY },
		    .schema = TH_STR_INIT("{\"type\":\"object\"}"),
		    .class = TH_CLASS_W } },
	{ .spec = { .name = TH_STR_INIT("weather"),
		    .schema = TH_STR_INIT("{\"type\":\"object\"}"),
		    .class = TH_CLASS_R },
	  .local = weather },
};

static enum th_code take_journal(struct rig *r, const char *folder, int64_t epoch,
				 struct th_err *err)
{
	struct th_ledger_found found;
	char path[4200];
	enum th_code code;

	snprintf(path, sizeof(path), "%s/journal", folder);
	code = th_ledger_open(path, &found, &r->ledger, err);
	if (code == TH_OK && epoch > th_ledger_epoch(r->ledger))
		code = th_ledger_epoch_raise(r->ledger, epoch, err);
	if (code == TH_OK)
		code = th_ledger_sync(r->ledger, err);
	return code;
}

static enum th_code take_session(struct rig *r, const char *folder, struct th_err *err)
{
	struct th_session_config session_config = { .agent = &agent,
						    .tools = rows,
						    .tool_count = TH_COUNT(rows) };
	struct th_observer see = { .rest = on_rest, .ctx = r };
	struct th_ev_session_created created = { .model = TH_STR("gpt-5.4") };
	struct th_session_row row = { .epoch = 1 };
	struct th_arena a;
	enum th_code code, found;

	th_arena_init(&a, TH_MIB);
	code = th_model_resolve(TH_STR("gpt-5.4"), &session_config.first.profile,
				&session_config.first.model, err);
	found = r->store->kind->get(r->store, TH_STR(RIG_SESSION), &a, &row, err);
	if (code == TH_OK && found == TH_OK)
		code = r->store->kind->lease(r->store, TH_STR(RIG_SESSION), &a, &row, err);
	else if (found != TH_OK && found != TH_ENOENT)
		code = found;
	if (code == TH_OK)
		code = take_journal(r, folder, row.epoch, err);
	if (code == TH_OK && found == TH_OK)
		code = th_driver_open(r->driver, &row, &session_config, &see, &r->h, err);
	else if (code == TH_OK)
		code = th_driver_create(r->driver, TH_STR(RIG_SESSION), &session_config, &created,
					&see, &r->h, err);
	th_arena_deinit(&a);
	if (code == TH_OK && th_driver_session(r->driver, r->h)->state == TH_STATE_IDLE)
		return th_driver_message(r->driver, r->h, TH_STR("do it"), err);
	return code == TH_OK ? th_driver_resume(r->driver, r->h, err) : code;
}

enum th_code rig_play(const char *folder, struct rig_truth *t, const struct rig_options *o)
{
	struct rig r = { .truth = t, .turns = o->turns, .acked = o->acked, .acted = o->acted };
	struct th_world world = { &ops, &r };
	struct th_store_options options = { .create = true };
	struct th_err err = { 0 };
	char url[4200];
	enum th_code code;

	r.flush = (struct th_deferred){ .fn = on_flush, .ctx = &r };
	r.later = (struct th_deferred){ .fn = on_later, .ctx = &r };
	snprintf(url, sizeof(url), "sqlite:%s/s.db", folder);
	code = th_loop_new(&r.loop, &err);
	if (o->begin)
		o->begin();
	options.loop = r.loop;
	if (code == TH_OK)
		code = th_store_open(th_str_of(url), &options, &r.store, &err);
	if (code == TH_OK)
		r.driver = th_driver_new(&world, TH_STR("test"));
	if (code == TH_OK && !r.driver)
		code = th_fail(&err, TH_ENOMEM, "out of memory");
	if (code == TH_OK)
		code = take_session(&r, folder, &err);
	if (code == TH_OK) {
		while (!r.over)
			th_loop_run(r.loop);
		err = r.failure;
		code = err.code;
	}
	if (o->ended)
		o->ended();
	snprintf(t->stopped, sizeof(t->stopped), "%s", code == TH_OK ? "" : err.msg);
	t->code = code;
	r.over = true;
	if (r.loop) {
		th_loop_undefer(r.loop, &r.flush);
		th_loop_undefer(r.loop, &r.later);
	}
	if (r.driver)
		th_driver_close(r.driver, r.h);
	r.store = th_store_close(r.store); /* its last callbacks still find the driver */
	r.driver = th_driver_free(r.driver);
	r.ledger = th_ledger_close(r.ledger);
	if (r.loop)
		th_loop_free(r.loop);
	return code;
}

/* ---- the truth against what is told ---- */

struct reading {
	const struct rig_truth *t;
	struct rig_faults *f;
	uint64_t last;
	int intents[RIG_EFFECTS_MAX], outcomes[RIG_EFFECTS_MAX];
	bool finished;
};

__attribute__((format(printf, 3, 4))) static void blame(struct rig_faults *f, long *count,
							const char *what, ...)
{
	va_list ap;

	++*count;
	if (f->what[0]) /* the first says most */
		return;
	va_start(ap, what);
	vsnprintf(f->what, sizeof(f->what), what, ap);
	va_end(ap);
}

static int effect_of(const struct rig_truth *t, struct th_str data)
{
	struct th_str raw = th_json_raw_get(data, "effect_id");

	for (size_t i = 0; i < t->effect_count; i++)
		if (raw.len > 2 && th_str_is(th_str_sub(raw, 1, raw.len - 2), t->effects[i].id))
			return (int)i;
	return -1;
}

static void read_outcome(struct reading *r, const struct th_event *ev)
{
	int i = effect_of(r->t, ev->data);
	int acted = i >= 0 ? r->t->effects[i].acted : 0;
	struct th_str status = th_json_raw_get(ev->data, "status");

	if (i >= 0 && ++r->outcomes[i] > 1)
		blame(r->f, &r->f->duplicated, "two outcomes of %s", r->t->effects[i].id);
	if (th_str_starts(ev->call, TH_STR("b"))) /* the weather is nobody's effect */
		return;
	if (th_str_is(status, "\"done\"") && acted == 0)
		blame(r->f, &r->f->false_claims, "event %llu says done, and it was not",
		      (unsigned long long)ev->seq);
	if (th_str_is(status, "\"not_started\"") && acted > 0)
		blame(r->f, &r->f->false_claims, "event %llu says not started, and it was",
		      (unsigned long long)ev->seq);
	r->f->unknown += th_str_is(status, "\"unknown\"");
}

static enum th_code read_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct reading *r = ctx;
	int i = effect_of(r->t, ev->data);

	(void)err;
	r->last = ev->seq;
	if (ev->seq == r->t->acked_seq && !th_digest_eq(digest, &r->t->acked_head))
		blame(r->f, &r->f->lost, "event %llu is another than the one acknowledged",
		      (unsigned long long)ev->seq);
	if (ev->kind == TH_EV_INTENT && i >= 0)
		r->intents[i]++;
	if (ev->kind == TH_EV_OUTCOME)
		read_outcome(r, ev);
	return TH_OK;
}

void rig_check(const char *folder, const struct rig_truth *t, struct rig_faults *f)
{
	struct th_store_options options = { .read_only = false };
	struct reading r = { .t = t, .f = f };
	struct th_verify_report report = { 0 };
	struct th_store *s = NULL;
	struct th_err err = { 0 };
	char url[4200];
	enum th_code code;

	snprintf(url, sizeof(url), "sqlite:%s/s.db", folder);
	code = th_store_open(th_str_of(url), &options, &s, &err);
	if (code == TH_OK)
		code = th_store_check(s, TH_STR(""), &report, &err);
	if (code == TH_OK && report.bad)
		blame(f, &f->lost, "%s: %s: %s", report.table, report.key, report.what);
	else if (code == TH_OK)
		code = s->kind->read(s, TH_STR(RIG_SESSION), 1, 0, read_event, &r, &err);
	th_store_close(s);
	/* A store that was cut while it was made has nothing in it that anybody was told of. */
	if (code != TH_OK && t->acked_seq > 0)
		blame(f, &f->lost, "it cannot be read: %s", err.msg);
	if (r.last < t->acked_seq)
		blame(f, &f->lost, "event %llu was acknowledged, and %llu is the last",
		      (unsigned long long)t->acked_seq, (unsigned long long)r.last);
	for (size_t i = 0; i < t->effect_count; i++) {
		if (t->effects[i].acted > 1)
			blame(f, &f->duplicated, "effect %s was done %d times", t->effects[i].id,
			      t->effects[i].acted);
		if (r.intents[i] == 0)
			blame(f, &f->lost, "effect %s has no intent", t->effects[i].id);
	}
	if (t->acted_early)
		blame(f, &f->lost, "an effect began before its intent was durable");
	if (t->asked_again)
		blame(f, &f->diverged, "the model was asked again for an answered turn");
}

bool rig_report(const char *what, long points, long errors, long stops, const struct rig_faults *f)
{
	printf("%-34s %7s %8s %7s %5s %10s %8s %12s %8s\n", "faults", "points", "errors", "stops",
	       "lost", "duplicated", "diverged", "false claims", "unknown");
	printf("%-34s %7ld %8ld %7ld %5ld %10ld %8ld %12ld %8ld\n", what, points, errors, stops,
	       f->lost, f->duplicated, f->diverged, f->false_claims, f->unknown);
	if (f->what[0])
		printf("  last: %s\n", f->what);
	fflush(stdout);
	return f->lost + f->duplicated + f->diverged + f->false_claims == 0;
}
