/* SPDX-License-Identifier: MIT */
#include "relayd/net/viewer_conn_internal.h"

#include <errno.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "relayd/live/open_files.h"
#include "relayd/live/viewers.h"
#include "relayd/stats/stats.h"

/* A small file part goes behind its header, so that one send takes both. */
static bool
copy_small(struct viewer_conn *c)
{
	uint8_t *at;
	ssize_t n;

	if (c->file == NULL || c->length > VIEWER_COPY_MAX)
		return true;
	at = buf_reserve(&c->out, (size_t)c->length);
	if (at == NULL)
		return false;
	n = pread(c->file->data_fd, at, (size_t)c->length, (off_t)c->offset);
	if (n != (ssize_t)c->length)
		return false;
	buf_added(&c->out, (size_t)n);
	open_file_done(c->file);
	c->file = NULL;
	c->length = 0;
	return true;
}

/* As send(2) or sendfile(2): at most MOST bytes, of the file when all else is
 * sent. */
static ssize_t
send_once(struct viewer_conn *c, size_t most)
{
	const size_t len = buf_len(&c->out);
	off_t at = (off_t)c->offset;
	ssize_t n;

	if (len > 0) {
		n = send(c->fd, buf_data(&c->out), len < most ? len : most,
		    MSG_NOSIGNAL | MSG_DONTWAIT |
			(c->file != NULL ? MSG_MORE : 0));
		if (n > 0)
			buf_consume(&c->out, (size_t)n);
		return n;
	}
	n = sendfile(c->fd, c->file->data_fd, &at,
	    (size_t)(c->length < most ? c->length : most));
	if (n > 0) {
		c->offset += (uint64_t)n;
		c->length -= (uint64_t)n;
	}
	return n;
}

/* Is there something to send? When all that was encoded is sent, the next part
 * of what the reply lists is encoded. */
static bool
has_more(struct viewer_conn *c)
{
	if (buf_len(&c->out) == 0)
		(void)live_list_encode(&c->list, &c->out);
	return buf_len(&c->out) > 0 || c->length > 0;
}

enum status
viewer_conn_send(struct viewer_conn *c, size_t *left)
{
	ssize_t n;

	if (!copy_small(c))
		return E_IO;
	/* The first records leave with what stands before them. */
	if (c->list.next == 0)
		(void)live_list_encode(&c->list, &c->out);
	while (has_more(c)) {
		if (*left == 0)
			return E_MORE;
		n = send_once(c, *left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno == EAGAIN ? E_MORE : E_IO;
		*left -= (size_t)n;
		stats_add(
		    c->desk->viewers->stats, STAT_sent_bytes, (uint64_t)n);
		c->progress_ns = clock_now_ns();
	}
	return c->out.bad ? E_NOMEM : OK;
}
