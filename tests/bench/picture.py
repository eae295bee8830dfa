# SPDX-License-Identifier: MIT
"""Cost per packet against sessions, as SVG: both axes logarithmic."""
import math
import statistics

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 40, 50
COLOURS = {"ours": "#1f77b4", "lttng-relayd": "#d62728"}


def curves(results):
    """{server: [(sessions, median, least, most)]}"""
    found = {}
    for r in results:
        kind, _, n = r["name"].partition("-")
        if kind != "sessions":
            continue
        for server, runs in r["runs"].items():
            values = [x["value"] for x in runs]
            if values and min(values) > 0:
                found.setdefault(server, []).append(
                    (int(n), statistics.median(values), min(values),
                     max(values)))
    return found


class Axis:
    """Powers of ten from LOW to HIGH on pixels START to END."""

    def __init__(self, low, high, start, end):
        self.first = math.floor(math.log10(low))
        self.last = max(math.ceil(math.log10(high)), self.first + 1)
        self.start, self.end = start, end

    def at(self, value):
        """Its pixel."""
        part = (math.log10(value) - self.first) / (self.last - self.first)
        return self.start + part * (self.end - self.start)

    def ticks(self):
        """The powers."""
        return [10 ** n for n in range(self.first, self.last + 1)]


def line(x1, y1, x2, y2, colour="#ccc"):
    """One."""
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
            f' stroke="{colour}"/>')


def text(x, y, words, anchor="middle", colour="#333"):
    """Some."""
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
            f'fill="{colour}">{words}</text>')


def curve(points, x, y, colour):
    """The medians, with bars from least to most."""
    path = " ".join(f"{x.at(n):.1f},{y.at(m):.1f}" for n, m, _, _ in points)
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" '
             'stroke-width="2"/>']
    for n, middle, least, most in points:
        parts += [line(x.at(n), y.at(least), x.at(n), y.at(most), colour),
                  f'<circle cx="{x.at(n):.1f}" cy="{y.at(middle):.1f}" '
                  f'r="3" fill="{colour}"/>']
    return parts


def write(path, results):
    """Nothing if no figure is of that kind."""
    found = curves(results)
    points = [p for c in found.values() for p in c]
    if not points:
        return
    x = Axis(min(p[0] for p in points), max(p[0] for p in points),
             LEFT, WIDTH - RIGHT)
    y = Axis(min(p[2] for p in points), max(p[3] for p in points),
             HEIGHT - BOTTOM, TOP)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
             f'height="{HEIGHT}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>',
             text(WIDTH / 2, 20, "CPU µs per packet of 4 KiB"),
             text(WIDTH / 2, HEIGHT - 12, "sessions, 2 streams each")]
    for tick in x.ticks():
        parts += [line(x.at(tick), TOP, x.at(tick), HEIGHT - BOTTOM),
                  text(x.at(tick), HEIGHT - BOTTOM + 16, f"{tick:g}")]
    for tick in y.ticks():
        parts += [line(LEFT, y.at(tick), WIDTH - RIGHT, y.at(tick)),
                  text(LEFT - 8, y.at(tick) + 4, f"{tick:g}", "end")]
    for n, (server, of_server) in enumerate(found.items()):
        colour = COLOURS.get(server, "#555")
        parts += curve(sorted(of_server), x, y, colour)
        parts.append(text(LEFT + 10, TOP + 16 + 16 * n, server, "start",
                          colour))
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(parts) + "\n</svg>\n")
