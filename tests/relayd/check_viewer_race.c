/* SPDX-License-Identifier: MIT */
/* A ring is written between the look-up of a file and its opening: the index
 * and the packet that a viewer gets still belong together (W14, P13). */
#include <stdbool.h>

#include "relayd/record/session.h"
#include "relayd/record/stream.h"
#include "relayd/live/viewer_internal.h"
#include "store/dir.h"
#include "tests/lib/unit.h"
#include "tests/relayd/fixture.h"

static struct stream *ring;
static uint64_t written;
static unsigned n_overtaking; /* packets that come before the next opening */

static void
write_one(void)
{
	struct live_pair_packet p = fixture_packet(written++);

	live_pair_packet(ring, &p);
}

enum status __real_dir_open_file(
    int *out, int base, const char *path, int flags);
enum status __wrap_dir_open_file(
    int *out, int base, const char *path, int flags);

enum status
__wrap_dir_open_file(int *out, int base, const char *path, int flags)
{
	unsigned n = n_overtaking;

	n_overtaking = 0;
	while (n-- > 0)
		write_one();
	return __real_dir_open_file(out, base, path, flags);
}

/* Rings of one file and of three, with one packet each; so many packets that
 * the first is gone, or comes again. */
TEST_ROWS(an_overwritten_file_is_not_taken_for_the_old, 4)
{
	const uint64_t n_files = _i % 2 == 0 ? 1 : 3;
	struct live_index i;
	struct live_pair_packet p;
	uint64_t seq;

	fixture_open(true);
	written = 0;
	ring = live_pair_stream(
	    fixture.session, "ust/uid", "ring", 64, n_files);
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	for (uint64_t k = 0; k < n_files; k++)
		write_one();
	ck_assert_uint_eq(fixture_attach(fixture.viewer, LIVE_SEEK_BEGINNING),
	    LIVE_ATTACH_OK);
	fixture.data = ring;
	n_overtaking = (unsigned)(_i < 2 ? n_files : 2 * n_files + 1);
	for (seq = written; (i = fixture_index()).status == LIVE_INDEX_OK;) {
		seq = i.timestamp_begin / 100;
		p = fixture_packet(seq);
		ck_assert_uint_eq(i.timestamp_end, p.end);
		ck_assert_int_eq(
		    live_pair_tell(fixture.viewer,
			&(struct live_request){ .cmd = LIVE_CMD_get_packet,
			    .id = fixture_id(ring),
			    .offset = i.offset,
			    .length = p.bytes },
			&fixture.out),
		    LIVE_REPLY);
		ck_assert_uint_eq(
		    live_pair_u32(&fixture.out, 0), LIVE_PACKET_OK);
		ck_assert(live_pair_is_packet(&fixture.out, 12, &p));
	}
	ck_assert_uint_eq(i.status, LIVE_INDEX_RETRY);
	ck_assert_uint_eq(seq, written - 1);
	ck_assert_uint_eq(fixture.viewer->lost, written - n_files);
	fixture_close();
}
