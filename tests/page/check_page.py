#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The status page in a headless Chromium: what it shows is what the API says,
names are text, and it can be used by keyboard, on small screens and without
JavaScript. Without Chromium or what tests/page/install gets it is skipped."""
import json
import os
import pathlib
import resource
import shlex
import socket
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(os.environ.get("srcdir", "."))
                       / "tests/replay"))
import browser
import looking
import relay
import retention
import viewer
from relay import check, equal

# A thousand rows are drawn in so much time of a CPU; the best of some tries
# counts. So a busy machine fails none.
DRAWN_MS = 200
TRIES = 6
HOSTILE = "<img src=x onerror=window.hacked=1>"
# It turns the direction of writing, hides letters, and ends a line.
HIDDEN = "cod\u202egnp\u200b\u3164\U000e0041\u2028x"
ESCAPED = r"cod\u202egnp\u200b\u3164\U000e0041\u2028x"
ROWS = "#rows tr"

b = None        # the browser of all cases


def quiet(daemon, number, prefix="quiet", **fields):
    """Sessions without streams, in the order in which they began."""
    made = []
    for i in range(number):
        c = daemon.control()
        c.version()
        fields["uuid"] = (i + 1).to_bytes(2, "big") * 8
        equal(c.create_session(name=f"{prefix}-{i}", **fields)[1], relay.OK,
              "session")
        made.append(c)
    return made


def shows(number):
    b.wait(f"document.querySelectorAll('{ROWS}').length === {number}")


def names():
    """Of the rows, also of those off the screen."""
    return [row[1] for row in b.rows(ROWS)]


def size_of(n):
    """As the page writes bytes."""
    return f"{n} B" if n < 1024 else f"{n / 1024:.1f} KiB"


def rows_equal_the_api():
    """Each session with its figures, one that lost packets and one that ended
    among them; then one of them in full."""
    with relay.Daemon() as daemon:
        kept = [looking.record(daemon, packets=n, size=700 * n, name=f"s{n}",
                               host=f"h{n}", uuid=bytes([n]) * 16)
                for n in (1, 2, 3)]
        c, d, handle = kept[1]
        d.packet(handle, 9, b"z" * 50)
        equal(c.index(handle, 9, 50), relay.OK, "index")
        looking.end(*kept[0], 1)
        looking.wait_until("a loss and an end", lambda: [
            s["lost_packets"] for s in looking.ask(
                daemon, "/api/v1/sessions?state=active")["sessions"]] == [7, 0])
        b.open(daemon)
        shows(3)
        found = {row[1]: row for row in b.rows(ROWS)}
        sessions = looking.ask(daemon, "/api/v1/sessions")["sessions"]
        equal(len(sessions), 3, "sessions")
        for s in sessions:
            row = found[s["name"]]
            equal([row[0].lower(), row[2], *row[4:7]],
                  [s["state"], s["host"], size_of(s["written_bytes"]),
                   str(s["lost_packets"]), str(s["open_viewers"])], s["name"])
        status = looking.ask(daemon, "/api/v1/status")
        equal(b.text("#active"), "2", "active")
        equal(b.text("#lost"), "7", "lost")
        equal(b.text("#causes"), "gap 7", "causes")
        equal(b.text("#hostname"), status["hostname"], "hostname")
        equal(b.text("#all-written"),
              size_of(status["totals"]["written_bytes_total"]), "written")
        details(daemon, sessions)


def details(daemon, sessions):
    s = next(s for s in sessions if s["name"] == "s2")
    b.evaluate(f"location.hash = 'session={s['id']}'")
    b.wait("document.querySelector('#streams-table td')")
    one = looking.ask(daemon, f"/api/v1/sessions/{s['id']}")
    equal(b.rows("#streams-table tbody tr"),
          [[t["name"], size_of(t["written_bytes"]),
            str(t["written_packets"]), str(t["lost_packets"]),
            size_of(t["held_bytes"])] for t in one["streams"]],
          "streams")
    check(one["peer"] in b.text("#detail"), "no address")
    b.click("#detail .top button")
    b.wait("location.hash === ''")


def sort_filter_page():
    with relay.Daemon(workers=3) as daemon:
        kept = quiet(daemon, 60)
        busy = looking.record(daemon, packets=4, name="busy", host="zz",
                              uuid=b"z" * 16)
        b.open(daemon)
        shows(25)
        b.wait("document.querySelector('#range').innerText === '1–25 of 61'")
        b.click("th[data-key=written] button")
        equal(names()[0], "busy", "most written")
        equal(b.evaluate("document.querySelector('[data-key=written]')"
                         ".getAttribute('aria-sort')"), "descending", "order")
        b.click("th[data-key=name] button")
        equal(names()[:4], ["busy", "quiet-0", "quiet-1", "quiet-2"],
              "by name")
        b.click("#after")
        b.click("#after")
        equal(b.text("#range"), "51–61 of 61", "the last page")
        equal(names()[-1], "quiet-59", "the last name")
        check(b.evaluate("document.querySelector('#after').disabled"), "next")
        b.click("#before")
        equal(b.text("#range"), "26–50 of 61", "back")
        b.fill("#find", "ZZ")
        equal(names(), ["busy"], "filter by host")
        b.fill("#find", "quiet-5")
        equal(len(names()), 11, "filter by name")
        b.fill("#find", "nobody")
        check("No session matches" in b.text("#none"), "nothing found")
        b.fill("#find", "")
        b.select("#size", "100")
        shows(61)
        looking.end(*busy, 4)
        b.wait("document.querySelector('.what.closed')")
        b.evaluate("document.querySelector('[value=closed]').click()")
        shows(1)
        equal(names(), ["busy"], "closed ones")
        b.evaluate("document.querySelector('[value=active]').click()")
        shows(60)
        for c in kept:
            c.close()


def pause():
    """Events that come in a pause are told by their number, and come behind
    it; in the other pause nothing is asked for."""
    with relay.Daemon() as daemon:
        b.open(daemon)
        b.wait("document.querySelector('#events-link').innerText === ''")
        first = quiet(daemon, 1, "first")
        b.wait("document.querySelector('#events li')")
        b.click("#events-pause")
        kept = quiet(daemon, 2, "second")
        b.wait("/^2 events/.test(document.querySelector('#held').innerText)")
        shows(3)
        equal(len(b.texts("#events li")), 1, "events in the pause")
        b.click("#events-pause")
        equal(len(b.texts("#events li")), 3, "events behind the pause")
        b.click("#pause")
        asked = last_request()
        more = quiet(daemon, 1, "third")
        time.sleep(3)
        equal(len(names()), 3, "rows in the pause")
        equal(len(b.texts("#events li")), 3, "events in the pause")
        equal(b.requests(), asked, "requests until the end of the pause")
        b.click("#pause")
        shows(4)
        b.wait("document.querySelectorAll('#events li').length === 4")
        for c in first + kept + more:
            c.close()


def last_request():
    """How many the page has made when it has made none for 2 s: what was under
    way at the beginning of a pause is over then."""
    until = time.monotonic() + relay.TIMEOUT
    before, now = None, b.requests()
    while now != before:
        check(time.monotonic() < until, "the page asks in the pause")
        time.sleep(2)
        before, now = now, b.requests()
    return now


def names_are_text():
    """In the table, one session's page, events; a
    command can be pasted into a shell."""
    with relay.Daemon() as daemon:
        hostile = looking.record(daemon, name=HOSTILE, host=HOSTILE[:-1],
                                 live=1_000_000)
        odd = looking.record(daemon, name="it's $(reboot)", host="h",
                             live=1_000_000, uuid=b"o" * 16)
        b.open(daemon)
        shows(2)
        b.wait("document.querySelectorAll('#events li').length === 2")
        equal(sorted(names()), sorted([HOSTILE, "it's $(reboot)"]),
              "names")
        check(HOSTILE in "".join(b.texts("#events li")), "event")
        for ident, name, host in ((1, HOSTILE, HOSTILE[:-1]),
                                  (2, "it's $(reboot)", "h")):
            b.evaluate(f"location.hash = 'session={ident}'")
            b.wait("document.querySelector('#detail li') && "
                   "document.querySelector('#detail h2').innerText"
                   f".includes({json.dumps(name)})")
            equal(shlex.split(b.text("#detail .command code")),
                  ["babeltrace2", "-i", "lttng-live",
                   f"net://localhost:{daemon.live_port}/host/{host}/{name}"],
                  "command")
        b.click("#detail .command button")
        b.wait("document.querySelector('.command button').innerText === "
               "'Copied'")
        equal(b.evaluate("navigator.clipboard.readText()"),
              b.text("#detail .command code"), "copied")
        equal(b.evaluate("[document.images.length, window.hacked ?? 0]"),
              [0, 0], "elements of a peer")
        for c, d, _ in (hostile, odd):
            c.close()
            d.close()


def hidden_characters():
    """Of a name they are escaped wherever it is shown, and no command has it."""
    with relay.Daemon() as daemon:
        c, d, _ = looking.record(daemon, name=HIDDEN, host=HIDDEN,
                                 live=1_000_000)
        b.open(daemon)
        shows(1)
        equal(b.rows(ROWS)[0][1:3], [ESCAPED, ESCAPED], "row")
        b.wait("document.querySelector('#events li')")
        check(f"{ESCAPED} on {ESCAPED}" in b.text("#events"), "event")
        b.evaluate("location.hash = 'session=1'")
        b.wait("document.querySelector('#detail li')")
        equal(b.text("#detail h2"), f"{ESCAPED} on {ESCAPED}", "title")
        check(f"{ESCAPED}/{ESCAPED}-" in b.text("#detail"), "folder")
        check(b.evaluate("document.querySelector('#detail .command').hidden"),
              "a command is offered")
        check(not b.evaluate("/[\\u202e\\u200b\\u2028]/.test("
                             "document.body.textContent)"), "hidden characters")
        c.close()
        d.close()


def stored_traces():
    """What is on the disk is listed, the newest first; of what was deleted, no
    command is offered."""
    with retention.start() as daemon:
        dirs = []
        for i in range(3):
            dirs.append(retention.record(daemon, f"s{i}"))
            retention.wait_finished(daemon, dirs[-1])
        names = [str(p.relative_to(daemon.out)) for p in dirs]
        b.open(daemon)
        b.wait("document.querySelectorAll('#stored-rows tr').length === 3")
        found = retention.stored(daemon)
        equal([(r[0], r[1], r[2], r[4]) for r in b.rows("#stored-rows tr")],
              [(n, "session", "Finished", size_of(found[n]["bytes"]))
               for n in reversed(names)], "stored")
        equal(b.text("#stored-sum"), "3 traces, " + size_of(sum(
            e["bytes"] for e in found.values())), "sum")
        b.evaluate("location.hash = 'session=1'")
        b.wait("document.querySelector('#detail .command code').innerText"
               f" === {json.dumps(f'babeltrace2 {dirs[0]}')}")
        retention.set_limits(daemon, keep_free="none", max_use="600k")
        retention.wait_gone(dirs[0])
        b.wait("document.querySelector('#detail .command').hidden")
        check("Its trace is no longer on the relay's disk."
              in b.text("#detail"), "it is not said")
        b.press("Escape")
        b.wait("document.querySelectorAll('#stored-rows tr').length === 2")
        b.evaluate("location.hash = 'session=3'")
        b.wait("document.querySelector('#detail .command code').innerText"
               f" === {json.dumps(f'babeltrace2 {dirs[2]}')}")
        b.press("Escape")
        cut = relay.Session(daemon, "cut")     # before its metadata
        cut.packet()
        cut.wait_written()
        cut.control.close()
        cut.data.close()
        b.wait("document.querySelector('#stored-rows tr')"
               ".cells[2].innerText === 'Unreadable'")
        equal(b.evaluate("document.querySelectorAll('#stored-rows a').length"),
              0, "links without downloads")
        retention.set_limits(daemon, max_use="600k", http_download="on")
        b.wait("document.querySelectorAll('#stored-rows a').length === 3")
        b.evaluate("fetch(document.querySelector('#stored-rows a').href)"
                   ".then(r => r.blob()).then(b => window.got = b.type)")
        b.wait("window.got === 'application/gzip'")
        for width in browser.WIDTHS:
            b.size(width)
            is_narrow(width)
        is_accessible("stored traces")


def nothing_is_known_of_the_disk():
    """Without notes the page says so, and offers commands as if nothing were
    deleted."""
    with relay.Daemon("--state-dir=/proc/nothing") as daemon:
        looking.end(*looking.record(daemon, name="s", host="h"))
        b.open(daemon)
        b.wait("document.querySelector('#stored-sum').innerText"
               ".startsWith('Not available: ')")
        b.evaluate("location.hash = 'session=1'")
        b.wait("document.querySelector('#detail .command code').innerText"
               f".startsWith('babeltrace2 {daemon.out}/h/s-')")


def after_a_restart():
    """A relay that is gone is missed, one that is back is shown anew."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with relay.Daemon(f"--http=tcp://127.0.0.1:{port}") as daemon:
        quiet(daemon, 2, "before")
        b.open(daemon)
        shows(2)
        daemon.kill()
        b.wait("document.querySelector('#state-name').innerText === "
               "'No answer'")
        check("No answer" in b.evaluate("document.title"), "title")
        daemon.start_again()
        b.wait("document.querySelector('#state-name').innerText === 'Ready'")
        shows(0)
        check("No session yet" in b.text("#none"), "no session")
        equal(b.text("#none code"), "lttng create NAME --live --set-url net://"
              + looking.ask(daemon, "/api/v1/status")["hostname"], "hint")
        kept = quiet(daemon, 1, "later")
        b.wait("[...document.querySelectorAll('#events li')]"
               ".some(one => one.innerText.includes('later-0'))")
        shows(1)
        kept[0].close()


def drawn():
    """What it takes to draw all rows, with styles and layout."""
    typed = """(() => {
        const find = document.querySelector("#find");
        find.value = "%s";
        find.dispatchEvent(new Event("input"));
        return document.body.offsetHeight;
    })()"""
    b.evaluate(typed % "nobody")
    began = b.cpu()
    b.evaluate(typed % "")
    return b.cpu() - began


def a_thousand():
    """They are drawn within 200 ms, and found again in a moment."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    with relay.Daemon() as daemon:
        kept = quiet(daemon, 1000, "session-with-a-name")
        b.open(daemon)
        b.wait("document.querySelector('#range').innerText.endsWith('1,000')")
        b.select("#size", "1000")
        shows(1000)
        b.click("#pause")
        took = sorted(drawn() for _ in range(TRIES))
        print("1,000 sessions drawn in", ", ".join(f"{t:.0f}" for t in took),
              "ms of CPU")
        equal(len(names()), 1000, "rows")
        check(took[0] < DRAWN_MS, f"{took[0]:.0f} ms")
        for c in kept:
            c.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


FOCUSED = """(() => {
    const at = document.activeElement, label = at.closest("label") ?? at;
    const style = getComputedStyle(label), own = getComputedStyle(at);
    return { is: at.id || at.textContent.trim() || at.value,
             isSeen: [style, own].some(s => s.outlineStyle !== "none" &&
                 parseFloat(s.outlineWidth) >= 2) };
})()"""


def by_keyboard():
    """Tab reaches all that can be used, and it is seen where one is; Enter
    opens a session, Escape closes it, and one is where one was."""
    with relay.Daemon() as daemon:
        kept = quiet(daemon, 30)
        b.open(daemon)
        shows(25)
        b.wait("document.querySelector('#events li')")
        b.click("#pause")       # nothing moves
        b.evaluate("document.activeElement.blur()")
        reached = []
        for _ in range(110):
            b.press("Tab")
            if b.evaluate("document.activeElement === document.body"):
                continue
            at = b.evaluate(FOCUSED)
            if reached and at["is"] == reached[0]:
                break
            check(at["isSeen"], f"focus is not seen on {at['is']}")
            reached.append(at["is"])
        for want in ("Skip to the sessions", "pause", "find", "all", "State",
                     "Duration", "quiet-29", "size", "after", "events-pause",
                     "events", "Metrics"):
            check(want in reached, f"Tab does not reach {want}: {reached}")
        b.evaluate("document.querySelector('#rows a').focus()")
        b.press("Enter")
        b.wait("document.querySelector('#detail').open")
        equal(b.evaluate("document.activeElement.id"), "detail-title", "focus")
        for _ in range(8):
            b.press("Tab")
            check(b.evaluate("document.activeElement === document.body || "
                             "!!document.activeElement.closest('dialog')"),
                  "focus left the open session")
        b.press("Escape")
        b.wait("!document.querySelector('#detail').open && "
               "document.activeElement.innerText === 'quiet-29'")
        # Who is elsewhere before the page hears that it is closed stays there.
        b.press("Enter")
        b.wait("document.querySelector('#detail').open")
        b.evaluate("document.querySelector('#detail').close(); "
                   "document.querySelector('[data-key=name] button').focus()")
        b.wait("location.hash === ''")
        b.press("Enter")
        equal(names()[0], "quiet-0", "sorted by Enter")
        for c in kept:
            c.close()


def shapes_and_colours():
    """Wide and narrow, light and dark: nothing sticks out, and axe-core finds
    nothing."""
    with relay.Daemon() as daemon:
        kept = [looking.record(daemon, name="n" * 120, host="h" * 60,
                               live=1_000_000),
                looking.record(daemon, name="other", uuid=b"o" * 16)]
        kept[1][1].packet(kept[1][2], 7, b"y")
        equal(kept[1][0].index(kept[1][2], 7, 1), relay.OK, "index")
        v = viewer.Viewer(daemon)
        v.connect()
        b.open(daemon)
        shows(2)
        b.wait("document.querySelector('#events .bad')")
        for is_open in (False, True):
            if is_open:
                b.evaluate("location.hash = 'session=1'")
                b.wait("document.querySelector('#streams-table td')")
            for width in browser.WIDTHS:
                b.size(width)
                is_narrow(width)
            for scheme, width in (("light", 1280), ("dark", 320)):
                b.size(width)
                b.scheme(scheme)
                is_accessible(f"{width} {scheme} {is_open}")
        v.close()
        for c, d, _ in kept:
            c.close()
            d.close()
        b.press("Escape")
        b.wait("document.querySelectorAll('.what.closed').length === 2")
        b.scheme("light")
        is_accessible("closed sessions")


def is_narrow(width):
    """Neither the page nor an open session is wider than the window."""
    wide = b.evaluate("[document.documentElement.scrollWidth - innerWidth, "
                      "document.querySelector('#detail').scrollWidth - "
                      "innerWidth]")
    check(max(wide) <= 0, f"{width}: {max(wide)} px too wide")


def is_accessible(where):
    """Labels, headings, roles, contrast: as axe-core sees them."""
    found = b.axe()
    check(not found, f"{where}: {json.dumps(found, indent=1)}")


def without_script():
    """The links for programs are there; at 320 px nothing sticks out."""
    with relay.Daemon() as daemon:
        b.open(daemon, width=320, script=False)
        links = b.texts("footer a")
        check("Sessions" in links and "Metrics" in links, links)
        check("JavaScript" in b.text("noscript"), "why there is no more")
        check(not b.evaluate("[...document.querySelectorAll('.needs-script')]"
                             ".some(one => one.offsetWidth > 0)"),
              "what needs the script is shown")
        check(b.evaluate("document.documentElement.scrollWidth") <= 320,
              "too wide")


def not_ready():
    """The state says why, in words, and so does the title."""
    with relay.Daemon("--fd-pool-size=200") as daemon:
        b.open(daemon)
        b.wait("document.querySelector('#state-name').innerText === 'Ready'")
        kept = looking.fill(daemon)
        b.wait("document.querySelector('#state-name').innerText === "
               "'Not ready'")
        equal(b.text("#state-text"),
              "New sessions are not admitted: no descriptors are left.",
              "reason")
        check(b.evaluate("document.title").startswith("Not ready"), "title")
        for c in kept:
            c.close()


def quietly(case):
    """The case, and nothing in the console behind it."""
    def run():
        case()
        # The relay's end cuts connections, and a worker that a busy machine
        # has no time for is not waited for.
        equal([line for line in b.complaints() if "net::ERR_" not in line
               and "status of 503" not in line], [], "console and requests")
    run.__name__ = case.__name__
    return run


CASES = [quietly(case) for case in (
    rows_equal_the_api, sort_filter_page, pause, names_are_text,
    hidden_characters, stored_traces, nothing_is_known_of_the_disk,
    after_a_restart, a_thousand, by_keyboard, shapes_and_colours,
    without_script, not_ready)]


def main():
    global b
    why = browser.lacking()
    if why is not None:
        print("SKIP:", why)
        return 77
    b = browser.Browser()
    try:
        return relay.run(CASES, sys.argv[1:])
    finally:
        b.close()


if __name__ == "__main__":
    sys.exit(main())
