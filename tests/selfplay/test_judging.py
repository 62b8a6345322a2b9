"""Which of several frozen policies is the best: the right one, and whoever is clearly behind plays less."""

from __future__ import annotations

import pytest
import torch

from holdfast.config.sections import Config
from holdfast.selfplay import judging
from holdfast.selfplay.judging import best_of
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.matches import Arrays
from holdfast.selfplay.vault import arrays_of
from holdfast.state import fresh_learners
from tests.conftest import small_config
from tests.selfplay.test_duel import PENNIES, SELFPLAY
from tests.two_roles import Pennies, PennySettings


def showing(config: Config, role: str, heads: float) -> Arrays:
    """A policy that shows heads with this logit."""
    made = fresh_learners(config, Pennies(PennySettings(), 1, seed=1))[role]
    with torch.no_grad():
        made.policy.action_layer.weight.zero_()
        made.policy.action_layer.bias.copy_(torch.tensor([heads, 0.0]))
    return arrays_of(made)


def test_the_best_is_found_and_the_hopeless_play_less(monkeypatch: pytest.MonkeyPatch) -> None:
    config = small_config(PENNIES, **{**SELFPLAY, "evaluation.episodes": "100", "evaluation.sampled": "true"})
    played: dict[int, int] = {}
    real = judging.play_matches

    def counted(ground, first, second, pairs, keys):  # type: ignore[no-untyped-def]
        for _, number in pairs:
            played[number] = played.get(number, 0) + len(keys)
        return real(ground, first, second, pairs, keys)

    monkeypatch.setattr(judging, "play_matches", counted)
    candidates = [("loses", showing(config, "hider", 9.0)), ("wins", showing(config, "hider", -9.0))]
    candidates += [("loses too", showing(config, "hider", 4.0))]
    rivals = [(f"heads {number}", showing(config, "seeker", 9.0)) for number in range(3)]
    ladder = Ladder(config, Pennies(PennySettings(), 1, seed=1).spec)
    best, lows = best_of(config, ladder, 0, candidates, rivals)
    assert best == 1 and lows[1] > max(lows[0], lows[2])
    assert played[0] == played[2] == played[1] // judging.FEW
