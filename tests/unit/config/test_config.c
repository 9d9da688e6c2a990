/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "config/yaml.h"
#include "io/files.h"
#include "profiles/profiles.h"
#include "runtime/registry.h"

/* ---- YAML to JSON ---- */

struct pair {
	const char *yaml, *json; /* or the error */
};

static void to_json(const char *yaml, char *out, size_t size)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_err err = {};

	if (th_yaml_to_json(th_str_of(yaml), TH_STR("f.yaml"), &json, &err) != TH_OK)
		(void)snprintf(out, size, "%s", err.msg);
	else
		(void)snprintf(out, size, "%s", json.ptr);
}

static void check_pairs(const struct pair *pairs, size_t count)
{
	char found[1024];

	for (size_t i = 0; i < count; i++) {
		to_json(pairs[i].yaml, found, sizeof(found));
		if (strcmp(found, pairs[i].json) != 0)
			fail_msg("%s\n gave %s\n not  %s", pairs[i].yaml, found, pairs[i].json);
	}
}

static void test_scalars(void **state TH_UNUSED)
{
	static const struct pair pairs[] = {
		{ "~", "null" },
		{ "null", "null" },
		{ "NULL", "null" },
		{ "nULL", "\"nULL\"" },
		{ "true", "true" },
		{ "True", "true" },
		{ "FALSE", "false" },
		{ "on", "\"on\"" },
		{ "yes", "\"yes\"" },
		{ "no", "\"no\"" },
		{ "12", "12" },
		{ "+12", "12" },
		{ "-12", "-12" },
		{ "007", "7" },
		{ "0", "0" },
		{ "-0", "0" },
		{ "0o17", "15" },
		{ "0x1F", "31" },
		{ "0x", "\"0x\"" },
		{ "0o8", "\"0o8\"" },
		{ "0xg", "\"0xg\"" },
		{ "9223372036854775807", "9223372036854775807" },
		{ "1.5", "1.5" },
		{ "-.5", "-0.5" },
		{ "1.", "1.0" },
		{ "1e3", "1000.0" },
		{ "1E-2", "0.01" },
		{ ".", "\".\"" },
		{ "-", "[null]" },
		{ "1e", "\"1e\"" },
		{ "1_000", "\"1_000\"" },
		{ "12:30:45", "\"12:30:45\"" },
		{ "2026-01-01", "\"2026-01-01\"" },
		{ "'12'", "\"12\"" },
		{ "\"true\"", "\"true\"" },
		{ "'it''s'", "\"it's\"" },
		{ "\"\\u00e9\"", "\"\xc3\xa9\"" },
		{ "|\n  a\n  b\n", "\"a\\nb\\n\"" },
		{ ">-\n  a\n  b\n", "\"a b\"" },
		{ "gpt-5.4", "\"gpt-5.4\"" },
	};

	check_pairs(pairs, TH_COUNT(pairs));
}

static void test_structure(void **state TH_UNUSED)
{
	static const struct pair pairs[] = {
		{ "a: 1\nb:\n  - x\n  - {c: d}\n", "{\"a\":1,\"b\":[\"x\",{\"c\":\"d\"}]}" },
		{ "{\"a\": [1, 2.5, null, true, \"x\"]}", "{\"a\":[1,2.5,null,true,\"x\"]}" },
		{ "a:\nb: \"\"\n", "{\"a\":null,\"b\":\"\"}" },
		{ "1: one\ntrue: two\n", "{\"1\":\"one\",\"true\":\"two\"}" },
		{ "\xef\xbb\xbfx: 1", "{\"x\":1}" },
		{ "# a comment\nx: 1 # another\n", "{\"x\":1}" },
	};

	check_pairs(pairs, TH_COUNT(pairs));
}

static void test_refused(void **state TH_UNUSED)
{
	static const struct pair pairs[] = {
		{ "", "f.yaml: is empty" },
		{ "# only a comment\n", "f.yaml: is empty" },
		{ "a: &x 1\nb: *x\n",
		  "f.yaml:1: anchors (&name) are not taken; write the value out" },
		{ "a: 1\nb: *x\n", "f.yaml:2: aliases (*name) are not taken; write the value out" },
		{ "a: 1\n*x : 2\n",
		  "f.yaml:2: aliases (*name) are not taken; write the value out" },
		{ "a: !!int 1\n", "f.yaml:1: tags (!name) are not taken; put text in quotes" },
		{ "a:\n  !x\n  - 1\n", "f.yaml:2: tags (!name) are not taken; put text in quotes" },
		{ "a: 1\nb: 2\na: 3\n", "f.yaml:3: \"a\" stands here twice" },
		{ "a: {b: 1, b: 2}\n", "f.yaml:1: \"b\" stands here twice" },
		{ "? [1, 2]\n: 3\n", "f.yaml:1: a key must be text" },
		{ "a: 1\n---\nb: 2\n", "f.yaml:2: a second document begins; a file has one" },
		{ "a: .inf\n", "f.yaml:1: .inf is not a number that can be kept" },
		{ "a: -.INF\n", "f.yaml:1: -.INF is not a number that can be kept" },
		{ "a: 99999999999999999999\n", "f.yaml:1: 99999999999999999999 is too large a "
					       "number; put it in quotes to make it text" },
		{ "a: 1e999\n",
		  "f.yaml:1: 1e999 is too large a number; put it in quotes to make it text" },
		{ "a: 0xFFFFFFFFFFFFFFFFFF\n", "f.yaml:1: 0xFFFFFFFFFFFFFFFFFF is too large a "
					       "number; put it in quotes to make it text" },
		{ "a: \xff\n", "f.yaml:1: is not UTF-8 text" },
		{ "a: 1\nb: \x01\n", "f.yaml:1: not YAML: control characters are not allowed" },
	};
	char found[1024];

	check_pairs(pairs, TH_COUNT(pairs));
	to_json("a: [1, 2\nb: 3\n", found, sizeof(found));
	assert_non_null(strstr(found, "f.yaml:2: not YAML: "));
	to_json("a: b: c\n", found, sizeof(found));
	assert_non_null(strstr(found, "f.yaml:1: not YAML: "));
}

static void test_limits(void **state TH_UNUSED)
{
	struct th_buf yaml TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_CONFIG_SIZE_MAX);
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_CONFIG_SIZE_MAX);
	struct th_err err = {};

	for (int depth = TH_JSON_DEPTH_MAX; depth <= TH_JSON_DEPTH_MAX + 1; depth++) {
		th_buf_clear(&yaml);
		for (int i = 0; i < depth; i++)
			th_buf_add_char(&yaml, '[');
		for (int i = 0; i < depth; i++)
			th_buf_add_char(&yaml, ']');
		assert_int_equal(th_yaml_to_json(th_buf_str(&yaml), TH_STR("f"), &json, &err),
				 depth > TH_JSON_DEPTH_MAX ? TH_ELIMIT : TH_OK);
	}
	for (int count = TH_CONFIG_KEYS_MAX; count <= TH_CONFIG_KEYS_MAX + 1; count++) {
		th_buf_clear(&yaml);
		for (int i = 0; i < count; i++)
			th_buf_printf(&yaml, "k%d: {k: 1}\n", i);
		assert_int_equal(th_yaml_to_json(th_buf_str(&yaml), TH_STR("f"), &json, &err),
				 count > TH_CONFIG_KEYS_MAX ? TH_ELIMIT : TH_OK);
	}
	for (size_t size = TH_CONFIG_SIZE_MAX; size <= TH_CONFIG_SIZE_MAX + 1; size++) {
		th_buf_clear(&yaml);
		th_buf_clear(&json);
		th_buf_add_cstr(&yaml, "# ");
		while (yaml.len < size - 5)
			th_buf_add_char(&yaml, 'x');
		th_buf_add_cstr(&yaml, "\na: 1");
		assert_int_equal(th_yaml_to_json(th_buf_str(&yaml), TH_STR("f"), &json, &err),
				 size > TH_CONFIG_SIZE_MAX ? TH_ELIMIT : TH_OK);
	}
}

static void test_lines(void **state TH_UNUSED)
{
	struct th_str yaml = TH_STR("a: 1\n"
				    "b:\n"
				    "  - x\n"
				    "  - c: 2\n"
				    "    dd: 3\n"
				    "    d: 4\n");

	assert_int_equal(th_yaml_line(yaml, TH_STR("a")), 1);
	assert_int_equal(th_yaml_line(yaml, TH_STR("b")), 2);
	assert_int_equal(th_yaml_line(yaml, TH_STR("b[0]")), 3);
	assert_int_equal(th_yaml_line(yaml, TH_STR("b[1].c")), 4);
	assert_int_equal(th_yaml_line(yaml, TH_STR("b[1].dd")), 5);
	assert_int_equal(th_yaml_line(yaml, TH_STR("b[1].d")), 6);
	assert_int_equal(th_yaml_line(yaml, TH_STR("b[1].gone")), 4);
	assert_int_equal(th_yaml_line(yaml, TH_STR("gone")), 1);
	assert_int_equal(th_yaml_line(yaml, TH_STR("")), 1);
}

/* ---- agent files ---- */

static enum th_code agent_of(const char *yaml, struct th_arena *a, struct th_agent *ret,
			     struct th_err *err)
{
	return th_agent_parse(th_str_of(yaml), TH_STR("agents/x.yaml"), a, ret, err);
}

static void test_agent(void **state TH_UNUSED)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_agent agent;
	struct th_err err = {};

	th_arena_init(&a, TH_MIB);
	assert_int_equal(
	    agent_of("name: painter\n"
		     "instructions: |\n  Paint.\n"
		     "model: gpt-5.4\n"
		     "fallback: [claude-sonnet-4-5, 'vllm/x']\n"
		     "computer: {kind: desktop, width: 800, height: 600, start: [xterm]}\n"
		     "limits:\n  turns: 7\n  cost_usd: 1\n"
		     "tools: [shell, read_file]\n"
		     "approve: [computer, all]\n"
		     "environment: [A=b, C=]\n"
		     "workspace: work\n"
		     "net: host\n",
		     &a, &agent, &err),
	    TH_OK);
	assert_true(th_str_is(agent.name, "painter"));
	assert_true(th_str_is(agent.instructions, "Paint.\n"));
	assert_int_equal(agent.limits->turns, 7);
	assert_true(agent.limits->cost_usd == 1.0);
	assert_int_equal(agent.computer->width, 800);
	assert_true(th_str_is(agent.computer->start, "[\"xterm\"]"));
	assert_int_equal(agent.tools.count, 2);
	assert_true(th_str_is(agent.fallback.list[1], "vllm/x"));
	assert_true(th_str_is(agent.environment.list[1], "C="));
	assert_true(th_str_is(agent.workspace, "agents/work"));
	assert_int_equal(th_net_kind_of(agent.net), TH_NET_HOST);
	assert_null(agent.settings);

	assert_int_equal(agent_of("model: m\n", &a, &agent, &err), TH_OK);
	assert_true(th_str_is(agent.name, "default"));
	assert_true(agent.instructions.len > 0);
}

/* From a mapping in `tools` to a row, through what the log stores. */
static void test_agent_commands(void **state TH_UNUSED)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_jw w = th_jw(&text);
	struct th_tool_row *rows;
	const struct th_agent_command *c;
	struct th_agent agent, again;
	struct th_err err = {};
	size_t count;

	th_arena_init(&a, TH_MIB);
	if (agent_of("tools:\n"
		     "- {name: one, command: [one, -x], class: keyed, timeout_s: 5}\n"
		     "- shell\n"
		     "- {name: two, command: [./two], approve: true, parameters: {type: object}}\n"
		     "approve: [one]\n",
		     &a, &agent, &err))
		fail_msg("%s", err.msg);
	th_table_print(&th_agent_table, &agent, &w);
	assert_int_equal(th_json_parse(th_buf_str(&text), &doc, &err), TH_OK);
	assert_int_equal(th_table_parse(&th_agent_table, th_json_root(doc), &a, &again, &err),
			 TH_OK);
	assert_int_equal(th_registry_rows(&again, NULL, 0, NULL, &a, &rows, &count, &err), TH_OK);
	assert_int_equal(count, 3);
	assert_true(th_str_is(rows[0].spec.name, "one"));
	assert_int_equal(rows[0].spec.class, TH_CLASS_K);
	assert_true(rows[0].check && !rows[0].spec.ask);
	assert_int_equal(rows[0].command->timeout_s, 5);
	assert_true(th_str_is(rows[0].command->command.list[1], "-x"));
	assert_true(th_str_is(rows[1].spec.name, "shell") && !rows[1].command && !rows[1].check);
	assert_int_equal(rows[2].spec.class, TH_CLASS_W);
	assert_true(rows[2].spec.ask);
	assert_true(th_str_is(rows[2].spec.schema, "{\"type\":\"object\"}"));
	/* The same in the other agents of a file. */
	if (agent_of(
		"handoffs: [b]\nagents:\n  b:\n    tools: [{name: x, command: [bin/x, a/b]}]\n", &a,
		&again, &err))
		fail_msg("%s", err.msg);
	assert_true(th_str_find(again.agents, TH_STR("\"tools\":[\"x\"],\"commands\":[{")) > 0);
	assert_true(th_str_find(again.agents, TH_STR("/agents/bin/x\",\"a/b\"]")) > 0);
	assert_int_equal(agent_of("agents:\n  b:\n    tools: [{command: [x]}]\n", &a, &again, &err),
			 TH_EUSAGE);
	assert_non_null(strstr(err.msg, "agents.b tools[0]: needs a name"));
	/* A program with a slash is beside the file, and absolute. */
	c = rows[2].command;
	assert_true(c->command.list[0].ptr[0] == '/');
	assert_true(th_str_ends(c->command.list[0], TH_STR("/agents/./two")));
}

static void test_agent_errors(void **state TH_UNUSED)
{
	static const struct pair pairs[] = {
		{ "[1]", "agents/x.yaml:1: the file must be an object, not a list" },
		{ "name: a\nhosted_tools:\n- type: function\n",
		  "agents/x.yaml:2: hosted_tools is for what the provider runs itself, such as "
		  "web_search: each has such a type" },
		{ "name: a\nhandoffs: [b]\n",
		  "agents/x.yaml: handoffs: there is no agent named \"b\"; the agents are a" },
		{ "name: a\nagents:\n  b:\n    guardrails: [{name: g}]\n",
		  "agents/x.yaml: agents.b: guardrails[0].stage: is missing" },
		{ "name: a\nlimits:\n  turns: many\n",
		  "agents/x.yaml:3: limits.turns must be an integer, not a string" },
		{ "name: a\nlimits:\n  cost_usd: 1\n  turns: 0\n",
		  "agents/x.yaml:4: limits.turns must be above 0" },
		{ "name: a\n\ntols: [shell]\n",
		  "agents/x.yaml:3: tols is not known; did you mean \"tools\"?" },
		{ "name: a\ntools: [shell, red_file]\n",
		  "agents/x.yaml:2: tools[1] is \"red_file\", which is not a tool; did you mean "
		  "\"read_file\"?" },
		{ "approve:\n- everything\n",
		  "agents/x.yaml:2: approve[0] is \"everything\", which is no tool of this agent" },
		{ "tools: [bash, edit]\napprove: [shell, write_file, search]\n",
		  "agents/x.yaml:2: approve[2] is \"search\", which is no tool of this agent; it "
		  "has: bash, edit" },
		{ "tools: [shell]\nrules:\n- {tool: terminal, decide: ask}\n"
		  "- {tool: grep, decide: ask}\n",
		  "agents/x.yaml:4: rules[1].tool is \"grep\", which is no tool of this agent; it "
		  "has: shell" },
		{ "tools: [none]\nquarantine: ['f*', fetch]\n",
		  "agents/x.yaml:2: quarantine[1] is \"fetch\", which is no tool of this agent; it "
		  "has: none" },
		{ "tools: [think]\nguardrails: [{name: g, stage: tool_input, tools: [bash]}]\n",
		  "agents/x.yaml:2: guardrails[0].tools[0] is \"bash\", which is no tool of this "
		  "agent; it has: think" },
		{ "agents:\n  b:\n    approve: [python]\n",
		  "agents/x.yaml:3: agents.b.approve[0] is \"python\", which is no tool of this "
		  "agent; it has: "
		  "bash, edit, search" },
		{ "tools:\n- shell\n- {name: a b, command: [x]}\n",
		  "agents/x.yaml:3: tools[1].name must be 1 to 64 letters, digits, \"_\" and "
		  "\"-\", "
		  "not \"a b\"" },
		{ "tools:\n- {name: shell, command: [x]}\n",
		  "agents/x.yaml:2: tools[0].name is \"shell\", which is a tool of ours" },
		{ "tools:\n- {name: x, command: [x]}\n- {name: x, command: [x]}\n",
		  "agents/x.yaml:3: tools[1].name is \"x\" a second time" },
		{ "tools:\n- shell\n- name: x\n  comand: [x]\n",
		  "agents/x.yaml:4: tools[1].comand is not known; did you mean \"command\"?" },
		{ "tools:\n- name: x\n",
		  "agents/x.yaml:2: tools[0].command is missing; or name a function with "
		  "script, or an agent" },
		{ "tools:\n- name: x\n  command: []\n",
		  "agents/x.yaml:3: tools[0].command must not be empty" },
		{ "tools:\n- name: x\n  command: ['']\n",
		  "agents/x.yaml:3: tools[0].command names no program" },
		{ "tools:\n- name: x\n  command: [y]\n  class: safe\n",
		  "agents/x.yaml:4: tools[0].class must be write, read, keyed or irreversible, not "
		  "\"safe\"" },
		{ "tools:\n- name: x\n  command: [y]\n  parameters: [1]\n",
		  "agents/x.yaml:4: tools[0].parameters must be a JSON Schema, an object" },
		{ "tools:\n- command: [y]\n",
		  "agents/x.yaml:2: tools[0] needs a name, which is a string" },
		{ "commands: []\ntools:\n- {name: x, command: [y]}\n",
		  "agents/x.yaml:1: commands stand in tools, beside the names, not here" },
		{ "tools: [command]\n",
		  "agents/x.yaml:1: tools[0] is \"command\", which is not a tool" },
		{ "settings:\n  history: previous_response\n  store: false\n",
		  "agents/x.yaml:3: settings.store cannot be false with history: "
		  "previous_response, "
		  "which goes on from answers that the provider has kept" },
		{ "settings: {store: 1}\n",
		  "agents/x.yaml:1: settings.store must be true or false" },
		{ "settings: {parallel_tool_calls: 1}\n",
		  "agents/x.yaml:1: settings.parallel_tool_calls must be true or false" },
		{ "settings:\n  extra_body: [1]\n",
		  "agents/x.yaml:2: settings.extra_body must be an object" },
		{ "settings: {extra_headers: x}\n",
		  "agents/x.yaml:1: settings.extra_headers must be an object: name -> value" },
		{ "settings: {extra_headers: {X: 1}}\n",
		  "agents/x.yaml:1: settings.extra_headers must have names of letters, digits, - "
		  "and _, and values of printable ASCII characters" },
		{ "settings: {extra_headers: {X: \"a\\nY: b\"}}\n",
		  "agents/x.yaml:1: settings.extra_headers must have names of letters, digits, - "
		  "and _, and values of printable ASCII characters" },
		{ "settings: {extra_headers: {AUTHORIZATION: x}}\n",
		  "agents/x.yaml:1: settings.extra_headers is in the log for all to read: a key "
		  "comes from the environment or --api-key-file" },
		{ "settings: {extra_headers: {Content-length: '5'}}\n",
		  "agents/x.yaml:1: settings.extra_headers has a header that belongs to the "
		  "connection" },
		{ "settings: {extra_headers: {A: '', B: '', C: '', D: '', E: '', F: '', G: '', H: "
		  "'', I: '', J: '', K: '', L: '', M: '', N: '', O: '', P: '', Q: ''}}\n",
		  "agents/x.yaml:1: settings.extra_headers has more than 16" },
		{ "model: a\nlabels: [gpu, EU]\n",
		  "agents/x.yaml:2: labels[1] must be 1 to 24 of a-z, 0-9, \"-\", \"_\" and "
		  "\".\"" },
		{ "model: a\nfallback:\n- b\n- b\n",
		  "agents/x.yaml:4: fallback[1] stands there twice" },
		{ "environment:\n- A\n", "agents/x.yaml:2: environment[0] must be NAME=value" },
		{ "environment:\n  A: b\n",
		  "agents/x.yaml:1: environment must be a list of strings, not an object" },
		{ "net: all\n", "agents/x.yaml:1: net must be none, host or a list of hosts" },
		{ "computer: {width: 10}\n", "agents/x.yaml:1: computer.kind is missing" },
		{ "computer:\n  kind: desktop\n  width: 10\n",
		  "agents/x.yaml:3: computer.width needs its partner: give width and height, or "
		  "neither" },
		{ "computer:\n  kind: desktop\n  width: 10\n  height: 100000\n",
		  "agents/x.yaml:4: computer.height must be at most 16384" },
		{ "computer:\n  kind: desktop\n  width: 16384\n  height: 4097\n",
		  "agents/x.yaml:4: computer.height must be at most 4096 with this width: a "
		  "screen has at most 67108864 pixels" },
		{ "computer:\n  kind: desktop\n  display: ':0'\n",
		  "agents/x.yaml:3: computer.display is only for x11" },
		{ "computer:\n  kind: desktop\n  bus: display\n",
		  "agents/x.yaml:3: computer.bus is only for x11" },
		{ "computer:\n  kind: x11\n  ocr: bin/read\n",
		  "agents/x.yaml:3: computer.ocr must be an absolute path" },
		{ "computer:\n  kind: desktop\n  start: xterm\n",
		  "agents/x.yaml:3: computer.start must be a list of commands" },
		{ "computer:\n  kind: desktop\n  start: [xterm, '']\n",
		  "agents/x.yaml:3: computer.start[1] must be a command, or {run: COMMAND, window: "
		  "false}" },
		{ "computer:\n  kind: desktop\n  start: [{run: ''}]\n",
		  "agents/x.yaml:3: computer.start[0].run must be a command" },
		{ "computer:\n  kind: desktop\n  start: [{run: xterm, window: no way}]\n",
		  "agents/x.yaml:3: computer.start[0].window must be true or false" },
		{ "computer:\n  kind: desktop\n  start: [{run: xterm, windows: false}]\n",
		  "agents/x.yaml:3: computer.start[0].windows is not known; run and window are" },
		{ "computer:\n  kind: desktop\n  start: [xterm]\n  start_wait_s: 61\n",
		  "agents/x.yaml:4: computer.start_wait_s must be at most 60" },
		{ "computer:\n  kind: x11\n  start_wait_s: 5\n",
		  "agents/x.yaml:3: computer.start_wait_s is only for desktop or browser_window" },
		{ "computer:\n  kind: x11\n  start: [xterm]\n",
		  "agents/x.yaml:3: computer.start is only for desktop or browser_window" },
		{ "computer:\n  kind: x11\n  width: 800\n  height: 600\n",
		  "agents/x.yaml:3: computer.width is only for desktop, browser or "
		  "browser_window" },
		{ "computer:\n  kind: desktop\n  options: {host: x}\n",
		  "agents/x.yaml:3: computer.options does not fit: a computer of kind desktop has "
		  "no options of its own" },
		{ "name: ''\n", "agents/x.yaml:1: name must not be empty" },
		{ "output_schema: person\n", "agents/x.yaml: output_schema must be a JSON Schema "
					     "(an object with type, properties …)" },
		{ "output_schema: [{type: string}]\n",
		  "agents/x.yaml: output_schema must be a JSON Schema (an object with type, "
		  "properties …)" },
		{ "output_schema: {type: strang}\n",
		  "agents/x.yaml: output_schema.type must be one of null, boolean, integer, "
		  "number, "
		  "string, array and object, or a list of some" },
		{ "output_schema: {type: [string, nul]}\n",
		  "agents/x.yaml: output_schema.type must be one of null, boolean, integer, "
		  "number, "
		  "string, array and object, or a list of some" },
		{ "agents:\n  b:\n    output_schema: {type: {}}\n",
		  "agents/x.yaml: output_schema.type must be one of null, boolean, integer, "
		  "number, "
		  "string, array and object, or a list of some" },
		{ "output_schema: {properties: {n: {type: integer}}, required: [n]}\n"
		  "instead: {max_turns: too many}\n",
		  "agents/x.yaml: instead.max_turns does not fit output_schema: not JSON: line 1, "
		  "column 1: invalid literal, expected a valid literal such as 'true', near too "
		  "many" },
		{ "output_schema: {properties: {n: {type: integer}}, required: [n]}\n"
		  "instead: {invalid_output: {output: {n: a}, in_history: false}}\n",
		  "agents/x.yaml: instead.invalid_output does not fit output_schema: n: must be an "
		  "integer, not \"a\"" },
		{ "agents:\n  b:\n    output_schema: {required: [n]}\n    instead: {refusal: {}}\n",
		  "agents/x.yaml: instead.refusal does not fit output_schema: \"n\" is missing" },
	};
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_agent agent;
	struct th_err err = {};

	th_arena_init(&a, TH_MIB);
	for (size_t i = 0; i < TH_COUNT(pairs); i++) {
		assert_int_equal(agent_of(pairs[i].yaml, &a, &agent, &err), TH_EUSAGE);
		assert_string_equal(err.msg, pairs[i].json);
	}
	assert_int_equal(agent_of("computer: {kind: deskop}\n", &a, &agent, &err), TH_EUSAGE);
	assert_non_null(strstr(err.msg, "agents/x.yaml:1: computer.kind must be "));
	assert_int_equal(th_agent_load(TH_STR("/nonexistent/x.yaml"), &a, &agent, &err), TH_ENOENT);
	assert_non_null(strstr(err.msg, "/nonexistent/x.yaml"));
}

/* As many as allowed, and one more. */
static void test_agent_maxima(void **state TH_UNUSED)
{
	static const struct {
		const char *before, *each, *after; /* each NULL: a header of another name */
		size_t max;
		const char *said;
	} rows[] = {
		{ "{\"rules\":[", "{\"tool\":\"a\",\"decide\":\"run\"},", "]}", TH_RULES_MAX,
		  "has more than 128" },
		{ "{\"computer\":{\"kind\":\"desktop\",\"start\":[", "\"a\",", "]}}",
		  TH_DESKTOP_START_MAX, "computer.start has more than 16 commands" },
		{ "{\"rules\":[{\"decide\":\"run\",\"tool\":\"", "a", "\"}]}", TH_RULE_PATTERN_MAX,
		  "rules[0].tool has at most 1024 bytes" },
		{ "{\"rules\":[{\"decide\":\"run\",\"domain\":\"", "a", "\"}]}",
		  TH_RULE_PATTERN_MAX, "rules[0].domain has at most 1024 bytes" },
		{ "{\"tools\":[{\"name\":\"t\",\"command\":[", "\"w\",", "]}]}",
		  TH_COMMAND_ARGV_MAX, "has 65 words, more than 64" },
		{ "{\"settings\":{\"extra_headers\":{", NULL, "}}}", TH_EXTRA_HEADERS_MAX,
		  "settings.extra_headers has more than 16" },
		{ "{\"settings\":{\"extra_headers\":{\"X\":\"", "a", "\"}}}",
		  TH_EXTRA_HEADERS_SIZE_MAX - sizeof("{\"X\":\"\"}") + 1,
		  "settings.extra_headers has more than 4096 bytes" },
	};

	for (size_t i = 0; i < 2 * TH_COUNT(rows); i++) {
		size_t more = i % 2;
		struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
		struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
		struct th_agent agent;
		struct th_err err = {};
		enum th_code code;

		th_arena_init(&a, TH_MIB);
		th_buf_add_cstr(&text, rows[i / 2].before);
		for (size_t n = 0; n < rows[i / 2].max + more; n++)
			if (rows[i / 2].each)
				th_buf_add_cstr(&text, rows[i / 2].each);
			else
				th_buf_printf(&text, "\"X%zu\":\"a\",", n);
		if (text.ptr[text.len - 1] == ',')
			th_buf_truncate(&text, text.len - 1);
		th_buf_add_cstr(&text, rows[i / 2].after);
		th_buf_add_mem(&text, "\n", 2);
		code = agent_of(text.ptr, &a, &agent, &err);
		if (code != (more ? TH_EUSAGE : TH_OK) ||
		    (more && !strstr(err.msg, rows[i / 2].said)))
			fail_msg("%zu: %s", i, err.msg);
	}
}

static void test_agent_copy(void **state TH_UNUSED)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {}, b TH_CLEANUP(th_arena_deinit) = {};
	struct th_arena small TH_CLEANUP(th_arena_deinit) = {};
	struct th_buf before TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_buf after TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_agent agent, copy;
	struct th_err err = {};
	struct th_jw w;

	th_arena_init(&a, TH_MIB);
	th_arena_init(&b, TH_MIB);
	th_arena_init(&small, 16);
	assert_int_equal(
	    agent_of("name: a\ntools: [shell]\nlimits: {turns: 3}\nmodel: m\n", &a, &agent, &err),
	    TH_OK);
	w = th_jw(&before);
	th_table_print(&th_agent_table, &agent, &w);
	assert_int_equal(th_agent_copy(&agent, &b, &copy, &err), TH_OK);
	assert_int_equal(th_agent_copy(&agent, &small, &copy, &err), TH_ELIMIT);
	assert_int_equal(th_agent_copy(&agent, &b, &copy, &err), TH_OK);
	th_arena_deinit(&a);
	w = th_jw(&after);
	th_table_print(&th_agent_table, &copy, &w);
	assert_string_equal(before.ptr, after.ptr);
}

static void test_examples(void **state TH_UNUSED)
{
	static const char *const names[] = { "desktop",   "coder", "browser-form",
					     "approvals", "tools", "script" };
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	const char *folder_of = getenv("EXAMPLES");
	struct th_agent agent;
	struct th_err err = {};
	char path[512];

	th_arena_init(&a, TH_MIB);
	if (!folder_of)
		skip();
	for (size_t i = 0; i < TH_COUNT(names); i++) {
		struct th_tool_row *rows;
		const struct th_profile *profile;
		struct th_str model;
		size_t count;

		(void)snprintf(path, sizeof(path), "%s/%s.yaml", folder_of, names[i]);
		if (th_agent_load(th_str_of(path), &a, &agent, &err) != TH_OK)
			fail_msg("%s", err.msg);
		assert_true(th_str_is(agent.name, names[i]));
		assert_int_equal(th_registry_rows(&agent, NULL, 0, NULL, &a, &rows, &count, &err),
				 TH_OK);
		assert_int_equal(th_model_resolve(agent.model, &profile, &model, &err), TH_OK);
	}
}

/* ---- the configuration ---- */

static char folder[] = "/tmp/th-config-XXXXXX";

static const char *write_file(const char *name, const char *text)
{
	static char path[256];
	struct th_err err = {};

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(th_file_write(path, th_str_of(text), 0600, &err), TH_OK);
	return path;
}

static int set_up(void **state TH_UNUSED)
{
	if (!mkdtemp(folder))
		return -1;
	setenv("HOME", folder, 1);
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("XDG_STATE_HOME");
	unsetenv("OPENAI_API_KEY");
	unsetenv("OPENAI_BASE_URL");
	unsetenv("THOLE_MODEL");
	unsetenv("THOLE_STORE");
	unsetenv("THOLE_MODELS");
	return 0;
}

static int tear_down(void **state TH_UNUSED)
{
	struct th_err err = {};

	return th_dir_remove(folder, &err) == TH_OK ? 0 : -1;
}

static const struct th_profile *openai(void)
{
	for (const struct th_profile *p = th_profile_next(NULL); p; p = th_profile_next(p))
		if (p->key_env && strcmp(p->key_env, "OPENAI_API_KEY") == 0 && p->base_url)
			return p;
	fail_msg("no profile with OPENAI_API_KEY");
	return NULL;
}

static void test_config_order(void **state TH_UNUSED)
{
	const struct th_profile *p = openai();
	struct th_config *c TH_CLEANUP(th_config_freep) = NULL;
	struct th_buf hint TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(256);
	struct th_err err = {};
	char path[256];

	assert_int_equal(th_config_load(TH_STR(""), &c, &err), TH_OK);
	assert_int_equal(c->model.len, 0);
	assert_true(th_str_starts(c->store, TH_STR("sqlite:/")));
	assert_int_equal(c->executor_linger_s, 600);
	assert_null(th_config_key(c, p, th_config_base_url(c, p)));
	assert_true(th_str_is(th_config_base_url(c, p), p->base_url));
	th_config_key_hint(c, p, &hint);
	assert_string_equal(hint.ptr, "set OPENAI_API_KEY, or give --api-key-file FILE");
	c = th_config_free(c);

	(void)write_file("key", "  from-file \n");
	(void)snprintf(path, sizeof(path), "%s",
		       write_file("c.yaml", "model: m1\nstore: 'memory:'\nbase_url: http://file\n"
					    "api_key_file: key\nexecutor_linger_s: 5\n"));
	assert_int_equal(th_config_load(th_str_of(path), &c, &err), TH_OK);
	assert_true(th_str_is(c->model, "m1"));
	assert_true(th_str_is(c->store, "memory:"));
	assert_int_equal(c->executor_linger_s, 5);
	assert_true(
	    th_secret_eq(th_config_key(c, p, th_config_base_url(c, p)), TH_STR("from-file")));
	assert_null(th_config_key(c, p, TH_STR("http://elsewhere")));
	assert_true(th_str_is(th_config_base_url(c, p), "http://file"));
	c = th_config_free(c);

	setenv("OPENAI_API_KEY", "from-env", 1);
	setenv("OPENAI_BASE_URL", "http://env", 1);
	setenv("THOLE_MODEL", "m2", 1);
	setenv("THOLE_STORE", "sqlite:/x", 1);
	assert_int_equal(th_config_load(th_str_of(path), &c, &err), TH_OK);
	assert_true(th_str_is(c->model, "m2"));
	assert_true(th_str_is(c->store, "sqlite:/x"));
	assert_true(
	    th_secret_eq(th_config_key(c, p, th_config_base_url(c, p)), TH_STR("from-env")));
	assert_true(th_str_is(th_config_base_url(c, p), "http://env"));
	th_config_set_key(c, TH_STR("given"));
	c->base_url = TH_STR("http://option");
	assert_true(th_secret_eq(th_config_key(c, p, th_config_base_url(c, p)), TH_STR("given")));
	assert_true(th_secret_eq(th_config_own_key(c, p, TH_STR("")), TH_STR("from-env")));
	assert_true(th_str_is(th_config_provider_url(c, p), "http://env"));
	assert_true(th_str_is(th_config_base_url(c, p), "http://option"));
	unsetenv("OPENAI_API_KEY");
	unsetenv("OPENAI_BASE_URL");
	unsetenv("THOLE_MODEL");
	unsetenv("THOLE_STORE");
}

static const struct th_profile *profile(const char *name)
{
	const struct th_profile *p;
	struct th_str sent;
	struct th_err err;

	assert_int_equal(th_model_resolve(th_str_of(name), &p, &sent, &err), TH_OK);
	return p;
}

/* A key of the configuration never goes to whatever provider a command names. */
static void test_whose_key_it_is(void **unused)
{
	static const struct {
		const char *file, *mine, *others; /* models */
	} rows[] = {
		{ "model: gpt-5.4\napi_key: k\n", "computer-use-preview", "claude-sonnet-4-5" },
		{ "model: claude-sonnet-4-5\napi_key: k\n", "claude-opus-4-1", "gpt-5.4" },
		{ "model: gta1-7b+gpt-5.4\napi_key: k\n", "gpt-5.4", "gemini-3-pro" },
		{ "model: no/such//model\napi_key: k\n", NULL, "gpt-5.4" },
	};
	struct th_config *c TH_CLEANUP(th_config_freep) = NULL;
	struct th_buf hint TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const struct th_profile *p;
	struct th_err err = {};
	char path[256];

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		(void)snprintf(path, sizeof(path), "%s", write_file("k.yaml", rows[i].file));
		assert_int_equal(th_config_load(th_str_of(path), &c, &err), TH_OK);
		if (rows[i].mine) {
			p = profile(rows[i].mine);
			assert_true(th_secret_eq(th_config_key(c, p, th_config_base_url(c, p)),
						 TH_STR("k")));
		}
		p = profile(rows[i].others);
		assert_null(th_config_key(c, p, th_config_base_url(c, p)));
		c = th_config_free(c);
	}
	(void)snprintf(path, sizeof(path), "%s", write_file("k.yaml", rows[0].file));
	assert_int_equal(th_config_load(th_str_of(path), &c, &err), TH_OK);
	th_config_key_hint(c, profile("claude-sonnet-4-5"), &hint);
	assert_non_null(strstr(hint.ptr, "set ANTHROPIC_API_KEY, or give --api-key-file FILE"));
	assert_non_null(strstr(hint.ptr, "is for gpt-5.4)"));
	c = th_config_free(c);
	/* With neither beside it nobody knows. */
	(void)snprintf(path, sizeof(path), "%s", write_file("k.yaml", "api_key: sesame\n"));
	assert_int_equal(th_config_load(th_str_of(path), &c, &err), TH_EUSAGE);
	assert_non_null(strstr(err.msg, "put base_url or model beside it"));
	assert_null(strstr(err.msg, "sesame"));
}

/* Which file is read, whose key goes where, and where a mistake stands. */
static void test_models_file(void **state TH_UNUSED)
{
	struct th_config *c TH_CLEANUP(th_config_freep) = NULL;
	const struct th_profile *p;
	struct th_err err = {};
	const char *examples = getenv("EXAMPLES");
	char path[256], other[512];

	assert_int_equal(th_config_load(TH_STR(""), &c, &err), TH_OK);
	assert_int_equal(th_config_models(c, TH_STR(""), &err), TH_OK); /* none is no error */
	assert_int_equal(c->profiles.count, 0);
	assert_int_equal(th_config_models(c, TH_STR("/nonexistent/m.yaml"), &err), TH_ENOENT);
	c = th_config_free(c);

	(void)write_file("m.yaml",
			 "models:\n"
			 "  - {name: a, like: gpt-5, base_url: 'http://a', key_env: TH_A_KEY}\n"
			 "  - {name: b, like: gpt-5, base_url: 'http://b'}\n"
			 "  - {name: c, like: gpt-5}\n");
	(void)snprintf(
	    path, sizeof(path), "%s",
	    write_file("e.yaml", "models: m.yaml\napi_key: sesame\nbase_url: http://f\n"));
	setenv("TH_A_KEY", "for-a", 1);
	assert_int_equal(th_config_load(th_str_of(path), &c, &err), TH_OK);
	assert_int_equal(th_config_models(c, TH_STR(""), &err), TH_OK);
	unsetenv("TH_A_KEY");
	assert_int_equal(c->profiles.count, 3);
	assert_true(th_str_ends(c->models_file, TH_STR("/m.yaml")));
	p = c->profiles.rows;
	assert_true(
	    th_secret_eq(th_config_key(c, &p[0], th_config_base_url(c, &p[0])), TH_STR("for-a")));
	assert_null(th_config_key(
	    c, &p[1], th_config_base_url(c, &p[1]))); /* a server of its own: not the general key */
	assert_true(
	    th_secret_eq(th_config_key(c, &p[2], th_config_base_url(c, &p[2])), TH_STR("sesame")));
	assert_true(th_str_is(th_config_base_url(c, &p[1]), "http://b"));
	assert_true(th_str_is(th_config_base_url(c, &p[2]), "http://f"));
	c->base_url = TH_STR("http://option");
	assert_true(th_str_is(th_config_base_url(c, &p[1]), "http://option"));
	c = th_config_free(c);

	/* The variable before the configuration, the option before both. */
	(void)snprintf(other, sizeof(other), "%s",
		       write_file("n.yaml", "models:\n"
					    "- name: x\n"
					    "  wire: chat\n"
					    "- name: y\n"
					    "  wire: chat\n"
					    "  base_url: ftp://x\n"));
	setenv("THOLE_MODELS", other, 1);
	assert_int_equal(th_config_load(th_str_of(path), &c, &err), TH_OK);
	assert_int_equal(th_config_models(c, TH_STR(""), &err), TH_EUSAGE);
	assert_non_null(strstr(err.msg, "n.yaml:6: models[1].base_url"));
	unsetenv("THOLE_MODELS");
	(void)write_file("n.yaml", "models:\n- name: x\n  wire: chat\n  dialect: qwem\n");
	assert_int_equal(th_config_models(c, th_str_of(other), &err), TH_EUSAGE);
	assert_non_null(strstr(err.msg, "n.yaml:4: models[0].dialect is \"qwem\""));
	(void)write_file("n.yaml", "models: 1\n");
	assert_int_equal(th_config_models(c, th_str_of(other), &err), TH_EUSAGE);
	assert_non_null(strstr(err.msg, "n.yaml:1: models must be a list"));
	assert_int_equal(c->profiles.count, 0);
	if (examples) {
		(void)snprintf(other, sizeof(other), "%s/models.yaml", examples);
		if (th_config_models(c, th_str_of(other), &err) != TH_OK)
			fail_msg("%s", err.msg);
		assert_int_equal(c->profiles.count, 4);
	}
}

static void test_config_errors(void **state TH_UNUSED)
{
	struct th_config *c TH_CLEANUP(th_config_freep) = NULL;
	struct th_err err = {};
	char path[256];

	assert_int_equal(th_config_load(TH_STR("/nonexistent/c.yaml"), &c, &err), TH_ENOENT);
	(void)snprintf(path, sizeof(path), "%s", write_file("d.yaml", "model: m\nstor: x\n"));
	assert_int_equal(th_config_load(th_str_of(path), &c, &err), TH_EUSAGE);
	assert_non_null(strstr(err.msg, "d.yaml:2: stor is not known; did you mean \"store\"?"));
	(void)write_file("d.yaml", "api_key: sesame\napi_key_file: x\n");
	assert_int_equal(th_config_load(th_str_of(path), &c, &err), TH_EUSAGE);
	assert_null(strstr(err.msg, "sesame"));
	(void)write_file("d.yaml", "model: m\napi_key_file: gone\n");
	assert_int_equal(th_config_load(th_str_of(path), &c, &err), TH_ENOENT);
	(void)write_file("two", "sesame\nopen\n");
	(void)write_file("d.yaml", "model: m\napi_key_file: two\n");
	assert_int_equal(th_config_load(th_str_of(path), &c, &err), TH_EUSAGE);
	assert_null(strstr(err.msg, "sesame"));
	assert_null(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scalars),      cmocka_unit_test(test_structure),
		cmocka_unit_test(test_refused),      cmocka_unit_test(test_limits),
		cmocka_unit_test(test_lines),        cmocka_unit_test(test_agent),
		cmocka_unit_test(test_agent_errors), cmocka_unit_test(test_agent_commands),
		cmocka_unit_test(test_agent_maxima), cmocka_unit_test(test_examples),
		cmocka_unit_test(test_models_file),  cmocka_unit_test(test_agent_copy),
		cmocka_unit_test(test_config_order), cmocka_unit_test(test_scalars),
		cmocka_unit_test(test_structure),    cmocka_unit_test(test_refused),
		cmocka_unit_test(test_limits),       cmocka_unit_test(test_lines),
		cmocka_unit_test(test_agent),        cmocka_unit_test(test_agent_errors),
		cmocka_unit_test(test_examples),     cmocka_unit_test(test_whose_key_it_is),
		cmocka_unit_test(test_models_file),  cmocka_unit_test(test_agent_copy),
		cmocka_unit_test(test_config_order), cmocka_unit_test(test_config_errors),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
