/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/words_members.h"

const struct th_json *th_words_member(const struct th_json *args, const char *names)
{
	struct th_str rest = th_str_of(names);

	while (rest.len) {
		const struct th_json *v = th_json_getn(args, th_str_split(&rest, '|'));

		if (!th_json_is_null(v))
			return v;
	}
	return NULL;
}

/* Also where it is null: the model wrote it. */
static bool written(const struct th_json *args, const char *names)
{
	struct th_str rest = th_str_of(names);

	while (rest.len)
		if (th_json_getn(args, th_str_split(&rest, '|')))
			return true;
	return false;
}

/* A number, or its text. */
static bool number_of(const struct th_json *v, double *ret)
{
	enum th_json_type type = th_json_type(v);

	if (type == TH_JSON_STR)
		return th_str_f64(th_str_trim(th_json_str(v)), ret);
	if (type != TH_JSON_INT && type != TH_JSON_REAL)
		return false;
	*ret = th_json_num(v, 0);
	return true;
}

enum th_code th_words_number(const struct th_json *args, const char *names, double *ret,
			     struct th_err *err)
{
	const struct th_json *v = th_words_member(args, names);
	struct th_str rest = th_str_of(names), first = th_str_split(&rest, '|');

	if (!v || number_of(v, ret))
		return TH_OK;
	return th_fail(err, TH_EPROTO, "%.*s must be a number, not %s", TH_FMT(first),
		       th_json_type_name(th_json_type(v)));
}

int32_t th_words_whole(double v, int32_t max)
{
	if (!(v > -(double)max))
		return -max;
	return v >= (double)max ? max : (int32_t)(v < 0 ? v - 0.5 : v + 0.5);
}

bool th_words_flag(const struct th_json *args, const char *names)
{
	const struct th_json *v = th_words_member(args, names);

	return th_json_bool(v, false) || th_str_ieq(th_json_str(v), TH_STR("true"));
}

struct th_str th_words_text(const struct th_json *v, struct th_arena *a)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_str copy;

	if (th_json_type(v) == TH_JSON_STR)
		return th_json_str(v);
	if (!v)
		return TH_STR("");
	th_json_print(v, &text);
	copy = th_arena_str(a, th_buf_str(&text));
	th_buf_deinit(&text);
	return copy;
}

int th_words_numbers(const struct th_json *v, double *ret, int max)
{
	struct th_json_iter it = th_json_iter(v);
	int count = 0;

	if (th_json_type(v) == TH_JSON_STR)
		return th_dialect_numbers(th_json_str(v), ret, max);
	if (th_json_is_object(v)) {
		if (max < 2 || !number_of(th_json_get(v, "x"), &ret[0]) ||
		    !number_of(th_json_get(v, "y"), &ret[1]))
			return -1;
		return 2;
	}
	if (!th_json_is_array(v))
		return -1;
	while (th_json_next(&it)) {
		int more = 1;

		if (count == max)
			return -1;
		if (th_json_is_array(it.val))
			more = th_words_numbers(it.val, ret + count, max - count);
		else if (!number_of(it.val, &ret[count]))
			return -1;
		if (more < 0)
			return -1;
		count += more;
	}
	return count;
}

enum th_code th_words_list_point(const struct th_dialect_context *c, const struct th_json *v,
				 const char *what, struct th_point *ret, struct th_err *err)
{
	double n[4];
	int count = th_words_numbers(v, n, 4);

	if (count != 2 && count != 4)
		return th_fail(err, TH_EPROTO, "%s must be two numbers, [x, y]", what);
	return th_dialect_point(c, n, count, ret, err);
}

enum th_code th_words_point(const struct th_dialect_context *c, const struct th_json *args,
			    const char *lists, const char *x, const char *y, struct th_point *ret,
			    bool *ret_has, struct th_err *err)
{
	const struct th_json *list = th_words_member(args, lists);
	const struct th_json *vx = th_words_member(args, x), *vy = th_words_member(args, y);
	struct th_str what = th_str_of(lists);
	double n[4];
	int count;

	*ret_has = true;
	if (list || (!vx && !vy && written(args, lists)))
		return th_words_list_point(c, list, "coordinate", ret, err);
	if (!vx && !vy) {
		*ret_has = false;
		return TH_OK;
	}
	count = vy ? 0 : th_words_numbers(vx, n, 4);
	if (count == 2 || count == 4) /* "x": [1, 2] */
		return th_dialect_point(c, n, count, ret, err);
	th_str_split(&what, '|');
	if (!number_of(vx, &n[0]) || !number_of(vy, &n[1]))
		return th_fail(err, TH_EPROTO, "%s and %s must be numbers", x, y);
	return th_dialect_point(c, n, 2, ret, err);
}

static enum th_code take_key_list(const struct th_json *list, struct th_arena *a,
				  struct th_action *ret, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(list);
	enum th_code code = TH_OK;

	while (!code && th_json_next(&it)) {
		if (th_json_type(it.val) != TH_JSON_STR)
			return th_fail(err, TH_EPROTO, "keys[%zu] must be a string, not %s",
				       it.index, th_json_type_name(th_json_type(it.val)));
		code = th_dialect_keys(th_arena_str(a, th_json_str(it.val)), ret, err);
	}
	return code;
}

enum th_code th_words_keys(const struct th_json *args, const char *names, struct th_arena *a,
			   struct th_action *ret, struct th_err *err)
{
	const struct th_json *v = th_words_member(args, names);
	struct th_str text = th_str_trim(th_json_str(v));
	struct th_json_doc *doc;
	enum th_code code;

	if (!v)
		return TH_OK;
	if (text.len > 2 && text.ptr[0] == '[' && !th_json_parse(text, &doc, NULL)) {
		code = take_key_list(th_json_root(doc), a, ret, err);
		th_json_free(doc);
		return code;
	}
	if (th_json_type(v) == TH_JSON_STR)
		return th_dialect_keys(th_json_str(v), ret, err);
	if (th_json_is_array(v))
		return take_key_list(v, a, ret, err);
	return th_fail(err, TH_EPROTO, "keys must be a list of names of keys, not %s",
		       th_json_type_name(th_json_type(v)));
}

enum th_code th_words_time(const struct th_json *args, struct th_action *ret, struct th_err *err)
{
	double seconds = 0, ms = 0;
	enum th_code code = th_words_number(args, "time|duration|seconds|timeout", &seconds, err);

	if (!code)
		code = th_words_number(args, "duration_ms|ms|milliseconds", &ms, err);
	if (code)
		return code;
	if (!(seconds >= 0 && ms >= 0))
		return th_fail(err, TH_EPROTO, "the time must not be negative");
	ret->duration_ms = th_words_whole(seconds * 1000 + ms, INT32_MAX / 2);
	return TH_OK;
}
