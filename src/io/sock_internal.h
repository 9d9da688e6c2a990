/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sock_internal.h - what sockets on the loop, blocking ones and those that listen share.
 */
#ifndef TH_IO_SOCK_INTERNAL_H
#define TH_IO_SOCK_INTERNAL_H

#include <sys/stat.h>
#include <sys/un.h>

#include "base/limits.h"
#include "io/sock.h"

#define TH_SOCK_CHUNK (64 * TH_KIB) /* one receive */

/* Its length; 0: err says why not. */
socklen_t th_sock_address(const char *path, struct sockaddr_un *ret, struct th_err *err);
/* Whether the other end is this user, or root. */
bool th_sock_peer_allowed(int fd);
TH_NODISCARD enum th_code th_sock_connect_path(const char *path, int *ret_fd, struct th_err *err);
/* Appends the bytes that have come to `in`: >0 their count, 0 at the end, -1 with errno. */
ssize_t th_sock_receive(int fd, struct th_buf *in);
ssize_t th_sock_transmit(int fd, struct th_str bytes);
TH_NODISCARD enum th_code th_sock_check_size(struct th_str json, struct th_str attachment,
					     struct th_err *err);
/* Listens there; `ret_stat` is the socket's file. */
TH_NODISCARD enum th_code th_sock_listen_path(const char *path, int *ret_fd, struct stat *ret_stat,
					      struct th_err *err);

#endif
