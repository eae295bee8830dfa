/* SPDX-License-Identifier: MIT */
#include "common/near.h"

#include <ctype.h>
#include <string.h>

static unsigned
least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static bool
is_same(char a, char b)
{
	a = a == '_' ? '-' : a;
	b = b == '_' ? '-' : b;
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* One row per prefix of A: the distances to the prefixes of B. */
unsigned
near_distance(const char *a, const char *b)
{
	unsigned rows[NEAR_WORD_MAX + 1][NEAR_WORD_MAX + 1];
	const size_t n = strnlen(a, NEAR_WORD_MAX);
	const size_t m = strnlen(b, NEAR_WORD_MAX);

	for (size_t j = 0; j <= m; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		rows[i][0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			const unsigned other = !is_same(a[i - 1], b[j - 1]);
			unsigned d = least(rows[i - 1][j], rows[i][j - 1]) + 1;

			d = least(d, rows[i - 1][j - 1] + other);
			if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2]) &&
			    is_same(a[i - 2], b[j - 1]))
				d = least(d, rows[i - 2][j - 2] + 1);
			rows[i][j] = d;
		}
	}
	return rows[n][m];
}

bool
near_enough(const char *a, unsigned distance)
{
	return distance <= 1 + strnlen(a, NEAR_WORD_MAX) / 5;
}
