/* SPDX-License-Identifier: Apache-2.0 */
/* reaper.c - see reaper.h. */
#include "executor/reaper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/child.h"
#include "io/clock.h"
#include "io/detach.h"
#include "io/files.h"
#include "io/role.h"
#include "io/sock.h"

#define CLEAN_ROUNDS 3 /* looks that find nothing: what was being born has the entry by then */
#define ROUND_MS 20
#define STOP_MS 2000

enum th_code th_reaper_start(char entry[static TH_REAPER_ENTRY_SIZE], int *ret_fd,
			     struct th_err *err)
{
	char self[TH_PATH_LEN_MAX];
	const char *program;
	uint64_t random[2];
	int pair[2];

	th_random(random, sizeof(random));
	snprintf(entry, TH_REAPER_ENTRY_SIZE, "THOLE_EXECUTOR=%016llx%016llx",
		 (unsigned long long)random[0], (unsigned long long)random[1]);
	enum th_code code = th_pipe_pair(pair, err);
	if (code)
		return code;
	/* As an argument: in its own environment it would find itself. */
	const char *const argv[] = { "thole", "exec", "--role", "reaper", "--entry", entry, NULL };
	const char *const env[] = { TH_ROLE_ENTRY(TH_ROLE_REAPER), NULL };
	const struct th_child_fd fds[] = { { pair[1], 3 } };
	code = th_role_program(self, &program, err);
	if (code == TH_OK)
		code = th_detach(program, argv, env, fds, TH_COUNT(fds), NULL, err);
	th_fd_close(&pair[1]);
	if (code) {
		th_fd_close(&pair[0]);
		return th_prefix(err, code, "start the reaper");
	}
	*ret_fd = pair[0];
	return TH_OK;
}

void th_reaper_stop(int *fd)
{
	struct pollfd p = { .fd = *fd, .events = POLLIN };

	if (*fd < 0)
		return;
	shutdown(*fd, SHUT_WR);
	while (poll(&p, 1, STOP_MS) < 0 && errno == EINTR)
		;
	th_fd_close(fd);
}

int th_reaper_main(int fd, const char *entry)
{
	char byte;
	ssize_t got;

	/* Not what a terminal or a service manager says to a whole group. */
	for (int i = 1; i < NSIG; i++)
		if (i != SIGKILL && i != SIGSTOP && i != SIGSEGV && i != SIGBUS && i != SIGABRT)
			signal(i, SIG_IGN);
	do
		got = read(fd, &byte, 1);
	while (got > 0 || (got < 0 && errno == EINTR));
	for (int clean = 0; clean < CLEAN_ROUNDS;) {
		clean = th_child_kill_marked(entry) > 0 ? 0 : clean + 1;
		if (clean < CLEAN_ROUNDS)
			poll(NULL, 0, ROUND_MS);
	}
	return 0;
}
