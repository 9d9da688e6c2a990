/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_journal.c - an even first byte: the rest is the file.  An odd one: the
 * rest says what is appended to a journal and how its file is spoilt then; what
 * is read from it must be records that were written, each once and in order.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "store/journal.h"

#define RECORD_SIZE_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];

struct input {
	const uint8_t *data;
	size_t size;
};

static unsigned take(struct input *in)
{
	if (in->size == 0)
		return 0;
	in->size--;
	return *in->data++;
}

static uint32_t take3(struct input *in)
{
	uint32_t v = take(in);

	v = v << 8 | take(in);
	return v << 8 | take(in);
}

struct reading {
	uint64_t count;
	uint32_t last; /* number inside the record before */
	bool ours;     /* records are those of `record` */
};

static struct th_str record(uint32_t number)
{
	static char bytes[RECORD_SIZE_MAX];
	size_t len = 4 + number * 2654435761u % (RECORD_SIZE_MAX - 4) / (number % 3 ? 50 : 1);

	memset(bytes, (int)number, len);
	memcpy(bytes, &number, sizeof(number));
	return th_str_n(bytes, len);
}

static enum th_code see(void *ctx, struct th_str bytes, struct th_err *err)
{
	struct reading *r = ctx;
	uint32_t number;

	(void)err;
	assert(bytes.len <= TH_JOURNAL_RECORD_MAX);
	r->count++;
	if (!r->ours)
		return TH_OK;
	assert(bytes.len >= sizeof(number));
	memcpy(&number, bytes.ptr, sizeof(number));
	assert(number > r->last && th_str_eq(bytes, record(number)));
	r->last = number;
	return TH_OK;
}

static void spoil(struct input *in)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	assert(fd >= 0);
	while (in->size > 0) {
		unsigned what = take(in);
		off_t end = lseek(fd, 0, SEEK_END), at = take3(in) % (uint32_t)(end + 1);
		uint8_t bytes[256] = { 0 };
		size_t len = what / 8 + 1;

		if (what % 8 == 0 && ftruncate(fd, at) != 0)
			break;
		if (what % 8 == 1 && pread(fd, bytes, len, take3(in) % (uint32_t)(end + 1)) < 0)
			break;
		if (what % 8 > 2 && pread(fd, bytes, 1, at) == 1)
			bytes[0] ^= (uint8_t)(1u << take(in) % 8), len = 1;
		if (what % 8 > 0 && pwrite(fd, bytes, len, at) < 0)
			break;
	}
	close(fd);
}

static void write_journal(struct input *in)
{
	struct th_journal_found found;
	struct th_journal *j = NULL;
	enum th_code code = th_journal_open(path, NULL, NULL, &found, &j, NULL);
	uint32_t number = 0;
	unsigned count = take(in) % 32;

	assert(code == TH_OK);
	for (unsigned i = 0; i < count; i++) {
		unsigned what = take(in);

		code = th_journal_append(j, record(++number), NULL);
		assert(code == TH_OK);
		if (what % 3 == 0)
			code = th_journal_sync(j, NULL);
		if (what == 255)
			code = th_journal_rewrite(j, NULL, 0, NULL);
		assert(code == TH_OK);
	}
	th_journal_close(j);
	spoil(in);
}

static void check(bool ours)
{
	struct th_journal_found found, again;
	struct reading first = { .ours = ours }, second = { 0 };
	struct th_journal *j = NULL;
	struct th_err err = { 0 };
	enum th_code code = th_journal_open(path, see, &first, &found, &j, &err);

	if (code != TH_OK) {
		assert(code == TH_ECORRUPT && err.msg[0]);
		return;
	}
	assert(first.count == found.records && (!found.damaged || found.what[0]));
	code = th_journal_append(j, TH_STR("x"), &err);
	assert(code == TH_OK);
	code = th_journal_sync(j, &err);
	assert(code == TH_OK);
	th_journal_close(j);
	code = th_journal_open(path, see, &second, &again, &j, &err);
	assert(code == TH_OK && second.count == first.count + 1);
	assert(again.damaged == found.damaged && !again.torn);
	th_journal_close(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	bool ours = take(&in) % 2;
	FILE *f;

	if (!path[0])
		snprintf(path, sizeof(path), "%s/th-fuzz-journal-%ld",
			 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
	unlink(path);
	if (ours) {
		write_journal(&in);
	} else {
		f = fopen(path, "wbe");
		assert(f);
		fwrite(in.data, 1, in.size, f);
		fclose(f);
	}
	check(ours);
	unlink(path);
	return 0;
}
