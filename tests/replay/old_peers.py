#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Peers of 2.4, 2.8 and 2.10, which no distribution carries any more: fixed
arrays for names, whole paths, index formats 1.0 and 1.1, no trace chunks.
Starts daemons of its own."""
import re
import shutil
import struct
import sys
import time

import relay
from relay import check, equal

STAMP = "20200101-000004"


class Old:
    """A peer's session with one data stream and its metadata."""

    def __init__(self, daemon, minor, name, path, live=0, ring=(0, 0)):
        self.daemon, self.minor = daemon, minor
        self.control, self.data = daemon.control(), daemon.data()
        self.control.version(minor)
        self.id, code = struct.unpack(">QI", self.control.ask(
            relay.CREATE_SESSION, relay.text(name).ljust(255, b"\0")
            + b"oldhost".ljust(64, b"\0") + struct.pack(">II", live, 0), 12))
        equal(code, relay.OK, "CREATE_SESSION")
        self.stream = self.add("ch0_0", path, *ring)
        self.meta = self.add("metadata", path)
        equal(self.control.code(relay.STREAMS_SENT), relay.OK, "STREAMS_SENT")

    def add(self, channel, path, size=0, count=0):
        blob = (relay.text(channel).ljust(264, b"\0")
                + relay.text(path).ljust(4096, b"\0")
                + struct.pack(">QQ", size, count))
        handle, code = struct.unpack(
            ">QI", self.control.ask(relay.ADD_STREAM, blob, 12))
        equal(code, relay.OK, "ADD_STREAM")
        return handle

    def index(self, seq, size):
        blob = relay.index_request(self.stream, seq, size, ctf=3, instance=4,
                                   packet_seq=seq + 100)
        return self.control.code(
            relay.SEND_INDEX, blob if self.minor >= 8 else blob[:64])

    def packets(self, count):
        for seq in range(count):
            self.data.packet(self.stream, seq, bytes([seq]) * 4000, 96)
            equal(self.index(seq, 4096), relay.OK, "SEND_INDEX")
        until = time.monotonic() + 5
        while self.control.pending(self.stream, count - 1) != 0:
            check(time.monotonic() < until, "DATA_PENDING stays 1")
            time.sleep(0.002)

    def finish(self, last):
        self.control.metadata(self.meta, b"text")
        self.control.close_stream(self.meta)
        equal(self.control.close_stream(self.stream, last), relay.OK, "close")
        self.control.close()
        self.data.close()


def streams_of(minor):
    """Data, index and metadata lie where the peer said."""
    where = f"oldhost/oldsess-{STAMP}/ust/uid/0/64-bit"
    with relay.Daemon() as daemon:
        # As they wrote it: a leading slash, doubled ones, a trailing one.
        peer = Old(daemon, minor, "oldsess", "/" + where.replace(
            "/ust", "//ust") + "/")
        peer.packets(3)
        beacon = relay.index_request(peer.stream, 2, 0, end=9)
        equal(peer.control.code(relay.SEND_INDEX, beacon if minor >= 8 else
                                beacon[:64]), relay.OK, "beacon")
        peer.finish(2)
        folder = daemon.out / where
        equal((folder / "ch0_0").read_bytes(), b"".join(
            bytes([n]) * 4000 + bytes(96) for n in range(3)), "data")
        equal((folder / "metadata").read_bytes(), b"text", "metadata")
        index = (folder / "index/ch0_0.idx").read_bytes()
        length = 72 if minor >= 8 else 56
        equal(index[:16], struct.pack(">IIII", 0xc1f1dcc1, 1, minor >= 8,
                                      length), "index header")
        equal(len(index), 16 + 3 * length, "index size")
        for n in range(3):
            got = struct.unpack_from(f">{length // 8}Q", index,
                                     16 + n * length)
            want = (4096 * n, 8 * 4096, 8 * 4096, 0, 0, 0, 3, 4, 100 + n)
            equal(got, want[:length // 8], f"record {n}")


def rings_and_metadata():
    where = f"oldhost/oldsess-{STAMP}/kernel"
    with relay.Daemon() as daemon:
        peer = Old(daemon, 10, "oldsess", where, ring=(8192, 2))
        peer.packets(7)
        for text in (b"one", b"two"):
            peer.control.metadata(peer.meta, text)
            equal(peer.control.code(relay.RESET_METADATA, struct.pack(
                ">QQ", peer.meta, 1)), relay.OK, "RESET_METADATA")
        peer.finish(6)
        folder = daemon.out / where
        equal((folder / "metadata").read_bytes(), b"text", "metadata")
        for number, first in ((0, (4, 5)), (1, (6,))):
            blob = (folder / f"ch0_0_{number}").read_bytes()
            equal(tuple(blob[::4096]), first, f"file {number}")
            index = (folder / f"index/ch0_0_{number}.idx").read_bytes()
            equal(len(index), 16 + 72 * len(first), f"index {number}")


# Session name, path of the stream -> path on disk (streaming 5.3).
GROUPED = [
    ("oldsess", f"/oldhost/oldsess-{STAMP}/ust/uid/0/64-bit",
     f"oldsess/oldhost-{STAMP}/ust/uid/0/64-bit"),
    (f"s-{STAMP}", f"oldhost/s-{STAMP}/kernel",
     f"s-{STAMP}/oldhost-{STAMP}/kernel"),
    ("sess", "oldhost/custom/ust", "sess/oldhost-NOW/custom/ust"),
    ("sess", "oldhost/sess/ust", "sess/oldhost-NOW/ust"),
    ("sess", "oldhost/session/ust", "sess/oldhost/session/ust"),
    ("sess", f"oldhost//sess-{STAMP}//ust//", f"sess/oldhost-{STAMP}/ust"),
]


def grouped_by_session():
    with relay.Daemon("--group-output-by-session") as daemon:
        for minor in (4, 10):
            for name, path, want in GROUPED:
                peer = Old(daemon, minor, f"{name}", f"{path}")
                peer.packets(1)
                peer.finish(0)
                found = {re.sub(r"oldhost-202[1-9]\d{4}-\d{6}",
                                "oldhost-NOW", str(p.parent.relative_to(
                                    daemon.out)))
                         for p in daemon.out.rglob("ch0_0")}
                equal(found, {want}, f"{name} {path}")
                for entry in daemon.out.iterdir():
                    if entry.is_dir():
                        shutil.rmtree(entry)


def nothing_of_another_is_touched():
    """The same paths again: refused, as nothing that exists is truncated."""
    where = f"oldhost/oldsess-{STAMP}/kernel"
    with relay.Daemon() as daemon:
        peer = Old(daemon, 10, "oldsess", where)
        peer.packets(2)
        peer.finish(1)
        before = daemon.tree()
        again = daemon.control()
        again.version(10)
        again.ask(relay.CREATE_SESSION, b"oldsess".ljust(255, b"\0")
                  + b"oldhost".ljust(64, b"\0") + bytes(8), 12)
        for channel in ("ch0_0", "metadata"):
            blob = (relay.text(channel).ljust(264, b"\0")
                    + relay.text(where).ljust(4096, b"\0") + bytes(16))
            equal(again.ask(relay.ADD_STREAM, blob, 12)[8:],
                  struct.pack(">I", relay.UNKNOWN), channel)
        again.close()
        equal(daemon.tree(), before, "tree")


def case(minor):
    def streams():
        streams_of(minor)
    streams.__name__ = f"streams_of_2_{minor}"
    return streams


CASES = [case(4), case(7), case(8), case(10), rings_and_metadata,
         grouped_by_session, nothing_of_another_is_touched]

if __name__ == "__main__":
    chosen = sys.argv[1:]
    sys.exit(relay.run([c for c in CASES
                        if not chosen or c.__name__ in chosen]))
