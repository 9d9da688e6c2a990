/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's side of a display process that does not do as it should: it is played by this
 * program, which the link starts as it starts any display. */
#include "display/link.h"

#include "unit.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/sock.h"

#define SHORT_MS 40 /* a limit that is waited for */

/* ---- the process ---- */

static void hang(void)
{
	for (;;)
		pause();
}

static void tell(struct th_pipe *p, const struct th_table *t, const void *m)
{
	struct th_buf head = TH_BUF_INIT(TH_FRAME_JSON_MAX);

	th_exec_print(t, m, &head);
	if (th_pipe_write(p, th_buf_str(&head), TH_STR(""), 10000, NULL))
		exit(3);
	th_buf_deinit(&head);
}

static void finish(struct th_pipe *p, const char *status, size_t output_len, int pictures)
{
	struct th_buf output = TH_BUF_INIT(TH_MIB), blobs = TH_BUF_INIT(TH_MIB);
	struct th_exec_finished m = { .op = TH_STR("finished"), .id = 1, .evidence = TH_STR("{}") };

	th_buf_add_char(&output, '"');
	while (output.len < output_len - 1)
		th_buf_add_char(&output, 'x');
	th_buf_add_char(&output, '"');
	for (int i = 0; i < pictures; i++)
		th_buf_printf(&blobs,
			      "%s{\"blob\":\"%064d\",\"media_type\":\"image/png\",\"size\":0}",
			      i ? "," : "[", i);
	th_buf_add_char(&blobs, ']');
	m.status = th_str_of(status);
	m.output = th_buf_str(&output);
	if (pictures)
		m.blobs = th_buf_str(&blobs);
	tell(p, &th_exec_finished_table, &m);
	th_buf_deinit(&output);
	th_buf_deinit(&blobs);
}

/* What it plays is in the environment: a word, and a number. */
static int play(void)
{
	struct th_exec_screen screen = { .op = TH_STR("screen"), .width = 10, .height = 10 };
	const char *word = getenv("PLAY") ?: "";
	size_t number = (size_t)atol(getenv("PLAY_NUMBER") ?: "0");
	struct th_frame frame;
	struct th_buf role;
	struct th_pipe p;

	th_pipe_init(&p, 3);
	if (strcmp(word, "exit") == 0)
		return 0;
	if (strcmp(word, "noise") == 0 && write(3, "Usage: some other program [OPTION]", 34) == 34)
		hang();
	th_buf_init(&role, TH_KIB);
	if (strcmp(word, "other") != 0)
		th_exec_print_role("display", &role);
	else
		th_buf_add_cstr(&role, "{\"op\":\"ready\"}");
	if (strcmp(word, "mute") != 0 &&
	    th_pipe_write(&p, th_buf_str(&role), TH_STR(""), 10000, NULL))
		return 3;
	th_buf_deinit(&role);
	if (th_pipe_read(&p, 10000, &frame, NULL))
		return 3;
	if (strcmp(word, "start") == 0)
		hang();
	tell(&p, &th_exec_screen_table, &screen);
	while (th_pipe_read(&p, 30000, &frame, NULL) == TH_OK) {
		struct pollfd interrupt = { .fd = 4, .events = POLLIN };

		if (strcmp(word, "call") == 0)
			hang();
		if (strcmp(word, "obey") == 0) {
			if (poll(&interrupt, 1, 30000) == 1)
				finish(&p, "failed", 10, 0);
		} else if (strcmp(word, "pictures") == 0) {
			finish(&p, "done", 10, (int)number);
		} else {
			finish(&p, "done", TH_MAX(number, (size_t)2), 0);
		}
	}
	if (strcmp(word, "close") == 0)
		hang();
	return 0;
}

/* ---- the link ---- */

static struct th_loop *loop;
static struct th_display *display;
static char folder[64];

static struct {
	bool opened, done, closed;
	struct th_err err;
	enum th_outcome_status status;
	struct th_buf output;
	size_t pictures;
} got;

static void on_open(void *ctx, const struct th_exec_screen *screen, const struct th_err *err)
{
	(void)ctx;
	got.opened = true;
	if (!screen)
		got.err = *err;
	th_loop_stop(loop);
}

static void on_done(void *ctx, enum th_outcome_status status, struct th_str output,
		    struct th_str evidence, struct th_picture *const *pictures, size_t count)
{
	(void)ctx;
	(void)evidence;
	(void)pictures;
	got.done = true;
	got.status = status;
	got.pictures = count;
	th_buf_clear(&got.output);
	th_buf_add(&got.output, output);
	th_loop_stop(loop);
}

static void on_closed(void *ctx)
{
	(void)ctx;
	got.closed = true;
	th_loop_stop(loop);
}

static void await(const bool *what)
{
	while (!*what)
		th_loop_run(loop);
}

static void begin(const char *word, size_t number)
{
	struct th_display_options o = {
		.loop = loop,
		.program = "/proc/self/exe",
		.computer = TH_STR("{\"kind\":\"desktop\"}"),
		.state_dir = th_str_of(folder),
		.role_ms = strcmp(word, "mute") == 0 ? SHORT_MS : 0,
		.start_ms = strcmp(word, "start") == 0 ? SHORT_MS : 0,
		.call_ms = strcmp(word, "call") == 0 || strcmp(word, "obey") == 0 ? SHORT_MS : 0,
		.interrupt_ms = strcmp(word, "call") == 0 ? SHORT_MS : 0,
		.close_ms = strcmp(word, "close") == 0 ? SHORT_MS : 0,
	};
	char text[32];

	snprintf(text, sizeof(text), "%zu", number);
	setenv("PLAY", word, 1);
	setenv("PLAY_NUMBER", text, 1);
	got.opened = got.done = got.closed = false;
	got.err = (struct th_err){ 0 };
	display = th_display_new(&o);
}

static void call(const char *word, size_t number)
{
	static struct th_display_call c;

	begin(word, number);
	c = (struct th_display_call){ .arguments = TH_STR("{\"actions\":[]}"), .on_done = on_done };
	th_display_run(display, &c);
	await(&got.done);
}

static void end(void)
{
	display = th_display_free(display);
}

static void times_of_a_display(void **state)
{
	(void)state;
	begin("start", 0);
	th_display_open(display, on_open, NULL);
	await(&got.opened);
	assert_int_equal(got.err.code, TH_ETIMEOUT);
	assert_string_equal(got.err.msg, "the display did not start within 40 ms");
	end();
	call("start", 0);
	assert_int_equal(got.status, TH_OUTCOME_NOT_STARTED);
	end();
	/* It is asked to end what takes too long, and killed when it does not. */
	call("obey", 0);
	assert_int_equal(got.status, TH_OUTCOME_FAILED);
	end();
	call("call", 0);
	assert_int_equal(got.status, TH_OUTCOME_UNKNOWN);
	assert_non_null(strstr(got.output.ptr, "did not answer and was killed"));
	end();
	call("close", 0);
	assert_int_equal(got.status, TH_OUTCOME_DONE);
	th_display_close(display, on_closed, NULL);
	await(&got.closed);
	end();
}

/* A program that is not a display process: it is ended, and never sent the start message. */
static void another_program(void **state)
{
	static const struct {
		const char *word;
		enum th_code code;
		const char *says;
	} rows[] = {
		{ "mute", TH_ETIMEOUT, "does not say that it is" },
		{ "other", TH_EPROTO, "says something else than that it is" },
		{ "exit", TH_ECONN, "ended without saying that it is" },
		{ "noise", TH_EPROTO, "says something else than that it is" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		begin(rows[i].word, 0);
		th_display_open(display, on_open, NULL);
		await(&got.opened);
		assert_int_equal(got.err.code, rows[i].code);
		assert_non_null(strstr(got.err.msg, "the program /proc/self/exe"));
		assert_non_null(strstr(got.err.msg, rows[i].says));
		end();
	}
}

static void sizes_of_an_answer(void **state)
{
	(void)state;
	for (size_t more = 0; more < 2; more++) {
		call("pictures", TH_PICTURES_MAX + more);
		assert_int_equal(got.status, more ? TH_OUTCOME_UNKNOWN : TH_OUTCOME_DONE);
		assert_int_equal(got.pictures, more ? 0 : TH_PICTURES_MAX);
		if (more)
			assert_non_null(
			    strstr(got.output.ptr, "more than 8 pictures in one answer"));
		end();
		call("output", TH_EXEC_OUTPUT_MAX + more);
		assert_int_equal(got.status, more ? TH_OUTCOME_UNKNOWN : TH_OUTCOME_DONE);
		if (more)
			assert_non_null(
			    strstr(got.output.ptr, "an answer has more than 524288 bytes"));
		else
			assert_int_equal(got.output.len, TH_EXEC_OUTPUT_MAX);
		end();
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_of_a_display),
		cmocka_unit_test(another_program),
		cmocka_unit_test(sizes_of_an_answer),
	};
	int failed;

	if (argc > 3 && strcmp(argv[1], "exec") == 0)
		return play();
	snprintf(folder, sizeof(folder), "/tmp/thole-display-link-%d", (int)getpid());
	th_buf_init(&got.output, TH_MIB);
	if (th_loop_new(&loop, NULL))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	loop = th_loop_free(loop);
	th_buf_deinit(&got.output);
	return failed;
}
