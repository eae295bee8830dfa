# SPDX-License-Identifier: MIT
"""Scenarios of tracepulse-send that does not come to its end, and of what it
shows until then: it is interrupted, nobody listens, nobody answers."""
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import made
import tree
from senders import SEND_TIMEOUT, files_of
from story import scenario
from world import Failure, Skipped, check, free_ports, screen, wait_for

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "replay"))
import relay                                            # noqa: E402

PACKETS = 60            # per stream
NAMES = {130: "SIGINT", 143: "SIGTERM"}
# Seconds from a signal to the end: at once, except for a tick and a busy machine,
# or after waiting for a relay that does not answer. A program that missed the
# signal would take longer.
AT_ONCE, PATIENCE = 10.0, 12.0


def start(w, *arguments, url=None, **how):
    """tracepulse-send, on its way."""
    return w.spawn(w.send_path, *arguments, url or w.url(),
                   **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                      **how})


def interrupt(child, status=130, within=AT_ONCE):
    """A signal, after which it must end soon with STATUS; what it said on both
    its outputs."""
    began = time.monotonic()
    child.send_signal(status - 128)
    out, err = child.communicate(timeout=SEND_TIMEOUT)
    lasted = time.monotonic() - began
    check(child.returncode == status,
          f"status {child.returncode} instead of {status}: {err.decode()}")
    check(lasted <= within, f"it went on for {lasted:.2f} s")
    return out.decode(), err.decode()


def summary(text, status, total=2 * PACKETS):
    """The JSON of one that was interrupted."""
    found = json.loads(text)
    if found["interrupted"] != NAMES[status]:
        raise Failure("interrupted by %r" % found["interrupted"])
    rest = found["not_sent"]
    for member in "packets", "bytes":
        if rest[member] != sum(s[member] for s in rest["streams"]):
            raise Failure("not_sent: %r" % rest)
    if found["indexes"] + rest["packets"] != total:
        raise Failure("%d packets answered, %d not sent, of %d"
                      % (found["indexes"], rest["packets"], total))
    return found


def wait_written(w, name, count):
    """Until so many packets of session NAME are in their files."""
    wait_for("packets", lambda: has_packets(w, name))
    wait_for("%d packets" % count, lambda: sum(map(len, made.on_disk(
        w.path("*/%s-*" % name)).values())) == count)


def wait_hears(child):
    """Until it catches signals; then for a moment."""
    wait_for("it catches signals", lambda: relay.hears(child.pid))
    time.sleep(0.5)


def has_packets(w, name):
    """Has the relay written any of session NAME?"""
    return any(files_of(path) for path in w.paths("*/%s-*" % name))


@scenario(needs_sessiond=False, compare_tree=False)
def send_interrupted(w):
    """a signal ends it at once and in order; status, summary and JSON say what
    was not sent, and that is what is not on disk"""
    trace = os.path.join(w.directory, "trace")
    made.make(trace, PACKETS, 100000)
    ways = [(130, "SIGINT"), (143, "SIGTERM")]
    if not w.is_reference:
        ways += [(130, "--udp"), (143, "--resend")]
    for status, name in ways:
        child = start(w, "--json", "--rate=300k", "--session=" + name, trace,
                      *[name] * name.startswith("-"))
        wait_for("packets", lambda name=name: has_packets(w, name))
        out, _ = interrupt(child, status)
        found = summary(out, status)
        left = {s["stream"]: s["packets"]
                for s in found["not_sent"]["streams"]}
        written = made.on_disk(os.path.join(w.relay.output, found["path"]))
        for stream in made.STREAMS:
            count = PACKETS - left["trace/" + stream]
            if written.get(stream, []) != list(range(count)):
                raise Failure("%s: %d packets sent, on disk %r"
                              % (stream, count, written.get(stream)))
        if found["error"] is not None or not found["indexes"]:
            raise Failure("summary: %r" % found)
    child = start(w, "--rate=300k", "--session=words", trace)
    wait_for("packets", lambda: has_packets(w, "words"))
    out, _ = interrupt(child)
    if re.search(r"^interrupted by SIGINT\nnot sent: \d+ of 120 packets, "
                 r".*\n  trace/ch0_0: \d+ packets, ", out, re.M) is None:
        raise Failure("it says: %s" % out)


@scenario(needs_sessiond=False, compare_tree=False)
def send_interrupted_in_a_packet(w):
    """a packet of which a part is sent is sent to its end, without the pace"""
    trace = os.path.join(w.directory, "trace")
    made.make(trace, 2, 2000000)
    child = start(w, "--json", "--rate=100k", "--session=large", trace)
    wait_for("the session", lambda: w.paths("*/large-*"))
    time.sleep(3)
    out, _ = interrupt(child)
    found = summary(out, 130, 4)
    if found["packets"] != 1 or found["not_sent"]["packets"] != 3:
        raise Failure("summary: %r" % found)
    tree.check_indexes(os.path.join(w.relay.output, found["path"]))


@scenario(needs_sessiond=False, compare_tree=False)
def send_interrupted_waiting(w):
    """a signal is seen while it waits for the time of a packet, and while it
    keeps the session open"""
    trace = os.path.join(w.directory, "trace")
    made.make(trace, PACKETS, 1000)
    far = os.path.join(w.directory, "far")
    made.make(far, 1, 1000)
    with open(os.path.join(far, made.STREAMS[0]), "ab") as handle:
        handle.write(made.packet(1, 10 ** 12, [10]))    # 16 minutes later
    child = start(w, "--json", "--realtime", "--session=far", far)
    wait_written(w, "far", 2)
    out, _ = interrupt(child)
    if summary(out, 130, 3)["not_sent"]["packets"] != 1:
        raise Failure("not one packet is left: %s" % out)
    child = start(w, "--json", "--linger=600", "--session=open", trace)
    wait_written(w, "open", 2 * PACKETS)
    out, _ = interrupt(child)
    if summary(out, 130)["not_sent"]["packets"] != 0:
        raise Failure("not all was sent: %s" % out)


@contextlib.contextmanager
def silence():
    """A port to which connecting takes for ever: its queue is full."""
    with socket.socket() as listener, contextlib.ExitStack() as crowd:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            one = crowd.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


@scenario(options=None, needs_sessiond=False, reference=False)
def send_interrupted_connecting(w):
    """a signal is seen while it connects, and while it asks for the address"""
    trace = os.path.join(w.directory, "trace")
    made.make(trace, PACKETS, 1000)
    with silence() as port:
        child = start(w, "--json", trace, url="net://127.0.0.1:%d" % port)
        wait_hears(child)
        summary(interrupt(child, 143)[0], 143)
        child = start(w, trace, url="net://127.0.0.1:%d" % port)
        wait_hears(child)
        out, _ = interrupt(child)
    if "interrupted by SIGINT, before the session was open\n" \
            "not sent: 120 of 120 packets" not in out:
        raise Failure("it says: %s" % out)
    if not w.private:
        raise Skipped("no name server of its own without namespaces")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 53))
        mute.settimeout(SEND_TIMEOUT)
        config = os.path.join(w.directory, "resolv.conf")
        with open(config, "w", encoding="ascii") as out:
            out.write("nameserver 127.0.0.1\n")
        subprocess.run(["mount", "--bind", config, "/etc/resolv.conf"],
                       check=True)
        child = start(w, "--json", trace, url="net://relay.example")
        mute.recv(512)
        summary(interrupt(child)[0], 130)


@scenario(needs_sessiond=False, compare_tree=False)
def send_interrupted_mute(w):
    """a relay that answers nothing any more is waited for no longer than a
    second after a signal"""
    trace = os.path.join(w.directory, "trace")
    made.make(trace, PACKETS, 100000)
    child = start(w, "--json", "--rate=300k", "--session=mute", trace)
    wait_for("packets", lambda: has_packets(w, "mute"))
    os.kill(w.relay.pid, signal.SIGSTOP)
    try:
        time.sleep(0.3)
        out, err = interrupt(child, within=PATIENCE)
    finally:
        os.kill(w.relay.pid, signal.SIGCONT)
    if "does not answer" not in summary(out, 130)["error"] \
            or "does not answer" not in err:
        raise Failure("it says: %s%s" % (out, err))


@scenario(options=None, needs_sessiond=False, reference=False)
def send_fails(w):
    """failures are an error in the JSON: no relay listens, a relay disconnects, a
    directory is not a trace; for a name with a slash the error is text"""
    trace = os.path.join(w.directory, "trace")
    made.make(trace, PACKETS, 100000)
    (port,) = free_ports(1)

    def error(*arguments, url=None, before=None):
        child = start(w, "--json", *arguments, url=url)
        if before is not None:
            before()
        out, err = child.communicate(timeout=SEND_TIMEOUT)
        found = json.loads(out)
        check(child.returncode == 1 and found["error"] in err.decode(),
              f"status {child.returncode}, {out}{err.decode()}")
        return found

    found = error(trace, url="net://127.0.0.1:%d" % port)
    if found["error"] != "127.0.0.1 port %d: Connection refused" % port \
            or found["not_sent"]["packets"] != 2 * PACKETS:
        raise Failure("nobody listens: %r" % found)
    only = os.path.join(w.directory, "only")
    os.makedirs(only)
    with open(os.path.join(only, "metadata"), "wb") as handle:
        handle.write(made.METADATA)
    for arguments in (only,), (trace, only):
        found = error(*arguments)
        if "no stream" not in found["error"] or found["not_sent"] is not None:
            raise Failure("a folder without streams: %r" % found)
    w.relay.start()

    def die():
        wait_for("packets", lambda: has_packets(w, "dies"))
        time.sleep(0.3)
        w.relay.kill()
    found = error("--rate=300k", "--outstanding=2", "--session=dies", trace,
                  before=die)
    if not 0 < found["not_sent"]["packets"] < 2 * PACKETS:
        raise Failure("the relay died: %r" % found)
    refuse_names(w, trace)


def refuse_names(w, trace):
    """Names that cannot be a folder."""
    for option in "--session", "--hostname":
        for name, why in (("a/b", "a slash"), ("..", "not empty"),
                          ("", "invalid value"), ("a\nb", "control char"),
                          ("x" * 256, "longer than")):
            child = start(w, "%s=%s" % (option, name), trace)
            _, err = child.communicate(timeout=SEND_TIMEOUT)
            if child.returncode != 2 or why not in err.decode() \
                    or option not in err.decode():
                raise Failure("%s=%s: status %d: %s" % (
                    option, name, child.returncode, err.decode()))


LINE = re.compile(r" *(\d+) %  ([\d.]+) of 10.5 MiB, (\d+) packets, "
                  r"([\d.]+) (KiB|MiB)/s, (?:(\d+) min )?(\d+) s left")


@scenario(needs_sessiond=False, compare_tree=False)
def send_progress(w):
    """on a terminal the progress moves within a packet, with rate and time
    left"""
    trace = os.path.join(w.directory, "trace")
    made.make(trace, 1, 9000000)
    master, slave, _ = screen()
    if not os.isatty(slave):
        raise Skipped("no terminals here")
    shown = []

    def read():
        with contextlib.suppress(OSError):
            while part := os.read(master, 65536):
                shown.append(part.decode())
    threading.Thread(target=read, daemon=True).start()
    child = start(w, "--rate=4M", "--session=shown", trace, stderr=slave)
    os.close(slave)
    child.wait(SEND_TIMEOUT)
    check(child.returncode == 0, f"status {child.returncode}")
    text = "".join(shown)
    found = [LINE.fullmatch(line) for line in text.split("\r\x1b[K")]
    found = [m for m in found if m is not None and m.group(3) == "1"]
    moved = [float(m.group(2)) for m in found]
    if len(set(moved)) < 3 or moved != sorted(moved):
        raise Failure("it shows: %r" % text)
    rates = [float(m.group(4)) for m in found if m.group(5) == "MiB"]
    left = [int(m.group(7)) for m in found]
    check(rates and 0 < rates[-1] < 5 and left[-1] > 0, f"it shows: {text!r}")
