/* SPDX-License-Identifier: Apache-2.0 */
/* bash_answer.c - what a call of the tool `bash` is told of its shell. */
#include "tools/bash_shell.h"

#include <stdio.h>

#define CONTINUED "[Below is the output of the previous command.]\n"

bool th_bash_shell_busy(const struct th_bash_shell *sh)
{
	return sh->session && th_shell_session_busy(sh->session);
}

void th_bash_put_evidence(struct th_buf *out, const struct th_bash_shell *sh, bool ended,
			  uint64_t size, uint64_t left_out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	if (ended)
		th_jw_kint(&w, "exit_code", sh->status);
	else
		th_jw_kbool(&w, "running", th_bash_shell_busy(sh));
	if (sh->folder[0])
		th_jw_kstr(&w, "folder", th_str_of(sh->folder));
	th_jw_kuint(&w, "output_size", size);
	if (left_out)
		th_jw_kuint(&w, "left_out", left_out);
	th_jw_object_end(&w);
}

void th_bash_put_last_words(struct th_bash_shell *sh, struct th_buf *out)
{
	th_buf_add(out, th_buf_str(&sh->last_words));
	th_buf_clear(&sh->last_words);
}

void th_bash_put_death(struct th_buf *out, const struct th_child_exit *e)
{
	if (e->signalled)
		th_buf_printf(out, "[The shell was ended by signal %d", e->code);
	else
		th_buf_printf(out, "[The shell ended with exit code %d", e->code);
	th_buf_add_cstr(out, ", and with it all that it had started. The next command begins a new "
			     "one, in the workspace and without its variables.]");
}

void th_bash_put_ended(struct th_bash_shell *sh, struct th_buf *out)
{
	size_t start;

	if (!sh->ended_untold)
		return;
	th_buf_add_cstr(out, CONTINUED);
	start = out->len;
	th_terminal_take(th_shell_session_terminal(sh->session), out);
	th_buf_printf(out, "%s[The command completed with exit code %d.]\n\n",
		      out->len > start ? "\n" : "", sh->status);
	sh->ended_untold = false;
	sh->control = 0;
}

void th_bash_put_answer(struct th_bash_shell *sh, enum th_outcome_status status, bool ended,
			struct th_str ending, struct th_buf *text, struct th_buf *evidence)
{
	const struct th_bash_call *c = sh->first;
	struct th_terminal *t = sh->session ? th_shell_session_terminal(sh->session) : NULL;
	uint64_t size = t ? th_terminal_fresh(t) : 0, left_out = 0;
	size_t start;

	if (status == TH_OUTCOME_REFUSED || status == TH_OUTCOME_NOT_STARTED)
		th_buf_add_cstr(text, TH_ERROR_MARK);
	start = text->len;
	th_bash_put_last_words(sh, text);
	if (c->continued && !ended)
		th_buf_add_cstr(text, CONTINUED);
	if (t)
		left_out = th_terminal_take(t, text);
	if (text->len > start && text->ptr[text->len - 1] != '\n')
		th_buf_add_char(text, '\n');
	th_buf_add(text, ending);
	if (ended && sh->folder[0] && strcmp(sh->folder, sh->told_folder) != 0) {
		snprintf(sh->told_folder, sizeof(sh->told_folder), "%s", sh->folder);
		th_buf_printf(text, "\n[Current working directory: %s]", sh->folder);
	}
	th_bash_put_evidence(evidence, sh, ended, size, left_out);
}
