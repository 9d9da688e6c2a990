/* SPDX-License-Identifier: Apache-2.0 */
/*
 * found.h - what others say is on a picture or a screen, read from the bytes in
 * which they say it: the words of tesseract, the boxes of an OmniParser server.
 * Pure and total: any bytes give some findings, at most the limit, or none.
 *
 * The texts are as they came, checked for nothing but their length.
 */
#ifndef TH_WIRE_FOUND_H
#define TH_WIRE_FOUND_H

#include "base/buf.h"
#include "base/err.h"
#include "base/geom.h"

/* `role` and `name` are borrowed until it returns. */
typedef void th_found_fn(void *ctx, struct th_rect box, struct th_str role, struct th_str name);

/* The table that `tesseract … tsv` prints.  Words of a line that stand close are one finding. */
void th_ocr_read(struct th_str tsv, th_found_fn *fn, void *ctx);

/* Request and answer of an OmniParser server (POST /parse/).  TH_EPROTO: not its answer, with a
 * sentence. */
void th_parser_request(struct th_str png, struct th_buf *out);
TH_NODISCARD enum th_code th_parser_read(struct th_str answer, struct th_size picture,
					 th_found_fn *fn, void *ctx, struct th_err *err);

#endif
