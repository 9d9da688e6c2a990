/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/holder.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/str.h"
#include "cli/cli.h"
#include "io/files.h"

/* Is it a thole, this very program?  A number may long mean another process. */
static bool is_thole(pid_t pid)
{
	char path[64];
	struct stat ours, theirs;

	(void)snprintf(path, sizeof(path), "/proc/%ld/exe", (long)pid);
	return stat("/proc/self/exe", &ours) == 0 && stat(path, &theirs) == 0 &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/* thole [OPTION…] serve …, thole demo serve, or thole acp. */
static enum th_holder holder_of(pid_t pid)
{
	char path[64], line[TH_PATH_LEN_MAX + 64]; /* its first words are enough */
	struct th_str rest, word;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%ld/cmdline", (long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, line, sizeof(line)) : -1;
	th_fd_close(&fd);
	rest = th_str_n(line, n > 0 ? (size_t)n : 0);
	(void)th_str_split(&rest, '\0'); /* the program */
	do
		word = th_str_split(&rest, '\0');
	while (rest.len && (th_str_starts(word, TH_STR("-")) || th_str_is(word, "demo")));
	return th_str_is(word, "serve") ? TH_HOLDER_SERVER
	       : th_str_is(word, "acp") ? TH_HOLDER_EDITOR
					: TH_HOLDER_RUN;
}

pid_t th_holder_of(const struct th_err *busy, enum th_holder *ret)
{
	struct th_str msg = th_str_of(busy->msg), rest, there;
	ptrdiff_t at = th_str_find(msg, TH_STR("process "));
	char host[65] = "";
	int64_t pid;

	if (at < 0 || gethostname(host, sizeof(host) - 1) != 0)
		return 0;
	rest = th_str_sub(msg, (size_t)at + strlen("process "), msg.len);
	if (!th_str_i64(th_str_split(&rest, ' '), &pid) || pid < 2 || pid > INT32_MAX)
		return 0;
	if (!th_str_is(th_str_split(&rest, ' '), "on") ||
	    !th_str_is(th_str_split(&rest, ' '), "host"))
		return 0;
	there = th_str_split(&rest, ' ');
	there = th_str_split(&there, ',');
	if (!th_str_is(there, host) || !is_thole((pid_t)pid))
		return 0;
	*ret = holder_of((pid_t)pid);
	return (pid_t)pid;
}

int th_holder_fail(const struct th_err *err)
{
	enum th_holder holder = TH_HOLDER_RUN;

	if (err->code != TH_EBUSY || !th_holder_of(err, &holder) || holder == TH_HOLDER_RUN)
		return th_cli_fail(err);
	return th_cli_die(
	    th_code_exit(err->code),
	    holder == TH_HOLDER_SERVER
		? "%s; that is %s serve: the same command with --server URL reaches it"
		: "%s; that is %s acp, which its editor began: do it there",
	    err->msg, th_cli_program());
}
