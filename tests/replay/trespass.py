#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Untrusted peers try to reach what is not theirs: other sessions' directories,
names that the relay uses itself, the run directory. Starts daemons of its
own."""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

import old_peers
import relay
import siblings
from relay import check, equal

# A program file with CAP_NET_BIND_SERVICE, permitted and effective.
CAPABILITY = struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0)


def capabilities_are_not_for_the_environment():
    """A program file with capabilities does not trust its user's variables,
    though uid and effective uid are the same."""
    if os.geteuid() != 0:
        print("SKIP capabilities_are_not_for_the_environment: not root")
        return
    top = pathlib.Path(tempfile.mkdtemp(prefix="tracepulse-replay-"))
    try:
        top.chmod(0o755)
        theirs = top / "theirs"
        theirs.mkdir()
        os.chown(theirs, 65534, 65534)
        program = top / "relayd"
        shutil.copy(relay.PROGRAM, program)
        try:
            os.setxattr(program, "security.capability", CAPABILITY)
        except OSError:
            print("SKIP capabilities_are_not_for_the_environment: this file "
                  "system has none")
            return
        run = subprocess.run(
            [program, "--dynamic-port-allocation",
             "-C", "tcp://127.0.0.1:0", "-D", "tcp://127.0.0.1:0",
             "-L", "tcp://127.0.0.1:0", "--pid-file", str(theirs / "pid")],
            user=65534, group=65534, extra_groups=[], timeout=30,
            capture_output=True,
            env={"HOME": str(theirs), "LTTNG_RUNDIR": str(theirs / "run")})
        equal(list(theirs.iterdir()), [], f"made; {run.stderr}")
        check(b"--pid-file is ignored" in run.stderr, f"{run.stderr}")
        check(run.returncode != 0, "it started")
    finally:
        shutil.rmtree(top)


def begin(daemon, want, **fields):
    """A session that gets the path WANT, or is refused; its connection, which
    stays open."""
    c = daemon.peer()
    fields.setdefault("uuid", os.urandom(16))
    _, code, path = c.create_session(want=None, **fields)
    equal((code, path), (relay.OK, want) if want else (relay.FATAL, ""),
          f"session {fields}")
    daemon.kept.append(c)
    return c


def add_old(daemon, path, want=relay.UNKNOWN, minor=10, name="old"):
    """A stream of a peer before 2.11, at PATH."""
    c = daemon.peer(minor)
    c.ask(relay.CREATE_SESSION,
          old_peers.names(name) if minor >= 4 else b"", 12)
    blob = old_peers.stream_request(minor, "x_0", path)
    code = struct.unpack(">QI", c.ask(relay.ADD_STREAM, blob, 12))[1]
    check(want in (None, code), f"{path} of {name} 2.{minor}: code {code}")
    return code


def rotate(s):
    """The victim's rotation, which must go well."""
    s.packets(1)
    path = s.next_chunk(1)
    s.control.wait_gone(0)
    found = s.daemon.out / path / "ust/uid/0/64-bit/ch_0"
    check(found.read_bytes() == s.written, "the archive is not whole")


def below(daemon, *folders):
    return {name: what for name, what in daemon.tree().items()
            if name.startswith(folders)}


def base_paths_into_a_session():
    """One that records, one that has ended: others go beside it."""
    with relay.Daemon() as daemon:
        s = relay.Session(daemon, "victim", base="place")
        for inner, want in (("place/archives", None), ("place/.tmp_x", None),
                            ("place/deep/er", "h/place-1/deep/er"),
                            ("place/ust/x", "h/place-1/ust/x"),
                            ("place", "h/place-2")):
            begin(daemon, want, base=inner)
        rotate(s)
        s.leave()
        siblings.released(daemon.out / s.path)
        before = below(daemon, "h/place/")
        # The folder place-1/ust now looks like what a session leaves.
        begin(daemon, "h/place-3/in", base="place/in")
        begin(daemon, "h/place-3/ust/uid", base="place/ust/uid")
        equal(below(daemon, "h/place/"), before, "the ended session")


def sessions_below_one_folder():
    """Base paths that share a folder that belongs to no session."""
    with relay.Daemon() as daemon:
        for base in "lab/one", "lab/two", "lab/more/three", "lab/more/four":
            begin(daemon, "h/" + base, base=base)


def old_paths_into_a_session():
    with relay.Daemon() as daemon:
        s = relay.Session(daemon, "victim", base="place")
        for path in ("h/place/kernel", "h/place/ust/uid/0/64-bit",
                     "h/place/.tmp_old_chunk/x", "h/place"):
            add_old(daemon, path)
        rotate(s)
        s.leave()
        released = daemon.tree()
        for path in ("h/place/kernel", "h/place/archives/x/ust",
                     "h/new/archives/x", "h/new/.tmp_new_chunk/x"):
            add_old(daemon, path)
        equal(daemon.tree(), released, "tree")
        add_old(daemon, "h/new/ust/pid/.hidden-1-2", relay.OK)
        add_old(daemon, "h/new/kernel", relay.OK)


def old_paths_into_another_old_session():
    """One domain beside the other is fine, from the same machine and session;
    nobody else, and nobody inside a trace."""
    root = f"oldhost/victim-{old_peers.STAMP}"
    with relay.Daemon() as daemon:
        kernel = old_peers.Old(daemon, 10, "victim", root + "/kernel")
        before = daemon.tree()
        for path in (root + "/kernel/evil", root + "/evil",
                     root + "/ust/uid/0/64-bit"):
            add_old(daemon, path)
        daemon.source = "127.0.0.2"
        for name, minor in ("victim", 10), ("old", 10), ("old", 3):
            add_old(daemon, root + "/ust/x", minor=minor, name=name)
        daemon.source = "127.0.0.1"
        equal(daemon.tree(), before, "tree")
        ust = old_peers.Old(daemon, 10, "victim", root + "/ust/uid/0/64-bit")
        for s in kernel, ust:
            s.packets(2)
            s.finish(1)
        # A later session of 2.11 goes beside what lives.
        first = old_peers.Old(daemon, 10, "victim", "oldhost/b/kernel")
        begin(daemon, "oldhost/b-1", host="oldhost", base="b")
        first.finish(relay.NONE)


def old_paths_of_one_folder():
    """A session has the folder of its first stream, and no other."""
    roots = [f"oldhost/{n}-{old_peers.STAMP}" for n in ("first", "second")]
    with relay.Daemon() as daemon:
        victim = old_peers.Old(daemon, 10, "victim",
                               roots[0] + "/ust/uid/0/64-bit")
        victim.add("x_0", roots[0] + "/kernel")
        equal(struct.unpack(">QI", victim.control.ask(
            relay.ADD_STREAM, old_peers.stream_request(
                10, "x_0", roots[1] + "/kernel"), 12))[1],
            relay.UNKNOWN, "another folder")
        add_old(daemon, roots[1] + "/kernel", relay.OK)
        add_old(daemon, roots[0] + "/ust/uid/1/64-bit")
        victim.packets(2)
        victim.finish(1)
        victim.control.close()
        # The folder is free again, but no session goes into another's.
        path = roots[0] + "/ust/uid/1/64-bit"
        relay.wait_until(f"{path} is refused", lambda: add_old(
            daemon, path, None) == relay.OK)
        add_old(daemon, roots[0] + "/evil")


def an_old_path_is_no_host():
    """A session that records in a folder with traces of hosts does not own that
    folder."""
    with relay.Daemon() as daemon:
        old = old_peers.Old(daemon, 10, "old", "newhost")
        begin(daemon, "newhost/b", host="newhost", base="b")
        other = old_peers.Old(daemon, 10, "other", "newhost/c/kernel")
        for s in old, other:
            s.finish(relay.NONE)


def snapshot_sessions_are_seen():
    """While one is open, no other session records inside its directory, nor beside
    its snapshots; sessions of the same peer, host and name share it."""
    with relay.Daemon() as daemon:
        ours = {"base": "place", "snapshot": 1, "uuid": b"u" * 16}
        begin(daemon, "h/place", **ours)
        begin(daemon, "h/place-1/in", base="place/in")
        add_old(daemon, "h/place/x/kernel")
        begin(daemon, "h/place", **ours)
        for number, other in enumerate(({"uuid": b"v" * 16},
                                        {"name": "other"}), 2):
            begin(daemon, f"h/place-{number}", **{**ours, **other})


def snapshots_of_two_relays():
    """Snapshot sessions of the same peer, host and name at two relays on one
    output directory do not share a directory."""
    with relay.Daemon() as one, relay.Daemon() as two:
        two.stop()
        two.serve_from(one.out)
        for daemon, want in ((one, "h/place"), (two, "h/place-1")) * 2:
            begin(daemon, want, base="place", snapshot=1, uuid=b"u" * 16)


def a_finished_trace_gets_no_files_of_old_peers():
    with relay.Daemon() as daemon:
        relay.recorded(daemon, "victim", base="place")
        before = daemon.tree()
        add_old(daemon, "h/place/ust/uid/0/64-bit")
        equal(daemon.tree(), before, "tree")


def snapshots_into_a_session():
    """A snapshot session adds to no session's directory, live or finished, and
    stops none."""
    with relay.Daemon() as daemon:
        s = relay.Session(daemon, "victim", base="place")
        s.packet()
        deep = relay.Session(daemon, "deep", base="folder/in")
        for base, want in (("place", "h/place-1"),
                           ("place/in", "h/place-2/in"),
                           ("folder", "h/folder-1")):
            for name in "in", "snapshot-1":
                c = begin(daemon, want, base=base, snapshot=1,
                          uuid=base.encode().ljust(16))
                c.create_chunk(0, name=name)
                c.close_chunk(0)
        rotate(s)
        deep.packet()
        for one in s, deep:
            one.leave()
            siblings.released(daemon.out / one.path)
        finished = "h/place/", "h/folder/in/"
        before = below(daemon, *finished)
        begin(daemon, None, base="place/archives/x", snapshot=1)
        for base, want in (("place", "h/place-3"),
                           ("folder/in", "h/folder/in-1")):
            begin(daemon, want, base=base, snapshot=1).create_chunk(
                0, name="mine")
        equal(below(daemon, *finished), before, "the finished sessions")


def names_of_chunks():
    """Names that the relay uses itself are not for a peer's chunks."""
    with relay.Daemon() as daemon:
        for name in "archives", "ust", "kernel":
            c = daemon.peer()
            c.create_session(base="place", snapshot=1)
            c.create_chunk(0, name=name, want=relay.UNKNOWN)
        c = relay.Session(daemon, "own").control
        for path in "archives/x", ".tmp_old_chunk/x":
            c.add_stream("x_0", path=path, want=relay.UNKNOWN)


if __name__ == "__main__":
    sys.exit(relay.main())
