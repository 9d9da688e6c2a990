/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3.h - a client of S3-compatible object stores: signed requests to one bucket, by
 * path (https://HOST/BUCKET/KEY), several at a time, tried again for a bounded time.
 *
 * Each client has a loop of its own that runs only inside a call, so a thread may
 * use it that has none.  The key comes from the environment
 * (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), or from the file
 * that THOLE_S3_KEYS names, and is read again with each call: it may change.
 */
#ifndef TH_STORE_S3_H
#define TH_STORE_S3_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"

struct th_s3;

struct th_s3_request {
	const char *method;
	struct th_str key;   /* below the prefix; letters, digits and "-_./" */
	struct th_str query; /* as wire/sigv4.h has it */
	struct th_str body;
	size_t answer_max;    /* bytes of the answer's body */
	bool missing_is_fine; /* 404 is no error */
	/* What came of it. */
	int status; /* 0: no answer */
	struct th_buf answer;
};

/* rest: "https://HOST[:PORT]/BUCKET[/PREFIX][?region=REGION]", http, too.  TH_EUSAGE. */
TH_NODISCARD enum th_code th_s3_new(struct th_str rest, struct th_s3 **ret, struct th_err *err);
struct th_s3 *th_s3_free(struct th_s3 *s); /* takes NULL, returns NULL */
/* What keys begin with in the bucket: empty, or with a slash behind. */
struct th_str th_s3_prefix(const struct th_s3 *s);

/* All of them, in any order; the first error of all.  TH_ECONN: the store cannot be reached, or is
 * overloaded; TH_ENOENT; TH_EPERM: it refuses the key.  The answers are the caller's to deinit. */
TH_NODISCARD enum th_code th_s3_run(struct th_s3 *s, struct th_s3_request *list, size_t count,
				    struct th_err *err);

#endif
