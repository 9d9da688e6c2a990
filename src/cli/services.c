/* SPDX-License-Identifier: Apache-2.0 */
/* services.c - what `thole serve` answers: one service, one folder, one row. */
#include "cli/services.h"

#include "a2a/a2a.h"
#include "cua/cua.h"
#include "mcp_server/mcp_server.h"
#include "model_api/model_api.h"
#include "openhands_api/openhands_api.h"
#include "server/service.h"
#include "sessions_api/sessions_api.h"

const struct th_service *const th_services[] = {
	&th_service_operations, &th_service_sessions, &th_service_mcp,       &th_service_a2a,
	&th_service_models,     &th_service_cua,      &th_service_openhands, NULL,
};

void th_services_docs(struct th_buf *out)
{
	th_docs_page(th_services, out);
}
