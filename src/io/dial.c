/* SPDX-License-Identifier: Apache-2.0 */
#include "io/dial.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/address.h"
#include "io/files.h"

/* What the worker has; it outlives a dial that was given up. */
struct lookup {
	struct th_dial *dial; /* NULL: nobody waits */
	char host[TH_NET_HOST_MAX + 1], port[8];
	struct addrinfo *found;
	int status;
};

struct th_dial {
	struct th_loop *loop;
	const struct th_net_policy *policy;
	uint16_t port;
	struct lookup *lookup;
	struct sockaddr_storage list[TH_DIAL_ADDRESSES_MAX];
	socklen_t sizes[TH_DIAL_ADDRESSES_MAX];
	size_t count, at;
	int fd;
	struct th_poll *poll;
	struct th_timer timer;
	char why[160];
	th_dial_fn *fn;
	void *ctx;
};

static void finish(struct th_dial *d, int fd, bool refused)
{
	th_timer_stop(&d->timer);
	d->poll = th_poll_free(d->poll);
	if (fd >= 0)
		d->fd = -1;
	d->fn(d->ctx, fd, refused, d->why);
}

static void next(struct th_dial *d);

static void failed(struct th_dial *d, int errnum)
{
	d->poll = th_poll_free(d->poll);
	th_fd_close(&d->fd);
	snprintf(d->why, sizeof(d->why), "connect: %s", strerror(errnum));
	next(d);
}

static void on_late(void *ctx)
{
	failed((struct th_dial *)ctx, ETIMEDOUT);
}

static void on_writable(void *ctx, unsigned events)
{
	struct th_dial *d = (struct th_dial *)ctx;
	int errnum = 0;
	socklen_t size = sizeof(errnum);

	(void)events;
	if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &errnum, &size) < 0)
		errnum = errno;
	if (errnum)
		failed(d, errnum);
	else
		finish(d, d->fd, false);
}

/* The next address, which was checked: it is dialled as it is, and no name is looked up again. */
static void next(struct th_dial *d)
{
	int on = 1;

	if (d->at == d->count) {
		finish(d, -1, false);
		return;
	}
	const struct sockaddr_storage *to = &d->list[d->at];
	socklen_t size = d->sizes[d->at++];
	d->fd = socket(to->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (d->fd < 0) {
		failed(d, errno);
		return;
	}
	(void)setsockopt(d->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(d->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	if (connect(d->fd, (const struct sockaddr *)to, size) < 0 && errno != EINPROGRESS) {
		failed(d, errno);
		return;
	}
	struct th_err err;
	if (th_poll_new(d->loop, d->fd, on_writable, d, &d->poll, &err)) {
		failed(d, EIO);
		return;
	}
	th_poll_set(d->poll, TH_POLL_WRITE);
	th_timer_start(&d->timer, TH_DIAL_MS, 0);
}

static bool allowed(const struct th_dial *d, const struct sockaddr *to)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(64);
	struct th_address a;

	if (!d->policy)
		return true;
	if (!th_address_of(to, &a))
		return false;
	if (th_address_is_public(&a))
		return true;
	th_address_print(&a, &text);
	return th_net_lists_address(d->policy, th_buf_str(&text), d->port);
}

static void look_up(void *ctx)
{
	struct lookup *u = (struct lookup *)ctx;
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICSERV };

	u->status = getaddrinfo(u->host, u->port, &hints, &u->found);
}

static void on_found(void *ctx)
{
	struct lookup *u = (struct lookup *)ctx;
	struct th_dial *d = u->dial;
	bool any = false;

	if (d) {
		d->lookup = NULL;
		for (const struct addrinfo *i = u->status ? NULL : u->found; i; i = i->ai_next) {
			any = true;
			if (d->count == TH_DIAL_ADDRESSES_MAX || !allowed(d, i->ai_addr))
				continue;
			memcpy(&d->list[d->count], i->ai_addr, i->ai_addrlen);
			d->sizes[d->count++] = i->ai_addrlen;
		}
		if (u->status)
			snprintf(d->why, sizeof(d->why), "resolve: %s", gai_strerror(u->status));
		else if (d->count == 0)
			snprintf(d->why, sizeof(d->why),
				 "its address is not a public one, and the list does not have it");
	}
	if (u->found && u->status == 0)
		freeaddrinfo(u->found);
	free(u);
	if (d && d->count == 0)
		finish(d, -1, any);
	else if (d)
		next(d);
}

struct th_dial *th_dial_new(struct th_loop *l, const struct th_net_policy *policy, const char *host,
			    uint16_t port, th_dial_fn *fn, void *ctx)
{
	struct th_dial *d = (struct th_dial *)th_alloc(sizeof(*d));
	struct lookup *u = (struct lookup *)th_alloc(sizeof(*u));

	d->loop = l;
	d->policy = policy;
	d->port = port;
	d->fd = -1;
	d->fn = fn;
	d->ctx = ctx;
	d->lookup = u;
	th_timer_init(&d->timer, l, on_late, d);
	u->dial = d;
	snprintf(u->host, sizeof(u->host), "%s", host);
	snprintf(u->port, sizeof(u->port), "%u", port);
	th_work(l, look_up, on_found, u);
	return d;
}

struct th_dial *th_dial_free(struct th_dial *d)
{
	if (!d)
		return NULL;
	if (d->lookup)
		d->lookup->dial = NULL;
	th_timer_stop(&d->timer);
	th_poll_free(d->poll);
	th_fd_close(&d->fd);
	free(d);
	return NULL;
}
