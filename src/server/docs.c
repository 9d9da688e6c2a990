/* SPDX-License-Identifier: Apache-2.0 */
/* docs.c - the interface from its tables: docs/HTTP.md, and an OpenAPI 3.1 document. */
#include "server/internal.h"
#include "server/response.h"

static const char intro[] =
    "# HTTP: `thole serve`\n\n"
    "<!-- made by: thole plumb docs http; edit src/server/docs.c and the tables it reads instead "
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
    "SHA-256 in the state directory, and a running server sees changes at once; `--tokens FILE` "
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
    "415.\n\n"
    "## Errors\n\n"
    "`{\"error\": {\"message\", \"type\", \"param\", \"code\"}}`, the message one sentence. 400: "
    "nonsense, or bytes that are no good HTTP; 401: no good token; 403: host, origin or scope; "
    "404: not there; 405, 413, 415, 431: as HTTP has it; 409: the session's state does not take "
    "it, or another process has the session; 429 with `Retry-After` (seconds): a quota; 500, 503: "
    "the store, "
    "or the server ends.\n\n"
    "## Streams of events\n\n"
    "`GET /api/sessions/{id}/events` with `Accept: text/event-stream` gives the session's events "
    "(docs/EVENTS.md) and then each new one when it is durable. The `id` of an event is its `seq`: "
    "after a cut, `Last-Event-ID: N` (or `?from=N+1`) goes on behind it, without a gap and without "
    "a repeat, also when the server was killed meanwhile. `event: delta` is a piece of an answer "
    "that is being made: it has no id and is not repeated (`?deltas=false`: none). `event: lost` "
    "says that the number asked for is none that the session has. `?until=rest` ends the stream "
    "when the session rests. A reader that is slow is not buffered for: it falls back to the "
    "log.\n\n"
    "## The command line\n\n"
    "`thole --server URL COMMAND` (or `THOLE_SERVER`) works on the sessions of a server: `run`, "
    "`resume`, `log`, `sessions`, `approve`, `reject`, `settle`, `cancel`, `fork`, `export`. The "
    "token comes from `THOLE_TOKEN` or `--token-file FILE`, and URL may be `unix:PATH`. Output and "
    "exit codes are those of a session of this machine; `-a NAME` names an agent of the server. "
    "Ctrl-C pauses the session there. A command that is cut off from the server goes on when that "
    "is there again, without missing an event or showing one twice, and gives up after two "
    "minutes. A decision lets the session go on at once; `resume` then shows what came of it.\n\n"
    "## Screens\n\n"
    "`GET /api/sessions/{id}/screen` is a WebSocket that shows the session's desktop as it is "
    "drawn. `?format=` `jpeg` (the default), `webp` or `png`; `?quality=` 1 to 100 (default 80); "
    "`?rate=` frames in a second at most, 1 to 30 (default 15). All who watch in the same way "
    "share what is taken and encoded. While nothing is drawn nothing is sent, and a reader that is "
    "slow is sent what is newest when it has taken what it was sent: it skips frames. To watch "
    "opens no session, starts no desktop and keeps none.\n\n"
    "The server sends text, which is JSON, and bytes, which are tiles:\n\n"
    "| message | meaning |\n|---|---|\n"
    "| `{\"type\":\"screen\",\"width\",\"height\"}` | there is a screen of this size; all of its "
    "tiles follow |\n"
    "| `{\"type\":\"none\",\"reason\"}` | there is none now; `screen` comes when there is one |\n"
    "| `{\"type\":\"pointer\",\"x\",\"y\"}` | where the pointer is, in pixels |\n"
    "| bytes | a frame: u8 version (1), u8 flags (0), u16 count of tiles, u32 number of the frame, "
    "and of each tile u16 x, u16 y, u16 width, u16 height, u32 size and so many bytes, a whole "
    "file of the format. Numbers are little endian |\n"
    "| `{\"type\":\"control\",\"holder\",\"mine\",\"ready\",\"lease_ms\"}` | who has taken over "
    "(null: "
    "nobody), whether it is this socket, and whether inputs are taken; at the beginning and at "
    "each change |\n"
    "| `{\"type\":\"refused\",\"what\",\"code\",\"message\"}` | a message was not done |\n"
    "| `{\"type\":\"clipboard\",\"text\"}` | the answer to `clipboard_get` |\n\n"
    "With the scope `run` the same socket takes the desktop over. `{\"type\":\"take\"}` parks the "
    "agent: a request to the model is given up, calls under way end first. One person holds at a "
    "time, under a lease of 15 seconds that each of his messages renews (`{\"type\":\"renew\"}` "
    "does "
    "nothing else); 5 seconds after his socket is closed the desktop is given back for him, and "
    "keys and buttons that he held are let go of. `{\"type\":\"input\",\"actions\":[…]}` does "
    "computer "
    "actions: `move`, `mouse_down`, `mouse_up`, `scroll`, `key_down` and `key_up` with `key`, "
    "`type` with any Unicode text, `clipboard_set`, `clipboard_get`. Each input is an event of the "
    "person, durable before it is done, and done at most once; moves that follow each other are "
    "one. `{\"type\":\"give\",\"note\"}` gives back: the model is told, with the note and a fresh "
    "picture, and goes on. After a crash of the server the session stays paused and taken until "
    "somebody takes it again, resumes or cancels it.\n\n"
    "## Files\n\n"
    "Each session has a folder of its own (`--workspaces`). What is in it when the session begins "
    "is written down outside of it, and `GET /api/sessions/{id}/files` says what has changed "
    "since:\n\n"
    "`{\"files\": [{\"path\", \"kind\", \"state\", \"size\", \"was_size\", \"binary\", "
    "\"note\"}], \"complete\", \"reason\"}`, sorted by path. `kind` is `file`, `link` or "
    "`special` "
    "(a pipe, a socket, a device); `state` is `added`, `changed` or `removed`; sizes are bytes, "
    "null where there is none. `note`, if there, says what is not sure about one file. A name that "
    "is no UTF-8 has the member `encoded` too: its path as it stands behind `path=`. `complete` "
    "false, with the `reason`: something was not followed (then or now), and of what was not "
    "followed nothing is said. The limits: 10,000 files and folders, 32 folders below each other, "
    "4 MiB of paths. Files of at most 1 MiB, 16 MiB in all, are compared by their bytes, others by "
    "size and time.\n\n"
    "`/files/diff?path=` is one file as a unified diff (`text/x-diff`), empty when nothing "
    "changed. 409 `no_diff`: it is no text, or what it was is not kept: copies are kept of texts "
    "of at most 256 KiB, 8 MiB in all. A file that is shown has at most 1 MiB (413). "
    "`/files/content?path=` is the file's bytes as they are now, at most 32 MiB (413), always as "
    "a download.\n\n"
    "Nothing outside of the folder is read: a path with an empty part, `.` or `..` is 400, one "
    "that is a link or leads through one 403, what is no ordinary file 409 `not_a_file`. 404 "
    "`no_folder`: the session has none of its own, such as a fork, which works in the folder of "
    "its parent. 429: four such requests are under way. Deleting a session deletes all "
    "of this.\n\n"
    "## Model APIs\n\n"
    "Under `/v1` the server speaks OpenAI's Responses and Chat Completions and Anthropic's "
    "Messages APIs, so that their clients need nothing but a base URL and a token. `model` is the "
    "name of an agent, or a model that `serve.models` in the configuration allows; a model named "
    "so has no tools of ours. The agent's own tools run here, and are told of as `mcp_call` items "
    "with their output. Functions of the request are the client's to answer: the session waits for "
    "them, for ten minutes in memory and after that in the store.\n\n"
    "A response is a task of a session, and its id names both. With `previous_response_id` the "
    "same session goes on, with its computer and workspace, when nothing was asked after that "
    "response and the request says the same beside its input; otherwise a session of its own gets "
    "the same past. A foreground request whose caller leaves is cancelled, also when the server "
    "was killed "
    "meanwhile; `background: true` goes on, and is read by `GET`, or followed by "
    "`?stream=true&starting_after=N`. `instructions` for "
    "an agent are said to it before the input, beside its own.\n\n"
    "A conversation (`/v1/conversations`) is such a chain of responses under one name: "
    "`conversation` goes on from its newest one, one response at a time (409 meanwhile). Its items "
    "are read, added and taken out under its own paths. Items of responses are named by their "
    "response, `PREFIX_RESPONSE_INDEX`, so an `item_reference` finds them by the name alone.\n\n"
    "A call that waits for a person ends the response: the last item is an `mcp_approval_request` "
    "with `server_label` `thole`. The next request, with `previous_response_id` and an "
    "`mcp_approval_response` for each, says the person's word; it needs the scope `approve`, and "
    "the "
    "log has the token's user as who decided. What was decided elsewhere meanwhile stays so, and "
    "the "
    "response tells what came of it. Chat Completions and Messages have no such item: there the "
    "answer waits until somebody has decided.\n\n"
    "`text.format` holds for agents too, `json_object` as any object; `truncation: auto` keeps the "
    "newest items of a long history, for models named raw; custom tools and `allowed_tools` are "
    "taken, other kinds of tools are passed over. `max_tool_calls` of an agent and `prompt` are "
    "refused. `include: [reasoning.encrypted_content]` gives what the provider has sealed. Over a "
    "WebSocket, `generate: false` only puts the input there; a connection lasts for 60 minutes. "
    "`store: false` keeps the response from being read again, but its session stays in the log "
    "until sessions can be deleted. `compact` packs a conversation into one item and loses nothing "
    "of it; it makes nothing shorter. Settings (temperature and the like) hold for models named "
    "raw; an agent has its own.\n\n"
    "## Webhooks\n\n"
    "`serve.webhooks` names who is told when a session ends (`session.finished`), fails or repeats "
    "itself (`session.failed`), needs a person (`session.waiting`) or reaches a limit "
    "(`session.limit`): a `POST` with `{\"type\", \"timestamp\", \"data\": {\"session_id\", "
    "\"user\", \"seq\", \"agent\", \"title\", \"metadata\", …}}`, beside these what the event "
    "of that `seq` says (`output`, `message`, `reason`, `call_id`; texts of at most 4 KiB). It is "
    "signed as Standard Webhooks has it: `webhook-id`, `webhook-timestamp` and `webhook-signature` "
    "(`v1,` and the base64 of HMAC-SHA256 over `ID.TIMESTAMP.BODY`).\n\n"
    "Any answer of 200 to 299 takes it. Otherwise it is tried again, at first after five seconds, "
    "then after twice as long each time, up to an hour; redirects are not followed. What is to be "
    "told is read from the logs, so a server that is killed tells it after its next start; what it "
    "had told in its last second may come once more, with the same `webhook-id`. Nothing was taken "
    "for three days, or the answer is 410: the webhook is off until the configuration is read "
    "again, and the journal says so. An address that is not public is not connected to, unless "
    "`private` is true.\n\n"
    "## Configuration\n\n"
    "`serve:` in the configuration file; SIGHUP reads it again, with agents and tokens.\n\n";

void th_docs_page(const struct th_route *routes, struct th_buf *out)
{
	th_buf_add_cstr(out, intro);
	th_table_markdown(&th_serve_settings_table, out);
	th_buf_add_cstr(out, "\n## Paths\n\n| | path | scope | |\n|---|---|---|---|\n");
	for (const struct th_route *r = routes; r->path; r++) {
		struct th_buf scope TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

		th_scopes_print(r->scope, &scope);
		th_buf_printf(out, "| %s | `%s` | %s | %s |\n", r->method, r->path,
			      r->scope ? scope.ptr : "open", r->doc);
	}
	th_buf_add_cstr(out, "\n`POST /api/sessions` with an `Idempotency-Key` (1 to 255 bytes) "
			     "begins a session once, however often it is asked; the repeat is "
			     "answered with 200 and `Idempotent-Replayed: true`.\n\n## Bodies\n");
	for (const struct th_route *r = routes; r->path; r++) {
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
		th_jw_kstr(w, "name", th_str_sub(word, 1, word.len - 2));
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

static bool is_first(const struct th_route *routes, const struct th_route *r)
{
	for (const struct th_route *q = routes; q != r; q++)
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
static void print_openapi(const struct th_route *routes, struct th_buf *out)
{
	struct th_jw w = th_jw(out);
	char name[16];

	th_jw_object(&w);
	th_jw_kstr(&w, "openapi", TH_STR("3.1.0"));
	th_jw_kraw(&w, "info", TH_STR("{\"title\":\"thole\",\"version\":\"" TH_VERSION "\"}"));
	th_jw_kraw(&w, "security", TH_STR("[{\"token\":[]},{\"login\":[]}]"));
	th_jw_name(&w, TH_STR("paths"));
	th_jw_object(&w);
	for (const struct th_route *r = routes; r->path; r++) {
		if (!is_first(routes, r))
			continue;
		th_jw_name(&w, th_str_of(r->path));
		th_jw_object(&w);
		for (const struct th_route *q = r; q->path; q++) {
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

	print_openapi(a->server->routes, &json);
	th_access_json(a, 200, &json);
}
