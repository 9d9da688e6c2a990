/* SPDX-License-Identifier: Apache-2.0 */
/* http_request.c - what the owner of a request may know of it. */
#include "io/http_parts.h"

bool th_http_is_begun(const struct th_http_request *r)
{
	return r->state != TH_HTTP_ANSWERS;
}

bool th_http_is_events(const struct th_http_request *r)
{
	return r->state == TH_HTTP_STREAMS && r->events;
}

bool th_http_is_socket(const struct th_http_request *r)
{
	return r->state == TH_HTTP_SOCKET && r->ws;
}

size_t th_http_waiting(const struct th_http_request *r)
{
	return r->out.len - r->sent;
}

struct th_str th_http_method(const struct th_http_request *r)
{
	return th_http1_method(r->parser);
}

struct th_str th_http_path(const struct th_http_request *r)
{
	struct th_str target = th_http1_target(r->parser);

	return th_str_split(&target, '?');
}

struct th_str th_http_query(const struct th_http_request *r)
{
	struct th_str target = th_http1_target(r->parser);

	(void)th_str_split(&target, '?');
	return target;
}

struct th_str th_http_header(const struct th_http_request *r, const char *name)
{
	return th_http1_header(r->parser, name);
}

size_t th_http_header_count(const struct th_http_request *r, const char *name)
{
	return th_http1_header_count(r->parser, name);
}

struct th_str th_http_body(const struct th_http_request *r)
{
	return th_http1_body(r->parser);
}

bool th_http_secure(const struct th_http_request *r)
{
	return r->tls != NULL;
}

bool th_http_peer(const struct th_http_request *r, struct th_address *ret)
{
	if (r->has_peer)
		*ret = r->peer;
	return r->has_peer;
}

uint64_t th_http_started_ms(const struct th_http_request *r)
{
	return r->started_ms;
}

void th_http_set_data(struct th_http_request *r, void *data)
{
	r->data = data;
}

void *th_http_data(const struct th_http_request *r)
{
	return r->data;
}
