/* SPDX-License-Identifier: Apache-2.0 */
#include "base/picture_type.h"

const char *th_picture_type(struct th_str bytes)
{
	if (th_str_starts(bytes, TH_STR("\x89PNG\r\n\x1a\n")))
		return "image/png";
	if (th_str_starts(bytes, TH_STR("\xff\xd8\xff")))
		return "image/jpeg";
	if (th_str_starts(bytes, TH_STR("GIF8")))
		return "image/gif";
	if (bytes.len >= TH_PICTURE_TYPE_BYTES && th_str_starts(bytes, TH_STR("RIFF")) &&
	    th_str_is(th_str_sub(bytes, 8, 4), "WEBP"))
		return "image/webp";
	return NULL;
}
