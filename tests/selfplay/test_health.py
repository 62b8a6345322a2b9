"""Health and rollback: each trigger fires on its own condition, targets are right, limits and escalation hold."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.selfplay.health import Pulse, Sign, diagnose, wants_rollback
from holdfast.selfplay.rollback import Entry, Ring, Tally, count, escalate, target
from holdfast.selfplay.settings import HealthConfig

SETTINGS = HealthConfig(window=100, cooldown=50)
FINE = Sign(True, (0.0,), 0.5)


def pulse(wins: int, **facts: Any) -> Pulse:
    return Pulse(results=[1] * wins + [0] * (100 - wins), in_turn=100, **facts)


@pytest.mark.parametrize(
    ("now", "sign", "condition"),
    [
        (pulse(50), FINE, "well"),
        (Pulse(results=[0] * 99), FINE, "well"),
        (pulse(2, peak=0.2), FINE, "defeated"),
        (pulse(2, peak=0.05), FINE, "stuck"),
        (pulse(2, peak=0.05), FINE._replace(turn_share=0.1), "well"),
        (pulse(30, start_low=0.7), FINE, "fallen"),
        (pulse(99), FINE, "dominates"),
        (pulse(50), FINE._replace(finite=False), "broken"),
        (pulse(50, floor_checks=4), FINE._replace(log_std=(-2.0, -2.0)), "narrow"),
        (pulse(50, floor_checks=4), FINE._replace(log_std=(-2.0, -1.9)), "well"),
    ],
)
def test_each_condition_is_told_from_the_others(now: Pulse, sign: Sign, condition: str) -> None:
    assert diagnose(SETTINGS, now, sign).condition == condition


def test_the_entropy_trigger_can_be_reached_and_only_after_five_updates() -> None:
    now, narrow = pulse(50), FINE._replace(log_std=(-2.0,))
    assert [diagnose(SETTINGS, now, narrow).condition for _ in range(5)] == ["well"] * 4 + ["narrow"]


def test_domination_leads_back_only_where_it_is_asked_to() -> None:
    assert not wants_rollback(HealthConfig(), "dominates")
    assert wants_rollback(HealthConfig(on_domination="rollback"), "dominates")
    assert wants_rollback(HealthConfig(), "defeated") and not wants_rollback(HealthConfig(), "stuck")


def test_a_turn_too_short_for_the_window_goes_on_with_the_one_before() -> None:
    short, long = pulse(50), pulse(50)
    short.in_turn = 20
    short.begin_turn(100)
    long.begin_turn(100)
    assert len(short.results) == 100 and long.results == []


def ring(*rates: float | None) -> Ring:
    return Ring([Entry(str(i), i, rate, is_turn_start=i == 1) for i, rate in enumerate(rates)])


def test_the_target_is_the_newest_healthy_state_else_some_back_else_the_oldest() -> None:
    assert target(ring(0.5, 0.4, 0.99, 0.0), SETTINGS, 0).hash == "1"
    assert target(ring(None, None, 0.99, 0.0, 1.0), SETTINGS, 0).hash == "2"
    assert target(ring(None, 0.0), SETTINGS, 0).hash == "0"


def test_the_second_time_in_a_turn_leads_to_its_start() -> None:
    assert target(ring(0.5, 0.99, 0.5, 0.5), SETTINGS, 1).hash == "1"


def test_a_ring_forgets_the_oldest_and_keeps_no_state_twice() -> None:
    kept = Ring()
    for name in "abbcd":
        kept.push(Entry(name, 0, None), 3)
    assert [entry.hash for entry in kept.entries] == ["b", "c", "d"]
    assert Ring.from_json(kept.to_json()) == kept


def test_measures_escalate_in_order_and_end_the_run() -> None:
    tally, seen = Tally(), []
    for _ in range(5):
        tally.in_turn = 0
        measure = escalate(SETTINGS, tally, 1000)
        seen.append((measure.rollback, measure.bilateral, measure.halve, measure.level_down, measure.stop))
        count(tally, measure)
    assert seen == [
        (True, False, False, False, False),
        (True, True, False, False, False),
        (True, True, True, False, False),
        (True, True, True, True, False),
        (False, False, False, False, True),
    ]


def test_cooldown_and_limits_hold_the_measure_back() -> None:
    assert not escalate(SETTINGS, Tally(in_turn=1), 49).rollback
    assert escalate(SETTINGS, Tally(in_turn=1), 50).rollback
    assert not escalate(SETTINGS, Tally(in_turn=3), 1000).rollback
    assert escalate(SETTINGS, Tally(in_run=8), 1000).stop
    assert escalate(HealthConfig(bilateral=True), Tally(), 1000).bilateral
