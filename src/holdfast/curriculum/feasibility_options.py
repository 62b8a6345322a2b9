"""Findings about thresholds that can decide nothing, because another one is always stricter (F2, F3, F4)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from holdfast.curriculum.dry_run import EARLY_SHARE, EvaluationPlan, Moment
from holdfast.curriculum.findings import Finding, Repair, gate_repair
from holdfast.curriculum.gate_settings import GateSettings, Limit, limit
from holdfast.curriculum.pairs import number_text

NEAR_100 = 10.0  # a death_p10 this near to 100 says nearly the same as the share dead before step 100


def option_findings(gate: GateSettings, plan: EvaluationPlan, moments: Sequence[Moment]) -> list[Finding]:
    types = list(dict.fromkeys(moment.type for moment in moments))
    found: list[Finding] = []
    for kind in types:
        found += count_or_ratio(gate, plan, types, kind, "success_step_one")
        found += count_or_ratio(gate, plan, types, kind, "success_avoidable_step_one")
        found += inside_failure(gate, kind, "p10")
        found += inside_failure(gate, kind, "min_final")
        found += measured_twice(gate, kind)
    return found


def named(found: Limit) -> str:
    """`success_step_one 45`, for one type `by_type.main.success_step_one 45`."""
    value = number_text(found.value) if isinstance(found.value, float) else str(found.value)
    return f"{found.option} {value}"


def for_type(kind: str) -> str:
    return f" for {kind}" if kind else ""


def count_or_ratio(
    gate: GateSettings, plan: EvaluationPlan, types: Sequence[str], kind: str, key: str
) -> list[Finding]:
    """F2: a count and a share of the same thing; only the stricter one decides."""
    pair = _dead_and_stricter(gate, plan, kind, key)
    if pair is None:
        return []
    dead, stricter = pair
    count, ratio = limit(gate, key, kind).value, limit(gate, f"{key}_ratio", kind).value
    assert count is not None and ratio is not None
    allowed = count_of_ratio(ratio, plan)
    text = (
        f"{named(dead)} never decides{for_type(kind)}: {number_text(ratio)} of {plan.agents} fish are {allowed}, "
        f"against a count of {number_text(count)}, so {named(stricter)} is always stricter"
    )
    numbers = {"type": kind, "count": count, "ratio": ratio, "count_of_ratio": allowed, "agents": plan.agents}
    # A global limit that is dead for one type may decide for another; taking it away is then no repair.
    others = [_dead_and_stricter(gate, plan, other, key) for other in types if other != kind]
    repair: Repair | None
    if dead.source == "type" or all(other is not None and other[0] == dead for other in others):
        repair = gate_repair({dead.option: None}, "remove it")
    else:
        repair, text = None, f"{text}; it does decide for other types"
    return [Finding("F2", "dead", (f"gate.{dead.option}",), text, numbers, repair)]


def count_of_ratio(ratio: float, plan: EvaluationPlan) -> int:
    """How many fish of an evaluation a share allows; the tiny term keeps 0.1 x 30 at 3."""
    return math.floor(ratio * plan.agents + 1e-9)


def _dead_and_stricter(gate: GateSettings, plan: EvaluationPlan, kind: str, key: str) -> tuple[Limit, Limit] | None:
    count, ratio = limit(gate, key, kind), limit(gate, f"{key}_ratio", kind)
    if count.value is None or ratio.value is None:
        return None
    allowed = count_of_ratio(ratio.value, plan)
    if count.value == allowed:
        return None
    return (count, ratio) if count.value > allowed else (ratio, count)


def inside_failure(gate: GateSettings, kind: str, name: str) -> list[Finding]:
    """F3: a success limit below the failure limit is met by whatever does not fail."""
    success, failure = limit(gate, f"success_{name}", kind), limit(gate, f"failure_{name}", kind)
    if success.value is None or failure.value is None or success.value >= failure.value:
        return []
    text = f"{named(success)} never decides{for_type(kind)}: below {named(failure)} it is a failure already"
    repair = gate_repair({success.option: failure.value}, "the least value that asks for more than not failing")
    numbers = {"type": kind, "success": success.value, "failure": failure.value}
    return [Finding("F3", "dead", (f"gate.{success.option}",), text, numbers, repair)]


def measured_twice(gate: GateSettings, kind: str) -> list[Finding]:
    """F4: death_p10 of 100 or more means that at most a tenth died before step 100."""
    early, failure = limit(gate, "success_early_death", kind), limit(gate, "failure_p10", kind)
    if early.value is None or failure.value is None:
        return []
    if early.value <= EARLY_SHARE or failure.value < 100.0 - NEAR_100:
        return []
    text = (
        f"{named(early)} hardly ever decides{for_type(kind)}: {named(failure)} already keeps early deaths "
        f"at about {number_text(EARLY_SHARE)}"
    )
    repair = gate_repair({early.option: EARLY_SHARE}, "the loosest limit that can decide")
    numbers = {"type": kind, "early_death": early.value, "failure_p10": failure.value}
    return [Finding("F4", "dead", (f"gate.{early.option}",), text, numbers, repair)]
