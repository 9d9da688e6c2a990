/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - the accessibility bus of a display that is already there.
 *
 * Who opened the display says that the bus may be asked, and which: the one
 * that the session has written on the root window (AT_SPI_BUS, as AT-SPI's own
 * programs find it), or an address.  What stands on the root window every
 * program of the display may write, so it is taken only for a socket of this
 * user's; root takes anybody's.
 */
#include "x11/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/limits.h"
#include "computer/tree.h"
#include "io/files.h"
#include "wire/dbus.h"

static enum th_code intern(struct th_x11 *x, const char *name, xcb_atom_t *ret, struct th_err *err)
{
	xcb_intern_atom_reply_t *r;
	void *reply;
	enum th_code code = th_x11_reply(
	    x, xcb_intern_atom(x->conn, 1, (uint16_t)strlen(name), name).sequence, &reply, err);

	if (code)
		return code;
	r = reply;
	*ret = r ? r->atom : XCB_ATOM_NONE;
	free(reply);
	return TH_OK;
}

/* Adds nothing where there is no such text. */
static enum th_code read_root(struct th_x11 *x, const char *name, struct th_buf *out,
			      struct th_err *err)
{
	xcb_get_property_reply_t *r;
	xcb_atom_t atom;
	void *reply;
	enum th_code code = intern(x, name, &atom, err);

	if (code || atom == XCB_ATOM_NONE)
		return code;
	code = th_x11_reply(x,
			    xcb_get_property(x->conn, 0, x->root, atom, XCB_ATOM_STRING, 0,
					     TH_BUS_ADDRESS_MAX / 4 + 1)
				.sequence,
			    &reply, err);
	if (code)
		return code;
	r = reply;
	if (r && r->type == XCB_ATOM_STRING && r->format == 8)
		th_buf_add_mem(out, xcb_get_property_value(r),
			       (size_t)xcb_get_property_value_length(r));
	free(reply);
	return th_buf_check(out, "the address of the accessibility bus", err);
}

static enum th_code dial(struct th_str address, bool own_only, int *ret, struct th_err *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	TH_CLEANUP(th_buf_deinit) struct th_buf path = TH_BUF_INIT(sizeof(a.sun_path) - 1);
	TH_CLEANUP(th_fd_close) int fd = -1;
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (!th_dbus_path(address, &path))
		return th_fail(err, TH_EUSAGE,
			       "it is not the address of a socket, such as unix:path=/…");
	memcpy(a.sun_path, path.ptr, path.len);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&a, sizeof(a)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return th_fail_errno(err, errno, "connect to it");
	if (own_only && geteuid() != 0 && peer.uid != geteuid())
		return th_fail(err, TH_EPERM, "it belongs to another user");
	*ret = fd;
	fd = -1;
	return TH_OK;
}

enum th_code th_x11_tree(struct th_computer *c, th_found_fn *fn, void *ctx, struct th_err *err)
{
	struct th_x11 *x = th_x11_of(c);
	TH_CLEANUP(th_buf_deinit) struct th_buf address = TH_BUF_INIT(TH_BUS_ADDRESS_MAX);
	bool asked = x->bus && strcmp(x->bus, TH_X11_BUS_OF_DISPLAY) == 0;
	TH_CLEANUP(th_fd_close) int fd = -1;
	enum th_code code = TH_OK;

	if (!x->bus)
		return th_fail(err, TH_EUNSUPPORTED, "no accessibility bus is named");
	if (asked)
		code = read_root(x, "AT_SPI_BUS", &address, err);
	else
		th_buf_add_cstr(&address, x->bus);
	if (!code && !address.len)
		code = th_fail(err, TH_EUNSUPPORTED, "the display %.*s names none (AT_SPI_BUS)",
			       TH_FMT(x->name));
	if (!code)
		code = dial(th_buf_str(&address), asked, &fd, err);
	if (code) {
		err->code = TH_EUNSUPPORTED;
		return th_prefix(err, code, "the accessibility bus");
	}
	return th_tree_read(fd, &(struct th_tree_options){ .interrupt_fd = x->interrupt_fd }, fn,
			    ctx, err);
}
