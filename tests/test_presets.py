"""Presets and policies come with games: ours in their packages, others' through entry points."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.config.presets import presets, read_toml
from holdfast.runs.shelf import on_shelf
from tests.conftest import small_words

OWN_WORLD = """
from dataclasses import dataclass
import gymnasium
from holdfast.worlds.game import Game
from holdfast.worlds.template.world import Template

class Pond(Template):
    game = Game({more})

class Plain(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 5
        return self.np_random.uniform(-1, 1, 2).astype("float32"), {{}}

    def step(self, action):
        self.left -= 1
        return self.np_random.uniform(-1, 1, 2).astype("float32"), float(action), self.left == 0, False, {{}}
"""
POINTS = "[holdfast.games]\npond = ponds.water:Pond\nplain = ponds.water:Plain\nbroken = ponds.nothing:Pond\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages: one brings games by entry points."""
    return install(tmp_path / "site", "")


def install(folder: Path, more: str) -> Path:
    package, facts = folder / "ponds", folder / "ponds-1.0.dist-info"
    (package / "presets").mkdir(parents=True)
    facts.mkdir()
    (package / "__init__.py").touch()
    (package / "water.py").write_text(OWN_WORLD.format(more=more))
    (package / "presets/pond-short.toml").write_text('[world]\nname = "pond"\n[run]\niterations = 3\n')
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: ponds\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(POINTS)
    return folder


def command(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    work = site.parent / "work"
    work.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *words],
        cwd=work,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


def test_presets_lie_in_the_packages_of_their_games() -> None:
    for name, path in presets().items():
        assert path.parent.name == "presets" and (path.parents[1] / "__init__.py").is_file(), name
        world = read_toml(path)["world"]["name"]
        assert path.parents[1].name == world, f"{name} is of {world}"


def test_kept_policies_come_with_the_package() -> None:
    path = on_shelf("1-1")
    assert path is not None and path.parent.name == "policies" and (path.parents[1] / "__init__.py").is_file()
    assert on_shelf("../policies/1-1") is None


def test_an_installed_game_is_trained_by_its_name_and_by_its_presets(site: Path) -> None:
    for target, run in (("pond", "pond-1"), ("pond-short", "pond-short-1"), ("plain", "plain-1")):
        done = command(site, "train", target, "--quiet", *small_words(**{"run.iterations": "2"}))
        assert done.returncode == 0, done.stderr
        judged = command(site, "evaluate", run, "--episodes", "2", "--json")
        assert judged.returncode == 0, judged.stderr


def test_a_game_may_say_where_its_presets_are(tmp_path: Path) -> None:
    site = install(tmp_path / "site", f"presets={str(tmp_path / 'elsewhere')!r}")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/pond-far.toml").write_text('[world]\nname = "pond"\n')
    assert command(site, "train", "pond-far", "--dry-run").returncode == 0
    missing = command(site, "train", "pond-farr", "--dry-run")
    assert missing.returncode == 2 and "did you mean pond-far?" in missing.stderr


def test_an_installed_game_that_cannot_be_imported_is_named_and_harms_no_other(site: Path) -> None:
    done = command(site, "train", "broken", "--dry-run")
    assert done.returncode == 1 and "game 'broken' of ponds (ponds.nothing:Pond) cannot be imported" in done.stderr
    assert command(site, "train", "template", "--dry-run").returncode == 0
