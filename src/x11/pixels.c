/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pixels.c - the pixels of an X display: in memory shared with its server where that can be
 * (MIT-SHM), and copied as far as they are stale.
 */
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

#include "x11/see.h"

/* ---- memory shared with the server ---- */

void th_x11_drop_pixels(struct th_x11 *x)
{
	struct th_x11_see *s = x->see;

	if (s->how == TH_X11_HOW_SHM && s->segment && !x->lost)
		xcb_shm_detach(x->conn, s->segment);
	if (s->memory == TH_X11_MEMORY_MAPPED && s->pixels)
		munmap(s->pixels, s->pixels_size);
	else if (s->memory == TH_X11_MEMORY_SYSV && s->pixels)
		shmdt(s->pixels);
	else
		free(s->pixels);
	s->pixels = NULL;
	s->segment = 0;
	s->how = TH_X11_HOW_GET_IMAGE;
	s->memory = TH_X11_MEMORY_HEAP;
	free(s->stale);
	s->stale = NULL;
	free(s->live);
	s->live = NULL;
	for (size_t i = 0; i < TH_COUNT(s->views); i++) {
		free(s->views[i].stale);
		s->views[i].stale = NULL;
		s->views[i].valid = false;
	}
}

static bool confirm(struct th_x11 *x, xcb_void_cookie_t cookie, enum th_code *ret_code,
		    struct th_err *err)
{
	void *reply;
	enum th_code code = th_x11_reply(x, cookie.sequence, &reply, err);

	free(reply);
	*ret_code = code == TH_EIO ? TH_OK : code; /* refused is no failure: there is another way */
	return code == TH_OK;
}

/* Memory passed by descriptor: works between namespaces and users, and leaves nothing behind. */
static bool share_memfd(struct th_x11 *x, size_t size, enum th_code *ret_code, struct th_err *err)
{
	struct th_x11_see *s = x->see;

	if (x->shm.major < 1 || (x->shm.major == 1 && x->shm.minor < 2))
		return false;
	int fd = memfd_create("thole-screen", MFD_CLOEXEC);
	if (fd < 0)
		return false;
	void *p = ftruncate(fd, (off_t)size)
		      ? MAP_FAILED
		      : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		close(fd);
		return false;
	}
	xcb_shm_seg_t segment = xcb_generate_id(x->conn);
	/* xcb closes the descriptor. */
	if (!confirm(x, xcb_shm_attach_fd_checked(x->conn, segment, fd, 0), ret_code, err)) {
		munmap(p, size);
		return false;
	}
	s->how = TH_X11_HOW_SHM;
	s->memory = TH_X11_MEMORY_MAPPED;
	s->segment = segment;
	s->pixels = p;
	return true;
}

/* System V memory for older servers; removed by the kernel when both of us have let go. */
static bool share_sysv(struct th_x11 *x, size_t size, enum th_code *ret_code, struct th_err *err)
{
	struct th_x11_see *s = x->see;
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);

	if (id < 0)
		return false;
	void *p = shmat(id, NULL, 0);
	bool attached = p != (void *)-1;
	if (attached) {
		s->segment = xcb_generate_id(x->conn);
		attached = confirm(x, xcb_shm_attach_checked(x->conn, s->segment, (uint32_t)id, 0),
				   ret_code, err);
		if (!attached)
			shmdt(p);
	}
	shmctl(id, IPC_RMID, NULL);
	if (!attached) {
		s->segment = 0;
		return false;
	}
	s->how = TH_X11_HOW_SHM;
	s->memory = TH_X11_MEMORY_SYSV;
	s->pixels = p;
	return true;
}

/* Memory can be shared, and descriptors passed, only over a Unix socket. */
static bool is_local(const struct th_x11 *x)
{
	int domain = 0;
	socklen_t len = sizeof(domain);
	return getsockopt(x->fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX;
}

enum th_code th_x11_make_pixels(struct th_x11 *x, struct th_err *err)
{
	struct th_x11_see *s = x->see;
	enum th_code code = th_image_check(x->size, err);
	if (code)
		return code;

	th_x11_drop_pixels(x);
	s->size = x->size;
	s->pixels_size = (size_t)s->size.width * 4 * s->size.height;
	if (!x->shm.present || !is_local(x) ||
	    (!share_memfd(x, s->pixels_size, &code, err) && !code &&
	     !share_sysv(x, s->pixels_size, &code, err) && !code)) {
		s->pixels = th_alloc(s->pixels_size);
		s->how = TH_X11_HOW_GET_IMAGE;
		s->memory = TH_X11_MEMORY_HEAP;
	}
	if (code)
		return code;
	s->bands = th_png_bands(s->size.height);
	s->stale = th_alloc((size_t)s->bands * sizeof(bool));
	for (size_t i = 0; i < TH_COUNT(s->views); i++)
		s->views[i].stale = th_alloc((size_t)s->bands * sizeof(bool));
	th_x11_drawn_on(s, (struct th_rect){ 0, 0, s->size.width, s->size.height });
	return TH_OK;
}

/* ---- capture ---- */

#define GET_IMAGE_BYTES ((size_t)4 * 1024 * 1024) /* of one XGetImage */

static enum th_code copy_shm(struct th_x11 *x, int32_t top, int32_t rows, struct th_err *err)
{
	struct th_x11_see *s = x->see;
	uint32_t offset = (uint32_t)((size_t)top * 4 * s->size.width);
	void *reply;
	enum th_code code = th_x11_reply(
	    x,
	    xcb_shm_get_image(x->conn, x->root, 0, (int16_t)top, (uint16_t)s->size.width,
			      (uint16_t)rows, ~0u, XCB_IMAGE_FORMAT_Z_PIXMAP, s->segment, offset)
		.sequence,
	    &reply, err);
	free(reply);
	return code;
}

static enum th_code copy_plain(struct th_x11 *x, int32_t top, int32_t rows, struct th_err *err)
{
	struct th_x11_see *s = x->see;
	size_t line = (size_t)s->size.width * 4;
	int32_t step = (int32_t)TH_MAX(GET_IMAGE_BYTES / line, (size_t)1);

	for (int32_t y = top, end = top + rows; y < end; y += step) {
		int32_t n = TH_MIN(step, end - y);
		void *reply;
		enum th_code code = th_x11_reply(
		    x,
		    xcb_get_image(x->conn, XCB_IMAGE_FORMAT_Z_PIXMAP, x->root, 0, (int16_t)y,
				  (uint16_t)s->size.width, (uint16_t)n, ~0u)
			.sequence,
		    &reply, err);
		if (code)
			return code;
		size_t len = (size_t)xcb_get_image_data_length(reply);
		if (len >= line * (size_t)n)
			memcpy(s->pixels + (size_t)y * line, xcb_get_image_data(reply),
			       line * (size_t)n);
		free(reply);
		if (len < line * (size_t)n)
			return th_fail(err, TH_EIO, "the display %.*s sent %zu bytes of %zu",
				       TH_FMT(x->name), len, line * (size_t)n);
	}
	return TH_OK;
}

/* Copies what is stale of these rows. */
enum th_code th_x11_capture(struct th_x11 *x, struct th_rect part, struct th_err *err)
{
	struct th_x11_see *s = x->see;
	int32_t first = part.y / TH_PNG_BAND_ROWS;
	int32_t last = (part.y + part.height - 1) / TH_PNG_BAND_ROWS;

	while (first <= last && !s->stale[first])
		first++;
	while (last >= first && !s->stale[last])
		last--;
	if (first > last)
		return TH_OK;
	int32_t top = first * TH_PNG_BAND_ROWS;
	int32_t rows = TH_MIN((last + 1) * TH_PNG_BAND_ROWS, s->size.height) - top;
	enum th_code code =
	    s->how == TH_X11_HOW_SHM ? copy_shm(x, top, rows, err) : copy_plain(x, top, rows, err);
	if (code)
		return th_prefix(err, code, "take a picture");
	memset(s->stale + first, 0, (size_t)(last - first + 1) * sizeof(bool));
	return TH_OK;
}

void th_x11_pixels(struct th_computer *c, struct th_pixels *ret)
{
	const struct th_x11_see *s = th_x11_of(c)->see;

	*ret = (struct th_pixels){ s->pixels, (size_t)s->size.width * 4, s->size };
}
