/* SPDX-License-Identifier: Apache-2.0 */
/* holder.h - who has a session that this command wants: what is said of it, and may it be ended? */
#ifndef TH_CLI_HOLDER_H
#define TH_CLI_HOLDER_H

#include <sys/types.h>

#include "base/err.h"

enum th_holder {
	TH_HOLDER_RUN,    /* it has this session alone */
	TH_HOLDER_SERVER, /* thole serve, */
	TH_HOLDER_EDITOR  /* or thole acp, which have those of others, too */
};

/*
 * The process of this machine and program that a refused lease names ("process 12 on host a, …");
 * 0: there is none, or it is another one by now.
 */
pid_t th_holder_of(const struct th_err *busy, enum th_holder *ret);

/* As th_cli_fail; of a session that a server or an editor here has, also how to reach it there. */
int th_holder_fail(const struct th_err *err);

#endif
