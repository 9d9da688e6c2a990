/* SPDX-License-Identifier: Apache-2.0 */
/* pq_link.c - the library, and a connection's socket and end. */
#include <errno.h>
#include <poll.h>

#include "base/limits.h"
#include "base/text.h"
#include "io/clock.h"
#include "io/library.h"
#include "postgres/pq_internal.h"

#define SENTENCE_MAX 300

struct th_libpq th_libpq;

/* ---- the library ---- */

static const char *const names[] = {
#define X(name) #name,
	TH_PQ_FUNCTIONS(X)
#undef X
};
static_assert(sizeof(th_libpq) == TH_COUNT(names) * sizeof(void *), "a pointer for each name");

static struct th_library library = {
	.file = "libpq.so.5",
	.what = "PostgreSQL's client library",
	.packages = "Debian, Ubuntu: libpq5; Fedora: libpq; Arch: postgresql-libs; Alpine: libpq",
	.names = names,
	.count = TH_COUNT(names),
	.table = &th_libpq,
};

const char *th_libpq_open(void)
{
	return th_library_open(&library);
}

/* ---- a connection ---- */

void th_pq_close(struct th_pq *c)
{
	if (c->conn)
		th_libpq.PQfinish(c->conn);
	c->conn = NULL;
	c->queued = 0;
}

enum th_code th_pq_fail_conn(struct th_pq *c, struct th_err *err)
{
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_ERR_MSG_MAX);
	struct th_str all = th_str_trim(th_str_of(th_libpq.PQerrorMessage(c->conn)));
	struct th_str text = th_str_trim(th_str_split(&all, '\n')); /* then come its guesses */

	line.may_fail = true;
	th_text_line(&line, text.len ? text : TH_STR("the connection was cut"), SENTENCE_MAX);
	th_pq_close(c);
	return th_fail(err, TH_ECONN, "%s: %s", c->shown, line.ptr);
}

int th_pq_socket(const struct th_pq *c)
{
	return th_libpq.PQsocket(c->conn);
}

enum th_code th_pq_heard(struct th_pq *c, bool *ret, struct th_err *err)
{
	PGnotify *n;

	*ret = false;
	if (!th_libpq.PQconsumeInput(c->conn))
		return th_pq_fail_conn(c, err);
	while ((n = th_libpq.PQnotifies(c->conn))) {
		th_libpq.PQfreemem(n);
		*ret = true;
	}
	/* A server that ends says so, and hangs up. */
	return th_libpq.PQstatus(c->conn) == CONNECTION_BAD ? th_pq_fail_conn(c, err) : TH_OK;
}

enum th_code th_pq_wait(struct th_pq *c, bool writing, bool *ret_reads, uint64_t until_ms,
			struct th_err *err)
{
	struct pollfd fds[2] = {
		{ .fd = th_libpq.PQsocket(c->conn),
		  .events = (short)(writing ? POLLIN | POLLOUT : POLLIN) },
		{ .fd = c->stop_fd, .events = POLLIN },
	};
	uint64_t now = th_clock_ms();
	int status;

	do
		status = poll(fds, 2, until_ms > now ? (int)TH_MIN(until_ms - now, 3600000u) : 0);
	while (status < 0 && errno == EINTR);
	if (status > 0 && !fds[1].revents) {
		if (ret_reads)
			*ret_reads = fds[0].revents & ~POLLOUT;
		return TH_OK;
	}
	th_pq_close(c);
	c->host += status == 0; /* of several, another one is asked next */
	if (status == 0)
		return th_fail(err, TH_ECONN, "%s: the server did not answer in time", c->shown);
	return th_fail(err, TH_ECONN, "%s: the connection was given up", c->shown);
}
