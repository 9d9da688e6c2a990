/* SPDX-License-Identifier: Apache-2.0 */
/* Who else is asked for elements: a program that reads pictures, played by a script, and a parser's
 * server, played by a thread. */
#include "computer/marked.h"

#include "unit.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"

#define SHORT_MS 40 /* a limit that is waited for */
#define WORD "5\t1\t1\t1\t1\t1\t20\t40\t60\t20\t96\tHello\n"
#define BOXES "{\"parsed_content_list\":[{\"type\":\"icon\",\"bbox\":[0.25,0.5,0.5,0.75]}]}"

static struct th_err err;
static char folder[32], program[64], table[64];
static struct th_marked *marked;
static const struct th_marks *marks;

/* ---- a screen ---- */

static uint8_t pixels[100 * 80 * 4];
static unsigned pictures;

static enum th_code see(struct th_computer *c, const struct th_see_options *options,
			struct th_frame_image *ret, struct th_err *reterr)
{
	(void)c;
	(void)options;
	(void)reterr;
	pictures++; /* none is like the one before */
	*ret = (struct th_frame_image){ .bytes = TH_STR("a picture"),
					.digest = th_sha256_of(&pictures, sizeof(pictures)),
					.size = { 100, 80 } };
	return TH_OK;
}

static void show(struct th_computer *c, struct th_pixels *ret)
{
	(void)c;
	*ret = (struct th_pixels){ pixels, 100 * 4, { 100, 80 } };
}

static const struct th_computer_kind kind = { .name = "played", .see = see, .pixels = show };
static struct th_computer screen = { .kind = &kind };

static enum th_code look(const struct th_marked_options *options)
{
	const struct th_see_options whole = { .format = TH_IMAGE_PNG };
	struct th_frame_image image;

	err = (struct th_err){ 0 };
	marked = th_marked_free(marked);
	marked = th_marked_new(options);
	return th_marked_see(marked, &screen, &whole, false, &image, &marks, &err);
}

/* ---- a program ---- */

static void write_table(size_t size)
{
	FILE *f = fopen(table, "w");

	assert_non_null(f);
	fputs(WORD, f);
	for (size_t i = strlen(WORD); i < size; i++)
		fputc(i % 64 ? 'x' : '\n', f);
	assert_int_equal(fclose(f), 0);
}

static void write_program(const char *text)
{
	FILE *f = fopen(program, "w");

	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", text);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(program, 0755), 0);
}

static enum th_code read_with(const char *text, uint64_t ocr_ms)
{
	const struct th_marked_options o = { .ocr = th_str_of(program),
					     .interrupt_fd = -1,
					     .ocr_ms = ocr_ms };

	write_program(text);
	return look(&o);
}

static void a_program_of_the_users(void **state)
{
	char text[128];

	(void)state;
	write_table(0);
	snprintf(text, sizeof(text), "test \"$*\" = 'stdin stdout --psm 11 tsv' && cat %s", table);
	assert_int_equal(read_with(text, 0), TH_OK);
	assert_int_equal(marks->count, 1);
	assert_string_equal(marks->list[0].name, "Hello");
	assert_int_equal(marks->list[0].source, TH_MARK_OCR);
	assert_int_equal(marks->list[0].box.x, 10); /* it was shown twice the size */
	assert_int_equal(read_with("exit 3", 0), TH_EIO);
	assert_non_null(strstr(err.msg, program));
	assert_non_null(strstr(err.msg, "ended with status 3"));
	assert_int_equal(unlink(program), 0);
	assert_int_not_equal(
	    look(&(struct th_marked_options){ .ocr = th_str_of(program), .interrupt_fd = -1 }),
	    TH_OK);
}

/* ---- elements of the computer's own ---- */

static int32_t last_number;
static struct th_rect canvases[6];

static enum th_code own(struct th_computer *c, struct th_marks *m, int32_t **ret_last,
			struct th_err *reterr)
{
	struct th_mark *mark =
	    th_marks_add(m, (struct th_size){ 100, 80 }, TH_MARK_TREE,
			 (struct th_rect){ 0, 0, 30, 10 }, TH_STR("button"), TH_STR("Go"));

	(void)c;
	(void)reterr;
	mark->number = last_number = 7;
	for (size_t i = 0; i < TH_COUNT(canvases); i++)
		if (canvases[i].width)
			th_marks_add(m, (struct th_size){ 100, 80 }, TH_MARK_TREE, canvases[i],
				     TH_STR("canvas"), TH_STR(""))
			    ->number = ++last_number;
	*ret_last = &last_number;
	return TH_OK;
}

static const struct th_computer_kind numbering = {
	.name = "numbers", .see = see, .pixels = show, .marks = own
};

/* What is in a canvas is read, and nothing else of a picture whose elements are known. */
static void what_is_painted_is_read(void **state)
{
	char text[256], sizes[64];

	(void)state;
	screen.kind = &numbering;
	write_table(0);
	snprintf(sizes, sizeof(sizes), "%s/sizes", folder);
	snprintf(text, sizeof(text), "sed -n 2p >> %s; cat %s", sizes, table);
	assert_int_equal(read_with(text, 0), TH_OK);
	assert_int_equal(marks->count, 1);
	assert_int_equal(access(sizes, F_OK), -1); /* nobody was asked */

	canvases[0] = (struct th_rect){ 35, 22, 60, 50 };
	assert_int_equal(read_with(text, 0), TH_OK);
	assert_int_equal(marks->count, 3);
	const struct th_mark *word = &marks->list[2]; /* by rows of the screen */
	assert_string_equal(word->name, "Hello");
	assert_int_equal(word->source, TH_MARK_OCR);
	assert_int_equal(word->box.x, 35 + 10);
	assert_int_equal(word->box.y, 22 + 20);
	assert_int_equal(word->number, 9); /* behind the elements */
	assert_int_equal(marks->list[1].number, 8);

	/* The largest of many. */
	for (int32_t i = 0; i < 6; i++)
		canvases[i] = (struct th_rect){ 35, 20 + 10 * i, 40 + 2 * (i * 5 % 6), 8 };
	assert_int_equal(unlink(sizes), 0);
	assert_int_equal(read_with(text, 0), TH_OK);
	struct th_buf seen = TH_BUF_INIT(TH_KIB);
	assert_int_equal(th_file_read(sizes, TH_KIB, &seen, &err), TH_OK);
	assert_string_equal(seen.ptr, "100 16\n96 16\n92 16\n88 16\n");
	th_buf_deinit(&seen);

	/* Elements count also where none can be read. */
	assert_int_equal(read_with("exit 3", 0), TH_OK);
	assert_int_equal(marks->count, 7);
	memset(canvases, 0, sizeof(canvases));
	assert_int_equal(unlink(sizes), 0);
	screen.kind = &kind;
}

/* The largest takes all of the time, so that the others, which could be read, have none. */
static void canvases_share_one_time(void **state)
{
	char text[256];

	(void)state;
	screen.kind = &numbering;
	write_table(0);
	canvases[0] = (struct th_rect){ 35, 10, 60, 28 };
	canvases[1] = (struct th_rect){ 35, 40, 60, 10 };
	snprintf(text, sizeof(text), "mkdir %s/first 2>/dev/null && exec sleep 60; cat %s", folder,
		 table);
	assert_int_equal(read_with(text, SHORT_MS), TH_OK);
	assert_int_equal(marks->count, 3); /* elements alone */
	memset(canvases, 0, sizeof(canvases));
	screen.kind = &kind;
}

/* ---- what it says ---- */

static void what_it_says_has_a_maximum(void **state)
{
	char text[128];

	(void)state;
	snprintf(text, sizeof(text), "cat %s", table);
	write_table(TH_OCR_OUTPUT_MAX);
	assert_int_equal(read_with(text, 0), TH_OK);
	assert_int_equal(marks->count, 1);
	write_table(TH_OCR_OUTPUT_MAX + 1);
	assert_int_equal(read_with(text, 0), TH_ELIMIT);
	assert_non_null(strstr(err.msg, "what it says is larger than 4194304 bytes"));
}

/* Neither code is one that the display's owner takes for the end of the screen. */
static void it_has_so_long(void **state)
{
	char text[128];

	(void)state;
	write_table(0);
	snprintf(text, sizeof(text), "sleep 3; cat %s", table);
	assert_int_equal(read_with(text, SHORT_MS), TH_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "it took too long"));
}

/* ---- a server ---- */

struct server {
	int fd, port;
	size_t size;   /* of its answer; */
	bool is_quiet; /* or none */
	pthread_t thread;
};

static void put(int fd, const char *bytes, size_t size)
{
	ssize_t n;

	for (size_t at = 0; at < size; at += (size_t)n)
		if ((n = write(fd, bytes + at, size - at)) <= 0)
			return; /* who asked has heard enough */
}

static void *serve(void *ctx)
{
	const struct server *s = ctx;
	int fd = accept(s->fd, NULL, NULL);
	char request[4096], head[128];
	size_t len = 0;
	ssize_t n;
	char *body = malloc(s->size + 1);

	if (fd < 0 || !body)
		abort();
	while (!memmem(request, len, "\"}", 2) &&
	       (n = read(fd, request + len, sizeof(request) - len)) > 0)
		len += (size_t)n;
	memset(body, ' ', s->size);
	memcpy(body, BOXES, strlen(BOXES));
	snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", s->size);
	if (!s->is_quiet) {
		put(fd, head, strlen(head));
		put(fd, body, s->size);
	}
	while (read(fd, request, sizeof(request)) > 0)
		;
	close(fd);
	free(body);
	return ctx;
}

static enum th_code ask(size_t size, bool is_quiet, uint64_t parser_ms)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct server s = { .size = TH_MAX(size, strlen(BOXES)), .is_quiet = is_quiet };
	socklen_t len = sizeof(a);
	enum th_code code;
	char url[64];

	s.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s.fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(getsockname(s.fd, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(listen(s.fd, 1), 0);
	assert_int_equal(pthread_create(&s.thread, NULL, serve, &s), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(a.sin_port));
	write_program("exit 3");
	code = look(&(struct th_marked_options){ .parser = th_str_of(url),
						 .ocr = th_str_of(program),
						 .interrupt_fd = -1,
						 .parser_ms = parser_ms });
	pthread_join(s.thread, NULL);
	close(s.fd);
	return code;
}

static void a_servers_answer_has_a_maximum(void **state)
{
	(void)state;
	assert_int_equal(ask(0, false, 0), TH_OK);
	assert_int_equal(marks->list[0].source, TH_MARK_PARSER);
	assert_int_equal(ask(TH_HTTP_BODY_MAX, false, 0), TH_OK);
	assert_int_equal(marks->count, 1);
	assert_int_equal(marks->list[0].box.x, 25);
	assert_int_not_equal(ask(TH_HTTP_BODY_MAX + 1, false, 0), TH_OK);
	assert_non_null(strstr(err.msg, "the answer is larger than 67108864 bytes"));
}

static void a_server_has_so_long(void **state)
{
	(void)state;
	assert_int_equal(ask(0, true, SHORT_MS), TH_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "the parser http://127.0.0.1:"));
}

static int setup(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	strcpy(folder, "/tmp/thole-test-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(program, sizeof(program), "%s/read", folder);
	snprintf(table, sizeof(table), "%s/table", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	marked = th_marked_free(marked);
	return th_dir_remove(folder, NULL);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_program_of_the_users),  TEST(what_is_painted_is_read),
		TEST(canvases_share_one_time), TEST(what_it_says_has_a_maximum),
		TEST(it_has_so_long),          TEST(a_servers_answer_has_a_maximum),
		TEST(a_server_has_so_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
