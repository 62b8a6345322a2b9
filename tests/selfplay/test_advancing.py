"""When a pair goes up: what an evaluation counts for, how far one leads, and what is kept of the level that is left."""

from __future__ import annotations

from pathlib import Path

from tests.selfplay.levelled import events_of, levelled_pair, rated
from tests.selfplay.running import begun

CAPTURES = {"levels.advance": "capture", "levels.min_escape": "0.0"}


def test_importance_is_told_only_where_it_was_measured(tmp_path: Path) -> None:
    """At the first advance the hider has not had a turn; at the next one it has."""
    words = {**CAPTURES, "ewc.strength": "1", "ewc.roles": "both", "run.iterations": "6"}
    run, _ = levelled_pair(tmp_path, **words)
    rated(run, lambda iteration: 1.0 if iteration in (2, 5) else 0.5)
    begun(run)
    assert [event["level"] for event in events_of(run, "advance")] == [1, 2]
    assert [(event["role"], event["level"]) for event in events_of(run, "ewc")] == [
        ("seeker", 0), ("seeker", 1), ("hider", 1),
    ]  # fmt: skip
    assert all(event["importance"] > 0.0 for event in events_of(run, "ewc"))
    (skipped,) = events_of(run, "ewc_skipped")
    assert (skipped["role"], skipped["level"], skipped["because"]) == ("hider", 0, "the role has not played yet")


def test_a_streak_begins_with_the_first_turn_of_play(tmp_path: Path) -> None:
    """The evaluation after the exercise is made and shown; a second turn of play must follow the first."""
    cold = {"duel.cold_start": "second", "duel.cold_start_steps": "256"}
    run, _ = levelled_pair(tmp_path, **{"levels.advance": "balance", **cold, "run.iterations": "6"})
    rated(run, lambda iteration: 0.5)
    begun(run)
    moved = events_of(run, "advance")[0]["iteration"]
    turns = [(turn["stage"], turn["roles"]) for turn in events_of(run, "turn") if turn["iteration"] < moved]
    assert turns == [("exercise", ["hider"]), ("play", ["seeker"]), ("play", ["hider"])]
    evaluated = [event["iteration"] for event in events_of(run, "evaluation") if event["iteration"] <= moved]
    assert len(evaluated) == 3
