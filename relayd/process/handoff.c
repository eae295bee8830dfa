/* SPDX-License-Identifier: MIT */
#include "relayd/process/handoff.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "relayd/process/systemd.h"
#include "relayd/process/unix_socket.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
/* How long the service manager may take to receive everything. */
#define BARRIER_MS 5000

void
handoff_init(struct handoff *h)
{
	*h = (struct handoff){ .state = -1, .pack = -1, .fill = -1 };
}

static void
close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void
handoff_close(struct handoff *h)
{
	close_one(&h->state);
	close_one(&h->pack);
	close_one(&h->fill);
	while (h->n_listeners > 0)
		close_one(&h->listeners[--h->n_listeners]);
}

enum status
handoff_prepare(struct handoff *h)
{
	int ends[2];

	handoff_init(h);
	h->state = memfd_create(
	    "tracepulse-relayd", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (h->state >= 0 &&
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
		h->pack = ends[0];
		h->fill = ends[1];
		return OK;
	}
	log_errno(LOG_ERROR, "cannot prepare for a restart");
	handoff_close(h);
	return E_IO;
}

static bool
write_all(int fd, const uint8_t *p, size_t n)
{
	size_t done = 0;
	ssize_t wrote;

	while (done < n) {
		wrote = pwrite(fd, p + done, n - done, (off_t)done);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return false;
		done += (size_t)wrote;
	}
	return true;
}

enum status
handoff_fill(
    struct handoff *h, const struct buf *bytes, const int *fds, uint32_t n)
{
	const int size = INT32_MAX / 2;
	bool ok = write_all(h->state, buf_data(bytes), buf_len(bytes)) &&
		  fcntl(h->state, F_ADD_SEALS, SEALS | F_SEAL_SEAL) == 0;

	/* As much as the system allows: each message takes about 1 KiB. */
	(void)setsockopt(h->fill, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	for (uint32_t i = 0; i < n && ok; i += UNIX_SOCKET_FDS)
		ok = unix_socket_send(h->fill, "", 1, NULL, 0, fds + i,
		    n - i < UNIX_SOCKET_FDS ? n - i : UNIX_SOCKET_FDS,
		    MSG_DONTWAIT);
	close_one(&h->fill);
	if (ok)
		return OK;
	log_errno(LOG_ERROR, "cannot store the state for the next process");
	return E_IO;
}

enum status
handoff_bytes(const struct handoff *h, const uint8_t **bytes, size_t *n)
{
	const int seals = fcntl(h->state, F_GET_SEALS);
	struct stat st;
	void *p;

	if (seals < 0 || (seals & SEALS) != SEALS ||
	    fstat(h->state, &st) != 0 || st.st_size <= 0)
		return E_MALFORMED;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, h->state, 0);
	if (p == MAP_FAILED)
		return E_NOMEM;
	*bytes = p;
	*n = (size_t)st.st_size;
	return OK;
}

enum status
handoff_fds(const struct handoff *h, int **fds, uint32_t n)
{
	int *all = calloc((size_t)n + 1, sizeof(*all));
	const int from = 0;
	uint32_t done = 0;
	unsigned got;
	char byte;
	bool ok;

	*fds = NULL;
	if (all == NULL)
		return E_NOMEM;
	/* Each read looks behind what the last one has seen. */
	ok = setsockopt(
		 h->pack, SOL_SOCKET, SO_PEEK_OFF, &from, sizeof(from)) == 0;
	while (ok && done < n) {
		got = n - done;
		ok = unix_socket_receive(h->pack, &byte, 1, all + done, &got,
			 MSG_PEEK | MSG_DONTWAIT) &&
		     got > 0;
		done += got;
	}
	if (ok) {
		*fds = all;
		return OK;
	}
	while (done > 0)
		close(all[--done]);
	free(all);
	return E_MALFORMED;
}

bool
handoff_store(const struct handoff *h)
{
	int ends[2] = { -1, -1 };
	struct pollfd wait = { .events = POLLHUP };
	bool ok = systemd_has_manager();

	/* The state first: what is above FileDescriptorStoreMax= is dropped. */
	ok = ok &&
	     systemd_notify_fds(
		 "FDSTORE=1\nFDNAME=state\nFDPOLL=0\n", &h->state, 1) &&
	     systemd_notify_fds(
		 "FDSTORE=1\nFDNAME=pack\nFDPOLL=0\n", &h->pack, 1) &&
	     (h->n_listeners == 0 ||
		 systemd_notify_fds("FDSTORE=1\nFDNAME=listen\nFDPOLL=0\n",
		     h->listeners, h->n_listeners)) &&
	     pipe2(ends, O_CLOEXEC) == 0;
	/* The service manager closes its end once it has read all of them. */
	ok = ok && systemd_notify_fds("BARRIER=1\n", &ends[1], 1);
	close_one(&ends[1]);
	wait.fd = ends[0];
	ok = ok && poll(&wait, 1, BARRIER_MS) == 1;
	close_one(&ends[0]);
	return ok;
}

void
handoff_unstore(void)
{
	(void)systemd_notify("FDSTOREREMOVE=1\nFDNAME=state\n");
	(void)systemd_notify("FDSTOREREMOVE=1\nFDNAME=pack\n");
	(void)systemd_notify("FDSTOREREMOVE=1\nFDNAME=listen\n");
}
