/* SPDX-License-Identifier: Apache-2.0 */
#include "base/field.h"
#include "base/limits.h"
#include "base/text.h"
#include "rig.h"

/* A table with every kind, as a config file would have it: closed. */
#define TH_FIELDS_tool(F)                                             \
	F(tool, str, name, "name", TH_REQ | TH_NONEMPTY, "Its name.") \
	F(tool, bool, ask, "ask", 0, "Ask a person first.")
TH_STRUCT(tool)
TH_TABLE(tool, "A tool.", false)

struct th_limits {
	int64_t turns;
	double cost;
};

static const struct th_field limits_fields[] = {
	{ .name = "turns",
	  .offset = offsetof(struct th_limits, turns),
	  .kind = TH_FIELD_int,
	  .flags = TH_POSITIVE,
	  .doc = "Turns | at most.",
	  .has_default = true,
	  .default_int = 50 },
	{ .name = "cost",
	  .offset = offsetof(struct th_limits, cost),
	  .kind = TH_FIELD_num,
	  .flags = TH_NONEG,
	  .doc = "Money." },
};
static const struct th_table limits_table = {
	.name = "limits",
	.doc = "Limits.",
	.fields = limits_fields,
	.count = TH_COUNT(limits_fields),
	.size = sizeof(struct th_limits),
};

enum { MODE_ASK, MODE_AUTO, MODE_NEVER };
static const char *const modes[] = { "ask", "auto", "never", NULL };

struct th_agent {
	struct th_str name, prompt, extra;
	int64_t steps, retries, mode, level;
	double temperature, factor;
	bool stream, safe;
	struct th_strs tags;
	struct th_limits *limits;
	struct th_objects tools;
	int64_t secret_knob;
};

#define AT(member) .offset = offsetof(struct th_agent, member)
static const struct th_field agent_fields[] = {
	{ .name = "name", AT(name), .kind = TH_FIELD_str, .flags = TH_REQ, .doc = "Its name." },
	{ .name = "prompt",
	  AT(prompt),
	  .kind = TH_FIELD_str,
	  .flags = TH_EMIT,
	  .doc = "What to do." },
	{ .name = "extra", AT(extra), .kind = TH_FIELD_raw, .doc = "Anything." },
	{ .name = "steps", AT(steps), .kind = TH_FIELD_int, .doc = "Steps." },
	{ .name = "retries",
	  AT(retries),
	  .kind = TH_FIELD_int,
	  .flags = TH_NONEG,
	  .doc = "Retries.",
	  .has_default = true,
	  .default_int = 3 },
	{ .name = "mode",
	  AT(mode),
	  .kind = TH_FIELD_enum,
	  .names = modes,
	  .doc = "When to ask.",
	  .has_default = true,
	  .default_int = MODE_AUTO },
	{ .name = "level", AT(level), .kind = TH_FIELD_enum, .names = modes, .doc = "Level." },
	{ .name = "temperature", AT(temperature), .kind = TH_FIELD_num, .doc = "Heat." },
	{ .name = "factor",
	  AT(factor),
	  .kind = TH_FIELD_num,
	  .flags = TH_POSITIVE,
	  .doc = "Factor.",
	  .has_default = true,
	  .default_int = 2 },
	{ .name = "stream", AT(stream), .kind = TH_FIELD_bool, .doc = "Stream." },
	{ .name = "safe",
	  AT(safe),
	  .kind = TH_FIELD_bool,
	  .doc = "Safe.",
	  .has_default = true,
	  .default_int = 1 },
	{ .name = "tags", AT(tags), .kind = TH_FIELD_strs, .flags = TH_NONEMPTY, .doc = "Tags." },
	{ .name = "limits",
	  AT(limits),
	  .kind = TH_FIELD_object,
	  .sub = &limits_table,
	  .doc = "Limits." },
	{ .name = "tools",
	  AT(tools),
	  .kind = TH_FIELD_objects,
	  .sub = &th_tool_table,
	  .doc = "Tools." },
	{ .name = "secret_knob",
	  AT(secret_knob),
	  .kind = TH_FIELD_int,
	  .flags = TH_HIDDEN,
	  .doc = "No." },
};
static const struct th_table agent_table = {
	.name = "agent",
	.doc = "An agent.",
	.fields = agent_fields,
	.count = TH_COUNT(agent_fields),
	.size = sizeof(struct th_agent),
};

struct fixture {
	struct th_arena arena;
	struct th_json_doc *doc;
	struct th_err err;
};

static enum th_code parse(struct fixture *f, const struct th_table *t, const char *text, void *out)
{
	f->doc = th_json_free(f->doc);
	th_arena_reset(&f->arena);
	f->err = (struct th_err){ 0 };
	if (th_json_parse(th_str_of(text), &f->doc, &f->err) != TH_OK)
		fail_msg("%s: %s", text, f->err.msg);
	return th_table_parse(t, th_json_root(f->doc), &f->arena, out, &f->err);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	th_arena_init(&f->arena, TH_MIB);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	f->doc = th_json_free(f->doc);
	th_arena_deinit(&f->arena);
	free(f);
	return 0;
}

static void parses(void **state)
{
	struct fixture *f = *state;
	struct th_agent a;

	memset(&a, 0xff, sizeof(a));
	assert_int_equal(
	    parse(f, &agent_table,
		  "{\"name\":\"x\",\"extra\":{\"a\" : [1, null]},\"steps\":-4.0,\"mode\":\"never\","
		  "\"temperature\":1,\"stream\":true,\"safe\":false,\"tags\":[\"a\",\"\"],"
		  "\"limits\":{\"cost\":2.5},\"tools\":[{\"name\":\"t\",\"ask\":true},{\"name\":"
		  "\"u\"}],"
		  "\"name\":\"second\",\"retries\":null}",
		  &a),
	    TH_OK);
	assert_is(a.name, "x"); /* the first of double keys */
	assert_null(a.prompt.ptr);
	assert_is(a.extra, "{\"a\":[1,null]}");
	assert_int_equal(a.steps, -4);
	assert_int_equal(a.retries, 3);
	assert_int_equal(a.mode, MODE_NEVER);
	assert_int_equal(a.level, -1);
	assert_true(a.temperature == 1 && a.factor == 2);
	assert_true(a.stream && !a.safe);
	assert_int_equal(a.tags.count, 2);
	assert_is(a.tags.list[1], "");
	assert_int_equal(a.limits->turns, 50);
	assert_true(a.limits->cost == 2.5);
	const struct th_tool *tools = a.tools.list;

	assert_int_equal(a.tools.count, 2);
	assert_is(tools[0].name, "t");
	assert_true(tools[0].ask && !tools[1].ask);
	assert_is(tools[1].name, "u");
}

static void defaults(void **state)
{
	struct fixture *f = *state;
	struct th_agent a;

	assert_int_equal(parse(f, &agent_table, "{\"name\":\"\"}", &a), TH_OK);
	assert_non_null(a.name.ptr);
	assert_null(a.extra.ptr);
	assert_true(a.steps == 0 && a.retries == 3 && a.mode == MODE_AUTO && a.level == -1);
	assert_true(a.temperature == 0 && a.factor == 2 && !a.stream && a.safe);
	assert_true(!a.limits && !a.tools.count && !a.tags.count);
	assert_int_equal(parse(f, &agent_table, "{\"name\":\"x\",\"extra\":null}", &a), TH_OK);
	assert_is(a.extra, "null"); /* any value, this one too */
}

/* What is wrong, and where, word for word. */
static void says_what_is_wrong(void **state)
{
	static const struct {
		const char *text, *msg;
	} cases[] = {
		{ "[]", "must be an object, not a list" },
		{ "null", "must be an object, not null" },
		{ "{}", "name: is missing" },
		{ "{\"name\":null}", "name: must be a string, not null" },
		{ "{\"name\":3}", "name: must be a string, not an integer" },
		{ "{\"name\":\"x\",\"steps\":\"5\"}", "steps: must be an integer, not a string" },
		{ "{\"name\":\"x\",\"steps\":1.5}", "steps: must be an integer, not 1.5" },
		{ "{\"name\":\"x\",\"steps\":9223372036854775808}", "steps: is too large" },
		{ "{\"name\":\"x\",\"steps\":true}",
		  "steps: must be an integer, not true or false" },
		{ "{\"name\":\"x\",\"retries\":-1}", "retries: must not be below 0" },
		{ "{\"name\":\"x\",\"temperature\":\"hot\"}",
		  "temperature: must be a number, not a string" },
		{ "{\"name\":\"x\",\"factor\":0}", "factor: must be above 0" },
		{ "{\"name\":\"x\",\"stream\":1}",
		  "stream: must be true or false, not an integer" },
		{ "{\"name\":\"x\",\"mode\":\"aks\"}",
		  "mode: must be ask, auto or never, not \"aks\"; did you mean \"ask\"?" },
		{ "{\"name\":\"x\",\"mode\":\"zzzzzz\"}",
		  "mode: must be ask, auto or never, not \"zzzzzz\"" },
		{ "{\"name\":\"x\",\"mode\":1}",
		  "mode: must be ask, auto or never, not an integer" },
		{ "{\"name\":\"x\",\"tags\":\"a\"}",
		  "tags: must be a list of strings, not a string" },
		{ "{\"name\":\"x\",\"tags\":[]}", "tags: must not be empty" },
		{ "{\"name\":\"x\",\"tags\":[\"a\",2]}",
		  "tags[1]: must be a string, not an integer" },
		{ "{\"name\":\"x\",\"limits\":[]}", "limits: must be an object, not a list" },
		{ "{\"name\":\"x\",\"limits\":{\"turns\":\"9\"}}",
		  "limits.turns: must be an integer, not a string" },
		{ "{\"name\":\"x\",\"limits\":{\"turns\":0}}", "limits.turns: must be above 0" },
		{ "{\"name\":\"x\",\"limits\":{\"cost\":-0.5}}",
		  "limits.cost: must not be below 0" },
		{ "{\"name\":\"x\",\"limits\":{\"turn\":1}}",
		  "limits.turn: is not known; did you mean \"turns\"?" },
		{ "{\"name\":\"x\",\"tools\":{}}",
		  "tools: must be a list of objects, not an object" },
		{ "{\"name\":\"x\",\"tools\":[{\"name\":\"t\"},{\"name\":\"\"}]}",
		  "tools[1].name: must not be empty" },
		{ "{\"name\":\"x\",\"tools\":[{\"name\":\"t\"},7]}",
		  "tools[1]: must be an object, not an integer" },
		{ "{\"name\":\"x\",\"tools\":[{\"nmae\":\"t\"}]}",
		  "tools[0].nmae: is not known; did you mean \"name\"?" },
		{ "{\"name\":\"x\",\"qqqq\":1}", "qqqq: is not known" },
		{ "{\"name\":\"x\",\"secret_knop\":1}", "secret_knop: is not known" }, /* hidden */
		{ "{\"name\":\"x\",\"a\\nb\\u0000c\":1}", "a\\nb\\x00c: is not known" },
		{ "{\"name\":\"x\",\"\":1}", ": is not known" },
	};
	struct fixture *f = *state;
	struct th_agent a;

	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		if (parse(f, &agent_table, cases[i].text, &a) != TH_EUSAGE)
			fail_msg("%s", cases[i].text);
		assert_int_equal(f->err.code, TH_EUSAGE);
		assert_is(th_str_of(f->err.msg),
			  *cases[i].msg == ':' ? "is not known" : cases[i].msg);
	}
	assert_int_equal(parse(f, &agent_table, "{\"name\":1}", &a), TH_EUSAGE);
	assert_is(th_table_err_path(&f->err), "name");
	assert_int_equal(parse(f, &agent_table, "[]", &a), TH_EUSAGE);
	assert_is(th_table_err_path(&f->err), "");
	assert_int_equal(parse(f, &agent_table, "{\"name\":\"\",\"tools\":[{\"name\":3}]}", &a),
			 TH_EUSAGE);
	assert_is(th_table_err_path(&f->err), "tools[0].name");
}

/* Hostile names: long, not printable; the message stays short and on one line. */
static void hostile_names(void **state)
{
	struct fixture *f = *state;
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	struct th_agent a;

	th_buf_add_cstr(&text, "{\"name\":\"x\",\"");
	for (int i = 0; i < 100000; i++)
		th_buf_add_cstr(&text, "\\u0007");
	th_buf_add_cstr(&text, "\":1}");
	assert_int_equal(parse(f, &agent_table, text.ptr, &a), TH_EUSAGE);
	assert_true(strlen(f->err.msg) < 200);
	th_buf_clear(&text);
	th_buf_add_cstr(&text, "{\"name\":\"x\",\"mode\":\"");
	for (int i = 0; i < 100000; i++)
		th_buf_add_cstr(&text, "\xf0\x9f\x98\x80");
	th_buf_add_cstr(&text, "\"}");
	assert_int_equal(parse(f, &agent_table, text.ptr, &a), TH_EUSAGE);
	assert_true(strlen(f->err.msg) < 200);
	assert_int_equal(th_utf8_valid(th_str_of(f->err.msg)), strlen(f->err.msg));
	th_buf_deinit(&text);
}

static void open_table(void **state)
{
	struct th_table open = th_tool_table;
	struct fixture *f = *state;
	struct th_tool t;

	open.open = true;
	assert_int_equal(parse(f, &open, "{\"zzz\":[1],\"name\":\"n\",\"\\u0000name\":2}", &t),
			 TH_OK);
	assert_is(t.name, "n");
	assert_int_equal(parse(f, &open, "{\"name\\u0000\":\"n\"}", &t), TH_EUSAGE);
	assert_string_equal(f->err.msg, "name: is missing");
}

/* Without its raw values, which are looked for all the same. */
static void plain(void **state)
{
	static const struct th_field fields[] = {
		{ .name = "name", AT(name), .kind = TH_FIELD_str },
		{ .name = "extra", AT(extra), .kind = TH_FIELD_raw, .flags = TH_REQ },
	};
	static const struct th_table table = {
		.name = "plain",
		.fields = fields,
		.count = TH_COUNT(fields),
		.size = sizeof(struct th_agent),
	};
	struct fixture *f = *state;
	struct th_agent a;

	assert_int_equal(parse(f, &table, "{\"extra\":[1, 2],\"name\":\"n\"}", &a), TH_OK);
	assert_true(th_str_is(a.extra, "[1,2]"));
	th_arena_reset(&f->arena);
	assert_int_equal(th_table_parse_plain(&table, th_json_root(f->doc), &f->arena, &a, &f->err),
			 TH_OK);
	assert_true(th_str_is(a.name, "n"));
	assert_int_equal(a.extra.len, 0);
	assert_int_equal(f->arena.used, 0);
	assert_int_equal(parse(f, &table, "{\"name\":\"n\"}", &a), TH_EUSAGE);
	assert_int_equal(th_table_parse_plain(&table, th_json_root(f->doc), &f->arena, &a, &f->err),
			 TH_EUSAGE);
	assert_string_equal(f->err.msg, "extra: is missing");
}

static void prints(void **state)
{
	struct fixture *f = *state;
	struct th_buf b = TH_BUF_INIT(1000);
	struct th_jw w = th_jw(&b);
	struct th_agent a;

	assert_int_equal(parse(f, &agent_table, "{\"name\":\"\"}", &a), TH_OK);
	th_table_print(&agent_table, &a, &w);
	assert_is(th_buf_str(&b), "{\"name\":\"\",\"prompt\":null}");
	a.retries = 0; /* not its default, so it must be said */
	a.safe = false;
	a.mode = -1;
	a.factor = 0.5;
	a.secret_knob = 1;
	a.prompt = TH_STR("");
	a.name = (struct th_str){ NULL, 0 };
	th_buf_clear(&b);
	w = th_jw(&b);
	th_table_print(&agent_table, &a, &w);
	assert_is(th_buf_str(&b), "{\"name\":\"\",\"prompt\":\"\",\"retries\":0,\"mode\":null,"
				  "\"factor\":0.5,\"safe\":false,\"secret_knob\":1}");
	th_buf_deinit(&b);
}

/* print(parse(text)) == text, for texts in the table's order that leave out what is default. */
static void round_trip(void **state)
{
	static const char *const texts[] = {
		"{\"name\":\"x\",\"prompt\":\"p\\n\",\"extra\":[1,{\"a\":null}],\"steps\":-"
		"9223372036854775808,"
		"\"retries\":0,\"mode\":\"ask\",\"level\":\"ask\",\"temperature\":0.7,\"factor\":"
		"1e-9,"
		"\"stream\":true,\"safe\":false,\"tags\":[\"\",\"b\"],\"limits\":{\"turns\":1,"
		"\"cost\":0.25},"
		"\"tools\":[{\"name\":\"a\",\"ask\":true},{\"name\":\"b\"}],\"secret_knob\":4}",
		"{\"name\":\"x\",\"prompt\":\"p\",\"extra\":null,\"limits\":{}}",
		"{\"name\":\"x\",\"prompt\":null,\"extra\":\"\",\"tools\":[{\"name\":\"a\"}]}",
	};
	struct fixture *f = *state;
	struct th_buf b = TH_BUF_INIT(1000);
	struct th_agent a;

	for (size_t i = 0; i < TH_COUNT(texts); i++) {
		struct th_jw w = th_jw(&b);

		th_buf_clear(&b);
		if (parse(f, &agent_table, texts[i], &a) != TH_OK)
			fail_msg("%s", f->err.msg);
		th_table_print(&agent_table, &a, &w);
		assert_is(th_buf_str(&b), texts[i]);
	}
	th_buf_deinit(&b);
}

/* Each size of arena up to what the document takes: refused by name, then accepted. */
static void arena_limit(void **state)
{
	static const char text[] = "{\"name\":\"x\",\"extra\":[1,2,3],\"tags\":[\"a\",\"b\",\"c\"],"
				   "\"limits\":{\"turns\":1},\"tools\":[{\"name\":\"a\"}]}";
	struct fixture *f = *state;
	struct th_agent a;
	size_t refused = 0;

	th_arena_deinit(&f->arena);
	for (size_t size = 0;; size++) {
		th_arena_init(&f->arena, size);
		enum th_code code = parse(f, &agent_table, text, &a);

		if (code == TH_OK)
			break;
		assert_int_equal(code, TH_ELIMIT);
		assert_true(strchr(f->err.msg, ':'));
		th_arena_deinit(&f->arena);
		refused++;
		assert_true(size < 1000);
	}
	assert_true(refused > 0 && f->arena.used <= f->arena.max);
	assert_is(a.extra, "[1,2,3]");
}

static void table_fields_limit(void **state)
{
	static struct th_field fields[TH_TABLE_FIELDS_MAX];
	static char names[TH_TABLE_FIELDS_MAX][8];
	const struct th_table wide = {
		"wide", "", fields, TH_TABLE_FIELDS_MAX, sizeof(int64_t[TH_TABLE_FIELDS_MAX]), false
	};
	struct th_buf text = TH_BUF_INIT(100000);
	int64_t values[TH_TABLE_FIELDS_MAX];
	struct fixture *f = *state;

	for (size_t i = 0; i < TH_TABLE_FIELDS_MAX; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "f%zu", i);
		fields[i] = (struct th_field){ .name = names[i], .offset = i * sizeof(int64_t) };
		fields[i].kind = TH_FIELD_int;
		/* from the last to the first, so that the order hint never helps */
		th_buf_printf(&text, "%c\"f%zu\":%zu", i ? ',' : '{', TH_TABLE_FIELDS_MAX - 1 - i,
			      i);
	}
	th_buf_add_char(&text, '}');
	assert_int_equal(parse(f, &wide, text.ptr, values), TH_OK);
	for (size_t i = 0; i < TH_TABLE_FIELDS_MAX; i++)
		assert_int_equal(values[i], TH_TABLE_FIELDS_MAX - 1 - i);
	assert_int_equal(parse(f, &wide, "{\"f1x\":1}", values), TH_EUSAGE);
	assert_string_equal(f->err.msg, "f1x: is not known; did you mean \"f1\"?");
	th_buf_deinit(&text);
}

static void schema(void **state)
{
	struct th_buf b = TH_BUF_INIT(10000);
	struct th_jw w = th_jw(&b);

	(void)state;
	th_table_schema(&agent_table, &w);
	assert_is(
	    th_buf_str(&b),
	    "{\"type\":\"object\",\"description\":\"An agent.\",\"properties\":{"
	    "\"name\":{\"type\":\"string\",\"description\":\"Its name.\"},"
	    "\"prompt\":{\"type\":\"string\",\"description\":\"What to do.\"},"
	    "\"extra\":{\"description\":\"Anything.\"},"
	    "\"steps\":{\"type\":\"integer\",\"description\":\"Steps.\"},"
	    "\"retries\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"Retries.\","
	    "\"default\":3},"
	    "\"mode\":{\"type\":\"string\",\"enum\":[\"ask\",\"auto\",\"never\"],"
	    "\"description\":\"When to ask.\",\"default\":\"auto\"},"
	    "\"level\":{\"type\":\"string\",\"enum\":[\"ask\",\"auto\",\"never\"],\"description\":"
	    "\"Level.\"},"
	    "\"temperature\":{\"type\":\"number\",\"description\":\"Heat.\"},"
	    "\"factor\":{\"type\":\"number\",\"exclusiveMinimum\":0,\"description\":\"Factor.\","
	    "\"default\":2},"
	    "\"stream\":{\"type\":\"boolean\",\"description\":\"Stream.\"},"
	    "\"safe\":{\"type\":\"boolean\",\"description\":\"Safe.\",\"default\":true},"
	    "\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1,"
	    "\"description\":\"Tags.\"},"
	    "\"limits\":{\"type\":\"object\",\"description\":\"Limits.\",\"properties\":{"
	    "\"turns\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Turns | at "
	    "most.\",\"default\":50},"
	    "\"cost\":{\"type\":\"number\",\"minimum\":0,\"description\":\"Money.\"}},"
	    "\"additionalProperties\":false},"
	    "\"tools\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"description\":\"A "
	    "tool.\","
	    "\"properties\":{\"name\":{\"type\":\"string\",\"minLength\":1,\"description\":\"Its "
	    "name.\"},"
	    "\"ask\":{\"type\":\"boolean\",\"description\":\"Ask a person first.\"}},"
	    "\"required\":[\"name\"],\"additionalProperties\":false},\"description\":\"Tools.\"}},"
	    "\"required\":[\"name\"],\"additionalProperties\":false}");
	th_buf_deinit(&b);
}

static void markdown(void **state)
{
	struct th_buf b = TH_BUF_INIT(10000);

	(void)state;
	th_table_markdown(&agent_table, &b);
	assert_true(
	    th_str_starts(th_buf_str(&b), TH_STR("| field | type | default | meaning |\n|---|")));
	assert_non_null(strstr(b.ptr, "| `name` | a string | required | Its name. |\n"));
	assert_non_null(
	    strstr(b.ptr, "| `mode` | `ask`, `auto`, `never` | `auto` | When to ask. |\n"));
	assert_non_null(strstr(b.ptr, "| `safe` | true or false | `true` | Safe. |\n"));
	assert_non_null(
	    strstr(b.ptr, "| `limits.turns` | an integer above 0 | `50` | Turns \\| at most. |\n"));
	assert_non_null(
	    strstr(b.ptr, "| `tools[].name` | a string, not empty | required | Its name. |\n"));
	assert_null(strstr(b.ptr, "secret_knob"));
	th_buf_deinit(&b);
}

/* -1 where the field itself would refuse it is the code's word for "absent": no page tells it. */
static void markdown_of_what_is_absent(void **state)
{
	static const struct th_field fields[] = {
		{ .name = "mode",
		  .kind = TH_FIELD_enum,
		  .names = modes,
		  .doc = "M.",
		  .has_default = true,
		  .default_int = -1 },
		{ .name = "heat",
		  .kind = TH_FIELD_num,
		  .flags = TH_REQ | TH_NONEG,
		  .doc = "H.",
		  .has_default = true,
		  .default_int = -1 },
		{ .name = "offset",
		  .kind = TH_FIELD_int,
		  .doc = "O.",
		  .has_default = true,
		  .default_int = -1 },
	};
	static const struct th_table table = { .name = "t", .fields = fields, .count = 3 };
	struct th_buf b = TH_BUF_INIT(10000);

	(void)state;
	th_table_markdown(&table, &b);
	assert_non_null(strstr(b.ptr, "| `mode` | `ask`, `auto`, `never` |  | M. |\n"));
	assert_non_null(strstr(b.ptr, "| `heat` | a number, not below 0 | required | H. |\n"));
	assert_non_null(strstr(b.ptr, "| `offset` | an integer | `-1` | O. |\n"));
	th_buf_deinit(&b);
}

/* A table that holds itself: read to any depth, described once. */
struct th_node {
	struct th_str name;
	struct th_objects children;
};

static const struct th_table node_table;
static const struct th_field node_fields[] = {
	{ .name = "name", .offset = offsetof(struct th_node, name), .kind = TH_FIELD_str },
	{ .name = "children",
	  .offset = offsetof(struct th_node, children),
	  .kind = TH_FIELD_objects,
	  .sub = &node_table },
};
static const struct th_table node_table = {
	.name = "node",
	.fields = node_fields,
	.count = 2,
	.size = sizeof(struct th_node),
};

static void holds_itself(void **state)
{
	struct fixture *f = *state;
	struct th_buf b = TH_BUF_INIT(10000);
	struct th_jw w = th_jw(&b);
	struct th_node n;
	const char *text =
	    "{\"name\":\"a\",\"children\":[{\"name\":\"b\",\"children\":[{\"name\":\"c\"}]}]}";

	assert_int_equal(parse(f, &node_table, text, &n), TH_OK);
	th_table_print(&node_table, &n, &w);
	assert_is(th_buf_str(&b), text);
	th_buf_clear(&b);
	w = th_jw(&b);
	th_table_schema(&node_table, &w);
	assert_is(th_buf_str(&b),
		  "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
		  "\"children\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}},"
		  "\"additionalProperties\":false}");
	th_buf_clear(&b);
	th_table_markdown(&node_table, &b);
	assert_false(b.failed);
	th_buf_deinit(&b);
}

static void nearest_names(void **state)
{
	static const char *const names[] = { "turns", "max_tokens",  "model",
					     "id",    "temperature", NULL };
	static const struct {
		const char *name, *nearest;
	} cases[] = {
		{ "turn", "turns" },
		{ "trun", NULL },
		{ "tunrs", "turns" },
		{ "TURNS", "turns" },
		{ "max-tokens", "max_tokens" },
		{ "maxtokens", "max_tokens" },
		{ "modle", "model" },
		{ "ID", "id" },
		{ "ix", NULL },
		{ "temprature", "temperature" },
		{ "", NULL },
		{ "zzzzz", NULL },
	};
	char text[TH_NAME_NEAR_MAX + 2];
	const char *const wide[] = { text, NULL };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		const char *near = th_names_nearest(names, th_str_of(cases[i].name));

		if (near != cases[i].nearest &&
		    (!near || !cases[i].nearest || strcmp(near, cases[i].nearest)))
			fail_msg("%s: %s", cases[i].name, near ? near : "none");
	}
	assert_int_equal(th_names_find(names, TH_STR("model")), 2);
	assert_int_equal(th_names_find(names, TH_STR("Model")), -1);
	assert_int_equal(th_names_find(names, TH_STR("model\0")), -1);
	memset(text, 'n', sizeof(text));
	text[TH_NAME_NEAR_MAX] = '\0';
	assert_ptr_equal(th_names_nearest(wide, th_str_of(text)), text);
	text[TH_NAME_NEAR_MAX] = 'n';
	text[TH_NAME_NEAR_MAX + 1] = '\0';
	assert_null(th_names_nearest(wide, th_str_of(text)));
	assert_null(th_names_nearest(wide, th_str_n(text, TH_NAME_NEAR_MAX)));
}

struct th_spans {
	struct th_ints range;
	int64_t line;
};

/* Lists of integers; and a default that the field would refuse stands for "absent". */
static void lists_of_integers(void **state)
{
	static const struct th_field fields[] = {
		{ .name = "range",
		  .offset = offsetof(struct th_spans, range),
		  .kind = TH_FIELD_ints,
		  .flags = TH_NONEMPTY,
		  .doc = "Range." },
		{ .name = "line",
		  .offset = offsetof(struct th_spans, line),
		  .kind = TH_FIELD_int,
		  .flags = TH_NONEG,
		  .doc = "Line.",
		  .has_default = true,
		  .default_int = -1 },
	};
	static const struct th_table table = {
		.name = "spans",
		.fields = fields,
		.count = TH_COUNT(fields),
		.size = sizeof(struct th_spans),
	};
	struct fixture *f = *state;
	struct th_buf out = TH_BUF_INIT(4096);
	struct th_jw w = th_jw(&out);
	struct th_spans v;

	assert_int_equal(parse(f, &table, "{\"range\":[3,-1]}", &v), TH_OK);
	assert_int_equal(v.range.count, 2);
	assert_int_equal(v.range.list[0], 3);
	assert_int_equal(v.range.list[1], -1);
	assert_int_equal(v.line, -1);
	th_table_print(&table, &v, &w);
	assert_string_equal(out.ptr, "{\"range\":[3,-1]}");
	th_buf_clear(&out);
	w = th_jw(&out);
	th_table_schema(&table, &w);
	assert_non_null(strstr(out.ptr, "\"items\":{\"type\":\"integer\"}"));
	assert_null(strstr(out.ptr, "default"));
	th_buf_deinit(&out);
	assert_int_equal(parse(f, &table, "{\"range\":[1,\"x\"]}", &v), TH_EUSAGE);
	assert_string_equal(f->err.msg, "range[1]: must be an integer, not a string");
	assert_int_equal(parse(f, &table, "{\"range\":7}", &v), TH_EUSAGE);
	assert_int_equal(parse(f, &table, "{\"range\":[]}", &v), TH_EUSAGE);
	assert_int_equal(parse(f, &table, "{\"line\":-1}", &v), TH_EUSAGE);
}

static void a_list_has_a_text(void **state)
{
	struct th_str texts[] = { TH_STR_INIT("a"), TH_STR_INIT(""), TH_STR_INIT("ab") };
	struct th_strs strs = { texts, 3 };

	(void)state;
	for (size_t i = 0; i < strs.count; i++)
		assert_true(th_strs_has(&strs, texts[i]));
	assert_false(th_strs_has(&strs, TH_STR("A")));
	strs.count = 2;
	assert_false(th_strs_has(&strs, TH_STR("ab")));
	assert_false(th_strs_has(&(struct th_strs){ 0 }, TH_STR("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_has_a_text),
		cmocka_unit_test_setup_teardown(parses, setup, teardown),
		cmocka_unit_test_setup_teardown(defaults, setup, teardown),
		cmocka_unit_test_setup_teardown(says_what_is_wrong, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_names, setup, teardown),
		cmocka_unit_test_setup_teardown(open_table, setup, teardown),
		cmocka_unit_test_setup_teardown(plain, setup, teardown),
		cmocka_unit_test_setup_teardown(lists_of_integers, setup, teardown),
		cmocka_unit_test_setup_teardown(prints, setup, teardown),
		cmocka_unit_test_setup_teardown(round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(arena_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(table_fields_limit, setup, teardown),
		cmocka_unit_test(schema),
		cmocka_unit_test(markdown),
		cmocka_unit_test(markdown_of_what_is_absent),
		cmocka_unit_test_setup_teardown(holds_itself, setup, teardown),
		cmocka_unit_test(nearest_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
