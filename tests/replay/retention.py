#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Retention: what is finished goes, the oldest first, and nothing else does,
whatever others put in the way."""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
import ctf
import relay
import small_disk
import viewer
from looking import ask, get, metrics, wait_until
from relay import check, equal



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
    """The stored traces: {path: entry}."""
    text = "?" + urllib.parse.urlencode(query) if query else ""
    return {e["path"]: e
            for e in ask(daemon, "/api/v1/stored" + text)["stored"]}


def wait_finished(daemon, *paths):
    names = [str(p.relative_to(daemon.out)) for p in paths]
    wait_until("finished", lambda: all(
        stored(daemon).get(n, {}).get("state") == "finished" and
        stored(daemon)[n]["bytes"] > 0 for n in names))


def finished(daemon, count, **how):
    """The directories of so many sessions."""
    dirs = [record(daemon, f"s{i}", **how) for i in range(count)]
    wait_finished(daemon, *dirs)
    return dirs


def write_settings(daemon, **limits):
    """What is young goes, too, unless LIMITS say otherwise."""
    limits = {"keep_at_least": "0s", **limits}
    with open(daemon.top / "conf", "w", encoding="utf-8") as f:
        f.write("[relayd]\n" + "".join(
            f"{k.replace('_', '-')} = {v}\n" for k, v in limits.items()))


def set_limits(daemon, **limits):
    """By a reload, as a sysadmin does it."""
    write_settings(daemon, **limits)
    daemon.process.send_signal(signal.SIGHUP)


def start(**limits):
    """With a file of settings that set_limits() writes anew."""
    daemon = relay.Daemon("-v")
    daemon.stop()
    daemon.command += ["-f", str(daemon.top / "conf")]
    write_settings(daemon, **limits)
    daemon.start_again()
    return daemon


def wait_gone(*paths):
    wait_until(f"{[p.name for p in paths]} gone",
               lambda: not any(p.exists() for p in paths))


def stay(*paths):
    """For longer than retention takes to look."""
    time.sleep(1.2)
    for path in paths:
        check(path.exists(), f"{path} is deleted")


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
        set_limits(daemon, max_use="700k")
        wait_gone(*dirs[:3])
        stay(*dirs[3:])

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
    """What goes on is never deleted, however much it uses; nor is the history,
    if that would not be enough."""
    with start() as daemon:
        old = record(daemon, "old")
        wait_finished(daemon, old)
        s = relay.Session(daemon, "goes-on")
        s.packets(8, 65440, 96)
        set_limits(daemon, max_use="400k")
        daemon.wait_log("--max-use of 409600 bytes cannot be "
                        "reached, so nothing is deleted")
        stay(old)
        equal(daemon.log_text().count("cannot be reached"), 1, "warnings")
        equal(order(daemon, "/api/v1/vacuum", dry_run=1)["deleted"], [], "dry")
        entry = stored(daemon)[s.path]
        equal((entry["state"], entry["end_ns"]), ("active", 0), "state")
        s.packet()
        s.finish()
        wait_gone(old, daemon.out / s.path)
        wait_until("nothing", lambda: stored(daemon) == {})
        equal(list(daemon.out.glob(".*")), [], "files of the relay")


def a_viewer_reads_on():
    """A live session that has ended stays as long as a viewer has not read it
    all, or is gone."""
    with start() as daemon:
        s = viewer.Live(daemon, "live")
        s.packets(3)
        v = viewer.greeted(daemon)
        v.create()
        session = v.find("live")
        v.attach(session.id)
        s.finish()
        top = daemon.out / s.path
        set_limits(daemon, max_use="1k")
        time.sleep(3)
        check((top / "ust").exists(), "deleted under a viewer")
        equal(stored(daemon)[s.path]["state"], "active", "its state")
        v.close()
        wait_gone(top)


def kept():
    """A trace that is kept stays, also over a restart, until it is released."""
    with start() as daemon:
        dirs = finished(daemon, 3)
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
        set_limits(daemon, max_use="300k")
        wait_gone(*dirs[1:])
        stay(dirs[0])
        order(daemon, "/api/v1/keep", path=name, keep=0)
        set_limits(daemon, max_use="1k")
        wait_gone(dirs[0])


def dry_run():
    """It says what would go, and nothing goes; the real one says the same."""
    with start() as daemon:
        dirs = finished(daemon, 4)
        names = [str(p.relative_to(daemon.out)) for p in dirs]
        order(daemon, "/api/v1/keep", path=names[0], keep=1)
        # A limit that holds only while the daemon does not look: stopped.
        for name in names[1:]:
            order(daemon, "/api/v1/keep", path=name, keep=1)
        set_limits(daemon, max_use="600k")
        wait_until("limit", lambda: ask(daemon, "/api/v1/status")["disk"].get(
            "limits", {}).get("max_use") == 600 << 10)
        for name in names[1:]:
            order(daemon, "/api/v1/keep", path=name, keep=0)
        answer = order(daemon, "/api/v1/vacuum", dry_run=0)
        equal((answer["dry_run"], answer["done"]), (False, True), "answer")
        wait_gone(dirs[1], dirs[2])
        check(dirs[0].exists() and dirs[3].exists(), "too much")
        set_limits(daemon, max_use="300k")
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
        set_limits(daemon, max_age="3s")
        wait_gone(old)
        check(young.exists() or time.monotonic() - began > 3,
              "it is too young")
        wait_gone(young)


def replaced(put):
    """Something else stands where a noted directory was."""
    with start() as daemon:
        dirs = finished(daemon, 3)
        aside = daemon.top / "aside"
        precious = daemon.top / "precious"
        precious.mkdir()
        (precious / "file").write_text("mine")
        dirs[0].rename(aside)
        put(dirs[0], precious)
        set_limits(daemon, max_use="1k")
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
        finished(daemon, 2)
        away = daemon.top / "away"
        (daemon.out / "h").rename(away)
        (daemon.out / "h").symlink_to(away)
        set_limits(daemon, max_use="1k")
        wait_until("forgotten", lambda: stored(daemon) == {})
        equal(len(list(away.iterdir())), 2, "what was moved")


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
        stay(at, at / "ust")
        check((daemon.out / "h/other/file").exists(), "not ours")


def names_like_notes():
    """A peer that calls itself as the relay's own files."""
    with start() as daemon:
        for name in (".tracepulse-notes", ".tracepulse-journal.0123456789abcdef"):
            c = daemon.peer()
            c.create_session(name="x", host=name, want=relay.FATAL)
            c.close()
            check(not (daemon.out / name).exists(), name)
        first = record(daemon, "first")
        wait_finished(daemon, first)
        daemon.stop()
        daemon.start_again()
        check(str(first.relative_to(daemon.out)) in stored(daemon), "notes")
        set_limits(daemon, max_use="1k")
        wait_gone(first)


def damaged_notes():
    """Forged rows are skipped, the others count; without its pages the file is
    refused, and stays."""
    with start() as daemon:
        dirs = finished(daemon, 3)
        before = stored(daemon)
        daemon.kill()
        with contextlib.closing(sqlite3.connect(daemon.notes())) as db, db:
            db.executemany(
                "INSERT INTO directories VALUES(?,1,?,1,1,1,0,?,?,?,?)",
                [(1, 0, "../../etc", "h/x", "", ""),
                 (2, 0, "h/x", "/etc", "", ""),
                 (3, 0, "", "h/x", "", ""),
                 (4, 9, "h/x", "h/x", "", ""),
                 (5, "x", "h/" + "x" * 100000, bytes(range(256)), 1.5, None),
                 (6, None, None, None, None, None)])
        daemon.start_again()
        equal(set(stored(daemon)), set(before), "after the forgery")
        daemon.stop()
        notes = daemon.notes()
        bad = notes.read_bytes()[:8192] + os.urandom(8192)
        notes.write_bytes(bad)
        daemon.start_again()
        set_limits(daemon, max_use="1k")
        daemon.wait_log("damaged")
        stay(*dirs)
        equal(notes.read_bytes(), bad, "the damaged file")


def another_version(path):
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA user_version = 2")
        db.execute("CREATE TABLE directories(x)")


def foreign_notes():
    """A file of notes that is none: a directory, a link, another version.
    Nothing is noted or deleted then, which the log and the answers say."""
    for make in (lambda p: p.mkdir(),
                 lambda p: p.symlink_to("/etc/passwd"),
                 lambda p: p.write_text("tracepulse-notes 9\n"),
                 another_version):
        with start() as daemon:
            daemon.stop()
            make(daemon.notes())
            daemon.start_again()
            one = record(daemon, "one")
            daemon.wait_log("retention is not possible")
            said = order(daemon, "/api/v1/stored", 503, "GET")
            check("no notes" in said["error"] and
                  "--state-dir" in said["error"], f"{said}")
            order(daemon, "/api/v1/keep", 503, path="h/one")
            set_limits(daemon, max_use="1k")
            daemon.wait_log("retention is refused")
            stay(one)
            check(os.path.lexists(daemon.notes()), "it was removed")


def share_output(first, second):
    """The second relay starts again, with the output directory of the first."""
    second.stop()
    second.serve_from(first.out)


def two_relays():
    """They share an output directory, and have a state directory each: each
    deletes its own."""
    with start() as first:
        mine = record(first, "mine")
        wait_finished(first, mine)
        second = start()
        with second:
            share_output(first, second)
            other = record(second, "other")
            wait_finished(second, other)
            set_limits(first, max_use="1k")
            wait_gone(mine)
            stay(other)
            set_limits(second, max_use="1k")
            wait_gone(other)


def two_relays_with_one_state():
    """The second one notes nothing, and so deletes nothing, while the first
    has the notes."""
    with start() as first:
        mine = record(first, "mine")
        wait_finished(first, mine)
        second = start()
        with second:
            second.environment["TRACEPULSE_STATE_DIR"] = str(first.state)
            share_output(first, second)
            other = record(second, "other")
            set_limits(second, max_use="1k")
            order(second, "/api/v1/stored", 503, "GET")
            time.sleep(2.2)
            check(mine.exists() and other.exists(), "one was deleted")
            equal(second.log_text().count("another relay uses this output"), 2,
                  "a line for each set of limits")
            set_limits(first, max_use="1k")
            wait_gone(mine)
            stay(other)
            first.stop()
            third = record(second, "third")
            wait_gone(third)
            check(other.exists(), "it was never noted")


def chunks():
    """Archived chunks stay while their session goes on. After it they go, the
    oldest first, and it goes with the last one."""
    with start() as daemon:
        s = relay.Session(daemon, "rotated")
        top = daemon.out / s.path
        for n in range(1, 5):
            s.packets(4, 65440, 96)
            s.control.create_chunk(n, 1_800_000_000 + n)
            s.control.rotate(n, (s.stream, s.seq), (s.meta, 0))
            s.control.close_chunk(n - 1, 0)
        wait_until("archives", lambda: len(
            list((top / "archives").iterdir())) == 4)
        archives = sorted((top / "archives").iterdir())
        wait_finished(daemon, *archives)
        kinds = [e["kind"] for e in stored(daemon).values()]
        equal(sorted(kinds), ["chunk"] * 4 + ["session"], "kinds")
        keep = archives[1]
        order(daemon, "/api/v1/keep", path=str(keep.relative_to(daemon.out)))
        time.sleep(1)
        set_limits(daemon, max_use="600k", max_age="1s")
        time.sleep(2)
        check(all(p.exists() for p in archives), "the session goes on")
        set_limits(daemon)
        s.packets(1)
        s.leave()
        wait_finished(daemon, top)
        set_limits(daemon, max_use="700k")
        wait_gone(archives[0], archives[2])
        stay(archives[1], archives[3])
        set_limits(daemon, max_age="1s")
        wait_gone(archives[3])
        stay(keep, top)
        order(daemon, "/api/v1/keep", keep=0,
              path=str(keep.relative_to(daemon.out)))
        wait_gone(top)


def snapshots():
    """Finished snapshots go one by one, and their session at last."""
    with start() as daemon:
        for n in range(3):
            c = daemon.peer()
            _, _, path = c.create_session(name="snap", snapshot=1,
                                          uuid=b"u" * 16)
            c.create_chunk(0, name=f"snapshot-{n}")
            handle, _ = c.add_stream("ch")
            d = daemon.data()
            d.packet(handle, 0, ctf.packet(0), 65456)
            time.sleep(0.05)
            c.close_stream(handle, 0)
            c.close_chunk(0)
            c.close()
            d.close()
            wait_finished(daemon, daemon.out / path / f"snapshot-{n}")
        top = daemon.out / path
        # Its own bytes are those of directories: none on a tmpfs.
        wait_until("finished", lambda: stored(daemon).get(
            path.strip("/"), {}).get("state") == "finished")
        equal(sorted(e["kind"] for e in stored(daemon).values()),
              ["session"] + ["snapshot"] * 3, "kinds")
        set_limits(daemon, max_use="160k")
        wait_gone(top / "snapshot-0")
        stay(top / "snapshot-2")
        # By its age: on a tmpfs its directories take no space.
        set_limits(daemon, max_age="1s")
        wait_gone(top)


def removed_by_hand():
    """A directory that somebody removed or renamed falls out."""
    with start() as daemon:
        dirs = finished(daemon, 3)
        shutil.rmtree(dirs[0])
        dirs[1].rename(dirs[1].with_name("renamed"))
        wait_until("fell out", lambda: set(stored(daemon)) == {
            str(dirs[2].relative_to(daemon.out))})
        set_limits(daemon, max_use="1k")
        wait_gone(dirs[2])
        check(dirs[1].with_name("renamed").exists(), "it is somebody's")


def killed():
    """After kill -9 in the middle of deleting, the next start goes on."""
    with start() as daemon:
        dirs = [record(daemon, f"s{i}", packets=1) for i in range(12)]
        for top in dirs:
            for i in range(300):
                (top / f"file{i}").write_bytes(ctf.packet(i, 0))
        wait_finished(daemon, *dirs)
        for _ in range(6):
            set_limits(daemon, max_use="1k")
            time.sleep(0.03)
            daemon.kill()
            left = [p for p in dirs if p.exists()]
            write_settings(daemon)
            daemon.start_again()
            stored(daemon)      # its notes are read
            for p in left:
                check(p.exists(), "deleted without a limit")
            wait_until("the rest", lambda: not list(daemon.out.glob("*/.*")))
        set_limits(daemon, max_use="1k")
        wait_gone(*dirs)
        wait_until("all", lambda: not list(daemon.out.glob("*/.*")))
        equal(list(daemon.out.glob(".*")), [], "files of the relay")


def output_removed():
    """The output directory is removed: what is made again is noted again."""
    with start() as daemon:
        one = record(daemon, "one")
        wait_finished(daemon, one)
        relay.remove(daemon.out)
        two = record(daemon, "two")
        wait_finished(daemon, two)
        equal({p.name for p in daemon.state.iterdir()},
              {daemon.notes().name + end for end in ("", "-wal")}, "notes")
        equal(set(stored(daemon)), {str(two.relative_to(daemon.out))}, "new")
        set_limits(daemon, max_use="1k")
        wait_gone(two)


def nothing_stays():
    """Once the traces are removed, the output directory is empty, while the
    relay runs and after it."""
    for stops_first in (False, True):
        with start() as daemon:
            one = record(daemon, "one")
            check(daemon.notes().exists(), "no notes")
            if stops_first:
                daemon.stop()
            shutil.rmtree(daemon.out / "h")
            equal(list(daemon.out.rglob("*")), [], "left behind")
            if not stops_first:
                daemon.stop()
                equal(list(daemon.state.iterdir()), [], "notes of nothing")
            daemon.out.rmdir()
        with start() as daemon:
            one = record(daemon, "one")
            shutil.rmtree(one.parent)
            daemon.out.rmdir()
            wait_until("its notes go", lambda: not list(daemon.state.iterdir()))


def moves_and_copies():
    """The notes follow the output directory when it is renamed. A copy of it,
    and what is made again in its place, is not the relay's."""
    with start() as daemon:
        one = record(daemon, "one")
        wait_finished(daemon, one)
        daemon.stop()
        moved, at = daemon.top / "moved", one.relative_to(daemon.out)
        daemon.out.rename(moved)
        subprocess.run(["cp", "-a", moved, daemon.out], check=True)

        def again(out):
            daemon.serve_from(out)
            return set(stored(daemon))
        equal(again(daemon.out), set(), "of the copy")
        daemon.stop()
        equal(again(moved), {str(at)}, "of the renamed one")
        set_limits(daemon, max_use="1k")
        wait_gone(moved / at)
        check(one.exists(), "a part of the copy was deleted")


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
        equal(set(stored(daemon, path=seen[2])), {seen[2]}, "one path")
        equal(len(stored(daemon, path="h0")), 4, "below a path")
        equal(stored(daemon, path=seen[2][:-1]), {}, "a part of a name")
        status = ask(daemon, "/api/v1/status")
        equal(status["admin_socket"], str(admin(daemon)), "admin socket")
        equal(admin(daemon).stat().st_mode & 0o777, 0o600, "its mode")
        daemon.stop()
        check(not admin(daemon).exists(), "the admin socket stayed")


def bad_orders():
    """A client with an invalid request gets a clear answer; one that disconnects
    before the answer does no harm. The TCP port accepts no such requests."""
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
        dirs = finished(daemon, 3, packets=24)
        s = relay.Session(daemon, "goes-on")
        s.packets(1)
        small_disk.fill(daemon)
        wait_until("not ready", lambda: get(daemon, "/readyz")[0] == 503)
        check(b"disk full" in get(daemon, "/readyz")[2], "the reason")
        check(all(p.exists() for p in dirs), "deleted without a limit")
        answer = order(daemon, "/api/v1/vacuum", dry_run=0)
        equal(answer["deleted"], [], "without a limit")
        daemon.command += ["-f", str(daemon.top / "conf")]
        daemon.kill()
        write_settings(daemon, keep_free="2M")
        daemon.start_again()
        wait_gone(*dirs[:2])
        stay(dirs[2])
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
    paths = [f"h/old-{i}" for i in range(n)]
    for path in paths:
        ust = daemon.out / path / "ust"
        ust.mkdir(parents=True)
        for name in ("a", "b"):
            (ust / name).write_bytes(ctf.packet(0, 5000))
    ids = subprocess.run(
        ["xargs", "stat", "-c", "%i %.9W"], cwd=daemon.out, check=True,
        input="\n".join(paths), capture_output=True, text=True).stdout.split()
    write_notes(daemon, [
        (path, ids[2 * i], int(ids[2 * i + 1].replace(".", "")))
        for i, path in enumerate(paths)])


def write_notes(daemon, entries):
    """Into the file that a relay has made."""
    daemon.start_again()
    stored(daemon)
    daemon.kill()
    ended = time.time_ns()
    with contextlib.closing(sqlite3.connect(daemon.notes())) as db, db:
        db.executemany(
            "INSERT INTO directories"
            " VALUES(?,?,0,?,?,20480,0,?,?,X'68',X'6f6c64')",
            [(int(ino), born, i + 1, ended + i, path.encode(), path.encode())
             for i, (path, ino, born) in enumerate(entries)])


def round_trips(session, until):
    """How long packets take until they count as written, in ms."""
    took = []
    while not until():
        began = time.monotonic()
        session.put(session.stream, session.seq, bytes(4096))
        session.control.wait_written(session.stream, session.seq)
        session.seq += 1
        took.append((time.monotonic() - began) * 1000)
        time.sleep(0.002)
    return sorted(took)


def a_bystander_is_not_delayed():
    """The deletion of thousands of directories does not delay peers that
    record."""
    n = 10000 if os.environ.get("TP_TEST_LONG") else 2000
    with start() as daemon:
        forge(daemon, n)
        daemon.start_again()
        equal(len(ask(daemon, "/api/v1/stored?limit=1000")["stored"]), 1000,
              "noted")
        s = relay.Session(daemon, "bystander")

        def quiet():
            until = time.monotonic() + 3
            return round_trips(s, lambda: time.monotonic() > until)
        before = quiet()
        set_limits(daemon, max_age="1s")
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
        s.leave()


def many_at_the_start():
    """With notes of 100,000 directories it listens in time."""
    with start() as daemon:
        daemon.stop()
        write_notes(daemon, [(f"h/old-{i}", i + 1, 1) for i in range(100000)])
        began = time.monotonic()
        daemon.start_again()
        took = time.monotonic() - began
        print(f"listens after {took:.2f} s, {daemon.rss() >> 20} MiB")
        check(took < 10, f"it listens after {took:.2f} s")
        page = ask(daemon, "/api/v1/stored?limit=1000&after=50000")
        equal(len(page["stored"]), 1000, "a page")


def cut_before_their_metadata():
    """A recording without metadata is reported as unreadable, also by the next
    start; one that has it is not."""
    def unreadable():
        return {e["session"] for e in stored(daemon).values()
                if e["unreadable"]}

    def lines():
        return [re.search(r"h/(\w+)-", line).group(1)
                for line in daemon.log_text().splitlines()
                if ": unreadable, as it ended before its metadata" in line]

    with start() as daemon:
        early, good, killed = (relay.Session(daemon, name) for name in
                               ("early", "good", "killed"))
        good.packet()
        good.finish()
        early.packets(1)
        early.leave()
        wait_finished(daemon, daemon.out / early.path, daemon.out / good.path)
        wait_until("early", lambda: unreadable() == {"early"})
        equal(lines(), ["early"], "lines")
        killed.packets(1)
        wait_until("noted", lambda: len(stored(daemon)) == 3)
        time.sleep(1.2)
        daemon.kill()
        daemon.start_again()
        # What was unreadable is found so again.
        wait_until("both", lambda: unreadable() == {"early", "killed"})
        equal(sorted(lines()), ["early", "early", "killed"], "lines")


def losses_are_listed():
    """A trace with .loss.jsonl says so, also after a restart."""
    def lossy():
        return {e["session"] for e in stored(daemon).values() if e["losses"]}

    with start() as daemon:
        record(daemon, "good")
        s = relay.Session(daemon, "bad")
        s.packets(1)
        (s.dir / ".loss.jsonl").write_text("{}\n")  # as UDP does it
        s.finish()
        wait_until("listed", lambda: lossy() == {"bad"})
        daemon.kill()
        daemon.start_again()
        wait_until("still listed", lambda: lossy() == {"bad"})


if __name__ == "__main__":
    sys.exit(relay.main(at_once=4,
                       alone=[a_full_disk, a_bystander_is_not_delayed,
                              many_at_the_start]))
