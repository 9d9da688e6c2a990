/* SPDX-License-Identifier: Apache-2.0 */
/* docs.c - the interface from its tables: docs/HTTP.md, and an OpenAPI 3.1 document. */
#include "server/service.h"

static const char intro[] =
    "# HTTP: `thole serve`\n\n"
    "<!-- made by: thole plumb docs http; edit src/server/docs.c, the docs.c of the services and "
    "their tables instead "
    "-->\n\n"
    "`thole serve` runs sessions for programs and people over HTTP/1.1. It listens at "
    "`127.0.0.1:7711` unless `--listen` says otherwise (`[::1]:7711`, `0.0.0.0:7711`, "
    "`unix:PATH`); `--tls-cert` and `--tls-key` give it TLS 1.2 and 1.3. HTTP/2 is for a proxy in "
    "front of it.\n\n"
    "```sh\n"
    "thole token new alice                       # prints a token, this one time\n"
    "thole serve --agents agents/                # agents/NAME.yaml is agent NAME\n"
    "```\n\n"
    "## Who may call\n\n"
    "Each request needs a token: `Authorization: Bearer TOKEN`, or `X-API-Key: TOKEN`. A token "
    "belongs to a user and has scopes: `read`, `run`, `approve`, `admin`. A user sees only his own "
    "sessions; another user's cannot be told apart from one that is not there (404). Sessions of "
    "the command line belong to user `local`. `thole token new|list|revoke` keeps tokens as "
    "SHA-256 in the state directory, and a running server sees changes at once: streams, "
    "WebSockets "
    "and requests that wait end within a second when their token or login is gone, with an "
    "`error` that says so (WebSockets with 1008, requests with 401); `--tokens FILE` "
    "adds a file of lines `TOKEN USER SCOPES` (mode 0600, tokens of 16 bytes and more). Only "
    "the page, the agent card, `/healthz`, `/readyz` and `/api/login` are open.\n\n"
    "A browser logs in instead: `POST /api/login` takes the code of a link, or a token, and "
    "answers with the cookie `thole_login`, which no script can read and which is good for a week "
    "(32 at a time of one user; the oldest goes). The first start on a terminal prints such a "
    "link, `URL/#code=CODE`, and `thole token link USER` another; a code is good once, for ten "
    "minutes. With the cookie alone, everything but GET and HEAD, and each WebSocket, must have an "
    "`Origin` of this server: 403. A login ends with `POST /api/logout`, with `thole token "
    "revoke`, "
    "and with the token that it was made with.\n\n"
    "A request must name the server by a name of its own in `Host`, and a page of another site may "
    "not call (`Origin`): 403. Bodies are `application/json` unless the table says otherwise: "
    "415. Members of a query that a path does not know are passed over, at every path: clients of "
    "the APIs that are spoken here add their own (`beta=true`, `api-version`).\n\n"
    "## Errors\n\n"
    "`{\"error\": {\"message\", \"type\", \"param\", \"code\"}}`, the message one sentence. 400: "
    "nonsense, or bytes that are no good HTTP; 401: no good token; 403: host, origin or scope; "
    "404: not there; 405, 413, 415, 431: as HTTP has it; 409: the session's state does not take "
    "it, or another process has the session; 429 with `Retry-After` (seconds): a quota; 503 "
    "`overloaded` with `Retry-After`: the server has more to do than it can, and begins nothing "
    "new until it has caught up (it goes on with what runs, and still reads); 503 `place`: no "
    "node has the labels that the agent needs, which the message names (docs/FLEET.md); 500: a log "
    "is damaged; 500 `setup`: the server has no key for the model, or does not know its address "
    "(its journal says what to set; under `/v1` in each API's own form); 503: the store does not "
    "answer, or the server ends.\n\n"
    "## The command line\n\n"
    "`thole --server URL COMMAND` (or `THOLE_SERVER`) works on the sessions of a server: `run`, "
    "`resume`, `log`, `sessions`, `approve`, `reject`, `settle`, `cancel`, `fork`, `export`, "
    "`delete`, `usage`. The "
    "token comes from `THOLE_TOKEN` or `--token-file FILE`, and URL may be `unix:PATH`. Output and "
    "exit codes are those of a session of this machine; `-a NAME` names an agent of the server. "
    "Ctrl-C pauses the session there. A command that is cut off from the server goes on when that "
    "is there again, without missing an event or showing one twice, and gives up after two "
    "minutes. A decision lets the session go on at once; `resume` then shows what came of it.\n\n";

static const char outro[] =
    "## Webhooks\n\n"
    "`serve.webhooks` names who is told when a session ends (`session.finished`), fails or repeats "
    "itself (`session.failed`), needs a person (`session.waiting`) or reaches a limit "
    "(`session.limit`), and, to who names it in `events`, is stopped (`session.stopped`): a `POST` "
    "with `{\"type\", \"timestamp\", \"data\": {\"session_id\", "
    "\"user\", \"seq\", \"agent\", \"title\", \"metadata\", …}}`, beside these what the event "
    "of that `seq` says (`output`, `message`, `reason`, `call_id`; texts of at most 4 KiB). It is "
    "signed as Standard Webhooks has it: `webhook-id`, `webhook-timestamp` and `webhook-signature` "
    "(`v1,` and the base64 of HMAC-SHA256 over `ID.TIMESTAMP.BODY`).\n\n"
    "Any answer of 200 to 299 takes it. Otherwise it is tried again, at first after five seconds, "
    "then after twice as long each time, up to an hour; redirects are not followed. What is to be "
    "told is read from the logs, so a server that is killed tells it after its next start, and of "
    "a "
    "fleet another node does (docs/FLEET.md); what it had told in its last second may come once "
    "more, with the same `webhook-id`. Nothing was taken "
    "for three days, or the answer is 410: the webhook is off until the configuration is read "
    "again, and the journal says so. An address that is not public is not connected to, unless "
    "`private` is true.\n\n"
    "## Configuration\n\n"
    "`serve:` in the configuration file; SIGHUP reads it again, with agents and tokens.\n\n";

void th_docs_page(const struct th_service *const *services, struct th_buf *out)
{
	struct th_route_iter it = { .service = services };
	const struct th_route *r;

	th_buf_add_cstr(out, intro);
	for (size_t i = 0; services[i]; i++)
		if (services[i]->doc)
			th_buf_add_cstr(out, services[i]->doc);
	th_buf_add_cstr(out, outro);
	th_table_markdown(&th_serve_settings_table, out);
	th_buf_add_cstr(out, "\n## Paths\n\n| | path | scope | |\n|---|---|---|---|\n");
	while ((r = th_route_next(&it))) {
		struct th_buf scope TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

		th_scopes_print(r->scope, &scope);
		th_buf_printf(out, "| %s | `%s` | %s | %s |\n", r->method, r->path,
			      r->scope ? scope.ptr : "open", r->doc);
	}
	th_buf_add_cstr(out, "\n`POST /api/sessions` with an `Idempotency-Key` (1 to 255 bytes) "
			     "begins a session once, however often it is asked; the repeat is "
			     "answered with 200 and `Idempotent-Replayed: true`.\n\n## Bodies\n");
	it = (struct th_route_iter){ .service = services };
	while ((r = th_route_next(&it))) {
		if (!r->body)
			continue;
		th_buf_printf(out, "\n### %s %s\n\n", r->method, r->path);
		th_table_markdown(r->body, out);
	}
}

/* ---- OpenAPI ---- */

static void put_parameters(struct th_jw *w, struct th_str path)
{
	th_jw_name(w, TH_STR("parameters"));
	th_jw_array(w);
	while (path.len) {
		struct th_str word = th_str_split(&path, '/');

		if (word.len < 3 || word.ptr[0] != '{')
			continue;
		th_jw_object(w);
		th_jw_kstr(w, "name", th_str_sub(word, 1, (size_t)th_str_find_char(word, '}') - 1));
		th_jw_kstr(w, "in", TH_STR("path"));
		th_jw_kbool(w, "required", true);
		th_jw_kraw(w, "schema", TH_STR("{\"type\":\"string\"}"));
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
}

static void put_operation(struct th_jw *w, const struct th_route *r)
{
	th_jw_object(w);
	th_jw_kstr(w, "summary", th_str_of(r->doc));
	put_parameters(w, th_str_of(r->path));
	if (!r->scope)
		th_jw_kraw(w, "security", TH_STR("[]"));
	if (r->body) {
		th_jw_name(w, TH_STR("requestBody"));
		th_jw_object(w);
		th_jw_name(w, TH_STR("content"));
		th_jw_object(w);
		th_jw_name(w, TH_STR("application/json"));
		th_jw_object(w);
		th_jw_name(w, TH_STR("schema"));
		th_table_schema(r->body, w);
		th_jw_object_end(w);
		th_jw_object_end(w);
		th_jw_object_end(w);
	}
	th_jw_kraw(w, "responses",
		   TH_STR("{\"200\":{\"description\":\"done\"},\"default\":{\"description\":\"an "
			  "error\",\"content\":{\"application/json\":{\"schema\":{\"$ref\":"
			  "\"#/components/schemas/error\"}}}}}"));
	th_jw_object_end(w);
}

/* No route before it has the same path. */
static bool is_first(const struct th_service *const *services, const struct th_route *r)
{
	struct th_route_iter it = { .service = services };
	const struct th_route *q;

	while ((q = th_route_next(&it)) && q != r)
		if (strcmp(q->path, r->path) == 0)
			return false;
	return true;
}

/* OpenAPI writes methods in small letters. */
static struct th_str name_of(const char *method, char name[static 16])
{
	size_t len = 0;

	for (; method[len] && len < 15; len++)
		name[len] = (char)(method[len] | 0x20);
	return th_str_n(name, len);
}

/* OpenAPI 3.1 */
static void print_openapi(const struct th_service *const *services, struct th_buf *out)
{
	struct th_route_iter it = { .service = services };
	struct th_jw w = th_jw(out);
	const struct th_route *r, *q;
	char name[16];

	th_jw_object(&w);
	th_jw_kstr(&w, "openapi", TH_STR("3.1.0"));
	th_jw_kraw(&w, "info", TH_STR("{\"title\":\"thole\",\"version\":\"" TH_VERSION "\"}"));
	th_jw_kraw(&w, "security", TH_STR("[{\"token\":[]},{\"login\":[]}]"));
	th_jw_name(&w, TH_STR("paths"));
	th_jw_object(&w);
	while ((r = th_route_next(&it))) {
		struct th_route_iter rest = { .service = services };

		if (!is_first(services, r))
			continue;
		th_jw_name(&w, th_str_of(r->path));
		th_jw_object(&w);
		while ((q = th_route_next(&rest))) {
			if (strcmp(q->path, r->path) != 0)
				continue;
			th_jw_name(&w, name_of(q->method, name));
			put_operation(&w, q);
		}
		th_jw_object_end(&w);
	}
	th_jw_object_end(&w);
	th_jw_kraw(
	    &w, "components",
	    TH_STR("{\"securitySchemes\":{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"},"
		   "\"login\":{\"type\":\"apiKey\",\"in\":\"cookie\",\"name\":\"thole_login\"}},"
		   "\"schemas\":{\"error\":{\"type\":\"object\",\"required\":[\"error\"],"
		   "\"properties\":{\"error\":{\"type\":\"object\",\"properties\":{\"message\":"
		   "{\"type\":\"string\"},\"type\":{\"type\":\"string\"},\"param\":{\"type\":["
		   "\"string\",\"null\"]},\"code\":{\"type\":[\"string\",\"null\"]}}}}}}}"));
	th_jw_object_end(&w);
}

void th_api_openapi(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);

	print_openapi(a->server->services, &json);
	th_access_json(a, 200, &json);
}
