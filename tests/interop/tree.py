# SPDX-License-Identifier: MIT
"""What a relay wrote: names, kinds and permissions, index files, events."""
import os
import re
import socket
import stat
import struct
import subprocess

from world import Failure, check, wait_for

INDEX_MAGIC = 0xC1F1DCC1
PACKET_MAGIC = b"\xc1\x1f\xfc\xc1"      # as a little-endian machine writes it
HEADER = struct.Struct(">IIII")
RECORD_SIZES = {(1, 0): 56, (1, 1): 72}
EVENT = re.compile(r' demo:ev: .*\{ n = (\d+), text = "([a-z]*)" \}$')


def listing(world):
    """{normalised name: set of "kind mode"}; the numbers of tracefiles are
    left out, as how many there are depends on the time packets take."""
    out = {}
    base = world.relay.output
    for folder, directories, files in os.walk(base):
        for name in directories + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            kind = {stat.S_IFDIR: "directory", stat.S_IFREG: "file"}.get(
                stat.S_IFMT(status.st_mode), "other")
            name = world.normalised(os.path.relpath(path, base))
            name = re.sub(r"/pid/app-\d+-", "/pid/app-PID-", name)
            name = re.sub(r"(ch\d+_\d+)_\d+", r"\1_N", name)
            out.setdefault(name, set()).add(
                "%s %o" % (kind, stat.S_IMODE(status.st_mode)))
    return {name: sorted(kinds) for name, kinds in out.items()}


def index_files(base):
    """(index file, data file) for every index file below BASE."""
    for folder, _, files in os.walk(base):
        if os.path.basename(folder) != "index":
            continue
        for name in files:
            if name.endswith(".idx"):
                yield (os.path.join(folder, name),
                       os.path.join(os.path.dirname(folder), name[:-4]))


def read_index(path):
    """(version, list of records as tuples of numbers, bytes too many)."""
    with open(path, "rb") as handle:
        blob = handle.read()
    if len(blob) < HEADER.size:
        return None, [], len(blob)
    magic, major, minor, size = HEADER.unpack_from(blob)
    check(magic == INDEX_MAGIC, f"{path}: magic {magic:08x}")
    check(RECORD_SIZES.get((major, minor)) == size,
          f"{path}: version {major}.{minor} with records of {size} bytes")
    count = (len(blob) - HEADER.size) // size
    records = [struct.unpack_from(">%dQ" % (size // 8), blob,
                                  HEADER.size + size * n)
               for n in range(count)]
    return (major, minor), records, (len(blob) - HEADER.size) % size


def check_record(where, record, start):
    """One record whose packet must start at START; where it ends."""
    offset, packet_bits, content_bits, begin, end = record[:5]
    check(offset == start, f"{where}: offset {offset} instead of {start}")
    if packet_bits == 0 or packet_bits % 8 or content_bits > packet_bits:
        raise Failure("%s: %d bits of content in %d" % (where, content_bits,
                                                       packet_bits))
    check(begin <= end, f"{where}: ends before it begins")
    return offset + packet_bits // 8


def check_index(index, data, is_whole=True):
    """The index against its data file. IS_WHOLE: nothing is being written or
    was lost, so records are whole and cover the data to its last byte."""
    _, records, rest = read_index(index)
    size = os.path.getsize(data)    # after the index: data only grows
    end = 0
    for n, record in enumerate(records):
        where = "%s record %d" % (index, n)
        end = check_record(where, record, end)
        if n > 0 and record[4] < records[n - 1][4]:
            raise Failure("%s: time goes back" % where)
        if len(record) > 8 and n > 0 and record[8] <= records[n - 1][8]:
            raise Failure("%s: packet sequence number goes back" % where)
    check(end <= size, f"{index}: ahead of its data: {end} of {size} bytes")
    check(not is_whole or (rest == 0 and end == size),
          f"{index}: describes {end} of {size} bytes, {rest} bytes too many")
    with open(data, "rb") as handle:
        for n, record in enumerate(records):
            handle.seek(record[0])
            if handle.read(4) != PACKET_MAGIC:
                raise Failure("%s record %d: no packet there" % (index, n))


def check_indexes(base, is_whole=True):
    """Every index file below BASE; how many there are."""
    count = 0
    for index, data in index_files(base):
        try:
            check_index(index, data, is_whole)
        except FileNotFoundError:
            if is_whole:
                raise Failure("%s: no data file" % index) from None
        count += 1
    return count


def event_numbers(where, text):
    """The numbers of the events in what babeltrace2 printed, in its order."""
    numbers = []
    for line in text.splitlines():
        match = EVENT.search(line)
        check(match is not None, f"{where}: unknown event: {line}")
        number, text = int(match.group(1)), match.group(2)
        if text.strip("abcdefghijklmnopqrstuvwxyz"[number % 26]):
            raise Failure("%s: event %d has the wrong text" % (where, number))
        numbers.append(number)
    return numbers


def babeltrace2(world, path, *options, program="babeltrace2"):
    """What it prints of PATH, and what it complains of."""
    done = subprocess.run([program, *options, path], env=world.env(),
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=120)
    if done.returncode != 0:
        raise babeltrace2_failure(path, done.returncode, done.stderr)
    return done.stdout.decode(), done.stderr.decode(errors="replace")


def babeltrace2_failure(where, status, stderr):
    """A status other than 0, with its last line about the cause."""
    lines = stderr.decode(errors="replace").splitlines()
    causes = [line.strip() for line in lines if line.startswith("  ")]
    return Failure("babeltrace2 %s: status %d: %s"
                   % (where, status, (causes or lines or [""])[-1]))


def events(world, path):
    """The numbers of the events babeltrace2 reads from PATH, in its order."""
    return event_numbers(path, babeltrace2(world, path)[0])


class Viewer:
    """A stock viewer on a live session, until the session ends; on the other
    side of LINK."""

    count = 0

    def __init__(self, world, session, program="babeltrace2", link=None):
        self.program = program
        self.url = "net://127.0.0.1:%d/host/%s/%s" % (
            world.ports[2], socket.gethostname(), session)
        Viewer.count += 1
        self.files = [open(os.path.join(
            world.directory, "viewer%d.%s" % (Viewer.count, kind)), "w+b")
            for kind in ("out", "err")]
        command = [program, "-i", "lttng-live", self.url]
        self.child = world.spawn(*(link.command(*command) if link else command),
                                 stdout=self.files[0], stderr=self.files[1])

    def text(self, kind=0):
        """What it has printed so far."""
        with open(self.files[kind].name, "rb") as handle:
            return handle.read().decode(errors="replace")

    def seen(self):
        """The numbers of the events that it has printed so far."""
        text = self.text()
        return event_numbers(self.url, text[:text.rfind("\n") + 1])

    def finish(self, timeout=30.0, statuses=(0,)):
        """Until its end, with one of these statuses; the numbers of the
        events it saw."""
        try:
            self.child.wait(timeout)
        except subprocess.TimeoutExpired as error:
            raise Failure("%s does not end with the session"
                          % self.program) from error
        if self.child.returncode not in statuses:
            raise babeltrace2_failure(self.url, self.child.returncode,
                                      self.text(1).encode())
        numbers = self.seen()
        for handle in self.files:
            handle.close()
        return numbers


def wait_attached(world, *sessions):
    """A viewer of a live session sees the events from then on."""
    wait_for("the viewer attached", lambda: all(
        (listed(world, name) or (0, 0))[1] for name in sessions), timeout=30)


def listed(world, session):
    """(streams, clients) of a session as babeltrace2 lists it; None: not
    there."""
    done = subprocess.run(
        ["babeltrace2", "-i", "lttng-live",
         "net://127.0.0.1:%d" % world.ports[2]], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=world.env(),
        timeout=20)
    match = re.search(
        r"/%s \(timer = \d+, (\d+) stream\(s\), (\d+) client\(s\)"
        % re.escape(session), done.stdout.decode())
    return None if match is None else (int(match.group(1)),
                                       int(match.group(2)))


def span(numbers):
    """[0, 1, 2, 7] as "0-2 7", for messages."""
    parts = []
    for n in sorted(numbers):
        if parts and n == parts[-1][1] + 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return " ".join("%d-%d" % (a, b) if a != b else str(a)
                    for a, b in parts) or "none"


def expect_events(world, path, wanted):
    """Exactly the events WANTED must be readable from PATH."""
    got = events(world, path)
    check(sorted(got) == sorted(wanted),
          f"{os.path.relpath(path, world.relay.output)}: events {span(got)}, "
          f"emitted {span(wanted)}")


def has_metadata(path):
    """Is there a trace below PATH?"""
    return any("metadata" in files for _, _, files in os.walk(path))
