# SPDX-License-Identifier: MIT
"""The scenarios of the other modules once more, while another process of the
relay takes over several times a second: neither tracers nor viewers notice."""
from story import ALL, register

PAUSE = 0.25            # s
# Where the relay is started once, and stopped at the end at most.
PLAYED = ("per-uid", "per-pid", "flood", "many-applications", "live",)

for again in [s for s in ALL if s.name in PLAYED]:
    register(again.play, "restarts-" + again.name, options=again.options,
             reference=False, restarts=PAUSE)
