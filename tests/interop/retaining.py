# SPDX-License-Identifier: MIT
"""Finished traces of stock lttng are deleted, and the others are read whole."""
import json
import os
import signal
import subprocess
import time

import tree
from scenarios import expect_snapshot
from story import begin, end, expect_session, rotate, scenario
from watching import env, program
from world import Failure, check, wait_for


def start(w, text=""):
    """The relay, with settings that limit() writes anew. lttng-sessiond is there
    already, and has port 5345 for agents of Java and Python."""
    path = os.path.join(w.directory, "relayd.conf")
    write(path, text)
    w.relay.start("-f", path, "--http=tcp://127.0.0.1:5399")


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write("[relayd]\nkeep-at-least = 0s\n" + text)


def limit(w, text):
    """From now on, as by systemctl reload."""
    write(os.path.join(w.directory, "relayd.conf"), text)
    os.kill(w.relay.pid, signal.SIGHUP)


def ctl(w, *words):
    """What tracepulse answers, as JSON."""
    done = subprocess.run([program(w), *words, "--json"], env=env(w),
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=30)
    check(done.returncode == 0, f"tracepulse {words}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def wait_gone(w, *patterns):
    wait_for("%s deleted" % (patterns,),
             lambda: not any(w.paths(p) for p in patterns), 30)


def wait_finished(w, number):
    """So many have ended, and are counted. On a tmpfs directories take no space:
    a session of chunks has no bytes of its own."""
    least = {"session": min(1, os.stat(w.directory).st_blocks)}

    def are():
        found = [e for e in ctl(w, "stored")["stored"]
                 if e["state"] == "finished" and
                 e["bytes"] >= least.get(e["kind"], 1)]
        return len(found) == number
    wait_for("%d finished" % number, are, 30)


@scenario(options=None, reference=False, compare_tree=False)
def retention(w):
    """the oldest sessions go; one that is kept, one that runs and the newest
    stay, and are read whole"""
    start(w)
    emitted = {}
    for number in range(4):
        name = "old%d" % number
        begin(w, name)
        emitted[name] = w.run_app(0, 150)
        end(w, name)
        wait_finished(w, number + 1)
    begin(w, "runs", "--live=100000")
    app = w.app(0, 3000, microseconds=1000)
    app.wait_emitted(300)
    ctl(w, "keep", ctl(w, "stored")["stored"][0]["path"])
    dry = ctl(w, "vacuum", "--dry-run")
    check(not dry["deleted"], f"without a limit: {dry!r}")
    limit(w, "max-age = 1s\n")
    wait_gone(w, "*/old1-*", "*/old2-*", "*/old3-*")
    limit(w, "")
    app.wait_emitted(1500)
    count = app.finish()
    end(w, "runs")
    begin(w, "new")
    emitted["new"] = w.run_app(0, 150)
    end(w, "new")
    expect_session(w, "old0", emitted["old0"])
    expect_session(w, "new", emitted["new"])
    expect_session(w, "runs", count)


@scenario(options=None, reference=False, compare_tree=False)
def retention_rotated(w):
    """chunks that lttng rotate archived stay while the session runs; then the
    oldest go, and the last one is read whole"""
    start(w)
    begin(w, "rot", channel=["--blocking-timeout=inf"])
    app = w.app(0, 1000000, microseconds=500)
    for number in range(4):
        app.wait_emitted(500 * (number + 1))
        rotate(w, "rot")
    last = len(app.emitted())
    wait_finished(w, 4)
    limit(w, "max-age = 1s\n")
    time.sleep(4)
    if len(w.paths("*/rot-*/archives/*")) != 4:
        raise Failure("chunks of a session that runs were deleted")
    limit(w, "")
    app.wait_emitted(len(app.emitted()) + 500)
    emitted = app.enough()
    end(w, "rot")
    wait_finished(w, 6)
    left = sum(e["bytes"] for e in ctl(w, "stored")["stored"]
               if e["kind"] == "session" or e["path"].endswith("-4"))
    limit(w, "max-use = %dB\n" % left)
    wait_gone(w, "*/rot-*/archives/*-0", "*/rot-*/archives/*-1",
              "*/rot-*/archives/*-2", "*/rot-*/archives/*-3")
    path = w.path("*/rot-*/archives/*-4")
    tree.check_indexes(path)
    got = tree.events(w, path)
    if not got or got != list(range(got[0], len(emitted))) or got[0] > last:
        raise Failure("the last chunk has %s" % tree.span(got))


@scenario(options=None, reference=False, compare_tree=False)
def retention_snapshots(w):
    """snapshots go one by one while their session goes on, and the last one is
    read whole"""
    start(w)
    begin(w, "snap", "--snapshot", count="4")
    w.run_app(0, 500)
    for name in ("one", "two", "three"):
        w.lttng("snapshot", "record", "-n", name)
        time.sleep(2.1)
    wait_finished(w, 3)
    limit(w, "max-age = 3s\n")
    wait_gone(w, "*/snap-*/one-*", "*/snap-*/two-*")
    limit(w, "")
    w.lttng("snapshot", "record", "-n", "four")
    w.lttng("destroy")
    expect_snapshot(w, "*/snap-*/four-*", 499)
