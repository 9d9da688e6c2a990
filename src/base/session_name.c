/* SPDX-License-Identifier: Apache-2.0 */
#include "base/session_name.h"

#include <string.h>

#include "base/limits.h"
#include "base/text.h"

_Static_assert(TH_SESSION_ID_MAX == 128, "th_session_name_fault says so");

const char *th_session_name_fault(struct th_str name)
{
	if (!name.len || name.len > TH_SESSION_ID_MAX || th_utf8_valid(name) != name.len)
		return "is text of 1 to 128 bytes";
	for (size_t i = 0; i < name.len; i++)
		if ((unsigned char)name.ptr[i] <= ' ' || name.ptr[i] == 0x7f ||
		    strchr("@/", name.ptr[i]))
			return "has no blanks, no @ and no /";
	return name.ptr[0] == '-' ? "does not begin with a dash" : NULL;
}
