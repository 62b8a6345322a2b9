"""The safety filter: its answer is that of a general solver, and nobody it guards ever touches a wall or circle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from holdfast.games.pursuit.world.constants import as_record, make_rules
from holdfast.games.pursuit.world.duel import make_rows, views
from holdfast.games.pursuit.world.pursuit import Pursuit, play_scripts
from holdfast.games.pursuit.world.safety import corrected, margin, nearest_safe, survey
from holdfast.games.pursuit.world.settings import PursuitSettings
from holdfast.rollout.evaluate import play_once
from holdfast.worlds.api import World

V_MAX, OMEGA_MAX = 1.0, 2.84
PRICES = np.array([150.0, 1.0])
CASES = 400


def conditions(generator: np.random.Generator) -> np.ndarray:
    """[M, 3] of a robot near walls and circles: standing still satisfies all."""
    count = int(generator.integers(4, 9))
    rows = generator.normal(0.0, 0.05, (count, 3)) * (1.0, 0.2, 0.3)
    rows[:, 2] = np.abs(rows[:, 2])
    return rows


def solved(rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The same by sequential quadratic programming, in units that make it well scaled."""
    scale = np.sqrt(PRICES)
    answer = minimize(
        lambda u: float(((u - wanted * scale) ** 2).sum()),
        np.zeros(2),
        jac=lambda u: 2.0 * (u - wanted * scale),
        bounds=[(0.0, V_MAX * scale[0]), (-OMEGA_MAX * scale[1], OMEGA_MAX * scale[1])],
        constraints=[
            {
                "type": "ineq",
                "fun": lambda u: 20.0 * (rows[:, :2] / scale @ u + rows[:, 2]),
                "jac": lambda u: 20.0 * rows[:, :2] / scale,
            }
        ],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    assert answer.success or answer.status == 8, answer.message  # 8: no descent left at the optimum
    return np.asarray(answer.x / scale)


def test_the_nearest_safe_action_is_that_of_a_general_solver() -> None:
    generator = np.random.default_rng(3)
    changed = 0
    for _ in range(CASES):
        rows = conditions(generator)
        wanted = generator.uniform((0.0, -OMEGA_MAX), (V_MAX, OMEGA_MAX))
        if (rows[:, :2] @ wanted + rows[:, 2] >= 0.0).all():
            continue
        changed += 1
        v, omega, found = nearest_safe(rows, V_MAX, OMEGA_MAX, *np.sqrt(PRICES), *wanted)
        other = solved(rows, wanted)
        ours, theirs = (float((PRICES * (u - wanted) ** 2).sum()) for u in (np.array([v, omega]), other))
        assert found and (rows[:, :2] @ (v, omega) + rows[:, 2]).min() > -1e-6
        assert ours <= theirs + 1e-5 * (1.0 + theirs)
        np.testing.assert_allclose((v, omega), other, atol=2e-4)
    assert changed > CASES / 4


def test_conditions_that_nothing_satisfies_are_told() -> None:
    against = np.array([[1.0, 0.0, -2.0]])  # v >= 2
    assert nearest_safe(against, V_MAX, OMEGA_MAX, *np.sqrt(PRICES), 0.5, 0.0)[2] is False


def test_far_from_everything_an_action_is_left_alone_and_ahead_of_a_wall_it_is_not() -> None:
    rows = make_rows(1)
    duel = views(rows)
    duel.half[:], duel.v_max[:] = 10.0, 1.0
    rules = as_record(make_rules(PursuitSettings()))[0]
    ahead = (1.0, 0.0)  # cosine and sine of the heading
    assert survey(rows[0], rules, 1.0, 0.0, *ahead, 0)[2] == 0
    duel.pose[0, 0] = (9.7, 0.0, 0.0)  # 5 cm before the guarded point would be in the wall's margin
    _, slack, near = survey(rows[0], rules, 1.0, 0.0, *ahead, 0)
    v, omega, found = corrected(rows[0], rules, 1.0, 0.0, slack, *ahead, near, 0)
    assert near == 1 and found and v <= 0.2 * 0.05 / 0.05 + 1e-6 and abs(omega) < 1e-6


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**31), st.floats(-2.84, 2.84), st.sampled_from([0.02, 0.2, 1.0]))
def test_only_what_is_near_matters_and_what_is_shortened_is_as_long_as_is_safe(
    seed: int, omega: float, decay: float
) -> None:
    """Conditions of things not near change nothing; a shortened action is safe, and a little more of it is not."""
    rows, rules = make_rows(1), as_record(make_rules(PursuitSettings(obstacles=3, safety_decay=decay)))[0]
    duel, draw = views(rows), np.random.default_rng(seed)
    duel.half[:], duel.v_max[:], duel.n_circles[:] = 3.0, 1.0, 3
    duel.circles[0, :3] = np.array([(-1.5, -1.0, 0.6), (1.4, -0.8, 0.4), (0.2, 1.6, 0.7)])
    duel.pose[0, 0] = (*draw.uniform(-2.8, 2.8, 2), draw.uniform(-np.pi, np.pi))
    heading = (math.cos(duel.pose[0, 0, 2]), math.sin(duel.pose[0, 0, 2]))
    least, slack, near = survey(rows[0], rules, 1.0, omega, *heading, 0)
    assume(least >= 0.0 and near != 0)
    everything = (1 << 7) - 1
    v, turn, found = corrected(rows[0], rules, 1.0, omega, slack, *heading, near, 0)
    all_v, all_turn, all_found = corrected(rows[0], rules, 1.0, omega, slack, *heading, everything, 0)
    assert found == all_found and abs(v - all_v) < 1e-6 and abs(turn - all_turn) < 1e-6
    assert margin(rows[0], rules, v, turn, *heading, everything, 0) >= 0.0
    if slack >= 0.0 and v < 1.0 - 1e-3:  # it was only shortened
        more = 1.0 + 1e-4
        assert margin(rows[0], rules, more * v, more * turn, *heading, everything, 0) < 1e-8


def played(settings: dict[str, Any], act: Any, duels: int = 1024) -> Any:
    world = Pursuit(PursuitSettings(obs="flat", max_steps=600, **settings), duels, seed=0, threads=2)
    return play_once(world, act, np.arange(1, duels + 1, dtype=np.uint64))


def per_step(table: Any, column: str) -> float:
    return float((table[column] * table["steps"]).sum() / table["steps"].sum())


CHASE = play_scripts({"pursuer": "greedy", "evader": "random"})


def full_speed(world: World) -> dict[str, np.ndarray]:
    assert isinstance(world, Pursuit)
    actions = {role: world.scripted(role, "random") for role in world.roles}
    for array in actions.values():
        array[:, 0, 0] = 1.0
    return actions


@pytest.mark.parametrize(
    ("settings", "act", "low", "high"),
    [({"obstacles": 2}, CHASE, 0.0, 0.02), ({"obstacles": 3}, full_speed, 0.08, 0.12)],
    ids=["chase", "full speed"],
)
def test_filtered_robots_touch_nothing(settings: dict[str, Any], act: Any, low: float, high: float) -> None:
    table = played(settings, act)
    for side in ("pursuer", "evader"):
        for column in ("violated", "wall", "circle", "infeasible"):
            assert not table[f"{side}_{column}"].any(), (side, column)
        assert table[f"{side}_least_h"].min() >= -1e-6
    assert low <= per_step(table, "pursuer_changed") <= high


def test_without_the_filter_they_do_touch_and_the_chase_is_won_either_way() -> None:
    free = played({"obstacles": 2, "filter": "none"}, CHASE)
    assert 0.005 < per_step(free, "pursuer_circle") + per_step(free, "pursuer_wall") < 0.02
    assert free["captured"].mean() >= 0.99 and played({"obstacles": 2}, CHASE)["captured"].mean() >= 0.99


def test_only_the_chosen_side_is_filtered() -> None:
    table = played({"obstacles": 3, "filter": "pursuer"}, full_speed)
    assert not table["pursuer_wall"].any() and table["evader_wall"].any() and not table["evader_changed"].any()
