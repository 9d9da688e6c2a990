/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.h - the message of a streamed Chat Completions answer, put
 * together from its deltas.
 *
 * Servers send more than the API knows, so nothing is left out: of a member of
 * the message, strings are joined, lists appended, objects joined member by
 * member; of anything else the last value counts.  Names and ids are said once.
 * Calls are found by their index, else by their id, else by the order of
 * arrival.  Everything is kept as raw JSON; who prints it checks it.
 */
#ifndef TH_OPENAI_CHAT_MESSAGE_H
#define TH_OPENAI_CHAT_MESSAGE_H

#include "base/arena.h"
#include "base/buf.h"

#define TH_CHAT_MEMBERS_MAX 64 /* members of one object that are joined */
#define TH_CHAT_DEPTH_MAX 6    /* objects and lists inside each other that are joined */

struct th_chat_node;

struct th_chat_message {
	struct th_arena arena;
	struct th_chat_node *root; /* NULL: nothing came */
	size_t size;               /* bytes kept */
	bool failed;               /* over a maximum: nothing more is taken */
};

void th_chat_message_init(struct th_chat_message *m);
void th_chat_message_deinit(struct th_chat_message *m);
/* A delta: what begins with a raw object.  Returns what stands behind its last member. */
struct th_str th_chat_message_add(struct th_chat_message *m, struct th_str delta);
/* The whole as JSON; {} when nothing came. */
void th_chat_message_print(const struct th_chat_message *m, struct th_buf *out);

#endif
