/* SPDX-License-Identifier: MIT */
#include "tools/capture/anon_edit.h"

#include <assert.h>
#include <string.h>

#include "tools/capture/link_layer.h"

uint16_t
edit_sum_add(uint16_t a, uint16_t b)
{
	const uint32_t sum = (uint32_t)a + b;

	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

uint16_t
edit_sum_difference(uint16_t was, uint16_t is)
{
	return edit_sum_add((uint16_t)~was, is);
}

uint16_t
edit_sum_of(const uint8_t *p, uint32_t n)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i + 1 < n; i += 2)
		sum += link_layer_u16(p + i);
	if (i < n)
		sum += (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

uint16_t
edit_address(
    const struct edit *e, uint8_t *p, uint32_t n, uint32_t off, uint32_t len)
{
	uint16_t was;

	assert(len == 4 || len == 16);
	if (off >= n)
		return 0;
	p += off;
	n = n - off < len ? n - off : len;
	was = edit_sum_of(p, n);
	if (n < len)
		memset(p, 0, n);
	else if (len == 4)
		anon_ipv4(e->anon, p);
	else
		anon_ipv6(e->anon, p);
	return edit_sum_difference(was, edit_sum_of(p, n));
}

void
edit_checksum(const struct edit *e, uint8_t *p, uint32_t n, uint32_t off,
    uint16_t difference)
{
	uint16_t sum = 0;

	if (off >= n)
		return;
	if (n - off < 2) {
		p[off] = 0;
		return;
	}
	if (e->checksums == ANON_MEND)
		sum = (uint16_t)~edit_sum_add(
		    (uint16_t)~link_layer_u16(p + off), difference);
	p[off] = (uint8_t)(sum >> 8);
	p[off + 1] = (uint8_t)sum;
}

void
edit_addresses(const struct edit *e, uint8_t *p, uint32_t n, uint32_t off,
    uint32_t len, uint32_t step, uint32_t count)
{
	for (; count > 0 && off < n; count--, off += step)
		(void)edit_address(e, p, n, off, len);
}

void
edit_not_known(struct edit *e, uint32_t n)
{
	e->may_tell |= n > 0;
}

void
edit_not_known_after(struct edit *e, uint32_t n, uint32_t end)
{
	edit_not_known(e, n > end ? n - end : 0);
}

uint32_t
edit_trim(uint8_t *p, uint32_t n, uint32_t end)
{
	if (n <= end)
		return n;
	memset(p + end, 0, n - end);
	return end;
}

void
edit_quote(struct edit *e, uint16_t type, uint8_t *p, uint32_t n, uint32_t off)
{
	if (off < n)
		edit_network(e, type, p + off, n - off);
}
