"""Scripted players do to each other what they do in an independent NumPy build of the same rules.

Each figure is the share of captures in 4096 duels of that build, without filter and with full information. Here 512
duels are played per cell; `benchmarks/pursuit_panel.py` plays all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holdfast.errors import UnknownName
from holdfast.rollout.evaluate import play_once
from holdfast.worlds.pursuit.settings import PursuitSettings
from holdfast.worlds.pursuit.world import Pursuit, play_scripts

DUELS = 512
OPEN: dict[str, Any] = {"obs": "flat", "filter": "none"}
NEAR: dict[str, Any] = {**OPEN, "spawn_min": 2.0, "spawn_max": 5.0}
WIDE: dict[str, Any] = {**OPEN, "spawn_min": 2.0, "spawn_max": 15.0, "obstacles": 3}
SMALL: dict[str, Any] = {**WIDE, "arena_w": 10.0, "arena_h": 10.0, "max_steps": 600, "spawn_max": 11.31}
EVADERS = ("random", "flee", "corner", "orbit", "wall_slide")

PANEL: dict[str, tuple[dict[str, Any], list[float], list[float]]] = {  # settings, against greedy, against intercept
    "near": (NEAR, [1.0, 1.0, 1.0, 0.007, 0.020], [1.0, 1.0, 1.0, 1.0, 1.0]),
    "near, slow pursuer": ({**NEAR, "v_max_pursuer": 0.95}, [1.0, 1.0, 1.0, 0.006, 0.034], [1.0, 1.0, 1.0, 0.81, 0.91]),
    "wide": (WIDE, [1.0, 1.0, 1.0, 0.16, 0.21], [1.0, 1.0, 1.0, 1.0, 1.0]),
    "small": ({**SMALL, "v_max_evader": 1.2}, [1.0, 1.0, 0.83, 0.21, 0.08], [1.0, 1.0, 1.0, 1.0, 0.53]),
    "wide, fast evader": ({**WIDE, "v_max_evader": 1.2}, [1.0, 1.0, 0.83, 0.05, 0.09], [1.0, 1.0, 1.0, 0.77, 0.52]),
}


def captures(settings: dict[str, Any], pursuer: str, evader: str) -> np.ndarray:
    world = Pursuit(PursuitSettings(**settings), DUELS, seed=0, threads=2)
    keys = np.arange(1, DUELS + 1, dtype=np.uint64)
    return play_once(world, play_scripts({"pursuer": pursuer, "evader": evader}), keys)["captured"]


def tolerance(rate: float) -> float:
    """That of the figure, and 3 standard errors of our own count."""
    figure = 0.01 if rate >= 0.99 or rate <= 0.02 else 0.03
    return figure + 3.0 * float(np.sqrt(max(rate * (1.0 - rate), 0.001) / DUELS))


@pytest.mark.parametrize("name", PANEL)
def test_captures_are_those_of_the_independent_build(name: str) -> None:
    settings, greedy, intercept = PANEL[name]
    for pursuer, rates in (("greedy", greedy), ("intercept", intercept)):
        for evader, rate in zip(EVADERS, rates, strict=True):
            assert captures(settings, pursuer, evader).mean() == pytest.approx(rate, abs=tolerance(rate)), (
                pursuer,
                evader,
            )


def test_random_play_seldom_ends_in_a_capture() -> None:
    assert captures(NEAR, "random", "random").mean() == pytest.approx(0.17, abs=tolerance(0.17))


def test_an_unknown_script_or_role_is_named() -> None:
    world = Pursuit(PursuitSettings(), 1, seed=0)
    with pytest.raises(UnknownName, match=r"no script 'greddy' for the pursuer \(did you mean greedy"):
        world.scripted("pursuer", "greddy")
    with pytest.raises(UnknownName, match="no role 'hider'"):
        world.scripted("hider", "flee")


def test_only_the_lanes_asked_for_get_actions() -> None:
    world = Pursuit(PursuitSettings(), 4, seed=0)
    world.reset()
    actions = world.scripted("evader", "flee", np.array([1, 3]))
    assert not actions[[0, 2]].any() and actions[[1, 3]].any()


def test_one_side_plays_against_a_script() -> None:
    """The evader that circles is not caught by one that runs straight at it, and the world plays the latter itself."""
    settings = PursuitSettings(**NEAR, play="evader", opponent="greedy")
    world = Pursuit(settings, 64, seed=0)
    assert [role.name for role in world.spec.roles] == ["evader"]
    table = play_once(world, world.yardsticks()["orbit"], np.arange(1, 65, dtype=np.uint64))
    assert table["escaped"].mean() > 0.9
