/* SPDX-License-Identifier: MIT */
/* A whole session without a thread that waits, against a relay that decodes
 * and answers, and says twice that something is still pending. */
#include "tools/client/client.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/buf.h"
#include "proto/data.h"
#include "proto/frame.h"
#include "tests/lib/unit.h"

#define PACKETS 60
#define PENDING_ROUNDS 2
#define SIZE_MOST 3000

static uint8_t bytes[PACKETS + SIZE_MOST];

/* What the relay saw. */
struct relay {
	int listeners[2], control, data;
	struct buf in, out, got; /* of control; of data */
	unsigned streams, rounds, indexes, closed, asked;
	bool resumes;
	char story[1024]; /* a letter for each command of its kind, in order */
};

/* What the client's watch was told. */
struct told {
	int epoll;
	unsigned control, data, sent, answered;
	unsigned streams;
};

static uint16_t
listen_any(int *fd)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	*fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(bind(*fd, (struct sockaddr *)&a, len), 0);
	ck_assert_int_eq(listen(*fd, 2), 0);
	ck_assert_int_eq(getsockname(*fd, (struct sockaddr *)&a, &len), 0);
	return ntohs(a.sin_port);
}

static void
tell(struct relay *r, char what)
{
	const size_t n = strlen(r->story);

	if (n > 0 && r->story[n - 1] == what)
		return;
	ck_assert_uint_lt(n + 1, sizeof(r->story));
	r->story[n] = what;
}

static void
answer(struct relay *r, uint32_t cmd, struct reader body)
{
	uint64_t handle;

	switch (cmd) {
	case RELAY_CMD_version:
		tell(r, 'v');
		relay_reply_version(&r->out, 2, 11);
		break;
	case RELAY_CMD_get_configuration:
		tell(r, 'g');
		relay_reply_configuration(&r->out,
		    r->resumes ? RELAY_OK : RELAY_INVALID_PROTOCOL,
		    r->resumes ? RELAY_CONFIG_RESUME : 0);
		break;
	case RELAY_CMD_resume:
		tell(r, 'r');
		buf_u32(&r->out, RELAY_OK);
		break;
	case RELAY_CMD_stream_written:
		tell(r, 'w');
		relay_reply_written(&r->out, RELAY_OK,
		    &(struct relay_written){ 1, 2, r->asked++ });
		break;
	case RELAY_CMD_create_session:
		tell(r, 's');
		relay_reply_session(&r->out, 11, 9, RELAY_OK, "h/s");
		break;
	case RELAY_CMD_add_stream:
		tell(r, 'a');
		relay_reply_stream(&r->out, 1000 + r->streams++, RELAY_OK);
		break;
	case RELAY_CMD_send_metadata:
		tell(r, 'm');
		break;
	case RELAY_CMD_send_index:
		tell(r, 'i');
		r->indexes++;
		buf_u32(&r->out, RELAY_OK);
		break;
	case RELAY_CMD_begin_data_pending:
		tell(r, '(');
		buf_u32(&r->out, RELAY_OK);
		break;
	case RELAY_CMD_data_pending:
		tell(r, 'p');
		handle = reader_u64(&body);
		buf_u32(&r->out,
		    handle - 1000 < r->streams ? 0 : RELAY_PENDING_UNKNOWN);
		break;
	case RELAY_CMD_quiescent_control:
		tell(r, 'q');
		buf_u32(&r->out, RELAY_OK);
		break;
	case RELAY_CMD_end_data_pending:
		tell(r, ')');
		buf_u32(&r->out, r->rounds++ < PENDING_ROUNDS);
		break;
	case RELAY_CMD_close_stream:
		tell(r, 'x');
		r->closed++;
		buf_u32(&r->out, RELAY_OK);
		break;
	case RELAY_CMD_close_trace_chunk:
		tell(r, 'C');
		relay_reply_close_chunk(&r->out, RELAY_OK, "");
		break;
	default:
		tell(r, cmd == RELAY_CMD_streams_sent ? 'S' : 'c');
		buf_u32(&r->out, RELAY_OK);
	}
}

static void
receive(int fd, struct buf *b)
{
	uint8_t *at = buf_reserve(b, 65536);
	ssize_t n = recv(fd, at, 65536, MSG_DONTWAIT);

	if (n > 0)
		buf_added(b, (size_t)n);
}

/* Whatever can be done now. */
static void
relay_step(struct relay *r)
{
	struct relay_header hdr;
	struct reader body;

	if (r->control < 0)
		r->control = accept(r->listeners[0], NULL, NULL);
	if (r->data < 0)
		r->data = accept(r->listeners[1], NULL, NULL);
	if (r->data >= 0)
		receive(r->data, &r->got);
	if (r->control < 0)
		return;
	receive(r->control, &r->in);
	while (
	    frame_relay(buf_data(&r->in), buf_len(&r->in), &hdr, &body) == OK) {
		answer(r, hdr.cmd, body);
		buf_consume(&r->in, RELAY_HEADER_LEN + (size_t)hdr.size);
	}
	if (buf_len(&r->out) > 0) {
		ck_assert_int_eq(
		    send(r->control, buf_data(&r->out), buf_len(&r->out), 0),
		    (ssize_t)buf_len(&r->out));
		buf_consume(&r->out, buf_len(&r->out));
	}
}

/* An administrator may forbid it. */
static bool
has_reno(void)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	const bool is_ok = setsockopt(
			       fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4) == 0;

	close(fd);
	return is_ok;
}

/* The relay is on this machine. */
static void
expect_no_pacing(int fd)
{
	char name[16] = "";
	socklen_t len = sizeof(name);

	ck_assert_int_eq(
	    getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len), 0);
	if (has_reno())
		ck_assert_str_eq(name, "reno");
}

/* A relay that is gone without a word is noticed. */
static void
expect_keepalive(int fd)
{
	int is_on = 0;
	socklen_t len = sizeof(is_on);

	ck_assert_int_eq(
	    getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &is_on, &len), 0);
	ck_assert_int_ne(is_on, 0);
}

static void
opened(void *arg, int fd, bool is_data)
{
	struct told *t = arg;
	struct epoll_event e = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.u32 = is_data,
	};

	expect_no_pacing(fd);
	expect_keepalive(fd);
	ck_assert_int_eq(epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &e), 0);
	*(is_data ? &t->data : &t->control) += 1;
}

static void
index_sent(void *arg, unsigned stream, uint64_t net_seq)
{
	struct told *t = arg;

	ck_assert_uint_eq(stream, t->sent % t->streams);
	ck_assert_uint_eq(net_seq, t->sent / t->streams);
	t->sent++;
}

static void
index_answered(void *arg, uint64_t ns)
{
	struct told *t = arg;

	ck_assert_uint_lt(ns, UINT64_C(60000000000));
	t->answered++;
}

/* One of every kind: empty, only a head, more than one write. */
static struct client_packet
packet(unsigned n)
{
	const uint32_t size = n * 131 % SIZE_MOST;
	struct client_packet p = {
		.size = size,
		.head_size = size < PACKET_HEAD_MAX ? size : n % 33,
		.padding = n,
	};

	memcpy(p.head, bytes + n, p.head_size);
	p.data = bytes + n + p.head_size;
	return p;
}

static void
expect_packets(const struct buf *got, unsigned streams)
{
	struct reader r = reader_over(buf_data(got), buf_len(got));

	for (unsigned n = 0; n < PACKETS; n++) {
		struct data_header h;
		const uint8_t *p;

		ck_assert_int_eq(data_header_decode(&r, &h), OK);
		ck_assert_uint_eq(h.stream, 1000 + n % streams);
		ck_assert_uint_eq(h.net_seq, n / streams);
		ck_assert_uint_eq(h.size, n * 131 % SIZE_MOST);
		ck_assert_uint_eq(h.padding, n);
		p = reader_take(&r, h.size);
		ck_assert_mem_eq(p, bytes + n, h.size);
	}
	ck_assert_uint_eq(reader_left(&r), 0);
}

struct session {
	struct relay relay;
	struct told told;
	struct client_watch watch;
	struct client *client;
	bool is_watched; /* client_ready() by epoll, else client_work() */
};

static void
begin_as(struct session *s, unsigned streams, bool is_watched,
    const struct client_identity *identity)
{
	struct client_config config = {
		.url = { .family = AF_INET, .host = "127.0.0.1" },
		.session_name = "s",
		.hostname = "h",
		.outstanding = 4,
		.packets = 7,
		.ask_ms = 1,
		.watch = &s->watch,
		.identity = identity,
	};

	*s = (struct session){ .is_watched = is_watched };
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 11 + i / 241);
	s->relay.control = s->relay.data = -1;
	config.url.control = listen_any(&s->relay.listeners[0]);
	config.url.data = listen_any(&s->relay.listeners[1]);
	s->told = (struct told){ .epoll = epoll_create1(0),
		.streams = streams };
	s->watch = (struct client_watch){ .opened = opened,
		.index_sent = index_sent,
		.index_answered = index_answered,
		.arg = &s->told };
	ck_assert_int_eq(client_create(&s->client, &config), OK);
	ck_assert_int_eq(client_open(s->client), OK);
}

static void
begin(struct session *s, unsigned streams, bool is_watched)
{
	begin_as(s, streams, is_watched, NULL);
}

static void
end(struct session *s)
{
	client_destroy(s->client);
	close(s->told.epoll);
	close(s->relay.control);
	close(s->relay.data);
	close(s->relay.listeners[0]);
	close(s->relay.listeners[1]);
	buf_free(&s->relay.in);
	buf_free(&s->relay.out);
	buf_free(&s->relay.got);
}

/* Both sides move; E_BUSY goes in, so that it stands in a loop's condition. */
static bool
again(struct session *s, enum status st)
{
	struct epoll_event e[2];
	short events[2] = { 0, 0 };
	int n;

	if (st == OK)
		return false;
	ck_assert_int_eq(st, E_BUSY);
	relay_step(&s->relay);
	if (!s->is_watched) {
		ck_assert_int_eq(client_work(s->client, 1), OK);
		return true;
	}
	n = epoll_wait(s->told.epoll, e, 2, 1);
	for (int i = 0; i < n; i++)
		events[e[i].data.u32] = (short)e[i].events;
	ck_assert_int_eq(client_ready(s->client, events[0], events[1]), OK);
	return true;
}

static void
add_streams(struct session *s)
{
	const unsigned n = s->told.streams;
	unsigned number;

	for (unsigned i = 0; i <= n; i++) {
		while (again(s, client_add_stream(s->client, "p",
				    i == n ? "metadata" : "c", &number)))
			;
		ck_assert_uint_eq(number, i);
	}
	while (again(s, client_streams_sent(s->client)))
		;
	while (again(s, client_metadata(s->client, n, "text", 4)))
		;
}

static void
give_packets(struct session *s)
{
	for (unsigned i = 0; i < PACKETS; i++) {
		const struct client_packet p = packet(i);

		while (
		    again(s, client_packet(s->client, i % s->told.streams, &p)))
			;
		ck_assert_uint_le(s->told.sent - s->told.answered, 4);
	}
}

static const struct {
	unsigned streams;
	bool is_watched;
} rows[] = {
	{ 1, false },
	{ 1, true },
	{ 3, false },
	{ 3, true },
	/* more requests than may be out at a time */
	{ 200, false },
	{ 200, true },
};

TEST_ROWS(a_session_from_its_start_to_its_end, ARRAY_LEN(rows))
{
	struct session s;

	begin(&s, rows[_i].streams, rows[_i].is_watched);
	add_streams(&s);
	give_packets(&s);
	while (again(&s, client_finish(s.client)))
		;
	ck_assert_str_eq(s.relay.story, "vscaSmi(pq)(pq)(pq)xC");
	ck_assert_uint_eq(s.relay.rounds, PENDING_ROUNDS + 1);
	ck_assert_uint_eq(s.relay.closed, rows[_i].streams + 1);
	ck_assert_uint_eq(s.relay.indexes, PACKETS);
	ck_assert_uint_eq(s.told.sent, PACKETS);
	ck_assert_uint_eq(s.told.answered, PACKETS);
	ck_assert_uint_eq(s.told.control, 1);
	ck_assert_uint_eq(s.told.data, 1);
	ck_assert_uint_eq(client_stats(s.client)->packets, PACKETS);
	expect_packets(&s.relay.got, rows[_i].streams);
	end(&s);
}

TEST_ROWS(a_session_is_resumed_by_a_relay_that_can, 2)
{
	struct client_identity id;
	struct relay_written w;
	struct session s;

	ck_assert_int_eq(client_identity_make(&id), OK);
	begin_as(&s, 200, true, &id);
	s.relay.resumes = _i == 1;
	add_streams(&s);
	ck_assert_int_eq(client_resumes(s.client), _i == 1);
	for (unsigned i = 0; i <= 200; i++) {
		while (again(&s, client_written(s.client, i, &w)))
			;
		ck_assert_uint_eq(w.packets, _i == 1 ? 2 : 0);
		ck_assert_uint_eq(w.packet_seq_num, _i == 1 ? i : 0);
	}
	ck_assert_mem_eq(
	    s.relay.story, _i == 1 ? "vgrsca" : "vgsca", _i == 1 ? 6 : 5);
	end(&s);
}

TEST_ROWS(what_is_pending_can_be_asked_again_and_again, ARRAY_LEN(rows))
{
	struct session s;
	bool is_pending = false;

	begin(&s, rows[_i].streams, rows[_i].is_watched);
	add_streams(&s);
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_int_eq(client_pending(s.client, &is_pending), E_BUSY);
		while (again(&s, client_pending(s.client, &is_pending)))
			;
		ck_assert_int_eq(is_pending, i < PENDING_ROUNDS);
	}
	while (again(&s, client_finish(s.client)))
		;
	ck_assert_str_eq(s.relay.story, "vscaSm(pq)(pq)(pq)(pq)(pq)xC");
	end(&s);
}

TEST_ROWS(streams_may_be_added_while_it_is_asked_what_is_pending, 2)
{
	struct session s;
	bool is_pending = false;
	unsigned number;

	begin(&s, 2, rows[_i].is_watched);
	add_streams(&s);
	for (unsigned i = 0; i < 4; i++) {
		/* Its handle has not arrived when the first question is asked.
		 */
		while (again(
		    &s, client_add_stream(s.client, "p", "more", &number)))
			;
		ck_assert_int_eq(client_pending(s.client, &is_pending), E_BUSY);
		while (again(
		    &s, client_add_stream(s.client, "p", "again", &number)))
			;
		while (again(&s, client_pending(s.client, &is_pending)))
			;
		ck_assert_uint_eq(s.relay.rounds, i + 1);
		ck_assert_int_eq(is_pending, i < PENDING_ROUNDS);
	}
	while (again(&s, client_finish(s.client)))
		;
	end(&s);
}

TEST_ROWS(a_stream_that_ends_early_is_closed_after_its_packets, 2)
{
	struct session s;

	begin(&s, 3, rows[_i].is_watched);
	add_streams(&s);
	give_packets(&s);
	for (unsigned i = 0; i < 2; i++) /* the second one does nothing */
		while (again(&s, client_close_stream(s.client, 1)))
			;
	while (again(&s, client_finish(s.client)))
		;
	ck_assert_str_eq(s.relay.story, "vscaSmix(pq)(pq)(pq)xC");
	ck_assert_uint_eq(s.relay.closed, 4);
	end(&s);
}

TEST_ROWS(a_relay_that_goes_is_a_failure, 2)
{
	struct session s;
	enum status st = OK;

	begin(&s, 1, rows[_i].is_watched);
	add_streams(&s);
	shutdown(s.relay.control, SHUT_RDWR);
	for (int i = 0; i < 1000 && st == OK; i++)
		st = s.is_watched
			 ? client_ready(s.client, EPOLLIN | EPOLLRDHUP, 0)
			 : client_work(s.client, 1);
	ck_assert_int_eq(st, E_IO);
	ck_assert_int_eq(client_finish(s.client), E_IO);
	ck_assert_str_ne(client_error(s.client), "");
	end(&s);
}
