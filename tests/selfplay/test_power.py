"""The power check: what is planted for challengers to find, and that it can be found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from holdfast.games.pursuit.world.settings import PursuitSettings
from holdfast.selfplay.blindness import Blind, bearing, is_blind, told_turn
from holdfast.selfplay.certificate import FROZEN
from holdfast.selfplay.matches import Contender
from holdfast.selfplay.power import disturbed, has_room, loss, planted_noise, planted_width
from holdfast.selfplay.response import CHALLENGER, Setting, measure
from holdfast.selfplay.rota import FIRST, SECOND
from holdfast.worlds.api import random_policy
from holdfast.worlds.registry import make_world

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PAIR = BENCHMARKS / "results" / "pursuit_certified" / "101.safetensors"


@pytest.mark.parametrize(
    ("per_degree", "width"), [(0.0, 120), (0.15 / 120, 120), (0.15 / 119, 110), (0.005, 30), (1.0, 10)]
)
def test_a_blind_spot_is_as_wide_as_the_incumbent_hardly_profits_from(per_degree: float, width: int) -> None:
    assert planted_width(lambda degrees: per_degree * degrees) == width


@pytest.mark.parametrize(("rate", "room"), [(0.0, True), (0.5, True), (0.75, True), (0.76, False), (0.92, False)])
def test_only_a_role_with_duels_left_to_win_is_given_a_blind_spot(rate: float, room: bool) -> None:
    assert has_room(rate) == room


@pytest.mark.parametrize(("per_noise", "noise"), [(1.0, 0.1), (0.21, 0.5), (0.034, 3.0), (0.0, 3.0)])
def test_a_role_is_disturbed_until_it_loses_what_must_be_found(per_noise: float, noise: float) -> None:
    assert planted_noise(lambda given: per_noise * given) == pytest.approx(noise)


def test_more_noise_is_more_of_the_same() -> None:
    own = {"optimizer/parameters": np.linspace(-1.0, 1.0, 1000, dtype=np.float32), "observations/mean": np.ones(3)}
    before = {name: array.copy() for name, array in own.items()}
    little, much = (disturbed(own, noise) for noise in (0.1, 0.3))
    added = [found["optimizer/parameters"] - own["optimizer/parameters"] for found in (little, much)]
    np.testing.assert_allclose(added[1], 3.0 * added[0], atol=1e-6)
    assert added[0].std() == pytest.approx(0.1 * own["optimizer/parameters"].std(), rel=0.1)
    assert little["optimizer/parameters"].dtype == np.float32
    for name, array in own.items():
        np.testing.assert_array_equal(array, before[name])
    np.testing.assert_array_equal(little["observations/mean"], own["observations/mean"])


def test_a_blind_spot_is_on_the_side_that_the_challenger_is_told() -> None:
    settings = PursuitSettings(obs="flat_masked", heading="sincos", mirror=True)
    world = make_world("pursuit", settings, 256, seed=3, threads=1)
    world.reset()
    for _ in range(5):
        world.step(random_policy(world))
    for role in (FIRST, SECOND):
        turn = told_turn(world, 1 - role)
        assert set(np.unique(turn)) == {-1.0, 1.0}
        degrees = np.degrees(bearing(world, role))
        told_left = np.where(turn > 0, degrees, -degrees)
        expected = (told_left >= 30.0) & (told_left <= 150.0)
        assert 0 < expected.sum() < 256
        np.testing.assert_array_equal(is_blind(world, Blind(role, 30.0, 150.0)), expected)
    world.close()


def test_an_evader_makes_up_some_of_a_planted_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pair of a certified seed, with a fiftieth of the budget that the power check has."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from pursuit_certified import kept_pair

    case = kept_pair(PAIR, ["--response.duels=1000", "--rollout.threads=1"])
    setting = Setting(case.config, case.ladder, case.level, SECOND, Contender(FROZEN, case.pair[FIRST]))
    own = case.pair[SECOND]
    plain = measure(setting, Contender(CHALLENGER, own), 1000)
    assert plain[0] / plain[1] > 0.85 and not has_room(plain[0] / plain[1])
    found = loss(setting, own, plain, 8 * 512 * 64)
    assert found["check"] == "makes up a planted loss" and found["incumbent"] <= found["undisturbed"] - 0.10
    assert found["gain"] == pytest.approx(found["challenger"] - found["incumbent"])
    assert found["low"] > 0.0 and found["low"] < found["gain"] < found["high"]
    enough = found["gain"] >= 0.10 and found["low"] > 0.05 and found["challenger"] >= found["undisturbed"] - 0.02
    assert found["found"] == enough
