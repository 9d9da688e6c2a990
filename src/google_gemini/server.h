/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - requests of generateContent in the unified form, and back:
 * see request_decode in model.h.
 */
#ifndef TH_GOOGLE_GEMINI_SERVER_H
#define TH_GOOGLE_GEMINI_SERVER_H

#include "base/buf.h"
#include "base/err.h"

/* `model`: as the path has it, with or without what is to be done:
 * "gemini-2.5-pro:streamGenerateContent". */
TH_NODISCARD enum th_code th_gemini_request_decode(struct th_str model, struct th_str body,
						   struct th_buf *out, struct th_err *err);
TH_NODISCARD enum th_code th_gemini_request_encode(struct th_str unified, struct th_buf *out,
						   struct th_err *err);

/* The contents of unified items, and the tools; lists. */
TH_NODISCARD enum th_code th_gemini_encode_items(struct th_str items, struct th_buf *out,
						 struct th_err *err);
void th_gemini_encode_tools(struct th_str tools, struct th_buf *out);

#endif
