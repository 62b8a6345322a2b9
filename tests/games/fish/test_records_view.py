"""What a fish run's recorded evaluations become: small files and plots, derived and never measured anew."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from holdfast.curriculum.deck_files import read_deck
from holdfast.games.fish.views.films import training_curve
from holdfast.games.fish.views.plots import write_school_plots
from holdfast.games.fish.views.records import read_judged, step_one_deaths, write_school_records
from holdfast.games.fish.views.report import school_sections
from holdfast.games.fish.world.evaluation import evaluated_schools
from holdfast.games.fish.world.fish import Fish, FishSettings
from holdfast.games.fish.world.measure import EvaluatedSchools, high_speed_share, measure, step_one_clusters
from holdfast.rollout.evaluate import evaluation_keys, play_once
from holdfast.runs.metrics import read_lines
from holdfast.views.report.axes import short
from holdfast.views.report.record import read_record

SETTINGS = FishSettings(fish=96, steps=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder with two real evaluations of a scripted policy, and a line of each other stream."""
    made = tmp_path_factory.mktemp("run")
    (made / "evals").mkdir()
    config = {"world": {"steps": 30}, "evaluation": {"world": {"steps": 60}}, "deck": {"warn_ratio": 0.7}}
    (made / "run.json").write_text(json.dumps({"config": config}))
    history = []
    for iteration, kind in ((8, "ne"), (16, "main")):
        world = Fish(SETTINGS, 20, seed=0)
        episodes = play_once(world, world.yardsticks()["keep"], evaluation_keys(411232, iteration, 20))
        columns = {name: column.tolist() for name, column in episodes.columns.items()}
        content = {"policies": {"learned": {"episodes": columns}}}
        (made / "evals" / "yardsticks.json").write_text(json.dumps({"policies": {"keep": {"episodes": columns}}}))
        (made / "evals" / f"{iteration:06d}.json").write_text(json.dumps(content))
        history.append({"iteration": iteration, "type": kind, **measure(evaluated_schools(episodes, SETTINGS))})
    (made / "eval_history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in history))
    training = {"episodes": 4, "first_death_step_mean": 9.0, "first_death_step_p10": 1.0}
    deck = {"ratio": 0.9, "block": "block1:a", "deals": 3, "type": "ne", "warning": False}
    line = {"iteration": 1, "density": 0.0, "entropy_coef": 0.01, "training": training, "deck": deck}
    (made / "schedule_trace.jsonl").write_text(json.dumps(line) + "\n")
    test = {"role": "success", "name": "early_death", "margin": 0.01, "threshold": 0.1}
    told = {"type": "ne", "level": {"before": 0, "after": 0}, "because": "not passed: early_death"}
    decision = {"iteration": 8, "event": "noop", "criteria": [test], **told}
    (made / "gate_debug.jsonl").write_text(json.dumps(decision) + "\n")
    write_school_records(made)
    return made


def schools(folder: Path, index: int) -> EvaluatedSchools:
    of = read_judged(folder)[index].episodes
    none = np.zeros(20, int)
    first = np.stack([of["first_pred_vx"], of["first_pred_vy"]], axis=1)
    return EvaluatedSchools(of["death_step"], 60, first, none, none)


def test_clusters_are_those_of_the_evaluation(folder: Path) -> None:
    for index, line in enumerate(read_lines(folder / "step_one_clusters.jsonl")):
        expected = step_one_clusters(schools(folder, index))
        found = [(one["heading_deg"], one["count"]) for one in line["clusters"]]
        assert found == [(one.heading_deg, one.deaths) for one in expected]
        assert line["high_speed_share"] == pytest.approx(high_speed_share(schools(folder, index)).tolist())
        assert line["step_one"] == read_lines(folder / "eval_history.jsonl")[index]["step_one"] == len(line["deaths"])


def test_each_step_one_death_lies_within_the_kill_distance(folder: Path) -> None:
    deaths = [death for judged in read_judged(folder) for death in step_one_deaths(judged)]
    assert deaths
    for death in deaths:
        assert np.hypot(*np.subtract(death.fish_pos, death.pred_pos)) < 0.7


def test_types_sum_to_the_whole_and_the_worst_are_a_light_deck(folder: Path) -> None:
    summary = json.loads((folder / "step_one_stage_summary.json").read_text())
    assert set(summary["types"]) == {"ne", "main"}
    assert sum(one["step_one"] for one in summary["types"].values()) == summary["step_one"] > 0
    deck = read_deck(folder / "step_one_worst.json")
    assert deck.light and 1 <= len(deck) <= 6


def test_spawns_are_told_for_every_episode(folder: Path) -> None:
    lines = read_lines(folder / "spawn_stats.jsonl")
    assert [line["iteration"] for line in lines] == [8, 16]
    assert all(len(line["speed"]) == sum(line["heading_histogram"]) == 20 for line in lines)
    assert all(0 <= radius <= 10 for line in lines for radius in line["radius"])


def test_all_plots_are_drawn(folder: Path) -> None:
    from PIL import Image

    written = write_school_plots(folder)
    assert len(written) == 10
    for path in written:
        assert np.asarray(Image.open(path).convert("L")).std() > 5, path  # not an empty page


def test_the_curve_of_training_moves(folder: Path) -> None:
    from PIL import Image

    (path,) = training_curve(folder)
    with Image.open(path) as film:
        pictures = []
        for index in range(film.n_frames):  # type: ignore[attr-defined]
            film.seek(index)
            pictures.append(np.asarray(film.convert("L")))
    assert len(pictures) >= 2 and (pictures[0] != pictures[-1]).any()


def test_scripts_are_told_beside_the_evaluations(folder: Path) -> None:
    page = str(school_sections(read_record(folder)))
    assert "<td>keep</td>" in page and page.count("<figure>") == 10
    last = read_lines(folder / "eval_history.jsonl")[-1]
    assert page.count(short(last["avg_final"])) >= 2  # the policy of that evaluation was this very script


def test_a_run_of_another_world_gets_nothing(tmp_path: Path) -> None:
    assert write_school_records(tmp_path) == [] and write_school_plots(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
