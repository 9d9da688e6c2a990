/* SPDX-License-Identifier: Apache-2.0 */
/* browser_rows.c - the table of browser_words.c. */
#include "dialects/browser_rows.h"

// clang-format off
#define MEMBERS(...) { __VA_ARGS__ }
#define REF(theirs) { theirs, "ref", TH_BROWSER_REF }
#define COPY(name) { name, name, TH_BROWSER_COPY }
#define IGNORED(theirs) { theirs, NULL, TH_BROWSER_IGNORED }
#define NOT(theirs, why) { theirs, why, TH_BROWSER_REFUSED }
#define ONE_ELEMENT NOT("ref", "it is for the page, not for one element")
#define CLICKS COPY("button"), { "modifiers", "keys", TH_BROWSER_KEYS }

/* Playwright's MCP server; OpenHands 1 where it says so. */
const struct th_browser_row th_browser_tools[] = {
	{ "browser_navigate", "open", "", MEMBERS(COPY("url"), COPY("new_tab")) },
	{ "browser_navigate_back", "back", "", MEMBERS() },
	{ "browser_navigate_forward", "forward", "", MEMBERS() },
	{ "browser_go_back", "back", "", MEMBERS() }, /* OpenHands */
	{ "browser_snapshot", "snapshot", "", MEMBERS(IGNORED("filename")) },
	{ "browser_get_state", "snapshot", "", MEMBERS({ "include_screenshot", "screenshot", TH_BROWSER_COPY }) }, /* OpenHands */
	{ "browser_get_content", "read", "", MEMBERS( /* OpenHands */
		NOT("extract_links", "addresses of links are not told; browser_click follows a link"),
		NOT("start_from_char", "a text that is too long is in a file, which its result names")) },
	{ "browser_click", "click", "", MEMBERS(REF("ref"), REF("index"), { "doubleClick", "count", TH_BROWSER_TWICE }, CLICKS,
		NOT("new_tab", "a link is opened in a new tab by modifiers [\"Control\"]")) },
	{ "browser_type", "type", "", MEMBERS(REF("ref"), REF("index"), COPY("text"), { "submit", "enter", TH_BROWSER_COPY },
		{ "slowly", "clear", TH_BROWSER_NOT }) },
	{ "browser_fill_form", NULL, "", MEMBERS({ "fields", "steps", TH_BROWSER_FIELDS }) },
	{ "browser_hover", "hover", "", MEMBERS(REF("ref")) },
	{ "browser_drag", "drag", "", MEMBERS(REF("startRef"), { "endRef", "to", TH_BROWSER_REF }, IGNORED("startElement"), IGNORED("endElement")) },
	{ "browser_select_option", "select", "", MEMBERS(REF("ref"), { "values", "values", TH_BROWSER_LIST }) },
	{ "browser_press_key", "key", "", MEMBERS({ "key", "keys", TH_BROWSER_KEYS }) },
	{ "browser_scroll", "scroll", "", MEMBERS({ "direction", "dy", TH_BROWSER_SCREENFUL }) }, /* OpenHands */
	{ "browser_wait_for", "wait", "", MEMBERS(COPY("text"), { "textGone", "text", TH_BROWSER_GONE }, { "time", "seconds", TH_BROWSER_SECONDS }) },
	{ "browser_handle_dialog", "dialog", "", MEMBERS({ "accept", "dismiss", TH_BROWSER_NOT }, { "promptText", "text", TH_BROWSER_COPY }) },
	{ "browser_file_upload", "upload", "", MEMBERS({ "paths", "files", TH_BROWSER_LIST }) },
	{ "browser_evaluate", "evaluate", "", MEMBERS({ "function", "script", TH_BROWSER_FUNCTION }, ONE_ELEMENT, IGNORED("filename")) },
	{ "browser_take_screenshot", "screenshot", "", MEMBERS(ONE_ELEMENT, IGNORED("type"), IGNORED("filename"),
		NOT("fullPage", "a picture shows what is on the screen; browser_snapshot has the whole page")) },
	{ "browser_console_messages", "console", "", MEMBERS(IGNORED("level"), IGNORED("onlyErrors"), IGNORED("all"), IGNORED("filename")) },
	{ "browser_network_requests", "network", "", MEMBERS(IGNORED("includeStatic"), IGNORED("static"), IGNORED("filename")) },
	{ "browser_tabs", NULL, "", MEMBERS({ "action", "action", TH_BROWSER_TABS }, COPY("url"), { "index", "tab", TH_BROWSER_REF }) },
	{ "browser_tab_list", "tabs", "", MEMBERS() },
	{ "browser_tab_new", "open", "\"new_tab\":true", MEMBERS(COPY("url")) },
	{ "browser_tab_select", "tab", "", MEMBERS({ "index", "tab", TH_BROWSER_REF }) },
	{ "browser_tab_close", "close", "", MEMBERS({ "index", "tab", TH_BROWSER_REF }) },
	{ "browser_list_tabs", "tabs", "", MEMBERS() }, /* OpenHands, and the next two */
	{ "browser_switch_tab", "tab", "", MEMBERS({ "tab_id", "tab", TH_BROWSER_REF }) },
	{ "browser_close_tab", "close", "", MEMBERS({ "tab_id", "tab", TH_BROWSER_REF }) },
	{ "browser_close", "close", "", MEMBERS() },
	{ "browser_mouse_click_xy", "click", "", MEMBERS(COPY("x"), COPY("y"), COPY("button")) },
	{ "browser_mouse_move_xy", "hover", "", MEMBERS(COPY("x"), COPY("y")) },
	{ "browser_mouse_wheel", "scroll", "", MEMBERS({ "deltaX", "dx", TH_BROWSER_COPY }, { "deltaY", "dy", TH_BROWSER_COPY }) },
	{ "browser_mouse_drag_xy", NULL, "elements are dragged by their refs, with browser_drag", MEMBERS() },
	{ "browser_resize", NULL, "the size of the page is the agent file's", MEMBERS() },
	{ "browser_install", NULL, "the browser is there", MEMBERS() },
	{ "browser_pdf_save", NULL, "pages are not printed; read has the page as text", MEMBERS() },
	{ "browser_run_code", NULL, "there is no Playwright here; the steps are those of the tool browser", MEMBERS() },
	{ "browser_get_storage", NULL, "cookies and storage are not shown", MEMBERS() },
	{ "browser_set_storage", NULL, "cookies and storage are set by pages alone", MEMBERS() },
	{ "browser_start_recording", NULL, "the session's log has what is done and seen", MEMBERS() },
	{ "browser_stop_recording", NULL, "the session's log has what is done and seen", MEMBERS() },
	{ 0 },
};

/* BrowserGym: members in the order in which code gives them. */
const struct th_browser_row th_browser_code[] = {
	{ "goto", "open", "", MEMBERS(COPY("url")) },
	{ "new_tab", "open", "\"new_tab\":true", MEMBERS() },
	{ "go_back", "back", "", MEMBERS() },
	{ "go_forward", "forward", "", MEMBERS() },
	{ "noop", "wait", "", MEMBERS({ "wait_ms", "seconds", TH_BROWSER_MS }) },
	{ "scroll", "scroll", "", MEMBERS({ "delta_x", "dx", TH_BROWSER_COPY }, { "delta_y", "dy", TH_BROWSER_COPY }) },
	{ "fill", "type", "\"clear\":true", MEMBERS(REF("bid"), { "value", "text", TH_BROWSER_COPY }) },
	{ "select_option", "select", "", MEMBERS(REF("bid"), { "options", "values", TH_BROWSER_LIST }) },
	{ "click", "click", "", MEMBERS(REF("bid"), CLICKS) },
	{ "dblclick", "click", "\"count\":2", MEMBERS(REF("bid"), CLICKS) },
	{ "hover", "hover", "", MEMBERS(REF("bid")) },
	{ "press", "key", "", MEMBERS(REF("bid"), { "key_comb", "keys", TH_BROWSER_KEYS }) },
	{ "clear", "type", "\"clear\":true", MEMBERS(REF("bid")) },
	{ "focus", NULL, "press, fill and click name their element themselves", MEMBERS() },
	{ "drag_and_drop", "drag", "", MEMBERS(REF("from_bid"), { "to_bid", "to", TH_BROWSER_REF }) },
	{ "upload_file", "upload", "", MEMBERS(REF("bid"), { "file", "files", TH_BROWSER_LIST }) },
	{ "tab_close", "close", "", MEMBERS() },
	{ "tab_focus", "tab", "", MEMBERS({ "index", "tab", TH_BROWSER_REF }) },
	{ 0 },
};
// clang-format on

const struct th_browser_row *th_browser_row_find(const struct th_browser_row *rows,
						 struct th_str name)
{
	for (; rows->name; rows++)
		if (th_str_is(name, rows->name))
			return rows;
	return NULL;
}
