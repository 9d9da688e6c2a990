/* SPDX-License-Identifier: Apache-2.0 */
#include "google_gemini/args.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/limits.h"

/* A tree in a list: node 0 is the arguments, links are indices, 0 is none. */
enum kind { NONE, OBJECT, ARRAY, STRING, VALUE };

struct node {
	enum kind kind;
	bool more;         /* STRING: what comes next is appended */
	struct th_buf key; /* plain */
	struct th_buf val; /* STRING: inside of a raw string; VALUE: raw */
	size_t next, first, last, count;
};

struct th_gemini_args {
	struct node *list;
	size_t count, cap;
};

struct step {
	bool is_index;
	struct th_str key;
	size_t index;
};

static size_t node_new(struct th_gemini_args *args)
{
	struct node *n;

	if (args->count == TH_GEMINI_ARGS_MAX)
		return 0;
	if (args->count == args->cap) {
		args->cap = args->cap ? args->cap * 2 : 8;
		args->list = th_realloc(args->list, args->cap * sizeof(*args->list));
	}
	n = &args->list[args->count];
	*n = (struct node){ 0 };
	th_buf_init(&n->key, TH_ANSWER_MAX);
	th_buf_init(&n->val, TH_ANSWER_MAX);
	return args->count++;
}

struct th_gemini_args *th_gemini_args_new(void)
{
	struct th_gemini_args *args = th_alloc(sizeof(*args));

	(void)node_new(args);
	args->list[0].kind = OBJECT;
	return args;
}

struct th_gemini_args *th_gemini_args_free(struct th_gemini_args *args)
{
	for (size_t i = 0; args && i < args->count; i++) {
		th_buf_deinit(&args->list[i].key);
		th_buf_deinit(&args->list[i].val);
	}
	if (args)
		free(args->list);
	free(args);
	return NULL;
}

/* ---- paths ---- */

static bool index_step(struct th_str text, struct step *ret)
{
	int64_t v;

	if (!th_str_i64(text, &v) || v < 0 || v >= TH_GEMINI_ARGS_MAX)
		return false;
	*ret = (struct step){ .is_index = true, .index = (size_t)v };
	return true;
}

/* ".name", "[0]", "['name']" or "[\"name\"]" off the front. */
static bool next_step(struct th_str *path, struct step *ret)
{
	struct th_str s = *path, inside;
	size_t len;
	ptrdiff_t end;

	if (s.ptr[0] == '.') {
		for (len = 1; len < s.len && s.ptr[len] != '.' && s.ptr[len] != '[';)
			len++;
		*ret = (struct step){ .key = th_str_sub(s, 1, len - 1) };
		*path = th_str_sub(s, len, s.len);
		return len > 1;
	}
	if (s.ptr[0] != '[' || s.len < 3)
		return false;
	if (s.ptr[1] != '\'' && s.ptr[1] != '"') {
		end = th_str_find_char(s, ']');
		if (end < 0 || !index_step(th_str_sub(s, 1, (size_t)end - 1), ret))
			return false;
		*path = th_str_sub(s, (size_t)end + 1, s.len);
		return true;
	}
	inside = th_str_sub(s, 2, s.len);
	end = th_str_find(inside, s.ptr[1] == '"' ? TH_STR("\"]") : TH_STR("']"));
	if (end < 0)
		return false;
	*ret = (struct step){ .key = th_str_sub(inside, 0, (size_t)end) };
	*path = th_str_sub(inside, (size_t)end + 2, inside.len);
	return true;
}

static bool parse_path(struct th_str path, struct step *steps, size_t *ret_count)
{
	*ret_count = 0;
	if (!path.len || path.ptr[0] != '$')
		return false;
	path = th_str_sub(path, 1, path.len);
	while (path.len) {
		if (*ret_count == TH_GEMINI_ARGS_DEPTH_MAX ||
		    !next_step(&path, &steps[(*ret_count)++]))
			return false;
	}
	return *ret_count > 0 && !steps[0].is_index;
}

/* ---- the tree ---- */

static size_t append(struct th_gemini_args *args, size_t parent)
{
	size_t child = node_new(args);
	struct node *p = &args->list[parent];

	if (!child)
		return 0;
	if (p->last)
		args->list[p->last].next = child;
	else
		p->first = child;
	p->last = child;
	p->count++;
	return child;
}

/* The child that a step names, made when there is none; what lies between is null. */
static size_t child_of(struct th_gemini_args *args, size_t parent, const struct step *step)
{
	enum kind kind = step->is_index ? ARRAY : OBJECT;
	size_t child, index = 0;

	if (args->list[parent].kind == NONE)
		args->list[parent].kind = kind;
	if (args->list[parent].kind != kind)
		return 0;
	child = args->list[parent].last;
	if (child && (step->is_index ? args->list[parent].count - 1 == step->index
				     : th_str_eq(th_buf_str(&args->list[child].key), step->key)))
		return child;
	for (child = args->list[parent].first; child; child = args->list[child].next)
		if (step->is_index ? index++ == step->index
				   : th_str_eq(th_buf_str(&args->list[child].key), step->key))
			return child;
	do {
		child = append(args, parent);
	} while (child && step->is_index && args->list[parent].count <= step->index);
	if (child && !step->is_index)
		th_buf_add(&args->list[child].key, step->key);
	return child;
}

/* Whether the steps lead somewhere and there is room for what they need. */
static bool fits(const struct th_gemini_args *args, const struct step *steps, size_t count)
{
	size_t at = 0, needed = 0;

	for (size_t i = 0; i < count; i++) {
		const struct node *n = &args->list[at];
		size_t child = n->first, index = 0;

		if (n->kind != NONE && n->kind != (steps[i].is_index ? ARRAY : OBJECT))
			return false;
		while (child && (steps[i].is_index ? index++ != steps[i].index
						   : !th_str_eq(th_buf_str(&args->list[child].key),
								steps[i].key)))
			child = args->list[child].next;
		if (child) {
			at = child;
			continue;
		}
		/* Nothing is there yet: this step and all behind it are new. */
		needed += steps[i].is_index ? steps[i].index + 1 - n->count : 1;
		for (i++; i < count; i++)
			needed += steps[i].is_index ? steps[i].index + 1 : 1;
	}
	return needed <= TH_GEMINI_ARGS_MAX - args->count;
}

/* ---- values ---- */

struct value {
	enum kind kind;
	struct th_str raw;
	bool more;
};

static bool take_value(struct th_str partial, struct value *ret)
{
	static const char *const scalars[] = { "numberValue", "boolValue", "number_value",
					       "bool_value" };
	struct th_str text = th_json_raw_get(partial, "stringValue");

	*ret = (struct value){ .kind = VALUE };
	if (!text.len)
		text = th_json_raw_get(partial, "string_value");
	ret->more = th_str_is(th_json_raw_get(partial, "willContinue"), "true");
	if (text.len >= 2 && text.ptr[0] == '"') {
		ret->kind = STRING;
		ret->raw = th_str_sub(text, 1, text.len - 2);
		return true;
	}
	for (size_t i = 0; i < TH_COUNT(scalars) && !ret->raw.len; i++)
		ret->raw = th_json_raw_get(partial, scalars[i]);
	if (!ret->raw.len && th_json_raw_get(partial, "nullValue").len)
		ret->raw = TH_STR("null");
	return ret->raw.len > 0 && ret->raw.ptr[0] != '{' && ret->raw.ptr[0] != '[' &&
	       ret->raw.ptr[0] != '"';
}

static bool put_value(struct node *n, const struct value *v)
{
	if (n->kind == STRING && v->kind == STRING && n->more) {
		th_buf_add(&n->val, v->raw);
	} else if (n->kind == OBJECT || n->kind == ARRAY) {
		return false;
	} else {
		th_buf_clear(&n->val);
		th_buf_add(&n->val, v->raw);
	}
	n->kind = v->kind;
	n->more = v->more;
	return true;
}

bool th_gemini_args_add(struct th_gemini_args *args, struct th_str partial, size_t *ret_size)
{
	struct step steps[TH_GEMINI_ARGS_DEPTH_MAX];
	struct th_buf path = TH_BUF_INIT(64 * TH_KIB);
	struct th_str raw_path = th_json_raw_get(partial, "jsonPath");
	size_t count = 0, at = 0, before = args->count;
	struct value v;
	bool good;

	*ret_size = 0;
	if (!raw_path.len)
		raw_path = th_json_raw_get(partial, "json_path");
	good = take_value(partial, &v) && th_json_unescape(raw_path, &path) &&
	       parse_path(th_buf_str(&path), steps, &count) && fits(args, steps, count);
	for (size_t i = 0; good && i < count; i++) {
		at = child_of(args, at, &steps[i]);
		good = at > 0;
	}
	good = good && put_value(&args->list[at], &v);
	if (good)
		*ret_size = v.raw.len + (args->count - before) * sizeof(struct node) +
			    (args->count > before ? path.len : 0);
	th_buf_deinit(&path);
	return good;
}

/* ---- printing ---- */

static void print_value(const struct node *n, struct th_jw *w)
{
	if (n->kind == NONE) {
		th_jw_null(w);
	} else if (n->kind == VALUE) {
		th_jw_raw(w, th_buf_str(&n->val));
	} else {
		th_jw_raw(w, TH_STR("\""));
		th_buf_add(w->out, th_buf_str(&n->val));
		th_buf_add_char(w->out, '"');
	}
}

static void print_node(const struct th_gemini_args *args, size_t at, struct th_jw *w)
{
	const struct node *n = &args->list[at];

	if (n->kind != OBJECT && n->kind != ARRAY) {
		print_value(n, w);
		return;
	}
	if (n->kind == OBJECT)
		th_jw_object(w);
	else
		th_jw_array(w);
	for (size_t child = n->first; child; child = args->list[child].next) {
		if (n->kind == OBJECT)
			th_jw_key(w, th_buf_str(&args->list[child].key));
		print_node(args, child, w);
	}
	if (n->kind == OBJECT)
		th_jw_object_end(w);
	else
		th_jw_array_end(w);
}

void th_gemini_args_print(const struct th_gemini_args *args, struct th_jw *w)
{
	print_node(args, 0, w);
}
