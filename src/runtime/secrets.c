/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/secrets.h"

#include <stdlib.h>

#include "agents/agent_secret.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/wiped.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/variable.h"
#include "runtime/internal.h"
#include "runtime/lookups.h"
#include "wire/exec.h"

#define KEY_SIZE 32

/* Of this user; made when it is first needed. */
static enum th_code read_key(struct th_buf *key, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf path = TH_BUF_INIT(TH_PATH_LEN_MAX);
	char bytes[KEY_SIZE];
	enum th_code code = th_dir_of(TH_DIR_STATE, &path, err);

	th_buf_add_cstr(&path, "/placeholders.key");
	if (code == TH_OK)
		code = th_buf_check(&path, "the path of the placeholders' key", err);
	if (code)
		return code;
	code = th_file_read(path.ptr, KEY_SIZE, key, err);
	if (code == TH_ENOENT) {
		th_random(bytes, sizeof(bytes));
		code = th_file_write(path.ptr, th_str_n(bytes, sizeof(bytes)), 0600, err);
		th_buf_clear(key);
		if (code == TH_OK) /* of two that make one, the last counts */
			code = th_file_read(path.ptr, KEY_SIZE, key, err);
	}
	if (code == TH_OK && key->len != KEY_SIZE)
		code = th_fail(err, TH_ECORRUPT, "%s does not have %d bytes", path.ptr, KEY_SIZE);
	return code;
}

/* Empty: it is asked for (by `of`), and nothing has come yet. */
static enum th_code read_value(const struct th_runtime_session *of, const struct th_agent_secret *s,
			       struct th_buf *value, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf name = TH_BUF_INIT(TH_PATH_LEN_MAX);
	enum th_code code = TH_OK;

	if (s->from) {
		const struct th_secret *known = th_runtime_lookups_value(of, s->name);

		if (known)
			th_buf_add(value, th_secret_expose(known));
		return TH_OK;
	}
	if (s->env.len) {
		const char *text = th_variable(s->env);

		if (!text)
			return th_fail(err, TH_EUSAGE, "the variable %.*s is not set",
				       TH_FMT(th_utf8_cut(s->env, 80)));
		th_buf_add_cstr(value, text);
	} else {
		th_buf_add(&name, s->file);
		if (name.failed || memchr(name.ptr, '\0', name.len))
			return th_fail(err, TH_EUSAGE, "its file has no good name");
		code = th_file_read(name.ptr, TH_MASK_LEN_MAX + 2, value, err);
	}
	return code ? code : th_secret_trim(value, err);
}

enum th_code th_secrets_here(const struct th_agent *agent, struct th_err *err)
{
	TH_CLEANUP(th_arena_deinit) struct th_arena a = {};
	TH_CLEANUP(th_buf_deinit) struct th_buf path = TH_BUF_INIT(TH_KIB);
	struct th_buf value = TH_BUF_INIT(8 * TH_KIB);
	struct th_agent_secrets secrets;
	enum th_code code;

	th_arena_init(&a, 2 * TH_MIB);
	code = th_agent_secrets_read(agent->secrets, &a, &secrets, &path, err);
	for (size_t i = 0; !code && i < secrets.count; i++) {
		const struct th_agent_secret *s = &secrets.list[i];

		if (s->from)
			continue;
		th_buf_clear(&value);
		code = read_value(NULL, s, &value, err);
		if (code)
			(void)th_prefix(err, code, "secrets.%.*s", TH_FMT(s->name));
	}
	th_buf_wipe(&value);
	return code;
}

static void placeholder(struct th_str key, struct th_str scope, struct th_str session,
			struct th_str name, char ret[static TH_SHA256_HEX_SIZE + 8])
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	struct th_str parts[] = { scope, session, name };

	for (size_t i = 0; i < TH_COUNT(parts); i++) {
		th_buf_add(&text, parts[i]);
		th_buf_add_char(&text, '\0');
	}
	struct th_digest digest = th_hmac_sha256(key.ptr, key.len, text.ptr, text.len);
	memcpy(ret, "thole_", 6);
	th_digest_hex(&digest, ret + 6);
	ret[6 + TH_PLACEHOLDER_HEX] = '\0';
	th_buf_deinit(&text);
}

enum th_code th_runtime_secrets(const struct th_runtime_session *of, struct th_secret **ret,
				struct th_err *err)
{
	TH_CLEANUP(th_arena_deinit) struct th_arena a = {};
	TH_CLEANUP(th_buf_deinit) struct th_buf path = TH_BUF_INIT(TH_KIB);
	struct th_buf key = TH_BUF_INIT(KEY_SIZE + 1);
	struct th_buf json = TH_BUF_INIT(TH_FRAME_JSON_MAX / 2), value = TH_BUF_INIT(8 * TH_KIB);
	struct th_jw w = th_jw(&json);
	struct th_agent_secrets secrets;

	*ret = NULL;
	th_arena_init(&a, 2 * TH_MIB);
	enum th_code code =
	    th_agent_secrets_read(of->setup->agent.secrets, &a, &secrets, &path, err);
	if (code == TH_OK && secrets.count > 0)
		code = read_key(&key, err);
	th_buf_reserve(&json,
		       code ? 0 : TH_FRAME_JSON_MAX / 2); /* so that no copy is left behind */
	th_jw_array(&w);
	for (size_t i = 0; code == TH_OK && i < secrets.count; i++) {
		const struct th_agent_secret *s = &secrets.list[i];
		char name[TH_SHA256_HEX_SIZE + 8];

		code = read_value(of, s, &value, err);
		if (code) {
			code = th_prefix(err, code, "secrets.%.*s", TH_FMT(s->name));
			break;
		}
		placeholder(th_buf_str(&key), th_buf_str(&of->rt->scope), of->id, s->name, name);
		struct th_exec_secret m = { .name = s->name,
					    .placeholder = th_str_of(name),
					    .value = th_buf_str(&value),
					    .hosts = s->hosts,
					    .headers = s->headers,
					    .give = s->give };
		th_table_print(&th_exec_secret_table, &m, &w);
		explicit_bzero(value.ptr, value.len);
		th_buf_clear(&value);
	}
	th_jw_array_end(&w);
	if (code == TH_OK)
		code = th_buf_check(&json, "the secrets", err);
	if (code == TH_OK && secrets.count > 0)
		*ret = th_secret_new(th_buf_str(&json));
	th_buf_wipe(&json);
	th_buf_wipe(&value);
	th_buf_wipe(&key);
	return code;
}

enum th_code th_runtime_secrets_mask(const struct th_runtime_session *of, struct th_mask **ret,
				     struct th_err *err)
{
	TH_CLEANUP(th_arena_deinit) struct th_arena a = {};
	TH_CLEANUP(th_buf_deinit) struct th_buf path = TH_BUF_INIT(TH_KIB);
	struct th_buf value = TH_BUF_INIT(8 * TH_KIB);
	struct th_agent_secrets secrets;
	struct th_mask *mask = NULL;

	*ret = NULL;
	th_arena_init(&a, 2 * TH_MIB);
	enum th_code code =
	    th_agent_secrets_read(of->setup->agent.secrets, &a, &secrets, &path, err);
	if (code == TH_OK && secrets.count > 0)
		mask = th_mask_new();
	for (size_t i = 0; code == TH_OK && i < secrets.count; i++) {
		struct th_secret *secret;

		th_buf_clear(&value);
		code = read_value(of, &secrets.list[i], &value, err);
		if (code) {
			code = th_prefix(err, code, "secrets.%.*s", TH_FMT(secrets.list[i].name));
			break;
		}
		if (!value.len) /* nobody has it yet */
			continue;
		secret = th_secret_new(th_buf_str(&value));
		code = th_mask_add(mask, secret, err);
		th_secret_free(secret);
	}
	th_buf_wipe(&value);
	if (code)
		mask = th_mask_free(mask);
	if (mask)
		th_mask_build(mask);
	*ret = mask;
	return code;
}
