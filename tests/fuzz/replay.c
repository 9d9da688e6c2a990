// SPDX-License-Identifier: Apache-2.0
/*
 * replay.c - the main function of a fuzz target in a build without libFuzzer: feeds it the empty
 * input and every file of the given folders, each whole and cut at its first half, so that seeds
 * and found inputs stay tests everywhere.
 */
#include <assert.h>
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t feed_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat st;
	assert(file && fstat(fileno(file), &st) == 0);
	if (!S_ISREG(st.st_mode)) {
		fclose(file);
		return 0;
	}
	size_t size = (size_t)st.st_size;
	/* Exactly as long as the input, so that a sanitizer sees one byte too many. */
	uint8_t *data = malloc(size ? size : 1);
	assert(data && fread(data, 1, size, file) == size);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	uint8_t *half = malloc(size / 2 ? size / 2 : 1);
	assert(half);
	memcpy(half, data, size / 2);
	LLVMFuzzerTestOneInput(half, size / 2);
	free(half);
	free(data);
	return 1;
}

static size_t feed_folder(const char *path)
{
	DIR *dir = opendir(path);
	size_t count = 0;
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		char name[4096];
		int len = snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		assert(len > 0 && (size_t)len < sizeof(name));
		count += feed_file(name);
	}
	if (dir)
		closedir(dir);
	return count;
}

int main(int argc, char **argv)
{
	size_t count = 0;
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++)
		count += feed_folder(argv[i]);
	printf("%zu inputs\n", count);
	return 0;
}
