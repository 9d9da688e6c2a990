/* SPDX-License-Identifier: Apache-2.0 */
/* settings_fleet.c - `serve.fleet`: how this server's nodes know each other. */
#include <stdio.h>

#include "base/label.h"
#include "base/wiped.h"
#include "io/files.h"
#include "server/settings.h"
#include "wire/authority.h"

#define AT(member) offsetof(struct th_serve_fleet, member)
// clang-format off
static const struct th_field fields[] = {
	{ "address", AT(address), TH_FIELD_str, TH_REQ | TH_NONEMPTY, "where the other nodes reach this one: https://10.0.0.1:7711, or http:// where the network is the fleet's own", NULL, NULL, false, 0 },
	{ "secret_file", AT(secret_file), TH_FIELD_str, TH_REQ | TH_NONEMPTY, "a file with the token of the fleet, the same on every node: 32 to 512 characters, mode 0600", NULL, NULL, false, 0 },
	{ "name", AT(name), TH_FIELD_str, TH_NONEMPTY, "what people call it; default: the host's name", NULL, NULL, false, 0 },
	{ "labels", AT(labels), TH_FIELD_strs, 0, "what this node has, such as [gpu, eu], at most 8: an agent's labels must be among them; desktop is there by itself where desktops can run", NULL, NULL, false, 0 },
	{ "capacity", AT(capacity), TH_FIELD_int, TH_POSITIVE, "sessions that run here at once; of dead nodes it takes no more; default: no limit", NULL, NULL, false, 0 },
	{ "notify", AT(notify), TH_FIELD_str, TH_NONEMPTY, "a URL of the store's database without a pooler between, for what nodes tell each other; default: the store's", NULL, NULL, false, 0 },
	{ "executors", AT(executors), TH_FIELD_str, TH_NONEMPTY, "where the other nodes reach executors of this one: HOST:PORT of its `thole exec --listen`; default: they do not", NULL, NULL, false, 0 },
	{ "cert", AT(cert), TH_FIELD_str, TH_NONEMPTY, "with that: this node's certificate, PEM", NULL, NULL, false, 0 },
	{ "key", AT(key), TH_FIELD_str, TH_NONEMPTY, "its key, PEM", NULL, NULL, false, 0 },
	{ "ca", AT(ca), TH_FIELD_str, TH_NONEMPTY, "the authority of the certificates of all nodes, PEM", NULL, NULL, false, 0 },
	{ "idle_s", AT(idle_s), TH_FIELD_int, TH_POSITIVE, "seconds without a byte after which an answer of another node is given up; default: 3600", NULL, NULL, false, 0 },
};
// clang-format on
#undef AT
const struct th_table th_serve_fleet_table = {
	"fleet", "the fleet", fields, TH_COUNT(fields), sizeof(struct th_serve_fleet), false
};

#define SECRET_MIN 32

static bool is_good_address(struct th_str url)
{
	struct th_str place = th_authority_of_url(url);
	size_t end = place.len ? (size_t)(place.ptr - url.ptr) + place.len : 0;

	if (!th_str_istarts(url, TH_STR("https://")) && !th_str_istarts(url, TH_STR("http://")))
		return false;
	return th_authority_host(place).len > 0 && th_str_find_char(place, '@') < 0 &&
	       end == url.len && url.len <= TH_FLEET_TEXT_MAX;
}

static bool is_good_secret(struct th_str text)
{
	if (text.len < SECRET_MIN || text.len > TH_FLEET_SECRET_MAX)
		return false;
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] <= ' ' || (unsigned char)text.ptr[i] >= 0x7f)
			return false;
	return true;
}

static enum th_code read_secret(struct th_str path, struct th_secret **ret, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(2 * TH_FLEET_SECRET_MAX);
	char name[TH_PATH_LEN_MAX];
	enum th_code code;

	if (path.len >= sizeof(name) || memchr(path.ptr, 0, path.len))
		return th_fail(err, TH_EUSAGE, "fleet: secret_file is no path");
	snprintf(name, sizeof(name), "%.*s", TH_FMT(path));
	code = th_file_read_private(name, 2 * TH_FLEET_SECRET_MAX, &text, err);
	if (!code && !is_good_secret(th_str_trim(th_buf_str(&text))))
		code = th_fail(err, TH_EUSAGE,
			       "%s: the token of a fleet is %d to %d characters without blanks",
			       name, SECRET_MIN, TH_FLEET_SECRET_MAX);
	if (!code)
		*ret = th_secret_new(th_str_trim(th_buf_str(&text)));
	return th_prefix(err, code, "fleet");
}

enum th_code th_settings_fleet(struct th_settings *s, struct th_err *err)
{
	const struct th_serve_fleet *f = s->s.fleet;
	const char *fault;
	size_t at = 0;

	if (!f)
		return TH_OK;
	if (!is_good_address(f->address))
		return th_fail(err, TH_EUSAGE,
			       "fleet: address is https://HOST:PORT or http://HOST:PORT, without a "
			       "user and a path");
	if (f->name.len > TH_FLEET_TEXT_MAX)
		return th_fail(err, TH_ELIMIT, "fleet: a name has at most %d bytes",
			       TH_FLEET_TEXT_MAX);
	fault = th_labels_fault(&f->labels, &at);
	if (fault)
		return th_fail(err, TH_EUSAGE, "fleet: labels[%zu] %s", at, fault);
	if (f->notify.len > TH_STORE_URL_MAX)
		return th_fail(err, TH_ELIMIT, "fleet: notify has at most %d bytes",
			       TH_STORE_URL_MAX);
	return read_secret(f->secret_file, &s->fleet_secret, err);
}
