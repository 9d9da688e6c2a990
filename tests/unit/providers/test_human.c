/* SPDX-License-Identifier: Apache-2.0 */
#include "providers/human.h"

#include "unit.h"

#include "base/limits.h"
#include "dialects/dialect.h"

static struct th_err err;

/* The items that an answer becomes, the way every model's answer goes. */
static void items_of(struct th_str answer, struct th_buf *out)
{
	struct th_dialect_context c = { .screen = { 800, 600 }, .image = { 800, 600 }, .turn = 1 };
	struct th_str name;
	struct th_decoder *d;
	struct th_answer a;

	assert_int_equal(th_model_resolve(TH_STR("human/human"), &c.profile, &name, &err), TH_OK);
	assert_ptr_equal(c.profile->wire, &th_wire_human);
	d = c.profile->wire->decoder_new(c.profile, NULL, NULL);
	assert_true(c.profile->wire->feed(d, answer) >= 0);
	c.profile->wire->end(d, false, &a);
	assert_int_equal(a.status, TH_ANSWER_COMPLETED);
	assert_int_equal(c.profile->dialect->decode(&c, a.items, out, &err), TH_OK);
	c.profile->wire->decoder_free(d);
}

static enum th_human_word read_line(const char *line, struct th_buf *items)
{
	struct th_buf answer = TH_BUF_INIT(TH_ANSWER_MAX);
	enum th_human_word word;

	th_buf_clear(items);
	assert_int_equal(th_human_read(th_str_of(line), &word, &answer, &err), TH_OK);
	if (word == TH_HUMAN_ANSWER)
		items_of(th_buf_str(&answer), items);
	th_buf_deinit(&answer);
	return word;
}

/* A line, and what must stand in its items. */
static const struct {
	const char *line, *has;
} lines[] = {
	{ "click 10 20", "\"actions\":[{\"type\":\"click\",\"x\":10,\"y\":20,\"button\":\"left\"" },
	{ "  click 10, 20 ", "\"x\":10,\"y\":20" },
	{ "right 799 599", "\"button\":\"right\"" },
	{ "double 1 2", "\"count\":2" },
	{ "triple_click 1 2", "\"count\":3" },
	{ "move 5 6", "{\"type\":\"move\",\"x\":5,\"y\":6" },
	{ "click 900 20", "\"error\":" },
	{ "click #7", "\\\"element_id\\\":7" },
	{ "click #7", "\"error\":\"elements have no marks" },
	{ "click \"the OK button\"", "\\\"element_description\\\":\\\"the OK button\\\"" },
	{ "drag 1 2 3 4", "\"type\":\"drag\"" },
	{ "scroll down 5", "\"type\":\"scroll\"" },
	{ "scroll 10 20 up 2", "\"x\":10,\"y\":20" },
	{ "type a\\nb \\\\n", "\"text\":\"a\\nb \\\\n\"" },
	{ "key ctrl+s", "\"keys\":[\"ctrl\",\"s\"]" },
	{ "key ctrl++", "\"keys\":[\"ctrl\",\"+\"]" },
	{ "wait 2", "\"type\":\"wait\"" },
	{ "screenshot", "\"type\":\"screenshot\"" },
	{ "shell ls -l \"a b\"",
	  "\"arguments\":\"{\\\"command\\\":\\\"ls -l \\\\\\\"a b\\\\\\\"\\\"}\"" },
	{ "read_file {\"path\": \"x\"}", "\"name\":\"read_file\"" },
	{ "{\"name\":\"shell\",\"arguments\":{\"command\":\"a\"}}", "\"name\":\"shell\"" },
	{ "{\"action\":\"click\",\"x\":1,\"y\":2}", "\"type\":\"click\",\"x\":1,\"y\":2" },
	{ "{\"type\":\"click\",\"x\":1,\"y\":2}", "\"type\":\"click\",\"x\":1,\"y\":2" },
	{ "[{\"name\":\"a\"},{\"name\":\"b\",\"arguments\":\"{}\"}]", "\"name\":\"b\"" },
	{ "{\"response\":\"all is well\"}", "\"text\":\"all is well\"" },
	{ "done it is there", "\"text\":\"it is there\"" },
	{ "done", "\"text\":\"Done.\"" },
	{ "All is well, I think.", "\"text\":\"All is well, I think.\"" },
	{ "fail no such page", "\"outcome\":\"failed\"" },
	{ "fail no such page", "no such page" },
	{ "fail", "\"outcome\":\"failed\"" },
};

static void reads_lines(void **state)
{
	struct th_buf items = TH_BUF_INIT(TH_MIB);

	(void)state;
	for (size_t i = 0; i < TH_COUNT(lines); i++) {
		assert_int_equal(read_line(lines[i].line, &items), TH_HUMAN_ANSWER);
		if (th_str_find(th_buf_str(&items), th_str_of(lines[i].has)) < 0)
			fail_msg("%s\nbecame %s\nwithout %s", lines[i].line, items.ptr,
				 lines[i].has);
	}
	assert_int_equal(read_line("help", &items), TH_HUMAN_HELP);
	assert_int_equal(read_line("?", &items), TH_HUMAN_HELP);
	assert_int_equal(read_line("show", &items), TH_HUMAN_SHOW);
	assert_int_equal(read_line("leave", &items), TH_HUMAN_LEAVE);
	assert_int_equal(read_line(" \t ", &items), TH_HUMAN_NOTHING);
	th_buf_deinit(&items);
}

static void says_what_is_wrong(void **state)
{
	static const struct {
		const char *line, *says;
	} bad[] = {
		{ "click", "click X Y" },
		{ "click 10", "click X Y" },
		{ "click 1 2 3", "click X Y" },
		{ "click #", "click X Y" },
		{ "click \"\"", "click X Y" },
		{ "drag 1 2 3", "drag X Y X Y" },
		{ "scroll sideways", "scroll down 5" },
		{ "scroll down 0", "scroll down 5" },
		{ "scroll 1 down", "scroll down 5" },
		{ "type", "type TEXT" },
		{ "key", "key ctrl+s" },
		{ "wait soon", "wait SECONDS" },
		{ "screenshot now", "screenshot" },
		{ "shell", "shell COMMAND" },
		{ "{\"name\":", "not JSON" },
		{ "{}", "a call is" },
		{ "[]", "a call is" },
		{ "[1]", "a call is" },
		{ "{\"name\":\"a\",\"arguments\":[]}", "must be an object" },
		{ "{\"tool_calls\":{}}", "must be a list" },
		{ "{\"response\":1}", "must be a string" },
		{ "{\"response\":\" \",\"tool_calls\":[]}", "has a \"response\"" },
		{ "caf\xe9", "UTF-8" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		struct th_buf answer = TH_BUF_INIT(TH_ANSWER_MAX);
		enum th_human_word word;

		assert_true(th_human_read(th_str_of(bad[i].line), &word, &answer, &err) != TH_OK);
		if (!strstr(err.msg, bad[i].says))
			fail_msg("%s: %s", bad[i].line, err.msg);
		th_buf_deinit(&answer);
	}
}

static void keeps_its_limits(void **state)
{
	struct th_buf answer = TH_BUF_INIT(TH_ANSWER_MAX), text = TH_BUF_INIT(TH_MIB);
	enum th_human_word word;

	(void)state;
	for (size_t i = 0; i < TH_HUMAN_LINE_MAX; i++)
		th_buf_add_char(&text, 'x');
	assert_int_equal(th_human_read(th_buf_str(&text), &word, &answer, &err), TH_OK);
	th_buf_add_char(&text, 'x');
	assert_int_equal(th_human_read(th_buf_str(&text), &word, &answer, &err), TH_ELIMIT);
	th_buf_clear(&text);
	th_buf_add_char(&text, '[');
	for (int i = 0; i < TH_CALLS_MAX; i++)
		th_buf_printf(&text, "%s{\"name\":\"a\"}", i ? "," : "");
	th_buf_add_char(&text, ']');
	th_buf_clear(&answer);
	assert_int_equal(th_human_read(th_buf_str(&text), &word, &answer, &err), TH_OK);
	text.len--;
	th_buf_add_cstr(&text, ",{\"name\":\"a\"}]");
	assert_int_equal(th_human_read(th_buf_str(&text), &word, &answer, &err), TH_ELIMIT);
	th_buf_deinit(&answer);
	th_buf_deinit(&text);
}

static const char request[] =
    "{\"messages\":[{\"role\":\"system\",\"content\":\"Be careful.\"},"
    "{\"role\":\"user\",\"content\":\"the task\"},"
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\","
    "\"function\":{\"name\":\"shell\",\"arguments\":\"{}\"}}]},"
    "{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"evil\\u001b[2J\\u202e\\nsecond\"},"
    "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"the screen\"},{\"type\":"
    "\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,AAAA\"}}]}],"
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"shell\"}}]}";

static void shows_what_is_new(void **state)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc;

	(void)state;
	assert_int_equal(th_json_parse(th_str_of(request), &doc, &err), TH_OK);
	assert_true(th_str_is(th_human_picture(th_json_root(doc)), "AAAA"));
	th_human_show(th_json_root(doc), false, TH_STR("/run/x.png"), &out);
	assert_null(strstr(out.ptr, "the task"));
	assert_null(strstr(out.ptr, "Be careful"));
	assert_null(strchr(out.ptr, '\x1b'));
	assert_null(strstr(out.ptr, "\xe2\x80\xae"));
	assert_non_null(strstr(out.ptr, "  second\n"));
	assert_non_null(strstr(out.ptr, "screenshot: /run/x.png\n"));
	th_buf_clear(&out);
	th_human_show(th_json_root(doc), true, TH_STR(""), &out);
	assert_non_null(strstr(out.ptr, "instructions:\n  Be careful.\n"));
	assert_non_null(strstr(out.ptr, "you said:\n  shell {}\n"));
	assert_non_null(strstr(out.ptr, "tools: shell\n"));
	assert_null(strstr(out.ptr, "screenshot:"));
	th_json_free(doc);
	th_buf_deinit(&out);
}

static void cuts_long_messages(void **state)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc;

	(void)state;
	for (int more = 0; more < 2; more++) {
		th_buf_clear(&text);
		th_buf_add_cstr(&text, "{\"messages\":[{\"role\":\"user\",\"content\":\"");
		for (size_t i = 0; i < TH_HUMAN_SHOWN_MAX + (size_t)more; i++)
			th_buf_add_char(&text, i % 64 == 63 ? ' ' : 'x');
		th_buf_add_cstr(&text, "\"}]}");
		assert_int_equal(th_json_parse(th_buf_str(&text), &doc, &err), TH_OK);
		th_buf_clear(&out);
		th_human_show(th_json_root(doc), false, TH_STR(""), &out);
		assert_int_equal(strstr(out.ptr, "left out") != NULL, more);
		th_json_free(doc);
	}
	th_buf_deinit(&text);
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_lines),        cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(keeps_its_limits),   cmocka_unit_test(shows_what_is_new),
		cmocka_unit_test(cuts_long_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
