/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers.h - for the targets of the wires' decoders: any bytes as a body,
 * whole and in pieces, must give the same answer, and be heard the same.
 */
#ifndef TESTS_FUZZ_ANSWERS_H
#define TESTS_FUZZ_ANSWERS_H

#include <stdlib.h>

#include "base/limits.h"
#include "models/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hear(void *ctx, enum th_delta_kind kind, size_t index, struct th_str text)
{
	struct th_buf *out = ctx;

	assert(kind <= TH_DELTA_SEALED && index < SIZE_MAX && text.len > 0);
	th_buf_add(out, text);
}

static void add_answer(const struct th_answer *a, struct th_buf *out)
{
	th_buf_printf(out, "%d %lld ", (int)a->status, (long long)a->usage.total);
	th_buf_add(out, a->items);
	th_buf_add(out, a->raw);
	th_buf_add(out, a->response_id);
	th_buf_add(out, a->model);
	th_buf_add(out, a->reason);
	th_buf_add(out, a->error_class);
	th_buf_add(out, a->error_message);
	th_buf_add(out, a->error_code);
	th_buf_add(out, a->error_raw);
}

/* JSON, or more of it than is read. */
static void must_be_json(struct th_str text)
{
	struct th_json_doc *doc = NULL;

	if (th_json_parse(text, &doc, NULL) == TH_EPROTO)
		abort();
	th_json_free(doc);
}

/* how: 1 deltas are heard; 2 an HTTP error; 4 cut, or its status.  `check` sees the whole one. */
static void decode(const struct th_wire *wire, struct th_str body, size_t step, int how,
		   void (*check)(const struct th_answer *answer), struct th_buf *out)
{
	struct th_buf heard = TH_BUF_INIT(64 * TH_MIB);
	struct th_decoder *d = wire->decoder_new(NULL, how & 1 ? hear : NULL, &heard);
	struct th_answer answer;

	while (body.len) {
		size_t len = TH_MIN(step, body.len);
		char *copy = malloc(len);

		assert(copy);
		memcpy(copy, body.ptr, len);
		(void)wire->feed(d, th_str_n(copy, len));
		free(copy);
		body = th_str_sub(body, len, body.len);
	}
	if (how & 2)
		wire->error(d, how & 4 ? 429 : 500, &answer);
	else
		wire->end(d, (how & 4) != 0, &answer);
	assert((answer.status == TH_ANSWER_FAILED) == (answer.error_class.len > 0));
	add_answer(&answer, out);
	th_buf_add(out, th_buf_str(&heard));
	if (step == SIZE_MAX)
		check(&answer);
	wire->decoder_free(d);
	th_buf_deinit(&heard);
}

/* The last byte says how, so that seeds are plain streams. */
static void fuzz_answer(const struct th_wire *wire, const uint8_t *data, size_t size,
			void (*check)(const struct th_answer *answer))
{
	struct th_buf whole = TH_BUF_INIT(256 * TH_MIB), cut = TH_BUF_INIT(256 * TH_MIB);
	int how = size ? data[size - 1] & 7 : 0;
	size_t step = size ? 1 + data[size - 1] % 61 : 1;

	decode(wire, th_str_n(data, size), SIZE_MAX, how, check, &whole);
	decode(wire, th_str_n(data, size), step, how, check, &cut);
	if (!th_str_eq(th_buf_str(&whole), th_buf_str(&cut)))
		abort();
	th_buf_deinit(&whole);
	th_buf_deinit(&cut);
}

#endif
