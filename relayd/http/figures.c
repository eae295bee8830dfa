/* SPDX-License-Identifier: MIT */
#include "relayd/http/figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/compiler.h"
#include "relayd/http/text.h"

void
figures_count(struct buf *b, uint64_t n)
{
	char digits[24];
	const size_t len = (size_t)snprintf(
	    digits, sizeof(digits), "%" PRIu64, n);

	for (size_t i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			buf_u8(b, ',');
		buf_u8(b, (uint8_t)digits[i]);
	}
}

void
figures_number(struct buf *b, double n)
{
	if (n < 10 && n > (double)(uint64_t)n)
		text_add(b, "%.1f", n);
	else
		figures_count(b, (uint64_t)(n + 0.5));
}

void
figures_bytes(struct buf *b, double n)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB",
		"PiB", "EiB" };
	unsigned unit = 0;

	for (; n >= 1023.95 && unit < ARRAY_LEN(units) - 1; unit++)
		n /= 1024;
	text_add(b, unit == 0 ? "%.0f %s" : "%.1f %s", n, units[unit]);
}

void
figures_duration(struct buf *b, uint64_t seconds)
{
	static const struct {
		uint64_t seconds;
		const char *name;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" },
		{ 1, "s" } };
	unsigned i = 0;

	while (i < ARRAY_LEN(units) - 1 && seconds < units[i].seconds)
		i++;
	text_add(
	    b, "%" PRIu64 " %s", seconds / units[i].seconds, units[i].name);
	seconds %= units[i].seconds;
	if (++i < ARRAY_LEN(units) && seconds >= units[i].seconds)
		text_add(b, " %" PRIu64 " %s", seconds / units[i].seconds,
		    units[i].name);
}
