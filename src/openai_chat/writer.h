/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - what the parts of the Chat Completions encoder share: what
 * servers differ in, and a group under way.
 */
#ifndef TH_OPENAI_CHAT_WRITER_H
#define TH_OPENAI_CHAT_WRITER_H

#include "dialects/dialect.h"
#include "openai_chat/chat.h"

enum th_chat_effort {
	TH_CHAT_EFFORT_MEMBER,  /* "reasoning_effort": "high" */
	TH_CHAT_EFFORT_OBJECT,  /* "reasoning": {"effort": "high"} */
	TH_CHAT_EFFORT_THINKING /* "thinking": {"type": "enabled"}, and reasoning_effort */
};

/* What a server takes; the row with name NULL is anybody's. */
struct th_chat_flavour {
	const char *name;
	enum th_chat_effort effort;
	bool no_stream_options; /* refuses stream_options; usage comes all the same */
	bool new_limit;         /* max_completion_tokens, not max_tokens */
	bool no_schema;         /* response_format takes json_object, no json_schema */
	/* Members of an assistant's message that it takes back beside those of the API, with |;
	 * "*": all but reasoning in plain text. */
	const char *back;
	bool thinks_in_calls; /* a message with calls must have reasoning_content, if empty */
	bool short_ids;       /* call ids are nine letters and digits */
	bool answer_first;    /* after a tool message no user message may follow */
	bool marks;           /* passes Anthropic's marks of the cache on, in parts of text */
};

const struct th_chat_flavour *th_chat_flavour_of(const struct th_profile *p);
/* The model caches what is marked, and the server passes marks on. */
bool th_chat_marks(const struct th_request_options *o);

#define TH_CHAT_MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"

/* A string member, still escaped, without its quotes; absent when it is none. */
struct th_str th_chat_raw_str(struct th_str object, const char *key);
/* One part of our own form or the unified one; others are left as they are. */
TH_NODISCARD enum th_code th_chat_put_part(struct th_group_writer *x, struct th_str part);
/* The text of a string or of a list of parts, escaped, without quotes; parts on lines of their
 * own. */
void th_chat_add_text(struct th_str content, struct th_buf *out);
/* A call's id, as the server takes it. */
void th_chat_put_id(struct th_group_writer *x, struct th_str id);

/* Items of an answer as one message of the assistant; nothing when there is nothing to say. */
TH_NODISCARD enum th_code th_chat_put_items(struct th_group_writer *x, struct th_str items);

struct th_dialect_context th_chat_dialect_context(const struct th_request_options *o);

#endif
