/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address.h - internet addresses, as text and as the kernel has them, and
 * ranges of them.
 *
 * An IPv4 address is kept as the IPv6 address that stands for it
 * (::ffff:192.0.2.1), so that both are compared as one kind.
 */
#ifndef TH_IO_ADDRESS_H
#define TH_IO_ADDRESS_H

#include "base/buf.h"

struct sockaddr;

struct th_address {
	unsigned char bytes[16];
};

/* "192.0.2.1", "2001:db8::1", "[2001:db8::1]"; no name and no zone. */
bool th_address_parse(struct th_str text, struct th_address *ret);
/* False: it is of a socket file, or of no internet protocol. */
bool th_address_of(const struct sockaddr *at, struct th_address *ret);
void th_address_print(const struct th_address *a, struct th_buf *out);
/* One that anybody on the internet can have: not this machine, a private network, a group or a
 * range that is kept for something else; neither when another form of address stands for it. */
bool th_address_is_public(const struct th_address *a);

struct th_subnet {
	struct th_address first;
	unsigned bits; /* of 128 */
};
/* "192.0.2.0/24", "2001:db8::/32", or one address. */
bool th_subnet_parse(struct th_str text, struct th_subnet *ret);
bool th_subnet_has(const struct th_subnet *s, const struct th_address *a);

#endif
