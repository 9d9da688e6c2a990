/* SPDX-License-Identifier: Apache-2.0 */
/* mcp_fixtures_ask.c - the fixtures that ask the client something. */
#include "mcp_fixtures.h"

#define FORM(properties, required) \
	"\"requestedSchema\":{\"type\":\"object\",\"properties\":{" properties "}" required "}"
#define NAME "\"name\":{\"type\":\"string\"}"

static const char elicit[] = "elicitation/create", sample[] = "sampling/createMessage";

/* One question of its own. */
static void ask(struct th_mcp *m, const char *key, const char *method, const char *params,
		const char *state)
{
	struct th_buf questions TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&questions);

	th_jw_object(&w);
	th_mcp_question(m, &w, key, method, th_str_of(params));
	th_jw_object_end(&w);
	th_mcp_ask(m, th_buf_str(&questions), state);
}

TH_PRINTF(2, 3)
static void say(struct th_mcp *m, const char *fmt, ...)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	th_mcp_text(m, th_buf_str(&text), false);
}

static struct th_str argument(const struct th_mcp *m, const char *name)
{
	return th_json_get_str(th_json_get(m->params, "arguments"), name);
}

/* ---- of both eras ---- */

void mcp_ask_sampling(struct th_mcp *m, const void *arguments)
{
	const struct th_json *in = th_mcp_input(m, "answer");
	struct th_buf params TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&params);

	(void)arguments;
	if (in) {
		say(m, "LLM response: %.*s",
		    TH_FMT(th_json_get_str(th_json_get(in, "content"), "text")));
		return;
	}
	th_buf_add_cstr(&params, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":"
				 "\"text\",\"text\":");
	th_jw_str(&w, argument(m, "prompt"));
	th_buf_add_cstr(&params, "}}],\"maxTokens\":100}");
	ask(m, "answer", sample, params.ptr, NULL);
}

static void say_response(struct th_mcp *m, const struct th_json *in, const char *before)
{
	struct th_buf content TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);

	th_json_print(th_json_get(in, "content"), &content);
	say(m, "%s: action=%.*s, content=%s", before, TH_FMT(th_json_get_str(in, "action")),
	    content.len ? content.ptr : "{}");
}

void mcp_ask_elicitation(struct th_mcp *m, const void *arguments)
{
	const struct th_json *in = th_mcp_input(m, "form");
	struct th_buf params TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&params);

	(void)arguments;
	if (in) {
		say_response(m, in, "User response");
		return;
	}
	th_buf_add_cstr(&params, "{\"message\":");
	th_jw_str(&w, argument(m, "message"));
	th_buf_add_cstr(&params, "," FORM("\"username\":{\"type\":\"string\",\"description\":"
					  "\"User's response\"},\"email\":{\"type\":\"string\","
					  "\"description\":\"User's email address\"}",
					  ",\"required\":[\"username\",\"email\"]") "}");
	ask(m, "form", elicit, params.ptr, NULL);
}

void mcp_ask_defaults(struct th_mcp *m, const void *arguments)
{
	const struct th_json *in = th_mcp_input(m, "form");

	(void)arguments;
	if (in)
		say_response(m, in, "Elicitation completed");
	else
		ask(m, "form", elicit,
		    "{\"message\":\"Please review.\"," FORM(
			"\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
			"\"age\":{\"type\":\"integer\",\"default\":30},"
			"\"score\":{\"type\":\"number\",\"default\":95.5},"
			"\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\","
			"\"pending\"],\"default\":\"active\"},"
			"\"verified\":{\"type\":\"boolean\",\"default\":true}",
			"") "}",
		    NULL);
}

void mcp_ask_enums(struct th_mcp *m, const void *arguments)
{
	const struct th_json *in = th_mcp_input(m, "form");

	(void)arguments;
	if (in)
		say_response(m, in, "Elicitation completed");
	else
		ask(m, "form", elicit,
		    "{\"message\":\"Please choose.\"," FORM(
			"\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\","
			"\"option3\"]},"
			"\"titledSingle\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"value1\","
			"\"title\":\"First Option\"},{\"const\":\"value2\",\"title\":\"Second "
			"Option\"},{\"const\":\"value3\",\"title\":\"Third Option\"}]},"
			"\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\","
			"\"opt3\"],\"enumNames\":[\"Option One\",\"Option Two\",\"Option "
			"Three\"]},"
			"\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
			"\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
			"\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":"
			"\"value1\",\"title\":\"First Choice\"},{\"const\":\"value2\",\"title\":"
			"\"Second Choice\"},{\"const\":\"value3\",\"title\":\"Third "
			"Choice\"}]}}",
			"") "}",
		    NULL);
}

/* ---- of 2026-07-28 ---- */

void mcp_ask_missing(struct th_mcp *m, const void *arguments)
{
	(void)arguments;
	if (!th_mcp_can(m, "sampling"))
		th_mcp_fault(m, m->modern ? 400 : 200, TH_MCP_CAPABILITY,
			     TH_STR("{\"requiredCapabilities\":{\"sampling\":{}}}"),
			     "the client must take sampling");
	else
		say(m, "It has sampling.");
}

void mcp_ask_streaming(struct th_mcp *m, const void *arguments)
{
	(void)th_mcp_begin_stream(m);
	mcp_ask_name(m, arguments);
}

#define WHO "{\"message\":\"What is your name?\"," FORM(NAME, ",\"required\":[\"name\"]") "}"

void mcp_ask_name(struct th_mcp *m, const void *arguments)
{
	const struct th_json *in = th_mcp_input(m, "user_name");

	(void)arguments;
	if (in)
		say(m, "Hello, %.*s!", TH_FMT(th_json_get_str(th_json_get(in, "content"), "name")));
	else
		ask(m, "user_name", elicit, WHO, NULL);
}

#define CAPITAL                                                                                    \
	"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"What is the " \
	"capital of France?\"}}],\"maxTokens\":100}"

void mcp_ask_capital(struct th_mcp *m, const void *arguments)
{
	const struct th_json *in = th_mcp_input(m, "capital_question");

	(void)arguments;
	if (in)
		say(m, "%.*s", TH_FMT(th_json_get_str(th_json_get(in, "content"), "text")));
	else
		ask(m, "capital_question", sample, CAPITAL, NULL);
}

void mcp_ask_roots(struct th_mcp *m, const void *arguments)
{
	const struct th_json *in = th_mcp_input(m, "client_roots");

	(void)arguments;
	if (in)
		say(m, "Roots: %.*s",
		    TH_FMT(th_json_get_str(th_json_at(th_json_get(in, "roots"), 0), "uri")));
	else
		ask(m, "client_roots", "roots/list", "{}", NULL);
}

void mcp_ask_state(struct th_mcp *m, const void *arguments)
{
	(void)arguments;
	if (th_mcp_input(m, "confirm") && th_str_is(th_str_of(th_mcp_state(m)), "kept"))
		say(m, "state-ok");
	else
		ask(m, "confirm", elicit,
		    "{\"message\":\"Please confirm\"," FORM("\"ok\":{\"type\":\"boolean\"}",
							    ",\"required\":[\"ok\"]") "}",
		    "kept");
}

void mcp_ask_many(struct th_mcp *m, const void *arguments)
{
	struct th_buf questions TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&questions);

	(void)arguments;
	if (th_mcp_input(m, "user_name") && th_mcp_input(m, "greeting") &&
	    th_mcp_input(m, "client_roots")) {
		say(m, "All is there.");
		return;
	}
	th_jw_object(&w);
	th_mcp_question(m, &w, "user_name", elicit, TH_STR(WHO));
	th_mcp_question(m, &w, "greeting", sample,
			TH_STR("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
			       "\"text\":\"Generate a greeting\"}}],\"maxTokens\":50}"));
	th_mcp_question(m, &w, "client_roots", "roots/list", TH_STR("{}"));
	th_jw_object_end(&w);
	th_mcp_ask(m, th_buf_str(&questions), "many");
}

void mcp_ask_rounds(struct th_mcp *m, const void *arguments)
{
	(void)arguments;
	if (th_mcp_input(m, "step2"))
		say(m, "Both steps are done.");
	else if (th_mcp_input(m, "step1"))
		ask(m, "step2", elicit,
		    "{\"message\":\"Step 2: What is your favorite color?\"," FORM(
			"\"color\":{\"type\":\"string\"}", ",\"required\":[\"color\"]") "}",
		    "round 2");
	else
		ask(m, "step1", elicit,
		    "{\"message\":\"Step 1: What is your name?\"," FORM(
			NAME, ",\"required\":[\"name\"]") "}",
		    "round 1");
}

/* Only what the client has said that it takes. */
void mcp_ask_capabilities(struct th_mcp *m, const void *arguments)
{
	if (th_mcp_can(m, "elicitation"))
		mcp_ask_name(m, arguments);
	else if (th_mcp_can(m, "sampling"))
		mcp_ask_capital(m, arguments);
	else
		say(m, "The client takes no question.");
}

void mcp_ask_prompt(struct th_mcp *m)
{
	const struct th_json *in = th_mcp_input(m, "user_context");
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&out);

	if (!in) {
		ask(m, "user_context", elicit,
		    "{\"message\":\"What context should the prompt use?\"," FORM(
			"\"context\":{\"type\":\"string\"}", ",\"required\":[\"context\"]") "}",
		    NULL);
		return;
	}
	th_buf_add_cstr(&out, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
			      "\"text\":");
	th_jw_str(&w, th_json_get_str(th_json_get(in, "content"), "context"));
	th_buf_add_cstr(&out, "}}]}");
	th_mcp_answer(m, th_buf_str(&out));
}
