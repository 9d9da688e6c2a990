/* SPDX-License-Identifier: Apache-2.0 */
#include "x11_typing.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "io/files.h"

struct rig rig;
char typing_title[256];
char typing_folder[] = "/tmp/x11-typing-XXXXXX";
static xcb_connection_t *watch; /* hears of every property of the root window */
static xcb_window_t root;

const char typing_words[] =
    "Plain ASCII: {\"key\": [1, 2.5e-3, ~`|\\<>]}; The End.\n"
    "Accents: Zażółć gęślą jaźń, Übergrößenträger, ¿Qué? Ça et là.\n"
    "\tTab, Ελληνικά, Русский текст, עברית, العربية\n"
    "CJK: 日本語のテキスト、中文文字,한국어 문장.\n"
    "Emoji: \xf0\x9f\x98\x80 \xf0\x9f\x9a\x80 \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb "
    "\xf0\x9f\x87\xaa\xf0\x9f\x87\xba ✓ € ½ ² ™ … “quoted” – dash";

/* ---- windows ---- */

static xcb_atom_t atom(const char *name)
{
	xcb_intern_atom_reply_t *r = xcb_intern_atom_reply(
	    watch, xcb_intern_atom(watch, 0, (uint16_t)strlen(name), name), NULL);
	xcb_atom_t a = r->atom;

	free(r);
	return a;
}

static struct th_str property(xcb_window_t window, xcb_atom_t name, xcb_get_property_reply_t **ret)
{
	*ret = xcb_get_property_reply(
	    watch, xcb_get_property(watch, 0, window, name, XCB_GET_PROPERTY_TYPE_ANY, 0, 256),
	    NULL);
	if (!*ret)
		return (struct th_str){};
	return th_str_n(xcb_get_property_value(*ret), (size_t)xcb_get_property_value_length(*ret));
}

/* Keys go to the window or one inside it: the manager calls it active a little earlier. */
static bool has_focus(xcb_window_t window)
{
	xcb_get_input_focus_reply_t *r =
	    xcb_get_input_focus_reply(watch, xcb_get_input_focus(watch), NULL);
	xcb_window_t at = r->focus;

	free(r);
	while (at > 1 && at != window && at != root) {
		xcb_query_tree_reply_t *tree =
		    xcb_query_tree_reply(watch, xcb_query_tree(watch, at), NULL);

		at = tree ? tree->parent : 0;
		free(tree);
	}
	return at == window;
}

/* The active window's class or title begins with the text, in any case. */
bool is_active(const char *text)
{
	const xcb_atom_t names[] = { XCB_ATOM_WM_CLASS, XCB_ATOM_WM_NAME };
	uint32_t mask = XCB_EVENT_MASK_PROPERTY_CHANGE;
	xcb_get_property_reply_t *r;
	xcb_window_t window = 0;
	bool found = false;
	struct th_str value = property(root, atom("_NET_ACTIVE_WINDOW"), &r);

	if (value.len == 4)
		memcpy(&window, value.ptr, 4);
	free(r);
	if (window == 0)
		return false;
	xcb_change_window_attributes(watch, window, XCB_CW_EVENT_MASK, &mask);
	for (size_t i = 0; i < TH_COUNT(names); i++) {
		value = property(window, names[i], &r);
		snprintf(typing_title, sizeof(typing_title), "%.*s", TH_FMT(value));
		found |= th_str_istarts(value, th_str_of(text));
		free(r);
	}
	return found && has_focus(window);
}

/* Whether there was an event.  A window that has gone while it was asked about is none. */
static bool take_events(void)
{
	bool any = false;

	for (xcb_generic_event_t *event; (event = xcb_poll_for_event(watch));) {
		any |= event->response_type != 0;
		free(event);
	}
	return any;
}

void wait_active(const char *text)
{
	int64_t end_us = th_x11_now_us() + RIG_WAIT_MS * INT64_C(1000);

	while (!is_active(text)) {
		struct pollfd p = { xcb_get_file_descriptor(watch), POLLIN, 0 };

		if (!take_events() && poll(&p, 1, 20) < 0)
			fail_msg("poll");
		if (th_x11_now_us() > end_us)
			fail_msg("no window \"%s\" became active; \"%s\" is", text, typing_title);
	}
}

static bool has_property(const char *name)
{
	xcb_get_property_reply_t *r;
	bool has = property(root, atom(name), &r).len > 0;

	free(r);
	return has;
}

static void wait_manager(void)
{
	while (!has_property("_NET_SUPPORTING_WM_CHECK"))
		free(xcb_wait_for_event(watch));
}

/* ---- reading back ---- */

static void set_clipboard(const char *text)
{
	struct th_action action = { .kind = TH_ACTION_CLIPBOARD_SET, .text = th_str_of(text) };
	struct th_act_result result = {};

	assert_int_equal(th_x11_input_act(&rig.x, &action, &result, &rig.err), TH_OK);
}

/* Everything in the focused field, by way of the clipboard. */
static struct th_str copy_all(void)
{
	struct th_act_result result;

	set_clipboard("sentinel");
	rig_ok(&rig, "{\"type\":\"key\",\"keys\":[\"ctrl\",\"a\"]}");
	rig_ok(&rig, "{\"type\":\"key\",\"keys\":[\"ctrl\",\"c\"]}");
	while (rig.x.input->clipboard.own) { /* until the program has taken it */
		bool served;

		assert_int_equal(th_x11_wait_event(&rig.x, RIG_WAIT_MS, &served, &rig.err), TH_OK);
		if (!served)
			fail_msg("the program copied nothing");
	}
	if (rig_act(&rig, "{\"type\":\"clipboard_get\"}", &result) != TH_OK)
		fail_msg("%s", rig.err.msg);
	return result.text;
}

static void expect_typed(const char *text)
{
	struct th_str got;

	if (rig_type(&rig, text) != TH_OK)
		fail_msg("%s", rig.err.msg);
	got = copy_all();
	if (!th_str_is(got, text))
		fail_msg("typed, then read back:\n%s\n----\n%.*s", text, TH_FMT(got));
}

/* More different characters than the pool has slots, in two orders. */
char *many_characters(void)
{
	struct th_buf b = TH_BUF_INIT(TH_MIB);
	size_t count = rig.x.input->keyboard.slot_count * 5 / 4,
	       len; /* so that slots are used again */

	for (size_t i = 0; i < count; i++)
		th_utf8_add(&b, 0x4e00 + (uint32_t)i);
	th_buf_add_char(&b, '\n');
	for (size_t i = 0; i < count / 3; i++)
		th_utf8_add(&b, 0x4e00 + (uint32_t)(count - 1 - 3 * i));
	return th_buf_steal(&b, &len);
}

static void replace_typed(const char *text)
{
	struct th_action action = { .kind = TH_ACTION_TYPE,
				    .text = th_str_of(text),
				    .clear = true };
	struct th_act_result result = {};
	struct th_str got;

	if (th_x11_input_act(&rig.x, &action, &result, &rig.err) != TH_OK)
		fail_msg("%s", rig.err.msg);
	got = copy_all();
	if (!th_str_is(got, text))
		fail_msg("typed, then read back:\n%s\n----\n%.*s", text, TH_FMT(got));
}

/* What every program with a text field must do. */
void check_field(void)
{
	char *text = many_characters();

	expect_typed(typing_words);
	replace_typed(text);
	free(text);
	replace_typed("short again: ż 日 \xf0\x9f\x98\x80");
	/* long and fast */
	struct th_buf b = TH_BUF_INIT(TH_MIB);
	for (int i = 0; i < 20; i++)
		th_buf_printf(&b, "%d. The quick brown fox; ein süßer Fuchs; 茶色のキツネ\n", i);
	replace_typed(b.ptr);
	th_buf_deinit(&b);
}

/* For the programs that are started: nothing of who runs the tests. */
static void make_home(void)
{
	char home[128];

	snprintf(home, sizeof(home), "%s/home", typing_folder);
	mkdir(home, 0700);
	setenv("HOME", home, 1);
	setenv("XDG_RUNTIME_DIR", home, 1);
	setenv("DBUS_SESSION_BUS_ADDRESS", "disabled:", 1);
	setenv("GSETTINGS_BACKEND", "memory", 1);
}

/* As many keys as a desktop's manager has, and what its mouse does. */
static const char wm_config[] =
    "<openbox_config xmlns=\"http://openbox.org/3.4/rc\">"
    "<focus><focusNew>yes</focusNew><focusLast>yes</focusLast></focus>"
    "<keyboard>"
    "<keybind key=\"A-F4\"><action name=\"Close\"/></keybind>"
    "<keybind key=\"A-Tab\"><action name=\"NextWindow\"/></keybind>"
    "<keybind key=\"A-S-Tab\"><action name=\"PreviousWindow\"/></keybind>"
    "</keyboard>"
    "<mouse><context name=\"Client\"><mousebind button=\"Left\" action=\"Press\">"
    "<action name=\"Focus\"/><action name=\"Raise\"/></mousebind></context></mouse>"
    "</openbox_config>";

int typing_setup(void **state)
{
	char config[128];
	/* Without a locale, as on a desktop: in one, each change of the keyboard's map has it read
	 * a file of half a megabyte. */
	const char *const argv[] = { "env",           "LC_ALL=C", "openbox", "--sm-disable",
				     "--config-file", config,     NULL };
	uint32_t mask = XCB_EVENT_MASK_PROPERTY_CHANGE;

	(void)state;
	assert_non_null(mkdtemp(typing_folder));
	make_home();
	rig_start(&rig);
	watch = xcb_connect(rig.display, NULL);
	root = xcb_setup_roots_iterator(xcb_get_setup(watch)).data->root;
	xcb_change_window_attributes(watch, root, XCB_CW_EVENT_MASK, &mask);
	xcb_flush(watch);
	if (!rig_has("openbox"))
		return 0;
	snprintf(config, sizeof(config), "%s/openbox.xml", typing_folder);
	assert_int_equal(th_file_write(config, th_str_of(wm_config), 0600, &rig.err), TH_OK);
	rig_spawn(&rig, argv);
	wait_manager();
	return 0;
}

int typing_teardown(void **state)
{
	char command[128];

	(void)state;
	xcb_disconnect(watch);
	rig_stop(&rig);
	/* Chromium may still be writing when it is told to end */
	snprintf(command, sizeof(command), "rm -rf %s || { sleep 1; rm -rf %s; }", typing_folder,
		 typing_folder);
	return system(command);
}
