# SPDX-License-Identifier: MIT
"""Figures: how one is taken, with all servers in turn, how it is shown, and
whether it is as asked."""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

from servers import GIB, RELAYS, spread

REFERENCES = ("lttng-relayd", "trace-cmd")  # left out where not installed


class Measure:
    """A figure. TAKE(options, server) gives {"value": …} of one run. What was
    asked for: at most LIMIT; at least LEAST; at most so many times the median
    of another server (OF: {server: times}) or of our own other figure (OF_OWN:
    (name, times)); another key of ours from one number to another (WITHIN:
    (key, from, to)). SLOW: not in a quick run. RUNS: no more than that of the
    reference, which is slow there."""

    def __init__(self, name, take, limit=None, least=None, of=None,
                 of_own=None, within=None, servers=None, text=None,
                 slow=False, runs=None):
        self.name, self.take = name, take
        self.least, self.within = least, within
        self.limit, self.of, self.of_own = limit, of or {}, of_own
        self.servers = servers or RELAYS
        self.text = text or " ".join(take.__doc__.split())
        self.slow, self.runs = slow, runs


def median(result, server):
    """Of the runs with SERVER; None: there is none."""
    done = result["runs"].get(server)
    return statistics.median(r["value"] for r in done) if done else None


def verdicts(measure, result, results):
    """What was asked for: pairs of words and whether it is so."""
    ours = median(result, "ours")
    if ours is None:
        return [("taken", False)]
    found = []
    if measure.limit is not None:
        found.append((f"at most {measure.limit:g}", ours <= measure.limit))
    if measure.least is not None:
        found.append((f"at least {measure.least:g}", ours >= measure.least))
    for server, times in measure.of.items():
        other = median(result, server)
        if other:
            found.append((f"{ours / other:.3g} of {server}'s, at most "
                          f"{times:g}", ours <= times * other))
    if measure.of_own:
        name, times = measure.of_own
        others = [median(r, "ours") for r in results if r["name"] == name]
        if others and others[0]:
            found.append((f"{ours / others[0]:.3g} of {name}, at most "
                          f"{times:g}", ours <= times * others[0]))
        else:
            found.append((f"not judged: {name} was not taken", None))
    if measure.within:
        key, least, most = measure.within
        value = statistics.median(r[key] for r in result["runs"]["ours"])
        found.append((f"{key} {value:.3g}, {least:g} to {most:g}",
                      least <= value <= most))
    return found


def verdict(words, is_met):
    """As it is shown."""
    return ("MISSED: " if is_met is False else "") + words


def take(measure, options):
    """All runs, in turn; one that fails is reported and does not end all, but
    a server that hangs is not tried again."""
    runs, errors, hung = {s: [] for s in measure.servers}, [], set()
    for program in REFERENCES:
        if not shutil.which(program):
            runs.pop(program, None)
    for n in range(options.runs):
        for server, done in runs.items():
            if server in hung or server == "lttng-relayd" and n >= (
                    measure.runs or n + 1):
                continue
            try:
                done.append(measure.take(options, server))
            except subprocess.TimeoutExpired as error:
                errors.append(f"{server}: {error}")
                hung.add(server)
            except (RuntimeError, OSError, ArithmeticError,
                    subprocess.SubprocessError) as error:
                errors.append(f"{server}: {error}")
    return {"name": measure.name, "text": measure.text, "runs": runs,
            "errors": errors}


def report(result):
    """On the terminal."""
    print(f"\n{result['name']}: {result['text']}")
    for server, done in result["runs"].items():
        if not done:
            continue
        line = "  %-13s%s, runs %d" % (
            server, spread([r["value"] for r in done], "%.4g"), len(done))
        for key, value in done[0].items():
            if key != "value" and isinstance(value, (int, float)):
                line += ", %s %.4g" % (
                    key, statistics.median(r[key] for r in done))
        print(line)
    for error in result["errors"]:
        print("  failed: " + error)
    for words, is_met in result["asked"]:
        print(f"  {'ok: ' if is_met else ''}{verdict(words, is_met)}")
    sys.stdout.flush()


def rate(result, server):
    """How much passed, as text: median of the runs with SERVER."""
    done = result["runs"].get(server) or [{}]
    for key, unit in (("mib_per_s", "MiB/s"), ("packets_per_s", "/s"),
                      ("pages_per_s", "/s")):
        if key in done[0]:
            return "%.4g %s" % (statistics.median(r[key] for r in done), unit)
    return ""


def table(results):
    """Everything once more: the figures in one line, and below it how much passed
    in these runs."""
    servers = ("ours", "sink", "lttng-relayd")
    form = "%-16s %14s %14s %14s  %s"
    print()
    print((form % (("",) + servers + ("",))).rstrip())
    for r in results:
        cells = [median(r, s) for s in servers]
        texts = tuple("-" if c is None else "%.4g" % c for c in cells)
        print(form % ((r["name"],) + texts + ("; ".join(
            verdict(*asked) for asked in r["asked"]),)))
        rates = tuple(rate(r, s) for s in servers)
        if any(rates):
            print((form % (("",) + rates + ("",))).rstrip())


def is_wanted(measure, names, options):
    """--only NAME is that figure, or all that begin so if none is called so."""
    if not options.only:
        return not (options.quick and measure.slow)
    return any(measure.name == n or
               (n not in names and measure.name.startswith(n))
               for n in options.only)


def parse(description, programs, may_lack=()):
    """The command line; PROGRAMS: options that name one; MAY_LACK: those whose
    figures are left out then."""
    p = argparse.ArgumentParser(description=description)
    for name in programs + may_lack:
        p.add_argument("--" + name, required=name in programs, metavar="PATH")
    p.add_argument("--runs", type=int, help="of each figure (default: 7)")
    p.add_argument("--gib", type=float, default=1.0,
                   help="of bytes in a run with large packets "
                   "(default: %(default)s)")
    p.add_argument("--scratch", default="/dev/shm",
                   help="where to write: memory or a disk "
                   "(default: %(default)s)")
    p.add_argument("--only", action="append", metavar="NAME",
                   help="this figure, or those that begin so; several times")
    p.add_argument("--quick", action="store_true",
                   help="3 runs, and only the figures that are quick")
    p.add_argument("--list", action="store_true", help="names of the figures")
    p.add_argument("--json", metavar="FILE", help="write all results there")
    p.add_argument("--svg", metavar="FILE",
                   help="a picture of cost per packet against sessions")
    options = p.parse_args()
    if options.runs is None:
        options.runs = 3 if options.quick else 7
    if not options.list:
        check(p, options)
    return options


def check(p, options):
    """What cannot work is said before hours are spent."""
    if options.runs < 1:
        p.error("--runs: at least 1")
    if not options.gib > 0:
        p.error("--gib: more than 0")
    if not os.path.isdir(options.scratch):
        p.error(f"{options.scratch}: no directory")
    if shutil.disk_usage(options.scratch).free < 4 * options.gib * GIB:
        p.error(f"{options.scratch}: not enough room")
    for path in filter(None, (options.json, options.svg)):
        if not os.access(os.path.dirname(path) or ".", os.W_OK):
            p.error(f"{path}: cannot be written")


def machine(options):
    """Where and how the figures were taken."""
    version = ""
    if shutil.which("lttng-relayd"):
        version = subprocess.run(
            ["lttng-relayd", "--version"], check=False, timeout=10,
            stdout=subprocess.PIPE, text=True).stdout.strip()
    return {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "kernel": os.uname().release, "cpus": os.cpu_count(),
            "lttng-relayd": version, "scratch": options.scratch,
            "runs": options.runs, "gib": options.gib}


def chosen(measures, options):
    """Those to take; a name that is none's ends the program."""
    names = {m.name for m in measures}
    for n in options.only or []:
        if not any(name.startswith(n) for name in names):
            sys.exit(f"--only {n}: no such figure (--list shows them)")
    return [m for m in measures if is_wanted(m, names, options)]


def run_all(measures, options):
    """Take, show, write; the results."""
    results, began = [], time.monotonic()
    if options.list:
        for m in measures:
            print(f"{m.name:24} {m.text}")
        return results
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    about = machine(options)
    wanted = chosen(measures, options)
    for program in REFERENCES:
        if not shutil.which(program) and any(
                program in m.servers for m in wanted):
            print(program + " is not installed: there is no comparison with it")
    for m in wanted:
        result = take(m, options)
        result["asked"] = verdicts(m, result, results)
        results.append(result)
        report(result)
        if options.json:
            with open(options.json, "w", encoding="utf-8") as f:
                json.dump({"machine": about, "results": results}, f, indent=1)
    if results:
        table(results)
        print("%.0f s" % (time.monotonic() - began))
    return results


def status(results):
    """Of the program: 1 if a figure could not be taken."""
    return 1 if any(r["errors"] for r in results) else 0
