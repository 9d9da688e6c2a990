/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text typed into real programs, read back through the clipboard or a file.
 * They run under a window manager, as they do on a desktop; a program that is
 * not installed is skipped.  Waiting is for windows, titles and processes.
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "x11_rig.h"

static struct rig rig;
static xcb_connection_t *watch; /* hears of every property of the root window */
static xcb_window_t root;
static char last_title[256]; /* of the active window */
static char folder[] = "/tmp/x11-typing-XXXXXX";

static const char words[] =
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
static bool is_active(const char *text)
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
		snprintf(last_title, sizeof(last_title), "%.*s", TH_FMT(value));
		found |= th_str_istarts(value, th_str_of(text));
		free(r);
	}
	return found && has_focus(window);
}

static void wait_active(const char *text)
{
	int64_t end_us = th_x11_now_us() + RIG_WAIT_MS * INT64_C(1000);

	while (!is_active(text)) {
		struct pollfd p = { xcb_get_file_descriptor(watch), POLLIN, 0 };
		xcb_generic_event_t *event = xcb_poll_for_event(watch);

		if (!event && poll(&p, 1, 20) < 0)
			fail_msg("poll");
		free(event);
		if (th_x11_now_us() > end_us)
			fail_msg("no window \"%s\" became active; \"%s\" is", text, last_title);
	}
}

/* A page that is painted may not hear the pointer yet: it is moved until the page has noticed. */
static void wait_moved(const char *text)
{
	int64_t end_us = th_x11_now_us() + RIG_WAIT_MS * INT64_C(1000);

	for (int x = 600; !is_active(text); x ^= 1) {
		char move[64];

		snprintf(move, sizeof(move), "{\"type\":\"move\",\"x\":%d,\"y\":600}", x);
		rig_ok(&rig, move);
		poll(NULL, 0, 50);
		if (th_x11_now_us() > end_us)
			fail_msg("the page does not hear the pointer: \"%s\"", last_title);
	}
}

/* Chromium costs what all the others cost together, and a sanitizer sees nothing of it. */
static bool has_chromium(void)
{
#ifdef TH_SANITIZED
	return false;
#else
	return rig_has("chromium");
#endif
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
static char *many(void)
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
static void check_field(void)
{
	char *text = many();

	expect_typed(words);
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

static void run_editor(const char *program, const char *class)
{
	char home[128], file[128];
	const char *const argv[] = { program, file, NULL };
	pid_t pid;

	if (!rig_has(program))
		skip();
	snprintf(home, sizeof(home), "%s/home", folder);
	mkdir(home, 0700);
	setenv("HOME", home, 1);
	setenv("XDG_RUNTIME_DIR", home, 1);
	setenv("DBUS_SESSION_BUS_ADDRESS", "disabled:", 1);
	setenv("GSETTINGS_BACKEND", "memory", 1);
	snprintf(file, sizeof(file), "%s/%s.txt", folder, program);
	fclose(fopen(file, "w"));
	pid = rig_spawn(&rig, argv);
	wait_active(class);
	check_field();
	kill(pid, SIGKILL);
	rig_wait(pid);
}

static void test_mousepad(void **state)
{
	(void)state;
	run_editor("mousepad", "mousepad");
}

/* From here on as on a private desktop, where there are more unused keycodes. */
static void test_l3afpad(void **state)
{
	(void)state;
	rig_close(&rig);
	rig.is_private = true;
	rig_open(&rig);
	run_editor("l3afpad", "l3afpad");
}

/* Chromium drops what is typed before a page's first paint, so the title waits for that. */
static void test_chromium(void **state)
{
	static const char page[] =
	    "data:text/html,<textarea autofocus style='width:100%;height:90vh'></textarea><script>"
	    "const t=document.querySelector('textarea');"
	    "t.onkeydown=e=>{if(e.key=='Tab'){e.preventDefault();"
	    "document.execCommand('insertText',false,'\\t')}};"
	    "setInterval(()=>{t.focus();if(document.hasFocus()&&"
	    "performance.getEntriesByType('paint')[0])document.title='READY'},50)"
	    "</script>";
	char profile[128], app[600];
	const char *const argv[] = { "chromium",
				     "--no-sandbox",
				     "--no-first-run",
				     "--disable-gpu",
				     "--disable-sync",
				     profile,
				     app,
				     NULL };
	pid_t pid;

	(void)state;
	if (!has_chromium())
		skip();
	snprintf(profile, sizeof(profile), "--user-data-dir=%s/chromium", folder);
	snprintf(app, sizeof(app), "--app=%s", page);
	pid = rig_spawn(&rig, argv);
	wait_active("READY");
	check_field();
	kill(pid, SIGTERM);
	rig_wait(pid);
}

/* Pointer actions as a page in Chromium understands them; its title tells. */
static const char pointer_page[] =
    "data:text/html,<body style='margin:0;height:9000px;width:5000px'>"
    "<div id=a draggable=true style='position:absolute;left:50px;top:100px;width:80px;"
    "height:80px;background:red'></div>"
    "<div id=b style='position:absolute;left:400px;top:100px;width:80px;height:80px;"
    "background:blue'></div>"
    "<input id=r type=range min=0 max=100 value=0 style='position:absolute;left:50px;top:250px;"
    "width:400px'>"
    "<script>let log='',at='',moved=false;onmousemove=()=>{moved=true};const "
    "say=t=>{log+=t;document.title='T:'+log+at};"
    "b.ondragover=e=>e.preventDefault();b.ondrop=e=>{e.preventDefault();say('drop;')};"
    "r.onchange=()=>say(r.value%3E90?'slid;':'stuck;');"
    "ondblclick=e=>say('double;');oncontextmenu=e=>{e.preventDefault();say('menu;')};"
    "onclick=e=>{if(e.detail==3)say('triple;');if(e.shiftKey)say('shift;')};"
    "onmouseup=e=>{if(e.button%3E2)say('button'+e.button+';')};"
    /* where it is now: a smooth scroll passes through many places */
    "onscroll=()=>{at='at'+scrollX+','+scrollY+';';say('')};const "
    "w=setInterval(()=>{if(moved&&document.hasFocus()&&"
    "performance.getEntriesByType('paint')[0]){clearInterval(w);document.title='T:ready;'}},50)</"
    "script>";

static void test_chromium_pointer(void **state)
{
	char profile[128], app[4000];
	const char *const argv[] = { "chromium",
				     "--no-sandbox",
				     "--no-first-run",
				     "--disable-gpu",
				     "--disable-sync",
				     "--kiosk",
				     profile,
				     app,
				     NULL };
	pid_t pid;

	(void)state;
	if (!has_chromium())
		skip();
	snprintf(profile, sizeof(profile), "--user-data-dir=%s/chromium2", folder);
	snprintf(app, sizeof(app), "--app=%s", pointer_page);
	pid = rig_spawn(&rig, argv);
	wait_moved("T:ready;");
	rig_ok(&rig, "{\"type\":\"drag\",\"path\":[{\"x\":90,\"y\":140},{\"x\":440,\"y\":140}]}");
	wait_active("T:drop;");
	rig_ok(&rig, "{\"type\":\"drag\",\"path\":[{\"x\":58,\"y\":260},{\"x\":445,\"y\":260}],"
		     "\"duration_ms\":1}");
	wait_active("T:drop;slid;");
	rig_ok(&rig, "{\"type\":\"click\",\"x\":600,\"y\":500,\"button\":\"right\"}");
	wait_active("T:drop;slid;menu;");
	rig_ok(&rig, "{\"type\":\"click\",\"x\":600,\"y\":500,\"count\":2}");
	wait_active("T:drop;slid;menu;double;");
	rig_ok(&rig, "{\"type\":\"click\",\"x\":600,\"y\":500,\"count\":3}");
	wait_active("T:drop;slid;menu;double;double;triple;");
	rig_ok(&rig, "{\"type\":\"click\",\"x\":700,\"y\":500,\"keys\":[\"SHIFT\"]}");
	wait_active("T:drop;slid;menu;double;double;triple;shift;");
	rig_ok(&rig, "{\"type\":\"scroll\",\"x\":600,\"y\":500,\"dy\":1200,\"unit\":\"pixel\"}");
	wait_active("T:drop;slid;menu;double;double;triple;shift;at0,1200;");
	rig_ok(&rig, "{\"type\":\"scroll\",\"dx\":2,\"dy\":-1}");
	wait_active("T:drop;slid;menu;double;double;triple;shift;at240,1080;");
	rig_ok(&rig, "{\"type\":\"click\",\"button\":\"back\"}");
	wait_active("T:drop;slid;menu;double;double;triple;shift;button3;at240,1080;");
	kill(pid, SIGTERM);
	rig_wait(pid);
}

static void expect_file(const char *path, const char *text)
{
	char *got = calloc(1, strlen(text) + 100);
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_true(fread(got, 1, strlen(text) + 99, file) > 0);
	fclose(file);
	assert_string_equal(got, text);
	free(got);
}

static void test_xterm(void **state)
{
	char command[300], path[128];
	const char *const argv[] = { "xterm", "-u8", "-e", "sh", "-c", command, NULL };
	struct th_buf all = TH_BUF_INIT(TH_MIB);
	char *characters = many();
	const char *text;
	pid_t pid;

	(void)state;
	if (!rig_has("xterm"))
		skip();
	th_buf_printf(&all, "%s\n%s", words, characters);
	text = all.ptr;
	snprintf(path, sizeof(path), "%s/xterm.out", folder);
	/* without -icanon a line would end at 4096 bytes */
	snprintf(command, sizeof(command),
		 "stty -icanon -echo; printf '\\033]0;READY\\007'; head -c %zu > %s", strlen(text),
		 path);
	pid = rig_spawn(&rig, argv);
	wait_active("READY");
	if (rig_type(&rig, text) != TH_OK)
		fail_msg("%s", rig.err.msg);
	assert_int_equal(rig_wait(pid), 0);
	expect_file(path, text);
	free(characters);
	th_buf_deinit(&all);
}

/* The click raises and focuses another window; the text follows at once. */
static void test_click_then_type(void **state)
{
	char command[2][300], path[2][128];
	pid_t pids[2];

	(void)state;
	if (!rig_has("xterm"))
		skip();
	for (int i = 0; i < 2; i++) {
		const char *const argv[] = { "xterm",     "-u8",
					     "-geometry", i ? "60x20+640+100" : "60x20+20+100",
					     "-e",        "sh",
					     "-c",        command[i],
					     NULL };
		char title[32];

		snprintf(path[i], sizeof(path[i]), "%s/click%d", folder, i);
		snprintf(title, sizeof(title), "WINDOW%d", i);
		snprintf(
		    command[i], sizeof(command[i]),
		    "stty -echo; printf '\\033]0;%s\\007'; read a; read b; echo \"$a $b\" > %s",
		    title, path[i]);
		pids[i] = rig_spawn(&rig, argv);
		wait_active(title);
	}
	rig_ok(&rig, "{\"type\":\"click\",\"x\":200,\"y\":200}");
	rig_ok(&rig, "{\"type\":\"type\",\"text\":\"left\",\"enter\":true}");
	rig_ok(&rig, "{\"type\":\"click\",\"x\":900,\"y\":200}");
	rig_ok(&rig, "{\"type\":\"type\",\"text\":\"right\",\"enter\":true}");
	rig_ok(&rig, "{\"type\":\"click\",\"x\":200,\"y\":200}");
	rig_ok(&rig, "{\"type\":\"type\",\"text\":\"one\\n\"}");
	rig_ok(&rig, "{\"type\":\"click\",\"x\":900,\"y\":200}");
	rig_ok(&rig, "{\"type\":\"key\",\"keys\":[\"x\"]}");
	rig_ok(&rig, "{\"type\":\"key\",\"keys\":[\"enter\"]}");
	assert_int_equal(rig_wait(pids[0]), 0);
	assert_int_equal(rig_wait(pids[1]), 0);
	expect_file(path[0], "left one\n");
	expect_file(path[1], "right x\n");
}

static int setup(void **state)
{
	const char *const argv[] = { "openbox", NULL };
	uint32_t mask = XCB_EVENT_MASK_PROPERTY_CHANGE;

	(void)state;
	assert_non_null(mkdtemp(folder));
	rig_start(&rig);
	watch = xcb_connect(rig.display, NULL);
	root = xcb_setup_roots_iterator(xcb_get_setup(watch)).data->root;
	xcb_change_window_attributes(watch, root, XCB_CW_EVENT_MASK, &mask);
	xcb_flush(watch);
	if (!rig_has("openbox"))
		return 0;
	rig_spawn(&rig, argv);
	wait_manager();
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	xcb_disconnect(watch);
	rig_stop(&rig);
	/* Chromium may still be writing when it is told to end */
	snprintf(command, sizeof(command), "rm -rf %s || { sleep 1; rm -rf %s; }", folder, folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mousepad), cmocka_unit_test(test_l3afpad),
		cmocka_unit_test(test_xterm),    cmocka_unit_test(test_click_then_type),
		cmocka_unit_test(test_chromium), cmocka_unit_test(test_chromium_pointer),
	};

	if (!rig_has("openbox"))
		return 77;
	return cmocka_run_group_tests(tests, setup, teardown);
}
