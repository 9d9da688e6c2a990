/* SPDX-License-Identifier: Apache-2.0 */
/* desktop.c - commands for screen, pointer, keys and clipboard (cua.h). */
#include <math.h>
#include <stdio.h>

#include "base/codec.h"
#include "base/text.h"

#include "cua/cua.h"

static void then_done(struct th_cua_job *job, struct th_str said, int exit_code,
		      struct th_str bytes)
{
	(void)said, (void)exit_code, (void)bytes;
	th_cua_done(job, TH_STR(""));
}

void th_cua_version(struct th_cua_job *job)
{
	th_cua_done(job, TH_STR("\"protocol\":1,\"package\":\"0.3.42\""));
}

void th_cua_answers(struct th_cua_job *job)
{
	th_cua_answer(job, th_str_of(job->row->detail));
}

void th_cua_refuse(struct th_cua_job *job)
{
	th_cua_fail(job, "%s", job->row->detail);
}

/* ---- screen ---- */

static void then_picture(struct th_cua_job *job, struct th_str said, int exit_code,
			 struct th_str bytes)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);

	(void)said, (void)exit_code;
	if (!bytes.len) {
		th_cua_fail(job, "there is no picture of the screen");
		return;
	}
	th_buf_add_cstr(&out, "\"image_data\":\"");
	th_base64_encode(&out, bytes.ptr, bytes.len);
	th_buf_printf(&out, "\",\"format\":\"%s\"", job->step ? "jpeg" : "png");
	th_cua_done(job, th_buf_str(&out));
}

void th_cua_screenshot(struct th_cua_job *job)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_str format = th_json_get_str(job->command.params, "format");
	int32_t quality = 95;

	job->step = th_str_ieq(format, TH_STR("jpeg")) || th_str_ieq(format, TH_STR("jpg"));
	if (format.ptr && !job->step && !th_str_ieq(format, TH_STR("png"))) {
		th_cua_fail(job, "Unsupported screenshot format '%.*s'. Supported: ['jpeg', 'png']",
			    TH_FMT(th_utf8_cut(format, 100)));
		return;
	}
	(void)th_cua_number(job->command.params, "quality", &quality);
	th_buf_add_cstr(&json, "{\"actions\":[],\"screenshot\":true");
	if (job->step)
		th_buf_printf(&json, ",\"format\":\"jpeg\",\"quality\":%d",
			      TH_MIN(TH_MAX(quality, 1), 95));
	th_buf_add_char(&json, '}');
	th_cua_call(job, "computer", th_buf_str(&json), 0, then_picture);
}

static void then_size(struct th_cua_job *job, struct th_str said, int exit_code,
		      struct th_str bytes)
{
	char text[100];

	(void)said, (void)exit_code, (void)bytes;
	snprintf(text, sizeof(text), "\"size\":{\"width\":%d,\"height\":%d}",
		 thole_computer_width(job->cua->computer),
		 thole_computer_height(job->cua->computer));
	th_cua_done(job, th_str_of(text));
}

void th_cua_screen_size(struct th_cua_job *job)
{
	th_cua_act(job, TH_STR("[]"), then_size);
}

/* It says "the pointer is at (X, Y)". */
static void then_position(struct th_cua_job *job, struct th_str said, int exit_code,
			  struct th_str bytes)
{
	struct th_str y = said, x;
	int64_t px, py;
	char text[100];

	(void)exit_code, (void)bytes;
	(void)th_str_split(&y, '(');
	x = th_str_split(&y, ',');
	y = th_str_trim(th_str_split(&y, ')'));
	if (!th_str_i64(x, &px) || !th_str_i64(y, &py)) {
		th_cua_fail(job, "it is not known where the pointer is");
		return;
	}
	snprintf(text, sizeof(text), "\"position\":{\"x\":%lld,\"y\":%lld}", (long long)px,
		 (long long)py);
	th_cua_done(job, th_str_of(text));
}

void th_cua_cursor(struct th_cua_job *job)
{
	th_cua_act(job, TH_STR("[{\"type\":\"cursor_position\"}]"), then_position);
}

/* ---- pointer ---- */

static const char *button_of(struct th_cua_job *job, const char *otherwise)
{
	struct th_str name = th_json_get_str(job->command.params, "button");

	return th_str_ieq(name, TH_STR("right"))    ? "right"
	       : th_str_ieq(name, TH_STR("middle")) ? "middle"
	       : name.len                           ? "left"
						    : otherwise;
}

/* ,"x":X,"y":Y where both are given. */
static bool add_place(struct th_cua_job *job, bool must, struct th_buf *out)
{
	const struct th_json *p = job->command.params;
	int32_t x, y;
	bool has_x = th_cua_number(p, "x", &x), has_y = th_cua_number(p, "y", &y);

	if (has_x && has_y)
		th_buf_printf(out, ",\"x\":%d,\"y\":%d", x, y);
	else if (must || has_x || has_y) {
		th_cua_fail(job, "%s() missing 1 required positional argument: '%s'",
			    job->row->name, has_x ? "y" : "x");
		return false;
	}
	return true;
}

void th_cua_click(struct th_cua_job *job)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	bool twice = strcmp(job->row->detail, "double") == 0;

	th_buf_printf(&json, "[{\"type\":\"click\",\"count\":%d,\"button\":\"%s\"", twice ? 2 : 1,
		      button_of(job, twice ? "left" : job->row->detail));
	if (!add_place(job, false, &json))
		return;
	th_buf_add_cstr(&json, "}]");
	th_cua_act(job, th_buf_str(&json), then_done);
}

void th_cua_button(struct th_cua_job *job)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	th_buf_printf(&json, "[{\"type\":\"%s\",\"button\":\"%s\"", job->row->detail,
		      button_of(job, "left"));
	if (!add_place(job, false, &json))
		return;
	th_buf_add_cstr(&json, "}]");
	th_cua_act(job, th_buf_str(&json), then_done);
}

void th_cua_move(struct th_cua_job *job)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	th_buf_add_cstr(&json, "[{\"type\":\"move\"");
	if (!add_place(job, true, &json))
		return;
	th_buf_add_cstr(&json, "}]");
	th_cua_act(job, th_buf_str(&json), then_done);
}

static int duration_ms(struct th_cua_job *job)
{
	double s = th_json_num(th_json_get(job->command.params, "duration"), 0.5);

	return s >= 0 && s <= 60 ? (int)lround(s * 1000) : 500;
}

void th_cua_drag_to(struct th_cua_job *job)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const struct th_json *p = job->command.params;
	const char *button = button_of(job, "left");
	int32_t x, y, to_x, to_y;

	if (th_cua_number(p, "start_x", &x) && th_cua_number(p, "start_y", &y) &&
	    th_cua_number(p, "end_x", &to_x) && th_cua_number(p, "end_y", &to_y)) {
		th_buf_printf(&json,
			      "[{\"type\":\"drag\",\"path\":[{\"x\":%d,\"y\":%d},"
			      "{\"x\":%d,\"y\":%d}],\"button\":\"%s\",\"duration_ms\":%d}]",
			      x, y, to_x, to_y, button, duration_ms(job));
	} else {
		th_buf_printf(&json,
			      "[{\"type\":\"mouse_down\",\"button\":\"%s\"},{\"type\":\"move\"",
			      button);
		if (!add_place(job, true, &json))
			return;
		th_buf_printf(&json, "},{\"type\":\"mouse_up\",\"button\":\"%s\"}]", button);
	}
	th_cua_act(job, th_buf_str(&json), then_done);
}

/* A point is [x, y] or {"x", "y"}. */
static bool read_point(const struct th_json *v, int32_t *x, int32_t *y)
{
	double px = th_json_num(th_json_at(v, 0), NAN), py = th_json_num(th_json_at(v, 1), NAN);

	if (th_json_is_object(v))
		return th_cua_number(v, "x", x) && th_cua_number(v, "y", y);
	if (!(fabs(px) <= 1e9) || !(fabs(py) <= 1e9))
		return false;
	*x = (int32_t)lround(px);
	*y = (int32_t)lround(py);
	return true;
}

void th_cua_drag(struct th_cua_job *job)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	const struct th_json *path = th_json_get(job->command.params, "path");
	struct th_json_iter it = th_json_iter(path);
	bool first = true;
	int32_t x, y;

	if (!th_json_is_array(path) || !th_json_count(path)) {
		th_cua_fail(job, "Path is empty");
		return;
	}
	th_buf_add_cstr(&json, "[{\"type\":\"drag\",\"path\":[");
	while (th_json_next(&it)) {
		if (!read_point(it.val, &x, &y)) {
			th_cua_fail(job, "a point of the path is [x, y]");
			return;
		}
		th_buf_printf(&json, "%s{\"x\":%d,\"y\":%d}", first ? "" : ",", x, y);
		first = false;
	}
	if (th_json_count(path) == 1) /* pressed and released where it is */
		th_buf_printf(&json, ",{\"x\":%d,\"y\":%d}", x, y);
	th_buf_printf(&json, "],\"button\":\"%s\",\"duration_ms\":%d}]", button_of(job, "left"),
		      duration_ms(job));
	th_cua_act(job, th_buf_str(&json), then_done);
}

/* dx and dy in notches, to the right and down. */
static void scroll(struct th_cua_job *job, int32_t dx, int32_t dy, bool at)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	if (!dx && !dy) {
		th_cua_done(job, TH_STR(""));
		return;
	}
	th_buf_printf(&json, "[{\"type\":\"scroll\",\"dx\":%d,\"dy\":%d,\"unit\":\"notch\"", dx,
		      dy);
	if (at && !add_place(job, false, &json))
		return;
	th_buf_add_cstr(&json, "}]");
	th_cua_act(job, th_buf_str(&json), then_done);
}

/* x and y are notches, y upwards; with scroll_x or scroll_y they are the place. */
void th_cua_scroll(struct th_cua_job *job)
{
	const struct th_json *p = job->command.params;
	int32_t x = 0, y = 0;
	bool any_x = th_cua_number(p, "scroll_x", &x), any_y = th_cua_number(p, "scroll_y", &y);

	if (any_x || any_y) {
		scroll(job, x, -y, true);
		return;
	}
	any_x = th_cua_number(p, "x", &x);
	any_y = th_cua_number(p, "y", &y);
	if (!any_x || !any_y)
		th_cua_fail(job, "scroll() missing 1 required positional argument: '%s'",
			    any_x ? "y" : "x");
	else
		scroll(job, x, -y, false);
}

void th_cua_scroll_way(struct th_cua_job *job)
{
	static const struct {
		const char *name;
		int dx, dy;
	} ways[] = { { "up", 0, -1 }, { "down", 0, 1 }, { "left", -1, 0 }, { "right", 1, 0 } };
	struct th_str way = th_str_of(job->row->detail);
	int32_t clicks = 1;

	if (!way.len && !th_cua_need(job, "direction", &way))
		return;
	(void)th_cua_number(job->command.params, "clicks", &clicks);
	for (size_t i = 0; i < TH_COUNT(ways); i++)
		if (th_str_is(way, ways[i].name)) {
			scroll(job, ways[i].dx * clicks, ways[i].dy * clicks, false);
			return;
		}
	th_cua_fail(job, "Invalid direction: %.*s. Use 'up', 'down', 'left', or 'right'.",
		    TH_FMT(th_utf8_cut(way, 100)));
}

/* ---- keys and clipboard ---- */

/* [{"type":TYPE,"text":TEXT}] */
static void act_text(struct th_cua_job *job, const char *type)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_SERVE_JSON_MAX);
	struct th_jw w = th_jw(&json);
	struct th_str text;

	if (!th_cua_need(job, "text", &text))
		return;
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", th_str_of(type));
	th_jw_kstr(&w, "text", text);
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	th_cua_act(job, th_buf_str(&json), then_done);
}

void th_cua_type(struct th_cua_job *job)
{
	act_text(job, "type");
}

void th_cua_set_clipboard(struct th_cua_job *job)
{
	act_text(job, "clipboard_set");
}

static void then_content(struct th_cua_job *job, struct th_str said, int exit_code,
			 struct th_str bytes)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_SERVE_JSON_MAX);
	struct th_jw w = th_jw(&out);

	(void)exit_code, (void)bytes;
	th_buf_add_cstr(&out, "\"content\":");
	th_jw_str(&w, said);
	th_cua_done(job, th_buf_str(&out));
}

void th_cua_clipboard(struct th_cua_job *job)
{
	th_cua_act(job, TH_STR("[{\"type\":\"clipboard_get\"}]"), then_content);
}

static void act_keys(struct th_cua_job *job, const char *type, const struct th_json *keys,
		     struct th_str key)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_jw w = th_jw(&json);

	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", th_str_of(type));
	th_jw_key(&w, TH_STR("keys"));
	if (keys) {
		th_jw_json(&w, keys);
	} else {
		th_jw_array(&w);
		th_jw_str(&w, key);
		th_jw_array_end(&w);
	}
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	th_cua_act(job, th_buf_str(&json), then_done);
}

void th_cua_key(struct th_cua_job *job)
{
	struct th_str key;

	if (th_cua_need(job, "key", &key))
		act_keys(job, job->row->detail, NULL, key);
}

void th_cua_hotkey(struct th_cua_job *job)
{
	const struct th_json *keys = th_json_get(job->command.params, "keys");

	if (th_json_is_array(keys))
		act_keys(job, "key", keys, TH_STR(""));
	else if (th_json_str(keys).len)
		act_keys(job, "key", NULL, th_json_str(keys));
	else
		th_cua_fail(job, "hotkey() missing 1 required positional argument: 'keys'");
}
