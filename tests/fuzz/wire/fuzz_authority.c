/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the header Host, the header Origin or a URL: answers lie inside the bytes. */
#include <stdlib.h>

#include "wire/authority.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(struct th_str part, struct th_str whole)
{
	if (part.len && (part.ptr < whole.ptr || part.ptr + part.len > whole.ptr + whole.len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str bytes = th_str_n(data, size), host = th_authority_host(bytes);
	struct th_str authority = th_authority_of_url(bytes);

	check_inside(host, bytes);
	check_inside(authority, bytes);
	if (th_authority_is_loopback(bytes) && !host.len)
		abort();
	if (th_authority_is_origin(bytes, authority, false) &&
	    !th_str_istarts(bytes, TH_STR("http://")))
		abort();
	return 0;
}
