# SPDX-License-Identifier: MIT
"""Scenarios of tracepulse-ftrace broker: stock trace-cmd agents that are known by
name, reached by stock trace-cmd and by our record, one and several at a time.

There is one kernel: a guest with a ring buffer of its own is an agent for which
an instance of tracefs is the whole of it."""
import collections
import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import time

import capture
import tracing
import tree
from capture import View
from story import scenario
from world import Failure, Skipped, check, listening_ports, wait_for

EVENTS = 50             # of a second of "sched", at least
MARKS = 40              # programs of a round
# Of a recording: 5 minutes of it in the long run.
RECORD_S = 300 if os.environ.get("TP_TEST_LONG") else 0
BROKER = ("--broker", "127.0.0.1:5367")
# Events that recorders do not cause themselves.
FEW = ("-e", "sched:sched_process_exec", "-e", "sched:sched_process_exit")


class Guests:
    """A broker, and guests."""

    def __init__(self, w, kernel, *names):
        self.w, self.kernel = w, kernel
        self.tokens, self.started = {}, []
        self.log_path = os.path.join(w.directory, "guests.log")
        words = {name: f"0123456789abcdef-{name}" for name in ("all", *names)}
        for name, word in words.items():
            self.tokens[name] = self._private(name, word)
        listed = self._private("list", "\n".join(
            f"{name} {words[name]}" for name in names))
        self.start(w.ftrace_path, "broker", "--token-file",
                   self.tokens["all"], "--guests", listed)

    def _private(self, name, text):
        path = os.path.join(self.w.directory, "token-" + name)
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w",
                  encoding="ascii") as f:
            f.write(text + "\n")
        return path

    def start(self, *command):
        """In the background, to the end of the world."""
        with open(self.log_path, "ab") as log:
            child = self.w.spawn(*command, stdout=log, stderr=log,
                                 cwd=self.w.directory, start_new_session=True)
        self.started.append(child)
        return child

    def said(self):
        """What all of them have printed."""
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def stop(self):
        """All, with what agents have started: instances are in use else."""
        for child in reversed(self.started):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def check_stock_agent(self):
        """That of trace-cmd 3.3.1 crashes on Debian 13."""
        agent = self.start("trace-cmd", "agent", "-N", "127.0.0.1", "-p", "9099")
        wait_for("an agent", lambda: 9099 in listening_ports())
        status, output = self.w.run(
            "sh", "-c", f"cd {self.w.directory} && timeout 30 trace-cmd record "
            "--tsync-interval -1 -A 127.0.0.1:9099 -e sched true", timeout=40)
        os.killpg(agent.pid, signal.SIGKILL)
        if status != 0:
            raise Skipped("trace-cmd record fails with trace-cmd agent alone: "
                          + " ".join(output.split()))

    def add(self, name, port, has_buffer=False):
        """Starts an agent on PORT, registered as NAME; HAS_BUFFER: with a ring buffer
        of its own."""
        agent = ("trace-cmd", "agent", "-N", "127.0.0.1", "-p", str(port))
        if has_buffer:
            self.kernel.instance(name)
            agent = ("unshare", "-m", "sh", "-c", 'mount --rbind "$0" "$1" && '
                     'shift && exec "$@"', f"{tracing.TRACEFS}/instances/{name}",
                     tracing.TRACEFS, *agent)
        self.start(*agent)
        # Else the first session can be refused: it connects to the agent.
        wait_for(f"the agent of {name}", lambda: port in listening_ports())
        self.start(self.w.ftrace_path, "connect", name, "--agent",
                   f"127.0.0.1:{port}", *BROKER, "--token-file",
                   self.tokens[name])
        self.wait_ready(name)

    def wait_ready(self, name):
        """Until nobody has it."""
        wait_for(f"{name} is ready", lambda: f"{name} ready " in self.w.run(
            self.w.ftrace_path, "list", *BROKER, "--token-file",
            self.tokens["all"])[1], timeout=15)

    def command(self, *words):
        """Of ours, with the token of who reaches guests."""
        return (self.w.ftrace_path, *words, *BROKER, "--token-file",
                self.tokens["all"])


@scenario(options=None, needs_sessiond=False, reference=False,
          compare_tree=False)
def ftrace_guest(w):
    """stock trace-cmd record -A, and record, reach stock trace-cmd agent by its name,
    through connect, broker and reach"""
    kernel = tracing.Tracing(w)
    guests = Guests(w, kernel, "web1")
    try:
        guests.check_stock_agent()
        guests.add("web1", 9000)
        guests.start(*guests.command("reach", "web1", "-p", "9001"))
        wait_for("reach", lambda: 9001 in listening_ports())
        status, output = w.run(
            "sh", "-c", f"cd {w.directory} && timeout 30 trace-cmd record "
            "--tsync-interval -1 -A 127.0.0.1:9001 -e sched sleep 2",
            timeout=40)
        check(status == 0, f"trace-cmd record -A: {status}: {output}")
        guests.wait_ready("web1")
        status, output = w.run(*guests.command(
            "record", "web1", "-e", "sched", "-d", w.directory, "--duration",
            "1s"))
        check(status == 0, f"record web1: {status}: {output}")
    finally:
        guests.stop()
        kernel.close()
    for name in ("trace-127.0.0.1.dat", "trace.web1.dat"):
        lines = tracing.report(os.path.join(w.directory, name))
        check(len(lines) >= EVENTS, f"{name}: {len(lines)} events")
        w.notes.append(f"{name}: {len(lines)} events")


def make_marks(w):
    """MARKS programs run, one after another, for RECORD_S; how many rounds."""
    mark = os.path.join(w.directory, "mark")
    shutil.copy("/bin/true", mark)
    rounds, end = 0, time.monotonic() + RECORD_S
    while rounds == 0 or time.monotonic() < end:
        for _ in range(MARKS):
            subprocess.run([mark], check=True)
            time.sleep(0.02)
        rounds += 1
    return rounds


def expect_marks(where, events, count):
    """Each in so many rounds, in one order of time."""
    for a, b in zip(events, events[1:]):
        check(b.ns >= a.ns, f"{where}: {b.name} goes back in time")
    marks = [e for e in events if '/mark"' in e.text
             and e.name == "sched:sched_process_exec"]
    check(len(marks) == count * MARKS,
          f"{where}: {len(marks)} marks instead of {count * MARKS}")


def wake_all():
    """Something runs on each CPU, so that its stream begins: what came before,
    when others had gone on, is too late."""
    for cpu in os.sched_getaffinity(0):
        subprocess.run(["taskset", "-c", str(cpu), "true"], check=True)


def late_events(guests):
    """{guest: how many of its events came too late for who looks}"""
    told = re.findall(r"peer=(\w+): not live: .* (\d+) that came too late",
                      guests.said())
    late = collections.Counter()
    for name, count in told:
        late[name] = int(count)
    return late


def play_guests(w, guests, names):
    """They are recorded at a time, and seen live; what the viewer showed, and the rounds
    of marks."""
    for n, name in enumerate(names):
        guests.add(name, 9000 + n, has_buffer=True)
    child = guests.start(*guests.command(
        "record", *names, *FEW, "-d", w.directory, "--hold=10s",
        "--relay=net://127.0.0.1:%d:%d" % tuple(w.ports[:2])))
    flush = guests.start(w.ftrace_path, "flush", "--interval=200ms")
    wait_for("flush", lambda: "recorder processes" in guests.said())

    def has_streams():
        wake_all()
        return all((tree.listed(w, n) or (0, 0))[0] > os.cpu_count()
                   for n in names)
    wait_for("sessions with a stream for each CPU", has_streams, timeout=60,
             step=0.5)
    view = View(w, *names)
    rounds = make_marks(w)
    wait_for("all marks live", lambda: sum(
        '/mark"' in e.text for e in view.events())
        >= len(names) * MARKS * rounds, timeout=60)
    flush.send_signal(signal.SIGTERM)
    child.send_signal(signal.SIGINT)
    check(child.wait(30) == 0 and flush.wait(10) == 0,
          f"record: {child.returncode}; flush: " f"{flush.returncode}")
    return view.finish(), rounds


@scenario(reference=False, compare_tree=False, needs_sessiond=False)
def ftrace_guests(w):
    """three stock agents with ring buffers of their own, recorded at a time: one
    timeline of all in one babeltrace2, live; each file, and each session, has
    what trace-cmd report says"""
    names = ("web1", "web2", "web3")
    kernel = tracing.Tracing(w)
    guests = Guests(w, kernel, *names)
    try:
        guests.check_stock_agent()
        shown, rounds = play_guests(w, guests, names)
    finally:
        guests.stop()
        kernel.close()
    late = late_events(guests)
    expect_marks("live", shown, len(names) * rounds)
    expect_marks("babeltrace2", capture.read(w, w.relay.output),
                 len(names) * rounds)
    for name in names:
        lines = tracing.report(os.path.join(w.directory, f"trace.{name}.dat"))
        session, = glob.glob(f"{w.relay.output}/*/{name}-*")
        events = capture.read(w, session)
        if len(lines) != len(events) + late[name] or len(lines) < MARKS:
            raise Failure(f"{name}: {len(events)} events, and {late[name]} "
                          f"too late, instead of {len(lines)}")
        w.notes.append(f"{name}: {len(lines)} events, {late[name]} too late")
