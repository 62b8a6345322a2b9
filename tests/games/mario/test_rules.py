"""What happens inside and around a step: pay and its accounts, chance, stages, forced steps, saving and restoring."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.games.mario.world import facts, play
from holdfast.games.mario.world.actions import BITS
from holdfast.games.mario.world.play import TERMS
from holdfast.games.mario.world.probe import best_action, probe
from holdfast.games.mario.world.reward import annealed, frame_points
from holdfast.games.mario.world.settings import MarioSettings
from holdfast.kit.errors import HoldfastError
from holdfast.worlds.api import Episodes, Plan, random_policy
from tests.games.mario.bot import RUN, held, own_world, press

RIGHT = BITS["RIGHT"]


def test_points_of_a_frame() -> None:
    assert frame_points(3, 0, False) == 3.0
    assert frame_points(-2, -1, False) == -3.0
    assert frame_points(900, 0, False) == 0.0  # moved by the game
    assert frame_points(3, 5, False) == 3.0  # a clock that is set anew pays nothing
    assert frame_points(3, 0, True) == -15.0


def test_annealing() -> None:
    assert [annealed(0.2, 0.1, steps, 100) for steps in (0, 50, 100, 500)] == pytest.approx([0.2, 0.15, 0.1, 0.1])
    assert annealed(0.2, 0.1, 0, 0) == 0.1


def run_random(world: object, steps: int) -> tuple[Episodes, np.ndarray]:
    tables, paid = [], np.zeros(world.lanes)  # type: ignore[attr-defined]
    sums = []
    for _ in range(steps):
        world.step(random_policy(world))  # type: ignore[attr-defined, arg-type]
        paid += world.player.reward[:, 0]  # type: ignore[attr-defined]
        table = world.finished()  # type: ignore[attr-defined]
        tables.append(table)
        sums += paid[table["lane"]].tolist()
        paid[table["lane"]] = 0.0
    return Episodes.joined(tables), np.array(sums)


def test_rewards_are_the_sum_of_their_terms() -> None:
    world = own_world(
        lanes=8,
        milestone_every=50,
        milestone_bonus=2.0,
        scale_start=0.1,
        scale_anneal=80,
        distance_weight_final=0.1,
        distance_anneal=100,
        death_start=-3.0,
        death_anneal=60,
        actions="right",
        noop_max=30,
    )
    ended, sums = run_random(world, 250)
    assert len(ended) > 10
    terms = sum(ended[f"paid_{term}"] for term in TERMS)
    np.testing.assert_allclose(terms, ended["return"], atol=1e-9)
    np.testing.assert_allclose(sums, ended["return"], atol=1e-4)  # rewards are float32
    assert all(np.abs(ended[f"paid_{term}"]).sum() > 0.0 for term in ("base", "distance", "milestone", "end"))


def test_modes_of_distance() -> None:
    """Swinging left and right pays in one mode only."""
    paid = {}
    for mode in ("best", "signed", "positive"):
        world = own_world(distance_mode=mode, distance_weight=1.0, base_weight=0.0, score_weight=0.0)
        for buttons in (RIGHT, BITS["LEFT"]) * 2:
            for _ in range(3):
                press(world, buttons)
        paid[mode] = float(world.state.paid[0, play.DISTANCE]) / world.settings.scale_final
    assert paid == pytest.approx({"best": 24.0, "signed": 0.0, "positive": 48.0})


def test_early_steps_have_their_own_weight() -> None:
    world = own_world(early_steps=2, early_distance_weight=1.0, distance_weight=0.0, base_weight=0.0)
    for expected in (8, 16, 16, 16):
        press(world, RIGHT)
        assert world.state.paid[0, play.DISTANCE] == pytest.approx(expected * world.settings.scale_final)


def test_no_two_starts_are_the_same() -> None:
    world = own_world(lanes=32, noop_max=30)
    ticks = world.state.console[:, 0x09].tolist()
    assert 8 < len(set(ticks)) <= 31 and max(ticks) - min(ticks) <= 30


def test_sticky_repeats_what_was_held() -> None:
    world = own_world(lanes=64, sticky=0.5)
    press(world, RIGHT)
    press(world, BITS["A"])
    repeated = int((world.state.track[:, play.HELD] == RIGHT).sum())
    assert 8 < repeated < 32  # the first step was sticky for half of them, too: a quarter repeats RIGHT
    assert not world.player.forced.any()  # chance belongs to the world, not to the learner's choice


def test_stages_are_drawn_or_planned() -> None:
    world = own_world(lanes=64, stages="1-*")
    assert set(world.state.track[:, play.STAGE_NUMBER].tolist()) == {0, 1, 2, 3}
    world.reset(plan=Plan({"stage": 3.0}))
    assert set(world.state.track[:, play.STAGE_NUMBER].tolist()) == {2}
    assert (facts.clock(row) == 300 for row in world.state.console)


def test_need_prefers_what_is_not_cleared() -> None:
    world = own_world(lanes=64, stages="1-1,1-2", stage_weights="need")
    world.stage_rate[:] = (1.0, 0.0)
    world._spread_chances()
    world.reset()
    drawn = np.bincount(world.state.track[:, play.STAGE_NUMBER], minlength=2)
    assert drawn[1] > 52 and world.fixed.cumulated[0] == pytest.approx(0.05 / 1.1)
    other = own_world(lanes=64, stages="1-1,1-2", stage_weights="need", seed=2)
    other.restore({name: array.copy() for name, array in world.arrays().items()})
    assert (other.fixed.cumulated == world.fixed.cumulated).all()
    for _ in range(120):
        press(other, RIGHT)
    assert other.stage_rate[0] < 1.0  # 1-1 was not cleared: its rate falls


def test_a_script_forces_the_first_episode_only() -> None:
    world = own_world(lanes=2, script="RIGHT+B:6,RIGHT+A+B:4")
    seen = []
    for _ in range(12):
        press(world, 0)
        seen.append((int(world.state.track[0, play.HELD]), bool(world.player.forced[0, 0])))
    assert seen == [(RUN, True)] * 6 + [(RUN | BITS["A"], True)] * 4 + [(0, False)] * 2
    ended = held(world, RIGHT)
    assert ended["forced_steps"][0] == 10
    press(world, 0)
    assert not world.player.forced.any()


def test_an_end_drops_the_rest_of_a_script() -> None:
    world = own_world(script="RIGHT:200")
    ended = held(world, 0)
    assert ended["forced_steps"][0] == ended["length"][0] < 200
    press(world, 0)
    assert not world.player.forced[0, 0]


def test_a_script_may_begin_every_early_episode() -> None:
    world = own_world(script="RIGHT:3", script_scope="episode", script_until=30, max_steps=10)
    forced = []
    for _ in range(50):
        press(world, 0)
        forced.append(bool(world.player.forced[0, 0]))
    assert [sum(forced[at : at + 10]) for at in range(0, 50, 10)] == [3, 3, 3, 0, 0]


def test_forward_steps_and_forced_lanes() -> None:
    world = own_world(lanes=3, forward_steps=2, script="RIGHT:1")
    seen = []
    for _ in range(4):
        press(world, 0)
        seen.append(int(world.state.track[0, play.HELD]))
    assert seen == [RIGHT, RUN, RUN, 0]  # the script goes first
    world.force_forward(np.array([1]), 2)
    press(world, 0)
    assert world.player.forced[:, 0].tolist() == [False, True, False]


def test_probing_finds_the_fastest_action_and_leaves_lanes_alone() -> None:
    settings = MarioSettings(rom="own", probe_steps=6, forward_steps=1, actions="NOOP,LEFT,RIGHT,RIGHT+B")
    table = probe(settings)
    assert [one.buttons for one in table] == ["RIGHT+B", "RIGHT", "NOOP", "LEFT"] and table[0].pixels == 72
    assert best_action(table) == 3
    assert best_action([one for one in table if one.buttons == "NOOP"]) is None
    world = own_world(probe_steps=6, forward_steps=1, actions="NOOP,LEFT,RIGHT")
    assert world.forward == RIGHT and facts.x(world.state.console[0]) == 40


def test_own_counts_stay_with_the_lane() -> None:
    world, other = own_world(lanes=2), own_world(lanes=2, seed=3)
    for _ in range(5):
        press(world, RIGHT)
    other.load(np.array([0]), world.save(np.array([1])))
    assert other.state.lane[0, play.LANE_STEPS] == 0 and world.state.lane[1, play.LANE_STEPS] == 5
    assert facts.x(other.state.console[0]) == facts.x(world.state.console[1])


def test_situations_of_other_stages_are_refused() -> None:
    world = own_world(stages="1-1,1-2")
    with pytest.raises(HoldfastError, match="other stages"):
        world.restore(own_world().arrays())


def test_bytes_do_not_depend_on_threads() -> None:
    one, two = own_world(lanes=6, threads=1, noop_max=20), own_world(lanes=6, threads=2, noop_max=20)
    for _ in range(60):
        one.step(random_policy(one))
        two.step(random_policy(two))
    for name, array in one.arrays().items():
        assert array.tobytes() == two.arrays()[name].tobytes(), name
