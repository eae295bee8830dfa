#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What doc/ops offers for monitoring the relay: the rules for Prometheus and
the dashboard for Grafana ask for what the daemon exports, and for nothing else;
the examples for firewalls can be loaded."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import looking
import relay
from relay import check, equal

TOP = pathlib.Path(os.path.abspath(__file__)).parents[2]
OPS = TOP / "doc/ops"
RULES = OPS / "prometheus-rules.yml"
DASHBOARD = OPS / "grafana.json"
RULE_TESTS = TOP / "tests/replay/ops_rules.yml"

METRIC = re.compile(r"\b(tracepulse_[a-z_]+)(?:\{([^}]*)\})?")
LABEL = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
GROUPED = re.compile(r"\b(?:by|without|ignoring|on) \(([^)]*)\)")
# Of Prometheus itself.
OF_PROMETHEUS = {"job", "instance", "alertname", "severity"}
VARIABLES = {"$__rate_interval": "5m", "$__range": "6h", "$job": ".*",
             "$instance": ".*"}


def promtool(*arguments):
    """It must find nothing; what it says otherwise."""
    done = subprocess.run(["promtool", *map(str, arguments)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    equal(done.returncode, 0, done.stdout)


def _panels():
    """Those that show something."""
    found = json.loads(DASHBOARD.read_text())["panels"]
    return [p for p in found if p["type"] != "row"]


def _shown():
    """Each expression of the dashboard, with its panel's title, as Prometheus
    gets it."""
    for panel in _panels():
        for target in panel["targets"]:
            expr = target["expr"]
            for name, value in VARIABLES.items():
                expr = expr.replace(name, value)
            check("$" not in expr, f"{panel['title']}: {expr}")
            yield panel["title"], expr


def _exported():
    """{metric: labels} of a daemon that has recorded something."""
    with relay.Daemon() as daemon:
        looking.record(daemon)
        found = {}
        for series in looking.metrics(daemon):
            name, _, rest = series.partition("{")
            found.setdefault(name, set()).update(LABEL.findall(rest))
    return found


def expect_exported(where, text, there):
    """TEXT asks for metrics that are there, by labels that they have."""
    for name, chosen in METRIC.findall(text):
        if name + "_count" in there:    # a histogram, in words
            continue
        check(name in there, f"{where}: no metric {name}")
        for label in LABEL.findall(chosen or ""):
            check(label in there[name] | OF_PROMETHEUS,
                  f"{where}: {name} has no label {label}")
    every = set().union(OF_PROMETHEUS, *there.values())
    for labels in GROUPED.findall(text):
        for label in re.split(r"\s*,\s*", labels):
            check(label in every, f"{where}: no metric has a label {label}")


def what_they_ask_for_is_there():
    """Metrics and labels of rules and dashboard, with a real daemon."""
    there = _exported()
    rules = RULES.read_text()
    check(len(METRIC.findall(rules)) > 10, "no rules")
    expect_exported(RULES.name, rules, there)
    expect_exported(RULE_TESTS.name, RULE_TESTS.read_text(), there)
    for title, expr in _shown():
        check(METRIC.search(expr), f"{title}: no metric of ours")
        expect_exported(title, expr, there)


def rules_say_what_they_should():
    """promtool reads them, and tries them on given series; every rule is named
    there."""
    if not relay.has("promtool", "rules_say_what_they_should"):
        return
    promtool("check", "rules", RULES)
    promtool("test", "rules", RULE_TESTS)
    tried = RULE_TESTS.read_text()
    for name in re.findall(r"alert: (\w+)", RULES.read_text()):
        check(name in tried, f"{name} is never tried")


def every_panel_can_be_read():
    """Title, description, unit, a source that can be chosen, a place of its own;
    and its expressions are valid."""
    found = _panels()
    check(len(found) > 10, "few panels")
    equal(len({p["id"] for p in found}), len(found), "ids")
    taken = set()
    for p in found:
        title = p["title"]
        check(p["description"], f"{title}: no description")
        check(p["fieldConfig"]["defaults"].get("unit"), f"{title}: no unit")
        check(p["targets"], f"{title}: shows nothing")
        for part in [p, *p["targets"]]:
            equal(part["datasource"], {"type": "prometheus",
                                       "uid": "${datasource}"}, title)
        equal(len({t["refId"] for t in p["targets"]}), len(p["targets"]),
              title)
        g = p["gridPos"]
        check(g["x"] + g["w"] <= 24, f"{title}: beyond the right edge")
        cells = {(x, y) for x in range(g["x"], g["x"] + g["w"])
                 for y in range(g["y"], g["y"] + g["h"])}
        check(not cells & taken, f"{title}: upon another panel")
        taken |= cells
    if not relay.has("promtool", "the expressions of panels"):
        return
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as out:
        json.dump({"groups": [{"name": "shown", "rules": [
            {"record": f"shown:{i}", "expr": expr}
            for i, (_, expr) in enumerate(_shown())]}]}, out)
        out.flush()
        promtool("check", "rules", out.name)


def tables(page):
    """The examples of nftables on a page."""
    return [re.sub("^    ", "", text, flags=re.M) for text in re.findall(
        r"^    (table inet .*?^    }\n)", page.read_text(), re.M | re.S)]


def examples_of_nftables_can_be_loaded():
    """As they are printed, on a machine without other rules."""
    alone = ["unshare", "--net", "--"]
    if shutil.which("nft") is None or subprocess.run(
            [*alone, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("SKIP examples_of_nftables_can_be_loaded: no nft, or no network "
              "namespace")
        return
    for page in OPS / "firewall.md", TOP / "doc/security.md":
        found = tables(page)
        equal(len(found), 1, f"tables in {page}")
        done = subprocess.run([*alone, "nft", "-f", "-"], input=found[0],
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        equal((done.returncode, done.stdout), (0, ""), f"nft for {page}")
        check("nft add" not in page.read_text(), f"a loose rule in {page}")


if __name__ == "__main__":
    sys.exit(relay.main())
