"""The report of a game of stages: a row and a map for each stage, from the episodes the policy was judged on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from holdfast.games.mario.views.report import counts_by_kind
from holdfast.games.mario.world.play import DEATH, FLAG, TIMEOUT
from holdfast.kit.errors import CheckpointError
from holdfast.runs.choose import load_checkpoint
from holdfast.runs.folder import RunFolder
from holdfast.runs.metadata import refuse_other_world
from holdfast.views.report import write_report
from holdfast.worlds.spec import Episodes
from tests.conftest import finished_run
from tests.games.mario.bot import own_world
from tests.views.test_report import Page


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = {"world.rom": "own", "world.stages": "1-1,1-2", "world.max_steps": "30", "policy.hidden": "16"}
    options |= {"run.iterations": "1", "evaluation.every": "0", "evaluation.final_episodes": "12"}
    return finished_run(tmp_path_factory.mktemp("stages"), "mario", **options)[0].folder


def test_every_stage_has_a_row_and_a_map(played: Path) -> None:
    page = Page(write_report(played))
    assert "Where episodes end" in page.text and "held-out episodes" in page.text
    maps = [
        facts["aria-label"] for tag, facts in page.tags if tag == "svg" and "furthest x" in facts.get("aria-label", "")
    ]
    assert [text.partition(":")[0] for text in maps] == ["stage 1-1", "stage 1-2"]
    bars = [int(text.split()[0]) for text in _titles(page.source)]
    assert sum(bars) == 12, "each episode is in one bar"


def _titles(source: str) -> list[str]:
    return [part.partition("</title>")[0] for part in source.split("<title>")[2:] if " at x " in part[:60]]


@pytest.mark.parametrize("damage", [{"stage": [99] * 12}, {"reason": [0]}, {"max_x": "none"}, {"length": None}])
def test_columns_that_make_no_sense_are_left_out(played: Path, tmp_path: Path, damage: dict[str, object]) -> None:
    folder = tmp_path / "run"
    shutil.copytree(played, folder)
    content = json.loads((folder / "evals/final.json").read_text())
    content["policies"]["learned"]["episodes"] |= damage
    (folder / "evals/final.json").write_text(json.dumps(content))
    assert "Where episodes end" not in Page(write_report(folder)).text


def test_episodes_are_counted_by_kind_and_place() -> None:
    columns = {"max_x": np.array([0.0, 63.0, 64.0, 5000.0]), "cleared": np.array([0.0, 0.0, 0.0, 1.0])}
    found = counts_by_kind(Episodes({**columns, "reason": np.array([DEATH, TIMEOUT, DEATH, FLAG])}))
    assert [(name, np.flatnonzero(some).tolist()) for name, some in found.items()] == [
        ("cleared", [5000 // 64]),
        ("lost", [0, 1]),
        ("cut", [0]),
    ]


def test_a_checkpoint_tells_its_rom_and_buttons_and_is_refused_with_another(played: Path) -> None:
    meta = load_checkpoint(RunFolder(played), "latest").meta
    world = own_world(actions="simple")
    assert meta["world"]["identity"] == world.identity()
    assert len(world.identity()["rom_sha1"]) == 40 and world.identity()["buttons"][4] == "RIGHT+A+B"
    meta["world"]["identity"]["rom_sha1"] = "0" * 40
    with pytest.raises(CheckpointError, match="rom_sha1 was 000"):
        refuse_other_world("000001", meta, world)
