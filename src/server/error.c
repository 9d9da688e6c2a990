/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - what the API said, as the answer of a request: or another node answers it. */
#include "server/fleet.h"
#include "server/service.h"

void th_access_error(struct th_access *a, const struct thole_error *err)
{
	if (th_forward_places(a, err))
		return;
	struct thole_error space;

	err = th_error_public(a->server, err, &space);
	th_access_fail(a, th_status_of(err->code), thole_code_name(err->code), "%s", err->text);
}

const struct thole_error *th_error_public(const struct th_server *s, const struct thole_error *err,
					  struct thole_error *space)
{
	if (err->code != THOLE_ESETUP)
		return err;
	th_journal_say(s, "models", "%s", err->text);
	*space = (struct thole_error){
		.code = THOLE_ESETUP,
		.text = "the server has no key for this model, or does not know its address",
	};
	return space;
}
