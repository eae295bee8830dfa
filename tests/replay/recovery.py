#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The start after a crash or a power cut, with whatever lies in the output
directory. Starts daemons of its own.

usage: recovery.py [CASE...]
"""
import os
import struct
import sys
import time

import old_peers
import relay
from flood import STOP, ended_after
from relay import check, equal, soon

PREFIX = ".tracepulse-journal."
MAGIC = 0x54504a32
SLOT = 128
HEAD, ROOT, MORE, FILE = 1, 2, 3, 4
BOOT_AT = 16 + 8        # in slot 0


def journal_of(daemon):
    found = [p for p in daemon.out.iterdir() if p.name.startswith(PREFIX)]
    equal(len(found), 1, "journals")
    return found[0]


def put(path, blob, is_of_another_boot):
    """Leave a journal as a dead relay does."""
    if is_of_another_boot and blob[16:20] == struct.pack("=I", MAGIC):
        blob = blob[:BOOT_AT] + b"f" * 36 + b"\0" * 4 + blob[BOOT_AT + 40:]
    path.write_bytes(blob)
    path.chmod(0o600)


def restart(daemon):
    """It listens, and may still recover."""
    began = time.monotonic()
    daemon.start_again()
    took = time.monotonic() - began
    check(took < 10, f"it listens after {took:.1f} s")


def a_power_cut_undoes_the_journal_only(*options):
    """The kernel wrote the journal's page before the last packets, which
    --sync had on the disk: they stay, also those of a closed session."""
    with relay.Daemon(*options, workers=1) as daemon:
        closed, going = (relay.Session(daemon, n) for n in ("closed", "going"))
        for session in closed, going:
            session.packets(1)
        journal = journal_of(daemon)
        page = journal.read_bytes()
        for session in closed, going:
            session.packets(5)
        closed.finish()
        if "packet" in options:     # what is synced stands in the journal
            page = journal.read_bytes()
        daemon.kill()
        put(journal, page, True)
        restart(daemon)
        soon(closed.check)
        soon(going.check)


def a_power_cut_with_sync_close():
    a_power_cut_undoes_the_journal_only("--sync", "close")


def a_power_cut_with_sync_packet():
    a_power_cut_undoes_the_journal_only("--sync", "packet")


def a_power_cut_without_sync():
    a_power_cut_undoes_the_journal_only()


def what_was_not_synced_is_cut():
    """With --sync=packet the journal says what is on the disk. What a power
    cut left of more is not known to be whole."""
    with relay.Daemon("--sync=packet", workers=1) as daemon:
        s = relay.Session(daemon)
        s.packets(3)
        journal = journal_of(daemon)
        page = journal.read_bytes()
        daemon.kill()
        with open(s.dir / "ch_0", "ab") as data:
            data.write(bytes(4096))
        with open(s.dir / "index/ch_0.idx", "ab") as index:
            index.write(bytes(72))
        put(journal, page, True)
        restart(daemon)
        soon(s.check)


def synced_after(daemon, session, seconds):
    """Does the journal say that all of the session is on the disk?"""
    until = time.monotonic() + seconds
    sizes = {(session.dir / "ch_0").stat().st_ino: len(session.written)}
    while time.monotonic() < until:
        blob = journal_of(daemon).read_bytes()
        for at in range(SLOT, len(blob), SLOT):
            kind, ino, _, synced = struct.unpack_from("=I12x3Q", blob, at)
            if kind == FILE and sizes.get(ino) == synced:
                return True
        time.sleep(0.02)
    return False


def each_time_all_is_synced():
    """--sync=TIME: what is older is on the disk, and no worker waits."""
    with relay.Daemon("--sync=200ms", workers=1) as daemon:
        s = relay.Session(daemon)
        for _ in range(3):
            s.packets(3)
            check(synced_after(daemon, s, 60), "it is not synced")
        page = journal_of(daemon).read_bytes()
        daemon.kill()
        put(journal_of(daemon), page, True)
        restart(daemon)
        soon(s.check)


def closed_files_stay_until_they_are_synced():
    with relay.Daemon("--sync=20s", workers=1) as daemon:
        s = relay.recorded(daemon)
        page = journal_of(daemon).read_bytes()
        ino = (s.dir / "ch_0").stat().st_ino
        check(struct.pack("=Q", ino) in page, "the closed file is gone")
        relay.wait_until("the journal stays",
                         lambda: not daemon.journals(), 60)


def the_end_does_not_wait_for_a_round():
    with relay.Daemon("--sync=60m", workers=1) as daemon:
        s = relay.recorded(daemon)
        journal_of(daemon)
        daemon.stop()
        equal(daemon.journals(), [], "journals")
        s.check()


def an_index_file_has_its_header():
    """A kill came between its name and its header."""
    with relay.Daemon(workers=1) as daemon:
        s = relay.Session(daemon)
        s.packets(1)
        index = s.dir / "index/ch_0.idx"
        journal = journal_of(daemon)
        page = journal.read_bytes()
        daemon.kill()
        header = index.read_bytes()[:16]
        ino = struct.pack("=Q", index.stat().st_ino)
        at = page.index(ino) + 8
        for left in b"", header[:7]:
            put(journal, page[:at] + bytes(8) + page[at + 8:], False)
            os.truncate(index, 0)
            index.write_bytes(left)
            restart(daemon)
            soon(lambda: equal(index.read_bytes(), header, "index file"))
            if left == b"":
                daemon.kill()


def many_streams_of_an_old_peer():
    """4,000 in one folder, each a root of its own."""
    with relay.Daemon(workers=1) as daemon:
        control = daemon.peer(4)
        control.ask(relay.CREATE_SESSION, old_peers.names("s"), 12)
        path = f"oldhost/s-{old_peers.STAMP}/ust/uid/0/64-bit"
        for n in range(4000):
            code = struct.unpack(">QI", control.ask(
                relay.ADD_STREAM,
                old_peers.stream_request(4, f"c{n}", path), 12))[1]
            equal(code, relay.OK, "ADD_STREAM")
        files = [p for p in daemon.out.rglob("c*") if p.is_file()]
        equal(len(files), 4000, "files")
        daemon.kill()
        for file in files[::100]:
            file.write_bytes(b"torn")
        restart(daemon)
        relay.wait_until("torn data stays", lambda: not any(f.stat().st_size
                                                            for f in files),
                         60)


def sparse_files_with_a_journals_name():
    """They are of no sane size: not read, and left alone."""
    with relay.Daemon(workers=1) as daemon:
        daemon.kill()
        names = [daemon.out / (PREFIX + "%016x" % n) for n in range(2)]
        for name in names:
            name.write_bytes(struct.pack("=5I", HEAD, 0, 0, 0, MAGIC)
                             .ljust(SLOT, b"\0") +
                             struct.pack("=4I", ROOT, 0, 0, 1) + b"h")
            os.truncate(name, 3 << 30)
        restart(daemon)
        soon(lambda: equal(daemon.log_text().count(
            "is not used as a journal"), 1, "lines"))
        check(daemon.rss() < (512 << 20), f"{daemon.rss()} bytes of memory")
        check(all(n.exists() for n in names), "they are removed")


def ends_at_once(daemon, leave):
    """While it recovers, which takes seconds, from what LEAVE() left. The best
    of three tries counts: the machine may be busy."""
    for _ in range(3):
        leave()
        daemon.start_again()
        took = ended_after(daemon, daemon.process.terminate)
        print(f"    end {took:.2f} s", flush=True)
        if took < STOP:
            return
    raise relay.Failed(f"end {took:.2f} s")


def the_end_does_not_wait_for_long_names():
    """A journal with a quarter of a million names of 4,000 bytes."""
    n, long = 1 << 18, 4000
    with relay.Daemon(workers=1) as daemon:
        s = relay.Session(daemon)
        s.packets(1)
        journal = journal_of(daemon)
        head = journal.read_bytes()[:SLOT]
        daemon.kill()
        slots = [head] + [
            struct.pack("=4I", MORE, 0, i + 1 if i < long else 0, 1) +
            b"a".ljust(SLOT - 16, b"\0") for i in range(1, long + 1)]
        slots += [struct.pack("=4I", ROOT, 1, 1, 6) +
                  (b"%06d" % i).ljust(SLOT - 16, b"\0")
                  for i in range(long + 1, n)]
        ends_at_once(daemon, lambda: put(journal, b"".join(slots), False))


def the_end_does_not_wait_for_a_long_index():
    """An index file of 3 GiB, of a power cut: it is a hole."""
    with relay.Daemon("--sync=packet", workers=1) as daemon:
        s = relay.Session(daemon)
        s.packets(1)
        daemon.kill()
        index, journal = s.dir / "index/ch_0.idx", journal_of(daemon)
        ino, size = struct.pack("=Q", index.stat().st_ino), 3 << 30
        page = journal.read_bytes()
        at = page.index(ino) + 16

        def leave():
            os.truncate(index, size)
            put(journal, page[:at] + struct.pack("=Q", size) + page[at + 8:],
                True)
        ends_at_once(daemon, leave)
        equal(index.stat().st_size, size, "it stays for the next start")


def what_is_not_ours_is_left_alone():
    with relay.Daemon(workers=1) as daemon:
        s = relay.Session(daemon)
        s.packets(1)
        journal = journal_of(daemon)
        page = journal.read_bytes()
        daemon.kill()
        journal.unlink()
        with open(s.dir / "ch_0", "ab") as data:
            data.write(b"more")
        outside = daemon.top / "outside"
        outside.write_bytes(page)
        journal.symlink_to(outside)
        foreign = daemon.out / (PREFIX + "foreign")
        if os.geteuid() == 0:
            foreign.write_bytes(page)
            os.chown(foreign, 12345, 12345)
        restart(daemon)
        equal((s.dir / "ch_0").stat().st_size, 4100, "cut by a foreign journal")
        check(journal.is_symlink(), "the link is removed")
        equal(foreign.exists(), os.geteuid() == 0, "foreign file")


if __name__ == "__main__":
    sys.exit(relay.main())
