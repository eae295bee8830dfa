# SPDX-License-Identifier: MIT
"""tracepulse-capture in a world, what it is compared with, and packets for it
to see."""
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import tree
from world import Failure, Skipped, check, screen, wait_for

PORT = 7777
FILTER = "udp dst port %d" % PORT
TIMEOUT = 60.0
UDP_HEADERS = 14 + 20 + 8       # Ethernet, IPv4, UDP

LINE = re.compile(r"^\[(\d+)\.(\d{9})\] (?:\S+ )?(demo:ev|net:\w+|sched:\w+): (.*)$")
FIELD = re.compile(r"\b(n|wire_len|cap_len) = (\d+)")


class Event:
    """A line of babeltrace2 or babeltrace with --clock-seconds --no-delta:
    time in ns, name, the rest as text, and {field: number} of those that
    scenarios look at."""

    def __init__(self, line):
        match = LINE.match(line)
        check(match is not None, f"unknown event: {line}")
        self.ns = int(match.group(1)) * 10 ** 9 + int(match.group(2))
        self.name, self.text = match.group(3), match.group(4)
        self.fields = {name: int(value)
                       for name, value in FIELD.findall(match.group(4))}

    def is_packet(self):
        """Of the network; the rest are the application's, or statistics."""
        return self.name.startswith("net:") and self.name != "net:stats"


def packets(events):
    """Those of the network."""
    return [e for e in events if e.is_packet()]


def read(w, path, program="babeltrace2"):
    """What a stock reader shows of the traces below PATH, in its order."""
    text, _ = tree.babeltrace2(w, path, "--clock-seconds", "--no-delta",
                               program=program)
    return [Event(line) for line in text.splitlines()]


class Capture:
    """One run of tracepulse-capture, on this side of a link."""

    count = 0

    def __init__(self, w, *arguments):
        if w.capture_path is None:
            raise Skipped("no tracepulse-capture: it is built where libtrace "
                          "is")
        if not w.private:
            raise Skipped("no network of its own: capturing needs root, and "
                          "a machine that lets it make namespaces")
        self.w = w
        Capture.count += 1
        self.log = os.path.join(w.directory, "capture%d.log" % Capture.count)
        with open(self.log, "wb") as log:
            self.child = w.spawn(w.capture_path, "--json", *arguments,
                                 stdout=subprocess.PIPE, stderr=log)

    @classmethod
    def to_relay(cls, w, session, uri, *arguments):
        """Live, of UDP packets to PORT. From its return on it captures."""
        capture = cls(w, "-i", uri, "--filter", FILTER, "--live",
                      "--session=" + session, "--relay=" + w.url(), *arguments)
        wait_for("session %s listed" % session, lambda: capture.is_listed(
            session), timeout=30)
        return capture

    def is_listed(self, session):
        """Or it has ended, which is a failure."""
        if self.child.poll() is not None:
            raise self._failure()
        return tree.listed(self.w, session) is not None

    def _failure(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return Failure("tracepulse-capture: status %d: %s"
                           % (self.child.returncode, log.read().strip()))

    def finish(self):
        """SIGTERM; its summary."""
        self.child.send_signal(signal.SIGTERM)
        out, _ = self.child.communicate(timeout=TIMEOUT)
        if self.child.returncode != 0:
            raise self._failure()
        summary = json.loads(out)
        if summary["received"] != summary["dropped_local"] + \
                summary["written"]:
            raise Failure("packets got lost in between: %r" % summary)
        return summary


class Tcpdump:
    """What tcpdump sees of the same interface."""

    def __init__(self, w, interface):
        if shutil.which("tcpdump") is None:
            raise Skipped("no tcpdump to compare with")
        self.path = os.path.join(w.directory, "%s.pcap" % interface)
        self.log = self.path + ".log"
        with open(self.log, "wb") as log:
            self.child = w.spawn(
                "tcpdump", "-i", interface, "-n", "-p", "-U", "-Z", "root",
                "--immediate-mode", "--time-stamp-precision=nano",
                "-B", "8192", "-w", self.path, *FILTER.split(),
                stdout=log, stderr=log)
        wait_for("tcpdump listening", lambda: "listening on" in self._said(),
                 timeout=30)

    def _said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def has(self, count):
        """Are so many packets in its file? What it has not read when it is
        ended is lost."""
        with open(self.path, "rb") as handle:
            blob = handle.read()
        at = 24
        while count > 0 and at + 16 <= len(blob):
            at += 16 + struct.unpack_from("<4I", blob, at)[2]
            count -= 1
        return count == 0 and at <= len(blob)

    def finish(self):
        """[(ns, length on the wire)]"""
        self.child.send_signal(signal.SIGINT)
        self.child.wait(TIMEOUT)
        with open(self.path, "rb") as handle:
            blob = handle.read()
        if struct.unpack_from("<I", blob)[0] != 0xA1B23C4D:
            raise Failure("tcpdump: no pcap with nanoseconds")
        seen, at = [], 24
        while at < len(blob):
            seconds, ns, cap_len, wire_len = struct.unpack_from("<4I", blob,
                                                                at)
            seen.append((seconds * 10 ** 9 + ns, wire_len))
            at += 16 + cap_len
        return seen


SENDER = """
import socket, sys, time
host, port, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    for length in map(int, sys.argv[4:]):
        s.sendto(b"x" * length, (host, port))
        time.sleep(pause)
"""


def send_from(link, host, lengths, pause=0.0002):
    """One datagram for each of LENGTHS, from the other side of LINK."""
    status, _, said = link.there(sys.executable, "-c", SENDER, host,
                                 str(PORT), str(pause), *map(str, lengths))
    check(status == 0, "no datagrams: " + said)


class Loopback:
    """Sends datagrams to itself."""

    def __init__(self):
        self.sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sink.bind(("127.0.0.1", PORT))
        self.source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def send(self, length):
        """One, of so many bytes on the wire; when, in seconds."""
        now = time.time()
        self.source.sendto(b"x" * (length - UDP_HEADERS),
                           ("127.0.0.1", PORT))
        return now

    def close(self):
        """No more."""
        self.sink.close()
        self.source.close()


class View:
    """babeltrace2 on one or several live sessions of this world, as a user
    has it: on a terminal, where it shows each line at once. What it shows, and
    when."""

    def __init__(self, w, *sessions):
        self.terminal, end, flushing = screen()
        self.shown = []         # (seconds, Event)
        self.rest = b""
        self.errors = os.path.join(w.directory, "view-%s.err"
                                   % "-".join(sessions))
        command = ["babeltrace2", "--clock-seconds", "--no-delta"]
        for session in sessions:
            command += ["--component", "source.ctf.lttng-live", "--params",
                        'inputs=["net://127.0.0.1:%d/host/%s/%s"],'
                        'session-not-found-action="end"'
                        % (w.ports[2], socket.gethostname(), session)]
        before = [(tree.listed(w, s) or (0, 0))[1] for s in sessions]
        with open(self.errors, "wb") as errors:
            self.child = w.spawn(
                *flushing, *command, stdout=end, stderr=errors,
                environment={"BABELTRACE_TERM_COLOR": "NEVER"})
        os.close(end)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        wait_for("a viewer of %s" % " and ".join(sessions), lambda: all(
            (tree.listed(w, s) or (0, 0))[1] > n
            for s, n in zip(sessions, before)), timeout=20)

    def _read(self):
        while True:
            try:
                some = os.read(self.terminal, 65536)
            except OSError:
                some = b""          # a terminal's way to say "the end"
            if not some:
                return
            now = time.time()
            *lines, self.rest = (self.rest + some).split(b"\n")
            self.shown += [(now, Event(line.decode().rstrip()))
                           for line in lines]

    def events(self):
        """So far."""
        return [event for _, event in self.shown]

    def times(self, field):
        """{value of FIELD: when it was shown, in seconds}"""
        return {event.fields[field]: when for when, event in list(self.shown)
                if field in event.fields}

    def finish(self):
        """It ends by itself when the sessions do."""
        try:
            self.child.wait(20)
        except subprocess.TimeoutExpired:
            raise Failure("babeltrace2 does not end with the sessions") \
                from None
        self.reader.join(10)
        os.close(self.terminal)
        if self.child.returncode != 0:
            with open(self.errors, "rb") as errors:
                raise tree.babeltrace2_failure(
                    "live", self.child.returncode, errors.read())
        return self.events()
