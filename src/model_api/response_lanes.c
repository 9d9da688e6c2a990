/* SPDX-License-Identifier: Apache-2.0 */
/* response_lanes.c - the lanes of a WebSocket of the Responses API, and the messages that wait in
 * them. */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/response_lanes.h"

void th_lane_free(struct th_lane *l)
{
	th_response_pass_free(l->passed);
	free(l->at_node);
	for (size_t i = 0; i < l->count; i++)
		free(l->waiting[i]);
	free(l);
}

/* ---- what waits ---- */

void th_lane_put(struct th_lane *l, char *body)
{
	l->waiting[l->count++] = body;
	l->wire->waiting++;
}

char *th_lane_take(struct th_lane *l)
{
	char *body = l->waiting[0];

	memmove(l->waiting, l->waiting + 1, --l->count * sizeof(char *));
	l->wire->waiting--;
	return body;
}

struct th_lane *th_lane_due(const struct th_lanes *s)
{
	struct th_lane *l = s->first;

	while (l && (l->now || l->passed || !l->count))
		l = l->next;
	return l;
}

struct th_lane *th_lane_whose_last(struct th_lanes *s, struct th_str response)
{
	struct th_lane *l = s->first;

	while (l && !(response.len && th_str_is(response, l->last)))
		l = l->next;
	return l;
}

/* ---- which there are ---- */

static bool is_idle(const struct th_lane *l)
{
	return !l->now && !l->passed && !l->count && l->wire->making.lane != l &&
	       l->wire->making.own != l;
}

static struct th_lane *take_out(struct th_lanes *s, struct th_lane **at)
{
	struct th_lane *l = *at;

	*at = l->next;
	l->next = NULL;
	s->lanes--;
	return l;
}

/* Where there are too many, one that has nothing to do goes; what it was at the end of, and is not
 * stored, goes with it. */
static bool make_room(struct th_lanes *s)
{
	struct th_lane **at = &s->first;

	if (s->lanes < TH_SERVE_LANES_MAX)
		return true;
	while (*at && !is_idle(*at))
		at = &(*at)->next;
	if (!*at)
		return false;
	th_lane_free(take_out(s, at));
	return true;
}

struct th_lane *th_lane_of(struct th_lanes *s, const char *id)
{
	struct th_lane **at = &s->first, *l;

	while (*at && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	if (*at) {
		l = take_out(s, at);
	} else if (make_room(s)) {
		l = th_alloc(sizeof(*l));
		*l = (struct th_lane){ .wire = s };
		snprintf(l->id, sizeof(l->id), "%s", id);
	} else {
		return NULL;
	}
	for (at = &s->first; *at; at = &(*at)->next)
		;
	*at = l;
	s->lanes++;
	return l;
}
