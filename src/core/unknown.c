/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unknown.h"

#include <stdlib.h>

#include "base/text.h"

/* ---- the look ---- */

/* The value of "path" as raw JSON with its quotes, or empty. */
static struct th_str raw_path(struct th_str arguments)
{
	struct th_str raw = th_json_raw_get(arguments, "path");

	return raw.len > 2 && raw.ptr[0] == '"' ? raw : TH_STR("");
}

static struct th_observation look_at_file(struct th_str raw, struct th_arena *a)
{
	struct th_buf text = TH_BUF_INIT(TH_KIB), line = TH_BUF_INIT(TH_KIB);
	struct th_observation look = {
		.tool = TH_STR("read_file"),
		.arguments = th_arena_printf(a, "{\"path\":%.*s,\"start_line\":1,\"end_line\":%d}",
					     TH_FMT(raw), TH_OBSERVATION_LINES),
	};

	if (!th_json_unescape(raw, &text))
		th_buf_clear(&text);
	th_text_line(&line, th_buf_str(&text), 200);
	look.what = th_arena_printf(a, "the file %.*s", TH_FMT(th_buf_str(&line)));
	th_buf_deinit(&text);
	th_buf_deinit(&line);
	return look;
}

struct th_observation th_unknown_observation(struct th_effect_scope scope, struct th_str arguments,
					     bool has_computer, struct th_arena *a)
{
	struct th_str raw = raw_path(arguments);

	if (scope.target == TH_TARGET_FILES && raw.len > 0 && raw.len < TH_PATH_LEN_MAX)
		return look_at_file(raw, a);
	if (scope.target == TH_TARGET_FILES)
		return (struct th_observation){ TH_STR("list_dir"), TH_STR("{\"path\":\".\"}"),
						TH_STR("the workspace") };
	if (has_computer)
		return (struct th_observation){ TH_STR("computer"),
						TH_STR("{\"actions\":[{\"type\":\"screenshot\"}]}"),
						TH_STR("the screen") };
	return (struct th_observation){ 0 };
}

/* ---- what is said ---- */

static void put_text(struct th_jw *w, struct th_str text)
{
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("text"));
	th_jw_kstr(w, "text", text);
	th_jw_object_end(w);
}

/* An output as parts of a list that is open: a string becomes one text. */
static void put_output(struct th_jw *w, struct th_str output)
{
	struct th_json_raw_iter it = th_json_raw_iter(output);

	if (output.len > 2 && output.ptr[0] == '"') {
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("text"));
		th_jw_kraw(w, "text", output);
		th_jw_object_end(w);
	}
	while (th_json_raw_next(&it))
		th_jw_raw(w, it.val);
}

void th_unknown_print(struct th_str said, const struct th_observation *look,
		      const struct th_observation_result *seen, struct th_buf *out)
{
	struct th_buf text = TH_BUF_INIT(8 * TH_KIB);
	struct th_jw w = th_jw(out);

	th_jw_array(&w);
	/* Executors may have said the sentence already; it stands once. */
	if (th_str_find(said, TH_STR("may or may not have happened")) < 0)
		put_text(&w, TH_STR(TH_UNKNOWN_SENTENCE));
	put_output(&w, said);
	if (!seen || !look->tool.len)
		th_buf_add_cstr(&text, "Nothing on this machine shows whether it happened.");
	else if (seen->status == TH_OUTCOME_DONE)
		th_buf_printf(&text, "A fresh look was taken afterwards. This is %.*s now:",
			      TH_FMT(look->what));
	else
		th_buf_printf(&text,
			      "A fresh look at %.*s was tried afterwards, and did not succeed:",
			      TH_FMT(look->what));
	put_text(&w, th_buf_str(&text));
	if (seen && look->tool.len)
		put_output(&w, seen->output);
	th_jw_array_end(&w);
	th_buf_deinit(&text);
}

void th_unknown_settled(enum th_outcome_status status, struct th_str by, struct th_str message,
			struct th_str told, struct th_buf *out)
{
	struct th_buf text = TH_BUF_INIT(8 * TH_KIB);
	struct th_json_raw_iter it = th_json_raw_iter(told);
	struct th_jw w = th_jw(out);
	const char *word = status == TH_OUTCOME_DONE ? "it did happen. It was not repeated."
			   : status == TH_OUTCOME_NOT_STARTED
			       ? "it did not happen, and may be done again."
			       : "it cannot be known whether it happened. It was not repeated.";

	th_buf_printf(&text,
		      "The result of this action was not recorded. A person%s%.*s%s looked: %s",
		      by.len ? " (" : "", TH_FMT(th_utf8_cut(by, 100)), by.len ? ")" : "", word);
	if (message.len)
		th_buf_printf(&text, " They say: %.*s", TH_FMT(th_utf8_cut(message, 4000)));
	th_jw_array(&w);
	put_text(&w, th_buf_str(&text));
	/* A word that decides takes the place of those that left it open; pictures stay. */
	while (th_json_raw_next(&it))
		if (status == TH_OUTCOME_UNKNOWN ||
		    !th_str_is(th_json_raw_get(it.val, "type"), "\"text\""))
			th_jw_raw(&w, it.val);
	th_jw_array_end(&w);
	th_buf_deinit(&text);
}

/* ---- doubts ---- */

void th_unresolved_deinit(struct th_unresolved_effects *d)
{
	free(d->list);
	*d = (struct th_unresolved_effects){ 0 };
}

/* "./a//" and "a" are one file; what is longer than fits is none. */
static void path_of(struct th_str arguments, char out[static TH_UNRESOLVED_PATH_MAX + 1])
{
	struct th_str raw = raw_path(arguments);
	struct th_buf text = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_str path;

	out[0] = '\0';
	if (raw.len > 0 && th_json_unescape(raw, &text)) {
		path = th_buf_str(&text);
		while (th_str_starts(path, TH_STR("./")))
			path = th_str_sub(path, 2, path.len);
		while (path.len > 1 && path.ptr[path.len - 1] == '/')
			path.len--;
		if (path.len <= TH_UNRESOLVED_PATH_MAX && path.len > 0) {
			memcpy(out, path.ptr, path.len);
			out[path.len] = '\0';
		}
	}
	th_buf_deinit(&text);
}

static void drop(struct th_unresolved_effects *d, size_t index)
{
	d->count--;
	memmove(d->list + index, d->list + index + 1, (d->count - index) * sizeof(*d->list));
}

void th_unresolved_add(struct th_unresolved_effects *d, uint64_t seq, struct th_effect_scope scope,
		       struct th_str arguments, const char *digest)
{
	struct th_unresolved_effect *it;

	for (size_t i = 0; i < d->count; i++)
		if (strcmp(d->list[i].digest, digest) == 0)
			drop(d, i--);
	if (!d->list)
		d->list = th_alloc(TH_UNRESOLVED_MAX * sizeof(*d->list));
	if (d->count == TH_UNRESOLVED_MAX)
		drop(d, 0);
	it = &d->list[d->count++];
	*it = (struct th_unresolved_effect){ .seq = seq,
					     .target = (enum th_effect_target)scope.target };
	memcpy(it->digest, digest, TH_SHA256_HEX_SIZE);
	path_of(arguments, it->path);
}

/* Is `folder` the one that the file is in, or one above that? */
static bool holds(const char *folder, const char *file)
{
	size_t len = strlen(folder);

	return len == 0 || strcmp(folder, ".") == 0 || strcmp(folder, file) == 0 ||
	       (strncmp(folder, file, len) == 0 && (folder[len - 1] == '/' || file[len] == '/'));
}

static bool shows(const struct th_unresolved_effect *unresolved, struct th_effect_scope scope,
		  const char *path, const char *digest, enum th_class class,
		  enum th_outcome_status status)
{
	bool done = status == TH_OUTCOME_DONE;
	bool looked = class == TH_CLASS_R && (done || status == TH_OUTCOME_FAILED);

	if (scope.target != unresolved->target)
		return false;
	/* A model without other tools can look only by a command. */
	if (scope.shows == TH_SHOWS_ANY)
		return (done || status == TH_OUTCOME_FAILED) &&
		       strcmp(digest, unresolved->digest) != 0;
	switch (unresolved->target) {
	case TH_TARGET_SCREEN:
		return class == TH_CLASS_R && done;
	case TH_TARGET_FILES:
		if (!looked || !unresolved->path[0])
			return looked;
		return scope.shows == TH_SHOWS_FOLDER ? holds(path, unresolved->path)
						      : strcmp(path, unresolved->path) == 0;
	case TH_TARGET_WEB:
	case TH_TARGET_OTHER:
		return looked;
	case TH_TARGET_COUNT:
		break;
	}
	return false;
}

void th_unresolved_ended(struct th_unresolved_effects *d, uint64_t call_seq,
			 struct th_effect_scope scope, struct th_str arguments, const char *digest,
			 enum th_class class, enum th_outcome_status status)
{
	char path[TH_UNRESOLVED_PATH_MAX + 1] = "";

	if (d->count == 0)
		return;
	path_of(arguments, path);
	for (size_t i = 0; i < d->count; i++) {
		const struct th_unresolved_effect *it = &d->list[i];
		bool same = status == TH_OUTCOME_DONE && strcmp(it->digest, digest) == 0;

		if (call_seq > it->seq && (same || shows(it, scope, path, digest, class, status)))
			drop(d, i--);
	}
}

const struct th_unresolved_effect *th_unresolved_find(const struct th_unresolved_effects *d,
						      const char *digest)
{
	for (size_t i = 0; i < d->count; i++)
		if (strcmp(d->list[i].digest, digest) == 0)
			return &d->list[i];
	return NULL;
}
