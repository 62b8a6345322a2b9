"""The curriculum schedule: phases of so many fish for so many iterations, written `FISH:ITERATIONS,…`, or for a share
of the run, written `FISH:SHARE%,…`.

Phases and iterations count from 1. What a phase means for the reward and the spawn is in `density` and `boost`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NamedTuple

from holdfast.config.options import option
from holdfast.curriculum.pairs import finite_number, number_text, parse_pairs, print_pairs, whole_number
from holdfast.kit.errors import ConfigError


@dataclass(frozen=True)
class ScheduleSettings:
    """How the school grows during the run."""

    phases: str = option(
        "",
        "Number of agents of each phase and how long the phase lasts, in iterations or per cent of the run: "
        "AGENTS:ITERATIONS,… or AGENTS:SHARE%,…; empty: one phase.",
        example="25:40%,32:30%,40:30%",
    )
    phase_reset: Literal["on_change", "always"] = option(
        "on_change",
        "When a new phase begins new episodes: only where its number of agents differs (on_change), or always.",
        expert=True,
    )


class Phase(NamedTuple):
    """One item of a schedule."""

    fish: int
    iterations: int


class Schedule(NamedTuple):
    """All phases of a run."""

    phases: tuple[Phase, ...]

    @property
    def iterations(self) -> int:
        return sum(phase.iterations for phase in self.phases)

    @property
    def most_fish(self) -> int:
        """How many fish the world must have room for, so that no phase change rebuilds it."""
        return max(phase.fish for phase in self.phases)

    def span(self, phase: int) -> tuple[int, int]:
        """First and last iteration of a phase."""
        last = sum(item.iterations for item in self.phases[:phase])
        return last - self.phases[phase - 1].iterations + 1, last

    def phase_at(self, iteration: int) -> int:
        """The phase an iteration belongs to; before the first and after the last iteration, the nearest phase."""
        ends = accumulate(phase.iterations for phase in self.phases)
        return next((number for number, end in enumerate(ends, 1) if iteration <= end), len(self.phases))

    def of_phase(self, phase: int) -> Phase:
        return self.phases[phase - 1]


def parse_schedule(text: str, where: str = "schedule.phases") -> Schedule:
    """The schedule a text describes; an empty text has no phases."""
    pairs = parse_pairs(text, where, whole_number, whole_number, repeats=True)
    return Schedule(tuple(Phase(fish, iterations) for fish, iterations in pairs))


def print_schedule(schedule: Schedule) -> str:
    return print_pairs(schedule.phases)


def of_shares(text: str, iterations: int, where: str = "schedule.phases") -> Schedule:
    """Phases written as shares of the run, `25:40%,40:60%`; a short run may leave a phase without an iteration."""
    pairs = parse_pairs(text, where, whole_number, _percent, repeats=True)
    if abs(sum(share for _, share in pairs) - 100) > 1e-6:
        total = number_text(sum(share for _, share in pairs))
        raise ConfigError([f"{where} = {text!r}: the shares add up to {total} %, not to 100"])
    ends = [round(iterations * end / 100) for end in accumulate((share for _, share in pairs), initial=0.0)]
    return Schedule(tuple(Phase(fish, ends[k + 1] - ends[k]) for k, (fish, _) in enumerate(pairs)))


def _percent(text: str) -> float:
    if not text.endswith("%"):
        raise ValueError(f"{text!r} is not a share such as 40%; write all phases as shares, or none")
    share = finite_number(text.removesuffix("%").strip())
    if not 0 < share <= 100:
        raise ValueError(f"{text!r} must be above 0% and at most 100%")
    return share


def schedule_for(settings: ScheduleSettings, fish: int, iterations: int) -> Schedule:
    """The schedule of a run of so many iterations; `fish` is the count of its only phase when none is written."""
    if "%" in settings.phases:
        return of_shares(settings.phases, iterations)
    schedule = parse_schedule(settings.phases) if settings.phases.strip() else Schedule((Phase(fish, iterations),))
    if schedule.iterations != iterations:
        sum_text = " + ".join(str(phase.iterations) for phase in schedule.phases)
        raise ConfigError(
            [
                f"schedule.phases = {settings.phases!r}: {sum_text} = {schedule.iterations} iterations, "
                f"but run.iterations is {iterations}; make them equal"
            ]
        )
    return schedule
