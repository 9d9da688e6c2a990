/* SPDX-License-Identifier: Apache-2.0 */
/* role.c - see role.h. */
#include "io/role.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/detach.h"
#include "io/files.h"

static bool known;

void th_role_known(void)
{
	known = true;
}

enum th_code th_role_take(const char *role, struct th_err *err)
{
	const char *given = getenv(TH_ROLE_VARIABLE);

	if (!given || strcmp(given, role) != 0)
		return th_fail(err, TH_EUSAGE,
			       "the role %s is started by thole itself, not by hand", role);
	unsetenv(TH_ROLE_VARIABLE);
	known = true;
	return TH_OK;
}

enum th_code th_role_check(struct th_err *err)
{
	const char *given = getenv(TH_ROLE_VARIABLE);

	if (!given)
		return TH_OK;
	return th_fail(err, TH_EUSAGE,
		       "this program was started as thole's %.32s, but is not thole, so it may "
		       "not start a runtime: whoever started it named the wrong program "
		       "(" TH_ROLE_VARIABLE " is set)",
		       given);
}

enum th_code th_role_program(char *path, const char **ret, struct th_err *err)
{
	enum th_code code = th_role_check(err);

	if (code == TH_OK && !known)
		code = th_fail(err, TH_EUSAGE,
			       "this program is not thole and cannot be started "
			       "again in one of its roles");
	if (code == TH_OK)
		*ret = th_program_self(path);
	return code;
}

/* By its name where that still leads to it, as tools that run us (valgrind) want it. */
enum th_code th_role_open(int *ret_fd, struct th_err *err)
{
	char path[TH_PATH_LEN_MAX];
	const char *program;
	int fd = -1;
	enum th_code code = th_role_program(path, &program, err);

	if (code)
		return code;
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (len > 0) {
		path[len] = '\0';
		fd = open(path, O_PATH | O_CLOEXEC);
	}
	if (fd < 0)
		fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	*ret_fd = fd;
	return fd < 0 ? th_fail_errno(err, errno, "open our own program") : TH_OK;
}
