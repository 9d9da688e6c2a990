/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - what all files of this store stand on: whether it can be used, and its
 * connections. */
#include <signal.h>

#include "base/limits.h"
#include "postgres/postgres.h"

#define STACK_SIZE (512 * TH_KIB)

struct th_postgres *th_postgres_of(struct th_store *s)
{
	assert(s);
	return TH_CONTAINER_OF(s, struct th_postgres, base);
}

enum th_code th_postgres_connect(struct th_postgres *s, struct th_pq *c, struct th_err *err)
{
	enum th_code code;
	bool other = false;

	if (c->conn && th_pq_is_old(c)) /* a standby took over: it would wait, or read what was */
		th_pq_close(c);
	if (c->conn)
		return TH_OK;
	code = th_pq_connect(c, err);
	if (code != TH_OK)
		return code;
	pthread_mutex_lock(&s->lock);
	if (s->system == 0)
		s->system = c->is.system;
	other = s->system != c->is.system;
	pthread_mutex_unlock(&s->lock);
	if (!other)
		return TH_OK;
	th_pq_close(c);
	return th_fail(err, TH_EIO, "%s is another database than before (its system identifier)",
		       s->shown);
}

bool th_postgres_thread(pthread_t *ret, void *(*fn)(void *), struct th_postgres *s)
{
	pthread_attr_t attr;
	sigset_t all, old;
	bool good;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	good = pthread_create(ret, &attr, fn, s) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return good;
}

enum th_code th_postgres_writable(struct th_postgres *s, struct th_err *err)
{
	if (s->read_only)
		return th_fail(err, TH_EPERM, "%s was opened for reading only", s->shown);
	return th_group_usable(&s->group, err);
}
