/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions out of one store and into another: what belongs to one, and the limits of a file. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "admin/edit.h"
#include "admin/transfer.h"
#include "admin/verify.h"
#include "base/text.h"
#include "core/session.h"
#include "runtime/runtime.h"
#include "stores/stores.h"

static struct th_err err;

static void ok(enum th_code code)
{
	if (code)
		fail_msg("%s: %s", th_code_name(code), err.msg);
}

static void refused(enum th_code code, enum th_code wanted, const char *says)
{
	if (code != wanted || !strstr(err.msg, says))
		fail_msg("%s: %s", th_code_name(code), err.msg);
}

static struct th_store *store_new(void)
{
	struct th_store_options options = { .create = true };
	struct th_store *store = NULL;

	ok(th_store_open(TH_STR("memory:"), &options, &store, &err));
	return store;
}

/* ---- logs ---- */

struct log {
	struct th_session_row row;
	struct th_digest first;
	struct th_event *events;
	struct th_digest *digests;
	size_t count, cap;
};

static void add(struct log *l, enum th_event_kind kind, uint64_t cause, const char *data)
{
	const struct th_digest *last = l->count ? &l->digests[l->count - 1] : &l->first;

	if (l->count == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 16;
		l->events = th_realloc(l->events, l->cap * sizeof(*l->events));
		l->digests = th_realloc(l->digests, l->cap * sizeof(*l->digests));
		last = l->count ? &l->digests[l->count - 1] : &l->first;
	}
	l->events[l->count] = (struct th_event){
		.seq = l->row.parent_seq + l->count + 1,
		.ts_ms = 1,
		.source = TH_SOURCE_AGENT,
		.kind = kind,
		.cause = cause,
		.call = cause >= 4 && cause <= 6 ? TH_STR("l1") : TH_STR(""),
		.data = th_str_of(data),
		.build = TH_STR("test"),
	};
	l->digests[l->count] = th_event_digest(last, l->row.session_id, &l->events[l->count]);
	l->count++;
}

#define CREATED "{\"agent\":{\"name\":\"a\"},\"model\":\"m\"}"

static struct log log_new(const char *id)
{
	struct log l = { .row = { .session_id = th_str_of(id),
				  .state = TH_STR("idle"),
				  .agent = TH_STR("a"),
				  .model = TH_STR("m"),
				  .epoch = 1,
				  .metadata = TH_STR("{}") } };

	return l;
}

static void write_log(struct th_store *store, struct log *l)
{
	struct th_append a = { .create = true,
			       .row = &l->row,
			       .seq_before = l->row.parent_seq,
			       .head_before = l->first,
			       .events = l->events,
			       .digests = l->digests,
			       .event_count = l->count };
	struct th_batch batch = { .appends = &a, .append_count = 1 };

	l->row.head_seq = l->row.parent_seq + l->count;
	l->row.head = l->digests[l->count - 1];
	ok(store->kind->commit_now(store, &batch, &err));
	assert_int_equal(a.result, TH_OK);
	free(l->events);
	free(l->digests);
}

static void write_idle(struct th_store *store, const char *id, const char *metadata)
{
	struct log l = log_new(id);

	l.row.metadata = th_str_of(metadata);
	add(&l, TH_EV_SESSION_CREATED, 0, CREATED);
	write_log(store, &l);
}

/* ---- files ---- */

static enum th_code add_line(void *ctx, struct th_str line, struct th_err *e)
{
	(void)e;
	th_buf_add(ctx, line);
	th_buf_add_char(ctx, '\n');
	return TH_OK;
}

static enum th_code count_line(void *ctx, struct th_str line, struct th_err *e)
{
	(void)line;
	(void)e;
	++*(size_t *)ctx;
	return TH_OK;
}

static int next_line(void *ctx, struct th_str *ret, struct th_err *e)
{
	struct th_str *rest = ctx;

	(void)e;
	if (!rest->len)
		return 0;
	*ret = th_str_split(rest, '\n');
	return 1;
}

static enum th_code import(struct th_store *store, struct th_str file)
{
	struct th_arena a;
	struct th_str id;
	enum th_code code;

	th_arena_init(&a, TH_MIB);
	code = th_session_import(store, store, next_line, &file, &a, &id, &err);
	th_arena_deinit(&a);
	return code;
}

static size_t count(struct th_str text, const char *what)
{
	size_t found = 0;

	for (const char *at = text.ptr; (at = strstr(at, what)); at++)
		found++;
	return found;
}

/* ---- tests ---- */

static struct th_str names(const struct th_buf *file, struct th_buf *out)
{
	struct th_str rest = th_buf_str(file);

	th_buf_clear(out);
	while (rest.len) {
		struct th_str line = th_str_split(&rest, '\n');
		struct th_str name = th_json_raw_get(line, "session");

		if (name.len) {
			th_buf_add(out, name);
			th_buf_add_char(out, ' ');
		}
	}
	return th_buf_str(out);
}

#define SHA "8d7e535a8cf7efa328ee369416adf518ea80abfb544a8b7e973835210b2f6698"

/* A call that an agent works on, under way; its log calls `child` who does. */
static void write_delegating(struct th_store *store, const char *id, const char *child)
{
	struct log l = log_new(id);
	char data[256];

	add(&l, TH_EV_SESSION_CREATED, 0,
	    "{\"agent\":{\"name\":\"lead\",\"model\":\"m\",\"tools\":[\"check\"],\"commands\":[{"
	    "\"name\":\"check\",\"description\":\"Checks\",\"agent\":\"checker\"}],\"agents\":{"
	    "\"checker\":{\"name\":\"checker\"}}},\"model\":\"m\"}");
	add(&l, TH_EV_MESSAGE, 0, "{\"role\":\"user\",\"content\":\"go\"}");
	add(&l, TH_EV_MODEL_REQUESTED, 2,
	    "{\"model\":\"m\",\"turn\":1,\"attempt\":1,\"agent\":\"lead\",\"items\":1}");
	add(&l, TH_EV_MODEL_ANSWERED, 3,
	    "{\"status\":\"completed\",\"items\":[{\"type\":\"function_call\",\"call_id\":\"l1\","
	    "\"name\":\"check\",\"arguments\":\"{\\\"input\\\":\\\"this\\\"}\"}]}");
	add(&l, TH_EV_CALL, 4,
	    "{\"call_id\":\"l1\",\"tool\":\"check\",\"arguments\":{\"input\":\"this\"},"
	    "\"class\":\"K\",\"digest\":\"" SHA "\",\"policy\":\"run\"}");
	add(&l, TH_EV_INTENT, 5,
	    "{\"call_id\":\"l1\",\"effect_id\":\"384c21a8876fc8f205eba632259a3f16\",\"epoch\":1,"
	    "\"class\":\"K\",\"tool\":\"check\",\"digest\":\"" SHA "\"}");
	snprintf(data, sizeof(data), "{\"child\":\"%s\",\"call_id\":\"l1\",\"agent\":\"checker\"}",
		 child);
	add(&l, TH_EV_DELEGATION_STARTED, 6, data);
	l.row.state = TH_STR("running");
	l.row.title = TH_STR("go");
	l.row.created_ms = 1;
	write_log(store, &l);
}

/* Whatever a log calls a child: only who is one, and each once. */
static void children_are_those_of_its_calls(void **state)
{
	struct th_store *store = store_new(), *there = store_new();
	struct th_buf file = TH_BUF_INIT(TH_MIB), list = TH_BUF_INIT(TH_KIB);

	(void)state;
	write_idle(store, "secret", "{}");
	write_delegating(store, "top", "secret");
	refused(th_session_export(store, TH_STR("top"), add_line, &file, &err), TH_ECORRUPT,
		"session top.6, which works for top, is not in the store");
	assert_int_equal(file.len, 0);
	write_idle(store, "top.6", "{\"delegated_by\":{\"session\":\"top\"}}");
	ok(th_session_export(store, TH_STR("top"), add_line, &file, &err));
	assert_string_equal(names(&file, &list).ptr, "\"top.6\" \"top\" ");
	ok(import(there, th_buf_str(&file)));
	th_store_close(there);
	/* One of that name that works for somebody else is not it. */
	there = store_new();
	write_delegating(there, "top", "top.6");
	write_idle(there, "top.6", "{\"delegated_by\":{\"session\":\"other\"}}");
	refused(th_session_export(there, TH_STR("top"), add_line, &file, &err), TH_ECORRUPT,
		"is not in the store");
	th_store_close(there);
	th_buf_deinit(&file);
	th_buf_deinit(&list);
	th_store_close(store);
}

static void fork_at(struct th_store *store, const char *from, uint64_t seq, const char *to)
{
	ok(th_edit_fork(store, store, th_str_of(from), seq, th_str_of(to), &err));
}

/* What it was forked from comes as far as it is shared, and is stopped there. */
static void a_fork_brings_a_prefix(void **state)
{
	struct th_store *store = store_new(), *there = store_new();
	struct th_buf file = TH_BUF_INIT(TH_MIB), again = TH_BUF_INIT(TH_MIB);
	struct th_verify_report report = { 0 };
	struct th_session_row row;
	struct th_arena a;

	(void)state;
	th_arena_init(&a, TH_MIB);
	write_idle(store, "top.6", "{\"delegated_by\":{\"session\":\"top\"}}");
	write_delegating(store, "top", "top.6");
	fork_at(store, "top", 4, "fork");
	fork_at(store, "fork", 3, "twice");
	ok(th_session_export(store, TH_STR("twice"), add_line, &file, &err));
	assert_null(strstr(file.ptr, "\"intent\""));
	assert_int_equal(count(th_buf_str(&file), "\"origin\":true"), 2);
	ok(import(there, th_buf_str(&file)));
	ok(there->kind->get(there, TH_STR("top"), &a, &row, &err));
	assert_true(th_str_is(row.state, "stopped"));
	assert_int_equal(row.head_seq, 5);
	ok(th_store_check(there, TH_STR(""), &report, &err));
	assert_false(report.bad);
	/* Another fork from the same place finds it, and what was given is given again. */
	ok(th_session_export(there, TH_STR("twice"), add_line, &again, &err));
	assert_int_equal(again.len, file.len);
	fork_at(store, "top", 4, "other");
	th_buf_clear(&file);
	ok(th_session_export(store, TH_STR("other"), add_line, &file, &err));
	ok(import(there, th_buf_str(&file)));
	/* Alone it is no session, and one that nobody needs does not get in. */
	*strstr(file.ptr, "\n{\"thole_session\":1,\"session\":\"other\"") = '\0';
	th_buf_clear(&again);
	th_buf_add_cstr(&again, file.ptr);
	th_buf_add_cstr(&again, "\n{\"end\":1}\n");
	th_store_close(there);
	there = store_new();
	refused(import(there, th_buf_str(&again)), TH_EPROTO, "the fork is missing");
	th_buf_clear(&file);
	ok(th_session_export(store, TH_STR("top.6"), add_line, &file, &err));
	*strstr(file.ptr, "{\"end\"") = '\0';
	th_buf_clear(&again);
	th_buf_add_cstr(&again, file.ptr);
	th_buf_clear(&file);
	ok(th_session_export(store, TH_STR("fork"), add_line, &file, &err));
	th_buf_add(&again, th_buf_str(&file));
	refused(import(there, th_buf_str(&again)), TH_EPROTO,
		"session top.6 does not belong to what follows it");
	assert_int_equal(there->kind->get(there, TH_STR("top"), &a, &row, &err), TH_ENOENT);
	th_arena_deinit(&a);
	th_buf_deinit(&file);
	th_buf_deinit(&again);
	th_store_close(store);
	th_store_close(there);
}

/* As many as may be are given; one more is not. */
static void events_of_a_file(void **state)
{
	struct th_store *store = store_new();
	struct log l = log_new("full"), more = log_new("more");
	size_t lines = 0;

	(void)state;
	add(&l, TH_EV_SESSION_CREATED, 0, CREATED);
	add(&more, TH_EV_SESSION_CREATED, 0, CREATED);
	while (l.count < TH_EXPORT_EVENTS_MAX)
		add(&l, TH_EV_STATE_CHANGED, 0,
		    l.count % 2 ? "{\"to\":\"paused\"}" : "{\"to\":\"running\"}");
	while (more.count <= TH_EXPORT_EVENTS_MAX)
		add(&more, TH_EV_STATE_CHANGED, 0,
		    more.count % 2 ? "{\"to\":\"paused\"}" : "{\"to\":\"running\"}");
	write_log(store, &l);
	write_log(store, &more);
	ok(th_session_export(store, TH_STR("full"), count_line, &lines, &err));
	assert_int_equal(lines, TH_EXPORT_EVENTS_MAX + 2);
	refused(th_session_export(store, TH_STR("more"), count_line, &lines, &err), TH_ELIMIT,
		"at most 57344 events");
	th_store_close(store);
}

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define BLOB "{\"blob\":\"" ZEROS "\",\"absent\":true}"
#define HEAD                                                                                       \
	"{\"thole_session\":1,\"session\":\"x\",\"epoch\":1,\"head_seq\":1,\"head\":\"" ZEROS "\"" \
	"}"

/* A line again and again, behind a head. */
struct source {
	const char *line;
	struct th_buf made;
	size_t at, max;
};

static int repeat(void *ctx, struct th_str *ret, struct th_err *e)
{
	struct source *s = ctx;

	(void)e;
	if (s->at == s->max)
		return 0;
	th_buf_clear(&s->made);
	th_buf_add_cstr(&s->made, s->at++ ? s->line : HEAD);
	*ret = th_buf_str(&s->made);
	return 1;
}

/* Into a store that is empty, or has the session: then its lines are only counted. */
static void take_into(bool there, const char *line, size_t lines, enum th_code wanted,
		      const char *says)
{
	struct source s = { .line = line, .made = TH_BUF_INIT(TH_JSON_SIZE_MAX), .max = lines };
	struct th_store *store = store_new();
	struct th_arena a;
	struct th_str id;

	if (there)
		write_idle(store, "x", "{}");
	th_arena_init(&a, TH_MIB);
	refused(th_session_import(store, store, repeat, &s, &a, &id, &err), wanted, says);
	th_arena_deinit(&a);
	th_buf_deinit(&s.made);
	th_store_close(store);
}

static void take(const char *line, size_t lines, enum th_code wanted, const char *says)
{
	take_into(true, line, lines, wanted, says);
}

static void lines_of_a_file(void **state)
{
	(void)state;
	take(BLOB, 1 + TH_EXPORT_BLOBS_MAX, TH_EPROTO, "before its end");
	take(BLOB, 2 + TH_EXPORT_BLOBS_MAX, TH_ELIMIT,
	     "line 16386: an exported session has at most "
	     "16384 blobs");
	take("{\"event\":{}}", 1 + TH_EXPORT_EVENTS_MAX, TH_EPROTO, "before its end");
	take("{\"event\":{}}", 2 + TH_EXPORT_EVENTS_MAX, TH_ELIMIT, "at most 57344 events");
}

/* Its bytes are nothing of that hash; one byte more is not even looked at. */
static void bytes_of_a_blob(void **state)
{
	(void)state;
	for (size_t more = 0; more < 2; more++) {
		struct th_buf line = TH_BUF_INIT(TH_JSON_SIZE_MAX);
		char *bytes = th_alloc(TH_EXPORT_BLOB_MAX + 1);

		th_buf_add_cstr(&line, "{\"blob\":\"" ZEROS "\",\"media_type\":\"x\",\"bytes\":\"");
		th_base64_encode(&line, bytes, TH_EXPORT_BLOB_MAX + more);
		th_buf_add_cstr(&line, "\"}");
		take_into(false, line.ptr, 2, more ? TH_ELIMIT : TH_ECORRUPT,
			  more ? "line 2: a blob has at most 41943040 bytes"
			       : "line 2: the blob is not what was written");
		free(bytes);
		th_buf_deinit(&line);
	}
}

/* A file that is good, and behind its end blanks: nothing but their bytes counts. */
struct padded {
	struct th_str rest;
	size_t left;
	char spaces[TH_MIB];
};

static int pad(void *ctx, struct th_str *ret, struct th_err *e)
{
	struct padded *p = ctx;

	if (p->rest.len)
		return next_line(&p->rest, ret, e);
	if (!p->left)
		return 0;
	*ret = th_str_n(p->spaces, TH_MIN(p->left, sizeof(p->spaces)) - 1);
	p->left -= ret->len + 1;
	return 1;
}

static void bytes_of_a_file(void **state)
{
#ifdef TH_SANITIZED
	skip(); /* it reads two gigabytes of spaces */
#endif
	struct th_store *store = store_new(), *there = store_new();
	struct padded *p = th_alloc(sizeof(*p));
	struct th_buf file = TH_BUF_INIT(TH_MIB);
	struct th_session_row row;
	struct th_arena a;
	struct th_str id;

	(void)state;
	th_arena_init(&a, TH_MIB);
	memset(p->spaces, ' ', sizeof(p->spaces));
	write_idle(store, "x", "{}");
	ok(th_session_export(store, TH_STR("x"), add_line, &file, &err));
	p->rest = th_buf_str(&file);
	p->left = TH_EXPORT_SIZE_MAX - file.len + 1;
	refused(th_session_import(there, there, pad, p, &a, &id, &err), TH_ELIMIT,
		"at most 1073741824 bytes");
	assert_int_equal(there->kind->get(there, TH_STR("x"), &a, &row, &err), TH_ENOENT);
	p->rest = th_buf_str(&file);
	p->left = TH_EXPORT_SIZE_MAX - file.len;
	ok(th_session_import(there, there, pad, p, &a, &id, &err));
	th_arena_deinit(&a);
	th_buf_deinit(&file);
	free(p);
	th_store_close(store);
	th_store_close(there);
}

static void sessions_of_a_file(void **state)
{
	struct th_store *store = store_new();
	size_t lines = TH_EXPORT_SESSIONS_MAX;
	char name[32], head[512];
	struct th_buf file = TH_BUF_INIT(4 * TH_MIB);

	(void)state;
	for (size_t i = 0; i <= lines; i++) {
		snprintf(name, sizeof(name), "s%zu", i);
		write_idle(store, name, "{}");
		snprintf(head, sizeof(head),
			 "{\"thole_session\":1,\"session\":\"%s\",\"epoch\":1,\"head_seq\":1,"
			 "\"head\":\"" ZEROS "\"}\n",
			 name);
		if (i == lines)
			refused(import(store, th_buf_str(&file)), TH_EPROTO, "before its end");
		th_buf_add_cstr(&file, head);
	}
	refused(import(store, th_buf_str(&file)), TH_ELIMIT, "at most 4096 sessions");
	th_buf_deinit(&file);
	th_store_close(store);
}

/* Sessions that work for each other, above one that is whole. */
static void depth_of_a_file(void **state)
{
	struct th_store *from = store_new(), *store = store_new();
	struct th_buf file = TH_BUF_INIT(TH_MIB);

	(void)state;
	write_idle(from, "top", "{}");
	for (int deep = TH_DELEGATE_DEPTH_MAX; deep <= TH_DELEGATE_DEPTH_MAX + 1; deep++) {
		char name[32], above[32] = "top", head[512];

		th_buf_clear(&file);
		for (int i = deep; i > 0; i--) {
			snprintf(name, sizeof(name), "c%d", i);
			if (i > 1)
				snprintf(above, sizeof(above), "c%d", i - 1);
			else
				snprintf(above, sizeof(above), "top");
			if (deep == TH_DELEGATE_DEPTH_MAX || i == deep)
				write_idle(store, name, "{}");
			snprintf(
			    head, sizeof(head),
			    "{\"thole_session\":1,\"session\":\"%s\",\"epoch\":1,\"metadata\":{"
			    "\"delegated_by\":{\"session\":\"%s\"}},\"head_seq\":1,\"head\":"
			    "\"" ZEROS "\"}\n",
			    name, above);
			th_buf_add_cstr(&file, head);
		}
		ok(th_session_export(from, TH_STR("top"), add_line, &file, &err));
		if (deep > TH_DELEGATE_DEPTH_MAX)
			refused(import(store, th_buf_str(&file)), TH_ELIMIT, "more than 4 deep");
		else
			refused(import(store, th_buf_str(&file)), TH_EEXIST, "it is another");
	}
	th_buf_deinit(&file);
	th_store_close(store);
	th_store_close(from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_are_those_of_its_calls),
		cmocka_unit_test(a_fork_brings_a_prefix),
		cmocka_unit_test(events_of_a_file),
		cmocka_unit_test(lines_of_a_file),
		cmocka_unit_test(bytes_of_a_blob),
		cmocka_unit_test(bytes_of_a_file),
		cmocka_unit_test(sessions_of_a_file),
		cmocka_unit_test(depth_of_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
