# SPDX-License-Identifier: MIT
"""Scenarios about unexpected ends, and about the daemon as a process."""
import os

import tree
from story import begin, end, expect_beginning, expect_session, scenario
from world import Failure, check, wait_for


# Ends that nobody wanted. The sessions are live ones, as in others the metadata
# stays with the consumer daemon until the session is stopped.

def stream_to_be_broken(w, name):
    """A session in full flow, its metadata with the relay."""
    begin(w, name, "--live=100000")
    app = w.app(0, 8000)
    app.wait_emitted(1500)
    metadata = "*/%s-*/ust/uid/*/*/metadata" % name
    wait_for("metadata", lambda: os.path.getsize(w.path(metadata)) > 0)
    wait_for("packets", lambda: sum(map(os.path.getsize, w.paths(
        "*/%s-*/ust/uid/*/*/ch0_*" % name))) >= 16384)
    return app


def expect_broken(w, name, emitted):
    """The tree of a broken session: readable, nothing but the end missing."""
    path = w.path("*/%s-*" % name)
    tree.check_indexes(path, is_whole=False)
    expect_beginning(w, path, 100, len(emitted) + 1)

@scenario(compare_tree=False)
def app_killed(w):
    """kill -9 of the application: its buffers are read nevertheless"""
    begin(w, "akill")
    app = w.app(0, 5000)
    app.wait_emitted(700)
    emitted = app.kill()
    end(w, "akill")
    path = w.path("*/akill-*")
    tree.check_indexes(path)
    expect_beginning(w, path, len(emitted), len(emitted) + 1)


@scenario(compare_tree=False)
def consumerd_killed(w):
    """kill -9 of the consumer daemon: what it had sent is readable"""
    app = stream_to_be_broken(w, "ckill")
    for pid in w.consumerds():
        os.kill(pid, 9)
    emitted = app.kill()
    w.lttng("stop", "ckill", ok=None, compare=False)
    w.lttng("destroy", "ckill", ok=None, compare=False)
    expect_broken(w, "ckill", emitted)


@scenario(compare_tree=False)
def relay_killed(w):
    """kill -9 of the relay: readable after a restart, which also serves"""
    app = stream_to_be_broken(w, "rkill")
    w.relay.kill()
    emitted = app.kill()
    w.lttng("stop", "rkill", ok=None, compare=False)
    w.lttng("destroy", "rkill", ok=None, compare=False)
    w.relay.start()
    if not w.is_reference:      # it may leave a torn packet
        expect_broken(w, "rkill", emitted)
    begin(w, "after")
    emitted = w.run_app(0, 200)
    end(w, "after")
    expect_session(w, "after", emitted)


@scenario(compare_tree=False)
def relay_terminated(w):
    """SIGTERM of the relay in mid-stream: it ends, what it has is readable"""
    app = stream_to_be_broken(w, "rterm")
    w.relay.stop()
    emitted = app.kill()
    if not w.is_reference:      # it may leave a torn packet
        expect_broken(w, "rterm", emitted)
    w.lttng("stop", "rterm", ok=None, compare=False)
    w.lttng("destroy", "rterm", ok=None, compare=False)


# The daemon as a process.

def serve_once(w, name):
    """One short session: proof that the daemon works."""
    begin(w, name)
    emitted = w.run_app(0, 50)
    end(w, name)
    expect_session(w, name, emitted)


@scenario(options=None)
def daemonize(w):
    """-d: ready when the launcher returns 0; 1 when a port is taken"""
    check(w.relay.launch("-d") == 0, "-d failed")
    serve_once(w, "dmn")
    pid = w.relay.pid
    if os.readlink("/proc/%d/cwd" % pid) != "/":
        raise Failure("working directory is not /")
    check(w.relay.launch("-d") == 1, "status with a port taken is not 1")


@scenario(options=None)
def background(w):
    """-b with -w: in the background, in that directory, stderr kept"""
    directory = os.path.join(w.directory, "cwd")
    os.mkdir(directory)
    check(w.relay.launch("-b", "--working-dir", directory) == 0, "-b failed")
    proc = "/proc/%d" % w.relay.pid
    if os.readlink(proc + "/cwd") != directory:
        raise Failure("working directory is not that of -w")
    check(os.readlink(proc + "/fd/2") == w.relay.log, "stderr was not kept")
    serve_once(w, "bgr")


@scenario(options=None, reference=False)
def pid_file(w):
    """--pid-file: there while it runs, gone after"""
    path = os.path.join(w.directory, "relayd.pid")
    if w.relay.launch("-d", "--pid-file", path) != 0:
        raise Failure("-d --pid-file failed")
    with open(path) as handle:
        check(int(handle.read()) == w.relay.pid, "wrong pid in the file")
    w.relay.stop()
    check(not os.path.exists(path), "pid file left behind")


@scenario()
def health(w):
    """the health socket says 0, with a session too"""
    if w.health() != 0:
        raise Failure("health %#x" % w.health())
    begin(w, "hlth")
    w.run_app(0, 50)
    if w.health() != 0:
        raise Failure("health %#x" % w.health())
    end(w, "hlth")
    path = "%s/relayd/health-%d" % (w.rundir(), w.relay.pid)
    w.relay.stop()
    check(not os.path.exists(path), "health socket left behind")


@scenario(options=None)
def environment(w):
    """the health socket and the right to clear, from the environment"""
    path = os.path.join(w.directory, "health")
    w.relay.start(environment={"LTTNG_RELAYD_HEALTH": path,
                               "LTTNG_RELAYD_DISALLOW_CLEAR": "1"})
    if w.health(path) != 0:
        raise Failure("health %#x" % w.health(path))
    begin(w, "env")
    emitted = w.run_app(0, 50)
    w.lttng("clear", "env", ok=False)
    end(w, "env")
    expect_session(w, "env", emitted)


@scenario(options=None, reference=False, needs_sessiond=False)
def refusals(w):
    """a start that cannot be: status 1, and a word about it"""
    w.relay.start()
    status, output = w.run(*w.relay.argv([]))
    check(status == 1 and output, f"port taken: status {status}, {output!r}")
    w.relay.stop()
    status, output = w.run(*w.relay.argv(["-b", "-w", "/no/such/place"]))
    check(status == 1 and "Failed to change working directory to" in output,
          f"no working directory: status {status}, {output!r}")
