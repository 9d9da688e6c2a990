/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_server.h - /mcp: agents as tools, as a row of the server's services.
 */
#ifndef TH_MCP_SERVER_MCP_SERVER_H
#define TH_MCP_SERVER_MCP_SERVER_H

struct th_service;

extern const struct th_service th_service_mcp;

#endif
