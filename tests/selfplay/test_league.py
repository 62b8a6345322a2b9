"""The pool: members cannot change, every offer has a fair chance, draws follow measured results; ratings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from holdfast.kit.errors import CheckpointError
from holdfast.learner.normalize import Moments
from holdfast.selfplay.league import Member, Pool, make_pool
from holdfast.selfplay.ratings import circular_share, ratings, restricted_gap, solve
from holdfast.selfplay.settings import LeagueConfig
from holdfast.selfplay.vault import Vault


class Thing:
    """The least that can be frozen."""

    def __init__(self) -> None:
        self.moments = Moments(3)

    def parts(self) -> dict[str, Moments]:
        return {"moments": self.moments}


def test_a_frozen_policy_does_not_follow_its_learner() -> None:
    thing, vault = Thing(), Vault()
    first = vault.freeze(thing)
    thing.moments.update(torch.ones(4, 3))
    second = vault.freeze(thing)
    assert first != second
    assert vault.take(first)["moments/count"][0] == 0 and vault.take(second)["moments/count"][0] == 4
    vault.thaw(first, thing)
    assert float(thing.moments.count) == 0


def test_a_frozen_policy_refuses_writes_and_a_changed_one_is_named() -> None:
    thing, vault = Thing(), Vault()
    name = vault.freeze(thing)
    with pytest.raises(ValueError, match="read-only"):
        vault.kept[name]["moments/mean"][0] = 1.0
    vault.kept[name]["moments/mean"] = np.ones(3)
    with pytest.raises(CheckpointError, match=f"{name} is damaged"):
        vault.take(name)


def test_a_vault_comes_back_whole_and_damage_on_disk_is_found() -> None:
    thing, vault = Thing(), Vault()
    name = vault.freeze(thing)
    saved = {path: np.array(array) for path, array in vault.arrays([name]).items()}
    again = Vault()
    again.restore(saved)
    assert again.kept.keys() == {name}
    saved[f"{name}/moments/mean"][0] = 5.0
    with pytest.raises(CheckpointError, match=name):
        Vault().restore(saved)


def test_reservoir_keeps_every_offer_with_the_same_chance() -> None:
    settings, kept = LeagueConfig(size=5), np.zeros(20)
    for seed in range(2000):
        pool = make_pool(seed, 0)
        for number in range(20):
            pool.offer(str(number), number, settings)
        for member in pool.members:
            kept[int(member.hash)] += 1
    assert np.abs(kept / 2000 - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 2000)


def test_newest_keeps_the_newest() -> None:
    settings, pool = LeagueConfig(size=3, keep="newest"), make_pool(1, 0)
    left = [pool.offer(str(number), number, settings) for number in range(5)]
    assert [member.hash for member in pool.members] == ["2", "3", "4"]
    assert [member.hash for member in left if member] == ["0", "1"]


@pytest.mark.parametrize("keep", ["reservoir", "newest"])
def test_challengers_have_places_of_their_own(keep: Any) -> None:
    settings, pool = LeagueConfig(size=3, keep=keep), make_pool(1, 0)
    for number in range(40):
        pool.offer(f"earlier {number}", number, settings)
        pool.admit(f"challenger {number}", number, settings)
    assert pool.admit("challenger 39", 40, settings) is None  # one that gained nothing
    challengers = [member.hash for member in pool.members if member.challenger]
    assert challengers == ["challenger 37", "challenger 38", "challenger 39"]
    assert len(pool.members) == 6 and Pool.from_json(pool.to_json()) == pool


def beaten(rates: list[float]) -> Pool:
    return Pool(7, [Member(str(i), 0, wins=rate * 998 - 1 + rate * 2, duels=998) for i, rate in enumerate(rates)])


@pytest.mark.parametrize("draw", ["hard", "variance", "uniform"])
def test_draws_follow_the_measured_rates(draw: str) -> None:
    settings = LeagueConfig(active=1, draw=draw)  # type: ignore[arg-type]
    pool = beaten([0.9, 0.5, 0.2])
    expected = {"hard": [0.01, 0.25, 0.64], "variance": [0.09, 0.25, 0.16], "uniform": [1, 1, 1]}[draw]
    drawn = np.bincount([int(pool.draw(settings)[0].hash) for _ in range(10_000)], minlength=3)
    wanted = 10_000 * np.array(expected) / sum(expected)
    assert ((drawn - wanted) ** 2 / wanted).sum() < 13.8  # chi-squared, 2 degrees of freedom, p = 0.001


def test_old_results_fade_by_half_life() -> None:
    member = Member("a", 0)
    member.add(200, 200, 200.0)
    member.add(0, 200, 200.0)
    assert member.wins == pytest.approx(100.0) and member.duels == pytest.approx(300.0) and member.met == 400


def test_a_draw_has_no_member_twice_and_a_pool_comes_back_the_same() -> None:
    settings, pool = LeagueConfig(active=3), beaten([0.9, 0.5, 0.2, 0.4])
    assert len({member.hash for member in pool.draw(settings)}) == 3
    again = Pool.from_json(pool.to_json())
    assert again == pool and again.draw(settings) == pool.draw(settings)


def test_ratings_recover_known_strengths() -> None:
    rows, columns = np.array([200.0, 0.0, -100.0]), np.array([50.0, -150.0])
    chance = 1.0 / (1.0 + 10 ** ((columns[None, :] - rows[:, None]) / 400.0))
    found_rows, found_columns = ratings(chance * 1e6, np.full((3, 2), 1e6))
    np.testing.assert_allclose(found_rows, rows, atol=0.1)
    np.testing.assert_allclose(found_columns, columns, atol=0.1)


def test_rock_paper_scissors_is_worth_one_half_and_goes_round() -> None:
    table = np.array([[0.5, 0.0, 1.0], [1.0, 0.5, 0.0], [0.0, 1.0, 0.5]])
    solution = solve(table)
    assert solution.value == pytest.approx(0.5, abs=1e-3) and solution.gap < 2e-3
    np.testing.assert_allclose(solution.rows, 1 / 3, atol=2e-3)
    assert circular_share(table) == pytest.approx(6 / 9)  # by hand: a pair tied with one of the two is no circle
    assert restricted_gap(table, 0, 0) == 0.5


def test_a_table_with_an_order_has_no_circles() -> None:
    table = np.array([[0.9, 0.8], [0.5, 0.4]])
    assert circular_share(table) == 0.0
    assert solve(table).value == pytest.approx(0.8, abs=1e-3)
    assert restricted_gap(table, 0, 1) == 0.0
