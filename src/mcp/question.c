/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/question.h"

#include "base/json.h"
#include "wire/mcp_form.h"
#include "wire/mcp_sample.h"

static void put(struct th_jw *w, const char *name, struct th_str raw)
{
	if (raw.len)
		th_jw_kraw(w, name, raw);
}

enum th_code th_mcp_form_put(const struct th_mcp_form *f, struct th_str why, struct th_buf *out,
			     struct th_err *err)
{
	struct th_json_doc *params TH_CLEANUP(th_json_freep) = NULL;
	struct th_buf form = TH_BUF_INIT(TH_MCP_FORM_MAX), arguments = TH_BUF_INIT(TH_MCP_FORM_MAX);
	struct th_jw w = th_jw(&form), o = th_jw(out);
	enum th_code code = th_json_parse(f->params, &params, err);

	if (!code && f->samples.len)
		code = th_mcp_sample_question(th_json_root(params), &arguments, err);
	else if (!code)
		code = th_mcp_form_question(th_json_root(params), why, &arguments, err);
	th_jw_object(&w);
	put(&w, "params", f->params);
	put(&w, "hold", f->hold);
	put(&w, "id", f->id);
	put(&w, "key", f->key);
	put(&w, "state", f->state);
	put(&w, "inputs", f->inputs);
	put(&w, "samples", f->samples);
	th_jw_object_end(&w);
	if (!code)
		code = th_buf_check(&form, "the server's question", err);
	if (!code)
		code = th_buf_check(&arguments, "the server's question", err);
	if (!code) {
		th_jw_object(&o);
		th_jw_kraw(&o, "arguments", th_buf_str(&arguments));
		th_jw_kraw(&o, "form", th_buf_str(&form));
		th_jw_object_end(&o);
	}
	th_buf_deinit(&form);
	th_buf_deinit(&arguments);
	return code;
}

void th_mcp_form_read(struct th_str json, struct th_mcp_form *ret)
{
	static const char *const keys[] = { "params", "hold",   "id",     "key",
					    "state",  "inputs", "samples" };
	struct th_str v[TH_COUNT(keys)];

	th_json_raw_gets(json, TH_COUNT(keys), keys, v);
	*ret = (struct th_mcp_form){ v[0], v[1], v[2], v[3], v[4], v[5], v[6] };
}

enum th_code th_mcp_form_answer(const struct th_mcp_form *f, struct th_str answer, bool declined,
				struct th_buf *out, struct th_err *err)
{
	struct th_json_doc *params TH_CLEANUP(th_json_freep) = NULL;
	enum th_code code = th_json_parse(f->params, &params, err);

	if (!code && f->samples.len) {
		if (!declined && th_json_raw_is_object(answer) && th_json_valid(answer))
			th_buf_add(out, answer);
		return TH_OK;
	}
	return code ?: th_mcp_form_result(th_json_root(params), answer, declined, out, err);
}

void th_mcp_form_inputs(const struct th_mcp_form *f, struct th_str result, struct th_jw *w)
{
	struct th_json_raw_iter it = th_json_raw_iter(f->inputs);

	th_jw_name(w, TH_STR("inputResponses"));
	th_jw_object(w);
	while (th_json_raw_next(&it)) {
		th_jw_name(w, it.key); /* escaped already */
		th_jw_raw(w, it.val);
	}
	th_jw_name(w, th_json_raw_inside(f->key));
	th_jw_raw(w, result);
	th_jw_object_end(w);
	if (f->state.len)
		th_jw_kraw(w, "requestState", f->state);
}
