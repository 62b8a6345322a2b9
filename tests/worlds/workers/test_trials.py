"""Trials and drills with real processes, and the game on nes_py with its corrections."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from holdfast.cli.command import run
from holdfast.games.mario.backends.pools import RIGHT_ACTION, places
from holdfast.kit.errors import ConfigError
from holdfast.views.doctor_backends import summary_of
from holdfast.worlds.workers.drills import drill
from holdfast.worlds.workers.trials import Trial
from tests.worlds.workers.places import living, markers, world

GAME = "holdfast.games.mario.backends.nes_py:SuperMario"


def test_a_command_tries_a_backend_and_tells_the_rate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "rows.jsonl"
    words = ["doctor", "backends", "--only", "gym", "--trials", "2", "--lanes", "2", "--steps", "5", "--json"]
    assert run([*words, "--rows", str(rows)]) == 0
    table = json.loads(capsys.readouterr().out)["backends"]["gym"]
    assert (table["ok"], table["trials"], table["high"]) == (2, 2, 1.0)
    assert 0.3 < table["low"] < 0.4  # Wilson's interval of 2 in 2
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [(line["ok"], line["phase"], line["markers"]["ready"]) for line in lines] == [(True, "close", 3)] * 2
    assert run([*words, "--rows", str(rows), "--resume"]) == 0  # all are done
    assert json.loads(capsys.readouterr().out)["backends"]["gym"] == table
    with pytest.raises(ConfigError, match="--lanes 2 --steps 5"):
        run([*words, "--steps", "6", "--rows", str(rows), "--resume"])
    with pytest.raises(ConfigError, match="--rows"):
        run([*words, "--resume"])


@pytest.mark.parametrize("words", [["--trials", "0"], ["--lanes", "-1"], ["--only", "gim"], ["--rows", "/no/such/f"]])
def test_bad_numbers_and_names_are_refused(words: list[str]) -> None:
    with pytest.raises(ConfigError):
        run(["doctor", "backends", *words])


def test_failed_trials_count_but_have_no_timings() -> None:
    seconds = {"build": 1.0, "reset": 1.0, "step": 1.0, "close": 1.0}
    good = Trial("gym", 0, 8, 50, True, "close", seconds, 10.0, {}, "")
    bad = Trial("gym", 1, 8, 50, False, "build", {"build": 99.0}, 0.0, {}, "WorkerFailed: hung")
    row = summary_of([good, bad, good])
    assert (row["ok"], row["trials"], row["seconds"]["build"]["p99"]) == (2, 3, 1.0)


@pytest.mark.parametrize("place", ["import", "reset"])
def test_drills_end_in_a_replaced_worker(tmp_path: Path, place: str) -> None:
    done = drill(place, "kill", tmp_path / "drill")
    assert done.recovered and "was killed by SIGKILL" in done.detail
    assert living(tmp_path / "drill") == []


def test_the_game_runs_on_nes_py_with_its_corrections_and_shows_its_ram(tmp_path: Path) -> None:
    import importlib.util
    import sys

    if importlib.util.find_spec("gym_super_mario_bros") is None:
        pytest.skip("gym-super-mario-bros is not installed")
    with world(tmp_path, GAME, lanes=1) as made:
        made.reset()
        assert made.spec.roles[0].observations.is_image and made.spec.roles[0].actions.n == 7
        first = made.ram()
        assert (first[0, 0x0770], places(first)[0, 0]) == (1, 40)  # in play, at the start of the level
        xs, steps = [40], 0
        while not made.terminated[0]:
            made.step({"player": np.full((1, 1), RIGHT_ACTION)})
            steps += 1
            if not made.terminated[0]:
                xs.append(int(places(made.ram())[0, 0]))
        assert 30 < steps < 60 and 280 < max(xs) < 310  # walking into the first enemy ends it at about x = 298
        assert made.finished()["return"][0] > 200
        assert made.draw(0).shape == (240, 256, 3)
    patches = [line["text"] for line in markers(tmp_path) if line["marker"] == "patch"]
    assert [text.split(":")[0] for text in patches] == ["nes-py 8.2.1", "gym-super-mario-bros 7.4.0"]
    assert any(line["marker"] == "rom" for line in markers(tmp_path))
    assert "gym_super_mario_bros" not in sys.modules  # nothing of it in this process
