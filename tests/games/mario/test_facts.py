"""Each fact against RAM that was recorded from the real game at a known moment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from holdfast.games.mario.world import facts

MOMENTS = dict(np.load(Path(__file__).parent / "ram.npz"))


def at(name: str) -> np.ndarray:
    return MOMENTS[name].copy()


def test_modes() -> None:
    assert facts.mode(at("title")) == facts.TITLE
    assert facts.mode(at("start 1-1")) == facts.PLAY
    assert facts.mode(at("castle cleared")) == facts.CASTLE_WON


def test_the_attract_demo_is_not_play() -> None:
    """Its x and clock look like a game's; only the mode tells."""
    demo = at("demo")
    assert facts.x(demo) > 40 and facts.clock(demo) == 401
    assert not facts.in_play(demo) and not facts.in_control(demo) and not facts.busy(demo)


@pytest.mark.parametrize(
    ("name", "y", "clock", "kind", "stage"),
    [
        ("1-1", 176, 400, 1, 0),
        ("1-2", 51, 400, 2, 1),
        ("1-4", 80, 300, 3, 3),
        ("2-2", 50, 400, 0, 5),
        ("5-3", 176, 300, 1, 18),
        ("8-4", 80, 400, 3, 31),
    ],
)
def test_starts(name: str, y: int, clock: int, kind: int, stage: int) -> None:
    ram = at(f"start {name}")
    assert facts.in_control(ram) and not facts.busy(ram)
    assert (facts.x(ram), facts.y(ram), facts.clock(ram)) == (40, y, clock)
    assert (facts.area_type(ram), facts.stage_number(ram), facts.lives(ram)) == (kind, stage, 2)
    assert (facts.status(ram), facts.score(ram), facts.coins(ram)) == (0, 0, 0)
    assert facts.is_small(ram) and not facts.invulnerable(ram)
    assert facts.swims(ram) == (name == "2-2")


def test_motion() -> None:
    running, jumping = at("running"), at("jumping")
    assert facts.x_speed(running) == 48 and facts.air_state(running) == 0 and facts.faces_right(running)
    assert facts.y_speed(jumping) < 0 and facts.air_state(jumping) == 1 and facts.y(jumping) < 176
    assert facts.x(jumping) > facts.x(running) > 40
    assert facts.y_up(jumping) > facts.y_up(running) > 0
    assert facts.screen_left(running) <= facts.x(running)


def test_losing_a_life() -> None:
    dying, late, pit = at("dying"), at("clock ran out"), at("pit")
    assert facts.dying(dying) and not facts.clock_expired(dying) and facts.x(dying) == 298
    assert facts.dying(late) and facts.clock_expired(late) and facts.clock(late) == 0
    assert facts.in_pit(pit) and facts.below_screen(pit) and not facts.dying(pit)
    assert facts.routine(pit) == facts.CONTROL  # the trap: the game goes on moving him
    for ram in (dying, late):
        assert not facts.in_control(ram) and not facts.in_pit(ram)
    pit[facts.CLOUD_ROOM] = 1  # rooms in the clouds are left downwards, alive
    assert not facts.in_pit(pit)


def test_winning() -> None:
    flag, castle = at("flag"), at("castle cleared")
    assert facts.flag_reached(flag) and 3157 <= facts.x(flag) <= 3165 and facts.air_state(flag) == 3
    assert facts.castle_cleared(castle) and 2240 <= facts.x(castle) <= 2280
    for name in ("title", "demo", "start 1-1", "running", "pit"):
        assert not facts.flag_reached(at(name)) and not facts.castle_cleared(at(name))


def test_pause() -> None:
    paused = at("paused")
    assert facts.paused(paused) and not facts.in_play(paused) and not facts.in_control(paused)


def test_game_over_and_lives() -> None:
    ram = at("dying")
    assert not facts.game_over(ram)
    ram[facts.LIVES] = facts.NO_LIVES
    assert facts.game_over(ram) and facts.lives(ram) == -1


def test_digits() -> None:
    ram = at("start 1-1")
    ram[facts.SCORE_DIGITS : facts.SCORE_DIGITS + 6] = [9, 8, 7, 6, 5, 4]
    ram[facts.COIN_DIGITS : facts.COIN_DIGITS + 2] = [4, 2]
    assert facts.score(ram) == 9_876_540 and facts.coins(ram) == 42


def test_a_pipe_that_leads_back_is_a_wrong_one() -> None:
    assert facts.sent_back(1240, 320) and not facts.sent_back(1240, 1920) and not facts.sent_back(40, 40)


def test_a_loop_of_a_maze_is_1024_pixels() -> None:
    assert facts.looped(1031, 10) and facts.looped(1276, 254) and facts.looped(1020, 65535)
    assert not facts.looped(1031, 40) and not facts.looped(916, 24) and not facts.looped(10, 1034)


def test_waits_are_shortened() -> None:
    ram = at("start 1-1")
    for before, after in ((0, 0), (1, 1), (32, 1), (254, 1), (255, 255)):
        ram[facts.INTRO_TIMER], ram[facts.PIPE_TIMER] = 7, before
        facts.shorten_waits(ram)
        assert (ram[facts.INTRO_TIMER], ram[facts.PIPE_TIMER]) == (0, after)
