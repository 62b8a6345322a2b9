"""Options of supervised workers: how they start, how long each thing may take, and how often one may be replaced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from holdfast.config.options import option

SUPERVISED = ("workers", "nes_py")  # values of world.backend whose environments run in processes of their own
LANES = 8  # rollout.lanes unless set: one process each
BUDGET_WINDOW_S = 600.0  # `respawns` counts replacements within this time
LOCK_WAIT_S = 120.0  # for the lock file, then an error
SPAWN_S = 60.0  # at least this long for the interpreter to start: on a crowded machine that alone takes seconds
TERMINATE_S = 2.0  # between asking a process to end and killing it

_ACTS = ("world.backend", SUPERVISED)


@dataclass(frozen=True)
class WorkerSettings:
    """Supervised processes for foreign environments."""

    expert: ClassVar = True

    start_parallel: int = option(
        1,
        "Number of workers that may import and build their environment at once. Lower it where building takes "
        "much memory.",
        low=1,
        only=_ACTS,
        free=True,
    )
    start_delay_s: float = option(
        0.2,
        "Stagger of the start: worker i waits i times this long before it asks to build.",
        low=0.0,
        only=_ACTS,
        free=True,
    )
    prewarm: bool = option(
        True,
        "Let one worker build, reset, step and close before the others start, so that a broken environment fails once.",
        only=_ACTS,
        free=True,
    )
    lock_file: str = option(
        "",
        "Build environments only while holding this lock file, which other runs can share; empty uses none.",
        only=_ACTS,
        free=True,
        example="/tmp/build.lock",
    )
    import_s: float = option(
        60.0,
        "Time limit for importing the environment's module; the worker is replaced after it.",
        low=0.01,
        only=_ACTS,
        free=True,
    )
    build_s: float = option(
        120.0,
        "Time limit for constructing an environment; the worker is replaced after it.",
        low=0.01,
        only=_ACTS,
        free=True,
    )
    reset_s: float = option(
        60.0,
        "Time limit for a reset; the worker is replaced after it.",
        low=0.01,
        only=_ACTS,
        free=True,
    )
    step_s: float = option(
        15.0,
        "Time limit for a step; the worker is replaced after it.",
        low=0.01,
        only=_ACTS,
        free=True,
    )
    close_s: float = option(
        10.0,
        "Time limit for closing an environment; the worker is killed after it.",
        low=0.01,
        only=_ACTS,
        free=True,
    )
    respawns: int = option(
        5,
        "Number of replacements of one worker within 600 s; one more stops the run.",
        low=0,
        only=_ACTS,
        free=True,
    )

    def limit_s(self, phase: str) -> float:
        """How long a phase may take; waiting for the baton has no limit of its own, its holders have."""
        limits = {"spawn": max(self.import_s, SPAWN_S), "import": self.import_s, "lock": LOCK_WAIT_S + 5.0}
        limits |= {
            "build": self.build_s,
            "reset": self.reset_s,
            "step": self.step_s,
            "draw": self.step_s,
            "close": self.close_s,
        }
        return limits.get(phase, float("inf"))
