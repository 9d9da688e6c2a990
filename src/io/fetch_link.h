/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_link.h - libcurl's functions, shared by the files of the HTTP client and url.c. */
#ifndef TH_IO_FETCH_LINK_H
#define TH_IO_FETCH_LINK_H

#include <curl/curl.h>

/* clang-format off */
#define TH_CURL_FUNCTIONS(X)                                                           \
	X(global_init) X(version_info) X(free) X(getdate)                              \
	X(easy_init) X(easy_cleanup) X(easy_setopt) X(easy_getinfo) X(easy_pause)      \
	X(easy_strerror) X(multi_init) X(multi_cleanup) X(multi_setopt)                \
	X(multi_add_handle) X(multi_remove_handle) X(multi_info_read)                  \
	X(multi_socket_action) X(url) X(url_cleanup) X(url_dup) X(url_get) X(url_set)  \
	X(url_strerror)
/* clang-format on */

struct th_libcurl {
#define X(name) __typeof__(curl_##name) *name;
	TH_CURL_FUNCTIONS(X)
#undef X
};
extern struct th_libcurl th_libcurl; /* all set when th_libcurl_open says so */
const char *th_libcurl_open(void);   /* NULL, or why there is none */

#endif
