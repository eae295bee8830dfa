#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What babeltrace2 and babeltrace say of the trace that write_trace writes: each
field as it was put in."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

WRITER = "tests/capture/write_trace"
BEGIN, STEP = 1700000000123456789, 1000000001
SKIPPED = 77


def words(*values):
    return "[ %s ]" % "".join("[%d] = %s, " % pair
                              for pair in enumerate(values))[:-2] \
        if values else "[ ]"


def hexes(*values):
    return words(*("0x%X" % v for v in values))


def label(name, value):
    name = '"%s"' % name if name else "<unknown>"
    return "( %s : container = %d )" % (name, value)


def option(kind, value, name, fields):
    """The tag of a variant, and the variant."""
    return "%s_type = %s, %s = { { %s} }" % (
        kind, label("_" + name, value), kind, fields + " " if fields else "")


def ethernet(ether_type, *tags):
    return option("link_header", 1, "ethernet", (
        "source = %s, dest = %s, vlan_length = %d, vlan = %s, "
        "ether_type = 0x%X" % (hexes(2, 0, 0, 0, 0, 2), hexes(2, 0, 0, 0, 0, 1),
                               len(tags), hexes(*tags), ether_type)))


def ipv4(tos, length, ident, fragment, protocol, checksum, source, dest):
    return (
        "network_header = { saddr = %s, daddr = %s, protocol = %s, "
        "version = 4, ihl = 5, tos = 0x%X, tot_len = %d, "
        "id = 0x%X, frag_off = 0x%X, ttl = 64, checksum = 0x%X }" % (
            words(*source), words(*dest), protocol, tos, length, ident,
            fragment, checksum))


def ipv6(prio, flow, length, following, hops):
    address = (0x2001, 0xdb8, 0, 0, 0, 0, 0)
    return (
        "network_header = { saddr = %s, daddr = %s, nexthdr = %s, "
        "version = 6, prio = %d, flow_lbl = 0x%X, payload_len = %d, "
        "hop_limit = %d }" % (hexes(*address, 1), hexes(*address, 2), following,
                              prio, flow, length, hops))


NO_LINK = option("link_header", 0, "unknown", "")
NO_TRANSPORT = option("transport_header", 0, "unknown", "")
TCP = option("transport_header", 1, "tcp", (
    "source_port = 12345, dest_port = 80, seq = 16909060, ack_seq = 84281096, "
    "data_offset = 5, reserved = 0, flags = 0x18, window_size = 256, "
    "checksum = 0xABCD, urg_ptr = 0"))
UDP = option("transport_header", 2, "udp", (
    "source_port = 53, dest_port = 50000, len = 10, check = 0x1234"))
ICMP = option("transport_header", 3, "icmp", (
    "type = 8, code = 0, checksum = 0xF7FF, gateway = 0x1"))
ICMPV6 = option("transport_header", 4, "icmpv6", (
    "type = 128, code = 0, checksum = 0x1234, gateway = 0x10002"))
TEN = (10, 0, 0, 1), (10, 0, 0, 2)
LOCAL = (127, 0, 0, 1)
MACS = "020000000001020000000002"
V6 = "20010db80000000000000000000000"

# Class, link type, fields of headers, the bytes: tests/capture/samples.c.
SAMPLES = [
    ("ipv4", ("ethernet", 1),
     [ethernet(0x800),
      ipv4(16, 42, 0x1c46, 0x4000, label("_tcp", 6), 0xb1e6, TEN[0],
           (192, 168, 0, 2)), TCP],
     MACS + "08004510002a1c4640004006b1e60a000001c0a80002"
     "303900500102030405060708" "50180100abcd0000" "4142"),
    ("ipv4", ("ethernet", 1),
     [ethernet(0x800, 0xe064, 10),
      ipv4(0, 30, 0, 0, label("_udp", 17), 0xb1e6, *TEN), UDP],
     MACS + "88a8e0648100000a08004500001e000000004011b1e60a0000010a000002"
     "0035c350000a12346869"),
    ("ipv4", ("raw", 101),
     [NO_LINK, ipv4(0, 28, 0, 0, label("_icmp", 1), 0, LOCAL, LOCAL), ICMP],
     "4500001c00000000400100007f0000017f0000010800f7ff00000001"),
    ("ipv4", ("ethernet", 1),
     [ethernet(0x800), ipv4(0, 28, 0x1234, 0x2001, label("_udp", 17), 0, *TEN),
      NO_TRANSPORT],
     MACS + "08004500001c12342001401100000a0000010a0000020102030405060708"),
    ("ipv6", ("ethernet", 1),
     [ethernet(0x86dd), ipv6(171, 0x12345, 28, label("_hop_by_hop", 0), 64),
      TCP],
     MACS + "86dd6ab12345001c0040" + V6 + "01" + V6 + "02" "0600010400000000"
     "303900500102030405060708" "50180100abcd0000"),
    ("ipv6", ("linux_sll", 113),
     [NO_LINK, ipv6(0, 0, 8, label("_icmpv6", 58), 255), ICMPV6],
     "000400010006020000000001000086dd6000000000083aff" + V6 + "01" + V6 +
     "028000123400010002"),
    ("packet", ("ethernet", 1), [ethernet(0x806)],
     MACS + "08060001080006040001"),
    ("packet", ("", 147), [NO_LINK], "00ff10"),
    ("packet", ("ethernet", 1), [NO_LINK], ""),
]
DIRECTIONS = [("outgoing", 0), ("incoming", 1), ("other", 2), ("unknown", 255)]


def line(nth, name, fields):
    return "[%d.%09d] box net:%s: { cpu_id = 3, input = 1 }, { %s }" % (
        *divmod(BEGIN + nth * STEP, 10 ** 9), name, ", ".join(fields))


def expected(mode):
    for nth, (name, link_type, headers, data) in enumerate(SAMPLES):
        data = bytes.fromhex(data)
        fields = ["link_type = " + label(*link_type),
                  "direction = " + label(*DIRECTIONS[nth % 4]),
                  "wire_len = %d" % (len(data) + 1000),
                  "cap_len = %d" % len(data)]
        if mode != "none":
            fields = headers[1:] + fields + headers[:1]
        if mode == "full":
            fields += ["payload_length = %d" % len(data),
                       "payload = " + hexes(*data)]
        yield line(nth, "packet" if mode == "none" else name, fields)
    yield line(len(SAMPLES), "stats", ["received = 1000", "dropped_kernel = 20",
                                       "dropped_local = %d" % (2 ** 64 - 1)])


def told(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=60,
                          env={**os.environ, "LC_ALL": "C", "TZ": "UTC"})
    if done.returncode != 0:
        sys.exit("%s: status %d\n%s" % (
            " ".join(command), done.returncode, done.stderr.decode()))
    return done.stdout.decode().splitlines(), done.stderr.decode()


def compare(what, got, want):
    """The number of lines that are not as they should be."""
    wrong = [(g, w) for g, w in zip(got, want) if g != w]
    for g, w in wrong:
        print("%s:\n  %s\nnot\n  %s" % (what, g, w))
    if len(got) != len(want):
        print("%s: %d lines, not %d" % (what, len(got), len(want)))
    return len(wrong) + abs(len(got) - len(want))


def read_with_2(mode, trace):
    got, errors = told("babeltrace2", "--no-delta", "--clock-seconds", trace)
    failed = compare("babeltrace2 " + mode, got, list(expected(mode)))
    # 10 more in each packet of CTF than in the one before.
    times = [divmod(BEGIN + nth * STEP, 10 ** 9) for nth in (2, 5, 8, 9)]
    want = ["discarded 10 events between [%d.%09d] and [%d.%09d]" % (*a, *b)
            for a, b in zip(times, times[1:])]
    return failed + compare(
        "discarded " + mode,
        re.findall(r"discarded \d+ events between \S+ and \S+\]", errors), want)


def read_with_1(mode, trace):
    """It names the option of a variant, which is its tag."""
    got, _ = told("babeltrace", "--no-delta", "--clock-seconds", trace)
    got = [re.sub(r"(_header = \{) \w+ = \{", r"\1 {", g) for g in got]
    return compare("babeltrace " + mode, got, list(expected(mode)))


ENVIRONMENT = {
    "hostname": "box", "domain": "network", "tracer_name": "tracepulse-capture",
    "source_uri": "pcapfile:a", "snaplen": "65,535", "anonymised": "1",
}


def environment(mode, trace):
    got, _ = told("babeltrace2", "-c", "sink.text.details", trace)
    text = "\n".join(got)
    failed = 0
    for name, value in {**ENVIRONMENT, "payload": mode}.items():
        if not re.search(r"^ +%s: %s$" % (name, re.escape(value)), text, re.M):
            print("details %s: no %s = %s" % (mode, name, value))
            failed += 1
    if 'say "\\n"\n\x019?\xe9' not in text:
        print("details %s: source_uri_1 is not as it was" % mode)
        failed += 1
    return failed


def main():
    if shutil.which("babeltrace2") is None:
        print("SKIP: there is no babeltrace2")
        return SKIPPED
    failed = 0
    for mode in "none", "headers", "full":
        with tempfile.TemporaryDirectory() as trace:
            told(WRITER, trace, mode)
            failed += read_with_2(mode, trace)
            if shutil.which("babeltrace") is not None:
                failed += read_with_1(mode, trace)
            failed += environment(mode, trace)
    print("%d wrong" % failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
