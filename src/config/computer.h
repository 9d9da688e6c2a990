/* SPDX-License-Identifier: Apache-2.0 */
/*
 * computer.h - the computer of an agent file or of -c, against the row of its kind
 * (computer/computer.h).
 */
#ifndef TH_CONFIG_COMPUTER_H
#define TH_CONFIG_COMPUTER_H

#include "agents/agent.h"
#include "base/buf.h"

/* TH_EUSAGE: `path` names the member ("computer.width"), err says what is wrong with it. */
TH_NODISCARD enum th_code th_config_computer_check(const struct th_agent_computer *k,
						   struct th_buf *path, struct th_err *err);

/* From the two parts of -c KIND[:WIDTHxHEIGHT]; only kind, width and height are set.  `more`: a
 * word that the caller knows beside the kinds, or NULL; it is suggested too. */
TH_NODISCARD enum th_code th_config_computer_read(struct th_str kind, struct th_str size,
						  const char *more, struct th_agent_computer *ret,
						  struct th_err *err);

/* Display, bus and parser that it has and that are not given: from the environment. */
TH_NODISCARD enum th_code th_config_computer_complete(struct th_agent_computer *k,
						      struct th_err *err);

#endif
