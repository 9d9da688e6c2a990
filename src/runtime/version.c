// SPDX-License-Identifier: Apache-2.0
/* The version of the library, as the build states it. */
#include <thole/thole.h>

const char *thole_version(void)
{
	return TH_VERSION;
}
