/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/packet_socket.h"

#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Descriptors that are looked at: those of inputs are opened first. */
#define DESCRIPTORS 256

static bool
is_bound_to(int fd, int interface)
{
	struct sockaddr_ll a = { 0 };
	socklen_t len = sizeof(a);

	return getsockname(fd, (struct sockaddr *)&a, &len) == 0 &&
	       a.sll_family == AF_PACKET && a.sll_ifindex == interface;
}

bool
packet_socket_is_loopback(const char *interface)
{
	struct ifreq r = { 0 };
	bool is;
	int fd;

	if (strlen(interface) >= sizeof(r.ifr_name))
		return false;
	memcpy(r.ifr_name, interface, strlen(interface));
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	is = ioctl(fd, SIOCGIFFLAGS, &r) == 0 &&
	     (r.ifr_flags & IFF_LOOPBACK) != 0;
	close(fd);
	return is;
}

void
packet_socket_tune(int fd, bool is_loopback)
{
	const int size = PACKET_SOCKET_BUFFER, on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) !=
	    0)
		(void)setsockopt(
		    fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (is_loopback)
		(void)setsockopt(
		    fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
}

void
packet_socket_tune_bound(const char *interface)
{
	const unsigned number = strlen(interface) < IFNAMSIZ
				    ? if_nametoindex(interface)
				    : 0;

	if (number == 0)
		return;
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		if (is_bound_to(fd, (int)number))
			packet_socket_tune(
			    fd, packet_socket_is_loopback(interface));
}
