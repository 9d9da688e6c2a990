/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/mcp_sample.h"

#include "base/text.h"

#define SHOWN_MAX 4000 /* to the person, of what is to be asked */

/* A message's content is a part or a list of them. */
static enum th_code put_part(const struct th_json *part, struct th_buf *out, struct th_err *err)
{
	if (!th_str_is(th_json_get_str(part, "type"), "text"))
		return th_fail(err, TH_EUNSUPPORTED,
			       "the server asks the model about what is no text");
	th_buf_add(out, th_json_get_str(part, "text"));
	return TH_OK;
}

static enum th_code put_message(const struct th_json *message, bool named, struct th_buf *out,
				struct th_err *err)
{
	const struct th_json *content = th_json_get(message, "content");
	bool ours = th_str_is(th_json_get_str(message, "role"), "assistant");
	struct th_json_iter it = th_json_iter(content);
	enum th_code code = TH_OK;

	th_buf_add_cstr(out, out->len ? "\n\n" : "");
	if (named)
		th_buf_add_cstr(out, ours ? "[you said] " : "[it says] ");
	if (!th_json_is_array(content))
		return put_part(content, out, err);
	while (!code && th_json_next(&it))
		code = put_part(it.val, out, err);
	return code;
}

enum th_code th_mcp_sample_prompt(const struct th_json *params, struct th_buf *out,
				  int64_t *ret_tokens, struct th_err *err)
{
	const struct th_json *messages = th_json_get(params, "messages");
	struct th_str system = th_json_get_str(params, "systemPrompt");
	struct th_json_iter it = th_json_iter(messages);
	int64_t tokens = th_json_get_int(params, "maxTokens", TH_MCP_SAMPLE_TOKENS_MAX);
	bool many = th_json_is_array(messages) && th_json_count(messages) > 1;
	enum th_code code = TH_OK;

	if (!th_json_is_array(messages) || !th_json_count(messages))
		return th_fail(err, TH_EPROTO, "the server asks the model nothing");
	th_buf_add(out, system);
	while (!code && th_json_next(&it))
		code = put_message(it.val, many, out, err);
	*ret_tokens = TH_MIN(TH_MAX(tokens, (int64_t)1), (int64_t)TH_MCP_SAMPLE_TOKENS_MAX);
	return code ? code : th_buf_check(out, "what the server asks the model", err);
}

enum th_code th_mcp_sample_question(const struct th_json *params, struct th_buf *out,
				    struct th_err *err)
{
	struct th_buf prompt = TH_BUF_INIT(TH_MCP_FORM_MAX), text = TH_BUF_INIT(8 * TH_KIB);
	struct th_jw w = th_jw(out);
	int64_t tokens = 0;
	enum th_code code = th_mcp_sample_prompt(params, &prompt, &tokens, err);

	th_buf_printf(&text,
		      "The server asks for an answer of the model (up to %lld tokens), which it "
		      "gets. It asks: ",
		      (long long)tokens);
	th_text_line(&text, th_utf8_cut(th_buf_str(&prompt), SHOWN_MAX), SHOWN_MAX);
	if (prompt.len > SHOWN_MAX)
		th_buf_printf(&text, " … (%zu bytes in all)", prompt.len);
	if (!code) {
		th_jw_object(&w);
		th_jw_kstr(&w, "question", th_buf_str(&text));
		th_jw_kraw(&w, "options", TH_STR("[\"" TH_MCP_SAMPLE_YES "\",\"no\"]"));
		th_jw_object_end(&w);
		code = th_buf_check(out, "the server's question", err);
	}
	th_buf_deinit(&prompt);
	th_buf_deinit(&text);
	return code;
}

void th_mcp_sample_answer(struct th_str text, struct th_str model, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "role", TH_STR("assistant"));
	th_jw_name(&w, TH_STR("content"));
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("text"));
	th_jw_kstr(&w, "text", text);
	th_jw_object_end(&w);
	th_jw_kstr(&w, "model", model);
	th_jw_kstr(&w, "stopReason", TH_STR("endTurn"));
	th_jw_object_end(&w);
}
