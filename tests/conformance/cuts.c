/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuts.c - recorded streams cut at every byte, fed to the driver in a world of
 * paper: cuts FOLDER, where FOLDER has the folders responses, chat, anthropic,
 * gemini and interactions with *.sse.
 *
 * Every tool that a stream calls is there. After a cut, with the connection
 * broken or ended in order, there is either the answer of the whole stream or a
 * failed attempt that is tried again; no tool runs for the latter. The next
 * attempt gets the whole stream: then every call has run exactly once, with
 * the arguments of the whole stream, and the tokens of the answer count once.
 *
 * Thirteen streams (five on a sanitizer's build), the shortest that call tools; with TH_TORTURE=1
 * all that are no longer than LEN_MAX.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "paper.h"

#define LEN_MAX 24576
#define STREAMS_MAX 256
#define TOOLS_MAX 16
#ifdef TH_SANITIZED
#define QUICK_PER_WIRE 1
#define QUICK 5
#else
#define QUICK_PER_WIRE 3
#define QUICK 13
#endif

struct world {
	struct paper *paper;
	struct th_buf runs;  /* name and arguments of what ran */
	struct th_buf items; /* of the last answer */
	int64_t tokens;      /* of all usages in the log */
	size_t answered, failed, final_failures;
};

/* Never answered: the run stands still behind its first answer. */
static void on_effect(void *own, const struct th_effect_call *call)
{
	struct world *w = own;

	th_buf_printf(&w->runs, "%.*s %.*s\n", TH_FMT(call->tool), TH_FMT(call->arguments));
}

/* ---- what the log says ---- */

static int64_t count_of(struct th_str usage, const char *key)
{
	int64_t n;

	return th_str_i64(th_json_raw_get(usage, key), &n) ? n : 0;
}

static int64_t tokens_of(struct th_str data)
{
	struct th_str usage = th_json_raw_get(data, "usage");

	return count_of(usage, "input") + count_of(usage, "output");
}

static void on_event(void *own, const struct th_event *ev)
{
	struct world *w = own;

	if (ev->kind == TH_EV_MODEL_ANSWERED) {
		w->answered++;
		th_buf_clear(&w->items);
		th_buf_add(&w->items, th_json_raw_get(ev->data, "items"));
		w->tokens += tokens_of(ev->data);
	} else if (ev->kind == TH_EV_MODEL_FAILED) {
		w->failed++;
		w->final_failures += !th_str_is(th_json_raw_get(ev->data, "retry"), "true");
		w->tokens += tokens_of(ev->data);
	}
}

/* ---- a run ---- */

struct stream {
	char name[256];
	struct th_str bytes;
	const struct th_profile *profile;
	struct th_str model;
	struct th_tool_row tools[TOOLS_MAX];
	size_t tool_count;
	char *names; /* of the tools */
};

static struct th_agent agent = { .name = TH_STR_INIT("tester") };

static bool begin(struct world *w, const struct stream *s)
{
	struct th_session_config o = { .agent = &agent,
				       .first = { .profile = s->profile, .model = s->model },
				       .tools = s->tools,
				       .tool_count = s->tool_count };
	struct th_ev_session_created created = { .model = s->model };
	struct th_err err = { 0 };

	*w = (struct world){ .paper = paper_new(),
			     .runs = TH_BUF_INIT(TH_MIB),
			     .items = TH_BUF_INIT(TH_MIB) };
	w->paper->forgetful = true;
	w->paper->on_event = on_event;
	w->paper->on_effect = on_effect;
	w->paper->own = w;
	if (paper_create(w->paper, &o, &created, &err) ||
	    th_driver_message(w->paper->driver, w->paper->h, TH_STR("go"), &err)) {
		printf("%s: %s\n", s->name, err.msg);
		return false;
	}
	paper_settle(w->paper);
	return w->paper->request->open;
}

static void end(struct world *w)
{
	paper_free(w->paper);
	th_buf_deinit(&w->runs);
	th_buf_deinit(&w->items);
}

enum ending { BROKEN, IN_ORDER };

static void answer(struct world *w, struct th_str bytes, enum ending ending)
{
	struct th_model_end done = { .http_status = 200,
				     .ok = ending == IN_ORDER,
				     .failure = TH_FAILURE_CUT,
				     .message = TH_STR("cut"),
				     .hints = { -1, -1 } };

	(void)paper_reply(w->paper, w->paper->request, bytes, &done);
	paper_settle(w->paper);
}

static bool same(const struct th_buf *a, const struct th_buf *b)
{
	return th_str_eq(th_buf_str(a), th_buf_str(b));
}

/* NULL, or what is wrong. */
static const char *cut(const struct stream *s, const struct world *want, size_t at,
		       enum ending ending)
{
	const char *wrong = NULL;
	const struct th_totals *totals;
	struct world w;

	if (!begin(&w, s)) {
		end(&w);
		return "does not begin";
	}
	answer(&w, th_str_sub(s->bytes, 0, at), ending);
	if (w.answered + w.failed != 1)
		wrong = "neither an answer nor a failure";
	else if (w.failed && (w.final_failures || !w.paper->timed || w.paper->request->open))
		wrong = "is not tried again";
	else if (w.failed && w.runs.len)
		wrong = "a failed attempt ran a tool";
	if (!wrong && w.failed) {
		paper_ring(w.paper);
		if (w.paper->request->open)
			answer(&w, s->bytes, IN_ORDER);
		if (w.answered != 1)
			wrong = "the second attempt was not answered";
	}
	if (!wrong && !same(&w.items, &want->items))
		wrong = "another answer";
	if (!wrong && !same(&w.runs, &want->runs))
		wrong = "other calls";
	totals = &paper_fold(w.paper)->totals;
	if (!wrong && totals->tokens_in + totals->tokens_out != w.tokens)
		wrong = "tokens are not counted once";
	end(&w);
	return wrong;
}

static size_t passed, wrongs;

static void sweep(const struct stream *s)
{
	struct world want;

	if (!begin(&want, s)) {
		wrongs++;
		end(&want);
		return;
	}
	answer(&want, s->bytes, IN_ORDER);
	if (want.answered != 1 || !want.runs.len) {
		printf("%s: the whole stream runs no tool\n", s->name);
		wrongs++;
	}
	for (size_t at = 0; at <= s->bytes.len; at++)
		for (int ending = BROKEN; ending <= IN_ORDER; ending++) {
			const char *wrong = cut(s, &want, at, (enum ending)ending);

			passed += !wrong;
			if (wrong && wrongs++ < 40)
				printf("%s: cut at %zu of %zu, %s: %s\n", s->name, at, s->bytes.len,
				       ending == BROKEN ? "broken" : "in order", wrong);
		}
	end(&want);
}

/* ---- streams ---- */

static struct stream streams[STREAMS_MAX];
static size_t stream_count;

/* Every function that the answer calls becomes a tool. */
static void find_tools(struct stream *s, struct th_str items)
{
	struct th_json_raw_iter it = th_json_raw_iter(items);

	while (th_json_raw_next(&it) && s->tool_count < TOOLS_MAX) {
		struct th_str name = th_json_raw_get(it.val, "name");
		bool known = name.len <= 2;

		if (!th_str_is(th_json_raw_get(it.val, "type"), "\"function_call\""))
			continue;
		name = th_str_sub(name, 1, name.len - 2);
		for (size_t i = 0; i < s->tool_count; i++)
			known = known || th_str_eq(s->tools[i].spec.name, name);
		if (known)
			continue;
		s->tools[s->tool_count++] = (struct th_tool_row){
			.spec = { .name = th_str_of(strndup(name.ptr, name.len)),
				  .schema = TH_STR("{\"type\":\"object\"}"),
				  .class = TH_CLASS_W },
		};
	}
}

/* Whether the stream is a whole answer that calls functions. */
static bool fits(struct stream *s)
{
	const struct th_wire *wire = s->profile->wire;
	struct th_decoder *d = wire->decoder_new(s->profile, NULL, NULL);
	struct th_answer a = { 0 };

	if (wire->feed(d, s->bytes) >= 0) {
		wire->end(d, false, &a);
		if (a.status == TH_ANSWER_COMPLETED)
			find_tools(s, a.items);
	}
	wire->decoder_free(d);
	return s->tool_count > 0;
}

static void stream_free(struct stream *s)
{
	for (size_t i = 0; i < s->tool_count; i++)
		free((char *)(uintptr_t)s->tools[i].spec.name.ptr);
	free((char *)(uintptr_t)s->bytes.ptr);
}

static void load_file(const char *path, const char *name, const char *model)
{
	struct stream *s = &streams[stream_count];
	FILE *f = fopen(path, "rb");
	char *ptr = th_alloc(LEN_MAX + 1);

	*s = (struct stream){ 0 };
	s->bytes = th_str_n(ptr, f ? fread(ptr, 1, LEN_MAX + 1, f) : 0);
	if (f)
		fclose(f);
	snprintf(s->name, sizeof(s->name), "%s", name);
	if (s->bytes.len && s->bytes.len <= LEN_MAX &&
	    !th_model_resolve(th_str_of(model), &s->profile, &s->model, NULL) && fits(s))
		stream_count++;
	else
		stream_free(s);
}

static int by_length(const void *a, const void *b)
{
	const struct stream *x = a, *y = b;

	if (x->bytes.len != y->bytes.len)
		return x->bytes.len < y->bytes.len ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void load(const char *root, const char *folder, const char *model, size_t max)
{
	char path[4096];
	size_t from = stream_count;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", root, folder);
	dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir)) && stream_count < STREAMS_MAX;) {
		if (!th_str_ends(th_str_of(e->d_name), TH_STR(".sse")))
			continue;
		if (snprintf(path, sizeof(path), "%s/%s/%s", root, folder, e->d_name) <
		    (int)sizeof(path))
			load_file(path, e->d_name, model);
	}
	if (dir)
		closedir(dir);
	qsort(streams + from, stream_count - from, sizeof(*streams), by_length);
	while (stream_count - from > max)
		stream_free(&streams[--stream_count]);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *folder, *model;
	} wires[] = {
		{ "responses", "gpt-5.4" },
		{ "chat", "chat:any" },
		{ "anthropic", "claude-sonnet-4-5" },
		{ "gemini", "gemini-2.5-flash" },
		{ "interactions", "interactions:gemini-2.5-flash" },
	};
	const char *all = getenv("TH_TORTURE");
	size_t max = all && *all ? STREAMS_MAX : QUICK_PER_WIRE;

	if (argc != 2) {
		fprintf(stderr, "usage: cuts FOLDER\n");
		return 2;
	}
	for (size_t i = 0; i < TH_COUNT(wires); i++) {
		size_t room = max == QUICK_PER_WIRE ? QUICK - TH_MIN(stream_count, (size_t)QUICK)
						    : STREAMS_MAX;

		load(argv[1], wires[i].folder, wires[i].model, TH_MIN(max, room));
	}
	for (size_t i = 0; i < stream_count; i++) {
		sweep(&streams[i]);
		stream_free(&streams[i]);
	}
	printf("%zu streams: %zu passed, %zu failed\n", stream_count, passed, wrongs);
	return wrongs || !stream_count;
}
