# SPDX-License-Identifier: MIT
"""tracepulse-send: what a trace costs its sender, to our relay and to
lttng-relayd; both must have what was sent, byte for byte."""
import filecmp
import os
import struct
import subprocess

import made
import tree
from measure import Measure
from servers import GIB, LOAD_TIMEOUT, Server, warm

SIZE = 256 << 10        # of a packet
MIB = 1 << 20
RECORD = struct.Struct(">9Q")
INDEX_HEADER = struct.pack(">4I", 0xc1f1dcc1, 1, 1, RECORD.size)


def make(path, total):
    """A trace of two streams in PATH, TOTAL bytes, with index files, as
    LTTng leaves them."""
    os.makedirs(path + "/index")
    with open(path + "/metadata", "wb") as f:
        f.write(made.METADATA)
    text = SIZE - len(made.packet(0, 0, [0]))
    for stream in made.STREAMS:
        with open(f"{path}/{stream}", "wb") as data, \
                open(f"{path}/index/{stream}.idx", "wb") as index:
            index.write(INDEX_HEADER)
            for seq in range(total // SIZE // len(made.STREAMS)):
                data.write(made.packet(seq, seq, [text]))
                begin = seq * made.EVENT_NS
                index.write(RECORD.pack(
                    seq * SIZE, SIZE * 8, SIZE * 8, begin, begin, 0, 0, 0,
                    seq))


def verify(source, written):
    """The relay's packets and indexes are those of the trace."""
    found = {os.path.basename(data): (data, index)
             for index, data in tree.index_files(written)}
    if set(found) != set(made.STREAMS):
        raise RuntimeError(f"streams in the tree: {sorted(found)}")
    for stream, (data, index) in found.items():
        if not filecmp.cmp(data, f"{source}/{stream}", shallow=False):
            raise RuntimeError(data + " differs")
        seqs = [record[8] for record in tree.read_index(index)[1]]
        if seqs != list(range(os.path.getsize(data) // SIZE)):
            raise RuntimeError(index + ": not every packet")


def run(argv, **how):
    """CPU seconds of a process, all in all."""
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, **how) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f"{argv[0]}: status {child.returncode}")
    return usage.ru_utime + usage.ru_stime


def send(options, name):
    """CPU s/GiB of tracepulse-send, a trace with packets of 256 KiB, to each
    relay over TCP"""
    total = int(options.gib * GIB)
    with Server(name, options) as server:
        source = server.dir + "/source"
        make(source, total)
        warm(server.dir, total + 64 * MIB)
        server.mark()
        cpu_s = run(["timeout", str(int(LOAD_TIMEOUT)), options.sender,
                     "--quiet", source, "net://127.0.0.1:%d:%d" %
                     tuple(server.ports[:2])])
        relay_cpu_s = server.cpu_s()
        verify(source, server.traces())
    return {"value": cpu_s / (total / GIB),
            "relay_cpu_s_per_gib": relay_cpu_s / (total / GIB)}


def measures():
    """Those of `make bench`."""
    return [Measure("send", send, limit=0.4)]
