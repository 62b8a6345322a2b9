"""Presets and policies come with games: ours in their packages, others' through entry points."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.config.presets import presets, read_preset
from holdfast.config.reading import from_json, load_config
from holdfast.config.sections import flat, to_json
from holdfast.kit.errors import ConfigError
from holdfast.runs.shelf import on_shelf
from tests.conftest import Command, small_words

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
        world = read_preset(path)["world"]["name"]
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


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_a_preset_says_only_what_differs_from_its_base(tmp_path: Path) -> None:
    base = written(tmp_path, "one.toml", 'base = "pursuit-z2"\n[learner]\nlr = 0.5\n[world.reward]\ncapture = 3\n')
    config = load_config(written(tmp_path, "two.toml", 'base = "one.toml"\n[learner]\ngamma = 0.9\n'))[0]
    z2 = load_config("pursuit-z2")[0]
    assert (config.learner.lr, config.learner.gamma, config.world.reward_capture) == (0.5, 0.9, 3.0)
    assert config.world.reward_shaping == z2.world.reward_shaping == "plain"
    assert config.ewc == z2.ewc and config.levels.advance == "balance" and load_config(base)[0].learner.gamma == 0.99


def test_the_published_experiments_differ_by_what_their_presets_say() -> None:
    v, *others = (load_config(f"pursuit-{name}")[0] for name in ("v", "w", "x", "y", "z1", "z2"))
    differing = [{key for key, value in flat(one).items() if value != flat(v)[key]} for one in others]
    held, turns = {"ewc.strength", "rnd.coef"}, {"duel.warmup", "levels.advance"}
    assert differing == [{"world.v_max_pursuer"}, held, {"world.v_max_pursuer", *held}, turns, turns | held]


@pytest.mark.parametrize(
    ("base", "reason"),
    [
        ('"pursuti"', r"bad\.toml: base = 'pursuti': there is no preset 'pursuti' \(did you mean pursuit\?\)"),
        ('"nowhere.toml"', r"base = 'nowhere.toml': there is no file .*nowhere\.toml"),
        ('"bad.toml"', r"base goes round in a circle: bad\.toml -> bad\.toml"),
        ('"other.toml"', r"base goes round in a circle: bad\.toml -> other\.toml -> bad\.toml"),
        ("3", "base must be the name of a preset or of a .toml file, not 3"),
    ],
)
def test_a_wrong_base_is_named(base: str, reason: str, tmp_path: Path, holdfast: Command) -> None:
    written(tmp_path, "other.toml", 'base = "bad.toml"\n')
    written(tmp_path, "bad.toml", f'base = {base}\n[world]\nname = "template"\n')
    done = holdfast("train", "bad.toml", "--dry-run")
    assert done.returncode == 2 and re.search(reason, done.stderr), done.stderr


def test_nested_tables_are_written_in_toml_and_with_dots(tmp_path: Path) -> None:
    path = written(tmp_path, "mine.toml", 'base = "fish"\n[gate.by_type.harvest]\nsuccess_p10 = 70\n')
    words = ["--gate.by_type.harvest.success_p10_window", "2", "--evaluation.world.steps", "90"]
    config = load_config(path, words)[0]
    assert config.gate.by_type == {"harvest": {"success_p10": 70, "success_p10_window": 2}}
    assert config.evaluation.world == {"fish": 96, "steps": 90}, "what the preset set beside it stays"
    assert load_config("fish")[0].evaluation.world == {"fish": 96, "steps": 500}
    again, changed = from_json(json.loads(json.dumps(to_json(config))), "run.json")
    assert again == config and not changed


def test_a_wrong_option_in_a_nested_table_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "mine.toml", 'base = "pursuit"\n[world.reward]\ncaptur = 3\ncapture = "x"\n')
    with pytest.raises(ConfigError) as caught:
        load_config(path, ["--evaluation.world.reward.wal", "1"])
    assert [problem.partition(": ")[2] for problem in caught.value.problems] == [
        "no option world.reward.captur (did you mean world.reward.capture?)",
        "world.reward.capture = 'x' is not a float",
        "no option world.reward.wal (did you mean world.reward.wall?)",
    ]
