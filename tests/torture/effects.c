/* SPDX-License-Identifier: Apache-2.0 */
/*
 * effects.c - what really happened.  A command says its name into a pipe that
 * only the harness reads; the harness chains the names by SHA-256.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "torture.h"

static struct th_digest chained(const struct th_digest *before, struct th_str name)
{
	struct th_sha256 h;

	th_sha256_init(&h);
	th_sha256_add(&h, before->bytes, sizeof(before->bytes));
	th_sha256_add(&h, name.ptr, name.len);
	return th_sha256_end(&h);
}

void effects_open(struct effects *e, const char *fifo)
{
	memset(e, 0, sizeof(*e));
	th_buf_init(&e->text, TH_MIB);
	e->fifo_fd = -1;
	if (!fifo)
		return;
	if (mkfifo(fifo, 0666) != 0 || chmod(fifo, 0666) != 0)
		die("%s: %s", fifo, strerror(errno));
	/* For writing too: so it never ends while commands come and go. */
	e->fifo_fd = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (e->fifo_fd < 0)
		die("%s: %s", fifo, strerror(errno));
}

void effects_close(struct effects *e)
{
	if (e->fifo_fd >= 0)
		close(e->fifo_fd);
	th_buf_deinit(&e->text);
}

void effects_add(struct effects *e, struct th_str name)
{
	char hex[TH_SHA256_HEX_SIZE + 1];

	e->head = chained(&e->head, name);
	th_digest_hex(&e->head, hex);
	th_buf_printf(&e->text, "%s %.*s\n", hex, TH_FMT(name));
}

void effects_drain(struct effects *e)
{
	char text[4096];
	ssize_t n;

	/* A name is far shorter than PIPE_BUF: it comes whole. */
	while (e->fifo_fd >= 0 && (n = read(e->fifo_fd, text, sizeof(text))) > 0)
		for (struct th_str rest = th_str_n(text, (size_t)n); rest.len;)
			effects_add(e, th_str_split(&rest, '\n'));
}

int effects_count(const struct effects *e, const char *name)
{
	struct th_str rest = th_buf_str(&e->text);
	struct th_digest head = { { 0 } }, said;
	int count = 0;

	while (rest.len) {
		struct th_str entry = th_str_split(&rest, '\n');
		struct th_str hex = th_str_split(&entry, ' ');

		head = chained(&head, entry);
		if (!th_digest_parse(hex, &said) || !th_digest_eq(&said, &head))
			return -1;
		count += th_str_is(entry, name);
	}
	return th_digest_eq(&head, &e->head) ? count : -1;
}
