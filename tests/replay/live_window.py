#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--live-window: a live session in bounded space.

Arguments: [--seconds N] cases by name, all if none. "steady" lasts N seconds:
one hour is  live_window.py --seconds 3600 steady
"""
import collections
import hashlib
import os
import signal
import struct
import sys
import threading
import time

import relay
from looking import metrics
from relay import check, equal
from viewer import (HUP, INACTIVE, OK, PACKET_OK, PERIOD_US, RETRY, Live,
                    attached)

MIB = 1 << 20
HTTP = ("--http", "tcp://127.0.0.1:0")
OVERWRITTEN = 'tracepulse_lost_packets_total{cause="viewer_overwritten"}'
seconds = 4


def used(path):
    """Bytes on the disk, as du counts them."""
    total = 0
    for at, _, names in os.walk(path):
        for name in names:
            try:
                total += os.stat(os.path.join(at, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total


def content(stream, seq, size):
    head = struct.pack(">QQ", stream, seq)
    return (head + hashlib.sha256(head).digest() * (size // 32))[:size]


class Flow(relay.Peer):
    """A live session of several streams."""

    def __init__(self, daemon, title, count, **fields):
        self.live = Live(daemon, title, **fields)
        self.control, self.data = self.live.control, self.live.data
        self.streams = [self.live.stream] + [
            self.live.add(f"ch_{i}") for i in range(1, count)]
        if count > 1:
            self.control.code(relay.STREAMS_SENT)
        self.seq = [0] * count
        self.now = 0
        self.dir = self.live.dir

    def packet(self, n, size=65536):
        seq, self.seq[n] = self.seq[n], self.seq[n] + 1
        self.now += 1000
        self.put(self.streams[n], seq, content(n, seq, size),
                 begin=self.now - 900, end=self.now)

    def wait_written(self):
        for stream, seq in zip(self.streams, self.seq):
            if seq > 0:
                self.control.wait_written(stream, seq - 1)

    def numbers(self, n, where=None):
        """The numbers of the packets of stream N on the disk, in order."""
        folder = where or self.dir
        files = sorted(folder.glob(f"ch_{n}_*"),
                       key=lambda p: int(p.name.rpartition("_")[2]))
        found = []
        for path in files:
            try:
                found += [number for number, _ in packets_of(path)]
            except (FileNotFoundError, relay.Failed):
                if path.exists():
                    raise               # else it went meanwhile
        return found

    def close(self):
        for stream, seq in zip(self.streams, self.seq):
            self.control.close_stream(stream, seq - 1 if seq else relay.NONE)
        self.control.close_stream(self.live.meta)
        self.leave()


def packets_of(path):
    """(number, bytes) of each packet, as the index says; all is whole."""
    index = path.parent / "index" / (path.name + ".idx")
    data = path.read_bytes()
    if not index.exists():
        equal(len(data), 0, f"{path}: bytes without an index")
        return
    at = 0
    for offset, size, number in relay.records(index, False):
        equal(offset, at, f"{path}: offset")
        at += size
        check(at <= len(data), f"{path}: the index is ahead of the data")
        n, seq = struct.unpack_from(">QQ", data, offset)
        check(data[offset:at] == content(n, seq, size),
              f"{path}: packet {seq} is not what was sent")
        equal(number, seq, "its number")
        yield seq, size
    equal(at, len(data), f"{path}: all bytes are in the index")


class Reader(threading.Thread):
    """A viewer that keeps up."""

    def __init__(self, daemon, title, count):
        super().__init__()
        self.viewer, self.id, streams = attached(daemon, title,
                                                 count=count + 1)
        self.streams = {s.id: s for s in streams}
        self.seen = collections.Counter()   # by stream
        self.missed, self.bytes, self.failure = 0, 0, None

    def run(self):
        try:
            self.read()
        except (relay.Failed, OSError) as e:
            self.failure = e

    def read(self):
        data = {s.id for s in self.streams.values() if not s.is_metadata}
        while data:
            for stream in sorted(data):
                i = self.viewer.next_index(stream)
                if i.status == HUP:
                    data.discard(stream)
                elif i.status == OK:
                    self.take(stream, i)
                else:
                    check(i.status in (RETRY, INACTIVE), f"index: {i}")
        self.viewer.close()

    def take(self, stream, i):
        status, blob = self.viewer.packet(stream, i.offset, i.size // 8)
        equal(status, PACKET_OK, "GET_PACKET")
        n, seq = struct.unpack_from(">QQ", blob)
        check(blob == content(n, seq, len(blob)), "a packet's bytes")
        self.missed += seq - self.seen[stream]
        self.seen[stream] = seq + 1
        self.bytes += len(blob)


def steady():
    """10 MiB/s in below 80 MiB with a window of 64 MiB: a viewer that keeps up
    misses nothing. In a short run both are an eighth."""
    window = 64 * MIB if seconds > 60 else 8 * MIB
    shares = (64, 32, 16, 1)    # packets of 64 KiB, in 113 of them
    rate, most, done = 10 * MIB, 0, 0
    with relay.Daemon(f"--live-window={window}B", *HTTP) as daemon:
        flow = Flow(daemon, "steady", len(shares))
        reader = Reader(daemon, "steady", len(shares))
        reader.start()
        order = [n for n, share in enumerate(shares) for _ in range(share)]
        began = told = looked = time.monotonic()
        while (now := time.monotonic()) - began < seconds:
            flow.packet(order[done * 37 % len(order)])
            done += 1
            ahead = done * 65536 / rate - (time.monotonic() - began)
            if ahead > 0:
                time.sleep(ahead)
            # A reader that stood still for seconds is waited for, then overtaken.
            limit = time.monotonic() + relay.TIMEOUT
            while (done * 65536 - reader.bytes > window // 4 and
                   reader.is_alive() and time.monotonic() < limit):
                time.sleep(0.002)
            if now - looked > 0.25:
                looked, most = now, max(most, used(daemon.out))
            if now - told > 600:
                told = now
                print(f"  {now - began:.0f} s: {done * 65536 >> 20} MiB, "
                      f"at most {most / MIB:.1f} MiB on the disk, viewer "
                      f"{reader.bytes >> 20} MiB, missed {reader.missed}",
                      flush=True)
        flow.wait_written()
        took = time.monotonic() - began
        most = max(most, used(daemon.out))
        lost = metrics(daemon)[OVERWRITTEN]
        flow.close()
        reader.join(60)
        check(not reader.is_alive() and reader.failure is None,
              f"the viewer: {reader.failure!r}")
        equal(sum(reader.seen.values()), done, "packets that the viewer saw")
        equal((reader.missed, int(lost)), (0, 0), "missed by the viewer, lost")
        check(most < window * 5 / 4, f"{most / MIB:.1f} MiB on the disk")
        left = [flow.numbers(n) for n in range(len(shares))]
        for n, numbers in enumerate(left):
            equal(numbers, list(range(flow.seq[n] - len(numbers),
                                      flow.seq[n])), f"stream {n}: numbers")
        print(f"  {took:.0f} s, {done * 65536 / took / MIB:.1f} MiB/s: at most "
              f"{most / MIB:.1f} MiB on the disk, a viewer saw all {done} "
              f"packets; relay {daemon.rss() / MIB:.1f} MiB", flush=True)


def files(folder, n=0):
    return sorted(int(p.name.rpartition("_")[2])
                  for p in folder.glob(f"ch_{n}_*"))


def late():
    """A viewer that falls behind continues with the oldest packet that is left,
    and what it lost is counted; a quiet stream keeps its packets."""
    with relay.Daemon("--live-window=2M", *HTTP) as daemon:
        flow = Flow(daemon, "late", 2)
        flow.packet(1)
        for _ in range(10):
            flow.packet(0)
        flow.wait_written()
        reader = Reader(daemon, "late", 2)
        first = [s for s in reader.streams.values() if s.channel == "ch_0"][0]
        i = reader.viewer.next_index(first.id)
        equal(i.status, OK, "its first index")
        reader.take(first.id, i)
        for _ in range(200):
            flow.packet(0)
        flow.wait_written()
        check(used(daemon.out) < 2.5 * MIB, "what is on the disk")
        left = flow.numbers(0)
        equal(left, list(range(210 - len(left), 210)), "what is left")
        check(15 < len(left) < 32, f"{len(left)} packets of 64 KiB in 2 MiB")
        equal(flow.numbers(1), [0], "the quiet stream")
        reader.start()
        flow.close()
        reader.join(30)
        check(reader.failure is None and not reader.is_alive(),
              f"{reader.failure!r}")
        equal(reader.missed, 209 - len(left), "missed")
        equal(int(metrics(daemon)[OVERWRITTEN]), reader.missed, "counted")
        check(daemon.descriptors() < 100, "descriptors")


def packets_of_an_hour_ago():
    """By time: what came before goes, also while nothing comes."""
    with relay.Daemon("--live-window=1s") as daemon:
        flow, sent = Flow(daemon, "time", 1), []
        for _ in range(40):
            sent.append(time.monotonic())
            flow.packet(0, 4096)
            time.sleep(0.05)
        flow.wait_written()
        left, now = flow.numbers(0), time.monotonic()
        young = {n for n, at in enumerate(sent) if now - at < 1}
        check(young <= set(left), f"of {sorted(young)} only {left} are left")
        check(len(left) <= 34, f"{len(left)} packets of 2 s are left")
        relay.wait_until("old packets stay", lambda: not flow.numbers(0))
        at = time.monotonic()
        flow.packet(0, 4096)
        flow.wait_written()
        left = flow.numbers(0)
        check(left == [40] or not left and time.monotonic() - at > 1,
              f"{left} after a rest")
        flow.close()


def rotation_and_clear():
    """What a rotation archives is kept, the window begins anew; a clear takes
    all."""
    with relay.Daemon("--live-window=1M") as daemon:
        flow = Flow(daemon, "rotate", 1)
        for _ in range(40):
            flow.packet(0)
        flow.wait_written()
        before = flow.numbers(0)
        rotate(flow, 1, 0)
        (archive,) = (daemon.out / flow.live.path).rglob(
            "archives/*/ust/uid/0/64-bit")
        equal(flow.numbers(0, archive), before, "archived")
        for _ in range(40):
            flow.packet(0)
        flow.wait_written()
        equal(flow.numbers(0, archive), before, "archived, later")
        now = current(daemon, flow)
        check(len(flow.numbers(0, now)) < 17, "the new window")
        check(files(now)[0] > 0, "files of the new chunk went")
        rotate(flow, 2, 2)
        check(not now.exists() or not flow.numbers(0, now), "cleared")
        flow.packet(0)
        flow.wait_written()
        equal(flow.numbers(0, current(daemon, flow)), [80], "afterwards")
        flow.control.close()


def rotate(flow, chunk, command):
    c = flow.control
    c.next_chunk(chunk, command, (flow.live.meta, 0),
                 (flow.streams[0], flow.seq[0]))
    c.wait_gone(chunk - 1)


def current(daemon, flow):
    found = [p.parent for p in (daemon.out / flow.live.path).rglob("ch_0_*")
             if "archives" not in p.parts and p.parent.name != "index"]
    return found[0]


def closed_streams():
    """Files of streams that have closed, and of the other domain, are in the
    same window."""
    with relay.Daemon("--live-window=2M", workers=1) as daemon:
        flow = Flow(daemon, "short", 1)
        control, data = daemon.control(), daemon.data()
        control.version()
        equal(control.create_session(
            name="short", uuid=hashlib.md5(b"short").digest(),
            live=PERIOD_US)[1:], (relay.OK, flow.live.path), "CREATE_SESSION")
        control.create_chunk(0)
        kernel, _ = control.add_stream("k_0", path="kernel")
        for i in range(30):
            stream = flow.live.add(f"x_{i}")
            for seq in range(4):
                flow.put(stream, seq, bytes(65536))
            flow.control.close_stream(stream, 3)
            data.packet(kernel, i, bytes(65536))
            control.index(kernel, i, 65536)
        control.wait_written(kernel, 29)
        check(used(daemon.out) < 2.6 * MIB,
              f"{used(daemon.out) / MIB:.2f} MiB on the disk")
        check(len(list(flow.dir.glob("x_*"))) < 32, "files stay")
        flow.close()
        control.close()
        data.close()


def whom_it_concerns():
    """Not sessions without a live timer, nor streams with a ring; and a new
    value counts for new sessions."""
    with relay.Daemon("--config", "/dev/null") as daemon:
        daemon.stop()
        config = daemon.top / "relayd.conf"
        config.write_text("[relayd]\nlive-window = 1M\n")
        daemon.command[daemon.command.index("/dev/null")] = str(config)
        daemon.start_again()
        plain = relay.Session(daemon, "plain")
        live = Live(daemon, "live")
        ring = live.add("ring", size=65536, count=64)
        for seq in range(40):
            plain.packet(65536, 0)
            live.packet(65536, 0)
            live.put(ring, seq, content(ring, seq, 65536))
        live.wait_written()
        live.control.wait_written(ring, 39)
        plain.finish()
        check(len(list(live.dir.glob("ch_0_*"))) < 17, "no window")
        equal(len(list(live.dir.glob("ring_*"))), 40, "files of the ring")
        config.write_text("[relayd]\n")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_log("--live-window is")
        later = Live(daemon, "later")
        for _ in range(40):
            later.packet(65536, 0)
            live.packet(65536, 0)
        later.wait_written()
        live.wait_written()
        check(len(list(live.dir.glob("ch_0_*"))) < 17, "the old one's went")
        equal((later.dir / "ch_0").stat().st_size, 40 * 65536, "all is kept")


def tiny_files():
    """A tracer cannot have each packet in a file that the window remembers."""
    with relay.Daemon("--live-window=60m") as daemon:
        live = Live(daemon, "tiny")
        tiny = live.add("tiny", size=2)
        for seq in range(500):
            live.put(tiny, seq, b"xy")
        live.control.wait_written(tiny, 499)
        equal(len(list(live.dir.glob("tiny_*"))), 1, "files")
        equal((live.dir / "tiny_0").read_bytes(), 500 * b"xy", "packets")


def killed():
    """kill -9 in full flow: what is left is whole."""
    with relay.Daemon("--live-window=1M", "--log-level=error") as daemon:
        for n in range(5):
            flow = Flow(daemon, f"kill{n}", 2)
            for i in range(100):
                flow.packet(i % 2)
            daemon.kill()
            daemon.start_again()
            daemon.recovered()
            for stream in 0, 1:
                left = flow.numbers(stream)
                equal(left, sorted(left), "numbers")
            check(used(flow.dir) < 1.5 * MIB, "what is on the disk")


if __name__ == "__main__":
    chosen = sys.argv[1:]
    if chosen[:1] == ["--seconds"]:
        seconds, chosen = float(chosen[1]), chosen[2:]
    sys.exit(relay.main(chosen))
