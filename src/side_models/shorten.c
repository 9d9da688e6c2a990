/* SPDX-License-Identifier: Apache-2.0 */
#include "side_models/shorten.h"

bool th_shorten(struct th_shorten *s, size_t count)
{
	if (s->from + 1 >= count)
		return false;
	if (s->each > TH_SHORTEN_ITEM_MIN)
		s->each /= 2;
	else
		s->from += (count - s->from) / 2;
	return true;
}
