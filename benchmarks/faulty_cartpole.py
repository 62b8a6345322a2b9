"""CartPole that goes wrong where there is a ticket for it, and writes down every fault and every episode it finishes;
for `worker_faults.py`. Importing it may go wrong, too: the folder of the tickets is in FAULTS."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

from holdfast.worlds.workers.drill import FAULTS, go_wrong, has_ticket

FOLDER = Path(os.environ["FAULTS"])
LONGEST = 500


def maybe(place: str) -> str:
    """The fault whose turn it is here, after going wrong if it is one that is no value."""
    for fault in FAULTS:
        folder = FOLDER / f"{place}-{fault}"
        if folder.is_dir() and has_ticket(str(folder)):
            with (FOLDER / "happened.jsonl").open("a") as file:
                file.write(json.dumps({"time": time.time(), "pid": os.getpid(), "kind": folder.name}) + "\n")
            go_wrong(fault)
            return fault
    return ""


maybe("import")


class FaultyCartPole(CartPoleEnv):
    def __init__(self) -> None:
        super().__init__()
        maybe("build")
        self.finished = (FOLDER / f"finished-{os.getpid()}").open("a")

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.count = 0
        maybe("reset")
        return super().reset(seed=seed)

    def step(self, action: Any) -> Any:
        fault = maybe("step")
        self.count += 1
        seen, reward, over, _, info = super().step(action)
        cut = self.count >= LONGEST
        if fault == "values":
            return seen, reward
        if fault == "nan":
            seen = np.full(4, np.nan, np.float32)
        elif fault == "shape":
            seen = np.zeros(7, np.float32)
        elif over or cut:
            self.finished.write(f"{self.count}\n")
            self.finished.flush()
        return seen, reward, over, cut and not over, info

    def close(self) -> None:
        maybe("close")
