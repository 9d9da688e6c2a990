/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_read.h - what a server of MCP answers: the pages of its list of tools, and
 * the content of a result.  Pure, and total: any JSON gives a list, a text, or a
 * sentence that says what is wrong.
 */
#ifndef TH_WIRE_MCP_READ_H
#define TH_WIRE_MCP_READ_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"

/* The list so far: elements of a JSON list, as the server has them. */
struct th_mcp_pages {
	struct th_buf tools, cursor; /* cursor: JSON, of the next page; empty: there is none */
	size_t count, left_out, pages;
};

void th_mcp_pages_init(struct th_mcp_pages *p);
void th_mcp_pages_deinit(struct th_mcp_pages *p);
/* A result of tools/list.  Behind TH_MCP_PAGES_MAX pages, TH_MCP_LISTED_MAX tools or
 * TH_MCP_LIST_SIZE_MAX bytes nothing is taken, only counted, and no page is asked for.  TH_EPROTO:
 * it is no such result. */
TH_NODISCARD enum th_code th_mcp_pages_add(struct th_mcp_pages *p, struct th_str result,
					   struct th_err *err);
/* For the next tools/list. */
void th_mcp_pages_params(const struct th_mcp_pages *p, struct th_buf *out);

/* Where the content of a result goes, in its order. */
struct th_mcp_result_ops {
	void (*text)(void *ctx, struct th_str text);
	/* `bytes` are good until it returns. */
	void (*picture)(void *ctx, struct th_str bytes, struct th_str media_type);
};

/*
 * The result of tools/call.  What is no text and no picture (sound, files, links) is
 * told by a line in brackets; structured content only when there is no other.
 * *ret_error: the tool says that it failed.  TH_EPROTO: it is no such result.
 */
TH_NODISCARD enum th_code th_mcp_result_read(struct th_str result,
					     const struct th_mcp_result_ops *ops, void *ctx,
					     bool *ret_error, struct th_err *err);

#endif
