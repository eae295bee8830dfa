#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Retention: what is finished goes, the oldest first, and nothing else does,
whatever others put in the way."""
import http.client
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse
import zlib

sys.dont_write_bytecode = True
import relay
import small_disk
import viewer
from looking import ask, get, metrics, wait_until
from relay import NOTES, check, equal



class Unix(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=relay.TIMEOUT)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def admin(daemon):
    return daemon.rundir / "relayd/admin"


def order(daemon, url, status=200, method="POST", /, **query):
    """The JSON of an answer on the admin socket."""
    c = Unix(admin(daemon))
    c.request(method, url + ("?" + urllib.parse.urlencode(query)
                             if query else ""))
    r = c.getresponse()
    body = r.read()
    c.close()
    equal(r.status, status, f"{method} {url} {query}: {body}")
    return json.loads(body) if body.startswith(b"{") else body


def record(daemon, name, packets=4, size=65536, **fields):
    """A finished session; its directory."""
    s = relay.Session(daemon, name, **fields)
    for _ in range(packets):
        s.packet(size - 96, 96)
    s.finish()
    return daemon.out / s.path


def stored(daemon, **query):
    """path -> entry"""
    text = "?" + urllib.parse.urlencode(query) if query else ""
    return {e["path"]: e
            for e in ask(daemon, "/api/v1/stored" + text)["stored"]}


def wait_finished(daemon, *paths):
    names = [str(p.relative_to(daemon.out)) for p in paths]
    wait_until("finished", lambda: all(
        stored(daemon).get(n, {}).get("state") == "finished" and
        stored(daemon)[n]["bytes"] > 0 for n in names))


def set_limits(daemon, **limits):
    """By a reload, as a sysadmin does it."""
    with open(daemon.top / "conf", "w", encoding="utf-8") as f:
        f.write("[relayd]\n" + "".join(
            f"{k.replace('_', '-')} = {v}\n" for k, v in limits.items()))
    daemon.process.send_signal(signal.SIGHUP)


def start(**limits):
    """With a file of settings that set_limits() writes anew."""
    daemon = relay.Daemon("-v")
    daemon.stop()
    daemon.is_stopped = False
    daemon.command += ["-f", str(daemon.top / "conf")]
    daemon.environment.pop("TRACEPULSE_KEEP_FREE", None)
    with open(daemon.top / "conf", "w", encoding="utf-8") as f:
        f.write("[relayd]\nkeep-free = none\n" + "".join(
            f"{k.replace('_', '-')} = {v}\n" for k, v in limits.items()))
    daemon.start_again()
    return daemon


def wait_gone(*paths):
    wait_until(f"{[p.name for p in paths]} gone",
               lambda: not any(p.exists() for p in paths))


def oldest_first():
    """--max-use, set by a reload; the newest stays, and is whole."""
    with start() as daemon:
        dirs = []
        for i in range(5):
            dirs.append(record(daemon, f"s{i}"))
            wait_finished(daemon, dirs[-1])
        sizes = {str(p.relative_to(daemon.out)): p for p in dirs}
        for name, e in stored(daemon).items():
            check(4 * 65536 < e["bytes"] < 4 * 65536 + 65536, f"{e}")
            equal(e["kind"], "session", name)
            check(e["session"].startswith("s") and e["host"] == "h", name)
            check(e["begin_ns"] < e["end_ns"], "times")
        equal(set(stored(daemon)), set(sizes), "what is stored")
        dry = order(daemon, "/api/v1/vacuum", dry_run=1)
        equal((dry["deleted"], dry["dry_run"]), ([], True), "no limits")
        set_limits(daemon, keep_free="none", max_use=700 << 10)
        wait_gone(*dirs[:3])
        time.sleep(1.2)
        check(all(p.exists() for p in dirs[3:]), "too much is deleted")

        def are_counted():
            figures = metrics(daemon)
            return (figures['tracepulse_deleted_total{reason="max_use"}'] == 3
                    and figures["tracepulse_trace_bytes"] < 700 << 10)
        wait_until("counted", are_counted)
        check(metrics(daemon)[
            'tracepulse_deleted_bytes_total{reason="max_use"}'] >
              3 * 4 * 65536, "bytes")
        disk = ask(daemon, "/api/v1/status")["disk"]
        equal(disk["limits"]["max_use"], 700 << 10, "limit")
        wait_until("summary", lambda: ask(daemon, "/api/v1/status")["disk"][
            "oldest"]["path"] == str(dirs[3].relative_to(daemon.out)))
        equal(daemon.log_text().count("reason=max_use"), 3, "lines")
        check(not list(daemon.out.rglob(".tracepulse-deleted*")), "rests")


def active_stays():
    """What goes on is never deleted, however much it uses."""
    with start(max_use="100k") as daemon:
        s = relay.Session(daemon, "goes-on")
        for _ in range(8):
            s.packet(65440, 96)
        s.wait_written()
        old = record(daemon, "old")
        wait_gone(old)
        wait_until("use", lambda: metrics(daemon)["tracepulse_trace_bytes"] >
                   8 * 65536)
        entry = stored(daemon)[s.path]
        equal((entry["state"], entry["end_ns"]), ("active", 0), "state")
        s.packet()
        s.finish()
        wait_gone(daemon.out / s.path)
        wait_until("nothing", lambda: stored(daemon) == {})
        wait_until("no notes", lambda: not (daemon.out / NOTES).exists())


def a_viewer_reads_on():
    """A live session that has ended stays as long as a viewer has not read it
    all, or is gone."""
    with start() as daemon:
        s = viewer.Live(daemon, "live")
        for _ in range(3):
            s.packet()
        s.wait_written()
        v = viewer.Viewer(daemon)
        v.connect()
        v.create()
        session = v.find("live")
        v.attach(session.id)
        s.finish()
        top = daemon.out / s.path
        set_limits(daemon, keep_free="none", max_use="1k")
        time.sleep(3)
        check((top / "ust").exists(), "deleted under a viewer")
        equal(stored(daemon)[s.path]["state"], "active", "its state")
        v.close()
        wait_gone(top)


def kept():
    """Who is kept stays, over a restart too, until it is told otherwise."""
    with start() as daemon:
        dirs = [record(daemon, f"s{i}") for i in range(3)]
        wait_finished(daemon, *dirs)
        name = str(dirs[0].relative_to(daemon.out))
        equal(order(daemon, "/api/v1/keep", path=name, keep=1)["kept"], True,
              "kept")
        order(daemon, "/api/v1/keep", 404, path="h/none", keep=1)
        order(daemon, "/api/v1/keep", 400, keep=1)
        order(daemon, "/api/v1/keep", 400, path=name, keep="x")
        order(daemon, "/api/v1/keep", 405, "GET", path=name)
        order(daemon, "/api/v1/vacuum", 400)
        order(daemon, "/api/v1/status", 405)
        daemon.kill()
        daemon.start_again()
        equal(stored(daemon)[name]["kept"], True, "after a kill")
        set_limits(daemon, keep_free="none", max_use="1k")
        wait_gone(*dirs[1:])
        time.sleep(1.2)
        check(dirs[0].exists(), "a kept one is deleted")
        order(daemon, "/api/v1/keep", path=name, keep=0)
        wait_gone(dirs[0])


def dry_run():
    """It says what would go, and nothing goes; the real one says the same."""
    with start() as daemon:
        dirs = [record(daemon, f"s{i}") for i in range(4)]
        wait_finished(daemon, *dirs)
        names = [str(p.relative_to(daemon.out)) for p in dirs]
        order(daemon, "/api/v1/keep", path=names[0], keep=1)
        # A limit that holds only while the daemon does not look: stopped.
        for name in names[1:]:
            order(daemon, "/api/v1/keep", path=name, keep=1)
        set_limits(daemon, keep_free="none", max_use="600k")
        wait_until("limit", lambda: ask(daemon, "/api/v1/status")["disk"].get(
            "limits", {}).get("max_use") == 600 << 10)
        for name in names[1:]:
            order(daemon, "/api/v1/keep", path=name, keep=0)
        answer = order(daemon, "/api/v1/vacuum", dry_run=0)
        equal((answer["dry_run"], answer["done"]), (False, True), "answer")
        wait_gone(dirs[1], dirs[2])
        check(dirs[0].exists() and dirs[3].exists(), "too much")
        # Of so much never all is free.
        set_limits(daemon, keep_free=shutil.disk_usage(daemon.out).total,
                   max_use="600k")
        for e in answer["deleted"]:
            equal(e["reason"], "max_use", "reason")
        wait_gone(dirs[3])
        dry = order(daemon, "/api/v1/vacuum", dry_run=1)
        equal(dry["deleted"], [], "kept ones are not in it")


def max_age():
    with start() as daemon:
        old = record(daemon, "old")
        wait_finished(daemon, old)
        time.sleep(2)
        began = time.monotonic()
        young = record(daemon, "young")
        wait_finished(daemon, young)
        set_limits(daemon, keep_free="none", max_age="3s")
        wait_gone(old)
        check(young.exists() or time.monotonic() - began > 3,
              "it is too young")
        wait_gone(young)


def replaced(put):
    """Something else stands where a noted directory was."""
    with start() as daemon:
        dirs = [record(daemon, f"s{i}") for i in range(3)]
        wait_finished(daemon, *dirs)
        aside = daemon.top / "aside"
        precious = daemon.top / "precious"
        precious.mkdir()
        (precious / "file").write_text("mine")
        dirs[0].rename(aside)
        put(dirs[0], precious)
        set_limits(daemon, keep_free="none", max_use="1k")
        wait_gone(dirs[1], dirs[2])
        wait_until("forgotten", lambda: stored(daemon) == {})
        check((precious / "file").read_text() == "mine", "harmed")
        check(os.path.lexists(dirs[0]), "what stands there was deleted")
        check((aside / "ust").exists(), "what was moved was deleted")


def by_a_link():
    replaced(lambda at, precious: at.symlink_to(precious))


def by_a_directory():
    def put(at, precious):
        at.mkdir()
        (at / "mine").write_text("mine")
    replaced(put)


def by_a_file():
    replaced(lambda at, precious: at.write_text("mine"))


def by_a_parent_that_is_a_link():
    """The host's folder is replaced by a link to a copy elsewhere."""
    with start() as daemon:
        dirs = [record(daemon, f"s{i}") for i in range(2)]
        wait_finished(daemon, *dirs)
        away = daemon.top / "away"
        (daemon.out / "h").rename(away)
        (daemon.out / "h").symlink_to(away)
        set_limits(daemon, keep_free="none", max_use="1k")
        wait_until("forgotten", lambda: stored(daemon) == {})
        equal(len(list(away.iterdir())), 2, "what was moved")


def links_inside():
    """A link in a session's directory goes, what it points to stays."""
    with start() as daemon:
        one = record(daemon, "one")
        precious = daemon.top / "precious"
        precious.mkdir()
        (precious / "file").write_text("mine")
        (one / "link").symlink_to(precious)
        (one / "ust/file").symlink_to(precious / "file")
        deep = one
        for i in range(60):
            deep = deep / f"d{i}"
        deep.mkdir(parents=True)
        (deep / "link").symlink_to("/")
        wait_finished(daemon, one)
        set_limits(daemon, keep_free="none", max_use="1k")
        wait_gone(one)
        check((precious / "file").read_text() == "mine", "harmed")


def not_ours():
    """What the relay did not make is never deleted: a directory that was
    there, and all that is beside."""
    with start(max_use="1k") as daemon:
        empty = daemon.out / "h/mine"
        empty.mkdir(parents=True)
        (daemon.out / "h/other").mkdir()
        (daemon.out / "h/other/file").write_text("mine")
        at = record(daemon, "base", base="mine")
        equal(at, empty, "an empty directory is used")
        gone = record(daemon, "noted")
        wait_gone(gone)
        time.sleep(1.2)
        check(at.exists() and (at / "ust").exists(), "not ours")
        check((daemon.out / "h/other/file").exists(), "not ours")


def names_like_notes():
    """A peer that calls itself as the relay's own files."""
    with start() as daemon:
        for name in (NOTES, NOTES + ".new", NOTES + ".2",
                     ".tracepulse-journal.0123456789abcdef"):
            c = daemon.control()
            c.version()
            check(c.create_session(name="x", host=name)[1] != relay.OK, name)
            c.close()
            check(not (daemon.out / name).exists(), name)
        first = record(daemon, "first")
        wait_finished(daemon, first)
        daemon.stop()
        daemon.is_stopped = False
        daemon.start_again()
        check(str(first.relative_to(daemon.out)) in stored(daemon), "notes")
        set_limits(daemon, keep_free="none", max_use="1k")
        wait_gone(first)


def damaged_notes():
    """Torn and forged lines are skipped, the others count."""
    with start() as daemon:
        dirs = [record(daemon, f"s{i}") for i in range(3)]
        wait_finished(daemon, *dirs)
        before = stored(daemon)
        daemon.kill()
        notes = daemon.out / NOTES
        lines = notes.read_bytes().splitlines(keepends=True)
        at = lines.index(next(x for x in lines if b"s1" in x))
        lines[at] = lines[at].replace(b"s1", b"sX")     # not its checksum
        lines.insert(2, b"00000000 d 0 1 1 1 ../../etc h s\n")
        lines.insert(2, b"x" * 100000 + b"\n")
        lines.insert(2, bytes(range(256)))
        notes.write_bytes(b"".join(lines) + lines[1][:20])
        daemon.start_again()
        now = stored(daemon)
        gone = str(dirs[1].relative_to(daemon.out))
        equal(set(now), set(before) - {gone}, "after the damage")
        set_limits(daemon, keep_free="none", max_use="1k")
        wait_gone(dirs[0], dirs[2])
        check(dirs[1].exists(), "it is not noted any more")


def foreign_notes():
    """A file of notes that is none: a directory, a link, another version."""
    for make in (lambda p: p.mkdir(),
                 lambda p: p.symlink_to("/etc/passwd"),
                 lambda p: p.write_text("tracepulse-notes 9\n")):
        with start() as daemon:
            daemon.stop()
            daemon.is_stopped = False
            make(daemon.out / NOTES)
            daemon.start_again()
            one = record(daemon, "one")
            wait_finished(daemon, one)
            check((daemon.out / (NOTES + ".2")).exists(), "no notes")
            check(f"{NOTES} is not used" in daemon.log_text(), "not told")
            set_limits(daemon, keep_free="none", max_use="1k")
            wait_gone(one)
            check(os.path.lexists(daemon.out / NOTES), "it was removed")


def two_relays():
    """They share an output directory: each deletes its own; one that has ended
    leaves its notes to the other."""
    with start() as first:
        mine = record(first, "mine")
        wait_finished(first, mine)
        second = relay.Daemon("-v", "--keep-free=none")
        with second:
            second.stop()
            second.is_stopped = False
            second.command[second.command.index("-o") + 1] = str(first.out)
            second.out = first.out
            second.start_again()
            other = record(second, "other")
            wait_finished(second, other)
            check((first.out / (NOTES + ".2")).exists(), "a file each")
            set_limits(first, keep_free="none", max_use="1k")
            wait_gone(mine)
            time.sleep(1.2)
            check(other.exists(), "it is another relay's")
            second.kill()
            first.stop()
            first.is_stopped = False
            first.start_again()
            wait_gone(other)
            second.start_again()
            wait_until("both are told", lambda: first.log_text().count(
                "reason=max_use") == 2)


def chunks():
    """Archived chunks go, oldest first; the session that goes on stays, and
    with its last chunk it goes whole."""
    with start() as daemon:
        s = relay.Session(daemon, "rotated")
        top = daemon.out / s.path
        for n in range(1, 5):
            for _ in range(4):
                s.packet(65440, 96)
            s.wait_written()
            equal(s.control.create_chunk(n, 1_800_000_000 + n), relay.OK,
                  "chunk")
            equal(s.control.rotate(n, (s.stream, s.seq), (s.meta, 0)), relay.OK, "rotate")
            equal(s.control.close_chunk(n - 1, 0)[0], relay.OK, "close")
        wait_until("archives", lambda: len(
            list((top / "archives").iterdir())) == 4)
        archives = sorted((top / "archives").iterdir())
        wait_finished(daemon, *archives)
        kinds = [e["kind"] for e in stored(daemon).values()]
        equal(sorted(kinds), ["chunk"] * 4 + ["session"], "kinds")
        keep = archives[1]
        order(daemon, "/api/v1/keep", path=str(keep.relative_to(daemon.out)))
        set_limits(daemon, keep_free="none", max_use="600k")
        wait_gone(archives[0], archives[2])
        time.sleep(1.2)
        check(archives[1].exists() and archives[3].exists(), "too much")
        s.packet()
        s.wait_written()
        s.control.close()
        s.data.close()
        wait_finished(daemon, top)
        set_limits(daemon, keep_free="none", max_use="1k")
        wait_gone(archives[3])
        time.sleep(1.2)
        check(keep.exists(), "kept")
        order(daemon, "/api/v1/keep", keep=0,
              path=str(keep.relative_to(daemon.out)))
        wait_gone(top)


def snapshots():
    """Finished snapshots go one by one, and their session at last."""
    with start() as daemon:
        for n in range(3):
            c = daemon.control()
            c.version()
            _, code, path = c.create_session(
                name="snap", snapshot=1, uuid=bytes([n + 1]) * 16)
            equal(code, relay.OK, "session")
            equal(c.create_chunk(0, name=f"snapshot-{n}"), relay.OK, "chunk")
            handle, code = c.add_stream("ch")
            equal(code, relay.OK, "stream")
            d = daemon.data()
            d.packet(handle, 0, b"p" * 65536)
            time.sleep(0.05)
            equal(c.close_stream(handle, 0), relay.OK, "close")
            equal(c.close_chunk(0)[0], relay.OK, "close")
            c.close()
            d.close()
            wait_finished(daemon, daemon.out / path / f"snapshot-{n}")
        top = daemon.out / path
        wait_finished(daemon, top)
        equal(sorted(e["kind"] for e in stored(daemon).values()),
              ["session"] + ["snapshot"] * 3, "kinds")
        set_limits(daemon, keep_free="none", max_use="160k")
        wait_gone(top / "snapshot-0")
        time.sleep(1.2)
        check((top / "snapshot-2").exists(), "too much")
        set_limits(daemon, keep_free="none", max_use="1k")
        wait_gone(top)


def removed_by_hand():
    """A directory that somebody removed or renamed falls out."""
    with start() as daemon:
        dirs = [record(daemon, f"s{i}") for i in range(3)]
        wait_finished(daemon, *dirs)
        shutil.rmtree(dirs[0])
        dirs[1].rename(dirs[1].with_name("renamed"))
        wait_until("fell out", lambda: set(stored(daemon)) == {
            str(dirs[2].relative_to(daemon.out))})
        set_limits(daemon, keep_free="none", max_use="1k")
        wait_gone(dirs[2])
        check(dirs[1].with_name("renamed").exists(), "it is somebody's")


def killed():
    """After kill -9 in the middle of deleting, the next start goes on."""
    with start() as daemon:
        dirs = [record(daemon, f"s{i}", packets=1) for i in range(12)]
        for top in dirs:
            for i in range(300):
                (top / f"file{i}").write_text("x")
        wait_finished(daemon, *dirs)
        for _ in range(6):
            set_limits(daemon, keep_free="none", max_use="1k")
            time.sleep(0.03)
            daemon.kill()
            left = [p for p in dirs if p.exists()]
            with open(daemon.top / "conf", "w", encoding="utf-8") as f:
                f.write("[relayd]\nkeep-free = none\n")
            daemon.start_again()
            stored(daemon)      # its notes are read
            for p in left:
                check(p.exists(), "deleted without a limit")
        set_limits(daemon, keep_free="none", max_use="1k")
        wait_gone(*dirs)
        wait_until("all", lambda: not list(daemon.out.glob("*/.*")))
        wait_until("no notes", lambda: not (daemon.out / NOTES).exists())


def output_removed():
    """The output directory is removed: what is made again is noted again."""
    with start() as daemon:
        one = record(daemon, "one")
        wait_finished(daemon, one)
        relay.remove(daemon.out)
        two = record(daemon, "two")
        wait_finished(daemon, two)
        equal(set(stored(daemon)), {str(two.relative_to(daemon.out))}, "new")
        set_limits(daemon, keep_free="none", max_use="1k")
        wait_gone(two)


def pages():
    with start() as daemon:
        for i in range(7):
            record(daemon, f"s{i}", packets=1, host=f"h{i % 2}")
        wait_until("all", lambda: len(stored(daemon)) == 7)
        seen, after = [], 0
        while after is not None:
            page = ask(daemon, f"/api/v1/stored?limit=3&after={after}")
            seen += [e["path"] for e in page["stored"]]
            after = page["next"]
        equal(len(set(seen)), 7, "pages")
        equal(len(stored(daemon, host="h1")), 3, "one host")
        status = ask(daemon, "/api/v1/status")
        equal(status["admin_socket"], str(admin(daemon)), "admin socket")
        equal(admin(daemon).stat().st_mode & 0o777, 0o600, "its mode")
        daemon.stop()
        check(not admin(daemon).exists(), "the admin socket stayed")


def bad_orders():
    """Who gives orders as he should not gets a clear answer; who leaves before
    his, no harm. On the port nobody gives any."""
    def say(text):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(relay.TIMEOUT)
            s.connect(str(admin(daemon)))
            s.sendall(text + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            return int(s.recv(65536).split(b" ")[1])

    with start() as daemon:
        for text, want in (
                (b"POST /api/v1/vacuum?dry_run=1", 200),
                (b"POST /api/v1/vacuum?dry_run=2", 400),
                (b"POST /api/v1/vacuum", 400),
                (b"GET /api/v1/vacuum?dry_run=1", 405),
                (b"DELETE /api/v1/keep?path=h/a", 405),
                (b"POST /api/v1/keep?path=%00&keep=1", 400),
                (b"POST /api/v1/keep?path=../../etc&keep=1", 404),
                (b"POST /api/v1/keep?path=" + b"a" * 5000, 400),
                (b"POST /api/v1/keep?path=" + b"a" * 9000, 400),
                (b"POST /api/v1/none", 405),
                (b"GET /api/v1/stored?limit=0", 400)):
            equal(say(text), want, text[:40])
        for _ in range(50):
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(str(admin(daemon)))
                s.sendall(b"POST /api/v1/vacuum?dry_run=0 HTTP/1.1\r\n"
                          b"Host: x\r\n\r\n")
        equal(get(daemon, "/api/v1/vacuum?dry_run=0", "POST")[0], 405, "port")
        equal(get(daemon, "/api/v1/vacuum?dry_run=0")[0], 404, "port")
        equal(get(daemon, "/api/v1/keep?path=x&keep=1")[0], 404, "port")
        equal(order(daemon, "/api/v1/vacuum", dry_run=1)["deleted"], [], "end")


def a_full_disk():
    """With no room at all not even notes can be written: what is finished goes
    all the same, /readyz says when there is room again, and recording goes
    on."""
    def case(daemon):
        dirs = [record(daemon, f"s{i}", packets=24) for i in range(3)]
        wait_finished(daemon, *dirs)
        s = relay.Session(daemon, "goes-on")
        s.packet()
        s.wait_written()
        small_disk.fill(daemon)
        wait_until("not ready", lambda: get(daemon, "/readyz")[0] == 503)
        check(b"disk full" in get(daemon, "/readyz")[2], "the reason")
        check(all(p.exists() for p in dirs), "deleted without a limit")
        answer = order(daemon, "/api/v1/vacuum", dry_run=0)
        equal(answer["deleted"], [], "without a limit")
        daemon.command += ["-f", str(daemon.top / "conf")]
        daemon.kill()
        with open(daemon.top / "conf", "w", encoding="utf-8") as f:
            f.write("[relayd]\nkeep-free = 2M\n")
        daemon.environment.pop("TRACEPULSE_KEEP_FREE")
        daemon.start_again()
        wait_gone(*dirs[:2])
        time.sleep(1.2)
        check(dirs[2].exists(), "more than was asked for")
        wait_until("ready", lambda: get(daemon, "/readyz")[0] == 200)
        record(daemon, "after")
        wait_until("noted", lambda: len(stored(daemon)) == 3)
        for c in (s.control, s.data):
            c.close()
    small_disk.run(case)


def forge(daemon, n):
    """Notes of N finished sessions, whose directories are there, as a relay
    that was here before has written them."""
    daemon.stop()
    daemon.is_stopped = False
    paths = [f"h/old-{i}" for i in range(n)]
    for path in paths:
        ust = daemon.out / path / "ust"
        ust.mkdir(parents=True)
        for name in ("a", "b"):
            (ust / name).write_bytes(b"x" * 5000)
    ids = subprocess.run(
        ["xargs", "stat", "-c", "%i %.9W"], cwd=daemon.out, check=True,
        input="\n".join(paths), capture_output=True, text=True).stdout.split()
    write_notes(daemon, [
        (path, ids[2 * i], int(ids[2 * i + 1].replace(".", "")))
        for i, path in enumerate(paths)])


def write_notes(daemon, entries):
    with open(daemon.out / NOTES, "wb") as f:
        f.write(b"tracepulse-notes 1\n")
        for i, (path, ino, born) in enumerate(entries):
            for body in (f"d 0 {ino} {born} {i + 1} {path} h old",
                         f"e {ino} {born} {i + 2} 20480"):
                f.write(b"%08x %s\n" % (zlib.crc32(body.encode()),
                                        body.encode()))
    os.chmod(daemon.out / NOTES, 0o600)


def round_trips(session, until):
    """How long packets take until they count as written, in ms."""
    took = []
    while not until():
        began = time.monotonic()
        session.data.packet(session.stream, session.seq, bytes(4096))
        equal(session.control.index(session.stream, session.seq, 4096),
              relay.OK, "SEND_INDEX")
        while session.control.pending(session.stream, session.seq) != 0:
            pass
        session.seq += 1
        took.append((time.monotonic() - began) * 1000)
        time.sleep(0.002)
    return sorted(took)


def a_neighbour_is_not_delayed():
    """While thousands of directories are deleted, who records does not feel
    it."""
    n = 10000 if os.environ.get("TP_TEST_LONG") else 2000
    with start() as daemon:
        forge(daemon, n)
        daemon.start_again()
        equal(len(ask(daemon, "/api/v1/stored?limit=1000")["stored"]), 1000,
              "noted")
        s = relay.Session(daemon, "neighbour")

        def quiet():
            until = time.monotonic() + 3
            return round_trips(s, lambda: time.monotonic() > until)
        before = quiet()
        set_limits(daemon, keep_free="none", max_age="1m")
        began = time.monotonic()
        left = [daemon.out / f"h/old-{i}" for i in range(n)]

        def is_done():
            while left and not left[0].exists():
                left.pop(0)
            check(time.monotonic() - began < 120, f"{len(left)} are left")
            return not left
        during = round_trips(s, is_done)
        took, after = time.monotonic() - began, quiet()
        print(f"deleted {n} directories in {took:.1f} s; a packet "
              "took, in ms: " + ", ".join(
                  f"{what} {statistics.median(all):.2f} (99 %: "
                  f"{all[len(all) * 99 // 100]:.2f}, most {all[-1]:.2f})"
                  for what, all in (("before", before), ("meanwhile", during),
                                    ("after", after))))
        usual = max(statistics.median(before), statistics.median(after))
        check(statistics.median(during) < 2 * usual + 10, "it is felt")
        s.control.close()
        s.data.close()


def many_at_the_start():
    """With notes of 100,000 directories it listens in time."""
    with start() as daemon:
        daemon.stop()
        daemon.is_stopped = False
        write_notes(daemon, [(f"h/old-{i}", i + 1, 1) for i in range(100000)])
        began = time.monotonic()
        daemon.start_again()
        took = time.monotonic() - began
        print(f"listens after {took:.2f} s, {daemon.rss() >> 20} MiB")
        check(took < 10, f"it listens after {took:.2f} s")
        page = ask(daemon, "/api/v1/stored?limit=1000&after=50000")
        equal(len(page["stored"]), 1000, "a page")


CASES = [oldest_first, active_stays, a_viewer_reads_on, kept, dry_run,
         max_age, by_a_link,
         by_a_directory, by_a_file, by_a_parent_that_is_a_link, links_inside,
         not_ours, names_like_notes, damaged_notes, foreign_notes, two_relays,
         chunks, snapshots, removed_by_hand, killed, output_removed, pages,
         bad_orders, a_full_disk, a_neighbour_is_not_delayed, many_at_the_start]


if __name__ == "__main__":
    sys.exit(relay.run(CASES, sys.argv[1:]))
