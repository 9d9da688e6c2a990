/* SPDX-License-Identifier: Apache-2.0 */
#include "store/blob_place.h"

#include <stdlib.h>

#include "base/limits.h"
#include "store/blob_place_kinds.h"

const struct th_blob_place_kind *const th_blob_place_kinds[] = { &th_blob_place_folder,
								 &th_blob_place_s3, NULL };

static enum th_code fail_unknown(struct th_err *err)
{
	struct th_buf known TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	for (size_t i = 0; th_blob_place_kinds[i]; i++)
		th_buf_printf(&known, "%s%s", i ? ", or " : "", th_blob_place_kinds[i]->summary);
	/* Not what was given: there may be a key in it. */
	return th_fail(err, TH_EUSAGE, "a place for blobs is %s", known.ptr);
}

static bool id_ok(struct th_str id)
{
	for (size_t i = 0; i < id.len; i++)
		if (!strchr("0123456789abcdef", id.ptr[i]) || !id.ptr[i])
			return false;
	return id.len == TH_PLACE_ID_SIZE;
}

enum th_code th_blob_place_open(struct th_str url, struct th_str id, struct th_blob_place **ret,
				struct th_err *err)
{
	struct th_str rest = url, scheme = th_str_split(&rest, ':');
	struct th_blob_place base = { 0 };

	*ret = NULL;
	for (size_t i = 0; th_blob_place_kinds[i] && th_str_find_char(url, ':') > 0; i++)
		if (th_str_is(scheme, th_blob_place_kinds[i]->scheme))
			base.kind = th_blob_place_kinds[i];
	if (!base.kind)
		return fail_unknown(err);
	if (url.len > TH_PLACE_URL_MAX)
		return th_fail(err, TH_ELIMIT, "the URL of a place for blobs has at most %d bytes",
			       TH_PLACE_URL_MAX);
	for (size_t i = 0; i < url.len; i++)
		if ((unsigned char)url.ptr[i] < ' ' || url.ptr[i] == 127)
			return th_fail(err, TH_EUSAGE,
				       "the URL of a place for blobs has a control character");
	if (!id_ok(id))
		return th_fail(err, TH_ECORRUPT, "the id of a place for blobs is damaged");
	memcpy(base.id, id.ptr, id.len);
	base.url = strndup(url.ptr, url.len);
	if (!base.url)
		return th_fail_memory(err);
	enum th_code code = base.kind->open(rest, &base, ret, err);
	if (code != TH_OK)
		free(base.url);
	return code;
}

struct th_blob_place *th_blob_place_close(struct th_blob_place *p)
{
	char *url = p ? p->url : NULL;

	if (p)
		p->kind->close(p);
	free(url);
	return NULL;
}

enum th_code th_blob_place_begin(struct th_blob_place *p, struct th_err *err)
{
	struct th_blob_place_put probe = { .bytes = TH_STR("thole tries this place for blobs\n") };
	struct th_digest hash = th_sha256_of(probe.bytes.ptr, probe.bytes.len);
	struct th_buf back TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_str name;
	enum th_code code = p->kind->make(p, err);

	th_blob_place_name(&hash, probe.name);
	name = th_str_of(probe.name);
	if (code == TH_OK)
		code = p->kind->put(p, &probe, 1, err);
	if (code == TH_OK)
		code = p->kind->get(p, probe.name, &back, err);
	if (code == TH_OK && !th_str_eq(th_buf_str(&back), probe.bytes))
		code = th_fail(err, TH_EPROTO, "%s: what was put there came back changed", p->url);
	return code == TH_OK ? p->kind->remove(p, &name, 1, err) : code;
}
