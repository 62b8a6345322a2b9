"""Adaptive values: more distance pay, more entropy or a larger learning rate while too few lanes make new ground.

A channel moves its value towards its upper bound while the average share of lanes with new ground is low, and towards
its lower bound while it is high. Everything is a function of recorded shares, so a run's decisions can be replayed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from holdfast.config.options import option
from holdfast.kit.errors import ConfigError

SHORTEST_WINDOW = 5
CHANNELS = ("distance", "entropy", "lr")


@dataclass(frozen=True)
class AdaptiveSettings:
    """Values that grow while few lanes make new ground and shrink while many do; on where both bounds are set."""

    window: int = option(50, "iterations whose share of lanes with new ground is averaged", low=10)
    distance_min: float | None = option(None, "least pay for a pixel; none: it does not adapt", low=0.0)
    distance_max: float | None = option(None, "most pay for a pixel", low=0.0)
    distance_low: float = option(0.05, "it grows below this average share", low=0.0, high=1.0)
    distance_high: float = option(0.30, "it shrinks above this one", low=0.0, high=1.0)
    distance_rate: float = option(0.05, "share of the way to the bound per iteration", low=0.0, high=1.0)
    entropy_min: float | None = option(None, "least reward for undecided policies; none: it does not adapt", low=0.0)
    entropy_max: float | None = option(None, "most reward for undecided policies", low=0.0)
    entropy_low: float = option(0.05, "it grows below this average share", low=0.0, high=1.0)
    entropy_high: float = option(0.30, "it shrinks above this one", low=0.0, high=1.0)
    entropy_rate: float = option(0.10, "share of the way to the bound per iteration", low=0.0, high=1.0)
    lr_min: float | None = option(None, "least factor on the learning rate; none: it does not adapt", low=0.0)
    lr_max: float | None = option(None, "most factor on the learning rate", low=0.0)
    lr_low: float = option(0.05, "it grows below this average share", low=0.0, high=1.0)
    lr_high: float = option(0.30, "it shrinks above this one", low=0.0, high=1.0)
    lr_rate: float = option(0.05, "share of the way to the bound per iteration", low=0.0, high=1.0)

    def channel(self, name: str, start: float) -> Channel:
        numbers = {part: getattr(self, f"{name}_{part}") for part in ("min", "max", "low", "high", "rate")}
        return Channel(name, start, numbers["min"], numbers["max"], numbers["low"], numbers["high"], numbers["rate"])


@dataclass(frozen=True)
class Channel:
    """One value that adapts. It is on when both bounds are set."""

    name: str
    start: float
    low_bound: float | None = None
    high_bound: float | None = None
    few: float = 0.05  # below this average the value grows
    many: float = 0.30  # above it, the value shrinks
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
