/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - JSON: reading through yyjson, writing straight into a buffer, and
 * cutting verbatim pieces out of a text.
 *
 * Reading is strict RFC 8259 with three limits checked before anything is
 * allocated (size, depth) or while parsing (UTF-8).  Of double keys the first
 * counts, everywhere.  Values are borrowed from their document; all accessors
 * take NULL and values of another type and answer "absent".
 */
#ifndef TH_BASE_JSON_H
#define TH_BASE_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define TH_JSON_ROOM_SIZE 4096 /* enough for about 1 KB of text */

struct th_json;     /* one value; lives as long as its document */
struct th_json_doc; /* owns the values; keeps its own copy of the text */

enum th_json_type {
	TH_JSON_ABSENT, /* no value: NULL */
	TH_JSON_NULL,
	TH_JSON_BOOL,
	TH_JSON_INT, /* fits int64_t or uint64_t */
	TH_JSON_REAL,
	TH_JSON_STR,
	TH_JSON_ARRAY,
	TH_JSON_OBJECT,
};

/* Parses all of `text`.  TH_ELIMIT: larger than TH_JSON_SIZE_MAX or deeper than TH_JSON_DEPTH_MAX;
 * TH_EPROTO: not JSON (the message has line and column, and at most 40 bytes of the text). */
TH_NODISCARD enum th_code th_json_parse(struct th_str text, struct th_json_doc **ret,
					struct th_err *err);
/* The same for the ledger path: TH_ENOMEM where the other stops the process. */
TH_NODISCARD enum th_code th_json_try_parse(struct th_str text, struct th_json_doc **ret,
					    struct th_err *err);
/* Memory for a document that lives no longer than the function that has this on its stack: what is
 * small takes no other.  Nothing of it needs to be set. */
struct th_json_room {
	size_t used;
	bool may_fail;
	_Alignas(16) char bytes[TH_JSON_ROOM_SIZE];
};
/* One of the two above; `room` is there until the document is freed. */
TH_NODISCARD enum th_code th_json_parse_in(struct th_json_room *room, bool may_fail,
					   struct th_str text, struct th_json_doc **ret,
					   struct th_err *err);
/* The same for a text with a secret in it: the document's memory is wiped when it is freed, and the
 * message has nothing of the text. */
TH_NODISCARD enum th_code th_json_parse_secret(struct th_str text, struct th_json_doc **ret,
					       struct th_err *err);
/* Whether th_json_parse would take the text; makes no document (json_valid.c). */
bool th_json_valid(struct th_str text);
struct th_json_doc *th_json_free(struct th_json_doc *doc); /* takes NULL, returns NULL */
void th_json_freep(struct th_json_doc **doc);              /* for TH_CLEANUP */
const struct th_json *th_json_root(const struct th_json_doc *doc);

enum th_json_type th_json_type(const struct th_json *v);
const char *th_json_type_name(enum th_json_type type); /* "string", "an object" … for messages */
bool th_json_is_object(const struct th_json *v);
bool th_json_is_array(const struct th_json *v);
bool th_json_is_null(const struct th_json *v); /* null or absent */
/* Nothing is said by what is absent, null, false, 0, or a text, list or object that is empty. */
bool th_json_says(const struct th_json *v);

/* Member of an object; NULL when there is none or `v` is no object. */
const struct th_json *th_json_getn(const struct th_json *v, struct th_str key);
static inline const struct th_json *th_json_get(const struct th_json *v, const char *key)
{
	return th_json_getn(v, th_str_of(key)); /* here, where its length is known */
}

const struct th_json *th_json_at(const struct th_json *v, size_t index); /* of an array; O(index) */
size_t th_json_count(const struct th_json *v); /* elements or members, else 0 */

struct th_str th_json_str(const struct th_json *v); /* { NULL, 0 } unless a string */
/* An int, or a real without fraction, that fits; th_json_uint for 2^63 and above. */
int64_t th_json_int(const struct th_json *v, int64_t otherwise);
uint64_t th_json_uint(const struct th_json *v, uint64_t otherwise);
double th_json_num(const struct th_json *v, double otherwise);
bool th_json_bool(const struct th_json *v, bool otherwise);

/* Shorthand for th_json_xxx(th_json_get(v, key)). */
static inline struct th_str th_json_get_str(const struct th_json *v, const char *key)
{
	return th_json_str(th_json_get(v, key));
}

static inline int64_t th_json_get_int(const struct th_json *v, const char *key, int64_t otherwise)
{
	return th_json_int(th_json_get(v, key), otherwise);
}

/* Walks members or elements in order: while (th_json_next(&it)) use it.key, it.val. */
struct th_json_iter {
	const struct th_json *parent, *val;
	struct th_str key; /* of an object's member */
	size_t index;      /* of it.val */
	const void *cursor;
};
struct th_json_iter th_json_iter(const struct th_json *v);
bool th_json_next(struct th_json_iter *it);

/* Writes `v` compactly, members in order. */
void th_json_print(const struct th_json *v, struct th_buf *out);
/* The same in the arena; .ptr NULL: it does not fit. */
struct th_str th_json_text(const struct th_json *v, struct th_arena *a);

/* Equal as values: member order does not count, numbers by value. */
bool th_json_equal(const struct th_json *a, const struct th_json *b);

/*
 * The writer puts commas and quotes.  It never fails on its own: what does not
 * fit shows in the buffer's check.  Text that is not UTF-8 has its bad bytes
 * replaced by U+FFFD.  In an object every value is preceded by a key.
 */
struct th_jw {
	struct th_buf *out;
	bool comma;
};

static inline struct th_jw th_jw(struct th_buf *out)
{
	return (struct th_jw){ out, false };
}

void th_jw_object(struct th_jw *w); /* { */
void th_jw_object_end(struct th_jw *w);
void th_jw_array(struct th_jw *w);
void th_jw_array_end(struct th_jw *w);
void th_jw_key(struct th_jw *w, struct th_str key);
void th_jw_name(struct th_jw *w, struct th_str name); /* a key of ours: not escaped */
void th_jw_str(struct th_jw *w, struct th_str s);
void th_jw_int(struct th_jw *w, int64_t v);
void th_jw_uint(struct th_jw *w, uint64_t v);
void th_jw_real(struct th_jw *w, double v); /* shortest form that reads back; not finite: null */
void th_jw_bool(struct th_jw *w, bool v);
void th_jw_null(struct th_jw *w);
void th_jw_raw(struct th_jw *w, struct th_str json); /* valid JSON, verbatim */
void th_jw_json(struct th_jw *w, const struct th_json *v);

/* A name and its value in one. */
static inline void th_jw_kstr(struct th_jw *w, const char *name, struct th_str s)
{
	th_jw_name(w, th_str_of(name));
	th_jw_str(w, s);
}

static inline void th_jw_kint(struct th_jw *w, const char *name, int64_t v)
{
	th_jw_name(w, th_str_of(name));
	th_jw_int(w, v);
}

static inline void th_jw_kuint(struct th_jw *w, const char *name, uint64_t v)
{
	th_jw_name(w, th_str_of(name));
	th_jw_uint(w, v);
}

static inline void th_jw_kbool(struct th_jw *w, const char *name, bool v)
{
	th_jw_name(w, th_str_of(name));
	th_jw_bool(w, v);
}

static inline void th_jw_kraw(struct th_jw *w, const char *name, struct th_str json)
{
	th_jw_name(w, th_str_of(name));
	th_jw_raw(w, json);
}

static inline void th_jw_kreal(struct th_jw *w, const char *name, double v)
{
	th_jw_name(w, th_str_of(name));
	th_jw_real(w, v);
}

/* Appends `s` as a JSON string's inside, without the quotes. */
void th_json_escape(struct th_buf *out, struct th_str s);

/*
 * Verbatim pieces: for text that th_json_parse has accepted (or that we wrote
 * ourselves).  On other text they return absent, never read outside it.
 */
struct th_str th_json_raw_getn(struct th_str object, struct th_str key);
static inline struct th_str th_json_raw_get(struct th_str object, const char *key)
{
	return th_json_raw_getn(object, th_str_of(key)); /* the value's own bytes */
}

/* Several members in one pass: values[i] is that of keys[i], or absent. */
void th_json_raw_gets(struct th_str object, size_t count, const char *const keys[],
		      struct th_str values[]);
struct th_json_raw_iter {
	struct th_str rest, key, val; /* key is raw, still escaped, without quotes */
	bool object, started;
};
struct th_json_raw_iter th_json_raw_iter(struct th_str container);
bool th_json_raw_next(struct th_json_raw_iter *it);

/* The inside of a raw string, still escaped; absent: it is none. */
static inline struct th_str th_json_raw_inside(struct th_str raw)
{
	return raw.len >= 2 && raw.ptr[0] == '"' ? th_str_sub(raw, 1, raw.len - 2)
						 : (struct th_str){ NULL, 0 };
}

static inline bool th_json_raw_is_object(struct th_str raw)
{
	return raw.len && raw.ptr[0] == '{';
}

static inline bool th_json_raw_is_null(struct th_str raw) /* or absent */
{
	return !raw.len || th_str_is(raw, "null");
}

/* Each member of an object is handed to `fn`.  False: `data` is not one whole object.  Inline: the
 * events of a stream are many, and `fn` goes into the loop. */
static inline bool th_json_raw_members(struct th_str data,
				       void (*fn)(void *ctx, struct th_str key, struct th_str val),
				       void *ctx)
{
	struct th_json_raw_iter it = th_json_raw_iter(data);
	struct th_str rest = it.rest;

	if (!it.object)
		return false;
	while (th_json_raw_next(&it)) {
		fn(ctx, it.key, it.val);
		rest = it.rest;
	}
	rest = th_str_trim(rest);
	return rest.len == 1 && rest.ptr[0] == '}';
}

/*
 * The same in one pass: values that are walked into are not gone over first.
 *
 *	struct th_json_walk w = th_json_walk(text);
 *	if (th_json_enter(&w, '{'))
 *		while (th_json_member(&w, &key))
 *			val = th_json_skip(&w);  // or enter it, and walk to its end
 *	whole = th_json_walked(&w);
 *
 * What is wrong ends all loops, and makes th_json_walked false.
 */
struct th_json_walk {
	const char *at, *end;
	bool fresh; /* behind an opening bracket */
	bool failed;
};
struct th_json_walk th_json_walk(struct th_str text);
/* Into the container that is next; `open` is { or [.  False: there is none, nothing is taken. */
bool th_json_enter(struct th_json_walk *w, char open);
/* To the next value; false: the container has ended, and is left. */
bool th_json_member(struct th_json_walk *w, struct th_str *ret_key);
bool th_json_element(struct th_json_walk *w);
struct th_str th_json_skip(struct th_json_walk *w); /* the value, raw; absent: it is broken */
bool th_json_walked(const struct th_json_walk *w);  /* all of it, and nothing was wrong */
/* A raw JSON string decoded into `out`; false when it is none. */
TH_NODISCARD bool th_json_unescape(struct th_str raw, struct th_buf *out);

#endif
