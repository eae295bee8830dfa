# SPDX-License-Identifier: MIT
"""A real Prometheus scrapes the relay while lttng records."""
import json
import os
import shutil
import subprocess
import urllib.parse
import urllib.request

from story import begin, end, scenario
from world import Failure, Skipped, free_ports, wait_for

CONFIG = """\
global:
  scrape_interval: 1s
scrape_configs:
  - job_name: tracepulse
    static_configs:
      - targets: ["127.0.0.1:%d"]
"""
# Members of the API's totals, and what Prometheus is asked for.
SAME = (("written_bytes_total", "tracepulse_written_bytes_total"),
        ("written_packets_total", "tracepulse_written_packets_total"),
        ("index_records_total", "tracepulse_index_records_total"),
        ("metadata_bytes_total", "tracepulse_metadata_bytes_total"),
        ("sessions_began_total", "tracepulse_sessions_began_total"))


def fetch(url):
    """A JSON answer of somebody on this machine."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=10) as answer:
        return json.load(answer)


def query(port, metric):
    """The value that Prometheus has; None: none yet."""
    found = fetch("http://127.0.0.1:%d/api/v1/query?%s" % (
        port, urllib.parse.urlencode({"query": metric})))["data"]["result"]
    return float(found[0]["value"][1]) if found else None


@scenario(reference=False)
def prometheus(w):
    """a real Prometheus scrapes the relay, and has the API's values"""
    if shutil.which("prometheus") is None:
        raise Skipped("prometheus is not there")
    with open(os.path.join(w.rundir(), "relayd/http.port"),
              encoding="ascii") as port:
        http = int(port.read())
    (own,) = free_ports(1)
    config = os.path.join(w.directory, "prometheus.yml")
    with open(config, "w", encoding="ascii") as out:
        out.write(CONFIG % http)
    with open(os.path.join(w.directory, "prometheus.log"), "wb") as log:
        child = subprocess.Popen(
            ["prometheus", "--config.file=" + config,
             "--storage.tsdb.path=" + os.path.join(w.directory, "tsdb"),
             "--web.listen-address=127.0.0.1:%d" % own],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        begin(w, "seen")
        w.run_app(0, 1000)
        end(w, "seen")
        follow(http, own)
    finally:
        child.kill()
        child.wait()


def follow(http, own):
    """Prometheus catches up with what the API says."""
    totals = fetch("http://127.0.0.1:%d/api/v1/status" % http)["totals"]
    if totals["written_bytes_total"] == 0:
        raise Failure("nothing was written")
    for member, metric in SAME:
        def is_same(member=member, metric=metric):
            try:
                return query(own, metric) == totals[member]
            except OSError:
                return False    # it is still starting
        wait_for("%s of Prometheus to be %d" % (metric, totals[member]),
                 is_same, timeout=30)
