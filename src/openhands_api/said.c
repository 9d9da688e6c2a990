/* SPDX-License-Identifier: Apache-2.0 */
/*
 * said.c - a message of a client, and what it means that the conversation is run.
 *
 * There a message is said first and run later.  Here a message begins a task; so it is held before
 * its first request until somebody runs it, by a pause with a reason of its own.
 */
#include "base/text.h"
#include "openhands_api/internal.h"

void th_oh_said_deinit(struct th_oh_said *m)
{
	th_buf_deinit(&m->text);
	th_buf_deinit(&m->items);
}

static enum th_code read_part(const struct th_json *part, struct th_oh_said *m, struct th_jw *w,
			      bool *ret_pictures, struct th_err *err)
{
	struct th_str type = th_json_get_str(part, "type"), text = th_json_get_str(part, "text");
	struct th_json_iter it = th_json_iter(th_json_get(part, "image_urls"));

	if (th_str_is(type, "text") && text.ptr) {
		if (m->text.len && text.len)
			th_buf_add_char(&m->text, '\n');
		th_buf_add(&m->text, text);
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("input_text"));
		th_jw_kstr(w, "text", text);
		th_jw_object_end(w);
		return TH_OK;
	}
	if (!th_str_is(type, "image"))
		return th_fail(err, TH_EUSAGE, "a part of a message is a text or an image");
	while (th_json_next(&it)) {
		*ret_pictures = true;
		if (!th_str_starts(th_json_str(it.val), TH_STR("data:image/")))
			return th_fail(err, TH_EUSAGE,
				       "an image is a data: URL; the server fetches none");
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("input_image"));
		th_jw_kstr(w, "image_url", th_json_str(it.val));
		th_jw_object_end(w);
	}
	return TH_OK;
}

enum th_code th_oh_said_read(const struct th_json *v, struct th_oh_said *ret, struct th_err *err)
{
	struct th_str role = th_json_get_str(v, "role");
	struct th_json_iter it = th_json_iter(th_json_get(v, "content"));
	struct th_jw w = th_jw(&ret->items);
	bool pictures = false;
	enum th_code code = TH_OK;

	*ret = (struct th_oh_said){ .text = TH_BUF_INIT(TH_MESSAGE_MAX),
				    .items = TH_BUF_INIT(TH_SERVE_JSON_MAX),
				    .run = th_json_bool(th_json_get(v, "run"), false) };
	w = th_jw(&ret->items);
	if (!th_json_is_object(v) || (role.ptr && !th_str_is(role, "user")) ||
	    !th_json_is_array(th_json_get(v, "content")))
		return th_fail(err, TH_EUSAGE,
			       "a message has the role user, and content: a list of parts");
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "role", TH_STR("user"));
	th_jw_name(&w, TH_STR("content"));
	th_jw_array(&w);
	while (!code && th_json_next(&it))
		code = read_part(it.val, ret, &w, &pictures, err);
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	if (!code)
		code = th_buf_check(&ret->text, "a message", err)
			   ?: th_buf_check(&ret->items, "a message", err);
	if (code)
		return code;
	if (!pictures)
		th_buf_clear(&ret->items);
	if ((!pictures && !ret->text.len) ||
	    (ret->text.len && memchr(ret->text.ptr, 0, ret->text.len)))
		return th_fail(err, TH_EUSAGE, "a message says something, without a zero in it");
	return TH_OK;
}

static bool is_held(const struct th_hub *h)
{
	int state = thole_session_state(h->session);

	return state == THOLE_PAUSED || state == THOLE_SCHEDULED;
}

int th_oh_say(struct th_hub *h, const struct th_oh_said *m, struct thole_error *err)
{
	int before = thole_session_state(h->session), code;
	bool rests = before != THOLE_RUNNING && before != THOLE_WAITING && before != THOLE_PAUSED &&
		     before != THOLE_SCHEDULED;

	/* A paused one is in the midst of a task. */
	if (m->items.len)
		code =
		    thole_session_items_add(h->session, m->items.ptr, before != THOLE_PAUSED, err);
	else
		code = thole_session_message(h->session, m->text.ptr, err);
	if (code)
		return code;
	h->server->metrics.messages++;
	if (rests && !m->run)
		code = thole_session_pause(h->session, TH_HELD_REASON, err);
	else if (m->run && is_held(h))
		code = thole_session_resume(h->session, err);
	if (!code)
		h->rested_ms = 0;
	return code;
}

/* Everything that waits for a person. */
static int approve_all(struct th_hub *h, const char *by, struct thole_error *err)
{
	int code = thole_session_approve(h->session, NULL, by, err);

	for (size_t i = 1; !code && i < TH_CALLS_MAX && thole_session_waits_for(h->session); i++)
		code = thole_session_approve(h->session, NULL, by, err);
	return code;
}

int th_oh_run(struct th_hub *h, bool approves, const char *by, struct thole_error *err)
{
	int code;

	switch ((enum thole_state)thole_session_state(h->session)) {
	case THOLE_RUNNING:
	case THOLE_LOADING:
		err->code = THOLE_EBUSY;
		memcpy(err->text, "the conversation runs already",
		       sizeof("the conversation runs already"));
		return err->code;
	case THOLE_WAITING:
		if (!approves) {
			static const char why[] =
			    "calls wait for a person, and this token may not approve them";

			err->code = THOLE_EPERM;
			memcpy(err->text, why, sizeof(why));
			return err->code;
		}
		code = approve_all(h, by, err);
		break;
	case THOLE_IDLE:
	case THOLE_FINISHED: /* nothing was said that it has not answered */
		return 0;
	case THOLE_PAUSED:
	case THOLE_SCHEDULED:
	case THOLE_STOPPED:
	case THOLE_FAILED:
	case THOLE_STUCK:
	case THOLE_LIMIT:
	case THOLE_LOST:
	default:
		code = thole_session_resume(h->session, err);
		break;
	}
	if (!code)
		h->rested_ms = 0;
	return code;
}
