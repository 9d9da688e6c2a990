/* SPDX-License-Identifier: Apache-2.0 */
/* step_act.c - steps on the elements of a page: see steps.h. */
#include <stdio.h>

#include "base/limits.h"
#include "base/text.h"
#include "browser/steps.h"

/* Why an element cannot be clicked at this point: "" when it can. */
static const char obstacle[] =
    "function(){if(this.disabled)return 'it is disabled';"
    "const b=this.getClientRects()[0];if(!b)return 'it is not shown';"
    "const r=this.getRootNode();if(!r.elementFromPoint)return '';"
    "const "
    "x=Math.min(Math.max(b.left+b.width/2,0),innerWidth-1),y=Math.min(Math.max(b.top+b.height/"
    "2,0),innerHeight-1);"
    "let e=r.elementFromPoint(x,y);if(!e)return '';"
    "for(let n=e;n;n=n.parentNode||n.host)if(n===this)return '';"
    "if(e.closest&&e.closest('label')&&e.closest('label').control===this)return '';"
    "if(this.contains(e)||e.shadowRoot&&e.contains(this))return '';"
    "return 'another element ('+e.tagName.toLowerCase()+(e.id?'#'+e.id:'')+') is in front of it'}";

static enum th_code reach(struct th_browser *b, int64_t ref, bool clear,
			  struct th_browser_element *e, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf why = TH_BUF_INIT(TH_KIB);
	const struct th_json *value;
	enum th_code code = th_browser_element(b, ref, e, err) ?: th_browser_reach(b, e, err);

	if (code || !clear)
		return code;
	code = th_browser_on_element(b, e, obstacle, TH_STR(""), &value, err);
	if (code || th_json_str(value).len == 0)
		return code;
	th_text_line(&why, th_json_str(value), 120);
	return th_fail(err, TH_EUSAGE, "element %lld cannot be clicked: %s", (long long)ref,
		       why.ptr);
}

/* Where a step points: at an element, at a place in it, or at a place of the screen. */
static enum th_code place_of(struct th_browser *b, const struct th_browse_step *s, bool clear,
			     struct th_point *ret, struct th_err *err)
{
	struct th_browser_element e;
	bool in_element = s->ref && s->x >= 0;
	enum th_code code = TH_OK;

	*ret = (struct th_point){ (int32_t)TH_MIN(s->x, (int64_t)TH_SCREEN_SIDE_MAX),
				  (int32_t)TH_MIN(s->y, (int64_t)TH_SCREEN_SIDE_MAX) };
	if (!s->ref && b->screen)
		return th_fail(
		    err, TH_EUSAGE,
		    "x and y without ref are no place of this page: it is in a window on "
		    "the screen; give ref, or click there as on any desktop");
	if (s->ref)
		code = reach(b, s->ref, clear && !in_element, &e, err);
	if (code)
		return code;
	if (in_element && (ret->x >= e.box.width || ret->y >= e.box.height))
		return th_fail(err, TH_EUSAGE, "(%d, %d) is outside of element %lld: it is %dx%d",
			       ret->x, ret->y, (long long)s->ref, e.box.width, e.box.height);
	if (in_element)
		*ret = (struct th_point){ e.box.x + ret->x, e.box.y + ret->y };
	else if (s->ref)
		*ret = e.at;
	return th_size_has(b->size, *ret)
		   ? TH_OK
		   : th_fail(err, TH_EUSAGE, "(%d, %d) is outside of the page's %dx%d", ret->x,
			     ret->y, b->size.width, b->size.height);
}

enum th_code th_browser_step_click(struct th_browser *b, const struct th_browse_step *s,
				   struct th_buf *out, struct th_err *err)
{
	struct th_action a = { .kind = TH_ACTION_CLICK,
			       .has_at = true,
			       .button = (enum th_button)s->button,
			       .count = (int32_t)s->count,
			       .key_count = TH_MIN(s->keys.count, (size_t)TH_CHORD_KEYS_MAX) };
	enum th_code code = place_of(b, s, true, &a.at, err);

	(void)out;
	for (size_t i = 0; i < a.key_count; i++)
		a.keys[i] = s->keys.list[i];
	return code ?: th_browser_input(b, &a, err);
}

enum th_code th_browser_step_hover(struct th_browser *b, const struct th_browse_step *s,
				   struct th_buf *out, struct th_err *err)
{
	struct th_action a = { .kind = TH_ACTION_MOVE, .has_at = true };
	enum th_code code = place_of(b, s, false, &a.at, err);

	(void)out;
	return code ?: th_browser_input(b, &a, err);
}

enum th_code th_browser_step_drag(struct th_browser *b, const struct th_browse_step *s,
				  struct th_buf *out, struct th_err *err)
{
	struct th_browser_element from, to;
	struct th_point path[2];
	struct th_action a = { .kind = TH_ACTION_DRAG, .path = path, .path_count = 2 };
	/* Scrolling to the second may scroll the first out of view. */
	enum th_code code = reach(b, s->ref, false, &from, err) ?: reach(b, s->to, false, &to, err)
						       ?: reach(b, s->ref, true, &from, err);

	(void)out;
	if (!code)
		code = reach(b, s->to, false, &to, err);
	if (code)
		return code;
	path[0] = from.at;
	path[1] = to.at;
	return th_browser_input(b, &a, err);
}

/* Fields without typing (a date, a colour) get their value directly: true, if this is one, or why
 * not.  Libraries put a setter of their own on a field, to know which values are not a person's:
 * the value goes past it, as a person's does. */
static const char set_value[] =
    "function(v){const t=this.type,e={color:'#12ab9f',date:'2026-01-31','datetime-local':"
    "'2026-01-31T18:05',month:'2026-01',range:(this.min||0)+' to "
    "'+(this.max||100),time:'18:05',week:'2026-W05'"
    "}[t];if(!e)return false;v=v.trim();"
    "if(this.disabled||(this.readOnly&&t!=='color'&&t!=='range'))return 'it takes no input';"
    "const "
    "s=Object.getOwnPropertyDescriptor(HTMLInputElement.prototype,'value').set,old=this.value;"
    "s.call(this,v);const n=this.value;"
    "if(t==='color'?n!==v.toLowerCase():t==='range'?Number(n)!==Number(v):v&&!n)"
    "{s.call(this,old);return 'it takes values such as '+e}"
    "this.dispatchEvent(new Event('input',{bubbles:true}));"
    "this.dispatchEvent(new Event('change',{bubbles:true}));return true}";

static enum th_code focus(struct th_browser *b, const struct th_browser_element *e,
			  struct th_err *err)
{
	struct th_jw *w = th_browser_begin(b, e->session, "DOM.focus");

	th_jw_kint(w, "backendNodeId", e->node);
	enum th_code code = th_browser_call(b, NULL, err);
	return code == TH_EIO ? th_fail(err, TH_EUSAGE, "the element takes no keys") : code;
}

enum th_code th_browser_step_type(struct th_browser *b, const struct th_browse_step *s,
				  struct th_buf *out, struct th_err *err)
{
	struct th_action a = {
		.kind = TH_ACTION_TYPE, .text = s->text, .clear = s->clear, .enter = s->enter
	};
	TH_CLEANUP(th_buf_deinit) struct th_buf why = TH_BUF_INIT(TH_KIB);
	const struct th_json *value = NULL;
	struct th_browser_element e;
	enum th_code code = TH_OK;

	(void)out;
	if (s->ref) {
		code = reach(b, s->ref, false, &e, err);
		if (!code)
			code = th_browser_on_element(b, &e, set_value, s->text, &value, err);
		if (code || th_json_bool(value, false))
			return code;
		th_text_line(&why, th_json_str(value), 120);
		code = why.len ? th_fail(err, TH_EUSAGE, "nothing was typed into element %lld: %s",
					 (long long)s->ref, why.ptr)
			       : focus(b, &e, err);
	}
	return code ?: th_browser_input(b, &a, err);
}

enum th_code th_browser_step_key(struct th_browser *b, const struct th_browse_step *s,
				 struct th_buf *out, struct th_err *err)
{
	struct th_action a = { .kind = TH_ACTION_KEY, .count = 1, .key_count = s->keys.count };
	struct th_browser_element e;
	enum th_code code = TH_OK;

	(void)out;
	for (size_t i = 0; i < s->keys.count; i++)
		a.keys[i] = s->keys.list[i];
	if (s->ref)
		code = th_browser_element(b, s->ref, &e, err) ?: focus(b, &e, err);
	return code ?: th_browser_input(b, &a, err);
}

enum th_code th_browser_step_scroll(struct th_browser *b, const struct th_browse_step *s,
				    struct th_buf *out, struct th_err *err)
{
	struct th_action a = {
		.kind = TH_ACTION_SCROLL, .unit = TH_SCROLL_PIXEL, .has_at = true, .at = b->at
	};
	struct th_browser_element e;
	enum th_code code = TH_OK;

	(void)out;
	a.dx = (int32_t)TH_MAX(TH_MIN(s->dx, INT64_C(1000000)), INT64_C(-1000000));
	a.dy = (int32_t)TH_MAX(TH_MIN(s->dy, INT64_C(1000000)), INT64_C(-1000000));
	if (s->ref) {
		code = reach(b, s->ref, false, &e, err);
		a.at = e.at;
	} else if (s->x >= 0) {
		code = place_of(b, s, false, &a.at, err);
	}
	return code || (!a.dx && !a.dy) ? code : th_browser_input(b, &a, err);
}

/* By label, text or value.  An unknown one is an error that lists the choices. */
static const char choose[] =
    "function(v){if(!this.options)return 'it is not a select element';"
    "if(this.disabled)return 'it is disabled';const w=JSON.parse(v),o=[..."
    "this.options],f=[];for(const x of w){const y=o.find(p=>p.label.trim()===x||p.text.trim()===x||"
    "p.value===x);if(!y)return 'there is no choice '+JSON.stringify(x)+'; the choices are '+"
    "o.slice(0,30).map(p=>p.label.trim()).join(', ');"
    "if(y.matches(':disabled'))return 'the choice '+JSON.stringify(x)+' is disabled';f.push(y)}"
    "if(f.length>1&&!this.multiple)return 'it takes one choice';"
    "for(const p of o)p.selected=f.includes(p);"
    "this.dispatchEvent(new Event('input',{bubbles:true}));"
    "this.dispatchEvent(new Event('change',{bubbles:true}));return ''}";

enum th_code th_browser_step_select(struct th_browser *b, const struct th_browse_step *s,
				    struct th_buf *out, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf list = TH_BUF_INIT(64 * TH_KIB);
	TH_CLEANUP(th_buf_deinit) struct th_buf why = TH_BUF_INIT(TH_ERR_MSG_MAX);
	struct th_jw w = th_jw(&list);
	const struct th_json *value = NULL;
	struct th_browser_element e;

	(void)out;
	th_jw_array(&w);
	for (size_t i = 0; i < s->values.count; i++)
		th_jw_str(&w, s->values.list[i]);
	th_jw_array_end(&w);
	enum th_code code = th_buf_check(&list, "the values", err);
	if (!code)
		code = reach(b, s->ref, false, &e, err);
	if (!code)
		code = th_browser_on_element(b, &e, choose, th_buf_str(&list), &value, err);
	if (code || th_json_str(value).len == 0)
		return code;
	th_text_line(&why, th_json_str(value), 300);
	return th_fail(err, TH_EUSAGE, "nothing was chosen: %s", why.ptr);
}

enum th_code th_browser_step_upload(struct th_browser *b, const struct th_browse_step *s,
				    struct th_buf *out, struct th_err *err)
{
	TH_CLEANUP(th_arena_deinit) struct th_arena a = {};
	const char *paths[TH_BROWSER_FILES_MAX];
	struct th_browser_element e = { 0 };
	struct th_browser_tab *tab;
	enum th_code code = th_browser_tab(b, &tab, err);

	(void)out;
	if (!code && s->ref)
		code = th_browser_element(b, s->ref, &e, err);
	else if (!code && tab->chooser.open) {
		memcpy(e.session, tab->chooser.session, sizeof(e.session));
		e.node = tab->chooser.node;
	} else if (!code)
		code = th_fail(err, TH_EUSAGE, "upload needs ref: no page has asked for files");
	th_arena_init(&a, 256 * TH_KIB);
	for (size_t i = 0; i < s->files.count && !code; i++)
		code = th_browser_upload(b, s->files.list[i], &a, &paths[i], err);
	if (code)
		return code == TH_ENOENT || code == TH_EPERM
			   ? th_fail(err, TH_EUSAGE, "%s", (err ? err->msg : ""))
			   : code;
	struct th_jw *w = th_browser_begin(b, e.session, "DOM.setFileInputFiles");
	th_jw_name(w, TH_STR("files"));
	th_jw_array(w);
	for (size_t i = 0; i < s->files.count; i++)
		th_jw_str(w, th_str_of(paths[i]));
	th_jw_array_end(w);
	th_jw_kint(w, "backendNodeId", e.node);
	tab->chooser.open = false;
	code = th_browser_call(b, NULL, err);
	return code == TH_EIO ? th_fail(err, TH_EUSAGE, "the element takes no files") : code;
}
