"""A shelf of learned policies: one small file each, with the configuration that made them and what they can do.

Weights are kept in half precision, without the optimiser: enough to act, not to train on. Reading one runs no code.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from holdfast.config.reading import from_json
from holdfast.config.sections import Config, RunConfig, to_json
from holdfast.kit.disk import replace_file
from holdfast.kit.errors import CheckpointError
from holdfast.kit.soundness import refuse_misfits
from holdfast.learner.learner import Learner
from holdfast.runs.plain_files import parse_json
from holdfast.runs.supervised import supervised
from holdfast.state import below, fresh_learners
from holdfast.worlds.plugins import folders
from holdfast.worlds.registry import light, make_world

ENDING = ".safetensors"
WEIGHTS = "weights"
MOMENTS = ("observations", "returns")


class Shelved(NamedTuple):
    """A policy from the shelf."""

    path: Path
    config: Config
    learners: dict[str, Learner]
    facts: dict[str, Any]


def shelves() -> list[Path]:
    """Folders of policies that came with games."""
    return folders("policies")


def on_shelf(name: str) -> Path | None:
    """The file of a policy that came with a game, if there is one of that name."""
    found = [folder / f"{name}{ENDING}" for folder in shelves() if "/" not in name]
    return next((path for path in found if path.is_file()), None)


def shelve(path: Path, config: Config, learners: Mapping[str, Learner], facts: Mapping[str, Any]) -> None:
    arrays: dict[str, np.ndarray] = {}
    for role, learner in learners.items():
        arrays[f"{role}/{WEIGHTS}"] = learner.optimizer.parameters.numpy().astype(np.float16)
        for part in MOMENTS:
            moments = getattr(learner, part)
            if moments is not None:
                arrays |= {f"{role}/{part}/{name}": np.array(array) for name, array in moments.arrays().items()}
    elsewhere = dataclasses.replace(config.run, root=RunConfig().root, init="")  # folders of this machine
    about = {
        "config": json.dumps(to_json(dataclasses.replace(config, run=elsewhere))),
        "facts": json.dumps(dict(facts)),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, save(arrays, metadata=about))


def take_down(path: Path) -> Shelved:
    """The policy, ready to act; CheckpointError names the file when it is none."""
    try:
        with safe_open(path, "numpy") as file:
            about = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
        table, facts = parse_json(about["config"].encode()), parse_json(about["facts"].encode())
        if not isinstance(table, dict) or not isinstance(facts, dict):
            raise ValueError("its configuration and facts must be tables")
        config = from_json(table, str(path))[0]
        config = dataclasses.replace(config, world=light(config.world))  # to be played at once
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise CheckpointError(f"{path} is no kept policy: {error}") from error
    with supervised(config) as supervisor:
        world = make_world(config.world_name, config.world, 1, seed=0, supervisor=supervisor)
        learners = fresh_learners(config, world)
        world.close()
    for role, learner in learners.items():
        _fill(path, role, learner, arrays)
    return Shelved(path, config, learners, facts)


def _fill(path: Path, role: str, learner: Learner, arrays: Mapping[str, np.ndarray]) -> None:
    mine = learner.optimizer.parameters.numpy()
    weights = arrays.get(f"{role}/{WEIGHTS}")
    if weights is None or weights.shape != mine.shape or weights.dtype != np.float16:
        raise CheckpointError(f"{path}: its weights do not fit its configuration")
    if not np.isfinite(weights).all():
        raise CheckpointError(f"{path}: its weights are not all finite")
    mine[...] = weights
    for part in MOMENTS:
        moments, saved = getattr(learner, part), below(arrays, f"{role}/{part}/")
        if moments is not None:
            refuse_misfits(f"{part} of {path}", moments.arrays(), saved)
            moments.restore(saved)
