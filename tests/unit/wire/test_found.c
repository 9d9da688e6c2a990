/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/found.h"

#include "unit.h"

#include "base/json.h"
#include "base/limits.h"

static struct th_err err;
static struct {
	size_t count;
	struct th_rect box;
	struct th_buf all;
} got;

static void on_found(void *ctx, struct th_rect box, struct th_str role, struct th_str name)
{
	(void)ctx;
	got.count++;
	got.box = box;
	th_buf_printf(&got.all, "%.*s %.*s %d,%d,%d,%d\n", TH_FMT(role), TH_FMT(name), box.x, box.y,
		      box.width, box.height);
}

static int setup(void **state)
{
	(void)state;
	got.count = 0;
	th_buf_init(&got.all, 8 * TH_MIB);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	th_buf_deinit(&got.all);
	return 0;
}

#define HEAD                                                   \
	"level\tpage_num\tblock_num\tpar_num\tline_num\tword_" \
	"num\tleft\ttop\twidth\theight\tconf\ttext\n"

static void words_become_lines(void **state)
{
	(void)state;
	th_ocr_read(TH_STR(HEAD "1\t1\t0\t0\t0\t0\t0\t0\t800\t600\t-1\t\n"
				"5\t1\t1\t1\t1\t1\t10\t20\t40\t12\t96.5\tSend\n"
				"5\t1\t1\t1\t1\t2\t55\t21\t50\t12\t95\torder\r\n"
				"5\t1\t1\t1\t1\t3\t300\t20\t60\t12\t90\tCancel\n" /* far away */
				"5\t1\t1\t1\t2\t1\t10\t60\t30\t12\t90\tnext\n"
				"5\t1\t1\t1\t2\t2\t45\t60\t30\t12\t12\tnoise\n"
				"5\t1\t1\t1\t2\t3\t45\t60\t30\t12\t90\t  \n"
				"5\t1\t1\t1\t2\t3\t-5\t60\t30\t12\t90\tminus\n"
				"5\tx\t1\t1\t2\t3\t45\t60\t30\t12\t90\tletters\n"
				"5\t1\t1\n"),
		    on_found, NULL);
	assert_string_equal(got.all.ptr, "text Send order 10,20,95,13\n"
					 "text Cancel 300,20,60,12\n"
					 "text next 10,60,30,12\n");
}

static void no_more_words_than_the_limit(void **state)
{
	struct th_buf tsv = TH_BUF_INIT(8 * TH_MIB);

	(void)state;
	for (size_t i = 0; i < TH_OCR_WORDS_MAX + 1; i++)
		th_buf_printf(&tsv, "5\t1\t1\t1\t%zu\t1\t1\t1\t9\t9\t90\ta\n", i);
	th_ocr_read(th_buf_str(&tsv), on_found, NULL);
	assert_int_equal(got.count, TH_OCR_WORDS_MAX);
	th_buf_deinit(&tsv);
}

static void boxes_of_a_parser(void **state)
{
	(void)state;
	assert_int_equal(
	    th_parser_read(
		TH_STR("{\"som_image_base64\":\"\",\"parsed_content_list\":["
		       "{\"type\":\"text\",\"bbox\":[0.1,0.2,0.3,0.25],\"interactivity\":false,"
		       "\"content\":\"File\"},"
		       "{\"type\":\"icon\",\"bbox\":[0,0,1,1],\"content\":null},"
		       "{\"type\":\"icon\",\"bbox\":[0.5,0.5,0.4,0.6],\"content\":\"inside out\"},"
		       "{\"type\":\"icon\",\"bbox\":[0.5,0.5,1.4,0.6],\"content\":\"outside\"},"
		       "{\"type\":\"icon\",\"bbox\":[0.5,0.5,1],\"content\":\"three\"},"
		       "{\"type\":\"icon\",\"bbox\":\"no\"},7,null],\"latency\":0.1}"),
		(struct th_size){ 1000, 500 }, on_found, NULL, &err),
	    TH_OK);
	assert_string_equal(got.all.ptr, "text File 100,100,200,25\nicon  0,0,1000,500\n");
	assert_int_equal(th_parser_read(TH_STR("{\"detail\":\"busy\"}"), (struct th_size){ 9, 9 },
					on_found, NULL, &err),
			 TH_EPROTO);
	assert_non_null(strstr(err.msg, "parsed_content_list"));
	assert_int_equal(
	    th_parser_read(TH_STR("<html>"), (struct th_size){ 9, 9 }, on_found, NULL, &err),
	    TH_EPROTO);
}

static void no_more_boxes_than_the_limit(void **state)
{
	struct th_buf answer = TH_BUF_INIT(8 * TH_MIB);

	(void)state;
	th_buf_add_cstr(&answer, "{\"parsed_content_list\":[");
	for (size_t i = 0; i < TH_PARSER_ITEMS_MAX + 1; i++)
		th_buf_printf(&answer, "%s{\"bbox\":[0,0,1,1]}", i ? "," : "");
	th_buf_add_cstr(&answer, "]}");
	assert_int_equal(
	    th_parser_read(th_buf_str(&answer), (struct th_size){ 9, 9 }, on_found, NULL, &err),
	    TH_OK);
	assert_int_equal(got.count, TH_PARSER_ITEMS_MAX);
	th_buf_deinit(&answer);
}

static void a_request_for_a_parser(void **state)
{
	struct th_buf out = TH_BUF_INIT(TH_KIB);

	(void)state;
	th_parser_request(TH_STR("\x89PNG"), &out);
	assert_string_equal(out.ptr, "{\"base64_image\":\"iVBORw==\"}");
	th_buf_deinit(&out);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(words_become_lines),     TEST(no_more_words_than_the_limit),
		TEST(boxes_of_a_parser),      TEST(no_more_boxes_than_the_limit),
		TEST(a_request_for_a_parser),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
