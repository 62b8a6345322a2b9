"""Feasibility: the published gates are told that they cannot open, why, and what the smallest change would be."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.curriculum.dry_run import EvaluationPlan, Floor, Reference, floor_limited, highest_level, perfect
from holdfast.curriculum.feasibility import Question, check
from holdfast.curriculum.feasibility_floor import BestLimit
from holdfast.curriculum.findings import Finding, repaired_gate
from holdfast.curriculum.gate import run_gate
from holdfast.curriculum.gate_settings import GateSettings
from holdfast.curriculum.schedule import parse_schedule
from holdfast.games.fish.density import density_problems
from holdfast.kit.errors import ConfigError
from tests.curriculum.published import density, question, queue

V42 = question("v42")
REPORT = check(V42)


def only(code: str, severity: str | None = None) -> Finding:
    (finding,) = (item for item in REPORT.of(code) if severity in (None, item.severity))
    return finding


# --- the worked example --------------------------------------------------------------------------------------------


def test_v42_is_infeasible_and_everything_is_found() -> None:
    assert not REPORT.feasible
    assert {item.code for item in REPORT.findings} == {f"F{number}" for number in range(1, 11)}
    assert {item.code for item in REPORT.findings if item.severity == "infeasible"} == {"F1", "F7"}


def test_f1_a_perfect_policy_cannot_advance() -> None:
    finding = only("F1")
    assert finding.numbers["events"] == ["locked"] * 3 + ["noop"] * 3 + ["success_progress"]
    assert "main first occurs at 32, its early_death window of 4 is full at 56" in finding.text
    assert "2 successes in a row" in finding.text and "64, after the last iteration 60" in finding.text
    assert finding.repair is not None
    assert finding.repair.changes == {"gate.by_type.main.success_early_death_window": 3}
    assert finding.repair.spelled == "gate.by_type.main.success_early_death_window = 3"
    assert finding.repair.text.endswith("success_progress at 48, advance at 56")


def test_f7_the_floor_alone_breaks_the_limits() -> None:
    finding = only("F7")
    told = {(row["iteration"], row["name"]): row["value"] for row in finding.numbers["exceeded"]}
    assert [told[at, "step_one"] for at in (8, 16, 24)] == [37, 34, 24]
    assert [round(told[at, "step_one_ratio"], 4) for at in (32, 40, 48)] == [0.0219, 0.0245, 0.0208]
    assert finding.numbers["level_after_timing_repair"] == 0
    assert finding.repair is not None and finding.repair.changes == {"gate.success_step_one_ratio": 0.021}
    assert "success_progress at 48, advance at 56" in finding.repair.text


def test_both_repairs_together_really_open_the_gate() -> None:
    gate = repaired_gate(repaired_gate(V42.gate, only("F1").repair), only("F7").repair)
    floors = list(V42.floors or ())
    assert highest_level(gate, floor_limited(V42.evaluation, V42.moments, floors)) == 1
    assert check(replace(V42, gate=gate)).feasible


def test_f2_counts_and_ratios_of_the_same_thing() -> None:
    ne, main = REPORT.of("F2")
    assert ne.options == ("gate.success_step_one_ratio",) and ne.numbers["type"] == "ne" and ne.repair is None
    assert main.options == ("gate.by_type.main.success_step_one",) and main.numbers["count_of_ratio"] == 38
    assert main.repair is not None and main.repair.changes == {"gate.by_type.main.success_step_one": None}


def test_f3_and_f4_dead_thresholds() -> None:
    p10, early = only("F3"), only("F4")
    assert p10.options == ("gate.success_p10",) and (p10.numbers["success"], p10.numbers["failure"]) == (70, 95)
    assert early.numbers["early_death"] == 0.13 and early.numbers["type"] == "ne"
    assert early.repair is not None and early.repair.changes == {"gate.by_type.ne.success_early_death": 0.1}


def test_f5_and_f6_freezes_and_lock() -> None:
    assert [(item.severity, item.numbers["freeze"]) for item in REPORT.of("F5")] == [("dead", 5), ("dead", 2)]
    assert only("F6").numbers["locked"] == [8, 16, 24]


def test_f8_the_scripted_policy_ends_at_level_0() -> None:
    assert only("F8").numbers["level"] == 0
    assert only("F8").text.startswith("dodge_shelter ends at level 0 of 3")


def test_f9_the_ratio_is_within_one_deviation_of_the_floor() -> None:
    (ratio,) = (item for item in REPORT.of("F9") if item.options == ("gate.success_step_one_ratio",))
    assert ratio.numbers["block_deviation"] == pytest.approx(0.0037, abs=5e-5)
    assert 0 < ratio.numbers["deviations_away"] < 1


def test_f10_blocks_warnings_and_reinjections() -> None:
    blocks, warning, reinjections = REPORT.of("F10")
    assert "7 of 11 blocks" in blocks.text and blocks.numbers["unreached"] == [5, 6, 7, 8, 9, 10, 11]
    assert "iterations 57 to 60" in warning.text
    assert (reinjections.numbers["reinjections"], reinjections.numbers["reinjections_legacy"]) == (0, 1)
    assert reinjections.severity == "unreachable" and reinjections.numbers["minimum"] == 2
    for finding in (blocks, reinjections):  # the repair is the longest reset that does it
        assert finding.repair is not None
        steps = finding.repair.changes["deck.force_reset_steps"]
        reached, missed = (queue()._replace(episode_steps=length).reading(60) for length in (steps, steps + 1))
        if finding is blocks:
            assert reached.block is None or reached.block.number == 11
            assert missed.block is not None and missed.block.number == 10
        else:
            assert (reached.reinjections["ne"], missed.reinjections["ne"]) == (2, 1)


def test_v41_fails_alike() -> None:
    report = check(question("v41"))
    assert [report.of(code)[0].severity for code in ("F1", "F7")] == ["infeasible", "infeasible"]
    assert report.of("F1")[0].numbers["events"] == only("F1").numbers["events"]
    assert all(row["threshold"] == 18 for row in report.of("F7")[0].numbers["exceeded"] if row["name"] == "step_one")


def test_v40_fails_on_the_deck_of_v42_and_by_its_floor_on_its_own() -> None:
    v40 = question("v40")
    shared = check(replace(v40, deck=V42.deck))
    assert [shared.of(code)[0].severity for code in ("F1", "F7")] == ["infeasible", "infeasible"]
    own = check(v40)  # its deck deals ne again at 48, whose window is full by then: a perfect policy reaches level 1
    assert [own.of(code)[0].severity for code in ("F1", "F7")] == ["unreachable", "infeasible"]
    repair = own.of("F1")[0].repair
    assert repair is not None
    assert highest_level(repaired_gate(v40.gate, repair), perfect(v40.evaluation, v40.moments)) == 3


def test_a_report_is_json() -> None:
    table = json.loads(json.dumps(REPORT.to_json()))
    assert table["feasible"] is False
    assert {"code", "severity", "options", "numbers", "text", "repair"} == set(table["findings"][0])


# --- other gates ---------------------------------------------------------------------------------------------------

PLAN = EvaluationPlan(10, 20, 96)
GOOD = GateSettings(
    phase_allowance=(1, 2),
    freeze_iterations=0,
    success_freeze_iterations=0,
    success_early_death_window=1,
    success_p10_window=2,
)


def ask(gate: GateSettings = GOOD, **changes: Any) -> Question:
    plain = Question(gate=gate, schedule=parse_schedule("15:40,25:40"), evaluation=PLAN, total_iterations=80)
    return replace(plain, **changes)


def codes(question: Question) -> list[tuple[str, str]]:
    return [(item.code, item.severity) for item in check(question).findings]


def test_a_good_gate_has_no_findings_and_says_what_was_not_checked() -> None:
    report = check(ask())
    assert report.feasible and report.findings == ()
    assert [text.split()[0] for text in report.left_out] == ["F7", "F8", "F9", "F10", "F11"]


def test_a_freeze_that_outlasts_the_interval_kills_every_streak() -> None:
    report = check(ask(replace(GOOD, required_successes=2, success_freeze_iterations=11)))
    (finding,) = report.of("F5")
    assert finding.severity == "infeasible" and not report.feasible
    assert report.of("F1")[0].severity == "infeasible"
    assert finding.repair is not None and finding.repair.changes == {"gate.success_freeze_iterations": 10}


def test_a_lock_over_everything_is_infeasible_and_the_longest_good_lock_is_found() -> None:
    (finding,) = check(ask(replace(GOOD, lock_iteration=80, required_successes=2))).of("F6")
    assert finding.severity == "infeasible"
    assert finding.repair is not None and finding.repair.changes == {"gate.lock_iteration": 69}


def test_floors_beyond_an_avoidable_limit_do_not_matter() -> None:
    floors = [Floor(60, 60, 9)]
    assert codes(ask(replace(GOOD, success_avoidable_step_one=0), floors=floors)) == []
    assert codes(ask(replace(GOOD, success_step_one=59), floors=floors)) == [("F7", "infeasible")]


def test_min_final_above_its_ceiling_is_infeasible() -> None:
    (finding,) = check(ask(replace(GOOD, success_min_final=0.95), floors=[Floor(30, 30, 12)])).of("F7")
    assert finding.severity == "infeasible"
    assert finding.repair is not None and finding.repair.changes == {"gate.success_min_final": 0.87}


def test_a_reference_that_gets_through_is_not_mentioned() -> None:
    good, bad = Reference(500.0, 0.02, 0.9, 30), Reference(60.0, 0.2, 0.9, 30)
    assert codes(ask(reference=[good])) == []
    assert codes(ask(reference=[bad])) == [("F8", "warn")]


def test_best_model_limits_below_the_floor_are_dead() -> None:
    limits = [BestLimit("best.step_one", "step_one", 10), BestLimit("best.min_final", "min_final", 0.8)]
    (finding,) = check(ask(floors=[Floor(30, 30, 12)], best_limits=limits)).findings
    assert (finding.code, finding.severity, finding.options) == ("F12", "dead", ("best.step_one",))
    assert "F12 best-model rule: no floors were given" in check(ask(best_limits=limits)).left_out


def test_shapes_that_do_not_fit() -> None:
    assert codes(ask(total_iterations=90)) == [("F11", "infeasible")]
    assert codes(ask(replace(GOOD, phase_allowance=(1, 3)))) == [("F11", "dead")]
    assert codes(ask(misfits=density_problems(density(), parse_schedule("25:40"))))[0] == ("F11", "infeasible")
    assert codes(ask(learning_rates=[1e-3] * 79 + [0.0])) == []
    assert codes(ask(learning_rates=[1e-3] * 40 + [0.0] + [1e-3] * 39)) == [("F11", "warn")]


def test_a_type_that_is_never_judged_and_resets_that_never_come() -> None:
    deck = V42.deck
    assert deck is not None
    late = replace(deck, queue=deck.queue._replace(rollout_steps=1))  # so slow that only ne is ever dealt
    found = check(replace(V42, deck=late)).of("F10")
    assert {item.options[0] for item in found if "no evaluation takes place while main" in item.text} >= {
        "gate.by_type.main.success_step_one"
    }
    assert any("never acts: the longest phase has 10 steps" in item.text for item in found)
    own_end = replace(deck, settings=replace(deck.settings, force_reset_steps=500))
    assert any("end by themselves after 500" in item.text for item in check(replace(V42, deck=own_end)).of("F10"))


def test_wrong_input_is_one_clear_error() -> None:
    deck = V42.deck
    assert deck is not None
    with pytest.raises(ConfigError, match="floors: 2 given for 8 evaluations"):
        check(ask(floors=[Floor(1, 1, 1)] * 2))
    with pytest.raises(ConfigError, match=r"deck\.min_reinjections: the deck never has type nw"):
        check(replace(V42, deck=replace(deck, settings=replace(deck.settings, min_reinjections="nw:2"))))
    with pytest.raises(ConfigError, match="there is no deck"):
        check(ask(replace(GOOD, by_type={"ne": {"success_p10": 100}})))


SLOW_GATES = st.builds(
    GateSettings,
    phase_allowance=st.sampled_from([(1, 2), (1, 2, 3, 4)]),
    lock_iteration=st.integers(0, 90),
    required_successes=st.integers(1, 6),
    freeze_iterations=st.integers(0, 30),
    success_freeze_iterations=st.integers(0, 30),
    success_early_death_window=st.integers(1, 8),
    success_p10_window=st.integers(1, 8),
)


@settings(max_examples=60, deadline=None)
@given(SLOW_GATES)
def test_every_timing_repair_keeps_its_word(gate: GateSettings) -> None:
    question = ask(gate, schedule=parse_schedule("5:20,5:20,5:20,5:20"))
    evaluations = perfect(PLAN, question.moments)
    before = highest_level(gate, evaluations)
    for finding in check(question).of("F1"):
        assert finding.numbers["highest_level"] == before < gate.max_level
        assert (finding.severity == "infeasible") == (before == 0)
        if finding.repair is not None:
            after = highest_level(repaired_gate(gate, finding.repair), evaluations)
            assert after >= (1 if before == 0 else gate.max_level)


LIMITED_GATES = st.builds(
    GateSettings,
    phase_allowance=st.just((1, 2)),
    required_successes=st.integers(1, 3),
    freeze_iterations=st.just(0),
    success_freeze_iterations=st.just(0),
    success_step_one=st.none() | st.integers(0, 60),
    success_step_one_ratio=st.none() | st.floats(0.001, 0.04),
    success_early_death=st.floats(0.001, 0.2),
    success_early_death_window=st.integers(1, 2),
    success_min_final=st.none() | st.floats(0.5, 1),
)
FLOORS = st.lists(st.builds(Floor, st.integers(0, 60), st.integers(0, 80), st.integers(0, 20)), min_size=8, max_size=8)


@settings(max_examples=60, deadline=None)
@given(LIMITED_GATES, FLOORS)
def test_every_limit_repair_keeps_its_word(gate: GateSettings, floors: list[Floor]) -> None:
    question = ask(gate, floors=floors)
    evaluations = floor_limited(PLAN, question.moments, floors)
    for finding in check(question).of("F7"):
        assert (finding.severity == "infeasible") == (highest_level(gate, evaluations) == 0)
        if finding.repair is not None:
            assert highest_level(repaired_gate(gate, finding.repair), evaluations) == 1
        elif finding.severity == "infeasible":
            pytest.fail("limits alone are wrong here, so relaxing them must open the gate")


@settings(max_examples=60, deadline=None)
@given(LIMITED_GATES, FLOORS)
def test_a_dead_count_or_ratio_can_be_removed_without_changing_a_decision(
    gate: GateSettings, floors: list[Floor]
) -> None:
    question = ask(gate)
    evaluations = floor_limited(PLAN, question.moments, floors)
    for finding in check(question).of("F2"):
        without = repaired_gate(gate, finding.repair)
        assert without != gate
        assert [record.event for record in run_gate(without, evaluations)] == [
            record.event for record in run_gate(gate, evaluations)
        ]
