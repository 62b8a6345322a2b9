"""Forced forward steps are ordered when a run makes no ground, once per rule, and never on a rule's own first log."""

from __future__ import annotations

import pytest

from holdfast.config.checks import check_against_world
from holdfast.config.reading import from_json, load_config
from holdfast.config.sections import to_json
from holdfast.games.mario.bootstrap import BootstrapRules, BootstrapState, Log, Order, after_log, checked
from holdfast.kit.errors import ConfigError
from holdfast.views.dry_run import spec_of


def orders_of(rules: BootstrapRules, logs: list[Log]) -> list[tuple[int, Order]]:
    state, found = BootstrapState(), []
    for log in logs:
        state, orders = after_log(rules, state, log)
        found += [(log.update, order) for order in orders]
    return found


def empty(update: int) -> Log:
    return Log(update, 0.0, 0.0, 40)


def test_auto_waits_for_its_update_and_fires_once() -> None:
    rules = BootstrapRules(auto_threshold=30, auto_steps=1024)
    found = orders_of(rules, [empty(update) for update in range(10, 100, 10)])
    assert found == [(30, Order("auto", 1024, 1.0))]


def test_auto_stays_quiet_while_there_is_ground() -> None:
    rules = BootstrapRules(auto_threshold=10, auto_steps=64)
    assert not orders_of(rules, [Log(update, 5.0, 0.1, update) for update in range(10, 60, 10)])


def test_adaptive_counts_empty_logs_in_a_row() -> None:
    rules = BootstrapRules(adaptive_logs=3, adaptive_steps=256)
    logs = [empty(1), empty(2), Log(3, 8.0, 0.5, 60), empty(4), empty(5), empty(6), empty(7)]
    assert orders_of(rules, logs) == [(6, Order("adaptive", 256, 1.0))]


def test_secondary_watches_the_furthest_point() -> None:
    rules = BootstrapRules(secondary_threshold=1, secondary_patience=3, secondary_steps=64, secondary_share=0.25)
    logs = [Log(update, 50.0, 0.9, best) for update, best in enumerate((100, 100, 120, 120, 120, 120, 120), 1)]
    assert orders_of(rules, logs) == [(6, Order("secondary", 64, 0.25))]


def test_secondary_does_not_judge_by_its_first_log() -> None:
    rules = BootstrapRules(secondary_threshold=1, secondary_patience=1, secondary_steps=64)
    assert not orders_of(rules, [Log(500, 0.0, 0.0, 40)])


@pytest.mark.parametrize(
    "rules",
    [
        BootstrapRules(auto_threshold=10),
        BootstrapRules(auto_steps=10),
        BootstrapRules(adaptive_logs=4),
        BootstrapRules(secondary_threshold=5),
        BootstrapRules(secondary_share=0.0),
    ],
)
def test_half_set_rules_are_refused(rules: BootstrapRules) -> None:
    with pytest.raises(ConfigError):
        checked(rules)


def test_the_bundle_fills_in_what_was_not_said() -> None:
    config, explicit = load_config("mario-1-1", ["--bootstrap.enabled", "true", "--world.probe_steps", "8"])
    world, rules = config.world, config.section(BootstrapRules)
    assert (world.script, world.distance_weight) == ("RIGHT+B:240,RIGHT+A+B:60", 0.12)
    assert (world.scale_start, world.scale_final, world.scale_anneal) == (0.25, 0.12, 80_000)
    assert (rules.auto_threshold, rules.auto_steps) == (120, 1024) and rules.on
    assert world.probe_steps == 8, "what was said stays"
    assert "world.script" not in explicit
    assert load_config("mario-1-1", [])[0].world.script == ""
    again = from_json(to_json(config), "run.json")[0]
    assert again == config


def test_the_bundle_is_refused_where_nothing_reads_it() -> None:
    with pytest.raises(ConfigError, match="bootstrap"):
        config, explicit = load_config("template", ["--bootstrap.enabled", "true"])
        check_against_world(config, explicit, spec_of(config))
