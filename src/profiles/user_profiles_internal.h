/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_profiles_internal.h - a row of a models file, as it was read.
 */
#ifndef TH_PROFILES_USER_PROFILES_INTERNAL_H
#define TH_PROFILES_USER_PROFILES_INTERNAL_H

#include "base/field.h"

struct th_space_row {
	int64_t kind, max, factor, pixels_min, pixels_max;
	bool floor;
};

struct th_resize_row {
	int64_t side_max, pixels_max, width, height;
	bool xga;
};

struct th_price_row {
	double input, cached, written, output; /* -1: not given */
};

struct th_profile_row {
	struct th_str name, pattern, like, sends, dialect, tool, beta, flavour;
	struct th_str base_url, base_url_env, key_env, note;
	int64_t wire, computer; /* -1: not given */
	struct th_space_row *space;
	struct th_resize_row *resize;
	struct th_price_row *price;
	int64_t images_max, context_tokens, output_tokens;
	bool vision, reasoning, strict;
};

struct th_models_file {
	struct th_objects models;
};

#endif
