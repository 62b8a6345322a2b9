"""Every option of the gate, and how a threshold is found: the value for the deck type in use, else the global one.

Values of one deck type stand in a table of their own: `[gate.by_type.ne] success_p10 = 70`. None means that a criterion
is off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, NamedTuple

from holdfast.config.options import option

GATE = ("gate.enabled", (True,))
Controls = Literal["density", "schedule", "none"]
BY_TYPE = "by_type"


@dataclass(frozen=True)
class GateSettings:
    """When the curriculum may move on, and when it must go back."""

    expert: ClassVar = True

    enabled: bool = option(
        False,
        "Judge every evaluation by a gate: its levels hold the curriculum back until the criteria hold.",
        expert=False,
    )
    accept_infeasible: bool = option(
        False,
        "Train even if the check before the run finds that the gate cannot open.",
        only=GATE,
    )
    controls: Controls = option(
        "density",
        "What a level holds back. density: the cost of crowding; schedule: the phases; none: nothing, the gate "
        "is only watched.",
        only=GATE,
    )
    phase_allowance: tuple[int, ...] = option(
        (4, 5, 6),
        "Last phase that each level allows, from level 0 on.",
        low=1,
        only=GATE,
    )
    lock_iteration: int = option(
        0,
        "Last iteration at whose evaluations the gate does not advance.",
        low=0,
        only=GATE,
        unit="iterations",
    )
    required_successes: int = option(
        1,
        "Number of successful evaluations in a row that advance a level.",
        low=1,
        only=GATE,
    )
    freeze_iterations: int = option(
        4,
        "Number of iterations without progress after a failure or an advance.",
        low=0,
        only=GATE,
        unit="iterations",
    )
    success_freeze_iterations: int = option(
        1,
        "Number of iterations without progress after a success.",
        low=0,
        only=GATE,
        unit="iterations",
    )

    success_step_one: int | None = option(
        None,
        "Success needs at most this many deaths in the first step, all episodes together; none: not tested.",
        low=0,
        only=GATE,
        example="18",
    )
    success_step_one_ratio: float | None = option(
        None,
        "Success needs at most this fraction of agents dead in the first step; none: not tested.",
        low=0.0,
        high=1.0,
        only=GATE,
    )
    success_avoidable_step_one: int | None = option(
        None,
        "Success needs at most this many first-step deaths beyond those no action avoids; none: not tested.",
        low=0,
        only=GATE,
        example="4",
    )
    success_avoidable_step_one_ratio: float | None = option(
        None,
        "Success needs at most this fraction of agents dead in the first step beyond those no action saves; "
        "none: not tested.",
        low=0.0,
        high=1.0,
        only=GATE,
    )
    success_early_death: float | None = option(
        0.10,
        "Success needs a median fraction of agents dead before step 100 of at most this; none: not tested.",
        low=0.0,
        high=1.0,
        only=GATE,
    )
    success_early_death_window: int = option(
        2,
        "Number of evaluations in the median of early deaths.",
        low=1,
        only=GATE,
    )
    success_p10: float | None = option(
        120.0,
        "Success needs a median 10th percentile of the survival time of at least this; none: not tested.",
        low=0.0,
        only=GATE,
        unit="steps",
    )
    success_p10_window: int = option(4, "Number of evaluations in the median of the 10th percentile.", low=1, only=GATE)
    success_min_final: float | None = option(
        None,
        "Success needs at least this fraction of survivors in the worst episode; none: not tested.",
        low=0.0,
        high=1.0,
        only=GATE,
    )

    failure_p10: float | None = option(
        95.0,
        "An evaluation fails if the 10th percentile of the survival time is below this; none: not tested.",
        low=0.0,
        only=GATE,
        unit="steps",
    )
    failure_min_final: float | None = option(
        0.5,
        "An evaluation fails if fewer than this fraction survive in its worst episode; none: not tested.",
        low=0.0,
        high=1.0,
        only=GATE,
    )
    failure_tolerance: int = option(2, "Number of failures in a row that roll the gate back a level.", low=1, only=GATE)
    by_type: dict[str, Any] = option(
        {},
        "Thresholds, windows and tolerances of single deck types, one table per type with the names of this "
        "section: --gate.by_type.ne.success_p10 70.",
        only=GATE,
        example='{"ne": {"success_p10": 70}}',
    )
    median_fallback: Literal["none", "p10", "early_death", "both"] = option(
        "none",
        "Medians that may use evaluations of all deck types while those of the type are too few.",
        only=GATE,
    )

    @property
    def max_level(self) -> int:
        return len(self.phase_allowance) - 1


WINDOWED_KEYS = ("success_early_death", "success_p10")
SUCCESS_KEYS = (
    "success_step_one",
    "success_step_one_ratio",
    "success_avoidable_step_one",
    "success_avoidable_step_one_ratio",
    "success_early_death",
    "success_p10",
    "success_min_final",
)
FAILURE_KEYS = ("failure_p10", "failure_min_final")


PER_TYPE = (*SUCCESS_KEYS, *(f"{key}_window" for key in WINDOWED_KEYS), *FAILURE_KEYS, "failure_tolerance")


class Limit(NamedTuple):
    """A threshold and where it comes from."""

    value: float | None
    source: Literal["global", "type"]
    option: str  # the option that holds it, by its name inside the gate


def limit(settings: GateSettings, key: str, kind: str) -> Limit:
    """The value of an option for a deck type."""
    own = settings.by_type.get(kind, {})
    if key in own:
        return Limit(float(own[key]), "type", type_option(key, kind))
    return Limit(getattr(settings, key), "global", key)


def type_option(key: str, kind: str) -> str:
    """The name of an option's value for one type."""
    return f"{BY_TYPE}.{kind}.{key}"


def key_of(option_name: str) -> str:
    """`success_p10`, for one type or for all."""
    return option_name.rpartition(".")[2]


def values_by_type(settings: GateSettings, key: str) -> dict[str, float]:
    """An option's value for each type that has one of its own."""
    return {kind: float(own[key]) for kind, own in settings.by_type.items() if key in own}


def is_on(settings: GateSettings, key: str) -> bool:
    """Whether a criterion has a threshold for any type."""
    return getattr(settings, key) is not None or bool(values_by_type(settings, key))


def whole_limit(settings: GateSettings, key: str, kind: str) -> int:
    """A window or a count for a deck type."""
    value = limit(settings, key, kind).value
    assert value is not None  # windows and counts are never off
    return int(value)


def gate_values(settings: GateSettings) -> dict[str, Any]:
    """Every value by its name inside the gate, those of single types one by one."""
    found = {item.name: getattr(settings, item.name) for item in fields(settings) if item.name != BY_TYPE}
    own = settings.by_type.items()
    return found | {type_option(key, kind): value for kind, values in own for key, value in values.items()}


def changed_gate(settings: GateSettings, changes: Mapping[str, Any]) -> GateSettings:
    """The gate with values changed, by their names inside it; None takes a value of one type away."""
    by_type = {kind: dict(own) for kind, own in settings.by_type.items()}
    plain: dict[str, Any] = {}
    for name, value in changes.items():
        if not name.startswith(f"{BY_TYPE}."):
            plain[name] = value
            continue
        _, kind, key = name.split(".")
        if value is None:
            by_type.get(kind, {}).pop(key, None)
        else:
            by_type.setdefault(kind, {})[key] = int(value) if float(value).is_integer() else value
    return replace(settings, **plain, by_type={kind: own for kind, own in by_type.items() if own})
