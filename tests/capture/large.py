#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Live packets of 64 KiB and more, as an interface has them where segmentation
is left to the device, beside tcpdump: each with its length."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "tests/replay"))
import relay  # noqa: E402
from program import wait_for_rest  # noqa: E402
from relay import check, equal  # noqa: E402

PROGRAM = os.path.abspath("./tracepulse-capture")
# With a substitute for libtrace 4's parallel interface.
DOUBLE = os.path.abspath("./tests/capture/capture_double")
SKIPPED, INSIDE = 77, "--inside"
TIMEOUT = 120
LARGE = 65536
INT_MOST = 260000               # a block of the ring, less its headers
RING_MOST = 65000               # a frame of the ring, less its header
PIECE, PIECES = 1 << 20, 4


def records(path):
    """[(length on the wire, bytes)] of a file in this machine's order."""
    data, out, at = pathlib.Path(path).read_bytes(), [], 24
    while at + 16 <= len(data):
        _, _, captured, wire = struct.unpack_from("<IIII", data, at)
        out.append((wire, data[at + 16:at + 16 + captured]))
        at += 16 + captured
    equal(at, len(data), f"the end of {path}")
    return out


def told(*command, data=None):
    done = subprocess.run(command, input=data, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=TIMEOUT)
    equal(done.returncode, 0, f"status of {command}: "
          f"{done.stderr.decode()[-1000:]}")
    return done.stdout.decode()


def events(trace):
    """[(bytes on the wire, captured)] as babeltrace2 shows them."""
    return [tuple(map(int, m)) for m in re.findall(
        r"wire_len = (\d+), cap_len = (\d+)", told("babeltrace2", trace))]


def transfer():
    """A bulk transfer by TCP over the loopback."""
    def receive():
        with server.accept()[0] as connection:
            while connection.recv(PIECE):
                pass
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=receive)
        thread.start()
        with socket.create_connection(server.getsockname()) as connection:
            for _ in range(PIECES):
                connection.sendall(os.urandom(PIECE))
                time.sleep(0.01)
        thread.join()


def settle(child):
    """Until it has looked at all that came. The substitute's reader looks again
    and again."""
    if child.args[0] == DOUBLE:
        time.sleep(4)
    else:
        wait_for_rest(child)


@contextlib.contextmanager
def running(*command, ready):
    """The program, from when it has said READY, bytes, or has made READY, a
    file; it is ended by SIGINT."""
    with subprocess.Popen(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as child:
        try:
            if isinstance(ready, bytes):
                check(ready in child.stdout.readline(), f"{command}")
            else:
                until = time.monotonic() + TIMEOUT
                while not os.path.exists(ready):
                    check(time.monotonic() < until, f"{command}: no {ready}")
                    time.sleep(0.02)
            settle(child)
            yield child
        finally:
            if child.poll() is None:
                child.send_signal(signal.SIGINT)
            child.said = child.communicate(timeout=TIMEOUT)[0]
    equal(child.returncode, 0, f"status of {command}: {child.said}")


def live(kind, most, *options, program=PROGRAM):
    """The same packets as tcpdump."""
    with tempfile.TemporaryDirectory() as top:
        # Of its packets only the lengths are looked at: so there is room for
        # all that come while it stands still.
        with running("tcpdump", "-i", "lo", "-w", f"{top}/a", "-U", "-B",
                     "65536", "-Z", "root", "--immediate-mode", "-s", "256",
                     ready=b"listening") as theirs, \
                running(program, "-i", f"{kind}:lo", "--json",
                        "--payload=full", "--output", f"{top}/t", *options,
                        ready=f"{top}/t/metadata") as ours:
            transfer()
            for child in theirs, ours:
                settle(child)
        want, got = records(f"{top}/a"), events(f"{top}/t")
        check(any(wire >= LARGE for wire, _ in want), "no packet was large")
        check(b'"dropped_kernel": 0' in ours.said, f"drops: {ours.said}")
        equal(sorted(w for w, _ in got), sorted(w for w, _ in want),
              f"{kind} {options}: lengths")
        check(all(min(w, most) <= c <= w for w, c in got), "cut too short")


def live_int():
    live("int", INT_MOST)
    live("int", INT_MOST, "--filter=tcp", "-j2", "--order=strict")
    live("int", 100, "--filter=tcp", "--snaplen=100")


def live_ring():
    live("ring", RING_MOST)
    live("ring", RING_MOST, "--filter=tcp")


def live_ring_of_several_threads():
    # libtrace 3 cannot copy larger packets, which the substitute has to.
    live("ring", 1500, "-j3", "--hash=flow", "--snaplen=1500", program=DOUBLE)


LIVE = [live_int, live_ring, live_ring_of_several_threads]


def main(argv):
    for program in "babeltrace2", "tcpdump", "unshare", "ip":
        if shutil.which(program) is None:
            print(f"SKIP: there is no {program}")
            return SKIPPED
    if argv[:1] == [INSIDE]:
        told("ip", "link", "set", "lo", "up")
        return relay.run(LIVE, argv[1:])
    namespace = ["unshare", "-n"]
    if subprocess.run([*namespace, "true"], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        print("SKIP: no network namespace may be made here, so there is no "
              "live capture")
        return SKIPPED
    return subprocess.run([*namespace, sys.executable, __file__, INSIDE],
                          check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
