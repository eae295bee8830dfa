/* SPDX-License-Identifier: MIT */
#include "tools/send/heads.h"

#include "ctf/packet.h"

bool
heads_has(const struct heads *h, enum tsdl_name name)
{
	return h->header->fields[name].size > 0 ||
	       h->context->fields[name].size > 0;
}

uint64_t
heads_get(const struct heads *h, enum tsdl_name name, uint64_t otherwise)
{
	if (h->context->fields[name].size > 0)
		return tsdl_read(
		    h->p, &h->context->fields[name], h->context_at);
	if (h->header->fields[name].size > 0)
		return tsdl_read(h->p, &h->header->fields[name], 0);
	return otherwise;
}

static enum status
wrong(const char **why, const char *text)
{
	*why = text;
	return E_MALFORMED;
}

enum status
heads_find(struct heads *h, const struct tsdl *t, const uint8_t *p, uint64_t n,
    const char **why)
{
	static const struct tsdl_layout none = { .align = 1 };
	const struct tsdl_stream *s;
	uint64_t align;

	*h = (struct heads){ .p = p, .header = &t->header, .context = &none };
	if (t->header.size > n * 8)
		return wrong(why, "the last packet is cut short");
	if (heads_get(h, TSDL_MAGIC, CTF_MAGIC) != CTF_MAGIC)
		return wrong(why, "no packet header where one is expected");
	s = tsdl_stream_of(t, heads_get(h, TSDL_STREAM_ID, 0));
	if (s == NULL && t->header.fields[TSDL_STREAM_ID].size == 0 &&
	    t->n_streams == 1)
		s = &t->streams[0];
	if (s == NULL)
		return wrong(why, "a packet has an unknown stream class");
	h->context = &s->context;
	align = s->context.align;
	h->context_at = (t->header.size + align - 1) / align * align;
	if (h->context_at + s->context.size > n * 8)
		return wrong(why, "the last packet is cut short");
	return OK;
}
