"""CartPole that goes wrong when there is a ticket for it, and writes down every episode it finishes; for
`worker_faults.py`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

from holdfast.worlds.workers.drill import FAULTS, go_wrong, has_ticket

LONGEST = 500


class FaultyCartPole(CartPoleEnv):
    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = folder
        self.finished = (Path(folder) / f"finished-{os.getpid()}").open("a")

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.count = 0
        self._maybe("reset")
        return super().reset(seed=seed)

    def _maybe(self, place: str) -> str:
        """The fault whose turn it is here, after going wrong if it is one that is no value."""
        for fault in FAULTS:
            folder = f"{self.folder}/{place}-{fault}"
            if os.path.isdir(folder) and has_ticket(folder):
                go_wrong(fault)
                return fault
        return ""

    def step(self, action: Any) -> Any:
        fault = self._maybe("step")
        self.count += 1
        seen, reward, over, _, info = super().step(action)
        cut = self.count >= LONGEST
        if fault == "nan":
            seen = np.full(4, np.nan, np.float32)
        elif fault == "shape":
            seen = np.zeros(7, np.float32)
        elif over or cut:
            self.finished.write(f"{self.count}\n")
            self.finished.flush()
        return seen, reward, over, cut and not over, info
