/* SPDX-License-Identifier: Apache-2.0 */
/* webp.c - WebP by libwebp, its fastest method. */
#include <webp/encode.h>

#include "base/limits.h"
#include "computer/image.h"

static int take(const uint8_t *data, size_t size, const WebPPicture *picture)
{
	struct th_buf *out = picture->custom_ptr;
	th_buf_add_mem(out, data, size);
	return !out->failed;
}

enum th_code th_webp_encode(const struct th_pixels *image, int quality, struct th_buf *out,
			    struct th_err *err)
{
	enum th_code code = th_image_check(image->size, err);
	if (code)
		return code;
	if (image->size.width > WEBP_MAX_DIMENSION || image->size.height > WEBP_MAX_DIMENSION)
		return th_fail(err, TH_ELIMIT,
			       "WebP pictures have sides of at most %d pixels, not %dx%d",
			       WEBP_MAX_DIMENSION, image->size.width, image->size.height);
	if (quality == 0)
		quality = 80;
	assert(quality >= 1 && quality <= 100);

	WebPConfig config;
	WebPPicture picture;
	if (!WebPConfigInit(&config) || !WebPPictureInit(&picture))
		return th_fail(err, TH_EUNSUPPORTED,
			       "WebP: the library is not the one of the headers");
	config.method = 0;
	config.quality = (float)quality;
	if (quality == 100) {
		config.lossless = 1;
		config.quality = 0; /* effort, here */
	}
	picture.use_argb = config.lossless;
	picture.width = image->size.width;
	picture.height = image->size.height;
	picture.writer = take;
	picture.custom_ptr = out;
	th_buf_clear(out);
	int done = WebPPictureImportBGRX(&picture, image->ptr, (int)image->stride) &&
		   WebPEncode(&config, &picture);
	int error = picture.error_code;
	WebPPictureFree(&picture);
	if (out->failed)
		return th_buf_check(out, "the WebP picture", err);
	if (!done)
		return th_fail(err, error == VP8_ENC_ERROR_OUT_OF_MEMORY ? TH_ENOMEM : TH_EIO,
			       "WebP: encoder error %d", error);
	return TH_OK;
}
