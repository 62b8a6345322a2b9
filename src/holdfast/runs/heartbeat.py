"""Signs of life: what a line of heartbeat.jsonl says, and when silence counts as a stall.

Nothing here reads a clock or starts a thread: `monitor.py` does, and hands the times in.
"""

from __future__ import annotations

import os
import socket
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

RATE_LINES = 8
COOL_BEATS = 4


@dataclass
class Pulse:
    """How far the loop came; written by the loop, read by the monitor."""

    iteration: int = 0
    agent_steps: int = 0


class Sample(NamedTuple):
    """The counters at one beat."""

    at_s: float
    iteration: int
    agent_steps: int


@dataclass
class Heart:
    """The beats of one process."""

    every_s: float
    stall_s: float
    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=RATE_LINES))
    beats: int = 0
    last_stall_s: float | None = None

    def beat(self, now_s: float, idle_s: float, phase: str, pulse: Pulse) -> dict[str, Any]:
        """The next line. A rate is absent until there are two beats to take it from."""
        self.beats += 1
        self.samples.append(Sample(now_s, pulse.iteration, pulse.agent_steps))
        return {
            "time": utc(),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "phase": phase,
            "iteration": pulse.iteration,
            "agent_steps": pulse.agent_steps,
            **self._rates(),
            "idle_s": round(idle_s, 3),
            "every_s": self.every_s,
        }

    def _rates(self) -> dict[str, float]:
        first, last = self.samples[0], self.samples[-1]
        spent_s = last.at_s - first.at_s
        if spent_s <= 0.0:
            return {}
        return {
            "iterations_per_s": round((last.iteration - first.iteration) / spent_s, 4),
            "agent_steps_per_s": round((last.agent_steps - first.agent_steps) / spent_s, 1),
        }

    def stalled(self, now_s: float, idle_s: float) -> bool:
        """Silent for too long? After a yes, the next one comes no sooner than a cool-down later."""
        cooling_s = max(self.stall_s, COOL_BEATS * self.every_s)
        cooled = self.last_stall_s is None or now_s - self.last_stall_s >= cooling_s
        if self.beats < 2 or idle_s < self.stall_s or not cooled:
            return False
        self.last_stall_s = now_s
        return True


def utc() -> str:
    """This moment, to the millisecond."""
    seconds = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds * 1000) % 1000:03d}Z"
