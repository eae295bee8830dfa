#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The sandbox of a daemon that serves: all that a session needs goes on, with
each value of --sandbox, wherever the output directory is. What cannot be done in
it, tests/relayd/check_sandbox tries."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import relay
import resume
from relay import check, equal

ON = ()
STRICT = ("--sandbox=strict",)


def _has_seccomp():
    said = subprocess.run([relay.PROGRAM, "--help"], check=True,
                          capture_output=True, text=True).stdout
    return "Landlock and seccomp" in said


def _has_landlock():
    with relay.Daemon("-v") as daemon:
        daemon.stop()   # the line comes after the port files
        return "Landlock is on" in daemon.log_text()


def lines_of(pid, key):
    """What the threads of a process have in /proc/PID/task/*/status."""
    values = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for line in (task / "status").read_text().splitlines():
            if line.startswith(key + ":"):
                values.append(line.split()[1])
    return values


def record(daemon, name):
    """A session that does all that sessions do with files."""
    session = relay.Session(daemon, name)
    session.packets(1)
    control = session.control
    control.next_chunk(1, 0, (session.stream, 1), (session.meta, 0))
    ring, _ = control.add_stream("ring", "ust/uid/0/64-bit", 4096, 2)
    for seq in range(6):
        session.data.packet(ring, seq, bytes([seq]) * 4096)
        control.index(ring, seq, 4096)
    control.wait_written(ring, 5)
    # Clear: the next chunk's files go.
    control.next_chunk(2, 2, (session.stream, 1), (session.meta, 0), (ring, 6))
    session.packets(1)
    for stream in (session.stream, session.meta, ring):
        control.close_stream(stream)
    control.close()
    session.data.close()


def archives(daemon):
    return [p for p in daemon.out.rglob("archives/*") if p.is_dir()]


def sessions_need_nothing_else():
    """Rotation, rings, clear, with each value; nothing is said about it."""
    for options in (ON, STRICT, ("--sandbox=landlock",),
                    ("--sandbox=seccomp",), ("--sandbox=off",),
                    ("--group-output-by-session",), ("--sync=packet",)):
        with relay.Daemon(*options) as daemon:
            record(daemon, "one")
            sender = resume.Sender(daemon, bytes(range(16)))
            check((daemon.out / sender.path / ".tracepulse-key").exists(),
                  f"{options}: no key of a session that may be resumed")
            sender.close()
            sender.leave()
            daemon.stop()
            equal(len(archives(daemon)), 1, f"archives with {options}")
            log = daemon.log_text()
            for word in ("sandbox", "rror", "not permitted", "denied",
                         "not implemented"):
                check(word not in log, f"{options}: {log}")
            equal(sorted(p.name for p in daemon.rundir.rglob("*")),
                  ["relayd"], "left in the run directory")


def all_threads_are_in_it():
    for options, wanted in ((ON, "2"), (("--sandbox=landlock",), "0"),
                            (("--sandbox=seccomp",), "2"),
                            (("--sandbox=off",), "0")):
        if not _has_seccomp():
            print("Without seccomp: this build has none.")
            break
        with relay.Daemon(*options) as daemon:
            record(daemon, "one")
            states = set(lines_of(daemon.process.pid, "Seccomp"))
            equal(states, {wanted}, f"Seccomp with {options}")


def the_output_directory_may_be_anywhere():
    """Made at the start with its parents; a link; named with . and .."""
    for options in (ON, STRICT):
        for kind in ("deep", "link", "dots"):
            with relay.Daemon() as other:
                top = other.top
                (top / "real").mkdir()
                (top / "link").symlink_to("real")
                path = {"deep": top / "a/b/c", "link": top / "link",
                        "dots": top / "real/../real/./x"}[kind]
                with relay.Daemon("-o", str(path), *options) as daemon:
                    daemon.out = pathlib.Path(path)
                    record(daemon, "one")
                    relay.soon(lambda: equal(
                        len(archives(daemon)), 1, f"{kind}: archives"))
                    daemon.stop()
                    check("rror" not in daemon.log_text(), daemon.log_text())


def another_mount_is_fine():
    """A mount point, which only root can make; nor everywhere."""
    for options in (ON, STRICT):
        with relay.Daemon() as other:
            mount = other.top / "mnt"
            mount.mkdir()
            done = subprocess.run(["mount", "-t", "tmpfs", "none", mount],
                                  stderr=subprocess.DEVNULL)
            if done.returncode != 0:
                print("SKIP another_mount_is_fine: not permitted to mount")
                return
            try:
                for path in (mount, mount / "below"):
                    with relay.Daemon("-o", str(path), *options) as daemon:
                        daemon.out = pathlib.Path(path)
                        record(daemon, "one")
                        relay.soon(lambda: check(
                            archives(daemon), f"no archives in {path}"))
            finally:
                subprocess.run(["umount", "-l", mount], check=True)


def wait_for(text, path):
    relay.wait_until(f"no {text!r} in {path}",
                     lambda: path.exists() and text in path.read_text())


def a_reload_finds_its_files():
    """Those that were replaced, as editors and logrotate do; another log file
    only beside the old one."""
    for options in (ON, STRICT):
        with tempfile.TemporaryDirectory() as top:
            log, conf = pathlib.Path(top, "logs/log"), pathlib.Path(top, "c/c")
            log.parent.mkdir()
            conf.parent.mkdir()
            conf.write_text("[relayd]\n")

            def reload(text):
                new = conf.with_name("new")
                new.write_text("[relayd]\n" + text)
                new.rename(conf)
                daemon.process.send_signal(signal.SIGHUP)

            with relay.Daemon("-f", str(conf), "--log-file", str(log),
                              *options) as daemon:
                log.rename(log.with_name("log.1"))
                reload("log-level=debug\n")
                record(daemon, "one")
                wait_for("control connection", log)
                log.rename(log.with_name("log.2"))
                reload("unknown=1\n")
                wait_for("", log)
                wait_for("unknown key", log.with_name("log.2"))
                record(daemon, "two")
                daemon.stop()


def two_relays_share_a_directory():
    with relay.Daemon(*STRICT) as one:
        with relay.Daemon("-o", str(one.out), *STRICT) as two:
            two.out = one.out
            record(one, "one")
            record(two, "two")
            relay.soon(lambda: equal(len(archives(one)), 2, "archives"))


def a_crash_is_mended_in_it():
    """What the last start left, also where only the output can be reached."""
    with relay.Daemon(*STRICT) as daemon:
        session = relay.Session(daemon)
        session.packet()
        daemon.kill()
        daemon.start_again()
        relay.soon(lambda: equal(list(daemon.out.glob(
            ".tracepulse-journal.*")), [], "journals"))
        record(daemon, "next")


def a_directory_that_was_replaced():
    """Made again where that can be; else new sessions are refused, and the log
    says why."""
    for options, goes_on in ((ON, True), (STRICT, False)):
        with relay.Daemon(*options) as daemon:
            record(daemon, "one")
            relay.remove(daemon.out)
            if goes_on:
                record(daemon, "two")
                relay.soon(lambda: equal(len(archives(daemon)), 1, "archives"))
                continue
            control = daemon.peer()
            control.create_session(name="two", want=relay.FATAL)
            check("--sandbox=strict" in daemon.log_text(), daemon.log_text())


def files_that_are_removed_at_the_end():
    with relay.Daemon() as other:
        for name in ("pid", "health"):
            (other.top / name).mkdir()
        pid, health = other.top / "pid/file", other.top / "health/socket"
        with relay.Daemon("--pid-file", str(pid),
                          env={"LTTNG_RELAYD_HEALTH": str(health)}) as daemon:
            until = time.monotonic() + relay.TIMEOUT
            # It is written after the port files.
            while not pid.exists() or not pid.read_text():
                check(time.monotonic() < until, "no pid file")
                time.sleep(0.005)
            equal(int(pid.read_text()), daemon.process.pid, "pid file")
            check(health.is_socket(), "no health socket")
            daemon.stop()
        check(not pid.exists() and not health.exists(), "files stay")


def a_zone_is_known():
    """The time zone's file is outside: names have local time nevertheless."""
    os.environ.pop("TZ", None)
    for zone in ("Asia/Tokyo", ":/usr/share/zoneinfo/Asia/Tokyo"):
        if not os.path.exists("/usr/share/zoneinfo/Asia/Tokyo"):
            print("SKIP a_zone_is_known: there are no time zones")
            return
        with relay.Daemon(*STRICT, env={"TZ": zone}) as daemon:
            session = relay.Session(daemon, "here")
            stamp = time.strftime(
                "%Y%m%d-%H%M", time.gmtime(1_800_000_000 + 9 * 3600))
            check(f"here-{stamp}" in str(session.dir), str(session.dir))
            session.finish()


if __name__ == "__main__":
    if not _has_landlock():
        print("SKIP: this kernel has no Landlock")
        sys.exit(77)
    sys.exit(relay.main())
