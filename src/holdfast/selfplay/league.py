"""The pool of one role's earlier policies: who is kept, how the other role fares against each, and who is met next.

Prioritised fictitious self-play (Vinyals et al. 2019): a member is drawn by how often the learner loses to it, measured
in the duels themselves, with old results fading. A pool refers to frozen policies by hash; `vault.py` holds them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from holdfast.kit.rng import derive, uniform
from holdfast.selfplay.settings import LeagueConfig

HALF_LIFE = 200.0  # episodes after which a result counts half
HARDNESS = 2.0  # exponent of the chance to be met, for league.draw = hard

RESERVOIR_STREAM, DRAW_STREAM = 1, 2


@dataclass
class Member:
    """One earlier policy, and how the learner of the other role has done against it."""

    hash: str
    steps: int  # of its role when it was frozen
    wins: float = 0.0  # of the learner, fading
    duels: float = 0.0
    met: int = 0  # duels in all
    challenger: bool = False  # has a place of its own

    def add(self, wins: int, duels: int, half_life: float = HALF_LIFE) -> None:
        fade = 0.5 ** (duels / half_life)
        self.wins, self.duels, self.met = self.wins * fade + wins, self.duels * fade + duels, self.met + duels

    @property
    def rate(self) -> float:
        """The learner's chance against it, one half before the first duel."""
        return (self.wins + 1.0) / (self.duels + 2.0)


@dataclass
class Pool:
    """Earlier policies of one role."""

    key: int  # all its randomness comes from this and the counters below
    members: list[Member] = field(default_factory=list)
    offers: int = 0
    draws: int = 0

    def offer(self, name: str, steps: int, settings: LeagueConfig) -> Member | None:
        """Take a policy in, by the rule that is set; the member that had to leave, if one did."""
        self.offers += 1
        if self.member(name) is not None:
            return None
        newcomer = Member(name, steps)
        if settings.keep == "newest":
            return self._enter(newcomer, settings.size)
        earlier = self._like(newcomer)
        if len(earlier) < settings.size:
            return self._enter(newcomer, settings.size)
        # reservoir sampling (Vitter 1985): every policy offered so far is kept with the same chance
        place = int(uniform(np.uint64(self.key), RESERVOIR_STREAM, self.offers) * self.offers)
        if place >= settings.size:
            return newcomer
        leaver = self.members[earlier[place]]
        self.members[earlier[place]] = newcomer
        return leaver

    def admit(self, name: str, steps: int, settings: LeagueConfig) -> Member | None:
        """Take a challenger in, unless it is here; they have `size` places of their own, the oldest leaves."""
        if self.member(name) is not None:  # it gained nothing and is still the policy it began with
            return None
        return self._enter(Member(name, steps, challenger=True), settings.size)

    def _enter(self, newcomer: Member, size: int) -> Member | None:
        alike = self._like(newcomer)
        self.members.append(newcomer)
        return self.members.pop(alike[0]) if len(alike) >= size else None

    def _like(self, newcomer: Member) -> list[int]:
        return [place for place, member in enumerate(self.members) if member.challenger == newcomer.challenger]

    def weights(self, settings: LeagueConfig, draw: str | None = None) -> np.ndarray:
        """Chances of each member to be met, adding up to 1."""
        rates = np.array([member.rate for member in self.members])
        kind = draw or settings.draw
        if kind == "uniform":
            raw = np.ones(len(rates))
        else:
            raw = (1.0 - rates) ** HARDNESS if kind == "hard" else rates * (1.0 - rates)
        return raw / raw.sum()

    def draw(self, settings: LeagueConfig, draw: str | None = None) -> list[Member]:
        """Up to `active` different members, by their weights."""
        left = list(range(len(self.members)))
        weights = self.weights(settings, draw) if left else np.zeros(0)
        chosen: list[int] = []
        while left and len(chosen) < settings.active:
            self.draws += 1
            shares = np.cumsum(weights[left]) / weights[left].sum()
            point = uniform(np.uint64(self.key), DRAW_STREAM, self.draws)
            chosen.append(left.pop(min(int(np.searchsorted(shares, point, side="right")), len(left) - 1)))
        return [self.members[index] for index in chosen]

    def member(self, name: str) -> Member | None:
        return next((member for member in self.members if member.hash == name), None)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, table: dict[str, Any]) -> Pool:
        members = [Member(**member) for member in table["members"]]
        return cls(table["key"], members, table["offers"], table["draws"])


def make_pool(seed: int, number: int) -> Pool:
    return Pool(int(derive(np.uint64(seed), np.uint64(0x9001 + number))))
