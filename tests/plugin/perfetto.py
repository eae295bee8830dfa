#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sink.tracepulse.perfetto: what protoc decodes is what was recorded."""
import ast
import collections
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
SOURCES = os.environ.get("srcdir", ".")
sys.path.insert(0, os.path.join(SOURCES, "tests/replay"))
import ctf_trace  # noqa: E402
import event_trace  # noqa: E402
import replay_daemon  # noqa: E402
from plugin import babeltrace2, captured, converted, directory  # noqa: E402
from relay import Daemon, check, equal, run  # noqa: E402

PROTO = pathlib.Path(SOURCES, "tools/plugin/perfetto.proto")
THREAD = {"vpid": 10, "vtid": 11, "procname": "app"}


def scalar(value):
    if value[0] == '"':
        return ast.literal_eval("b" + value).decode()
    if value in ("true", "false"):
        return value == "true"
    if re.fullmatch(r"-?\d+", value):
        return int(value)
    return value if value.isupper() or "_" in value else float(value)


def parsed(lines):
    """Messages in protobuf's text format, as lists of (member, value)."""
    message = []
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        if line.endswith(" {"):
            message.append((line[:-2], parsed(lines)))
        else:
            name, value = line.split(": ", 1)
            message.append((name, scalar(value)))
    return message


def all_of(message, *path):
    for name in path[:-1]:
        message = dict(message).get(name, [])
    return [value for name, value in message if name == path[-1]]


def packets_of(path):
    done = subprocess.run(["protoc", "--decode=perfetto.Trace", "--proto_path",
                           PROTO.parent, PROTO.name], stdin=open(path, "rb"),
                          stdout=subprocess.PIPE, check=True, text=True)
    check(not re.search(r"^ *\d+[:{ ]", done.stdout, re.M),
          "a number that the .proto does not have")
    return all_of(parsed(iter(done.stdout.splitlines())), "packet")


def written(top, *traces):
    done = babeltrace2(*traces, params=f'path="{top}/out"', sink="perfetto")
    check(done.returncode == 0, done.stderr.decode(errors="replace"))
    return packets_of(top / "out")


def bundled(trace):
    """(CPU, event) of the kernel."""
    return [(dict(bundle)["cpu"], dict(event)) for packet in trace
            for bundle in all_of(packet, "ftrace_events")
            for event in all_of(bundle, "event")]


def names(trace, kind):
    entries = [dict(entry) for packet in trace
               for entry in all_of(packet, "interned_data", kind)]
    return {entry["iid"]: entry["name"] for entry in entries}


def annotation(one, fields):
    value = [(n, v) for n, v in one if n != "name_iid"]
    if len(value) == 1 and value[0][0].endswith("_value"):
        return value[0][1]
    if value and value[0][0] == "array_values":
        return [annotation(v, fields) for _, v in value]
    return {fields[dict(v)["name_iid"]]: annotation(v, fields)
            for _, v in value}


def track_events(trace):
    """(ns, track, type, name, fields)"""
    events, fields = names(trace, "event_names"), \
        names(trace, "debug_annotation_names")
    for packet in trace:
        for event in all_of(packet, "track_event"):
            one = dict(event)
            yield (dict(packet)["timestamp"], one["track_uuid"],
                   one["type"].replace("TYPE_", ""),
                   events.get(one.get("name_iid"), one.get("name")),
                   {fields[dict(a)["name_iid"]]: annotation(a, fields)
                    for a in all_of(event, "debug_annotations")})


def tracks(trace):
    found = {}
    for packet in trace:
        for track in all_of(packet, "track_descriptor"):
            found.setdefault(dict(track)["uuid"], {}).update(dict(track))
    return found


def kernels(trace):
    return [dict(names) for p in trace
            for names in all_of(p, "system_info", "utsname")]


def are_paired(trace):
    """Each end has a begin on its track; the number of slices that ended."""
    open_now, ended = collections.Counter(), 0
    for _, track, kind, _, _ in track_events(trace):
        if kind == "SLICE_BEGIN":
            open_now[track] += 1
        elif kind == "SLICE_END":
            open_now[track] -= 1
            ended += 1
            check(open_now[track] >= 0, "an end without a begin")
    return ended


def lines_of(*traces):
    done = subprocess.run(["babeltrace2", *traces], stdout=subprocess.PIPE,
                          check=True, text=True)
    return done.stdout.splitlines()


def switches(lines):
    return collections.Counter(
        int(re.search(r"cpu_id = (\d+)", line).group(1))
        for line in lines if "sched_switch:" in line)


def kernel_events_of_trace_cmd():
    with directory() as top:
        source = converted(top)
        trace = written(top, source)
        events = bundled(trace)
        equal(collections.Counter(cpu for cpu, e in events
                                  if "sched_switch" in e),
              switches(lines_of(source)), "sched_switch per CPU")
        records = [json.loads(x) for x in babeltrace2(source).stdout.splitlines()]
        records = {r["ts_ns"]: r for r in records}
        for cpu, event in events:
            record = records[event["timestamp"]]
            kind = record["name"].replace("sched:", "")
            equal(cpu, record["cpu"], "CPU")
            equal(event["pid"], record["ctx"]["common_pid"], "pid")
            got = dict(event[kind])
            equal(got, {k: v for k, v in record["fields"].items() if k in got},
                  kind)
            check({"comm", "pid"} <= set(got) or
                  {"prev_comm", "next_pid"} <= set(got), f"{got}")
        equal(kernels(trace), [{"sysname": "Linux", "release": "6.18.0"}],
              "kernel")
        kinds = {r["name"].replace("sched:", "") for r in records.values()}
        equal({name for _, _, _, name, _ in track_events(trace)},
              {"sched:" + k for k in kinds if not re.match(
                  "sched_(switch|wak)", k)}, "instants")


def kernel_events_of_lttng():
    def switch(cpu, ns, before, after):
        return (cpu, ns, "sched_switch", {}, {
            "prev_comm": f"c{before}", "prev_tid": before, "prev_prio": 20,
            "prev_state": 1, "next_comm": f"c{after}", "next_tid": after,
            "next_prio": 20})
    with directory() as top:
        event_trace.write(top / "t", [
            (0, 5, "lttng_statedump_process_state", {},
             {"tid": 8, "pid": 7, "ppid": 1, "name": "worker"}),
            (0, 6, "lttng_statedump_process_state", {},
             {"tid": 7, "pid": 7, "ppid": 1, "name": "main"}),
            (0, 7, "sched_process_fork", {}, {
                "parent_comm": "main", "parent_tid": 7, "parent_pid": 7,
                "child_comm": "main", "child_tid": 9, "child_pid": 7}),
            switch(0, 10, 0, 8),
            (0, 11, "syscall_entry_read", {}, {"fd": 3}),
            (0, 12, "sched_waking", {}, {"comm": "c9", "tid": 9, "prio": 20,
                                         "target_cpu": 1}),
            (0, 13, "irq_softirq_entry", {}, {"vec": 1}),
            (0, 14, "irq_softirq_exit", {}, {"vec": 1}),
            (0, 15, "irq_handler_entry", {}, {"irq": 5, "name": "eth"}),
            (0, 16, "irq_handler_exit", {}, {"irq": 5, "ret": 1}),
            switch(0, 17, 8, 0),
            (0, 19, "power_cpu_frequency", {}, {"state": 800, "cpu_id": 1}),
            switch(1, 18, 0, 8),
            (1, 20, "syscall_exit_read", {}, {"ret": 4}),
            (1, 21, "syscall_exit_write", {}, {"ret": 5}),
            switch(1, 22, 8, 9),
            (1, 23, "tick", {}, {"n": 1}),
        ], lost=3)
        trace = written(top, top / "t")
        events = bundled(trace)
        equal([(cpu, e["timestamp"] - event_trace.ORIGIN, e["pid"],
                next(k for k in e if k not in ("timestamp", "pid")))
               for cpu, e in sorted(events, key=lambda x: x[1]["timestamp"])],
              [(0, 10, 0, "sched_switch"), (0, 12, 8, "sched_waking"),
               (0, 13, 8, "softirq_entry"), (0, 14, 8, "softirq_exit"),
               (0, 15, 8, "irq_handler_entry"), (0, 16, 8, "irq_handler_exit"),
               (0, 17, 8, "sched_switch"), (1, 18, 0, "sched_switch"),
               (0, 19, 0, "cpu_frequency"), (1, 22, 8, "sched_switch")],
              "events of the kernel")
        waking = next(e for _, e in events if "sched_waking" in e)
        equal(dict(waking["sched_waking"]), {
            "comm": "c9", "pid": 9, "prio": 20, "target_cpu": 1}, "waking")
        found = tracks(trace)
        got = [(ns - event_trace.ORIGIN, dict(found[track].get("thread", [])),
                kind, name, fields)
               for ns, track, kind, name, fields in sorted(
                   track_events(trace), key=lambda e: "lost" in str(e[3]))]
        thread = {"pid": 7, "tid": 8}
        equal(got[1:-1], [
            (11, thread, "SLICE_BEGIN", "syscall_read", {"fd": 3}),
            (20, thread, "SLICE_END", None, {"ret": 4}),
            (21, thread, "INSTANT", "syscall_exit_write", {"ret": 5}),
            (23, {"pid": 7, "tid": 9}, "INSTANT", "tick", {"n": 1})],
            "events of threads")
        equal([got[0][3], got[-1][2:]],
              ["sched_process_fork",
               ("INSTANT", "lost events", {"count": 3})], "others")
        trees = [dict(p)["process_tree"] for p in trace
                 if "process_tree" in dict(p)]
        equal([dict(dict(t)["threads"]) for t in trees],
              [{"tid": 8, "name": "worker", "tgid": 7},
               {"tid": 7, "name": "main", "tgid": 7},
               {"tid": 9, "name": "main", "tgid": 7}], "threads")
        equal([dict(x) for t in trees for x in all_of(t, "processes")],
              [{"pid": 7, "ppid": 1, "cmdline": "main"}], "processes")


def slices_are_paired():
    func = "lttng_ust_cyg_profile:func_"
    with directory() as top:
        other = dict(THREAD, vtid=10)
        event_trace.write(top / "t", [
            (0, 1, "p:job_end", THREAD, {}),
            (0, 2, "p:job_begin", THREAD, {"n": 1}),
            (0, 3, func + "entry", THREAD, {"addr": 0x1234}),
            (0, 4, func + "entry", THREAD, {"addr": 0x5678}),
            (0, 5, func + "exit", THREAD, {"addr": 0x5678}),
            (0, 6, "p:step:begin", other, {}),
            (0, 7, "p:job_end", THREAD, {}),
            (0, 8, "p:step:end", other, {}),
            (0, 9, "p:tick", THREAD, {"text": "é\"\\"}),
        ])
        trace = written(top, top / "t")
        equal(are_paired(trace), 4, "slices")
        found = tracks(trace)
        equal([(ns - event_trace.ORIGIN, dict(found[track]["thread"])["tid"],
                kind, name) for ns, track, kind, name, _ in track_events(trace)],
              [(1, 11, "INSTANT", "p:job_end"),
               (2, 11, "SLICE_BEGIN", "p:job"),
               (3, 11, "SLICE_BEGIN", "0x1234"),
               (4, 11, "SLICE_BEGIN", "0x5678"), (5, 11, "SLICE_END", None),
               (6, 10, "SLICE_BEGIN", "p:step"),
               (7, 11, "SLICE_END", None), (7, 11, "SLICE_END", None),
               (8, 10, "SLICE_END", None), (9, 11, "INSTANT", "p:tick")],
              "events")
        threads = [dict(t["thread"]) for t in found.values() if "thread" in t]
        equal(threads, [{"pid": 10, "tid": 11, "thread_name": "app"},
                        {"pid": 10, "tid": 10, "thread_name": "app"}],
              "threads")
        equal([dict(t["process"]) for t in found.values() if "process" in t],
              [{"pid": 10, "process_name": "app"}], "processes")


def functions_have_names():
    func = "lttng_ust_cyg_profile_fast:func_"
    context = {**THREAD, "debug_info": {"bin": "app+0x1", "func": "main+0",
                                        "src": ""}}
    other = {**THREAD, "debug_info": {"bin": "", "func": "", "src": ""}}
    with directory() as top:
        event_trace.write(top / "t", [
            (0, 1, func + "entry", context, {"addr": 1}),
            (0, 2, func + "entry", other, {"addr": 0xab}),
            (0, 3, func + "exit", other, {}),
            (0, 4, func + "exit", context, {})])
        trace = written(top, top / "t")
        equal([(kind, name) for _, _, kind, name, _ in track_events(trace)],
              [("SLICE_BEGIN", "main"), ("SLICE_BEGIN", "0xab"),
               ("SLICE_END", None), ("SLICE_END", None)], "events")


def processes_of_user_space_have_names():
    """Of a trace with buffers per process; by an event of the state dump."""
    with Daemon() as daemon, directory() as top:
        replay_daemon.Replay(replay_daemon.Vector("perpid"), daemon,
                             replay_daemon.whole).run()
        got = tracks(written(top, daemon.out))
        equal(sorted(dict(t["process"]).get("pid") for t in got.values()),
              [28500, 28505], "processes")
        equal({dict(t["process"])["process_name"] for t in got.values()},
              {"app"}, "names")
        event_trace.write(top / "t", [
            (0, 1, "lttng_ust_statedump:procname", {"vpid": 3, "vtid": 4},
             {"procname": "program"})])
        got = tracks(written(top, top / "t"))
        equal([dict(t["process"]) for t in got.values() if "process" in t],
              [{"pid": 3, "process_name": "program"}], "process")


def events_of_user_space():
    """A recorded session of stock LTTng, replayed to our relay."""
    with Daemon() as daemon, directory() as top:
        replay_daemon.Replay(replay_daemon.Vector("simple"), daemon,
                             replay_daemon.whole).run()
        lines = lines_of(daemon.out)
        check(len(lines) > 100, "few events")
        got = list(track_events(written(top, daemon.out)))
        records = [json.loads(x) for x in
                   babeltrace2(daemon.out).stdout.splitlines()]
        equal([(g[0], g[3], g[4]) for g in got],
              [(r["ts_ns"], r["name"], r["fields"]) for r in records],
              "events")
        equal(len(got), len(lines), "events")


def a_track_per_interface():
    with directory() as top:
        source = captured(top, 300)
        if source is None:
            return
        trace = written(top, source)
        found = tracks(trace)
        equal([t["name"] for t in found.values()], [
            re.search(r'source_uri = "(.*)"', (source / "metadata").read_bytes()
                      .decode("latin1")).group(1)], "tracks")
        got = [e for e in track_events(trace) if e[3].startswith("net:")]
        check(len(got) >= 300, "few packets")


def argument(value):
    """Of a value in JSON."""
    if isinstance(value, dict) and set(value) == {"label", "value"}:
        return value["label"] if isinstance(value["label"], str) \
            else value["value"]
    if isinstance(value, dict):
        return {k: argument(v) for k, v in value.items()}
    return [argument(v) for v in value] if isinstance(value, list) else value


def plain(value):
    """What stands for numbers that JSON does not have; an empty message is an
    empty array as well as an empty structure."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else \
            "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, list):
        return [plain(v) for v in value] or {}
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def every_type_is_decoded():
    with directory() as top:
        ctf_trace.write(top / "t", skip=False)
        got = list(track_events(written(top, top / "t")))
        records = [json.loads(x) for x in
                   babeltrace2(top / "t").stdout.splitlines()]
        for one, record in zip(got, records):
            fields = {k: v for k, v in record["ctx"].items()
                      if k not in ("vpid", "procname")}
            equal((one[3], plain(one[4])), (record["name"], plain(
                argument({**fields, **record["fields"]}))), "event")
        equal(len(got), len(records), "events")


def clocks_of_several_traces_line_up():
    with directory() as top:
        for number, host in enumerate(("one", "two")):
            event_trace.write(top / host, [
                (0, 2 * i + number, f"{host}:tick", THREAD, {"n": i})
                for i in range(50)], host=host)
        trace = written(top, top / "one", top / "two")
        equal([e[0] - event_trace.ORIGIN for e in track_events(trace)
               if e[3] is not None], list(range(100)), "times")
        equal({dict(p).get("machine_id", 0) for p in trace}, {0, 1}, "machines")
        clocks = [dict(c) for p in trace
                  for c in all_of(p, "clock_snapshot", "clocks")]
        equal(kernels(trace), [{"sysname": "Linux", "release": "6.1.0"}] * 2,
              "kernels")
        equal({c["clock_id"] for c in clocks}, {1, 6}, "clocks")
        equal([c["timestamp"] for c in clocks[:2]], [event_trace.ORIGIN] * 2,
              "time of the first event")


def limits_hold():
    """The CPUs of a host, the depth of slices."""
    with directory() as top:
        event_trace.write(top / "cpu", [
            (4095, 1, "sched_waking", {}, {"comm": "a", "tid": 1}),
            (4096, 2, "sched_waking", {}, {"comm": "b", "tid": 2}),
            ((1 << 32) - 1, 3, "sched_waking", {}, {"comm": "c", "tid": 3})])
        trace = written(top, top / "cpu")
        equal([cpu for cpu, _ in bundled(trace)], [4095], "CPUs")
        equal([e[3:] for e in track_events(trace)],
              [("sched_waking", {"comm": "b", "tid": 2}),
               ("sched_waking", {"comm": "c", "tid": 3})], "instants")
        deep = 5000
        event_trace.write(top / "deep", [
            (0, i, "x:begin" if i < deep else "x:end", THREAD, {})
            for i in range(2 * deep)])
        trace = written(top, top / "deep")
        equal(are_paired(trace), 4096, "slices")
        equal(sum(e[2] == "INSTANT" for e in track_events(trace)),
              2 * (deep - 4096), "instants")


def failures_say_why():
    with directory() as top:
        event_trace.write(top / "t", [(0, 1, "p:x", THREAD, {})])
        ctf_trace.write(top / "no", clock=False, skip=False)
        for source, params, why in (
                ("t", 'path="/dev/full"', b"No space left on device"),
                ("t", 'flat=yes', b"unknown parameter flat: there is path"),
                ("no", 'path="/dev/null"', b"chan_0 has no clock")):
            done = babeltrace2(top / source, params=params, sink="perfetto")
            check(done.returncode != 0, f"{params} works")
            check(why in done.stderr, f"{params}: {done.stderr}")


CASES = (kernel_events_of_trace_cmd, kernel_events_of_lttng, slices_are_paired,
         functions_have_names, processes_of_user_space_have_names,
         events_of_user_space, a_track_per_interface, every_type_is_decoded,
         clocks_of_several_traces_line_up, limits_hold, failures_say_why)

if __name__ == "__main__":
    if shutil.which("protoc") is None:
        print("SKIP: there is no protoc (Debian: protobuf-compiler)")
        sys.exit(77)
    sys.exit(run(CASES, sys.argv[1:]))
