/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_link.c - the library that speaks HTTP. */
#include "io/fetch_link.h"

#include "base/base.h"
#include "io/library.h"

struct th_libcurl th_libcurl;

static const char *const names[] = {
#define X(name) "curl_" #name,
	TH_CURL_FUNCTIONS(X)
#undef X
};
static_assert(sizeof(th_libcurl) == TH_COUNT(names) * sizeof(void *), "a pointer for each name");

static struct th_library library = {
	.file = "libcurl.so.4",
	.what = "the library that speaks HTTP",
	.packages = "Debian, Ubuntu: libcurl4; Fedora: libcurl; Arch: curl; Alpine: libcurl",
	.names = names,
	.count = TH_COUNT(names),
	.table = &th_libcurl,
};

const char *th_libcurl_open(void)
{
	return th_library_open(&library);
}
