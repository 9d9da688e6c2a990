/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/authority.h"

#include <string.h>

#define PORT_LEN_MAX 5

struct th_str th_authority_host(struct th_str authority)
{
	const struct th_str none = { NULL, 0 };
	ptrdiff_t end = authority.len && authority.ptr[0] == '['
			    ? th_str_find_char(authority, ']') + 1
			    : th_str_find_char(authority, ':');
	struct th_str rest;

	if (end < 0)
		return authority;
	if (end == 0)
		return none;
	rest = th_str_sub(authority, (size_t)end, authority.len);
	if (rest.len > 1 + PORT_LEN_MAX || (rest.len > 0 && rest.ptr[0] != ':'))
		return none;
	for (size_t i = 1; i < rest.len; i++)
		if (rest.ptr[i] < '0' || rest.ptr[i] > '9')
			return none;
	return th_str_sub(authority, 0, (size_t)end);
}

struct th_str th_authority_of_url(struct th_str url)
{
	ptrdiff_t at = th_str_find(url, TH_STR("://"));

	if (at < 0)
		return (struct th_str){ NULL, 0 };
	url = th_str_sub(url, (size_t)at + 3, url.len);
	return th_str_split(&url, '/');
}

bool th_authority_is_loopback(struct th_str authority)
{
	struct th_str host = th_authority_host(authority);

	return th_str_ieq(host, TH_STR("localhost")) || th_str_is(host, "127.0.0.1") ||
	       th_str_is(host, "[::1]");
}

bool th_authority_is_origin(struct th_str origin, struct th_str host, bool secure)
{
	struct th_str scheme = secure ? TH_STR("https://") : TH_STR("http://");

	return host.len > 0 && th_str_istarts(origin, scheme) &&
	       th_str_ieq(th_str_sub(origin, scheme.len, origin.len), host);
}

bool th_authority_origin_ok(struct th_str origin)
{
	size_t scheme = th_str_starts(origin, TH_STR("https://"))  ? 8
			: th_str_starts(origin, TH_STR("http://")) ? 7
								   : 0;
	struct th_str rest = th_str_sub(origin, scheme, origin.len);
	bool good = scheme && rest.len;

	for (size_t i = 0; good && i < rest.len; i++)
		good = (rest.ptr[i] >= '0' && rest.ptr[i] <= '9') ||
		       (rest.ptr[i] >= 'a' && rest.ptr[i] <= 'z') ||
		       (rest.ptr[i] && strchr(".-:[]", rest.ptr[i]));
	return good;
}

bool th_authority_url_of(struct th_str url, struct th_str origin)
{
	/* What follows ends the host and the port. */
	return th_str_istarts(url, origin) &&
	       (url.len == origin.len || url.ptr[origin.len] == '/' || url.ptr[origin.len] == '?');
}
