/* SPDX-License-Identifier: Apache-2.0 */
#include "base/regex.h"

#include "base/limits.h"

enum op { OP_SET, OP_SPLIT, OP_JUMP, OP_BEGIN, OP_END, OP_LAST, OP_WORD, OP_NOT_WORD, OP_MATCH };

/* Targets count from the instruction itself, so that a piece may be moved. */
struct step {
	enum op op;
	int x, y;        /* JUMP: x; SPLIT: both */
	uint64_t set[4]; /* SET: a bit for each byte */
};

struct th_regex {
	size_t count;
	struct step list[];
};

struct parser {
	struct th_str text;
	size_t at, depth, work;
	struct th_regex *re;
	struct th_err *err;
	enum th_code code;
};

/* ---- what an expression is made of ---- */

static void fail(struct parser *p, enum th_code code, const char *what)
{
	if (!p->code)
		p->code = th_fail(p->err, code, "%s at position %zu", what, p->at);
}

static bool more(const struct parser *p)
{
	return !p->code && p->at < p->text.len;
}

static char peek(const struct parser *p, size_t ahead)
{
	return p->at + ahead < p->text.len ? p->text.ptr[p->at + ahead] : '\0';
}

static bool take(struct parser *p, char c)
{
	if (!more(p) || peek(p, 0) != c)
		return false;
	p->at++;
	return true;
}

static struct step *emit(struct parser *p, enum op op)
{
	static struct step none; /* after an error, which ends it all */

	if (p->re->count == TH_REGEX_STEPS_MAX)
		fail(p, TH_ELIMIT, "the expression is too large");
	if (p->code)
		return &none;
	p->re->list[p->re->count] = (struct step){ .op = op };
	return &p->re->list[p->re->count++];
}

/* Room for one before the piece that begins there. */
static struct step *insert(struct parser *p, size_t at, enum op op)
{
	struct step *s = emit(p, op);

	if (p->code)
		return s;
	memmove(&p->re->list[at + 1], &p->re->list[at], (p->re->count - 1 - at) * sizeof(*s));
	p->re->list[at] = (struct step){ .op = op };
	return &p->re->list[at];
}

static void set_add(struct step *s, unsigned char c)
{
	s->set[c >> 6] |= UINT64_C(1) << (c & 63);
}

static bool set_has(const struct step *s, unsigned char c)
{
	return s->set[c >> 6] & (UINT64_C(1) << (c & 63));
}

static void set_invert(struct step *s)
{
	for (size_t i = 0; i < TH_COUNT(s->set); i++)
		s->set[i] = ~s->set[i];
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(char c)
{
	return is_letter(c) || is_digit(c) || c == '_';
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* \d and the like.  False: it is none of them. */
static bool add_kind(struct step *s, char kind)
{
	struct step these = { 0 };
	char small = kind >= 'A' && kind <= 'Z' ? (char)(kind + 32) : kind;

	if (small != 'd' && small != 'w' && small != 's')
		return false;
	for (int c = 0; c < 128; c++)
		if (small == 'd'   ? is_digit((char)c)
		    : small == 'w' ? is_word((char)c)
				   : is_space((char)c))
			set_add(&these, (unsigned char)c);
	if (small != kind)
		set_invert(&these);
	for (size_t i = 0; i < TH_COUNT(s->set); i++)
		s->set[i] |= these.set[i];
	return true;
}

static int hex_digit(char c)
{
	return is_digit(c)              ? c - '0'
	       : (c >= 'a' && c <= 'f') ? c - 'a' + 10
	       : (c >= 'A' && c <= 'F') ? c - 'A' + 10
					: -1;
}

/* Behind a backslash: the byte that it stands for. */
static unsigned char escaped(struct parser *p, bool in_class)
{
	static const char names[] = "abfnrtv", bytes[] = "\a\b\f\n\r\t\v";
	char c = peek(p, 0);
	const char *at = c ? strchr(names, c) : NULL;

	if (!more(p)) {
		fail(p, TH_EUSAGE, "a backslash at the end");
	} else if (at && (c != 'b' || in_class)) {
		c = bytes[at - names];
	} else if (c == 'x') {
		int high = hex_digit(peek(p, 1)), low = hex_digit(peek(p, 2));

		if (high < 0 || low < 0)
			fail(p, TH_EUSAGE, "an incomplete escape");
		c = (char)(high * 16 + low);
		p->at += 2;
	} else if (c == '0' && !is_digit(peek(p, 1))) {
		c = '\0';
	} else if (is_digit(c) || c == 'u' || c == 'U' || c == 'N') {
		fail(p, TH_EUNSUPPORTED,
		     "a backreference or a numbered character, which is not "
		     "supported,");
	} else if (is_letter(c)) {
		fail(p, TH_EUSAGE, "an unknown escape");
	}
	p->at++;
	return (unsigned char)c;
}

/* ---- classes ---- */

/* One character of a class; false: it was a kind of several. */
static bool class_one(struct parser *p, struct step *s, unsigned char *ret)
{
	if (take(p, '\\')) {
		if (add_kind(s, peek(p, 0))) {
			p->at++;
			return false;
		}
		*ret = escaped(p, true);
		return true;
	}
	*ret = (unsigned char)peek(p, 0);
	if (*ret >= 128)
		fail(p, TH_EUNSUPPORTED, "a class with more than ASCII, which is not supported,");
	p->at++;
	return true;
}

static void class(struct parser *p)
{
	struct step s = { .op = OP_SET };
	bool inverted = take(p, '^'), first = true;
	unsigned char from, to;

	while (more(p) && (first || peek(p, 0) != ']')) {
		bool single = class_one(p, &s, &from);

		first = false;
		if (peek(p, 0) == '-' && peek(p, 1) != ']' && p->at + 1 < p->text.len) {
			p->at++;
			if (!single || !class_one(p, &s, &to) || to < from)
				fail(p, TH_EUSAGE, "a bad range");
			for (int c = from; !p->code && c <= to; c++)
				set_add(&s, (unsigned char)c);
		} else if (single) {
			set_add(&s, from);
		}
	}
	if (!take(p, ']'))
		fail(p, TH_EUSAGE, "a class without an end");
	if (inverted)
		set_invert(&s);
	*emit(p, OP_SET) = s;
}

/* ---- pieces ---- */

static void alternatives(struct parser *p);

static void group(struct parser *p)
{
	if (++p->depth > TH_REGEX_DEPTH_MAX)
		fail(p, TH_ELIMIT, "the expression is nested too deeply");
	if (take(p, '?')) {
		if (take(p, 'P') && take(p, '<')) {
			size_t from = p->at;

			while (more(p) && is_word(peek(p, 0)))
				p->at++;
			if (p->at == from || is_digit(p->text.ptr[from]) || !take(p, '>'))
				fail(p, TH_EUSAGE, "a group without a good name");
		} else if (!take(p, ':')) {
			bool known = peek(p, 0) && strchr("=!<#iaLmsuxP->(", peek(p, 0));

			fail(p, known ? TH_EUNSUPPORTED : TH_EUSAGE,
			     known ? "lookaround, a flag or a condition, which is not supported,"
				   : "an unknown extension");
		}
	}
	alternatives(p);
	if (!take(p, ')'))
		fail(p, TH_EUSAGE, "a group without an end");
	p->depth--;
}

/* True: it may be repeated. */
static bool atom(struct parser *p)
{
	char c = peek(p, 0);
	struct step *s;

	if (++p->work > TH_REGEX_WORK_MAX)
		fail(p, TH_ELIMIT, "the expression is too large");
	p->at++;
	if (c == '(') {
		group(p);
	} else if (c == '[') {
		class(p);
	} else if (c == '^' || (c == '\\' && peek(p, 0) == 'A')) {
		p->at += c == '\\';
		emit(p, OP_BEGIN);
		return false;
	} else if (c == '$' || (c == '\\' && peek(p, 0) == 'Z')) {
		p->at += c == '\\';
		emit(p, c == '$' ? OP_END : OP_LAST);
		return false;
	} else if (c == '\\' && (peek(p, 0) == 'b' || peek(p, 0) == 'B')) {
		emit(p, peek(p, 0) == 'b' ? OP_WORD : OP_NOT_WORD);
		p->at++;
		return false;
	} else if (c == '.') {
		s = emit(p, OP_SET);
		set_add(s, '\n');
		set_invert(s);
	} else {
		struct step one = { .op = OP_SET };

		if (c == '\\' && add_kind(&one, peek(p, 0)))
			p->at++;
		else
			set_add(&one, c == '\\' ? escaped(p, false) : (unsigned char)c);
		*emit(p, OP_SET) = one;
	}
	return true;
}

static bool number(const struct parser *p, size_t *ahead, size_t *ret)
{
	size_t value = 0, from = *ahead;

	while (is_digit(peek(p, *ahead)) && value <= TH_REGEX_STEPS_MAX)
		value = value * 10 + (size_t)(peek(p, (*ahead)++) - '0');
	*ret = value;
	return *ahead > from;
}

/* How often.  False: what stands there is no repeat. */
static bool repeat(struct parser *p, size_t *min, size_t *max)
{
	size_t ahead = 1;
	char c = peek(p, 0);

	*min = c == '+';
	*max = c == '?' ? 1 : SIZE_MAX;
	if (!more(p))
		return false;
	if (c == '{') {
		bool low, high = false;

		low = number(p, &ahead, min);
		*max = *min;
		if (peek(p, ahead) == ',') {
			ahead++;
			high = number(p, &ahead, max);
			if (!high)
				*max = SIZE_MAX;
		} else if (!low) {
			return false;
		}
		if (peek(p, ahead) != '}')
			return false;
		ahead++;
	} else if (c != '*' && c != '+' && c != '?') {
		return false;
	}
	p->at += ahead;
	return true;
}

/* The piece from `start` on, which was read from `from`, as often as that. */
static void repeated(struct parser *p, size_t start, size_t from, size_t min, size_t max)
{
	size_t end = p->at, length = p->re->count - start, begin = start;
	size_t copies = max == SIZE_MAX ? TH_MAX(min, 1) : max;
	struct step *s;

	if (copies == 0)
		p->re->count = start;
	for (size_t i = 0; i < copies && !p->code; i++) {
		if (i > 0) {
			begin = p->re->count;
			p->at = from;
			(void)atom(p);
		}
		if (i < min)
			continue;
		/* May be passed over: with all that follow, or this one alone; both are the same.
		 */
		s = insert(p, begin, OP_SPLIT);
		s->x = 1;
		s->y = (int)length + 1;
	}
	if (max == SIZE_MAX && !p->code) {
		/* Back to the last copy: a loop that may be passed over begins at its SPLIT. */
		int back = (int)(p->re->count - begin);

		s = emit(p, min > 0 ? OP_SPLIT : OP_JUMP);
		s->x = -back;
		s->y = 1;
		if (min == 0 && !p->code)
			p->re->list[begin].y++; /* behind the jump */
	}
	p->at = end;
}

static void sequence(struct parser *p)
{
	while (more(p) && peek(p, 0) != '|' && peek(p, 0) != ')') {
		size_t start = p->re->count, from = p->at, min, max, end;
		bool repeats;

		if (repeat(p, &min, &max)) {
			p->at = from;
			fail(p, TH_EUSAGE, "nothing to repeat");
			return;
		}
		repeats = atom(p);
		end = p->at;
		if (!repeat(p, &min, &max))
			continue;
		if (!repeats || max < min)
			fail(p, TH_EUSAGE, repeats ? "a bad repeat" : "nothing to repeat");
		if (peek(p, 0) == '+' && more(p))
			fail(p, TH_EUNSUPPORTED, "a possessive repeat, which is not supported,");
		(void)take(p, '?');
		size_t behind = p->at;

		p->at = end;
		repeated(p, start, from, min, max);
		p->at = behind;
		if (repeat(p, &min, &max))
			fail(p, TH_EUSAGE, "multiple repeat");
	}
}

static void alternatives(struct parser *p)
{
	size_t start = p->re->count, last = SIZE_MAX;

	sequence(p);
	while (take(p, '|') && !p->code) {
		struct step *s = insert(p, start, OP_SPLIT);

		s->x = 1;
		s->y = (int)(p->re->count - start) + 1; /* behind the jump */
		s = emit(p, OP_JUMP);
		s->y = last == SIZE_MAX ? 0 : (int)(p->re->count - 1 - last); /* the one before */
		last = p->re->count - 1;
		start = p->re->count;
		sequence(p);
	}
	while (last != SIZE_MAX && !p->code) {
		struct step *s = &p->re->list[last];

		s->x = (int)(p->re->count - last);
		last = s->y ? last - (size_t)s->y : SIZE_MAX;
		s->y = 0;
	}
}

enum th_code th_regex_compile(struct th_str text, struct th_arena *a, const struct th_regex **ret,
			      struct th_err *err)
{
	struct th_arena scratch TH_CLEANUP(th_arena_deinit) = { 0 };
	size_t size = sizeof(struct th_regex) + TH_REGEX_STEPS_MAX * sizeof(struct step);
	struct parser p = { .text = text, .err = err };
	struct th_regex *re;

	*ret = NULL;
	if (text.len > TH_REGEX_TEXT_MAX)
		return th_fail(err, TH_ELIMIT, "an expression has at most %d bytes",
			       TH_REGEX_TEXT_MAX);
	th_arena_init(&scratch, size + TH_KIB);
	p.re = th_arena_alloc(&scratch, size);
	assert(p.re);
	alternatives(&p);
	if (more(&p))
		fail(&p, TH_EUSAGE, "a parenthesis that was not opened");
	emit(&p, OP_MATCH);
	if (p.code)
		return p.code;
	size = sizeof(*re) + p.re->count * sizeof(struct step);
	re = th_arena_alloc(a, size);
	if (!re)
		return th_fail(err, TH_ELIMIT, "the expressions are too large");
	memcpy(re, p.re, size);
	*ret = re;
	return TH_OK;
}

/* ---- matching ---- */

struct states {
	uint16_t list[TH_REGEX_STEPS_MAX];
	size_t count;
};

static bool at_word(struct th_str text, size_t at)
{
	bool before = at > 0 && is_word(text.ptr[at - 1]);
	bool after = at < text.len && is_word(text.ptr[at]);

	return before != after;
}

static bool holds(enum op op, struct th_str text, size_t at)
{
	switch (op) {
	case OP_BEGIN:
		return at == 0;
	case OP_END:
		return at == text.len || (at + 1 == text.len && text.ptr[at] == '\n');
	case OP_LAST:
		return at == text.len;
	case OP_WORD:
		return at_word(text, at);
	case OP_NOT_WORD:
		return !at_word(text, at);
	case OP_SET:
	case OP_SPLIT:
	case OP_JUMP:
	case OP_MATCH:
		break;
	}
	return false;
}

/* Adds a step and all that it leads to without a byte. */
static void reach(const struct th_regex *re, size_t step, struct th_str text, size_t at,
		  uint8_t *seen, struct states *out)
{
	uint16_t stack[TH_REGEX_STEPS_MAX];
	size_t depth = 0;

	if (!seen[step])
		stack[depth++] = (uint16_t)step;
	seen[step] = 1;
	while (depth > 0) {
		size_t i = stack[--depth];
		const struct step *s = &re->list[i];
		size_t next[2] = { i, i };

		if (s->op == OP_SET || s->op == OP_MATCH) {
			out->list[out->count++] = (uint16_t)i;
			continue;
		}
		if (s->op == OP_SPLIT) {
			next[0] = (size_t)((ptrdiff_t)i + s->x);
			next[1] = (size_t)((ptrdiff_t)i + s->y);
		} else if (s->op == OP_JUMP) {
			next[0] = next[1] = (size_t)((ptrdiff_t)i + s->x);
		} else if (holds(s->op, text, at)) {
			next[0] = next[1] = i + 1;
		}
		for (size_t k = 0; k < 2; k++)
			if (!seen[next[k]]) {
				seen[next[k]] = 1;
				stack[depth++] = (uint16_t)next[k];
			}
	}
}

bool th_regex_matches(const struct th_regex *re, struct th_str text)
{
	struct states a, b, *now = &a, *then = &b;
	uint8_t seen[TH_REGEX_STEPS_MAX];

	if (text.len > TH_REGEX_TEXT_MAX)
		return false;
	now->count = 0;
	memset(seen, 0, re->count);
	reach(re, 0, text, 0, seen, now);
	for (size_t at = 0; at < text.len; at++) {
		struct states *swap = now;

		then->count = 0;
		memset(seen, 0, re->count);
		for (size_t i = 0; i < now->count; i++) {
			const struct step *s = &re->list[now->list[i]];

			if (s->op == OP_SET && set_has(s, (unsigned char)text.ptr[at]))
				reach(re, now->list[i] + 1u, text, at + 1, seen, then);
		}
		now = then;
		then = swap;
	}
	for (size_t i = 0; i < now->count; i++)
		if (re->list[now->list[i]].op == OP_MATCH)
			return true;
	return false;
}
