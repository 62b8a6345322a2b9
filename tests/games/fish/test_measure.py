"""Every number of an evaluation on cases small enough to be counted by hand, and on a played one."""

import numpy as np
import pytest

from holdfast.games.fish.world.evaluation import evaluated_schools
from holdfast.games.fish.world.fish import FishSettings
from holdfast.games.fish.world.measure import (
    Cluster,
    EvaluatedSchools,
    high_speed_share,
    lifetimes,
    measure,
    step_one_clusters,
    survival_curve,
    worst10,
)
from holdfast.kit.errors import WorldError
from holdfast.rollout.evaluate import Evaluation


def velocity(heading_deg: float, speed: float) -> list[float]:
    return [speed * np.cos(np.radians(heading_deg)), speed * np.sin(np.radians(heading_deg))]


def hand_made() -> EvaluatedSchools:
    """Three episodes of four fish: 5 deaths in step one, 3 of them unavoidable."""
    return EvaluatedSchools(
        death_step=np.array([[1, 1, 1, -1], [1, 99, 100, 149], [-1, 1, 500, -1]], np.int16),
        step_limit=500,
        first_pred_vel=np.array([velocity(95, 1.7), velocity(145, 1.61), velocity(359.999, 1.0)], np.float32),
        floor_step_one=np.array([2, 1, 0]),
        floor=np.array([2, 2, 0]),
    )


def test_survival() -> None:
    found = measure(hand_made())
    assert (found["episodes"], found["fish"]) == (3, 4)
    assert found["avg_final"] == pytest.approx((1 + 0 + 2) / 12)
    assert found["min_final"] == 0.0
    assert found["worst10_final"] == 0.0
    assert 0.0 <= found["avg_final_low"] <= found["avg_final"] <= found["avg_final_high"] <= 0.5


def test_worst_tenth_is_rounded_up() -> None:
    shares = np.array([0.9, 0.5, 0.7, 0.8, 0.95, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert worst10(shares) == 0.5
    assert worst10(np.append(shares, 0.3)) == pytest.approx(0.4)


def test_deaths_in_time() -> None:
    found = measure(hand_made())
    lived = sorted([1, 1, 1, 500, 1, 99, 100, 149, 500, 1, 500, 500])
    assert sorted(lifetimes(hand_made()).ravel().tolist()) == lived
    assert found["death_p10"] == 1.0
    assert found["death_p50"] == pytest.approx((99 + 100) / 2)
    assert found["death_p75"] == 500.0
    assert found["death_mean"] == pytest.approx(np.mean(lived))
    assert found["early_100"] == pytest.approx(6 / 12)
    assert found["early_150"] == pytest.approx(8 / 12)


def test_first_deaths_are_not_the_deaths_of_the_first_tenth() -> None:
    death_step = np.full((11, 10), -1)
    death_step[:, 0] = np.arange(10, 120, 10)  # one death per episode: a tenth of all fish
    found = measure(hand_made()._replace(death_step=death_step, first_pred_vel=np.ones((11, 2))))
    assert found["first_death_step_p10"] == 20.0
    assert found["death_p10"] > 100.0


def test_survivors_of_a_short_evaluation_died_in_no_step() -> None:
    found = measure(hand_made()._replace(death_step=np.array([[1, -1], [-1, -1], [-1, -1]]), step_limit=80))
    assert found["early_100"] == pytest.approx(1 / 6)
    assert found["death_p90"] == 80.0


def test_step_one_and_its_floor() -> None:
    found = measure(hand_made())
    assert (found["step_one"], found["floor_step_one"], found["avoidable_step_one"]) == (5, 3, 2)
    assert found["step_one_ratio"] == pytest.approx(5 / 12)
    assert found["floor_step_one_ratio"] == pytest.approx(3 / 12)
    assert found["avoidable_step_one_ratio"] == pytest.approx(2 / 12)
    assert (found["floor"], found["floor_ratio"]) == (4, pytest.approx(4 / 12))
    assert found["ceiling_avg"] == pytest.approx(1 - 4 / 12)
    assert found["ceiling_min"] == 0.5


def test_clusters_are_sorted_by_size_then_place() -> None:
    first, second, third = step_one_clusters(hand_made())
    assert first == Cluster(90.0, pytest.approx(1.6), 3, 0.6)
    assert second == Cluster(120.0, pytest.approx(1.6), 1, 0.2)
    assert third == Cluster(330.0, pytest.approx(0.8), 1, 0.2)
    assert measure(hand_made())["top_share"] == 0.6


def test_high_speed_shares() -> None:
    shares = high_speed_share(hand_made())
    assert shares.tolist() == pytest.approx([0, 0, 0, 0.6, 0.2, 0, 0, 0, 0, 0, 0, 0])
    assert measure(hand_made())["hs_share_090_150"] == pytest.approx(0.8)


def test_without_step_one_deaths_there_are_no_clusters() -> None:
    found = hand_made()._replace(death_step=np.full((3, 4), -1))
    assert step_one_clusters(found) == []
    assert (measure(found)["top_share"], measure(found)["hs_share_090_150"]) == (0.0, 0.0)


def test_survival_curve() -> None:
    curve = survival_curve(hand_made())
    alive = {0: [1, 1, 1], 1: [0.25, 0.75, 0.75], 99: [0.25, 0.5, 0.75], 149: [0.25, 0, 0.75], 500: [0.25, 0, 0.5]}
    assert len(curve.mean) == 501
    for step, shares in alive.items():
        assert curve.mean[step] == pytest.approx(np.mean(shares))
        assert curve.lowest[step] == min(shares)
        assert curve.p10[step] == pytest.approx(np.percentile(shares, 10))


def test_a_played_evaluation_is_measured() -> None:
    settings = FishSettings(fish=96, neighbours=False, steps=30)
    keys = np.arange(1, 41, dtype=np.uint64)
    episodes = Evaluation("fish", settings, keys, threads=1).play(lambda world: world.yardsticks()["keep"])
    schools = evaluated_schools(episodes, settings)
    found = measure(schools)
    assert found["avg_final"] == pytest.approx(episodes["survival"].mean())
    assert found["step_one"] == episodes["step_one"].sum() > 0
    assert 0 < found["floor_step_one"] <= found["step_one"]
    assert found["avg_final"] < found["ceiling_avg"] < 1.0
    speed = np.hypot(*schools.first_pred_vel.T)
    assert np.abs(speed - episodes["spawn_speed"]).max() <= 0.05 + 1e-6  # one step of drift
    died = episodes["fish_pos"][schools.death_step == 1]
    predator = np.stack([episodes["first_pred_x"], episodes["first_pred_y"]], axis=1)
    near = np.repeat(predator, (schools.death_step == 1).sum(axis=1), axis=0)
    assert (np.hypot(*(died - near).T) < 0.7).all()
    assert (np.hypot(*predator.T) <= episodes["spawn_radius"] + 0.1 * speed + 1e-5).all()


def test_episodes_of_other_schools_are_refused() -> None:
    settings = FishSettings(fish=5, neighbours=False, steps=5)
    episodes = Evaluation("fish", settings, np.array([3], np.uint64), 1).play(lambda world: world.yardsticks()["keep"])
    with pytest.raises(WorldError, match="another number of fish"):
        evaluated_schools(episodes, FishSettings(fish=6, neighbours=False, steps=5))
