#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a service manager and the daemon exchange: sockets that it hands
over, the watchdog, the status line. Plays the service manager. See
tests/systemd for the real one."""
import ctypes
import fcntl
import os
import pathlib
import socket
import struct
import sys
import tempfile
import threading
import time

import looking
import relay
from relay import check, equal

WATCHDOG_US = 800000
PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207

# The sockets get the numbers from 3 on, and the variables name this process,
# which becomes the daemon.
STARTER = """
import fcntl, os, sys
fds = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 100)
       for fd in sys.argv[1].split(",")]
for at, fd in enumerate(fds, 3):
    os.dup2(fd, at)
    os.close(fd)
os.environ["LISTEN_FDS"] = str(len(fds))
if sys.argv[2] != "none":
    os.environ["LISTEN_PID"] = sys.argv[2].replace("own", str(os.getpid()))
os.execv(sys.argv[3], sys.argv[3:])
"""


class Manager:
    """The socket of NOTIFY_SOCKET; a context."""

    def __init__(self):
        self.top = tempfile.TemporaryDirectory(prefix="tracepulse-notify-")
        self.path = os.path.join(self.top.name, "notify")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(self.path)

    def __enter__(self):
        return self

    def __exit__(self, *rest):
        self.sock.close()
        self.top.cleanup()

    def heard(self, seconds):
        """The lines of all messages within that time."""
        lines, until = [], time.monotonic() + seconds
        while True:
            self.sock.settimeout(max(until - time.monotonic(), 0))
            try:
                lines += self.sock.recv(4096).decode().splitlines()
            except (TimeoutError, BlockingIOError):
                return lines

    def until(self, line):
        """Wait for a line that begins so; those before it, too."""
        lines, until = [], time.monotonic() + relay.TIMEOUT
        while not any(one.startswith(line) for one in lines):
            check(time.monotonic() < until, f"no {line!r}, but {lines}")
            lines += self.heard(0.05)
        return lines

    def hears(self, line, seconds):
        """Does the line come within that time?"""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if line in self.heard(0.05):
                return True
        return False


class Thread:
    """One thread of a process, stopped while the others run; a context."""

    def __init__(self, tid):
        self.tid = tid
        libc = ctypes.CDLL(None, use_errno=True)
        self.ptrace = libc.ptrace
        self.ptrace.argtypes = [ctypes.c_long] * 4
        self.ptrace.restype = ctypes.c_long

    def __enter__(self):
        for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
            if self.ptrace(request, self.tid, 0, 0) != 0:
                raise PermissionError(os.strerror(ctypes.get_errno()))
        os.waitpid(self.tid, 0x40000000)                     # __WALL
        return self

    def __exit__(self, *rest):
        self.ptrace(PTRACE_DETACH, self.tid, 0, 0)


def tids(daemon):
    """The threads beside the main one."""
    tasks = pathlib.Path(f"/proc/{daemon.process.pid}/task")
    return [int(t.name) for t in tasks.iterdir()
            if int(t.name) != daemon.process.pid]


def is_silent(manager):
    """Does the watchdog get no message? A few may be under way."""
    manager.heard(0)
    return not all(manager.hears("WATCHDOG=1", 5) for _ in range(6))


def the_watchdog_wants_all_loops_to_turn():
    """One that hangs is enough; and it begins again when that one does."""
    with Manager() as manager:
        env = {"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": str(WATCHDOG_US)}
        with relay.Daemon(env=env) as daemon:
            manager.until("WATCHDOG=1")
            hanging = 0
            for tid in tids(daemon):
                try:
                    with Thread(tid):
                        hanging += is_silent(manager)
                except PermissionError as error:
                    print("SKIP threads that hang: no ptrace:", error)
                    return
                manager.heard(0)
                manager.until("WATCHDOG=1")     # it goes on
            # Two that record, one for viewers; liburcu may have another.
            equal(hanging, 3, "threads that the watchdog sees hang")


def no_watchdog_no_message():
    """No watchdog messages without a watchdog, nor for another process; STATUS is
    sent in any case."""
    for env in ({}, {"WATCHDOG_USEC": "200000", "WATCHDOG_PID": "1"},
                {"WATCHDOG_USEC": "soon"}):
        with Manager() as manager:
            with relay.Daemon(env=dict(env, NOTIFY_SOCKET=manager.path)):
                lines = manager.until("STATUS=") + manager.heard(1)
                check("WATCHDOG=1" not in lines, lines)


def the_line_for_people():
    """Sessions and viewers, as they come and go."""
    with Manager() as manager:
        env = {"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "400000"}
        with relay.Daemon(env=env) as daemon:
            def until(sessions, viewers, rate="0 B/s", lost="0 packets"):
                manager.until(f"STATUS={sessions}, {viewers}, {rate} received, "
                              f"{lost} lost, 0 MiB of packets in memory")

            until("0 sessions", "0 viewers")
            session = relay.Session(daemon)
            until("1 session", "0 viewers")
            viewer = daemon.connect(daemon.live_port)
            until("1 session", "1 viewer")
            viewer.close()
            until("1 session", "0 viewers")
            session.packet()
            session.finish()
            until("0 sessions", "0 viewers")


def what_arrives_and_is_lost_is_told():
    """Bytes per second while they come, and all that was lost."""
    with Manager() as manager:
        env = {"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "400000"}
        with relay.Daemon(env=env) as daemon:
            c, d, handle = looking.record(daemon, packets=1, size=5 << 20)
            d.packet(handle, 2, b"y" * 10)
            c.index(handle, 2, 10)
            lines, until = [], time.monotonic() + relay.TIMEOUT
            while not any(" MiB/s received, " in x for x in lines) or not any(
                    "0 B/s received, 1 packet lost" in x for x in lines):
                check(time.monotonic() < until, f"{lines}")
                lines += manager.heard(0.2)
            rate = max(float(x.split()[4]) for x in lines if " MiB/s" in x)
            check(0.5 < rate <= 5.1, f"{rate} MiB/s: {lines}")
            looking.end(c, d, handle, 3)


class Handed:
    """Listening sockets and a daemon's command that gets them."""

    def __init__(self, names, pid="own", kinds=None):
        self.socks = [self.make(kind) for kind in kinds or ["tcp"] * 3]
        self.ports = [s.getsockname()[1] for s in self.socks
                      if s.family != socket.AF_UNIX]
        self.fds = [s.fileno() for s in self.socks]
        self.env = {"LISTEN_FDNAMES": names}
        self.prefix = [sys.executable, "-c", STARTER,
                       ",".join(map(str, self.fds)), pid]

    @staticmethod
    def make(kind):
        """A socket."""
        if kind == "unix":
            sock = socket.socket(socket.AF_UNIX)
            sock.bind("")               # a name that the system chooses
            sock.listen()
            return sock
        sock = socket.socket(type=socket.SOCK_DGRAM if kind == "udp" else
                             socket.SOCK_STREAM)
        sock.bind(("127.0.0.1", 0))
        if kind == "tcp":
            sock.listen()
        return sock

    def daemon(self):
        """A daemon that has them."""
        return relay.Daemon(env=self.env, fds=self.fds, prefix=self.prefix)

    def close(self):
        """Ours; the daemon has its own."""
        for sock in self.socks:
            sock.close()


def sockets_are_taken():
    """A client that connected before the start is served; ports are logged as usual;
    after the end they listen on."""
    handed = Handed("live:control:data")
    early = socket.create_connection(("127.0.0.1", handed.ports[1]))
    with handed.daemon() as daemon:
        equal([daemon.live_port, daemon.control_port, daemon.data_port],
              handed.ports, "ports")
        check("the URL is ignored" in daemon.log_text(), "a warning")
        equal(relay.Control(early).version()[0], 2, "VERSION")
        relay.recorded(daemon)
        environ = pathlib.Path(f"/proc/{daemon.process.pid}/fd")
        check(all((environ / str(n)).exists() for n in (3, 4, 5)), "numbers")
    early.close()
    socket.create_connection(("127.0.0.1", handed.ports[1])).close()
    handed.close()


def http_takes_a_socket():
    """A request from before the start is answered; --http is ignored, and the
    address on which it listens is logged."""
    for option in ((), ("--http=none",), ("--http=unix:/nowhere/x",)):
        handed = Handed("http", kinds=["tcp"])
        early = socket.create_connection(("127.0.0.1", handed.ports[0]))
        early.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        with relay.Daemon(*option, env=handed.env, fds=handed.fds,
                          prefix=handed.prefix) as daemon:
            equal(daemon.http_port, handed.ports[0], "port")
            check(early.recv(4096).startswith(b"HTTP/1.1 200"), "an answer")
            equal(looking.ask(daemon, "/api/v1/status")["listeners"]["http"],
                  {"host": "127.0.0.1", "port": handed.ports[0]}, "told")
            check(("the URL is ignored" in daemon.log_text()) == bool(option),
                  daemon.log_text())
        early.close()
        handed.close()


class Store(Manager):
    """A service manager that also keeps descriptors for the next process."""

    def __init__(self):
        super().__init__()
        self.kept = []          # [(name, descriptor)]
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._listen)
        self.thread.start()

    def _listen(self):
        self.sock.settimeout(0.02)
        while not self.ending.is_set():
            try:
                data, fds, _, _ = socket.recv_fds(self.sock, 4096, 253)
            except TimeoutError:
                continue
            words = dict(line.partition("=")[::2]
                         for line in data.decode().splitlines())
            name = words.get("FDNAME")
            if "FDSTORE" in words:
                self.kept += [(name, fd) for fd in fds]
                continue
            if "FDSTOREREMOVE" in words:
                fds += [fd for kept, fd in self.kept if kept == name]
                self.kept = [one for one in self.kept if one[0] != name]
            for fd in fds:
                os.close(fd)

    def __exit__(self, *rest):
        self.ending.set()
        self.thread.join()
        for _, fd in self.kept:
            os.close(fd)
        super().__exit__(*rest)

    def start(self, daemon):
        """Another process of DAEMON, which gets what is kept."""
        daemon.environment["LISTEN_FDNAMES"] = ":".join(
            name for name, _ in self.kept)
        daemon.fds = [fd for _, fd in self.kept]
        plain = daemon.command
        if self.kept:
            daemon.command = [sys.executable, "-c", STARTER, ",".join(
                map(str, daemon.fds)), "own", *plain]
        try:
            daemon.start_again()
        finally:
            daemon.command = plain


def a_restart_goes_on():
    """Through the service manager, which keeps nothing afterwards."""
    with Store() as store, \
            relay.Daemon(env={"NOTIFY_SOCKET": store.path}) as daemon:
        s = relay.Session(daemon)
        for _ in range(3):
            s.packets(2)
            daemon.stop()
            equal(sorted({name for name, _ in store.kept}),
                  ["listen", "pack", "state"], "what is kept")
            store.start(daemon)
            relay.wait_until("it stays kept", lambda: not store.kept)
        s.packets(1)
        s.finish()


def a_state_that_kills_is_dropped():
    """A process that ends while it restores is not given the same again, and
    a state of an unknown version is not read."""
    for is_unknown in False, True:
        with Store() as store, \
                relay.Daemon(env={"NOTIFY_SOCKET": store.path}) as daemon:
            s = relay.Session(daemon)
            s.packets(2)
            daemon.stop()
            if is_unknown:
                _unknown(store)
            else:
                (daemon.rundir / "relayd/restoring").touch()
            store.start(daemon)
            daemon.wait_log("sessions cut by this restart: 1, as their state "
                            + ("is of a version" if is_unknown else
                               "was not restored by the last start"))
            relay.wait_until("it stays kept", lambda: not store.kept)
            relay.recorded(daemon, "after")
            daemon.wait_log("/after session ended")
            daemon.stop()
            store.start(daemon)
            daemon.wait_log("taken over from the process before: 0 sessions")


def what_is_acknowledged_outlives_the_next_process():
    """It is killed once it serves, before it has written anything: what waited
    for a record or behind a gap is lost, as after any crash, and no more."""
    with Store() as store, \
            relay.Daemon(env={"NOTIFY_SOCKET": store.path}) as daemon:
        s = relay.Session(daemon)
        s.packets(3)
        s.wait_written()
        s.data.packet(s.stream, 3, b"w" * 4096)
        s.control.index(s.stream, 4, 4096)
        s.control.metadata(s.meta, b"meta", 4092)
        time.sleep(0.1)
        daemon.stop()
        equal((s.dir / "ch_0").stat().st_size, 4 * 4096, "its file")
        store.start(daemon)
        daemon.wait_log("taken over from the process before: 1 sessions")
        relay.wait_until("it stays kept", lambda: not store.kept)
        daemon.kill()
        store.start(daemon)
        daemon.recovered()
        equal((s.dir / "ch_0").read_bytes(), s.written, "data")
        equal([r[:2] for r in relay.records(s.dir / "index/ch_0.idx")],
              [(at, 4096) for at in s.offsets], "records")
        equal((s.dir / "metadata").read_bytes(), b"meta" + bytes(4092), "it")


def listens(port):
    """The addresses at which something listens on this port."""
    with open("/proc/net/tcp", encoding="ascii") as f:
        found = [line.split() for line in f.read().splitlines()[1:]]
    return [socket.inet_ntoa(bytes.fromhex(at[:8])[::-1])
            for _, at, _, state, *_ in found
            if state == "0A" and int(at[9:], 16) == port]


def another_address_is_bound_anew():
    """The settings of the next process count, and sessions go on."""
    with Store() as store, \
            relay.Daemon(env={"NOTIFY_SOCKET": store.path}) as daemon:
        s = relay.Session(daemon)
        s.packets(1)
        for address in "127.0.0.2", "0.0.0.0", "127.0.0.1":
            daemon.stop()
            daemon.command[daemon.command.index("-C") + 1] = \
                f"tcp://{address}:{daemon.control_port}"
            store.start(daemon)
            equal(listens(daemon.control_port), [address], "control")
            s.packets(1)
        s.finish()


def _unknown(store):
    """The state becomes one of a later version."""
    at, fd = next((i, fd) for i, (name, fd) in enumerate(store.kept)
                  if name == "state")
    state = bytearray(os.pread(fd, os.fstat(fd).st_size, 0))
    struct.pack_into(">II", state, 8, 99, 99)
    os.close(fd)
    store.kept[at] = "state", os.memfd_create("state", os.MFD_ALLOW_SEALING)
    os.write(store.kept[at][1], state)
    fcntl.fcntl(store.kept[at][1], fcntl.F_ADD_SEALS, 15)


def some_sockets_are_taken():
    """The others are bound as without a service manager."""
    handed = Handed("data", kinds=["tcp"])
    with handed.daemon() as daemon:
        equal(daemon.data_port, handed.ports[0], "data")
        relay.recorded(daemon)
    handed.close()


def another_process_sockets_are_left():
    """As sd_listen_fds() does."""
    for pid in ("1", "none", "what"):
        handed = Handed("control:data:live", pid)
        with handed.daemon() as daemon:
            check(daemon.control_port not in handed.ports, "not taken")
        handed.close()


REFUSED = [
    ("control:data", ["tcp"] * 2 + ["tcp"], '("")'),
    ("control:data:http2", None, '("http2")'),
    ("control:data:control", None, "another socket has this name"),
    ("control:data:live", ["tcp", "udp", "tcp"], "does not listen"),
    ("control", ["unix"], "does not listen"),
    ("control", ["unbound"], "does not listen"),
    ("", ["tcp"], '("")'),
]


def wrong_sockets_are_refused():
    """In words, with status 1."""
    for names, kinds, why in REFUSED:
        handed = Handed(names, kinds=kinds)
        try:
            with handed.daemon():
                raise AssertionError(f"{names}: started")
        except relay.Failed as failed:
            check(why in str(failed), f"{names}: {failed}")
        handed.close()


if __name__ == "__main__":
    sys.exit(relay.main(at_once=4))
