/* SPDX-License-Identifier: Apache-2.0 */
#include "io/variable.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/text.h"

const char *th_variable(struct th_str name)
{
	char text[TH_VARIABLE_NAME_MAX + 1];

	if (!name.len || name.len > TH_VARIABLE_NAME_MAX || memchr(name.ptr, '\0', name.len))
		return NULL;
	memcpy(text, name.ptr, name.len);
	text[name.len] = '\0';
	return getenv(text);
}

enum th_code th_variable_token(struct th_str name, struct th_secret **ret, struct th_err *err)
{
	const char *value = th_variable(name);

	*ret = NULL;
	if (!name.len)
		return TH_OK;
	if (!value || !value[0])
		return th_fail(err, TH_EUSAGE, "the variable %.*s is not set",
			       TH_FMT(th_utf8_cut(name, 80)));
	*ret = th_secret_new(th_str_of(value));
	return TH_OK;
}
