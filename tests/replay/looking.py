#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The HTTP interface: it shows what happened, clients do not disturb peers,
and bad clients get a clear answer."""
import gzip
import http.client
import itertools
import json
import os
import re
import resource
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
import relay
import viewer
from relay import check, equal

PATHS = ("/", "/healthz", "/-/healthy", "/readyz", "/-/ready", "/metrics",
         "/api/v1/status", "/api/v1/sessions", "/api/v1/history")


def get(daemon, path, method="GET", headers=None, timeout=10):
    """(status, headers, body)"""
    c = http.client.HTTPConnection("127.0.0.1", daemon.http_port,
                                   timeout=timeout)
    c.request(method, path, headers=headers or {})
    r = c.getresponse()
    body = r.read()
    c.close()
    return r.status, r.headers, body


def ask(daemon, path):
    """A JSON answer of which no part is missing: a worker that stands still is
    asked again."""
    until = time.monotonic() + relay.TIMEOUT
    while True:
        status, headers, body = get(daemon, path)
        if status != 503:
            equal(status, 200, path)
            equal(headers["Content-Type"], "application/json", "type")
            answer = json.loads(body)
            if not answer.get("busy_workers"):
                return answer
        check(time.monotonic() < until, f"{path}: a worker stays busy")
        time.sleep(0.05)


def metrics(daemon):
    """name{labels} -> value"""
    status, headers, body = get(daemon, "/metrics")
    equal(status, 200, "/metrics")
    check("version=0.0.4" in headers["Content-Type"], "no type of Prometheus")
    found = {}
    for line in body.decode().splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            check(name not in found, f"{name} twice")
            found[name] = float(value)
    return found


def wait_until(what, condition):
    relay.wait_until(f"never: {what}", condition)


def record(daemon, packets=3, size=1000, **fields):
    """A session with one stream and some packets in it. (control, data,
    handle)"""
    c = daemon.peer()
    c.create_session(**fields)
    c.create_chunk(0)
    handle, _ = c.add_stream("chan_0")
    d = daemon.data()
    for seq in range(packets):
        d.packet(handle, seq, b"x" * size)
        c.index(handle, seq, size)
    if packets > 0:
        c.wait_written(handle, packets - 1)
    return c, d, handle


def end(c, d, handle, packets=3):
    c.close_stream(handle, packets - 1)
    c.close()
    d.close()


class Events:
    """A listener to server-sent events, in a thread."""

    def __init__(self, daemon, path="/api/v1/events", last=None):
        self.sock = daemon.connect(daemon.http_port)
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n"
        if last is not None:
            head += f"Last-Event-ID: {last}\r\n"
        self.sock.sendall((head + "\r\n").encode())
        self.found, self.text = [], b""
        threading.Thread(target=self._run, daemon=True).start()
        wait_until("the listener is answered", lambda: b"retry:" in self.text)

    def _run(self):
        try:
            while part := self.sock.recv(65536):
                self.text += part
        except OSError:
            pass

    def all(self):
        """[(id, kind, data)]; chunks of HTTP end with whole events."""
        text = re.sub(rb"\r\n[0-9a-f]+\r\n", b"", self.text).decode()
        return [(i, k, json.loads(d)) for i, k, d in re.findall(
            r"id: (\S+)\nevent: (\S+)\ndata: (.*)\n", text)]

    def wait(self, kind, n=1):
        wait_until(f"{n} {kind}",
                   lambda: sum(e[1] == kind for e in self.all()) >= n)
        return [e[2] for e in self.all() if e[1] == kind]

    def close(self):
        self.sock.close()


def paths():
    """Each path answers GET, and HEAD without a body."""
    with relay.Daemon() as daemon:
        wait_until("ready", lambda: get(daemon, "/readyz")[0] == 200)
        for path in PATHS:
            status, headers, body = get(daemon, path)
            equal(status, 200, path)
            check(body, path)
            equal(headers["X-Content-Type-Options"], "nosniff", path)
            status, headers, body = get(daemon, path, "HEAD")
            equal((status, body), (200, b""), path)
            check(int(headers["Content-Length"]) > 0, path)
        policy = get(daemon, "/")[1]["Content-Security-Policy"]
        check(policy.startswith("default-src 'none';"), policy)
        for path in ("/%68ealthz", "/api/v1%2Fstatus", "/%6detrics"):
            equal(get(daemon, path)[0], 200, path)
        for path in ("/nothing", "/healthz%00", "/%00", "/%2568ealthz"):
            equal(get(daemon, path)[0], 404, path)
        equal(get(daemon, "/api/v1/sessions/77")[0], 404, "unknown session")
        for query in ("limit=0", "limit=1001", "limit=x", "after=-1",
                      "state=x", "host=" + "h" * 300):
            equal(get(daemon, "/api/v1/sessions?" + query)[0], 400, query)


def gzipped():
    """Long answers are sent as gzip to those who accept it, and are the
    same."""
    with relay.Daemon() as daemon:
        for path in ("/", "/metrics", "/api/v1/status"):
            status, headers, plain = get(daemon, path)
            equal(status, 200, path)
            equal(headers["Content-Encoding"], None, "not asked for")
            for method in ("GET", "HEAD"):
                status, headers, body = get(
                    daemon, path, method=method,
                    headers={"Accept-Encoding": "gzip, deflate"})
                equal(status, 200, path)
                equal(headers["Vary"], "Accept-Encoding", path)
                equal(headers["Content-Encoding"], "gzip", path)
                if method == "GET":
                    equal(int(headers["Content-Length"]), len(body), path)
                    check(len(body) < len(plain) / 2, f"{path}: {len(body)}")
                    body = gzip.decompress(body)
                    if path == "/":
                        equal(body, plain, path)
                    else:
                        check(len(body) > len(plain) * 0.9, path)
        status, headers, body = get(daemon, "/healthz",
                                    headers={"Accept-Encoding": "gzip"})
        equal((headers["Content-Encoding"], body), (None, b"ok\n"), "short")


def figures():
    """What was sent is what is shown, in the JSON and in the metrics."""
    with relay.Daemon() as daemon:
        c, d, handle = record(daemon, packets=5, name="fig", host="box")
        s = ask(daemon, "/api/v1/sessions")["sessions"]
        equal(len(s), 1, "sessions")
        want = dict(id=s[0]["id"], host="box", name="fig", state="active",
                    written_packets=5, written_bytes=5000,
                    received_packets=5, received_bytes=5000, index_records=5,
                    lost_packets=0, open_streams=1, transport="tcp")
        equal({k: s[0][k] for k in want}, want, "the session")
        one = ask(daemon, f"/api/v1/sessions/{s[0]['id']}")
        equal([t["written_bytes"] for t in one["streams"]], [5000], "streams")
        equal(one["messages"][0]["event"], "session_began", "messages")
        m = metrics(daemon)
        totals = ask(daemon, "/api/v1/status")["totals"]
        equal(m['tracepulse_received_bytes_total{transport="tcp"}'], 5000,
              "received")
        equal(m["tracepulse_written_packets_total"], 5, "written")
        equal(m['tracepulse_sessions{state="active"}'], 1, "sessions")
        equal(totals["written_bytes_total"], 5000, "written")
        # The room that traces take is looked up by and by.
        for name, value in totals.items():
            if name != "trace_bytes":
                equal(metric_of(m, name), flat(value), name)
        end(c, d, handle, 5)
        wait_until("the session is closed", lambda: ask(
            daemon, "/api/v1/sessions?state=closed")["sessions"])
        s = ask(daemon, "/api/v1/sessions")["sessions"]
        equal([(t["state"], t["why"], t["written_packets"]) for t in s],
              [("closed", "closed", 5)], "after its end")
        equal(metrics(daemon)['tracepulse_sessions_ended_total{why="closed"}'],
              1, "ended")


def flat(value):
    """The sum of a member of the totals, but of what changes by looking."""
    if isinstance(value, dict):
        return sum(flat(v) for k, v in value.items() if k != "http")
    return value


def metric_of(m, name):
    return sum(v for k, v in m.items()
               if re.fullmatch(rf"tracepulse_{name}(\{{.*\}})?", k)
               and 'port="http"' not in k)


def losses():
    """A gap is counted by its cause, reported, and in the session's last line."""
    with relay.Daemon("-v") as daemon:
        e = Events(daemon)
        c, d, handle = record(daemon, packets=1, name="gap")
        d.packet(handle, 4, b"y" * 10)
        c.index(handle, 4, 10)
        lost = e.wait("packets_lost")[0]
        equal((lost["lost_packets"], lost["cause"]), (3, "gap"), "event")
        equal(metrics(daemon)['tracepulse_lost_packets_total{cause="gap"}'],
              3, "lost")
        c.close()
        d.close()
        ended = e.wait("session_ended")[0]
        equal((ended["why"], ended["lost_by_cause"]), ("left", {"gap": 3}),
              "end")
        line = re.search(r"warning .*session ended: packets=2 bytes=1010 "
                         r"seconds=\d+\.\d{3} lost=3 why=left",
                         daemon.log_text())
        check(line, daemon.log_text())
        e.close()


def last_line():
    """Each session has a last log line, at the default log level."""
    with relay.Daemon() as daemon:
        end(*record(daemon, packets=2, name="fine"), packets=2)
        wait_until("its last line", lambda: re.search(
            r"notice peer=\S+ host=\S+ session=1/fine session ended: packets=2 bytes=\d+ "
            r"seconds=\d+\.\d{3} lost=0 why=closed\n", daemon.log_text()))


def events():
    """Began, rotated, ended; Last-Event-ID goes on where it was."""
    with relay.Daemon() as daemon:
        e = Events(daemon)
        c, d, handle = record(daemon, packets=1, name="ev")
        c.create_chunk(1)
        c.close_chunk(0, 0)
        c.close()
        d.close()
        e.wait("session_ended")
        kinds = [k for _, k, _ in e.all()]
        equal(kinds, ["session_began", "session_rotated", "session_ended"],
              "events")
        again = Events(daemon, last=e.all()[0][0])
        again.wait("session_ended")
        equal(again.all(), e.all()[1:], "what was missed")
        other = Events(daemon, last="1.1")
        other.wait("session_ended")
        equal(other.all(), e.all(), "of another start")
        recent = Events(daemon, "/api/v1/events?recent=2")
        recent.wait("session_ended")
        equal(recent.all(), e.all()[1:], "the last two")


def viewers():
    """A viewer that attaches and leaves is reported, counted, and shown with its
    session."""
    with relay.Daemon() as daemon:
        e = Events(daemon)
        c, d, handle = record(daemon, name="seen", live=1_000_000)
        c.code(relay.STREAMS_SENT)
        v = viewer.greeted(daemon)
        v.create()
        v.attach(v.find("seen").id)
        e.wait("viewer_came")
        ident = ask(daemon, "/api/v1/sessions")["sessions"][0]["id"]

        def shown_viewers():
            one = ask(daemon, f"/api/v1/sessions/{ident}")
            return one["open_viewers"], len(one["viewers"])
        wait_until("a viewer", lambda: shown_viewers() == (1, 1))
        m = metrics(daemon)
        equal(m["tracepulse_viewers"], 1, "viewers")
        equal(m['tracepulse_live_requests_total{command="attach_session",'
                'status="ok"}'], 1, "requests")
        check(m["tracepulse_sent_bytes_total"] > 0, "sent")
        v.close()
        e.wait("viewer_went")
        equal(metrics(daemon)["tracepulse_viewers"], 0, "viewers")
        c.close()
        d.close()


def pages():
    """Sessions in pages, of a host, with names that would end a label."""
    with relay.Daemon("--metrics-per-session", workers=3) as daemon:
        all_of = [daemon.peer() for _ in range(25)]
        for i, c in enumerate(all_of):
            c.create_session(name=f"s{i}", host="ab"[i % 2],
                             uuid=bytes([i + 1]) * 16)
        seen, after = [], 0
        while True:
            page = ask(daemon, f"/api/v1/sessions?limit=10&after={after}")
            seen += [s["id"] for s in page["sessions"]]
            equal(page["busy_workers"], [], "busy")
            if page["next"] is None:
                break
            equal(len(page["sessions"]), 10, "a page")
            after = page["next"]
        equal(len(seen), 25, "sessions")
        equal(seen, sorted(set(seen)), "order")
        equal(len(ask(daemon, "/api/v1/sessions?host=a")["sessions"]), 13,
              "of one host")
        wait_until("25 sessions with metrics", lambda: sum(
            k.startswith("tracepulse_session_held_bytes{")
            for k in metrics(daemon)) == 25)


def names():
    """Names of peers are escaped in JSON and labels."""
    with relay.Daemon("--metrics-per-session") as daemon:
        for i, name in enumerate((b'<img src=x onerror=1>"q\\', "\u00e9".encode())):
            c = daemon.peer()
            c.create_session(name=name, host="h", uuid=bytes([i + 1]) * 16)
            daemon.kept.append(c)
        shown = {s["name"] for s in ask(daemon, "/api/v1/sessions")["sessions"]}
        equal(shown, {'<img src=x onerror=1>"q\\', "\u00e9"}, "names")
        wait_until("the label", lambda: 'session="<img src=x onerror=1>\\"q\\\\"'
                   in get(daemon, "/metrics")[2].decode())


def page():
    """It is the same for everybody: its script reads the API, and without it
    there are links."""
    with relay.Daemon() as daemon:
        code, headers, body = get(daemon, "/")
        equal(code, 200, "the page")
        text = body.decode()
        check("{{" not in text and "<noscript>" in text, "the page")
        for path in ("/api/v1/sessions", "/metrics"):
            check(f'<a href="{path}">' in text, f"a link to {path}")
        record(daemon, packets=3, name="plain", host="box")
        equal(get(daemon, "/?state=closed")[2], body, "with a session")


def history():
    """What was received stands in the rates of that second."""
    with relay.Daemon() as daemon:
        record(daemon, packets=5)
        def rates():
            return ask(daemon, "/api/v1/history")["rates"]
        wait_until("a rate", lambda: any(rates()["received_bytes_per_second"]))
        equal(len({len(one) for one in rates().values()}), 1, "lengths")
        equal(rates()["lost_packets_per_second"][-1], 0, "lost")


def ready():
    """New sessions are admitted while it says so."""
    with relay.Daemon("--fd-pool-size=200") as daemon:
        wait_until("ready", lambda: get(daemon, "/readyz")[0] == 200)
        kept = fill(daemon)
        equal(get(daemon, "/readyz")[2], b"no descriptors\n", "reason")
        for c in kept:
            c.close()
        wait_until("ready again", lambda: get(daemon, "/readyz")[0] == 200)


def fill(daemon):
    """Sessions of many hosts, until no more are admitted."""
    kept = []
    while get(daemon, "/readyz")[0] == 200:
        daemon.source = f"127.0.0.{len(kept) + 2}"
        c = daemon.peer()
        c.create_session(name=f"s{len(kept)}",
                         uuid=bytes([len(kept) + 1]) * 16)
        kept.append(c)
    daemon.source = "127.0.0.1"
    return kept


def costs():
    """With 1,000 sessions a scrape, and a list of all of them, take little of a
    CPU. Sanitizers take more of it."""
    often = 10
    most = 30 if relay.has_sanitizer("address") or \
        relay.has_sanitizer("thread") else 5
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    with relay.Daemon() as daemon:
        all_of = [daemon.peer() for _ in range(1000)]
        for i, c in enumerate(all_of):
            c.create_session(name=f"session-{i}", host="some.example",
                             uuid=(i + 1).to_bytes(2, "big") * 8)
        for path, coding in itertools.product(
                ("/metrics", "/api/v1/sessions?limit=1000", "/"),
                ("identity", "gzip")):
            began = http_cpu(daemon)
            for _ in range(often):
                equal(get(daemon, path,
                          headers={"Accept-Encoding": coding})[0], 200, path)
            took = (http_cpu(daemon) - began) / often * 1000
            print(f"{path}, {coding}: {took:.2f} ms of CPU")
            check(took < most, f"{path}: {took:.2f} ms of CPU, {most} at most")
        for c in all_of:
            c.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def http_cpu(daemon):
    """Seconds of CPU of its last thread, which is that of HTTP (proc(5))."""
    tasks = f"/proc/{daemon.process.pid}/task"
    last = max(os.listdir(tasks), key=int)
    with open(f"{tasks}/{last}/schedstat", encoding="ascii") as f:
        return int(f.read().split()[0]) / 1e9


def promtool():
    """Prometheus' own check of the format finds nothing."""
    if not relay.has("promtool", "promtool"):
        return
    with relay.Daemon("--metrics-per-session") as daemon:
        record(daemon)
        for _ in range(2):
            done = subprocess.run(["promtool", "check", "metrics"],
                                  input=get(daemon, "/metrics")[2],
                                  capture_output=True)
            equal((done.returncode, done.stdout + done.stderr), (0, b""),
                  "promtool")


def hosts():
    """Only names of ours are answered."""
    with relay.Daemon("--http-host=relay1.example") as daemon:
        port = daemon.http_port
        for host, want in (("localhost", 200), (f"LOCALHOST:{port}", 200),
                           ("127.0.0.1", 200), (f"127.0.0.1:{port}", 200),
                           ("relay1.example", 200), ("Relay1.Example:80", 200),
                           ("evil.example", 403), ("127.0.0.2", 403),
                           ("localhost.evil.example", 403), ("", 403),
                           ("[::1]", 403), ("localhost:x", 403)):
            equal(get(daemon, "/healthz", headers={"Host": host})[0], want,
                  host)
        equal(raw(daemon, b"GET /healthz HTTP/1.0\r\n\r\n")[:12],
              b"HTTP/1.0 403", "no Host")


def raw(daemon, blob, timeout=15):
    """What is answered to these bytes, until the end."""
    s = daemon.connect(daemon.http_port)
    s.settimeout(timeout)
    out = b""
    try:
        s.sendall(blob)
        while part := s.recv(65536):
            out += part
    except ConnectionError:
        pass
    s.close()
    return out


def bad_requests():
    """Methods, sizes, and more than one request: refused, and closed."""
    good = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    with relay.Daemon() as daemon:
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
            status, headers, _ = get(daemon, "/metrics", method)
            equal((status, headers["Allow"]), (405, "GET, HEAD"), method)
        for blob in (b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"\0" * 100 + b"\r\n\r\n", b"\r\n\r\n\r\n",
                     b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n",
                     good + b"A: " + b"a" * 9000 + b"\r\n\r\n",
                     good + b"A: b\r\n" * 3000 + b"\r\n",
                     good + b"Content-Length: 99999999999\r\n\r\n",
                     good + b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n",
                     b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            answer = raw(daemon, blob)
            check(b" 200 " not in answer[:20], answer[:100])
        answer = raw(daemon, 50 * (good + b"\r\n"))
        equal(answer.count(b"200 OK"), 1, "pipelined")
        equal(get(daemon, "/healthz")[0], 200, "afterwards")


def who_never_reads():
    """100 clients that never read, and 100 that never finish, do no harm:
    others are answered, and a session continues."""
    with relay.Daemon() as daemon:
        c, d, handle = record(daemon, packets=1)
        mute = []
        for i in range(200):
            s = daemon.connect(daemon.http_port)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            path = b"/metrics" if i % 2 else b"/api/v1/events"
            s.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n")
            if i % 4 < 2:
                s.sendall(b"\r\n")
            mute.append(s)
        for _ in range(20):
            began = time.monotonic()
            equal(get(daemon, "/healthz")[0], 200, "health")
            check(time.monotonic() - began < 8, "others are not answered")
        for seq in range(1, 50):
            d.packet(handle, seq, b"z" * 1000)
            c.index(handle, seq, 1000)
        c.wait_written(handle, 49)
        check(daemon.descriptors() < 200, "too many descriptors")
        for s in mute:
            s.close()


def long_answers_that_nobody_reads():
    """64 clients that ask for a thousand sessions with long names, and read
    nothing, cost 128 MiB at most; who reads gets all of it. Before the limit,
    they cost 280 MiB."""
    place = "/".join(["x" * 250] * 15)
    # What AddressSanitizer keeps of what was freed is not the daemon's.
    calm = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    factor = 2 if relay.has_sanitizer("address") else 1
    with relay.Daemon("--max-memory=32M", env={"ASAN_OPTIONS": calm}) as daemon:
        for i in range(1000):
            c = daemon.peer()
            c.create_session(name=f"s{i}", base=f"{i}/{place}")
            c.close()
        wait_until("all have ended", lambda: len(ask(
            daemon, "/api/v1/sessions?limit=1000&state=closed")[
                "sessions"]) == 1000)
        mute = []
        for i in range(64):
            s = daemon.connect(daemon.http_port)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            s.sendall(b"GET /api/v1/sessions?limit=1000 HTTP/1.1\r\n"
                      b"Host: localhost\r\n\r\n")
            mute.append(s)
        peak, until = 0, time.monotonic() + 2 * factor
        while time.monotonic() < until:
            peak = max(peak, daemon.rss())
            time.sleep(0.01)
        print(f"    {peak >> 20} MiB")
        check(peak < factor * 128 << 20, f"{peak >> 20} MiB")
        wait_until("all sessions", lambda: all_sessions(daemon) == 1000)
        for s in mute:
            s.close()


def all_sessions(daemon):
    """How many are answered; 0: who asks found no room."""
    try:
        return len(ask(daemon, "/api/v1/sessions?limit=1000")["sessions"])
    except (OSError, http.client.HTTPException):
        return 0


def slow():
    """A client that sends a byte at a time is closed after ten seconds."""
    with relay.Daemon() as daemon:
        s = daemon.connect(daemon.http_port)
        began = time.monotonic()
        try:
            while time.monotonic() - began < 20:
                s.sendall(b"G")
                time.sleep(0.2)
        except OSError:
            pass
        took = time.monotonic() - began
        check(9 < took < 19, f"closed after {took:.1f} s")


def default_port():
    """The default port may be in use; one that was asked for must not be."""
    with relay.Daemon() as first:
        port = first.http_port
        with relay.Daemon("--http=none") as second:
            check(not (second.rundir / "relayd/http.port").exists(), "none")
        try:
            relay.Daemon(f"--http=tcp://127.0.0.1:{port}")
        except relay.Failed as e:
            check("http port: cannot listen" in str(e), str(e))
        else:
            raise relay.Failed("the port was in use")


def unix_socket():
    """By a Unix socket any Host is fine; its file goes."""
    with relay.Daemon() as other:
        path = other.top / "http.sock"
        with relay.Daemon(f"--http=unix:{path}") as daemon:
            s = socket.socket(socket.AF_UNIX)
            s.connect(str(path))
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: any\r\n\r\n")
            check(s.recv(4096).startswith(b"HTTP/1.1 200"), "answer")
            s.close()
            s = socket.socket(socket.AF_UNIX)
            s.connect(str(path))
            s.sendall(b"GET /api/v1/status HTTP/1.0\r\nHost: any\r\n\r\n")
            with s.makefile("rb") as f:
                body = f.read().split(b"\r\n\r\n", 1)[1]
            equal(json.loads(body)["listeners"]["http"], {"path": str(path)},
                  "where it listens")
            s.close()
            daemon.stop()
            check(not path.exists(), "the socket stayed")


if __name__ == "__main__":
    sys.exit(relay.main())
