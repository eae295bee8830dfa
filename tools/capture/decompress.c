/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/decompress.h"

#include <bzlib.h>
#include <errno.h>
#include <lzma.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "common/compiler.h"

#define BUFFER_SIZE (64 * 1024)

/* Decompression so far. */
struct stream {
	uint8_t in[BUFFER_SIZE], out[BUFFER_SIZE];
	size_t at, n;  /* bytes of IN that were used, of all */
	size_t n_out;  /* bytes in OUT */
	bool is_whole; /* a member has ended; others may follow */
	union {
		z_stream gzip;
		bz_stream bzip2;
		lzma_stream xz;
#ifdef HAVE_ZSTD
		ZSTD_DStream *zstd;
#endif
	};
};

static struct stream s;

/* Each step uses IN and fills OUT, which is empty. False: damaged. */

static bool
begin_gzip(void)
{
	return inflateInit2(&s.gzip, MAX_WBITS + 16) == Z_OK;
}

static bool
step_gzip(void)
{
	int result;

	if (s.is_whole && inflateReset(&s.gzip) != Z_OK)
		return false;
	s.gzip.next_in = s.in + s.at;
	s.gzip.avail_in = (uInt)(s.n - s.at);
	s.gzip.next_out = s.out;
	s.gzip.avail_out = BUFFER_SIZE;
	result = inflate(&s.gzip, Z_NO_FLUSH);
	s.at = s.n - s.gzip.avail_in;
	s.n_out = BUFFER_SIZE - s.gzip.avail_out;
	s.is_whole = result == Z_STREAM_END;
	return result == Z_OK || result == Z_STREAM_END ||
	       result == Z_BUF_ERROR;
}

static bool
begin_bzip2(void)
{
	return BZ2_bzDecompressInit(&s.bzip2, 0, 0) == BZ_OK;
}

static bool
step_bzip2(void)
{
	int result;

	if (s.is_whole &&
	    (BZ2_bzDecompressEnd(&s.bzip2) != BZ_OK || !begin_bzip2()))
		return false;
	s.bzip2.next_in = (char *)s.in + s.at;
	s.bzip2.avail_in = (unsigned)(s.n - s.at);
	s.bzip2.next_out = (char *)s.out;
	s.bzip2.avail_out = BUFFER_SIZE;
	result = BZ2_bzDecompress(&s.bzip2);
	s.at = s.n - s.bzip2.avail_in;
	s.n_out = BUFFER_SIZE - s.bzip2.avail_out;
	s.is_whole = result == BZ_STREAM_END;
	return result == BZ_OK || result == BZ_STREAM_END;
}

static bool
begin_xz(void)
{
	s.xz = (lzma_stream)LZMA_STREAM_INIT;
	return lzma_stream_decoder(&s.xz, UINT64_MAX, 0) == LZMA_OK;
}

static bool
step_xz(void)
{
	lzma_ret result;

	if (s.is_whole && lzma_stream_decoder(&s.xz, UINT64_MAX, 0) != LZMA_OK)
		return false;
	s.xz.next_in = s.in + s.at;
	s.xz.avail_in = s.n - s.at;
	s.xz.next_out = s.out;
	s.xz.avail_out = BUFFER_SIZE;
	result = lzma_code(&s.xz, LZMA_RUN);
	s.at = s.n - s.xz.avail_in;
	s.n_out = BUFFER_SIZE - s.xz.avail_out;
	s.is_whole = result == LZMA_STREAM_END;
	return result == LZMA_OK || result == LZMA_STREAM_END ||
	       result == LZMA_BUF_ERROR;
}

#ifdef HAVE_ZSTD
static bool
begin_zstd(void)
{
	s.zstd = ZSTD_createDStream();
	return s.zstd != NULL;
}

static bool
step_zstd(void)
{
	ZSTD_inBuffer in = { s.in, s.n, s.at };
	ZSTD_outBuffer out = { s.out, BUFFER_SIZE, 0 };
	const size_t result = ZSTD_decompressStream(s.zstd, &out, &in);

	s.at = in.pos;
	s.n_out = out.pos;
	s.is_whole = result == 0;
	return !ZSTD_isError(result);
}
#endif

static const struct method {
	const char *name;
	uint8_t magic[4], n;
	bool (*begin)(void), (*step)(void);
} methods[] = {
	{ "gzip", { 0x1f, 0x8b }, 2, begin_gzip, step_gzip },
	{ "bzip2", { 'B', 'Z', 'h' }, 3, begin_bzip2, step_bzip2 },
	{ "xz", { 0xfd, '7', 'z', 'X' }, 4, begin_xz, step_xz },
#ifdef HAVE_ZSTD
	{ "zstd", { 0x28, 0xb5, 0x2f, 0xfd }, 4, begin_zstd, step_zstd },
#endif
};

static const struct method *
method_of(const uint8_t *magic)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (memcmp(magic, methods[i].magic, methods[i].n) == 0)
			return &methods[i];
	return NULL;
}

bool
decompress_is_for(const uint8_t magic[4])
{
	return method_of(magic) != NULL;
}

/* More of the file. -1 with errno; 0: its end. */
static ssize_t
fill(void)
{
	const ssize_t n = read(STDIN_FILENO, s.in + s.n, BUFFER_SIZE - s.n);

	if (n > 0)
		s.n += (size_t)n;
	return n;
}

/* Use all that IN has. False: it is damaged, or nobody reads. */
static bool
use_up(const struct method *m, const char **problem)
{
	s.n_out = 0;
	for (;;) {
		/* A tape's last block is filled with zeros. */
		while (s.is_whole && s.at < s.n && s.in[s.at] == 0)
			s.at++;
		if (s.at == s.n && (s.is_whole || s.n_out < BUFFER_SIZE))
			return true;
		if (!m->step())
			*problem = "the file is damaged";
		if (!child_write(s.out, s.n_out) || *problem != NULL)
			return false;
	}
}

bool
decompress(const void *arg, char why[SOURCE_WHY_MAX])
{
	const struct method *m;
	const char *problem = NULL;
	ssize_t n;

	(void)arg;
	while ((n = fill()) > 0 && s.n < sizeof(m->magic))
		;
	m = method_of(s.in);
	if (m == NULL || !m->begin()) {
		snprintf(why, SOURCE_WHY_MAX, "out of memory");
		return false;
	}
	while (n > 0 && use_up(m, &problem)) {
		s.at = s.n = 0;
		n = fill();
	}
	if (n < 0)
		problem = strerror(errno);
	else if (n == 0 && !s.is_whole)
		problem = "the file is cut";
	if (problem != NULL)
		snprintf(why, SOURCE_WHY_MAX,
		    "%s: %s; the packets before this are kept", m->name,
		    problem);
	return problem == NULL;
}
