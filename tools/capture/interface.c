/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/interface.h"

#include <arpa/inet.h>
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
#include <sys/mman.h>
#include <sys/socket.h>
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

bool
interface_is_there(const char *name)
{
	return strcmp(name, INTERFACE_ANY) == 0 || if_nametoindex(name) != 0;
}

/* Descriptors to search: inputs are opened first. */
#define DESCRIPTORS 256

/* On a loopback each outgoing packet is also an incoming one. A failure is
 * ignored. */
static void
ignore_outgoing(int fd)
{
	const int on = 1;

	(void)setsockopt(
	    fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
}

static void
enlarge_buffer(int fd)
{
	const int size = INTERFACE_BUFFER;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) !=
	    0)
		(void)setsockopt(
		    fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

void
interface_tune_bound(const char *interface)
{
	const bool is_loopback = interface_is_loopback(interface);
	const unsigned number = strlen(interface) < IFNAMSIZ
				    ? if_nametoindex(interface)
				    : 0;

	for (int fd = 0; number != 0 && fd < DESCRIPTORS; fd++) {
		struct sockaddr_ll a = { 0 };
		socklen_t len = sizeof(a);

		if (getsockname(fd, (struct sockaddr *)&a, &len) != 0 ||
		    a.sll_family != AF_PACKET || a.sll_ifindex != (int)number)
			continue;
		enlarge_buffer(fd);
		if (is_loopback)
			ignore_outgoing(fd);
	}
}

/* The result of a filter: the whole packet, as the kernel reports the rest as
 * its length. And the buffer of the capture that is opened only to compile the
 * filter. */
#define FILTER_ALL INT_MAX
#define FILTER_BUFFER (1 << 20)
/* How often to check whether an interface that is down still exists. */
#define DOWN_MS 500
/* The memory that is shared with the kernel: less if there is not as much, but
 * not less than the second number. A block is passed on when it is full, or
 * after BLOCK_MS with a packet in it; it holds the longest packet. */
#define RING_LEN (32 * 1024 * 1024)
#define RING_LEN_MIN (2 * 1024 * 1024)
#define BLOCK_LEN (256 * 1024)
#define BLOCK_MS 20
/* The kernel removes tags from incoming packets (IEEE 802.1Q); they are put
 * back between the addresses and the type, for which there is space before the
 * packet. */
#define TAG_LEN 4
#define TAG_AT 12
/* The header of a cooked packet (LINKTYPE_LINUX_SLL2), and its longest address.
 */
#define COOKED_LEN 20
#define COOKED_ADDRESS_LEN 8
/* In the ring, before each packet. */
#define ALIGNED(n) \
	(((n) + TPACKET_ALIGNMENT - 1) / TPACKET_ALIGNMENT * TPACKET_ALIGNMENT)
#define FRAME_HEAD_LEN \
	(ALIGNED(sizeof(struct tpacket3_hdr)) + sizeof(struct sockaddr_ll))
/* The longest header that is put before a packet. */
#define HEAD_LEN COOKED_LEN

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
	uint8_t *ring;
	uint32_t n_blocks, block; /* BLOCK: the next one to read */
	bool has_block;		  /* it is ours */
	uint32_t left;		  /* packets in it */
	uint8_t *frame;		  /* the next packet in it */
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

/* Map the ring, before the socket gets any packet: WANTED bytes, or if it is 0,
 * what can be had. The kernel has one block while we read another. */
static enum status
make_ring(struct interface *i, size_t wanted, char why[SOURCE_WHY_MAX])
{
	const int version = TPACKET_V3, reserve = HEAD_LEN;
	struct tpacket_req3 r = {
		.tp_block_size = BLOCK_LEN,
		.tp_frame_size = ALIGNED(FRAME_HEAD_LEN + HEAD_LEN),
		.tp_retire_blk_tov = BLOCK_MS,
	};
	size_t n = ((wanted != 0 ? wanted : RING_LEN) + BLOCK_LEN - 1) /
		   BLOCK_LEN;
	size_t least = RING_LEN_MIN / BLOCK_LEN;
	void *ring;
	int result = -1;

	if (setsockopt(i->fd, SOL_PACKET, PACKET_VERSION, &version,
		sizeof(version)) != 0 ||
	    setsockopt(i->fd, SOL_PACKET, PACKET_RESERVE, &reserve,
		sizeof(reserve)) != 0)
		return refuse(why, "packet socket");
	if (n < 2)
		n = 2;
	if (wanted != 0)
		least = n;
	for (; n >= least && result != 0; n /= 2) {
		r.tp_block_nr = (unsigned)n;
		r.tp_frame_nr = BLOCK_LEN / r.tp_frame_size * r.tp_block_nr;
		result = setsockopt(
		    i->fd, SOL_PACKET, PACKET_RX_RING, &r, sizeof(r));
	}
	if (result != 0)
		return refuse(why, "the memory shared with the kernel");
	ring = mmap(NULL, (size_t)r.tp_block_nr * BLOCK_LEN,
	    PROT_READ | PROT_WRITE, MAP_SHARED, i->fd, 0);
	if (ring == MAP_FAILED)
		return refuse(why, "the memory shared with the kernel");
	i->ring = ring;
	i->n_blocks = r.tp_block_nr;
	return OK;
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
	if (i->is_loopback)
		ignore_outgoing(i->fd);
	st = set_options(i, name, config, why);
	if (st == OK)
		st = make_ring(i, config->buffer, why);
	if (st != OK)
		return st;
	a.sll_ifindex = i->number;
	if (bind(i->fd, (struct sockaddr *)&a, sizeof(a)) != 0 ||
	    take_error(i->fd) != 0)
		return refuse(why, "interface");
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
	if (i->ring != NULL)
		munmap(i->ring, (size_t)i->n_blocks * BLOCK_LEN);
	if (i->fd >= 0)
		close(i->fd);
	pcap_freecode(&i->filter);
	free(i);
}

/* An interface that goes down may come up again; the kernel reports once that
 * it is down, and never that it was removed. False: errno. */
static bool
is_there(struct interface *i)
{
	struct ifreq r = { .ifr_ifindex = i->number };
	const int error = take_error(i->fd);

	if (error == ENETDOWN)
		i->is_down = true;
	else if (error != 0)
		return false;
	return !i->is_down || i->number == 0 ||
	       ioctl(i->fd, SIOCGIFNAME, &r) == 0;
}

static struct tpacket_hdr_v1 *
block_of(const struct interface *i)
{
	struct tpacket_block_desc *b = (void *)(i->ring +
						(size_t)i->block * BLOCK_LEN);

	return &b->hdr.bh1;
}

/* Give the block back that was read, and take the next. False: the kernel has
 * it. */
static bool
next_block(struct interface *i)
{
	struct tpacket_hdr_v1 *h = block_of(i);

	if (i->has_block) {
		__atomic_store_n(
		    &h->block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		i->block = (i->block + 1) % i->n_blocks;
		h = block_of(i);
	}
	i->has_block = (__atomic_load_n(&h->block_status, __ATOMIC_ACQUIRE) &
			   TP_STATUS_USER) != 0;
	if (!i->has_block)
		return false;
	i->is_down = false;
	i->left = h->num_pkts;
	i->frame = i->ring + (size_t)i->block * BLOCK_LEN +
		   h->offset_to_first_pkt;
	return true;
}

/* Put the tag of a VLAN back, which makes the packet longer. Returns where the
 * packet begins. */
static uint8_t *
put_tag_back(const struct interface *i, const struct tpacket3_hdr *h,
    struct record *r, uint8_t *packet)
{
	const uint16_t tpid = htons(
	    (h->tp_status & TP_STATUS_VLAN_TPID_VALID) != 0
		? h->hv1.tp_vlan_tpid
		: ETH_P_8021Q);
	const uint16_t tci = htons((uint16_t)h->hv1.tp_vlan_tci);

	if ((h->tp_status & TP_STATUS_VLAN_VALID) == 0 ||
	    i->link_type != LINKTYPE_ETHERNET || r->cap_len < TAG_AT)
		return packet;
	memmove(packet - TAG_LEN, packet, TAG_AT);
	packet -= TAG_LEN;
	memcpy(packet + TAG_AT, &tpid, sizeof(tpid));
	memcpy(packet + TAG_AT + sizeof(tpid), &tci, sizeof(tci));
	r->wire_len += TAG_LEN;
	r->cap_len += TAG_LEN;
	if (r->cap_len > i->snaplen)
		r->cap_len = i->snaplen;
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
take(const struct interface *i, struct record *r, const uint8_t **bytes)
{
	const struct tpacket3_hdr *h = (const void *)i->frame;
	const struct sockaddr_ll *from = (const void *)(i->frame +
							ALIGNED(sizeof(*h)));
	uint8_t *packet = i->frame + h->tp_mac;

	if (is_twice(i, from))
		return false;
	r->direction = direction_of(from);
	r->wire_len = h->tp_len;
	r->cap_len = h->tp_snaplen < i->snaplen ? h->tp_snaplen : i->snaplen;
	r->link_type = i->link_type;
	r->kind = RECORD_PACKET;
	r->ns = (uint64_t)h->tp_sec * NS_PER_S + h->tp_nsec;
	*bytes = put_tag_back(i, h, r, packet);
	if (i->number != 0)
		return true;
	*bytes = put_cooked(i, from, r, packet);
	return passes(i, r, *bytes);
}

enum source_got
interface_next(struct interface *i, struct record *record,
    const uint8_t **bytes, struct source_wait *wait)
{
	bool is_one;

	for (;;) {
		while (i->left == 0)
			if (!next_block(i)) {
				*wait = (struct source_wait){ i->fd,
					i->is_down ? DOWN_MS : -1 };
				return is_there(i) ? SOURCE_NOTHING
						   : SOURCE_FAILED;
			}
		is_one = take(i, record, bytes);
		i->left--;
		i->frame +=
		    ((const struct tpacket3_hdr *)(const void *)i->frame)
			->tp_next_offset;
		if (is_one)
			return SOURCE_PACKET;
	}
}

uint64_t
interface_dropped(struct interface *i)
{
	struct tpacket_stats_v3 s;
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
		if (interface_is_there(one->name))
			printf("%s%s%s\n", one->name,
			    one->description != NULL ? "\t" : "",
			    one->description != NULL ? one->description : "");
	pcap_freealldevs(all);
	return true;
}
