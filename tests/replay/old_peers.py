#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Peers of 2.1 to 2.10, which no distribution carries any more: fixed arrays
for names, whole paths, no trace chunks; from 2.4 on names of their own and
index formats 1.0 and 1.1, before that neither. Starts daemons of its own."""
import re
import struct
import sys

import ctf
import relay
from relay import check, equal
from viewer import NOT_LIVE, greeted

STAMP = "20200101-000004"


def names(session, live=0):
    """The payload of CREATE_SESSION, 2.4 to 2.10."""
    return (relay.text(session).ljust(255, b"\0")
            + b"oldhost".ljust(64, b"\0") + struct.pack(">II", live, 0))


def stream_request(minor, channel, path, size=0, count=0):
    """The payload of ADD_STREAM: 4360 bytes in 2.1, then 4376."""
    return (relay.text(channel).ljust(264, b"\0")
            + relay.text(path).ljust(4096, b"\0")
            + (struct.pack(">QQ", size, count) if minor >= 2 else b""))


class Old(relay.Peer):
    """A peer's session with one data stream and its metadata."""

    def __init__(self, daemon, minor, name, path, live=0, ring=(0, 0)):
        super().__init__(daemon, minor)
        self.daemon, self.minor = daemon, minor
        self.id, code = struct.unpack(">QI", self.control.ask(
            relay.CREATE_SESSION, names(name, live) if minor >= 4 else b"",
            12))
        equal(code, relay.OK, "CREATE_SESSION")
        self.stream = self.add("ch0_0", path, *ring)
        self.meta = self.add("metadata", path)
        if minor >= 4:
            self.control.code(relay.STREAMS_SENT)

    def add(self, channel, path, size=0, count=0):
        blob = stream_request(self.minor, channel, path, size, count)
        handle, code = struct.unpack(
            ">QI", self.control.ask(relay.ADD_STREAM, blob, 12))
        equal(code, relay.OK, "ADD_STREAM")
        return handle

    def index(self, seq, size):
        blob = relay.index_request(self.stream, seq, size, ctf=3, instance=4,
                                   packet_seq=seq + 100)
        return self.control.code(
            relay.SEND_INDEX, blob if self.minor >= 8 else blob[:64])

    def packets(self, count, content=lambda seq: bytes([seq]) * 4000):
        for seq in range(count):
            self.data.packet(self.stream, seq, content(seq), 96)
            if self.minor >= 4:
                self.index(seq, 4096)
        self.control.wait_written(self.stream, count - 1)

    def finish(self, last, metadata=b"text"):
        self.control.metadata(self.meta, metadata)
        self.control.close_stream(self.meta)
        self.control.close_stream(self.stream, last)
        self.leave()


def streams_of(minor):
    """Data, index and metadata lie where the peer said."""
    where = f"oldhost/oldsess-{STAMP}/ust/uid/0/64-bit"
    with relay.Daemon() as daemon:
        # As they wrote it: a leading slash, doubled ones, a trailing one.
        peer = Old(daemon, minor, "oldsess", "/" + where.replace(
            "/ust", "//ust") + "/")
        peer.packets(3)
        beacon = relay.index_request(peer.stream, 2, 0, end=9)
        peer.control.code(relay.SEND_INDEX,
                          beacon if minor >= 8 else beacon[:64])
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


def case(minor):
    def streams():
        streams_of(minor)
    streams.__name__ = f"streams_of_2_{minor}"
    return streams


def rings_and_metadata():
    where = f"oldhost/oldsess-{STAMP}/kernel"
    with relay.Daemon() as daemon:
        peer = Old(daemon, 10, "oldsess", where, ring=(8192, 2))
        peer.packets(7)
        for text in (b"one", b"two"):
            peer.control.metadata(peer.meta, text)
            peer.control.code(relay.RESET_METADATA,
                              struct.pack(">QQ", peer.meta, 1))
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
                        relay.remove(entry)


def a_trace_begins_again():
    """The same streams once more in one session: in a folder beside."""
    where = f"oldhost/oldsess-{STAMP}/ust/pid/app-1-{STAMP}"
    with relay.Daemon() as daemon:
        peer = Old(daemon, 10, "oldsess", where)
        for round_ in range(3):
            if round_ > 0:
                peer.stream = peer.add("ch0_0", where)
                peer.meta = peer.add("metadata", where)
            peer.packets(round_ + 1)
            peer.control.metadata(peer.meta, b"text" * (round_ + 1))
            peer.control.close_stream(peer.meta)
            peer.control.close_stream(peer.stream, round_)
        peer.leave()
        for round_, suffix in enumerate(("", "-1", "-2")):
            folder = daemon.out / (where + suffix)
            equal((folder / "metadata").read_bytes(), b"text" * (round_ + 1),
                  f"metadata {round_}")
            equal((folder / "ch0_0").stat().st_size, 4096 * (round_ + 1),
                  f"data {round_}")


def nothing_of_another_is_touched():
    """The same paths again: refused, as nothing that exists is truncated."""
    where = f"oldhost/oldsess-{STAMP}/kernel"
    with relay.Daemon() as daemon:
        peer = Old(daemon, 10, "oldsess", where)
        peer.packets(2)
        peer.finish(1)
        before = daemon.tree()
        again = daemon.peer(10)
        again.ask(relay.CREATE_SESSION, names("oldsess"), 12)
        for channel in ("ch0_0", "metadata"):
            blob = stream_request(10, channel, where)
            equal(again.ask(relay.ADD_STREAM, blob, 12)[8:],
                  struct.pack(">I", relay.UNKNOWN), channel)
        again.close()
        equal(daemon.tree(), before, "tree")


def without_names_and_indexes():
    """2.1 to 2.3: their bytes are all there is, and babeltrace2 reads them;
    they are grouped by host whatever the relay is told."""
    where = f"oldhost/oldsess-{STAMP}/ust/uid/0/64-bit"
    for minor in 1, 2, 3:
        for options in [], ["--group-output-by-session"]:
            with relay.Daemon(*options) as daemon, relay.bystander(daemon):
                peer = Old(daemon, minor, None,
                           "/" + where.replace("/ust", "//ust") + "/")
                peer.packets(5, lambda seq: ctf.packet(seq, 96))
                peer.finish(4, ctf.METADATA)
                folder = daemon.out / where
                equal((folder / "ch0_0").read_bytes(), b"".join(
                    ctf.packet(n, 96) + bytes(96) for n in range(5)), "data")
                equal(sorted(p.name for p in folder.iterdir()),
                      ["ch0_0", "metadata"], "files")
                found = ctf.read(folder)
                if found is not None:
                    equal(found, (list(range(5)), ""), "babeltrace2")


def rings_of_2_2():
    """2.1 has none."""
    for minor, want in (2, ["ch0_0_0", "ch0_0_1"]), (1, ["ch0_0"]):
        with relay.Daemon() as daemon:
            peer = Old(daemon, minor, None, "/h/s/kernel", ring=(8192, 2))
            peer.packets(7)
            peer.finish(6)
            folder = daemon.out / "h/s/kernel"
            equal(sorted(p.name for p in folder.glob("ch*")), want, "files")
            size = 7 if minor == 1 else 1
            equal((folder / want[-1]).stat().st_size, 4096 * size, "size")


def the_place_names_the_session():
    """In listings and logs, from the first stream on; viewers cannot attach."""
    with relay.Daemon("-v") as daemon:
        viewer = greeted(daemon)
        viewer.create()
        for path, host, name in (
                (f"/oldhost//oldsess-{STAMP}//ust/", "oldhost",
                 f"oldsess-{STAMP}"), ("kernel", "-", "kernel")):
            control = daemon.peer(3)
            ident, code = struct.unpack(
                ">QI", control.ask(relay.CREATE_SESSION, b"", 12))
            equal(code, relay.OK, "CREATE_SESSION")
            equal(viewer.list(), [], "before its first stream")
            for channel in "ch0_0", "metadata":
                control.ask(relay.ADD_STREAM,
                            stream_request(3, channel, path), 12)
            found = viewer.find(name)
            equal(found, (ident, 0, 0, 0, host, name), "listed")
            equal(viewer.attach(ident), (NOT_LIVE, []), "ATTACH_SESSION")
            equal(len(viewer.list()), 1, "sessions")
            control.close()
            relay.wait_until("it stays listed", lambda: viewer.list() == [])
            check(f" session={ident}/{name} control connection ended\n"
                  in daemon.log_text(), "its name is not in the log")
        viewer.close()


def nothing_that_came_later():
    """Indexes, STREAMS_SENT and the like end a session of 2.1 to 2.3; there
    is no 2.0, and none without a version."""
    for minor in 1, 3:
        for command, size in ((relay.SEND_INDEX, 64), (relay.STREAMS_SENT, 0),
                              (relay.RESET_METADATA, 16),
                              (relay.CREATE_CHUNK, 20)):
            with relay.Daemon() as daemon, relay.bystander(daemon):
                peer = Old(daemon, minor, None, "h/s/kernel")
                peer.control.send(relay.frame(command, bytes(size)))
                equal(peer.control.ends(), b"", f"{command} in 2.{minor}")
    with relay.Daemon() as daemon:
        for has_version in True, False:
            control = daemon.control()
            if has_version:
                control.version(0)
            control.send(relay.frame(relay.CREATE_SESSION))
            equal(control.ends(), struct.pack(">QI", 0, relay.FATAL), "2.0")


if __name__ == "__main__":
    sys.exit(relay.main(more=map(case, (4, 7, 8, 10))))
