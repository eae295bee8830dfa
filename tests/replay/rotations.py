#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rotations that cannot be finished. Starts daemons of its own."""
import struct
import sys

import relay
from relay import equal

ARCHIVE = 0


def rotate(s, chunk):
    s.control.create_chunk(chunk)
    s.control.rotate(chunk, (s.stream, s.seq), (s.meta, 0))


def close_chunk(s, chunk):
    """The code and the length of the path."""
    return struct.unpack(">II", s.control.ask(
        relay.CLOSE_CHUNK, struct.pack(">QQBI", chunk, 1_800_000_001, 1,
                                       ARCHIVE), 8))


def wait_until_gone(top, name):
    relay.wait_until(f"{name} stays", lambda: not any(top.rglob(name)))


def something_is_in_the_way_of_archives():
    """The peer gets an error, and readers see the data: they skip names that begin
    with a dot."""
    with relay.Daemon() as daemon, relay.bystander(daemon):
        for kind in "file", "link":
            s = relay.Session(daemon, kind)
            s.packets(1)
            top = daemon.out / s.path
            if kind == "file":
                (top / "archives").write_text("mine")
            else:
                (top / "archives").symlink_to(daemon.top)
            rotate(s, 1)
            equal(close_chunk(s, 0), (relay.UNKNOWN, 0), "CLOSE_TRACE_CHUNK")
            equal(s.control.ends(), b"", "more of the reply")
            s.data.close()
            wait_until_gone(top, ".tmp*")
            equal([p.read_bytes() for p in
                   sorted(top.glob("*-0/ust/uid/0/64-bit/ch_0"))],
                  [s.written], kind)


def paths_that_peers_refuse_are_not_told():
    """Streaming 8.2.15: with its NUL a path is shorter than 4096 bytes."""
    with relay.Daemon() as daemon:
        for size, code in ((4041, relay.OK), (4042, relay.UNKNOWN),
                           (4094, relay.UNKNOWN)):
            base = "/".join(["y" * 203] * 19)
            base += "/" + "z" * (size - len(base) - len("h//"))
            s = relay.Session(daemon, f"long{size}", base=base)
            equal(len(s.path), size, "output path")
            rotate(s, 1)
            told, length = close_chunk(s, 0)
            want = size + len("/archives/20270115T080000+0000-"
                              "20270115T080001+0000-0") + 1
            equal((told, length), (code, want if code == relay.OK else 0),
                  f"CLOSE_TRACE_CHUNK at {size}")
            if code == relay.OK:
                equal(length, 4095, "the longest")
                s.control.read(length)
            s.leave()
        c = daemon.peer()
        equal(c.create_session(base=base + "z", want=relay.FATAL)[2], "",
              "one byte more")
        c.close()


if __name__ == "__main__":
    sys.exit(relay.main())
