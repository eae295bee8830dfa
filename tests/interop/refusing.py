# SPDX-License-Identifier: MIT
"""Scenarios of sessions that the relay cannot accept: the commands of lttng end
soon, with an error, and the session daemon continues."""
import os
import shutil
import subprocess
import time

import tree
from scenarios import expect_snapshot
from story import begin, end, expect_session, scenario
from world import Failure, Skipped, check

PATIENCE = 20.0          # seconds that a user waits for a command
KINDS = {"plain": [], "live": ["--live=100000"], "snap": ["--snapshot"]}


def say(w, *argv):
    """Runs an lttng command, which must end soon; True if it succeeded."""
    w.lttng(*argv, ok=None)
    done = w.commands[-1]
    if done["seconds"] > PATIENCE:
        raise Failure("lttng %s: %.1f s" % (done["argv"], done["seconds"]))
    return done["status"] == 0


def prepare(w, kind, name):
    """Creates a session, but does not start it; True if all commands succeeded."""
    return all([
        say(w, "create", name, "--set-url", w.url(), *KINDS[kind]),
        say(w, "enable-channel", "-u", "-s", name, "--subbuf-size", "4k",
            "--num-subbuf", "4", "ch0"),
        say(w, "enable-event", "-u", "-s", name, "-c", "ch0", "demo:*")])


def use(w, kind, name):
    """Starts, uses and destroys that session; True if all commands succeeded."""
    succeeded = say(w, "start", name)
    w.run_app(0, 300)
    if kind == "snap":
        succeeded &= say(w, "snapshot", "record", "-s", name)
    succeeded &= say(w, "stop", name)
    return say(w, "destroy", name) and succeeded


def expect_refused(w):
    """Uses a session of each kind; a command of lttng must report an error."""
    for kind in KINDS:
        name = "no-" + kind
        succeeded = prepare(w, kind, name)
        if use(w, kind, name) and succeeded:
            raise Failure("%s: no command of lttng failed" % kind)
        if name in w.lttng("list"):
            raise Failure("%s: the session is still there" % kind)


def expect_taken(w, name):
    """Later sessions of the same session daemon succeed."""
    for kind in KINDS:
        if not (prepare(w, kind, name + kind) and use(w, kind, name + kind)):
            raise Failure("%s: lttng %s failed"
                          % (kind, w.commands[-1]["argv"]))
    expect_snapshot(w, "*/%ssnap-*/snapshot-1-*" % name, 200)
    for kind in "plain", "live":
        expect_session(w, name + kind, range(300))


def mount(w, *argv):
    """Mounts a file system as the relay's output; skips the scenario if it cannot."""
    if not w.private:
        raise Skipped("no mount namespace of its own")
    subprocess.run(["mount", *argv, w.relay.output], check=True)


@scenario(options=None, reference=False, needs_sessiond=False)
def refused_start(w):
    """an output directory that cannot be written: the start says so, also in
    the background, and leaves nothing in it when it can"""
    os.mkdir(w.relay.output)
    mount(w, "-t", "tmpfs", "tmpfs")
    mount(w, "-o", "remount,ro")
    for options in [], ["-b"], ["-d"]:
        status, said = w.run(*w.relay.argv(options))
        if status != 1 or len(said.splitlines()) != 1 \
                or "Read-only file system" not in said \
                or "or give another with --output" not in said:
            raise Failure("%r: status %d: %s" % (options, status, said))
    mount(w, "-o", "remount,rw")
    w.relay.start()
    if os.listdir(w.relay.output):
        raise Failure("left behind: %r" % os.listdir(w.relay.output))


@scenario(options=None, reference=False)    # it makes lttng hang
def refused_read_only(w):
    """the output directory can be written no more, then again"""
    os.mkdir(w.relay.output)
    mount(w, "-t", "tmpfs", "tmpfs")
    # The reserve for a full disk is an open file, with which the file system
    # cannot be mounted read-only.
    w.relay.start("--on-full=refuse")
    mount(w, "-o", "remount,ro")
    expect_refused(w)
    mount(w, "-o", "remount,rw")
    expect_taken(w, "yes")


@scenario(reference=False)
def refused_replaced(w):
    """the output directory becomes a file, also under a session that was
    created and not started yet; then it is back"""
    prepare(w, "plain", "begun")
    shutil.rmtree(w.relay.output)
    with open(w.relay.output, "w", encoding="utf-8"):
        pass
    check(not use(w, "plain", "begun"), "no command of lttng failed")
    expect_refused(w)
    os.unlink(w.relay.output)
    expect_taken(w, "yes")


def wait_for_room(w):
    """A session that was destroyed has its descriptors until the relay has
    heard of it and closed its files."""
    for n in range(20):
        room = prepare(w, "plain", "room%d" % n)
        say(w, "destroy", "room%d" % n)
        if room:
            return
        time.sleep(0.2)
    raise Failure("sessions that were destroyed keep their descriptors")


@scenario(options=["--fd-pool-size=100", "--workers=1"], reference=False)
def refused_descriptors(w):
    """sessions use all descriptors that they may, then fewer"""
    names = []
    while prepare(w, "plain", "s%d" % len(names)):
        names.append("s%d" % len(names))
    say(w, "destroy", "s%d" % len(names))
    check(len(names) >= 2, f"only {len(names)} sessions fit")
    expect_refused(w)
    for name in names[:-1]:
        say(w, "destroy", name)
    wait_for_room(w)
    expect_taken(w, "yes")
    begin(w, "more")
    emitted = w.run_app(0, 50)
    end(w, "more")
    expect_session(w, "more", emitted)
    tree.check_indexes(w.relay.output)
