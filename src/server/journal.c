/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - what the server says of itself: lines of JSON.  No token, body or query is in them.
 */
#include <stdarg.h>
#include <unistd.h>

#include "base/text.h"
#include "io/clock.h"
#include "server/service.h"

static void put(const struct th_server *s, struct th_buf *line)
{
	th_buf_add_char(line, '\n');
	if (!line->failed && write(s->o.journal, line->ptr, line->len) < 0)
		return; /* a journal that is full or gone keeps nobody from his session */
}

/* What the peer wrote is in it as text. */
void th_journal_request(const struct th_server *s, const struct th_http_request *r,
			const struct th_access *a, int status, uint64_t sent)
{
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w = th_jw(&line);

	if (s->o.journal < 0)
		return;
	th_jw_object(&w);
	th_jw_kint(&w, "ts_ms", (int64_t)th_clock_wall_ms());
	th_jw_kstr(&w, "method", th_http_method(r));
	th_jw_kstr(&w, "path", th_utf8_cut(th_http_path(r), 200));
	th_jw_kint(&w, "status", status);
	if (a && a->has_from) {
		struct th_buf from TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

		th_address_print(&a->from, &from);
		th_jw_kstr(&w, "from", th_buf_str(&from));
	}
	if (a && a->user[0])
		th_jw_kstr(&w, "user", th_str_of(a->user));
	th_jw_kuint(&w, "sent", sent);
	th_jw_kuint(&w, "ms", th_loop_now_ms(s->loop) - th_http_started_ms(r));
	th_jw_object_end(&w);
	put(s, &line);
}

void th_journal_say(const struct th_server *s, const char *about, const char *fmt, ...)
{
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_jw w = th_jw(&line);
	va_list ap;

	if (s->o.journal < 0)
		return;
	va_start(ap, fmt);
	th_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	th_jw_object(&w);
	th_jw_kint(&w, "ts_ms", (int64_t)th_clock_wall_ms());
	th_jw_kstr(&w, "about", th_str_of(about));
	th_jw_kstr(&w, "message", th_buf_str(&text));
	th_jw_object_end(&w);
	put(s, &line);
}
