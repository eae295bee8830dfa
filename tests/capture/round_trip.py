#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packets to a trace, with all their bytes, and back by --from-ctf: tcpdump says
the same of what comes out as of what went in. Of libtrace's pcap files there is
one difference, which is taken into account: they have microseconds."""
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "tests/replay"))
import relay  # noqa: E402
from relay import check, equal  # noqa: E402

PROGRAM = os.path.abspath("./tracepulse-capture")
SKIPPED, UNMET = 77, "without --payload=full"
ETHERNET, PPP, RAW, LOOP, SLL, UNKNOWN = 1, 9, 101, 108, 113, 147
BEGIN = 1700000000
MACS = bytes.fromhex("020000000001020000000002")


def ip4(data, fragment=0, protocol=17):
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(data), 7, fragment, 64,
                       protocol, 0) + bytes([10, 0, 0, 1, 10, 0, 0, 2]) + data


def ip6(data):
    address = bytes.fromhex("20010db80000000000000000000000")
    return struct.pack(">IHBB", 6 << 28, len(data), 17, 64) + \
        address + b"\1" + address + b"\2" + data


def udp(data):
    return struct.pack(">HHHH", 1000, 2000, 8 + len(data), 0) + data


def ethernet(kind, data):
    return MACS + struct.pack(">H", kind) + data


V4, V6 = ip4(udp(b"four")), ip6(udp(b"six"))
ARP = struct.pack(">HHBBH", 1, 0x800, 6, 4, 1) + b"\2" * 6 + V4[12:16] + \
    b"\0" * 6 + V4[16:20]
LARGE = ethernet(0x800, ip4(udp(bytes(range(256)) * 35)))
OF_ETHERNET = [
    ethernet(0x800, V4), ethernet(0x86dd, V6), ethernet(0x806, ARP),
    ethernet(0x8100, b"\0\5\x08\0" + V4),
    ethernet(0x88a8, b"\0\6\x81\0\0\5\x86\xdd" + V6),
    ethernet(0x800, ip4(udp(b"x" * 16)[:24], 0x2000)),
    ethernet(0x800, ip4(b"y" * 40, 3)), LARGE[:9000],
    ethernet(0x800, V4)[:20], ethernet(0x800, V4)[:14], MACS[:5]]
COOKED = [b"\0\0\0\1\0\6" + MACS[:6] + b"\0\0\x08\0" + V4,
          b"\0\4\0\1\0\6" + MACS[:6] + b"\0\0\x86\xdd" + V6]
# Name, link type, packets, big-endian, nanoseconds.
FILES = [
    ("ethernet", ETHERNET, OF_ETHERNET, False, False),
    ("nanoseconds", ETHERNET, OF_ETHERNET, False, True),
    ("big-endian", ETHERNET, OF_ETHERNET, True, False),
    ("big-endian nanoseconds", ETHERNET, OF_ETHERNET, True, True),
    ("raw", RAW, [V4, V6, V4[:10]], False, False),
    ("cooked", SLL, COOKED, False, False),
    ("ppp", PPP, [b"\xff\x03\0\x21" + V4], False, False),
    ("loop", LOOP, [b"\0\0\0\2" + V4], False, False)]


def pcap(path, link, packets, is_big=False, has_ns=False, times=200):
    """Each packet TIMES times; every third was longer on the wire, and every
    fifth pair has one time."""
    order = ">" if is_big else "<"
    with open(path, "wb") as f:
        f.write(struct.pack(order + "IHHIIII", 0xa1b23c4d if has_ns else
                            0xa1b2c3d4, 2, 4, 0, 0, 65535, link))
        for i, p in enumerate(packets * times):
            seconds, part = divmod((i - (i % 5 == 1)) * 789, 10 ** 6)
            wire = len(p) + (1000 if i % 3 == 0 else 0)
            f.write(struct.pack(order + "IIII", BEGIN + seconds,
                                part * 1000 + 7 if has_ns else part,
                                len(p), wire) + p)


def told(*command, status=0, **more):
    done = subprocess.run(
        [str(c) for c in command], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, check=False, timeout=120,
        env={**os.environ, "LC_ALL": "C", "TZ": "UTC"}, **more)
    equal(done.returncode, status, f"status of {command}: "
          f"{done.stderr.decode()[-2000:]}")
    return done.stdout.decode(), done.stderr.decode()


def packets_of(path):
    """What tcpdump prints, for each packet; one microsecond's in any order of
    streams, but there are two of them at most."""
    text, _ = told("tcpdump", "-r", path, "-nn", "-tt", "-XX", "-e")
    text = re.sub(r"^(\d+\.\d{6})\d*", r"\1", text, flags=re.M)
    return re.split(r"^(?=\d)", text, flags=re.M)[1:]


def times_of(packets):
    return [p.split()[0] for p in packets]


def compare(before, after, is_exact):
    want, got = packets_of(before), packets_of(after)
    equal(len(got), len(want), "packets")
    check(times_of(got) == sorted(times_of(got)), "not in order of time")
    if not is_exact:
        want.sort()
        got.sort()
    wrong = [(g, w) for g, w in zip(got, want) if g != w]
    check(not wrong, f"{len(wrong)} packets differ: {str(wrong[:1])[:500]}")


def capture(file, *options):
    told(PROGRAM, "-i", f"pcapfile:{file}", "--payload=full", "--quiet",
         *options)


def back(trace, file, status=0):
    out, errors = told(PROGRAM, "--from-ctf", trace, "--write",
                       f"pcapfile:{file}", "--json", status=status)
    return json.loads(out) if out else None, errors


def through_a_directory(*options):
    is_exact = not options or "strict" in options
    for name, *made in FILES:
        with tempfile.TemporaryDirectory() as top:
            before, after, trace = (f"{top}/{n}" for n in ("a", "b", "trace"))
            pcap(before, *made)
            capture(before, "--output", trace, *options)
            counts, _ = back(trace, after)
            n = len(made[1]) * 200
            equal((counts["read"], counts["written"], counts["left_out"]),
                  (n, n, 0), f"{name}: counts")
            compare(before, after, is_exact)


def one_thread():
    through_a_directory()


def three_threads():
    through_a_directory("-j", "3")


def three_threads_by_flows():
    through_a_directory("-j", "3", "--hash", "flow")


def in_strict_order():
    through_a_directory("-j", "3", "--order", "strict")


def rotated():
    with tempfile.TemporaryDirectory() as top:
        before, after, trace = (f"{top}/{n}" for n in ("a", "b", "trace"))
        pcap(before, ETHERNET, OF_ETHERNET)
        capture(before, "-j", "3", "--output", trace, "--rotate-size", "500k")
        check(len(os.listdir(trace)) > 1, "there was no rotation")
        back(trace, after)
        compare(before, after, False)


def a_copy_beside_the_trace():
    """Each packet is written once."""
    with tempfile.TemporaryDirectory() as top:
        before, after, traces = (f"{top}/{n}" for n in ("a", "b", "traces"))
        os.mkdir(traces)
        pcap(before, ETHERNET, OF_ETHERNET)
        capture(before, "-j", "3", "--output", f"{traces}/one",
                "--rotate-size", "500k")
        shutil.copytree(f"{traces}/one", f"{traces}/copy")
        back(traces, after)
        compare(before, after, False)


def two_traces():
    """Of two runs, that overlap in time, below one directory."""
    with tempfile.TemporaryDirectory() as top:
        both, after, traces = (f"{top}/{n}" for n in ("both", "b", "traces"))
        os.mkdir(traces)
        for n in range(2):
            pcap(f"{top}/{n}", ETHERNET, OF_ETHERNET[n:n + 5])
            capture(f"{top}/{n}", "--output", f"{traces}/{n}")
        with open(f"{top}/0", "rb") as a, open(f"{top}/1", "rb") as b:
            pathlib.Path(both).write_bytes(a.read() + b.read()[24:])
        back(traces, after)
        want, got = packets_of(both), packets_of(after)
        check(sorted(want) == sorted(got), "packets differ")
        check(times_of(got) == sorted(times_of(got)), "not in order of time")


def through_a_relay():
    """Recorded there: metadata in packets, index files, several streams."""
    with relay.Daemon() as daemon, tempfile.TemporaryDirectory() as top:
        before, after = f"{top}/a", f"{top}/b"
        pcap(before, ETHERNET, OF_ETHERNET)
        url = f"net://127.0.0.1:{daemon.control_port}:{daemon.data_port}"
        capture(before, "-j", "3", "--relay", url)
        check(list(daemon.out.rglob("index/*")), "there is no index")
        back(daemon.out, after)
        compare(before, after, False)


def an_archived_chunk():
    """As a rotation leaves them: a session's folder, with one for each chunk."""
    with tempfile.TemporaryDirectory() as top:
        before, after, trace = (f"{top}/{n}" for n in ("a", "b", "trace"))
        pcap(before, ETHERNET, OF_ETHERNET)
        capture(before, "--output", f"{top}/made", "--rotate-size", "1M")
        for name in os.listdir(f"{top}/made"):
            os.makedirs(f"{trace}/archives/{name}")
            os.rename(f"{top}/made/{name}", f"{trace}/archives/{name}/network")
        back(trace, after)
        compare(before, after, True)
        first = sorted(os.listdir(f"{trace}/archives"))[0]
        counts, _ = back(f"{trace}/archives/{first}", after)
        check(0 < counts["written"] < 2200, "one chunk is not a part")


def refused():
    """With a reason; the file of that name stays as it was."""
    with tempfile.TemporaryDirectory() as top:
        before, out = f"{top}/a", pathlib.Path(top, "out")
        out.write_text("precious")
        pcap(before, ETHERNET, OF_ETHERNET[:2], times=2)
        for mode in "none", "headers", "full":
            capture(before, "--output", f"{top}/{mode}", "--payload", mode)
        metadata = pathlib.Path(f"{top}/full/metadata")
        metadata.write_text(metadata.read_text().replace(
            '"tracepulse-capture"', '"another"'))
        os.mkdir(f"{top}/bad")
        pathlib.Path(f"{top}/bad/metadata").write_text("no metadata")
        os.mkdir(f"{top}/empty")
        for trace, why in [("none", UNMET), ("headers", UNMET),
                           ("full", "not made by tracepulse-capture"),
                           ("bad", "metadata: line 1: "),
                           ("empty", "no CTF trace found"),
                           ("gone", "No such file or directory")]:
            _, errors = back(f"{top}/{trace}", out, status=1)
            check(why in errors, f"{trace}: said {errors!r}")
            equal(errors.count("\n"), 1, f"lines: {errors!r}")
            equal(out.read_text(), "precious", f"{trace}: the output")
        for option in "--count=1", "--snaplen=1", "--anon-key=x", "-iint:lo":
            _, errors = told(PROGRAM, "--from-ctf", top, "--write",
                             "pcapfile:out", option, status=2)
            check("cannot be used with --from-ctf" in errors, errors)


def link_types_that_the_output_has_not():
    """Unknown ones; a second one in a pcap file; what ERF has no number for."""
    with tempfile.TemporaryDirectory() as top:
        inputs = []
        for link, packet in ((ETHERNET, OF_ETHERNET[0]), (LOOP, b"\0\0\0\2" + V4),
                             (UNKNOWN, b"data")):
            pcap(f"{top}/{link}", link, [packet], times=link)
            inputs += ["-i", f"pcapfile:{top}/{link}"]
        told(PROGRAM, *inputs, "--payload=full", "--quiet", "--output",
             f"{top}/trace")
        for form in "pcapfile", "erf":
            out, _ = told(PROGRAM, "--from-ctf", f"{top}/trace", "--write",
                          f"{form}:{top}/out", "--json")
            counts = json.loads(out)
            equal((counts["read"], counts["written"] + counts["left_out"]),
                  (256, 256), form)
            check(counts["written"] in (1, 108), f"{form}: {counts}")
        out, _ = told(PROGRAM, "--from-ctf", f"{top}/trace", "--write",
                      f"pcapfile:{top}/out")
        check("packets were left out" in out, out)


def discarded_ones_are_told():
    """The count in the header of the second packet of CTF is raised."""
    with tempfile.TemporaryDirectory() as top:
        pcap(f"{top}/a", ETHERNET, [LARGE[:9000]])
        capture(f"{top}/a", "--output", f"{top}/trace")
        data = bytearray(pathlib.Path(f"{top}/trace/stream_0").read_bytes())
        size, = struct.unpack_from("<Q", data, 32 + 24)
        at = size // 8
        while at < len(data):
            struct.pack_into("<Q", data, at + 32 + 40, 30)
            size, = struct.unpack_from("<Q", data, at + 32 + 24)
            at += size // 8
        pathlib.Path(f"{top}/trace/stream_0").write_bytes(data)
        shutil.rmtree(f"{top}/trace/index")     # it has the old count
        counts, _ = back(f"{top}/trace", f"{top}/b")
        equal((counts["discarded"], counts["written"]), (30, 200), "counts")
        out, _ = told(PROGRAM, "--from-ctf", f"{top}/trace", "--write",
                      f"pcapfile:{top}/b")
        check("\n30 packets are not in the trace" in out, out)


def the_longest_ones():
    """Of Ethernet, libtrace takes 65531 bytes. One that was longer on the wire,
    which only another program can put into a trace, is said to be that long."""
    with tempfile.TemporaryDirectory() as top:
        longest = ethernet(0x88b5, bytes(65517))
        pcap(f"{top}/a", ETHERNET, [LARGE[:60], longest], times=1)
        data = bytearray(pathlib.Path(f"{top}/a").read_bytes())
        struct.pack_into("<I", data, 24 + 12, 65531)
        pathlib.Path(f"{top}/a").write_bytes(data)
        capture(f"{top}/a", "--output", f"{top}/trace")
        back(f"{top}/trace", f"{top}/b")
        compare(f"{top}/a", f"{top}/b", True)
        stream = pathlib.Path(f"{top}/trace/stream_0")
        data = stream.read_bytes()
        old, new = (struct.pack("<II", n, 60) for n in (65531, 70000))
        equal(data.count(old), 1, "places of the length")
        stream.write_bytes(data.replace(old, new))
        for form in "pcapfile", "pcap", "erf":
            told(PROGRAM, "--from-ctf", f"{top}/trace", "--write",
                 f"{form}:{top}/{form}")
        for form in "pcapfile", "pcap":
            written = bytearray(pathlib.Path(f"{top}/{form}").read_bytes())
            equal(struct.unpack_from("<I", written, 24 + 12), (70000,), form)
            struct.pack_into("<I", written, 24 + 12, 65531)
            pathlib.Path(f"{top}/{form}").write_bytes(written)
            compare(f"{top}/a", f"{top}/{form}", True)


def a_full_disk():
    """Whether the packets come from a trace or not, compressed or not."""
    with tempfile.TemporaryDirectory() as top:
        pcap(f"{top}/a", ETHERNET, OF_ETHERNET[:2], times=1)
        capture(f"{top}/a", "--output", f"{top}/trace")
        for source in (["-i", f"pcapfile:{top}/a"],
                       ["--from-ctf", f"{top}/trace"]):
            for form, *more in (["pcapfile"], ["erf"], ["pcap"], [
                    "pcapfile", "--compress=6"]):
                _, errors = told(PROGRAM, *source, "--write",
                                 f"{form}:/dev/full", *more, status=1)
                check("/dev/full: No space left on device" in errors, errors)


def nanoseconds_in_erf():
    """Of each record: time, type, flags, length, loss, length on the wire."""
    with tempfile.TemporaryDirectory() as top:
        pcap(f"{top}/a", ETHERNET, OF_ETHERNET[:3], has_ns=True)
        capture(f"{top}/a", "--output", f"{top}/trace")
        told(PROGRAM, "--from-ctf", f"{top}/trace", "--write",
             f"erf:{top}/b", "--quiet")
        a, b = (pathlib.Path(f"{top}/{n}").read_bytes() for n in "ab")
        i, j = 24, 0
        while i < len(a):
            seconds, ns, n, wire = struct.unpack_from("<IIII", a, i)
            fraction, erf_seconds = struct.unpack_from("<II", b, j)
            kind, _, length, _, erf_wire = struct.unpack_from(">BBHHH", b, j + 8)
            equal((erf_seconds, fraction * 10 ** 9 >> 32, kind, length,
                   erf_wire), (seconds, ns, 2, n + 18, wire + 4), "record")
            equal(b[j + 18:j + length], a[i + 16:i + 16 + n], "packet")
            i, j = i + 16 + n, j + length
        equal(j, len(b), "bytes")


def written_until(number, trace, out):
    """Packets of TRACE that are in the file OUT when the signal NUMBER has come
    in between; None: the program had ended before."""
    with subprocess.Popen(
            [PROGRAM, "--from-ctf", trace, "--write", f"pcapfile:{out}"],
            stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        while process.poll() is None and (
                not out.exists() or out.stat().st_size < 100000):
            pass
        process.send_signal(number)
        said = process.communicate(timeout=20)
    n = int(said[0].split()[0])
    equal(len(packets_of(out)), n, "packets")
    if process.returncode == 0:
        return None
    equal(process.returncode, 1, "status")
    check(b"stopped by a signal" in said[1], said)
    return n


def ended_by_a_signal():
    """What was written until then is whole."""
    with tempfile.TemporaryDirectory() as top:
        pcap(f"{top}/a", ETHERNET, [LARGE[:9000]], times=4000)
        capture(f"{top}/a", "--output", f"{top}/trace")
        for number in signal.SIGINT, signal.SIGTERM:
            for i in range(5):
                n = written_until(number, f"{top}/trace",
                                  pathlib.Path(f"{top}/{number}-{i}"))
                if n is not None:
                    break
            check(n is not None and n < 4000, f"{n} were written")


CASES = [one_thread, three_threads, three_threads_by_flows, in_strict_order,
         rotated, a_copy_beside_the_trace, two_traces, through_a_relay,
         an_archived_chunk, refused,
         link_types_that_the_output_has_not, discarded_ones_are_told,
         the_longest_ones, a_full_disk, nanoseconds_in_erf, ended_by_a_signal]


def main():
    if shutil.which("tcpdump") is None:
        print("SKIP: there is no tcpdump")
        return SKIPPED
    return relay.run(CASES, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
