/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands_api.h - thole serve --openhands: conversations for clients of OpenHands' agent-server
 * (docs/OPENHANDS.md).
 */
#ifndef TH_OPENHANDS_API_OPENHANDS_API_H
#define TH_OPENHANDS_API_OPENHANDS_API_H

#include "server/service.h"

extern const struct th_service th_service_openhands;

#endif
