/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h - JSON Schema, as far as models and tools need it: schemas in the
 * strict subset that providers enforce, and values checked against a schema with
 * sentences that a model can act on.
 *
 * Known when checking: type (also a list), enum, const, properties, required,
 * additionalProperties, minProperties, maxProperties, items, prefixItems,
 * minItems, maxItems, uniqueItems, minLength, maxLength, minimum, maximum,
 * exclusiveMinimum, exclusiveMaximum, multipleOf, anyOf, oneOf, allOf, not,
 * if/then/else, $ref to a place in the same document, and true and false as
 * schemas.  All else (pattern and format too) is passed over, as annotations
 * are: a value is never refused for what is not understood.
 *
 * Pure and total: time and memory are bounded by named limits, whatever schema
 * and value are.
 */
#ifndef TH_SCHEMA_SCHEMA_H
#define TH_SCHEMA_SCHEMA_H

#include "base/arena.h"
#include "base/json.h"

enum th_schema_flags {
	/* An object that declares no properties and allows any is refused, and so is a reference
	 * that stays: what others wrote must not accept less than it did (tools of MCP servers). */
	TH_SCHEMA_CLOSED = 1 << 0,
};

/*
 * The schema in the strict subset, as text in the arena: every object closed,
 * every property required, oneOf as anyOf, one-element allOf and references with
 * annotations beside them merged, null defaults gone.  The rules, and the
 * sentences of what is refused, are the Agents SDK's ensure_strict_json_schema.
 * TH_EUSAGE: it cannot be strict; TH_ELIMIT: over a maximum.
 */
TH_NODISCARD enum th_code th_schema_strict(const struct th_json *schema, unsigned flags,
					   struct th_arena *a, struct th_str *ret,
					   struct th_err *err);

/* Whether `name` is a type's: null, boolean, integer, number, string, array or object. */
bool th_schema_is_type(struct th_str name);

/*
 * Whether `value` fits `schema`.  TH_EPROTO: it does not, and each fault is a
 * line in `faults` ("items[2].price: must be a number, not \"two\""), at most
 * TH_SCHEMA_FAULTS_MAX; err has the first.  TH_EUSAGE: the schema itself is
 * broken; TH_ELIMIT: checking takes more than the limits allow.
 */
TH_NODISCARD enum th_code th_schema_check(const struct th_json *schema, const struct th_json *value,
					  struct th_buf *faults, struct th_err *err);

#endif
