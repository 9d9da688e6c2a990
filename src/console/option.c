/* SPDX-License-Identifier: Apache-2.0 */
#include "console/option.h"

#include "base/field.h"
#include "base/limits.h"
#include "base/text.h"
#include "console/console.h"

#define OPTIONS_MAX 64

/* What people see of an argument: one line, not too long. */
static const char *shown(struct th_buf *b, struct th_str s)
{
	th_buf_clear(b);
	th_text_line(b, s, TH_NAME_NEAR_MAX);
	return b->ptr;
}

static enum th_code fail_unknown(const struct th_command *c, struct th_str name, bool letter,
				 struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const char *names[OPTIONS_MAX + 2] = { "help" }, *near;

	for (size_t i = 0; c->options[i].name && i < OPTIONS_MAX; i++)
		names[i + 1] = c->options[i].name;
	near = letter ? NULL : th_names_nearest(names, name);
	return th_fail(err, TH_EUSAGE, "no option %s%s%s%s; see %s %s --help", letter ? "-" : "--",
		       shown(&text, name), near ? "; did you mean --" : "", near ?: "",
		       th_cli_program(), c->name);
}

static enum th_code set(const struct th_option *o, struct th_str value, void *out,
			struct th_err *err)
{
	void *cell = (char *)out + o->offset;
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	int64_t n;

	switch (o->kind) {
	case TH_OPTION_FLAG:
		*(bool *)cell = true;
		return TH_OK;
	case TH_OPTION_TEXT:
		*(struct th_str *)cell = value;
		return TH_OK;
	case TH_OPTION_INT:
		if (!th_str_i64(value, &n) || n < 0)
			return th_fail(err, TH_EUSAGE, "--%s must be a whole number, not \"%s\"",
				       o->name, shown(&text, value));
		*(int64_t *)cell = n;
		return TH_OK;
	}
	return TH_OK;
}

struct reader {
	const struct th_command *c;
	int argc;
	char **argv;
	int at; /* next argument */
	void *out;
	uint64_t given;
	struct th_err *err;
};

static enum th_code take(struct reader *r, const struct th_option *o, struct th_str value,
			 bool has_value)
{
	if (o->kind == TH_OPTION_FLAG && has_value)
		return th_fail(r->err, TH_EUSAGE, "--%s takes no value; see %s %s --help", o->name,
			       th_cli_program(), r->c->name);
	if (o->kind != TH_OPTION_FLAG && !has_value) {
		if (r->at >= r->argc)
			return th_fail(r->err, TH_EUSAGE, "--%s needs a value: --%s %s", o->name,
				       o->name, o->value);
		value = th_str_of(r->argv[r->at++]);
	}
	r->given |= UINT64_C(1) << (o - r->c->options);
	return set(o, value, r->out, r->err);
}

static enum th_code take_long(struct reader *r, struct th_str arg)
{
	struct th_str name = arg, value = {};
	bool has_value = th_str_find_char(arg, '=') >= 0;

	if (has_value) {
		value = arg;
		name = th_str_split(&value, '=');
	}
	if (th_str_is(name, "help") && !has_value) {
		return th_cli_usage(r->c, r->err) ?: TH_ECANCELED;
	}
	for (const struct th_option *o = r->c->options; o->name; o++)
		if (th_str_is(name, o->name))
			return take(r, o, value, has_value);
	return fail_unknown(r->c, name, false, r->err);
}

/* "-j", "-js NAME", "-sNAME" */
static enum th_code take_letters(struct reader *r, struct th_str letters)
{
	for (size_t i = 0; i < letters.len; i++) {
		const struct th_option *o = r->c->options;
		enum th_code code;
		bool rest;

		if (letters.ptr[i] == 'h') {
			return th_cli_usage(r->c, r->err) ?: TH_ECANCELED;
		}
		while (o->name && o->letter != letters.ptr[i])
			o++;
		if (!o->name)
			return fail_unknown(r->c, th_str_sub(letters, i, 1), true, r->err);
		rest = o->kind != TH_OPTION_FLAG && i + 1 < letters.len;
		code = take(r, o, th_str_sub(letters, i + 1, letters.len), rest);
		if (code != TH_OK || rest)
			return code;
	}
	return TH_OK;
}

enum th_code th_options_parse_given(const struct th_command *c, int argc, char **argv, void *out,
				    struct th_operands *ret, uint64_t *ret_given,
				    struct th_err *err)
{
	struct reader r = { .c = c, .argc = argc, .argv = argv, .at = 1, .out = out, .err = err };
	int operands = 1; /* where the next operand goes */
	bool only = false;

	while (r.at < argc) {
		char *arg = argv[r.at++];
		struct th_str s = th_str_of(arg);
		bool option =
		    !only && s.len > 1 && s.ptr[0] == '-' && !(s.ptr[1] >= '0' && s.ptr[1] <= '9');
		enum th_code code = TH_OK;

		if (!option) {
			argv[operands++] = arg;
			only |= c->stops;
		} else if (th_str_is(s, "--")) {
			only = true;
		} else if (s.ptr[1] == '-') {
			code = take_long(&r, th_str_sub(s, 2, s.len));
		} else {
			code = take_letters(&r, th_str_sub(s, 1, s.len));
		}
		if (code != TH_OK)
			return code;
	}
	*ret = (struct th_operands){ argv + 1, operands - 1 };
	*ret_given = r.given;
	return TH_OK;
}

enum th_code th_options_parse(const struct th_command *c, int argc, char **argv, void *out,
			      struct th_operands *ret, struct th_err *err)
{
	uint64_t given;

	return th_options_parse_given(c, argc, argv, out, ret, &given, err);
}
