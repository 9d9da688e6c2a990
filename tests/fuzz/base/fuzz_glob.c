/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a pattern and, behind a newline, a path: an answer, soon. */
#include "base/glob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str path = th_str_n(data, size), pattern = th_str_split(&path, '\n');
	bool plain = th_glob_path(pattern, path, TH_GLOB_GITIGNORE);
	bool braces = th_glob_path(pattern, path, TH_GLOB_SHELL);

	/* Without braces both are the same. */
	assert(plain == braces || th_str_find_char(pattern, '{') >= 0);
	(void)th_glob_path(pattern, path, TH_GLOB_STARS);
	return 0;
}
