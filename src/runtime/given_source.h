/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given_source.h - where the value of a client's secret is looked up: {"url": URL, "headers":
 * {NAME: TEXT}}, a server that is asked by a GET (runtime/lookups.h).
 *
 * The address and the headers may hold tokens: they are in memory alone, and in no error.
 */
#ifndef TH_RUNTIME_GIVEN_SOURCE_H
#define TH_RUNTIME_GIVEN_SOURCE_H

#include "base/json.h"
#include "base/limits.h"
#include "base/secret.h"
#include "io/fetch.h"

struct th_given_source {
	uint64_t number; /* another one each time that a client says it; never 0 */
	char name[TH_SECRET_NAME_MAX + 1];
	struct th_secret *url;
	struct {
		char name[TH_SECRET_NAME_MAX + 1];
		struct th_secret *value;
	} headers[TH_SECRET_HEADERS_MAX];
	size_t header_count;
	bool known;        /* its value is one of those that are given */
	uint64_t due_ms;   /* when it is asked again; 0: it was not yet */
	struct th_err why; /* the last time failed; code 0: it did not */
};

/* TH_EUSAGE: what is wrong with it, as what follows a name. */
TH_NODISCARD enum th_code th_given_source_check(const struct th_json *v, struct th_err *err);
/* Of one that was checked. */
struct th_given_source *th_given_source_new(uint64_t number, struct th_str name,
					    const struct th_json *v);
void th_given_source_free(struct th_given_source *g); /* takes NULL */
/* `with` has all but the address and headers. */
TH_NODISCARD enum th_code th_given_source_ask(const struct th_given_source *g,
					      struct th_fetcher *fetcher,
					      struct th_fetch_request with, struct th_fetch_id *ret,
					      struct th_err *err);

#endif
