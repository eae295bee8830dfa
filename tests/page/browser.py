# SPDX-License-Identifier: MIT
"""A headless Chromium, asked through browser.js."""
import json
import os
import pathlib
import shutil
import subprocess

from relay import Failed, SOURCE

HERE = SOURCE / "tests/page"
MODULES = pathlib.Path(os.environ.get(
    "PAGE_MODULES", SOURCE / "build/page/node_modules"))
WIDTHS = (1280, 768, 320)


def lacking():
    """Why there is no browser here; None: there is one."""
    for program in ("node", "chromium"):
        if shutil.which(program) is None:
            return program + " is not there"
    for module in ("playwright-core", "axe-core"):
        if not (MODULES / module).is_dir():
            return f"{module} is missing: {why_missing()}"
    return None


def why_missing():
    """The first lines of npm: a code, and what it was about."""
    try:
        log = (MODULES.parent / "npm.log").read_text(encoding="utf-8")
    except FileNotFoundError:
        return "tests/page/install gets it by npm"
    return " ".join(log.split("\n")[:3])


class Browser:
    """Each method is an operation of browser.js."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["node", HERE / "browser.js", MODULES, shutil.which("chromium")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = None
        self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed("the browser ended")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed("browser: " + answer["error"])
        return answer["value"]

    def _do(self, operation, **rest):
        self.process.stdin.write(json.dumps(
            {"operation": operation, **rest}) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def open(self, daemon, path="/", width=1280, height=800, scheme="light",
             script=True):
        self.url = f"http://localhost:{daemon.http_port}"
        self._do("open", url=self.url + path, width=width, height=height,
                 scheme=scheme, script=script)

    def evaluate(self, code):
        return self._do("evaluate", code=code)

    def wait(self, code):
        """Until the expression is true."""
        self._do("wait", code=code)

    def click(self, selector):
        self._do("click", selector=selector)

    def fill(self, selector, text):
        self._do("fill", selector=selector, text=text)

    def select(self, selector, text):
        self._do("select", selector=selector, text=text)

    def press(self, *keys):
        for key in keys:
            self._do("press", key=key)

    def size(self, width, height=800):
        self._do("size", width=width, height=height)

    def scheme(self, scheme):
        self._do("scheme", scheme=scheme)

    def shot(self, to):
        self._do("shot", to=str(to))

    def rows(self, selector):
        """The texts of the cells of each such row, also off the screen."""
        return self.evaluate(
            f"[...document.querySelectorAll({json.dumps(selector)})]"
            ".map(row => [...row.cells].map(cell => cell.textContent))")

    def cpu(self):
        """What the page has used of a CPU for its script, styles and layout,
        ms."""
        return self._do("cpu")

    def axe(self):
        return self._do("axe")

    def text(self, selector):
        """Of the first such element, as it is shown."""
        return self.evaluate(
            f"document.querySelector({json.dumps(selector)}).innerText")

    def texts(self, selector):
        return self.evaluate(
            f"[...document.querySelectorAll({json.dumps(selector)})]"
            ".map(one => one.innerText)")

    def complaints(self):
        """What stands in the console, and requests to elsewhere."""
        seen = self._do("seen")
        return seen["logs"] + [url for url in seen["requests"]
                               if not url.startswith(self.url + "/")]

    def requests(self):
        """How many the page has made."""
        return len(self._do("seen")["requests"])

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
