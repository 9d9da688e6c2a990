/* SPDX-License-Identifier: Apache-2.0 */
#include "forms/trajectory.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/moment.h"

void th_trajectory_init(struct th_trajectory *t, struct th_str session)
{
	*t = (struct th_trajectory){ 0 };
	th_arena_init(&t->memory, TH_EXPORT_SIZE_MAX);
	t->session = th_arena_str(&t->memory, session);
}

void th_trajectory_deinit(struct th_trajectory *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->list[i].calls);
	free(t->list);
	th_arena_deinit(&t->memory);
	*t = (struct th_trajectory){ 0 };
}

/* ---- steps ---- */

static struct th_trajectory_step *step(struct th_trajectory *t, enum th_step_source source,
				       int64_t ts_ms)
{
	if (t->count == t->cap) {
		t->cap = TH_MAX(2 * t->cap, (size_t)32);
		t->list = th_realloc(t->list, t->cap * sizeof(*t->list));
	}
	t->list[t->count] =
	    (struct th_trajectory_step){ .source = source, .ts_ms = ts_ms, .cost_nano = -1 };
	return &t->list[t->count++];
}

static struct th_str keep(struct th_trajectory *t, struct th_str s)
{
	return s.len ? th_arena_str(&t->memory, s) : (struct th_str){ NULL, 0 };
}

/* The agent's own newest step, which a call belongs to; once one has its result, another answer
 * was given. */
static struct th_trajectory_step *speaking(struct th_trajectory *t, int64_t ts_ms)
{
	struct th_trajectory_step *last = t->count ? &t->list[t->count - 1] : NULL;
	bool open = last && last->source == TH_STEP_AGENT;

	for (size_t i = 0; open && i < last->call_count; i++)
		open = !last->calls[i].output.len;
	if (!open) {
		last = step(t, TH_STEP_AGENT, ts_ms);
		last->asked = true;
	}
	return last;
}

static void add_call(struct th_trajectory *t, struct th_trajectory_step *s, struct th_str id,
		     struct th_str tool, struct th_str arguments)
{
	if (s->call_count == s->call_cap) {
		s->call_cap = TH_MAX(2 * s->call_cap, (size_t)4);
		s->calls = th_realloc(s->calls, s->call_cap * sizeof(*s->calls));
	}
	s->calls[s->call_count++] = (struct th_step_call){
		.id = keep(t, id),
		.tool = keep(t, tool),
		.arguments = keep(t, th_json_raw_is_object(arguments) && th_json_valid(arguments)
					 ? arguments
					 : TH_STR("{}")),
	};
}

/* The newest call of that id that has no result. */
static void add_result(struct th_trajectory *t, struct th_str id, struct th_str output,
		       struct th_str status)
{
	for (size_t i = t->count; i-- > 0;)
		for (size_t j = t->list[i].call_count; j-- > 0;) {
			struct th_step_call *c = &t->list[i].calls[j];

			if (c->output.len || !th_str_eq(c->id, id))
				continue;
			c->output = keep(t, output);
			c->status = keep(t, status);
			return;
		}
}

/* ---- items ---- */

static void add_texts(const struct th_json *list, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(list);

	while (th_json_next(&it))
		if (th_json_get_str(it.val, "text").len)
			th_buf_printf(out, "%s%.*s", out->len ? "\n" : "",
				      TH_FMT(th_json_get_str(it.val, "text")));
}

/* What the model said and thought in an answer; its calls have events of their own. */
static void read_answer(struct th_trajectory *t, struct th_trajectory_step *s,
			const struct th_json *items)
{
	struct th_buf said TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_buf thought TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX);
	struct th_json_iter it = th_json_iter(items);
	struct th_jw w = th_jw(&json);

	while (th_json_next(&it)) {
		struct th_str type = th_json_get_str(it.val, "type");
		const struct th_json *content = th_json_get(it.val, "content");

		if (th_str_is(type, "reasoning")) {
			add_texts(th_json_get(it.val, "summary"), &thought);
			add_texts(content, &thought);
		} else if (th_str_is(type, "message")) {
			add_texts(content, &said);
			th_buf_add(&said, th_json_str(content));
		}
	}
	s->reasoning = keep(t, th_buf_str(&thought));
	if (!said.len)
		return;
	th_jw_str(&w, th_buf_str(&said));
	s->content = keep(t, th_buf_str(&json));
}

/* An item of a history that came from elsewhere. */
static void read_item(struct th_trajectory *t, const struct th_json *item, int64_t ts_ms)
{
	struct th_str type = th_json_get_str(item, "type"), role = th_json_get_str(item, "role"),
		      text;
	struct th_trajectory_step *s;
	bool agent = th_str_is(role, "assistant");

	if (th_str_is(type, "function_call")) {
		add_call(t, speaking(t, ts_ms), th_json_get_str(item, "call_id"),
			 th_json_get_str(item, "name"), th_json_get_str(item, "arguments"));
	} else if (th_str_is(type, "function_call_output")) {
		text = th_json_text(th_json_get(item, "output"), &t->memory);
		add_result(t, th_json_get_str(item, "call_id"), text, TH_STR("done"));
	} else if (role.len) {
		s = step(t,
			 agent                     ? TH_STEP_AGENT
			 : th_str_is(role, "user") ? TH_STEP_USER
						   : TH_STEP_SYSTEM,
			 ts_ms);
		s->asked = agent;
		s->content = th_json_text(th_json_get(item, "content"), &t->memory);
	}
}

/* ---- events ---- */

static void on_created(struct th_trajectory *t, const struct th_json *v)
{
	const struct th_json *agent = th_json_get(v, "agent");

	t->agent = keep(t, th_json_get_str(agent, "name"));
	t->model = keep(t, th_json_get_str(v, "model"));
	t->instructions = keep(t, th_json_get_str(agent, "instructions"));
}

static void on_answered(struct th_trajectory *t, const struct th_event *ev, const struct th_json *v)
{
	struct th_trajectory_step *s = step(t, TH_STEP_AGENT, ev->ts_ms);

	s->asked = true;
	s->model = keep(t, th_json_get_str(v, "model"));
	s->usage = keep(t, th_json_raw_get(ev->data, "usage"));
	s->cost_nano = th_json_get_int(v, "cost_nano", -1);
	read_answer(t, s, th_json_get(v, "items"));
}

static void on_event(struct th_trajectory *t, const struct th_event *ev, const struct th_json *v)
{
	struct th_json_iter it = th_json_iter(th_json_get(v, "items"));
	struct th_trajectory_step *s;

	if (ev->kind == TH_EV_SESSION_CREATED) {
		on_created(t, v);
	} else if (ev->kind == TH_EV_MESSAGE) {
		bool user = th_str_is(th_json_get_str(v, "role"), "user");

		s = step(t, user ? TH_STEP_USER : TH_STEP_SYSTEM, ev->ts_ms);
		s->content = keep(t, th_json_raw_get(ev->data, "content"));
	} else if (ev->kind == TH_EV_MODEL_ANSWERED) {
		on_answered(t, ev, v);
	} else if (ev->kind == TH_EV_CALL) {
		add_call(t, speaking(t, ev->ts_ms), th_json_get_str(v, "call_id"),
			 th_json_get_str(v, "tool"), th_json_raw_get(ev->data, "arguments"));
	} else if (ev->kind == TH_EV_OUTCOME) {
		add_result(t, th_json_get_str(v, "call_id"), th_json_raw_get(ev->data, "output"),
			   th_json_get_str(v, "status"));
	} else if (ev->kind == TH_EV_ITEMS_ADDED) {
		/* A view of what was there before is not said twice. */
		while (!th_json_get(th_json_get(v, "origin"), "view") && th_json_next(&it))
			read_item(t, it.val, ev->ts_ms);
	} else if (ev->kind == TH_EV_CONDENSATION && th_json_get_str(v, "summary").len) {
		s = step(t, TH_STEP_SYSTEM, ev->ts_ms);
		s->content = keep(t, th_json_raw_get(ev->data, "summary"));
	} else if (ev->kind == TH_EV_FINAL && th_json_get_str(v, "instead_of").len) {
		s = step(t, TH_STEP_AGENT, ev->ts_ms);
		s->content = keep(t, th_json_raw_get(ev->data, "output"));
	}
}

enum th_code th_trajectory_add(struct th_trajectory *t, const struct th_event *ev,
			       struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_code code = th_json_parse(ev->data, &doc, err);

	if (!code)
		on_event(t, ev, th_json_root(doc));
	return !code && t->memory.no_memory
		   ? th_fail(err, TH_ELIMIT, "the session is larger than %zu bytes",
			     (size_t)TH_EXPORT_SIZE_MAX)
		   : code;
}

/* ---- contents ---- */

/* "data:image/png;base64,…" */
static bool data_url(struct th_str url, struct th_step_part *ret)
{
	struct th_str rest = url, head;

	if (!th_str_starts(url, TH_STR("data:")))
		return false;
	rest = th_str_sub(url, sizeof("data:") - 1, url.len);
	head = th_str_split(&rest, ',');
	if (!th_str_ends(head, TH_STR(";base64")))
		return false;
	ret->media_type = th_str_sub(head, 0, head.len - (sizeof(";base64") - 1));
	ret->base64 = rest;
	return true;
}

static enum th_code read_part(const struct th_json *v, const struct th_trajectory_out *out,
			      struct th_buf *bytes, struct th_step_part *ret, struct th_err *err)
{
	struct th_str url = th_json_get_str(v, "image_url");
	struct th_digest hash;
	enum th_code code = TH_OK;

	*ret = (struct th_step_part){ .text = th_json_get_str(v, "text") };
	if (th_digest_parse(th_json_get_str(v, "blob"), &hash)) {
		th_buf_clear(bytes);
		code = out->picture(out->ctx, &hash, bytes, err)
			   ?: th_buf_check(bytes, "a picture", err);
		ret->media_type = th_json_get_str(v, "media_type");
		if (!ret->media_type.len)
			ret->media_type = TH_STR("image/png");
		ret->base64 = th_buf_str(bytes);
	} else if (url.len && !data_url(url, ret)) {
		ret->url = url;
	}
	return code;
}

enum th_code th_step_parts(struct th_str content, const struct th_trajectory_out *out,
			   enum th_code (*fn)(void *ctx, const struct th_step_part *part,
					      struct th_err *err),
			   void *ctx, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_BLOB_MAX);
	struct th_step_part part = {};
	enum th_code code = content.len ? th_json_parse(content, &doc, err) : TH_OK;
	const struct th_json *v = doc ? th_json_root(doc) : NULL;
	struct th_json_iter it = th_json_iter(v);

	if (code || !v)
		return code;
	if (!th_json_is_array(v)) {
		part.text = th_json_str(v);
		return part.text.len ? fn(ctx, &part, err) : TH_OK;
	}
	while (!code && th_json_next(&it)) {
		code = read_part(it.val, out, &bytes, &part, err);
		if (!code && (part.text.len || part.base64.len || part.url.len))
			code = fn(ctx, &part, err);
	}
	return code;
}

void th_step_text(struct th_str content, struct th_buf *out)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	if (!content.len || th_json_parse(content, &doc, NULL))
		return;
	if (th_json_is_array(th_json_root(doc)))
		add_texts(th_json_root(doc), out);
	else
		th_buf_add(out, th_json_str(th_json_root(doc)));
}

enum th_code th_step_flush(const struct th_trajectory_out *out, struct th_buf *text,
			   struct th_err *err)
{
	enum th_code code = th_buf_check(text, "a step", err);

	if (!code)
		code = out->put(out->ctx, th_buf_str(text), err);
	th_buf_clear(text);
	return code;
}

void th_step_time(int64_t ts_ms, struct th_buf *out)
{
	int64_t days = ts_ms / 86400000, rest = ts_ms % 86400000, year, month, day;

	if (rest < 0) {
		rest += 86400000;
		days--;
	}
	th_moment_date(days, &year, &month, &day);
	th_buf_printf(out, "%04lld-%02lld-%02lldT%02lld:%02lld:%02lld.%03lldZ", (long long)year,
		      (long long)month, (long long)day, (long long)(rest / 3600000),
		      (long long)(rest / 60000 % 60), (long long)(rest / 1000 % 60),
		      (long long)(rest % 1000));
}
