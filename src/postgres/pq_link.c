/* SPDX-License-Identifier: Apache-2.0 */
/* pq_link.c - the library, and a connection's socket and end. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/text.h"
#include "io/clock.h"
#include "postgres/pq_internal.h"

#define LIBRARY "libpq.so.5"
#define SENTENCE_MAX 300

struct th_libpq th_libpq;

/* ---- the library ---- */

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static char missing[200]; /* why there is none */

/* A pointer to an object as one to a function, as POSIX has it. */
static bool find(void *library, const char *name, void *ret, size_t size)
{
	void *at = dlsym(library, name);

	assert(size == sizeof(at));
	memcpy(ret, &at, size);
	if (!at)
		snprintf(missing, sizeof(missing), LIBRARY " has no function %s", name);
	return at != NULL;
}

static void open_library(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		snprintf(missing, sizeof(missing),
			 LIBRARY " cannot be opened; it is PostgreSQL's client library (in Debian "
				 "the package libpq5)");
		return;
	}
#define X(name)                                                           \
	if (!find(library, #name, &th_libpq.name, sizeof(th_libpq.name))) \
		return;
	TH_PQ_FUNCTIONS(X)
#undef X
}

const char *th_libpq_open(void)
{
	pthread_once(&opened, open_library);
	return missing[0] ? missing : NULL;
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

enum th_code th_pq_wait(struct th_pq *c, bool writing, uint64_t until_ms, struct th_err *err)
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
	if (status > 0 && !fds[1].revents)
		return TH_OK;
	th_pq_close(c);
	c->host += status == 0; /* of several, another one is asked next */
	if (status == 0)
		return th_fail(err, TH_ECONN, "%s: the server did not answer in time", c->shown);
	return th_fail(err, TH_ECONN, "%s: the connection was given up", c->shown);
}
