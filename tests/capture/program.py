# SPDX-License-Identifier: MIT
"""The program, run in a directory of the test's own, and what it wrote."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "tests/replay"))
from relay import Failed, check, equal, hears, run as run_cases  # noqa: E402
from relay import state_of  # noqa: E402

PROGRAM = os.path.abspath(os.environ.get("CAPTURE", "./tracepulse-capture"))
SKIPPED = 77
TIMEOUT = 60
UUID_AT, HEADER = 4, struct.Struct("<I16sIQQQQQQQII")
EVENT, PACKET, STATS = (struct.Struct("<HQ"), struct.Struct("<HBII"),
                        struct.Struct("<QQQ"))
ID_STATS = 3


def has_sanitizer(name):
    """Was the program built with this one, "address" or "thread"?"""
    with open(PROGRAM, "rb") as f:
        return f"__{name[0]}san_init".encode() in f.read()


def need(*programs):
    """End the test, skipped, if one of them is not there."""
    for program in programs:
        if shutil.which(program) is None:
            print("SKIP: there is no", program)
            sys.exit(SKIPPED)


def environment(**more):
    return {**{k: v for k, v in os.environ.items()
               if not k.startswith("LTTNG_")}, "LC_ALL": "C", "TZ": "UTC",
            "LSAN_OPTIONS": "print_suppressions=0:suppressions=" + os.path.join(
                os.environ.get("srcdir", "."), "tests/lsan.supp"), **more}


@contextlib.contextmanager
def directory():
    path = tempfile.mkdtemp(prefix="tracepulse-capture-")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def small_disk(size):
    """A file system of its own, for who may mount."""
    with directory() as top:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}",
                               "none", top], stderr=subprocess.PIPE,
                              check=False)
        if done.returncode != 0:
            print("SKIP a full disk: no mount:", done.stderr.decode().strip())
            yield None
            return
        try:
            yield top
        finally:
            subprocess.run(["umount", "-l", top], check=True)


class Result:
    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.err = status, out, err
        self.seconds = seconds

    def json(self):
        return json.loads(self.out)

    def lines(self):
        return self.err.splitlines()


def start(*args, program=PROGRAM, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("env", environment())
    return subprocess.Popen(
        [program, *map(str, args)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, **options)


def end(process, timeout=TIMEOUT):
    began = time.monotonic()
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Failed(f"it does not end within {timeout} s")
    return Result(process.returncode, out, err, time.monotonic() - began)


def wait_until(condition, what):
    until = time.monotonic() + TIMEOUT
    while not condition():
        check(time.monotonic() < until, what)
        time.sleep(0.01)


def is_at_rest(pid):
    """Does it hear SIGTERM, and do all its threads sleep?"""
    tasks = f"/proc/{pid}/task"
    with contextlib.suppress(FileNotFoundError):    # of a thread that ends
        return hears(pid) and all(state_of(f"{tasks}/{t}/stat") == "S"
                                  for t in os.listdir(tasks))
    return False


def wait_for_rest(process):
    """Until there is nothing that it could still do by itself. A process that
    the machine has no time for does not sleep."""
    until, seen = time.monotonic() + TIMEOUT, 0
    while seen < 10:
        check(process.poll() is None, "it has ended")
        check(time.monotonic() < until, "it does not come to rest")
        seen = seen + 1 if is_at_rest(process.pid) else 0
        time.sleep(0.03)


def run(*args, status=0, **options):
    result = end(start(*args, **options))
    equal(result.status, status, " ".join(map(str, args)) + "\n" + result.err)
    return result


def capture(*args, status=0):
    """What --json says."""
    return run(*args, "--json", status=status).json()


def told(*command, status=0):
    """Lines of a stock program."""
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=TIMEOUT,
                          env=environment())
    if done.returncode != status:
        raise Failed("%s: status %d\n%s" % (" ".join(command), done.returncode,
                                            done.stderr.decode()))
    return done.stdout.decode().splitlines()


class Stream:
    """A file of a trace with --payload=none: pairs, a time and what is in the
    event, (link type, direction, length on the wire, captured)."""

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        self.packets, self.stats, self.seqs = [], [], []
        self.sizes, self.discarded = [], []
        at = 0
        while at < len(data):
            (magic, _, _, self.instance, begin, last, content, size, seq,
             discarded, self.cpu, self.input) = HEADER.unpack_from(data, at)
            equal(magic, 0xc1fc1fc1, f"{path}: magic at {at}")
            check(content == size and at + size // 8 <= len(data),
                  f"{path}: a packet is not whole")
            self._events(data[at + HEADER.size:at + size // 8], begin, last)
            self.seqs.append(seq)
            self.sizes.append(size // 8)
            self.discarded.append(discarded)
            at += size // 8

    def _events(self, data, begin, last):
        at, times = 0, []
        while at < len(data):
            ident, ns = EVENT.unpack_from(data, at)
            at += EVENT.size
            times.append(ns)
            what = STATS if ident == ID_STATS else PACKET
            (self.stats if ident == ID_STATS else self.packets).append(
                (ns, what.unpack_from(data, at)))
            at += what.size
        equal((times[0], times[-1]), (begin, last), "times of a CTF packet")
        equal(sorted(times), times, "order of times in a CTF packet")


def streams(trace):
    found = [Stream(path) for path in pathlib.Path(trace).glob("stream_*")]
    return sorted(found, key=lambda s: s.instance)


LINE = re.compile(r"\[(\d+)\.(\d{9})\] (?:\S+ )?(net:\w+): \{ ([^}]*) \}, "
                  r"\{ (.*) \}$")
ENUM = re.compile(r'\( (?:"?[^"]*"?) : container = (\d+) \)')
ITEM = re.compile(r"\[\d+\] = (0x[0-9A-F]+|\d+)")
SCALAR = re.compile(r"(\w+) = (0x[0-9A-F]+|\d+)(?![\w.])")
ARRAY = re.compile(r"(\w+) = \[ ((?:\[\d+\] = \w+,? )*)\]")


def cut_out(text, begin):
    """TEXT without what begins with BEGIN and its brace, and that."""
    start = text.find(begin)
    if start < 0:
        return text, ""
    end, depth = start + len(begin), 1
    while depth > 0:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[:start] + text[end:], text[start + len(begin):end]


def fields_of(body):
    body, fields = ENUM.sub(r"\1", body), {}
    for name, items in ARRAY.findall(body):
        fields[name] = [int(i, 0) for i in ITEM.findall(items)]
    for name, value in SCALAR.findall(ARRAY.sub("", body)):
        fields[name] = int(value, 0)
    return fields


class Event:
    """A line of babeltrace2. Fields by their names, those of headers, too.
    INNER: those of the packet in a tunnel."""

    def __init__(self, line):
        m = LINE.match(line)
        check(m is not None, f"not understood: {line[:200]}")
        self.ns = int(m[1]) * 10 ** 9 + int(m[2])
        self.name = m[3].partition(":")[2]
        body, inner = cut_out(m[5], " inner = {")
        self.fields = fields_of(body) | fields_of(m[4])
        self.inner = fields_of(inner)

    def __getitem__(self, name):
        return self.fields[name]

    def get(self, name, otherwise=None):
        return self.fields.get(name, otherwise)


def events(trace):
    """Packets, as babeltrace2 sees them; statistics are left out."""
    found = [Event(line) for line in told(
        "babeltrace2", "--no-delta", "--clock-seconds", str(trace))]
    return [e for e in found if e.name != "stats"]


INSIDE = "--inside"


def run_in_own_network(path, cases, argv):
    """The test PATH: CASES, with interfaces of its own. Returns the status."""
    need("unshare", "ip")
    if argv[:1] == [INSIDE]:
        return run_cases(cases, argv[1:])
    namespace = ["unshare", "-n"]
    if subprocess.run([*namespace, "true"], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        print("SKIP: no network namespace may be made here")
        return SKIPPED
    return subprocess.run([*namespace, sys.executable, path, INSIDE, *argv],
                          check=False).returncode
