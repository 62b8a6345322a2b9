"""Every way an episode can end, on the project's own cartridge; what it pays, and how the next one begins."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.games.mario.world import facts, play
from holdfast.games.mario.world.actions import BITS
from holdfast.games.mario.world.errors import NoEpisodeEnds
from holdfast.games.mario.world.frames import enter_room, go_round
from holdfast.games.mario.world.own_cartridge import BONUS_EXIT_X, FLAG_X, MAZE_X, WARP_X
from holdfast.games.mario.world.play import REASONS
from tests.games.mario.bot import RUN, bot, held, own_world, played, press

RIGHT, DOWN = BITS["RIGHT"], BITS["DOWN"]


def reason_of(ended: object) -> str:
    return REASONS[ended["reason"][0]]  # type: ignore[index]


def test_flag_and_axe() -> None:
    for stages, reason in (("1-1", "flag"), ("1-4", "castle")):
        world = own_world(stages=stages)
        first = world.player.obs.copy()
        ended = played(world)
        assert reason_of(ended) == reason and ended["cleared"][0] == 1.0 and ended["terminated"][0]
        assert FLAG_X - 12 <= ended["max_x"][0] <= FLAG_X + 4
        assert ended["paid_end"][0] == world.settings.flag_reward
        assert world.clock.t[0] == 0 and (world.player.obs == first).all()


def test_death_by_an_enemy() -> None:
    world = own_world()
    ended = held(world, RIGHT)
    assert reason_of(ended) == "death" and ended["terminated"][0] and ended["cleared"][0] == 0.0
    assert ended["paid_end"][0] == world.settings.death_final
    ticks = 4  # the fifth comes in the frame of death, when nothing but death counts
    assert ended["max_x"][0] == 238 and ended["raw_return"][0] == 238 - 40 - ticks - 15


def test_a_fall_pays_no_distance_and_ends_at_once() -> None:
    world = own_world()
    while facts.x(world.state.console[0]) < 330:  # past the enemy
        press(world, bot(world.state.console[0]))
    ended = held(world, RUN)
    weight = world.settings.scale_final * world.settings.distance_weight
    assert reason_of(ended) == "pit"
    assert ended["paid_distance"][0] == pytest.approx((ended["max_x"][0] - 40) * weight, abs=1e-12)


def test_the_clock() -> None:
    ended = held(own_world(stagnation_steps=5000), 0)
    assert reason_of(ended) == "clock" and ended["frames"][0] == 8020 and ended["clock_left"][0] == 0


def test_a_maze_sends_back() -> None:
    ended = played(own_world(stages="4-4"))
    assert reason_of(ended) == "maze" and ended["loops"][0] == 1 and ended["terminated"][0]
    assert MAZE_X - 12 <= ended["max_x"][0] <= MAZE_X + 12
    world = own_world(stages="4-4", maze_rule="continue", stagnation_steps=60)
    ended = played(world)
    assert reason_of(ended) == "stagnation" and ended["loops"][0] == 1  # no new ground after the loop
    assert ended["rooms"][0] == 1  # where a maze goes on is like another room
    assert ended["paid_end"][0] == 0.0


def test_a_second_loop_of_the_same_room_ends_also_where_the_first_leads_on() -> None:
    ended = played(own_world(stages="4-4", maze_rule="continue", stagnation_steps=5000))
    assert reason_of(ended) == "maze" and ended["loops"][0] == 2 and ended["rooms"][0] == 1
    assert ended["terminated"][0] and ended["paid_end"][0] < 0.0
    track = np.zeros(play.TRACK_COLUMNS, np.int64)
    assert not go_round(track) and go_round(track) and track[play.ROOMS] == 1
    assert not enter_room(track, 900, True) and not go_round(track), "a pipe ahead is a new room with a loop of its own"


@pytest.mark.parametrize(
    ("right", "taken", "rule", "ends"), [(1, 2, "end", True), (2, 2, "end", False), (1, 2, "continue", False)]
)
def test_a_wrong_turn_of_several_ends_at_once(right: int, taken: int, rule: str, ends: bool) -> None:
    world = own_world(stages="4-4", maze_rule=rule)
    for _ in range(3):
        press(world, RIGHT)
    world.state.console[0, facts.TURNS_RIGHT], world.state.console[0, facts.TURNS_TAKEN] = right, taken
    press(world, RIGHT)
    assert bool(world.clock.terminated[0]) == ends
    if ends:
        assert reason_of(world.finished()) == "maze"


def test_a_pipe_back_to_old_ground_is_a_loop_and_one_ahead_is_a_room() -> None:
    track = np.zeros(play.TRACK_COLUMNS, np.int64)
    track[play.CASTLE_X] = 1240
    assert enter_room(track, 320, True)
    assert track[play.ROOMS] == 0 and track[play.ROOM_BEST_X] == 1240, "old ground is not paid again"
    assert not enter_room(track, 1848, True)
    assert track[play.ROOMS] == 1 and track[play.ROOM_BEST_X] == 1848
    assert not enter_room(track, 24, False), "only castles are mazes"


def test_a_warp_ends_without_pay() -> None:
    world = own_world(stages="1-2")
    while facts.x(world.state.console[0]) < WARP_X:
        press(world, RIGHT)
    ended = held(world, DOWN, 20)
    assert reason_of(ended) == "warp" and ended["terminated"][0] and ended["paid_end"][0] == 0.0


@pytest.mark.parametrize(
    ("options", "reason"), [({"max_steps": 50}, "timeout"), ({"stagnation_steps": 20}, "stagnation")]
)
def test_limits_truncate(options: dict[str, int], reason: str) -> None:
    world = own_world(**options)
    first = world.player.obs.copy()
    ended = held(world, 0)
    assert reason_of(ended) == reason and not ended["terminated"][0] and world.truncated[0]
    assert ended["length"][0] == next(iter(options.values())) and ended["paid_end"][0] == 0.0
    assert (world.player.obs == first).all() and world.player.final_obs.any()


def test_stagnation_can_be_an_end_for_good() -> None:
    ended = held(own_world(stagnation_steps=20, stagnation_terminal=True), 0)
    assert reason_of(ended) == "stagnation" and ended["terminated"][0]


def test_a_pipe_is_passed_within_a_step_and_never_paid() -> None:
    world = own_world()
    while facts.x(world.state.console[0]) < 130:
        press(world, RIGHT)
    before = world.state.paid[0].copy()
    press(world, DOWN)
    assert world.state.track[0, play.ROOMS] == 1 and facts.x(world.state.console[0]) == 24
    assert (world.state.paid[0, 1:] == before[1:]).all() and abs(world.player.reward[0, 0]) <= 0.02
    while world.state.track[0, play.ROOMS] == 1:
        press(world, RIGHT)
    assert facts.x(world.state.console[0]) == BONUS_EXIT_X and abs(world.player.reward[0, 0]) < 0.3
    assert world.state.track[0, play.ROOM_BEST_X] == BONUS_EXIT_X


def test_waiting_is_seen_without_skipping() -> None:
    world = own_world(skip_busy=False)
    while facts.x(world.state.console[0]) < 130:
        press(world, RIGHT)
    for _ in range(6):
        press(world, DOWN)
    assert facts.routine(world.state.console[0]) == facts.PIPE


def test_a_whole_game_has_three_lives() -> None:
    world = own_world(life_mode="game", stagnation_steps=500)
    ended = held(world, RIGHT)
    assert reason_of(ended) == "death" and ended["length"][0] > 3 * 25
    assert ended["paid_base"][0] == pytest.approx(held(own_world(), RIGHT)["paid_base"][0] * 3)  # each loss is charged
    assert ended["paid_end"][0] == world.settings.death_final  # the end only once


def test_ends_that_are_not_seen_raise_the_alarm(capsys: pytest.CaptureFixture[str]) -> None:
    world = own_world(stagnation_steps=10**6, max_steps=10**6)
    world.longest = 30.0  # as if the game's clock had been missed
    with pytest.raises(NoEpisodeEnds, match="without an end"):
        held(world, 0, 40)
    world = own_world(alarm="warn")
    world.longest = 30.0
    held(world, 0)
    assert "doctor mario" in capsys.readouterr().err


def test_the_policy_may_start_the_game_but_not_pause_it() -> None:
    world = own_world(actions="extended", auto_start=False, stages="2-1", stagnation_steps=2000)
    start = world.buttons.index(BITS["START"])
    for _ in range(30):
        world.step({"player": np.full((1, 1), start, np.int64)})
    row = world.state.console[0]
    assert facts.in_control(row) and facts.stage_number(row) == 4 and world.state.track[0, play.ROOMS] == 0
    x = facts.x(row)
    both = world.buttons.index(BITS["START"] | RIGHT)
    for _ in range(10):
        world.step({"player": np.full((1, 1), both, np.int64)})
    assert facts.x(row) > x and not facts.paused(row)


def test_the_bot_needs_its_eyes() -> None:
    """The bot is a test's tool: it must jump for a reason."""
    row = own_world().state.console[0]
    assert bot(row) == RUN
