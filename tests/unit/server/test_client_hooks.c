/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of clients: how many, what is written of them, and which one is told meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/files.h"
#include "server/fleet.h"
#include "server/service.h"
#include "unit.h"

static size_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (size_t)st.st_size;
}

static const struct th_letters letters = { 0 };
static const struct th_service service = { .name = "letters", .letters = &letters };
static const struct th_service *const services[] = { &service, NULL };

static void server_init(struct th_server *s)
{
	struct th_err err = {};

	*s = (struct th_server){ .o.journal = -1, .services = services };
	assert_int_equal(th_loop_new(&s->loop, &err), TH_OK);
	s->webhooks = th_webhooks_new(s, TH_STR(""));
}

static void server_deinit(struct th_server *s)
{
	s->webhooks = th_webhooks_free(s->webhooks);
	th_settings_deinit(&s->settings);
	th_loop_free(s->loop);
}

static enum th_code add_hook(struct th_server *s, int id, int user, struct th_err *err)
{
	struct th_client_hook hook = { .service = TH_STR("letters"),
				       .session = TH_STR("s"),
				       .url = TH_STR("http://127.0.0.1:1/"),
				       .more = TH_STR("{}") };
	char name[20], of[20];

	snprintf(name, sizeof(name), "%d", id);
	snprintf(of, sizeof(of), "u%d", user);
	hook.id = th_str_of(name);
	hook.user = th_str_of(of);
	return th_client_hook_add(s->webhooks, &hook, err);
}

static void test_how_many_hooks_of_clients(void **state)
{
	struct th_err err = {};
	struct th_server s;

	(void)state;
	server_init(&s);
	for (int i = 0; i < TH_CLIENT_HOOKS_MAX; i++)
		assert_int_equal(add_hook(&s, i, i / TH_CLIENT_HOOKS_USER_MAX, &err), TH_OK);
	assert_int_equal(add_hook(&s, TH_CLIENT_HOOKS_MAX, 100, &err), TH_ELIMIT);
	assert_string_equal(err.msg, "a server has at most 1024 hooks of clients");
	assert_int_equal(add_hook(&s, 7, 0, &err), TH_OK); /* in the place of the one it was */
	server_deinit(&s);
}

/* Who reads the file next has it as it was asked for last. */
static void assert_written(struct th_server *s, const char *path, const struct th_client_hook *hook)
{
	struct th_webhooks *again = th_webhooks_new(s, TH_STR(""));
	struct th_webhook *h;
	struct th_err err = {};

	th_buf_add(&again->path, th_str_of(path));
	assert_int_equal(th_webhooks_load(again, &err), TH_OK);
	h = th_client_hook_find(again, hook);
	assert_non_null(h);
	assert_true(th_str_eq(th_client_hook_of(h)->url, hook->url));
	again->path.len = 0;
	th_webhooks_free(again);
}

/* One that a client asks for is a line behind the file, until there are too many; the last of a
 * name counts, and one that was torn does not keep the next. */
static void test_lines_behind_the_file(void **state)
{
	char folder[] = "/tmp/thole-webhooks-XXXXXX", path[100], more[TH_CLIENT_HOOK_SIZE_MAX / 2];
	struct th_server s = { .o.journal = -1, .services = services };
	struct th_client_hook hook = { .service = TH_STR("letters"),
				       .id = TH_STR("one"),
				       .session = TH_STR("x"),
				       .user = TH_STR("ann"),
				       .url = TH_STR("https://example.org/1"),
				       .more = TH_STR("{}") };
	struct th_err err = {};
	size_t before, after;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/webhooks", folder);
	assert_int_equal(th_loop_new(&s.loop, &err), TH_OK);
	s.webhooks = th_webhooks_new(&s, th_str_of(path));
	assert_int_equal(th_client_hook_add(s.webhooks, &hook, &err), TH_OK);
	before = size_of(path);
	assert_int_equal(th_file_append(path, TH_STR("{\"webhook\":\"torn"), &err), TH_OK);
	hook.url = TH_STR("https://example.org/2");
	assert_int_equal(th_client_hook_add(s.webhooks, &hook, &err), TH_OK);
	assert_true(size_of(path) > 2 * before);
	s.webhooks->closing = true; /* as one that is killed: nothing more is written */
	assert_written(&s, path, &hook);
	/* The largest of them, one after the other. */
	memset(more, 'x', sizeof(more));
	memcpy(more, "{\"a\":\"", 6);
	memcpy(more + sizeof(more) - 2, "\"}", 2);
	hook.more = th_str_n(more, sizeof(more));
	do {
		before = size_of(path);
		hook.url = th_str_is(hook.url, "https://example.org/1")
			       ? TH_STR("https://example.org/2")
			       : TH_STR("https://example.org/1");
		assert_int_equal(th_client_hook_add(s.webhooks, &hook, &err), TH_OK);
		after = size_of(path);
	} while (after > before);
	assert_written(&s, path, &hook);
	assert_true(before <= TH_WEBHOOK_APPEND_MAX + TH_CLIENT_HOOK_SIZE_MAX);
	assert_true(before > TH_WEBHOOK_APPEND_MAX - 2 * TH_CLIENT_HOOK_SIZE_MAX);
	assert_true(after < 2 * TH_CLIENT_HOOK_SIZE_MAX);
	s.webhooks = th_webhooks_free(s.webhooks);
	th_loop_free(s.loop);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static size_t told(const struct th_webhooks *w)
{
	size_t count = 0;

	for (const struct th_webhook *h = w->first; h; h = h->next)
		count += h->client && !h->off && !h->replaced;
	return count;
}

/* In a fleet a new one takes the place of another when it is written down, and else that one stays;
 * however often it is asked for meanwhile, one is told. */
static void test_hooks_that_are_being_written(void **state)
{
	struct th_server s = { .o.journal = -1, .services = services };
	struct th_webhook *first, *second, *third;
	struct th_fleet fleet = { 0 };
	struct th_err err = {};

	(void)state;
	assert_int_equal(th_loop_new(&s.loop, &err), TH_OK);
	s.settings.fleet_secret = th_secret_new(TH_STR("a secret of the fleet"));
	s.fleet = &fleet;
	s.webhooks = th_webhooks_new(&s, TH_STR(""));
	assert_int_equal(add_hook(&s, 1, 1, &err), TH_OK);
	first = s.webhooks->first;
	th_client_hook_settle(first, true);
	for (int i = 0; i < 2; i++) { /* one that failed is off, and there until the next sweep */
		assert_int_equal(add_hook(&s, 1, 1, &err), TH_OK);
		th_client_hook_settle(s.webhooks->first, false);
		assert_false(first->off || first->replaced);
		assert_int_equal(told(s.webhooks), 1);
	}
	/* Asked for twice before anything is put. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(add_hook(&s, 1, 1, &err), TH_OK);
	th_client_hook_settle(s.webhooks->first, false);
	assert_false(first->off || first->replaced);
	assert_int_equal(told(s.webhooks), 1);
	/* Asked for twice before the first answer of the store. */
	assert_int_equal(add_hook(&s, 1, 1, &err), TH_OK);
	second = s.webhooks->first;
	assert_int_equal(add_hook(&s, 1, 1, &err), TH_OK);
	third = s.webhooks->first;
	assert_int_equal(told(s.webhooks), 1);
	th_client_hook_settle(second, false);
	assert_int_equal(told(s.webhooks), 1);
	th_client_hook_settle(third, true);
	assert_int_equal(told(s.webhooks), 1);
	assert_true(first->off && second->off && !third->off);
	server_deinit(&s);
}

static void take_over(struct th_server *s, int id, int user)
{
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	th_buf_printf(&line,
		      "{\"webhook\":\"x\",\"client\":{\"service\":\"letters\",\"id\":\"%d\","
		      "\"session\":\"s\",\"user\":\"u%d\",\"url\":\"http://127.0.0.1:1/\","
		      "\"more\":{}}}",
		      id, user);
	(void)th_webhook_line_read(s->webhooks, th_buf_str(&line));
}

/* A user has some at each of several nodes: they may come to one. */
static void test_how_many_are_taken_over(void **state)
{
	struct th_err err = {};
	struct th_server s;

	(void)state;
	server_init(&s);
	for (int i = 0; i < TH_CLIENT_HOOKS_USER_MAX; i++)
		assert_int_equal(add_hook(&s, i, 0, &err), TH_OK);
	assert_int_equal(add_hook(&s, TH_CLIENT_HOOKS_USER_MAX, 0, &err), TH_ELIMIT);
	for (int i = TH_CLIENT_HOOKS_USER_MAX; i <= TH_CLIENT_HOOKS_MAX; i++)
		take_over(&s, i, 0);
	assert_int_equal(told(s.webhooks), TH_CLIENT_HOOKS_MAX);
	server_deinit(&s);
}

static void on_again(void *ctx)
{
	++*(int *)ctx;
}

/* Who waits for a hook that the store does not take hears so, and not from inside. */
static void test_a_hook_that_cannot_be_written(void **state)
{
	struct th_server s = { .o.journal = -1, .services = services }; /* without a runtime */
	struct th_client_hook hook = { .service = TH_STR("letters"),
				       .id = TH_STR("one"),
				       .session = TH_STR("x"),
				       .user = TH_STR("ann"),
				       .url = TH_STR("https://example.org/1"),
				       .more = TH_STR("{}") };
	struct th_fleet fleet = { 0 };
	const struct th_found *found;
	struct th_err err = {};
	int called = 0;
	struct th_needs needs = { .server = &s, .again = on_again, .ctx = &called };

	(void)state;
	assert_int_equal(th_loop_new(&s.loop, &err), TH_OK);
	s.settings.fleet_secret = th_secret_new(TH_STR("a secret of the fleet"));
	s.fleet = &fleet;
	s.webhooks = th_webhooks_new(&s, TH_STR(""));
	assert_null(th_need_hook(&needs, &hook));
	assert_int_equal(called, 0);
	th_loop_run(s.loop);
	assert_int_equal(called, 1);
	found = th_need_hook(&needs, &hook);
	assert_non_null(found);
	assert_non_null(found->err);
	assert_null(th_client_hook_find(s.webhooks, &hook));
	th_needs_forget(&needs);
	server_deinit(&s);
}

/* A message that is refused takes no hook that was there, and leaves none that was not. */
static void test_hooks_of_what_is_refused(void **state)
{
	struct th_client_hook hook = { .service = TH_STR("letters"),
				       .id = TH_STR("one"),
				       .session = TH_STR("x"),
				       .user = TH_STR("ann"),
				       .url = TH_STR("https://example.org/1"),
				       .more = TH_STR("{}") };
	struct th_err err = {};
	struct th_server s;

	(void)state;
	server_init(&s);
	assert_int_equal(th_client_hook_add(s.webhooks, &hook, &err), TH_OK);
	th_client_hook_undo(s.webhooks, &hook);
	assert_int_equal(told(s.webhooks), 0);
	assert_int_equal(th_client_hook_add(s.webhooks, &hook, &err), TH_OK);
	th_client_hook_begin(s.webhooks, &hook);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(th_client_hook_add(s.webhooks, &hook, &err), TH_OK);
		th_client_hook_undo(s.webhooks, &hook);
		assert_int_equal(told(s.webhooks), 1);
	}
	server_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_how_many_hooks_of_clients),
		cmocka_unit_test(test_lines_behind_the_file),
		cmocka_unit_test(test_hooks_that_are_being_written),
		cmocka_unit_test(test_how_many_are_taken_over),
		cmocka_unit_test(test_a_hook_that_cannot_be_written),
		cmocka_unit_test(test_hooks_of_what_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
