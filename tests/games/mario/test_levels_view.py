"""A run of the Mario world is judged stage by stage and filmed on a chosen stage, with the policy's value beside it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from holdfast.cli.command import run as holdfast
from holdfast.config.reading import load_config
from holdfast.games.mario.views.levels import level_row
from holdfast.games.mario.world.play import DEATH, FLAG, PIT
from holdfast.kit.errors import ConfigError
from holdfast.runs.folder import RunFolder
from holdfast.views.judge import planned
from holdfast.worlds.api import Episodes
from holdfast.worlds.registry import make_world
from tests.conftest import finished_run


def test_a_row_counts_clears_and_ends() -> None:
    found = level_row(
        "1-1",
        Episodes(
            {
                "lane": np.arange(4),
                "cleared": np.array([1.0, 0.0, 1.0, 0.0]),
                "length": np.array([250.0, 30.0, 270.0, 90.0]),
                "reason": np.array([FLAG, DEATH, FLAG, PIT]),
                "max_x": np.array([3161.0, 300.0, 3161.0, 900.0]),
            }
        ),
    )
    assert (found.clears, found.rate, found.median_steps) == (2, 0.5, 260.0)
    assert found.low == pytest.approx(0.150, abs=1e-3) and found.high == pytest.approx(0.850, abs=1e-3)
    assert found.ends == {"flag": 2, "pit": 1, "death": 1}


@pytest.fixture(scope="module")
def mario_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    options = {"world.rom": "own", "world.stages": "1-1,1-4", "world.max_steps": "12", "run.iterations": "2"}
    options |= {"learner.engine": "torch", "evaluation.episodes": "2", "evaluation.final_episodes": "2"}
    run, _ = finished_run(tmp_path_factory.mktemp("runs"), "mario-1-1", **options)
    return run


def test_every_stage_of_a_run_is_judged(mario_run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert holdfast(["evaluate", str(mario_run.folder), "--episodes", "4", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["stage"] for row in told["levels"]] == ["1-1", "1-4"]
    assert all(row["episodes"] == sum(row["ends"].values()) == 4 for row in told["levels"])


def test_a_chosen_stage_is_filmed(mario_run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    video = tmp_path / "run.gif"
    assert holdfast(["play", str(mario_run.folder), "--stage", "1-4", "--video", str(video)]) == 0
    assert video.stat().st_size > 1000


def test_other_worlds_have_no_stages(tmp_path: Path) -> None:
    run, _ = finished_run(tmp_path, "template")
    with pytest.raises(ConfigError, match="has no stages"):
        holdfast(["play", str(run.folder), "--stage", "1-1", "--video", str(tmp_path / "x.gif")])


@pytest.mark.parametrize(("level", "spawn_max", "obstacles"), [("0", 5.0, 0.0), ("6", 8.0, 3.0), ("top", 15.0, 3.0)])
def test_a_level_of_self_play_is_filmed_as_it_is_trained(level: str, spawn_max: float, obstacles: float) -> None:
    config, _ = load_config("pursuit-v", [])
    world = make_world("pursuit", config.evaluation_world, 1, seed=1)
    plan = planned(config, world, level)
    assert plan.level["spawn_max"] == spawn_max and plan.level["obstacles"] == obstacles
    world.plan(np.arange(1), plan)
    world.reset()
    assert world.arrays()["n_circles"][0] == obstacles


def test_levels_that_a_run_does_not_have_are_refused(tmp_path: Path) -> None:
    config, _ = load_config("pursuit-v", [])
    world = make_world("pursuit", config.evaluation_world, 1, seed=1)
    for level in ("21", "-1", "topp"):
        with pytest.raises(ConfigError, match=f"--level {level}: must be top or a number from 0 to 20"):
            planned(config, world, level)
    run, _ = finished_run(tmp_path, "template")
    with pytest.raises(ConfigError, match="only runs of self-play have levels"):
        holdfast(["play", str(run.folder), "--level", "top", "--video", str(tmp_path / "x.gif")])
