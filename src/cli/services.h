/* SPDX-License-Identifier: Apache-2.0 */
/*
 * services.h - what `thole serve` answers, as a table.
 */
#ifndef TH_CLI_SERVICES_H
#define TH_CLI_SERVICES_H

#include "base/buf.h"

struct th_service;

extern const struct th_service *const th_services[]; /* ended by NULL */

void th_services_docs(struct th_buf *out); /* docs/HTTP.md */

#endif
