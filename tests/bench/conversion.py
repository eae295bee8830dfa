# SPDX-License-Identifier: MIT
"""tracepulse-ftrace convert: what an event of a trace.dat costs, on its way to a
directory and to our relay, beside trace-cmd report and a pass of cat."""
import atexit
import functools
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time

from measure import Measure
from sending import run
from servers import Server

BYTES = 400 * 10 ** 6   # of the file, with --gib=1
SHORT = 20              # so many times shorter for trace-cmd report
PAGE = 4096
VECTORS = pathlib.Path(__file__).resolve().parent.parent / "vectors/tracecmd"
HEADER = struct.Struct(">III")
SEND_DATA = 3
LOST = 1 << 31


def recorded(part):
    """A part of a session of stock trace-cmd: 2,030 events of sched."""
    return (VECTORS / f"tracecmd-v6-tcp-missed-{part}.bin").read_bytes()


def metadata():
    """What the recorder has sent of it."""
    whole, out = recorded("c2s")[13:], b""
    while whole:
        size, number, _ = HEADER.unpack_from(whole)
        out += whole[HEADER.size:size] if number == SEND_DATA else b""
        whole = whole[size:]
    return out


def block(cpu):
    """Pages in front of which nothing is lost: their times, and their bytes
    behind these."""
    whole = recorded(f"cpu{cpu}")
    pages = [whole[at:at + PAGE] for at in range(0, len(whole), PAGE)]
    return [(struct.unpack_from("<Q", p)[0], p[8:]) for p in pages
            if not struct.unpack_from("<Q", p, 8)[0] & LOST]


@functools.lru_cache(maxsize=None)
def trace_file(scratch, total):
    """A trace.dat of about TOTAL bytes: those pages, again and again."""
    directory = tempfile.mkdtemp(prefix="tracepulse-bench-", dir=scratch)
    atexit.register(shutil.rmtree, directory)
    path, blocks = directory + "/trace.dat", [block(0), block(1)]
    begin = metadata() + b"flyrecord\0"
    clock = struct.pack("<Q", 7) + b"[local]"
    head = len(begin) + 16 * 2 + len(clock)
    first = head + -head % PAGE
    times = total // PAGE // sum(map(len, blocks))
    sizes = [PAGE * times * len(b) for b in blocks]
    with open(path, "wb", buffering=1 << 20) as f:
        f.write(begin + struct.pack("<4Q", first, sizes[0], first + sizes[0],
                                    sizes[1]) + clock)
        f.write(bytes(first - head))
        for pages in blocks:
            span = pages[-1][0] - pages[0][0] + 10 ** 10
            for n in range(times):
                for time_ns, rest in pages:
                    f.write(struct.pack("<Q", time_ns + n * span) + rest)
    return path


def converted(options, path, *to):
    """tracepulse-ftrace: CPU s, wall s and events."""
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as said:
        cpu_s = run([options.ftrace, "convert", path, *to], stdout=said)
        wall_s = time.monotonic() - begin
        said.seek(0)
        return cpu_s, wall_s, int(said.read().split()[0])


def figure(cpu_s, wall_s, events):
    """Of one run."""
    return {"value": cpu_s / events * 1e9,
            "mevents_per_s": events / wall_s / 1e6}


@functools.lru_cache(maxsize=None)
def events_of(options_ftrace, path, scratch):
    """How many there are."""
    class Options:
        ftrace = options_ftrace
    with tempfile.TemporaryDirectory(dir=scratch) as where:
        return converted(Options, path, where + "/trace")[2]


def to_directory(options, name):
    """CPU ns per event of a trace.dat, 47 bytes each, to a trace in CTF; beside
    trace-cmd report, which prints them, and cat"""
    total = int(options.gib * BYTES)
    if name == "trace-cmd":
        total //= SHORT
    path = trace_file(options.scratch, total)
    if name == "ours":
        with tempfile.TemporaryDirectory(dir=options.scratch) as where:
            return figure(*converted(options, path, where + "/trace"))
    events = events_of(options.ftrace, path, options.scratch)
    begin = time.monotonic()
    cpu_s = run(["cat", path] if name == "cat" else
                ["trace-cmd", "report", "-R", path],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return figure(cpu_s, time.monotonic() - begin, events)


def to_relay(options, name):
    """the same to our relay, the relay's own beside it"""
    path = trace_file(options.scratch, int(options.gib * BYTES))
    with Server(name, options) as server:
        server.mark()
        cpu_s, wall_s, events = converted(
            options, path, "--relay=net://127.0.0.1:%d:%d"
            % tuple(server.ports[:2]))
        return dict(figure(cpu_s, wall_s, events),
                    relay_ns=server.cpu_s() / events * 1e9)


def measures(options):
    """Those of `make bench`."""
    if not options.ftrace:
        return []
    return [
        # 5 million events/s on one core.
        Measure("convert-dir", to_directory, limit=200,
                servers=["ours", "cat", "trace-cmd"]),
        Measure("convert-relay", to_relay, servers=["ours"]),
    ]
