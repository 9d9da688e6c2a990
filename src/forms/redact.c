/* SPDX-License-Identifier: Apache-2.0 */
#include "forms/redact.h"

#include "base/limits.h"

static bool has_word(struct th_str name, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i + len <= name.len; i++)
		if (th_str_ieq(th_str_sub(name, i, len), th_str_of(word)))
			return true;
	return false;
}

static bool names_secret(struct th_str name)
{
	static const char *const words[] = { "authorization", "cookie", "credential", "key",
					     "password",      "secret", "session",    "token" };

	for (size_t i = 0; i < TH_COUNT(words); i++)
		if (has_word(name, words[i]))
			return true;
	return false;
}

static bool hides_all(struct th_str name)
{
	return th_str_ieq(name, TH_STR("env")) || th_str_ieq(name, TH_STR("environment")) ||
	       th_str_ieq(name, TH_STR("headers"));
}

static void redact(const struct th_json *v, bool all, struct th_jw *w)
{
	struct th_json_iter it = th_json_iter(v);

	if (th_json_is_object(v)) {
		th_jw_object(w);
		while (th_json_next(&it)) {
			bool below = all || hides_all(it.key);

			th_jw_key(w, it.key);
			if (!below && names_secret(it.key))
				th_jw_str(w, TH_STR(TH_REDACTED));
			else
				redact(it.val, below, w);
		}
		th_jw_object_end(w);
	} else if (th_json_is_array(v)) {
		th_jw_array(w);
		while (th_json_next(&it))
			redact(it.val, all, w);
		th_jw_array_end(w);
	} else if (all) {
		th_jw_str(w, TH_STR(TH_REDACTED));
	} else {
		th_jw_json(w, v);
	}
}

/* Depth is bounded by the parser. */
void th_redact(const struct th_json *v, struct th_jw *w)
{
	redact(v, false, w);
}

/* ---- prompts ---- */

#define PS1_BEGIN "###PS1JSON###"
#define PS1_END "###PS1END###"

static ptrdiff_t find_from(struct th_str text, size_t from, const char *what)
{
	ptrdiff_t at = th_str_find(th_str_sub(text, from, text.len), th_str_of(what));

	return at < 0 ? -1 : at + (ptrdiff_t)from;
}

static bool begins_line(struct th_str text, size_t at)
{
	return at == 0 || text.ptr[at - 1] == '\n';
}

bool th_ps1_next(struct th_str text, size_t from, struct th_ps1 *ret)
{
	ptrdiff_t begin = find_from(text, from, PS1_BEGIN), next, end;

	for (; begin >= 0; begin = next) {
		size_t body = (size_t)begin + sizeof(PS1_BEGIN) - 1;

		end = find_from(text, body, PS1_END);
		next = find_from(text, body, PS1_BEGIN);
		if (end < 0)
			return false;
		if (!begins_line(text, (size_t)begin) || (next >= 0 && next < end))
			continue;
		*ret = (struct th_ps1){
			.from = (size_t)begin,
			.to = (size_t)end + sizeof(PS1_END) - 1,
			.json = th_str_trim(th_str_sub(text, body, (size_t)end - body)),
		};
		if (th_json_valid(ret->json))
			return true;
	}
	return false;
}

/* A number, or a text that is one. */
static int64_t number_of(const struct th_json *v)
{
	double n = -1;

	if (th_json_type(v) == TH_JSON_STR && !th_str_f64(th_str_trim(th_json_str(v)), &n))
		return -1;
	if (th_json_type(v) != TH_JSON_STR)
		n = th_json_num(v, -1);
	return n >= -1e15 && n <= 1e15 ? (int64_t)n : -1;
}

static struct th_str text_of(const struct th_json *v, const char *name, struct th_arena *a)
{
	struct th_str text = th_json_get_str(v, name);

	return text.ptr ? th_arena_str(a, text) : text;
}

void th_ps1_read(const struct th_ps1 *block, struct th_arena *a, struct th_ps1_facts *ret)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *v = NULL;

	if (!th_json_parse(block->json, &doc, NULL))
		v = th_json_root(doc);
	*ret = (struct th_ps1_facts){
		.exit_code = number_of(th_json_get(v, "exit_code")),
		.pid = number_of(th_json_get(v, "pid")),
		.username = text_of(v, "username", a),
		.hostname = text_of(v, "hostname", a),
		.working_dir = text_of(v, "working_dir", a),
		.interpreter = text_of(v, "py_interpreter_path", a),
		.prefix = text_of(v, "prefix", a),
		.suffix = text_of(v, "suffix", a),
	};
}

void th_ps1_strip(struct th_str text, struct th_buf *out)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_ps1_facts facts = { .exit_code = -1 };
	struct th_ps1 block;
	size_t at = 0;

	th_arena_init(&a, TH_JSON_SIZE_MAX);
	while (th_ps1_next(text, at, &block)) {
		th_buf_add(out, th_str_sub(text, at, block.from - at));
		at = block.to;
		if (at < text.len && text.ptr[at] == '\n')
			at++;
		th_ps1_read(&block, &a, &facts);
	}
	th_buf_add(out, th_str_sub(text, at, text.len));
	if (facts.exit_code >= 0)
		th_buf_printf(out, "%s[Command finished with exit code %lld]",
			      out->len && out->ptr[out->len - 1] != '\n' ? "\n" : "",
			      (long long)facts.exit_code);
}
