/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - console and network of a browser's pages: see browser.h. */
#include <stdio.h>

#include "base/limits.h"
#include "base/text.h"
#include "browser/browser.h"

static void log_add(struct th_browser_log *log, struct th_str text)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf line = TH_BUF_INIT(8 * TH_BROWSER_LOG_LINE_MAX);
	char *to = log->lines[log->count++ % TH_BROWSER_LOG_LINES];

	th_text_line(&line, th_utf8_cut(text, 2 * TH_BROWSER_LOG_LINE_MAX),
		     TH_BROWSER_LOG_LINE_MAX);
	struct th_str cut = th_utf8_cut(th_buf_str(&line), TH_BROWSER_LOG_LINE_MAX);
	if (cut.len > 0)
		memcpy(to, cut.ptr, cut.len);
	to[cut.len] = '\0';
}

/* The arguments of console.log: strings as they are, others as the browser describes them. */
static void add_arguments(struct th_buf *out, const struct th_json *list)
{
	struct th_json_iter it = th_json_iter(list);

	while (th_json_next(&it)) {
		const struct th_json *value = th_json_get(it.val, "value");
		struct th_str text = th_json_str(value);
		if (!text.len)
			text = th_json_get_str(it.val, "description");
		th_buf_add_char(out, ' ');
		if (text.len || !value)
			th_buf_add(out, th_utf8_cut(text, TH_BROWSER_LOG_LINE_MAX));
		else
			th_json_print(value, out);
	}
}

static void on_console(struct th_browser *b, const struct th_cdp_message *m)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(64 * TH_KIB);
	const struct th_json *thrown = th_json_get(m->params, "exceptionDetails");
	const struct th_json *entry = th_json_get(m->params, "entry");

	if (thrown) {
		struct th_str what =
		    th_json_get_str(th_json_get(thrown, "exception"), "description");
		th_buf_add(&text, TH_STR("error: "));
		th_buf_add(&text, what.len ? what : th_json_get_str(thrown, "text"));
	} else if (entry) {
		th_buf_add(&text, th_json_get_str(entry, "level"));
		th_buf_add(&text, TH_STR(": "));
		th_buf_add(&text, th_json_get_str(entry, "text"));
		th_buf_add_char(&text, ' ');
		th_buf_add(&text, th_utf8_cut(th_json_get_str(entry, "url"), 200));
	} else {
		th_buf_add(&text, th_json_get_str(m->params, "type"));
		th_buf_add_char(&text, ':');
		add_arguments(&text, th_json_get(m->params, "args"));
	}
	log_add(&b->console, th_buf_str(&text));
}

static void on_request(struct th_browser *b, struct th_browser_tab *tab,
		       const struct th_cdp_message *m)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(16 * TH_KIB);
	const struct th_json *request = th_json_get(m->params, "request");
	const struct th_json *response = th_json_get(m->params, "response");

	if (request) {
		/* A redirect is the same request again. */
		tab->requests += !th_json_get(m->params, "redirectResponse");
		th_buf_add(&text, th_json_get_str(request, "method"));
		th_buf_add_char(&text, ' ');
		th_buf_add(&text, th_utf8_cut(th_json_get_str(request, "url"), 300));
	} else if (response) {
		th_buf_printf(&text, "%lld %.*s %.*s",
			      (long long)th_json_get_int(response, "status", 0),
			      TH_FMT(th_json_get_str(response, "mimeType")),
			      TH_FMT(th_utf8_cut(th_json_get_str(response, "url"), 300)));
	} else {
		th_buf_add(&text, TH_STR("failed: "));
		th_buf_add(&text, th_json_get_str(m->params, "errorText"));
	}
	log_add(&b->network, th_buf_str(&text));
}

void th_browser_log_event(struct th_browser *b, struct th_browser_tab *tab,
			  const struct th_cdp_message *m)
{
	if (th_str_is(m->method, "Runtime.consoleAPICalled") ||
	    th_str_is(m->method, "Runtime.exceptionThrown") ||
	    th_str_is(m->method, "Log.entryAdded"))
		on_console(b, m);
	else if (th_str_is(m->method, "Network.requestWillBeSent") ||
		 th_str_is(m->method, "Network.responseReceived"))
		on_request(b, tab, m);
	else if (th_str_is(m->method, "Network.loadingFinished"))
		tab->answers++;
	else if (th_str_is(m->method, "Network.loadingFailed")) {
		tab->answers++;
		on_request(b, tab, m);
	}
}

void th_browser_log_tell(const struct th_browser_log *log, uint64_t from, struct th_buf *out)
{
	uint64_t first = log->count > TH_BROWSER_LOG_LINES ? log->count - TH_BROWSER_LOG_LINES : 0;

	if (from < first)
		th_buf_printf(out, "(%llu earlier lines are gone)\n",
			      (unsigned long long)(first - from));
	for (uint64_t i = TH_MAX(from, first); i < log->count; i++)
		th_buf_printf(out, "%s\n", log->lines[i % TH_BROWSER_LOG_LINES]);
	if (log->count == from)
		th_buf_add(out, TH_STR("nothing\n"));
}
