#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What retention never deletes: what is young, files of others, and a live trace
inside of a finished one, whoever put it there. Starts daemons of its own."""
import contextlib
import os
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import old_peers
import relay
import small_disk
from looking import ask, metrics, wait_until
from relay import check, equal
from retention import (order, record, set_limits, start, stay, stored,
                       wait_finished, wait_gone, write_settings)


def nothing_young():
    """For no limit; a shorter --max-age is refused."""
    with start(keep_at_least="4s") as daemon:
        began = time.monotonic()
        old = record(daemon, "old")
        wait_finished(daemon, old)
        set_limits(daemon, keep_at_least="4s", max_use="1k", max_age="4s",
                   keep_free=f"{shutil.disk_usage(daemon.out).total}B")
        order(daemon, "/api/v1/vacuum", dry_run=0)
        time.sleep(2)
        check(old.exists() or time.monotonic() - began > 4, "it is too young")
        equal(metrics(daemon)["tracepulse_deleted_youngest_seconds"], 0,
              "none was deleted")
        wait_gone(old)
        wait_until("its age", lambda: metrics(daemon)[
            "tracepulse_deleted_youngest_seconds"] == 5)
        check("warning deleted h/old" in daemon.log_text(), "no warning")
        equal(ask(daemon, "/api/v1/status")["disk"]["limits"]
              ["keep_at_least"], 4, "in the status")
        set_limits(daemon, keep_at_least="4s", max_age="3s")
        why = (f"{daemon.top}/conf:3: --max-age=3s is less than --keep-at-least=4s: set "
               "--keep-at-least=3s, or a longer --max-age")
        daemon.wait_log(why)
        checked = subprocess.run([*daemon.command, "--check-config"],
                                 env=daemon.environment, capture_output=True,
                                 check=False)
        equal(checked.returncode, 1, "--check-config")
        check(why in checked.stderr.decode(), checked.stderr)


def links_inside():
    """Links in a session's directory, and all that somebody put there, stay
    with the folders above them; what a link points to is not touched."""
    with start() as daemon:
        one = record(daemon, "one")
        precious = daemon.top / "precious"
        precious.mkdir()
        (precious / "file").write_text("mine")
        theirs = [one / "link", one / "ust/file", one / "ust/uid/report.txt",
                  one / "a/b/c/pipe"]
        theirs[0].symlink_to(precious)
        theirs[1].symlink_to(precious / "file")
        theirs[2].write_text("mine")
        theirs[3].parent.mkdir(parents=True)
        os.mkfifo(theirs[3])
        (one / "a/b/empty").mkdir()
        wait_finished(daemon, one)
        set_limits(daemon, max_use="1k")
        daemon.wait_log(f"{one.relative_to(daemon.out)}: files that "
                        "the relay did not create are left there: 4\n")
        wait_until("forgotten", lambda: stored(daemon) == {})
        equal({p for p in one.rglob("*") if p.is_symlink() or not p.is_dir()},
              set(theirs), "what is left")
        check(not (one / "ust/uid/0").exists(), "an empty folder is left")
        check(not (one / "a/b/empty").exists(), "an empty folder is left")
        check((precious / "file").read_text() == "mine", "harmed")


def an_error_deletes_nothing():
    """With no inode left nothing can be created, but there is room."""
    def case(daemon):
        old = record(daemon, "old")
        wait_finished(daemon, old)
        try:
            for i in range(1000):
                (daemon.out / f"fill{i}").touch()
            check(False, "there are inodes")
        except OSError:
            pass
        s = relay.Session(daemon, "goes-on")
        s.packet()
        daemon.wait_log("no space")
        stay(old)
        for c in (s.control, s.data):
            c.close()
    small_disk.run(case, "--keep-free=1B", "--keep-at-least=0s",
                   mount="size=8m,nr_inodes=100")


def finished(daemon, name):
    """A finished trace whose folders are not called as those of lttng are."""
    c, d = daemon.control(), daemon.data()
    c.version()
    _, code, path = c.create_session(name=name, uuid=os.urandom(16))
    equal((code, c.create_chunk(0)), (relay.OK, relay.OK), name)
    handle, _ = c.add_stream("ch", path="x")
    for seq in range(4):
        d.packet(handle, seq, bytes(65536))
        c.index(handle, seq, 65536)
    c.close_stream(handle, 3)
    c.close()
    d.close()
    wait_finished(daemon, daemon.out / path)
    return daemon.out / path


class OldPeer(old_peers.Old):
    """One of 2.10, whose folder is below TOP. This relay would refuse it;
    another one for the same output directory has no note of TOP."""

    def __init__(self, daemon, top):
        self.other = relay.Daemon(f"-o{daemon.out}")
        self.other.out = daemon.out
        super().__init__(self.other, 10, "live", str(
            (top / "inner/ust").relative_to(daemon.out)))
        self.packets(3)

    def finish(self):
        super().finish(2)


class InAnEmptyFolder(relay.Session):
    """It has a folder below TOP that somebody left there."""

    def __init__(self, daemon, top):
        (top / "inner").mkdir()
        super().__init__(daemon, "live", base=f"{top.name}/inner")
        self.packet()
        self.wait_written()


class OfAnotherRelay(relay.Session):
    """It has a folder below TOP, and another relay for the same output
    directory."""

    def __init__(self, daemon, top):
        self.other = relay.Daemon(f"-o{daemon.out}")
        self.other.out = daemon.out
        super().__init__(self.other, "live", base=f"{top.name}/inner")
        self.packet()
        self.wait_written()


def live_inside(live, daemon, limits):
    """A trace that runs inside of one that has finished keeps it whole."""
    before = finished(daemon, "before")
    peer = live(daemon, before)
    with getattr(peer, "other", contextlib.nullcontext()):
        alone = finished(daemon, "alone")
        files = {p for p in daemon.out.rglob("*") if p.is_file()
                 and alone not in p.parents and not p.name.startswith(".")}
        time.sleep(1.2)
        set_limits(daemon, **limits(daemon))

        def gone():
            return {p for p in files if not p.exists()}
        wait_until("something goes", lambda: gone() or not alone.exists())
        time.sleep(1.2)
        # BEFORE may go when the other is not inside of it; then as a whole.
        check(gone() in (set(), {p for p in files if before in p.parents}) and
              files - gone(), "a live trace is deleted")
        peer.finish()


def finished_inside():
    """A trace that another relay has finished inside of one of ours, after the
    end of that, keeps it, too."""
    with start() as daemon:
        before = finished(daemon, "before")
        time.sleep(1.2)
        peer = OfAnotherRelay(daemon, before)
        with peer.other:
            peer.finish()
            peer.leave()
        files = {p for p in before.rglob("*") if p.is_file()}
        check(any("inner" in p.parts for p in files), "nothing inside")
        alone = finished(daemon, "alone")
        time.sleep(1.2)
        set_limits(daemon, **older(daemon))
        wait_gone(alone)
        time.sleep(1.2)
        equal({p for p in files if not p.exists()}, set(), "deleted")


def case_inside(live, limits):
    def case():
        with start() as daemon:
            live_inside(live, daemon, limits)

    def case_on_small_disk():
        def run(daemon):
            write_settings(daemon)
            daemon.command += ["-f", str(daemon.top / "conf")]
            daemon.kill()
            daemon.start_again()
            live_inside(live, daemon, limits)
        small_disk.run(run)
    made = case_on_small_disk if limits is keep_free else case
    made.__name__ = f"{limits.__name__}_{live.__name__}".lower()
    return made


def max_use(_):
    return {"max_use": "400k"}


def keep_free(daemon):
    return {"keep_free": f"{small_disk.free(daemon) + 150000}B"}


def older(_):
    return {"max_age": "1s"}


if __name__ == "__main__":
    sys.exit(relay.main(at_once=4, more=[
        case_inside(live, limits)
        for live in (OldPeer, InAnEmptyFolder, OfAnotherRelay)
        for limits in (max_use, older, keep_free)]))
