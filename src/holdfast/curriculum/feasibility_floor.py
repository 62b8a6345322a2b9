"""Findings about deaths that nobody can prevent: what they do to the gate (F7) and to the best-model rule (F12)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from holdfast.curriculum.criteria import Criterion, Measured
from holdfast.curriculum.dry_run import EvaluationPlan, Floor, Moment, floor_limited, highest_level, perfect
from holdfast.curriculum.findings import Finding, Repair, Severity, gate_repair
from holdfast.curriculum.gate import run_gate
from holdfast.curriculum.gate_settings import GateSettings
from holdfast.curriculum.record import Record, criterion_text
from holdfast.curriculum.repair import difference, repair_limits


def floor_findings(
    gate: GateSettings,
    timed: GateSettings,
    plan: EvaluationPlan,
    moments: Sequence[Moment],
    floors: Sequence[Floor] | None,
) -> list[Finding]:
    """F7: a policy that loses only the doomed. `timed` is the gate after the repair of its timing, if it needed one."""
    if floors is None or not moments:
        return []
    evaluations = floor_limited(plan, moments, floors)
    records = run_gate(gate, evaluations)
    exceeded = [(record, test) for record in records for test in failing(record)]
    if not exceeded:
        return []
    level, repaired = highest_level(gate, evaluations), highest_level(timed, evaluations)
    numbers = {
        "floors": [floor.step_one for floor in floors],
        "ratios": [floor.step_one / plan.agents for floor in floors],
        "events": [record.event for record in records],
        "exceeded": [{"iteration": record.measured.iteration, **test._asdict()} for record, test in exceeded],
        "level": level,
        "level_after_timing_repair": repaired,
    }
    text = _floor_text(level, repaired if timed != gate else None, gate.max_level, exceeded)
    options = tuple(dict.fromkeys(f"gate.{test.option}" for _, test in exceeded))
    severity = _severity(level, highest_level(gate, perfect(plan, moments)))
    repair = limit_repair(gate, timed, evaluations) if repaired == 0 else None
    return [Finding("F7", severity, options, text, numbers, repair)]


def _severity(level: int, possible: int) -> Severity:
    if level == 0:
        return "infeasible"
    return "unreachable" if level < possible else "warn"


def failing(record: Record) -> Iterator[Criterion]:
    return (test for test in record.criteria if test.verdict == "fail")


def _floor_text(level: int, repaired: int | None, most: int, exceeded: Sequence[tuple[Record, Criterion]]) -> str:
    told = [f"a policy that loses only fish which no action saves ends at level {level} of {most}"]
    if repaired is not None:
        told.append(f"at level {repaired} after the repair of the timing")
    told += [f"at {record.measured.iteration} the floor alone has {criterion_text(test)}" for record, test in exceeded]
    return "; ".join(told)


def limit_repair(gate: GateSettings, timed: GateSettings, evaluations: Sequence[Measured]) -> Repair | None:
    """The least relaxation of limits that brings these evaluations to level 1, on top of the repaired timing."""
    relaxed = repair_limits(timed, evaluations)
    if relaxed is None:
        return None
    reached = [
        f"{record.event} at {record.measured.iteration}"
        for record in run_gate(relaxed, evaluations)
        if record.event in ("success_progress", "advance")
    ]
    text = f"then {', '.join(reached)}" + (", once the timing is repaired" if timed != gate else "")
    return gate_repair(difference(timed, relaxed), text)


class BestLimit(NamedTuple):
    """A limit that a model must keep to be called the best."""

    option: str
    metric: Literal["step_one", "step_one_ratio", "early_death", "min_final"]
    value: float


def best_findings(plan: EvaluationPlan, floors: Sequence[Floor] | None, limits: Sequence[BestLimit]) -> list[Finding]:
    """F12: a best-model limit that the floor breaks at every evaluation lets no model be saved."""
    found = []
    for rule in limits if floors else ():
        values = [_floor_value(plan, floor, rule.metric) for floor in floors or ()]
        best = max(values) if rule.metric == "min_final" else min(values)
        if rule.value <= best if rule.metric == "min_final" else rule.value >= best:
            continue
        text = f"{rule.option} {rule.value:g} can never be met: the floor alone has {rule.metric} {best:.4g}"
        repair = Repair({rule.option: best}, "the strictest limit that some evaluation can meet")
        found.append(Finding("F12", "dead", (rule.option,), text, {"limit": rule.value, "floor": best}, repair))
    return found


def _floor_value(plan: EvaluationPlan, floor: Floor, metric: str) -> float:
    return {
        "step_one": float(floor.step_one),
        "step_one_ratio": floor.step_one / plan.agents,
        "early_death": floor.early / plan.agents,
        "min_final": 1 - floor.worst_episode / plan.fish,
    }[metric]
