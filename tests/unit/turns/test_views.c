/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_views.c - what a model sees of a long history, over random sessions: each
 * condenser on each wire, with calls in parallel, long results, several tasks, refusals
 * and deaths at random commits.
 *
 * The model is a function of the request, so a session that dies goes the same way as
 * one that does not: the requests of both are the same bytes.  Every request is held
 * against the rules that its provider has, and against what is promised of each.
 */
#include "team_rig.h"

#include "context/condenser.h"

#ifdef TH_SANITIZED
#define STEPS 30 /* a sanitizer's build takes a minute for 70 */
#else
#define STEPS 70 /* requests of a session */
#endif
#define DEATHS_MAX 12
#define TOKEN 4
#define TOKENS_MAX 3000 /* of `compact`; a turn, the pins and the frame come on top */
#define SIZE_MAX_BYTES ((TOKENS_MAX + 2500) * TOKEN)
#define ASKED "has become too long. Write a summary"
#define ASKED_LISTED "<EVENT id="

enum wire { RESPONSES, CHAT, MESSAGES, GEMINI };
static const struct {
	enum wire wire;
	const char *model;
} wires[] = {
	{ RESPONSES, "gpt-5.4" },
	{ CHAT, "chat:any" },
	{ MESSAGES, "claude-sonnet-4-5" },
	{ GEMINI, "gemini-2.5-flash" },
};

#define LIMITS "\"limits\":{\"turns\":5000}"
#define AGENT(compact) \
	"{\"name\":\"a\",\"instructions\":\"x\"," LIMITS ",\"compact\":{" compact "}}"
static const struct {
	const char *agent;
	bool bounded; /* by tokens: no request passes SIZE_MAX_BYTES */
} agents[] = {
	{ AGENT("\"condenser\":\"recent\",\"tokens\":3000,\"keep\":9"), true },
	{ AGENT("\"condenser\":\"recent\",\"items\":14,\"keep\":5"), false },
	{ AGENT("\"condenser\":\"recent\",\"max_events\":11,\"keep_first\":2"), false },
	{ AGENT("\"condenser\":\"amortized\",\"max_size\":16,\"keep_first\":3"), false },
	{ AGENT("\"condenser\":\"conversation_window\",\"tokens\":3000"), true },
	{ AGENT("\"condenser\":\"observation_masking\",\"attention_window\":6"), false },
	{ AGENT("\"condenser\":\"summary\",\"tokens\":3000"), true },
	{ AGENT("\"condenser\":\"summary\",\"items\":9,\"keep\":3"), false },
	{ AGENT("\"condenser\":\"llm\",\"max_size\":14,\"keep_first\":2"), false },
	{ AGENT("\"condenser\":\"llm_summarizing\",\"max_size\":14,\"keep_first\":2,\"max_event_"
		"length\":200"),
	  false },
	{ AGENT(
	      "\"condenser\":\"pipeline\",\"condensers\":[{\"condenser\":\"conversation_window\"},{"
	      "\"condenser\":\"observation_masking\",\"attention_window\":8},{\"condenser\":"
	      "\"recent\","
	      "\"max_events\":18}],\"tokens\":3000"),
	  true },
};

/* ---- the model: a function of what it is sent ---- */

static uint32_t mix(const char *text, uint32_t seed)
{
	uint32_t h = 2166136261u ^ seed;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619u;
	return h ^ h >> 15;
}

static void put_call(struct th_buf *out, enum wire wire, uint32_t h, unsigned i)
{
	unsigned words = (h >> (3 * i)) % 7 * 20;

	switch (wire) {
	case RESPONSES:
		th_buf_printf(
		    out,
		    "{\"type\":\"function_call\",\"id\":\"fc_%08x%u\",\"call_id\":\"c%08x%u\","
		    "\"name\":\"weather\",\"status\":\"completed\",\"arguments\":\"{"
		    "\\\"words\\\":%u}\"}",
		    h, i, h, i, words);
		break;
	case CHAT:
		th_buf_printf(out,
			      "{\"type\":\"function\",\"id\":\"c%08x%u\",\"function\":{\"name\":"
			      "\"weather\",\"arguments\":\"{\\\"words\\\":%u}\"}}",
			      h, i, words);
		break;
	case MESSAGES:
		th_buf_printf(out,
			      "{\"type\":\"tool_use\",\"id\":\"toolu_%08x%u\",\"name\":\"weather\","
			      "\"input\":{\"words\":%u}}",
			      h, i, words);
		break;
	case GEMINI:
		th_buf_printf(
		    out,
		    "{\"functionCall\":{\"name\":\"weather\",\"args\":{\"words\":%u,\"n\":"
		    "%u}}}",
		    words, h % 100000 + i);
		break;
	}
}

static void put_calls(struct th_buf *out, enum wire wire, uint32_t h, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (i)
			th_buf_add_char(out, ',');
		put_call(out, wire, h, i);
	}
}

static void put_text(struct th_buf *out, enum wire wire, const char *text)
{
	static const char *const forms[] = {
		[RESPONSES] = TEXT("%s"),
		[CHAT] = "\"%s\"",
		[MESSAGES] = "{\"type\":\"text\",\"text\":\"%s\"}",
		[GEMINI] = "{\"text\":\"%s\"}",
	};
	const char *at = strstr(forms[wire], "%s");

	th_buf_add(out, th_str_n(forms[wire], (size_t)(at - forms[wire])));
	th_buf_add_cstr(out, text);
	th_buf_add_cstr(out, at + 2);
}

/* A whole body: a text, or calls, or both. */
static void put_answer(struct th_buf *out, enum wire wire, const char *text, uint32_t h,
		       unsigned calls, size_t tokens)
{
	bool both = text[0] && calls;

	if (wire == RESPONSES) {
		th_buf_printf(out,
			      "{\"id\":\"r%08x\",\"object\":\"response\",\"status\":"
			      "\"completed\",\"output\":[",
			      h);
		if (h % 3 == 0 && calls)
			th_buf_printf(out,
				      "{\"type\":\"reasoning\",\"id\":\"rs_%08x\",\"summary\":[],"
				      "\"encrypted_content\":\"b3BhcXVl\"},",
				      h);
	} else if (wire == CHAT) {
		th_buf_printf(
		    out,
		    "{\"id\":\"r%08x\",\"choices\":[{\"index\":0,\"finish_reason\":\"%s\","
		    "\"message\":{\"role\":\"assistant\",\"content\":",
		    h, calls ? "tool_calls" : "stop");
	} else if (wire == MESSAGES) {
		th_buf_printf(out,
			      "{\"id\":\"m%08x\",\"type\":\"message\",\"role\":\"assistant\","
			      "\"stop_reason\":\"%s\",\"content\":[",
			      h, calls ? "tool_use" : "end_turn");
		if (h % 3 == 0 && calls)
			th_buf_printf(out,
				      "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":"
				      "\"c2ln%08x\"},",
				      h);
	} else {
		th_buf_printf(
		    out,
		    "{\"responseId\":\"r%08x\",\"candidates\":[{\"finishReason\":\"STOP\","
		    "\"content\":{\"role\":\"model\",\"parts\":[",
		    h);
	}
	if (text[0])
		put_text(out, wire, text);
	else if (wire == CHAT)
		th_buf_add_cstr(out, "null");
	if (wire == CHAT && calls)
		th_buf_add_cstr(out, ",\"tool_calls\":[");
	else if (both)
		th_buf_add_char(out, ',');
	put_calls(out, wire, h, calls);
	if (wire == CHAT)
		th_buf_printf(out,
			      "%s}}],\"usage\":{\"prompt_tokens\":%zu,\"completion_tokens\":5}}",
			      calls ? "]" : "", tokens);
	else if (wire == GEMINI)
		th_buf_printf(out,
			      "]}}],\"usageMetadata\":{\"promptTokenCount\":%zu,"
			      "\"candidatesTokenCount\":5,\"totalTokenCount\":%zu}}",
			      tokens, tokens + 5);
	else
		th_buf_printf(out, "],\"usage\":{\"input_tokens\":%zu,\"output_tokens\":5}}",
			      tokens);
	th_buf_add_char(out, '\0');
}

/* Without the numbers of events, of which a death makes more.  The caller's. */
static char *blank(const char *body)
{
	char *text = strdup(body);

	for (char *at = text; (at = strstr(at, ASKED_LISTED));) {
		at += strlen(ASKED_LISTED);
		memmove(at, at + strspn(at, "0123456789"),
			strlen(at + strspn(at, "0123456789")) + 1);
	}
	return text;
}

static bool is_side(const char *body)
{
	return strstr(body, ASKED) || strstr(body, ASKED_LISTED);
}

static void model(struct paper *w, const char *body, enum wire wire, uint32_t seed)
{
	static const char *const texts[] = { "", "", "I look.", "" };
	uint32_t h = mix(body, seed);
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	size_t tokens = strlen(body) / TOKEN;

	if (is_side(body) && h % 5 == 0) /* no summary */
		put_answer(&out, wire, "", h, 1, tokens);
	else if (is_side(body))
		put_answer(&out, wire, "DONE: this and that.", h, 0, tokens);
	else if (h % 11 == 0)
		put_answer(&out, wire, "That is all.", h, 0, tokens);
	else
		put_answer(&out, wire, texts[h % 4], h, 1 + (h >> 8) % 3, tokens);
	paper_say(w, w->request, out.ptr);
	th_buf_deinit(&out);
}

/* As many words as the call says. */
static void weather(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct th_json_doc *doc = NULL;
	struct th_buf output = TH_BUF_INIT(TH_MIB);
	struct th_effect_result result = { .status = TH_OUTCOME_DONE };
	struct th_err err;
	uint64_t words = 0;

	(void)ctx;
	if (!th_json_parse(call->arguments, &doc, &err))
		words = th_json_uint(th_json_get(th_json_root(doc), "words"), 0);
	th_buf_add_cstr(&output, "\"it is");
	for (uint64_t i = 0; i < words; i++)
		th_buf_add_cstr(&output, " sunny");
	th_buf_add_cstr(&output, "\"");
	result.output = th_buf_str(&output);
	th_json_free(doc);
	th_driver_tool_done(d, call->ticket, &result);
	th_buf_deinit(&output);
}

/* ---- what each provider wants ---- */

#define OPEN_MAX 16
struct open {
	char ids[OPEN_MAX][40];
	size_t count;
};

static void opens(struct open *o, struct th_str id)
{
	assert_true(o->count < OPEN_MAX && id.len && id.len < 40);
	for (size_t i = 0; i < o->count; i++)
		assert_false(th_str_is(id, o->ids[i]));
	snprintf(o->ids[o->count++], 40, "%.*s", TH_FMT(id));
}

/* Its call is open, and was not answered yet. */
static void closes(struct open *o, struct th_str id)
{
	size_t i = 0;

	while (i < o->count && !th_str_is(id, o->ids[i]))
		i++;
	if (i == o->count)
		fail_msg("a result without its call: %.*s", TH_FMT(id));
	memmove(o->ids[i], o->ids[i + 1], (o->count - i - 1) * sizeof(o->ids[0]));
	o->count--;
}

static void nothing_open(const struct open *o)
{
	if (o->count)
		fail_msg("a call without its result: %s", o->ids[0]);
}

static void check_responses(const struct th_json *root)
{
	struct th_json_iter it = th_json_iter(th_json_get(root, "input"));
	struct open open = { 0 };
	bool reasoned = false, results = false;

	while (th_json_next(&it)) {
		struct th_str type = th_json_get_str(it.val, "type");

		if (th_str_is(type, "function_call_output")) {
			closes(&open, th_json_get_str(it.val, "call_id"));
			results = true;
			reasoned = false;
			continue;
		}
		if (results)
			nothing_open(
			    &open); /* all of an answer's are answered before more is said */
		results = false;
		if (th_str_is(type, "function_call")) {
			opens(&open, th_json_get_str(it.val, "call_id"));
			reasoned = false;
		} else if (th_str_is(type, "reasoning")) {
			assert_false(reasoned);
			reasoned = true;
		} else {
			nothing_open(&open);
			/* Reasoning is followed by what it led to. */
			assert_false(reasoned &&
				     th_str_is(th_json_get_str(it.val, "role"), "user"));
			reasoned = false;
		}
	}
	assert_false(reasoned);
	nothing_open(&open);
}

static void check_chat(const struct th_json *root)
{
	struct th_json_iter it = th_json_iter(th_json_get(root, "messages"));
	struct open open = { 0 };

	while (th_json_next(&it)) {
		struct th_json_iter calls = th_json_iter(th_json_get(it.val, "tool_calls"));

		if (th_str_is(th_json_get_str(it.val, "role"), "tool")) {
			closes(&open, th_json_get_str(it.val, "tool_call_id"));
			continue;
		}
		nothing_open(&open);
		while (th_json_is_array(th_json_get(it.val, "tool_calls")) && th_json_next(&calls))
			opens(&open, th_json_get_str(calls.val, "id"));
	}
	nothing_open(&open);
}

static void check_messages(const struct th_json *root)
{
	struct th_json_iter it = th_json_iter(th_json_get(root, "messages"));
	struct open open = { 0 };
	bool user = false; /* was the last one; messages of a user in a row are one to Anthropic */
	bool said = false;

	while (th_json_next(&it)) {
		const struct th_json *content = th_json_get(it.val, "content");
		struct th_json_iter parts = th_json_iter(content);
		bool is_user = th_str_is(th_json_get_str(it.val, "role"), "user");

		assert_true(is_user || user);
		said &= is_user && user;
		user = is_user;
		while (th_json_is_array(content) && th_json_next(&parts)) {
			struct th_str type = th_json_get_str(parts.val, "type");

			if (th_str_is(type, "tool_use")) {
				opens(&open, th_json_get_str(parts.val, "id"));
			} else if (th_str_is(type, "tool_result")) {
				assert_false(said); /* results come first */
				closes(&open, th_json_get_str(parts.val, "tool_use_id"));
			} else {
				said = true;
			}
		}
		if (is_user)
			nothing_open(&open);
	}
	assert_true(user);
}

static size_t parts_with(const struct th_json *content, const char *name)
{
	struct th_json_iter it = th_json_iter(th_json_get(content, "parts"));
	size_t count = 0;

	while (th_json_next(&it))
		count += th_json_get(it.val, name) != NULL;
	return count;
}

static void check_gemini(const struct th_json *root)
{
	struct th_json_iter it = th_json_iter(th_json_get(root, "contents"));
	size_t calls = 0;

	while (th_json_next(&it)) {
		size_t results = parts_with(it.val, "functionResponse");

		if (results != calls)
			fail_msg("%zu results of %zu calls", results, calls);
		calls = parts_with(it.val, "functionCall");
	}
	assert_int_equal(calls, 0);
}

static void check_request(const char *body, enum wire wire, size_t said, bool bounded)
{
	static void (*const checks[])(const struct th_json *root) = {
		[RESPONSES] = check_responses,
		[CHAT] = check_chat,
		[MESSAGES] = check_messages,
		[GEMINI] = check_gemini,
	};
	struct th_json_doc *doc = NULL;
	struct th_err err = { 0 };
	char word[32];

	if (th_json_parse(th_str_of(body), &doc, &err))
		fail_msg("%s", err.msg);
	checks[wire](th_json_root(doc));
	th_json_free(doc);
	/* What a person said is in each request that has the history. */
	for (size_t i = 0; i < said && !strstr(body, ASKED_LISTED); i++) {
		snprintf(word, sizeof(word), "said-%zu.", i);
		if (!strstr(body, word))
			fail_msg("what was said is missing: %s", word);
	}
	if (bounded && strlen(body) > SIZE_MAX_BYTES)
		fail_msg("a request of %zu bytes", strlen(body));
}

/* ---- a session ---- */

struct seen {
	char *bodies[STEPS];
	size_t count;
};

static const char *cut_rig; /* the agent under test */

/* What it does may be done again after a death. */
static void dress_tool(void)
{
	team.row.local = weather;
	team.row.spec.class = TH_CLASS_R;
}

/* A death comes before what it did is known to be durable. */
static void revive(struct paper *w)
{
	reopen(w, cut_rig);
	dress_tool();
	w->commits_max = 0;
	paper_resume(w);
}

static size_t said_in(const struct paper *w)
{
	return paper_count(w->log, TH_EV_MESSAGE);
}

/* The next task, where none is under way; the log says whether it was taken. */
static void next_task(struct paper *w, size_t *said)
{
	struct th_err err = { 0 };
	char word[32];

	snprintf(word, sizeof(word), "said-%zu.", said_in(w));
	if (th_driver_message(w->driver, w->h, th_str_of(word), &err))
		fail_msg("after %zu requests: %s %s", w->request_count, err.msg, paper_kinds(w, 0));
	paper_settle(w);
	*said = said_in(w);
}

/* Applied to what it left, one that asks nobody leaves all of it. */
static void applied_twice(const struct paper *w)
{
	struct th_transcript t;
	struct th_buf marks = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_condense c = { .options = team.agents[0].compact,
				 .transcript = &t,
				 .pins = TH_COMPACT_PINS_DEFAULT };
	struct th_condensed made;
	struct th_err err;
	size_t last = w->log->count;

	while (last > 0 && w->log->list[last - 1].ev.kind != TH_EV_CONDENSATION)
		last--;
	th_transcript_init(&t, true);
	for (size_t i = 0; i < last; i++)
		assert_int_equal(th_transcript_add(&t, &w->log->list[i].ev, &err), TH_OK);
	if (last && !th_condenser_asks(c.options) && th_condense(&c, &marks, &made))
		fail_msg("%s leaves out %zu and masks %zu of what it left", made.by->name,
			 made.gone, made.masked);
	th_transcript_deinit(&t);
	th_buf_deinit(&marks);
}

static void play(const char *agent, bool bounded, size_t at, uint32_t seed, bool dies,
		 struct seen *seen)
{
	struct paper *w;
	size_t said = 0, deaths = 0, condensed = 0;
	uint32_t chance = seed * 2654435761u + 1;

	team_model = wires[at].model;
	cut_rig = agent;
	team_log_beside = dies && seed % 2; /* the same requests come of it */
	w = begin(agent, NULL);
	dress_tool();
	paper_settle(w);
	*seen = (struct seen){ 0 };
	while (seen->count < STEPS) {
		if (w->dead) {
			revive(w);
			said = said_in(w);
		} else if (!w->request->open) {
			if (!said_in(w) || th_session_rests(paper_fold(w)))
				next_task(w, &said);
			else
				fail_msg("nothing is asked, and no task is over");
		} else {
			char *body = blank(w->request->body);

			if (!seen->count || strcmp(seen->bodies[seen->count - 1], body) != 0) {
				check_request(body, wires[at].wire, said, bounded);
				seen->bodies[seen->count++] = strdup(body);
			}
			chance = chance * 1664525u + 1013904223u;
			if (dies && deaths < DEATHS_MAX && chance >> 28 < 4) {
				deaths++;
				w->commits_max = w->commits + 1 + (chance >> 20) % 4;
			}
			model(w, body, wires[at].wire, seed);
			free(body);
		}
		if (!w->dead && paper_count(w->log, TH_EV_CONDENSATION) != condensed) {
			condensed = paper_count(w->log, TH_EV_CONDENSATION);
			applied_twice(w);
		}
	}
	assert_true(condensed > 0);
	assert_false(w->early);
	paper_free(w);
	team_model = "gpt-5.4";
}

static void forget(struct seen *seen)
{
	for (size_t i = 0; i < seen->count; i++)
		free(seen->bodies[i]);
}

static void test_random_sessions(void **unused)
{
	(void)unused;
	for (size_t a = 0; a < TH_COUNT(agents); a++)
		for (size_t at = 0; at < TH_COUNT(wires); at++) {
			struct seen peace, war;
			uint32_t seed = (uint32_t)(a * TH_COUNT(wires) + at + 1);

			play(agents[a].agent, agents[a].bounded, at, seed, false, &peace);
			play(agents[a].agent, agents[a].bounded, at, seed, true, &war);
			for (size_t i = 0; i < STEPS; i++)
				if (strcmp(peace.bodies[i], war.bodies[i]) != 0)
					fail_msg("agent %zu, %s: request %zu is another one after "
						 "deaths",
						 a, wires[at].model, i);
			forget(&peace);
			forget(&war);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
