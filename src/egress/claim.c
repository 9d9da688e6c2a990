/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/files.h"

static enum th_code paths(char dir[static TH_PATH_LEN_MAX], char socket[static TH_PATH_LEN_MAX],
			  struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf state = TH_BUF_INIT(TH_PATH_LEN_MAX);
	TH_CLEANUP(th_buf_deinit) struct th_buf runtime = TH_BUF_INIT(TH_PATH_LEN_MAX);
	enum th_code code = th_dir_of(TH_DIR_STATE, &state, err);

	if (code == TH_OK)
		code = th_dir_of(TH_DIR_RUNTIME, &runtime, err);
	if (code)
		return th_prefix(err, code, "a place for the egress");
	if (snprintf(dir, TH_PATH_LEN_MAX, "%s/egress", state.ptr) >= TH_PATH_LEN_MAX ||
	    snprintf(socket, TH_PATH_LEN_MAX, "%s/egress.sock", runtime.ptr) >= TH_PATH_LEN_MAX)
		return th_fail(err, TH_ELIMIT, "the path of the egress is too long");
	return TH_OK;
}

/* Before it listens: who connects knows the token. */
static enum th_code announce(struct th_egress_claim *c, struct th_err *err)
{
	char text[TH_PATH_LEN_MAX + TH_EGRESS_TOKEN_LEN + 3];
	uint64_t random[2];

	_Static_assert(TH_EGRESS_TOKEN_LEN == 32, "as printed here");
	th_random(random, sizeof(random));
	snprintf(c->token, sizeof(c->token), "%016llx%016llx", (unsigned long long)random[0],
		 (unsigned long long)random[1]);
	int len = snprintf(text, sizeof(text), "%s\n%s\n", c->socket, c->token);
	if (ftruncate(c->lock_fd, 0) < 0 || pwrite(c->lock_fd, text, (size_t)len, 0) != len)
		return th_fail_errno(err, errno, "%s/lock", c->dir);
	return TH_OK;
}

enum th_code th_egress_claim(struct th_egress_claim *c, struct th_err *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	enum th_code code = paths(c->dir, c->socket, err);

	if (code == TH_OK)
		code = th_dir_make(c->dir, 0700, err);
	if (code)
		return code;
	c->dir_fd = open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->dir_fd >= 0)
		c->lock_fd =
		    openat(c->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (c->lock_fd < 0)
		return th_fail_errno(err, errno, "%s/lock", c->dir);
	if (fcntl(c->lock_fd, F_OFD_SETLK, &lock) < 0)
		return errno == EAGAIN || errno == EACCES
			   ? th_fail(err, TH_EBUSY, "an egress runs")
			   : th_fail_errno(err, errno, "%s/lock", c->dir);
	return announce(c, err);
}

enum th_code th_egress_find(char socket[static TH_PATH_LEN_MAX],
			    char token[static TH_EGRESS_TOKEN_LEN + 1], struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(2 * TH_PATH_LEN_MAX);
	char dir[TH_PATH_LEN_MAX], path[TH_PATH_LEN_MAX + 8];
	enum th_code code = paths(dir, socket, err);

	snprintf(path, sizeof(path), "%s/lock", dir);
	if (code == TH_OK)
		code = th_file_read(path, 2 * TH_PATH_LEN_MAX, &text, err);
	if (code)
		return code;
	struct th_str rest = th_buf_str(&text);
	th_str_split(&rest, '\n'); /* its path, for people */
	struct th_str found = th_str_split(&rest, '\n');
	if (found.len != TH_EGRESS_TOKEN_LEN)
		return th_fail(err, TH_ENOENT, "%s has no token", path);
	memcpy(token, found.ptr, found.len);
	token[found.len] = '\0';
	return TH_OK;
}
