"""Findings about time: can even a perfect policy climb (F1), do freezes act (F5), what lies inside the lock (F6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.curriculum.dry_run import EvaluationPlan, Moment, highest_level, perfect, spelled_events
from holdfast.curriculum.findings import Finding, Repair, Severity, gate_repair
from holdfast.curriculum.gate import run_gate
from holdfast.curriculum.gate_settings import WINDOWED_KEYS, GateSettings, is_on, whole_limit
from holdfast.curriculum.repair import difference, opens, repair_timing, timing_knobs


def timing_findings(
    gate: GateSettings, plan: EvaluationPlan, moments: Sequence[Moment], total_iterations: int
) -> list[Finding]:
    return [
        *arithmetic(gate, plan, moments, total_iterations),
        *freezes(gate, plan, moments),
        *lock(gate, plan, moments),
    ]


def arithmetic(
    gate: GateSettings, plan: EvaluationPlan, moments: Sequence[Moment], total_iterations: int
) -> list[Finding]:
    """F1: a policy that loses no fish, taken through every evaluation of the run."""
    evaluations = perfect(plan, moments)
    records = run_gate(gate, evaluations)
    highest = highest_level(gate, evaluations)
    if highest == gate.max_level:
        return []
    severity: Severity = "unreachable" if highest else "infeasible"
    following = (moments[-1].iteration if moments else 0) + plan.interval
    told = [
        f"a perfect policy ends at level {highest} of {gate.max_level} ({spelled_events(records) or 'no evaluation'})"
    ]
    told += _window_texts(gate, moments)
    told.append(f"{gate.required_successes} successes in a row are needed")
    if following > total_iterations:
        told.append(f"the next evaluation would be at {following}, after the last iteration {total_iterations}")
    numbers = {
        "evaluations": [list(moment) for moment in moments],
        "events": [record.event for record in records],
        "highest_level": highest,
        "max_level": gate.max_level,
    }
    options = ("gate.required_successes", "gate.lock_iteration", "gate.phase_allowance", "evaluation.every")
    repair = _timing_repair(gate, plan, moments, highest)
    changed = tuple(repair.changes) if repair else ()
    return [Finding("F1", severity, changed or options, "; ".join(told), numbers, repair)]


def _window_texts(gate: GateSettings, moments: Sequence[Moment]) -> list[str]:
    """When each type first comes and when its windows are full."""
    texts = []
    for kind in dict.fromkeys(moment.type for moment in moments):
        times = [moment.iteration for moment in moments if moment.type == kind]
        of_type = f"{kind} first occurs at {times[0]}, its" if kind else "the"
        for key in WINDOWED_KEYS:
            name = key.removeprefix("success_")
            window = whole_limit(gate, f"{key}_window", kind)
            if is_on(gate, key) and window > 1 and gate.median_fallback not in (name, "both"):
                full = f"is full at {times[window - 1]}" if len(times) >= window else "is never full"
                texts.append(f"{of_type} {name} window of {window} {full}")
    return texts


def _timing_repair(gate: GateSettings, plan: EvaluationPlan, moments: Sequence[Moment], highest: int) -> Repair | None:
    """Level 1 for a gate that stays shut, all levels for one that opens too little."""
    evaluations = perfect(plan, moments)
    wanted = gate.max_level if highest else 1
    repaired = repair_timing(gate, timing_knobs(gate, evaluations, plan.interval), opens(evaluations, wanted))
    if repaired is None:
        return None
    reached = [
        f"{record.event} at {record.measured.iteration}"
        for record in run_gate(repaired, evaluations)
        if record.event in ("success_progress", "advance")
    ]
    text = f"a perfect policy then reaches level {wanted}: {', '.join(reached)}"
    return gate_repair(difference(gate, repaired), text)


def freezes(gate: GateSettings, plan: EvaluationPlan, moments: Sequence[Moment]) -> list[Finding]:
    """F5: a freeze that ends before the next evaluation does nothing; one that does not end kills every streak."""
    found = []
    for name in ("freeze_iterations", "success_freeze_iterations"):
        length = getattr(gate, name)
        if 0 < length <= plan.interval:
            text = f"{name} {length} does nothing: it ends before the next evaluation, {plan.interval} iterations later"
            numbers = {"freeze": length, "interval": plan.interval}
            repair = gate_repair({name: 0}, f"remove it, or set at least {plan.interval + 1} for it to act")
            found.append(Finding("F5", "dead", (f"gate.{name}",), text, numbers, repair))
    if gate.success_freeze_iterations > plan.interval and gate.required_successes > 1:
        found.append(_streak_killer(gate, plan, moments))
    return found


def _streak_killer(gate: GateSettings, plan: EvaluationPlan, moments: Sequence[Moment]) -> Finding:
    shorter = replace(gate, success_freeze_iterations=plan.interval)
    level = highest_level(shorter, perfect(plan, moments))
    text = (
        f"after a success the gate is frozen for {gate.success_freeze_iterations} iterations, longer than the "
        f"{plan.interval} to the next evaluation, which then resets the streak: "
        f"{gate.required_successes} successes in a row can never happen"
    )
    numbers = {"success_freeze": gate.success_freeze_iterations, "interval": plan.interval}
    options = ("gate.success_freeze_iterations", "gate.required_successes")
    repair = gate_repair(difference(gate, shorter), f"a perfect policy then reaches level {level}")
    return Finding("F5", "infeasible", options, text, numbers, repair)


def lock(gate: GateSettings, plan: EvaluationPlan, moments: Sequence[Moment]) -> list[Finding]:
    """F6: evaluations at which the lock forbids any advance."""
    locked = [moment.iteration for moment in moments if moment.iteration <= gate.lock_iteration]
    if not locked:
        return []
    listed = ", ".join(map(str, locked))
    numbers = {"locked": locked, "evaluations": len(moments), "lock": gate.lock_iteration}
    everything = len(locked) == len(moments)
    text = f"{'all' if everything else len(locked)} of {len(moments)} evaluations are inside the lock: {listed}"
    severity: Severity = "infeasible" if everything else "warn"
    repair = _unlocked(gate, plan, moments) if everything else None
    return [Finding("F6", severity, ("gate.lock_iteration",), text, numbers, repair)]


def _unlocked(gate: GateSettings, plan: EvaluationPlan, moments: Sequence[Moment]) -> Repair | None:
    """The longest lock under which a perfect policy still advances."""
    evaluations = perfect(plan, moments)
    for moment in reversed(moments):
        shorter = replace(gate, lock_iteration=moment.iteration - 1)
        if highest_level(shorter, evaluations) > 0:
            return gate_repair(difference(gate, shorter), "the longest lock under which a perfect policy advances")
    return None
