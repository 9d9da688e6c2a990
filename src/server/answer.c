/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c - what the store says as the answer to a request. */
#include <stdio.h>

#include "server/service.h"

void th_access_answer(struct th_access *a, int status, const struct th_found *answer)
{
	if (answer->err)
		th_access_error(a, answer->err);
	else
		th_access_text(a, status, "application/json", answer->text);
}

static void answer_session(struct th_access *a)
{
	const struct th_found *row = th_need_session(&a->needs, a->named, a->user);

	if (row)
		th_access_answer(a, a->status, row);
}

void th_access_session(struct th_access *a, const char *id, int status)
{
	snprintf(a->named, sizeof(a->named), "%s", id);
	a->status = status;
	th_needs_forget(&a->needs); /* it may have changed since */
	a->again = answer_session;
	answer_session(a);
}
