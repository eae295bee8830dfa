#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sink.tracepulse.ndjson: every record equals what babeltrace2's bindings for
Python say of the message."""
import codecs
import datetime
import json
import math
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
try:
    import bt2
except ImportError:  # another python3 than Debian's may come first in PATH
    if os.path.realpath(sys.executable).startswith("/usr/bin/") or \
            not os.path.exists("/usr/bin/python3"):
        print("SKIP: there is no module bt2 (Debian: python3-bt2)")
        sys.exit(77)
    os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)

SOURCES = os.environ.get("srcdir", ".")
sys.path.insert(0, os.path.join(SOURCES, "tests/replay"))
import ctf_trace  # noqa: E402
from plugin import babeltrace2, captured, converted, directory  # noqa: E402
from relay import check, equal, run  # noqa: E402

LEVELS = {value: name.lower() for name, value in vars(
    bt2.EventClassLogLevel).items() if name.isupper()}
HEX = bt2.IntegerDisplayBase.HEXADECIMAL
codecs.register_error("each", lambda e: ("\ufffd" * (e.end - e.start), e.end))


def records(*traces, params=""):
    done = babeltrace2(*traces, params=params)
    check(done.returncode == 0, done.stderr.decode(errors="replace"))
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def text(value, length=None):
    """The first LENGTH bytes: behind the end of an empty array of characters,
    2.0.4 keeps the bytes of the one before."""
    raw = str(value).encode("utf-8", "surrogateescape")
    return raw[:length].decode("utf-8", "each")


def is_byte(cls):
    return type(cls) is bt2._UnsignedIntegerFieldClassConst and \
        cls.field_value_range == 8 and cls.preferred_display_base == HEX


def real(number):
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number


def labels_of(field):
    """The bindings of 2.0.4 fail by an assertion where there is none."""
    try:
        return [text(s) for s in field.labels]
    except AssertionError:
        return []


def value_of(field):
    """As the record must have it."""
    cls = field.cls
    if isinstance(cls, bt2._EnumerationFieldClassConst):
        labels = labels_of(field)
        return {"label": labels[0] if len(labels) == 1 else labels or None,
                "value": int(field)}
    if isinstance(cls, bt2._IntegerFieldClassConst):
        return int(field)
    if isinstance(cls, bt2._RealFieldClassConst):
        return real(float(field))
    if isinstance(cls, bt2._StringFieldClassConst):
        return text(field, len(field))
    if isinstance(cls, bt2._StructureFieldClassConst):
        return {k: value_of(field[k]) for k in field}
    if isinstance(cls, bt2._VariantFieldClassConst):
        return value_of(field.selected_option)
    check(isinstance(cls, bt2._ArrayFieldClassConst), f"unknown class {cls}")
    if is_byte(cls.element_field_class):
        return bytes(int(x) for x in field).hex()
    return [value_of(x) for x in field]


def head(message, stream, clock):
    out = {}
    if clock is not None:
        ns = clock.ns_from_origin
        if clock.clock_class.origin_is_unix_epoch:
            seconds = datetime.datetime.fromtimestamp(
                ns // 10 ** 9, datetime.timezone.utc)
            out["ts"] = f"{seconds:%Y-%m-%dT%H:%M:%S}.{ns % 10 ** 9:09}Z"
        out["ts_ns"] = ns
    for key, name in (("host", "hostname"), ("session", "trace_name")):
        if name in stream.trace.environment:
            out[key] = str(stream.trace.environment[name])
    if stream.trace.name is not None:
        out["trace"] = stream.trace.name
    out["stream"] = os.path.basename(stream.name) if stream.name \
        else str(stream.id)
    return out


def event_of(message):
    event = message.event
    has_clock = event.stream.cls.default_clock_class is not None
    out = head(message, event.stream,
               message.default_clock_snapshot if has_clock else None)
    context = event.packet.context_field
    if context is not None and "cpu_id" in context:
        out["cpu"] = int(context["cpu_id"])
    out["name"] = event.name
    if event.cls.log_level is not None:
        out["loglevel"] = LEVELS[event.cls.log_level]
    out["ctx"] = value_of(event.common_context_field) \
        if event.common_context_field is not None else {}
    if event.specific_context_field is not None:
        for key, value in value_of(event.specific_context_field).items():
            out["ctx"][key + "_" if key in out["ctx"] else key] = value
    out["fields"] = value_of(event.payload_field) \
        if event.payload_field is not None else {}
    return out


def loss_of(message, what):
    has_clock = message.stream.cls.default_clock_class is not None
    out = head(message, message.stream,
               message.end_default_clock_snapshot if has_clock else None)
    if has_clock:
        out["since_ns"] = message.beginning_default_clock_snapshot.ns_from_origin
    out.update(lost=what, count=message.count)
    return out


def expected(path):
    for message in bt2.TraceCollectionMessageIterator(str(path)):
        if type(message) is bt2._EventMessageConst:
            yield event_of(message)
        elif type(message) is bt2._DiscardedEventsMessageConst:
            yield loss_of(message, "events")
        elif type(message) is bt2._DiscardedPacketsMessageConst:
            yield loss_of(message, "packets")


def is_same(path, got=None):
    """Returns the records."""
    got = records(path) if got is None else got
    want = list(expected(path))
    for number, pair in enumerate(zip(want, got)):
        equal(json.dumps(pair[1]), json.dumps(pair[0]), f"record {number}")
    equal(len(got), len(want), "records")
    return got


def every_type_is_as_the_bindings_report_it():
    with directory() as top:
        for seed in range(5):
            ctf_trace.write(top / str(seed), seed)
            got = is_same(top / str(seed))
            equal({r["name"] for r in got if "name" in r},
                  {name.replace("\\", "") for name in ctf_trace.KINDS}, "names")
            equal([r["lost"] for r in got if "lost" in r],
                  ["events", "packets"], "losses")


def every_line_is_json_for_jq():
    if shutil.which("jq") is None:
        print("SKIP: there is no jq")
        return
    with directory() as top:
        ctf_trace.write(top / "t")
        lines = babeltrace2(top / "t").stdout
        done = subprocess.run(["jq", "-c", ".name"], input=lines, check=True,
                              stdout=subprocess.PIPE)
        equal(done.stdout.count(b"\n"), lines.count(b"\n"), "lines of jq")


def a_trace_without_a_clock_has_no_time():
    with directory() as top:
        ctf_trace.write(top / "t", clock=False, skip=False)
        got = is_same(top / "t")
        check(all("ts" not in r and "ts_ns" not in r for r in got), "times")


def kernel_traces():
    with directory() as top:
        check(len(is_same(converted(top))) > 100, "few events")


def captured_packets():
    with directory() as top:
        trace = captured(top, 500)
        if trace is not None:
            check(len(is_same(trace)) >= 500, "few packets")


def names_and_fields_choose():
    with directory() as top:
        ctf_trace.write(top / "t", skip=False)
        got = records(top / "t", params='names=["u*","nothing"],fields="v*"')
        equal({r["name"] for r in got}, {"u8", "u16", "u32", "u64", "nothing"},
              "names")
        want = [r for r in expected(top / "t")
                if r["name"][0] == "u" or r["name"] == "nothing"]
        for record in want:
            record["ctx"] = {k: v for k, v in record["ctx"].items()
                             if k in ("vpid", "vpid_")}
        equal(got, want, "records")


def flattened(prefix, value):
    for key, inner in value.items():
        if isinstance(inner, dict) and set(inner) == {"label", "value"}:
            yield f"{prefix}.{key}", inner["value"]
            yield f"{prefix}.{key}.label", inner["label"]
        elif isinstance(inner, dict):
            yield from flattened(f"{prefix}.{key}", inner)
        else:
            yield f"{prefix}.{key}", inner


def flat_records_have_no_objects():
    with directory() as top:
        ctf_trace.write(top / "t", skip=False)
        skip = ("variant", "structures")  # a dict in these stays one
        got = [r for r in records(top / "t", params="flat=yes")
               if r["name"] not in skip]
        want = [r for r in expected(top / "t") if r["name"] not in skip]
        for record in want:
            record.update(flattened("ctx", record.pop("ctx")))
            record.update(flattened("fields", record.pop("fields")))
        for one, other in zip(got, want):
            equal(one, other, "record")
        equal(len(got), len(want), "records")


def large_integers_may_be_strings():
    with directory() as top:
        ctf_trace.write(top / "t", skip=False)
        got = records(top / "t", params='int64-as-string=yes,names="*64"')
        want = [r for r in expected(top / "t") if r["name"].endswith("64")]
        equal([r["ts_ns"] for r in got], [str(r["ts_ns"]) for r in want],
              "times")
        for one, other in zip(got, want):
            value = other["fields"]["v"]
            equal(one["fields"]["v"],
                  value if one["name"] == "f64" else str(value), one["name"])


def a_file_gets_what_standard_output_gets():
    with directory() as top:
        ctf_trace.write(top / "t")
        done = babeltrace2(top / "t", params=f'path="{top}/out"')
        equal((done.returncode, done.stdout), (0, b""), "standard output")
        equal((top / "out").read_bytes(), babeltrace2(top / "t").stdout, "file")


def failures_say_why():
    with directory() as top:
        ctf_trace.write(top / "t")
        for params, why in (
                ('path="/dev/full"', b"No space left on device"),
                ('path="/nonexistent/x"', b"No such file or directory"),
                ("path=3", b"parameter path must be a string"),
                ("flat=3", b"parameter flat must be yes or no"),
                ("names=[3]", b"parameter names must be a string or an array"),
                ("colour=yes", b"unknown parameter colour")):
            done = babeltrace2(top / "t", params=params)
            check(done.returncode != 0, f"{params} works")
            check(why in done.stderr, f"{params}: {done.stderr}")
        reader, writer = os.pipe()
        os.close(reader)
        done = babeltrace2(top / "t", stdout=writer)
        equal((done.returncode, done.stderr), (-signal.SIGPIPE, b""), "quiet")
        done = babeltrace2(top / "t", stdout=writer, restore_signals=False)
        os.close(writer)
        check(b"Broken pipe" in done.stderr, str(done))


CASES = (every_type_is_as_the_bindings_report_it, every_line_is_json_for_jq,
         a_trace_without_a_clock_has_no_time, kernel_traces, captured_packets,
         names_and_fields_choose, flat_records_have_no_objects,
         large_integers_may_be_strings, a_file_gets_what_standard_output_gets,
         failures_say_why)

if __name__ == "__main__":
    sys.exit(run(CASES, sys.argv[1:]))
