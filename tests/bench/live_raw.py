# SPDX-License-Identifier: MIT
"""Live viewing with our own load generator and viewers: attach, cost of
giving packets, viewers that stop, late answers, idle sessions, start."""
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

from measure import Measure
from servers import GIB, Server, warm

MIB = 1 << 20


def attach(options, name):
    """ms of the relay's time to attach: LIST_SESSIONS, ATTACH_SESSION and
    GET_METADATA, as a viewer waits for them"""
    load = {"streams": 4, "packets": 5, "size": 4096, "beacon": 1000}
    view = {"streams": 4, "packets": 5, "size": 4096}
    with Server(name, options) as server, server.background(load):
        said = [server.view(view) for _ in range(5)]
    return {"value": statistics.median(s["begin_us"]["p100"] / 1e3
                                       for s in said),
            "attach_only_ms": statistics.median(
                s["attach_us"]["p100"] / 1e3 for s in said)}


def give(options, name, size, streams, viewers=1):
    """CPU seconds of the relay per GiB given to viewers, of a session that
    was recorded before and is open"""
    total = int(options.gib * GIB / 2)
    if size < 64 << 10:
        total //= 16    # each packet is two round trips
    shape = {"streams": streams, "size": size,
             "packets": total // (streams * size)}
    with Server(name, options) as server:
        warm(server.dir, total + 64 * MIB)
        with server.background(dict(shape, beacon=100000)):
            server.mark()
            said = server.view(dict(shape, viewers=viewers))
            cpu_s = server.cpu_s()
    return {"value": cpu_s / (said["bytes"] / GIB),
            "us_per_packet": cpu_s / said["packets"] * 1e6,
            "mib_per_s": said["bytes"] / said["wall_s"] / MIB}


def give_256k(options, name):
    """CPU s/GiB given to a viewer, packets of 256 KiB"""
    return give(options, name, 256 << 10, 4)


def give_4k(options, name):
    """CPU s/GiB given to a viewer, packets of 4 KiB"""
    return give(options, name, 4 << 10, 2)


def give_8_viewers(options, name):
    """CPU s/GiB given to 8 viewers of one session, packets of 256 KiB"""
    return give(options, name, 256 << 10, 4, viewers=8)


def give_8_4k(options, name):
    """CPU s/GiB given to 8 viewers of one session, packets of 4 KiB"""
    return give(options, name, 4 << 10, 2, viewers=8)


def stopped_viewer(options, name):
    """p99 of writers' index round trip with a viewer stopped in mid-packet,
    as a multiple of that without"""
    shape = {"streams": 2, "size": 262144, "packets": 250}
    load = dict(shape, beacon=1000, rate=100, outstanding=4)
    p99 = {}
    for is_stopped in (False, True):
        with Server(name, options) as server, \
                ThreadPoolExecutor() as beside:
            if is_stopped:
                viewer = beside.submit(server.view, dict(shape, stall=5500))
            # It stays until the viewer has read all, on a slow relay too.
            took = server.load(dict(load, hold=8000 if is_stopped else None))
            p99[is_stopped] = took["index_reply_us"]["p99"]
            if is_stopped:
                if not 0 < viewer.result()["stalled_bytes"] < 256 << 10:
                    raise RuntimeError("the viewer did not stop in a packet")
    return {"value": p99[True] / p99[False], "p99_us": p99[True],
            "p99_without_us": p99[False]}


def answers(options, name, shape, view):
    """What a viewer that polls says of a session of 200 packets a second,
    beside 100 idle ones; the reference never makes it wait"""
    idle = {"sessions": 100, "first": 1, "streams": 2, "packets": 1,
            "size": 4096, "beacon": 1000}
    with Server(name, options) as server, server.background(idle):
        sent = server.dir + "/sent"
        with open(sent, "wb") as f:
            f.truncate(8 * shape["streams"] * shape["packets"])
        load = dict(shape, beacon=1000, rate=200, sent=sent)
        with server.background(load, is_held=False):
            return server.view(dict(shape, sent=sent, **view))


def late_answer(options, name):
    """ms at the 99th percentile from an index sent to the answer that
    announces it to a viewer that waits, beside 100 idle sessions"""
    said = answers(options, name,
                   {"streams": 1, "size": 4096, "packets": 1000}, {})
    return {"value": said["latency_us"]["p99"] / 1e3,
            "p50_ms": said["latency_us"]["p50"] / 1e3,
            "max_ms": said["latency_us"]["p100"] / 1e3,
            "requests": said["requests"]}


def in_turn(options, name):
    """ms from an index sent to the answer that announces it to a viewer that
    asks 8 streams in turn, with a pause of 1 ms; median"""
    said = answers(options, name,
                   {"streams": 8, "size": 4096, "packets": 100}, {"pause": 1})
    return {"value": said["latency_us"]["p50"] / 1e3,
            "p99_ms": said["latency_us"]["p99"] / 1e3,
            "requests": said["requests"]}


IDLE = {"sessions": 1000, "streams": 4, "packets": 1, "size": 4096,
        "beacon": 1000}


def idle(options, name):
    """MiB that 1,000 idle live sessions of 4 streams add"""
    with Server(name, options) as server:
        before = server.memory()
        with server.background(IDLE):
            time.sleep(2)
            grown = server.memory() - before
    return {"value": grown / MIB, "kib_per_session": grown / 1024 / 1000}


def idle_cpu(options, name):
    """% of a CPU for 1,000 idle live sessions of 4 streams with a beacon a
    second each"""
    with Server(name, options) as server, server.background(IDLE):
        time.sleep(1)
        server.mark()
        time.sleep(5)
        return {"value": server.cpu_s() / 5 * 100}


def start(options, name):
    """ms from exec to listening"""
    took = []
    for _ in range(5):
        began = time.monotonic()
        with Server(name, options):
            took.append((time.monotonic() - began) * 1e3)
    return {"value": statistics.median(took)}


def attached(options, name):
    """KiB of memory for each of 1,000 viewers attached to one session, as
    they wait for news"""
    shape = {"streams": 2, "packets": 5, "size": 4096}
    with Server(name, options) as server, ThreadPoolExecutor() as beside:
        with server.background(dict(shape, beacon=1000)):
            server.view(shape)
            before = server.memory()
            viewers = beside.submit(
                server.view, dict(shape, viewers=1000, stay=4000))
            time.sleep(3)
            grown = server.memory() - before
            server.mark()
            time.sleep(1)
            cpu_s = server.cpu_s()
            viewers.result()
    return {"value": grown / 1024 / 1000, "cpu_percent": cpu_s * 100}


def measures():
    """Those that `make bench` takes, too."""
    half = {"lttng-relayd": 0.5}
    return [
        Measure("attach", attach, limit=5),
        Measure("give-256k", give_256k, of=half),
        Measure("give-4k", give_4k),
        Measure("give-8-viewers", give_8_viewers, servers=["ours"]),
        Measure("give-8-4k", give_8_4k, servers=["ours"]),
        Measure("attached", attached, servers=["ours"], slow=True),
        Measure("idle", idle, limit=14),
        Measure("idle-cpu", idle_cpu, of=half),
        Measure("stopped-viewer", stopped_viewer, limit=2, slow=True, runs=3),
        Measure("late-answer", late_answer, limit=1, slow=True, runs=3),
        Measure("in-turn", in_turn, of={"lttng-relayd": 1.2}, slow=True,
                runs=3),
    ]
