/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/interface.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/capture/pcap_input.h"

bool
interface_is_loopback(const char *interface)
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

/* Descriptors to search: inputs are opened first. */
#define DESCRIPTORS 256

/* A larger buffer, and on a loopback no outgoing packets, each of which is also
 * an incoming one. Failures are ignored. */
static void
tune(int fd, bool is_loopback)
{
	const int size = INTERFACE_BUFFER, on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) !=
	    0)
		(void)setsockopt(
		    fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (is_loopback)
		(void)setsockopt(
		    fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
}

void
interface_tune_bound(const char *interface)
{
	const unsigned number = strlen(interface) < IFNAMSIZ
				    ? if_nametoindex(interface)
				    : 0;

	for (int fd = 0; number != 0 && fd < DESCRIPTORS; fd++) {
		struct sockaddr_ll a = { 0 };
		socklen_t len = sizeof(a);

		if (getsockname(fd, (struct sockaddr *)&a, &len) == 0 &&
		    a.sll_family == AF_PACKET && a.sll_ifindex == (int)number)
			tune(fd, interface_is_loopback(interface));
	}
}

/* The result of a filter: the whole packet, as the kernel reports the rest as
 * its length. And the buffer of the capture that is opened only to compile the
 * filter. */
#define FILTER_ALL INT_MAX
#define FILTER_BUFFER (1 << 20)
/* How often to check whether an interface that is down still exists. */
#define DOWN_MS 500
/* Packets of one system call. */
#define READ_MAX 32
/* The kernel removes tags from incoming packets (IEEE 802.1Q); they are put
 * back between the addresses and the type, for which there is space before the
 * packet. */
#define TAG_LEN 4
#define TAG_AT 12
/* The header of a cooked packet (LINKTYPE_LINUX_SLL2), and its longest address.
 */
#define COOKED_LEN 20
#define COOKED_ADDRESS_LEN 8
/* The bytes of a packet, the longest that is put before it, and some that keep
 * the next one aligned. */
#define SLOT_LEN (RECORD_LEN_MAX + 64)
#define HEAD_LEN COOKED_LEN

/* Control messages of the kernel: time, tag. */
union control_message {
	char bytes[CMSG_SPACE(sizeof(struct timespec)) +
		   CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	struct cmsghdr align;
};

struct interface {
	int fd;
	int number; /* the kernel's index; 0: of all interfaces */
	bool is_down;
	uint16_t link_type;
	uint32_t snaplen;
	bool is_loopback;
	uint64_t dropped;
	/* Of cooked packets, whose header the kernel does not have. */
	struct bpf_program filter;
	unsigned n, next; /* of those read */
	struct mmsghdr messages[READ_MAX];
	struct iovec iov[READ_MAX];
	struct sockaddr_ll from[READ_MAX];
	union control_message control[READ_MAX];
	uint8_t *slots; /* READ_MAX of SLOT_LEN */
};

/* LINKTYPE_UNKNOWN: packets have a link layer that a packet socket does not
 * have as a pcap file would. */
static uint16_t
link_type_of(int hardware)
{
	switch (hardware) {
	case ARPHRD_ETHER:
	case ARPHRD_LOOPBACK:
		return LINKTYPE_ETHERNET;
	case ARPHRD_NONE:
	case ARPHRD_PPP:
	case ARPHRD_RAWIP:
	case ARPHRD_TUNNEL:
	case ARPHRD_TUNNEL6:
	case ARPHRD_SIT:
		return LINKTYPE_RAW;
	case ARPHRD_IEEE80211:
		return LINKTYPE_IEEE802_11;
	case ARPHRD_IEEE80211_RADIOTAP:
		return LINKTYPE_RADIOTAP;
	default:
		return LINKTYPE_UNKNOWN;
	}
}

static enum status
refuse(char why[SOURCE_WHY_MAX], const char *what)
{
	snprintf(why, SOURCE_WHY_MAX, "%s: %s", what, strerror(errno));
	return E_REFUSED;
}

/* A handle for compiling a filter for this interface. Only a live handle lets
 * libpcap know that the kernel removes the tags of VLANs; a dead one is used if
 * none can be opened, or its link type is another one. */
static pcap_t *
open_compiler(const struct interface *i, const char *name)
{
	const int type = i->link_type == LINKTYPE_RAW ? DLT_RAW : i->link_type;
	char error[PCAP_ERRBUF_SIZE];
	pcap_t *p = i->number == 0 ? NULL : pcap_create(name, error);

	if (p != NULL) {
		(void)pcap_set_snaplen(p, FILTER_ALL);
		(void)pcap_set_buffer_size(p, FILTER_BUFFER);
		if (pcap_activate(p) >= 0 && pcap_datalink(p) == type)
			return p;
		pcap_close(p);
	}
	return pcap_open_dead(type, FILTER_ALL);
}

/* Attach the filter before the socket gets any packet. */
static enum status
attach_filter(struct interface *i, const char *name, const char *text,
    char why[SOURCE_WHY_MAX])
{
	struct sock_fprog kernel;
	struct bpf_program program;
	enum status st;
	pcap_t *p;

	p = open_compiler(i, name);
	if (p == NULL)
		return E_NOMEM;
	st = pcap_input_compile(p, text, &program, why);
	pcap_close(p);
	if (st != OK)
		return st;
	if (i->number == 0) {
		i->filter = program;
		return OK;
	}
	if (program.bf_len > BPF_MAXINSNS) {
		snprintf(why, SOURCE_WHY_MAX,
		    "the filter has more than %d instructions, the kernel's "
		    "limit",
		    BPF_MAXINSNS);
		pcap_freecode(&program);
		return E_REFUSED;
	}
	kernel.len = (unsigned short)program.bf_len;
	kernel.filter = (struct sock_filter *)(void *)program.bf_insns;
	if (setsockopt(i->fd, SOL_SOCKET, SO_ATTACH_FILTER, &kernel,
		sizeof(kernel)) != 0)
		st = refuse(why, "filter");
	pcap_freecode(&program);
	return st;
}

static enum status
set_options(struct interface *i, const char *name,
    const struct source_config *config, char why[SOURCE_WHY_MAX])
{
	const struct packet_mreq promiscuous = { .mr_ifindex = i->number,
		.mr_type = PACKET_MR_PROMISC };
	const int on = 1;

	if (setsockopt(i->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) !=
		0 ||
	    setsockopt(i->fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) != 0)
		return refuse(why, "packet socket");
	if (config->promiscuous && i->number != 0 &&
	    setsockopt(i->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous,
		sizeof(promiscuous)) != 0)
		return refuse(why, "promiscuous mode");
	if (config->filter != NULL)
		return attach_filter(i, name, config->filter, why);
	return OK;
}

/* Ask for the interface's index and hardware type. False: errno. */
static bool
ask(struct interface *i, const char *name, int *hardware)
{
	struct ifreq r = { 0 };

	memcpy(r.ifr_name, name, strlen(name));
	if (ioctl(i->fd, SIOCGIFINDEX, &r) != 0)
		return false;
	i->number = r.ifr_ifindex;
	if (ioctl(i->fd, SIOCGIFHWADDR, &r) != 0)
		return false;
	*hardware = r.ifr_hwaddr.sa_family;
	i->is_loopback = interface_is_loopback(name);
	return true;
}

/* Take the pending error of the socket, as errno: the interface is down. */
static int
take_error(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0)
		errno = error;
	return error;
}

static enum status
set_up(struct interface *i, const char *name,
    const struct source_config *config, char why[SOURCE_WHY_MAX])
{
	struct sockaddr_ll a = { .sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL) };
	const bool is_any = strcmp(name, INTERFACE_ANY) == 0;
	int hardware = 0;
	enum status st;

	/* Without a protocol the socket gets nothing before it is bound. */
	i->fd = socket(AF_PACKET,
	    (is_any ? SOCK_DGRAM : SOCK_RAW) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (i->fd < 0)
		return refuse(why, "packet socket");
	if (!is_any && (strlen(name) >= IFNAMSIZ || !ask(i, name, &hardware))) {
		errno = strlen(name) >= IFNAMSIZ ? ENODEV : errno;
		return refuse(why, "interface");
	}
	i->link_type = is_any ? LINKTYPE_LINUX_SLL2 : link_type_of(hardware);
	if (i->link_type == LINKTYPE_UNKNOWN) {
		snprintf(why, SOURCE_WHY_MAX,
		    "hardware type %d is not supported", hardware);
		return E_REFUSED;
	}
	tune(i->fd, i->is_loopback);
	st = set_options(i, name, config, why);
	if (st != OK)
		return st;
	a.sll_ifindex = i->number;
	if (bind(i->fd, (struct sockaddr *)&a, sizeof(a)) != 0 ||
	    take_error(i->fd) != 0)
		return refuse(why, "interface");
	return OK;
}

static enum status
make_slots(struct interface *i)
{
	i->slots = aligned_alloc(64, (size_t)READ_MAX * SLOT_LEN);
	if (i->slots == NULL)
		return E_NOMEM;
	for (unsigned k = 0; k < READ_MAX; k++)
		i->iov[k] = (struct iovec){
			.iov_base = i->slots + (size_t)k * SLOT_LEN + HEAD_LEN,
			.iov_len = i->snaplen,
		};
	return OK;
}

enum status
interface_open(struct interface **out, const char *name,
    const struct source_config *config, char why[SOURCE_WHY_MAX])
{
	struct interface *i = calloc(1, sizeof(*i));
	enum status st;

	*out = NULL;
	if (i == NULL)
		return E_NOMEM;
	i->snaplen = config->snaplen != 0 && config->snaplen < RECORD_LEN_MAX
			 ? config->snaplen
			 : RECORD_LEN_MAX;
	st = set_up(i, name, config, why);
	if (st == OK)
		st = make_slots(i);
	if (st != OK) {
		interface_close(i);
		return st;
	}
	*out = i;
	return OK;
}

void
interface_close(struct interface *i)
{
	if (i == NULL)
		return;
	if (i->fd >= 0)
		close(i->fd);
	pcap_freecode(&i->filter);
	free(i->slots);
	free(i);
}

/* An interface that goes down may come up again; the kernel reports once that
 * it is down, and never that it was removed. */
static int
nothing_came(struct interface *i)
{
	struct ifreq r = { .ifr_ifindex = i->number };

	if (errno == ENETDOWN)
		i->is_down = true;
	else if (errno != EAGAIN)
		return -1;
	return !i->is_down || i->number == 0 ||
		       ioctl(i->fd, SIOCGIFNAME, &r) == 0
		   ? 0
		   : -1;
}

/* 1: packets were read; 0: nothing now; -1: errno. */
static int
read_batch(struct interface *i)
{
	int n;

	for (unsigned k = 0; k < READ_MAX; k++)
		i->messages[k].msg_hdr = (struct msghdr){
			.msg_name = &i->from[k],
			.msg_namelen = sizeof(i->from[k]),
			.msg_iov = &i->iov[k],
			.msg_iovlen = 1,
			.msg_control = i->control[k].bytes,
			.msg_controllen = sizeof(i->control[k].bytes),
		};
	do
		n = recvmmsg(i->fd, i->messages, READ_MAX,
		    MSG_DONTWAIT | MSG_TRUNC, NULL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return nothing_came(i);
	i->is_down = false;
	i->n = (unsigned)n;
	i->next = 0;
	return 1;
}

static uint8_t *
put_tag_back(uint8_t *packet, const struct tpacket_auxdata *aux)
{
	const uint16_t tpid = htons(
	    (aux->tp_status & TP_STATUS_VLAN_TPID_VALID) != 0
		? aux->tp_vlan_tpid
		: ETH_P_8021Q);
	const uint16_t tci = htons(aux->tp_vlan_tci);

	memmove(packet - TAG_LEN, packet, TAG_AT);
	packet -= TAG_LEN;
	memcpy(packet + TAG_AT, &tpid, sizeof(tpid));
	memcpy(packet + TAG_AT + sizeof(tpid), &tci, sizeof(tci));
	return packet;
}

/* Read the time and the tag, which makes the packet longer. Returns where the
 * packet begins. */
static uint8_t *
read_control(const struct interface *i, struct msghdr *h, struct record *r,
    uint8_t *packet)
{
	struct tpacket_auxdata aux;
	struct cmsghdr *c;
	struct timespec ts;

	for (c = CMSG_FIRSTHDR(h); c != NULL; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SCM_TIMESTAMPNS) {
			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
			r->ns = (uint64_t)ts.tv_sec * NS_PER_S +
				(uint64_t)ts.tv_nsec;
		}
		if (c->cmsg_level != SOL_PACKET ||
		    c->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&aux, CMSG_DATA(c), sizeof(aux));
		if ((aux.tp_status & TP_STATUS_VLAN_VALID) == 0 ||
		    i->link_type != LINKTYPE_ETHERNET || r->cap_len < TAG_AT)
			continue;
		packet = put_tag_back(packet, &aux);
		r->wire_len += TAG_LEN;
		r->cap_len += TAG_LEN;
		if (r->cap_len > i->snaplen)
			r->cap_len = i->snaplen;
	}
	return packet;
}

static uint8_t
direction_of(const struct sockaddr_ll *from)
{
	switch (from->sll_pkttype) {
	case PACKET_OUTGOING:
		return DIRECTION_OUTGOING;
	case PACKET_OTHERHOST:
		return DIRECTION_OTHER;
	default:
		return DIRECTION_INCOMING;
	}
}

/* On a loopback each packet is also an incoming one. */
static bool
is_twice(const struct interface *i, const struct sockaddr_ll *from)
{
	return from->sll_pkttype == PACKET_OUTGOING &&
	       (i->is_loopback || from->sll_hatype == ARPHRD_LOOPBACK);
}

static bool
passes(const struct interface *i, const struct record *r, const uint8_t *bytes)
{
	const struct pcap_pkthdr h = {
		.caplen = r->cap_len,
		.len = r->wire_len,
	};

	return i->filter.bf_insns == NULL ||
	       pcap_offline_filter(&i->filter, &h, bytes) != 0;
}

/* Put the header before a packet that has lost its own. */
static uint8_t *
put_cooked(const struct interface *i, const struct sockaddr_ll *from,
    struct record *r, uint8_t *packet)
{
	const uint32_t number = htonl((uint32_t)from->sll_ifindex);
	const uint16_t hardware = htons(from->sll_hatype);
	const uint8_t len = from->sll_halen < COOKED_ADDRESS_LEN
				? from->sll_halen
				: COOKED_ADDRESS_LEN;
	uint8_t *header = packet - COOKED_LEN;

	memset(header, 0, COOKED_LEN);
	memcpy(header, &from->sll_protocol, sizeof(from->sll_protocol));
	memcpy(header + 4, &number, sizeof(number));
	memcpy(header + 8, &hardware, sizeof(hardware));
	header[10] = from->sll_pkttype;
	header[11] = len;
	memcpy(header + 12, from->sll_addr, len);
	r->wire_len += COOKED_LEN;
	r->cap_len += COOKED_LEN;
	if (r->cap_len > i->snaplen)
		r->cap_len = i->snaplen;
	return header;
}

/* False: the packet is none for the user. */
static bool
take(const struct interface *i, struct mmsghdr *m, struct record *r,
    const uint8_t **bytes)
{
	uint8_t *packet = m->msg_hdr.msg_iov->iov_base;

	if (is_twice(i, m->msg_hdr.msg_name))
		return false;
	r->direction = direction_of(m->msg_hdr.msg_name);
	r->wire_len = m->msg_len;
	r->cap_len = m->msg_len < i->snaplen ? m->msg_len : i->snaplen;
	r->link_type = i->link_type;
	r->kind = RECORD_PACKET;
	r->ns = 0;
	*bytes = read_control(i, &m->msg_hdr, r, packet);
	if (i->number != 0)
		return true;
	*bytes = put_cooked(i, m->msg_hdr.msg_name, r, packet);
	return passes(i, r, *bytes);
}

enum source_got
interface_next(struct interface *i, struct record *record,
    const uint8_t **bytes, struct source_wait *wait)
{
	int got;

	for (;;) {
		if (i->next == i->n) {
			got = read_batch(i);
			if (got < 0)
				return SOURCE_FAILED;
			if (got == 0) {
				*wait = (struct source_wait){ i->fd,
					i->is_down ? DOWN_MS : -1 };
				return SOURCE_NOTHING;
			}
		}
		assert(i->next < i->n);
		if (take(i, &i->messages[i->next++], record, bytes))
			return SOURCE_PACKET;
	}
}

uint64_t
interface_dropped(struct interface *i)
{
	struct tpacket_stats s;
	socklen_t len = sizeof(s);

	/* The kernel resets its counter with each question. */
	if (getsockopt(i->fd, SOL_PACKET, PACKET_STATISTICS, &s, &len) == 0)
		i->dropped += s.tp_drops;
	return i->dropped;
}

bool
interface_list(void)
{
	char error[PCAP_ERRBUF_SIZE];
	pcap_if_t *all, *one;

	if (pcap_findalldevs(&all, error) != 0) {
		fprintf(stderr, "tracepulse-capture: %s\n", error);
		return false;
	}
	for (one = all; one != NULL; one = one->next)
		if (strcmp(one->name, INTERFACE_ANY) == 0 ||
		    if_nametoindex(one->name) != 0)
			printf("%s%s%s\n", one->name,
			    one->description != NULL ? "\t" : "",
			    one->description != NULL ? one->description : "");
	pcap_freealldevs(all);
	return true;
}
