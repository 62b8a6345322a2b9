"""Both curricula through one interface: their published contents, and each rule of advancement with each of them."""

from __future__ import annotations

import pytest

from holdfast.games.pursuit.world.duel import FARTHEST_START
from holdfast.kit.errors import ConfigError
from holdfast.selfplay.judging import BALANCE
from holdfast.selfplay.levels import FAR_SHARE, Level, Standing, decide_level, levels, questions
from holdfast.selfplay.sequential import Evidence, ask
from holdfast.selfplay.settings import LevelsConfig


def answers(settings: LevelsConfig, wins: int, trials: int = 4096) -> dict[str, Evidence]:
    return ask(questions(settings), [wins], [trials])


def test_discrete_levels_are_the_published_six() -> None:
    found = levels(LevelsConfig(kind="discrete"), 20, 20)
    assert [(lvl.nearest, lvl.farthest, lvl.obstacles) for lvl in found] == [
        (2, 5, 0), (5, 15, 0), (2, 5, 3), (5, 8, 3), (5, 12, 3), (2, 15, 3),
    ]  # fmt: skip


def test_levels_fit_into_a_small_arena() -> None:
    found = levels(LevelsConfig(kind="discrete"), 10, 10)
    assert found[1].farthest == pytest.approx(11.31, abs=0.01) and found[1].nearest == pytest.approx(4.53, abs=0.01)


def test_smooth_levels_end_at_the_published_top() -> None:
    large, small = levels(LevelsConfig(kind="smooth"), 20, 20), levels(LevelsConfig(kind="smooth"), 10, 10)
    assert large[0] == Level(0, 2.0, 5.0, 0) and large[-1] == Level(20, 2.0, 15.0, 3) and small[-1].index == 13
    assert [lvl.obstacles for lvl in large[:8]] == [0] * 6 + [3, 3]
    assert small[-1].farthest == pytest.approx(11.31, abs=0.01)


def test_how_smooth_levels_widen_can_be_chosen() -> None:
    settings = LevelsConfig(kind="smooth", increment=2.0, final_max=8.0)
    found = [(lvl.nearest, lvl.farthest, lvl.obstacles) for lvl in levels(settings, 20, 20)]
    assert found == [(2, 5, 0), (2, 7, 0), (2, 8, 3)]


def test_both_curricula_reach_as_far_as_the_world_lets_a_duel_start() -> None:
    assert FAR_SHARE == FARTHEST_START


def test_a_level_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="start_level = 6"):
        levels(LevelsConfig(kind="discrete", start_level=6), 20, 20)


@pytest.mark.parametrize("kind", ["discrete", "smooth"])
@pytest.mark.parametrize(
    ("advance", "wins", "needed"), [("capture", 3500, 1), ("balance", 2048, 2), ("plateau", 1000, 4)]
)
def test_each_rule_advances_with_each_curriculum(kind: str, advance: str, wins: int, needed: int) -> None:
    settings = LevelsConfig(kind=kind, advance=advance)  # type: ignore[arg-type]
    standing, top = Standing(), len(levels(settings, 20, 20)) - 1
    events = [decide_level(settings, standing, answers(settings, wins), [0.3, 0.4], top).event for _ in range(needed)]
    assert events == ["hold"] * (needed - 1) + ["advance"]


def test_a_point_test_advances_where_the_interval_still_holds() -> None:
    settings = LevelsConfig(kind="smooth", advance="capture")
    sharp = ask(questions(settings), [72], [100])
    point = {question.name: question.by_point(72, 100) for question in questions(settings)}
    assert decide_level(settings, Standing(), sharp, [], 5).event == "hold"
    assert decide_level(settings, Standing(), point, [], 5).event == "advance"


def test_balance_must_hold_twice_in_a_row() -> None:
    settings, standing = LevelsConfig(kind="smooth", advance="balance"), Standing()
    wins = [2048, 3000, 2048, 2048]
    events = [decide_level(settings, standing, answers(settings, k), [], 5).event for k in wins]
    assert events == ["hold", "hold", "hold", "advance"]


def test_capture_with_a_least_escape_does_not_reward_domination() -> None:
    settings = LevelsConfig(kind="smooth", advance="capture", min_escape=0.15)
    assert decide_level(settings, Standing(), answers(settings, 4000), [], 5).event == "hold"
    assert decide_level(settings, Standing(), answers(settings, 3200), [], 5).event == "advance"


def test_losing_leads_down_after_its_patience_but_never_below_the_first() -> None:
    settings = LevelsConfig(kind="smooth", advance="balance")
    for level, expected in ((3, "regress"), (0, "hold")):
        standing = Standing(level=level)
        events = [decide_level(settings, standing, answers(settings, 4090), [], 5).event for _ in range(3)]
        assert events == ["hold", "hold", expected]


def test_the_top_level_holds_and_moving_clears_what_was_counted() -> None:
    settings, standing = LevelsConfig(kind="smooth", advance="capture"), Standing(level=5)
    assert decide_level(settings, standing, answers(settings, 4000), [0.1], 5).event == "hold"
    standing.move_to(4)
    assert standing == Standing(level=4)


def test_plateau_needs_every_figure_to_stand_still() -> None:
    settings, standing = LevelsConfig(kind="smooth", advance="plateau", consecutive=1), Standing()
    panels = [[0.1], [0.2], [0.3], [0.3], [0.31]]
    events = [decide_level(settings, standing, answers(settings, 1000), panel, 5).event for panel in panels]
    assert events == ["hold"] * 4 + ["advance"]


@pytest.mark.parametrize(("advance", "wins"), [("capture", 3500), ("balance", 2200)])
def test_answers_to_others_questions_decide_nothing(advance: str, wins: int) -> None:
    """A pair at a level is also asked whether it is in balance, more strictly than any rule of advancement does."""
    settings = LevelsConfig(kind="smooth", advance=advance, consecutive=1)  # type: ignore[arg-type]
    asked = ask([*questions(settings), BALANCE], [wins], [4096])
    assert asked[BALANCE.name].verdict != "yes"
    assert decide_level(settings, Standing(), asked, [], 5).event == "advance"
