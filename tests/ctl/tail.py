#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tracepulse tail and export, with a relay, sessions of our own making and
babeltrace2 with the plug-in of the build."""
import contextlib
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
import program
import relay
from program import PROGRAM, run, url_of
from relay import SOURCE, check, equal
for folder in ("plugin", "capture"):
    sys.path.insert(0, str(SOURCE / "tests" / folder))
import ctf_trace
import plugin

KINDS = list(ctf_trace.KINDS)
OURS = plugin.environment()
VARIABLES = {"BABELTRACE_PLUGIN_PATH": str(plugin.PLUGIN.parent),
             **{k: OURS[k] for k in ("ASAN_OPTIONS", "LD_PRELOAD") if k in OURS}}
BEGIN = 100 * 10 ** 9   # of the clock that counts from 1,700,000,000 s


class Live:
    """A live session; its packets have the events that the caller names."""

    def __init__(self, daemon, name="app", host="box"):
        self.session = relay.Session(daemon, name, host=host, live=200_000)
        text = "".join(ctf_trace.metadata(True)).replace(
            'hostname = "h\\"ost"', f'hostname = "{host}"').replace(
            'trace_name = "sess ion"', f'trace_name = "{name}"')
        self.session.control.metadata(self.session.meta, text.encode())
        self.now = BEGIN

    def send(self, *names):
        events = [KINDS.index(n) for n in names]
        body = ctf_trace.packet(self.session.seq, 0, events, self.now)
        end = self.now + len(events) * 1_000_003
        self.session.put(self.session.stream, self.session.seq, body,
                         begin=self.now, end=end)
        self.session.seq += 1
        self.now = end + 1_000_000

    def end(self):
        s = self.session
        s.wait_written()
        s.control.close_stream(s.meta)
        s.control.close_stream(s.stream, s.seq - 1 if s.seq else relay.NONE)
        s.leave()


class Tail:
    """tracepulse tail, and its lines as they come."""

    def __init__(self, url, *words, **more):
        self.child = subprocess.Popen(
            [PROGRAM, "tail", *words], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=program.environment(url, **VARIABLES, **more))
        self.lines, self.said = queue.Queue(), []
        for stream, put in ((self.child.stdout, self.lines.put),
                            (self.child.stderr, self.said.append)):
            threading.Thread(target=self._read, args=(stream, put),
                             daemon=True).start()

    @staticmethod
    def _read(stream, put):
        for line in stream:
            put(line.decode())

    def line(self, seconds=30):
        try:
            return self.lines.get(timeout=seconds)
        except queue.Empty:
            raise relay.Failed(f"no line: {self.said}") from None

    def records(self, n):
        return [json.loads(self.line()) for _ in range(n)]

    def wait_said(self, text):
        relay.wait_until(f"{text!r} in {self.said}",
                         lambda: any(text in line for line in self.said))

    def end(self, status=0):
        equal(self.child.wait(timeout=30), status, f"status: {self.said}")
        rest = []
        time.sleep(0.2)
        while not self.lines.empty():
            rest.append(self.lines.get())
        return rest

    def kill(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()


@contextlib.contextmanager
def tailing(daemon, *words, **more):
    it = Tail(url_of(daemon), *words, **more)
    try:
        yield it
    finally:
        it.kill()


def attached(daemon, name, n=1):
    """Wait until babeltrace2 views the session."""
    relay.wait_until(f"{name} is viewed", lambda: sum(
        s["open_viewers"] for s in program.ask(
            url_of(daemon), "sessions")["sessions"] if s["name"] == name) == n)


def names_of(records):
    return [r["name"] for r in records]


def json_and_its_end():
    """Events of a live session as JSON, soon, until it ends."""
    with relay.Daemon() as daemon:
        live = Live(daemon)
        with tailing(daemon, "box/app") as it:
            attached(daemon, "app")
            for name in ("u8", "string", "enum"):
                live.send(name, "u64")
                sent = time.monotonic()
                got = it.records(2)
                took = time.monotonic() - sent
                equal(names_of(got), [name, "u64"], "events")
                equal((got[0]["host"], got[0]["session"]), ("box", "app"),
                      "where")
                # Without load it is about 0.1 s.
                check(took < 10, f"it took {took} s")
            live.end()
            equal(it.end(), [], "nothing more")


def text_and_choice():
    with relay.Daemon() as daemon:
        live = Live(daemon)
        with tailing(daemon, "app", "--text", "--event=u*", "-e", "s8",
                     TZ="UTC") as it:
            attached(daemon, "app")
            live.send("u8", "string", "s8", "nothing")
            for name in ("u8", "s8"):
                check(re.fullmatch(
                    rf"22:15:00\.\d{{9}} \[0\] {name} vpid=-?\d+ "
                    rf"procname=.* v=-?\d+\n", it.line()), name)
            live.end()
            equal(it.end(), [], "others")


def filters():
    """All of them count; values are never taken for anything else."""
    with relay.Daemon() as daemon:
        live = Live(daemon)
        with tailing(daemon, "app", "--filter=v=abcdef", "--filter",
                     'x="],flat="yes') as none, \
                tailing(daemon, "app", "--filter=v.a=1",
                        "--filter=v.in.e=C") as some:
            attached(daemon, "app", 2)
            live.send("structure", "structure", "bits", "u8")
            equal(names_of(some.records(2)), ["structure"] * 2, "structures")
            live.end()
            equal((some.end(), none.end()), ([], []), "rest")


def since():
    with relay.Daemon() as daemon:
        live = Live(daemon)
        with tailing(daemon, "app", "--since=@1700000100.001500") as it:
            attached(daemon, "app")
            live.send("u8", "u16", "u32", "u64")
            equal(names_of(it.records(2)), ["u32", "u64"], "events")
            live.end()
            equal(it.end(), [], "rest")


def several():
    """By a pattern, and all of a host; the line says which session it is of."""
    with relay.Daemon() as daemon:
        web, db = Live(daemon, "web-1"), Live(daemon, "db", host="other")
        with tailing(daemon, "web*", "other/d*", "--text") as both, \
                tailing(daemon, "--all") as everything, \
                tailing(daemon, "--all", "--host=other") as one:
            attached(daemon, "web-1", 2)
            web.send("s8")  # babeltrace2 looks at the next one after it
            attached(daemon, "db", 3)
            web.send("u8")
            db.send("s16", "s32", "u64")
            # An event is shown when no other one can be earlier.
            web.send("u32")
            db.send("u32")
            web.end()
            db.end()
            lines = both.end()
            for text, n in (("box/web-1 ", 3), ("other/db ", 4)):
                equal(sum(text in x for x in lines), n, lines)
            equal(len(everything.end()), 7, "all")
            equal(names_of(map(json.loads, one.end())),
                  ["s16", "s32", "u64", "u32"], "of a host")


def shows_a_session(daemon, it):
    """From its begin to its end."""
    live = Live(daemon)
    attached(daemon, "app")
    live.send("u8")
    equal(names_of(it.records(1)), ["u8"], "event")
    live.end()
    equal(it.end(), [], "rest")


def waits():
    """For a session that comes later."""
    with relay.Daemon() as daemon:
        with tailing(daemon, "app", "--wait") as it:
            it.wait_said("waiting for app")
            shows_a_session(daemon, it)
        out, err = run(url_of(daemon), "tail", "nosuch", status=1, **VARIABLES)
        equal((out, "nosuch: no such live session" in err), ("", True), err)
        run(url_of(daemon), "tail", "--all", status=1, **VARIABLES)


def waits_for_the_relay():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    it = Tail(f"http://127.0.0.1:{port}", "app", "--wait")
    try:
        it.wait_said("waiting for app")
        with relay.Daemon(f"--http=tcp://127.0.0.1:{port}") as daemon:
            shows_a_session(daemon, it)
    finally:
        it.kill()


def follows_the_name():
    """Each session of this name once, until the user ends it."""
    with relay.Daemon() as daemon:
        live = Live(daemon)
        with tailing(daemon, "app", "--follow-name") as it:
            for name in ("u8", "u16", "u32"):
                attached(daemon, "app")
                live.send(name)
                equal(names_of(it.records(1)), [name], "event")
                live.end()
                if name == "u32":
                    break
                relay.wait_until("it ended", lambda: not program.ask(
                    url_of(daemon), "sessions")["sessions"])
                live = Live(daemon)
            it.wait_said("waiting for app")
            it.child.send_signal(signal.SIGINT)
            equal(it.end(-signal.SIGINT), [], "rest")


def for_perfetto():
    """The file has the events that were chosen, whatever its name."""
    if subprocess.run(["babeltrace2", "help", "sink.tracepulse.perfetto"],
                      env=program.environment("", **VARIABLES),
                      capture_output=True, check=False).returncode != 0:
        print("SKIP: the plug-in was built without Perfetto")
        return
    with relay.Daemon() as daemon, tempfile.TemporaryDirectory() as work:
        live = Live(daemon)
        file = pathlib.Path(work, 'a"b\\.pftrace')
        with tailing(daemon, "app", f"--perfetto={file}",
                     "--event=u*") as it:
            attached(daemon, "app")
            live.send("u8", "s64", "u64")
            live.end()
            equal(it.end(), [], "standard output")
        got = file.read_bytes()
        equal([name in got for name in (b"u8", b"u64", b"s64")],
              [True, True, False], "events")


def on_a_terminal():
    """Text in colours there, unless JSON is asked for."""
    with relay.Daemon() as daemon:
        live = Live(daemon)
        t = program.Terminal(url_of(daemon), "tail", "app", columns=200,
                             **VARIABLES)
        attached(daemon, "app")
        live.send("u8")
        t.wait_for("\033[1;36mu8\033[0m")
        live.end()
        equal(t.end(), 0, "status")


def a_reader_that_leaves():
    """It ends silently, as in "tail | head"."""
    with relay.Daemon() as daemon:
        live = Live(daemon)
        child = subprocess.Popen(
            [PROGRAM, "tail", "app"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=program.environment(url_of(daemon), **VARIABLES))
        try:
            attached(daemon, "app")
            live.send("u8")
            check(b'"u8"' in child.stdout.readline(), "an event")
            child.stdout.close()
            live.send("u8")
            equal((child.wait(timeout=30), child.stderr.read()),
                  (-signal.SIGPIPE, b""), "quiet")
        finally:
            child.kill()


def without_the_plug_in():
    """What is missing is said, with the name of the package."""
    if subprocess.run(["babeltrace2", "help", "sink.tracepulse.ndjson"],
                      capture_output=True, check=False).returncode == 0:
        print("SKIP: the plug-in is installed")
        return
    with relay.Daemon() as daemon, tempfile.TemporaryDirectory() as empty:
        Live(daemon)
        url = url_of(daemon)
        _, err = run(url, "tail", "app", status=1, **VARIABLES |
                     {"BABELTRACE_PLUGIN_PATH": empty})
        check("babeltrace2 has no sink.tracepulse.ndjson: install the package "
              "babeltrace2-plugin-tracepulse" in err, err)
        _, err = run(url, "tail", "app", status=1, **VARIABLES | {"PATH": empty})
        check("babeltrace2 cannot be started" in err and
              "(the package babeltrace2)" in err, err)


def exports():
    """To each format, what babeltrace2 says; a bar on a terminal."""
    with tempfile.TemporaryDirectory() as work:
        top = pathlib.Path(work)
        ctf_trace.write(top / "help")  # babeltrace2 has such a command
        (top / "t").symlink_to("help")
        url = "http://127.0.0.1:1"
        want = {".ndjson": plugin.babeltrace2(top / "t").stdout,
                ".txt": plugin.babeltrace2(top / "t", sink="lines").stdout}
        want[".json"] = want[".ndjson"]
        for ending, text in want.items():
            out = run(url, "export", str(top / "t"), str(top / f"o{ending}"),
                      **VARIABLES)
            equal(out, ("", ""), "quiet")
            equal((top / f"o{ending}").read_bytes(), text, ending)
        subprocess.run([PROGRAM, "export", "help", "o.json"], cwd=top,
                       env=program.environment(url, **VARIABLES), check=True)
        equal((top / "o.json").read_bytes(), want[".json"], "help")
        t = program.Terminal(url, "export", str(top / "t"),
                             str(top / "bar.json"), **VARIABLES)
        equal(t.end(), 0, "status")
        size = os.path.getsize(top / "t/chan_0")
        check(f" of {size / 1024:.0f} KiB, ".encode() in t.text, t.text)
        done = [int(x) for x in re.findall(rb" (\d+) %, [\d.]+ ", t.text)]
        check(done[0] < 100 and done == sorted(done) and done[-1] == 100,
              t.text)


def exports_fail_whole():
    """No file is left that looks complete."""
    with tempfile.TemporaryDirectory() as work:
        top = pathlib.Path(work)
        ctf_trace.write(top / "t")
        url = "http://127.0.0.1:1"
        for words, why in (
                ((top / "t", top / "o.xml"), "must end in .ndjson"),
                ((top / "nosuch", top / "o.json"), "No such file"),
                ((top / "t/metadata", top / "o.json"), "not the directory"),
                ((top / "t", top / "no/o.json"), "not written")):
            _, err = run(url, "export", *map(str, words), status=1, **VARIABLES)
            check(why in err, f"{words}: {err}")
        with open(top / "t/metadata", "a", encoding="ascii") as text:
            text.write("event { broken")
        run(url, "export", str(top / "t"), str(top / "o.json"), status=1,
            **VARIABLES)
        equal([f.name for f in top.iterdir()], ["t"], "files")
        run(url, "export", str(top / "t"), status=2)


CASES = (json_and_its_end, text_and_choice, filters, since, several, waits,
         waits_for_the_relay, follows_the_name, for_perfetto, on_a_terminal,
         a_reader_that_leaves, without_the_plug_in, exports,
         exports_fail_whole)

if __name__ == "__main__":
    if shutil.which("babeltrace2") is None:
        print("SKIP: there is no babeltrace2")
        sys.exit(77)
    sys.exit(relay.run(CASES, sys.argv[1:]))
