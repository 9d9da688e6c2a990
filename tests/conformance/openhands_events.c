/* SPDX-License-Identifier: Apache-2.0 */
/* openhands_events.c - events as JSON, the log that holds them, and what is read out of it. */
#include "openhands.h"

#include <stdlib.h>

#include "base/limits.h"
#include "events/search.h"
#include "forms/openhands_log.h"
#include "forms/redact.h"

#define ID "11111111-1111-1111-1111-111111111111"

static struct th_json_doc *parsed(const struct th_buf *text)
{
	struct th_json_doc *doc = NULL;

	if (th_json_parse(th_buf_str(text), &doc, NULL))
		abort(); /* we wrote it */
	return doc;
}

static bool same_json(const struct th_buf *text, const struct th_json *want)
{
	struct th_json_doc *doc = parsed(text);
	bool same = th_json_equal(th_json_root(doc), want);

	th_json_free(doc);
	return same;
}

static const struct th_openhands_kind *class_of(enum th_openhands v, struct th_str class)
{
	const struct th_openhands_kind *list =
	    v == TH_OPENHANDS_V0 ? th_openhands_v0 : th_openhands_v1;
	size_t count = v == TH_OPENHANDS_V0 ? th_openhands_v0_count : th_openhands_v1_count;

	for (size_t i = 0; i < count; i++)
		if (th_str_is(class, list[i].class))
			return &list[i];
	return NULL;
}

/* ---- writing ---- */

/* An event of a class, with its members in the place that the generation has for them. */
static void put_event(enum th_openhands v, const struct oh_case *c, struct th_buf *out)
{
	const struct th_json *want = th_json_get(c->expected, "json");
	const struct th_openhands_kind *kind = class_of(v, th_json_get_str(c->input, "event"));
	struct th_json_iter it = th_json_iter(th_json_get(c->input, "fields"));
	struct th_jw w = th_jw(out);
	bool action = kind && kind->shape == TH_OPENHANDS_ACTION;

	if (!th_json_get(c->input, "fields") || !kind) { /* the case has it whole */
		th_json_print(want, out);
		return;
	}
	th_jw_object(&w);
	th_jw_kint(&w, "id", th_json_get_int(want, "id", 0));
	th_jw_kstr(&w, "timestamp", th_json_get_str(want, "timestamp"));
	th_jw_kstr(&w, "source", th_json_get_str(want, "source"));
	th_jw_kstr(&w, action ? "action" : "observation", th_str_of(kind->name));
	th_jw_kstr(&w, "content", th_json_get_str(th_json_get(c->input, "fields"), "content"));
	if (th_json_get(want, "timeout")) /* set by a call, which the case does not name */
		th_jw_kint(&w, "timeout", (int64_t)th_json_num(th_json_get(want, "timeout"), 0));
	th_jw_name(&w, action ? TH_STR("args") : TH_STR("extras"));
	th_jw_object(&w);
	while (th_json_next(&it)) {
		if (th_str_is(it.key, "action") || th_str_is(it.key, "observation") ||
		    (!action && th_str_is(it.key, "content")))
			continue;
		th_jw_key(&w, it.key);
		th_jw_json(&w, it.val);
	}
	th_jw_object_end(&w);
	th_jw_object_end(&w);
}

/* Written as expected; and what was written, written again, is the same. */
static bool writes(enum th_openhands v, const struct oh_case *c, struct th_buf *found)
{
	struct th_buf first = TH_BUF_INIT(TH_MIB), again = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(found), w2 = th_jw(&again);
	struct th_json_doc *doc, *written = NULL;
	struct th_err err = { 0 };
	bool same;

	put_event(v, c, &first);
	doc = parsed(&first);
	if (th_openhands_print(v, th_json_root(doc), &w, &err)) {
		th_buf_add_cstr(found, err.msg);
		same = false;
	} else {
		written = parsed(found);
		same = th_json_equal(th_json_root(written), th_json_get(c->expected, "json")) &&
		       !th_openhands_print(v, th_json_root(written), &w2, &err) &&
		       same_json(&again, th_json_root(written));
	}
	th_json_free(doc);
	th_json_free(written);
	th_buf_deinit(&first);
	th_buf_deinit(&again);
	return same;
}

bool oh_event_write_v0(const struct oh_case *c, struct th_buf *found)
{
	return writes(TH_OPENHANDS_V0, c, found);
}

bool oh_event_write_v1(const struct oh_case *c, struct th_buf *found)
{
	return writes(TH_OPENHANDS_V1, c, found);
}

/* ---- reading ---- */

/* Does the error name what the case's error is about?  Its words are Python's. */
static bool same_error(const struct oh_case *c, const char *msg)
{
	static const char *const names[] = { "kind", "action", "observation", "source" };
	const struct th_json *args = th_json_get(c->input, "args");
	struct th_json_iter it = th_json_iter(args ?: th_json_get(c->input, "extras"));
	struct th_str text = th_str_of(msg);

	for (size_t i = 0; i < TH_COUNT(names); i++)
		if (th_json_get_str(c->input, names[i]).len &&
		    th_str_find(text, th_json_get_str(c->input, names[i])) >= 0)
			return true;
	while (th_json_next(&it))
		if (th_str_find(text, it.key) >= 0)
			return true;
	for (it = th_json_iter(c->input); th_json_next(&it);)
		if (th_str_find(text, it.key) >= 0)
			return true;
	return th_str_find(text, TH_STR("is missing")) >= 0 ||
	       th_str_find(text, TH_STR("no event")) >= 0 ||
	       th_str_find(text, TH_STR("it names")) >= 0;
}

static bool reads(enum th_openhands v, const struct oh_case *c, struct th_buf *found)
{
	bool refused = th_json_type(c->expected) == TH_JSON_STR;
	struct th_jw w = th_jw(found);
	struct th_err err = { 0 };

	if (th_openhands_print(v, c->input, &w, &err)) {
		th_buf_add_cstr(found, err.msg);
		return refused && same_error(c, err.msg);
	}
	return !refused && same_json(found, c->expected);
}

bool oh_event_read_v0(const struct oh_case *c, struct th_buf *found)
{
	return reads(TH_OPENHANDS_V0, c, found);
}

bool oh_event_read_v1(const struct oh_case *c, struct th_buf *found)
{
	return reads(TH_OPENHANDS_V1, c, found);
}

/* ---- the log ---- */

static void put_pause(struct th_buf *out, struct th_str id, const char *parent)
{
	struct th_jw w = th_jw(out);

	th_buf_clear(out);
	th_jw_object(&w);
	th_jw_kstr(&w, "id", id);
	th_jw_kstr(&w, "source", TH_STR("user"));
	if (parent)
		th_jw_kstr(&w, "parent_id", th_str_of(parent));
	th_jw_kstr(&w, "kind", TH_STR("PauseEvent"));
	th_jw_object_end(&w);
}

static enum th_code add_pause(struct th_openhands_log *log, struct th_str id, const char *parent,
			      struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(TH_KIB);
	enum th_code code;

	put_pause(&text, id, parent);
	code = th_openhands_log_add(log, th_buf_str(&text), err);
	th_buf_deinit(&text);
	return code;
}

/* The id that the words of a case end with. */
static struct th_str id_in(struct th_str text)
{
	return th_str_split(&text, ' ');
}

/* Those of its files that would be read again. */
static size_t files_read(const struct th_openhands_log *log)
{
	struct th_buf name = TH_BUF_INIT(TH_KIB);
	size_t count = 0;
	uint64_t number;

	for (size_t i = 0; i < log->count; i++) {
		th_buf_clear(&name);
		th_openhands_event_file(log, i, &name);
		count += th_openhands_file_number(
		    TH_OPENHANDS_V1, th_str_sub(th_buf_str(&name), sizeof("events/") - 1, name.len),
		    &number);
	}
	th_buf_deinit(&name);
	return count;
}

bool oh_log(const struct oh_case *c, struct th_buf *found)
{
	bool refused = th_json_type(c->expected) == TH_JSON_STR, same = false;
	struct th_str id = th_json_get_str(c->input, "append id");
	struct th_openhands_log log;
	struct th_err err = { 0 };

	th_openhands_log_init(&log, TH_OPENHANDS_V1);
	if (add_pause(&log, TH_STR(ID), NULL, &err) ||
	    add_pause(&log, TH_STR("22222222-2222-2222-2222-222222222222"), NULL, &err))
		abort();
	if (th_json_get(c->input, "append duplicate")) {
		same = add_pause(&log, TH_STR(ID), NULL, &err) == TH_EEXIST;
	} else if (th_json_get(c->input, "append unknown parent")) {
		same = add_pause(&log, TH_STR("33333333-3333-3333-3333-333333333333"),
				 "99999999-9999-9999-9999-999999999999", &err) == TH_ENOENT;
	} else if (id.len) {
		same = !add_pause(&log, id_in(id), NULL, &err);
		th_buf_printf(found, "len_live %zu, len_after_reopen %zu", log.count,
			      files_read(&log));
		same = same && (int64_t)log.count == th_json_get_int(c->expected, "len_live", -1) &&
		       (int64_t)files_read(&log) ==
			   th_json_get_int(c->expected, "len_after_reopen", -1);
	} else {
		th_buf_add_cstr(found, "what is whole is read (tests/e2e/cli/test_openhands.py)");
	}
	if (err.code)
		th_buf_add_cstr(found, err.msg);
	th_openhands_log_deinit(&log);
	return same && refused == (err.code != 0);
}

/* ---- looking for events ---- */

static void put_numbered(struct th_openhands_log *log, int64_t count)
{
	struct th_buf text = TH_BUF_INIT(TH_KIB);

	th_openhands_log_init(log, TH_OPENHANDS_V0);
	for (int64_t i = 0; i < count; i++) {
		th_buf_clear(&text);
		th_buf_printf(&text,
			      "{\"source\":\"%s\",\"action\":\"message\",\"args\":{\"content\":"
			      "\"m%lld\"}}",
			      i % 2 ? "agent" : "user", (long long)i);
		if (th_openhands_log_add(log, th_buf_str(&text), NULL))
			abort();
	}
	th_buf_deinit(&text);
}

/* "start_id=5,end_id=8": the arguments as they are called there.  Ids count from 0, our numbers
 * from 1. */
static struct th_search search_of(struct th_str words)
{
	struct th_search s = { 0 };

	while (words.len) {
		struct th_str value = th_str_trim(th_str_split(&words, ','));
		struct th_str name = th_str_trim(th_str_split(&value, '='));
		int64_t n = 0;
		bool number = th_str_i64(value, &n);

		if (th_str_is(name, "start_id") && number)
			s.from = (uint64_t)n + 1;
		else if (th_str_is(name, "end_id") && number)
			s.to = (uint64_t)n + 1;
		else if (th_str_is(name, "limit") && number)
			s.limit = (size_t)n;
		else if (th_str_is(name, "reverse"))
			s.newest = th_str_is(value, "True") || th_str_is(value, "true");
		else if (th_str_is(name, "query"))
			s.query = value;
		else if (th_str_is(name, "source"))
			s.source = value;
	}
	return s;
}

bool oh_search(const struct oh_case *c, struct th_buf *found)
{
	struct th_search s = search_of(th_json_get_str(c->input, "search"));
	struct th_found list = { 0 };
	struct th_openhands_log log;
	struct th_jw w = th_jw(found);

	put_numbered(&log, 26);
	for (size_t i = 0; i < log.count; i++) {
		struct th_searched ev = { .seq = i + 1,
					  .source = i % 2 ? TH_STR("agent") : TH_STR("user"),
					  .text = log.list[i].text };

		if (!th_search_add(&s, &ev, &list))
			break;
	}
	th_jw_array(&w);
	for (size_t i = 0; i < th_search_count(&s, &list); i++)
		th_jw_uint(&w, th_search_nth(&s, &list, i) - 1);
	th_jw_array_end(&w);
	th_openhands_log_deinit(&log);
	return same_json(found, c->expected);
}

/* ---- files ---- */

static bool names_file(const struct oh_case *c, const struct th_openhands_log *log,
		       struct th_str file)
{
	struct th_buf folder = TH_BUF_INIT(TH_KIB), name = TH_BUF_INIT(TH_KIB);
	bool is = false;

	th_openhands_v0_folder(th_json_get_str(c->input, "user_id"),
			       th_json_get_str(c->input, "sid"), &folder);
	for (size_t i = 0; !is && i < log->count; i++) {
		th_buf_clear(&name);
		th_buf_add(&name, th_buf_str(&folder));
		th_openhands_event_file(log, i, &name);
		is = th_str_eq(th_buf_str(&name), file);
	}
	for (size_t i = 0; !is && i + TH_OPENHANDS_PAGE <= log->count; i += TH_OPENHANDS_PAGE) {
		th_buf_clear(&name);
		th_buf_add(&name, th_buf_str(&folder));
		th_openhands_page_file(i, &name);
		is = th_str_eq(th_buf_str(&name), file);
	}
	th_buf_deinit(&folder);
	th_buf_deinit(&name);
	return is;
}

bool oh_layout(const struct oh_case *c, struct th_buf *found)
{
	struct th_json_iter it = th_json_iter(th_json_get(c->expected, "files"));
	struct th_openhands_log log;
	struct th_err err = { 0 };
	bool same = true;

	if (th_json_type(c->expected) == TH_JSON_STR) {
		put_numbered(&log, 4);
		same = th_openhands_log_add(&log, log.list[3].text, &err) == TH_OK;
		same = same && th_openhands_log_add(&log,
						    TH_STR("{\"id\":3,\"source\":\"user\","
							   "\"action\":\"null\",\"args\":{}}"),
						    &err) == TH_EEXIST;
		th_buf_add_cstr(found, err.msg);
	} else {
		put_numbered(&log, th_json_get_int(c->input, "events_added", 0));
		while (th_json_next(&it))
			same = names_file(c, &log, th_json_str(it.val)) && same;
		th_buf_printf(found, "%zu files", log.count);
		same = same &&
		       (int64_t)log.count == th_json_get_int(c->expected, "n_event_files", -1) &&
		       (int64_t)log.list[log.count - 1].number ==
			   th_json_get_int(c->expected, "latest_id", -1);
	}
	th_openhands_log_deinit(&log);
	return same;
}

/* ---- states ---- */

bool oh_should_step(const struct oh_case *c, struct th_buf *found)
{
	struct th_str class = th_json_get_str(c->input, "event"), source;
	const struct th_openhands_kind *kind = class_of(TH_OPENHANDS_V0, class);
	struct th_buf text = TH_BUF_INIT(TH_KIB), word = TH_BUF_INIT(64);
	struct th_jw w = th_jw(&text);
	struct th_json_doc *doc;
	bool steps;

	source = th_json_get_str(c->input, "source"); /* EventSource.AGENT */
	(void)th_str_split(&source, '.');
	for (size_t i = 0; i < source.len; i++)
		th_buf_add_char(&word, (char)(source.ptr[i] | 0x20));
	th_jw_object(&w);
	if (kind)
		th_jw_kstr(&w, kind->shape == TH_OPENHANDS_ACTION ? "action" : "observation",
			   th_str_of(kind->name));
	th_jw_kstr(&w, "source", th_buf_str(&word));
	if (!th_json_is_null(th_json_get(c->input, "cause")))
		th_jw_kint(&w, "cause", th_json_get_int(c->input, "cause", 0));
	th_jw_object_end(&w);
	doc = parsed(&text);
	steps = th_openhands_v0_steps(th_json_root(doc), th_json_get_str(c->input, "state"),
				      th_json_bool(th_json_get(c->input, "delegate"), false));
	th_buf_add_cstr(found, steps ? "true" : "false");
	th_json_free(doc);
	th_buf_deinit(&text);
	th_buf_deinit(&word);
	return kind && steps == th_json_bool(c->expected, !steps);
}

/* ---- texts ---- */

bool oh_redact(const struct oh_case *c, struct th_buf *found)
{
	struct th_jw w = th_jw(found);

	th_redact(th_json_get(c->input, "dict"), &w);
	return same_json(found, c->expected);
}

static void put_name(struct th_jw *w, const char *name, struct th_str text)
{
	th_jw_name(w, th_str_of(name));
	if (text.ptr)
		th_jw_str(w, text);
	else
		th_jw_null(w);
}

bool oh_ps1(const struct oh_case *c, struct th_buf *found)
{
	struct th_str text = th_json_get_str(c->input, "text");
	const struct th_json *meta = th_json_get(c->expected, "meta");
	struct th_arena a;
	struct th_ps1_facts facts = { 0 };
	struct th_ps1 block;
	struct th_jw w = th_jw(found);
	int64_t n = 0;

	th_arena_init(&a, TH_MIB);
	for (size_t at = 0; th_ps1_next(text, at, &block); at = block.to, n++)
		th_ps1_read(&block, &a, &facts);
	th_jw_object(&w);
	th_jw_kint(&w, "exit_code", facts.exit_code);
	th_jw_kint(&w, "pid", facts.pid);
	put_name(&w, "username", facts.username);
	put_name(&w, "hostname", facts.hostname);
	put_name(&w, "working_dir", facts.working_dir);
	put_name(&w, "py_interpreter_path", facts.interpreter);
	th_jw_kstr(&w, "prefix", facts.prefix);
	th_jw_kstr(&w, "suffix", facts.suffix);
	th_jw_object_end(&w);
	th_arena_deinit(&a);
	return n == th_json_get_int(c->expected, "n", -1) && (!meta || same_json(found, meta));
}
