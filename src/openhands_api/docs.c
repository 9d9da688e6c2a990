/* SPDX-License-Identifier: Apache-2.0 */
/* docs.c - what docs/HTTP.md says of OpenHands' face. */
#include "openhands_api/internal.h"

const char th_oh_doc[] =
    "## OpenHands' agent-server\n\n"
    "`--openhands ADDRESS` listens a second time, on this machine alone, and answers there as "
    "OpenHands' agent-server does, for its own clients: `/api/conversations`, their events in "
    "pages, and `/sockets/events/{id}`. It takes the same tokens, also in `X-Session-API-Key`; "
    "errors are `{\"detail\": TEXT}`. [OPENHANDS.md](OPENHANDS.md) says what is there and what is "
    "not.\n\n";
