# SPDX-License-Identifier: MIT
"""What stock readers say of a trace.dat, and of what it became in CTF."""
import os
import re
import subprocess

ENVIRONMENT = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
CPU = re.compile(r"\{ cpu_id = (\d+) \}, \{ common_flags = (\w+), "
                 r"common_preempt_count = (\d+), (?:common_pid|tid) = (-?\d+) \}, "
                 r"\{ ?(.*?) ?\}$")
CTF = re.compile(r"^\[(\d+)\] \([^)]*\) (?:\S+ )?(\S+?):? \{ cpu_id")
FIELD = re.compile(r"(\w+) = (\"(?:\\.|[^\"\\])*\"|\[[^\]]*\](?:[^,]*\])*|[^,]+)"
                   r"(?:, |$)")
# trace-cmd 3.3 prints the flags of an event after its CPU.
REPORT = re.compile(r"^ *(.*)-(\d+) +\[(\d+)\](?:-0x\w+)? *(\d+)\.(\d+): "
                    r"(\S+?): +(.*)$")


class Event:
    """One event: time in ns, CPU, pid, name, fields as text."""

    def __init__(self, time, cpu, pid, name, fields):
        self.time, self.cpu, self.pid = time, cpu, pid
        self.name, self.fields = name, fields

    def key(self):
        return self.time, self.cpu

    def __repr__(self):
        return "%d cpu %d pid %d %s %r" % (
            self.time, self.cpu, self.pid, self.name, self.fields)


def run(*command, status=0):
    """What it prints; it must end so."""
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=ENVIRONMENT, timeout=300,
                          errors="replace", check=False)
    if done.returncode != status:
        raise AssertionError("%s: status %d\n%s%s" % (
            " ".join(command), done.returncode, done.stdout, done.stderr))
    return done


# An enumeration, with its number.
ENUM = re.compile(r"\( (?:<unknown>|\"(?:\\.|[^\"\\])*\"|\{ \"[^}]*\" \}) : "
                  r"container = (-?\w+) \)")


def ctf_lines(text):
    """Events that babeltrace2 or babeltrace has printed with cycles."""
    for line in text.splitlines():
        head = CTF.match(line)
        body = CPU.search(line)
        if head is None or body is None:
            raise AssertionError("not an event: " + line)
        fields = {k: v.strip('"') for k, v in FIELD.findall(
            ENUM.sub(r"\1", body[5]))}
        yield Event(int(head[1]), int(body[1]), int(body[4]), head[2], fields)


def babeltrace2(path):
    """Events, and what it warned of."""
    done = run("babeltrace2", "--clock-cycles", path)
    return list(ctf_lines(done.stdout)), done.stderr


def babeltrace(path):
    done = run("babeltrace", "--clock-cycles", path)
    return list(ctf_lines(done.stdout))


def report_lines(text):
    """Events of trace-cmd report -R -t, and what the kernel lost."""
    events, lost = [], 0
    for line in text.splitlines():
        found = REPORT.match(line)
        if found is None:
            dropped = re.search(r"\[(\d+) EVENTS DROPPED\]", line)
            lost += int(dropped[1]) if dropped else 0
            continue
        time = int(found[4]) * 10 ** 9 + int(found[5])
        events.append(Event(
            time, int(found[3]), int(found[2]), found[6], found[7]))
    return events, lost


def raw_fields(text, names):
    """ "a=x b=y z" with the names of fields: name -> text."""
    at = [(m.start(), m.end(), m[1]) for m in re.finditer(
        r"(?:^| )(\w+)=", text) if m[1] in names]
    out = {}
    for i, (_, end, name) in enumerate(at):
        stop = at[i + 1][0] if i + 1 < len(at) else len(text)
        out[name] = text[end:stop].strip()
    return out


def same_value(a, b):
    """ "0x1F" is 31, and 000 is 0."""
    def number(s):
        try:
            return int(s, 16 if s[:2].lower() == "0x" else 10)
        except ValueError:
            return s
    return number(a) == number(b)


def compare(got, want, fields_of):
    """Number, order, and all of each event. Events of two CPUs at the same ns
    have no order. FIELDS_OF: names of events, or None for all."""
    if len(got) != len(want):
        raise AssertionError("%d events, not %d" % (len(got), len(want)))
    for events in got, want:
        if any(b.time < a.time for a, b in zip(events, events[1:])):
            raise AssertionError("an event is before an earlier one")
        events.sort(key=Event.key)
    for a, b in zip(got, want):
        name = a.name.rpartition(":")[2]
        if (a.time, a.cpu, a.pid, name) != (b.time, b.cpu, b.pid, b.name):
            raise AssertionError("%r\nis not\n%r" % (a, b))
        if fields_of is not None and name not in fields_of:
            continue
        told = raw_fields(b.fields, a.fields)
        if set(told) != set(a.fields) or not all(
                same_value(told[k], v) for k, v in a.fields.items()):
            raise AssertionError("%r\nis not\n%r" % (a, b))
