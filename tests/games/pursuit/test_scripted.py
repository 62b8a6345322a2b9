"""Scripted players do to each other what they do in an independent build of the same rules: see `panel.py`.

`benchmarks/pursuit_panel.py` plays 4096 duels per cell and records them. Here the record is held to the figures, and
the first duels of every cell are played again.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from holdfast.games.pursuit.world.pursuit import Pursuit, play_scripts
from holdfast.games.pursuit.world.settings import PursuitSettings
from holdfast.kit.errors import UnknownName
from holdfast.rollout.evaluate import play_once
from tests.games.pursuit.panel import NEAR, PANEL, figures, play_panel, tolerance

RECORD = json.loads((Path(__file__).parents[3] / "benchmarks/results/pursuit_panel.json").read_text())
OTHERWISE = 2  # duels of a cell that may end otherwise where another processor rounds a sine differently


@pytest.mark.parametrize("name", PANEL)
def test_captures_are_those_of_the_independent_build(name: str) -> None:
    assert RECORD["duels"] >= 4096
    played = play_panel(name, len(RECORD["cells"][f"{name}: greedy-flee"]["first"]))
    for cell, figure in figures(name).items():
        recorded = RECORD["cells"][f"{name}: {cell}"]
        assert recorded["captured"] == pytest.approx(figure, abs=tolerance(figure)), cell
        again = "".join(str(int(one)) for one in played[cell][0])
        assert sum(a != b for a, b in zip(again, recorded["first"], strict=True)) <= OTHERWISE, cell


def test_random_play_seldom_ends_in_a_capture() -> None:
    duels, figure = 256, 0.17
    world = Pursuit(PursuitSettings(**NEAR), duels, seed=0)
    act = play_scripts({"pursuer": "random", "evader": "random"})
    captured = play_once(world, act, np.arange(1, duels + 1, dtype=np.uint64))["captured"]
    assert captured.mean() == pytest.approx(figure, abs=3.0 * float(np.sqrt(figure * (1.0 - figure) / duels)))


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
