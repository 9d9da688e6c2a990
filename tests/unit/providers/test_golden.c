/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_golden.c - the stories of tests/golden/WIRE: items and the exact request
 * they make; answers, whole and cut at every byte, and what they are
 * decoded to.  A story is a text of sections:
 *
 *	== request MODEL [WIDTHxHEIGHT] [body]   {"items":[…],"tools":[…],"agent":{…}}
 *	== is                                    the request; line ends do not count
 *	== answer [STATUS] [crlf] [mark]         a body: JSON or a stream
 *	== is                                    what `plumb decode` prints; line ends do not count
 *	== deltas                                "kind index text" lines, where it
 *is checked
 *	== body                                  a request's body as a server gets it
 *	== is                                    the unified form, which makes the same body again
 *
 * GOLDEN_UPDATE=1 writes what is found in the place of what was expected.
 */
#include "unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "profiles/plumb.h"

static struct th_buf file, updated;
static const char *story;
static const char *model; /* whose wire reads the answers */
static bool update;

static void no_line_ends(struct th_str s, struct th_buf *out)
{
	th_buf_clear(out);
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] != '\n')
			th_buf_add_char(out, s.ptr[i]);
}

/* Objects of a list on lines of their own. */
static void wrapped(struct th_str s, struct th_buf *out)
{
	for (ptrdiff_t at; (at = th_str_find(s, TH_STR("},{"))) >= 0;
	     s = th_str_sub(s, (size_t)at + 2, s.len)) {
		th_buf_add(out, th_str_sub(s, 0, (size_t)at + 2));
		th_buf_add_char(out, '\n');
	}
	th_buf_add(out, s);
}

static void expect(const char *what, struct th_str expected, struct th_str found, bool lines)
{
	struct th_buf plain = TH_BUF_INIT(TH_MIB);

	if (lines)
		th_buf_add(&plain, expected);
	else
		no_line_ends(expected, &plain);
	if (update) {
		if (lines)
			th_buf_add(&updated, found);
		else
			wrapped(found, &updated);
		if (!th_str_ends(found, TH_STR("\n")) && found.len)
			th_buf_add_char(&updated, '\n');
	} else if (!th_str_eq(th_buf_str(&plain), found)) {
		print_error("%s: %s\nexpected: %s\nfound:    %.*s\n", story, what, plain.ptr,
			    TH_FMT(found));
		fail();
	}
	th_buf_deinit(&plain);
}

/* ---- requests ---- */

static void take_options(struct th_str *head, struct th_request_options *o)
{
	struct th_err err;
	struct th_str name = th_str_split(head, ' ');

	o->stream = true;
	assert_int_equal(th_model_resolve(name, &o->profile, &o->model, &err), TH_OK);
	while (head->len) {
		struct th_str word = th_str_split(head, ' '), width = th_str_split(&word, 'x');
		int64_t w = 0, h = 0;

		if (th_str_is(width, "body")) {
			o->stream = false;
			continue;
		}
		if (th_str_is(width, "pages")) {
			o->has_pages = true;
			continue;
		}
		assert_true(th_str_i64(width, &w) && th_str_i64(word, &h));
		o->has_computer = true;
		o->screen = (struct th_size){ (int32_t)w, (int32_t)h };
		o->image = th_image_size(o->profile, o->screen);
	}
}

static void run_request(struct th_str head, struct th_str input, struct th_str expected)
{
	struct th_request_options o = { 0 };
	struct th_buf out = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *doc = NULL;
	struct th_tool_spec *tools;
	struct th_agent agent;
	struct th_arena a;
	struct th_err err = { 0 };

	th_arena_init(&a, TH_MIB);
	take_options(&head, &o);
	assert_int_equal(th_json_parse(input, &doc, &err), TH_OK);
	assert_int_equal(th_plumb_tools(input, &a, &tools, &o.tool_count, &err), TH_OK);
	o.tools = tools;
	if (th_json_get(th_json_root(doc), "agent")) {
		assert_int_equal(th_table_parse(&th_agent_table,
						th_json_get(th_json_root(doc), "agent"), &a, &agent,
						&err),
				 TH_OK);
		o.agent = &agent;
	}
	if (th_plumb_encode(&o, input, &out, &err))
		th_buf_printf(&out, "error: %s", err.msg);
	expect("request", expected, th_buf_str(&out), false);
	th_json_free(doc);
	th_arena_deinit(&a);
	th_buf_deinit(&out);
}

/* ---- answers ---- */

static const char *const kinds[] = {
	[TH_DELTA_TEXT] = "text",           [TH_DELTA_REASONING] = "reasoning",
	[TH_DELTA_ARGUMENTS] = "arguments", [TH_DELTA_ITEM] = "item",
	[TH_DELTA_REFUSAL] = "refusal",     [TH_DELTA_SEALED] = "sealed",
};

static void hear(void *ctx, enum th_delta_kind kind, size_t index, struct th_str text)
{
	th_buf_printf(ctx, "%s %zu %.*s\n", kinds[kind], index, TH_FMT(text));
}

static void decode(struct th_str body, size_t first, size_t then, int64_t status,
		   struct th_buf *out, struct th_buf *deltas)
{
	const struct th_profile *p;
	struct th_decoder *d;
	struct th_answer answer;
	struct th_str name;

	assert_int_equal(th_model_resolve(th_str_of(model), &p, &name, NULL), TH_OK);
	d = p->wire->decoder_new(p, hear, deltas);
	th_buf_clear(out);
	th_buf_clear(deltas);
	while (body.len) {
		size_t len = TH_MIN(first, body.len);
		char *piece =
		    malloc(len + 1); /* on its own: nothing may be read behind it, or later */

		memcpy(piece, body.ptr, len);
		assert_true(p->wire->feed(d, th_str_n(piece, len)) >= 0);
		free(piece);
		body = th_str_sub(body, len, body.len);
		first = then;
	}
	if (status)
		p->wire->error(d, (int)status, &answer);
	else
		p->wire->end(d, false, &answer);
	th_plumb_answer(&answer, out);
	p->wire->decoder_free(d);
}

static void make_body(struct th_str *head, struct th_str text, int64_t *ret_status,
		      struct th_buf *out)
{
	bool crlf = false;

	while (head->len) {
		struct th_str word = th_str_split(head, ' ');

		if (th_str_is(word, "crlf"))
			crlf = true;
		else if (th_str_is(word, "mark"))
			th_buf_add(out, TH_STR("\xef\xbb\xbf"));
		else
			assert_true(th_str_i64(word, ret_status));
	}
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '\n' && crlf)
			th_buf_add_char(out, '\r');
		th_buf_add_char(out, text.ptr[i]);
	}
}

static void run_answer(struct th_str head, struct th_str text, struct th_str expected,
		       struct th_str expected_deltas, bool has_deltas)
{
	struct th_buf body = TH_BUF_INIT(TH_MIB), whole = TH_BUF_INIT(TH_MIB),
		      out = TH_BUF_INIT(TH_MIB);
	struct th_buf deltas = TH_BUF_INIT(TH_MIB), heard = TH_BUF_INIT(TH_MIB);
	int64_t status = 0;

	make_body(&head, text, &status, &body);
	decode(th_buf_str(&body), SIZE_MAX, 1, status, &whole, &heard);
	for (size_t cut = 1; cut <= body.len; cut++) {
		decode(th_buf_str(&body), cut, SIZE_MAX, status, &out, &deltas);
		assert_string_equal(out.ptr, whole.ptr);
		assert_string_equal(deltas.ptr, heard.ptr);
	}
	decode(th_buf_str(&body), 1, 1, status, &out, &deltas);
	assert_string_equal(out.ptr, whole.ptr);
	assert_string_equal(deltas.ptr, heard.ptr);
	expect("answer", expected, th_buf_str(&whole), false);
	if (has_deltas) {
		if (update)
			th_buf_add_cstr(&updated, "\n== deltas\n");
		expect("deltas", expected_deltas, th_buf_str(&heard), true);
	}
	th_buf_deinit(&body);
	th_buf_deinit(&whole);
	th_buf_deinit(&out);
	th_buf_deinit(&deltas);
	th_buf_deinit(&heard);
}

/* ---- requests as a server gets them ---- */

static void run_body(struct th_str body, struct th_str expected)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB), back = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *given = NULL, *again = NULL;
	const struct th_profile *p;
	struct th_str name;
	struct th_err err = { 0 };

	assert_int_equal(th_model_resolve(th_str_of(model), &p, &name, NULL), TH_OK);
	if (p->wire->request_decode(TH_STR(""), body, &out, &err)) {
		th_buf_printf(&out, "error: %s", err.msg);
	} else {
		assert_int_equal(p->wire->request_encode(th_buf_str(&out), &back, &err), TH_OK);
		assert_int_equal(th_json_parse(body, &given, &err), TH_OK);
		assert_int_equal(th_json_parse(th_buf_str(&back), &again, &err), TH_OK);
		if (!th_json_equal(th_json_root(given), th_json_root(again)))
			fail_msg("%s: the body came back as %s", story, back.ptr);
	}
	expect("unified form", expected, th_buf_str(&out), false);
	th_json_free(given);
	th_json_free(again);
	th_buf_deinit(&out);
	th_buf_deinit(&back);
}

/* ---- files ---- */

/* Up to the next section; a blank line before it belongs to nobody. */
static struct th_str section(struct th_str *rest)
{
	struct th_str text = *rest;
	ptrdiff_t at = th_str_find(text, TH_STR("\n== "));

	if (at >= 0)
		text = th_str_sub(text, 0, (size_t)at);
	*rest = th_str_sub(*rest, text.len + (at >= 0), rest->len);
	return text;
}

static void run_story(struct th_str rest)
{
	th_buf_add(&updated, section(&rest)); /* what it is about */
	th_buf_add_char(&updated, '\n');
	while (rest.len) {
		struct th_str title = th_str_split(&rest, '\n'), body = section(&rest),
			      expected = { 0 };
		struct th_str deltas = { 0 }, head = th_str_sub(title, 3, title.len), kind;
		bool has_deltas = false;

		th_buf_printf(&updated, "%.*s\n%.*s\n", TH_FMT(title), TH_FMT(body));
		kind = th_str_split(&head, ' ');
		if (th_str_starts(rest, TH_STR("== is"))) {
			th_str_split(&rest, '\n');
			expected = section(&rest);
		}
		th_buf_add_cstr(&updated, "== is\n");
		if (th_str_starts(rest, TH_STR("== deltas"))) {
			th_str_split(&rest, '\n');
			deltas = section(&rest);
			has_deltas = true;
		}
		if (th_str_is(kind, "request"))
			run_request(head, body, expected);
		else if (th_str_is(kind, "body"))
			run_body(body, expected);
		else if (th_str_is(kind, "answer"))
			run_answer(head, body, expected, deltas, has_deltas);
		else
			fail_msg("%s: what is \"%.*s\"?", story, TH_FMT(title));
		if (rest.len)
			th_buf_add_char(&updated, '\n');
	}
}

static void run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char block[4096];

	assert_non_null(f);
	th_buf_clear(&file);
	th_buf_clear(&updated);
	for (size_t n; (n = fread(block, 1, sizeof(block), f)) > 0;)
		th_buf_add_mem(&file, block, n);
	fclose(f);
	story = path;
	run_story(th_buf_str(&file));
	if (update) {
		f = fopen(path, "wb");
		assert_non_null(f);
		fwrite(updated.ptr, 1, updated.len, f);
		fclose(f);
	}
}

/* A folder for each wire. */
static const struct {
	const char *name, *model;
	size_t stories_min;
} folders[] = {
	{ "responses", "responses:any", 10 },
	{ "gemini", "gemini-3-flash-preview", 5 },
	{ "interactions", "interactions:gemini-3-flash-preview", 4 },
	{ "messages", "claude-sonnet-4-5", 6 },
	{ "chat", "chat:any", 8 },
};

static void run_folder(size_t i)
{
	const char *root = getenv("SOURCE_DIR");
	char folder[4000], path[4096 + 300];
	struct dirent *entry;
	size_t count = 0;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/tests/golden/%s", root ? root : ".", folders[i].name);
	model = folders[i].model;
	dir = opendir(folder);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (!strstr(entry->d_name, ".txt"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		run_file(path);
		count++;
	}
	closedir(dir);
	assert_true(count >= folders[i].stories_min);
}

static void test_stories(void **state)
{
	(void)state;
	update = getenv("GOLDEN_UPDATE") != NULL;
	th_buf_init(&file, TH_MIB);
	th_buf_init(&updated, TH_MIB);
	for (size_t i = 0; i < TH_COUNT(folders); i++)
		run_folder(i);
	th_buf_deinit(&file);
	th_buf_deinit(&updated);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
