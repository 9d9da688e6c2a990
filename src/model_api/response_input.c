/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response_input.c - the items of a request of a model API, as its session gets
 * them: references are looked up, what this server packed is unpacked, and calls
 * that ran here are calls and results again.
 */
#include <stdio.h>

#include "model_api/response_making.h"

/* ---- one item ---- */

static bool put_item(struct th_making *m, const struct th_json *item, bool looked_up,
		     struct th_jw *w);

/* What a compaction made of a conversation (compaction.c), or the client himself: items, as in any
 * request.  One in another takes a third more room, so they are not deep. */
static bool put_packed(struct th_making *m, struct th_str packed, struct th_jw *w)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;

	if (!th_base64_decode(&text, packed) ||
	    th_json_parse(th_buf_str(&text), &doc, NULL) != TH_OK ||
	    !th_json_is_array(th_json_root(doc)))
		return th_response_fault(m->fault, 400, "invalid_value",
					 "the compaction item is none that this server made");
	it = th_json_iter(th_json_root(doc));
	while (th_json_next(&it))
		if (!put_item(m, it.val, false, w))
			return false;
	return true;
}

/* A call that an agent of ours ran, as a client has it: the model knows it as a call and its
 * result. */
static void put_ran(const struct th_json *item, struct th_jw *w)
{
	struct th_str id = th_json_get_str(item, "id"), output = th_json_get_str(item, "output");

	if (!output.ptr)
		output = th_json_get_str(item, "error");
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("function_call"));
	th_jw_kstr(w, "call_id", id);
	th_jw_kstr(w, "name", th_json_get_str(item, "name"));
	th_jw_kstr(w, "arguments", th_json_get_str(item, "arguments"));
	th_jw_object_end(w);
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("function_call_output"));
	th_jw_kstr(w, "call_id", id);
	th_jw_kstr(w, "output", output.ptr ? output : TH_STR(""));
	th_jw_object_end(w);
}

static bool is_ours(const struct th_json *item)
{
	return th_str_is(th_json_get_str(item, "server_label"), TH_REPLY_LABEL);
}

/* A part of type image with a blob is how a session keeps a picture that it has: a client gives
 * its own as input_image. */
static bool has_kept_part(const struct th_json *list)
{
	struct th_json_iter it = th_json_iter(list);

	while (th_json_is_array(list) && th_json_next(&it))
		if (th_str_is(th_json_get_str(it.val, "type"), "image"))
			return true;
	return false;
}

/* A call of a function in a namespace has the name that the model knows it by. */
static void put_plain(const struct th_json *item, struct th_jw *w)
{
	struct th_buf full TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_str space = th_json_get_str(item, "namespace");
	struct th_json_iter it = th_json_iter(item);
	struct th_item_name name;

	th_jw_object(w);
	if (!th_json_get_str(item, "type").len)
		th_jw_kstr(w, "type", TH_STR("message"));
	while (th_json_next(&it)) {
		if (th_str_is(it.key, "raw") || th_str_is(it.key, "namespace"))
			continue;
		/* A name of ours says nothing to a provider. */
		if (th_str_is(it.key, "id") && th_item_name_parse(th_json_str(it.val), &name))
			continue;
		th_jw_key(w, it.key);
		if (space.len && th_str_is(it.key, "name")) {
			th_function_full_name(space, th_json_str(it.val), &full);
			th_jw_str(w, th_buf_str(&full));
		} else {
			th_jw_json(w, it.val);
		}
	}
	th_jw_object_end(w);
}

static bool put_referenced(struct th_making *m, const struct th_json *item, struct th_jw *w)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str id = th_json_get_str(item, "id");
	struct thole_error err = { 0 };
	enum th_stored_result code =
	    th_stored_item(&m->access->needs, m->access->user, id, &text, &err);

	if (code == TH_STORED_PENDING) { /* the others are asked for, too */
		m->fault->pending = true;
		return true;
	}
	if (code == TH_STORED_FAILED && err.code != THOLE_ENOENT)
		return th_making_fault_api(m, &err);
	if (code == TH_STORED_FAILED || th_json_parse(th_buf_str(&text), &doc, NULL) != TH_OK) {
		m->fault->param = "input";
		return th_response_fault(m->fault, 404, "item_not_found",
					 "Item with id '%.*s' not found.",
					 (int)TH_MIN(id.len, (size_t)100), id.ptr);
	}
	return put_item(m, th_json_root(doc), true, w);
}

/*
 * Reasoning of ours that came without what its provider has sealed: many clients leave the rest to
 * whoever stored it.  It is looked up where a provider wants it back, in a loop of calls.
 */
static bool put_reasoning(struct th_making *m, const struct th_json *item, struct th_jw *w)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str id = th_json_get_str(item, "id");
	enum th_stored_result found = TH_STORED_FAILED;
	struct th_item_name name;
	struct thole_error err;

	if (m->in_turn && !th_json_get_str(item, "encrypted_content").len &&
	    th_item_name_parse(id, &name) && m->lookups++ < TH_SERVE_LOOKUPS_MAX)
		found = th_stored_item(&m->access->needs, m->access->user, id, &text, &err);
	m->fault->pending |= found == TH_STORED_PENDING;
	if (found == TH_STORED_FOUND && th_json_parse(th_buf_str(&text), &doc, NULL) == TH_OK)
		item = th_json_root(doc);
	put_plain(item, w);
	return true;
}

static bool put_item(struct th_making *m, const struct th_json *item, bool looked_up,
		     struct th_jw *w)
{
	struct th_str type = th_json_get_str(item, "type");
	bool bare = !type.len && th_json_get_str(item, "id").len > 0 && !th_json_get(item, "role");

	if (!looked_up && (bare || th_str_is(type, "item_reference")))
		return put_referenced(m, item, w);
	if (th_str_is(type, "compaction"))
		return put_packed(m, th_json_get_str(item, "encrypted_content"), w);
	if (th_making_put_tool_item(item, w))
		return true;
	if (th_str_is(type, "mcp_call") && is_ours(item)) {
		put_ran(item, w);
		return true;
	}
	/* A request for a decision is ours, and says nothing to a model. */
	if (th_str_is(type, "mcp_approval_request") && is_ours(item))
		return true;
	if (!looked_up && (has_kept_part(th_json_get(item, "content")) ||
			   has_kept_part(th_json_get(item, "output")))) {
		m->fault->param = th_face_is_responses(m->face) ? "input" : "messages";
		return th_response_fault(m->fault, 400, "invalid_value",
					 "a picture is a part of type input_image with an "
					 "image_url (image with a source of base64 or url in "
					 "Messages)");
	}
	if (!looked_up && th_str_is(type, "reasoning"))
		return put_reasoning(m, item, w);
	put_plain(item, w);
	return true;
}

/* How many of them stand up to the last message of the user. */
static size_t before_turn(const struct th_json *items)
{
	struct th_json_iter it = th_json_iter(items);
	size_t count = 0;

	while (th_json_next(&it))
		if (th_str_is(th_json_get_str(it.val, "role"), "user"))
			count = it.index + 1;
	return count;
}

bool th_making_read_items(struct th_making *m)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_iter it = th_json_iter(th_json_get(m->u, "items"));
	size_t before = before_turn(th_json_get(m->u, "items"));
	struct th_jw w = th_jw(&text);
	struct th_err err = {};

	th_jw_array(&w);
	while (th_json_next(&it)) {
		m->in_turn = it.index >= before;
		if (!put_item(m, it.val, false, &w))
			return false;
	}
	th_jw_array_end(&w);
	if (m->fault->pending)
		return false;
	if (th_buf_check(&text, "the input", &err) != TH_OK ||
	    th_json_parse(th_buf_str(&text), &m->given, &err) != TH_OK)
		return th_response_fault(m->fault, 413, NULL, "%s", err.msg);
	m->items = th_json_root(m->given);
	return true;
}

/* ---- all of them ---- */

bool th_conversation_note(const struct th_json *item)
{
	return th_str_is(th_json_get_str(item, "type"), "conversation");
}

static bool only_decides(const struct th_json *item)
{
	return th_str_is(th_json_get_str(item, "type"), "mcp_approval_response");
}

void th_making_put_items(struct th_making *m, struct th_jw *w)
{
	struct th_json_iter it = th_json_iter(m->items);

	while (th_json_next(&it))
		if (!only_decides(it.val))
			th_jw_json(w, it.val);
}

void th_making_put_instructions(struct th_making *m, struct th_jw *w)
{
	struct th_str text = th_json_get_str(m->u, "instructions");

	/* What a compaction gives has none: they come with each request. */
	if (!text.len || m->face->put ||
	    !th_served_find(&m->server->agents, th_json_get_str(m->u, "model")))
		return;
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("message"));
	th_jw_kstr(w, "role", TH_STR("developer"));
	th_jw_kstr(w, "content", text);
	th_jw_object_end(w);
}

struct th_str th_making_text(const struct th_json *output, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(output);

	th_buf_clear(out);
	if (th_json_type(output) == TH_JSON_STR)
		return th_json_str(output);
	while (th_json_next(&it)) {
		struct th_str text = th_json_get_str(it.val, "text");

		th_buf_add(out, text.len ? text : TH_STR("[a part that is no text was left out]"));
		th_buf_add_char(out, '\n');
	}
	return th_buf_str(out);
}

/* ---- calls and results ---- */

bool th_making_is_result(const struct th_json *item)
{
	struct th_str type = th_json_get_str(item, "type");

	return th_str_is(type, "function_call_output") ||
	       th_str_is(type, "custom_tool_call_output");
}

static bool has_call(const struct th_json *items, struct th_str call_id)
{
	struct th_json_iter it = th_json_iter(items);

	while (th_json_next(&it))
		if (th_str_eq(th_json_get_str(it.val, "call_id"), call_id) &&
		    th_str_ends(th_json_get_str(it.val, "type"), TH_STR("_call")))
			return true;
	return false;
}

static bool has_result(const struct th_json *items, const char *call_id)
{
	struct th_json_iter it = th_json_iter(items);

	while (th_json_next(&it))
		if (th_making_is_result(it.val) &&
		    th_str_is(th_json_get_str(it.val, "call_id"), call_id))
			return true;
	return false;
}

bool th_making_check_results(struct th_making *m, const struct th_reply *before)
{
	struct th_json_iter it = th_json_iter(m->items);

	m->fault->param = "input";
	while (th_json_next(&it)) {
		struct th_str call_id = th_json_get_str(it.val, "call_id");
		bool known = has_call(m->items, call_id);

		for (size_t i = 0; before && i < before->open_count; i++)
			known |= th_str_is(call_id, before->open[i].call_id);
		if (th_making_is_result(it.val) && !known)
			return th_response_fault(
			    m->fault, 400, NULL,
			    "No tool call found for function call output with call_id %.*s.",
			    (int)TH_MIN(call_id.len, (size_t)100), call_id.ptr);
	}
	for (size_t i = 0; before && i < before->open_count; i++)
		if (before->open[i].client && !has_result(m->items, before->open[i].call_id))
			return th_response_fault(m->fault, 400, NULL,
						 "No tool output found for function call %s.",
						 before->open[i].call_id);
	m->fault->param = NULL;
	return true;
}
