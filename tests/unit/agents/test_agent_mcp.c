/* SPDX-License-Identifier: Apache-2.0 */
#include "json_says.h"

#include "agents/agent_mcp.h"

struct chosen {
	struct th_buf tools, left_out;
	int64_t more;
};

static struct th_strs strs(struct th_str *list, size_t count)
{
	return (struct th_strs){ list, count };
}

static bool taken(void *ctx, struct th_str name)
{
	(void)ctx;
	return th_str_is(name, "s_bash");
}

#define OFFERED "[{\"name\":\"@read\",\"inputSchema\":{\"type\":\"object\"}}]"

static void choose(struct chosen *c, const struct th_agent_mcp *server, size_t room,
		   const char *list)
{
	struct th_mcp_choice choice = { .server = server, .room = room, .taken = taken };
	struct th_err err = { 0 };

	th_buf_init(&c->tools, 8 * TH_MIB);
	th_buf_init(&c->left_out, TH_MIB);
	if (th_mcp_tools_choose(&choice, th_str_of(list), TH_STR(OFFERED), &c->tools, &c->left_out,
				&c->more, &err))
		fail_msg("%s", err.msg);
}

static void expect(const struct th_agent_mcp *server, const char *list, const char *tools,
		   const char *left_out)
{
	struct chosen c;

	choose(&c, server, 100, list);
	assert_string_equal(c.tools.ptr, tools);
	assert_string_equal(c.left_out.ptr, left_out);
	th_buf_deinit(&c.tools);
	th_buf_deinit(&c.left_out);
}

#define ANY "{\\\"type\\\":\\\"object\\\",\\\"properties\\\":{}}"

static void test_tools(void **state)
{
	struct th_agent_mcp s = { .name = TH_STR("s") };
	struct th_str reads[] = { TH_STR("get_*"), TH_STR("odd") };
	struct th_str allow[] = { TH_STR("{a,b}*") }, deny[] = { TH_STR("*2") };

	(void)state;
	expect(
	    &s,
	    "[{\"name\":\"a\",\"description\":\"A\\u001b.\",\"inputSchema\":{\"type\":\"object\","
	    "\"x-new\":1}}]",
	    "[{\"name\":\"s_a\",\"tool\":\"a\",\"description\":\"A.\",\"parameters\":{\"type\":"
	    "\"object\",\"x-new\":1},\"class\":\"W\"}]",
	    "[]");
	/* What a tool says of itself makes it stricter, and never laxer. */
	s.reads = strs(reads, 2);
	s.approve = strs(reads + 1, 1);
	expect(
	    &s,
	    "[{\"name\":\"get_a\"},{\"name\":\"get_b\",\"annotations\":{\"readOnlyHint\":false}},"
	    "{\"name\":\"put\",\"annotations\":{\"readOnlyHint\":true,\"idempotentHint\":true}},"
	    "{\"name\":\"odd\",\"annotations\":{\"destructiveHint\":true}},"
	    "{\"name\":\"bash\"}]",
	    "[{\"name\":\"s_get_a\",\"tool\":\"get_a\",\"parameters\":{\"type\":\"object\","
	    "\"properties\":{}},\"class\":\"R\"},"
	    "{\"name\":\"s_get_b\",\"tool\":\"get_b\",\"parameters\":{\"type\":\"object\","
	    "\"properties\":{}},\"class\":\"W\"},"
	    "{\"name\":\"s_put\",\"tool\":\"put\",\"parameters\":{\"type\":\"object\","
	    "\"properties\":{}},\"class\":\"W\"},"
	    "{\"name\":\"s_odd\",\"tool\":\"odd\",\"parameters\":{\"type\":\"object\","
	    "\"properties\":{}},\"class\":\"X\",\"ask\":true}]",
	    "[{\"tool\":\"bash\",\"why\":\"another tool has its name\"}]");
	s = (struct th_agent_mcp){ .name = TH_STR("s"),
				   .prefix = TH_STR("p-"),
				   .annotations = 1,
				   .allow = strs(allow, 1),
				   .deny = strs(deny, 1) };
	expect(&s,
	       "[{\"name\":\"a1\",\"inputSchema\":{},\"annotations\":{\"destructiveHint\":true}},"
	       "{\"name\":\"a2\"},{\"name\":\"c\"},3,{}]",
	       "[{\"name\":\"p-a1\",\"tool\":\"a1\",\"parameters\":{\"type\":\"object\"},\"class\":"
	       "\"W\"}]",
	       "[]");
}

static void test_names(void **state)
{
	struct th_agent_mcp s = { .name = TH_STR("s") };
	struct chosen c;

	(void)state;
	/* Two that differ only in what has to go; one that is long; the edges of a name. */
	choose(&c, &s, 100,
	       "[{\"name\":\"a b\"},{\"name\":\"a/b\"},{\"name\":"
	       "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"},{\"name\":"
	       "\"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\"},{\"name\":"
	       "\"\"}]");
	assert_non_null(strstr(c.tools.ptr, "\"name\":\"s_a_b_"));
	assert_non_null(strstr(strstr(c.tools.ptr, "\"s_a_b_") + 1, "\"s_a_b_"));
	assert_null(strstr(c.tools.ptr, "\"name\":\"s_a_b\""));
	assert_json_text(c.tools.ptr, "2.name", /* 64 */
			 "s_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	assert_null(strstr(c.tools.ptr,
			   "\"name\":\"s_yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
			   "yyyyyyyyy\"")); /* 65 */
	assert_non_null(strstr(c.left_out.ptr, "its name is empty"));
	th_buf_deinit(&c.tools);
	th_buf_deinit(&c.left_out);
}

static void nest(struct th_buf *out, int depth)
{
	for (int i = 0; i < depth - 1; i++)
		th_buf_add_cstr(out, "{\"a\":");
	th_buf_add_cstr(out, "{}");
	for (int i = 0; i < depth - 1; i++)
		th_buf_add_char(out, '}');
}

static void test_schemas(void **state)
{
	struct th_agent_mcp s = { .name = TH_STR("s") };
	struct th_buf list = TH_BUF_INIT(TH_MIB);
	struct chosen c;

	(void)state;
	th_buf_add_cstr(&list, "[{\"name\":\"edge\",\"inputSchema\":");
	nest(&list, TH_MCP_SCHEMA_DEPTH_MAX);
	th_buf_add_cstr(&list, "},{\"name\":\"deep\",\"inputSchema\":");
	nest(&list, TH_MCP_SCHEMA_DEPTH_MAX + 1);
	th_buf_add_cstr(&list, "},{\"name\":\"full\",\"inputSchema\":{\"d\":\"");
	for (size_t i = 0; i < TH_MCP_SCHEMA_MAX - 8; i++)
		th_buf_add_char(&list, 'x');
	th_buf_add_cstr(&list, "\"}},{\"name\":\"large\",\"inputSchema\":{\"d\":\"");
	for (size_t i = 0; i < TH_MCP_SCHEMA_MAX - 7; i++)
		th_buf_add_char(&list, 'x');
	th_buf_add_cstr(&list, "\"}},{\"name\":\"list\",\"inputSchema\":[]},"
			       "{\"name\":\"text\",\"inputSchema\":{\"type\":\"string\"}}]");
	choose(&c, &s, 100, list.ptr);
	assert_json_text(c.tools.ptr, "0.tool", "edge");
	assert_json_text(c.tools.ptr, "1.tool", "full");
	assert_string_equal(c.left_out.ptr,
			    "[{\"tool\":\"deep\",\"why\":\"its schema is too deep\"},"
			    "{\"tool\":\"large\",\"why\":\"its schema is larger than 32 KiB\"},"
			    "{\"tool\":\"list\",\"why\":\"its schema is not an object\"},"
			    "{\"tool\":\"text\",\"why\":\"its arguments are not an object\"}]");
	th_buf_deinit(&c.tools);
	th_buf_deinit(&c.left_out);
	th_buf_deinit(&list);
}

static void fill(struct th_buf *out, char with, size_t count)
{
	while (count--)
		th_buf_add_char(out, with);
}

/* A name and a description, as long as they may be and one longer. */
static void test_lengths(void **state)
{
	struct th_agent_mcp s = { .name = TH_STR("s") };

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		struct th_buf list TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
		struct chosen c;
		const char *said;

		th_buf_add_cstr(&list, "[{\"name\":\"");
		fill(&list, 'n', TH_MCP_NAME_MAX + more);
		th_buf_add_cstr(&list, "\"},{\"name\":\"other\",\"description\":\"");
		fill(&list, 'D', TH_MCP_DESCRIPTION_MAX + more);
		th_buf_add_cstr(&list, "\"}]");
		choose(&c, &s, 100, list.ptr);
		assert_int_equal(strstr(c.left_out.ptr, "longer than 128 bytes") != NULL, more);
		said = strchr(c.tools.ptr, 'D');
		assert_non_null(said);
		assert_int_equal(strspn(said, "D"), TH_MCP_DESCRIPTION_MAX);
		th_buf_deinit(&c.tools);
		th_buf_deinit(&c.left_out);
	}
}

static void test_counts(void **state)
{
	struct th_agent_mcp s = { .name = TH_STR("s") };
	struct th_buf list = TH_BUF_INIT(TH_MIB);
	struct chosen c;

	(void)state;
	th_buf_add_char(&list, '[');
	for (int i = 0; i < TH_MCP_TOOLS_MAX + TH_MCP_LEFT_OUT_MAX + 3; i++)
		th_buf_printf(&list, "%s{\"name\":\"t%d\"}", i ? "," : "", i);
	th_buf_add_char(&list, ']');
	choose(&c, &s, 1000, list.ptr);
	assert_json_text(c.tools.ptr, "127.name", "s_t127");
	assert_json_lacks(c.tools.ptr, "128");
	assert_int_equal(c.more, 3);
	th_buf_deinit(&c.tools);
	th_buf_deinit(&c.left_out);
	choose(&c, &s, 2, list.ptr);
	assert_json_text(c.tools.ptr, "1.name", "s_t1");
	assert_json_lacks(c.tools.ptr, "2");
	th_buf_deinit(&c.tools);
	th_buf_deinit(&c.left_out);
	th_buf_deinit(&list);
}

static void bad(const struct th_agent_mcp *list, size_t count, const char *path, const char *words)
{
	struct th_objects servers = { (void *)(uintptr_t)list, count };
	struct th_buf at = TH_BUF_INIT(256);
	struct th_err err = { 0 };

	assert_int_equal(th_agent_mcp_check(&servers, &at, &err), TH_EUSAGE);
	assert_string_equal(at.ptr, path);
	if (!strstr(err.msg, words))
		fail_msg("%s", err.msg);
	th_buf_deinit(&at);
}

static void test_check(void **state)
{
	struct th_str header[] = { TH_STR("A-b: c"), TH_STR("A b: c"), TH_STR("A:\r\nB: c") };
	struct th_str word[] = { TH_STR("x") }, empty[] = { TH_STR("") };
	struct th_agent_mcp good = { .name = TH_STR("s"), .command = strs(word, 1) }, s = good;
	struct th_agent_mcp twice[] = { good, good }, many[TH_MCP_SERVERS_MAX + 1];
	struct th_objects one = { &good, 1 };
	struct th_err err = { 0 };

	(void)state;
	assert_int_equal(th_agent_mcp_check(&one, NULL, &err), TH_OK);
	assert_true(th_agent_mcp_may_have(&one, TH_STR("s_x")));
	assert_false(th_agent_mcp_may_have(&one, TH_STR("s_")));
	bad(twice, 2, "mcp_servers[1].name", "second time");
	s.name = TH_STR("a b");
	bad(&s, 1, "mcp_servers[0].name", "letters");
	s = good;
	s.prefix = TH_STR("a.");
	bad(&s, 1, "mcp_servers[0].prefix", "letters");
	s = good;
	s.url = TH_STR("ftp://x");
	bad(&s, 1, "mcp_servers[0].url", "http://");
	s.url = TH_STR("http://x");
	bad(&s, 1, "mcp_servers[0].url", "beside command");
	s.command = strs(NULL, 0);
	s.headers = strs(header, 1);
	assert_int_equal(th_agent_mcp_check(&(struct th_objects){ &s, 1 }, NULL, &err), TH_OK);
	s.headers = strs(header + 1, 1);
	bad(&s, 1, "mcp_servers[0].headers", "Name: value");
	s.headers = strs(header + 2, 1);
	bad(&s, 1, "mcp_servers[0].headers", "control character");
	s.headers = strs(NULL, 0);
	s.token_env = TH_STR("sk-a1");
	bad(&s, 1, "mcp_servers[0].token_env", "the name of a variable");
	s = good;
	s.token_env = TH_STR("T");
	bad(&s, 1, "mcp_servers[0].headers", "with a url");
	s = good;
	s.command = strs(NULL, 0);
	bad(&s, 1, "mcp_servers[0].command", "is missing");
	s = good;
	s.command = strs(empty, 1);
	bad(&s, 1, "mcp_servers[0].command", "empty");
	s = good;
	s.environment = strs(word, 1);
	bad(&s, 1, "mcp_servers[0].environment", "NAME=value");
	s = good;
	s.start_s = TH_MCP_START_S_MAX + 1;
	bad(&s, 1, "mcp_servers[0].start_s", "at most 600");
	s = good;
	s.allow = (struct th_strs){ word, TH_MCP_PATTERNS_MAX + 1 };
	bad(&s, 1, "mcp_servers[0].allow", "more than 128");
	for (size_t i = 0; i < TH_COUNT(many); i++)
		many[i] = good;
	bad(many, TH_COUNT(many), "mcp_servers", "more than 16");
}

/* What a server offers beside tools: where allow names it, and as nothing else. */
static void test_offers(void **state)
{
	struct th_str all[] = { TH_STR("*") }, offers[] = { TH_STR("a"), TH_STR("@*") };
	struct th_str deny[] = { TH_STR("@r*") };
	struct th_agent_mcp s = { .name = TH_STR("s"), .allow = strs(all, 1) };

	(void)state;
	expect(&s, "[]", "[]", "[]"); /* a pattern of tools is none of these */
	s.allow = strs(offers, 2);
	expect(&s, "[{\"name\":\"@read\"}]",
	       "[{\"name\":\"s_read\",\"tool\":\"@read\",\"parameters\":{\"type\":\"object\"},"
	       "\"class\":\"R\"}]",
	       "[{\"tool\":\"@read\",\"why\":\"its name begins with @\"}]");
	s.deny = strs(deny, 1);
	expect(&s, "[]", "[]", "[]");
}

/* At the edge of what a server may say of its use; and as the model is told it. */
static void test_instructions(void **state)
{
	struct th_buf said = TH_BUF_INIT(4 * TH_MCP_INSTRUCTIONS_MAX);
	struct th_buf out = TH_BUF_INIT(4 * TH_MCP_INSTRUCTIONS_MAX);

	(void)state;
	for (size_t i = 0; i < TH_MCP_INSTRUCTIONS_MAX - 1; i++)
		th_buf_add_char(&said, 'x');
	th_buf_add_char(&said, '!');
	th_mcp_instructions_clean(th_buf_str(&said), &out);
	assert_true(th_str_eq(th_buf_str(&out), th_buf_str(&said)));
	th_buf_clear(&out);
	th_buf_add_char(&said, '?');
	th_mcp_instructions_clean(th_buf_str(&said), &out);
	assert_int_equal(out.len, TH_MCP_INSTRUCTIONS_MAX);
	assert_int_equal(out.ptr[out.len - 1], '!');
	/* Bad bytes become more than they were. */
	th_buf_clear(&said);
	th_buf_clear(&out);
	for (size_t i = 0; i < TH_MCP_INSTRUCTIONS_MAX; i++)
		th_buf_add_char(&said, '\xff');
	th_mcp_instructions_clean(th_buf_str(&said), &out);
	assert_true(out.len <= TH_MCP_INSTRUCTIONS_MAX && out.len > TH_MCP_INSTRUCTIONS_MAX - 3);
	th_buf_clear(&out);
	th_mcp_instructions_clean(TH_STR("\n \x1b[2Jone\r\n\ttwo\n\n"), &out);
	assert_true(th_str_is(th_buf_str(&out), "[2Jone\n\ttwo"));
	th_buf_clear(&said);
	th_buf_add_cstr(&said, "Be brief.");
	th_mcp_instructions_put(TH_STR("s"), th_buf_str(&out), &said);
	assert_true(
	    th_str_starts(th_buf_str(&said), TH_STR("Be brief.\n\nThe server of tools s says")));
	assert_true(th_str_ends(th_buf_str(&said), TH_STR(":\n> [2Jone\n> \ttwo")));
	th_buf_deinit(&said);
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tools),        cmocka_unit_test(test_offers),
		cmocka_unit_test(test_names),        cmocka_unit_test(test_schemas),
		cmocka_unit_test(test_counts),       cmocka_unit_test(test_check),
		cmocka_unit_test(test_instructions), cmocka_unit_test(test_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
