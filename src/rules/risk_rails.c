/* SPDX-License-Identifier: Apache-2.0 */
/*
 * risk_rails.c - what a shell command does, as far as its words show: does it run what it
 * fetched, write to a disk as such, or delete all that there is?
 *
 * The text is cut into words and simple commands as a shell does; a command inside quotes
 * given to a shell (-c), or in $( ), is looked at as well.
 */
#include "rules/risk_internal.h"

#include <stdlib.h>

#define COMMAND_MAX 65536 /* bytes of a command that is looked at */
#define NESTED_MAX 8
#define LOOKS_MAX 64 /* commands inside commands */

/* Of one simple command; there is room for every byte to be one. */
struct words {
	struct th_str *list;
	char *text;
	size_t count, used;
};

struct rails {
	enum th_risk risk;
	const char *why;
	bool fetches; /* a command earlier in the pipe */
	size_t depth;
	size_t *looks;
};

static void look_command(struct rails *r, struct th_str text);

static void found(struct rails *r, const char *why)
{
	r->risk = TH_RISK_HIGH;
	r->why = why;
}

static bool is_one(struct th_str word, const char *const *list)
{
	for (; *list; list++)
		if (th_str_is(word, *list))
			return true;
	return false;
}

/* The name of a program without its folder. */
static struct th_str base_of(struct th_str word)
{
	struct th_str name = word;

	while (word.len)
		name = th_str_split(&word, '/');
	return name;
}

/* ---- simple commands ---- */

static bool is_root(struct th_str word)
{
	static const char *const all[] = { "/",     "/*",     "~",       "~/",      "~/*",
					   "$HOME", "$HOME/", "$HOME/*", "${HOME}", "/home",
					   "/etc",  "/usr",   "/var",    "/bin",    "/lib",
					   "/boot", "/root",  "/opt",    "/.",      NULL };

	while (word.len > 1 && word.ptr[word.len - 1] == '/' && word.ptr[0] == '/')
		word.len--;
	return is_one(word, all);
}

static void look_rm(struct rails *r, const struct words *w, size_t at)
{
	bool recursive = false;

	for (size_t i = at + 1; i < w->count; i++) {
		struct th_str word = w->list[i];
		bool flag = word.len > 1 && word.ptr[0] == '-' && word.ptr[1] != '-';

		recursive |=
		    th_str_is(word, "--recursive") || th_str_is(word, "--no-preserve-root") ||
		    (flag && (th_str_find_char(word, 'r') > 0 || th_str_find_char(word, 'R') > 0));
	}
	for (size_t i = at + 1; recursive && i < w->count; i++)
		if (is_root(w->list[i]))
			found(r, "it deletes a whole system, or a home");
}

static bool is_disk(struct th_str path)
{
	static const char *const harmless[] = { "/dev/null",   "/dev/zero",   "/dev/stdout",
						"/dev/stderr", "/dev/stdin",  "/dev/tty",
						"/dev/full",   "/dev/random", "/dev/urandom",
						NULL };

	return th_str_starts(path, TH_STR("/dev/")) && !is_one(path, harmless) &&
	       !th_str_starts(path, TH_STR("/dev/fd/")) &&
	       !th_str_starts(path, TH_STR("/dev/shm/"));
}

static void look_disk(struct rails *r, const struct words *w, size_t at)
{
	struct th_str name = base_of(w->list[at]);

	if (th_str_starts(name, TH_STR("mkfs")) || th_str_is(name, "wipefs"))
		found(r, "it makes a file system on a disk");
	for (size_t i = at + 1; i < w->count; i++) {
		if (th_str_is(name, "dd") && th_str_starts(w->list[i], TH_STR("of=")) &&
		    is_disk(th_str_sub(w->list[i], 3, w->list[i].len)))
			found(r, "it writes to a disk as such");
		if (th_str_starts(w->list[i], TH_STR(">")) && i + 1 < w->count &&
		    is_disk(w->list[i + 1]))
			found(r, "it writes to a disk as such");
		if (th_str_is(name, "shred") && is_disk(w->list[i]))
			found(r, "it writes to a disk as such");
	}
}

/* Words that stand before the program itself. */
static bool is_prefix(struct th_str word)
{
	static const char *const prefixes[] = { "sudo", "doas",    "env",  "nohup", "time",
						"nice", "exec",    "then", "do",    "else",
						"if",   "command", NULL };
	ptrdiff_t equals = th_str_find_char(word, '=');

	return is_one(word, prefixes) || (equals > 0 && word.ptr[0] != '-' && word.ptr[0] != '/');
}

static void look_simple(struct rails *r, const struct words *w)
{
	static const char *const fetch[] = { "curl", "wget", "fetch", "aria2c", NULL };
	static const char *const shells[] = { "sh",   "bash", "zsh",    "dash",    "ksh",
					      "fish", "ash",  "python", "python3", "perl",
					      "ruby", "node", "php",    NULL };
	struct th_str name;
	size_t at = 0;

	while (at < w->count &&
	       (is_prefix(w->list[at]) || (at && w->list[at].len > 1 && w->list[at].ptr[0] == '-')))
		at++;
	if (at == w->count)
		return;
	name = base_of(w->list[at]);
	if (is_one(name, shells) && r->fetches)
		found(r, "it runs what it downloads");
	if (is_one(name, fetch))
		r->fetches = true;
	if (th_str_is(name, "rm"))
		look_rm(r, w, at);
	look_disk(r, w, at);
	for (size_t i = at + 1; i + 1 < w->count && r->depth < NESTED_MAX; i++)
		if (is_one(name, shells) && th_str_is(w->list[i], "-c")) {
			struct rails inside = { .depth = r->depth + 1, .looks = r->looks };

			look_command(&inside, w->list[i + 1]);
			if (inside.risk > r->risk)
				found(r, inside.why);
		}
}

/* ---- words ---- */

/* One word of a command, quotes gone; what it begins with stays in place. */
static struct th_str take_word(struct th_str *rest, struct words *w)
{
	size_t from = w->used;
	char quote = '\0';

	while (rest->len) {
		char c = rest->ptr[0];

		if (!quote && strchr(" \t\n;&|()<>", c))
			break;
		*rest = th_str_sub(*rest, 1, rest->len);
		if (c == quote) {
			quote = '\0';
		} else if (!quote && (c == '"' || c == '\'')) {
			quote = c;
		} else if (c == '\\' && quote != '\'' && rest->len) {
			w->text[w->used++] = rest->ptr[0];
			*rest = th_str_sub(*rest, 1, rest->len);
		} else {
			w->text[w->used++] = c;
		}
	}
	return th_str_n(w->text + from, w->used - from);
}

static void end_simple(struct rails *r, struct words *w)
{
	if (w->count)
		look_simple(r, w);
	w->count = w->used = 0;
}

/* What stands between $( and its end, or between backquotes, is a command of its own. */
static void look_inside(struct rails *r, struct th_str text)
{
	ptrdiff_t at;

	if (r->depth >= NESTED_MAX)
		return;
	while ((at = th_str_find(text, TH_STR("$("))) >= 0 ||
	       (at = th_str_find_char(text, '`')) >= 0) {
		struct rails inside = { .depth = r->depth + 1, .looks = r->looks };
		bool back = text.ptr[at] == '`';
		struct th_str body = th_str_sub(text, (size_t)at + (back ? 1 : 2), text.len);
		ptrdiff_t end = th_str_find_char(body, back ? '`' : ')');

		look_command(&inside, th_str_sub(body, 0, end < 0 ? body.len : (size_t)end));
		if (inside.risk > r->risk)
			found(r, inside.why);
		/* A shell that runs what another command prints. */
		if (inside.fetches)
			r->fetches = true;
		text = body;
	}
}

static void look_command(struct rails *r, struct th_str text)
{
	struct words w = { 0 };

	/* What cannot be looked at is what a person is asked about. */
	if (text.len > COMMAND_MAX || ++*r->looks > LOOKS_MAX) {
		found(r, "it is too long or too tangled to be looked at");
		return;
	}
	w.list = th_alloc((text.len + 1) * sizeof(*w.list));
	w.text = th_alloc(text.len + 1);
	look_inside(r, text);
	while (text.len) {
		char c = text.ptr[0];

		if (c == ' ' || c == '\t') {
			text = th_str_sub(text, 1, text.len);
		} else if (strchr("\n;&|()", c)) {
			bool pipe = c == '|' && !(text.len > 1 && text.ptr[1] == '|');

			end_simple(r, &w);
			if (!pipe && c != '(' && c != ')')
				r->fetches = false;
			text = th_str_sub(text, text.len > 1 && text.ptr[1] == c ? 2 : 1, text.len);
		} else if (c == '<' || c == '>') {
			w.list[w.count++] = c == '>' ? TH_STR(">") : TH_STR("<");
			text = th_str_sub(text, text.len > 1 && text.ptr[1] == c ? 2 : 1, text.len);
		} else {
			w.list[w.count++] = take_word(&text, &w);
		}
	}
	end_simple(r, &w);
	free(w.list);
	free(w.text);
}

static enum th_risk look_rails(const struct th_json *arguments, const char **ret_why)
{
	size_t looks = 0;
	struct rails r = { .why = "", .looks = &looks };

	look_command(&r, th_json_get_str(arguments, "command"));
	*ret_why = r.why;
	return r.risk;
}

const struct th_analyser th_analyser_rails = { "rails", look_rails };
