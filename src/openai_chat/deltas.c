/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deltas.c - what the observer hears of a stream.  Reasoning is item 0, the
 * text 1, calls follow.  A text that begins with <think> is reasoning up to
 * </think>; so few bytes as can be are held back to know.
 */
#include "base/json.h"
#include "openai_chat/decoder.h"

#define OPEN TH_STR("<think>")
#define CLOSE TH_STR("</think>")

enum { REASONING, MESSAGE, CALLS };

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static struct th_str trim_left(struct th_str s)
{
	while (s.len && is_blank(s.ptr[0]))
		s = th_str_sub(s, 1, s.len);
	return s;
}

bool th_chat_split_think(struct th_str text, bool orphan, struct th_str *ret_think,
			 struct th_str *ret_rest)
{
	struct th_str s = trim_left(text);
	ptrdiff_t at;

	if (th_str_starts(s, OPEN)) {
		s = th_str_sub(s, OPEN.len, s.len);
		at = th_str_find(s, CLOSE);
	} else {
		at = orphan ? th_str_find(s, CLOSE) : -1;
		if (at < 0 || th_str_find(th_str_sub(s, 0, (size_t)at), OPEN) >= 0)
			return false;
	}
	*ret_think = th_str_trim(th_str_sub(s, 0, at < 0 ? s.len : (size_t)at));
	*ret_rest = at < 0 ? (struct th_str){ s.ptr, 0 }
			   : trim_left(th_str_sub(s, (size_t)at + CLOSE.len, s.len));
	return true;
}

static void tell(struct th_decoder *d, enum th_delta_kind kind, size_t index, struct th_str text)
{
	if (text.len)
		d->fn(d->ctx, kind, index, text);
}

/* Bytes at the end of `s` that may begin `tag`. */
static size_t overlap(struct th_str s, struct th_str tag)
{
	size_t len = TH_MIN(s.len, tag.len - 1);

	while (len && memcmp(s.ptr + s.len - len, tag.ptr, len))
		len--;
	return len;
}

static void hold(struct th_decoder *d, struct th_str s)
{
	size_t behind = (size_t)(s.ptr - d->held.ptr);

	th_buf_drop(&d->held, behind);
}

/* Takes what it can off d->held. */
static bool take_held(struct th_decoder *d)
{
	struct th_str s = th_buf_str(&d->held), bare = trim_left(s);
	ptrdiff_t at;
	size_t keep;

	switch (d->think) {
	case TH_THINK_START:
		if (bare.len < OPEN.len && th_str_starts(OPEN, bare))
			return false;
		d->think = th_str_starts(bare, OPEN) ? TH_THINK_INSIDE : TH_THINK_NONE;
		if (d->think == TH_THINK_INSIDE)
			hold(d, th_str_sub(bare, OPEN.len, bare.len));
		return true;
	case TH_THINK_INSIDE:
		at = th_str_find(s, CLOSE);
		keep = at < 0 ? overlap(s, CLOSE) : 0;
		tell(d, TH_DELTA_REASONING, REASONING,
		     th_str_sub(s, 0, at < 0 ? s.len - keep : (size_t)at));
		if (at >= 0)
			d->think = TH_THINK_BEHIND;
		hold(d, at < 0 ? th_str_sub(s, s.len - keep, keep)
			       : th_str_sub(s, (size_t)at + CLOSE.len, s.len));
		return at >= 0;
	case TH_THINK_BEHIND:
		hold(d, bare);
		if (bare.len)
			d->think = TH_THINK_NONE;
		return bare.len > 0;
	case TH_THINK_NONE:
		break;
	}
	tell(d, TH_DELTA_TEXT, MESSAGE, s);
	th_buf_clear(&d->held);
	return false;
}

static void tell_text(struct th_decoder *d, struct th_str text)
{
	if (d->think == TH_THINK_NONE) {
		tell(d, TH_DELTA_TEXT, MESSAGE, text);
		return;
	}
	th_buf_add(&d->held, text);
	while (take_held(d))
		;
}

void th_chat_tell_end(struct th_decoder *d)
{
	struct th_str s = th_buf_str(&d->held);

	if (d->think == TH_THINK_INSIDE)
		tell(d, TH_DELTA_REASONING, REASONING, s);
	else if (d->think == TH_THINK_START || d->think == TH_THINK_NONE)
		tell(d, TH_DELTA_TEXT, MESSAGE, s);
	d->think = TH_THINK_NONE;
	th_buf_clear(&d->held);
}

static bool is_str(struct th_str raw)
{
	return raw.len > 2 && raw.ptr[0] == '"';
}

static void tell_parts(struct th_decoder *d, struct th_str list, bool reasoning)
{
	struct th_json_raw_iter it = th_json_raw_iter(list);

	while (th_json_raw_next(&it)) {
		struct th_str text = th_json_raw_get(it.val, "text");
		struct th_str thinking = th_json_raw_get(it.val, "thinking");

		if (is_str(text) && reasoning)
			tell(d, TH_DELTA_REASONING, REASONING,
			     th_delta_text_of(&d->reasoned, text));
		else if (is_str(text))
			tell_text(d, th_delta_text_of(&d->said, text));
		if (is_str(thinking))
			tell(d, TH_DELTA_REASONING, REASONING,
			     th_delta_text_of(&d->reasoned, thinking));
		else if (thinking.len && thinking.ptr[0] == '[' && !reasoning)
			tell_parts(d, thinking, true);
	}
}

static void tell_calls(struct th_decoder *d, struct th_str list)
{
	struct th_json_raw_iter it = th_json_raw_iter(list);

	while (th_json_raw_next(&it)) {
		struct th_str function = th_json_raw_get(it.val, "function");
		struct th_str arguments = th_json_raw_get(function, "arguments");
		int64_t index;

		if (!th_str_i64(th_json_raw_get(it.val, "index"), &index) || index < 0)
			index = 0;
		if (is_str(arguments))
			tell(d, TH_DELTA_ARGUMENTS, CALLS + (size_t)index,
			     th_delta_text_of(&d->called, arguments));
	}
}

void th_chat_tell(struct th_decoder *d, struct th_str delta)
{
	struct th_json_raw_iter it = th_json_raw_iter(delta);
	struct th_str reasoning = { NULL, 0 };

	while (th_json_raw_next(&it)) {
		if (!it.val.len)
			continue;
		if (th_str_eq(it.key, TH_STR("content"))) {
			if (is_str(it.val))
				tell_text(d, th_delta_text_of(&d->said, it.val));
			else if (it.val.ptr[0] == '[')
				tell_parts(d, it.val, false);
		} else if (th_str_eq(it.key, TH_STR("reasoning_content")) ||
			   th_str_eq(it.key, TH_STR("reasoning"))) {
			/* Some say it under both names. */
			if (is_str(it.val) && !th_str_eq(it.val, reasoning))
				tell(d, TH_DELTA_REASONING, REASONING,
				     th_delta_text_of(&d->reasoned, it.val));
			reasoning = it.val;
		} else if (th_str_eq(it.key, TH_STR("refusal")) && is_str(it.val)) {
			tell(d, TH_DELTA_REFUSAL, MESSAGE, th_delta_text_of(&d->said, it.val));
		} else if (th_str_eq(it.key, TH_STR("tool_calls")) && it.val.ptr[0] == '[') {
			tell_calls(d, it.val);
		}
	}
}
