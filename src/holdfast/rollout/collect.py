"""Collect: every lane plays some steps, every role acts in one forward pass, a batch per role is filled in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch

from holdfast.kit.errors import NonFinite
from holdfast.kit.timing import Clock
from holdfast.learner.batch import Batch, array
from holdfast.learner.learner import Learner
from holdfast.rollout.act import as_rows, seen, seen_copy
from holdfast.worlds.api import Episodes, World

Deal = Callable[[World, np.ndarray], None]  # puts what it likes into lanes whose episodes have just begun


@dataclass
class Memory:
    """What recurrent policies carry from one step to the next, per role; part of the run's state."""

    hidden: dict[str, torch.Tensor]  # [R, H]
    starts: dict[str, torch.Tensor]  # [R] bool: the next step is the first of an episode

    def restart(self, lanes: np.ndarray, of: int) -> None:
        """These lanes, out of so many, begin new episodes before the next step."""
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


class Cut(NamedTuple):
    """Rows that were truncated in one step, kept to ask the value network about them all at once."""

    t: int
    rows: np.ndarray
    raw: np.ndarray  # their last sight
    hidden: torch.Tensor


class Flags(NamedTuple):
    """The arrays of a batch that every step writes to, as NumPy sees them, [T, N, A]."""

    reward: np.ndarray
    valid: np.ndarray
    forced: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


def flags_of(batch: Batch, agents: int) -> Flags:
    return Flags(*(array(getattr(batch, name)).reshape(batch.steps, -1, agents) for name in Flags._fields))


@dataclass
class Rollout:
    """One call of `collect` under way."""

    world: World
    learners: dict[str, Learner]
    batches: dict[str, Batch]
    memory: Memory
    generator: torch.Generator
    deal: Deal | None = None
    episodes: list[Episodes] = field(default_factory=list)
    cuts: dict[str, list[Cut]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.flags = {name: flags_of(self.batches[name], one.role.agents) for name, one in self.learners.items()}

    def act(self, t: int) -> dict[str, np.ndarray]:
        return {name: self._act(name, learner, t) for name, learner in self.learners.items()}

    def _act(self, name: str, learner: Learner, t: int) -> np.ndarray:
        batch, policy, buffers = self.batches[name], learner.policy, self.world.roles[name]
        starts = self.memory.starts[name]
        obs = seen(learner, as_rows(buffers.obs), batch.obs[t])
        output = learner.ask(obs, self.memory.hidden[name], starts)
        actions, log_prob = policy.head.sample(output.actions, policy.extra, self.generator)
        batch.actions[t] = actions
        batch.log_prob[t] = log_prob
        batch.value[t] = output.value
        batch.starts[t] = starts
        batch.valid[t] = as_rows(buffers.alive)
        self.memory.hidden[name] = output.hidden
        chosen: np.ndarray = policy.head.for_world(actions).numpy()
        return chosen.reshape(self.world.lanes, learner.role.agents, *chosen.shape[1:])

    def note(self, t: int) -> None:
        """Write down what the step did."""
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
                    valid[self.world.lost] = False  # nothing is known of what these actions did
                alive = np.where(ended[:, None], buffers.final_alive, buffers.alive)
                np.logical_and(valid, ~alive | terminated[:, None], out=flags.terminated[t])
                np.logical_and(valid & alive, truncated[:, None], out=flags.truncated[t])
                self._keep_cut(name, t)
            else:
                np.logical_and(valid, ~buffers.alive, out=flags.terminated[t])
                flags.truncated[t] = False
            self.memory.starts[name] = torch.from_numpy(ended.repeat(learner.role.agents))
        if any_ended and self.deal is not None:
            self.deal(self.world, np.flatnonzero(ended))

    def _keep_cut(self, name: str, t: int) -> None:
        rows = np.flatnonzero(self.flags[name].truncated[t])
        if len(rows):
            final_obs, hidden = self.world.roles[name].final_obs, self.memory.hidden[name]
            raw = final_obs.reshape(-1, *final_obs.shape[2:])[rows]
            kept = hidden[torch.from_numpy(rows)] if hidden.shape[1] else hidden[: len(rows)]
            self.cuts.setdefault(name, []).append(Cut(t, rows, raw, kept))

    def look_ahead(self) -> None:
        """Values of what lies beyond the batch: after the last step, and after each cut."""
        for name, learner in self.learners.items():
            batch = self.batches[name]
            raw = as_rows(self.world.roles[name].obs)
            output = learner.ask(seen_copy(learner, raw), self.memory.hidden[name], self.memory.starts[name])
            batch.last_value.copy_(learner.value_in_reward(output.value))
            batch.value.copy_(learner.value_in_reward(batch.value))
            self._fill_bootstrap(learner, batch, self.cuts.get(name, []))

    def _fill_bootstrap(self, learner: Learner, batch: Batch, cuts: list[Cut]) -> None:
        batch.bootstrap.zero_()
        if not cuts:
            return
        obs = seen_copy(learner, torch.from_numpy(np.concatenate([cut.raw for cut in cuts])))
        hidden = torch.cat([cut.hidden for cut in cuts])
        going_on = torch.zeros(len(obs), dtype=torch.bool)
        values = learner.value_in_reward(learner.ask(obs, hidden, going_on).value)
        steps = np.concatenate([np.full(len(cut.rows), cut.t) for cut in cuts])
        batch.bootstrap[steps, np.concatenate([cut.rows for cut in cuts])] = values


def collect(
    world: World,
    learners: dict[str, Learner],
    batches: dict[str, Batch],
    memory: Memory,
    generator: torch.Generator,
    clock: Clock,
    deal: Deal | None = None,
) -> Episodes | None:
    """Fill the batches and learn the scale of what was seen; the episodes that ended meanwhile, if any did."""
    episodes = fill(world, learners, batches, memory, generator, clock, deal)
    learn_observation_scale(learners, batches)
    return episodes


@torch.inference_mode()
def fill(
    world: World,
    actors: dict[str, Learner],
    batches: dict[str, Batch],
    memory: Memory,
    generator: torch.Generator,
    clock: Clock,
    deal: Deal | None = None,
) -> Episodes | None:
    """Fill the batches from the world's next steps; changes nothing of those who act.

    `deal` may put saved situations into lanes whose next episode has just begun.
    """
    rollout = Rollout(world, actors, batches, memory, generator, deal)
    for name, batch in batches.items():
        batch.hidden.copy_(memory.hidden[name])
        scale = actors[name].observations
        if scale is not None:
            batch.scale.copy_(torch.stack([scale.mean32, scale.std32]))
    for t in range(next(iter(batches.values())).steps):
        with clock("act"):
            actions = rollout.act(t)
        with clock("world"):
            world.step(actions)
        rollout.note(t)
    with clock("act"):
        rollout.look_ahead()
    for name, batch in batches.items():
        refuse_non_finite(name, batch, world)
    return Episodes.joined(rollout.episodes) if rollout.episodes else None


def refuse_non_finite(name: str, batch: Batch, world: World) -> None:
    """A NaN from the world must not reach the weights: name the array, step, lane and agent it came from."""
    looked_at = {"observation": batch.obs, "reward": batch.reward, "value": batch.value}
    for what, tensor in looked_at.items():
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
def learn_observation_scale(learners: dict[str, Learner], batches: dict[str, Batch]) -> None:
    """Take the batches into the running scales of observations, which the next rollout will be seen through."""
    for name, learner in learners.items():
        if learner.observations is not None:
            learner.observations.update_seen(batches[name])
