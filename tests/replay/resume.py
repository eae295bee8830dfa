#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""RESUME (resume 1 to 4): a sender that comes back goes on in its session, or
in its files. Starts daemons of its own."""
import fcntl
import hashlib
import os
import struct
import sys
import time

import relay
import viewer
from looking import ask, metrics
from relay import check, equal

BIT = 1 << 62
KEY = bytes(range(16))
PATH = "ust/uid/0/64-bit"
METADATA = b"/* CTF 1.8 */ stream { id = 0; };\n"


class Sender(relay.Peer):
    """One connection of a sender that may come back."""

    def __init__(self, daemon, key=KEY, name="s", **fields):
        super().__init__(daemon)
        self.key, self.name, self.daemon, self.fields = key, name, daemon, fields
        self.control.code(relay.RESUME, key)
        self.id, _, self.path = self.control.create_session(
            name=name, **fields)
        self.control.create_chunk(0)
        self.dir = daemon.out / self.path / PATH
        self.stream = self.add("ch_0")
        self.meta = self.add("metadata")
        self.control.code(relay.STREAMS_SENT)
        self.seq = 0

    def written(self, stream=None):
        """(bytes, packets, packet_seq_num)"""
        code, *numbers = struct.unpack(">IQQQ", self.control.ask(
            relay.STREAM_WRITTEN, struct.pack(">Q", stream or self.stream), 28))
        equal(code, relay.OK, "STREAM_WRITTEN")
        return tuple(numbers)

    def packets(self, *numbers):
        """Those of the tracer, until they are written."""
        for number in numbers:
            self.put(self.stream, self.seq, payload(number),
                     packet_seq=number, end=number)
            self.seq += 1
        self.control.wait_written(self.stream, self.seq - 1)

    def again(self):
        """The same sender, after it was killed."""
        return Sender(self.daemon, self.key, self.name, **self.fields)

    def close(self):
        self.control.close_stream(self.meta)
        self.control.close_stream(
            self.stream, self.seq - 1 if self.seq > 0 else relay.NONE)

    def has(self, *numbers):
        check_files(self.dir, numbers)


def payload(number):
    return hashlib.sha256(b"%d" % number).digest() * 16


def check_files(folder, numbers):
    """Exactly these packets, each once, and their records."""
    equal((folder / "ch_0").read_bytes(),
          b"".join(payload(n) for n in numbers), "packets")
    if numbers:
        equal(relay.records(folder / "index/ch_0.idx"),
              [(i * 512, 512, n) for i, n in enumerate(numbers)], "records")


def _wait_parked(daemon, times=1):
    daemon.wait_log("is kept for its sender", times)


def dialogue():
    """Each message, byte for byte."""
    with relay.Daemon() as daemon:
        c = daemon.peer()
        equal(c.ask(relay.GET_CONFIGURATION, struct.pack(">Q", BIT), 12),
              struct.pack(">IQ", 10, 1 | BIT), "it can")
        equal(c.ask(relay.RESUME, KEY), struct.pack(">I", 10), "RESUME")
        ident, _, path = c.create_session()
        c.create_chunk(0)
        handle, _ = c.add_stream("ch_0")
        equal(c.ask(relay.STREAM_WRITTEN, struct.pack(">Q", handle), 28),
              struct.pack(">IQQQ", 10, 0, 0, 0), "nothing yet")
        key = daemon.out / path / ".tracepulse-key"
        equal(key.read_text(), KEY.hex() + "\n", "key file")
        equal(key.stat().st_mode & 0o777, 0o600, "its mode")
        c.metadata(handle, b"")
        equal(c.ends(), b"", "metadata of a stream that has none")
        _wait_parked(daemon)
        c = daemon.peer()
        c.ask(relay.RESUME, KEY)
        equal(c.create_session(), (ident, relay.OK, path), "the same session")
        c.create_chunk(0)
        again, _ = c.add_stream("ch_0")
        check(again != handle, "the same handle")
        equal(c.ask(relay.STREAM_WRITTEN, struct.pack(">Q", handle), 28),
              struct.pack(">IQQQ", 11, 0, 0, 0), "the old handle")
        equal(c.ends(), b"", "and the end")


def refusals():
    with relay.Daemon("--udp-port=data") as daemon:
        c = daemon.peer()
        equal(c.ask(relay.RESUME, bytes(16)), struct.pack(">I", 97), "no key")
        equal(c.ends(), b"", "after it")
        c = daemon.peer()
        c.send(relay.frame(relay.RESUME, KEY[:15]))
        equal(c.ends(), b"", "a short key")
        c = daemon.peer(10)
        c.send(relay.frame(relay.RESUME, KEY))
        equal(c.ends(), b"", "an old peer")
        c = daemon.peer()
        c.ask(relay.RESUME, KEY)
        c.create_session(want=relay.FATAL, snapshot=1)
        equal(c.ends(), b"", "after a snapshot")
        s = Sender(daemon)
        equal(s.control.add_stream("r", size=4096, count=2,
                                   want=relay.UNKNOWN)[1], 11, "rings")
        equal(s.control.ask(10001, struct.pack(">IIIIQ", 1, 1392, 64, 0, 0),
                            44)[:4], struct.pack(">I", 97), "UDP")
        s.control.create_chunk(1, want=relay.PROTOCOL)
        equal(s.control.ends(), b"", "a rotation")
        s = s.again()
        s.control.send(relay.frame(relay.RESUME, KEY))
        equal(s.control.ends(), b"", "within a session")


def a_sender_comes_back():
    """What was received and not written is sent again; numbers begin at 0."""
    with relay.Daemon() as daemon:
        s = Sender(daemon)
        s.control.metadata(s.meta, METADATA)
        s.packets(0, 1)
        s.data.packet(s.stream, 2, payload(2))      # without a record
        s.control.index(s.stream, 3, 512)           # without bytes
        s.leave()
        _wait_parked(daemon)
        b = s.again()
        equal((b.id, b.path), (s.id, s.path), "session")
        equal(b.written(), (1024, 2, 1), "packets")
        equal(b.written(b.meta), (len(METADATA), 0, 0), "metadata")
        b.control.metadata(b.meta, b"/* more */\n")
        b.packets(2, 3)
        b.leave()
        _wait_parked(daemon, 2)
        c = b.again()
        equal(c.written(), (2048, 4, 3), "packets, again")
        c.packets(4)
        c.close()
        c.leave()
        daemon.wait_log("why=closed")
        c.has(*range(5))
        equal((c.dir / "metadata").read_bytes(), METADATA + b"/* more */\n",
              "metadata")
        equal(sorted(p.name for p in (daemon.out / "h").iterdir()),
              [s.path.split("/")[1]], "sessions")


def _states(daemon):
    m = metrics(daemon)
    return [s["state"] for s in ask(
        daemon, "/api/v1/sessions")["sessions"]], [
        m['tracepulse_sessions{state="%s"}' % state]
        for state in ("active", "waiting", "ending")]


def it_is_shown_as_waiting():
    """Also after a restart, and until its sender comes back, or its time or the
    relay ends."""
    with relay.Daemon("--http", "tcp://127.0.0.1:0",
                      "--resume-timeout=1500ms") as daemon:
        s = Sender(daemon)
        equal(_states(daemon), (["active"], [1, 0, 0]), "at first")
        s.leave()
        _wait_parked(daemon)
        equal(_states(daemon), (["waiting"], [0, 1, 0]), "alone")
        daemon.take_over()
        equal(_states(daemon), (["waiting"], [0, 1, 0]), "after a restart")
        s = s.again()
        equal(_states(daemon), (["active"], [1, 0, 0]), "again")
        s.leave()
        _wait_parked(daemon, 2)
        daemon.wait_log("why=left")
        equal(_states(daemon), (["closed"], [0, 0, 0]), "at the end")
        Sender(daemon, name="another").leave()
        _wait_parked(daemon, 3)


def while_it_is_connected():
    """Its link has failed: the older connection is closed."""
    with relay.Daemon() as daemon:
        s = Sender(daemon)
        s.packets(0)
        s.data.send(struct.pack(">QQQII", 0, s.stream, 1, 512, 0) + b"half")
        b = s.again()
        equal((s.control.ends(), s.data.ends()), (b"", b""), "older ones")
        equal(b.written(), (512, 1, 0), "written")
        b.packets(1, 2)
        late = daemon.data()    # what the older sender had in its socket
        late.packet(s.stream, 1, payload(7))
        equal(late.ends(), b"", "an old handle")
        b.close()
        b.leave()
        daemon.wait_log("why=closed")
        b.has(0, 1, 2)
        check(relay.is_served(daemon, "other"), "another session")


def a_viewer_stays():
    with relay.Daemon() as daemon:
        s = Sender(daemon, live=viewer.PERIOD_US)
        s.control.metadata(s.meta, METADATA)
        s.packets(0, 1)
        read = _viewer(daemon, s)
        equal(read(2), [0, 1], "before")
        s.leave()
        _wait_parked(daemon)
        b = s.again()
        b.packets(2)
        equal(read(1), [2], "after")
        b.close()
        b.leave()


def its_relay_was_killed():
    """Also in the middle of a write: files are cut to what has records."""
    with relay.Daemon() as daemon:
        s = Sender(daemon, live=viewer.PERIOD_US)
        s.control.metadata(s.meta, METADATA)
        s.packets(0, 1, 2)
        s.data.packet(s.stream, 3, payload(3))
        daemon.kill()
        s.leave()
        with open(s.dir / "ch_0", "ab") as f:
            f.write(payload(3) + b"part")
        with open(s.dir / "index/ch_0.idx", "ab") as f:
            f.write(b"x" * 40)
        daemon.start_again()
        daemon.recovered()
        b = s.again()
        equal(b.path, s.path, "directory")
        equal(b.written(), (1536, 3, 2), "written")
        equal(b.written(b.meta), (len(METADATA), 0, 0), "metadata")
        b.packets(3, 4)
        equal(_viewer(daemon, b)(5), list(range(5)), "a viewer has all")
        daemon.kill()
        b.leave()
        daemon.start_again()
        daemon.recovered()
        c = b.again()
        equal(c.written(), (2560, 5, 4), "written")
        c.packets(5)
        c.close()
        c.leave()
        daemon.wait_log("why=closed")
        c.has(*range(6))
        equal((c.dir / "metadata").read_bytes(), METADATA, "metadata")


def _viewer(daemon, sender):
    """A viewer, as a function that returns the ends of the next packets."""
    v = viewer.Viewer(daemon)
    v.connect()
    streams = v.ready(v.find(sender.name).id)
    stream = next(x.id for x in streams if not x.is_metadata)

    def read(count):
        found = []
        while len(found) < count:
            index = v.next_index(stream)
            check(index.status not in (viewer.HUP, viewer.ERR), f"{index}")
            if index.status == viewer.OK:
                found.append(index.end)
        return found
    return read


def it_was_closed():
    """In whole, or in part: the sender was killed while it closed."""
    with relay.Daemon() as daemon:
        s = Sender(daemon)
        s.control.metadata(s.meta, METADATA)
        s.packets(0)
        s.control.close_stream(s.meta)
        s.leave()
        _wait_parked(daemon)
        b = s.again()
        equal(b.written(b.meta), (len(METADATA), 0, 0), "metadata")
        b.packets(1)
        b.close()
        b.leave()
        daemon.wait_log("why=closed")
        c = b.again()
        equal((c.path, c.written()), (s.path, (1024, 2, 1)), "after its end")
        c.packets(2)
        c.close()
        c.leave()
        daemon.wait_log("why=closed", 2)
        c.has(0, 1, 2)


def another_key():
    """Who does not know it gets another directory, in any state."""
    with relay.Daemon() as daemon:
        s = Sender(daemon)
        s.packets(0)
        others = [Sender(daemon, b"x" * 16)]
        s.leave()
        _wait_parked(daemon)
        others.append(Sender(daemon, b"y" * 16))
        plain = relay.Peer(daemon)
        check(plain.control.create_session()[2] not in (
            s.path, *(o.path for o in others)), "without a key")
        daemon.kill()
        daemon.start_again()
        daemon.recovered()
        others.append(Sender(daemon, b"z" * 16))
        paths = [s.path, *(o.path for o in others)]
        equal(len(set(paths)), len(paths), "directories")
        for o in others:
            equal(o.dir.parent.parent.parent.exists(), True, o.path)
        equal(others[-1].written(), (0, 0, 0), "nothing of others")
        b = s.again()
        equal((b.path, b.written()), (s.path, (512, 1, 0)), "its own")


def too_many():
    """The one that has waited longest ends; its files go on."""
    with relay.Daemon(workers=1) as daemon:
        senders = [Sender(daemon, name=f"s{i}") for i in range(65)]
        for i, s in enumerate(senders):
            s.packets(0)
            s.leave()
            _wait_parked(daemon, i + 1)
            time.sleep(0.03)    # more than 50 lines in a second are left out
        daemon.wait_log("why=left")
        check("s0 ends: more than 64" in daemon.log_text(), daemon.log_text())
        for i in (0, 1):
            b = senders[i].again()
            equal((b.path, b.written()), (senders[i].path, (512, 1, 0)),
                  f"session {i}")
            equal(b.id == senders[i].id, i == 1, f"object {i}")


def its_time_is_over():
    with relay.Daemon("--resume-timeout=200ms") as daemon:
        s = Sender(daemon)
        s.packets(0)
        s.leave()
        daemon.wait_log("why=left")
        b = s.again()
        check(b.id != s.id, "the same object")
        b.packets(1)
        b.has(0, 1)
        b.leave()
        daemon.wait_log("why=left", 2)
    with relay.Daemon("--resume-timeout=0") as daemon:
        s = Sender(daemon)
        s.packets(0)
        s.leave()
        daemon.wait_log("why=left")
        check("is kept" not in daemon.log_text(), "it was kept")
        equal(s.again().written(), (512, 1, 0), "written")


def another_process_has_it():
    """The relay before this one may still be about to end: then it is refused,
    and not begun elsewhere."""
    with relay.Daemon() as daemon:
        s = Sender(daemon)
        s.packets(0)
        s.close()
        s.leave()
        daemon.wait_log("why=closed")
        fd = os.open(daemon.out / s.path, os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        c = daemon.peer()
        c.code(relay.RESUME, KEY)
        c.create_session(want=relay.FATAL)
        equal(c.ends(), b"", "after it")
        os.close(fd)
        b = s.again()
        equal((b.path, b.written()), (s.path, (512, 1, 0)), "then")


def with_a_window():
    """A session is kept, but its files are not continued."""
    with relay.Daemon("--live-window=1M") as daemon:
        s = Sender(daemon, live=viewer.PERIOD_US)
        s.packets(0, 1)
        s.leave()
        _wait_parked(daemon)
        b = s.again()
        equal((b.id, b.written()), (s.id, (1024, 2, 1)), "kept")
        b.packets(2)
        equal((b.dir / "ch_0_0").read_bytes(),
              b"".join(map(payload, range(3))), "packets")
        b.control.close_stream(b.stream, b.seq - 1)
        b.leave()
        _wait_parked(daemon, 2)
        c = b.again()
        equal(c.written(), (0, 0, 0), "a stream that begins again")
        c.packets(7)
        equal((c.dir.parent / "64-bit-1/ch_0_0").read_bytes(), payload(7),
              "its folder")
        c.close()
        c.leave()
        daemon.wait_log("why=closed")
        check(c.again().path != s.path, "files were continued")


def restarts():
    """A kept session moves; so does one whose sender is there."""
    with relay.Daemon() as daemon:
        s, other = Sender(daemon), Sender(daemon, b"o" * 16, "other")
        s.packets(0)
        other.packets(0)
        s.leave()
        _wait_parked(daemon)
        daemon.take_over()
        b = s.again()
        equal((b.id, b.written()), (s.id, (512, 1, 0)), "kept")
        b.packets(1)
        other.packets(1)
        c = other.again()
        equal((other.control.ends(), c.written()), (b"", (1024, 2, 1)),
              "taken from its connection")
        c.packets(2)
        c.has(0, 1, 2)
        b.has(0, 1)


def a_stop():
    """Sessions that wait do not delay it, and go on after it."""
    with relay.Daemon() as daemon:
        s = Sender(daemon)
        s.packets(0)
        s.leave()
        _wait_parked(daemon)
        began = time.monotonic()
        daemon.stop()
        check(time.monotonic() - began < 5, "slow")
        check("sessions cut" not in daemon.log_text(), "it counts as cut")
        daemon.start_again()
        b = s.again()
        equal((b.path, b.written()), (s.path, (512, 1, 0)), "after a stop")
        b.packets(1)
        b.has(0, 1)


def a_directory_that_is_not_its_own():
    """What is there without the key, or is no such file, is left alone."""
    with relay.Daemon() as daemon:
        s = Sender(daemon)
        s.packets(0)
        s.close()
        s.leave()
        daemon.wait_log("why=closed")
        index = s.dir / "index/ch_0.idx"
        good = index.read_bytes()
        index.write_bytes(b"something else, of another program")
        c = daemon.peer()
        c.code(relay.RESUME, KEY)
        c.create_session()
        c.create_chunk(0)
        equal(c.add_stream("ch_0", want=relay.UNKNOWN)[1], 11, "refused")
        equal(index.read_bytes(), b"something else, of another program", "it")
        c.close()
        daemon.wait_log("why=closed", 2)
        index.write_bytes(good)
        (daemon.out / s.path / ".tracepulse-key").unlink()
        b = s.again()
        check(b.path != s.path, "without the key")
        s.has(0)


if __name__ == "__main__":
    sys.exit(relay.main(at_once=4))
