/* SPDX-License-Identifier: Apache-2.0 */
/*
 * desktop.c - kind "desktop": a private Xvfb, opened from outside.  What runs
 * inside is init.c; what is promised stands in desktop.h.
 */
#include "desktop/desktop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "computer/image.h"
#include "computer/tree.h"
#include "desktop/kind.h"
#include "io/child.h"
#include "io/clock.h"
#include "io/detach.h"
#include "io/files.h"
#include "io/loop.h"
#include "io/role.h"
#include "io/sock.h"
#include "x11/x11.h"

#define NOBODY 65534
#define DEFAULT_SIZE ((struct th_size){ 1280, 800 })
#define BACKGROUND 0x2e4a62u /* of the root window: plain, and neither black nor white */

struct desktop {
	struct th_x11 x; /* first member; see th_x11_of */
	bool connected;
	bool plain;
	struct th_loop *loop;
	struct th_sandbox_plan *plan;
	struct th_child *child;
	int control;       /* our end of the pair; -1 */
	char *socket_path; /* of the launch socket; NULL: none */
	int launch_fd;     /* until the init has it */
	char base[64];     /* plain: our folder in /tmp; "" */
	struct th_arena arena;
};

static struct desktop *desktop_of(struct th_computer *c)
{
	return TH_CONTAINER_OF(th_x11_of(c), struct desktop, x);
}

/* ---- what must be installed ---- */

static bool installed(const char *name)
{
	static const char *const folders[] = { "/usr/bin", "/usr/local/bin", "/bin",
					       "/run/current-system/sw/bin" };
	char path[128];

	for (size_t i = 0; i < TH_COUNT(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static enum th_code check_programs(struct th_err *err)
{
	if (!installed("Xvfb"))
		return th_fail(
		    err, TH_EUNSUPPORTED,
		    "Xvfb is not installed (Debian, Ubuntu, Alpine: package xvfb; Fedora: "
		    "xorg-x11-server-Xvfb; Arch: xorg-server-xvfb)");
	if (!installed("openbox"))
		return th_fail(err, TH_EUNSUPPORTED,
			       "the window manager openbox is not installed (package openbox)");
	if (!installed("xkbcomp"))
		return th_fail(
		    err, TH_EUNSUPPORTED,
		    "xkbcomp, which Xvfb needs, is not installed (Debian, Ubuntu: package "
		    "x11-xkb-utils; Fedora, Alpine: xkbcomp; Arch: xorg-xkbcomp)");
	return TH_OK;
}

static bool here(void)
{
	struct th_err ignored;

	return check_programs(&ignored) == TH_OK;
}

/* ---- the sandbox and its first process ---- */

static uid_t user_of(const struct th_computer_options *o)
{
	return o->uid ? o->uid : NOBODY;
}

static gid_t group_of(const struct th_computer_options *o)
{
	return o->gid ? o->gid : o->uid ? o->uid : NOBODY;
}

static enum th_code make_base(struct desktop *d, const struct th_computer_options *o,
			      struct th_err *err)
{
	snprintf(d->base, sizeof(d->base), "/tmp/thole-desktop-XXXXXX");
	if (!mkdtemp(d->base)) {
		d->base[0] = '\0';
		return th_fail_errno(err, errno, "make a folder in /tmp");
	}
	if (geteuid() == 0 && chown(d->base, user_of(o), group_of(o)))
		return th_fail_errno(err, errno, "%s", d->base);
	if (mkdir("/tmp/.X11-unix", 01777) == 0)
		chmod("/tmp/.X11-unix",
		      01777); /* as the X server wants it, which cannot do it itself then */
	return TH_OK;
}

/* Without namespaces root's folders cannot be shown to the programs' user as its own. */
static enum th_code check_workspace(const struct th_computer_options *o, const char *path,
				    struct th_err *err)
{
	struct stat st;

	if (!path || geteuid() != 0)
		return TH_OK;
	if (stat(path, &st))
		return th_fail_errno(err, errno, "the workspace %s", path);
	if (st.st_uid != user_of(o) && (st.st_mode & 0003) != 0003)
		return th_fail(
		    err, TH_EUNSUPPORTED,
		    "the workspace %s belongs to user %u, programs run as user %u, and without "
		    "namespaces it cannot be shown to another user: give it to that user (chown)",
		    path, st.st_uid, user_of(o));
	return TH_OK;
}

/*
 * The strongest confinement that works here: namespaces; else landlock and
 * seccomp, with all of /tmp since X keeps its sockets and locks there; else
 * only the unprivileged user.
 */
static enum th_code make_plan(struct desktop *d, const struct th_computer_options *o,
			      struct th_err *err)
{
	const char *workspace = o->workspace.len ? th_arena_cstr(&d->arena, o->workspace) : NULL;
	struct th_err why = { 0 };

	if (o->workspace.len && !workspace)
		return th_fail(err, TH_EUSAGE, "the workspace's path is too long or holds a NUL");
	const char *profile = o->profile.len ? th_arena_cstr(&d->arena, o->profile) : NULL;

	if (o->profile.len && !profile)
		return th_fail(err, TH_ELIMIT, "the paths of the desktop's folders are too long");
	const char *const writable[] = { profile, NULL };
	const char *const trust[] = { o->trust.len ? th_arena_cstr(&d->arena, o->trust) : NULL,
				      NULL };
	struct th_sandbox s = {
		.readable = trust,
		.writable = writable,
		.placed = o->placed,
		.level_min = TH_SANDBOX_FULL,
		.level_max = TH_SANDBOX_FULL,
		.workspace = workspace,
		.net = o->net_host    ? TH_SANDBOX_NET_HOST
		       : o->net_space ? TH_SANDBOX_NET_SPACE
				      : TH_SANDBOX_NET_NONE,
		.net_fd = o->net_fd,
		.user_fd = o->user_fd,
		.gui = true,
		.uid = geteuid() == 0 ? user_of(o) : 0,
		.gid = geteuid() == 0 ? group_of(o) : 0,
	};
	const char *const readable[] = { "/proc/self/exe", NULL };
	enum th_code code = o->plain ? TH_EUNSUPPORTED : th_sandbox_plan_new(&s, &d->plan, err);
	if (code != TH_EUNSUPPORTED || o->net_space)
		return code;
	d->plain = true;
	s.level_min = TH_SANDBOX_OFF;
	s.level_max = TH_SANDBOX_KERNEL;
	s.readable = readable;
	s.tmp = "/tmp";
	code = check_workspace(o, workspace, &why);
	if (!code)
		code = th_sandbox_plan_new(&s, &d->plan, &why);
	if (code)
		return err ? (*err = why, code) : code;
	return make_base(d, o, err);
}

static enum th_code listen_for_launches(struct desktop *d, const struct th_computer_options *o,
					struct th_err *err)
{
	if (o->state_dir.len == 0)
		return TH_OK;
	size_t size = o->state_dir.len + sizeof("/" TH_DESKTOP_SOCKET);
	d->socket_path = th_alloc(size);
	snprintf(d->socket_path, size, "%.*s/" TH_DESKTOP_SOCKET, TH_FMT(o->state_dir));
	/* A desktop whose owner was killed may not have ended yet. */
	uint64_t until = th_clock_ms() + TH_DESKTOP_END_MS;
	enum th_code code;
	while ((code = th_pipe_listen(d->socket_path, &d->launch_fd, err)) == TH_EBUSY &&
	       th_clock_ms() < until)
		poll(NULL, 0, 5);
	return code ? th_prefix(err, code, "the desktop's launch socket") : TH_OK;
}

static enum th_code start_init(struct desktop *d, int control, struct th_err *err)
{
	static const char *const argv[] = { "/proc/self/fd/5", "desktop-init", NULL };
	TH_CLEANUP(th_fd_close) int self = -1;
	enum th_code code = th_role_open(&self, err);
	/* By which a desktop's processes can be told apart from outside. */
	const char *base =
	    th_arena_cstr(&d->arena, th_arena_printf(&d->arena, "THOLE_DESKTOP=%s", d->base));
	const char *const more[] = { base, TH_ROLE_ENTRY(TH_ROLE_DESKTOP),
				     getenv("LANG") ? NULL : "LANG=C.UTF-8", NULL };
	struct th_child_fd fds[3] = {
		{ control, TH_DESKTOP_CONTROL_FD },
		{ self, TH_DESKTOP_SELF_FD },
		{ d->launch_fd, TH_DESKTOP_LAUNCH_FD },
	};

	_Static_assert(TH_DESKTOP_SELF_FD == 5, "argv[0] names it");
	if (code)
		return code;
	struct th_child_spec spec = {
		.argv = argv,
		.env = base ? th_child_env(&d->arena, NULL, NULL, more) : NULL,
		.cwd = "/",
		.fds = fds,
		.fd_count = d->launch_fd >= 0 ? 3 : 2,
		.sandbox = d->plan,
		.outlive = d->plain, /* it sees our end itself, and cleans up */
	};
	if (!spec.env)
		return th_fail(err, TH_ELIMIT, "the environment is too long");
	return th_child_start(d->loop, &spec, &d->child, err);
}

static enum th_code send_config(struct desktop *d, const struct th_desktop_config *config,
				struct th_err *err)
{
	if (send(d->control, config, sizeof(*config), MSG_NOSIGNAL) != (ssize_t)sizeof(*config))
		return th_fail_errno(err, errno, "tell the desktop's first process what to start");
	return TH_OK;
}

/* One note and the descriptor that came with it; 0 bytes: the init is gone. */
static ssize_t read_note(int control, struct th_desktop_note *note, int *ret_fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} buf;
	struct iovec iov = { note, sizeof(*note) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = buf.bytes,
			      .msg_controllen = sizeof(buf.bytes) };
	ssize_t got = recvmsg(control, &msg, MSG_CMSG_CLOEXEC);

	*ret_fd = -1;
	for (struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&msg) : NULL; c; c = CMSG_NXTHDR(&msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	note->text[sizeof(note->text) - 1] = '\0';
	return got;
}

/* Until the init says that the display is there. */
static enum th_code await_display(struct desktop *d, int interrupt_fd, int *ret_fd, int *ret_number,
				  struct th_err *err)
{
	uint64_t end = th_clock_ms() + TH_DESKTOP_START_MS;
	struct th_desktop_note note;

	for (;;) {
		struct pollfd p[2] = { { .fd = d->control, .events = POLLIN },
				       { .fd = interrupt_fd, .events = POLLIN } };
		uint64_t now = th_clock_ms();
		int ready = now < end ? poll(p, 2, (int)(end - now)) : 0;
		if (ready == 0)
			return th_fail(err, TH_ETIMEOUT, "Xvfb was not ready after %d ms",
				       TH_DESKTOP_START_MS);
		if (ready < 0 && errno != EINTR)
			return th_fail_errno(err, errno, "wait for Xvfb");
		if (ready > 0 && p[1].revents)
			return th_fail(err, TH_ECANCELED, "interrupted while the desktop started");
		if (ready > 0 && p[0].revents)
			break;
	}
	ssize_t got = read_note(d->control, &note, ret_fd);
	if (got != (ssize_t)sizeof(note))
		return th_fail(err, TH_EIO,
			       "the desktop's first process ended before it began (sandbox: %s)",
			       th_sandbox_level_name(th_sandbox_plan_level(d->plan)));
	if (note.kind != TH_DESKTOP_DISPLAY || *ret_fd < 0) {
		th_fd_close(ret_fd);
		return th_fail(err, TH_EIO, "%s", note.text);
	}
	*ret_number = note.value;
	return TH_OK;
}

/* ---- the first look of it ---- */

/* Terminals take a scalable font: the bitmap ones they would ask for are seldom installed. */
static const char resources[] =
    "XTerm*faceName: Monospace\nXTerm*faceSize: 10\n"
    "UXTerm*faceName: Monospace\nUXTerm*faceSize: 10\n"
    "Xft.dpi: 96\nXft.antialias: 1\nXft.hinting: 1\nXft.hintstyle: hintslight\n";

static void set_up_root(struct th_x11 *x)
{
	uint32_t pixel = BACKGROUND,
		 shape = 68; /* left_ptr of the cursor font; the next one is its mask */
	xcb_font_t font = xcb_generate_id(x->conn);
	xcb_cursor_t cursor = xcb_generate_id(x->conn);

	xcb_open_font(x->conn, font, 6, "cursor");
	xcb_create_glyph_cursor(x->conn, cursor, font, font, (uint16_t)shape, (uint16_t)(shape + 1),
				0, 0, 0, 0xffff, 0xffff, 0xffff);
	uint32_t values[] = { pixel, cursor };
	xcb_change_window_attributes(x->conn, x->root, XCB_CW_BACK_PIXEL | XCB_CW_CURSOR, values);
	xcb_clear_area(x->conn, 0, x->root, 0, 0, 0, 0);
	xcb_change_property(x->conn, XCB_PROP_MODE_REPLACE, x->root, XCB_ATOM_RESOURCE_MANAGER,
			    XCB_ATOM_STRING, 8, sizeof(resources) - 1, resources);
	xcb_free_cursor(x->conn, cursor);
	xcb_close_font(x->conn, font);
}

static enum th_code has_manager(struct th_x11 *x, xcb_atom_t atom, bool *ret, struct th_err *err)
{
	void *reply;
	enum th_code code = th_x11_reply(
	    x, xcb_get_property(x->conn, 0, x->root, atom, XCB_ATOM_WINDOW, 0, 1).sequence, &reply,
	    err);

	if (!code)
		*ret = xcb_get_property_value_length(reply) >= 4;
	free(reply);
	return code;
}

/* The window manager announces itself by a property of the root window. */
static enum th_code await_manager(struct th_x11 *x, struct th_err *err)
{
	static const char name[] = "_NET_SUPPORTING_WM_CHECK";
	uint32_t watch = XCB_EVENT_MASK_PROPERTY_CHANGE, none = 0;
	int64_t end = th_x11_now_us() + TH_DESKTOP_START_MS * INT64_C(1000);
	bool there = false, served;
	void *reply;

	xcb_change_window_attributes(x->conn, x->root, XCB_CW_EVENT_MASK, &watch);
	enum th_code code = th_x11_reply(
	    x, xcb_intern_atom(x->conn, 0, sizeof(name) - 1, name).sequence, &reply, err);
	xcb_atom_t atom = code ? XCB_ATOM_NONE : ((const xcb_intern_atom_reply_t *)reply)->atom;
	free(reply);
	while (!code && !(code = has_manager(x, atom, &there, err)) && !there) {
		int64_t left_ms = (end - th_x11_now_us()) / 1000;
		if (left_ms <= 0)
			return th_fail(err, TH_ETIMEOUT,
				       "the window manager was not ready after %d ms",
				       TH_DESKTOP_START_MS);
		code = th_x11_wait_event(x, left_ms, &served, err);
	}
	if (!code)
		xcb_change_window_attributes(x->conn, x->root, XCB_CW_EVENT_MASK, &none);
	return code;
}

static char *env_entry(const char *format, const char *value)
{
	size_t size = strlen(format) + strlen(value) + 1;
	char *text = th_alloc(size);
	/* NOLINTNEXTLINE: `format` is one of ours with one %s */
	snprintf(text, size, "%s%s", format, value);
	return text;
}

static void make_env(struct desktop *d, const char *display)
{
	const char *base = d->plain ? d->base : "/tmp";
	char text[128];

	d->x.env = th_alloc(5 * sizeof(*d->x.env));
	d->x.env[0] = env_entry("DISPLAY=", display);
	snprintf(text, sizeof(text), "%s/run/xauthority", base);
	d->x.env[1] = env_entry("XAUTHORITY=", text);
	snprintf(text, sizeof(text), "%s/home", base);
	d->x.env[2] = env_entry("HOME=", text);
	snprintf(text, sizeof(text), "%s/run", base);
	d->x.env[3] = env_entry("XDG_RUNTIME_DIR=", text);
}

/* ---- life ---- */

static void end(struct desktop *d)
{
	if (d->connected)
		th_x11_deinit(&d->x);
	if (d->control >= 0)
		shutdown(d->control, SHUT_WR);
	if (d->plain && d->child) {
		/* It kills and removes what is its own, and then its end of the pair closes. */
		struct pollfd p = { .fd = d->control, .events = POLLIN };
		struct th_desktop_note note;
		int fd = -1;
		while (poll(&p, 1, TH_DESKTOP_END_MS) > 0 && read_note(d->control, &note, &fd) > 0)
			th_fd_close(&fd);
	}
	th_child_free(d->child);
	th_sandbox_plan_free(d->plan);
	th_loop_free(d->loop);
	th_fd_close(&d->control);
	th_fd_close(&d->launch_fd);
	if (d->socket_path)
		unlink(d->socket_path);
	free(d->socket_path);
	if (d->base[0] && access(d->base, F_OK) == 0)
		(void)!th_dir_remove(d->base, NULL);
	th_arena_deinit(&d->arena);
	free(d);
}

static enum th_code begin(struct desktop *d, const struct th_computer_options *o,
			  struct th_err *err)
{
	struct th_desktop_config config = { 0 };
	struct th_size size = o->size.width > 0 && o->size.height > 0 ? o->size : DEFAULT_SIZE;
	int pair[2], fd = -1, number = 0;
	char display[16];
	enum th_code code;

	if ((code = th_image_check(size, err)) || (code = check_programs(err)) ||
	    (code = th_loop_new(&d->loop, err)) || (code = make_plan(d, o, err)) ||
	    (code = listen_for_launches(d, o, err)))
		return code;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return th_fail_errno(err, errno, "make a socket pair");
	d->control = pair[0];
	code = start_init(d, pair[1], err);
	close(pair[1]);
	th_fd_close(&d->launch_fd);
	if (code)
		return code;

	config.width = size.width;
	config.height = size.height;
	config.plain = d->plain;
	/* With the host's network a program looks for an abstract socket of the host's first. */
	uint16_t chance;
	th_random(&chance, sizeof(chance));
	config.number = d->plain || o->net_host ? 1000 + chance % 50000 : 0;
	th_random(config.cookie, sizeof(config.cookie));
	snprintf(config.base, sizeof(config.base), "%s", d->plain ? d->base : "/tmp");
	if ((code = send_config(d, &config, err)) ||
	    (code = await_display(d, o->interrupt_fd, &fd, &number, err)))
		return code;
	snprintf(display, sizeof(display), ":%d", number);
	d->x.computer.kind = &th_computer_desktop;
	code = th_x11_init(&d->x, fd, th_str_of(display), config.cookie, sizeof(config.cookie),
			   o->interrupt_fd, err);
	if (code)
		return code;
	d->connected = true;
	make_env(d, display);
	set_up_root(&d->x);
	return await_manager(&d->x, err);
}

static enum th_code desktop_open(const struct th_computer_options *options,
				 struct th_computer **ret, struct th_err *err)
{
	struct desktop *d = th_alloc(sizeof(*d));

	d->control = d->launch_fd = -1;
	th_arena_init(&d->arena, 64 * TH_KIB);
	enum th_code code = begin(d, options, err);
	if (code) {
		end(d);
		return code;
	}
	*ret = &d->x.computer;
	return TH_OK;
}

static void desktop_close(struct th_computer *c)
{
	end(desktop_of(c));
}

enum th_sandbox_level th_desktop_level(const struct th_computer *c)
{
	struct th_computer *m = (struct th_computer *)(uintptr_t)c;
	assert(c->kind == &th_computer_desktop);
	return th_sandbox_plan_level(desktop_of(m)->plan);
}

/* ---- programs ---- */

const char *const *th_desktop_prefix(struct th_arena *a, struct th_str state_dir,
				     const char *program)
{
	const char **argv = th_arena_array(a, 5, sizeof(*argv));
	char self[TH_PATH_LEN_MAX];

	if (!argv)
		return NULL;
	argv[0] = program ? program : th_arena_cstr(a, th_str_of(th_program_self(self)));
	argv[1] = "desktop-run";
	argv[2] =
	    th_arena_cstr(a, th_arena_printf(a, "%.*s/" TH_DESKTOP_SOCKET, TH_FMT(state_dir)));
	argv[3] = "--";
	return argv[0] && argv[2] ? argv : NULL;
}

bool th_desktop_role(int argc, char **argv, int *ret_status)
{
	struct th_err err;

	th_role_known();
	if (argc == 2 && strcmp(argv[1], "desktop-init") == 0 &&
	    th_role_take(TH_ROLE_DESKTOP, &err)) {
		fprintf(stderr, "thole desktop-init: %s\n", err.msg);
		*ret_status = 2;
		return true;
	}
	if (argc == 2 && strcmp(argv[1], "desktop-init") == 0) {
		*ret_status = th_desktop_init_main();
		return true;
	}
	if (argc >= 5 && strcmp(argv[1], "desktop-run") == 0 && strcmp(argv[3], "--") == 0) {
		*ret_status = th_desktop_run_main(argv[2], argv + 4);
		return true;
	}
	return false;
}

/* The bus is inside: the init connects to it and hands the socket out. */
static enum th_code tree(struct th_computer *c, th_found_fn *fn, void *ctx, struct th_err *err)
{
	struct desktop *d = desktop_of(c);
	struct pollfd p = { .fd = d->control, .events = POLLIN };
	struct th_desktop_note note = { 0 };
	TH_CLEANUP(th_fd_close) int fd = -1;

	if (send(d->control, "t", 1, MSG_NOSIGNAL) != 1 || poll(&p, 1, TH_TREE_MS) <= 0 ||
	    read_note(d->control, &note, &fd) != (ssize_t)sizeof(note) ||
	    note.kind != TH_DESKTOP_TREE)
		return th_fail(err, TH_EUNSUPPORTED, "the desktop does not answer");
	if (fd < 0)
		return th_fail(err, TH_EUNSUPPORTED, "%s",
			       note.text[0] ? note.text
					    : "there is no accessibility bus: dbus-daemon or "
					      "at-spi2-core is not installed");
	return th_tree_read(fd, &(struct th_tree_options){ .interrupt_fd = d->x.interrupt_fd }, fn,
			    ctx, err);
}

static const char *const *prefix(struct th_arena *a, struct th_str state_dir)
{
	return th_desktop_prefix(a, state_dir, NULL);
}

const struct th_computer_kind th_computer_desktop = {
	.name = "desktop",
	.summary = "a private desktop of its own (Xvfb, openbox), gone with its session",
	.caps = TH_CAP_SEE | TH_CAP_POINTER | TH_CAP_KEYBOARD | TH_CAP_CLIPBOARD | TH_CAP_SETTLE |
		TH_CAP_SHELL,
	.shared = TH_HAS_SIZE | TH_HAS_START,
	.prefix = prefix,
	.here = here,
	.open = desktop_open,
	.size = th_x11_size,
	.see = th_x11_see,
	.pixels = th_x11_pixels,
	.drawn = th_x11_drawn,
	.live = th_x11_live,
	.tree = tree,
	.act = th_x11_act,
	.settle = th_x11_settle,
	.windows = th_x11_windows,
	.reset = th_x11_reset,
	.fd = th_x11_fd,
	.dispatch = th_x11_dispatch,
	.env = th_x11_env,
	.close = desktop_close,
};
