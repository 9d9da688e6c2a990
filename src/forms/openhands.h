/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands.h - events of OpenHands as JSON, of both generations.
 *
 * V0 (OpenHands up to 0.62): {"id","timestamp","source","message","cause","action","args"} and
 * {…,"observation","content","extras"}; ids count from 0.
 * V1 (software-agent-sdk): flat objects whose "kind" is the name of a class; ids are texts.
 *
 * A kind is one row of a table.  Reading is strict on demand: th_openhands_check says
 * what OpenHands itself would refuse.  An import takes what it refuses as well, and
 * keeps it as it is: a log with one unknown event stays readable.
 *
 * Pure.  Values are borrowed from the JSON that they were read from.
 */
#ifndef TH_FORMS_OPENHANDS_H
#define TH_FORMS_OPENHANDS_H

#include "base/json.h"

enum th_openhands { TH_OPENHANDS_V0, TH_OPENHANDS_V1 };

enum th_openhands_shape { TH_OPENHANDS_ACTION, TH_OPENHANDS_OBSERVATION, TH_OPENHANDS_FLAT };

/* A member of a kind: with its default as JSON; NULL: it must be there; "": absent unless given. */
struct th_openhands_field {
	const char *name, *otherwise;
};

struct th_openhands_kind {
	const char *name;  /* as it is written: "run", "ActionEvent" */
	const char *class; /* name of the class */
	enum th_openhands_shape shape;
	const char *source; /* V1: where none is given; NULL: one must be */
	const struct th_openhands_field *fields;
	size_t count;
	/* V0: the sentence in "message", from the members; NULL: it is empty. */
	void (*say)(const struct th_json *fields, struct th_str content, struct th_buf *out);
	/* V0: the member "success" is written: 1 always true, 2 by the exit code. */
	int success;
};

extern const struct th_openhands_kind th_openhands_v0[], th_openhands_v1[];
extern const size_t th_openhands_v0_count, th_openhands_v1_count;

/* Which generation an event is of; it is of none without kind, action and observation. */
bool th_openhands_generation(const struct th_json *event, enum th_openhands *ret);
/* The row of an event; NULL: unknown, or no event. */
const struct th_openhands_kind *th_openhands_kind(enum th_openhands v, const struct th_json *event);

/* What OpenHands would refuse is TH_EPROTO, and the message names kind and member. */
TH_NODISCARD enum th_code th_openhands_check(enum th_openhands v, const struct th_json *event,
					     struct th_err *err);

/* Whether the members of a V1 event that are there have the types of its class (openhands_types.c);
 * TH_EPROTO names one that has not. */
TH_NODISCARD enum th_code th_openhands_v1_types(const char *kind, const struct th_json *event,
						struct th_err *err);

/* The event as OpenHands writes it today: old names of members are the new ones, defaults are
 * filled in.  TH_EPROTO as th_openhands_check. */
TH_NODISCARD enum th_code th_openhands_print(enum th_openhands v, const struct th_json *event,
					     struct th_jw *w, struct th_err *err);

/* A member of an event of V0 by its present name, wherever old versions had it. */
const struct th_json *th_openhands_v0_get(const struct th_json *event, const char *name);

/* JSON with what Python's json writes beside it: NaN, Infinity and -Infinity become null, and
 * halves of surrogate pairs U+FFFD.  How many of them there were. */
size_t th_python_json(struct th_str text, struct th_buf *out);
/* A dictionary as Python writes it, as JSON.  False: it is none. */
bool th_python_to_json(struct th_str text, struct th_buf *out);
/* A value of JSON as Python's str() shows it. */
void th_python_print(const struct th_json *v, struct th_buf *out);

#endif
