/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_page.c - gets a page and prints it as text.  Redirects are followed
 * here, each a request of its own: what checks where a request goes checks each.
 * It has no clock; whoever started it ends it.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "io/fetch.h"
#include "io/url.h"
#include "tools/fetch.h"
#include "tools/page_charset.h"
#include "wire/html_text.h"

#define ACCEPT "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.8,*/*;q=0.5"

struct page {
	struct th_loop *loop;
	struct th_fetcher *fetcher;
	struct th_fetch_id id;
	struct th_buf url, location, type, body, why;
	int status, redirects;
	bool raw, cut, failed;
};

static bool is_redirect(int status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* "text/html; charset=x" without what follows. */
static struct th_str media_of(const struct page *p)
{
	struct th_str rest = th_buf_str(&p->type);

	return th_str_trim(th_str_split(&rest, ';'));
}

static bool is_html(const struct page *p)
{
	struct th_str media = media_of(p);

	return th_str_ieq(media, TH_STR("text/html")) ||
	       th_str_ieq(media, TH_STR("application/xhtml+xml"));
}

/* By its name alone; what has none is looked at. */
static bool is_text(const struct page *p)
{
	static const char *const others[] = { "application/json",       "application/xml",
					      "application/javascript", "application/yaml",
					      "application/x-ndjson",   "application/xhtml+xml" };
	struct th_str media = media_of(p);

	if (!media.len || th_str_istarts(media, TH_STR("text/")) ||
	    th_str_ends(media, TH_STR("+json")) || th_str_ends(media, TH_STR("+xml")))
		return true;
	for (size_t i = 0; i < TH_COUNT(others); i++)
		if (th_str_ieq(media, th_str_of(others[i])))
			return true;
	return false;
}

static void on_header(void *ctx, struct th_str name, struct th_str value)
{
	struct page *p = (struct page *)ctx;

	if (th_str_ieq(name, TH_STR("location")) && !p->location.len)
		th_buf_add(&p->location, value);
	if (th_str_ieq(name, TH_STR("content-type")) && !p->type.len)
		th_buf_add(&p->type, value);
}

static bool on_head(void *ctx, const struct th_fetch_head *head)
{
	struct page *p = (struct page *)ctx;

	p->status = head->status;
	if (is_redirect(head->status) && p->location.len)
		return false; /* its body is nobody's to read */
	if (is_text(p))
		return true;
	th_buf_add_cstr(&p->why, "this is ");
	th_text_line(&p->why, media_of(p), 80);
	th_buf_add_cstr(&p->why, ", not a text: a command can download it into the workspace");
	return false;
}

static bool on_data(void *ctx, struct th_str bytes)
{
	struct page *p = (struct page *)ctx;
	size_t room = TH_FETCHED_BODY_MAX - p->body.len;

	th_buf_add(&p->body, th_str_sub(bytes, 0, room));
	p->cut = bytes.len > room;
	return !p->cut;
}

static void request(struct page *p);

static void follow(struct page *p)
{
	struct th_buf to TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(16 * TH_KIB);
	struct th_err err = {};

	if (p->redirects++ == TH_FETCHED_REDIRECTS_MAX) {
		th_buf_printf(&p->why, "it redirects more than %d times", TH_FETCHED_REDIRECTS_MAX);
	} else if (th_url_join(th_buf_str(&p->url), th_buf_str(&p->location), &to, &err)) {
		th_buf_printf(&p->why, "it redirects (%d), and %s", p->status, err.msg);
	} else {
		th_buf_clear(&p->url);
		th_buf_add(&p->url, th_buf_str(&to));
		request(p);
		return;
	}
	th_loop_stop(p->loop);
}

static void on_done(void *ctx, const struct th_fetch_result *r)
{
	struct page *p = (struct page *)ctx;

	if (!p->why.len && p->status && is_redirect(p->status) && p->location.len) {
		follow(p);
		return;
	}
	if (!p->why.len && r->end != TH_FETCH_OK && r->end != TH_FETCH_STATUS && !p->cut)
		th_buf_printf(&p->why, "%s: %s", th_fetch_end_name(r->end), r->err.msg);
	th_loop_stop(p->loop);
}

static void request(struct page *p)
{
	static const struct th_fetch_header headers[] = {
		{ "Accept", TH_STR_INIT(ACCEPT) },
		{ "User-Agent", TH_STR_INIT("thole/" TH_VERSION) },
	};
	struct th_fetch_request r = {
		.method = "GET",
		.url = th_buf_str(&p->url),
		.headers = headers,
		.header_count = TH_COUNT(headers),
		.compressed = true,
		.body_max = 2 * TH_FETCHED_BODY_MAX, /* more is not read: on_data */
		.on_head = on_head,
		.on_header = on_header,
		.on_data = on_data,
		.on_done = on_done,
		.ctx = p,
	};
	struct th_err err = {};

	p->status = 0;
	th_buf_clear(&p->location);
	th_buf_clear(&p->type);
	if (th_fetch_start(p->fetcher, &r, &p->id, &err)) {
		th_buf_add_cstr(&p->why, err.msg);
		th_loop_stop(p->loop);
	}
}

static void put_line(const char *name, struct th_str value)
{
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);

	th_text_line(&line, value, 1000);
	printf("%s: %s\n", name, line.ptr);
}

/* Text as a person would read it; false: it is none. */
static bool print(struct page *p)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_FETCHED_BODY_MAX);
	struct th_buf shown TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_FETCHED_TEXT_MAX);
	struct th_buf title TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_str all;

	if (!th_page_decode(th_buf_str(&p->type), is_html(p), p->cut, th_buf_str(&p->body),
			    &text)) {
		th_buf_add_cstr(&p->why, "what came is no text");
		return false;
	}
	all = th_buf_str(&text);
	if (is_html(p) && !p->raw)
		th_html_text(all, &shown, &title);
	else
		th_html_plain(all, &shown);
	put_line("URL", th_buf_str(&p->url));
	if (p->status != 200)
		printf("Status: %d\n", p->status);
	put_line("Content-Type", th_buf_str(&p->type));
	if (title.len)
		put_line("Title", th_buf_str(&title));
	printf("\n");
	all = th_buf_str(&shown);
	all = th_str_sub(all, 0, th_utf8_valid(all)); /* full in the middle of a character */
	if (all.len)
		fwrite(all.ptr, 1, all.len, stdout);
	if (shown.failed || p->cut)
		printf("\n[the page goes on; only its first %zu bytes are here]\n",
		       shown.failed ? TH_FETCHED_TEXT_MAX : TH_FETCHED_BODY_MAX);
	return true;
}

int th_fetch_main(const char *url, bool raw)
{
	struct page p = { .raw = raw };
	struct th_err err = {};
	int status = TH_FETCH_EXIT_TEXT;

	th_buf_init(&p.url, 16 * TH_KIB);
	th_buf_init(&p.location, 16 * TH_KIB);
	th_buf_init(&p.type, 4 * TH_KIB);
	th_buf_init(&p.body, TH_FETCHED_BODY_MAX);
	th_buf_init(&p.why, 4 * TH_KIB);
	if (th_loop_new(&p.loop, &err) || th_fetcher_new(p.loop, &p.fetcher, &err) ||
	    th_url_join(th_str_of(url), th_str_of(url), &p.url, &err)) {
		th_buf_add_cstr(&p.why, err.msg);
	} else {
		request(&p);
		if (!p.why.len)
			th_loop_run(p.loop);
	}
	if (!p.why.len && print(&p)) {
		status = p.status >= 400 ? TH_FETCH_EXIT_STATUS : TH_FETCH_EXIT_TEXT;
	} else {
		printf("%s\n", p.why.ptr);
		status = TH_FETCH_EXIT_FAILED;
	}
	fflush(stdout);
	p.fetcher = th_fetcher_free(p.fetcher);
	p.loop = th_loop_free(p.loop);
	struct th_buf *bufs[] = { &p.url, &p.location, &p.type, &p.body, &p.why };
	for (size_t i = 0; i < TH_COUNT(bufs); i++)
		th_buf_deinit(bufs[i]);
	/* Not by exit: a build that looks for leaks at its end would trace itself, which the
	 * sandbox forbids, and what it says of that would stand behind the page. */
	_exit(status);
}
