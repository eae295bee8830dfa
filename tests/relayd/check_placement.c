/* SPDX-License-Identifier: MIT */
#include "relayd/placement.h"

#include <stdlib.h>

#include "tests/lib/fault.h"
#include "tests/lib/unit.h"

static struct placement_key
key(uint8_t uuid, uint64_t peer_session)
{
	struct placement_key k = { .has_peer_id = uuid != 0,
		.peer_session = peer_session };

	k.uuid.b[0] = uuid;
	return k;
}

TEST(siblings_meet_and_others_go_where_the_load_is_least)
{
	struct placement_key a = key(1, 0), b = key(1, 1), c = key(2, 0);
	struct placement_key sibling = key(1, 0);
	struct placement *p;

	ck_assert_int_eq(placement_create(&p, 3), OK);
	ck_assert_int_eq(placement_claim(p, &a), OK);
	ck_assert_int_eq(placement_claim(p, &b), OK);
	ck_assert_int_eq(placement_claim(p, &sibling), OK);
	ck_assert_int_eq(placement_claim(p, &c), OK);
	ck_assert_uint_eq(sibling.worker, a.worker);
	ck_assert_uint_ne(b.worker, a.worker);
	ck_assert_uint_ne(c.worker, a.worker);
	ck_assert_uint_ne(c.worker, b.worker);
	placement_destroy(p);
}

TEST(a_claim_ends_with_its_last_session)
{
	struct placement_key a = key(1, 0), b = key(1, 0), c = key(2, 0);
	struct placement *p;
	unsigned first;

	ck_assert_int_eq(placement_create(&p, 2), OK);
	ck_assert_int_eq(placement_claim(p, &a), OK);
	ck_assert_int_eq(placement_claim(p, &b), OK);
	first = a.worker;
	placement_release(p, &a);
	ck_assert_int_eq(placement_claim(p, &a), OK);
	ck_assert_uint_eq(a.worker, first);
	placement_release(p, &a);
	placement_release(p, &b);
	/* now the other worker is next, for any peer */
	ck_assert_int_eq(placement_claim(p, &c), OK);
	ck_assert_int_eq(placement_claim(p, &a), OK);
	ck_assert_uint_ne(c.worker, a.worker);
	placement_destroy(p);
}

TEST(peers_without_a_name_are_alone)
{
	struct placement_key k[8];
	struct placement *p;
	unsigned n[2] = { 0 };

	ck_assert_int_eq(placement_create(&p, 2), OK);
	for (unsigned i = 0; i < ARRAY_LEN(k); i++) {
		k[i] = key(0, 0);
		ck_assert_int_eq(placement_claim(p, &k[i]), OK);
		n[k[i].worker]++;
	}
	ck_assert_uint_eq(n[0], 4);
	ck_assert_uint_eq(n[1], 4);
	for (unsigned i = 0; i < ARRAY_LEN(k); i++)
		placement_release(p, &k[i]);
	placement_destroy(p);
	placement_destroy(NULL);
}

/* As from ::1, of which no byte is known. */
TEST(a_session_without_ids_ends_as_itself)
{
	struct placement_key a = key(1, 0), b = key(0, 0), sibling = key(1, 0);
	struct placement *p;
	unsigned worker;

	ck_assert_int_eq(placement_create(&p, 2), OK);
	ck_assert_int_eq(placement_claim(p, &a), OK);
	worker = a.worker;
	do {
		b = key(0, 0);
		ck_assert_int_eq(placement_claim(p, &b), OK);
	} while (b.worker != worker);
	placement_release(p, &b);
	ck_assert_int_eq(placement_claim(p, &sibling), OK);
	ck_assert_uint_eq(sibling.worker, worker);
	placement_release(p, &a);
	placement_release(p, &sibling);
	placement_destroy(p);
}

TEST(a_claim_without_memory_counts_nothing)
{
	struct placement_key a = key(1, 0);
	struct placement *p;
	enum status st;

	ck_assert_int_eq(placement_create(&p, 1), OK);
	fault_arm(1);
	st = placement_claim(p, &a);
	ck_assert(fault_disarm());
	ck_assert_int_eq(st, E_NOMEM);
	ck_assert_int_eq(placement_claim(p, &a), OK);
	placement_release(p, &a);
	placement_destroy(p);
}

/* Sessions without ids are with those of their host. */
TEST(old_peers_of_a_host_meet)
{
	struct placement_key a = key(0, 0), b = key(1, 0), c = key(0, 0);
	struct placement *p;

	a.host.bytes[15] = c.host.bytes[15] = 1;
	ck_assert_int_eq(placement_create(&p, 2), OK);
	ck_assert_int_eq(placement_claim(p, &a), OK);
	ck_assert_int_eq(placement_claim(p, &b), OK);
	ck_assert_int_eq(placement_claim(p, &c), OK);
	ck_assert_uint_eq(a.worker, c.worker);
	ck_assert_uint_ne(a.worker, b.worker);
	placement_release(p, &a);
	placement_release(p, &c);
	placement_destroy(p);
}

/* Sessions are counted per host; what ended counts no more. */
TEST(hosts_are_counted)
{
	struct placement_key a = key(1, 0), b = key(1, 0), c = key(0, 0);
	struct placement *p;

	c.host.bytes[15] = 1;
	ck_assert_int_eq(placement_create(&p, 2), OK);
	ck_assert_uint_eq(placement_of_host(p, &a.host), 0);
	ck_assert_int_eq(placement_claim(p, &a), OK);
	ck_assert_int_eq(placement_claim(p, &b), OK);
	ck_assert_int_eq(placement_claim(p, &c), OK);
	ck_assert_uint_eq(placement_of_host(p, &a.host), 2);
	ck_assert_uint_eq(placement_of_host(p, &c.host), 1);
	placement_release(p, &a);
	placement_release(p, &c);
	ck_assert_uint_eq(placement_of_host(p, &a.host), 1);
	ck_assert_uint_eq(placement_of_host(p, &c.host), 0);
	placement_destroy(p);
}
