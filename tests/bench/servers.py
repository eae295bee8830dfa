# SPDX-License-Identifier: MIT
"""What a bench starts, in a directory of its own, and ends: our relay,
lttng-relayd, a plain sink, and load generators; and what it reads of them."""
import atexit
import contextlib
import json
import os
import resource
import select
import shutil
import signal
import socket
import stat
import statistics
import subprocess
import tempfile
import time

GIB = 1 << 30
DESCRIPTORS = 524288
RELAYS = ["ours", "lttng-relayd"]
LOAD_TIMEOUT = 300.0


def wait_for(what, condition, timeout=10.0, step=0.02):
    """Poll CONDITION until it is true."""
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError("no " + what)
        time.sleep(step)


def listens(pid, port):
    """In the network of PID. Without connecting: the sink serves one connection
    after the other."""
    wanted = ":%04X" % port
    rows = []
    for path in (f"/proc/{pid}/net/tcp", f"/proc/{pid}/net/tcp6"):
        if os.path.exists(path):    # not where IPv6 is off
            with open(path, encoding="ascii") as f:
                rows += [line.split() for line in f][1:]
    return any(r[1].endswith(wanted) and r[3] == "0A" for r in rows)


def free_ports(n):
    """Found together, so all different."""
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def cpu_ns(pid):
    """On the CPU so far, by thread, in ns; start and end do not count."""
    threads = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
            threads[task] = int(f.read().split()[0])
    return threads


def memory(pid, what="VmRSS"):
    """Of a process, in bytes; VmHWM is the most it ever was."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        for line in f:
            if line.startswith(what + ":"):
                return int(line.split()[1]) << 10
    raise RuntimeError(what)


def warm(directory, size):
    """Touch as much memory as a run will write to. In a virtual machine free
    pages may have gone back to the host; the first touch then costs as much
    as all that is measured here, and hits whoever runs first."""
    piece = bytes(1 << 20)
    with tempfile.TemporaryFile(dir=directory) as f:
        for _ in range(size >> 20):
            f.write(piece)


def spread(values, form="%.3f"):
    """Median and range, as text."""
    return (form + " (" + form + " - " + form + ")") % (
        statistics.median(values), min(values), max(values))


def argv_of(program, options):
    """{"a": 1, "b": True} as PROGRAM --a=1 --b."""
    return [program] + [f"--{k}" if v is True else f"--{k}={v}"
                        for k, v in options.items() if v is not None]


def many_descriptors():
    """As many as Debian gives a service; a machine for tests may have less,
    and 3,000 sessions need more."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))


def is_in_memory(path):
    """Is it on a tmpfs?"""
    done = subprocess.run(["stat", "-f", "-c", "%T", path], check=True,
                          stdout=subprocess.PIPE, text=True, timeout=10)
    return done.stdout.strip() == "tmpfs"


def discard(directory):
    """On a disk the files are only emptied, and removed when the program ends:
    ext4 without a journal avoids the inode of a file that was removed within
    the last minute, and looks at each, at the cost of whoever comes next."""
    if is_in_memory(directory):
        shutil.rmtree(directory)
        return
    atexit.register(shutil.rmtree, directory)
    for where, _, files in os.walk(directory):
        for path in (os.path.join(where, name) for name in files):
            if stat.S_ISREG(os.lstat(path).st_mode):
                os.truncate(path, 0)


@contextlib.contextmanager
def network(mtu):
    """A network of its own, whose loopback has that MTU: the words that start a
    program there. Needs root."""
    words = f"ip link set lo mtu {mtu} up && echo up && exec sleep 3600"
    with subprocess.Popen(["unshare", "--net", "sh", "-c", words],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True) as holder:
        try:
            if holder.stdout.readline() != "up\n":
                raise RuntimeError("no network of its own: it takes root")
            yield ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
        finally:
            holder.kill()


class Server:
    """One of RELAYS, or "sink", with its own directory, home and ports. OURS:
    options for our relay only. WITHIN: words that start programs in a
    network()."""

    def __init__(self, name, options, ours=(), within=()):
        self.name, self.options, self.ours = name, options, list(ours)
        self.within = list(within)
        self.dir = self.process = None
        self.ports = free_ports(3)
        self.marks = {}

    def argv(self):
        """The command line."""
        if self.name == "sink":
            return self.within + [self.options.sink, str(self.ports[0]),
                                  self.dir + "/data"]
        url = "tcp://127.0.0.1:%d"
        relay = [self.options.relay] + self.ours
        if self.name == "lttng-relayd":
            relay = [shutil.which("lttng-relayd")]
        return self.within + relay + ["-C", url % self.ports[0], "-D", url % self.ports[1],
                        "-L", url % self.ports[2], "-o", self.traces()]

    def traces(self):
        """Where the relay writes."""
        return self.dir + "/traces"

    def is_ready(self):
        """Does it listen?"""
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended at start")
        ports = self.ports[:1] if self.name == "sink" else self.ports
        return all(listens(self.process.pid, p) for p in ports)

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="tracepulse-bench-",
                                    dir=self.options.scratch)
        env = dict(os.environ, HOME=self.dir, LTTNG_HOME=self.dir,
                   LTTNG_RUNDIR=self.dir + "/run",
                   LTTNG_RELAYD_HEALTH=self.dir + "/health",
                   TRACEPULSE_STATE_DIR=self.dir + "/state")
        with open(self.dir + "/log", "wb") as log:
            self.process = subprocess.Popen(
                self.argv(), env=env, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=log,
                preexec_fn=many_descriptors)
        try:
            wait_for("listener of " + self.name, self.is_ready, step=0.0005)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        """Ended politely; then not."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        discard(self.dir)

    def mark(self):
        """From now on CPU is counted."""
        self.marks = cpu_ns(self.process.pid)

    def threads_cpu_s(self):
        """Since mark(), of each thread that lives, the busiest first."""
        now = cpu_ns(self.process.pid)
        return sorted(((ns - self.marks.get(t, 0)) / 1e9
                       for t, ns in now.items()), reverse=True)

    def cpu_s(self):
        """Since mark()."""
        return sum(self.threads_cpu_s())

    def memory(self, what="VmRSS"):
        """In bytes."""
        return memory(self.process.pid, what)

    def where(self):
        """Options of loadgen that name this server."""
        if self.name == "sink":
            return {"raw": self.ports[0]}
        return {"control": self.ports[0], "data": self.ports[1]}

    def load(self, load):
        """One run of loadgen; what it says."""
        return run_json(self.within + argv_of(self.options.loadgen,
                                              dict(self.where(), **load)))

    def verify(self, load):
        """What the relay wrote of that load: every byte, every record."""
        argv = argv_of(self.options.loadgen,
                       dict(load, verify=self.traces()))
        done = subprocess.run(argv, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True,
                              timeout=LOAD_TIMEOUT)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())

    def view(self, view):
        """One run of viewgen; what it says."""
        return run_json(argv_of(self.options.viewgen,
                                dict(view, live=self.ports[2])))

    @contextlib.contextmanager
    def background(self, load, is_held=True):
        """loadgen beside; IS_HELD: once it has sent all and only holds. Its
        report is in the list given, if it was let end."""
        options = dict(self.where(), **load)
        if is_held:
            options["hold"] = 3600000
        child = subprocess.Popen(
            argv_of(self.options.loadgen, options) + ["--json"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        try:
            if is_held:
                self.wait_until_held(child)
            yield child
            if is_held and child.poll() is not None:
                raise RuntimeError("the load beside ended: " +
                                   child.stderr.read().strip())
        finally:
            if child.poll() is None:
                child.terminate()
            try:
                child.communicate(timeout=15)
            except subprocess.TimeoutExpired:
                child.kill()
                child.communicate()

    @staticmethod
    def wait_until_held(child):
        """It has sent all that it has."""
        if not select.select([child.stderr], [], [], LOAD_TIMEOUT)[0]:
            raise subprocess.TimeoutExpired("loadgen", LOAD_TIMEOUT)
        line = child.stderr.readline()
        if line != "holding\n":
            raise RuntimeError(line.strip() or "loadgen ended")


def run_json(argv):
    """A program that prints one JSON object."""
    done = subprocess.run(argv + ["--json"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=LOAD_TIMEOUT)
    if done.returncode != 0:
        raise RuntimeError("%s: %s" % (os.path.basename(argv[0]),
                                       done.stderr.strip()))
    return json.loads(done.stdout)
