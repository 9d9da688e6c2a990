/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git.c - /api/git: what a conversation's agent has changed in a repository of its folder.
 *
 * git is run by the session's executor, in its sandbox: a repository's own configuration may name
 * programs.  It changes nothing, so it is no event, and the agent may be at work.
 */
#include <stdlib.h>

#include "base/codec.h"
#include "base/shell.h"
#include "base/text.h"
#include "openhands_api/internal.h"

#define NO_REPOSITORY 44 /* exit codes of the scripts */
#define NO_FILE 45
#define TOO_LARGE 46
#define REF_MAX 200
#define STRING_OF(x) #x
#define CODE(x) STRING_OF(x)

/* $r: what it is compared with.  The beginning of both scripts. */
static const char base[] =
    "g() { git --no-pager --no-optional-locks -c core.fsmonitor=false -c core.quotePath=false "
    "-c 'safe.directory=*' \"$@\"; }\n"
    "g rev-parse --is-inside-work-tree > /dev/null 2>&1 || exit " CODE(
	NO_REPOSITORY) "\n"
		       "if [ \"$r\" ]; then g rev-parse -q --verify \"$r^{commit}\" > /dev/null || "
		       "{ "
		       "echo \"there is no commit $r\" >&2; exit 1; }\n"
		       "elif g rev-parse -q --verify HEAD > /dev/null; then\n"
		       "r=$(g merge-base HEAD origin/HEAD 2> /dev/null) || r=HEAD\n"
		       "else r=$(g hash-object -t tree /dev/null); fi\n";

static const char changes[] =
    "t=$(printf '\\t')\n"
    "g diff --no-ext-diff --no-textconv --no-renames --name-status --relative \"$r\" -- || exit 1\n"
    "g ls-files --others --exclude-standard | sed \"s/^/A$t/\"\n";

/* Both texts in base64, a line each. */
static const char diff[] =
    "n=$(g cat-file -s \"$r:./$f\" 2> /dev/null) || n=\n"
    "[ -f \"$f\" ] || [ \"$n\" ] || exit " CODE(
	NO_FILE) "\n"
		 "m=0; [ ! -f \"$f\" ] || m=$(wc -c < \"$f\")\n"
		 "[ \"${n:-0}\" -le $max ] && [ \"$m\" -le $max ] || exit " CODE(
		     TOO_LARGE) "\n"
				"[ ! \"$n\" ] || g cat-file blob \"$r:./$f\" | base64 | tr -d "
				"'\\n'\n"
				"echo\n"
				"[ ! -f \"$f\" ] || base64 < \"$f\" | tr -d '\\n'\n"
				"echo\n";

struct git {
	struct th_access *access; /* NULL: its client left */
	bool is_diff;
};

static void on_gone(struct th_access *a)
{
	struct git *g = a->ctx;

	g->access = NULL;
}

/* ---- what it says ---- */

/* A name with unusual characters is in quotes, with escapes of C. */
static void add_name(struct th_str name, struct th_buf *out)
{
	static const char letters[] = "a\ab\bt\tn\nv\vf\fr\r";

	if (name.len < 2 || name.ptr[0] != '"') {
		th_buf_add(out, name);
		return;
	}
	for (size_t i = 1; i + 1 < name.len; i++) {
		char c = name.ptr[i];
		const char *letter;

		if (c != '\\' || i + 2 >= name.len) {
			th_buf_add_char(out, c);
			continue;
		}
		c = name.ptr[++i];
		letter = strchr(letters, c);
		if (c >= '0' && c <= '3' && i + 3 < name.len) {
			th_buf_add_char(out, (char)((c - '0') * 64 + (name.ptr[i + 1] - '0') * 8 +
						    (name.ptr[i + 2] - '0')));
			i += 2;
		} else {
			th_buf_add_char(out, letter && c >= 'a' && c <= 'z' ? letter[1] : c);
		}
	}
}

static void print_change(struct th_str line, struct th_jw *w)
{
	static const struct {
		char letter;
		const char *status;
	} kinds[] = { { 'A', "ADDED" }, { 'D', "DELETED" } };
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_PATH_LEN_MAX);
	struct th_buf clean TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_PATH_LEN_MAX);
	struct th_str letter = th_str_split(&line, '\t');
	const char *status = "UPDATED";

	if (!letter.len || !line.len)
		return;
	for (size_t i = 0; i < TH_COUNT(kinds); i++)
		if (letter.ptr[0] == kinds[i].letter)
			status = kinds[i].status;
	add_name(line, &name);
	th_utf8_clean(&clean, th_buf_str(&name));
	th_jw_object(w);
	th_jw_kstr(w, "status", th_str_of(status));
	th_jw_kstr(w, "path", th_buf_str(&clean));
	th_jw_object_end(w);
}

static void print_changes(struct th_str out, struct th_jw *w)
{
	th_jw_array(w);
	while (out.len)
		print_change(th_str_split(&out, '\n'), w);
	th_jw_array_end(w);
}

/* As OpenHands has it: lines with "\n" between them, and none at the end. */
static void print_text(const char *name, struct th_str base64, struct th_jw *w)
{
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_OPENHANDS_DIFF_MAX);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_SERVE_OPENHANDS_DIFF_MAX);
	struct th_buf lines TH_CLEANUP(th_buf_deinit) =
	    TH_BUF_INIT(4 * TH_SERVE_OPENHANDS_DIFF_MAX);
	struct th_str rest;

	if (!th_base64_decode(&bytes, base64))
		th_buf_clear(&bytes);
	th_utf8_clean(&text, th_buf_str(&bytes));
	rest = th_buf_str(&text);
	while (rest.len) {
		struct th_str line = th_str_split(&rest, '\n');

		if (line.len && line.ptr[line.len - 1] == '\r')
			line.len--;
		th_buf_add(&lines, line);
		if (rest.len)
			th_buf_add_char(&lines, '\n');
	}
	th_jw_kstr(w, name, th_buf_str(&lines));
}

static void print_diff(struct th_str out, struct th_jw *w)
{
	struct th_str original = th_str_split(&out, '\n');

	th_jw_object(w);
	print_text("modified", th_str_split(&out, '\n'), w);
	print_text("original", original, w);
	th_jw_object_end(w);
}

static void answer(struct th_access *a, bool is_diff, const struct th_oh_ended *end)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_MIB);
	struct th_jw w = th_jw(&json);

	if (!end->ran)
		th_access_fail(a, 500, NULL, "%.*s", TH_FMT(end->why));
	else if (end->exit_code == NO_REPOSITORY)
		th_access_text(a, 200, "application/json",
			       is_diff ? TH_STR("{\"modified\":null,\"original\":null}")
				       : TH_STR("[]"));
	else if (end->exit_code == TOO_LARGE || end->size > TH_COMMAND_OUT_MAX)
		th_access_fail(a, 413, NULL,
			       is_diff ? "a file of more than %zu bytes is not compared"
				       : "the names of all changed files have more than %zu bytes",
			       is_diff ? (size_t)TH_SERVE_OPENHANDS_DIFF_MAX
				       : (size_t)TH_COMMAND_OUT_MAX);
	else if (end->exit_code == NO_FILE)
		th_access_fail(a, 400, NULL, "there is no such file, and there was none");
	else if (end->exit_code)
		th_access_fail(a, 400, NULL, "git: %.*s",
			       TH_FMT(th_str_trim(th_str_sub(end->err, 0, TH_KIB))));
	else {
		if (is_diff)
			print_diff(end->out, &w);
		else
			print_changes(end->out, &w);
		th_access_json(a, 200, &json);
	}
}

static void on_ended(void *ctx, const struct th_oh_ended *end)
{
	struct git *g = ctx;
	struct th_access *a = g->access;

	if (a) {
		a->gone = NULL;
		answer(a, g->is_diff, end);
	}
	free(g);
}

/* ---- it is asked ---- */

static bool is_ref(struct th_str ref)
{
	for (size_t i = 0; i < ref.len; i++)
		if (!((ref.ptr[i] >= 'a' && ref.ptr[i] <= 'z') ||
		      (ref.ptr[i] >= 'A' && ref.ptr[i] <= 'Z') ||
		      (ref.ptr[i] >= '0' && ref.ptr[i] <= '9') || memchr("._/@^~-", ref.ptr[i], 7)))
			return false;
	return ref.len <= REF_MAX && (!ref.len || ref.ptr[0] != '-');
}

/* The path of the query, below the conversation's folder, and the ref.  False: it was answered. */
static bool read_query(struct th_access *a, bool is_diff, struct th_buf *below, struct th_buf *ref)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_buf commit TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	(void)th_access_query(a, "ref", ref);
	if (!th_access_query(a, "path", &path) || !path.len) {
		th_access_fail(a, 422, NULL, "path is that of a %s",
			       is_diff ? "file" : "repository");
		return false;
	}
	if (!is_ref(th_buf_str(ref)) || ref->failed) {
		th_access_fail(a, 422, NULL, "ref is a branch, a tag or a commit");
		return false;
	}
	if (th_access_query(a, "commit", &commit)) {
		th_access_fail(a, 501, NULL, "a single commit is not shown; git shows it");
		return false;
	}
	if (!th_oh_place(a, "path", th_buf_str(&path), below))
		return false;
	if (!is_diff || below->len)
		return true;
	th_access_fail(a, 422, NULL, "path is that of a file");
	return false;
}

static void print_script(bool is_diff, struct th_str ref, struct th_str name, struct th_buf *out)
{
	th_buf_printf(out, "r='%.*s'\n%s", TH_FMT(ref), base);
	if (!is_diff) {
		th_buf_add_cstr(out, changes);
		return;
	}
	th_buf_printf(out, "max=%d\nf=", (int)TH_SERVE_OPENHANDS_DIFF_MAX);
	th_shell_word(name, out);
	th_buf_printf(out, "\n%s", diff);
}

static void ask(struct th_access *a, const char *session, bool is_diff)
{
	struct th_buf below TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_buf ref TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf script TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(32 * TH_KIB);
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_hub *h = th_hub_find(a->server, session);
	const char *options[] = { "looks", "yes", "bytes", NULL, "folder", NULL, NULL };
	struct th_str name;
	struct thole_error err;
	struct git *g;

	if (!read_query(a, is_diff, &below, &ref))
		return;
	name = th_buf_str(&below);
	while (is_diff && th_str_find_char(name, '/') >= 0)
		(void)th_str_split(&name, '/');
	print_script(is_diff, th_buf_str(&ref), name, &script);
	if (is_diff)
		th_buf_truncate(&below, below.len - name.len);
	th_buf_printf(&bytes, "%zu", (size_t)TH_COMMAND_OUT_MAX);
	options[3] = bytes.ptr;
	options[5] = below.len ? below.ptr : ".";
	g = th_alloc(sizeof(*g));
	*g = (struct git){ .access = a, .is_diff = is_diff };
	if (th_oh_act(h, a->user, script.ptr, options, on_ended, g, &err) != 0) {
		free(g);
		th_access_error(a, &err);
		return;
	}
	a->ctx = g;
	a->gone = on_gone;
}

static void ask_changes(struct th_access *a, const char *session, int status)
{
	(void)status;
	ask(a, session, false);
}

static void ask_diff(struct th_access *a, const char *session, int status)
{
	(void)status;
	ask(a, session, true);
}

static void look_at(struct th_access *a, bool is_diff)
{
	struct th_buf below TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_buf ref TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	if (read_query(a, is_diff, &below, &ref))
		th_oh_with_open(a, is_diff ? ask_diff : ask_changes);
}

void th_oh_git_changes(struct th_access *a)
{
	look_at(a, false);
}

void th_oh_git_diff(struct th_access *a)
{
	look_at(a, true);
}
