/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.c - asks `thole serve` for responses at a fixed rate, however it answers.
 *
 * usage: load PORT TOKEN RATE SECONDS
 *
 * Prints one line: what was offered, taken (200) and refused (503) a second, and how long each kind
 * waited (median, 99th of a hundred, in ms).  A request goes out at its time on a connection that
 * is free, or on a new one, of CONNECTIONS_MAX; where none is left it counts as unsent.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 1024
#define REQUESTS_MAX 2000000
#define ANSWER_MAX 65536

static const char body[] = "{\"model\":\"gpt-5.4\",\"input\":\"Say something.\"}";

struct line {
	int fd;
	double sent_ms;
	size_t have;
	char *answer;
	struct line *free;
};

struct kind {
	double *waits;
	size_t count;
};

static struct line lines[CONNECTIONS_MAX], *idle;
static size_t line_count, unsent, failed;
static struct kind taken, refused;
static char request[1024];
static size_t request_len;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct line *open_line(int epoll, int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct line *l = &lines[line_count];
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = l };

	if (line_count == CONNECTIONS_MAX)
		return NULL;
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	l->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (l->fd < 0 || connect(l->fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		return NULL;
	l->answer = malloc(ANSWER_MAX);
	if (!l->answer || epoll_ctl(epoll, EPOLL_CTL_ADD, l->fd, &ev) != 0)
		return NULL;
	line_count++;
	return l;
}

static void ask(int epoll, int port)
{
	struct line *l = idle;

	if (l)
		idle = l->free;
	else
		l = open_line(epoll, port);
	if (!l) {
		unsent++;
		return;
	}
	l->have = 0;
	l->sent_ms = now_ms();
	if (write(l->fd, request, request_len) != (ssize_t)request_len)
		failed++;
}

static void note(struct kind *k, double wait)
{
	if (k->count < REQUESTS_MAX)
		k->waits[k->count++] = wait;
}

static void answered(struct line *l)
{
	ssize_t got = read(l->fd, l->answer + l->have, ANSWER_MAX - 1 - l->have);
	const char *end, *size;

	if (got <= 0) {
		failed++;
		close(l->fd);
		return;
	}
	l->have += (size_t)got;
	l->answer[l->have] = '\0';
	end = strstr(l->answer, "\r\n\r\n");
	size = strcasestr(l->answer, "content-length: ");
	if (!end || !size || (size_t)(end + 4 - l->answer) + strtoul(size + 16, NULL, 10) > l->have)
		return;
	if (strncmp(l->answer, "HTTP/1.1 200", 12) == 0)
		note(&taken, now_ms() - l->sent_ms);
	else if (strncmp(l->answer, "HTTP/1.1 503", 12) == 0)
		note(&refused, now_ms() - l->sent_ms);
	else
		failed++;
	l->free = idle;
	idle = l;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void show(const char *name, struct kind *k, double seconds)
{
	qsort(k->waits, k->count, sizeof(*k->waits), by_size);
	printf(", %s %.0f/s", name, (double)k->count / seconds);
	if (k->count > 0)
		printf(" (%.1f, %.1f ms)", k->waits[k->count / 2],
		       k->waits[k->count - 1 - k->count / 100]);
}

int main(int argc, char **argv)
{
	struct epoll_event events[256];
	int epoll = epoll_create1(0), port;
	double rate, seconds, began;
	size_t asked = 0, due;

	if (argc != 5) {
		fprintf(stderr, "usage: load PORT TOKEN RATE SECONDS\n");
		return 2;
	}
	port = atoi(argv[1]);
	rate = strtod(argv[3], NULL);
	seconds = strtod(argv[4], NULL);
	request_len = (size_t)snprintf(
	    request, sizeof(request),
	    "POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
	    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
	    argv[2], sizeof(body) - 1, body);
	taken.waits = calloc(REQUESTS_MAX, sizeof(double));
	refused.waits = calloc(REQUESTS_MAX, sizeof(double));
	if (!taken.waits || !refused.waits || epoll < 0)
		return 1;
	began = now_ms();
	while (now_ms() - began < seconds * 1000) {
		int n = epoll_wait(epoll, events, 256, 1);

		for (int i = 0; i < n; i++)
			answered(events[i].data.ptr);
		due = (size_t)((now_ms() - began) * rate / 1000);
		for (; asked < due; asked++)
			ask(epoll, port);
	}
	printf("offered %.0f/s", (double)asked / seconds);
	show("taken", &taken, seconds);
	show("refused", &refused, seconds);
	printf(", %zu unsent, %zu failed, %zu connections\n", unsent, failed, line_count);
	return 0;
}
