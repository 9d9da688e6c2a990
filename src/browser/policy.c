/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.c - what the address bar and the menus of a browser in a window
 * may open: see browser.h.
 *
 * Chromium takes such rules from files of the machine alone.  The tool refuses
 * the same addresses by itself (go.c).
 */
#include "base/limits.h"
#include "browser/browser.h"
#include "io/files.h"
#include "io/sandbox.h"

/* The page of a new tab is its own.  The machine's own policy may have such lists as well: of two
 * files Chromium would take one alone. */
static const char policy[] =
    "{\"PolicyListMultipleSourceMergeList\":[\"URLBlocklist\",\"URLAllowlist\"],"
    "\"URLBlocklist\":[\"file://*\",\"chrome://*\",\"chrome-untrusted://*\","
    "\"devtools://*\",\"javascript://*\"],\"URLAllowlist\":[\"chrome://newtab\","
    "\"chrome://new-tab-page\",\"chrome://new-tab-page-third-party\",\"chrome://top-chrome\"]}\n";

enum th_code th_browser_policy(struct th_arena *a, struct th_str folder,
			       struct th_sandbox_placed *ret, struct th_err *err)
{
	const char *file = th_arena_cstr(a, th_arena_printf(a, "%.*s/policy.json", TH_FMT(folder)));

	if (!file)
		return th_fail(err, TH_ELIMIT, "the path of the browser's policy is too long");
	*ret = (struct th_sandbox_placed){ .from = file,
					   .folder = "/etc/chromium",
					   .path = "policies/managed/thole.json" };
	return th_file_write(file, th_str_of(policy), 0644, err);
}
