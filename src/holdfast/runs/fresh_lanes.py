"""Going on with what was learned when the lanes cannot be taken over: another number of them, or another world.

Weights, optimiser, normalisers, counters and generators go on; every lane begins a new episode. Not an exact resume.
"""

from __future__ import annotations

import numpy as np
import torch

from holdfast.config.sections import Config
from holdfast.kit.rng import derive
from holdfast.rollout.collect import make_memory
from holdfast.runs.checkpoint import Saved
from holdfast.state import Counts, State
from holdfast.worlds.registry import make_world
from holdfast.worlds.workers.supervisor import Supervisor


def lanes_of(saved: Saved, config: Config) -> int:
    """How many lanes a checkpoint was taken from; as many as now, if it does not say."""
    return int(saved.meta.get("counters", {}).get("lanes") or config.rollout.lanes)


def restore_without_lanes(state: State, config: Config, saved: Saved, supervisor: Supervisor | None) -> None:
    arrays = saved.arrays
    state.restore_learners(arrays)
    state.actions.set_state(torch.from_numpy(np.array(arrays["generators/actions"])))
    state.shuffle.set_state(torch.from_numpy(np.array(arrays["generators/shuffle"])))
    state.counts = Counts(**saved.facts["counts"])
    state.world.close()
    seed = int(derive(np.uint64(config.run.seed), np.uint64(state.counts.iteration)) >> np.uint64(1))
    lanes, threads = config.rollout.lanes, config.rollout.threads
    state.world = make_world(config.world_name, config.world, lanes, seed, threads, supervisor)
    state.world.reset()  # with another seed: the first episodes of the run are not lived again
    state.memory = make_memory(state.learners, config.rollout.lanes)
