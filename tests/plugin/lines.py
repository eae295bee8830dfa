#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sink.tracepulse.lines prints what sink.tracepulse.ndjson does in words, and
filter.tracepulse.match passes the events that it should."""
import json
import os
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
import ndjson
import ctf_trace
from plugin import PLUGIN, babeltrace2, captured, directory, environment
from relay import check, equal, run


def lines(*traces, params=""):
    done = babeltrace2(*traces, sink="lines", params=params)
    equal((done.returncode, done.stderr), (0, b""), "babeltrace2")
    return done.stdout.decode().splitlines()


def matching(trace, params, status=0, **more):
    """The records that the filter passes on."""
    done = subprocess.run(
        ["babeltrace2", "--plugin-path", PLUGIN.parent, trace, "-c",
         "filter.tracepulse.match", "-p", params, "-c",
         "sink.tracepulse.ndjson"], capture_output=True, env=environment(),
        check=False, timeout=60, **more)
    equal(done.returncode != 0, status != 0, done.stderr.decode())
    return done.stderr.decode() if status else \
        [json.loads(line) for line in done.stdout.splitlines()]


def losses_and(records, wanted):
    return [r for r in records if "lost" in r or wanted(r)]


def a_line_for_each_record():
    with directory() as top:
        ctf_trace.write(top / "t")
        got, want = lines(top / "t"), ndjson.records(top / "t")
        equal(len(got), len(want), "lines")
        for line, record in zip(got, want):
            time = re.escape(record["ts"][11:-1])
            name = f"lost {record['count']} {record['lost']}" \
                if "lost" in record else record["name"]
            check(re.match(rf"{time} (\[\d+\] )?\"?{re.escape(name)}", line) or
                  "\\" in line, f"{line!r}: {record}")
            if record.get("name") in ("u8", "u64", "s32"):
                check(line.endswith(f" v={record['fields']['v']}"), line)


def words_are_quoted_only_where_needed():
    """And nothing that a terminal obeys comes out."""
    with directory() as top:
        ctf_trace.write(top / "t")
        for line in lines(top / "t", params="origin=yes"):
            check('"h\\"ost"/"sess ion" ' in line, line)
            bad = re.search("[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", line)
            check(bad is None, f"{line!r}")


def colours_are_only_colours():
    with directory() as top:
        ctf_trace.write(top / "t")
        plain, coloured = lines(top / "t"), lines(top / "t", params="color=yes")
        check(all("\x1b[" in line for line in coloured), "no colours")
        equal([re.sub("\x1b\\[[0-9;]*m", "", x) for x in coloured], plain,
              "text")


def packets_are_short():
    """Addresses of a packet's headers are those of its summary."""
    with directory() as top:
        traces = [captured(top, 100, p) for p in ("headers", "summary")]
        if None in traces:
            return
        full, short = map(lines, traces)
        equal(len(full), len(short), "lines")
        check(len(full) >= 100, "few packets")
        for one, other in zip(full, short):
            ends = re.search(r" net:\w+ (\S+ → \S+) (\w+) (\d+)$", one)
            check(ends is not None, one)
            equal(re.fullmatch(rf".* net:packet (.*?) {ends[2].upper()} "
                               rf"(?:\S+ )?{ends[3]}", other)[1], ends[1],
                  f"{one!r} and {other!r}")


def conditions():
    """By name, by number, by text, in the context, within others."""
    with directory() as top:
        ctf_trace.write(top / "t")
        everything = ndjson.records(top / "t")
        some = next(r for r in everything if r.get("name") == "u64")
        cases = (
            ('names="u*"', lambda r: r["name"][0] == "u"),
            ('names=["u8","s8"]', lambda r: r["name"] in ("u8", "s8")),
            (f'where="vpid={some["ctx"]["vpid"]}"',
             lambda r: r["ctx"]["vpid"] == some["ctx"]["vpid"]),
            (f'names="u64",where="v={some["fields"]["v"]:#x}"',
             lambda r: r["name"] == "u64" and
             r["fields"]["v"] == some["fields"]["v"]),
            (f'since={some["ts_ns"]}',
             lambda r: r["ts_ns"] >= some["ts_ns"]),
            ('where="nosuch=1"', lambda r: False),
            ('where=["v=0","v=1"]', lambda r: False))
        for params, wanted in cases:
            equal(matching(top / "t", params),
                  losses_and(everything, wanted), params)


def addresses_and_labels():
    with directory() as top:
        trace = captured(top, 100)
        if trace is None:
            return
        everything = ndjson.records(trace)
        address = everything[0]["fields"]["network_header"]["saddr"]
        where = ".".join(map(str, address))
        equal(matching(trace, f'where="network_header.saddr={where}"'),
              [r for r in everything
               if r["fields"]["network_header"]["saddr"] == address], where)
        port = everything[0]["fields"]["transport_header"]["source_port"]
        equal(matching(trace, 'where=["network_header.protocol=*udp",'
                       f'"transport_header.source_port={port}"]'),
              [r for r in everything
               if r["fields"]["network_header"]["protocol"]["value"] == 17 and
               r["fields"]["transport_header"]["source_port"] == port], port)


def times_are_told():
    """Of the trace, in order; what nobody reads changes nothing."""
    with directory() as top:
        ctf_trace.write(top / "t")
        everything = ndjson.records(top / "t")
        reader, writer = os.pipe()
        equal(matching(top / "t", f"time-fd={writer}", pass_fds=[writer]),
              everything, "records")
        os.close(writer)
        with open(reader, "rb") as pipe:
            times = [n for n, in struct.iter_unpack("=q", pipe.read())]
        check(times and times == sorted(times), times)
        check(set(times) <= {r["ts_ns"] for r in everything}, times)
        equal(matching(top / "t", "time-fd=77"), everything, "closed")


def failures_say_why():
    with directory() as top:
        ctf_trace.write(top / "t")
        for params, why in (
                ("names=3", "names must be a string or an array of strings"),
                ('where="x"', '"x" is not FIELD=VALUE'),
                ('where="=x"', '"=x" is not FIELD=VALUE'),
                ("since=yes", "since must be an integer"),
                ("colour=1", "there are names, where, since and time-fd")):
            said = " ".join(matching(top / "t", params, status=1).split())
            check(why in said, f"{params}: {said}")
        done = babeltrace2(top / "t", sink="lines", params="flat=yes")
        check(b"there are path, color and origin" in done.stderr, str(done))


CASES = (a_line_for_each_record, words_are_quoted_only_where_needed,
         colours_are_only_colours, packets_are_short, conditions,
         addresses_and_labels, times_are_told, failures_say_why)

if __name__ == "__main__":
    sys.exit(run(CASES, sys.argv[1:]))
