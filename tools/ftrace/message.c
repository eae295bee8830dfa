/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/message.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/parse.h"

/* The parameter of TRACE_REQ that has the arguments. */
#define PARAMETER_ARGUMENTS 0
#define SYNC_BYTES 16
/* Decimal ports, each with its NUL. */
#define PORTS_TEXT (MESSAGE_CPUS_MAX * sizeof("65535"))

/* Bytes of the fixed part of each message. */
static const uint32_t fixed_size[MESSAGE_NUMBERS] = {
	[MESSAGE_TINIT] = 12,
	[MESSAGE_RINIT] = 4,
	[MESSAGE_TRACE_REQ] = 16,
	[MESSAGE_TRACE_RESP] = 40,
	[MESSAGE_TIME_SYNC] = 20,
	[MESSAGE_TRACE_PROXY] = 24,
};

enum status
message_parse(
    struct tracecmd_message *out, const uint8_t *p, size_t n, size_t *used)
{
	struct reader r = reader_over(p, n);
	const uint32_t size = reader_u32(&r), number = reader_u32(&r),
		       fixed = reader_u32(&r);

	if (n >= sizeof(size) &&
	    (size < MESSAGE_HEADER || size > MESSAGE_BYTES_MAX))
		return E_MALFORMED;
	if (reader_done(&r) != OK)
		return E_MORE;
	if (fixed > size - MESSAGE_HEADER)
		return E_MALFORMED;
	if (number >= MESSAGE_NUMBERS)
		return E_PROTOCOL;
	if (n < size)
		return E_MORE;
	*out = (struct tracecmd_message){ .number = (enum message_number)number,
		.fixed = { (const char *)p + MESSAGE_HEADER, fixed },
		.data = { (const char *)p + MESSAGE_HEADER + fixed,
		    size - MESSAGE_HEADER - fixed } };
	*used = size;
	return OK;
}

/* The fixed part. Fields that an older peer does not send are zero, those that
 * a newer one adds are ignored. */
static struct reader
fixed_part(const struct tracecmd_message *m, uint8_t fields[SYNC_BYTES * 4])
{
	const size_t n = fixed_size[m->number];

	assert(n <= SYNC_BYTES * 4);
	memset(fields, 0, SYNC_BYTES * 4);
	memcpy(fields, m->fixed.p, m->fixed.n < n ? m->fixed.n : n);
	return reader_over(fields, n);
}

/* The next NUL-terminated string of S. */
static bool
next_string(struct span *s, const char **out)
{
	const char *nul = s->n == 0 ? NULL : memchr(s->p, '\0', s->n);

	if (nul == NULL)
		return false;
	*out = s->p;
	s->n -= (size_t)(nul + 1 - s->p);
	s->p = nul + 1;
	return true;
}

enum status
message_tinit_decode(
    struct message_tinit *out, const struct tracecmd_message *m)
{
	uint8_t fields[SYNC_BYTES * 4];
	struct reader r = fixed_part(m, fields);
	struct span left = m->data;
	uint32_t options;

	*out = (struct message_tinit){ .cpus = reader_u32(&r),
		.page_size = reader_u32(&r) };
	options = reader_u32(&r);
	for (uint32_t i = 0; i < options; i++) {
		const char *name;

		/* Each option takes at least one byte, so the loop is short. */
		if (!next_string(&left, &name))
			return E_MALFORMED;
		if (strcmp(name, "tcp") == 0)
			out->is_tcp = true;
		else if (strcmp(name, "vsock") == 0)
			out->is_vsock = true;
		else
			out->unknown++;
	}
	if (out->cpus == 0 || out->page_size == 0)
		return E_MALFORMED;
	return OK;
}

enum status
message_resp_decode(struct message_resp *out, const struct tracecmd_message *m)
{
	uint8_t fields[SYNC_BYTES * 4];
	struct reader r = fixed_part(m, fields);
	struct span left = m->data;

	memset(out, 0, sizeof(*out));
	out->flags = reader_u32(&r);
	out->cpus = reader_u32(&r);
	out->page_size = reader_u32(&r);
	out->trace_id = reader_u64(&r);
	reader_copy(&r, out->sync, SYNC_BYTES);
	out->sync_port = reader_u32(&r);
	if (out->cpus == 0 || out->cpus > MESSAGE_CPUS_MAX)
		return E_LIMIT;
	if (out->sync_port > UINT16_MAX)
		return E_MALFORMED;
	for (uint32_t i = 0; i < out->cpus; i++) {
		const char *text;
		uint64_t port;

		if (!next_string(&left, &text) ||
		    parse_u64(text, 1, UINT16_MAX, &port) != OK)
			return E_MALFORMED;
		out->ports[i] = (uint16_t)port;
	}
	return OK;
}

/* E_LIMIT: with DATA bytes after its fixed part it would be too large. */
static enum status
put_header(struct buf *out, enum message_number number, size_t data)
{
	const uint32_t fixed = fixed_size[number];

	if (MESSAGE_HEADER + fixed + data > MESSAGE_BYTES_MAX)
		return E_LIMIT;
	buf_u32(out, (uint32_t)(MESSAGE_HEADER + fixed + data));
	buf_u32(out, (uint32_t)number);
	buf_u32(out, fixed);
	return OK;
}

void
message_put(struct buf *out, enum message_number number)
{
	assert(fixed_size[number] == 0);
	(void)!put_header(out, number, 0);
}

/* Each port as text, with its NUL. Returns the size of all. */
static size_t
ports_text(char out[PORTS_TEXT], const uint16_t *ports, uint32_t n)
{
	size_t at = 0;

	assert(n <= MESSAGE_CPUS_MAX);
	for (uint32_t i = 0; i < n; i++)
		at += (size_t)snprintf(
			  out + at, PORTS_TEXT - at, "%u", ports[i]) +
		      1;
	return at;
}

enum status
message_put_resp(struct buf *out, const struct message_resp *r)
{
	char text[PORTS_TEXT];
	const size_t n = ports_text(text, r->ports, r->cpus);

	if (put_header(out, MESSAGE_TRACE_RESP, n) != OK)
		return E_LIMIT;
	buf_u32(out, r->flags);
	buf_u32(out, r->cpus);
	buf_u32(out, r->page_size);
	buf_u64(out, r->trace_id);
	buf_bytes(out, r->sync, SYNC_BYTES);
	buf_u32(out, r->sync_port);
	buf_bytes(out, text, n);
	return OK;
}

enum status
message_put_rinit(struct buf *out, const uint16_t *ports, uint32_t n)
{
	char text[PORTS_TEXT];
	const size_t size = ports_text(text, ports, n);

	if (put_header(out, MESSAGE_RINIT, size) != OK)
		return E_LIMIT;
	buf_u32(out, n);
	buf_bytes(out, text, size);
	return OK;
}

enum status
message_put_req(struct buf *out, uint64_t trace_id,
    const char *const *arguments, unsigned n)
{
	size_t text = 0;

	for (unsigned i = 0; i < n; i++)
		text += strlen(arguments[i]) + 1;
	if (put_header(out, MESSAGE_TRACE_REQ, 3 * sizeof(uint32_t) + text) !=
	    OK)
		return E_LIMIT;
	buf_u32(out, 0); /* flags */
	buf_u32(out, 0); /* argc */
	buf_u64(out, trace_id);
	buf_u32(out, PARAMETER_ARGUMENTS);
	buf_u32(out, (uint32_t)(sizeof(uint32_t) + text));
	buf_u32(out, n);
	for (unsigned i = 0; i < n; i++)
		buf_bytes(out, arguments[i], strlen(arguments[i]) + 1);
	return out->bad ? E_NOMEM : OK;
}
