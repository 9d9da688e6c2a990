/* SPDX-License-Identifier: Apache-2.0 */
/* pq_internal.h - libpq's functions, shared by pq.c, pq_link.c, pq_run.c and pq_value.c. */
#ifndef TH_POSTGRES_PQ_INTERNAL_H
#define TH_POSTGRES_PQ_INTERNAL_H

#include "postgres/pq.h"

/* clang-format off */
#define TH_PQ_FUNCTIONS(X)                                                             \
	X(PQconnectStartParams) X(PQconnectPoll) X(PQfinish) X(PQstatus) X(PQsocket)   \
	X(PQerrorMessage) X(PQsetnonblocking) X(PQenterPipelineMode)                   \
	X(PQsendQueryParams) X(PQpipelineSync) X(PQflush) X(PQconsumeInput)            \
	X(PQisBusy) X(PQgetResult) X(PQresultStatus) X(PQresultErrorField) X(PQclear)  \
	X(PQntuples) X(PQgetvalue) X(PQgetlength) X(PQgetisnull) X(PQcmdStatus)        \
	X(PQsetNoticeReceiver) X(PQserverVersion) X(PQparameterStatus)                 \
	X(PQtransactionStatus) X(PQconninfoParse) X(PQconninfoFree)                    \
	X(PQnotifies) X(PQfreemem)
/* clang-format on */

struct th_libpq {
#define X(name) __typeof__(name) *name;
	TH_PQ_FUNCTIONS(X)
#undef X
};
extern struct th_libpq th_libpq; /* all set when th_libpq_open says so */
const char *th_libpq_open(void); /* NULL, or why there is none */

/* Waits for the socket; *ret_reads (may be NULL): something came, or its end.  TH_ECONN after the
 * deadline, or when it is to stop. */
enum th_code th_pq_wait(struct th_pq *c, bool writing, bool *ret_reads, uint64_t until_ms,
			struct th_err *err);
/* "<url>: <sentence>", and what can go on no longer is closed. */
enum th_code th_pq_fail_conn(struct th_pq *c, struct th_err *err);

#endif
