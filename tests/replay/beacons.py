#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The file .beacons of a live session: what it says, and when it is there.
Starts daemons of its own."""
import fcntl
import os
import struct
import sys
import time

import old_peers
import relay
from relay import check, equal, wait_until

FIRST = "tracepulse beacons 1\n"
TRACE = "ust/uid/0/64-bit"


class Live(relay.Session):
    """A live session of two streams, of which each has a packet."""

    def __init__(self, daemon, name="live", **fields):
        fields.setdefault("live", 200_000)
        super().__init__(daemon, name, **fields)
        self.reader = os.open(daemon.out / self.path,
                              os.O_RDONLY | os.O_DIRECTORY)
        self.read(fcntl.F_RDLCK)
        self.idle = self.add("ch_1")
        self.control.code(relay.STREAMS_SENT)
        self.packet(begin=10, end=20, ctf=5)
        self.put(self.idle, 0, b"x" * 512, begin=11, end=21, ctf=5, instance=1)
        # A beacon before that does not count.
        for stream in self.stream, self.idle:
            self.control.wait_written(stream, 0)
        self.file = daemon.out / self.path / ".beacons"

    def read(self, lock):
        """Be a reader, or be none any more."""
        fcntl.fcntl(self.reader, fcntl.F_OFD_SETLK, struct.pack(
            "hhqqi4x", lock, os.SEEK_SET, 1, 1, 0))

    def beacon(self, end, stream=None):
        self.control.index(self.idle if stream is None else stream, 1, 0,
                           end=end, ctf=5)

    def says(self, *cycles):
        """One line for each stream."""
        want = FIRST + "".join(f"{c} 5 {i} {TRACE}\n"
                               for i, c in enumerate(cycles))
        wait_until(lambda: f"{want!r}: {self.text()!r}",
                   lambda: self.text() == want)

    def text(self):
        return self.file.read_text() if self.file.exists() else None

    def end(self):
        self.wait_written()
        for stream, last in ((self.meta, relay.NONE), (self.idle, 0),
                             (self.stream, self.seq - 1)):
            self.control.close_stream(stream, last)
        self.leave()
        self.ended()

    def ended(self):
        wait_until("the end", lambda: not self.file.exists())
        os.close(self.reader)


def says_up_to_when_each_stream_is_known():
    """After a beacon; of the newest packet if that is later. Twice a second at
    most."""
    with relay.Daemon() as daemon:
        s = Live(daemon)
        s.wait_written()
        equal(s.text(), None, "without a beacon")
        s.beacon(100)
        s.says(20, 100)
        s.beacon(50)        # time does not go back
        s.packet(begin=120, end=130, ctf=5)
        s.beacon(200)
        s.says(130, 200)
        changed, ends = set(), time.monotonic() + 2
        end = 300
        while time.monotonic() < ends:
            end += 1
            s.beacon(end)
            changed.add(s.text())
        check(len(changed) <= 6, f"{len(changed)} texts in 2 s")
        s.says(130, end)
        equal(s.file.stat().st_mode,
              (s.dir / "ch_0").stat().st_mode, "mode")
        s.end()
        check((daemon.out / s.path / TRACE / "ch_0").exists(), "the trace")


def without_a_stream_that_has_ended():
    with relay.Daemon() as daemon:
        s = Live(daemon)
        s.beacon(100)
        s.says(20, 100)
        s.control.close_stream(s.idle, 0)
        s.says(20)
        s.control.close_stream(s.stream, 0)
        s.says()
        s.leave()
        s.ended()


def while_somebody_reads():
    with relay.Daemon() as daemon:
        s = Live(daemon)
        s.read(fcntl.F_UNLCK)
        s.beacon(100)
        time.sleep(1)
        equal(s.text(), None, "without a reader")
        s.read(fcntl.F_RDLCK)
        s.beacon(200)
        s.says(20, 200)
        s.read(fcntl.F_UNLCK)
        s.beacon(300)
        time.sleep(1)
        s.says(20, 200)
        s.end()


def not_without_a_live_timer():
    """Nor for old peers, whose sessions have no directory of their own."""
    with relay.Daemon() as daemon:
        stored = Live(daemon, live=0)
        old = old_peers.Old(daemon, 8, "old", "h/old/ust/uid/0/64-bit",
                            live=200_000)
        old.packets(1)
        live = Live(daemon, "other")
        for s in (stored, live):
            s.beacon(100)
        old.control.index(old.stream, 1, 0, end=100)
        live.says(20, 100)
        equal([p.parent for p in daemon.out.rglob(".beacons")],
              [live.file.parent], "files")
        old.leave()


def stays_where_it_is_when_the_session_rotates():
    with relay.Daemon() as daemon:
        s = Live(daemon)
        s.beacon(100)
        s.says(20, 100)
        s.control.create_chunk(1)
        s.control.rotate(1, (s.stream, 1), (s.idle, 1), (s.meta, 0))
        s.control.close_chunk(0, 0)
        wait_until("the archive", lambda: any(
            (s.file.parent / "archives").glob("*")))
        s.packet(begin=110, end=120, ctf=5)
        s.beacon(150)
        s.says(120, 150)
        s.end()
        equal([p for p in daemon.out.rglob(".*")], [], "hidden names")


def of_siblings_in_one_file():
    """Kernel and user space; one may end before the other."""
    with relay.Daemon() as daemon:
        one = Live(daemon, uuid=b"s" * 16)
        two = relay.Peer(daemon)
        two.control.create_session(name="live", uuid=b"s" * 16, chunk=0,
                                   live=200_000)
        stream = two.add("k_0", path="kernel")
        two.control.code(relay.STREAMS_SENT)
        two.put(stream, 0, b"x" * 512, end=30, ctf=0, instance=7)
        two.control.wait_written(stream, 0)
        one.beacon(100)
        want = {f"20 5 0 {TRACE}", f"100 5 1 {TRACE}", "30 0 7 kernel"}

        def is_there():
            return set((one.text() or "").split("\n")[1:-1]) == want
        wait_until("all", is_there)
        two.control.close_stream(stream, 0)
        two.leave()
        one.beacon(200)
        one.says(20, 200)
        one.end()


def a_reader_with_the_lock():
    """It sees whole texts; the next one waits for it."""
    with relay.Daemon() as daemon:
        s = Live(daemon)
        s.beacon(100)
        s.says(20, 100)
        with open(s.file, "rb") as f:
            fcntl.flock(f, fcntl.LOCK_SH)
            s.beacon(200)
            time.sleep(1)
            s.says(20, 100)
        s.says(20, 200)
        s.end()


def goes_on_after_a_restart():
    with relay.Daemon() as daemon:
        s = Live(daemon)
        s.beacon(100)
        s.says(20, 100)
        daemon.take_over()
        s.says(20, 100)
        s.beacon(200)
        s.says(20, 200)
        s.end()
        equal(list(daemon.out.rglob(".*")), [], "hidden names")


def is_removed_after_a_crash():
    with relay.Daemon() as daemon:
        s = Live(daemon)
        s.beacon(100)
        s.says(20, 100)
        daemon.kill()
        daemon.start_again()
        daemon.recovered()
        equal(list(daemon.out.rglob(".*")), [], "hidden names")


def somebody_removes_it_or_has_the_name():
    with relay.Daemon() as daemon:
        s = Live(daemon)
        s.file.write_text("mine\n")
        s.beacon(100)
        time.sleep(1)
        equal(s.text(), "mine\n", "another file")
        s.file.unlink()
        s.beacon(200)
        s.says(20, 200)
        s.file.unlink()
        s.beacon(300)
        s.says(20, 300)
        s.end()


if __name__ == "__main__":
    sys.exit(relay.main(at_once=4))
