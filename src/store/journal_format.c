/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal_format.c - a journal's heads as bytes: see journal.c.
 */
#include "base/hash.h"
#include "store/journal_internal.h"

static const char head_magic[8] = { 't', 'h', 'o', 'l', 'e', '-', 'j', '1' };
const char th_journal_magic[TH_JOURNAL_MAGIC_SIZE] = { 't', 'h', 'j', 'r' };

static void put32(char *p, uint32_t v)
{
	for (size_t i = 0; i < 4; i++)
		p[i] = (char)(v >> (8 * i));
}

static void put64(char *p, uint64_t v)
{
	put32(p, (uint32_t)v);
	put32(p + 4, (uint32_t)(v >> 32));
}

static uint32_t get32(const char *p)
{
	uint32_t v = 0;

	for (size_t i = 4; i-- > 0;)
		v = v << 8 | (uint8_t)p[i];
	return v;
}

static uint64_t get64(const char *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

uint32_t th_journal_crc(uint64_t salt, const void *ptr, size_t len)
{
	char bytes[8];

	put64(bytes, salt);
	return th_crc32c(th_crc32c(0, bytes, sizeof(bytes)), ptr, len);
}

void th_journal_head_print(char out[static TH_JOURNAL_HEAD_SIZE], uint64_t salt, uint64_t base)
{
	memset(out, 0, TH_JOURNAL_HEAD_SIZE);
	memcpy(out, head_magic, sizeof(head_magic));
	put64(out + 8, salt);
	put64(out + 16, base);
	put32(out + TH_JOURNAL_HEAD_SIZE - 4, th_crc32c(0, out, TH_JOURNAL_HEAD_SIZE - 4));
}

bool th_journal_head_parse(const char *p, uint64_t *salt, uint64_t *base)
{
	if (memcmp(p, head_magic, sizeof(head_magic)) != 0 ||
	    get32(p + TH_JOURNAL_HEAD_SIZE - 4) != th_crc32c(0, p, TH_JOURNAL_HEAD_SIZE - 4))
		return false;
	*salt = get64(p + 8);
	*base = get64(p + 16);
	return true;
}

void th_journal_record_print(char out[static TH_JOURNAL_RECORD_HEAD_SIZE], uint64_t salt,
			     uint64_t number, uint64_t synced, struct th_str bytes)
{
	memcpy(out, th_journal_magic, TH_JOURNAL_MAGIC_SIZE);
	put32(out + 4, (uint32_t)bytes.len);
	put64(out + 8, number);
	put64(out + 16, synced);
	put32(out + 24, th_journal_crc(salt, out, 24));
	put32(out + 28, th_journal_crc(salt, bytes.ptr, bytes.len));
}

bool th_journal_record_parse(const char *p, uint64_t salt, struct th_journal_record *ret)
{
	if (memcmp(p, th_journal_magic, TH_JOURNAL_MAGIC_SIZE) != 0 ||
	    get32(p + 24) != th_journal_crc(salt, p, 24))
		return false;
	*ret = (struct th_journal_record){
		.size = get32(p + 4),
		.number = get64(p + 8),
		.synced = get64(p + 16),
		.crc = get32(p + 28),
	};
	return true;
}

bool th_journal_head_begins(const char *p, size_t len)
{
	return memcmp(p, head_magic, TH_MIN(len, sizeof(head_magic))) == 0;
}
