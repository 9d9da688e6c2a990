/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/mcp_offer.h"

#include "base/limits.h"

#define PAGED                                                                                   \
	"{\"type\":\"object\",\"properties\":{\"cursor\":{\"type\":\"string\",\"description\":" \
	"\"Of the next "                                                                        \
	"page, as the page before says it.\"}}}"

static const struct th_mcp_offer offers[] = {
	{ "@list_resources", TH_MCP_RESOURCES, "resources/list", "resources",
	  "Lists the resources of this server: their addresses, names and types.", PAGED },
	{ "@list_resource_templates", TH_MCP_RESOURCES, "resources/templates/list",
	  "resourceTemplates",
	  "Lists the forms of addresses of resources that this server has, to be filled in.",
	  PAGED },
	{ "@read_resource", TH_MCP_RESOURCES, "resources/read", "contents",
	  "Reads a resource of this server.",
	  "{\"type\":\"object\",\"properties\":{\"uri\":{\"type\":\"string\",\"description\":\"Its "
	  "address, as "
	  "listed.\"}},\"required\":[\"uri\"]}" },
	{ "@list_prompts", TH_MCP_PROMPTS, "prompts/list", "prompts",
	  "Lists the prompts of this server: instructions for a kind of task, with their "
	  "arguments.",
	  PAGED },
	{ "@get_prompt", TH_MCP_PROMPTS, "prompts/get", "messages",
	  "Gets a prompt of this server, filled in.",
	  "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"arguments\":{"
	  "\"type\":\"object\","
	  "\"additionalProperties\":{\"type\":\"string\"}}},\"required\":[\"name\"]}" },
	{ "@complete", TH_MCP_COMPLETIONS, "completion/complete", "values",
	  "Which values an argument of a prompt, or of a form of addresses, of this server may "
	  "have that begin so.",
	  "{\"type\":\"object\",\"properties\":{\"ref\":{\"type\":\"object\",\"properties\":{"
	  "\"type\":{\"enum\":[\"ref/prompt\",\"ref/resource\"]},\"name\":{\"type\":\"string\","
	  "\"description\":\"Of the prompt.\"},\"uri\":{\"type\":\"string\",\"description\":\"The "
	  "form "
	  "of addresses.\"}},\"required\":[\"type\"]},\"argument\":{\"type\":\"object\","
	  "\"properties\":{\"name\":{\"type\":\"string\"},\"value\":{\"type\":\"string\"}},"
	  "\"required\":[\"name\",\"value\"]}},\"required\":[\"ref\",\"argument\"]}" },
};

const struct th_mcp_offer *th_mcp_offer_find(struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(offers); i++)
		if (th_str_is(name, offers[i].name))
			return &offers[i];
	return NULL;
}

void th_mcp_offers_put(unsigned abilities, struct th_jw *w)
{
	for (size_t i = 0; i < TH_COUNT(offers); i++) {
		if (!(abilities & offers[i].ability))
			continue;
		th_jw_object(w);
		th_jw_kstr(w, "name", th_str_of(offers[i].name));
		th_jw_kstr(w, "description", th_str_of(offers[i].description));
		th_jw_kraw(w, "inputSchema", th_str_of(offers[i].schema));
		th_jw_object_end(w);
	}
}

static void put_text(struct th_jw *w, struct th_str text)
{
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("text"));
	th_jw_kstr(w, "text", text);
	th_jw_object_end(w);
}

/* A list as it is, with where it goes on. */
static void put_list(struct th_jw *w, const struct th_json *list, struct th_str cursor)
{
	struct th_buf text = TH_BUF_INIT(TH_MCP_LINE_MAX);

	th_json_print(list, &text);
	if (cursor.len && cursor.len <= TH_MCP_CURSOR_MAX) {
		struct th_jw c = th_jw(&text);

		th_buf_add_cstr(&text, "\nThere are more: cursor ");
		th_jw_str(&c, cursor);
	}
	put_text(w, th_buf_str(&text));
	th_buf_deinit(&text);
}

static void put_element(const struct th_mcp_offer *o, struct th_jw *w, const struct th_json *v)
{
	struct th_str role = th_json_get_str(v, "role");

	if (o->ability == TH_MCP_RESOURCES) {
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("resource"));
		th_jw_name(w, TH_STR("resource"));
		th_jw_json(w, v);
		th_jw_object_end(w);
		return;
	}
	put_text(w, th_str_is(role, "assistant") ? TH_STR("[assistant]") : TH_STR("[user]"));
	if (th_json_is_object(th_json_get(v, "content")))
		th_jw_json(w, th_json_get(v, "content"));
}

enum th_code th_mcp_offer_result(const struct th_mcp_offer *o, struct th_str result,
				 struct th_buf *out, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_code code = th_json_parse(result, &doc, err);
	const struct th_json *root = th_json_root(doc);
	const struct th_json *list = th_json_get(
	    o->ability == TH_MCP_COMPLETIONS ? th_json_get(root, "completion") : root, o->member);
	struct th_json_iter it = th_json_iter(list);
	struct th_jw w = th_jw(out);

	if (code)
		return code;
	if (!th_json_is_array(list))
		return th_fail(err, TH_EPROTO, "the server's answer has no %s", o->member);
	th_jw_object(&w);
	th_jw_name(&w, TH_STR("content"));
	th_jw_array(&w);
	if (!strcmp(o->member, "contents") || !strcmp(o->member, "messages")) {
		while (th_json_next(&it))
			put_element(o, &w, it.val);
	} else {
		put_list(&w, list, th_json_get_str(th_json_root(doc), "nextCursor"));
	}
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	return th_buf_check(out, "the server's answer", err);
}
