/* SPDX-License-Identifier: Apache-2.0 */
/* The display role with a computer of paper, whose clock stands still until somebody waits: what it
 * waits for between actions, and how much one request may be. */
#include "display/display.h"

#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "computer/computer.h"
#include "computer/image.h"
#include "display/link.h"
#include "io/sock.h"
#include "wire/exec.h"

/* ---- a computer of paper ---- */

struct paper {
	struct th_computer base;
	int32_t now_ms;
	int32_t frame_ms, rest_ms; /* after an action it is drawn so often, until then */
	int32_t began_ms;
	size_t picture_size;
	int tree_count;
	size_t clipboard_len;
	enum th_action_kind failing; /* these cannot be done */
	bool fails, settle_fails;
	char said[600]; /* what was done, and when */
	char *bytes;
	uint64_t frames;
};

static void say(struct paper *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct paper *p, const char *format, ...)
{
	size_t len = strlen(p->said);
	va_list list;

	va_start(list, format);
	vsnprintf(p->said + len, sizeof(p->said) - len, format, list);
	va_end(list);
}

static struct th_size size(struct th_computer *c)
{
	(void)c;
	return (struct th_size){ 100, 80 };
}

static enum th_code see(struct th_computer *c, const struct th_see_options *options,
			struct th_frame_image *ret, struct th_err *err)
{
	struct paper *p = (struct paper *)c;

	(void)options;
	(void)err;
	say(p, "see@%d ", p->now_ms);
	if (!p->bytes)
		p->bytes = th_alloc(p->picture_size + 1);
	p->bytes[0] = (char)++p->frames;
	*ret = (struct th_frame_image){ .frame_id = p->frames,
					.size = size(c),
					.bytes = th_str_n(p->bytes, p->picture_size),
					.digest = th_sha256_of(p->bytes, 1) };
	return TH_OK;
}

static enum th_code act(struct th_computer *c, const struct th_action *action,
			struct th_act_result *ret, struct th_err *err)
{
	struct paper *p = (struct paper *)c;

	if (p->fails && action->kind == p->failing)
		return th_fail(err, TH_EUSAGE, "no %s on paper", th_action_name(action->kind));
	say(p, "%s@%d ", th_action_name(action->kind), p->now_ms);
	p->began_ms = p->now_ms;
	ret->started = true;
	if (action->kind == TH_ACTION_CLIPBOARD_GET) {
		p->bytes = th_realloc(p->bytes, p->clipboard_len);
		memset(p->bytes, 'x', p->clipboard_len);
		ret->text = th_str_n(p->bytes, p->clipboard_len);
	}
	return TH_OK;
}

/* When it is drawn next, from now on; -1: not again. */
static int32_t next_frame(const struct paper *p, int32_t now)
{
	int32_t at = p->began_ms;

	do
		at += p->frame_ms;
	while (p->frame_ms > 0 && at <= now);
	return p->frame_ms > 0 && at <= p->began_ms + p->rest_ms ? at : -1;
}

static enum th_code settle(struct th_computer *c, const struct th_settle_options *options,
			   struct th_settle_result *ret, struct th_err *err)
{
	struct paper *p = (struct paper *)c;
	int32_t quiet = options->quiet_ms ?: TH_SETTLE_QUIET_MS;
	int32_t first = options->first_ms ?: TH_SETTLE_FIRST_MS;
	int32_t max = p->now_ms + (options->max_ms ?: TH_SETTLE_MAX_MS);
	int32_t until = p->now_ms + first, frame;

	if (p->settle_fails)
		return th_fail(err, TH_ECANCELED, "interrupted");
	say(p, "settle(%d,%d,%d) ", quiet, first, max - p->now_ms);
	while ((frame = next_frame(p, p->now_ms)) >= 0 && frame <= TH_MIN(until, max)) {
		ret->changed = true;
		p->now_ms = frame;
		until = frame + quiet;
	}
	ret->settled = until <= max;
	p->now_ms = TH_MIN(until, max);
	return TH_OK;
}

static void pixels(struct th_computer *c, struct th_pixels *ret)
{
	static uint8_t white[100 * 80 * 4];

	*ret = (struct th_pixels){ white, 100 * 4, size(c) };
}

static enum th_code tree(struct th_computer *c, th_found_fn *fn, void *ctx, struct th_err *err)
{
	struct paper *p = (struct paper *)c;

	(void)err;
	for (int i = 0; i < p->tree_count; i++)
		fn(ctx, (struct th_rect){ i % 20 * 5, i / 20 * 5, 4, 4 }, TH_STR("button"),
		   TH_STR("b"));
	return TH_OK;
}

static int no_fd(struct th_computer *c)
{
	(void)c;
	return -1;
}

static void forget(struct th_computer *c)
{
	struct paper *p = (struct paper *)c;

	free(p->bytes);
	p->bytes = NULL;
}

static const struct th_computer_kind kind = {
	.name = "paper",
	.caps = TH_CAP_SEE | TH_CAP_POINTER | TH_CAP_KEYBOARD | TH_CAP_CLIPBOARD,
	.size = size,
	.see = see,
	.act = act,
	.settle = settle,
	.pixels = pixels,
	.tree = tree,
	.fd = no_fd,
	.close = forget,
};

/* ---- one request ---- */

static struct th_pipe answers;
static struct th_err err;

static struct paper paper(void)
{
	return (struct paper){ .base = { .kind = &kind }, .picture_size = 1 };
}

struct role {
	struct paper *paper;
	int fd, interrupt_fd, ended;
};

static void *play(void *ctx)
{
	struct role *r = ctx;

	r->ended = th_display_host(&r->paper->base, r->fd, r->interrupt_fd);
	return NULL;
}

/* Asks it of the role; *ret: the last answer, until the next request. */
static void ask(struct paper *p, const char *arguments, struct th_frame *ret)
{
	struct th_buf request = TH_BUF_INIT(TH_MIB);
	struct th_exec_do m = { .op = TH_STR("do"), .id = 7, .arguments = th_str_of(arguments) };
	struct th_pipe asker;
	struct role role;
	pthread_t thread;
	int ends[2], interrupt[2];

	th_pipe_deinit(&answers);
	assert_int_equal(th_pipe_pair(ends, &err), TH_OK);
	assert_int_equal(pipe2(interrupt, O_CLOEXEC), 0);
	th_pipe_init(&asker, ends[0]);
	th_exec_print(&th_exec_do_table, &m, &request);
	assert_int_equal(th_pipe_write(&asker, th_buf_str(&request), TH_STR(""), 1000, &err),
			 TH_OK);
	assert_int_equal(shutdown(ends[0], SHUT_WR), 0);
	role = (struct role){ p, ends[1], interrupt[0], -1 };
	assert_int_equal(pthread_create(&thread, NULL, play, &role), 0);
	do
		assert_int_equal(th_pipe_read(&asker, 10000, ret, &err), TH_OK);
	while (th_str_is(th_json_raw_get(ret->json, "op"), "\"step\""));
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(role.ended, 0);
	answers = asker;
	close(interrupt[0]);
	close(interrupt[1]);
	th_buf_deinit(&request);
}

static bool status_is(const struct th_frame *f, const char *status)
{
	struct th_str raw = th_json_raw_get(f->json, "status");

	return th_str_eq(th_json_raw_inside(raw), th_str_of(status));
}

static bool says(const struct th_frame *f, const char *words)
{
	return th_str_find(f->json, th_str_of(words)) >= 0;
}

/* ---- what is waited for ---- */

/* A field has the keys only when its program has answered the click. */
static void a_text_at_a_place_waits_for_its_click(void **state)
{
	static const char request[] =
	    "{\"actions\":[{\"type\":\"type\",\"text\":\"a\",\"x\":5,\"y\":6}]}";
	static const struct {
		int32_t frame_ms, rest_ms;
		const char *said;
	} cases[] = {
		/* nothing is drawn; at the last moment; a moment too late */
		{ 0, 0, "click@0 settle(16,30,200) type@30 " },
		{ 30, 30, "click@0 settle(16,30,200) type@46 " },
		{ 31, 31, "click@0 settle(16,30,200) type@30 " },
		/* drawn for long, and for ever */
		{ 16, 160, "click@0 settle(16,30,200) type@176 " },
		{ 16, 100000, "click@0 settle(16,30,200) type@200 " },
	};
	struct th_frame answer;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct paper p = paper();

		p.frame_ms = cases[i].frame_ms;
		p.rest_ms = cases[i].rest_ms;
		ask(&p, request, &answer);
		assert_true(status_is(&answer, "done"));
		assert_string_equal(p.said, cases[i].said);
	}
}

/* What was clicked is never told as refused or not begun; and no key goes where it must not. */
static void a_text_at_a_place_that_fails(void **state)
{
	static const char request[] =
	    "{\"actions\":[{\"type\":\"type\",\"text\":\"a\",\"x\":5,\"y\":6}]}";
	struct paper p = paper();
	struct th_frame answer;

	(void)state;
	p.fails = true;
	p.failing = TH_ACTION_CLICK;
	ask(&p, request, &answer);
	assert_true(status_is(&answer, "refused"));
	assert_string_equal(p.said, "");
	p.failing = TH_ACTION_TYPE;
	ask(&p, request, &answer);
	assert_true(status_is(&answer, "failed"));
	assert_string_equal(p.said, "click@0 settle(16,30,200) ");
	p = paper();
	p.settle_fails = true;
	ask(&p, request, &answer);
	assert_true(status_is(&answer, "failed"));
	assert_true(says(&answer, "interrupted"));
	assert_string_equal(p.said, "click@0 ");
}

/* A page glides for a while after a scroll, frame by frame; after anything else it does not. */
static void a_picture_waits_for_a_page_that_glides(void **state)
{
	static const char *const requests[] = {
		"{\"actions\":[{\"type\":\"scroll\",\"x\":5,\"y\":6,\"dy\":3}],\"settle\":true,"
		"\"screenshot\":true}",
		"{\"actions\":[{\"type\":\"click\",\"x\":5,\"y\":6}],\"settle\":true,"
		"\"screenshot\":true}",
	};
	static const struct {
		int request;
		int32_t frame_ms, rest_ms;
		const char *said;
		bool settled;
	} cases[] = {
		/* frames that just belong together, and that do not */
		{ 0, 60, 900, "scroll@0 settle(60,80,1000) see@960 ", true },
		{ 0, 61, 900, "scroll@0 settle(60,80,1000) see@121 ", true },
		/* at rest in time, and just not */
		{ 0, 47, 940, "scroll@0 settle(60,80,1000) see@1000 ", true },
		{ 0, 48, 960, "scroll@0 settle(60,80,1000) see@1000 ", false },
		{ 0, 80, 80, "scroll@0 settle(60,80,1000) see@140 ", true },
		{ 0, 81, 81, "scroll@0 settle(60,80,1000) see@80 ", true },
		{ 1, 16, 160, "click@0 settle(16,80,500) see@176 ", true },
		{ 1, 17, 160, "click@0 settle(16,80,500) see@33 ", true },
		{ 1, 16, 496, "click@0 settle(16,80,500) see@500 ", false },
	};
	struct th_frame answer;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct paper p = paper();

		p.frame_ms = cases[i].frame_ms;
		p.rest_ms = cases[i].rest_ms;
		ask(&p, requests[cases[i].request], &answer);
		assert_true(status_is(&answer, "done"));
		assert_string_equal(p.said, cases[i].said);
		assert_true(
		    says(&answer, cases[i].settled ? "\"settled\":true" : "\"settled\":false"));
	}
}

/* ---- how much one request may be ---- */

static void repeat(struct th_buf *out, const char *action, int count, const char *end)
{
	th_buf_clear(out);
	th_buf_add_cstr(out, "{\"actions\":[");
	for (int i = 0; i < count; i++)
		th_buf_printf(out, "%s%s", i ? "," : "", action);
	th_buf_printf(out, "]%s}", end);
}

static void edges_of_a_request(void **state)
{
	static const char click[] = "{\"type\":\"click\",\"x\":5,\"y\":6}";
	static const char zoom[] = "{\"type\":\"zoom\",\"region\":[0,0,10,10]}";
	struct th_buf request = TH_BUF_INIT(TH_MIB);
	struct th_frame answer;
	struct paper p = paper();

	(void)state;
	repeat(&request, click, TH_ACTIONS_MAX, "");
	ask(&p, request.ptr, &answer);
	assert_true(status_is(&answer, "done"));
	p = paper();
	repeat(&request, click, TH_ACTIONS_MAX + 1, "");
	ask(&p, request.ptr, &answer);
	assert_true(status_is(&answer, "refused"));
	assert_true(says(&answer, "more than 64 actions in one call; nothing was done"));
	assert_string_equal(p.said, "");
	/* The one at the end counts. */
	repeat(&request, zoom, TH_PICTURES_MAX - 1, ",\"screenshot\":true");
	ask(&p, request.ptr, &answer);
	assert_true(status_is(&answer, "done"));
	assert_int_equal(answer.attachment.len, TH_PICTURES_MAX);
	repeat(&request, zoom, TH_PICTURES_MAX, ",\"screenshot\":true");
	ask(&p, request.ptr, &answer);
	assert_true(status_is(&answer, "done"));
	assert_int_equal(answer.attachment.len, TH_PICTURES_MAX);
	assert_true(says(&answer, "no picture could be taken: more than 8 pictures in one call"));
	repeat(&request, zoom, TH_PICTURES_MAX + 1, "");
	ask(&p, request.ptr, &answer);
	assert_true(status_is(&answer, "failed"));
	assert_true(says(&answer, "error in action 9 of 9"));
	assert_true(says(&answer, "more than 8 pictures in one call"));
	th_buf_deinit(&request);
}

/* All pictures of an answer are one attachment. */
static void edges_of_an_attachment(void **state)
{
	static const char request[] = "{\"actions\":[{\"type\":\"zoom\",\"region\":[0,0,10,10]}]}";
	const size_t size_max = TH_FRAME_SIZE_MAX - TH_FRAME_JSON_MAX;
	struct th_frame answer;

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		struct paper p = paper();

		p.picture_size = size_max + more;
		ask(&p, request, &answer);
		assert_int_equal(answer.attachment.len, more ? 0 : size_max);
		assert_true(status_is(&answer, more ? "failed" : "done"));
		assert_true(says(&answer, "\"blobs\":") == !more);
		if (more)
			assert_true(says(&answer, "pictures of one answer"));
	}
}

static const char clipboard_get[] = "{\"type\":\"clipboard_get\"}";

/* For people.  The quotes count. */
static void edges_of_a_whole_clipboard(void **state)
{
	struct th_buf request = TH_BUF_INIT(TH_MIB);
	struct th_frame answer;

	(void)state;
	for (int times = 1; times <= 2; times++) {
		for (size_t more = 0; more < 2; more++) {
			struct paper p = paper();

			p.clipboard_len = TH_DISPLAY_TEXT_MAX / (size_t)times - 2 + more;
			repeat(&request, clipboard_get, times, ",\"whole\":true");
			ask(&p, request.ptr, &answer);
			assert_true(status_is(&answer, more ? "failed" : "done"));
			assert_true(says(&answer, "one answer takes 204800 of its text") == more);
			assert_true(says(&answer, "xxx") == (times == 2 || !more));
			assert_false(says(&answer, "left out"));
			assert_true(th_json_raw_get(answer.json, "output").len <=
				    TH_EXEC_OUTPUT_MAX);
		}
	}
	th_buf_deinit(&request);
}

/* A program put it there: the model is shown of it, or of several together, what it is shown of
 * one output. */
static void edges_of_a_clipboard(void **state)
{
	struct th_buf request = TH_BUF_INIT(TH_MIB);
	struct th_frame answer;
	char left_out[64];

	(void)state;
	for (size_t times = 1; times <= TH_ACTIONS_MAX;
	     times = times == 2 ? TH_ACTIONS_MAX : times + 1) {
		for (size_t more = 0; more <= TH_CLIPBOARD_MAX;
		     more = more ? 2 * more + TH_MIB : 1) {
			struct paper p = paper();
			size_t len;

			p.clipboard_len = TH_TOOL_OUTPUT_MODEL_MAX / times + more;
			repeat(&request, clipboard_get, (int)times, "");
			ask(&p, request.ptr, &answer);
			assert_true(status_is(&answer, "done"));
			len = th_json_raw_get(answer.json, "output").len;
			assert_true(len >= TH_TOOL_OUTPUT_MODEL_MAX);
			assert_true(len <= TH_TOOL_OUTPUT_MODEL_MAX + 100 * times);
			snprintf(left_out, sizeof(left_out), "x\\n… %zu bytes left out …\\nx",
				 more);
			assert_true(says(&answer, left_out) == (more > 0));
		}
	}
	th_buf_deinit(&request);
}

static void edges_of_marks(void **state)
{
	static const char request[] = "{\"actions\":[],\"screenshot\":true,\"marks\":true}";
	struct th_frame answer;

	(void)state;
	for (int more = 0; more < 2; more++) {
		struct paper p = paper();

		p.tree_count = TH_MARKS_LISTED_MAX + more;
		ask(&p, request, &answer);
		assert_true(says(&answer, "\\n100 button"));
		assert_false(says(&answer, "\\n101 button"));
		assert_true(says(&answer, "(and 1 more marks)") == more);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_at_a_place_waits_for_its_click),
		cmocka_unit_test(a_text_at_a_place_that_fails),
		cmocka_unit_test(a_picture_waits_for_a_page_that_glides),
		cmocka_unit_test(edges_of_a_request),
		cmocka_unit_test(edges_of_an_attachment),
		cmocka_unit_test(edges_of_a_whole_clipboard),
		cmocka_unit_test(edges_of_a_clipboard),
		cmocka_unit_test(edges_of_marks),
	};
	int failed;

	th_pipe_init(&answers, -1);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	th_pipe_deinit(&answers);
	return failed;
}
