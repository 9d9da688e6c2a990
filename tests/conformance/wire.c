// SPDX-License-Identifier: Apache-2.0
/*
 * wire.c - decodes recorded answers of providers, whole and cut at every kind of place, and
 * compares with the complete response that was recorded beside them. For the form of the files see
 * wire/README.md in the shared folder; run it through the script `wire`.
 *
 *     NAME.sse with NAME.final.json    decode(stream, any splits) == decode(final) == final
 *     NAME.accum.json                  what the stream holds without its terminal event, where it
 * differs NAME.json                        a body decodes; {status, headers, body}: its class is
 * right
 */
#include <assert.h>
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "base/text.h"
#include "wire.h"

static size_t passed, failed, not_run;
/* Each decodes the whole stream. */
#ifdef TH_SANITIZED
static size_t splits = 25;
#else
static size_t splits = 2000;
#endif
static bool everywhere; /* at every byte */
/* A long stream is the same few kinds of lines many times: it is cut in fewer places. */
#define CUT_BYTES_MAX (32 * TH_MIB)
#define CUTS_MIN 100

/* One row for each wire. */
static const struct wire_api *const apis[] = { &wire_api_responses,    &wire_api_messages,
					       &wire_api_chat,         &wire_api_gemini,
					       &wire_api_interactions, NULL };

bool wire_check(bool good, const char *name, const char *what, const char *detail)
{
	if (good) {
		passed++;
	} else {
		failed++;
		printf("FAIL %s: %s%s%s\n", name, what, *detail ? ": " : "", detail);
	}
	return good;
}

/* ---- files ---- */

struct bytes {
	char *ptr;
	size_t len;
};

static bool read_file(const char *path, struct bytes *ret)
{
	FILE *f = fopen(path, "rb");
	struct stat st;

	if (!f)
		return false;
	assert(fstat(fileno(f), &st) == 0);
	ret->len = (size_t)st.st_size;
	/* Exactly as long as the file, so that a sanitizer sees one byte too many. */
	ret->ptr = malloc(ret->len ? ret->len : 1);
	assert(ret->ptr && fread(ret->ptr, 1, ret->len, f) == ret->len);
	fclose(f);
	return true;
}

static struct th_str str_of(struct bytes b)
{
	return th_str_n(b.ptr, b.len);
}

static struct th_json_doc *parse_file(const char *path)
{
	struct th_json_doc *doc = NULL;
	struct bytes b;

	if (!read_file(path, &b))
		return NULL;
	if (th_json_parse(str_of(b), &doc, NULL))
		doc = NULL;
	free(b.ptr);
	return doc;
}

static bool has_end(const char *name, const char *end)
{
	return th_str_ends(th_str_of(name), th_str_of(end));
}

/* `path` with its end replaced. */
static char *sibling(const char *path, const char *end, const char *other)
{
	size_t len = strlen(path) - strlen(end), size = len + strlen(other) + 1;
	char *out = malloc(size);

	assert(out);
	snprintf(out, size, "%.*s%s", (int)len, path, other);
	return out;
}

/* ---- values that count as equal ---- */

static bool is_empty(const struct th_json *v)
{
	return th_json_is_null(v) || (th_json_type(v) == TH_JSON_STR && !th_json_str(v).len) ||
	       (th_json_is_array(v) && !th_json_count(v));
}

const char *const wire_nothing_ignored[] = { NULL };

struct compare {
	const char *const *ignored;
	char path[400], detail[1200];
};

static void differ(struct compare *c, const struct th_json *expected, const struct th_json *found)
{
	struct th_buf a = TH_BUF_INIT(TH_JSON_SIZE_MAX), b = TH_BUF_INIT(TH_JSON_SIZE_MAX);

	th_json_print(expected, &a);
	th_json_print(found, &b);
	snprintf(c->detail, sizeof(c->detail), "%s: expected %.300s, found %.300s", c->path, a.ptr,
		 b.ptr);
	th_buf_deinit(&a);
	th_buf_deinit(&b);
}

static bool equal(struct compare *c, const struct th_json *a, const struct th_json *b);

static bool equal_arguments(struct compare *c, struct th_str a, struct th_str b)
{
	struct th_json_doc *x = NULL, *y = NULL;
	bool same =
	    th_str_eq(a, b) || (!th_json_parse(a, &x, NULL) && !th_json_parse(b, &y, NULL) &&
				equal(c, th_json_root(x), th_json_root(y)));

	th_json_free(x);
	th_json_free(y);
	return same;
}

static bool is_ignored(const struct compare *c, struct th_str key)
{
	for (const char *const *name = c->ignored; *name; name++)
		if (th_str_is(key, *name))
			return true;
	return false;
}

static bool equal_member(struct compare *c, struct th_str key, const struct th_json *a,
			 const struct th_json *b)
{
	size_t len = strlen(c->path);
	bool same;

	snprintf(c->path + len, sizeof(c->path) - len, ".%.*s", TH_FMT(key));
	if (th_str_is(key, "arguments") && th_json_type(a) == TH_JSON_STR &&
	    th_json_type(b) == TH_JSON_STR)
		same = equal_arguments(c, th_json_str(a), th_json_str(b));
	else
		same = equal(c, a, b);
	if (!same && !*c->detail)
		differ(c, a, b);
	c->path[len] = '\0';
	return same;
}

static bool equal(struct compare *c, const struct th_json *a, const struct th_json *b)
{
	struct th_json_iter it;

	if (is_empty(a) && is_empty(b))
		return true;
	if (th_json_is_object(a) && th_json_is_object(b)) {
		for (it = th_json_iter(a); th_json_next(&it);)
			if (!is_ignored(c, it.key) &&
			    !equal_member(c, it.key, it.val, th_json_getn(b, it.key)))
				return false;
		for (it = th_json_iter(b); th_json_next(&it);)
			if (!is_ignored(c, it.key) && !th_json_getn(a, it.key) &&
			    !equal_member(c, it.key, NULL, it.val))
				return false;
		return true;
	}
	if (th_json_is_array(a) && th_json_is_array(b) && th_json_count(a) == th_json_count(b)) {
		struct th_json_iter in_b = th_json_iter(b);

		for (it = th_json_iter(a); th_json_next(&it) && th_json_next(&in_b);) {
			char index[24];

			snprintf(index, sizeof(index), "[%zu]", it.index);
			if (!equal_member(c, th_str_of(index), it.val, in_b.val))
				return false;
		}
		return true;
	}
	if (!th_json_equal(a, b)) {
		if (!*c->detail)
			differ(c, a, b);
		return false;
	}
	return true;
}

bool wire_equal(const char *name, const char *what, const char *const *ignored,
		const struct th_json *expected, const struct th_json *found)
{
	struct compare c = { .ignored = ignored };
	bool same = equal(&c, expected, found);

	if (!same && !*c.detail)
		differ(&c, expected, found);
	return wire_check(same, name, what, c.detail);
}

/* ---- decoding ---- */

static const struct th_profile *profile_of(const struct wire_api *api)
{
	const struct th_profile *p;
	struct th_str name;

	assert(!th_model_resolve(th_str_of(api->model), &p, &name, NULL));
	return p;
}

struct heard {
	struct th_buf text;
	uint64_t hash;
};

static void hear(void *ctx, enum th_delta_kind kind, size_t index, struct th_str text)
{
	struct heard *h = ctx;

	(void)index;
	if (kind == TH_DELTA_TEXT)
		th_buf_add(&h->text, text);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * 0x2545f4914f6cdd1dull;
}

/* Pieces of 1 to `most` bytes; most 0: all at once.  Each piece is a copy of its own. */
static void decode(const struct wire_api *api, struct th_str body, size_t most, uint64_t seed,
		   struct heard *h, struct th_buf *out)
{
	const struct th_profile *profile = profile_of(api);
	const struct th_wire *wire = profile->wire;
	struct th_decoder *d = wire->decoder_new(profile, h ? hear : NULL, h);
	struct th_answer answer;

	th_buf_clear(out);
	while (body.len) {
		size_t len = most ? 1 + (size_t)(next_random(&seed) % most) : body.len;

		len = TH_MIN(len, body.len);
		char *piece = malloc(len);

		assert(piece);
		memcpy(piece, body.ptr, len);
		assert(wire->feed(d, th_str_n(piece, len)) >= 0);
		free(piece);
		body = th_str_sub(body, len, body.len);
	}
	wire->end(d, false, &answer);
	th_plumb_answer(&answer, out);
	wire->decoder_free(d);
}

/* ---- one stream ---- */

/* The text that all deltas must join to. */
static void texts_of(const struct th_json *items, struct th_buf *out)
{
	struct th_json_iter it, part;

	for (it = th_json_iter(items); th_json_next(&it);)
		for (part = th_json_iter(th_json_get(it.val, "content")); th_json_next(&part);)
			if (th_str_is(th_json_get_str(part.val, "type"), "output_text"))
				th_buf_add(out, th_json_get_str(part.val, "text"));
}

/* In two pieces, cut behind `at`. */
static void decode_cut(const struct wire_api *api, struct th_str body, size_t at,
		       struct th_buf *out)
{
	const struct th_profile *profile = profile_of(api);
	const struct th_wire *wire = profile->wire;
	struct th_decoder *d = wire->decoder_new(profile, NULL, NULL);
	struct th_answer answer;

	th_buf_clear(out);
	assert(wire->feed(d, th_str_sub(body, 0, at)) >= 0);
	assert(wire->feed(d, th_str_sub(body, at, body.len)) >= 0);
	wire->end(d, false, &answer);
	th_plumb_answer(&answer, out);
	wire->decoder_free(d);
}

static size_t cuts_of(struct th_str body)
{
	size_t most = CUT_BYTES_MAX / TH_MAX(body.len, (size_t)1);

	if (everywhere || body.len <= splits)
		return body.len;
	return TH_MIN(splits, TH_MAX(most, (size_t)CUTS_MIN));
}

/* One cut in each of so many places, or in all of them; then many cuts at once. */
static void check_splits(const struct wire_api *api, const char *name, struct th_str body,
			 struct th_str expected)
{
	static const size_t mosts[] = { 2, 7, 40, 300, 4000, 40000 };
	struct th_buf out = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	uint64_t seed = 0x9e3779b97f4a7c15ull;
	char detail[100] = "";
	size_t count = cuts_of(body);
	bool same = true, all = count == body.len;

	for (const char *c = name; *c; c++)
		seed = (seed ^ (uint64_t)(unsigned char)*c) * 0x100000001b3ull;
	for (size_t i = 0; i < count && same; i++) {
		size_t at = all ? i : (size_t)(next_random(&seed) % body.len);

		decode_cut(api, body, at, &out);
		same = th_str_eq(th_buf_str(&out), expected);
		if (!same)
			snprintf(detail, sizeof(detail), "cut behind byte %zu", at);
	}
	for (size_t i = 0; i <= TH_MIN(splits, (size_t)100) && same; i++) {
		size_t most = i == 0 ? 1 : mosts[i % TH_COUNT(mosts)];
		uint64_t this = seed + i * 0x9e3779b97f4a7c15ull;

		decode(api, body, most, this, NULL, &out);
		same = th_str_eq(th_buf_str(&out), expected);
		if (!same)
			snprintf(detail, sizeof(detail), "pieces of up to %zu bytes, seed %" PRIu64,
				 most, this);
	}
	wire_check(same, name, "splits change the answer", detail);
	th_buf_deinit(&out);
}

/* The stream up to its terminal event. */
static struct th_str withheld(const struct wire_api *api, struct th_str body)
{
	for (const char *const *end = api->ends; *end; end++) {
		ptrdiff_t at = th_str_find(body, th_str_of(*end));
		struct th_str head = th_str_sub(body, 0, at < 0 ? 0 : (size_t)at);

		while (head.len && !th_str_ends(head, TH_STR("\n\n")))
			head.len--;
		if (head.len)
			return head;
	}
	return (struct th_str){ NULL, 0 };
}

static void check_withheld(const struct wire_api *api, const char *path, struct th_str body,
			   const struct th_json *items)
{
	char *name = sibling(path, ".sse", ".accum.json");
	struct th_json_doc *accum = parse_file(name), *doc = NULL;
	struct th_str head = withheld(api, body);
	struct th_buf out = TH_BUF_INIT(TH_JSON_SIZE_MAX);

	free(name);
	if (head.len) {
		decode(api, head, 0, 0, NULL, &out);
		assert(!th_json_parse(th_buf_str(&out), &doc, NULL));
		wire_equal(path, "without the terminal event", api->unfinished_ignored,
			   accum ? th_json_get(th_json_root(accum), "output") : items,
			   th_json_get(th_json_root(doc), "items"));
		wire_check(th_str_is(th_json_get_str(th_json_root(doc), "status"), "failed"), path,
			   "a stream without its end must fail", out.ptr);
	}
	th_json_free(doc);
	th_json_free(accum);
	th_buf_deinit(&out);
}

static void run_stream(const struct wire_api *api, const char *path, bool malformed)
{
	char *final_path = sibling(path, ".sse", ".final.json");
	struct th_buf whole = TH_BUF_INIT(TH_JSON_SIZE_MAX), out = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_buf texts = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct heard heard = { .text = TH_BUF_INIT(TH_JSON_SIZE_MAX) };
	struct th_json_doc *final, *of_final = NULL, *of_stream = NULL;
	struct bytes body, final_body;

	assert(read_file(path, &body));
	if (!read_file(final_path, &final_body) ||
	    th_json_parse(str_of(final_body), &final, NULL)) {
		wire_check(false, path, "no final response beside it", final_path);
		free(final_path);
		free(body.ptr);
		return;
	}
	decode(api, str_of(final_body), 0, 0, NULL, &out);
	decode(api, str_of(body), 0, 0, &heard, &whole);
	assert(!th_json_parse(th_buf_str(&out), &of_final, NULL));
	assert(!th_json_parse(th_buf_str(&whole), &of_stream, NULL));
	if (!malformed) {
		api->check(final_path, th_json_root(final), th_json_root(of_final));
		wire_equal(path, "stream and final", wire_nothing_ignored, th_json_root(of_final),
			   th_json_root(of_stream));
		if (!api->ends_with_more || !api->ends_with_more(th_json_root(final)))
			check_withheld(api, path, str_of(body),
				       th_json_get(th_json_root(of_final), "items"));
		texts_of(th_json_get(th_json_root(of_final), "items"), &texts);
		wire_check(th_str_ends(th_buf_str(&texts), th_buf_str(&heard.text)), path,
			   "deltas of text", "");
	}
	check_splits(api, path, str_of(body), th_buf_str(&whole));
	th_json_free(final);
	th_json_free(of_final);
	th_json_free(of_stream);
	th_buf_deinit(&whole);
	th_buf_deinit(&out);
	th_buf_deinit(&texts);
	th_buf_deinit(&heard.text);
	free(final_path);
	free(final_body.ptr);
	free(body.ptr);
}

/* ---- one body ---- */

/* By the status, and by the one word that says that waiting does not help. */
static const char *class_of(int64_t status, struct th_str code, struct th_str message)
{
	static const struct {
		int64_t status;
		const char *class;
	} classes[] = {
		{ 401, "auth" },       { 403, "auth" },       { 404, "not_found" },
		{ 408, "server" },     { 409, "server" },     { 429, "rate_limited" },
		{ 503, "overloaded" }, { 529, "overloaded" },
	};

	if (th_str_is(code, "model_not_found"))
		return "not_found";
	if (th_str_is(code, "tool_use_failed")) /* another try may do better */
		return "malformed";
	if (status == 402 || (status == 429 && th_str_is(code, "insufficient_quota")))
		return "quota";
	if (status == 400 && th_str_find(message, TH_STR("API key")) >= 0)
		return "auth";
	for (size_t i = 0; i < TH_COUNT(classes); i++)
		if (classes[i].status == status)
			return classes[i].class;
	return status >= 500 ? "server" : "rejected";
}

static void run_error(const struct wire_api *api, const char *path, const struct th_json *file)
{
	int64_t status = th_json_get_int(file, "status", 0);
	const struct th_json *body = th_json_get(file, "body"), *error = th_json_get(body, "error");
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX), out = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_json_doc *doc = NULL;
	const char *class =
	    class_of(status, th_json_get_str(error, "code"), th_json_get_str(error, "message"));

	if (th_json_type(body) == TH_JSON_STR)
		th_buf_add(&text, th_json_str(body));
	else
		th_json_print(body, &text);
	th_plumb_decode(profile_of(api), th_buf_str(&text), (int)status, &out);
	assert(!th_json_parse(th_buf_str(&out), &doc, NULL));
	error = th_json_get(th_json_root(doc), "error");
	wire_check(th_str_is(th_json_get_str(error, "class"), class), path, class, out.ptr);
	wire_check(th_json_get_str(error, "message").len > 0, path, "an error has a message",
		   out.ptr);
	th_json_free(doc);
	th_buf_deinit(&text);
	th_buf_deinit(&out);
}

static void run_body(const struct wire_api *api, const char *path)
{
	struct th_buf out = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_json_doc *file = NULL, *answer = NULL;
	struct bytes body;

	assert(read_file(path, &body));
	if (!wire_check(!th_json_parse(str_of(body), &file, NULL), path, "is not JSON", "")) {
		free(body.ptr);
		return;
	}
	if (th_json_get(th_json_root(file), "body")) {
		run_error(api, path, th_json_root(file));
	} else {
		decode(api, str_of(body), 1000, 7, NULL, &out);
		assert(!th_json_parse(th_buf_str(&out), &answer, NULL));
		api->check(path, th_json_root(file), th_json_root(answer));
	}
	th_json_free(file);
	th_json_free(answer);
	th_buf_deinit(&out);
	free(body.ptr);
}

/* ---- one request ---- */

/* Survives being read and written: the same JSON value. */
static void run_request(const struct wire_api *api, const char *path)
{
	const struct th_wire *wire = profile_of(api)->wire;
	struct th_json_doc *file = parse_file(path), *found = NULL;
	struct th_buf body = TH_BUF_INIT(TH_REQUEST_MAX), unified = TH_BUF_INIT(TH_REQUEST_MAX),
		      out = TH_BUF_INIT(TH_REQUEST_MAX);
	const struct th_json *expected = th_json_get(th_json_root(file), "body");
	struct th_str model = th_json_get_str(th_json_root(file), "path");
	ptrdiff_t at = th_str_find(model, TH_STR("/models/"));
	struct th_err err = { 0 };

	/* "/v1beta/models/NAME:generateContent?alt=sse" */
	model = at < 0 ? (struct th_str){ NULL, 0 } : th_str_sub(model, (size_t)at + 8, model.len);
	model = th_str_split(&model, ':');
	th_json_print(expected, &body);
	if (wire_check(!wire->request_decode(model, th_buf_str(&body), &unified, &err), path,
		       "decode the request", err.msg) &&
	    wire_check(!wire->request_encode(th_buf_str(&unified), &out, &err), path,
		       "encode the request", err.msg) &&
	    wire_check(!th_json_parse(th_buf_str(&out), &found, &err), path, "a request is JSON",
		       err.msg) &&
	    !th_json_equal(expected, th_json_root(found)))
		wire_check(!wire_equal(path, "the request", wire_nothing_ignored, expected,
				       th_json_root(found)),
			   path, "the request differs in what a comparison of answers passes over",
			   "");
	else
		passed++;
	th_json_free(file);
	th_json_free(found);
	th_buf_deinit(&body);
	th_buf_deinit(&unified);
	th_buf_deinit(&out);
}

/* ---- which files ---- */

static struct th_json_doc *manifest;

/* The manifest's row of a file, found by folder and name. */
static const struct th_json *row_of(const char *path)
{
	const struct th_json *rows = th_json_get(th_json_root(manifest), "entries");
	struct th_json_iter it =
	    th_json_iter(rows ? rows : th_json_get(th_json_root(manifest), "files"));

	while (th_json_next(&it)) {
		struct th_str file = th_json_get_str(it.val, "file");

		if (file.len && th_str_ends(th_str_of(path), file))
			return it.val;
	}
	return NULL;
}

static bool has_feature(const struct th_json *row, const char *feature)
{
	struct th_json_iter it = th_json_iter(th_json_get(row, "features"));

	while (th_json_next(&it))
		if (th_str_is(th_json_str(it.val), feature))
			return true;
	return false;
}

/* By the manifest, else by the name of the folder: "/chat/".  NULL: no wire of ours. */
static const struct wire_api *api_of(const char *path, const struct th_json *row)
{
	static const char *const others[] = { "responses", "chat",   "anthropic",
					      "gemini",    "errors", "interactions" };
	struct th_str name = th_json_get_str(row, "api");
	char part[40];

	for (size_t i = 0; !name.len && i < TH_COUNT(others); i++) {
		snprintf(part, sizeof(part), "/%s/", others[i]);
		if (strstr(path, part))
			name = th_str_of(others[i]);
	}
	for (const struct wire_api *const *api = apis; *api; api++)
		if (th_str_is(name, (*api)->name))
			return *api;
	/* An error is told by its status and words, whoever reads it; a file alone is of the first.
	 */
	return !name.len || th_str_is(th_json_get_str(row, "kind"), "error") ||
		       th_str_is(name, "errors")
		   ? apis[0]
		   : NULL;
}

static void run_file(const char *path)
{
	const struct th_json *row = row_of(path);
	const struct wire_api *api = api_of(path, row);
	bool request = strstr(path, "/requests/") != NULL;

	if (has_end(path, ".final.json") || has_end(path, ".sdk.json") ||
	    has_end(path, ".accum.json") || has_end(path, "MANIFEST.json"))
		return;
	if (!has_end(path, ".sse") && !has_end(path, ".json"))
		return;
	if (!api || (request && !profile_of(api)->wire->request_decode))
		not_run++;
	else if (request)
		run_request(api, path);
	else if (has_end(path, ".sse"))
		run_stream(api, path, has_feature(row, "malformed"));
	else
		run_body(api, path);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void load_manifest(const char *folder)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/MANIFEST.json", folder);
	if (!manifest)
		manifest = parse_file(path);
}

static void run_path(const char *path, int depth)
{
	struct dirent **names;
	struct stat st;
	int count;

	if (stat(path, &st) != 0) {
		wire_check(false, path, "cannot be read", "");
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		run_file(path);
		return;
	}
	load_manifest(path);
	count = scandir(path, &names, NULL, by_name);
	for (int i = 0; i < count; i++) {
		char inner[4096];
		int len = snprintf(inner, sizeof(inner), "%s/%s", path, names[i]->d_name);

		if (names[i]->d_name[0] != '.' && len > 0 && (size_t)len < sizeof(inner) &&
		    depth < 4)
			run_path(inner, depth + 1);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

int main(int argc, char **argv)
{
	const char *given = getenv("WIRE_SPLITS");
	int64_t n;

	if (argc < 2) {
		fprintf(stderr, "usage: wire FOLDER|FILE...\n");
		return 2;
	}
	everywhere = getenv("TH_TORTURE") && !strcmp(getenv("TH_TORTURE"), "1");
	if (given && th_str_i64(th_str_of(given), &n) && n >= 0)
		splits = (size_t)n;
	for (int i = 1; i < argc; i++) {
		/* The corpus has its manifest at its root, one or two folders above. */
		static const char *const above[] = { "..", "../.." };
		char real[PATH_MAX], parent[PATH_MAX + 8];

		for (size_t k = 0; realpath(argv[i], real) && k < TH_COUNT(above); k++) {
			struct stat st;
			size_t len = strlen(real);

			if (stat(real, &st) == 0 && !S_ISDIR(st.st_mode))
				len = (size_t)(strrchr(real, '/') - real);
			snprintf(parent, sizeof(parent), "%.*s/%s", (int)len, real, above[k]);
			load_manifest(parent);
		}
		run_path(argv[i], 0);
	}
	th_json_free(manifest);
	if (not_run)
		printf("%zu files of wires that are not there yet were left out\n", not_run);
	printf("%zu passed, %zu failed\n", passed, failed);
	return failed || !passed ? 1 : 0;
}
