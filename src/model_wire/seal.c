/* SPDX-License-Identifier: Apache-2.0 */
#include "model_wire/seal.h"

#include "base/limits.h"

/* In an item. */
#define THINKING "thole.thinking."
#define REDACTED "thole.redacted."
/* In a block. */
#define OTHER "thole.other."

static struct th_str after(struct th_str s, const char *prefix)
{
	return th_str_sub(s, strlen(prefix), s.len);
}

static bool is_thinking(struct th_str sealed)
{
	return th_str_starts(sealed, TH_STR(THINKING));
}

static bool is_redacted(struct th_str sealed)
{
	return th_str_starts(sealed, TH_STR(REDACTED));
}

bool th_seal_is_own(struct th_str sealed)
{
	return is_thinking(sealed) || is_redacted(sealed);
}

/* ---- for an item ---- */

static void print(struct th_str type, struct th_str text, struct th_buf *out)
{
	bool redacted = th_str_is(type, "redacted_thinking");

	if (!text.len || (!redacted && !th_str_is(type, "thinking")))
		return;
	if (!redacted && th_str_starts(text, TH_STR(OTHER))) {
		th_buf_add(out, after(text, OTHER));
		return;
	}
	th_buf_add_cstr(out, redacted ? REDACTED : THINKING);
	th_buf_add(out, text);
}

static void of_block(const struct th_json *block, struct th_buf *out)
{
	struct th_str type = th_json_get_str(block, "type");
	bool redacted = th_str_is(type, "redacted_thinking");

	print(type, th_json_get_str(block, redacted ? "data" : "signature"), out);
}

void th_seal_of_answer(const struct th_json *raw, size_t nth, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(th_json_get(th_json_get(raw, "message"), "content"));

	if (!th_str_is(th_json_get_str(raw, "wire"), "messages"))
		return;
	while (th_json_next(&it)) {
		struct th_str type = th_json_get_str(it.val, "type");

		if (!th_str_is(type, "thinking") && !th_str_is(type, "redacted_thinking"))
			continue;
		if (nth-- == 0) {
			of_block(it.val, out);
			return;
		}
	}
}

void th_seal_of_parts(struct th_str type, struct th_str inside, struct th_buf *out)
{
	struct th_buf raw TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);

	th_buf_add_char(&raw, '"');
	th_buf_add(&raw, inside);
	th_buf_add_char(&raw, '"');
	if (th_json_unescape(th_buf_str(&raw), &text))
		print(type, th_buf_str(&text), out);
}

/* ---- for a block ---- */

bool th_seal_signature(struct th_str sealed, struct th_buf *out)
{
	if (is_redacted(sealed))
		return false;
	if (is_thinking(sealed)) {
		th_buf_add(out, after(sealed, THINKING));
	} else if (sealed.len) {
		th_buf_add_cstr(out, OTHER);
		th_buf_add(out, sealed);
	}
	return true;
}

void th_seal_put_block(struct th_jw *w, struct th_str text, struct th_str sealed)
{
	struct th_buf signature TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);

	th_jw_object(w);
	if (th_seal_signature(sealed, &signature)) {
		th_jw_kstr(w, "type", TH_STR("thinking"));
		th_jw_kstr(w, "thinking", text);
		th_jw_kstr(w, "signature", th_buf_str(&signature));
	} else {
		th_jw_kstr(w, "type", TH_STR("redacted_thinking"));
		th_jw_kstr(w, "data", after(sealed, REDACTED));
	}
	th_jw_object_end(w);
}

void th_seal_text(const struct th_json *item, struct th_buf *out)
{
	static const char *const members[] = { "summary", "content" };

	for (size_t i = 0; i < TH_COUNT(members) && !out->len; i++) {
		struct th_json_iter it = th_json_iter(th_json_get(item, members[i]));

		while (th_json_next(&it)) {
			if (out->len)
				th_buf_add_cstr(out, "\n\n");
			th_buf_add(out, th_json_get_str(it.val, "text"));
		}
	}
}
