"""Frozen copies of a role's learner, named by their content: rings, pools and milestones all refer to these by hash.

A copy is read-only and its hash is checked whenever it is taken out, so that no later training can write into a past
opponent unseen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from holdfast.kit.errors import CheckpointError
from holdfast.kit.soundness import strange_numbers

LETTERS = 16  # of the hash; collisions of 64 bits do not happen by chance


class Parted(Protocol):
    """What can be frozen: a learner, whatever it consists of."""

    def parts(self) -> Mapping[str, Any]: ...


def content_hash(arrays: Mapping[str, np.ndarray]) -> str:
    """Of names, types, shapes and bytes."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape};".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:LETTERS]


def arrays_of(learner: Parted) -> dict[str, np.ndarray]:
    """The learner's live arrays as `part/name`."""
    return {
        f"{part_name}/{name}": array
        for part_name, part in learner.parts().items()
        for name, array in part.arrays().items()
    }


def put_into(learner: Parted, arrays: Mapping[str, np.ndarray]) -> None:
    """Make the learner what the arrays say: weights, optimiser, normalisers."""
    for part_name, part in learner.parts().items():
        prefix = f"{part_name}/"
        saved = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
        if saved:  # a learner of another kind has no such part
            part.restore(saved)


@dataclass
class Vault:
    """Frozen learners by hash."""

    kept: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)

    def freeze(self, learner: Parted) -> str:
        """Keep a copy; the same content twice is one copy."""
        return self.keep(arrays_of(learner))

    def keep(self, live: Mapping[str, np.ndarray]) -> str:
        """The same for arrays of a learner."""
        arrays = {name: np.array(array) for name, array in live.items()}
        for array in arrays.values():
            array.setflags(write=False)
        name = content_hash(arrays)
        self.kept.setdefault(name, arrays)
        return name

    def take(self, name: str) -> dict[str, np.ndarray]:
        """The read-only arrays of a copy, checked against their name."""
        if name not in self.kept:
            raise CheckpointError(f"the frozen policy {name} is missing from the run's state")
        arrays = self.kept[name]
        found = content_hash(arrays)
        if found != name:
            raise CheckpointError(f"the frozen policy {name} is damaged: its content has the hash {found}")
        return arrays

    def thaw(self, name: str, learner: Parted) -> None:
        put_into(learner, self.take(name))

    def forget_all_but(self, wanted: Iterable[str]) -> None:
        keep = set(wanted)
        self.kept = {name: arrays for name, arrays in self.kept.items() if name in keep}

    def arrays(self, wanted: Iterable[str]) -> dict[str, np.ndarray]:
        """For a checkpoint, those that are wanted."""
        chosen = set(wanted)
        kept = {name: arrays for name, arrays in self.kept.items() if name in chosen}
        return {f"{name}/{key}": array for name, arrays in kept.items() for key, array in arrays.items()}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.kept = {}
        for path, array in arrays.items():
            problems = strange_numbers(path, array)
            if problems:
                raise CheckpointError(f"the saved frozen policy {problems[0]}")
            name, _, key = path.partition("/")
            copy = np.array(array)
            copy.setflags(write=False)
            self.kept.setdefault(name, {})[key] = copy
        for name in self.kept:
            self.take(name)
