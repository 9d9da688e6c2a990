/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands.c - cases of OpenHands' agent: what goes in, and what its code did
 * with it.  Where thole does something else on purpose the case is named below,
 * and docs/DEVIATIONS.md has the reason.
 */
#include "openhands.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/limits.h"

static const struct area {
	const char *name;
	oh_area_fn *fn;
} areas[] = {
	{ "stuck detector (V0)", oh_stuck_v0 },
	{ "stuck detector (V1)", oh_stuck_v1 },
	{ "fn-call converter (V0 text->call)", oh_call_read },
	{ "fn-call converter (V0 call->text)", oh_call_write },
	{ "fn-call converter (V0 system suffix)", oh_call_prompt },
	{ "fn-call converter (V0 round trip)", oh_call_back },
	{ "str_replace_editor (V1)", oh_editor },
	{ "bash tool (V1)", oh_bash },
	{ "apply_patch (V1)", oh_patch },
	{ "truncation (V0)", oh_cut },
	{ "truncation (V1)", oh_cut },
	{ "event serialisation (V0)", oh_event_write_v0 },
	{ "event serialisation (V1)", oh_event_write_v1 },
	{ "event deserialisation (V0)", oh_event_read_v0 },
	{ "event deserialisation (V1)", oh_event_read_v1 },
	{ "event log (V1)", oh_log },
	{ "event search (V0)", oh_search },
	{ "event store layout (V0)", oh_layout },
	{ "should_step (V0)", oh_should_step },
	{ "redaction (V1)", oh_redact },
	{ "PS1 metadata (V1)", oh_ps1 },
	{ "confirmation policy (V1)", oh_confirm },
	/* Whole runs: openhands_states.py. */
	{ "state transitions (V1)", NULL },
	{ "fork (V1)", NULL },
	{ "crash recovery (V1)", NULL },
	{ "fn-call converter (split multi) (V0)", NULL },
	{ "skill trigger (V1)", oh_skill_word },
	{ "path trigger (V1)", oh_skill_path },
	{ "condensation event (V0)", oh_condensation },
	{ "condenser (V0)", oh_condenser_v0 },
	{ "condenser (V1)", oh_condenser_v1 },
	{ "view (V0)", oh_view_v0 },
	{ "view (V1)", oh_view_v1 },
	{ "event->llm (V1)", oh_message },
	{ "event->llm batching (V1)", oh_messages },
	{ "limits (V0)", oh_budget },
	{ "hooks (V1)", oh_hook },
	{ "secrets (V1)", oh_secret },
	{ "secret masking (V0)", oh_mask },
	{ "secret masking (V1)", oh_mask },
};

/*
 * Cases that differ on purpose: docs/DEVIATIONS.md, "OpenHands".  One case by its id, or
 * those of an area whose input has a member that begins so.
 */
static const struct deviation {
	const char *id, *area, *member;
} deviations[] = {
	{ .id = "oh-110" }, /* a call without a newline behind its tag is a call */
	{ .id = "oh-256" }, /* missing folders are made */
	{ .id = "oh-265" }, /* line ends stay as they are */
	{ .id = "oh-288" }, /* a shell that ends is said at once, and begun anew */
	{ .area = "event log (V1)", .member = "append id" }, /* any id is kept */
	{ .area = "event log (V1)", .member = "torn" },      /* what is whole is read */
	{ .area = "event log (V1)", .member = "zero" },      /* the same */
	{ .area = "event log (V1)", .member = "delete" },    /* what is behind a gap is read */
};

static size_t passed, failed, deviated, unknown;

static const struct area *area_of(struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(areas); i++)
		if (th_str_is(name, areas[i].name))
			return &areas[i];
	return NULL;
}

static bool has_member(const struct th_json *input, const char *begin)
{
	struct th_json_iter it = th_json_iter(input);

	while (th_json_next(&it))
		if (th_str_starts(it.key, th_str_of(begin)))
			return true;
	return false;
}

static bool deviates(const struct oh_case *c)
{
	for (size_t i = 0; i < TH_COUNT(deviations); i++) {
		const struct deviation *d = &deviations[i];

		if (d->id ? th_str_is(c->id, d->id)
			  : th_str_is(c->area, d->area) && has_member(c->input, d->member))
			return true;
	}
	return false;
}

static void show(const struct oh_case *c, const struct th_buf *found)
{
	struct th_buf want = TH_BUF_INIT(TH_MIB);

	th_json_print(c->expected, &want);
	printf("FAIL %.*s (%.*s)\n  expected %.2000s\n  found    %.2000s\n", TH_FMT(c->id),
	       TH_FMT(c->area), want.ptr, found->ptr);
	th_buf_deinit(&want);
}

static void run_case(const struct th_json *v)
{
	const struct oh_case c = { th_json_get_str(v, "id"), th_json_get_str(v, "area"),
				   th_json_get(v, "input"), th_json_get(v, "expected") };
	const struct area *area = area_of(c.area);
	struct th_buf found = TH_BUF_INIT(TH_MIB);

	if (!area) {
		unknown++;
	} else if (!area->fn) {
		/* played elsewhere */
	} else if (area->fn(&c, &found)) {
		passed++;
	} else if (deviates(&c) || th_str_starts(th_buf_str(&found), TH_STR(OH_DEVIATES))) {
		deviated++;
		passed++;
	} else {
		failed++;
		show(&c, &found);
	}
	th_buf_deinit(&found);
}

static bool read_file(const char *path, struct th_buf *out)
{
	FILE *file = fopen(path, "r");
	char bytes[65536];
	size_t got;

	while (file && (got = fread(bytes, 1, sizeof(bytes), file)) > 0)
		th_buf_add(out, th_str_n(bytes, got));
	if (file)
		fclose(file);
	return file != NULL;
}

/* False: the file is no file of such cases. */
static bool run_file(const char *path)
{
	struct th_buf text = TH_BUF_INIT(64 * TH_MIB);
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	struct th_err err = { 0 };
	bool good = read_file(path, &text) && !th_json_parse(th_buf_str(&text), &doc, &err);

	if (good) {
		const struct th_json *root = th_json_root(doc);

		for (it = th_json_iter(th_json_is_array(root) ? root : th_json_get(root, "cases"));
		     th_json_next(&it);)
			run_case(it.val);
	} else {
		printf("%s: %s\n", path, err.code ? err.msg : "cannot be read");
		failed++;
	}
	th_json_free(doc);
	th_buf_deinit(&text);
	return good;
}

static void run_path(const char *path)
{
	struct dirent **list = NULL;
	struct stat st;
	int count;

	if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
		(void)run_file(path);
		return;
	}
	count = scandir(path, &list, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char file[4096];
		size_t len = strlen(list[i]->d_name);

		snprintf(file, sizeof(file), "%s/%s", path, list[i]->d_name);
		if (len > 5 && strcmp(list[i]->d_name + len - 5, ".json") == 0 &&
		    strstr(list[i]->d_name, "openhands"))
			(void)run_file(file);
		free(list[i]);
	}
	free(list);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: openhands FILE|FOLDER…\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		run_path(argv[i]);
	if (deviated)
		printf("%zu deviate on purpose (docs/DEVIATIONS.md)\n", deviated);
	if (unknown)
		printf("%zu are of areas that this runner does not know\n", unknown);
	printf("%zu passed, %zu failed\n", passed, failed);
	return failed > 0 || passed == 0;
}
