/* SPDX-License-Identifier: Apache-2.0 */
/*
 * computer.h - a computer without an agent: its calls (computer.c), and programs
 * on terminals of it (terminal.c).
 */
#ifndef TH_API_COMPUTER_H
#define TH_API_COMPUTER_H

#include "api/api.h"
#include "exec_client/client.h"

struct computer_call;

struct thole_computer {
	struct thole_computer *prev, *next;
	struct thole_runtime *rt;
	struct th_executor_client *client;
	struct th_size size;
	const char *tool; /* that works on it, beside computer and shell; NULL: none */
	struct computer_call *calls;
	size_t count;
	struct thole_terminal *terminals;
	size_t terminal_count;
};

/* Its executor is there. */
static inline void th_api_computer_ready(struct thole_computer *c,
					 const struct th_executor_info *info)
{
	c->size = info->screen;
}

/* ---- terminal.c ---- */

/* Without a word: the computer is freed. */
void th_api_terminals_end(struct thole_computer *c);

#endif
