"""Whose turn it is: every rule changes the sequence as it says, and none needs the number of the turn."""

from __future__ import annotations

import pytest

from holdfast.kit.errors import ConfigError
from holdfast.selfplay.rota import (
    FIRST,
    SECOND,
    Rota,
    after_evaluation,
    after_turn,
    damping,
    forced_switch_is_due,
    full_sight,
    next_turn,
    switch_frozen,
    threshold_at,
    turn_rollouts,
)
from holdfast.selfplay.settings import DuelConfig

P, E = FIRST, SECOND


def sequence(settings: DuelConfig, rota: Rota, turns: int, steps: int = 0) -> list[int]:
    roles = []
    for _ in range(turns):
        turn = next_turn(settings, rota, steps)
        after_turn(rota, turn.roles)
        roles.append(turn.roles[0])
    return roles


def test_roles_alternate_and_the_first_begins() -> None:
    assert sequence(DuelConfig(mode="turns"), Rota(), 4) == [P, E, P, E]


def test_ratio_gives_the_first_role_more_turns() -> None:
    assert sequence(DuelConfig(mode="turns", train_ratio=3), Rota(), 8) == [P, P, P, E, P, P, P, E]


def test_simultaneous_trains_both_unless_one_is_frozen() -> None:
    assert next_turn(DuelConfig(mode="simultaneous"), Rota(), 0).roles == (P, E)
    assert next_turn(DuelConfig(mode="simultaneous", freeze_role="first"), Rota(), 0).roles == (E,)
    assert sequence(DuelConfig(mode="turns", freeze_role="second"), Rota(), 3) == [P, P, P]


def test_evader_first_after_an_evader_turn_gives_no_third_one() -> None:
    settings, rota = DuelConfig(mode="turns"), Rota()
    assert sequence(settings, rota, 2) == [P, E]
    rota.forced = E
    assert sequence(settings, rota, 3) == [E, P, E]


def test_boost_trains_the_losing_role_for_its_turns() -> None:
    settings, rota = DuelConfig(mode="turns", boost_threshold=0.3, boost_turns=3), Rota()
    assert after_evaluation(settings, rota, 0.6, 0) == []
    assert after_evaluation(settings, rota, 0.8, 0) == ["boost"]
    assert sequence(settings, rota, 5) == [E, E, E, P, E]


def test_alternate_freeze_switches_on_wins_by_force_and_ends_in_free_play() -> None:
    settings = DuelConfig(
        mode="turns", alternate_freeze=True, freeze_consecutive=2, force_switch_every=100,
        free_play_from=1000, freeze_schedule=("500:0.9",),
    )  # fmt: skip
    rota = Rota()
    assert sequence(settings, rota, 2) == [P, P]
    assert after_evaluation(settings, rota, 0.7, 10) == []
    assert after_evaluation(settings, rota, 0.7, 20) == ["freeze_switch"]
    assert sequence(settings, rota, 2, 20) == [E, E]
    assert forced_switch_is_due(settings, rota, 119) is False and forced_switch_is_due(settings, rota, 120)
    switch_frozen(rota, 120)
    assert sequence(settings, rota, 1, 120) == [P]
    assert threshold_at(settings, 499) == 0.6 and threshold_at(settings, 500) == 0.9
    assert sequence(settings, rota, 2, 1000) == [E, P]
    assert not forced_switch_is_due(settings, Rota(), 99) and forced_switch_is_due(settings, Rota(), 100)


def test_a_wrong_schedule_is_named() -> None:
    for wrong in ("500", "a:0.5", "5:2"):
        with pytest.raises(ConfigError, match="freeze_schedule"):
            threshold_at(DuelConfig(freeze_schedule=(wrong,)), 0)


def test_turns_warm_up_and_are_longer_for_the_evader_among_obstacles() -> None:
    settings = DuelConfig(mode="turns", turn_steps=500_000, warmup=True, evader_multiplier=3.0)

    def lengths(steps: int, role: int, obstacles: bool) -> int:
        return turn_rollouts(settings, role, steps, 10_000, obstacles)

    assert [lengths(steps, P, True) for steps in (0, 200_000, 600_000, 1_200_000)] == [10, 20, 30, 50]
    assert lengths(2_000_000, E, False) == 50 and lengths(2_000_000, E, True) == 150
    assert turn_rollouts(settings, P, 0, 1_000_000, False) == 1
    assert turn_rollouts(DuelConfig(turn_steps=10_001), P, 0, 10_000, False) == 2


def test_damping_and_masking_follow_their_formulas() -> None:
    settings = DuelConfig(damp_threshold=0.2, mask_steps=1000, mask_residual=0.2)
    assert [damping(settings, gap) for gap in (None, 0.3, 0.1, 0.0)] == [1.0, 1.0, 0.5, 0.1]
    assert [full_sight(settings, steps) for steps in (0, 500, 2000)] == pytest.approx([1.0, 0.6, 0.2])
    assert full_sight(DuelConfig(), 0) == 0.0
