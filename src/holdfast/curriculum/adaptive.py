"""Adaptive values: more distance pay, more entropy or a larger learning rate while too few lanes make new ground.

A channel moves its value towards its upper bound while the average share of lanes with new ground is low, and towards
its lower bound while it is high. Everything is a function of recorded shares, so a run's decisions can be replayed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from holdfast.config.options import option
from holdfast.kit.errors import ConfigError

SHORTEST_WINDOW = 5
RATES = {"distance": 0.05, "entropy": 0.10, "lr": 0.05}  # share of the way to the bound per iteration
CHANNELS = tuple(RATES)
FEW, MANY = 0.05, 0.30  # below and above this average share of lanes with new ground, values move


@dataclass(frozen=True)
class AdaptiveSettings:
    """Values that grow while few lanes make new ground and shrink while many do; on where both bounds are set."""

    expert: ClassVar = True
    tables: ClassVar = CHANNELS

    window: int = option(
        50,
        "Number of iterations whose fraction of lanes with progress is averaged.",
        low=10,
        unit="iterations",
    )
    distance_min: float | None = option(
        None,
        "Lower bound of the reward per pixel of new ground; it is approached while many lanes progress. none: it "
        "does not adapt.",
        low=0.0,
        example="0.01",
    )
    distance_max: float | None = option(
        None,
        "Upper bound of the reward per pixel of new ground; it is approached while few lanes progress.",
        low=0.0,
        example="0.1",
    )
    entropy_min: float | None = option(
        None,
        "Lower bound of the entropy bonus; it is approached while many lanes progress. none: it does not adapt.",
        low=0.0,
        example="0.001",
    )
    entropy_max: float | None = option(
        None,
        "Upper bound of the entropy bonus; it is approached while few lanes progress.",
        low=0.0,
        example="0.05",
    )
    lr_min: float | None = option(
        None,
        "Lower bound of a factor on the learning rate; it is approached while many lanes progress. none: it does "
        "not adapt.",
        low=0.0,
        example="0.5",
    )
    lr_max: float | None = option(
        None,
        "Upper bound of a factor on the learning rate; it is approached while few lanes progress.",
        low=0.0,
        example="2",
    )

    def channel(self, name: str, start: float) -> Channel:
        return Channel(name, start, getattr(self, f"{name}_min"), getattr(self, f"{name}_max"), rate=RATES[name])


@dataclass(frozen=True)
class Channel:
    """One value that adapts. It is on when both bounds are set."""

    name: str
    start: float
    low_bound: float | None = None
    high_bound: float | None = None
    few: float = FEW  # below this average the value grows
    many: float = MANY  # above it, the value shrinks
    rate: float = 0.05  # share of the way to the bound per log

    @property
    def on(self) -> bool:
        return self.low_bound is not None and self.high_bound is not None

    def problems(self) -> list[str]:
        """What is wrong with the bounds, if anything."""
        if (self.low_bound is None) != (self.high_bound is None):
            return [f"adaptive {self.name}: one bound alone has no effect; set both, or none"]
        if self.low_bound is None or self.high_bound is None:
            return []
        found = []
        if self.high_bound <= self.low_bound:
            found.append(f"adaptive {self.name}: the upper bound {self.high_bound} is not above {self.low_bound}")
        if not 0.0 <= self.few < self.many <= 1.0:
            found.append(f"adaptive {self.name}: 0 <= {self.few} < {self.many} <= 1 must hold")
        return found

    def moved(self, value: float, average: float) -> float:
        """The value after a log with this average share of lanes on new ground."""
        if self.low_bound is None or self.high_bound is None:
            return value
        if average < self.few:
            value += (self.high_bound - value) * self.rate
        elif average > self.many:
            value += (self.low_bound - value) * self.rate
        return min(max(value, self.low_bound), self.high_bound)


@dataclass(frozen=True)
class Adaptive:
    """All channels at one moment: part of a run's state."""

    channels: tuple[Channel, ...]
    values: tuple[float, ...]
    shares: tuple[float, ...] = ()  # of the last logs, oldest first
    ema: float | None = None  # logged beside the average; decides nothing
    window: int = 50

    @property
    def average(self) -> float:
        return sum(self.shares) / len(self.shares) if self.shares else 0.0

    def value(self, name: str) -> float:
        return self.values[[channel.name for channel in self.channels].index(name)]


@dataclass(frozen=True)
class Change:
    """A value that moved, with its evidence."""

    name: str
    before: float
    after: float
    average: float


def make_adaptive(channels: Iterable[Channel], window: int = 50) -> Adaptive:
    chosen = tuple(channels)
    problems = [problem for channel in chosen for problem in channel.problems()]
    if problems:
        raise ConfigError(problems)
    starts = tuple(channel.moved(channel.start, (channel.few + channel.many) / 2) for channel in chosen)
    return Adaptive(chosen, starts, window=window)


def positive_share(lanes_with_ground: int, lanes: int, distance_px: float) -> tuple[float, bool]:
    """Share of lanes with new ground since the last log; True when it had to be guessed from the distance."""
    if lanes_with_ground == 0 and distance_px > 0.0:
        return min(1.0, distance_px / lanes), True
    return lanes_with_ground / lanes, False


def adapted(state: Adaptive, share: float) -> tuple[Adaptive, list[Change]]:
    """The state after one log, and what changed in it."""
    kept = (*state.shares, share)[-max(SHORTEST_WINDOW, state.window) :]
    weight = 2.0 / (state.window + 1)
    ema = share if state.ema is None else state.ema + weight * (share - state.ema)
    average = sum(kept) / len(kept)
    values = tuple(channel.moved(value, average) for channel, value in zip(state.channels, state.values, strict=True))
    changes = [
        Change(channel.name, before, after, average)
        for channel, before, after in zip(state.channels, state.values, values, strict=True)
        if before != after
    ]
    return replace(state, values=values, shares=kept, ema=ema), changes
