#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each command of tracepulse with a real relay and real sessions."""
import contextlib
import itertools
import json
import os
import re
import select
import shlex
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import program
import relay
from program import ask, pretended, run, url_of
from relay import check, equal
sys.path.insert(0, os.path.dirname(os.path.abspath(relay.__file__)))
import looking

EVIL = "a\u202eb".encode()  # the relay takes no control characters


def status():
    """What the API says is what is shown; a loss by its cause."""
    with relay.Daemon() as daemon:
        url = url_of(daemon)
        out, _ = run(url, "status")
        check(re.search(r"^State +ready$", out, re.M), out)
        check(re.search(r"^Lost +nothing$", out, re.M), out)
        kept = looking.record(daemon, packets=1, name="gap")
        looking.wait_until("a packet", lambda: re.search(
            "^Received .* 1 packet in all$", run(url, "status")[0], re.M))
        kept[1].packet(kept[2], 4, b"y" * 10)
        equal(kept[0].index(kept[2], 4, 10), relay.OK, "index")
        looking.wait_until("the loss", lambda: "gap 3" in run(url, "status")[0])
        out, _ = run(url, "status")
        check(re.search(r"^Lost +3 packets \(gap 3\)", out, re.M), out)
        check(re.search(r"^Sessions +1, with 1 stream; 0 viewers$", out, re.M),
              out)
        check(f"live 127.0.0.1:{daemon.live_port}" in out, out)
        check("\033" not in out, "colours without a terminal")
        s = ask(url, "status")
        equal(s["totals"]["lost_packets_total"]["gap"], 3, "JSON")
        check("Cut" not in out, out)
        daemon.stop()
        daemon.is_stopped = False
        daemon.start_again()
        url = url_of(daemon)
        out, _ = run(url, "status")
        check(re.search(r"^Cut +1 session interrupted when the relay last ended; destroy "
                        "and create", out, re.M), out)


def rates():
    """Every rate that the relay reports is shown, also by check. They are of the
    last seconds, so packets come, and get lost, all the time."""
    with relay.Daemon() as daemon:
        url = url_of(daemon)
        kept = looking.record(daemon, packets=1, name="gap")
        numbers = itertools.count(4, 4)

        def is_shown(pattern, *words, status=0):
            seq = next(numbers)
            kept[1].packet(kept[2], seq, b"y" * 10)
            equal(kept[0].index(kept[2], seq, 10), relay.OK, "index")
            return re.search(pattern, run(url, *words, status=status)[0], re.M)

        # What is lost makes check give status 1.
        looking.wait_until("the loss", lambda: is_shown("^Lost .*gap", "status"))
        for pattern, *words in (
                (r"^Received +[1-9]\d* B/s, [\d.]*[1-9][\d.]* packets/s;", "status"),
                (r"^Written +[1-9]\d* B/s;", "status"),
                (r"^Lost .*, [\d.]*[1-9][\d.]*/s", "status"),
                (r"1 session, [1-9]\d* B/s \|", "check"),
                (r"^received [1-9]\d* B/s", "top", "-n1")):
            looking.wait_until(pattern, lambda p=pattern, w=words: is_shown(
                p, *w, status=int(w == ["check"])))


def sessions():
    """Tables, names, pages, hosts, what has ended; names of peers as text."""
    with relay.Daemon() as daemon:
        url = url_of(daemon)
        out, err = run(url, "sessions")
        equal((out, "no sessions" in err), ("", True), "none")
        live = looking.record(daemon, name="web", host="box", live=1_000_000)
        evil = looking.record(daemon, name=EVIL, host="box", uuid=b"2" * 16)
        out, _ = run(url, "sessions")
        rows = [line.split() for line in out.splitlines()]
        equal(rows[0], "NUMBER HOST NAME STATE AGE RECEIVED STREAMS VIEWERS "
              "LOST".split(), "head")
        equal([r[1:3] for r in rows[1:]],
              [["box", "web"], ["box", "a\\u202eb"]], "names")
        equal(rows[1][5:7], ["2.9", "KiB"], "received")
        out, _ = run(url, "sessions", "-l")
        check(re.search(r" live +tcp +127.0.0.1:\d+ +box/web-\d+", out), out)
        equal(run(url, "sessions", "--names")[0], "box/web\n", "names")
        equal(len(ask(url, "sessions", "--host=x")["sessions"]), 0, "host")
        for line in run(url, "sessions", COLUMNS="40")[0].splitlines():
            check(len(line) <= 40, line)
        looking.end(*live)
        looking.wait_until("its end", lambda: len(
            ask(url, "sessions")["sessions"]) == 1)
        equal(len(ask(url, "sessions", "--all")["sessions"]), 2, "with ended")
        check(" closed " in run(url, "sessions", "-a")[0], "why it ended")
        looking.end(*evil)


def show():
    """By number, name, host and name; several of one name are listed."""
    with relay.Daemon() as daemon:
        url = url_of(daemon)
        a = looking.record(daemon, packets=5, name="same", host="box")
        b = looking.record(daemon, name="same", host="other", uuid=b"2" * 16)
        numbers = {s["host"]: s["id"] for s in ask(url, "sessions")["sessions"]}
        for word in ("box/same", str(numbers["box"])):
            out, _ = run(url, "show", word)
            check(re.search(r"^Session +same, number "
                            rf"{numbers['box']}$", out, re.M), out)
            check(re.search(r"^ust/uid/0/64-bit/chan_0 +4.9 KiB +5 ", out, re.M),
                  out)
            check("session_began" in out, out)
        one = ask(url, "show", "box/same")
        equal((one["id"], one["streams"][0]["written_packets"]),
              (numbers["box"], 5), "JSON")
        _, err = run(url, "show", "same", status=1)
        check("2 sessions have this name" in err and "other" in err, err)
        check("no such session" in run(url, "show", "none", status=1)[1], "none")
        # What is open is meant, not what has ended.
        looking.end(*a, packets=5)
        looking.wait_until("its end", lambda: len(
            ask(url, "sessions")["sessions"]) == 1)
        equal(ask(url, "show", "same")["host"], "other", "the open one")
        equal(ask(url, "show", "box/same")["state"], "closed", "by its host")
        looking.end(*b)


def events():
    """As they happen, as lines of JSON too, and again after a new start."""
    with relay.Daemon() as daemon:
        url = url_of(daemon)
        looking.end(*looking.record(daemon, name="one", host="box"))
        looking.wait_until("its end", lambda: ask(
            url, "sessions", "-a")["sessions"][0]["state"] == "closed")
        out, _ = run(url, "events", "--recent=2", "-n2")
        check(re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  session_began  box/one "
                        r"peer=127.0.0.1:\d+\n\S+ \S+  session_ended  box/one "
                        r"closed after \d+s, 2.9 KiB\n$", out), out)
        lines = run(url, "events", "--recent=2", "-n2", "--json")[0]
        equal([json.loads(line)["event"] for line in lines.splitlines()],
              ["session_began", "session_ended"], "JSON")
        with listening(url) as listener:
            check(b"box/one" in line_of(listener), "a recent event")
            kept = looking.record(daemon, name="two", host="box")
            check(b"box/two" in line_of(listener), "the first event")
            looking.end(*kept)
            out, err = listener.communicate(timeout=60)
            equal((listener.returncode, b"session_ended" in out, err),
                  (0, True, b""), "the second")


@contextlib.contextmanager
def listening(url):
    """It shows one event that was, as soon as it listens, and two that come."""
    with subprocess.Popen(
            [program.PROGRAM, "events", "--recent=1", "-n3"], bufsize=0,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=program.environment(url)) as listener:
        try:
            yield listener
        finally:
            listener.kill()


def line_of(listener):
    """What it shows next."""
    check(select.select([listener.stdout], [], [], relay.TIMEOUT)[0],
          "no event is shown")
    return listener.stdout.readline()


def events_again():
    """The relay starts again on its port: events go on."""
    with relay.Daemon() as daemon:
        url = url_of(daemon)
        daemon.command.append(f"--http=tcp://127.0.0.1:{daemon.http_port}")
        kept = looking.record(daemon, name="before", packets=1)
        with listening(url) as listener:
            check(b"/before" in line_of(listener), "before")
            daemon.kill()
            daemon.start_again()
            for conn in kept[:2]:
                conn.close()
            looking.end(*looking.record(daemon, name="after", packets=1),
                        packets=1)
            out, err = listener.communicate(timeout=60)
            equal((listener.returncode, out.count(b"/after")), (0, 2), f"{out}")
            check(b"trying again" in err, err)


def check_command():
    """One line, and the exit status of a plug-in."""
    with relay.Daemon() as daemon, tempfile.TemporaryDirectory() as work:
        url, file = url_of(daemon), work + "/state"
        never = ("--disk-warning=0", "--disk-critical=0")
        line = re.compile(r"^TRACEPULSE (OK|WARNING|CRITICAL|UNKNOWN) - "
                          r"[^|\n]+ \| sessions=\d+ viewers=\d+ received=\d+B "
                          r"lost=\d+;\d+;\d* disk_free=[\d.]+%;\S+;\S+;0;100\n$")
        out, _ = run(url, "check", f"--state={file}", *never)
        equal(line.match(out)[1], "OK", out)
        kept = looking.record(daemon, packets=1)
        kept[1].packet(kept[2], 4, b"y" * 10)
        equal(kept[0].index(kept[2], 4, 10), relay.OK, "index")
        looking.wait_until("the loss", lambda: looking.metrics(daemon)[
            'tracepulse_lost_packets_total{cause="gap"}'] == 3)
        out, _ = run(url, "check", f"--state={file}", *never, status=1)
        check("3 packets lost since the last check" in out, out)
        run(url, "check", f"--state={file}", *never, status=0)
        run(url, "check", *never, status=1)
        run(url, "check", *never, "--lost-critical=3", status=2)
        out, _ = run(url, "check", "--disk-critical=100", status=2)
        check("of the disk is free" in out, out)
        equal(line.match(out)[1], "CRITICAL", out)
        run(url, "check", "--nothing", status=3)
        run(url, "check", "--state=/nowhere/x", status=3)
    out, _ = run(url, "check", status=2)
    check(out.startswith("TRACEPULSE CRITICAL - http://127.0.0.1:"), out)


def nobody_there():
    """A clear word and a status, at once."""
    begin = time.monotonic()
    for words in (("status",), ("sessions",), ("show", "x"), ("watch", "x"),
                  ("events",), ("stored",), ("vacuum",), ("keep", "x"), ("top",)):
        _, err = run("http://127.0.0.1:1", *words, status=1)
        check("no relay here" in err and err.count("\n") == 1, err)
    _, err = run("http://no.such.host.invalid", "status", status=1)
    check("no.such.host.invalid" in err, err)
    _, err = run("unix:/nowhere/x", "status", status=1)
    check("/nowhere/x" in err, err)
    check(time.monotonic() - begin < 60, "it took long")
    # What a proxy is for others is none for a relay.
    _, err = run("http://127.0.0.1:1", "status", status=1,
                 http_proxy="http://127.0.0.1:2")
    check("127.0.0.1:1" in err, err)


def bad_values():
    """What an option takes is said where its value is wrong."""
    for words, wanted in ((["events", "-nx"], "--count=N: top, events: exit after"),
                          (["status", "--timeout=x"], "--timeout=SECONDS: "),
                          (["top", "--sort=x"], "held, age or name")):
        _, err = run("http://localhost:1", *words, status=2)
        check('invalid value "x" for ' in err and wanted in err, err)


def options_of_others():
    for words, wanted in (
            (["keep", "s", "--host=h"],
             "tracepulse: --host cannot be used with keep; see --help\n"),
            (["status", "s"], 'tracepulse: unexpected argument "s"; see --help\n'),
            (["show"], "tracepulse: show requires a SESSION; see --help\n")):
        equal(run("http://localhost:1", *words, status=2)[1], wanted, words)


def helps():
    """All commands, or one with its options; ls is sessions."""
    nowhere = "http://127.0.0.1:1"
    whole, _ = run(nowhere, "help")
    equal(run(nowhere, "--help")[0], whole, "--help")
    for name in ("status", "watch", "check", "help"):
        check(re.search(rf"^  {name} ", whole, re.M), whole)
    watch_help, _ = run(nowhere, "help", "watch")
    for words in (("watch", "--help"), ("watch", "-h", "x"),
                  ("--help", "watch"), ("help", "watch", "--timeout=3")):
        equal(run(nowhere, *words)[0], watch_help, words)
    check(watch_help.startswith("Usage: tracepulse watch [OPTION]... S"), watch_help)
    equal([w in watch_help for w in ("--dry-run", "--url", "--sort", "status")],
          [True, True, False, False], watch_help)
    equal(run(nowhere, "ls", "--help"), run(nowhere, "help", "sessions"), "ls")
    for words in (("stauts",), ("help", "stauts"), ("stauts", "--help")):
        check('did you mean "status"?' in run(nowhere, *words, status=2)[1],
              words)
    check("no command given" in run(nowhere, status=2)[1], "nothing")
    with relay.Daemon() as daemon:
        kept = looking.record(daemon, name="web", host="box")
        equal(run(url_of(daemon), "ls", "--names")[0], "box/web\n", "ls")
        looking.end(*kept)


def addresses():
    """A Unix socket, and IPv6 where there is one."""
    with relay.Daemon() as other:
        path = other.top / "http.sock"
        with relay.Daemon(f"--http=unix:{path}"):
            out, _ = run(f"unix:{path}", "status")
            check("ready" in out, out)
    if not os.path.exists("/proc/net/if_inet6") or not open(
            "/proc/net/if_inet6", encoding="ascii").read():
        print("SKIP addresses: there is no IPv6")
        return
    with relay.Daemon("--http=tcp6://[::1]:0") as daemon:
        out, _ = run(f"http://[::1]:{daemon.http_port}", "status")
        check(f"http [::1]:{daemon.http_port}" in out, out)


def watch():
    """babeltrace2 is started with the right URL; what cannot be watched is
    refused in words."""
    with relay.Daemon() as daemon, tempfile.TemporaryDirectory() as work:
        url = url_of(daemon)
        looking_at = looking.record(daemon, name="web", host="box",
                                    live=1_000_000)
        other = looking.record(daemon, name="disk", uuid=b"2" * 16)
        quoted = looking.record(daemon, name="it's", host="box",
                                uuid=b"3" * 16, live=1_000_000)
        base = f"net://127.0.0.1:{daemon.live_port}/host/box"
        equal(run(url, "watch", "web", "--dry-run")[0],
              f"babeltrace2 -i lttng-live {base}/web\n", "command")
        equal(run(url, "watch", "it's", "--dry-run")[0],
              f"babeltrace2 -i lttng-live '{base}/it'\\''s'\n", "quoted")
        check("is not live" in run(url, "watch", "disk", status=1)[1], "disk")
        with open(work + "/babeltrace2", "w", encoding="ascii") as f:
            f.write("#!/bin/sh\nprintf '%s\\n' \"$@\"\nexit 7\n")
        os.chmod(work + "/babeltrace2", 0o755)
        out, _ = run(url, "watch", "web", "--", "-c", "x y", status=7,
                     PATH=work + ":" + os.environ["PATH"])
        equal(out.splitlines(),
              ["-i", "lttng-live", f"{base}/web", "-c", "x y"], "words")
        check("cannot be started" in run(url, "watch", "web", status=1,
                                         PATH="/nowhere")[1], "no viewer")
        for kept in (looking_at, other, quoted):
            looking.end(*kept)
        looking.wait_until("the end", lambda: not ask(
            url, "sessions")["sessions"])
        check("has ended" in run(url, "watch", "web", status=1)[1], "ended")


def watched(url, *words):
    """(the URLs that babeltrace2 would get, standard error)."""
    out, err = run(url, "watch", "--dry-run", *words)
    words = shlex.split(out)
    if words[1] == "-i":
        equal((words[2], len(words)), ("lttng-live", 4), out)
        return [words[3].partition("/host/")[2]], err
    found = []
    for component, kind, option, params in zip(*[iter(words[1:])] * 4):
        equal((component, kind, option),
              ("-c", "source.ctf.lttng-live", "-p"), out)
        head, tail = "inputs=", ',session-not-found-action="end"'
        check(params.startswith(head) and params.endswith(tail), params)
        found.append(json.loads(params[len(head):-len(tail)])[0]
                     .partition("/host/")[2])
    return found, err


def watch_several():
    """Several sessions, patterns and hosts; one without an application is
    waited for if it is named, and else left out beside others."""
    with relay.Daemon() as daemon:
        url = url_of(daemon)
        kept = [looking.record(daemon, name=name, host=host, live=1_000_000,
                               uuid=bytes([i + 1]) * 16)
                for i, (host, name) in enumerate((
                    ("box", "web"), ("other", "web"), ("box", 'w"[1]'),
                    ("box", "db")))]
        kept.append(looking.record(daemon, name="web-disk", host="box",
                                   uuid=b"d" * 16))
        for words, want in (
                (["web"], ["box/web", "other/web"]),
                (["box/web", "db"], ["box/web", "box/db"]),
                (["db", "box/d*", "db"], ["box/db"]),
                (["w*"], ["box/web", "other/web", 'box/w"[1]']),
                (['w"[1]'], ['box/w"[1]']),
                (["other/*", "db"], ["other/web", "box/db"]),
                (["--host=box"], ["box/web", 'box/w"[1]', "box/db"]),
                (["--host=box", "we?"], ["box/web"])):
            equal(watched(url, *words), (want, ""), words)
        check("host nowhere has no live session" in run(
            url, "watch", "--host=nowhere", status=1)[1], "no such host")
        for words in (["x*"], ["db", "none"], ["--host=other", "db"]):
            check("no such live session" in run(
                url, "watch", *words, status=1)[1], words)
        check("is not live" in run(url, "watch", "web*", "web-disk",
                                   status=1)[1], "not live")
        run(url, "watch", status=2)
        twin = looking.record(daemon, name="db", host="box", live=1_000_000,
                              uuid=b"t" * 16)
        equal(watched(url, "db"), (["box/db"], ""), "two of one name")
        check("without the other" in run(url, "watch", "4", status=1)[1],
              "by its number")
        early = daemon.control()
        early.version()
        equal(early.create_session(name="early", host="box", live=1_000_000,
                                   uuid=b"e" * 16)[1], relay.OK, "made")
        said = "tracepulse: box/early has no application yet: "
        equal(watched(url, "early"), (["box/early"], said + "waiting\n"),
              "alone")
        equal(watched(url, "e*"), (["box/early"], said + "waiting\n"),
              "by a pattern")
        equal(watched(url, "early", "db"), (
            ["box/early", "box/db"],
            said + "waiting; the other sessions are shown after it has one\n"),
            "with another")
        equal(watched(url, "box/[ed]*"), (["box/db"], said + "left out\n"),
              "found beside another")
        for one in kept + [twin]:
            looking.end(*one)
        early.close()


def watch_goes_nowhere_else():
    """What the relay says of its address does not lead to another machine."""
    session = {"id": 1, "host": "h", "name": "s", "state": "active",
               "live_timer_us": 1000000, "open_streams": 1}
    where = {"port": 5344}

    def answer(_, path, query):
        if path == "/api/v1/status":
            return {"is_ready": True, "is_healthy": True,
                    "listeners": {"live": where}}
        return {"sessions": [session], "next": None}

    with pretended(answer) as (url, _):
        for host in ("192.0.2.7", "evil.example", "127.evil.example"):
            where["host"] = host
            out, err = run(url, "watch", "s", "--dry-run", status=1)
            check(out == "" and "not this machine's" in err, out + err)
        where["host"] = "0.0.0.0"
        equal(run(url, "watch", "s", "--dry-run")[0], "babeltrace2 -i "
              "lttng-live net://127.0.0.1:5344/host/h/s\n", "everywhere")


def a_thousand():
    """1,000 sessions: all are there, in pages, in time."""
    def limit():
        import resource
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 8192), most))
    limit()
    with relay.Daemon() as daemon:
        url, kept = url_of(daemon), []
        for i in range(1001):
            c = daemon.control()
            c.version()
            equal(c.create_session(name=f"s{i}", host=f"h{i % 7}",
                                   uuid=(i + 1).to_bytes(16, "big"))[1], relay.OK,
                  f"session {i}")
            kept.append(c)
        begin = time.monotonic()
        out, err = run(url, "sessions")
        took = time.monotonic() - begin
        equal((len(out.splitlines()), err), (1002, ""), "rows")
        equal(len(set(line.split()[2] for line in out.splitlines())), 1002,
              "each once")
        check(took < 25, f"{took} s")
        whole = ask(url, "sessions")
        equal((len(whole["sessions"]), whole["next"]), (1001, None), "JSON")
        equal(ask(url, "show", "s1000")["name"], "s1000", "on the second page")
        out, _ = run(url, "top", "-i", "0.1", "--sort=name")
        equal(len([x for x in out.splitlines() if re.match(r" *\d+ +h\d", x)]),
              1001, "top")
        print(f"1,001 sessions in {took * 1000:.0f} ms")


def output_that_cannot_be_written():
    """A full disk is a failure."""
    if not os.path.exists("/dev/full"):
        print("SKIP output_that_cannot_be_written: there is no /dev/full")
        return
    with relay.Daemon() as daemon:
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [program.PROGRAM, "status"], stdout=full,
                stderr=subprocess.PIPE, env=program.environment(url_of(daemon)))
        equal(done.returncode, 1, "status")
        check(b"standard output" in done.stderr, done.stderr)


CASES = [status, rates, sessions, show, events, events_again, check_command,
         nobody_there, bad_values, options_of_others, helps, addresses, watch, watch_several,
         watch_goes_nowhere_else, a_thousand,
         output_that_cannot_be_written]


if __name__ == "__main__":
    sys.exit(relay.run(CASES, sys.argv[1:]))
