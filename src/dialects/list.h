/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.h - the dialects: each is in a file of its name; list.c has the table.
 */
#ifndef TH_DIALECTS_LIST_H
#define TH_DIALECTS_LIST_H

#include "dialects/dialect.h"

extern const struct th_dialect th_dialect_uitars, th_dialect_uitars15, th_dialect_uitars2;
extern const struct th_dialect th_dialect_qwen, th_dialect_qwen35, th_dialect_fara;
extern const struct th_dialect th_dialect_glm, th_dialect_opencua, th_dialect_yutori;
extern const struct th_dialect th_dialect_json, th_dialect_json_qwen, th_dialect_json_anthropic;
extern const struct th_dialect th_dialect_points, th_dialect_fractions, th_dialect_holo;
extern const struct th_dialect th_dialect_internvl, th_dialect_uiins;
extern const struct th_dialect th_dialect_functions;
extern const struct th_dialect th_dialect_anthropic, th_dialect_gemini;
extern const struct th_dialect th_dialect_descriptions, th_dialect_elements;

#endif
