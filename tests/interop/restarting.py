# SPDX-License-Identifier: MIT
"""The scenarios of other modules once more, while another process of the relay
takes over several times a second: neither tracers nor viewers notice."""
from story import ALL, register

PAUSE = 0.25            # s
MODULES = ("scenarios", "viewers", "again", "late", "watching", "senders",
           "interrupted", "capturing", "differential")
# They stop, kill or watch a process themselves.
OWN = ("viewers-relay-ends",)
SHORT = ("status-beside-sessiond", "send-large", "send-barectf", "send-cut-short",
         "send-too-large", "send-interrupted-waiting")

for again in [s for s in ALL if s.play.__module__ in MODULES
              and s.options is not None and s.name not in OWN + SHORT]:
    register(again.play, "restarts-" + again.name, options=again.options,
             needs_sessiond=again.needs_sessiond, reference=False,
             restarts=PAUSE)
