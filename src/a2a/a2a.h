/* SPDX-License-Identifier: Apache-2.0 */
/*
 * a2a.h - agents for other agents, as a row of the server's services.
 */
#ifndef TH_A2A_A2A_H
#define TH_A2A_A2A_H

struct th_service;

extern const struct th_service th_service_a2a;

#endif
