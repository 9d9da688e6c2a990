/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect_list.h - the dialects, in files dialect_*.c; dialects.c lists them.
 */
#ifndef TH_MODELS_DIALECT_LIST_H
#define TH_MODELS_DIALECT_LIST_H

#include "models/dialect.h"

extern const struct th_dialect th_dialect_uitars, th_dialect_uitars15, th_dialect_uitars2;
extern const struct th_dialect th_dialect_qwen, th_dialect_qwen35, th_dialect_fara;
extern const struct th_dialect th_dialect_glm, th_dialect_opencua, th_dialect_yutori;
extern const struct th_dialect th_dialect_json, th_dialect_json_qwen, th_dialect_json_anthropic;
extern const struct th_dialect th_dialect_points, th_dialect_fractions, th_dialect_holo;
extern const struct th_dialect th_dialect_internvl, th_dialect_uiins;
extern const struct th_dialect th_dialect_functions;
extern const struct th_dialect th_dialect_descriptions, th_dialect_elements;

#endif
