/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unknown.h - what follows when nobody can know whether an effect happened.
 *
 * The runtime makes a fresh observation and reports it together with the status
 * UNKNOWN.  It never repeats the effect by itself.  The session remembers the
 * unresolved effect: until the model has looked for itself, the very same call
 * (tool and arguments) does not run.  docs/DURABILITY.md has the rule in full.
 *
 * Pure, like all of core: it says which observation to make, and makes none.
 */
#ifndef TH_CORE_UNKNOWN_H
#define TH_CORE_UNKNOWN_H

#include "events/effect.h"
#include "events/event.h"

/* An observation that the runtime makes itself: a class R call of the executor. */
struct th_observation {
	struct th_str tool, arguments; /* tool empty: nothing can be observed */
	struct th_str what;            /* for a sentence: "the screen", "the file a.txt" */
};
/* `arguments` is JSON; strings of the result are static or in the arena. */
struct th_observation th_unknown_observation(struct th_effect_scope scope, struct th_str arguments,
					     bool has_computer, struct th_arena *a);

/* How the observation ended.  output: JSON, a string or a list of parts. */
struct th_observation_result {
	enum th_outcome_status status;
	struct th_str output;
};

/*
 * The output of an UNKNOWN outcome: `said` (JSON: what the executor knows, such
 * as the end of a command's output) after TH_UNKNOWN_SENTENCE, then what the
 * observation showed.  `seen` NULL: no observation was possible.
 */
void th_unknown_print(struct th_str said, const struct th_observation *look,
		      const struct th_observation_result *seen, struct th_buf *out);
/* The output after a person has decided `status`; `told` is what th_unknown_print made. */
void th_unknown_settled(enum th_outcome_status status, struct th_str by, struct th_str message,
			struct th_str told, struct th_buf *out);

/* ---- unresolved effects ---- */

#define TH_UNRESOLVED_PATH_MAX 255

/* What the model reads of an effect of which nobody knows whether it happened. */
#define TH_UNKNOWN_SENTENCE                                                                 \
	"This action was started, but its result was not recorded. It may or may not have " \
	"happened. It was not repeated. Look first (screenshot, read file, list) before "   \
	"doing it again."

struct th_unresolved_effect {
	uint64_t seq; /* of the OUTCOME that said unknown */
	enum th_effect_target target;
	char digest[TH_SHA256_HEX_SIZE + 1];
	char path[TH_UNRESOLVED_PATH_MAX + 1]; /* of the file; empty: none, or too long to keep */
};

/* The last TH_UNRESOLVED_MAX of a session; of more the oldest is let go. */
struct th_unresolved_effects {
	struct th_unresolved_effect *list; /* NULL until there is one */
	size_t count;
};

void th_unresolved_deinit(struct th_unresolved_effects *d);
void th_unresolved_add(struct th_unresolved_effects *d, uint64_t seq, struct th_effect_scope scope,
		       struct th_str arguments, const char *digest);
/*
 * A call ended; `call_seq` is its CALL event.  If it only looked, the effects on
 * what it looked at are resolved; so is an effect that is now known to be done.
 * Only looks count that were asked for after the model had read of the effect.
 */
void th_unresolved_ended(struct th_unresolved_effects *d, uint64_t call_seq,
			 struct th_effect_scope scope, struct th_str arguments, const char *digest,
			 enum th_class class, enum th_outcome_status status);
const struct th_unresolved_effect *th_unresolved_find(const struct th_unresolved_effects *d,
						      const char *digest); /* or NULL */

#endif
