/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sessions_api.h - /api: sessions for programs and people, as a row of the server's services.
 */
#ifndef TH_SESSIONS_API_SESSIONS_API_H
#define TH_SESSIONS_API_SESSIONS_API_H

struct th_service;

extern const struct th_service th_service_sessions;

#endif
