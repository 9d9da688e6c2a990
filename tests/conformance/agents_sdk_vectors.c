// SPDX-License-Identifier: Apache-2.0
/*
 * agents_sdk_vectors.c - the vectors of a file of Agents SDK cases: diffs,
 * strict schemas, names.  An error must be one here too; its sentence is
 * compared where the SDK wrote it itself (UserError, ValueError), not where
 * Python did (KeyError, TypeError).
 */
#include <stdio.h>
#include <stdlib.h>

#include "agents/names.h"
#include "base/limits.h"
#include "schema/schema.h"
#include "wire/patch.h"

static size_t passed, failed;
static struct th_arena arena;

static void report(const char *part, struct th_str name, bool good, struct th_str expected,
		   struct th_str found)
{
	if (good) {
		passed++;
		return;
	}
	failed++;
	printf("FAIL %s %.*s\n  expected: %.*s\n  found:    %.*s\n", part, TH_FMT(name),
	       TH_FMT(expected), TH_FMT(found));
}

/* `found`: what was made, or the error's sentence. */
static void check(const char *part, const struct th_json *vector, bool error, struct th_str found,
		  bool same)
{
	struct th_str name = th_json_get_str(vector, "name");
	struct th_str wanted = th_json_get_str(vector, "error"), text = wanted, class;

	if (!wanted.ptr) {
		report(part, name, !error && same,
		       th_json_text(th_json_get(vector, "output"), &arena), found);
		return;
	}
	class = th_str_split(&text, ':');
	text = th_str_sub(text, 1, SIZE_MAX);
	same = !(th_str_is(class, "UserError") || th_str_is(class, "ValueError")) ||
	       th_str_eq(text, found);
	report(part, name, error && same, wanted, found);
}

static void diff(const struct th_json *v)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_err err = {};
	bool create = th_str_is(th_json_get_str(v, "mode"), "create");
	enum th_code code =
	    th_patch_apply(create ? TH_PATCH_CREATE : TH_PATCH_UPDATE, th_json_get_str(v, "input"),
			   th_json_get_str(v, "diff"), &out, &err);
	struct th_str found = code && code != TH_EPROTO ? th_str_of(err.msg) : th_buf_str(&out);

	check("diff", v, code, found, th_str_eq(found, th_json_get_str(v, "output")));
	th_buf_deinit(&out);
}

static void schema(const struct th_json *v)
{
	struct th_json_doc *doc = NULL;
	struct th_str text = { NULL, 0 };
	struct th_err err = {};
	bool same = false;
	enum th_code code = th_schema_strict(th_json_get(v, "input"), 0, &arena, &text, &err);

	if (!code && !th_json_parse(text, &doc, &err))
		same = th_json_equal(th_json_root(doc), th_json_get(v, "output"));
	check("schema", v, code, code ? th_str_of(err.msg) : text, same);
	th_json_free(doc);
}

static void name(const struct th_json *v)
{
	struct th_str input = th_json_get_str(v, "input");
	const struct {
		const char *key;
		struct th_str found;
	} parts[] = {
		{ "python_tool_name", th_name_function(&arena, input) },
		{ "python_handoff_tool", th_name_handoff(&arena, input) },
		{ "python_handoff_description", th_name_handoff_text(&arena, input, TH_STR("")) },
	};

	for (size_t i = 0; i < TH_COUNT(parts); i++) {
		struct th_str wanted = th_json_get_str(v, parts[i].key);

		if (wanted.ptr && !th_str_eq(wanted, parts[i].found)) {
			report("name", input, false, wanted, parts[i].found);
			return;
		}
	}
	passed++;
}

static const struct {
	const char *part;
	void (*run)(const struct th_json *vector);
} parts[] = { { "apply_diff", diff }, { "strict_schema", schema }, { "names", name } };

static bool run_file(const char *path)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_json_doc *doc;
	struct th_err err;
	FILE *file = fopen(path, "rb");
	char chunk[1 << 16];
	size_t got;

	if (!file) {
		fprintf(stderr, "conformance-agents-vectors: %s cannot be opened\n", path);
		return false;
	}
	while ((got = fread(chunk, 1, sizeof(chunk), file)) > 0)
		th_buf_add_mem(&text, chunk, got);
	fclose(file);
	if (th_json_parse(th_buf_str(&text), &doc, &err)) {
		fprintf(stderr, "conformance-agents-vectors: %s: %s\n", path, err.msg);
		return false;
	}
	for (size_t i = 0; i < TH_COUNT(parts); i++) {
		struct th_json_iter it = th_json_iter(
		    th_json_get(th_json_get(th_json_root(doc), "vectors"), parts[i].part));

		while (th_json_next(&it)) {
			parts[i].run(it.val);
			th_arena_reset(&arena);
		}
	}
	th_json_free(doc);
	th_buf_deinit(&text);
	return true;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: conformance-agents-vectors FILE...\n");
		return 2;
	}
	th_arena_init(&arena, 64 * TH_MIB);
	for (int i = 1; i < argc; i++)
		if (!run_file(argv[i]))
			return 2;
	th_arena_deinit(&arena);
	printf("%zu passed, %zu failed\n", passed, failed);
	return failed || !passed ? 1 : 0;
}
