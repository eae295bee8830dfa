#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packets that are written to files, and addresses that are replaced: in files
and in traces."""
import bz2
import gzip
import os
import pathlib
import signal
import struct
import subprocess
import sys

import packets as make
import program
from packets import BEGIN, Packet
from program import check, equal
from relay import run

ORDERS = [(j, hash) for j in (1, 2, 4) for hash in ("balance", "flow")]
KEY = bytes(range(32))
# BSD loopback, Token Ring, PPP over serial lines, ATM, SLIP, Frame Relay, LLC, raw IP,
# NFLOG, USB, cooked 2, ...
LINK_TYPES = (0, 1, 6, 7, 8, 9, 50, 99, 100, 101, 102, 104, 105, 107, 108, 113,
              117, 119, 127, 147, 189, 192, 195, 220, 228, 229, 239, 253, 276)
SECTION, INTERFACE, PACKET = 0x0a0d0d0a, 1, 6
NOBODYS = 13            # the number of no link type


def micro(p):
    return p.ns // 1000 * 1000, p.wire, p.data


def exact(p):
    return p.ns, p.wire, p.data


def same(path, all, what, as_is=exact):
    """As we read it, and as tcpdump does."""
    got, _ = make.read(path)
    equal(len(got), len(all), what)
    for g, p in zip(got, all):
        check(exact(g) == as_is(p), f"{what}: {g}, not {p}")
    lines = program.told("tcpdump", "-r", path, "-tt", "-nn", "-q", "-e")
    equal([line.split()[0] for line in lines],
          ["%d.%06d" % divmod(p.ns // 1000, 10 ** 6) for p in all], what)


def strict_order():
    with program.directory() as top:
        all = list(make.some(20000, 20))
        path = make.write(f"{top}/a.pcap", all)
        for j, hash in ORDERS:
            out = f"{top}/out.pcap"
            summary = program.capture(
                "-i", path, "-j", j, "--hash", hash, "--order", "strict",
                "--write", "pcapfile:" + out)
            equal((summary["written"], summary["left_out"]), (len(all), 0), j)
            same(out, all, f"-j {j} --hash {hash}")
            os.unlink(out)


def order_of_streams():
    with program.directory() as top:
        all = list(make.some(20000, 21))
        path = make.write(f"{top}/a.pcap", all)
        out = f"{top}/out.pcap"
        for j, hash in ORDERS:
            program.run("-i", path, "-j", j, "--hash", hash, "--write",
                        "pcapfile:" + out)
            got, _ = make.read(out)
            equal(sorted(map(exact, got)), sorted(map(exact, all)),
                  f"-j {j} --hash {hash}")
            os.unlink(out)


def compressed():
    with program.directory() as top:
        all = list(make.some(3000, 22))
        path = make.write(f"{top}/a.pcap", all)
        for kind, expand in ("gzip", gzip.decompress), ("bzip2", bz2.decompress):
            packed, out = f"{top}/{kind}", f"{top}/{kind}.pcap"
            program.run("-i", path, "--write", "pcapfile:" + packed,
                        "--compress", 6, "--compress-type", kind)
            data = pathlib.Path(packed).read_bytes()
            pathlib.Path(out).write_bytes(expand(data))
            same(out, all, kind, micro)


def erf():
    """Its time has 32 bits for a second."""
    with program.directory() as top:
        all = list(make.some(3000, 23))
        for p in all:
            p.wire = max(len(p.data), 60)
        path = make.write(f"{top}/a.pcap", all, magic=make.MICRO)
        out, back = f"{top}/a.erf", f"{top}/b.pcap"
        program.run("-i", path, "--order", "strict", "--write", "erf:" + out)
        program.told("traceconvert", "erf:" + out, "pcapfile:" + back)
        got, _ = make.read(back)
        equal(len(got), len(all), "packets")
        for g, p in zip(got, all):
            check(abs(g.ns - p.ns) <= 2000 and g.data[:len(p.data)] == p.data
                  and g.wire == p.wire, f"{g}, not {p}")


def limits_of_files():
    """The largest packets, lengths on the wire that libtrace has no room for."""
    data = bytes(60)
    all = [Packet(BEGIN, data), Packet(BEGIN, bytes(65535)),
           Packet(BEGIN, data, 65531), Packet(BEGIN, data, 65532),
           Packet(BEGIN, data, 70000), Packet(BEGIN, data, 2 ** 31),
           Packet(BEGIN, b""), Packet(BEGIN, data)]
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", all)
        for uri in "", "pcapfile:", "pcap:", "erf:":
            out = f"{top}/out"
            program.run("-i", path, "--write", uri + out)
            if uri != "erf:":
                equal(list(map(exact, make.read(out)[0])),
                      list(map(exact, all)), uri)
            check(os.stat(out).st_size > 65000, uri)
            os.unlink(out)


def as_tcpdump_prints(path):
    return program.told("tcpdump", "-nn", "-e", "-vv", "-xx", "--nano", "-r",
                        path)


def link_types():
    """Those that a file can have come back; a file that would be empty is a
    failure."""
    ip = make.ipv4("10.0.0.1", "10.0.0.2", make.UDP, make.udp(1, 2, b"data"))
    known = [(make.RAW, b""), (make.SLL, struct.pack(
        ">HHH8sH", 0, 1, 6, bytes(8), make.IPV4)), (make.PPP, b"\xff\3\0\x21")]
    with program.directory() as top:
        out = f"{top}/out.pcap"
        for link_type, before in known:
            all = [Packet(BEGIN, before + ip), Packet(BEGIN + 1000, before + ip)]
            path = make.write(f"{top}/a.pcap", all, link_type=link_type)
            program.run("-i", path, "--write", "pcapfile:" + out)
            same(out, all, link_type)
            equal(make.read(out)[1], link_type, "link type")
            os.unlink(out)
        for link_type in LINK_TYPES:
            path = make.write(f"{top}/a.pcap", [
                Packet(BEGIN + n, bytes(n) + ip, 70000) for n in range(30)],
                link_type=link_type)
            for name in "b.pcap", "b.pcapng":
                program.run("-r", path, "-w", f"{top}/{name}")
                equal(as_tcpdump_prints(f"{top}/{name}"),
                      as_tcpdump_prints(path), f"{link_type} in {name}")
        for link_type, uri in ((make.USER0, "erf:"), (make.LOOP, "erf:"),
                               (NOBODYS, "pcapfile:")):
            path = make.write(f"{top}/a.pcap", [Packet(BEGIN, ip)] * 3,
                              link_type=link_type)
            result = program.run("-i", path, "--write", uri + out, "--json",
                                 status=1)
            summary = result.json()
            equal((summary["written"], summary["left_out"]), (0, 3), uri)
            check("nothing was written" in result.err, result.err)


def block_types(path):
    """Of a pcapng file; interfaces are put first."""
    data, at, types = pathlib.Path(path).read_bytes(), 0, []
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        equal(struct.unpack_from("<I", data, at + size - 4), (size,), "size")
        types.append(kind)
        at += size
    return sorted(types, key=(SECTION, INTERFACE, PACKET).index)


def two_link_types():
    """A pcap file has that of the first packet, a pcapng file both."""
    with program.directory() as top:
        inputs = []
        for n, link_type in enumerate((make.ETHERNET, make.RAW)):
            inputs += ["-r", make.write(f"{top}/{n}.pcap", [
                Packet(BEGIN + n, bytes(20))] * 5, link_type=link_type)]
        for name, written in ("out.pcap", 5), ("out.pcapng", 10):
            summary = program.capture(*inputs, "-w", f"{top}/{name}")
            equal((summary["written"], summary["left_out"]),
                  (written, 10 - written), name)
        equal(block_types(f"{top}/out.pcapng"),
              [SECTION] + [INTERFACE] * 2 + [PACKET] * 10, "blocks")


def times_that_go_back():
    """A file may have them, a CTF stream may not."""
    all = [Packet(BEGIN + n * 1000, bytes(60)) for n in (5, 3, 9, 1, 1, 2)]
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", all)
        summary = program.capture("-r", path, "-w", f"{top}/b.pcap")
        equal(summary["clamped"], 0, "changed times")
        same(f"{top}/b.pcap", all, "times")


def the_input_is_no_output():
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", list(make.some(10, 25)))
        before = pathlib.Path(path).read_bytes()
        os.link(path, f"{top}/b.pcap")
        for out in path, "pcapfile:" + path, f"{top}/b.pcap", "erf:" + path:
            result = program.run("-r", path, "-w", out, status=1)
            check("is the input" in result.err, result.err)
            check(pathlib.Path(path).read_bytes() == before, "it was changed")
        with open(path, "rb") as f:
            result = program.run("-r", "-", "-w", path, status=1, stdin=f)
        check("is the input" in result.err, result.err)
        check(pathlib.Path(path).read_bytes() == before, "it was changed")


def a_trace_is_no_output():
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", list(make.some(10, 25)))
        program.capture("-r", path, "--output", f"{top}/t", "--payload",
                        "full")
        stream = pathlib.Path(f"{top}/t/stream_0")
        before = stream.read_bytes()
        result = program.run("--from-ctf", f"{top}/t", "-w", stream, status=1)
        check("within the trace" in result.err, result.err)
        check(stream.read_bytes() == before, "it was changed")


def names_of_times():
    """Files whose names have colons."""
    with program.directory() as top:
        all = list(make.some(10, 25))
        path = make.write(f"{top}/2026-11-27T10:00:00.pcap", all)
        short = make.write(f"{top}/10:00.pcap", all)
        for name, out in (path, "a_10:00.pcap"), (short, "10:01.pcap"), (
                os.path.basename(short), "10:02.pcap"):
            program.run("-r", name, "-w", out, cwd=top)
            same(f"{top}/{out}", all, out)


def compression_that_is_not_asked_for():
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", list(make.some(10, 25)))
        result = program.run("-r", path, "-w", f"{top}/a.gz",
                             "--compress-type", "gzip", status=2)
        check("requires --compress" in result.err, result.err)


def an_output_that_blocks():
    """The first signal waits for it, the second one does not."""
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", list(make.some(5000, 25)))
        os.mkfifo(f"{top}/out")
        process = program.start("-r", path, "-w", f"{top}/out")
        with open(f"{top}/out", "rb"):
            program.wait_for_rest(process)
            process.send_signal(signal.SIGTERM)
            program.wait_until(lambda: not program.hears(process.pid),
                               "it does not take the signal")
            check(process.poll() is None, "it does not wait")
            process.send_signal(signal.SIGTERM)
            equal(program.end(process).status, -signal.SIGTERM, "status")


def to_standard_output():
    """The packets, and nothing else."""
    with program.directory() as top:
        all = list(make.some(100, 26))
        path = make.write(f"{top}/a.pcap", all)
        with open(f"{top}/b.pcap", "wb") as f:
            done = subprocess.run([program.PROGRAM, "-r", path, "-w", "-"],
                                  stdout=f, stderr=subprocess.PIPE, check=True)
        same(f"{top}/b.pcap", all, "standard output")
        check(b"100 packets written" in done.stderr, done.stderr)


def what_was_there_before():
    """Standard output is appended to a file, and its disk is full."""
    with program.directory() as top, program.small_disk("1m") as disk:
        if disk is None:
            return
        path = make.write(f"{top}/a.pcap", list(make.some(20000, 27)))
        before = bytes(300000)
        with open(f"{disk}/keep", "ab") as f:
            f.write(before)
            f.flush()
            done = subprocess.run([program.PROGRAM, "-r", path, "-w", "-"],
                                  stdout=f, stderr=subprocess.PIPE,
                                  check=False)
        equal(done.returncode, 1, done.stderr)
        check(pathlib.Path(f"{disk}/keep").read_bytes()[:len(before)] == before,
              "it was changed")


def a_full_disk():
    """The file ends with a whole packet, and the summary says how many."""
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", list(make.some(20000, 27)))
        for name in "out.pcap", "out.pcapng":
            with program.small_disk("1m") as disk:
                if disk is None:
                    return
                result = program.run("-r", path, "-w", f"{disk}/{name}",
                                     "--json", status=1)
                check("No space left on device" in result.err, result.err)
                written = result.json()["written"]
                lines = program.told("tcpdump", "-nn", "-r", f"{disk}/{name}")
                check(0 < written < 20000, written)
                equal(len(lines), written, name)


def keyed(top, key=KEY, mode=0o600, name="key"):
    path = f"{top}/{name}"
    with open(path, "wb") as f:
        f.write(key)
    os.chmod(path, mode)
    return path


FROM4, TO4 = "203.0.113.77", "198.51.100.99"
FROM6, TO6 = "2001:db8:dead::beef", "2001:db8:1:2:3:4:5:6"
ADDRESSES = [make.address(a) for a in (FROM4, TO4, FROM6, TO6)]


def within(port, header, inner):
    """A packet in a datagram between two others."""
    return make.ethernet(make.IPV4, make.ipv4(
        "10.0.0.1", "10.0.0.2", make.UDP, make.udp(1, port, header + inner)))


def tunnels():
    """(a packet with addresses in it, is it understood?)"""
    udp = make.udp(1, 2, b"payload")
    four, six = (make.ipv4(FROM4, TO4, make.UDP, udp),
                 make.ipv6(FROM6, TO6, make.UDP, udp))
    frame = make.ethernet(make.IPV4, four)
    outer = "10.0.0.1", "10.0.0.2"
    for data in (
            within(4789, bytes(8), frame), within(8472, bytes(8), frame),
            within(6081, b"\2\0\x65\x58" + bytes(12), frame),
            within(6081, b"\0\0\x86\xdd" + bytes(4), six),
            within(6635, b"\0\0\0\x40\0\0\1\x40", four),
            make.ethernet(0x8847, b"\0\0\1\x40" + six),
            make.ethernet(make.IPV4, make.ipv4(
                *outer, 47, b"\0\0\x88\x47\0\0\1\x40" + four))):
        yield data, True
    for data in (
            make.ethernet(0x894f, bytes(8) + four),             # NSH
            make.ethernet(0x88e5, bytes(8) + four),             # MACsec
            make.ethernet(0xd28b, bytes(8) + four),             # Arista
            make.ethernet(100, b"\x42\x42\3" + four),           # LLC
            make.ethernet(0x8847, b"\0\0\1\x40" + bytes(4) + frame),
            make.ethernet(make.IPV4, make.ipv4(*outer, 103, bytes(4) + four)),
            make.ethernet(make.IPV4, make.ipv4(*outer, 89, bytes(4) + four)),
            make.ethernet(make.IPV4, make.ipv4(
                *outer, 47, b"\x30\1\x88\x0b" + bytes(12) + four)),
            make.ethernet(make.IPV4, make.ipv4(
                *outer, 132, bytes(12) + b"\1\0\0\x18" + four)),
            within(2152, bytes(8), four), within(4790, bytes(8), four)):
        yield data, False


def nothing_in_tunnels_is_left():
    """What is not understood loses its bytes."""
    with program.directory() as top:
        key, (data, known) = keyed(top), zip(*tunnels())
        all = [Packet(BEGIN + 1000 * n, d) for n, d in enumerate(data)]
        path = make.write(f"{top}/a.pcap", all)
        for mode in "full", "headers", "write":
            out = f"{top}/{mode}.pcap"
            to = ("-w", out) if mode == "write" else (
                "--payload", mode, "--output", out)
            summary = program.capture("-r", path, "--anon-key", key, *to)
            content = bytes_below(out)
            for a in ADDRESSES:
                check(a not in content, f"{mode}: {a.hex()}")
            equal(summary["withheld"],
                  0 if mode == "headers" else known.count(False), mode)
            if mode == "headers":
                continue
            got = [p.data for p in make.read(out)[0]] if mode == "write" else [
                e["payload"] for e in program.events(out)]
            equal([len(g) for g in got],
                  [len(d) if k else 0 for d, k in zip(data, known)], mode)


def with_addresses():
    """IPv4 and IPv6, behind each link layer that has them."""
    udp = make.udp(1, 2, b"payload")
    four = make.ipv4(FROM4, TO4, make.UDP, udp)
    six = make.ipv6(FROM6, TO6, make.UDP, udp)
    tag = [(make.VLAN, 5)]
    yield make.ETHERNET, [
        make.ethernet(make.IPV4, four), make.ethernet(make.IPV6, six),
        make.ethernet(make.IPV4, four, tag), make.ethernet(make.IPV6, six, tag),
        make.ethernet(make.ARP, bytes.fromhex(
            "0001080006040001020000000002") + ADDRESSES[0] + bytes(6) +
            ADDRESSES[1])]
    yield make.RAW, [four, six]
    yield make.PPP, [b"\xff\3\2\x81\0\0\1\x40" + p for p in (four, six)]
    yield make.SLL, [struct.pack(">HHH8sH", 0, 1, 6, bytes(8), t) + p
                     for t, p in ((make.IPV4, four), (make.IPV6, six))]
    yield make.NULL, [struct.pack("<I", 2) + four, struct.pack("<I", 30) + six]
    # Nobody knows what is in these.
    yield make.USER0, [b"\xaa\xbb" + four, b"\xaa\xbb" + six, four, six]
    yield 195, [four, six]


def bytes_below(path):
    path = pathlib.Path(path)
    files = [path] if path.is_file() else [
        p for p in path.rglob("*") if p.is_file()]
    return b"".join(f.read_bytes() for f in files)


def no_address_is_left():
    with program.directory() as top:
        key = keyed(top)
        for link_type, data in with_addresses():
            all = [Packet(BEGIN + 1000 * n, d) for n, d in enumerate(data)]
            path = make.write(f"{top}/{link_type}.pcap", all,
                              link_type=link_type)
            known = link_type not in (make.USER0, 195)
            for mode in "headers", "full", "write":
                out = f"{top}/{link_type}-{mode}"
                to = ("--write", "pcapfile:" + out) if mode == "write" else (
                    "--payload", mode, "--output", out)
                summary = program.capture("-i", path, "--anon-key", key, *to)
                content = bytes_below(out) if os.path.exists(out) else b""
                for a in ADDRESSES:
                    check(a not in content, f"{link_type} {mode}: {a.hex()}")
                equal(summary["withheld"], 0 if known else len(all),
                      f"{link_type} {mode}: withheld")
                if mode == "write":
                    continue
                found = program.events(out)
                equal([(e.ns, e["wire_len"]) for e in found],
                      [(p.ns, p.wire) for p in all], link_type)
                if mode == "full":
                    equal([len(e["payload"]) for e in found],
                          [len(p.data) if known else 0 for p in all], link_type)


def one_key_gives_one_address():
    with program.directory() as top:
        all = list(make.some(2000, 24))
        path = make.write(f"{top}/a.pcap", all)
        outs = []
        for nth, (key, j) in enumerate(((KEY, 1), (KEY, 3), (KEY[::-1], 1))):
            out = f"{top}/{nth}.pcap"
            program.run("-i", path, "-j", j, "--order", "strict", "--anon-key",
                        keyed(top, key, name=f"key{nth}"), "--write",
                        "pcapfile:" + out)
            outs.append(pathlib.Path(out).read_bytes())
        check(outs[0] == outs[1], "the same key gives other addresses")
        check(outs[0] != outs[2], "another key gives the same addresses")
        out = f"{top}/trace"
        program.run("-i", path, "--anon-key", keyed(top), "--output", out)
        got, _ = make.read(f"{top}/0.pcap")
        equal([bytes(e["saddr"] + e["daddr"]) for e in program.events(out)],
              [p.data[26:34] for p in got], "trace and file")


def keys_that_are_refused():
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", [])
        for nth, (key, mode) in enumerate((
                (KEY, 0o640), (KEY, 0o604), (KEY, 0o620), (KEY[1:], 0o600),
                (KEY + b"x", 0o600), (b"", 0o600))):
            name = keyed(top, key, mode, f"key{nth}")
            result = program.run("-i", path, "--anon-key", name, "--output",
                                 f"{top}/out", status=1)
            check(name in result.err and len(result.lines()) == 1, result.err)
            check(not os.path.exists(f"{top}/out"), "something was made")
        for name in f"{top}/none", top:
            result = program.run("-i", path, "--anon-key", name, "--output",
                                 f"{top}/out", status=1)
            check(name in result.err and len(result.lines()) == 1, result.err)


def summaries():
    """A text instead of fields, as babeltrace2 shows it."""
    packets = [
        (make.ethernet(make.IPV4, make.ipv4(
            "10.0.0.1", "10.0.0.2", make.TCP, make.tcp(5345, 53206))),
         "10.0.0.1:5345 \u2192 10.0.0.2:53206 TCP PSH,ACK 54"),
        (make.ethernet(make.ARP, bytes(28)), "ARP 42"),
        (make.ethernet(0x88cc, bytes(20)), "Ethernet type 0x88cc 34")]
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", [
            Packet(BEGIN + n, p) for n, (p, _) in enumerate(packets)])
        program.run("-r", path, "--payload", "summary", "--output",
                    f"{top}/out")
        lines = program.told("babeltrace2", f"{top}/out")
        equal(len(lines), len(packets), lines)
        for line, (data, text) in zip(lines, packets):
            check(f'summary = "{text}", direction = ( "unknown" : container = '
                  f"255 ), wire_len = {len(data)} }}" in line, line)


CASES = [
    strict_order, order_of_streams, compressed, erf, limits_of_files,
    link_types, two_link_types, times_that_go_back, the_input_is_no_output,
    a_trace_is_no_output, names_of_times, compression_that_is_not_asked_for,
    an_output_that_blocks, to_standard_output, what_was_there_before,
    a_full_disk, no_address_is_left,
    nothing_in_tunnels_is_left, one_key_gives_one_address,
    keys_that_are_refused, summaries]

if __name__ == "__main__":
    program.need("babeltrace2", "tcpdump", "traceconvert")
    sys.exit(run(CASES, sys.argv[1:]))
