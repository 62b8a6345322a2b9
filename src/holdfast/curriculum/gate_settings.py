"""Every option of the gate, and how a threshold is found: the value for the deck type in use, else the global one.

Values `_by_type` are written `type:value,…`; none or an empty text means that a criterion is off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from holdfast.config.options import option
from holdfast.curriculum.bytype import parse_by_type

Controls = Literal["density", "schedule", "none"]
BY_TYPE = "_by_type"


@dataclass(frozen=True)
class GateSettings:
    """When the curriculum may move on, and when it must go back."""

    enabled: bool = option(False, "judge every evaluation by this gate; its levels hold the curriculum back")
    accept_infeasible: bool = option(False, "train even when the check before the run finds that it cannot open")
    controls: Controls = option("density", "what a level holds back: density cost, the whole schedule, or nothing")
    phase_allowance: tuple[int, ...] = option((4, 5, 6), "phase limit of each level, from level 0", low=1)
    lock_iteration: int = option(0, "no advance at evaluations up to this iteration", low=0)
    required_successes: int = option(1, "consecutive successes to advance", low=1)
    freeze_iterations: int = option(4, "iterations without progress after a failure or an advance", low=0)
    success_freeze_iterations: int = option(1, "iterations without progress after a success", low=0)

    success_step_one: int | None = option(None, "most deaths in the first step", low=0)
    success_step_one_by_type: str = option("", "the same by type")
    success_step_one_ratio: float | None = option(None, "largest share dead in the first step", low=0.0, high=1.0)
    success_step_one_ratio_by_type: str = option("", "the same by type")
    success_avoidable_step_one: int | None = option(None, "most first-step deaths beyond the unavoidable ones", low=0)
    success_avoidable_step_one_by_type: str = option("", "the same by type")
    success_avoidable_step_one_ratio: float | None = option(None, "the same as a share of fish", low=0.0, high=1.0)
    success_avoidable_step_one_ratio_by_type: str = option("", "the same by type")
    success_early_death: float | None = option(0.10, "largest share dead before step 100", low=0.0, high=1.0)
    success_early_death_by_type: str = option("", "the same by type")
    success_early_death_window: int = option(2, "evaluations in the median of early deaths", low=1)
    success_early_death_window_by_type: str = option("", "the same by type")
    success_p10: float | None = option(120.0, "least median of death_p10", low=0.0)
    success_p10_by_type: str = option("", "the same by type")
    success_p10_window: int = option(4, "evaluations in the median of death_p10", low=1)
    success_p10_window_by_type: str = option("", "the same by type")
    success_min_final: float | None = option(None, "least survival of the worst episode", low=0.0, high=1.0)
    success_min_final_by_type: str = option("", "the same by type")

    failure_p10: float | None = option(95.0, "a failure if death_p10 is below", low=0.0)
    failure_p10_by_type: str = option("", "the same by type")
    failure_min_final: float | None = option(0.5, "a failure if the worst survival is below", low=0.0, high=1.0)
    failure_min_final_by_type: str = option("", "the same by type")
    failure_tolerance: int = option(2, "consecutive failures that lead to a rollback", low=1)
    failure_tolerance_by_type: str = option("", "the same by type")
    median_fallback: Literal["none", "p10", "early_death", "both"] = option(
        "none", "medians that may use the samples of all types while those of the type are too few"
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


class Limit(NamedTuple):
    """A threshold and where it comes from."""

    value: float | None
    source: Literal["global", "type"]
    option: str  # the option that holds it


def limit(settings: GateSettings, key: str, kind: str) -> Limit:
    """The value of an option for a deck type."""
    by_type = parse_by_type(getattr(settings, key + BY_TYPE))
    if kind in by_type:
        return Limit(by_type[kind], "type", key + BY_TYPE)
    return Limit(getattr(settings, key), "global", key)


def is_on(settings: GateSettings, key: str) -> bool:
    """Whether a criterion has a threshold for any type."""
    return getattr(settings, key) is not None or bool(getattr(settings, key + BY_TYPE).strip())


def whole_limit(settings: GateSettings, key: str, kind: str) -> int:
    """A window or a count for a deck type."""
    value = limit(settings, key, kind).value
    assert value is not None  # windows and counts are never off
    return int(value)
