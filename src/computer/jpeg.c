/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg.c - JPEG by libjpeg-turbo. */
#include <turbojpeg.h>

#include "base/limits.h"
#include "computer/image.h"

/* From here on colour is kept at full resolution: small coloured text stays readable. */
#define QUALITY_FULL_COLOUR 90

static void handle_free(tjhandle *h)
{
	if (*h)
		tjDestroy(*h);
}

enum th_code th_jpeg_encode(const struct th_pixels *image, int quality, struct th_buf *out,
			    struct th_err *err)
{
	enum th_code code = th_image_check(image->size, err);
	if (code)
		return code;
	if (quality == 0)
		quality = 80;
	assert(quality >= 1 && quality <= 100);

	TH_CLEANUP(handle_free) tjhandle h = tjInitCompress();
	if (!h)
		return th_fail(err, TH_ENOMEM, "JPEG: %s", tjGetErrorStr());
	int w = image->size.width, ht = image->size.height;
	int samples = quality >= QUALITY_FULL_COLOUR ? TJSAMP_444 : TJSAMP_420;
	unsigned long size = tjBufSize(w, ht, samples);

	th_buf_clear(out);
	unsigned char *to = (unsigned char *)th_buf_grow(out, size);
	if (!to)
		return th_buf_check(out, "the JPEG picture", err);
	if (tjCompress2(h, image->ptr, w, (int)image->stride, ht, TJPF_BGRX, &to, &size, samples,
			quality, TJFLAG_NOREALLOC | TJFLAG_FASTDCT))
		return th_fail(err, TH_EIO, "JPEG: %s", tjGetErrorStr2(h));
	th_buf_grown(out, size);
	return TH_OK;
}
