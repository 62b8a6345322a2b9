"""Every scripted pursuer against every scripted evader in five settings, and what an independent build found there.

Each figure is the share of captures in 4096 duels of a NumPy build of the same rules, without filter and with full
information. It is met within 0.03, or within 0.01 where it is at least 0.99 or at most 0.02.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.games.pursuit.world.pursuit import Pursuit
from holdfast.games.pursuit.world.settings import PursuitSettings
from holdfast.rollout.evaluate import play_once
from holdfast.worlds.api import World

OPEN: dict[str, Any] = {"obs": "flat", "filter": "none"}
NEAR: dict[str, Any] = {**OPEN, "spawn_min": 2.0, "spawn_max": 5.0}
WIDE: dict[str, Any] = {**OPEN, "spawn_min": 2.0, "spawn_max": 15.0, "obstacles": 3}
SMALL: dict[str, Any] = {**WIDE, "arena_w": 10.0, "arena_h": 10.0, "max_steps": 600, "spawn_max": 11.31}
PURSUERS = ("greedy", "intercept")
EVADERS = ("random", "flee", "corner", "orbit", "wall_slide")
CELLS = [(pursuer, evader) for pursuer in PURSUERS for evader in EVADERS]

PANEL: dict[str, tuple[dict[str, Any], list[float], list[float]]] = {  # settings, against greedy, against intercept
    "near": (NEAR, [1.0, 1.0, 1.0, 0.007, 0.020], [1.0, 1.0, 1.0, 1.0, 1.0]),
    "near, slow pursuer": ({**NEAR, "v_max_pursuer": 0.95}, [1.0, 1.0, 1.0, 0.006, 0.034], [1.0, 1.0, 1.0, 0.81, 0.91]),
    "wide": (WIDE, [1.0, 1.0, 1.0, 0.16, 0.21], [1.0, 1.0, 1.0, 1.0, 1.0]),
    "small": ({**SMALL, "v_max_evader": 1.2}, [1.0, 1.0, 0.83, 0.21, 0.08], [1.0, 1.0, 1.0, 1.0, 0.53]),
    "wide, fast evader": ({**WIDE, "v_max_evader": 1.2}, [1.0, 1.0, 0.83, 0.05, 0.09], [1.0, 1.0, 1.0, 0.77, 0.52]),
}


def figures(name: str) -> dict[str, float]:
    """What a setting's cells must show, by `pursuer-evader`."""
    _, greedy, intercept = PANEL[name]
    return {f"{p}-{e}": figure for (p, e), figure in zip(CELLS, [*greedy, *intercept], strict=True)}


def tolerance(figure: float) -> float:
    return 0.01 if figure >= 0.99 or figure <= 0.02 else 0.03


def play_panel(name: str, duels: int, threads: int = 1) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Captures and lengths of each cell's duels, on the same keys; all cells side by side in one world."""
    world = Pursuit(PursuitSettings(**PANEL[name][0]), duels * len(CELLS), seed=0, threads=threads)
    blocks = [np.arange(number * duels, (number + 1) * duels) for number in range(len(CELLS))]

    def act(_: World) -> dict[str, np.ndarray]:
        chosen = {role: np.zeros((world.lanes, 1, 2), np.float32) for role in world.roles}
        for place, role in enumerate(world.roles):
            for script in dict.fromkeys(cell[place] for cell in CELLS):
                lanes = np.concatenate(
                    [block for block, cell in zip(blocks, CELLS, strict=True) if cell[place] == script]
                )
                chosen[role][lanes] = world.scripted(role, script, lanes)[lanes]
        return chosen

    table = play_once(world, act, np.tile(np.arange(1, duels + 1, dtype=np.uint64), len(CELLS)))
    return {
        f"{pursuer}-{evader}": (table["captured"][block], table["steps"][block])
        for (pursuer, evader), block in zip(CELLS, blocks, strict=True)
    }
