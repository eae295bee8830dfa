# SPDX-License-Identifier: MIT
"""A tracepulse-relayd of one's own, and the peer's side of its ports.

Nothing outside the standard library. The daemon runs on ports that the system
chooses, with a directory of its own for everything it writes.
"""
import contextlib
import hashlib
import inspect
import multiprocessing
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
import time

# The daemon does not inherit that they are ignored, from a shell's & or nohup.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

SOURCE = pathlib.Path(os.environ.get("srcdir", ".")).resolve()
VECTORS = SOURCE / "tests/vectors"
PROGRAM = os.path.abspath(os.environ.get("RELAYD", "./tracepulse-relayd"))

(ADD_STREAM, CREATE_SESSION, START_DATA, VERSION, SEND_METADATA, CLOSE_STREAM,
 DATA_PENDING, QUIESCENT_CONTROL, BEGIN_DATA_PENDING, END_DATA_PENDING) = (
     1, 2, 3, 5, 6, 7, 8, 9, 10, 11)
(SEND_INDEX, STREAMS_SENT, RESET_METADATA, ROTATE_STREAMS, CREATE_CHUNK,
 CLOSE_CHUNK, CHUNK_EXISTS, GET_CONFIGURATION) = (
     13, 16, 17, 18, 19, 20, 21, 22)
RESUME, STREAM_WRITTEN = 10003, 10004
NAMES = {number: name for name, number in globals().items()
         if isinstance(number, int)}
OK, UNKNOWN, FATAL, NO_MEMORY, INVALID, PROTOCOL, FILE = (
    10, 11, 25, 26, 97, 152, 153)
NONE = 0xffffffffffffffff
TIMEOUT = 20
NOBODY = 65534


class Failed(Exception):
    """What the daemon did is not what the protocol says."""


def check(condition, text):
    if not condition:
        raise Failed(text)


def wait_until(text, condition, seconds=TIMEOUT):
    """Fails with TEXT, or what it returns, if that takes longer."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise Failed(text() if callable(text) else text)
        time.sleep(0.005)


def equal(got, want, what):
    check(got == want, f"{what}: got {got!r}, want {want!r}")


def has_sanitizer(name):
    """Was the daemon built with this one, "address" or "thread"?"""
    with open(PROGRAM, "rb") as f:
        return f"__{name[0]}san_init".encode() in f.read()


def soon(look):
    """What LOOK() gives as soon as it finds nothing wrong: recovery goes on
    after the daemon has begun to listen."""
    until = time.monotonic() + TIMEOUT
    while True:
        try:
            return look()
        except (Failed, OSError):
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def remove(top):
    """With all that is in it, though a daemon makes or removes files there."""
    wait_until(f"{top} cannot be removed",
               lambda: shutil.rmtree(top, ignore_errors=True) or
               not top.exists())


def run_program(home, *options, **variables):
    """The program in a home directory of its own, to its end."""
    return subprocess.run(
        [PROGRAM, *options], capture_output=True, text=True, timeout=TIMEOUT,
        env={**os.environ, "HOME": home, "LTTNG_RUNDIR": home + "/run",
             **variables})


def state_of(path):
    """The letter in a stat file of proc(5)."""
    with open(path, encoding="utf-8") as f:
        return f.read().rpartition(")")[2].split()[0]


def hears(pid, number=signal.SIGTERM):
    """Has this process a function for the signal?"""
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        found = re.search(r"^SigCgt:\s*(\w+)", f.read(), re.M)
    return found is not None and int(found[1], 16) >> (number - 1) & 1 == 1


class Daemon:
    """Started by with; ended by SIGTERM, exit status 0 expected."""

    def __init__(self, *options, env=None, limit=None, workers=2,
                 fds=(), prefix=()):
        self.is_stopped, self.process, self.kept = False, None, []
        self.source = "127.0.0.1"  # of connections to it
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="tracepulse-replay-"))
        self.out = self.top / "out"
        self.state = self.top / "state"
        self.log = open(self.top / "log", "w+b")
        rundir = self.top / "run"
        full = {k: v for k, v in os.environ.items()
                if not k.startswith(("LTTNG_", "TRACEPULSE_"))}
        full.update(HOME=str(self.top), TZ="UTC", LTTNG_RUNDIR=str(rundir),
                    TRACEPULSE_STATE_DIR=str(self.state))
        full.update(env or {})
        anywhere = "tcp://127.0.0.1:0"
        self.command = [*prefix, PROGRAM, "--dynamic-port-allocation", "-C", anywhere,
                        "-D", anywhere, "-L", anywhere, "-o", str(self.out),
                        "--workers", str(workers), *options]
        self.rundir, self.environment, self.limit = rundir, full, limit
        self.fds = fds          # inherited, with their numbers
        try:
            self._start()
        except BaseException:
            self.remove()
            raise

    def _start(self):
        self.process = subprocess.Popen(
            self.command, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log, preexec_fn=self.limit,
            pass_fds=self.fds)
        self.control_port = self._port(self.rundir / "relayd/control.port")
        self.data_port = self._port(self.rundir / "relayd/data.port")
        self.live_port = self._port(self.rundir / "relayd/live.port")

    def kill(self):
        """As a crash does."""
        self.process.kill()
        self.process.wait()
        for name in ("control", "data", "live", "http"):
            (self.rundir / f"relayd/{name}.port").unlink(missing_ok=True)

    def start_again(self):
        """What a crash left may still be cut when it serves: recovered()."""
        self.is_stopped = False
        self._start()

    def next_process(self, *options, prefix=()):
        """One that takes over, or tries to; with more OPTIONS."""
        return subprocess.Popen(
            [*prefix, *self.command, *options, "--take-over"],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log, preexec_fn=self.limit)

    def take_over(self, *options):
        """Another process goes on; this one ends with status 0."""
        text = "taken over from the process before"
        done = self.log_text().count(text)
        successor = self.next_process(*options)
        try:
            self.wait_for_end()
            self.wait_log(text, done + 1)
        except Failed:
            successor.kill()
            successor.wait()
            raise
        self.process, self.is_stopped = successor, False

    def journals(self):
        return [p.name for p in self.out.glob(".tracepulse-journal.*")]

    def recovered(self):
        """Waits until recovery is done; there must be no session."""
        wait_until(lambda: f"journals left: {self.journals()}",
                   lambda: not self.journals())

    def serve_from(self, path):
        """After stop(): another output directory."""
        self.command[self.command.index("-o") + 1] = str(path)
        self.out = pathlib.Path(path)
        self.start_again()

    def pause(self):
        """SIGSTOP, until each of its threads stands still."""
        self.process.send_signal(signal.SIGSTOP)
        tasks = f"/proc/{self.process.pid}/task"
        wait_until("the daemon does not stop", lambda: all(
            state_of(f"{tasks}/{t}/stat") in "Tt" for t in os.listdir(tasks)))

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def _port(self, path):
        until = time.monotonic() + TIMEOUT
        while time.monotonic() < until:
            if path.exists():
                return int(path.read_text())
            if self.process.poll() is not None:
                break
            time.sleep(0.005)
        raise Failed("the daemon did not start: " + self.log_text())

    def log_text(self):
        self.log.flush()
        return (self.top / "log").read_text(errors="replace")

    def wait_log(self, text, times=1):
        wait_until(lambda: f"not logged: {text!r}, but {self.log_text()}",
                   lambda: self.log_text().count(text) >= times)

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        try:
            if kind is not None:
                print(self.log_text())
            elif not self.is_stopped:
                self.stop()
        finally:
            self.remove()

    def remove(self):
        """It ends at once, and leaves nothing."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.top, ignore_errors=True)

    def stop(self, seconds=TIMEOUT):
        check(self.process.poll() is None,
              f"the daemon ended by itself: {self.log_text()}")
        self.process.send_signal(signal.SIGTERM)
        self.wait_for_end(seconds)

    def wait_for_end(self, seconds=TIMEOUT):
        """It was told to end."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"no exit within {seconds} s of SIGTERM")
        check(status == 0, f"exit status {status}: {self.log_text()}")
        self.is_stopped = True

    def notes(self):
        """The file in which it notes what it makes in the output directory."""
        ino, born = subprocess.run(
            ["stat", "-c", "%i %.9W", str(self.out)], check=True,
            capture_output=True, text=True).stdout.split()
        return self.state / f"notes-{ino}-{int(born.replace('.', ''))}.db"

    def tree(self):
        """Relative path -> SHA-256 and size; None for directories."""
        until = time.monotonic() + TIMEOUT
        while True:
            try:
                return self._tree()
            except FileNotFoundError as gone:   # it was moved or removed
                check(time.monotonic() < until, f"{gone}")

    def _tree(self):
        found = {}
        for path in sorted(self.out.rglob("*")):
            name = str(path.relative_to(self.out))
            if name.startswith(".tracepulse-journal."):
                continue
            if path.is_dir():
                found[name + "/"] = None
            else:
                content = path.read_bytes()
                found[name] = hashlib.sha256(content).hexdigest(), len(content)
        return found

    def rss(self):
        """Resident bytes; 0 with ThreadSanitizer, which keeps four times as
        much itself."""
        if has_sanitizer("thread"):
            return 0
        with open(f"/proc/{self.process.pid}/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def folders(self):
        """Those of the descriptors that are folders."""
        return sum(os.path.isdir(f"/proc/{self.process.pid}/fd/{fd}")
                   for fd in os.listdir(f"/proc/{self.process.pid}/fd"))

    @property
    def http_port(self):
        """Of --http; chosen by the system as the others."""
        return self._port(self.rundir / "relayd/http.port")

    def connect(self, port):
        sock = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT,
                                        source_address=(self.source, 0))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def control(self):
        return Control(self.connect(self.control_port))

    def peer(self, minor=13):
        """A control connection on which versions have been exchanged."""
        control = self.control()
        control.version(minor)
        return control

    def data(self):
        return Data(self.connect(self.data_port))


def frame(command, payload=b""):
    return struct.pack(">QQII", 0, len(payload), command, 0) + payload


def commands():
    """The numbers of all commands of the control port."""
    with open(SOURCE / "proto/relay.tbl.h", encoding="utf-8") as f:
        return {int(n) for n in re.findall(r"^RELAY\((\d+),", f.read(), re.M)}


def text(s):
    return (s.encode() if isinstance(s, str) else s) + b"\0"


class Connection:
    def __init__(self, sock):
        self.sock = sock

    def send(self, blob):
        self.sock.sendall(blob)

    def read(self, n):
        out = b""
        while len(out) < n:
            try:
                part = self.sock.recv(n - len(out))
            except TimeoutError:
                raise Failed(f"no reply, {n - len(out)} bytes missing")
            check(part != b"", f"closed, {n - len(out)} bytes missing")
            out += part
        return out

    def ends(self, seconds=TIMEOUT):
        """The rest of what the daemon says before it closes."""
        self.sock.settimeout(seconds)
        out = b""
        try:
            while part := self.sock.recv(65536):
                out += part
        except TimeoutError:
            raise Failed(f"still open after {seconds} s; said {out.hex()}")
        except ConnectionError:
            pass
        return out

    def close(self):
        self.sock.close()


class Data(Connection):
    def packet(self, stream, seq, payload, padding=0):
        self.send(struct.pack(">QQQII", 0, stream, seq, len(payload), padding)
                  + payload)


class Control(Connection):
    """Requests of a peer. The code of each reply must be WANT; None: any."""

    is_strict = True    # False: WANT does not count

    def ask(self, command, payload=b"", size=4):
        self.send(frame(command, payload))
        return self.read(size)

    def code(self, command, payload=b"", want=OK):
        return self.expect(command, want, *struct.unpack(
            ">I", self.ask(command, payload)))

    def expect(self, command, want, code):
        check(want in (None, code) or not self.is_strict,
              f"{NAMES.get(command, command)}: code {code}, want {want}")
        return code

    def version(self, minor=13, major=2):
        return struct.unpack(
            ">II", self.ask(VERSION, struct.pack(">II", major, minor), 8))

    def create_session(self, want=OK, **fields):
        """(session id, code, output path)"""
        self.send(session_request(**fields))
        ident, code, size = struct.unpack(">QII", self.read(16))
        self.expect(CREATE_SESSION, want, code)
        return ident, code, self.read(size).rstrip(b"\0").decode()

    def add_stream(self, channel, path="ust/uid/0/64-bit", size=0, count=0,
                   want=OK):
        """(handle, code)"""
        self.send(stream_request(channel, path, size, count))
        handle, code = struct.unpack(">QI", self.read(12))
        return handle, self.expect(ADD_STREAM, want, code)

    def create_chunk(self, ident, when=1_800_000_000, name=None, want=OK):
        return self.code(CREATE_CHUNK, chunk_request(ident, when, name), want)

    def close_chunk(self, ident, command=None, when=1_800_000_001, want=OK):
        """(code, path)"""
        code, size = struct.unpack(">II", self.ask(
            CLOSE_CHUNK, struct.pack(">QQBI", ident, when, command is not None,
                                     command or 0), 8))
        self.expect(CLOSE_CHUNK, want, code)
        return code, self.read(size).rstrip(b"\0").decode()

    def next_chunk(self, chunk, command, *positions):
        """CHUNK follows the one before, with which COMMAND is done."""
        self.create_chunk(chunk)
        self.rotate(chunk, *positions)
        return self.close_chunk(chunk - 1, command)[1]

    def chunk_exists(self, ident):
        return struct.unpack(">IB", self.ask(
            CHUNK_EXISTS, struct.pack(">Q", ident), 5))

    def wait_gone(self, chunk):
        wait_until(f"chunk {chunk} stays",
                   lambda: self.chunk_exists(chunk) == (OK, 0))

    def index(self, stream, seq, size, want=OK, **fields):
        return self.code(SEND_INDEX,
                         index_request(stream, seq, size, **fields), want)

    def metadata(self, stream, content, padding=0):
        self.send(frame(SEND_METADATA,
                        struct.pack(">QI", stream, padding) + content))

    def rotate(self, chunk, *positions, want=OK):
        return self.code(ROTATE_STREAMS, rotate_request(chunk, *positions),
                         want)

    def close_stream(self, stream, last=NONE, want=OK):
        return self.code(CLOSE_STREAM, struct.pack(">QQ", stream, last), want)

    def pending(self, stream, last):
        return self.code(DATA_PENDING, struct.pack(">QQ", stream, last), None)

    def wait_written(self, stream, last):
        wait_until("DATA_PENDING stays",
                   lambda: self.pending(stream, last) == 0)


def session_request(name="s", host="h", base="", uuid=b"u" * 16, peer=0,
                    created=1_800_000_000, snapshot=0, live=0, chunk=None,
                    has_time=0, ctf=None):
    """CTF: the trace format that a peer of 2.15 states."""
    names = [text(name), text(host), text(base)]
    if ctf is not None:
        names.insert(0, struct.pack(">I", ctf))
    return frame(CREATE_SESSION, struct.pack(
        ">IIIIBB16sQQBQ", *map(len, names[-3:]), live, snapshot, has_time, uuid,
        peer, created, chunk is not None, chunk or 0) + b"".join(names))


def stream_request(channel, path, size=0, count=0):
    names = [text(channel), text(path)]
    return frame(ADD_STREAM, struct.pack(
        ">IIQQQ", *map(len, names), size, count, 0) + b"".join(names))


def chunk_request(ident, when=1_800_000_000, name=None):
    name = b"" if name is None else text(name)
    return struct.pack(">QQI", ident, when, len(name)) + name


def index_request(stream, seq, size, content=None, begin=0, end=0, lost=0,
                  ctf=0, instance=0, packet_seq=None):
    """SIZE in bytes, as on disk."""
    return struct.pack(
        ">10Q", stream, seq, size * 8, 8 * (size if content is None else
                                            content),
        begin, end, lost, ctf, instance,
        seq if packet_seq is None else packet_seq)


def rotate_request(chunk, *positions):
    return struct.pack(
        ">IB7sQ", len(positions), chunk is not None, b"\xaa" * 7,
        chunk or 0) + b"".join(struct.pack(">QQ", *p) for p in positions)


def records(index, is_whole=True):
    """[(offset, bytes, packet number)] of an index file. IS_WHOLE: it ends with
    a record."""
    blob = index.read_bytes()[16:]
    check(len(blob) % 72 == 0 or not is_whole, f"{index}: torn")
    found = []
    for at in range(0, len(blob) - 71, 72):
        offset, bits = struct.unpack_from(">QQ", blob, at)
        found.append((offset, bits // 8,
                      struct.unpack_from(">Q", blob, at + 64)[0]))
    return found


class Peer:
    """A control and a data connection."""

    def __init__(self, daemon, minor=13):
        self.control, self.data = daemon.peer(minor), daemon.data()

    def put(self, stream, seq, payload, padding=0, **fields):
        """A packet and its record."""
        self.data.packet(stream, seq, payload, padding)
        self.control.index(stream, seq, len(payload) + padding,
                           content=len(payload), **fields)

    def add(self, channel, **fields):
        return self.control.add_stream(channel, **fields)[0]

    def leave(self):
        self.control.close()
        self.data.close()


class Session(Peer):
    """A session with a chunk, a data stream and a metadata stream."""

    def __init__(self, daemon, name="good", minor=13, **fields):
        super().__init__(daemon, minor)
        self.daemon = daemon
        fields.setdefault("uuid", hashlib.md5(name.encode()).digest())
        self.id, _, self.path = self.control.create_session(
            name=name, **fields)
        self.control.create_chunk(0)
        self.stream = self.add("ch_0")
        self.meta = self.add("metadata")
        self.control.code(STREAMS_SENT)
        self.seq = 0
        self.written = b""
        self.offsets = []
        self.dir = daemon.out / self.path / "ust/uid/0/64-bit"

    def packet(self, size=4000, padding=96, **fields):
        payload = hashlib.sha256(
            f"{self.path} {self.seq}".encode()).digest() * (size // 32 + 1)
        self.put(self.stream, self.seq, payload[:size], padding, **fields)
        self.offsets.append(len(self.written))
        self.written += payload[:size] + bytes(padding)
        self.seq += 1

    def packets(self, count, *sizes, **fields):
        """Until they are written."""
        for _ in range(count):
            self.packet(*sizes, **fields)
        self.wait_written()

    def wait_written(self):
        if self.seq > 0:
            self.control.wait_written(self.stream, self.seq - 1)

    def next_chunk(self, chunk, command=0):
        """As the control connection's, at the packet that comes next."""
        return self.control.next_chunk(
            chunk, command, (self.stream, self.seq), (self.meta, 0))

    def finish(self):
        """Close in order, then look at what is on disk."""
        self.control.metadata(self.meta, b"meta", 4092)
        self.wait_written()
        self.control.close_stream(self.meta)
        self.control.close_stream(self.stream,
                                  self.seq - 1 if self.seq > 0 else NONE)
        self.check()
        self.leave()

    def check(self):
        check((self.dir / "ch_0").read_bytes() == self.written,
              f"{self.path}: the data file differs from what was sent")
        if self.seq == 0:
            return
        index = self.dir / "index/ch_0.idx"
        equal(index.read_bytes()[:16],
              struct.pack(">IIII", 0xC1F1DCC1, 1, 1, 72), "index header")
        equal([(offset, seq) for offset, _, seq in records(index)],
              list(zip(self.offsets, range(self.seq))),
              f"{self.path}: records")


def recorded(daemon, name="good", **fields):
    """A session of one packet, from its start to its end."""
    session = Session(daemon, name, **fields)
    session.packet()
    session.finish()
    return session


def is_served(daemon, name):
    """Does a new session get what it needs?"""
    try:
        session = Session(daemon, name)
    except (Failed, OSError):
        return False
    session.packet()
    session.finish()
    return True


def is_closed(sock):
    """By the daemon?"""
    sock.settimeout(0.001)
    try:
        return sock.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


@contextlib.contextmanager
def as_nobody(program):
    """What root needs to start PROGRAM as a user without rights: the path of a
    copy, since such a user cannot read a checkout below /root, and options for
    subprocess."""
    with tempfile.TemporaryDirectory(prefix="tracepulse-nobody-") as top:
        os.chmod(top, 0o755)
        copy = shutil.copy(program, top)
        os.chmod(copy, 0o755)
        yield copy, dict(user=NOBODY, group=NOBODY, extra_groups=(), cwd="/")


def has(program, case):
    """Is PROGRAM there? If it is not, say that CASE is skipped."""
    if shutil.which(program) is None:
        print(f"SKIP {case}: there is no {program}")
        return False
    return True


def run_case(case):
    """What is printed of it, and whether it passed."""
    began = time.monotonic()
    try:
        case()
        verdict = "ok"
    except (Failed, OSError, struct.error) as e:
        verdict = f"FAILED: {type(e).__name__}: {e}"
    return (f"{case.__name__}: {verdict} ({time.monotonic() - began:.2f} s)",
            verdict == "ok")


PENDING = []


def run_pending(number):
    return run_case(PENDING[number])


def results(one_by_one, others, at_once):
    yield from map(run_case, one_by_one)
    if others:
        # The case itself may be a local function, which cannot be sent.
        PENDING.extend(others)
        with multiprocessing.get_context("fork").Pool(at_once) as pool:
            yield from pool.imap(run_pending, range(len(others)))


def run(cases, names=(), at_once=1, alone=()):
    """Each a function of no arguments, those of NAMES only if there are any;
    the exit status. Cases that mostly wait run several AT_ONCE, each in a
    process, except those that measure time and run ALONE."""
    unknown = set(names) - {case.__name__ for case in cases}
    if unknown:
        print("no such case:", ", ".join(sorted(unknown)))
        return 2
    if names:
        cases = [case for case in cases if case.__name__ in names]
    failed = 0
    for text, is_ok in results(
            [case for case in cases if at_once == 1 or case in alone],
            [case for case in cases if at_once > 1 and case not in alone],
            at_once):
        print(text, flush=True)
        failed += not is_ok
    return 1 if failed else 0


def main(names=None, at_once=1, alone=(), more=()):
    """Runs the script that was started. Its cases are its functions without
    parameters whose names do not begin with an underscore, and MORE."""
    script = vars(sys.modules["__main__"])
    cases = [f for name, f in script.items()
             if inspect.isfunction(f) and f.__module__ == "__main__"
             and name[0] != "_" and not inspect.signature(
                 f, follow_wrapped=False).parameters]
    return run([*cases, *more], sys.argv[1:] if names is None else names,
               at_once, alone)


@contextlib.contextmanager
def bystander(daemon):
    """A good session beside whatever happens inside."""
    good = Session(daemon)
    for _ in range(3):
        good.packet()
    yield good
    for _ in range(3):
        good.packet()
    good.finish()
