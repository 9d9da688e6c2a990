/* SPDX-License-Identifier: Apache-2.0 */
/* Which pictures a request sends, on a wire of paper whose groups are a picture or a mark each; and
 * what of an answer that was taken apart. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "dialects/dialect.h"
#include "history/history.h"
#include "openai_responses/responses.h"
#include "transcript/transcript.h"

static struct th_err err;

/* A message "A" is a picture of blob aa…; "-" is a mark. */
static enum th_code paper_group(struct th_group_writer *x, const struct th_group *g)
{
	struct th_hole *h = &x->holes[0];
	struct th_buf *out = x->w.out;

	assert_true(x->hole_max > 0);
	*h = (struct th_hole){ .from = out->len, .kind = TH_HOLE_IMAGE, .part = true };
	if (g->content.ptr[1] == '-') {
		h->kind = TH_HOLE_MARK;
		th_buf_add_cstr(out, "m");
		h->at = out->len;
	} else {
		memset(h->blob.bytes, g->content.ptr[1], sizeof(h->blob.bytes));
		th_buf_add_cstr(out, "(");
		h->at = out->len;
		th_buf_add_cstr(out, ")");
		h->to = out->len;
		th_buf_add_cstr(out, ".");
		h->end = out->len;
	}
	x->hole_count = 1;
	return TH_OK;
}

static const struct th_wire paper = { .name = "paper",
				      .message = paper_group,
				      .answer = paper_group,
				      .results = paper_group,
				      .mark = "!",
				      .marks_max = 2,
				      .same = "=" };
static const struct th_profile profile = { .name = "paper", .wire = &paper };
static const struct th_request_options options = { .profile = &profile };

/* What is sent of messages with these letters. */
static void expect(const char *letters, size_t keep, const char *expected)
{
	struct th_history *h = th_history_new(&options);
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_slice *slices;
	size_t count;

	for (size_t i = 0; letters[i]; i++) {
		char data[64];

		snprintf(data, sizeof(data), "{\"role\":\"user\",\"content\":\"%c\"}", letters[i]);
		struct th_event ev = { .seq = i + 1,
				       .kind = TH_EV_MESSAGE,
				       .data = th_str_of(data) };

		assert_int_equal(th_history_add(h, &ev, &err), TH_OK);
	}
	count = th_history_slices(h, keep, &slices);
	for (size_t i = 0; i < count; i++) {
		if (slices[i].bytes.ptr)
			th_buf_add(&out, slices[i].bytes);
		else
			th_buf_add_char(&out, (char)slices[i].blob.bytes[0]);
	}
	assert_string_equal(out.ptr, expected);
	free(slices);
	th_buf_deinit(&out);
	th_history_free(h);
}

static void left_out_in_steps(void **state)
{
	size_t before = 0;

	(void)state;
	expect("ABC", 0, "(A)(B)(C)");
	expect("ABC", 3, "(A)(B)(C)");
	expect("ABCD", 4, "(A)(B)(C)(D)");
	expect("ABCDE", 4, "..(C)(D)(E)");
	expect("ABCDEF", 4, "..(C)(D)(E)(F)");
	expect("ABCDEFG", 4, "....(E)(F)(G)");
	expect("ABC", 1, "..(C)");
	for (size_t n = 0; n < 300; n++) {
		size_t out = th_pieces_left_out(n, 20);

		assert_true(n - out <= 20 && out >= before);
		assert_true(out == before || out == before + 10);
		before = out;
	}
}

/* The first of a run is sent; the first that is left when older ones go, too. */
static void the_same_once(void **state)
{
	(void)state;
	expect("AABAA", 0, "(A)=(B)(A)=");
	expect("AAAAA", 4, "..(A)==");
}

static void the_last_marks(void **state)
{
	(void)state;
	expect("-", 0, "m!");
	expect("--A-", 0, "mm!(A)m!");
}

#define RS(id)                                                                            \
	"{\"type\":\"reasoning\",\"id\":\"" id "\",\"summary\":[],\"encrypted_content\":" \
	"\"x\"}"
#define MSG                                                                                       \
	"{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"status\":\"completed\"," \
	"\"content\":[{\"type\":\"output_text\",\"text\":\"hm\",\"annotations\":[]}]}"
#define FC                                                                               \
	"{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c1\",\"name\":\"f\"," \
	"\"arguments\":\"{}\",\"status\":\"completed\"}"

/* The Responses API refuses reasoning without what came behind it, and a call that is known by its
 * id without the reasoning before it. */
static void what_a_filter_parts(void **state)
{
	static const struct th_event log[] = {
		{ .seq = 1,
		  .kind = TH_EV_MODEL_ANSWERED,
		  .data = TH_STR_INIT("{\"status\":\"completed\",\"items\":[" RS(
		      "rs_1") "," MSG "," RS("rs_2") "," FC "]}") },
		{ .seq = 2,
		  .kind = TH_EV_OUTCOME,
		  .data =
		      TH_STR_INIT("{\"call_id\":\"c1\",\"status\":\"done\",\"output\":\"ok\"}") },
	};
	static const struct {
		const char *marks, *ids; /* what stays; and the ids that are sent */
	} cases[] = {
		{ "[[1,0],[1,1],[1,2],[1,3],[2,3]]", "rs_1 msg_1 rs_2 fc_1" },
		{ "[[1,0],[1,1]]", "rs_1 msg_1" },
		{ "[[1,1],[1,2],[1,3],[2,3]]", "msg_1 rs_2 fc_1" },
		{ "[[1,0],[1,1],[1,3],[2,3]]", "rs_1 msg_1" },
		{ "[[1,0],[1,2],[1,3],[2,3]]", "rs_2 fc_1" },
		{ "[[1,0],[1,3],[2,3]]", "" },
		{ "[[1,3],[2,3]]", "" },
		{ "[[1,0]]", "" },
		/* What a filter wrote anew in its place is reasoning too. */
		{ "[[1,1]," RS("rs_2") ",[1,3],[2,3]]", "msg_1 rs_2 fc_1" },
	};
	static const char *const ids[] = { "rs_1", "msg_1", "rs_2", "fc_1" };
	static const struct th_profile responses = { .name = "r",
						     .wire = &th_wire_responses,
						     .dialect = &th_dialect_native,
						     .reasoning = true };
	static const struct th_request_options asks = { .profile = &responses };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct th_history *h = th_history_new(&asks);
		struct th_buf out = TH_BUF_INIT(TH_MIB), handoff = TH_BUF_INIT(TH_MIB),
			      sent = TH_BUF_INIT(TH_MIB);
		struct th_event ev = { .seq = 3, .kind = TH_EV_HANDOFF };
		struct th_transcript transcript;
		struct th_slice *slices;
		size_t count;

		th_buf_printf(&handoff, "{\"from\":\"a\",\"to\":\"b\",\"history\":%s}",
			      cases[i].marks);
		ev.data = th_buf_str(&handoff);
		th_transcript_init(&transcript, true);
		if (th_transcript_add(&transcript, &log[0], &err) ||
		    th_transcript_add(&transcript, &log[1], &err) ||
		    th_transcript_add(&transcript, &ev, &err) ||
		    th_history_begin(h, &transcript, 3, true, &err))
			fail_msg("%s: %s", cases[i].marks, err.msg);
		count = th_history_slices(h, 0, &slices);
		for (size_t j = 0; j < count; j++)
			th_buf_add(&out, slices[j].bytes);
		for (size_t j = 0; j < TH_COUNT(ids); j++)
			if (strstr(out.ptr ? out.ptr : "", ids[j]))
				th_buf_printf(&sent, "%s%s", sent.len ? " " : "", ids[j]);
		if (strcmp(sent.ptr ? sent.ptr : "", cases[i].ids) != 0)
			fail_msg("%s: %s of %s", cases[i].marks, sent.ptr, out.ptr);
		/* Nothing else of it goes. */
		if (strstr(cases[i].marks, "[1,3]"))
			assert_non_null(strstr(out.ptr, "\"call_id\":\"c1\""));
		if (strstr(cases[i].marks, "[1,1]"))
			assert_non_null(strstr(out.ptr, "\"text\":\"hm\""));
		free(slices);
		th_transcript_deinit(&transcript);
		th_buf_deinit(&sent);
		th_buf_deinit(&handoff);
		th_buf_deinit(&out);
		th_history_free(h);
	}
}

/* A fork asks anew, and sends what was said in it: the answer that its parent waits for is not its
 * own. */
static void what_is_said_in_a_fork(void **state)
{
	static const struct {
		enum th_event_kind kind;
		const char *data;
	} log[] = {
		{ TH_EV_MESSAGE, "{\"role\":\"user\",\"content\":\"A\"}" },
		{ TH_EV_MODEL_REQUESTED, "{\"model\":\"m\",\"turn\":1,\"attempt\":1}" },
		{ TH_EV_MODEL_STARTED, "{\"response_id\":\"r\"}" },
		{ TH_EV_SESSION_FORKED, "{\"parent\":\"p\",\"seq\":3}" },
		{ TH_EV_MESSAGE, "{\"role\":\"user\",\"content\":\"B\"}" },
		{ TH_EV_MODEL_REQUESTED, "{\"model\":\"m\",\"turn\":1,\"attempt\":1}" },
	};
	struct th_history *h = th_history_new(&options);
	struct th_transcript transcript;

	(void)state;
	th_transcript_init(&transcript, true);
	for (size_t i = 0; i < TH_COUNT(log); i++) {
		const struct th_event ev = { .seq = i + 1,
					     .kind = log[i].kind,
					     .data = th_str_of(log[i].data) };

		assert_int_equal(th_history_add(h, &ev, &err), TH_OK);
		assert_int_equal(th_transcript_add(&transcript, &ev, &err), TH_OK);
		if (i == 4) /* not while it is asked */
			assert_int_equal(th_history_images(h), 1);
	}
	assert_int_equal(th_history_images(h), 2);
	assert_int_equal(transcript.asked_at, 2);
	th_transcript_deinit(&transcript);
	th_history_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(left_out_in_steps),      cmocka_unit_test(the_same_once),
		cmocka_unit_test(the_last_marks),         cmocka_unit_test(what_a_filter_parts),
		cmocka_unit_test(what_is_said_in_a_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
