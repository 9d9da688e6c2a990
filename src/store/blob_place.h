/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob_place.h - where a store puts blobs that are too large for its database: one kind
 * = one file = one row of th_blob_place_kinds.
 *
 * A place belongs to one store, which gave it an id; two stores in one folder or
 * bucket have nothing in common.  What is put there is an object with a name of its
 * own: the blob's digest, and a number that is drawn for each put.  So a put whose
 * outcome is not known is simply made again, and removing an object can never hit
 * what somebody puts there meanwhile: that has another name.
 *
 * All of it blocks: for threads beside the loop.  One thread at a time uses a
 * place; who has two opens it twice.  Errors name the place and the object.  A
 * place that cannot be reached is TH_ECONN.
 */
#ifndef TH_STORE_BLOB_PLACE_H
#define TH_STORE_BLOB_PLACE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"

struct th_blob_place;

#define TH_PLACE_ID_SIZE 32 /* hexadecimal digits */
/* "ab/abcd…-0123456789abcdef" and NUL */
#define TH_PLACE_NAME_SIZE (3 + TH_SHA256_HEX_SIZE + 1 + 16 + 1)

struct th_blob_place_put {
	struct th_str bytes;
	char name[TH_PLACE_NAME_SIZE];
};

/* An object as a walk finds it. */
struct th_blob_place_found {
	struct th_str name;
	bool has_hash; /* false: what was left of a put that was cut off */
	struct th_digest hash;
	int64_t age_ms; /* by this machine's clock */
};
typedef enum th_code th_blob_place_found_fn(void *ctx, const struct th_blob_place_found *found,
					    struct th_err *err);

/* Where a walk goes on. */
struct th_blob_place_walk {
	char after[TH_PLACE_NAME_SIZE];
	unsigned part;
	bool over;
};

struct th_blob_place_kind {
	const char *scheme, *summary;
	/* `rest` is of a URL.  TH_EUSAGE with a sentence. */
	enum th_code (*open)(struct th_str rest, struct th_blob_place *base,
			     struct th_blob_place **ret, struct th_err *err);
	void (*close)(struct th_blob_place *p);
	/* For a store that begins to use it. */
	enum th_code (*make)(struct th_blob_place *p, struct th_err *err);
	/* All of them are durable when it returns. */
	enum th_code (*put)(struct th_blob_place *p, const struct th_blob_place_put *list,
			    size_t count, struct th_err *err);
	/* Appends.  TH_ENOENT. */
	enum th_code (*get)(struct th_blob_place *p, const char *name, struct th_buf *out,
			    struct th_err *err);
	/* A bounded piece. */
	enum th_code (*walk)(struct th_blob_place *p, struct th_blob_place_walk *w,
			     th_blob_place_found_fn *fn, void *ctx, struct th_err *err);
	/* What is not there is no error. */
	enum th_code (*remove)(struct th_blob_place *p, const struct th_str *names, size_t count,
			       struct th_err *err);
};

struct th_blob_place {
	const struct th_blob_place_kind *kind;
	char *url;
	char id[TH_PLACE_ID_SIZE + 1];
};

extern const struct th_blob_place_kind *const th_blob_place_kinds[]; /* NULL-terminated */

/* url: "folder:PATH", "s3:https://HOST/BUCKET".  TH_EUSAGE names the known kinds.  Nothing is
 * reached for. */
TH_NODISCARD enum th_code th_blob_place_open(struct th_str url, struct th_str id,
					     struct th_blob_place **ret, struct th_err *err);
struct th_blob_place *th_blob_place_close(struct th_blob_place *p); /* takes NULL, returns NULL */

/* What a store does that begins to use it: made, and tried with an object that is put, read and
 * removed again. */
TH_NODISCARD enum th_code th_blob_place_begin(struct th_blob_place *p, struct th_err *err);

void th_blob_place_name(const struct th_digest *hash, char ret[static TH_PLACE_NAME_SIZE]);
/* False: it is no name of an object. */
bool th_blob_place_name_parse(struct th_str name, struct th_digest *ret);
void th_blob_place_id_draw(char ret[static TH_PLACE_ID_SIZE + 1]);

#endif
