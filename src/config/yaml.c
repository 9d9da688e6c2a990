/* SPDX-License-Identifier: Apache-2.0 */
#include "config/yaml.h"

#include <yaml.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"

#define PATH_SIZE_MAX 256 /* as base/field.c cuts its paths */

/* An open mapping or sequence. */
struct level {
	bool mapping, value; /* value: a key was read, its value comes */
	size_t index;        /* of the next element */
	size_t first_key;    /* index of its first hash in walk.keys */
	size_t path_len;     /* of walk.path, around its members */
};

/* One pass over the events: writes JSON, or looks for the line of a path. */
struct walk {
	yaml_parser_t parser;
	struct th_str name;
	struct th_err *err;
	struct th_jw *w;      /* NULL: only looking */
	struct th_str wanted; /* path that is looked for */
	size_t best_len;
	int best_line;
	struct level levels[TH_JSON_DEPTH_MAX];
	size_t depth;
	struct th_buf keys; /* hashes of the keys of all open mappings */
	struct th_buf path;
	bool documents; /* one was seen */
};

static int line_of(const yaml_mark_t *mark)
{
	return (int)mark->line + 1;
}

TH_PRINTF(4, 5)
static enum th_code fail_at(struct walk *k, const yaml_mark_t *mark, enum th_code code,
			    const char *fmt, ...)
{
	struct th_buf what = TH_BUF_INIT(TH_ERR_MSG_MAX * 4);
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(&what, fmt, ap);
	va_end(ap);
	(void)th_fail(k->err, code, "%.*s:%d: %s", TH_FMT(k->name), line_of(mark), what.ptr);
	th_buf_deinit(&what);
	return code;
}

/* ---- scalars: the core schema of YAML 1.2, section 10.3 ---- */

static bool is_word(struct th_str s, const char *lower)
{
	/* lower, Capital or UPPER, not cAPITAL */
	size_t n = strlen(lower);
	bool upper = true, same = true;

	if (s.len != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		char up = (char)(lower[i] >= 'a' && lower[i] <= 'z' ? lower[i] - 32 : lower[i]);

		upper &= s.ptr[i] == up;
		same &= s.ptr[i] == (i == 0 ? s.ptr[0] : lower[i]);
		if (i == 0 && s.ptr[0] != lower[0] && s.ptr[0] != up)
			return false;
	}
	return upper || same;
}

static size_t digits(struct th_str s, size_t at)
{
	size_t n = 0;

	while (at + n < s.len && s.ptr[at + n] >= '0' && s.ptr[at + n] <= '9')
		n++;
	return n;
}

enum number { NOT_NUMBER, INTEGER, REAL };

/* Decides by the grammar and writes the number as JSON and th_str_f64 have it. */
static enum number number_of(struct th_str s, struct th_buf *out)
{
	size_t at = s.len && (s.ptr[0] == '-' || s.ptr[0] == '+'), whole, fraction = 0;
	size_t zeros = 0;
	bool real = false;

	if (at && s.ptr[0] == '-')
		th_buf_add_char(out, '-');
	whole = digits(s, at);
	while (zeros + 1 < whole && s.ptr[at + zeros] == '0')
		zeros++; /* 007 is 7 here; JSON has no such form */
	th_buf_add(out, whole ? th_str_sub(s, at + zeros, whole - zeros) : TH_STR("0"));
	at += whole;
	if (at < s.len && s.ptr[at] == '.') {
		real = true;
		fraction = digits(s, at + 1);
		th_buf_add_char(out, '.');
		th_buf_add(out, fraction ? th_str_sub(s, at + 1, fraction) : TH_STR("0"));
		at += 1 + fraction;
	}
	if (!whole && !fraction)
		return NOT_NUMBER;
	if (at < s.len && (s.ptr[at] == 'e' || s.ptr[at] == 'E')) {
		size_t sign = at + 1 < s.len && (s.ptr[at + 1] == '-' || s.ptr[at + 1] == '+');
		size_t power = digits(s, at + 1 + sign);

		if (!power)
			return NOT_NUMBER;
		real = true;
		th_buf_add(out, th_str_sub(s, at, 1 + sign + power));
		at += 1 + sign + power;
	}
	return at < s.len ? NOT_NUMBER : real ? REAL : INTEGER;
}

/* 0o17 and 0x1F; false: neither, or too large. */
static bool based_of(struct th_str s, bool *ret_is, int64_t *ret)
{
	unsigned base = th_str_starts(s, TH_STR("0o"))   ? 8
			: th_str_starts(s, TH_STR("0x")) ? 16
							 : 0;
	int64_t v = 0;

	*ret_is = base && s.len > 2;
	for (size_t i = 2; *ret_is && i < s.len; i++) {
		char c = s.ptr[i];
		unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
				 : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
							: 99;

		*ret_is = digit < base;
		if (__builtin_mul_overflow(v, (int64_t)base, &v) ||
		    __builtin_add_overflow(v, (int64_t)digit, &v))
			return false;
	}
	*ret = v;
	return *ret_is;
}

static enum th_code write_number(struct walk *k, const yaml_event_t *ev, struct th_str s,
				 enum number kind, struct th_str json)
{
	int64_t whole;
	double real;

	if (kind == INTEGER && th_str_i64(json, &whole)) {
		th_jw_int(k->w, whole);
		return TH_OK;
	}
	if (kind == REAL && th_str_f64(json, &real)) {
		th_jw_real(k->w, real);
		return TH_OK;
	}
	s = th_utf8_cut(s, TH_NAME_NEAR_MAX);
	return fail_at(k, &ev->start_mark, TH_EUSAGE,
		       "%.*s is too large a number; put it in quotes to make it text", TH_FMT(s));
}

static bool is_infinite(struct th_str s)
{
	if (s.len && (s.ptr[0] == '-' || s.ptr[0] == '+'))
		s = th_str_sub(s, 1, s.len);
	if (!s.len || s.ptr[0] != '.')
		return false;
	s = th_str_sub(s, 1, s.len);
	return is_word(s, "inf") || th_str_is(s, "nan") || th_str_is(s, "NaN") ||
	       th_str_is(s, "NAN");
}

static enum th_code write_plain(struct walk *k, const yaml_event_t *ev, struct th_str s)
{
	struct th_buf json = TH_BUF_INIT(TH_NUMBER_TEXT_MAX);
	enum number kind = NOT_NUMBER;
	enum th_code code = TH_OK;
	int64_t based = 0;
	bool is_based;

	if (based_of(s, &is_based, &based))
		th_jw_int(k->w, based);
	else if (is_based)
		code = write_number(k, ev, s, INTEGER, TH_STR(""));
	else if (!s.len || th_str_is(s, "~") || is_word(s, "null"))
		th_jw_null(k->w);
	else if (is_word(s, "true") || is_word(s, "false"))
		th_jw_bool(k->w, is_word(s, "true"));
	else if (is_infinite(s))
		code = fail_at(k, &ev->start_mark, TH_EUSAGE,
			       "%.*s is not a number that can be kept", TH_FMT(s));
	else if ((kind = number_of(s, &json)) != NOT_NUMBER)
		code = write_number(k, ev, s, kind, json.failed ? TH_STR("") : th_buf_str(&json));
	else
		th_jw_str(k->w, s);
	th_buf_deinit(&json);
	return code;
}

/* ---- structure ---- */

static struct level *top(struct walk *k)
{
	return k->depth ? &k->levels[k->depth - 1] : NULL;
}

/* Sets walk.path to that of a member of the level: `key`, or the element of its index. */
static void path_enter(struct walk *k, const struct level *l, struct th_str key)
{
	th_buf_truncate(&k->path, l->path_len);
	k->path.failed = false;
	if (!l->mapping) {
		th_buf_printf(&k->path, "[%zu]", l->index);
		return;
	}
	if (k->path.len)
		th_buf_add_char(&k->path, '.');
	th_text_line(&k->path, key, TH_NAME_NEAR_MAX);
}

/* A key or value begins here: is it what is looked for, or around that? */
static void path_look(struct walk *k, const yaml_event_t *ev)
{
	struct th_str path = th_buf_str(&k->path), wanted = k->wanted;

	if (path.len <= k->best_len || !th_str_starts(wanted, path))
		return;
	if (wanted.len > path.len && wanted.ptr[path.len] != '.' && wanted.ptr[path.len] != '[')
		return;
	k->best_len = path.len;
	k->best_line = line_of(&ev->start_mark);
}

static enum th_code take_key(struct walk *k, const yaml_event_t *ev, struct level *l)
{
	struct th_str key = th_str_n(ev->data.scalar.value, ev->data.scalar.length);
	size_t count = k->keys.len / sizeof(uint64_t) - l->first_key;
	uint64_t hash = th_hash64(key.ptr, key.len);

	if (count >= TH_CONFIG_KEYS_MAX)
		return fail_at(k, &ev->start_mark, TH_ELIMIT, "has more than %d keys in one place",
			       TH_CONFIG_KEYS_MAX);
	for (size_t i = 0; i < count; i++) {
		uint64_t other;

		memcpy(&other, k->keys.ptr + (l->first_key + i) * sizeof(other), sizeof(other));
		if (other == hash) {
			key = th_utf8_cut(key, TH_NAME_NEAR_MAX);
			return fail_at(k, &ev->start_mark, TH_EUSAGE, "\"%.*s\" stands here twice",
				       TH_FMT(key));
		}
	}
	th_buf_add_mem(&k->keys, &hash, sizeof(hash));
	if (k->w)
		th_jw_key(k->w, key);
	path_enter(k, l, key);
	path_look(k, ev);
	l->value = true;
	return TH_OK;
}

static const char *refused(const yaml_event_t *ev)
{
	const yaml_char_t *anchor = NULL, *tag = NULL;

	if (ev->type == YAML_ALIAS_EVENT)
		return "aliases (*name) are not taken; write the value out";
	if (ev->type == YAML_SCALAR_EVENT) {
		anchor = ev->data.scalar.anchor;
		tag = ev->data.scalar.tag;
	} else if (ev->type == YAML_MAPPING_START_EVENT) {
		anchor = ev->data.mapping_start.anchor;
		tag = ev->data.mapping_start.tag;
	} else if (ev->type == YAML_SEQUENCE_START_EVENT) {
		anchor = ev->data.sequence_start.anchor;
		tag = ev->data.sequence_start.tag;
	}
	return anchor ? "anchors (&name) are not taken; write the value out"
	       : tag  ? "tags (!name) are not taken; put text in quotes"
		      : NULL;
}

/* A value begins; what its place asks for before it. */
static enum th_code value_begins(struct walk *k, const yaml_event_t *ev)
{
	struct level *l = top(k);
	const char *why = refused(ev);

	if (why)
		return fail_at(k, &ev->start_mark, TH_EUSAGE, "%s", why);
	if (!l)
		return TH_OK;
	if (l->mapping && !l->value)
		return fail_at(k, &ev->start_mark, TH_EUSAGE, "a key must be text");
	if (!l->mapping) {
		path_enter(k, l, TH_STR(""));
		path_look(k, ev);
		l->index++;
	}
	l->value = false;
	return TH_OK;
}

static enum th_code take_scalar(struct walk *k, const yaml_event_t *ev)
{
	struct th_str s = th_str_n(ev->data.scalar.value, ev->data.scalar.length);
	struct level *l = top(k);
	const char *why = refused(ev);
	enum th_code code;

	if (l && l->mapping && !l->value)
		return why ? fail_at(k, &ev->start_mark, TH_EUSAGE, "%s", why) : take_key(k, ev, l);
	code = value_begins(k, ev);
	if (code != TH_OK || !k->w)
		return code;
	if (ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		return write_plain(k, ev, s);
	th_jw_str(k->w, s);
	return TH_OK;
}

static enum th_code take_open(struct walk *k, const yaml_event_t *ev, bool mapping)
{
	enum th_code code = value_begins(k, ev);

	if (code != TH_OK)
		return code;
	if (k->depth == TH_JSON_DEPTH_MAX)
		return fail_at(k, &ev->start_mark, TH_ELIMIT, "is nested deeper than %d",
			       TH_JSON_DEPTH_MAX);
	k->levels[k->depth++] = (struct level){
		.mapping = mapping,
		.first_key = k->keys.len / sizeof(uint64_t),
		.path_len = k->path.len,
	};
	if (k->w && mapping)
		th_jw_object(k->w);
	else if (k->w)
		th_jw_array(k->w);
	return TH_OK;
}

static void take_close(struct walk *k)
{
	struct level *l = top(k);

	assert(l);
	th_buf_truncate(&k->keys, l->first_key * sizeof(uint64_t));
	if (k->w && l->mapping)
		th_jw_object_end(k->w);
	else if (k->w)
		th_jw_array_end(k->w);
	k->depth--;
}

static enum th_code take(struct walk *k, const yaml_event_t *ev)
{
	switch (ev->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (k->documents)
			return fail_at(k, &ev->start_mark, TH_EUSAGE,
				       "a second document begins; a file has one");
		k->documents = true;
		return TH_OK;
	case YAML_ALIAS_EVENT:
		return value_begins(k, ev);
	case YAML_SCALAR_EVENT:
		return take_scalar(k, ev);
	case YAML_SEQUENCE_START_EVENT:
		return take_open(k, ev, false);
	case YAML_MAPPING_START_EVENT:
		return take_open(k, ev, true);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		take_close(k);
		return TH_OK;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return TH_OK;
	}
	return TH_OK;
}

static enum th_code fail_parser(struct walk *k)
{
	const yaml_parser_t *p = &k->parser;
	const char *problem = p->problem ? p->problem : "cannot be read";

	if (p->error == YAML_MEMORY_ERROR)
		return th_fail(k->err, TH_ENOMEM, "%.*s: out of memory", TH_FMT(k->name));
	if (p->error == YAML_READER_ERROR)
		return th_fail(k->err, TH_EUSAGE, "%.*s:%d: not YAML: %s", TH_FMT(k->name),
			       line_of(&p->mark), problem);
	return fail_at(k, &p->problem_mark, TH_EUSAGE, "not YAML: %s%s%s", problem,
		       p->context ? ", " : "", p->context ? p->context : "");
}

static enum th_code walk_events(struct walk *k)
{
	for (bool end = false; !end;) {
		yaml_event_t ev;
		enum th_code code;

		if (!yaml_parser_parse(&k->parser, &ev))
			return fail_parser(k);
		code = take(k, &ev);
		end = ev.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&ev);
		if (code != TH_OK)
			return code;
	}
	return k->documents ? TH_OK : th_fail(k->err, TH_EUSAGE, "%.*s: is empty", TH_FMT(k->name));
}

static enum th_code walk_text(struct walk *k, struct th_str yaml)
{
	enum th_code code;

	th_buf_init(&k->keys, TH_CONFIG_SIZE_MAX * sizeof(uint64_t));
	th_buf_init(&k->path, PATH_SIZE_MAX);
	if (!yaml_parser_initialize(&k->parser))
		return th_fail(k->err, TH_ENOMEM, "%.*s: out of memory", TH_FMT(k->name));
	yaml_parser_set_encoding(&k->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&k->parser, (const unsigned char *)(yaml.ptr ? yaml.ptr : ""),
				     yaml.len);
	code = walk_events(k);
	yaml_parser_delete(&k->parser);
	th_buf_deinit(&k->keys);
	th_buf_deinit(&k->path);
	return code;
}

enum th_code th_yaml_to_json(struct th_str yaml, struct th_str name, struct th_buf *out,
			     struct th_err *err)
{
	struct th_jw w = th_jw(out);
	struct walk k = { .name = name, .err = err, .w = &w };
	size_t valid = th_utf8_valid(yaml);
	enum th_code code;

	if (yaml.len > TH_CONFIG_SIZE_MAX)
		return th_fail(err, TH_ELIMIT, "%.*s: is larger than %zu bytes", TH_FMT(name),
			       TH_CONFIG_SIZE_MAX);
	if (valid < yaml.len) {
		int line = 1;

		for (size_t i = 0; i < valid; i++)
			line += yaml.ptr[i] == '\n';
		return th_fail(err, TH_EUSAGE, "%.*s:%d: is not UTF-8 text", TH_FMT(name), line);
	}
	if (th_str_starts(yaml, TH_STR("\xef\xbb\xbf")))
		yaml = th_str_sub(yaml, 3, yaml.len);
	code = walk_text(&k, yaml);
	return code == TH_OK ? th_buf_check(out, "the file as JSON", err) : code;
}

int th_yaml_line(struct th_str yaml, struct th_str path)
{
	struct walk k = { .wanted = path, .best_line = 1 };

	if (yaml.len <= TH_CONFIG_SIZE_MAX)
		(void)walk_text(&k, yaml);
	return k.best_line;
}
