/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menu.c - the menu that a select element has opened: see browser.h.
 *
 * It is a window of the browser's own, which a browser without windows draws nowhere: so it is on
 * no picture, and a click where it would be reaches the page below it.  Keys reach it.
 */
#include <stdio.h>

#include "base/limits.h"
#include "base/text.h"
#include "browser/browser.h"

#define ASK_MS 1000 /* the page has just drawn a picture */

/* What it offers, at most 30 around the chosen one; nothing: none is open, or it is in a frame with
 * a process of its own. */
static const char script[] =
    "(()=>{let e=document.activeElement,n;"
    "for(let i=0;i<16&&e&&(n=(e.shadowRoot||e.contentDocument||{}).activeElement);i++)e=n;"
    "if(!e||e.localName!='select'||!e.matches(':open'))return '';"
    "const o=[...e.options],from=Math.max(0,Math.min(e.selectedIndex-15,o.length-30));"
    "const said=o.slice(from,from+30).map(p=>JSON.stringify(p.label.trim().slice(0,80))"
    "+(p.selected?' (chosen)':p.disabled?' (disabled)':'')).join(', ');"
    "return (from?'('+from+' before) ':'')+said"
    "+(o.length>from+30?' ('+(o.length-from-30)+' behind)':'');})()";

void th_browser_menu_look(struct th_browser *b, const struct th_browser_tab *tab)
{
	bool wanted = !b->screen && (b->menu_due || b->menu.len > 0);
	const struct th_json *result = NULL;
	struct th_err ignored;
	struct th_jw *w;

	b->menu_due = false;
	th_buf_clear(&b->menu);
	if (!wanted)
		return;
	w = th_browser_begin(b, tab->session, "Runtime.evaluate");
	th_jw_kstr(w, "expression", th_str_of(script));
	th_jw_kbool(w, "returnByValue", true);
	b->call_ms = ASK_MS;
	if (th_browser_call(b, &result, &ignored) || !result)
		return;
	th_text_line(&b->menu, th_json_get_str(th_json_get(result, "result"), "value"),
		     TH_BROWSER_MENU_MAX);
}
