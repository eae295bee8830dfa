#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Capture files become traces: each packet once, with its time to the
nanosecond, in order, and with the fields that tcpdump and tshark see."""
import bz2
import collections
import gzip
import lzma
import pathlib
import re
import struct
import sys

import packets as make
import program
from packets import BEGIN, SECOND, Packet
from program import check, equal
from relay import run

TSHARK_FIELDS = (
    "frame.time_epoch", "frame.len", "frame.cap_len", "eth.src", "eth.dst",
    "ieee8021ad.id", "vlan.id", "ip.src", "ip.dst", "ip.ttl", "ip.proto", "ip.id", "ipv6.src",
    "ipv6.dst", "ipv6.hlim", "ipv6.flow", "tcp.srcport", "tcp.dstport",
    "tcp.flags", "tcp.seq_raw", "udp.srcport", "udp.dstport", "icmp.type",
    "icmpv6.type")
# Each packet by itself.
TSHARK = ["tshark", "-n", "-T", "fields", "-E", "occurrence=a", "-E",
          "aggregator=,", "-o", "ip.defragment:FALSE", "-o",
          "ipv6.defragment:FALSE", *(word for f in TSHARK_FIELDS for word in ("-e", f))]
A4, B4 = "10.0.0.1", "192.168.7.250"
A6, B6 = "2001:db8::1", "fe80::dead:beef"
HOP = (0, bytes.fromhex("0000010400000000"))
ROUTING = (43, bytes.fromhex("0000000000000000"))
DESTINATION = (60, bytes.fromhex("0001010a") + bytes(12))
FIRST_FRAGMENT = (44, struct.pack(">BBHI", 0, 0, 1, 77))
FRAGMENT = (44, struct.pack(">BBHI", 0, 0, 8 << 3, 77))
TCP = make.tcp(40000, 443, b"GET /", 0x12, 0x01020304, 0xfffefdfc)
UDP = make.udp(53, 50000, b"answer")


def samples():
    """Ethernet packets, one of each kind."""
    four = lambda *a, **k: make.ethernet(make.IPV4, make.ipv4(A4, B4, *a, **k))
    six = lambda *a, **k: make.ethernet(make.IPV6, make.ipv6(A6, B6, *a, **k))
    yield four(make.TCP, TCP, ttl=1, tos=0xb8)
    yield four(make.UDP, UDP, ttl=255)
    yield four(make.ICMP, make.icmp(8))
    yield four(make.TCP, TCP, options=b"\x01" * 8)
    yield four(make.UDP, UDP, fragment=0x2000)
    yield four(make.UDP, b"x" * 24, fragment=185)
    yield four(132, b"sctp" * 8)
    yield six(make.TCP, TCP, hops=3)
    yield six(make.UDP, UDP, extensions=[HOP])
    yield six(make.TCP, TCP, extensions=[HOP, ROUTING, DESTINATION])
    yield six(make.ICMPV6, make.icmp(128))
    yield six(make.UDP, UDP, extensions=[FIRST_FRAGMENT])
    yield six(make.UDP, b"y" * 24, extensions=[FRAGMENT])
    tag, service = (make.VLAN, 0x6064), (make.SERVICE, 10)
    inner = make.ipv4(A4, B4, make.TCP, TCP)
    yield make.ethernet(make.IPV4, inner, [tag])
    yield make.ethernet(make.IPV4, inner, [service, tag])
    yield make.ethernet(make.IPV6, make.ipv6(A6, B6, make.UDP, UDP), [tag, tag])
    yield make.ethernet(make.ARP, bytes.fromhex(
        "0001080006040001020000000002") + make.address(A4) + bytes(6) +
        make.address(B4))
    yield make.ethernet(0x9999, b"of a type that nobody knows")
    yield four(make.UDP, make.udp(1, 2, bytes(8972)))


def capture_samples():
    """Each of them, and one of which not all was captured."""
    for nth, data in enumerate(samples()):
        yield Packet(BEGIN + nth * 1001, data)
    long = make.ethernet(make.IPV4, make.ipv4(A4, B4, make.TCP,
                                              TCP + bytes(1000)))
    for nth, size in enumerate((10, 14, 30, 34, 40, 54, 96)):
        yield Packet(BEGIN + SECOND + nth, long[:size], len(long))
    for nth in range(3):  # at one time
        yield Packet(BEGIN + 2 * SECOND, long[:64] + bytes([nth]), 65)


def number(text):
    return int(text.split(",")[0], 0) if text else None


def is_of(e, network):
    return e.name in (network, network + "_tunnel")


def v4_text(address):
    return ".".join(map(str, address))


def v6_text(address):
    return str(make.ipaddress.ip_address(struct.pack(">8H", *address)))


def v4(e, name):
    return v4_text(e[name]) if is_of(e, "ipv4") else ""


def v6(e, name):
    return make.ipaddress.ip_address(v6_text(e[name])) \
        if is_of(e, "ipv6") else None


def mac(e, name):
    return ":".join("%02x" % b for b in e[name]) if name in e.fields else ""


def compare_headers(e, row, where, has_less=False):
    """An event, and what tshark says. Of a packet that is cut off it says more
    than is there for certain: ours then has less, but nothing else. HAS_LESS:
    the same of each; tshark sees headers in headers, too, after the outer
    ones."""
    is_cut = has_less or number(row["frame.len"]) != number(
        row["frame.cap_len"])
    transport = {0: "", 1: "tcp", 2: "udp", 3: "icmp", 4: "icmpv6"}[
        e.get("transport_header_type", 0)]
    ours = {
        "eth.src": mac(e, "source"), "eth.dst": mac(e, "dest"),
        "vlan.id": ",".join(str(t & 0xfff) for t in e.get("vlan", [])),
        "ip.src": v4(e, "saddr"), "ip.dst": v4(e, "daddr"),
        "ipv6.src": v6(e, "saddr"), "ipv6.dst": v6(e, "daddr"),
        "ip.ttl": e.get("ttl"), "ip.id": e.get("id"),
        "ip.proto": e["protocol"] if is_of(e, "ipv4") else None,
        "ipv6.hlim": e.get("hop_limit"), "ipv6.flow": e.get("flow_lbl"),
    }
    for kind in "tcp", "udp":
        is_it = transport == kind
        ours[kind + ".srcport"] = e["source_port"] if is_it else None
        ours[kind + ".dstport"] = e["dest_port"] if is_it else None
    ours["tcp.flags"] = e["reserved"] << 9 | e["flags"] \
        if transport == "tcp" else None
    ours["tcp.seq_raw"] = e["seq"] if transport == "tcp" else None
    for kind in "icmp", "icmpv6":
        ours[kind + ".type"] = e["type"] if transport == kind else None
    row["vlan.id"] = ",".join(filter(None, (row["ieee8021ad.id"],
                                            row["vlan.id"])))
    for name, got in ours.items():
        want = row[name]
        if has_less and name != "vlan.id":
            want = want.partition(",")[0]
        if name in ("ipv6.src", "ipv6.dst"):
            want = make.ipaddress.ip_address(want) if want else None
        elif isinstance(got, int) or got is None:
            want = number(want)
        if not (is_cut and got in (None, "")):
            equal(got, want, f"{where}: {name}")
    compare_inner(e, row, where)


def compare_inner(e, row, where):
    """Those of the packet in a tunnel are among those that tshark sees behind
    the first."""
    if "saddr" not in e.inner:
        return
    network, text = ("ip", v4_text) if "ttl" in e.inner else ("ipv6", v6_text)
    ours = {network + ".src": text(e.inner["saddr"]),
            network + ".dst": text(e.inner["daddr"])}
    kind = {1: "tcp", 2: "udp"}.get(e.inner["transport_header_type"])
    if kind is not None:
        ours[kind + ".srcport"] = str(e.inner["source_port"])
        ours[kind + ".dstport"] = str(e.inner["dest_port"])
    for name, got in ours.items():
        check(got in row[name].split(","),
              f"{where}: {name} {got} is not in {row[name]}")


def tshark(path):
    for line in program.told(*TSHARK, "-r", path):
        yield dict(zip(TSHARK_FIELDS, line.split("\t")))


def to_ns(text):
    seconds, _, part = text.partition(".")
    return int(seconds) * SECOND + int(part.ljust(9, "0"))


def compare_with_tshark(found, path, has_headers):
    rows = list(tshark(path))
    equal(len(found), len(rows), path)
    for nth, (e, row) in enumerate(zip(found, rows)):
        where = f"{path}, {nth + 1}"
        equal((e.ns, e["wire_len"], e["cap_len"]),
              (to_ns(row["frame.time_epoch"]), int(row["frame.len"]),
               int(row["frame.cap_len"])), where)
        if has_headers:
            compare_headers(e, row, where)


def compare_with_tcpdump(found, path):
    lines = program.told("tcpdump", "-r", path, "-tt", "--nano", "-nn", "-e")
    got = []
    for line in lines:
        m = re.match(r"(\d+\.\d{9}) (?:.*? length (\d+)|.*\[\|ether\])", line)
        if m is not None:  # else a line of what is in the packet before
            got.append((to_ns(m[1]), int(m[2] or 0)))
    equal([(e.ns, e["wire_len"] if e["cap_len"] >= 14 else 0) for e in found],
          got, path)


def compare_bytes(found, packets, snaplen=0):
    for e, p in zip(found, packets):
        data = p.data[:snaplen] if snaplen else p.data
        check(bytes(e["payload"]) == data, f"bytes of {p}")


def each_kind_of_packet():
    with program.directory() as top:
        all = list(capture_samples())
        path = make.write(f"{top}/a.pcap", all)
        for mode in "none", "headers", "full":
            out = f"{top}/{mode}"
            summary = program.capture("-i", path, "--payload", mode,
                                      "--output", out)
            equal((summary["received"], summary["written"],
                   summary["clamped"]), (len(all), len(all), 0), mode)
            found = program.events(out)
            compare_with_tshark(found, path, mode != "none")
            compare_with_tcpdump(found, path)
            if mode == "full":
                compare_bytes(found, all)


def formats_of_files():
    """Nanoseconds and microseconds, in both byte orders, gzip'd; through
    libpcap, too."""
    with program.directory() as top:
        for magic in make.NANO, make.MICRO:
            for order in "<", ">":
                for name in "a.pcap", "a.pcap.gz":
                    all = list(capture_samples())
                    path = make.write(f"{top}/{name}", all, magic=magic,
                                      order=order)
                    unit = 1 if magic == make.NANO else 1000
                    want = [(p.ns // unit * unit, p.wire, len(p.data))
                            for p in all]
                    for uri in path, "pcapfile:" + path:
                        out = f"{top}/out"
                        program.run("-i", uri, "--output", out)
                        found = program.events(out)
                        equal([(e.ns, e["wire_len"], e["cap_len"])
                               for e in found], want, f"{magic:x} {order}")
                        program.shutil.rmtree(out)


def pcapng():
    """Read by libpcap: one section with an interface of Ethernet."""
    def block(kind, body):
        size = struct.pack("<I", 12 + len(body))
        return struct.pack("<I", kind) + size + body + size
    with program.directory() as top:
        with open(f"{top}/a", "wb") as f:
            f.write(block(0x0a0d0d0a, struct.pack("<IHHq", 0x1a2b3c4d, 1, 0,
                                                  -1)) +
                    block(1, struct.pack("<HHI", 1, 0, 0)) +
                    block(6, struct.pack("<IIIII", 0, 0, 5, 60, 64) +
                          bytes(60)))
        program.run("-i", f"{top}/a", "--output", f"{top}/out")
        equal([(e.ns, e["wire_len"], e["cap_len"])
               for e in program.events(f"{top}/out")], [(5000, 64, 60)],
              "packets")


def prefixed(link_type, data, version):
    """IP behind another link layer."""
    ether_type = make.IPV4 if version == 4 else make.IPV6
    return {
        make.NULL: struct.pack("<I", 2 if version == 4 else 30),
        make.LOOP: struct.pack(">I", 2 if version == 4 else 24),
        make.RAW: b"",
        make.PPP: b"\xff\x03\x00" + (b"\x21" if version == 4 else b"\x57"),
        make.C_HDLC: struct.pack(">HH", 0x0f00, ether_type),
        make.SLL: struct.pack(">HHH8sH", 4, 1, 6, bytes(8), ether_type),
        make.RADIOTAP: bytes.fromhex("0000080000000000") + bytes.fromhex(
            "080200000200000000010200000000020200000000030000aaaa03000000") +
        struct.pack(">H", ether_type),
    }[link_type] + data


def radiotap_checksums():
    """Lengths are those of the file, whether there is a checksum or not."""
    frame = bytes(24) + b"checksum"
    headers = ["0000080000000000", "000009000200000010",
               "000009000200000000", "0000120003000000" + "00" * 9 + "10",
               "00001a0003000080" + "00" * 17 + "10"]
    all = [Packet(BEGIN + n, bytes.fromhex(h) + frame)
           for n, h in enumerate(headers)]
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", all, link_type=make.RADIOTAP)
        program.run("-i", path, "--output", f"{top}/out")
        compare_with_tshark(program.events(f"{top}/out"), path, False)


def link_types():
    with program.directory() as top:
        for link_type in (make.NULL, make.LOOP, make.RAW, make.PPP, make.C_HDLC,
                          make.SLL, make.RADIOTAP):
            all = [Packet(BEGIN, prefixed(link_type, make.ipv4(
                A4, B4, make.TCP, TCP), 4)), Packet(BEGIN + 1, prefixed(
                    link_type, make.ipv6(A6, B6, make.UDP, UDP), 6))]
            path = make.write(f"{top}/{link_type}.pcap", all,
                              link_type=link_type)
            out = f"{top}/out{link_type}"
            program.run("-i", path, "--output", out)
            found = program.events(out)
            equal([(e.name, e["link_type"]) for e in found],
                  [("ipv4", link_type), ("ipv6", link_type)], link_type)
            rows = list(tshark(path))
            for e, row in zip(found, rows):
                row["eth.src"] = row["eth.dst"] = ""
                equal(e["wire_len"], int(row["frame.len"]), link_type)
                compare_headers(e, row, f"link type {link_type}")


def unknown_link_types():
    """They have their number, and no header is guessed in them."""
    looks_like = struct.pack("<I", 2) + make.ipv4(A4, B4, make.TCP, TCP)
    with program.directory() as top:
        for link_type in make.USER0, 195, 276:
            path = make.write(f"{top}/{link_type}.pcap", [
                Packet(BEGIN, looks_like), Packet(BEGIN, b"")],
                              link_type=link_type)
            out = f"{top}/out{link_type}"
            program.run("-i", path, "--output", out, "--payload", "full")
            found = program.events(out)
            equal([(e.name, e["link_type"], e["wire_len"]) for e in found],
                  [("packet", link_type, len(looks_like)),
                   ("packet", link_type, 0)], link_type)
            equal(bytes(found[0]["payload"]), looks_like, link_type)


def numbers_without_sense():
    """A link type of more than 16 bits is unknown, and libpcap 1.10.5 refuses
    the file; parts of a second that are none do not make a time of another age,
    which all that follow would have."""
    data = next(samples())
    with program.directory() as top:
        for link_type in 65537, 0x03010001, 65535:
            path = make.write(f"{top}/a.pcap", [Packet(BEGIN, data)],
                              link_type=link_type)
            done = program.end(program.start(
                "-i", path, "--output", f"{top}/{link_type}"))
            if link_type > 65535 and done.status == 1:
                check("reserved field not zero" in done.err, done.err)
                continue
            equal(done.status, 0, done.err)
            equal([(e.name, e["link_type"]) for e in program.events(
                f"{top}/{link_type}")], [("packet", 65535)], link_type)
        for magic in make.NANO, make.MICRO:
            for part in 2 ** 31, 2 ** 32 - 1, 10 ** 9, 2 ** 31 - 1, 4294967:
                blob = make.pcap([], magic=magic)
                for at, fraction in (0, part), (5, part), (7, 0):
                    blob += struct.pack("<IIII", at, fraction, 14, 14)
                    blob += data[:14]
                path = f"{top}/b.pcap"
                with open(path, "wb") as f:
                    f.write(blob)
                out = f"{top}/{magic}{part}"
                summary = program.capture("-i", path, "--output", out)
                equal((summary["received"], summary["written"]), (3, 3), part)
                for e, least in zip(program.events(out), (0, 5, 7)):
                    check(least * SECOND <= e.ns < 5000 * SECOND,
                          f"{magic:x} {part}: {e.ns}")


def snap_lengths_of_files():
    """What a file says of its snap length is not to be believed."""
    all = list(capture_samples())
    with program.directory() as top:
        for snaplen in 0, 1, 65535, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1:
            path = make.write(f"{top}/a.pcap", all, snaplen=snaplen)
            program.run("-i", path, "--output", f"{top}/{snaplen}")
            compare_with_tcpdump(program.events(f"{top}/{snaplen}"), path)


def bytes_without_sense():
    """Random bytes, and good packets of which some bytes are others."""
    rng = make.random.Random(1)
    all = []
    good = list(samples())
    for nth in range(3000):
        data = bytearray(rng.choice(good)[:200])
        if nth % 3 == 0:
            data = bytearray(rng.randbytes(rng.randrange(200)))
        for _ in range(rng.randrange(6)):
            if data:
                data[rng.randrange(len(data))] = rng.randrange(256)
        all.append(Packet(BEGIN + nth, bytes(data), len(data) + nth % 7))
    with program.directory() as top:
        for link_type in (make.ETHERNET, make.RAW, make.SLL, make.PPP,
                          make.RADIOTAP):
            path = make.write(f"{top}/a.pcap", all, link_type=link_type)
            for mode in "headers", "full":
                out = f"{top}/{link_type}{mode}"
                program.run("-i", path, "--output", out, "--payload", mode,
                            "--hash", "flow", "-j", 2)
                found = program.events(out)
                if link_type != make.RADIOTAP:
                    equal([(e.ns, e["wire_len"], e["cap_len"]) for e in found],
                          [(p.ns, p.wire, len(p.data)) for p in all], mode)
                if mode == "full":
                    compare_bytes(found, all)


def largest_packets():
    """What libtrace 3 has room for in its own buffer, and what it reads."""
    with program.directory() as top:
        for size in 65519, 65520, 65521, 65534, 65535:
            all = [Packet(BEGIN + n, bytes([n]) * (size if n % 2 else 60))
                   for n in range(9)]
            path = make.write(f"{top}/{size}.pcap", all)
            out = f"{top}/{size}"
            program.run("-i", path, "--output", out, "--payload", "full")
            found = program.events(out)
            equal(len(found), len(all), size)
            compare_bytes(found, all)


def long_on_the_wire():
    """Packets that a network card will divide, and what a bad file says."""
    data = next(samples())
    other = make.ethernet(make.IPV4, make.ipv4(A4, B4, make.UDP, UDP))
    lengths = [65531, 65532, 65535, 65536, 65549, 10 ** 6, 2 ** 31, 2 ** 32 - 1]
    all = [Packet(BEGIN, data, n) for n in lengths]
    all += [Packet(BEGIN, other, n) for n in lengths]
    all += [Packet(BEGIN, b"", n) for n in lengths]
    for order in "<", ">":
        with program.directory() as top:
            path = make.write(f"{top}/a.pcap", all, order=order)
            for uri, filter, want in (
                    (path, "tcp", lengths), (path, "udp", lengths),
                    ("pcap:" + path, "tcp", lengths)):
                out = f"{top}/out"
                program.run("-i", uri, "--output", out, "--filter", filter)
                equal([e["wire_len"] for e in program.events(out)], want,
                      f"{uri} {filter}")
                program.shutil.rmtree(out)


def large_packets():
    """Packets of 64 KiB and more are whole, also in a compressed file."""
    packets = [Packet(BEGIN + n, bytes(60 if n < 5 else 70000))
               for n in range(9)]
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", packets)
        with open(path, "rb") as plain, gzip.open(path + ".gz", "wb") as small:
            small.write(plain.read())
        for name in path, path + ".gz":
            program.run("-i", name, "--output", f"{top}/out")
            equal([(e["wire_len"], e["cap_len"]) for e in
                   program.events(f"{top}/out")],
                  [(60, 60)] * 5 + [(70000, 70000)] * 4, "lengths")
            program.shutil.rmtree(f"{top}/out")


def short_headers(packets):
    """The records of a TSH file: a time, IPv4 without options, 16 bytes."""
    for p in packets:
        seconds, part = divmod(p.ns, SECOND)
        yield struct.pack(">II", seconds, 1 << 24 | part // 1000) + \
            p.data[14:50].ljust(36, b"\0")


def formats_of_libtrace():
    """As many packets as tracestats counts, and their addresses, compressed or
    not."""
    packets = list(make.some(500, 12))
    want = [list(p.data[26:34]) for p in packets]
    with program.directory() as top:
        make.write(f"{top}/pcapfile", packets)
        program.run("-r", f"{top}/pcapfile", "-w", f"erf:{top}/erf")
        pathlib.Path(f"{top}/tsh").write_bytes(b"".join(
            short_headers(packets)))
        for kind in "pcapfile", "erf", "tsh":
            data = pathlib.Path(f"{top}/{kind}").read_bytes()
            for pack in bytes, gzip.compress, bz2.compress, lzma.compress:
                uri = f"{kind}:{top}/packed"
                pathlib.Path(f"{top}/packed").write_bytes(pack(data))
                program.run("-i", uri, "--output", f"{top}/out")
                what = f"{kind} {pack.__module__}"
                equal([e["saddr"] + e["daddr"] for e in program.events(
                    f"{top}/out")], want, what)
                counted = program.end(program.start(uri, program="tracestats"))
                check(re.search(rf"Accepted Packets:\s*{len(want)}\n",
                                counted.out + counted.err), counted)
                program.shutil.rmtree(f"{top}/out")


def files_that_are_cut():
    with program.directory() as top:
        all = list(capture_samples())
        whole = make.pcap(all)
        last = len(all[-1].data)
        for cut in 1, last, last + 1, last + 15:
            path = f"{top}/{cut}.pcap"
            with open(path, "wb") as f:
                f.write(whole[:-cut])
            out = f"{top}/out{cut}"
            result = program.run("-i", path, "--output", out, status=1)
            equal([e.ns for e in program.events(out)], [p.ns for p in all[:-1]],
                  f"{cut} bytes are missing")
            check(path in result.err and len(result.lines()) == 1, result.err)


def no_packets():
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", [])
        equal(program.capture("-i", path, "--output", f"{top}/out")["written"],
              0, "written")
        equal(program.events(f"{top}/out"), [], "events")
        for nth, data in enumerate((b"", b"\xd4\xc3", b"garbage" * 100)):
            with open(path, "wb") as f:
                f.write(data)
            result = program.run("-i", path, "--output", f"{top}/{nth}",
                                 status=1)
            check(path in result.err and len(result.lines()) == 1, result.err)


def late_times():
    """Beyond 2038, and the last that a file can have."""
    times = [2 ** 31 * SECOND - 1, 2 ** 31 * SECOND,
             (2 ** 32 - 1) * SECOND + SECOND - 1]
    data = next(samples())
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", [Packet(ns, data) for ns in times])
        program.run("-i", path, "--output", f"{top}/out")
        equal([e.ns for e in program.events(f"{top}/out")], times, "times")


def clamped(all, numbers):
    """Times as a stream of those packets has them."""
    last = 0
    for n in numbers:
        last = max(last, all[n].ns)
        yield last


def compare_streams(out, all, is_strict, want_streams):
    found = program.streams(out)
    check(0 < len(found) <= want_streams, f"{len(found)} streams")
    seen, changed = [], 0
    for s in found:
        numbers = [e[2] - make.NUMBERED for _, e in s.packets]
        equal(numbers, sorted(numbers), "order in a stream")
        times = list(clamped(all, numbers))
        equal([ns for ns, _ in s.packets], times, "times in a stream")
        equal([e[3] for _, e in s.packets], [len(all[n].data) for n in numbers],
              "captured lengths")
        equal(s.seqs, list(range(len(s.seqs))), "packet_seq_num")
        equal(set(s.discarded), {0}, "discarded")
        changed += sum(t != all[n].ns for t, n in zip(times, numbers))
        seen += numbers
    equal(sorted(seen), list(range(len(all))), "packets")
    if is_strict:
        equal(seen, list(range(len(all))), "order")
    return changed


# -j, --hash, --order.
WAYS = [(j, hash, order) for j in (1, 2, 4) for hash in ("balance", "flow")
        for order in ("stream", "strict")]


def many_packets():
    """No loss, and order, whichever way they go."""
    with program.directory() as top:
        for seed, back in (1, 0), (2, 0.1):
            all = list(make.some(50000, seed, back=back))
            path = make.write(f"{top}/{seed}.pcap", all)
            for j, hash, order in WAYS:
                out = f"{top}/out"
                summary = program.capture(
                    "-i", path, "-j", j, "--hash", hash, "--order", order,
                    "--payload", "none", "--output", out)
                changed = compare_streams(out, all, order == "strict",
                                          1 if order == "strict" else j)
                equal((summary["written"], summary["clamped"]),
                      (len(all), changed), f"-j {j} {hash} {order}")
                check(back == 0 or changed > 0, "none went back")
                program.shutil.rmtree(out)


def flows():
    """Both directions of a flow are in one stream, and each stream has some."""
    with program.directory() as top:
        all = list(make.some(20000, 3))
        path = make.write(f"{top}/a.pcap", all)
        program.run("-i", path, "-j", 3, "--hash", "flow", "--output",
                    f"{top}/out")
        where = collections.defaultdict(set)
        counts = collections.Counter()
        for e in program.events(f"{top}/out"):
            ends = sorted([(tuple(e["saddr"]), e["source_port"]),
                           (tuple(e["daddr"]), e["dest_port"])])
            where[e["protocol"], *ends].add(e["cpu_id"])
            counts[e["cpu_id"]] += 1
        check(len(where) > 900, f"{len(where)} flows")
        check(all_of_one(where.values()), "a flow is in two streams")
        equal(sum(counts.values()), len(all), "packets")
        check(len(counts) == 3 and min(counts.values()) > len(all) // 6,
              f"not shared out: {counts}")


def all_of_one(sets):
    return all(len(s) == 1 for s in sets)


def options():
    """--snaplen, --filter, --count."""
    with program.directory() as top:
        packets = list(make.some(5000, 4))
        path = make.write(f"{top}/a.pcap", packets)
        program.run("-i", path, "--snaplen", 60, "--payload", "full",
                    "--output", f"{top}/snap")
        found = program.events(f"{top}/snap")
        equal([(e["wire_len"], e["cap_len"]) for e in found],
              [(p.wire, min(60, len(p.data))) for p in packets], "--snaplen")
        compare_bytes(found, packets, 60)
        filter = "udp and src portrange 1-1023"
        program.run("-i", path, "--filter", filter, "--output",
                    f"{top}/filter", "-j", 2)
        want = program.told("tcpdump", "-r", path, "-tt", "--nano", "-nn", "-e",
                            filter)
        check(len(want) > 100, "the filter lets too few through")
        equal(sorted(e.ns for e in program.events(f"{top}/filter")),
              sorted(to_ns(line.split()[0]) for line in want), "--filter")
        for order in "stream", "strict":
            out = f"{top}/count-{order}"
            summary = program.capture("-i", path, "--count", 777, "-j", 2,
                                      "--order", order, "--output", out,
                                      "--payload", "none")
            equal((summary["received"], summary["written"]), (777, 777),
                  "--count")
            compare_streams(out, packets[:777], order == "strict", 2)


def several_inputs():
    """Streams of one trace, which the viewer merges by time."""
    with program.directory() as top:
        inputs, times = [], []
        for n in range(3):
            all = list(make.some(3000, 10 + n, BEGIN + n * 17))
            inputs += ["-i", make.write(f"{top}/{n}.pcap", all)]
            times += [p.ns for p in all]
        for order in "stream", "strict":
            out = f"{top}/{order}"
            summary = program.capture(*inputs, "-j", 2, "--order", order,
                                      "--output", out, "--payload", "none")
            equal(summary["written"], len(times), "written")
            found = program.events(out)
            equal([e.ns for e in found], sorted(times), order)
            equal({(e["input"], e["cpu_id"]) for e in found} <=
                  {(i, c) for i in range(3) for c in range(2)}, True, order)
            for n in range(3):
                equal(sum(e["input"] == n for e in found), 3000, order)


CASES = [each_kind_of_packet, formats_of_files, pcapng, radiotap_checksums,
         link_types, unknown_link_types, numbers_without_sense,
         snap_lengths_of_files, bytes_without_sense, largest_packets,
         long_on_the_wire, large_packets, formats_of_libtrace,
         files_that_are_cut, no_packets, late_times, many_packets, flows,
         options, several_inputs]

if __name__ == "__main__":
    program.need("babeltrace2", "tcpdump", "tracestats", "tshark")
    sys.exit(run(CASES, sys.argv[1:]))
