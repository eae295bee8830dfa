#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recorded sessions of stock trace-cmd, played to the listener: the files are the
stock listener's, whatever way the session ends."""
import contextlib
import os
import pathlib
import random
import re
import signal
import socket
import struct
import subprocess
import time

from sender import (PAGE, PLAIN, SEND_DATA, Listener, Sender, check,
                    directory, equal, has, listening, message, metadata, part,
                    run, tinit, wait_until)

SEED = int(os.environ.get("TP_SEED", "1"))
KILLS = 300 if os.environ.get("TP_TEST_LONG") else 25
MANY = 40


def is_same(got, name):
    result = part(name, "result")
    check(got == result, f"{name}: {len(got)} bytes, not {len(result)}, or "
          "others")


def the_files_of_the_stock_listener():
    """Each session, at once, in pieces, and byte by byte."""
    chance = random.Random(SEED)
    for name in PLAIN:
        for pieces in (None, 1, 7, chance.randrange(2, 5000)):
            with listening() as listener:
                sender = Sender(listener)
                sender.play(name, pieces if pieces != 1 or
                            len(part(name, "cpu0")) < 10000 else 13)
                is_same(listener.wait_files(1)[0], name)
                equal(listener.files(), [f"trace.{sender.name}.dat"], "name")


def compressed_metadata():
    """The stock listener's file up to the link to what it has added."""
    with listening("-o", "mine") as listener:
        Sender(listener).play("v7-tcp")
        got, = listener.wait_files(1)
        first = metadata("v7-tcp")
        equal(got[:len(first) - 8], first[:-8], "metadata")
        for cpu in (0, 1):
            check(part("v7-tcp", f"cpu{cpu}") in got, "pages are missing")
        check(listener.files()[0].startswith("mine."), "prefix")
        if has("trace-cmd", "the report of compressed_metadata"):
            equal(report(f"{listener.output}/{listener.files()[0]}"),
                  part("v7-tcp", "report"), "report")


def report(path):
    """As trace-cmd 3.1 prints it: 3.3 adds the flags of each event."""
    done = subprocess.run(["trace-cmd", "report", "-R", "-t", path],
                          capture_output=True, check=False)
    return re.sub(rb"(?<=\d\])-0x[0-9a-f]+ ", b" ", done.stdout)


def version_1():
    """A recorder of version 1: unlike the stock listener, ours makes a complete
    file."""
    for pieces in (None, 1000):
        with listening() as listener:
            whole = part("v1-tcp", "conn2-c2s")
            sender = Sender(listener).begin_v1(whole[:15])
            sender.send(whole[15:], pieces)
            for cpu in (0, 1):
                sender.pages(cpu, part("v1-tcp", f"cpu{cpu}"))
            sender.end_data()
            sender.socket.close()
            got, = listener.wait_files(1)
            check(got.startswith(whole[15:]), "metadata")
            at = len(whole) - 15
            equal(got[at:at + 12], struct.pack("<QI", 0, 2), "CPUs")
            if has("trace-cmd", "the report of version_1"):
                lines = report(f"{listener.output}/{listener.files()[0]}")
                check(lines.count(b"sched_") > 50, f"report: {lines[:300]!r}")


def a_refused_version_ends():
    """A recorder of V3 that was refused comes again with V1."""
    with listening() as listener:
        sender = Sender(listener)
        sender.send(part("v1-tcp", "conn1-c2s"))
        equal(sender.receive(11), b"tracecmdV3\0", "answer")
        sender.socket.close()
    equal(listener.log().count("connection lost"), 1, "lines")


def a_burst_of_datagrams():
    """157 pages at once, as a recorder does at its end: all are stored."""
    chance = random.Random(SEED)
    pages = [[chance.randbytes(PAGE) for _ in range(157)] for _ in (0, 1)]
    with listening() as listener:
        sender = Sender(listener).begin("v6-udp")
        os.kill(listener.process.pid, signal.SIGSTOP)
        for cpu in (0, 1):
            for page in pages[cpu]:
                sender.data[cpu].send(page)
        sender.close()
        time.sleep(0.2)
        os.kill(listener.process.pid, signal.SIGCONT)
        got, = listener.wait_files(1)
        for cpu in (0, 1):
            check(b"".join(pages[cpu]) in got, f"pages of CPU {cpu}")
        wait_until("the count", lambda: "314 pages in" in listener.log())


def late_datagrams():
    """The file of a recorder whose pages arrive 0.4 s after its CLOSE; None: the
    machine was too slow for the grace period of a second."""
    with listening() as listener:
        sender = Sender(listener).begin("v6-udp")
        late = list(sender.data)
        began = time.monotonic()
        sender.send(message(0))
        sender.socket.close()
        time.sleep(0.4)
        with contextlib.suppress(ConnectionRefusedError):
            for cpu in (0, 1):
                late[cpu].send(part("v6-udp", f"cpu{cpu}"))
        took = time.monotonic() - began
        got, = listener.wait_files(1)
        return got if took < 0.9 else None


def datagrams_behind_the_close():
    """Datagrams in flight when the recorder closes are stored."""
    for _ in range(5):
        got = late_datagrams()
        if got is not None:
            break
    check(got is not None, "the machine is too busy")
    is_same(got, "v6-udp")


def any_end():
    """Without CLOSE the file is the same."""
    for end in ("vanish", "stop"):
        with listening() as listener:
            sender = Sender(listener).begin("v6-tcp-flush")
            for cpu in (0, 1):
                sender.pages(cpu, part("v6-tcp-flush", f"cpu{cpu}"))
            sender.vanish() if end == "vanish" else listener.stop()
            is_same(listener.wait_files(1)[0], "v6-tcp-flush")


def without_metadata_there_is_nothing():
    """A recorder that ends before its metadata is whole leaves no file."""
    for end in ("vanish", "stop", "close"):
        with listening() as listener:
            sender = Sender(listener)
            sender.greet()
            sender.send(tinit(2, b"tcp"))
            sender.receive_ports()
            sender.send(message(SEND_DATA, data=metadata("v6-tcp")[:5000]))
            if end == "stop":
                listener.stop()
                equal(listener.files(), [], "files")
                continue
            sender.vanish() if end == "vanish" else sender.close()
            wait_until("nothing is left", lambda: listener.files() == [])


def a_page_of_which_a_part_is_missing():
    """A recorder that is stopped while it waits for its socket loses the
    rest of a page: the file has all events but those, and says where."""
    if not has("trace-cmd", "a_page_of_which_a_part_is_missing"):
        return
    name = "v6-tcp-missed"
    want = part(name, "report").splitlines()
    for at in (7, 1000, PAGE - 60):
        with listening() as listener:
            sender = Sender(listener).begin(name)
            pages = part(name, "cpu0")
            where = len(pages) // PAGE // 2 * PAGE
            sender.pages(0, pages[:where + at] + pages[where + PAGE:], 60000)
            sender.pages(1, part(name, "cpu1"))
            sender.close()
            listener.wait_files(1)
            got = report(f"{listener.output}/{listener.files()[0]}")
            got = got.splitlines()
            wait_until("the log", lambda: "has not sent" in listener.log())
        gap = [line for line in got if line.endswith(b"[EVENTS DROPPED]")]
        equal(len(gap), 1, f"gaps: {gap}")
        got.remove(gap[0])
        check(set(got) <= set(want), "events that were none")
        # A page has a hundred.
        check(len(want) - 250 < len(got) < len(want),
              f"{len(got)} lines of {len(want)}")


def a_page_under_way_at_the_end():
    """The connection is lost in the middle of a page: its whole events are in the file,
    and the log says that others are missing."""
    name = "v6-tcp-missed"
    pages = part(name, "cpu0")
    want = part(name, "report").splitlines()
    has_report = has("trace-cmd", "the report of a_page_under_way_at_the_end")
    lines = []
    all_of_it = 16 + struct.unpack_from("<Q", pages, len(pages) - PAGE + 8)[0]
    for at in (7, all_of_it // 2, all_of_it - 4):
        with listening() as listener:
            sender = Sender(listener).begin(name)
            sender.pages(0, pages[:-PAGE + at])
            sender.pages(1, part(name, "cpu1"))
            sender.vanish()
            got, = listener.wait_files(1)
            table = struct.unpack_from(
                "<QQQQ", got, len(metadata(name)) + 10)
            equal(table[1], len(pages) - PAGE * (at == 7), "bytes of CPU 0")
            check(got[table[0]:].startswith(pages[:-PAGE]), "whole pages")
            wait_until("what is missing", lambda: "1 incomplete pages: the "
                       "recorder has not sent" in listener.log())
            if has_report:
                lines.append(report(
                    f"{listener.output}/{listener.files()[0]}").splitlines())
    for before, after in zip(lines, [*lines[1:], want]):
        check(set(before) < set(after), "events that were none")


def killed_at_any_instant():
    """The next start makes files of what a killed listener left: whole pages, in order,
    once."""
    chance = random.Random(SEED)
    name = "v6-tcp-missed"
    pages = [part(name, f"cpu{cpu}") for cpu in (0, 1)]
    result = part(name, "result")
    left = 0
    for _ in range(KILLS):
        with directory() as base:
            listener = Listener(base)
            sender = Sender(listener).begin(name)
            try:
                for cpu in (0, 1):
                    sender.pages(cpu, pages[cpu], chance.randrange(500, 60000))
                if chance.random() < 0.7:
                    sender.close()
            except OSError:
                pass
            time.sleep(chance.random() ** 2 * 0.12)
            listener.stop(signal.SIGKILL)
            left += any(n.endswith(".recording") for n in listener.files())
            again = Listener(base)
            wait_until("what is left is finished", lambda: all(
                n.endswith(".dat") for n in again.files()))
            again.stop()
            check(len(again.files()) <= 1, f"files: {again.files()}")
            for got in map(again.read, again.files()):
                check(len(got) <= len(result) and len(got) % PAGE == 0,
                      f"{len(got)} bytes")
                first = metadata(name)
                check(got.startswith(first), "metadata")
                table = struct.unpack_from("<QQQQ", got, len(first) + 10)
                for cpu in (0, 1):
                    at, size = table[2 * cpu:2 * cpu + 2]
                    equal(got[at:at + size], pages[cpu][:size],
                          f"pages of CPU {cpu}")
    check(left >= KILLS // 10, f"only {left} kills met it at work")


def what_was_left_is_told():
    """After a kill, the next start logs how many whole pages are in the file."""
    name = "v6-tcp-missed"
    pages = [part(name, f"cpu{cpu}") for cpu in (0, 1)]
    count = sum(len(p) // PAGE for p in pages)
    with directory() as base:
        listener = Listener(base)
        sender = Sender(listener).begin(name)
        # Half a page of each CPU does not count as a page.
        for cpu in (0, 1):
            sender.pages(cpu, pages[cpu] + pages[cpu][-PAGE:-PAGE // 2])
        parts = pathlib.Path(listener.output)
        wait_until("all pages", lambda: sum(
            p.stat().st_size for p in parts.glob(".*/cpu?")) == count * PAGE)
        listener.stop(signal.SIGKILL)
        again = Listener(base)
        again.wait_files(1)
        again.stop()
        check(f"{count} pages in {again.files()[0]}" in again.log(),
              again.log())


def nothing_is_overwritten():
    """A name that is taken gets a number."""
    with listening() as listener:
        sender = Sender(listener)
        with open(f"{listener.output}/trace.{sender.name}.dat", "wb") as f:
            f.write(b"precious")
        sender.play("v6-tcp")
        got = listener.wait_files(2)
        equal(sorted(map(len, got)), sorted((8, len(part("v6-tcp", "result")))),
              "sizes")
        check(f"trace.{sender.name}-1.dat" in listener.files(), "name")


def many_at_once():
    """Each has its own ports and its own pages."""
    chance = random.Random(SEED)
    with listening() as listener:
        senders = [Sender(listener).begin("v6-tcp") for _ in range(MANY)]
        pages = {s.name: [chance.randbytes(PAGE * chance.randrange(1, 9))
                          for _ in (0, 1)] for s in senders}
        for cpu in (0, 1):
            for sender in senders:
                sender.pages(cpu, pages[sender.name][cpu])
        for sender in senders:
            sender.close()
        listener.wait_files(MANY)
        for sender in senders:
            got = listener.read(f"trace.{sender.name}.dat")
            for cpu in (0, 1):
                check(pages[sender.name][cpu] in got, "pages")


def without_files():
    """--no-file writes no files, and reports no loss."""
    with listening("--no-file") as listener:
        Sender(listener).play("v6-tcp")
        wait_until("its end", lambda: "2 pages; no file" in listener.log())
        equal(listener.files(), [], "files")


def a_full_disk():
    """A full disk is logged once; whole pages stay, and the recording continues."""
    limit = 100000
    with listening(under=["prlimit", f"--fsize={limit}:{limit}"],
                   restore_signals=False) as listener:
        sender = Sender(listener).begin("v6-tcp")
        sender.pages(0, b"y" * PAGE * 100, 1000)
        sender.pages(1, b"z" * PAGE * 4)
        sender.close()
        wait_until("its end", lambda: "tries again" in listener.log())
        check(listener.log().count("cannot write") <= 3, "lines")
        # Missing bytes are logged, and no incomplete file is made.
        wait_until("what is lost", lambda: re.search(
            r": \d+ bytes could not be written", listener.log()))
        check("104 pages; no file yet" in listener.log(), listener.log())
        work, = listener.files()
        equal(sorted(os.listdir(f"{listener.output}/{work}")),
              ["cpu0", "cpu1", "metadata"], "what is left")
        listener.stop()
        again = Listener(os.path.dirname(listener.output))
        got, = again.wait_files(1)
        again.stop()
        whole = limit // PAGE * PAGE
        table = struct.unpack_from("<QQQQ", got, len(metadata("v6-tcp")) + 10)
        equal((table[1], table[3]), (whole, 4 * PAGE), "bytes of CPUs")
        equal(got[table[0]:table[2]].count(b"y"), whole, "pages of CPU 0")


def an_empty_session():
    """A session without pages becomes a readable file."""
    for name in PLAIN:
        with listening() as listener:
            Sender(listener).begin(name).close()
            got, = listener.wait_files(1)
            check(got.startswith(metadata(name)[:-8]), name)


CASES = (the_files_of_the_stock_listener, compressed_metadata,
         version_1, a_refused_version_ends,
         a_burst_of_datagrams, datagrams_behind_the_close, any_end,
         without_metadata_there_is_nothing,
         a_page_of_which_a_part_is_missing, a_page_under_way_at_the_end,
         killed_at_any_instant, what_was_left_is_told,
         nothing_is_overwritten, many_at_once, without_files, a_full_disk,
         an_empty_session)

if __name__ == "__main__":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    socket.setdefaulttimeout(30)
    run(CASES)
