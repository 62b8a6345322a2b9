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
        ({"success_early_death_by_type": "ne:1.3"}, "gate.success_early_death_by_type: ne:1.3 must be at most 1"),
        ({"success_step_one_by_type": "ne:4.5"}, "gate.success_step_one_by_type: ne:4.5 must be a whole number"),
        ({"failure_tolerance_by_type": "main:0"}, "gate.failure_tolerance_by_type: main:0 must be at least 1"),
        ({"success_p10_by_type": "west:100"}, "gate.success_p10_by_type: the deck never has type west"),
        ({"success_p10_by_type": "main=100"}, "gate.success_p10_by_type: item 1, 'main=100'"),
        ({"success_p10_window": 8}, "gate.success_p10_window = 8 is longer than the run, which has 7 evaluations"),
        ({"success_early_death_window_by_type": "main:9"}, "window_by_type: main = 9 is longer than the run"),
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
        check_gate(GateSettings(success_early_death=2.0, success_p10_by_type="x:1", failure_p10_by_type="a"), TYPES, 7)
    assert len(caught.value.problems) == 3


def test_the_window_of_a_criterion_that_is_off_does_not_matter() -> None:
    assert gate_problems(GateSettings(success_p10=None, success_p10_window=99), TYPES, 7) == []


def test_the_published_gates_have_no_such_problem() -> None:
    for version in ("v40", "v41", "v42"):
        assert gate_problems(imported(version).gate, TYPES, 7) == []
