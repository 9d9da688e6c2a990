// SPDX-License-Identifier: Apache-2.0
/*
 * decode.c - how fast answers are decoded, in one thread: every stream of a folder of recorded
 * ones, fed in pieces as a socket gives them, with and without an observer of the deltas; the
 * decoding of the answer into items included. Bytes are those of the streams.
 *
 *     decode FOLDER
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/limits.h"
#include "models/model.h"
#include "wire/sse.h"

#define PIECE 16384
#define SECONDS 1.0

struct stream {
	char *ptr;
	size_t len;
};

static struct stream *streams;
static size_t stream_count, total;

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void load(const char *folder)
{
	DIR *dir = opendir(folder);

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		char path[4096];
		size_t len = strlen(entry->d_name);
		FILE *f;
		long size;

		if (len < 4 || strcmp(entry->d_name + len - 4, ".sse") ||
		    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >=
			(int)sizeof(path))
			continue;
		f = fopen(path, "rb");
		if (!f)
			continue;
		fseek(f, 0, SEEK_END);
		size = ftell(f);
		rewind(f);
		streams = th_realloc(streams, (stream_count + 1) * sizeof(*streams));
		streams[stream_count].ptr = th_alloc((size_t)size + 1);
		streams[stream_count].len = fread(streams[stream_count].ptr, 1, (size_t)size, f);
		total += streams[stream_count++].len;
		fclose(f);
	}
	if (dir)
		closedir(dir);
}

static uint64_t heard;

static void hear(void *ctx, enum th_delta_kind kind, size_t index, struct th_str text)
{
	(void)ctx;
	(void)kind;
	(void)index;
	heard += text.len;
}

static void decode(const struct th_profile *p, struct th_str body, th_delta_fn *fn)
{
	struct th_decoder *d = p->wire->decoder_new(p, fn, NULL);
	struct th_answer answer;

	while (body.len) {
		size_t len = TH_MIN(body.len, (size_t)PIECE);

		p->wire->feed(d, th_str_sub(body, 0, len));
		body = th_str_sub(body, len, body.len);
	}
	p->wire->end(d, false, &answer);
	heard += answer.items.len;
	p->wire->decoder_free(d);
}

static void frame(struct th_str body)
{
	struct th_sse s;
	struct th_sse_event ev;

	th_sse_init(&s, TH_SSE_LINE_MAX);
	while (body.len) {
		struct th_str piece = th_str_sub(body, 0, PIECE);

		body = th_str_sub(body, piece.len, body.len);
		while (th_sse_next(&s, &piece, &ev, NULL) == 1)
			heard += ev.data.len;
	}
	th_sse_deinit(&s);
}

/* MB/s of CPU time: the best of several rounds, as other processes take their share. */
static double measure(int what, const struct th_profile *p)
{
	double best = 0, start = cpu_seconds();

	while (cpu_seconds() - start < SECONDS) {
		double from = cpu_seconds(), rate;

		for (size_t i = 0; i < stream_count; i++) {
			struct th_str body = th_str_n(streams[i].ptr, streams[i].len);

			if (what == 0)
				frame(body);
			else
				decode(p, body, what == 1 ? NULL : hear);
		}
		rate = (double)total / 1e6 / (cpu_seconds() - from);
		best = TH_MAX(best, rate);
	}
	return best;
}

int main(int argc, char **argv)
{
	const struct th_profile *p;
	struct th_str name;
	double sse, plain, observed;

	if (argc == 2)
		load(argv[1]);
	if (!total) {
		fprintf(stderr, "decode: no streams; usage: decode FOLDER\n");
		return 77;
	}
	if (th_model_resolve(TH_STR("responses:any"), &p, &name, NULL))
		return 1;
	sse = measure(0, p);
	plain = measure(1, p);
	observed = measure(2, p);
	printf("{\"bench\":\"decode\",\"streams\":%zu,\"bytes\":%zu,\"sse_mb_per_s\":%.0f,"
	       "\"decode_mb_per_s\":%.0f,\"decode_with_deltas_mb_per_s\":%.0f}\n",
	       stream_count, total, sse, plain, observed);
	return 0;
}
