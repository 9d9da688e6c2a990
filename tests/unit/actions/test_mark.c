/* SPDX-License-Identifier: Apache-2.0 */
#include "actions/mark.h"

#include "unit.h"

#include "base/text.h"

#define SCREEN ((struct th_size){ 1000, 800 })

static struct th_marks m, before;

static void add(enum th_mark_source source, int x, int y, int w, int h, const char *role,
		const char *name)
{
	th_marks_add(&m, SCREEN, source, (struct th_rect){ x, y, w, h }, th_str_of(role),
		     th_str_of(name));
}

static int setup(void **state)
{
	(void)state;
	memset(&m, 0, sizeof(m));
	memset(&before, 0, sizeof(before));
	return 0;
}

static void what_is_added(void **state)
{
	(void)state;
	add(TH_MARK_TREE, 990, 790, 100, 100, "button", "cut at the edge");
	assert_int_equal(m.list[0].box.width, 10);
	add(TH_MARK_TREE, -50, 10, 40, 10, "button", "left of it");
	add(TH_MARK_TREE, 1000, 10, 40, 10, "button", "right of it");
	add(TH_MARK_TREE, 5, 5, 3, 20, "button", "too thin");
	add(TH_MARK_TREE, 5, 5, 0, -1, "button", "nothing");
	add(TH_MARK_TREE, INT32_MAX, 5, INT32_MAX, 10, "button", "beyond numbers");
	add(TH_MARK_TREE, INT32_MIN, 5, INT32_MAX, 10, "button", "beyond numbers");
	add(TH_MARK_TREE, 0, 0, 1000, 800, "window", "all of it");
	assert_int_equal(m.count, 1);
	add(TH_MARK_TREE, 5, 5, 4, 4, "button", "just large enough");
	assert_int_equal(m.count, 2);
}

static void names_are_clean_and_short(void **state)
{
	struct th_buf name = TH_BUF_INIT(TH_KIB), out = TH_BUF_INIT(TH_MIB);

	(void)state;
	for (int i = 0; i < TH_MARK_NAME_MAX; i++)
		th_buf_add_char(&name, 'x');
	add(TH_MARK_TREE, 0, 0, 20, 20, "role", name.ptr);
	assert_int_equal(strlen(m.list[0].name), TH_MARK_NAME_MAX);
	th_buf_add_char(&name, 'x');
	add(TH_MARK_TREE, 100, 0, 20, 20, "a role that is far longer than any role", name.ptr);
	assert_true(strlen(m.list[1].name) <= TH_MARK_NAME_MAX);
	assert_true(strlen(m.list[1].role) <= TH_MARK_ROLE_MAX);
	add(TH_MARK_TREE, 200, 0, 20, 20, "x", "a\x1b[2J\nb\xe2\x80\xae\xff");
	assert_null(strpbrk(m.list[2].name, "\x1b\n"));
	assert_null(strstr(m.list[2].name, "\xe2\x80\xae"));
	assert_int_equal(th_utf8_valid(th_str_of(m.list[2].name)), strlen(m.list[2].name));
	th_marks_text(&m, TH_MARKS_MAX, &out);
	assert_int_equal(th_utf8_valid(th_buf_str(&out)), out.len);
	th_buf_deinit(&name);
	th_buf_deinit(&out);
}

static void seen_twice_is_one(void **state)
{
	(void)state;
	add(TH_MARK_TREE, 100, 100, 80, 30, "button", "Send order");
	add(TH_MARK_OCR, 110, 105, 60, 20, "text", "Send order");
	add(TH_MARK_PARSER, 101, 99, 80, 32, "icon", "");
	assert_int_equal(m.count, 1);
	assert_int_equal(m.list[0].source, TH_MARK_TREE);
	add(TH_MARK_TREE, 300, 100, 40, 30, "button", "");
	add(TH_MARK_OCR, 305, 105, 30, 20, "text", "OK");
	assert_int_equal(m.count, 2);
	assert_string_equal(m.list[1].name, "OK"); /* what had no name has the words on it */
	add(TH_MARK_TREE, 0, 400, 900, 200, "panel", "Messages");
	add(TH_MARK_OCR, 20, 420, 100, 20, "text", "first line");
	assert_int_equal(m.count, 4); /* words on a large thing are things of their own */
	add(TH_MARK_TREE, 300, 100, 40, 15, "button", "next to it, half as high");
	assert_int_equal(m.count, 5);
}

static int32_t number_of(const char *name)
{
	for (size_t i = 0; i < m.count; i++)
		if (!strcmp(m.list[i].name, name))
			return m.list[i].number;
	return 0;
}

static void numbers_stay(void **state)
{
	int32_t last = 0;

	(void)state;
	add(TH_MARK_TREE, 500, 10, 50, 20, "button", "right");
	add(TH_MARK_TREE, 10, 10, 50, 20, "button", "left");
	add(TH_MARK_TREE, 10, 50, 50, 20, "button", "below");
	th_marks_number(&m, NULL, &last, TH_MARK_NUMBER_MAX);
	assert_int_equal(number_of("left"), 1);
	assert_int_equal(number_of("right"), 2);
	assert_int_equal(number_of("below"), 3);
	before = m;
	memset(&m, 0, sizeof(m));
	add(TH_MARK_TREE, 10, 0, 50, 9, "button", "new");
	add(TH_MARK_TREE, 12, 52, 51, 20, "button", "below");
	add(TH_MARK_TREE, 500, 30, 50, 20, "button", "right"); /* moved */
	th_marks_number(&m, &before, &last, TH_MARK_NUMBER_MAX);
	assert_int_equal(number_of("below"), 3);
	assert_int_equal(number_of("new"), 4);
	assert_int_equal(number_of("right"), 5);
}

/* One that has a number keeps it, whatever was there before; others count on behind all of them. */
static void given_numbers_stay(void **state)
{
	int32_t last = 40;
	struct th_mark *mark;

	(void)state;
	add(TH_MARK_TREE, 10, 10, 50, 20, "button", "a");
	th_marks_number(&m, NULL, &last, TH_MARK_NUMBER_MAX);
	assert_int_equal(number_of("a"), 41);
	before = m;
	memset(&m, 0, sizeof(m));
	mark = th_marks_add(&m, SCREEN, TH_MARK_TREE, (struct th_rect){ 10, 10, 50, 20 },
			    TH_STR("button"), TH_STR("a"));
	assert_non_null(mark);
	mark->number = 1000000;
	assert_null(th_marks_add(&m, SCREEN, TH_MARK_OCR, (struct th_rect){ 11, 10, 50, 20 },
				 TH_STR("text"), TH_STR("a")));
	add(TH_MARK_OCR, 10, 50, 50, 20, "text", "b");
	last = 1000000;
	th_marks_number(&m, &before, &last, INT32_MAX);
	assert_int_equal(number_of("a"), 1000000);
	assert_int_equal(number_of("b"), 1000001);
	assert_int_equal(last, 1000001);
}

static void numbers_begin_again(void **state)
{
	int32_t last = TH_MARK_NUMBER_MAX - 1;

	(void)state;
	add(TH_MARK_TREE, 10, 10, 50, 20, "button", "a");
	th_marks_number(&m, NULL, &last, TH_MARK_NUMBER_MAX);
	assert_int_equal(number_of("a"), TH_MARK_NUMBER_MAX);
	before = m;
	add(TH_MARK_TREE, 10, 50, 50, 20, "button", "b");
	th_marks_number(&m, &before, &last, TH_MARK_NUMBER_MAX);
	assert_int_equal(number_of("b"), 1);
	last = TH_MARK_NUMBER_MAX - 1;
	before = m;
	add(TH_MARK_TREE, 10, 90, 50, 20, "button", "c");
	th_marks_number(&m, &before, &last, TH_MARK_NUMBER_MAX);
	assert_int_equal(number_of("c"), 2); /* the last and the first are in use */
}

static void no_more_than_there_is_room_for(void **state)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	int32_t last = 0;

	(void)state;
	for (int i = 0; i < TH_MARKS_MAX; i++)
		add(TH_MARK_OCR, i % 50 * 20, i / 50 * 20, 10, 10, "text", "");
	assert_int_equal(m.count, TH_MARKS_MAX);
	assert_int_equal(m.left_out, 0);
	add(TH_MARK_OCR, 0, 700, 10, 10, "text", "");
	assert_int_equal(m.count, TH_MARKS_MAX);
	assert_int_equal(m.left_out, 1);
	th_marks_number(&m, NULL, &last, TH_MARK_NUMBER_MAX);
	th_marks_text(&m, TH_MARKS_MAX - 1, &out);
	assert_non_null(strstr(out.ptr, "(and 1 more marks)"));
	assert_non_null(strstr(out.ptr, "(1 more have no mark)"));
	th_buf_deinit(&out);
}

static void found_by_number(void **state)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&out);
	struct th_point p = { -1, -1 };
	int32_t last = 0;

	(void)state;
	add(TH_MARK_TREE, 100, 50, 80, 31, "button", "a \"quoted\" name");
	th_marks_number(&m, NULL, &last, TH_MARK_NUMBER_MAX);
	th_marks_print(&m, &w);
	assert_true(th_marks_find(th_buf_str(&out), 1, &p));
	assert_int_equal(p.x, 140);
	assert_int_equal(p.y, 65);
	assert_false(th_marks_find(th_buf_str(&out), 2, &p));
	assert_false(th_marks_find(th_buf_str(&out), 0, &p));
	assert_false(th_marks_find(th_buf_str(&out), -1, &p));
	assert_false(th_marks_find(TH_STR(""), 1, &p));
	assert_false(th_marks_find(TH_STR("{}"), 1, &p));
	assert_false(th_marks_find(TH_STR("[{\"id\":1}]"), 1, &p));
	assert_false(th_marks_find(TH_STR("[{\"id\":1,\"box\":[1,2,3]}]"), 1, &p));
	assert_false(th_marks_find(TH_STR("[{\"id\":1,\"box\":[1,2,3,99999999]}]"), 1, &p));
	th_buf_deinit(&out);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup(fn, setup)
	const struct CMUnitTest tests[] = {
		TEST(what_is_added),
		TEST(names_are_clean_and_short),
		TEST(seen_twice_is_one),
		TEST(numbers_stay),
		TEST(given_numbers_stay),
		TEST(numbers_begin_again),
		TEST(no_more_than_there_is_room_for),
		TEST(found_by_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
