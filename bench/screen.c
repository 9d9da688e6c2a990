/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.c - a 1080p private desktop through its executor, as a runtime uses
 * it: one client, one call at a time, medians.
 *
 *	screen thole=build/thole rounds=30 width=1920 height=1080
 *
 * A program on the desktop repaints the whole screen at every press of the left button.
 *
 * ready:      from the first byte to a desktop whose size is known.
 * full:       picture after the whole screen has changed (PNG bytes here).
 * unchanged:  picture of a screen that did not change.
 * settled:    click, settle, picture; all in one call, journal included.
 * click:      an injected click alone, from here to XSync and back; the two
 *             flushes of the journal are measured beside it and taken off.
 *
 * With the word `paint` it is that program.
 */
#include "bench.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xcb/xcb.h>

#include "exec_client/client.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/loop.h"
#include "store/journal.h"

#define ROUNDS_MAX 1000

/* ---- the program on the desktop ---- */

static void paint(xcb_connection_t *c, xcb_window_t window, xcb_gcontext_t gc, xcb_screen_t *s,
		  unsigned seed)
{
	static xcb_rectangle_t rects[4000];

	for (int colour = 0; colour < 8; colour++) {
		uint32_t value = (seed * 2654435761u + (unsigned)colour * 40503u) & 0xffffff;

		xcb_change_gc(c, gc, XCB_GC_FOREGROUND, &value);
		for (size_t i = 0; i < TH_COUNT(rects); i++) {
			seed = seed * 1103515245u + 12345u;
			rects[i] = (xcb_rectangle_t){ (int16_t)((seed >> 8) % s->width_in_pixels),
						      (int16_t)((seed >> 4) % s->height_in_pixels),
						      7, 11 };
		}
		if (colour == 0)
			rects[0] =
			    (xcb_rectangle_t){ 0, 0, s->width_in_pixels, s->height_in_pixels };
		xcb_poly_fill_rectangle(c, window, gc, colour == 0 ? 1 : (uint32_t)TH_COUNT(rects),
					rects);
	}
	xcb_flush(c);
}

static int painter(void)
{
	xcb_connection_t *c = xcb_connect(NULL, NULL);
	xcb_screen_t *s = xcb_setup_roots_iterator(xcb_get_setup(c)).data;
	xcb_window_t window = xcb_generate_id(c);
	xcb_gcontext_t gc = xcb_generate_id(c);
	uint32_t values[] = { s->white_pixel, 1,
			      XCB_EVENT_MASK_BUTTON_PRESS | XCB_EVENT_MASK_EXPOSURE };
	xcb_generic_event_t *ev;
	unsigned seed = 1;

	xcb_create_window(c, XCB_COPY_FROM_PARENT, window, s->root, 0, 0, s->width_in_pixels,
			  s->height_in_pixels, 0, XCB_WINDOW_CLASS_INPUT_OUTPUT, s->root_visual,
			  XCB_CW_BACK_PIXEL | XCB_CW_OVERRIDE_REDIRECT | XCB_CW_EVENT_MASK, values);
	xcb_create_gc(c, gc, window, 0, NULL);
	xcb_map_window(c, window);
	xcb_flush(c);
	while ((ev = xcb_wait_for_event(c))) {
		int kind = ev->response_type & 0x7f;

		/* The other buttons do nothing: an injected click shall not wait for a painting
		 * server. */
		if ((kind == XCB_BUTTON_PRESS && ((xcb_button_press_event_t *)ev)->detail == 1) ||
		    kind == XCB_EXPOSE)
			paint(c, window, gc, s, seed++);
		free(ev);
	}
	return 0;
}

/* ---- the measurement ---- */

struct bench {
	struct th_loop *loop;
	struct th_executor_client *x;
	bool failed;
	size_t bytes;
	char id[33];
};

static void on_finished(void *ctx, const struct th_effect_result *r)
{
	struct bench *b = ctx;

	if (r->status != TH_OUTCOME_DONE) {
		fprintf(stderr, "screen: %.*s\n", TH_FMT(r->output));
		b->failed = true;
	}
	if (r->blob_count > 0)
		b->bytes = r->blobs[0].bytes.len;
	th_loop_stop(b->loop);
}

static void on_ready(void *ctx, const struct th_executor_info *info, const struct th_err *err)
{
	struct bench *b = ctx;

	if (!info) {
		fprintf(stderr, "screen: %s\n", err->msg);
		b->failed = true;
	}
	th_loop_stop(b->loop);
}

/* Milliseconds from here to the result. */
static double call(struct bench *b, enum th_class class, const char *arguments)
{
	struct th_executor_handlers h = { .on_finished = on_finished, .ctx = b };
	struct th_effect_call x = { .class = class,
				    .tool = TH_STR("computer"),
				    .arguments = th_str_of(arguments) };
	uint8_t random[16];
	double start;

	th_random(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(b->id + 2 * i, 3, "%02x", random[i]);
	x.effect_id = th_str_of(b->id);
	start = bench_wall_us();
	(void)th_executor_client_run(b->x, &x, &h);
	th_loop_run(b->loop);
	if (b->failed)
		exit(1);
	return (bench_wall_us() - start) / 1e3;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_size);
	return values[count / 2];
}

/* The price of the two records that a click costs, on the same disk. */
static double journal_ms(const char *folder, size_t rounds)
{
	static double values[ROUNDS_MAX];
	struct th_journal_found found;
	struct th_journal *j;
	struct th_err err = { 0 };
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/journal", folder);
	if (th_journal_open(path, NULL, NULL, &found, &j, &err)) {
		fprintf(stderr, "screen: %s\n", err.msg);
		exit(1);
	}
	for (size_t i = 0; i < rounds; i++) {
		double start = bench_wall_us();

		for (int record = 0; record < 2; record++)
			if (th_journal_append(j,
					      TH_STR("{\"a record of about the size of "
						     "one\":\"that an effect leaves\"}"),
					      &err) ||
			    th_journal_sync(j, &err))
				exit(1);
		values[i] = (bench_wall_us() - start) / 1e3;
	}
	th_journal_close(j);
	return median(values, rounds);
}

#define CLICK(x, y, more)                                          \
	"{\"actions\":[{\"type\":\"click\",\"x\":" #x ",\"y\":" #y \
	",\"button\":\"left\",\"count\":1}]" more "}"
#define LOOK "{\"actions\":[{\"type\":\"screenshot\"}],\"screenshot\":true}"

int main(int argc, char **argv)
{
	static double full[ROUNDS_MAX], same[ROUNDS_MAX], settled[ROUNDS_MAX], click[ROUNDS_MAX];
	size_t rounds = (size_t)TH_MIN(bench_number(argc, argv, "rounds", 30), ROUNDS_MAX);
	struct bench b = { 0 };
	char folder[] = "/tmp/thole-screen-XXXXXX", state[PATH_MAX], command[PATH_MAX + 16];
	struct th_str start[1];
	struct th_buf self = TH_BUF_INIT(64 * TH_MIB);
	struct th_executor_options options = {
		.session = TH_STR("bench-screen"),
		.epoch = 1,
		.computer = TH_STR("desktop"),
		.size = { (int32_t)bench_number(argc, argv, "width", 1920),
			  (int32_t)bench_number(argc, argv, "height", 1080) },
		.start = start,
		.start_count = 1,
		.program = bench_option(argc, argv, "thole", NULL),
	};
	struct th_err err = { 0 };
	double ready, journal;

	if (argc == 2 && strcmp(argv[1], "paint") == 0)
		return painter();
	if (!options.program) {
		fprintf(stderr,
			"screen: the thole program must be named: screen thole=build/thole\n");
		return 2;
	}
	if (!mkdtemp(folder) || chmod(folder, 0755) != 0)
		return 1;
	snprintf(state, sizeof(state), "%s/state", folder);
	setenv("XDG_STATE_HOME", state, 1);
	setenv("XDG_RUNTIME_DIR", folder, 1);
	snprintf(command, sizeof(command), "%s/work", folder);
	mkdir(command, 0777);
	options.workspace = th_str_of(strdup(command));
	snprintf(command, sizeof(command), "%s/work/painter", folder);
	if (th_file_read("/proc/self/exe", 64 * TH_MIB, &self, &err) ||
	    th_file_write(command, th_buf_str(&self), 0755, &err) || th_loop_new(&b.loop, &err))
		goto fail;
	start[0] = TH_STR("./painter paint");
	chmod(folder, 0700); /* XDG_RUNTIME_DIR must be ours alone */
	ready = bench_wall_us();
	if (th_executor_client_new(b.loop, &options, &b.x, &err))
		goto fail;
	th_executor_client_ready(b.x, true, on_ready, &b);
	th_loop_run(b.loop);
	if (b.failed)
		return 1;
	ready = (bench_wall_us() - ready) / 1e3;
	/* The painter is there when a click changes the picture. */
	do
		(void)call(&b, TH_CLASS_W, CLICK(500, 500, ",\"settle\":true,\"screenshot\":true"));
	while (b.bytes < 100000);
	for (size_t i = 0; i < rounds; i++) {
		(void)call(&b, TH_CLASS_W, CLICK(500, 500, ",\"settle\":true"));
		full[i] = call(&b, TH_CLASS_R, LOOK);
		same[i] = call(&b, TH_CLASS_R, LOOK);
		settled[i] =
		    call(&b, TH_CLASS_W, CLICK(600, 500, ",\"settle\":true,\"screenshot\":true"));
		click[i] = call(&b, TH_CLASS_W,
				"{\"actions\":[{\"type\":\"click\",\"x\":700,\"y\":500,\"button\":"
				"\"middle\",\"count\":1}]}");
	}
	journal = journal_ms(folder, rounds);
	printf("{\"bench\":\"screen\",\"width\":%d,\"height\":%d,\"rounds\":%zu,\"ready_ms\":%.1f,"
	       "\"full_ms\":%.2f,"
	       "\"unchanged_ms\":%.2f,\"settled_ms\":%.2f,\"click_ms\":%.3f,\"journal_ms\":%.3f,"
	       "\"click_without_journal_ms\":%.3f,\"png_kb\":%zu}\n",
	       options.size.width, options.size.height, rounds, ready, median(full, rounds),
	       median(same, rounds), median(settled, rounds), median(click, rounds), journal,
	       median(click, rounds) - journal, b.bytes / 1024);
	b.x = th_executor_client_free(b.x);
	options.only_running = true;
	if (th_executor_client_end_once(&options, &err))
		goto fail;
	th_loop_free(b.loop);
	th_buf_deinit(&self);
	return th_dir_remove(folder, &err) ? 1 : 0;
fail:
	fprintf(stderr, "screen: %s\n", err.msg);
	return 1;
}
