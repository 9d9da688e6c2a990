/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/rule.h"

#include "base/text.h"

#define AT(member) offsetof(struct th_agent_rule, member)

static const char *const class_names[] = { "local", "read",         "keyed", "verifiable",
					   "write", "irreversible", NULL };
static const enum th_class class_values[] = { TH_CLASS_L, TH_CLASS_R, TH_CLASS_K,
					      TH_CLASS_V, TH_CLASS_W, TH_CLASS_X };
static const char *const decisions[] = { "run", "ask", "refuse", NULL };

static const struct th_field rule_fields[] = {
	{ "tool", AT(tool), TH_FIELD_str, TH_NONEMPTY, "pattern for the tool's name", NULL, NULL,
	  false, 0 },
	{ "arguments", AT(arguments), TH_FIELD_raw, 0,
	  "name of an argument -> pattern for its value; in a rule that says run, * does not match "
	  "characters that are special in a shell",
	  NULL, NULL, false, 0 },
	{ "class", AT(class), TH_FIELD_enum, 0, "class of the call", NULL, class_names, true, -1 },
	{ "path", AT(path), TH_FIELD_str, TH_NONEMPTY,
	  "pattern for an absolute path that the call names; ** also matches /", NULL, NULL, false,
	  0 },
	{ "domain", AT(domain), TH_FIELD_str, TH_NONEMPTY,
	  "pattern for the host of a URL that the call names", NULL, NULL, false, 0 },
	{ "decide", AT(decide), TH_FIELD_enum, TH_REQ | TH_EMIT, "the decision", NULL, decisions,
	  false, 0 },
	{ "message", AT(message), TH_FIELD_str, TH_NONEMPTY,
	  "the reason, for the person who decides or the model whose call is refused", NULL, NULL,
	  false, 0 },
	{ "until", AT(until), TH_FIELD_str, TH_NONEMPTY,
	  "date (UTC) from which on it holds no longer, as \"2026-12-31\"", NULL, NULL, false, 0 },
};

const struct th_table th_agent_rule_table = {
	"agent_rule",
	"Which calls run, need a person, or are refused.",
	rule_fields,
	TH_COUNT(rule_fields),
	sizeof(struct th_agent_rule),
	false,
};

/* ---- patterns ----------------------------------------------------------------------------- */

/* Back to the last star, which takes one byte more, and where that may not, to the last double
 * one: what is before them need not be tried again. */
bool th_glob(struct th_str pattern, struct th_str text, struct th_str stop)
{
	const size_t none = SIZE_MAX;
	size_t p = 0, t = 0, star = none, from = 0, wide = none, wide_from = 0;

	while (t < text.len || p < pattern.len) {
		if (p + 1 < pattern.len && pattern.ptr[p] == '*' && pattern.ptr[p + 1] == '*') {
			p += 2;
			wide = p;
			wide_from = t;
			star = none;
		} else if (p < pattern.len && pattern.ptr[p] == '*') {
			star = ++p;
			from = t;
		} else if (p < pattern.len && t < text.len &&
			   (pattern.ptr[p] == text.ptr[t] ||
			    (pattern.ptr[p] == '?' && th_str_find_char(stop, text.ptr[t]) < 0))) {
			p++;
			t++;
		} else if (star != none && from < text.len &&
			   th_str_find_char(stop, text.ptr[from]) < 0) {
			p = star;
			t = ++from;
		} else if (wide != none && wide_from < text.len) {
			p = wide;
			t = ++wide_from;
			star = none;
		} else
			return false;
	}
	return true;
}

bool th_glob_any(const struct th_strs *patterns, struct th_str name)
{
	for (size_t i = 0; i < patterns->count; i++)
		if (th_glob(patterns->list[i], name, TH_STR("")))
			return true;
	return false;
}

/* ---- what a call names -------------------------------------------------------------------- */

static struct th_str path_part(struct th_str *rest)
{
	return th_str_split(rest, '/');
}

/* Absolute, without "." and ".." and double slashes; symbolic links are not looked at. */
static bool absolute(struct th_str workspace, struct th_str path, struct th_buf *out)
{
	struct th_str parts[2] = { workspace, path };

	if (path.len > TH_PATH_LEN_MAX || (path.len && memchr(path.ptr, '\0', path.len)))
		return false;
	if (path.len && path.ptr[0] == '/')
		parts[0] = TH_STR("");
	for (size_t i = 0; i < 2; i++) {
		while (parts[i].len) {
			struct th_str part = path_part(&parts[i]);

			if (!part.len || th_str_is(part, "."))
				continue;
			if (!th_str_is(part, "..")) {
				th_buf_printf(out, "/%.*s", TH_FMT(part));
				continue;
			}
			while (out->len && out->ptr[out->len - 1] != '/')
				th_buf_truncate(out, out->len - 1);
			if (out->len)
				th_buf_truncate(out, out->len - 1);
		}
	}
	if (!out->len)
		th_buf_add_char(out, '/');
	return !out->failed;
}

static bool path_matches(struct th_str pattern, struct th_str workspace, struct th_str path,
			 bool otherwise)
{
	struct th_buf full = TH_BUF_INIT(2 * TH_PATH_LEN_MAX);
	bool ret = otherwise;

	if (absolute(workspace, path, &full))
		ret = th_glob(pattern, th_buf_str(&full), TH_STR("/"));
	th_buf_deinit(&full);
	return ret;
}

/* The host of a URL: between // (after any name and password) and the port. */
static bool host_of(struct th_str url, struct th_str *ret)
{
	ptrdiff_t scheme = th_str_find(url, TH_STR("://")), at;
	size_t len = 0;

	if (scheme < 0)
		return false;
	url = th_str_sub(url, (size_t)scheme + 3, url.len);
	/* A backslash is a slash to browsers. */
	while (len < url.len && !memchr("/?#\\", url.ptr[len], 4))
		len++;
	url.len = len;
	while ((at = th_str_find_char(url, '@')) >= 0)
		url = th_str_sub(url, (size_t)at + 1, url.len);
	if (url.len && url.ptr[0] == '[')
		at = th_str_find_char(url, ']') + 1;
	else
		at = th_str_find_char(url, ':');
	if (at > 0)
		url.len = (size_t)at;
	while (url.len && url.ptr[url.len - 1] == '.')
		url.len--;
	*ret = url;
	return url.len > 0;
}

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c & 0x80);
}

/* A host with a byte that no host has may be another one for who opens it: a shell's variable, an
 * escape, a quote. */
static bool domain_matches(struct th_str pattern, struct th_str url, bool otherwise)
{
	char lower[256];
	struct th_str host;

	if (!host_of(url, &host) || host.len > sizeof(lower))
		return otherwise;
	for (size_t i = 0; i < host.len; i++) {
		if (!is_alnum(host.ptr[i]) && !memchr("-._:[]", host.ptr[i], 6))
			return otherwise;
		lower[i] = (char)(host.ptr[i] >= 'A' && host.ptr[i] <= 'Z' ? host.ptr[i] + 32
									   : host.ptr[i]);
	}
	return th_glob(pattern, th_str_n(lower, host.len), TH_STR(""));
}

static bool ends_with(struct th_str s, struct th_str word)
{
	return s.len >= word.len && th_str_istarts(th_str_sub(s, s.len - word.len, s.len), word);
}

/* The next URL inside a text, which is cut off up to its end. */
static bool next_url(struct th_str *text, struct th_str *ret)
{
	size_t end = 0;
	ptrdiff_t at;

	while ((at = th_str_find(*text, TH_STR("://"))) >= 0) {
		size_t scheme = (size_t)at;
		struct th_str before = th_str_sub(*text, 0, scheme);

		if (ends_with(before, TH_STR("http")))
			scheme -= strlen("http");
		else if (ends_with(before, TH_STR("https")))
			scheme -= strlen("https");
		*text = th_str_sub(*text, scheme, text->len);
		if (scheme < (size_t)at)
			break;
		*text = th_str_sub(*text, strlen("://"), text->len);
	}
	if (at < 0)
		return false;
	for (; end < text->len; end++) {
		char c = text->ptr[end];
		bool last = end + 1 == text->len || !is_alnum(text->ptr[end + 1]);

		if ((c & 0x80) == 0 &&
		    (c <= ' ' || memchr("<>|;&),", c, 7) || (last && memchr("'\"`", c, 3))))
			break;
	}
	*ret = th_str_sub(*text, 0, end);
	*text = th_str_sub(*text, end, text->len);
	return true;
}

/* ---- rules -------------------------------------------------------------------------------- */

/* Of a command line: what joins, substitutes, redirects or ends commands. */
#define SHELL_STOP TH_STR(";&|<>`$(){}\\\"'\n\r!")

static bool value_matches(struct th_str pattern, const struct th_json *value, bool runs)
{
	struct th_buf text = TH_BUF_INIT(TH_RULE_TEXT_MAX);
	struct th_str s = th_json_str(value);
	bool ret = !runs;

	if (th_json_type(value) == TH_JSON_ABSENT)
		return false;
	if (!s.ptr) {
		th_json_print(value, &text);
		s = th_buf_str(&text);
	}
	if (!text.failed && s.len <= TH_RULE_TEXT_MAX)
		ret = th_glob(pattern, s, runs ? SHELL_STOP : TH_STR(""));
	th_buf_deinit(&text);
	return ret;
}

/* A program and its arguments (events/native.h) as the line that people write.  False: no rule that
 * runs may take it for one: it is in another folder, or a word is more than it looks. */
static bool joined(const struct th_json *arguments, bool runs, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(th_json_get(arguments, "argv"));
	bool plain = !th_json_get_str(arguments, "folder").len;

	while (th_json_next(&it)) {
		struct th_str word = th_json_str(it.val);

		for (size_t i = 0; i < word.len; i++)
			plain = plain && word.ptr[i] > ' ';
		th_buf_add_cstr(out, it.index > 0 ? " " : "");
		th_buf_add(out, word);
	}
	return !runs || plain;
}

static bool argv_matches(struct th_str pattern, const struct th_json *arguments, bool runs)
{
	struct th_buf line = TH_BUF_INIT(TH_RULE_TEXT_MAX);
	bool ret = !runs;

	if (!joined(arguments, runs, &line))
		ret = false;
	else if (!line.failed)
		ret = th_glob(pattern, th_buf_str(&line), runs ? SHELL_STOP : TH_STR(""));
	th_buf_deinit(&line);
	return ret;
}

/* A shell may be given several (events/native.h): a rule that runs wants all of them to match, the
 * others any. */
static bool command_matches(struct th_str pattern, const struct th_json *arguments, bool runs)
{
	const struct th_json *one = th_json_get(arguments, "command");
	const struct th_json *list = th_json_get(arguments, "commands");
	bool given = th_json_type(one) != TH_JSON_ABSENT;
	bool any = value_matches(pattern, one, runs), all = any || !given;
	struct th_json_iter it = th_json_iter(list);

	if (th_json_is_array(th_json_get(arguments, "argv"))) {
		bool match = argv_matches(pattern, arguments, runs);

		return runs ? match && !given && th_json_is_null(list) : any || match;
	}
	if (!th_json_is_array(list) || th_json_count(list) == 0)
		return any;
	while (th_json_next(&it)) {
		bool match = value_matches(pattern, it.val, runs);

		all &= match;
		any |= match;
	}
	return runs ? all : any;
}

/* `edit` says in `command` what it does; tools that do one of these have no such argument. */
static bool does(struct th_str pattern, const struct th_rule_call *call)
{
	return th_glob(pattern,
		       th_tool_calls_of(call->class) == TH_TOOL_LOOKS ? TH_STR("view")
								      : TH_STR("create"),
		       TH_STR(""));
}

static bool has_command(const struct th_json *arguments)
{
	return th_json_get(arguments, "command") || th_json_get(arguments, "commands") ||
	       th_json_get(arguments, "argv");
}

/* `alike`: the rule names another tool, which does the same. */
static bool arguments_match(const struct th_agent_rule *r, const struct th_rule_call *call,
			    bool runs, bool alike)
{
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	bool ret = true;

	if (!r->arguments.len)
		return true;
	if (th_json_parse(r->arguments, &doc, NULL))
		return !runs;
	it = th_json_iter(th_json_root(doc));
	while (ret && th_json_next(&it)) {
		struct th_str pattern = th_json_str(it.val);
		const struct th_json *value = th_json_getn(call->arguments, it.key);

		if (!th_str_is(it.key, "command"))
			ret = (alike && !value) || value_matches(pattern, value, runs);
		else if (alike && !has_command(call->arguments))
			ret = does(pattern, call);
		else
			ret = command_matches(pattern, call->arguments, runs);
	}
	th_json_free(doc);
	return ret;
}

static bool names_path(struct th_str key)
{
	static const char *const keys[] = { "path",    "file",        "filename",  "file_path",
					    "folder",  "directory",   "dir",       "source",
					    "paths",   "files",       "filenames", "file_paths",
					    "folders", "directories", "dirs",      "destination",
					    NULL };

	return th_names_find(keys, key) >= 0;
}

/* What a rule about places has seen so far. */
struct seen {
	bool path, domain, any_path, any_domain, all;
};

static void see_path(const struct th_agent_rule *r, const struct th_rule_call *call,
		     struct th_str path, struct seen *seen)
{
	bool match = path_matches(r->path, call->workspace, path, r->decide != TH_RULE_RUN);

	seen->path = true;
	seen->any_path |= match;
	seen->all &= match;
}

/* The files that a patch names (wire/patch.h), each on a line of its own; lines of content begin
 * with another character. */
static void see_patch(const struct th_agent_rule *r, const struct th_rule_call *call,
		      struct th_str patch, struct seen *seen)
{
	static const char *const heads[] = { "*** Add File: ", "*** Update File: ",
					     "*** Delete File: ", "*** Move to: " };

	while (patch.len) {
		struct th_str line = th_str_trim(th_str_split(&patch, '\n'));

		for (size_t i = 0; i < TH_COUNT(heads); i++)
			if (th_str_starts(line, th_str_of(heads[i])))
				see_path(r, call,
					 th_str_trim(th_str_sub(line, strlen(heads[i]), line.len)),
					 seen);
	}
}

static void see_url(const struct th_agent_rule *r, struct th_str url, struct seen *seen)
{
	bool match = domain_matches(r->domain, url, r->decide != TH_RULE_RUN);

	seen->any_domain |= match;
	seen->all &= match;
}

/* One inside a text counts where the rule asks or refuses; what runs must be asked for by itself.
 */
static void see_urls(const struct th_agent_rule *r, struct th_str key, struct th_str s,
		     struct seen *seen)
{
	bool whole = th_str_is(key, "url") || th_str_is(key, "urls") ||
		     th_str_istarts(s, TH_STR("http://")) || th_str_istarts(s, TH_STR("https://"));
	struct th_str url;

	if (whole)
		see_url(r, s, seen);
	seen->domain |= whole;
	while (next_url(&s, &url)) {
		see_url(r, url, seen);
		seen->domain |= r->decide != TH_RULE_RUN;
	}
}

/* What stands in a list is called as the list. */
static void see(const struct th_agent_rule *r, const struct th_rule_call *call, struct th_str key,
		const struct th_json *value, struct seen *seen)
{
	struct th_json_iter it = th_json_iter(value);
	struct th_str s = th_json_str(value);

	if (th_json_is_object(value) || th_json_is_array(value)) {
		while (th_json_next(&it))
			see(r, call, th_json_is_object(value) ? it.key : key, it.val, seen);
		return;
	}
	if (r->path.len && names_path(key))
		see_path(r, call, s, seen);
	if (r->path.len && th_str_is(key, "patch"))
		see_patch(r, call, s, seen);
	if (r->domain.len && s.ptr)
		see_urls(r, key, s, seen);
}

/* Where there are several, a rule that runs wants all of them to match, the others any. */
static bool places_match(const struct th_agent_rule *r, const struct th_rule_call *call, bool runs)
{
	struct seen seen = { .all = true };

	if (r->path.len || r->domain.len)
		see(r, call, TH_STR(""), call->arguments, &seen);
	if ((r->path.len && !seen.path) || (r->domain.len && !seen.domain))
		return false;
	if (runs)
		return seen.all;
	return (!r->path.len || seen.any_path) && (!r->domain.len || seen.any_domain);
}

int64_t th_date_days(struct th_str date)
{
	static const int before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };
	static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int64_t year, month, day, transcript;
	bool leap;

	if (date.len != 10 || date.ptr[4] != '-' || date.ptr[7] != '-' ||
	    !th_str_i64(th_str_sub(date, 0, 4), &year) ||
	    !th_str_i64(th_str_sub(date, 5, 2), &month) ||
	    !th_str_i64(th_str_sub(date, 8, 2), &day) || year < 1970 || month < 1 || month > 12)
		return -1;
	leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	if (day < 1 || day > lengths[month - 1] + (month == 2 && leap))
		return -1;
	transcript = year - 1;
	return (year - 1970) * 365 + transcript / 4 - transcript / 100 + transcript / 400 - 477 +
	       before[month - 1] + (month > 2 && leap) + day - 1;
}

/* A pattern that lets run could mean an alias by chance: it is held to the name that was called. */
static bool tool_matches(const struct th_agent_rule *r, const struct th_rule_call *call, bool runs,
			 bool *ret_alike)
{
	const struct th_tool_called *called = call->called;
	bool wild = th_str_find_char(r->tool, '*') >= 0 || th_str_find_char(r->tool, '?') >= 0;

	if (!r->tool.len || th_glob(r->tool, call->tool, TH_STR("")))
		return true;
	for (size_t i = 0; called && !(runs && wild) && i < (runs ? called->same : called->count);
	     i++)
		if (th_glob(r->tool, called->names[i], TH_STR(""))) {
			*ret_alike = i >= called->same;
			return true;
		}
	return false;
}

static bool matches(const struct th_agent_rule *r, const struct th_rule_call *call)
{
	bool runs = r->decide == TH_RULE_RUN, alike = false;

	if (r->until.len && call->now_ms / 86400000 >= th_date_days(r->until))
		return false;
	if (!tool_matches(r, call, runs, &alike))
		return false;
	if (r->class >= 0 && class_values[r->class] != call->class)
		return false;
	return arguments_match(r, call, runs, alike) && places_match(r, call, runs);
}

const struct th_agent_rule *th_rules_match(const struct th_objects *rules,
					   const struct th_rule_call *call)
{
	const struct th_agent_rule *list = rules->list;

	for (size_t i = 0; i < rules->count; i++)
		if (matches(&list[i], call))
			return &list[i];
	return NULL;
}

static enum th_code check(const struct th_agent_rule *r, const char **ret_field, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;

	*ret_field = "until";
	if (r->until.len && th_date_days(r->until) < 0)
		return th_fail(err, TH_EUSAGE, "must be a date such as 2026-12-31, not \"%.*s\"",
			       TH_FMT(th_utf8_cut(r->until, 80)));
	*ret_field = "path";
	if (r->path.len && r->path.ptr[0] != '/' && r->path.ptr[0] != '*')
		return th_fail(err, TH_EUSAGE, "must begin with / or *: it is of an absolute path");
	*ret_field = "arguments";
	if (r->arguments.len) {
		if (th_json_parse(r->arguments, &doc, err))
			return TH_EUSAGE;
		if (!th_json_is_object(th_json_root(doc)))
			return th_fail(err, TH_EUSAGE, "must be an object: argument -> pattern");
		it = th_json_iter(th_json_root(doc));
		while (th_json_next(&it))
			if (!th_json_str(it.val).ptr)
				return th_fail(err, TH_EUSAGE,
					       "has a pattern that is not a string, for %.*s",
					       TH_FMT(th_utf8_cut(it.key, 80)));
	}
	*ret_field = r->tool.len > TH_RULE_PATTERN_MAX        ? "tool"
		     : r->path.len > TH_RULE_PATTERN_MAX      ? "path"
		     : r->domain.len > TH_RULE_PATTERN_MAX    ? "domain"
		     : r->arguments.len > TH_RULE_PATTERN_MAX ? "arguments"
							      : "";
	if (**ret_field)
		return th_fail(err, TH_EUSAGE, "has at most %zu bytes", TH_RULE_PATTERN_MAX);
	return TH_OK;
}

enum th_code th_rules_check(const struct th_objects *rules, struct th_buf *path, struct th_err *err)
{
	const struct th_agent_rule *list = rules->list;
	const char *field = "";

	if (rules->count > TH_RULES_MAX) {
		th_buf_add_cstr(path, "rules");
		return th_fail(err, TH_EUSAGE, "has more than %d", TH_RULES_MAX);
	}
	for (size_t i = 0; i < rules->count; i++)
		if (check(&list[i], &field, err)) {
			th_buf_printf(path, "rules[%zu].%s", i, field);
			return TH_EUSAGE;
		}
	return TH_OK;
}
