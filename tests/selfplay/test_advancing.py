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


def test_a_warm_start_is_no_reason_to_advance_again(tmp_path: Path) -> None:
    """However often the first role wins: every level has a whole turn of the second one before the next."""
    warm = {"duel.warm_start": "true", "duel.warm_start_steps": "128", "duel.evader_first": "true"}
    run, _ = levelled_pair(tmp_path, **{**CAPTURES, **warm, "run.iterations": "8"})
    rated(run, lambda iteration: 1.0)
    begun(run)
    turns = [(turn["level"], turn["stage"], turn["roles"][0]) for turn in events_of(run, "turn")]
    assert turns[:5] == [
        (0, "play", "seeker"), (1, "warm", "hider"), (1, "play", "hider"), (2, "warm", "hider"), (2, "play", "hider"),
    ]  # fmt: skip


def test_a_level_that_was_reached_is_not_left_before_the_other_role_had_its_turn(tmp_path: Path) -> None:
    words = {"duel.train_ratio": "3", "duel.turn_steps": "128", "run.iterations": "8"}
    run, _ = levelled_pair(tmp_path, **{**CAPTURES, **words})
    rated(run, lambda iteration: 0.9)
    begun(run)
    turns = [(turn["level"], turn["roles"][0]) for turn in events_of(run, "turn")]
    assert turns == [
        (0, "seeker"), (1, "seeker"), (1, "seeker"), (1, "hider"),
        (2, "seeker"), (3, "seeker"), (3, "seeker"), (3, "hider"),
    ]  # fmt: skip


def test_a_role_that_never_learns_is_not_waited_for(tmp_path: Path) -> None:
    words = {"duel.freeze_role": "second", "duel.turn_steps": "128", "run.iterations": "3"}
    run, _ = levelled_pair(tmp_path, **{**CAPTURES, **words})
    rated(run, lambda iteration: 1.0)
    begun(run)
    assert [event["iteration"] for event in events_of(run, "advance")] == [1, 2, 3]
