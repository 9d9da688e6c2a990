/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_otlp.c - spans in the JSON of OTLP, attributes by the semantic
 * conventions for generative AI where these have a name.
 */
#include "base/hash.h"
#include "trace/trace.h"

#define TRACE_ID_SIZE 16
#define SPAN_ID_SIZE 8

struct otlp {
	const struct th_trace *trace;
	struct th_str session_id;
	const struct th_trace_origin *origin;
	struct th_jw w;
};

static_assert(sizeof(((struct th_trace_origin *)0)->trace_id) == 2 * TRACE_ID_SIZE + 1 &&
		  sizeof(((struct th_trace_origin *)0)->span_id) == 2 * SPAN_ID_SIZE + 1,
	      "an origin holds both ids");

/* The same at any time: a hash of where in which log it began. */
static void make_id(struct th_str session_id, const char *what, uint64_t seq, size_t size,
		    char *out)
{
	char text[TH_SESSION_ID_MAX + 64], hex[TH_SHA256_HEX_SIZE + 1];
	struct th_buf b = TH_BUF_INIT(sizeof(text));
	struct th_digest digest;

	th_buf_printf(&b, "thole %s %llu %.*s", what, (unsigned long long)seq, TH_FMT(session_id));
	digest = th_sha256_of(b.ptr, b.len);
	th_digest_hex(&digest, hex);
	memcpy(out, hex, 2 * size);
	out[2 * size] = '\0';
	th_buf_deinit(&b);
}

static void put_span_id(struct otlp *o, const char *key, const struct th_span *s)
{
	char id[2 * SPAN_ID_SIZE + 1];

	make_id(o->session_id, th_span_name(s->kind), s->seq, SPAN_ID_SIZE, id);
	th_jw_kstr(&o->w, key, th_str_of(id));
}

void th_trace_origin(struct th_str session_id, const struct th_trace_origin *own, uint64_t task_seq,
		     uint64_t call_seq, struct th_trace_origin *ret)
{
	make_id(session_id, "trace", task_seq, TRACE_ID_SIZE, ret->trace_id);
	if (own)
		memcpy(ret->trace_id, own->trace_id, sizeof(ret->trace_id));
	make_id(session_id, th_span_name(TH_SPAN_TOOL), call_seq, SPAN_ID_SIZE, ret->span_id);
}

void th_trace_origin_print(const struct th_trace_origin *o, struct th_jw *w)
{
	th_jw_kstr(w, "trace", th_str_of(o->trace_id));
	th_jw_kstr(w, "span", th_str_of(o->span_id));
}

/* A JSON string of so many hexadecimal digits. */
static bool read_id(struct th_str raw, size_t size, char *out)
{
	if (raw.len != size + 2)
		return false;
	for (size_t i = 0; i < size; i++) {
		out[i] = raw.ptr[i + 1];
		if (!memchr("0123456789abcdef", out[i], 16))
			return false;
	}
	out[size] = '\0';
	return true;
}

bool th_trace_origin_read(struct th_str object, struct th_trace_origin *ret)
{
	return read_id(th_json_raw_get(object, "trace"), 2 * TRACE_ID_SIZE, ret->trace_id) &&
	       read_id(th_json_raw_get(object, "span"), 2 * SPAN_ID_SIZE, ret->span_id);
}

static void put_text(struct otlp *o, const char *key, struct th_str value)
{
	if (!value.len)
		return;
	th_jw_object(&o->w);
	th_jw_kstr(&o->w, "key", th_str_of(key));
	th_jw_key(&o->w, TH_STR("value"));
	th_jw_object(&o->w);
	th_jw_kstr(&o->w, "stringValue", value);
	th_jw_object_end(&o->w);
	th_jw_object_end(&o->w);
}

/* 64-bit integers are strings in it. */
static void put_time(struct otlp *o, const char *key, int64_t ms)
{
	struct th_buf text = TH_BUF_INIT(40);

	th_buf_printf(&text, "%lld000000", (long long)TH_MAX(ms, 0));
	th_jw_kstr(&o->w, key, th_buf_str(&text));
	th_buf_deinit(&text);
}

static void put_number(struct otlp *o, const char *key, int64_t value)
{
	struct th_buf text = TH_BUF_INIT(40);

	if (value == 0)
		return;
	th_buf_add_i64(&text, value);
	th_jw_object(&o->w);
	th_jw_kstr(&o->w, "key", th_str_of(key));
	th_jw_key(&o->w, TH_STR("value"));
	th_jw_object(&o->w);
	th_jw_kstr(&o->w, "intValue", th_buf_str(&text));
	th_jw_object_end(&o->w);
	th_jw_object_end(&o->w);
	th_buf_deinit(&text);
}

static void put_cost(struct otlp *o, const struct th_span *s)
{
	if (s->cost_nano == 0)
		return;
	th_jw_object(&o->w);
	th_jw_kstr(&o->w, "key", TH_STR("thole.cost_usd"));
	th_jw_key(&o->w, TH_STR("value"));
	th_jw_object(&o->w);
	th_jw_kreal(&o->w, "doubleValue", (double)s->cost_nano / 1e9);
	th_jw_object_end(&o->w);
	th_jw_object_end(&o->w);
}

static void put_attributes(struct otlp *o, const struct th_span *s)
{
	th_jw_key(&o->w, TH_STR("attributes"));
	th_jw_array(&o->w);
	put_text(o, "thole.session", o->session_id);
	put_text(o, "thole.kind", th_str_of(th_span_name(s->kind)));
	put_number(o, "thole.seq", (int64_t)s->seq);
	put_text(o, "thole.status", s->status);
	switch (s->kind) {
	case TH_SPAN_AGENT:
		put_text(o, "gen_ai.operation.name", TH_STR("invoke_agent"));
		put_text(o, "gen_ai.agent.name", s->name);
		break;
	case TH_SPAN_TURN:
		put_number(o, "thole.turn", s->number);
		break;
	case TH_SPAN_MODEL:
		put_text(o, "gen_ai.operation.name", TH_STR("chat"));
		put_text(o, "gen_ai.request.model", s->name);
		put_number(o, "thole.attempt", s->number);
		put_number(o, "gen_ai.usage.input_tokens", s->tokens_in);
		put_number(o, "gen_ai.usage.output_tokens", s->tokens_out);
		put_number(o, "thole.usage.cached_tokens", s->tokens_cached);
		put_number(o, "thole.usage.reasoning_tokens", s->tokens_reasoning);
		break;
	case TH_SPAN_TOOL:
		put_text(o, "gen_ai.operation.name", TH_STR("execute_tool"));
		put_text(o, "gen_ai.tool.name", s->name);
		put_text(o, "gen_ai.tool.call.id", s->call_id);
		if (s->child.len)
			put_text(o, "thole.child", s->child);
		put_text(o, "thole.class", th_str_of(th_class_name(s->class)));
		break;
	case TH_SPAN_GUARDRAIL:
		put_text(o, "thole.guardrail", s->name);
		break;
	case TH_SPAN_HANDOFF:
		put_text(o, "thole.handoff.to", s->name);
		break;
	case TH_SPAN_CONDENSATION:
		put_text(o, "thole.condenser", s->name);
		put_number(o, "gen_ai.usage.input_tokens", s->tokens_in);
		put_number(o, "gen_ai.usage.output_tokens", s->tokens_out);
		break;
	case TH_SPAN_TASK:
	case TH_SPAN_APPROVAL:
	case TH_SPAN_COUNT:
		break;
	}
	put_cost(o, s);
	th_jw_array_end(&o->w);
}

static void put_span(struct otlp *o, const struct th_span *s, uint64_t task_seq)
{
	struct th_buf name = TH_BUF_INIT(2 * TH_TRACE_TEXT_MAX);
	char id[2 * TRACE_ID_SIZE + 1];

	make_id(o->session_id, "trace", task_seq, TRACE_ID_SIZE, id);
	th_buf_printf(&name, "%s%s%.*s", th_span_name(s->kind), s->name.len ? " " : "",
		      TH_FMT(s->name));
	th_jw_object(&o->w);
	th_jw_kstr(&o->w, "traceId", th_str_of(o->origin ? o->origin->trace_id : id));
	put_span_id(o, "spanId", s);
	if (s->parent != TH_SPAN_NONE)
		put_span_id(o, "parentSpanId", &o->trace->spans[s->parent]);
	else if (o->origin)
		th_jw_kstr(&o->w, "parentSpanId", th_str_of(o->origin->span_id));
	th_jw_kstr(&o->w, "name", th_buf_str(&name));
	th_jw_kint(&o->w, "kind", s->kind == TH_SPAN_MODEL ? 3 : 1); /* client; internal */
	put_time(o, "startTimeUnixNano", s->start_ms);
	put_time(o, "endTimeUnixNano", s->end_ms);
	put_attributes(o, s);
	th_jw_key(&o->w, TH_STR("status"));
	th_jw_object(&o->w);
	th_jw_kint(&o->w, "code", s->failed ? 2 : 1);
	if (s->failed && s->message.len)
		th_jw_kstr(&o->w, "message", s->message);
	th_jw_object_end(&o->w);
	th_jw_object_end(&o->w);
	th_buf_deinit(&name);
}

static uint64_t task_of(const struct th_trace *t, size_t index)
{
	while (t->spans[index].parent != TH_SPAN_NONE)
		index = t->spans[index].parent;
	return (uint64_t)t->spans[index].number;
}

size_t th_trace_otlp(const struct th_trace *t, struct th_str session_id,
		     const struct th_trace_origin *origin, uint64_t from_seq, struct th_str version,
		     struct th_buf *out)
{
	struct otlp o = { t, session_id, origin, th_jw(out) };
	size_t count = 0;

	for (size_t i = 0; i < t->count; i++)
		count += t->spans[i].end_ms && task_of(t, i) >= from_seq;
	if (count == 0)
		return 0;
	th_jw_object(&o.w);
	th_jw_key(&o.w, TH_STR("resourceSpans"));
	th_jw_array(&o.w);
	th_jw_object(&o.w);
	th_jw_key(&o.w, TH_STR("resource"));
	th_jw_object(&o.w);
	th_jw_key(&o.w, TH_STR("attributes"));
	th_jw_array(&o.w);
	put_text(&o, "service.name", TH_STR("thole"));
	put_text(&o, "service.version", version);
	th_jw_array_end(&o.w);
	th_jw_object_end(&o.w);
	th_jw_key(&o.w, TH_STR("scopeSpans"));
	th_jw_array(&o.w);
	th_jw_object(&o.w);
	th_jw_key(&o.w, TH_STR("scope"));
	th_jw_object(&o.w);
	th_jw_kstr(&o.w, "name", TH_STR("thole"));
	th_jw_object_end(&o.w);
	th_jw_key(&o.w, TH_STR("spans"));
	th_jw_array(&o.w);
	for (size_t i = 0; i < t->count; i++)
		if (t->spans[i].end_ms && task_of(t, i) >= from_seq)
			put_span(&o, &t->spans[i], task_of(t, i));
	th_jw_array_end(&o.w);
	th_jw_object_end(&o.w);
	th_jw_array_end(&o.w);
	th_jw_object_end(&o.w);
	th_jw_array_end(&o.w);
	th_jw_object_end(&o.w);
	return count;
}
