/* SPDX-License-Identifier: Apache-2.0 */
#include "side_models/critic.h"

#include "base/limits.h"
#include "base/text.h"
#include "side_models/shorten.h"

#define ISSUE_FROM 0.5 /* a label counts as seen */

#define X(name, issue) { name, issue },
static const struct label {
	const char *name;
	bool issue;
} labels_of[] = { TH_CRITIC_LABELS(X) };
#undef X

/* ---- what it is sent ---- */

/* A text of strangers begins and ends no message. */
static void put_text(struct th_str text, size_t each, struct th_buf *out)
{
	text = th_utf8_cut(text, each);
	for (size_t i = 0; i < text.len; i++) {
		th_buf_add_char(out, text.ptr[i]);
		if (text.ptr[i] == '<' && i + 1 < text.len && text.ptr[i + 1] == '|')
			th_buf_add_char(out, ' ');
	}
}

/* A JSON string, or the texts of a list of parts. */
static void put_content(struct th_str raw, size_t each, struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX);
	struct th_json_raw_iter it = th_json_raw_iter(raw);
	size_t begin = out->len;

	if (raw.len && raw.ptr[0] == '"') {
		if (th_json_unescape(raw, &text))
			put_text(th_buf_str(&text), each, out);
		return;
	}
	while (raw.len && raw.ptr[0] == '[' && th_json_raw_next(&it)) {
		struct th_str part = th_json_raw_get(it.val, "text");

		th_buf_clear(&text);
		if (!part.len || !th_json_unescape(part, &text))
			continue;
		if (out->len > begin)
			th_buf_add_char(out, '\n');
		put_text(th_buf_str(&text), each, out);
	}
}

static const char *role_of(const struct th_transcript_item *item)
{
	if (item->kind == TH_TRANSCRIPT_OUTPUT || th_str_is(item->role, "assistant"))
		return "assistant";
	if (th_str_is(item->role, "system") || th_str_is(item->role, "developer"))
		return "system";
	return "user";
}

/* An answer is one message, and so are the results of its calls. */
static void put_items(const struct th_transcript *t, size_t from, size_t to, size_t each,
		      struct th_buf *out)
{
	for (size_t i = from; i < to; i++) {
		const struct th_transcript_item *item = &t->list[i];
		bool message = item->kind == TH_TRANSCRIPT_MESSAGE;
		bool first = message || i == from || t->list[i - 1].kind != item->kind;
		bool last = message || i + 1 == to || t->list[i + 1].kind != item->kind;

		if (first)
			th_buf_printf(out, "<|im_start|>%s\n", role_of(item));
		if (item->kind == TH_TRANSCRIPT_RESULT) {
			th_buf_add_cstr(out, "<tool_response>\n");
			put_content(item->output, each, out);
			th_buf_add_cstr(out, "\n</tool_response>");
			th_buf_add_cstr(out, last ? "" : "\n");
		} else {
			put_content(message ? item->content
					    : th_json_raw_get(item->item, "content"),
				    each, out);
		}
		if (last)
			th_buf_add_cstr(out, "<|im_end|>\n");
	}
}

void th_critic_print_input(const struct th_transcript *t, struct th_str instructions, size_t room,
			   struct th_buf *out)
{
	struct th_shorten s = TH_SHORTEN_BEGIN;
	size_t begin;

	if (instructions.len) {
		th_buf_add_cstr(out, "<|im_start|>system\n");
		put_text(instructions, room / 4, out);
		th_buf_add_cstr(out, "<|im_end|>\n");
	}
	begin = out->len;
	do {
		th_buf_truncate(out, begin);
		put_items(t, 0, TH_MIN(t->count, (size_t)1), s.each, out);
		put_items(t, s.from, t->count, s.each, out);
	} while (out->len > room && th_shorten(&s, t->count));
}

void th_critic_print_question(const struct th_agent_critic *c, struct th_str input,
			      struct th_buf *out)
{
	struct th_buf url TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(16 * TH_KIB);
	struct th_str base = c->url;
	struct th_jw w = th_jw(out);

	while (base.len && base.ptr[base.len - 1] == '/')
		base.len--;
	th_buf_printf(&url, "%.*s/classify", TH_FMT(base));
	th_jw_object(&w);
	th_jw_kstr(&w, "url", th_buf_str(&url));
	th_jw_kstr(&w, "token_env", c->token_env);
	th_jw_key(&w, TH_STR("input"));
	th_jw_object(&w);
	th_jw_kstr(&w, "model", c->model.len ? c->model : TH_STR(TH_CRITIC_MODEL_DEFAULT));
	th_jw_kstr(&w, "input", input);
	th_jw_object_end(&w);
	th_jw_kint(&w, "timeout_s", c->timeout_s ?: TH_CRITIC_SECONDS_DEFAULT);
	th_jw_object_end(&w);
}

/* ---- what it answers ---- */

/* One number for each label, or nothing. */
static enum th_code read_numbers(const struct th_json *answer, double ret[TH_COUNT(labels_of)],
				 struct th_err *err)
{
	const struct th_json *item = th_json_at(th_json_get(answer, "data"), 0);
	const struct th_json *probs = th_json_get(item, "probs");
	const struct th_json *classes = th_json_get(item, "num_classes");
	size_t count = th_json_count(probs);

	if (!th_json_is_array(probs) || count != TH_COUNT(labels_of))
		return th_fail(err, TH_EPROTO,
			       "the critic's answer must have %zu numbers in data[0].probs",
			       TH_COUNT(labels_of));
	if (!th_json_is_null(classes) && th_json_num(classes, 0) != (double)count)
		return th_fail(err, TH_EPROTO,
			       "the critic's num_classes is not how many there are");
	for (size_t i = 0; i < count; i++) {
		ret[i] = th_json_num(th_json_at(probs, i), -1);
		if (!(ret[i] >= 0 && ret[i] <= 1))
			return th_fail(err, TH_EPROTO,
				       "the critic's probs must be numbers from 0 to 1");
	}
	return TH_OK;
}

static void put_issue(const struct label *label, double value, struct th_jw *w)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	th_buf_printf(&text, "the critic sees: %s (%.0f %%)", label->name, value * 100);
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] == '_')
			text.ptr[i] = ' ';
	th_jw_str(w, th_buf_str(&text));
}

enum th_code th_critic_read(struct th_str text, double threshold, double *ret_score,
			    struct th_buf *labels, struct th_buf *missing, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_buf sentence TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	double values[TH_COUNT(labels_of)] = { 0 };
	struct th_jw w = th_jw(labels);
	enum th_code code = th_json_parse(text, &doc, err);

	if (!code)
		code = read_numbers(th_json_root(doc), values, err);
	if (code)
		return th_prefix(err, TH_EPROTO, "the verdict");
	*ret_score = values[0];
	th_jw_object(&w);
	for (size_t i = 0; i < TH_COUNT(labels_of); i++)
		th_jw_kreal(&w, labels_of[i].name, values[i]);
	th_jw_object_end(&w);
	w = th_jw(missing);
	th_jw_array(&w);
	if (*ret_score < threshold) {
		th_buf_printf(&sentence,
			      "the critic holds the task for done with a likelihood of %.0f %%: go "
			      "through each requirement and check it",
			      *ret_score * 100);
		th_jw_str(&w, th_buf_str(&sentence));
		for (size_t i = 0; i < TH_COUNT(labels_of); i++)
			if (labels_of[i].issue && values[i] >= ISSUE_FROM)
				put_issue(&labels_of[i], values[i], &w);
	}
	th_jw_array_end(&w);
	return th_buf_check(labels, "the critic's labels", err)
		   ?: th_buf_check(missing, "what is missing", err);
}
