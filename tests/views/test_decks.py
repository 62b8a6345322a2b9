"""`deck harvest` and `deck show` as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from holdfast.cli.command import run as command
from holdfast.curriculum.deck_errors import DeckError
from holdfast.curriculum.deck_files import read_deck
from holdfast.kit.errors import ConfigError
from tests.conftest import finished_run

SMALL = {
    "world.fish": "20",
    "world.steps": "60",
    "rollout.lanes": "8",
    "learner.minibatch": "64",
    "run.iterations": "1",
    "evaluation.episodes": "4",
    "evaluation.final_episodes": "4",
    "evaluation.every": "1",
    "schedule.phases": "20:1",
    "gate.enabled": "false",
    "harvest.enabled": "false",
    "deck.stages": "",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("runs")
    finished_run(made, "fish", **{"run.name": "school", **SMALL})
    return made


def test_a_harvested_deck_can_be_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deck = folder / "worst.deck"
    words = [
        "school",
        "--root",
        str(folder),
        "--worst",
        "3",
        "--fish",
        "30",
        "--slow",
        "0.8",
        "-o",
        str(deck),
    ]
    assert command(["deck", "harvest", *words]) == 0
    assert "situations" in capsys.readouterr().out
    assert command(["deck", "show", str(deck), "--json", "--picture", str(folder / "deck.png")]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["form"] == "full" and facts["items"] == len(read_deck(deck)) > 0
    assert sum(facts["heading_histogram"]) == sum(facts["speed_histogram"]) == facts["items"]
    assert facts["source"]["run"] == "school" and len(facts["source"]["policy"]) == 12
    assert facts["fish"] == [30] and "0.8" in facts["note"]
    assert Image.open(folder / "deck.png").size[0] == 960
    assert command(["deck", "show", str(deck.with_suffix(".json"))]) == 0
    text = capsys.readouterr().out
    assert "a light deck of world fish" in text and "heading" in text


def test_bad_words_are_refused_together(folder: Path) -> None:
    words = ["--root", str(folder), "--worst", "0", "--slow", "-1", "-o", "worst.json"]
    with pytest.raises(ConfigError) as told:
        command(["deck", "harvest", "school", *words])
    assert len(told.value.problems) == 3
    with pytest.raises(DeckError, match=r"gone\.deck"):
        command(["deck", "show", "gone.deck"])
    with pytest.raises(ConfigError, match="ACTION"):
        command(["deck"])
