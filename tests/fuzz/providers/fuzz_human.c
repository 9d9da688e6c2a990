/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person may type in a model's place: any line is refused with a
 * sentence or an answer that his wire reads as a whole one; and any request is
 * shown without a control character.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "providers/human.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(struct th_str answer)
{
	static const struct th_profile profile = { .name = "human", .wire = &th_wire_human };
	struct th_decoder *d = th_wire_human.decoder_new(&profile, NULL, NULL);
	struct th_answer a;

	if (th_wire_human.feed(d, answer) < 0)
		abort();
	th_wire_human.end(d, false, &a);
	if (a.status != TH_ANSWER_COMPLETED)
		abort();
	th_wire_human.decoder_free(d);
}

static void check_shown(struct th_str text)
{
	struct th_json_doc *doc;
	struct th_buf out = TH_BUF_INIT(64 * TH_MIB);

	if (th_json_parse(text, &doc, NULL))
		return;
	for (int all = 0; all < 2; all++)
		th_human_show(th_json_root(doc), all, th_human_picture(th_json_root(doc)), &out);
	for (size_t i = 0; i < out.len; i++)
		if ((unsigned char)out.ptr[i] < ' ' && out.ptr[i] != '\n')
			abort();
	th_json_free(doc);
	th_buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str line = th_str_n(data, size);
	struct th_buf answer = TH_BUF_INIT(TH_ANSWER_MAX);
	enum th_human_word word;
	struct th_err err = { 0 };

	if (th_human_read(line, &word, &answer, &err)) {
		if (!err.msg[0])
			abort();
	} else if (word == TH_HUMAN_ANSWER) {
		check_answer(th_buf_str(&answer));
	}
	th_buf_deinit(&answer);
	check_shown(line);
	return 0;
}
