#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Large packets of files: up to the most that libpcap reads they pass whole,
from file to file and by way of a trace, one at a time."""
import pathlib
import re
import subprocess
import sys

import packets as make
import program
from packets import BEGIN, SECOND, Packet
from program import check, equal
from relay import run

# The most bytes of most link types; one that has more, of D-Bus.
USUAL, DBUS = 262144, 231
MIB = 1 << 20
ORDERS = [[], ["-j", 3], ["-j", 3, "--hash", "flow"],
          ["-j", 3, "--order", "strict"]]


def large(sizes):
    """Packets that differ, with small ones between them."""
    for n, size in enumerate(sizes):
        yield Packet(BEGIN + n * SECOND, bytes([n + 1]) * size)
        yield Packet(BEGIN + n * SECOND + 1, bytes([n]) * 60)


def passes(all, link_type, order):
    """From file to file, and by way of a trace."""
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", all, link_type=link_type,
                          snaplen=0)
        for name in "b.pcap", "b.pcapng":
            said = program.capture("-r", path, "-w", f"{top}/{name}", *order)
            equal((said["written"], said["cut"]), (len(all), 0), name)
        trace = f"{top}/trace"
        program.run("-r", path, "--payload", "full", "--output", trace, *order)
        program.run("--from-ctf", trace, "-w", f"{top}/c.pcap")
        # By libpcap, which cuts what a file's header does not announce.
        program.told("tcpdump", "-r", f"{top}/b.pcapng", "--nano", "-w",
                     f"{top}/d.pcap")
        program.told("tcpdump", "-r", f"{top}/b.pcap", "--nano", "-w",
                     f"{top}/e.pcap")
        for name in "b.pcap", "c.pcap", "d.pcap", "e.pcap":
            got = make.read(f"{top}/{name}")[0]
            if name != "c.pcap" and "strict" not in order:
                got.sort(key=lambda p: p.ns)
            equal([(p.ns, p.wire, len(p.data)) for p in got],
                  [(p.ns, p.wire, len(p.data)) for p in all], name)
            check(all_same(got, all), f"{name} {order}: bytes")


def all_same(got, want):
    return all(g.data == w.data for g, w in zip(got, want))


def usual_packets():
    for order in ORDERS:
        passes(list(large((65535, 65536, 65537, USUAL - 1, USUAL) * 3)),
               make.ETHERNET, order)


def larger_than_a_batch():
    for order in ORDERS:
        passes(list(large((USUAL, USUAL + 1, 5 * MIB, 300000, MIB))), DBUS,
               order)


def the_limit():
    """libpcap and tcpdump end at a packet that is longer."""
    with program.directory() as top:
        for link_type, size in (make.ETHERNET, USUAL), (DBUS, 128 * MIB):
            path = make.write(f"{top}/a.pcap", [
                Packet(BEGIN, b"\1"), Packet(BEGIN, bytes(size)),
                Packet(BEGIN, bytes(size + 1))], link_type=link_type,
                snaplen=0)
            said = program.capture("-r", path, "-w", f"{top}/b.pcap", status=1)
            equal(said["written"], 2, link_type)
            equal([len(p.data) for p in make.read(f"{top}/b.pcap")[0]],
                  [1, size], link_type)


def peak(n, size):
    """KiB of memory, at most, for N packets."""
    data = make.pcap([], link_type=DBUS, snaplen=0)
    with program.directory() as top:
        process = program.start(
            "-r", "-", "--payload", "full", "--output", f"{top}/out",
            stdin=subprocess.PIPE, env=program.environment(
                ASAN_OPTIONS="quarantine_size_mb=1"))
        process.stdin.buffer.write(data)
        for p in large([size] * n):
            process.stdin.buffer.write(make.pcap([p])[len(data):])
        process.stdin.flush()
        program.wait_for_rest(process)
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text("ascii")
        equal(program.end(process).status, 0, "status")
        return int(re.search(r"VmHWM:\s*(\d+)", status)[1])


def memory():
    """It does not grow with the number of large packets."""
    few, many = peak(2, 8 * MIB), peak(20, 8 * MIB)
    check(many < few + 16 * 1024, f"{few} KiB, then {many} KiB")


def without_memory():
    """A packet is cut. libpcap has as much memory as the packet, and no more."""
    if not program.has_sanitizer("address"):
        print("SKIP without_memory: not built with AddressSanitizer")
        return
    limited = program.environment(
        ASAN_OPTIONS="max_allocation_size_mb=32:allocator_may_return_null=1")
    all = list(large((32 * MIB, MIB)))
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", all, link_type=DBUS, snaplen=0)
        result = program.run("-r", path, "-w", f"{top}/b.pcap", env=limited)
        check("1 packets were cut to 262144 bytes" in result.out, result.out)
        equal([(p.wire, len(p.data)) for p in make.read(f"{top}/b.pcap")[0]],
              [(32 * MIB, USUAL), (60, 60), (MIB, MIB), (60, 60)], "lengths")


if __name__ == "__main__":
    program.need("tcpdump")
    sys.exit(run([usual_packets, larger_than_a_batch, the_limit, memory, without_memory],
                 sys.argv[1:]))
