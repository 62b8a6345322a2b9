"""The floor: fish that die whatever they do. No policy can be blamed for them, so they go beside every evaluation.

The coming move of the predator depends on nothing a fish does in the same step, so one step ahead the answer is exact
under both rules. A classic predator's whole path is fixed, and there a search over a fish's own plans looks further.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from holdfast.games.fish.world.fish import Fish, FishSettings
from holdfast.games.fish.world.motion import drift_predator, swim
from holdfast.games.fish.world.predator import next_predator
from holdfast.games.fish.world.school import ACTIONS, KILL_DISTANCE
from holdfast.kit.compiled import inlined, kernel
from holdfast.kit.errors import WorldError

CLASSIC_DEPTH = 5  # looking 20 steps ahead finds no more


class Floor(NamedTuple):
    """What the best of all policies could reach from these starts."""

    doomed: np.ndarray  # [E] fish that die whatever they do
    n_fish: np.ndarray  # [E]

    @property
    def ceiling_avg(self) -> float:
        """The highest possible mean share of survivors."""
        return float(np.mean(1.0 - self.doomed / self.n_fish))

    @property
    def ceiling_min(self) -> float:
        """The highest possible share of survivors in the worst episode."""
        return float(np.min(1.0 - self.doomed / self.n_fish))


@inlined
def caught(x, y, px, py):  # type: ignore[no-untyped-def]
    """Whether a fish dies there; all four in the precision they are stored in."""
    dx = np.float64(x) - np.float64(px)
    dy = np.float64(y) - np.float64(py)
    return dx * dx + dy * dy < KILL_DISTANCE * KILL_DISTANCE


@inlined
def swim_on(plan, step, action, pool):  # type: ignore[no-untyped-def]
    """Row step + 1 of a plan (x, y, vx, vy) from row step."""
    x, y, vx, vy = swim(
        np.float64(plan[step, 0]),
        np.float64(plan[step, 1]),
        np.float64(plan[step, 2]),
        np.float64(plan[step, 3]),
        action,
        pool,
    )
    plan[step + 1, 0] = x
    plan[step + 1, 1] = y
    plan[step + 1, 2] = vx
    plan[step + 1, 3] = vy


@inlined
def has_escape(plan, tried, path, depth, pool):  # type: ignore[no-untyped-def]
    """Depth first, to the first plan of `depth` actions that is never caught; row 0 of `plan` is where it begins."""
    step = 0
    tried[0] = 0
    while step < depth:
        if tried[step] == ACTIONS:
            if step == 0:
                return False
            step -= 1
            continue
        swim_on(plan, step, tried[step], pool)
        tried[step] += 1
        if not caught(plan[step + 1, 0], plan[step + 1, 1], path[step, 0], path[step, 1]):
            step += 1
            tried[step] = 0
    return True


@inlined
def foresee(school, alive, rules, path, depth, n):  # type: ignore[no-untyped-def]
    """Where the predator of a lane will be after each of the next `depth` steps; beyond the first, only a classic one's
    way is known."""
    x, y, vx, vy, _ = next_predator(school, alive, rules, n)
    path[0, 0] = x
    path[0, 1] = y
    for step in range(1, depth):
        far_x, far_y, fast_x, fast_y = drift_predator(
            np.float64(x), np.float64(y), np.float64(vx), np.float64(vy), rules.pool_radius
        )
        x, y, vx, vy = np.float32(far_x), np.float32(far_y), np.float32(fast_x), np.float32(fast_y)
        path[step, 0] = x
        path[step, 1] = y


@kernel
def find_doomed(clock, school, alive, rules, depth, doomed):  # type: ignore[no-untyped-def]
    path = np.empty((depth, 2), np.float32)
    plan = np.empty((depth + 1, 4), np.float32)
    tried = np.empty(depth + 1, np.int64)  # how many actions have been tried at each step of the plan
    for n in range(alive.shape[0]):
        ahead = min(depth, school.step_limit[n] - clock.t[n])
        foresee(school, alive, rules, path, ahead, n)
        for i in range(school.n_fish[n]):
            if alive[n, i]:
                for axis in range(2):
                    plan[0, axis] = school.fish_pos[n, i, axis]
                    plan[0, 2 + axis] = school.fish_vel[n, i, axis]
                doomed[n, i] = not has_escape(plan, tried, path, ahead, rules.pool_radius)


def doomed_fish(world: Fish, depth: int = 1) -> np.ndarray:
    """[N, C] bool: living fish that die within `depth` steps whatever they do."""
    if depth > 1 and world.rules.hunts:
        raise WorldError("a hunter follows the fish, so its path is known one step ahead only: use depth = 1")
    doomed = np.zeros(world.fish.alive.shape, np.bool_)
    find_doomed(world.clock, world.state, world.fish.alive, world.rules, depth, doomed)
    return doomed


def spawn_floor(settings: FishSettings, keys: np.ndarray, depth: int | None = None) -> Floor:
    """The floor of the episodes with these keys, as deep as the rules allow unless a depth is given; each is searched
    once and remembered."""
    deepest = 1 if settings.rules == "hunt" else CLASSIC_DEPTH
    return _floor_of(settings, np.ascontiguousarray(keys, np.uint64).tobytes(), deepest if depth is None else depth)


@lru_cache(maxsize=64)  # evaluations of a run with fixed seeds ask for the same ones each time
def _floor_of(settings: FishSettings, keys: bytes, depth: int) -> Floor:
    chosen = np.frombuffer(keys, np.uint64)
    world = Fish(settings, len(chosen), seed=0)
    world.reset(keys=chosen)
    floor = Floor(doomed_fish(world, depth).sum(axis=1), world.state.n_fish.copy())
    for array in floor:
        array.flags.writeable = False
    return floor
