/* SPDX-License-Identifier: Apache-2.0 */
/* A computer that the program makes: what it is asked, and what the model is shown. */
#include "rig.h"

#include "computer/image.h"

#define WIDTH 640
#define HEIGHT 480

struct screen {
	char log[1000];
	int looks;
	bool broken, wrong_size, as_png, unknown;
	struct th_png *png;
};

static void see(void *ctx, struct thole_call *call)
{
	struct screen *s = ctx;
	int width = s->wrong_size ? WIDTH / 2 : WIDTH;
	uint8_t *pixels = calloc((size_t)width * HEIGHT, 4);

	assert_non_null(pixels);
	s->looks++;
	pixels[4 * (20 * width + 10)] = 255; /* a red point */
	if (s->broken) {
		GOOD(thole_call_fail(call, "it is dark", &error));
	} else if (s->as_png) {
		struct th_pixels p = { pixels, (size_t)width * 4, { width, HEIGHT } };
		bool changed;

		if (!s->png)
			s->png = th_png_new();
		assert_int_equal(th_png_encode(s->png, &p, NULL, &changed, NULL), TH_OK);
		GOOD(thole_call_png(call, th_png_bytes(s->png).ptr, th_png_bytes(s->png).len,
				    &error));
		GOOD(thole_call_done(call, NULL, &error));
	} else {
		GOOD(thole_call_pixels(call, pixels, width, HEIGHT, (size_t)width * 4, &error));
		GOOD(thole_call_done(call, NULL, &error));
	}
	free(pixels);
}

static void act(void *ctx, struct thole_call *call)
{
	struct screen *s = ctx;
	size_t len = strlen(s->log);

	snprintf(s->log + len, sizeof(s->log) - len, "%s:%s ", thole_call_tool(call),
		 thole_call_arguments(call));
	if (strcmp(thole_call_tool(call), "key") == 0)
		GOOD(thole_call_fail(call, "there are no keys", &error));
	else if (s->unknown)
		GOOD(thole_call_unknown(call, "the cable fell out", &error));
	else
		GOOD(thole_call_done(call, NULL, &error));
}

struct script {
	const char *actions;
	char second[4000]; /* the request that told the result */
};

static void one_action(void *ctx, const char *request, int nth, struct th_buf *items)
{
	struct script *s = ctx;

	(void)nth;
	if (scripted_count(request, "computer_call_output") == 0) {
		scripted_computer(items, "cc1", s->actions);
		return;
	}
	snprintf(s->second, sizeof(s->second), "%s", strstr(request, "computer_call_output"));
	scripted_say(items, "Seen.");
}

static int find_status(void *ctx, const char *line, size_t len)
{
	char *status = ctx;
	char *copy = strndup(line, len), *at = strstr(copy, "\"status\":\"");

	if (strstr(copy, "\"kind\":\"outcome\"") && at)
		snprintf(status, 16, "%.*s", (int)strcspn(at + 10, "\""), at + 10);
	free(copy);
	return 0;
}

static void play(struct screen *screen, struct script *script, const char *wanted_status)
{
	struct scripted *model = scripted_new(one_action, script);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("operator");
	struct thole_session *s = NULL;
	char status[16] = "";

	GOOD(thole_agent_computer(agent, WIDTH, HEIGHT, see, act, screen, &error));
	GOOD(thole_session_new(rt, agent, NULL, &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	if (thole_session_state(s) != THOLE_FINISHED)
		fail_msg("%s: %s", thole_state_name(thole_session_state(s)),
			 thole_session_reason(s));
	assert_int_equal(scripted_requests(model), 2);
	GOOD(thole_runtime_log(rt, thole_session_id(s), 0, find_status, status, &error));
	assert_string_equal(status, wanted_status);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
	screen->png = th_png_free(screen->png);
}

static void actions_one_by_one(void **state)
{
	struct screen screen = { 0 };
	struct script script = { .actions =
				     "[{\"type\":\"click\",\"x\":10,\"y\":20,\"button\":\"left\"},"
				     "{\"type\":\"wait\",\"ms\":10},"
				     "{\"type\":\"type\",\"text\":\"hello\"}]" };

	(void)state;
	play(&screen, &script, "done");
	assert_string_equal(
	    screen.log,
	    "click:{\"type\":\"click\",\"x\":10,\"y\":20,\"button\":\"left\",\"count\":1} "
	    "type:{\"type\":\"type\",\"text\":\"hello\"} ");
	assert_int_equal(screen.looks, 1);
	assert_non_null(strstr(script.second, "data:image/png;base64,"));
}

static void a_picture_as_a_file(void **state)
{
	struct screen screen = { .as_png = true };
	struct script script = { .actions = "[{\"type\":\"screenshot\"}]" };

	(void)state;
	play(&screen, &script, "done");
	assert_string_equal(screen.log, "");
	assert_int_equal(screen.looks, 1);
	assert_non_null(strstr(script.second, "data:image/png;base64,iVBOR"));
}

/* The list ends where an action failed; what came of it is shown all the same. */
static void an_action_that_fails(void **state)
{
	struct screen screen = { 0 };
	struct script script = { .actions =
				     "[{\"type\":\"keypress\",\"keys\":[\"a\"]},"
				     "{\"type\":\"click\",\"x\":1,\"y\":2,\"button\":\"left\"}]" };

	(void)state;
	play(&screen, &script, "failed");
	assert_int_equal(strncmp(screen.log, "key:", 4), 0);
	assert_null(strstr(screen.log, "click"));
	assert_int_equal(screen.looks, 1);
	assert_non_null(strstr(script.second, "there are no keys"));
}

static void a_point_beside_the_screen(void **state)
{
	struct screen screen = { 0 };
	struct script script = {
		.actions = "[{\"type\":\"click\",\"x\":5000,\"y\":2,\"button\":\"left\"}]"
	};

	(void)state;
	play(&screen, &script, "refused");
	assert_string_equal(screen.log, "");
}

static void pictures_that_cannot_be_used(void **state)
{
	struct screen dark = { .broken = true }, small = { .wrong_size = true };
	struct script script = { .actions = "[{\"type\":\"screenshot\"}]" };

	(void)state;
	play(&dark, &script, "done"); /* nothing else was asked for */
	play(&small, &script, "done");
	assert_int_equal(small.looks, 1);
}

static void an_action_of_unknown_outcome(void **state)
{
	struct screen screen = { .unknown = true };
	struct script script = { .actions =
				     "[{\"type\":\"click\",\"x\":5,\"y\":2,\"button\":\"left\"}]" };

	(void)state;
	play(&screen, &script, "unknown");
	assert_int_equal(screen.looks, 1); /* so the model is shown the screen */
	assert_non_null(strstr(script.second, "image/png"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(actions_one_by_one),
		cmocka_unit_test(a_picture_as_a_file),
		cmocka_unit_test(an_action_that_fails),
		cmocka_unit_test(a_point_beside_the_screen),
		cmocka_unit_test(pictures_that_cannot_be_used),
		cmocka_unit_test(an_action_of_unknown_outcome),
	};

	return cmocka_run_group_tests(tests, away_from_home, NULL);
}
