/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes to a proxy: what goes on to the server is one request with one Host, whatever came. */
#include <assert.h>

#include "base/limits.h"
#include "wire/proxy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The head again, read as a server reads it. */
static void check_head(const struct th_proxy_request *r, struct th_str head)
{
	struct th_http1 *p = th_http1_new();
	struct th_err err;
	size_t used;
	enum th_http1_step step = th_http1_feed(p, head, &used, &err);

	assert(step == TH_HTTP1_HEAD && used == head.len);
	assert(th_http1_header_count(p, "host") == 1);
	assert(th_str_starts(th_http1_header(p, "host"), r->host));
	assert(th_http1_header_count(p, "proxy-authorization") == 0);
	assert(!th_http1_keep_alive(p));
	th_http1_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str bytes = th_str_n(data, size);
	struct th_proxy_request r;
	char host[256];
	uint16_t port;
	size_t used;
	struct th_err err;

	if (th_socks_greeting(bytes, &used) == TH_SOCKS_DONE)
		assert(used <= size);
	if (th_socks_request(bytes, host, &port, &used) == TH_SOCKS_DONE)
		assert(used <= size && port > 0 && strlen(host) > 0);
	struct th_http1 *p = th_http1_new_relay();
	if (th_http1_feed(p, bytes, &used, &err) == TH_HTTP1_HEAD && !th_proxy_read(p, &r) &&
	    !r.tunnel) {
		TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(2 * TH_HTTP1_HEAD_MAX);

		th_proxy_head(p, &r, &head);
		assert(!head.failed);
		if (head.len < TH_HTTP1_HEAD_MAX)
			check_head(&r, th_buf_str(&head));
	}
	th_http1_free(p);
	return 0;
}
