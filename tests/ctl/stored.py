#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tracepulse stored, vacuum and keep: with a server that has the relay's interface
for them, as what it answers can be chosen there; and with the relay."""
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import threading

sys.dont_write_bytecode = True
import program
import relay
from program import ask, pretended, run
from relay import check, equal
import looking
import retention

ENTRIES = [
    dict(path=f"box/{n}-20261122-100000", session=n.partition("#")[0],
         host="box", kind="session", begin_ns=i * 10 ** 9,
         end_ns=(i + 60) * 10 ** 9, bytes=1 << 20, kept=False, state="closed")
    for i, n in enumerate(("web", "db", "twice#1", "twice#2"))]
ENTRIES[1]["unreadable"] = True     # relays before do not say it of others


class Relay:
    """What is stored, over TCP; and on the admin socket, what changes it."""

    def __init__(self, socket_path):
        self.path = socket_path
        self.is_slow = False
        self.entries = [dict(e) for e in ENTRIES]

    def look(self, method, path, query):
        if method != "GET":
            return 405, {"error": "GET only"}
        if path == "/api/v1/status":
            return {"is_ready": True, "is_healthy": True,
                    "admin_socket": str(self.path)}
        if path != "/api/v1/stored":
            return 404, {"error": "no such path"}
        found = [e for e in self.entries
                 if query.get("host", e["host"]) == e["host"]]
        at = [e["path"] for e in found].index(query["after"]) + 1 \
            if "after" in query else 0
        page = found[at:at + 3]  # the relay may give less than is asked for
        return {"stored": page,
                "next": page[-1]["path"] if at + 3 < len(found) else None}

    def change(self, method, path, query):
        if path == "/api/v1/keep" and method == "POST":
            for e in self.entries:
                if e["path"] == query["path"]:
                    e["kept"] = query["keep"] == "1"
                    return e
            return 404, {"error": "it is not stored"}
        if path == "/api/v1/vacuum" and method == "POST":
            return self.vacuum(query["dry_run"] == "1")
        return self.look(method, path, query)

    def vacuum(self, is_dry):
        gone = [e for e in self.entries if not e["kept"]][:2]
        if not is_dry:
            self.entries = [e for e in self.entries if e not in gone]
        return {"done": not self.is_slow, "has_more": self.is_slow,
                "dry_run": is_dry, "limits": {"max_use": 2 << 20},
                "use_bytes": len(self.entries) << 20, "free_bytes": 1 << 30,
                "deleted": [dict(e, reason="max_use") for e in gone],
                "deleted_bytes": sum(e["bytes"] for e in gone)}


def both(case):
    """With the two servers of such a relay."""
    with tempfile.TemporaryDirectory() as work:
        path = pathlib.Path(work) / "admin"
        fake = Relay(path)
        with pretended(fake.change, path), \
                pretended(fake.look) as (url, _):
            case(fake, url)


def stored():
    """All pages, with sizes; those of a host."""
    def case(fake, url):
        out, _ = run(url, "stored")
        equal(len(out.splitlines()), 6, out)
        check("box/twice#2-20261122-100000" in out, out)
        check(out.endswith("4 traces, 4.0 MiB\n"), out)
        equal(re.findall(r" unreadable +(\S+)", out),
              ["box/db-20261122-100000"], out)
        equal(len(ask(url, "stored")["stored"]), 4, "JSON")
        equal(run(url, "stored", "--names")[0],
              "box/web\nbox/db\nbox/twice\nbox/twice\n", "names")
        del fake.entries[1:]
        check(run(url, "stored")[0].endswith("\n1 trace, 1.0 MiB\n"), "one")
        out, err = run(url, "stored", "--host=none")
        equal((out, "no traces are stored" in err), ("", True), err)
    both(case)


def vacuum():
    """A dry run shows and changes nothing; then they go."""
    def case(fake, url):
        out, _ = run(url, "vacuum", "--dry-run")
        check("To delete" in out and "2, 2.0 MiB" in out, out)
        equal(len(fake.entries), 4, "nothing went")
        out, _ = run(url, "vacuum")
        check("Deleted" in out and "box/web-2026" in out, out)
        equal(len(fake.entries), 2, "two went")
        fake.is_slow = True
        out, err = run(url, "vacuum", "--dry-run")
        check("and more" in out and "continues" in err, out + err)
        equal(ask(url, "vacuum", "--dry-run")["dry_run"], True, "JSON")
    both(case)


def keep():
    """By path, name, host and name; one of several only by path or --all."""
    def case(fake, url):
        for word in ("web", "box/web", "box/web-20261122-100000"):
            out, _ = run(url, "keep", word)
            check(" kept " in out, out)
            equal([e["kept"] for e in fake.entries],
                  [True, False, False, False], word)
            run(url, "keep", "--no", word)
            check(not fake.entries[0]["kept"], "not any longer")
        _, err = run(url, "keep", "twice", status=1)
        check("2 stored traces" in err and "twice#2-2026" in err, err)
        equal(len(ask(url, "keep", "twice", "--all")["stored"]), 2, "JSON")
        equal([e["kept"] for e in fake.entries],
              [False, False, True, True], "both")
        _, err = run(url, "keep", "none", status=1)
        check("no stored trace" in err, err)
    both(case)


def who_may():
    """Only on the relay's machine, and only where there is such a socket."""
    def case(fake, url):
        _, err = run("http://192.0.2.1:1", "vacuum", status=1)
        check("on the relay's own machine" in err, err)
        fake.path = ""
        _, err = run(url, "vacuum", status=1)
        check("has no admin socket" in err, err)
        fake.path = "/nowhere/admin"
        _, err = run(url, "keep", "web", status=1)
        check("/nowhere/admin" in err, err)
        fake.path = "/" + "x" * 300
        run(url, "keep", "web", status=1)
    both(case)
    if os.geteuid() != 0:
        return
    # A user who may not connect gets the reason.
    with tempfile.TemporaryDirectory() as work:
        fake = Relay(pathlib.Path(work) / "admin")
        with pretended(fake.change, fake.path), \
                pretended(fake.look) as (url, _), \
                relay.as_nobody(program.PROGRAM) as (path, nobody):
            os.chmod(fake.path, 0o600)
            os.chmod(work, 0o755)
            done = subprocess.run(
                [path, "vacuum"], capture_output=True, **nobody,
                env=program.environment(url, ASAN_OPTIONS="detect_leaks=0"))
            err = done.stderr.decode()
            equal(done.returncode, 1, err)
            check(f"{fake.path}: no permission to connect" in err, err)


def with_a_real_relay():
    """What was recorded is stored; what is kept stays, the rest goes."""
    with retention.start() as daemon:
        url = f"http://127.0.0.1:{daemon.http_port}"
        dirs = [retention.record(daemon, f"s{i}") for i in range(3)]
        retention.wait_finished(daemon, *dirs)
        out, _ = run(url, "stored")
        check("3 traces, " in out and all(p.name in out for p in dirs), out)
        for word in ("s0", "h/s1", str(dirs[2].relative_to(daemon.out))):
            check(" kept " in run(url, "keep", word)[0], word)
        retention.set_limits(daemon, keep_free="none", max_use="300k")
        looking.wait_until("the limit", lambda: re.search(
            r"^Limits +at most 300 KiB$", run(url, "status")[0], re.M))
        out, _ = run(url, "vacuum", "--dry-run")
        check(re.search(r"^To delete +nothing$", out, re.M), out)
        # The daemon looks itself, too, as soon as it may.
        run(url, "keep", "--no", "s1")
        run(url, "keep", "--no", "s2")
        run(url, "vacuum")
        retention.wait_gone(dirs[1], dirs[2])
        check(dirs[0].exists(), "a kept one is gone")
        for name, is_gone in (("s0", False), ("s1", True)):
            out, _ = run(url, "show", name)
            equal("no longer on the relay's disk" in out, is_gone, out)
            _, err = run(url, "watch", name, status=1)
            equal(("no longer on" in err, "babeltrace2" in err),
                  (is_gone, not is_gone), err)
        equal([e["session"] for e in ask(url, "stored")["stored"]], ["s0"],
              "what is left")
        _, err = run(url, "keep", "s9", status=1)
        check("no stored trace" in err, err)


def get():
    """A trace is downloaded once; what is there of it is not fetched again,
    and not taken for another trace."""
    with retention.start(http_download="on") as daemon:
        url = f"http://127.0.0.1:{daemon.http_port}"
        top, = retention.finished(daemon, 1, packets=40)
        where = daemon.top / "got"
        where.mkdir()
        tar = where / f"{top.name}.tar"
        out, _ = run(url, "get", "s0", str(where))
        check(out.startswith(str(tar)), out)
        blob = tar.read_bytes()
        with tarfile.open(tar) as t:
            names = {m.name for m in t.getmembers()}
            t.extractall(where, filter="data")
        equal(names, {str(p.relative_to(daemon.out))
                      for p in top.rglob("*") if p.is_file()}, "its files")
        equal((where / top.relative_to(daemon.out) / "ust/uid/0/64-bit/ch_0")
              .read_bytes(), (top / "ust/uid/0/64-bit/ch_0").read_bytes(),
              "the packets")
        _, err = run(url, "get", "s0", str(where), status=1)
        check("exists already" in err, err)
        entry, = retention.stored(daemon).values()
        tag = looking.get(daemon, f"/api/v1/stored/{entry['id']}/trace.tar",
                          "HEAD")[1]["ETag"].strip('"')
        for n in (0, 1, 100000, len(blob) - 1, len(blob)):
            tar.unlink()
            (where / f"{tar.name}.{tag}.part").write_bytes(b"*" * n)
            (where / f"{tar.name}.1-2-3.part").write_bytes(b"older")
            run(url, "get", entry["id"], str(where))
            check(tar.read_bytes() == b"*" * n + blob[n:], f"from {n} on")
        tar.unlink()
        part = where / f"{tar.name}.{tag}.part"
        part.write_bytes(blob + b"*")
        _, err = run(url, "get", "s0", str(where), status=1)
        check(f"{part} is longer" in err, err)
        _, err = run(url, "get", "s0", "/nowhere", status=1)
        check("/nowhere" in err and "No such file" in err, err)
        _, err = run(url, "get", "s7", status=1)
        check("no stored trace" in err, err)
        is_open = relay.Session(daemon, "open")
        looking.wait_until("noted", lambda: len(retention.stored(daemon)) == 2)
        _, err = run(url, "get", "open", str(where), status=1)
        check("still being recorded" in err, err)
        is_open.leave()
        retention.set_limits(daemon, http_download="off")
        looking.wait_until("off", lambda: "downloads are off" in run(
            url, "get", "s0", str(where), status=1)[1])


def get_what_ends_early():
    """A download that breaks off is no trace, and is continued."""
    whole = bytes(range(256)) * 1000

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path.startswith("/api/v1/stored?"):
                body, code = json.dumps({"next": None, "stored": [
                    dict(ENTRIES[0], id="1-2")]}).encode(), 200
                most = len(body)
            else:
                text = self.headers["Range"] or "bytes=0-"
                first, last = text[6:].split("-")
                code = 206 if self.headers["Range"] else 200
                body = whole[int(first):int(last or len(whole)) + 1]
                most = 100000
            self.send_response(code)
            self.send_header("ETag", '"1-2-3"')
            self.send_header("Content-Length", len(body))
            self.send_header(
                "Content-Range", f"bytes 0-0/{len(whole)}")
            self.end_headers()
            self.wfile.write(body[:most])

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    with tempfile.TemporaryDirectory() as work:
        tar = pathlib.Path(work) / "web-20261122-100000.tar"
        for _ in range(2):
            _, err = run(url, "get", "web", work, status=1)
            check("not complete; to continue, run" in err, err)
            check(not tar.exists(), "it looks complete")
        run(url, "get", "web", work)
        equal(tar.read_bytes() == whole, True, "in three parts")
        equal([p.name for p in tar.parent.iterdir()], [tar.name], "files")
    server.shutdown()
    server.server_close()


CASES = [get, get_what_ends_early, stored, vacuum, keep, who_may, with_a_real_relay]


if __name__ == "__main__":
    sys.exit(relay.run(CASES, sys.argv[1:]))
