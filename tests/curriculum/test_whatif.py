"""What-if: the recorded evaluations of v42 under its own options and under others, with the events each must give."""

from __future__ import annotations

import json

import pytest

from holdfast.curriculum.gate import run_gate
from holdfast.curriculum.gate_changes import change_gate
from holdfast.curriculum.gate_settings import GateSettings
from holdfast.curriculum.whatif import Timeline, replay
from holdfast.kit.errors import ConfigError
from tests.curriculum.published import imported, v42_evaluations

A = ["failure_p10=60"]
B = [*A, "success_step_one_ratio=0.025", "success_early_death.main=0.13", "success_p10.main=60"]
C = [
    *B,
    "success_step_one_ratio=0.03",
    "success_step_one.main=55",
    "success_early_death.main=0.14",
    "success_early_death_window.main=2",
    "success_p10_window.main=2",
]
D = [*C, "lock_iteration=0", "success_step_one.ne=45", "success_early_death_window=2", "success_p10_window=2"]
CASES = {
    "v42": ([], "H0 H0 H0 H0 H0 H0 H0"),
    "next step": (["success.ratio=0.025", "success.early_death.main=0.12"], "H0 H0 H0 H0 H0 H0 H0"),
    "A": (A, "L0 L0 L0 N0 N0 N0 N0"),
    "B": (B, "L0 L0 L0 N0 N0 N0 P0"),
    "C": (C, "L0 L0 L0 N0 P0 A1 P1"),
    "D": (D, "N0 P0 A1 N1 P1 A2 P2"),
    "D2": ([*D, "success_freeze_iterations=10"], "N0 P0 F0 N0 P0 F0 P0"),
    "G": ([*D, "failure_min_final=0.52", "failure_tolerance.main=2"], "N0 P0 A1 N1 H1 R0 P0"),
}


def timeline(changes: list[str]) -> Timeline:
    gate = imported("v42").gate
    return replay(run_gate(gate, v42_evaluations()), change_gate(gate, changes))


@pytest.mark.parametrize("case", CASES)
def test_events_of_the_published_cases(case: str) -> None:
    changes, expected = CASES[case]
    assert timeline(changes).shorthand == expected


def test_v42_was_held_by_the_failure_limit_alone() -> None:
    table = timeline([]).table
    assert table["failure.p10"] == ("fail",) * 7
    assert table["failure.min_final"] == ("pass",) * 7


def test_the_first_difference_names_what_changed() -> None:
    difference = timeline(A).first_difference
    assert difference is not None
    assert (difference.iteration, difference.recorded, difference.replayed) == (8, "H0", "L0")
    assert difference.criteria == ("failure.p10",)
    assert difference.because == "iteration 8 is inside the lock up to 28"
    assert timeline([]).first_difference is None


def test_a_timeline_is_json() -> None:
    table = json.loads(json.dumps(timeline(C).to_json()))
    assert table["replayed"] == ["L0", "L0", "L0", "N0", "P0", "A1", "P1"]
    assert table["levels"] == [0, 0, 0, 0, 0, 1, 1]
    assert len(table["records"]) == 7


@pytest.mark.parametrize(
    "name", ["gate.success.ratio.main", "success_step_one_ratio.main", "success.step_one_ratio.MAIN"]
)
def test_a_type_is_named_after_the_last_dot(name: str) -> None:
    assert change_gate(GateSettings(), [f"{name}=0.025"]).by_type == {"main": {"success_step_one_ratio": 0.025}}


def test_older_spellings_are_understood() -> None:
    gate = change_gate(
        GateSettings(), ["success_first_death_p10_by_stage=main:100", "success_median_window=3", "success_p10=none"]
    )
    assert (gate.by_type, gate.success_p10_window, gate.success_p10) == ({"main": {"success_p10": 100}}, 3, None)


def test_all_wrong_assignments_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        change_gate(
            GateSettings(),
            ["failure_p11=3", "lock_iteration", "required_successes=0", "success_p10.4=1", "success_p10=x"],
        )
    text = str(caught.value)
    assert len(caught.value.problems) == 5
    for part in (
        "no option gate.failure_p11 (did you mean failure_p10?)",
        "write KEY=VALUE",
        "must be at least 1",
        "'4'",
        "'x'",
    ):
        assert part in text
