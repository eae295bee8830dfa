# SPDX-License-Identifier: MIT
"""A private world for one test: its own ports, daemons and directories.

As root every world is a set of namespaces (processes, mounts, network, ipc,
host name): the daemons have their default ports and run directories, nothing
outside is touched, and all processes die with the world. Elsewhere a world is
a home directory and free ports, and only one may run at a time.

`command_in_world` is what the outside starts; `World` is used inside.
"""
import codecs
import contextlib
import fcntl
import glob
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

HOSTNAME = "vm"
SOURCE = os.environ.get("TP_SOURCE") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../..")
VECTORS, OPS = (os.path.join(SOURCE, folder)
                for folder in ("tests/vectors", "doc/ops"))
NOBODY = 65534
UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc", "--mount", "--net",
           "--ipc", "--uts", "--kill-child"]
COMMAND_TIMEOUT = 40.0
SLEEPS = {"x86_64": ("35", "230"), "aarch64": ("101", "115")}.get(
    os.uname().machine, ())     # nanosleep, clock_nanosleep
READY_TIMEOUT = 20.0
TAKEN_OVER = "taken over from the process before"
SANITIZER_REPORTS = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer",
                     "runtime error:")


class Failure(Exception):
    """What a test finds wrong, in words."""


def check(condition, text):
    if not condition:
        raise Failure(text)


class Skipped(Exception):
    """Why a test cannot run on this machine."""


def can_unshare():
    """May this process make namespaces, and what is needed in them?"""
    if os.geteuid() != 0:
        return False
    probe = UNSHARE + [sys.executable, "-c", "import world; world.enter()"]
    return subprocess.run(probe, stdin=subprocess.DEVNULL,
                          cwd=os.path.dirname(os.path.abspath(__file__)),
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def command_in_world(command, private):
    """COMMAND, to be started in a world of its own if PRIVATE."""
    return UNSHARE + command if private else command


def enter():
    """First thing inside fresh namespaces: make them liveable."""
    for where in ("/run", "/dev/shm"):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", where], check=True)
    socket.sethostname(HOSTNAME)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        get_flags, set_flags, up = 0x8913, 0x8914, 1
        request = struct.pack("16sH22x", b"lo", 0)
        flags = struct.unpack("16sH22x",
                              fcntl.ioctl(sock, get_flags, request))[1]
        fcntl.ioctl(sock, set_flags, struct.pack("16sH22x", b"lo", flags | up))


def ordinary_signals():
    """SIGTERM ends a program like an interrupt does: tidily. And programs do
    not inherit that SIGINT is ignored, from a shell's & or nohup."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def screen():
    """Both ends of a terminal, where programs flush each line, and nothing; or,
    where the machine has no terminals, of a pipe, and the words in front of a
    command that flush each line there."""
    try:
        return pty.openpty() + ([],)
    except OSError:
        return os.pipe() + (["stdbuf", "--output=L"],)


def make_directory(path):
    """A directory for a world, also for one that drops root."""
    os.makedirs(path)
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)


def within_reach(program, base):
    """A copy of PROGRAM below BASE when we are root: a world that drops root
    may not be allowed to where it was built."""
    if os.geteuid() != 0:
        return program
    os.makedirs(base + "/bin", exist_ok=True)
    copy = shutil.copy(program, base + "/bin")
    os.chmod(copy, 0o755)
    return copy


def source_within_reach(base):
    """The same for what worlds read of the source tree: those that are started
    from here on find the copies."""
    if os.geteuid() != 0:
        return
    top = base + "/source"
    for folder in VECTORS, OPS:
        shutil.copytree(folder, os.path.join(
            top, os.path.relpath(folder, SOURCE)))
    for folder, _, names in os.walk(top):
        os.chmod(folder, 0o755)
        for name in names:
            os.chmod(os.path.join(folder, name), 0o644)
    os.environ["TP_SOURCE"] = top


def drop_root():
    """Root without namespaces would meet the daemons of the system, so a
    world there belongs to nobody."""
    for name in "ascii", "idna":
        codecs.lookup(name)     # loads what this user may not be able to read
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def free_ports(count):
    """Unused ports; found together, so that all are different."""
    socks = [socket.socket() for _ in range(count)]
    try:
        for sock in socks:
            sock.bind(("127.0.0.1", 0))
        return [sock.getsockname()[1] for sock in socks]
    finally:
        for sock in socks:
            sock.close()


def listening_ports():
    """Every TCP port somebody listens on, without connecting to it."""
    ports = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as lines:
            next(lines)
            for line in lines:
                field = line.split()
                if field[3] == "0A":
                    ports.add(int(field[1].rpartition(":")[2], 16))
    return ports


def wait_for(what, condition, timeout=READY_TIMEOUT, step=0.02):
    """Poll CONDITION until true; WHAT names it when it stays false."""
    end = time.monotonic() + timeout
    while not condition():
        check(time.monotonic() <= end, f"{what}: not within {timeout:g} s")
        time.sleep(step)


def processes(name, owner=None):
    """Pids of the living processes called NAME, of those that have the
    environment or arguments OWNER in them."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % entry) as handle:
                stat = handle.read()
            if stat[stat.index("(") + 1:stat.rindex(")")] != name[:15] \
                    or stat[stat.rindex(")") + 2] == "Z":
                continue
            if owner is not None:
                with open("/proc/%s/environ" % entry, "rb") as handle:
                    text = handle.read()
                with open("/proc/%s/cmdline" % entry, "rb") as handle:
                    text += handle.read()
                if os.fsencode(owner) not in text:
                    continue
        except (OSError, ValueError):
            continue
        found.append(int(entry))
    return found


class Relay:
    """The relay of a world; `start` may be called again after it ended."""

    def __init__(self, world, path):
        self.world, self.path = world, path
        self.child = None
        self.pid = None
        self.options, self.environment = (), None   # of the last start
        self.restarter = None
        self.replacing = threading.Lock()       # held while it is replaced
        self.output = os.path.join(world.directory, "out")
        self.log = os.path.join(world.directory, "relay.log")

    def port_options(self):
        """Own ports where worlds are not private, else the defaults."""
        if self.world.private:
            return []
        options = list(zip(("-C", "-D", "-L"), self.world.ports))
        if not self.world.is_reference:
            options.append(("--http", self.world.http_port))
        return [part for option, port in options
                for part in (option, "tcp://127.0.0.1:%d" % port)]

    def argv(self, options):
        """The whole command line."""
        udp = [] if self.world.is_reference else ["--udp-port=data"]
        return [self.path, "-o", self.output] + self.port_options() \
            + udp + list(options)

    def start(self, *options, environment=None):
        """In the foreground, until it serves."""
        # Written after its other port files, and after recovery.
        ready = self.world.rundir() + "/relayd/live.port"
        if not self.world.is_reference:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(ready)
        self.options, self.environment = options, environment
        self.child = self.spawn(options)
        self.pid = self.child.pid

        def is_ready():
            check(self.child.poll() is None,
                  f"relay ended at start with status {self.child.returncode}")
            return set(self.world.ports) <= listening_ports() and (
                self.world.is_reference or os.path.exists(ready))
        wait_for("relay listening", is_ready)

    def spawn(self, options):
        """A process of it, which may not serve yet."""
        with open(self.log, "ab") as log:
            return subprocess.Popen(
                self.argv(options), stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=self.world.env(self.environment))

    def take_over(self):
        """Another process takes over; the old one ends with status 0."""
        with self.replacing:
            self.replace()

    def replace(self):
        """The same, where nobody looks meanwhile."""
        said = self.said(TAKEN_OVER)
        child = self.spawn([*self.options, "--take-over"])

        def is_done():
            check(child.poll() is None,
                  f"--take-over ended with status {child.returncode}")
            return self.child.poll() is not None \
                and self.said(TAKEN_OVER) > said
        wait_for("taking over", is_done, step=0.005)
        check(self.child.returncode == 0, "the relay that was replaced ended "
              f"with status {self.child.returncode}")
        self.child, self.pid = child, child.pid

    def said(self, words):
        """How often its log has these words."""
        with open(self.log, errors="replace", encoding="utf-8") as lines:
            return lines.read().count(words)

    def launch(self, *options):
        """With -d or -b: the launcher's exit status, which must mean that
        the daemon is there, and sets its pid."""
        with open(self.log, "ab") as log:
            status = subprocess.run(
                self.argv(options), stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=self.world.env(), timeout=READY_TIMEOUT)
        if status.returncode == 0:
            pids = processes(os.path.basename(self.path), self.output)
            check(len(pids) == 1, f"relay daemons after launch: {pids!r}")
            self.pid = pids[0]
        return status.returncode

    def is_alive(self):
        """Neither gone nor a zombie."""
        with self.replacing:
            return self.is_there()

    def is_there(self):
        """The same, where it is not replaced meanwhile."""
        if self.child is not None:
            return self.child.poll() is None
        return self.pid in processes(os.path.basename(self.path), self.output)

    def stop(self, timeout=30.0):
        """SIGTERM must end it, with status 0 and nothing to complain of."""
        self.end_restarts()
        os.kill(self.pid, signal.SIGTERM)
        wait_for("relay to end on SIGTERM", lambda: not self.is_alive(),
                 timeout)
        if self.child is not None:
            check(self.child.returncode == 0,
                  f"relay ended with status {self.child.returncode}")
        self.child = self.pid = None

    def kill(self):
        """SIGKILL: no chance to tidy up."""
        self.end_restarts()
        os.kill(self.pid, signal.SIGKILL)
        wait_for("relay to die", lambda: not self.is_alive())
        self.child = self.pid = None

    def keep_restarting(self, pause):
        """Another process takes over PAUSE seconds after the last one has,
        again and again, until it is stopped."""
        self.restarter = Restarter(self, pause)

    def end_restarts(self):
        """All of them must have worked."""
        restarter, self.restarter = self.restarter, None
        if restarter is not None:
            restarter.end()

    def complaints(self):
        """Sanitizer reports in its log."""
        if not os.path.exists(self.log):
            return []
        with open(self.log, errors="replace") as lines:
            return [line.strip() for line in lines
                    if any(word in line for word in SANITIZER_REPORTS)]


class Restarter(threading.Thread):
    """Replaces the process of a relay again and again."""

    def __init__(self, relay, pause):
        super().__init__(daemon=True)
        self.relay, self.pause = relay, pause
        self.is_ending = threading.Event()
        self.count, self.failure = 0, None
        self.start()

    def run(self):
        while self.failure is None and not self.is_ending.wait(self.pause):
            try:
                self.relay.take_over()
                self.count += 1
            except (Failure, OSError) as failure:
                self.failure = failure

    def end(self):
        self.is_ending.set()
        self.join()
        self.relay.world.notes.append("%d restarts" % self.count)
        if self.failure is not None:
            raise Failure("restart %d: %s" % (self.count + 1, self.failure))
        check(self.count > 0, "no restart")


class App:
    """One run of the traced application."""

    def __init__(self, world, number, arguments):
        self.log = os.path.join(world.directory, "app%d.log" % number)
        with open(os.path.join(world.directory, "app.err"), "ab") as err:
            self.child = subprocess.Popen(
                [world.app_path, "-l", self.log] + [str(a) for a in arguments],
                stdin=subprocess.DEVNULL, stdout=err, stderr=err,
                env=world.env({"LTTNG_UST_REGISTER_TIMEOUT": "10000",
                               "LTTNG_UST_ALLOW_BLOCKING": "1"}))

    def emitted(self):
        """The numbers it wrote down so far."""
        if not os.path.exists(self.log):
            return []
        with open(self.log) as lines:
            return [int(line) for line in lines if line.endswith("\n")]

    def wait_emitted(self, count):
        """Until that many events are out."""
        wait_for("application at event %d" % count,
                 lambda: len(self.emitted()) >= count)

    def finish(self, meanwhile=None):
        """Until its end; MEANWHILE is called every few ms. What it emitted."""
        end = time.monotonic() + COMMAND_TIMEOUT
        while self.child.poll() is None:
            if meanwhile is not None:
                meanwhile()
            check(time.monotonic() <= end, "application does not end")
            time.sleep(0.005)
        if self.child.returncode != 0:
            raise Failure("application: status %d" % self.child.returncode)
        return self.emitted()

    def enough(self):
        """Ends the application after its current event; returns what it emitted."""
        self.child.send_signal(signal.SIGTERM)
        return self.finish()

    def kill(self):
        """SIGKILL; what it had written down by then. Where that can be seen,
        between two events: of one that is killed within an event, LTTng's
        consumer daemon may wait for the end for ever, with lttng-relayd too."""
        for _ in range(200):
            self.child.send_signal(signal.SIGSTOP)
            if self.is_asleep():
                break
            self.child.send_signal(signal.SIGCONT)
            time.sleep(0.0007)
        self.child.kill()
        self.child.wait()
        return self.emitted()

    def is_asleep(self):
        """Was the program, which was sent SIGSTOP, in a sleep? True if that cannot
        be found out."""
        state, call = "", ""
        try:
            while state not in ("T", "t", "Z"):
                with open("/proc/%d/stat" % self.child.pid,
                          encoding="ascii") as f:
                    state = f.read().rsplit(")", 1)[1].split()[0]
            with open("/proc/%d/syscall" % self.child.pid,
                      encoding="ascii") as f:
                call = f.read().split()[0]
        except OSError:
            return True
        return state == "Z" or call in SLEEPS


class World:
    """What a scenario has in its hands."""

    def __init__(self, directory, relay, app, private, is_reference,
                 send="tracepulse-send", capture=None):
        self.directory = os.path.abspath(directory)
        self.app_path = os.path.abspath(app)
        self.send_path = send
        self.capture_path = capture     # None: it was not built
        self.ftrace_path = os.path.join(
            os.path.dirname(os.path.abspath(relay)), "tracepulse-ftrace")
        self.private = private
        self.is_reference = is_reference
        self.home = os.path.join(self.directory, "home")
        os.makedirs(self.home, exist_ok=True)
        *self.ports, self.http_port = \
            [5342, 5343, 5344, 5340] if private else free_ports(4)
        self.relay = Relay(self, relay)
        self.sessiond = None
        self.apps = []
        self.children = []      # others, to be ended with the world
        self.notes = []         # to be shown under the test's line
        self.commands = []      # of lttng: dict of argv, status, output, s

    def env(self, more=None):
        """The environment of every process of this world."""
        env = {name: value for name, value in os.environ.items()
               if not name.startswith(("LTTNG_", "NOTIFY_"))}
        env.update(HOME=self.home, LC_ALL="C", TZ="UTC",
                   TRACEPULSE_STATE_DIR=self.home + "/.state")
        if not self.private:
            env["LTTNG_HOME"] = self.home
        env.update(more or {})
        return env

    def rundir(self):
        """Where the daemons put their sockets."""
        return "/run/lttng" if self.private else self.home + "/.lttng"

    def url(self, path=""):
        """Where `lttng create --set-url` finds the relay."""
        return "net://127.0.0.1:%d:%d%s" % (self.ports[0], self.ports[1], path)

    def start_sessiond(self, link=None, environment=None):
        """The session daemon, until it answers; on the other side of LINK."""
        command = ["lttng-sessiond", "--no-kernel"]
        with open(os.path.join(self.directory, "sessiond.log"), "ab") as log:
            self.sessiond = subprocess.Popen(
                link.command(*command) if link else command,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self.env(environment))

        def answers():
            if self.sessiond.poll() is not None:
                raise Failure("lttng-sessiond ended at start with status %d; "
                              "see sessiond.log" % self.sessiond.returncode)
            return self.run("lttng", "-n", "list")[0] == 0
        wait_for("lttng-sessiond", answers, step=0.05)

    def spawn(self, *command, environment=None, **how):
        """A program that ends with this world; silent by default."""
        child = subprocess.Popen(
            command, env=self.env(environment),
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
               "stderr": subprocess.DEVNULL, **how})
        self.children.append(child)
        return child

    def run(self, *argv, timeout=COMMAND_TIMEOUT):
        """Status and output (both streams) of a command."""
        try:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, env=self.env(),
                                  timeout=timeout)
        except subprocess.TimeoutExpired as error:
            raise Failure("no end of: %s" % " ".join(argv)) from error
        return done.returncode, done.stdout.decode(errors="replace")

    def lttng(self, *argv, ok=True, compare=True):
        """An lttng command. OK: it must succeed (None: either way). COMPARE:
        it prints the same, and as fast, with the reference."""
        begin = time.monotonic()
        status, output = self.run("lttng", "-n", *argv)
        self.commands.append({
            "argv": " ".join(argv), "status": status, "output": output,
            "seconds": time.monotonic() - begin, "compare": compare})
        if ok is not None and (status == 0) != ok:
            raise Failure("lttng %s: status %d: %s"
                          % (" ".join(argv), status, output.strip()))
        return output

    def app(self, first, count, microseconds=200, length=40, cpu=0, wait_ms=0):
        """Start the traced application."""
        app = App(self, len(self.apps),
                  ["-w", wait_ms, first, count, microseconds, length, cpu])
        self.apps.append(app)
        return app

    def run_app(self, first, count, microseconds=200, length=40, cpu=0,
                meanwhile=None):
        """The application from start to end; the numbers it emitted."""
        return self.app(first, count, microseconds, length, cpu) \
            .finish(meanwhile)

    def spin(self):
        """A program that takes all it gets of the CPUs, until the end."""
        return self.spawn("sh", "-c", "while :; do :; done")

    def consumerds(self):
        """Pids of the user-space consumer daemons of this world."""
        return processes("lttng-consumerd",
                         None if self.private else self.home)

    def paths(self, pattern):
        """What matches PATTERN under the relay's output, sorted."""
        return sorted(glob.glob(os.path.join(self.relay.output, pattern)))

    def path(self, pattern):
        """The one thing that matches PATTERN."""
        found = self.paths(pattern)
        if len(found) != 1:
            raise Failure("%s: expected one, found %r"
                          % (pattern, [os.path.basename(p) for p in found]))
        return found[0]

    def health(self, where=None):
        """The relay's answer on its health socket: a bit mask."""
        where = where or "%s/relayd/health-%d" % (self.rundir(),
                                                  self.relay.pid)
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(5.0)
            # A relay whose ports listen may still be at its start.
            wait_for("health socket", lambda: sock.connect_ex(where) == 0)
            sock.sendall(struct.pack("=I", 0))
            answer = b""
            while True:
                part = sock.recv(64)
                if not part:
                    break
                answer += part
        check(len(answer) == 8, f"health: {len(answer)} bytes instead of 8")
        return struct.unpack("=Q", answer)[0]

    def close(self):
        """End what is still running, politely, then not."""
        for app in self.apps:
            if app.child.poll() is None:
                app.kill()
        for child in self.children:
            if child.poll() is None:
                child.kill()
                child.wait()
        if self.sessiond is not None and self.sessiond.poll() is None:
            self.sessiond.terminate()
            try:
                self.sessiond.wait(10.0)
            except subprocess.TimeoutExpired:
                self.sessiond.kill()
                self.sessiond.wait()
        if self.relay.pid is not None and self.relay.is_alive():
            os.kill(self.relay.pid, signal.SIGKILL)
        if not self.private:
            for pid in self.consumerds():
                os.kill(pid, signal.SIGKILL)

    def normalised(self, text):
        """TEXT without dates, numbers of processes, ports and places."""
        for place in (self.relay.output, self.directory):
            text = text.replace(place, "DIR")
        text = re.sub(r"\d{8}T\d{6}[+-]\d{4}", "STAMP", text)
        text = re.sub(r"\d{8}-\d{6}", "DATE", text)
        text = re.sub(r"127\.0\.0\.1:\d+(:\d+)?", "HOST", text)
        text = re.sub(r"port \d+", "port N", text)
        text = re.sub(r"\[data: \d+\]", "[data: N]", text)
        text = re.sub(r"PERROR - \S+ \[[^]]*\]", "PERROR -", text)
        text = re.sub(r"\.{2,}|\.$", "", text, flags=re.M)  # of progress
        return text.replace(socket.gethostname(), "vm")
