/* SPDX-License-Identifier: MIT */
#include "store/journal_load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "store/dir.h"

void
journal_boot(char out[JOURNAL_BOOT])
{
	const int fd = open(
	    "/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	memset(out, 0, JOURNAL_BOOT);
	if (fd < 0)
		return;
	if (read(fd, out, JOURNAL_BOOT - 1) < 0)
		out[0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	close(fd);
}

/* NULL: it can be a journal of this user. */
static const char *
why_not(const struct stat *sb)
{
	if (!S_ISREG(sb->st_mode))
		return "it is not a regular file";
	if (sb->st_uid != geteuid())
		return "it belongs to another user";
	if (sb->st_size > (off_t)JOURNAL_SLOTS_MAX * JOURNAL_SLOT)
		return "it is too large";
	return NULL;
}

int
journal_open_left(int base_fd, const char *name, const char **why)
{
	struct stat sb;
	int fd;

	*why = NULL;
	/* Opening anything but a regular file may have an effect. */
	if (fstatat(base_fd, name, &sb, AT_SYMLINK_NOFOLLOW) != 0)
		return -1;
	*why = why_not(&sb);
	if (*why != NULL)
		return -1;
	fd = openat(
	    base_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		if (errno != ENOENT)
			*why = "it cannot be opened";
		return -1;
	}
	if (fstat(fd, &sb) == 0)
		*why = why_not(&sb);
	if (*why == NULL)
		return fd;
	close(fd);
	return -1;
}

static uint64_t
since_epoch(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * NS_PER_S + (uint64_t)ts->tv_nsec;
}

/* Was the file made since the machine was started? For journals that do not say
 * of which boot they are. */
static bool
is_younger_than_boot(int fd)
{
	struct timespec now, up;
	struct dir_id id;
	struct stat sb;

	if (dir_identify(&id, fd) != OK || fstat(fd, &sb) != 0 ||
	    clock_gettime(CLOCK_REALTIME, &now) != 0 ||
	    clock_gettime(CLOCK_BOOTTIME, &up) != 0)
		return false;
	if (id.born == 0)
		id.born = since_epoch(&sb.st_ctim);
	return id.born + since_epoch(&up) >= since_epoch(&now);
}

static bool
is_of_this_boot(const struct journal_slot *head, int fd)
{
	char boot[JOURNAL_BOOT];

	journal_boot(boot);
	if (head->head.magic == JOURNAL_MAGIC_1 || boot[0] == '\0' ||
	    head->head.boot[0] == '\0')
		return is_younger_than_boot(fd);
	return memcmp(head->head.boot, boot, JOURNAL_BOOT) == 0;
}

/* What an older version did not store. */
static void
complete(struct journal_copy *copy)
{
	for (uint32_t i = 1; i < copy->n; i++) {
		struct journal_slot *s = &copy->slots[i];

		if (s->kind == JOURNAL_FILE) {
			s->file.synced = s->file.born = 0;
			s->file.is_index = 0;
		}
	}
}

static bool
read_all(struct journal_slot *slots, size_t n, int fd)
{
	char *to = (char *)slots;
	size_t done = 0;
	ssize_t got;

	while (done < n) {
		got = pread(fd, to + done, n - done, (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return false;
		if (got == 0)
			memset(to + done, 0, n - done);
		done = got == 0 ? n : done + (size_t)got;
	}
	return true;
}

bool
journal_load(struct journal_copy *copy, int fd, const char *name)
{
	const struct journal_slot *head;
	struct stat sb;
	size_t n;

	*copy = (struct journal_copy){ 0 };
	if (fstat(fd, &sb) != 0 || sb.st_size < JOURNAL_SLOT)
		return true;
	copy->n = (uint32_t)((size_t)sb.st_size / JOURNAL_SLOT);
	n = (size_t)copy->n * JOURNAL_SLOT;
	copy->slots = malloc(n);
	if (copy->slots == NULL || !read_all(copy->slots, n, fd)) {
		log_errno(LOG_ERROR, "recovery: %s", name);
		free(copy->slots);
		return false;
	}
	head = &copy->slots[0];
	if (head->kind != JOURNAL_HEAD ||
	    (head->head.magic != JOURNAL_MAGIC &&
		head->head.magic != JOURNAL_MAGIC_1)) {
		free(copy->slots);
		copy->slots = NULL;
		return true;
	}
	copy->is_of_this_boot = is_of_this_boot(head, fd);
	copy->is_old = head->head.magic == JOURNAL_MAGIC_1;
	if (copy->is_old)
		complete(copy);
	else
		copy->sync = head->head.sync;
	return true;
}
