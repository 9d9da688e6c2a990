/* SPDX-License-Identifier: Apache-2.0 */
#include "io/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static const unsigned char v4_begin[12] = { [10] = 0xff, [11] = 0xff };

static bool is_v4(const struct th_address *a)
{
	return memcmp(a->bytes, v4_begin, sizeof(v4_begin)) == 0;
}

static void put_v4(const void *bytes, struct th_address *ret)
{
	memcpy(ret->bytes, v4_begin, sizeof(v4_begin));
	memcpy(ret->bytes + sizeof(v4_begin), bytes, 4);
}

bool th_address_parse(struct th_str text, struct th_address *ret)
{
	char copy[INET6_ADDRSTRLEN];
	struct in_addr v4;

	if (text.len > 2 && text.ptr[0] == '[' && text.ptr[text.len - 1] == ']')
		text = th_str_sub(text, 1, text.len - 2);
	if (!text.len || text.len >= sizeof(copy) || memchr(text.ptr, 0, text.len))
		return false;
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	if (inet_pton(AF_INET, copy, &v4) == 1) {
		put_v4(&v4, ret);
		return true;
	}
	return inet_pton(AF_INET6, copy, ret->bytes) == 1;
}

bool th_address_of(const struct sockaddr *at, struct th_address *ret)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (at->sa_family == AF_INET) {
		memcpy(&v4, at, sizeof(v4));
		put_v4(&v4.sin_addr, ret);
		return true;
	}
	if (at->sa_family != AF_INET6)
		return false;
	memcpy(&v6, at, sizeof(v6));
	memcpy(ret->bytes, &v6.sin6_addr, sizeof(ret->bytes));
	return true;
}

void th_address_print(const struct th_address *a, struct th_buf *out)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (is_v4(a))
		(void)inet_ntop(AF_INET, a->bytes + sizeof(v4_begin), text, sizeof(text));
	else
		(void)inet_ntop(AF_INET6, a->bytes, text, sizeof(text));
	th_buf_add_cstr(out, text);
}

bool th_subnet_parse(struct th_str text, struct th_subnet *ret)
{
	struct th_str rest = text, address = th_str_split(&rest, '/');
	int64_t bits;

	if (!th_address_parse(address, &ret->first))
		return false;
	ret->bits = 128;
	if (address.len == text.len)
		return true;
	if (!th_str_i64(rest, &bits) || bits < 0 || bits > (is_v4(&ret->first) ? 32 : 128))
		return false;
	ret->bits = (unsigned)bits + (is_v4(&ret->first) ? 96 : 0);
	return true;
}

bool th_subnet_has(const struct th_subnet *s, const struct th_address *a)
{
	unsigned whole = s->bits / 8, rest = s->bits % 8;

	if (memcmp(s->first.bytes, a->bytes, whole) != 0)
		return false;
	return rest == 0 || (s->first.bytes[whole] ^ a->bytes[whole]) >> (8 - rest) == 0;
}

/* ---- which are public ---- */

/* Of IANA's registries of special addresses. */
static const char *const v4_kept[] = {
	"0.0.0.0/8",     "10.0.0.0/8",      "100.64.0.0/10",  "127.0.0.0/8",    "169.254.0.0/16",
	"172.16.0.0/12", "192.0.0.0/24",    "192.0.2.0/24",   "192.88.99.0/24", "192.168.0.0/16",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",    "240.0.0.0/4",
};
static const char *const v6_kept[] = { "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20" };

static bool in_any(const char *const *list, size_t count, const struct th_address *a)
{
	struct th_subnet s;

	for (size_t i = 0; i < count; i++)
		if (th_subnet_parse(th_str_of(list[i]), &s) && th_subnet_has(&s, a))
			return true;
	return false;
}

bool th_address_is_public(const struct th_address *a)
{
	/* NAT64: the last four bytes are the address that is meant. */
	static const unsigned char nat64[12] = { 0x00, 0x64, 0xff, 0x9b };
	struct th_address v4;

	if (memcmp(a->bytes, nat64, sizeof(nat64)) == 0) {
		put_v4(a->bytes + sizeof(nat64), &v4);
		return th_address_is_public(&v4);
	}
	if (is_v4(a))
		return !in_any(v4_kept, TH_COUNT(v4_kept), a);
	return a->bytes[0] >> 5 == 1 && !in_any(v6_kept, TH_COUNT(v6_kept), a);
}
