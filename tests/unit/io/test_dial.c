/* SPDX-License-Identifier: Apache-2.0 */
/* From a name to a connection: of its addresses the first TH_DIAL_ADDRESSES_MAX are tried. */
#include "io/dial.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "unit.h"

static struct th_loop *loop;

/* ---- names ---- */

static size_t named; /* addresses that the name has */

/* What the name is resolved with, instead of the C library's: 127.0.0.1, 127.0.0.2 … */
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
		struct addrinfo **ret)
{
	struct entry {
		struct addrinfo info;
		struct sockaddr_in to;
	} *list = calloc(named, sizeof(*list));

	assert_string_equal(host, "many.example");
	assert_non_null(list);
	(void)hints;
	for (size_t i = 0; i < named; i++) {
		list[i].to.sin_family = AF_INET;
		list[i].to.sin_port = htons((uint16_t)atol(port));
		list[i].to.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)i);
		list[i].info.ai_addr = (struct sockaddr *)&list[i].to;
		list[i].info.ai_addrlen = sizeof(list[i].to);
		list[i].info.ai_next = i + 1 < named ? &list[i + 1].info : NULL;
	}
	*ret = &list[0].info;
	return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
	free(list);
}

/* ---- dialling ---- */

struct seen {
	int calls, fd;
	bool refused;
};

static void on_dialled(void *ctx, int fd, bool refused, const char *why)
{
	struct seen *s = ctx;

	(void)why;
	s->calls++;
	s->fd = fd;
	s->refused = refused;
	th_loop_stop(loop);
}

/* Listens on the last of `count` addresses alone. */
static struct seen dial(size_t count)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)count - 1) };
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct seen s = { .fd = -1 };
	struct th_err err = { 0 };
	struct th_dial *d;

	named = count;
	assert_int_equal(bind(listener, (struct sockaddr *)&at, size), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
	assert_int_equal(th_loop_new(&loop, &err), TH_OK);
	d = th_dial_new(loop, NULL, "many.example", ntohs(at.sin_port), on_dialled, &s);
	th_loop_run(loop);
	th_dial_free(d);
	th_loop_free(loop);
	close(listener);
	if (s.fd >= 0)
		close(s.fd);
	assert_int_equal(s.calls, 1);
	assert_false(s.refused);
	return s;
}

static void test_the_last_that_is_tried(void **state)
{
	(void)state;
	assert_true(dial(1).fd >= 0);
	assert_true(dial(TH_DIAL_ADDRESSES_MAX).fd >= 0);
	assert_int_equal(dial(TH_DIAL_ADDRESSES_MAX + 1).fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_the_last_that_is_tried) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
