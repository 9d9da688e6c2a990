/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands_import.c - a conversation of OpenHands into a store.
 *
 * It is written as an exported session would be and goes through th_session_import: each
 * event is folded and chained as any other, and all are written in one transaction.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "admin/openhands.h"
#include "admin/openhands_read.h"
#include "admin/transfer_internal.h"
#include "forms/openhands_items.h"
#include "forms/openhands_write.h"
#include "forms/redact.h"
#include "io/clock.h"
#include "rules/rule.h"

struct making {
	const struct th_openhands_import *how;
	struct th_openhands_files files;
	struct th_openhands_view view;
	struct th_arena memory;
	struct th_str session_id, metadata;
	struct th_event *events;
	struct th_digest *digests;
	size_t count, cap;
	int64_t ts_ms; /* of the last event that said one */
	/* The lines, as th_session_import asks for them. */
	size_t line;
	struct th_buf text;
};

static enum th_code too_large(struct th_err *err)
{
	return th_fail(err, TH_ELIMIT, "the conversation takes more than %zu bytes",
		       (size_t)TH_EXPORT_SIZE_MAX);
}

/* ---- events ---- */

static enum th_code push(struct making *m, enum th_event_kind kind, enum th_source source,
			 const struct th_buf *data, struct th_err *err)
{
	struct th_event *ev;
	enum th_code code = th_buf_check(data, "an event", err);

	if (code)
		return code;
	if (m->count == TH_EXPORT_EVENTS_MAX)
		return th_fail(err, TH_ELIMIT, "a session that is imported has at most %d events",
			       TH_EXPORT_EVENTS_MAX);
	if (m->count == m->cap) {
		m->cap = TH_MAX(2 * m->cap, (size_t)64);
		m->events = th_realloc(m->events, m->cap * sizeof(*m->events));
		m->digests = th_realloc(m->digests, m->cap * sizeof(*m->digests));
	}
	ev = &m->events[m->count];
	*ev = (struct th_event){
		.seq = m->count + 1,
		.ts_ms = m->ts_ms,
		.id = th_uuid_now(),
		.source = source,
		.kind = kind,
		.call = TH_STR(""),
		.data = th_arena_str(&m->memory, th_buf_str(data)),
		.build = TH_STR(TH_VERSION),
	};
	if (!ev->data.ptr)
		return too_large(err);
	m->digests[m->count] = th_event_digest(
	    m->count ? &m->digests[m->count - 1] : &(struct th_digest){ 0 }, m->session_id, ev);
	m->count++;
	return TH_OK;
}

/* "2025-01-01T00:00:00.123456", taken as UTC; otherwise the time before. */
static void read_time(struct making *m, struct th_str text)
{
	int64_t days = text.len >= 19 ? th_date_days(th_str_sub(text, 0, 10)) : -1;
	int64_t hour, minute, second, milli = 0;

	if (days < 0 || !th_str_i64(th_str_sub(text, 11, 2), &hour) ||
	    !th_str_i64(th_str_sub(text, 14, 2), &minute) ||
	    !th_str_i64(th_str_sub(text, 17, 2), &second) || hour < 0 || hour > 23 || minute < 0 ||
	    minute > 59 || second < 0 || second > 60)
		return;
	if (text.len >= 23 && text.ptr[19] == '.' && !th_str_i64(th_str_sub(text, 20, 3), &milli))
		milli = 0;
	m->ts_ms = ((days * 24 + hour) * 60 + minute) * 60000 + second * 1000 + milli;
}

/* On one line, as the log's file has it. */
static struct th_str one_line(struct making *m, struct th_str json, const struct th_json *v)
{
	return th_str_find_char(json, '\n') < 0 && th_str_find_char(json, '\r') < 0
		   ? json
		   : th_json_text(v, &m->memory);
}

static enum th_code add_items(struct making *m, struct th_str items, struct th_str verbatim,
			      bool view, enum th_source source, struct th_err *err)
{
	struct th_buf data TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&data);

	th_jw_object(&w);
	th_jw_kraw(&w, "items", items);
	if (verbatim.len || view) {
		th_jw_name(&w, TH_STR("origin"));
		th_jw_object(&w);
		th_jw_kstr(&w, "form",
			   m->files.log.version == TH_OPENHANDS_V0 ? TH_STR(TH_FORM_OPENHANDS_V0)
								   : TH_STR(TH_FORM_OPENHANDS_V1));
		if (verbatim.len)
			th_jw_kraw(&w, "event", verbatim);
		if (view)
			th_jw_kbool(&w, "view", true);
		th_jw_object_end(&w);
	}
	th_jw_object_end(&w);
	return push(m, TH_EV_ITEMS_ADDED, source, &data, err);
}

/* All that was goes from what the model sees, and what stands for it comes. */
static enum th_code add_anew(struct making *m, struct th_str items, struct th_str verbatim,
			     enum th_source source, struct th_err *err)
{
	struct th_buf data TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	enum th_code code;

	th_buf_add_cstr(&data, "{\"count\":0}");
	code = add_items(m, TH_STR("[]"), verbatim, false, source, err);
	code = code ?: push(m, TH_EV_ITEMS_REMOVED, TH_SOURCE_ENVIRONMENT, &data, err);
	return code
		   ?: add_items(m, items, (struct th_str){ NULL, 0 }, true, TH_SOURCE_ENVIRONMENT,
				err);
}

static enum th_source source_of(const struct th_json *event)
{
	int source = th_source_find(th_json_get_str(event, "source"));

	return source < 0 || source == TH_SOURCE_OPERATOR ? TH_SOURCE_ENVIRONMENT
							  : (enum th_source)source;
}

static enum th_code add_event(struct making *m, size_t i, struct th_openhands_report *ret,
			      struct th_err *err)
{
	const struct th_openhands_entry *e = &m->files.log.list[i];
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *event;
	struct th_err refused = {};
	struct th_str items, verbatim;
	bool anew;
	enum th_code code = th_json_parse(e->text, &doc, err);

	if (code)
		return code;
	event = th_json_root(doc);
	if (th_openhands_check(m->files.log.version, event, &refused))
		ret->kept++;
	read_time(m, th_json_get_str(event, "timestamp"));
	verbatim = one_line(m, e->text, event);
	code = th_openhands_view_add(&m->view, e->number, event, &items, &anew, err);
	if (!code)
		code = anew ? add_anew(m, items, verbatim, source_of(event), err)
			    : add_items(m, items, verbatim, false, source_of(event), err);
	if (i + 1 == m->files.log.count && m->files.log.version == TH_OPENHANDS_V0)
		ret->steps = th_openhands_v0_steps(event, TH_STR("running"), false);
	return th_prefix(err, code, "event %zu", i);
}

/* ---- the session ---- */

/* What the state says, without keys; and where the conversation came from. */
static void make_metadata(struct making *m)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_jw w = th_jw(&text);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR("openhands"));
	th_jw_object(&w);
	th_jw_kstr(&w, "generation",
		   m->files.log.version == TH_OPENHANDS_V0 ? TH_STR("V0") : TH_STR("V1"));
	th_jw_kstr(&w, "conversation", m->files.name);
	if (m->files.state.len && !th_json_parse(m->files.state, &doc, NULL)) {
		th_jw_name(&w, TH_STR("state"));
		th_redact(th_json_root(doc), &w);
	}
	th_jw_object_end(&w);
	th_jw_object_end(&w);
	m->metadata = th_arena_str(&m->memory, th_buf_str(&text));
}

/* Without what stands before the model's own name. */
static struct th_str model_of(struct making *m)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *state;
	struct th_str name, rest;

	if (m->how->model.len)
		return m->how->model;
	if (!m->files.state.len || th_json_parse(m->files.state, &doc, NULL))
		return TH_STR("");
	state = th_json_root(doc);
	name = th_json_get_str(th_json_get(th_json_get(state, "agent"), "llm"), "model");
	if (!name.len)
		name = th_json_get_str(state, "llm_model");
	rest = name;
	while (rest.len)
		name = th_str_split(&rest, '/');
	return th_arena_str(&m->memory, name);
}

static enum th_code create(struct making *m, struct th_err *err)
{
	struct th_buf data TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_ev_session_created d = {
		.agent = m->how->agent,
		.model = model_of(m),
		.workspace = m->how->workspace,
		.metadata = m->metadata,
	};
	struct th_jw w = th_jw(&data);

	if (!d.model.len)
		return th_fail(err, TH_EUSAGE,
			       "the conversation names no model: say which one goes on with it");
	th_table_print(&th_ev_session_created_table, &d, &w);
	return push(m, TH_EV_SESSION_CREATED, TH_SOURCE_OPERATOR, &data, err);
}

static enum th_code make(struct making *m, struct th_openhands_report *ret, struct th_err *err)
{
	struct th_str items;
	enum th_code code;

	make_metadata(m);
	code = create(m, err);
	for (size_t i = 0; !code && i < m->files.log.count; i++)
		code = add_event(m, i, ret, err);
	ret->open = m->view.open_count;
	if (!code && ret->open)
		code = th_openhands_view_close(&m->view, &items, err)
			   ?: add_items(m, items, (struct th_str){ NULL, 0 }, false,
					TH_SOURCE_ENVIRONMENT, err);
	return code;
}

/* ---- its lines ---- */

static void put_head(struct making *m)
{
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_exported_session head = {
		.version = 1,
		.session = m->session_id,
		.epoch = 1,
		.created_ms = m->events[0].ts_ms,
		.metadata = m->metadata,
		.head_seq = (int64_t)m->count,
		.head = { hex, TH_SHA256_HEX_SIZE },
	};
	struct th_jw w = th_jw(&m->text);

	th_digest_hex(&m->digests[m->count - 1], hex);
	th_table_print(&th_exported_session_table, &head, &w);
}

static int next_line(void *ctx, struct th_str *ret, struct th_err *err)
{
	struct making *m = ctx;
	enum th_code code;

	if (m->line > m->count + 1)
		return 0;
	th_buf_clear(&m->text);
	if (m->line == 0)
		put_head(m);
	else if (m->line <= m->count)
		th_export_print_event(m->session_id, &m->events[m->line - 1],
				      &m->digests[m->line - 1], &m->text);
	else
		th_buf_add_cstr(&m->text, "{\"end\":1}");
	m->line++;
	code = th_buf_check(&m->text, "a line", err);
	*ret = th_buf_str(&m->text);
	return code ? (int)code : 1;
}

/* Only signs that a command line takes as they are. */
static struct th_str make_name(struct making *m)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SESSION_ID_MAX);

	if (m->how->session_id.len)
		return m->how->session_id;
	th_buf_add_cstr(&name, "openhands-");
	for (size_t i = 0; i < m->files.name.len && i < 64; i++) {
		char c = m->files.name.ptr[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '.' || c == '_';

		th_buf_add_char(&name, plain ? c : '-');
	}
	return th_arena_str(&m->memory, th_buf_str(&name));
}

enum th_code th_openhands_import(struct th_store *store, const char *path,
				 const struct th_openhands_import *how, struct th_arena *a,
				 struct th_openhands_report *ret, struct th_err *err)
{
	struct making m = { .how = how, .ts_ms = (int64_t)th_clock_wall_ms() };
	enum th_code code = th_openhands_read(path, &m.files, err);

	*ret = (struct th_openhands_report){ 0 };
	th_arena_init(&m.memory, 2 * TH_EXPORT_SIZE_MAX);
	th_buf_init(&m.text, TH_JSON_SIZE_MAX);
	th_openhands_view_init(&m.view, m.files.log.version);
	if (!code) {
		m.session_id = make_name(&m);
		code = th_prefix(err, make(&m, ret, err), "%s", path);
	}
	if (!code)
		code = th_session_import(store, store, next_line, &m, a, &ret->session_id, err);
	ret->events = m.files.log.count;
	ret->torn = m.files.torn;
	ret->mended = m.files.mended;
	ret->generation = m.files.log.version == TH_OPENHANDS_V0 ? "V0" : "V1";
	th_openhands_view_deinit(&m.view);
	th_openhands_files_deinit(&m.files);
	th_arena_deinit(&m.memory);
	th_buf_deinit(&m.text);
	free(m.events);
	free(m.digests);
	return code;
}

bool th_openhands_looks_like(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char first[64] = "";
	struct stat st;
	static const char *const names[] = { "\"id\"",        "\"kind\"",   "\"source\"",
					     "\"timestamp\"", "\"events\"", "\"trajectory\"",
					     "\"history\"" };
	bool like = fd >= 0 && fstat(fd, &st) == 0;

	if (like && !S_ISDIR(st.st_mode)) {
		ssize_t got = S_ISREG(st.st_mode) ? pread(fd, first, sizeof(first) - 1, 0) : -1;
		struct th_str head = th_str_trim(th_str_n(first, got > 0 ? (size_t)got : 0));

		like = th_str_starts(head, TH_STR("["));
		/* An event, or what holds them, says so at once; a session of ours does not. */
		for (size_t i = 0; th_str_starts(head, TH_STR("{")) && i < TH_COUNT(names); i++)
			like |= th_str_find(head, th_str_of(names[i])) >= 0;
	}
	if (fd >= 0)
		(void)close(fd);
	return like;
}
