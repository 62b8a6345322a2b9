"""Bad gate options: one clear problem each, naming the option and the part of its text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.curriculum.gate_check import check_gate, gate_problems
from holdfast.curriculum.gate_settings import GateSettings
from holdfast.kit.errors import ConfigError
from tests.curriculum.published import imported

TYPES = ("ne", "main")


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"success_early_death": 1.5}, "gate.success_early_death = 1.5 must be at most 1"),
        (
            {"by_type": {"ne": {"success_early_death": 1.3}}},
            "gate.by_type.ne.success_early_death = 1.3 must be at most 1",
        ),
        (
            {"by_type": {"ne": {"success_step_one": 4.5}}},
            "gate.by_type.ne.success_step_one = 4.5 must be a whole number",
        ),
        ({"by_type": {"main": {"failure_tolerance": 0}}}, "gate.by_type.main.failure_tolerance = 0 must be at least 1"),
        ({"by_type": {"west": {"success_p10": 100}}}, "gate.by_type: the deck never has type west"),
        ({"by_type": {"main": {"success_p1": 100}}}, "the gate has no success_p1 by type (did you mean success_p10?)"),
        ({"by_type": {"main": 3}}, "gate.by_type.main must be a table of options, not 3"),
        ({"by_type": {"main": {"success_p10": "7"}}}, "gate.by_type.main.success_p10 = '7' is not a number"),
        ({"success_p10_window": 8}, "gate.success_p10_window = 8 is longer than the run, which has 7 evaluations"),
        (
            {"by_type": {"main": {"success_early_death_window": 9}}},
            "gate.by_type.main.success_early_death_window = 9 is longer than the run",
        ),
        ({"phase_allowance": ()}, "gate.phase_allowance is empty"),
        ({"phase_allowance": (4, 4)}, "gate.phase_allowance must rise"),
        ({"success_early_death": None, "success_p10": None}, "every success criterion is off"),
    ],
)
def test_each_mistake_is_one_problem(changes: dict[str, object], part: str) -> None:
    (problem,) = gate_problems(replace(GateSettings(), **changes), TYPES, 7)  # type: ignore[arg-type]
    assert part in problem


def test_problems_are_told_together() -> None:
    with pytest.raises(ConfigError) as caught:
        check_gate(GateSettings(success_early_death=2.0, by_type={"x": {"success_p10": 1}, "ne": {"a": 2}}), TYPES, 7)
    assert len(caught.value.problems) == 3


def test_the_window_of_a_criterion_that_is_off_does_not_matter() -> None:
    assert gate_problems(GateSettings(success_p10=None, success_p10_window=99), TYPES, 7) == []


def test_the_published_gates_have_no_such_problem() -> None:
    for version in ("v40", "v41", "v42"):
        assert gate_problems(imported(version).gate, TYPES, 7) == []
