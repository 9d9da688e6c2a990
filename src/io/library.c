/* SPDX-License-Identifier: Apache-2.0 */
#include "io/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CLOSED, OPEN, UNUSABLE };

static int open_library(struct th_library *l)
{
	void *library = dlopen(l->file, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		snprintf(l->missing, sizeof(l->missing), "%s, %s, is not installed here (%s)",
			 l->file, l->what, l->packages);
		return UNUSABLE;
	}
	for (size_t i = 0; i < l->count; i++) {
		void *at = dlsym(library, l->names[i]);

		if (!at) {
			snprintf(l->missing, sizeof(l->missing), "%s has no function %s", l->file,
				 l->names[i]);
			return UNUSABLE;
		}
		/* A pointer to an object as one to a function, as POSIX has it. */
		memcpy((char *)l->table + i * sizeof(at), &at, sizeof(at));
	}
	return OPEN;
}

const char *th_library_open(struct th_library *l)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int state;

	pthread_mutex_lock(&lock);
	if (l->state == CLOSED)
		l->state = open_library(l);
	state = l->state;
	pthread_mutex_unlock(&lock);
	return state == OPEN ? NULL : l->missing;
}
