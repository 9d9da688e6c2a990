/* SPDX-License-Identifier: Apache-2.0 */
/* response_fault.c - why a request of a model API is refused. */
#include <stdarg.h>
#include <stdio.h>

#include "model_api/response_making.h"

bool th_response_fault(struct th_response_fault *f, int status, const char *code, const char *fmt,
		       ...)
{
	va_list ap;

	f->status = status;
	f->code = code;
	va_start(ap, fmt);
	vsnprintf(f->message, sizeof(f->message), fmt, ap);
	va_end(ap);
	return false;
}

int th_response_status(int code)
{
	int status = th_status_of(code);

	if (th_code_passes(code))
		return 503;
	return status == 500 || status == 503 ? status : 400;
}

bool th_making_fault_api(struct th_making *m, const struct thole_error *err)
{
	struct thole_error space;

	err = th_error_public(m->server, err, &space);
	if (err->code == THOLE_EPLACE)
		m->fault->lacks = *err;
	return th_response_fault(m->fault, th_response_status(err->code), NULL, "%s", err->text);
}

bool th_making_pending(struct th_making *m)
{
	m->fault->pending = true;
	return false;
}
