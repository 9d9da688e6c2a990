/* SPDX-License-Identifier: Apache-2.0 */
#include "io/url.h"

#include <stdlib.h>

#include "io/fetch_link.h"

static CURLUcode set(CURLU *u, struct th_str text)
{
	char *copy = (char *)th_alloc(text.len + 1);
	CURLUcode code;

	if (text.len)
		memcpy(copy, text.ptr, text.len);
	code = memchr(copy, '\0', text.len) ? CURLUE_MALFORMED_INPUT
					    : th_libcurl.url_set(u, CURLUPART_URL, copy, 0);
	free(copy);
	return code;
}

enum th_code th_url_join(struct th_str base, struct th_str location, struct th_buf *out,
			 struct th_err *err)
{
	const char *missing = th_libcurl_open();

	if (missing)
		return th_fail(err, TH_EUNSUPPORTED, "%s", missing);
	CURLU *u = th_libcurl.url();
	char *text = NULL, *user = NULL;
	CURLUcode code = set(u, base);

	if (!code)
		code = set(u, location);
	if (!code && th_libcurl.url_get(u, CURLUPART_USER, &user, 0) == CURLUE_OK)
		code = CURLUE_USER_NOT_ALLOWED;
	if (!code)
		code = th_libcurl.url_set(u, CURLUPART_FRAGMENT, NULL, 0);
	if (!code)
		code = th_libcurl.url_get(u, CURLUPART_URL, &text, 0);
	if (!code)
		th_buf_add_cstr(out, text);
	if (!code && !th_str_istarts(th_str_of(text), TH_STR("http://")) &&
	    !th_str_istarts(th_str_of(text), TH_STR("https://")))
		code = CURLUE_UNSUPPORTED_SCHEME;
	th_libcurl.free(text);
	th_libcurl.free(user);
	th_libcurl.url_cleanup(u);
	if (code)
		return th_fail(err, TH_EUSAGE, "it leads to an address that is not taken: %s",
			       th_libcurl.url_strerror(code));
	return th_buf_check(out, "the address", err);
}
