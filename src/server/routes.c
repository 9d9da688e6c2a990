/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c - which service answers a request. */
#include <stdio.h>

#include "server/service.h"
#include "wire/percent.h"

const struct th_route *th_route_next(struct th_route_iter *it)
{
	for (; *it->service; it->service++, it->route = NULL) {
		if (!it->route)
			it->route = (*it->service)->routes;
		if (it->route && it->route->path)
			return it->route++;
	}
	return NULL;
}

/* Most routes differ in what is before their first argument. */
static bool begins_alike(const char *words, struct th_str path)
{
	size_t i = 0;

	for (; words[i] && words[i] != '{'; i++)
		if (i == path.len || words[i] != path.ptr[i])
			return false;
	return true;
}

/* One word of the path beside one of the route; an argument is decoded into `to`. */
static bool word_fits(struct th_str pattern, struct th_str word, char *to, size_t size)
{
	struct th_buf plain TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_str end;

	if (!pattern.len || pattern.ptr[0] != '{')
		return th_str_eq(pattern, word);
	end = th_str_sub(pattern, (size_t)th_str_find_char(pattern, '}') + 1, pattern.len);
	if (word.len <= end.len || !th_str_ends(word, end))
		return false;
	word.len -= end.len;
	if (!th_percent_decode(word, &plain) || plain.len >= size)
		return false;
	memcpy(to, plain.ptr, plain.len + 1);
	return true;
}

bool th_route_fits(const char *words, struct th_str path, struct th_access *a)
{
	struct th_str pattern;
	size_t count = 0;

	if (!begins_alike(words, path))
		return false;
	pattern = th_str_of(words);
	while (pattern.len && path.len) {
		struct th_str want = th_str_split(&pattern, '/');
		bool task = th_str_starts(want, TH_STR("{task}"));
		bool argument = !task && want.len > 0 && want.ptr[0] == '{';

		if (!word_fits(want, th_str_split(&path, '/'), task ? a->task : a->args[count],
			       task ? sizeof(a->task) : sizeof(a->args[count])))
			return false;
		count += argument;
	}
	return !pattern.len && !path.len;
}

const struct th_route *th_route_in(const struct th_route *routes, struct th_access *a,
				   bool *ret_path)
{
	struct th_str path = th_http_path(a->request), method = th_http_method(a->request);

	*ret_path = false;
	if (path.len > 1 && path.ptr[path.len - 1] == '/')
		return NULL;
	for (const struct th_route *r = routes; r->path; r++) {
		if (!th_route_fits(r->path, path, a))
			continue;
		if (th_str_is(method, r->method))
			return r;
		*ret_path = true;
	}
	return NULL;
}

/* What a path takes: all its methods, of whatever service. */
static void fail_method(struct th_access *a, const char *path)
{
	struct th_buf methods TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf said TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_route_iter it = { .service = a->server->services };
	const struct th_route *r;

	while ((r = th_route_next(&it)))
		if (strcmp(r->path, path) == 0) {
			th_buf_printf(&methods, "%s%s", methods.len ? ", " : "", r->method);
			th_buf_printf(&said, "%s%s", said.len ? " and " : "", r->method);
		}
	th_access_fail_method(a, methods.ptr, "%s takes %s", path, said.ptr);
}

bool th_route_find(struct th_access *a)
{
	struct th_str path = th_http_path(a->request), method = th_http_method(a->request);
	const struct th_route *near = NULL, *r;

	if (path.len > 1 && path.ptr[path.len - 1] == '/')
		path.len = 0; /* no route ends so */
	struct th_route_iter it = { .service = a->server->services };

	while ((r = th_route_next(&it))) {
		/* A word of a path goes before an argument: the table has it first. */
		if (!th_route_fits(r->path, path, a))
			continue;
		near = near ?: r;
		if (th_str_is(method, r->method) ||
		    (th_str_is(method, "HEAD") && strcmp(r->method, "GET") == 0)) {
			a->route = r;
			a->service = *it.service;
			return true;
		}
	}
	/* Who has no token learns nothing of what is there. */
	if (!th_guard_caller(a))
		return false;
	if (near)
		fail_method(a, near->path);
	else
		th_access_fail(a, 404, NULL, "there is no such path; docs/HTTP.md lists them");
	return false;
}
