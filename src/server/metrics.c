/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - how the server is: for load balancers and for Prometheus (text format 0.0.4). */
#include <unistd.h>

#include "io/files.h"
#include "server/fleet.h"
#include "server/service.h"

void th_api_health(struct th_access *a)
{
	th_access_text(a, 200, "application/json", TH_STR("{\"status\":\"ok\"}"));
}

void th_api_ready(struct th_access *a)
{
	const struct th_server *s = a->server;
	bool draining = s->fleet && s->fleet->draining;

	if (s->failed || s->finishing || draining)
		th_access_fail(a, 503, NULL,
			       s->failed ? "the store takes no events" : "the server ends");
	else
		th_access_text(a, 200, "application/json", TH_STR("{\"status\":\"ready\"}"));
}

static void figure(struct th_buf *out, const char *name, const char *type, const char *help,
		   uint64_t value)
{
	th_buf_printf(out, "# HELP thole_%s %s\n# TYPE thole_%s %s\nthole_%s %llu\n", name, help,
		      name, type, name, (unsigned long long)value);
}

/* Resident memory, from /proc; 0: not known. */
static uint64_t memory(void)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_err err = {};
	struct th_str rest;
	int64_t pages = 0;

	if (th_file_read("/proc/self/statm", TH_KIB, &text, &err) != TH_OK)
		return 0;
	rest = th_buf_str(&text);
	(void)th_str_split(&rest, ' ');
	if (!th_str_i64(th_str_split(&rest, ' '), &pages))
		return 0;
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void th_api_metrics(struct th_access *a)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	const struct th_server *s = a->server;
	const struct th_metrics *m = &s->metrics;

	figure(&out, "requests_total", "counter", "HTTP requests whose head was read.",
	       m->requests);
	th_buf_add_cstr(&out, "# HELP thole_answers_total HTTP answers.\n"
			      "# TYPE thole_answers_total counter\n");
	for (int i = 1; i < 6; i++)
		th_buf_printf(&out, "thole_answers_total{status=\"%dxx\"} %llu\n", i,
			      (unsigned long long)m->answers[i]);
	figure(&out, "refused_hosts_total", "counter", "Requests of a foreign host or origin.",
	       m->refused_hosts);
	figure(&out, "refused_tokens_total", "counter", "Requests without a good token.",
	       m->refused_tokens);
	figure(&out, "refused_rate_total", "counter", "Requests over a user's rate.",
	       m->refused_rate);
	figure(&out, "refused_quota_total", "counter",
	       "Requests that a user's quota has no room for.", m->refused_quota);
	figure(&out, "refused_load_total", "counter", "Requests refused because of overload.",
	       m->refused_load);
	figure(&out, "connections", "gauge", "Open connections.", th_http_server_count(s->http));
	figure(&out, "streams", "gauge", "Open streams of events.", m->streams);
	figure(&out, "screens", "gauge", "Open live views of screens.", m->screens);
	figure(&out, "streams_begun_total", "counter", "Streams of events.", m->streams_begun);
	figure(&out, "events_streamed_total", "counter", "Events written to streams.",
	       m->events_streamed);
	figure(&out, "deltas_streamed_total", "counter", "Pieces of answers written to streams.",
	       m->deltas_streamed);
	figure(&out, "cursors_lost_total", "counter",
	       "Streams that asked for an event that is not.", m->cursors_lost);
	figure(&out, "sessions_open", "gauge", "Sessions that this server has open.", s->hubs.open);
	figure(&out, "sessions_begun_total", "counter", "Sessions begun here.", m->sessions_begun);
	figure(&out, "sessions_recovered_total", "counter", "Sessions taken up at the start.",
	       m->sessions_recovered);
	figure(&out, "responses_begun_total", "counter", "Responses asked for under /v1.",
	       m->responses_begun);
	figure(&out, "messages_total", "counter", "Messages to sessions.", m->messages);
	figure(&out, "decisions_total", "counter", "Approvals, rejections, settlements.",
	       m->decisions);
	figure(&out, "openhands_held_bytes", "gauge",
	       "Conversations in memory that clients of OpenHands were told.",
	       m->conversations_held);
	figure(&out, "webhooks_sent_total", "counter", "Webhooks that were taken.",
	       s->webhooks->sent);
	figure(&out, "webhooks_failed_total", "counter", "Tries that failed.", s->webhooks->failed);
	figure(&out, "webhooks_waiting", "gauge", "Webhooks that wait to be taken.",
	       th_webhooks_waiting(s->webhooks));
	if (s->fleet)
		th_fleet_figures(s->fleet, &out);
	figure(&out, "resident_memory_bytes", "gauge", "Resident memory.", memory());
	figure(&out, "uptime_seconds", "gauge", "Since the server began.",
	       (th_loop_now_ms(s->loop) - s->started_ms) / 1000);
	th_access_text(a, 200, "text/plain; version=0.0.4; charset=utf-8", th_buf_str(&out));
}
