/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands_tools.h - tools that a client of OpenHands gave to a session, as that client sees them.
 *
 * The client makes a type of each tool's schema, and cannot read an event with a call that this
 * type does not take.
 */
#ifndef TH_FORMS_OPENHANDS_TOOLS_H
#define TH_FORMS_OPENHANDS_TOOLS_H

#include "base/json.h"

/* Is this a call of one of these tools, whose arguments its type takes? */
bool th_openhands_tool_takes(const struct th_json *tools, struct th_str name,
			     const struct th_json *arguments);

#endif
