# SPDX-License-Identifier: MIT
"""tracepulse shows and watches sessions of stock lttng."""
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../plugin"))
import plugin
import tree
from story import begin, end, scenario
from viewers import await_session, wait_seen
from world import Failure, Skipped, check, wait_for


def program(w):
    """tracepulse, which is built beside the sender where libcurl is."""
    path = os.path.join(os.path.dirname(w.send_path), "tracepulse")
    if not os.path.exists(path):
        raise Skipped("tracepulse was not built")
    return path


def env(w):
    """With where the relay's HTTP is. A restart replaces the file."""
    path = pathlib.Path(w.rundir(), "relayd/http.port")
    found = []

    def is_there():
        with contextlib.suppress(FileNotFoundError):
            found.append("http://127.0.0.1:%d" % int(path.read_text()))
        return found
    wait_for("http.port", is_there)
    return w.env({"TRACEPULSE_URL": found[0]})


def say(w, *words):
    """Its answer, as JSON. At a restart HTTP is away for a moment."""
    for _ in range(5):
        done = subprocess.run([program(w), *words, "--json"], env=env(w),
                              stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=30)
        if done.returncode == 0:
            return json.loads(done.stdout)
        time.sleep(0.1)
    raise Failure(f"tracepulse {words}: {done.stderr.decode()}")


class Watcher(tree.Viewer):
    """babeltrace2, as tracepulse watch starts it."""

    def __init__(self, w, *sessions):
        self.program = "tracepulse watch"
        self.url = sessions[0]
        self.files = [open(os.path.join(w.directory, "watch." + kind), "w+b")
                      for kind in ("out", "err")]
        for _ in range(5):      # HTTP may be away, as in say()
            self.child = subprocess.Popen(
                [program(w), "watch", *sessions], stdin=subprocess.DEVNULL,
                stdout=self.files[0], stderr=self.files[1], env=env(w))
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.child.wait(0.3)
                continue
            break
        w.children.append(self.child)


@scenario(reference=False, compare_tree=False)
def watch(w):
    """tracepulse shows a live session of lttng, and its events by babeltrace2"""
    begin(w, "watched", "--live=200000")
    begin(w, "disk")
    await_session(w, "watched")
    watcher = Watcher(w, socket.gethostname() + "/watched")
    wait_for("it to be attached",
             lambda: tree.listed(w, "watched")[1] == 1, timeout=10)
    emitted = w.run_app(0, 300, microseconds=2000)
    wait_seen(watcher, 300)
    found = {s["name"]: s for s in say(w, "sessions")["sessions"]}
    if set(found) != {"watched", "disk"} or \
            found["watched"]["open_viewers"] != 1:
        raise Failure("tracepulse sessions: %s" % found)
    one = say(w, "show", "watched")
    if not one["streams"] or len(one["viewers"]) != 1:
        raise Failure("tracepulse show: %s" % one)
    time.sleep(0.5)
    w.lttng("destroy", "watched")
    end(w, "disk")
    check(watcher.finish() == emitted, "it did not see what was emitted")


@scenario(reference=False, compare_tree=False)
def watch_several(w):
    """tracepulse shows two live sessions of lttng, one by a pattern, in one
    babeltrace2, and says that it waits where there is no application yet"""
    for name in ("web", "db-1"):
        begin(w, name, "--live=200000")
        await_session(w, name)
    done = subprocess.run([program(w), "watch", "--dry-run", "web"],
                          env=env(w), capture_output=True, timeout=30)
    if b"web has no application yet: waiting\n" not in done.stderr:
        raise Failure("what it waits for is not said: %s" % done)
    w.run_app(0, 10)
    wait_for("streams", lambda: all(
        s["open_streams"] > 0 for s in say(w, "sessions")["sessions"]))
    watcher = Watcher(w, "web", "db*")
    for name in ("web", "db-1"):
        wait_for("%s to be attached" % name,
                 lambda n=name: tree.listed(w, n)[1] == 1, timeout=10)
    time.sleep(0.5)
    emitted = w.run_app(10, 300, microseconds=2000)
    wait_seen(watcher, 600)
    time.sleep(0.5)
    for name in ("web", "db-1"):
        w.lttng("destroy", name)
    if [n for n in watcher.finish() if n >= 10] != sorted(emitted * 2):
        raise Failure("it did not see what was emitted, of both sessions")


class Tail:
    """tracepulse tail; each record with the time at which it came, through
    another program if there is one."""

    def __init__(self, w, *words, through=()):
        folder = pathlib.Path(program(w)).parent
        file = folder / "babeltrace-plugin-tracepulse.so"
        if not file.exists():
            raise Skipped("the plug-in of babeltrace2 was not built")
        preload = plugin.environment(file).get("LD_PRELOAD", "")
        self.child = w.spawn(
            program(w), "tail", *words, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, environment={
                **env(w), "BABELTRACE_PLUGIN_PATH": str(folder),
                "LD_PRELOAD": preload, "ASAN_OPTIONS": "detect_leaks=0"})
        self.records = []
        self.out = self.child.stdout
        if through:
            self.out = w.spawn(*through, stdin=self.child.stdout,
                               stdout=subprocess.PIPE).stdout
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.out:
            self.records.append((time.time_ns(), json.loads(line)))

    def finish(self):
        """How late each event came, in seconds, by its number."""
        status = self.child.wait(30)
        self.thread.join(30)
        check(status == 0, self.child.stderr.read().decode())
        return {r["fields"]["n"]: (at - r["ts_ns"]) / 1e9
                for at, r in self.records}


@scenario(reference=False, compare_tree=False)
def tail(w):
    """tracepulse tail prints the events of a live session of lttng as JSON, soon
    after they happened, and ends with the session"""
    begin(w, "tailed", "--live=200000")
    await_session(w, "tailed")
    watcher = Tail(w, "tailed", "--event=demo:*")
    wait_for("it to be attached",
             lambda: tree.listed(w, "tailed")[1] == 1, timeout=30)
    emitted = w.run_app(0, 1000, microseconds=5000)
    wait_for("events", lambda: len(watcher.records) == 1000, timeout=30)
    w.lttng("destroy", "tailed")
    late = watcher.finish()
    check(sorted(late) == emitted, "it did not see what was emitted")
    # Measured: the live timer and at most 0.02 s. A busy machine is slow.
    check(max(late.values()) < 10, "%f s late" % max(late.values()))


@scenario(reference=False, compare_tree=False)
def tail_the_name(w):
    """tracepulse tail waits for a session of lttng and goes on with the next of
    its name, without the user"""
    watcher = Tail(w, "named", "--wait", "--follow-name", "--event=demo:*")
    emitted = []
    for i in range(3):
        begin(w, "named", "--live=200000")
        tree.wait_attached(w, "named")
        emitted += w.run_app(100 * i, 100)
        wait_for("events", lambda: len(watcher.records) == len(emitted),
                 timeout=30)
        w.lttng("destroy", "named")
    watcher.child.terminate()
    watcher.child.wait(30)
    check([r["fields"]["n"] for _, r in watcher.records] == emitted,
          "it did not see what was emitted, in order")


@scenario(reference=False, compare_tree=False)
def status_beside_sessiond(w):
    """HTTP has its default port also beside session daemons, which take some of
    5345 to 5354 for their agents; tracepulse says which of them is no relay"""
    if not w.private:
        raise Skipped("the default ports need namespaces")
    w.relay.stop()
    w.sessiond.terminate()
    w.sessiond.wait(10.0)
    w.start_sessiond()
    # Also where it is for others, as doc/ops says, with no port of its own.
    for options in ([], ["--http=tcp://0.0.0.0", "--http-host=collector"]):
        w.relay.start(*options)
        found = subprocess.run([program(w), "status", "--json"], env=w.env(),
                               stdin=subprocess.DEVNULL, capture_output=True,
                               timeout=30, check=False)
        if found.returncode != 0:
            raise Failure("tracepulse status: " + found.stderr.decode())
        if not json.loads(found.stdout)["is_ready"]:
            raise Failure("status: %s" % found.stdout.decode())
        w.relay.stop()
    for url, wanted in (("localhost:5340", "no relay here"),
                        ("localhost:5345", "another program answers here")):
        found = subprocess.run([program(w), "status", "-u", url], env=w.env(),
                               stdin=subprocess.DEVNULL, capture_output=True,
                               timeout=30, check=False)
        if found.returncode != 1 or wanted not in found.stderr.decode():
            raise Failure("%s: %r" % (url, found.stderr))
    # No other port is taken instead.
    with socket.create_server(("127.0.0.1", 5340)):
        w.relay.start()
        if os.path.exists(w.rundir() + "/relayd/http.port"):
            raise Failure("HTTP has another port")
        w.relay.stop()
    w.relay.start()
