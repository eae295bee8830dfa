# SPDX-License-Identifier: MIT
"""tracepulse shows and watches sessions of stock lttng."""
import json
import os
import socket
import subprocess
import time

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
    """With where the relay's HTTP is."""
    with open(os.path.join(w.rundir(), "relayd/http.port"),
              encoding="ascii") as port:
        url = "http://127.0.0.1:%d" % int(port.read())
    return w.env({"TRACEPULSE_URL": url})


def say(w, *words):
    """Its answer, as JSON."""
    done = subprocess.run([program(w), *words, "--json"], env=env(w),
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=30)
    check(done.returncode == 0, f"tracepulse {words}: {done.stderr.decode()}")
    return json.loads(done.stdout)


class Watcher(tree.Viewer):
    """babeltrace2, as tracepulse watch starts it."""

    def __init__(self, w, *sessions):
        self.program = "tracepulse watch"
        self.url = sessions[0]
        self.files = [open(os.path.join(w.directory, "watch." + kind), "w+b")
                      for kind in ("out", "err")]
        self.child = subprocess.Popen(
            [program(w), "watch", *sessions], stdin=subprocess.DEVNULL,
            stdout=self.files[0], stderr=self.files[1], env=env(w))
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
