/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret.h - keys and tokens, as a type that cannot be printed or stored.
 *
 * The struct is opaque and no function turns it into a th_str but
 * th_secret_expose, which only who sends a value where it belongs may call
 * (io/fetch_request.c, store/s3.c, the server's comparison; for an agent's secrets the messages
 * to its executor and its egress), and who keeps it from going elsewhere
 * (base/mask.c).  Memory is wiped on free.
 */
#ifndef TH_BASE_SECRET_H
#define TH_BASE_SECRET_H

#include "base/str.h"

struct th_secret;

TH_NODISCARD struct th_secret *th_secret_new(struct th_str value);
struct th_secret *th_secret_free(struct th_secret *s);             /* takes NULL, returns NULL */
bool th_secret_eq(const struct th_secret *s, struct th_str other); /* constant time */
struct th_str th_secret_expose(const struct th_secret *s);

#endif
