/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - the command "store", shared by store.c and store_blobs.c. */
#ifndef TH_CLI_STORE_H
#define TH_CLI_STORE_H

#include "cli/cli.h"

struct th_store_command {
	struct th_common common;
	bool json;
	int64_t over; /* bytes; -1: not given */
};

/* place NULL: it is only told; "database": none from now on. */
int th_store_command_blobs(const struct th_store_command *o, const char *place);
int th_store_command_clean(const struct th_store_command *o);

#endif
