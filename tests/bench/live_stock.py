#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Live viewing with stock programs: how often an idle viewer asks, how late a
line of text comes. Each run is a process in a world of its own."""
import argparse
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "interop")]

import tree                                             # noqa: E402
import watching                                         # noqa: E402
import world                                            # noqa: E402

TIMEOUT = 120.0
VIEWERS = {
    "babeltrace2": ["babeltrace2", "--clock-seconds", "--no-delta"],
    "babeltrace": ["babeltrace", "--clock-seconds", "--no-delta"],
}
# Bytes behind the header of a request, by command (live 1.4).
PAYLOAD = {1: 20, 2: 0, 3: 20, 4: 8, 5: 20, 6: 8, 7: 8, 8: 0, 9: 8}
COMMANDS = {1: "connect", 2: "list", 3: "attach", 4: "index", 5: "packet",
            6: "metadata", 7: "new_streams", 8: "create", 9: "detach"}
HEADER = 16


class Tap:
    """Stands before the viewer port, passes everything on, and counts the
    requests of one viewer."""

    def __init__(self, port):
        self.to = port
        self.counts = dict.fromkeys(COMMANDS.values(), 0)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        """One viewer after another."""
        while True:
            viewer, _ = self.listener.accept()
            relay = socket.create_connection(("127.0.0.1", self.to))
            for s in (viewer, relay):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.forward, daemon=True,
                             args=(viewer, relay, self.count)).start()
            threading.Thread(target=self.forward, daemon=True,
                             args=(relay, viewer, None)).start()

    @staticmethod
    def forward(source, to, look):
        """Until the end of SOURCE."""
        rest = b""
        while True:
            try:
                data = source.recv(1 << 16)
                if not data:
                    to.shutdown(socket.SHUT_WR)
                    return
                if look:
                    rest = look(rest + data)
                to.sendall(data)
            except OSError:
                return

    def count(self, data):
        """The whole requests in DATA; what is left behind them."""
        while len(data) >= HEADER:
            command = int.from_bytes(data[8:12], "big")
            length = HEADER + PAYLOAD[command]
            if len(data) < length:
                break
            self.counts[COMMANDS[command]] += 1
            data = data[length:]
        return data


def record(w, live_us, channels):
    """A live session with an application that has begun."""
    w.lttng("create", "bench", "--set-url", w.url(), "--live=%d" % live_us)
    for n in range(channels):
        w.lttng("enable-channel", "-u", "-s", "bench", "--subbuf-size", "4k",
                "--num-subbuf", "16", "ch%d" % n)
        w.lttng("enable-event", "-u", "-s", "bench", "-c", "ch%d" % n,
                "demo:*")
    w.lttng("start", "bench")


def view(w, program, port, session="bench"):
    """A stock viewer of that session; its text comes out of a pipe."""
    argv = VIEWERS[program] + ["-i", "lttng-live",
                               "net://127.0.0.1:%d/host/%s/%s"
                               % (port, socket.gethostname(), session)]
    with open(os.path.join(w.directory, "viewer.err"), "wb") as err:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=err,
                                 env=w.env())
    w.children.append(child)
    return child


class Lines:
    """Lines of a viewer with the time at which each came."""

    def __init__(self, pipe):
        self.got = []
        self.pipe = pipe
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        """Until the viewer's end."""
        stamp = re.compile(rb"^\[(\d+)\.(\d{9})\]")
        for line in self.pipe:
            now = time.time()
            match = stamp.match(line)
            if match:
                event = int(match.group(1)) + int(match.group(2)) / 1e9
                self.got.append((event, now))


def requests_idle(w, options):
    """Requests per second of a viewer of an idle session."""
    record(w, options.live_us, options.channels)
    w.app(0, 2, microseconds=110000000)
    world.wait_for("session", lambda: (tree.listed(w, "bench") or (0,))[0]
                   > 2 * options.channels, timeout=10)
    tap = Tap(w.ports[2])
    viewer = view(w, options.viewer, tap.port)
    lines = Lines(viewer.stdout)
    world.wait_for("first event in %s" % options.viewer,
                   lambda: lines.got, timeout=15)
    time.sleep(2)
    before, began = dict(tap.counts), time.monotonic()
    time.sleep(options.seconds)
    took = time.monotonic() - began
    if viewer.poll() is not None:
        raise world.Failure("%s ended" % options.viewer)
    rates = {c: (n - before[c]) / took for c, n in tap.counts.items()}
    return {"value": sum(rates.values()),
            "by_command": {c: n for c, n in rates.items() if n},
            "streams": tree.listed(w, "bench")[0] - 1}


def emit(w, options):
    """A session in which an event happens every 83 ms."""
    record(w, options.live_us, 1)
    w.app(0, 10000, microseconds=83000)
    world.wait_for("session", lambda: (tree.listed(w, "bench") or (0,))[0]
                   > 1, timeout=10)


def collect(options, lines):
    """(event, line) in seconds, of those that happen from now on."""
    world.wait_for("first event in %s" % options.viewer,
                   lambda: lines.got, timeout=20)
    since = time.time() + 2.5 * options.live_us / 1e6
    time.sleep(options.seconds + since - time.time() +
               2.5 * options.live_us / 1e6)
    found = [(event, now) for event, now in lines.got
             if since <= event < since + options.seconds]
    if len(found) < options.seconds * 10:
        raise world.Failure("%s printed %d events" % (options.viewer,
                                                      len(found)))
    return found


def latency(w, options):
    """Seconds from an event's own time to its line of text."""
    emit(w, options)
    viewer = view(w, options.viewer, w.ports[2])
    took = [(now - event) * 1e3
            for event, now in collect(options, Lines(viewer.stdout))]
    if viewer.poll() is not None:
        raise world.Failure("%s ended" % options.viewer)
    tenths = statistics.quantiles(took, n=10)
    return {"value": statistics.median(took), "p10": tenths[0],
            "p90": tenths[8], "events": len(took)}


def tail(w, options):
    """The same of `tracepulse tail --json | jq`, beside a viewer's text."""
    emit(w, options)
    lines = Lines(view(w, options.viewer, w.ports[2]).stdout)
    json_lines = watching.Tail(w, "bench", "--event=demo:*",
                               through=("jq", "-c", "--unbuffered", "."))
    world.wait_for("tail", lambda: json_lines.records, timeout=20)
    texts = collect(options, lines)
    # jq 1.6 has no more than 53 bits of ts_ns.
    shown = {r["ts_ns"] // 10**6: at / 1e9 for at, r in json_lines.records}
    both = [(event, now, shown[int(event * 1e3)]) for event, now in texts
            if int(event * 1e3) in shown]
    if len(both) < 0.9 * len(texts):
        raise world.Failure("tail printed %d events of %d" % (len(both),
                                                              len(texts)))
    late = [(at - event) * 1e3 for event, _, at in both]
    return {"value": max((at - now) * 1e3 for _, now, at in both),
            "late_median": statistics.median(late), "late_most": max(late),
            "events": len(both)}


def second_relay(w, options):
    """A relay that gets the session as it is recorded; its viewer port."""
    ports = world.free_ports(4)
    top = os.path.join(w.directory, "second")
    os.mkdir(top)
    w.spawn(options.relay, "-o", top + "/out", *(
        word for option, port in zip(("-C", "-D", "-L", "--http"), ports)
        for word in (option, "tcp://127.0.0.1:%d" % port)),
        environment={"LTTNG_HOME": top, "LTTNG_RUNDIR": top + "/run"})

    def serves():
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", ports[2])).close()
            return True
        return False
    world.wait_for("second relay", serves, timeout=10)
    w.spawn(w.send_path, "--follow", "--session=copy",
            "--live-timer=%d" % options.live_us, w.path("*/bench-*"),
            "net://127.0.0.1:%d:%d" % tuple(ports[:2]))
    world.wait_for("copy", lambda: glob.glob(top + "/out/*/copy-*/ust"),
                   timeout=10)
    return ports[2]


def follow(w, options):
    """How much later an event's line of text comes behind a second relay. The
    stream of another CPU is idle."""
    emit(w, options)
    w.run_app(0, 5, cpu=1)
    lines = Lines(view(w, options.viewer, w.ports[2]).stdout)
    copied = Lines(view(w, options.viewer, second_relay(w, options),
                        "copy").stdout)
    world.wait_for("first event of the copy", lambda: copied.got, timeout=20)
    texts = collect(options, lines)
    world.wait_for("the last event in the copy", lambda: copied.got[-1][0] >=
                   texts[-1][0], timeout=20)
    shown = dict(copied.got)
    missing = [event for event, _ in texts if event not in shown]
    if missing:
        raise world.Failure("%d events of %d are not in the copy" % (
            len(missing), len(texts)))
    later = [(shown[event] - now) * 1e3 for event, now in texts]
    return {"value": max(later), "median": statistics.median(later),
            "events": len(later)}


KINDS = {"requests": requests_idle, "latency": latency, "tail": tail,
         "follow": follow}


def inside(options):
    """In its world: one run, the result into a file."""
    if options.private:
        world.enter()
    else:
        world.drop_root()
    w = world.World(options.directory, options.relay, options.app,
                    options.private, options.is_reference,
                    os.path.join(os.path.dirname(options.relay), "tracepulse-send"))
    try:
        w.relay.start()
        w.start_sessiond()
        result = KINDS[options.inside](w, options)
    except (world.Failure, OSError, subprocess.SubprocessError) as failure:
        result = {"error": str(failure) or repr(failure)}
    finally:
        w.close()
    with open(os.path.join(options.directory, "result.json"), "w",
              encoding="utf-8") as f:
        json.dump(result, f)


def run(kind, options, name, viewer, live_us, channels=1, seconds=10.0):
    """One run with the relay NAME, in a world of its own; its result."""
    private = world.can_unshare()
    base = tempfile.mkdtemp(prefix="tracepulse-bench-")
    os.chmod(base, 0o755)
    directory = os.path.join(base, "world")
    world.make_directory(directory)
    relay = options.relay if name == "ours" else shutil.which(name)
    relay, app = (os.path.abspath(p) if private
                  else world.within_reach(os.path.abspath(p), base)
                  for p in (relay, options.app))
    command = [sys.executable, os.path.abspath(__file__), kind,
               "--directory", directory, "--relay", relay, "--app", app,
               "--viewer", viewer, "--live-us", str(live_us),
               "--channels", str(channels), "--seconds", str(seconds)]
    command += ["--private"] if private else []
    command += ["--is-reference"] if name != "ours" else []
    child = subprocess.Popen(world.command_in_world(command, private),
                             stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        child.wait(TIMEOUT + seconds)
        with open(directory + "/result.json", encoding="utf-8") as f:
            result = json.load(f)
    except BaseException:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        raise
    finally:
        shutil.rmtree(base)
    if "error" in result:
        raise RuntimeError(f"{name}, {viewer}: {result['error']}")
    return result


def main():
    """Only what run() starts."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("inside", choices=sorted(KINDS))
    for name in ("directory", "relay", "app", "viewer"):
        p.add_argument("--" + name, required=True)
    p.add_argument("--live-us", type=int, required=True)
    p.add_argument("--channels", type=int, required=True)
    p.add_argument("--seconds", type=float, required=True)
    for name in ("private", "is-reference"):
        p.add_argument("--" + name, action="store_true")
    inside(p.parse_args())


if __name__ == "__main__":
    main()
