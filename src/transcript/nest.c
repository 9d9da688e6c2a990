/* SPDX-License-Identifier: Apache-2.0 */
#include "transcript/nest.h"

#define PREAMBLE \
	"For context, here is the conversation so far between the user and the previous agent:"
#define OLD_PREAMBLE "For context, here is the conversation so far:" /* of earlier SDKs */
#define NOTHING "(no previous turns recorded)"

/* What takes the items of the history one by one. */
struct nesting {
	const struct th_nest_markers *markers;
	bool transcript; /* as a list of items, else as messages */
	size_t run_at, turn_at;
	struct th_buf text; /* of the message that is being written, */
	size_t records;     /* and how many it has */
	struct th_buf *out;
	struct th_jw w;
	struct th_err *err;
};

/* ---- records ----------------------------------------------------------------------------- */

static void put_without(struct th_jw *w, const struct th_json *item, const char *member)
{
	struct th_json_iter it = th_json_iter(item);

	th_jw_object(w);
	while (th_json_next(&it)) {
		if (th_str_is(it.key, member))
			continue;
		th_jw_key(w, it.key);
		th_jw_json(w, it.val);
	}
	th_jw_object_end(w);
}

/* What somebody said in one line as he said it, anything else as JSON, which is one line, too. */
static void put_record(struct nesting *n, const struct th_json *item)
{
	struct th_str role = th_json_get_str(item, "role"), name = th_json_get_str(item, "name");
	const struct th_json *content = th_json_get(item, "content");
	struct th_str said = th_json_str(content);
	struct th_jw w = th_jw(&n->text);
	bool plain = role.ptr && (th_json_is_null(content) || said.ptr) &&
		     th_str_find_char(said, '\n') < 0 && th_str_find_char(said, '\r') < 0;

	th_buf_printf(&n->text, "%zu. ", ++n->records);
	if (plain) {
		th_buf_add(&n->text, role);
		if (name.len) {
			th_buf_add_cstr(&n->text, " (");
			th_buf_add(&n->text, name);
			th_buf_add_cstr(&n->text, ")");
		}
		th_buf_add_cstr(&n->text, ": ");
		th_buf_add(&n->text, said);
	} else {
		put_without(&w, item, "provider_data");
	}
	th_buf_add_cstr(&n->text, "\n");
}

/* The message that was being written is complete. */
static void put_message(struct nesting *n)
{
	struct th_buf *content = &n->text;
	struct th_buf whole;

	th_buf_init_try(&whole, content->max);
	th_buf_add_cstr(&whole, PREAMBLE "\n");
	th_buf_add(&whole, n->markers->start);
	th_buf_add_cstr(&whole, "\n");
	th_buf_add(&whole, n->records ? th_buf_str(content) : TH_STR(NOTHING "\n"));
	th_buf_add(&whole, n->markers->end);
	th_jw_object(&n->w);
	th_jw_kstr(&n->w, "role", TH_STR("assistant"));
	th_jw_kstr(&n->w, "content", th_buf_str(&whole));
	th_jw_object_end(&n->w);
	content->failed |= whole.failed;
	content->no_memory |= whole.no_memory;
	th_buf_deinit(&whole);
	if (!content->failed)
		th_buf_clear(content);
	n->records = 0;
}

/* ---- nested histories -------------------------------------------------------------------- */

/* What stands between the markers; false: it is no nested history. */
static bool records_of(const struct nesting *n, const struct th_json *item, struct th_str *ret)
{
	struct th_str start = n->markers->start, end = n->markers->end;
	struct th_str text = th_json_get_str(item, "content"), first;

	if (!th_str_is(th_json_get_str(item, "role"), "assistant") || !text.ptr)
		return false;
	first = th_str_split(&text, '\n');
	if ((!th_str_is(first, PREAMBLE) && !th_str_is(first, OLD_PREAMBLE)) ||
	    text.len < start.len + 1 + end.len || !th_str_starts(text, start) ||
	    text.ptr[start.len] != '\n' || !th_str_ends(text, end) ||
	    text.ptr[text.len - end.len - 1] != '\n')
		return false;
	*ret = th_str_sub(text, start.len + 1, 0);
	if (text.len > start.len + 1 + end.len)
		*ret = th_str_sub(text, start.len + 1, text.len - start.len - end.len - 2);
	return true;
}

/* "12. "; 0: the line has no number. */
static size_t number_of(struct th_str line)
{
	size_t digits = 0;

	while (digits < line.len && line.ptr[digits] >= '0' && line.ptr[digits] <= '9')
		digits++;
	return digits && digits < line.len && line.ptr[digits] == '.' ? digits + 1 : 0;
}

static bool is_role(struct th_str s)
{
	return th_str_is(s, "user") || th_str_is(s, "assistant") || th_str_is(s, "system") ||
	       th_str_is(s, "developer");
}

/* "user (bob)" has a name. */
static struct th_str split_name(struct th_str role, struct th_str *ret_name)
{
	*ret_name = TH_STR("");
	for (size_t i = role.len; i > 0 && role.ptr[role.len - 1] == ')'; i--) {
		struct th_str name;

		if (role.ptr[i - 1] != '(')
			continue;
		name = th_str_trim(th_str_sub(role, i, role.len - i - 1));
		if (!name.len)
			break;
		*ret_name = name;
		role = th_str_trim(th_str_sub(role, 0, i - 1));
		break;
	}
	return role;
}

/* "TYPE: {…}", as earlier SDKs told items that nobody said. */
static bool put_typed(struct th_jw *w, struct th_str type, const struct th_json *rest)
{
	struct th_json_iter it = th_json_iter(rest);

	if (is_role(type) || !th_json_is_object(rest))
		return false;
	th_jw_object(w);
	while (th_json_next(&it)) {
		if (th_str_is(it.key, "type"))
			continue;
		th_jw_key(w, it.key);
		th_jw_json(w, it.val);
	}
	th_jw_kstr(w, "type", type);
	th_jw_object_end(w);
	return true;
}

/* The item that "ROLE: CONTENT" means; false: it means none. */
static bool put_said(struct th_jw *w, struct th_str line)
{
	ptrdiff_t colon = th_str_find_char(line, ':');
	struct th_str head = th_str_trim(th_str_sub(line, 0, colon < 0 ? line.len : (size_t)colon));
	struct th_str content = TH_STR(""), name, role = split_name(head, &name);
	struct th_json_doc *doc = NULL;
	bool done;

	if (colon >= 0)
		content = th_str_trim(th_str_sub(line, (size_t)colon + 1, line.len));
	if (!head.len || (colon < 0 && !is_role(role)))
		return false;
	if (content.len && content.ptr[0] == '{' && th_json_try_parse(content, &doc, NULL))
		doc = NULL;
	done = doc && put_typed(w, head, th_json_root(doc));
	th_json_free(doc);
	if (done)
		return true;
	th_jw_object(w);
	th_jw_kstr(w, "role", role.len ? role : TH_STR("developer"));
	if (name.len)
		th_jw_kstr(w, "name", name);
	th_jw_kstr(w, "content", content);
	th_jw_object_end(w);
	return true;
}

/* One record of a nested history is a record of this one. */
static enum th_code unfold_record(struct nesting *n, struct th_str record)
{
	struct th_json_doc *doc = NULL;
	struct th_buf item;
	struct th_jw w;
	enum th_code code = TH_OK;

	record = th_str_trim(record);
	record = th_str_trim(th_str_sub(record, number_of(record), record.len));
	if (record.len && record.ptr[0] == '{' && !th_json_try_parse(record, &doc, NULL)) {
		if (n->transcript)
			put_without(&n->w, th_json_root(doc), "provider_data");
		else
			put_record(n, th_json_root(doc));
		th_json_free(doc);
		return TH_OK;
	}
	if (n->transcript) {
		(void)put_said(&n->w, record);
		return TH_OK;
	}
	th_buf_init_try(&item, n->text.max);
	w = th_jw(&item);
	if (put_said(&w, record)) {
		code = th_buf_check(&item, "a record of the history", n->err)
			   ?: th_json_try_parse(th_buf_str(&item), &doc, n->err);
		if (!code)
			put_record(n, th_json_root(doc));
		th_json_free(doc);
	}
	th_buf_deinit(&item);
	return code;
}

/* A line without a number goes on with the record before it. */
static enum th_code unfold(struct nesting *n, struct th_str text)
{
	struct th_str record = TH_STR("");
	enum th_code code = TH_OK;

	while (text.len && !code) {
		struct th_str line = th_str_split(&text, '\n');
		struct th_str bare = th_str_trim(line);

		if (!bare.len)
			continue;
		if (record.len && number_of(th_str_trim(record)) && !number_of(bare)) {
			record.len = (size_t)(line.ptr + line.len - record.ptr);
			continue;
		}
		if (record.len)
			code = unfold_record(n, record);
		record = line;
	}
	return !code && record.len ? unfold_record(n, record) : code;
}

/* ---- all of it --------------------------------------------------------------------------- */

static bool is_program(const struct th_json *item)
{
	struct th_str type = th_json_get_str(item, "type");

	return th_str_is(type, "program") || th_str_is(type, "program_output") ||
	       th_str_is(th_json_get_str(th_json_get(item, "caller"), "type"), "program");
}

/* `turn`: it is of the turn under way. */
static bool is_forwarded(const struct th_json *item, bool turn)
{
	struct th_str type = th_json_get_str(item, "type"), role = th_json_get_str(item, "role");

	if (is_program(item))
		return false;
	if (turn && role.len)
		return true;
	return !th_str_is(role, "assistant") && !th_str_is(type, "function_call") &&
	       !th_str_is(type, "function_call_output") && !th_str_is(type, "reasoning");
}

static void put_mark(struct nesting *n, const struct th_transcript_item *item)
{
	if (n->records || n->out->len <= 1) /* the list's bracket */
		put_message(n);
	th_jw_array(&n->w);
	th_jw_uint(&n->w, item->seq);
	th_jw_uint(&n->w, item->index);
	th_jw_array_end(&n->w);
}

static enum th_code take(struct nesting *n, const struct th_transcript *transcript, size_t i,
			 struct th_buf *text)
{
	struct th_jw w = th_jw(text);
	struct th_json_doc *doc = NULL;
	const struct th_json *item;
	struct th_str records;
	enum th_code code;

	th_buf_clear(text);
	th_transcript_print(&transcript->list[i], &w);
	code = th_buf_check(text, "an item of the history", n->err)
		   ?: th_json_try_parse(th_buf_str(text), &doc, n->err);
	if (code)
		return code;
	item = th_json_root(doc);
	if (i < n->run_at && records_of(n, item, &records))
		code = unfold(n, records);
	else if (n->transcript)
		th_jw_json(&n->w, item);
	else if (i >= n->run_at && is_forwarded(item, i >= n->turn_at))
		put_mark(n, &transcript->list[i]);
	else
		put_record(n, item);
	th_json_free(doc);
	return code;
}

static enum th_code take_all(struct nesting *n, const struct th_transcript *transcript)
{
	struct th_buf item;
	enum th_code code = TH_OK;

	n->w = th_jw(n->out);
	n->run_at = th_transcript_run_at(transcript);
	n->turn_at = th_transcript_turn_at(transcript);
	th_buf_init_try(&n->text, n->out->max);
	th_buf_init_try(&item, TH_EVENT_DATA_MAX);
	th_jw_array(&n->w);
	for (size_t i = 0; i < transcript->count && !code; i++)
		code = take(n, transcript, i, &item);
	if (!n->transcript && (n->records || n->out->len <= 1))
		put_message(n);
	th_jw_array_end(&n->w);
	if (!code)
		code = th_buf_check(&n->text, "a nested history", n->err)
			   ?: th_buf_check(n->out, "a nested history", n->err);
	th_buf_deinit(&item);
	th_buf_deinit(&n->text);
	return code;
}

enum th_code th_nest(const struct th_transcript *transcript, const struct th_nest_markers *markers,
		     struct th_buf *marks, struct th_err *err)
{
	struct nesting n = { .markers = markers, .out = marks, .err = err };

	return take_all(&n, transcript);
}

enum th_code th_nest_transcript(const struct th_transcript *transcript,
				const struct th_nest_markers *markers, struct th_buf *items,
				struct th_err *err)
{
	struct nesting n = { .markers = markers, .transcript = true, .out = items, .err = err };

	return take_all(&n, transcript);
}
