#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whatever answers instead of a relay: the program ends in time, in bounded
memory, with a clear word, and nothing that it says controls a terminal."""
import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
import program
import relay
from program import pretended, run
from relay import check, equal

EVIL = "\u001b]0;owned\u0007\u009b2J\u202e\u2028\n\r\u007f"


class Raw:
    """A server that answers each connection by talk(socket)."""

    def __init__(self, talk):
        self.talk = talk
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.sock.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                one, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(one,),
                             daemon=True).start()

    def _serve(self, one):
        try:
            one.recv(65536)
            self.talk(one)
        except OSError:
            pass
        one.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()


def is_plain(text):
    return all(c == "\n" or c.isprintable() for c in text)


def memory_of(*words, url, seconds=60):
    """(status, peak of resident bytes, standard error)"""
    p = subprocess.Popen([program.PROGRAM, *words],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         env=program.environment(url))
    timer = threading.Timer(seconds, p.kill)
    timer.start()
    err = p.stderr.read().decode()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    timer.cancel()
    return p.returncode, usage.ru_maxrss * 1024, err


def no_answers():
    """Nothing of it is JSON of a relay."""
    for body in (b"", b"{", b"[]", b"5", b"null", b'"x"', b"{}", b"<html>",
                 b'{"a":1,"a":2}', b"\xff\xfe", b'{"is_ready":"\x00"}',
                 b'{"is_ready":5}', b'{"is_ready":true,"totals":[]}',
                 b'{"is_ready":true,"uptime_seconds":-5}',
                 b'{"is_ready":true,"uptime_seconds":1e400}',
                 b'{"is_ready":true,"uptime_seconds":99999999999999999999}',
                 b"[" * 100000, b'{"a":' * 100000):
        with pretended(lambda *_, body=body: body) as (url, _):
            for words in (("status",), ("check",)):
                _, err = run(url, *words, status=1 + (words[0] == "check"))
                check(is_plain(err), err)
    for body in (b"{}", b'{"sessions":{}}', b'{"sessions":[{"id":"x"}]}',
                 b'{"sessions":[{"name":5}]}'):
        with pretended(lambda *_, body=body: body) as (url, _):
            for words in (("sessions",), ("show", "x"), ("top",)):
                _, err = run(url, *words, status=1)
                check("another program answers here" in err, err)


def refusals():
    """The error of another server is printed, in one line."""
    for code, body, want in (
            (404, {"error": "no such path"}, "no such path"),
            (500, b"", "500"), (403, b"Forbidden\n", "403, Forbidden"),
            (503, {"error": EVIL}, "the relay says"), (302, b"<html>", "302"),
            (418, b"\x1b[31m", "418")):
        with pretended(lambda *_, a=(code, body): a) as (url, _):
            _, err = run(url, "status", status=1)
            check(want in err and err.count("\n") == 1 and is_plain(err), err)
            equal("another program answers here" in err,
                  not isinstance(body, dict), err)


def names():
    """Every text of every answer is hostile; nothing reaches the terminal."""
    one = {"id": 1, "host": EVIL, "name": EVIL, "state": EVIL, "why": EVIL,
           "why_text": EVIL, "path": EVIL, "peer": EVIL, "transport": EVIL,
           "live_timer_us": 5, "streams": [{"name": EVIL}],
           "viewers": [{"peer": EVIL}], "lost_packets": 1,
           "lost_by_cause": {EVIL: 1},
           "messages": [{"event": EVIL, "name": EVIL, EVIL: EVIL,
                         "why": EVIL, "cause": EVIL, "x": [EVIL]}]}
    stored = {"path": EVIL, "session": EVIL, "host": EVIL, "kind": EVIL,
              "state": EVIL, "kept": True}

    def answer(_, path, query):
        if path == "/api/v1/sessions":
            return {"sessions": [one], "next": None}
        if path.startswith("/api/v1/sessions/"):
            return one
        if path == "/api/v1/stored":
            return {"stored": [stored], "next": None}
        return {"version": EVIL, "is_ready": False, "is_healthy": True,
                "reasons": [EVIL], "disk": {"output": EVIL, "total_bytes": 5},
                "totals": {"lost_packets_total": {EVIL: 3}},
                "listeners": {EVIL: {"host": EVIL, "port": 5},
                              "live": {"host": "0.0.0.0", "port": 5}}}

    with pretended(answer) as (url, _):
        for words, status in ((("status",), 0), (("sessions",), 0),
                              (("sessions", "-l"), 0), (("show", "1"), 0),
                              (("top",), 0), (("stored",), 0),
                              (("watch", "1", "--dry-run"), 0),
                              (("check",), 2)):
            out, err = run(url, *words, status=status)
            check(is_plain(out + err), f"{words}: {out!r} {err!r}")
            check("\\x1b" in out, f"{words}: {out!r}")
        equal(run(url, "sessions", "--names")[0], "", "names")
        run(url, "show", EVIL[:3], status=1)


def events():
    """Bad events end it; texts in good ones are harmless."""
    def stream(text):
        def talk(one):
            one.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream"
                        b"\r\nConnection: close\r\n\r\n" + text)
            time.sleep(0.5)
        return Raw(talk)

    good = json.dumps({"time": 5, "host": EVIL, "name": EVIL, EVIL: EVIL})
    with stream(f"event: {EVIL[:4]}\nid: 1\ndata: {good}\n\n".encode()) as raw:
        out, _ = run(raw.url, "events", "-n1")
        check(is_plain(out) and "\\x1b" in out, out)
    for bad in (b"data: x\n\n", b"data: [1]\n\n", b"x" * 70000,
                b"data: 1\n" * 70000):
        with stream(bad) as raw:
            _, err = run(raw.url, "events", status=1)
            check("invalid event" in err, err)


def without_end():
    """An answer, headers, pages, or events without an end: a limit each, in
    memory that is bounded."""
    def endless_body(one):
        one.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            one.sendall(b"[" * 65536)

    def endless_headers(one):
        one.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            one.sendall(b"X-A: " + b"b" * 4000 + b"\r\n")

    def much_json(one):
        one.sendall(b'HTTP/1.1 200 OK\r\n\r\n{"a":[')
        one.sendall(b"{}," * 5_000_000)
        one.sendall(b"{}]}")

    # A build with sanitizers takes several times as much itself.
    most = (400 << 20) * (
        4 if relay.has_sanitizer("address") or relay.has_sanitizer("thread")
        else 1)
    for talk, want in ((endless_body, "too long"),
                       (endless_headers, "too long"),
                       (much_json, "another program answers here")):
        with Raw(talk) as raw:
            status, peak, err = memory_of("status", url=raw.url)
            equal(status, 1, err)
            check(want in err, err)
            check(peak < most, f"{talk.__name__}: {peak >> 20} MiB")

    def pages(_, path, query):
        n = int(query.get("after", 0)) + 1
        return {"sessions": [{"id": n, "name": "s"}], "next": n}

    with pretended(pages) as (url, asked):
        out, err = run(url, "sessions")
        check(len(asked) == 100 and "there are more" in err, err)
        equal(len(out.splitlines()), 101, "rows")
    with pretended(lambda *_: {"sessions": [], "next": 7}) as (url, asked):
        run(url, "sessions")
        check(len(asked) <= 3, f"a page that leads to itself: {len(asked)}")


def silence():
    """The program gives up on a server that is silent, or sends a byte now and then."""
    def mute(one):
        time.sleep(30)

    def slow(one):
        one.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(100):
            one.sendall(b" ")
            time.sleep(0.2)

    for talk in (mute, slow):
        with Raw(talk) as raw:
            begin = time.monotonic()
            _, err = run(raw.url, "status", "--timeout=1", status=1)
            check(talk is slow or "does another program listen here?" in err,
                  err)
            run(raw.url, "check", "--timeout=1", status=2)
            took = time.monotonic() - begin
            check(1.5 < took < 20, f"{talk.__name__}: {took} s")


def cut_off():
    """A connection that ends early is a failure."""
    for text in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}",
                 b"garbage\r\n\r\n", b"HTTP/9.9 200\r\n\r\n{}"):
        with Raw(lambda one, text=text: one.sendall(text)) as raw:
            _, err = run(raw.url, "status", status=1)
            check(is_plain(err) and err.count("\n") == 1, err)
            equal("another program answers here" in err,
                  not text.startswith(b"HTTP/1.1"), err)


def elsewhere():
    """A redirection is not followed."""
    with pretended(lambda *_: {"is_ready": True}) as (other, asked):
        def talk(one):
            one.sendall(f"HTTP/1.1 301 Moved\r\nLocation: {other}/x\r\n"
                        "Content-Length: 0\r\n\r\n".encode())
        with Raw(talk) as raw:
            _, err = run(raw.url, "status", status=1)
            check("301" in err and not asked, err)


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
CASES = [no_answers, refusals, names, events, without_end, silence, cut_off,
         elsewhere]


if __name__ == "__main__":
    sys.exit(relay.run(CASES, sys.argv[1:], at_once=4))
