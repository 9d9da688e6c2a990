// SPDX-License-Identifier: Apache-2.0
/*
 * decode.c - how fast answers are decoded, in one thread: every stream of each folder of recorded
 * ones, whose name says the wire, fed in pieces as a socket gives them, with and without an
 * observer of the deltas; the decoding of the answer into items included. Bytes are those of the
 * streams.
 *
 *     decode FOLDER…
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

static void unload(void)
{
	for (size_t i = 0; i < stream_count; i++)
		free(streams[i].ptr);
	free(streams);
	streams = NULL;
	stream_count = total = 0;
}

/* Folders, and a model whose wire they hold. */
static const struct {
	const char *folder, *model;
} wires[] = {
	{ "responses", "responses:any" },
	{ "chat", "chat:any" },
	{ "anthropic", "claude-sonnet-4-5" },
	{ "gemini", "gemini-2.5-computer-use-preview" },
};

static bool run(const char *path)
{
	const struct th_profile *p = NULL;
	struct th_str name, folder = th_str_of(path);
	double sse, plain, observed;

	for (size_t i = 0; i < TH_COUNT(wires); i++)
		if (th_str_ends(folder, th_str_of(wires[i].folder)) &&
		    th_model_resolve(th_str_of(wires[i].model), &p, &name, NULL))
			p = NULL;
	load(path);
	if (!total || !p) {
		unload();
		return false;
	}
	sse = measure(0, p);
	plain = measure(1, p);
	observed = measure(2, p);
	printf("{\"bench\":\"decode\",\"wire\":\"%s\",\"streams\":%zu,\"bytes\":%zu,\"sse_mb_per_"
	       "s\":%.0f,"
	       "\"decode_mb_per_s\":%.0f,\"decode_with_deltas_mb_per_s\":%.0f}\n",
	       p->wire->name, stream_count, total, sse, plain, observed);
	unload();
	return true;
}

int main(int argc, char **argv)
{
	bool any = false;

	for (int i = 1; i < argc; i++)
		any = run(argv[i]) || any;
	if (!any)
		fprintf(stderr, "decode: no streams; usage: decode FOLDER...\n");
	return any ? 0 : 77;
}
