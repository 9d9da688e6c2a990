/* SPDX-License-Identifier: Apache-2.0 */
/* socket_send.c - a socket's memory, its end, and what goes to its peer. */
#include <stdlib.h>

#include "io/clock.h"
#include "openhands_api/socket.h"

void th_oh_socket_free(struct th_oh_socket *s)
{
	if (s->prev)
		s->prev->next = s->next;
	else
		s->o->sockets = s->next;
	if (s->next)
		s->next->prev = s->prev;
	th_oh_read_free(s->reading);
	th_loop_undefer(s->o->server->loop, &s->pump);
	th_timer_stop(&s->login);
	th_hub_unlisten(&s->listener);
	th_buf_deinit(&s->since);
	th_buf_deinit(&s->said);
	th_needs_forget(&s->look);
	s->o->server->metrics.sockets--;
	free(s);
}

void th_oh_socket_leave(struct th_oh_socket *s)
{
	th_needs_forget(&s->access->needs);
	s->gone = true;
	if (!s->sends)
		th_oh_socket_free(s);
}

void th_oh_socket_end(struct th_oh_socket *s, unsigned code)
{
	struct th_http_request *r = s->access->request;

	s->access->gone = NULL;
	s->access->message = NULL;
	s->access->room = NULL;
	th_needs_forget(&s->access->needs);
	s->gone = true;
	if (!s->sends)
		th_oh_socket_free(s);
	th_http_close(r, code);
}

bool th_oh_socket_send(struct th_oh_socket *s, struct th_str json)
{
	bool within = s->sends;
	enum th_code code;

	s->sends = true;
	code = th_http_send(s->access->request, json, true);
	if (code == TH_EBUSY)
		s->full = true;
	else if (code == TH_ELIMIT && !s->gone)
		th_oh_socket_end(s, 1008);
	s->sends = within;
	if (!s->gone)
		return true;
	if (!within)
		th_oh_socket_free(s);
	return false;
}

void th_oh_socket_head(const char *kind, const char *source, struct th_jw *w)
{
	struct th_uuid id = th_uuid_now();
	char text[TH_UUID_TEXT_SIZE + 1];

	th_uuid_text(&id, text);
	th_jw_object(w);
	th_jw_kstr(w, "kind", th_str_of(kind));
	th_jw_kstr(w, "id", th_str_of(text));
	th_jw_kstr(w, "source", th_str_of(source));
	th_jw_name(w, TH_STR("timestamp"));
	th_oh_put_time((int64_t)th_clock_wall_ms(), false, w);
}

void th_oh_socket_tell_error(struct th_oh_socket *s, const char *code, const char *detail)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w = th_jw(&json);

	th_oh_socket_head("ServerErrorEvent", "environment", &w);
	th_jw_kstr(&w, "code", th_str_of(code));
	th_jw_kstr(&w, "detail", th_str_of(detail));
	th_jw_object_end(&w);
	(void)th_oh_socket_send(s, th_buf_str(&json));
}
