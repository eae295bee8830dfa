# SPDX-License-Identifier: MIT
"""tracepulse-ftrace listen in a directory of its own, and a recorder that replays a
recorded session."""
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
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "replay"))
import relay  # noqa: E402
from relay import Failed, as_nobody, check, equal, has, hears  # noqa: E402

PROGRAM = os.path.abspath(os.environ.get("FTRACE", "./tracepulse-ftrace"))
VECTORS = os.path.join(HERE, "..", "vectors/tracecmd")
SKIPPED = 77
PAGE = 4096
HEADER = struct.Struct(">III")
CLOSE, TINIT, RINIT, SEND_DATA, FIN_DATA, NOT_SUPP = range(6)
GREETING = b"-1V3\0" + b"766679\0\0"
PLAIN = ("v6-tcp", "v6-udp", "v6-tcp-flush", "v6-tcp-missed", "v7-tcp-none")
FIRST_PORT = 20000 + os.getpid() % 4000 * 10


def part(name, what):
    """The bytes of a recorded session."""
    with open(f"{VECTORS}/tracecmd-{name}-{what}.bin", "rb") as f:
        return f.read()


def message(number, fixed=b"", data=b""):
    return HEADER.pack(HEADER.size + len(fixed) + len(data), number,
                       len(fixed)) + fixed + data


def messages(blob):
    """Its messages: pairs of number and the bytes after the header."""
    while blob:
        size, number, _ = HEADER.unpack_from(blob)
        yield number, blob[HEADER.size:size]
        blob = blob[size:]


def tinit(cpus=2, *options, page=PAGE):
    return message(TINIT, struct.pack(">III", cpus, page, len(options)),
                   b"".join(o + b"\0" for o in options))


def metadata(name):
    """The contents of the SEND_DATA messages of a session."""
    return b"".join(data for number, data in messages(part(name, "c2s")[13:])
                    if number == SEND_DATA)


def wait_until(what, is_true, timeout=60):
    end = time.monotonic() + timeout
    while not is_true():
        if time.monotonic() > end:
            raise Failed("waited for: " + what)
        time.sleep(0.01)


@contextlib.contextmanager
def directory():
    path = tempfile.mkdtemp(prefix="tracepulse-ftrace-")
    try:
        yield pathlib.Path(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


PRIVATE_FILE = """
mount --make-rprivate / && mount --bind "$0" "$1" && shift && exec "$@"
"""


@contextlib.contextmanager
def private_file(path, text):
    """A command prefix under which the file PATH contains TEXT; None without the right
    to mount."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(text)
        file.flush()
        under = ["unshare", "-m", "sh", "-c", PRIVATE_FILE, file.name, path]
        can = shutil.which("unshare") and subprocess.run(
            [*under, "true"], stderr=subprocess.DEVNULL,
            check=False).returncode == 0
        yield under if can else None


class Listener:
    """The program; its messages go to a file."""
    count = 0

    def __init__(self, base, *options, under=(), **more):
        Listener.count += 1
        self.log_path = f"{base}/listener{Listener.count}.log"
        self.output = f"{base}/out"
        os.makedirs(self.output, exist_ok=True)
        first = FIRST_PORT % 40000 + 10000
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [*under, PROGRAM, "listen", "-p", "0", "-d", self.output,
                 "-v", "-v", "--data-ports", f"{first}-{first + 9999}",
                 "--bind", "127.0.0.1", *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, **more)
        wait_until("the listener listens", lambda: re.search(
            r"listening on port (\d+)", self.log())
            or self.process.poll() is not None)
        found = re.search(r"listening on port (\d+)", self.log())
        if not found:
            raise Failed("no start: " + self.log())
        self.port = int(found.group(1))

    def log(self):
        if not os.path.exists(self.log_path):
            return self.last_log
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def files(self):
        return sorted(os.listdir(self.output))

    def wait_files(self, count):
        """COUNT files, and nothing that is not finished."""
        wait_until(f"{count} files", lambda: len(self.files()) == count and
                   all(n.endswith(".dat") for n in self.files()))
        return [self.read(name) for name in self.files()]

    def read(self, name):
        with open(f"{self.output}/{name}", "rb") as f:
            return f.read()

    def stop(self, number=signal.SIGTERM, status=0, timeout=20):
        self.process.send_signal(number)
        got = self.process.wait(timeout)
        self.last_log = self.log()
        if number == signal.SIGKILL:
            status = -number
        check(got == status and "Sanitizer" not in self.log()
              and "runtime error" not in self.log(),
              f"the listener: status {got}\n{self.log()[-3000:]}")


@contextlib.contextmanager
def listening(*options, **more):
    with directory() as base:
        listener = Listener(base, *options, **more)
        try:
            yield listener
            listener.stop()
        except BaseException:
            sys.stderr.write(listener.log()[-3000:])
            raise
        finally:
            if listener.process.poll() is None:
                listener.process.kill()
                listener.process.wait()


class Sender:
    """A control connection, and data sockets once there are ports."""

    def __init__(self, listener, source="127.0.0.1"):
        self.socket = socket.create_connection(
            ("127.0.0.1", listener.port), source_address=(source, 0),
            timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.name = f"localhost:{self.socket.getsockname()[1]}"
        self.source = source
        self.data = []
        self.received = b""

    def send(self, blob, pieces=None):
        """At once, or in pieces of so many bytes."""
        for at in range(0, len(blob), pieces or len(blob) or 1):
            self.socket.sendall(blob[at:at + (pieces or len(blob))])

    def receive(self, count):
        while len(self.received) < count:
            got = self.socket.recv(count - len(self.received))
            if not got:
                raise Failed(f"closed after {self.received!r}")
            self.received += got
        out, self.received = self.received[:count], self.received[count:]
        return out

    def is_closed(self, timeout=10):
        """Does the listener close within this time? What it sends before is
        discarded."""
        self.socket.settimeout(timeout)
        try:
            while self.socket.recv(65536):
                pass
        except socket.timeout:
            return False
        except OSError:
            pass
        return True

    def greet(self):
        equal(self.receive(8), b"tracecmd", "greeting")
        self.send(b"-1V3\0")
        equal(self.receive(3), b"V3\0", "version")
        self.send(b"766679\0\0")
        equal(self.receive(2), b"OK", "answer")

    def receive_ports(self):
        size, number, fixed = HEADER.unpack(self.receive(HEADER.size))
        equal((number, fixed), (RINIT, 4), "RINIT")
        body = self.receive(size - HEADER.size)
        ports = [int(p) for p in body[4:].split(b"\0")[:-1]]
        equal(len(ports), struct.unpack_from(">I", body)[0], "number of ports")
        return ports

    def send_metadata(self, blob):
        for at in range(0, len(blob), 8000):
            self.send(message(SEND_DATA, data=blob[at:at + 8000]))
        self.send(message(FIN_DATA))

    def connect_data(self, ports, is_tcp=True):
        for port in ports:
            kind = socket.SOCK_STREAM if is_tcp else socket.SOCK_DGRAM
            sock = socket.socket(socket.AF_INET, kind)
            sock.bind((self.source, 0))
            sock.connect(("127.0.0.1", port))
            self.data.append(sock)

    def begin(self, name="v6-tcp", pieces=None):
        """Up to the point where pages may be sent."""
        whole = part(name, "c2s")
        first = HEADER.unpack_from(whole, 13)[0]
        is_tcp = name != "v6-udp"
        if pieces:
            self.send(whole[:13 + first], pieces)
            equal(self.receive(13), part(name, "s2c")[:13], "greeting")
        else:
            self.greet()
            self.send(whole[13:13 + first])
        ports = self.receive_ports()
        if is_tcp:
            self.connect_data(ports)
        self.send(whole[13 + first:-12], pieces)
        if not is_tcp:
            self.connect_data(ports, False)
        return self

    def begin_with(self, whole, cpus=2, page=PAGE):
        """The same, with metadata that a test makes up."""
        self.greet()
        self.send(tinit(cpus, b"tcp", page=page))
        self.connect_data(self.receive_ports())
        for at in range(0, len(whole), 8000):
            self.send(message(SEND_DATA, data=whole[at:at + 8000]))
        self.send(message(FIN_DATA))
        return self

    def begin_v1(self, greeting):
        """As trace-cmd 2.6; the metadata follows."""
        equal(self.receive(8), b"tracecmd", "greeting")
        self.send(greeting)
        text = b""
        while not text.endswith(b"\0"):
            text += self.receive(1)
        self.connect_data([int(p) for p in text[:-1].split(b",")])
        return self

    def pages(self, cpu, blob, pieces=None):
        is_tcp = self.data[cpu].type == socket.SOCK_STREAM
        if not is_tcp:
            pieces = PAGE
        for at in range(0, len(blob), pieces or len(blob) or 1):
            self.data[cpu].sendall(blob[at:at + (pieces or len(blob))])

    def end_data(self):
        for sock in self.data:
            sock.close()
        self.data = []

    def close(self):
        """In order."""
        self.end_data()
        self.send(message(CLOSE))
        self.socket.close()

    def vanish(self):
        """As if its machine had lost its power, as far as can be."""
        self.end_data()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                               struct.pack("ii", 1, 0))
        self.socket.close()

    def play(self, name, pieces=None):
        """The whole session."""
        self.begin(name, pieces)
        for cpu in (0, 1):
            self.pages(cpu, part(name, f"cpu{cpu}"), pieces)
        self.close()


def run(cases, **options):
    """Those named on the command line, or all; ends the program if one fails.
    OPTIONS are those of relay.run()."""
    if relay.run(cases, sys.argv[1:], **options) != 0:
        sys.exit(1)
