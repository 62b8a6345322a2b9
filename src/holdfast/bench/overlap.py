"""Does collecting in a thread pay on this machine? Whole iterations, overlap off and on, by lanes and rollout steps.

Off is the ordinary loop: all threads collect, then all learn. On gives half of them to each, at the same time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from holdfast.bench.rounds import as_table, ratio, take_turns
from holdfast.config.reading import load_config
from holdfast.kit.timing import Clock
from holdfast.learner.schedules import pace
from holdfast.learner.update import update
from holdfast.rollout.ahead import share_threads
from holdfast.state import initial_state
from holdfast.worlds.ours import OURS
from holdfast.worlds.registry import make_world, own_game, world_class

SIZES = ((64, 32), (64, 128), (512, 32))  # lanes, steps
PARTS = 4  # minibatches per epoch


def bench_overlap(repeats: int) -> dict[str, Any]:
    """Agent-steps per second of each setting, and what overlap gains."""
    found: dict[str, Any] = {}
    for world in ("template", *(name for name in OURS if own_game(name).speeds)):
        agents = make_world(world, world_class(world).Settings(), 1, 0).spec.roles[0].agents
        for lanes, steps in SIZES:
            name = f"{world}_{lanes}x{steps}"
            rows = lanes * steps * agents
            rates = take_turns(
                {f"{name}_{mode}": _iterations(world, lanes, steps, rows, mode) for mode in ("off", "on")}, repeats
            )
            found |= as_table(rates, "steps_per_s")
            found[f"ratio_{name}"] = ratio(rates[f"{name}_on"], rates[f"{name}_off"])
    return {**found, "repeats": repeats}


def _iterations(world: str, lanes: int, steps: int, rows: int, mode: str) -> Callable[[], int]:
    options = {
        "rollout.lanes": lanes,
        "rollout.steps": steps,
        "learner.minibatch": rows // PARTS,
        "rollout.overlap": "true" if mode == "on" else "false",
    }
    config, _ = load_config(world, [f"--{name}={value}" for name, value in options.items()])
    state, clock = initial_state(config), Clock()
    state.seat.open(config.rollout)
    (role,) = state.learners

    def iteration() -> int:
        torch.set_num_threads(share_threads(config.rollout).learning)
        state.seat.collect(clock)
        update(state.learners[role], state.seat.batches[role], pace(config.learner, 0, 1), state.shuffle)
        state.seat.settle(clock)
        return int(state.seat.batches[role].valid.sum())

    return iteration
