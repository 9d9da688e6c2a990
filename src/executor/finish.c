/* SPDX-License-Identifier: Apache-2.0 */
/* finish.c - an effect's end: recorded in the journal, then told to all who wait. */
#include "executor/state.h"

#include "base/limits.h"
#include "base/text.h"
#include "core/unknown.h"
#include "io/clock.h"

#define NETWORK_SIZE (TH_EXEC_EVIDENCE_MAX / 2)
#define PARTIAL_SIZE (4 * TH_KIB) /* of an unknown command's output, shown to the model */

/* What connections there were since the last outcome goes along with this one. */
static void add_network(struct th_exec_effect *e)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf rows = TH_BUF_INIT(NETWORK_SIZE);
	struct th_buf *to = &e->evidence;

	if (to->len + NETWORK_SIZE + sizeof(",\"network\":}") > TH_EXEC_EVIDENCE_MAX ||
	    (to->len > 0 && to->ptr[to->len - 1] != '}'))
		return; /* they stay for the next one */
	th_egress_link_take(e->x->egress, &rows);
	if (rows.len == 0 || rows.failed)
		return;
	bool empty = to->len <= 2;
	th_buf_truncate(to, empty ? 0 : to->len - 1);
	th_buf_printf(to, "%s\"network\":%s}", empty ? "{" : ",", rows.ptr);
}

static void effect_record(struct th_exec_effect *e)
{
	struct th_executor_server *x = e->x;
	struct th_err err;

	assert(!e->finished);
	e->settling = false;
	e->finished = true;
	if (x->egress)
		add_network(e);
	x->running--;
	if (e->entry) {
		enum th_code code =
		    th_ledger_finish(x->ledger, e->entry, e->status, th_buf_str(&e->output),
				     th_buf_str(&e->evidence), e->elapsed_ms, &err);
		if (code == TH_EIO || code == TH_ENOMEM)
			th_exec_fatal(x, &err);
		x->dirty = true;
		th_loop_defer(x->loop, &x->flush);
		if (e->picture_count > 0)
			th_exec_pictures_add(e);
	}
	th_exec_effect_settle(e);
	th_exec_idle(x);
}

/* What has no room says so: without it nobody would know that there was some. */
static void add_evidence(struct th_exec_effect *e, struct th_str evidence)
{
	th_buf_add(&e->evidence, evidence);
	if (e->evidence.failed) {
		th_buf_clear(&e->evidence);
		th_buf_printf(&e->evidence, "{\"too_large\":%zu}", evidence.len);
	}
	(void)th_mask_apply_buf(e->x->mask, &e->evidence);
}

static void on_synced(void *ctx)
{
	effect_record((struct th_exec_effect *)ctx);
}

void th_exec_effect_finish(struct th_exec_effect *e, enum th_outcome_status status,
			   struct th_str output, struct th_str evidence,
			   struct th_picture *const *pictures, size_t count)
{
	assert(!e->finished && !e->settling);
	th_exec_ask_over(e);
	e->status = status;
	e->elapsed_ms = e->started_ms ? (int64_t)(th_clock_ms() - e->started_ms) : 0;
	th_buf_add(&e->output, output);
	(void)th_mask_apply_buf(e->x->mask, &e->output);
	add_evidence(e, evidence);
	for (size_t i = 0; i < count; i++)
		e->pictures[e->picture_count++] = th_picture_ref(pictures[i]);
	if (!e->x->egress || !e->started || e->class == TH_CLASS_R) {
		effect_record(e);
		return;
	}
	e->settling = true;
	e->settle = (struct th_egress_wait){ .fn = on_synced, .ctx = e };
	(void)th_egress_link_sync(e->x->egress, &e->settle);
}

void th_exec_effect_unknown(struct th_exec_effect *e)
{
	const struct th_ledger_entry *entry = e->entry;
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(8 * PARTIAL_SIZE);
	TH_CLEANUP(th_buf_deinit) struct th_buf output = TH_BUF_INIT(16 * PARTIAL_SIZE);
	TH_CLEANUP(th_buf_deinit) struct th_buf evidence = TH_BUF_INIT(1024);
	struct th_jw w = th_jw(&output), ev = th_jw(&evidence);

	th_buf_add_cstr(&text, TH_UNKNOWN_SENTENCE);
	if (entry->steps > 0)
		th_buf_printf(&text, " At least %lld of its actions were done.",
			      (long long)entry->steps);
	if (th_spool_open(&e->spool, e->x->spool_fd, entry->id, NULL) == TH_OK &&
	    e->spool.size > 0) {
		struct th_buf bytes = TH_BUF_INIT(PARTIAL_SIZE);
		uint64_t at = e->spool.size > PARTIAL_SIZE ? e->spool.size - PARTIAL_SIZE : 0;
		(void)!th_spool_read(&e->spool, at, PARTIAL_SIZE, &bytes, &at, NULL);
		th_buf_add(&text, TH_STR("\nIts output before that ended with:\n"));
		th_utf8_clean(&text, th_buf_str(&bytes));
		th_buf_deinit(&bytes);
	}
	th_jw_str(&w, th_buf_str(&text));
	th_jw_object(&ev);
	th_jw_kbool(&ev, "executed_again", false);
	th_jw_kint(&ev, "started_at", entry->accepted_ms);
	if (entry->steps > 0)
		th_jw_kint(&ev, "done_at_least", entry->steps);
	th_jw_object_end(&ev);
	th_exec_effect_finish(e, TH_OUTCOME_UNKNOWN, th_buf_str(&output), th_buf_str(&evidence),
			      NULL, 0);
}
