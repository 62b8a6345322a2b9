"""What travels between a world and the rest: its spec, its buffers, plans, saved lanes and tables of ended episodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from holdfast.kit.aligned import aligned
from holdfast.worlds.spaces import Actions, Continuous, Grid, Observations


class Role(NamedTuple):
    """One side of a world: how many agents play it in each lane, what they see and what they may do."""

    name: str
    agents: int
    observations: Observations
    actions: Actions

    def discretized(self, counts: tuple[int, ...]) -> Role:
        """The role as a policy that chooses one point of a grid plays it (`policy.grid`: values per number)."""
        if not counts or not isinstance(self.actions, Continuous):
            return self
        return self._replace(actions=Grid(self.actions.low, self.actions.high, counts))


class LevelParameter(NamedTuple):
    """A number that a plan may set for the next episodes of a lane."""

    name: str
    default: float
    low: float
    high: float
    meaning: str


class WorldSpec(NamedTuple):
    """What a learner needs to know of a world, and nothing of how it works."""

    name: str
    version: int  # raised when saved lanes of an older version can no longer be loaded
    roles: tuple[Role, ...]
    columns: tuple[str, ...]  # numbers per ended episode, `length` and one return per role among them
    score: str  # the column an evaluation is judged by; more is better
    level: tuple[LevelParameter, ...] = ()


class RoleBuffers(NamedTuple):
    """The arrays of one role, N lanes by A agents; also a valid argument of kernels."""

    obs: np.ndarray  # [N, A, ...] what the agents see now (after an end: the next episode's first sight)
    reward: np.ndarray  # [N, A] f32 of the last step
    alive: np.ndarray  # [N, A] bool: will act in the next step
    forced: np.ndarray  # [N, A] bool: the last action was not the agent's own choice, its policy learns nothing from it
    final_obs: np.ndarray  # [N, A, ...] last sight of the episode that ended in the last step
    final_alive: np.ndarray  # [N, A] bool: still alive when that episode ended


class Plan(NamedTuple):
    """What the next resets of some lanes use."""

    level: Mapping[str, float]


@dataclass(frozen=True)
class Situation:
    """Saved lanes: one row per lane of every array, fit to start episodes from in any lane of an equal world."""

    world: str
    version: int
    rows: dict[str, np.ndarray]
    live: tuple[Any, ...] = ()  # copies of foreign environments; never written to disk
    checked: bool = False  # its numbers are within the world's bounds: a world of this process saved it

    def __len__(self) -> int:
        return len(next(iter(self.rows.values())))

    def take(self, chosen: np.ndarray) -> Situation:
        """These of the saved lanes, in this order; one may come several times."""
        rows = {name: array[chosen] for name, array in self.rows.items()}
        live = tuple(self.live[index] for index in chosen) if self.live else ()
        return Situation(self.world, self.version, rows, live, self.checked)

    @staticmethod
    def joined(parts: list[Situation]) -> Situation:
        first = parts[0]
        rows = {name: np.concatenate([part.rows[name] for part in parts]) for name in first.rows}
        live = tuple(one for part in parts for one in part.live)
        return Situation(first.world, first.version, rows, live, all(part.checked for part in parts))


@dataclass(frozen=True)
class Episodes:
    """A table of ended episodes, one array per column."""

    columns: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.columns["lane"])

    def __getitem__(self, column: str) -> np.ndarray:
        return self.columns[column]

    @staticmethod
    def joined(tables: list[Episodes]) -> Episodes:
        names = tables[0].columns
        return Episodes({name: np.concatenate([table[name] for table in tables]) for name in names})

    def take(self, rows: np.ndarray) -> Episodes:
        return Episodes({name: column[rows] for name, column in self.columns.items()})


def make_buffers(role: Role, lanes: int) -> RoleBuffers:
    """Empty buffers of a role."""
    pair = (lanes, role.agents)
    seen = (*pair, *role.observations.shape)
    return RoleBuffers(
        obs=aligned(seen, role.observations.dtype),
        reward=aligned(pair, np.float32),
        alive=aligned(pair, np.bool_),
        forced=aligned(pair, np.bool_),
        final_obs=aligned(seen, role.observations.dtype),
        final_alive=aligned(pair, np.bool_),
    )
