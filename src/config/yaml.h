/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml.h - YAML text to JSON text, for files that people write.
 *
 * The YAML 1.2 core schema decides what a plain scalar is, so `on` and `no` are
 * text and 1e3 is a number.  What makes YAML dangerous or surprising is refused
 * with its line: anchors and aliases, tags, double keys, keys that are no text,
 * more than one document, .inf and .nan.  JSON is a subset and is taken too.
 * Nothing is read from a file here.
 */
#ifndef TH_CONFIG_YAML_H
#define TH_CONFIG_YAML_H

#include "base/buf.h"

/*
 * Appends the document as JSON to `out`.  Errors begin with "NAME:LINE: ".
 * TH_EUSAGE: not YAML, or one of the refused; TH_ELIMIT: larger than
 * TH_CONFIG_SIZE_MAX, deeper than TH_JSON_DEPTH_MAX, more than
 * TH_CONFIG_KEYS_MAX keys in one mapping.
 */
TH_NODISCARD enum th_code th_yaml_to_json(struct th_str yaml, struct th_str name,
					  struct th_buf *out, struct th_err *err);

/*
 * The line (from 1) where the value at `path` ("a.b[2].c", as th_table_err_path
 * gives it) or, when there is none, the nearest value around it begins.
 */
int th_yaml_line(struct th_str yaml, struct th_str path);

#endif
