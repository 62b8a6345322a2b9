"""Events are told as a reader would tell them, whatever a stream holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.runs.folder import RunFolder
from holdfast.runs.reading import read_lines
from holdfast.views.event_words import DEEPEST, PLAIN, TELLERS, told
from holdfast.views.report.history import timeline_section
from holdfast.views.report.page import report_html
from holdfast.views.report.record import read_record
from holdfast.views.run_list import status_of
from tests.conftest import finished_run

DECISION = {
    "iteration": 10,
    "time": "",
    "eval_id": "000010",
    "type": "main",
    "event": "noop",
    "because": "not passed: early_death 0.076 > 0.05 by 0.026",
    "level": {"before": 0, "after": 0},
}


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ({"event": "interrupted", "signal": 15}, "SIGTERM"),
        ({"event": "interrupted", "signal": 4000}, "signal 4000"),
        ({"event": "failed", "error": "NonFinite", "text": "a NaN"}, "NonFinite: a NaN"),
        ({"event": "started", "notes": ["smaller batches"]}, "smaller batches"),
        (
            {"event": "gate", "iteration": 10, "decision": DECISION},
            "The gate stayed at level 0: not passed: early_death 0.076 > 0.05 by 0.026",
        ),
        (
            {"event": "phase", "before": {"fish": 25}, "after": {"phase": 2, "fish": 32}, "restarted": True},
            "Phase 2 begins: fish 25 to 32; all episodes begin anew",
        ),
        (
            {"event": "evaluation", "score": {"mean": 0.92, "low": 0.89, "high": 0.95, "worst": -0.3}, "best": 0.92},
            "Score 0.92 (0.89 to 0.95), worst episode −0.3; best so far 0.92",
        ),
        ({"event": "harvest", "situations": 3, "file": "decks/a.npz"},
         "Kept 3 situations from before losses in training, in decks/a.npz"),
        ({"event": "collapse", "role": "evader", "rate": 0.1, "threshold": 0.2, "policy": "ab"},
         "evader won only 0.1 (less than 0.2) and got policy ab back"),
        ({"event": "collapse", "role": "evader"}, "role evader"),  # of another version
        ({"event": "hold", "time": "now", "iteration": 3, "stage": "z2", "criteria": [{"value": 0.123456}, None]},
         "stage z2, criteria value 0.1235; none"),
    ],
)  # fmt: skip
def test_events_are_told_in_words(event: dict[str, Any], words: str) -> None:
    assert told(event) == words


def test_long_and_deep_events_stay_short() -> None:
    assert len(told({"event": "odd", "blob": "x" * 10_000})) < 500
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    assert "…" in told({"event": "odd", "deep": deep})
    assert DEEPEST < 900


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=5), inside, max_size=3),
    max_leaves=8,
)
FACTS = ("decision", "score", "before", "after", "level", "roles", "notes", "signal", "because", "rate", "role", "text")


@settings(deadline=None)
@given(st.sampled_from([*TELLERS, *PLAIN, "new"]), st.dictionaries(st.sampled_from(FACTS), json_values))
def test_no_event_breaks_a_timeline(kind: str, facts: dict[str, Any]) -> None:
    assert isinstance(told({"event": kind, **facts}), str)


def test_a_fish_runs_timeline_has_no_raw_fields(tmp_path: Path) -> None:
    options = {"world.steps": "20", "evaluation.world": '{"fish": 8, "steps": 20}', "gate.phase_allowance": "1,2,3"}
    run, _ = finished_run(tmp_path, "fish", **options)
    kinds = {event["event"] for event in read_lines(run.folder / "events.jsonl")}
    assert {"gate", "evaluation"} <= kinds
    page = timeline_section(read_record(run.folder))
    assert "The gate " in page
    assert "eval_id" not in page and "decision" not in page


def test_a_report_written_before_the_lock_is_given_back_knows_that_the_run_ended(tmp_path: Path) -> None:
    run, _ = finished_run(tmp_path)
    run.lock()
    try:
        page = report_html(read_record(run.folder))
        assert status_of(run.folder) == "finished"
        header = page.partition("<header>")[2].partition("</header>")[0]
        assert "no result.json" not in page and "finished" in header and "running" not in header
    finally:
        run.unlock()


def test_a_run_that_is_being_resumed_is_running(tmp_path: Path) -> None:
    run, _ = finished_run(tmp_path)
    again = RunFolder(run.folder)
    again.lock()
    try:
        with (run.folder / "heartbeat.jsonl").open("a") as file:
            file.write('{"time": "2026-01-01T00:00:00.000Z", "phase": "boot"}\n')
        assert status_of(run.folder) == "running"
    finally:
        again.unlock()
