/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents_sdk_host.c - a program that embeds a runtime, as agents_sdk.py tells
 * it: one JSON object on standard input says what the agents, their tools and
 * their code are and what happens to the session; each event, each tool that
 * ran and what the session holds goes out as a line of JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "transcript/transcript.h"

#define TOOLS_MAX 32
#define CHILDREN_MAX 64

struct host {
	struct th_runtime *rt;
	struct th_handle h;
	const struct th_json *spec;
	struct th_config *config;
	struct th_tool_row computer;
	struct th_tool_row rows[TOOLS_MAX];
	size_t row_count;
	struct th_agent agent;
	struct th_callbacks callbacks;
	bool ready, failed, waiting, saving;
	struct { /* what a run is cancelled after, of its events */
		struct th_str event;
		bool now, turn;
	} cancel;
	unsigned sessions; /* begun so far; the last one is the one that runs */
	char id[16];
	struct {
		struct th_buf id;
		uint64_t seq; /* of the last event that was told */
	} children[CHILDREN_MAX];
	size_t child_count;
	struct wait *waits;
	struct th_err err;
};

/* Something that is answered when its time is over. */
struct wait {
	struct host *host;
	struct wait *next;
	struct th_timer timer;
	struct th_ticket ticket;
	bool code;
	struct th_effect_result result;
	struct th_buf output, fails;
};

static void line(struct th_buf *b)
{
	th_buf_add_char(b, '\n');
	if (fwrite(b->ptr, 1, b->len, stdout) != b->len || fflush(stdout))
		abort();
	th_buf_deinit(b);
}

static void say(const char *key, struct th_str text)
{
	struct th_buf b = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&b);

	th_jw_object(&w);
	th_jw_kstr(&w, key, text);
	th_jw_object_end(&w);
	line(&b);
}

static void die(const struct th_err *err)
{
	say("died", th_str_of(err->msg));
	exit(1);
}

/* What an agent file would be refused for is no fault of ours. */
static void not_started(const struct th_err *err)
{
	say("not_started", th_str_of(err->msg));
	exit(0);
}

/* ---- tools ------------------------------------------------------------------------------- */

static void wait_free(struct wait *w)
{
	struct wait **at = &w->host->waits;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	th_timer_stop(&w->timer);
	th_buf_deinit(&w->output);
	th_buf_deinit(&w->fails);
	free(w);
}

/* Nobody asks for them any more. */
static void waits_free(struct host *host)
{
	while (host->waits)
		wait_free(host->waits);
}

static void on_wait(void *ctx)
{
	struct wait *w = ctx;
	struct th_driver *d = th_runtime_driver(w->host->rt);

	w->result.output = th_buf_str(&w->output);
	w->result.fails = th_buf_str(&w->fails);
	if (w->code)
		th_driver_code_done(d, w->ticket, false, th_buf_str(&w->output));
	else
		th_driver_tool_done(d, w->ticket, &w->result);
	wait_free(w);
}

static struct wait *wait_new(struct host *host, struct th_ticket t, int64_t ms)
{
	struct wait *w = th_alloc(sizeof(*w));

	w->host = host;
	w->next = host->waits;
	host->waits = w;
	w->ticket = t;
	th_buf_init(&w->output, TH_EVENT_DATA_MAX);
	th_buf_init(&w->fails, TH_EVENT_DATA_MAX);
	th_timer_init(&w->timer, th_runtime_loop(host->rt), on_wait, w);
	th_timer_start(&w->timer, (uint64_t)ms, 0);
	return w;
}

static const struct th_json *tool_spec(const struct host *host, struct th_str name)
{
	struct th_json_iter it = th_json_iter(th_json_get(host->spec, "tools"));

	while (th_json_next(&it))
		if (th_str_eq(th_json_get_str(it.val, "name"), name))
			return it.val;
	return NULL;
}

static void say_as(const struct th_json *arg, struct th_buf *out)
{
	if (th_json_str(arg).ptr)
		th_buf_add(out, th_json_str(arg));
	else
		th_json_print(arg, out);
}

/* What a body gives back, as JSON; false: it raises, with the text. */
static bool body(const struct th_json *b, const struct th_json *args, struct th_buf *out)
{
	struct th_str kind = th_json_get_str(b, "kind");
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_json_iter it = th_json_iter(th_json_get(b, "args"));
	struct th_jw w = th_jw(out);
	int64_t sum = 0;

	if (th_str_is(kind, "raise")) {
		th_buf_add(out, th_json_get_str(b, "message"));
		return false;
	}
	if (th_str_is(kind, "image") || th_str_is(kind, "parts")) {
		const struct th_json *parts = th_json_get(b, "parts");

		if (parts) {
			th_json_print(parts, out);
			return true;
		}
		th_jw_array(&w);
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("input_image"));
		th_jw_kstr(&w, "image_url", th_json_get_str(b, "image_url"));
		th_jw_object_end(&w);
		th_jw_array_end(&w);
		return true;
	}
	if (th_str_is(kind, "echo"))
		say_as(th_json_getn(args, th_json_get_str(b, "arg")), &text);
	else if (th_str_is(kind, "json"))
		th_json_print(th_json_get(b, "value"), &text);
	else if (th_str_is(kind, "add")) {
		while (th_json_next(&it))
			sum += th_json_int(th_json_getn(args, th_json_str(it.val)), 0);
		th_buf_printf(&text, "%lld", (long long)sum);
	} else {
		say_as(th_json_get(b, "value"), &text);
	}
	th_jw_str(&w, th_buf_str(&text));
	th_buf_deinit(&text);
	return true;
}

/* ---- tools of the API's own --------------------------------------------------------------- */

/* "create a.txt" of each file that an envelope changes; and what an editor says of it. */
static void read_patch(struct th_str patch, struct th_buf *said)
{
	static const struct {
		const char *head, *does, *did;
	} kinds[] = { { "*** Add File: ", "create", "Created" },
		      { "*** Update File: ", "update", "Updated" },
		      { "*** Delete File: ", "delete", "Deleted" } };
	struct th_buf side = TH_BUF_INIT(TH_KIB);

	while (patch.len) {
		struct th_str line = th_str_split(&patch, '\n');

		for (size_t i = 0; i < TH_COUNT(kinds); i++) {
			struct th_str head = th_str_of(kinds[i].head);

			if (!th_str_starts(line, head))
				continue;
			line = th_str_sub(line, head.len, line.len);
			th_buf_clear(&side);
			th_buf_printf(&side, "%s %.*s", kinds[i].does, TH_FMT(line));
			say("side", th_buf_str(&side));
			th_buf_printf(said, "%s%s %.*s", said->len ? "\n" : "", kinds[i].did,
				      TH_FMT(line));
			break;
		}
	}
	th_buf_deinit(&side);
}

/* What is done, as the scenarios write it; `said`: what there is to say of it. */
static void do_native(struct th_str kind, const struct th_local_call *call,
		      const struct th_json *args, struct th_buf *said)
{
	bool words = th_json_is_array(th_json_get(args, "argv"));
	struct th_json_iter it = th_json_iter(th_json_get(args, words ? "argv" : "commands"));
	struct th_buf side = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	if (th_str_is(kind, "apply_patch")) {
		read_patch(th_json_get_str(args, "patch"), said);
		return;
	}
	if (th_str_is(kind, "custom")) {
		th_buf_printf(&side, "%.*s:%.*s", TH_FMT(call->tool),
			      TH_FMT(th_json_get_str(args, "input")));
	} else {
		th_buf_printf(&side, "%.*s:", TH_FMT(kind));
		while (th_json_next(&it)) {
			th_buf_add_cstr(&side, it.index == 0 ? "" : words ? " " : "\x1f");
			th_buf_add(&side, th_json_str(it.val));
		}
	}
	say("side", th_buf_str(&side));
	th_buf_deinit(&side);
}

/* A shell says what each command wrote; others have a text. */
static void run_native(struct host *host, struct th_driver *d, const struct th_local_call *call,
		       const struct th_json *native, const struct th_json *args)
{
	struct th_str kind = th_json_get_str(native, "kind");
	struct th_str raises = th_json_get_str(native, "raise");
	const struct th_json *value = th_json_get(native, "value");
	struct th_effect_result r = { .status = TH_OUTCOME_DONE };
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX), out = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_buf evidence = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&out);

	do_native(kind, call, args, &text);
	if (th_json_is_null(value))
		value = th_json_getn(th_json_get(native, "answers"), call->call_id);
	if (th_str_is(th_json_str(th_json_getn(th_json_get(native, "ended"), call->call_id)),
		      "failed"))
		r.status = TH_OUTCOME_FAILED;
	if (raises.ptr) {
		r.status = TH_OUTCOME_FAILED;
		th_buf_clear(&text);
		th_buf_add(&text, raises);
	} else if (th_json_is_array(value)) {
		struct th_jw e = th_jw(&evidence);

		th_jw_object(&e);
		th_jw_key(&e, TH_STR("commands"));
		th_jw_json(&e, value);
		if (th_json_get(native, "max_output_length"))
			th_jw_kint(&e, "max_output_length",
				   th_json_get_int(native, "max_output_length", 0));
		th_jw_object_end(&e);
	} else if (!th_json_is_null(value)) {
		th_buf_clear(&text);
		say_as(value, &text);
	}
	th_jw_str(&w, th_buf_str(&text));
	r.output = th_buf_str(&out);
	r.evidence = th_buf_str(&evidence);
	if (raises.ptr && th_str_is(kind, "local_shell"))
		r.fails = raises;
	th_driver_tool_done(d, call->ticket, &r);
	th_buf_deinit(&text);
	th_buf_deinit(&out);
	th_buf_deinit(&evidence);
	(void)host;
}

static const struct th_tool_native *native_of(const struct th_json *spec)
{
	static const struct th_tool_native custom = { .kind = TH_NATIVE_CUSTOM };

	return th_str_is(th_json_get_str(th_json_get(spec, "native"), "kind"), "custom") ? &custom
											 : NULL;
}

static void run_tool(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct host *host = ctx;
	const struct th_json *spec = tool_spec(host, call->tool),
			     *b = th_json_get(spec, "behavior");
	const struct th_json *failure = th_json_get(spec, "failure");
	struct th_json_doc *args = NULL;
	int64_t ms = th_json_get_int(b, "sleep_ms", 0);
	int64_t most = th_json_get_int(spec, "timeout_ms", INT64_MAX);
	struct wait *w;
	struct th_buf raw = TH_BUF_INIT(TH_EVENT_DATA_MAX), text = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw jw;
	bool good = false, raises;
	struct th_err err = { 0 };

	if (th_json_parse(call->arguments, &args, &err))
		die(&err);
	if (th_json_get(spec, "native")) {
		run_native(host, d, call, th_json_get(spec, "native"), th_json_root(args));
		th_json_free(args);
		return;
	}
	w = wait_new(host, call->ticket, TH_MIN(ms, most));
	jw = th_jw(&w->output);
	say("side", call->tool);
	w->result.status = TH_OUTCOME_FAILED;
	raises = th_str_is(th_json_str(failure), "raise");
	if (ms > most) {
		raises = th_str_is(th_json_get_str(spec, "timeout_behavior"), "raise_exception");
		th_buf_printf(&text, "Tool '%.*s' timed out after %g seconds.", TH_FMT(call->tool),
			      (double)most / 1000);
	} else {
		good = body(b, th_json_root(args), &raw);
		if (!good && raises)
			th_buf_printf(&text, "Error running tool %.*s: %.*s", TH_FMT(call->tool),
				      TH_FMT(th_buf_str(&raw)));
		else if (!good && th_json_get_str(failure, "const").ptr)
			th_buf_add(&text, th_json_get_str(failure, "const"));
		else if (!good)
			th_buf_printf(&text,
				      "An error occurred while running the tool. Please try again. "
				      "Error: %.*s",
				      TH_FMT(th_buf_str(&raw)));
	}
	if (good) {
		w->result.status = TH_OUTCOME_DONE;
		th_buf_add(&w->output, th_buf_str(&raw));
	} else {
		th_jw_str(&jw, th_buf_str(&text));
		if (raises)
			th_buf_add(&w->fails, th_buf_str(&text));
	}
	th_json_free(args);
	th_buf_deinit(&raw);
	th_buf_deinit(&text);
}

/* ---- a computer -------------------------------------------------------------------------- */

static void add_keys(const struct th_json *keys, struct th_buf *out)
{
	for (struct th_json_iter it = th_json_iter(keys); th_json_next(&it);)
		th_buf_printf(out, "%s%.*s", it.index ? "," : "", TH_FMT(th_json_str(it.val)));
}

/* The words of an action: its name, then what it is done with. */
static void show_action(const struct th_json *a, struct th_buf *out)
{
	struct th_str type = th_json_get_str(a, "type");
	const struct th_json *path = th_json_get(a, "path");
	long long x = th_json_get_int(a, "x", -1), y = th_json_get_int(a, "y", -1);
	struct th_str button = th_json_get_str(a, "button");
	int64_t count = th_json_get_int(a, "count", 1);

	if (th_str_is(type, "click") && count < 2)
		th_buf_printf(out, "click(%lld,%lld,%.*s)", x, y,
			      TH_FMT(button.len ? button : TH_STR("left")));
	else if (th_str_is(type, "click") || th_str_is(type, "double_click"))
		th_buf_printf(out, "double_click(%lld,%lld)", x, y);
	else if (th_str_is(type, "move"))
		th_buf_printf(out, "move(%lld,%lld)", x, y);
	else if (th_str_is(type, "scroll"))
		th_buf_printf(out, "scroll(%lld,%lld,%lld,%lld)", x, y,
			      (long long)th_json_get_int(a, "dx", 0),
			      (long long)th_json_get_int(a, "dy", 0));
	else if (th_str_is(type, "type"))
		th_buf_printf(out, "type(%.*s)", TH_FMT(th_json_get_str(a, "text")));
	else if (th_str_is(type, "key")) {
		th_buf_add_cstr(out, "keypress(");
		add_keys(th_json_get(a, "keys"), out);
		th_buf_add_char(out, ')');
	} else if (th_str_is(type, "drag")) {
		th_buf_add_cstr(out, "drag(");
		for (struct th_json_iter it = th_json_iter(path); th_json_next(&it);)
			th_buf_printf(out, "%s%lld,%lld", it.index ? "," : "",
				      (long long)th_json_get_int(it.val, "x", -1),
				      (long long)th_json_get_int(it.val, "y", -1));
		th_buf_add_char(out, ')');
	} else {
		th_buf_add(out, type);
	}
}

/* One line per action, as the scenarios write them; the picture is any. */
static void run_computer(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct host *host = ctx;
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	struct th_blob blob = { .media_type = TH_STR("image/png"), .bytes = TH_STR("shot") };
	struct th_effect_result result = { .status = TH_OUTCOME_DONE,
					   .blobs = &blob,
					   .blob_count = 1 };
	struct th_buf output = TH_BUF_INIT(TH_KIB), shown = TH_BUF_INIT(TH_KIB);
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_str last = TH_STR("");
	struct th_err err;

	if (th_json_parse(call->arguments, &doc, &err))
		die(&err);
	for (it = th_json_iter(th_json_get(th_json_root(doc), "actions")); th_json_next(&it);) {
		last = th_json_get_str(it.val, "type");
		th_buf_clear(&shown);
		show_action(it.val, &shown);
		say("side", th_buf_str(&shown));
	}
	if (!th_str_is(last, "screenshot"))
		say("side", TH_STR("screenshot"));
	blob.hash = th_sha256_of(blob.bytes.ptr, blob.bytes.len);
	th_digest_hex(&blob.hash, hex);
	th_buf_printf(
	    &output,
	    "[{\"type\":\"image\",\"media_type\":\"image/png\",\"blob\":\"%s\",\"size\":4,"
	    "\"width\":1024,\"height\":768}]",
	    hex);
	result.output = th_buf_str(&output);
	th_json_free(doc);
	th_driver_tool_done(d, call->ticket, &result);
	th_buf_deinit(&output);
	th_buf_deinit(&shown);
	(void)host;
}

/* ---- code -------------------------------------------------------------------------------- */

static bool holds(struct th_str all, struct th_str part)
{
	return part.len && all.len >= part.len && memmem(all.ptr, all.len, part.ptr, part.len);
}

static enum th_asked ask_guard(struct host *host, const struct th_code_ask *q,
			       const struct th_json *in, struct th_buf *answer, struct th_err *err)
{
	const struct th_json *g =
	    th_json_getn(th_json_get(th_json_get(host->spec, "codes"), "guards"), q->function);
	struct th_str stage = th_json_get_str(in, "stage");
	const char *of = th_str_is(stage, "input")        ? "input"
			 : th_str_is(stage, "output")     ? "output"
			 : th_str_is(stage, "tool_input") ? "arguments"
							  : "output";
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	int64_t delay = th_json_get_int(g, "delay_ms", 0);
	struct th_str fails = th_json_get_str(g, "fails");
	struct wait *later;
	bool trips;

	if (fails.ptr) {
		*err = (struct th_err){ 0 };
		(void)!th_fail(err, TH_EPROTO, "%.*s", TH_FMT(fails));
		return TH_ASKED_FAILED;
	}
	th_json_print(th_json_get(in, of), &text);
	trips = th_json_bool(th_json_get(g, "always"), false) ||
		holds(th_buf_str(&text), th_json_get_str(g, "trip_if_contains"));
	th_buf_deinit(&text);
	if (trips && th_json_get_str(g, "reject").ptr) {
		struct th_jw w = th_jw(answer);

		th_jw_object(&w);
		th_jw_kstr(&w, "message", th_json_get_str(g, "reject"));
		th_jw_object_end(&w);
	} else {
		th_buf_add_cstr(answer, trips ? "true" : "false");
	}
	if (!delay)
		return TH_ASKED_ANSWERED;
	later = wait_new(host, q->ticket, delay);
	later->code = true;
	th_buf_add(&later->output, th_buf_str(answer));
	return TH_ASKED_LATER;
}

/* A patch's operations stand in its text; what else there is in an argument of its own. */
static bool argument_is(const struct th_json *args, const struct th_json *approval)
{
	struct th_str arg = th_json_get_str(approval, "arg");
	const struct th_json *equals = th_json_get(approval, "equals"),
			     *v = th_json_getn(args, arg);
	struct th_json_iter it = th_json_iter(v);
	bool same = v && th_json_equal(v, equals);

	if (th_json_get(args, "patch"))
		return holds(th_json_get_str(args, "patch"), th_json_str(equals));
	while (th_json_is_array(v) && th_json_next(&it))
		same |= th_json_equal(it.val, equals);
	return same;
}

static bool is_tool_item(const struct th_json *v)
{
	struct th_str type = th_json_get_str(v, "type");

	return type.len && !th_str_is(type, "message");
}

/* An item as a filter gives it back; `ids`: reasoning keeps its id. */
static void put_item(const struct th_json *v, bool ids, struct th_jw *w)
{
	struct th_json_iter it = th_json_iter(v);

	if (ids || !th_str_is(th_json_get_str(v, "type"), "reasoning")) {
		th_jw_json(w, v);
		return;
	}
	th_jw_object(w);
	while (th_json_next(&it))
		if (!th_str_is(it.key, "id")) {
			th_jw_key(w, it.key);
			th_jw_json(w, it.val);
		}
	th_jw_object_end(w);
}

/* Filters that empty lists of what they are shown. */
static const struct {
	const char *name, *answer;
} parts_filters[] = {
	{ "drop_history", "{\"input_history\":[]}" },
	{ "drop_pre", "{\"pre_handoff_items\":[]}" },
	{ "drop_new", "{\"new_items\":[]}" },
	{ "drop_all", "{\"input_history\":[],\"pre_handoff_items\":[],\"new_items\":[]}" },
	{ "begin_anew", "{\"input_history\":\"anew\"}" },
	{ "only_new_items", "{\"input_history\":\"filtered\",\"pre_handoff_items\":[]}" },
};

/* The next agent sees of the turn what was said in it. */
static void put_messages(const struct th_json *items, struct th_jw *w)
{
	struct th_json_iter it = th_json_iter(items);

	th_jw_object(w);
	th_jw_key(w, TH_STR("input_items"));
	th_jw_array(w);
	while (th_json_next(&it))
		if (!is_tool_item(it.val))
			th_jw_json(w, it.val);
	th_jw_array_end(w);
	th_jw_object_end(w);
}

/* A history in a program's own form: how many items there were, the first, and the last two. */
static void put_summary(const struct th_json *items, struct th_jw *w)
{
	const struct th_json *first = th_json_at(items, 0);
	struct th_str said = th_json_get_str(first, "content");
	size_t count = th_json_count(items);
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	th_buf_printf(&text, "%zu items, first ", count);
	th_buf_add(&text, said.len ? said : th_json_get_str(first, "type"));
	th_jw_array(w);
	th_jw_object(w);
	th_jw_kstr(w, "role", TH_STR("user"));
	th_jw_kstr(w, "content", th_buf_str(&text));
	th_jw_object_end(w);
	for (size_t i = count - TH_MIN(count, (size_t)2); i < count; i++)
		th_jw_json(w, th_json_at(items, i));
	th_jw_array_end(w);
	th_buf_deinit(&text);
}

static enum th_asked ask_filter(const struct th_code_ask *q, const struct th_json *in,
				struct th_buf *answer)
{
	const struct th_json *items = th_json_get(in, "items");
	struct th_json_iter it = th_json_iter(items);
	struct th_jw w = th_jw(answer);
	size_t count = th_json_count(items), from = 0;
	bool tools = !th_str_is(q->function, "remove_all_tools");
	bool ids = !holds(q->function, TH_STR("omit_reasoning_ids"));

	if (th_str_is(q->function, "invalid")) {
		th_jw_str(&w, TH_STR("nope"));
		return TH_ASKED_ANSWERED;
	}
	for (size_t i = 0; i < TH_COUNT(parts_filters); i++) {
		if (!th_str_is(q->function, parts_filters[i].name))
			continue;
		th_buf_add_cstr(answer, parts_filters[i].answer);
		return TH_ASKED_ANSWERED;
	}
	if (th_str_is(q->function, "messages_of_new")) {
		put_messages(th_json_get(in, "new_items"), &w);
		return TH_ASKED_ANSWERED;
	}
	if (th_str_is(q->function, "count_and_last")) {
		put_summary(items, &w);
		return TH_ASKED_ANSWERED;
	}
	if (holds(q->function, TH_STR("keep_last")))
		from = count ? count - 1 : 0;
	th_jw_array(&w);
	while (th_json_next(&it))
		if (it.index >= from && (tools || !is_tool_item(it.val)))
			put_item(it.val, ids, &w);
	th_jw_array_end(&w);
	return TH_ASKED_ANSWERED;
}

/* What a task begins with: a program's way to join what was before to what is new. */
static enum th_asked ask_session_input(const struct th_code_ask *q, const struct th_json *in,
				       struct th_buf *answer)
{
	const struct th_json *history = th_json_get(in, "history");
	size_t count = th_json_count(history), from = 0;
	struct th_jw w = th_jw(answer);

	if (th_str_is(q->function, "invalid")) {
		th_jw_str(&w, TH_STR("nope"));
		return TH_ASKED_ANSWERED;
	}
	if (th_str_is(q->function, "new_only") || th_str_is(q->function, "drop_history"))
		from = count;
	else if (th_str_is(q->function, "keep_last"))
		from = count ? count - 1 : 0;
	th_jw_array(&w);
	for (size_t i = from; i < count && !th_str_is(q->function, "new_first"); i++)
		th_jw_json(&w, th_json_at(history, i));
	for (struct th_json_iter it = th_json_iter(th_json_get(in, "input")); th_json_next(&it);)
		th_jw_json(&w, it.val);
	for (size_t i = from; i < count && th_str_is(q->function, "new_first"); i++)
		th_jw_json(&w, th_json_at(history, i));
	th_jw_array_end(&w);
	return TH_ASKED_ANSWERED;
}

/* Whether a tool's result is the final output: of any result, or of one that says this. */
static enum th_asked ask_tool_use(const struct host *host, const struct th_code_ask *q,
				  const struct th_json *in, struct th_buf *answer)
{
	const struct th_json *rule =
	    th_json_getn(th_json_get(th_json_get(host->spec, "codes"), "tool_use"), q->function);
	const struct th_json *when = th_json_get(rule, "when_output"),
			     *output = th_json_get(rule, "final");
	struct th_str tool = th_json_get_str(rule, "when_tool");
	struct th_json_iter it = th_json_iter(th_json_get(in, "results"));
	struct th_jw w = th_jw(answer);

	while (th_json_next(&it)) {
		const struct th_json *said = th_json_get(it.val, "output");

		if ((when && !th_json_equal(when, said)) ||
		    (tool.len && !th_str_eq(tool, th_json_get_str(it.val, "tool"))))
			continue;
		th_jw_object(&w);
		th_jw_kbool(&w, "final", true);
		th_jw_key(&w, TH_STR("output"));
		th_jw_json(&w, output ? output : said);
		th_jw_object_end(&w);
		return TH_ASKED_ANSWERED;
	}
	th_buf_add_cstr(answer, "null");
	return TH_ASKED_ANSWERED;
}

/* The words of the SDK; its formatter's, where the case has one. */
static enum th_asked ask_text(const struct host *host, const struct th_json *in,
			      struct th_buf *answer)
{
	const struct th_json *texts = th_json_get(th_json_get(host->spec, "codes"), "texts");
	struct th_str kind = th_json_get_str(in, "kind"), tool = th_json_get_str(in, "tool");
	struct th_str message = th_json_get_str(in, "message");
	struct th_str given;
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(answer);

	given = th_json_str(th_json_getn(texts, kind));
	if (th_str_is(kind, "rejected") && !th_str_is(message, TH_REJECTED) &&
	    !th_str_is(message, TH_CODE_REJECTED))
		th_buf_add(&text, message);
	else if (given.len)
		th_buf_add(&text, given);
	else if (th_str_is(kind, "rejected"))
		th_buf_add_cstr(&text, "Tool execution was not approved.");
	else if (th_str_is(kind, "unknown_tool"))
		th_buf_printf(&text, "Tool '%.*s' not found.", TH_FMT(tool));
	else if (holds(message, TH_STR("are not usable")))
		th_buf_printf(&text,
			      "An error occurred while running the tool. Please try again. Error: "
			      "Invalid JSON input for tool %.*s",
			      TH_FMT(tool));
	else
		th_buf_add(&text, th_json_get_str(in, "text"));
	th_jw_str(&w, th_buf_str(&text));
	th_buf_deinit(&text);
	return TH_ASKED_ANSWERED;
}

static const struct th_json *approval_of(const struct host *host, struct th_str tool)
{
	const struct th_json *all = th_json_get(th_json_get(host->spec, "codes"), "approvals");
	ptrdiff_t dot = th_str_find_char(tool, '.');

	tool.len = dot >= 0 ? (size_t)dot : tool.len; /* of a server: by its label */
	return th_json_getn(all, tool);
}

/* Whether a person is asked, where that hangs on an argument; what cannot be read is asked about.
 */
static enum th_asked ask_approval(const struct host *host, const struct th_json *in,
				  struct th_buf *answer)
{
	const struct th_json *a = approval_of(host, th_json_get_str(in, "tool"));
	const struct th_json *args = th_json_get(in, "arguments");
	bool asks = th_json_bool(th_json_get(a, "always"), false);

	if (a && th_json_get(a, "arg"))
		asks |= !th_json_is_object(args) || argument_is(args, a);
	th_buf_add_cstr(answer, asks ? "true" : "null");
	return TH_ASKED_ANSWERED;
}

/* The callback that decides in a person's place. */
static enum th_asked ask_decision(const struct host *host, const struct th_json *in,
				  struct th_buf *answer)
{
	const struct th_json *a = approval_of(host, th_json_get_str(in, "tool"));
	const struct th_json *callback = th_json_get(a, "callback");
	struct th_jw w = th_jw(answer);

	if (th_json_type(th_json_get(callback, "approve")) != TH_JSON_BOOL) {
		th_buf_add_cstr(answer, "null");
		return TH_ASKED_ANSWERED;
	}
	th_jw_object(&w);
	th_jw_kbool(&w, "approve", th_json_bool(th_json_get(callback, "approve"), false));
	th_jw_kstr(&w, "message", th_json_get_str(callback, "reason"));
	th_jw_object_end(&w);
	return TH_ASKED_ANSWERED;
}

/* What the SDK's exceptions say. */
static void failure_words(struct th_str class, struct th_str message, struct th_str agent,
			  int64_t turns, struct th_buf *out)
{
	static const struct {
		const char *class, *words;
	} known[] = {
		{ "input_guardrail", "Guardrail InputGuardrail triggered tripwire" },
		{ "output_guardrail", "Guardrail OutputGuardrail triggered tripwire" },
		{ "tool_input_guardrail",
		  "Tool input guardrail ToolInputGuardrail triggered tripwire" },
		{ "tool_output_guardrail",
		  "Tool output guardrail ToolOutputGuardrail triggered tripwire" },
		{ "output", "Invalid JSON when parsing model output" },
	};
	struct th_str rest = message, name;

	for (size_t i = 0; i < TH_COUNT(known); i++)
		if (th_str_is(class, known[i].class)) {
			th_buf_add_cstr(out, known[i].words);
			return;
		}
	(void)th_str_split(&rest, '"');
	name = th_str_split(&rest, '"');
	if (th_str_is(class, "limit"))
		th_buf_printf(out, "Max turns (%lld) exceeded", (long long)turns);
	else if (th_str_is(class, "refused"))
		th_buf_printf(out, "Model refused to produce output: %.*s", TH_FMT(message));
	else if (holds(message, TH_STR("there is no tool named")))
		th_buf_printf(out, "Tool %.*s not found in agent %.*s", TH_FMT(name),
			      TH_FMT(agent));
	else
		th_buf_add(out, message);
}

static enum th_asked ask_agent_failed(const struct host *host, const struct th_json *in,
				      struct th_buf *answer)
{
	const struct th_json *d =
	    th_json_getn(th_json_get(th_json_get(host->spec, "codes"), "delegates"),
			 th_json_get_str(in, "tool"));
	struct th_str given = th_json_get_str(th_json_get(d, "failure"), "const");
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(answer);

	if (given.ptr) {
		th_buf_add(&text, given);
	} else {
		th_buf_add_cstr(
		    &text, "An error occurred while running the tool. Please try again. Error: ");
		failure_words(th_json_get_str(in, "class"), th_json_get_str(in, "message"),
			      th_json_get_str(in, "agent"), th_json_get_int(d, "turns", 10), &text);
	}
	th_jw_str(&w, th_buf_str(&text));
	th_buf_deinit(&text);
	return TH_ASKED_ANSWERED;
}

static enum th_asked ask(void *ctx, const struct th_code_ask *q, struct th_buf *answer,
			 struct th_err *err)
{
	struct host *host = ctx;
	struct th_json_doc *doc = NULL;
	enum th_asked asked = TH_ASKED_NOTHING;

	if (th_json_parse(q->input, &doc, err))
		return TH_ASKED_FAILED;
	if (q->kind == TH_ASK_GUARDRAIL)
		asked = ask_guard(host, q, th_json_root(doc), answer, err);
	else if (q->kind == TH_ASK_FILTER)
		asked = ask_filter(q, th_json_root(doc), answer);
	else if (q->kind == TH_ASK_SESSION_INPUT)
		asked = ask_session_input(q, th_json_root(doc), answer);
	else if (q->kind == TH_ASK_TOOL_USE)
		asked = ask_tool_use(host, q, th_json_root(doc), answer);
	else if (q->kind == TH_ASK_APPROVAL)
		asked = ask_approval(host, th_json_root(doc), answer);
	else if (q->kind == TH_ASK_TEXT &&
		 th_str_is(th_json_get_str(th_json_root(doc), "kind"), "agent_failed"))
		asked = ask_agent_failed(host, th_json_root(doc), answer);
	else if (q->kind == TH_ASK_DECISION)
		asked = ask_decision(host, th_json_root(doc), answer);
	else if (q->kind == TH_ASK_TEXT)
		asked = ask_text(host, th_json_root(doc), answer);
	th_json_free(doc);
	return asked;
}

/* A wait that nobody wants any more ends as a miss. */
static void cancel(void *ctx, struct th_ticket t)
{
	(void)ctx, (void)t;
}

static const struct th_callbacks_ops code_ops = { .ask = ask, .cancel = cancel };

/* ---- the session ------------------------------------------------------------------------- */

static bool is_at_rest(const struct host *host)
{
	struct th_driver *d = th_runtime_driver(host->rt);
	const struct th_session *s = th_driver_session(d, host->h);
	bool busy = !s || !th_session_rests(s) || !th_driver_durable(d, host->h);

	for (size_t i = 0; s && i < s->call_count; i++)
		busy |= s->calls[i].phase == TH_CALL_INTENDED &&
			s->calls[i].child != TH_CALL_CHILD_WAITS;
	return !busy;
}

static void look(struct host *host)
{
	if ((host->waiting && is_at_rest(host)) ||
	    (host->saving && th_driver_durable(th_runtime_driver(host->rt), host->h)))
		th_loop_stop(th_runtime_loop(host->rt));
}

/* Of the session that `path` leads to, the names of those between it and ours. */
struct path {
	struct host *host;
	const struct path *above;
	struct th_str id;
	uint64_t *seq;
};

static void put_path(const struct path *p, struct th_jw *w)
{
	if (!p)
		return;
	put_path(p->above, w);
	th_jw_str(w, p->id);
}

static void tell_child(struct host *host, const struct path *above, struct th_str id);

static void tell_event(struct host *host, const struct path *p, const struct th_event *ev)
{
	struct th_buf b = TH_BUF_INIT(TH_EVENT_DATA_MAX * 2);
	struct th_jw w = th_jw(&b);
	struct th_json_doc *doc = NULL;
	struct th_err err = { 0 };

	/* What it did stands before what became of it. */
	if (ev->kind == TH_EV_DELEGATION_WAITS || ev->kind == TH_EV_DELEGATION_FINISHED) {
		if (th_json_parse(ev->data, &doc, &err))
			die(&err);
		tell_child(host, p, th_json_get_str(th_json_root(doc), "child"));
		th_json_free(doc);
	}
	th_jw_object(&w);
	th_jw_kstr(&w, "kind", th_str_of(th_event_name(ev->kind)));
	th_jw_kstr(&w, "source", th_str_of(th_source_name(ev->source)));
	th_jw_key(&w, TH_STR("sessions"));
	th_jw_array(&w);
	put_path(p, &w);
	th_jw_array_end(&w);
	th_jw_kraw(&w, "data", ev->data);
	th_jw_object_end(&w);
	line(&b);
}

static enum th_code tell_next(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			      struct th_err *err)
{
	const struct path *p = ctx;

	(void)digest, (void)err;
	*p->seq = ev->seq;
	tell_event(p->host, p, ev);
	return TH_OK;
}

/* What is new in the log of a session that works for ours. */
static void tell_child(struct host *host, const struct path *above, struct th_str id)
{
	struct th_store *store = th_runtime_store(host->rt);
	struct path p = { host, above, id, NULL };
	struct th_err err = { 0 };
	size_t i = 0;

	while (i < host->child_count && !th_str_eq(th_buf_str(&host->children[i].id), id))
		i++;
	if (i == CHILDREN_MAX)
		abort();
	if (i == host->child_count) {
		th_buf_init(&host->children[i].id, TH_SESSION_ID_MAX + 1);
		th_buf_add(&host->children[i].id, id);
		host->child_count++;
	}
	p.seq = &host->children[i].seq;
	if (store->kind->read(store, id, *p.seq + 1, 0, tell_next, &p, &err))
		die(&err);
}

/* Whether an event of the log is the stream's event of that name. */
static bool is_stream_event(const struct th_event *ev, struct th_str name)
{
	static const struct {
		const char *name;
		enum th_event_kind kind;
		const char *holds;
	} known[] = {
		{ "tool_called", TH_EV_MODEL_ANSWERED, "_call\"" },
		{ "handoff_requested", TH_EV_MODEL_ANSWERED, "\"transfer_to_" },
		{ "message_output_created", TH_EV_MODEL_ANSWERED, "\"message\"" },
		{ "reasoning_item_created", TH_EV_MODEL_ANSWERED, "\"reasoning\"" },
		{ "tool_output", TH_EV_OUTCOME, "" },
		{ "handoff_occured", TH_EV_HANDOFF, "" },
		{ "agent_updated", TH_EV_MODEL_REQUESTED, "" },
	};

	for (size_t i = 0; i < TH_COUNT(known); i++)
		if (th_str_starts(name, th_str_of(known[i].name)) && ev->kind == known[i].kind)
			return th_str_find(ev->data, th_str_of(known[i].holds)) >= 0;
	return false;
}

/* A run that is cancelled stops at once, or with the first request after its turn. */
static void cancel_by(struct host *host, const struct th_event *ev)
{
	bool stops = ev->kind == TH_EV_MODEL_REQUESTED && host->cancel.turn;
	struct th_err err = { 0 };

	if (host->cancel.event.len && is_stream_event(ev, host->cancel.event)) {
		host->cancel.event = (struct th_str){ NULL, 0 };
		host->cancel.turn = true;
		stops = stops || host->cancel.now;
	}
	if (!stops)
		return;
	host->cancel.turn = false;
	if (th_driver_set_state(th_runtime_driver(host->rt), host->h, TH_STATE_STOPPED,
				TH_STR("cancelled"), &err))
		die(&err);
}

static void on_event(void *ctx, struct th_handle h, const struct th_event *ev)
{
	(void)h;
	tell_event(ctx, NULL, ev);
	cancel_by(ctx, ev);
	look(ctx);
}

static void on_rest(void *ctx, struct th_handle h, const struct th_session *s,
		    const struct th_err *err)
{
	(void)h, (void)s;
	if (err)
		die(err);
	look(ctx);
}

static void on_ready(void *ctx, struct th_handle h, const struct th_err *err)
{
	struct host *host = ctx;

	if (err && host->ready)
		die(err);
	if (err)
		not_started(err);
	host->h = h;
	host->ready = true;
	look(host);
}

static void open_session(struct host *host, bool again)
{
	struct th_runtime_options options = {
		.store_url = th_json_get_str(host->spec, "store"),
		.store_create = true,
		.config = host->config,
		.no_sandbox = true,
	};
	struct th_start start = {
		.session_id = th_str_of(host->id),
		.agent = again ? NULL : &host->agent,
		.tools = host->rows,
		.tool_count = host->row_count,
		.callbacks = &host->callbacks,
		.computer = &host->computer,
	};
	struct th_observer see = { .event = on_event, .rest = on_rest, .ctx = host };
	struct th_err err = { 0 };

	if (!host->rt && th_runtime_new(&options, &host->rt, &err))
		die(&err);
	if (th_runtime_start(host->rt, &start, again, &see, on_ready, host, &err)) {
		if (again)
			die(&err);
		not_started(&err);
	}
}

static void begin_session(struct host *host)
{
	snprintf(host->id, sizeof(host->id), "case%u", host->sessions++);
	open_session(host, false);
}

/* A restart loses what nobody could know of yet; a state that was handed out is known. */
static void reopen(struct host *host)
{
	host->saving = true;
	if (!th_driver_durable(th_runtime_driver(host->rt), host->h))
		th_loop_run(th_runtime_loop(host->rt));
	host->saving = false;
	waits_free(host);
	th_runtime_close(host->rt, host->h, false);
	host->rt = th_runtime_free(host->rt);
	open_session(host, true);
}

static void until_it_rests(struct host *host)
{
	host->waiting = true;
	if (!is_at_rest(host))
		th_loop_run(th_runtime_loop(host->rt));
	host->waiting = false;
}

static enum th_code add_transcript(void *ctx, const struct th_event *ev,
				   const struct th_digest *digest, struct th_err *err)
{
	(void)digest;
	return th_transcript_add(ctx, ev, err);
}

static void show_items(struct host *host)
{
	struct th_store *store = th_runtime_store(host->rt);
	struct th_transcript transcript;
	struct th_buf b = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&b);
	struct th_err err = { 0 };

	th_transcript_init(&transcript, false);
	if (store->kind->read(store, th_str_of(host->id), 1, 0, add_transcript, &transcript, &err))
		die(&err);
	th_jw_object(&w);
	th_jw_key(&w, TH_STR("items"));
	th_jw_array(&w);
	for (size_t i = 0; i < transcript.count; i++)
		th_transcript_print(&transcript.list[i], &w);
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	line(&b);
	th_transcript_deinit(&transcript);
}

/* The SDK's decisions are about what an interruption lists. */
static enum th_code decide(struct host *host, const struct th_json *v, bool approve,
			   struct th_err *err)
{
	struct th_driver *d = th_runtime_driver(host->rt);
	struct th_buf name = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str call_id = th_json_get_str(v, "call_id");
	enum th_code code;

	if (!call_id.len || !th_driver_waits(d, host->h, TH_CALL_ASKED, call_id, &name))
		th_buf_add(&name, call_id);
	code = th_driver_decide_as(d, host->h, th_buf_str(&name), approve,
				   th_json_bool(th_json_get(v, "always"), false), TH_STR("tester"),
				   th_json_get_str(v, "message"), err);
	th_buf_deinit(&name);
	return code;
}

static void step(struct host *host, const struct th_json *v)
{
	struct th_driver *d = th_runtime_driver(host->rt);
	struct th_str op = th_json_get_str(v, "op");
	const struct th_json *input = th_json_get(v, "input");
	struct th_buf list = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_err err = { 0 };
	enum th_code code = TH_OK;

	if (th_json_is_array(input))
		th_json_print(input, &list);
	if (th_str_is(op, "run")) {
		host->cancel.event = th_json_get_str(v, "cancel_after_event");
		host->cancel.now = !th_str_is(th_json_get_str(v, "cancel_mode"), "after_turn");
		host->cancel.turn = false;
	}
	if (th_str_is(op, "run") && list.len)
		code = th_driver_items_add(d, host->h, th_buf_str(&list), true, &err);
	else if (th_str_is(op, "add_input") && list.len)
		code = th_driver_items_add(d, host->h, th_buf_str(&list), false, &err);
	else if (th_str_is(op, "run") || th_str_is(op, "add_input"))
		code = th_driver_message(d, host->h, th_json_str(input), &err);
	else if (th_str_is(op, "preload"))
		code = th_driver_items_add(d, host->h, th_buf_str(&list), false, &err);
	else if (th_str_is(op, "approve") || th_str_is(op, "reject"))
		code = decide(host, v, th_str_is(op, "approve"), &err);
	else if (th_str_is(op, "pause"))
		code = th_driver_set_state(d, host->h, TH_STATE_PAUSED, TH_STR("held"), &err);
	else if (th_str_is(op, "wait"))
		until_it_rests(host);
	else if (th_str_is(op, "items"))
		show_items(host);
	else if (th_str_is(op, "go"))
		code = th_driver_resume(d, host->h, &err);
	else if (th_str_is(op, "reopen"))
		reopen(host);
	else if (th_str_is(op, "fresh")) {
		th_runtime_close(host->rt, host->h, true);
		begin_session(host);
	}
	th_buf_deinit(&list);
	if (code)
		say("refused", th_str_of(err.msg));
}

int main(void)
{
	struct th_buf text = TH_BUF_INIT(TH_CONFIG_SIZE_MAX);
	struct th_json_doc *doc = NULL;
	struct th_arena memory;
	struct host host = { 0 };
	struct th_err err = { 0 };
	struct th_json_iter it;
	char part[4096];
	ssize_t got;

	while ((got = read(STDIN_FILENO, part, sizeof(part))) > 0)
		th_buf_add(&text, th_str_n(part, (size_t)got));
	th_arena_init(&memory, TH_CONFIG_SIZE_MAX * 4);
	if (th_json_parse(th_buf_str(&text), &doc, &err))
		die(&err);
	host.spec = th_json_root(doc);
	host.computer =
	    (struct th_tool_row){ .spec = { .name = TH_STR("computer"), .class = TH_CLASS_W },
				  .local = run_computer,
				  .ctx = &host };
	host.callbacks = (struct th_callbacks){ &code_ops, &host };
	if (th_table_parse(&th_agent_table, th_json_get(host.spec, "agent"), &memory, &host.agent,
			   &err))
		die(&err);
	for (it = th_json_iter(th_json_get(host.spec, "tools"));
	     th_json_next(&it) && host.row_count < TOOLS_MAX;) {
		struct th_tool_row *row = &host.rows[host.row_count++];

		*row = (struct th_tool_row){
			.spec = { .name = th_json_get_str(it.val, "name"),
				  .schema = th_json_text(th_json_get(it.val, "schema"), &memory),
				  .class = TH_CLASS_W,
				  .ask = th_json_bool(th_json_get(it.val, "ask"), false),
				  .native = native_of(it.val) },
			.local = run_tool,
			.ctx = &host,
		};
	}
	if (th_config_load(TH_STR(""), &host.config, &err))
		die(&err);
	begin_session(&host);
	for (it = th_json_iter(th_json_get(host.spec, "steps")); th_json_next(&it);) {
		say("step", th_json_get_str(it.val, "op"));
		step(&host, it.val);
	}
	waits_free(&host);
	th_runtime_close(host.rt, host.h, true);
	th_runtime_free(host.rt);
	th_config_free(host.config);
	for (size_t i = 0; i < host.child_count; i++)
		th_buf_deinit(&host.children[i].id);
	th_json_free(doc);
	th_arena_deinit(&memory);
	th_buf_deinit(&text);
	return 0;
}
