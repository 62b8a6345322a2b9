"""How long the first turns are where turns warm up."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.selfplay import rota
from tests.selfplay.levelled import events_of, levelled_pair
from tests.selfplay.running import begun


def test_a_cold_start_is_no_part_of_the_warm_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rollout has 128 steps of the seeker, and less than 256 of the hiders, one of whom leaves early."""
    monkeypatch.setattr(rota, "WARMUP", ((256, 0.25), (768, 0.5)))
    words = {"duel.warmup": "true", "duel.turn_steps": "1024", "health.on_domination": "ignore"}
    cold = {"duel.cold_start": "second", "duel.cold_start_steps": "512", "run.iterations": "14"}
    run, pair = levelled_pair(tmp_path, **words, **cold)
    begun(run)
    turns = events_of(run, "turn")
    assert [turn["rollouts"] for turn in turns if turn["stage"] == "exercise"] == [2]
    assert [turn["rollouts"] for turn in turns if turn["stage"] == "play"] == [2, 2, 4, 4]
    sides = pair.book.sides
    assert pair.book.play_steps == sum(side.steps - side.cold_steps for side in sides) and sides[1].cold_steps > 256
