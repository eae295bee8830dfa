# SPDX-License-Identifier: MIT
"""Packets and capture files that a test makes, from a seed where it is random."""
import gzip
import ipaddress
import random
import struct

NULL, ETHERNET, PPP, RAW, C_HDLC, LOOP, SLL, RADIOTAP, USER0 = (
    0, 1, 9, 101, 104, 108, 113, 127, 147)
MICRO, NANO = 0xa1b2c3d4, 0xa1b23c4d
IPV4, IPV6, ARP, VLAN, SERVICE = 0x0800, 0x86dd, 0x0806, 0x8100, 0x88a8
TCP, UDP, ICMP, ICMPV6 = 6, 17, 1, 58
SECOND = 10 ** 9
BEGIN = 1700000000 * SECOND
NUMBERED = 10000


def address(text):
    return ipaddress.ip_address(text).packed


def ethernet(ether_type, data, tags=()):
    """TAGS are pairs, a type and a tag."""
    out = bytes.fromhex("020000000001020000000002")
    for kind, tag in tags:
        out += struct.pack(">HH", kind, tag)
    return out + struct.pack(">H", ether_type) + data


def ipv4(source, dest, protocol, data, ttl=64, tos=0, fragment=0, ident=7,
         options=b""):
    return struct.pack(
        ">BBHHHBBH4s4s", 0x45 + len(options) // 4, tos,
        20 + len(options) + len(data), ident, fragment, ttl, protocol, 0x1234,
        address(source), address(dest)) + options + data


def ipv6(source, dest, protocol, data, hops=64, flow=0x12345, extensions=()):
    """EXTENSIONS are pairs, a number and bytes with 0 instead of what follows.
    """
    kinds = [kind for kind, _ in extensions] + [protocol]
    body = b"".join(bytes([kinds[nth + 1]]) + part[1:]
                    for nth, (_, part) in enumerate(extensions)) + data
    return struct.pack(">IHBB16s16s", 6 << 28 | flow, len(body) & 0xffff,
                       kinds[0], hops, address(source),
                       address(dest)) + body


def tcp(source, dest, data=b"", flags=0x18, seq=1, ack=2):
    return struct.pack(">HHIIHHHH", source, dest, seq, ack, 0x5000 | flags, 256,
                       0xabcd, 0) + data


def udp(source, dest, data=b""):
    return struct.pack(">HHHH", source, dest, (8 + len(data)) & 0xffff,
                       0x4321) + data


def icmp(kind, data=b"\0\1\0\2"):
    return struct.pack(">BBH", kind, 0, 0x1111) + data


class Packet:
    """What a capture file has of one. WIRE: bytes on the wire, if more."""

    def __init__(self, ns, data, wire=None):
        self.ns, self.data = ns, data
        self.wire = len(data) if wire is None else wire

    def __repr__(self):
        return f"<{self.ns} {self.wire} {self.data[:40].hex()}>"


def pcap(packets, link_type=ETHERNET, magic=NANO, order="<", snaplen=262144):
    """The bytes of a file."""
    unit = 1 if magic == NANO else 1000
    out = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen,
                       link_type)]
    for p in packets:
        out += [struct.pack(order + "IIII", p.ns // SECOND,
                            p.ns % SECOND // unit, len(p.data), p.wire), p.data]
    return b"".join(out)


def write(path, packets, **options):
    data = pcap(packets, **options)
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "wb") as f:
        f.write(data)
    return path


def read(path):
    """The packets of a file, and its link type."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    order = "<" if data[0] in (0xd4, 0x4d) else ">"
    magic, *_, link_type = struct.unpack_from(order + "IHHiIII", data)
    unit = 1 if magic == NANO else 1000
    at, packets = 24, []
    while at < len(data):
        seconds, part, size, wire = struct.unpack_from(order + "IIII", data, at)
        packets.append(Packet(seconds * SECOND + part * unit,
                              data[at + 16:at + 16 + size], wire))
        at += 16 + size
    return packets, link_type


def host(rng):
    return "10.1.%d.%d" % (rng.randrange(4), rng.randrange(1, 64))


def some(n, seed, begin=BEGIN, back=0.0):
    """N packets of many flows, both directions of each. Each has a length on
    the wire of its own, NUMBERED and its number. BACK: how many have a time
    before that of the packet in front of them."""
    rng = random.Random(seed)
    flows = [(host(rng), host(rng), rng.choice((TCP, UDP)),
              rng.randrange(1024, 65536), rng.randrange(1, 1024))
             for _ in range(max(4, n // 20))]
    ns = begin
    for number in range(n):
        a, b, protocol, one, other = rng.choice(flows)
        if rng.random() < 0.5:
            a, b, one, other = b, a, other, one
        body = (tcp if protocol == TCP else udp)(
            one, other, bytes(rng.choice((0, 8, 60, 300, 1400))))
        if rng.random() < 0.8:
            ns += rng.randrange(2000)
        yield Packet(ns - rng.randrange(1, 20000) if rng.random() < back else ns,
                     ethernet(IPV4, ipv4(a, b, protocol, body,
                                         ident=number & 0xffff)),
                     NUMBERED + number)
