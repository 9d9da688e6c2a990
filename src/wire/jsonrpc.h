/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonrpc.h - one message of JSON-RPC 2.0, read and written: what MCP, ACP and
 * A2A have in common.  Batches are none of theirs.
 */
#ifndef TH_WIRE_JSONRPC_H
#define TH_WIRE_JSONRPC_H

#include "base/json.h"

enum th_rpc_code { /* of the specification */
		   TH_RPC_EPARSE = -32700,
		   TH_RPC_EREQUEST = -32600,
		   TH_RPC_EMETHOD = -32601,
		   TH_RPC_EPARAMS = -32602,
		   TH_RPC_EINTERNAL = -32603
};

enum th_rpc_kind {
	TH_RPC_BROKEN, /* no JSON */
	TH_RPC_WRONG,  /* JSON, but no message; `id` is there where it has a good one */
	TH_RPC_REQUEST,
	TH_RPC_NOTIFICATION,
	TH_RPC_RESULT,
	TH_RPC_ERROR
};

/* Raw JSON, borrowed of the message; absent: it has none. */
struct th_rpc {
	enum th_rpc_kind kind;
	struct th_str id;     /* a string or a number, of at most TH_RPC_ID_MAX bytes */
	struct th_str method; /* the inside of the string */
	struct th_str params; /* an object or a list */
	struct th_str value;  /* of a result, or the error */
};

void th_rpc_read(struct th_str message, struct th_rpc *ret);

/* Strings of JavaScript and of Python may have half of a character, such as a text that was cut in
 * an emoji, or a file's name that is no UTF-8; their JSON has it as an escape, which ours cannot
 * read. True: there was one, and `out` is the message with U+FFFD for each. */
bool th_rpc_mend(struct th_str message, struct th_buf *out);

/* Each appends one message without a line feed.  `id`: raw JSON; empty: null in an answer, and of a
 * call that it is a notification.  `params`, `result`, `data`: raw JSON; empty: left out, or of a
 * result {}. */
void th_rpc_print_call(struct th_str id, const char *method, struct th_str params,
		       struct th_buf *out);
void th_rpc_print_result(struct th_str id, struct th_str result, struct th_buf *out);
void th_rpc_print_error(struct th_str id, int code, struct th_str message, struct th_str data,
			struct th_buf *out);

#endif
