# SPDX-License-Identifier: MIT
"""Scenarios of tracepulse-ftrace: stock trace-cmd records the kernel of this
machine and sends it to our listener; stock trace-cmd reads what it wrote."""
import os
import signal
import time

import tracing
from story import scenario
from world import Failure, check, wait_for

EVENTS = 50             # of a second of "sched", at least


def recorded(w, *options):
    """One recording by stock trace-cmd; our file of it."""
    kernel = tracing.Tracing(w)
    try:
        listener = tracing.Listener(w)
        kernel.record(listener.port, *options)
        path = listener.wait_file()
    finally:
        kernel.close()
    listener.stop()
    lines = tracing.report(path)
    if len(lines) < EVENTS or not any("sched_switch" in n for n in lines):
        raise Failure(f"{len(lines)} events: {lines[:3]}")
    w.notes.append(f"{len(lines)} events, {os.path.getsize(path)} bytes")
    return listener, path, lines


@scenario(options=None, needs_sessiond=False, reference=False,
          compare_tree=False)
def ftrace_tcp(w):
    """stock trace-cmd record -N -t; its file has the events, and metadata that is
    compressed"""
    listener, _, _ = recorded(w, "-t")
    check(" lost" not in listener.log(), "lost: " + listener.log())


@scenario(options=None, needs_sessiond=False, reference=False,
          compare_tree=False)
def ftrace_udp(w):
    """the same over UDP: of a burst at the end nothing is lost"""
    listener, _, _ = recorded(w, "-C", "mono")
    check(" lost" not in listener.log(), "lost: " + listener.log())


@scenario(options=None, needs_sessiond=False, reference=False,
          compare_tree=False)
def ftrace_as_stock(w):
    """the same metadata and pages to the stock listener: trace-cmd report says the
    same of both files"""
    _, path, lines = recorded(w, "-t", "--file-version", "6")
    stock = tracing.Listener(w, is_stock=True)
    metadata, pages = tracing.pages_of(path)
    tracing.send_to(stock.port, metadata, pages)
    theirs = tracing.report(stock.wait_file())
    stock.stop()
    check(lines == theirs,
          f"{len(lines)} events, {len(theirs)} of the stock listener, or others")


@scenario(options=None, needs_sessiond=False, reference=False,
          compare_tree=False)
def ftrace_buffer(w):
    """a buffer of its own (-B), under flush, which does not keep it from being
    removed"""
    kernel = tracing.Tracing(w)
    with w.spawn(w.ftrace_path, "flush") as flush:
        try:
            listener = tracing.Listener(w)
            kernel.instance("tracepulse")
            # No events of the main buffer: for the second one stock trace-cmd
            # 3.1.6 takes the host for the port.
            kernel.record(listener.port, "-B", "tracepulse", timeout=20)
            path = listener.wait_file()
        finally:
            kernel.close()
            flush.send_signal(signal.SIGTERM)
    if os.path.exists(tracing.TRACEFS + "/instances/tracepulse"):
        raise Failure("the buffer cannot be removed")
    listener.stop()
    lines = tracing.report(path)
    check(lines, "no events: " + listener.log())
    w.notes.append(f"{len(lines)} events")


@scenario(options=None, needs_sessiond=False, reference=False,
          compare_tree=False)
def ftrace_killed(w):
    """the recorder is killed, and in another one the listener: both files are
    there, and are read"""
    kernel = tracing.Tracing(w)
    try:
        listener = tracing.Listener(w)
        kernel.set("buffer_percent", "0")
        child = kernel.start(listener.port, "-t")
        wait_for("pages", lambda: tracing_parts(listener) > 0, timeout=30)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        first = listener.wait_file()
        child = kernel.start(listener.port, "-t")
        wait_for("pages", lambda: tracing_parts(listener) > 0, timeout=30)
        listener.stop(signal.SIGKILL)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    finally:
        kernel.close()
    again = w.spawn(w.ftrace_path, "listen", "-p", str(listener.port), "-d",
                    listener.output)
    wait_for("two files", lambda: len(listener.files()) == 2)
    time.sleep(0.1)
    again.send_signal(signal.SIGTERM)
    again.wait(20)
    for name in listener.files():
        lines = tracing.report(os.path.join(listener.output, name))
        check(lines, name + ": no events")
        w.notes.append(f"{name}: {len(lines)} events"
                       + (", the recorder was killed" if name in first
                          else ", the listener was killed"))


def tracing_parts(listener):
    """Bytes of pages that are in parts."""
    size = 0
    for folder, _, names in os.walk(listener.output):
        size += sum(os.path.getsize(os.path.join(folder, n))
                    for n in names if n.startswith("cpu"))
    return size


@scenario(options=None, needs_sessiond=False, reference=False,
          compare_tree=False)
def ftrace_flush(w):
    """a recorder of few events: with flush its pages come at once, from all CPUs,
    and the traced command does not mind"""
    kernel = tracing.Tracing(w)
    try:
        listener = tracing.Listener(w)
        child = kernel.start(listener.port, "-t", "-b", "4000",
                             command=("sh", "-c", "sleep 20; touch ended"))
        wait_for("a recorder", lambda: os.path.isdir(listener.output)
                 and len(os.listdir(listener.output)) > 0)
        time.sleep(1)
        before = tracing_parts(listener)
        with w.spawn(w.ftrace_path, "flush") as flush:
            began = time.monotonic()
            wait_for("pages", lambda: tracing_parts(listener) > before,
                     timeout=12)
            seconds = time.monotonic() - began
            check(child.wait(60) == 0, f"trace-cmd record: {child.returncode}")
            flush.send_signal(signal.SIGTERM)
            check(flush.wait(10) == 0, f"flush: {flush.returncode}")
        if not os.path.exists(os.path.join(w.directory, "ended")):
            raise Failure("the traced command was not ended by itself")
        path = listener.wait_file()
    finally:
        kernel.close()
    w.notes.append(f"{before} bytes without, pages after {seconds:.2f} s with "
                   f"flush; {len(tracing.report(path))} events")


def children_of(process):
    """Those of a recorder: one for each CPU, and the traced command."""
    with open("/proc/%d/task/%d/children" % (process.pid, process.pid),
              encoding="ascii") as f:
        return [int(pid) for pid in f.read().split()]


def state_of(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
            return f.read().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "X"


@scenario(options=None, needs_sessiond=False, reference=False,
          compare_tree=False)
def ftrace_flush_busy(w):
    """flush as often as it can, of a busy machine: no process of the recorder ends
    by it, and no page overtakes another"""
    kernel = tracing.Tracing(w)
    try:
        listener = tracing.Listener(w)
        child = kernel.start(listener.port, "-t", "-C", "mono")
        cpus = os.cpu_count() or 1
        wait_for("its processes", lambda: len(children_of(child)) > cpus)
        time.sleep(1)
        with w.spawn(w.ftrace_path, "flush", "--interval=10ms", "--pid",
                     str(child.pid)) as flush:
            end = time.monotonic() + 5
            while time.monotonic() < end:
                w.run("/bin/true")
                gone = [p for p in children_of(child) if state_of(p) in "ZX"]
                check(not gone,
                      f"{len(gone)} processes of {cpus} CPUs have ended")
            flush.send_signal(signal.SIGTERM)
            flush.wait(20)
        os.killpg(child.pid, signal.SIGINT)
        child.wait(30)
        path = listener.wait_file()
    finally:
        kernel.close()
    listener.stop()
    status, said = w.run(w.ftrace_path, "convert", path,
                         os.path.join(w.directory, "ctf"))
    # At its end a busy recorder may leave out the rest of a page by itself.
    if status != 0 or ("not in the trace" in said and (
            "has not sent the rest" not in listener.log() or
            "0 that cannot be read, 0 older than the event before" not in said)):
        raise Failure("convert: %d: %s" % (status, said))
    w.notes.append(said.strip())
