/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/codec.h"
#include "base/json.h"
#include "wire/oauth.h"
#include "wire/percent.h"

static struct th_arena arena;

static int begin(void **state)
{
	(void)state;
	th_arena_init(&arena, TH_MIB);
	return 0;
}

static int end(void **state)
{
	(void)state;
	th_arena_deinit(&arena);
	return 0;
}

#define assert_str(s, text) assert_true(th_str_is((s), (text)))

static void test_safe(void **state)
{
	static const char *const good[] = { "https://as.example",   "https://as.example:8443/a?b=c",
					    "http://localhost:1/x", "http://127.0.0.1/",
					    "HTTPS://as.example/",  "http://[::1]:3/" };
	static const char *const bad[] = { "",
					   "https://",
					   "http://as.example/",
					   "ftp://as.example/",
					   "https://as.example/ x",
					   "https://as.example/#f",
					   "https://user@as.example/",
					   "http://127.0.0.1.as.example/",
					   "https://as.example\\@x/",
					   "javascript:alert(1)",
					   "http://localhost@as.example/",
					   "https://?x" };
	struct th_buf url = TH_BUF_INIT(2 * TH_OAUTH_TEXT_MAX);

	(void)state;
	for (size_t i = 0; i < TH_COUNT(good); i++)
		assert_true(th_oauth_is_safe(th_str_of(good[i])));
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		assert_false(th_oauth_is_safe(th_str_of(bad[i])));
	th_buf_add_cstr(&url, "https://as.example/");
	while (url.len < TH_OAUTH_TEXT_MAX)
		th_buf_add_char(&url, 'a');
	assert_true(th_oauth_is_safe(th_buf_str(&url)));
	th_buf_add_char(&url, 'a');
	assert_false(th_oauth_is_safe(th_buf_str(&url)));
	th_buf_deinit(&url);
}

static void test_challenge(void **state)
{
	static const struct {
		const char *header, *metadata, *scope, *error;
		bool found;
	} rows[] = {
		{ "Bearer", "", "", "", true },
		{ "Bearer resource_metadata=\"https://a/b\", scope=\"x y\"", "https://a/b", "x y",
		  "", true },
		{ "bearer error=insufficient_scope,scope = \"a\\\"b\"", "", "a\"b",
		  "insufficient_scope", true },
		{ "Basic realm=\"x, Bearer scope=no\", Bearer scope=\"yes\"", "", "yes", "", true },
		{ "Negotiate abc==, Bearer error=\"e\"", "", "", "e", true },
		{ "Bearer scope=a, Bearer scope=b", "", "a", "", true },
		{ "Bearer scope=\"a\", Basic scope=\"b\"", "", "a", "", true },
		{ "Digest realm=\"x\"", "", "", "", false },
		{ "", "", "", "", false },
		{ "Bearer scope=\"unfinished", "", "", "", true },
		{ ",,, ,", "", "", "", false },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_oauth_challenge c;

		assert_int_equal(th_oauth_challenge_read(th_str_of(rows[i].header), &arena, &c),
				 rows[i].found);
		assert_str(c.metadata, rows[i].metadata);
		assert_str(c.scope, rows[i].scope);
		assert_str(c.error, rows[i].error);
	}
}

/* As many ways as are looked at, and one more. */
static void test_challenge_limit(void **state)
{
	struct th_buf header = TH_BUF_INIT(TH_KIB);
	struct th_oauth_challenge c;

	(void)state;
	for (int i = 0; i < TH_OAUTH_CHALLENGES_MAX - 1; i++)
		th_buf_add_cstr(&header, "Basic, ");
	th_buf_add_cstr(&header, "Bearer scope=x");
	assert_true(th_oauth_challenge_read(th_buf_str(&header), &arena, &c));
	assert_str(c.scope, "x");
	th_buf_clear(&header);
	for (int i = 0; i < TH_OAUTH_CHALLENGES_MAX + 1; i++)
		th_buf_add_cstr(&header, "Basic, ");
	th_buf_add_cstr(&header, "Bearer scope=x");
	assert_false(th_oauth_challenge_read(th_buf_str(&header), &arena, &c));
	th_buf_deinit(&header);
}

static void places(bool (*place)(struct th_str, size_t, struct th_buf *), const char *url,
		   const char *all)
{
	struct th_buf one = TH_BUF_INIT(TH_KIB), out = TH_BUF_INIT(TH_KIB);

	for (size_t i = 0; place(th_str_of(url), i, &one); i++) {
		th_buf_add(&out, th_buf_str(&one));
		th_buf_add_char(&out, ' ');
	}
	assert_string_equal(out.ptr, all);
	th_buf_deinit(&one);
	th_buf_deinit(&out);
}

static void test_places(void **state)
{
	(void)state;
	places(th_oauth_resource_place, "https://a.example/mcp/x?q=1",
	       "https://a.example/.well-known/oauth-protected-resource/mcp/x "
	       "https://a.example/.well-known/oauth-protected-resource ");
	places(th_oauth_resource_place, "https://a.example/",
	       "https://a.example/.well-known/oauth-protected-resource ");
	places(th_oauth_issuer_place, "https://a.example/t/",
	       "https://a.example/.well-known/oauth-authorization-server/t "
	       "https://a.example/.well-known/openid-configuration/t "
	       "https://a.example/t/.well-known/openid-configuration ");
	places(th_oauth_issuer_place, "https://a.example",
	       "https://a.example/.well-known/oauth-authorization-server "
	       "https://a.example/.well-known/openid-configuration ");
}

static enum th_code resource(const char *json, struct th_oauth_resource *ret)
{
	return th_oauth_resource_read(th_str_of(json), TH_STR("https://a.example/mcp"), &arena, ret,
				      NULL);
}

static void test_resource(void **state)
{
	static const char *const bad[] = {
		"[]",
		"{\"resource\":\"https://a.example/mcp\"}",
		"{\"resource\":\"https://a.example/mc\",\"authorization_servers\":[\"https://s\"]}",
		"{\"resource\":\"https://a.example/mcp/x\",\"authorization_servers\":[\"https://"
		"s\"]}",
		"{\"resource\":\"https://a.example.evil/mcp\",\"authorization_servers\":[\"https://"
		"s\"]}",
		"{\"resource\":\"https://a.example/mcp\",\"authorization_servers\":[\"http://s\"]}",
		"{\"resource\":\"https://a.example/mcp\",\"authorization_servers\":[3]}",
	};
	struct th_oauth_resource r;

	(void)state;
	assert_int_equal(
	    resource("{\"resource\":\"https://a.example/mcp\",\"authorization_servers\":"
		     "[\"https://s.example\",\"https://t\"],\"scopes_supported\":[\"a\","
		     "\"b c\",\"d\",4]}",
		     &r),
	    TH_OK);
	assert_str(r.issuer, "https://s.example");
	assert_str(r.scopes, "a d");
	assert_int_equal(resource("{\"resource\":\"https://a.example\",\"authorization_servers\":"
				  "[\"https://s.example\"]}",
				  &r),
			 TH_OK);
	assert_str(r.resource, "https://a.example"); /* as it says */
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		assert_int_equal(resource(bad[i], &r), TH_EPROTO);
}

#define SERVER                                                                              \
	"{\"issuer\":\"https://s.example\",\"authorization_endpoint\":\"https://s.example/" \
	"a?x=1\","                                                                          \
	"\"token_endpoint\":\"https://s.example/t\""

static void server(const char *more, struct th_oauth_server *ret)
{
	struct th_buf text = TH_BUF_INIT(4 * TH_KIB);
	struct th_err err = { 0 };

	th_buf_printf(&text, SERVER "%s}", more);
	assert_int_equal(
	    th_oauth_server_read(th_buf_str(&text), TH_STR("https://s.example"), &arena, ret, &err),
	    TH_OK);
	th_buf_deinit(&text);
}

static void test_server(void **state)
{
	struct th_oauth_server s;

	(void)state;
	server("", &s);
	assert_false(s.has_s256 || s.has_documents || s.says_issuer);
	assert_int_equal(s.methods, 1u << TH_OAUTH_BASIC);
	server(",\"code_challenge_methods_supported\":[\"plain\",\"S256\"],"
	       "\"token_endpoint_auth_methods_supported\":[\"none\",\"client_secret_post\"],"
	       "\"authorization_response_iss_parameter_supported\":true",
	       &s);
	assert_true(s.has_s256 && s.says_issuer);
	assert_int_equal(th_oauth_method_of(&s, true), TH_OAUTH_POST);
	assert_int_equal(th_oauth_method_of(&s, false), TH_OAUTH_NONE);
	assert_int_equal(th_oauth_server_read(TH_STR(SERVER "}"), TH_STR("https://s.example/"),
					      &arena, &s, NULL),
			 TH_EPROTO); /* of another issuer */
	assert_int_equal(th_oauth_server_read(TH_STR("{\"issuer\":\"https://s.example\",\"token_"
						     "endpoint\":\"http://10.0.0.1/t\"}"),
					      TH_STR("https://s.example"), &arena, &s, NULL),
			 TH_EPROTO);
}

static void test_authorize(void **state)
{
	struct th_oauth_server s;
	struct th_buf out = TH_BUF_INIT(8 * TH_KIB), scope = TH_BUF_INIT(TH_KIB);
	struct th_oauth_ask ask = { .server = &s,
				    .client_id = TH_STR("me & you"),
				    .redirect = TH_STR("http://127.0.0.1:1/callback"),
				    .resource = TH_STR("https://a.example/mcp"),
				    .state = TH_STR("st"),
				    /* RFC 7636, appendix B */
				    .verifier =
					TH_STR("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") };

	(void)state;
	server(",\"scopes_supported\":[\"offline_access\"]", &s);
	th_oauth_scope_put(&s, TH_STR("w"), TH_STR("z"), TH_STR("r w"), &scope);
	assert_string_equal(scope.ptr, "r w offline_access");
	th_buf_clear(&scope);
	th_oauth_scope_put(&s, TH_STR(""), TH_STR(""), TH_STR(""), &scope);
	assert_int_equal(scope.len, 0); /* nothing is asked for: the server decides */
	th_oauth_authorize_put(&ask, &out);
	assert_string_equal(
	    out.ptr, "https://s.example/a?x=1&response_type=code&client_id=me%20%26%20you&"
		     "redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcallback&state=st&code_challenge="
		     "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256&"
		     "resource=https%3A%2F%2Fa.example%2Fmcp");
	th_buf_deinit(&out);
	th_buf_deinit(&scope);
}

static void test_redirect(void **state)
{
	static const struct {
		const char *query;
		bool says_issuer;
		enum th_code code;
	} rows[] = {
		{ "code=c%2B1&state=st", false, TH_OK },
		{ "http://127.0.0.1:1/callback?code=c%2B1&state=st#x", false, TH_OK },
		{ "code=c%2B1&state=st&iss=https%3A%2F%2Fs.example", true, TH_OK },
		{ "code=c%2B1&state=st", true, TH_EPROTO },
		{ "code=c%2B1&state=st&iss=https%3A%2F%2Fs.example%2F", false, TH_EPROTO },
		{ "code=c%2B1&state=st&iss=https%3A%2F%2Fevil.example", false, TH_EPROTO },
		{ "code=c%2B1&state=st&iss=https%3A%2F%2Fs.example&iss=https%3A%2F%2Fs.example",
		  false, TH_EPROTO },
		{ "iss=https%3A%2F%2Fs.example&code=c%2B1&state=st&iss=https%3A%2F%2Fevil.example",
		  false, TH_EPROTO },
		{ "code=c%2B1&state=st&iss=", false, TH_EPROTO },
		{ "code=c%2B1&state=st&iss=%zz", false, TH_EPROTO },
		{ "code=c%2B1&state=st&error=a&error=b", false, TH_EPERM },
		{ "code=c%2B1&state=other", false, TH_EPROTO },
		{ "code=c%2B1", false, TH_EPROTO },
		{ "code=c%2B1&state=st&state=st", false, TH_EPROTO },
		{ "code=a&code=c%2B1&state=st", false, TH_EPROTO },
		{ "code=%zz&state=st", false, TH_EPROTO },
		{ "state=st&error=access_denied&error_description=no%1b%5b2J", false, TH_EPERM },
		{ "error=access_denied", false, TH_EPROTO },
	};
	struct th_oauth_server s;
	struct th_oauth_ask ask = { .server = &s, .state = TH_STR("st") };

	(void)state;
	server("", &s);
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_err err = { 0 };
		struct th_str code = { NULL, 0 };

		s.says_issuer = rows[i].says_issuer;
		assert_int_equal(
		    th_oauth_redirect_read(th_str_of(rows[i].query), &ask, &arena, &code, &err),
		    rows[i].code);
		assert_true(rows[i].code ? !code.len : th_str_is(code, "c+1"));
		assert_null(strchr(err.msg, '\x1b'));
	}
}

static void request(enum th_oauth_grant grant, enum th_oauth_method method, const char *body,
		    const char *authorization)
{
	struct th_oauth_client client = { TH_STR("id:1"), TH_STR("s/t"), method };
	struct th_oauth_request r = { .grant = grant,
				      .client = &client,
				      .code = TH_STR("c"),
				      .verifier = TH_STR("v"),
				      .redirect = TH_STR("r"),
				      .refresh =
					  grant == TH_OAUTH_REFRESH ? TH_STR("f") : TH_STR(""),
				      .resource = TH_STR("x"),
				      .assertion = TH_STR("a.b.c") };
	struct th_buf b = TH_BUF_INIT(4 * TH_KIB), h = TH_BUF_INIT(4 * TH_KIB);

	th_oauth_request_put(&r, &b, &h);
	assert_string_equal(b.ptr, body);
	assert_string_equal(h.ptr ? h.ptr : "", authorization);
	th_buf_deinit(&b);
	th_buf_deinit(&h);
}

static void test_requests(void **state)
{
	(void)state;
	request(TH_OAUTH_CODE, TH_OAUTH_NONE,
		"grant_type=authorization_code&code=c&redirect_uri=r&code_verifier=v&resource=x&"
		"client_id=id%3A1",
		"");
	request(TH_OAUTH_REFRESH, TH_OAUTH_BASIC,
		"grant_type=refresh_token&refresh_token=f&resource=x", "Basic aWQlM0ExOnMlMkZ0");
	request(TH_OAUTH_CLIENT, TH_OAUTH_POST,
		"grant_type=client_credentials&resource=x&client_id=id%3A1&client_secret=s%2Ft",
		"");
	request(
	    TH_OAUTH_CLIENT, TH_OAUTH_JWT,
	    "grant_type=client_credentials&resource=x&client_id=id%3A1&client_assertion_type=urn%"
	    "3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion=a.b.c",
	    "");
}

static void test_tokens(void **state)
{
	struct th_oauth_tokens t;
	struct th_err err = { 0 };

	(void)state;
	assert_int_equal(th_oauth_tokens_read(200,
					      TH_STR("{\"access_token\":\"a\",\"token_type\":"
						     "\"BEARER\",\"expires_in\":60}"),
					      &arena, &t, &err),
			 TH_OK);
	assert_int_equal(t.expires_s, 60);
	assert_int_equal(t.refresh.len, 0);
	assert_int_equal(
	    th_oauth_tokens_read(400, TH_STR("{\"error\":\"invalid_grant\"}"), &arena, &t, &err),
	    TH_EPERM);
	assert_non_null(strstr(err.msg, "invalid_grant"));
	assert_int_equal(th_oauth_tokens_read(503, TH_STR("<html>"), &arena, &t, &err), TH_EPROTO);
	assert_int_equal(th_oauth_tokens_read(200,
					      TH_STR("{\"access_token\":\"a\",\"token_type\":"
						     "\"DPoP\"}"),
					      &arena, &t, &err),
			 TH_EPROTO);
	assert_int_equal(th_oauth_tokens_read(200,
					      TH_STR("{\"access_token\":\"a\\r\\nX: y\","
						     "\"token_type\":\"bearer\"}"),
					      &arena, &t, &err),
			 TH_EPROTO);
}

/* A token of the longest size, and of one byte more. */
static void test_token_limit(void **state)
{
	struct th_buf text = TH_BUF_INIT(TH_OAUTH_JSON_MAX);
	struct th_oauth_tokens t;

	(void)state;
	for (int more = 0; more < 2; more++) {
		th_buf_clear(&text);
		th_buf_add_cstr(&text, "{\"token_type\":\"Bearer\",\"access_token\":\"");
		for (size_t i = 0; i < TH_OAUTH_TOKEN_MAX + (size_t)more; i++)
			th_buf_add_char(&text, 'a');
		th_buf_add_cstr(&text, "\"}");
		assert_int_equal(th_oauth_tokens_read(200, th_buf_str(&text), &arena, &t, NULL),
				 more ? TH_EPROTO : TH_OK);
	}
	th_buf_deinit(&text);
}

static void test_registration(void **state)
{
	struct th_oauth_server s;
	struct th_oauth_client c;
	struct th_buf out = TH_BUF_INIT(TH_KIB);

	(void)state;
	server(",\"token_endpoint_auth_methods_supported\":[\"none\"]", &s);
	th_oauth_registration_put(&s, TH_STR("http://127.0.0.1:1/callback"), &out);
	assert_true(th_json_valid(th_buf_str(&out)));
	assert_non_null(strstr(out.ptr, "\"token_endpoint_auth_method\":\"none\""));
	assert_int_equal(
	    th_oauth_registration_read(TH_STR("{\"client_id\":\"i\"}"), &s, &arena, &c, NULL),
	    TH_OK);
	assert_int_equal(c.method, TH_OAUTH_NONE);
	assert_int_equal(th_oauth_registration_read(
			     TH_STR("{\"client_id\":\"i\",\"client_secret\":\"s\","
				    "\"token_endpoint_auth_method\":\"client_secret_post\"}"),
			     &s, &arena, &c, NULL),
			 TH_OK);
	assert_int_equal(c.method, TH_OAUTH_POST);
	assert_int_equal(
	    th_oauth_registration_read(TH_STR("{\"client_id\":\"i\\nj\"}"), &s, &arena, &c, NULL),
	    TH_EPROTO);
	th_buf_deinit(&out);
}

static void test_percent(void **state)
{
	struct th_buf out = TH_BUF_INIT(TH_KIB);

	(void)state;
	th_percent_encode(TH_STR("a b/ä~"), &out);
	assert_string_equal(out.ptr, "a%20b%2F%C3%A4~");
	th_buf_clear(&out);
	assert_true(th_percent_decode(TH_STR("a%20b%2f"), &out));
	assert_string_equal(out.ptr, "a b/");
	assert_false(th_percent_decode(TH_STR("%00"), &out));
	assert_false(th_percent_decode(TH_STR("%4"), &out));
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_safe),
		cmocka_unit_test(test_challenge),
		cmocka_unit_test(test_challenge_limit),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_resource),
		cmocka_unit_test(test_server),
		cmocka_unit_test(test_authorize),
		cmocka_unit_test(test_redirect),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_token_limit),
		cmocka_unit_test(test_registration),
		cmocka_unit_test(test_percent),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
