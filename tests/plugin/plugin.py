# SPDX-License-Identifier: MIT
"""The plug-in, loaded into babeltrace2 from the build directory."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCES / "tests/capture"))
import packets  # noqa: E402

PLUGIN = pathlib.Path("babeltrace-plugin-tracepulse.so").absolute()
VECTOR = pathlib.Path(SOURCES,
                      "tests/vectors/tracecmd/tracecmd-v6-tcp-result.bin")


def environment(file=PLUGIN):
    """The run-time library of a sanitizer must be there before the program."""
    ours = {**os.environ, "LC_ALL": "C", "TZ": "UTC",
            "ASAN_OPTIONS": "detect_leaks=0"}
    if b"__asan_init" in file.read_bytes():
        linked = subprocess.run(["ldd", file], stdout=subprocess.PIPE,
                                text=True, check=True).stdout
        ask = ["gcc", "-print-file-name=libasan.so"] if "libasan" in linked \
            else ["clang", "-print-file-name=libclang_rt.asan-x86_64.so"]
        ours["LD_PRELOAD"] = subprocess.run(
            ask, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return ours


@contextlib.contextmanager
def directory():
    top = pathlib.Path(tempfile.mkdtemp(prefix="tracepulse-plugin-"))
    try:
        yield top
    finally:
        shutil.rmtree(top)


def babeltrace2(*traces, params="", sink="ndjson", **more):
    """The finished process."""
    options = ["-p", params] if params else []
    more.setdefault("stdout", subprocess.PIPE)
    return subprocess.run(
        ["babeltrace2", "--plugin-path", PLUGIN.parent, *traces, "-c",
         "sink.tracepulse." + sink, *options], stderr=subprocess.PIPE,
        env=environment(), check=False, timeout=300, **more)


def converted(top):
    """A trace of the kernel by trace-cmd, as CTF."""
    (top / "t.dat").write_bytes(VECTOR.read_bytes())
    subprocess.run([os.path.abspath("tracepulse-ftrace"), "convert",
                    top / "t.dat", top / "kernel"], check=True,
                   stdout=subprocess.DEVNULL)
    return top / "kernel"


def captured(top, count, payload="headers"):
    """A trace of COUNT packets, always the same; None where there is no tracepulse-capture."""
    program = os.path.abspath("tracepulse-capture")
    if not os.path.exists(program):
        print("SKIP: tracepulse-capture is not built")
        return None
    packets.write(str(top / "p.pcap"), packets.some(count, 3))
    subprocess.run([program, "-r", top / "p.pcap",
                    "--payload=" + payload, "--output", top / payload], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return top / payload
