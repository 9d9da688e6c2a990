/* SPDX-License-Identifier: Apache-2.0 */
/*
 * back.c - items of an answer as input of the next request: the
 * bytes that came, but for members that the API gives and does not take, and
 * without reasoning that it would refuse.
 */
#include "base/limits.h"
#include "events/native.h"
#include "model_wire/format.h"
#include "model_wire/seal.h"
#include "openai_responses/writer.h"

#define ID_MAX 64 /* characters of an id that the API takes */

/* Kinds that the API reads strictly, and how their ids begin. */
struct item_kind {
	const char *type, *id;
	bool id_required;
};

static const struct item_kind item_kinds[] = {
	{ "message", "msg", false },      { "reasoning", "rs", false },
	{ "function_call", "fc", false }, { "custom_tool_call", "ctc", false },
	{ "computer_call", "cu", true },
};

/* Members that only the API's own items have, and that it does not take back. */
#define GIVEN_ONLY "created_by"

static const struct item_kind *item_kind(struct th_str type)
{
	for (size_t i = 0; i < TH_COUNT(item_kinds); i++)
		if (th_str_is(type, item_kinds[i].type))
			return &item_kinds[i];
	return NULL;
}

bool th_writer_is_empty_list(struct th_str raw)
{
	struct th_json_raw_iter it = th_json_raw_iter(raw);

	return raw.len && raw.ptr[0] == '[' && !th_json_raw_next(&it);
}

static bool is_reasoning(struct th_str item)
{
	return th_str_is(th_writer_raw_str(item, "type"), "reasoning");
}

/* Whether the server can read it.  A mere summary names something that it had to keep. */
static bool is_readable(const struct th_request_options *o, struct th_str reasoning)
{
	struct th_str content = th_json_raw_get(reasoning, "content");
	struct th_str sealed = th_writer_raw_str(reasoning, "encrypted_content");

	/* OpenAI's own takes no text for what it has not sealed. */
	if (th_seal_is_own(sealed)) /* another API's */
		return false;
	return th_request_stores(o) || sealed.len ||
	       (!o->profile->strict && content.len && content.ptr[0] == '[' &&
		!th_writer_is_empty_list(content));
}

/* Said by the model, not to it. */
static bool is_output(struct th_str item)
{
	struct th_str type = th_writer_raw_str(item, "type"),
		      role = th_writer_raw_str(item, "role");

	if (th_str_is(type, "tool_search_output"))
		return th_str_is(th_writer_raw_str(item, "execution"), "server");
	return (!role.len || th_str_is(role, "assistant")) &&
	       !th_str_ends(type, TH_STR("_call_output"));
}

/* What an item's neighbours in its answer ask of it. */
struct place {
	bool followed; /* by an item that is no reasoning */
	bool orphaned; /* the reasoning right before it cannot go back */
};

static struct place place_of(const struct th_request_options *o, struct th_str items,
			     struct th_str item)
{
	struct th_json_raw_iter it = th_json_raw_iter(items);
	struct th_str before = { NULL, 0 };
	struct place p = { .followed = true };

	while (th_json_raw_next(&it)) {
		if (it.val.ptr != item.ptr) {
			before = it.val;
			continue;
		}
		p.orphaned = is_reasoning(before) && !is_readable(o, before);
		do {
			p.followed = th_json_raw_next(&it);
		} while (p.followed && is_reasoning(it.val));
		p.followed = p.followed && is_output(it.val);
		break;
	}
	return p;
}

static bool is_status(struct th_str raw)
{
	return th_str_eq(raw, TH_STR("\"completed\"")) ||
	       th_str_eq(raw, TH_STR("\"in_progress\"")) ||
	       th_str_eq(raw, TH_STR("\"incomplete\""));
}

static bool is_good_id(const struct item_kind *kind, struct th_str raw)
{
	struct th_str id = raw.len >= 2 ? th_str_sub(raw, 1, raw.len - 2) : raw;

	return raw.len && raw.ptr[0] == '"' && id.len <= ID_MAX &&
	       th_str_starts(id, th_str_of(kind->id));
}

/* Members that are given but not taken. */
static bool is_kept(const struct th_profile *p, const struct item_kind *kind, bool orphaned,
		    struct th_str key, struct th_str val)
{
	if (th_str_eq(val, TH_STR("null")))
		return false;
	if (th_str_is(key, "function") || th_str_is(key, "said") || th_str_is(key, "error"))
		return false; /* dialects/browser_words.h */
	if (th_str_is(key, "pending_safety_checks"))
		return !th_writer_is_empty_list(val);
	if (th_str_is(key, "status"))
		return is_status(val);
	if (th_str_is(key, "id")) /* an id recalls the reasoning before it */
		return !orphaned && (!p->strict || is_good_id(kind, val));
	return true;
}

static bool is_id_char(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-';
}

/* A call goes back as the model said it (dialects/browser_words.h). */
static struct th_str as_said(struct th_str item, struct th_str key, struct th_str val)
{
	bool name = th_str_is(key, "name");
	struct th_str said;

	if (!name && !th_str_is(key, "arguments"))
		return val;
	/* Few calls were, so the text is looked at before its members are. */
	if (th_str_find(item, TH_STR("\"said\":")) < 0)
		return val;
	said = th_json_raw_get(item, name ? "function" : "said");
	return said.len && said.ptr[0] == '"' ? said : val;
}

static void put_item(struct th_group_writer *x, struct th_str item, const struct item_kind *kind,
		     bool orphaned)
{
	struct th_json_raw_iter it = th_json_raw_iter(item);
	bool id = !kind->id_required;

	th_jw_object(&x->w);
	while (th_json_raw_next(&it)) {
		if (!is_kept(x->o->profile, kind, orphaned, it.key, it.val))
			continue;
		id = id || th_str_is(it.key, "id");
		th_jw_raw(&x->w, TH_STR("\""));
		th_buf_add(x->w.out, it.key);
		th_buf_add(x->w.out, TH_STR("\":"));
		th_buf_add(x->w.out, as_said(item, it.key, it.val));
	}
	if (!id) { /* any id of the right form will do */
		struct th_str call_id = th_writer_raw_str(item, "call_id");

		th_jw_key(&x->w, TH_STR("id"));
		th_jw_raw(&x->w, TH_STR("\""));
		th_buf_add_cstr(x->w.out, kind->id);
		th_buf_add_char(x->w.out, '_');
		if (call_id.len > ID_MAX - 8)
			call_id = th_str_sub(call_id, call_id.len - (ID_MAX - 8), call_id.len);
		for (size_t i = 0; i < call_id.len; i++)
			th_buf_add_char(x->w.out,
					is_id_char(call_id.ptr[i]) ? call_id.ptr[i] : '_');
		th_buf_add_char(x->w.out, '"');
	}
	th_jw_object_end(&x->w);
}

static const struct th_tool_native *native_tool(const struct th_request_options *o,
						enum th_native kind)
{
	for (size_t i = 0; i < o->tool_count; i++)
		if (o->tools[i].native && o->tools[i].native->kind == kind)
			return o->tools[i].native;
	return NULL;
}

/* The operation of such a call, in `a`; .ptr NULL: it is none. */
static struct th_str patch_of(const struct th_group_writer *x, struct th_str item,
			      struct th_arena *a)
{
	struct th_str type, ret = { NULL, 0 };
	struct th_json_doc *doc = NULL;

	if (!native_tool(x->o, TH_NATIVE_PATCH))
		return ret;
	type = th_writer_raw_str(item, "type");
	if ((!th_str_is(type, "function_call") && !th_str_is(type, "custom_tool_call")) ||
	    !th_str_ieq(th_writer_raw_str(item, "name"), TH_STR("apply_patch")) ||
	    th_json_parse(item, &doc, NULL))
		return ret;
	if (th_native_of(th_json_root(doc), a) == TH_NATIVE_PATCH)
		ret = th_native_operation(th_json_root(doc), a);
	th_json_free(doc);
	return ret;
}

bool th_writer_patch_called(struct th_group_writer *x, struct th_str item)
{
	struct th_arena a;
	bool ret;

	th_arena_init(&a, TH_TURN_MEMORY_MAX);
	ret = patch_of(x, item, &a).ptr;
	th_arena_deinit(&a);
	return ret;
}

static bool put_patch(struct th_group_writer *x, struct th_str item)
{
	struct th_arena a;
	struct th_str operation;

	th_arena_init(&a, TH_TURN_MEMORY_MAX);
	operation = patch_of(x, item, &a);
	if (operation.ptr) {
		th_jw_object(&x->w);
		th_jw_kstr(&x->w, "type", TH_STR("apply_patch_call"));
		th_jw_kraw(&x->w, "call_id", th_json_raw_get(item, "call_id"));
		th_jw_kraw(&x->w, "operation", operation);
		th_jw_object_end(&x->w);
	}
	th_arena_deinit(&a);
	return operation.ptr;
}

/* As it came, but for who made it. */
static void put_given(struct th_group_writer *x, struct th_str item)
{
	struct th_json_raw_iter it = th_json_raw_iter(item);

	if (!th_json_raw_get(item, GIVEN_ONLY).len) {
		th_jw_raw(&x->w, item);
		return;
	}
	th_jw_object(&x->w);
	while (th_json_raw_next(&it)) {
		if (th_str_is(it.key, GIVEN_ONLY))
			continue;
		th_jw_raw(&x->w, TH_STR("\""));
		th_buf_add(x->w.out, it.key);
		th_buf_add(x->w.out, TH_STR("\":"));
		th_buf_add(x->w.out, it.val);
	}
	th_jw_object_end(&x->w);
}

enum th_code th_writer_item(struct th_group_writer *x, struct th_str items, struct th_str item)
{
	struct th_str type = th_writer_raw_str(item, "type");
	const struct item_kind *kind = item_kind(type);
	struct place place = place_of(x->o, items, item);

	if (!item.len || item.ptr[0] != '{')
		return th_fail(x->err, TH_EPROTO, "an item must be an object");
	if (!kind)
		put_given(x, item);
	else if (put_patch(x, item))
		return TH_OK;
	else if (!th_str_is(type, "reasoning") || (is_readable(x->o, item) && place.followed))
		put_item(x, item, kind, place.orphaned);
	return TH_OK;
}
