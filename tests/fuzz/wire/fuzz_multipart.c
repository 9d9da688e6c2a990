/* SPDX-License-Identifier: Apache-2.0 */
/* Any header and body: what is found lies inside the body, and its mark behind it.  The first line
 * is the header. */
#include <assert.h>

#include "wire/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str body = th_str_n(data, size);
	struct th_str type = th_str_split(&body, '\n'), found;

	if (!th_multipart_find(type, body, TH_STR("file"), &found))
		return 0;
	assert(found.ptr >= body.ptr && found.len <= body.len);
	assert(th_str_starts(
	    th_str_n(found.ptr + found.len, (size_t)(body.ptr + body.len - found.ptr) - found.len),
	    TH_STR("\r\n--")));
	return 0;
}
