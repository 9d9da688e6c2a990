/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.c - a group of a history as its wire writes it.
 */
#include "models/model.h"

enum th_code th_group_render(const struct th_request_options *o, const struct th_group *g,
			     bool first, struct th_buf *out, struct th_hole *holes, size_t hole_max,
			     size_t *ret_hole_count, struct th_err *err)
{
	const struct th_wire *wire = o->profile->wire;
	struct th_group_writer x = { o, th_jw(out), holes, hole_max, 0, err };
	size_t start = out->len;
	enum th_code code = TH_OK;

	x.w.comma = !first || (wire->begun && wire->begun(o));
	switch (g->kind) {
	case TH_GROUP_MESSAGE:
		code = wire->message(&x, g);
		break;
	case TH_GROUP_ANSWER:
		code = wire->answer(&x, g);
		break;
	case TH_GROUP_RESULTS:
		code = wire->results(&x, g);
		break;
	}
	if (code)
		th_buf_truncate(out, start);
	*ret_hole_count = code ? 0 : x.hole_count;
	return code;
}
