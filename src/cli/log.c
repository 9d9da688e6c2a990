/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - thole log: what a session did, for people and programs; is it whole; its pictures as
 * files. */
#include <errno.h>
#include <unistd.h>

#include "admin/verify.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/log.h"
#include "cli/trace.h"
#include "console/view.h"
#include "events/search.h"
#include "io/files.h"
#include "remote/remote.h"
#include "runtime/runtime.h"

#define CHUNK (64 * TH_KIB)

struct log_options {
	struct th_common common;
	bool json, verify, trace, reverse;
	struct th_str blobs, find, kind, source;
	int64_t from, to, limit;
};

static const struct th_option log_options[] = {
	{ "json", 'j', NULL, TH_OPTION_FLAG, offsetof(struct log_options, json),
	  "the events as JSON lines, as they are stored", NULL },
	{ "verify", 0, NULL, TH_OPTION_FLAG, offsetof(struct log_options, verify),
	  "check every stored byte against its digest, and the list of sessions against their logs",
	  NULL },
	{ "trace", 0, NULL, TH_OPTION_FLAG, offsetof(struct log_options, trace),
	  "times and costs as a tree; with --json as OTLP", NULL },
	{ "blobs", 0, "DIR", TH_OPTION_TEXT, offsetof(struct log_options, blobs),
	  "write the pictures of the session into DIR, named by event", "DIR" },
	{ "find", 0, "TEXT", TH_OPTION_TEXT, offsetof(struct log_options, find),
	  "only events that have TEXT, in either case, with what their JSON says", NULL },
	{ "kind", 0, "LIST", TH_OPTION_TEXT, offsetof(struct log_options, kind),
	  "only events of these kinds, with commas (docs/EVENTS.md)", NULL },
	{ "source", 0, "SOURCE", TH_OPTION_TEXT, offsetof(struct log_options, source),
	  "only events of user, agent, environment or operator",
	  "user agent environment operator" },
	{ "from", 0, "N", TH_OPTION_INT, offsetof(struct log_options, from),
	  "only event N and later ones", NULL },
	{ "to", 0, "N", TH_OPTION_INT, offsetof(struct log_options, to),
	  "only event N and earlier ones", NULL },
	{ "limit", 'n', "N", TH_OPTION_INT, offsetof(struct log_options, limit),
	  "at most N events, the oldest (at most 1000)", NULL },
	{ "reverse", 'r', NULL, TH_OPTION_FLAG, offsetof(struct log_options, reverse),
	  "the newest, newest first", NULL },
	TH_OPTIONS_SERVER(struct log_options, common),
	TH_OPTIONS_COMMON(struct log_options, common),
	TH_OPTIONS_END,
};

/* ---- printing ---- */

struct printing {
	struct th_str session_id;
	struct th_view *view; /* NULL: JSON */
	struct th_session fold;
	bool folds; /* what waits is known at its end */
	struct th_buf out;
	int errnum; /* of what could not be written */
};

static void flush(struct printing *p, size_t above)
{
	if (p->out.len <= above)
		return;
	if (!th_cli_write(STDOUT_FILENO, th_buf_str(&p->out)))
		p->errnum = errno;
	else if (p->out.failed)
		p->errnum = EFBIG;
	th_buf_clear(&p->out);
}

static enum th_code written(const struct printing *p, struct th_err *err)
{
	return p->errnum ? th_fail(err, TH_EIO, "cannot write to standard output: %s",
				   strerror(p->errnum))
			 : TH_OK;
}

static enum th_code print_event(void *ctx, const struct th_event *ev,
				const struct th_digest *digest TH_UNUSED, struct th_err *err)
{
	struct printing *p = ctx;
	struct th_jw w = th_jw(&p->out);
	struct th_effects effects;
	struct th_err ignored;

	if (p->view) {
		th_view_event(p->view, ev, &p->out);
		p->folds = p->folds && th_session_step(&p->fold, ev, &effects, &ignored) == TH_OK;
	} else {
		th_event_print(p->session_id, ev, &w);
		th_buf_add_char(&p->out, '\n');
	}
	flush(p, CHUNK);
	return written(p, err);
}

/* What it waits for, as the run said it that ended there. */
static void print_waits(struct printing *p, const struct th_common *o)
{
	for (size_t i = 0; i < p->fold.call_count; i++) {
		const struct th_call *c = &p->fold.calls[i];

		if (!th_call_asks(c) && c->phase != TH_CALL_PARKED)
			continue;
		th_cli_waits(p->session_id, o, c, &p->out);
		th_buf_add_char(&p->out, '\n');
	}
}

static int print_log(struct th_store *store, const struct th_session_row *row, bool json,
		     const struct th_common *o)
{
	struct th_view_options vo = { .colour = th_cli_colour(STDOUT_FILENO),
				      .columns = th_cli_columns(STDOUT_FILENO) };
	struct th_view *view TH_CLEANUP(th_view_freep) = json ? NULL : th_view_new(&vo);
	struct printing p = { .session_id = row->session_id, .view = view, .folds = view };
	struct th_err err = {};
	enum th_code code;

	th_buf_init(&p.out, 2 * TH_EVENT_DATA_MAX + CHUNK);
	th_session_init(&p.fold);
	code = store->kind->read(store, row->session_id, 1, 0, print_event, &p, &err);
	if (code == TH_OK && p.folds)
		print_waits(&p, o);
	flush(&p, 0);
	if (code == TH_OK)
		code = written(&p, &err);
	th_session_deinit(&p.fold);
	th_buf_deinit(&p.out);
	return code == TH_OK ? 0 : th_cli_fail(&err);
}

/* ---- some of the events ---- */

static bool is_search(const struct log_options *o)
{
	return o->find.len || o->kind.len || o->source.len || o->reverse || o->from >= 0 ||
	       o->to >= 0 || o->limit >= 0;
}

struct searching {
	struct th_str session_id;
	struct th_search search;
	struct th_found found;
	struct th_buf text;
};

static enum th_code search_event(void *ctx, const struct th_event *ev,
				 const struct th_digest *digest TH_UNUSED, struct th_err *err)
{
	struct searching *x = ctx;
	struct th_jw w = th_jw(&x->text);
	struct th_searched seen = { .seq = ev->seq,
				    .source = th_str_of(th_source_name(ev->source)),
				    .kind = th_str_of(th_event_name(ev->kind)) };

	th_buf_clear(&x->text);
	if (x->search.query.len)
		th_event_print(x->session_id, ev, &w);
	seen.text = th_buf_str(&x->text);
	(void)th_search_add(&x->search, &seen, &x->found);
	return th_buf_check(&x->text, "an event", err);
}

/* Names that are none are an error, not a search that finds nothing. */
static enum th_code make_search(const struct log_options *o, struct th_search *ret,
				struct th_err *err)
{
	struct th_str list = o->kind;

	*ret = (struct th_search){
		.from = o->from > 0 ? (uint64_t)o->from : 0,
		.to = o->to > 0 ? (uint64_t)o->to : 0,
		.query = o->find,
		.source = o->source,
		.kinds = o->kind,
		.limit = o->limit > 0 ? (size_t)o->limit : 0,
		.newest = o->reverse,
	};
	if (o->limit == 0 || o->limit > TH_SEARCH_MAX)
		return th_fail(err, TH_EUSAGE, "--limit is 1 to %d", TH_SEARCH_MAX);
	if (o->source.len && th_source_find(o->source) < 0)
		return th_fail(err, TH_EUSAGE, "--source is user, agent, environment or operator");
	while (list.len) {
		struct th_str name = th_str_trim(th_str_split(&list, ','));

		if (th_event_find(name) < 0)
			return th_fail(err, TH_EUSAGE, "--kind: there is no event \"%.*s\"",
				       TH_FMT(th_utf8_cut(name, TH_NAME_NEAR_MAX)));
	}
	return TH_OK;
}

static int print_found(struct th_store *store, const struct th_session_row *row,
		       const struct log_options *o)
{
	struct th_view_options vo = { .colour = th_cli_colour(STDOUT_FILENO),
				      .columns = th_cli_columns(STDOUT_FILENO) };
	struct th_view *view TH_CLEANUP(th_view_freep) = o->json ? NULL : th_view_new(&vo);
	struct printing p = { .session_id = row->session_id, .view = view };
	struct searching x = { .session_id = row->session_id };
	struct th_err err = {};
	enum th_code code = make_search(o, &x.search, &err);

	th_buf_init(&x.text, 2 * TH_EVENT_DATA_MAX + CHUNK);
	th_buf_init(&p.out, 2 * TH_EVENT_DATA_MAX + CHUNK);
	if (code == TH_OK)
		code = store->kind->read(store, row->session_id, 1, 0, search_event, &x, &err);
	for (size_t i = 0; code == TH_OK && i < th_search_count(&x.search, &x.found); i++) {
		uint64_t seq = th_search_nth(&x.search, &x.found, i);

		code = store->kind->read(store, row->session_id, seq, seq, print_event, &p, &err);
	}
	flush(&p, 0);
	if (code == TH_OK)
		code = written(&p, &err);
	th_buf_deinit(&x.text);
	th_buf_deinit(&p.out);
	if (code != TH_OK)
		return th_cli_fail(&err);
	return !o->json && !th_search_count(&x.search, &x.found)
		   ? th_cli_die(0, "no event of session %.*s fits", TH_FMT(row->session_id))
		   : 0;
}

/* ---- pictures as files ---- */

struct extracting {
	struct th_store *store;
	const char *dir;
	struct th_arena *a;
	const struct th_event *ev;
	int64_t written;
	int of_event;
};

static const char *suffix_of(struct th_str media_type)
{
	return th_str_is(media_type, "image/png")    ? "png"
	       : th_str_is(media_type, "image/jpeg") ? "jpg"
	       : th_str_is(media_type, "image/webp") ? "webp"
						     : "bin";
}

static enum th_code extract_one(struct extracting *x, const struct th_json *v, struct th_err *err)
{
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_BLOB_MAX);
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_digest hash;
	enum th_code code;

	if (!th_digest_parse(th_json_get_str(v, "blob"), &hash))
		return TH_OK; /* a tool's own word, not a reference */
	code = x->store->kind->blob(x->store, &hash, &bytes, err);
	if (code != TH_OK)
		return code;
	th_buf_printf(&path, "%s/%06llu-%d.%s", x->dir, (unsigned long long)x->ev->seq,
		      ++x->of_event, suffix_of(th_json_get_str(v, "media_type")));
	code = th_buf_check(&path, "the path", err);
	if (code == TH_OK)
		code = th_file_write(path.ptr, th_buf_str(&bytes), 0644, err);
	x->written += code == TH_OK;
	return code;
}

/* Depth is bounded by the parser. */
static enum th_code extract_value(struct extracting *x, const struct th_json *v, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(v);
	enum th_code code = TH_OK;

	if (th_json_is_object(v) && th_json_get_str(v, "blob").ptr)
		code = extract_one(x, v, err);
	while (code == TH_OK && th_json_next(&it))
		if (th_json_is_object(it.val) || th_json_is_array(it.val))
			code = extract_value(x, it.val, err);
	return code;
}

static enum th_code extract_event(void *ctx, const struct th_event *ev,
				  const struct th_digest *digest TH_UNUSED, struct th_err *err)
{
	struct extracting *x = ctx;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_code code;

	if (ev->kind != TH_EV_OUTCOME && ev->kind != TH_EV_MESSAGE)
		return TH_OK;
	code = th_json_parse(ev->data, &doc, err);
	x->ev = ev;
	x->of_event = 0;
	return code == TH_OK ? extract_value(x, th_json_root(doc), err) : code;
}

enum th_code th_cli_extract(struct th_store *store, struct th_str session_id, const char *dir,
			    int64_t *ret_count, struct th_err *err)
{
	struct extracting x = { .store = store, .dir = dir };
	enum th_code code = th_dir_make(dir, 0755, err);

	if (code == TH_OK)
		code = store->kind->read(store, session_id, 1, 0, extract_event, &x, err);
	*ret_count = x.written;
	return code;
}

static int extract(struct th_store *store, const struct th_session_row *row, const char *dir)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_PATH_LEN_MAX);
	struct th_err err = {};
	int64_t count = 0;

	if (th_cli_extract(store, row->session_id, dir, &count, &err) != TH_OK)
		return th_cli_fail(&err);
	th_buf_printf(&out, "%lld %s in %s\n", (long long)count,
		      count == 1 ? "picture" : "pictures", dir);
	return th_cli_print(&out, 0);
}

/* ---- verify ---- */

int th_cli_verify(struct th_store *store, struct th_str session_id, bool json)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_verify_report r = {};
	struct th_jw w = th_jw(&out);
	struct th_err err = {};

	if (th_store_check(store, session_id, &r, &err) != TH_OK)
		return th_cli_fail(&err);
	if (json) {
		th_jw_object(&w);
		th_jw_kbool(&w, "ok", !r.bad);
		th_jw_kuint(&w, "sessions", r.sessions);
		th_jw_kuint(&w, "events", r.events);
		th_jw_kuint(&w, "blobs", r.blobs);
		if (r.bad) {
			th_jw_kstr(&w, "table", th_str_of(r.table));
			th_jw_kstr(&w, "key", th_str_of(r.key));
			th_jw_kstr(&w, "what", th_str_of(r.what));
		}
		th_jw_object_end(&w);
		th_buf_add_char(&out, '\n');
		return th_cli_print(&out, r.bad ? 1 : 0);
	}
	if (r.bad)
		return th_cli_die(1, "the log is not whole: table %s, %s: %s", r.table, r.key,
				  r.what);
	th_buf_add_cstr(&out, "whole: ");
	th_cli_count(&out, (int64_t)r.sessions, "session");
	th_buf_add_cstr(&out, ", ");
	th_cli_count(&out, (int64_t)r.events, "event");
	th_buf_add_cstr(&out, ", ");
	th_cli_count(&out, (int64_t)r.blobs, "blob");
	th_buf_add_cstr(&out, " checked\n");
	return th_cli_print(&out, 0);
}

/* ---- the command ---- */

static int run_log(const struct th_command *self, int argc, char **argv)
{
	struct log_options o = { .from = -1, .to = -1, .limit = -1 };
	struct th_operands rest;
	struct th_remote *remote TH_CLEANUP(th_remote_freep) = NULL;
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_session_row row = {};
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);

	th_arena_init(&a, TH_MIB);
	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (o.verify + o.trace + !!o.blobs.ptr + is_search(&o) > 1)
		return th_cli_die(2, "--verify, --trace, --blobs and a search exclude each other");
	if (rest.count > 1 || (rest.count == 0 && !o.verify))
		return th_cli_names_none(self);
	if (o.verify && th_remote_refuse(&o.common, "log --verify"))
		return 2;
	code = th_remote_find(&o.common, &remote, &err);
	if (code != TH_OK)
		return th_cli_fail(&err);
	code = rest.count == 1 ? th_cli_session(&o.common, false, th_str_of(rest.list[0]), &a,
						&store, &row, &err)
			       : th_cli_store(&o.common, false, &store, &err);
	if (code != TH_OK)
		return th_cli_fail(&err);
	if (o.verify)
		return th_cli_verify(store, row.session_id, o.json);
	if (o.trace)
		return th_cli_trace(store, row.session_id, o.json);
	if (is_search(&o))
		return print_found(store, &row, &o);
	return o.blobs.ptr ? extract(store, &row, o.blobs.ptr)
			   : print_log(store, &row, o.json, &o.common);
}

const struct th_command th_command_log = {
	.name = "log",
	.operands = "[NAME]",
	.summary = "show what a session did; verify its log",
	.text = "Prints the log of session NAME: messages, thoughts, actions, their results, "
		"costs. The first characters of a name are enough, four or more, if only one "
		"session begins with them.\n"
		"\n"
		"With --verify every stored byte is checked: each event against the chain of "
		"digests, each picture\n"
		"against its hash, the list of sessions against their logs. Without NAME, all "
		"sessions are checked.\n"
		"The first error is printed, and the exit code is 1.\n"
		"\n"
		"With --trace: each task, its agents, turns, requests, calls, guardrails and "
		"handoffs with their times and\n"
		"costs, and what each agent and model used (docs/TRACING.md).\n"
		"\n"
		"Examples:\n"
		"  thole log report\n"
		"  thole log report --trace\n"
		"  thole log report --json | jq 'select(.kind == \"call\")'\n"
		"  thole log report --kind call,outcome --find Permission -r -n 3\n"
		"  thole log report --blobs pictures\n"
		"  thole log --verify\n",
	.options = log_options,
	.words = "SESSION",
	.run = run_log,
};
