/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolved_models.h - from the names of an agent's models to who may be asked, where,
 * and with which key: everything about models that can be wrong before
 * anything is started.
 *
 * A server that was named for the session (--base-url, `base_url` of the agent
 * file) is that of its first model, and of those of its fallback list that
 * belong to the same provider; the others have their own.  A key given with
 * --api-key-file goes where the first model's key goes, and nowhere else.
 */
#ifndef TH_RUNTIME_RESOLVED_MODELS_H
#define TH_RUNTIME_RESOLVED_MODELS_H

#include "config/config.h"
#include "driver/driver.h"
#include "runtime/human_model.h"

struct th_resolved_model_keys {
	const struct th_secret *model, *grounder; /* the configuration's; NULL: none */
};

struct th_resolved_models {
	/* The agent's model, then its fallback list, then its quarantine_model and judge.model
	 * where it has them. */
	struct th_resolved_model *list;
	struct th_resolved_model_keys *keys;
	size_t count;
};

/* All in the arena, but for what the configuration lends.  `person`: who plays human/human; NULL:
 * nobody.  TH_EUSAGE names the model and what to do; TH_ESETUP what has to be set for it. */
TH_NODISCARD enum th_code th_resolved_models_of(const struct th_config *config,
						struct th_human_model *person,
						const struct th_agent *agent, struct th_arena *a,
						struct th_resolved_models *ret, struct th_err *err);

#endif
