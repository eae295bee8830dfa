# SPDX-License-Identifier: MIT
"""Scenarios of tracepulse-send: what it sends, any relay writes as it was."""
import glob
import json
import os
import random
import shutil
import struct
import subprocess
import time

import made
import tree
from gate import Gate
from story import begin, end, scenario
from tree import expect_events
from world import Failure, check, free_ports, listening_ports, wait_for

SEND_TIMEOUT = 60.0
KILLS = 6


def send(w, *arguments, status=0):
    """Run tracepulse-send to this world's relay; its summary, or what it
    complained of when STATUS is not 0."""
    done = subprocess.run(
        [w.send_path, "--json"] + list(arguments) + [w.url()],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=w.env(), timeout=SEND_TIMEOUT)
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode != status:
        raise Failure("tracepulse-send %s: status %d: %s"
                      % (" ".join(arguments), done.returncode, said))
    return json.loads(done.stdout) if status == 0 else said


def record(w, name, *create, channel=(), apps=1, each=400):
    """A session of stock lttng; where it is, moved out of the relay's way, and
    the numbers of its events."""
    begin(w, name, *create, channel=channel)
    emitted = []
    for n in range(apps):
        emitted += w.run_app(each * n, each)
    end(w, name)
    original = os.path.join(w.directory, "original-" + name)
    shutil.move(w.path("*/%s-*" % name), original)
    return original, emitted


def contents(base):
    """{relative name: bytes} of every file below BASE."""
    found = {}
    for folder, _, files in os.walk(base):
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as handle:
                found[os.path.relpath(path, base)] = handle.read()
    return found


def expect_same(original, copy, leave_out=lambda name: False):
    """The same files with the same bytes."""
    want = {name: data for name, data in contents(original).items()
            if not leave_out(name)}
    got = {name: data for name, data in contents(copy).items()
           if not leave_out(name)}
    for name in sorted(set(want) | set(got)):
        if want.get(name) != got.get(name):
            raise Failure("%s: %s bytes sent, %s arrived%s" % (
                name, len(want[name]) if name in want else "no",
                len(got[name]) if name in got else "no",
                ", others" if name in want and name in got else ""))


def text(w, path, *options):
    """What babeltrace2 prints of a trace."""
    return tree.babeltrace2(w, path, *options)[0]


def expect_copy(w, original, copy, emitted):
    """COPY is ORIGINAL, to the byte and to babeltrace2."""
    expect_same(original, copy)
    expect_events(w, copy, emitted)
    if text(w, original) != text(w, copy):
        raise Failure("babeltrace2 prints other things of the copy")


def sent_to(w, summary):
    """Where the relay put it."""
    return os.path.join(w.relay.output, summary["path"])


@scenario()
def send_uid(w):
    """a recorded session sent again: the same tree, byte for byte"""
    original, emitted = record(w, "uid")
    expect_copy(w, original, sent_to(w, send(w, original)), emitted)


@scenario()
def send_pid(w):
    """several traces of one session: those of three processes"""
    original, emitted = record(w, "pid", channel=["--buffers-pid"], apps=3,
                               each=100)
    expect_copy(w, original, sent_to(w, send(w, original)), emitted)


@scenario(compare_tree=False)
def send_ring(w):
    """the tracefiles of a ring, each as a stream of its own"""
    original, _ = record(w, "ring", channel=["--tracefile-size=8k",
                                             "--tracefile-count=3"])
    emitted = tree.events(w, original)
    expect_copy(w, original, sent_to(w, send(w, original)), emitted)


def local(w, name, *channel):
    """A session of stock lttng that records here, without a relay."""
    path = os.path.join(w.directory, "local-" + name)
    w.lttng("create", name, "--output", path)
    w.lttng("enable-channel", "-u", "-s", name, "--subbuf-size", "4k",
            "--num-subbuf", "16", "ch0", "--switch-timer", "100000", *channel)
    w.lttng("enable-event", "-u", "-s", name, "-c", "ch0", "demo:*")
    w.lttng("start", name)
    return path


class Follower:
    """tracepulse-send, which follows a recording."""

    def __init__(self, w, path, *options):
        self.child = subprocess.Popen(
            [w.send_path, "--json", "--follow", "--quiet-after=1", *options,
             path, w.url()],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=w.env())

    def wait(self):
        """Its summary, at its end."""
        out, err = self.child.communicate(timeout=SEND_TIMEOUT)
        if self.child.returncode != 0:
            raise Failure("tracepulse-send --follow: status %d: %s" % (
                self.child.returncode, err.decode(errors="replace")))
        return json.loads(out)

    def kill(self):
        """As a crash does."""
        self.child.kill()
        self.child.communicate()


@scenario(compare_tree=False)
def send_follow(w):
    """a session that stock lttng records without a relay, sent on while it
    does, over two rotations"""
    path = local(w, "local")
    emitted = w.run_app(0, 300)
    follower = Follower(w, path)
    for n in range(1, 3):
        emitted += w.run_app(300 * n, 300)
        w.lttng("rotate", "local")
    emitted += w.run_app(900, 300)
    end(w, "local")
    summary = follower.wait()
    if summary["missing"] != 0:
        raise Failure("%d packets were missed" % summary["missing"])
    expect_events(w, sent_to(w, summary), emitted)


@scenario(reference=False)
def send_follow_killed(w):
    """the same, while sender and relay are killed again and again: one trace,
    with each event once"""
    path = local(w, "local")
    state = "--state=" + os.path.join(w.directory, "position")
    app = w.app(0, 3000, microseconds=2000)
    follower = Follower(w, path, state)
    for n in range(KILLS):
        time.sleep(random.uniform(0.3, 1.0))
        if n % 2 == 0:
            follower.kill()
            follower = Follower(w, path, state)
        else:
            w.relay.kill()
            w.relay.start()
    emitted = app.finish()
    w.lttng("rotate", "local")
    end(w, "local")
    summary = follower.wait()
    copies = w.paths("*/local-*")
    check(len(copies) == 1, f"traces: {copies}")
    check(summary["missing"] == 0, f"{summary['missing']} packets were missed")
    expect_events(w, copies[0], emitted)


@scenario(compare_tree=False)
def send_follow_ring(w):
    """a ring of small tracefiles that is sent on while it turns: what was not
    overtaken is there, and the rest is counted"""
    path = local(w, "turning", "--tracefile-size=8k", "--tracefile-count=3")
    follower = Follower(w, path)
    emitted = w.run_app(0, 1000, microseconds=3000)
    end(w, "turning")
    summary = follower.wait()
    got = tree.events(w, sent_to(w, summary))
    left = tree.events(w, path)
    if summary["missing"] == 0 and sorted(got) != sorted(emitted):
        raise Failure("events are missing, and no packet is")
    if not set(left) <= set(got) <= set(emitted) or \
            len(set(got)) != len(got) or len(got) < 2 * len(left):
        raise Failure("%d events of %d, the ring has %d" % (
            len(got), len(emitted), len(left)))


@scenario()
def send_no_index(w):
    """without index files: packets found by their headers, and the relay's
    index files are those that the tracer's were"""
    original, emitted = record(w, "noidx")
    bare = os.path.join(w.directory, "bare")
    shutil.copytree(original, bare, ignore=shutil.ignore_patterns("index"))
    expect_copy(w, original, sent_to(w, send(w, bare)), emitted)


@scenario()
def send_large(w):
    """packets of up to 300 KB, which leave straight from their file"""
    original = os.path.join(w.directory, "original-large")
    made.make(original, 40, 300000)
    copy = os.path.join(sent_to(w, send(w, original)), "original-large")
    expect_same(original, copy, lambda name: name.startswith("index"))
    if made.on_disk(copy) != {s: list(range(40)) for s in made.STREAMS}:
        raise Failure("not every packet is in the index")


@scenario()
def send_folders(w):
    """two folders, each in a folder of the session; sent slowly, and twice"""
    one, first = record(w, "one", each=150)
    other, second = record(w, "two", each=150)
    # The reference gives two sessions of one second one directory.
    summary = send(w, "--loop=2", "--rate=100k", "--linger=1.1",
                   "--session=both", one, other)
    if summary["sessions"] != 2:
        raise Failure("%d sessions instead of 2" % summary["sessions"])
    for path in w.paths("*/both-*"):
        expect_same(one, os.path.join(path, "original-one"))
        expect_same(other, os.path.join(path, "original-two"))
        expect_events(w, path, first + second)


PACKETIZED = 0x75D11D57
METADATA_HEADER = struct.Struct("=I16sIIIBBBBB")


def plain(blob):
    """The text in packetized metadata."""
    out = b""
    while blob:
        header = METADATA_HEADER.unpack_from(blob)
        check(header[0] == PACKETIZED, "no packetized metadata")
        out += blob[METADATA_HEADER.size:header[3] // 8]
        blob = blob[header[4] // 8:]
    return out


@scenario()
def send_plain_metadata(w):
    """metadata as plain text arrives as plain text"""
    original, emitted = record(w, "plain")
    for folder, _, files in os.walk(original):
        if "metadata" in files:
            path = os.path.join(folder, "metadata")
            with open(path, "rb") as handle:
                blob = plain(handle.read())
            with open(path, "wb") as handle:
                handle.write(b"/* CTF 1.8 */\n" + blob)
    expect_copy(w, original, sent_to(w, send(w, original)), emitted)


# As barectf 3 writes it: no alias, no UUID, fields of many sizes.
INTEGER = """integer { signed = false; size = %d; align = %d;
 byte_order = native; base = 10; %s} %s;
"""
STAMP = "map = clock.default.value; "
BARE = "/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = le;\n" \
    "packet.header := struct {\n" + "".join(
        INTEGER % (size, size, "", name)
        for size, name in ((32, "magic"), (8, "stream_id"))) + \
    "} align(8);\n};\nclock { name = default; freq = 1000000000;\n" \
    "precision = 0; offset_s = 0; offset = 0; absolute = false; };\n" \
    "stream { id = 1; packet.context := struct {\n" + "".join(
        INTEGER % (size, size, more, name) for size, more, name in (
            (16, "", "packet_size"), (16, "", "content_size"),
            (64, STAMP, "timestamp_begin"), (64, STAMP, "timestamp_end"),
            (16, "", "events_discarded"), (32, "", "packet_seq_num"))) + \
    "} align(8);\nevent.header := struct {\n" + \
    INTEGER % (8, 8, "", "id") + INTEGER % (32, 32, STAMP, "timestamp") + \
    "} align(8); };\nevent { stream_id = 1; id = 0; name = \"ev\";\n" \
    "fields := struct { string { encoding = UTF8; } s; } align(1); };\n"
BARE_PACKET = struct.Struct("<IBxxxHHxxxxQQHxxIBxxxI16s")


@scenario()
def send_barectf(w):
    """a trace as barectf makes it, of which one packet is missing"""
    original = os.path.join(w.directory, "original-bare")
    os.makedirs(original)
    with open(os.path.join(original, "metadata"), "w") as handle:
        handle.write(BARE)
    with open(os.path.join(original, "stream"), "wb") as handle:
        for seq in (1, 2, 4):
            handle.write(BARE_PACKET.pack(
                int.from_bytes(tree.PACKET_MAGIC, "little"), 1, 512, 512, 2 * seq, 2 * seq + 1, 0, seq,
                0, 2 * seq, b"an event of %03d\0" % seq))
    copy = os.path.join(sent_to(w, send(w, original)), "original-bare")
    expect_same(original, copy, lambda name: name.startswith("index"))
    if made.on_disk(copy) != {"stream": [1, 2, 4]}:
        raise Failure("packets in the index: %s" % made.on_disk(copy))
    shown = text(w, copy)
    if shown != text(w, original) or shown.count("an event of") != 3:
        raise Failure("babeltrace2 prints %r" % shown)


def watch(w, session, *arguments):
    """Send while babeltrace2 watches, from before the first packet on; the
    numbers it saw."""
    gate = Gate(w.ports[0])
    child = w.spawn(
        w.send_path, "--quiet", "--session=" + session, *arguments,
        "net://127.0.0.1:%d:%d" % (gate.port, w.ports[1]),
        stderr=subprocess.PIPE)
    wait_for("the session listed", lambda: tree.listed(w, session))
    viewer = tree.Viewer(w, session)
    tree.wait_attached(w, session)
    gate.open()
    said = child.communicate(timeout=SEND_TIMEOUT)[1]
    if child.returncode != 0:
        raise Failure("tracepulse-send: status %d: %s"
                      % (child.returncode, said.decode(errors="replace")))
    return viewer.finish()


@scenario()
def send_live(w):
    """a live session at its original pace, with two CPUs of which one is
    idle, watched by babeltrace2 to its end"""
    begin(w, "live", "--live=100000")
    emitted = w.run_app(0, 1000, microseconds=3000)
    end(w, "live")
    original = os.path.join(w.directory, "original")
    shutil.move(w.path("*/live-*"), original)
    time.sleep(0.1)
    got = watch(w, "again", "--live-timer=100000", "--realtime",
                "--linger=0.5", original)
    check(got == emitted,
          f"babeltrace2 saw {tree.span(got)}, emitted {tree.span(emitted)}")
    expect_copy(w, original, w.path("*/again-*"), emitted)


@scenario(options=None, needs_sessiond=False, reference=False)
def send_refuses(w):
    """what cannot be sent is refused before anything is connected to"""
    bad = os.path.join(w.directory, "bad")
    os.makedirs(bad)
    for metadata, stream, reason in (
            (b"{}", b"", "CTF 2"),
            (b"trace { major = 1; byte_order = le; }", b"", "expected"),
            (b"trace { byte_order = le; }; stream { packet.context := "
             b"struct { string s; }; };", b"x", "not constant"),
            (b"trace { byte_order = le; packet.header := struct { "
             b"integer { size = 32; } magic; }; };", b"nope" * 8,
             "no packet header")):
        for name, data in (("metadata", metadata), ("stream", stream)):
            with open(os.path.join(bad, name), "wb") as handle:
                handle.write(data)
        said = send(w, bad, status=1)
        check(reason in said, "expected \"%s\": %s" % (reason, said))
    os.unlink(os.path.join(bad, "metadata"))
    if "no CTF trace" not in send(w, bad, status=1):
        raise Failure("a folder without a trace is not refused")


# Over UDP, to our relay only.

def files_of(parent):
    """Does any file below PARENT have bytes?"""
    return any(os.path.getsize(os.path.join(folder, name))
               for folder, _, names in os.walk(parent)
               for name in names if name in made.STREAMS)


@scenario(reference=False)
def send_cut_short(w):
    """a file that is cut short while it is sent ends it with a clear word,
    over TCP and over UDP"""
    for way in ("--rate=1M", "--udp"):
        original = os.path.join(w.directory, "original" + way)
        made.make(original, 60, 100000)
        child = w.spawn(
            w.send_path, "--quiet", "--rate=1M", "--session=s" + way, way,
            original, w.url(), stderr=subprocess.PIPE)
        wait_for("packets", lambda: any(
            files_of(path) for path in w.paths("*/s%s-*" % way)))
        for stream in made.STREAMS:
            os.truncate(os.path.join(original, stream), 1000)
        said = child.communicate(timeout=SEND_TIMEOUT)[1].decode()
        if child.returncode != 1 or "cut short" not in said:
            raise Failure("%s: status %d: %s" % (way, child.returncode, said))


@scenario(options=["--max-memory=4M"], reference=False)
def send_too_large(w):
    """a packet that the relay cannot hold twice is refused over UDP"""
    original = os.path.join(w.directory, "original-large")
    made.make(original, 8, 500000)
    for way in "--udp", "--resend":
        said = send(w, way, original, status=1)
        check("over UDP the relay accepts at most 327680" in said, said)
    check(send(w, original)["packets"] == 16, "not all went over TCP")


def losses(path):
    """Packets that .loss.jsonl below PATH says are lost."""
    count = 0
    for folder, _, files in os.walk(path):
        if ".loss.jsonl" in files:
            with open(os.path.join(folder, ".loss.jsonl")) as lines:
                count += sum(json.loads(line)["lost"] for line in lines)
    return count


@scenario(reference=False)
def send_udp(w):
    """over UDP, without loss: the same tree, byte for byte"""
    original, emitted = record(w, "udp")
    summary = send(w, "--udp", original)
    if summary["datagrams"] < summary["packets"] or summary["lost"]:
        raise Failure("summary: %r" % summary)
    expect_copy(w, original, sent_to(w, summary), emitted)


@scenario(reference=False)
def send_udp_resend(w):
    """a network that loses, repeats, spoils and reorders; with resending
    nothing is lost"""
    original, emitted = record(w, "again", each=6000)
    for number, bad in enumerate((
            ["--drop=0.001"], ["--drop=0.01", "--reorder=16"],
            ["--drop=0.1", "--duplicate=0.1", "--corrupt=0.1",
             "--reorder=64"])):
        summary = send(w, "--resend", "--session=s%d" % number, "--seed=7",
                       "--fragment=512", *bad, original)
        if summary["lost"] or number > 0 and not summary["resent"]:
            raise Failure("summary: %r" % summary)
        expect_copy(w, original, sent_to(w, summary), emitted)


@scenario(reference=False)
def send_udp_lossy(w):
    """without resending exactly the packets that lost a datagram are missing,
    each counted once; babeltrace2 reads the rest"""
    original, emitted = record(w, "lossy", each=6000)
    for number, drop in enumerate(("0.01", "0.1")):
        summary = send(w, "--udp", "--session=s%d" % number, "--drop=" + drop,
                       "--seed=%d" % (3 + number), "--fragment=65000",
                       "--gap-timeout=200000", original)
        copy = sent_to(w, summary)
        # A packet is one datagram here.
        if summary["lost"] != summary["dropped"] or number > 0 \
                and not summary["lost"]:
            raise Failure("summary: %r" % summary)
        want = sum(len(tree.read_index(index)[1])
                   for index, _ in tree.index_files(original))
        got = sum(len(tree.read_index(index)[1])
                  for index, _ in tree.index_files(copy))
        if got != want - summary["lost"]:
            raise Failure("%d packets of %d arrived, %d lost"
                          % (got, want, summary["lost"]))
        if losses(copy) != summary["lost"]:
            raise Failure(".loss.jsonl tells of %d packets, %d are lost"
                          % (losses(copy), summary["lost"]))
        tree.check_indexes(copy)
        seen = tree.events(w, copy)
        if not set(seen) <= set(emitted) or len(set(seen)) != len(seen):
            raise Failure("events that were not emitted, or twice")


@scenario(reference=False)
def send_udp_live(w):
    """live over UDP with loss: the viewer sees what arrives, to the end"""
    begin(w, "live", "--live=100000")
    emitted = w.run_app(0, 1000, microseconds=2000)
    end(w, "live")
    original = os.path.join(w.directory, "original")
    shutil.move(w.path("*/live-*"), original)
    got = watch(w, "again", "--live-timer=100000", "--realtime", "--udp",
                "--drop=0.05", "--gap-timeout=100000", "--linger=0.5",
                original)
    left = tree.events(w, w.path("*/again-*"))
    if got != left:
        raise Failure("babeltrace2 saw %s live, on disk is %s"
                      % (tree.span(got), tree.span(left)))
    check(got and got != emitted, "nothing was lost, or everything")


@scenario()
def send_udp_refused(w):
    """a relay that knows no UDP says so, and so does the sender"""
    original, _ = record(w, "none")
    if not w.is_reference:
        w.relay.stop()
        w.relay.start("--udp-port=none")
    said = send(w, "--udp", original, status=1)
    check("does not accept UDP" in said, f"it says: {said}")


# From relay to relay.

class Second:
    """Another relay of ours, and what sends all sessions to it."""

    def __init__(self, w):
        self.output = w.directory + "/second/out"
        self.ports = free_ports(3)
        home = w.directory + "/second/home"
        os.makedirs(home)
        self.relay = w.spawn(
            os.path.join(os.path.dirname(w.send_path), "tracepulse-relayd"),
            "-o", self.output, "--http=none", *(
                part for option, port in zip(("-C", "-D", "-L"), self.ports)
                for part in (option, f"tcp://127.0.0.1:{port}")),
            environment={"HOME": home, "LTTNG_RUNDIR": home + "/run",
                         "TRACEPULSE_STATE_DIR": home + "/.state"})
        wait_for("the second relay", lambda: set(self.ports)
                 <= listening_ports())
        with open(w.directory + "/sender.log", "wb") as log:
            self.sender = w.spawn(
                w.send_path, "--json", "--all",
                "net://127.0.0.1:%d" % w.ports[2],
                "net://127.0.0.1:%d:%d" % tuple(self.ports[:2]),
                stdout=subprocess.PIPE, stderr=log)
        # For tree.Viewer.
        self.env, self.directory, self.spawn = w.env, w.directory, w.spawn

    def end(self):
        """Both; the summary of the sender."""
        self.sender.terminate()
        out, _ = self.sender.communicate(timeout=SEND_TIMEOUT)
        check(self.sender.returncode == 143,
              "tracepulse-send: status %d" % self.sender.returncode)
        self.relay.terminate()
        check(self.relay.wait(SEND_TIMEOUT) == 0, "the second relay failed")
        return json.loads(out)


FIRST = 100000      # the number of an event


def chained(w, second, session, *channel):
    """A live session and babeltrace2 at the end of the chain, where it is known
    once there is metadata: when an application waits with its only event."""
    begin(w, session, "--live=200000", channel=channel)
    app = w.app(FIRST, 1, wait_ms=3000)
    wait_for("the session at the second relay",
             lambda: tree.listed(second, session), timeout=30)
    viewer = tree.Viewer(second, session)
    tree.wait_attached(second, session)
    app.finish()
    return viewer


def expect_seen(viewer, emitted, is_ordered=True):
    """The viewer ends by itself and has seen all."""
    got = [n for n in viewer.finish() if n != FIRST]
    check((got if is_ordered else sorted(got)) == emitted,
          f"babeltrace2 saw {tree.span(got)}, emitted {tree.span(emitted)}")


def expect_second(w, second, session, emitted):
    """The second relay's trace is the first one's."""
    summary = second.end()
    if summary["missing"] or summary["error"]:
        raise Failure("summary: %r" % summary)
    original = w.path("*/%s-*" % session)
    copy = os.path.join(second.output,
                        os.path.relpath(original, w.relay.output))
    expect_events(w, copy, sorted([*emitted, FIRST]))
    if text(w, original) != text(w, copy):
        raise Failure("babeltrace2 prints other things of the copy")


@scenario(compare_tree=False)
def send_chain(w):
    """a live session of one relay, seen at the end of a chain, with one CPU
    that is idle"""
    second = Second(w)
    viewer = chained(w, second, "chain")
    emitted = w.run_app(0, 500, microseconds=2000)
    time.sleep(1)
    emitted += w.run_app(500, 200, microseconds=2000, cpu=1)
    end(w, "chain")
    expect_seen(viewer, emitted)
    expect_second(w, second, "chain", emitted)


@scenario(compare_tree=False, reference=False)
def send_chain_pid(w):
    """the same with a trace for each process, which end before the session;
    lttng-relayd does not show all of these to a viewer (live 5, W3)"""
    second = Second(w)
    viewer = chained(w, second, "chain", "--buffers-pid")
    emitted = []
    for n in range(8):
        emitted += w.run_app(100 * n, 100, microseconds=2000, cpu=n % 2)
    end(w, "chain")
    expect_seen(viewer, emitted, is_ordered=False)
    expect_second(w, second, "chain", emitted)


@scenario(compare_tree=False)
def send_chain_again(w):
    """a chain goes on with the session that has the name of the one before"""
    second = Second(w)
    for _ in range(2):
        viewer = chained(w, second, "chain")
        emitted = w.run_app(0, 300, microseconds=2000)
        end(w, "chain")
        expect_seen(viewer, emitted)
        wait_for("the end", lambda: tree.listed(second, "chain") is None)
        time.sleep(1.1)     # the next one has a name with another time
    check(second.end()["sessions"] == 2, "sessions")


@scenario(options=["--live-linger=5m"], reference=False)
def read_after_the_end(w):
    """a session of several processes that nobody has viewed: after its end
    babeltrace2 reads it, two at once, and babeltrace, and it is sent on"""
    begin(w, "gone", "--live=200000", channel=("--buffers-pid",))
    emitted = w.run_app(FIRST, 1)
    for n in range(6):
        emitted += w.run_app(100 * n, 100, cpu=n % 2)
    end(w, "gone")
    viewers = [tree.Viewer(w, "gone", program)
               for program in ("babeltrace2", "babeltrace2", "babeltrace")
               if shutil.which(program)]
    for viewer in viewers:
        got = sorted(viewer.finish())
        check(got == sorted(emitted), f"{viewer.program} saw "
              f"{tree.span(got)}, emitted {tree.span(emitted)}")
    second = Second(w)
    wait_for("the session at the second relay", lambda: glob.glob(
        second.output + "/*/gone-*"), timeout=30)
    wait_for("its end", lambda: tree.listed(second, "gone") is None,
             timeout=30)
    emitted.remove(FIRST)
    expect_second(w, second, "gone", emitted)
