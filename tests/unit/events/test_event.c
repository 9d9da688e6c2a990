/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "events/event.h"

static struct th_arena arena;
static struct th_err err;

static int setup(void **state)
{
	(void)state;
	th_arena_init(&arena, 64 * TH_MIB);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	th_arena_deinit(&arena);
	return 0;
}

static struct th_event sample(void)
{
	struct th_event ev = {
		.seq = 7,
		.ts_ms = 1763700000123,
		.source = TH_SOURCE_AGENT,
		.kind = TH_EV_CALL,
		.cause = 6,
		.call = TH_STR("call_1"),
		.data = TH_STR("{\"call_id\":\"call_1\",\"x\":\"é\"}"),
		.build = TH_STR("0.1.0"),
	};

	for (size_t i = 0; i < sizeof(ev.id.bytes); i++)
		ev.id.bytes[i] = (uint8_t)(i * 17);
	return ev;
}

static struct th_digest digest(struct th_event ev)
{
	struct th_digest before = {};

	return th_event_digest(&before, TH_STR("s1"), &ev);
}

/* Every name is found again, and nothing else is. */
static void names(void **state)
{
	(void)state;
	for (int i = 0; i < TH_EVENT_COUNT; i++) {
		assert_int_equal(th_event_find(th_str_of(th_event_name((enum th_event_kind)i))), i);
		assert_true(strlen(th_event_doc((enum th_event_kind)i)) > 0);
	}
	for (int i = 0; i < TH_SOURCE_COUNT; i++)
		assert_int_equal(th_source_find(th_str_of(th_source_name((enum th_source)i))), i);
	for (int i = 0; i < TH_CLASS_COUNT; i++)
		assert_int_equal(th_class_find(th_str_of(th_class_name((enum th_class)i))), i);
	for (int i = 0; i < TH_OUTCOME_COUNT; i++)
		assert_int_equal(
		    th_outcome_find(th_str_of(th_outcome_name((enum th_outcome_status)i))), i);
	assert_int_equal(th_event_find(TH_STR("")), -1);
	assert_int_equal(th_event_find(TH_STR("messag")), -1);
	assert_int_equal(th_event_find(TH_STR("message\0")), -1);
	assert_int_equal(th_source_find(TH_STR("User")), -1);
	assert_int_equal(th_class_find(TH_STR("Y")), -1);
	/* One mark, at the beginning: a sentence may hold the same words. */
	assert_true(
	    th_str_is(th_outcome_sentence(TH_STR(TH_ERROR_MARK "no display")), "no display"));
	assert_true(th_str_is(th_outcome_sentence(TH_STR("ld: error: x")), "ld: error: x"));
	assert_true(th_str_is(th_outcome_sentence(TH_STR("error: error: x")), "error: x"));
	assert_int_equal(th_outcome_sentence(TH_STR("error: ")).len, 0);
	assert_int_equal(th_outcome_sentence(TH_STR("error")).len, 5);
	assert_int_equal(th_outcome_find((struct th_str){}), -1);
}

/* Each kind has a table, and one that describes what its name says. */
static void tables(void **state)
{
	(void)state;
	for (int i = 0; i < TH_EVENT_COUNT; i++) {
		const struct th_table *t = th_event_table((enum th_event_kind)i);

		assert_non_null(t);
		assert_true(t->open && t->count > 0);
		assert_true(th_str_starts(th_str_of(t->name), TH_STR("ev_")));
		assert_string_equal(t->name + 3, th_event_name((enum th_event_kind)i));
		assert_string_equal(t->doc, th_event_doc((enum th_event_kind)i));
	}
}

/* Written out by hand from the definition in event.h, so that no change of the code moves it. */
static void chain_is_as_defined(void **state)
{
	static const uint8_t bytes[] =
	    "\x01" /* version */
	    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
	    "\x07\0\0\0\0\0\0\0"
	    "\x7b\x45\xb6\xa4\x9a\x01\0\0"
	    "\x06\0\0\0\0\0\0\0"
	    "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
	    "\x02\0\0\0s1"
	    "\x05\0\0\0agent"
	    "\x04\0\0\0call"
	    "\x06\0\0\0call_1"
	    "\x1d\0\0\0{\"call_id\":\"call_1\",\"x\":\"é\"}"
	    "\x05\0\0\0"
	    "0.1.0";
	struct th_digest expected = th_sha256_of(bytes, sizeof(bytes) - 1);
	struct th_digest found = digest(sample());

	(void)state;
	assert_memory_equal(found.bytes, expected.bytes, sizeof(expected.bytes));
}

/* A large column takes another way through the mixer and gives the same. */
static void chain_of_large_events(void **state)
{
	static char large[5000];
	struct th_event ev = sample();

	(void)state;
	memset(large, 'x', sizeof(large));
	for (size_t len = 0; len < sizeof(large); len += 37) {
		struct th_sha256 h;
		struct th_digest before = {}, expected, found;
		uint8_t head[1 + 32 + 24 + 16 + 6 + 9 + 8 + 10 + 4], *p = head;

		ev.data = th_str_n(large, len);
		found = digest(ev);
		*p++ = 1;
		memcpy(p, before.bytes, 32);
		p += 32;
		memcpy(p, "\x07\0\0\0\0\0\0\0\x7b\x45\xb6\xa4\x9a\x01\0\0\x06\0\0\0\0\0\0\0", 24);
		p += 24;
		memcpy(p, ev.id.bytes, 16);
		p += 16;
		memcpy(p, "\x02\0\0\0s1\x05\0\0\0agent\x04\0\0\0call\x06\0\0\0call_1", 33);
		p += 33;
		*p++ = (uint8_t)len;
		*p++ = (uint8_t)(len >> 8);
		*p++ = 0;
		*p++ = 0;
		assert_ptr_equal(p, head + sizeof(head));
		th_sha256_init(&h);
		th_sha256_add(&h, head, sizeof(head));
		th_sha256_add(&h, large, len);
		th_sha256_add(&h,
			      "\x05\0\0\0"
			      "0.1.0",
			      9);
		expected = th_sha256_end(&h);
		assert_memory_equal(found.bytes, expected.bytes, sizeof(expected.bytes));
	}
}

/* No column can change, and no byte can move from one to the next, without changing the digest. */
static void chain_covers_every_column(void **state)
{
	struct th_digest zero = {}, one = { { 1 } }, was = digest(sample()), now;
	struct th_event ev = sample();

	(void)state;
	now = th_event_digest(&one, TH_STR("s1"), &ev);
	assert_false(th_digest_eq(&was, &now));
	now = th_event_digest(&zero, TH_STR("s2"), &ev);
	assert_false(th_digest_eq(&was, &now));
#define DIFFERS(change)                                 \
	do {                                            \
		ev = sample();                          \
		change;                                 \
		now = digest(ev);                       \
		assert_false(th_digest_eq(&was, &now)); \
	} while (0)
	DIFFERS(ev.seq = 8);
	DIFFERS(ev.ts_ms = -ev.ts_ms);
	DIFFERS(ev.id.bytes[15] ^= 1);
	DIFFERS(ev.source = TH_SOURCE_USER);
	DIFFERS(ev.kind = TH_EV_INTENT);
	DIFFERS(ev.cause = 0);
	DIFFERS(ev.call = TH_STR("call_2"));
	DIFFERS(ev.call = (struct th_str){});
	DIFFERS(ev.data = TH_STR("{}"));
	DIFFERS(ev.build = TH_STR("0.1.1"));
	ev = sample();
	ev.call = TH_STR("ab");
	ev.build = TH_STR("c");
	was = digest(ev);
	DIFFERS((ev.call = TH_STR("a"), ev.build = TH_STR("bc")));
#undef DIFFERS
}

static enum th_code parse(struct th_str text, struct th_event *ret)
{
	struct th_json_doc *doc = NULL;
	enum th_code code;

	err = (struct th_err){};
	assert_int_equal(th_json_parse(text, &doc, &err), TH_OK);
	code = th_event_parse(th_json_root(doc), &arena, ret, &err);
	th_json_free(doc); /* nothing may borrow from it */
	return code;
}

static void printed_and_parsed(void **state)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_event ev = sample(), back;
	struct th_jw w = th_jw(&out);
	struct th_digest was, now;

	(void)state;
	th_event_print(TH_STR("s1"), &ev, &w);
	assert_string_equal(
	    out.ptr,
	    "{\"session\":\"s1\",\"seq\":7,\"id\":\"00112233-4455-6677-8899-aabbccddeeff\","
	    "\"ts_ms\":1763700000123,\"source\":\"agent\",\"kind\":\"call\",\"cause\":6,"
	    "\"call\":\"call_1\",\"data\":{\"call_id\":\"call_1\",\"x\":\"é\"},\"build\":\"0.1."
	    "0\"}");
	assert_int_equal(parse(th_buf_str(&out), &back), TH_OK);
	was = digest(ev);
	now = digest(back);
	assert_true(th_digest_eq(&was, &now));
	th_buf_deinit(&out);
}

static void every_kind_and_source(void **state)
{
	(void)state;
	for (int kind = 0; kind < TH_EVENT_COUNT; kind++) {
		for (int source = 0; source < TH_SOURCE_COUNT; source++) {
			struct th_buf out = TH_BUF_INIT(TH_MIB);
			struct th_jw w = th_jw(&out);
			struct th_event ev = { .seq = 1, .data = TH_STR("{}") }, back;

			ev.kind = (enum th_event_kind)kind;
			ev.source = (enum th_source)source;
			th_event_print(TH_STR("s"), &ev, &w);
			assert_int_equal(parse(th_buf_str(&out), &back), TH_OK);
			assert_int_equal(back.kind, kind);
			assert_int_equal(back.source, source);
			assert_int_equal(back.cause, 0);
			assert_int_equal(back.call.len, 0);
			th_buf_deinit(&out);
		}
	}
}

static void refused(void **state)
{
	static const struct {
		const char *text, *named;
	} cases[] = {
		{ "{}", "seq" },
		{ "[]", "object" },
		{ "{\"seq\":0,\"source\":\"user\",\"kind\":\"message\",\"data\":{}}", "seq" },
		{ "{\"seq\":-1,\"source\":\"user\",\"kind\":\"message\",\"data\":{}}", "seq" },
		{ "{\"seq\":\"1\",\"source\":\"user\",\"kind\":\"message\",\"data\":{}}", "seq" },
		{ "{\"seq\":1,\"source\":\"me\",\"kind\":\"message\",\"data\":{}}", "source" },
		{ "{\"seq\":1,\"source\":\"user\",\"kind\":\"massage\",\"data\":{}}", "kind" },
		{ "{\"seq\":1,\"source\":\"user\",\"kind\":\"message\"}", "data" },
		{ "{\"seq\":1,\"source\":\"user\",\"kind\":\"message\",\"data\":[]}", "data" },
		{ "{\"seq\":1,\"source\":\"user\",\"kind\":\"message\",\"data\":{},\"cause\":-2}",
		  "cause" },
		{ "{\"seq\":1,\"source\":\"user\",\"kind\":\"message\",\"data\":{},\"id\":\"x\"}",
		  "id" },
	};
	struct th_event ev;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		assert_int_equal(parse(th_str_of(cases[i].text), &ev), TH_EUSAGE);
		assert_non_null(strstr(err.msg, cases[i].named));
	}
	/* What nobody knows yet is no error. */
	assert_int_equal(parse(TH_STR("{\"seq\":1,\"source\":\"user\",\"kind\":\"message\","
				      "\"data\":{\"new\":1},\"newer\":[2]}"),
			       &ev),
			 TH_OK);
	assert_true(th_str_is(ev.data, "{\"new\":1}"));
}

static void full_arena(void **state)
{
	struct th_json_doc *doc = NULL;
	struct th_event ev;

	(void)state;
	assert_int_equal(th_json_parse(TH_STR("{\"seq\":1,\"source\":\"user\",\"kind\":\"message\","
					      "\"call\":\"0123456789\",\"data\":{\"a\":1},"
					      "\"build\":\"0123456789\"}"),
				       &doc, &err),
			 TH_OK);
	for (size_t max = 0; max < 24; max++) {
		struct th_arena small;

		th_arena_init(&small, max);
		assert_int_equal(th_event_parse(th_json_root(doc), &small, &ev, &err), TH_ELIMIT);
		th_arena_deinit(&small);
	}
	th_json_free(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(tables),
		cmocka_unit_test(chain_is_as_defined),
		cmocka_unit_test(chain_of_large_events),
		cmocka_unit_test(chain_covers_every_column),
		cmocka_unit_test(printed_and_parsed),
		cmocka_unit_test(every_kind_and_source),
		cmocka_unit_test(refused),
		cmocka_unit_test(full_arena),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
