/* SPDX-License-Identifier: MIT */
#include "relayd/net/udp_bind.h"

#include <errno.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/log.h"
#include "proto/udp.h"
#include "relayd/process/listen_url.h"
#include "relayd/process/options.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

static void
set_options(int fd)
{
	const int one = 1, size = UDP_RCVBUF;

	/* SO_RCVBUFFORCE needs a privilege; SO_RCVBUF is limited by
	 * net.core.rmem_max. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) !=
		0 &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) != 0)
		log_errno(LOG_INFO,
		    "udp port: cannot set the size of the receive buffer");
	if (setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &one, sizeof(one)) != 0)
		log_errno(
		    LOG_INFO, "udp port: dropped datagrams are not counted");
	if (setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof(one)) != 0)
		log_errno(LOG_INFO, "udp port: cannot receive several "
				    "datagrams at once (UDP_GRO)");
}

static int
try_bind(const struct addrinfo *ai)
{
	const int one = 1;
	int saved, fd = socket(ai->ai_family,
		       SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) == 0 &&
	    bind(fd, ai->ai_addr, ai->ai_addrlen) == 0) {
		set_options(fd);
		return fd;
	}
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

static void
set_port(struct sockaddr *a, uint16_t port)
{
	if (a->sa_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)a)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)(void *)a)->sin_port = htons(port);
}

/* The program returns the byte at UDP_WORKER_AT as the number of the socket.
 * When no socket has this number, or the datagram is too short, the kernel
 * chooses the socket. */
static void
steer(int fd)
{
	struct sock_filter code[] = {
		{ BPF_LD | BPF_B | BPF_ABS, 0, 0, UDP_WORKER_AT },
		{ BPF_RET | BPF_A, 0, 0, 0 },
	};
	const struct sock_fprog program = { 2, code };

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program,
		sizeof(program)) != 0)
		log_errno(LOG_INFO,
		    "udp port: workers forward datagrams to each other");
}

enum status
udp_bind(int *fds, unsigned n, const struct listen_url *host, uint16_t port,
    uint16_t *bound)
{
	struct addrinfo *found;
	unsigned i;
	int saved;

	if (listen_url_find(host, SOCK_DGRAM, &found) != 0) {
		errno = EADDRNOTAVAIL;
		return E_IO;
	}
	for (i = 0; i < n; i++) {
		set_port(found->ai_addr, port);
		if (fds[i] < 0)
			fds[i] = try_bind(found);
		if (fds[i] < 0)
			break;
		port = listen_url_port(fds[i]);
	}
	saved = errno;
	freeaddrinfo(found);
	if (i == n) {
		*bound = port;
		steer(fds[0]);
		return OK;
	}
	while (i-- > 0) {
		close(fds[i]);
		fds[i] = -1;
	}
	errno = saved;
	return E_IO;
}

enum status
udp_bind_wanted(
    int *fds, const struct options *o, uint16_t data_port, uint16_t *port)
{
	const uint16_t wanted = o->has_udp_port ? o->udp_port : data_port;
	enum status st;

	*port = 0;
	if (!o->has_udp)
		return OK;
	st = udp_bind(fds, o->workers, &o->data, wanted, port);
	if (st != OK && !o->has_udp_port && o->data.port == 0)
		st = udp_bind(fds, o->workers, &o->data, 0, port);
	if (st == OK)
		return OK;
	*port = 0;
	log_errno(LOG_ERROR, "%sudp port: cannot bind to %s port %u",
	    o->data.where, o->data.host, wanted);
	return st;
}
