/* SPDX-License-Identifier: Apache-2.0 */
#include "core/batch.h"

#include "base/limits.h"
#include "base/text.h"
#include "core/session.h"

void th_session_row_of(const struct th_session *s, struct th_session_row *row)
{
	row->agent = s->agent_name;
	row->model = s->model;
	row->state = th_str_of(th_state_name(s->state));
	row->head_seq = s->seq;
	row->iteration = s->totals.turns;
	row->calls = s->totals.calls;
	row->tokens_in = s->totals.tokens_in;
	row->tokens_cached = s->totals.tokens_cached;
	row->tokens_out = s->totals.tokens_out;
	row->cost_nano = s->totals.cost_nano;
	row->updated_ms = s->updated_ms;
}

void th_delegate_id(struct th_str parent, uint64_t intent_seq, struct th_buf *out)
{
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_digest digest;
	struct th_buf whole = TH_BUF_INIT(TH_KIB);

	th_buf_printf(&whole, "%.*s.%llu", TH_FMT(parent), (unsigned long long)intent_seq);
	if (whole.len > TH_SESSION_ID_MAX) {
		digest = th_sha256_of(whole.ptr, whole.len);
		th_digest_hex(&digest, hex);
		th_buf_clear(&whole);
		th_buf_add(&whole, th_utf8_cut(parent, TH_SESSION_ID_MAX - 33));
		th_buf_printf(&whole, ".%.32s", hex);
	}
	th_buf_add(out, th_buf_str(&whole));
	th_buf_deinit(&whole);
}

void th_call_child(const struct th_call *c, struct th_str parent, struct th_buf *out)
{
	if (c->before)
		th_buf_add(out, c->before->child);
	else
		th_delegate_id(parent, c->intent_seq, out);
}

struct th_str th_delegated_by(struct th_str metadata)
{
	return th_json_raw_get(metadata, "delegated_by");
}

int64_t th_start_of(struct th_str metadata)
{
	int64_t ms;

	return th_str_i64(th_json_raw_get(metadata, TH_START_MEMBER), &ms) && ms > 0 ? ms : 0;
}

enum th_priority th_priority_of(struct th_str metadata)
{
	enum th_priority p = TH_PRIORITY_NORMAL;
	struct th_str name = th_json_raw_get(metadata, TH_PRIORITY_MEMBER);

	/* Names of priorities are written without escapes. */
	if (name.len > 2)
		(void)th_priority_parse(th_str_sub(name, 1, name.len - 2), &p);
	return p;
}
