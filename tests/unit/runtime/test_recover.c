/* SPDX-License-Identifier: Apache-2.0 */
/* A store of sessions in all states, taken up by a runtime that starts again. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "runtime/runtime.h"
#include "store/store.h"

#define AGENT \
	"{\"agent\":{\"name\":\"a\",\"tools\":[\"none\"],\"base_url\":\"http://127.0.0.1:9\"},"

struct fixture {
	struct th_config *config;
	struct th_runtime *rt;
	struct {
		char id[32], why[TH_ERR_MSG_MAX];
		struct th_handle h;
		bool failed;
	} told[8];
	size_t count;
};

static void fill(struct fixture *f, const char *id, const char *model, const char *state)
{
	struct th_err err = { 0 };
	struct th_session_row row = { .session_id = th_str_of(id),
				      .agent = TH_STR("a"),
				      .model = th_str_of(model),
				      .epoch = 1,
				      .state = th_str_of(state),
				      .title = TH_STR("go"),
				      .metadata = TH_STR("{}") };
	char created[256], changed[64];
	struct th_event events[3] = { { .kind = TH_EV_SESSION_CREATED },
				      { .kind = TH_EV_MESSAGE },
				      { .kind = TH_EV_STATE_CHANGED } };
	struct th_digest digests[3], head = { { 0 } };
	struct th_append a = { .create = true, .row = &row, .events = events, .digests = digests };
	struct th_batch batch = { .appends = &a, .append_count = 1 };
	struct th_store *store = th_runtime_store(f->rt);

	snprintf(created, sizeof(created), AGENT "\"model\":\"%s\"}", model);
	snprintf(changed, sizeof(changed), "{\"to\":\"%s\"}", state);
	events[0].data = th_str_of(created);
	events[1].data = TH_STR("{\"role\":\"user\",\"content\":\"go\"}");
	events[2].data = th_str_of(changed);
	a.event_count = strcmp(state, "running") == 0 ? 2 : 3;
	for (size_t i = 0; i < a.event_count; i++) {
		events[i].seq = i + 1;
		events[i].build = TH_STR("t");
		head = digests[i] = th_event_digest(&head, row.session_id, &events[i]);
	}
	row.head = head;
	row.head_seq = a.event_count;
	if (store->kind->commit_now(store, &batch, &err) || a.result)
		fail_msg("%s: %d %s", id, a.result, err.msg);
}

static void on_ready(void *ctx, struct th_str id, struct th_handle h, const struct th_err *err)
{
	struct fixture *f = ctx;

	assert_true(f->count < TH_COUNT(f->told));
	snprintf(f->told[f->count].id, sizeof(f->told[0].id), "%.*s", TH_FMT(id));
	f->told[f->count].h = h;
	f->told[f->count].failed = err != NULL;
	snprintf(f->told[f->count++].why, TH_ERR_MSG_MAX, "%s", err ? err->msg : "");
}

static bool not_left(void *ctx, const struct th_session_row *row, struct th_observer *ret)
{
	(void)ctx;
	(void)ret;
	return !th_str_is(row->session_id, "left");
}

static size_t told(const struct fixture *f, const char *id)
{
	size_t at = f->count;

	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->told[i].id, id) == 0) {
			assert_int_equal(at, f->count); /* once */
			at = i;
		}
	return at;
}

static void setup(struct fixture *f)
{
	struct th_runtime_options options = { .store_url = TH_STR("memory:"),
					      .store_create = true };
	struct th_err err = { 0 };

	if (th_config_load(TH_STR(""), &f->config, &err))
		fail_msg("%s", err.msg);
	options.config = f->config;
	if (th_runtime_new(&options, &f->rt, &err))
		fail_msg("%s", err.msg);
	fill(f, "runs", "gpt-5.4", "running");
	fill(f, "paused", "gpt-5.4", "paused");
	fill(f, "stopped", "gpt-5.4", "stopped");
	fill(f, "left", "gpt-5.4", "running");
	fill(f, "unknown", "no such model, I hope", "running");
}

static void teardown(struct fixture *f)
{
	f->rt = th_runtime_free(f->rt);
	th_config_free(f->config);
}

/* All that are open, but for the one that is not wanted; a bad one keeps no other. */
static void takes_up_what_is_open(void **state)
{
	struct fixture f = { 0 };
	struct th_recover how = { .wants = not_left, .ready = on_ready, .ctx = &f };
	struct th_driver *d;
	struct th_err err = { 0 };
	size_t i;

	(void)state;
	setup(&f);
	d = th_runtime_driver(f.rt);
	assert_int_equal(th_runtime_recover(f.rt, &how, &err), TH_OK);
	assert_int_equal(f.count, 3);
	assert_int_equal(th_driver_count(d), 2);
	i = told(&f, "runs");
	assert_true(i < f.count && !f.told[i].failed);
	assert_int_equal(th_driver_session(d, f.told[i].h)->seq, 2);
	assert_int_equal(th_driver_session(d, f.told[i].h)->state, TH_STATE_RUNNING);
	assert_true(th_str_is(th_driver_session_id(d, f.told[i].h), "runs"));
	assert_true(th_driver_idle(d)); /* nothing was done yet */
	i = told(&f, "paused");
	assert_true(i < f.count && !f.told[i].failed);
	assert_int_equal(th_driver_session(d, f.told[i].h)->state, TH_STATE_PAUSED);
	i = told(&f, "unknown");
	assert_true(i < f.count && f.told[i].failed);
	assert_non_null(strstr(f.told[i].why, "model"));
	teardown(&f);
}

/* What runs goes on; what a person paused does not. */
static void resumes_what_runs(void **state)
{
	struct fixture f = { 0 };
	struct th_recover how = { .ready = on_ready, .ctx = &f, .resume = true };
	struct th_driver *d;
	struct th_err err = { 0 };

	(void)state;
	setup(&f);
	d = th_runtime_driver(f.rt);
	assert_int_equal(th_runtime_recover(f.rt, &how, &err), TH_OK);
	assert_int_equal(f.count, 4);
	/* The model is asked: a request that is in the log before it is sent. */
	assert_int_equal(th_driver_session(d, f.told[told(&f, "runs")].h)->seq, 3);
	assert_int_equal(th_driver_session(d, f.told[told(&f, "left")].h)->seq, 3);
	assert_int_equal(th_driver_session(d, f.told[told(&f, "paused")].h)->seq, 3);
	assert_int_equal(th_driver_session(d, f.told[told(&f, "paused")].h)->state,
			 TH_STATE_PAUSED);
	teardown(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_up_what_is_open),
		cmocka_unit_test(resumes_what_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
