/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles/user_profiles.h"

#include "base/limits.h"
#include "base/text.h"
#include "dialects/list.h"
#include "profiles/profiles.h"
#include "profiles/user_profiles_internal.h"
#include "providers/wires.h"

#define SPACE_MAX 1000000 /* the largest number of a space of its own */
#define FACTOR_MAX 4096   /* sides that a picture is cut to multiples of */
#define PRICE_MAX 1000000 /* dollars per million tokens */
#define TOKENS_MAX (1LL << 40)
#define KEY_ENV_MAX 63 /* name of one variable */

/* ---- checks ---- */

struct maker {
	const struct th_profile_row *row;
	const struct th_json *json; /* of the row: which members are there */
	size_t index;
	struct th_profiles before; /* the rows above it */
	struct th_arena *a;
	struct th_err *err;
	struct th_profile *p;
};

/* The sentence begins with the path, as th_table_parse's do. */
TH_PRINTF(3, 4)
static enum th_code bad(const struct maker *m, const char *field, const char *fmt, ...)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ERR_MSG_MAX * 4);
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	return th_fail(m->err, TH_EUSAGE, "models[%zu].%s: %.*s", m->index, field,
		       TH_FMT(th_buf_str(&text)));
}

static enum th_code bad_name(const struct maker *m, const char *field, struct th_str value,
			     const char *const *names)
{
	const char *near = th_names_nearest(names, value);
	struct th_buf known TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ERR_MSG_MAX);

	for (size_t i = 0; names[i]; i++)
		th_buf_printf(&known, "%s%s", i ? ", " : "", names[i]);
	return bad(m, field, "is \"%.*s\", which is not known%s%s%s; known: %s",
		   TH_FMT(th_utf8_cut(value, TH_NAME_NEAR_MAX)), near ? "; did you mean \"" : "",
		   near ? near : "", near ? "\"?" : "", known.ptr ?: "none");
}

static bool given(const struct maker *m, const char *field)
{
	return !th_json_is_null(th_json_get(m->json, field));
}

/* Text that may stand in a header, a URL or a terminal: printable, `blank`: blanks too. */
static enum th_code take(const struct maker *m, const char *field, struct th_str value, bool blank,
			 const char **ret)
{
	if (!value.ptr)
		return TH_OK;
	if (value.len > TH_MODEL_NAME_MAX)
		return bad(m, field, "has more than %d bytes", TH_MODEL_NAME_MAX);
	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.ptr[i];

		if (c < ' ' || c == 0x7f || (c == ' ' && !blank))
			return bad(m, field, "holds a %s",
				   c == ' ' ? "blank" : "control character");
	}
	*ret = th_arena_cstr(m->a, value);
	return *ret ? TH_OK : th_fail(m->err, TH_ELIMIT, "the models file is too large");
}

static enum th_code check_variables(const struct maker *m, const char *field, struct th_str names,
				    bool several)
{
	if (names.len && names.ptr[names.len - 1] == '|')
		return bad(m, field, "ends with a |");
	while (names.len) {
		struct th_str one = several ? th_str_split(&names, '|') : names;

		if (!one.len || one.len > KEY_ENV_MAX)
			return bad(m, field, "must be the name of an environment variable");
		for (size_t i = 0; i < one.len; i++)
			if (!(one.ptr[i] == '_' || (one.ptr[i] >= 'A' && one.ptr[i] <= 'Z') ||
			      (one.ptr[i] >= 'a' && one.ptr[i] <= 'z') ||
			      (i && one.ptr[i] >= '0' && one.ptr[i] <= '9')))
				return bad(m, field,
					   "must be the name of an environment variable%s",
					   several ? ", with | between several" : "");
		if (!several)
			break;
	}
	return TH_OK;
}

static enum th_code check_pattern(const struct maker *m, struct th_str patterns)
{
	if (patterns.len && patterns.ptr[patterns.len - 1] == '|')
		return bad(m, "pattern", "ends with a |");
	while (patterns.len)
		if (!th_str_split(&patterns, '|').len)
			return bad(m, "pattern", "has nothing beside a |");
	return TH_OK;
}

/* ---- what a row begins as ---- */

static const struct th_profile *built_in(struct th_str name)
{
	const struct th_profile *p = th_profile_next(NULL);

	while (p && !th_str_is(name, p->name))
		p = th_profile_next(p);
	return p;
}

/* What is the server's, not the model's. */
static void forget_server(struct th_profile *p)
{
	p->base_url = p->base_url_env = p->key_env = NULL;
	p->key_optional = false;
}

static enum th_code begin_like(const struct maker *m)
{
	struct th_str like = m->row->like;
	const struct th_profile *found = built_in(like);
	struct th_match match;
	struct th_err err = { 0 };

	for (size_t i = 0; i < m->before.count; i++)
		if (th_str_is(like, m->before.rows[i].name))
			found = &m->before.rows[i];
	if (!found) {
		if (th_model_match(&m->before, like, &match, &err))
			return bad(m, "like", "is no model: %s", err.msg);
		found = match.profile;
	}
	*m->p = *found;
	m->p->pattern = m->p->sends = NULL;
	return TH_OK;
}

static enum th_code begin(const struct maker *m)
{
	const struct th_profile_row *row = m->row;
	const struct th_profile *same = built_in(row->name);

	if (row->like.len) {
		enum th_code code = begin_like(m);

		if (code)
			return code;
	} else if (same) {
		*m->p = *same;
	} else if (row->wire < 0) {
		return bad(m, "wire",
			   "is missing: say the API, or with `like` a model that it resembles");
	} else {
		const struct th_profile *plain = built_in(th_str_of(th_wires[row->wire]->profile));

		assert(plain);
		*m->p = *plain;
		m->p->wire = th_wires[row->wire]; /* whose first profile may be another wire's */
		forget_server(m->p);
		m->p->pattern = NULL;
		m->p->price = (struct th_price){ 0 };
		m->p->context_tokens = m->p->output_tokens = 0;
		m->p->note = NULL;
	}
	m->p->newer = false;
	m->p->user = true;
	if (row->wire >= 0 && !th_wire_same(th_wires[row->wire], m->p->wire))
		return bad(m, "wire", "is %s, but what it is like speaks %s: leave one out",
			   th_wire_names[row->wire], m->p->wire->name);
	return TH_OK;
}

/* ---- what it says itself ---- */

static bool composed_only(const struct th_dialect *d)
{
	return d == &th_dialect_descriptions || d == &th_dialect_elements;
}

/* With it come the space and the tool of the models that speak it. */
static enum th_code apply_dialect(const struct maker *m)
{
	struct th_str name = m->row->dialect;
	const struct th_dialect *d = th_dialect_find(name);
	struct th_profile *p = m->p;

	if (!name.ptr)
		return TH_OK;
	if (!d || composed_only(d)) {
		const char *names[64];
		size_t count = 0;

		for (size_t i = 0; th_dialects[i] && count + 1 < TH_COUNT(names); i++)
			if (!composed_only(th_dialects[i]))
				names[count++] = th_dialects[i]->name;
		names[count] = NULL;
		return bad_name(m, "dialect", name, names);
	}
	if (d == p->dialect)
		return TH_OK;
	p->dialect = d;
	p->tool = p->beta = NULL;
	p->computer = d == &th_dialect_native ? TH_COMPUTER_FUNCTION
		      : d->tools_in_prompt    ? TH_COMPUTER_NONE
					      : TH_COMPUTER_DIALECT;
	p->space = (struct th_space){ 0 };
	p->resize = (struct th_resize){ 0 };
	for (const struct th_profile *q = th_profile_next(NULL); q; q = th_profile_next(q)) {
		if (q->dialect != d || d == &th_dialect_native)
			continue;
		p->computer = q->computer;
		p->space = q->space;
		p->resize = q->resize;
		p->images_max = q->images_max;
		break;
	}
	return TH_OK;
}

/* A word that only built-in rows of the same wire define. */
static enum th_code apply_word(const struct maker *m, const char *field, struct th_str value,
			       size_t offset)
{
	const char *names[64];
	size_t count = 0;

	if (!value.ptr)
		return TH_OK;
	for (const struct th_profile *q = th_profile_next(NULL); q; q = th_profile_next(q)) {
		const char *word = *(const char *const *)((const char *)q + offset);
		bool known = false;

		for (size_t i = 0; word && i < count; i++)
			known |= strcmp(names[i], word) == 0;
		if (word && !known && q->wire == m->p->wire && count + 1 < TH_COUNT(names))
			names[count++] = word;
	}
	names[count] = NULL;
	if (th_names_find(names, value) < 0)
		return bad_name(m, field, value, names);
	*(const char **)((char *)m->p + offset) = names[th_names_find(names, value)];
	return TH_OK;
}

/* A tool of some wires: the profile's wire has it, and its dialect reads it. */
static enum th_code check_wire_tool(const struct maker *m)
{
	const struct th_profile *p = m->p;
	struct th_buf names TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ERR_MSG_MAX);

	th_wire_names_with(p->computer, &names);
	if (p->wire->computers & 1U << p->computer &&
	    (p->dialect == &th_dialect_native || p->dialect == p->wire->dialect))
		return TH_OK;
	return bad(m, "computer", "is a tool that only these wires have: %.*s",
		   TH_FMT(th_buf_str(&names)));
}

static enum th_code check_wire_dialect(const struct maker *m)
{
	const struct th_profile *p = m->p;
	struct th_buf names TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ERR_MSG_MAX);

	th_wire_names_of(p->dialect, &names);
	if (!names.len || p->dialect == p->wire->dialect)
		return TH_OK;
	return bad(m, "dialect", "is only for these wires: %.*s", TH_FMT(th_buf_str(&names)));
}

static enum th_code apply_computer(const struct maker *m)
{
	struct th_profile *p = m->p;
	enum th_code code;

	if (m->row->computer >= 0)
		p->computer = (enum th_computer_tool)m->row->computer;
	code = check_wire_dialect(m);
	if (code)
		return code;
	switch (p->computer) {
	case TH_COMPUTER_PREVIEW:
	case TH_COMPUTER_GA:
		code = check_wire_tool(m);
		break;
	case TH_COMPUTER_NATIVE:
		code = check_wire_tool(m);
		if (!code && !p->tool)
			return bad(m, "tool", "is missing: a native tool has a version");
		break;
	case TH_COMPUTER_DIALECT:
	case TH_COMPUTER_CLICK:
		if (p->dialect == &th_dialect_native)
			return bad(m, "dialect", "is missing: the computer is given by it");
		break;
	case TH_COMPUTER_NONE:
	case TH_COMPUTER_FUNCTION:
		break;
	}
	if (code)
		return code;
	if (p->computer != TH_COMPUTER_NONE && !p->vision)
		return bad(
		    m, given(m, "vision") ? "vision" : "computer",
		    "does not fit: a model that takes no pictures cannot use a computer; say "
		    "computer: none, or vision: true");
	return TH_OK;
}

static enum th_code apply_space(const struct maker *m)
{
	const struct th_space_row *s = m->row->space;
	struct th_space *to = &m->p->space;
	const int64_t pixels = (int64_t)TH_SCREEN_SIDE_MAX * TH_SCREEN_SIDE_MAX;

	if (!s)
		return TH_OK;
	if ((s->kind == TH_SPACE_NORM) != (s->max > 0))
		return bad(m, "space.max", "belongs to kind: norm, which needs it");
	if ((s->kind == TH_SPACE_SMART) != (s->factor > 0))
		return bad(m, "space.factor", "belongs to kind: smart, which needs it");
	if ((s->kind == TH_SPACE_SMART) != (s->pixels_min > 0) ||
	    (s->kind == TH_SPACE_SMART) != (s->pixels_max > 0))
		return bad(m, s->pixels_min ? "space.pixels_max" : "space.pixels_min",
			   "belongs to kind: smart, which needs pixels_min and pixels_max");
	if (s->max > SPACE_MAX)
		return bad(m, "space.max", "must be at most %d", SPACE_MAX);
	if (s->factor > FACTOR_MAX)
		return bad(m, "space.factor", "must be at most %d", FACTOR_MAX);
	if (s->pixels_max > pixels)
		return bad(m, "space.pixels_max", "must be at most %lld", (long long)pixels);
	if (s->pixels_min > s->pixels_max || (s->factor && s->factor * s->factor > s->pixels_max))
		return bad(m, "space.pixels_max",
			   "must be at least pixels_min and the square of factor");
	*to = (struct th_space){ .kind = (enum th_space_kind)s->kind,
				 .max = (int32_t)s->max,
				 .factor = (int32_t)s->factor,
				 .pixels_min = s->pixels_min,
				 .pixels_max = s->pixels_max,
				 .floor = s->floor };
	return TH_OK;
}

static enum th_code apply_resize(const struct maker *m)
{
	const struct th_resize_row *r = m->row->resize;

	if (!r)
		return TH_OK;
	if (!r->width != !r->height)
		return bad(m, r->width ? "resize.width" : "resize.height",
			   "needs its partner: give width and height, or neither");
	if (r->side_max > TH_SCREEN_SIDE_MAX || r->width > TH_SCREEN_SIDE_MAX ||
	    r->height > TH_SCREEN_SIDE_MAX)
		return bad(m, "resize", "has a side above %d", TH_SCREEN_SIDE_MAX);
	m->p->resize = (struct th_resize){ .side_max = (int32_t)r->side_max,
					   .pixels_max = r->pixels_max,
					   .box = { (int32_t)r->width, (int32_t)r->height },
					   .xga = r->xga };
	return TH_OK;
}

/* From dollars per million tokens. */
static int64_t nano(double dollars)
{
	return (int64_t)(dollars * 1000 + 0.5);
}

static enum th_code apply_numbers(const struct maker *m)
{
	const struct th_profile_row *row = m->row;
	const struct th_price_row *price = row->price;
	struct th_profile *p = m->p;

	if (row->images_max > INT32_MAX)
		return bad(m, "images_max", "is too large");
	if (row->context_tokens > TOKENS_MAX || row->output_tokens > TOKENS_MAX)
		return bad(m, row->context_tokens > TOKENS_MAX ? "context_tokens" : "output_tokens",
			   "is too large");
	if (row->images_max)
		p->images_max = (int32_t)row->images_max;
	if (row->context_tokens)
		p->context_tokens = row->context_tokens;
	if (row->output_tokens)
		p->output_tokens = row->output_tokens;
	if (!price)
		return TH_OK;
	if (price->input > PRICE_MAX || price->cached > PRICE_MAX || price->written > PRICE_MAX ||
	    price->output > PRICE_MAX)
		return bad(m, "price", "is in US dollars per million tokens, at most %d",
			   PRICE_MAX);
	p->price = (struct th_price){
		.input = nano(price->input),
		.cached = nano(price->cached < 0 ? price->input : price->cached),
		.written = nano(price->written < 0 ? 0 : price->written),
		.output = nano(price->output),
	};
	return TH_OK;
}

/* A server of its own has a key of its own, or none. */
static enum th_code apply_server(const struct maker *m)
{
	const struct th_profile_row *row = m->row;
	struct th_profile *p = m->p;
	enum th_code code = check_variables(m, "key_env", row->key_env, true);

	if (!code)
		code = check_variables(m, "base_url_env", row->base_url_env, false);
	if (code)
		return code;
	if (row->base_url.ptr || row->base_url_env.ptr) {
		forget_server(p);
		p->own_server = true;
	}
	code = take(m, "base_url", row->base_url, false, &p->base_url);
	if (!code)
		code = take(m, "base_url_env", row->base_url_env, false, &p->base_url_env);
	if (!code)
		code = take(m, "key_env", row->key_env, false, &p->key_env);
	return code;
}

static enum th_code apply_names(const struct maker *m)
{
	const struct th_profile_row *row = m->row;
	struct th_profile *p = m->p;
	enum th_code code = check_pattern(m, row->pattern);

	if (!code)
		code = take(m, "name", row->name, false, &p->name);
	if (!code)
		code = take(m, "pattern", row->pattern, false, &p->pattern);
	if (!code)
		code = take(m, "sends", row->sends, false, &p->sends);
	if (!code)
		code = take(m, "beta", row->beta, false, &p->beta);
	if (!code)
		code = take(m, "note", row->note, true, &p->note);
	if (!p->pattern)
		p->pattern = p->name;
	if (!p->note)
		p->note = "of the models file";
	return code;
}

static enum th_code make(const struct maker *m)
{
	struct th_profile *p = m->p;
	enum th_code code = begin(m);

	if (!code)
		code = apply_dialect(m);
	if (!code)
		code = apply_word(m, "tool", m->row->tool, offsetof(struct th_profile, tool));
	if (!code)
		code =
		    apply_word(m, "flavour", m->row->flavour, offsetof(struct th_profile, flavour));
	if (code)
		return code;
	if (given(m, "vision"))
		p->vision = m->row->vision;
	if (given(m, "reasoning"))
		p->reasoning = m->row->reasoning;
	if (given(m, "strict"))
		p->strict = m->row->strict;
	code = apply_names(m);
	if (!code)
		code = apply_computer(m);
	if (!code)
		code = apply_space(m);
	if (!code)
		code = apply_resize(m);
	if (!code)
		code = apply_numbers(m);
	if (!code)
		code = apply_server(m);
	return code;
}

enum th_code th_profiles_parse(const struct th_json *root, struct th_arena *a,
			       struct th_profiles *ret, struct th_err *err)
{
	struct th_models_file file;
	enum th_code code = th_table_parse(&th_models_file_table, root, a, &file, err);
	struct th_json_iter it = th_json_iter(th_json_get(root, "models"));
	struct th_profile *rows;

	if (code)
		return code;
	if (file.models.count > TH_USER_PROFILES_MAX)
		return th_fail(err, TH_ELIMIT, "a models file has at most %d profiles",
			       TH_USER_PROFILES_MAX);
	rows = th_arena_array(a, file.models.count + 1, sizeof(*rows));
	if (!rows)
		return th_fail(err, TH_ELIMIT, "the models file is too large");
	for (size_t i = 0; i < file.models.count && th_json_next(&it); i++) {
		struct maker m = { .row = (const struct th_profile_row *)file.models.list + i,
				   .json = it.val,
				   .index = i,
				   .before = { rows, i },
				   .a = a,
				   .err = err,
				   .p = &rows[i] };

		for (size_t k = 0; k < i; k++)
			if (th_str_is(m.row->name, rows[k].name))
				return bad(&m, "name", "is that of models[%zu] too", k);
		code = make(&m);
		if (code)
			return code;
	}
	*ret = (struct th_profiles){ rows, file.models.count };
	return TH_OK;
}
