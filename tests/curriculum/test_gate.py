"""The gate's state machine: order of events, evidence of every criterion, and what holds for any evaluations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.curriculum.criteria import Measured
from holdfast.curriculum.gate import GateState, decide, run_gate
from holdfast.curriculum.gate_settings import GateSettings
from holdfast.curriculum.record import Record, read_records
from holdfast.curriculum.whatif import replay
from holdfast.kit.errors import RunFolderError

SIMPLE = GateSettings(
    phase_allowance=(1, 2, 3),
    freeze_iterations=0,
    success_freeze_iterations=0,
    success_early_death_window=1,
    success_p10_window=1,
)


def evaluation(iteration: int, **changes: Any) -> Measured:
    good = Measured(iteration, "", 500.0, 0.0, 1.0, 0, 1920, 0)
    return replace(good, **changes)


def events(gate: GateSettings, *evaluations: Measured) -> list[str]:
    return [record.event for record in run_gate(gate, evaluations)]


BAD = {"death_p10": 10.0}  # below the failure limit
POOR = {"early_death": 0.5}  # no failure, but no success


def test_success_leads_up_to_the_last_level() -> None:
    records = run_gate(SIMPLE, [evaluation(step) for step in range(1, 5)])
    assert [record.event for record in records] == ["advance", "advance", "success_progress", "success_progress"]
    assert [record.phase_limit for record in records] == [2, 3, 3, 3]
    assert records[-1].success_streak.after == 2


def test_failures_roll_back_after_their_tolerance() -> None:
    assert events(SIMPLE, evaluation(1), evaluation(2, **BAD), evaluation(3, **BAD), evaluation(4, **BAD)) == [
        "advance",
        "failure_hold",
        "rollback",
        "failure_hold",
    ]


def test_a_failure_comes_before_lock_and_freeze() -> None:
    gate = replace(SIMPLE, lock_iteration=2, freeze_iterations=3)
    assert events(gate, evaluation(1, **BAD), evaluation(2), evaluation(3), evaluation(4)) == [
        "failure_hold",
        "locked",
        "frozen",
        "advance",
    ]


def test_frozen_and_noop_reset_the_streak() -> None:
    gate = replace(SIMPLE, required_successes=2, success_freeze_iterations=5)
    records = run_gate(gate, [evaluation(1), evaluation(2)])
    assert [(record.event, record.success_streak.after) for record in records] == [
        ("success_progress", 1),
        ("frozen", 0),
    ]
    gate = replace(SIMPLE, required_successes=2)
    assert events(gate, evaluation(1), evaluation(2, **POOR), evaluation(3)) == [
        "success_progress",
        "noop",
        "success_progress",
    ]


def test_every_criterion_is_judged_even_when_the_first_one_fails() -> None:
    (record,) = run_gate(GateSettings(success_step_one=3), [evaluation(1, death_p10=1.0, min_final=0.1, step_one=9)])
    verdicts = {test.key: test.verdict for test in record.criteria}
    assert verdicts == {
        "failure.p10": "fail",
        "failure.min_final": "fail",
        "success.step_one": "fail",
        "success.step_one_ratio": "off",
        "success.avoidable_step_one": "off",
        "success.avoidable_step_one_ratio": "off",
        "success.early_death": "pass",
        "success.min_final": "off",
        "success.early_death_median": "no_data",
        "success.p10_median": "no_data",
    }
    assert record.criterion("success.step_one").margin == -6
    assert record.criterion("failure.p10").margin == -94
    assert record.because == "failed: p10 1 < 95 by 94; min_final 0.1 < 0.5 by 0.4"


def test_margins_of_zero_are_good() -> None:
    gate = replace(SIMPLE, success_step_one=5, success_min_final=0.5, failure_min_final=0.5, success_early_death=0.25)
    (record,) = run_gate(gate, [evaluation(1, step_one=5, min_final=0.5, early_death=0.25, death_p10=120.0)])
    assert {test.verdict for test in record.criteria} == {"pass", "off"}
    assert record.event == "advance"


def test_avoidable_deaths_are_counted_beyond_the_floor_and_need_one() -> None:
    gate = replace(SIMPLE, success_avoidable_step_one=2, success_avoidable_step_one_ratio=0.001)
    with_floor, without = (run_gate(gate, [evaluation(1, step_one=41, floor=floor)])[0] for floor in (40, None))
    assert with_floor.event == "advance"
    assert with_floor.criterion("success.avoidable_step_one").value == 1
    assert without.event == "noop"
    assert without.criterion("success.avoidable_step_one_ratio").verdict == "no_data"


def test_a_type_has_its_own_limits_and_its_own_median() -> None:
    gate = replace(SIMPLE, success_step_one=5, by_type={"main": {"success_step_one": 50, "success_p10_window": 2}})
    first, second, third = run_gate(
        gate,
        [
            evaluation(1, type="ne", step_one=9),
            evaluation(2, type="main", step_one=9),
            evaluation(3, type="main", step_one=9),
        ],
    )
    assert first.criterion("success.step_one").source == "global" and first.event == "noop"
    assert second.criterion("success.step_one").source == "type"
    assert (
        second.criterion("success.p10_median").verdict == "no_data"
        and second.criterion("success.p10_median").samples == 1
    )
    assert third.event == "advance"


def test_a_short_history_may_borrow_from_other_types() -> None:
    rows = [evaluation(1, type="ne", death_p10=200.0), evaluation(2, type="main", death_p10=400.0)]
    gate = replace(SIMPLE, success_p10_window=2, median_fallback="p10")
    borrowed = run_gate(gate, rows)[1].criterion("success.p10_median")
    assert (borrowed.value, borrowed.history) == (300.0, "all")
    own = run_gate(replace(gate, median_fallback="early_death"), rows)[1].criterion("success.p10_median")
    assert (own.value, own.verdict, own.history) == (None, "no_data", "type")


def test_samples_are_remembered_while_locked_and_failing() -> None:
    gate = replace(SIMPLE, success_p10_window=3, lock_iteration=1)
    (*_, last) = run_gate(gate, [evaluation(1), evaluation(2, **BAD), evaluation(3)])
    assert last.event == "advance"


# --- properties ----------------------------------------------------------------------------------------------------

SHARES = st.floats(0, 1)
MEASURED = st.builds(
    Measured,
    iteration=st.just(0),
    type=st.sampled_from(["ne", "main"]),
    death_p10=st.floats(1, 500),
    early_death=SHARES,
    min_final=SHARES,
    step_one=st.integers(0, 60),
    agents=st.just(1920),
    floor=st.none() | st.integers(0, 40),
    metrics=st.just({"avg_final": 0.5}),
)
GATES = st.builds(
    GateSettings,
    phase_allowance=st.sampled_from([(1,), (1, 2), (4, 5, 6, 7)]),
    lock_iteration=st.integers(0, 40),
    required_successes=st.integers(1, 3),
    freeze_iterations=st.integers(0, 20),
    success_freeze_iterations=st.integers(0, 20),
    success_step_one=st.none() | st.integers(0, 60),
    success_avoidable_step_one=st.none() | st.integers(0, 20),
    success_early_death=st.none() | SHARES,
    success_early_death_window=st.integers(1, 3),
    success_p10=st.none() | st.floats(1, 500),
    failure_p10=st.none() | st.floats(1, 200),
    failure_tolerance=st.integers(1, 3),
    by_type=st.fixed_dictionaries(
        {},
        optional={
            "ne": st.fixed_dictionaries(
                {}, optional={"success_step_one": st.just(5), "failure_min_final": st.just(0.9)}
            ),
            "main": st.fixed_dictionaries(
                {}, optional={"success_step_one": st.sampled_from([45, 60]), "success_p10_window": st.just(1)}
            ),
        },
    ),
    median_fallback=st.sampled_from(["none", "p10", "early_death", "both"]),
)
ROWS = st.lists(MEASURED, max_size=12).map(
    lambda rows: [replace(row, iteration=8 * number) for number, row in enumerate(rows, start=1)]
)


@settings(max_examples=150, deadline=None)
@given(GATES, ROWS)
def test_the_gate_keeps_its_promises(gate: GateSettings, rows: list[Measured]) -> None:
    for record in run_gate(gate, rows):
        assert 0 <= record.level.after <= gate.max_level
        step = {"advance": 1, "rollback": -1}.get(record.event, 0)
        assert record.level.after - record.level.before == step
        assert record.phase_limit == gate.phase_allowance[record.level.after]
        if record.event in ("frozen", "locked", "noop", "failure_hold", "rollback", "advance"):
            assert record.success_streak.after == 0
        failed = any(test.role == "failure" and test.verdict == "fail" for test in record.criteria)
        assert failed == (record.event in ("failure_hold", "rollback"))
        for test in record.criteria:
            assert (test.margin is not None) == (test.verdict in ("pass", "fail"))
            assert test.margin is None or (test.margin >= 0) == (test.verdict == "pass")
            assert test.verdict != "pass" or test.samples >= test.window


@settings(max_examples=60, deadline=None)
@given(GATES, ROWS)
def test_records_survive_json_and_replay_to_the_same_decisions(gate: GateSettings, rows: list[Measured]) -> None:
    records = run_gate(gate, rows)
    again = tuple(Record.from_json(json.loads(json.dumps(record.to_json()))) for record in records)
    assert again == records
    timeline = replay(again, gate)
    assert timeline.replayed == records and timeline.first_difference is None


@settings(max_examples=60, deadline=None)
@given(GATES, ROWS, st.integers(0, 12))
def test_a_saved_gate_continues_as_if_never_interrupted(gate: GateSettings, rows: list[Measured], cut: int) -> None:
    state = GateState()
    for row in rows[:cut]:
        state, _ = decide(state, gate, row)
    restored = GateState.from_json(json.loads(json.dumps(state.to_json())))
    assert restored == state
    assert run_gate(gate, rows)[cut:] == run_gate(gate, rows[cut:], restored)


def test_records_are_read_from_a_file_and_a_damaged_line_is_named(tmp_path: Path) -> None:
    records = run_gate(SIMPLE, [evaluation(1), evaluation(2, **BAD)])
    path = tmp_path / "gate.jsonl"
    path.write_text("".join(json.dumps(record.to_json()) + "\n" for record in records))
    assert read_records(path) == records
    path.write_text(path.read_text() + '{"iteration": 3}\n')
    with pytest.raises(RunFolderError, match=r"gate\.jsonl, line 3"):
        read_records(path)
