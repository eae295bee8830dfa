#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is on disk after a crash, a full disk, an orderly end under load.
Starts daemons of its own.

usage: crash.py [--times N] [CASE...]
"""
import os
import pathlib
import random
import struct
import subprocess
import sys
import threading
import time

import relay
import small_disk
from relay import check, equal

MIB = 1024 * 1024
HEADER, RECORD = 16, 72
SIZES = {"small": 4096, "large": 3 * MIB}
CHUNKS = 3
times = 25


def payload(seq, size):
    return struct.pack("<Q", seq) * (size // 8)


class Writer(threading.Thread):
    """A session that streams, rotates and asks, until the daemon is gone."""

    def __init__(self, daemon, name, size, ring=(0, 0)):
        super().__init__()
        self.size, self.ring = size, ring
        self.session = relay.Session(daemon, name)
        self.stream = self.session.add("load", size=ring[0], count=ring[1])
        self.session.control.is_strict = False
        self.seq, self.safe = 0, -1
        self.where = daemon.out / self.session.path

    def packet(self):
        s = self.session
        s.data.packet(self.stream, self.seq, payload(self.seq, self.size))
        code = s.control.index(self.stream, self.seq, self.size)
        self.seq += 1
        return code

    def rotate(self, chunk):
        s = self.session
        s.control.create_chunk(chunk)
        s.control.rotate(chunk, (self.stream, self.seq), (s.stream, 0),
                         (s.meta, 0))
        s.control.metadata(s.meta, b"m" * 4096)
        s.control.close_chunk(chunk - 1, 0)

    def run(self):
        s = self.session
        try:
            while True:
                self.packet()
                s.control.metadata(s.meta, b"m" * 100)
                if s.control.pending(self.stream, self.seq - 1) == 0:
                    self.safe = self.seq - 1
                if self.seq % 7 == 0 and self.seq // 7 < CHUNKS:
                    self.rotate(self.seq // 7)
        except (OSError, relay.Failed, struct.error):
            pass
        s.leave()

    def found(self, is_whole):
        """The numbers of the packets on disk. IS_WHOLE: no torn ones."""
        seqs = []
        for data in self.where.rglob("load*"):
            if data.suffix != ".idx":
                seqs += self.check_pair(data, is_whole)
        return sorted(seqs)

    def check_pair(self, data, is_whole):
        blob = data.read_bytes()
        if is_whole:
            equal(len(blob) % self.size, 0, f"{data}: torn")
        path = data.parent / "index" / (data.name + ".idx")
        for offset, size, seq in relay.records(path, is_whole) \
                if path.exists() else ():
            check(blob[offset:offset + size] == payload(seq, self.size),
                  f"{path}: a record of packet {seq} without its bytes")
        return [struct.unpack_from("<Q", blob, at)[0]
                for at in range(0, len(blob) - self.size + 1, self.size)]


def killed_at_any_instant():
    """What DATA_PENDING called written is there; the index is never ahead of
    the data; the next start leaves whole packets only."""
    rng = random.Random(1)
    with relay.Daemon(workers=2) as daemon:
        for n in range(times):
            writers = [Writer(daemon, f"{name}{n}", size)
                       for name, size in SIZES.items()]
            writers.append(Writer(daemon, f"ring{n}", 4096, (3 * 4096, 2)))
            for w in writers:
                w.start()
            time.sleep(rng.random() * 0.15)
            daemon.kill()
            for w in writers:
                w.join()
                seqs = w.found(False)
                if w.ring == (0, 0):
                    check(set(range(w.safe + 1)) <= set(seqs),
                          f"of {w.safe + 1} packets only {seqs} are there")
            daemon.start_again()
            daemon.recovered()
            for w in writers:
                seqs = w.found(True)
                if w.ring == (0, 0):
                    equal(seqs, list(range(len(seqs))), "numbers")
                    check(len(seqs) > w.safe, "packets were cut")
            equal(journals(daemon), [], "journals left")


def journals(daemon):
    return [p.name for p in daemon.out.iterdir()
            if p.name.startswith(".tracepulse")]


class Sequence(threading.Thread):
    """Short sessions one after another, until the daemon is gone. IS_ALONE:
    nothing else is recorded, so no journal is there between two of them."""

    def __init__(self, daemon, name, is_alone):
        super().__init__()
        self.daemon_, self.title, self.is_alone = daemon, name, is_alone
        self.sessions, self.done, self.error = [], 0, None

    def run(self):
        try:
            while True:
                s = relay.Session(self.daemon_,
                                  f"{self.title}-{len(self.sessions)}")
                self.sessions.append(s)
                s.packet()
                s.packet()
                s.finish()
                left = journals(self.daemon_)
                self.done += 1
                check(not self.is_alone or not left, f"{left} is left")
        except relay.Failed as error:
            # The error of a connection that broke is expected.
            self.error = error if "left" in str(error) else None
        except (OSError, struct.error):
            pass

    def check(self):
        """Of those that had ended all is there; of the last one what is whole.
        The next start has cut it."""
        check(self.error is None, str(self.error))
        for n, s in enumerate(self.sessions):
            if n < self.done:
                s.check()
                continue
            for path, head, size in ((s.dir / "ch_0", 0, 4096),
                                     (s.dir / "index/ch_0.idx", HEADER,
                                      RECORD)):
                length = path.stat().st_size if path.exists() else 0
                check(length == 0 or (length - head) % size == 0,
                      f"{path}: {length} bytes")


def killed_between_short_sessions():
    """The journal comes and goes with them, and with each crash what is whole
    is there."""
    rng = random.Random(4)
    with relay.Daemon(workers=1) as daemon:
        for n in range(times):
            writers = [Sequence(daemon, f"short{n}-{i}", n % 2 == 0)
                       for i in range(1 + n % 2)]
            for w in writers:
                w.start()
            time.sleep(rng.random() * 0.1)
            daemon.kill()
            for w in writers:
                w.join()
            daemon.start_again()
            daemon.recovered()
            equal(journals(daemon), [], "journals left")
            for w in writers:
                w.check()


def stopped_at_any_instant():
    """SIGTERM under load: whole packets in order, as many as were asked
    for, and no temporary name."""
    rng = random.Random(2)
    for n in range(times // 3 + 1):
        with relay.Daemon(workers=2) as daemon:
            writers = [Writer(daemon, f"{name}{n}", size)
                       for name, size in SIZES.items()]
            for w in writers:
                w.start()
            time.sleep(rng.random() * 0.15)
            daemon.stop()
            for w in writers:
                w.join()
                seqs = w.found(True)
                equal(seqs, list(range(len(seqs))), "numbers")
                check(len(seqs) > w.safe, "packets are lost")
            equal({p.name for p in daemon.out.rglob(".*")},
                  set(), "hidden names")


def open_links(daemon):
    """What sessions have open: sockets, and what lies below the output
    directory, but for journals, which come and go with the files, the reserve,
    which has no name, and the notes."""
    found, below = [], str(daemon.out) + "/"
    for link in pathlib.Path(f"/proc/{daemon.process.pid}/fd").iterdir():
        try:
            to = os.readlink(link)
            name = to.removeprefix(below)
            if to.startswith("socket:") or (
                    to.startswith(below) and name[0] not in ".#"):
                found.append(to)
        except FileNotFoundError:
            pass        # closed meanwhile
    return found


def open_now(daemon):
    return len(open_links(daemon))


def open_at_rest(daemon):
    """The same without connections. Threads that start after the port files are
    written have all started when the daemon answers."""
    control = daemon.peer()
    count = open_now(daemon) - 1
    control.sock.close()
    return count


def wait_until_settled(daemon, before):
    """The daemon learns of a broken connection a moment later, and first
    reads what is under way: it is done when nothing of it is open."""
    relay.wait_until(lambda: f"a broken session is not closed: {before} "
                     f"before, {sorted(open_links(daemon))}",
                     lambda: open_now(daemon) <= before, 30)


def peers_killed_at_any_instant():
    """The connections break; nothing torn is in a file."""
    rng = random.Random(3)
    with relay.Daemon(workers=2) as daemon:
        before = open_at_rest(daemon)
        for n in range(times):
            writers = [Writer(daemon, f"{name}{n}", size)
                       for name, size in SIZES.items()]
            for w in writers:
                w.start()
            time.sleep(rng.random() * 0.05)
            for w in writers:
                for conn in rng.sample((w.session.control, w.session.data), 2):
                    try:
                        conn.sock.shutdown(2)
                    except OSError:
                        pass        # the other one took it along
            for w in writers:
                w.join()
            wait_until_settled(daemon, before)
            for w in writers:
                seqs = w.found(True)
                equal(seqs, list(range(len(seqs))), "numbers")
                check(len(seqs) > w.safe, "packets are lost")


def a_full_disk():
    """Only what does not fit is lost, and the peer gets an error; what arrives
    when there is space again is written."""
    small_disk.run(fill_up, "--on-full=refuse")


def a_disk_that_was_full():
    """A crash after it is as any other: the journal of open streams is tried
    again, and all that is open is in it then."""
    small_disk.run(crash_after_full, workers=1)


def crash_after_full(daemon):
    # A relay that was there before has room for a journal.
    daemon.stop()
    small_disk.fill(daemon)
    daemon.start_again()
    control = daemon.peer()
    control.create_session(name="early")
    control.create_chunk(0)
    stream, _ = control.add_stream("ch_0")
    small_disk.make_room(daemon)
    time.sleep(0.1)
    w = Writer(daemon, "early", 4096)
    for _ in range(3):
        equal(w.packet(), relay.OK, "SEND_INDEX")
    w.session.control.wait_written(w.stream, w.seq - 1)
    daemon.kill()
    # What a kill in the middle of a write leaves.
    files = [next(w.where.rglob("load")),
             next(p for p in daemon.out.rglob("ch_0") if w.where not in
                  p.parents)]
    for path in files:
        with open(path, "ab") as f:
            f.write(b"t" * 1000)
    daemon.start_again()
    daemon.recovered()
    equal([p.stat().st_size for p in files], [3 * 4096, 0], "after a crash")
    text = daemon.log_text()
    equal(text.count("cannot grow"), 1, "warnings")
    check("after a crash: No space left on device" in text, "the reason")
    equal(text.count("works again"), 1, "good news")


def fill_up(daemon):
    w = Writer(daemon, "full", 512 * 1024)
    codes = [w.packet() for _ in range(24)]
    until = time.monotonic() + relay.TIMEOUT
    while (code := w.session.control.pending(w.stream, w.seq - 1)) == 1:
        check(time.monotonic() < until, "DATA_PENDING stays")
    codes += [relay.UNKNOWN] * (code != 0)
    check(relay.UNKNOWN in codes, "the peer was not told")
    first = w.found(True)
    equal(first, list(range(len(first))), "numbers")
    check(12 <= len(first) <= 15, f"{len(first)} packets are there")
    s = relay.Session(daemon, "late")
    subprocess.run(["mount", "-o", "remount,size=32m", str(daemon.out)],
                   check=True)
    while w.packet() != relay.OK:
        pass
    for _ in range(3):
        equal(w.packet(), relay.OK, "goes on")
    w.session.control.wait_written(w.stream, w.seq - 1)
    again = w.found(True)
    equal(again[:len(first)], first, "before")
    equal(again[-4:], list(range(w.seq - 4, w.seq)), "after")
    s.packet()
    s.finish()
    lines = daemon.log_text().count("No space left")
    check(0 < lines < 5, f"{lines} lines of log for one full disk")


if __name__ == "__main__":
    chosen = sys.argv[1:]
    if chosen[:1] == ["--times"]:
        times, chosen = int(chosen[1]), chosen[2:]
    sys.exit(relay.main(chosen))
