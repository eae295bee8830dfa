/* SPDX-License-Identifier: MIT */
/* Messages byte by byte, from streaming 2.7 and 10, of versions that were never
 * recorded, too. The old shapes of fixed fields are in
 * check_relay.c and check_relay_session.c. */
#ifndef TESTS_PROTO_RELAY_EXAMPLES_H
#define TESTS_PROTO_RELAY_EXAMPLES_H

#include <stdbool.h>
#include <stddef.h>

struct relay_example {
	const char *title;
	unsigned minor;
	const char *hex;
	bool is_not_encoded; /* decoded, but we would send it otherwise */
};

extern const struct relay_example relay_examples[];
extern const size_t relay_examples_n;

#endif
