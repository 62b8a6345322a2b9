"""An environment that goes wrong on purpose, for drills: real processes that really hang, die or return nonsense.

Each fault happens as often as there are tickets: empty files in a folder, of which a faulty worker takes one. So a
drill says how many workers are to fail, and their replacements work. A ticket may say itself what is to go wrong.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

FAULTS = (
    *("hang", "stubborn", "exit", "raise", "kill", "stop", "flood", "rubbish"),
    *("nan", "nan_reward", "shape", "values"),  # of what is returned
)
PLACES = ("import", "build", "reset", "step", "close")


def draw_tickets(folder: Path, count: int, fault: str = "") -> None:
    """Let the next `count` workers that come to the faulty place fail, in this way or as the drill says."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"{time.time_ns()}-{number}-{fault}").touch()


def take_ticket(folder: str) -> str | None:
    """The fault on a ticket ("" if it names none), None if no ticket is left; of several workers only one gets it."""
    for name in sorted(os.listdir(folder)):
        try:
            os.unlink(os.path.join(folder, name))
        except FileNotFoundError:
            continue
        return name.rpartition("-")[2]
    return None


def has_ticket(folder: str) -> bool:
    return take_ticket(folder) is not None


def go_wrong(fault: str) -> None:
    """The faults that are not values."""
    if fault == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if fault in ("hang", "stubborn"):
        while True:
            time.sleep(3600.0)
    if fault == "exit":
        os._exit(3)
    if fault == "raise":
        raise RuntimeError("the drill raised this")
    if fault in ("kill", "stop"):
        os.kill(os.getpid(), signal.SIGKILL if fault == "kill" else signal.SIGSTOP)
    if fault == "rubbish":  # into the worker's own channel, as a library may that writes to the wrong file
        os.write(int(sys.argv[1]), b"\xff{this is no message")
        os.write(int(sys.argv[1]), b'{"marker": "picture", "size": [99999999, 99999999]}')
    if fault == "flood":
        for _ in range(1000):
            os.write(1, b"all work and no play\n" * 1000)  # 21 MB


class Drill(gymnasium.Env[Any, Any]):
    """Counts its steps; an episode ends after `length` of them. Sees its count and a number its seed decides."""

    observation_space = gymnasium.spaces.Box(-1e6, 1e6, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, tickets: str = "", place: str = "", fault: str = "", length: int = 10) -> None:
        self.tickets, self.place, self.fault, self.length = tickets, place, fault, length
        self._maybe("build")

    def _maybe(self, place: str) -> bool:
        """Go wrong here if that is the drill; True for faults that are values."""
        ticket = take_ticket(self.tickets) if place == self.place else None
        if ticket is None:
            return False
        self.fault = ticket or self.fault
        go_wrong(self.fault)
        return True

    def _seen(self, wrong: bool) -> Any:
        if wrong and self.fault == "shape":
            return np.zeros(3, np.float32)
        return np.array([np.nan if wrong and self.fault == "nan" else self.count, self.number], np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count, self.number = 0, int(self.np_random.integers(1000))
        return self._seen(self._maybe("reset")), {}

    def step(self, action: Any) -> Any:
        wrong = self._maybe("step")
        self.count += 1
        if wrong and self.fault == "values":
            return self._seen(False), 1.0
        reward = float("nan") if wrong and self.fault == "nan_reward" else 1.0
        return self._seen(wrong), reward, self.count >= self.length, False, {}

    def close(self) -> None:
        self._maybe("close")
