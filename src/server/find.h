/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find.h - the node of a fleet that a request is for.
 */
#ifndef TH_SERVER_FIND_H
#define TH_SERVER_FIND_H

#include "base/label.h"
#include "base/limits.h"
#include "base/str.h"
#include "server/server.h"

/* A node as others name it in what they give to clients: a digest of its address. */
#define TH_FLEET_TAG_SIZE 8
void th_fleet_tag(struct th_str address, char ret[static TH_FLEET_TAG_SIZE + 1]);

enum th_find_by {
	TH_FIND_SESSION, /* the one that has it */
	TH_FIND_LABELS,  /* of those that have them all, the one that has least to do */
	TH_FIND_TAG,     /* the one that is named so */
};

/* A text, or a JSON string, as a session's name; false: it cannot be one. */
bool th_session_name(struct th_str text, char ret[static TH_SESSION_ID_MAX + 1]);
bool th_session_name_raw(struct th_str raw, char ret[static TH_SESSION_ID_MAX + 1]);

#define TH_FIND_TEXT_MAX (2 * TH_LABELS_TEXT_MAX)
_Static_assert(TH_FIND_TEXT_MAX > TH_SESSION_ID_MAX, "what is looked for fits");

/* `code` 0: found, or there is none. */
typedef void th_find_fn(void *ctx, int code, const struct thole_error *err);

struct th_node_find {
	struct th_server *server;
	struct thole_reading *look; /* NULL: none is under way */
	th_find_fn *fn;
	void *ctx;
	enum th_find_by by;
	char what[TH_FIND_TEXT_MAX];
	/* What it found. */
	bool found;
	int64_t busy; /* sessions that run there */
	char address[TH_FLEET_TEXT_MAX + 1];
};

void th_node_find_init(struct th_node_find *f, struct th_server *s, th_find_fn *fn, void *ctx);
/* A result other than 0: `fn` is not called.  THOLE_EUSAGE: no session has such a name. */
TH_NODISCARD int th_node_find_start(struct th_node_find *f, struct thole_error *err);
void th_node_find_stop(struct th_node_find *f);

#endif
