#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sessions that share a directory: the domains of one tracing session, with
common trace chunks, and snapshots of one name. Starts daemons of its own."""
import fcntl
import os
import sys
import time

import relay
from relay import check, equal

KERNEL, USER = "kernel", "ust/uid/0/64-bit"
ARCHIVE, KEEP, DELETE = 0, 1, 2
NAMES = {0: "20270115T080000+0000-0", 1: "20270115T080000+0000-1"}
ARCHIVED_0 = "20270115T080000+0000-20270115T080001+0000-0"


class Domain(relay.Peer):
    """One consumer daemon of a tracing session: a control connection, a data
    connection, one stream, its metadata."""

    def __init__(self, daemon, path, **fields):
        super().__init__(daemon)
        self.path, self.out, self.seq = path, daemon.out, 0
        self.id, _, self.dir = self.control.create_session(**fields)

    def streams(self):
        self.stream = self.add("c_0", path=self.path)
        self.meta = self.add("metadata", path=self.path)
        self.control.code(relay.STREAMS_SENT)

    def packet(self):
        self.put(self.stream, self.seq, bytes([self.seq]) * 4096)
        self.seq += 1

    def settle(self):
        self.control.wait_written(self.stream, self.seq - 1)

    def rotate(self, chunk):
        self.control.rotate(chunk, (self.stream, self.seq))
        self.control.rotate(chunk, (self.meta, 0))

    def content(self, below):
        """The first byte of each packet in the file below DIR/BELOW."""
        where = self.out / self.dir / below / self.path
        blob = (where / "c_0").read_bytes()
        equal(len(blob) % 4096, 0, f"{where}: size")
        index = where / "index/c_0.idx"
        size = index.stat().st_size if index.exists() else 16
        equal(size, 16 + 72 * (len(blob) // 4096), f"{where}: index")
        return list(blob[::4096])


def both(daemon, **fields):
    domains = [Domain(daemon, path, **fields) for path in (KERNEL, USER)]
    for d in domains:
        d.control.create_chunk(0)
        d.streams()
        d.packet()
        d.settle()
    return domains


def begin_rotation(domains):
    for d in domains:
        d.control.create_chunk(1)


def names(daemon, domain):
    return sorted(p.name for p in (daemon.out / domain.dir).iterdir())


def domains_share_chunks():
    """Every one of them sends every command; the last release archives."""
    with relay.Daemon(workers=4) as daemon:
        kernel, user = domains = both(daemon)
        equal(kernel.dir, user.dir, "directory")
        equal(kernel.content(""), [0], "before")
        begin_rotation(domains)
        kernel.rotate(1)
        equal(kernel.control.close_chunk(0, ARCHIVE),
              (relay.OK, f"{kernel.dir}/archives/{ARCHIVED_0}"), "close 0")
        equal(kernel.control.chunk_exists(0), (relay.OK, 1), "not yet gone")
        archives = daemon.out / kernel.dir / "archives"
        equal(list(archives.iterdir()), [], "too early")
        user.packet()
        user.rotate(1)
        user.settle()
        user.control.close_chunk(0, ARCHIVE)
        kernel.control.wait_gone(0)
        user.control.wait_gone(0)
        for d in domains:
            d.packet()
            d.settle()
        equal(kernel.content("archives/" + ARCHIVED_0), [0], "kernel's first")
        equal(user.content("archives/" + ARCHIVED_0), [0, 1], "user's first")
        equal(kernel.content(NAMES[1]), [1], "kernel's second")
        equal(user.content(NAMES[1]), [2], "user's second")
        equal(names(daemon, kernel), [NAMES[1], "archives"], "names")
        for d in domains:
            d.leave()


def domains_clear_together():
    with relay.Daemon(workers=4) as daemon:
        kernel, user = domains = both(daemon)
        begin_rotation(domains)
        for d in domains:
            d.rotate(1)
        for d in domains:
            d.control.close_chunk(0, DELETE)
        for d in domains:
            d.control.wait_gone(0)
            d.packet()
            d.settle()
        equal(names(daemon, kernel), ["kernel", "ust"], "names")
        equal(kernel.content(""), [1], "kernel")
        equal(user.content(""), [1], "user")
        for d in domains:
            d.leave()


def both_vanish_in_a_rotation():
    """Temporary names do not stay; the path can be used again."""
    with relay.Daemon(workers=4) as daemon:
        kernel, user = domains = both(daemon)
        begin_rotation(domains)
        kernel.rotate(1)
        for d in domains:
            d.leave()
        relay.wait_until(lambda: f"{names(daemon, kernel)}", lambda:
                         names(daemon, kernel) == sorted(NAMES.values()))
        again = both(daemon)
        equal(again[0].dir, kernel.dir + "-1", "a place of its own")
        for d in again:
            d.leave()


def rotation(d):
    """The commands of one domain: from chunk 0 to chunk 1."""
    def close():
        path = f"{d.dir}/archives/{ARCHIVED_0}"
        equal(d.control.close_chunk(0, ARCHIVE), (relay.OK, path), "close 0")

    def packet():
        d.packet()
        d.settle()
    return [lambda: d.control.create_chunk(1),
            lambda: d.rotate(1), packet, close]


def vanish(daemon, domain):
    """The daemon has seen its end, and has done what follows."""
    before = daemon.log_text().count("session ended")
    domain.leave()
    relay.wait_until(
        "the session stays",
        lambda: daemon.log_text().count("session ended") != before)


def dies_after(dead, done_dead, done):
    """One dies after so many of its commands, the other has done so many."""
    with relay.Daemon("-v", workers=4 if done % 2 else 1) as daemon:
        domains = both(daemon)
        lost, alive = domains[dead], domains[1 - dead]
        for step in rotation(alive)[:done]:
            step()
        for step in rotation(lost)[:done_dead]:
            step()
        vanish(daemon, lost)
        for step in rotation(alive)[done:]:
            step()
        alive.control.wait_gone(0)
        # And the next one.
        alive.packet()
        alive.settle()
        equal(names(daemon, alive), [NAMES[1], "archives"], "names")
        equal(alive.content("archives/" + ARCHIVED_0), [0], "first")
        equal(alive.content(NAMES[1]), [1, 2], "second")
        equal(lost.content("archives/" + ARCHIVED_0), [0], "first of the dead")
        if done_dead > 2:
            equal(lost.content(NAMES[1]), [1], "second of the dead")
        alive.leave()


def one_dies_between_any_two_commands():
    wrong = []
    for dead in 0, 1:
        for done_dead in range(5):
            for done in range(5):
                try:
                    dies_after(dead, done_dead, done)
                except relay.Failed as e:
                    wrong.append(f"{dead} after {done_dead}, other {done}: "
                                 f"{e}")
    check(not wrong, "\n  ".join(wrong))


def a_late_one_joins():
    with relay.Daemon(workers=4) as daemon:
        kernel, user = domains = both(daemon)
        late = Domain(daemon, "ust/uid/0/32-bit", chunk=0)
        late.streams()
        equal(late.dir, kernel.dir, "directory")
        domains.append(late)
        late.packet()
        late.settle()
        begin_rotation(domains)
        for d in domains:
            d.rotate(1)
            d.control.close_chunk(0, ARCHIVE)
        for d in domains:
            d.control.wait_gone(0)
            equal(d.content("archives/" + ARCHIVED_0), [0], d.path)
            d.leave()
        alone = daemon.peer()
        alone.create_session(chunk=7, want=relay.FATAL)


def one_that_ended_is_not_joined():
    """Its control connection is gone, its bytes are still under way: who comes
    with the same ids is another run, with chunks of its own."""
    with relay.Daemon("-v", workers=1) as daemon:
        old = Domain(daemon, USER)
        old.control.create_chunk(0)
        old.streams()
        old.control.index(old.stream, 0, 4096)
        old.control.close()
        daemon.wait_log("control connection ended")
        new = Domain(daemon, USER)
        check(new.dir != old.dir, f"both in {new.dir}")
        for d in (new, old):
            if d is new:
                d.control.create_chunk(0)
                d.streams()
                d.packet()
                d.settle()
            else:
                d.data.packet(d.stream, 0, bytes([0]) * 4096)
        daemon.wait_log("session ended")
        equal(old.content(""), [0], "old")
        equal(new.content(""), [0], "new")
        old.data.close()
        new.leave()


def snapshots_of_one_name_share_a_directory():
    with relay.Daemon() as daemon:
        for n in range(3):
            d = Domain(daemon, USER, snapshot=1)
            equal(d.dir, "h/s-20270115-080000", "directory")
            d.control.create_chunk(n, name=f"snapshot-{n}-t-0")
            handle, _ = d.control.add_stream("c_0", path=USER)
            for seq in range(4 * n, 4 * n + 4):
                d.data.packet(handle, seq, bytes([seq]) * 4096)
            d.control.close_stream(handle, 4 * n + 3)
            equal(d.control.close_chunk(n),
                  (relay.OK, f"{d.dir}/snapshot-{n}-t-0"), "path")
            d.control.wait_gone(n)
            equal(list((daemon.out / d.dir / f"snapshot-{n}-t-0" / USER /
                        "c_0").read_bytes()[::4096]),
                  list(range(4 * n, 4 * n + 4)), "content")
        equal(names(daemon, d), [f"snapshot-{n}-t-0" for n in range(3)],
              "names")


def released(directory):
    """The daemon learns a moment later that a session's peer is gone."""
    fd = os.open(directory, os.O_RDONLY)
    until = time.monotonic() + relay.TIMEOUT
    try:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                check(time.monotonic() < until, f"{directory} stays claimed")
                time.sleep(0.002)
    finally:
        os.close(fd)


def a_snapshot_moves_nothing_of_another_session():
    """A snapshot session gets a directory of its own beside it."""
    with relay.Daemon() as daemon:
        good = relay.recorded(daemon, "good", base="place")
        released(daemon.out / good.path)
        before = daemon.tree()
        for command in (ARCHIVE, KEEP, DELETE):
            bad = Domain(daemon, USER, uuid=b"b" * 16, base="place",
                         snapshot=1)
            equal(bad.dir, good.path + "-1", "directory")
            when = 1_700_000_000 + 10 * command
            bad.control.create_chunk(0, when)
            bad.control.add_stream("mine", path=USER)
            bad.control.add_stream("ch_0", path=USER)
            bad.control.create_chunk(1, when + 1)
            bad.control.close_chunk(0, command, when + 2)
            bad.leave()
        time.sleep(0.2)
        after = daemon.tree()
        for name, what in before.items():
            equal(after.get(name, "gone"), what, name)


if __name__ == "__main__":
    sys.exit(relay.main(at_once=4))
