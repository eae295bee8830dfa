#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tracepulse-ftrace convert: stock readers show the same events of the CTF as trace-cmd
report of the file."""
import contextlib
import os
import pathlib
import re
import resource
import shutil
import sys

sys.dont_write_bytecode = True
import dat_file
import reading
from recording import Skip, record
from sender import (PROGRAM, SKIPPED, VECTORS, check, directory, equal, part,
                    run)
from relay import Daemon

RECORDINGS = ("v6-tcp", "v6-udp", "v7-tcp-none", "v6-tcp-flush",
              "v6-tcp-missed", "v7-tcp")


def recording(name):
    """A file of the stock listener."""
    return os.path.join(VECTORS, f"tracecmd-{name}-result.bin")


def report_of(name):
    """Its events, and what the kernel lost."""
    return reading.report_lines(part(name, "report").decode())


def convert(*arguments, status=0):
    return reading.run(PROGRAM, "convert", *map(str, arguments), status=status)


@contextlib.contextmanager
def converted(whole, *arguments, status=0):
    """The directory with the result "out" of the bytes WHOLE, and what was
    printed."""
    with directory() as top:
        (top / "t.dat").write_bytes(whole)
        yield top, convert(*arguments, top / "t.dat", top / "out",
                           status=status)


def has_zstd():
    return b"ZSTD_decompress" in pathlib.Path(PROGRAM).read_bytes()


def recordings_are_as_their_report():
    """All fields of all events, by both readers."""
    for name in RECORDINGS:
        if name == "v7-tcp" and not has_zstd():
            continue
        want, lost = report_of(name)
        with converted(part(name, "result")) as (top, done):
            got, warned = reading.babeltrace2(top / "out")
            reading.compare(got, want, None)
            equal("268 events" in warned, lost == 268, "a loss is told")
            equal("268 events that the kernel lost" in done.stderr,
                  lost == 268, "a loss is told on standard error")
            if shutil.which("babeltrace"):
                reading.compare(reading.babeltrace(top / "out"), want, None)


def pages_behind_a_cut_are_read():
    """A stock listener's file, of a recorder that lost the rest of a page: all
    other events are there, and a reader is told where some are missing."""
    name = "v6-tcp-missed"
    want, _ = report_of(name)
    pages = part(name, "cpu0")
    cut = pages[:5 * 4096 + 1000] + pages[6 * 4096:]
    with converted(part(name, "result").replace(
            pages, cut.ljust(len(pages), b"\0"))) as (top, done):
        got, _ = reading.babeltrace2(top / "out")
        names = {(e.time, e.cpu, e.pid, e.name.partition(":")[2]) for e in got}
        check(names <= {(e.time, e.cpu, e.pid, e.name) for e in want},
              "events that were none")
        check(len(want) - 100 < len(got) < len(want),
              "%d events of %d" % (len(got), len(want)))
        equal("269 events that the kernel lost" in done.stderr, True,
              "the gap is told: " + done.stderr)


def a_busy_machine_is_as_its_report():
    """100,000 events and more of this machine."""
    count = 28000   # of them, 4 events each
    with directory() as top:
        try:
            trace = record(
                top, "-b", "20000", "-e", "sched", "-e", "raw_syscalls", "-e",
                "irq", "-e", "timer", command=(
                    "dd", "if=/dev/zero", "of=/dev/null", "bs=1",
                    "count=%d" % count, "status=none"))
        except Skip as why:
            print("SKIP a_busy_machine_is_as_its_report:", why)
            return
        want, lost = reading.report_lines(reading.run(
            "trace-cmd", "report", "-R", "-t", str(trace)).stdout)
        if len(want) < 100000:
            print("SKIP a_busy_machine_is_as_its_report: only %d events were "
                  "recorded" % len(want))
            return
        done = convert(trace, top / "out")
        got, _ = reading.babeltrace2(top / "out")
        reading.compare(got, want, ("sched_switch",))
        check(sum(e.name == "sched:sched_switch" for e in got) > 10,
              "there are switches")
        if lost == 0:
            check("not in the trace" not in done.stderr, done.stderr)


def names_are_as_lttng_has_them():
    with converted(part("v6-tcp", "result"), "--names=lttng") as (top, _):
        got, _ = reading.babeltrace2(top / "out")
        switch = next(e for e in got if e.name == "sched_switch")
        equal(list(switch.fields), [
            "prev_comm", "prev_tid", "prev_prio", "prev_state", "next_comm",
            "next_tid", "next_prio"], "fields of sched_switch")
        check('tracer_name = "lttng-modules"' in
              (top / "out/metadata").read_text(), "the tracer's name")


# Events of ftrace, and their names in "lttng list --kernel".
LTTNG = {
    "exceptions": {"page_fault_user": "x86_exceptions_page_fault_user"},
    "irq_vectors": {
        "local_timer_entry": "x86_irq_vectors_local_timer_entry",
        "x86_platform_ipi_exit": "x86_irq_vectors_ipi_exit",
        "vector_alloc": "vector_alloc"},
    "net": {"netif_receive_skb": "net_if_receive_skb",
            "netif_rx_entry": "net_if_rx_entry",
            "napi_gro_frags_exit": "net_napi_gro_frags_exit",
            "net_dev_queue": "net_dev_queue"},
    "napi": {"napi_poll": "napi_poll"},
    "compaction": {
        "mm_compaction_isolate_migratepages":
            "compaction_isolate_migratepages"},
    "kvm": {"kvm_entry": "kvm_x86_entry", "kvm_exit": "kvm_x86_exit",
            "kvm_mmio": "kvm_mmio"},
    "power": {"cpu_idle": "power_cpu_idle",
              "machine_suspend": "power_machine_suspend",
              "clock_enable": "power_clock_enable"},
    "syscalls": {"sys_enter_read": "syscall_entry_read"},
    "vmscan": {"mm_vmscan_kswapd_wake": "mm_vmscan_kswapd_wake"}}


def other_names_of_events_are_as_lttng_has_them():
    m = dat_file.Maker()
    rows = [(system, ours, theirs) for system, names in LTTNG.items()
            for ours, theirs in names.items()]
    systems = {system: [] for system in LTTNG}
    for i, (system, ours, _) in enumerate(rows):
        systems[system].append(m.format(ours, 300 + i, [("int n", 8, 4, 1)]))
    data = b"".join(m.entry(m.event(300 + i, m.pack("i", i)), 1)
                    for i in range(len(rows)))
    with converted(m.file_v6([], systems, [[m.page(1000, data)]]),
                   "--names=lttng") as (top, _):
        got, _ = reading.babeltrace2(top / "out")
        equal([e.name for e in got], [theirs for _, _, theirs in rows], "names")
        check("s32 _tid;" in (top / "out/metadata").read_text(), "the context")


def kinds_of_block_requests_are_lttngs_flags():
    """Letters of the kernel; bits of LTTng."""
    texts = {b"R": 4, b"W": 1, b"RA": 12, b"WS": 33, b"WSM": 97, b"D": 2,
             b"DE": 130, b"FF": 1 << 8 | 1 << 10, b"WFS": 1 << 9 | 33,
             b"FWFS": 1 << 10 | 1 << 9 | 33, b"F": 1 << 8, b"N": 0, b"": 0}
    m = dat_file.Maker()
    systems = {"block": [m.format("block_rq_issue", 300, [
        ("char rwbs[8]", 8, 8, 0), ("int n", 16, 4, 1)])]}
    data = b"".join(m.entry(m.event(300, text.ljust(8, b"\0") + bytes(4)), 1)
                    for text in texts)
    whole = m.file_v6([], systems, [[m.page(1000, data)]])
    with converted(whole, "--names=lttng") as (top, _):
        equal([int(e.fields["rwbs"], 16) for e in
               reading.babeltrace2(top / "out")[0]], list(texts.values()),
              "flags")
    with converted(whole) as (top, _):
        equal([e.fields["rwbs"].encode() for e in
               reading.babeltrace2(top / "out")[0]], list(texts), "letters")


def values_have_names():
    """Enumerations and flags of the print format, if all their values are plain
    numbers that the field can have."""
    m = dat_file.Maker()
    fields = [("unsigned int vec", 8, 4, 0), ("int mode", 12, 4, 1),
              ("u8 flags", 16, 1, 0), ("u8 other", 17, 1, 0),
              ("u8 large", 18, 1, 0), ("u8 text[4]", 19, 4, 0)]
    text = m.format("x", 300, fields).partition(b"print fmt")[0] + (
        b'print fmt: "%s (%s", __print_symbolic(REC->vec, { 0, "HI" }, '
        b'{ 0x1u, "TIMER\\" }), __print_symbolic(REC->vec, {0, "HI (now)"}, '
        b'{1UL, "TI" "MER" }), __print_symbolic(REC->mode, { (-1), "none" }, '
        b'{ 5, "five" } ), __print_flags(REC->flags, "|", { (1u << 0), "A" }, '
        b'{0x02, "B"}), __print_symbolic(REC->other, { NAMED, "x" }, '
        b'{ 1, "y" }), __print_symbolic(REC->large, { 256, "x" }, {-1, "y"}), '
        b'__print_symbolic(REC->text, { 1, "x" }), __print_flags(REC->')
    data = b"".join(m.entry(m.event(300, m.pack("IiBBB", *values) + bytes(4)),
                            1) for values in ((0, -1, 1, 1, 0), (1, 5, 2, 0, 1),
                                              (2, 4, 3, 0, 255)))
    whole = m.file_v6([], {"a": [text]}, [[m.page(1000, data)]])
    with converted(whole) as (top, _):
        text = reading.run("babeltrace2", str(top / "out")).stdout
        for row in (
                'vec = ( "HI (now)" : container = 0 ), mode = ( "none" : '
                'container = -1 ), flags = ( "A" : container = 1 ), other = 1, '
                'large = 0',
                'vec = ( "TIMER" : container = 1 ), mode = ( "five" : '
                'container = 5 ), flags = ( "B" : container = 2 ), other = 0, '
                'large = 1',
                'vec = ( <unknown> : container = 2 ), mode = ( <unknown> : '
                'container = 4 ), flags = ( '):
            check(row in text, text)
        if shutil.which("babeltrace"):
            reading.run("babeltrace", str(top / "out"))
    with converted(whole, "--names=lttng") as (top, _):
        check("enum" not in (top / "out/metadata").read_text(), "for LTTng")


def functions_have_names_if_asked_for():
    """Beside their addresses; of the file's kallsyms."""
    for big, long_size, version in (False, 8, 6), (True, 4, 7):
        m = dat_file.Maker(big, long_size)
        long = "Q" if long_size == 8 else "I"
        m.symbols = b"".join(b"%s %s\n" % (
            b"%0*x" % (2 * long_size, address), rest) for address, rest in (
                (0x81000100, b"T second"), (0x81000000, b"t first"),
                (0x81000200, b"d data"), (0x81000200, b"t __at_data"),
                (0x81000300, b"D rodata"), (0x82000000, b"t of_module\t[m]"),
                (0, b"t zero"))) + b"x y\nffff\n\0\n81000400 t"
        fields = [("unsigned long ip", 8, long_size, 0),
                  ("void * skbaddr", 8 + long_size, long_size, 0)]
        stack = [("int size", 8, 4, 1), ("unsigned long caller[8]", 16,
                                         8 * long_size, 0)]
        ftrace = [m.format("kernel_stack", 4, stack)]
        systems = {"a": [m.format("x", 300, fields)]}
        want = {0x81000000: "first", 0x81000042: "first+0x42",
                0x810001ff: "second+0xff", 0x81000200: "__at_data",
                0x81000301: "", 0x82000004: "of_module+0x4",
                0x8fffffff: "", 5: ""}
        data = b"".join(m.entry(m.event(300, m.pack(2 * long, a, a)), 1)
                        for a in want)
        data += m.entry(m.event(4, m.pack("i", 2) + bytes(4) + m.pack(
            2 * long, 0x81000001, 7)), 1)
        pages = [[m.page(1000, data)]]
        whole = m.file_v6(ftrace, systems, pages) if version == 6 else \
            m.file_v7(ftrace, systems, {"": pages}, packing="zlib")
        with converted(whole, "--symbols") as (top, _):
            got = reading.babeltrace2(top / "out")[0]
            equal([(int(e.fields["ip"], 16), e.fields["ip_symbol"])
                   for e in got[:-1]], list(want.items()), "symbols")
            check("skbaddr_symbol" not in got[0].fields, "addresses of data")
            text = reading.run("babeltrace2", str(top / "out")).stdout
            check('caller_symbol = [ [0] = "first+0x1", [1] = "" ]' in text,
                  text)
        with converted(whole) as (top, _):
            check("symbol" not in (top / "out/metadata").read_text(),
                  "nobody asked")


def hostile_names(m):
    """Reserved words of TSDL, names twice, names of lengths, text that would end a
    string."""
    fields = [("int %s" % n, 8 + 4 * i, 4, 1) for i, n in enumerate(
        ("event", "stream", "x", "x", "x_2", "align", "y_length"))]
    fields += [("__data_loc u8[] y", 36, 4, 0),
               ("__data_loc u8[] y", 36, 4, 0)]
    return {"a\"b\\": [m.format("c\"};trace{", 300, fields)]}


def any_names_are_read():
    for big in False, True:
        m = dat_file.Maker(big)
        data = m.event(300, m.pack("7i", *range(7)) + m.pack("I", 2 << 16 | 40)
                       + b"\1\2")
        with converted(m.file_v6(
                [], hostile_names(m), [[m.page(1000, m.entry(data, 1))]],
                [(5, b"Linux a\"b\\\xff c d\0")])) as (top, _):
            text = reading.run("babeltrace2", "--clock-cycles",
                               str(top / "out")).stdout
            check("event = 0, stream = 1, x = 2, x_2 = 3, x_2_2 = 4, align = 5, "
                  "y_length = 6, y_length_2 = 2, y = [ [0] = 1, [1] = 2 ], "
                  "y_2_length = 2, y_2 = [ [0] = 1, [1] = 2 ]" in text, text)
            if shutil.which("babeltrace"):
                reading.run("babeltrace", str(top / "out"))


def names_again_and_again_cost_little():
    """As many events and fields as are allowed, all of one name."""
    m = dat_file.Maker()
    name = 127 * "x"
    used = children_seconds()
    with converted(m.file_v7(
            [], {"a": m.many(512, "__data_loc u8[] " + name)},
            {"": [[m.page(1000, m.entry(m.event(1511, bytes(4)), 1))]]},
            packing="zlib")) as (top, done):
        used = children_seconds() - used
        check("1 events" in done.stdout, done.stdout)
        names = re.findall(r"u8 _(\w+)\[", (top / "out/metadata").read_text())
        count = dat_file.FIELDS_MAX - len(dat_file.COMMON)
        equal(names, 512 * ([name] + [
            "%s_%d" % (name, i) for i in range(2, count + 1)]), "names")
        check(used < 15, "%.1f s of CPU" % used)


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def simple(m, pages, options=()):
    return m.file_v6([], {"a": [m.format("x", 300, [("int n", 8, 4, 1)])]},
                     pages, options)


def numbered(m, n, delta=1):
    return m.entry(m.event(300, m.pack("i", n)), delta)


def times(top):
    return [(e.time, int(e.fields["n"]))
            for e in reading.babeltrace2(top / "out")[0]]


def time_never_goes_back():
    """Events older than the one before are left out and counted."""
    m = dat_file.Maker()
    pages = [[m.page(1000, numbered(m, 1) + m.extend(500, absolute=True)
                     + numbered(m, 2) + m.extend(2000, absolute=True)
                     + numbered(m, 3, 0)),
              m.page(1500, numbered(m, 4)), m.page(3000, numbered(m, 5)),
              m.page((1 << 64) - 2, numbered(m, 6)),
              m.page((1 << 64) - 1, numbered(m, 7)),
              m.page(4000, numbered(m, 8))]]
    with converted(simple(m, pages)) as (top, done):
        equal(times(top), [(1001, 1), (2000, 3), (3001, 5), (4001, 8)],
              "events")
        check("1 that cannot be read, 3 older than the event before" in done.stderr,
              done.stderr)


def what_is_not_described_is_counted():
    m = dat_file.Maker()
    pages = [[m.page(1000, numbered(m, 1) + m.entry(m.event(301, bytes(4)), 1)
                     + m.entry(m.event(300, b""), 1) + numbered(m, 2)
                     + m.word(20, 0))],
             [m.page(1000, b"", commit=dat_file.PAGE)]]
    with converted(simple(m, pages)) as (top, done):
        equal([n for _, n in times(top)], [1, 2], "events")
        check("1 that are not described, 3 that cannot be read" in done.stderr,
              done.stderr)


def a_date_makes_it_unix_time():
    m = dat_file.Maker()
    page = [[m.page(1000, numbered(m, 1))]]
    for options, arguments, want in (
            ([], [], 1001), ([(1, b"0x5f5e100\0")], [], 100000001001),
            ([(7, b"-1\0")], [], 1000),
            ([(1, b"0x5f5e100\0")], ["--clock-offset=5"], 1006)):
        with converted(simple(m, page, options), *arguments) as (top, _):
            text = reading.run("babeltrace2", "--clock-seconds",
                               str(top / "out")).stdout
            seconds, ns = re.match(r"\[(\d+)\.(\d+)\]", text).groups()
            equal(int(seconds) * 10 ** 9 + int(ns), want, "time")


def shift(m, cpus):
    """TIME_SHIFT: for each CPU (time, offset, factor, fraction) and so on."""
    out = m.pack("QII", 0x99, 0, len(cpus))
    for rows in cpus:
        out += m.pack("I", len(rows))
        for kind, column in zip("QqQ", zip(*rows)):
            out += m.pack("%d%s" % (len(column), kind), *column)
    return out + b"".join(m.pack("Q", row[3]) for rows in cpus for row in rows)


def a_guest_has_the_times_of_its_host():
    """As trace-cmd report shows them; the last correction is the end of the one
    before."""
    m = dat_file.Maker()
    own = [10000 * n for n in range(1, 7)]
    pages = [[m.page(time, numbered(m, time, 0)) for time in own]] * 3
    cpus = [[(0, -5000, 7, 3)],
            [(10000, 5000, 3, 1), (30000, -7000, 2, 0), (50000, 9000, 5, 0)]]
    want = sorted([(t - 5000, t) for t in own] + [(t, t) for t in own]
                  + [(t * 3 // 2 + 5000 if t < 30000 else t * 2 - 7000, t)
                     for t in own])
    whole = simple(m, pages, [(12, shift(m, cpus))])
    with converted(whole) as (top, _):
        equal(sorted(times(top)), want, "times")
        if shutil.which("trace-cmd"):
            report, _ = reading.report_lines(reading.run(
                "trace-cmd", "report", "-R", "-t", str(top / "t.dat")).stdout)
            equal(sorted(e.time for e in report), [t for t, _ in want],
                  "times of trace-cmd report")
    for size in range(4, 60, 8):
        with converted(simple(m, pages, [(12, shift(m, cpus)[:size])]),
                       status=1) as (_, done):
            check("corrections of its times" in done.stderr, done.stderr)


def pages_are_of_one_cpu():
    """Files whose CPUs or buffers share pages would become many times as
    large."""
    m = dat_file.Maker()
    pages = [m.page(1000 * n, numbered(m, n)) for n in range(1, 9)]
    systems = {"a": [m.format("x", 300, [("int n", 8, 4, 1)])]}
    v6 = simple(m, [pages[:4], pages[4:]])
    first, second = (v6.index(p) for p in (pages[0], pages[4]))
    v7 = m.file_v7([], systems, {"": [pages[:4]], "b": [pages[4:]]})
    here, there = (v7.index(p) for p in (pages[0], pages[4]))
    size = 4 * dat_file.PAGE
    for whole, old, new in ((v6, second, first),
                            (v6, second, second - dat_file.PAGE),
                            (v7, there, here)):
        spoiled = whole.replace(m.pack("QQ", old, size),
                                m.pack("QQ", new, size))
        check(spoiled != whole, "it is another file")
        with converted(spoiled, status=1) as (_, done):
            check("listed twice" in done.stderr, done.stderr)


def names_of_processes_may_change_while_they_are_read():
    """The length was that of another moment."""
    m = dat_file.Maker()
    for told, text in ((7, b"1 init\n2 kthreadd\n"), (30, b"1 init\n"),
                       (7, b"1 init\n2 options  \n")):
        m.commands = m.pack("Q", told) + text
        with converted(simple(m, [[m.page(1000, numbered(m, 1))]])) as (
                top, _):
            equal(len(times(top)), 1, "events")


def clocks_without_a_frequency_are_refused():
    m = dat_file.Maker()
    whole = simple(m, [[m.page(1000, numbered(m, 1))]])
    for clock, status in ((b"[tsc]", 1), (b"[perf]", 0)):
        with converted(whole.replace(b"[local]", clock.ljust(7)),
                       status=status) as (_, done):
            equal("frequency" in done.stderr, status == 1, done.stderr)


def several_buffers_are_several_traces():
    m = dat_file.Maker()
    systems = {"a": [m.format("x", 300, [("int n", 8, 4, 1)])]}
    buffers = {name: [[m.page(1000, numbered(m, n))]]
               for n, name in enumerate(("", "foo", "../bar"))}
    with converted(m.file_v7([], systems, buffers,
                             packing="zlib")) as (top, _):
        equal(sorted(p.name for p in (top / "out").iterdir()),
              ["_._bar", "foo", "kernel"], "folders")
        equal(sorted(n for _, n in times(top)), [0, 1, 2], "events")


def a_relay_records_the_same():
    name = "v6-tcp-missed"
    with converted(part(name, "result")) as (top, _), Daemon() as relay:
        convert(recording(name), "--relay=net://127.0.0.1:%d:%d" % (
            relay.control_port, relay.data_port), "--session=kernels")
        session = next((relay.out / "target").iterdir())
        check(session.name.startswith("kernels"), session.name)
        for name in "cpu_0", "cpu_1":
            equal((session / "kernel" / name).read_bytes(),
                  (top / "out" / name).read_bytes(), name)
            equal((session / "kernel/index" / (name + ".idx")).read_bytes(),
                  (top / "out/index" / (name + ".idx")).read_bytes(), "index")
        want, _ = reading.babeltrace2(top / "out")
        got, _ = reading.babeltrace2(session)
        equal(list(map(repr, got)), list(map(repr, want)), "events")


def what_cannot_be_done_is_told():
    base = recording("v6-tcp")
    with directory() as top:
        (top / "no").write_bytes(b"hello")
        (top / "full").mkdir()
        (top / "full/x").write_text("x")
        (top / "cut").write_bytes(pathlib.Path(base).read_bytes()[:20000])
        for arguments, status, words in (
                ([top / "none", top / "out"], 1, "No such file"),
                ([top, top / "out"], 1, "regular file"),
                ([top / "no", top / "out"], 1, "not a trace.dat"),
                ([top / "cut", top / "out"], 1, "cut short"),
                ([base, top / "full"], 1, "not empty"),
                ([base, "--relay=net://127.0.0.1:1"], 1, "refused"),
                ([base], 2, "DIRECTORY or --relay"),
                ([base, top / "out", "x"], 2, "unexpected argument"),
                ([base, top / "out", "--names=x"], 2, "--names"),
                ([base, top / "out", "--relay=net://a"], 2, "DIRECTORY or --relay"),
                ([base, top / "out", "--session=a"], 2, "--relay")):
            done = convert(*arguments, status=status)
            check(words in done.stderr, done.stderr)
            equal(done.stderr.count("\n"), 1, "lines on standard error")


def what_grows_without_bounds_is_refused():
    """Metadata that becomes large, and fields that name the same bytes again
    and again."""
    m = dat_file.Maker()
    texts = {"a": [m.format("x", 300, [("int n", 8, 4, 1)])],
             "b" * (65 << 20): []}
    with converted(m.file_v7(
            [], texts, {"": [[m.page(1000, numbered(m, 1))]]},
            packing="zlib"), status=1) as (_, done):
        check("more metadata than a kernel has" in done.stderr, done.stderr)
    fields = 60
    texts = {"a": [m.format("x", 300, [
        ("__data_loc u8[] f%d" % i, 8 + 4 * i, 4, 0) for i in range(fields)])]}
    size = dat_file.PAGE - 16 - 16
    data = m.event(300, m.pack("I", size << 16) * fields).ljust(size, b"x")
    pages = [m.page(1000 * i, m.entry(data, 1)) for i in range(1, 50)]
    with converted(m.file_v6([], texts, [pages])) as (_, done):
        check("0 events" in done.stdout, done.stdout)
        check("49 that cannot be read" in done.stderr, done.stderr)


CASES = (recordings_are_as_their_report, pages_behind_a_cut_are_read,
         names_are_as_lttng_has_them,
         other_names_of_events_are_as_lttng_has_them,
         kinds_of_block_requests_are_lttngs_flags,
         values_have_names, functions_have_names_if_asked_for,
         any_names_are_read, names_again_and_again_cost_little,
         time_never_goes_back,
         what_is_not_described_is_counted, a_date_makes_it_unix_time,
         a_guest_has_the_times_of_its_host, pages_are_of_one_cpu,
         names_of_processes_may_change_while_they_are_read,
         clocks_without_a_frequency_are_refused,
         several_buffers_are_several_traces, a_relay_records_the_same,
         what_grows_without_bounds_is_refused,
         what_cannot_be_done_is_told, a_busy_machine_is_as_its_report)


def main():
    if shutil.which("babeltrace2") is None:
        print("SKIP: no babeltrace2")
        return SKIPPED
    run(CASES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
