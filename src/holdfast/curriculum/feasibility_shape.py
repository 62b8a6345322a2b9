"""Findings about lists that do not fit each other: phases, targets, allowances, learning rates (F11)."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.curriculum.findings import Finding, Repair
from holdfast.curriculum.gate_settings import GateSettings
from holdfast.curriculum.schedule import Schedule


def shape_findings(
    schedule: Schedule, total_iterations: int, gate: GateSettings, misfits: Sequence[str]
) -> list[Finding]:
    found = []
    if schedule.iterations != total_iterations:
        text = f"the phases last {schedule.iterations} iterations, the run {total_iterations}"
        numbers = {"phases": schedule.iterations, "run": total_iterations}
        repair = Repair({"run.iterations": schedule.iterations}, "make the run as long as its phases")
        found.append(Finding("F11", "infeasible", ("schedule.phases", "run.iterations"), text, numbers, repair))
    for text in misfits:
        found.append(Finding("F11", "infeasible", (text.split()[0], "schedule.phases"), text))
    return [*found, *allowance_findings(schedule, gate)]


def allowance_findings(schedule: Schedule, gate: GateSettings) -> list[Finding]:
    """Levels whose phase limit lies beyond the last phase hold nothing back."""
    count = len(schedule.phases)
    if gate.controls == "none" or not any(limit > count for limit in gate.phase_allowance):
        return []
    text = f"phase_allowance {','.join(map(str, gate.phase_allowance))} goes beyond the last phase {count}"
    kept = tuple(dict.fromkeys(min(limit, count) for limit in gate.phase_allowance))
    repair = Repair({"gate.phase_allowance": kept}, "keep to the phases that exist")
    numbers = {"phase_allowance": list(gate.phase_allowance), "phases": count}
    return [Finding("F11", "dead", ("gate.phase_allowance",), text, numbers, repair)]


def learning_rate_findings(rates: Sequence[float] | None) -> list[Finding]:
    """A learning rate of 0 before the last iteration wastes the iterations from there on."""
    still = [iteration for iteration, rate in enumerate((rates or ())[:-1], start=1) if rate <= 0]
    if not still:
        return []
    text = f"the learning rate is 0 in {len(still)} iterations before the last, first in {still[0]}"
    return [Finding("F11", "warn", ("learner.lr_schedule",), text, {"iterations": still})]
