/* SPDX-License-Identifier: Apache-2.0 */
/* What a session may share with another, and what it begins with. */
#include "unit.h"

#include <string.h>

#include "core/fork.h"

static struct th_err err;

static void take(struct th_fork *f, uint64_t seq, enum th_event_kind kind, const char *data)
{
	struct th_event ev = { .seq = seq, .ts_ms = 5, .kind = kind, .data = th_str_of(data) };
	struct th_digest digest = th_event_digest(&f->head, TH_STR("one"), &ev);

	assert_int_equal(th_fork_take(f, &ev, &digest, &err), TH_OK);
}

static struct th_session_row row_of(const char *metadata)
{
	return (struct th_session_row){ .session_id = TH_STR("one"),
					.title = TH_STR("go"),
					.owner = TH_STR("somebody"),
					.epoch = 7,
					.created_ms = 5,
					.metadata = th_str_of(metadata) };
}

static void begins(void **state)
{
	struct th_buf data TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_event ev = { .ts_ms = 9, .build = TH_STR("t") };
	struct th_session_row row = row_of("{\"delegated_by\":{\"session\":\"x\"}}");
	struct th_digest before, head;
	struct th_fork f;

	(void)state;
	th_fork_init(&f);
	take(&f, 1, TH_EV_SESSION_CREATED, "{\"agent\":{\"name\":\"a\"},\"model\":\"m\"}");
	take(&f, 2, TH_EV_MESSAGE, "{\"role\":\"user\",\"content\":\"go\"}");
	before = f.head;
	assert_int_equal(th_fork_begin(&f, &row, TH_STR("two"), &ev, &data, &err), TH_OK);
	assert_true(th_str_is(ev.data, "{\"parent\":\"one\",\"seq\":2}"));
	assert_int_equal(ev.seq, 3);
	assert_int_equal(ev.kind, TH_EV_SESSION_FORKED);
	head = th_event_digest(&before, TH_STR("two"), &ev);
	assert_true(th_digest_eq(&head, &row.head) && th_digest_eq(&head, &f.head));
	assert_true(th_str_is(row.session_id, "two") && th_str_is(row.parent, "one"));
	assert_true(th_str_is(row.title, "go") && row.owner.len == 0);
	assert_int_equal(row.parent_seq, 2);
	assert_int_equal(row.head_seq, 3);
	assert_int_equal(row.epoch, 1);
	assert_int_equal(row.created_ms, 9);
	assert_int_equal(row.metadata.len, 0); /* it works for nobody */
	th_fork_deinit(&f);
}

/* A session's own events can be shared, a conversation at the provider cannot. */
static void not_with_a_conversation(void **state)
{
	struct th_buf data TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_event ev = { .ts_ms = 9 };
	struct th_session_row row = row_of("{}");
	struct th_fork f;

	(void)state;
	th_fork_init(&f);
	take(&f, 1, TH_EV_SESSION_CREATED,
	     "{\"agent\":{\"name\":\"a\",\"settings\":{\"conversation\":\"conv_1\"}},"
	     "\"model\":\"m\"}");
	assert_int_equal(th_fork_begin(&f, &row, TH_STR("two"), &ev, &data, &err), TH_EUSAGE);
	assert_string_equal(err.msg, "session one is in the provider's conversation conv_1, which "
				     "cannot be forked with it");
	th_fork_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begins),
		cmocka_unit_test(not_with_a_conversation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
