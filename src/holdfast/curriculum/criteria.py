"""The tests inside a gate decision. All are carried out at every evaluation, each with value, threshold and margin.

A margin of 0 or more is good for both roles: a success limit is kept, or a failure limit is not crossed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal, NamedTuple

from holdfast.curriculum.gate_settings import GateSettings, limit, whole_limit

Role = Literal["success", "failure"]
Scope = Literal["sample", "median"]
Verdict = Literal["pass", "fail", "no_data", "off"]


@dataclass(frozen=True)
class Measured:
    """What one evaluation measured, as far as the gate asks; `metrics` carries the rest into the record."""

    iteration: int
    type: str  # of the deck block in use; empty without a deck
    death_p10: float
    early_death: float  # share dead before step 100
    min_final: float  # survival of the worst episode
    step_one: int  # deaths in the first step
    agents: int  # episodes x fish
    floor: int | None = None  # first-step deaths that no action avoids
    eval_id: str = ""
    deck_label: str = ""
    time: str = ""
    metrics: Mapping[str, Any] = field(default_factory=dict)

    @property
    def step_one_ratio(self) -> float:
        return self.step_one / self.agents

    @property
    def avoidable(self) -> int | None:
        return None if self.floor is None else self.step_one - self.floor

    @property
    def avoidable_ratio(self) -> float | None:
        return None if self.avoidable is None else self.avoidable / self.agents


class Sample(NamedTuple):
    """What the gate remembers of an evaluation for its medians."""

    type: str
    death_p10: float
    early_death: float


class Criterion(NamedTuple):
    """One test inside a gate decision, with everything needed to argue about it later."""

    name: str
    role: Role
    scope: Scope
    value: float | None
    op: Literal["<=", ">=", "<"]
    threshold: float | None
    margin: float | None
    verdict: Verdict
    window: int
    samples: int  # how many of the window's evaluations there are
    source: Literal["global", "type"]  # whose threshold
    history: Literal["all", "type"]  # whose samples
    option: str  # the option that holds the threshold

    @property
    def key(self) -> str:
        return f"{self.role}.{self.name}"


class _SampleTest(NamedTuple):
    """A test of one number of the evaluation itself."""

    role: Role
    name: str
    op: Literal["<=", ">=", "<"]
    read: Callable[[Measured], float | None]


_SAMPLE_TESTS = (
    _SampleTest("failure", "p10", "<", lambda measured: measured.death_p10),
    _SampleTest("failure", "min_final", "<", lambda measured: measured.min_final),
    _SampleTest("success", "step_one", "<=", lambda measured: measured.step_one),
    _SampleTest("success", "step_one_ratio", "<=", lambda measured: measured.step_one_ratio),
    _SampleTest("success", "avoidable_step_one", "<=", lambda measured: measured.avoidable),
    _SampleTest("success", "avoidable_step_one_ratio", "<=", lambda measured: measured.avoidable_ratio),
    _SampleTest("success", "early_death", "<=", lambda measured: measured.early_death),
    _SampleTest("success", "min_final", ">=", lambda measured: measured.min_final),
)


def evaluate_criteria(settings: GateSettings, history: tuple[Sample, ...], measured: Measured) -> tuple[Criterion, ...]:
    """All criteria; `history` ends with the sample of this evaluation."""
    return (
        *(_test_sample(settings, test, measured) for test in _SAMPLE_TESTS),
        _test_median(settings, history, measured.type, "early_death", "<="),
        _test_median(settings, history, measured.type, "p10", ">="),
    )


def _test_sample(settings: GateSettings, test: _SampleTest, measured: Measured) -> Criterion:
    found = limit(settings, f"{test.role}_{test.name}", measured.type)
    value = test.read(measured)
    margin, verdict = judge(value, test.op, found.value)
    samples = 0 if value is None else 1
    return Criterion(
        test.name, test.role, "sample", value, test.op, found.value, margin, verdict, 1, samples, found.source, "type",
        found.option,
    )  # fmt: skip


def _test_median(
    settings: GateSettings, history: tuple[Sample, ...], kind: str, name: str, op: Literal["<=", ">="]
) -> Criterion:
    """The median of the type's last `window` samples; too few of them are no data, never a pass."""
    found = limit(settings, f"success_{name}", kind)
    window = whole_limit(settings, f"success_{name}_window", kind)
    last = [sample for sample in history if sample.type == kind][-window:]
    whose: Literal["all", "type"] = "type"
    if len(last) < window and settings.median_fallback in (name, "both"):
        last, whose = list(history[-window:]), "all"
    values = [sample.death_p10 if name == "p10" else sample.early_death for sample in last]
    value = float(median(values)) if len(values) == window else None
    margin, verdict = judge(value, op, found.value)
    return Criterion(
        f"{name}_median", "success", "median", value, op, found.value, margin, verdict, window, len(values),
        found.source, whose, found.option,
    )  # fmt: skip


def judge(value: float | None, op: str, threshold: float | None) -> tuple[float | None, Verdict]:
    """Margin and verdict of a value against a threshold; for `<` passing means that it is not below."""
    if threshold is None:
        return None, "off"
    if value is None:
        return None, "no_data"
    margin = threshold - value if op == "<=" else value - threshold
    return margin, "pass" if margin >= 0 else "fail"
