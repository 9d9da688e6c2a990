/* SPDX-License-Identifier: Apache-2.0 */
#include "openai_chat/message.h"

#include "base/json.h"
#include "base/limits.h"

enum kind { NOTHING, RAW, TEXT, LIST, OBJECT };

struct th_chat_node {
	enum kind kind;
	struct th_str key; /* raw; of a member */
	int64_t index;     /* of a list's element, as it says; -1: it does not */
	size_t count;
	struct th_buf text; /* RAW: JSON; TEXT: the inside of a string */
	struct th_chat_node *first, *last, *next;
};

void th_chat_message_init(struct th_chat_message *m)
{
	*m = (struct th_chat_message){ 0 };
	th_arena_init(&m->arena, TH_ANSWER_MAX);
}

static void node_clear(struct th_chat_message *m, struct th_chat_node *n)
{
	for (struct th_chat_node *c = n->first; c; c = c->next)
		node_clear(m, c);
	m->size -= n->text.len;
	th_buf_deinit(&n->text);
	n->first = n->last = NULL;
	n->count = 0;
}

void th_chat_message_deinit(struct th_chat_message *m)
{
	if (m->root)
		node_clear(m, m->root);
	th_arena_deinit(&m->arena);
	*m = (struct th_chat_message){ 0 };
}

/* NULL when over a maximum. */
static struct th_chat_node *node_new(struct th_chat_message *m, struct th_str key)
{
	struct th_chat_node *n = m->failed ? NULL : TH_NEW(&m->arena, struct th_chat_node);

	if (n)
		n->key = th_arena_str(&m->arena, key);
	if (!n || !n->key.ptr) {
		m->failed = true;
		return NULL;
	}
	n->index = -1;
	th_buf_init(&n->text, TH_ANSWER_MAX);
	return n;
}

static struct th_chat_node *append(struct th_chat_message *m, struct th_chat_node *to,
				   struct th_str key, size_t max)
{
	struct th_chat_node *n = to->count < max ? node_new(m, key) : NULL;

	if (!n) {
		m->failed = true;
		return NULL;
	}
	if (to->last)
		to->last->next = n;
	else
		to->first = n;
	to->last = n;
	to->count++;
	return n;
}

static struct th_chat_node *find(const struct th_chat_node *object, struct th_str key)
{
	struct th_chat_node *n = object->kind == OBJECT ? object->first : NULL;

	while (n && !th_str_eq(n->key, key))
		n = n->next;
	return n;
}

static void add_text(struct th_chat_message *m, struct th_chat_node *n, struct th_str s)
{
	if (s.len > TH_ANSWER_MAX - m->size) {
		m->failed = true;
		return;
	}
	m->size += s.len;
	th_buf_add(&n->text, s);
}

/* From now on of this kind; what it was of another is forgotten. */
static void become(struct th_chat_message *m, struct th_chat_node *n, enum kind kind)
{
	if (n->kind != kind)
		node_clear(m, n);
	n->kind = kind;
}

static void set_text(struct th_chat_message *m, struct th_chat_node *n, enum kind kind,
		     struct th_str s)
{
	become(m, n, kind);
	m->size -= n->text.len;
	th_buf_clear(&n->text);
	add_text(m, n, s);
}

static struct th_str raw_str(struct th_str object, const char *key)
{
	return th_json_raw_inside(th_json_raw_get(object, key));
}

static struct th_str text_of(const struct th_chat_node *object, const char *key)
{
	const struct th_chat_node *n = find(object, th_str_of(key));

	return n && n->kind == TEXT ? th_buf_str(&n->text) : (struct th_str){ NULL, 0 };
}

static int64_t index_of(struct th_str object)
{
	int64_t v;

	return th_str_i64(th_json_raw_get(object, "index"), &v) && v >= 0 ? v : -1;
}

static bool is_in(struct th_str key, const char *const *names)
{
	for (; *names; names++)
		if (th_str_is(key, *names))
			return true;
	return false;
}

/* Of the message itself everything is joined but these; further down, only those. */
static const char *const said_whole[] = { "role", "channel", "name",   "type",
					  "id",   "object",  "status", NULL };
static const char *const said_in_pieces[] = { "arguments",  "input",   "text",     "data",
					      "transcript", "summary", "thinking", NULL };

static bool is_joined(struct th_str key, int depth)
{
	return depth == 0 ? !is_in(key, said_whole) : is_in(key, said_in_pieces);
}

/* Names and ids of what is inside: the first counts, some servers make up a new one each time. */
static bool is_kept(struct th_str key, int depth)
{
	return depth > 0 && (th_str_is(key, "id") || th_str_is(key, "name"));
}

static struct th_str add_object(struct th_chat_message *m, struct th_chat_node *n,
				struct th_str raw, int depth);
static void add_part(struct th_chat_message *m, struct th_chat_node *list, struct th_str raw,
		     int depth);

static void add_string(struct th_chat_message *m, struct th_chat_node *n, struct th_str raw,
		       int depth)
{
	struct th_str s = th_json_raw_inside(raw);

	if (n->kind == LIST) { /* a text after parts */
		struct th_buf part = TH_BUF_INIT(TH_ANSWER_MAX + TH_KIB);

		th_buf_add(&part, TH_STR("{\"type\":\"text\",\"text\":"));
		th_buf_add(&part, raw);
		th_buf_add_char(&part, '}');
		if (s.len)
			add_part(m, n, th_buf_str(&part), depth);
		th_buf_deinit(&part);
	} else if (n->kind == TEXT && is_joined(n->key, depth)) {
		add_text(m, n, s);
	} else if (n->kind != TEXT || (s.len && (!n->text.len || !is_kept(n->key, depth)))) {
		set_text(m, n, TEXT, s);
	}
}

/* ---- lists ---- */

/* Which call a fragment belongs to; NULL: a new one. */
static struct th_chat_node *find_call(const struct th_chat_node *list, struct th_str raw)
{
	struct th_str id = raw_str(raw, "id"), name = raw_str(raw, "name");
	struct th_chat_node *found = NULL, *same_id = NULL;
	int64_t index = index_of(raw);

	if (!name.len)
		name = raw_str(th_json_raw_get(raw, "function"), "name");
	if (!name.len)
		name = raw_str(th_json_raw_get(raw, "custom"), "name");
	for (struct th_chat_node *n = list->first; n; n = n->next) {
		if (index >= 0 && n->index == index)
			found = n;
		if (id.len && th_str_eq(text_of(n, "id"), id))
			same_id = n;
	}
	if (index >= 0) {
		struct th_str has = found ? text_of(found, "id") : TH_STR("");

		return id.len && has.len && name.len && !th_str_eq(id, has) ? NULL : found;
	}
	if (same_id || !list->last)
		return same_id;
	if (!name.len)
		return list->last;
	found = find(list->last, TH_STR("function"));
	return id.len || (found && text_of(found, "name").len) ? NULL : list->last;
}

static struct th_chat_node *find_detail(const struct th_chat_node *list, struct th_str raw)
{
	struct th_str type = raw_str(raw, "type");
	int64_t index = index_of(raw);

	for (struct th_chat_node *n = list->first; n && index >= 0; n = n->next)
		if (n->index == index && (!type.len || th_str_eq(text_of(n, "type"), type)))
			return n;
	return NULL;
}

static void add_found(struct th_chat_message *m, struct th_chat_node *list,
		      struct th_chat_node *found, struct th_str raw, size_t max, int depth)
{
	struct th_chat_node *n = found ? found : append(m, list, TH_STR(""), max);

	if (!n)
		return;
	if (!found)
		n->index = index_of(raw);
	add_object(m, n, raw, depth);
}

/* A part of a content list: pieces of a text follow each other. */
static void add_part(struct th_chat_message *m, struct th_chat_node *list, struct th_str raw,
		     int depth)
{
	struct th_str type = raw_str(raw, "type");
	bool grows = th_str_is(type, "text") || th_str_is(type, "thinking");
	struct th_chat_node *last = list->last;

	if (!grows || !last || !th_str_eq(text_of(last, "type"), type))
		last = NULL;
	add_found(m, list, last, raw, TH_ANSWER_ITEMS_MAX, depth + 1);
}

static void add_element(struct th_chat_message *m, struct th_chat_node *list, struct th_str raw,
			int depth)
{
	struct th_chat_node *n;

	if (raw.ptr[0] == '{' && depth == 0 && th_str_is(list->key, "tool_calls")) {
		add_found(m, list, find_call(list, raw), raw, TH_CALLS_MAX + 1, 1);
	} else if (raw.ptr[0] == '{' && depth == 0 && th_str_is(list->key, "reasoning_details")) {
		add_found(m, list, find_detail(list, raw), raw, TH_CALLS_MAX, 1);
	} else if (raw.ptr[0] == '{' &&
		   (th_str_is(list->key, "content") || th_str_is(list->key, "thinking"))) {
		add_part(m, list, raw, depth);
	} else {
		n = append(m, list, TH_STR(""), TH_ANSWER_ITEMS_MAX);
		if (n)
			set_text(m, n, RAW, raw);
	}
}

static void add_list(struct th_chat_message *m, struct th_chat_node *n, struct th_str raw,
		     int depth)
{
	struct th_json_raw_iter it = th_json_raw_iter(raw);

	if (n->kind == TEXT && n->text.len) { /* a text before parts */
		struct th_buf text = TH_BUF_INIT(TH_ANSWER_MAX + TH_KIB);

		th_buf_add_char(&text, '"');
		th_buf_add(&text, th_buf_str(&n->text));
		th_buf_add_char(&text, '"');
		become(m, n, LIST);
		add_string(m, n, th_buf_str(&text), depth);
		th_buf_deinit(&text);
	}
	become(m, n, LIST);
	while (!m->failed && th_json_raw_next(&it))
		if (it.val.len)
			add_element(m, n, it.val, depth);
}

/* ---- values ---- */

static void add_value(struct th_chat_message *m, struct th_chat_node *n, struct th_str raw,
		      int depth)
{
	char c = raw.len ? raw.ptr[0] : 'n';

	if (c == '"') {
		add_string(m, n, raw, depth);
	} else if (c == 'n') {
		if (n->kind == NOTHING)
			set_text(m, n, RAW, TH_STR("null"));
	} else if (depth >= TH_CHAT_DEPTH_MAX || (c != '{' && c != '[') ||
		   (c == '{' && th_str_is(n->key, "arguments"))) {
		set_text(m, n, RAW, raw);
	} else if (c == '[') {
		add_list(m, n, raw, depth);
	} else {
		add_object(m, n, raw, depth + 1);
	}
}

/* `depth` is that of the members. */
static struct th_str add_object(struct th_chat_message *m, struct th_chat_node *n,
				struct th_str raw, int depth)
{
	struct th_json_raw_iter it = th_json_raw_iter(raw);
	struct th_str rest = it.rest;

	become(m, n, OBJECT);
	while (!m->failed && th_json_raw_next(&it)) {
		struct th_chat_node *member = find(n, it.key);

		if (!member)
			member = append(m, n, it.key, TH_CHAT_MEMBERS_MAX);
		if (member)
			add_value(m, member, it.val, depth);
		rest = it.rest;
	}
	return rest;
}

struct th_str th_chat_message_add(struct th_chat_message *m, struct th_str delta)
{
	if (!m->root)
		m->root = node_new(m, TH_STR(""));
	return m->root ? add_object(m, m->root, delta, 0) : delta;
}

/* ---- printing ---- */

static void print(const struct th_chat_node *n, struct th_buf *out)
{
	switch (n->kind) {
	case NOTHING:
		th_buf_add(out, TH_STR("null"));
		return;
	case RAW:
		th_buf_add(out, th_buf_str(&n->text));
		return;
	case TEXT:
		th_buf_add_char(out, '"');
		th_buf_add(out, th_buf_str(&n->text));
		th_buf_add_char(out, '"');
		return;
	case LIST:
	case OBJECT:
		break;
	}
	th_buf_add_char(out, n->kind == LIST ? '[' : '{');
	for (const struct th_chat_node *c = n->first; c; c = c->next) {
		if (c != n->first)
			th_buf_add_char(out, ',');
		if (n->kind == OBJECT) {
			th_buf_add_char(out, '"');
			th_buf_add(out, c->key);
			th_buf_add(out, TH_STR("\":"));
		}
		print(c, out);
	}
	th_buf_add_char(out, n->kind == LIST ? ']' : '}');
}

void th_chat_message_print(const struct th_chat_message *m, struct th_buf *out)
{
	if (m->root)
		print(m->root, out);
	else
		th_buf_add(out, TH_STR("{}"));
}
