/* SPDX-License-Identifier: MIT */
#include "store/room.h"

#include <errno.h>
#include <unistd.h>

#include "common/log.h"
#include "store/dir.h"

/* When to try again to get a reserve that could not be had. */
#define RESERVE_RETRY_NS (10 * NS_PER_S)

void
room_init(struct room *r, int dir_fd)
{
	*r = (struct room){ .dir_fd = dir_fd, .fd = -1 };
}

static void
drop_reserve(struct room *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	r->held = 0;
}

void
room_free(struct room *r)
{
	drop_reserve(r);
}

void
room_forgo(struct room *r)
{
	drop_reserve(r);
	r->is_forgone = true;
}

void
room_lacks(struct room *r)
{
	const uint64_t now = clock_now_ns();

	if (!r->is_full) {
		r->look_ns = now + ROOM_LOOK_NS;
		r->try_ns = now + ROOM_TRY_NS;
	}
	r->is_full = true;
}

/* Bytes that the reserve is to have. */
static uint64_t
wanted_reserve(uint64_t total)
{
	const uint64_t part = total / ROOM_RESERVE_PART;

	return (part < ROOM_RESERVE ? part : ROOM_RESERVE) / ROOM_YIELD *
	       ROOM_YIELD;
}

/* Is there room for BYTES beside what the reserve lacks? */
static bool
has_room_for(const struct room *r, uint64_t bytes)
{
	uint64_t left, total, wanted;

	if (dir_room(&left, &total, r->dir_fd) != OK)
		return true;
	wanted = wanted_reserve(total);
	if (wanted > r->held)
		bytes += wanted - r->held;
	return left > bytes;
}

bool
room_may_try(struct room *r, uint64_t bytes)
{
	uint64_t now;

	if (!r->is_full || has_room_for(r, bytes))
		return true;
	now = clock_now_ns();
	if (now < r->try_ns)
		return false;
	r->try_ns = now + ROOM_TRY_NS;
	return true;
}

bool
room_yield(struct room *r)
{
	const int saved = errno;
	bool is_given = false;
	uint64_t left;

	if (r == NULL)
		return false;
	left = r->held > ROOM_YIELD ? r->held - ROOM_YIELD : 0;
	room_lacks(r);
	if (r->fd >= 0 && left == 0) {
		drop_reserve(r);
		is_given = true;
	} else if (r->fd >= 0 && ftruncate(r->fd, (off_t)left) == 0) {
		r->held = left;
		is_given = true;
	}
	errno = saved;
	return is_given;
}

/* Take what the reserve lacks, but not more than half of what there is. */
static bool
refill(struct room *r)
{
	uint64_t left, total, wanted, lacks;

	if (r->is_forgone)
		return true;
	if (dir_room(&left, &total, r->dir_fd) != OK)
		return false;
	wanted = wanted_reserve(total);
	if (wanted <= r->held)
		return true;
	lacks = wanted - r->held;
	if (lacks > left / 2)
		lacks = left / 2 / ROOM_YIELD * ROOM_YIELD;
	if (lacks == 0 ||
	    (r->fd < 0 && dir_make_nameless(&r->fd, r->dir_fd) != OK))
		return false;
	if (dir_reserve(r->fd, r->held, r->held + lacks) != OK) {
		if (r->held == 0)
			drop_reserve(r);
		return false;
	}
	r->held += lacks;
	return r->held == wanted;
}

uint64_t
room_tick(struct room *r)
{
	uint64_t now;

	if (r->look_ns == UINT64_MAX)
		return UINT64_MAX;
	now = clock_now_ns();
	if (now < r->look_ns)
		return r->look_ns - now;
	if (r->is_full && has_room_for(r, 0))
		r->is_full = false;
	if (r->is_full)
		r->look_ns = now + ROOM_LOOK_NS;
	else
		r->look_ns = refill(r) ? UINT64_MAX : now + RESERVE_RETRY_NS;
	return r->look_ns == UINT64_MAX ? UINT64_MAX : r->look_ns - now;
}
