"""How fast fish start away from the centre: a speed and a floor per phase, capped where the density cost is high."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from holdfast.config.options import GIVEN, option
from holdfast.curriculum.pairs import finite_number, number_text, parse_pairs, whole_number
from holdfast.curriculum.schedule import Schedule
from holdfast.kit.errors import ConfigError

PHASES = ("schedule.phases", GIVEN)


@dataclass(frozen=True)
class BoostSettings:
    """The escape boost, in units of the fish's largest speed."""

    expert: ClassVar = True

    speed: float = option(
        0.75,
        "Initial speed of fish in phases that boost.phase_speeds does not name.",
        low=0.0,
        high=1.0,
        only=PHASES,
        unit="of the top speed 2",
    )
    phase_speeds: str = option(
        "",
        "Initial speed of fish by phase: PHASE:SPEED,…",
        only=PHASES,
        example="3:0.76,4:0.78",
    )
    phase_floors: str = option(
        "",
        "Lower limit of a phase's initial speed: PHASE:SPEED,…",
        only=PHASES,
        example="3:0.76",
    )
    density_caps: str = option(
        "",
        "Upper limit of the initial speed from a density coefficient on: DENSITY:SPEED,…",
        only=PHASES,
        example="0.05:0.8",
    )
    in_evaluations: Literal["fixed", "current"] = option(
        "fixed",
        "Initial speed in evaluations: that of evaluation.world (fixed), or of the current phase, whose scores "
        "do not compare over time.",
        only=PHASES,
    )


def boost_at(settings: BoostSettings, phase: int, density: float) -> float:
    """Speed or floor of the phase, whichever is more, then under every cap that the density has reached."""
    speeds = dict(parse_pairs(settings.phase_speeds, "boost.phase_speeds", whole_number, finite_number))
    floors = dict(parse_pairs(settings.phase_floors, "boost.phase_floors", whole_number, finite_number))
    caps = parse_pairs(settings.density_caps, "boost.density_caps", finite_number, finite_number)
    wanted = max(speeds.get(phase, settings.speed), floors.get(phase, 0.0))
    return min([wanted, *(cap for threshold, cap in caps if threshold <= density)])


def boost_problems(settings: BoostSettings, schedule: Schedule) -> list[str]:
    """Texts that cannot be read, speeds outside 0 to 1, and phases that the schedule does not have."""
    problems: list[str] = []
    for name in ("phase_speeds", "phase_floors", "density_caps"):
        where, text = f"boost.{name}", getattr(settings, name)
        read_key = finite_number if name == "density_caps" else whole_number
        try:
            pairs = parse_pairs(text, where, read_key, finite_number)
        except ConfigError as error:
            problems += error.problems
            continue
        wrong = [f"{number_text(key)}:{number_text(speed)}" for key, speed in pairs if not 0 <= speed <= 1]
        problems += [f"{where}: {item} must be between 0 and 1" for item in wrong]
        if name != "density_caps":
            count = len(schedule.phases)
            problems += [f"{where}: no phase {phase}, the schedule has {count}" for phase, _ in pairs if phase > count]
    return problems
