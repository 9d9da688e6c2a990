/* SPDX-License-Identifier: Apache-2.0 */
/* computer.c - see computer.h. */
#include "config/computer.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/text.h"
#include "computers/computers.h"
#include "config/config.h"

TH_PRINTF(4, 5)
static enum th_code fail_member(struct th_buf *path, struct th_err *err, const char *member,
				const char *fmt, ...)
{
	struct th_buf what TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ERR_MSG_MAX);
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(&what, fmt, ap);
	va_end(ap);
	th_buf_clear(path);
	th_buf_printf(path, "computer.%s", member);
	return th_fail(err, TH_EUSAGE, "%s", what.ptr);
}

static enum th_code check_size(const struct th_agent_computer *k, struct th_buf *path,
			       struct th_err *err)
{
	if (!k->width != !k->height)
		return fail_member(path, err, k->width ? "width" : "height",
				   "needs its partner: give width and height, or neither");
	if (k->width > TH_SCREEN_SIDE_MAX || k->height > TH_SCREEN_SIDE_MAX)
		return fail_member(path, err, k->width > TH_SCREEN_SIDE_MAX ? "width" : "height",
				   "must be at most %d", TH_SCREEN_SIDE_MAX);
	if (k->width * k->height > TH_SCREEN_PIXELS_MAX)
		return fail_member(
		    path, err, "height",
		    "must be at most %d with this width: a screen has at most %d pixels",
		    (int)(TH_SCREEN_PIXELS_MAX / k->width), TH_SCREEN_PIXELS_MAX);
	return TH_OK;
}

/* What is given and the kind does not have. */
static enum th_code check_shared(const struct th_agent_computer *k,
				 const struct th_computer_kind *kind, struct th_buf *path,
				 struct th_err *err)
{
	const struct {
		unsigned option;
		const char *member;
		bool given;
	} rows[] = {
		{ TH_HAS_SIZE, "width", k->width != 0 },
		{ TH_HAS_START, "start", k->start.len != 0 },
		{ TH_HAS_START, "start_wait_s", k->start_wait_s != 0 },
		{ TH_HAS_DISPLAY, "display", k->display.len != 0 },
		{ TH_HAS_BUS, "bus", k->bus.len != 0 },
	};
	struct th_buf names TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ERR_MSG_MAX);

	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		if (!rows[i].given || (kind->shared & rows[i].option))
			continue;
		th_computer_names(rows[i].option, " or ", &names);
		return fail_member(path, err, rows[i].member, "is only for %s", names.ptr);
	}
	return TH_OK;
}

static enum th_code check_start(const struct th_agent_computer *k, struct th_buf *path,
				struct th_err *err)
{
	struct th_buf at TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_agent_starts starts;
	enum th_code code;

	if (k->start_wait_s > TH_START_WAIT_S_MAX)
		return fail_member(path, err, "start_wait_s", "must be at most %d",
				   TH_START_WAIT_S_MAX);
	th_arena_init(&a, TH_MIB);
	code = th_agent_starts_read(k->start, &a, &starts, &at, err);
	if (code)
		th_buf_printf(path, "computer.%.*s", TH_FMT(th_buf_str(&at)));
	return code ? TH_EUSAGE : TH_OK;
}

static enum th_code check_own(const struct th_agent_computer *k,
			      const struct th_computer_kind *kind, struct th_buf *path,
			      struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_err why;

	th_arena_init(&a, TH_MIB);
	if (!th_computer_own(kind, k->options, &a, &doc, NULL, &why))
		return TH_OK;
	return fail_member(path, err, "options", "does not fit: %s", why.msg);
}

enum th_code th_config_computer_check(const struct th_agent_computer *k, struct th_buf *path,
				      struct th_err *err)
{
	struct th_buf names TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ERR_MSG_MAX);
	const struct th_computer_kind *kind = th_computer_find(k->kind);
	enum th_code code;

	if (!kind) {
		th_computer_names(0, " or ", &names);
		return fail_member(path, err, "kind", "must be %s, not \"%.*s\"", names.ptr,
				   TH_FMT(th_utf8_cut(k->kind, TH_NAME_NEAR_MAX)));
	}
	code = check_size(k, path, err);
	if (code == TH_OK)
		code = check_shared(k, kind, path, err);
	if (code == TH_OK)
		code = check_start(k, path, err);
	if (code == TH_OK)
		code = check_own(k, kind, path, err);
	if (code == TH_OK && k->ocr.len && k->ocr.ptr[0] != '/')
		return fail_member(path, err, "ocr", "must be an absolute path");
	return code;
}

static enum th_code read_size(struct th_str size, struct th_agent_computer *k, struct th_err *err)
{
	struct th_str height = size, width = th_str_split(&height, 'x');

	if (!th_str_i64(width, &k->width) || !th_str_i64(height, &k->height) || k->width < 1 ||
	    k->height < 1 || k->width > TH_SCREEN_SIDE_MAX || k->height > TH_SCREEN_SIDE_MAX)
		return th_fail(err, TH_EUSAGE,
			       "the size of a computer is WIDTHxHEIGHT, such as 1280x800, with at "
			       "most %d a side, not \"%.*s\"",
			       TH_SCREEN_SIDE_MAX, TH_FMT(th_utf8_cut(size, TH_NAME_NEAR_MAX)));
	return TH_OK;
}

enum th_code th_config_computer_read(struct th_str kind, struct th_str size, const char *more,
				     struct th_agent_computer *ret, struct th_err *err)
{
	struct th_buf names TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ERR_MSG_MAX);
	const char *list[TH_COMPUTER_KINDS_MAX + 2] = { 0 }, *near;
	const struct th_computer_kind *found = th_computer_find(kind);
	size_t count = 0;

	if (!found) {
		for (; th_computer_kinds[count]; count++)
			list[count] = th_computer_kinds[count]->name;
		list[count] = more;
		near = th_names_nearest(list, kind);
		th_computer_names(0, more ? ", " : " and ", &names);
		return th_fail(
		    err, TH_EUSAGE, "there is no computer \"%.*s\"%s%s; known are %s%s%s",
		    TH_FMT(th_utf8_cut(kind, TH_NAME_NEAR_MAX)), near ? "; did you mean " : "",
		    near ?: "", names.ptr, more ? " and " : "", more ?: "");
	}
	*ret = (struct th_agent_computer){ .kind = kind };
	if (!size.len)
		return TH_OK;
	if (!(found->shared & TH_HAS_SIZE)) {
		th_computer_names(TH_HAS_SIZE, " or ", &names);
		return th_fail(err, TH_EUSAGE, "%s cannot be given a size, only %s", found->name,
			       names.ptr);
	}
	return read_size(size, ret, err);
}

enum th_code th_config_computer_complete(struct th_agent_computer *k, struct th_err *err)
{
	const struct th_computer_kind *kind = th_computer_find(k->kind);
	bool given = k->parser.len != 0;

	if (!given)
		k->parser = th_str_of(getenv("OMNIPARSER_BASE_URL"));
	if (k->parser.len && th_config_check_url(k->parser, err))
		return th_prefix(err, err->code,
				 given ? "the parser" : "the parser of OMNIPARSER_BASE_URL");
	if (kind && (kind->shared & TH_HAS_BUS) && !k->bus.len)
		k->bus = th_str_of(getenv("AT_SPI_BUS_ADDRESS"));
	if (!kind || !(kind->shared & TH_HAS_DISPLAY) || k->display.len)
		return TH_OK;
	k->display = th_str_of(getenv("DISPLAY"));
	return k->display.len ? TH_OK
			      : th_fail(err, TH_EUSAGE,
					"there is no display: DISPLAY is not set; -c %s makes a "
					"private one",
					th_computer_kinds[0]->name);
}
