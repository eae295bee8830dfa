# SPDX-License-Identifier: MIT
"""What a download of a finished trace costs a session that is recorded."""
import json
import os
import subprocess
import urllib.request

from measure import Measure
from servers import GIB, Server, free_ports, wait_for

MIB = 1 << 20


class Download:
    """As fast as it goes, for SECONDS or until the end."""

    def __init__(self, url, seconds):
        self.curl = ["curl", "-s", "--max-time", str(seconds), "-o",
                     "/dev/null", "-w", "%{size_download}", url]
        self.child, self.bytes = None, 0

    def __enter__(self):
        self.child = subprocess.Popen(
            self.curl, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        return self

    def __exit__(self, *_):
        self.bytes = int(self.child.communicate()[0])


def finished(base):
    """The id of the only trace, when its recording has ended."""
    with urllib.request.urlopen(base + "/api/v1/stored", timeout=10) as r:
        found = json.load(r)["stored"]
    return [t["id"] for t in found
            if t["state"] == "finished" and t["bytes"] > 0]


def cool(directory):
    """Have all files of DIRECTORY on the disk, and no longer in memory: a
    download of a trace of yesterday reads the disk. (Where the scratch
    directory is in memory this changes nothing.)"""
    os.sync()
    for at, _, names in os.walk(directory):
        for name in names:
            with open(os.path.join(at, name), "rb") as f:
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def beside_a_download(options, name):
    """median index round trip of a session of 100 MiB/s beside the download of a
    trace of --gib, as a multiple of that without"""
    base = f"http://127.0.0.1:{free_ports(1)[0]}"
    stored = {"sessions": 1, "streams": 4, "size": MIB, "outstanding": 16,
              "packets": int(options.gib * GIB / (4 * MIB)), "first": 1000}
    seconds = 3 * max(1, int(options.gib))
    load = {"sessions": 1, "streams": 4, "size": 256 << 10,
            "packets": 100 * seconds, "rate": 400, "outstanding": 16}
    said = []
    with Server(name, options, ("--workers=1", "--http-download=on",
                                "--http=" + base.replace("http", "tcp"))) as s:
        s.load(stored)
        wait_for("finished trace", lambda: finished(base))
        url = f"{base}/api/v1/stored/{finished(base)[0]}/trace.tar"
        for n, downloads in enumerate((False, True, False)):
            cool(s.traces())
            s.mark()
            run = dict(load, first=2000 * (n + 1))
            if downloads:
                with Download(url, seconds) as d:
                    said.append(s.load(run))
            else:
                said.append(s.load(run))
            said[-1]["peak"] = s.memory("VmHWM")
    p50 = [x["index_reply_us"]["p50"] for x in said]
    p99 = [x["index_reply_us"]["p99"] for x in said]
    return {"value": 2 * p50[1] / (p50[0] + p50[2]),
            "p99_ratio": 2 * p99[1] / (p99[0] + p99[2]),
            "p50_us": p50[1], "p99_us": p99[1],
            "p50_us_without": (p50[0] + p50[2]) / 2,
            "p99_us_without": (p99[0] + p99[2]) / 2,
            "mib_per_s": said[1]["bytes"] / said[1]["wall_s"] / MIB,
            "mib_per_s_without": said[0]["bytes"] / said[0]["wall_s"] / MIB,
            "download_mib_per_s": d.bytes / said[1]["wall_s"] / MIB,
            "download_gib": d.bytes / GIB,
            "peak_mib": said[1]["peak"] / MIB,
            "grown_mib": (said[1]["peak"] - said[0]["peak"]) / MIB}


def measures():
    """All of them."""
    return [Measure("download", beside_a_download, servers=["ours"], limit=1.1,
                    within=("grown_mib", 0, 4), slow=True, runs=3)]
