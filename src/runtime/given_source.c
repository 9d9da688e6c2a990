/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/given_source.h"

#include <stdlib.h>

#include "agents/agent_secret.h"

static bool has_controls(struct th_str text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f)
			return true;
	return false;
}

static enum th_code check_headers(const struct th_json *headers, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(headers);

	if (th_json_is_null(headers))
		return TH_OK;
	if (!th_json_is_object(headers))
		return th_fail(err, TH_EUSAGE, "has headers that are no object of texts");
	if (th_json_count(headers) > TH_SECRET_HEADERS_MAX)
		return th_fail(err, TH_EUSAGE, "has more than %d headers", TH_SECRET_HEADERS_MAX);
	while (th_json_next(&it)) {
		struct th_str value = th_json_str(it.val);

		if (!th_secret_header_ok(it.key))
			return th_fail(
			    err, TH_EUSAGE,
			    "has a header whose name is not that of one which may hold a "
			    "secret");
		if (th_json_type(it.val) != TH_JSON_STR || value.len > TH_SECRET_HEADER_MAX ||
		    has_controls(value))
			return th_fail(err, TH_EUSAGE,
				       "has a header that is no line of at most %zu bytes",
				       (size_t)TH_SECRET_HEADER_MAX);
	}
	return TH_OK;
}

enum th_code th_given_source_check(const struct th_json *v, struct th_err *err)
{
	struct th_str url = th_json_get_str(v, "url");

	if (!th_str_istarts(url, TH_STR("http://")) && !th_str_istarts(url, TH_STR("https://")))
		return th_fail(err, TH_EUSAGE, "has a url that is not http:// or https://");
	if (url.len > TH_SECRET_URL_MAX || has_controls(url) || th_str_find_char(url, ' ') >= 0)
		return th_fail(err, TH_EUSAGE,
			       "has a url with blanks, control characters, or more than %zu bytes",
			       (size_t)TH_SECRET_URL_MAX);
	return check_headers(th_json_get(v, "headers"), err);
}

struct th_given_source *th_given_source_new(uint64_t number, struct th_str name,
					    const struct th_json *v)
{
	struct th_given_source *g = th_alloc(sizeof(*g));
	struct th_json_iter it = th_json_iter(th_json_get(v, "headers"));

	*g = (struct th_given_source){ .number = number,
				       .url = th_secret_new(th_json_get_str(v, "url")) };
	assert(name.len < sizeof(g->name));
	memcpy(g->name, name.ptr, name.len);
	while (th_json_next(&it)) {
		assert(g->header_count < TH_SECRET_HEADERS_MAX &&
		       it.key.len < sizeof(g->headers[0].name));
		memcpy(g->headers[g->header_count].name, it.key.ptr, it.key.len);
		g->headers[g->header_count++].value = th_secret_new(th_json_str(it.val));
	}
	return g;
}

void th_given_source_free(struct th_given_source *g)
{
	if (!g)
		return;
	th_secret_free(g->url);
	for (size_t i = 0; i < g->header_count; i++)
		th_secret_free(g->headers[i].value);
	free(g);
}

enum th_code th_given_source_ask(const struct th_given_source *g, struct th_fetcher *fetcher,
				 struct th_fetch_request with, struct th_fetch_id *ret,
				 struct th_err *err)
{
	struct th_fetch_header headers[TH_SECRET_HEADERS_MAX];

	for (size_t i = 0; i < g->header_count; i++)
		headers[i] = (struct th_fetch_header){ g->headers[i].name,
						       th_secret_expose(g->headers[i].value) };
	with.url = th_secret_expose(g->url);
	with.headers = headers;
	with.header_count = g->header_count;
	return th_fetch_start(fetcher, &with, ret, err);
}
