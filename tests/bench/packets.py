# SPDX-License-Identifier: MIT
"""tracepulse-capture: what a packet of a file costs, on its way to a directory,
to our relay and to a file, beside programs that only copy packets."""
import atexit
import contextlib
import functools
import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from measure import Measure
from sending import run
from servers import Server, run_json

BYTES = 500 * 10 ** 6   # of the file, with --gib=1
SIZES = (64, 576, 64, 1500, 64, 64, 576, 64)    # 370 bytes in the middle
FLOWS = 1024
STEP_US = 3
PCAP_HEADER = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1)
BEGAN = 1700000000
ENDS = ("tpbench-a", "tpbench-b")
LIVE_S = 4


def frames():
    """Ethernet, IPv4, TCP or UDP, of FLOWS flows and all SIZES."""
    made = []
    for n in range(FLOWS):
        size = SIZES[n % len(SIZES)]
        tcp = n // len(SIZES) % 2 == 0
        link = struct.pack(">6s6sH", b"\2\0\0\0\0\1", b"\2\0\0\0\0\2", 0x800)
        ip = struct.pack(">BBHHHBBHII", 0x45, 0, size - 14, n, 0, 64,
                         6 if tcp else 17, 0, 0x0a000000 + n,
                         0x0a010000 + n * 7)
        transport = struct.pack(">HHIIBBHHH", 1024 + n, 443, n, n, 0x50, 0x10,
                                8192, 0, 0) if tcp else \
            struct.pack(">HHHH", 1024 + n, 53, size - 34, 0)
        made.append((link + ip + transport).ljust(size, b"\x5a"))
    return made


@functools.lru_cache(maxsize=None)
def packet_file(scratch, total):
    """(path, packets) of a pcap file of about TOTAL bytes."""
    directory = tempfile.mkdtemp(prefix="tracepulse-bench-", dir=scratch)
    atexit.register(shutil.rmtree, directory)
    path, record, count = directory + "/packets.pcap", struct.Struct("<4I"), 0
    made = frames()
    with open(path, "wb", buffering=1 << 20) as f:
        f.write(PCAP_HEADER)
        while f.tell() < total:
            for frame in made:
                us = count * STEP_US
                f.write(record.pack(BEGAN + us // 10 ** 6, us % 10 ** 6,
                                    len(frame), len(frame)))
                f.write(frame)
                count += 1
    return path, count


def source(options):
    """The file of this run of the program."""
    return packet_file(options.scratch, int(options.gib * BYTES))


def figure(cpu_s, wall_s, count):
    """Of one run."""
    return {"value": cpu_s / count * 1e9,
            "mpackets_per_s": count / wall_s / 1e6}


def capture(options, *arguments):
    """tracepulse-capture, which must have written all."""
    path, count = source(options)
    begin = time.monotonic()
    said = run_json([options.capture, "-i", "pcapfile:" + path, *arguments])
    wall_s = time.monotonic() - begin
    if said["written"] != count:
        raise RuntimeError(f"{said['written']} of {count} packets")
    return figure(said["cpu_seconds"], wall_s, count)


# Programs that read such a file and write nothing, by their names.
COPIERS = {
    "tcpdump": ["-r", "{0}", "-w", "/dev/null"] + (
        ["-Z", "root"] if os.geteuid() == 0 else []),
    "traceconvert": ["pcapfile:{0}", "pcapfile:/dev/null"],
    "tracesplit": ["pcapfile:{0}", "pcapfile:/dev/null"],
    "editcap": ["{0}", "/dev/null"],
}


def copy(options, name):
    """One of COPIERS."""
    path, count = source(options)
    begin = time.monotonic()
    cpu_s = run([name] + [a.format(path) for a in COPIERS[name]],
                stderr=subprocess.DEVNULL)
    return figure(cpu_s, time.monotonic() - begin, count)


def to_directory(options, name, threads=1):
    """CPU ns per packet of a file, 370 bytes each, to a trace with their
    headers; beside programs that copy the file to nowhere"""
    if name != "ours":
        return copy(options, name)
    with tempfile.TemporaryDirectory(dir=options.scratch) as where:
        return capture(options, "--output", where + "/trace",
                       f"--threads={threads}")


def to_relay(options, name):
    """the same to our relay, the relay's own beside it"""
    with Server(name, options) as server:
        server.mark()
        done = capture(options, "--relay", "net://127.0.0.1:%d:%d"
                       % tuple(server.ports[:2]))
        return dict(done, relay_ns=server.cpu_s() / source(options)[1] * 1e9)


def to_file(options, _):
    """the same with two threads and in order, to a pcap file that is thrown
    away"""
    return capture(options, "-j2", "--order=strict",
                   "--write=pcapfile:/dev/null")


@contextlib.contextmanager
def link():
    """Two ends, both up, in this machine's network."""
    def ip(*words):
        subprocess.run(["ip", "link", *words], check=True)
    ip("add", ENDS[0], "type", "veth", "peer", "name", ENDS[1])
    try:
        for end in ENDS:
            with open(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6", "w",
                      encoding="ascii") as f:
                f.write("1")
            ip("set", end, "arp", "off", "up")
        time.sleep(1)
        yield
    finally:
        ip("del", ENDS[0])


def live(options, name, rate=100000):
    """CPU ns per packet of an interface, 60 bytes each, 100,000 a second, to a
    trace with their headers; beside tcpdump to a file"""
    generator = os.path.join(os.path.dirname(options.loadgen), "packetgen")
    with tempfile.TemporaryDirectory(dir=options.scratch) as where, link():
        command = [options.capture, "-i", ENDS[1], "--output",
                   where + "/trace", "--json", "udp"] if name == "ours" else [
            "tcpdump", "-i", ENDS[1], "-w", where + "/packets", "-B", "32768",
            "-Z", "root", "udp"]
        with subprocess.Popen(command, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as child:
            time.sleep(1)
            sent = int(subprocess.run(
                [generator, ENDS[0], str(rate), str(LIVE_S)], check=True,
                stdout=subprocess.PIPE).stdout)
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            said = child.stdout.read()
            _, child.returncode, usage = os.wait4(child.pid, 0)
        came = json.loads(said)["written"] if name == "ours" else (
            os.path.getsize(where + "/packets") - len(PCAP_HEADER)) // 76
        return {"value": (usage.ru_utime + usage.ru_stime) / sent * 1e9,
                "lost": sent - came}


def measures_of_interfaces():
    """They need the rights to make an interface."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        return []
    others = ["tcpdump"] if shutil.which("tcpdump") else []
    return [
        Measure("capture-live", live, servers=["ours"] + others, limit=500,
                within=("lost", 0, 0)),
        Measure("capture-live-most", functools.partial(live, rate=500000),
                servers=["ours"] + others, within=("lost", 0, 0),
                text="the same with 500,000 a second"),
    ]


def measures(options):
    """Those of `make bench`, if there is such a program."""
    if not options.capture:
        return []
    others = [name for name in COPIERS if shutil.which(name)]
    return [
        Measure("capture-dir", to_directory, servers=["ours"] + others,
                of={"tcpdump": 3}),
        Measure("capture-dir-2", functools.partial(to_directory, threads=2),
                servers=["ours"], of_own=("capture-dir", 1.3),
                text="the same with two threads"),
        Measure("capture-relay", to_relay, servers=["ours"]),
        Measure("capture-write", to_file, servers=["ours"]),
    ] + measures_of_interfaces()
