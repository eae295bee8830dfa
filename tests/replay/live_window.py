#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--live-window: a live session in bounded space.

Arguments: [--seconds N] cases by name, all if none. "steady" lasts N seconds:
one hour is  live_window.py --seconds 3600 steady
"""
import collections
import hashlib
import os
import struct
import sys
import threading
import time
import urllib.request

import relay
from relay import check, equal
from viewer import HUP, INACTIVE, OK, PACKET_OK, RETRY, Live, Viewer

MIB = 1 << 20
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
    return head + hashlib.sha256(head).digest() * ((size - 16) // 32)


class Flow:
    """A live session of several streams."""

    def __init__(self, daemon, title, count, **fields):
        self.live = Live(daemon, title, **fields)
        self.control, self.data = self.live.control, self.live.data
        self.streams = [self.live.stream] + [
            self.live.add(f"ch_{i}") for i in range(1, count)]
        if count > 1:
            equal(self.control.code(relay.STREAMS_SENT), relay.OK, "STREAMS_SENT")
        self.seq = [0] * count
        self.now = 0
        self.dir = self.live.dir

    def packet(self, n, size=65536):
        seq, self.seq[n] = self.seq[n], self.seq[n] + 1
        self.now += 1000
        self.data.packet(self.streams[n], seq, content(n, seq, size))
        equal(self.control.index(self.streams[n], seq, size,
                                 begin=self.now - 900, end=self.now), relay.OK,
              "SEND_INDEX")

    def wait_written(self):
        for stream, seq in zip(self.streams, self.seq):
            until = time.monotonic() + relay.TIMEOUT
            while seq and self.control.pending(stream, seq - 1) != 0:
                check(time.monotonic() < until, "DATA_PENDING stays")

    def numbers(self, n, where=None):
        """The numbers of the packets of stream N on the disk, in order."""
        folder = where or self.dir
        files = sorted(folder.glob(f"ch_{n}_*"),
                       key=lambda p: int(p.name.rpartition("_")[2]))
        found = []
        for path in files:
            found += [number for number, _ in packets_of(path)]
        return found

    def close(self):
        for stream, seq in zip(self.streams, self.seq):
            equal(self.control.close_stream(
                stream, seq - 1 if seq else relay.NONE), relay.OK, "CLOSE_STREAM")
        equal(self.control.close_stream(self.live.meta), relay.OK,
              "CLOSE_STREAM")
        self.control.close()
        self.data.close()


def packets_of(path):
    """(number, bytes) of each packet, as the index says; all is whole."""
    index = path.parent / "index" / (path.name + ".idx")
    data = path.read_bytes()
    if not index.exists():
        equal(len(data), 0, f"{path}: bytes without an index")
        return
    raw, at = index.read_bytes(), 0
    for i in range(16, len(raw), 72):
        offset, bits = struct.unpack_from(">QQ", raw, i)
        equal(offset, at, f"{path}: offset")
        at += bits // 8
        check(at <= len(data), f"{path}: the index is ahead of the data")
        n, seq = struct.unpack_from(">QQ", data, offset)
        check(data[offset:at] == content(n, seq, bits // 8),
              f"{path}: packet {seq} is not what was sent")
        equal(struct.unpack_from(">Q", raw, i + 64)[0], seq, "its number")
        yield seq, bits // 8
    equal(at, len(data), f"{path}: all bytes are in the index")


class Reader(threading.Thread):
    """A viewer that keeps up."""

    def __init__(self, daemon, title, count):
        super().__init__()
        self.viewer = Viewer(daemon)
        self.viewer.connect()
        self.id = self.viewer.find(title).id
        self.streams = {s.id: s for s in self.viewer.ready(
            self.id, count=count + 1)}
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


def metrics(daemon):
    with urllib.request.urlopen(
            f"http://127.0.0.1:{daemon.http_port}/metrics", timeout=10) as f:
        lines = f.read().decode().splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if line[:1] != "#")


def steady():
    """10 MiB/s in below 80 MiB with a window of 64 MiB: a viewer that keeps up
    misses nothing. In a short run both are an eighth."""
    window = 64 * MIB if seconds > 60 else 8 * MIB
    shares = (64, 32, 16, 1)    # packets of 64 KiB, in 113 of them
    rate, most, done = 10 * MIB, 0, 0
    with relay.Daemon(f"--live-window={window}", "--http",
                      "tcp://127.0.0.1:0") as daemon:
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
        lost = metrics(daemon)[
            'tracepulse_lost_packets_total{cause="viewer_overwritten"}']
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


CASES = [steady]

if __name__ == "__main__":
    chosen = sys.argv[1:]
    if chosen[:1] == ["--seconds"]:
        seconds, chosen = float(chosen[1]), chosen[2:]
    sys.exit(relay.run(CASES, chosen))
