/* SPDX-License-Identifier: Apache-2.0 */
/*
 * display.c - kind "x11": a display that is already there; and the names
 * and cookies by which displays are found.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/limits.h"
#include "io/files.h"
#include "x11/kind.h"
#include "x11/tree.h"

/* ---- names ---- */

struct display_name {
	struct th_str host; /* empty, or a path in `path` */
	bool path;
	int number;
};

static bool parse_name(struct th_str name, struct display_name *ret)
{
	ptrdiff_t colon = -1;
	int64_t number;

	*ret = (struct display_name){ 0 };
	if (name.len > 0 && name.ptr[0] == '/') {
		ret->path = true;
		ret->host = name;
		return true;
	}
	for (size_t i = 0; i < name.len; i++)
		if (name.ptr[i] == ':')
			colon = (ptrdiff_t)i;
	if (colon < 0)
		return false;
	struct th_str rest = th_str_sub(name, (size_t)colon + 1, name.len);
	if (!th_str_i64(th_str_split(&rest, '.'), &number) || number < 0 || number > 65535 - 6000)
		return false;
	ret->host = th_str_sub(name, 0, (size_t)colon);
	ret->number = (int)number;
	if (th_str_is(ret->host, "unix"))
		ret->host = TH_STR("");
	return true;
}

static int connect_unix(const char *path, size_t len, bool abstract)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t at = abstract ? 1 : 0;

	if (at + len >= sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(a.sun_path + at, path, len);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + at + len + !abstract);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&a, size)) {
		int error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

static bool finish_connect(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int error = 0;
	socklen_t len = sizeof(error);

	if (poll(&p, 1, TH_X11_CONNECT_MS) <= 0)
		error = ETIMEDOUT;
	else
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	errno = error;
	return error == 0;
}

static int connect_tcp(const char *host, int number)
{
	char port[16];
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
	int fd = -1, error = EHOSTUNREACH;

	snprintf(port, sizeof(port), "%d", 6000 + number);
	if (getaddrinfo(host, port, &hints, &list)) {
		errno = error;
		return -1;
	}
	for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0)
			continue;
		if (connect(fd, a->ai_addr, a->ai_addrlen) &&
		    (errno != EINPROGRESS || !finish_connect(fd))) {
			error = errno;
			th_fd_close(&fd);
		}
	}
	freeaddrinfo(list);
	errno = error;
	return fd;
}

enum th_code th_x11_socket(struct th_str name, int *ret_fd, int *ret_number, struct th_err *err)
{
	struct display_name d;
	char text[256];
	int fd;

	if (!parse_name(name, &d) || d.host.len >= sizeof(text) || memchr(name.ptr, '\0', name.len))
		return th_fail(err, TH_EUSAGE,
			       "\"%.*s\" is not the name of a display, such as :0 or host:0",
			       TH_FMT(th_str_sub(name, 0, 100)));
	snprintf(text, sizeof(text), "%.*s", TH_FMT(d.host));
	if (d.path) {
		fd = connect_unix(text, d.host.len, false);
	} else if (d.host.len > 0) {
		fd = connect_tcp(text, d.number);
	} else {
		int len = snprintf(text, sizeof(text), "/tmp/.X11-unix/X%d", d.number);
		fd = connect_unix(text, (size_t)len, false);
		if (fd < 0 && (errno == ENOENT || errno == ECONNREFUSED))
			fd = connect_unix(text, (size_t)len, true);
	}
	if (fd < 0) {
		int error = errno;
		enum th_code code = error == EACCES || error == EPERM ? TH_EPERM
				    : error == ETIMEDOUT              ? TH_ETIMEOUT
								      : TH_ECONN;
		return th_fail(err, code, "no X server answers at the display %.*s: %s",
			       TH_FMT(name), strerror(error));
	}
	*ret_fd = fd;
	*ret_number = d.number;
	return TH_OK;
}

/* ---- cookies: entries of family, address, number, name, data; lengths are two bytes, high first
 * ---- */

enum { FAMILY_LOCAL = 256, FAMILY_WILD = 65535 };

static bool take_u16(struct th_str *s, unsigned *ret)
{
	if (s->len < 2)
		return false;
	*ret = (unsigned)(uint8_t)s->ptr[0] << 8 | (uint8_t)s->ptr[1];
	*s = th_str_sub(*s, 2, s->len);
	return true;
}

static bool take_text(struct th_str *s, struct th_str *ret)
{
	unsigned len;
	if (!take_u16(s, &len) || s->len < len)
		return false;
	*ret = th_str_sub(*s, 0, len);
	*s = th_str_sub(*s, len, s->len);
	return true;
}

/* An entry of this host's name or of any host is better than one of another. */
static int rank_of(unsigned family, struct th_str address)
{
	char host[256];

	if (family == FAMILY_WILD)
		return 2;
	if (family == FAMILY_LOCAL && gethostname(host, sizeof(host)) == 0 &&
	    th_str_is(address, host))
		return 3;
	return 1;
}

enum th_code th_x11_cookie(struct th_str xauthority, int number, bool *ret_found,
			   uint8_t ret[static TH_X11_COOKIE_SIZE], struct th_err *err)
{
	TH_CLEANUP(th_arena_deinit) struct th_arena a = {};
	TH_CLEANUP(th_buf_deinit) struct th_buf file = {};
	struct th_str address, display, name, data;
	char wanted[16];
	unsigned family;
	int best = 0;

	th_arena_init(&a, TH_PATH_LEN_MAX + 64);
	th_buf_init(&file, TH_XAUTHORITY_MAX);
	*ret_found = false;
	const char *path = th_arena_cstr(&a, xauthority);
	if (!path)
		return th_fail(err, TH_EUSAGE,
			       "the path of the X authority file is too long or holds a NUL");
	enum th_code code = th_file_read(path, TH_XAUTHORITY_MAX, &file, err);
	if (code)
		return th_prefix(err, code, "X authority");
	snprintf(wanted, sizeof(wanted), "%d", number);
	struct th_str rest = th_buf_str(&file);
	while (take_u16(&rest, &family) && take_text(&rest, &address) &&
	       take_text(&rest, &display) && take_text(&rest, &name) && take_text(&rest, &data)) {
		if ((display.len > 0 && !th_str_is(display, wanted)) ||
		    !th_str_is(name, "MIT-MAGIC-COOKIE-1") || data.len != TH_X11_COOKIE_SIZE)
			continue;
		int rank = rank_of(family, address);
		if (rank <= best)
			continue;
		best = rank;
		memcpy(ret, data.ptr, TH_X11_COOKIE_SIZE);
		*ret_found = true;
	}
	return TH_OK;
}

/* ---- the kind ---- */

static char *entry(const char *name, struct th_str value)
{
	size_t len = strlen(name);
	char *text = th_alloc(len + 1 + value.len + 1);

	memcpy(text, name, len);
	text[len] = '=';
	memcpy(text + len + 1, value.ptr, value.len);
	return text;
}

static enum th_code x11_open(const struct th_computer_options *options, struct th_computer **ret,
			     struct th_err *err)
{
	uint8_t cookie[TH_X11_COOKIE_SIZE];
	bool found = false;
	int fd, number;

	if (options->display.len == 0)
		return th_fail(err, TH_EUSAGE,
			       "no display is named: set DISPLAY or give --display :0");
	enum th_code code = th_x11_socket(options->display, &fd, &number, err);
	if (code)
		return code;
	if (options->xauthority.len > 0 &&
	    (code = th_x11_cookie(options->xauthority, number, &found, cookie, err)) &&
	    code != TH_ENOENT) {
		close(fd);
		return code;
	}
	struct th_x11 *x = th_alloc(sizeof(*x));
	x->computer.kind = &th_computer_x11;
	code = th_x11_init(x, fd, options->display, found ? cookie : NULL,
			   found ? sizeof(cookie) : 0, options->interrupt_fd, err);
	if (code) {
		free(x);
		return code;
	}
	x->env = th_alloc(3 * sizeof(*x->env));
	x->env[0] = entry("DISPLAY", options->display);
	if (options->xauthority.len > 0)
		x->env[1] = entry("XAUTHORITY", options->xauthority);
	if (options->bus.len > 0)
		x->bus = strndup(options->bus.ptr, options->bus.len);
	*ret = &x->computer;
	return TH_OK;
}

static void x11_close(struct th_computer *c)
{
	struct th_x11 *x = th_x11_of(c);

	th_x11_deinit(x);
	free(x);
}

const struct th_computer_kind th_computer_x11 = {
	.name = "x11",
	.summary = "a display that is already there",
	.caps = TH_CAP_SEE | TH_CAP_POINTER | TH_CAP_KEYBOARD | TH_CAP_CLIPBOARD | TH_CAP_SETTLE,
	.shared = TH_HAS_DISPLAY | TH_HAS_BUS,
	.outlives = true,
	.open = x11_open,
	.size = th_x11_size,
	.see = th_x11_see,
	.pixels = th_x11_pixels,
	.drawn = th_x11_drawn,
	.live = th_x11_live,
	.tree = th_x11_tree,
	.act = th_x11_act,
	.settle = th_x11_settle,
	.reset = th_x11_reset,
	.fd = th_x11_fd,
	.dispatch = th_x11_dispatch,
	.env = th_x11_env,
	.close = x11_close,
};
