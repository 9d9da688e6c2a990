/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seeing an X display: what is seen is what is there, and nothing waits for
 * ever.  An Xvfb of our own, a second connection that draws, and signals that
 * stop and kill the server.
 */
#include "x11/x11.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <spng.h>
#include <xcb/randr.h>
#include <xcb/xfixes.h>

#include "base/limits.h"
#include "computer/image.h"
#include "computers/computers.h"
#include "io/files.h"

enum { WIDTH = 643, HEIGHT = 481 }; /* neither a multiple of a band nor of four */
/* This machine is busy with other tests: "at once" means less than this, "never" more. */
enum { SLACK_MS = 1200 };

static char folder[64], authority[128], served[128],
    name[24]; /* served: the server's own copy, which it reads again */
static uint8_t cookie[TH_X11_COOKIE_SIZE];
static pid_t server;
static int interrupt_fds[2];
static struct th_err err;
static struct th_computer *c;
static xcb_connection_t *painter;
static xcb_window_t root;
static xcb_gcontext_t gc;
static uint64_t seed = 7;

static uint32_t chance(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 24) % below;
}

static int64_t now_ms(void)
{
	return th_x11_now_us() / 1000;
}

#define OK(call)                                                         \
	do {                                                             \
		err.msg[0] = '\0';                                       \
		enum th_code ok_code = (call);                           \
		if (ok_code)                                             \
			fail_msg("%s: %d: %s", #call, ok_code, err.msg); \
	} while (0)

/* ---- the server and who draws on it ---- */

static void write_authority(const char *path, const uint8_t *secret)
{
	uint8_t entry[4 + 4 + 2 + 18 + 2 + 16] = { 0xff, 0xff, 0, 0, 0, 0, 0, 18 };
	memcpy(entry + 8, "MIT-MAGIC-COOKIE-1", 18);
	entry[27] = 16;
	memcpy(entry + 28, secret, 16);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, entry, 44), 44);
	close(fd);
}

static void start_server(const char *screen)
{
	int fds[2];
	char number[16], text[16] = "";
	size_t len = 0;
	pid_t parent = getpid();

	assert_int_equal(pipe(fds), 0);
	server = fork();
	if (server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(1);
		snprintf(number, sizeof(number), "%d", fds[1]);
		int null_fd = open("/dev/null", O_RDWR);
		dup2(null_fd, 1);
		dup2(null_fd, 2);
		execlp("Xvfb", "Xvfb", "-displayfd", number, "-screen", "0", screen, "-auth",
		       served, "-listen", "tcp", "-noreset", (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	while (len < sizeof(text) - 1 && read(fds[0], text + len, 1) == 1 && text[len] != '\n')
		len++;
	close(fds[0]);
	assert_true(len > 0);
	text[len] = '\0';
	snprintf(name, sizeof(name), ":%s", text);
}

/* Killed, it leaves its lock and its socket. */
static void end_server(int signum)
{
	char path[64];

	if (server <= 0)
		return;
	kill(server, SIGCONT);
	kill(server, signum);
	waitpid(server, NULL, 0);
	server = 0;
	snprintf(path, sizeof(path), "/tmp/.X%s-lock", name + 1);
	unlink(path);
	snprintf(path, sizeof(path), "/tmp/.X11-unix/X%s", name + 1);
	unlink(path);
}

static enum th_code open_display(const char *display, const char *auth)
{
	struct th_computer_options o = { .kind = TH_STR("x11"),
					 .display = th_str_of(display),
					 .xauthority = th_str_of(auth),
					 .interrupt_fd = interrupt_fds[0] };
	return th_computer_open(&o, &c, &err);
}

static void open_painter(void)
{
	int fd, number;
	xcb_auth_info_t auth = { 18, (char[]){ "MIT-MAGIC-COOKIE-1" }, 16, (char *)cookie };

	OK(th_x11_socket(th_str_of(name), &fd, &number, &err));
	painter = xcb_connect_to_fd(fd, &auth);
	assert_int_equal(xcb_connection_has_error(painter), 0);
	root = xcb_setup_roots_iterator(xcb_get_setup(painter)).data->root;
	gc = xcb_generate_id(painter);
	uint32_t values[] = { XCB_SUBWINDOW_MODE_INCLUDE_INFERIORS, 0 };
	xcb_create_gc(painter, gc, root, XCB_GC_SUBWINDOW_MODE | XCB_GC_GRAPHICS_EXPOSURES, values);
}

static void painter_sync(void)
{
	free(xcb_get_input_focus_reply(painter, xcb_get_input_focus(painter), NULL));
}

static void paint(uint32_t colour, int x, int y, int width, int height)
{
	xcb_rectangle_t r = { (int16_t)x, (int16_t)y, (uint16_t)width, (uint16_t)height };
	xcb_change_gc(painter, gc, XCB_GC_FOREGROUND, &colour);
	xcb_poly_fill_rectangle(painter, root, gc, 1, &r);
	painter_sync();
}

static int set_up(void **state)
{
	char screen[32];

	(void)state;
	seed = 7;
	snprintf(screen, sizeof(screen), "%dx%dx24", WIDTH, HEIGHT);
	assert_int_equal(pipe(interrupt_fds), 0);
	write_authority(authority, cookie);
	write_authority(served, cookie);
	start_server(screen);
	OK(open_display(name, authority));
	open_painter();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	xcb_disconnect(painter);
	if (server > 0)
		kill(server, SIGCONT);
	c = th_computer_close(c);
	end_server(SIGTERM);
	close(interrupt_fds[0]);
	close(interrupt_fds[1]);
	return 0;
}

/* ---- bookkeeping ---- */

static size_t count_fds(void)
{
	size_t n = 0;
	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* The segments that this process made. */
static size_t count_segments(void)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf b = TH_BUF_INIT(TH_MIB);
	size_t n = 0;
	int creator;
	OK(th_file_read("/proc/sysvipc/shm", TH_MIB, &b, &err));
	for (const char *line = strchr(b.ptr, '\n'); line; line = strchr(line + 1, '\n'))
		n += sscanf(line, "%*d %*d %*o %*u %d", &creator) == 1 && creator == getpid();
	return n;
}

/* The server lets go of a segment only when it has read the end of our connection; nothing tells us
 * when that was. */
static void no_segment_stays(void)
{
	for (int i = 0; i < 1000 && count_segments(); i++)
		poll(NULL, 0, 10);
	assert_int_equal(count_segments(), 0);
}

/* ---- looking ---- */

static struct th_frame_image see(struct th_see_options o)
{
	struct th_frame_image f;
	OK(c->kind->see(c, &o, &f, &err));
	struct th_digest d = th_sha256_of(f.bytes.ptr, f.bytes.len);
	assert_true(th_digest_eq(&d, &f.digest));
	return f;
}

static struct th_frame_image see_all(void)
{
	return see((struct th_see_options){ 0 });
}

static uint8_t *decode(const struct th_frame_image *f)
{
	spng_ctx *s = spng_ctx_new(0);
	size_t size;

	assert_int_equal(f->format, TH_IMAGE_PNG);
	assert_int_equal(spng_set_png_buffer(s, f->bytes.ptr, f->bytes.len), 0);
	assert_int_equal(spng_decoded_image_size(s, SPNG_FMT_RGB8, &size), 0);
	assert_int_equal(size, (size_t)f->size.width * 3 * f->size.height);
	uint8_t *rgb = malloc(size);
	assert_int_equal(spng_decode_image(s, rgb, size, SPNG_FMT_RGB8, 0), 0);
	spng_ctx_free(s);
	return rgb;
}

/* What the server itself says of the same part of the screen. */
static void same_as_server(const struct th_frame_image *f, int x, int y)
{
	uint8_t *rgb = decode(f), *at = rgb;
	xcb_get_image_reply_t *r = xcb_get_image_reply(
	    painter,
	    xcb_get_image(painter, XCB_IMAGE_FORMAT_Z_PIXMAP, root, (int16_t)x, (int16_t)y,
			  (uint16_t)f->size.width, (uint16_t)f->size.height, ~0u),
	    NULL);

	assert_non_null(r);
	const uint8_t *p = xcb_get_image_data(r);
	for (int i = 0; i < f->size.width * f->size.height; i++, p += 4, at += 3)
		if (p[0] != at[2] || p[1] != at[1] || p[2] != at[0])
			fail_msg("pixel %d of %dx%d differs", i, f->size.width, f->size.height);
	free(r);
	free(rgb);
}

static uint32_t colour_at(const struct th_frame_image *f, int x, int y)
{
	uint8_t *rgb = decode(f);
	const uint8_t *p = rgb + ((size_t)y * f->size.width + x) * 3;
	uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
	free(rgb);
	return v;
}

static void what_is_seen_is_there(void **state)
{
	(void)state;
	assert_int_equal(c->kind->size(c).width, WIDTH);
	assert_int_equal(c->kind->size(c).height, HEIGHT);
	for (int round = 0; round < 80; round++) {
		for (uint32_t n = chance(5); n > 0; n--)
			paint(chance(1u << 24), (int)chance(WIDTH) - 20, (int)chance(HEIGHT) - 20,
			      1 + (int)chance(chance(3) ? 40 : WIDTH),
			      1 + (int)chance(chance(3) ? 40 : HEIGHT));
		struct th_frame_image f = see_all();
		same_as_server(&f, 0, 0);
		if (chance(3) == 0) {
			struct th_rect r = { (int32_t)chance(WIDTH), (int32_t)chance(HEIGHT), 1,
					     1 };
			r.width += (int32_t)chance((uint32_t)(WIDTH - r.x));
			r.height += (int32_t)chance((uint32_t)(HEIGHT - r.y));
			f = see((struct th_see_options){ .has_region = true, .region = r });
			assert_int_equal(f.size.width, r.width);
			same_as_server(&f, r.x, r.y);
		}
	}
}

static void an_unchanged_screen_is_the_same_frame(void **state)
{
	(void)state;
	paint(0x112233, 10, 10, 50, 50);
	struct th_frame_image a = see_all(), b = see_all();
	assert_false(a.unchanged);
	assert_true(b.unchanged);
	assert_int_equal(a.frame_id, b.frame_id);
	assert_ptr_equal(a.bytes.ptr, b.bytes.ptr);

	/* Drawn on, but with the same pixels. */
	paint(0x112233, 10, 10, 50, 50);
	b = see_all();
	assert_true(b.unchanged);
	assert_int_equal(a.frame_id, b.frame_id);

	paint(0x112234, 59, 59, 1, 1);
	b = see_all();
	assert_false(b.unchanged);
	assert_int_equal(b.frame_id, a.frame_id + 1);
	same_as_server(&b, 0, 0);

	/* A change elsewhere does not change a region. */
	struct th_see_options part = { .has_region = true, .region = { 300, 300, 40, 40 } };
	a = see(part);
	paint(0x998877, 0, 0, 20, 20);
	b = see(part);
	assert_true(b.unchanged);
	assert_int_equal(a.frame_id, b.frame_id);
	b = see_all();
	assert_false(b.unchanged);
	assert_int_equal(b.frame_id, a.frame_id + 1);
	same_as_server(&b, 0, 0);
}

static void other_formats_and_sizes(void **state)
{
	(void)state;
	paint(0x3366cc, 0, 0, WIDTH, HEIGHT);
	struct th_frame_image f = see((struct th_see_options){ .fit = { 320, 200 } });
	assert_int_equal(f.size.width, 267); /* 643x481 into 320x200 */
	assert_int_equal(f.size.height, 200);
	assert_int_equal(colour_at(&f, 100, 100), 0x3366cc);
	f = see((struct th_see_options){ .format = TH_IMAGE_JPEG });
	assert_memory_equal(f.bytes.ptr, "\xff\xd8\xff", 3);
	assert_int_equal(f.size.width, WIDTH);
	struct th_see_options webp = { .format = TH_IMAGE_WEBP, .quality = 70 };
	f = see(webp);
	assert_memory_equal(f.bytes.ptr, "RIFF", 4);
	assert_true(see(webp).unchanged);
	paint(0xffffff, 5, 5, 300, 300);
	assert_false(see(webp).unchanged);
	/* A fit that does not bind is the whole screen. */
	f = see((struct th_see_options){ .fit = { 4000, 4000 } });
	same_as_server(&f, 0, 0);
}

static void nonsense_is_refused(void **state)
{
	static const struct th_rect bad[] = { { -1, 0, 10, 10 },
					      { 0, -1, 10, 10 },
					      { 0, 0, 0, 10 },
					      { 0, 0, 10, -3 },
					      { WIDTH - 5, 0, 6, 1 },
					      { 0, HEIGHT, 1, 1 },
					      { 5000, 20, 10, 10 },
					      { 0, 0, WIDTH + 1, HEIGHT },
					      { INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX } };
	struct th_frame_image f;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		struct th_see_options o = { .has_region = true, .region = bad[i] };
		assert_int_equal(c->kind->see(c, &o, &f, &err), TH_EUSAGE);
		assert_non_null(strstr(err.msg, "643x481"));
	}
	assert_int_equal(c->kind->see(c, &(struct th_see_options){ .quality = 101 }, &f, &err),
			 TH_EUSAGE);
	assert_int_equal(c->kind->see(c, &(struct th_see_options){ .quality = -1 }, &f, &err),
			 TH_EUSAGE);
	assert_int_equal(c->kind->see(c, &(struct th_see_options){ .fit = { -1, 5 } }, &f, &err),
			 TH_EUSAGE);
	struct th_action off = { .kind = TH_ACTION_MOVE, .has_at = true, .at = { 5000, 20 } };
	struct th_act_result r;
	assert_int_equal(th_computer_act(c, &off, &r, &err), TH_EUSAGE);
	assert_non_null(strstr(err.msg, "642"));
	assert_false(r.started);
}

static void move_pointer(int x, int y)
{
	xcb_warp_pointer(painter, XCB_NONE, root, 0, 0, 0, 0, (int16_t)x, (int16_t)y);
	painter_sync();
}

static void the_pointer_is_drawn_on_demand(void **state)
{
	struct th_see_options with = { .cursor = true }, without = { 0 };
	uint32_t pixels = 0;

	(void)state;
	paint(0x123456, 0, 0, WIDTH, HEIGHT);
	xcb_font_t font = xcb_generate_id(painter);
	xcb_cursor_t cursor = xcb_generate_id(painter);
	xcb_open_font(painter, font, 6, "cursor");
	xcb_create_glyph_cursor(painter, cursor, font, font, 68, 69, 0xffff, 0, 0, 0xffff, 0xffff,
				0xffff);
	xcb_change_window_attributes(painter, root, XCB_CW_CURSOR, &cursor);
	move_pointer(100, 90);
	struct th_frame_image f = see(without);
	same_as_server(&f, 0, 0);
	f = see(with);
	assert_false(f.unchanged);
	uint8_t *rgb = decode(&f);
	for (int y = 80; y < 120; y++)
		for (int x = 90; x < 130; x++)
			pixels +=
			    rgb[(y * WIDTH + x) * 3] == 0xff && rgb[(y * WIDTH + x) * 3 + 1] == 0;
	free(rgb);
	assert_true(pixels > 20); /* red: the arrow */
	assert_true(see(with).unchanged);

	/* It moves without any damage; the old place is clean again. */
	move_pointer(500, 400);
	f = see(with);
	assert_false(f.unchanged);
	assert_int_equal(colour_at(&f, 101, 93), 0x123456);
	move_pointer(WIDTH - 1, HEIGHT - 1); /* clipped at the corner */
	f = see(with);
	f = see(without);
	same_as_server(&f, 0, 0);
	move_pointer(0, 0);
	assert_true(see(without).unchanged);
	f = see((struct th_see_options){ .cursor = true, .fit = { 300, 300 } });
	f = see(without);
	same_as_server(&f, 0, 0);
}

/* False: this Xvfb cannot. */
static bool resize(uint16_t width, uint16_t height)
{
	/* A screen may only shrink around its modes: its one monitor goes off first. */
	xcb_randr_get_screen_resources_reply_t *res = xcb_randr_get_screen_resources_reply(
	    painter, xcb_randr_get_screen_resources(painter, root), NULL);
	if (!res)
		return false;
	for (int i = 0; i < res->num_crtcs; i++)
		free(xcb_randr_set_crtc_config_reply(
		    painter,
		    xcb_randr_set_crtc_config(painter, xcb_randr_get_screen_resources_crtcs(res)[i],
					      0, 0, 0, 0, 0, 1, 0, NULL),
		    NULL));
	free(res);
	xcb_randr_set_screen_size(painter, root, width, height, 85, 64);
	painter_sync();
	xcb_get_geometry_reply_t *g =
	    xcb_get_geometry_reply(painter, xcb_get_geometry(painter, root), NULL);
	bool done = g && g->width == width;
	free(g);
	return done;
}

static void check_size(int32_t width, int32_t height)
{
	for (int i = 0; i < 5; i++)
		paint(chance(1u << 24), (int)chance(100), (int)chance(100), width / 2, height / 2);
	struct th_frame_image f = see_all();
	assert_int_equal(f.size.width, width);
	assert_int_equal(f.size.height, height);
	assert_int_equal(c->kind->size(c).width, width);
	same_as_server(&f, 0, 0);
	paint(0xabcdef, 7, 9, 3, 3);
	f = see_all();
	assert_false(f.unchanged);
	same_as_server(&f, 0, 0);
}

/* A new size is new memory: each time got in another way. */
static void the_screen_may_change_its_size(void **state)
{
	struct th_frame_image f;

	(void)state;
	see_all();
	if (!resize(320, 240))
		skip();
	check_size(320, 240);
	struct th_see_options o = { .has_region = true, .region = { 0, 0, 321, 10 } };
	assert_int_equal(c->kind->see(c, &o, &f, &err), TH_EUSAGE);
	th_x11_of(c)->shm.minor = 1; /* a server too old for descriptors: System V memory */
	assert_true(resize(400, 301));
	check_size(400, 301);
	assert_int_equal(count_segments(), 1);
	th_x11_of(c)->shm.present = false; /* one that shares nothing: through the socket */
	assert_true(resize(333, 200));
	check_size(333, 200);
	no_segment_stays();
	th_x11_of(c)->shm.present = true;
	th_x11_of(c)->shm.minor = 1;
	assert_true(resize(300, 200));
	check_size(300, 200);
	c = th_computer_close(c);
	no_segment_stays();
}

static void over_the_network_all_is_the_same(void **state)
{
	char address[64];

	(void)state;
	c = th_computer_close(c);
	snprintf(address, sizeof(address), "127.0.0.1%s", name);
	OK(open_display(address, authority));
	check_size(WIDTH, HEIGHT);
	paint(0x102030, 0, 0, WIDTH, HEIGHT);
	check_size(WIDTH, HEIGHT);
}

/* ---- settling ---- */

struct drawing {
	int delay_ms, every_ms, count;
};

static void *draw(void *ctx)
{
	const struct drawing *d = ctx;

	poll(NULL, 0, d->delay_ms);
	for (int i = 0; i < d->count; i++) {
		paint((uint32_t)(i * 77 + 1) & 0xffffff, 40, 40, 30, 20);
		if (d->every_ms)
			poll(NULL, 0, d->every_ms);
	}
	return NULL;
}

static struct th_settle_result settle(struct th_settle_options o, struct drawing d, int64_t *ret_ms)
{
	struct th_settle_result r;
	pthread_t thread;

	see_all(); /* what was before does not count */
	assert_int_equal(pthread_create(&thread, NULL, draw, &d), 0);
	int64_t start = now_ms();
	OK(c->kind->settle(c, &o, &r, &err));
	*ret_ms = now_ms() - start;
	pthread_join(thread, NULL);
	return r;
}

static void settling_waits_for_quiet(void **state)
{
	int64_t ms;

	(void)state;
	/* Nothing happens. */
	struct th_settle_result r =
	    settle((struct th_settle_options){ .first_ms = 60 }, (struct drawing){ 0, 0, 0 }, &ms);
	assert_false(r.changed);
	assert_true(r.settled);
	assert_true(ms >= 59 && ms < 60 + SLACK_MS);
	assert_true(r.waited_ms >= 59);

	/* One late change. */
	r = settle((struct th_settle_options){ .first_ms = 2000, .max_ms = 3000, .quiet_ms = 30 },
		   (struct drawing){ 100, 0, 1 }, &ms);
	assert_true(r.changed);
	assert_true(r.settled);
	assert_true(ms >= 125 && ms < 100 + 30 + SLACK_MS);
	assert_int_equal(r.area.x, 40);
	assert_int_equal(r.area.y, 40);
	assert_int_equal(r.area.width, 30);
	assert_int_equal(r.area.height, 20);

	/* A series that ends. */
	r = settle((struct th_settle_options){ .first_ms = 2000, .max_ms = 8000, .quiet_ms = 400 },
		   (struct drawing){ 20, 30, 8 }, &ms);
	assert_true(r.settled);
	assert_true(ms >= 8 * 30 + 400 - 40);

	/* A blinking that never ends. */
	r = settle((struct th_settle_options){ .first_ms = 900, .max_ms = 800, .quiet_ms = 700 },
		   (struct drawing){ 0, 10, 150 }, &ms);
	assert_true(r.changed);
	assert_false(r.settled);
	assert_true(ms >= 799 && ms < 800 + SLACK_MS);

	/* Without pause. */
	r = settle((struct th_settle_options){ .first_ms = 500, .max_ms = 200, .quiet_ms = 150 },
		   (struct drawing){ 0, 0, 20000 }, &ms);
	assert_true(r.changed);
	assert_true(ms < 200 + SLACK_MS);
}

static void a_change_before_settling_counts(void **state)
{
	struct th_settle_result r;
	struct th_act_result a;

	(void)state;
	see_all();
	paint(0x778899, 200, 100, 10, 10);
	int64_t start = now_ms();
	struct th_settle_options o = { .first_ms = 5000, .max_ms = 9000, .quiet_ms = 20 };
	OK(c->kind->settle(c, &o, &r, &err));
	assert_true(r.changed && r.settled);
	assert_true(now_ms() - start < 1000); /* not first_ms */
	assert_int_equal(r.area.x, 200);
	/* But what came before an action is not the action's. */
	struct th_action move = { .kind = TH_ACTION_MOVE, .has_at = true, .at = { 5, 5 } };
	OK(th_computer_act(c, &move, &a, &err));
	assert_true(a.has_at);
	o = (struct th_settle_options){ .first_ms = 30 };
	OK(c->kind->settle(c, &o, &r, &err));
	assert_false(r.changed);
}

static void waits_can_be_interrupted(void **state)
{
	struct th_settle_result r;
	struct th_act_result a;

	(void)state;
	see_all();
	assert_int_equal(write(interrupt_fds[1], "x", 1), 1);
	int64_t start = now_ms();
	struct th_settle_options o = { .first_ms = 20000, .max_ms = 30000 };
	assert_int_equal(c->kind->settle(c, &o, &r, &err), TH_ECANCELED);
	struct th_action wait = { .kind = TH_ACTION_WAIT, .duration_ms = 30000 };
	assert_int_equal(th_computer_act(c, &wait, &a, &err), TH_ECANCELED);
	assert_true(now_ms() - start < 2 * SLACK_MS);
	char byte;
	assert_int_equal(read(interrupt_fds[0], &byte, 1), 1);
	wait.duration_ms = 40;
	start = now_ms();
	OK(th_computer_act(c, &wait, &a, &err));
	assert_true(now_ms() - start >= 39);
	see_all();
}

/* ---- servers that freeze and die ---- */

static void a_frozen_server_is_found_out(void **state)
{
	struct th_act_result a;
	struct th_settle_result s;
	struct th_frame_image f;
	struct th_action move = { .kind = TH_ACTION_MOVE, .has_at = true, .at = { 50, 60 } };

	(void)state;
	see_all();
	kill(server, SIGSTOP);
	int64_t start = now_ms();
	assert_int_equal(c->kind->see(c, &(struct th_see_options){ 0 }, &f, &err), TH_ETIMEOUT);
	assert_true(now_ms() - start < 1000 + SLACK_MS);
	assert_non_null(strstr(err.msg, "does not answer"));
	assert_int_equal(th_computer_act(c, &move, &a, &err), TH_ETIMEOUT);
	assert_false(a.started); /* it was frozen before anything was sent */
	assert_non_null(strstr(err.msg, "was not done"));
	struct th_settle_options so = { 0 };
	assert_int_equal(c->kind->settle(c, &so, &s, &err), TH_ETIMEOUT);
	assert_true(now_ms() - start < 3 * 1000 + 3 * SLACK_MS);

	/* It thaws, and all goes on. */
	kill(server, SIGCONT);
	paint(0x55aa55, 3, 3, 100, 100);
	f = see_all();
	same_as_server(&f, 0, 0);
	OK(th_computer_act(c, &move, &a, &err));
	assert_int_equal(a.at.x, 50);
	assert_int_equal(a.at.y, 60);
}

/* What was drawn is asked for by a request whose answer nobody waits for any more. */
static void no_change_is_lost_in_a_freeze(void **state)
{
	struct th_frame_image f;
	xcb_rectangle_t r = { 0, 0, 1, 1 };

	(void)state;
	th_x11_of(c)->reply_ms = 40;
	for (int round = 0; round < 20; round++) {
		uint32_t colour = chance(1u << 24);
		r.x = (int16_t)chance(WIDTH);
		r.y = (int16_t)chance(HEIGHT);
		bool first = round % 2;
		kill(server, SIGSTOP);
		xcb_change_gc(painter, gc, XCB_GC_FOREGROUND, &colour);
		xcb_poly_fill_rectangle(painter, root, gc, 1, &r);
		if (first)
			xcb_flush(painter);
		assert_int_equal(c->kind->see(c, &(struct th_see_options){ 0 }, &f, &err),
				 TH_ETIMEOUT);
		if (!first)
			xcb_flush(painter);
		kill(server, SIGCONT);
		painter_sync();
		th_x11_of(c)->reply_ms = TH_X11_REPLY_MS;
		f = see_all();
		same_as_server(&f, 0, 0);
		th_x11_of(c)->reply_ms = 40;
	}
	th_x11_of(c)->reply_ms = TH_X11_REPLY_MS;
}

static void *stop_server(void *ctx)
{
	poll(NULL, 0, *(const int *)ctx);
	kill(server, SIGSTOP);
	return NULL;
}

static void *kill_server(void *ctx)
{
	poll(NULL, 0, *(const int *)ctx);
	kill(server, SIGKILL);
	return NULL;
}

static struct th_action drag_action(void)
{
	static struct th_point path[] = { { 10, 10 }, { 300, 300 } };
	return (struct th_action){
		.kind = TH_ACTION_DRAG, .path = path, .path_count = 2, .duration_ms = 2500
	};
}

static void a_freeze_in_an_action_leaves_its_fate_unknown(void **state)
{
	struct th_act_result a;
	struct th_action drag = drag_action();
	int delay_ms = 300;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, stop_server, &delay_ms), 0);
	int64_t start = now_ms();
	assert_int_equal(th_computer_act(c, &drag, &a, &err), TH_ETIMEOUT);
	pthread_join(thread, NULL);
	assert_true(a.started);
	assert_non_null(strstr(err.msg, "unknown"));
	assert_true(now_ms() - start < 2500 + 1000 + SLACK_MS);
	kill(server, SIGCONT);
}

static void a_death_in_an_action_leaves_its_fate_unknown(void **state)
{
	struct th_act_result a;
	struct th_action drag = drag_action();
	int delay_ms = 300;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, kill_server, &delay_ms), 0);
	int64_t start = now_ms();
	assert_int_equal(th_computer_act(c, &drag, &a, &err), TH_ECONN);
	pthread_join(thread, NULL);
	assert_true(a.started);
	assert_non_null(strstr(err.msg, "unknown"));
	assert_true(now_ms() - start < 300 + SLACK_MS);
}

static void a_dead_server_is_found_out(void **state)
{
	struct th_act_result a;
	struct th_settle_result s;
	struct th_frame_image f;
	struct th_action click = {
		.kind = TH_ACTION_CLICK, .has_at = true, .at = { 50, 60 }, .count = 1
	};
	struct th_settle_options so = { .first_ms = 20000, .max_ms = 30000 };
	int delay_ms = 100;
	pthread_t thread;

	(void)state;
	see_all();
	/* While nothing but the settling waits. */
	assert_int_equal(pthread_create(&thread, NULL, kill_server, &delay_ms), 0);
	int64_t start = now_ms();
	assert_int_equal(c->kind->settle(c, &so, &s, &err), TH_ECONN);
	pthread_join(thread, NULL);
	assert_true(now_ms() - start < 100 + SLACK_MS);
	start = now_ms();
	assert_int_equal(c->kind->see(c, &(struct th_see_options){ 0 }, &f, &err), TH_ECONN);
	assert_non_null(strstr(err.msg, "is gone"));
	assert_int_equal(th_computer_act(c, &click, &a, &err), TH_ECONN);
	assert_false(a.started);
	assert_int_equal(c->kind->reset(c, &a, &err), TH_ECONN);
	assert_int_equal(c->kind->dispatch(c, &err), TH_ECONN);
	assert_true(now_ms() - start < SLACK_MS);
}

static void a_killed_server_shows_in_the_next_call(void **state)
{
	struct th_frame_image f;

	(void)state;
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	int64_t start = now_ms();
	assert_int_equal(c->kind->see(c, &(struct th_see_options){ 0 }, &f, &err), TH_ECONN);
	assert_true(now_ms() - start < 100);
	/* A new one at the same place is a new computer. */
	end_server(SIGKILL);
}

/* ---- opening ---- */

static void opening_says_what_is_wrong(void **state)
{
	uint8_t wrong[16] = { 9 };
	char other[128];

	(void)state;
	c = th_computer_close(c);
	assert_int_equal(open_display("", ""), TH_EUSAGE);
	assert_int_equal(open_display("nonsense", ""), TH_EUSAGE);
	assert_int_equal(open_display(":99999", ""), TH_EUSAGE);
	assert_int_equal(open_display(":-1", ""), TH_EUSAGE);
	assert_int_equal(open_display(":58999", ""), TH_ECONN);
	assert_int_equal(open_display("/nowhere/at/all", ""), TH_ECONN);
	assert_int_equal(open_display(name, ""), TH_EPERM);
	assert_non_null(strstr(err.msg, "XAUTHORITY"));
	/* A file with a wrong cookie, one that is cut off, one that is none. */
	write_authority(authority, wrong);
	assert_int_equal(open_display(name, authority), TH_EPERM);
	assert_int_equal(truncate(authority, 30), 0);
	assert_int_equal(open_display(name, authority), TH_EPERM);
	snprintf(other, sizeof(other), "%s/none", folder);
	assert_int_equal(open_display(name, other), TH_EPERM);
	write_authority(authority, cookie);
	OK(open_display(name, authority));
	const char *const *env = c->kind->env(c);
	assert_memory_equal(env[0], "DISPLAY=:", 9);
	assert_memory_equal(env[1], "XAUTHORITY=/", 12);
	assert_null(env[2]);
	struct th_computer_options o = { .kind = TH_STR("toaster"), .interrupt_fd = -1 };
	struct th_computer *none;
	assert_int_equal(th_computer_open(&o, &none, &err), TH_EUSAGE);
	assert_non_null(strstr(err.msg, "desktop, x11"));
}

static void opening_a_frozen_server_ends(void **state)
{
	(void)state;
	c = th_computer_close(c);
	kill(server, SIGSTOP);
	int64_t start = now_ms();
	assert_int_equal(open_display(name, authority), TH_ETIMEOUT);
	assert_true(now_ms() - start < TH_X11_CONNECT_MS + SLACK_MS);
	kill(server, SIGCONT);
	OK(open_display(name, authority));
}

static void a_shallow_screen_is_refused(void **state)
{
	(void)state;
	c = th_computer_close(c);
	xcb_disconnect(painter);
	end_server(SIGTERM);
	start_server("320x200x16");
	assert_int_equal(open_display(name, authority), TH_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "24 bits"));
	end_server(SIGTERM);
	start_server("640x480x24");
	OK(open_display(name, authority));
	open_painter();
}

static void opening_and_closing_leaves_nothing(void **state)
{
	(void)state;
	see_all();
	c = th_computer_close(c);
	size_t fds = count_fds();
	for (int i = 0; i < 20; i++) {
		OK(open_display(name, authority));
		see_all();
		c = th_computer_close(c);
	}
	assert_int_equal(count_fds(), fds);
	no_segment_stays();
	OK(open_display(name, authority));
}

static int group_set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/thole-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(authority, sizeof(authority), "%s/authority", folder);
	snprintf(served, sizeof(served), "%s/served", folder);
	for (size_t i = 0; i < sizeof(cookie); i++)
		cookie[i] = (uint8_t)(i * 17 + getpid());
	return 0;
}

static int group_tear_down(void **state)
{
	(void)state;
	return th_dir_remove(folder, NULL);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(what_is_seen_is_there),
		T(an_unchanged_screen_is_the_same_frame),
		T(other_formats_and_sizes),
		T(nonsense_is_refused),
		T(the_pointer_is_drawn_on_demand),
		T(the_screen_may_change_its_size),
		T(over_the_network_all_is_the_same),
		T(settling_waits_for_quiet),
		T(a_change_before_settling_counts),
		T(waits_can_be_interrupted),
		T(a_frozen_server_is_found_out),
		T(no_change_is_lost_in_a_freeze),
		T(a_freeze_in_an_action_leaves_its_fate_unknown),
		T(a_death_in_an_action_leaves_its_fate_unknown),
		T(a_dead_server_is_found_out),
		T(a_killed_server_shows_in_the_next_call),
		T(opening_says_what_is_wrong),
		T(opening_a_frozen_server_ends),
		T(a_shallow_screen_is_refused),
		T(opening_and_closing_leaves_nothing),
	};
	return cmocka_run_group_tests(tests, group_set_up, group_tear_down);
}
