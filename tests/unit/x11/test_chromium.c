/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text typed into a page in Chromium, and what the pointer does there.  Its
 * start costs what all other programs of test_typing.c cost together: it is
 * with the other tests of browsers, in the suite page.
 */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "x11_typing.h"

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
			fail_msg("the page does not hear the pointer: \"%s\"", typing_title);
	}
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
	snprintf(profile, sizeof(profile), "--user-data-dir=%s/chromium", typing_folder);
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
	snprintf(profile, sizeof(profile), "--user-data-dir=%s/chromium2", typing_folder);
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

/* As on a private desktop, where there are more unused keycodes. */
static int private_setup(void **state)
{
	int status = typing_setup(state);

	rig_close(&rig);
	rig.is_private = true;
	rig_open(&rig);
	return status;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chromium),
		cmocka_unit_test(test_chromium_pointer),
	};

	if (!rig_has("openbox") || !rig_has("chromium"))
		return 77;
	return cmocka_run_group_tests(tests, private_setup, typing_teardown);
}
