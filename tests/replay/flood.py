# SPDX-License-Identifier: MIT
"""Floods beside a bystander, for adversary.py.

A row of its table prepares sessions and gives jets: a socket and the bytes that
go into it. A process of its own sends them, so that the bystander's clock runs
in another. While it sends, and until what it sent is served, the bystander
sends packets with their records and waits for each reply.

A busy machine does not fail a row: the time in which the worker's thread or the
bystander's was ready to run, but had no CPU, is subtracted (schedstat, see
proc(5)), and a row has three tries, of which the best counts.
"""
import contextlib
import functools
import multiprocessing
import os
import selectors
import socket
import struct
import time

import relay
from relay import check, equal

MIB = 1024 * 1024
LONG = os.environ.get("TP_TEST_LONG", "") != ""
SANITIZERS = relay.has_sanitizer("address") or relay.has_sanitizer("thread")
# Sanitizers make single steps two to five times slower; the limits of time in
# the daemon are the same.
FACTOR = 2 if SANITIZERS else 1
WORST = 0.25 * FACTOR
# Of at least so many round trips, one in a hundred may take longer.
MOSTLY = 0.02 * (20 if SANITIZERS else 1)
MANY = 200
STOP = 1.0 * FACTOR
TRIES = 3
MEMORY = 192 * MIB * FACTOR
# At most so many lines of log, or what common/log.h allows in each second.
LINES, A_SECOND = 400, 51
# A flood that is repeated goes on for this long.
SECONDS = 5 if LONG else 0.7
# By then a flood that is sent once must be served.
SERVED = 120


def size(most, quick):
    return most if LONG else quick


class Jet:
    """BLOB goes into SOCK, again and again unless it is sent ONCE; replies are
    thrown away, or not read. A list is one of datagrams. CLOSES: the socket is
    closed behind it."""

    def __init__(self, sock, blob, once=False, reads=True, closes=False):
        self.sock, self.blob, self.once = sock, blob, once
        self.reads, self.closes, self.at, self.is_done = (
            reads, closes, 0, False)

    def datagrams(self):
        for _ in range(200):
            self.sock.send(self.blob[self.at])
            self.at += 1
            if self.at == len(self.blob):
                return

    def write(self):
        if isinstance(self.blob, list):
            self.datagrams()
        else:
            self.at += self.sock.send(self.blob[self.at:self.at + MIB])
        if self.at == len(self.blob):
            self.at, self.is_done = 0, self.once
        if self.is_done and self.closes:
            self.sock.close()

    def events(self):
        out = 0 if self.is_done else selectors.EVENT_WRITE
        return out | (selectors.EVENT_READ if self.reads else 0)


class Visits(Jet):
    """Connections to PORT, 50 at a time; BLOB goes into each, and it is closed
    without a look at the reply."""

    def __init__(self, port, blob):
        super().__init__(socket.socketpair()[0], blob, reads=False)
        self.port = port

    def write(self):
        with contextlib.ExitStack() as socks:
            for _ in range(50):
                socks.enter_context(socket.create_connection(
                    ("127.0.0.1", self.port), 1)).sendall(self.blob)


def turn(selector, jet, mask):
    """False: the daemon closed it."""
    try:
        if mask & selectors.EVENT_READ and not jet.sock.recv(MIB):
            return False
        if mask & selectors.EVENT_WRITE:
            before = jet.sock.fileno()
            jet.write()
            if jet.sock.fileno() < 0:
                selector.unregister(before)
            elif jet.events() == 0:
                selector.unregister(jet.sock)
            elif jet.is_done:
                selector.modify(jet.sock, jet.events(), jet)
    except BlockingIOError:
        pass
    except ConnectionRefusedError:
        pass
    except OSError:
        return isinstance(jet, Visits)
    return True


def spray(jets, sent):
    """The process that floods; SENT is set when all that is sent once is."""
    selector = selectors.DefaultSelector()
    for jet in jets:
        jet.sock.setblocking(False)
        selector.register(jet.sock, jet.events(), jet)
    while selector.get_map():
        for key, mask in selector.select():
            if not turn(selector, key.data, mask):
                selector.unregister(key.fileobj)
        if all(jet.is_done for jet in jets):
            sent.set()
    sent.set()
    time.sleep(600)


@contextlib.contextmanager
def spraying(jets):
    sent = multiprocessing.Event()
    process = multiprocessing.Process(target=spray, args=(jets, sent),
                                      daemon=True)
    process.start()
    try:
        yield sent
    finally:
        process.kill()
        process.join()


def schedstat(path):
    """Seconds that a thread ran, and that it waited for a CPU."""
    with open(path, encoding="ascii") as f:
        ran, waited = f.read().split()[:2]
    return int(ran) / 1e9, int(waited) / 1e9


def ended_after(daemon, send):
    """Seconds from SEND() to the end, less those in which the threads that end
    it waited for a CPU."""
    tasks = f"/proc/{daemon.process.pid}/task"
    # The worker, or whoever has most to do, and the first thread.
    worker = max(os.listdir(tasks),
                 key=lambda t: schedstat(f"{tasks}/{t}/schedstat")[0])
    files = {f"{tasks}/{t}/schedstat" for t in (worker, daemon.process.pid)}
    before = after = {f: schedstat(f)[1] for f in files}
    began = time.monotonic()
    send()
    while daemon.process.poll() is None:
        took = time.monotonic() - began
        check(took < 60, "no exit within 60 s of SIGTERM")
        with contextlib.suppress(OSError, ValueError):
            for f in files:
                after = {**after, f: schedstat(f)[1]}
        time.sleep(0.002)
    took = time.monotonic() - began
    equal(daemon.process.returncode, 0, "exit status")
    daemon.is_stopped = True
    return took - sum(after[f] - before[f] for f in files)


class Bystander:
    def __init__(self, daemon):
        self.session, self.times, self.raw = relay.Session(daemon), [], []
        self.daemon, self.peak = daemon, 0
        self.waiting = ["/proc/thread-self/schedstat"]
        tasks = f"/proc/{daemon.process.pid}/task"
        tasks = [f"{tasks}/{t}/schedstat" for t in os.listdir(tasks)]
        before = [schedstat(t)[0] for t in tasks]
        for _ in range(50):
            self.beat()
        ran = [schedstat(t)[0] - b for t, b in zip(tasks, before)]
        # Of the daemon's threads, the worker is the one that runs for it.
        self.waiting.append(tasks[ran.index(max(ran))])
        self.begin()

    def begin(self):
        self.times.clear()
        self.raw.clear()
        self.peak = 0

    def waited(self):
        return sum(schedstat(w)[1] for w in self.waiting)

    def beat(self):
        waited, began = self.waited(), time.monotonic()
        self.session.packet(size=200, padding=0)
        took = time.monotonic() - began
        self.raw.append(took)
        self.times.append(max(took - (self.waited() - waited), 0))
        self.peak = max(self.peak, self.daemon.rss())
        time.sleep(0.002)

    def worst(self):
        return max(self.times)

    def p99(self):
        return sorted(self.times)[len(self.times) * 99 // 100]

    def is_well(self):
        return self.worst() < WORST and (
            len(self.times) < MANY or self.p99() < MOSTLY)

    def text(self):
        return (f"worst {self.worst() * 1e3:.0f} ms ({max(self.raw) * 1e3:.0f} "
                f"with waits for a CPU), p99 {self.p99() * 1e3:.1f} ms of "
                f"{len(self.times)}")


def repeated(daemon, bystander, sent):
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        bystander.beat()


def served(is_served):
    """Until the flood is sent, and IS_SERVED."""
    def wait(daemon, bystander, sent):
        until = time.monotonic() + SERVED
        while not (sent.is_set() and is_served()):
            check(time.monotonic() < until, "the flood is never served")
            bystander.beat()
        for _ in range(20):
            bystander.beat()
    return wait


def logged(text, beats=20):
    """Until the daemon says this; then so many times more."""
    def wait(daemon, bystander, sent):
        until = time.monotonic() + SERVED
        while text not in daemon.log_text():
            check(time.monotonic() < until, f"not logged: {text}")
            bystander.beat()
        for _ in range(beats):
            bystander.beat()
    return wait


def attempt(row, options, memory, env):
    """(is it well, text)"""
    with relay.Daemon("--udp-port=data", "--max-memory", "64M", *options,
                      workers=1, env=env) as daemon:
        bystander = Bystander(daemon)
        good = bystander.session
        jets, wait = row(daemon)
        bystander.beat()
        before, lines = daemon.rss(), daemon.log_text().count("\n")
        since = time.monotonic()
        bystander.begin()
        with spraying(jets) as sent:
            wait(daemon, bystander, sent)
            grown = bystander.peak - before
            waited, began = bystander.waited(), time.monotonic()
            good.wait_written()
            asked = time.monotonic() - began - (bystander.waited() - waited)
            took = ended_after(daemon, daemon.process.terminate)
        good.check()
        lines = daemon.log_text().count("\n") - lines
        most = max(LINES, A_SECOND * (int(time.monotonic() - since) + 2))
        text = (f"{bystander.text()}, written after {asked * 1e3:.0f} ms, "
                f"{grown >> 20} MiB, {lines} lines, end {took:.2f} s")
        return (bystander.is_well() and asked < 2 * WORST and took < STOP and
                grown < memory and lines < most), text


def flood(*options, memory=MEMORY, env=None):
    """A case of a function of a daemon with these options that gives jets, and
    how to wait. The daemon may grow by so much memory."""
    def decorate(row):
        @functools.wraps(row)
        def case():
            for _ in range(TRIES):
                is_well, text = attempt(row, options, memory, env)
                print("   ", row.__name__, text, flush=True)
                if is_well:
                    return
            raise relay.Failed(text)
        return case
    return decorate


# Sessions that rows flood with ---------------------------------------------

def with_streams(daemon, n, name="crowd", path="ust/uid/0/64-bit", **fields):
    """A session with N streams more, added in one go."""
    s = relay.Session(daemon, name, **fields)
    s.many = []
    for first in range(0, n, 500):
        some = range(first, min(first + 500, n))
        s.control.send(b"".join(
            relay.stream_request(f"m_{i}", path) for i in some))
        for _ in some:
            handle, code = struct.unpack(">QI", s.control.read(12))
            equal(code, relay.OK, "ADD_STREAM")
            s.many.append(handle)
    s.control.code(relay.STREAMS_SENT)
    return s


def queued(sock):
    """Bytes that the daemon has not read from this connection."""
    port = "%04X" % sock.getpeername()[1], "%04X" % sock.getsockname()[1]
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in list(table)[1:]:
            fields = line.split()
            local, remote = (f.split(":")[1] for f in fields[1:3])
            if (local, remote) == port:
                return int(fields[4].split(":")[1], 16)
    return 0


def idle(*conns):
    """Nothing is left in the sockets of these."""
    return lambda: all(queued(c.sock) == 0 for c in conns)


def send_all(control, blob):
    """Requests whose replies are not needed; waits until they are served."""
    with spraying([Jet(control.sock, blob, once=True)]) as sent:
        check(sent.wait(60), "it is not read")
        relay.wait_until("it is not served", idle(control), SERVED)
        time.sleep(0.05)
    control.sock.settimeout(relay.TIMEOUT)


def packets(stream, numbers, payload=b"xy"):
    return b"".join(
        struct.pack(">QQQII", 0, stream, seq, len(payload), 0) + payload
        for seq in numbers)


def records(stream, numbers, bytes_each=2):
    return b"".join(
        relay.frame(relay.SEND_INDEX,
                    relay.index_request(stream, seq, bytes_each))
        for seq in numbers)


def u64(*values):
    return struct.pack(f">{len(values)}Q", *values)
