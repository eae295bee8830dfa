/* SPDX-License-Identifier: MIT */
#include "store/reserve.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "common/log.h"
#include "store/dir.h"

/* When to try again to create a reserve. */
#define RESERVE_RETRY_NS (10 * NS_PER_S)

void
reserve_init(struct reserve *r, int dir_fd)
{
	*r = (struct reserve){ .dir_fd = dir_fd, .fd = -1 };
}

void
reserve_free(struct reserve *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	r->held = 0;
}

void
reserve_disable(struct reserve *r)
{
	reserve_free(r);
	r->is_forgone = true;
}

void
reserve_disk_full(struct reserve *r)
{
	const uint64_t now = clock_now_ns();

	if (!r->is_full) {
		r->look_ns = now + RESERVE_LOOK_NS;
		r->try_ns = now + RESERVE_TRY_NS;
	}
	r->is_full = true;
}

/* The size that the reserve should have. */
static uint64_t
wanted_reserve(uint64_t total)
{
	const uint64_t part = total / RESERVE_PART;

	return (part < RESERVE_BYTES ? part : RESERVE_BYTES) / RESERVE_STEP *
	       RESERVE_STEP;
}

/* Is there space for BYTES in addition to what the reserve is short of? */
static bool
has_space_for(const struct reserve *r, uint64_t bytes)
{
	uint64_t left, total, wanted;

	if (dir_free_space(&left, &total, r->dir_fd) != OK)
		return true;
	wanted = wanted_reserve(total);
	if (wanted > r->held)
		bytes += wanted - r->held;
	return left > bytes;
}

bool
reserve_may_write(struct reserve *r, uint64_t bytes)
{
	uint64_t now;

	if (!r->is_full || has_space_for(r, bytes))
		return true;
	now = clock_now_ns();
	if (now < r->try_ns)
		return false;
	r->try_ns = now + RESERVE_TRY_NS;
	return true;
}

bool
reserve_release(struct reserve *r)
{
	const int saved = errno;
	bool is_released = false;
	uint64_t left;

	if (r == NULL)
		return false;
	left = r->held > RESERVE_STEP ? r->held - RESERVE_STEP : 0;
	reserve_disk_full(r);
	if (r->fd >= 0 && left == 0) {
		reserve_free(r);
		is_released = true;
	} else if (r->fd >= 0 && ftruncate(r->fd, (off_t)left) == 0) {
		r->held = left;
		is_released = true;
	}
	errno = saved;
	return is_released;
}

/* Fill the reserve, with at most half of the free space. Returns true if it is
 * full. */
static bool
refill(struct reserve *r)
{
	uint64_t left, total, wanted, lacks;

	if (r->is_forgone)
		return true;
	if (dir_free_space(&left, &total, r->dir_fd) != OK)
		return false;
	wanted = wanted_reserve(total);
	if (wanted <= r->held)
		return true;
	lacks = wanted - r->held;
	if (lacks > left / 2)
		lacks = left / 2 / RESERVE_STEP * RESERVE_STEP;
	if (lacks == 0 ||
	    (r->fd < 0 && dir_create_unnamed(&r->fd, r->dir_fd) != OK))
		return false;
	if (dir_reserve(r->fd, r->held, r->held + lacks) != OK) {
		if (r->held == 0)
			reserve_free(r);
		return false;
	}
	r->held += lacks;
	assert(r->held <= RESERVE_BYTES);
	return r->held == wanted;
}

uint64_t
reserve_tick(struct reserve *r)
{
	uint64_t now;

	if (r->look_ns == UINT64_MAX)
		return UINT64_MAX;
	now = clock_now_ns();
	if (now < r->look_ns)
		return r->look_ns - now;
	if (r->is_full && has_space_for(r, 0))
		r->is_full = false;
	if (r->is_full)
		r->look_ns = now + RESERVE_LOOK_NS;
	else
		r->look_ns = refill(r) ? UINT64_MAX : now + RESERVE_RETRY_NS;
	return r->look_ns == UINT64_MAX ? UINT64_MAX : r->look_ns - now;
}
