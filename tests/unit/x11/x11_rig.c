/* SPDX-License-Identifier: Apache-2.0 */
#include "x11_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <xkbcommon/xkbcommon.h>

#include "base/text.h"

/* ---- server and programs ---- */

static pid_t spawn(const char *const argv[], const char *display)
{
	pid_t parent = getpid(), pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	if (display)
		setenv("DISPLAY", display, 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("NO_AT_BRIDGE", "1", 1);
	setenv("GTK_IM_MODULE", "", 1);
	unsetenv("XMODIFIERS");
	unsetenv("LD_PRELOAD");
	int null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	if (!getenv("RIG_VERBOSE")) {
		dup2(null, 1);
		dup2(null, 2);
	}
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

pid_t rig_spawn(struct rig *r, const char *const argv[])
{
	return spawn(argv, r->display);
}

int rig_wait(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), status = -1;
	struct pollfd p = { fd, POLLIN, 0 };

	if (fd >= 0 && poll(&p, 1, RIG_WAIT_MS) != 1)
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0); /* alone where there are no pidfds: old valgrind */
	if (fd >= 0)
		close(fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int rig_run(struct rig *r, const char *const argv[])
{
	return rig_wait(rig_spawn(r, argv));
}

bool rig_has(const char *program)
{
	char copy[4096], *save, path[4200];

	snprintf(copy, sizeof(copy), "%s", getenv("PATH") ?: "/usr/bin");
	for (char *dir = strtok_r(copy, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
		snprintf(path, sizeof(path), "%s/%s", dir, program);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static int connect_display(int number)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/.X11-unix/X%d", number);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

void rig_open(struct rig *r)
{
	static const struct th_computer_kind x11 = { .name = "x11", .outlives = true },
					     desktop = { .name = "desktop" };

	r->x = (struct th_x11){ .computer.kind = r->is_private ? &desktop : &x11 };
	if (th_x11_init(&r->x, connect_display(r->number), th_str_of(r->display), NULL, 0,
			r->interrupt[0], &r->err) != TH_OK)
		fail_msg("%s", r->err.msg);
}

void rig_close(struct rig *r)
{
	th_x11_deinit(&r->x);
}

void rig_start(struct rig *r)
{
	char fd_text[16], number[16] = "", display[16];
	static int started;
	int fds[2];

	*r = (struct rig){};
	/* Its own number: a server that ends removes the socket of the next one with its number. */
	snprintf(display, sizeof(display), ":%d", 100 + getpid() % 3000 * 16 + started++ % 16);
	assert_int_equal(pipe(fds), 0);
	fcntl(fds[0], F_SETFD, FD_CLOEXEC);
	snprintf(fd_text, sizeof(fd_text), "%d", fds[1]);
	const char *const argv[] = { "Xvfb",    display, "-displayfd",  fd_text,
				     "-screen", "0",     "1280x800x24", "-nolisten",
				     "tcp",     "-ac",   "-noreset",    NULL };
	r->server = spawn(argv, NULL);
	close(fds[1]);
	for (size_t len = 0; !strchr(number, '\n');) {
		ssize_t got = read(fds[0], number + len, sizeof(number) - 1 - len);

		if (got <= 0)
			fail_msg("Xvfb did not start");
		len += (size_t)got;
	}
	close(fds[0]);
	r->number = atoi(number);
	snprintf(r->display, sizeof(r->display), ":%d", r->number);
	assert_int_equal(pipe2(r->interrupt, O_CLOEXEC), 0);
	rig_open(r);
}

void rig_stop(struct rig *r)
{
	rig_close(r);
	kill(r->server, SIGTERM);
	rig_wait(r->server);
	close(r->interrupt[0]);
	close(r->interrupt[1]);
}

/* ---- the recorder ---- */

struct keymap {
	xcb_get_keyboard_mapping_reply_t *reply;
	bool dirty;
};

/* As Xlib does it for the core protocol: columns 0 and 1, and 4 and 5 with AltGr; a letter alone
 * on its key stands for its lower and upper case. */
static uint32_t translate(struct rig_recorder *c, struct keymap *map, uint8_t keycode,
			  uint16_t state)
{
	const xcb_setup_t *setup = xcb_get_setup(c->conn);
	const xcb_keysym_t *syms;
	unsigned per, column = state & XCB_MOD_MASK_SHIFT ? 1 : 0;

	if (map->dirty || !map->reply) {
		free(map->reply);
		map->reply = xcb_get_keyboard_mapping_reply(
		    c->conn,
		    xcb_get_keyboard_mapping(
			c->conn, setup->min_keycode,
			(uint8_t)(setup->max_keycode - setup->min_keycode + 1)),
		    NULL);
		map->dirty = false;
	}
	if (!map->reply)
		return 0;
	per = map->reply->keysyms_per_keycode;
	syms = xcb_get_keyboard_mapping_keysyms(map->reply) +
	       (size_t)(keycode - setup->min_keycode) * per;
	if ((state & XCB_MOD_MASK_5) && per > column + 4)
		column += 4;
	else if ((state >> 13 & 3) == 1 && per > column + 2)
		column += 2;
	if (column < 2 && !syms[1])
		return column ? xkb_keysym_to_upper(syms[0]) : xkb_keysym_to_lower(syms[0]);
	return syms[column] || !column ? syms[column] : syms[0];
}

static void record(struct rig_recorder *c, const struct rig_record *r)
{
	pthread_mutex_lock(&c->lock);
	if (c->count < RIG_RECORDS_MAX)
		c->records[c->count++] = *r;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static void on_message(struct rig_recorder *c, xcb_client_message_event_t *message)
{
	if (message->type == c->mark) {
		pthread_mutex_lock(&c->lock);
		c->marks_seen = message->data.data32[0];
		pthread_cond_broadcast(&c->changed);
		pthread_mutex_unlock(&c->lock);
	} else if (message->type == c->protocols && message->data.data32[0] == c->ping) {
		xcb_window_t root = xcb_setup_roots_iterator(xcb_get_setup(c->conn)).data->root;

		message->window = root;
		xcb_send_event(c->conn, 0, root,
			       XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY |
				   XCB_EVENT_MASK_SUBSTRUCTURE_REDIRECT,
			       (const char *)message);
		xcb_flush(c->conn);
	}
}

static void refuse(struct rig_recorder *c, const xcb_selection_request_event_t *request)
{
	union {
		xcb_selection_notify_event_t notify;
		char bytes[32];
	} answer = {};

	answer.notify.response_type = XCB_SELECTION_NOTIFY;
	answer.notify.time = request->time;
	answer.notify.requestor = request->requestor;
	answer.notify.selection = request->selection;
	answer.notify.target = request->target;
	xcb_send_event(c->conn, 0, request->requestor, 0, answer.bytes);
	xcb_flush(c->conn);
}

static void *recorder_run(void *ctx)
{
	struct rig_recorder *c = ctx;
	struct keymap map = {};
	xcb_generic_event_t *event;

	while ((event = xcb_wait_for_event(c->conn))) {
		const xcb_key_press_event_t *key = (const xcb_key_press_event_t *)event;
		uint8_t type = event->response_type & 0x7f;
		struct rig_record r = { .type = type };

		if (c->slow_us)
			usleep((useconds_t)c->slow_us);
		switch (type) {
		case XCB_MAPPING_NOTIFY:
			map.dirty = true;
			break;
		case XCB_KEY_PRESS:
		case XCB_KEY_RELEASE:
			r.keysym = translate(c, &map, key->detail, key->state);
			__attribute__((fallthrough));
		case XCB_BUTTON_PRESS:
		case XCB_BUTTON_RELEASE:
		case XCB_MOTION_NOTIFY: /* all of one form */
			r.detail = key->detail;
			r.state = key->state;
			r.x = key->root_x;
			r.y = key->root_y;
			r.time = key->time;
			record(c, &r);
			break;
		case XCB_CLIENT_MESSAGE:
			if (!c->stuck)
				on_message(c, (xcb_client_message_event_t *)event);
			break;
		case XCB_SELECTION_REQUEST:
			refuse(c, (const xcb_selection_request_event_t *)event);
			break;
		case XCB_DESTROY_NOTIFY: /* recorder_stop */
			free(event);
			free(map.reply);
			return NULL;
		}
		free(event);
	}
	free(map.reply);
	return NULL;
}

static xcb_atom_t atom(xcb_connection_t *conn, const char *name)
{
	xcb_intern_atom_reply_t *r = xcb_intern_atom_reply(
	    conn, xcb_intern_atom(conn, 0, (uint16_t)strlen(name), name), NULL);
	xcb_atom_t a = r->atom;

	free(r);
	return a;
}

static void connection_sync(xcb_connection_t *conn)
{
	free(xcb_get_input_focus_reply(conn, xcb_get_input_focus(conn), NULL));
}

void recorder_start(struct rig_recorder *c, struct rig *r, bool answers_pings, int slow_us)
{
	xcb_screen_t *screen;
	uint32_t mask = XCB_EVENT_MASK_KEY_PRESS | XCB_EVENT_MASK_KEY_RELEASE |
			XCB_EVENT_MASK_BUTTON_PRESS | XCB_EVENT_MASK_BUTTON_RELEASE |
			XCB_EVENT_MASK_POINTER_MOTION | XCB_EVENT_MASK_STRUCTURE_NOTIFY;

	*c = (struct rig_recorder){ .answers_pings = answers_pings, .slow_us = slow_us };
	c->records = calloc(RIG_RECORDS_MAX, sizeof(*c->records));
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	c->conn = xcb_connect(r->display, NULL);
	assert_int_equal(xcb_connection_has_error(c->conn), 0);
	c->protocols = atom(c->conn, "WM_PROTOCOLS");
	c->ping = atom(c->conn, "_NET_WM_PING");
	c->mark = atom(c->conn, "RIG_MARK");
	screen = xcb_setup_roots_iterator(xcb_get_setup(c->conn)).data;
	c->window = xcb_generate_id(c->conn);
	xcb_create_window(c->conn, XCB_COPY_FROM_PARENT, c->window, screen->root, 0, 0, 1280, 800,
			  0, XCB_WINDOW_CLASS_INPUT_OUTPUT, XCB_COPY_FROM_PARENT, XCB_CW_EVENT_MASK,
			  &mask);
	if (answers_pings)
		xcb_change_property(c->conn, XCB_PROP_MODE_REPLACE, c->window, c->protocols,
				    XCB_ATOM_ATOM, 32, 1, &c->ping);
	xcb_map_window(c->conn, c->window);
	xcb_set_input_focus(c->conn, XCB_INPUT_FOCUS_POINTER_ROOT, c->window, XCB_CURRENT_TIME);
	connection_sync(c->conn);
	assert_int_equal(pthread_create(&c->thread, NULL, recorder_run, c), 0);
}

void recorder_stop(struct rig_recorder *c)
{
	xcb_destroy_window(c->conn, c->window);
	xcb_flush(c->conn);
	pthread_join(c->thread, NULL);
	xcb_disconnect(c->conn);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->changed);
	free(c->records);
}

void recorder_sync(struct rig_recorder *c, struct rig *r)
{
	xcb_client_message_event_t message = { .response_type = XCB_CLIENT_MESSAGE,
					       .format = 32,
					       .window = c->window,
					       .type = c->mark };
	struct timespec end;
	int failed = 0;

	message.data.data32[0] = ++c->marks_sent;
	xcb_send_event(r->x.conn, 0, c->window, 0, (const char *)&message);
	assert_int_equal(th_x11_sync(&r->x, &r->err), TH_OK);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += RIG_WAIT_MS / 1000;
	pthread_mutex_lock(&c->lock);
	while (c->marks_seen != c->marks_sent && !failed)
		failed = pthread_cond_timedwait(&c->changed, &c->lock, &end);
	pthread_mutex_unlock(&c->lock);
	assert_int_equal(failed, 0);
}

void recorder_forget(struct rig_recorder *c, struct rig *r)
{
	recorder_sync(c, r);
	pthread_mutex_lock(&c->lock);
	c->count = 0;
	pthread_mutex_unlock(&c->lock);
}

char *recorder_text(struct rig_recorder *c)
{
	struct th_buf b = TH_BUF_INIT(4 * TH_MIB);
	size_t len;

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->count; i++) {
		uint32_t keysym = c->records[i].keysym;

		if (c->records[i].type != XCB_KEY_PRESS || th_keys_is_modifier(keysym))
			continue;
		if (keysym == TH_KEYSYM_RETURN)
			keysym = '\n';
		if (keysym == TH_KEYSYM_TAB)
			keysym = '\t';
		th_utf8_add(&b, keysym < 0x20 ? keysym : xkb_keysym_to_utf32(keysym));
	}
	pthread_mutex_unlock(&c->lock);
	th_buf_reserve(&b, 1);
	return th_buf_steal(&b, &len);
}

/* ---- acting ---- */

enum th_code rig_act(struct rig *r, const char *json, struct th_act_result *ret)
{
	struct th_json_doc *doc = NULL;
	struct th_action action;
	struct th_arena arena;
	enum th_code code;

	r->err = (struct th_err){};
	th_arena_init(&arena, 16 * TH_MIB);
	if (th_json_parse(th_str_of(json), &doc, &r->err) < 0 ||
	    th_action_parse(th_json_root(doc), &arena, &action, &r->err) < 0)
		fail_msg("%s: %s", json, r->err.msg);
	*ret = (struct th_act_result){};
	code = th_x11_input_act(&r->x, &action, ret, &r->err);
	th_json_free(doc);
	th_arena_deinit(&arena);
	return code;
}

void rig_ok(struct rig *r, const char *json)
{
	struct th_act_result result;

	if (rig_act(r, json, &result) != TH_OK)
		fail_msg("%s: %s", json, r->err.msg);
	assert_true(result.has_at);
}

enum th_code rig_type(struct rig *r, const char *text)
{
	struct th_action action = { .kind = TH_ACTION_TYPE, .text = th_str_of(text) };
	struct th_act_result result = {};

	r->err = (struct th_err){};
	return th_x11_input_act(&r->x, &action, &result, &r->err);
}
