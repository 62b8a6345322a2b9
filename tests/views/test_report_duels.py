"""The report of self-play: who learned when, how far from balance, what challengers gained, who beats whom."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kit.timing import Clock
from holdfast.runs.folder import RunFolder, create_run
from holdfast.runs.metrics import read_lines
from holdfast.train import train
from holdfast.views.report import write_report
from holdfast.views.report.duels import gap_limits, stretches
from holdfast.views.run_list import status_of
from holdfast.views.selfplay import show_crossplay
from holdfast.views.terminal import Quiet
from tests.conftest import finished_run
from tests.selfplay.test_duel import PENNIES, SELFPLAY, duel_config
from tests.views.test_report import Page

TESTED = {"response.certify": "true", "response.steps": "256", "response.duels": "100", "response.pass_gap": "0.9"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    still = {"learner.lr": "1e-6", "evaluation.sampled": "true", "evaluation.episodes": "64"}  # no alarm: near balance
    options = {**SELFPLAY, **TESTED, **still, "evaluation.every": "1", "response.midway": "false"}
    return finished_run(tmp_path_factory.mktemp("duels"), PENNIES, **options)[0].folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "first"))


def test_a_report_of_self_play_tells_its_story(folder: Path) -> None:
    page = Page(write_report(folder))
    for title in ("Who learned when", "Balance", "Best response", "Who beats whom"):
        assert title in page.text
    charts = page.charts()
    assert {"who learned when", "wins of the first role", "balance gap"} <= set(charts)
    assert {"challengers of the seeker", "challengers of the hider"} <= set(charts)
    tested = json.loads((folder / "result.json").read_text())["certificate"]
    assert f"Challengers gain {tested['gap']:.3f} at most" in page.text and "best-response test" in page.text
    assert "first: converged" in page.text and status_of(folder) == "converged"
    assert "holdfast crossplay" in page.text, "what is not there yet comes with its command"
    bars = [facts for tag, facts in page.tags if tag == "rect"]
    turns = [event for event in read_lines(folder / "events.jsonl") if event["event"] == "turn"]
    assert 2 <= len(bars) <= sum(len(turn["roles"]) for turn in turns)


def test_crossplay_is_a_table_of_the_report(folder: Path) -> None:
    run = RunFolder(folder)
    show_crossplay([run], 8, as_json=True)
    facts = json.loads((folder / "evals/crossplay.json").read_text())
    page = Page(write_report(folder))
    cells = [found["title"] for tag, found in page.tags if tag == "td" and " against " in found.get("title", "")]
    assert len(cells) == len(facts["rows"]) * len(facts["columns"]) and "holdfast crossplay" not in page.text
    first = f"{facts['rows'][0]} against {facts['columns'][0]}: {facts['rates'][0][0]:.3f}"
    assert cells[0] == first
    assert not [value for value in page.references() if "png" in value], "the picture would say the same again"


@pytest.mark.parametrize(
    "damage",
    [
        {"event": "turn", "iteration": "none", "roles": ["a"], "stage": "play", "level": 0},
        {"event": "turn", "iteration": 1, "roles": "a", "stage": "play", "level": 0},
        {"event": "evaluation", "iteration": 1, "wins": 1, "duels": 0},
        {"event": "best_response", "iteration": 1, "gap": 0.1, "pass_gap": 0.05, "verdict": "<b>", "sides": {"a": 3}},
        {"event": "rollback", "iteration": None},
    ],
)
def test_events_that_make_no_sense_are_passed_over(folder: Path, damage: dict[str, Any]) -> None:
    before = Page(write_report(folder)).charts()
    with (folder / "events.jsonl").open("a") as file:
        file.write(json.dumps(damage) + "\n")
    assert Page(write_report(folder)).charts() == before


@pytest.mark.parametrize("rates", [[[1.0]], "none", [[None, None]], []])
def test_a_matrix_that_is_none_is_not_shown(folder: Path, rates: Any) -> None:
    (folder / "evals/crossplay.json").write_text(json.dumps({"rows": ["a"], "columns": ["b", "c"], "rates": rates}))
    assert "No cross-play yet" in Page(write_report(folder)).text


def turn(iteration: int, *roles: str, level: int = 0, stage: str = "play") -> dict[str, Any]:
    return {"event": "turn", "iteration": iteration, "roles": list(roles), "level": level, "stage": stage}


def test_turns_in_a_row_are_one_stretch_until_something_changes() -> None:
    events = [
        turn(0, "b", stage="exercise"), turn(2, "a"), turn(4, "a"), turn(6, "b"), turn(7, "a", level=1),
        turn(8, "a", "b", level=1),
    ]  # fmt: skip
    found = [(one.role, one.stage, one.level, one.first, one.last, one.turns) for one in stretches(events, 9)]
    assert found == [
        ("b", "exercise", 0, 0, 2, 1), ("a", "play", 0, 2, 6, 2), ("b", "play", 0, 6, 7, 1), ("a", "play", 1, 7, 9, 2),
        ("b", "play", 1, 8, 9, 1),
    ]  # fmt: skip


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_the_gaps_limits_hold_for_every_rate_between(one: float, other: float, share: float) -> None:
    low, high = sorted((one, other))
    rate = low + share * (high - low)
    least, most = gap_limits(low, high)
    assert least - 1e-9 <= abs(2 * rate - 1) <= most + 1e-9


def test_challengers_give_signs_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test of many minutes is one phase of the run; it must not look like a stall."""
    beats: list[str] = []
    monkeypatch.setattr(Clock, "goes_on", lambda clock: beats.append(clock.phase))
    config = duel_config(tmp_path, **TESTED, **{"evaluation.every": "0", "run.iterations": "2"})
    train(config, create_run(config, "pennies", ["test"]), Quiet())
    assert len(beats) >= 4 and set(beats) == {"respond"}
