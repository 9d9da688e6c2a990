/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_client.c - our client of MCP servers for the conformance suite, which starts it
 * with the address of a server as its last argument: it reads the list of tools, and
 * calls each once, with arguments that fit its schema.  Exit status 0: all were answered.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/mcp_header.h"
#include "base/limits.h"
#include "io/fetch.h"
#include "io/files.h"
#include "io/loop.h"
#include "mcp/process.h"
#include "mcp/tool.h"
#include "mcp_client_login.h"

#define LOGINS_MAX 3 /* a server that is never content */
#define QUESTIONS_MAX 8

static struct th_loop *loop;
static struct th_tool_env env;
static struct th_buf said; /* the output of the last call */
static struct th_buf form; /* and what its server wants back with a person's answer */
static enum th_outcome_status ended;

static void on_output(struct th_tool_job *job, struct th_str bytes)
{
	(void)job;
	fprintf(stderr, "%.*s", TH_FMT(bytes));
}

static void on_picture(struct th_tool_job *job, struct th_str bytes, struct th_str hex,
		       struct th_str media_type)
{
	(void)job;
	(void)hex;
	fprintf(stderr, "a picture, %.*s of %zu bytes\n", TH_FMT(media_type), bytes.len);
}

static void on_done(struct th_tool_job *job, enum th_outcome_status status, struct th_str output,
		    struct th_str evidence)
{
	(void)job;
	ended = status;
	th_buf_clear(&form);
	th_buf_add(&form, th_json_raw_get(th_json_raw_get(evidence, "asks"), "form"));
	th_buf_clear(&said);
	th_buf_add(&said, output);
	th_loop_stop(loop);
}

/* `tool` empty: the list. */
static bool call_once(const char *url, struct th_str tool, const struct th_json *schema,
		      struct th_str arguments)
{
	TH_CLEANUP(th_arena_deinit) struct th_arena arena;
	struct th_json_doc *doc = NULL, *values = NULL;
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&text);
	struct th_err err = {};
	void *args;
	struct th_tool_job job = { .env = &env,
				   .arena = &arena,
				   .output = on_output,
				   .picture = on_picture,
				   .done = on_done };

	th_arena_init(&arena, 4 * TH_MIB);
	th_jw_object(&w);
	th_jw_kstr(&w, "server", TH_STR("conformance"));
	th_jw_kstr(&w, "url", th_str_of(url));
	th_jw_kstr(&w, "tool", tool);
	th_jw_kraw(&w, "arguments", arguments);
	if (form.len)
		th_jw_kraw(&w, "form", th_buf_str(&form)); /* the person takes what is proposed */
	if (schema && !th_json_parse(arguments, &values, NULL)) {
		th_jw_name(&w, TH_STR("params"));
		th_jw_array(&w);
		th_mcp_headers_put(schema, th_json_root(values), &w);
		th_jw_array_end(&w);
	}
	th_jw_object_end(&w);
	args = th_arena_alloc(&arena, th_tool_mcp.arguments->size);
	if (th_json_parse(th_buf_str(&text), &doc, &err) ||
	    th_table_parse(th_tool_mcp.arguments, th_json_root(doc), &arena, args, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		exit(1);
	}
	job.args = args;
	th_tool_mcp.start(&job);
	th_loop_run(loop);
	th_json_free(doc);
	th_json_free(values);
	th_buf_deinit(&text);
	fprintf(stderr, "%.*s: %s %.*s\n", TH_FMT(tool.len ? tool : TH_STR("list")),
		th_outcome_name(ended), TH_FMT(th_str_sub(th_buf_str(&said), 0, 400)));
	return ended == TH_OUTCOME_DONE || (tool.len && ended == TH_OUTCOME_FAILED);
}

/* With as many logins as it wants, within reason. */
static bool call(const char *url, struct th_str tool, const struct th_json *schema,
		 struct th_str arguments)
{
	bool good = call_once(url, tool, schema, arguments);

	for (int i = 0; i < QUESTIONS_MAX && form.len; i++)
		good = call_once(url, tool, schema, arguments);
	for (int i = 0; i < LOGINS_MAX && login_wanted(url); i++) {
		if (!login_do(loop, env.fetcher, url))
			return false;
		good = call_once(url, tool, schema, arguments);
	}
	return good && !login_wanted(url);
}

static const struct th_json *schema_of(const struct th_json *tools, struct th_str name)
{
	struct th_json_iter it = th_json_iter(tools);

	while (th_json_is_array(tools) && th_json_next(&it))
		if (th_str_eq(th_json_get_str(it.val, "name"), name))
			return th_json_get(it.val, "inputSchema");
	return NULL;
}

/* A value for each member that the schema demands.  One that is called schema is given that of the
 * suite's own tool, as it was read. */
static void put_arguments(const struct th_json *tools, const struct th_json *schema,
			  struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(th_json_get(schema, "properties"));
	const struct th_json *focal = schema_of(tools, TH_STR("json_schema_2020_12_tool"));
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	while (th_json_is_object(it.parent) && th_json_next(&it)) {
		struct th_str type = th_json_get_str(it.val, "type");

		th_jw_key(&w, it.key);
		if (th_str_is(type, "number") || th_str_is(type, "integer"))
			th_jw_int(&w, 5);
		else if (th_str_is(type, "boolean"))
			th_jw_bool(&w, true);
		else if (th_str_is(type, "array"))
			th_jw_raw(&w, TH_STR("[]"));
		else if (th_str_is(it.key, "schema") && focal)
			th_jw_json(&w, focal);
		else if (th_str_is(type, "object"))
			th_jw_raw(&w, TH_STR("{}"));
		else
			th_jw_str(&w, TH_STR("text"));
	}
	th_jw_object_end(&w);
}

/* Those that the suite wants, else each once. */
static bool call_wanted(const char *url, const struct th_json *tools, bool *ret_good)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const char *context = getenv("MCP_CONFORMANCE_CONTEXT");
	struct th_json_iter it;

	if (!context || th_json_parse(th_str_of(context), &doc, NULL))
		return false;
	it = th_json_iter(th_json_get(th_json_root(doc), "toolCalls"));
	if (!th_json_is_array(it.parent))
		return false;
	while (*ret_good && th_json_next(&it)) {
		struct th_str name = th_json_get_str(it.val, "name");
		struct th_buf arguments = TH_BUF_INIT(TH_MIB);

		th_json_print(th_json_get(it.val, "arguments"), &arguments);
		*ret_good = call(url, name, schema_of(tools, name), th_buf_str(&arguments));
		th_buf_deinit(&arguments);
	}
	return true;
}

static bool call_all(const char *url)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;
	bool good = call(url, TH_STR(""), NULL, TH_STR("{}"));

	if (!good || th_json_parse(th_buf_str(&said), &doc, NULL))
		return false;
	it = th_json_iter(th_json_get(th_json_root(doc), "tools"));
	if (call_wanted(url, it.parent, &good))
		return good;
	while (good && th_json_is_array(it.parent) && th_json_next(&it)) {
		const struct th_json *schema = th_json_get(it.val, "inputSchema");
		struct th_buf arguments = TH_BUF_INIT(TH_MIB);

		put_arguments(it.parent, schema, &arguments);
		good = th_mcp_headers_fault(schema) ||
		       call(url, th_json_get_str(it.val, "name"), schema, th_buf_str(&arguments));
		th_buf_deinit(&arguments);
	}
	return good;
}

int main(int argc, char **argv)
{
	char state[] = "/tmp/mcp-client-XXXXXX";
	struct th_err err = {};
	bool good;

	if (argc < 2) {
		fprintf(stderr, "usage: %s URL\n", argv[0]);
		return 2;
	}
	th_buf_init(&said, TH_MIB);
	th_buf_init(&form, TH_MIB);
	if (!mkdtemp(state) || setenv("XDG_STATE_HOME", state, 1))
		return 1;
	if (th_loop_new(&loop, &err) || th_fetcher_new(loop, &env.fetcher, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	env.loop = loop;
	env.workspace = TH_STR("/workspace");
	env.workspace_fd = env.undo_fd = -1;
	good = call_all(argv[argc - 1]);
	th_mcp_processes_free(&env);
	th_fetcher_free(env.fetcher);
	th_loop_free(loop);
	th_buf_deinit(&said);
	th_buf_deinit(&form);
	(void)!th_dir_remove(state, &err);
	return good ? 0 : 1;
}
