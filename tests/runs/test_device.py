"""Work that this machine cannot do in a sensible time is refused before hours are lost, unless it is wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.runs.device import MEASURED, Pace, count_macs
from holdfast.runs.errors import TooLarge, TooSlow
from holdfast.state import initial_state
from tests.conftest import finished_run, small_config


def test_multiply_adds_are_counted() -> None:
    (learner,) = initial_state(small_config(**{"policy.hidden": "32,8"})).learners.values()
    assert count_macs(learner) == 2 * (16 * 32 + 32 * 8) + 8 * 3 + 8 * 1
    (recurrent,) = initial_state(
        small_config(**{"policy.hidden": "32", "policy.core": "gru", "policy.core_size": "4"})
    ).learners.values()
    assert count_macs(recurrent) == 16 * 32 + 3 * 4 * (32 + 4) + 4 * 3 + 4 * 1


def test_a_network_that_is_far_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.runs.device.MOST_MACS", 1000)
    with pytest.raises(TooLarge, match=r"player takes 10,4\d\d multiply-adds .* --run.allow_slow true"):
        finished_run(tmp_path)
    _, result = finished_run(tmp_path, **{"run.allow_slow": "true", "run.iterations": "1"})
    assert result.outcome == "finished"


def test_a_hopeless_pace_is_given_up_after_a_few_iterations() -> None:
    pace = Pace(allow_slow=False)
    pace.check(100, 1000.0)  # the first one compiles
    for _ in range(MEASURED - 1):
        pace.check(100, 10.0)
    with pytest.raises(TooSlow, match=r"does 10\.0 agent-steps/s"):
        pace.check(100, 10.0)
    steady = Pace(allow_slow=False)
    for seconds in [10.0, 1.0, 1.0, 1.0, 1.0, 1000.0, 1000.0]:
        steady.check(100, seconds)
    wanted = Pace(allow_slow=True)
    for _ in range(2 * MEASURED):
        wanted.check(1, 1000.0)
