/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_profile_rows.c - what a models file may say, as tables.
 */
#include "profiles/user_profiles.h"
#include "profiles/user_profiles_internal.h"
#include "providers/wires.h"

static const char *const spaces[] = { "pixels", "norm", "smart", NULL };
static const char *const computers[] = { "none",   "preview", "ga",     "function",
					 "native", "dialect", "points", NULL };

#define ROW(member, type, kind, flags, doc)                                                      \
	{                                                                                        \
#member, offsetof(struct type, member), TH_FIELD_##kind, flags, doc, NULL, NULL, \
		    false, 0                                                                     \
	}
#define NAMED(wire, member, flags, doc)                                                        \
	{                                                                                      \
		wire, offsetof(struct th_profile_row, member), TH_FIELD_str, flags, doc, NULL, \
		    NULL, false, 0                                                             \
	}
#define ENUM(member, names, doc)                                                               \
	{                                                                                      \
#member, offsetof(struct th_profile_row, member), TH_FIELD_enum, 0, doc, NULL, \
		    names, false, 0                                                            \
	}
#define SUB(member, table, doc)                                                            \
	{                                                                                  \
#member, offsetof(struct th_profile_row, member), TH_FIELD_object, 0, doc, \
		    &(table), NULL, false, 0                                               \
	}
#define PRICE(member, flags, doc)                                                                 \
	{                                                                                         \
#member, offsetof(struct th_price_row, member), TH_FIELD_num, (flags) | TH_NONEG, \
		    doc, NULL, NULL, true, -1                                                     \
	}

static const struct th_field space_fields[] = {
	{ "kind", offsetof(struct th_space_row, kind), TH_FIELD_enum, TH_REQ,
	  "pixels: of the picture as sent; norm: 0 to max; smart: pixels after the model's own "
	  "resizing",
	  NULL, spaces, false, 0 },
	ROW(max, th_space_row, int, TH_POSITIVE, "norm: the largest number; 1: fractions"),
	ROW(factor, th_space_row, int, TH_POSITIVE, "smart: sides are multiples of it"),
	ROW(pixels_min, th_space_row, int, TH_POSITIVE, "smart: minimum number of pixels"),
	ROW(pixels_max, th_space_row, int, TH_POSITIVE, "smart: maximum number of pixels"),
	ROW(floor, th_space_row, bool, 0, "round down instead of to the nearest"),
};
static const struct th_field resize_fields[] = {
	ROW(side_max, th_resize_row, int, TH_POSITIVE, "maximum length of the longer side"),
	ROW(pixels_max, th_resize_row, int, TH_POSITIVE, "maximum number of pixels of the picture"),
	ROW(width, th_resize_row, int, TH_POSITIVE, "with height: maximum width"),
	ROW(height, th_resize_row, int, TH_POSITIVE, "with width: maximum height"),
	ROW(xga, th_resize_row, bool, 0,
	    "scale to 1024x768, 1280x800 or 1366x768, by the aspect ratio"),
};
static const struct th_field price_fields[] = {
	PRICE(input, TH_REQ, "input tokens"),
	PRICE(cached, 0, "input tokens from the provider's cache; default: as input"),
	PRICE(written, 0, "input tokens written to its cache; default: as input"),
	PRICE(output, TH_REQ, "output tokens"),
};
static const struct th_table space_table = { "space",
					     "What the model's coordinates count in.",
					     space_fields,
					     TH_COUNT(space_fields),
					     sizeof(struct th_space_row),
					     false };
static const struct th_table resize_table = { "resize",
					      "How a picture is made smaller before it is sent.",
					      resize_fields,
					      TH_COUNT(resize_fields),
					      sizeof(struct th_resize_row),
					      false };
static const struct th_table price_table = { "price",
					     "US dollars per million tokens.",
					     price_fields,
					     TH_COUNT(price_fields),
					     sizeof(struct th_price_row),
					     false };

static const struct th_field row_fields[] = {
	NAMED("name", name, TH_REQ | TH_NONEMPTY,
	      "name of the profile; with the name of a built-in profile it replaces that one"),
	NAMED("pattern", pattern, TH_NONEMPTY,
	      "model names that it serves: * matches anything, | separates several; a prefix "
	      "before the first * that ends with / or : is not sent; default: the name"),
	NAMED("like", like, TH_NONEMPTY,
	      "model or profile to copy; the other fields replace its values"),
	NAMED("sends", sends, TH_NONEMPTY, "model name that is sent instead of the given one"),
	ENUM(wire, th_wire_names, "the API; required without like"),
	NAMED("dialect", dialect, TH_NONEMPTY, "how the model writes actions; also sets the space"),
	ENUM(computer, computers, "how the model gets the computer"),
	NAMED("tool", tool, TH_NONEMPTY, "native: version of the wire's own tool"),
	NAMED("beta", beta, TH_NONEMPTY, "messages: value of the beta header"),
	NAMED("flavour", flavour, TH_NONEMPTY, "chat: the server's variant of the API"),
	SUB(space, space_table, "unit of the model's coordinates"),
	SUB(resize, resize_table, "how pictures are scaled down before they are sent"),
	ROW(images_max, th_profile_row, int, TH_POSITIVE,
	    "maximum number of pictures in one request"),
	NAMED("base_url", base_url, TH_NONEMPTY, "URL of its server"),
	NAMED("base_url_env", base_url_env, TH_NONEMPTY,
	      "environment variable with that URL; it has priority"),
	NAMED("key_env", key_env, TH_NONEMPTY,
	      "environment variable of its key; | separates several"),
	ROW(vision, th_profile_row, bool, 0, "accepts pictures"),
	ROW(reasoning, th_profile_row, bool, 0, "has reasoning, and settings for it"),
	ROW(strict, th_profile_row, bool, 0,
	    "the provider's own server, which refuses ids that others made"),
	ROW(context_tokens, th_profile_row, int, TH_POSITIVE,
	    "maximum number of tokens of a request"),
	ROW(output_tokens, th_profile_row, int, TH_POSITIVE,
	    "maximum number of tokens of one answer"),
	SUB(price, price_table, "US dollars per million tokens"),
	NAMED("note", note, TH_NONEMPTY, "one line for thole models"),
};
static const struct th_table row_table = { "profile",
					   "What is known of a model.",
					   row_fields,
					   TH_COUNT(row_fields),
					   sizeof(struct th_profile_row),
					   false };
static const struct th_field file_fields[] = {
	{ "models", offsetof(struct th_models_file, models), TH_FIELD_objects, TH_REQ,
	  "profiles; they are tried in this order, before the built-in ones", &row_table, NULL,
	  false, 0 },
};
const struct th_table th_models_file_table = { "models_file",
					       "A models file.",
					       file_fields,
					       TH_COUNT(file_fields),
					       sizeof(struct th_models_file),
					       false };
