#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Addresses that are not of the internet: a Unix socket, and vsock where the kernel
has its loopback (CID 1)."""
import errno
import os
import re
import signal
import socket
import subprocess

from sender import (PROGRAM, Sender, check, directory, equal, listening,
                    metadata, part, run, tinit, wait_until)

LOOPBACK = 1
TOKEN = "0123456789abcdef-secret"


def has_vsock():
    """Has the kernel vsock's loopback?"""
    try:
        with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as server:
            server.bind((socket.VMADDR_CID_ANY, socket.VMADDR_PORT_ANY))
            server.listen()
            with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as sock:
                sock.settimeout(1)
                sock.connect((LOOPBACK, server.getsockname()[1]))
        return True
    except OSError as error:
        print("SKIP: vsock: no loopback (vsock_loopback):", error.strerror or
              errno.errorcode.get(error.errno, error))
        return False


def play(sender, name="v6-tcp"):
    for cpu in (0, 1):
        sender.pages(cpu, part(name, f"cpu{cpu}"))
    sender.close()


class Local(Sender):
    """A recorder that is connected by SOCK."""

    def __init__(self, sock):    # pylint: disable=super-init-not-called
        sock.settimeout(20)
        self.socket, self.source = sock, "127.0.0.1"
        self.data, self.received = [], b""


class Vsock(Local):
    """As record -V, with pages over vsock."""

    def __init__(self, port):
        sock = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
        sock.connect((LOOPBACK, port))
        super().__init__(sock)

    def begin_vsock(self, name="v6-tcp"):
        self.greet()
        self.send(tinit(2, b"vsock"))
        for port in self.receive_ports():
            sock = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
            sock.connect((LOOPBACK, port))
            self.data.append(sock)
        self.send_metadata(metadata(name))
        return self


def private(base, name, text):
    """A file that only its owner may read."""
    path = f"{base}/{name}"
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w",
              encoding="ascii") as f:
        f.write(text + "\n")
    return path


def unix(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(path)
    return sock


def started(*command):
    """A program of ours, and the place that it says it listens at."""
    child = subprocess.Popen([PROGRAM, *command], stderr=subprocess.PIPE,
                             text=True)
    said = child.stderr.readline()
    where = re.search(r"listening (?:on|at) ([\w:/.-]*[\w/])", said)
    check(where, f"{command[0]}: {said}")
    return child, where[1]


def ended(child):
    child.send_signal(signal.SIGTERM)
    said = child.communicate(timeout=30)[1]
    check(child.returncode in (0, -signal.SIGTERM) and "Sanitizer" not in said,
          f"status {child.returncode}: {said}")
    return said


def file_of(base):
    """The recording, once it is complete."""
    def names():
        return [n for n in os.listdir(base) if n.endswith(".dat")]
    wait_until("a file", names)
    name, = names()
    with open(f"{base}/{name}", "rb") as f:
        return name, f.read()


def a_recorder_at_a_unix_socket():
    """Its file is that of the stock listener, its pages come by ports of the loopback
    address, and the log names it; a socket that a killed listener left does not
    matter, and one in use is refused."""
    with directory() as base:
        where = f"unix:{base}/socket"
        child, said = started("listen", "--bind", where, "-d", base)
        equal(said, where, "place")
        child.kill()
        child.communicate()
        child, _ = started("listen", "--bind", where, "-d", base)
        second = subprocess.run([PROGRAM, "listen", "--bind", where, "-d", base],
                                stderr=subprocess.PIPE, text=True, check=False)
        check(second.returncode == 1 and "Address already in use"
              in second.stderr, "second: " + second.stderr)
        play(Local(unix(f"{base}/socket")).begin())
        name, got = file_of(base)
        equal(got, part("v6-tcp", "result"), "file")
        equal(name, f"trace.unix:{os.getpid()}.dat", "name")
        said = ended(child)
        check(f"peer=unix:{os.getpid()}: 2 CPUs, TCP" in said, said)
        check(not os.path.exists(f"{base}/socket"), "the socket stays")


def a_broker_at_a_unix_socket():
    """connect, list and the broker's list of agents take it, too."""
    with directory() as base:
        token = private(base, "token", TOKEN)
        guests = private(base, "guests",
                              f"web1 {TOKEN}\nweb2 agent=vsock:3:823\n")
        where = f"unix:{base}/broker"
        broker, _ = started("broker", "--bind", where, "--token-file", token,
                            "--guests", guests)
        guest = subprocess.Popen(
            [PROGRAM, "connect", "web1", "--broker", where, "--agent",
             f"unix:{base}/agent", "--token-file", token],
            stderr=subprocess.PIPE, text=True)

        def listed():
            return subprocess.run(
                [PROGRAM, "list", "--broker", where, "--token-file", token],
                stdout=subprocess.PIPE, text=True, check=True).stdout
        wait_until("web1", lambda: "web1 ready" in listed())
        check(f"unix:{guest.pid}" in listed(), listed())
        check("web2 ready - vsock:3:823" in listed(), listed())
        reach, place = started("reach", "web1", "--bind", f"unix:{base}/reach",
                               "--broker", where, "--token-file", token)
        equal(place, f"unix:{base}/reach", "reach")
        for child in (reach, guest, broker):
            ended(child)


def wrong_addresses():
    """They are refused, with what is wrong."""
    for option in ("vsock:x:1", "vsock:1", "vsock:1:70000", "unix:",
                   "unix:" + "x" * 108):
        done = subprocess.run([PROGRAM, "listen", "--bind", option],
                              stderr=subprocess.PIPE, text=True, check=False)
        check(done.returncode == 2 and "--bind" in done.stderr,
              f"{option}: {done.returncode}: {done.stderr}")


def a_recorder_over_vsock():
    """Control and pages over vsock; the log names its CID and port."""
    if not has_vsock():
        return
    for options in (("--bind", "vsock:any:0"), ("-V", "-p", "0")):
        with directory() as base:
            child, place = started("listen", *options, "-d", base)
            sender = Vsock(int(place.split(":")[2])).begin_vsock()
            play(sender)
            equal(file_of(base)[1], part("v6-tcp", "result"), "file")
            said = ended(child)
            check(re.search(r"peer=vsock:\d+:\d+: 2 CPUs, vsock", said), said)


def vsock_only_over_vsock():
    """A recorder over TCP may not name vsock for its pages."""
    with listening() as listener:
        sender = Sender(listener)
        sender.greet()
        sender.send(tinit(2, b"vsock"))
        check(sender.is_closed(), "not refused")
        wait_until("the reason", lambda: "are not over vsock"
                   in listener.log())


CASES = (a_recorder_at_a_unix_socket, a_broker_at_a_unix_socket,
         wrong_addresses, a_recorder_over_vsock, vsock_only_over_vsock)

if __name__ == "__main__":
    run(CASES)
