/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencua.c - OpenCUA: pyautogui calls in a block of code, which is
 * read and never run.
 *
 *	## Thought: …  ## Action: …  ## Code:
 *	```python
 *	pyautogui.moveTo(x=100, y=200)
 *	pyautogui.dragTo(x=300, y=200, button='left')
 *	```
 *
 * Statements that are not such calls are refused, with what follows them.
 */
#include "dialects/opencua.h"

#include "dialects/list.h"

static void prompt(const struct th_dialect_context *c, struct th_buf *out)
{
	(void)c;
	th_buf_add_cstr(
	    out,
	    "You are a GUI agent. You are given a task, a screenshot and what you did before. "
	    "Perform the next step with pyautogui calls.\n\nFor each step, answer in this form:\n"
	    "## Thought:\nwhat you see, and why the next step\n\n## Action:\nthe next step in one "
	    "sentence\n\n## Code:\n```python\nthe calls\n```\n\nCalls: pyautogui.click, "
	    "doubleClick, rightClick, middleClick, moveTo, dragTo (x=, y=), scroll, hscroll "
	    "(clicks), write (message=), press (keys=), hotkey (keys=[…]), keyDown, keyUp; "
	    "computer.tripleClick(x=, y=); computer.wait(); computer.terminate(status='success' "
	    "or 'failure', answer='…') when it is done or cannot be done. Nothing else is run: no "
	    "variables, no expressions, no imports.\n");
}

const struct th_dialect th_dialect_opencua = {
	.name = "opencua",
	.note = "OpenCUA: pyautogui calls in a block of code",
	.prompt = prompt,
	.decode = th_opencua_decode,
	.encode = th_opencua_encode,
	.results_as_user = true,
};
