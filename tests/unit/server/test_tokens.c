/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tokens.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

static char folder[] = "/tmp/thole-tokens-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static void test_scopes(void **state)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(100);
	struct th_err err = {};
	unsigned all = 0;

	(void)state;
	assert_int_equal(th_scopes_parse(TH_STR("approve, read"), &all, &err), TH_OK);
	assert_int_equal(all, TH_SCOPE_READ | TH_SCOPE_APPROVE);
	th_scopes_print(all, &text);
	assert_string_equal(text.ptr, "read,approve");
	assert_int_equal(th_scopes_parse(TH_STR("read,write"), &all, &err), TH_EUSAGE);
	assert_int_equal(th_scopes_parse(TH_STR(""), &all, &err), TH_EUSAGE);
}

static void test_made_kept_revoked(void **state)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(1000);
	struct th_tokens t = {}, again = {};
	struct th_err err = {};
	char id[16];

	(void)state;
	assert_int_equal(th_tokens_load(path_of("none"), &t, &err), TH_OK);
	assert_int_equal(th_tokens_new(&t, TH_STR("ann"), TH_SCOPE_READ, &text, &err), TH_OK);
	assert_true(text.len >= 48);
	assert_string_equal(th_tokens_find(&t, th_buf_str(&text))->user, "ann");
	assert_null(th_tokens_find(&t, TH_STR("")));
	assert_null(th_tokens_find(&t, th_str_sub(th_buf_str(&text), 0, text.len - 1)));
	assert_int_equal(th_tokens_save(path_of("kept"), &t, &err), TH_OK);
	assert_int_equal(th_tokens_load(path_of("kept"), &again, &err), TH_OK);
	assert_int_equal(again.count, 1);
	assert_int_equal(th_tokens_find(&again, th_buf_str(&text))->scopes, TH_SCOPE_READ);
	snprintf(id, sizeof(id), "%s", again.list[0].id);
	assert_int_equal(th_tokens_revoke(&again, th_str_of(id), &err), TH_OK);
	assert_int_equal(th_tokens_revoke(&again, th_str_of(id), &err), TH_ENOENT);
	assert_null(th_tokens_find(&again, th_buf_str(&text)));
	th_tokens_deinit(&t);
	th_tokens_deinit(&again);
}

static void read_one(const char *line, enum th_code wanted)
{
	struct th_tokens t = {};
	struct th_err err = {};

	write_file(path_of("plain"), line, 0600);
	assert_int_equal(th_tokens_read(path_of("plain"), &t, &err), wanted);
	if (wanted)
		assert_null(strstr(err.msg, "0123456789"));
	th_tokens_deinit(&t);
}

static void test_plain_file(void **state)
{
	struct th_tokens t = {};
	struct th_err err = {};
	char line[700];

	(void)state;
	read_one("# none\n\n0123456789abcdef ann read\n", TH_OK);
	read_one("0123456789abcde ann read\n", TH_EUSAGE); /* 15 bytes */
	read_one("0123456789abcdef ann\n", TH_EUSAGE);
	read_one("0123456789abcdef ann read more\n", TH_EUSAGE);
	read_one("0123456789abcdef ann all\n", TH_EUSAGE);
	for (int more = 0; more < 2; more++) {
		snprintf(line, sizeof(line), "%0*d ann read\n", TH_TOKEN_MAX + more, 7);
		read_one(line, more ? TH_EUSAGE : TH_OK);
		snprintf(line, sizeof(line), "0123456789abcdef %0*d read\n", TH_USER_MAX + more, 7);
		read_one(line, more ? TH_EUSAGE : TH_OK);
	}
	write_file(path_of("plain"), "0123456789abcdef ann read\n", 0640);
	assert_int_equal(th_tokens_read(path_of("plain"), &t, &err), TH_EPERM);
	assert_int_equal(th_tokens_read(path_of("none"), &t, &err), TH_ENOENT);
	write_file(path_of("kept"), "{\"id\":\"x\"}\n", 0600);
	assert_int_equal(th_tokens_load(path_of("kept"), &t, &err), TH_EPROTO);
	th_tokens_deinit(&t);
}

static void test_most(void **state)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_tokens t = {};
	struct th_err err = {};

	(void)state;
	for (int i = 0; i < TH_TOKENS_MAX; i++) {
		th_buf_clear(&text);
		assert_int_equal(th_tokens_new(&t, TH_STR("a"), TH_SCOPE_READ, &text, &err), TH_OK);
	}
	assert_int_equal(th_tokens_new(&t, TH_STR("a"), TH_SCOPE_READ, &text, &err), TH_ELIMIT);
	assert_int_equal(th_tokens_save(path_of("most"), &t, &err), TH_OK);
	th_tokens_deinit(&t);
}

/* ---- links and logins ---- */

static void test_codes_and_logins(void **state)
{
	struct th_buf key TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf login TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_tokens t = {}, again = {};
	struct th_token row;
	struct th_err err = {};
	char id[16];
	int64_t end_ms;

	(void)state;
	assert_int_equal(th_tokens_new(&t, TH_STR("ann"), TH_SCOPE_READ, &key, &err), TH_OK);
	snprintf(id, sizeof(id), "%s", t.list[0].id);
	assert_int_equal(th_tokens_new_for(&t, TH_TOKEN_LOGIN, TH_STR("ann"),
					   TH_SCOPE_READ | TH_SCOPE_ADMIN, id, 1000, &login, &err),
			 TH_OK);
	assert_int_equal(th_tokens_save(path_of("kept"), &t, &err), TH_OK);
	assert_int_equal(th_tokens_load(path_of("kept"), &again, &err), TH_OK);
	end_ms = again.list[1].expires_ms;
	assert_true(
	    th_tokens_find_of(&again, TH_TOKEN_LOGIN, th_buf_str(&login), end_ms - 1, &row));
	assert_int_equal(row.scopes, TH_SCOPE_READ); /* no more than the token has */
	assert_string_equal(row.user, "ann");
	assert_false(th_tokens_find_of(&again, TH_TOKEN_LOGIN, th_buf_str(&login), end_ms, &row));
	assert_true(th_tokens_holds(&again, &again.list[1].digest, end_ms - 1, &row));
	assert_int_equal(row.scopes, TH_SCOPE_READ);
	assert_false(th_tokens_holds(&again, &again.list[1].digest, end_ms, &row));
	assert_true(th_tokens_holds(&again, &again.list[0].digest, end_ms, &row));
	/* None of one kind is one of another. */
	assert_false(th_tokens_find_of(&again, TH_TOKEN_CODE, th_buf_str(&login), 0, &row));
	assert_false(th_tokens_find_of(&again, TH_TOKEN_LOGIN, th_buf_str(&key), 0, &row));
	assert_null(th_tokens_find(&again, th_buf_str(&login)));
	/* With the token goes what was made with it. */
	assert_int_equal(th_tokens_revoke(&again, th_str_of(id), &err), TH_OK);
	assert_int_equal(again.count, 0);
	th_tokens_deinit(&again);
	t.count = 0; /* and where it is only gone, it is none either */
	assert_int_equal(th_tokens_new(&t, TH_STR("bob"), TH_SCOPE_READ, &key, &err), TH_OK);
	assert_int_equal(th_tokens_new_for(&t, TH_TOKEN_LOGIN, TH_STR("bob"), TH_SCOPE_READ, id,
					   1000, &login, &err),
			 TH_OK);
	assert_false(th_tokens_find_of(&t, TH_TOKEN_LOGIN,
				       th_str_sub(th_buf_str(&login), 44, login.len), 0, &row));
	th_tokens_deinit(&t);
	write_file(path_of("kept"), "{\"kind\":\"door\"}\n", 0600);
	assert_int_equal(th_tokens_load(path_of("kept"), &t, &err), TH_EPROTO);
	th_tokens_deinit(&t);
}

static void test_few_of_a_user(void **state)
{
	struct th_buf first TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_tokens t = {};
	struct th_token row;
	struct th_err err = {};

	(void)state;
	assert_int_equal(th_tokens_new_for(&t, TH_TOKEN_LOGIN, TH_STR("bob"), TH_SCOPE_READ, "",
					   1000, &text, &err),
			 TH_OK);
	for (int i = 0; i < TH_LOGINS_USER_MAX; i++)
		assert_int_equal(th_tokens_new_for(&t, TH_TOKEN_CODE, TH_STR("ann"), TH_SCOPE_READ,
						   "", 1000, i ? &text : &first, &err),
				 TH_OK);
	assert_int_equal(t.count, 1 + TH_LOGINS_USER_MAX);
	assert_true(th_tokens_find_of(&t, TH_TOKEN_CODE, th_buf_str(&first), 0, &row));
	assert_int_equal(th_tokens_new_for(&t, TH_TOKEN_CODE, TH_STR("ann"), TH_SCOPE_READ, "",
					   1000, &text, &err),
			 TH_OK);
	assert_int_equal(t.count, 1 + TH_LOGINS_USER_MAX);
	assert_false(th_tokens_find_of(&t, TH_TOKEN_CODE, th_buf_str(&first), 0, &row));
	th_tokens_deinit(&t);
}

static enum th_code add_one(void *ctx, struct th_tokens *t, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const int64_t *life_ms = ctx;

	if (th_tokens_new_for(t, TH_TOKEN_CODE, TH_STR("ann"), TH_SCOPE_READ, "", *life_ms, &text,
			      err) != TH_OK)
		return TH_EIO;
	return *life_ms ? TH_OK : th_fail(err, TH_EPERM, "no");
}

static void test_changed_by_one_at_a_time(void **state)
{
	int64_t life_ms = 100000, none = 0, over = -1;
	struct th_tokens t = {};
	struct th_err err = {};
	int fd;

	(void)state;
	unlink(path_of("kept"));
	assert_int_equal(th_tokens_change(path_of("kept"), true, add_one, &over, &err), TH_OK);
	assert_int_equal(th_tokens_change(path_of("kept"), false, add_one, &life_ms, &err), TH_OK);
	assert_int_equal(th_tokens_change(path_of("kept"), false, add_one, &none, &err), TH_EPERM);
	fd = open(path_of("kept.lock"), O_RDWR);
	assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
	assert_int_equal(th_tokens_change(path_of("kept"), false, add_one, &life_ms, &err),
			 TH_EBUSY);
	close(fd);
	assert_int_equal(th_tokens_load(path_of("kept"), &t, &err), TH_OK);
	assert_int_equal(t.count, 1); /* what had run out is gone, what failed was not written */
	th_tokens_deinit(&t);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path_of("kept"));
	unlink(path_of("plain"));
	unlink(path_of("most"));
	unlink(path_of("kept.lock"));
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_made_kept_revoked),
		cmocka_unit_test(test_plain_file),
		cmocka_unit_test(test_most),
		cmocka_unit_test(test_codes_and_logins),
		cmocka_unit_test(test_few_of_a_user),
		cmocka_unit_test(test_changed_by_one_at_a_time),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
