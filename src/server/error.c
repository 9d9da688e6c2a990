/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - what the API said, as the answer of a request: or another node answers it. */
#include "server/fleet.h"
#include "server/service.h"

void th_access_error(struct th_access *a, const struct thole_error *err)
{
	if (th_forward_places(a, err))
		return;
	th_access_fail(a, th_status_of(err->code), thole_code_name(err->code), "%s", err->text);
}
