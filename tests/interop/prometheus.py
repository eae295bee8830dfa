# SPDX-License-Identifier: MIT
"""A real Prometheus scrapes the relay while lttng records, with the rules that
doc/ops has for it."""
import contextlib
import json
import os
import shutil
import subprocess
import urllib.parse
import urllib.request

import made
from story import begin, end, scenario
from world import Failure, OPS, Skipped, check, free_ports, wait_for

CONFIG = """\
global:
  scrape_interval: 1s
  evaluation_interval: 1s
rule_files: [ %s ]
scrape_configs:
  - job_name: tracepulse
    static_configs:
      - targets: ["127.0.0.1:%d"]
"""
# A disk that somebody else has filled, but for less than a hundredth.
DISK, ROOM = 256 << 20, 2 << 20
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


@contextlib.contextmanager
def running(w):
    """A Prometheus beside the relay: (port of the relay's HTTP, its own)."""
    if shutil.which("prometheus") is None:
        raise Skipped("prometheus is not there")
    port_file = os.path.join(w.rundir(), "relayd/http.port")
    wait_for("HTTP", lambda: os.path.exists(port_file))
    with open(port_file, encoding="ascii") as port:
        http = int(port.read())
    (own,) = free_ports(1)
    rules = shutil.copy(os.path.join(OPS, "prometheus-rules.yml"),
                        w.directory)
    config = os.path.join(w.directory, "prometheus.yml")
    with open(config, "w", encoding="ascii") as out:
        out.write(CONFIG % (rules, http))
    with open(os.path.join(w.directory, "prometheus.log"), "wb") as log:
        child = subprocess.Popen(
            ["prometheus", "--config.file=" + config,
             "--storage.tsdb.path=" + os.path.join(w.directory, "tsdb"),
             "--web.listen-address=127.0.0.1:%d" % own],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield http, own
    finally:
        child.kill()
        child.wait()


@scenario(reference=False)
def prometheus(w):
    """a real Prometheus scrapes the relay, and has the API's values; the rules
    and the dashboard of doc/ops are valid there, and nothing fires"""
    with running(w) as (http, own):
        begin(w, "seen")
        w.run_app(0, 1000)
        end(w, "seen")
        follow(http, own)
        expect_rules(own)
        expect_dashboard(own)


def follow(http, own):
    """Prometheus catches up with what the API says."""
    totals = fetch("http://127.0.0.1:%d/api/v1/status" % http)["totals"]
    check(totals["written_bytes_total"] != 0, "nothing was written")
    for member, metric in SAME:
        def is_same(member=member, metric=metric):
            try:
                return query(own, metric) == totals[member]
            except OSError:
                return False    # it is still starting
        wait_for("%s of Prometheus to be %d" % (metric, totals[member]),
                 is_same, timeout=30)


def rules(own):
    """Each rule as Prometheus has it."""
    groups = fetch("http://127.0.0.1:%d/api/v1/rules" % own)["data"]["groups"]
    return [rule for group in groups for rule in group["rules"]]


def expect_rules(own):
    """All of them are evaluated, none is in error, and none fires."""
    wait_for("the rules evaluated", lambda: rules(own) and all(
        rule["health"] != "unknown" for rule in rules(own)))
    for rule in rules(own):
        check(rule["health"] == "ok" and rule["state"] == "inactive",
              f"rule {rule!r}")


def expect_dashboard(own):
    """Prometheus answers each question of the dashboard; most of them with
    something."""
    with open(os.path.join(OPS, "grafana.json"), encoding="utf-8") as file:
        panels = json.load(file)["panels"]
    asked = [target["expr"].replace("$__rate_interval", "1m")
             .replace("$__range", "1h").replace("$job", ".*")
             .replace("$instance", ".*")
             for panel in panels for target in panel["targets"]]

    def is_answered():
        answers = [query(own, expr) for expr in asked]
        return sum(a is not None for a in answers) > len(asked) * 2 // 3
    wait_for("answers to most of %d questions" % len(asked), is_answered)


def firing(own):
    """{name: labels} of the alerts that fire."""
    try:
        found = fetch("http://127.0.0.1:%d/api/v1/alerts" % own)["data"]
    except OSError:
        return {}               # it is still starting
    return {alert["labels"]["alertname"]: alert["labels"]
            for alert in found["alerts"] if alert["state"] == "firing"}


@scenario(options=None, needs_sessiond=False, reference=False)
def prometheus_alerts(w):
    """a disk is full and packets are lost: Prometheus fires the alerts that say
    so, and no other at once"""
    if not w.private:
        raise Skipped("no disk of its own without namespaces")
    os.makedirs(w.relay.output)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % DISK, "tmpfs",
                    w.relay.output], check=True)
    with open(os.path.join(w.relay.output, "of-others"), "wb") as other:
        os.posix_fallocate(other.fileno(), 0, DISK - ROOM)
    w.relay.start()
    trace = os.path.join(w.directory, "trace")
    made.make(trace, 3000, 3000)
    with running(w) as (http, own):
        wait_for("a first scrape", lambda: scraped(own), timeout=30)
        w.spawn(w.send_path, "--quiet", "--linger=60", trace, w.url())
        wanted = {"TracepulseDiskFull", "TracepulsePacketsLost"}
        wait_for("the alerts", lambda: wanted <= set(firing(own)), timeout=30)
        found = firing(own)
        totals = fetch("http://127.0.0.1:%d/api/v1/status" % http)["totals"]
    lost = found["TracepulsePacketsLost"]
    check(totals["lost_packets_total"][lost["cause"]], f"it fires for {lost}")
    if set(found) - wanted - {"TracepulseSessionsFail"}:   # at its end
        raise Failure("it fires: %r" % sorted(found))


def scraped(own):
    """Has Prometheus seen the relay with nothing lost?"""
    try:
        return query(own, "sum(tracepulse_lost_packets_total)") == 0
    except OSError:
        return False
