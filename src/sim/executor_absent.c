/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executor_absent.c - what a simulated executor has not: asks for hosts, an egress, files of
 * output.
 */
#include "sim/rename.h"

#include <unistd.h>

#include "sim/executor_internal.h"

/* A simulated session has no net that is a list, so nobody asks. */
bool th_egress_link_sync(struct th_egress_link *x, struct th_egress_wait *w)
{
	assert(!x);
	w->fn(w->ctx);
	return false;
}

/* No program of a simulated session asks for a host. */
void th_exec_ask_said(struct th_executor_server *x, const struct th_exec_run *m)
{
	(void)x;
	(void)m;
}

void th_exec_ask_over(const struct th_exec_effect *e)
{
	(void)e;
}

void th_exec_ask_cancelled(struct th_exec_effect *e)
{
	(void)e;
}

void th_exec_ask_client_gone(const struct th_exec_client *c)
{
	(void)c;
}

void th_egress_link_take(struct th_egress_link *x, struct th_buf *out)
{
	assert(!x);
	(void)out;
}

void th_spool_close(struct th_spool *s)
{
	(void)s;
}

void th_spool_append(struct th_spool *s, int dir_fd, const char *name, struct th_str bytes)
{
	(void)dir_fd, (void)name;
	s->size += bytes.len;
}

enum th_code th_spool_open(struct th_spool *s, int dir_fd, const char *name, struct th_err *err)
{
	(void)s, (void)dir_fd, (void)name;
	return th_fail(err, TH_ENOENT, "there was no output");
}

enum th_code th_spool_read(const struct th_spool *s, uint64_t offset, size_t len,
			   struct th_buf *out, uint64_t *ret, struct th_err *err)
{
	(void)s, (void)len, (void)out, (void)err;
	*ret = offset;
	return TH_OK;
}

int unlinkat(int fd, const char *name, int flags)
{
	(void)fd, (void)name, (void)flags;
	return 0;
}
