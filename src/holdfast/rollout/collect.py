"""Collect rollouts: every lane plays some steps, every role acts in one forward pass, a batch per role is filled in
place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch

from holdfast.kit.errors import NonFinite
from holdfast.kit.timing import Clock
from holdfast.learner.batch import Batch, array, as_rows
from holdfast.learner.learner import Learner
from holdfast.worlds.api import Episodes, World

Deal = Callable[[World, np.ndarray], None]  # may load situations into lanes whose episodes have just begun


@dataclass
class Memory:
    """What recurrent policies carry from one step to the next, per role; part of the run's state."""

    hidden: dict[str, torch.Tensor]  # [R, H]
    starts: dict[str, torch.Tensor]  # [R] bool: the next step is the first of an episode

    def restart(self, lanes: np.ndarray, of: int) -> None:
        """These of `of` lanes begin new episodes before the next step."""
        for name, starts in self.starts.items():
            begun = starts.view(of, -1).clone()
            begun[torch.from_numpy(lanes)] = True
            self.starts[name] = begun.flatten()


def make_memory(learners: dict[str, Learner], lanes: int) -> Memory:
    rows = {name: lanes * learner.role.agents for name, learner in learners.items()}
    return Memory(
        hidden={name: torch.zeros(rows[name], learner.policy.core_size) for name, learner in learners.items()},
        starts={name: torch.ones(rows[name], dtype=torch.bool) for name in learners},
    )


class Truncation(NamedTuple):
    """Rows that were truncated in one step, kept until the value network is asked about all of them at once."""

    t: int
    rows: np.ndarray
    raw: np.ndarray  # their final observations
    hidden: torch.Tensor


class Flags(NamedTuple):
    """The arrays of a batch that every step writes to, as NumPy sees them, [T, N, A]."""

    reward: np.ndarray
    valid: np.ndarray
    forced: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


def flags_of(batch: Batch, lanes: int) -> Flags:
    fields = batch.reward, batch.valid, batch.forced, batch.terminated, batch.truncated
    return Flags(*[array(field).reshape(len(field), lanes, -1) for field in fields])


@dataclass
class Rollout:
    """A call of `collect` in progress."""

    world: World
    learners: dict[str, Learner]
    batches: dict[str, Batch]
    memory: Memory
    generator: torch.Generator
    deal: Deal | None = None
    episodes: list[Episodes] = field(default_factory=list)
    truncations: dict[str, list[Truncation]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.flags: dict[str, Flags] = {}
        for name, batch in self.batches.items():
            batch.hidden.copy_(self.memory.hidden[name])
            scale = self.learners[name].observations
            if scale is not None:
                batch.scale.copy_(torch.stack([scale.mean32, scale.std32]))
            self.flags[name] = flags_of(batch, self.world.lanes)

    def act(self, t: int) -> dict[str, np.ndarray]:
        """Sample the actions of every role, and write what is known before the step to the batches."""
        found: dict[str, np.ndarray] = {}
        for name, learner in self.learners.items():
            batch, policy, buffers = self.batches[name], learner.policy, self.world.roles[name]
            starts = self.memory.starts[name]
            obs = learner.normalized(as_rows(buffers.obs), batch.obs[t])
            output = learner.ask(obs, self.memory.hidden[name], starts)
            actions, log_prob = policy.head.sample(output.actions, policy.extra, self.generator)
            batch.actions[t] = actions
            batch.log_prob[t] = log_prob
            batch.value[t] = output.value
            batch.starts[t] = starts
            batch.valid[t] = as_rows(buffers.alive)
            self.memory.hidden[name] = output.hidden
            chosen = policy.head.for_world(actions).numpy()
            found[name] = chosen.reshape(self.world.lanes, learner.role.agents, *chosen.shape[1:])
        return found

    def note(self, t: int) -> None:
        """Write the results of the step to the batches."""
        terminated, truncated = self.world.terminated, self.world.truncated
        ended = terminated | truncated
        any_ended = bool(ended.any())
        if any_ended:
            self.episodes.append(self.world.finished())
        for name, learner in self.learners.items():
            flags, buffers = self.flags[name], self.world.roles[name]
            flags.reward[t] = buffers.reward
            flags.forced[t] = buffers.forced
            valid = flags.valid[t]
            if any_ended:
                if self.world.lost is not None:
                    valid[self.world.lost] = False  # the result of these actions is unknown
                alive = np.where(ended[:, None], buffers.final_alive, buffers.alive)
                np.logical_and(valid, ~alive | terminated[:, None], out=flags.terminated[t])
                np.logical_and(valid & alive, truncated[:, None], out=flags.truncated[t])
                self._keep_truncated(name, t)
            else:
                np.logical_and(valid, ~buffers.alive, out=flags.terminated[t])
                flags.truncated[t] = False
            self.memory.starts[name] = torch.from_numpy(ended.repeat(learner.role.agents))
        if any_ended and self.deal is not None:
            self.deal(self.world, np.flatnonzero(ended))

    def _keep_truncated(self, name: str, t: int) -> None:
        rows = np.flatnonzero(self.flags[name].truncated[t])
        if len(rows):
            final_obs, hidden = self.world.roles[name].final_obs, self.memory.hidden[name]
            raw = final_obs.reshape(-1, *final_obs.shape[2:])[rows]
            kept = hidden[torch.from_numpy(rows)] if hidden.shape[1] else hidden[: len(rows)]
            self.truncations.setdefault(name, []).append(Truncation(t, rows, raw, kept))

    def bootstrap(self) -> None:
        """Fill in bootstrap values: after the last step and after each truncation."""
        for name, learner in self.learners.items():
            batch = self.batches[name]
            raw = as_rows(self.world.roles[name].obs)
            output = learner.ask(learner.normalized(raw), self.memory.hidden[name], self.memory.starts[name])
            batch.last_value.copy_(learner.value_in_reward(output.value))
            batch.value.copy_(learner.value_in_reward(batch.value))
            self._fill_bootstrap(learner, batch, self.truncations.get(name, []))

    def _fill_bootstrap(self, learner: Learner, batch: Batch, truncations: list[Truncation]) -> None:
        batch.bootstrap.zero_()
        if not truncations:
            return
        obs = learner.normalized(torch.from_numpy(np.concatenate([one.raw for one in truncations])))
        hidden = torch.cat([one.hidden for one in truncations])
        going_on = torch.zeros(len(obs), dtype=torch.bool)
        values = learner.value_in_reward(learner.ask(obs, hidden, going_on).value)
        steps = np.concatenate([np.full(len(one.rows), one.t) for one in truncations])
        batch.bootstrap[steps, np.concatenate([one.rows for one in truncations])] = values


@torch.inference_mode()
def collect(
    world: World,
    actors: dict[str, Learner],
    batches: dict[str, Batch],
    memory: Memory,
    generator: torch.Generator,
    clock: Clock,
    deal: Deal | None = None,
    learn_scales: bool = True,
) -> Episodes | None:
    """Fill the batches from the world's next steps; returns the episodes that ended, if any did.

    `deal` may load saved situations into lanes whose next episode has just begun. Nothing of the actors changes but
    the scales of their observations, and these only with `learn_scales`.
    """
    rollout = Rollout(world, actors, batches, memory, generator, deal)
    for t in range(next(iter(batches.values())).steps):
        with clock("act"):
            actions = rollout.act(t)
        with clock("world"):
            world.step(actions)
        rollout.note(t)
    with clock("act"):
        rollout.bootstrap()
    for name, batch in batches.items():
        refuse_non_finite(name, batch, world)
    if learn_scales:
        learn_observation_scales(actors, batches)
    return Episodes.joined(rollout.episodes) if rollout.episodes else None


def refuse_non_finite(name: str, batch: Batch, world: World) -> None:
    """A NaN from the world must not reach the weights: name the array, step, lane and agent it came from."""
    checked = {"observation": batch.obs, "reward": batch.reward, "value": batch.value}
    for what, tensor in checked.items():
        if not tensor.is_floating_point() or bool(torch.isfinite(tensor.sum())):
            continue  # one sum is much cheaper than a test of every number; a finite sum has finite terms
        places = np.argwhere(~np.isfinite(array(tensor)))
        if len(places) == 0:
            continue
        t, row, *rest = (int(place) for place in places[0])
        lane, agent = divmod(row, world.roles[name].alive.shape[1])
        where = f" at index {rest}" if rest else ""
        raise NonFinite(
            f"world {world.spec.name}: the {what} of {name} {agent} in lane {lane} is not finite{where} "
            f"(step {t} of the rollout); nothing was learned from this batch"
        )


@torch.inference_mode()
def learn_observation_scales(learners: dict[str, Learner], batches: dict[str, Batch]) -> None:
    """Take the batches into the running scales of observations, which the next rollout is normalised by."""
    for name, learner in learners.items():
        if learner.observations is not None:
            learner.observations.update_from(batches[name])
