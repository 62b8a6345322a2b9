"""The contract between a world and everything that trains or watches it.

A world is N lanes, each one episode at a time, as arrays allocated once and filled in place. `World` is the contract;
`ArrayWorld` gives it to any world whose whole state is arrays with the lane as first axis. `docs/new_world.md` walks
through the smallest one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from holdfast.kit.errors import ConfigError, SituationError, nearest
from holdfast.worlds.bounds import ANYTHING, KEYS, LONGEST, Bounds, problems_of
from holdfast.worlds.game import Game
from holdfast.worlds.lanes import Lanes, make_lanes, random_actions
from holdfast.worlds.spaces import Continuous, Discrete, MultiDiscrete
from holdfast.worlds.spec import Episodes, LevelParameter, Plan, Role, RoleBuffers, Situation, WorldSpec, make_buffers

__all__ = ["ArrayWorld", "Episodes", "LevelParameter", "Plan", "Role", "RoleBuffers", "Situation", "World", "WorldSpec"]

Act = Callable[["World"], dict[str, np.ndarray]]


class World(ABC):
    """N lanes of one world. Construct with (settings, lanes, seed, threads); call `reset()` once, then `step`.

    After `step`, a lane whose episode ended has `terminated` or `truncated` set, never both; its `obs` already hold
    the next episode. An agent's own end is `alive` turning false, seen in `final_alive` where the lane ended too.
    """

    Settings: ClassVar[type]
    game: ClassVar[Game] = Game()
    spec: WorldSpec

    def __init__(self, spec: WorldSpec, lanes: int, seed: int, threads: int) -> None:
        self.spec = spec
        self.lanes = lanes
        self.threads = threads
        self.seed = seed
        self.clock: Lanes = make_lanes(lanes, seed, spec.columns, [parameter.default for parameter in spec.level])
        self.roles: dict[str, RoleBuffers] = {role.name: make_buffers(role, lanes) for role in spec.roles}

    @property
    def terminated(self) -> np.ndarray:
        return self.clock.terminated

    @property
    def truncated(self) -> np.ndarray:
        return self.clock.truncated

    @property
    def lost(self) -> np.ndarray | None:
        """Lanes whose last step never finished and cut the episode, [N]; None where that cannot happen."""
        return None

    @classmethod
    def spec_for(cls, settings: Any) -> WorldSpec | None:
        """The spec of a world with these settings where it is known without making one, which may compile kernels."""
        return None

    def reset(self, lanes: np.ndarray | None = None, plan: Plan | None = None, keys: np.ndarray | None = None) -> None:
        """Start new episodes in these lanes (all by default), under a plan if one is given.

        `keys` fixes the randomness of just these episodes, as an evaluation on fixed seeds needs.
        """
        chosen = self.chosen(lanes)
        if plan is not None:
            self.plan(chosen, plan)
        if keys is not None:
            self.clock.given_key[chosen] = keys
        self._begin(chosen)

    def plan(self, lanes: np.ndarray, plan: Plan) -> None:
        """Set what the next resets of these lanes use, without ending their episodes."""
        known = {parameter.name: (index, parameter) for index, parameter in enumerate(self.spec.level)}
        problems = []
        for name, value in plan.level.items():
            if name not in known:
                problems.append(f"level: {self.spec.name} has no parameter {name!r}{nearest(name, list(known))}")
            elif not known[name][1].low <= value <= known[name][1].high:
                low, high = known[name][1].low, known[name][1].high
                problems.append(f"level: {name} = {value} is outside {low} to {high}")
        if problems:
            raise ConfigError(problems)
        for name, value in plan.level.items():
            self.clock.level[lanes, known[name][0]] = value

    def chosen(self, lanes: np.ndarray | None) -> np.ndarray:
        return np.arange(self.lanes) if lanes is None else np.asarray(lanes, dtype=np.int64)

    def finished(self) -> Episodes:
        """The episodes that ended in the last step."""
        ended = np.flatnonzero(self.clock.terminated | self.clock.truncated)
        columns = {
            "lane": ended,
            "key": self.clock.ended_key[ended],
            "terminated": self.clock.terminated[ended],
        }
        numbers = self.clock.ended[ended]
        for index, name in enumerate(self.spec.columns):
            columns[name] = numbers[:, index]
        return Episodes(columns)

    def yardsticks(self) -> dict[str, Act]:
        """Policies that need no learning, to judge a learned one by."""
        return {"random": random_policy}

    @abstractmethod
    def _begin(self, lanes: np.ndarray) -> None:
        """Start the next episode in these lanes and fill `obs` and `alive`."""

    @abstractmethod
    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        """Advance every lane by one step; actions per role are [N, A] or [N, A, K] as its space says."""

    @abstractmethod
    def save(self, lanes: np.ndarray) -> Situation:
        """Copy these lanes."""

    @abstractmethod
    def load(self, lanes: np.ndarray, situation: Situation, exact: bool = False) -> None:
        """Put saved lanes into these lanes, one each or one for all.

        A lane keeps its own key, so two lanes with one situation part at their next reset; `exact` restores that too.
        """

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes, for a checkpoint."""

    @abstractmethod
    def restore(self, arrays: Mapping[str, np.ndarray]) -> list[str]:
        """Take back what `arrays` gave; returns notes on what could not be restored exactly, for the user."""

    @abstractmethod
    def draw(self, lane: int) -> np.ndarray:
        """A picture of one lane, [height, width, 3] uint8."""

    # --- decks of situations (docs/decks.md); a world that is dealt none needs nothing of this ------------------------

    AGREE: ClassVar[tuple[str, ...]] = ()  # settings in which a deck's world must equal the one it is dealt in

    def begin_from(self, lanes: np.ndarray, situation: Situation) -> None:
        """Let lanes that have just begun an episode begin it from saved lanes instead, one each, under their own level.

        What the episode before them left (its flags and numbers) stays to be read.
        """
        self.load(lanes, situation)

    def begin_moving(self, lanes: np.ndarray, velocities: np.ndarray, pre_roll: bool) -> None:
        """Let lanes that have just begun an episode begin it with an opponent of these velocities, [K, 2]."""
        raise SituationError(f"world {self.spec.name} has no opponent whose velocity a light deck could set")

    def scaled(self, situation: Situation, factor: float) -> Situation:
        """The same situations with an opponent that moves this much faster."""
        raise SituationError(f"world {self.spec.name} has no opponent whose speed scale_speed could change")

    def opponent_velocities(self, situation: Situation) -> np.ndarray | None:
        """[K, 2] for the types and histograms of a deck; None where there is no such thing."""
        return None

    def situation_facts(self, situation: Situation) -> dict[str, Any]:
        """What a deck's manifest says of these situations, computed from them."""
        return {}

    def of_episode(self, situation: Situation) -> Situation:
        """The part of saved lanes that a deck keeps."""
        return situation

    def check_situation(self, situation: Situation) -> None:
        """SituationError unless `begin_from` can use it in any lane."""
        self._check_world(situation)

    def _check_world(self, situation: Situation) -> None:
        if (situation.world, situation.version) != (self.spec.name, self.spec.version):
            raise SituationError(
                f"a situation of world {situation.world} version {situation.version} "
                f"cannot be loaded into {self.spec.name} version {self.spec.version}"
            )

    def identity(self) -> dict[str, Any]:
        """What makes it another world under equal settings, such as the ROM it plays; as JSON."""
        return {}

    def close(self) -> None:  # noqa: B027 - most worlds hold nothing
        """Release what a foreign environment holds; a world of arrays holds nothing."""


class ArrayWorld(World):
    """A world whose whole state is arrays with the lane as first axis: saving a lane is copying a row."""

    # What belongs to the lane, not to the episode in it.
    OWN: ClassVar[tuple[str, ...]] = ("lane_key", "episode_index", "given_key", "level")
    LEFT: ClassVar[tuple[str, ...]] = ("terminated", "truncated", "ended_key", "ended")  # by the episode before

    def __init__(self, spec: WorldSpec, lanes: int, seed: int, threads: int, state: tuple[np.ndarray, ...]) -> None:
        super().__init__(spec, lanes, seed, threads)
        self.state: Any = state

    def _named(self) -> Iterator[tuple[str, np.ndarray]]:
        yield from self.clock._asdict().items()
        yield from self.state._asdict().items()
        for name, buffers in self.roles.items():
            yield f"{name}.obs", buffers.obs
            yield f"{name}.alive", buffers.alive

    def arrays(self) -> dict[str, np.ndarray]:
        return dict(self._named())

    def restore(self, arrays: Mapping[str, np.ndarray]) -> list[str]:
        mine = dict(self._named())
        self._check(mine, arrays, rows=None)
        self._refuse_outside(arrays)
        for name, array in mine.items():
            array[...] = arrays[name]
        return []

    def save(self, lanes: np.ndarray) -> Situation:
        rows = {name: array[np.asarray(lanes)] for name, array in self._named()}
        return Situation(self.spec.name, self.spec.version, rows, checked=True)

    def load(self, lanes: np.ndarray, situation: Situation, exact: bool = False) -> None:
        lanes = self.chosen(lanes)
        self._check_world(situation)
        if len(situation) not in (1, len(lanes)):
            raise SituationError(f"{len(situation)} saved lanes for {len(lanes)} lanes: give one, or one for each")
        mine = dict(self._named())
        self._check(mine, situation.rows, rows=len(situation))
        if not situation.checked:
            self._refuse_outside(situation.rows)
        for name, array in mine.items():
            if exact or name not in self.OWN:
                array[lanes] = situation.rows[name]

    def begin_from(self, lanes: np.ndarray, situation: Situation) -> None:
        lanes = self.chosen(lanes)
        if len(situation) != len(lanes):
            raise SituationError(f"{len(situation)} saved lanes for {len(lanes)} lanes: give one for each")
        self.load(lanes, self._completed(situation, lanes))

    def of_episode(self, situation: Situation) -> Situation:
        """Without what is the lane's own or was left by the episode before."""
        rows = {name: array for name, array in situation.rows.items() if name not in (*self.OWN, *self.LEFT)}
        return replace(situation, rows=rows)

    def check_situation(self, situation: Situation) -> None:
        self._check_world(situation)
        whole = self._completed(situation, np.zeros(len(situation), np.int64))
        self._check(dict(self._named()), whole.rows, rows=len(situation))
        self._refuse_outside(situation.rows)

    def _completed(self, situation: Situation, lanes: np.ndarray) -> Situation:
        """With rows of these lanes for what `of_episode` leaves out."""
        kept = {name: array[lanes] for name, array in self._named() if name in (*self.OWN, *self.LEFT)}
        return replace(situation, rows={**situation.rows, **kept})

    def bounds(self) -> dict[str, Bounds]:
        """Lowest and highest value of the world's own arrays by name, both included (`worlds.bounds`).

        Every array of integers needs an entry, and every float that kernels turn into an index or a count: saved lanes
        may come from a file. `holdfast doctor --world` proves that what lies outside is refused.
        """
        return {}

    def problems_of(self, rows: Mapping[str, np.ndarray]) -> list[str]:
        """What no world of this kind can have saved. A world adds what its bounds cannot say, such as that one number
        of a lane is never above another."""
        return problems_of(rows, self.all_bounds())

    def all_bounds(self) -> dict[str, Bounds]:
        """The world's own bounds, and those of what all worlds share."""
        low = np.array([parameter.low for parameter in self.spec.level])
        high = np.array([parameter.high for parameter in self.spec.level])
        shared: dict[str, Bounds] = {
            **dict.fromkeys(("lane_key", "episode_index", "episode_key", "given_key", "ended_key"), KEYS),
            "t": (0, LONGEST),
            "level": (low, high),
            "ended": ANYTHING,
        }
        for role in self.spec.roles:
            whole = role.observations.dtype.kind in "iu"
            kinds = np.iinfo(role.observations.dtype) if whole else None
            shared[f"{role.name}.obs"] = ANYTHING if kinds is None else (int(kinds.min), int(kinds.max))
        return {**shared, **self.bounds()}

    def _refuse_outside(self, rows: Mapping[str, np.ndarray]) -> None:
        problems = self.problems_of(rows)
        if problems:
            raise SituationError(f"saved lanes of {self.spec.name} cannot be its own: {'; '.join(problems)}")

    def _check(self, mine: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray], rows: int | None) -> None:
        problems = [f"{name} is missing" for name in mine if name not in other]
        problems += [f"{name} is unknown" for name in other if name not in mine]
        for name in mine.keys() & other.keys():
            wanted = mine[name].shape if rows is None else (rows, *mine[name].shape[1:])
            if other[name].shape != wanted or other[name].dtype != mine[name].dtype:
                problems.append(
                    f"{name} is {other[name].dtype}{list(other[name].shape)}, not {mine[name].dtype}{list(wanted)}"
                )
        if problems:
            raise SituationError(f"saved lanes do not fit {self.spec.name}: " + "; ".join(sorted(problems)))


def random_policy(world: World) -> dict[str, np.ndarray]:
    """Uniform actions, a function of episode key and time: the same for any batch size."""
    actions = {}
    for number, role in enumerate(world.spec.roles):
        count = role.agents * (1 if isinstance(role.actions, Discrete) else len(role.actions))
        unit = random_actions(world.clock, count, number)  # [N, count] in [0, 1)
        shape = (world.lanes, role.agents)
        match role.actions:
            case Discrete(n):
                actions[role.name] = (unit * n).astype(np.int64).reshape(shape)
            case MultiDiscrete(counts):
                scaled = unit.reshape(*shape, len(counts)) * np.asarray(counts)
                actions[role.name] = scaled.astype(np.int64)
            case Continuous(low, high):
                low_, high_ = np.asarray(low), np.asarray(high)
                spread = unit.reshape(*shape, len(low)) * (high_ - low_) + low_
                actions[role.name] = spread.astype(np.float32)
    return actions
