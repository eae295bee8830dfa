#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each system call that changes a file of the output directory fails once, is
made by half, or is the last thing before a kill. What was acknowledged is there
all the same, the index is never ahead of the data, and babeltrace2 reads it
after the next start. Starts daemons of its own, under nth_file_call.

usage: file_calls.py [SCENARIO:SYNC:N:ACTION...]

A failure prints its SCENARIO:SYNC:N:ACTION, which repeats it; its first parts
alone mean all that begin so. Of all of them a sample is run, by TP_FAULT_SEED;
with TP_TEST_LONG=1 all, some minutes.
"""
import collections
import concurrent.futures
import os
import random
import re
import struct
import subprocess
import sys
import time

import ctf
import relay
import viewer
from relay import Failed, check, equal

TOOL = os.path.abspath("tests/replay/nth_file_call")
KILLS = ("kill", "cut")
OF_WRITES = ("cut", "short", "torn")
ACTIONS = ("kill", "full", "ENOSPC", "EIO", "EDQUOT", "EMFILE", "EINTR",
           *OF_WRITES)
WRITES = ("write", "pwrite", "writev", "pwritev")
SYNCS = ("none", "packet")
PATH = "ust/uid/0/64-bit"
PADDING = 8
SIZE = len(ctf.packet(0)) + PADDING
HEADER = 16
ARCHIVE, DELETE = 0, 2
SHORT_S = 20
BURST = 3        # packets without a question between them
SKIPPED = 77


class Ended(Exception):
    """The relay refused or closed: this dialogue goes no further."""


class Skipped(Exception):
    """The kernel does not let us."""


class Faulty(relay.Daemon):
    """The first start is under the tool, later ones are not."""

    def __init__(self, sync, number, action):
        self.fault, self.is_up = (str(number), action), False
        super().__init__("--sync", sync, "--on-full=refuse", workers=1)

    def _start(self):
        plain = self.command
        if not self.is_up:
            self.command = [TOOL, str(self.out), str(self.top / "calls"),
                            *self.fault, *plain]
        try:
            super()._start()
            self.is_up = True
        except Failed:
            if self.process.poll() is None:
                raise
        self.command = plain

    def calls(self):
        """[(number, name, path)]"""
        text = (self.top / "calls").read_text()
        return [line.split(" ", 2) for line in text.splitlines()]

    def end(self):
        """The exit status after SIGTERM."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(relay.TIMEOUT)
        except subprocess.TimeoutExpired:
            raise Failed("it does not end") from None


class Stream:
    def __init__(self, handle, channel):
        self.handle, self.channel = handle, channel
        self.sent = self.cleared = 0
        self.open = set()       # not known to be written, nor to be lost
        self.acked = set()

    @staticmethod
    def blob(seq):
        return ctf.packet(seq, PADDING) + bytes(PADDING)


class Peer:
    """A session that continues after any error, and records that it got one."""

    def __init__(self, daemon, live=0):
        self.daemon, self.streams, self.path = daemon, [], None
        self.got_error = False  # something could not be written
        self.has_ended = False  # early, refused or closed
        self.control, self.data = daemon.control(), daemon.data()
        self.control.is_strict = False
        self.control.version()
        _, code, self.path = self.control.create_session(name="s", live=live)
        self.must(code)
        self.must(self.control.create_chunk(0))

    @staticmethod
    def must(code):
        if code != relay.OK:
            raise Ended()

    def add(self, channel, **fields):
        handle, code = self.control.add_stream(channel, PATH, **fields)
        self.must(code)
        return Stream(handle, channel)

    def add_all(self, *channels, **fields):
        self.streams = [self.add(c, **fields) for c in channels]
        self.meta = self.add("metadata")
        self.must(self.control.code(relay.STREAMS_SENT))
        self.send_metadata()

    def send_metadata(self):
        self.control.metadata(self.meta.handle, ctf.METADATA)

    def note_error(self, stream):
        stream.open.clear()
        self.got_error = True

    def packet(self, stream):
        seq = stream.sent
        stream.sent += 1
        self.data.packet(stream.handle, seq, ctf.packet(seq, PADDING), PADDING)
        code = self.control.index(stream.handle, seq, SIZE,
                                  content=SIZE - PADDING, begin=1000 * seq,
                                  end=1000 * seq + 10)
        if code == relay.OK:
            stream.open.add(seq)
        else:
            self.note_error(stream)

    def wait(self, stream):
        """Waits until all is written, or the relay reports that it cannot be."""
        until = time.monotonic() + relay.TIMEOUT
        while True:
            code = self.control.pending(stream.handle, stream.sent - 1)
            if code == 0:
                stream.acked |= stream.open
                stream.open.clear()
            elif code != 1:
                self.note_error(stream)
            if code != 1:
                return
            check(time.monotonic() < until, "DATA_PENDING stays 1")
            time.sleep(0.002)

    def packets(self, count):
        for _ in range(count):
            for stream in self.streams:
                self.packet(stream)
                self.wait(stream)

    def next_chunk(self, command):
        """Go to chunk 1, and do COMMAND with chunk 0."""
        c = self.control
        self.must(c.create_chunk(1))
        self.must(c.rotate(1, (self.meta.handle, 0),
                           *((s.handle, s.sent) for s in self.streams)))
        self.send_metadata()
        if command == DELETE:
            for stream in self.streams:
                stream.acked.clear()
                stream.cleared = stream.sent
        self.must(c.close_chunk(0, command)[0])
        until = time.monotonic() + relay.TIMEOUT
        while (answer := c.chunk_exists(0)) == (relay.OK, 1):
            check(time.monotonic() < until, "the old chunk stays")
            time.sleep(0.002)
        self.must(answer[0])

    def close(self):
        self.must(self.control.close_stream(self.meta.handle))
        for stream in self.streams:
            self.must(self.control.close_stream(
                stream.handle, stream.sent - 1))

    def disconnect(self):
        self.control.close()
        self.data.close()


def stream_and_close(peer):
    peer.add_all("a", "b")
    peer.packets(2)
    for stream in peer.streams:
        for _ in range(BURST):
            peer.packet(stream)
        peer.wait(stream)
    peer.close()


def roll_over_and_rotate(peer):
    peer.add_all("a", size=2 * SIZE)
    peer.packets(5)
    peer.next_chunk(ARCHIVE)
    peer.packets(3)
    peer.close()


class Watcher:
    """A viewer that reads until the stream has ended."""

    def __init__(self, daemon):
        self.seen = []
        self.v, self.session, streams = viewer.attached(daemon, "s")
        self.streams = [s.id for s in streams if not s.is_metadata]

    def step(self):
        """False: nothing will come."""
        index = self.v.next_index(self.streams[0])
        if index.status == viewer.OK:
            status, blob = self.v.packet(self.streams[0], index.offset,
                                         index.size // 8)
            # Its file may have been cleared meanwhile.
            if status == viewer.PACKET_OK:
                seq = struct.unpack_from(">Q", blob, len(blob) - PADDING - 8)[0]
                equal(blob, Stream.blob(seq), "what the viewer got")
                self.seen.append(seq)
        self.v.new_streams(self.session)
        return index.status not in (viewer.HUP, viewer.ERR)

    def read(self, stream):
        """All that was acknowledged."""
        until = time.monotonic() + relay.TIMEOUT
        while not stream.acked <= set(self.seen) and self.step():
            check(time.monotonic() < until, f"the viewer saw {self.seen} of "
                  f"{stream.acked}")

    def finish(self):
        until = time.monotonic() + relay.TIMEOUT
        while self.step():
            check(time.monotonic() < until, "no end for the viewer")
        equal(self.seen, sorted(set(self.seen)), "what the viewer saw")
        self.v.close()


def clear_with_a_viewer(peer):
    peer.add_all("a")
    stream, = peer.streams
    peer.packets(2)
    watcher = Watcher(peer.daemon)
    watcher.read(stream)
    peer.next_chunk(DELETE)
    peer.packets(3)
    watcher.read(stream)
    peer.close()
    peer.disconnect()
    watcher.finish()


SCENARIOS = {s.__name__: s for s in (stream_and_close, roll_over_and_rotate,
                                     clear_with_a_viewer)}


def play(daemon, scenario):
    """The dialogue, as far as it goes. None: there was no session."""
    peer = None
    try:
        peer = Peer.__new__(Peer)
        peer.__init__(daemon, live=100_000 * ("viewer" in scenario))
        SCENARIOS[scenario](peer)
    except (Ended, OSError, struct.error):
        peer.got_error = peer.has_ended = True
    except Failed as error:
        # A connection that was closed is an answer; one that is silent is not.
        if not str(error).startswith("closed"):
            raise
        peer.got_error = peer.has_ended = True
    for conn in (getattr(peer, name, None) for name in ("control", "data")):
        if conn is not None:
            conn.close()
    return peer if getattr(peer, "path", None) else None


def pair(data, is_whole):
    """The packets that an index file has, each with its bytes."""
    blob = data.read_bytes()
    path = data.parent / "index" / (data.name + ".idx")
    if is_whole:
        equal(len(blob) % SIZE, 0, f"{data}: torn")
        check(not path.exists() or path.stat().st_size >= HEADER,
              f"{path}: no header")
    found = []
    for offset, size, seq in relay.records(path, is_whole) \
            if path.exists() else ():
        equal(blob[offset:offset + size], Stream.blob(seq),
              f"{path}: packet {seq}")
        found.append(seq)
    return found


def look(peer, is_whole):
    top = peer.daemon.out / peer.path
    for stream in getattr(peer, "streams", ()):
        found = []
        for data in sorted(top.rglob(f"{stream.channel}*")):
            if re.fullmatch(stream.channel + r"(_\d+)?", data.name):
                found += pair(data, is_whole)
        equal(len(found), len(set(found)), f"{found}: packets in the index")
        check(stream.acked <= set(found),
              f"{stream.channel}: of {stream.acked} the index has {found}")


def goes_on(peer, action):
    """If a call fails once, only what it should have written is lost."""
    for stream in getattr(peer, "streams", ()):
        left = stream.sent - stream.cleared - len(stream.acked)
        check(peer.has_ended or action in (*KILLS, "full") or
              left <= BURST, f"{stream.channel}: {left} packets are lost")


def read_back(peer):
    """babeltrace2 reads the session. Traces are not read if their metadata could
    not be written and the peer got an error."""
    top = peer.daemon.out / peer.path
    acked = collections.Counter()
    for stream in getattr(peer, "streams", ()):
        acked.update(stream.acked)
    whole = [p.parent for p in top.rglob("metadata")
             if p.read_bytes() == ctf.METADATA]
    if not whole:
        check(peer.got_error or not acked, "no metadata")
        return
    found = ctf.read(*whole)
    if found is None:
        return
    if len(whole) == len(list(top.rglob("metadata"))):
        missing = acked - collections.Counter(found[0])
        check(not missing, f"babeltrace2 does not see {sorted(missing)}")


def run_one(scenario, sync, number, action):
    """The calls that there were."""
    daemon = Faulty(sync, number, action)
    try:
        peer = play(daemon, scenario) if daemon.is_up else None
        status = daemon.end()
        calls = daemon.calls()
        if status == SKIPPED:
            raise Skipped()
        allowed = [0]
        if action in KILLS:
            allowed.append(-9)
        elif not daemon.is_up:
            allowed.append(1)
        check(status in allowed, f"exit status {status}")
        if peer is not None:
            look(peer, action not in KILLS)
            goes_on(peer, action)
        for name in ("control", "data", "live"):
            (daemon.rundir / f"relayd/{name}.port").unlink(missing_ok=True)
        daemon.is_up = True
        daemon.start_again()
        daemon.recovered()
        if peer is not None:
            look(peer, True)
            read_back(peer)
        equal(daemon.end(), 0, "exit status after the next start")
        equal({p.name for p in daemon.out.glob(".*")}, set(),
              "hidden names")
        return calls
    except Failed:
        print(daemon.log_text())
        raise
    finally:
        daemon.remove()


def faults_of(scenario, sync):
    calls = run_one(scenario, sync, 0, "none")
    print(f"{scenario}, --sync={sync}: {len(calls)} calls", flush=True)
    for number, name, _ in calls:
        for action in ACTIONS:
            if action not in OF_WRITES or name in WRITES:
                yield scenario, sync, int(number), action


def all_faults(name=""):
    for scenario in SCENARIOS:
        for sync in SYNCS:
            if f"{scenario}:{sync}".startswith(name):
                yield from faults_of(scenario, sync)


def chosen(names):
    for name in names:
        if name.count(":") == 3:
            scenario, sync, number, action = name.split(":")
            yield scenario, sync, int(number), action
        else:
            yield from all_faults(name)
    if names:
        return
    faults = list(all_faults())
    if not os.environ.get("TP_TEST_LONG"):
        random.Random(os.environ.get("TP_FAULT_SEED", "1")).shuffle(faults)
    yield from faults


def is_good(fault, until):
    """None: it is too late for this one."""
    if time.monotonic() > until:
        return None
    try:
        run_one(*fault)
    except Failed as error:
        print(":".join(map(str, fault)), f"FAILED: {error}", flush=True)
        return False
    return True


def main(names):
    is_all = names or os.environ.get("TP_TEST_LONG")
    until = float("inf") if is_all else time.monotonic() + SHORT_S
    try:
        faults = list(chosen(names))
    except Skipped:
        print("SKIP: this kernel has no seccomp user notification")
        return SKIPPED
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        good = list(pool.map(lambda fault: is_good(fault, until), faults))
    print(f"{len(good) - good.count(None)} faults of {len(good)}, "
          f"{good.count(False)} failed")
    return 1 if False in good else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
