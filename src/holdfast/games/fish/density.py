"""The cost of crowded water over the run: a target per phase, ramps, a lock at the start, and the gate's limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from holdfast.config.options import GIVEN, option
from holdfast.curriculum.schedule import Schedule

PHASES = ("schedule.phases", GIVEN)


@dataclass(frozen=True)
class DensitySettings:
    """Density coefficient per phase; only matters with the classic reward."""

    expert: ClassVar = True

    targets: tuple[float, ...] = option(
        (),
        "Coefficient of the cost of crowding in each phase; empty: world.density_coef throughout.",
        low=0.0,
        high=100.0,
        only=PHASES,
        example="0,0.02,0.04",
    )
    ramp_phases: tuple[int, ...] = option(
        (),
        "Phases in which the coefficient rises linearly from the target before to their own.",
        low=1,
        only=PHASES,
        example="2,3",
    )
    plateaus: tuple[int, ...] = option(
        (),
        "Number of iterations that each ramp phase first stays at the target before; empty: none.",
        low=0,
        only=PHASES,
        unit="iterations",
        example="0,6,6",
    )
    lock_value: float = option(
        0.04,
        "Upper limit of the coefficient until density.lock_until.",
        low=0.0,
        high=100.0,
        only=PHASES,
    )
    lock_until: int = option(0, "Last iteration of that limit; 0: no limit.", low=0, only=PHASES, unit="iterations")


def density_coefficient(settings: DensitySettings, schedule: Schedule, iteration: int, phase_limit: int) -> float:
    """The coefficient at an iteration while the gate allows phases up to `phase_limit`."""
    phase = min(schedule.phase_at(iteration), phase_limit)
    value = _within_phase(settings, schedule, iteration, phase)
    return min(value, settings.lock_value) if iteration <= settings.lock_until else value


def _within_phase(settings: DensitySettings, schedule: Schedule, iteration: int, phase: int) -> float:
    target = settings.targets[phase - 1]
    if phase not in settings.ramp_phases:
        return target
    before = settings.targets[phase - 2] if phase > 1 else target
    first, last = schedule.span(phase)
    rising_from = first + (settings.plateaus[phase - 1] if settings.plateaus else 0)
    now = min(max(iteration, first), last)  # an iteration after a phase the gate holds counts as its last
    if now < rising_from:
        return before
    share = (now - rising_from) / (last - rising_from) if last > rising_from else 1.0
    return before + (target - before) * share


def density_problems(settings: DensitySettings, schedule: Schedule) -> list[str]:
    """Lists that do not have one entry per phase, and ramps of phases that are not there."""
    count = len(schedule.phases)
    problems = [
        f"density.{name} has {len(values)} entries, but schedule.phases has {count} phases"
        for name, values in (("targets", settings.targets), ("plateaus", settings.plateaus))
        if values and len(values) != count
    ]
    missing = [phase for phase in settings.ramp_phases if phase > count]
    if missing:
        problems.append(f"density.ramp_phases names phase {missing[0]}, but schedule.phases has {count} phases")
    return problems
