"""What a checkpoint says about itself in `meta.json`: where it comes from, how far it came, and with what.

Complete enough to tell two checkpoints apart, and to compare them, without reading any array.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from holdfast.config.sections import Config
from holdfast.kit.errors import CheckpointError
from holdfast.learner.learner import Learner
from holdfast.runs.folder import RunFolder
from holdfast.runs.heartbeat import utc
from holdfast.state import State
from holdfast.worlds.api import World

SCHEMA = 1


@dataclass(frozen=True)
class Lineage:
    """What this process went on from; counters that the state does not keep are added to these."""

    parent: str | None = None  # a checkpoint of the same run
    iteration: int = 0
    lane_steps: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0

    @staticmethod
    def of(name: str, meta: dict[str, Any]) -> Lineage:
        """From a checkpoint's metadata; one without them (of an older version) begins the sums anew."""
        counters = meta.get("counters", {})
        return Lineage(
            name,
            int(name),
            int(counters.get("lane_steps", 0) or 0),
            float(counters.get("wall_s", 0.0) or 0.0),
            float(counters.get("cpu_s", 0.0) or 0.0),
        )


class Spent(NamedTuple):
    """Time that this process has given to the run."""

    wall_s: float
    cpu_s: float


def metadata(
    run: RunFolder, config: Config, state: State, lineage: Lineage, spent: Spent, reason: str
) -> dict[str, Any]:
    """`reason`: interval, best, final or interrupt."""
    description = run.describe()
    return {
        "identity": {
            "schema": SCHEMA,
            "created": utc(),
            "reason": reason,
            "run": run.name,
            "run_id": description.get("id"),
            "preset": description.get("preset"),
            "parent": lineage.parent,
        },
        "counters": _counters(config, state, lineage, spent),
        "world": _world(config, state),
        "model": {name: _model(config, learner) for name, learner in state.learners.items()},
        "learner": asdict(config.learner),
        "software": {
            "holdfast": description.get("holdfast"),
            **description.get("versions", {}),
            "git": description.get("git"),
            "device": "cpu",
        },
        "audit": {},
    }


def _counters(config: Config, state: State, lineage: Lineage, spent: Spent) -> dict[str, Any]:
    counts, rollout = state.counts, config.rollout
    lane_steps = lineage.lane_steps + (counts.iteration - lineage.iteration) * rollout.lanes * rollout.steps
    updates = {name: learner.optimizer.arrays()["updates"] for name, learner in state.learners.items()}
    return {
        "iteration": counts.iteration,
        "iterations": config.run.iterations,
        "lane_steps": lane_steps,
        "agent_steps": counts.agent_steps,
        "frames": lane_steps * int(getattr(config.world, "frame_skip", 1)),
        "episodes": counts.episodes,
        "optimizer_steps": {name: int(count[0]) for name, count in updates.items()},
        "wall_s": round(lineage.wall_s + spent.wall_s, 3),
        "cpu_s": round(lineage.cpu_s + spent.cpu_s, 3),
        "rollout_steps": rollout.steps,
        "lanes": rollout.lanes,
    }


def _world(config: Config, state: State) -> dict[str, Any]:
    spec = state.world.spec
    return {
        "name": config.world_name,
        "version": spec.version,
        "seed": config.run.seed,
        "settings": asdict(config.world),
        "identity": state.world.identity(),
        "roles": {
            role.name: {
                "agents": role.agents,
                "observations": {"shape": list(role.observations.shape), "dtype": str(role.observations.dtype)},
                "actions": {"kind": type(role.actions).__name__.lower(), **role.actions._asdict()},
            }
            for role in spec.roles
        },
    }


def refuse_other_world(name: str, meta: dict[str, Any], world: World) -> None:
    """A checkpoint goes on only in the world it was taken in; one of an older version does not say which that was."""
    theirs, ours = meta.get("world", {}).get("identity", {}), world.identity()
    other = [f"{key} was {theirs[key]}, here it is {ours.get(key)}" for key in theirs if theirs[key] != ours.get(key)]
    if other:
        raise CheckpointError(f"checkpoint {name} is of another {world.spec.name}: {'; '.join(other)}")


def _model(config: Config, learner: Learner) -> dict[str, Any]:
    weights = learner.optimizer.arrays()["parameters"]
    return {
        **asdict(config.policy),
        "parameters": sum(parameter.numel() for parameter in learner.policy.parameters()),
        "sha256": hashlib.sha256(weights.tobytes()).hexdigest(),
    }
