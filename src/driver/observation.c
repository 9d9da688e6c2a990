/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observation.c - the first picture.  A model that writes its actions as text
 * was trained to see the screen with every question, and has no way to ask for
 * it; so before its first request it is shown one, as a message of the
 * environment.
 */
#include "driver/observation.h"

#include "dialects/dialect.h"
#include "driver/marks.h"
#include "history/history.h"
#include "live/log.h"
#include "live/queue.h"

/* Pictures are taken as large as the model wants them, with marks when it names elements so. */
void th_live_put_fit(const struct th_live *l, struct th_jw *w)
{
	if (th_live_marks(l))
		th_jw_kbool(w, "marks", true);
	if (th_size_eq(l->options.image, l->options.screen))
		return;
	th_jw_kint(w, "fit_width", l->options.image.width);
	th_jw_kint(w, "fit_height", l->options.image.height);
}

void th_live_observe(struct th_live *l, const struct th_observation *look, struct th_ticket t)
{
	struct th_driver *d = l->driver;
	struct th_effect_call call = {
		.epoch = l->epoch,
		.tool = look->tool,
		.arguments = look->arguments,
		.class = TH_CLASS_R,
		.timeout_ms = th_live_timeout_ms(l),
	};
	struct th_buf sized = TH_BUF_INIT(TH_KIB);
	char id[33];

	if (th_str_is(look->tool, "computer")) {
		struct th_jw w = th_jw(&sized);

		th_jw_object(&w);
		th_jw_kraw(&w, "actions", th_json_raw_get(look->arguments, "actions"));
		th_live_put_fit(l, &w);
		th_jw_object_end(&w);
		call.arguments = th_buf_str(&sized);
	}
	if (l->session_config->computer && th_str_is(look->tool, "computer")) {
		const struct th_tool_row *row = l->session_config->computer;

		row->local(row->ctx, d,
			   &(struct th_local_call){ .ticket = t,
						    .tool = look->tool,
						    .arguments = call.arguments,
						    .session_id = th_str_of(l->id),
						    .class = TH_CLASS_R });
	} else {
		th_driver_random_id(d, id);
		call.effect_id = th_str_n(id, 32);
		d->world.ops->tool_run(d->world.ctx, t, &call, false);
	}
	th_buf_deinit(&sized);
}

static bool wants_picture(const struct th_live *l)
{
	const struct th_dialect *dialect = l->resolved->profile->dialect;

	return l->session_config->has_computer && l->resolved->profile->vision &&
	       dialect->results_as_user && l->history && th_history_images(l->history) == 0;
}

bool th_live_first_observation(struct th_live *l)
{
	const struct th_observation look = { .tool = TH_STR("computer"),
					     .arguments = TH_STR(
						 "{\"actions\":[{\"type\":\"screenshot\"}]}") };

	if (l->first_observation == TH_FIRST_OBSERVATION_OVER || !wants_picture(l))
		return false;
	if (l->first_observation == TH_FIRST_OBSERVATION_NONE) {
		l->first_observation = TH_FIRST_OBSERVATION_UNDER_WAY;
		th_live_observe(l, &look, th_live_ticket_of(l, TH_TICKET_OBSERVATION, l->fold.seq));
	}
	return true;
}

static void show(struct th_live *l, const struct th_effect_result *r)
{
	struct th_ev_message d = { .role = TH_STR("user") };
	struct th_json_raw_iter it = th_json_raw_iter(r->output);
	struct th_buf content = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&content);

	th_jw_array(&w);
	th_jw_raw(&w, th_json_raw_get(r->evidence, "start").len
			  ? TH_STR("{\"type\":\"text\",\"text\":\"This is the screen now; not all "
				   "programs that were started have shown a window yet:\"}")
			  : TH_STR("{\"type\":\"text\",\"text\":\"This is the screen now:\"}"));
	while (th_json_raw_next(&it))
		th_jw_raw(&w, it.val);
	th_jw_array_end(&w);
	d.content = th_buf_str(&content);
	th_live_write_event(l, TH_EV_MESSAGE, TH_SOURCE_ENVIRONMENT, l->fold.seq, TH_STR(""), &d);
	th_buf_deinit(&content);
}

void th_first_observation_done(struct th_driver *d, struct th_ticket t,
			       const struct th_effect_result *r)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);
	struct th_err err = { 0 };

	if (!l || l->lost || l->first_observation != TH_FIRST_OBSERVATION_UNDER_WAY)
		return;
	l->first_observation = TH_FIRST_OBSERVATION_NONE;
	/* Paused or stopped meanwhile: resume looks again. */
	if (l->fold.state != TH_STATE_RUNNING || l->fold.phase != TH_TURN_DUE)
		return;
	l->first_observation = TH_FIRST_OBSERVATION_OVER;
	for (size_t i = 0; i < r->blob_count; i++)
		if (th_driver_add_blob(d, &r->blobs[i], &err)) {
			th_live_lose(l, &err);
			return;
		}
	if (r->status == TH_OUTCOME_DONE && r->blob_count > 0)
		show(l, r); /* which makes the request due again */
	else
		th_live_request_now(
		    l); /* its first action will say what is wrong with the screen */
	th_live_pump(l);
}
