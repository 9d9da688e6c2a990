/* SPDX-License-Identifier: Apache-2.0 */
/* openhands_read.h - a conversation of OpenHands as it lies in files. */
#ifndef TH_ADMIN_OPENHANDS_READ_H
#define TH_ADMIN_OPENHANDS_READ_H

#include "forms/openhands_log.h"

struct th_openhands_files {
	struct th_openhands_log log;
	struct th_str state; /* base_state.json or metadata.json, JSON; absent: none */
	struct th_str name;  /* of the conversation */
	size_t torn;
	size_t mended; /* numbers and halves of characters that only Python has */
};

/* Reads all of it.  TH_EPROTO names the file. */
TH_NODISCARD enum th_code th_openhands_read(const char *path, struct th_openhands_files *ret,
					    struct th_err *err);
void th_openhands_files_deinit(struct th_openhands_files *f);

#endif
