/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.c - the tools of Cua's computer-server over MCP: each is one of its
 * commands, under another name.
 */
#include <stdlib.h>

#include "mcp_protocol/mcp.h"

#include "cua/cua.h"

#define ONLY_DRIVER "needs the cua-driver backend, which this server has not"

enum change {
	AS_IT_IS,
	PICTURE, /* the answer is a picture */
	WHEEL,   /* positive is down for the tool, and up for the command */
	NOTHING, /* no command: it fails with the command's text */
};

/* Arguments: "NAME:TYPE", with a "?" behind the name where it may be left out; the types are int,
 * num, str and strs. */
struct row {
	const char *tool, *command, *arguments;
	bool reads;
	enum change change;
	const char *description;
};

// clang-format off
static const struct row rows[] = {
	{ "computer_screenshot", "screenshot", "", true, PICTURE, "A picture of the screen. Take one before the first action, and after each." },
	{ "computer_get_screen_size", "get_screen_size", "", true, AS_IT_IS, "The size of the screen in pixels, which are those of the picture." },
	{ "computer_get_cursor_position", "get_cursor_position", "", true, AS_IT_IS, "Where the pointer is." },
	{ "computer_get_desktop_state", ONLY_DRIVER, "screenshot_out_file?:str", true, NOTHING, "Only with the cua-driver backend." },
	{ "computer_get_capture_scope_state", ONLY_DRIVER, "", true, NOTHING, "Only with the cua-driver backend." },
	{ "computer_escalate_capture_scope", ONLY_DRIVER, "reason:str detail?:str", false, NOTHING, "Only with the cua-driver backend." },
	{ "computer_click", "left_click", "x:int y:int button?:str", false, AS_IT_IS, "Clicks there; button: left (the default), right or middle." },
	{ "computer_double_click", "double_click", "x:int y:int", false, AS_IT_IS, "Clicks there twice." },
	{ "computer_move", "move_cursor", "x:int y:int", false, AS_IT_IS, "Moves the pointer there." },
	{ "computer_drag", "drag_to", "start_x:int start_y:int end_x:int end_y:int button?:str duration?:num", false, AS_IT_IS, "Presses the button at the start, moves to the end in so many seconds (0.5), and lets it go." },
	{ "computer_scroll", "scroll", "x:int y:int scroll_x?:int scroll_y?:int", false, WHEEL, "Turns the wheel there by so many notches: scroll_y down and scroll_x to the right, negative the other way." },
	{ "computer_mouse_down", "mouse_down", "x?:int y?:int button?:str", false, AS_IT_IS, "Presses a button and holds it, there or where the pointer is." },
	{ "computer_mouse_up", "mouse_up", "x?:int y?:int button?:str", false, AS_IT_IS, "Lets a button go." },
	{ "computer_type", "type_text", "text:str", false, AS_IT_IS, "Types a text." },
	{ "computer_press_key", "press_key", "key:str", false, AS_IT_IS, "Presses a key, such as enter, esc or f5." },
	{ "computer_hotkey", "hotkey", "keys:strs", false, AS_IT_IS, "Presses keys together, such as [\"ctrl\", \"c\"]." },
	{ "computer_key_down", "key_down", "key:str", false, AS_IT_IS, "Presses a key and holds it." },
	{ "computer_key_up", "key_up", "key:str", false, AS_IT_IS, "Lets a key go." },
	{ "computer_clipboard_get", "copy_to_clipboard", "", true, AS_IT_IS, "What is in the clipboard." },
	{ "computer_clipboard_set", "set_clipboard", "text:str", false, AS_IT_IS, "Puts a text into the clipboard." },
	{ "computer_run_command", "run_command", "command:str", false, AS_IT_IS, "Runs a line of the shell, and waits for its end." },
	{ "computer_file_read", "read_text", "path:str", true, AS_IT_IS, "The text of a file." },
	{ "computer_file_write", "write_text", "path:str content:str", false, AS_IT_IS, "Writes a text to a file, instead of what it has." },
	{ "computer_file_exists", "file_exists", "path:str", true, AS_IT_IS, "Whether there is such a file." },
	{ "computer_directory_exists", "directory_exists", "path:str", true, AS_IT_IS, "Whether there is such a folder." },
	{ "computer_list_directory", "list_dir", "path:str", true, AS_IT_IS, "The names in a folder." },
	{ "computer_create_directory", "create_dir", "path:str", false, AS_IT_IS, "Makes a folder, and those above it." },
	{ "computer_delete_file", "delete_file", "path:str", false, AS_IT_IS, "Deletes a file." },
	{ "computer_delete_directory", "delete_dir", "path:str", false, AS_IT_IS, "Deletes a folder that is empty." },
	{ "computer_get_file_size", "get_file_size", "path:str", true, AS_IT_IS, "The size of a file in bytes." },
	{ "computer_open", "open", "target:str", false, AS_IT_IS, "Opens a file or an address with the program for it." },
	{ "computer_launch_app", "launch", "app:str args?:strs", false, AS_IT_IS, "Starts a program." },
	{ "computer_get_active_window", "get_current_window_id", "", true, AS_IT_IS, "The number of the window in front." },
	{ "computer_get_window_name", "get_window_name", "window_id:str", true, AS_IT_IS, "The title of a window." },
	{ "computer_get_window_size", "get_window_size", "window_id:str", true, AS_IT_IS, "The size of a window." },
	{ "computer_get_window_position", "get_window_position", "window_id:str", true, AS_IT_IS, "Where a window is." },
	{ "computer_set_window_size", "set_window_size", "window_id:str width:int height:int", false, AS_IT_IS, "Gives a window another size." },
	{ "computer_set_window_position", "set_window_position", "window_id:str x:int y:int", false, AS_IT_IS, "Moves a window." },
	{ "computer_activate_window", "activate_window", "window_id:str", false, AS_IT_IS, "Brings a window to the front." },
	{ "computer_minimize_window", "minimize_window", "window_id:str", false, AS_IT_IS, "Makes a window an icon." },
	{ "computer_maximize_window", "maximize_window", "window_id:str", false, AS_IT_IS, "Makes a window as large as the screen." },
	{ "computer_close_window", "close_window", "window_id:str", false, AS_IT_IS, "Closes a window." },
	{ "computer_get_app_windows", "get_application_windows", "app:str", true, AS_IT_IS, "The windows whose title has this text." },
	{ "computer_get_desktop_environment", "get_desktop_environment", "", true, AS_IT_IS, "The name of the desktop." },
	{ "computer_set_wallpaper", "set_wallpaper", "path:str", false, AS_IT_IS, "Shows a picture behind all windows." },
	{ "computer_get_accessibility_tree", "get_accessibility_tree", "", true, AS_IT_IS, "The elements that programs tell of, with their places." },
	{ "computer_find_element", "find_element", "role?:str title?:str value?:str", true, AS_IT_IS, "The first of them with this role, title and value." },
};
// clang-format on

struct th_cua_mcp {
	struct th_mcp_tool tools[TH_COUNT(rows) + 1];
	struct th_mcp_kit kit;
	char *schemas[TH_COUNT(rows)];
};

/* ---- a call ---- */

static const struct row *row_of(const struct th_mcp *m)
{
	size_t i = 0;

	while (strcmp(rows[i].tool, m->tool->name) != 0)
		i++;
	return &rows[i];
}

static void put_arguments(const struct th_mcp *m, enum change change, struct th_jw *w)
{
	struct th_json_iter it = th_json_iter(th_json_get(m->params, "arguments"));
	int64_t turn;

	th_jw_object(w);
	if (change == PICTURE) {
		th_jw_kstr(w, "format", TH_STR("jpeg"));
		th_jw_kint(w, "quality", 85);
	}
	while (th_json_next(&it)) {
		th_jw_key(w, it.key);
		turn = th_json_int(it.val, 0);
		if (change == WHEEL && th_str_is(it.key, "scroll_y") && turn > INT32_MIN)
			th_jw_int(w, -turn);
		else
			th_jw_json(w, it.val);
	}
	if (change == WHEEL && !th_json_get(th_json_get(m->params, "arguments"), "scroll_y"))
		th_jw_kint(w, "scroll_y", 0); /* so that x and y are a place */
	th_jw_object_end(w);
}

static void answer(struct th_mcp *m, struct th_str json, bool failed)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_str picture = th_json_raw_get(json, "image_data");
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR("content"));
	th_jw_array(&w);
	th_jw_object(&w);
	if (picture.len) {
		th_jw_kstr(&w, "type", TH_STR("image"));
		th_jw_kraw(&w, "data", picture);
		th_jw_kstr(&w, "mimeType", TH_STR("image/jpeg"));
	} else {
		th_jw_kstr(&w, "type", TH_STR("text"));
		th_jw_kstr(&w, "text", json);
	}
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	if (!picture.len)
		th_jw_kraw(&w, "structuredContent", json);
	th_jw_kbool(&w, "isError", failed);
	th_jw_object_end(&w);
	if (out.failed)
		th_mcp_text(m, TH_STR("the answer is too long"), true);
	else
		th_mcp_answer(m, th_buf_str(&out));
}

static void answered(void *to, struct th_str json)
{
	struct th_mcp *m = to;

	m->gone = NULL;
	answer(m, json, !th_str_is(th_json_raw_get(json, "success"), "true"));
}

static void on_peer_gone(struct th_mcp *m)
{
	th_cua_forget(m->needs.server->cua, m); /* its access is gone */
}

static void fail(struct th_mcp *m, const char *text)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);

	th_cua_print_error(th_str_of(text), &json);
	answer(m, th_buf_str(&json), true);
}

static void call(struct th_mcp *m, const void *arguments)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_jw w = th_jw(&json);
	struct th_cua *c = m->access->server->cua;
	const struct row *row = row_of(m);
	struct th_err why = { 0 };
	int status;

	(void)arguments;
	if (row->change == NOTHING) {
		fail(m, row->command);
		return;
	}
	th_jw_object(&w);
	th_jw_kstr(&w, "command", th_str_of(row->command));
	th_jw_name(&w, TH_STR("params"));
	put_arguments(m, row->change, &w);
	th_jw_object_end(&w);
	m->gone = on_peer_gone;
	if (th_cua_begin(c, c->rows, th_buf_str(&json), answered, m, &status, &why))
		return;
	m->gone = NULL;
	fail(m, why.msg);
}

/* ---- the kit ---- */

static void put_type(struct th_str type, struct th_jw *w)
{
	if (th_str_is(type, "strs"))
		th_jw_raw(w, TH_STR("{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"));
	else if (th_str_is(type, "int"))
		th_jw_raw(w, TH_STR("{\"type\":\"integer\"}"));
	else if (th_str_is(type, "num"))
		th_jw_raw(w, TH_STR("{\"type\":\"number\"}"));
	else
		th_jw_raw(w, TH_STR("{\"type\":\"string\"}"));
}

static char *schema_of(const char *arguments)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_buf required TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_str rest = th_str_of(arguments);
	struct th_jw w = th_jw(&json), need = th_jw(&required);

	th_jw_array(&need);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("object"));
	th_jw_name(&w, TH_STR("properties"));
	th_jw_object(&w);
	while (rest.len) {
		struct th_str type = th_str_split(&rest, ' '), name = th_str_split(&type, ':');

		if (th_str_ends(name, TH_STR("?")))
			name.len--;
		else
			th_jw_str(&need, name);
		th_jw_key(&w, name);
		put_type(type, &w);
	}
	th_jw_object_end(&w);
	th_jw_array_end(&need);
	th_jw_kraw(&w, "required", th_buf_str(&required));
	th_jw_object_end(&w);
	return th_buf_steal(&json, NULL);
}

struct th_cua_mcp *th_cua_mcp_new(void)
{
	struct th_cua_mcp *p = th_alloc(sizeof(*p));

	*p = (struct th_cua_mcp){ 0 };
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		p->schemas[i] = schema_of(rows[i].arguments);
		p->tools[i] = (struct th_mcp_tool){ .name = rows[i].tool,
						    .description = rows[i].description,
						    .schema = p->schemas[i],
						    .scope = TH_SCOPE_RUN,
						    .reads = rows[i].reads,
						    .call = call };
	}
	p->kit = (struct th_mcp_kit){
		.name = "cua-computer-server",
		.instructions = "A desktop to be seen and acted on. Take a screenshot before the "
				"first action, and after each.",
		.any_accept = true,
		.tools = p->tools,
	};
	return p;
}

struct th_cua_mcp *th_cua_mcp_free(struct th_cua_mcp *p)
{
	if (!p)
		return NULL;
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		free(p->schemas[i]);
	free(p);
	return NULL;
}

void th_cua_mcp_serve(struct th_cua *c, struct th_access *a)
{
	a->scopes = TH_SCOPE_READ | TH_SCOPE_RUN;
	th_mcp_serve(a, &c->mcp->kit);
}
