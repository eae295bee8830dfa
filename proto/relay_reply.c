/* SPDX-License-Identifier: MIT */
#include "proto/relay.h"

#include "common/buf.h"

void
relay_reply_code(struct buf *b, uint32_t code)
{
	buf_u32(b, code);
}

void
relay_reply_version(struct buf *b, uint32_t major, uint32_t minor)
{
	buf_u32(b, major);
	buf_u32(b, minor);
}

void
relay_reply_configuration(struct buf *b, uint32_t code, uint64_t flags)
{
	buf_u32(b, code);
	buf_u64(b, flags);
}

/* The length counts the NUL; without a path it is 0. */
static void
put_path(struct buf *b, const char *path)
{
	const size_t n = path == NULL ? 0 : strlen(path) + 1;

	buf_u32(b, (uint32_t)n);
	buf_bytes(b, path, n);
}

void
relay_reply_session(
    struct buf *b, unsigned minor, uint64_t id, uint32_t code, const char *path)
{
	buf_u64(b, id);
	buf_u32(b, code);
	if (minor >= 11)
		put_path(b, path);
}

void
relay_reply_stream(struct buf *b, uint64_t handle, uint32_t code)
{
	buf_u64(b, handle);
	buf_u32(b, code);
}

void
relay_reply_close_chunk(struct buf *b, uint32_t code, const char *path)
{
	buf_u32(b, code);
	put_path(b, path);
}

void
relay_reply_exists(struct buf *b, uint32_t code, bool exists)
{
	buf_u32(b, code);
	buf_u8(b, exists);
}
