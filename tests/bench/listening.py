# SPDX-License-Identifier: MIT
"""tracepulse-ftrace listen: what it costs to record what a recorder sends, beside
trace-cmd listen, on the same pages from the same sender; every page of both files
is compared with what was sent."""
import concurrent.futures
import functools
import mmap
import os
import signal
import socket
import struct
import subprocess
import tempfile
import time

import sender
from conversion import PAGE, trace_file
from measure import Measure
from servers import (GIB, LOAD_TIMEOUT, discard, free_ports, listens, wait_for,
                     warm)

MIB = 1 << 20
TCP, UDP = "v6-tcp-missed", "v6-udp"    # whose greeting and metadata are sent
MARK = b"flyrecord\0"
TABLE = struct.Struct("<4Q")    # of two CPUs: where the pages are, and bytes
END_TIMEOUT = 60.0


def pages_of(data, metadata):
    """The pages of each CPU in a trace.dat that begins with METADATA: pairs of
    where they begin and how many bytes they are."""
    if data[:len(metadata) + len(MARK)] != metadata + MARK:
        raise RuntimeError("the metadata is not what was sent")
    table = TABLE.unpack_from(data, len(metadata) + len(MARK))
    return [table[:2], table[2:]]


class Listener:
    """"ours", or trace-cmd listen, with a port and a directory of its own."""

    def __init__(self, name, options):
        self.name, self.port = name, free_ports(1)[0]
        self.dir = tempfile.mkdtemp(prefix="tracepulse-bench-",
                                    dir=options.scratch)
        self.output = self.dir + "/out"
        os.mkdir(self.output)
        program = options.ftrace if name == "ours" else "trace-cmd"
        with open(self.dir + "/log", "wb") as log:
            self.process = subprocess.Popen(
                [program, "listen", "-p", str(self.port), "-d", self.output],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.dir,
                start_new_session=True)

    def __enter__(self):
        try:
            wait_for("listener of " + self.name, self.is_ready, step=0.002)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        """What is left of its processes after a failure does not stay."""
        if self.process.returncode is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        discard(self.dir)

    def is_ready(self):
        """Does it listen?"""
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended at start")
        return listens(self.process.pid, self.port)

    def is_done(self):
        """Is there the file, and nothing else, and did the listener wait for
        every process that it had started?"""
        names, pid = os.listdir(self.output), self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return bool(names) and not f.read() and all(
                n.endswith(".dat") for n in names)

    def file(self):
        """The only one that it has written."""
        name, = os.listdir(self.output)
        return self.output + "/" + name

    def has_ended(self):
        """Keeps what it has used."""
        pid, status, self.usage = os.wait4(self.process.pid, os.WNOHANG)
        if pid:
            self.process.returncode = os.waitstatus_to_exitcode(status)
        return bool(pid)

    def end(self):
        """CPU seconds of its process, with those of all processes that were
        waited for: trace-cmd listen starts one for each recorder, and that one
        for each CPU."""
        self.process.send_signal(signal.SIGINT)
        wait_for(f"end of {self.name}", self.has_ended, END_TIMEOUT)
        if self.process.returncode != 0:
            raise RuntimeError(
                f"{self.name}: status {self.process.returncode}")
        return self.usage.ru_utime + self.usage.ru_stime


def feed(sock, source, data, place):
    """The pages of one CPU. Over TCP until the listener has read them all, and
    without a copy, as a recorder moves those of the kernel by splice(2)."""
    at, size = place
    sock.settimeout(LOAD_TIMEOUT)
    if sock.type == socket.SOCK_STREAM:
        with open(source, "rb") as f:
            sock.sendfile(f, at, size)
        sock.shutdown(socket.SHUT_WR)
        if sock.recv(1):
            raise RuntimeError("the listener sent something")
        return
    for offset in range(at, at + size, PAGE):
        sock.send(data[offset:offset + PAGE])


def send(listener, kind, source, data):
    """The whole session; how long the pages took, and from the end of the
    session to the file."""
    to = sender.Sender(listener).begin(kind)
    places = pages_of(data, sender.metadata(TCP))
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(len(places)) as threads:
        for done in [threads.submit(feed, sock, source, data, place)
                     for sock, place in zip(to.data, places)]:
            done.result()
    end = time.monotonic()
    to.close()
    wait_for("file of " + listener.name, listener.is_done, END_TIMEOUT, 0.002)
    return end - begin, time.monotonic() - end


def stored(data, sent, kind):
    """Pages in a listener's file. Each is one of those that were SENT of its CPU,
    in their order."""
    count = 0
    for (at, size), (first, total) in zip(
            pages_of(data, sender.metadata(kind)),
            pages_of(sent, sender.metadata(TCP))):
        if size % PAGE or at + size > len(data):
            raise RuntimeError("the file has not all of its pages")
        rest = iter(range(first, first + total, PAGE))
        for place in range(at, at + size, PAGE):
            page = data[place:place + PAGE]
            if not any(sent[n:n + PAGE] == page for n in rest):
                raise RuntimeError(f"page at {place}: not what was sent")
        count += size // PAGE
    return count


def mapped(path):
    """A file's bytes."""
    with open(path, "rb") as f:
        return mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)


def listen(options, name, kind):
    """One run."""
    total = int(options.gib * GIB)
    source = trace_file(options.scratch, total)
    with mapped(source) as sent, Listener(name, options) as listener:
        warm(listener.dir, 2 * total + 64 * MIB)
        wall_s, file_s = send(listener, kind, source, sent)
        cpu_s = listener.end()
        with mapped(listener.file()) as data:
            pages = stored(data, sent, kind)
        share = pages * PAGE / sum(
            size for _, size in pages_of(sent, sender.metadata(TCP)))
    if kind == TCP and share != 1:
        raise RuntimeError(f"only {share:.4g} of the pages are in the file")
    return {"value": cpu_s / (pages * PAGE / GIB),
            "pages_per_s": pages / wall_s,
            "stored_share": share, "file_s": file_s}


def taken(options, name, kind):
    """What the sender says, as a figure that could not be taken."""
    try:
        return listen(options, name, kind)
    except sender.Failed as error:
        raise RuntimeError(str(error)) from error


def measures(options):
    """Those of `make bench`."""
    if not options.ftrace:
        return []
    text = "CPU s/GiB of listen, pages of 4,096 bytes of two CPUs over %s, " \
        "beside trace-cmd listen"
    return [Measure(f"listen-{name}", functools.partial(taken, kind=kind),
                    servers=["ours", "trace-cmd"], of=of,
                    text=text % name.upper())
            for name, kind, of in (("tcp", TCP, {"trace-cmd": 1.0}),
                                   ("udp", UDP, None))]
