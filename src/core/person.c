/* SPDX-License-Identifier: Apache-2.0 */
#include "core/person.h"

#include "base/text.h"

static enum th_code decide_one(const struct th_call *c, struct th_ev_approval_decided word,
			       th_person_append_fn *append, void *ctx, struct th_err *err)
{
	char digest[TH_SHA256_HEX_SIZE + 1];

	assert(th_call_asks(c));
	word.call_id = c->call_id;
	word.digest = th_str_of(c->digest);
	if (c->phase == TH_CALL_INTENDED) {
		th_host_digest(c->host.name, c->host.port, digest);
		word.digest = th_str_of(digest);
		word.host = c->host.name;
		word.port = c->host.port;
	}
	return append(ctx, TH_EV_APPROVAL_DECIDED, c->call_seq, c->call_id, &word, err);
}

enum th_code th_person_decides(const struct th_session *s, const struct th_call *c,
			       const struct th_ev_approval_decided *word,
			       th_person_append_fn *append, void *ctx, struct th_err *err)
{
	struct th_ev_approval_decided other = *word;
	struct th_str tool = c->tool;
	bool host = c->phase == TH_CALL_INTENDED;
	enum th_code code;

	if (word->approve && word->message.len && (host || !c->question))
		return th_fail(err, TH_EUSAGE,
			       "%.*s is no question: it is approved or rejected, not answered",
			       TH_FMT(th_utf8_cut(c->tool, 60)));
	code = decide_one(c, *word, append, ctx, err);

	other.always = false;
	while (!code && word->always && !host && (c = th_session_also(s, tool, word->approve)))
		code = decide_one(c, other, append, ctx, err);
	return code;
}

enum th_code th_person_settles(const struct th_call *c, enum th_outcome_status status,
			       struct th_str by, struct th_str message, th_person_append_fn *append,
			       void *ctx, struct th_err *err)
{
	const struct th_ev_settled settled = { .call_id = c->call_id,
					       .effect_id = c->effect_id,
					       .status = th_str_of(th_outcome_name(status)),
					       .by = by,
					       .message = message };

	assert(c->phase == TH_CALL_PARKED);
	return append(ctx, TH_EV_SETTLED, c->intent_seq, c->call_id, &settled, err);
}
