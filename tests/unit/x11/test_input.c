/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input on a real X server, as a program on it receives it.  Nothing here
 * sleeps to let something happen: the recorder says when it has seen all.
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <xcb/xkb.h>

#include "base/text.h"
#include "x11_rig.h"

static struct rig rig;
static struct rig_recorder rec;

enum { PRESS = XCB_KEY_PRESS, RELEASE = XCB_KEY_RELEASE };
enum { DOWN = XCB_BUTTON_PRESS, UP = XCB_BUTTON_RELEASE, MOTION = XCB_MOTION_NOTIFY };

struct want {
	uint8_t type;
	uint32_t what; /* keysym or button; motion: unused */
};

/* What was received, in words, for the failure's sentence. */
static void describe(char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < rec.count && used + 40 < size; i++) {
		const struct rig_record *r = &rec.records[i];

		used += (size_t)snprintf(out + used, size - used, " %d:%x@%d,%d", r->type,
					 r->type <= RELEASE ? r->keysym : r->detail, r->x, r->y);
	}
}

static void expect_events(const char *json, const struct want *want, size_t count)
{
	char got[2000];

	recorder_sync(&rec, &rig);
	describe(got, sizeof(got));
	if (rec.count != count)
		fail_msg("%s: %zu events, not %zu:%s", json, rec.count, count, got);
	for (size_t i = 0; i < count; i++) {
		const struct rig_record *r = &rec.records[i];
		uint32_t what = r->type <= RELEASE ? r->keysym : r->type == MOTION ? 0 : r->detail;

		if (r->type != want[i].type || what != want[i].what)
			fail_msg("%s: event %zu is wrong:%s", json, i, got);
	}
}

/* Acts, then compares what arrived: EXPECT(json, { DOWN, 1 }, { UP, 1 }). */
#define EXPECT(json, ...)                                    \
	do {                                                 \
		const struct want want_[] = { __VA_ARGS__ }; \
		recorder_forget(&rec, &rig);                 \
		rig_ok(&rig, json);                          \
		expect_events(json, want_, TH_COUNT(want_)); \
	} while (0)

#define SHIFT TH_KEYSYM_SHIFT_L
#define CTRL TH_KEYSYM_CONTROL_L
#define ALT TH_KEYSYM_ALT_L

/* ---- pointer ---- */

static void test_click(void **state)
{
	struct th_act_result result;

	(void)state;
	EXPECT("{\"type\":\"click\",\"x\":100,\"y\":200}", { MOTION, 0 }, { DOWN, 1 }, { UP, 1 });
	assert_true(rec.records[1].x == 100 && rec.records[1].y == 200);
	assert_true(rec.records[2].time - rec.records[1].time < 40); /* no pause */
	assert_int_equal(rig_act(&rig, "{\"type\":\"cursor_position\"}", &result), TH_OK);
	assert_true(result.has_at && result.at.x == 100 && result.at.y == 200);
	/* without a point: where the pointer is */
	EXPECT("{\"type\":\"click\",\"button\":\"right\"}", { DOWN, 3 }, { UP, 3 });
	assert_true(rec.records[0].x == 100 && rec.records[0].y == 200);
	EXPECT("{\"type\":\"click\",\"button\":\"middle\"}", { DOWN, 2 }, { UP, 2 });
	EXPECT("{\"type\":\"click\",\"button\":\"back\"}", { DOWN, 8 }, { UP, 8 });
	EXPECT("{\"type\":\"click\",\"button\":\"forward\"}", { DOWN, 9 }, { UP, 9 });
	EXPECT("{\"type\":\"click\",\"x\":300,\"y\":1,\"count\":2}", { MOTION, 0 }, { DOWN, 1 },
	       { UP, 1 }, { DOWN, 1 }, { UP, 1 });
	assert_in_range(rec.records[3].time - rec.records[1].time, 2, 200);
	EXPECT("{\"type\":\"click\",\"x\":300,\"y\":200,\"count\":3}", { MOTION, 0 }, { DOWN, 1 },
	       { UP, 1 }, { DOWN, 1 }, { UP, 1 }, { DOWN, 1 }, { UP, 1 });
	EXPECT("{\"type\":\"click\",\"x\":0,\"y\":0,\"keys\":[\"ctrl\",\"shift\"]}", { MOTION, 0 },
	       { PRESS, CTRL }, { PRESS, SHIFT }, { DOWN, 1 }, { UP, 1 }, { RELEASE, SHIFT },
	       { RELEASE, CTRL });
	assert_int_equal(rec.records[3].state & 0xff, XCB_MOD_MASK_CONTROL | XCB_MOD_MASK_SHIFT);
	EXPECT("{\"type\":\"click\",\"x\":1279,\"y\":799}", { MOTION, 0 }, { DOWN, 1 }, { UP, 1 });
	assert_true(rec.records[1].x == 1279 && rec.records[1].y == 799);
}

/* A click and then a double click at one place are not a triple click. */
static void test_clicks_apart(void **state)
{
	struct rig_record first;

	(void)state;
	recorder_forget(&rec, &rig);
	rig_ok(&rig, "{\"type\":\"click\",\"x\":50,\"y\":50}");
	recorder_sync(&rec, &rig);
	first = rec.records[rec.count - 1];
	recorder_forget(&rec, &rig);
	rig_ok(&rig, "{\"type\":\"click\",\"x\":51,\"y\":50,\"count\":2}");
	recorder_sync(&rec, &rig);
	assert_true(rec.records[rec.count - 4].time - first.time > 400);
	/* elsewhere, or with another button, nothing has to wait */
	int64_t start_us = th_x11_now_us();
	rig_ok(&rig, "{\"type\":\"click\",\"x\":400,\"y\":50,\"count\":2}");
	rig_ok(&rig, "{\"type\":\"click\",\"x\":400,\"y\":50,\"count\":2,\"button\":\"right\"}");
	rig_ok(&rig, "{\"type\":\"click\",\"x\":600,\"y\":50}");
	rig_ok(&rig, "{\"type\":\"click\",\"x\":600,\"y\":50}");
	assert_true(th_x11_now_us() - start_us < 400000);
}

static void test_move_press_release(void **state)
{
	(void)state;
	EXPECT("{\"type\":\"move\",\"x\":10,\"y\":20}", { MOTION, 0 });
	EXPECT("{\"type\":\"mouse_down\"}", { DOWN, 1 });
	EXPECT("{\"type\":\"move\",\"x\":30,\"y\":40}", { MOTION, 0 });
	assert_true(rec.records[0].state & XCB_BUTTON_MASK_1);
	EXPECT("{\"type\":\"mouse_up\",\"x\":50,\"y\":60}", { MOTION, 0 }, { UP, 1 });
	assert_true(rec.records[1].x == 50 && rec.records[1].y == 60);
	EXPECT("{\"type\":\"move\",\"x\":1,\"y\":2,\"keys\":[\"alt\"]}", { PRESS, ALT },
	       { MOTION, 0 }, { RELEASE, ALT });
}

static void test_off_screen(void **state)
{
	static const char *const outside[] = {
		"{\"type\":\"click\",\"x\":1280,\"y\":0}",
		"{\"type\":\"click\",\"x\":-1,\"y\":0,\"keys\":[\"shift\"]}",
		"{\"type\":\"drag\",\"path\":[{\"x\":1,\"y\":1},{\"x\":5000,\"y\":20}]}",
		"{\"type\":\"scroll\",\"x\":0,\"y\":800,\"dy\":1}",
		"{\"type\":\"type\",\"text\":\"x\"}", /* see below: with a point outside */
		"{\"type\":\"click\",\"keys\":[\"nokey\"]}",
	};
	struct th_act_result result;

	(void)state;
	recorder_forget(&rec, &rig);
	for (size_t i = 0; i < TH_COUNT(outside); i++) {
		if (strstr(outside[i], "\"type\",\"text\""))
			continue;
		assert_int_equal(rig_act(&rig, outside[i], &result), TH_EUSAGE);
		assert_false(result.started);
	}
	assert_int_equal(
	    rig_act(&rig, "{\"type\":\"type\",\"text\":\"x\",\"x\":2000,\"y\":1}", &result),
	    TH_EUSAGE);
	assert_non_null(strstr(rig.err.msg, "x must be 0 to 1279 and y 0 to 799"));
	recorder_sync(&rec, &rig);
	assert_int_equal(rec.count, 0); /* nothing moved */
}

static size_t count_type(uint8_t type)
{
	size_t count = 0;

	for (size_t i = 0; i < rec.count; i++)
		count += rec.records[i].type == type;
	return count;
}

static void test_drag(void **state)
{
	int64_t start_us, passed_ms;
	size_t n;

	(void)state;
	recorder_forget(&rec, &rig);
	start_us = th_x11_now_us();
	rig_ok(&rig, "{\"type\":\"drag\",\"path\":[{\"x\":10,\"y\":10},{\"x\":210,\"y\":10},"
		     "{\"x\":210,\"y\":110}],\"duration_ms\":200,\"keys\":[\"shift\"]}");
	passed_ms = (th_x11_now_us() - start_us) / 1000;
	assert_in_range(passed_ms, 195, 2000);
	recorder_sync(&rec, &rig);
	n = rec.count;
	assert_true(n > 20);
	assert_true(rec.records[0].type == MOTION && rec.records[0].x == 10 &&
		    rec.records[0].y == 10);
	assert_true(rec.records[1].type == PRESS && rec.records[2].type == DOWN);
	assert_true(rec.records[n - 2].type == UP && rec.records[n - 1].type == RELEASE);
	assert_true(rec.records[n - 2].x == 210 && rec.records[n - 2].y == 110);
	bool corner = false;
	int16_t x = 10, y = 10;
	for (size_t i = 3; i < n - 2; i++) { /* along the lines, forward, with the button held */
		const struct rig_record *r = &rec.records[i];

		assert_int_equal(r->type, MOTION);
		assert_true(r->state & XCB_BUTTON_MASK_1 && r->state & XCB_MOD_MASK_SHIFT);
		assert_true(r->x >= x && r->y >= y && (r->y == 10 || r->x == 210));
		corner |= r->x == 210 && r->y == 10;
		x = r->x;
		y = r->y;
	}
	assert_true(corner);
	/* the pointer rests at the end before the button is released */
	assert_in_range(rec.records[n - 2].time - rec.records[n - 3].time, 30, 1000);

	/* even the fastest drag moves several times, and no further than it must */
	recorder_forget(&rec, &rig);
	rig_ok(&rig, "{\"type\":\"drag\",\"path\":[{\"x\":10,\"y\":10},{\"x\":500,\"y\":300}],"
		     "\"duration_ms\":1,\"button\":\"right\"}");
	recorder_sync(&rec, &rig);
	assert_in_range(count_type(MOTION), 10, 20);
	recorder_forget(&rec, &rig);
	rig_ok(&rig, "{\"type\":\"drag\",\"path\":[{\"x\":10,\"y\":10},{\"x\":13,\"y\":10}],"
		     "\"duration_ms\":1}");
	recorder_sync(&rec, &rig);
	assert_int_equal(count_type(MOTION), 4);
	/* a path that goes nowhere is a press and a release */
	recorder_forget(&rec, &rig);
	rig_ok(&rig, "{\"type\":\"drag\",\"path\":[{\"x\":13,\"y\":10},{\"x\":13,\"y\":10}],"
		     "\"duration_ms\":1}");
	recorder_sync(&rec, &rig);
	assert_true(count_type(DOWN) == 1 && count_type(UP) == 1);
}

static void expect_wheel(const char *json, uint8_t button, size_t count)
{
	recorder_forget(&rec, &rig);
	rig_ok(&rig, json);
	recorder_sync(&rec, &rig);
	if (count_type(DOWN) != count || count_type(UP) != count)
		fail_msg("%s: %zu notches, not %zu", json, count_type(DOWN), count);
	for (size_t i = 0; i < rec.count; i++) {
		if (rec.records[i].type == DOWN)
			assert_int_equal(rec.records[i].detail, button);
	}
}

static void test_scroll(void **state)
{
	(void)state;
	expect_wheel("{\"type\":\"scroll\",\"x\":640,\"y\":400,\"dy\":3}", 5, 3);
	assert_int_equal(rec.records[0].type, MOTION);
	assert_true(rec.records[1].x == 640 && rec.records[1].y == 400);
	expect_wheel("{\"type\":\"scroll\",\"dy\":-2}", 4, 2);
	expect_wheel("{\"type\":\"scroll\",\"dx\":1}", 7, 1);
	expect_wheel("{\"type\":\"scroll\",\"dx\":-4}", 6, 4);
	expect_wheel("{\"type\":\"scroll\",\"dy\":1500}", 5, 1500);
	recorder_forget(&rec, &rig);
	rig_ok(&rig, "{\"type\":\"scroll\",\"dx\":1,\"dy\":1,\"keys\":[\"ctrl\"]}");
	recorder_sync(&rec, &rig);
	assert_int_equal(rec.count, 6);
	assert_true(rec.records[1].state & XCB_MOD_MASK_CONTROL);
}

static void test_scroll_pixels(void **state)
{
	(void)state;
	/* 120 pixels are a notch; what is left over counts in the same direction */
	expect_wheel("{\"type\":\"scroll\",\"dy\":120,\"unit\":\"pixel\"}", 5, 1);
	expect_wheel("{\"type\":\"scroll\",\"dy\":1200,\"unit\":\"pixel\"}", 5, 10);
	expect_wheel("{\"type\":\"scroll\",\"dy\":-10000,\"unit\":\"pixel\"}", 4, 83);
	/* three times 170 are 510: 4.25 notches */
	expect_wheel("{\"type\":\"scroll\",\"dx\":170,\"unit\":\"pixel\"}", 7, 1);
	expect_wheel("{\"type\":\"scroll\",\"dx\":170,\"unit\":\"pixel\"}", 7, 2);
	expect_wheel("{\"type\":\"scroll\",\"dx\":170,\"unit\":\"pixel\"}", 7, 1);
	/* never nothing, and never more than it should be for long */
	expect_wheel("{\"type\":\"scroll\",\"dy\":1,\"unit\":\"pixel\"}", 5, 1);
	expect_wheel("{\"type\":\"scroll\",\"dy\":1,\"unit\":\"pixel\"}", 5, 1);
	expect_wheel("{\"type\":\"scroll\",\"dy\":240,\"unit\":\"pixel\"}", 5, 2);
	/* the other way starts anew */
	expect_wheel("{\"type\":\"scroll\",\"dy\":-240,\"unit\":\"pixel\"}", 4, 2);
}

/* The mapping of a left-handed person: programs see what the action says. */
static void test_left_handed(void **state)
{
	uint8_t map[32], count;
	xcb_get_pointer_mapping_reply_t *now =
	    xcb_get_pointer_mapping_reply(rec.conn, xcb_get_pointer_mapping(rec.conn), NULL);

	(void)state;
	count = now->map_len;
	memcpy(map, xcb_get_pointer_mapping_map(now), count);
	free(now);
	map[0] = 3;
	map[2] = 1;
	free(xcb_set_pointer_mapping_reply(rec.conn, xcb_set_pointer_mapping(rec.conn, count, map),
					   NULL));
	assert_int_equal(th_x11_sync(&rig.x, &rig.err), TH_OK);
	EXPECT("{\"type\":\"click\"}", { DOWN, 1 }, { UP, 1 });
	EXPECT("{\"type\":\"click\",\"button\":\"right\"}", { DOWN, 3 }, { UP, 3 });
	map[0] = 1;
	map[2] = 3;
	free(xcb_set_pointer_mapping_reply(rec.conn, xcb_set_pointer_mapping(rec.conn, count, map),
					   NULL));
	assert_int_equal(th_x11_sync(&rig.x, &rig.err), TH_OK);
	EXPECT("{\"type\":\"click\"}", { DOWN, 1 }, { UP, 1 });
}

static int compare_int64(const void *a, const void *b)
{
	const int64_t *p = a, *q = b;

	return *p < *q ? -1 : *p > *q;
}

/* The issue allows 0.5 ms for an injected click; slow builds get more. */
static void test_click_is_fast(void **state)
{
	int64_t took[201];

	(void)state;
	for (size_t i = 0; i < TH_COUNT(took); i++) {
		char json[80];
		int64_t start_us = th_x11_now_us();

		snprintf(json, sizeof(json), "{\"type\":\"click\",\"x\":%zu,\"y\":300}", 100 + i);
		rig_ok(&rig, json);
		took[i] = th_x11_now_us() - start_us;
	}
	qsort(took, TH_COUNT(took), sizeof(*took), compare_int64);
	print_message("click: median %lld us, 99%% %lld us\n", (long long)took[100],
		      (long long)took[198]);
	assert_true(took[100] < 5000);
}

/* ---- keys ---- */

static void test_chords(void **state)
{
	(void)state;
	EXPECT("{\"type\":\"key\",\"keys\":[\"a\"]}", { PRESS, 'a' }, { RELEASE, 'a' });
	EXPECT("{\"type\":\"key\",\"keys\":[\"CTRL\",\"A\"]}", { PRESS, CTRL }, { PRESS, 'a' },
	       { RELEASE, 'a' }, { RELEASE, CTRL });
	assert_int_equal(rec.records[1].state & 0xff, XCB_MOD_MASK_CONTROL);
	EXPECT("{\"type\":\"key\",\"keys\":[\"ctrl+shift+Tab\"]}", { PRESS, CTRL },
	       { PRESS, SHIFT }, { PRESS, 0xfe20 }, { RELEASE, 0xfe20 }, { RELEASE, SHIFT },
	       { RELEASE, CTRL });
	/* a key that needs Shift gets it */
	EXPECT("{\"type\":\"key\",\"keys\":[\"ctrl\",\"+\"]}", { PRESS, CTRL }, { PRESS, SHIFT },
	       { PRESS, '+' }, { RELEASE, '+' }, { RELEASE, SHIFT }, { RELEASE, CTRL });
	EXPECT("{\"type\":\"key\",\"keys\":[\"A\"]}", { PRESS, SHIFT }, { PRESS, 'A' },
	       { RELEASE, 'A' }, { RELEASE, SHIFT });
	/* several presses: the modifiers stay down */
	EXPECT("{\"type\":\"key\",\"keys\":[\"alt\",\"Tab\"],\"count\":3}", { PRESS, ALT },
	       { PRESS, 0xff09 }, { RELEASE, 0xff09 }, { PRESS, 0xff09 }, { RELEASE, 0xff09 },
	       { PRESS, 0xff09 }, { RELEASE, 0xff09 }, { RELEASE, ALT });
	EXPECT("{\"type\":\"key\",\"keys\":[\"super\"],\"count\":2}", { PRESS, 0xffeb },
	       { RELEASE, 0xffeb }, { PRESS, 0xffeb }, { RELEASE, 0xffeb });
	EXPECT("{\"type\":\"key\",\"keys\":[\"F5\"]}", { PRESS, 0xffc2 }, { RELEASE, 0xffc2 });
	EXPECT("{\"type\":\"key\",\"keys\":[\"pgdn\"]}", { PRESS, 0xff56 }, { RELEASE, 0xff56 });
	/* keypad: NumLock, not Shift, makes the digit */
	recorder_forget(&rec, &rig);
	rig_ok(&rig, "{\"type\":\"key\",\"keys\":[\"num7\"]}");
	recorder_sync(&rec, &rig);
	assert_int_equal(rec.count, 2);
	assert_int_equal(rec.records[0].detail, 79);
	/* one that the layout has nowhere */
	EXPECT("{\"type\":\"key\",\"keys\":[\"ctrl\",\"é\"]}", { PRESS, CTRL }, { PRESS, 0xe9 },
	       { RELEASE, 0xe9 }, { RELEASE, CTRL });
	EXPECT("{\"type\":\"key\",\"keys\":[\"F30\"]}", { PRESS, 0xffdb }, { RELEASE, 0xffdb });
}

static void test_down_up_hold(void **state)
{
	struct th_act_result result;

	(void)state;
	EXPECT("{\"type\":\"key_down\",\"keys\":[\"shift\"]}", { PRESS, SHIFT });
	EXPECT("{\"type\":\"click\",\"button\":\"left\"}", { DOWN, 1 }, { UP, 1 });
	assert_true(rec.records[0].state & XCB_MOD_MASK_SHIFT);
	/* a chord with the held key neither presses nor releases it */
	EXPECT("{\"type\":\"key\",\"keys\":[\"shift\",\"b\"]}", { PRESS, 'B' }, { RELEASE, 'B' });
	EXPECT("{\"type\":\"key_up\",\"keys\":[\"shift\"]}", { RELEASE, SHIFT });
	int64_t start_us = th_x11_now_us();
	EXPECT("{\"type\":\"hold_key\",\"keys\":[\"ctrl\",\"x\"],\"duration_ms\":120}",
	       { PRESS, CTRL }, { PRESS, 'x' }, { RELEASE, 'x' }, { RELEASE, CTRL });
	assert_in_range((th_x11_now_us() - start_us) / 1000, 120, 5000);
	assert_in_range(rec.records[2].time - rec.records[1].time, 115, 5000);
	/* what is left behind is let go by reset, and counted */
	rig_ok(&rig, "{\"type\":\"key_down\",\"keys\":[\"ctrl\",\"q\"]}");
	rig_ok(&rig, "{\"type\":\"mouse_down\",\"button\":\"middle\"}");
	rig_ok(&rig, "{\"type\":\"mouse_down\",\"button\":\"back\"}");
	recorder_forget(&rec, &rig);
	assert_int_equal(th_x11_input_reset(&rig.x, &result, &rig.err), TH_OK);
	assert_int_equal(result.keys_released, 4);
	recorder_sync(&rec, &rig);
	assert_int_equal(rec.count, 4);
	assert_true(count_type(RELEASE) == 2 && count_type(UP) == 2);
	assert_int_equal(th_x11_input_reset(&rig.x, &result, &rig.err), TH_OK);
	assert_int_equal(result.keys_released, 0);
}

static void interrupt(bool on)
{
	char c = 'x';

	assert_int_equal(on ? write(rig.interrupt[1], &c, 1) : read(rig.interrupt[0], &c, 1), 1);
}

/* Interrupted in the middle, everything is let go. */
static void test_interrupted(void **state)
{
	struct th_act_result result;

	(void)state;
	recorder_forget(&rec, &rig);
	interrupt(true);
	assert_int_equal(rig_act(&rig,
				 "{\"type\":\"hold_key\",\"keys\":[\"ctrl\",\"x\"],"
				 "\"duration_ms\":60000}",
				 &result),
			 TH_ECANCELED);
	assert_int_equal(
	    rig_act(&rig,
		    "{\"type\":\"drag\",\"path\":[{\"x\":1,\"y\":1},{\"x\":9,\"y\":900}],"
		    "\"duration_ms\":60000}",
		    &result),
	    TH_EUSAGE);
	assert_int_equal(
	    rig_act(&rig,
		    "{\"type\":\"drag\",\"path\":[{\"x\":1,\"y\":1},{\"x\":9,\"y\":700}],"
		    "\"duration_ms\":60000,\"keys\":[\"alt\"]}",
		    &result),
	    TH_ECANCELED);
	assert_non_null(strstr(rig.err.msg, "button released"));
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	for (int i = 0; i < 1000; i++)
		th_buf_add_cstr(&text, "Hello");
	assert_int_equal(rig_type(&rig, text.ptr), TH_ECANCELED);
	assert_non_null(strstr(rig.err.msg, "64 of 5000 characters were typed"));
	th_buf_deinit(&text);
	interrupt(false);
	assert_int_equal(th_x11_input_reset(&rig.x, &result, &rig.err), TH_OK);
	assert_int_equal(result.keys_released, 0);
}

/* ---- locks ---- */

static void set_locks(uint8_t locks)
{
	xcb_xkb_latch_lock_state(rig.x.conn, XCB_XKB_ID_USE_CORE_KBD, 0x12, locks, 0, 0, 0, 0, 0);
	assert_int_equal(th_x11_sync(&rig.x, &rig.err), TH_OK);
}

static uint8_t get_locks(void)
{
	void *reply = NULL;
	uint8_t locks;

	assert_int_equal(
	    th_x11_reply(&rig.x, xcb_xkb_get_state(rig.x.conn, XCB_XKB_ID_USE_CORE_KBD).sequence,
			 &reply, &rig.err),
	    TH_OK);
	locks = ((xcb_xkb_get_state_reply_t *)reply)->lockedMods;
	free(reply);
	return locks;
}

static void expect_text(const char *text)
{
	char *got;

	recorder_forget(&rec, &rig);
	if (rig_type(&rig, text) != TH_OK)
		fail_msg("%.60s: %s", text, rig.err.msg);
	recorder_sync(&rec, &rig);
	got = recorder_text(&rec);
	assert_string_equal(got, text);
	free(got);
}

static void test_locks(void **state)
{
	const uint8_t caps = 2, num = 16;

	(void)state;
	set_locks(caps | num);
	expect_text("Mixed Case 123");
	for (size_t i = 0; i < rec.count; i++)
		assert_false(rec.records[i].state & (caps | num));
	assert_int_equal(get_locks(), caps | num); /* as before */
	recorder_forget(&rec, &rig);
	rig_ok(&rig, "{\"type\":\"key\",\"keys\":[\"ctrl\",\"c\"]}");
	recorder_sync(&rec, &rig);
	assert_int_equal(rec.records[1].state & 0xff, XCB_MOD_MASK_CONTROL);
	assert_int_equal(get_locks(), caps | num);
	set_locks(0);
	/* the lock key itself works as for a person */
	rig_ok(&rig, "{\"type\":\"key\",\"keys\":[\"Caps_Lock\"]}");
	assert_int_equal(get_locks(), caps);
	rig_ok(&rig, "{\"type\":\"key\",\"keys\":[\"capslock\"]}");
	assert_int_equal(get_locks(), 0);
}

/* ---- text ---- */

static const char ascii[] = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
			    "abcdefghijklmnopqrstuvwxyz{|}~\t\n";
static const char mixed[] = "Zażółć gęślą jaźń. Ünïcødé ñ ß ÿ Ÿ. Привет, Мир! Δοκιμή. "
			    "日本語テキスト 中文文字 한국어. \xf0\x9f\x98\x80\xf0\x9f\x9a\x80 "
			    "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb €½²™…\n";

static void test_text(void **state)
{
	struct th_act_result result;
	char *got;

	(void)state;
	expect_text(ascii);
	expect_text(mixed);
	expect_text("дДдД ßẞ ǆǅǄ ſ İı"); /* cases that the server would like to pair */
	expect_text("llllll 中中中 a中a中");
	/* \r\n is one Return */
	recorder_forget(&rec, &rig);
	assert_int_equal(rig_type(&rig, "a\r\nb\rc\n"), TH_OK);
	recorder_sync(&rec, &rig);
	got = recorder_text(&rec);
	assert_string_equal(got, "a\nb\nc\n");
	free(got);
	/* clear, enter */
	EXPECT("{\"type\":\"type\",\"text\":\"z\",\"clear\":true,\"enter\":true}", { PRESS, CTRL },
	       { PRESS, 'a' }, { RELEASE, 'a' }, { RELEASE, CTRL }, { PRESS, 0xffff },
	       { RELEASE, 0xffff }, { PRESS, 'z' }, { RELEASE, 'z' }, { PRESS, 0xff0d },
	       { RELEASE, 0xff0d });
	/* nothing is left down */
	assert_int_equal(th_x11_input_reset(&rig.x, &result, &rig.err), TH_OK);
	assert_int_equal(result.keys_released, 0);
}

/* `count` different CJK characters, several times, in another order each time. */
static char *many_characters(size_t count, size_t rounds)
{
	struct th_buf b = TH_BUF_INIT(TH_MIB);
	size_t len;

	for (size_t r = 0; r < rounds; r++) {
		for (size_t i = 0; i < count; i++)
			th_utf8_add(&b, 0x4e00 + (uint32_t)(i * (7 + 6 * r) % count));
		th_buf_add_cstr(&b, "\n");
	}
	return th_buf_steal(&b, &len);
}

static void focus_back(void)
{
	xcb_set_input_focus(rig.x.conn, XCB_INPUT_FOCUS_POINTER_ROOT, rec.window, XCB_CURRENT_TIME);
	assert_int_equal(th_x11_sync(&rig.x, &rig.err), TH_OK);
}

static size_t pool_size(void)
{
	return rig.x.input->keyboard.slot_count;
}

/*
 * More characters than there are unused keycodes, into a program that reads
 * slowly and its keymap late: no character may change under way.
 */
static void test_slow_reader(void **state)
{
	struct rig_recorder slow;
	char *text = many_characters(pool_size() * 3, 2), *got;

	(void)state;
	assert_in_range(pool_size(), 16, 1000);
	recorder_start(&slow, &rig, true, 300);
	assert_int_equal(rig_type(&rig, text), TH_OK);
	recorder_sync(&slow, &rig);
	got = recorder_text(&slow);
	assert_string_equal(got, text);
	free(got);
	free(text);
	recorder_stop(&slow);
	focus_back();
}

/* One that answers no pings is given time instead. */
static void test_silent_reader(void **state)
{
	struct rig_recorder silent;
	char *text = many_characters(pool_size() * 2, 1), *got;

	(void)state;
	recorder_start(&silent, &rig, false, 100);
	assert_int_equal(rig_type(&rig, text), TH_OK);
	recorder_sync(&silent, &rig);
	got = recorder_text(&silent);
	assert_string_equal(got, text);
	free(got);
	free(text);
	recorder_stop(&silent);
	focus_back();
}

/* The focus goes elsewhere: what the first program has not read yet keeps its meaning. */
static void test_two_readers(void **state)
{
	struct rig_recorder slow;
	char *first = many_characters(pool_size() / 2, 1), *second = many_characters(300, 1), *got;

	(void)state;
	recorder_start(&slow, &rig, true, 1000);
	assert_int_equal(rig_type(&rig, first), TH_OK);
	focus_back();
	expect_text(second);
	recorder_sync(&slow, &rig);
	got = recorder_text(&slow);
	assert_string_equal(got, first);
	free(got);
	free(first);
	free(second);
	recorder_stop(&slow);
}

/* A program that hangs: an error that says how far it went, not wrong characters. */
static void test_stuck_reader(void **state)
{
	struct rig_recorder stuck;
	char *text = many_characters(pool_size() * 2, 1);

	(void)state;
	recorder_start(&stuck, &rig, true, 0);
	stuck.stuck = true;
	assert_int_equal(rig_type(&rig, text), TH_EIO);
	assert_non_null(strstr(rig.err.msg, "does not read its keys"));
	assert_non_null(strstr(rig.err.msg, "characters were typed"));
	stuck.stuck = false;
	free(text);
	recorder_stop(&stuck);
	focus_back();
	expect_text("wieder gut: 好");
}

/* A chord takes no slot with Shift, which would make another chord of it. */
static void test_plain_slots(void **state)
{
	char *text;

	(void)state;
	rig_close(&rig);
	rig_open(&rig);
	text = many_characters(pool_size() * 3 / 4, 1);
	expect_text(text);
	free(text);
	EXPECT("{\"type\":\"key\",\"keys\":[\"ctrl\",\"é\"]}", { PRESS, CTRL }, { PRESS, 0xe9 },
	       { RELEASE, 0xe9 }, { RELEASE, CTRL });
}

static void set_layout(const char *layout)
{
	const char *const argv[] = { "setxkbmap", "-layout", layout, "-option", "", NULL };

	assert_int_equal(rig_run(&rig, argv), 0);
}

/* On a display of our own, media keys are unused keycodes too. */
static void test_private_display(void **state)
{
	size_t shared = pool_size();
	struct rig_recorder slow;
	char *text, *got;

	(void)state;
	rig_close(&rig);
	rig.is_private = true;
	rig_open(&rig);
	assert_true(pool_size() >= 2 * shared);
	for (size_t i = 0; i < pool_size(); i++) { /* XF86Back, XF86Reload: see x11/keymap.c */
		assert_int_not_equal(rig.x.input->keyboard.slots[i].stroke.keycode, 166);
		assert_int_not_equal(rig.x.input->keyboard.slots[i].stroke.keycode, 181);
	}
	text = many_characters(pool_size() * 3 / 2, 2);
	recorder_start(&slow, &rig, true, 100);
	assert_int_equal(rig_type(&rig, text), TH_OK);
	recorder_sync(&slow, &rig);
	got = recorder_text(&slow);
	assert_string_equal(got, text);
	free(got);
	free(text);
	recorder_stop(&slow);
	focus_back();
	/* and can be pressed all the same */
	EXPECT("{\"type\":\"key\",\"keys\":[\"volumemute\"]}", { PRESS, 0x1008ff12 },
	       { RELEASE, 0x1008ff12 });
	rig_close(&rig);
	rig.is_private = false;
	set_layout("us"); /* what such a display has no need of: the keycodes as they were */
	rig_open(&rig);
	assert_int_equal(pool_size(), shared);
}

/* Somebody changes one key, as xmodmap does. */
static void change_key(uint8_t keycode, xcb_keysym_t plain, xcb_keysym_t shifted)
{
	xcb_keysym_t pair[2] = { plain, shifted };

	xcb_change_keyboard_mapping(rec.conn, 1, keycode, 2, pair);
	free(xcb_get_input_focus_reply(rec.conn, xcb_get_input_focus(rec.conn), NULL));
	assert_int_equal(th_x11_sync(&rig.x, &rig.err), TH_OK);
}

static void test_changed_key(void **state)
{
	const uint8_t key_of_q = 24;

	(void)state;
	expect_text("quit");
	change_key(key_of_q, 0x010020ac, 0x010020ac);
	expect_text("quit €");
	assert_int_equal(rec.records[rec.count - 1].detail, key_of_q);
	change_key(key_of_q, 'q', 'Q');
	expect_text("Quit €");
}

static void test_long_text(void **state)
{
	struct th_buf b = TH_BUF_INIT(TH_MIB);

	(void)state;
	while (b.len + 64 < TH_TYPE_TEXT_MAX)
		th_buf_add_cstr(&b, "The Quick (brown) fox; 速い茶色のキツネ.\n");
	expect_text(b.ptr);
	th_buf_deinit(&b);
}

/* ---- other layouts ---- */

static void test_layouts(void **state)
{
	static const char *const layouts[] = { "de",       "fr", "ru", "gr", "us,ru",
					       "us(intl)", "jp", "tr", "cz", "us(dvorak)" };

	(void)state;
	if (!rig_has("setxkbmap"))
		skip();
	for (size_t i = 0; i < TH_COUNT(layouts); i++) {
		set_layout(layouts[i]);
		assert_int_equal(th_x11_sync(&rig.x, &rig.err), TH_OK);
		expect_text(ascii);
		expect_text("äöüß @€{[]}\\ éèàç Привет Мир ΑΒΓ αβγ ñ ı İ 中😀");
		recorder_forget(&rec, &rig);
		rig_ok(&rig, "{\"type\":\"key\",\"keys\":[\"ctrl\",\"z\"]}");
		recorder_sync(&rec, &rig);
		assert_int_equal(rec.count, 4); /* and no Shift, on any of them */
		assert_int_equal(rec.records[1].keysym, 'z');
		assert_int_equal(rec.records[1].state & 0xff, XCB_MOD_MASK_CONTROL);
	}
	set_layout("de"); /* AltGr, not a spare keycode */
	recorder_forget(&rec, &rig);
	assert_int_equal(rig_type(&rig, "@"), TH_OK);
	recorder_sync(&rec, &rig);
	assert_int_equal(rec.count, 4);
	assert_int_equal(rec.records[0].keysym, TH_KEYSYM_LEVEL3_SHIFT);
	assert_int_equal(rec.records[1].detail, 24);
	set_layout("us,ru");
	expect_text("first group");
	/* the second group, as a person would have switched it on */
	xcb_xkb_latch_lock_state(rig.x.conn, XCB_XKB_ID_USE_CORE_KBD, 0, 0, 1, 1, 0, 0, 0);
	assert_int_equal(th_x11_sync(&rig.x, &rig.err), TH_OK);
	recorder_forget(&rec, &rig);
	assert_int_equal(rig_type(&rig, "ф"), TH_OK);
	recorder_sync(&rec, &rig);
	assert_int_equal(rec.records[0].detail, 38); /* the key of "a" */
	xcb_xkb_latch_lock_state(rig.x.conn, XCB_XKB_ID_USE_CORE_KBD, 0, 0, 1, 0, 0, 0, 0);
	set_layout("us");
	expect_text(ascii);
}

/* ---- the keycodes are given back ---- */

/* Symbols on all keycodes, to see whether the display is as we found it. */
static uint64_t keymap_hash(void)
{
	const xcb_setup_t *setup = xcb_get_setup(rec.conn);
	xcb_get_keyboard_mapping_reply_t *r = xcb_get_keyboard_mapping_reply(
	    rec.conn,
	    xcb_get_keyboard_mapping(rec.conn, setup->min_keycode,
				     (uint8_t)(setup->max_keycode - setup->min_keycode + 1)),
	    NULL);
	const xcb_keysym_t *syms = xcb_get_keyboard_mapping_keysyms(r);
	unsigned per = r->keysyms_per_keycode;
	uint64_t hash = 14695981039346656037u;

	for (unsigned i = 0; i < r->length; i++) {
		if (syms[i]) /* the columns may have become more */
			hash = (hash ^ syms[i] ^ (uint64_t)(i / per) << 32) * 1099511628211u;
	}
	free(r);
	return hash;
}

static void test_given_back(void **state)
{
	uint64_t before;

	(void)state;
	rig_close(&rig);
	rig_open(&rig);
	before = keymap_hash();
	expect_text("Д"); /* alone on its key: the server would make д and Д of it */
	expect_text(mixed);
	assert_true(keymap_hash() != before);
	rig_close(&rig);
	assert_true(keymap_hash() == before);
	rig_open(&rig);
}

/* A runtime that was killed gave nothing back: the next one takes its keycodes over. */
static void test_inherited(void **state)
{
	uint64_t before;
	size_t size;
	char *text;

	(void)state;
	rig_close(&rig);
	before = keymap_hash();
	rig_open(&rig);
	size = pool_size();
	text = many_characters(size, 1);
	expect_text(text);
	rig.x.lost = true; /* as kill -9: no farewell */
	rig_close(&rig);
	assert_true(keymap_hash() != before);
	do { /* until the server has seen the end of the first one */
		rig_open(&rig);
		if (pool_size() == size)
			break;
		rig_close(&rig);
	} while (true);
	rig_close(&rig); /* it gives back what it has not even used */
	assert_true(keymap_hash() == before);
	rig_open(&rig);
	expect_text(text);
	free(text);
}

/* Two runtimes on one display keep off each other's keycodes. */
static void test_two_runtimes(void **state)
{
	struct rig other = rig;
	struct th_act_result result = {};
	struct th_action action = { .kind = TH_ACTION_TYPE, .text = TH_STR("犬") };

	(void)state;
	expect_text("猫");
	rig_open(&other);
	action.text = TH_STR("é");
	recorder_forget(&rec, &rig);
	enum th_code code = th_x11_input_act(&other.x, &action, &result, &other.err);
	assert_int_equal(code, TH_EUNSUPPORTED); /* the first one has them all */
	assert_non_null(strstr(other.err.msg, "no unused keycode"));
	rig_close(&other);
	expect_text("猫犬");
}

/* ---- the display fails ---- */

static void test_frozen_and_dead(void **state)
{
	struct rig own;
	struct th_act_result result;
	int64_t start_us;

	(void)state;
	rig_start(&own);
	kill(own.server, SIGSTOP);
	start_us = th_x11_now_us();
	assert_int_equal(rig_act(&own, "{\"type\":\"click\",\"x\":1,\"y\":1}", &result),
			 TH_ETIMEOUT);
	assert_true(th_x11_now_us() - start_us < 5000000);
	assert_int_equal(rig_type(&own, "text"), TH_ETIMEOUT);
	kill(own.server, SIGCONT);
	assert_int_equal(rig_act(&own, "{\"type\":\"cursor_position\"}", &result), TH_OK);
	kill(own.server, SIGKILL);
	assert_int_equal(rig_act(&own, "{\"type\":\"click\",\"x\":1,\"y\":1}", &result), TH_ECONN);
	assert_int_equal(rig_type(&own, "中"), TH_ECONN);
	rig_stop(&own);
}

/* A program that has the server to itself, and is not silent. */
struct grabber {
	xcb_connection_t *conn;
	xcb_window_t window; /* somebody else's, who hears of its properties */
	atomic_bool stop;
};

static void *grab(void *ctx)
{
	struct grabber *g = ctx;

	while (!g->stop) {
		xcb_change_property(g->conn, XCB_PROP_MODE_REPLACE, g->window, XCB_ATOM_WM_NAME,
				    XCB_ATOM_STRING, 8, 1, "x");
		free(xcb_get_input_focus_reply(g->conn, xcb_get_input_focus(g->conn), NULL));
		poll(NULL, 0, 1);
	}
	return NULL;
}

/* Events are no reply: one that does not come is given up, and afterwards all is as it was. */
static void test_grabbed(void **state)
{
	struct grabber g = { .conn = xcb_connect(rig.display, NULL), .window = rig.x.window };
	struct th_act_result result;
	pthread_t thread;

	(void)state;
	assert_int_equal(rig.x.reply_total_ms, TH_X11_REPLY_TOTAL_MS);
	rig.x.reply_total_ms = 2 * rig.x.reply_ms;
	xcb_grab_server(g.conn);
	free(xcb_get_input_focus_reply(g.conn, xcb_get_input_focus(g.conn), NULL));
	assert_int_equal(pthread_create(&thread, NULL, grab, &g), 0);
	assert_int_equal(rig_act(&rig, "{\"type\":\"cursor_position\"}", &result), TH_ETIMEOUT);
	assert_non_null(strstr(rig.err.msg, "does not answer"));
	g.stop = true;
	pthread_join(thread, NULL);
	xcb_disconnect(g.conn);
	rig.x.reply_total_ms = TH_X11_REPLY_TOTAL_MS;
	rig_ok(&rig, "{\"type\":\"cursor_position\"}");
}

/* ---- clipboard ---- */

static void expect_clipboard(const char *text, size_t len)
{
	struct th_act_result result;

	if (rig_act(&rig, "{\"type\":\"clipboard_get\"}", &result) != TH_OK)
		fail_msg("%s", rig.err.msg);
	assert_int_equal(result.text.len, len);
	assert_memory_equal(result.text.ptr, text, len);
}

static enum th_code set_clipboard(struct rig *r, struct th_str text)
{
	struct th_action action = { .kind = TH_ACTION_CLIPBOARD_SET, .text = text };
	struct th_act_result result = {};

	return th_x11_input_act(&r->x, &action, &result, &r->err);
}

/* Serves `owner` in a thread of its own, as the executor does between calls. */
struct server {
	struct rig *owner;
	pthread_t thread;
	int stop[2];
};

static void *serve(void *ctx)
{
	struct server *s = ctx;
	bool served;

	while (th_x11_wait_event(&s->owner->x, 10000, &served, NULL) == TH_OK)
		;
	return NULL;
}

static void start_serving(struct server *s, struct rig *owner)
{
	s->owner = owner;
	assert_int_equal(pipe(s->stop), 0);
	owner->x.interrupt_fd = s->stop[0];
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void stop_serving(struct server *s)
{
	assert_int_equal(write(s->stop[1], "x", 1), 1);
	pthread_join(s->thread, NULL);
	s->owner->x.interrupt_fd = s->owner->interrupt[0];
	close(s->stop[0]);
	close(s->stop[1]);
}

static void test_clipboard(void **state)
{
	static const char text[] = "Grüße, 世界 \xf0\x9f\x98\x80\n\ttab";
	struct rig other = rig;
	struct server server;

	(void)state;
	expect_clipboard("", 0); /* nobody owns it */
	assert_int_equal(set_clipboard(&rig, th_str_of(text)), TH_OK);
	expect_clipboard(text, sizeof(text) - 1);
	rig_open(&other);
	struct rig *owner = &other;
	/* each from the other one, small and large, at the edges of a piece */
	static const size_t sizes[] = {
		0, 1, 32 * 1024 - 1, 32 * 1024, 32 * 1024 + 1, 300000, TH_CLIPBOARD_MAX
	};
	for (size_t i = 0; i < TH_COUNT(sizes); i++) {
		char *big = th_alloc(sizes[i] + 1);

		for (size_t j = 0; j < sizes[i]; j++)
			big[j] = (char)('a' + (j * 7 + j / 1000) % 26);
		assert_int_equal(set_clipboard(owner, th_str_n(big, sizes[i])), TH_OK);
		start_serving(&server, owner);
		expect_clipboard(big, sizes[i]);
		expect_clipboard(big, sizes[i]); /* and once more */
		stop_serving(&server);
		free(big);
	}
	assert_int_equal(set_clipboard(&rig, TH_STR("mine")), TH_OK);
	expect_clipboard("mine", 4);
	/* an owner that is there but does not answer */
	assert_int_equal(set_clipboard(owner, TH_STR("theirs")), TH_OK);
	struct th_act_result result;
	assert_int_equal(rig_act(&rig, "{\"type\":\"clipboard_get\"}", &result), TH_EIO);
	assert_non_null(strstr(rig.err.msg, "does not hand over"));
	start_serving(&server, owner); /* its late answer does no harm */
	expect_clipboard("theirs", 6);
	stop_serving(&server);
	rig_close(&other);
	expect_clipboard("", 0);
	/* an owner that has no text */
	xcb_set_selection_owner(rec.conn, rec.window, rig.x.input->clipboard.atoms.clipboard,
				XCB_CURRENT_TIME);
	free(xcb_get_input_focus_reply(rec.conn, xcb_get_input_focus(rec.conn), NULL));
	assert_int_equal(rig_act(&rig, "{\"type\":\"clipboard_get\"}", &result), TH_EUNSUPPORTED);
	assert_non_null(strstr(rig.err.msg, "not text"));
}

/* Runs xclip, which goes to the background before its claim has reached the server. */
static void xclip_takes(const char *const argv[])
{
	assert_int_equal(set_clipboard(&rig, TH_STR("mine")), TH_OK);
	assert_int_equal(rig_run(&rig, argv), 0);
	while (rig.x.input->clipboard.own) {
		bool served;

		assert_int_equal(th_x11_wait_event(&rig.x, RIG_WAIT_MS, &served, &rig.err), TH_OK);
		assert_true(served);
	}
}

/* With xclip on the other side, which is nobody of ours. */
static void test_clipboard_xclip(void **state)
{
	struct server server;
	char path[] = "/tmp/x11-input-XXXXXX", command[600], own[100];
	int fd = mkstemp(path);
	FILE *file;

	(void)state;
	assert_true(fd >= 0);
	if (!rig_has("xclip")) {
		unlink(path);
		skip();
	}
	file = fdopen(fd, "w");
	for (int i = 0; i < 200000; i++)
		fprintf(file, "%d 中\n", i);
	long size = ftell(file);
	fclose(file);
	char *big = malloc((size_t)size + 1);
	file = fopen(path, "r");
	assert_int_equal(fread(big, 1, (size_t)size, file), size);
	fclose(file);
	/* it owns, by INCR */
	snprintf(own, sizeof(own), "exec xclip -selection clipboard -i %s", path);
	const char *const in[] = { "sh", "-c", own, NULL };
	xclip_takes(in);
	expect_clipboard(big, (size_t)size);
	/* it asks; afterwards the file is what it got */
	assert_int_equal(set_clipboard(&rig, th_str_n(big, (size_t)size)), TH_OK);
	snprintf(command, sizeof(command),
		 "xclip -selection clipboard -o > %s.2 && cmp %s %s.2 && rm %s.2", path, path, path,
		 path);
	const char *const out[] = { "sh", "-c", command, NULL };
	start_serving(&server, &rig);
	assert_int_equal(rig_run(&rig, out), 0);
	stop_serving(&server);
	/* old programs ask for STRING: Latin-1 */
	assert_int_equal(set_clipboard(&rig, TH_STR("gr\xc3\xbc\xc3\x9f")), TH_OK);
	snprintf(
	    command, sizeof(command),
	    "test \"$(xclip -selection clipboard -o -t STRING | od -An -tx1)\" = ' 67 72 fc df'");
	const char *const latin[] = { "sh", "-c", command, NULL };
	start_serving(&server, &rig);
	assert_int_equal(rig_run(&rig, latin), 0);
	stop_serving(&server);
	/* ... of which this is none */
	assert_int_equal(set_clipboard(&rig, TH_STR("g\xc5\x82owa")), TH_OK);
	snprintf(command, sizeof(command), "! xclip -selection clipboard -o -t STRING");
	start_serving(&server, &rig);
	assert_int_equal(rig_run(&rig, latin), 0);
	stop_serving(&server);
	/* more than we take */
	struct th_act_result result;
	char *large = malloc(TH_CLIPBOARD_MAX + 10);
	memset(large, 'x', TH_CLIPBOARD_MAX + 10);
	file = fopen(path, "w");
	fwrite(large, 1, TH_CLIPBOARD_MAX + 10, file);
	fclose(file);
	free(large);
	xclip_takes(in);
	assert_int_equal(rig_act(&rig, "{\"type\":\"clipboard_get\"}", &result), TH_ELIMIT);
	/* what it still sends does not get into the next answer */
	struct rig other = rig;
	rig_open(&other);
	assert_int_equal(set_clipboard(&other, TH_STR("after")), TH_OK);
	start_serving(&server, &other);
	expect_clipboard("after", 5);
	stop_serving(&server);
	rig_close(&other);
	free(big);
	unlink(path);
}

/* ---- programs that take it in pieces ---- */

#define TAKEN_SIZE 100000 /* more than one piece */

struct taker {
	xcb_connection_t *conn;
	xcb_window_t window;
	xcb_atom_t clipboard, utf8, incr;
	xcb_atom_t properties[TH_X11_TRANSFERS_MAX + 1];
	char text[2 * TAKEN_SIZE];
	size_t len;
};

static xcb_atom_t atom(xcb_connection_t *conn, const char *name)
{
	xcb_intern_atom_reply_t *r = xcb_intern_atom_reply(
	    conn, xcb_intern_atom(conn, 0, (uint16_t)strlen(name), name), NULL);
	xcb_atom_t found = r->atom;

	free(r);
	return found;
}

static void taker_open(struct taker *t)
{
	uint32_t mask = XCB_EVENT_MASK_PROPERTY_CHANGE;
	xcb_screen_t *screen;

	t->conn = xcb_connect(rig.display, NULL);
	assert_false(xcb_connection_has_error(t->conn));
	screen = xcb_setup_roots_iterator(xcb_get_setup(t->conn)).data;
	t->window = xcb_generate_id(t->conn);
	xcb_create_window(t->conn, XCB_COPY_FROM_PARENT, t->window, screen->root, 0, 0, 1, 1, 0,
			  XCB_WINDOW_CLASS_INPUT_OUTPUT, screen->root_visual, XCB_CW_EVENT_MASK,
			  &mask);
	t->clipboard = atom(t->conn, "CLIPBOARD");
	t->utf8 = atom(t->conn, "UTF8_STRING");
	t->incr = atom(t->conn, "INCR");
	for (size_t i = 0; i < TH_COUNT(t->properties); i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "TAKEN_%zu", i);
		t->properties[i] = atom(t->conn, name);
	}
}

/* Whether the owner will put it there; what it puts is a promise of pieces. */
static bool taker_asks(struct taker *t, size_t which)
{
	xcb_generic_event_t *ev;
	bool granted = false, heard = false;

	xcb_convert_selection(t->conn, t->window, t->clipboard, t->utf8, t->properties[which],
			      XCB_CURRENT_TIME);
	xcb_flush(t->conn);
	while (!heard && (ev = xcb_wait_for_event(t->conn))) {
		heard = (ev->response_type & 0x7f) == XCB_SELECTION_NOTIFY;
		granted = ((xcb_selection_notify_event_t *)ev)->property == t->properties[which];
		free(ev);
	}
	assert_true(heard);
	return granted;
}

/* Takes what is there; false: nothing is.  At most `pieces_max` of them, 0: to the end. */
static void taker_takes(struct taker *t, size_t which, size_t pieces_max)
{
	xcb_generic_event_t *ev;
	size_t pieces = 0, len;

	t->len = 0;
	do {
		xcb_get_property_reply_t *r;

		r = xcb_get_property_reply(t->conn,
					   xcb_get_property(t->conn, 0, t->window,
							    t->properties[which], XCB_ATOM_ANY, 0,
							    TAKEN_SIZE),
					   NULL);
		len = (size_t)xcb_get_property_value_length(r);
		if (r->type != t->incr) {
			assert_true(t->len + len <= sizeof(t->text));
			memcpy(t->text + t->len, xcb_get_property_value(r), len);
			t->len += len;
			pieces++;
		}
		free(r);
		/* The events so far are of what was just read. */
		free(xcb_get_input_focus_reply(t->conn, xcb_get_input_focus(t->conn), NULL));
		while ((ev = xcb_poll_for_event(t->conn)))
			free(ev);
		if (pieces == pieces_max && pieces_max > 0)
			return;
		xcb_delete_property(t->conn, t->window, t->properties[which]);
		xcb_flush(t->conn);
		if (len == 0)
			return;
		for (bool put = false; !put && (ev = xcb_wait_for_event(t->conn));) {
			const xcb_property_notify_event_t *p = (const void *)ev;

			put = (ev->response_type & 0x7f) == XCB_PROPERTY_NOTIFY &&
			      p->atom == t->properties[which] && p->state == XCB_PROPERTY_NEW_VALUE;
			free(ev);
		}
	} while (true);
}

/* As many as there are transfers take it at once; one more is refused, and gets it when one has
 * ended. */
static void test_clipboard_taken_at_once(void **state)
{
	static struct taker t;
	static char big[TAKEN_SIZE];
	struct server server;

	(void)state;
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)('a' + (i * 7 + i / 1000) % 26);
	assert_int_equal(set_clipboard(&rig, th_str_n(big, sizeof(big))), TH_OK);
	start_serving(&server, &rig);
	taker_open(&t);
	for (size_t i = 0; i < TH_X11_TRANSFERS_MAX; i++)
		assert_true(taker_asks(&t, i));
	assert_false(taker_asks(&t, TH_X11_TRANSFERS_MAX));
	/* Who asks again for the same place begins anew, and takes no second transfer. */
	taker_takes(&t, 5, 2);
	assert_true(taker_asks(&t, 5));
	assert_false(taker_asks(&t, TH_X11_TRANSFERS_MAX));
	taker_takes(&t, 5, 0);
	assert_int_equal(t.len, sizeof(big));
	assert_memory_equal(t.text, big, sizeof(big));
	assert_true(taker_asks(&t, TH_X11_TRANSFERS_MAX));
	for (size_t i = 0; i < TH_COUNT(t.properties); i++) {
		if (i == 5)
			continue;
		taker_takes(&t, i, 0);
		assert_int_equal(t.len, sizeof(big));
		assert_memory_equal(t.text, big, sizeof(big));
	}
	xcb_disconnect(t.conn);
	stop_serving(&server);
}

static int setup(void **state)
{
	(void)state;
	rig_start(&rig);
	recorder_start(&rec, &rig, true, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	recorder_stop(&rec);
	rig_stop(&rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clipboard),
		cmocka_unit_test(test_grabbed),
		cmocka_unit_test(test_clipboard_taken_at_once),
		cmocka_unit_test(test_clipboard_xclip),
		cmocka_unit_test(test_click),
		cmocka_unit_test(test_clicks_apart),
		cmocka_unit_test(test_move_press_release),
		cmocka_unit_test(test_off_screen),
		cmocka_unit_test(test_drag),
		cmocka_unit_test(test_scroll),
		cmocka_unit_test(test_scroll_pixels),
		cmocka_unit_test(test_left_handed),
		cmocka_unit_test(test_click_is_fast),
		cmocka_unit_test(test_chords),
		cmocka_unit_test(test_down_up_hold),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_locks),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_slow_reader),
		cmocka_unit_test(test_silent_reader),
		cmocka_unit_test(test_two_readers),
		cmocka_unit_test(test_stuck_reader),
		cmocka_unit_test(test_plain_slots),
		cmocka_unit_test(test_private_display),
		cmocka_unit_test(test_changed_key),
		cmocka_unit_test(test_long_text),
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_given_back),
		cmocka_unit_test(test_inherited),
		cmocka_unit_test(test_two_runtimes),
		cmocka_unit_test(test_frozen_and_dead),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
