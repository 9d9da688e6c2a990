/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress.h - the process that reaches the network for sessions whose net is a
 * list: one per user and machine.
 *
 * Programs of a session are in a namespace without a network (io/net_space.h);
 * all that is there is a socket on which this process accepts.  So it knows by
 * the socket which session somebody belongs to, and nobody proves anything by
 * what he sends.  It speaks HTTP/1.1 as a forward proxy and SOCKS 5, resolves names
 * itself, refuses addresses that are not public unless the list has them, and
 * dials the address that it has checked.
 *
 * The first executor that needs it starts it (link.h) and later ones find it:
 * byte 0 of a lock file is held for its life, and the file says its socket and a
 * random token, which each executor must show.  It ends when it has had no
 * session for TH_EGRESS_LINGER_MS.  It keeps nothing: when it is killed,
 * connections break, and executors start another one when one is needed.
 */
#ifndef TH_EGRESS_EGRESS_H
#define TH_EGRESS_EGRESS_H

/* `thole exec --role egress --fd N`: closes that descriptor when it listens, or when another one
 * runs.  Returns the exit status. */
int th_egress_main(int ready_fd);

#endif
