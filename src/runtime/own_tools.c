/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_tools.c - tools of the runtime itself: `history` finds again what the model
 * no longer sees, `notes` keeps what it wants to see for good.
 *
 * history reads the store beside the loop (stores/reader.h).  notes does nothing
 * here: the fold keeps what the call says (core/restated.h), in the transaction of its
 * outcome.
 */
#include "runtime/own_tools.h"

#include <stdlib.h>

#include "base/text.h"
#include "core/restated.h"
#include "runtime/internal.h"
#include "store/search.h"
#include "tools/clip.h"

/* ---- history ------------------------------------------------------------------------------- */

#define TH_FIELDS_history(F)                                                            \
	F(history, str, query, "query", TH_NONEMPTY,                                    \
	  "Words to look for; all of them must be there.")                              \
	F(history, int, event, "event", TH_POSITIVE, "Read this event whole, instead.") \
	F(history, int, offset, "offset", TH_NONEG, "event: the byte to begin with.")
TH_STRUCT(history)
TH_TABLE(history, "arguments of history", false)

struct search {
	struct th_read job; /* first: it is where the search is */
	struct th_runtime *rt;
	struct th_ticket ticket;
	const char *session_id; /* in `memory` */
	struct th_arena memory;
	struct th_history a;
	struct th_buf text;
	size_t hits;
	struct th_digest whole; /* a blob, */
	bool is_whole;          /* where there is one */
};

static void search_free(struct search *s)
{
	th_arena_deinit(&s->memory);
	th_buf_deinit(&s->text);
	free(s);
}

/* Some words before the first that was looked for, and some behind it. */
static struct th_str excerpt(struct th_str text, struct th_str words)
{
	ptrdiff_t at = th_search_find(text, words);
	size_t from = at > TH_HISTORY_EXCERPT / 3 ? (size_t)at - TH_HISTORY_EXCERPT / 3 : 0;

	while (from < text.len && from > 0 && ((unsigned char)text.ptr[from] & 0xc0) == 0x80)
		from++;
	return th_utf8_cut(th_str_sub(text, from, text.len - from), TH_HISTORY_EXCERPT);
}

static enum th_code put_hit(void *ctx, uint64_t seq, struct th_str label, struct th_str text,
			    struct th_err *err)
{
	struct search *s = ctx;
	size_t from = TH_MIN((size_t)s->a.offset, text.len);
	struct th_str part = th_str_sub(text, from, text.len - from);

	s->hits++;
	if (!s->a.event) {
		th_buf_printf(&s->text, "\n[event %llu, %.*s] ", (unsigned long long)seq,
			      TH_FMT(label));
		th_text_line(&s->text, excerpt(text, s->a.query), TH_HISTORY_EXCERPT);
		return th_buf_check(&s->text, "what was found", err);
	}
	while (from > 0 && part.len && ((unsigned char)part.ptr[0] & 0xc0) == 0x80)
		part = th_str_sub(part, 1, part.len - 1);
	part = th_utf8_cut(part, TH_HISTORY_READ_MAX);
	th_buf_printf(&s->text, "[event %llu, %.*s, bytes %zu to %zu of %zu]\n%.*s",
		      (unsigned long long)seq, TH_FMT(label), (size_t)(part.ptr - text.ptr),
		      (size_t)(part.ptr - text.ptr) + part.len, text.len, TH_FMT(part));
	return th_buf_check(&s->text, "what was found", err);
}

/* A result that is longer than its event: the blob has all of it. */
static enum th_code take_whole(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct search *s = ctx;
	struct th_json_doc *doc = NULL;
	const struct th_json *full;
	enum th_code code;

	(void)digest;
	if (ev->kind != TH_EV_OUTCOME)
		return TH_OK;
	code = th_json_parse(ev->data, &doc, err);
	full = th_json_get(th_json_get(th_json_root(doc), "evidence"), "full_output");
	s->is_whole = !code && th_digest_parse(th_json_get_str(full, "blob"), &s->whole);
	th_json_free(doc);
	return code;
}

static enum th_code read_whole(struct search *s, struct th_store *store, struct th_err *err)
{
	struct th_buf bytes = TH_BUF_INIT(TH_BLOB_MAX), text = TH_BUF_INIT(4 * TH_TOOL_OUTPUT_MAX);
	enum th_code code = store->kind->blob(store, &s->whole, &bytes, err);

	if (!code) {
		th_clip_clean(&text, th_buf_str(&bytes));
		code = th_buf_check(&text, "the whole result", err);
	}
	if (!code)
		code = put_hit(s, (uint64_t)s->a.event, TH_STR("the whole result"),
			       th_buf_str(&text), err);
	th_buf_deinit(&bytes);
	th_buf_deinit(&text);
	return code;
}

static enum th_code run(struct th_read *job, struct th_store *store, struct th_err *err)
{
	struct search *s = (struct search *)(void *)job;
	uint64_t event = (uint64_t)s->a.event;
	const struct th_text_query query = { .words = s->a.query,
					     .event = (uint64_t)s->a.event,
					     .limit = TH_SEARCH_HITS_MAX };

	enum th_code code = TH_OK;

	if (event)
		code = store->kind->read(store, th_str_of(s->session_id), event, event, take_whole,
					 s, err);
	if (!code && s->is_whole)
		return read_whole(s, store, err);
	return code ?: th_store_search(store, th_str_of(s->session_id), &query, put_hit, s, err);
}

static void answer(struct th_driver *d, struct th_ticket ticket, enum th_outcome_status status,
		   struct th_str text)
{
	struct th_buf output = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&output);
	struct th_effect_result result = { .status = status };

	th_jw_str(&w, text);
	result.output = th_buf_str(&output);
	th_driver_tool_done(d, ticket, &result);
	th_buf_deinit(&output);
}

static void fail(struct th_driver *d, struct th_ticket ticket, const struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(TH_KIB);

	th_buf_printf(&text, TH_ERROR_MARK "%s", err->msg);
	answer(d, ticket, TH_OUTCOME_FAILED, th_buf_str(&text));
	th_buf_deinit(&text);
}

static void drop(struct th_read *job)
{
	search_free((struct search *)(void *)job);
}

static void done(struct th_read *job, enum th_code code, const struct th_err *err)
{
	struct search *s = (struct search *)(void *)job;
	struct th_buf text = TH_BUF_INIT(2 * TH_HISTORY_READ_MAX);

	(void)code;
	if (err) {
		fail(s->rt->driver, s->ticket, err);
	} else {
		if (!s->hits)
			th_buf_add_cstr(&text, s->a.event ? "There is no such event, or it says "
							    "nothing."
							  : "No event has all of these words.");
		else if (!s->a.event)
			th_buf_printf(&text,
				      "%zu event%s, newest first. Read one whole with event.",
				      s->hits, s->hits == 1 ? "" : "s");
		th_buf_add(&text, th_buf_str(&s->text));
		answer(s->rt->driver, s->ticket, TH_OUTCOME_DONE, th_buf_str(&text));
	}
	th_buf_deinit(&text);
	search_free(s);
}

static enum th_code read_arguments(struct search *s, struct th_str arguments, struct th_err *err)
{
	struct th_json_doc *doc = NULL;
	enum th_code code = th_json_parse(arguments, &doc, err);

	if (!code)
		code = th_table_parse(&th_history_table, th_json_root(doc), &s->memory, &s->a, err);
	/* Its strings are the document's. */
	if (!code) {
		s->a.query = th_arena_str(&s->memory, s->a.query);
		if (!s->a.query.len == !s->a.event)
			code = th_fail(err, TH_EUSAGE, "give either query or event");
	}
	th_json_free(doc);
	return code;
}

static void history(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct search *s = th_alloc(sizeof(*s));
	struct th_err err = { 0 };
	enum th_code code;

	s->job = (struct th_read){ .run = run, .done = done, .drop = drop };
	s->rt = ctx;
	s->ticket = call->ticket;
	th_arena_init(&s->memory, TH_MIB);
	s->session_id = th_arena_cstr(&s->memory, call->session_id);
	th_buf_init(&s->text, 2 * TH_HISTORY_READ_MAX);
	code = s->session_id ? read_arguments(s, call->arguments, &err)
			     : th_fail(&err, TH_EUSAGE, "the session has no name");
	if (!code)
		code = th_reader_ask(s->rt->long_reader, &s->job, &err);
	if (code) {
		search_free(s);
		fail(d, call->ticket, &err);
	}
}

/* ---- notes --------------------------------------------------------------------------------- */

static void notes(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct th_err err = { 0 };

	(void)ctx;
	if (th_restated_check(call->arguments, &err))
		fail(d, call->ticket, &err);
	else
		answer(d, call->ticket, TH_OUTCOME_DONE,
		       TH_STR("The notes are kept. They are shown again whenever the conversation "
			      "is condensed."));
}

/* ---- */

void th_own_tools(struct th_runtime *rt, struct th_arena *memory,
		  struct th_tool_row ret[static TH_OWN_TOOLS])
{
	static const struct {
		const char *name, *description;
		const struct th_table *arguments;
		th_local_fn *run;
		enum th_class class;
	} tools[TH_OWN_TOOLS] = {
		{ "history",
		  "Search the whole conversation, also what was left out of it, or read one event "
		  "of it whole.",
		  &th_history_table, history, TH_CLASS_R },
		{ TH_RESTATED_NOTES,
		  "Keep notes that are not lost when the conversation is condensed. The text "
		  "replaces the notes of before.",
		  &th_restated_notes_table, notes, TH_CLASS_L },
	};

	for (size_t i = 0; i < TH_OWN_TOOLS; i++) {
		struct th_buf schema = TH_BUF_INIT(16 * TH_KIB);
		struct th_jw w = th_jw(&schema);

		th_table_schema(tools[i].arguments, &w);
		ret[i] = (struct th_tool_row){
			.spec = { .name = th_str_of(tools[i].name),
				  .description = th_str_of(tools[i].description),
				  .schema = th_arena_str(memory, th_buf_str(&schema)),
				  .class = tools[i].class,
				  .scope = { TH_TARGET_OTHER, TH_SHOWS_ONE } },
			.local = tools[i].run,
			.ctx = rt,
			.check = true,
		};
		th_buf_deinit(&schema);
	}
}
