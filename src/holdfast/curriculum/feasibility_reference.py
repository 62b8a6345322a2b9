"""Findings from measurements: how far a scripted policy gets (F8), limits so near the floor that seeds decide (F9)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.curriculum.dry_run import (
    EvaluationPlan,
    Floor,
    Moment,
    Reference,
    highest_level,
    scripted,
    spelled_events,
)
from holdfast.curriculum.feasibility_floor import failing, limit_repair
from holdfast.curriculum.feasibility_options import named
from holdfast.curriculum.findings import Finding
from holdfast.curriculum.gate import run_gate
from holdfast.curriculum.gate_settings import GateSettings, Limit, limit
from holdfast.curriculum.record import criterion_text

NOISE_DEVIATIONS = 2.0


def reference_findings(
    gate: GateSettings,
    timed: GateSettings,
    plan: EvaluationPlan,
    moments: Sequence[Moment],
    reference: Sequence[Reference] | None,
    floors: Sequence[Floor] | None,
    name: str,
) -> list[Finding]:
    """F8: a policy that is known to be good, taken through the gate; `timed` as for F7."""
    if reference is None:
        return []
    evaluations = scripted(plan, moments, reference, floors)
    records = run_gate(gate, evaluations)
    level = highest_level(gate, evaluations)
    if level == gate.max_level:
        return []
    failed = [(record.measured.iteration, test) for record in records for test in failing(record)]
    told = [f"{name} ends at level {level} of {gate.max_level} ({spelled_events(records)})"]
    told += [f"at {iteration} {criterion_text(test)}" for iteration, test in failed]
    numbers = {
        "level": level,
        "events": [record.event for record in records],
        "failing": [{"iteration": iteration, **test._asdict()} for iteration, test in failed],
    }
    options = tuple(dict.fromkeys(f"gate.{test.option}" for _, test in failed))
    shut = highest_level(timed, evaluations) == 0
    repair = limit_repair(gate, timed, evaluations) if shut else None
    return [Finding("F8", "warn", options, "; ".join(told), numbers, repair)]


class FloorSpread(NamedTuple):
    """Unavoidable first-step deaths in the whole population of episodes."""

    mean_share: float  # of all fish
    episode_deviation: float  # fish per episode

    def block_deviation(self, plan: EvaluationPlan) -> float:
        """Standard deviation of the share over one evaluation."""
        return self.episode_deviation * math.sqrt(plan.episodes) / plan.agents


def noise_findings(
    gate: GateSettings, plan: EvaluationPlan, moments: Sequence[Moment], spread: FloorSpread | None
) -> list[Finding]:
    """F9: a limit on first-step deaths within two deviations of their floor is decided by the seeds."""
    if spread is None:
        return []
    limits = {}  # by name: a global limit is told once, not for every type
    for kind in dict.fromkeys(moment.type for moment in moments):
        for key, unit in (("success_step_one", plan.agents), ("success_step_one_ratio", 1)):
            limited = limit(gate, key, kind)
            if limited.value is not None:
                limits[named(limited)] = limited, limited.value / unit
    found = (_near_floor(name, limited, share, plan, spread) for name, (limited, share) in limits.items())
    return [finding for finding in found if finding is not None]


def _near_floor(name: str, limited: Limit, share: float, plan: EvaluationPlan, spread: FloorSpread) -> Finding | None:
    deviation = spread.block_deviation(plan)
    away = (share - spread.mean_share) / deviation if deviation else math.inf
    if abs(away) >= NOISE_DEVIATIONS:
        return None
    text = (
        f"{name} decides on seeds: it is {abs(away):.2g} deviations from the mean floor {spread.mean_share:.4g} "
        f"(deviation {deviation:.2g} over {plan.episodes} episodes); a limit on avoidable deaths would not"
    )
    numbers = {"limit": limited.value, "floor_mean": spread.mean_share, "block_deviation": deviation}
    return Finding("F9", "warn", (f"gate.{limited.option}",), text, {**numbers, "deviations_away": away})
