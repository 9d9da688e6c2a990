/* SPDX-License-Identifier: Apache-2.0 */
/*
 * effects.c - effects: accepted, done, finished, joined, forgotten.
 *
 * The order that everything rests on: what is accepted waits in x->pending
 * until the flush at the end of the loop's iteration has made the journal
 * durable; only then it is told to be accepted, and begins.
 */
#include "executor/state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "core/action.h"
#include "core/unknown.h"
#include "io/clock.h"
#include "io/files.h"
#include "mcp/tool.h"

#define PUMP_SIZE (64 * TH_KIB)
#define PARTIAL_SIZE (4 * TH_KIB) /* of an unknown command's output, shown to the model */

static void effect_start(struct th_exec_effect *e);

/* ---- answers ---- */

/* Picture parts of an output whose bytes are gone, as text; and the rest as it is. */
static void without_pictures(struct th_buf *out, struct th_str output)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	struct th_jw w = th_jw(out);

	if (th_json_parse(output, &doc, NULL) || !th_json_is_array(th_json_root(doc))) {
		th_buf_add(out, output);
		return;
	}
	struct th_json_iter it = th_json_iter(th_json_root(doc));
	th_jw_array(&w);
	while (th_json_next(&it)) {
		if (!th_str_is(th_json_get_str(it.val, "type"), "image")) {
			th_jw_json(&w, it.val);
			continue;
		}
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("text"));
		th_jw_kstr(&w, "text",
			   TH_STR("[the picture that was taken is lost; take a new one]"));
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
}

static void add_blob(struct th_jw *w, const char *hex, const char *media_type, size_t size)
{
	th_jw_object(w);
	th_jw_kstr(w, "blob", th_str_of(hex));
	th_jw_kstr(w, "media_type", th_str_of(media_type));
	th_jw_kuint(w, "size", size);
	th_jw_object_end(w);
}

/* The whole of a long output goes along as a blob, as the evidence says; from the spool. */
static bool add_full_output(struct th_executor_server *x, const char *id, struct th_str evidence,
			    struct th_jw *blobs, struct th_buf *attachment)
{
	struct th_str full = th_json_raw_get(evidence, "full_output");
	struct th_buf bytes = TH_BUF_INIT(TH_TOOL_OUTPUT_MAX);
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_spool spool;
	uint64_t at = 0;

	if (full.len == 0 || th_spool_open(&spool, x->spool_fd, id, NULL))
		return false;
	while (th_spool_read(&spool, at, TH_TOOL_OUTPUT_MAX, &bytes, &at, NULL) == TH_OK &&
	       at < spool.size) {
		size_t len = bytes.len;
		if (len >= spool.size || len == TH_TOOL_OUTPUT_MAX)
			break;
		at = spool.size > TH_TOOL_OUTPUT_MAX ? spool.size - TH_SPOOL_TAIL : len;
	}
	th_spool_close(&spool);
	struct th_digest digest = th_sha256_of(bytes.ptr, bytes.len);
	th_digest_hex(&digest, hex);
	bool same = th_str_find(full, th_str_of(hex)) >= 0;
	if (same) {
		add_blob(blobs, hex, "text/plain", bytes.len);
		th_buf_add(attachment, th_buf_str(&bytes));
	}
	th_buf_deinit(&bytes);
	return same;
}

static bool send_finished(struct th_exec_client *c, int64_t id, const struct th_ledger_entry *entry,
			  const struct th_exec_effect *e, struct th_picture *const *pictures,
			  size_t count)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(TH_FRAME_JSON_MAX);
	TH_CLEANUP(th_buf_deinit)
	struct th_buf attachment = TH_BUF_INIT(TH_FRAME_SIZE_MAX - TH_FRAME_JSON_MAX);
	TH_CLEANUP(th_buf_deinit) struct th_buf blobs = TH_BUF_INIT(64 * TH_KIB);
	TH_CLEANUP(th_buf_deinit) struct th_buf plain = TH_BUF_INIT(TH_JOURNAL_RECORD_MAX);
	struct th_jw w = th_jw(&blobs);
	struct th_exec_finished m = {
		.op = TH_STR("finished"),
		.id = id,
		.status = th_str_of(th_outcome_name(e ? e->status : entry->status)),
		.output = e ? th_buf_str(&e->output) : th_str_of(entry->output),
		.evidence = e ? th_buf_str(&e->evidence) : th_str_of(entry->evidence),
		.elapsed_ms = e ? e->elapsed_ms : entry->elapsed_ms,
		.journal = !e,
	};

	th_jw_array(&w);
	for (size_t i = 0; i < count; i++) {
		add_blob(&w, pictures[i]->hex, pictures[i]->media_type, pictures[i]->size);
		if (count > 1)
			th_buf_add_mem(&attachment, pictures[i]->bytes, pictures[i]->size);
	}
	if (count == 0 && m.evidence.len > 0)
		add_full_output(c->x, entry ? entry->id : e->id, m.evidence, &w, &attachment);
	th_jw_array_end(&w);
	if (blobs.len > 2)
		m.blobs = th_buf_str(&blobs);
	if (!e && count == 0) {
		without_pictures(&plain, m.output);
		m.output = th_buf_str(&plain);
	}
	th_exec_print(&th_exec_finished_table, &m, &head);
	return th_exec_send(c, th_buf_str(&head),
			    count == 1 ? th_str_n(pictures[0]->bytes, pictures[0]->size)
				       : th_buf_str(&attachment));
}

static bool send_plain(struct th_exec_client *c, int64_t id, enum th_outcome_status status,
		       const char *text)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(16 * TH_KIB);
	TH_CLEANUP(th_buf_deinit) struct th_buf output = TH_BUF_INIT(8 * TH_KIB);
	struct th_jw w = th_jw(&output);

	th_jw_str(&w, th_str_of(text));
	struct th_exec_finished m = {
		.op = TH_STR("finished"),
		.id = id,
		.status = th_str_of(th_outcome_name(status)),
		.output = th_buf_str(&output),
	};
	th_exec_print(&th_exec_finished_table, &m, &head);
	return th_exec_send(c, th_buf_str(&head), TH_STR(""));
}

static bool send_accepted(struct th_exec_client *c, int64_t id)
{
	struct th_buf head = TH_BUF_INIT(256);
	struct th_exec_request m = { .op = TH_STR("accepted"), .id = id };
	th_exec_print(&th_exec_request_table, &m, &head);
	bool there = th_exec_send(c, th_buf_str(&head), TH_STR(""));
	th_buf_deinit(&head);
	return there;
}

static bool send_output(struct th_exec_sub *sub, uint64_t offset, struct th_str bytes)
{
	struct th_buf head = TH_BUF_INIT(256);
	struct th_exec_output m = { .op = TH_STR("output"),
				    .id = sub->id,
				    .offset = (int64_t)offset };
	th_exec_print(&th_exec_output_table, &m, &head);
	bool there = th_exec_send(sub->client, th_buf_str(&head), bytes);
	if (there)
		sub->sent = offset + bytes.len;
	th_buf_deinit(&head);
	return there;
}

/* ---- pictures that are kept ---- */

static void picture_cache_free(struct th_executor_server *x, struct th_picture_cache **at)
{
	struct th_picture_cache *k = *at;
	*at = k->next;
	if (!*at)
		x->picture_cache_last = at;
	x->picture_cache_size -= k->size;
	for (size_t i = 0; i < k->count; i++)
		th_picture_unref(k->pictures[i]);
	free(k);
}

static void picture_cache_add(struct th_exec_effect *e)
{
	struct th_executor_server *x = e->x;
	struct th_picture_cache *k = (struct th_picture_cache *)th_alloc(sizeof(*k));

	memcpy(k->id, e->id, sizeof(k->id));
	for (size_t i = 0; i < e->picture_count; i++) {
		k->pictures[k->count++] = th_picture_ref(e->pictures[i]);
		k->size += e->pictures[i]->size;
	}
	*x->picture_cache_last = k;
	x->picture_cache_last = &k->next;
	x->picture_cache_size += k->size;
	while (x->picture_cache_size > TH_EXEC_BLOBS_MAX)
		picture_cache_free(x, &x->picture_cache);
}

static struct th_picture_cache **picture_cache_find(struct th_executor_server *x, const char *id)
{
	struct th_picture_cache **at = &x->picture_cache;
	while (*at && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	return at;
}

/* ---- effects ---- */

static struct th_exec_effect *effect_find(struct th_executor_server *x, struct th_str id)
{
	struct th_exec_effect *e = x->effects;
	while (e && !(e->entry && th_str_is(id, e->id)))
		e = e->next;
	return e;
}

static void effect_free(struct th_exec_effect *e)
{
	struct th_executor_server *x = e->x;
	struct th_exec_effect **at = &x->effects;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	while (e->subs) {
		struct th_exec_sub *sub = e->subs;
		e->subs = sub->next;
		free(sub);
	}
	for (size_t i = 0; i < e->picture_count; i++)
		th_picture_unref(e->pictures[i]);
	th_spool_close(&e->spool);
	th_buf_deinit(&e->output);
	th_buf_deinit(&e->evidence);
	th_json_free(e->doc);
	th_arena_deinit(&e->arena);
	free(e);
}

static void effect_sub(struct th_exec_effect *e, struct th_exec_client *c, int64_t id, bool watch,
		       uint64_t offset)
{
	struct th_exec_sub *sub = (struct th_exec_sub *)th_alloc(sizeof(*sub));
	*sub = (struct th_exec_sub){ e->subs, c, id, watch, offset };
	e->subs = sub;
}

static void sub_remove(struct th_exec_effect *e, struct th_exec_sub *sub)
{
	for (struct th_exec_sub **at = &e->subs; *at; at = &(*at)->next) {
		if (*at != sub)
			continue;
		*at = sub->next;
		free(sub);
		return;
	}
}

enum served { SERVED_ALL, SERVED_WAITS, SERVED_GONE };

/* Sends what the spool has beyond sub->sent, as long as the client takes it. */
static enum served pump(struct th_exec_effect *e, struct th_exec_sub *sub)
{
	while (sub->watch && sub->sent < e->spool.kept) {
		TH_CLEANUP(th_buf_deinit) struct th_buf bytes = TH_BUF_INIT(PUMP_SIZE);
		uint64_t at;
		if (sub->client->blocked)
			return SERVED_WAITS;
		if (th_spool_read(&e->spool, sub->sent, PUMP_SIZE, &bytes, &at, NULL) ||
		    bytes.len == 0)
			break;
		if (!send_output(sub, at, th_buf_str(&bytes)))
			return SERVED_GONE;
	}
	return SERVED_ALL;
}

/* A finished effect: tells it to those who have all its output, and is freed with the last of them.
 */
static void effect_settle(struct th_exec_effect *e)
{
	struct th_exec_sub *sub = e->subs, *next;

	for (; sub; sub = next) {
		next = sub->next;
		enum served served = pump(e, sub);
		if (served == SERVED_WAITS)
			continue;
		if (served == SERVED_ALL)
			send_finished(sub->client, sub->id, e->entry, e, e->pictures,
				      e->picture_count);
		sub_remove(e, sub);
	}
	if (!e->subs)
		effect_free(e);
}

/* What connections there were since the last outcome goes along with this one. */
static void add_network(struct th_exec_effect *e)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf rows = TH_BUF_INIT(TH_EXEC_EVIDENCE_MAX / 2);
	struct th_buf *to = &e->evidence;

	if (to->len + TH_EXEC_EVIDENCE_MAX / 2 > TH_EXEC_EVIDENCE_MAX ||
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
			picture_cache_add(e);
	}
	effect_settle(e);
	th_exec_idle(x);
}

static void on_synced(void *ctx)
{
	effect_record((struct th_exec_effect *)ctx);
}

static void effect_finish(struct th_exec_effect *e, enum th_outcome_status status,
			  struct th_str output, struct th_str evidence,
			  struct th_picture *const *pictures, size_t count)
{
	assert(!e->finished && !e->settling);
	th_exec_ask_over(e);
	e->status = status;
	e->elapsed_ms = e->started_ms ? (int64_t)(th_clock_ms() - e->started_ms) : 0;
	th_buf_add(&e->output, output);
	th_buf_add(&e->evidence, evidence);
	(void)th_mask_apply_buf(e->x->mask, &e->output);
	(void)th_mask_apply_buf(e->x->mask, &e->evidence);
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

/* ---- what tools say ---- */

static void job_output(struct th_tool_job *job, struct th_str bytes)
{
	struct th_exec_effect *e = (struct th_exec_effect *)job->ctx;
	uint64_t at = e->spool.size;

	th_spool_append(&e->spool, e->x->spool_fd, e->id, bytes);
	for (struct th_exec_sub *sub = e->subs; sub; sub = sub->next) {
		if (!sub->watch || sub->client->blocked)
			continue;
		/* New output is sent as it was read; only a client that is behind reads the spool.
		 */
		if (sub->sent == at)
			send_output(sub, at, bytes);
		else
			pump(e, sub);
	}
}

static bool job_note(struct th_tool_job *job, struct th_str json)
{
	struct th_exec_effect *e = (struct th_exec_effect *)job->ctx;
	struct th_err err;

	if (!e->entry)
		return true;
	/* Durable before anything is changed: so no note proves that nothing was. */
	TH_CLEANUP(th_buf_deinit) struct th_buf note = TH_BUF_INIT(TH_JOURNAL_RECORD_MAX);
	if (e->x->mask) {
		th_buf_add(&note, json);
		(void)th_mask_apply_buf(e->x->mask, &note);
		json = th_buf_str(&note);
	}
	enum th_code code = th_ledger_note(e->x->ledger, e->entry, json, &err);
	if (code == TH_OK)
		code = th_ledger_sync(e->x->ledger, &err);
	if (code == TH_EIO)
		th_exec_fatal(e->x, &err);
	return code == TH_OK;
}

/* The evidence of a command whose output is longer than what the model is shown names the whole. */
static void with_full_output(struct th_exec_effect *e, struct th_str evidence, struct th_buf *out)
{
	struct th_buf bytes = TH_BUF_INIT(TH_TOOL_OUTPUT_MAX);
	char hex[TH_SHA256_HEX_SIZE + 1];
	uint64_t at;

	(void)!th_spool_read(&e->spool, 0, TH_TOOL_OUTPUT_MAX, &bytes, &at, NULL);
	if (e->spool.kept > TH_TOOL_OUTPUT_MAX)
		(void)!th_spool_read(&e->spool, e->spool.kept - TH_SPOOL_TAIL, TH_SPOOL_TAIL,
				     &bytes, &at, NULL);
	struct th_digest digest = th_sha256_of(bytes.ptr, bytes.len);
	th_digest_hex(&digest, hex);
	th_buf_add(out, th_str_sub(evidence, 0, evidence.len - 1));
	th_buf_printf(
	    out, "%s\"full_output\":{\"blob\":\"%s\",\"media_type\":\"text/plain\",\"size\":%zu}}",
	    evidence.len > 2 ? "," : "", hex, bytes.len);
	th_buf_deinit(&bytes);
}

static void job_picture(struct th_tool_job *job, struct th_str bytes, struct th_str hex,
			struct th_str media_type)
{
	struct th_exec_effect *e = (struct th_exec_effect *)job->ctx;

	assert(e->picture_count < TH_PICTURES_MAX);
	e->pictures[e->picture_count++] = th_picture_new(bytes, hex, media_type);
}

static void job_done(struct th_tool_job *job, enum th_outcome_status status, struct th_str output,
		     struct th_str evidence)
{
	struct th_exec_effect *e = (struct th_exec_effect *)job->ctx;
	TH_CLEANUP(th_buf_deinit) struct th_buf more = TH_BUF_INIT(TH_TOOL_OUTPUT_MAX);

	if (e->spool.kept > TH_TOOL_OUTPUT_MODEL_MAX && evidence.len >= 2) {
		with_full_output(e, evidence, &more);
		evidence = th_buf_str(&more);
	}
	effect_finish(e, status, output, evidence, NULL, 0);
}

static void call_step(void *ctx, int64_t done)
{
	struct th_exec_effect *e = (struct th_exec_effect *)ctx;
	struct th_err err;

	if (e->entry && th_ledger_step(e->x->ledger, e->entry, done, &err) == TH_EIO)
		th_exec_fatal(e->x, &err);
}

static void call_done(void *ctx, enum th_outcome_status status, struct th_str output,
		      struct th_str evidence, struct th_picture *const *pictures, size_t count)
{
	struct th_exec_effect *e = (struct th_exec_effect *)ctx;

	/* Looking may be done again, and a new desktop is as good to look at. */
	if (!e->entry && status == TH_OUTCOME_UNKNOWN && !e->repeated && !e->cancelled &&
	    !e->x->stopping) {
		e->repeated = true;
		th_display_run(e->x->display, &e->call);
		return;
	}
	if (!e->entry && status == TH_OUTCOME_UNKNOWN)
		status = TH_OUTCOME_FAILED;
	effect_finish(e, status, output, evidence, pictures, count);
}

/* It is done in the display process. */
static bool is_computers(const struct th_exec_effect *e)
{
	return !e->tool || e->tool->on_computer;
}

/* The arguments of such a tool as the display process takes them. */
static struct th_str browse_arguments(struct th_exec_effect *e)
{
	return th_arena_printf(&e->arena, "{\"actions\":[],\"browse\":%.*s}", TH_FMT(e->arguments));
}

static void effect_start(struct th_exec_effect *e)
{
	struct th_executor_server *x = e->x;

	e->started = true;
	e->started_ms = th_clock_ms();
	if (is_computers(e)) {
		e->call.arguments = e->tool ? browse_arguments(e) : e->arguments;
		e->call.on_step = call_step;
		e->call.on_done = call_done;
		e->call.ctx = e;
		th_display_run(x->display, &e->call);
		return;
	}
	e->job.env = &x->env;
	e->job.arena = &e->arena;
	e->job.effect_id = th_str_of(e->id);
	e->job.output = job_output;
	e->job.note = job_note;
	e->job.picture = job_picture;
	e->job.done = job_done;
	e->job.ctx = e;
	if (e->probe)
		e->tool->probe(&e->job);
	else
		e->tool->start(&e->job);
}

static void effect_cancel(struct th_exec_effect *e)
{
	if (e->finished || e->settling || e->cancelled)
		return;
	e->cancelled = true;
	th_exec_ask_cancelled(e);
	if (!e->started || e->probe)
		return; /* seen at the flush; and looking does no harm */
	if (is_computers(e))
		th_display_cancel(e->x->display, &e->call);
	else if (e->tool->cancel && e->job.state)
		e->tool->cancel(&e->job);
}

/* ---- requests ---- */

/* The stricter of what the caller says and what the tool is: hints never loosen. */
static enum th_class class_of(struct th_str name, const struct th_tool *tool,
			      struct th_str arguments)
{
	static const int strictness[TH_CLASS_COUNT] = {
		[TH_CLASS_L] = 0, [TH_CLASS_R] = 1, [TH_CLASS_K] = 2,
		[TH_CLASS_V] = 3, [TH_CLASS_W] = 4, [TH_CLASS_X] = 5,
	};
	int found = th_class_find(name);
	enum th_class said = found < 0 ? TH_CLASS_W : (enum th_class)found, own = said;

	if (tool)
		own = th_effect_only_looks(tool->looks, arguments) ? TH_CLASS_R : tool->class;
	return strictness[own] > strictness[said] ? own : said;
}

static const struct th_tool *tool_of(struct th_str name)
{
	return th_str_is(name, th_tool_mcp.name) ? &th_tool_mcp : th_tool_find(name);
}

/* Class R of a computer call only when none of its actions can change anything. */
static enum th_class computer_class(enum th_class said, const struct th_json *arguments)
{
	struct th_json_iter it = th_json_iter(th_json_get(arguments, "actions"));
	if (said != TH_CLASS_R && said != TH_CLASS_L)
		return said;
	while (th_json_next(&it)) {
		int kind = th_action_find(th_json_get_str(it.val, "type"));
		if (kind < 0 || th_action_class((enum th_action_kind)kind) != 'R')
			return TH_CLASS_W;
	}
	return TH_CLASS_R;
}

static struct th_exec_effect *effect_new(struct th_executor_server *x, const struct th_exec_run *m)
{
	struct th_exec_effect *e = (struct th_exec_effect *)th_alloc(sizeof(*e));

	e->x = x;
	memcpy(e->id, m->effect_id.ptr, m->effect_id.len);
	th_arena_init(&e->arena, 2 * TH_FRAME_JSON_MAX);
	th_buf_init(&e->output, TH_EXEC_OUTPUT_MAX);
	th_buf_init(&e->evidence, TH_EXEC_EVIDENCE_MAX);
	th_spool_init(&e->spool);
	e->job.timeout_ms = e->call.timeout_ms = m->timeout_ms;
	e->next = x->effects;
	x->effects = e;
	x->running++;
	return e;
}

/* Tool, arguments and class.  Not TH_OK: what is wrong, for the model. */
static enum th_code effect_parse(struct th_exec_effect *e, const struct th_exec_run *m,
				 struct th_err *err)
{
	const struct th_table *table = &th_exec_computer_table;
	bool computer = th_str_is(m->tool, "computer");

	e->tool = computer ? NULL : tool_of(m->tool);
	if (!computer && !e->tool)
		return th_fail(err, TH_EUSAGE, "there is no tool '%.*s'",
			       TH_FMT(th_str_sub(m->tool, 0, 64)));
	if ((computer || e->tool->on_computer) && !e->x->display)
		return th_fail(err, TH_EUNSUPPORTED, "this session has no computer");
	if (e->tool)
		table = e->tool->arguments;
	e->arguments = th_arena_str(&e->arena, m->arguments);
	enum th_code code = th_json_parse(e->arguments, &e->doc, err);
	if (code)
		return th_prefix(err, code, "arguments of %.*s", TH_FMT(m->tool));
	void *args = th_arena_alloc(&e->arena, table->size);
	if (!args)
		return th_fail(err, TH_ELIMIT, "the arguments are too large");
	code = th_table_parse(table, th_json_root(e->doc), &e->arena, args, err);
	if (code)
		return th_prefix(err, code, "arguments of %.*s", TH_FMT(m->tool));
	e->job.args = args;
	e->class = class_of(m->class, e->tool, m->arguments);
	if (computer)
		e->class = computer_class(e->class, th_json_root(e->doc));
	return TH_OK;
}

static void pend(struct th_exec_effect *e)
{
	struct th_executor_server *x = e->x;
	*x->pending_last = e;
	x->pending_last = &e->next_pending;
	th_loop_defer(x->loop, &x->flush);
}

/* A new effect that nobody has begun. */
static void accept(struct th_exec_client *c, const struct th_exec_run *m)
{
	struct th_executor_server *x = c->x;
	struct th_err err = {};

	/* Beside them run what an agent file starts, the display and the reaper. */
	_Static_assert(TH_EXEC_RUNNING_MAX + TH_DESKTOP_START_MAX + 2 <= TH_CHILDREN_MAX,
		       "each effect may be a program");
	if (x->running >= TH_EXEC_RUNNING_MAX) {
		th_fail(&err, TH_ELIMIT,
			"%d effects of this session are under way, the maximum; try again when one "
			"of them has ended",
			TH_EXEC_RUNNING_MAX);
		th_exec_send_error(c, m->id, &err);
		return;
	}
	struct th_exec_effect *e = effect_new(x, m);
	if (effect_parse(e, m, &err)) {
		x->running--;
		effect_free(e);
		struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX);
		th_buf_printf(&text, TH_ERROR_MARK "%s", err.msg);
		send_plain(c, m->id, TH_OUTCOME_REFUSED, text.ptr);
		th_buf_deinit(&text);
		return;
	}
	if (e->class != TH_CLASS_R) {
		struct th_ledger_entry what = {
			.class = e->class,
			.epoch = m->epoch,
			.accepted_ms = (int64_t)th_clock_wall_ms(),
		};
		memcpy(what.id, e->id, sizeof(what.id));
		what.tool = th_arena_cstr(&e->arena, m->tool);
		what.digest = th_arena_cstr(&e->arena, m->digest);
		enum th_code code = th_ledger_accept(x->ledger, &what, &e->entry, &err);
		if (code) {
			x->running--;
			effect_free(e);
			if (code == TH_EIO)
				th_exec_fatal(x, &err);
			th_exec_send_error(c, m->id, &err);
			return;
		}
		x->dirty = true;
	}
	effect_sub(e, c, m->id, m->watch, 0);
	pend(e);
}

/* Of an earlier life, and nothing can decide: what is known of it. */
static void finish_unknown(struct th_exec_effect *e)
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
	effect_finish(e, TH_OUTCOME_UNKNOWN, th_buf_str(&output), th_buf_str(&evidence), NULL, 0);
}

/* Accepted in an earlier life, and cut off: decided by its class. */
static void settle_open(struct th_exec_client *c, const struct th_exec_run *m,
			struct th_ledger_entry *entry)
{
	struct th_err err = {};
	struct th_exec_effect *e = effect_new(c->x, m);

	e->entry = entry;
	e->class = entry->class;
	effect_sub(e, c, m->id, m->watch, (uint64_t)m->offset);
	bool again = entry->class == TH_CLASS_K;
	bool probe = entry->class == TH_CLASS_V;
	bool parsed = (again || probe) && effect_parse(e, m, &err) == TH_OK;
	e->class = entry->class;
	if (!parsed || (probe && !(e->tool && e->tool->probe))) {
		finish_unknown(e);
		return;
	}
	if (probe && e->tool->class == TH_CLASS_V && !entry->noted && !entry->gap) {
		effect_finish(e, TH_OUTCOME_NOT_STARTED,
			      TH_STR("\"This action was accepted, but it had not begun when the "
				     "executor ended: nothing was changed.\""),
			      TH_STR(""), NULL, 0);
		return;
	}
	e->probe = probe;
	e->job.noted = th_arena_str(&e->arena, th_str_of(entry->noted));
	pend(e);
}

static void join(struct th_exec_client *c, const struct th_exec_run *m,
		 struct th_ledger_entry *entry)
{
	struct th_executor_server *x = c->x;
	struct th_exec_effect *e = effect_find(x, m->effect_id);

	if (e) {
		effect_sub(e, c, m->id, m->watch, (uint64_t)m->offset);
		if (e->started)
			send_accepted(c, m->id);
		if (e->finished)
			effect_settle(e);
		else
			pump(e, e->subs);
		return;
	}
	switch (entry->state) {
	case TH_LEDGER_ACCEPTED:
		settle_open(c, m, entry);
		break;
	case TH_LEDGER_FINISHED: {
		struct th_picture_cache **kept = picture_cache_find(x, entry->id);
		send_finished(c, m->id, entry, NULL, *kept ? (*kept)->pictures : NULL,
			      *kept ? (*kept)->count : 0);
		break;
	}
	case TH_LEDGER_NEVER:
		send_plain(c, m->id, TH_OUTCOME_NOT_STARTED, "This action was not started.");
		break;
	case TH_LEDGER_FORGOTTEN:
		send_plain(c, m->id, TH_OUTCOME_UNKNOWN,
			   "The outcome of this action was taken over before and is no longer in "
			   "the executor's "
			   "journal.");
		break;
	case TH_LEDGER_STATE_COUNT:
		assert(false);
	}
}

/*
 * What is not in this journal was never accepted, if this is the journal that would have it: its
 * INTENT, or who sent it, names that.  A journal that was lost or damaged has another name.
 */
static bool is_ours(const struct th_executor_server *x, const struct th_exec_run *m)
{
	return th_str_is(m->journal, th_ledger_id(x->ledger));
}

/*
 * It was never begun, and this executor has lived since its INTENT: its runtime died before it was
 * sent.  Class W is not begun in a later life, whose screen and processes are others: an owner that
 * an earlier one knew may have recorded it then.
 */
static bool may_begin(const struct th_exec_client *c, const struct th_exec_run *m,
		      enum th_class class)
{
	const struct th_executor_server *x = c->x;
	bool there = m->epoch > x->epoch_before;

	return m->begin && is_ours(x, m) && c->epoch >= th_ledger_epoch(x->ledger) &&
	       (there || class == TH_CLASS_K || class == TH_CLASS_V);
}

static void join_absent(struct th_exec_client *c, const struct th_exec_run *m)
{
	struct th_executor_server *x = c->x;
	struct th_err err;

	if (!is_ours(x, m)) {
		send_plain(c, m->id, TH_OUTCOME_UNKNOWN, TH_UNKNOWN_SENTENCE);
		return;
	}
	enum th_code code = th_ledger_never(x->ledger, m->effect_id, &err);
	if (code == TH_OK)
		code = th_ledger_sync(x->ledger, &err);
	if (code == TH_EIO)
		th_exec_fatal(x, &err);
	if (code)
		th_exec_send_error(c, m->id, &err);
	else
		send_plain(c, m->id, TH_OUTCOME_NOT_STARTED, "This action was not started.");
}

void th_exec_on_run(struct th_exec_client *c, const struct th_exec_run *m, bool attach)
{
	struct th_executor_server *x = c->x;
	struct th_err err = {};
	enum th_class class = class_of(m->class, tool_of(m->tool), m->arguments);
	bool guest = c->epoch == 0 && m->epoch == 0;

	if (!th_exec_effect_id_ok(m->effect_id))
		th_fail(&err, TH_EUSAGE, "effect_id must be 1 to %d letters, digits, '-' and '_'",
			TH_EFFECT_ID_MAX);
	else if (th_class_find(m->class) == TH_CLASS_L)
		th_fail(&err, TH_EUSAGE, "class L is not the executor's");
	else if (!attach && !guest && m->epoch < th_ledger_epoch(x->ledger))
		th_fail(&err, TH_EFENCED, "a newer owner has the session (epoch %lld, not %lld)",
			(long long)th_ledger_epoch(x->ledger), (long long)m->epoch);
	else if (x->stopping)
		th_fail(&err, TH_ECONN, "the executor is ending");
	if (err.code) {
		th_exec_send_error(c, m->id, &err);
		return;
	}
	if (!guest)
		th_exec_ask_said(x, m);
	struct th_ledger_entry *entry = th_ledger_find(x->ledger, m->effect_id);
	if (entry && !attach && !m->again) {
		th_fail(&err, TH_EEXIST, "the effect %.*s was accepted before",
			TH_FMT(m->effect_id));
		th_exec_send_error(c, m->id, &err);
	} else if (entry) {
		join(c, m, entry);
	} else if (!attach && m->again && class != TH_CLASS_R && !is_ours(x, m)) {
		send_plain(c, m->id, TH_OUTCOME_UNKNOWN, TH_UNKNOWN_SENTENCE);
	} else if (!attach && m->journal.len > 0 && class != TH_CLASS_R && !is_ours(x, m)) {
		/* The one it was meant for may have heard of a newer owner, and told him that this
		 * was never begun. */
		th_fail(&err, TH_EFENCED,
			"the executor's journal is another one than this was recorded for");
		th_exec_send_error(c, m->id, &err);
	} else if (attach && class != TH_CLASS_R && !may_begin(c, m, class)) {
		join_absent(c, m);
	} else {
		accept(c, m);
	}
}

void th_exec_on_cancel(struct th_exec_client *c, int64_t id)
{
	for (struct th_exec_effect *e = c->x->effects; e; e = e->next)
		for (struct th_exec_sub *sub = e->subs; sub; sub = sub->next)
			if (sub->client == c && sub->id == id) {
				effect_cancel(e);
				return;
			}
}

void th_exec_on_forget(struct th_executor_server *x, struct th_strs ids)
{
	struct th_err err;
	enum th_code code = TH_OK;

	for (size_t i = 0; i < ids.count && code != TH_EIO; i++) {
		struct th_ledger_entry *entry = th_ledger_find(x->ledger, ids.list[i]);
		struct th_exec_effect *e = effect_find(x, ids.list[i]);
		if (!entry || entry->state == TH_LEDGER_ACCEPTED ||
		    entry->state == TH_LEDGER_FORGOTTEN)
			continue;
		if (e) /* somebody is still being told */
			e->entry = NULL;
		struct th_picture_cache **kept = picture_cache_find(x, entry->id);
		if (*kept)
			picture_cache_free(x, kept);
		unlinkat(x->spool_fd, entry->id, 0);
		code = th_ledger_forget(x->ledger, entry, &err);
	}
	if (code != TH_EIO)
		code = th_ledger_tidy(x->ledger, false, &err);
	if (code == TH_EIO)
		th_exec_fatal(x, &err);
}

void th_exec_client_gone(struct th_exec_client *c)
{
	struct th_exec_effect *e = c->x->effects, *next;

	th_exec_ask_client_gone(c);
	for (; e; e = next) {
		next = e->next;
		for (struct th_exec_sub *sub = e->subs, *after; sub; sub = after) {
			after = sub->next;
			if (sub->client == c)
				sub_remove(e, sub);
		}
	}
}

/* Effects that finished and wait for nobody any more. */
static void sweep(struct th_executor_server *x)
{
	struct th_exec_effect *e = x->effects, *next;
	for (; e; e = next) {
		next = e->next;
		if (e->finished && !e->subs)
			effect_free(e);
	}
}

void th_exec_client_drained(struct th_exec_client *c)
{
	struct th_executor_server *x = c->x;
	struct th_exec_effect *e = x->effects, *next;

	c->blocked = false;
	for (; e; e = next) {
		next = e->next;
		for (struct th_exec_sub *sub = e->subs; sub; sub = sub->next) {
			if (sub->client != c || c->blocked)
				continue;
			if (e->finished) {
				effect_settle(e); /* may free it: on with the next effect */
				break;
			}
			pump(e, sub);
		}
	}
}

/* Not begun here, since it was cancelled or we are ending.  One of an earlier life may have
 * happened then, whatever we do: a later life, or nobody, can tell. */
static void leave_off(struct th_exec_effect *e)
{
	struct th_executor_server *x = e->x;
	struct th_err err;

	if (!e->entry || e->entry->this_life) {
		effect_finish(e, TH_OUTCOME_NOT_STARTED,
			      TH_STR("\"cancelled before it was begun\""), TH_STR(""), NULL, 0);
		return;
	}
	if (!x->stopping) {
		finish_unknown(e);
		return;
	}
	th_fail(&err, TH_ECONN, "the executor is ending");
	for (struct th_exec_sub *sub = e->subs; sub; sub = sub->next)
		th_exec_send_error(sub->client, sub->id, &err);
	x->running--;
	effect_free(e);
	th_exec_idle(x);
}

void th_exec_flush(void *ctx)
{
	struct th_executor_server *x = (struct th_executor_server *)ctx;
	struct th_exec_effect *e = x->pending, *next;
	struct th_err err;

	x->pending = NULL;
	x->pending_last = &x->pending;
	if (x->dirty && th_ledger_sync(x->ledger, &err))
		th_exec_fatal(x, &err);
	x->dirty = false;
	for (; e; e = next) {
		next = e->next_pending;
		if (x->stopping || (e->cancelled && !e->probe)) {
			leave_off(e);
			continue;
		}
		if (e->entry)
			for (struct th_exec_sub *sub = e->subs; sub; sub = sub->next)
				send_accepted(sub->client, sub->id);
		effect_start(e);
	}
	sweep(x);
}

void th_exec_cancel_all(struct th_executor_server *x)
{
	/* A cancel may finish an effect at once, which changes the list. */
	for (struct th_exec_effect *e = x->effects; e;) {
		if (e->finished || e->settling || e->cancelled) {
			e = e->next;
			continue;
		}
		effect_cancel(e);
		e = x->effects;
	}
}

void th_exec_effects_free(struct th_executor_server *x)
{
	while (x->effects)
		effect_free(x->effects);
	while (x->picture_cache)
		picture_cache_free(x, &x->picture_cache);
}
