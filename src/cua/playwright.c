/* SPDX-License-Identifier: Apache-2.0 */
/*
 * playwright.c - POST /playwright_exec: a browser for clients of Cua's agents (cua.h).
 *
 * It is a computer of its own, without a window on the desktop; it begins with the first command,
 * and goes on as the desktop does.  Each command is one call of the tool
 * browser (docs/BROWSER.md), with a picture where the page's address is asked for: that says it.
 */
#include "base/codec.h"
#include "base/text.h"

#include "cua/cua.h"

#define TH_TOOL_PAGES "browser"
#define SIZE "1024x768" /* what Cua's clients take it for: there is no command that tells */

/* ---- a call ---- */

static bool make(struct th_cua *c, struct thole_error *err)
{
	struct th_buf folder TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	const char *options[] = { "folder", NULL,  "tool", TH_TOOL_PAGES, "size",
				  SIZE,     "net", NULL,   NULL };

	if (c->browser)
		return true;
	th_buf_add(&folder, c->server->o.cua_folder);
	options[1] = folder.ptr;
	options[7] = c->server->o.cua_net_host ? "host" : "none";
	return thole_computer_new(c->server->rt, "cua-browser", options, &c->browser, err) == 0;
}

static void browse(struct th_cua_job *job, struct th_buf *arguments, th_cua_then *then)
{
	struct thole_error err;

	if (arguments->failed)
		th_cua_fail(job, "the command is too long");
	else if (!make(job->cua, &err))
		th_cua_fail(job, "Browser initialization failed: %s", err.text);
	else
		th_cua_call_of(job, job->cua->browser, TH_TOOL_PAGES, th_buf_str(arguments), 0,
			       then);
}

static void then_done(struct th_cua_job *job, struct th_str said, int exit_code,
		      struct th_str bytes)
{
	(void)said, (void)exit_code, (void)bytes;
	th_cua_done(job, TH_STR(""));
}

/* The picture says of which page it is. */
static void then_url(struct th_cua_job *job, struct th_str said, int exit_code, struct th_str bytes)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_json_iter it = th_json_iter(job->output);
	struct th_str url = TH_STR("");
	struct th_jw w = th_jw(&out);

	(void)said, (void)exit_code, (void)bytes;
	while (th_json_is_array(job->output) && th_json_next(&it))
		if (th_json_get_str(it.val, "url").len)
			url = th_json_get_str(it.val, "url");
	th_buf_add_cstr(&out, "\"url\":");
	th_jw_str(&w, url);
	th_cua_done(job, th_buf_str(&out));
}

static void then_picture(struct th_cua_job *job, struct th_str said, int exit_code,
			 struct th_str bytes)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);

	(void)said, (void)exit_code;
	if (!bytes.len) {
		th_cua_fail(job, "there is no picture of the page");
		return;
	}
	th_buf_add_cstr(&out, "\"screenshot\":\"");
	th_base64_encode(&out, bytes.ptr, bytes.len);
	th_buf_add_char(&out, '"');
	th_cua_done(job, th_buf_str(&out));
}

/* ---- the commands; `detail` is the tool's action ---- */

static void begin(const struct th_cua_job *job, struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "action", th_str_of(job->row->detail));
}

/* To another page, by the parameter that the row names, if it does. */
static void go(struct th_cua_job *job)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_jw w = th_jw(&json);
	struct th_str value = th_json_get_str(job->command.params, job->row->params);

	if (job->row->params[0] && !value.len) {
		th_cua_fail(job, "%s parameter is required", job->row->params);
		return;
	}
	begin(job, &w);
	if (job->row->params[0])
		th_jw_kstr(&w, job->row->params, value);
	th_jw_kbool(&w, "screenshot", true);
	th_jw_object_end(&w);
	browse(job, &json, then_url);
}

static void click(struct th_cua_job *job)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_str button = th_json_get_str(job->command.params, "button");
	struct th_jw w = th_jw(&json);
	int32_t x, y;

	if (!th_cua_number(job->command.params, "x", &x) ||
	    !th_cua_number(job->command.params, "y", &y)) {
		th_cua_fail(job, "x and y parameters are required");
		return;
	}
	begin(job, &w);
	th_jw_kint(&w, "x", x);
	th_jw_kint(&w, "y", y);
	if (th_str_is(button, "right") || th_str_is(button, "middle"))
		th_jw_kstr(&w, "button", button);
	if (th_str_is(job->command.name, "dblclick"))
		th_jw_kint(&w, "count", 2);
	th_jw_object_end(&w);
	browse(job, &json, then_done);
}

static void type(struct th_cua_job *job)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_str text = th_json_get_str(job->command.params, "text");
	struct th_jw w = th_jw(&json);

	if (!text.len) {
		th_cua_fail(job, "text parameter is required");
		return;
	}
	begin(job, &w);
	th_jw_kstr(&w, "text", text);
	th_jw_object_end(&w);
	browse(job, &json, then_done);
}

static void scroll(struct th_cua_job *job)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&json);
	int32_t dx = 0, dy = 0;

	(void)th_cua_number(job->command.params, "delta_x", &dx);
	(void)th_cua_number(job->command.params, "delta_y", &dy);
	if (!dx && !dy) {
		th_cua_done(job, TH_STR(""));
		return;
	}
	begin(job, &w);
	th_jw_kint(&w, "dx", dx);
	th_jw_kint(&w, "dy", dy);
	th_jw_object_end(&w);
	browse(job, &json, then_done);
}

static void see(struct th_cua_job *job)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&json);

	begin(job, &w);
	th_jw_object_end(&w);
	browse(job, &json, then_picture);
}

static const struct th_cua_row rows[] = {
	{ "visit_url", "url", go, "open" },
	{ "web_search", "query", go, "search" },
	{ "get_current_url", "", go, "screenshot" },
	{ "go_back", "", go, "back" },
	{ "go_forward", "", go, "forward" },
	{ "click", "", click, "click" },
	{ "dblclick", "", click, "click" },
	{ "type", "", type, "type" },
	{ "scroll", "", scroll, "scroll" },
	{ "screenshot", "", see, "screenshot" },
	{ 0 },
};

/* ---- requests ---- */

static void on_gone(struct th_access *a)
{
	th_cua_forget(a->server->cua, a);
}

static void answered(void *ctx, struct th_str json)
{
	struct th_access *a = ctx;

	a->gone = NULL;
	th_access_text(a, 200, "application/json", json);
}

void th_cua_playwright(struct th_cua *c, struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_err why = { 0 };
	int status;

	a->gone = on_gone;
	if (th_cua_begin(c, rows, th_http_body(a->request), answered, a, &status, &why))
		return;
	a->gone = NULL;
	if (why.code ==
	    TH_ENOENT) { /* of a command that there is not it is told as of one that failed */
		th_cua_print_error(th_str_of(why.msg), &json);
		th_access_json(a, 200, &json);
	} else {
		th_cua_detail(a, status, "%s", why.msg);
	}
}
