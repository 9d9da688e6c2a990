/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_schema.c - schemas made strict, values checked with sentences that a
 * model can act on, and the edges of the limits.
 */
#include "unit.h"

#include "base/limits.h"
#include "schema/schema.h"

/* Both as JSON with ' for ". */
static struct th_json_doc *parse(const char *text)
{
	struct th_buf json = TH_BUF_INIT(16 * TH_MIB);
	struct th_json_doc *doc;
	struct th_err err;

	for (; *text; text++)
		th_buf_add_char(&json, *text == '\'' ? '"' : *text);
	if (th_json_parse(th_buf_str(&json), &doc, &err))
		fail_msg("%s: %s", json.ptr, err.msg);
	th_buf_deinit(&json);
	return doc;
}

/* ---- strict ---- */

static enum th_code strict_of(const char *schema, unsigned flags, struct th_arena *a,
			      struct th_str *ret, struct th_err *err)
{
	struct th_json_doc *doc = parse(schema);
	enum th_code code = th_schema_strict(th_json_root(doc), flags, a, ret, err);

	th_json_free(doc);
	return code;
}

static void becomes(const char *schema, const char *wanted)
{
	struct th_json_doc *want = parse(wanted), *got = NULL;
	struct th_arena a;
	struct th_str text, again;
	struct th_err err = {};

	th_arena_init(&a, 16 * TH_MIB);
	if (strict_of(schema, 0, &a, &text, &err) || th_json_parse(text, &got, &err))
		fail_msg("%s: %s", schema, err.msg);
	if (!th_json_equal(th_json_root(got), th_json_root(want)))
		fail_msg("%s: %.*s", schema, TH_FMT(text));
	/* What is strict stays as it is. */
	assert_int_equal(th_schema_strict(th_json_root(got), 0, &a, &again, &err), TH_OK);
	th_json_free(got);
	assert_int_equal(th_json_parse(again, &got, &err), TH_OK);
	assert_true(th_json_equal(th_json_root(got), th_json_root(want)));
	th_json_free(got);
	th_json_free(want);
	th_arena_deinit(&a);
}

static void refused(const char *schema, unsigned flags, enum th_code wanted, const char *says)
{
	struct th_arena a;
	struct th_str text;
	struct th_err err = {};
	enum th_code code;

	th_arena_init(&a, 16 * TH_MIB);
	code = strict_of(schema, flags, &a, &text, &err);
	if (code != wanted || !strstr(err.msg, says))
		fail_msg("%.200s: %d %s", schema, (int)code, err.msg);
	th_arena_deinit(&a);
}

static void test_strict_objects(void **unused)
{
	(void)unused;
	becomes("{}",
		"{'additionalProperties':false,'type':'object','properties':{},'required':[]}");
	becomes(
	    "{'type':'object','properties':{'a':{'type':'string'},'b':{}},'required':['b','z']}",
	    "{'type':'object','properties':{'a':{'type':'string'},'b':{}},'required':['a','b'],"
	    "'additionalProperties':false}");
	becomes("{'properties':{}}",
		"{'type':'object','properties':{},'required':[],'additionalProperties':false}");
	becomes("{'type':'object'}", "{'type':'object','additionalProperties':false}");
	becomes("{'type':['object'],'properties':{}}",
		"{'type':'object','properties':{},'required':[],'additionalProperties':false}");
	becomes("{'type':'object','properties':{'a':{'type':['object','null'],'properties':{}}}}",
		"{'type':'object','properties':{'a':{'type':['object','null'],'properties':{},"
		"'required':[],'additionalProperties':false}},'required':['a'],"
		"'additionalProperties':false}");
	refused("{'type':'object','additionalProperties':true}", 0, TH_EUSAGE,
		"additionalProperties should not be set for object types.");
	refused("{'type':'object','additionalProperties':null}", 0, TH_EUSAGE,
		"additionalProperties should not be set");
	refused("{'additionalProperties':{}}", 0, TH_EUSAGE, "additionalProperties should not be");
	refused("{'type':['object','null'],'properties':{}}", 0, TH_EUSAGE,
		"its type is ['object', 'null'].");
	refused("{'type':'object','properties':{'a':true}}", 0, TH_EUSAGE,
		"must be an object, not");
	refused("[]", 0, TH_EUSAGE, "must be an object, not");
}

static void test_strict_unions(void **unused)
{
	(void)unused;
	becomes("{'type':'array','items':{'anyOf':[{'properties':{}},{'default':null}]}}",
		"{'type':'array','items':{'anyOf':[{'type':'object','properties':{},'required':[],"
		"'additionalProperties':false},{}]}}");
	becomes("{'properties':{'u':{'oneOf':[{'type':'null'}],'anyOf':[{'type':'string'}]}}}",
		"{'properties':{'u':{'anyOf':[{'type':'string'},{'type':'null'}]}},'type':'object',"
		"'required':['u'],'additionalProperties':false}");
	becomes("{'properties':{'u':{'oneOf':[{'type':'null'}],'anyOf':'x'}}}",
		"{'properties':{'u':{'anyOf':[{'type':'null'}]}},'type':'object','required':['u'],"
		"'additionalProperties':false}");
	refused("{'anyOf':[{'type':'object'}]}", 0, TH_EUSAGE, "must not use `anyOf`");
	refused("{'oneOf':[{'type':'object'}]}", 0, TH_EUSAGE, "must not use `anyOf`");
	/* One allOf is its parent's; several stay. */
	becomes("{'type':'object','allOf':[{'properties':{'a':{}}}]}",
		"{'type':'object','properties':{'a':{}},'required':['a'],"
		"'additionalProperties':false}");
	becomes("{'type':'object','title':'mine','allOf':[{'title':'its','properties':{'a':{}}}],"
		"'properties':{}}",
		"{'type':'object','title':'mine','properties':{'a':{}},'required':['a'],"
		"'additionalProperties':false}");
	becomes("{'allOf':[{'properties':{}},{}]}",
		"{'allOf':[{'properties':{},'type':'object','required':[],"
		"'additionalProperties':false},{}]}");
	refused("{'maximum':1,'minimum':2,'allOf':[{'minimum':3,'maximum':4}]}", 0, TH_EUSAGE,
		"incompatible parent keyword(s) (maximum, minimum) that");
	becomes("{'maximum':1,'allOf':[{'maximum':1.0}]}", "{'maximum':1}");
}

static void test_strict_references(void **unused)
{
	(void)unused;
	becomes("{'properties':{'a':{'$ref':'#/$defs/A'}},'$defs':{'A':{'properties':{}}}}",
		"{'properties':{'a':{'$ref':'#/$defs/A'}},'type':'object','required':['a'],"
		"'additionalProperties':false,'$defs':{'A':{'type':'object','properties':{},"
		"'required':[],'additionalProperties':false}}}");
	becomes("{'properties':{'a':{'$ref':'#/$defs/x~1y~0','description':'d'}},"
		"'$defs':{'x/y~':{'type':'string','description':'e','default':null}}}",
		"{'properties':{'a':{'type':'string','description':'d'}},'type':'object',"
		"'required':['a'],'additionalProperties':false,"
		"'$defs':{'x/y~':{'type':'string','description':'e'}}}");
	/* A chain, and an allOf around it. */
	becomes("{'properties':{'a':{'allOf':[{'$ref':'#/$defs/A','title':'t'}]}},"
		"'$defs':{'A':{'$ref':'#/$defs/B','title':'u'},'B':{'type':'integer'}}}",
		"{'properties':{'a':{'type':'integer','title':'t'}},'type':'object',"
		"'required':['a'],'additionalProperties':false,"
		"'$defs':{'A':{'type':'integer','title':'u'},'B':{'type':'integer'}}}");
	/* The list that a reference shares is not added to twice. */
	becomes("{'properties':{'a':{'$ref':'#/$defs/A','title':'t'}},"
		"'definitions':{},'$defs':{'A':{'anyOf':[{}],'oneOf':[{'type':'null'}]}}}",
		"{'properties':{'a':{'anyOf':[{},{'type':'null'}],'title':'t'}},'type':'object',"
		"'required':['a'],'additionalProperties':false,'definitions':{},"
		"'$defs':{'A':{'anyOf':[{},{'type':'null'}]}}}");
	refused("{'properties':{'a':{'$ref':'http://x','title':'t'}}}", 0, TH_EUSAGE,
		"Unexpected $ref format 'http://x'; Does not start with #/");
	refused("{'properties':{'a':{'$ref':'#/$defs/no','title':'t'}}}", 0, TH_EUSAGE,
		"nothing in");
	refused("{'properties':{'a':{'$ref':1,'title':'t'}}}", 0, TH_EUSAGE, "no string");
	refused("{'properties':{'a':{'$ref':'#/x','type':'string','minLength':1}}}", 0, TH_EUSAGE,
		"sibling keyword(s) (minLength, type) that");
	refused("{'properties':{'a':{'$id':'i','items':{'$ref':'#/x'}}}}", 0, TH_EUSAGE,
		"nested `$id` resource");
	refused("{'properties':{'a':{'$ref':'#/$defs/A','title':'t'}},'$defs':{'A':{'$id':'i'}}}",
		0, TH_EUSAGE, "nested `$id` resource");
	refused("{'allOf':[{'$ref':'#/$defs/A'}],'$defs':{'A':{'$ref':'#/$defs/A'}}}", 0, TH_EUSAGE,
		"circular");
	/* Endless ones end. */
	refused("{'$defs':{'A':{'properties':{'n':{'$ref':'#/$defs/A','title':'t'}}}}}", 0,
		TH_ELIMIT, "too deeply");
	refused("{'properties':{'p':{'$ref':'#/properties','title':'t'}}}", 0, TH_ELIMIT,
		"too deeply");
}

static void test_strict_of_others(void **unused)
{
	struct th_arena a;
	struct th_str text;
	struct th_err err;

	(void)unused;
	refused("{'type':'object','properties':{}}", TH_SCHEMA_CLOSED, TH_EUSAGE,
		"permits undeclared properties");
	refused("{'properties':{'a':{'$ref':'#/$defs/A'}},'$defs':{'A':{}}}", TH_SCHEMA_CLOSED,
		TH_EUSAGE, "was not validated");
	th_arena_init(&a, TH_MIB);
	assert_int_equal(strict_of("{'type':'object','additionalProperties':false}",
				   TH_SCHEMA_CLOSED, &a, &text, &err),
			 TH_OK);
	th_arena_deinit(&a);
}

/* `count` times `piece`, each # of it the number, between two others. */
static void many(struct th_buf *out, const char *first, const char *piece, int count,
		 const char *last)
{
	th_buf_add_cstr(out, first);
	for (int i = 0; i < count; i++)
		for (const char *p = piece; *p; p++)
			if (*p == '#')
				th_buf_printf(out, "%08d", i);
			else
				th_buf_add_char(out, *p);
	th_buf_add_cstr(out, last);
}

static void test_strict_limits(void **unused)
{
	struct th_buf text = TH_BUF_INIT(16 * TH_MIB);
	struct th_arena a;
	struct th_str strict;
	struct th_err err;

	(void)unused;
	th_arena_init(&a, 16 * TH_MIB);
	many(&text, "{'x':{'z':0", ",'m#':0", TH_SCHEMA_MEMBERS_MAX - 1, "}}");
	assert_int_equal(strict_of(text.ptr, 0, &a, &strict, &err), TH_OK);
	th_buf_clear(&text);
	many(&text, "{'x':{'z':0", ",'m#':0", TH_SCHEMA_MEMBERS_MAX, "}}");
	refused(text.ptr, 0, TH_ELIMIT, "more than 1024 members");
	/* Schemas that double with each definition. */
	th_buf_clear(&text);
	th_buf_add_cstr(&text, "{'$defs':{'A-1':{}");
	for (int i = 0; i < 40; i++)
		th_buf_printf(&text,
			      ",'A%d':{'properties':{'l':{'$ref':'#/$defs/A%d','title':'t'},"
			      "'r':{'$ref':'#/$defs/A%d','title':'t'}}}",
			      i, i - 1, i - 1);
	th_buf_add_cstr(&text, "}}");
	refused(text.ptr, 0, TH_ELIMIT, "too ");
	/* Too much memory; more text than a schema may have; no room for it. */
	th_buf_clear(&text);
	many(&text, "{'x':[0", ",1#", 300000, "]}");
	refused(text.ptr, 0, TH_ELIMIT, "too much memory");
	th_buf_clear(&text);
	many(&text, "{'title':'", "#", TH_SCHEMA_SIZE_MAX / 8, "'}");
	refused(text.ptr, 0, TH_ELIMIT, "larger than");
	th_arena_deinit(&a);
	th_arena_init(&a, 16);
	assert_int_equal(strict_of("{}", 0, &a, &strict, &err), TH_ELIMIT);
	assert_int_equal(strict_of("{'properties':{}}", 0, &a, &strict, &err), TH_ELIMIT);
	th_arena_deinit(&a);
	th_buf_deinit(&text);
}

/* The last that is taken, and the first that is not. */
static void test_strict_edges(void **unused)
{
	struct th_buf text = TH_BUF_INIT(16 * TH_MIB);
	struct th_arena a;
	struct th_str strict;
	struct th_err err;

	(void)unused;
	th_arena_init(&a, 16 * TH_MIB);
	for (int more = 0; more <= 1; more++) {
		/* The root is at 1, its property at 2, and each reference one deeper. */
		th_buf_clear(&text);
		th_buf_add_cstr(&text, "{'properties':{'p':{'$ref':'#/x/0','title':'t'}},'x':{");
		for (int i = 0; i < TH_SCHEMA_DEPTH_MAX - 3 + more; i++)
			th_buf_printf(&text, "'%d':{'$ref':'#/x/%d','title':'t'},", i, i + 1);
		th_buf_printf(&text, "'%d':{'type':'null'}}}", TH_SCHEMA_DEPTH_MAX - 3 + more);
		assert_int_equal(strict_of(text.ptr, 0, &a, &strict, &err),
				 more ? TH_ELIMIT : TH_OK);
		/* The root, its property, and the alternatives. */
		th_buf_clear(&text);
		th_buf_add_cstr(&text, "{'properties':{'p':{'anyOf':[{}");
		for (int i = 1; i < TH_SCHEMA_NODES_MAX - 2 + more; i++)
			th_buf_add_cstr(&text, ",{}");
		th_buf_add_cstr(&text, "]}}}");
		assert_int_equal(strict_of(text.ptr, 0, &a, &strict, &err),
				 more ? TH_ELIMIT : TH_OK);
	}
	th_arena_deinit(&a);
	th_buf_deinit(&text);
}

/* ---- checking ---- */

static enum th_code check(const char *schema, const char *value, struct th_buf *faults,
			  struct th_err *err)
{
	struct th_json_doc *s = parse(schema), *v = parse(value);
	enum th_code code = th_schema_check(th_json_root(s), th_json_root(v), faults, err);

	th_json_free(s);
	th_json_free(v);
	return code;
}

static void fits(const char *schema, const char *value)
{
	struct th_err err = {};

	if (check(schema, value, NULL, &err))
		fail_msg("%s, %s: %s", schema, value, err.msg);
}

static void faults(const char *schema, const char *value, const char *wanted)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_err err = {};

	assert_int_equal(check(schema, value, &out, &err), TH_EPROTO);
	if (!th_str_is(th_buf_str(&out), wanted))
		fail_msg("%s, %s:\n%s\nnot\n%s", schema, value, out.ptr, wanted);
	assert_true(th_str_starts(th_buf_str(&out), th_str_of(err.msg)));
	th_buf_deinit(&out);
}

static void test_types(void **unused)
{
	(void)unused;
	fits("{'type':'string'}", "'x'");
	fits("{'type':'integer'}", "5.0");
	fits("{'type':'number'}", "5");
	fits("{'type':['string','null']}", "null");
	fits("{'type':'boolean'}", "false");
	fits("true", "{}");
	fits("{}", "[1]");
	fits("{'type':17}", "1"); /* says nothing */
	faults("{'type':'string'}", "5", "must be a string, not 5");
	faults("{'type':'integer'}", "5.5", "must be an integer, not 5.5");
	faults("{'type':['string','null']}", "{}", "must be a string or null, not an object");
	faults("{'type':'number'}", "'two'", "must be a number, not \"two\"");
	faults("{'type':'number'}", "true", "must be a number, not true");
	faults("false", "1", "must be left out, not 1");
}

static void test_scalars(void **unused)
{
	(void)unused;
	fits("{'enum':['a',1,null]}", "1.0");
	fits("{'minimum':1,'maximum':2}", "2");
	fits("{'minimum':5}", "'x'"); /* of another kind: says nothing */
	fits("{'multipleOf':0.1}", "0.3");
	fits("{'maxLength':2}", "'\xc3\xa9\xc3\xa9'"); /* characters */
	fits("{'const':{'a':1}}", "{'a':1}");
	faults("{'enum':['a','b',null]}", "'c'", "must be \"a\", \"b\" or null, not \"c\"");
	faults("{'const':1}", "2", "must be 1, not 2");
	faults("{'minimum':1}", "0.5", "must be at least 1, not 0.5");
	faults("{'exclusiveMaximum':1}", "1", "must be less than 1, not 1");
	faults("{'exclusiveMinimum':1}", "1", "must be more than 1, not 1");
	faults("{'maximum':1}", "2", "must be at most 1, not 2");
	faults("{'multipleOf':3}", "4", "must be a multiple of 3, not 4");
	faults("{'minLength':2}", "'\xc3\xa9'", "must have at least 2 characters, not 1");
}

static void test_containers(void **unused)
{
	const char *person =
	    "{'type':'object','properties':{'name':{'type':'string'},'tags':{'type':"
	    "'array','items':{'type':'string'}}},'required':['name','tags'],"
	    "'additionalProperties':false}";

	(void)unused;
	fits(person, "{'name':'x','tags':[]}");
	faults(
	    person, "{'name':1,'tags':['a',2],'age':3}",
	    "name: must be a string, not 1\ntags[1]: must be a string, not 2\n\"age\" is not known "
	    "here; \"name\", \"tags\" are");
	faults(person, "{'tags':[]}", "\"name\" is missing");
	faults("{'additionalProperties':false}", "{'a':1}",
	       "\"a\" is not known here; no members are");
	faults("{'additionalProperties':{'type':'string'}}", "{'a':{},'b':1}",
	       "a: must be a string, not an object\nb: must be a string, not 1");
	faults("{'items':{'properties':{'a':{'items':{'type':'null'}}}}}", "[{'a':[null,0]}]",
	       "[0].a[1]: must be null, not 0");
	faults("{'minItems':2}", "[1]", "must have at least 2 elements, not 1");
	faults("{'maxProperties':0}", "{'a':1}", "must have at most 0 members, not 1");
	faults("{'uniqueItems':true}", "[1,{'a':2},{'a':2}]", "elements 1 and 2 are the same");
	fits("{'uniqueItems':true}", "[1,'1',true,[1]]");
	fits("{'prefixItems':[{'type':'string'}],'items':{'type':'null'}}", "['a',null]");
	faults("{'prefixItems':[{'type':'string'}],'items':{'type':'null'}}", "[null,1]",
	       "[0]: must be a string, not null\n[1]: must be null, not 1");
	faults("{'prefixItems':[{'type':'string'}],'items':false}", "['a',1]",
	       "[1]: must be left out, not 1");
}

static void test_combined(void **unused)
{
	const char *shapes =
	    "{'anyOf':[{'type':'null'},{'type':'object','properties':{'kind':{'const':"
	    "'a'},'x':{'type':'integer'}}},{'type':'object','properties':{'kind':"
	    "{'const':'b'}}}]}";

	(void)unused;
	fits(shapes, "null");
	fits(shapes, "{'kind':'b','x':'any'}");
	faults(shapes, "{'kind':'a','x':'one'}",
	       "fits none of 3 alternatives; the nearest says: x: must be an integer, not \"one\"");
	faults("{'anyOf':[{'type':'null'},{'minimum':3}]}", "1",
	       "fits none of 2 alternatives; the nearest says: must be at least 3, not 1");
	fits("{'oneOf':[{'type':'string'},{'type':'null'}]}", "null");
	faults("{'oneOf':[{'type':'string'},{}]}", "'a'",
	       "must fit exactly one of the alternatives, not several");
	faults("{'allOf':[{'minimum':1},{'minimum':2}]}", "0",
	       "must be at least 1, not 0\nmust be at least 2, not 0");
	faults("{'not':{'type':'null'}}", "null", "must be something else, not null");
	fits("{'not':{'type':'null'}}", "1");
	faults("{'if':{'type':'string'},'then':{'minLength':1},'else':{'minimum':1}}", "''",
	       "must have at least 1 characters, not 0");
	faults("{'if':{'type':'string'},'then':{'minLength':1},'else':{'minimum':1}}", "0",
	       "must be at least 1, not 0");
}

static void test_references(void **unused)
{
	const char *tree =
	    "{'$ref':'#/$defs/node','$defs':{'node':{'type':'object','properties':{'next':"
	    "{'anyOf':[{'type':'null'},{'$ref':'#/$defs/node'}]}},"
	    "'required':['next']}}}";
	struct th_err err;

	(void)unused;
	fits(tree, "{'next':{'next':{'next':null}}}");
	faults(tree, "{'next':{'next':1}}",
	       "next: fits none of 2 alternatives; the nearest says: next.next: fits none of 2 "
	       "alternatives; the nearest says: next.next: must be an object, not 1");
	fits("{'properties':{'a':{'$ref':'#/x~1y/1'}},'x/y':[{},{'type':'null'}]}", "{'a':null}");
	faults("{'properties':{'a':{'$ref':'#/x~1y/1'}},'x/y':[{},{'type':'null'}]}", "{'a':1}",
	       "a: must be null, not 1");
	fits("{'properties':{'a':{'$ref':'#'}}}", "{'a':{'a':{}}}");
	assert_int_equal(check("{'$ref':'#/no'}", "1", NULL, &err), TH_EUSAGE);
	assert_int_equal(check("{'$ref':'http://x'}", "1", NULL, &err), TH_EUSAGE);
	assert_int_equal(check("{'$ref':'#'}", "1", NULL, &err), TH_ELIMIT);
	/* Two ways at each step, none of which ends. */
	assert_int_equal(check("{'anyOf':[{'$ref':'#'},{'$ref':'#'}]}", "1", NULL, &err),
			 TH_ELIMIT);
	assert_int_equal(check("{'anyOf':[{'$ref':'#/$defs/no'},{}]}", "1", NULL, &err), TH_EUSAGE);
}

static void test_check_limits(void **unused)
{
	struct th_buf text = TH_BUF_INIT(32 * TH_MIB), schema = TH_BUF_INIT(TH_MIB);
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_err err;
	size_t lines = 1;

	(void)unused;
	many(&text, "[", "1#,", TH_SCHEMA_FAULTS_MAX - 1, "0]");
	assert_int_equal(check("{'items':{'type':'null'}}", text.ptr, &out, &err), TH_EPROTO);
	for (const char *p = out.ptr; (p = strchr(p, '\n')); p++)
		lines++;
	assert_int_equal(lines, TH_SCHEMA_FAULTS_MAX);
	assert_null(strstr(out.ptr, "more"));
	th_buf_clear(&text);
	th_buf_clear(&out);
	many(&text, "[", "1#,", TH_SCHEMA_FAULTS_MAX, "0]");
	assert_int_equal(check("{'items':{'type':'null'}}", text.ptr, &out, &err), TH_EPROTO);
	assert_true(th_str_ends(th_buf_str(&out), TH_STR("\n… and 1 more")));
	/* Long values and names are cut. */
	th_buf_clear(&text);
	many(&text, "'", "#", TH_SCHEMA_SHOWN_MAX / 8, "x'");
	th_buf_clear(&out);
	assert_int_equal(check("{'type':'null'}", text.ptr, &out, &err), TH_EPROTO);
	assert_true(th_str_ends(th_buf_str(&out), TH_STR("00000009\"… (81 bytes)")));
	/* One schema too many under way: allOf in allOf. */
	for (int extra = 0; extra < 2; extra++) {
		th_buf_clear(&schema);
		/* Through references, since a document is not as deep. */
		th_buf_add_cstr(&schema, "{'allOf':[{'$ref':'#/d/0'}],'d':[");
		for (int i = 1; i < TH_SCHEMA_CHECK_DEPTH_MAX - 2 + extra; i++)
			th_buf_printf(&schema, "{'$ref':'#/d/%d'},", i);
		th_buf_add_cstr(&schema, "{}]}");
		assert_int_equal(check(schema.ptr, "1", NULL, &err), extra ? TH_ELIMIT : TH_OK);
	}
	/* As many members as properties, each looked for among all. */
	th_buf_clear(&text);
	many(&text, "{'z':0", ",'m#':0", 8000, "}");
	th_buf_clear(&schema);
	many(&schema, "{'properties':{'z':{}", ",'m#':{'title':''}", 8000, "}}");
	assert_int_equal(check(schema.ptr, text.ptr, NULL, &err), TH_ELIMIT);
	/* Each with each other: the last list that is compared, and the first that is not. */
	assert_int_equal(TH_SCHEMA_STEPS_MAX, 10000000);
	for (int extra = 0; extra < 2; extra++) {
		th_buf_clear(&text);
		many(&text, "[0", ",1#", 4471 + extra, "]");
		assert_int_equal(check("{'uniqueItems':true}", text.ptr, NULL, &err),
				 extra ? TH_ELIMIT : TH_OK);
	}
	assert_string_equal(err.msg, "checking the value takes more than 10000000 steps: a smaller "
				     "value, or a simpler schema");
	th_buf_deinit(&text);
	th_buf_deinit(&schema);
	th_buf_deinit(&out);
}

/* What is strict accepts what has all of the properties, and nothing else. */
static void test_strict_and_checked(void **unused)
{
	struct th_arena a;
	struct th_str text;
	struct th_err err;

	(void)unused;
	th_arena_init(&a, TH_MIB);
	assert_int_equal(strict_of("{'properties':{'a':{'type':'string'},'b':{'properties':{}}}}",
				   0, &a, &text, &err),
			 TH_OK);
	text = th_arena_printf(&a, "%.*s", TH_FMT(text));
	fits(text.ptr, "{'a':'','b':{}}");
	faults(text.ptr, "{'a':''}", "\"b\" is missing");
	faults(text.ptr, "{'a':'','b':{'c':1}}", "b: \"c\" is not known here; no members are");
	th_arena_deinit(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strict_objects),     cmocka_unit_test(test_strict_unions),
		cmocka_unit_test(test_strict_references),  cmocka_unit_test(test_strict_of_others),
		cmocka_unit_test(test_strict_limits),      cmocka_unit_test(test_types),
		cmocka_unit_test(test_strict_edges),       cmocka_unit_test(test_scalars),
		cmocka_unit_test(test_containers),         cmocka_unit_test(test_combined),
		cmocka_unit_test(test_references),         cmocka_unit_test(test_check_limits),
		cmocka_unit_test(test_strict_and_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
