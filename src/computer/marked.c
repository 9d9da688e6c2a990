/* SPDX-License-Identifier: Apache-2.0 */
#include "computer/marked.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "io/child.h"
#include "io/clock.h"
#include "io/fetch.h"
#include "io/files.h"
#include "wire/found.h"

/* Letters of a screen are smaller than those tesseract was trained on; on a large one, where twice
 * the size would take seconds, they are not. */
#define OCR_SCALE 2
#define OCR_SCALED_MAX (1920 * 1200)
#define PAINTED_MAX 4 /* canvases of one picture that are read */

struct th_marked {
	char *parser, *ocr;
	uint64_t parser_ms, ocr_ms;
	int interrupt_fd;
	struct th_loop *loop;       /* for the moment of a search */
	struct th_fetcher *fetcher; /* the same */
	struct th_marks now, before;
	int32_t last, *counter; /* counter: the computer's own; NULL: last is */
	bool known;             /* `now` is of the picture with this digest */
	struct th_digest digest;
	uint8_t *copy, *scaled;
	size_t copy_size, scaled_size;
	struct th_png *png;
	/* of one search */
	struct th_size screen;
	enum th_mark_source source;
	int32_t scale;          /* findings are so many times too large */
	struct th_point corner; /* of the part of the screen that is read */
	struct th_buf said;
	bool over, interrupted;
	struct th_err failure; /* code TH_OK: none */
};

/* Where a program is, in the folders of a system; NULL: not there. */
static const char *find_program(const char *name, char path[static 128])
{
	static const char *const folders[] = { "/usr/bin", "/usr/local/bin", "/bin",
					       "/run/current-system/sw/bin" };

	for (size_t i = 0; i < TH_COUNT(folders); i++) {
		snprintf(path, 128, "%s/%s", folders[i], name);
		if (access(path, X_OK) == 0)
			return path;
	}
	return NULL;
}

static void on_found(void *ctx, struct th_rect box, struct th_str role, struct th_str name)
{
	struct th_marked *m = ctx;

	box.x /= m->scale;
	box.y /= m->scale;
	if (box.x >= m->screen.width || box.y >= m->screen.height)
		return; /* nowhere; and no sum below is too large */
	box.x += m->corner.x;
	box.y += m->corner.y;
	box.width /= m->scale;
	box.height /= m->scale;
	th_marks_add(&m->now, m->screen, m->source, box, role, name);
}

/* ---- waiting for others ------------------------------------------------------------------- */

static void end(struct th_marked *m)
{
	m->over = true;
	th_loop_stop(m->loop);
}

static void on_interrupt(void *ctx, unsigned events TH_UNUSED)
{
	struct th_marked *m = ctx;

	m->interrupted = true;
	end(m);
}

static void on_timeout(void *ctx)
{
	struct th_marked *m = ctx;

	(void)th_fail(&m->failure, TH_ETIMEOUT, "it took too long");
	end(m);
}

/* Runs until the search is over, the time is over, or somebody interrupts. */
static enum th_code await(struct th_marked *m, uint64_t ms, struct th_err *err)
{
	struct th_poll *interrupt = NULL;
	struct th_timer timer = { 0 };
	enum th_code code = TH_OK;

	if (m->interrupt_fd >= 0)
		code = th_poll_new(m->loop, m->interrupt_fd, on_interrupt, m, &interrupt, err);
	if (code)
		return code;
	if (interrupt)
		th_poll_set(interrupt, TH_POLL_READ);
	th_timer_init(&timer, m->loop, on_timeout, m);
	th_timer_start(&timer, ms, 0);
	while (!m->over)
		th_loop_run(m->loop);
	th_timer_stop(&timer);
	th_poll_free(interrupt);
	if (m->interrupted)
		return th_fail(err, TH_ECANCELED, "interrupted while elements were looked for");
	if (m->failure.code)
		*err = m->failure;
	return m->failure.code;
}

/* A slow or missing helper is no failure of the screen: with these codes the screen would count as
 * frozen or dead, and be ended. */
static enum th_code without(enum th_code code, struct th_err *err)
{
	if (code != TH_ETIMEOUT && code != TH_ECONN)
		return code;
	err->code = TH_EUNSUPPORTED;
	return err->code;
}

static void take_output(struct th_marked *m, struct th_str bytes)
{
	th_buf_add(&m->said, bytes);
	if (m->said.failed && !m->failure.code) {
		if (th_buf_check(&m->said, "what it says", &m->failure))
			end(m);
	}
}

/* ---- reading the picture ------------------------------------------------------------------ */

static void on_ocr_output(void *ctx, enum th_child_stream stream, struct th_str bytes)
{
	if (stream == TH_CHILD_OUT)
		take_output(ctx, bytes);
}

static void on_ocr_exit(void *ctx, const struct th_child_exit *status)
{
	struct th_marked *m = ctx;

	if ((status->signalled || status->code) && !m->failure.code)
		(void)th_fail(&m->failure, TH_EIO, "%s ended with %s %d", m->ocr ?: "tesseract",
			      status->signalled ? "signal" : "status", status->code);
	end(m);
}

/* Gray and larger, as a PGM that lives in memory. */
static int make_pgm(const struct th_pixels *screen, int32_t scale)
{
	size_t width = (size_t)screen->size.width * (size_t)scale;
	uint8_t *row = th_alloc(width);
	struct th_buf head = TH_BUF_INIT(64);
	int fd = memfd_create("thole-ocr", MFD_CLOEXEC);
	struct th_err none;
	bool good = fd >= 0;

	th_buf_printf(&head, "P5\n%zu %d\n255\n", width, screen->size.height * scale);
	good = good && !th_file_write_fd(fd, th_buf_str(&head), &none);
	for (int32_t y = 0; y < screen->size.height && good; y++) {
		const uint8_t *p = th_pixels_row(screen, y);

		for (size_t x = 0; x < width; x++) {
			const uint8_t *q = p + x / (size_t)scale * 4;
			row[x] = (uint8_t)((q[0] * 29 + q[1] * 150 + q[2] * 77) >> 8);
		}
		for (int i = 0; i < scale && good; i++)
			good = !th_file_write_fd(fd, th_str_n(row, width), &none);
	}
	good = good && lseek(fd, 0, SEEK_SET) == 0;
	free(row);
	th_buf_deinit(&head);
	if (!good)
		th_fd_close(&fd);
	return fd;
}

static enum th_code read_picture(struct th_marked *m, const struct th_pixels *screen,
				 uint64_t within_ms, struct th_err *err)
{
	static const char *const more[] = { "OMP_THREAD_LIMIT=1", NULL };
	char path[128];
	const char *program = m->ocr ?: find_program("tesseract", path);
	const char *const argv[] = { program, "stdin", "stdout", "--psm", "11", "tsv", NULL };
	TH_CLEANUP(th_arena_deinit) struct th_arena a = {};
	struct th_child *child = NULL;
	enum th_code code;

	th_arena_init(&a, 64 * TH_KIB);
	if (!program)
		return th_fail(err, TH_EUNSUPPORTED,
			       "tesseract, which reads it, is not installed (Debian, Ubuntu: "
			       "package tesseract-ocr; Fedora: tesseract; Arch: tesseract "
			       "tesseract-data-eng; Alpine: tesseract-ocr tesseract-ocr-data-eng)");
	m->scale = screen->size.width * screen->size.height > OCR_SCALED_MAX ? 1 : OCR_SCALE;
	TH_CLEANUP(th_fd_close) int picture = make_pgm(screen, m->scale);
	if (picture < 0)
		return th_fail_errno(err, errno, "hand the picture over");
	struct th_child_fd fds[] = { { picture, 0 } };
	struct th_child_spec spec = {
		.argv = argv,
		.env = th_child_env(&a, NULL, NULL, more),
		.cwd = "/",
		.fds = fds,
		.fd_count = 1,
		.on_output = on_ocr_output,
		.on_exit = on_ocr_exit,
		.ctx = m,
	};
	m->source = TH_MARK_OCR;
	code = th_child_start(m->loop, &spec, &child, err);
	if (!code)
		code = await(m, within_ms, err);
	th_child_free(child);
	if (!code)
		th_ocr_read(th_buf_str(&m->said), on_found, m);
	code = without(code, err);
	return code ? th_prefix(err, code, "read the picture") : TH_OK;
}

/* ---- a parser's server -------------------------------------------------------------------- */

static bool on_parser_data(void *ctx, struct th_str bytes)
{
	take_output(ctx, bytes);
	return true;
}

static void on_parser_done(void *ctx, const struct th_fetch_result *r)
{
	struct th_marked *m = ctx;

	if (r->end == TH_FETCH_STATUS)
		(void)th_fail(&m->failure, TH_EPROTO, "HTTP status %d", r->head.status);
	else if (r->end != TH_FETCH_OK)
		m->failure = r->err;
	end(m);
}

static enum th_code ask_parser(struct th_marked *m, struct th_str png, struct th_err *err)
{
	const struct th_fetch_header headers[] = { { "Content-Type", TH_STR("application/json") } };
	TH_CLEANUP(th_buf_deinit) struct th_buf body = TH_BUF_INIT(2 * TH_IMAGE_SIZE_MAX);
	TH_CLEANUP(th_buf_deinit) struct th_buf url = TH_BUF_INIT(TH_REQUEST_HEAD_MAX);
	struct th_str base = th_str_of(m->parser), text;
	struct th_fetch_id id;
	enum th_code code;

	while (th_str_ends(base, TH_STR("/")))
		base.len--;
	th_buf_add(&url, base);
	if (!th_str_ends(base, TH_STR("/parse")))
		th_buf_add_cstr(&url, "/parse");
	th_buf_add_char(&url, '/');
	th_parser_request(png, &body);
	code = th_buf_check(&body, "the picture", err);
	if (!code)
		code = th_buf_check(&url, "its URL", err);
	text = th_buf_str(&body);
	struct th_fetch_request r = {
		.method = "POST",
		.url = th_buf_str(&url),
		.headers = headers,
		.header_count = TH_COUNT(headers),
		.body = &text,
		.body_count = 1,
		.connect_ms = TH_MODEL_CONNECT_MS,
		.total_ms = m->parser_ms,
		.on_data = on_parser_data,
		.on_done = on_parser_done,
		.ctx = m,
	};
	m->source = TH_MARK_PARSER;
	m->scale = 1;
	if (!code)
		code = th_fetch_start(m->fetcher, &r, &id, err);
	if (!code) {
		code = await(m, 2 * m->parser_ms, err);
		th_fetch_cancel(m->fetcher, id);
	}
	if (!code)
		code = th_parser_read(th_buf_str(&m->said), m->screen, on_found, m, err);
	code = without(code, err);
	return code ? th_prefix(err, code, "the parser %s", m->parser) : TH_OK;
}

/* ---- all of them -------------------------------------------------------------------------- */

static void begin(struct th_marked *m, size_t output_max)
{
	th_buf_deinit(&m->said);
	th_buf_init(&m->said, output_max);
	m->over = m->interrupted = false;
	m->failure = (struct th_err){ 0 };
}

/* The largest canvases: of what is in them nobody knows more than the picture shows. */
static size_t find_painted(const struct th_marks *marks, struct th_size screen,
			   struct th_rect boxes[static PAINTED_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < marks->count; i++) {
		struct th_rect box = th_rect_clip(marks->list[i].box, screen);
		size_t at = count;

		if (strcmp(marks->list[i].role, "canvas") != 0 || box.width < 1 || box.height < 1)
			continue;
		while (at > 0 &&
		       boxes[at - 1].width * boxes[at - 1].height < box.width * box.height)
			at--;
		if (at == PAINTED_MAX)
			continue;
		count = TH_MIN(count + 1, (size_t)PAINTED_MAX);
		memmove(boxes + at + 1, boxes + at, (count - at - 1) * sizeof(*boxes));
		boxes[at] = box;
	}
	return count;
}

/* Their words, beside the elements that are known.  What cannot be read has none, and so has what
 * cannot be read in time: together they have as long as one picture. */
static enum th_code read_painted(struct th_marked *m, const struct th_pixels *screen,
				 struct th_err *err)
{
	struct th_rect boxes[PAINTED_MAX];
	size_t count = find_painted(&m->now, screen->size, boxes);
	uint64_t ends_ms = th_clock_ms() + m->ocr_ms, now_ms;
	enum th_code code = TH_OK;

	for (size_t i = 0; i < count && code != TH_ECANCELED; i++) {
		const struct th_pixels part = th_pixels_cut(screen, boxes[i]);

		now_ms = th_clock_ms();
		if (now_ms >= ends_ms)
			break;

		begin(m, TH_OCR_OUTPUT_MAX);
		m->corner = (struct th_point){ boxes[i].x, boxes[i].y };
		code = read_picture(m, &part, ends_ms - now_ms, err);
	}
	m->corner = (struct th_point){ 0 };
	return code == TH_ECANCELED ? code : TH_OK;
}

/* A failure is reported only if no other source worked. */
static enum th_code search(struct th_marked *m, struct th_computer *c, struct th_str png,
			   const struct th_pixels *screen, struct th_err *err)
{
	enum th_code tree = TH_EUNSUPPORTED, code = TH_EUNSUPPORTED;
	struct th_err why = { 0 };

	m->screen = screen->size;
	m->now = (struct th_marks){ 0 };
	m->source = TH_MARK_TREE;
	m->scale = 1;
	m->counter = NULL;
	if (c->kind->marks)
		tree = c->kind->marks(c, &m->now, &m->counter, &why);
	else if (c->kind->tree)
		tree = c->kind->tree(c, on_found, m, &why);
	if (tree == TH_ECANCELED) {
		*err = why;
		return tree;
	}
	if (m->parser) {
		begin(m, TH_HTTP_BODY_MAX);
		code = ask_parser(m, png, err);
	}
	/* With elements of its own the picture is not read, but for what is painted there. */
	if (!m->parser && !tree && m->counter && m->now.count > 0)
		return read_painted(m, screen, err);
	if (code && code != TH_ECANCELED && (!m->parser || tree) &&
	    !(m->counter && m->now.count > 0)) {
		begin(m, TH_OCR_OUTPUT_MAX);
		code = read_picture(m, screen, m->ocr_ms, &why);
		if (code == TH_ECANCELED || !m->parser)
			*err = why;
	}
	return code == TH_ECANCELED || (code && tree) ? err->code : TH_OK;
}

static enum th_code find(struct th_marked *m, struct th_computer *c,
			 const struct th_frame_image *whole, const struct th_pixels *screen,
			 struct th_err *err)
{
	enum th_code code;

	if (m->known && th_digest_eq(&m->digest, &whole->digest))
		return TH_OK;
	if (m->known)
		m->before = m->now;
	m->known = false;
	code = th_loop_new(&m->loop, err);
	if (!code && m->parser)
		code = th_fetcher_new(m->loop, &m->fetcher, err);
	if (!code)
		code = search(m, c, whole->bytes, screen, err);
	m->fetcher = th_fetcher_free(m->fetcher);
	m->loop = th_loop_free(m->loop);
	if (code)
		return code;
	th_marks_number(&m->now, &m->before, m->counter ?: &m->last,
			m->counter ? INT32_MAX : TH_MARK_NUMBER_MAX);
	m->digest = whole->digest;
	m->known = true;
	return TH_OK;
}

/* ---- the picture -------------------------------------------------------------------------- */

static struct th_pixels room(uint8_t **memory, size_t *have, struct th_size size)
{
	size_t need = (size_t)size.width * 4 * (size_t)size.height;

	if (need > *have)
		*memory = th_realloc(*memory, need);
	*have = TH_MAX(*have, need);
	return (struct th_pixels){ *memory, (size_t)size.width * 4, size };
}

static enum th_code draw(struct th_marked *m, const struct th_pixels *screen, struct th_size fit,
			 struct th_frame_image *image, struct th_err *err)
{
	struct th_pixels to = room(&m->copy, &m->copy_size, screen->size);
	bool changed;
	enum th_code code;

	for (int32_t y = 0; y < screen->size.height; y++)
		memcpy(th_pixels_row(&to, y), th_pixels_row(screen, y), to.stride);
	fit = th_size_fit(screen->size, fit);
	if (!th_size_eq(fit, screen->size)) {
		struct th_pixels small = room(&m->scaled, &m->scaled_size, fit);

		th_image_scale(&to, &small);
		to = small;
	}
	th_marks_draw(&m->now, screen->size, &to);
	m->png = m->png ? m->png : th_png_new();
	code = th_png_encode(m->png, &to, NULL, &changed, err);
	if (code)
		return code;
	image->bytes = th_png_bytes(m->png);
	image->digest = th_sha256_of(image->bytes.ptr, image->bytes.len);
	image->size = fit;
	image->format = TH_IMAGE_PNG;
	return TH_OK;
}

enum th_code th_marked_see(struct th_marked *m, struct th_computer *c,
			   const struct th_see_options *options, bool drawn,
			   struct th_frame_image *ret, const struct th_marks **ret_marks,
			   struct th_err *err)
{
	struct th_see_options whole = { .format = TH_IMAGE_PNG, .cursor = options->cursor };
	struct th_pixels screen;
	enum th_code code;

	if (!c->kind->pixels)
		return th_fail(err, TH_EUNSUPPORTED, "a computer of kind %s has no marks",
			       c->kind->name);
	code = c->kind->see(c, &whole, ret, err);
	if (code)
		return code;
	c->kind->pixels(c, &screen);
	code = find(m, c, ret, &screen, err);
	if (!code && drawn)
		code = draw(m, &screen, options->fit, ret, err);
	*ret_marks = &m->now;
	return code;
}

struct th_marked *th_marked_new(const struct th_marked_options *options)
{
	struct th_marked *m = th_alloc(sizeof(*m));

	m->interrupt_fd = options->interrupt_fd;
	if (options->parser.len)
		m->parser = strndup(options->parser.ptr, options->parser.len);
	if (options->ocr.len)
		m->ocr = strndup(options->ocr.ptr, options->ocr.len);
	m->parser_ms = options->parser_ms ?: TH_PARSER_MS;
	m->ocr_ms = options->ocr_ms ?: TH_OCR_MS;
	th_buf_init(&m->said, TH_OCR_OUTPUT_MAX);
	return m;
}

struct th_marked *th_marked_free(struct th_marked *m)
{
	if (!m)
		return NULL;
	th_png_free(m->png);
	th_buf_deinit(&m->said);
	free(m->copy);
	free(m->scaled);
	free(m->parser);
	free(m->ocr);
	free(m);
	return NULL;
}
