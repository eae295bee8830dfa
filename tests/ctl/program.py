# SPDX-License-Identifier: MIT
"""The program tracepulse, and what it says; and a server that pretends to be a
relay. Scripts of this folder import it first, since it finds relay.py."""
import contextlib
import fcntl
import http.server
import json
import os
import pathlib
import pty
import select
import socketserver
import struct
import subprocess
import sys
import termios
import threading
import time
import urllib.parse

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(os.environ.get("srcdir", ".")).resolve()
sys.path.insert(0, str(SOURCE / "tests/replay"))
import relay
from relay import check, equal

PROGRAM = os.path.abspath(os.environ.get("TRACEPULSE", "./tracepulse"))


def environment(url, **more):
    """Of a user who has nothing special, in UTF-8."""
    full = {k: v for k, v in os.environ.items()
            if k not in ("COLUMNS", "LINES", "NO_COLOR")
            and not k.startswith("TRACEPULSE_")}
    full.update(TRACEPULSE_URL=url, LC_ALL="C.UTF-8", TZ="UTC", TERM="xterm")
    return full | more


def url_of(daemon):
    return f"http://127.0.0.1:{daemon.http_port}"


def run(url, *words, status=0, timeout=30, **more):
    """(standard output, standard error), with that exit status."""
    done = subprocess.run([PROGRAM, *words], env=environment(url, **more),
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=timeout)
    out, err = done.stdout.decode(), done.stderr.decode()
    equal(done.returncode, status, f"{words}: {out!r} {err!r}: status")
    return out, err


def ask(url, *words, **more):
    """A JSON answer."""
    return json.loads(run(url, *words, "--json", **more)[0])


class Terminal:
    """The program on a pseudo-terminal of so many columns and rows."""

    def __init__(self, url, *words, columns=80, rows=24, **more):
        self.text, full = b"", environment(url, **more)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                self.resize(columns, rows, 0)
                os.execve(PROGRAM, [PROGRAM, *words], full)
            finally:
                os._exit(126)

    def resize(self, columns, rows, fd=None):
        fcntl.ioctl(self.fd if fd is None else fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.1):
        """What comes within that time, added to self.text. False: the end."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], left)[0]:
                break
            try:
                part = os.read(self.fd, 65536)
            except OSError:
                return False
            if not part:
                return False
            self.text += part
        return True

    def wait_for(self, what, seconds=20):
        until = time.monotonic() + seconds
        while what.encode() not in self.text:
            check(self.read() or what.encode() in self.text,
                  f"ended without {what!r}: {self.text!r}")
            check(time.monotonic() < until, f"no {what!r}: {self.text!r}")

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def end(self, seconds=20):
        """The exit status; -N: signal N."""
        until = time.monotonic() + seconds
        while self.read():
            check(time.monotonic() < until, f"it does not end: {self.text!r}")
        self.has_echo = bool(termios.tcgetattr(self.fd)[3] & termios.ECHO)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class _Unix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def get_request(self):
        return super().get_request()[0], ("unix", 0)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(parts.query))
        self.server.asked.append((self.command, parts.path, query))
        answer = self.server.answer(self.command, parts.path, query)
        code, body = answer if isinstance(answer, tuple) else (200, answer)
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_POST = do_GET

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def pretended(answer, path=None):
    """A server whose answer(method, path, query) is an object, bytes, or (code,
    either). Gives its URL, and what it was asked. PATH: of a Unix socket."""
    if path is None:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        server.daemon_threads = True
        url = f"http://127.0.0.1:{server.server_address[1]}"
    else:
        server = _Unix(str(path), _Handler)
        url = f"unix:{path}"
    server.answer, server.asked = answer, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield url, server.asked
    finally:
        server.shutdown()
        server.server_close()
