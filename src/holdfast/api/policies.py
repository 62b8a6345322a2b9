"""Learned policies as functions of NumPy arrays: observations in, actions out, memory and normalisation inside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from holdfast.config.sections import Config
from holdfast.kit.errors import ConfigError, ObservationError, UnknownName, nearest
from holdfast.learner.learner import Learner
from holdfast.runs.folder import RUN_FILE
from holdfast.runs.shelf import ENDING, take_down
from holdfast.views.judge import find_policy
from holdfast.worlds.api import Role


class RolePolicy:
    """The policy of one role. It remembers, if it is recurrent, what each row of its observations has seen."""

    def __init__(self, learner: Learner, generator: torch.Generator) -> None:
        self._learner, self._generator = learner, generator
        self._batch: tuple[int, ...] | None = None  # shape of the rows that are remembered
        self._hidden = torch.zeros(0, learner.policy.core_size)
        self._starts = np.zeros(0, np.bool_)  # [*batch], rows that begin an episode

    @property
    def role(self) -> Role:
        """What it observes and what it may do."""
        return self._learner.role

    @property
    def is_recurrent(self) -> bool:
        return self._learner.policy.core is not None

    def reset(self, rows: Any = None) -> None:
        """Forget: everything, or what these rows of the batch have seen (indexes or a mask of its first axes).

        Call it where an episode begins; a policy without memory has nothing to forget.
        """
        if rows is None:
            self._batch = None
        elif self._batch is not None:
            try:
                self._starts[rows] = True
            except IndexError as error:
                raise ObservationError(f"no such rows in a batch of {list(self._batch)}: {error}") from error

    def act(self, observation: Any, deterministic: bool = True) -> np.ndarray:
        """The action for one observation, or those for a batch of them with any number of axes before the role's own.

        `deterministic` takes the likeliest action; otherwise actions are drawn as in training, from the seed of
        `load_policy` on. Actions are as the world takes them: numbers of choices, or numbers within the bounds.
        """
        observed = self._checked(np.asarray(observation))
        batch = observed.shape[: observed.ndim - len(self.role.observations.shape)]
        rows = torch.from_numpy(observed.reshape(-1, *self.role.observations.shape))
        actions = self._ask(rows, batch, deterministic).numpy()
        chosen: np.ndarray = actions.reshape((*batch, *actions.shape[1:]))[()]  # one choice is a number, not an array
        return chosen

    def _checked(self, observed: np.ndarray) -> np.ndarray:
        wanted, name = self.role.observations, self.role.name
        shape = wanted.shape
        if observed.ndim < len(shape) or observed.shape[observed.ndim - len(shape) :] != shape:
            raise ObservationError(
                f"an observation of {name} has the shape {list(shape)}, or a batch of them [..., "
                f"{', '.join(map(str, shape))}]; this one has {list(observed.shape)}"
            )
        if not np.can_cast(observed.dtype, wanted.dtype, "same_kind"):
            raise ObservationError(f"an observation of {name} holds {wanted.dtype}; this one holds {observed.dtype}")
        if observed.dtype.kind == "f" and not np.isfinite(observed).all():
            raise ObservationError(f"this observation of {name} has NaN or infinity in it")
        return np.ascontiguousarray(observed, wanted.dtype).reshape(observed.shape)

    @torch.inference_mode()
    def _ask(self, rows: torch.Tensor, batch: tuple[int, ...], deterministic: bool) -> torch.Tensor:
        policy = self._learner.policy
        hidden, starts = self._memory(batch)
        said = self._learner.ask(self._learner.normalized(rows), hidden, starts)
        self._hidden = said.hidden
        if deterministic:
            actions = policy.head.greedy(said.actions, policy.extra)
        else:
            actions, _ = policy.head.sample(said.actions, policy.extra, self._generator)
        return policy.head.for_world(actions)

    def _memory(self, batch: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
        """What is remembered of these rows, and which of them begin an episode."""
        count = int(np.prod(batch))
        if self._batch is not None and batch != self._batch and self.is_recurrent:
            raise ObservationError(
                f"the policy of {self.role.name} remembers a batch of {list(self._batch)}, not of {list(batch)}: "
                "call reset() before another one"
            )
        if batch != self._batch:
            self._batch, self._starts = batch, np.ones(batch, np.bool_)
            self._hidden = torch.zeros(count, self._learner.policy.core_size)
        starts = torch.from_numpy(self._starts.reshape(-1).copy())
        self._starts = np.zeros(batch, np.bool_)
        return self._hidden, starts


class LoadedPolicy(Mapping[str, RolePolicy]):
    """A policy for every role of a world: `policy["pursuer"].act(...)`; where there is one role, `policy.act(...)`."""

    def __init__(self, config: Config, learners: Mapping[str, Learner], seed: int) -> None:
        self.config = config  # what it was trained under
        generator = torch.Generator().manual_seed(seed)
        self._roles = {name: RolePolicy(learner, generator) for name, learner in learners.items()}

    def __repr__(self) -> str:
        return f"<policy of {', '.join(self._roles)} in world {self.config.world_name}>"

    @property
    def roles(self) -> tuple[str, ...]:
        return tuple(self._roles)

    def __getitem__(self, role: str) -> RolePolicy:
        if role not in self._roles:
            known = list(self._roles)
            raise UnknownName(f"this policy has no role {role!r}{nearest(str(role), known)}; it has {', '.join(known)}")
        return self._roles[role]

    def __contains__(self, role: object) -> bool:
        return role in self._roles

    def __iter__(self) -> Any:
        return iter(self._roles)

    def __len__(self) -> int:
        return len(self._roles)

    def act(self, observation: Any, deterministic: bool = True) -> np.ndarray:
        """The same as `RolePolicy.act`, where there is one role."""
        if len(self._roles) > 1:
            first = next(iter(self._roles))
            raise ObservationError(
                f"this policy plays {', '.join(self._roles)}: say which, as in policy[{first!r}].act(observation)"
            )
        return next(iter(self._roles.values())).act(observation, deterministic)

    def reset(self, rows: Any = None) -> None:
        """Let every role forget, all or these rows: see `RolePolicy.reset`."""
        for policy in self._roles.values():
            policy.reset(rows)


def load_policy(policy: str | Path, *, checkpoint: str = "latest", root: str = "runs", seed: int = 0) -> LoadedPolicy:
    """What a run learned, ready to act.

    `policy` is a run (its name or folder), a checkpoint's folder, a kept policy such as "1-1", or the file of one.
    `checkpoint` is `"latest"`, `"best"` or an iteration's number; `seed` is for actions that are drawn.

    >>> import holdfast as hf
    >>> run = hf.train("template", {"run.iterations": 2, "run.name": "first"}, quiet=True)
    >>> policy = hf.load_policy("first")
    >>> world = hf.make_world("template", lanes=4, seed=1)
    >>> one = world.roles["player"].obs[0, 0]                # what the first agent of the first lane observes
    >>> one.shape, int(policy.act(one)) in (0, 1, 2)
    ((16,), True)
    >>> world.step({"player": policy.act(world.roles["player"].obs)})        # all lanes at once

    Nothing that is loaded runs code: the world of a run must be one of ours, trusted, or imported by your program.
    """
    path = Path(policy)
    if path.suffix == ENDING:
        if checkpoint != "latest":
            raise ConfigError([f"checkpoint = {checkpoint!r}: {path} holds one policy and no checkpoints"])
        shelved = take_down(path)
        return LoadedPolicy(shelved.config, shelved.learners, seed)
    name = str(policy)
    if path.parent.name == "checkpoints" and (path.parent.parent / RUN_FILE).is_file():
        if checkpoint != "latest":
            raise ConfigError(
                [f"checkpoint = {checkpoint!r} beside {path}, which is a checkpoint: give one of the two"]
            )
        name, checkpoint = str(path.parent.parent), path.name
    kept = find_policy(name, root)
    return LoadedPolicy(kept.config, kept.load(checkpoint), seed)
