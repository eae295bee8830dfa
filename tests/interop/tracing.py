# SPDX-License-Identifier: MIT
"""The kernel's tracing in a world, and stock trace-cmd, which records it.

There is one tracefs on a machine: who uses it here locks it, and leaves it as it
was. Where a sandbox forbids the function tracer, which stock trace-cmd resets
even if it is not asked for, its files are covered by empty ones.
"""
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from world import Failure, Skipped, check, wait_for

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "..", "ftrace"))
import sender                                           # noqa: E402

TRACEFS = "/sys/kernel/tracing"
COVERED = ("/proc/sys/kernel/ftrace_enabled", "set_ftrace_filter",
           "set_ftrace_notrace", "set_ftrace_pid", "set_graph_function",
           "set_graph_notrace")
SYMBOLS = 40            # lines of kallsyms: enough to be there
LEFT = ("set_event", "tracing_on", "buffer_percent", "current_tracer",
        "trace_clock")


def to_write(name, text):
    """What brings back what was read from a file of tracefs."""
    if name == "set_event":
        return "\n"
    if name == "trace_clock":
        return re.search(r"\[(\S+)\]", text)[1]
    if name.endswith("buffer_size_kb"):
        # "7 (expanded: 1408)": the second one, from the first use on.
        return re.findall(r"\d+", text)[-1]
    return text


class Tracing:
    """The machine's tracefs, for one scenario."""

    def __init__(self, w):
        self.w = w
        if shutil.which("trace-cmd") is None:
            raise Skipped("no trace-cmd")
        if not w.private:
            raise Skipped("tracing needs root, and namespaces")
        if not os.path.exists(TRACEFS + "/events"):
            w.run("mount", "-t", "tracefs", "none", TRACEFS)
        if not os.path.exists(TRACEFS + "/events/sched"):
            raise Skipped("no tracefs with sched events")
        self.lock = os.open(TRACEFS, os.O_RDONLY)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.covered, self.instances = [], []
        self._cover()
        sizes = (f"per_cpu/{name}/buffer_size_kb" for name in
                 os.listdir(TRACEFS + "/per_cpu"))
        self.before = {name: self._read(name) for name in (*LEFT, *sizes)}

    def _read(self, name):
        with open(f"{TRACEFS}/{name}", encoding="ascii") as f:
            return f.read()

    def _cover(self):
        """What a sandbox forbids, and what would make metadata large."""
        self.empty = os.path.join(self.w.directory, "empty")
        open(self.empty, "w", encoding="ascii").close()
        self._cover_files(TRACEFS)
        few = os.path.join(self.w.directory, "kallsyms")
        with open("/proc/kallsyms", encoding="ascii") as all_of_them, \
                open(few, "w", encoding="ascii") as f:
            for _, line in zip(range(SYMBOLS), all_of_them):
                f.write(line)
        self.w.run("mount", "--bind", few, "/proc/kallsyms")

    def _cover_files(self, top):
        for name in COVERED:
            path = os.path.join(top, name)
            try:
                with open(path, "r+b") as f:
                    if path.startswith("/proc"):
                        f.write(b"1\n")
            except OSError:
                if os.path.exists(path):
                    self.w.run("mount", "--bind", self.empty, path)
                    self.covered.append(path)

    def instance(self, name):
        """A buffer of its own, which -B then finds; it goes at the end."""
        path = f"{TRACEFS}/instances/{name}"
        os.makedirs(path, exist_ok=True)
        self._cover_files(path)
        self.instances.append(path)

    def set(self, name, text):
        """A file of tracefs that is put back at the end."""
        with open(f"{TRACEFS}/{name}", "w", encoding="ascii") as f:
            f.write(text)

    def record(self, port, *options, command=("sleep", "1"), timeout=60):
        """trace-cmd record -N, to its end."""
        child = self.start(port, *options, command=command)
        try:
            child.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        if child.returncode != 0:
            with open(os.path.join(self.w.directory, "record.log"),
                      encoding="utf-8", errors="replace") as f:
                text = f.read()
            if "Can't enable ftrace" in text or "opening to" in text:
                raise Skipped("trace-cmd may not trace here: "
                              + text.strip().splitlines()[-1])
            raise Failure(f"trace-cmd record: {child.returncode}: {text}")

    def start(self, port, *options, command=("sleep", "60"),
              events=("sched",)):
        """The same in the background; it ends with the world."""
        log = os.path.join(self.w.directory, "record.log")
        with open(log, "ab") as f:
            return self.w.spawn(
                "trace-cmd", "record", "-N", f"127.0.0.1:{port}", *options,
                *(word for name in events for word in ("-e", name)), *command,
                stdout=f, stderr=f, cwd=self.w.directory,
                start_new_session=True)

    def close(self):
        """As it was; else who comes next would trace more."""
        for path in self.instances:
            for covered in self.covered:
                if covered.startswith(path):
                    self.w.run("umount", covered)
            # Processes that were killed have it open for a moment.
            end = time.monotonic() + 5
            while self.w.run("rmdir", path)[0] != 0 and \
                    time.monotonic() < end:
                time.sleep(0.1)
        for name, text in self.before.items():
            if self._read(name) == text:
                continue
            with open(f"{TRACEFS}/{name}", "w", encoding="ascii") as f:
                f.write(to_write(name, text))
        os.close(self.lock)


def is_listening(port):
    with open("/proc/net/tcp", encoding="ascii") as a, \
            open("/proc/net/tcp6", encoding="ascii") as b:
        return re.search(rf":{port:04X} [0-9A-F]+:0000 0A ",
                         a.read() + b.read()) is not None


class Listener:
    """tracepulse-ftrace listen, or the stock one."""
    count = 0

    def __init__(self, w, *options, is_stock=False):
        Listener.count += 1
        self.output = os.path.join(w.directory, f"traces{Listener.count}")
        os.mkdir(self.output)
        self.port = 12000 + Listener.count
        self.log_path = self.output + ".log"
        command = ["trace-cmd", "listen"] if is_stock \
            else [w.ftrace_path, "listen", "--verbose"]
        with open(self.log_path, "wb") as log:
            self.child = w.spawn(
                *command, "-p", str(self.port), "-d", self.output, *options,
                stdout=log, stderr=log, start_new_session=True)
        wait_for("the listener", self._listens)

    def _listens(self):
        check(self.child.poll() is None, "no listener: " + self.log())
        return is_listening(self.port)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def files(self):
        return sorted(n for n in os.listdir(self.output) if n[0] != ".")

    def wait_file(self, timeout=20):
        """The only file, once it is finished."""
        wait_for("a file", lambda: self.files()
                 and all(n.endswith(".dat") for n in self.files())
                 and not any(n[0] == "." for n in os.listdir(self.output)),
                 timeout=timeout)
        return os.path.join(self.output, self.files()[0])

    def stop(self, number=signal.SIGTERM):
        os.killpg(self.child.pid, number)
        self.child.wait(20)


def report(path):
    """Lines of trace-cmd report, without its header."""
    done = subprocess.run(["trace-cmd", "report", "-R", "-t", path],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, timeout=120)
    text = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        raise Failure(f"trace-cmd report {path}: {done.stderr[-300:]!r}")
    return [line for line in text.splitlines() if not re.match(r"cpus=", line)]


def pages_of(path):
    """The metadata and the pages of each CPU that stand in a file of version 6
    that our listener wrote."""
    with open(path, "rb") as f:
        blob = f.read()
    at = blob.index(b"flyrecord\0", blob.index(b"options  \0"))
    table = at + 10
    cpus = os.cpu_count() or 1
    out = []
    for cpu in range(cpus):
        begin, size = (int.from_bytes(blob[table + 16 * cpu + 8 * i:
                                           table + 16 * cpu + 8 * i + 8],
                                      sys.byteorder) for i in (0, 1))
        out.append(blob[begin:begin + size])
    return blob[:at], out


def send_to(port, metadata, pages, is_tcp=True):
    """Play a recorder that sends this."""
    class To:               # what sender.Sender wants of a listener
        pass
    To.port = port
    peer = sender.Sender(To)
    peer.greet()
    peer.send(sender.tinit(len(pages), *([b"tcp"] if is_tcp else [])))
    ports = peer.receive_ports()
    # The stock listener names a port a moment before it listens there.
    if is_tcp:
        wait_for("its ports", lambda: all(map(is_listening, ports)))
    peer.connect_data(ports, is_tcp)
    for at in range(0, len(metadata), 8000):
        peer.send(sender.message(sender.SEND_DATA,
                                 data=metadata[at:at + 8000]))
    peer.send(sender.message(sender.FIN_DATA))
    time.sleep(0.3)
    for cpu, blob in enumerate(pages):
        peer.pages(cpu, blob)
    peer.close()
