/* SPDX-License-Identifier: Apache-2.0 */
/* blob_place_name.c - the names of objects and of places. */
#include <stdio.h>

#include "io/clock.h"
#include "store/blob_place.h"

void th_blob_place_name(const struct th_digest *hash, char ret[static TH_PLACE_NAME_SIZE])
{
	char hex[TH_SHA256_HEX_SIZE + 1];
	uint64_t number;

	th_random(&number, sizeof(number));
	th_digest_hex(hash, hex);
	snprintf(ret, TH_PLACE_NAME_SIZE, "%.2s/%s-%016llx", hex, hex, (unsigned long long)number);
}

bool th_blob_place_name_parse(struct th_str name, struct th_digest *ret)
{
	struct th_str number = th_str_sub(name, TH_PLACE_NAME_SIZE - 1 - 16, 16);

	if (name.len != TH_PLACE_NAME_SIZE - 1 || name.ptr[2] != '/' ||
	    name.ptr[3 + TH_SHA256_HEX_SIZE] != '-' ||
	    !th_digest_parse(th_str_sub(name, 3, TH_SHA256_HEX_SIZE), ret) ||
	    name.ptr[0] != name.ptr[3] || name.ptr[1] != name.ptr[4])
		return false;
	for (size_t i = 0; i < number.len; i++)
		if (!number.ptr[i] || !strchr("0123456789abcdef", number.ptr[i]))
			return false;
	return true;
}

void th_blob_place_id_draw(char ret[static TH_PLACE_ID_SIZE + 1])
{
	uint64_t two[2];

	th_random(two, sizeof(two));
	snprintf(ret, TH_PLACE_ID_SIZE + 1, "%016llx%016llx", (unsigned long long)two[0],
		 (unsigned long long)two[1]);
}
