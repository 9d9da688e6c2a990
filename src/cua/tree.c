/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - what programs tell of their windows, as the tree of Cua's get_accessibility_tree. */
#include "cua/cua.h"

static void put_pair(struct th_jw *w, const char *name, const char *one, int64_t x,
		     const char *other, int64_t y)
{
	th_jw_name(w, th_str_of(name));
	th_jw_object(w);
	th_jw_kint(w, one, x);
	th_jw_kint(w, other, y);
	th_jw_object_end(w);
}

/* Where it is, in the words of each of Cua's systems: position and size, and bounds. */
static void put_place(struct th_jw *w, const int64_t box[static 4])
{
	put_pair(w, "position", "x", box[0], "y", box[1]);
	put_pair(w, "size", "width", box[2], "height", box[3]);
	th_jw_name(w, TH_STR("bounds"));
	th_jw_object(w);
	th_jw_kint(w, "x", box[0]);
	th_jw_kint(w, "y", box[1]);
	th_jw_kint(w, "width", box[2]);
	th_jw_kint(w, "height", box[3]);
	th_jw_object_end(w);
}

static void put_element(struct th_jw *w, const struct th_json *e)
{
	const struct th_json *places = th_json_get(e, "box");
	int64_t box[4];

	for (size_t i = 0; i < TH_COUNT(box); i++)
		box[i] = th_json_int(th_json_at(places, i), 0);
	th_jw_object(w);
	th_jw_kstr(w, "role", th_json_get_str(e, "role"));
	th_jw_kstr(w, "title", th_json_get_str(e, "name"));
	put_place(w, box);
	th_jw_name(w, TH_STR("children"));
	th_jw_array(w);
	th_jw_array_end(w);
	th_jw_object_end(w);
}

/* ---- one of them ---- */

/* A wish that is not said is met. */
static bool is_so(struct th_cua_job *job, const char *wish, const struct th_json *e,
		  const char *member)
{
	const struct th_json *wanted = th_json_get(job->command.params, wish);

	return th_json_is_null(wanted) ||
	       th_str_eq(th_json_str(wanted), th_json_get_str(e, member));
}

static void then_found(struct th_cua_job *job, struct th_str said, int exit_code,
		       struct th_str bytes)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	const struct th_json *list = th_json_get(job->evidence, "elements");
	struct th_json_iter it = th_json_iter(list);
	struct th_jw w = th_jw(&json);

	(void)exit_code, (void)bytes;
	if (!list) {
		th_cua_fail(job, "%.*s", TH_FMT(said));
		return;
	}
	while (th_json_next(&it)) {
		if (!is_so(job, "role", it.val, "role") || !is_so(job, "title", it.val, "name") ||
		    !is_so(job, "value", it.val, "value"))
			continue;
		th_buf_add_cstr(&json, "\"element\":");
		put_element(&w, it.val);
		th_cua_done(job, th_buf_str(&json));
		return;
	}
	th_cua_fail(job, "Element not found");
}

void th_cua_find(struct th_cua_job *job)
{
	static const char *const wishes[] = { "role", "title", "value" };
	bool any = false;

	for (size_t i = 0; i < TH_COUNT(wishes); i++)
		any |= th_json_get_str(job->command.params, wishes[i]).len > 0;
	if (any)
		th_cua_call(job, "computer", TH_STR("{\"actions\":[],\"tree\":true}"), 0,
			    then_found);
	else
		th_cua_fail(job, "find_element() needs role, title or value");
}

/* ---- all ---- */

/* What programs tell of their windows is a list, under one root that is the screen. */
static void then_tree(struct th_cua_job *job, struct th_str said, int exit_code,
		      struct th_str bytes)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	const struct th_json *list = th_json_get(job->evidence, "elements");
	const int64_t screen[] = { 0, 0, thole_computer_width(job->cua->computer),
				   thole_computer_height(job->cua->computer) };
	struct th_json_iter it = th_json_iter(list);
	struct th_jw w = th_jw(&json);

	(void)exit_code, (void)bytes;
	if (!list) {
		th_cua_fail(job, "%.*s", TH_FMT(said));
		return;
	}
	th_buf_add_cstr(&json, "\"tree\":");
	th_jw_object(&w);
	th_jw_kstr(&w, "role", TH_STR("Window"));
	th_jw_kstr(&w, "title", TH_STR("Desktop"));
	put_place(&w, screen);
	th_jw_name(&w, TH_STR("children"));
	th_jw_array(&w);
	while (th_json_next(&it))
		put_element(&w, it.val);
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	if (json.failed)
		th_cua_fail(job, "the tree is too large");
	else
		th_cua_done(job, th_buf_str(&json));
}

void th_cua_tree(struct th_cua_job *job)
{
	th_cua_call(job, "computer", TH_STR("{\"actions\":[],\"tree\":true}"), 0, then_tree);
}
