/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_space.h - a network namespace with nothing in it but loopback, and in it
 * a listening socket that is accepted on from outside.
 *
 * Who is inside can reach that socket and nothing else; who holds it knows by
 * the socket alone who connects.  The namespace lives as long as its
 * descriptors or a process in it.
 */
#ifndef TH_IO_NET_SPACE_H
#define TH_IO_NET_SPACE_H

#include "base/err.h"

#define TH_NET_SPACE_PORT 3128 /* inside, on 127.0.0.1 */
#define TH_NET_SPACE_PROXY "http://127.0.0.1:3128"

struct th_net_space {
	int net_fd;    /* the namespace; -1: none */
	int user_fd;   /* the user namespace that owns it; -1: ours, for we are root */
	int listen_fd; /* does not block */
};
#define TH_NET_SPACE_NONE  \
	{                  \
		-1, -1, -1 \
	}

/* TH_EUNSUPPORTED: the kernel or the container forbids it. */
TH_NODISCARD enum th_code th_net_space_new(struct th_net_space *ret, struct th_err *err);
void th_net_space_close(struct th_net_space *s); /* takes an empty one */

/* Between fork and exec: goes in.  0, or -1 with errno. */
int th_net_space_enter(int net_fd, int user_fd);

#endif
