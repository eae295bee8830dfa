#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Settings of a daemon that runs, SIGHUP, and its log. Starts daemons of its
own."""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

import looking
import relay
import viewer
from relay import check, equal


@contextlib.contextmanager
def a_file(text):
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write(text)
        f.flush()
        yield pathlib.Path(f.name)


def hang_up(daemon):
    """SIGHUP, until all is done."""
    def done():
        log = daemon.log_text()
        return log.count("reload: done") + log.count("reload: nothing changed")
    before = done()
    daemon.process.send_signal(signal.SIGHUP)
    relay.wait_until("no reload", lambda: done() > before)


def a_reload_changes_what_can_be():
    """The others are named; a bad file changes nothing."""
    with a_file("[relayd]\nlog-level=notice\nmax-memory=64M\n") as conf, \
            relay.Daemon("-f", str(conf)) as daemon:
        session = relay.Session(daemon)
        session.packet()
        conf.write_text("[relayd]\nlog-level=debug\nmax-memory=65M\n"
                        "live-hold=off\n")
        hang_up(daemon)
        log = daemon.log_text()
        for text in ('--log-level is "debug" now, it was "notice"',
                     'warning reload: --max-memory stays "64M"',
                     'warning reload: --live-hold stays "yes"'):
            check(text in log, f"no {text}: {log}")
        check("--workers" not in log, f"workers: {log}")
        daemon.control().close()
        daemon.wait_log("debug ")
        conf.write_text("[relayd]\nlog-level=error\nmax-memroy=1\n"
                        "max-age=30\n")
        hang_up(daemon)
        log = daemon.log_text()
        check(f'error {conf}:3: unknown key "max-memroy" (did you mean '
              '"max-memory"?' in log, log)
        check(f"error {conf}:4: --max-age 30: a unit is missing (did you mean "
              "30s? units: s, ms, m, h, d)" in log, log)
        before = daemon.log_text().count("debug ")
        daemon.control().close()
        daemon.wait_log("debug ", before + 1)
        session.packet()
        session.finish()


def a_reload_reaches_threads():
    """HTTP and viewers have the new values, and reloads are counted."""
    with a_file("[relayd]\nmax-viewers-per-session=1\n") as conf, \
            relay.Daemon("-f", str(conf)) as daemon:
        def status_of(host):
            return looking.get(daemon, "/healthz", headers={"Host": host})[0]

        c, d, handle = looking.record(daemon, name="seen", live=1_000_000)
        c.code(relay.STREAMS_SENT)
        viewers = []
        for _ in range(3):
            v = viewer.greeted(daemon)
            v.create()
            viewers.append(v)
        ident = viewers[0].find("seen").id
        equal(viewers[0].attach(ident)[0], viewer.ATTACHED, "the first")
        equal(viewers[1].attach(ident)[0], viewer.ALREADY, "one")
        equal((status_of("new.example"), status_of("localhost")), (403, 200),
              "names before")
        conf.write_text("[relayd]\nmax-viewers-per-session=2\n"
                        "http-host=new.example\nmetrics-per-session=yes\n"
                        "http-download=yes\n")
        equal(looking.get(daemon, "/api/v1/stored/1-1/trace.tar")[0], 403,
              "downloads before")
        hang_up(daemon)
        looking.wait_until("the name is ours",
                           lambda: status_of("new.example") == 200)
        equal(looking.get(daemon, "/api/v1/stored/1-1/trace.tar")[0], 404,
              "downloads")
        m = looking.metrics(daemon)
        check(any(k.startswith("tracepulse_session_") for k in m),
              "no metrics of sessions")
        looking.wait_until("a second one", lambda: viewers[1].attach(ident)[
            0] == viewer.ATTACHED)
        equal(viewers[2].attach(ident)[0], viewer.ALREADY, "two")
        conf.write_text("[relayd]\nmax-viewers=what\n")
        hang_up(daemon)

        def reloads():
            m = looking.metrics(daemon)
            return [m['tracepulse_config_reloads_total{result="%s"}' % r]
                    for r in ("success", "failure")]
        looking.wait_until("reloads are counted", lambda: reloads() == [1, 1])
        conf.write_text("[relayd]\n")
        hang_up(daemon)
        looking.wait_until("the name is ours no more",
                           lambda: status_of("new.example") == 403)
        looking.wait_until("a third one", lambda: viewers[2].attach(ident)[
            0] == viewer.ATTACHED)
        for v in viewers:
            v.close()
        looking.end(c, d, handle)


def systemd_gives_an_output_directory():
    """Only to the process that it started; a file says more."""
    with tempfile.TemporaryDirectory() as top:
        def output(pid, *options):
            script = f'export SYSTEMD_EXEC_PID={pid}; exec "$0" "$@"'
            done = subprocess.run(
                ["sh", "-c", script, relay.PROGRAM, "--print-config",
                 *options], capture_output=True, env={
                     "HOME": "/home/of", "STATE_DIRECTORY": "/var/lib/x",
                     "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")})
            equal(done.returncode, 0, f"{done.stderr}")
            return next(line.split()[2:] for line in
                        done.stdout.decode().splitlines()
                        if line.startswith("output ="))
        equal(output("$$"), ["/var/lib/x", ";", "STATE_DIRECTORY"], "its own")
        equal(output("1"), ["/home/of/lttng-traces", ";", "default"],
              "another's")
        conf = pathlib.Path(top, "conf")
        conf.write_text("[relayd]\noutput=/srv/traces\n")
        equal(output("$$", "-f", str(conf))[0], "/srv/traces", "of a file")


def hanging_up_ends_nothing():
    """However often, and with sessions under way."""
    with relay.Daemon() as daemon:
        session = relay.Session(daemon)
        for _ in range(50):
            daemon.process.send_signal(signal.SIGHUP)
            session.packet()
        hang_up(daemon)
        session.finish()


def heard(notify):
    """What is no line for people."""
    while True:
        text = notify.recv(999)
        if not text.startswith(b"STATUS="):
            return text


def systemd_hears_of_a_reload():
    with tempfile.TemporaryDirectory() as top, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(top + "/n")
        notify.settimeout(relay.TIMEOUT)
        with relay.Daemon(env={"NOTIFY_SOCKET": top + "/n"}) as daemon:
            check(heard(notify).startswith(b"READY=1\n"), "READY=1")
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            daemon.process.send_signal(signal.SIGHUP)
            said = dict(line.split("=") for line in
                        heard(notify).decode().split())
            after = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            equal(said["RELOADING"], "1", "RELOADING")
            check(before <= int(said["MONOTONIC_USEC"]) <= after, f"{said}")
            equal(heard(notify), b"READY=1\n", "the end of it")


def a_log_file_is_opened_again():
    """As logrotate wants it. It is not for everybody to read."""
    with tempfile.TemporaryDirectory() as top:
        path = pathlib.Path(top, "log")
        with relay.Daemon("--log-file", str(path), "--group", "root",
                          limit=lambda: os.umask(0o022)) as daemon:
            equal(oct(stat.S_IMODE(path.stat().st_mode)), oct(0o640), "mode")
            relay.wait_until("no line", lambda: " ready: " in path.read_text())
            text = path.read_text()
            check(" notice tracepulse-relayd " in text and
                  f"control tcp://127.0.0.1:{daemon.control_port}, " in text
                  and f"data tcp://127.0.0.1:{daemon.data_port}, " in text
                  and f"live tcp://127.0.0.1:{daemon.live_port}" in text,
                  text)
            equal(daemon.log_text(), "", "standard error")
            old = path.rename(pathlib.Path(top, "log.1"))
            daemon.process.send_signal(signal.SIGHUP)
            relay.wait_until("not opened again", path.exists)
            bad = daemon.control()
            bad.send(b"\xff" * 100)
            bad.ends()
            relay.wait_until("no line", lambda: "connection closed"
                             in path.read_text())
            check("connection closed" not in old.read_text(), "the old file")
            # One that cannot be opened leaves the other in use.
            path.unlink()
            path.mkdir()
            daemon.process.send_signal(signal.SIGHUP)
            relay.Session(daemon).control.close()
        check("shutting down" not in old.read_text(), "the old file")


def a_full_disk_stops_no_relay():
    with relay.Daemon("--log-file", "/dev/full", "--log-level",
                      "debug") as daemon, relay.bystander(daemon) as good:
        good.packet()
        daemon.process.send_signal(signal.SIGHUP)
        good.packet()


def every_line_is_json():
    """With names that are not."""
    names = ['a"b', "back\\slash", "new\nline", "a b stream=x",
             "esc\x1b[2J", "{}", "caf\xe9", '","level":"error']
    with tempfile.TemporaryDirectory() as top:
        path = pathlib.Path(top, "log")
        with relay.Daemon("--log-file", str(path), "--log-format=json",
                          "--log-level=debug") as daemon:
            for name in names + [b"\xff\xfe"]:
                c = daemon.peer()
                with contextlib.suppress(relay.Failed, OSError):
                    c.create_session(name=name)
                    c.send(relay.frame(relay.ADD_STREAM, b"short"))
                    c.ends()
                c.close()
        lines = path.read_bytes().decode().splitlines()
        found = [json.loads(line) for line in lines]
        check(len(found) > len(names), f"{len(found)} lines")
        for one in found:
            check({"time", "level", "message"} <= set(one), f"{one}")
            check(set(one) <= {"time", "level", "message", "peer", "host",
                               "session", "stream"}, f"{one}")
        check(any(one.get("peer", "").startswith("127.0.0.1:") for one in
                  found), "no peer")
        check(any(one.get("session", "").endswith('/a"b') for one in found),
              f"no session: {path.read_text()}")


def with_daemonize_the_file_remains():
    with tempfile.TemporaryDirectory() as top:
        any_port = "tcp://127.0.0.1:0"
        done = subprocess.run(
            [relay.PROGRAM, "-d", "-P", top + "/pid", "-o", top + "/out",
             "-g", "no_such_group",
             "--dynamic-port-allocation", "-C", any_port, "-D", any_port,
             "-L", any_port, "--log-file", "log"],
            env=dict(os.environ, HOME=top, LTTNG_RUNDIR=top + "/run",
                     TRACEPULSE_STATE_DIR=top + "/state"),
            cwd=top, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=relay.TIMEOUT)
        equal((done.returncode, done.stdout), (0, b""), "-d")
        pid = int(pathlib.Path(top, "pid").read_text())
        log = pathlib.Path(top, "log")
        try:
            check(" ready: " in log.read_text(), "no line")
            log.rename(top + "/log.1")
            os.kill(pid, signal.SIGHUP)
            # The working directory is / now, and the file is where it was.
            relay.wait_until("not opened again", log.exists)
        finally:
            os.kill(pid, signal.SIGTERM)
        relay.wait_until("does not end",
                         lambda: not os.path.exists(top + "/pid"))


# 203.0.113.0/24 is nobody's.
ADDRESSES = [
    ("", ""),
    ("-L tcp://127.0.0.1:7001 -C tcp://127.0.0.2:7001", ""),
    ("-C tcp://203.0.113.1", "--control-port: cannot listen on \"203.0.113.1\""),
    ("-D tcp://localhost:5342", "--control-port and --data-port"),
    ("-L tcp://127.0.0.1:5343", "--data-port and --live-port"),
    ("--http=tcp://0.0.0.0:5344", "--live-port and --http"),
    ("-C tcp6://[::]:5343", "--control-port and --data-port"),
]


def the_configuration_is_told():
    """--check-config and --print-config start nothing."""
    with tempfile.TemporaryDirectory() as top, \
            a_file(f"[relayd]\noutput={top}/out\n") as conf:
        def ask(*options):
            return relay.run_program(top, "-f", str(conf), *options)
        done = ask("--check-config")
        equal((done.returncode, done.stdout), (0, ""), "a good file")
        done = ask("--print-config", "--workers=1")
        equal(done.returncode, 0, "--print-config")
        lines = done.stdout.splitlines()
        check(any(li.split() == ["output", "=", top + "/out", ";",
                                 f"{conf}:2"] for li in lines), f"{lines}")
        check(any(li.split() == ["workers", "=", "1", ";", "command", "line"]
                  for li in lines), f"{lines}")
        conf.write_text(f"[relayd]\noutput={conf}/x\nlive-prot=x\n")
        done = ask("--check-config")
        equal(done.returncode, 1, "a bad file")
        check('did you mean "live-port"?' in done.stderr, f"{done.stderr}")
        conf.write_text(f"[relayd]\noutput={conf}/x\n")
        done = ask("--check-config")
        equal(done.returncode, 1, "a bad directory")
        check("--output" in done.stderr, f"{done.stderr}")
        conf.write_text(f"[relayd]\noutput={top}/out\n")
        for words, wanted in ADDRESSES:
            done = ask("--check-config", *words.split())
            equal((done.returncode, wanted in done.stderr),
                  (1 if wanted else 0, True), f"{words}: {done.stderr}")
        done = ask("--max-usee=5G")
        equal(done.returncode, 1, "an unknown option")
        check('did you mean "--max-use"?' in done.stderr, f"{done.stderr}")
        done = ask("--print-config", "--max-age=72h", "--live-window=67108864B")
        for line in ("max-age = 3d ", "live-window = 64M "):
            check(line in done.stdout, f"{line}: {done.stdout}")
        equal(os.listdir(top), [], "nothing is made")


def the_packaged_file_can_be_read():
    """Each setting in it, and each that a reload changes is where it is said."""
    top = pathlib.Path(os.path.abspath(__file__)).parents[2]
    text = (top / "relayd/systemd/relayd.conf").read_text()
    table = (top / "relayd/process/options.tbl.h").read_text()
    can_reload = {name for name, rest in re.findall(
        r'^OPTION\(\w+, [^,]*, "([a-z-]+)",(.*\n.*)', table, re.M)
        if "RELOADED(" in rest} - {"verbose"}
    first, second = text.split("# ---- Applied by: systemctl restart")
    equal(set(re.findall(r"^;([a-z-]+) =", first, re.M)), can_reload,
          "settings that a reload changes")
    check(not can_reload & set(re.findall(r"^;([a-z-]+) =", second, re.M)),
          "settings that it changes, below the others")
    with tempfile.TemporaryDirectory() as home, \
            a_file(re.sub("^;(log-file|output|state-dir).*", "", text, flags=re.M)
                   .replace("\n;", "\n")) as conf:
        done = relay.run_program(home, "-f", str(conf), "--check-config")
        equal((done.returncode, done.stderr), (0, ""), "all that is in it")
    check(re.search("^[^#;[\n]", text, re.M) is None, "a setting is in force")


def errors_name_file_and_line():
    """What cannot be listened on, or written to: when it is checked, and when
    the relay starts."""
    with tempfile.TemporaryDirectory() as top, a_file("") as conf:
        def ask(text, *options):
            conf.write_text(text)
            done = relay.run_program(
                top, "-f", str(conf), *options,
                TRACEPULSE_LIVE_PORT="tcp://203.0.113.2:7003")
            equal(done.returncode, 1, "exit status")
            return done.stderr
        start = f"[relayd]\noutput={top}/out\n"
        said = ask(start + "control-port=tcp://203.0.113.1:7001\n"
                   f"log-file={top}/none/log\nhttp=none\n", "--check-config")
        for wanted in (f'error {conf}:3: --control-port: cannot listen on "203.',
                       f"error {conf}:4: --log-file {top}/none/log: ",
                       'error TRACEPULSE_LIVE_PORT: --live-port: cannot listen'):
            check(wanted in said, f"no {wanted!r}: {said}")
        said = ask(start + "data-port=tcp://127.0.0.1:7001\n"
                   "control-port=tcp://127.0.0.1:7001\n", "--check-config")
        check(f"{conf}:4: --control-port and {conf}:3: --data-port have the "
              "same address" in said, said)
        said = ask(start + "data-port=tcp://127.0.0.2:7001\n"
                   "control-port=tcp://127.0.0.1:7001\n", "--check-config",
                   "--live-port=tcp://127.0.0.1:7001")
        check(f"{conf}:4: --control-port and --live-port have the same "
              "address" in said, said)
        said = ask(start + "control-port=tcp://203.0.113.1:7001\n")
        check(f"error {conf}:3: control port: cannot listen on 203.0.113.1 port "
              "7001" in said, said)
        said = ask(start + "control-port=tcp://nowhere.invalid:7001\n")
        check(f"error {conf}:3: control port: cannot find the address of "
              "'nowhere.invalid'" in said, said)


if __name__ == "__main__":
    sys.exit(relay.main())
