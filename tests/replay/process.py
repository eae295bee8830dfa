#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What options, variables and signals do to a daemon that serves. Starts
daemons of its own."""
import contextlib
import fcntl
import itertools
import os
import pathlib
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time

import looking
import relay
from relay import check, equal

# The state in struct tcp_info, see tcp(7).
ESTABLISHED = 1
JIFFIES = os.sysconf("SC_CLK_TCK")


def keepalive_timer(port):
    """Seconds to the next probe of the connection to PORT; None: none."""
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, _, timer = line.split()[:6]
        if int(local.split(":")[1], 16) != port or state != "01":
            continue
        kind, when = timer.split(":")
        return int(when, 16) / JIFFIES if kind == "02" else None
    raise relay.Failed(f"no connection to port {port}")


def keep_alive_is_for_peers():
    """As in lttng-relayd: not for viewers."""
    env = {"LTTNG_RELAYD_TCP_KEEP_ALIVE": "1",
           "LTTNG_RELAYD_TCP_KEEP_ALIVE_IDLE_TIME": "77"}
    for wanted in (env, {}):
        with relay.Daemon(env=wanted) as daemon:
            live = daemon._port(daemon.rundir / "relayd/live.port")
            ports = daemon.control_port, daemon.data_port, live
            conns = [daemon.connect(port) for port in ports]
            relay.Control(conns[0]).version()

            def has_timer(port):
                timer = keepalive_timer(port)
                return timer is not None and 60 < timer <= 77
            if wanted:
                relay.wait_until("no timers for peers",
                                 lambda: all(map(has_timer, ports[:2])))
            time.sleep(0.2)
            timers = [keepalive_timer(port) for port in ports]
            for conn in conns:
                conn.close()
            for timer, name in zip(timers, ("control", "data", "live")):
                if wanted and name != "live":
                    check(timer is not None and 60 < timer <= 77,
                          f"{name}: {timer}")
                else:
                    equal(timer, None, name)


def both_families_on_one_address():
    """tcp6://[::] takes IPv4 peers, too, which have the same name and host as
    on a socket of IPv4."""
    if not socket.has_dualstack_ipv6():
        print("SKIP: no IPv6 here")
        return
    anywhere = "tcp6://[::]:0"
    with relay.Daemon("-C", anywhere, "-D", anywhere, "-L", anywhere,
                      "--http", anywhere, "--udp-port=data") as daemon:
        for address in ("127.0.0.1", "::1"):
            for port in (daemon.control_port, daemon.data_port,
                         daemon.live_port):
                socket.create_connection((address, port)).close()
            with socket.create_connection((address, daemon.http_port)) as s:
                name = f"[{address}]" if ":" in address else address
                s.sendall(f"GET /healthz HTTP/1.1\r\nHost: {name}:"
                          f"{daemon.http_port}\r\n\r\n".encode())
                check(s.recv(100).startswith(b"HTTP/1.1 200"), name)
        relay.recorded(daemon)
        daemon.wait_log(" peer=127.0.0.1:")
        check("ffff" not in daemon.log_text(), "a mapped address")


def a_fleet_connects_at_once():
    """All are in the queues of a daemon that is busy for a moment."""
    n = 300
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 8192), most))
    with relay.Daemon("--http=tcp://127.0.0.1:0") as daemon:
        ports = [daemon.control_port, daemon.data_port, daemon.live_port,
                 daemon.http_port]
        daemon.pause()
        socks = []
        for port in ports:
            for _ in range(n):
                sock = socket.socket()
                sock.setblocking(False)
                sock.connect_ex(("127.0.0.1", port))
                socks.append(sock)
        relay.wait_until("connections that are not taken",
                         lambda: all(sock.getsockopt(socket.IPPROTO_TCP,
                                                     socket.TCP_INFO) ==
                                     ESTABLISHED for sock in socks))
        daemon.resume()
        for sock in socks:
            sock.close()


def modes_are_those_of_the_umask():
    """Directories 0770, files 0660, less the umask."""
    for umask in (0, 0o027):
        with relay.Daemon(limit=lambda: os.umask(umask)) as daemon:
            relay.recorded(daemon)
            daemon.stop()
            for path in daemon.out.rglob("*"):
                want = (0o770 if path.is_dir() else 0o660) & ~umask
                equal(oct(stat.S_IMODE(path.stat().st_mode)), oct(want),
                      str(path))


def few_descriptors_serve_many_streams():
    """--fd-pool-size: files of idle streams close, and open again."""
    with relay.Daemon("--fd-pool-size", "100", workers=1) as daemon:
        session = relay.Session(daemon)
        streams = [session.add(f"many_{n}") for n in range(200)]
        for seq in range(2):
            for n, stream in enumerate(streams):
                session.put(stream, seq, bytes([n]) * 64)
            check(daemon.descriptors() <= 100,
                  f"{daemon.descriptors()} descriptors are open")
        for n, stream in enumerate(streams):
            session.control.close_stream(stream, 1)
            index = session.dir / f"index/many_{n}.idx"
            relay.wait_until(f"many_{n}.idx is short",
                             lambda: index.stat().st_size == 16 + 2 * 72)
            equal((session.dir / f"many_{n}").read_bytes(),
                  bytes([n]) * 128, f"many_{n}")
        session.finish()


def strangers(port, host, n):
    conns = []
    for _ in range(n):
        conns.append(socket.create_connection(
            ("127.0.0.1", port), timeout=relay.TIMEOUT,
            source_address=(host, 0)))
    return conns


def idle_connections_take_nothing_from_sessions():
    """Streaming 9.6: who waits without a session has a share of the
    descriptors; who spoke, or was there before, keeps its place in it."""
    with relay.Daemon("--fd-pool-size", "200", workers=1) as daemon:
        quiet = relay.Session(daemon, "quiet")
        first = relay.Session(daemon, "first")
        first.packet()
        spoke = daemon.peer()
        crowd = strangers(daemon.control_port, "127.0.0.1", 250)
        crowd += strangers(daemon.data_port, "127.0.0.1", 150)
        crowd += strangers(daemon.data_port, "127.0.0.2", 150)
        relay.wait_until("a crowd is not turned away", lambda:
                         sum(map(relay.is_closed, crowd)) > 500)
        check(daemon.descriptors() <= 200,
              f"{daemon.descriptors()} descriptors are open")
        # The first byte of a data connection that was there before.
        quiet.packet()
        first.packet()
        first.next_chunk(1, None)
        quiet.finish()
        spoke.create_session(name="late")
        first.control.close()
        lines = daemon.log_text().count("turned away")
        check(1 <= lines <= 2, f"{lines} lines about a crowd")
        for conn in crowd:
            conn.close()


def a_crowd_is_of_one_host():
    """Another host's data connection finds room, silent as it may be."""
    with relay.Daemon("--fd-pool-size", "400", workers=1) as daemon:
        crowd = strangers(daemon.data_port, "127.0.0.2", 100)
        relay.wait_until("a crowd is not turned away",
                         lambda: any(relay.is_closed(c) for c in crowd[-5:]))
        for n in range(3):
            session = relay.Session(daemon, f"late{n}")
            time.sleep(0.05)
            session.packet()
            session.finish()
        for conn in crowd:
            conn.close()


def a_refused_session_takes_no_share():
    """Nor if it stays open on the other side: after 2 s its place is free."""
    with relay.Daemon("--fd-pool-size", "120", workers=1) as daemon:
        refused = []
        for n in range(60):
            conn = daemon.peer()
            conn.send(relay.session_request(name="../x"))
            said = conn.ends()
            check(said == struct.pack(">QII", 0, relay.FATAL, 0)
                  or said == b"" and n > 20, f"{n}: {said.hex()}")
            refused.append(conn)
        relay.wait_until("no room for a late one",
                         lambda: relay.is_served(daemon, "late"))
        for conn in refused:
            conn.close()


def sessions_are_as_many_as_fit():
    """Those that are there can rotate; more are refused, until some end."""
    with relay.Daemon("--fd-pool-size", "200", workers=1) as daemon:
        sessions = []
        try:
            while len(sessions) < 60:
                sessions.append(relay.Session(daemon, f"n{len(sessions)}"))
        except (relay.Failed, OSError):
            pass
        check(3 <= len(sessions) < 30, f"{len(sessions)} sessions")
        for s in sessions:
            s.packet()
            s.control.create_chunk(1)
            s.control.rotate(1, (s.stream, 1), (s.meta, 0))
        for s in sessions:
            s.packets(1)
        check(daemon.descriptors() <= 200,
              f"{daemon.descriptors()} descriptors are open")
        for s in sessions:
            s.leave()
        relay.wait_until("no room for a late one",
                         lambda: relay.is_served(daemon, "late"))


def hardly_any_descriptors():
    """76 serve a session of many streams; with 16 it says why not."""
    def limit(n):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))
    with relay.Daemon(limit=limit(76), workers=1) as daemon:
        session = relay.Session(daemon)
        streams = [session.add(f"many_{n}") for n in range(60)]
        crowd = strangers(daemon.control_port, "127.0.0.1", 80)
        for seq in range(2):
            for stream in streams:
                session.put(stream, seq, bytes(64))
        for stream in streams:
            session.control.wait_written(stream, 1)
        session.packet()
        session.finish()
        for conn in crowd:
            conn.close()
        relay.wait_until("nobody is served", lambda: relay.is_served(daemon,
                                                                     "late"))
    with tempfile.TemporaryDirectory() as top:
        done = subprocess.run(
            [relay.PROGRAM, "-o", top], env=dict(os.environ, HOME=top,
                                                 LTTNG_RUNDIR=top,
                                                 TRACEPULSE_STATE_DIR=top),
            stderr=subprocess.PIPE, preexec_fn=limit(16), timeout=20)
        equal(done.returncode, 1, "exit status")
        check(b"too few file descriptors" in done.stderr, f"{done.stderr}")


def a_reader_delays_the_index_only():
    """--index-lock-timeout: the records of that stream wait, and no longer."""
    with relay.Daemon("--index-lock-timeout", "5s") as daemon, \
            relay.bystander(daemon):
        session = relay.Session(daemon, "read")
        session.packets(1)
        index = session.dir / "index/ch_0.idx"
        with open(index, "rb") as reader:
            fcntl.flock(reader, fcntl.LOCK_SH)
            began = time.monotonic()
            session.packet()
            relay.wait_until("the data waits for the reader of the index",
                             lambda: (session.dir / "ch_0").stat().st_size ==
                             8192, 4)
            equal(index.stat().st_size, 16 + 72, "written under a lock")
            equal(session.control.pending(session.stream, 1), 1, "pending")
            session.wait_written()
            took = time.monotonic() - began
            check(4.9 < took < relay.TIMEOUT,
                  f"the records waited for {took:.2f} s")
        session.packet()
        session.finish()


def a_reader_does_not_keep_it_from_ending():
    """SIGTERM is obeyed, however long readers may be waited for."""
    with relay.Daemon("--index-lock-timeout", "60m") as daemon:
        session = relay.Session(daemon)
        session.packets(1)
        with open(session.dir / "index/ch_0.idx", "rb") as reader:
            fcntl.flock(reader, fcntl.LOCK_SH)
            session.packet()
            began = time.monotonic()
            daemon.stop()
            took = time.monotonic() - began
        check(took < 5, f"{took:.1f} s")
        session.check()


def nobody_who_sends_keeps_it_from_ending():
    """SIGTERM is obeyed while peers send metadata and packets without end."""
    def flood(sock, message):
        sock.settimeout(None)
        with contextlib.suppress(OSError):
            for i in itertools.count(1):
                sock.sendall(message(i))

    with relay.Daemon() as daemon:
        session = relay.Session(daemon)
        session.packets(1)
        metadata = relay.frame(relay.SEND_METADATA, struct.pack(
            ">QI", session.meta, 0) + b"/* */" * 200000)
        packet = bytes(1 << 20)
        floods = [threading.Thread(target=flood, daemon=True, args=a) for a in
                  ((session.control.sock, lambda i: metadata),
                   (session.data.sock, lambda i: struct.pack(
                       ">QQQII", 0, session.stream, i, 1 << 20, 0) + packet))]
        for thread in floods:
            thread.start()
        time.sleep(0.3)
        began = time.monotonic()
        daemon.stop()
        took = time.monotonic() - began
        check(took < 15, f"{took:.1f} s")
        for thread in floods:
            thread.join()


def nobody_reads_standard_error():
    """A full pipe for messages delays no peer, however many messages there are."""
    reader, writer = os.pipe()
    own = os.open(f"/proc/self/fd/{writer}", os.O_WRONLY | os.O_NONBLOCK)
    try:
        while True:
            os.write(own, bytes(4096))
    except BlockingIOError:
        os.close(own)
    with relay.Daemon(limit=lambda: os.dup2(writer, 2)) as daemon, \
            relay.bystander(daemon) as good:
        for _ in range(50):
            bad = daemon.peer()
            bad.send(struct.pack(">QQII", 0, 128 << 20,
                                 relay.CREATE_SESSION, 0))
            equal(bad.sock.recv(1), b"", "a header that is refused")
            bad.close()
        good.packet()
    os.close(reader)
    os.close(writer)


def more_signals_change_nothing():
    """The end takes as long as it takes, however often it is asked for."""
    with relay.Daemon() as daemon:
        session = relay.Session(daemon)
        session.packets(1)
        session.packet()
        for n in range(30):
            daemon.process.send_signal(
                signal.SIGINT if n % 2 else signal.SIGTERM)
            time.sleep(0.005)
        daemon.wait_for_end()
        session.check()
        # For the next start: it cut a session.
        equal([p.name for p in (daemon.rundir / "relayd").iterdir()],
              ["sessions"], "run directory")
        equal({p.name for p in daemon.out.glob(".*")}, set(),
              "journals")


def signals():
    """SIGINT is an orderly end; after SIGKILL the next start tidies up."""
    with relay.Daemon() as daemon:
        files = daemon.rundir / "relayd"
        session = relay.Session(daemon)
        session.packet()
        for harmless in (signal.SIGUSR1, signal.SIGPIPE, signal.SIGHUP):
            daemon.process.send_signal(harmless)
            time.sleep(0.05)
        session.packets(1)
        daemon.process.kill()
        equal(daemon.process.wait(relay.TIMEOUT), -signal.SIGKILL, "SIGKILL")
        left = sorted(p.name for p in files.iterdir())
        check(f"health-{daemon.process.pid}" in left and
              "control.port" in left, f"{left}")
        for port in files.glob("*.port"):
            port.unlink()
        daemon.start_again()
        equal([p.name for p in files.glob("health-*")],
              [f"health-{daemon.process.pid}"], "health sockets")
        daemon.process.send_signal(signal.SIGINT)
        daemon.wait_for_end()
        equal(list(files.iterdir()), [], "run directory")
        equal({p.name for p in daemon.out.glob(".*")}, set(),
              "journals")


def the_output_directory_may_go_and_come():
    """As in lttng-relayd: the next session has one at the path of -o, whoever
    makes it. Sessions of the directory before stay there."""
    with relay.Daemon(workers=1) as daemon:
        first = relay.Session(daemon, "first")
        first.packets(1)
        again = (lambda: relay.remove(daemon.out),
                 lambda: (relay.remove(daemon.out), daemon.out.mkdir()),
                 lambda: daemon.out.rename(daemon.top / "moved"))
        for n, change in enumerate(again):
            change()
            relay.recorded(daemon, f"after{n}")
            relay.recorded(daemon, f"old{n}", minor=11)
        first.packet()
        first.control.close()
        torn = relay.Session(daemon, "torn")
        torn.packets(1)
        daemon.kill()
        with open(torn.dir / "ch_0", "ab") as data:
            data.write(bytes(1000))
        daemon.start_again()
        relay.soon(torn.check)
        equal(daemon.log_text().count("opened again"), 3, "warnings")


def sessions_that_an_end_cuts_are_counted():
    """The next process knows how many there were, however the relay ended."""
    def again():
        daemon.start_again()

    def told(n):
        """The new process says it in the metric, the status and the log."""
        equal(looking.metrics(daemon)["tracepulse_sessions_cut"], n, "metric")
        text = looking.ask(daemon, "/api/v1/status")["state_text"]
        equal(f"when the relay last ended: {n};" in text, n > 0, text)
        log = daemon.log_text()
        equal(log.count("warning sessions cut when the relay last ended: "),
              len(cuts), "lines of starts")
        equal(log.count("warning sessions cut by this stop: "), stops, "of stops")

    with relay.Daemon("--http=tcp://127.0.0.1:0") as daemon:
        cuts, stops, file = [], 0, daemon.rundir / "relayd/sessions"
        sessions = [relay.Session(daemon, f"s{i}") for i in range(3)]
        told(0)
        sessions[0].leave()
        looking.wait_until("one that ended", lambda: looking.metrics(daemon)[
            'tracepulse_sessions{state="active"}'] == 2)
        # Its snapshot was taken: nothing is cut.
        snapshot = daemon.peer()
        snapshot.create_session(name="snapshot", snapshot=1)
        looking.wait_until("it is counted", lambda: looking.metrics(daemon)[
            "tracepulse_snapshot_sessions"] == 1)
        daemon.stop()
        cuts, stops = [2], 1
        again()
        told(2)
        # A start that fails passes it on; sessions of a killed one count.
        session = relay.Session(daemon, "killed")
        looking.wait_until("one is open", lambda: file.read_text() == "1\n")
        daemon.kill()
        command = daemon.command
        daemon.command = [*command, "-C", "tcp://203.0.113.1"]
        process = subprocess.run(daemon.command, env=daemon.environment,
                                 stdout=daemon.log, stderr=daemon.log,
                                 timeout=20)
        equal(process.returncode, 1, "a start that fails")
        daemon.command = command
        cuts = [2, 1]
        again()
        told(1)
        session.data.close()
        daemon.stop()
        check(not file.exists(), "its file stays")
        again()
        told(0)


if __name__ == "__main__":
    sys.exit(relay.main())
